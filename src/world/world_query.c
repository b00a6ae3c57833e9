/// User queries over a world: check the arguments, search the tree over bodies, ask each body that
/// the filter lets through. Everything here takes a const world and may run on many threads at
/// once.
#include "base/stable_sort.h"
#include "frame/shape_table.h"
#include "contact/shape_overlap.h"
#include "world/body_query.h"
#include "world/overlap_query.h"
#include "world/single_query.h"
#include <stdlib.h>
#include <string.h>

// Directions beyond 2^±100 are scaled to the middle, so that no product of their components leaves
// the range of double.
static const double LARGE_DIRECTION = 0x1p100;

carom_query_filter carom_default_query_filter(void)
{
	return (carom_query_filter){ .category = UINT64_MAX, .mask = UINT64_MAX };
}

bool cr_query_passes(const carom_query_filter *filter, const carom_world *world, int32_t index)
{
	const cr_body *body = &world->bodies.data[index];
	if (!filter)
		return true;
	if ((filter->category & body->mask) == 0 || (body->category & filter->mask) == 0 || (filter->skip_sensors && body->sensor))
		return false;
	const carom_body_id id = cr_id_of(world->bodies.data, index);
	return filter->ignore.index1 != id.index1 || filter->ignore.generation != id.generation;
}

static bool is_finite_vec(v3d v) { return isfinite(v.x) && isfinite(v.y) && isfinite(v.z); }

/// Of three finite numbers; without a call of fmax.
static double largest_of(v3d v)
{
	const double x = fabs(v.x), y = fabs(v.y), z = fabs(v.z), xy = x > y ? x : y;
	return xy > z ? xy : z;
}

carom_result cr_check_position(carom_context *context, v3d p, const char *function, const char *field)
{
	if (!is_finite_vec(p))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is not finite", function, field);
	if (largest_of(p) > CAROM_MAX_POSITION)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: %s is (%g, %g, %g); it must lie within %g of the origin (CAROM_MAX_POSITION)", function, field, p.x, p.y, p.z,
			CAROM_MAX_POSITION);
	return CAROM_SUCCESS;
}

carom_result cr_search_bodies(
	const carom_world *world, const char *function, cr_index_search *search, const carom_result *visits)
{
	const unsigned refusals = cr_count_refusals(world);
	const carom_result result = cr_query_index_search(world, search);
	return cr_explain_failure(world, function, refusals, result == CAROM_SUCCESS && visits ? *visits : result);
}

// ---- Rays ----

/// A ray query on its way through the bodies.
typedef struct ray_search {
	const carom_world *world;
	const carom_query_filter *filter;
	cr_query_ray ray; // direction in range: t counts in scale of the caller's
	double scale;
	cr_ray_sides sides;
	bool found;
	cr_query_item item; // that was hit
	cr_hit_list *all;
	carom_result result; // of the visits
	carom_ray_hit hit;   // once found
} ray_search;

carom_result cr_take_ray(carom_context *context, const carom_ray *ray, const char *function, cr_query_ray *taken, double *scale)
{
	if (!ray)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: ray is NULL", function);
	const carom_result result = cr_check_position(context, ray->origin, function, "ray.origin");
	if (result != CAROM_SUCCESS)
		return result;
	const v3d d = ray->direction;
	const double largest = largest_of(d);
	if (!is_finite_vec(d))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: ray.direction is not finite", function);
	if (largest == 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: ray.direction is zero", function);
	if (!isfinite(ray->t_min) || !(ray->t_max >= ray->t_min))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: ray.t_min is %g and ray.t_max is %g; they must be an interval",
			function, ray->t_min, ray->t_max);
	*scale = 1;
	*taken = (cr_query_ray){ ray->origin, d, ray->t_min, ray->t_max };
	if (largest > LARGE_DIRECTION || largest < 1 / LARGE_DIRECTION) {
		*scale = largest;
		taken->direction = (v3d){ d.x / largest, d.y / largest, d.z / largest };
		taken->t_min *= largest;
		taken->t_max *= largest;
		if (!isfinite(taken->t_min))
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: ray.t_min lies out of range along this direction", function);
	}
	return CAROM_SUCCESS;
}

