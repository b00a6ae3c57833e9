/// Spheres by the method DEVICE: the pairs of the processor, bit for bit, on clouds of all kinds, recorded ones, periodic ones, moving
/// ones; budgets; threads that share a device; and the validation layer, which has nothing to say.
#include "device_fixture.h"
#include "device_ring.h"
#include "fixture.h"
#include "spheres_fixture.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Everything, through the table of the detector ----

static carom_device *s_device;

static carom_result build(void **state, const cr_sphere_set *given)
{
	cr_sphere_set set = *given;
	set.device = s_device;
	return cr_device_detector.build(state, &set);
}

static carom_result refit(void *state, const cr_sphere_set *set) { return cr_device_detector.refit(state, set); }

static void check_everywhere(carom_device_tier tier, bool staging, int64_t count)
{
	carom_context *context = fixture_context(2);
	carom_device_def def = carom_default_device_def();
	def.tier = tier;
	def.staging = staging;
	s_device = fixture_device(context, &def);
	cr_sphere_detector detector = cr_device_detector;
	detector.build = build;
	detector.refit = refit;
	// The kernels alone look at places: the code around them sees numbers of spheres and of pairs, and whether space repeats.
	fixture_check_detector_on_some(&detector, context, count, TEST_FEWER);
	carom_destroy_device(s_device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(device_spheres, find_every_pair_once) { check_everywhere(CAROM_TIER_COMPUTE, false, 2500 / TEST_FEWER); }
TEST(device_spheres, ray_queries_find_every_pair_once) { check_everywhere(CAROM_TIER_QUERY, false, 1000 / TEST_FEWER); }
TEST(device_spheres, ray_pipelines_find_every_pair_once) { check_everywhere(CAROM_TIER_PIPELINE, false, 1000 / TEST_FEWER); }
// TEST_STRIDE leaves none and three: a set of one or two runs no other line, and a device is made for each.
TEST(device_spheres, find_every_pair_once_of_few)
{
	for (int64_t count = 0; count < 6; count += TEST_STRIDE)
		check_everywhere(CAROM_TIER_COMPUTE, count % 2, count);
}
TEST(device_spheres, ray_queries_find_every_pair_once_of_few)
{
	for (int64_t count = 0; count < 4; count += TEST_STRIDE)
		check_everywhere(CAROM_TIER_QUERY, count % 2, count);
}
TEST(device_spheres, ray_pipelines_find_every_pair_once_of_few)
{
	for (int64_t count = 0; count < 4; count += TEST_STRIDE)
		check_everywhere(CAROM_TIER_PIPELINE, count % 2, count);
}
TEST(device_spheres, find_every_pair_once_through_the_ring) { check_everywhere(CAROM_TIER_COMPUTE, true, 700); }
TEST(device_spheres, ray_queries_find_every_pair_once_through_the_ring) { check_everywhere(CAROM_TIER_QUERY, true, 400); }
TEST(device_spheres, ray_pipelines_find_every_pair_once_through_the_ring) { check_everywhere(CAROM_TIER_PIPELINE, true, 400); }

/// A device of a tier.
static carom_device *tier_device(carom_context *context, carom_device_tier tier)
{
	carom_device_def def = carom_default_device_def();
	def.tier = tier;
	return fixture_device(context, &def);
}

// ---- As a user ----

static carom_spheres *make_spheres(carom_context *context, carom_device *device, double skin)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = device ? CAROM_SPHERES_DEVICE : CAROM_SPHERES_TREE;
	def.device = device;
	def.skin = skin;
	carom_spheres *spheres;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	return spheres;
}

static bool same_pairs(const carom_sphere_pairs *a, const carom_sphere_pairs *b)
{
	return a->count == b->count && (a->count == 0 || memcmp(a->pairs, b->pairs, (size_t)a->count * sizeof *a->pairs) == 0);
}

static void check_clouds(carom_device_tier tier)
{
	carom_context *context = fixture_context(2);
	carom_device *device = tier_device(context, tier);
	carom_spheres *spheres = make_spheres(context, device, 0);
	for (int kind = CLOUD_ALL_KINDS - 1; kind >= 0; kind -= TEST_FEWER) {
		fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 1200, 5);
		fixture_check_spheres(spheres, &cloud, NULL, cloud.name);
		fixture_free_cloud(&cloud);
	}
	// Of these the wide tree of the processor has done some.
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	CHECK(stats.device_fallbacks > 0 && stats.device_fallbacks < 4);
	carom_destroy_spheres(spheres);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_spheres, frames_and_sizes_of_all_scales_are_those_of_the_tree) { check_clouds(CAROM_TIER_COMPUTE); }
TEST(device_spheres, ray_queries_of_all_scales_are_those_of_the_tree) { check_clouds(CAROM_TIER_QUERY); }
TEST(device_spheres, ray_pipelines_of_all_scales_are_those_of_the_tree) { check_clouds(CAROM_TIER_PIPELINE); }

/// Move each coordinate by up to `most`.
static void shake(fixture_cloud *cloud, double most, uint64_t *seed)
{
	for (int64_t i = 0; i < cloud->count; i++) {
		for (int k = 0; k < 3; k++) {
			double *at = &cloud->spheres[4 * i + k];
			*at = cloud->single ? (double)(float)(*at + test_random_double(seed, -most, most))
								: *at + test_random_double(seed, -most, most);
		}
	}
}

