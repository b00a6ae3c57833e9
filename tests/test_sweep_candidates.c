// Pairs that may come near during a step, against the filters and the nearest distance of each pair.
#include "fixture.h"
#include "sweep_fixture.h"
#include "test.h"

#include <math.h>
#include <string.h>

static int compare(const carom_sweep_candidate *a, const carom_sweep_hit *b)
{
	const int32_t p[7] = { (int32_t)a->kind, a->mesh_a, a->mesh_b, a->vertices[0], a->vertices[1], a->vertices[2],
		a->vertices[3] };
	const int32_t q[7] = { (int32_t)b->kind, b->mesh_a, b->mesh_b, b->vertices[0], b->vertices[1], b->vertices[2],
		b->vertices[3] };
	int order = 0;
	for (int k = 0; k < 7 && order == 0; k++)
		order = p[k] < q[k] ? -1 : p[k] > q[k];
	return order ? order : a->triangle < b->triangle ? -1 : a->triangle > b->triangle;
}

/// Are all impacts with a separation of the distance among the candidates, which are in order?
static void check_holds(const carom_sweep_candidates *candidates, const sweep_list *hits)
{
	int64_t at = 0;
	for (int64_t i = 0; i < hits->count; i++) {
		while (at < candidates->count && compare(&candidates->data[at], &hits->data[i]) < 0)
			at++;
		if (!CHECK(at < candidates->count && compare(&candidates->data[at], &hits->data[i]) == 0))
			return;
	}
}

/// The lists of one scene by all methods are alike and hold all that comes near; impacts after them are those of before.
static void search_world(carom_context *context, sweep_world *world, double distance, uint64_t *random, int64_t counts[2])
{
	carom_sweep *sweeps[3];
	carom_sweep_def def = carom_default_sweep_def(), wide = def;
	wide.min_separation = distance;
	for (int i = 0; i < 3; i++) {
		def.method = (carom_sweep_method)i;
		def.orphan_sets = i != 1;
		def.relative_separation = i == 2 ? 0.2 : 0; // does not count
		sweeps[i] = sweep_load(context, &def, world);
	}
	for (int step = 0; step < 3; step++) {
		sweep_move(world, 0.1, 0.05, random);
		sweep_list near = sweep_find_dully(world, &wide);
		carom_sweep_candidates first = { 0 };
		for (int i = 0; i < 3; i++) {
			carom_sweep_candidates found;
			sweep_tell(sweeps[i], world);
			REQUIRE(carom_sweep_find_candidates(sweeps[i], distance, &found) == CAROM_SUCCESS);
			check_holds(&found, &near);
			first = i == 0 ? found : first;
			if (CHECK_INT(found.count, first.count) && found.count > 0)
				CHECK(memcmp(found.data, first.data, (size_t)found.count * sizeof *found.data) == 0);
		}
		counts[0] += near.count;
		counts[1] += first.count;
		carom_sweep_hits hits;
		def = carom_default_sweep_def();
		sweep_list expected = sweep_find_dully(world, &def);
		REQUIRE(carom_sweep_find(sweeps[0], &hits) == CAROM_SUCCESS);
		sweep_check_same(hits.data, hits.count, &expected, "after candidates");
		sweep_free_list(&expected);
		sweep_free_list(&near);
	}
	for (int i = 0; i < 3; i++)
		carom_destroy_sweep(sweeps[i]);
}

TEST(sweep_candidates, hold_all_that_comes_near)
{
	carom_context *context = sweep_context(3, CAROM_SIMD_AUTO);
	uint64_t random = 31;
	int64_t counts[2] = { 0, 0 };
	for (int round = 0; round < 20 / TEST_FEWER + 1 && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		for (int i = 0; i < 3; i++) {
			sweep_mesh *mesh = sweep_add_random(&world, &random);
			mesh->self = test_random(&random) % 3 != 0;
			mesh->is_rigid = test_random(&random) % 5 == 0;
			sweep_shift(mesh, test_random_double(&random, -1, 1), test_random_double(&random, -1, 1), 0.25 * i);
		}
		search_world(context, &world, round % 2 ? 0.1 : 0.01, &random, counts);
		sweep_free_world(&world);
	}
	CHECK(counts[0] > 1000 / TEST_FEWER && counts[1] < 4 * counts[0]);
	carom_destroy_context(context);
}

TEST(sweep_candidates, are_bounded_and_refuse_bad_calls)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_add_sheet(&world, 5, 5, 1);
	sweep_shift(sweep_add_sheet(&world, 5, 5, 1), 0, 0, 0.05);
	carom_sweep_def def = carom_default_sweep_def();
	def.max_hits = 7;
	carom_sweep *sweep = sweep_load(context, &def, &world);
	carom_sweep_candidates found;
	fixture_expect_error(
		context, carom_sweep_find_candidates(sweep, 0.1, &found), CAROM_OVER_BUDGET, "candidates; max_hits is 7");
	CHECK(found.count == 0 && found.data == NULL);
	CHECK(carom_sweep_find_candidates(sweep, 0.01, &found) == CAROM_SUCCESS && found.count == 0);
	CHECK(carom_sweep_find_candidates(NULL, 0.1, &found) == CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_sweep_find_candidates(sweep, 0.1, NULL), "candidates is NULL");
	fixture_expect_wrong(context, carom_sweep_find_candidates(sweep, 0, &found), "distance is 0, not above 0");
	fixture_expect_wrong(context, carom_sweep_find_candidates(sweep, NAN, &found), "distance is nan, not above 0");
	carom_destroy_sweep(sweep);
	REQUIRE(carom_create_sweep(context, NULL, &sweep) == CAROM_SUCCESS);
	CHECK(carom_sweep_find_candidates(sweep, 0.1, &found) == CAROM_SUCCESS && found.count == 0);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	sweep_free_world(&world);
}

TEST(sweep_candidates, survive_every_failed_allocation)
{
	static fixture_heap heap;
	failing_calls calls = failing_calls_of_preset();
	int64_t count = -1, failed = 0;
	do {
		carom_context *context = fixture_heap_context(&heap, 1);
		sweep_world world = { 0 };
		sweep_add_torus(&world, 10, 6);
		sweep_add_sheet(&world, 8, 8, 3);
		carom_sweep *sweep = sweep_load(context, NULL, &world);
		fixture_begin_failing(&heap, &calls);
		carom_sweep_candidates found;
		const carom_result result = carom_sweep_find_candidates(sweep, 0.2, &found);
		CHECK(result == CAROM_SUCCESS || (result == CAROM_OUT_OF_MEMORY && found.count == 0));
		failed += result != CAROM_SUCCESS;
		const bool over = !fixture_end_failing(&heap);
		REQUIRE(carom_sweep_find_candidates(sweep, 0.2, &found) == CAROM_SUCCESS);
		CHECK(count < 0 || found.count == count);
		count = found.count;
		carom_destroy_sweep(sweep);
		carom_destroy_context(context);
		CHECK_INT(atomic_load(&heap.blocks), 0);
		sweep_free_world(&world);
		if (over)
			break;
	} while (test_failures() == 0);
	CHECK(count > 0 && failed > 5 / TEST_STRIDE);
	failing_calls_free(&calls);
}
