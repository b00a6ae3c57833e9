// The front of a swept scene over sequences of steps: what it saves, how it grows, shrinks, is rebuilt, or is too large.
#include "sweep_fixture.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static carom_sweep_hits find(carom_sweep *sweep)
{
	carom_sweep_hits hits;
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	return hits;
}

/// Two sheets and a torus that rise and fall through each other; the step is one of a period of 40.
static void make_scene(sweep_world *world)
{
	sweep_add_sheet(world, 24, 24, 3);
	sweep_shift(sweep_add_sheet(world, 20, 20, 2), 0, 0, 1);
	sweep_shift(sweep_add_torus(world, 20, 12), 0, 0, -1);
}

static void move_scene(sweep_world *world, int step)
{
	for (int m = 0; m < world->count; m++) {
		sweep_mesh *mesh = &world->meshes[m];
		memcpy(mesh->begin, mesh->end, 3 * (size_t)mesh->vertex_count * sizeof *mesh->begin);
		for (int32_t i = 0; i < mesh->vertex_count; i++) {
			double *p = &mesh->end[3 * i];
			const double phase = 0.157 * step + 0.5 * p[0];
			p[2] += (m == 0 ? 0.05 : m == 1 ? -0.09 : 0.08) * cos(phase) + 0.002 * sin(7 * p[1] + step);
			p[0] += 0.01 * cos(0.157 * step) * sin(5 * p[1]);
		}
	}
}

TEST(sweep_front, finds_what_the_root_finds_and_tests_less)
{
	enum { STEPS = 80 };
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	for (int choice = 0; choice < 3; choice++) {
		const int prune = choice == 1;
		carom_sweep_def def = carom_default_sweep_def();
		def.prune_front = prune;
		// What a pair of leaves answers for, which the front remembers, is another matter without orphan sets.
		def.orphan_sets = choice < 2;
		sweep_world world = { 0 };
		make_scene(&world);
		def.method = CAROM_SWEEP_FRONT;
		carom_sweep *by_front = sweep_load(context, &def, &world);
		def.method = CAROM_SWEEP_BVH;
		carom_sweep *by_root = sweep_load(context, &def, &world);
		int64_t tests[2] = { 0 }, front = 0, total = 0;
		for (int step = 0; step < STEPS; step++) {
			move_scene(&world, step);
			sweep_tell(by_front, &world);
			sweep_tell(by_root, &world);
			const carom_sweep_hits root = find(by_root), hits = find(by_front);
			sweep_list expected = sweep_copy_hits(&root);
			sweep_check_same(hits.data, hits.count, &expected, "front");
			sweep_free_list(&expected);
			const carom_sweep_stats stats = carom_sweep_get_stats(by_front), plain = carom_sweep_get_stats(by_root);
			if (step > 0) {
				tests[0] += stats.volume_tests;
				tests[1] += plain.volume_tests;
			}
			total += hits.count;
			CHECK_INT(stats.leaf_pairs, plain.leaf_pairs);
			CHECK_INT(stats.tests_vf + stats.tests_ee, plain.tests_vf + plain.tests_ee);
			CHECK_INT(plain.front, 0);
			CHECK(stats.front > 0 && !stats.front_over_budget);
			if (step > 0 && !stats.front_rebuilt) {
				// L(i+1) = L(i) + S - B, and each of B left at least two behind: it was apart when it came, so that no adjacent
				// pair of leaves is below it.
				const int64_t replaced = front - stats.front_kept;
				CHECK_INT(stats.front, stats.front_kept + stats.front_sprouted - stats.front_pruned);
				CHECK(replaced >= 0 && stats.front_sprouted >= 2 * replaced);
			}
			if (!prune)
				CHECK_INT(stats.front_pruned, 0);
			front = stats.front;
		}
		CHECK(total > 1000);
		// The paper saves 37 to 47 of a hundred tests.
		CHECK((double)tests[0] < 0.65 * (double)tests[1]);
		carom_destroy_sweep(by_front);
		carom_destroy_sweep(by_root);
		sweep_free_world(&world);
	}
	carom_destroy_context(context);
}

