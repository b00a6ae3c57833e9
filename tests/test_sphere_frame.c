/// Sets that no single origin tells apart: one sphere that has flown off, heaps far from each other, all scales in one place. The same
/// pairs as ever, for a number of comparisons that follows the spheres and not their distances.
#include "fixture.h"
#include "spheres/sphere_frame.h"
#include "spheres/sphere_state.h"
#include "spheres/wide_tree.h"
#include "spheres_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TESTS = 40 }; // for each sphere; ordinary dense sets take 5 to 15

static carom_spheres *make_spheres(carom_context *context, carom_sphere_method method, double skin)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = method;
	def.skin = skin;
	carom_spheres *spheres = NULL;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	return spheres;
}

// ---- Pairs ----

static void check_cloud(carom_context *context, const fixture_cloud *cloud, carom_sphere_method method, double skin)
{
	carom_spheres *spheres = make_spheres(context, method, skin);
	char what[96];
	snprintf(what, sizeof what, "%s, %s, skin %g", carom_sphere_method_name(method), cloud->name, skin);
	fixture_check_spheres(spheres, cloud, NULL, what);
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	if (!CHECK(stats.tests <= MOST_TESTS * cloud->count))
		printf("%s: %.1f tests a sphere\n", what, (double)stats.tests / (double)cloud->count);
	// What no frame resolves goes to a tree; all else to the method that was asked for.
	const bool wide = cloud->kind == CLOUD_ALL_SCALES || cloud->kind == CLOUD_PLANET;
	CHECK(stats.method == (wide ? CAROM_SPHERES_TREE : method) || (method == CAROM_SPHERES_AUTO && stats.method != method));
	CHECK_INT(stats.bytes, carom_memory_in_use(context) - context->size);
	carom_destroy_spheres(spheres);
}

TEST(sphere_frame, comparisons_follow_the_spheres_for_any_threads)
{
	for (int threads = 1; threads <= 3; threads += 2) {
		if (!test_wants_threads(threads))
			continue;
		carom_context *context = fixture_context(threads);
		for (int kind = CLOUD_KINDS; kind < CLOUD_ALL_KINDS; kind++) {
			fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 12000 / TEST_FEWER, 23 + (uint64_t)kind);
			for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
				check_cloud(context, &cloud, (carom_sphere_method)method, 0);
				check_cloud(context, &cloud, (carom_sphere_method)method, 0.0001);
			}
			fixture_free_cloud(&cloud);
		}
		carom_destroy_context(context);
	}
}

TEST(sphere_frame, few_and_none)
{
	carom_context *context = fixture_context(1);
	for (int kind = CLOUD_KINDS; kind < CLOUD_ALL_KINDS; kind++) {
		for (int64_t count = 0; count <= 40; count++) {
			carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_AUTO, 0);
			fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, count, 3);
			fixture_check_spheres(spheres, &cloud, NULL, cloud.name);
			fixture_free_cloud(&cloud);
			carom_destroy_spheres(spheres);
		}
	}
	carom_destroy_context(context);
}

/// Positions in float lose nothing, but trees sort by place: a sphere far away must not make all others one.
TEST(sphere_frame, a_stray_in_float_costs_a_tree_nothing)
{
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 20000 / TEST_FEWER, 4);
	cloud.spheres[1] = 1e9;
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++)
		check_cloud(context, &cloud, (carom_sphere_method)method, 0);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

/// From one set to another and back: structures of other frames are of no use.
TEST(sphere_frame, frames_may_change_with_every_update)
{
	carom_context *context = fixture_context(2);
	static const int kinds[] = { CLOUD_DENSE, CLOUD_STRAYS, CLOUD_ALL_SCALES, CLOUD_FAR_AWAY, CLOUD_PLANET, CLOUD_FAR_HEAPS,
		CLOUD_WIDE, CLOUD_ALL_SCALES, CLOUD_ALL_SCALES, CLOUD_STRAYS, CLOUD_STRAYS };
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		for (int skinned = 0; skinned < 2; skinned++) {
			carom_spheres *spheres = make_spheres(context, (carom_sphere_method)method, skinned ? 0.0002 : 0);
			for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
				fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kinds[i], i % 3 ? 2000 : 1500, i);
				fixture_check_spheres(spheres, &cloud, NULL, cloud.name);
				fixture_free_cloud(&cloud);
			}
			carom_destroy_spheres(spheres);
		}
	}
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

