/// Crossing triangles of deforming bodies in a world (carom_world_find_crossings), beside all pairs of triangles.
#include "fixture.h"
#include "geom/triangle.h"
#include "test.h"
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

enum { BODIES = 5, MOST_CROSSINGS = 40000 };

/// Two sheets and a solid that deform, a rigid ring, and a rigid body of two meshes.
typedef struct crossing_scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *meshes[BODIES];
	carom_body_id ids[BODIES];
	carom_pose poses[BODIES]; // of rigid ones
	carom_part parts[2];
	carom_crossing *found, *expected; // [MOST_CROSSINGS]
	int32_t found_count, expected_count;
} crossing_scene;

static const carom_body_kind KINDS[BODIES] = { CAROM_CLOTH, CAROM_DYNAMIC, CAROM_CLOTH, CAROM_DEFORMABLE, CAROM_STATIC };

static bool deforms(int i) { return KINDS[i] == CAROM_CLOTH || KINDS[i] == CAROM_DEFORMABLE; }

static void set_random_places(crossing_scene *s, int body, uint64_t *random, bool on_grid)
{
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(s->world, s->ids[body], &view) == CAROM_SUCCESS);
	double *places = malloc(3 * (size_t)view.count * sizeof *places);
	const double shake = on_grid ? 0 : 0.2;
	for (int32_t i = 0; i < 3 * view.count; i++) {
		places[i] = view.data[i] + test_random_double(random, -shake, shake);
		if (on_grid)
			places[i] = 0.25 * (double)(int)(4 * places[i]);
	}
	const carom_strided end = { places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->ids[body], NULL, &end) == CAROM_SUCCESS);
	free(places);
}

static void open_scene(crossing_scene *s, uint64_t seed, bool on_grid)
{
	uint64_t random = seed;
	*s = (crossing_scene){ .context = fixture_context(2) };
	s->world = fixture_world(s->context, NULL);
	s->meshes[0] = fixture_sheet_mesh(s->context, 9, 2);
	s->meshes[1] = fixture_torus_mesh(s->context, 12, 8, 0.3, 0.1);
	s->meshes[2] = fixture_sheet_mesh(s->context, 7, 1.7);
	s->meshes[3] = fixture_torus_mesh(s->context, 10, 6, 0.4, 0);
	s->meshes[4] = fixture_box_mesh(s->context, 0.4, 0.3, 0.2);
	for (int i = 0; i < BODIES; i++) {
		s->poses[i] = on_grid ? fixture_at(0, 0, 0) : fixture_random_pose(&random, 0.4);
		carom_body_def def = carom_default_body_def();
		def.kind = KINDS[i];
		def.shape = fixture_of_mesh(s->meshes[i]);
		def.pose = s->poses[i];
		def.user_data = 100 + (uint64_t)i;
		s->parts[0] = (carom_part){ .shape = fixture_sphere(0.3), .pose = fixture_at(0, 0, 0) };
		s->parts[1] = (carom_part){ .shape = def.shape, .pose = fixture_at(0.2, 0.1, 0) };
		if (i == 4) {
			def.shape = (carom_shape){ 0 };
			def.parts = s->parts;
			def.part_count = 2;
		}
		REQUIRE(carom_world_add_body(s->world, &def, &s->ids[i]) == CAROM_SUCCESS);
	}
	for (int i = 0; i < BODIES; i++) {
		if (deforms(i))
			set_random_places(s, i, &random, on_grid);
	}
	s->found = calloc(MOST_CROSSINGS, sizeof *s->found);
	s->expected = calloc(MOST_CROSSINGS, sizeof *s->expected);
}

static void close_scene(crossing_scene *s)
{
	carom_destroy_world(s->world);
	for (int i = 0; i < BODIES; i++)
		carom_release_mesh(s->meshes[i]);
	carom_destroy_context(s->context);
	free(s->found);
	free(s->expected);
}

// ---- All pairs ----

