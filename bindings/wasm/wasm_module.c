// The library as a module of WebAssembly: calls with numbers and addresses alone, which carom.js
// wraps. One context, one thread. Records go in and out as they lie in memory: carom.js has their
// layouts. Here: memory, meshes, and detectors without a world.
#include "wasm_module.h"

#include <stdlib.h>

carom_context *cw_context;

// ---- Memory, errors ----

int EXPORT(cw_start)(void)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	return (int)carom_create_context(&def, &cw_context);
}

const char *EXPORT(cw_error)(void) { return carom_error_text(cw_context); }
const char *EXPORT(cw_result_name)(int result) { return carom_result_name((carom_result)result); }
void *EXPORT(cw_allocate)(size_t size) { return malloc(size ? size : 1); }
void EXPORT(cw_free)(void *pointer) { free(pointer); }
double EXPORT(cw_memory)(void) { return (double)carom_memory_in_use(cw_context); }
int EXPORT(cw_version)(void) { return CAROM_VERSION_MAJOR * 10000 + CAROM_VERSION_MINOR * 100 + CAROM_VERSION_PATCH; }

/// Bytes of the records that carom.js reads and writes, in the order of its table: a module of
/// another version is found by them.
const uint16_t *EXPORT(cw_record_sizes)(void)
{
	static const uint16_t sizes[] = { sizeof(carom_mesh_report), sizeof(carom_triangle_point), sizeof(carom_mesh_gap),
		sizeof(carom_shape), sizeof(carom_part), sizeof(carom_strided), sizeof(carom_sweep_def), sizeof(carom_world_def),
		sizeof(carom_body_def), sizeof(carom_contact), sizeof(carom_pair), sizeof(carom_event), sizeof(carom_impact),
		sizeof(carom_shape_impact), sizeof(carom_body_impact), sizeof(carom_surface_contact),
		sizeof(carom_surface_shape_contact), sizeof(carom_sphere_contact), sizeof(carom_sphere_group),
		sizeof(carom_sphere_pair), sizeof(carom_stats), sizeof(carom_ray_hit), sizeof(carom_closest_point),
		sizeof(carom_replay_result), sizeof(carom_snapshot_difference), sizeof(carom_sweep_hit), sizeof(carom_proximity_pair),
		sizeof(carom_query_filter), sizeof(carom_batch), sizeof(carom_placed_shape), sizeof(carom_shape_cast),
		sizeof(carom_shape_hit), sizeof(carom_closest_body), sizeof(carom_closest_pair), 0 };
	return sizes;
}

// ---- Meshes ----

int EXPORT(cw_create_mesh)(const void *vertices, int type, int vertex_count, const int32_t *triangles, int triangle_count,
	int sides, carom_mesh **mesh)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = type ? CAROM_FLOAT64 : CAROM_FLOAT32 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	def.sides = (carom_mesh_sides)sides;
	return (int)carom_create_mesh(cw_context, &def, NULL, mesh);
}

int EXPORT(cw_create_hull)(const void *points, int type, int count, carom_mesh **mesh)
{
	const carom_strided all = { .data = points, .type = type ? CAROM_FLOAT64 : CAROM_FLOAT32 };
	return (int)carom_create_hull(cw_context, &all, count, mesh);
}

/// heights [rows*columns].
int EXPORT(cw_create_height_field)(
	int columns, int rows, const float *heights, const double *spacing, double thickness, carom_mesh **mesh)
{
	return (int)carom_create_height_field(cw_context, columns, rows, heights, spacing, thickness, mesh);
}

void EXPORT(cw_release_mesh)(carom_mesh *mesh) { carom_release_mesh(mesh); }

const carom_mesh_report *EXPORT(cw_mesh_report)(const carom_mesh *mesh) { return carom_mesh_get_report(mesh); }

/// Nearest points of two meshes at poses.
int EXPORT(cw_mesh_distance)(const carom_mesh *a, const carom_pose *pose_a, const carom_mesh *b, const carom_pose *pose_b,
	double most, bool *found, carom_mesh_gap *gap)
{
	return (int)carom_mesh_distance(a, pose_a, b, pose_b, most, found, gap);
}

// ---- Impacts of deforming meshes ----

