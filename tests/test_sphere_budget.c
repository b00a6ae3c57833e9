/// The memory budget of a detector of spheres: what does not fit fails at once and says so, and all that fits goes on.
#include "fixture.h"
#include "spheres_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static carom_spheres *make_spheres(carom_context *context, carom_sphere_method method, double skin, size_t budget)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = method;
	def.skin = skin;
	def.memory_budget = budget;
	carom_spheres *spheres = NULL;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	return spheres;
}

/// So many equal spheres in one place: all pairs of them touch.
static fixture_cloud one_place(int64_t count)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, count, 1);
	for (int64_t i = 0; i < count; i++) {
		const double sphere[4] = { 1, 2, 3, 0.5 };
		memcpy(cloud.spheres + 4 * i, sphere, sizeof sphere);
	}
	return cloud;
}

static void check_over_budget(const carom_context *context, carom_result result, const char *call, size_t budget)
{
	char text[128];
	snprintf(text, sizeof text, "%s: needs more than the memory_budget of %zu bytes", call, budget);
	CHECK_INT(result, CAROM_OVER_BUDGET);
	CHECK_STR(carom_error_text(context), text);
}

/// Counts pairs for each worker apart.
typedef struct pair_count {
	int64_t of[CR_MAX_WORKERS];
} pair_count;

static bool count_pairs(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	(void)pairs;
	((pair_count *)user)->of[worker] += count;
	return true;
}

static int64_t count_visited(carom_spheres *spheres)
{
	pair_count counts = { { 0 } };
	REQUIRE(carom_spheres_visit_pairs(spheres, count_pairs, &counts) == CAROM_SUCCESS);
	int64_t sum = 0;
	for (int w = 0; w < CR_MAX_WORKERS; w++)
		sum += counts.of[w];
	return sum;
}

static void no_force(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	(void)a, (void)b, (void)direction, (void)torque, (void)user;
	force[0] += overlap;
}

/// A hundred thousand spheres at one place have 5e9 pairs: 40 GB. Within 64 MB each call that stores them fails, after no more
/// comparisons than the budget has room for pairs, and the spheres stay: to visit takes 8 MB.
static void check_one_place(carom_context *context, carom_sphere_method method, const fixture_cloud *cloud, double *forces)
{
	const size_t budget = (size_t)64 << 20;
	carom_spheres *spheres = make_spheres(context, method, 0, budget);
	fixture_arrays arrays = fixture_lay_out(cloud, LAYOUT_RECORDS);
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	carom_sphere_pairs pairs;
	carom_sphere_neighbours rows;
	check_over_budget(context, carom_spheres_find_pairs(spheres, &pairs), "carom_spheres_find_pairs", budget);
	CHECK(pairs.count == 0 && pairs.pairs == NULL);
	carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	CHECK(stats.tests < 100000000); // of 5e9
	CHECK(stats.bytes_peak <= budget + sizeof(void *) * 1024);
	CHECK(stats.bytes_lists < 100000);
	check_over_budget(
		context, carom_spheres_sum_forces(spheres, no_force, NULL, forces, NULL), "carom_spheres_sum_forces", budget);
	check_over_budget(context, carom_spheres_get_neighbours(spheres, &rows), "carom_spheres_get_neighbours", budget);
	CHECK(rows.first == NULL);
	stats = carom_spheres_get_stats(spheres);
	CHECK_INT(stats.count, cloud->count);
	CHECK(stats.bytes <= ((size_t)16 << 20));
	CHECK(carom_memory_peak(context) <= budget + (1 << 20));
	fixture_free_arrays(&arrays);

	// Something smaller goes on as if nothing had been.
	fixture_cloud few = fixture_make_cloud(CLOUD_DENSE, 20000, 2);
	fixture_check_spheres(spheres, &few, NULL, "within the budget");
	fixture_free_cloud(&few);
	carom_destroy_spheres(spheres);
}

TEST(sphere_budget, all_at_one_place_fails_promptly)
{
	carom_context *context = fixture_context(2);
	fixture_cloud cloud = one_place(100000 / TEST_FEWER);
	double *forces = calloc(3 * (size_t)cloud.count, sizeof *forces);
	REQUIRE(forces);
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++)
		check_one_place(context, (carom_sphere_method)method, &cloud, forces);
	free(forces);
	fixture_free_cloud(&cloud);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(sphere_budget, visits_at_one_place_take_little)
{
	enum { COUNT = 12000 };
	carom_context *context = fixture_context(2);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_AUTO, 0, (size_t)8 << 20);
	fixture_cloud cloud = one_place(COUNT);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	CHECK_INT(count_visited(spheres), (int64_t)COUNT * (COUNT - 1) / 2);
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