static carom_result begin_ray(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, const char *function, ray_search *s)
{
	// All but the hit, which is large.
	s->world = world;
	s->filter = filter;
	s->found = false;
	s->all = NULL;
	s->result = CAROM_SUCCESS;
	s->sides = filter && filter->skip_back_faces ? CR_RAY_FRONTS : CR_RAY_BOTH;
	return cr_take_ray(world->context, ray, function, &s->ray, &s->scale);
}

/// Say where the item of the search was hit.
static void finish_hit(const ray_search *s, carom_ray_hit *hit)
{
	const cr_body *body = &s->world->bodies.data[s->item.body];
	hit->body = cr_id_of(s->world->bodies.data, s->item.body);
	hit->shape = cr_item_shape(s->world, s->item);
	hit->t /= s->scale;
	hit->material = cr_material_at(body, hit->triangle, hit->point, hit->normal);
	hit->user_data = body->user_data;
}

static uint32_t ray_keys(const void *user, const cr_boxes8 *boxes, double key[CR_WIDTH])
{
	const ray_search *s = user;
	return s->world->pipeline.bvh->ray_boxes(&s->ray, boxes, key);
}

static bool visit_nearest(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	ray_search *s = user;
	carom_ray_hit hit;
	if (!cr_body_cast(seen, s->world->pipeline.bvh, &s->ray, s->sides, &hit))
		return true;
	if (s->found && (hit.t > s->hit.t || (hit.t == s->hit.t && cr_compare_items(s->item, item) < 0)))
		return true;
	s->found = true;
	s->item = item;
	s->hit = hit;
	s->ray.t_max = *limit = hit.t;
	return true;
}

static bool visit_any(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	ray_search *s = user;
	return visit_nearest(user, item, seen, limit) && !s->found;
}

/// Is there one body, which may be looked at without its box first? One that deforms is brought up
/// to date by a look.
static bool is_alone(const carom_world *world) { return world->bodies.count == 1 && !cr_deforming_of(&world->bodies.data[0]); }

static carom_result search_ray(
	ray_search *s, const char *function, bool (*visit)(void *user, cr_query_item item, const cr_body *seen, double *limit))
{
	cr_index_search search = {
		.keys = ray_keys, .visit = visit, .user = s, .filter = s->filter, .limit = s->ray.t_max, .takes_lone = is_alone(s->world)
	};
	return cr_search_bodies(s->world, function, &search, &s->result);
}

carom_result cr_ask_ray(const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, const char *name,
	bool *found, carom_ray_hit *hit)
{
	*found = false;
	ray_search s;
	carom_result result = begin_ray(world, ray, filter, name, &s);
	if (result == CAROM_SUCCESS)
		result = search_ray(&s, name, visit_nearest);
	if (result != CAROM_SUCCESS || !s.found)
		return result;
	*found = true;
	finish_hit(&s, &s.hit);
	cr_copy_hit(&s.hit, hit);
	return CAROM_SUCCESS;
}

carom_result carom_world_cast_ray(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, bool *found, carom_ray_hit *hit)
{
	static const char *const name = "carom_world_cast_ray";
	if (!found || !hit)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, found ? "hit" : "found");
	return cr_ask_ray(world, ray, filter, name, found, hit);
}

carom_result cr_ask_any_hit(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, const char *name, bool *found)
{
	*found = false;
	ray_search s;
	carom_result result = begin_ray(world, ray, filter, name, &s);
	if (result == CAROM_SUCCESS)
		result = search_ray(&s, name, visit_any);
	*found = result == CAROM_SUCCESS && s.found;
	return result;
}

carom_result carom_world_cast_ray_any(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, bool *found)
{
	static const char *const name = "carom_world_cast_ray_any";
	if (!found)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: found is NULL", name);
	return cr_ask_any_hit(world, ray, filter, name, found);
}

static bool keep_hit(const carom_ray_hit *hit, void *user)
{
	ray_search *s = user;
	if (!cr_array_reserve_one(s->world->context, s->all)) {
		s->result = cr_fail_memory(s->world->context, "the hits of a ray");
		return false;
	}
	carom_ray_hit *kept = &s->all->data[s->all->count++];
	memset(kept, 0, sizeof *kept);
	cr_copy_hit(hit, kept);
	finish_hit(s, kept);
	return true;
}

static bool visit_all(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	(void)limit;
	ray_search *s = user;
	s->item = item;
	cr_body_cast_all(seen, &s->ray, s->sides, keep_hit, s);
	return s->result == CAROM_SUCCESS;
}

