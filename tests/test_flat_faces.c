/// Cubes whose faces are flat up to a wobble, and lie on each other: no contact is deeper than they overlap, be they rigid or solids that
/// deform, and of whatever number of triangles.
#include "fixture.h"
#include <math.h>
#include <string.h>

enum { MOST_CELLS = 4, SIDE = MOST_CELLS + 1, MOST_VERTICES = SIDE * SIDE * SIDE, STEPS = 60 / TEST_FEWER };

/// A cube of cells^3 cells, of whose surface each square is two triangles. Vertices within are not used.
typedef struct grid_cube {
	int cells;
	double place[MOST_VERTICES][3];
	double moved[MOST_VERTICES][3];
	int32_t triangles[12 * MOST_CELLS * MOST_CELLS][3];
	int32_t vertex_count, triangle_count;
} grid_cube;

static int32_t vertex_at(const grid_cube *g, const int at[3])
{
	return (at[2] * (g->cells + 1) + at[1]) * (g->cells + 1) + at[0];
}

static void add_square(grid_cube *g, int axis, int side, int a, int b)
{
	const int u = (axis + 1) % 3, w = (axis + 2) % 3;
	int32_t corner[4];
	for (int m = 0; m < 4; m++) {
		int at[3];
		at[axis] = side * g->cells;
		at[u] = a + (m == 1 || m == 2);
		at[w] = b + (m >= 2);
		corner[m] = vertex_at(g, at);
	}
	const int32_t first[2][3] = { { corner[0], corner[2], corner[1] }, { corner[0], corner[1], corner[2] } };
	const int32_t second[2][3] = { { corner[0], corner[3], corner[2] }, { corner[0], corner[2], corner[3] } };
	memcpy(g->triangles[g->triangle_count++], first[side], sizeof first[side]);
	memcpy(g->triangles[g->triangle_count++], second[side], sizeof second[side]);
}

/// A cube of edge length size from a corner on.
static void make_grid(grid_cube *g, int cells, double size, v3d from)
{
	g->cells = cells;
	g->vertex_count = (cells + 1) * (cells + 1) * (cells + 1);
	g->triangle_count = 0;
	for (int32_t i = 0; i < g->vertex_count; i++) {
		const int at[3] = { i % (cells + 1), i / (cells + 1) % (cells + 1), i / (cells + 1) / (cells + 1) };
		for (int k = 0; k < 3; k++)
			g->place[i][k] = v3d_get(from, k) + size * at[k] / cells;
	}
	for (int axis = 0; axis < 3; axis++) {
		for (int i = 0; i < 2 * cells * cells; i++)
			add_square(g, axis, i % 2, i / 2 / cells, i / 2 % cells);
	}
	memcpy(g->moved, g->place, sizeof g->place);
}

/// Move each vertex by up to wobble, and all by shift.
static void wobble_grid(grid_cube *g, uint64_t *seed, double wobble, v3d shift)
{
	for (int32_t i = 0; i < g->vertex_count; i++) {
		for (int k = 0; k < 3; k++)
			g->moved[i][k] = g->place[i][k] + v3d_get(shift, k) + test_random_double(seed, -wobble, wobble);
	}
}

