/// Kernels on a device against plain C: sums, sorts, trees, pairs; and calls of the driver that fail.
#include "device_failures.h"
#include "device_fixture.h"
#include "fixture.h"
#include "plain_tree.h"
#include "spheres_fixture.h"
#include "vulkan/gpu_tree.h"
#include "vulkan/vk_kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must_have(size_t size)
{
	void *memory = calloc(1, size ? size : 1);
	REQUIRE(memory);
	return memory;
}

static void must(carom_context *context, carom_result result)
{
	if (result != CAROM_SUCCESS)
		printf("%s\n", carom_error_text(context));
	REQUIRE(result == CAROM_SUCCESS);
}

// ---- Sums ----

static void check_scan(carom_device *device, uint32_t count, uint64_t *seed)
{
	cr_gpu_buffer items = { 0 }, sums = { 0 }, scratch = { 0 };
	carom_context *context = device->context;
	const uint64_t size = 8 * (uint64_t)count;
	uint32_t *given = must_have(4 * (size_t)count);
	uint64_t *found = must_have(size);
	for (uint32_t i = 0; i < count; i++)
		given[i] = (uint32_t)test_random(seed);
	must(context, cr_gpu_reserve(device, &items, 4 * (uint64_t)count + 4));
	must(context, cr_gpu_reserve(device, &sums, size + 4));
	must(context, cr_gpu_reserve(device, &scratch, cr_gpu_scan_scratch(count)));
	must(context, cr_gpu_upload(device, &items, given, 4 * (uint64_t)count));
	must(context, cr_gpu_begin(device));
	cr_gpu_scan(device, items.address, sums.address, count, scratch.address);
	must(context, cr_gpu_finish(device));
	must(context, cr_gpu_download(device, &sums, found, size));
	uint64_t sum = 0;
	bool same = true;
	for (uint32_t i = 0; i < count; i++) {
		same = same && found[i] == sum;
		sum += given[i];
	}
	if (!CHECK(same))
		printf("%u items\n", count);
	cr_gpu_free(device, &items);
	cr_gpu_free(device, &sums);
	cr_gpu_free(device, &scratch);
	free(given);
	free(found);
}

TEST(device_kernels, sums_are_those_of_a_loop)
{
	static const uint32_t COUNTS[] = { 1, 2, 127, 1023, 1024, 1025, 65537, 1048577 };
	carom_context *context = fixture_context(1);
	uint64_t seed = 1;
	for (int staging = 0; staging < 2; staging++) {
		carom_device_def def = carom_default_device_def();
		def.staging = staging;
		carom_device *device = fixture_device(context, &def);
		cr_gpu_lock(device);
		for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS - (staging ? 1 : 0); i++)
			check_scan(device, COUNTS[i], &seed);
		CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
		carom_destroy_device(device);
	}
	carom_destroy_context(context);
}

// ---- Sorts ----

typedef struct keyed {
	uint64_t key;
	uint32_t value;
} keyed;

static int by_key(const void *p, const void *q)
{
	const keyed *a = p, *b = q;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->value > b->value) - (a->value < b->value); // the order in which they were given
}

/// 0: random, 1: one value, 2: few values, 3: downwards, 4: only the highest digit differs.
static uint64_t key_of(int kind, uint32_t i, int bits, uint64_t *seed)
{
	const uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
	switch (kind) {
	case 0: return test_random(seed) & mask;
	case 1: return 77 & mask;
	case 2: return test_random(seed) % 3 & mask;
	case 3: return mask - i % mask;
	default: return (test_random(seed) & 1) << (bits - 1);
	}
}

