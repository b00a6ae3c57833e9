// Edges and triangles that cross at the end of a step, against all pairs by exact tests; and bounds on what a search finds.
#include "fixture.h"
#include "geom/triangle.h"
#include "sweep_fixture.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CROSSINGS = 200000 };

static v3d place(const sweep_mesh *m, int32_t v) { return v3d_from_doubles(&m->end[3 * v]); }

static bool do_meet(const sweep_world *world, int a, int b)
{
	const sweep_mesh *p = &world->meshes[a], *q = &world->meshes[b];
	if (a == b)
		return p->self && !p->is_rigid;
	if (p->is_rigid && q->is_rigid)
		return false;
	if (p->group && p->group == q->group)
		return p->group > 0;
	return (p->category & q->mask) && (q->category & p->mask);
}

static bool is_degenerate(const int32_t *t) { return t[0] == t[1] || t[1] == t[2] || t[2] == t[0]; }

/// Is a side of a triangle the first that has its two ends?
static bool is_first_side(const sweep_mesh *m, int32_t triangle, int32_t low, int32_t high)
{
	for (int32_t i = 0; i < triangle; i++) {
		const int32_t *t = &m->triangles[3 * i];
		const bool has_low = t[0] == low || t[1] == low || t[2] == low, has_high = t[0] == high || t[1] == high || t[2] == high;
		if (!is_degenerate(t) && has_low && has_high)
			return false;
	}
	return true;
}

/// The triangles of b that a side meets.
static int64_t cross_side(const sweep_world *world, int a, int b, int32_t low, int32_t high, carom_sweep_crossing *to)
{
	const sweep_mesh *p = &world->meshes[a], *q = &world->meshes[b];
	int64_t count = 0;
	for (int32_t i = 0; i < q->triangle_count; i++) {
		const int32_t *t = &q->triangles[3 * i];
		bool shares = is_degenerate(t);
		for (int k = 0; k < 3; k++)
			shares = shares || (a == b && (t[k] == low || t[k] == high));
		const v3d corners[3] = { place(q, t[0]), place(q, t[1]), place(q, t[2]) };
		if (!shares && cr_segment_meets_triangle(place(p, low), place(p, high), corners))
			to[count++] = (carom_sweep_crossing){ a, b, { low, high }, i };
	}
	return count;
}

static int compare(const void *a, const void *b)
{
	const carom_sweep_crossing *x = a, *y = b;
	const int32_t of_x[5] = { x->mesh_a, x->mesh_b, x->vertices[0], x->vertices[1], x->triangle };
	const int32_t of_y[5] = { y->mesh_a, y->mesh_b, y->vertices[0], y->vertices[1], y->triangle };
	for (int k = 0; k < 5; k++) {
		if (of_x[k] != of_y[k])
			return of_x[k] < of_y[k] ? -1 : 1;
	}
	return 0;
}

/// All pairs, tried one by one.
static int64_t cross_dully(const sweep_world *world, carom_sweep_crossing *to)
{
	int64_t count = 0;
	for (int a = 0; a < world->count; a++) {
		const sweep_mesh *m = &world->meshes[a];
		for (int32_t i = 0; i < 3 * m->triangle_count; i++) {
			const int32_t *t = &m->triangles[i - i % 3], u = t[i % 3], v = t[(i + 1) % 3];
			const int32_t low = u < v ? u : v, high = u < v ? v : u;
			if (is_degenerate(t) || !is_first_side(m, i / 3, low, high))
				continue;
			for (int b = 0; b < world->count; b++)
				count += do_meet(world, a, b) ? cross_side(world, a, b, low, high, to + count) : 0;
		}
	}
	qsort(to, (size_t)count, sizeof *to, compare);
	return count;
}

static void check_crossings(carom_sweep *sweep, const sweep_world *world, int64_t *total)
{
	static carom_sweep_crossing expected[MOST_CROSSINGS];
	carom_sweep_crossings found;
	REQUIRE(carom_sweep_find_crossings(sweep, &found) == CAROM_SUCCESS);
	const int64_t count = cross_dully(world, expected);
	if (CHECK_INT(found.count, count) && count > 0)
		CHECK(memcmp(found.data, expected, (size_t)count * sizeof *expected) == 0);
	*total += count;
}