/// Budgets from nothing to enough: each call succeeds with the right answer or says what it lacks, the budget is kept, and with the
/// same detector a few spheres can always be had afterwards.
static void climb(carom_sphere_method method, double skin, fixture_layout layout, const fixture_cloud *cloud)
{
	fixture_pairs expected = fixture_oracle_pairs(cloud, 0, NULL);
	int refused = 0;
	bool found = false;
	for (size_t budget = 1; !found; budget += budget / 3 + 1) {
		carom_context *context = fixture_context(2);
		carom_spheres_def def = carom_default_spheres_def();
		def.method = method;
		def.skin = skin;
		def.memory_budget = budget;
		carom_spheres *spheres;
		carom_result result = carom_create_spheres(context, &def, &spheres);
		if (result != CAROM_SUCCESS) {
			check_over_budget(context, result, "carom_create_spheres", budget);
			CHECK(spheres == NULL);
		} else {
			fixture_arrays arrays = fixture_lay_out(cloud, layout);
			carom_sphere_pairs pairs;
			const char *call = "carom_spheres_update";
			result = carom_spheres_update(spheres, &arrays.input);
			if (result == CAROM_SUCCESS) {
				call = "carom_spheres_find_pairs";
				result = carom_spheres_find_pairs(spheres, &pairs);
			} else {
				CHECK_INT(carom_spheres_get_stats(spheres).count, 0);
			}
			found = result == CAROM_SUCCESS;
			if (found)
				CHECK(pairs.count == expected.count &&
					memcmp(pairs.pairs, expected.pairs, (size_t)pairs.count * sizeof *pairs.pairs) == 0);
			else
				check_over_budget(context, result, call, budget);
			CHECK(carom_spheres_get_stats(spheres).bytes_peak <= budget + 4096);
			fixture_free_arrays(&arrays);
		}
		refused += result != CAROM_SUCCESS;
		carom_destroy_spheres(spheres);
		CHECK_INT(carom_memory_in_use(context), context->size);
		carom_destroy_context(context);
	}
	CHECK(refused > 10);
	fixture_free_pairs(&expected);
}

TEST(sphere_budget, every_budget_is_kept)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 5000, 3), scales = fixture_make_cloud(CLOUD_ALL_SCALES, 5000, 3);
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		climb((carom_sphere_method)method, 0, LAYOUT_RECORDS, &cloud);
		climb((carom_sphere_method)method, 0.0001, LAYOUT_DOUBLES, &cloud);
	}
	climb(CAROM_SPHERES_AUTO, 0, LAYOUT_DOUBLES, &scales);
	climb(CAROM_SPHERES_AUTO, 0.0001, LAYOUT_DOUBLES, &scales);
	fixture_free_cloud(&cloud);
	fixture_free_cloud(&scales);
}

/// An update that fails gives back what it took, so that the next one, of less, has the whole budget.
TEST(sphere_budget, less_fits_after_too_much)
{
	carom_context *context = fixture_context(1);
	fixture_cloud few = fixture_make_cloud(CLOUD_DENSE, 30000, 4), many = fixture_make_cloud(CLOUD_DENSE, 60000, 4);
	fixture_arrays arrays = fixture_lay_out(&many, LAYOUT_DOUBLES);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_GRID, 0, 0);
	fixture_check_spheres(spheres, &few, NULL, "without a budget");
	const size_t budget = carom_spheres_get_stats(spheres).bytes_peak;
	carom_destroy_spheres(spheres);
	spheres = make_spheres(context, CAROM_SPHERES_GRID, 0, budget);
	for (int round = 0; round < 3; round++) {
		fixture_check_spheres(spheres, &few, NULL, "fits");
		check_over_budget(context, carom_spheres_update(spheres, &arrays.input), "carom_spheres_update", budget);
		CHECK_INT(carom_spheres_get_stats(spheres).count, 0);
		CHECK(carom_spheres_get_stats(spheres).bytes < 4096);
	}
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&few);
	fixture_free_cloud(&many);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

/// Bad arguments stay what they are, whatever the budget refused before.
TEST(sphere_budget, other_failures_keep_their_names)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_GRID, 0, 100000);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 30000, 5);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	CHECK_INT(carom_spheres_update(spheres, &arrays.input), CAROM_OVER_BUDGET);
	arrays.input.count = -1;
	CHECK_INT(carom_spheres_update(spheres, &arrays.input), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "count is -1") != NULL);
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);

	fixture_heap heap;
	context = fixture_heap_context(&heap, 1);
	spheres = make_spheres(context, CAROM_SPHERES_GRID, 0, SIZE_MAX / 2);
	cloud = fixture_make_cloud(CLOUD_DENSE, 3000, 5);
	arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	atomic_store(&heap.fail_at, atomic_load(&heap.calls));
	CHECK_INT(carom_spheres_update(spheres, &arrays.input), CAROM_OUT_OF_MEMORY);
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

// ---- Allocations that fail at random ----

/// Memory of which one piece in `odds` is refused while it fails.
typedef struct moody_heap {
	bool failing;
	int odds;
	uint64_t seed;
	int64_t refused, blocks;
} moody_heap;

static void *moody_allocate(size_t size, size_t alignment, void *user)
{
	moody_heap *heap = user;
	if (heap->failing && test_random(&heap->seed) % (uint64_t)heap->odds == 0) {
		heap->refused++;
		return NULL;
	}
	heap->blocks++;
	return test_allocate(size, alignment);
}

