// Bodies of unit cubes: every face of a cube with no cube behind it is cut into k by k cells of two
// triangles. Corners lie on a lattice and are shared through a hash table.
#include "sim/shapes/shape_parts.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_CUBES = 3 };

typedef struct blocks {
	const char *name;
	int32_t cube_count;
	int32_t cubes[MAX_CUBES][3];
	int32_t faces;    // outer squares
	double cube_size; // metres
	double centre[3]; // in cubes
} blocks;

static const blocks BLOCKS[] = {
	{ "box", 1, { { 0, 0, 0 } }, 6, 1.0, { 0.5, 0.5, 0.5 } },
	{ "L", 3, { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 0, 1 } }, 14, 0.5, { 1, 0.5, 1 } },
};

// Lattice points met so far: slots hold a vertex number or -1, keys those of the vertices.
typedef struct lattice {
	int32_t *slots;
	uint64_t *keys;
	uint64_t mask;
	int32_t vertex_count;
	int32_t cells; // k
} lattice;

static int32_t lattice_vertex(lattice *l, const int32_t at[3])
{
	uint64_t key = ((uint64_t)at[0] << 40) | ((uint64_t)at[1] << 20) | (uint64_t)at[2];
	uint64_t slot = (key * 0x9e3779b97f4a7c15u >> 32) & l->mask;
	while (l->slots[slot] >= 0 && l->keys[l->slots[slot]] != key) {
		slot = (slot + 1) & l->mask;
	}
	if (l->slots[slot] < 0) {
		l->keys[l->vertex_count] = key;
		l->slots[slot] = l->vertex_count++;
	}
	return l->slots[slot];
}

static bool has_cube(const blocks *body, const int32_t cube[3])
{
	for (int32_t i = 0; i < body->cube_count; i++) {
		if (memcmp(body->cubes[i], cube, 3 * sizeof *cube) == 0) {
			return true;
		}
	}
	return false;
}

/// One outer square: axis is its normal's, upper tells on which side of the cube.
static void add_square(lattice *l, const int32_t cube[3], int axis, bool upper, sim_surface *surface)
{
	int u = (axis + 1) % 3, v = (axis + 2) % 3;
	for (int32_t cell = 0; cell < l->cells * l->cells; cell++) {
		int32_t corner[4];
		for (int k = 0; k < 4; k++) {
			int32_t at[3];
			at[axis] = (cube[axis] + (upper ? 1 : 0)) * l->cells;
			at[u] = cube[u] * l->cells + cell % l->cells + (k == 1 || k == 2);
			at[v] = cube[v] * l->cells + cell / l->cells + (k == 2 || k == 3);
			corner[upper ? k : 3 - k] = lattice_vertex(l, at);
		}
		const int32_t pair[6] = { corner[0], corner[1], corner[2], corner[0], corner[2], corner[3] };
		memcpy(surface->triangles + 3 * surface->triangle_count, pair, sizeof pair);
		surface->triangle_count += 2;
	}
}

static void add_squares(lattice *l, const blocks *body, sim_surface *surface)
{
	for (int32_t i = 0; i < body->cube_count; i++) {
		for (int side = 0; side < 6; side++) {
			int32_t behind[3];
			memcpy(behind, body->cubes[i], sizeof behind);
			behind[side / 2] += side % 2 == 0 ? -1 : 1;
			if (!has_cube(body, behind)) {
				add_square(l, body->cubes[i], side / 2, side % 2 != 0, surface);
			}
		}
	}
}

static void place_points(const lattice *l, const blocks *body, sim_surface *surface)
{
	for (int32_t i = 0; i < l->vertex_count; i++) {
		double at[3];
		for (int axis = 0; axis < 3; axis++) {
			double steps = (double)(l->keys[i] >> (40 - 20 * axis) & 0xfffff);
			at[axis] = (steps / l->cells - body->centre[axis]) * body->cube_size;
		}
		surface->points[i] = (carom_vec3){ at[0], at[1], at[2] };
	}
}

static bool build(const blocks *body, int32_t cells, int32_t triangles, sim_surface *surface)
{
	lattice l = { NULL, NULL, 7, 0, cells };
	while (l.mask < 2 * (uint64_t)triangles) {
		l.mask = 2 * l.mask + 1;
	}
	l.slots = malloc((l.mask + 1) * sizeof *l.slots);
	l.keys = malloc((size_t)triangles * sizeof *l.keys);
	bool done = l.slots != NULL && l.keys != NULL && sim_surface_alloc(surface, triangles / 2 + 2, triangles);
	if (done) {
		memset(l.slots, 0xff, (l.mask + 1) * sizeof *l.slots);
		surface->triangle_count = 0;
		add_squares(&l, body, surface);
		place_points(&l, body, surface);
	}
	free(l.slots);
	free(l.keys);
	return done;
}

bool sim_make_blocks(const char *shape, int32_t triangles, sim_surface *surface, sim_error *error)
{
	const blocks *body = strcmp(shape, BLOCKS[0].name) == 0 ? &BLOCKS[0] : &BLOCKS[1];
	int32_t unit = 2 * body->faces, cells = 1;
	while (unit * (cells + 1) * (cells + 1) <= triangles) {
		cells++;
	}
	int32_t below = unit * cells * cells, above = unit * (cells + 1) * (cells + 1);
	if (below == triangles) {
		return build(body, cells, triangles, surface);
	}
	if (below > triangles || above > SIM_MAX_SHAPE_TRIANGLES) {
		return sim_fail(error, "the shape %s has %d * k * k triangles, not %d: take %d", shape, unit, triangles, below);
	}
	return sim_fail(error, "the shape %s has %d * k * k triangles, not %d: take %d or %d", shape, unit, triangles, below, above);
}
