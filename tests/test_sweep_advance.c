// Steps that end where nothing has met: the rounded places against trying every pair of features.
#include "fixture.h"
#include "sweep_fixture.h"
#include "test.h"

#include <math.h>
#include <string.h>

static void add_meshes(sweep_world *world, uint64_t *random)
{
	const int count = 1 + (int)(test_random(random) % 3);
	for (int i = 0; i < count; i++) {
		sweep_mesh *mesh = test_random(random) % 3 ? sweep_add_random(world, random) : sweep_add_sheet(world, 5, 5, 1.5);
		mesh->is_rigid = test_random(random) % 6 == 0;
		sweep_shift(mesh, test_random_double(random, -1, 1), test_random_double(random, -1, 1), 0.4 * i);
	}
}

/// The step of the world ends where the scene says.
static void take_places(carom_sweep *sweep, sweep_world *world)
{
	for (int m = 0; m < world->count; m++)
		REQUIRE(carom_sweep_get_places(sweep, m, world->meshes[m].end) == CAROM_SUCCESS);
}

/// Is each place the one on its way at a time, or at an end of the way, to the bit?
static bool lie_on_their_ways(const sweep_world *now, const sweep_world *wanted, double time)
{
	bool same = true;
	for (int m = 0; m < now->count; m++) {
		const sweep_mesh *at = &now->meshes[m], *way = &wanted->meshes[m];
		for (int i = 0; i < 3 * at->vertex_count; i++) {
			const double from = at->begin[i], to = way->end[i], place = from + time * (to - from);
			const double expected = time >= 1 ? to : fmin(fmax(place, fmin(from, to)), fmax(from, to));
			same = same && at->end[i] == expected;
		}
	}
	return same;
}

/// A step, and its end before the earliest impact. Returns whether it was cut short.
static bool advance_once(carom_sweep *sweep, const carom_sweep_def *def, sweep_world *world, double share, bool all)
{
	carom_sweep_hits hits;
	carom_sweep_hit hit = { 0 };
	bool found = false;
	double used = -1;
	sweep_world wanted = { .count = world->count };
	static double ends[SWEEP_MOST_MESHES][3 * 512];
	for (int m = 0; m < world->count; m++) {
		REQUIRE(world->meshes[m].vertex_count <= 512);
		wanted.meshes[m].end = ends[m];
		memcpy(ends[m], world->meshes[m].end, 3 * sizeof(double) * (size_t)world->meshes[m].vertex_count);
	}
	sweep_tell(sweep, world);
	if (all)
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
	const double asked = found ? fmin(1, share * hit.time) : 1;
	REQUIRE(carom_sweep_advance(sweep, asked, &used) == CAROM_SUCCESS);
	take_places(sweep, world);
	CHECK(used >= 0 && used <= asked);
	CHECK(found || used == 1);
	CHECK(!found || used < hit.time || used == 0);
	CHECK(lie_on_their_ways(world, &wanted, used));
	sweep_list met = sweep_find_dully(world, def);
	if (used > 0)
		CHECK_INT(met.count, 0);
	sweep_free_list(&met);
	return found;
}

static void advance_worlds(double share, double separation, carom_sweep_test test, uint64_t seed)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	int cut = 0;
	for (int round = 0; round < 40 / TEST_FEWER + 1 && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		add_meshes(&world, &seed);
		carom_sweep_def def = carom_default_sweep_def();
		def.min_separation = separation;
		def.test = test;
		def.method = (carom_sweep_method)(test_random(&seed) % 3);
		carom_sweep *sweep = sweep_load(context, &def, &world);
		for (int step = 0; step < 8; step++) {
			sweep_move(&world, 0.2, 0.1, &seed);
			cut += advance_once(sweep, &def, &world, share, step % 2);
		}
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK(cut > 20 / TEST_FEWER);
	carom_destroy_context(context);
}

