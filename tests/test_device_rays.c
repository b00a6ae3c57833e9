/// Rays on a device, tiers QUERY and PIPELINE, where they differ from searches of our own: boxes that are met several times, windows of
/// pairs, rays in pieces, an order of boxes that was lost, bounds of devices, the choice of a tier.
#include "device_fixture.h"
#include "fixture.h"
#include "spheres_fixture.h"
#include "vulkan/gpu_tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float LOWER[3] = { 0, 0, 0 };
static const cr_gpu_reach REACH = { 0x1p-100f, 0, 0 };

static void must(carom_context *context, carom_result result)
{
	if (result != CAROM_SUCCESS)
		printf("%s\n", carom_error_text(context));
	REQUIRE(result == CAROM_SUCCESS);
}

static void *must_have(size_t size)
{
	void *memory = calloc(1, size);
	REQUIRE(memory);
	return memory;
}

enum { COUNT = 1500, HEAP = 60, SIDE = 12 };
static const float UPPER[3] = { SIDE, SIDE, SIDE };

/// Spheres of radii of 0.2 to 0.8 in a box, and a heap in one place: more than slots hold.
static float *make_spheres(void)
{
	float *spheres = must_have(16 * (size_t)COUNT);
	uint64_t seed = 5;
	for (int i = 0; i < COUNT; i++) {
		for (int k = 0; k < 3; k++)
			spheres[4 * i + k] = (float)test_random_double(&seed, 0, SIDE);
		spheres[4 * i + 3] = (float)test_random_double(&seed, 0.2, 0.8);
	}
	for (int i = 1; i < HEAP; i++)
		memcpy(spheres + 4 * (17 * i), spheres, 16);
	return spheres;
}

typedef struct searched {
	carom_context *context;
	carom_device *device;
	cr_gpu_tree tree;
	cr_gpu_search found;
	double cost;
} searched;

static searched begin(carom_device_tier tier)
{
	searched s = { .context = fixture_context(1) };
	carom_device_def def = carom_default_device_def();
	def.tier = tier;
	s.device = fixture_device(s.context, &def);
	s.tree.tier = tier;
	cr_gpu_lock(s.device);
	return s;
}

static void end(searched *s)
{
	cr_gpu_free_tree(s->device, &s->tree);
	const uint64_t ring = s->device->staging[0].size + s->device->staging[1].size + s->device->sending.size;
	CHECK_INT(s->device->stats.bytes, s->device->readback.size + s->device->ray_tables[0].size + ring);
	CHECK_INT(cr_gpu_unlock(s->device, CAROM_SUCCESS), CAROM_SUCCESS);
	carom_destroy_device(s->device);
	CHECK_INT(carom_memory_in_use(s->context), s->context->size);
	carom_destroy_context(s->context);
}

