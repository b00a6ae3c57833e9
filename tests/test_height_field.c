/// Height fields with holes: closed solids, shafts that let bodies through, numbers of triangles that stay.
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 9, ROWS = 7, SAMPLES = COLUMNS * ROWS, CELLS = (COLUMNS - 1) * (ROWS - 1) };
static const double SPACING[2] = { 0.5, 0.75 };
static const double THICKNESS = 1.5;

static bool is_cell(const float *heights, int column, int row)
{
	const float *h = &heights[row * COLUMNS + column];
	return !isnan(h[0]) && !isnan(h[1]) && !isnan(h[COLUMNS]) && !isnan(h[COLUMNS + 1]);
}

/// Hills with the given number of holes at random samples. Returns how many cells are left.
static int make_heights(uint64_t *seed, int holes, float heights[SAMPLES])
{
	for (int i = 0; i < SAMPLES; i++)
		heights[i] = (float)test_random_double(seed, -0.3, 0.3);
	for (int i = 0; i < holes; i++)
		heights[test_random(seed) % SAMPLES] = NAN;
	int cells = 0;
	for (int i = 0; i < CELLS; i++)
		cells += is_cell(heights, i % (COLUMNS - 1), i / (COLUMNS - 1));
	return cells;
}

/// The volume over the bottom of the cells that are left.
static double volume_of(const float *heights)
{
	double lowest = INFINITY, volume = 0;
	for (int i = 0; i < SAMPLES; i++)
		lowest = fmin(lowest, isnan(heights[i]) ? INFINITY : heights[i]);
	for (int i = 0; i < CELLS; i++) {
		const int column = i % (COLUMNS - 1), row = i / (COLUMNS - 1);
		const float *h = &heights[row * COLUMNS + column];
		// Two prisms, which share the diagonal from the first to the last corner.
		const double mean = ((double)h[0] + h[COLUMNS + 1]) / 3 + ((double)h[1] + h[COLUMNS]) / 6;
		if (is_cell(heights, column, row))
			volume += SPACING[0] * SPACING[1] * (mean - (lowest - THICKNESS));
	}
	return volume;
}

/// A ray straight down over each cell hits the triangle with the cell's number, and nothing over a hole.
static void check_rays(const carom_mesh *mesh, const float *heights)
{
	for (int i = 0; i < 2 * CELLS; i++) {
		const int column = i / 2 % (COLUMNS - 1), row = i / 2 / (COLUMNS - 1);
		const double across = i % 2 == 0 ? 0.3 : 0.7; // of the first and the second triangle
		float origin[3] = { (float)((column + 1 - across) * SPACING[0]), (float)((row + across) * SPACING[1]), 5 };
		float direction[3] = { 0, 0, -1 }, t_max = 100, t = 0;
		int32_t triangle = -2;
		carom_ray_batch rays = { .count = 1, .t_max = &t_max };
		uint8_t back;
		carom_hit_batch hits = { &triangle, &t, &back };
		for (int k = 0; k < 3; k++) {
			rays.origin[k] = &origin[k];
			rays.direction[k] = &direction[k];
		}
		REQUIRE(carom_lab_cast_rays(mesh, CAROM_RAYS_WIDE, &rays, &hits) == CAROM_SUCCESS);
		CHECK_INT(triangle, is_cell(heights, column, row) ? i : -1);
	}
}

TEST(height_field, holes_leave_a_closed_solid)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 31;
	for (int round = 0; round < 60; round++) {
		float heights[SAMPLES];
		carom_mesh *mesh = NULL;
		const int cells = make_heights(&seed, 1 + round % 20, heights);
		if (cells == 0)
			continue;
		if (!CHECK_INT(carom_create_height_field(context, COLUMNS, ROWS, heights, SPACING, THICKNESS, &mesh), CAROM_SUCCESS))
			break;
		const carom_mesh_report *report = carom_mesh_get_report(mesh);
		CHECK(report->closed && report->usable && !report->inverted);
		CHECK_INT(report->degenerate_triangles, 2 * (CELLS - cells));
		CHECK_INT(report->duplicate_triangles, 0);
		const double volume = volume_of(heights);
		CHECK_NEAR(report->volume, volume, 1e-6 * volume);
		check_rays(mesh, heights);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

TEST(height_field, only_the_hole_is_gone)
{
	carom_context *context = fixture_context(1);
	float heights[25] = { 0 };
	heights[12] = NAN; // the four cells in the middle, from 1 to 3
	const double spacing[2] = { 1, 1 };
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_height_field(context, 5, 5, heights, spacing, 1, &mesh) == CAROM_SUCCESS);
	CHECK_NEAR(carom_mesh_get_report(mesh)->volume, 12, 1e-9);
	CHECK_INT(carom_mesh_get_report(mesh)->euler, 0); // a ring
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_STATIC);
	static const struct {
		double x, z;
		bool touches;
	} cases[] = { { 2, 0.4, false }, { 2, -0.5, false }, { 0.5, 0.45, true }, { 0.5, 0.51, false }, { 1.1, 0.45, true },
		{ 1.45, -0.5, true }, { 3.5, 0.45, true }, { 2.55, -0.5, true } };
	const carom_shape shapes[] = { fixture_sphere(0.5), fixture_box(0.5, 0.5, 0.5), fixture_capsule(0.5, 1e-3),
		fixture_cylinder(0.5, 0.5) };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
			const carom_body_id id = fixture_add(world, shapes[k], fixture_at(cases[i].x, 2, cases[i].z), CAROM_DYNAMIC);
			fixture_step(world);
			if (!CHECK_INT(carom_world_contacts(world).count > 0, cases[i].touches))
				printf("case %d, shape %d\n", (int)i, (int)k);
			CHECK_INT(carom_world_remove_body(world, id), CAROM_SUCCESS);
		}
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// Cells that touch at a corner only share an edge of four walls there; the solid is closed nevertheless.
TEST(height_field, cells_may_touch_at_a_corner)
{
	carom_context *context = fixture_context(1);
	float heights[16] = { 0 };
	heights[3] = heights[12] = NAN; // opposite corners
	heights[2] = heights[8] = NAN;
	heights[7] = heights[13] = NAN;
	const double spacing[2] = { 1, 1 };
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_height_field(context, 4, 4, heights, spacing, 1, &mesh) == CAROM_SUCCESS);
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	CHECK(report->closed);
	CHECK_NEAR(report->volume, 3, 1e-9); // the diagonal
	CHECK_INT(report->nonmanifold_edges, 2);
	CHECK_INT(report->unbalanced_edges, 0);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// The last sample is NaN, else nothing: all but one cell are those of a field without holes.
TEST(height_field, failing_allocations_leave_nothing)
{
	float heights[16] = { 0 };
	heights[15] = NAN;
	const double spacing[2] = { 1, 1 };
	bool made = false;
	for (int fail = 0; !made; fail++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 1);
		const size_t before = carom_memory_in_use(context);
		heap.fail_at = heap.calls + fail;
		carom_mesh *mesh = NULL;
		const carom_result result = carom_create_height_field(context, 4, 4, heights, spacing, 1, &mesh);
		heap.fail_at = -1;
		made = result == CAROM_SUCCESS;
		if (!made) {
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK(!mesh);
		}
		CHECK(made || fail < 100);
		carom_release_mesh(mesh);
		CHECK_INT(carom_memory_in_use(context), before);
		carom_destroy_context(context);
	}
}