static bool hit_before(const carom_ray_hit *a, const carom_ray_hit *b)
{
	if (a->t != b->t)
		return a->t < b->t;
	if (a->body.index1 != b->body.index1)
		return a->body.index1 < b->body.index1;
	if (a->shape != b->shape)
		return a->shape < b->shape;
	return a->triangle < b->triangle;
}

static void sift_down(carom_ray_hit *hits, int64_t at, int64_t count)
{
	const carom_ray_hit moving = hits[at];
	for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		child += child + 1 < count && hit_before(&hits[child], &hits[child + 1]);
		if (!hit_before(&moving, &hits[child]))
			break;
		hits[at] = hits[child];
		at = child;
	}
	hits[at] = moving;
}

/// Heap sort: in place, and no two hits are equal but the crossings of one volume at one t, which
/// are alike.
static void sort_hits(carom_ray_hit *hits, int64_t count)
{
	for (int64_t i = count / 2 - 1; i >= 0; i--)
		sift_down(hits, i, count);
	for (int64_t end = count - 1; end > 0; end--) {
		const carom_ray_hit last = hits[0];
		hits[0] = hits[end];
		hits[end] = last;
		sift_down(hits, 0, end);
	}
}

carom_result cr_check_output(const carom_world *world, int32_t capacity, const void *output, const int32_t *count,
	const char *function, const char *field)
{
	if (!count)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: count is NULL", function);
	if (capacity < 0)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: capacity is %d", function, capacity);
	if (capacity > 0 && !output)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, field);
	return CAROM_SUCCESS;
}

carom_result cr_ask_all_hits(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, const char *name, cr_hit_list *hits)
{
	ray_search s;
	const int64_t before = hits->count;
	carom_result result = begin_ray(world, ray, filter, name, &s);
	if (result != CAROM_SUCCESS)
		return result;
	s.all = hits;
	result = search_ray(&s, name, visit_all);
	if (result != CAROM_SUCCESS)
		hits->count = before;
	else if (hits->count > before)
		sort_hits(hits->data + before, hits->count - before);
	return result;
}

carom_result carom_world_cast_ray_all(const carom_world *world, const carom_ray *ray, const carom_query_filter *filter,
	int32_t capacity, carom_ray_hit *hits, int32_t *count)
{
	static const char *const name = "carom_world_cast_ray_all";
	carom_result result = cr_check_output(world, capacity, hits, count, name, "hits");
	if (result != CAROM_SUCCESS)
		return result;
	*count = 0;
	cr_hit_list all = { .count = 0 };
	result = cr_ask_all_hits(world, ray, filter, name, &all);
	if (result == CAROM_SUCCESS) {
		*count = (int32_t)all.count;
		for (int32_t i = 0; i < *count && i < capacity; i++)
			hits[i] = all.data[i];
	}
	cr_array_free(world->context, &all);
	return result;
}

// ---- Nearest point ----

typedef struct point_search {
	const carom_world *world;
	v3d point;
	bool found;
	cr_query_item item; // the nearest one
	carom_closest_point nearest;
} point_search;

static double point_key(const void *user, const double lower[3], const double upper[3])
{
	const point_search *s = user;
	double distance2 = 0;
	for (int k = 0; k < 3; k++) {
		const double x = v3d_get(s->point, k), below = lower[k] - x, above = x - upper[k];
		const double d = below > 0 ? below : above > 0 ? above : 0;
		distance2 += d * d;
	}
	return sqrt(distance2) * (1 - 0x1p-48);
}

static bool visit_point(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	point_search *s = user;
	carom_closest_point near;
	if (!cr_body_closest_point(seen, s->world->pipeline.bvh, s->point, *limit, &near))
		return true;
	const double distance = fabs(near.distance), best = fabs(s->nearest.distance);
	if (s->found && (distance > best || (distance == best && cr_compare_items(s->item, item) < 0)))
		return true;
	s->found = true;
	s->item = item;
	s->nearest = near;
	*limit = distance;
	return true;
}