static carom_mesh *mesh_of(carom_context *context, const grid_cube *g)
{
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	def.vertices = (carom_strided){ .data = g->moved, .type = CAROM_FLOAT64 };
	def.vertex_count = g->vertex_count;
	def.triangles = g->triangles[0];
	def.triangle_count = g->triangle_count;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static carom_body_id add_grid(carom_context *context, carom_world *world, const grid_cube *g, carom_body_kind kind)
{
	carom_mesh *mesh = mesh_of(context, g);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = fixture_of_mesh(mesh);
	def.kind = kind;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	carom_release_mesh(mesh);
	return id;
}

static carom_world *make_world(carom_context *context, double ahead)
{
	carom_world_def def = carom_default_world_def();
	carom_world *world;
	def.speculative_distance = ahead;
	REQUIRE(carom_create_world(context, &def, &world) == CAROM_SUCCESS);
	return world;
}

/// A place of the upper cube over the lower one: some have edges in line with edges of the lower one.
static v3d random_shift(uint64_t *seed, int cells, int step, double wobble)
{
	v3d shift = { test_random_double(seed, -0.9, 0.9), test_random_double(seed, -0.9, 0.9),
		test_random_double(seed, -wobble, wobble) };
	if (step % 3 == 1)
		shift.x = floor(shift.x * cells) / cells;
	if (step % 3 == 2)
		shift.y = floor(shift.y * cells) / cells;
	return shift;
}

/// How many contacts are deeper than the cubes overlap, over some steps.
static int count_deep(carom_context *context, bool rigid, double ahead, int cells, double wobble)
{
	static grid_cube cube[2];
	uint64_t seed = 77 + (uint64_t)cells;
	carom_body_id ids[2];
	int deep = 0, met = 0;
	carom_world *world = make_world(context, ahead);
	for (int i = 0; i < 2; i++)
		make_grid(&cube[i], cells, 1, (v3d){ -0.5, -0.5, i });
	for (int i = 0; i < 2 && !rigid; i++)
		ids[i] = add_grid(context, world, &cube[i], CAROM_DEFORMABLE);
	for (int step = 0; step < STEPS; step++) {
		const v3d shift = random_shift(&seed, cells, step, wobble);
		for (int i = 0; i < 2; i++) {
			wobble_grid(&cube[i], &seed, wobble, i == 0 ? (v3d){ 0, 0, 0 } : shift);
			const carom_strided end = { .data = cube[i].moved, .type = CAROM_FLOAT64 };
			if (rigid)
				ids[i] = add_grid(context, world, &cube[i], CAROM_DYNAMIC);
			else
				REQUIRE(carom_world_set_vertices(world, ids[i], &end, &end) == CAROM_SUCCESS);
		}
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		const carom_contact_view view = carom_world_contacts(world);
		met += view.count > 0;
		// Two wobbles of either face, half a wobble of the shift more, and the rounding of floats.
		for (int i = 0; i < view.count; i++)
			deep += view.data[i].depth > 5 * wobble + 1e-6;
		for (int i = 0; i < 2 && rigid; i++)
			REQUIRE(carom_world_remove_body(world, ids[i]) == CAROM_SUCCESS);
	}
	CHECK(met > STEPS / 3);
	carom_destroy_world(world);
	return deep;
}

static void check_depths(bool rigid, double ahead)
{
	carom_context *context = fixture_context(1);
	for (int cells = 1; cells <= MOST_CELLS; cells++) {
		for (double wobble = 1e-7; wobble < 1.1e-2; wobble *= 3.16227766)
			CHECK_INT(count_deep(context, rigid, ahead, cells, wobble), 0);
	}
	carom_destroy_context(context);
}

TEST(flat_faces, rigid_cubes_are_no_deeper_than_they_overlap) { check_depths(true, 0); }
TEST(flat_faces, rigid_cubes_ahead_are_no_deeper) { check_depths(true, 0.01); }
TEST(flat_faces, soft_cubes_are_no_deeper_than_they_overlap) { check_depths(false, 0); }
TEST(flat_faces, soft_cubes_ahead_are_no_deeper) { check_depths(false, 0.01); }

/// A cube with a dimple in its bottom on a block, whose grids are in line: all contacts point up, and none is deeper than the cube sank in.
TEST(flat_faces, aligned_grids_push_up)
{
	static grid_cube block, cube;
	carom_context *context = fixture_context(1);
	static const double dimple[4] = { 0.3, 0.9, 1.5, -0.3 };
	for (int k = 0; k < 8; k++) {
		carom_world *world = make_world(context, 0);
		make_grid(&block, 3, 3, (v3d){ -1.5, -1.5, -3 });
		make_grid(&cube, 2, 1, (v3d){ -0.5, -0.5, -0.05 });
		cube.moved[4][2] = dimple[k % 4];
		add_grid(context, world, &block, k < 4 ? CAROM_STATIC : CAROM_DEFORMABLE);
		const carom_body_id id = add_grid(context, world, &cube, CAROM_DEFORMABLE);
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		const carom_contact_view view = carom_world_contacts(world);
		CHECK(view.count >= 3);
		for (int i = 0; i < view.count; i++) {
			const double up = view.data[i].body_a.index1 == id.index1 ? view.data[i].normal[2] : -view.data[i].normal[2];
			CHECK(up > 0.5);
			CHECK(view.data[i].depth <= (dimple[k % 4] < 0 ? 0.3 : 0.05) + 1e-6);
		}
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}
