/// The sort by cell, and the detectors "grid" and "levels": against dull oracles, for any number of threads and any instruction set, on
/// distributions that grids are bad at, and when memory fails.
#include "fixture.h"
#include "spheres/cell_grid.h"
#include "spheres/level_grid.h"
#include "spheres/sphere_kernels.h"
#include "spheres_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct named_detector {
	const char *name;
	const cr_sphere_detector *detector;
	double (*expected_tests)(const cr_sphere_set *set);
} named_detector;

static const named_detector DETECTORS[] = { { "grid", &cr_grid_detector, cr_grid_expected_tests },
	{ "levels", &cr_levels_detector, cr_levels_expected_tests } };
enum { GRID, LEVELS, DETECTOR_COUNT };

static void *must_have(size_t size)
{
	void *memory = malloc(size ? size : 1);
	REQUIRE(memory);
	return memory;
}

/// Build and find; returns the number of distances computed. A failure ends the case.
static int64_t count_tests(const cr_sphere_detector *detector, const cr_sphere_set *set)
{
	void *state = NULL;
	int64_t tests = -1;
	fixture_collector *collector = fixture_make_collector();
	REQUIRE(detector->build(&state, set) == CAROM_SUCCESS);
	REQUIRE(detector->find(state, set, &collector->sink, &tests) == CAROM_SUCCESS);
	detector->release(set->context, state);
	fixture_free_collector(collector);
	return tests;
}

// ---- The sort ----

/// Cells without a meaning: from the bits of the centre, some of them crowded.
typedef struct odd_map {
	uint32_t cells;
} odd_map;

static uint32_t odd_cell(const odd_map *map, const cr_sphere *s)
{
	uint32_t bits;
	memcpy(&bits, &s->x, sizeof bits);
	const uint32_t cell = (uint32_t)(fixture_mix(bits) % map->cells);
	return bits % 3 == 0 ? cell / 1000 : cell;
}

static void locate_oddly(const void *map, const cr_sphere *spheres, int64_t count, uint32_t *cell, uint32_t *tag)
{
	for (int64_t i = 0; i < count; i++) {
		cell[i] = odd_cell(map, &spheres[i]);
		if (tag)
			tag[i] = cell[i] * 7 + 1;
	}
}

static bool same_sphere(const cr_cells *cells, uint32_t place, const cr_sphere *s)
{
	return cells->x[place] == s->x && cells->y[place] == s->y && cells->z[place] == s->z && cells->r[place] == s->r;
}

/// Cells in order, each with its spheres in the order of the input, and every sphere somewhere.
static void check_cells(const cr_cells *cells, const cr_sphere_set *set, const odd_map *map)
{
	CHECK_INT(cells->start[0], 0);
	CHECK_INT(cells->start[map->cells], set->count);
	int64_t wrong = 0;
	for (uint32_t c = 0; c < map->cells; c++) {
		for (uint32_t k = cells->start[c]; k < cells->start[c + 1]; k++) {
			const uint32_t id = cells->id[k];
			REQUIRE(id < set->count);
			wrong += odd_cell(map, &set->spheres[id]) != c || !same_sphere(cells, k, &set->spheres[id]);
			wrong += k > cells->start[c] && id <= cells->id[k - 1];
			wrong += cells->tag && cells->tag[k] != c * 7 + 1;
		}
	}
	CHECK_INT(wrong, 0);
}

TEST(sphere_grid, sort_keeps_the_order_within_cells_for_any_threads)
{
	static const int64_t COUNTS[] = { 0, 1, 7, 8, 255, 257, 5000, 8192, 100001, 700000 / TEST_FEWER };
	cr_cells cells[2] = { { 0 } };
	carom_context *contexts[2] = { fixture_context(1), fixture_context(3) };
	for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
		fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, COUNTS[c], 1);
		for (int threads = TEST_SEEKS_RACES; threads < 2; threads++) {
			fixture_set made = fixture_make_set(contexts[threads], &cloud, false, 0, NULL);
			for (uint32_t number = 1; number < 3000000; number = number * 40 + 3) {
				const odd_map map = { number };
				const bool tags = number % 2 == 0;
				REQUIRE(cr_cells_reserve(&cells[threads], contexts[threads], made.set.count, number, tags));
				cr_cells_sort(&cells[threads], &made.set, number, locate_oddly, &map, &map);
				check_cells(&cells[threads], &made.set, &map);
			}
			fixture_free_set(&made);
		}
		fixture_free_cloud(&cloud);
	}
	for (int threads = 0; threads < 2; threads++) {
		cr_cells_free(&cells[threads], contexts[threads]);
		carom_destroy_context(contexts[threads]);
	}
}

