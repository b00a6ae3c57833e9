// The library as a module of WebAssembly: calls with numbers and addresses alone, which carom.js
// wraps. One context, one thread. Records go in and out as they lie in memory: carom.js has their
// layouts. Here: memory, and detectors without a world.
#include "wasm_module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

carom_context *cw_context;

// ---- Texts ----

/// Formatted by carom.js, as vsnprintf. These two stand in for those of wasi-libc, which are larger
/// than all that they are needed for.
IMPORT(format) int cw_format(char *to, size_t size, const char *format, const void *arguments);

int vsnprintf(char *restrict to, size_t size, const char *restrict format, va_list arguments)
{
	return cw_format(to, size, format, arguments);
}

int snprintf(char *restrict to, size_t size, const char *restrict format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const int length = vsnprintf(to, size, format, arguments);
	va_end(arguments);
	return length;
}

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
double EXPORT(cw_memory_peak)(void) { return (double)carom_memory_peak(cw_context); }
int EXPORT(cw_version)(void) { return CAROM_VERSION_MAJOR * 10000 + CAROM_VERSION_MINOR * 100 + CAROM_VERSION_PATCH; }

/// Bytes of the records that carom.js reads and writes, in the order of its table: a module of
/// another version is found by them.
const uint16_t *EXPORT(cw_record_sizes)(void)
{
	static const uint16_t sizes[] = { sizeof(carom_mesh_report), sizeof(carom_triangle_point), sizeof(carom_mesh_gap),
		sizeof(carom_shape), sizeof(carom_part), sizeof(carom_strided), sizeof(carom_sweep_def), sizeof(carom_world_def),
		sizeof(carom_body_def), sizeof(carom_contact), sizeof(carom_pair), sizeof(carom_event), sizeof(carom_body_pair),
		sizeof(carom_body_event), sizeof(carom_impact), sizeof(carom_shape_impact), sizeof(carom_body_impact),
		sizeof(carom_surface_contact), sizeof(carom_surface_shape_contact), sizeof(carom_sphere_contact),
		sizeof(carom_sphere_group), sizeof(carom_sphere_pair), sizeof(carom_stats), sizeof(carom_ray_hit),
		sizeof(carom_closest_point), sizeof(carom_replay_result), sizeof(carom_snapshot_difference), sizeof(carom_sweep_hit),
		sizeof(carom_proximity_pair), sizeof(carom_query_filter), sizeof(carom_batch), sizeof(carom_placed_shape),
		sizeof(carom_shape_cast), sizeof(carom_shape_hit), sizeof(carom_closest_body), sizeof(carom_closest_pair),
		sizeof(carom_mesh_def), sizeof(carom_field_region), sizeof(carom_mass), sizeof(carom_tree_info),
		sizeof(carom_mesh_point), sizeof(carom_separation), sizeof(carom_manifold_point), sizeof(carom_manifold),
		sizeof(carom_toi), sizeof(carom_shape_pair), sizeof(carom_motion_pair), sizeof(carom_elements),
		sizeof(carom_edge_point), sizeof(carom_sweep_mesh_def), sizeof(carom_sweep_stats), sizeof(carom_proximity_def),
		sizeof(carom_proximity_shape_def), sizeof(carom_proximity_shape_pair), sizeof(carom_spheres_def),
		sizeof(carom_sphere_stats), sizeof(carom_contact_corners), sizeof(carom_sweep_candidate), sizeof(carom_sweep_crossing),
		sizeof(carom_sweep_way_apart), sizeof(carom_crossing), sizeof(carom_velocity_rays), sizeof(carom_velocity_hit), 0 };
	return sizes;
}

// ---- Impacts of deforming meshes ----

void EXPORT(cw_default_sweep_def)(carom_sweep_def *to) { *to = carom_default_sweep_def(); }

int EXPORT(cw_create_sweep)(const carom_sweep_def *def, carom_sweep **sweep)
{
	return (int)carom_create_sweep(cw_context, def, sweep);
}

void EXPORT(cw_destroy_sweep)(carom_sweep *sweep) { carom_destroy_sweep(sweep); }

void EXPORT(cw_default_sweep_mesh_def)(carom_sweep_mesh_def *to) { *to = carom_default_sweep_mesh_def(); }

int EXPORT(cw_sweep_add_mesh)(carom_sweep *sweep, const carom_sweep_mesh_def *def, int32_t *mesh)
{
	return (int)carom_sweep_add_mesh(sweep, def, mesh);
}

int EXPORT(cw_sweep_move)(carom_sweep *sweep, int mesh, const double *vertices)
{
	const carom_strided end = cw_doubles(vertices);
	return (int)carom_sweep_move_mesh(sweep, mesh, &end);
}

int EXPORT(cw_sweep_place)(carom_sweep *sweep, int mesh, const double *vertices)
{
	const carom_strided places = cw_doubles(vertices);
	return (int)carom_sweep_place_mesh(sweep, mesh, &places);
}

int EXPORT(cw_sweep_set_filter)(carom_sweep *sweep, int mesh, uint64_t category, uint64_t mask, int group)
{
	return (int)carom_sweep_set_filter(sweep, mesh, category, mask, group);
}

int EXPORT(cw_sweep_find)(carom_sweep *sweep, cw_list *list)
{
	carom_sweep_hits found = { 0 };
	const carom_result result = carom_sweep_find(sweep, &found);
	*list = (cw_list){ found.data, (uint32_t)found.count };
	return (int)result;
}

int EXPORT(cw_sweep_find_earliest)(carom_sweep *sweep, bool *found, carom_sweep_hit *hit)
{
	return (int)carom_sweep_find_earliest(sweep, hit, found);
}

