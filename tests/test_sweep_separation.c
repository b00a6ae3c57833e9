// Separations of meshes with a thickness, and such as shrink with the first distance, against single pairs.
#include "fixture.h"
#include "sweep_fixture.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_meshes(sweep_world *world, uint64_t *random)
{
	const int count = 2 + (int)(test_random(random) % 3);
	for (int i = 0; i < count; i++) {
		sweep_mesh *mesh = sweep_add_random(world, random);
		mesh->self = test_random(random) % 4 != 0;
		mesh->is_rigid = test_random(random) % 6 == 0;
		mesh->thickness = test_random(random) % 3 ? test_random_double(random, 0, 0.1) : 0;
		sweep_shift(mesh, test_random_double(random, -1, 1), test_random_double(random, -1, 1), 0.25 * i);
	}
}

/// Searches by any method, box and build against each pair by itself.
static void compare_with_pairs(double separation, double relative, uint64_t random)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	int64_t total = 0;
	for (int round = 0; round < 24 / TEST_FEWER && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		add_meshes(&world, &random);
		carom_sweep_def def = carom_default_sweep_def();
		def.method = (carom_sweep_method)(test_random(&random) % 3);
		def.volume = (carom_sweep_volume)(test_random(&random) % 2);
		def.orphan_sets = test_random(&random) % 2;
		def.min_separation = separation;
		def.relative_separation = relative;
		carom_sweep *sweep = sweep_load(context, &def, &world);
		for (int step = 0; step < 3; step++) {
			sweep_move(&world, 0.1, step % 2 ? 0.2 : 0.02, &random);
			sweep_tell(sweep, &world);
			carom_sweep_hits hits;
			carom_sweep_hit earliest;
			bool found;
			REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
			sweep_list expected = sweep_find_dully(&world, &def);
			sweep_check_same(hits.data, hits.count, &expected, "with separations");
			int64_t first = 0;
			for (int64_t i = 1; i < expected.count; i++)
				first = expected.data[i].time < expected.data[first].time ? i : first;
			REQUIRE(carom_sweep_find_earliest(sweep, &earliest, &found) == CAROM_SUCCESS);
			CHECK(found == (expected.count > 0));
			CHECK(!found || sweep_is_same_hit(&earliest, &expected.data[first]));
			total += expected.count;
			sweep_free_list(&expected);
		}
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK(total > 1000 / TEST_FEWER);
	carom_destroy_context(context);
}

TEST(sweep_separation, of_thick_meshes) { compare_with_pairs(0, 0, 21); }
TEST(sweep_separation, of_thick_meshes_beside_one_for_all) { compare_with_pairs(0.03, 0, 22); }
TEST(sweep_separation, relative_to_the_first_distance) { compare_with_pairs(0.03, 0.2, 23); }
TEST(sweep_separation, relative_without_one_for_all) { compare_with_pairs(0, 0.9, 24); }

/// The place of a vertex over a face that has its corners in z = 0; it moves from one height to another.
static bool hit_floor(carom_context *context, const carom_sweep_def *def, double from, double to, carom_sweep_hit *hit)
{
	const double begin[4][3] = { { 0.2, 0.2, from }, { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } };
	const double end[4][3] = { { 0.2, 0.2, to }, { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } };
	bool found;
	REQUIRE(carom_sweep_test_pair(context, def, CAROM_SWEEP_VERTEX_FACE, begin, end, &found, hit) == CAROM_SUCCESS);
	return found;
}

TEST(sweep_separation, what_begins_nearer_is_told_when_it_has_come_nearer)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_sweep_def def = carom_default_sweep_def();
	carom_sweep_hit hit;
	def.min_separation = 1e-4;
	CHECK(hit_floor(context, &def, 5e-5, 1, &hit) && hit.time == 0); // parts, and yet
	def.relative_separation = 0.2;
	CHECK(!hit_floor(context, &def, 5e-5, 1, &hit));
	CHECK(!hit_floor(context, &def, 5e-5, 5e-5, &hit)); // rests
	CHECK(!hit_floor(context, &def, 5e-5, 4e-5, &hit));
	for (int i = 0; i < 8; i++) { // nearer than the tolerance too
		const double height = pow(10, -3 - 2 * i), kept = fmin(1e-4, 0.2 * height), tolerance = fmin(1e-6, 0.4 * height);
		REQUIRE(hit_floor(context, &def, height, -height, &hit));
		const double at = height - 2 * height * hit.time;
		CHECK(hit.time > 0 && hit.status == CAROM_SWEEP_IMPACT);
		CHECK(at >= kept * (1 - 1e-9) && at <= (kept + tolerance) * (1 + 1e-9));
	}
	CHECK(hit_floor(context, &def, 0, 1, &hit) && hit.status == CAROM_SWEEP_TOUCHING);
	carom_destroy_context(context);
}

TEST(sweep_separation, a_solver_is_not_stuck_at_it)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_mesh *low = sweep_add_sheet(&world, 4, 4, 1), *high = sweep_add_sheet(&world, 4, 4, 1);
	low->self = high->self = false;
	sweep_shift(high, 0.1, 0.05, 0.01);
	carom_sweep_def def = carom_default_sweep_def();
	def.min_separation = 1e-3;
	def.relative_separation = 0.2;
	carom_sweep *sweep = sweep_load(context, &def, &world);
	double height = 0.01;
	for (int step = 0; step < 6; step++) {
		carom_sweep_hit hit;
		bool found;
		double used;
		for (int i = 0; i < high->vertex_count; i++)
			high->end[3 * i + 2] -= 1;
		sweep_tell(sweep, &world);
		REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
		CHECK(found && hit.time > 0);
		REQUIRE(carom_sweep_advance(sweep, hit.time, &used) == CAROM_SUCCESS);
		CHECK(used > 0);
		REQUIRE(carom_sweep_get_places(sweep, 1, high->end) == CAROM_SUCCESS);
		CHECK(high->end[2] < height && high->end[2] >= fmin(1e-3, 0.2 * height));
		height = high->end[2];
	}
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

TEST(sweep_separation, refuses_what_is_none)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_sweep *sweep = NULL;
	carom_sweep_def def = carom_default_sweep_def();
	def.relative_separation = 1;
	fixture_expect_wrong(context, carom_create_sweep(context, &def, &sweep), "carom_sweep_def.relative_separation is 1, not in");
	def.relative_separation = NAN;
	fixture_expect_wrong(context, carom_create_sweep(context, &def, &sweep), "carom_sweep_def.relative_separation is nan");
	def = carom_default_sweep_def();
	def.max_hits = -1;
	fixture_expect_wrong(context, carom_create_sweep(context, &def, &sweep), "carom_sweep_def.max_hits is -1, below 0");
	REQUIRE(carom_create_sweep(context, NULL, &sweep) == CAROM_SUCCESS);
	carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
	int32_t id;
	mesh.thickness = -1;
	fixture_expect_wrong(context, carom_sweep_add_mesh(sweep, &mesh, &id), "carom_sweep_mesh_def.thickness is -1, not in 0 to");
	carom_destroy_sweep(sweep);
	carom_world_def world = carom_default_world_def();
	carom_world *made = NULL;
	world.sweep.max_hits = 3;
	fixture_expect_wrong(context, carom_create_world(context, &world, &made), "carom_world_def.sweep.max_hits is 3");
	world = carom_default_world_def();
	world.sweep.relative_separation = 0.5;
	fixture_expect_wrong(
		context, carom_create_world(context, &world, &made), "carom_world_def.sweep.relative_separation is 0.5");
	carom_destroy_context(context);
}