static void check_motion(carom_context *context, carom_device *device, carom_tree_upkeep upkeep)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	def.device = device;
	def.upkeep = upkeep;
	def.rebuild_interval = 3;
	carom_spheres *spheres;
	const bool rays = device->def.tier != CAROM_TIER_COMPUTE;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 1500, 8);
	uint64_t seed = 3;
	int refits = 0;
	double first_cost = 0;
	for (int step = 0; step < 7; step++) {
		fixture_check_spheres(spheres, &cloud, NULL, "in motion");
		const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
		first_cost = step == 0 ? stats.tree_cost : first_cost;
		refits += stats.refitted;
		CHECK(stats.method == CAROM_SPHERES_DEVICE && stats.tree_cost > 1);
		if (upkeep == CAROM_UPKEEP_REFIT && step == 6 && !CHECK(stats.tree_cost > 1.2 * first_cost))
			printf("cost %g, then %g\n", first_cost, stats.tree_cost); // the shape is that of the first step
		shake(&cloud, rays ? 0.02 : 0.002, &seed);                     // the boxes of proxies are larger
	}
	CHECK_INT(carom_spheres_get_stats(spheres).tree_builds, 7 - refits);
	if (upkeep != CAROM_UPKEEP_AUTO && upkeep != CAROM_UPKEEP_QUALITY)
		CHECK_INT(refits, upkeep == CAROM_UPKEEP_REBUILD ? 0 : upkeep == CAROM_UPKEEP_REFIT ? 6 : 4);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
}

static void check_every_upkeep(carom_device_tier tier)
{
	carom_context *context = fixture_context(1);
	carom_device *device = tier_device(context, tier);
	for (int upkeep = CAROM_UPKEEP_AUTO; upkeep <= CAROM_UPKEEP_QUALITY; upkeep++)
		check_motion(context, device, (carom_tree_upkeep)upkeep);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_spheres, follow_motion_by_every_upkeep) { check_every_upkeep(CAROM_TIER_COMPUTE); }
TEST(device_spheres, ray_queries_follow_motion_by_every_upkeep) { check_every_upkeep(CAROM_TIER_QUERY); }
TEST(device_spheres, ray_pipelines_follow_motion_by_every_upkeep) { check_every_upkeep(CAROM_TIER_PIPELINE); }

static void add_overlap(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	(void)a, (void)b, (void)torque, (void)user;
	for (int k = 0; k < 3; k++)
		force[k] += overlap * direction[k];
}

TEST(device_spheres, lists_and_forces_are_the_same_bits)
{
	enum { COUNT = 2000 };
	carom_context *context = fixture_context(2);
	carom_device *device = fixture_device(context, NULL);
	carom_spheres *both[2] = { make_spheres(context, NULL, 0.0004), make_spheres(context, device, 0.0004) };
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, COUNT, 9);
	static double forces[2][3 * COUNT];
	uint64_t seed = 4;
	for (int step = 0; step < 4; step++) {
		const fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
		carom_sphere_neighbours lists[2];
		for (int d = 0; d < 2; d++) {
			REQUIRE(carom_spheres_update(both[d], &arrays.input) == CAROM_SUCCESS);
			REQUIRE(carom_spheres_sum_forces(both[d], add_overlap, NULL, forces[d], NULL) == CAROM_SUCCESS);
			REQUIRE(carom_spheres_get_neighbours(both[d], &lists[d]) == CAROM_SUCCESS);
		}
		CHECK(memcmp(forces[0], forces[1], sizeof forces[0]) == 0);
		CHECK(lists[0].first[COUNT] == lists[1].first[COUNT] && lists[0].first[COUNT] > 0 &&
			memcmp(lists[0].other, lists[1].other, (size_t)lists[0].first[COUNT] * sizeof(uint32_t)) == 0);
		fixture_free_arrays((fixture_arrays *)&arrays);
		shake(&cloud, 0.0001, &seed);
	}
	for (int d = 0; d < 2; d++)
		carom_destroy_spheres(both[d]);
	fixture_free_cloud(&cloud);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

// ---- Recorded spheres ----

/// A snapshot: a head of 64 bytes with the number of spheres at 8, of pairs at 40, and a sum over the pairs at 48; then the spheres.
static void check_snapshot(carom_context *context, carom_device *device, const char *name)
{
	char head[64];
	uint64_t count, pairs, checksum, sum = 0;
	FILE *file = fopen(test_data_path(name), "rb");
	REQUIRE(file && fread(head, 1, sizeof head, file) == sizeof head && memcmp(head, "SPHERES1", 8) == 0);
	memcpy(&count, head + 8, 8);
	memcpy(&pairs, head + 40, 8);
	memcpy(&checksum, head + 48, 8);
	float *spheres = malloc(16 * (size_t)count);
	REQUIRE(spheres && fread(spheres, 16, (size_t)count, file) == count);
	fclose(file);
	carom_spheres *detector = make_spheres(context, device, 0);
	carom_sphere_input input = carom_default_sphere_input();
	carom_sphere_pairs found;
	input.count = (int64_t)count;
	input.centres = (carom_strided){ spheres, 16, CAROM_FLOAT32 };
	input.radii = (carom_strided){ spheres + 3, 16, CAROM_FLOAT32 };
	for (int round = 0; round < 2; round++) { // built, then as upkeep will have it
		REQUIRE(carom_spheres_update(detector, &input) == CAROM_SUCCESS);
		REQUIRE(carom_spheres_find_pairs(detector, &found) == CAROM_SUCCESS);
	}
	for (int64_t i = 0; i < found.count; i++)
		sum += fixture_mix((uint64_t)found.pairs[i].a << 32 | found.pairs[i].b);
	CHECK_INT(found.count, pairs);
	if (!CHECK(sum == checksum))
		printf("%s\n", name);
	// Spheres lie in random order in the files: a lost order along the curve would show here.
	CHECK(carom_spheres_get_stats(detector).tree_cost < 5000);
	free(spheres);
	carom_destroy_spheres(detector);
}

