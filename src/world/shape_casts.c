/// Casts of shapes through a world: along a screw motion, the first body that the shape meets, or
/// the first hit of each. Bodies come nearest first, by a time before which the shape stays away
/// from their boxes; each is a conservative advancement (bvh/mover.h). Any number of threads.
///
/// Of several parts that move as one body each is cast, on its arc around the body's origin, up to
/// the first hit of those before it.
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
	int32_t own;  // part that is cast
	cr_query_item item;
	cr_mover_impact impact;
	double rate; // of its gap; 0 where it does not count
} met_item;

typedef struct cast_search {
	const carom_world *world;
	double tolerance;
	const carom_part *parts; // [part_count] that are cast
	int32_t part_count;
	bool has_places;  // they have poses of their own; else the one is a shape
	cr_motion motion; // of their body
	int32_t part;     // in hand
	v3d origin;       // of the motions: where the body begins
	cr_convex convex;
	cr_mover mover;
	cr_mover_box box; // of the mover
	v3d lower, upper; // around its whole way
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
	*met = (met_item){ .body = cr_first_part(s->world->bodies.data, item.body), .own = s->part, .item = item };
	(s->past_touching ? cr_find_stop : cr_find_mover_impact)(
		s->world->pipeline.bvh, s->scratch, &s->mover, &body, s->tolerance, before, &met->impact);
	if (met->impact.impact.state == CR_IMPACT_NONE)
		return false;
	if (s->past_touching && met->impact.impact.time == 0)
		met->rate = cr_impact_rate(&s->mover, &body, &met->impact.impact);
	return true;
}

/// Of hits at one time the one that the motion goes into fastest counts, then the lowest item, then
/// the lowest part that is cast.
static int compare_met(const void *one, const void *other)
{
	const met_item *a = one, *b = other;
	const double time_a = a->impact.impact.time, time_b = b->impact.impact.time;
	if (time_a != time_b)
		return time_a < time_b ? -1 : 1;
	if (a->rate != b->rate)
		return a->rate < b->rate ? -1 : 1;
	const int order = cr_compare_items(a->item, b->item);
	return order ? order : cr_compare_numbers(a->own, b->own);
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
	const cr_motion *motion = &s->mover.motion;
	s->turned = motion->angle * (s->box.reach + motion->lever);
	s->straight = s->mover.convex && s->turned <= 0.25 * s->tolerance;
	if (!s->straight)
		return;
	const carom_pose start = cr_motion_start(motion);
	const m3d rotation = m3d_from_quat(start.orientation);
	double lower[3], upper[3];
	cr_convex_bounds(s->mover.convex, &rotation, lower, upper);
	s->begin = (carom_aabb){ v3d_add(start.position, (v3d){ lower[0], lower[1], lower[2] }),
		v3d_add(start.position, (v3d){ upper[0], upper[1], upper[2] }) };
}

/// Sets a part on its way, with the box around all of it.
static void begin_part(cast_search *s, int32_t part)
{
	const carom_shape *shape = &s->parts[part].shape;
	s->part = part;
	s->mover = cr_mover_of(shape, &s->convex);
	s->mover.held = true;
	s->mover.two_sided = s->mover.collider && !s->mover.collider->closed && !cr_is_one_sided(shape->mesh);
	s->mover.motion = s->motion;
	if (s->has_places) {
		carom_pose local; // normalised; check_parts has passed it
		cr_check_pose(s->world->context, &s->parts[part].pose, "", "pose", &local);
		s->mover.motion = cr_motion_of_part(&s->motion, &local);
	}
	s->box = cr_mover_bounds(&s->mover);
	bound_begin(s);
	const v3d to = s->motion.travel;
	const double reach = (s->box.reach + s->mover.motion.lever + s->tolerance) * (1 + 1e-9) + 1e-9 * v3d_length(to);
	s->lower = (v3d){ fmin(to.x, 0) - reach, fmin(to.y, 0) - reach, fmin(to.z, 0) - reach };
	s->upper = (v3d){ fmax(to.x, 0) + reach, fmax(to.y, 0) + reach, fmax(to.z, 0) + reach };
}

