// Shapes without a world, and elementary tests, in the module. Shapes and their poses come as the
// records of a batch: a single question has one of them.
#include "wasm_module.h"

// ---- One shape ----

int EXPORT(cw_shape_ray)(const carom_placed_shape *placed, const carom_ray *ray, bool *found, carom_ray_hit *hit)
{
	return (int)carom_shape_cast_ray(cw_context, placed->shape, &placed->pose, ray, found, hit);
}

int EXPORT(cw_shape_point)(
	const carom_placed_shape *placed, const carom_vec3 *point, double most, bool *found, carom_closest_point *nearest)
{
	return (int)carom_shape_closest_point(cw_context, placed->shape, &placed->pose, *point, most, found, nearest);
}

int EXPORT(cw_shape_rays)(const carom_placed_shape *placed, const carom_batch *batch, const carom_ray *rays, carom_ray_hit *hits)
{
	return (int)carom_shape_cast_rays(cw_context, batch, placed->shape, &placed->pose, rays, hits);
}

int EXPORT(cw_shape_points)(const carom_placed_shape *placed, const carom_batch *batch, const carom_vec3 *points, double most,
	carom_closest_point *closest)
{
	return (int)carom_shape_closest_points(cw_context, batch, placed->shape, &placed->pose, points, most, closest);
}

int EXPORT(cw_shape_mass)(const carom_shape *shape, carom_mass *mass)
{
	return (int)carom_shape_get_mass(cw_context, shape, mass);
}

int EXPORT(cw_parts_mass)(const carom_part *parts, int count, const double *densities, carom_mass *mass)
{
	return (int)carom_parts_get_mass(cw_context, parts, count, densities, mass);
}

// ---- Two shapes ----

int EXPORT(cw_distance)(const carom_shape_pair *p, carom_separation *separation)
{
	return (int)carom_distance(cw_context, p->a, &p->pose_a, p->b, &p->pose_b, separation);
}

int EXPORT(cw_overlap)(const carom_shape_pair *p, bool *overlap)
{
	return (int)carom_overlap(cw_context, p->a, &p->pose_a, p->b, &p->pose_b, overlap);
}

int EXPORT(cw_manifold)(const carom_shape_pair *p, double margin, carom_manifold *manifold)
{
	return (int)carom_collide_convex(cw_context, p->a, &p->pose_a, p->b, &p->pose_b, margin, manifold);
}

int EXPORT(cw_collide)(const carom_shape_pair *p, double margin, int capacity, carom_contact *contacts, int32_t *count)
{
	return (int)carom_collide(cw_context, p->a, &p->pose_a, p->b, &p->pose_b, margin, capacity, contacts, count);
}

int EXPORT(cw_time_of_impact)(const carom_motion_pair *p, double tolerance, carom_toi *impact)
{
	return (int)carom_time_of_impact(cw_context, p->a, &p->motion_a, p->b, &p->motion_b, tolerance, impact);
}

/// Numbers of JavaScript are doubles: work is one.
int EXPORT(cw_time_of_impact_within)(const carom_motion_pair *p, double tolerance, double *work, carom_toi *impact)
{
	int64_t left = (int64_t)*work;
	const carom_result result =
		carom_time_of_impact_within(cw_context, p->a, &p->motion_a, p->b, &p->motion_b, tolerance, &left, impact);
	*work = (double)left;
	return (int)result;
}

void EXPORT(cw_motion_pose)(const carom_motion *motion, double time, carom_pose *pose)
{
	*pose = carom_motion_pose(motion, time);
}

int EXPORT(cw_distances)(const carom_batch *batch, const carom_shape_pair *pairs, carom_separation *separations)
{
	return (int)carom_distances(cw_context, batch, pairs, separations);
}

int EXPORT(cw_overlaps)(const carom_batch *batch, const carom_shape_pair *pairs, bool *overlap)
{
	return (int)carom_overlaps(cw_context, batch, pairs, overlap);
}

int EXPORT(cw_manifolds)(const carom_batch *batch, const carom_shape_pair *pairs, double margin, carom_manifold *manifolds)
{
	return (int)carom_manifolds(cw_context, batch, pairs, margin, manifolds);
}

int EXPORT(cw_collide_pairs)(const carom_batch *batch, const carom_shape_pair *pairs, double margin, int capacity,
	carom_contact *contacts, int64_t *first)
{
	return (int)carom_collide_pairs(cw_context, batch, pairs, margin, capacity, contacts, first);
}

int EXPORT(cw_times_of_impact)(const carom_batch *batch, const carom_motion_pair *pairs, double tolerance, carom_toi *impacts)
{
	return (int)carom_times_of_impact(cw_context, batch, pairs, tolerance, impacts);
}

// ---- Elementary tests ----

int EXPORT(cw_point_triangle_distances)(const carom_elements *elements, double *distances, carom_triangle_point *on_triangle)
{
	return (int)carom_point_triangle_distances(cw_context, elements, distances, on_triangle);
}

int EXPORT(cw_edge_edge_distances)(
	const carom_elements *elements, double *distances, carom_edge_point *on_a, carom_edge_point *on_b)
{
	return (int)carom_edge_edge_distances(cw_context, elements, distances, on_a, on_b);
}

int EXPORT(cw_triangle_triangle_distances)(
	const carom_elements *elements, double *distances, carom_triangle_point *on_a, carom_triangle_point *on_b)
{
	return (int)carom_triangle_triangle_distances(cw_context, elements, distances, on_a, on_b);
}

int EXPORT(cw_triangle_pairs_intersect)(const carom_elements *elements, bool *intersect)
{
	return (int)carom_triangle_pairs_intersect(cw_context, elements, intersect);
}

int EXPORT(cw_orientations)(const carom_elements *elements, int8_t *signs)
{
	return (int)carom_orientations(cw_context, elements, signs);
}

int EXPORT(cw_sweep_test_pairs)(const carom_sweep_def *def, int kind, const carom_elements *elements, const double *end,
	double *times, carom_sweep_hit *hits)
{
	return (int)carom_sweep_test_pairs(cw_context, def, (carom_sweep_kind)kind, elements, end, times, hits);
}

/// vertices [4][3].
int EXPORT(cw_proximity_of_pair)(int kind, const double (*vertices)[3], carom_proximity_pair *pair)
{
	return (int)carom_proximity_of_pair(cw_context, (carom_sweep_kind)kind, vertices, pair);
}