carom_result cr_ask_closest_point(const carom_world *world, carom_vec3 point, double max_distance,
	const carom_query_filter *filter, const char *name, bool *found, carom_closest_point *result)
{
	*found = false;
	const carom_result checked = cr_check_position(world->context, point, name, "point");
	if (checked != CAROM_SUCCESS)
		return checked;
	point_search s = { .world = world, .point = point };
	cr_index_search search = { .key = point_key, .visit = visit_point, .user = &s, .filter = filter, .limit = max_distance };
	const carom_result outcome = cr_search_bodies(world, name, &search, NULL);
	if (outcome != CAROM_SUCCESS || !s.found)
		return outcome;
	*found = true;
	*result = s.nearest;
	result->body = cr_id_of(world->bodies.data, s.item.body);
	result->shape = cr_item_shape(world, s.item);
	result->material = cr_material_at(&world->bodies.data[s.item.body], result->triangle, result->point, result->normal);
	result->user_data = world->bodies.data[s.item.body].user_data;
	return CAROM_SUCCESS;
}

carom_result cr_check_max_distance(carom_context *context, double max_distance, const char *function)
{
	return max_distance >= 0
		? CAROM_SUCCESS
		: cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: max_distance is %g; it must be at least 0", function, max_distance);
}

carom_result carom_world_closest_point(const carom_world *world, carom_vec3 point, double max_distance,
	const carom_query_filter *filter, bool *found, carom_closest_point *result)
{
	static const char *const name = "carom_world_closest_point";
	if (!found || !result)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, found ? "result" : "found");
	*found = false;
	const carom_result checked = cr_check_max_distance(world->context, max_distance, name);
	return checked == CAROM_SUCCESS ? cr_ask_closest_point(world, point, max_distance, filter, name, found, result) : checked;
}

// ---- Overlap ----

static double overlap_key(const void *user, const double lower[3], const double upper[3])
{
	const cr_overlap_search *s = user;
	bool overlap = true;
	for (int k = 0; k < 3; k++)
		overlap = overlap && lower[k] <= s->upper[k] && s->lower[k] <= upper[k];
	return overlap ? 0 : INFINITY;
}

/// The corner of the query's box that lies deepest below a plane.
static v3d deepest_corner(const cr_overlap_search *s, const cr_body *plane)
{
	const m3d rotation = cr_rotation_of(plane);
	double corner[3];
	for (int k = 0; k < 3; k++)
		corner[k] = rotation.row[k].z > 0 ? s->lower[k] : s->upper[k];
	return (v3d){ corner[0], corner[1], corner[2] };
}

/// More than how far a body reaches from its position, along each axis.
static double reach_of(const cr_body *body)
{
	const carom_shape *shape = &body->shape.def;
	const cr_collider *c = body->shape.collider;
	const cr_local_box box = cr_local_box_of(body);
	double sum = 0;
	for (int k = 0; k < 3; k++)
		sum += shape->type == CAROM_MESH ? fmax(fabs((double)c->lower[k]), fabs((double)c->upper[k]))
										 : fabs(v3d_get(box.centre, k)) + v3d_get(box.half, k);
	return 1.25 * sum;
}

/// The query's box as a shape at a pose, cut to the reach of the body: as centre and half extents a
/// box of any size would lose the side that is near. False when they are apart.
static bool cut_box(const cr_overlap_search *s, const cr_body *body, carom_shape *shape, carom_pose *pose)
{
	*shape = (carom_shape){ .type = CAROM_BOX };
	*pose = carom_pose_identity();
	if (body->shape.def.type == CAROM_PLANE) {
		pose->position = deepest_corner(s, body);
		return true;
	}
	if (body->shape.def.type == CAROM_MESH && body->shape.collider->triangle_count == 0)
		return false;
	const double reach = reach_of(body);
	double centre[3];
	for (int k = 0; k < 3; k++) {
		const double position = v3d_get(body->pose.position, k), slack = fabs(position) * 0x1p-48;
		const double lower = fmax(s->lower[k], position - reach - slack), upper = fmin(s->upper[k], position + reach + slack);
		if (lower > upper)
			return false;
		centre[k] = 0.5 * (lower + upper);
		shape->half_extents[k] = 0.5 * (upper - lower);
	}
	pose->position = (v3d){ centre[0], centre[1], centre[2] };
	return true;
}

carom_result cr_test_overlap(const cr_overlap_search *s, const cr_body *body, bool *overlap)
{
	const carom_shape *shape = s->shape;
	const carom_pose *pose = &s->pose;
	carom_shape box;
	carom_pose box_pose;
	*overlap = false;
	if (!shape) {
		if (!cut_box(s, body, &box, &box_pose))
			return CAROM_SUCCESS;
		shape = &box;
		pose = &box_pose;
	}
	return cr_shapes_overlap(s->world->context, s->world->pipeline.bvh, &body->shape.def, &body->pose, shape, pose, overlap);
}

