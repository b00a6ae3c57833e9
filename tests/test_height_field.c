/// Height fields with holes: closed solids, shafts that let bodies through, numbers of triangles that stay.
#include "fixture.h"
#include "same_mesh.h"
#include "test.h"
#include "carom/carom.h"
#include "mesh/thin_facets.h"
#include "world/height_field.h"
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

// ---- What is known of a field ----

static void same_report(const carom_mesh_report *a, const carom_mesh_report *b)
{
	CHECK_INT(a->vertex_count, b->vertex_count);
	CHECK_INT(a->triangle_count, b->triangle_count);
	CHECK_INT(a->nonfinite_vertices, b->nonfinite_vertices);
	CHECK_INT(a->huge_vertices, b->huge_vertices);
	CHECK_INT(a->out_of_range_triangles, b->out_of_range_triangles);
	CHECK_INT(a->degenerate_triangles, b->degenerate_triangles);
	CHECK_INT(a->duplicate_triangles, b->duplicate_triangles);
	CHECK_INT(a->unreferenced_vertices, b->unreferenced_vertices);
	CHECK_INT(a->duplicate_vertices, b->duplicate_vertices);
	CHECK_INT(a->rounded_vertices, b->rounded_vertices);
	CHECK_INT(a->border_edges, b->border_edges);
	CHECK_INT(a->nonmanifold_edges, b->nonmanifold_edges);
	CHECK_INT(a->inconsistent_edges, b->inconsistent_edges);
	CHECK_INT(a->unbalanced_edges, b->unbalanced_edges);
	CHECK_INT(a->nonmanifold_vertices, b->nonmanifold_vertices);
	CHECK_INT(a->normalless_vertices, b->normalless_vertices);
	CHECK_INT(a->components, b->components);
	CHECK_INT(a->euler, b->euler);
	CHECK_INT(a->first_element, b->first_element);
	CHECK_STR(a->first_finding, b->first_finding);
	CHECK(a->closed == b->closed && a->inverted == b->inverted && a->usable == b->usable);
	CHECK(a->rounding == b->rounding && a->area == b->area && a->volume == b->volume);
	for (int k = 0; k < 3; k++)
		CHECK(a->lower[k] == b->lower[k] && a->upper[k] == b->upper[k]);
}

/// A field has the bits of a mesh of its triangles, whose edges are matched, vertices welded and facets all listed.
static void check_field(carom_context *context, int32_t columns, int32_t rows, const float *heights, double thickness)
{
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, columns, rows, heights, SPACING, thickness, &mesh) == CAROM_SUCCESS);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ mesh->topology.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = mesh->topology.vertex_count;
	def.triangles = mesh->topology.triangles;
	def.triangle_count = mesh->topology.triangle_count;
	carom_mesh_report report;
	cr_topology topology;
	cr_facets facets;
	REQUIRE(cr_topology_build(context, &def, &report, &topology) == CAROM_SUCCESS);
	const bool one = report.closed && report.components == 1;
	REQUIRE(cr_facets_build(context, &topology, one, &facets) && cr_facets_thin(context, &topology, &facets));
	same_report(&mesh->report, &report);
	same_topology(&mesh->topology, &topology, NULL, 0);
	same_facets(&mesh->facets, &facets);
	CHECK_SAME(mesh->facets.few, facets.few, facets.few_count);
	cr_facets_free(context, &facets);
	cr_topology_free(context, &topology);
	carom_release_mesh(mesh);
}

TEST(height_field, what_is_known_is_what_a_mesh_has)
{
	enum { MOST = 70 * 70 };
	static float heights[MOST];
	static const int32_t sides[][2] = { { 2, 2 }, { 2, 9 }, { 3, 3 }, { 9, 4 }, { 40, 33 }, { 70, 70 } };
	static const float waves[] = { 0, 0, 4, 0.5f, 0.02f }, noise[] = { 0, 1, 0.05f, 1e-4f, 0 };
	carom_context *context = fixture_context(1);
	uint64_t seed = 12;
	int thin = 0;
	for (int i = 0; i < 6 * 7 && test_failures() == 0; i++) {
		const int32_t columns = sides[i % 6][0], rows = sides[i % 6][1];
		const int kind = i / 6;
		for (int32_t k = 0; k < columns * rows; k++) {
			const double x = k % columns, y = (double)(k / columns);
			const double up = test_random_double(&seed, -1, 1);
			if (kind < 5)
				heights[k] = (float)(waves[kind] * sin(0.2 * x + 0.1 * y) + noise[kind] * up);
			else
				heights[k] = kind == 5 ? (float)(k % columns / 3 + k / columns / 2) / 8 : k % 17 == 5 ? NAN : (float)up;
		}
		if (kind == 6 && columns * rows < 100)
			continue; // only holes
		check_field(context, columns, rows, heights, kind == 4 ? 1e-3 : 1);
		thin += columns == 70;
	}
	CHECK(thin > 5);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}