static void check_snapshots(carom_device_tier tier, int count)
{
	static const char *const names[] = { "spheres/bunny_half.sph", "spheres/bunny_mix.sph", "spheres/dense_100k.sph",
		"spheres/floor_250k.sph" };
	test_data_path(names[0]);
	carom_context *context = fixture_context(2);
	carom_device *device = tier_device(context, tier);
	for (int i = 0; i < count; i++)
		check_snapshot(context, device, names[i]);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_spheres, snapshots_are_those_of_their_ground_truth) { check_snapshots(CAROM_TIER_COMPUTE, TEST_FEWER > 1 ? 2 : 4); }
TEST(device_spheres, snapshots_by_ray_queries_are_those_of_their_ground_truth) { check_snapshots(CAROM_TIER_QUERY, 1); }
TEST(device_spheres, snapshots_by_ray_pipelines_are_those_of_their_ground_truth) { check_snapshots(CAROM_TIER_PIPELINE, 1); }

// ---- Limits ----

static bool count_pairs(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	(void)worker;
	bool ordered = true;
	for (int64_t i = 0; i < count; i++)
		ordered = ordered && pairs[i].a < pairs[i].b;
	atomic_fetch_add((atomic_llong *)user, ordered ? count : 0);
	return true;
}

TEST(device_spheres, more_pairs_than_the_device_has_room_for_come_in_windows)
{
	enum { COUNT = 2000 };
	const int64_t all = (int64_t)COUNT * (COUNT - 1) / 2;
	carom_context *context = fixture_context(2);
	carom_device_def def = carom_default_device_def();
	def.memory_budget = fixture_ring_size(context) + (2 << 20); // two million pairs would take 16 MB
	carom_device *device = fixture_device(context, &def);
	carom_spheres *spheres = make_spheres(context, device, 0);
	static float heap[4 * COUNT];
	for (int i = 0; i < COUNT; i++)
		heap[4 * i + 3] = 1;
	carom_sphere_input input = carom_default_sphere_input();
	input.count = COUNT;
	input.centres = (carom_strided){ heap, 16, CAROM_FLOAT32 };
	input.radii = (carom_strided){ heap + 3, 16, CAROM_FLOAT32 };
	for (int round = 0; round < 2; round++) { // the second one knows how many there are, and cannot have the room
		atomic_llong count = 0;
		REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
		CHECK_INT(carom_spheres_visit_pairs(spheres, count_pairs, &count), CAROM_SUCCESS);
		CHECK_INT(atomic_load(&count), all);
	}
	CHECK(carom_device_get_stats(device).bytes_peak <= def.memory_budget);
	CHECK(carom_device_get_stats(device).bytes_down >= 2 * 8 * all); // read in place, or copied
	carom_destroy_spheres(spheres);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

/// A list of pairs that cannot grow stays as large as it is.
TEST(device_spheres, a_list_of_pairs_that_cannot_grow_is_kept)
{
	enum { COUNT = 1000, FEW = 200 };
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	carom_spheres *spheres = make_spheres(context, device, 0);
	static float heap[4 * COUNT];
	carom_sphere_input input = carom_default_sphere_input();
	input.count = COUNT;
	input.centres = (carom_strided){ heap, 16, CAROM_FLOAT32 };
	input.radii = (carom_strided){ heap + 3, 16, CAROM_FLOAT32 };
	size_t bytes = 0;
	for (int round = 0; round < 4; round++) {
		const int64_t together = round < 2 ? FEW : COUNT;
		for (int i = 0; i < COUNT; i++) {
			heap[4 * i] = i < together ? 0 : 3 * (float)i;
			heap[4 * i + 3] = 1;
		}
		if (round == 2) { // the room for few pairs is there
			bytes = carom_device_get_stats(device).bytes;
			device->def.memory_budget = bytes + 4096;
		}
		atomic_llong count = 0;
		REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
		REQUIRE(carom_spheres_visit_pairs(spheres, count_pairs, &count) == CAROM_SUCCESS);
		CHECK_INT(atomic_load(&count), together * (together - 1) / 2);
	}
	CHECK(carom_device_get_stats(device).bytes >= bytes);
	carom_destroy_spheres(spheres);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_spheres, a_budget_of_the_device_is_named_and_kept)
{
	carom_context *context = fixture_context(1);
	carom_device_def device_def = carom_default_device_def();
	device_def.memory_budget = 300000;
	carom_device *device = fixture_device(context, &device_def);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 10000, 2);
	const fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	for (int fallback = 0; fallback < 2; fallback++) {
		carom_spheres_def def = carom_default_spheres_def();
		def.method = CAROM_SPHERES_DEVICE;
		def.device = device;
		def.device_fallback = fallback;
		carom_spheres *spheres;
		REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
		CHECK_INT(carom_spheres_update(spheres, &arrays.input), fallback ? CAROM_SUCCESS : CAROM_OVER_BUDGET);
		CHECK(strstr(carom_error_text(context), "carom_device_def.memory_budget") != NULL);
		const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
		CHECK_INT(stats.device_fallbacks, fallback);
		CHECK_INT(stats.count, fallback ? cloud.count : 0);
		carom_destroy_spheres(spheres);
	}
	CHECK(carom_device_get_stats(device).bytes_peak <= device_def.memory_budget);
	fixture_free_arrays((fixture_arrays *)&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_spheres, a_device_of_another_context_is_refused)
{
	carom_context *one = fixture_context(1), *other = fixture_context(1);
	carom_device *device = fixture_device(one, NULL);
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	def.device = device;
	carom_spheres *spheres;
	CHECK_INT(carom_create_spheres(other, &def, &spheres), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(other), "of another context") != NULL);
	carom_destroy_device(device);
	carom_destroy_context(one);
	carom_destroy_context(other);
}

// ---- Pairs that stay there ----

static int64_t kernel_calls(const carom_device *device, const char *name)
{
	carom_kernel_time times[64];
	const int32_t count = carom_device_get_kernels(device, times, 64);
	for (int32_t i = 0; i < count && i < 64; i++) {
		if (strcmp(times[i].name, name) == 0)
			return times[i].calls;
	}
	return 0;
}