TEST(sphere_grid, sample_is_spread_and_forgets_what_is_far_out)
{
	carom_context *context = fixture_context(1);
	cr_sphere_sample *sample = must_have(sizeof *sample);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_FREE_FALL, 200000, 2);
	cloud.spheres[0] = 1e6;
	cloud.spheres[4 * 777 + 1] = -1e6;
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	cr_take_sample(sample, &made.set);
	CHECK_INT(sample->count, CR_SAMPLE);
	CHECK_NEAR(sample->share, 200000.0 / CR_SAMPLE, 1e-9);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(sample->upper[k] - sample->lower[k], 1, 0.01);
	// Uniform: count^2 / 2 pairs, of which width^3 share a cube.
	CHECK_NEAR(cr_crowding(sample, 0.1, 0, 1, false) / (200000.0 * 200000 / 2 * 1e-3), 1, 0.15);
	CHECK_NEAR(cr_crowding(sample, 1e9, 0, 1, false) / (200000.0 * 200000 / 2), 1, 0.01);
	fixture_free_set(&made);
	// All of a small set, and by radius: one larger sphere at the place of 20 others.
	for (int i = 0; i < 21; i++)
		made.spheres = NULL, cloud.spheres[4 * i + 3] = i == 20 ? 1 : 0.25, memset(&cloud.spheres[4 * i], 0, 3 * sizeof(double));
	cloud.count = 21;
	made = fixture_make_set(context, &cloud, false, 0, NULL);
	cr_take_sample(sample, &made.set);
	CHECK_INT(sample->count, 21);
	CHECK_NEAR(cr_crowding(sample, 0.1, 0.25f, 0.5f, false), 190, 0);
	CHECK_NEAR(cr_crowding(sample, 0.1, 0.5f, 1, false), 0, 0);
	CHECK_NEAR(cr_crowding(sample, 0.1, 0.5f, 1, true), 20, 0);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	free(sample);
	carom_destroy_context(context);
}

// ---- All pairs ----

TEST(sphere_grid, finds_every_pair_once_for_any_threads)
{
	for (int d = 0; d < DETECTOR_COUNT; d++)
		fixture_check_detector_on_threads(DETECTORS[d].detector, TEST_FEWER > 1 ? 1500 : 3000);
}

TEST(sphere_grid, finds_every_pair_of_few)
{
	for (int d = 0; d < DETECTOR_COUNT; d++)
		fixture_check_detector_of_few(DETECTORS[d].detector);
}

TEST(sphere_grid, instruction_sets_find_the_same)
{
	int sets = 0;
	int64_t first_tests[DETECTOR_COUNT][CLOUD_KINDS];
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		carom_context_def def = carom_default_context_def();
		def.simd = fixture_all_simd[i];
		def.thread_count = 1;
		carom_context *context = NULL;
		if (carom_create_context(&def, &context) != CAROM_SUCCESS)
			continue;
		sets++;
		for (int d = 0; d < DETECTOR_COUNT; d++) {
			fixture_check_detector_everywhere(DETECTORS[d].detector, context, TEST_FEWER > 1 ? 300 : 700);
			for (int kind = 0; kind < CLOUD_KINDS; kind++) {
				fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 5000, 6);
				fixture_set made = fixture_make_set(context, &cloud, !cloud.single, 0, NULL);
				const int64_t tests = count_tests(DETECTORS[d].detector, &made.set);
				if (sets == 1)
					first_tests[d][kind] = tests;
				CHECK_INT(tests, first_tests[d][kind]);
				fixture_free_set(&made);
				fixture_free_cloud(&cloud);
			}
		}
		carom_destroy_context(context);
	}
	CHECK(sets >= 1);
}

