/// The body nearest to a shape (carom_world_closest_body), and the two bodies of a world that are
/// nearest to each other (carom_world_closest_pair): each body in turn asks for the nearest one, no
/// farther than the best pair so far. Everything here takes a const world and may run on many
/// threads at once.
#include "world/mesh_distance.h"
#include "world/overlap_query.h"
#include "world/single_query.h"

// ---- Which pairs ----

/// The nearest pair so far. Of equally near ones the one with the lowest numbers counts, A's first.
typedef struct pair_search {
	const carom_world *world;
	const carom_query_filter *filter[2];
	cr_query_item asker;
	bool body_passes[2];  // each filter without its function
	bool asker_passes[2]; // each filter
	double distance;      // pairs farther apart are of no use
	cr_query_item a, b;   // body -1: none yet
} pair_search;

static bool is_fixed(const cr_body *body) { return body->kind == CAROM_STATIC || body->kind == CAROM_KINEMATIC; }

/// A granular body has no shape, and no type of one.
static bool is_plane(const cr_body *body) { return !cr_granular_of(body) && body->shape.def.type == CAROM_PLANE; }

static bool may_meet(const cr_body *x, const cr_body *y)
{
	return !(is_fixed(x) && is_fixed(y)) && !cr_same_body(x, y) && cr_filters_pass(x, y);
}

/// Which of the asker and an item of another body is A and which is B, as the filters have it.
/// False: they are no pair. asks: the filters' functions are asked about the other one; without
/// them the pair comes no later than it does with them.
static bool order_pair(const pair_search *p, cr_query_item other, bool asks, cr_query_item *a, cr_query_item *b)
{
	const bool asker_low = p->asker.body < other.body;
	const cr_query_item low = asker_low ? p->asker : other, high = asker_low ? other : p->asker;
	bool passes[2];
	for (int k = 0; k < 2; k++)
		passes[k] = cr_query_passes(p->filter[k], p->world, other.body) &&
			(!asks || !p->asker_passes[1 - k] || cr_query_accepts(p->filter[k], p->world, other));
	const bool asker_first = p->asker_passes[0] && passes[1], other_first = passes[0] && p->asker_passes[1];
	const bool low_first = asker_low ? asker_first : other_first;
	*a = low_first ? low : high;
	*b = low_first ? high : low;
	return asker_first || other_first;
}

static bool comes_first(cr_query_item a, cr_query_item b, cr_query_item than_a, cr_query_item than_b)
{
	const int first = cr_compare_items(a, than_a);
	return first != 0 ? first < 0 : cr_compare_items(b, than_b) < 0;
}

/// Does the asker look at another body? Each pair is looked at once: by the lower one, but a plane
/// never asks.
static bool is_wanted_pair(const pair_search *p, int32_t other)
{
	const cr_body *bodies = p->world->bodies.data;
	cr_query_item a, b;
	if (other == p->asker.body || (other < p->asker.body && !is_plane(&bodies[other])))
		return false;
	// The first sphere stands for all: none of them has a lower number.
	const cr_query_item lowest = { other, cr_granular_of(&bodies[other]) ? 0 : -1 };
	if (!may_meet(&bodies[p->asker.body], &bodies[other]) || !order_pair(p, lowest, false, &a, &b))
		return false;
	return p->a.body < 0 || p->distance > 0 || comes_first(a, b, p->a, p->b);
}

/// A pair that is not farther apart than the limit.
static void note_pair(pair_search *p, cr_query_item other, double distance)
{
	cr_query_item a, b;
	order_pair(p, other, true, &a, &b);
	if (p->a.body >= 0 && distance == p->distance && !comes_first(a, b, p->a, p->b))
		return;
	p->a = a;
	p->b = b;
	p->distance = distance;
}

// ---- The nearest body ----

/// Bodies are looked at in the order of the distances of their boxes, and outside of the walk of
/// the tree, whose stack would be too much beside that of two meshes: each walk finds the next
/// body.
typedef struct body_search {
	cr_overlap_search query; // its filter, shape, pose and box
	// distances of the boxes of the body that was looked at last, and of the next one
	double last, next;
	cr_query_item last_item, next_item; // body -1: none
	carom_separation nearest;
	double distance;    // of it, 0 where it overlaps: bodies farther away are of no use
	cr_query_item item; // the nearest one; body -1: none yet
	pair_search *pairs; // that the query's shape, a body, is one of; NULL: none
} body_search;

/// A lower bound of the distance between the query and the content of a box.
static double body_key(const void *user, const double lower[3], const double upper[3])
{
	const cr_overlap_search *q = &((const body_search *)user)->query;
	double sum = 0, size = 0;
	for (int k = 0; k < 3; k++) {
		const double gap = fmax(fmax(lower[k] - q->upper[k], q->lower[k] - upper[k]), 0);
		sum += gap * gap;
		size = fmax(size, gap > 0 ? fabs(q->lower[k]) + fabs(q->upper[k]) : 0);
	}
	return fmax(sqrt(sum) * (1 - 0x1p-48) - size * 0x1p-48, 0);
}