/// Sphere i of sets that leave detectors nothing to hold on to.
static void put_degenerate(double *s, int64_t i, int form)
{
	static const double radii[] = { 1, 0, 0, 0, 0, 0, 1e12, 1e-45 };
	s[0] = s[1] = s[2] = 0;
	s[3] = radii[form];
	switch (form) {
	case 2: // a giant over a row
		s[0] = (double)i * 1e-3;
		s[3] = i == 0 ? 1e6 : 1e-4;
		break;
	case 3: // two places at the ends of what is allowed
		s[0] = i % 2 ? 1e12 : -1e12;
		s[3] = (double)(i % 7) * 1e-30;
		break;
	case 4: // sixty powers of ten
		s[0] = pow(10, -30 + (double)(i % 42));
		s[3] = s[0] * 0.01;
		break;
	case 5: // many giants
		s[0] = (double)i;
		s[3] = i % 1000 ? 0.1 : 50000;
		break;
	case 7: // numbers without all their digits
		s[0] = 1e-45 * (double)i;
		break;
	default: break; // all at one place: spheres, points, as large as can be
	}
}

TEST(sphere_frame, degenerate_places)
{
	carom_context *context = fixture_context(2);
	for (int form = 0; form < 8; form++) {
		fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, TEST_FEWER > 1 ? 600 : 1200, 1);
		cloud.name = "degenerate places";
		for (int64_t i = 0; i < cloud.count; i++)
			put_degenerate(cloud.spheres + 4 * i, i, form);
		for (int wide = 0; wide < 2; wide++) {
			cloud.single = !wide;
			for (int64_t i = 0; !wide && i < 4 * cloud.count; i++)
				cloud.spheres[i] = (float)cloud.spheres[i];
			for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
				carom_spheres *spheres = make_spheres(context, (carom_sphere_method)method, 0);
				char what[64];
				snprintf(what, sizeof what, "degenerate places %d, %s", form, carom_sphere_method_name(method));
				fixture_check_spheres(spheres, &cloud, NULL, what);
				carom_destroy_spheres(spheres);
			}
		}
		fixture_free_cloud(&cloud);
	}
	carom_destroy_context(context);
}

// ---- Periodic space ----

/// A heap across the border of a period that is a million times as wide, and strays along the other axes.
static void check_periodic(carom_context *context, carom_sphere_method method, int axes)
{
	enum { COUNT = 1500 };
	double period[3];
	carom_spheres_def def = carom_default_spheres_def();
	def.method = method;
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, COUNT, 5);
	cloud.single = false;
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = axes >> k & 1;
		period[k] = def.period[k] = def.periodic[k] ? 0x1p20 * (1 + k) : 0;
		// Multiples of 2^-32, which wrapping leaves as they are.
		for (int64_t i = 0; i < COUNT; i++)
			cloud.spheres[4 * i + k] = ldexp(floor(ldexp(cloud.spheres[4 * i + k] - 0.5, 32)), -32);
		cloud.spheres[4 * k + k] = def.periodic[k] ? 12345.5 : 1e9;
	}
	carom_spheres *spheres = NULL;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	char what[64];
	snprintf(what, sizeof what, "%s, periodic axes %d", carom_sphere_method_name(method), axes);
	fixture_check_spheres(spheres, &cloud, period, what);
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	CHECK(stats.images > 0);
	if (!CHECK(stats.tests <= MOST_TESTS * (stats.count + stats.images)))
		printf("%s: %.1f tests a sphere\n", what, (double)stats.tests / COUNT);
	carom_destroy_spheres(spheres);
	fixture_free_cloud(&cloud);
}

TEST(sphere_frame, wide_periods)
{
	carom_context *context = fixture_context(2);
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		for (int axes = 1; axes < 8; axes++)
			check_periodic(context, (carom_sphere_method)method, axes);
	}
	carom_destroy_context(context);
}

// ---- Kept lists ----

