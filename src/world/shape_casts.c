/// Casts of shapes through a world: along a screw motion, the first body that the shape meets, or
/// the first hit of each. Bodies come nearest first, by a time before which the shape stays away
/// from their boxes; each is a conservative advancement (bvh/mover.h). Any number of threads.
#include "base/stable_sort.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "world/body_query.h"
#include "world/overlap_query.h"
#include "world/single_query.h"

// Times that are proved are given up by so much for the roundings of quotients.
static const double CERTAINLY = 1 - 1e-12;

/// An item that a cast meets.
typedef struct met_item {
	int32_t body; // number of its first part
	cr_query_item item;
	cr_mover_impact impact;
	double rate; // of its gap; 0 where it does not count
} met_item;

typedef struct cast_search {
	const carom_world *world;
	double tolerance;
	v3d origin; // of the motions: where the shape begins
	cr_convex convex;
	cr_mover mover;
	const uint32_t *own_materials; // of the mover's triangles; NULL: it has none
	cr_mover_box box;              // of the mover
	v3d lower, upper;              // around its whole way
	// Of a shape that turns by next to nothing: how far that moves any point of it, and the box
	// around it where it begins, axes of the world.
	bool straight;
	double turned;
	carom_aabb begin;
	bool past_touching; // surfaces that the motion leaves (skip_separating)
	bool found;
	met_item first; // of a cast that tells one
	cr_mover_scratch *scratch;
	CR_ARRAY(met_item) met; // of a cast that tells all
	carom_result result;    // of its visits
} cast_search;

/// A time before which a shape that turns by next to nothing stays farther than the tolerance from
/// a box: along each axis of the world the two overlap for one span of times.
static double span_time(const cast_search *s, const carom_aabb *rest)
{
	double far = 0, enter = 0, leave = 1;
	for (int k = 0; k < 3; k++)
		far += fmax(fabs(v3d_get(rest->lower, k)), fabs(v3d_get(rest->upper, k))) + fabs(v3d_get(s->mover.motion.travel, k));
	const double lost = cr_motion_rounding(s->box.reach, far, far) + s->turned + s->tolerance;
	for (int k = 0; k < 3; k++) {
		const double before = v3d_get(rest->lower, k) - v3d_get(s->begin.upper, k) - lost;
		const double behind = v3d_get(rest->upper, k) - v3d_get(s->begin.lower, k) + lost;
		const double speed = v3d_get(s->mover.motion.travel, k);
		if (speed == 0 && (before > 0 || behind < 0))
			return INFINITY;
		if (speed == 0)
			continue;
		const double u = before / speed, v = behind / speed;
		enter = fmax(enter, fmin(u, v));
		leave = fmin(leave, fmax(u, v));
	}
	return enter * CERTAINLY > leave ? (double)INFINITY : enter * CERTAINLY;
}

static double cast_key(const void *user, const double lower[3], const double upper[3])
{
	const cast_search *s = user;
	const carom_aabb rest = { v3d_sub((v3d){ lower[0], lower[1], lower[2] }, s->origin),
		v3d_sub((v3d){ upper[0], upper[1], upper[2] }, s->origin) };
	for (int k = 0; k < 3; k++) {
		if (v3d_get(rest.lower, k) > v3d_get(s->upper, k) || v3d_get(rest.upper, k) < v3d_get(s->lower, k))
			return INFINITY;
	}
	if (s->straight) {
		const double time = span_time(s, &rest);
		// The box of a ball tells no more along other axes.
		if (time >= 1 || (s->mover.convex && s->convex.core == CR_CORE_POINT))
			return time < 1 ? time : (double)INFINITY;
	}
	// bodies within the tolerance touch
	const double time = cr_mover_box_time(&s->mover.motion, &s->box, &rest, 2 * s->tolerance);
	return time < 1 ? time : (double)INFINITY;
}

/// A body at rest, seen from where the cast begins.
static cr_mover resting_mover(const cast_search *s, const cr_body *body, cr_convex *convex)
{
	cr_mover mover = cr_mover_of(&body->shape.def, convex);
	const carom_pose pose = { v3d_sub(body->pose.position, s->origin), body->pose.orientation };
	// as carom_time_of_impact has it, to the last bit
	mover.motion = cr_motion_between(&pose, &pose);
	mover.two_sided = mover.collider && !mover.collider->closed && !cr_has_front(body);
	return mover;
}