static void moody_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment;
	((moody_heap *)user)->blocks--;
	test_release(pointer);
}

enum { CALL_UPDATE, CALL_FIND, CALL_VISIT, CALL_SUM, CALLS };

/// A call's results: those that a user sees.
typedef struct call_results {
	carom_sphere_pairs pairs;
	pair_count visited;
	double *forces;
} call_results;

static carom_result make_call(carom_spheres *spheres, int call, const carom_sphere_input *input, call_results *results)
{
	switch (call) {
	case CALL_UPDATE: return carom_spheres_update(spheres, input);
	case CALL_FIND: return carom_spheres_find_pairs(spheres, &results->pairs);
	case CALL_VISIT:
		memset(&results->visited, 0, sizeof results->visited);
		return carom_spheres_visit_pairs(spheres, count_pairs, &results->visited);
	default: return carom_spheres_sum_forces(spheres, no_force, NULL, results->forces, NULL);
	}
}

/// The call with failing memory, and where it fails once more with all of it. A failed update or search may not change what follows.
static void call_until_done(
	moody_heap *heap, carom_spheres *spheres, int call, const carom_sphere_input *input, call_results *results)
{
	heap->failing = true;
	const carom_result result = make_call(spheres, call, input, results);
	heap->failing = false;
	if (!CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY))
		printf("call %d: %s\n", call, carom_result_name(result));
	if (result == CAROM_SUCCESS)
		return;
	REQUIRE(make_call(spheres, call, input, results) == CAROM_SUCCESS);
}

static void move_spheres(fixture_cloud *cloud, uint64_t *seed)
{
	for (int64_t i = 0; i < cloud->count; i++) {
		for (int k = 0; k < 3; k++)
			cloud->spheres[4 * i + k] = (float)(cloud->spheres[4 * i + k] + test_random_double(seed, -0.0001, 0.0001));
	}
}

static void check_trial(moody_heap *heap, carom_context *moody, carom_context *sound, int trial)
{
	static const double skins[3] = { 0, 0.0003, -1 };
	carom_spheres_def def = carom_default_spheres_def();
	def.method = (carom_sphere_method)(trial % 5);
	def.skin = skins[trial / 5 % 3];
	def.upkeep = (carom_tree_upkeep)(trial / 3 % 5);
	def.periodic[0] = trial % 7 == 0;
	def.period[0] = 1;
	carom_spheres *a, *b;
	REQUIRE(carom_create_spheres(moody, &def, &a) == CAROM_SUCCESS && carom_create_spheres(sound, &def, &b) == CAROM_SUCCESS);
	uint64_t seed = (uint64_t)trial;
	fixture_cloud cloud =
		fixture_make_cloud(trial % 4 ? CLOUD_DENSE : CLOUD_STRAYS, 200 + (int64_t)(test_random(&seed) % 2000), seed);
	cloud.single = false;
	call_results mine = { 0 }, right = { 0 };
	mine.forces = malloc(3 * (size_t)cloud.count * sizeof(double));
	right.forces = malloc(3 * (size_t)cloud.count * sizeof(double));
	REQUIRE(mine.forces && right.forces);
	for (int step = 0; step < 4; step++) {
		fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
		for (int call = 0; call < CALLS; call++) {
			call_until_done(heap, a, call, &arrays.input, &mine);
			REQUIRE(make_call(b, call, &arrays.input, &right) == CAROM_SUCCESS);
			if (call == CALL_FIND)
				CHECK(mine.pairs.count == right.pairs.count &&
					(mine.pairs.count == 0 ||
						memcmp(mine.pairs.pairs, right.pairs.pairs, (size_t)mine.pairs.count * sizeof *mine.pairs.pairs) == 0));
			if (call == CALL_VISIT)
				CHECK_INT(mine.visited.of[0], right.visited.of[0]);
			if (call == CALL_SUM)
				CHECK(memcmp(mine.forces, right.forces, 3 * (size_t)cloud.count * sizeof(double)) == 0);
		}
		fixture_free_arrays(&arrays);
		move_spheres(&cloud, &seed);
	}
	free(mine.forces);
	free(right.forces);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(a);
	carom_destroy_spheres(b);
}

TEST(sphere_budget, random_failures_change_no_result)
{
	moody_heap heap = { .seed = 3 };
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *sound = fixture_context(1), *moody;
	def.allocator = (carom_allocator){ moody_allocate, moody_release, &heap };
	REQUIRE(carom_create_context(&def, &moody) == CAROM_SUCCESS);
	for (int trial = 0; trial < 210 / TEST_FEWER; trial++) {
		static const int odds[3] = { 3, 10, 40 };
		heap.odds = odds[trial % 3];
		check_trial(&heap, moody, sound, trial);
	}
	CHECK(heap.refused > 100);
	CHECK_INT(carom_memory_in_use(moody), moody->size);
	carom_destroy_context(moody);
	carom_destroy_context(sound);
	CHECK_INT(heap.blocks, 0);
}