/// With a stray the list is proved as long as without: here for twenty small motions, and to the last bit of what touches. (Where the
/// largest radius is 2e10, as among all scales, the rounding of sums of radii is more than this skin.)
TEST(sphere_frame, lists_hold_beside_a_stray)
{
	static const int kinds[] = { CLOUD_STRAYS, CLOUD_FAR_HEAPS, CLOUD_PLANET };
	carom_context *context = fixture_context(1);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kinds[i], 3000, 6);
		carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_AUTO, 0.0002);
		uint64_t seed = 7;
		for (int step = 0; step < 20; step++) {
			fixture_check_spheres(spheres, &cloud, NULL, cloud.name);
			CHECK_INT(carom_spheres_get_stats(spheres).kept, step > 0);
			for (int64_t k = 0; k < cloud.count; k++)
				cloud.spheres[4 * k + k % 3] += test_random_double(&seed, -1e-6, 1e-6);
		}
		CHECK_INT(carom_spheres_get_stats(spheres).list_builds, 1);
		// What goes further than the skin ends it.
		cloud.spheres[0] += 0.001;
		fixture_check_spheres(spheres, &cloud, NULL, cloud.name);
		CHECK_INT(carom_spheres_get_stats(spheres).list_builds, 2);
		carom_destroy_spheres(spheres);
		fixture_free_cloud(&cloud);
	}
	carom_destroy_context(context);
}

/// Floats whose frame is in double: moved as floats, they are compared with the list's in double.
TEST(sphere_frame, lists_of_floats_in_a_double_frame)
{
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_ALL_SCALES, 3000, 8);
	cloud.single = true;
	for (int64_t i = 0; i < 4 * cloud.count; i++)
		cloud.spheres[i] = (float)cloud.spheres[i];
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_AUTO, 0.01);
	for (int step = 0; step < 5; step++) {
		fixture_check_spheres(spheres, &cloud, NULL, "floats of all scales");
		for (int64_t i = 0; i < cloud.count; i++)
			cloud.spheres[4 * i] = (float)(cloud.spheres[4 * i] + 1e-4);
	}
	CHECK(carom_spheres_get_stats(spheres).list_builds < 5);
	carom_destroy_spheres(spheres);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

// ---- Cutting ----

static double coordinate(const cr_sphere *s, int k) { return k == 0 ? s->x : k == 1 ? s->y : s->z; }

/// The claims at the head of sphere_frame.h, pair by pair.
static void check_claims(const fixture_cloud *cloud, double skin, const cr_sphere *cut, double slack)
{
	int64_t near = 0, wrong = 0;
	for (int64_t i = 0; i < cloud->count; i++) {
		for (int64_t j = i + 1; j < cloud->count; j++) {
			const double *a = cloud->spheres + 4 * i, *b = cloud->spheres + 4 * j;
			double given = 0, found = 0;
			for (int k = 0; k < 3; k++) {
				const double d = a[k] - b[k], e = coordinate(&cut[i], k) - coordinate(&cut[j], k);
				given += d * d;
				found += e * e;
			}
			const double reach = a[3] + b[3] + skin;
			near += given <= reach * reach;
			// What touches is as far apart as it was; what does not stays beyond its reach.
			wrong += given <= reach * reach ? fabs(sqrt(given) - sqrt(found)) > slack : sqrt(found) < reach - slack;
		}
	}
	CHECK(near > 0);
	CHECK_INT(wrong, 0);
}

TEST(sphere_frame, cutting_moves_nothing_that_touches)
{
	carom_context *context = fixture_context(3);
	for (int kind = 0; kind < CLOUD_ALL_KINDS; kind++) {
		for (int skinned = 0; skinned < 2; skinned++) {
			fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 2000, 9);
			const double skin = skinned ? 0.0002 : 0;
			cr_sphere *cut = calloc((size_t)cloud.count, sizeof *cut);
			REQUIRE(cut);
			cr_bounds4 bounds;
			cr_clear_bounds(&bounds);
			for (int64_t i = 0; i < cloud.count; i++) {
				cr_bounds4 one;
				memcpy(one.lower, cloud.spheres + 4 * i, sizeof one.lower);
				memcpy(one.upper, cloud.spheres + 4 * i, sizeof one.upper);
				cr_join_bounds(&bounds, &one);
			}
			CHECK_INT(cr_cut_gaps(context, cloud.spheres, (uint32_t)cloud.count, skin, cut, &bounds), CAROM_SUCCESS);
			double extent = 0;
			for (int k = 0; k < 3; k++)
				extent = fmax(extent, bounds.upper[k] - bounds.lower[k]);
			if (kind != CLOUD_FREE_FALL)
				check_claims(&cloud, skin, cut, 3 * 0x1p-23 * extent);
			if (kind == CLOUD_STRAYS)
				CHECK(extent < 2);
			if (kind == CLOUD_FAR_HEAPS)
				CHECK(extent < 1);
			free(cut);
			fixture_free_cloud(&cloud);
		}
	}
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

