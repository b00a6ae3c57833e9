/// Closed meshes made by formula, for scenes, tests and `carom make`. The same name, size and seed
/// give the same bytes on every machine: only + - * / and square roots are used, and coordinates
/// are rounded to multiples of 2^-20.
#ifndef SIM_SHAPES_H
#define SIM_SHAPES_H

#include "sim/base/sim_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SIM_MIN_SHAPE_TRIANGLES = 4, SIM_MAX_SHAPE_TRIANGLES = 1000000 };

typedef struct sim_mesh {
	int32_t vertex_count;
	int32_t triangle_count;
	float *vertices;    // [3*vertex_count] metres
	int32_t *triangles; // [3*triangle_count] counter-clockwise seen from outside
	// [3*vertex_count] the vertices as a file has them, where a float does not hold one of them;
	// else NULL
	double *doubles;
	// Of files that say more:
	uint32_t *materials;  // [triangle_count] or NULL
	char *material_names; // of materials 1, 2, ... with a zero behind each, or NULL
	int32_t material_count;
	int32_t sides; // a carom_mesh_sides
	// The bytes of a baked mesh, as long as the vertices are those of the bytes (io/baked_file.h);
	// else NULL.
	char *baked;
	size_t baked_size;
} sim_mesh;

/// A shape that can be made: its name and its description, in one line each.
typedef struct sim_shape_info {
	const char *name;
	const char *description;
} sim_shape_info;

/// All shapes; *count becomes their number. Static memory.
const sim_shape_info *sim_shape_list(int32_t *count);

/// Make a shape of exactly the wanted number of triangles. seed varies the proportions of "lumpy"
/// and is ignored by the others. On failure false, the mesh is empty and error says why, naming the
/// nearest numbers that work; or that memory ran out.
bool sim_make_shape(const char *shape, int32_t triangles, uint64_t seed, sim_mesh *mesh, sim_error *error);

/// Make the floats of a mesh that has doubles alone. The doubles stay only where a float does not
/// hold one of them. False, with nothing changed, when out of memory.
bool sim_mesh_round(sim_mesh *mesh);

/// Free the arrays and make the mesh empty. An empty mesh may be freed again.
void sim_mesh_free(sim_mesh *mesh);

#ifdef __cplusplus
}
#endif
#endif