/// Random worlds; some places on a coarse grid, so that features touch and lie in one plane.
TEST(crossings, equal_those_of_all_pairs)
{
	carom_context *context = sweep_context(3, CAROM_SIMD_AUTO);
	uint64_t random = 11;
	int64_t total = 0;
	for (int round = 0; round < 40 / TEST_FEWER && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		for (int i = 0; i < 3; i++) {
			sweep_mesh *mesh = sweep_add_random(&world, &random);
			mesh->self = test_random(&random) % 4 != 0;
			mesh->is_rigid = test_random(&random) % 5 == 0;
			mesh->group = (int32_t)(test_random(&random) % 3) - 1;
			sweep_shift(mesh, test_random_double(&random, -1, 1), test_random_double(&random, -1, 1), 0.2 * i);
		}
		carom_sweep_def def = carom_default_sweep_def();
		def.orphan_sets = test_random(&random) % 2;
		def.min_separation = test_random(&random) % 2 ? 0.05 : 0;
		carom_sweep *sweep = sweep_load(context, &def, &world);
		check_crossings(sweep, &world, &total);
		for (int step = 0; step < 3; step++) {
			sweep_move(&world, 0.2, 0.3, &random);
			for (int m = 0; m < world.count && step == 1; m++) {
				for (int i = 0; i < 3 * world.meshes[m].vertex_count; i++)
					world.meshes[m].end[i] = rint(4 * world.meshes[m].end[i]) / 4;
			}
			for (int m = 0; m < world.count; m++) { // rigid ones that rest are told as well
				const carom_strided end = { world.meshes[m].end, 0, CAROM_FLOAT64 };
				REQUIRE(carom_sweep_move_mesh(sweep, m, &end) == CAROM_SUCCESS);
			}
			check_crossings(sweep, &world, &total);
		}
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK(total > 3000 / TEST_FEWER);
	carom_destroy_context(context);
}

/// A look at the state between motion and search, and after it, changes nothing of either.
TEST(crossings, leave_the_step_as_it_is)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	uint64_t random = 12;
	sweep_world world = { 0 };
	sweep_add_torus(&world, 12, 8);
	sweep_shift(sweep_add_sheet(&world, 8, 8, 2), 0, 0, 0.3);
	const carom_sweep_def def = carom_default_sweep_def();
	carom_sweep *sweep = sweep_load(context, &def, &world);
	for (int step = 0; step < 6; step++) {
		sweep_move(&world, 0.1, 0.1, &random);
		sweep_tell(sweep, &world);
		carom_sweep_crossings found;
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find_crossings(sweep, &found) == CAROM_SUCCESS);
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		sweep_list expected = sweep_find_dully(&world, &def);
		sweep_check_same(hits.data, hits.count, &expected, "after a look");
		sweep_free_list(&expected);
		CHECK(step == 0 || carom_sweep_get_stats(sweep).front_kept > 0);
		const int64_t before = found.count;
		REQUIRE(carom_sweep_find_crossings(sweep, &found) == CAROM_SUCCESS);
		CHECK_INT(found.count, before);
	}
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

/// An edge through the middle of a face far from all vertices; and a triangle through its neighbour's opposite side.
TEST(crossings, of_neighbours_and_of_spikes)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	double places[8][3] = { { -9, -9, 0 }, { 9, -9, 0 }, { 0, 9, 0 }, { 0, 0, -1 }, { 0, 0, 1 }, { 0.2, 0.1, 1.5 },
		{ 0, -1, 1 }, { 0, -1, -1 } };
	const int32_t triangles[3][3] = { { 0, 1, 2 }, { 3, 4, 5 }, { 0, 6, 7 } };
	carom_sweep *sweep;
	REQUIRE(carom_create_sweep(context, NULL, &sweep) == CAROM_SUCCESS);
	carom_sweep_crossings found;
	CHECK(carom_sweep_find_crossings(sweep, &found) == CAROM_SUCCESS && found.count == 0 && found.data == NULL);
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	def.vertex_count = 8;
	def.triangles = triangles[0];
	def.triangle_count = 3;
	int32_t mesh;
	REQUIRE(carom_sweep_add_mesh(sweep, &def, &mesh) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_find_crossings(sweep, &found) == CAROM_SUCCESS);
	REQUIRE(CHECK_INT(found.count, 3));
	const carom_sweep_crossing expected[3] = { { 0, 0, { 3, 4 }, 0 }, { 0, 0, { 3, 5 }, 0 }, { 0, 0, { 6, 7 }, 0 } };
	CHECK(memcmp(found.data, expected, sizeof expected) == 0);
	CHECK(carom_sweep_find_crossings(NULL, &found) == CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_sweep_find_crossings(sweep, NULL), "carom_sweep_find_crossings: crossings is NULL");
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
}

