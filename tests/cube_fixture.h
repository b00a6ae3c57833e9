/// Soft cubes: the surface of a grid of cells, as a solid that deforms.
#ifndef TESTS_CUBE_FIXTURE_H
#define TESTS_CUBE_FIXTURE_H

#include "fixture.h"

#include "world/world.h"

#include <math.h>
#include <string.h>

enum { MOST_CELLS = 5, SIDE = MOST_CELLS + 1, MOST_VERTICES = SIDE * SIDE * SIDE };

/// The surface of a cube of cells^3 cells. Vertices within are not used.
typedef struct cube {
	int cells;
	int32_t vertex_count, triangle_count;
	double place[MOST_VERTICES][3];
	bool used[MOST_VERTICES];
	int32_t triangles[12 * MOST_CELLS * MOST_CELLS][3];
} cube;

static inline void add_triangle(cube *g, int32_t a, int32_t b, int32_t c, bool turned)
{
	const int32_t t[3] = { a, turned ? c : b, turned ? b : c };
	for (int k = 0; k < 3; k++)
		g->used[t[k]] = true;
	memcpy(g->triangles[g->triangle_count++], t, sizeof t);
}

static inline void add_square(cube *g, int axis, int side, int a, int b)
{
	const int u = (axis + 1) % 3, w = (axis + 2) % 3;
	int32_t corner[4];
	for (int m = 0; m < 4; m++) {
		int at[3];
		at[axis] = side * g->cells;
		at[u] = a + (m == 1 || m == 2);
		at[w] = b + (m >= 2);
		corner[m] = (at[2] * (g->cells + 1) + at[1]) * (g->cells + 1) + at[0];
	}
	add_triangle(g, corner[0], corner[1], corner[2], side == 0);
	add_triangle(g, corner[0], corner[2], corner[3], side == 0);
}

/// A cube of edge length size whose lower face is about the origin, at height 0.
static inline void make_cube(cube *g, int cells, double size)
{
	*g = (cube){ .cells = cells, .vertex_count = (cells + 1) * (cells + 1) * (cells + 1) };
	for (int32_t i = 0; i < g->vertex_count; i++) {
		const int at[3] = { i % (cells + 1), i / (cells + 1) % (cells + 1), i / (cells + 1) / (cells + 1) };
		for (int k = 0; k < 3; k++)
			g->place[i][k] = size * ((double)at[k] / cells - (k < 2 ? 0.5 : 0));
	}
	for (int i = 0; i < 6 * cells * cells; i++)
		add_square(g, i % 3, i / 3 % 2, i / 6 % cells, i / 6 / cells);
}

/// Turn about the vertical, move, and let each coordinate wobble.
static inline void put_cube(cube *g, uint64_t *seed, double turn, v3d to, double wobble)
{
	for (int32_t i = 0; i < g->vertex_count; i++) {
		double *p = g->place[i];
		const double x = p[0], y = p[1];
		p[0] = cos(turn) * x - sin(turn) * y + to.x;
		p[1] = sin(turn) * x + cos(turn) * y + to.y;
		p[2] += to.z;
		for (int k = 0; k < 3; k++)
			p[k] += test_random_double(seed, -wobble, wobble);
	}
}

static inline carom_body_id add_cube(carom_world *world, const cube *g)
{
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	def.vertices = (carom_strided){ .data = g->place, .type = CAROM_FLOAT64 };
	def.vertex_count = g->vertex_count;
	def.triangles = g->triangles[0];
	def.triangle_count = g->triangle_count;
	REQUIRE(carom_create_mesh(world->context, &def, NULL, &mesh) == CAROM_SUCCESS);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE);
	carom_release_mesh(mesh);
	return id;
}

enum { CUBE_FORMS = 9 };

/// Bring a cube about the origin into a form that solvers make under load.
static inline void spoil_cube(cube *g, int form)
{
	uint64_t seed = 21;
	for (int32_t i = 0; i < g->vertex_count; i++) {
		double *p = g->place[i];
		const double x = p[0], y = p[1], z = p[2] - 0.5;
		const double angle = form == 5 ? 6.9 * x : 6.3 * z, radius = 0.35 + 0.6 * z;
		double at[3] = { x, y, z };
		if (form <= 2) // a point, a line, a plane
			at[0] = form < 1 ? 0 : x, at[1] = form < 2 ? 0 : y, at[2] = 0;
		else if (form == 3) // a corner through the opposite face
			at[2] = x + y + z > 1.4 ? -0.9 : z;
		else if (form == 4 && test_random(&seed) % 7 == 0) // folded at some vertices
			at[0] = -0.5 * x, at[1] = -0.5 * y, at[2] = -0.5 * z;
		else if (form == 5) // bent until it overlaps itself
			at[0] = radius * sin(angle), at[2] = radius * cos(angle);
		else if (form == 6) // wrung
			at[0] = x * cos(angle) - y * sin(angle), at[1] = x * sin(angle) + y * cos(angle);
		else if (form == 7) // the lower half within the upper one
			at[2] = z < 0 ? 0.1 - 0.8 * z : z;
		else if (form == 8)
			at[2] = -z;
		for (int k = 0; k < 3; k++)
			p[k] = at[k];
	}
}

#endif
