// Impacts of deforming meshes against trying every pair of features, steps and their meaning, misuse, memory.
#include "fixture.h"
#include "sweep_fixture.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A triangle in the plane z = 0 and one that comes down to it, corner first.
static void make_dart(sweep_world *world)
{
	const double target[9] = { -1, -1, 0, 3, -1, 0, -1, 3, 0 }, dart[9] = { 0, 0, 1, 0.5, 0, 3, 0, 0.5, 3 };
	for (int m = 0; m < 2; m++) {
		sweep_mesh *mesh = sweep_add_fan(world, 3);
		mesh->triangle_count = 2;
		mesh->vertex_count = 3;
		// A triangle with a repeated corner first: the caller's numbers count it.
		const int32_t triangles[6] = { 0, 0, 1, 0, 1, 2 };
		memcpy(mesh->triangles, triangles, sizeof triangles);
		memcpy(mesh->begin, m ? dart : target, sizeof dart);
		memcpy(mesh->end, m ? dart : target, sizeof dart);
		for (int i = 0; i < 3 && m; i++)
			mesh->end[3 * i + 2] -= 2;
	}
}

TEST(sweep, vertex_meets_face)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	make_dart(&world);
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	sweep_tell(sweep, &world);
	carom_sweep_hits hits;
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	REQUIRE(CHECK_INT(hits.count, 1));
	const carom_sweep_hit *hit = hits.data;
	CHECK_INT(hit->kind, CAROM_SWEEP_VERTEX_FACE);
	CHECK_INT(hit->status, CAROM_SWEEP_IMPACT);
	CHECK_INT(hit->mesh_a, 1);
	CHECK_INT(hit->mesh_b, 0);
	CHECK_INT(hit->vertices[0], 0);
	CHECK_INT(hit->vertices[3], 2);
	CHECK_INT(hit->triangle, 1);
	CHECK_NEAR(hit->time, 0.5, 1e-6);
	CHECK(hit->time <= 0.5);
	const double weight[4] = { 1, 0.5, 0.25, 0.25 };
	for (int k = 0; k < 4; k++)
		CHECK_NEAR(hit->weight[k], weight[k], 1e-6);
	CHECK_NEAR(hit->normal[2], 1, 1e-6);
	const carom_sweep_stats stats = carom_sweep_get_stats(sweep);
	CHECK_INT(stats.triangles, 2);
	CHECK_INT(stats.hits_vf, 1);
	CHECK_INT(stats.hits_ee, 0);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

/// Impacts of a vertex that is distance from a corner of a face, which is a line or not; all normals must be unit.
static int64_t find_tiny_impacts(double distance, bool is_line)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_mesh *mesh = sweep_add_fan(&world, 3);
	const double begin[18] = { 0, -3, -3, distance, -3, -3, -2, -2, -2, -2, -2, is_line ? -2 : -1, 9, 9, 9, 9, 8, 9 };
	const int32_t triangles[6] = { 0, 4, 5, 1, 2, 3 };
	mesh->vertex_count = 6;
	mesh->triangle_count = 2;
	mesh->triangles = realloc(mesh->triangles, sizeof triangles);
	mesh->begin = realloc(mesh->begin, sizeof begin);
	mesh->end = realloc(mesh->end, sizeof begin);
	REQUIRE(mesh->triangles && mesh->begin && mesh->end);
	memcpy(mesh->triangles, triangles, sizeof triangles);
	memcpy(mesh->begin, begin, sizeof begin);
	memcpy(mesh->end, begin, sizeof begin);
	mesh->end[0] = -3;
	mesh->end[3 * 3 + 1] = -3;
	mesh->end[3 * 3 + 2] = -1;
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	sweep_tell(sweep, &world);
	carom_sweep_hits hits;
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	for (int64_t i = 0; i < hits.count; i++) {
		const double *n = hits.data[i].normal;
		CHECK_NEAR(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1, 1e-14);
	}
	const int64_t count = hits.count;
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
	return count;
}

TEST(sweep, normals_of_tiny_distances_are_unit)
{
	static const double distances[8] = { 0, 0x1p-1074, 1e-320, 1e-310, 1e-200, 1e-160, 1e-30, 1e-7 };
	for (int i = 0; i < 8; i++) {
		CHECK(find_tiny_impacts(distances[i], false) > 0);
		CHECK(find_tiny_impacts(distances[i], true) > 0);
	}
}

/// A random world of one to four meshes near each other.
static void make_world(sweep_world *world, uint64_t *random)
{
	const int count = 1 + (int)(test_random(random) % 4);
	for (int i = 0; i < count; i++) {
		sweep_mesh *mesh = sweep_add_random(world, random);
		mesh->self = test_random(random) % 4 != 0;
		mesh->is_rigid = test_random(random) % 5 == 0;
		if (test_random(random) % 3 == 0) {
			mesh->category = 1 + test_random(random) % 3;
			mesh->mask = test_random(random) % 4;
			mesh->group = (int32_t)(test_random(random) % 3) - 1;
		}
		sweep_shift(mesh, test_random_double(random, -1, 1), test_random_double(random, -1, 1), 0.25 * i);
	}
}

static carom_sweep_def random_def(uint64_t *random)
{
	carom_sweep_def def = carom_default_sweep_def();
	def.method = (carom_sweep_method)(test_random(random) % 5);
	def.volume = (carom_sweep_volume)(test_random(random) % 2);
	def.build = (carom_sweep_build)(test_random(random) % 2);
	def.orphan_sets = test_random(random) % 3 != 0;
	def.prune_front = test_random(random) % 2;
	if (test_random(random) % 3 == 0)
		def.min_separation = 0.05;
	return def;
}

TEST(sweep, equals_trying_every_pair)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t random = 1;
	int64_t total = 0;
	for (int round = 0; round < 60 / TEST_FEWER && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		make_world(&world, &random);
		const carom_sweep_def def = random_def(&random);
		carom_sweep *sweep = sweep_load(context, &def, &world);
		for (int step = 0; step < 4; step++) {
			sweep_move(&world, 0.2, step % 2 ? 0.3 : 0.05, &random);
			sweep_tell(sweep, &world);
			carom_sweep_hits hits;
			REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
			sweep_list expected = sweep_find_dully(&world, &def);
			char what[64];
			snprintf(what, sizeof what, "round %d, step %d", round, step);
			sweep_check_same(hits.data, hits.count, &expected, what);
			total += expected.count;
			sweep_free_list(&expected);
		}
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK(total > 10000 / TEST_FEWER);
	carom_destroy_context(context);
}