int EXPORT(cw_sweep_find_crossings)(carom_sweep *sweep, cw_list *list)
{
	carom_sweep_crossings found = { 0 };
	const carom_result result = carom_sweep_find_crossings(sweep, &found);
	*list = (cw_list){ found.data, (uint32_t)found.count };
	return (int)result;
}

int EXPORT(cw_sweep_find_ways_apart)(carom_sweep *sweep, cw_list *list)
{
	carom_sweep_ways_apart found = { 0 };
	const carom_result result = carom_sweep_find_ways_apart(sweep, &found);
	*list = (cw_list){ found.data, (uint32_t)found.count };
	return (int)result;
}

int EXPORT(cw_sweep_find_candidates)(carom_sweep *sweep, double distance, cw_list *list)
{
	carom_sweep_candidates found = { 0 };
	const carom_result result = carom_sweep_find_candidates(sweep, distance, &found);
	*list = (cw_list){ found.data, (uint32_t)found.count };
	return (int)result;
}

int EXPORT(cw_sweep_advance)(carom_sweep *sweep, double time, double *used)
{
	return (int)carom_sweep_advance(sweep, time, used);
}

int EXPORT(cw_sweep_places)(carom_sweep *sweep, int mesh, double *places)
{
	return (int)carom_sweep_get_places(sweep, mesh, places);
}

void EXPORT(cw_sweep_stats)(const carom_sweep *sweep, carom_sweep_stats *to) { *to = carom_sweep_get_stats(sweep); }

// ---- Features near each other ----

void EXPORT(cw_default_proximity_def)(carom_proximity_def *to) { *to = carom_default_proximity_def(); }

int EXPORT(cw_create_proximity)(const carom_proximity_def *def, carom_proximity **proximity)
{
	return (int)carom_create_proximity(cw_context, def, proximity);
}

void EXPORT(cw_destroy_proximity)(carom_proximity *proximity) { carom_destroy_proximity(proximity); }

int EXPORT(cw_proximity_add_mesh)(carom_proximity *proximity, const carom_sweep_mesh_def *def, int32_t *mesh)
{
	return (int)carom_proximity_add_mesh(proximity, def, mesh);
}

int EXPORT(cw_proximity_place)(carom_proximity *proximity, int mesh, const double *vertices)
{
	const carom_strided places = cw_doubles(vertices);
	return (int)carom_proximity_place_mesh(proximity, mesh, &places);
}

int EXPORT(cw_proximity_set_filter)(carom_proximity *proximity, int mesh, uint64_t category, uint64_t mask, int group)
{
	return (int)carom_proximity_set_filter(proximity, mesh, category, mask, group);
}

void EXPORT(cw_default_proximity_shape_def)(carom_proximity_shape_def *to) { *to = carom_default_proximity_shape_def(); }

int EXPORT(cw_proximity_add_shape)(carom_proximity *proximity, const carom_proximity_shape_def *def, int32_t *shape)
{
	return (int)carom_proximity_add_shape(proximity, def, shape);
}

int EXPORT(cw_proximity_place_shape)(carom_proximity *proximity, int shape, const carom_pose *pose)
{
	return (int)carom_proximity_place_shape(proximity, shape, pose);
}

/// list: the pairs of meshes, and behind them those with shapes.
int EXPORT(cw_proximity_find)(carom_proximity *proximity, double distance, cw_list *list)
{
	carom_proximity_view view = { 0 };
	const carom_result result = carom_proximity_find(proximity, distance, &view);
	list[0] = (cw_list){ view.pairs, (uint32_t)view.pair_count };
	list[1] = (cw_list){ view.shape_pairs, (uint32_t)view.shape_pair_count };
	return (int)result;
}

/// displacements [vertices of the mesh].
int EXPORT(cw_proximity_displacements)(carom_proximity *proximity, int mesh, double *displacements)
{
	return (int)carom_proximity_get_safe_displacements(proximity, mesh, displacements);
}

void EXPORT(cw_proximity_stats)(const carom_proximity *proximity, carom_sweep_stats *to)
{
	*to = carom_proximity_get_stats(proximity);
}

// ---- Spheres ----

void EXPORT(cw_default_spheres_def)(carom_spheres_def *to) { *to = carom_default_spheres_def(); }

int EXPORT(cw_create_spheres)(const carom_spheres_def *def, carom_spheres **spheres)
{
	return (int)carom_create_spheres(cw_context, def, spheres);
}

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

IMPORT(visit) int cw_visit(const carom_sphere_pair *pairs, uint32_t count);

static bool visit_pairs(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	(void)worker;
	(void)user;
	return cw_visit(pairs, (uint32_t)count);
}

int EXPORT(cw_spheres_visit)(carom_spheres *spheres) { return (int)carom_spheres_visit_pairs(spheres, visit_pairs, NULL); }

/// list: first [rows + 1, of 64 bits], of which count is the number of rows, and other.
int EXPORT(cw_spheres_neighbours)(carom_spheres *spheres, cw_list *list)
{
	carom_sphere_neighbours found = { 0 };
	const carom_result result = carom_spheres_get_neighbours(spheres, &found);
	list[0] = (cw_list){ found.first, (uint32_t)found.count };
	list[1] = (cw_list){ found.other, found.first ? (uint32_t)found.first[found.count] : 0 };
	return (int)result;
}

/// order [spheres].
int EXPORT(cw_spheres_order)(carom_spheres *spheres, uint32_t *order) { return (int)carom_spheres_get_order(spheres, order); }

void EXPORT(cw_spheres_stats)(const carom_spheres *spheres, carom_sphere_stats *to) { *to = carom_spheres_get_stats(spheres); }