/// The impact with an item before a time. False: there is none.
static bool find_impact(const cast_search *s, cr_query_item item, const cr_body *seen, double before, met_item *met)
{
	cr_convex convex;
	const cr_mover body = resting_mover(s, seen, &convex);
	*met = (met_item){ .body = cr_first_part(s->world->bodies.data, item.body), .item = item };
	(s->past_touching ? cr_find_stop : cr_find_mover_impact)(
		s->world->pipeline.bvh, s->scratch, &s->mover, &body, s->tolerance, before, &met->impact);
	if (met->impact.impact.state == CR_IMPACT_NONE)
		return false;
	if (s->past_touching && met->impact.impact.time == 0)
		met->rate = cr_impact_rate(&s->mover, &body, &met->impact.impact);
	return true;
}

/// Of hits at one time the one that the motion goes into fastest counts, then the lowest item.
static int compare_met(const void *one, const void *other)
{
	const met_item *a = one, *b = other;
	const double time_a = a->impact.impact.time, time_b = b->impact.impact.time;
	if (time_a != time_b)
		return time_a < time_b ? -1 : 1;
	return a->rate != b->rate ? (a->rate < b->rate ? -1 : 1) : cr_compare_items(a->item, b->item);
}

static bool visit_cast(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	cast_search *s = user;
	met_item met;
	// Impacts at the best time so far are of use too: the lower index counts.
	const double before = s->found ? nextafter(s->first.impact.impact.time, 2) : 1;
	if (!find_impact(s, item, seen, before, &met) || (s->found && compare_met(&met, &s->first) > 0))
		return true;
	s->found = true;
	s->first = met;
	*limit = met.impact.impact.time;
	return true;
}

/// Sets the box around the shape where it begins, if it turns by next to nothing.
static void bound_begin(cast_search *s)
{
	const m3d rotation = m3d_from_quat(s->mover.motion.begin.orientation);
	double lower[3], upper[3];
	s->turned = s->mover.motion.angle * s->box.reach;
	s->straight = s->mover.convex && s->turned <= 0.25 * s->tolerance;
	if (!s->straight)
		return;
	cr_convex_bounds(s->mover.convex, &rotation, lower, upper);
	s->begin = (carom_aabb){ { lower[0], lower[1], lower[2] }, { upper[0], upper[1], upper[2] } };
}

/// Sets the shape on its way, with the box around all of it.
static void begin_cast(cast_search *s, const carom_shape *shape, const carom_pose *begin, const carom_pose *end)
{
	const carom_pose ends[2] = { { { 0, 0, 0 }, begin->orientation },
		{ v3d_sub(end->position, begin->position), end->orientation } };
	s->origin = begin->position;
	s->mover = cr_mover_of(shape, &s->convex);
	s->own_materials = cr_has_mesh(shape) ? shape->mesh->materials : NULL;
	s->mover.held = true;
	s->mover.two_sided = s->mover.collider && !s->mover.collider->closed && !cr_is_one_sided(shape->mesh);
	s->mover.motion = cr_motion_between(&ends[0], &ends[1]);
	s->box = cr_mover_bounds(&s->mover);
	bound_begin(s);
	const v3d to = ends[1].position;
	const double reach = (s->box.reach + s->tolerance) * (1 + 1e-9) + 1e-9 * v3d_length(to);
	s->lower = (v3d){ fmin(to.x, 0) - reach, fmin(to.y, 0) - reach, fmin(to.z, 0) - reach };
	s->upper = (v3d){ fmax(to.x, 0) + reach, fmax(to.y, 0) + reach, fmax(to.z, 0) + reach };
}