/// Was a number found already, by another part of its body?
static bool is_found(const cr_overlap_search *s, int32_t number)
{
	int64_t low = 0, high = s->found.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (s->found.data[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->found.count && s->found.data[low] == number;
}

static bool is_left(const void *user, int32_t body)
{
	const cr_overlap_search *s = user;
	return !is_found(s, cr_first_part(s->world->bodies.data, body));
}

static bool visit_overlap(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	(void)limit;
	cr_overlap_search *s = user;
	const int32_t number = cr_first_part(s->world->bodies.data, item.body);
	bool overlap = true;
	s->result = cr_test_overlap(s, seen, &overlap);
	if (s->result != CAROM_SUCCESS)
		return false;
	if (!overlap)
		return true;
	if (!cr_array_reserve(s->world->context, &s->found, s->found.count + 1)) {
		s->result = cr_fail_memory(s->world->context, "the bodies of an overlap");
		return false;
	}
	// Sorted as they come: an overlap finds few bodies.
	int64_t at = s->found.count++;
	for (; at > 0 && s->found.data[at - 1] > number; at--)
		s->found.data[at] = s->found.data[at - 1];
	s->found.data[at] = number;
	return true;
}

carom_result cr_check_query_shape(
	const carom_world *world, const carom_shape *shape, const carom_pose *given, const char *function, carom_pose *pose)
{
	if (!shape || !given)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, shape ? "pose" : "shape");
	if (shape->type == CAROM_PLANE)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: shape.type is CAROM_PLANE, which has no end", function);
	const carom_result result = cr_check_padded_shape(world->context, shape, function);
	return result == CAROM_SUCCESS ? cr_check_pose(world->context, given, function, "pose", pose) : result;
}

void cr_bound_query(cr_overlap_search *s)
{
	cr_body body = { .pose = s->pose, .shape = { .def = *s->shape, .family = cr_family_of(s->shape) } };
	if (s->shape->type == CAROM_MESH)
		body.shape.collider = &s->shape->mesh->collider;
	cr_body_bounds(&body, s->world->context->simd, s->lower, s->upper);
	const double padding = cr_padding_of(s->shape);
	for (int k = 0; k < 3 && padding > 0; k++) {
		const double slack = (fabs(s->lower[k]) + fabs(s->upper[k]) + padding) * 0x1p-50;
		s->lower[k] -= padding + slack;
		s->upper[k] += padding + slack;
	}
}

/// Finds the numbers of the bodies; nothing is kept on failure.
static carom_result find_overlaps(cr_overlap_search *s, const char *function)
{
	cr_index_search search = { .key = overlap_key, .visit = visit_overlap, .user = s, .filter = s->filter, .wants = is_left };
	const carom_result result = cr_search_bodies(s->world, function, &search, &s->result);
	if (result != CAROM_SUCCESS)
		cr_array_free(s->world->context, &s->found);
	return result;
}

/// Finds the bodies and writes their ids.
static carom_result tell_overlaps(
	cr_overlap_search *s, const char *function, int32_t capacity, carom_body_id *bodies, int32_t *count)
{
	const carom_result result = find_overlaps(s, function);
	if (result != CAROM_SUCCESS)
		return result;
	*count = (int32_t)s->found.count;
	for (int32_t i = 0; i < *count && i < capacity; i++)
		bodies[i] = cr_id_of(s->world->bodies.data, s->found.data[i]);
	cr_array_free(s->world->context, &s->found);
	return CAROM_SUCCESS;
}

/// Begins a search for the bodies that touch a box.
static carom_result begin_box_overlap(
	const carom_world *world, const carom_aabb *box, const carom_query_filter *filter, const char *name, cr_overlap_search *s)
{
	if (!is_finite_vec(box->lower) || !is_finite_vec(box->upper))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: box.%s is not finite", name,
			is_finite_vec(box->lower) ? "upper" : "lower");
	*s = (cr_overlap_search){ .world = world, .filter = filter };
	for (int k = 0; k < 3; k++) {
		s->lower[k] = v3d_get(box->lower, k);
		s->upper[k] = v3d_get(box->upper, k);
		if (s->lower[k] > s->upper[k])
			return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: box.lower lies above box.upper", name);
	}
	return CAROM_SUCCESS;
}

