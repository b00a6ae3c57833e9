/// Worker groups: the results of a world without them, each pair with one group for as long as its boxes overlap, and work dealt out evenly. Also that
/// temporal coherence does not depend on threads or instruction sets.
#include "moving.h"

// Pairs come and go in each step, so sanitizers have seen each stage after a few.
enum { STEPS = TEST_SEEKS_RACES ? 4 : TEST_FEWER > 1 ? 6 : 16 };

static void run(moving_scene *s, const carom_world_def *def, uint64_t hashes[STEPS])
{
	carom_body_id ids[MOVING_BODIES];
	carom_world *world = moving_world(s, def, 0, ids);
	for (int step = 0; step < STEPS; step++) {
		moving_place(s, world, ids, step);
		fixture_step(world);
		hashes[step] = carom_world_hash(world);
	}
	carom_destroy_world(world);
}

static int count_different(const uint64_t a[STEPS], const uint64_t b[STEPS])
{
	int count = 0;
	for (int step = 0; step < STEPS; step++)
		count += a[step] != b[step];
	return count;
}

static carom_world_def variant(int i)
{
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->displacement_threshold = i == 1 ? 0.05 : 0;
	def.temporal = i == 2 ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_PREDICTIVE;
	fixture_lab(&def)->stages = i == 3 ? CAROM_STAGES_NAIVE : CAROM_STAGES_LISTS;
	fixture_lab(&def)->lost_rays = i == 1 ? CAROM_LOST_DROP : CAROM_LOST_RECAST;
	return def;
}
enum { VARIANTS = 4 };

/// Each number of groups with each variant on three threads; on fewer a third of them, in which all meet
/// all others in pairs. The presets that do less take a third on three threads too, and four groups. All
/// results are those without groups.
TEST(groups, results_are_those_without_worker_groups)
{
	uint64_t none[VARIANTS][STEPS], grouped[STEPS];
	const int least = TEST_SEEKS_RACES ? 3 : 1; // the next case has two threads
	for (int threads = least; threads <= 3; threads++) {
		moving_scene s;
		moving_open(&s, fixture_context(threads), MOVING_KINDS, true);
		for (int i = 0; i < VARIANTS; i++) {
			carom_world_def def = variant(i);
			if (threads == least)
				run(&s, &def, none[i]);
			for (int groups = 1; groups <= 4; groups++) {
				if ((i + groups) % 3 != threads - 1 && !(threads == 3 && (TEST_FEWER == 1 || groups == 4)))
					continue;
				fixture_lab(&def)->worker_groups = groups;
				run(&s, &def, grouped);
				CHECK_INT(count_different(none[i], grouped), 0);
			}
		}
		moving_close(&s);
	}
}

TEST(groups, results_do_not_depend_on_threads)
{
	uint64_t first[VARIANTS][STEPS], now[STEPS];
	for (int threads = TEST_LEAST_THREADS; threads <= 3 && threads <= TEST_MOST_THREADS; threads++) {
		moving_scene s;
		moving_open(&s, fixture_context(threads), MOVING_KINDS, true);
		for (int i = 0; i < VARIANTS; i++) {
			const carom_world_def def = variant(i);
			run(&s, &def, threads == TEST_LEAST_THREADS ? first[i] : now);
			if (threads > TEST_LEAST_THREADS)
				CHECK_INT(count_different(first[i], now), 0);
		}
		moving_close(&s);
	}
}

TEST(groups, results_do_not_depend_on_instruction_sets)
{
	static const carom_simd sets[] = { CAROM_SIMD_SCALAR, CAROM_SIMD_SSE2, CAROM_SIMD_AVX2, CAROM_SIMD_AVX512, CAROM_SIMD_NEON };
	uint64_t first[2][STEPS], now[STEPS];
	int compared = 0;
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		carom_context_def def = carom_default_context_def();
		def.simd = sets[i];
		carom_context *context = NULL;
		const carom_result result = carom_create_context(&def, &context);
		if (result == CAROM_UNSUPPORTED)
			continue;
		REQUIRE(result == CAROM_SUCCESS);
		moving_scene s;
		moving_open(&s, context, MOVING_KINDS, true);
		for (int v = 0; v < 2; v++) {
			const carom_world_def world_def = variant(v);
			run(&s, &world_def, compared == 0 ? first[v] : now);
			if (compared > 0)
				CHECK_INT(count_different(first[v], now), 0);
		}
		compared++;
		moving_close(&s);
	}
	CHECK(compared > 0); // scalar is always there
}