/// The impact of one pair of features of a mesh by itself, in the numbers of the mesh.
static bool test_alone(carom_context *context, const carom_sweep_def *def, const sweep_mesh *mesh, carom_sweep_kind kind,
	const int32_t vertices[4], carom_sweep_hit *hit)
{
	double begin[4][3], end[4][3];
	bool found;
	for (int k = 0; k < 4; k++) {
		memcpy(begin[k], mesh->begin + 3 * vertices[k], sizeof begin[k]);
		memcpy(end[k], mesh->end + 3 * vertices[k], sizeof end[k]);
	}
	REQUIRE(carom_sweep_test_pair(context, def, kind, (const double(*)[3])begin, (const double(*)[3])end, &found, hit) ==
		CAROM_SUCCESS);
	if (found) {
		CHECK(hit->mesh_a == 0 && hit->mesh_b == 0 && hit->kind == kind);
		CHECK(hit->vertices[0] == 0 && hit->vertices[1] == 1 && hit->vertices[2] == 2 && hit->vertices[3] == 3);
		CHECK_INT(hit->triangle, kind == CAROM_SWEEP_VERTEX_FACE ? 0 : -1);
		memcpy(hit->vertices, vertices, sizeof hit->vertices);
	}
	return found;
}

/// Every vertex against every face by itself; returns how many impacts there are.
static int64_t count_alone(carom_context *context, const carom_sweep_def *def, const sweep_mesh *mesh)
{
	int64_t count = 0;
	for (int32_t v = 0; v < mesh->vertex_count; v++) {
		for (int32_t i = 0; i < mesh->triangle_count; i++) {
			const int32_t *t = mesh->triangles + 3 * i, vertices[4] = { v, t[0], t[1], t[2] };
			carom_sweep_hit hit;
			if (v != t[0] && v != t[1] && v != t[2])
				count += test_alone(context, def, mesh, CAROM_SWEEP_VERTEX_FACE, vertices, &hit);
		}
	}
	return count;
}

TEST(sweep, a_pair_by_itself_has_the_impact_of_the_search)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t random = 3;
	int64_t total = 0;
	for (int round = 0; round < 12 / TEST_STRIDE; round++) {
		sweep_world world = { 0 };
		const sweep_mesh *mesh = sweep_add_torus(&world, 9, 6);
		carom_sweep_def def = carom_default_sweep_def();
		def.min_separation = round % 3 == 0 ? 0.05 : 0;
		def.test = round % 2 ? CAROM_SWEEP_INCLUSION : CAROM_SWEEP_CERTIFIED;
		carom_sweep *sweep = sweep_load(context, &def, &world);
		sweep_move(&world, 0.2, 0.8, &random);
		sweep_tell(sweep, &world);
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		for (int64_t i = 0; i < hits.count; i++) {
			carom_sweep_hit hit;
			REQUIRE(test_alone(context, &def, mesh, hits.data[i].kind, hits.data[i].vertices, &hit));
			hit.triangle = hits.data[i].triangle;
			CHECK(sweep_is_same_hit(&hit, &hits.data[i]));
		}
		CHECK_INT(count_alone(context, &def, mesh), carom_sweep_get_stats(sweep).hits_vf);
		total += hits.count;
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK(total > 1000);
	carom_destroy_context(context);
}