static void check_sort(carom_device *device, uint32_t count, int kind, int bits, bool wide)
{
	carom_context *context = device->context;
	cr_gpu_buffer keys[2] = { { 0 } }, values[2] = { { 0 } }, scratch = { 0 };
	const size_t size = wide ? 8 : 4;
	keyed *expected = must_have(sizeof *expected * count);
	char *given = must_have(size * count);
	uint32_t *numbers = must_have(4 * (size_t)count);
	uint64_t seed = (uint64_t)kind + count;
	for (uint32_t i = 0; i < count; i++) {
		expected[i] = (keyed){ key_of(kind, i, bits, &seed), i };
		memcpy(given + size * i, &expected[i].key, size); // the lower half comes first on all machines with Vulkan
		numbers[i] = i;
	}
	qsort(expected, count, sizeof *expected, by_key);
	for (int k = 0; k < 2; k++) {
		must(context, cr_gpu_reserve(device, &keys[k], size * count + 4));
		must(context, cr_gpu_reserve(device, &values[k], 4 * (uint64_t)count + 4));
	}
	must(context, cr_gpu_reserve(device, &scratch, cr_gpu_sort_scratch(device, count) + 4));
	must(context, cr_gpu_upload(device, &keys[0], given, size * count));
	must(context, cr_gpu_upload(device, &values[0], numbers, 4 * (uint64_t)count));
	must(context, cr_gpu_begin(device));
	const cr_gpu_sort_arrays arrays = { { keys[0].address, keys[1].address }, { values[0].address, values[1].address },
		scratch.address };
	const int at = cr_gpu_sort(device, &arrays, count, bits, wide);
	must(context, cr_gpu_finish(device));
	must(context, cr_gpu_download(device, &keys[at], given, size * count));
	must(context, cr_gpu_download(device, &values[at], numbers, 4 * (uint64_t)count));
	bool same = true;
	for (uint32_t i = 0; i < count; i++)
		same = same && memcmp(given + size * i, &expected[i].key, size) == 0 && numbers[i] == expected[i].value;
	if (!CHECK(same))
		printf("%u keys of kind %d, %d bits, %s\n", count, kind, bits, wide ? "wide" : "narrow");
	for (int k = 0; k < 2; k++) {
		cr_gpu_free(device, &keys[k]);
		cr_gpu_free(device, &values[k]);
	}
	cr_gpu_free(device, &scratch);
	free(expected);
	free(given);
	free(numbers);
}

TEST(device_kernels, sorts_are_those_of_qsort)
{
	static const uint32_t COUNTS[] = { 0, 1, 2, 33, 1024, 1025, 40000 };
	const int kinds =
		TEST_FEWER > 1 ? 1 : 5; // the kernels alone look at keys: to start them takes a count and the number of bits
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	cr_gpu_lock(device);
	for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
		for (int kind = 0; kind < kinds; kind++) {
			check_sort(device, COUNTS[c], kind, 32, false);
			check_sort(device, COUNTS[c], kind, 63, true);
		}
		check_sort(device, COUNTS[c], 0, 64, true);
		check_sort(device, COUNTS[c], 0, 8, false);
		check_sort(device, COUNTS[c], 0, 30, false);
	}
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

// ---- Trees ----

/// Spheres as floats in random order in a box of n^(1/3), radius 0.4: about one pair a sphere.
static float *random_spheres(uint32_t count, float upper[3], uint64_t seed)
{
	float *spheres = must_have(16 * (size_t)count);
	float side = 1;
	while (side * side * side < (float)count)
		side += 0.5f;
	for (uint32_t i = 0; i < count; i++) {
		for (int k = 0; k < 3; k++)
			spheres[4 * i + (uint32_t)k] = (float)test_random_double(&seed, 0, side);
		spheres[4 * i + 3] = 0.4f;
	}
	for (int k = 0; k < 3; k++)
		upper[k] = side;
	return spheres;
}

static const float LOWER[3] = { 0, 0, 0 };
static const cr_gpu_reach REACH = { 0x1p-100f, 0, 0 };

TEST(device_kernels, the_order_along_the_curve_keeps_searches_short)
{
	// Without the sort, or with codes that say nothing of places, a search looks at a thousand times as many nodes.
	enum { COUNT = 20000 };
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	cr_gpu_tree tree = { 0 };
	cr_gpu_search found;
	double cost;
	float upper[3];
	float *spheres = random_spheres(COUNT, upper, 3);
	cr_gpu_lock(device);
	must(context, cr_gpu_build_tree(device, &tree, spheres, COUNT, LOWER, upper, REACH, false, &cost));
	must(context, cr_gpu_find_pairs(device, &tree, COUNT, &found));
	CHECK(found.tests >= found.pairs && found.tests < 6 * found.pairs);
	if (!CHECK(found.visits < 60 * COUNT) || !CHECK(cost > 1 && cost < 2000))
		printf("%llu nodes for %d spheres, cost %g\n", (unsigned long long)found.visits, COUNT, cost);
	// The shape of the tree of the same spheres in another order is the same, and so is what a search does.
	const uint64_t pairs = found.pairs, visits = found.visits;
	for (uint32_t i = 0; i < COUNT / 2; i++) {
		float swap[4];
		memcpy(swap, spheres + 4 * i, 16);
		memcpy(spheres + 4 * i, spheres + 4 * (COUNT - 1 - i), 16);
		memcpy(spheres + 4 * (COUNT - 1 - i), swap, 16);
	}
	must(context, cr_gpu_build_tree(device, &tree, spheres, COUNT, LOWER, upper, REACH, false, &cost));
	must(context, cr_gpu_find_pairs(device, &tree, COUNT, &found));
	CHECK_INT(found.pairs, pairs);
	CHECK_INT(found.visits, visits);
	cr_gpu_free_tree(device, &tree);
	CHECK_INT(device->stats.bytes, device->readback.size + device->sending.size + device->staging[0].size + device->staging[1].size);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
	carom_destroy_device(device);
	free(spheres);
	carom_destroy_context(context);
}