/// Sums of the groups' counts are the world's.
TEST(groups, counts_of_worker_groups_add_up)
{
	moving_scene s;
	moving_open(&s, fixture_context(2), MOVING_KINDS, true);
	for (int i = 0; i < s.count; i++) {
		// All pairs shall be of meshes.
		if (s.shape[i].type != CAROM_MESH)
			s.shape[i] = s.shape[MOVING_FIXED];
	}
	for (int groups = 1; groups <= CAROM_MAX_WORKER_GROUPS; groups += 5) {
		carom_world_def def = carom_default_world_def();
		fixture_lab(&def)->worker_groups = groups;
		carom_body_id ids[MOVING_BODIES];
		carom_world *world = moving_world(&s, &def, 0, ids);
		CHECK_INT(carom_lab_group_stats(world, 0).pairs, 0);
		int32_t last_pairs = 0;
		for (int step = 0; step < 20 / TEST_FEWER; step++) {
			moving_place(&s, world, ids, step);
			fixture_step(world);
			const carom_stats stats = carom_world_stats(world);
			carom_group_stats sum = { 0 };
			for (int g = 0; g < groups; g++) {
				const carom_group_stats one = carom_lab_group_stats(world, g);
				CHECK(one.new_pairs >= 0 && one.new_pairs <= one.pairs);
				sum.pairs += one.pairs;
				sum.new_pairs += one.new_pairs;
				sum.rays += one.rays;
			}
			CHECK_INT(sum.pairs, stats.box_pairs);
			CHECK_INT(sum.rays, stats.rays_full + stats.rays_iterative);
			CHECK(step > 0 ? sum.pairs - sum.new_pairs <= last_pairs : sum.new_pairs == sum.pairs);
			last_pairs = sum.pairs;
		}
		CHECK_INT(carom_lab_group_stats(world, groups).pairs, 0);
		CHECK_INT(carom_lab_group_stats(world, -1).pairs, 0);
		carom_destroy_world(world);
	}
	moving_close(&s);
}

/// Bodies in a row, each touching the next; more of them come with each step.
TEST(groups, new_pairs_go_to_the_worker_group_with_the_least)
{
	enum { GROUPS = 3, BODIES = 30 };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.5, 6);
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->worker_groups = GROUPS;
	carom_world *world = fixture_world(context, &def);
	carom_body_id ids[BODIES];
	int32_t last[GROUPS] = { 0 };
	for (int i = 0; i < BODIES;) {
		for (int k = 0; k <= i % 4 && i < BODIES; k++, i++)
			ids[i] = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0.9 * i, 0, 0), CAROM_DYNAMIC);
		fixture_step(world);
		int32_t least = INT32_MAX, most = 0, sum = 0;
		for (int g = 0; g < GROUPS; g++) {
			const carom_group_stats stats = carom_lab_group_stats(world, g);
			CHECK_INT(stats.pairs - stats.new_pairs, last[g]); // what a group has it keeps
			last[g] = stats.pairs;
			least = stats.pairs < least ? stats.pairs : least;
			most = stats.pairs > most ? stats.pairs : most;
			sum += stats.pairs;
		}
		CHECK(most - least <= 1);
		CHECK_INT(sum, i - 1);
	}
	// Take every third pair away at both its ends: the group it was with gets the next new ones, the others keep theirs.
	const carom_pose far = fixture_at(0, 500, 0);
	REQUIRE(carom_world_set_pose(world, ids[BODIES - 1], &far) == CAROM_SUCCESS);
	fixture_step(world);
	int lost = -1;
	for (int g = 0; g < GROUPS; g++) {
		const carom_group_stats stats = carom_lab_group_stats(world, g);
		CHECK_INT(stats.new_pairs, 0);
		CHECK(stats.pairs == last[g] || stats.pairs == last[g] - 1);
		if (stats.pairs != last[g])
			lost = g;
		last[g] = stats.pairs;
	}
	REQUIRE(lost >= 0);
	const carom_pose back = fixture_at(0.9 * (BODIES - 1), 0, 0);
	REQUIRE(carom_world_set_pose(world, ids[BODIES - 1], &back) == CAROM_SUCCESS);
	fixture_step(world);
	int32_t new_pairs = 0, least = INT32_MAX, group = -1;
	for (int g = 0; g < GROUPS; g++) {
		const carom_group_stats stats = carom_lab_group_stats(world, g);
		new_pairs += stats.new_pairs;
		if (stats.new_pairs)
			group = g;
		least = last[g] < least ? last[g] : least;
	}
	CHECK_INT(new_pairs, 1);
	CHECK_INT(last[group], least);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(groups, too_many_worker_groups_are_refused)
{
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	carom_world *world = NULL;
	fixture_lab(&def)->worker_groups = CAROM_MAX_WORKER_GROUPS + 1;
	CHECK_INT(carom_create_world(context, &def, &world), CAROM_INVALID_ARGUMENT);
	fixture_lab(&def)->worker_groups = -1;
	CHECK_INT(carom_create_world(context, &def, &world), CAROM_INVALID_ARGUMENT);
	carom_destroy_context(context);
}
