// Questions to worlds in the module, one by one and in batches. A filter may be NULL. Lists have a
// capacity, and tell how many answers there are.
#include "wasm_module.h"

void EXPORT(cw_default_query_filter)(carom_query_filter *to) { *to = carom_default_query_filter(); }

IMPORT(body_filter)
int cw_body_filter(uint32_t number, uint32_t body, uint32_t generation, int shape, uint64_t user_data);

static bool ask_filter(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	return cw_body_filter((uint32_t)(uintptr_t)user, body.index1, body.generation, shape, user_data);
}

/// Let a filter ask the function of this number among those of the call.
void EXPORT(cw_let_filter_ask)(carom_query_filter *filter, uint32_t number)
{
	filter->body_filter = ask_filter;
	filter->filter_user = (void *)(uintptr_t)number;
}

// ---- One by one ----

int EXPORT(cw_cast_ray)(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, bool *found, carom_ray_hit *hit)
{
	return (int)carom_world_cast_ray(world, ray, filter, found, hit);
}

int EXPORT(cw_cast_ray_any)(const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, bool *found)
{
	return (int)carom_world_cast_ray_any(world, ray, filter, found);
}

int EXPORT(cw_cast_ray_all)(const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, int capacity,
	carom_ray_hit *hits, int32_t *count)
{
	return (int)carom_world_cast_ray_all(world, ray, filter, capacity, hits, count);
}

int EXPORT(cw_closest_point)(const carom_world *world, const carom_vec3 *point, double most, const carom_query_filter *filter,
	bool *found, carom_closest_point *nearest)
{
	return (int)carom_world_closest_point(world, *point, most, filter, found, nearest);
}

int EXPORT(cw_overlap_box)(const carom_world *world, const carom_aabb *box, const carom_query_filter *filter, int capacity,
	carom_body_id *ids, int32_t *count)
{
	return (int)carom_world_overlap_aabb(world, box, filter, capacity, ids, count);
}

int EXPORT(cw_overlap_shape)(const carom_world *world, const carom_placed_shape *placed, const carom_query_filter *filter,
	int capacity, carom_body_id *ids, int32_t *count)
{
	return (int)carom_world_overlap_shape(world, placed->shape, &placed->pose, filter, capacity, ids, count);
}

int EXPORT(cw_collide_shape)(const carom_world *world, const carom_placed_shape *placed, const carom_query_filter *filter,
	int capacity, carom_contact *contacts, int32_t *count)
{
	return (int)carom_world_collide_shape(world, placed->shape, &placed->pose, filter, capacity, contacts, count);
}

int EXPORT(cw_closest_body)(const carom_world *world, const carom_placed_shape *placed, double most,
	const carom_query_filter *filter, bool *found, carom_closest_body *nearest)
{
	return (int)carom_world_closest_body(world, placed->shape, &placed->pose, most, filter, found, nearest);
}

int EXPORT(cw_closest_pair)(const carom_world *world, double most, const carom_query_filter *filter_a,
	const carom_query_filter *filter_b, bool *found, carom_closest_pair *nearest)
{
	return (int)carom_world_closest_pair(world, most, filter_a, filter_b, found, nearest);
}

/// id NULL: of all bodies that deform.
int EXPORT(cw_find_crossings)(const carom_world *world, const carom_body_id *id, const carom_query_filter *filter, int capacity,
	carom_crossing *crossings, int32_t *count)
{
	return (int)carom_world_find_crossings(world, id ? *id : (carom_body_id){ 0 }, filter, capacity, crossings, count);
}

/// ways NULL: those of the coming step.
int EXPORT(cw_cast_velocity_rays)(const carom_world *world, const carom_body_id *id, const double *ways,
	const carom_velocity_rays *rays, const carom_query_filter *filter, int capacity, carom_velocity_hit *hits, int32_t *count)
{
	const carom_strided given = cw_doubles(ways);
	return (int)carom_world_cast_velocity_rays(world, *id, ways ? &given : NULL, rays, filter, capacity, hits, count);
}