TEST(crossings, a_bound_is_never_exceeded_in_silence)
{
	for (int threads = 1; threads <= 3; threads += 2) {
		carom_context *context = sweep_context(threads, CAROM_SIMD_AUTO);
		uint64_t random = 13;
		sweep_world world = { 0 };
		sweep_add_torus(&world, 10, 6);
		sweep_add_sheet(&world, 8, 8, 3);
		sweep_move(&world, 0, 0.3, &random);
		carom_sweep_def def = carom_default_sweep_def();
		int64_t hit_count = 0, crossing_count = 0;
		for (int bounded = 0; bounded < 3; bounded++) {
			carom_sweep *sweep = sweep_load(context, &def, &world);
			sweep_tell(sweep, &world);
			carom_sweep_hits hits;
			carom_sweep_crossings found;
			char text[64];
			const carom_result result = carom_sweep_find(sweep, &hits);
			snprintf(
				text, sizeof text, "there are %lld impacts; max_hits is %lld", (long long)hit_count, (long long)def.max_hits);
			if (bounded == 1) {
				fixture_expect_error(context, result, CAROM_OVER_BUDGET, text);
				carom_sweep_hit hit;
				bool is_found;
				CHECK(hits.count == 0 && hits.data == NULL);
				CHECK(carom_sweep_find_earliest(sweep, &hit, &is_found) == CAROM_SUCCESS && is_found);
			} else
				REQUIRE(result == CAROM_SUCCESS);
			hit_count = bounded == 0 ? hits.count : hit_count;
			const carom_result crossed = carom_sweep_find_crossings(sweep, &found);
			if (bounded == 1)
				fixture_expect_error(context, crossed, CAROM_OVER_BUDGET, "crossings; max_hits is 5");
			crossing_count = bounded == 0 ? found.count : crossing_count;
			CHECK(hit_count > 5 && crossing_count > 5);
			def.max_hits = bounded == 0 ? 5 : hit_count > crossing_count ? hit_count : crossing_count;
			carom_destroy_sweep(sweep);
		}
		carom_destroy_context(context);
		sweep_free_world(&world);
	}
}

TEST(crossings, survive_every_failed_allocation)
{
	static fixture_heap heap;
	failing_calls calls = failing_calls_of_preset();
	int64_t failed = 0;
	do {
		carom_context *context = fixture_heap_context(&heap, 1);
		sweep_world world = { 0 };
		int64_t total = 0;
		sweep_add_torus(&world, 10, 6);
		sweep_add_sheet(&world, 8, 8, 3);
		carom_sweep *sweep = sweep_load(context, NULL, &world);
		fixture_begin_failing(&heap, &calls);
		carom_sweep_crossings found;
		carom_result result = carom_sweep_find_crossings(sweep, &found);
		CHECK(result == CAROM_SUCCESS || (result == CAROM_OUT_OF_MEMORY && found.count == 0));
		failed += result != CAROM_SUCCESS;
		const bool over = !fixture_end_failing(&heap);
		check_crossings(sweep, &world, &total);
		carom_destroy_sweep(sweep);
		carom_destroy_context(context);
		CHECK_INT(atomic_load(&heap.blocks), 0);
		sweep_free_world(&world);
		if (over)
			break;
	} while (test_failures() == 0);
	CHECK(failed > 5 / TEST_STRIDE);
	failing_calls_free(&calls);
}