/// The material of the part in hand at an impact, whose triangle is known where it is a mesh.
static uint32_t own_material(const cast_search *s, const cr_impact *impact, int32_t triangle)
{
	const carom_shape *shape = &s->parts[s->part].shape;
	if (!cr_has_mesh(shape))
		return 0;
	// Separations are about the place of the mover, along the axes of the world.
	const cr_body own = {
		.pose = { .orientation = cr_motion_at(&s->mover.motion, impact->separation_time).orientation },
		.shape = { .def = *shape, .family = cr_family_of(shape), .mesh = (carom_mesh *)shape->mesh },
	};
	const cr_separation *apart = &impact->separation;
	return cr_material_at(&own, triangle, v3d_mad(apart->on_b, apart->gap, apart->normal), v3d_neg(apart->normal));
}

/// Nothing fails here: the search has seen the item.
static void write_hit(cast_search *s, met_item *met, carom_shape_hit *hit)
{
	if (s->part != met->own)
		begin_part(s, met->own);
	cr_convex convex;
	cr_body room;
	carom_result seen = CAROM_SUCCESS;
	const cr_mover body = resting_mover(s, cr_see_item(s->world, met->item, &room, &seen), &convex);
	const bool is_named = met->impact.triangle[0] >= 0 || met->impact.triangle[1] >= 0;
	if (!is_named && (s->mover.collider || body.collider))
		cr_find_nearest_parts(s->scratch, &s->mover, &body, &met->impact);
	const cr_impact *impact = &met->impact.impact;
	const v3d place = v3d_add(cr_motion_at(&s->mover.motion, impact->separation_time).position, s->origin);
	const cr_body *met_body = &s->world->bodies.data[met->item.body];
	const v3d point = v3d_add(impact->separation.on_b, place);
	*hit = (carom_shape_hit){ .body = cr_id_of(s->world->bodies.data, met->item.body),
		.shape = cr_item_shape(s->world, met->item),
		.time = impact->time,
		.touching = impact->state == CR_IMPACT_TOUCHING || impact->time == 0,
		.distance = impact->separation.gap,
		.point = point,
		.normal = impact->separation.normal,
		.triangle = met->impact.triangle[1],
		.own_triangle = met->impact.triangle[0],
		.own_shape = met->own,
		.undecided = impact->state == CR_IMPACT_UNDECIDED,
		.material = cr_material_at(met_body, met->impact.triangle[1], point, impact->separation.normal),
		.own_material = own_material(s, impact, met->impact.triangle[0]),
		.user_data = met_body->user_data };
}