TEST(advance, rounded_places_meet_nothing) { advance_worlds(0.9, 0, CAROM_SWEEP_CERTIFIED, 3); }
TEST(advance, as_far_as_is_proved) { advance_worlds(1e9, 0, CAROM_SWEEP_CERTIFIED, 4); }
TEST(advance, a_separation_is_kept) { advance_worlds(0.9, 1e-3, CAROM_SWEEP_CERTIFIED, 5); }
TEST(advance, by_inclusion_alone) { advance_worlds(0.9, 0, CAROM_SWEEP_INCLUSION, 6); }

/// A vertex that falls on a face, far from the origin, step after step: each ends at a share of the way that is left.
static void fall_far_away(double scale, double offset, double share)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	const double face[9] = { -1, -1, 0, 3, -1, 0, -1, 3, 0 }, dart[9] = { 0.1, 0.2, 1e-7, 0.5, 0, 3, 0, 0.5, 3 };
	for (int m = 0; m < 2; m++) {
		sweep_mesh *mesh = sweep_add_fan(&world, 3);
		const int32_t corners[3] = { 0, 1, 2 };
		mesh->triangle_count = 1;
		mesh->vertex_count = 3;
		memcpy(mesh->triangles, corners, sizeof corners);
		for (int i = 0; i < 9; i++)
			mesh->begin[i] = mesh->end[i] = offset + scale * (m ? dart[i] : face[i]);
	}
	carom_sweep_def def = carom_default_sweep_def();
	def.tolerance = 1e-9 * scale;
	carom_sweep *sweep = sweep_load(context, &def, &world);
	for (int step = 0; step < 200; step++) {
		sweep_mesh *m = &world.meshes[1];
		memcpy(m->begin, m->end, 9 * sizeof(double));
		for (int v = 0; v < 3; v++)
			m->end[3 * v + 2] -= scale;
		advance_once(sweep, &def, &world, share, false);
		CHECK(m->end[2] > offset);
	}
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

TEST(advance, never_falls_through_by_rounding)
{
	static const double scales[3] = { 1, 1e-4, 1e3 }, offsets[3] = { 0, 10, 3000 };
	for (int i = 0; i < 9; i++) {
		fall_far_away(scales[i % 3], offsets[i / 3], 0.99);
		fall_far_away(scales[i % 3], offsets[i / 3], 1);
	}
}

TEST(advance, what_touches_at_the_beginning_stays)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_mesh *low = sweep_add_sheet(&world, 4, 4, 1), *high = sweep_add_sheet(&world, 4, 4, 1);
	sweep_shift(high, 0.1, 0.05, 0);
	for (int i = 0; i < low->vertex_count; i++)
		high->end[3 * i + 2] -= 1;
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	sweep_tell(sweep, &world);
	carom_sweep_hit hit;
	bool found;
	double used;
	REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
	CHECK(found && hit.time == 0);
	REQUIRE(carom_sweep_advance(sweep, 1, &used) == CAROM_SUCCESS);
	CHECK(used == 0);
	take_places(sweep, &world);
	CHECK(memcmp(high->begin, high->end, 3 * sizeof(double) * (size_t)high->vertex_count) == 0);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

TEST(advance, is_alike_by_any_number_of_threads)
{
	static double places[2][3 * 25];
	double used[2];
	for (int t = 0; t < 2; t++) {
		carom_context *context = sweep_context(1 + 3 * t, CAROM_SIMD_AUTO);
		sweep_world world = { 0 };
		uint64_t random = 8;
		sweep_add_sheet(&world, 5, 5, 1);
		sweep_shift(sweep_add_sheet(&world, 5, 5, 1), 0, 0, 0.05);
		carom_sweep *sweep = sweep_load(context, NULL, &world);
		sweep_move(&world, 0.1, 0.2, &random);
		sweep_tell(sweep, &world);
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS && hits.count > 0);
		REQUIRE(carom_sweep_advance(sweep, 1, &used[t]) == CAROM_SUCCESS);
		REQUIRE(carom_sweep_get_places(sweep, 0, places[t]) == CAROM_SUCCESS);
		carom_destroy_sweep(sweep);
		carom_destroy_context(context);
		sweep_free_world(&world);
	}
	CHECK(used[0] == used[1] && used[0] > 0);
	CHECK(memcmp(places[0], places[1], sizeof places[0]) == 0);
}