/// The device looks at as many nodes and computes as many distances as plain C does on a tree made in another way.
static void check_against_plain_c(carom_device *device, const float *spheres, uint32_t count, const float upper[3])
{
	carom_context *context = device->context;
	cr_gpu_tree tree = { 0 };
	cr_gpu_search found;
	double cost;
	plain_tree plain = plain_build(spheres, count, LOWER, upper, REACH.add, device->leaf_size);
	const plain_search expected = plain_find_pairs(&plain);
	for (int refit = 0; refit < 2; refit++) {
		must(context, cr_gpu_build_tree(device, &tree, spheres, count, LOWER, upper, REACH, refit, &cost));
		must(context, cr_gpu_find_pairs(device, &tree, count, &found));
		const bool same = found.tests == expected.tests && found.visits == expected.visits && found.pairs >= expected.pairs &&
			found.pairs <= expected.pairs + expected.pairs / 100 + 1; // with those in doubt
		if (!CHECK(same))
			printf("%u spheres, leaves of %u: %llu nodes, %llu tests, %llu pairs; plain C %llu, %llu, %llu\n", count,
				device->leaf_size, (unsigned long long)found.visits, (unsigned long long)found.tests,
				(unsigned long long)found.pairs, (unsigned long long)expected.visits, (unsigned long long)expected.tests,
				(unsigned long long)expected.pairs);
	}
	cr_gpu_free_tree(device, &tree);
	plain_free(&plain);
}

TEST(device_kernels, trees_and_searches_are_those_of_plain_c)
{
	static const uint32_t COUNTS[] = { 2, 3, 4, 5, 9, 100, 3000 };
	carom_context *context = fixture_context(1);
	for (uint32_t leaf_size = 1; leaf_size <= 8; leaf_size *= 2) {
		carom_device *device = fixture_device(context, NULL);
		device->leaf_size = leaf_size;
		cr_gpu_lock(device);
		for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
			float upper[3];
			float *spheres = random_spheres(COUNTS[i], upper, 6 + i);
			for (uint32_t copy = 1; copy < COUNTS[i] / 10; copy++) // codes that are equal
				memcpy(spheres + 4 * (size_t)(7 * copy), spheres, 16);
			check_against_plain_c(device, spheres, COUNTS[i], upper);
			free(spheres);
		}
		CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
		carom_destroy_device(device);
	}
	carom_destroy_context(context);
}

static int by_pair(const void *p, const void *q) { return memcmp(p, q, sizeof(cr_gpu_pair)); }

TEST(device_kernels, windows_hold_every_pair_once)
{
	enum { COUNT = 3000 };
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	cr_gpu_tree tree = { 0 };
	cr_gpu_search found;
	double cost;
	float upper[3];
	float *spheres = random_spheres(COUNT, upper, 4);
	for (int i = 0; i < 200; i++) // a heap of 19900 pairs: more than slots hold
		memcpy(spheres + 4 * (7 * i), spheres, 16);
	cr_gpu_lock(device);
	must(context, cr_gpu_build_tree(device, &tree, spheres, COUNT, LOWER, upper, REACH, false, &cost));
	must(context, cr_gpu_find_pairs(device, &tree, 1, &found));
	CHECK(found.pairs > 19900 && tree.room < found.pairs / 10);
	cr_gpu_pair *all = must_have(sizeof *all * (size_t)found.pairs), *once = must_have(sizeof *all * (size_t)found.pairs);
	for (uint64_t first = 0; first < found.pairs; first += tree.room) {
		const uint64_t left = found.pairs - first, count = left < tree.room ? left : tree.room;
		if (first > 0)
			must(context, cr_gpu_next_pairs(device, &tree, first));
		must(context, cr_gpu_download(device, &tree.pairs, all + first, count * sizeof *all));
	}
	must(context, cr_gpu_find_pairs(device, &tree, found.pairs, &found));
	CHECK(tree.room >= found.pairs);
	must(context, cr_gpu_download(device, &tree.pairs, once, found.pairs * sizeof *once));
	CHECK(memcmp(all, once, (size_t)found.pairs * sizeof *all) == 0);
	qsort(all, (size_t)found.pairs, sizeof *all, by_pair);
	for (uint64_t i = 1; i < found.pairs; i++)
		CHECK(memcmp(&all[i - 1], &all[i], sizeof *all) != 0);
	cr_gpu_free_tree(device, &tree);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
	carom_destroy_device(device);
	free(spheres);
	free(all);
	free(once);
	carom_destroy_context(context);
}

