/// Height fields with other heights in a rectangle: what is made of them is what a field made whole of all heights has.
#include "carom/collide.h"
#include "fixture.h"
#include "same_mesh.h"
#include "mesh/thin_facets.h"
#include "world/baked.h"
#include "world/height_field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 41, MAX_SAMPLES = MAX_SIDE * MAX_SIDE };

static const double SPACING[2] = { 0.5, 0.75 }, BOTTOM = -8;

/// A field as the test knows it.
typedef struct model {
	int32_t columns, rows;
	float heights[MAX_SAMPLES];
	carom_mesh *mesh;
} model;

/// A height that doubles add up to without rounding.
static float random_height(uint64_t *seed) { return (float)((double)(test_random(seed) % 128) / 32); }

static carom_mesh *make_whole(carom_context *context, const model *m)
{
	double lowest = INFINITY;
	for (int32_t i = 0; i < m->columns * m->rows; i++)
		lowest = m->heights[i] < lowest ? m->heights[i] : lowest;
	carom_mesh *mesh = NULL;
	REQUIRE(
		carom_create_height_field(context, m->columns, m->rows, m->heights, SPACING, lowest - BOTTOM, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void open_model(model *m, carom_context *context, int32_t columns, int32_t rows, uint64_t *seed)
{
	*m = (model){ .columns = columns, .rows = rows };
	for (int32_t i = 0; i < columns * rows; i++)
		m->heights[i] = (float)((double)(64 + i % 7 + 3 * (i / columns % 5)) / 32);
	m->heights[0] = 4; // the highest
	m->heights[1 + test_random(seed) % 3] = 0;
	m->mesh = make_whole(context, m);
}

/// Change a rectangle of the model, and edit its mesh. share: of heights that are holes, in percent; -1: none, and mountains.
static void edit(model *m, carom_context *context, const carom_field_region *r, int share, uint64_t *seed)
{
	const float times = share < 0 ? 3 : 1; // mountains, so that the box changes
	static float heights[MAX_SAMPLES];
	for (int32_t i = 0; i < r->columns * r->rows; i++) {
		heights[i] = (int)(test_random(seed) % 100) < share ? NAN : times * random_height(seed);
		m->heights[(r->first_row + i / r->columns) * m->columns + r->first_column + i % r->columns] = heights[i];
	}
	carom_mesh *edited = NULL;
	if (!CHECK_INT(carom_create_edited_field(context, m->mesh, r, heights, &edited), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	REQUIRE(edited);
	carom_release_mesh(m->mesh);
	m->mesh = edited;
}

static carom_field_region random_region(const model *m, uint64_t *seed)
{
	carom_field_region r;
	r.first_column = (int32_t)(test_random(seed) % (uint64_t)m->columns);
	r.first_row = (int32_t)(test_random(seed) % (uint64_t)m->rows);
	r.columns = 1 + (int32_t)(test_random(seed) % (uint64_t)(m->columns - r.first_column));
	r.rows = 1 + (int32_t)(test_random(seed) % (uint64_t)(m->rows - r.first_row));
	return r;
}

// ---- Comparing ----

static void check_samples(const cr_collider *a, const cr_collider *b)
{
	const int32_t vertices = a->topology->vertex_count;
	CHECK_INT(a->sample_count, b->sample_count);
	float(*of_b)[7] = calloc((size_t)vertices, sizeof *of_b);
	REQUIRE(of_b);
	for (int pass = 0; pass < 2; pass++) {
		const cr_collider *c = pass ? a : b;
		for (int32_t i = 0; i < CR_WIDTH * c->sample_tree.block_count; i++) {
			const cr_sample8 *s = &c->samples[i / CR_WIDTH];
			const int lane = i % CR_WIDTH;
			const float values[7] = { s->point[0][lane], s->point[1][lane], s->point[2][lane], s->inward[0][lane],
				s->inward[1][lane], s->inward[2][lane], s->exit[lane] };
			if (lane >= s->count)
				continue;
			if (pass)
				CHECK_SAME(values, of_b[s->number[lane]], 7);
			else
				memcpy(of_b[s->number[lane]], values, sizeof values);
		}
	}
	free(of_b);
}

/// Returns whether the cells lie alike, so that they could be compared.
static bool check_grid(const cr_grid *a, const cr_grid *b)
{
	CHECK((a->cells == NULL) == (b->cells == NULL));
	if (!a->cells || memcmp(a->origin, b->origin, sizeof a->origin) != 0 || a->cell != b->cell ||
		memcmp(a->size, b->size, sizeof a->size) != 0)
		return false;
	const int64_t cells = (int64_t)a->size[0] * a->size[1] * a->size[2];
	CHECK_SAME(a->cells, b->cells, cells);
	for (int64_t w = 0; w < (cells + 63) / 64; w++) {
		REQUIRE(a->words[w].touched == b->words[w].touched);
		// Where the records of a word are depends on the edits before.
		CHECK_SAME(a->touched + a->words[w].before, b->touched + b->words[w].before, __builtin_popcountll(a->words[w].touched));
	}
	CHECK(!a->planes && !b->planes); // worked out when asked for
	return true;
}

static bool check_whole(carom_context *context, const model *m)
{
	carom_mesh *whole = make_whole(context, m);
	const carom_mesh *mesh = m->mesh;
	same_topology(&mesh->topology, &whole->topology, m->heights, m->columns * m->rows);
	same_facets(&mesh->facets, &whole->facets);
	same_trees(&mesh->collider, &whole->collider);
	check_samples(&mesh->collider, &whole->collider);
	const bool alike = check_grid(&mesh->collider.grid, &whole->collider.grid);
	CHECK(fabs(mesh->report.area - whole->report.area) <= 1e-12 * whole->report.area);
	CHECK(fabs(mesh->report.volume - whole->report.volume) <= 1e-12 * whole->report.volume);
	CHECK_INT(mesh->report.degenerate_triangles, whole->report.degenerate_triangles);
	CHECK_INT(mesh->report.closed, whole->report.closed);
	carom_release_mesh(whole);
	return alike;
}

TEST(field_edit, is_the_field_made_whole)
{
	static model m;
	uint64_t seed = 5;
	carom_context *context = fixture_context(1);
	int alike = 0, others = 0;
	for (int round = 0; round < 12 / TEST_FEWER && test_failures() == 0; round++) {
		const int32_t columns = 2 + (int32_t)(test_random(&seed) % (MAX_SIDE - 2)),
					  rows = 4 + (int32_t)(test_random(&seed) % 30);
		open_model(&m, context, columns < 4 ? 4 : columns, rows, &seed);
		for (int k = 0; k < 6; k++) {
			const carom_field_region r = random_region(&m, &seed);
			edit(&m, context, &r, k == 2 ? -1 : 0, &seed);
			check_whole(context, &m) ? alike++ : others++;
		}
		carom_release_mesh(m.mesh);
	}
	CHECK(alike > 5 / TEST_FEWER);
	CHECK(others > 0); // the box has changed, so the cells of the whole field lie elsewhere
	carom_destroy_context(context);
}

/// Small rectangles in the middle, at the sides and corners of a field whose box stays: the grids are equal.
TEST(field_edit, borders_and_corners)
{
	static model m;
	uint64_t seed = 6;
	carom_context *context = fixture_context(1);
	for (int k = 0; k < 16 / TEST_FEWER && test_failures() == 0; k++) {
		open_model(&m, context, 33, 21, &seed);
		const int32_t columns = 1 + k % 5, rows = 1 + k / 4;
		for (int place = 0; place < 9; place++) {
			const carom_field_region r = { place % 3 * (33 - columns) / 2, place / 3 * (21 - rows) / 2, columns, rows };
			if (r.first_column < 4 && r.first_row == 0)
				continue; // the highest and the lowest sample, so that the box stays
			edit(&m, context, &r, 0, &seed);
			CHECK(check_whole(context, &m));
		}
		carom_release_mesh(m.mesh);
	}
	carom_destroy_context(context);
}

/// Bring thin facets up to date beside a refitted collider.
static carom_result refit_thin(
	carom_context *context, carom_mesh *copy, const cr_change *change, const carom_mesh *field, cr_facets *local)
{
	const cr_collider *c = &field->collider;
	cr_facet_change *plan;
	cr_surroundings around;
	int32_t count;
	cr_collider_refit_trees(&copy->collider, change);
	REQUIRE(cr_copy_thin_facets(context, &field->facets, &copy->topology, local));
	const carom_result result = cr_plan_facet_change(context, change, c->lower, c->upper, local, &plan);
	if (result != CAROM_SUCCESS)
		return result;
	const int32_t *vertices = cr_vertices_of_facet_change(plan, &count);
	REQUIRE(cr_collider_surroundings(context, &copy->collider, vertices, count, &around) == CAROM_SUCCESS);
	cr_mark_facet_change(plan, &around);
	cr_surroundings_free(context, &around);
	cr_take_facet_change(plan);
	return CAROM_SUCCESS;
}

/// Move vertices of a copy of a field and bring its facets up to date; a whole build must give the same bits. Returns whether that could
/// be done near the change.
static bool refit_facets(
	carom_context *context, const carom_mesh *field, const int32_t *vertices, const float *places, int count)
{
	carom_mesh *copy = NULL;
	cr_change change = { 0 };
	cr_facets local, whole;
	REQUIRE(cr_copy_mesh(context, field, CR_COPY_ALL, &copy) == CAROM_SUCCESS);
	cr_surroundings near;
	REQUIRE(cr_collider_surroundings(context, &copy->collider, vertices, count, &near) == CAROM_SUCCESS);
	REQUIRE(cr_topology_refit(context, &copy->topology, vertices, places, count, &near, &change) == CAROM_SUCCESS);
	cr_surroundings_free(context, &near);
	REQUIRE(cr_facets_build(context, &copy->topology, true, &whole));
	const cr_collider *c = &field->collider;
	if (field->facets.thin)
		REQUIRE(cr_facets_thin(context, &copy->topology, &whole));
	const carom_result result = field->facets.thin
		? refit_thin(context, copy, &change, field, &local)
		: cr_facets_refit(context, &copy->topology, &change, &field->facets, c->lower, c->upper, true, &local);
	CHECK(result == CAROM_SUCCESS || result == CAROM_INVALID_MESH);
	if (result == CAROM_SUCCESS)
		same_facets(&local, &whole);
	cr_facets_free(context, &local);
	cr_facets_free(context, &whole);
	cr_change_free(context, &change);
	carom_release_mesh(copy);
	return result == CAROM_SUCCESS;
}

/// Terraces, whose facets have many triangles, and shallow waves, whose facets end where their triangles are too far from one plane.
TEST(field_edit, facets_are_made_near_the_change)
{
	static const float heights[3] = { 1, 3e-4f, 3e-5f };
	enum { SIDE = 24 };
	static float samples[SIDE * SIDE];
	uint64_t seed = 11;
	carom_context *context = fixture_context(1);
	for (int kind = 0; kind < 3; kind++) {
		int local = 0, rounds = 60 / TEST_FEWER;
		for (int round = 0; round < rounds && test_failures() == 0; round++) {
			for (int i = 0; i < SIDE * SIDE; i++)
				samples[i] =
					heights[kind] * (kind == 0 ? (float)(i % SIDE / 5 + i / SIDE / 7) : (float)(test_random(&seed) % 64) / 16);
			samples[0] = 12; // the highest
			carom_mesh *field = NULL;
			REQUIRE(carom_create_height_field(context, SIDE, SIDE, samples, SPACING, 2, &field) == CAROM_SUCCESS);
			int32_t vertices[4];
			float places[12];
			const int32_t first =
				SIDE * (2 + (int32_t)(test_random(&seed) % (SIDE - 5))) + 2 + (int32_t)(test_random(&seed) % (SIDE - 5));
			for (int i = 0; i < 4; i++) {
				vertices[i] = first + i % 2 + SIDE * (i / 2);
				memcpy(&places[3 * i], &field->topology.vertices[3 * vertices[i]], 3 * sizeof *places);
				places[3 * i + 2] = heights[kind] * (float)(1 + test_random(&seed) % 4);
			}
			local += refit_facets(context, field, vertices, places, 4);
			carom_release_mesh(field);
		}
		CHECK_INT(local, rounds);
	}
	carom_destroy_context(context);
}

TEST(field_edit, holes_open_and_close)
{
	static model m;
	uint64_t seed = 7;
	carom_context *context = fixture_context(1);
	int opened = 0;
	for (int round = 0; round < 8 / TEST_FEWER && test_failures() == 0; round++) {
		open_model(&m, context, 17, 13, &seed);
		for (int k = 0; k < 12; k++) {
			const carom_field_region r = random_region(&m, &seed);
			const carom_field_region whole = { 0, 0, 17, 13 }, middle = { 5, 4, 3, 3 };
			edit(&m, context, k % 4 == 3 ? &middle : &r, k % 4 == 1 ? 20 : k % 4 == 2 ? 60 : 0, &seed);
			opened += m.mesh->report.degenerate_triangles > 0;
			check_whole(context, &m);
			if (k == 11) {
				edit(&m, context, &whole, 0, &seed);
				CHECK_INT(m.mesh->report.degenerate_triangles, 0);
				check_whole(context, &m);
			}
		}
		carom_release_mesh(m.mesh);
	}
	CHECK(opened > 4);
	carom_destroy_context(context);
}

/// A hole of one sample at each place, borders and corners too, opens and closes. The field it was made of stays as it is, and a
/// closed hole leaves the field that was there before.
static void open_and_close_each(int threads)
{
	static model m;
	uint64_t seed = 21;
	const float hole = NAN;
	carom_context *context = fixture_context(threads);
	open_model(&m, context, 6, 5, &seed);
	carom_mesh *const solid = carom_retain_mesh(m.mesh);
	for (int32_t i = 0; i < 30 && test_failures() == 0; i++) {
		const carom_field_region r = { i % 6, i / 6, 1, 1 };
		const float height = m.heights[i];
		carom_mesh *open = NULL, *closed = NULL;
		REQUIRE(carom_create_edited_field(context, solid, &r, &hole, &open) == CAROM_SUCCESS);
		check_whole(context, &m); // solid
		const bool on_column_end = r.first_column % 5 == 0, on_row_end = r.first_row % 4 == 0;
		CHECK_INT(open->report.degenerate_triangles, 2 * (on_column_end ? 1 : 2) * (on_row_end ? 1 : 2));
		m.heights[i] = NAN;
		m.mesh = open;
		check_whole(context, &m);
		REQUIRE(carom_create_edited_field(context, open, &r, &height, &closed) == CAROM_SUCCESS);
		check_whole(context, &m); // with the hole
		m.heights[i] = height;
		m.mesh = closed;
		check_whole(context, &m);
		same_topology(&closed->topology, &solid->topology, m.heights, 30);
		carom_release_mesh(open);
		carom_release_mesh(closed);
		m.mesh = solid;
	}
	carom_release_mesh(solid);
	carom_release_mesh(solid);
	carom_destroy_context(context);
}

TEST(field_edit, a_hole_of_each_sample) { open_and_close_each(1); }

TEST(field_edit, a_hole_of_each_sample_on_four_threads) { open_and_close_each(4); }

/// Edits beside holes that stay: no triangle changes its corners.
TEST(field_edit, holes_that_stay)
{
	static model m;
	uint64_t seed = 8;
	carom_context *context = fixture_context(1);
	open_model(&m, context, 25, 25, &seed);
	carom_release_mesh(m.mesh);
	for (int i = 0; i < 60; i++)
		m.heights[30 + test_random(&seed) % 590] = NAN;
	m.mesh = make_whole(context, &m);
	for (int k = 0; k < 24 && test_failures() == 0; k++) {
		const carom_field_region r = random_region(&m, &seed);
		static float heights[MAX_SAMPLES];
		for (int32_t i = 0; i < r.columns * r.rows; i++) {
			float *height = &m.heights[(r.first_row + i / r.columns) * 25 + r.first_column + i % r.columns];
			*height = isnan(*height) ? NAN : random_height(&seed);
			heights[i] = *height;
		}
		carom_mesh *edited = NULL;
		REQUIRE(carom_create_edited_field(context, m.mesh, &r, heights, &edited) == CAROM_SUCCESS);
		CHECK(edited->edited);
		carom_release_mesh(m.mesh);
		m.mesh = edited;
		check_whole(context, &m);
	}
	carom_release_mesh(m.mesh);
	carom_destroy_context(context);
}

/// Edit 8 x 8 samples in the middle of a square field. Returns the nodes of its trees.
static int32_t count_work(carom_context *context, int32_t side, cr_field_work *work)
{
	float *heights = malloc((size_t)side * (size_t)side * sizeof *heights), region_heights[64];
	uint64_t seed = 17;
	REQUIRE(heights);
	for (int32_t i = 0; i < side * side; i++)
		heights[i] = (float)test_random_double(&seed, 0, 0.3);
	heights[0] = 1; // the highest
	carom_mesh *field = NULL, *edited = NULL;
	REQUIRE(carom_create_height_field(context, side, side, heights, SPACING, 2, &field) == CAROM_SUCCESS);
	const carom_field_region r = { side / 2, side / 2, 8, 8 };
	for (int i = 0; i < 64; i++)
		region_heights[i] = (float)test_random_double(&seed, 0.3, 0.6);
	REQUIRE(cr_edit_field(context, "", field, &r, region_heights, work, &edited) == CAROM_SUCCESS);
	const cr_collider *c = &field->collider;
	const int32_t nodes = c->binary.node_count + c->tree.node_count + c->sample_tree.node_count;
	carom_release_mesh(edited);
	carom_release_mesh(field);
	free(heights);
	return nodes;
}

/// What an edit works out again goes by its rectangle, not by the field.
TEST(field_edit, work_goes_by_the_rectangle)
{
	carom_context *context = fixture_context(1);
	cr_field_work small, large;
	const int32_t of_small = count_work(context, 32, &small), of_large = count_work(context, 160, &large);
	CHECK_INT(small.vertices, 64);
	// At two corners of the rectangle half a cell has no corner in it.
	CHECK_INT(small.triangles, 2 * 9 * 9 - 2);
	CHECK_INT(small.normals, 10 * 10 - 2);
	CHECK(small.surroundings >= small.triangles && small.surroundings <= 2 * 13 * 13);
	CHECK_INT(large.vertices, small.vertices);
	CHECK_INT(large.triangles, small.triangles);
	CHECK_INT(large.normals, small.normals);
	CHECK_INT(large.surroundings, small.surroundings);
	CHECK(of_large > 10 * of_small);
	// Trees that are deeper by some levels, and leaves that are cut otherwise.
	CHECK(small.nodes > 0 && large.nodes > 0 && large.nodes < 2 * small.nodes && large.nodes < of_large / 50);
	carom_destroy_context(context);
}

// ---- In place ----

/// A world with a body that alone holds the field of a model.
typedef struct plot {
	carom_world *world;
	carom_body_id id;
} plot;

static plot open_plot(model *m, carom_context *context)
{
	plot g = { fixture_world(context, NULL), { 0, 0 } };
	g.id = fixture_add(g.world, fixture_of_mesh(m->mesh), carom_pose_identity(), CAROM_STATIC);
	carom_release_mesh(m->mesh);
	return g;
}

static carom_mesh *field_of(const plot *g) { return g->world->bodies.data[g->id.index1 - 1].shape.mesh; }

/// Change a rectangle of the model and of the ground; share as of edit.
static carom_result dig(model *m, const plot *g, const carom_field_region *r, int share, uint64_t *seed)
{
	const float times = share < 0 ? 3 : 1;
	static float heights[MAX_SAMPLES];
	for (int32_t i = 0; i < r->columns * r->rows; i++) {
		heights[i] = (int)(test_random(seed) % 100) < share ? NAN : times * random_height(seed);
		m->heights[(r->first_row + i / r->columns) * m->columns + r->first_column + i % r->columns] = heights[i];
	}
	const carom_result result = carom_world_edit_field(g->world, g->id, r, heights);
	m->mesh = field_of(g);
	return result;
}

/// A rectangle of up to 6 samples a side.
static carom_field_region small_region(const model *m, uint64_t *seed)
{
	carom_field_region r = random_region(m, seed);
	r.columns = r.columns > 6 ? 6 : r.columns;
	r.rows = r.rows > 6 ? 6 : r.rows;
	return r;
}

TEST(field_edit, in_place_is_the_field_made_whole)
{
	static model m;
	uint64_t seed = 31;
	carom_context *context = fixture_context(1);
	int alike = 0, stayed = 0;
	for (int round = 0; round < 8 / TEST_FEWER && test_failures() == 0; round++) {
		open_model(&m, context, round % 2 ? 41 : 33, round % 3 ? 41 : 25, &seed);
		const plot g = open_plot(&m, context);
		for (int k = 0; k < 30 && test_failures() == 0; k++) {
			const carom_mesh *before = field_of(&g);
			const carom_field_region r = k % 7 == 6 ? random_region(&m, &seed) : small_region(&m, &seed);
			CHECK_INT(dig(&m, &g, &r, k == 11 ? -1 : k == 20 || k == 21 ? 10 : 0, &seed), CAROM_SUCCESS);
			stayed += field_of(&g) == before;
			alike += check_whole(context, &m);
		}
		carom_destroy_world(g.world);
	}
	CHECK(alike > 20 / TEST_FEWER);
	CHECK(stayed > 100 / TEST_FEWER);
	carom_destroy_context(context);
}

/// Terraces and shallow waves, where facets of many triangles come and go.
TEST(field_edit, in_place_where_facets_have_many_triangles)
{
	static model m;
	uint64_t seed = 32;
	carom_context *context = fixture_context(1);
	int thin = 0;
	for (int round = 0; round < 6 / TEST_FEWER && test_failures() == 0; round++) {
		m = (model){ .columns = 41, .rows = 41 };
		for (int i = 0; i < 41 * 41; i++)
			m.heights[i] = round % 2 ? (float)(i % 41 / 3 + i / 41 / 2) / 8 : 1e-4f * (float)(test_random(&seed) % 8);
		m.heights[0] = 12;
		m.mesh = make_whole(context, &m);
		const plot g = open_plot(&m, context);
		for (int k = 0; k < 25 && test_failures() == 0; k++) {
			static float heights[36];
			const carom_field_region r = small_region(&m, &seed);
			if (r.first_column < 1 && r.first_row < 1)
				continue;
			for (int32_t i = 0; i < r.columns * r.rows; i++) {
				heights[i] = (float)(1 + test_random(&seed) % 4) * (k % 3 ? 1e-4f : 0.25f);
				m.heights[(r.first_row + i / r.columns) * 41 + r.first_column + i % r.columns] = heights[i];
			}
			CHECK_INT(carom_world_edit_field(g.world, g.id, &r, heights), CAROM_SUCCESS);
			m.mesh = field_of(&g);
			thin += m.mesh->facets.thin && m.mesh->facets.count > 0;
			check_whole(context, &m);
		}
		carom_destroy_world(g.world);
	}
	CHECK(thin > 20 / TEST_FEWER);
	carom_destroy_context(context);
}

/// Whoever else holds the field keeps it as it was.
TEST(field_edit, a_field_that_others_hold_is_copied)
{
	static model m;
	uint64_t seed = 33;
	carom_context *context = fixture_context(1);
	open_model(&m, context, 30, 30, &seed);
	carom_mesh *const held = carom_retain_mesh(m.mesh);
	static model before;
	before = m;
	const plot g = open_plot(&m, context);
	const carom_field_region r = { 10, 12, 5, 4 };
	CHECK_INT(dig(&m, &g, &r, 0, &seed), CAROM_SUCCESS);
	CHECK(field_of(&g) != held);
	check_whole(context, &m);
	before.mesh = held;
	check_whole(context, &before);
	carom_release_mesh(held);
	// A copy is changed in place then, until a snapshot holds it.
	const carom_mesh *own = field_of(&g);
	CHECK_INT(dig(&m, &g, &r, 0, &seed), CAROM_SUCCESS);
	CHECK(field_of(&g) == own);
	check_whole(context, &m);
	carom_snapshot *snapshot = NULL;
	REQUIRE(carom_create_snapshot(g.world, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(g.world, snapshot) == CAROM_SUCCESS);
	before = m;
	CHECK_INT(dig(&m, &g, &r, 0, &seed), CAROM_SUCCESS);
	CHECK(field_of(&g) != own);
	check_whole(context, &m);
	REQUIRE(carom_world_restore(g.world, snapshot) == CAROM_SUCCESS);
	before.mesh = field_of(&g);
	check_whole(context, &before);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(g.world);
	carom_destroy_context(context);
}

/// Bodies rest on the ground, asleep. A world whose ground is dug in place has the results of one
/// that gets an edited field, whatever the number of threads.
TEST(field_edit, in_place_has_the_results_of_another_shape)
{
	static model m;
	carom_context *context[2] = { fixture_context(1), fixture_context(4) };
	carom_world *world[2];
	carom_body_id id = { 0, 0 };
	for (int w = 0; w < 2; w++) {
		uint64_t seed = 34;
		open_model(&m, context[w], 40, 40, &seed);
		world[w] = fixture_world(context[w], NULL);
		id = fixture_add(world[w], fixture_of_mesh(m.mesh), carom_pose_identity(), CAROM_STATIC);
		if (w == 0)
			carom_release_mesh(m.mesh);
		carom_mesh *ball = fixture_torus_mesh(context[w], 14, 8, 0.4, 0.1);
		for (int i = 0; i < 60; i++)
			fixture_add(world[w], i % 2 ? fixture_of_mesh(ball) : fixture_box(0.4, 0.5, 0.6),
				fixture_at(1 + 2 * (i % 8), 1 + 3 * (i / 8), 2.2), CAROM_DYNAMIC);
		carom_release_mesh(ball);
	}
	uint64_t seed = 35;
	int in_place = 0;
	for (int step = 0; step < 12 && test_failures() == 0; step++) {
		float heights[36];
		const carom_field_region r = small_region(&m, &seed);
		for (int i = 0; i < 36; i++)
			heights[i] = step == 7 && i == 3 ? NAN : random_height(&seed);
		const plot g = { world[0], id };
		const carom_mesh *before = field_of(&g);
		CHECK_INT(carom_world_edit_field(world[0], id, &r, heights), CAROM_SUCCESS);
		in_place += field_of(&g) == before;
		carom_mesh *edited = NULL;
		REQUIRE(carom_create_edited_field(context[1], m.mesh, &r, heights, &edited) == CAROM_SUCCESS);
		const carom_shape shape = fixture_of_mesh(edited);
		REQUIRE(carom_world_set_shape(world[1], id, &shape) == CAROM_SUCCESS);
		carom_release_mesh(m.mesh);
		m.mesh = edited;
		fixture_step(world[0]);
		fixture_step(world[1]);
		CHECK(carom_world_contacts(world[0]).count > 60);
		CHECK(carom_world_hash(world[0]) == carom_world_hash(world[1]));
	}
	CHECK(in_place > 8);
	carom_release_mesh(m.mesh);
	for (int w = 0; w < 2; w++) {
		carom_destroy_world(world[w]);
		carom_destroy_context(context[w]);
	}
}

/// A failed edit leaves the field as it was, however far it had come.
TEST(field_edit, allocation_failure_in_place)
{
	static model m, before;
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const carom_field_region regions[3] = { { 14, 15, 4, 4 }, { 20, 30, 3, 5 }, { 0, 0, 2, 2 } };
	for (int k = 0; k < 3 && test_failures() == 0; k++) {
		uint64_t seed = 14;
		int failed = 0; // this call
		open_model(&m, context, 34, 41, &seed);
		const plot g = open_plot(&m, context);
		const carom_mesh *own = field_of(&g);
		before = m;
		before.mesh = field_of(&g);
		for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS; failed += TEST_STRIDE) {
			uint64_t again = 15;
			m = before;
			heap.fail_at = heap.calls + failed;
			result = dig(&m, &g, &regions[k], k == 1 ? -1 : 0, &again);
			heap.fail_at = -1;
			CHECK(field_of(&g) == own);
			check_whole(context, result == CAROM_SUCCESS ? &m : &before);
			if (result != CAROM_SUCCESS)
				CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			REQUIRE(failed < 1000 && test_failures() == 0);
		}
		CHECK(failed > 10);
		carom_destroy_world(g.world);
	}
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(field_edit, misuse_in_place)
{
	static model m;
	uint64_t seed = 36;
	carom_context *context = fixture_context(1);
	open_model(&m, context, 10, 6, &seed);
	const plot g = open_plot(&m, context);
	m.mesh = field_of(&g);
	const carom_body_id box = fixture_add(g.world, fixture_box(1, 1, 1), fixture_at(0, 0, 9), CAROM_DYNAMIC);
	const carom_field_region one = { 9, 5, 1, 1 }, none = { 2, 2, 0, 1 };
	const float height = 1, infinite = INFINITY;
	fixture_expect_wrong(
		context, carom_world_edit_field(g.world, box, &one, &height), "the shape of the body is no height field");
	fixture_expect_wrong(
		context, carom_world_edit_field(g.world, g.id, NULL, &height), "carom_world_edit_field: region is NULL");
	fixture_expect_wrong(context, carom_world_edit_field(g.world, g.id, &one, NULL), "heights is NULL");
	fixture_expect_wrong(context, carom_world_edit_field(g.world, g.id, &none, &height), "region.columns is 0");
	fixture_expect_wrong(context, carom_world_edit_field(g.world, g.id, &one, &infinite), "heights[0] is inf");
	CHECK_INT(carom_world_edit_field(g.world, (carom_body_id){ 9, 1 }, &one, &height), CAROM_INVALID_BODY);
	const carom_field_region all = { 0, 0, 10, 6 };
	float nothing[60];
	for (int i = 0; i < 60; i++)
		nothing[i] = NAN;
	fixture_expect_wrong(
		context, carom_world_edit_field(g.world, g.id, &all, nothing), "carom_world_edit_field: heights leaves only holes");
	check_whole(context, &m);
	carom_destroy_world(g.world);
	carom_destroy_context(context);
}

// ---- Queries and worlds ----

TEST(field_edit, rays_points_and_contacts)
{
	static model m;
	uint64_t seed = 9;
	carom_context *context = fixture_context(1);
	open_model(&m, context, 30, 30, &seed);
	carom_mesh *ball = fixture_torus_mesh(context, 14, 8, 0.4, 0.1);
	for (int k = 0; k < 5 && test_failures() == 0; k++) {
		const carom_field_region r = random_region(&m, &seed), middle = { 8, 8, 14, 14 };
		edit(&m, context, k % 2 ? &middle : &r, k % 2 ? 8 : 0, &seed);
		carom_mesh *whole = make_whole(context, &m);
		const carom_mesh *meshes[2] = { m.mesh, whole };
		for (int i = 0; i < 200; i++) {
			const carom_ray ray = { .origin = { test_random_double(&seed, 0, 15), test_random_double(&seed, 0, 22),
										test_random_double(&seed, -9, 9) },
				.direction = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
					test_random_double(&seed, -1, 1) },
				.t_max = 100 };
			bool found[2];
			carom_ray_hit hit[2];
			carom_closest_point near[2];
			for (int j = 0; j < 2; j++) {
				const carom_shape shape = fixture_of_mesh(meshes[j]);
				REQUIRE(carom_shape_cast_ray(context, &shape, NULL, &ray, &found[j], &hit[j]) == CAROM_SUCCESS);
				bool is_near;
				REQUIRE(carom_shape_closest_point(context, &shape, NULL, ray.origin, 100, &is_near, &near[j]) == CAROM_SUCCESS);
			}
			CHECK_INT(found[0], found[1]);
			CHECK(!found[0] || (hit[0].t == hit[1].t && hit[0].triangle == hit[1].triangle));
			CHECK(near[0].distance == near[1].distance && near[0].triangle == near[1].triangle);
		}
		uint64_t hashes[2];
		for (int j = 0; j < 2; j++) {
			uint64_t again = 100 + (uint64_t)k;
			carom_world *world = fixture_world(context, NULL);
			fixture_add(world, fixture_of_mesh(meshes[j]), carom_pose_identity(), CAROM_STATIC);
			for (int i = 0; i < 40; i++) {
				carom_pose pose = fixture_random_pose(&again, 1);
				pose.position.x += 2 + 1.5 * (i % 8);
				pose.position.y += 2 + 3 * (i / 8);
				pose.position.z += 3;
				fixture_add(world, i % 2 ? fixture_of_mesh(ball) : fixture_box(0.4, 0.5, 0.6), pose, CAROM_DYNAMIC);
			}
			fixture_step(world);
			CHECK(carom_world_contacts(world).count > 40);
			hashes[j] = carom_world_hash(world);
			carom_destroy_world(world);
		}
		CHECK(hashes[0] == hashes[1]);
		carom_release_mesh(whole);
	}
	carom_release_mesh(ball);
	carom_release_mesh(m.mesh);
	carom_destroy_context(context);
}

/// A crater is dug while a world is recorded: the replay makes the edited field from its triangles.
TEST(field_edit, recordings_replay)
{
	static model m;
	uint64_t seed = 10;
	carom_context *context = fixture_context(1);
	open_model(&m, context, 20, 20, &seed);
	fixture_tape tape = { 0 };
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id ground = fixture_add(world, fixture_of_mesh(m.mesh), carom_pose_identity(), CAROM_STATIC);
	for (int i = 0; i < 20; i++)
		fixture_add(world, fixture_box(0.4, 0.5, 0.6), fixture_at(1 + 2 * (i % 4), 1 + 2 * (i / 4), 2.5), CAROM_DYNAMIC);
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	for (int step = 0; step < 4; step++) {
		const carom_field_region r = random_region(&m, &seed), middle = { 4, 4, 9, 9 };
		edit(&m, context, step % 2 ? &middle : &r, step % 2 ? 15 : 0, &seed);
		CHECK(step % 2 == 0 || m.mesh->report.degenerate_triangles > 0);
		const carom_shape shape = fixture_of_mesh(m.mesh);
		CHECK_INT(carom_world_set_shape(world, ground, &shape), CAROM_SUCCESS);
		fixture_step(world);
		fixture_step(world);
	}
	CHECK(carom_world_contacts(world).count > 20);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	CHECK(result.hash == carom_world_hash(world));
	free(tape.bytes);
	carom_destroy_world(world);
	carom_release_mesh(m.mesh);
	carom_destroy_context(context);
}

// ---- Baked fields, misuse, memory ----

TEST(field_edit, baked_fields_are_edited_too)
{
	static model m;
	uint64_t seed = 11;
	carom_context *context = fixture_context(1);
	for (int holes = 0; holes < 2; holes++) {
		open_model(&m, context, 15, 18, &seed);
		for (int k = 0; k < 4; k++) {
			const carom_field_region r = random_region(&m, &seed);
			edit(&m, context, &r, holes ? 10 : 0, &seed);
			fixture_tape tape = { 0 };
			carom_mesh *loaded = NULL;
			REQUIRE(carom_mesh_save(m.mesh, fixture_write_tape, &tape) == CAROM_SUCCESS);
			if (!CHECK_INT(carom_mesh_load(context, tape.bytes, tape.count, true, &loaded), CAROM_SUCCESS))
				CHECK_STR(carom_error_text(context), "");
			REQUIRE(loaded);
			free(tape.bytes);
			carom_release_mesh(m.mesh);
			m.mesh = loaded;
			check_whole(context, &m);
		}
		carom_release_mesh(m.mesh);
	}
	carom_destroy_context(context);
}

static void refused(
	carom_context *context, const carom_mesh *field, const carom_field_region *region, const float *heights, const char *text)
{
	carom_mesh *edited = (carom_mesh *)&context;
	CHECK_INT(carom_create_edited_field(context, field, region, heights, &edited), CAROM_INVALID_ARGUMENT);
	CHECK(edited == NULL);
	if (!CHECK(strstr(carom_error_text(context), text) != NULL))
		CHECK_STR(carom_error_text(context), text);
}

TEST(field_edit, misuse)
{
	static model m;
	uint64_t seed = 12;
	carom_context *context = fixture_context(1);
	open_model(&m, context, 10, 6, &seed);
	carom_mesh *box = fixture_box_mesh(context, 1, 1, 1);
	const carom_field_region all = { 0, 0, 10, 6 }, one = { 9, 5, 1, 1 };
	float heights[60] = { 0 };
	CHECK_INT(carom_create_edited_field(NULL, m.mesh, &one, heights, &box), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_create_edited_field(context, m.mesh, &one, heights, NULL), CAROM_INVALID_ARGUMENT);
	refused(context, NULL, &one, heights, "carom_create_edited_field: field is NULL");
	refused(context, box, &one, heights, "field is no height field");
	refused(context, m.mesh, NULL, heights, "region is NULL");
	refused(context, m.mesh, &one, NULL, "heights is NULL");
	refused(context, m.mesh, &(carom_field_region){ -1, 0, 1, 1 }, heights, "first_column is -1; the field has columns 0 to 9");
	refused(context, m.mesh, &(carom_field_region){ 10, 0, 1, 1 }, heights, "first_column is 10; the field has columns 0 to 9");
	refused(context, m.mesh, &(carom_field_region){ 0, 6, 1, 1 }, heights, "first_row is 6; the field has rows 0 to 5");
	refused(context, m.mesh, &(carom_field_region){ 0, 0, 0, 1 }, heights, "region.columns is 0");
	refused(context, m.mesh, &(carom_field_region){ 4, 0, 7, 1 }, heights,
		"region.columns is 7; from first_column 4 on there are 6");
	refused(context, m.mesh, &(carom_field_region){ 0, 5, 1, INT32_MAX }, heights, "region.rows is 2147483647");
	heights[7] = -INFINITY;
	refused(context, m.mesh, &all, heights, "heights[7] is -inf");
	heights[7] = -8;
	refused(context, m.mesh, &all, heights, "heights[7] is -8; the bottom of the field is at -8");
	for (int i = 0; i < 60; i++)
		heights[i] = NAN;
	refused(context, m.mesh, &all, heights, "leaves only holes");
	check_whole(context, &m);
	// One cell has ground, all others are holes. An edit of a single sample that takes it, too, is refused, and the field stays.
	const float corner[4] = { 1, 2, 3, 4 };
	for (int i = 0; i < 4; i++)
		heights[i / 2 * 10 + i % 2] = m.heights[i / 2 * 10 + i % 2] = corner[i];
	for (int i = 0; i < 60; i++)
		m.heights[i] = heights[i];
	carom_mesh *cell = NULL;
	REQUIRE(carom_create_edited_field(context, m.mesh, &all, heights, &cell) == CAROM_SUCCESS);
	carom_release_mesh(m.mesh);
	m.mesh = cell;
	check_whole(context, &m);
	const float hole = NAN, infinite = INFINITY;
	refused(context, m.mesh, &(carom_field_region){ 1, 1, 1, 1 }, &hole,
		"carom_create_edited_field: heights leaves only holes: each cell has a corner that is NaN");
	// What would close a hole is checked like any height.
	refused(context, m.mesh, &one, &infinite, "heights[0] is inf");
	refused(context, m.mesh, &one, &(float){ -8 }, "heights[0] is -8; the bottom of the field is at -8");
	check_whole(context, &m);
	carom_release_mesh(box);
	carom_release_mesh(m.mesh);
	carom_destroy_context(context);
}

/// Heights that are those already there change nothing.
TEST(field_edit, nothing_changes)
{
	static model m;
	uint64_t seed = 13;
	carom_context *context = fixture_context(1);
	open_model(&m, context, 10, 6, &seed);
	const carom_field_region all = { 0, 0, 10, 6 };
	carom_mesh *edited = NULL;
	REQUIRE(carom_create_edited_field(context, m.mesh, &all, m.heights, &edited) == CAROM_SUCCESS);
	carom_release_mesh(m.mesh);
	m.mesh = edited;
	CHECK(check_whole(context, &m));
	carom_release_mesh(m.mesh);
	carom_destroy_context(context);
}

TEST(field_edit, allocation_failure)
{
	static model m;
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const float hole = NAN, inside = 1.5F, peak = 40;
	const float *heights[3] = { &inside, &peak, &hole };
	for (int k = 0; k < 3; k++) {
		uint64_t seed = 14;
		open_model(&m, context, 12, 12, &seed);
		const long long bytes = atomic_load(&heap.bytes), blocks = atomic_load(&heap.blocks);
		const carom_field_region r = { 5, 6, 1, 1 };
		int failed = 0;
		carom_mesh *edited = NULL;
		for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS; failed++) {
			heap.fail_at = heap.calls + failed;
			result = carom_create_edited_field(context, m.mesh, &r, heights[k], &edited);
			heap.fail_at = -1;
			if (result == CAROM_SUCCESS)
				break;
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK(edited == NULL && strstr(carom_error_text(context), "memory") != NULL);
			CHECK_INT(heap.bytes, bytes);
			CHECK_INT(heap.blocks, blocks);
			REQUIRE(failed < 1000);
		}
		CHECK(failed > 10);
		carom_tree_info info;
		CHECK_INT(carom_mesh_get_tree_info(edited, false, &info), CAROM_SUCCESS);
		CHECK_INT((long long)info.bytes, heap.bytes - bytes);
		carom_release_mesh(edited);
		carom_release_mesh(m.mesh);
	}
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