TEST(advance, refuses_bad_calls)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_add_box(&world);
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	carom_sweep_hit hit;
	bool found;
	double used, places[24];
	CHECK(carom_sweep_advance(NULL, 1, &used) == CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_sweep_advance(sweep, 1, NULL), "carom_sweep_advance: used is NULL");
	fixture_expect_wrong(context, carom_sweep_advance(sweep, 1.5, &used), "carom_sweep_advance: time is 1.5, not in 0 to 1");
	fixture_expect_wrong(context, carom_sweep_advance(sweep, NAN, &used), "not in 0 to 1");
	fixture_expect_wrong(context, carom_sweep_advance(sweep, 1, &used), "carom_sweep_advance: the step was not searched");
	REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS && !found);
	CHECK(carom_sweep_advance(sweep, 1, &used) == CAROM_SUCCESS && used == 1);
	CHECK(carom_sweep_advance(sweep, 0.5, &used) == CAROM_SUCCESS && used == 0.5);
	sweep_tell(sweep, &world);
	fixture_expect_wrong(context, carom_sweep_advance(sweep, 1, &used), "carom_sweep_advance: the step was not searched");
	CHECK(carom_sweep_get_places(NULL, 0, places) == CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(
		context, carom_sweep_get_places(sweep, 1, places), "carom_sweep_get_places: mesh is 1, but there are 1");
	fixture_expect_wrong(context, carom_sweep_get_places(sweep, 0, NULL), "carom_sweep_get_places: places is NULL");
	carom_destroy_sweep(sweep);
	carom_sweep_def def = carom_default_sweep_def();
	def.test = CAROM_SWEEP_CUBIC;
	def.lab = carom_lab_sweep();
	sweep = sweep_load(context, &def, &world);
	REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
	fixture_expect_wrong(context, carom_sweep_advance(sweep, 1, &used), "CAROM_SWEEP_CUBIC, which proves nothing");
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

/// A search and its advance; a call that fails is made again from the motion on. Returns how many failed.
static int64_t advance_with_failures(fixture_heap *heap, failing_calls *calls, double *used)
{
	carom_context *context = fixture_heap_context(heap, 1);
	sweep_world world = { 0 };
	uint64_t random = 8;
	int64_t failed = 0;
	sweep_add_sheet(&world, 5, 5, 1);
	sweep_shift(sweep_add_sheet(&world, 5, 5, 1), 0, 0, 0.05);
	carom_sweep *sweep = sweep_load(context, NULL, &world);
	sweep_move(&world, 0.1, 0.2, &random);
	carom_sweep_hit hit;
	bool found;
	if (calls)
		fixture_begin_failing(heap, calls);
	do {
		sweep_tell(sweep, &world);
		while (carom_sweep_find_earliest(sweep, &hit, &found) != CAROM_SUCCESS)
			failed++;
		failed += carom_sweep_advance(sweep, 1, used) != CAROM_SUCCESS;
	} while (!(*used > 0) && failed < 3);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap->blocks), 0);
	sweep_free_world(&world);
	return failed;
}

TEST(advance, survives_every_failed_allocation)
{
	static fixture_heap heap;
	double expected, used;
	CHECK_INT(advance_with_failures(&heap, NULL, &expected), 0);
	failing_calls calls = failing_calls_of_preset();
	do {
		CHECK(advance_with_failures(&heap, &calls, &used) <= 1);
		CHECK(used == expected);
	} while (fixture_end_failing(&heap) && test_failures() == 0);
	failing_calls_free(&calls);
}