/// The separation of two bodies that are seen. apart: known not to overlap. The checks of
/// carom_distance do not hold here: for the mesh of a body that deforms, which is the world's own,
/// and for a part of a body at the end of the room for positions, which may lie beyond it.
static carom_result separate(const carom_world *world, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, bool apart, carom_separation *separation)
{
	const carom_shape *const shapes[2] = { a, b };
	const carom_pose poses[2] = { *pose_a, *pose_b };
	if (a->type == CAROM_MESH || b->type == CAROM_MESH)
		return cr_mesh_separation(world->context, shapes, poses, apart, separation);
	cr_separate_shapes(shapes, poses, separation);
	return CAROM_SUCCESS;
}

static bool is_wanted(const void *user, int32_t body)
{
	const body_search *s = user;
	return !s->pairs || is_wanted_pair(s->pairs, body);
}

/// Do the functions of the filters let an item through?
static bool is_accepted(const body_search *s, cr_query_item item)
{
	cr_query_item a, b;
	return s->pairs ? order_pair(s->pairs, item, true, &a, &b) : cr_query_accepts(s->query.filter, s->query.world, item);
}

static bool visit_next_body(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	body_search *s = user;
	double lower[3], upper[3];
	cr_body_bounds(seen, s->query.world->context->simd, lower, upper);
	const double key = body_key(s, lower, upper);
	const bool is_after = key > s->last || (key == s->last && cr_compare_items(item, s->last_item) > 0);
	if (!is_after || key > *limit || (s->next_item.body >= 0 && key == s->next && cr_compare_items(item, s->next_item) > 0))
		return true;
	if (!is_accepted(s, item))
		return true;
	s->next_item = item;
	*limit = s->next = key;
	return true;
}

/// How far the next body is away. Of a pair it is enough to know that the two overlap: 0.
static carom_result measure_next(const body_search *s, const cr_body *body, bool overlaps, carom_separation *gap)
{
	const cr_overlap_search *q = &s->query;
	carom_result result = CAROM_SUCCESS;
	if (!s->pairs || !overlaps)
		result = separate(q->world, q->shape, &q->pose, &body->shape.def, &body->pose, !overlaps, gap);
	// Nearer than the slack of carom_distance counts as an overlap.
	if (result == CAROM_SUCCESS && !s->pairs && !overlaps && gap->distance <= 0)
		result = separate(q->world, q->shape, &q->pose, &body->shape.def, &body->pose, false, gap);
	return result;
}

/// Is a body nearer, or does it overlap more deeply, than all before?
static bool is_nearest(const body_search *s, double distance, const carom_separation *gap)
{
	if (s->item.body < 0 || distance != s->distance)
		return distance <= s->distance;
	if (gap->distance != s->nearest.distance)
		return gap->distance < s->nearest.distance;
	return cr_compare_items(s->next_item, s->item) < 0;
}

/// Is the next body nearer than all before?
static carom_result look_at_next(body_search *s)
{
	cr_overlap_search *q = &s->query;
	carom_separation gap = { .distance = 0 };
	bool overlaps = false;
	cr_body room;
	const cr_body *body = cr_see_item(q->world, s->next_item, &room, &q->result);
	s->last = s->next;
	s->last_item = s->next_item;
	if (body)
		q->result = cr_test_overlap(q, body, &overlaps);
	if (q->result == CAROM_SUCCESS)
		q->result = measure_next(s, body, overlaps, &gap);
	if (q->result != CAROM_SUCCESS)
		return q->result;
	const double distance = overlaps ? 0 : fmax(gap.distance, 0);
	if (isinf(distance) || distance > s->distance)
		return CAROM_SUCCESS;
	if (s->pairs) {
		note_pair(s->pairs, s->next_item, distance);
		s->distance = s->pairs->distance;
	} else if (is_nearest(s, distance, &gap)) {
		s->item = s->next_item;
		s->nearest = gap;
		s->distance = distance;
	}
	return CAROM_SUCCESS;
}

static carom_result find_nearest_body(body_search *s, const char *function)
{
	static const cr_query_item none = { -1, -1 };
	s->last = -1;
	s->last_item = s->item = none;
	for (;;) {
		cr_index_search search = { body_key, NULL, visit_next_body, s, s->query.filter, is_wanted, s->distance, true, false };
		s->next_item = none;
		carom_result result = cr_search_bodies(s->query.world, function, &search, &s->query.result);
		if (result != CAROM_SUCCESS || s->next_item.body < 0)
			return result;
		result = look_at_next(s);
		if (result != CAROM_SUCCESS)
			return result;
	}
}