carom_result cr_ask_overlap_box(
	const carom_world *world, const carom_aabb *box, const carom_query_filter *filter, const char *name, cr_body_list *list)
{
	cr_overlap_search s;
	*list = (cr_body_list){ .count = 0 };
	carom_result result = begin_box_overlap(world, box, filter, name, &s);
	if (result == CAROM_SUCCESS)
		result = find_overlaps(&s, name);
	if (result == CAROM_SUCCESS)
		*list = (cr_body_list){ s.found.data, s.found.count, s.found.capacity };
	return result;
}

carom_result carom_world_overlap_aabb(const carom_world *world, const carom_aabb *box, const carom_query_filter *filter,
	int32_t capacity, carom_body_id *bodies, int32_t *count)
{
	static const char *const name = "carom_world_overlap_aabb";
	carom_result result = cr_check_output(world, capacity, bodies, count, name, "bodies");
	if (result != CAROM_SUCCESS)
		return result;
	*count = 0;
	if (!box)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: box is NULL", name);
	cr_overlap_search s;
	result = begin_box_overlap(world, box, filter, name, &s);
	return result == CAROM_SUCCESS ? tell_overlaps(&s, name, capacity, bodies, count) : result;
}

/// Begins a search for the bodies that touch a shape. The arguments are checked.
static carom_result begin_overlap(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, const char *name, cr_overlap_search *s)
{
	*s = (cr_overlap_search){ .world = world, .filter = filter, .shape = shape };
	const carom_result result = cr_check_query_shape(world, shape, pose, name, &s->pose);
	if (result == CAROM_SUCCESS && !cr_is_empty_shape(shape))
		cr_bound_query(s);
	return result;
}

carom_result cr_ask_overlap(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, const char *name, cr_body_list *list)
{
	cr_overlap_search s;
	carom_result result = begin_overlap(world, shape, pose, filter, name, &s);
	*list = (cr_body_list){ .count = 0 };
	if (result == CAROM_SUCCESS && !cr_is_empty_shape(shape))
		result = find_overlaps(&s, name);
	if (result == CAROM_SUCCESS)
		*list = (cr_body_list){ s.found.data, s.found.count, s.found.capacity };
	return result;
}

carom_result carom_world_overlap_shape(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, int32_t capacity, carom_body_id *bodies, int32_t *count)
{
	static const char *const name = "carom_world_overlap_shape";
	carom_result result = cr_check_output(world, capacity, bodies, count, name, "bodies");
	if (result != CAROM_SUCCESS)
		return result;
	*count = 0;
	cr_overlap_search s;
	result = begin_overlap(world, shape, pose, filter, name, &s);
	return result == CAROM_SUCCESS && !cr_is_empty_shape(shape) ? tell_overlaps(&s, name, capacity, bodies, count) : result;
}

// ---- Boxes near a shape ----

static bool visit_near(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	(void)seen, (void)limit;
	cr_overlap_search *s = user;
	if (!cr_array_reserve_one(s->world->context, &s->items)) {
		s->result = cr_fail_memory(s->world->context, "the bodies near a shape");
		return false;
	}
	s->items.data[s->items.count++] = item;
	return true;
}

static int compare_items(const void *a, const void *b)
{
	return cr_compare_items(*(const cr_query_item *)a, *(const cr_query_item *)b);
}

carom_result cr_list_near_items(const carom_world *world, const char *function, const carom_shape *shape,
	const carom_pose *pose, double margin, const carom_query_filter *filter, cr_item_list *list)
{
	cr_overlap_search s = { .world = world, .filter = filter, .shape = shape, .pose = *pose };
	*list = (cr_item_list){ .count = 0 };
	if (cr_is_empty_shape(shape))
		return CAROM_SUCCESS;
	cr_bound_query(&s);
	for (int k = 0; k < 3; k++) {
		s.lower[k] -= margin;
		s.upper[k] += margin;
	}
	cr_index_search search = { .key = overlap_key, .visit = visit_near, .user = &s, .filter = filter };
	const carom_result result = cr_search_bodies(world, function, &search, &s.result);
	if (result != CAROM_SUCCESS) {
		cr_array_free(world->context, &s.items);
		return result;
	}
	if (s.items.count > 1)
		cr_sort_stably(s.items.data, s.items.count, sizeof *s.items.data, compare_items);
	*list = s.items;
	return CAROM_SUCCESS;
}