/// Sizes and skins that meet every way of looking from one level into another, and levels with one sphere.
TEST(sphere_grid, levels_of_every_mixture)
{
	carom_context *context = fixture_context(2);
	uint64_t seed = 11;
	for (int round = 0; round < 60 / TEST_FEWER; round++) {
		// Few large ones, some medium ones, many small ones; of ratios up to 2^9, in a box that holds them crowded or hardly.
		fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 4000, (uint64_t)round);
		const int64_t large = (int64_t)(test_random(&seed) % 20), medium = large + (int64_t)(test_random(&seed) % 1500);
		const double small = ldexp(0.001, (int)(test_random(&seed) % 5)), middle = ldexp(small, (int)(test_random(&seed) % 5)),
					 most = ldexp(middle, (int)(test_random(&seed) % 5));
		for (int64_t i = 0; i < cloud.count; i++) {
			for (int k = 0; k < 3; k++)
				cloud.spheres[4 * i + k] = (float)test_random_double(&seed, 0, k == round % 4 ? 0.02 : 0.5);
			cloud.spheres[4 * i + 3] = (float)(test_random_double(&seed, 1, 2) *
				(i < large           ? most
						: i < medium ? middle
									 : small));
		}
		// Outside of the box that the sample gives, where cells are cut: a large sphere, and small ones that it touches.
		for (int64_t i = 0; i < 3; i++) {
			double *s = cloud.spheres + 4 * (i == 0 ? 0 : cloud.count - i);
			for (int k = 0; k < 3; k++)
				s[k] = (float)((round % 2 ? -0.1 : 0.7) + (i == 0 ? 0 : test_random_double(&seed, -1, 1) * cloud.spheres[3]));
		}
		const double skin = round % 3 == 2 ? test_random_double(&seed, 0, 0.01) : 0;
		fixture_pairs expected = fixture_oracle_pairs(&cloud, skin, NULL);
		fixture_set made = fixture_make_set(context, &cloud, false, skin, NULL);
		for (int d = 0; d < DETECTOR_COUNT; d++) {
			if (!fixture_check_detector(DETECTORS[d].detector, &made.set, &expected, DETECTORS[d].name))
				printf("round %d\n", round);
		}
		fixture_free_pairs(&expected);
		fixture_free_set(&made);
		fixture_free_cloud(&cloud);
	}
	carom_destroy_context(context);
}

/// Numbers at the ends of the range: the cells' arithmetic may overflow, the pairs must be right.
TEST(sphere_grid, extreme_lengths)
{
	static const double SCALES[] = { 1e-38, 1e-30, 1e-20, 1e-10, 1, 1e10 };
	carom_context *context = fixture_context(1);
	for (size_t s = 0; s < sizeof SCALES / sizeof *SCALES; s++) {
		for (int variant = 0; variant < 4; variant++) {
			fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 600, 12);
			const double scale = SCALES[s];
			for (int64_t i = 0; i < cloud.count; i++) {
				for (int k = 0; k < 4; k++)
					cloud.spheres[4 * i + k] = (float)(cloud.spheres[4 * i + k] * scale);
			}
			if (variant & 1)
				cloud.spheres[3] = 1e38;
			if (variant & 2)
				cloud.spheres[4] = 1e12;
			fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
			fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
			for (int d = 0; d < DETECTOR_COUNT; d++) {
				if (!fixture_check_detector(DETECTORS[d].detector, &made.set, &expected, DETECTORS[d].name))
					printf("scale %g, variant %d\n", scale, variant);
			}
			fixture_free_pairs(&expected);
			fixture_free_set(&made);
			fixture_free_cloud(&cloud);
		}
	}
	carom_destroy_context(context);
}

/// Reaches so short that their squares vanish in float, among so many finer cells along x that tags repeat: a row must end where
/// the reach does, or cells are looked into twice.
TEST(sphere_grid, a_vanishing_reach_in_many_finer_cells)
{
	enum { LARGE = 50, SMALL = 20000, NEAR = 8 };
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, LARGE + SMALL, 13);
	uint64_t seed = 14;
	for (int64_t i = 0; i < cloud.count; i++) {
		const bool large = i < LARGE, near = i < LARGE * (1 + NEAR);
		double *s = cloud.spheres + 4 * i;
		s[0] = (float)test_random_double(&seed, 0, 0x1p-60);
		if (near && !large)
			s[0] = (float)(cloud.spheres[4 * (i % LARGE)] + test_random_double(&seed, -0x1p-77, 0x1p-77));
		s[1] = s[2] = 0;
		s[3] = large ? 0x1p-78 : 0x1p-90;
	}
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	CHECK(expected.count >= LARGE);
	fixture_check_detector(&cr_levels_detector, &made.set, &expected, "levels");
	fixture_free_pairs(&expected);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