/// Two sheets, one of them bent, meet and part; the front at the beginning, when they were met, and when they have parted for some time.
static void meet_and_part(const carom_sweep_def *def, int64_t front[3], int *rebuilt, int *over)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_add_sheet(&world, 24, 24, 3);
	sweep_mesh *bent = sweep_add_sheet(&world, 24, 24, 3);
	for (int32_t i = 0; i < bent->vertex_count; i++)
		bent->begin[3 * i + 2] = bent->end[3 * i + 2] = 2 - 0.3 * bent->begin[3 * i] * bent->begin[3 * i];
	carom_sweep *sweep = sweep_load(context, def, &world);
	carom_sweep_def dull = *def;
	dull.method = CAROM_SWEEP_BVH;
	carom_sweep *by_root = sweep_load(context, &dull, &world);
	*rebuilt = *over = 0;
	for (int step = 0; step < 48; step++) {
		sweep_mesh *mesh = &world.meshes[1];
		memcpy(mesh->begin, mesh->end, 3 * (size_t)mesh->vertex_count * sizeof *mesh->begin);
		for (int32_t i = 0; i < mesh->vertex_count && step > 0 && step < 41; i++)
			mesh->end[3 * i + 2] += step <= 20 ? -0.1 : 0.1;
		sweep_tell(sweep, &world);
		sweep_tell(by_root, &world);
		const carom_sweep_hits root = find(by_root), hits = find(sweep);
		sweep_list expected = sweep_copy_hits(&root);
		sweep_check_same(hits.data, hits.count, &expected, "meet and part");
		sweep_free_list(&expected);
		const carom_sweep_stats stats = carom_sweep_get_stats(sweep);
		*rebuilt += stats.front_rebuilt;
		*over += stats.front_over_budget;
		CHECK(!stats.front_over_budget || (stats.front == 0 && stats.bytes_front == 0));
		CHECK(def->front_budget == 0 || (size_t)stats.front * 8 <= def->front_budget);
		if (step == 0 || step == 20)
			front[step / 20] = stats.front;
		front[2] = stats.front;
	}
	carom_destroy_sweep(sweep);
	carom_destroy_sweep(by_root);
	sweep_free_world(&world);
	carom_destroy_context(context);
}

TEST(sweep_front, pruning_and_rebuilding_shrink_it)
{
	int64_t front[3];
	int rebuilt, over;
	carom_sweep_def def = carom_default_sweep_def();
	meet_and_part(&def, front, &rebuilt, &over);
	CHECK(front[1] > front[0] + front[0] / 4);
	CHECK(front[2] < front[0] + front[0] / 3); // pruned until a quarter is stale, as samples tell
	CHECK_INT(rebuilt, 0);
	def.prune_front = false;
	meet_and_part(&def, front, &rebuilt, &over);
	CHECK(rebuilt >= 1);
	CHECK(rebuilt < 20);
	def.rebuild_sprouted = def.rebuild_replaced = INFINITY;
	meet_and_part(&def, front, &rebuilt, &over);
	CHECK(front[2] >= front[1]); // nothing shrinks it
	CHECK_INT(rebuilt, 0);
	def.rebuild_replaced = 0;
	meet_and_part(&def, front, &rebuilt, &over);
	CHECK(rebuilt >= 2);
	CHECK_INT(over, 0);
}

TEST(sweep_front, beyond_its_budget_the_root_takes_over)
{
	int64_t front[3];
	int rebuilt, over;
	carom_sweep_def def = carom_default_sweep_def();
	def.front_budget = 64;
	meet_and_part(&def, front, &rebuilt, &over);
	CHECK_INT(over, 48);
	def.front_budget = 0;
	meet_and_part(&def, front, &rebuilt, &over);
	CHECK_INT(over, 0);
	// Room for the front of the sheets apart, not for that of the sheets together: lost for a time, then held again.
	// (8 bytes a node, 12 a pair of leaves.)
	def.front_budget = (size_t)(front[0] + (front[1] - front[0]) / 2) * 10;
	CHECK(front[0] * 4 < front[1] * 3);
	meet_and_part(&def, front, &rebuilt, &over);
	CHECK(over > 2 && over < 40);
	CHECK(front[0] > 0);
	CHECK_INT(front[1], 0);
	CHECK(front[2] > 0);
}