static int by_pair(const void *p, const void *q)
{
	const cr_gpu_pair *a = p, *b = q;
	return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

/// Build and search with room for `want` pairs; all pairs, window by window, each once, sorted. *count: how many.
static cr_gpu_pair *search(searched *s, const float *spheres, uint64_t want, uint64_t *count)
{
	must(s->context, cr_gpu_build_tree(s->device, &s->tree, spheres, COUNT, LOWER, UPPER, REACH, false, &s->cost));
	must(s->context, cr_gpu_find_pairs(s->device, &s->tree, want, &s->found));
	cr_gpu_pair *pairs = must_have(sizeof *pairs * (size_t)(s->found.pairs + 1));
	uint64_t window;
	for (uint64_t first = 0; first < s->found.pairs; first += window) {
		must(s->context, cr_gpu_window(s->device, &s->tree, first, &window));
		CHECK(window <= s->tree.room);
		if (first > 0)
			must(s->context, cr_gpu_next_pairs(s->device, &s->tree, first));
		must(s->context, cr_gpu_download(s->device, &s->tree.pairs, pairs + first, window * sizeof *pairs));
	}
	*count = 0;
	for (uint64_t i = 0; i < s->found.pairs; i++) {
		cr_gpu_pair pair = pairs[i];
		if (pair.b == CR_GPU_NO_PAIR)
			continue;
		pair.b &= ~CR_GPU_DOUBT;
		pairs[(*count)++] = pair.a < pair.b ? pair : (cr_gpu_pair){ pair.b, pair.a };
	}
	qsort(pairs, (size_t)*count, sizeof *pairs, by_pair);
	for (uint64_t i = 1; i < *count; i++)
		CHECK(by_pair(&pairs[i - 1], &pairs[i]) < 0);
	return pairs;
}

/// The pairs are those of the processor. Coordinates are such that none is in doubt.
static void check_pairs(const float *spheres, const cr_gpu_pair *pairs, uint64_t count)
{
	uint64_t at = 0;
	for (uint32_t a = 0; a < COUNT; a++) {
		for (uint32_t b = a + 1; b < COUNT; b++) {
			double square = 0;
			for (int k = 0; k < 3; k++) {
				const double d = (double)spheres[4 * a + (uint32_t)k] - spheres[4 * b + (uint32_t)k];
				square += d * d;
			}
			const double sum = (double)spheres[4 * a + 3] + spheres[4 * b + 3];
			if (square > sum * sum)
				continue;
			CHECK(at < count && pairs[at].a == a && pairs[at].b == b);
			at++;
		}
	}
	CHECK_INT(count, at);
}

static void check_repeated_boxes(carom_device_tier tier)
{
	searched s = begin(tier);
	float *spheres = make_spheres();
	for (uint32_t more = 0; more < 2; more++) {
		uint64_t count;
		s.tree.rays.more_instances = more;
		cr_gpu_pair *pairs = search(&s, spheres, 100000, &count);
		check_pairs(spheres, pairs, count);
		// Places are left over where a sphere has more than slots, and each of its boxes was met twice.
		CHECK(more ? s.found.pairs > count : s.found.pairs == count);
		free(pairs);
	}
	end(&s);
	free(spheres);
}

TEST(device_rays, boxes_that_queries_meet_twice_count_once) { check_repeated_boxes(CAROM_TIER_QUERY); }
TEST(device_rays, boxes_that_pipelines_meet_twice_count_once) { check_repeated_boxes(CAROM_TIER_PIPELINE); }

static void check_windows(carom_device_tier tier)
{
	searched s = begin(tier);
	float *spheres = make_spheres();
	uint64_t count;
	if (tier == CAROM_TIER_PIPELINE)
		s.device->rays.most_rays = 400; // so that rays are sent in four pieces
	for (uint32_t more = 0; more < 2; more++) {
		s.tree.rays.more_instances = more;
		cr_gpu_pair *pairs = search(&s, spheres, 1, &count);
		CHECK(s.found.pairs > 2 * s.tree.room);
		check_pairs(spheres, pairs, count);
		free(pairs);
	}
	// Nobody could split the pairs of one sphere.
	for (int i = 1; i < COUNT; i++)
		memcpy(spheres + 4 * i, spheres, 16);
	s.tree.rays.more_instances = 0;
	must(s.context, cr_gpu_build_tree(s.device, &s.tree, spheres, COUNT, LOWER, UPPER, REACH, false, &s.cost));
	must(s.context, cr_gpu_find_pairs(s.device, &s.tree, 1, &s.found));
	CHECK_INT(s.found.pairs, (uint64_t)COUNT * (COUNT - 1) / 2);
	CHECK(s.tree.room < COUNT - 1);
	CHECK_INT(cr_gpu_window(s.device, &s.tree, 0, &count), CAROM_OVER_BUDGET);
	CHECK(strstr(carom_error_text(s.context), "one sphere has more than the") != NULL);
	end(&s);
	free(spheres);
}

TEST(device_rays, windows_of_queries_hold_every_pair_once) { check_windows(CAROM_TIER_QUERY); }
TEST(device_rays, windows_of_pipelines_hold_every_pair_once) { check_windows(CAROM_TIER_PIPELINE); }

static void check_order(carom_device_tier tier)
{
	searched s = begin(tier);
	float *spheres = make_spheres();
	uint64_t count;
	free(search(&s, spheres, 100000, &count));
	const double sorted = s.cost;
	// Who reports a pair is the smaller one: a box is met by every centre in it, and compared by those of smaller spheres alone.
	CHECK(s.found.tests >= count && s.found.tests < 3 * count && s.found.visits < 8 * count);
	CHECK(sorted > 2);
	// Spheres that have changed places, in the order of before, are strewn: whoever loses the sort is seen here.
	for (int i = 0; i < COUNT / 2; i++) {
		float swap[4];
		float *one = spheres + 4 * i, *other = spheres + 4 * (COUNT - 1 - i);
		memcpy(swap, one, 16);
		memcpy(one, other, 16);
		memcpy(other, swap, 16);
	}
	must(s.context, cr_gpu_build_tree(s.device, &s.tree, spheres, COUNT, LOWER, UPPER, REACH, true, &s.cost));
	if (!CHECK(s.cost > 4 * sorted))
		printf("cost %g sorted, %g strewn\n", sorted, s.cost);
	free(search(&s, spheres, 100000, &count));
	if (!CHECK(s.cost == sorted))
		printf("cost %g, then %g\n", sorted, s.cost);
	end(&s);
	free(spheres);
}

TEST(device_rays, a_lost_order_along_the_curve_shows_in_the_cost_of_queries) { check_order(CAROM_TIER_QUERY); }
TEST(device_rays, a_lost_order_along_the_curve_shows_in_the_cost_of_pipelines) { check_order(CAROM_TIER_PIPELINE); }

// ---- Bounds and choices ----

TEST(device_rays, more_boxes_than_the_device_takes_are_refused)
{
	searched s = begin(CAROM_TIER_QUERY);
	float *spheres = make_spheres();
	s.device->rays.most_boxes = COUNT - 1;
	CHECK_INT(cr_gpu_build_tree(s.device, &s.tree, spheres, COUNT, LOWER, UPPER, REACH, false, &s.cost), CAROM_UNSUPPORTED);
	CHECK(strstr(carom_error_text(s.context), "traces rays through at most 1499 boxes, and 1500 are needed") != NULL);
	must(s.context, cr_gpu_build_tree(s.device, &s.tree, spheres, COUNT - 1, LOWER, UPPER, REACH, false, &s.cost));
	end(&s);
	free(spheres);
}

TEST(device_rays, a_tier_that_the_device_lacks_is_an_error_that_names_it)
{
	carom_context *context = fixture_context(1);
	carom_device_def def = carom_default_device_def();
	carom_device *device = fixture_device(context, NULL);
	const carom_device_info info = carom_device_get_info(device);
	carom_destroy_device(device);
	def.choice = fixture_device_choice(context);
	const bool has[] = { true, true, info.ray_query, info.ray_pipeline };
	static const char *const names[] = { "auto", "compute", "query", "pipeline" };
	for (int tier = CAROM_TIER_AUTO; tier <= CAROM_TIER_PIPELINE; tier++) {
		def.tier = (carom_device_tier)tier;
		CHECK_INT(carom_create_device(context, &def, &device), has[tier] ? CAROM_SUCCESS : CAROM_UNSUPPORTED);
		CHECK(has[tier] || strstr(carom_error_text(context), "carom_device_def.tier is") != NULL);
		CHECK(strcmp(carom_device_tier_name((carom_device_tier)tier), names[tier]) == 0);
		carom_destroy_device(device);
	}
	def.tier = (carom_device_tier)4;
	CHECK_INT(carom_create_device(context, &def, &device), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_device_def.tier is 4") != NULL);
	CHECK(strcmp(carom_device_tier_name((carom_device_tier)4), "unknown") == 0);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

/// Updates of spheres on a device of tier AUTO; *tiers: a bit for each tier that searched.
static void check_trial(carom_context *context, carom_device *device, int updates, int *tiers)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	def.device = device;
	def.upkeep = CAROM_UPKEEP_REBUILD;
	carom_spheres *spheres;
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 400, 8);
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	*tiers = 0;
	CHECK_INT(carom_device_get_stats(device).tier, CAROM_TIER_AUTO);
	for (int update = 0; update < updates; update++) {
		fixture_check_spheres(spheres, &cloud, NULL, "on trial");
		*tiers |= 1 << carom_device_get_stats(device).tier;
	}
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
}

TEST(device_rays, auto_tries_every_tier_and_finds_the_same)
{
	carom_context *context = fixture_context(1);
	carom_device_def def = carom_default_device_def();
	def.choice = fixture_device_choice(context);
	for (int most_boxes = 0; most_boxes < 2; most_boxes++) {
		carom_device *device;
		must(context, carom_create_device(context, &def, &device));
		int expected = 1 << CAROM_TIER_COMPUTE, tiers;
		if (most_boxes)
			device->rays.most_boxes = 10; // then the others cannot
		else
			expected |=
				(device->rays.query ? 1 << CAROM_TIER_QUERY : 0) | (device->rays.pipeline ? 1 << CAROM_TIER_PIPELINE : 0);
		check_trial(context, device, 8, &tiers);
		CHECK_INT(tiers, expected);
		carom_destroy_device(device);
	}
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}