/// The pairs on the device are those of the oracle, and so are the rows that they make.
static void check_there(carom_spheres *spheres, carom_device *device, const fixture_cloud *cloud, const double period[3])
{
	carom_context *context = device->context;
	fixture_arrays arrays = fixture_lay_out(cloud, cloud->single ? LAYOUT_RECORDS : LAYOUT_DOUBLES);
	fixture_pairs truth = fixture_oracle_pairs(cloud, 0, period);
	carom_sphere_device_pairs found;
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	const carom_result result = carom_spheres_find_device_pairs(spheres, &found);
	if (!CHECK_INT(result, CAROM_SUCCESS))
		printf("%s\n", carom_error_text(context));
	CHECK_INT(carom_spheres_get_stats(spheres).pairs, truth.count);
	const size_t rows = (size_t)cloud->count + 1, count = (size_t)found.count;
	carom_sphere_pair *pairs = calloc(count + 1, sizeof *pairs);
	uint64_t *first = calloc(rows, sizeof *first);
	REQUIRE(pairs && first);
	CHECK_INT(carom_device_read(device, &found.pairs, 0, count * sizeof *pairs, pairs), CAROM_SUCCESS);
	CHECK_INT(carom_device_read(device, &found.first, 0, rows * sizeof *first, first), CAROM_SUCCESS);
	const bool same = found.count == truth.count && (count == 0 || memcmp(pairs, truth.pairs, count * sizeof *pairs) == 0);
	if (!CHECK(same))
		printf("%s: %lld pairs, not %lld\n", cloud->name, (long long)found.count, (long long)truth.count);
	uint64_t at = 0;
	bool good = true;
	for (size_t i = 0; i < rows; i++) {
		while (at < count && pairs[at].a < i)
			at++;
		good = good && first[i] == at;
	}
	CHECK(good);
	free(pairs);
	free(first);
	fixture_free_pairs(&truth);
	fixture_free_arrays(&arrays);
}

/// All at one place, each with a row longer than an invocation sorts.
static fixture_cloud make_heap(int64_t count, int64_t heaped)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, count, 3);
	for (int64_t i = 1; i < heaped; i++)
		memcpy(cloud.spheres + 4 * (i * 7 % count), cloud.spheres, 4 * sizeof *cloud.spheres);
	return cloud;
}

static void check_all_there(carom_device_tier tier, bool staging, bool as_a_card)
{
	carom_context *context = fixture_context(2);
	carom_device_def def = carom_default_device_def();
	def.tier = tier;
	def.staging = staging;
	carom_device *device = fixture_device(context, &def);
	device->apart = device->watches = as_a_card;
	carom_spheres *spheres = make_spheres(context, device, 0);
	for (int kind = 0; kind < CLOUD_ALL_KINDS; kind++) {
		fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, kind == CLOUD_TOUCHING ? 2800 : 900, 6);
		check_there(spheres, device, &cloud, NULL);
		fixture_free_cloud(&cloud);
	}
	CHECK(kernel_calls(device, "pairs_judge") > 0); // a lattice has more pairs in doubt than there is room for at first
	fixture_cloud heap = make_heap(1500, 700);
	check_there(spheres, device, &heap, NULL);
	check_there(spheres, device, &heap, NULL); // again, with the room that it needs
	carom_sphere_pairs pairs;
	CHECK_INT(carom_spheres_find_pairs(spheres, &pairs), CAROM_SUCCESS);
	fixture_free_cloud(&heap);
	for (int64_t few = 0; few < 3; few++) {
		fixture_cloud cloud = fixture_make_cloud(CLOUD_COINCIDENT, few, 2);
		if (few > 0)
			check_there(spheres, device, &cloud, NULL);
		fixture_free_cloud(&cloud);
	}
	carom_destroy_spheres(spheres);
	carom_destroy_device(device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(device_spheres, pairs_that_stay_there_are_the_oracles) { check_all_there(CAROM_TIER_COMPUTE, false, false); }
TEST(device_spheres, pairs_that_stay_on_what_is_like_a_card_are_the_oracles)
{
	check_all_there(CAROM_TIER_COMPUTE, false, true);
}
TEST(device_spheres, pairs_that_stay_there_are_the_oracles_through_the_ring)
{
	check_all_there(CAROM_TIER_COMPUTE, true, false);
}
TEST(device_spheres, pairs_of_rays_that_stay_there_are_the_oracles) { check_all_there(CAROM_TIER_QUERY, false, false); }

TEST(device_spheres, pairs_across_borders_stay_there)
{
	const double period[3] = { 2, 0, 3 };
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	def.device = device;
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = period[k] > 0;
		def.period[k] = period[k];
	}
	carom_spheres *spheres;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	fixture_cloud cloud = fixture_make_periodic_cloud(period, 700, 4);
	check_there(spheres, device, &cloud, period);
	CHECK(carom_spheres_get_stats(spheres).images > 0);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

/// Pairs of two ghosts stay out, and no pair is copied: their number and the doubts are.
TEST(device_spheres, little_comes_down_where_pairs_stay_there)
{
	carom_context *context = fixture_context(1);
	carom_device_def device_def = carom_default_device_def();
	device_def.staging = true;
	carom_device *device = fixture_device(context, &device_def);
	carom_spheres *spheres = make_spheres(context, device, 0);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 4000, 8);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	arrays.input.owned = 2500;
	carom_sphere_device_pairs there;
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_find_device_pairs(spheres, &there) == CAROM_SUCCESS); // the first one tries the device's doubles
	for (int round = 0; round < 2; round++) {
		carom_sphere_pairs here;
		REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
		const carom_device_stats before = carom_device_get_stats(device);
		REQUIRE(carom_spheres_find_device_pairs(spheres, &there) == CAROM_SUCCESS);
		const carom_device_stats after = carom_device_get_stats(device);
		CHECK(after.bytes_down - before.bytes_down < 1000 && there.count > 3000);
		CHECK(there.pairs.buffer != 0 && there.pairs.address != 0 && there.pairs.size >= 8 * (uint64_t)there.count);
		carom_sphere_pair *pairs = calloc((size_t)there.count, sizeof *pairs);
		REQUIRE(pairs && carom_device_read(device, &there.pairs, 0, 8 * (uint64_t)there.count, pairs) == CAROM_SUCCESS);
		REQUIRE(carom_spheres_find_pairs(spheres, &here) == CAROM_SUCCESS);
		CHECK(here.count == there.count && memcmp(here.pairs, pairs, (size_t)here.count * sizeof *pairs) == 0);
		carom_sphere_pair some[3];
		CHECK_INT(carom_device_read(device, &there.pairs, 800, sizeof some, some), CAROM_SUCCESS);
		CHECK(memcmp(some, pairs + 100, sizeof some) == 0);
		free(pairs);
	}
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