void EXPORT(cw_default_sweep_def)(carom_sweep_def *to) { *to = carom_default_sweep_def(); }

int EXPORT(cw_create_sweep)(const carom_sweep_def *def, carom_sweep **sweep)
{
	return (int)carom_create_sweep(cw_context, def, sweep);
}

void EXPORT(cw_destroy_sweep)(carom_sweep *sweep) { carom_destroy_sweep(sweep); }

static carom_sweep_mesh_def mesh_def(
	const double *vertices, int vertex_count, const int32_t *triangles, int triangle_count, int self)
{
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = cw_doubles(vertices);
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	def.self = self;
	return def;
}

int EXPORT(cw_sweep_add_mesh)(carom_sweep *sweep, const double *vertices, int vertex_count, const int32_t *triangles,
	int triangle_count, int self, int32_t *mesh)
{
	const carom_sweep_mesh_def def = mesh_def(vertices, vertex_count, triangles, triangle_count, self);
	return (int)carom_sweep_add_mesh(sweep, &def, mesh);
}

int EXPORT(cw_sweep_move)(carom_sweep *sweep, int mesh, const double *vertices)
{
	const carom_strided end = cw_doubles(vertices);
	return (int)carom_sweep_move_mesh(sweep, mesh, &end);
}

int EXPORT(cw_sweep_find)(carom_sweep *sweep, cw_list *list)
{
	carom_sweep_hits found = { 0 };
	const carom_result result = carom_sweep_find(sweep, &found);
	*list = (cw_list){ found.data, (uint32_t)found.count };
	return (int)result;
}

// ---- Features near each other ----

int EXPORT(cw_create_proximity)(carom_proximity **proximity)
{
	return (int)carom_create_proximity(cw_context, NULL, proximity);
}

void EXPORT(cw_destroy_proximity)(carom_proximity *proximity) { carom_destroy_proximity(proximity); }

int EXPORT(cw_proximity_add_mesh)(carom_proximity *proximity, const double *vertices, int vertex_count,
	const int32_t *triangles, int triangle_count, int self, int32_t *mesh)
{
	const carom_sweep_mesh_def def = mesh_def(vertices, vertex_count, triangles, triangle_count, self);
	return (int)carom_proximity_add_mesh(proximity, &def, mesh);
}

int EXPORT(cw_proximity_place)(carom_proximity *proximity, int mesh, const double *vertices)
{
	const carom_strided places = cw_doubles(vertices);
	return (int)carom_proximity_place_mesh(proximity, mesh, &places);
}

int EXPORT(cw_proximity_find)(carom_proximity *proximity, double distance, cw_list *list)
{
	carom_proximity_view view = { 0 };
	const carom_result result = carom_proximity_find(proximity, distance, &view);
	*list = (cw_list){ view.pairs, (uint32_t)view.pair_count };
	return (int)result;
}

// ---- Spheres ----

int EXPORT(cw_create_spheres)(carom_spheres **spheres) { return (int)carom_create_spheres(cw_context, NULL, spheres); }

void EXPORT(cw_destroy_spheres)(carom_spheres *spheres) { carom_destroy_spheres(spheres); }

int EXPORT(cw_spheres_update)(carom_spheres *spheres, const double *centres, const double *radii, int count)
{
	carom_sphere_input input = carom_default_sphere_input();
	input.count = count;
	input.centres = cw_doubles(centres);
	input.radii = cw_doubles(radii);
	return (int)carom_spheres_update(spheres, &input);
}

/// Pairs belong to the detector, until its next call.
int EXPORT(cw_spheres_find)(carom_spheres *spheres, cw_list *list)
{
	carom_sphere_pairs found = { 0 };
	const carom_result result = carom_spheres_find_pairs(spheres, &found);
	*list = (cw_list){ found.pairs, (uint32_t)found.count };
	return (int)result;
}

IMPORT(force) void cw_force(uint32_t a, uint32_t b, const double *direction, double overlap, double *force, double *torque);

static void ask_force(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	(void)user;
	cw_force(a, b, direction, overlap, force, torque);
}

/// forces, torques [3*count].
int EXPORT(cw_spheres_sum)(carom_spheres *spheres, double *forces, double *torques)
{
	return (int)carom_spheres_sum_forces(spheres, ask_force, NULL, forces, torques);
}
