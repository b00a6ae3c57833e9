/// Triangles of deforming bodies that cross their own surface or that of other bodies
/// (carom_world_find_crossings). The tree of queries lists the bodies whose boxes meet that of the
/// asker, and each pair of bodies goes to the exact search of two surfaces (surface_pairs.c), which
/// reads the places in double. Nothing is kept between calls.
#include "frame/shape_table.h"
#include "world/single_query.h"
#include "world/surface_pairs.h"
#include "base/stable_sort.h"

static const char *const NAME = "carom_world_find_crossings";

/// A search, and the bodies near the one that asks.
typedef struct crossing_search {
	const carom_world *world;
	const carom_query_filter *filter;
	bool every; // all deforming bodies ask: a pair of two belongs to the lower one
	int32_t asker;
	cr_body_list near; // numbers of parts
	cr_triangle_pairs pairs;
	bool out_of_memory;
	int32_t capacity;
	carom_crossing *crossings;
	int64_t count;
} crossing_search;

static const cr_body *body_at(const crossing_search *s, int32_t index) { return &s->world->bodies.data[index]; }

// ---- Bodies near the asker ----

/// 0 where a box meets that of the asker.
static double box_key(const void *user, const double lower[3], const double upper[3])
{
	const cr_surface *asker = user;
	bool meet = true;
	for (int k = 0; k < 3; k++)
		meet = meet && lower[k] <= asker->upper[k] && asker->lower[k] <= upper[k];
	return meet ? 0 : INFINITY;
}

/// Does the body of a number meet the asker, as the filters have it?
static bool is_wanted(const crossing_search *s, int32_t index)
{
	const cr_body *asker = body_at(s, s->asker), *body = body_at(s, index);
	if (cr_granular_of(body) || body->shape.def.type != CAROM_MESH || !cr_query_passes(s->filter, s->world, index))
		return false;
	if (index == s->asker)
		return true;
	return cr_filters_pass(asker, body) && !(s->every && cr_deforming_of(body) && index < s->asker);
}

static bool list_body(void *user, int32_t index, double *limit)
{
	(void)limit;
	crossing_search *s = user;
	if (!is_wanted(s, index) || !cr_query_accepts(s->filter, s->world, (cr_query_item){ index, -1 }))
		return true;
	s->out_of_memory = !cr_array_reserve_one(s->world->context, &s->near);
	if (!s->out_of_memory)
		s->near.data[s->near.count++] = index;
	return !s->out_of_memory;
}

static int compare_numbers(const void *a, const void *b)
{
	return cr_compare_numbers(*(const int32_t *)a, *(const int32_t *)b);
}

static carom_result list_near(crossing_search *s)
{
	s->near.count = 0;
	cr_box_search search = {
		.key = box_key, .asker = &cr_deforming_of(body_at(s, s->asker))->surface, .visit = list_body, .user = s, .limit = 0
	};
	const carom_result result = cr_search_body_boxes(s->world, &search);
	if (result == CAROM_SUCCESS && s->near.count > 1)
		cr_sort_stably(s->near.data, s->near.count, sizeof *s->near.data, compare_numbers);
	return result;
}

// ---- Pairs of bodies ----

static cr_placed_surface place(const cr_body *body)
{
	const cr_deforming *d = cr_deforming_of(body);
	if (d)
		return (cr_placed_surface){ .topology = d->surface.faces, .exact = d->surface.end, .deforms = true };
	// As impacts take it: the vertices in float.
	return (cr_placed_surface){
		.topology = &body->shape.mesh->topology, .rotation = cr_rotation_of(body), .position = body->pose.position
	};
}

/// Write the pairs of triangles of two bodies, as far as there is room, and count them.
static void tell_pairs(crossing_search *s, int32_t other)
{
	const cr_body *bodies = s->world->bodies.data, *a = &bodies[s->asker], *b = &bodies[other];
	const carom_crossing common = { .body_a = cr_id_of(bodies, s->asker),
		.body_b = cr_id_of(bodies, other),
		.shape_b = b->part,
		.user_data_a = a->user_data,
		.user_data_b = b->user_data };
	for (int64_t i = 0; i < s->pairs.count && s->count + i < s->capacity; i++) {
		carom_crossing *c = &s->crossings[s->count + i];
		*c = common;
		c->triangle_a = (int32_t)(s->pairs.data[i].key >> 32);
		c->triangle_b = (int32_t)(s->pairs.data[i].key & UINT32_MAX);
	}
	s->count += s->pairs.count;
}

static bool search_pair(crossing_search *s, int32_t other)
{
	const cr_placed_surface a = place(body_at(s, s->asker)), b = place(body_at(s, other));
	if (!cr_find_surface_pairs(s->world->context, &a, other == s->asker ? NULL : &b, &s->pairs))
		return false;
	tell_pairs(s, other);
	return true;
}

/// Search the pairs of one body that deforms.
static carom_result search_body(crossing_search *s, int32_t asker)
{
	s->asker = asker;
	carom_result result = list_near(s);
	for (int64_t i = 0; i < s->near.count && result == CAROM_SUCCESS && !s->out_of_memory; i++)
		s->out_of_memory = !search_pair(s, s->near.data[i]);
	return result == CAROM_SUCCESS && s->out_of_memory ? cr_fail_memory(s->world->context, "the crossings of a world") : result;
}

static carom_result search_all(crossing_search *s, int32_t only)
{
	carom_result result = CAROM_SUCCESS;
	if (only >= 0)
		return search_body(s, only);
	s->every = true;
	for (int32_t i = 0; i < s->world->bodies.count && result == CAROM_SUCCESS; i++) {
		const cr_body *body = body_at(s, i);
		if (body->alive && cr_deforming_of(body) && cr_query_passes(s->filter, s->world, i))
			result = search_body(s, i);
	}
	return result;
}

/// The number of the body to ask, or -1 for all.
static carom_result find_asker(const carom_world *world, carom_body_id id, int32_t *asker)
{
	*asker = -1;
	if (id.index1 == 0)
		return CAROM_SUCCESS;
	const cr_body *body = cr_find_body_const(world, id, NAME);
	if (!body)
		return CAROM_INVALID_BODY;
	if (!cr_deforming_of(body))
		return cr_fail(
			world->context, CAROM_INVALID_ARGUMENT, "%s: body (%u, %u) does not deform", NAME, id.index1, id.generation);
	*asker = (int32_t)(body - world->bodies.data);
	return CAROM_SUCCESS;
}

carom_result carom_world_find_crossings(const carom_world *world, carom_body_id id, const carom_query_filter *filter,
	int32_t capacity, carom_crossing *crossings, int32_t *count)
{
	if (!world)
		return CAROM_INVALID_ARGUMENT;
	carom_result result = cr_check_output(world, capacity, crossings, count, NAME, "crossings");
	if (result != CAROM_SUCCESS)
		return result;
	*count = 0;
	int32_t asker;
	result = find_asker(world, id, &asker);
	if (result != CAROM_SUCCESS)
		return result;
	crossing_search s = { .world = world, .filter = filter, .capacity = capacity, .crossings = crossings };
	const unsigned refusals = cr_count_refusals(world);
	result = search_all(&s, asker);
	cr_array_free(world->context, &s.near);
	cr_array_free(world->context, &s.pairs);
	if (result != CAROM_SUCCESS)
		return cr_explain_failure(world, NAME, refusals, result);
	if (s.count > INT32_MAX)
		return cr_fail(
			world->context, CAROM_OVER_BUDGET, "%s: %lld crossings are more than can be counted", NAME, (long long)s.count);
	*count = (int32_t)s.count;
	return CAROM_SUCCESS;
}