/// Does the processor reach the device's own memory? Else copies are submissions, which a lost device refuses.
static bool reaches(carom_device *device)
{
	cr_gpu_buffer buffer = { 0 };
	cr_gpu_lock(device);
	REQUIRE(cr_gpu_unlock(device, cr_gpu_reserve(device, &buffer, 16)) == CAROM_SUCCESS);
	const bool mapped = buffer.mapped;
	cr_gpu_free(device, &buffer);
	return mapped;
}

typedef struct deciders {
	int64_t judged, settled; // calls of kernels
} deciders;

static deciders count_deciders(const carom_device *device)
{
	return (deciders){ kernel_calls(device, "pairs_judge"), kernel_calls(device, "pairs_settle") };
}

/// Spheres as small as floats go: coordinates that a device may take for 0, all in doubt.
static fixture_cloud make_tiny(void)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 300, 5);
	for (int64_t i = 0; i < 4 * cloud.count; i++)
		cloud.spheres[i] = (double)(float)(cloud.spheres[i] * 1e-40);
	return cloud;
}

/// Who decides about pairs in doubt: a device with doubles where floats hold the spheres, else the processor.
TEST(device_spheres, pairs_in_doubt_are_decided_there_where_that_is_exact)
{
	for (int kind = 0; kind < 2; kind++) {
		carom_context *context = fixture_context(1);
		carom_device_def def = carom_default_device_def();
		def.without_doubles = kind == 1;
		carom_device *device = fixture_device(context, &def);
		fixture_cloud lattice = fixture_make_cloud(CLOUD_TOUCHING, 500, 6), tiny = make_tiny();
		carom_spheres *spheres = make_spheres(context, device, 0);
		check_there(spheres, device, &lattice, NULL);
		check_there(spheres, device, &tiny, NULL);
		const deciders single = count_deciders(device);
		CHECK(kind == 1 ? single.judged == 0 && single.settled > 0 : single.judged > 0 && single.settled == 0);
		lattice.single = false; // doubles are not rounded, even where a float would hold them
		check_there(spheres, device, &lattice, NULL);
		const deciders both = count_deciders(device);
		CHECK(both.judged == single.judged && both.settled > single.settled);
		carom_destroy_spheres(spheres);
		fixture_free_cloud(&lattice);
		fixture_free_cloud(&tiny);
		carom_destroy_device(device);
		carom_destroy_context(context);
	}
}