/// Nothing fails here: the search has seen the item.
static void write_hit(const cast_search *s, met_item *met, carom_shape_hit *hit)
{
	cr_convex convex;
	cr_body room;
	carom_result seen = CAROM_SUCCESS;
	const cr_mover body = resting_mover(s, cr_see_item(s->world, met->item, &room, &seen), &convex);
	const bool is_named = met->impact.triangle[0] >= 0 || met->impact.triangle[1] >= 0;
	if (!is_named && (s->mover.collider || body.collider))
		cr_find_nearest_parts(s->scratch, &s->mover, &body, &met->impact);
	const cr_impact *impact = &met->impact.impact;
	const v3d place = v3d_add(cr_motion_at(&s->mover.motion, impact->separation_time).position, s->origin);
	*hit = (carom_shape_hit){ .body = cr_id_of(s->world->bodies.data, met->item.body),
		.shape = cr_item_shape(s->world, met->item),
		.time = impact->time,
		.touching = impact->state == CR_IMPACT_TOUCHING || impact->time == 0,
		.distance = impact->separation.gap,
		.point = v3d_add(impact->separation.on_b, place),
		.normal = impact->separation.normal,
		.triangle = met->impact.triangle[1],
		.own_triangle = met->impact.triangle[0],
		.undecided = impact->state == CR_IMPACT_UNDECIDED,
		.material = cr_material_of(&s->world->bodies.data[met->item.body], met->impact.triangle[1]),
		.own_material = s->own_materials && met->impact.triangle[0] >= 0 ? s->own_materials[met->impact.triangle[0]] : 0,
		.user_data = s->world->bodies.data[met->item.body].user_data };
}

static carom_result check_cast(
	const carom_world *world, const carom_shape *shape, const carom_motion *motion, const char *function, carom_pose ends[2])
{
	if (!shape || !motion)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, shape ? "motion" : "shape");
	if (shape->type == CAROM_PLANE)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: shape.type is CAROM_PLANE, which has no end", function);
	carom_result result = cr_check_shape(world->context, shape, function);
	if (result == CAROM_SUCCESS)
		result = cr_check_pose(world->context, &motion->begin, function, "motion.begin", &ends[0]);
	if (result == CAROM_SUCCESS)
		result = cr_check_pose(world->context, &motion->end, function, "motion.end", &ends[1]);
	return result;
}

carom_result cr_check_cast_tolerance(carom_context *context, double tolerance, const char *function)
{
	return tolerance > 0 && isfinite(tolerance)
		? CAROM_SUCCESS
		: cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: tolerance is %g; it must be finite and above 0", function, tolerance);
}

/// Checks a cast and searches. Without an error, a shape without extent meets nothing.
static carom_result search_cast(cast_search *s, const carom_shape *shape, const carom_motion *motion,
	const carom_query_filter *filter, const char *name, bool (*visit)(void *, cr_query_item, const cr_body *, double *))
{
	carom_pose ends[2];
	const carom_result result = check_cast(s->world, shape, motion, name, ends);
	if (result != CAROM_SUCCESS || cr_is_empty_shape(shape))
		return result;
	s->past_touching = filter && filter->skip_separating;
	begin_cast(s, shape, &ends[0], &ends[1]);
	cr_index_search search = { .key = cast_key, .visit = visit, .user = s, .filter = filter, .limit = 1 };
	return cr_search_bodies(s->world, name, &search, &s->result);
}

carom_result cr_ask_cast(const carom_world *world, const carom_shape *shape, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, cr_mover_scratch *scratch, const char *name, bool *found, carom_shape_hit *hit)
{
	cast_search s = { .world = world, .tolerance = tolerance, .scratch = scratch };
	const carom_result result = search_cast(&s, shape, motion, filter, name, visit_cast);
	*found = result == CAROM_SUCCESS && s.found;
	if (*found)
		write_hit(&s, &s.first, hit);
	return result;
}

// ---- All that a shape meets ----

/// Spheres of a body come one behind the other, and so do some parts: of these the first hit alone
/// is kept.
static bool visit_cast_all(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	(void)limit;
	cast_search *s = user;
	met_item met, *last = s->met.count > 0 ? &s->met.data[s->met.count - 1] : NULL;
	if (last && last->body != cr_first_part(s->world->bodies.data, item.body))
		last = NULL;
	if (!find_impact(s, item, seen, last ? nextafter(last->impact.impact.time, 2) : 1, &met))
		return true;
	if (last) {
		if (compare_met(&met, last) < 0)
			*last = met;
		return true;
	}
	if (!cr_array_reserve_one(s->world->context, &s->met)) {
		s->result = cr_fail_memory(s->world->context, "the hits of a shape cast");
		return false;
	}
	s->met.data[s->met.count++] = met;
	return true;
}