TEST(sweep, a_pair_by_itself_refuses_bad_calls)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	const double begin[4][3] = { { 0, 0, 1 }, { -1, -1, 0 }, { 2, -1, 0 }, { -1, 2, 0 } };
	const double end[4][3] = { { 0, 0, -1 }, { -1, -1, 0 }, { 2, -1, 0 }, { -1, 2, 0 } };
	const carom_sweep_kind vf = CAROM_SWEEP_VERTEX_FACE;
	double wrong[4][3];
	bool found = false;
	carom_sweep_hit hit = { .triangle = 7 };
	CHECK_INT(carom_sweep_test_pair(context, NULL, vf, begin, end, &found, &hit), CAROM_SUCCESS);
	CHECK(found && hit.time <= 0.5 && hit.time > 0.4999);
	CHECK_INT(carom_sweep_test_pair(context, NULL, vf, begin, begin, &found, &hit), CAROM_SUCCESS);
	CHECK(!found);
	CHECK(carom_sweep_test_pair(context, NULL, vf, NULL, end, &found, &hit) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_test_pair: begin is NULL");
	CHECK(carom_sweep_test_pair(context, NULL, vf, begin, NULL, &found, &hit) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_test_pair: end is NULL");
	CHECK(carom_sweep_test_pair(context, NULL, vf, begin, end, NULL, &hit) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_test_pair: found is NULL");
	CHECK(carom_sweep_test_pair(context, NULL, vf, begin, end, &found, NULL) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_test_pair: hit is NULL");
	CHECK(carom_sweep_test_pair(context, NULL, (carom_sweep_kind)2, begin, end, &found, &hit) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_test_pair: kind is 2, none of carom_sweep_kind");
	memcpy(wrong, begin, sizeof wrong);
	wrong[1][2] = NAN;
	CHECK(carom_sweep_test_pair(context, NULL, vf, (const double(*)[3])wrong, end, &found, &hit) == CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_sweep_test_pair: z of begin[1] is ") != NULL);
	wrong[1][2] = -2e12;
	CHECK(carom_sweep_test_pair(context, NULL, vf, begin, (const double(*)[3])wrong, &found, &hit) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_test_pair: z of end[1] is -2e+12, not finite or beyond 1e+12");
	carom_sweep_def def = carom_default_sweep_def();
	def.tolerance = -1;
	CHECK(carom_sweep_test_pair(context, &def, vf, begin, end, &found, &hit) == CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "tolerance") != NULL);
	CHECK(!found);
	carom_destroy_context(context);
}

TEST(sweep, a_pair_by_itself_gives_its_memory_back)
{
	fixture_heap heap = { .fail_at = -1 };
	carom_context *context = fixture_heap_context(&heap, 1);
	const double corners[4][3] = { { 0, 0, 0 }, { -1, -1, 0 }, { 2, -1, 0 }, { -1, 2, 0 } };
	const int64_t bytes = atomic_load(&heap.bytes);
	bool found;
	carom_sweep_hit hit;
	atomic_store(&heap.fail_at, atomic_load(&heap.calls));
	CHECK_INT(
		carom_sweep_test_pair(context, NULL, CAROM_SWEEP_VERTEX_FACE, corners, corners, &found, &hit), CAROM_OUT_OF_MEMORY);
	CHECK_STR(carom_error_text(context), "out of memory for a pair of features");
	CHECK(!found);
	CHECK_INT(carom_sweep_test_pair(context, NULL, CAROM_SWEEP_VERTEX_FACE, corners, corners, &found, &hit), CAROM_SUCCESS);
	CHECK(found);
	CHECK_INT(atomic_load(&heap.bytes), bytes);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

/// The first of the earliest.
static const carom_sweep_hit *first_of(const sweep_list *list)
{
	const carom_sweep_hit *best = NULL;
	for (int64_t i = 0; i < list->count; i++) {
		if (!best || list->data[i].time < best->time)
			best = &list->data[i];
	}
	return best;
}

TEST(sweep, earliest_is_the_first_of_all_for_any_threads)
{
	uint64_t random = 2;
	int found_count = 0, ties = 0;
	for (int round = 0; round < 60 / TEST_FEWER && test_failures() == 0; round++) {
		carom_context *context = sweep_context(TEST_LEAST_THREADS + round % (4 - TEST_LEAST_THREADS), CAROM_SIMD_AUTO);
		sweep_world world = { 0 };
		make_world(&world, &random);
		const carom_sweep_def def = random_def(&random);
		carom_sweep *sweep = sweep_load(context, &def, &world);
		for (int step = 0; step < 3; step++) {
			// Without motion at first: many impacts at time 0.
			sweep_move(&world, step ? 0.2 : 0, step == 2 ? 0.2 : 0, &random);
			sweep_tell(sweep, &world);
			carom_sweep_hit hit;
			bool found;
			REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
			sweep_list expected = sweep_find_dully(&world, &def);
			const carom_sweep_hit *first = first_of(&expected);
			CHECK_INT(found, first != NULL);
			if (found && first) {
				CHECK(sweep_is_same_hit(&hit, first));
				found_count++;
				for (int64_t i = 0; i < expected.count; i++)
					ties += &expected.data[i] != first && expected.data[i].time == first->time;
			}
			// The search for all still sees the same step.
			carom_sweep_hits hits;
			REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
			sweep_check_same(hits.data, hits.count, &expected, "after the earliest");
			sweep_free_list(&expected);
		}
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
		carom_destroy_context(context);
	}
	CHECK(found_count > 50 / TEST_FEWER);
	CHECK(ties > 50 / TEST_FEWER);
}

/// Two sheets that cross in the middle of the step, by the filters of each.
TEST(sweep, filters_keep_meshes_apart)
{
	static const struct {
		uint64_t category[2], mask[2];
		int32_t group[2];
		bool meet;
	} cases[] = {
		{ { 1, 1 }, { UINT64_MAX, UINT64_MAX }, { 0, 0 }, true },
		{ { 1, 2 }, { 2, 1 }, { 0, 0 }, true },
		{ { 1, 2 }, { 2, 2 }, { 0, 0 }, false }, // the second wants no first
		{ { 1, 2 }, { 1, 1 }, { 0, 0 }, false },
		{ { 1, 2 }, { 0, 0 }, { 3, 3 }, true },
		{ { 1, 1 }, { 1, 1 }, { -3, -3 }, false },
		{ { 1, 1 }, { 1, 1 }, { -3, -2 }, true },
		{ { 1, 1 }, { 1, 0 }, { 3, 2 }, false },
		{ { 0, 0 }, { UINT64_MAX, UINT64_MAX }, { 0, 0 }, false },
	};
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	for (int i = 0; i < 2; i++) {
		sweep_mesh *mesh = sweep_add_sheet(&world, 9, 9, 2);
		mesh->self = false;
		for (int32_t v = 0; v < mesh->vertex_count; v++) {
			mesh->begin[3 * v + 2] = i - 0.5;
			mesh->end[3 * v + 2] = 0.5 - i;
			mesh->end[3 * v] += 0.01 * i * v;
		}
	}
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	const carom_sweep_def def = carom_default_sweep_def();
	sweep_tell(sweep, &world);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		for (int m = 0; m < 2; m++) {
			sweep_mesh *mesh = &world.meshes[m];
			mesh->category = cases[i].category[m];
			mesh->mask = cases[i].mask[m];
			mesh->group = cases[i].group[m];
			CHECK(carom_sweep_set_filter(sweep, m, mesh->category, mesh->mask, mesh->group) == CAROM_SUCCESS);
		}
		// Filters are no motion: the same step again.
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		CHECK_INT(hits.count > 100, cases[i].meet);
		CHECK_INT(carom_sweep_get_stats(sweep).leaf_pairs > 100, cases[i].meet);
		sweep_list expected = sweep_find_dully(&world, &def);
		sweep_check_same(hits.data, hits.count, &expected, "filters");
		carom_sweep_hit hit;
		bool found;
		CHECK(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
		CHECK_INT(found, cases[i].meet);
		sweep_free_list(&expected);
	}
	carom_destroy_sweep(sweep);
	sweep_free_world(&world);
	carom_destroy_context(context);
}

TEST(sweep, who_hits_whom)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	const carom_sweep_def def = carom_default_sweep_def();
	for (int choice = 0; choice < 16; choice++) {
		uint64_t random = 3;
		sweep_world world = { 0 };
		for (int i = 0; i < 3; i++) {
			sweep_mesh *mesh = sweep_add_torus(&world, 8, 6);
			sweep_shift(mesh, 0.3 * i, 0, 0.1 * i);
			mesh->self = choice >> i & 1;
			mesh->is_rigid = i < 2 && choice >> 3;
		}
		sweep_move(&world, 0.1, 0.4, &random);
		carom_sweep *sweep = sweep_load(context, &def, &world);
		sweep_tell(sweep, &world);
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		int64_t within[3] = { 0 }, among_rigid = 0;
		for (int64_t i = 0; i < hits.count; i++) {
			if (hits.data[i].mesh_a == hits.data[i].mesh_b)
				within[hits.data[i].mesh_a]++;
			else
				among_rigid += hits.data[i].mesh_a < 2 && hits.data[i].mesh_b < 2;
		}
		CHECK_INT(within[2] > 0, choice >> 2 & 1);
		for (int i = 0; i < 2; i++)
			CHECK_INT(within[i] > 0, !(choice >> 3) && (choice >> i & 1));
		CHECK_INT(among_rigid > 0, !(choice >> 3));
		if (choice % 4 == 3 || TEST_FEWER == 1) {
			sweep_list expected = sweep_find_dully(&world, &def);
			sweep_check_same(hits.data, hits.count, &expected, "groups");
			sweep_free_list(&expected);
		}
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	carom_destroy_context(context);
}

/// A deep tree whose boxes all overlap: more pairs wait than a traversal holds, and it goes on in depth-first order.
/// What exists to be compared with needs the laboratory. Without it nothing else is done in its place: it is refused, by name.
TEST(sweep, without_the_laboratory_its_methods_are_refused)
{
	static const struct {
		carom_sweep_method method;
		carom_sweep_test test;
		const char *text;
	} wants[3] = { { CAROM_SWEEP_PHC, CAROM_SWEEP_CERTIFIED, "carom_sweep_def.method is CAROM_SWEEP_PHC" },
		{ CAROM_SWEEP_SORT, CAROM_SWEEP_CERTIFIED, "carom_sweep_def.method is CAROM_SWEEP_SORT" },
		{ CAROM_SWEEP_AUTO, CAROM_SWEEP_CUBIC, "carom_sweep_def.test is CAROM_SWEEP_CUBIC" } };
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 3; i++) {
		const double places[4][3] = { { 0, 0, 0 }, { -1, -1, 0 }, { 2, -1, 0 }, { -1, 2, 0 } };
		carom_sweep_def def = carom_default_sweep_def();
		carom_world_def world_def = carom_default_world_def();
		carom_sweep *sweep = NULL;
		carom_sweep_hit hit;
		bool found;
		carom_world *world = NULL;
		def.method = wants[i].method;
		def.test = wants[i].test;
		world_def.sweep = def;
		fixture_expect_wrong(context, carom_create_sweep(context, &def, &sweep), wants[i].text);
		CHECK(strstr(carom_error_text(context), "carom_sweep_def.lab (carom/lab.h)") && !sweep);
		fixture_expect_wrong(context, carom_create_world(context, &world_def, &world), wants[i].text);
		fixture_expect_wrong(context,
			carom_sweep_test_pair(context, &def, CAROM_SWEEP_VERTEX_FACE, places, places, &found, &hit), wants[i].text);
		def.lab = carom_lab_sweep();
		CHECK_INT(carom_create_sweep(context, &def, &sweep), CAROM_SUCCESS);
		carom_destroy_sweep(sweep);
		fixture_lab(&world_def); // that of a world serves its impacts
		CHECK_INT(carom_create_world(context, &world_def, &world), CAROM_SUCCESS);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

TEST(sweep, deep_trees_are_walked_within_bounds)
{
	enum { COUNT = TEST_FEWER > 1 ? 150 : 300 };
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	uint64_t random = 13;
	sweep_world world = { 0 };
	sweep_mesh *mesh = sweep_add_mess(&world, 3 * COUNT, COUNT, &random);
	double place = 1e6;
	for (int32_t i = 0; i < 3 * COUNT; i++) {
		mesh->triangles[i] = i;
		for (int k = 0; k < 3; k++) {
			mesh->begin[3 * i + k] = place * (1 + (i + k) % 3 * 0.1);
			mesh->end[3 * i + k] = -place * (1 + (i + 2 * k) % 3 * 0.1);
		}
		if (i % 3 == 2)
			place *= 0.8;
	}
	sweep_list lists[3];
	const carom_sweep_method methods[3] = { CAROM_SWEEP_BVH, CAROM_SWEEP_FRONT, CAROM_SWEEP_SORT };
	for (int i = 0; i < 3; i++) {
		carom_sweep_def def = carom_default_sweep_def();
		def.method = methods[i];
		carom_sweep *sweep = sweep_load(context, &def, &world);
		sweep_tell(sweep, &world);
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		lists[i] = sweep_copy_hits(&hits);
		CHECK_INT(carom_sweep_get_stats(sweep).leaf_pairs, COUNT * (COUNT - 1) / 2);
		carom_destroy_sweep(sweep);
	}
	CHECK(lists[0].count > 0);
	for (int i = 1; i < 3; i++)
		sweep_check_same(lists[i].data, lists[i].count, &lists[0], "deep tree");
	for (int i = 0; i < 3; i++)
		sweep_free_list(&lists[i]);
	sweep_free_world(&world);
	carom_destroy_context(context);
}

/// The earliest impact of a step that holds many takes fewer queries than all of them.
TEST(sweep, earliest_ends_early)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	for (int method = 0; method < 5; method++) {
		carom_sweep_def def = carom_default_sweep_def();
		def.method = (carom_sweep_method)method;
		sweep_world world = { 0 };
		uint64_t random = 14;
		sweep_add_sheet(&world, 60, 60, 3);
		sweep_shift(sweep_add_sheet(&world, 60, 60, 3), 0.01, 0.02, 0.5);
		carom_sweep *sweep = sweep_load(context, &def, &world);
		sweep_move(&world, 0, 0, &random);
		for (int32_t i = 0; i < world.meshes[1].vertex_count; i++)
			world.meshes[1].end[3 * i + 2] -= 0.6 + 0.001 * (i % 7);
		sweep_tell(sweep, &world);
		carom_sweep_hit hit;
		bool found;
		REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS && found);
		const carom_sweep_stats early = carom_sweep_get_stats(sweep);
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		const carom_sweep_stats all = carom_sweep_get_stats(sweep);
		double first = 2;
		for (int64_t i = 0; i < hits.count; i++)
			first = hits.data[i].time < first ? hits.data[i].time : first;
		CHECK(first == hit.time);
		CHECK(early.tests_vf + early.tests_ee < (all.tests_vf + all.tests_ee) * 3 / 4);
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	carom_destroy_context(context);
}

/// Every combination of choices gives the same hits over a sequence of steps.
TEST(sweep, every_choice_and_any_threads_give_the_same)
{
	enum { STEPS = 6 / TEST_FEWER + 1 };
	const carom_simd sets[] = { CAROM_SIMD_SCALAR, CAROM_SIMD_SSE2, CAROM_SIMD_AVX2, CAROM_SIMD_AVX512, CAROM_SIMD_NEON };
	const int threads[] = { TEST_SEEKS_RACES ? 3 : 1, 2, 7 };
	sweep_list expected[STEPS] = { { 0 } };
	int contexts = 0;
	for (int c = 0; c < 15; c++) {
		carom_context_def context_def = carom_default_context_def();
		context_def.thread_count = threads[c % 3];
		context_def.simd = sets[c / 3];
		carom_context *context;
		if (carom_create_context(&context_def, &context) != CAROM_SUCCESS)
			continue;
		contexts++;
		for (int choice = 0; choice < 64; choice++) {
			// Methods, volumes, builds, orphan sets, pruning; all of them where the context is the plainest.
			if ((c > 0 || TEST_SEEKS_RACES) && (choice * 7 + c) % 8 != 0)
				continue;
			carom_sweep_def def = carom_default_sweep_def();
			def.method = (carom_sweep_method)(choice % 5);
			def.volume = (carom_sweep_volume)(choice >> 2 & 1);
			def.build = (carom_sweep_build)(choice >> 3 & 1);
			def.orphan_sets = choice >> 4 & 1;
			def.prune_front = choice >> 5 & 1;
			uint64_t random = 4;
			sweep_world world = { 0 };
			sweep_add_sheet(&world, 20, 20, 3);
			sweep_shift(sweep_add_torus(&world, 16, 10), 0.2, 0, 0.5);
			sweep_shift(sweep_add_fan(&world, 40), -0.5, 0.5, 0.25);
			sweep_add_mess(&world, 20, 30, &random);
			carom_sweep *sweep = sweep_load(context, &def, &world);
			for (int step = 0; step < STEPS; step++) {
				sweep_move(&world, 0.1, 0.02 * step, &random);
				sweep_tell(sweep, &world);
				carom_sweep_hits hits;
				REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
				if (!expected[step].data)
					expected[step] = sweep_copy_hits(&hits);
				char what[80];
				snprintf(what, sizeof what, "context %d, choice %d, step %d", c, choice, step);
				sweep_check_same(hits.data, hits.count, &expected[step], what);
			}
			carom_destroy_sweep(sweep);
			sweep_free_world(&world);
		}
		carom_destroy_context(context);
	}
	CHECK(contexts >= 3);
	for (int step = 0; step < STEPS; step++) {
		CHECK(expected[step].count > 100);
		sweep_free_list(&expected[step]);
	}
}

/// Far from the origin, and in tiny and huge scenes, no kind of box changes what is found.
TEST(sweep, scale_and_place_change_no_choice)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	const double scales[] = { 1e-9, 1, 1e9, 1e-9, 1, 1e9 }, places[] = { 0, 0, 0, 1e-3, 1e6, 9e11 };
	for (int c = 0; c < 6; c++) {
		const double scale = scales[c], place = places[c];
		uint64_t random = 5;
		sweep_world world = { 0 };
		sweep_add_torus(&world, 12, 8);
		sweep_add_mess(&world, 30, 40, &random);
		sweep_move(&world, 0.1, 0.1, &random);
		for (int m = 0; m < world.count; m++) {
			for (int i = 0; i < 3 * world.meshes[m].vertex_count; i++) {
				world.meshes[m].begin[i] = world.meshes[m].begin[i] * scale + place;
				world.meshes[m].end[i] = world.meshes[m].end[i] * scale + place;
			}
		}
		carom_sweep_def def = carom_default_sweep_def();
		def.tolerance = 1e-6 * scale;
		sweep_list expected = sweep_find_dully(&world, &def);
		CHECK(expected.count > 100);
		for (int volume = 0; volume < 2; volume++) {
			def.volume = (carom_sweep_volume)volume;
			carom_sweep *sweep = sweep_load(context, &def, &world);
			sweep_tell(sweep, &world);
			carom_sweep_hits hits;
			REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
			sweep_check_same(hits.data, hits.count, &expected, "scaled");
			carom_destroy_sweep(sweep);
		}
		sweep_free_list(&expected);
		sweep_free_world(&world);
	}
	carom_destroy_context(context);
}

TEST(sweep, inclusion_finds_the_same_pairs)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	uint64_t random = 6;
	sweep_world world = { 0 };
	sweep_add_torus(&world, 12, 8);
	sweep_add_box(&world);
	sweep_move(&world, 0.3, 0.1, &random);
	sweep_list lists[3];
	for (int test = 0; test < 3; test++) {
		carom_sweep_def def = carom_default_sweep_def();
		def.test = (carom_sweep_test)test;
		carom_sweep *sweep = sweep_load(context, &def, &world);
		sweep_tell(sweep, &world);
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		lists[test] = sweep_copy_hits(&hits);
		carom_destroy_sweep(sweep);
	}
	CHECK(lists[0].count > 20);
	for (int test = 1; test < 3; test++) {
		CHECK_INT(lists[test].count, lists[0].count);
		for (int64_t i = 0; i < lists[0].count && i < lists[test].count; i++) {
			CHECK(!memcmp(lists[test].data[i].vertices, lists[0].data[i].vertices, sizeof lists[0].data[i].vertices));
			CHECK_NEAR(lists[test].data[i].time, lists[0].data[i].time, 1e-4);
		}
	}
	for (int test = 0; test < 3; test++)
		sweep_free_list(&lists[test]);
	sweep_free_world(&world);
	carom_destroy_context(context);
}

// ---- Steps ----

static int64_t count_hits(carom_sweep *sweep)
{
	carom_sweep_hits hits;
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	return hits.count;
}

static void put_dart(const sweep_world *world, double by, double out[9])
{
	memcpy(out, world->meshes[1].begin, 9 * sizeof *out);
	for (int i = 0; i < 3; i++)
		out[3 * i + 2] += by;
}

TEST(sweep, a_search_ends_the_step)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	make_dart(&world);
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	double down[9], up[9];
	put_dart(&world, -2, down);
	put_dart(&world, 0, up);
	const carom_strided to_down = { down, 0, CAROM_FLOAT64 }, to_up = { up, 0, CAROM_FLOAT64 };
	CHECK_INT(count_hits(sweep), 0); // at rest above
	CHECK(carom_sweep_move_mesh(sweep, 1, &to_down) == CAROM_SUCCESS);
	CHECK_INT(count_hits(sweep), 1);
	CHECK_INT(count_hits(sweep), 1); // the same step again
	const carom_strided target = { world.meshes[0].begin, 0, CAROM_FLOAT64 };
	CHECK(carom_sweep_move_mesh(sweep, 0, &target) == CAROM_SUCCESS);
	CHECK_INT(count_hits(sweep), 0); // the dart rests, the corner below the plane; its sides cross the face at all times
	CHECK(carom_sweep_place_mesh(sweep, 1, &to_up) == CAROM_SUCCESS);
	CHECK_INT(count_hits(sweep), 0); // a jump does not sweep
	CHECK(carom_sweep_move_mesh(sweep, 1, &to_up) == CAROM_SUCCESS);
	CHECK(carom_sweep_move_mesh(sweep, 1, &to_down) == CAROM_SUCCESS);
	CHECK_INT(count_hits(sweep), 1); // without a search in between the later end counts
	down[4] = NAN;
	CHECK(carom_sweep_move_mesh(sweep, 1, &to_down) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_move_mesh, mesh 1: end: y of vertex 1 is nan, not finite");
	CHECK_INT(count_hits(sweep), 1); // as if it had not been called
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

TEST(sweep, meshes_join_between_steps)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	const carom_sweep_def def = carom_default_sweep_def();
	uint64_t random = 7;
	sweep_world world = { 0 };
	sweep_add_torus(&world, 10, 6);
	carom_sweep *sweep = sweep_load(context, &def, &world);
	sweep_move(&world, 0, 0.2, &random);
	sweep_tell(sweep, &world);
	CHECK(count_hits(sweep) > 0);
	const sweep_mesh *late = sweep_add_sheet(&world, 6, 6, 2);
	carom_sweep_mesh_def mesh_def = carom_default_sweep_mesh_def();
	mesh_def.vertices = (carom_strided){ late->begin, 0, CAROM_FLOAT64 };
	mesh_def.vertex_count = late->vertex_count;
	mesh_def.triangles = late->triangles;
	mesh_def.triangle_count = late->triangle_count;
	int32_t id;
	REQUIRE(carom_sweep_add_mesh(sweep, &mesh_def, &id) == CAROM_SUCCESS);
	CHECK_INT(id, 1);
	sweep_move(&world, 0.1, 0.2, &random);
	sweep_tell(sweep, &world);
	carom_sweep_hits hits;
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	sweep_list expected = sweep_find_dully(&world, &def);
	sweep_check_same(hits.data, hits.count, &expected, "joined");
	sweep_free_list(&expected);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

TEST(sweep, reads_any_layout)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t random = 8;
	sweep_world world = { 0 };
	sweep_add_torus(&world, 10, 6);
	sweep_move(&world, 0.1, 0.5, &random);
	sweep_mesh *mesh = &world.meshes[0];
	const int32_t n = mesh->vertex_count;
	for (int32_t i = 0; i < 3 * n; i++) {
		mesh->begin[i] = (float)mesh->begin[i];
		mesh->end[i] = (float)mesh->end[i];
	}
	const carom_sweep_def def = carom_default_sweep_def();
	sweep_list expected = sweep_find_dully(&world, &def);
	CHECK(expected.count > 20);
	float *records = calloc(14 * (size_t)n, sizeof *records), *begin = records, *end = records + 7 * n;
	REQUIRE(records != NULL);
	// Single precision, seven floats apart, from the last to the first.
	for (int32_t i = 0; i < n; i++) {
		for (int k = 0; k < 3; k++) {
			begin[7 * (n - 1 - i) + 2 + k] = (float)mesh->begin[3 * i + k];
			end[7 * (n - 1 - i) + 2 + k] = (float)mesh->end[3 * i + k];
		}
	}
	carom_sweep *sweep;
	REQUIRE(carom_create_sweep(context, &def, &sweep) == CAROM_SUCCESS);
	carom_sweep_mesh_def mesh_def = carom_default_sweep_mesh_def();
	mesh_def.vertices = (carom_strided){ &begin[7 * (n - 1) + 2], -7 * (int64_t)sizeof(float), CAROM_FLOAT32 };
	mesh_def.vertex_count = n;
	mesh_def.triangles = mesh->triangles;
	mesh_def.triangle_count = mesh->triangle_count;
	int32_t id;
	REQUIRE(carom_sweep_add_mesh(sweep, &mesh_def, &id) == CAROM_SUCCESS);
	const carom_strided to = { &end[7 * (n - 1) + 2], -7 * (int64_t)sizeof(float), CAROM_FLOAT32 };
	REQUIRE(carom_sweep_move_mesh(sweep, id, &to) == CAROM_SUCCESS);
	carom_sweep_hits hits;
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	sweep_check_same(hits.data, hits.count, &expected, "strided");
	free(records);
	sweep_free_list(&expected);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

TEST(sweep, nothing_to_find)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	for (int triangles = -1; triangles < 2; triangles++) {
		sweep_world world = { 0 };
		if (triangles >= 0) {
			sweep_mesh *mesh = sweep_add_tetrahedron(&world);
			mesh->triangle_count = triangles;
		}
		for (int method = 0; method < 5; method++) {
			carom_sweep_def def = carom_default_sweep_def();
			def.method = (carom_sweep_method)method;
			carom_sweep *sweep = sweep_load(context, &def, &world);
			carom_sweep_hit hit;
			bool found = true;
			for (int step = 0; step < 3; step++) {
				sweep_tell(sweep, &world);
				CHECK_INT(count_hits(sweep), 0);
				CHECK(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
				CHECK(!found);
			}
			CHECK_INT(carom_sweep_get_stats(sweep).triangles, triangles > 0);
			carom_destroy_sweep(sweep);
		}
		sweep_free_world(&world);
	}
	carom_destroy_sweep(NULL);
	carom_destroy_context(context);
}

// ---- Misuse ----

typedef void change_def(carom_sweep_def *def);
#define CHANGE(name, change) \
	static void name(carom_sweep_def *def) { def->change; }
CHANGE(no_cookie, cookie = 0)
CHANGE(bad_method, method = (carom_sweep_method)5)
CHANGE(bad_volume, volume = (carom_sweep_volume)2)
CHANGE(bad_build, build = (carom_sweep_build)-1)
CHANGE(bad_test, test = (carom_sweep_test)3)
CHANGE(no_tolerance, tolerance = 0)
CHANGE(nan_tolerance, tolerance = NAN)
CHANGE(negative_separation, min_separation = -1)
CHANGE(infinite_separation, min_separation = INFINITY)
CHANGE(nan_sprouted, rebuild_sprouted = NAN)
CHANGE(negative_replaced, rebuild_replaced = -0.1)

TEST(sweep, refuses_bad_definitions)
{
	static const struct {
		change_def *change;
		const char *text;
	} cases[] = {
		{ no_cookie, "carom_sweep_def.cookie: start from carom_default_sweep_def" },
		{ bad_method, "carom_sweep_def.method is 5, none of carom_sweep_method" },
		{ bad_volume, "carom_sweep_def.volume is 2, none of carom_sweep_volume" },
		{ bad_build, "carom_sweep_def.build is -1, none of carom_sweep_build" },
		{ bad_test, "carom_sweep_def.test is 3, none of carom_sweep_test" },
		{ no_tolerance, "carom_sweep_def.tolerance is 0, not above 0 and at most 1e+12" },
		{ nan_tolerance, "carom_sweep_def.tolerance is nan, not above 0 and at most 1e+12" },
		{ negative_separation, "carom_sweep_def.min_separation is -1, not in 0 to 1e+12" },
		{ infinite_separation, "carom_sweep_def.min_separation is inf, not in 0 to 1e+12" },
		{ nan_sprouted, "carom_sweep_def.rebuild_sprouted is nan, not 0 or more" },
		{ negative_replaced, "carom_sweep_def.rebuild_replaced is -0.1, not 0 or more" },
	};
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		carom_sweep_def def = carom_default_sweep_def();
		cases[i].change(&def);
		carom_sweep *sweep = (carom_sweep *)&def;
		CHECK(carom_create_sweep(context, &def, &sweep) == CAROM_INVALID_ARGUMENT);
		CHECK(sweep == NULL);
		CHECK_STR(carom_error_text(context), cases[i].text);
	}
	CHECK(carom_create_sweep(context, NULL, NULL) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_create_sweep: sweep is NULL");
	carom_sweep *sweep;
	CHECK(carom_create_sweep(NULL, NULL, &sweep) == CAROM_INVALID_ARGUMENT);
	carom_destroy_context(context);
}

TEST(sweep, refuses_bad_meshes)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_sweep *sweep;
	REQUIRE(carom_create_sweep(context, NULL, &sweep) == CAROM_SUCCESS);
	const int32_t triangles[6] = { 0, 1, 2, 2, 1, 3 }, outside[6] = { 0, 1, 2, 2, 1, 4 }, negative[3] = { 0, -1, 2 };
	double places[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0 };
	carom_sweep_mesh_def good = carom_default_sweep_mesh_def();
	good.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	good.vertex_count = 4;
	good.triangles = triangles;
	good.triangle_count = 2;
	int32_t id = -1;
#define REFUSED(change, result, text)                                \
	do {                                                             \
		carom_sweep_mesh_def def = good;                             \
		change;                                                      \
		CHECK_INT(carom_sweep_add_mesh(sweep, &def, &id), (result)); \
		CHECK_STR(carom_error_text(context), text);                  \
	} while (0)
	REFUSED(def.cookie = 1, CAROM_INVALID_ARGUMENT, "carom_sweep_mesh_def.cookie: start from carom_default_sweep_mesh_def");
	REFUSED(def.vertex_count = -1, CAROM_INVALID_ARGUMENT, "carom_sweep_mesh_def.vertex_count is -1, below 0");
	REFUSED(def.triangle_count = -2, CAROM_INVALID_ARGUMENT, "carom_sweep_mesh_def.triangle_count is -2, below 0");
	REFUSED(def.triangles = NULL, CAROM_INVALID_ARGUMENT, "carom_sweep_mesh_def.triangles is NULL, but triangle_count is 2");
	REFUSED(def.triangles = outside, CAROM_INVALID_MESH,
		"carom_sweep_mesh_def.triangles: triangle 1 names vertex 4, not in 0 to 3");
	REFUSED(def.triangles = negative; def.triangle_count = 1, CAROM_INVALID_MESH,
			"carom_sweep_mesh_def.triangles: triangle 0 names vertex -1, not in 0 to 3");
	REFUSED(def.vertices.data = NULL, CAROM_INVALID_ARGUMENT,
		"carom_sweep_mesh_def.vertices.data is NULL, but there are 4 vertices");
	REFUSED(def.vertices.type = (carom_scalar)7, CAROM_INVALID_ARGUMENT,
		"carom_sweep_mesh_def.vertices.type is 7, neither CAROM_FLOAT32 nor CAROM_FLOAT64");
	REFUSED(def.vertices.stride = 3, CAROM_INVALID_ARGUMENT,
		"carom_sweep_mesh_def.vertices.stride is 3 bytes, less than the 24 of three coordinates");
	REFUSED(places[11] = 1e13, CAROM_INVALID_MESH,
		"carom_sweep_mesh_def.vertices: z of vertex 3 is 1e+13, beyond CAROM_MAX_COORDINATE");
	REFUSED(places[11] = -INFINITY, CAROM_INVALID_MESH, "carom_sweep_mesh_def.vertices: z of vertex 3 is -inf, not finite");
#undef REFUSED
	CHECK_INT(id, -1);
	places[11] = 0;
	CHECK(carom_sweep_add_mesh(sweep, NULL, &id) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_add_mesh: def is NULL");
	CHECK(carom_sweep_add_mesh(sweep, &good, NULL) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_add_mesh: mesh is NULL");
	CHECK(carom_sweep_add_mesh(NULL, &good, &id) == CAROM_INVALID_ARGUMENT);
	CHECK(carom_sweep_add_mesh(sweep, &good, &id) == CAROM_SUCCESS);
	CHECK_INT(id, 0);
	CHECK_INT(count_hits(sweep), 0);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
}

TEST(sweep, refuses_bad_calls)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_add_box(&world);
	sweep_add_box(&world)->is_rigid = true;
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	const carom_strided good = { world.meshes[0].end, 0, CAROM_FLOAT64 }, none = { NULL, 0, CAROM_FLOAT32 };
	CHECK(carom_sweep_move_mesh(NULL, 0, &good) == CAROM_INVALID_ARGUMENT);
	CHECK(carom_sweep_place_mesh(NULL, 0, &good) == CAROM_INVALID_ARGUMENT);
	CHECK(carom_sweep_move_mesh(sweep, 2, &good) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_move_mesh: mesh is 2, but there are 2");
	CHECK(carom_sweep_place_mesh(sweep, -1, &good) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_place_mesh: mesh is -1, but there are 2");
	CHECK(carom_sweep_move_mesh(sweep, 0, NULL) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_move_mesh, mesh 0: end is NULL");
	CHECK(carom_sweep_move_mesh(sweep, 0, &none) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_move_mesh, mesh 0: end.data is NULL, but there are 8 vertices");
	CHECK(carom_sweep_place_mesh(sweep, 1, NULL) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_place_mesh, mesh 1: vertices is NULL");
	CHECK(carom_sweep_place_mesh(sweep, 1, &none) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_place_mesh, mesh 1: vertices.data is NULL, but there are 8 vertices");
	CHECK(carom_sweep_set_filter(NULL, 0, 1, 1, 0) == CAROM_INVALID_ARGUMENT);
	CHECK(carom_sweep_set_filter(sweep, 2, 1, 1, 0) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_set_filter: mesh is 2, but there are 2");
	carom_sweep_hits hits;
	carom_sweep_hit hit;
	bool found;
	CHECK(carom_sweep_find(NULL, &hits) == CAROM_INVALID_ARGUMENT);
	CHECK(carom_sweep_find(sweep, NULL) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_find: hits is NULL");
	CHECK(carom_sweep_find_earliest(sweep, NULL, &found) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_find_earliest: hit is NULL");
	CHECK(carom_sweep_find_earliest(sweep, &hit, NULL) == CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sweep_find_earliest: found is NULL");
	CHECK_INT(carom_sweep_get_stats(NULL).triangles, 0);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

// ---- Memory ----

enum { FAILURE_STEPS = 3 };

static void make_failing_world(sweep_world *world)
{
	sweep_add_torus(world, 10, 6);
	sweep_add_sheet(world, 6, 6, 2);
}

static void move_failing_world(sweep_world *world, int step, uint64_t *random)
{
	sweep_move(world, 0.1, 0.05 + 0.1 * step, random);
}

/// A few steps; returns how many calls ran out of memory. A call that failed is made again, and must then succeed with the right hits.
static int64_t step_with_failures(fixture_heap *heap, failing_calls *calls, const sweep_list expected[FAILURE_STEPS])
{
	carom_context *context = fixture_heap_context(heap, 1);
	uint64_t random = 9;
	int64_t failed = 0;
	sweep_world world = { 0 };
	make_failing_world(&world);
	carom_sweep *sweep = NULL;
	if (calls)
		fixture_begin_failing(heap, calls);
	while (carom_create_sweep(context, NULL, &sweep) != CAROM_SUCCESS)
		failed++;
	for (int i = 0; i < world.count; i++) {
		carom_sweep_mesh_def mesh_def = carom_default_sweep_mesh_def();
		mesh_def.vertices = (carom_strided){ world.meshes[i].begin, 0, CAROM_FLOAT64 };
		mesh_def.vertex_count = world.meshes[i].vertex_count;
		mesh_def.triangles = world.meshes[i].triangles;
		mesh_def.triangle_count = world.meshes[i].triangle_count;
		int32_t id;
		while (carom_sweep_add_mesh(sweep, &mesh_def, &id) != CAROM_SUCCESS)
			failed++;
		CHECK_INT(id, i);
	}
	for (int step = 0; step < FAILURE_STEPS; step++) {
		move_failing_world(&world, step, &random);
		sweep_tell(sweep, &world);
		carom_sweep_hits hits;
		carom_result result;
		while ((result = carom_sweep_find(sweep, &hits)) != CAROM_SUCCESS) {
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK_INT(hits.count, 0);
			sweep_tell(sweep, &world); // the step goes on: all of it is said again
			failed++;
		}
		sweep_check_same(hits.data, hits.count, &expected[step], "after a failure");
		carom_sweep_hit hit;
		bool found;
		while (carom_sweep_find_earliest(sweep, &hit, &found) != CAROM_SUCCESS)
			failed++;
		CHECK(found);
	}
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap->blocks), 0);
	CHECK_INT(atomic_load(&heap->bytes), 0);
	sweep_free_world(&world);
	return failed;
}

TEST(sweep, survives_every_failed_allocation)
{
	static fixture_heap heap;
	const carom_sweep_def def = carom_default_sweep_def();
	sweep_list expected[FAILURE_STEPS];
	sweep_world world = { 0 };
	uint64_t random = 9;
	make_failing_world(&world);
	for (int step = 0; step < FAILURE_STEPS; step++) {
		move_failing_world(&world, step, &random);
		expected[step] = sweep_find_dully(&world, &def);
	}
	sweep_free_world(&world);
	CHECK_INT(step_with_failures(&heap, NULL, expected), 0);
	CHECK(atomic_load(&heap.calls) > 40);
	failing_calls calls = failing_calls_of_preset();
	int64_t failed = 0, survived = 0;
	do {
		const int64_t now = step_with_failures(&heap, &calls, expected);
		CHECK(now <= 1);
		failed += now == 1;
		survived += now == 0 && calls.failed >= 0; // of the front, which may go without
	} while (fixture_end_failing(&heap) && test_failures() == 0);
	failing_calls_free(&calls);
	CHECK(failed > 40 / TEST_STRIDE);
	CHECK(survived > 0);
	for (int step = 0; step < FAILURE_STEPS; step++)
		sweep_free_list(&expected[step]);
}

TEST(sweep, counts_its_memory)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 2);
	sweep_world world = { 0 };
	uint64_t random = 10;
	sweep_add_torus(&world, 30, 20);
	const long long before = atomic_load(&heap.bytes);
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	for (int step = 0; step < 3; step++) {
		sweep_move(&world, 0.1, 0.02, &random);
		sweep_tell(sweep, &world);
		count_hits(sweep);
		const carom_sweep_stats stats = carom_sweep_get_stats(sweep);
		// All but the handle itself.
		CHECK_NEAR((double)stats.bytes, (double)(atomic_load(&heap.bytes) - before), 4096);
		CHECK(stats.bytes_peak >= stats.bytes);
		CHECK(stats.bytes_front >= 8 * (size_t)stats.front);
		CHECK(stats.bytes > stats.bytes_front);
	}
	carom_destroy_sweep(sweep);
	CHECK_INT(atomic_load(&heap.bytes), before);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

// ---- Meshes far away ----

/// What a search compared, and what it found.
typedef struct far_counts {
	int64_t boxes, tests, hits;
	double earliest;
} far_counts;

/// A sheet that is crumpled over three steps, beside a rigid tetrahedron at a distance: what its searches compare, all impacts and the
/// earliest alone.
static far_counts crumple_beside(carom_context *context, const carom_sweep_def *def, double distance)
{
	enum { SIDE = 24, COUNT = SIDE * SIDE };
	static double places[COUNT][3];
	static int32_t triangles[2 * SIDE * SIDE][3];
	static const int32_t faces[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 1, 2, 3 }, { 2, 0, 3 } };
	const double corners[4][3] = { { distance, 0, 0 }, { distance, 1, 0 }, { distance, 0, 1 }, { 1.1 * distance, 0, 0 } };
	int32_t triangle_count = 0, number;
	for (int v = 0; v < COUNT; v++) {
		places[v][0] = 0.1 * (v % SIDE);
		places[v][1] = 0.1 * (v / SIDE);
		places[v][2] = 0;
		if (v % SIDE < SIDE - 1 && v < COUNT - SIDE) {
			const int32_t two[2][3] = { { v, v + 1, v + SIDE }, { v + 1, v + SIDE + 1, v + SIDE } };
			memcpy(triangles[triangle_count], two, sizeof two);
			triangle_count += 2;
		}
	}
	carom_sweep *sweep = NULL;
	carom_sweep_mesh_def sheet = carom_default_sweep_mesh_def(), rigid = carom_default_sweep_mesh_def();
	sheet.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	sheet.vertex_count = COUNT;
	sheet.triangles = triangles[0];
	sheet.triangle_count = triangle_count;
	rigid.vertices = (carom_strided){ corners, 0, CAROM_FLOAT64 };
	rigid.vertex_count = 4;
	rigid.triangles = faces[0];
	rigid.triangle_count = 4;
	rigid.is_rigid = true;
	REQUIRE(carom_create_sweep(context, def, &sweep) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_add_mesh(sweep, &rigid, &number) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_add_mesh(sweep, &sheet, &number) == CAROM_SUCCESS);
	far_counts counts = { 0 };
	uint64_t seed = 9;
	for (int step = 0; step < 3; step++) {
		carom_sweep_hits hits;
		carom_sweep_hit hit;
		bool found;
		for (int v = 0; v < COUNT; v++) {
			for (int k = 0; k < 3; k++)
				places[v][k] += test_random_double(&seed, -0.08, 0.08);
		}
		REQUIRE(carom_sweep_move_mesh(sweep, number, &sheet.vertices) == CAROM_SUCCESS);
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		carom_sweep_stats stats = carom_sweep_get_stats(sweep);
		counts.boxes += stats.volume_tests;
		counts.tests += stats.tests_vf + stats.tests_ee;
		counts.hits += hits.count;
		REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
		stats = carom_sweep_get_stats(sweep);
		counts.boxes += stats.volume_tests;
		counts.tests += stats.tests_vf + stats.tests_ee;
		counts.earliest += found ? hit.time : 1;
	}
	carom_destroy_sweep(sweep);
	return counts;
}

/// A rigid mesh parked far away gives its own boxes room for its rounding, and no others: a sheet near the origin is searched with no
/// more comparisons, and with the same impacts, as when the other one is near.
TEST(sweep, a_mesh_parked_far_away_costs_nothing)
{
	carom_context *context = fixture_context(1);
	for (int method = CAROM_SWEEP_AUTO; method <= CAROM_SWEEP_SORT; method++) {
		for (int volume = 0; volume < 2; volume++) {
			carom_sweep_def def = carom_default_sweep_def();
			def.method = (carom_sweep_method)method;
			def.lab = carom_lab_sweep();
			def.volume = (carom_sweep_volume)volume;
			const far_counts near = crumple_beside(context, &def, 100), far = crumple_beside(context, &def, 1e11);
			CHECK_INT(far.hits, near.hits);
			CHECK(far.hits > 0 && far.earliest == near.earliest);
			if (!CHECK(far.boxes <= near.boxes * 1.1 && far.tests <= near.tests * 1.1))
				printf("method %d, volume %d: %lld boxes and %lld tests, beside a near one %lld and %lld\n", method, volume,
					(long long)far.boxes, (long long)far.tests, (long long)near.boxes, (long long)near.tests);
		}
	}
	carom_destroy_context(context);
}