/// Pairs whose distance differs from the sum of radii by a few units in the last place, either way, and exact ties.
TEST(sphere_grid, close_decisions_are_made_in_double)
{
	enum { COUPLES = 3000 };
	carom_context *context = fixture_context(1);
	uint64_t seed = 13;
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 2 * COUPLES, 13);
	for (int64_t i = 0; i < COUPLES; i++) {
		double *a = cloud.spheres + 8 * i, *b = a + 4, distance = 0;
		for (int k = 0; k < 3; k++) {
			a[k] = (float)(10 * (double)(k == 0 ? i % 15 : k == 1 ? i / 15 % 15 : i / 225));
			b[k] = (float)(a[k] + test_random_double(&seed, -1, 1));
			distance += (b[k] - a[k]) * (b[k] - a[k]);
		}
		a[3] = (float)test_random_double(&seed, 0, sqrt(distance));
		b[3] = (float)(sqrt(distance) - a[3]);
		for (int step = (int)(test_random(&seed) % 5); step > 0; step--)
			b[3] = nextafterf((float)b[3], test_random(&seed) % 2 ? 10.0f : -10.0f);
		b[3] = b[3] < 0 ? 0 : b[3];
	}
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	CHECK(expected.count > COUPLES / 4 && expected.count < COUPLES * 3 / 4);
	for (int exact = 0; exact < 2; exact++) {
		fixture_set made = fixture_make_set(context, &cloud, exact, 0, NULL);
		for (int d = 0; d < DETECTOR_COUNT; d++)
			fixture_check_detector(DETECTORS[d].detector, &made.set, &expected, DETECTORS[d].name);
		fixture_free_set(&made);
	}
	fixture_free_pairs(&expected);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

static void check_snapshot(const char *file, int64_t pairs, uint64_t checksum)
{
	FILE *in = fopen(test_data_path(file), "rb");
	REQUIRE(in);
	uint64_t header[8];
	REQUIRE(fread(header, sizeof header, 1, in) == 1);
	fixture_cloud cloud = { .name = file, .count = (int64_t)header[1], .single = true };
	cloud.spheres = must_have((size_t)cloud.count * 4 * sizeof(double));
	for (int64_t i = 0; i < 4 * cloud.count; i++) {
		float value;
		REQUIRE(fread(&value, sizeof value, 1, in) == 1);
		cloud.spheres[i] = value;
	}
	fclose(in);
	carom_context *context = fixture_context(2);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		fixture_collector *collector = fixture_make_collector();
		void *state = NULL;
		int64_t tests;
		REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
		REQUIRE(DETECTORS[d].detector->find(state, &made.set, &collector->sink, &tests) == CAROM_SUCCESS);
		fixture_pairs found = fixture_collected(collector);
		uint64_t sum = 0;
		for (int64_t i = 0; i < found.count; i++)
			sum += fixture_mix((uint64_t)found.pairs[i].a << 32 | found.pairs[i].b);
		CHECK_INT(found.count, pairs);
		CHECK(sum == checksum && found.count == (int64_t)header[5] && sum == header[6]);
		CHECK(DETECTORS[d].detector->bytes(state) < 90 * (size_t)made.set.count);
		fixture_free_pairs(&found);
		DETECTORS[d].detector->release(context, state);
		fixture_free_collector(collector);
	}
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(sphere_grid, pairs_of_the_snapshots)
{
	check_snapshot("spheres/dense_100k.sph", 305867, 0x3dd54578b962d0f2);
	check_snapshot("spheres/bunny_mix.sph", 289971, 0x9dc29295208ea0f6);
	check_snapshot("spheres/bunny_half.sph", 0, 0);
}

// ---- No cliffs ----

/// Where spheres do not overlap much, levels compute a bounded number of distances for each, and little memory is used, whatever
/// the distribution.
TEST(sphere_grid, levels_have_no_cliff)
{
	static const fixture_cloud_kind KINDS[] = { CLOUD_FREE_FALL, CLOUD_DENSE, CLOUD_WIDE, CLOUD_POWER_LAW, CLOUD_CLUSTERS,
		CLOUD_TOUCHING, CLOUD_COLLINEAR, CLOUD_COPLANAR, CLOUD_TWO_SIZES };
	enum { COUNT = 40000 / TEST_FEWER };
	carom_context *context = fixture_context(2);
	for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
		fixture_cloud cloud = fixture_make_cloud(KINDS[k], COUNT, 14);
		fixture_set made = fixture_make_set(context, &cloud, !cloud.single, 0, NULL);
		fixture_pairs pairs = fixture_oracle_pairs(&cloud, 0, NULL);
		const double tests = (double)count_tests(&cr_levels_detector, &made.set);
		if (!CHECK(tests < 60.0 * COUNT + 20 * (double)pairs.count))
			printf("%s: %.1f tests a sphere, %.1f pairs\n", cloud.name, tests / COUNT, (double)pairs.count / COUNT);
		fixture_free_pairs(&pairs);
		fixture_free_set(&made);
		fixture_free_cloud(&cloud);
	}
	carom_destroy_context(context);
}

