// Meshes in the module: made, checked, saved, asked.
#include "wasm_module.h"

// ---- Making ----

void EXPORT(cw_default_mesh_def)(carom_mesh_def *to) { *to = carom_default_mesh_def(); }

int EXPORT(cw_create_mesh)(const carom_mesh_def *def, carom_mesh **mesh)
{
	return (int)carom_create_mesh(cw_context, def, NULL, mesh);
}

int EXPORT(cw_check_mesh)(const carom_mesh_def *def, carom_mesh_report *report)
{
	return (int)carom_check_mesh(cw_context, def, report);
}

int EXPORT(cw_find_mesh_centre)(const carom_strided *vertices, int count, carom_vec3 *centre)
{
	return (int)carom_find_mesh_centre(cw_context, vertices, count, centre);
}

int EXPORT(cw_create_hull)(const carom_strided *points, int count, carom_mesh **mesh)
{
	return (int)carom_create_hull(cw_context, points, count, mesh);
}

/// heights [rows*columns].
int EXPORT(cw_create_height_field)(
	int columns, int rows, const float *heights, const double *spacing, double thickness, carom_mesh **mesh)
{
	return (int)carom_create_height_field(cw_context, columns, rows, heights, spacing, thickness, mesh);
}

/// heights [region->rows*region->columns].
int EXPORT(cw_create_edited_field)(
	const carom_mesh *field, const carom_field_region *region, const float *heights, carom_mesh **mesh)
{
	return (int)carom_create_edited_field(cw_context, field, region, heights, mesh);
}

int EXPORT(cw_create_painted_mesh)(const carom_mesh *mesh, const uint32_t *materials, int count, carom_mesh **painted)
{
	return (int)carom_create_painted_mesh(cw_context, mesh, materials, count, painted);
}

int EXPORT(cw_create_scaled_mesh)(const carom_mesh *mesh, const double *scale, carom_mesh **scaled)
{
	return (int)carom_create_scaled_mesh(cw_context, mesh, scale, scaled);
}

void EXPORT(cw_retain_mesh)(const carom_mesh *mesh) { carom_retain_mesh(mesh); }

void EXPORT(cw_release_mesh)(carom_mesh *mesh) { carom_release_mesh(mesh); }

int EXPORT(cw_mesh_save)(const carom_mesh *mesh) { return (int)carom_mesh_save(mesh, cw_write_bytes, NULL); }

int EXPORT(cw_mesh_load)(const void *bytes, size_t size, carom_mesh **mesh)
{
	return (int)carom_mesh_load(cw_context, bytes, size, true, mesh);
}

// ---- What a mesh is ----

const carom_mesh_report *EXPORT(cw_mesh_report)(const carom_mesh *mesh) { return carom_mesh_get_report(mesh); }

const float *EXPORT(cw_mesh_vertices)(const carom_mesh *mesh) { return carom_mesh_get_vertices(mesh); }
const double *EXPORT(cw_mesh_doubles)(const carom_mesh *mesh) { return carom_mesh_get_doubles(mesh); }
const int32_t *EXPORT(cw_mesh_triangles)(const carom_mesh *mesh) { return carom_mesh_get_triangles(mesh); }
/// Valid until the next call: the module has one thread.
const carom_vec3 *EXPORT(cw_mesh_centre)(const carom_mesh *mesh)
{
	static carom_vec3 centre;
	centre = carom_mesh_get_centre(mesh);
	return &centre;
}

int EXPORT(cw_mesh_sides)(const carom_mesh *mesh) { return (int)carom_mesh_get_sides(mesh); }

int EXPORT(cw_mesh_material)(const carom_mesh *mesh, int triangle, uint32_t *material)
{
	return (int)carom_mesh_get_material(mesh, triangle, material);
}

int EXPORT(cw_mesh_mass)(const carom_mesh *mesh, carom_mass *mass) { return (int)carom_mesh_get_mass(mesh, mass); }

int EXPORT(cw_mesh_tree_info)(const carom_mesh *mesh, int with_epo, carom_tree_info *info)
{
	return (int)carom_mesh_get_tree_info(mesh, with_epo, info);
}

// ---- Queries in the frame of a mesh ----

/// numbers [7*count]: the origins of all rays by their x, their y and their z, the directions, the
/// greatest t.
int EXPORT(cw_mesh_rays)(
	const carom_mesh *mesh, int count, const float *numbers, int32_t *triangles, float *t, uint8_t *back_faces)
{
	carom_ray_batch rays = { .count = count, .t_max = numbers + 6 * count };
	for (int axis = 0; axis < 3; axis++) {
		rays.origin[axis] = numbers + axis * count;
		rays.direction[axis] = numbers + (3 + axis) * count;
	}
	const carom_hit_batch hits = { triangles, t, back_faces };
	return (int)carom_mesh_cast_rays(mesh, &rays, &hits);
}

int EXPORT(cw_mesh_closest_point)(
	const carom_mesh *mesh, const carom_vec3 *point, double most, bool *found, carom_mesh_point *nearest)
{
	return (int)carom_mesh_closest_point(mesh, *point, most, found, nearest);
}

int EXPORT(cw_mesh_contains)(const carom_mesh *mesh, const carom_vec3 *point, bool *inside)
{
	return (int)carom_mesh_contains(mesh, *point, inside);
}

int EXPORT(cw_mesh_self_intersections)(const carom_mesh *mesh, int capacity, int32_t (*pairs)[2], int32_t *count)
{
	return (int)carom_mesh_self_intersections(mesh, capacity, pairs, count);
}

// ---- Two meshes at poses ----

int EXPORT(cw_mesh_intersections)(const carom_mesh *a, const carom_pose *pose_a, const carom_mesh *b, const carom_pose *pose_b,
	int capacity, int32_t (*pairs)[2], int32_t *count)
{
	return (int)carom_mesh_intersections(a, pose_a, b, pose_b, capacity, pairs, count);
}

int EXPORT(cw_mesh_distance)(const carom_mesh *a, const carom_pose *pose_a, const carom_mesh *b, const carom_pose *pose_b,
	double most, bool *found, carom_mesh_gap *gap)
{
	return (int)carom_mesh_distance(a, pose_a, b, pose_b, most, found, gap);
}