static void corners_of(const crossing_scene *s, int body, int32_t triangle, v3d corners[3])
{
	const cr_topology *t = &s->meshes[body]->topology;
	const carom_pose pose = body == 4 ? fixture_compose(s->poses[4], s->parts[1].pose) : s->poses[body];
	const m3d rotation = m3d_from_quat(pose.orientation);
	carom_vertex_view view = { 0 };
	if (deforms(body))
		REQUIRE(carom_world_get_vertices(s->world, s->ids[body], &view) == CAROM_SUCCESS);
	for (int k = 0; k < 3; k++) {
		const int32_t v = t->triangles[3 * triangle + k];
		corners[k] = deforms(body) ? v3d_from_doubles(view.data + 3 * v)
								   : v3d_add(m3d_mul(&rotation, v3d_from_floats(t->vertices + 3 * v)), pose.position);
	}
}

static bool share_vertex(const cr_topology *t, int32_t a, int32_t b)
{
	for (int i = 0; i < 9; i++) {
		if (t->triangles[3 * a + i / 3] == t->triangles[3 * b + i % 3])
			return true;
	}
	return false;
}

static void expect_pairs(crossing_scene *s, int a, int b)
{
	for (int32_t i = 0; i < s->meshes[a]->topology.triangle_count; i++) {
		v3d p[3], q[3];
		corners_of(s, a, i, p);
		for (int32_t k = a == b ? i + 1 : 0; k < s->meshes[b]->topology.triangle_count; k++) {
			corners_of(s, b, k, q);
			if ((a == b && share_vertex(&s->meshes[a]->topology, i, k)) || !cr_triangles_intersect(p, q))
				continue;
			REQUIRE(s->expected_count < MOST_CROSSINGS);
			s->expected[s->expected_count++] = (carom_crossing){ .body_a = s->ids[a],
				.body_b = s->ids[b],
				.shape_b = b == 4,
				.triangle_a = i,
				.triangle_b = k,
				.user_data_a = 100 + (uint64_t)a,
				.user_data_b = 100 + (uint64_t)b };
		}
	}
}

/// ask: of one body; -1: of all.
static void expect_all(crossing_scene *s, int ask)
{
	s->expected_count = 0;
	for (int a = 0; a < BODIES; a++) {
		if (!deforms(a) || (ask >= 0 && a != ask))
			continue;
		for (int b = 0; b < BODIES; b++) {
			if (ask >= 0 || b >= a || !deforms(b))
				expect_pairs(s, a, b);
		}
	}
}

static bool is_same(const carom_crossing *a, const carom_crossing *b)
{
	return fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b) && a->shape_a == b->shape_a &&
		a->shape_b == b->shape_b && a->triangle_a == b->triangle_a && a->triangle_b == b->triangle_b &&
		a->user_data_a == b->user_data_a && a->user_data_b == b->user_data_b;
}

static void check_same(const crossing_scene *s)
{
	CHECK_INT(s->found_count, s->expected_count);
	for (int32_t i = 0; i < s->expected_count && i < s->found_count; i++)
		REQUIRE(is_same(&s->found[i], &s->expected[i]));
}

static void find(crossing_scene *s, int ask, const carom_query_filter *filter)
{
	const carom_body_id id = ask < 0 ? (carom_body_id){ 0 } : s->ids[ask];
	REQUIRE(carom_world_find_crossings(s->world, id, filter, MOST_CROSSINGS, s->found, &s->found_count) == CAROM_SUCCESS);
}

TEST(body_crossings, against_all_pairs_of_triangles)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		crossing_scene s;
		open_scene(&s, seed, seed == 4); // the last one: in common planes, and triangles without area
		int32_t total = 0;
		for (int ask = -1; ask < BODIES; ask++) {
			if (ask >= 0 && !deforms(ask))
				continue;
			expect_all(&s, ask);
			find(&s, ask, NULL);
			check_same(&s);
			total += s.found_count;
		}
		CHECK(total > 500);
		// A step changes nothing.
		fixture_step(s.world);
		find(&s, 2, NULL);
		expect_all(&s, 2);
		check_same(&s);
		close_scene(&s);
	}
}