/// What the choice of the method relies on: expectations are of the size of the counts, and tell good from bad.
TEST(sphere_grid, expectations_are_near_the_counts)
{
	static const fixture_cloud_kind KINDS[] = { CLOUD_DENSE, CLOUD_WIDE, CLOUD_TOUCHING, CLOUD_CLUSTERS, CLOUD_COLLINEAR,
		CLOUD_COPLANAR };
	carom_context *context = fixture_context(1);
	for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
		fixture_cloud cloud = fixture_make_cloud(KINDS[k], 30000, 15);
		fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
		for (int d = 0; d < DETECTOR_COUNT; d++) {
			const double expected = DETECTORS[d].expected_tests(&made.set);
			const double tests = (double)count_tests(DETECTORS[d].detector, &made.set);
			// Looking is counted in, too.
			if (!CHECK(expected > tests / 4 && expected < 4 * tests + 60 * 30000))
				printf("%s, %s: %.1f a sphere, %.1f expected\n", cloud.name, DETECTORS[d].name, tests / 30000, expected / 30000);
		}
		fixture_free_set(&made);
		fixture_free_cloud(&cloud);
	}
	fixture_cloud cloud = fixture_make_cloud(CLOUD_TWO_SIZES, 30000, 16);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	CHECK(cr_levels_expected_tests(&made.set) < 0.2 * cr_grid_expected_tests(&made.set));
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

// ---- Searches that end early, memory ----

TEST(sphere_grid, a_sink_can_end_the_search)
{
	carom_context *context = fixture_context(2);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, 50000, 17);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		void *state = NULL;
		int64_t all, some;
		REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
		fixture_collector *collector = fixture_make_collector();
		REQUIRE(DETECTORS[d].detector->find(state, &made.set, &collector->sink, &all) == CAROM_SUCCESS);
		fixture_free_collector(collector);
		collector = fixture_make_collector();
		collector->stop_after = 1000;
		REQUIRE(DETECTORS[d].detector->find(state, &made.set, &collector->sink, &some) == CAROM_SUCCESS);
		CHECK(some < all / 2);
		fixture_free_collector(collector);
		// The same state goes on to find everything.
		fixture_check_found(DETECTORS[d].detector, state, &made.set, &expected, DETECTORS[d].name);
		DETECTORS[d].detector->release(context, state);
	}
	fixture_free_pairs(&expected);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

/// Every allocation of a build fails once; the state is good for the next build then.
TEST(sphere_grid, builds_survive_failing_memory)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const long long before = atomic_load(&heap.blocks);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 2000, 18);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		int failures = 0;
		for (int fail = 0;; fail++) {
			void *state = NULL;
			atomic_store(&heap.fail_at, atomic_load(&heap.calls) + fail);
			const carom_result result = DETECTORS[d].detector->build(&state, &made.set);
			atomic_store(&heap.fail_at, -1);
			if (result == CAROM_SUCCESS) {
				DETECTORS[d].detector->release(context, state);
				break;
			}
			failures++;
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
			fixture_check_found(DETECTORS[d].detector, state, &made.set, &expected, DETECTORS[d].name);
			DETECTORS[d].detector->release(context, state);
			CHECK_INT(atomic_load(&heap.blocks), before);
		}
		CHECK(failures >= 4);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls));
		CHECK(isinf(DETECTORS[d].expected_tests(&made.set)));
		atomic_store(&heap.fail_at, -1);
	}
	fixture_free_pairs(&expected);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(sphere_grid, the_same_size_again_allocates_nothing)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	for (int d = 0; d < DETECTOR_COUNT; d++) {
		void *state = NULL;
		long long allocations = 0;
		for (int kind = 0; kind < CLOUD_KINDS; kind++) {
			for (int count = 20000 / TEST_FEWER; count > 0; count -= 9500 / TEST_FEWER) {
				fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, count, 19);
				fixture_set made = fixture_make_set(context, &cloud, !cloud.single, 0, NULL);
				fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
				REQUIRE(DETECTORS[d].detector->build(&state, &made.set) == CAROM_SUCCESS);
				if (allocations == 0)
					allocations = atomic_load(&heap.calls);
				fixture_check_found(DETECTORS[d].detector, state, &made.set, &expected, cloud.name);
				CHECK_INT(atomic_load(&heap.calls), allocations);
				fixture_free_pairs(&expected);
				fixture_free_set(&made);
				fixture_free_cloud(&cloud);
			}
		}
		DETECTORS[d].detector->release(context, state);
		DETECTORS[d].detector->release(context, NULL);
	}
	carom_destroy_context(context);
}