/// Where everything leaps, what the leaps leave behind is found by samples and the front is rebuilt: it never takes many more tests than the root.
TEST(sweep_front, leaps_cost_no_more_than_the_root)
{
	enum { STEPS = TEST_FEWER > 1 ? 12 : 60, PERIOD = 6 };
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	int64_t tests[2] = { 0 };
	int rebuilt = 0;
	for (int method = 0; method < 2; method++) {
		carom_sweep_def def = carom_default_sweep_def();
		def.method = method ? CAROM_SWEEP_BVH : CAROM_SWEEP_FRONT;
		sweep_world world = { 0 };
		uint64_t random = 12;
		sweep_add_sheet(&world, 30, 30, 2);
		sweep_add_torus(&world, 24, 12);
		carom_sweep *sweep = sweep_load(context, &def, &world);
		for (int step = 0; step < STEPS; step++) {
			// Vertices leap over the whole sheet and back, then everything moves a little.
			sweep_mesh *sheet = &world.meshes[0];
			sweep_move(&world, 0.01, 0, &random);
			for (int32_t i = 0; i < 3 * sheet->vertex_count && step % PERIOD < 2; i++)
				sheet->end[i] = step % PERIOD == 0 ? sheet->begin[i] * (1 + i % 5) : sheet->begin[i] / (1 + i % 5);
			sweep_tell(sweep, &world);
			find(sweep);
			const carom_sweep_stats stats = carom_sweep_get_stats(sweep);
			tests[method] += stats.volume_tests;
			rebuilt += stats.front_rebuilt;
		}
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK(rebuilt >= STEPS / PERIOD / 2);
	CHECK((double)tests[0] < 1.05 * (double)tests[1]);
	carom_destroy_context(context);
}

/// Counters are sums over all workers: of the same work.
TEST(sweep_front, threads_change_no_counter)
{
	for (int method = 0; method < 5; method++) {
		carom_sweep_stats first[12];
		for (int threads = 1; threads <= 5 && threads <= TEST_MOST_THREADS; threads += 2) {
			carom_context *context = sweep_context(threads, CAROM_SIMD_AUTO);
			carom_sweep_def def = carom_default_sweep_def();
			def.method = (carom_sweep_method)method;
			sweep_world world = { 0 };
			make_scene(&world);
			carom_sweep *sweep = sweep_load(context, &def, &world);
			for (int step = 0; step < 12; step++) {
				move_scene(&world, step);
				sweep_tell(sweep, &world);
				find(sweep);
				const carom_sweep_stats stats = carom_sweep_get_stats(sweep);
				if (threads == 1)
					first[step] = stats;
				CHECK_INT(stats.volume_tests, first[step].volume_tests);
				CHECK_INT(stats.front, first[step].front);
				CHECK_INT(stats.front_kept, first[step].front_kept);
				CHECK_INT(stats.front_sprouted, first[step].front_sprouted);
				CHECK_INT(stats.front_pruned, first[step].front_pruned);
				CHECK_INT(stats.leaf_pairs, first[step].leaf_pairs);
				CHECK_INT(stats.adjacent_pairs, first[step].adjacent_pairs);
				CHECK_INT(stats.tests_vf, first[step].tests_vf);
				CHECK_INT(stats.tests_ee, first[step].tests_ee);
				CHECK_INT(stats.filtered, first[step].filtered);
			}
			carom_destroy_sweep(sweep);
			sweep_free_world(&world);
			carom_destroy_context(context);
		}
	}
}

/// A fan has as many orphans as pairs of triangles. None is listed where the mesh does not meet itself.
TEST(sweep_front, meshes_that_do_not_meet_themselves_have_no_orphans)
{
	enum { COUNT = 60 };
	static double places[3 * (COUNT + 1)];
	static int32_t triangles[3 * COUNT];
	for (int32_t i = 0; i < COUNT; i++) {
		places[3 * i] = cos(6.283185307179586 * i / COUNT);
		places[3 * i + 1] = sin(6.283185307179586 * i / COUNT);
		triangles[3 * i] = COUNT;
		triangles[3 * i + 1] = i;
		triangles[3 * i + 2] = (i + 1) % COUNT;
	}
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	for (int choice = 0; choice < 3; choice++) {
		carom_sweep *sweep;
		carom_sweep_hits hits;
		int32_t mesh;
		carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
		def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
		def.vertex_count = COUNT + 1;
		def.triangles = triangles;
		def.triangle_count = COUNT;
		def.self = choice > 0;
		def.is_rigid = choice == 1;
		REQUIRE(carom_create_sweep(context, NULL, &sweep) == CAROM_SUCCESS);
		REQUIRE(carom_sweep_add_mesh(sweep, &def, &mesh) == CAROM_SUCCESS);
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		const carom_sweep_stats stats = carom_sweep_get_stats(sweep);
		if (choice < 2)
			CHECK_INT(stats.orphans_vf + stats.orphans_ee, 0);
		else
			CHECK(stats.orphans_vf == COUNT * (COUNT - 2) && stats.orphans_ee > COUNT);
		carom_destroy_sweep(sweep);
	}
	carom_destroy_context(context);
}

/// Adjacent pairs need no place in the front, and a few orphans stand for all their tests.
TEST(sweep_front, orphan_sets_take_the_place_of_adjacent_pairs)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_sweep_stats stats[2];
	sweep_list lists[2];
	for (int orphans = 0; orphans < 2; orphans++) {
		carom_sweep_def def = carom_default_sweep_def();
		def.orphan_sets = orphans;
		sweep_world world = { 0 };
		sweep_add_sheet(&world, 65, 65, 1);
		uint64_t random = 1;
		sweep_move(&world, 0.1, 0.02, &random);
		carom_sweep *sweep = sweep_load(context, &def, &world);
		sweep_tell(sweep, &world);
		const carom_sweep_hits hits = find(sweep);
		lists[orphans] = sweep_copy_hits(&hits);
		stats[orphans] = carom_sweep_get_stats(sweep);
		CHECK_INT(stats[orphans].adjacent_pairs, 48133); // counted by a program of its own
		// Less than a fifth of a hundredth of the 15 tests of each adjacent pair.
		CHECK_INT(stats[orphans].orphans_vf + stats[orphans].orphans_ee, 266 + 1018);
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK_INT(stats[0].leaf_pairs, stats[1].leaf_pairs);
	CHECK_INT(stats[0].front - stats[1].front, 48133);
	CHECK(lists[0].count > 100);
	sweep_check_same(lists[1].data, lists[1].count, &lists[0], "orphans");
	sweep_free_list(&lists[0]);
	sweep_free_list(&lists[1]);
	carom_destroy_context(context);
}