// ---- Calls that fail ----

/// The spheres of failing calls, and what was found among them.
typedef struct failing_cloud {
	carom_context *context;
	carom_device *device;
	fixture_arrays arrays;
	int64_t truth;
	carom_sphere_pairs pairs;
} failing_cloud;

static void *make_failing(void *user, bool fallback)
{
	const failing_cloud *cloud = user;
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	def.device = cloud->device;
	def.device_fallback = fallback;
	carom_spheres *spheres;
	REQUIRE(carom_create_spheres(cloud->context, &def, &spheres) == CAROM_SUCCESS);
	return spheres;
}

static carom_result find_failing(void *spheres, void *user)
{
	failing_cloud *cloud = user;
	const carom_result result = carom_spheres_update(spheres, &cloud->arrays.input);
	return result == CAROM_SUCCESS ? carom_spheres_find_pairs(spheres, &cloud->pairs) : result;
}

static bool is_failing_right(const void *user)
{
	const failing_cloud *cloud = user;
	return cloud->pairs.count == cloud->truth;
}

static int64_t failing_fallbacks(const void *spheres) { return carom_spheres_get_stats(spheres).device_fallbacks; }
static void destroy_failing(void *spheres) { carom_destroy_spheres(spheres); }

/// Every call of the driver fails once, with a result, in one update and search of new spheres.
static void check_failing_calls(carom_device_tier tier, VkResult failure, carom_result expected, bool fallback)
{
	static const failing_detector kind = { make_failing, find_failing, is_failing_right, failing_fallbacks, destroy_failing };
	failing_cloud scene = { .context = fixture_context(1) };
	carom_device_def device_def = carom_default_device_def();
	device_def.staging = device_def.timing = true;
	device_def.tier = tier;
	scene.device = fixture_device(scene.context, &device_def);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 300, 2);
	scene.arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	fixture_pairs truth = fixture_oracle_pairs(&cloud, 0, NULL);
	scene.truth = truth.count;
	check_each_failing_call(scene.device, &kind, &scene, &(failing_way){ failure, expected, fallback, 120, 7 });
	carom_destroy_device(scene.device);
	CHECK_INT(carom_memory_in_use(scene.context), scene.context->size);
	fixture_free_pairs(&truth);
	fixture_free_arrays(&scene.arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_context(scene.context);
}

TEST(device_kernels, every_call_may_run_out_of_device_memory)
{
	check_failing_calls(CAROM_TIER_COMPUTE, VK_ERROR_OUT_OF_DEVICE_MEMORY, CAROM_OUT_OF_MEMORY, false);
}

TEST(device_kernels, every_call_of_ray_queries_may_run_out_of_device_memory)
{
	check_failing_calls(CAROM_TIER_QUERY, VK_ERROR_OUT_OF_DEVICE_MEMORY, CAROM_OUT_OF_MEMORY, false);
}

TEST(device_kernels, every_call_of_ray_pipelines_may_run_out_of_device_memory)
{
	check_failing_calls(CAROM_TIER_PIPELINE, VK_ERROR_OUT_OF_DEVICE_MEMORY, CAROM_OUT_OF_MEMORY, false);
}

TEST(device_kernels, a_lost_device_is_an_error_that_names_the_call)
{
	check_failing_calls(CAROM_TIER_COMPUTE, VK_ERROR_DEVICE_LOST, CAROM_DEVICE_FAILED, false);
}

TEST(device_kernels, the_processor_takes_over_where_it_is_asked_to)
{
	check_failing_calls(CAROM_TIER_COMPUTE, VK_ERROR_DEVICE_LOST, CAROM_SUCCESS, true);
}

TEST(device_kernels, buffers_larger_than_the_device_has_are_refused)
{
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	cr_gpu_buffer buffer = { 0 };
	cr_gpu_lock(device);
	CHECK_INT(cr_gpu_reserve(device, &buffer, device->info.largest_buffer + 1), CAROM_UNSUPPORTED);
	CHECK(strstr(carom_error_text(context), "buffers of at most") != NULL);
	CHECK(buffer.buffer == VK_NULL_HANDLE && buffer.size == 0);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
	carom_destroy_device(device);
	carom_destroy_context(context);
}