/// A list of neighbours, and a set that the device cannot tell apart: the processor's pairs are brought. Then the device is lost.
TEST(device_spheres, pairs_of_the_processor_are_brought_there)
{
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	carom_spheres *spheres = make_spheres(context, device, 0.0004);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 800, 8), fewer = fixture_make_cloud(CLOUD_STRAYS, 300, 8);
	check_there(spheres, device, &cloud, NULL);
	check_there(spheres, device, &fewer, NULL);
	carom_sphere_device_pairs there;
	device->stats.lost = true; // not really
	CHECK_INT(carom_spheres_find_device_pairs(spheres, &there), reaches(device) ? CAROM_SUCCESS : CAROM_DEVICE_FAILED);
	device->stats.lost = false;
	check_there(spheres, device, &cloud, NULL);
	carom_destroy_spheres(spheres);
	spheres = make_spheres(context, device, 0);
	check_there(spheres, device, &cloud, NULL);
	device->stats.lost = true;
	CHECK_INT(carom_spheres_find_device_pairs(spheres, &there), CAROM_DEVICE_FAILED);
	CHECK(there.count == 0 && there.pairs.buffer == 0 && strstr(carom_error_text(context), "lost"));
	device->stats.lost = false;
	check_there(spheres, device, &fewer, NULL);
	fixture_free_cloud(&cloud);
	fixture_free_cloud(&fewer);
	carom_destroy_spheres(spheres);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_spheres, misuse_of_pairs_that_stay_there_is_named)
{
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	carom_spheres *both[2] = { make_spheres(context, device, 0), make_spheres(context, NULL, 0) };
	carom_sphere_device_pairs there = { .count = 7 };
	CHECK_INT(carom_spheres_find_device_pairs(NULL, &there), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_find_device_pairs(both[0], NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_find_device_pairs(both[1], &there), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_spheres_def.method is tree, not device"));
	CHECK_INT(carom_spheres_find_device_pairs(both[0], &there), CAROM_SUCCESS); // there are no spheres
	CHECK(there.count == 0 && there.pairs.buffer == 0);
	const carom_device_buffer buffer = { .size = 100 };
	char byte;
	CHECK_INT(carom_device_read(NULL, &buffer, 0, 1, &byte), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_device_read(device, NULL, 0, 1, &byte), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_device_read(device, &buffer, 0, 1, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_device_read(device, &buffer, 100, 1, &byte), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "not within the buffer's 100 bytes"));
	CHECK_INT(carom_device_read(device, &buffer, 100, 0, NULL), CAROM_SUCCESS);
	for (int i = 0; i < 2; i++)
		carom_destroy_spheres(both[i]);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

// ---- Several devices ----

enum { MOST = 4 };

static carom_spheres *make_shared(
	carom_context *context, carom_device *const *devices, int32_t count, double skin, bool fallback)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	def.device = devices[0];
	def.skin = skin;
	def.device_fallback = fallback;
	carom_spheres *spheres;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_set_devices(spheres, devices, count) == CAROM_SUCCESS);
	return spheres;
}

static void open_devices(carom_context *context, carom_device *devices[MOST], bool staging)
{
	carom_device_def def = carom_default_device_def();
	def.staging = staging;
	for (int i = 0; i < MOST; i++)
		devices[i] = fixture_device(context, &def);
}

static void close_devices(carom_context *context, carom_device *devices[MOST])
{
	for (int i = 0; i < MOST; i++)
		carom_destroy_device(devices[i]);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

/// ThreadSanitizer takes one device and all: what each does is known to it then.
static void check_shared(int threads, bool staging)
{
	carom_context *context = fixture_context(threads);
	carom_device *devices[MOST];
	open_devices(context, devices, staging);
	for (int32_t count = 1; count <= MOST; count += TEST_SEEKS_RACES ? MOST - 1 : 1) {
		carom_spheres *spheres = make_shared(context, devices, count, 0, false);
		for (int kind = 0; kind<CLOUD_ALL_KINDS; kind += threads> 1 ? 3 : 1) {
			fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 900, 6);
			fixture_check_spheres(spheres, &cloud, NULL, cloud.name);
			check_there(spheres, devices[0], &cloud, NULL);
			fixture_free_cloud(&cloud);
		}
		fixture_cloud heap = make_heap(1200, 700); // nearly all in one slab
		fixture_check_spheres(spheres, &heap, NULL, "heap");
		fixture_free_cloud(&heap);
		for (int64_t few = 1; few < 6; few += TEST_SEEKS_RACES ? 4 : 1) { // fewer spheres than devices
			fixture_cloud cloud = fixture_make_cloud(CLOUD_COINCIDENT, few, 2);
			fixture_check_spheres(spheres, &cloud, NULL, "few");
			fixture_free_cloud(&cloud);
		}
		CHECK(carom_spheres_get_stats(spheres).method == CAROM_SPHERES_DEVICE);
		carom_destroy_spheres(spheres);
	}
	close_devices(context, devices);
}

TEST(device_spheres, slabs_of_several_devices_are_the_oracles) { check_shared(1, false); }
TEST(device_spheres, slabs_of_several_devices_do_not_depend_on_threads) { check_shared(3, true); }

/// Every device has its share of the work, and the same pairs come of it.
TEST(device_spheres, slabs_share_the_work)
{
	enum { COUNT = 6000 };
	carom_context *context = fixture_context(2);
	carom_device *devices[MOST];
	open_devices(context, devices, false);
	carom_spheres *one = make_spheres(context, devices[0], 0), *all = make_shared(context, devices + 1, 3, 0, false);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, COUNT, 8);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	for (int64_t owned = COUNT; owned > 0; owned -= 2500) { // with ghosts of other processes
		carom_sphere_pairs pairs[2];
		arrays.input.owned = owned;
		REQUIRE(carom_spheres_update(one, &arrays.input) == CAROM_SUCCESS);
		REQUIRE(carom_spheres_update(all, &arrays.input) == CAROM_SUCCESS);
		REQUIRE(carom_spheres_find_pairs(one, &pairs[0]) == CAROM_SUCCESS);
		REQUIRE(carom_spheres_find_pairs(all, &pairs[1]) == CAROM_SUCCESS);
		CHECK(pairs[0].count > 100 && same_pairs(&pairs[0], &pairs[1]));
		atomic_llong count = 0;
		REQUIRE(carom_spheres_visit_pairs(all, count_pairs, &count) == CAROM_SUCCESS);
		CHECK_INT(atomic_load(&count), pairs[0].count);
	}
	for (int i = 1; i < MOST; i++) {
		const carom_device_stats stats = carom_device_get_stats(devices[i]);
		// 16 bytes a sphere went up in each of three updates; a third of them, and guests.
		CHECK(stats.bytes_up > 3 * 16 * COUNT / 4 && stats.bytes_up < 3 * 24 * COUNT / 2);
	}
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(one);
	carom_destroy_spheres(all);
	close_devices(context, devices);
}

TEST(device_spheres, slabs_across_borders_and_lists_are_those_of_one_device)
{
	const double period[3] = { 2, 0, 3 };
	carom_context *context = fixture_context(1);
	carom_device *devices[MOST];
	open_devices(context, devices, false);
	for (int32_t count = 2; count <= MOST; count++) {
		carom_spheres_def def = carom_default_spheres_def();
		def.method = CAROM_SPHERES_DEVICE;
		def.device = devices[0];
		for (int k = 0; k < 3; k++) {
			def.periodic[k] = period[k] > 0;
			def.period[k] = period[k];
		}
		def.skin = count == 3 ? 0.01 : 0;
		carom_spheres *spheres;
		REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
		REQUIRE(carom_spheres_set_devices(spheres, devices, count) == CAROM_SUCCESS);
		fixture_cloud cloud = fixture_make_periodic_cloud(period, 700, 4);
		fixture_check_spheres(spheres, &cloud, period, "periodic");
		CHECK(carom_spheres_get_stats(spheres).images > 0);
		fixture_free_cloud(&cloud);
		carom_destroy_spheres(spheres);
	}
	close_devices(context, devices);
}