TEST(body_crossings, filters_and_capacity)
{
	crossing_scene s;
	open_scene(&s, 9, false);
	find(&s, 0, NULL);
	const int32_t all = s.found_count;
	const carom_crossing last = s.found[all - 1];
	int32_t count = 0;
	memset(s.found, 0, (size_t)all * sizeof *s.found);
	REQUIRE(carom_world_find_crossings(s.world, s.ids[0], NULL, all - 1, s.found, &count) == CAROM_SUCCESS);
	CHECK_INT(count, all);
	CHECK_INT(s.found[all - 1].body_a.index1, 0);
	REQUIRE(carom_world_find_crossings(s.world, s.ids[0], NULL, 0, NULL, &count) == CAROM_SUCCESS);
	CHECK_INT(count, all);
	// Without itself, and without the last body met.
	carom_query_filter filter = carom_default_query_filter();
	filter.ignore = s.ids[0];
	find(&s, 0, &filter);
	for (int32_t i = 0; i < s.found_count; i++)
		CHECK(!fixture_same_id(s.found[i].body_b, s.ids[0]));
	CHECK(s.found_count > 0 && s.found_count < all);
	filter.ignore = last.body_b;
	find(&s, 0, &filter);
	for (int32_t i = 0; i < s.found_count; i++)
		CHECK(!fixture_same_id(s.found[i].body_b, last.body_b));
	CHECK(s.found_count < all);
	// Bodies that filters keep apart do not cross.
	REQUIRE(carom_world_set_filter(s.world, s.ids[0], 1, UINT64_MAX, -7) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_filter(s.world, s.ids[2], 1, UINT64_MAX, -7) == CAROM_SUCCESS);
	find(&s, 0, NULL);
	for (int32_t i = 0; i < s.found_count; i++)
		CHECK(!fixture_same_id(s.found[i].body_b, s.ids[2]));
	close_scene(&s);
}

TEST(body_crossings, none_where_nothing_crosses)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	int32_t count = -1;
	CHECK_INT(carom_world_find_crossings(world, (carom_body_id){ 0 }, NULL, 0, NULL, &count), CAROM_SUCCESS);
	CHECK_INT(count, 0);
	carom_mesh *sheet = fixture_sheet_mesh(context, 6, 1);
	fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 0), CAROM_CLOTH);
	const carom_body_id second = fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 1e-9), CAROM_CLOTH);
	CHECK_INT(carom_world_find_crossings(world, (carom_body_id){ 0 }, NULL, 0, NULL, &count), CAROM_SUCCESS);
	CHECK_INT(count, 0);
	CHECK_INT(carom_world_find_crossings(world, second, NULL, 0, NULL, &count), CAROM_SUCCESS);
	CHECK_INT(count, 0);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

TEST(body_crossings, misuse)
{
	crossing_scene s;
	open_scene(&s, 3, false);
	int32_t count = 7;
	CHECK_INT(carom_world_find_crossings(NULL, s.ids[0], NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(s.context, carom_world_find_crossings(s.world, s.ids[0], NULL, 0, NULL, NULL), "count is NULL");
	fixture_expect_wrong(s.context, carom_world_find_crossings(s.world, s.ids[0], NULL, 3, NULL, &count), "crossings is NULL");
	fixture_expect_wrong(s.context, carom_world_find_crossings(s.world, s.ids[0], NULL, -1, s.found, &count), "capacity is -1");
	fixture_expect_wrong(s.context, carom_world_find_crossings(s.world, s.ids[1], NULL, 0, NULL, &count), "does not deform");
	const carom_body_id gone = { 99, 1 };
	fixture_expect_error(
		s.context, carom_world_find_crossings(s.world, gone, NULL, 0, NULL, &count), CAROM_INVALID_BODY, "find_crossings");
	close_scene(&s);
}

TEST(body_crossings, out_of_memory_fails_the_call_alone)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 6, 1), *torus = fixture_torus_mesh(context, 8, 6, 0.4, 0.3);
	fixture_add(world, fixture_of_mesh(sheet), fixture_at(0.1, 0, 0.01), CAROM_CLOTH);
	fixture_add(world, fixture_of_mesh(torus), fixture_at(0.8, 0.3, 0), CAROM_DYNAMIC);
	int32_t expected = 0, failures = 0;
	REQUIRE(carom_world_find_crossings(world, (carom_body_id){ 0 }, NULL, 0, NULL, &expected) == CAROM_SUCCESS);
	CHECK(expected > 5);
	for (bool failed = true; failed; failures += failed) {
		int32_t count = -1;
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failures);
		const carom_result result = carom_world_find_crossings(world, (carom_body_id){ 0 }, NULL, 0, NULL, &count);
		atomic_store(&heap.fail_at, -1);
		failed = result != CAROM_SUCCESS;
		CHECK_INT(count, failed ? 0 : expected);
		CHECK(!failed || result == CAROM_OUT_OF_MEMORY);
	}
	CHECK(failures > 5);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}