static carom_result check_shape(carom_context *context, const carom_shape *shape, const void *none, const char *function)
{
	(void)none;
	if (shape->type == CAROM_PLANE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.type is CAROM_PLANE, which has no end", function);
	return cr_check_padded_shape(context, shape, function);
}

static carom_result check_parts(carom_context *context, const carom_part *parts, int32_t count, const char *function)
{
	if (count < 1)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: part_count is %d; it must be above 0", function, count);
	return cr_check_each_part(context, parts, count, check_shape, NULL, function);
}

/// Checks the parts and their motion, and sets them on their way.
static carom_result begin_cast(cast_search *s, const carom_motion *motion, const char *function)
{
	carom_context *context = s->world->context;
	if (!motion)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: motion is NULL", function);
	carom_pose begin, end;
	carom_result result = s->has_places ? check_parts(context, s->parts, s->part_count, function)
										: check_shape(context, &s->parts->shape, NULL, function);
	if (result == CAROM_SUCCESS)
		result = cr_check_pose(context, &motion->begin, function, "motion.begin", &begin);
	if (result == CAROM_SUCCESS)
		result = cr_check_pose(context, &motion->end, function, "motion.end", &end);
	if (result != CAROM_SUCCESS)
		return result;
	const carom_pose ends[2] = { { { 0, 0, 0 }, begin.orientation },
		{ v3d_sub(end.position, begin.position), end.orientation } };
	s->origin = begin.position;
	s->motion = cr_motion_between(&ends[0], &ends[1]);
	return CAROM_SUCCESS;
}

carom_result cr_check_cast_tolerance(carom_context *context, double tolerance, const char *function)
{
	return tolerance > 0 && isfinite(tolerance)
		? CAROM_SUCCESS
		: cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: tolerance is %g; it must be finite and above 0", function, tolerance);
}

/// Checks a cast and searches, for each part up to the first hit so far. Without an error, a shape
/// without extent meets nothing.
static carom_result search_cast(cast_search *s, const carom_motion *motion, const carom_query_filter *filter, const char *name,
	bool (*visit)(void *, cr_query_item, const cr_body *, double *))
{
	carom_result result = begin_cast(s, motion, name);
	s->past_touching = filter && filter->skip_separating;
	for (int32_t i = 0; i < s->part_count && result == CAROM_SUCCESS; i++) {
		if (cr_is_empty_shape(&s->parts[i].shape))
			continue;
		begin_part(s, i);
		const double limit = s->found ? s->first.impact.impact.time : 1;
		cr_index_search search = { .key = cast_key, .visit = visit, .user = s, .filter = filter, .limit = limit };
		result = cr_search_bodies(s->world, name, &search, &s->result);
	}
	return result;
}

static carom_result ask_first(cast_search *s, const carom_motion *motion, const carom_query_filter *filter, const char *name,
	bool *found, carom_shape_hit *hit)
{
	const carom_result result = search_cast(s, motion, filter, name, visit_cast);
	*found = result == CAROM_SUCCESS && s->found;
	if (*found)
		write_hit(s, &s->first, hit);
	return result;
}

/// Lets a shape be the one part that is cast; it lies in *room.
static carom_result take_shape(cast_search *s, const carom_shape *shape, carom_part *room, const char *function)
{
	if (!shape)
		return cr_fail(s->world->context, CAROM_INVALID_ARGUMENT, "%s: shape is NULL", function);
	*room = (carom_part){ .shape = *shape };
	s->parts = room;
	s->part_count = 1;
	return CAROM_SUCCESS;
}

carom_result cr_ask_cast(const carom_world *world, const carom_shape *shape, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, cr_mover_scratch *scratch, const char *name, bool *found, carom_shape_hit *hit)
{
	carom_part room;
	cast_search s = { .world = world, .tolerance = tolerance, .scratch = scratch };
	*found = false;
	const carom_result result = take_shape(&s, shape, &room, name);
	return result == CAROM_SUCCESS ? ask_first(&s, motion, filter, name, found, hit) : result;
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

static carom_result ask_all(
	cast_search *s, const carom_motion *motion, const carom_query_filter *filter, const char *name, cr_shape_hit_list *hits)
{
	carom_result result = search_cast(s, motion, filter, name, visit_cast_all);
	if (result == CAROM_SUCCESS)
		result = write_hits(s, hits);
	cr_array_free(s->world->context, &s->met);
	return result;
}

carom_result cr_ask_cast_all(const carom_world *world, const carom_shape *shape, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, cr_mover_scratch *scratch, const char *name, cr_shape_hit_list *hits)
{
	carom_part room;
	cast_search s = { .world = world, .tolerance = tolerance, .scratch = scratch };
	const carom_result result = take_shape(&s, shape, &room, name);
	return result == CAROM_SUCCESS ? ask_all(&s, motion, filter, name, hits) : result;
}

// ---- Calls ----

/// A cast that a call asks for: of parts, or of a shape, which becomes one part.
typedef struct cast_call {
	const char *name;
	bool has_shape;
	const carom_shape *shape;
	const carom_part *parts;
	int32_t part_count;
	const carom_motion *motion;
	double tolerance;
	const carom_query_filter *filter;
} cast_call;

/// Sets a search up; scratch is to be freed. A shape lies in *room.
static carom_result begin_call(const carom_world *world, const cast_call *call, carom_part *room, cast_search *s)
{
	*s = (cast_search){ .world = world,
		.tolerance = call->tolerance,
		.parts = call->parts,
		.part_count = call->part_count,
		.has_places = !call->has_shape };
	carom_result result = call->has_shape ? take_shape(s, call->shape, room, call->name) : CAROM_SUCCESS;
	if (result == CAROM_SUCCESS)
		result = cr_check_cast_tolerance(world->context, call->tolerance, call->name);
	if (result != CAROM_SUCCESS)
		return result;
	s->scratch = cr_alloc(world->context, sizeof *s->scratch);
	return s->scratch ? CAROM_SUCCESS : cr_fail_memory(world->context, "a shape cast");
}

static void end_call(cast_search *s) { cr_free(s->world->context, s->scratch, sizeof *s->scratch); }

static carom_result call_cast(const carom_world *world, const cast_call *call, bool *found, carom_shape_hit *hit)
{
	if (!found || !hit)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", call->name, found ? "hit" : "found");
	*found = false;
	carom_part room;
	cast_search s;
	carom_result result = begin_call(world, call, &room, &s);
	if (result != CAROM_SUCCESS)
		return result;
	result = ask_first(&s, call->motion, call->filter, call->name, found, hit);
	end_call(&s);
	return result;
}

static carom_result call_cast_all(
	const carom_world *world, const cast_call *call, int32_t capacity, carom_shape_hit *hits, int32_t *count)
{
	carom_result result = cr_check_output(world, capacity, hits, count, call->name, "hits");
	if (result != CAROM_SUCCESS)
		return result;
	*count = 0;
	carom_part room;
	cast_search s;
	result = begin_call(world, call, &room, &s);
	if (result != CAROM_SUCCESS)
		return result;
	cr_shape_hit_list all = { .count = 0 };
	result = ask_all(&s, call->motion, call->filter, call->name, &all);
	end_call(&s);
	if (result == CAROM_SUCCESS)
		*count = (int32_t)all.count;
	for (int32_t i = 0; i < *count && i < capacity; i++)
		hits[i] = all.data[i];
	cr_array_free(world->context, &all);
	return result;
}

carom_result carom_world_cast_shape(const carom_world *world, const carom_shape *shape, const carom_motion *motion,
	double tolerance, const carom_query_filter *filter, bool *found, carom_shape_hit *hit)
{
	const cast_call call = { .name = "carom_world_cast_shape",
		.has_shape = true,
		.shape = shape,
		.motion = motion,
		.tolerance = tolerance,
		.filter = filter };
	return call_cast(world, &call, found, hit);
}

carom_result carom_world_cast_shape_all(const carom_world *world, const carom_shape *shape, const carom_motion *motion,
	double tolerance, const carom_query_filter *filter, int32_t capacity, carom_shape_hit *hits, int32_t *count)
{
	const cast_call call = { .name = "carom_world_cast_shape_all",
		.has_shape = true,
		.shape = shape,
		.motion = motion,
		.tolerance = tolerance,
		.filter = filter };
	return call_cast_all(world, &call, capacity, hits, count);
}

carom_result carom_world_cast_parts(const carom_world *world, const carom_part *parts, int32_t part_count,
	const carom_motion *motion, double tolerance, const carom_query_filter *filter, bool *found, carom_shape_hit *hit)
{
	const cast_call call = { .name = "carom_world_cast_parts",
		.parts = parts,
		.part_count = part_count,
		.motion = motion,
		.tolerance = tolerance,
		.filter = filter };
	return call_cast(world, &call, found, hit);
}

carom_result carom_world_cast_parts_all(const carom_world *world, const carom_part *parts, int32_t part_count,
	const carom_motion *motion, double tolerance, const carom_query_filter *filter, int32_t capacity, carom_shape_hit *hits,
	int32_t *count)
{
	const cast_call call = { .name = "carom_world_cast_parts_all",
		.parts = parts,
		.part_count = part_count,
		.motion = motion,
		.tolerance = tolerance,
		.filter = filter };
	return call_cast_all(world, &call, capacity, hits, count);
}