static int compare_met_bodies(const void *one, const void *other)
{
	const met_item *a = one, *b = other;
	return a->body != b->body ? (a->body < b->body ? -1 : 1) : compare_met(a, b);
}

/// Keeps the first hit of each body, and sorts these.
static void sort_met(cast_search *s)
{
	int64_t kept = 0;
	cr_sort_stably(s->met.data, s->met.count, sizeof *s->met.data, compare_met_bodies);
	for (int64_t i = 0; i < s->met.count; i++) {
		if (kept == 0 || s->met.data[kept - 1].body != s->met.data[i].body)
			s->met.data[kept++] = s->met.data[i];
	}
	s->met.count = kept;
	cr_sort_stably(s->met.data, kept, sizeof *s->met.data, compare_met);
}

/// Appends the hits of the bodies that were met.
static carom_result write_hits(cast_search *s, cr_shape_hit_list *hits)
{
	if (s->met.count == 0)
		return CAROM_SUCCESS;
	sort_met(s);
	if (!cr_array_reserve(s->world->context, hits, hits->count + s->met.count))
		return cr_fail_memory(s->world->context, "the hits of a shape cast");
	for (int64_t i = 0; i < s->met.count; i++)
		write_hit(s, &s->met.data[i], &hits->data[hits->count++]);
	return CAROM_SUCCESS;
}

carom_result cr_ask_cast_all(const carom_world *world, const carom_shape *shape, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, cr_mover_scratch *scratch, const char *name, cr_shape_hit_list *hits)
{
	cast_search s = { .world = world, .tolerance = tolerance, .scratch = scratch };
	carom_result result = search_cast(&s, shape, motion, filter, name, visit_cast_all);
	if (result == CAROM_SUCCESS)
		result = write_hits(&s, hits);
	cr_array_free(world->context, &s.met);
	return result;
}

// ---- Calls ----

carom_result carom_world_cast_shape(const carom_world *world, const carom_shape *shape, const carom_motion *motion,
	double tolerance, const carom_query_filter *filter, bool *found, carom_shape_hit *hit)
{
	static const char *const name = "carom_world_cast_shape";
	if (!found || !hit)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, found ? "hit" : "found");
	*found = false;
	carom_result result = cr_check_cast_tolerance(world->context, tolerance, name);
	if (result != CAROM_SUCCESS)
		return result;
	cr_mover_scratch *scratch = cr_alloc(world->context, sizeof *scratch);
	if (!scratch)
		return cr_fail_memory(world->context, "a shape cast");
	result = cr_ask_cast(world, shape, motion, tolerance, filter, scratch, name, found, hit);
	cr_free(world->context, scratch, sizeof *scratch);
	return result;
}

carom_result carom_world_cast_shape_all(const carom_world *world, const carom_shape *shape, const carom_motion *motion,
	double tolerance, const carom_query_filter *filter, int32_t capacity, carom_shape_hit *hits, int32_t *count)
{
	static const char *const name = "carom_world_cast_shape_all";
	carom_result result = cr_check_output(world, capacity, hits, count, name, "hits");
	if (result != CAROM_SUCCESS)
		return result;
	*count = 0;
	result = cr_check_cast_tolerance(world->context, tolerance, name);
	if (result != CAROM_SUCCESS)
		return result;
	cr_mover_scratch *scratch = cr_alloc(world->context, sizeof *scratch);
	if (!scratch)
		return cr_fail_memory(world->context, "a shape cast");
	cr_shape_hit_list all = { .count = 0 };
	result = cr_ask_cast_all(world, shape, motion, tolerance, filter, scratch, name, &all);
	cr_free(world->context, scratch, sizeof *scratch);
	if (result == CAROM_SUCCESS)
		*count = (int32_t)all.count;
	for (int32_t i = 0; i < *count && i < capacity; i++)
		hits[i] = all.data[i];
	cr_array_free(world->context, &all);
	return result;
}