int EXPORT(cw_cast_shape)(const carom_world *world, const carom_shape_cast *cast, double tolerance,
	const carom_query_filter *filter, bool *found, carom_shape_hit *hit)
{
	return (int)carom_world_cast_shape(world, cast->shape, &cast->motion, tolerance, filter, found, hit);
}

int EXPORT(cw_cast_shape_all)(const carom_world *world, const carom_shape_cast *cast, double tolerance,
	const carom_query_filter *filter, int capacity, carom_shape_hit *hits, int32_t *count)
{
	return (int)carom_world_cast_shape_all(world, cast->shape, &cast->motion, tolerance, filter, capacity, hits, count);
}

int EXPORT(cw_cast_parts)(const carom_world *world, const carom_part *parts, int part_count, const carom_motion *motion,
	double tolerance, const carom_query_filter *filter, bool *found, carom_shape_hit *hit)
{
	return (int)carom_world_cast_parts(world, parts, part_count, motion, tolerance, filter, found, hit);
}

int EXPORT(cw_cast_parts_all)(const carom_world *world, const carom_part *parts, int part_count, const carom_motion *motion,
	double tolerance, const carom_query_filter *filter, int capacity, carom_shape_hit *hits, int32_t *count)
{
	return (int)carom_world_cast_parts_all(world, parts, part_count, motion, tolerance, filter, capacity, hits, count);
}

// ---- Batches: first is [count + 1] ----

int EXPORT(cw_cast_rays)(const carom_world *world, const carom_batch *batch, const carom_ray *rays, carom_ray_hit *hits)
{
	return (int)carom_world_cast_rays(world, batch, rays, hits);
}

int EXPORT(cw_cast_rays_any)(const carom_world *world, const carom_batch *batch, const carom_ray *rays, bool *found)
{
	return (int)carom_world_cast_rays_any(world, batch, rays, found);
}

int EXPORT(cw_cast_rays_all)(const carom_world *world, const carom_batch *batch, const carom_ray *rays, int capacity,
	carom_ray_hit *hits, int64_t *first)
{
	return (int)carom_world_cast_rays_all(world, batch, rays, capacity, hits, first);
}

int EXPORT(cw_closest_points)(
	const carom_world *world, const carom_batch *batch, const carom_vec3 *points, double most, carom_closest_point *closest)
{
	return (int)carom_world_closest_points(world, batch, points, most, closest);
}

int EXPORT(cw_overlap_boxes)(const carom_world *world, const carom_batch *batch, const carom_aabb *boxes, int capacity,
	carom_body_id *ids, int64_t *first)
{
	return (int)carom_world_overlap_aabbs(world, batch, boxes, capacity, ids, first);
}

int EXPORT(cw_overlap_shapes)(const carom_world *world, const carom_batch *batch, const carom_placed_shape *shapes,
	int capacity, carom_body_id *ids, int64_t *first)
{
	return (int)carom_world_overlap_shapes(world, batch, shapes, capacity, ids, first);
}

int EXPORT(cw_collide_shapes)(const carom_world *world, const carom_batch *batch, const carom_placed_shape *shapes,
	int capacity, carom_contact *contacts, int64_t *first)
{
	return (int)carom_world_collide_shapes(world, batch, shapes, capacity, contacts, first);
}

int EXPORT(cw_closest_bodies)(const carom_world *world, const carom_batch *batch, const carom_placed_shape *shapes, double most,
	carom_closest_body *closest)
{
	return (int)carom_world_closest_bodies(world, batch, shapes, most, closest);
}

int EXPORT(cw_cast_shapes)(
	const carom_world *world, const carom_batch *batch, const carom_shape_cast *casts, double tolerance, carom_shape_hit *hits)
{
	return (int)carom_world_cast_shapes(world, batch, casts, tolerance, hits);
}

int EXPORT(cw_cast_shapes_all)(const carom_world *world, const carom_batch *batch, const carom_shape_cast *casts,
	double tolerance, int capacity, carom_shape_hit *hits, int64_t *first)
{
	return (int)carom_world_cast_shapes_all(world, batch, casts, tolerance, capacity, hits, first);
}