TEST(device_spheres, a_device_of_several_that_fails_is_named_or_replaced)
{
	carom_context *context = fixture_context(2);
	carom_device *devices[MOST];
	open_devices(context, devices, false);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 900, 8);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	fixture_pairs truth = fixture_oracle_pairs(&cloud, 0, NULL);
	for (int fallback = 0; fallback < 2; fallback++) {
		carom_spheres *spheres = make_shared(context, devices, 3, 0, fallback);
		carom_sphere_pairs pairs;
		REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
		devices[2]->stats.lost = true; // not really
		CHECK_INT(carom_spheres_find_pairs(spheres, &pairs), fallback ? CAROM_SUCCESS : CAROM_DEVICE_FAILED);
		CHECK(fallback || strstr(carom_error_text(context), "was lost"));
		CHECK_INT(pairs.count, fallback ? truth.count : 0);
		CHECK_INT(carom_spheres_get_stats(spheres).device_fallbacks, fallback);
		devices[2]->stats.lost = false;
		fixture_check_spheres(spheres, &cloud, NULL, "again");
		devices[1]->def.memory_budget = devices[1]->stats.bytes + 1; // no room for the next ones
		fixture_cloud more = fixture_make_cloud(CLOUD_DENSE, 20000, 8);
		fixture_arrays many = fixture_lay_out(&more, LAYOUT_RECORDS);
		CHECK_INT(carom_spheres_update(spheres, &many.input), fallback ? CAROM_SUCCESS : CAROM_OVER_BUDGET);
		devices[1]->def.memory_budget = 0;
		fixture_free_arrays(&many);
		fixture_free_cloud(&more);
		carom_destroy_spheres(spheres);
	}
	fixture_free_pairs(&truth);
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	close_devices(context, devices);
}

TEST(device_spheres, misuse_of_several_devices_is_named)
{
	carom_context *context = fixture_context(1), *other = fixture_context(1);
	carom_device *devices[MOST], *strange = fixture_device(other, NULL);
	open_devices(context, devices, false);
	carom_spheres *tree = make_spheres(context, NULL, 0), *spheres = make_spheres(context, devices[0], 0);
	CHECK_INT(carom_spheres_set_devices(NULL, devices, 1), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_set_devices(tree, devices, 1), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "method is tree"));
	CHECK_INT(carom_spheres_set_devices(spheres, NULL, 1), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_set_devices(spheres, devices, 0), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_set_devices(spheres, devices, CAROM_MAX_DEVICES + 1), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "count is 17"));
	carom_device *twice[2] = { devices[1], devices[1] }, *mixed[2] = { devices[0], strange }, *none[2] = { devices[0], NULL };
	CHECK_INT(carom_spheres_set_devices(spheres, twice, 2), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "devices[1] is devices[0] again"));
	CHECK_INT(carom_spheres_set_devices(spheres, mixed, 2), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "devices[1] is of another context"));
	CHECK_INT(carom_spheres_set_devices(spheres, none, 2), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "devices[1] is NULL"));
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 300, 8); // the one that it had is still there
	fixture_check_spheres(spheres, &cloud, NULL, "after misuse");
	CHECK_INT(carom_spheres_set_devices(spheres, devices + 2, 2), CAROM_SUCCESS);
	CHECK_INT(carom_spheres_get_stats(spheres).count, 0); // until the next update
	fixture_check_spheres(spheres, &cloud, NULL, "elsewhere");
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(tree);
	carom_destroy_spheres(spheres);
	carom_destroy_device(strange);
	carom_destroy_context(other);
	close_devices(context, devices);
}

// ---- Memory that fails ----