carom_result cr_ask_closest_body(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	double max_distance, const carom_query_filter *filter, const char *name, bool *found, carom_closest_body *result)
{
	body_search s = { .query = { .world = world, .filter = filter, .shape = shape }, .distance = max_distance };
	*found = false;
	carom_result outcome = cr_check_query_shape(world, shape, pose, name, &s.query.pose);
	if (outcome != CAROM_SUCCESS || cr_is_empty_shape(shape))
		return outcome;
	cr_bound_query(&s.query);
	outcome = find_nearest_body(&s, name);
	if (outcome != CAROM_SUCCESS || s.item.body < 0)
		return outcome;
	*found = true;
	*result = (carom_closest_body){ cr_id_of(world->bodies.data, s.item.body), cr_item_shape(world, s.item), s.nearest.distance,
		s.nearest.normal, s.nearest.point_a, s.nearest.point_b, world->bodies.data[s.item.body].user_data };
	return CAROM_SUCCESS;
}

carom_result carom_world_closest_body(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	double max_distance, const carom_query_filter *filter, bool *found, carom_closest_body *result)
{
	static const char *const name = "carom_world_closest_body";
	if (!world)
		return CAROM_INVALID_ARGUMENT;
	if (!found || !result)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, found ? "result" : "found");
	*found = false;
	const carom_result checked = cr_check_max_distance(world->context, max_distance, name);
	return checked == CAROM_SUCCESS ? cr_ask_closest_body(world, shape, pose, max_distance, filter, name, found, result)
									: checked;
}

// ---- The nearest pair ----

/// Let a part or a sphere ask for the nearest one that is nearer than the best pair so far.
static carom_result ask_item(pair_search *p, cr_query_item item, const char *function)
{
	const carom_world *world = p->world;
	carom_result result = CAROM_SUCCESS;
	cr_body room;
	const cr_body *body = cr_see_item(world, item, &room, &result);
	if (!body || cr_is_empty_shape(&body->shape.def))
		return result;
	p->asker = item;
	for (int k = 0; k < 2; k++)
		p->asker_passes[k] = p->body_passes[k] && cr_query_accepts(p->filter[k], world, item);
	if (!p->asker_passes[0] && !p->asker_passes[1])
		return CAROM_SUCCESS;
	body_search s = { .query = { .world = world, .shape = &body->shape.def, .pose = body->pose }, .pairs = p };
	cr_bound_query(&s.query);
	s.distance = p->distance;
	return find_nearest_body(&s, function);
}

static carom_result ask_body(pair_search *p, int32_t index, const char *function)
{
	const carom_world *world = p->world;
	const cr_body *body = &world->bodies.data[index];
	for (int k = 0; k < 2; k++)
		p->body_passes[k] = body->alive && cr_query_passes(p->filter[k], world, index);
	if ((!p->body_passes[0] && !p->body_passes[1]) || is_plane(body))
		return CAROM_SUCCESS;
	if (!cr_granular_of(body))
		return ask_item(p, (cr_query_item){ index, -1 }, function);
	carom_result result = CAROM_SUCCESS;
	for (int32_t i = 0; i < cr_granular_of(body)->count && result == CAROM_SUCCESS; i++)
		result = ask_item(p, (cr_query_item){ index, i }, function);
	return result;
}

static const char *const closest_pair_name = "carom_world_closest_pair";

static carom_result write_pair(const pair_search *p, carom_closest_pair *result)
{
	const cr_body *bodies = p->world->bodies.data;
	carom_result outcome = CAROM_SUCCESS;
	cr_body room[2];
	const cr_body *a = cr_see_item(p->world, p->a, &room[0], &outcome), *b = cr_see_item(p->world, p->b, &room[1], &outcome);
	carom_separation s;
	if (a && b)
		outcome = separate(p->world, &a->shape.def, &a->pose, &b->shape.def, &b->pose, false, &s);
	if (outcome != CAROM_SUCCESS)
		return outcome;
	*result = (carom_closest_pair){ cr_id_of(bodies, p->a.body), cr_id_of(bodies, p->b.body), cr_item_shape(p->world, p->a),
		cr_item_shape(p->world, p->b), s.distance, s.normal, s.point_a, s.point_b, bodies[p->a.body].user_data,
		bodies[p->b.body].user_data };
	return CAROM_SUCCESS;
}

carom_result carom_world_closest_pair(const carom_world *world, double max_distance, const carom_query_filter *filter_a,
	const carom_query_filter *filter_b, bool *found, carom_closest_pair *result)
{
	if (!world)
		return CAROM_INVALID_ARGUMENT;
	if (!found || !result)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", closest_pair_name, found ? "result" : "found");
	*found = false;
	carom_result outcome = cr_check_max_distance(world->context, max_distance, closest_pair_name);
	pair_search p = { .world = world, .filter = { filter_a, filter_b }, .distance = max_distance, .a = { -1, -1 } };
	for (int64_t i = 0; i < world->bodies.count && outcome == CAROM_SUCCESS; i++)
		outcome = ask_body(&p, (int32_t)i, closest_pair_name);
	if (outcome != CAROM_SUCCESS || p.a.body < 0)
		return outcome;
	outcome = write_pair(&p, result);
	*found = outcome == CAROM_SUCCESS;
	return outcome;
}