// ---- The wide tree ----

TEST(sphere_frame, the_wide_tree_finds_every_pair_once_for_any_threads)
{
	for (int threads = 1; threads <= 3; threads += 2) {
		if (!test_wants_threads(threads))
			continue;
		carom_context *context = fixture_context(threads);
		fixture_check_detector_everywhere(&cr_wide_detector, context, TEST_FEWER > 1 ? 1500 : 3000);
		for (int64_t count = 0; count <= 40; count += count < 20 ? 1 : 5)
			fixture_check_detector_everywhere(&cr_wide_detector, context, count);
		CHECK_INT(carom_memory_in_use(context), context->size);
		carom_destroy_context(context);
	}
}

TEST(sphere_frame, a_sink_can_end_the_search_of_the_wide_tree)
{
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, 20000, 17);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	void *state = NULL;
	REQUIRE(cr_wide_detector.build(&state, &made.set) == CAROM_SUCCESS);
	fixture_collector *collector = fixture_make_collector();
	collector->stop_after = 1000;
	int64_t tests;
	REQUIRE(cr_wide_detector.find(state, &made.set, &collector->sink, &tests) == CAROM_SUCCESS);
	CHECK(collector->found[0].count < 3000);
	fixture_free_collector(collector);
	cr_wide_detector.release(context, state);
	fixture_free_set(&made);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

// ---- Memory ----

TEST(sphere_frame, every_allocation_may_fail)
{
	for (int kind = CLOUD_KINDS; kind < CLOUD_ALL_KINDS; kind++) {
		fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 2000, 10);
		fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
		bool succeeded = false;
		int64_t failures = 0;
		for (int64_t fail_at = 1; !succeeded && fail_at < 1000; fail_at++) { // 0 is the context
			fixture_heap heap;
			carom_context *context = fixture_heap_context(&heap, 2);
			carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_GRID, 0.0001);
			carom_sphere_pairs pairs;
			atomic_store(&heap.fail_at, atomic_load(&heap.calls) + fail_at - 1);
			carom_result result = carom_spheres_update(spheres, &arrays.input);
			if (result == CAROM_SUCCESS)
				result = carom_spheres_find_pairs(spheres, &pairs);
			else
				CHECK_INT(carom_spheres_get_stats(spheres).count, 0);
			CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
			succeeded = result == CAROM_SUCCESS;
			failures += !succeeded;
			atomic_store(&heap.fail_at, -1);
			fixture_check_spheres(spheres, &cloud, NULL, "after a failure");
			carom_destroy_spheres(spheres);
			carom_destroy_context(context);
			CHECK_INT(atomic_load(&heap.blocks), 0);
			CHECK_INT(atomic_load(&heap.bytes), 0);
		}
		CHECK(succeeded);
		CHECK(failures > 10);
		fixture_free_arrays(&arrays);
		fixture_free_cloud(&cloud);
	}
}

/// Sets that one origin resolves keep nothing for frames: 64 bytes a sphere of floats for a grid, 32 more in double, and at no time
/// more; nor is a sample of them taken.
TEST(sphere_frame, ordinary_sets_pay_nothing)
{
	for (int wide = 0; wide < 2; wide++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 1);
		carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_GRID, 0);
		fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 100000, 1);
		fixture_arrays arrays = fixture_lay_out(&cloud, wide ? LAYOUT_DOUBLES : LAYOUT_RECORDS);
		REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
		const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
		const double each = (double)(carom_memory_peak(context) - context->size) / (double)cloud.count;
		if (!CHECK(each < (wide ? 104 : 72)))
			printf("%.1f bytes a sphere\n", each);
		CHECK_INT(stats.bytes, carom_memory_in_use(context) - context->size);
		CHECK_INT(carom_memory_peak(context), carom_memory_in_use(context));
		fixture_free_arrays(&arrays);
		fixture_free_cloud(&cloud);
		carom_destroy_spheres(spheres);
		carom_destroy_context(context);
	}
}