static void check_failing_allocations(carom_device_tier tier)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_device_def device_def = carom_default_device_def();
	device_def.staging = true;
	device_def.tier = tier;
	carom_device *device = fixture_device(context, &device_def);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, tier == CAROM_TIER_COMPUTE ? 500 : 100, 2);
	const fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
	failing_calls calls = failing_calls_of_preset();
	for (bool failed = true; failed;) {
		carom_spheres *spheres = make_spheres(context, device, 0.001);
		carom_sphere_pairs pairs;
		carom_sphere_device_pairs there;
		fixture_begin_failing(&heap, &calls);
		carom_result result = carom_spheres_update(spheres, &arrays.input);
		if (result == CAROM_SUCCESS)
			result = carom_spheres_find_pairs(spheres, &pairs);
		if (result == CAROM_SUCCESS)
			result = carom_spheres_find_device_pairs(spheres, &there);
		failed = fixture_end_failing(&heap);
		CHECK_INT(result, failed ? CAROM_OUT_OF_MEMORY : CAROM_SUCCESS);
		fixture_check_spheres(spheres, &cloud, NULL, "after a failure");
		carom_destroy_spheres(spheres);
	}
	failing_calls_free(&calls);
	fixture_free_arrays((fixture_arrays *)&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_device(device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(device_spheres, every_allocation_may_fail) { check_failing_allocations(CAROM_TIER_COMPUTE); }
TEST(device_spheres, every_allocation_may_fail_with_ray_queries) { check_failing_allocations(CAROM_TIER_QUERY); }
TEST(device_spheres, every_allocation_may_fail_with_ray_pipelines) { check_failing_allocations(CAROM_TIER_PIPELINE); }

// ---- Threads ----

typedef struct thread_user {
	cr_thread thread;
	carom_spheres *spheres;
	fixture_cloud cloud;
	fixture_pairs truth;
	bool good;
} thread_user;

static void use_device(void *user_pointer)
{
	thread_user *user = user_pointer;
	user->good = true;
	const fixture_arrays arrays = fixture_lay_out(&user->cloud, LAYOUT_RECORDS);
	for (int round = 0; round < 6; round++) {
		carom_sphere_pairs found;
		user->good = user->good && carom_spheres_update(user->spheres, &arrays.input) == CAROM_SUCCESS &&
			carom_spheres_find_pairs(user->spheres, &found) == CAROM_SUCCESS && found.count == user->truth.count &&
			memcmp(found.pairs, user->truth.pairs, (size_t)found.count * sizeof *found.pairs) == 0;
	}
	fixture_free_arrays((fixture_arrays *)&arrays);
}

TEST(device_spheres, threads_share_a_device)
{
	enum { USERS = 3 };
	if (!CR_THREADS)
		test_skip("there are no threads");
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	static thread_user users[USERS];
	for (int i = 0; i < USERS; i++) {
		users[i].spheres = make_spheres(context, device, 0);
		users[i].cloud = fixture_make_cloud(CLOUD_DENSE, 700 + 200 * i, 2);
		users[i].truth = fixture_oracle_pairs(&users[i].cloud, 0, NULL);
	}
	for (int i = 0; i < USERS; i++)
		REQUIRE(cr_thread_start(&users[i].thread, use_device, &users[i]));
	for (int i = 0; i < USERS; i++) {
		cr_thread_join(&users[i].thread);
		CHECK(users[i].good);
		carom_destroy_spheres(users[i].spheres);
		fixture_free_cloud(&users[i].cloud);
		fixture_free_pairs(&users[i].truth);
	}
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_spheres, devices_opened_twice_give_the_same)
{
	carom_context *context = fixture_context(1);
	carom_device *devices[2] = { fixture_device(context, NULL), fixture_device(context, NULL) };
	fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, 3000, 6);
	const fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	carom_spheres *spheres[2];
	carom_sphere_pairs found[2];
	for (int d = 0; d < 2; d++) {
		spheres[d] = make_spheres(context, devices[d], 0);
		REQUIRE(carom_spheres_update(spheres[d], &arrays.input) == CAROM_SUCCESS);
	}
	for (int d = 0; d < 2; d++)
		REQUIRE(carom_spheres_find_pairs(spheres[d], &found[d]) == CAROM_SUCCESS);
	CHECK(same_pairs(&found[0], &found[1]) && found[0].count > 0);
	for (int d = 0; d < 2; d++) {
		carom_destroy_spheres(spheres[d]);
		carom_destroy_device(devices[d]);
	}
	fixture_free_arrays((fixture_arrays *)&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

// ---- The validation layer ----

static void print_message(carom_log_level level, const char *text, void *user)
{
	(void)user;
	if (level == CAROM_LOG_ERROR)
		printf("%s\n", text);
}

/// Messages about objects that were left come when the device is destroyed: the log has them.
static void count_errors(carom_log_level level, const char *text, void *user)
{
	print_message(level, text, user);
	*(int *)user += level == CAROM_LOG_ERROR;
}

static void check_validation(carom_device_tier tier)
{
	int errors = 0;
	carom_context_def context_def = carom_default_context_def();
	context_def.log = count_errors;
	context_def.log_user = &errors;
	carom_context *context;
	REQUIRE(carom_create_context(&context_def, &context) == CAROM_SUCCESS);
	for (int staging = 0; staging < 2; staging++) {
		carom_device_def def = carom_default_device_def();
		def.staging = staging;
		def.validation = def.timing = true;
		def.tier = tier;
		carom_device *device = fixture_device(context, &def);
		carom_spheres *spheres = make_spheres(context, device, 0);
		for (int64_t count = 300; count <= 1500; count += 600) {
			fixture_cloud cloud = fixture_make_cloud(CLOUD_COINCIDENT, count, 7);
			fixture_check_spheres(spheres, &cloud, NULL, cloud.name);
			fixture_check_spheres(spheres, &cloud, NULL, "again");
			fixture_free_cloud(&cloud);
		}
		CHECK_INT(carom_device_get_stats(device).validation_messages, 0);
		carom_destroy_spheres(spheres);
		carom_destroy_device(device);
	}
	CHECK_INT(errors, 0);
	carom_destroy_context(context);
}

TEST(device_spheres, the_validation_layer_has_nothing_to_say) { check_validation(CAROM_TIER_COMPUTE); }
TEST(device_spheres, the_validation_layer_has_nothing_to_say_of_ray_queries) { check_validation(CAROM_TIER_QUERY); }
TEST(device_spheres, the_validation_layer_has_nothing_to_say_of_ray_pipelines) { check_validation(CAROM_TIER_PIPELINE); }

TEST(device_spheres, kernels_are_timed_and_counted)
{
	carom_context *context = fixture_context(1);
	carom_device_def def = carom_default_device_def();
	def.timing = true;
	carom_device *device = fixture_device(context, &def);
	carom_spheres *spheres = make_spheres(context, device, 0);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 2000, 7);
	fixture_check_spheres(spheres, &cloud, NULL, cloud.name);
	carom_kernel_time times[64];
	const int32_t count = carom_device_get_kernels(device, times, 64);
	CHECK(count > 8 && count <= 64);
	CHECK_INT(carom_device_get_kernels(device, times, 1), count);
	int64_t calls = 0;
	double ms = 0;
	for (int32_t i = 0; i < carom_device_get_kernels(device, times, 64); i++) {
		CHECK(times[i].name[0] && times[i].calls > 0 && times[i].ms >= 0);
		calls += times[i].calls;
		ms += times[i].ms;
	}
	const carom_device_stats stats = carom_device_get_stats(device);
	CHECK_INT(calls, stats.dispatches);
	CHECK(ms > 0 && stats.submissions > 0 && stats.bytes > 0 && stats.bytes_peak >= stats.bytes);
	CHECK(stats.bytes_up >= 16 * 2000 && stats.bytes_down > 0 && !stats.lost);
	carom_destroy_spheres(spheres);
	carom_destroy_device(device);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}
