/// Spheres shared out to processes (carom_sphere_input.owned, ids64): every method against the oracle without the pairs of two ghosts,
/// no such pair tested, the same bits however the spheres are shared out, misuse, failing memory.
#include "fixture.h"
#include "spheres/sphere_state.h"
#include "spheres_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METHODS = 4 };
static const carom_sphere_method METHOD[METHODS] = { CAROM_SPHERES_GRID, CAROM_SPHERES_LEVELS, CAROM_SPHERES_TREE,
	CAROM_SPHERES_RAYS };

static carom_spheres *make_spheres(
	carom_context *context, carom_sphere_method method, double skin, const double period[3], carom_tree_upkeep upkeep)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = method;
	def.skin = skin;
	def.upkeep = upkeep;
	for (int k = 0; period && k < 3; k++) {
		def.periodic[k] = period[k] > 0;
		def.period[k] = period[k];
	}
	carom_spheres *spheres = NULL;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	return spheres;
}

static int64_t without_ghosts(fixture_pairs *pairs, int64_t owned)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < pairs->count; i++) {
		if (pairs->pairs[i].a < owned)
			pairs->pairs[kept++] = pairs->pairs[i];
	}
	return pairs->count = kept;
}

static bool collect(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	fixture_collector *collector = user;
	return collector->sink.take(pairs, count, worker, collector->sink.user);
}

/// Found, visited and in rows: the pairs of the oracle that have an owned sphere, each once.
static void check_owned(carom_spheres *spheres, const fixture_cloud *cloud, const double period[3], int64_t owned)
{
	char what[80];
	snprintf(what, sizeof what, "%s, %lld owned, %s", cloud->name, (long long)owned,
		carom_sphere_method_name(carom_spheres_get_stats(spheres).method));
	fixture_arrays arrays = fixture_lay_out(cloud, cloud->single ? LAYOUT_RECORDS : LAYOUT_DOUBLES);
	fixture_pairs expected = fixture_oracle_pairs(cloud, 0, period);
	without_ghosts(&expected, owned);
	arrays.input.owned = owned;
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	carom_sphere_pairs found;
	REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
	const fixture_pairs view = { (carom_sphere_pair *)(size_t)found.pairs, found.count, found.count };
	fixture_check_pairs(&view, &expected, what);
	CHECK_INT(carom_spheres_get_stats(spheres).pairs, expected.count);
	CHECK_INT(carom_spheres_get_stats(spheres).ghosts, cloud->count - owned);
	if (owned == 0)
		CHECK_INT(carom_spheres_get_stats(spheres).tests, 0);

	fixture_collector *collector = fixture_make_collector();
	REQUIRE(carom_spheres_visit_pairs(spheres, collect, collector) == CAROM_SUCCESS);
	fixture_pairs visited = fixture_collected(collector);
	fixture_check_pairs(&visited, &expected, what);
	fixture_free_pairs(&visited);
	fixture_free_collector(collector);

	carom_sphere_neighbours rows;
	REQUIRE(carom_spheres_get_neighbours(spheres, &rows) == CAROM_SUCCESS);
	CHECK_INT(rows.count, owned);
	int64_t entries = 0;
	for (int64_t i = 0; i < expected.count; i++)
		entries += 1 + (expected.pairs[i].b < owned);
	if (carom_spheres_get_stats(spheres).skin == 0)
		CHECK_INT(rows.first[owned], entries);
	CHECK(rows.first[owned] >= entries);
	fixture_free_pairs(&expected);
	fixture_free_arrays(&arrays);
}

/// One detector for all clouds: what is remembered of one must not show in the next.
static void check_method(carom_sphere_method method, double skin, int threads)
{
	carom_context *context = fixture_context(threads);
	carom_spheres *spheres = make_spheres(context, method, skin, NULL, CAROM_UPKEEP_REFIT);
	for (int kind = 0; kind < CLOUD_ALL_KINDS; kind++) {
		fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 1200 / TEST_FEWER, 11);
		const int64_t some[] = { cloud.count / 2, 0, 1, cloud.count / 7, cloud.count - 5, cloud.count };
		for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
			check_owned(spheres, &cloud, NULL, some[i]);
		fixture_free_cloud(&cloud);
	}
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(ghosts, grid_leaves_out_their_pairs) { check_method(CAROM_SPHERES_GRID, 0, 2); }
TEST(ghosts, levels_leave_out_their_pairs) { check_method(CAROM_SPHERES_LEVELS, 0, 1); }
TEST(ghosts, tree_leaves_out_their_pairs) { check_method(CAROM_SPHERES_TREE, 0, 2); }
TEST(ghosts, rays_leave_out_their_pairs) { check_method(CAROM_SPHERES_RAYS, 0, 1); }
TEST(ghosts, lists_leave_out_their_pairs) { check_method(CAROM_SPHERES_AUTO, 0.001, 2); }

TEST(ghosts, periodic_images_of_ghosts_are_ghosts)
{
	static const double periods[3][3] = { { 1, 0, 0 }, { 1, 0.75, 0 }, { 1, 1, 1 } };
	carom_context *context = fixture_context(2);
	for (int p = 0; p < 3; p++) {
		fixture_cloud cloud = fixture_make_periodic_cloud(periods[p], 500, 5);
		for (int m = 0; m < METHODS; m++) {
			carom_spheres *spheres = make_spheres(context, METHOD[m], 0, periods[p], CAROM_UPKEEP_AUTO);
			check_owned(spheres, &cloud, periods[p], cloud.count / 3);
			check_owned(spheres, &cloud, periods[p], 0);
			carom_destroy_spheres(spheres);
		}
		fixture_free_cloud(&cloud);
	}
	carom_destroy_context(context);
}

/// A heap of ghosts apart from the owned spheres: at most all pairs of these are tested.
TEST(ghosts, a_heap_of_them_costs_no_tests)
{
	enum { OWNED = 200 };
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 4000, 3);
	for (int64_t i = 0; i < OWNED; i++)
		cloud.spheres[4 * i] += 3;
	for (int m = 0; m < METHODS; m++) {
		int64_t tests[2]; // of all as owned, with ghosts
		for (int run = 0; run < 2; run++) {
			carom_spheres *spheres = make_spheres(context, METHOD[m], 0, NULL, CAROM_UPKEEP_AUTO);
			fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
			carom_sphere_pairs found;
			arrays.input.owned = run == 1 ? OWNED : -1;
			REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
			REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
			tests[run] = carom_spheres_get_stats(spheres).tests;
			fixture_free_arrays(&arrays);
			carom_destroy_spheres(spheres);
		}
		CHECK(tests[1] < tests[0] / 10);
		CHECK(tests[1] <= OWNED * (OWNED - 1) / 2);
	}
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(ghosts, a_tree_whose_ghosts_change_is_built_again)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_TREE, 0, NULL, CAROM_UPKEEP_REFIT);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 900, 3);
	check_owned(spheres, &cloud, NULL, 500);
	CHECK_INT(carom_spheres_get_stats(spheres).tree_builds, 1);
	check_owned(spheres, &cloud, NULL, 500);
	CHECK(carom_spheres_get_stats(spheres).refitted);
	CHECK_INT(carom_spheres_get_stats(spheres).tree_builds, 1);
	check_owned(spheres, &cloud, NULL, 501);
	CHECK(!carom_spheres_get_stats(spheres).refitted);
	CHECK_INT(carom_spheres_get_stats(spheres).tree_builds, 2);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(ghosts, a_list_is_kept_while_they_are_the_same_ones)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_GRID, 0.001, NULL, CAROM_UPKEEP_AUTO);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 900, 3);
	check_owned(spheres, &cloud, NULL, 500);
	cloud.spheres[4 * 700] += 0.0002; // a ghost
	check_owned(spheres, &cloud, NULL, 500);
	CHECK(carom_spheres_get_stats(spheres).kept);
	check_owned(spheres, &cloud, NULL, 499);
	CHECK(!carom_spheres_get_stats(spheres).kept);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

// ---- Shared out ----

/// A spring with a twist that depends on the names of both, of 64 bits where these are given.
typedef struct spring {
	const uint64_t *names;
} spring;

static void spring_force(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	const uint64_t *names = ((const spring *)user)->names;
	const double own = (double)(names[a] & 0xffff), other = (double)(names[b] & 0xffff);
	for (int k = 0; k < 3; k++) {
		force[k] += 1e5 / (own + other + 3) * overlap * direction[k];
		torque[k] += overlap * direction[(k + 1) % 3] / (1 + own * 0.5 + other);
	}
}

/// Spheres of one process: its own, then ghosts.
typedef struct share {
	double *spheres; // [4*count]
	uint64_t *names; // [count]: the sphere in the cloud
	int64_t count, owned, capacity;
} share;

static void add_sphere(share *s, const double *sphere, const double shift[3], uint64_t name)
{
	if (s->count == s->capacity) {
		s->capacity = 2 * s->capacity + 64;
		s->spheres = realloc(s->spheres, 4 * (size_t)s->capacity * sizeof(double));
		s->names = realloc(s->names, (size_t)s->capacity * sizeof *s->names);
		REQUIRE(s->spheres && s->names);
	}
	for (int k = 0; k < 4; k++)
		s->spheres[4 * s->count + k] = sphere[k] + (k < 3 ? shift[k] : 0);
	s->names[s->count++] = name;
}

/// The slab lower <= x < upper of a cloud that is periodic along x and z, with all that may touch it as ghosts: neighbours, and images
/// that this process makes.
static share take_slab(const fixture_cloud *cloud, const double period[3], double lower, double upper, double reach)
{
	share s = { 0 };
	const double none[3] = { 0 };
	for (int64_t i = 0; i < cloud->count; i++) {
		if (cloud->spheres[4 * i] >= lower && cloud->spheres[4 * i] < upper)
			add_sphere(&s, cloud->spheres + 4 * i, none, (uint64_t)i);
	}
	s.owned = s.count;
	for (int64_t i = 0; i < cloud->count; i++) {
		for (int image = 0; image < 9; image++) {
			const double shift[3] = { (image % 3 - 1) * period[0], 0, (image / 3 - 1) * period[2] };
			const double x = cloud->spheres[4 * i] + shift[0];
			const bool own = image == 4 && x >= lower && x < upper;
			if (!own && x >= lower - reach && x < upper + reach)
				add_sphere(&s, cloud->spheres + 4 * i, shift, (uint64_t)i);
		}
	}
	return s;
}

/// Sums over one process's spheres go to force and torque [3*cloud.count].
static void sum_share(
	carom_context *context, carom_sphere_method method, double skin, share *s, bool wide, double *force, double *torque)
{
	carom_spheres *spheres = make_spheres(context, method, skin, NULL, CAROM_UPKEEP_AUTO);
	carom_sphere_input input = carom_default_sphere_input();
	uint32_t *ids = malloc((size_t)s->count * sizeof *ids + 1);
	double *sums = malloc(6 * (size_t)s->owned * sizeof *sums + 1);
	REQUIRE(ids && sums);
	for (int64_t i = 0; i < s->count; i++) {
		ids[i] = (uint32_t)s->names[i];
		s->names[i] |= wide ? 0xabcdef0000000000u : 0;
	}
	input.count = s->count;
	input.owned = s->owned;
	input.centres = (carom_strided){ s->spheres, 4 * sizeof(double), CAROM_FLOAT64 };
	input.radii = (carom_strided){ s->spheres + 3, 4 * sizeof(double), CAROM_FLOAT64 };
	input.ids = wide ? NULL : ids;
	input.ids64 = wide ? s->names : NULL;
	REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
	spring user = { s->names };
	REQUIRE(carom_spheres_sum_forces(spheres, spring_force, &user, sums, sums + 3 * s->owned) == CAROM_SUCCESS);
	for (int64_t i = 0; i < s->owned; i++) {
		memcpy(force + 3 * (size_t)ids[i], sums + 3 * i, 3 * sizeof *force);
		memcpy(torque + 3 * (size_t)ids[i], sums + 3 * (s->owned + i), 3 * sizeof *torque);
	}
	free(ids);
	free(sums);
	carom_destroy_spheres(spheres);
}

/// All spheres' sums, shared out to so many processes.
static double *sum_shared(const fixture_cloud *cloud, const double period[3], int processes, int variant, int threads)
{
	carom_context *context = fixture_context(threads);
	double *sums = calloc(6 * (size_t)cloud->count, sizeof *sums), r_max = 0;
	REQUIRE(sums != NULL);
	for (int64_t i = 0; i < cloud->count; i++)
		r_max = fmax(r_max, cloud->spheres[4 * i + 3]);
	for (int p = 0; p < processes; p++) {
		share s = take_slab(cloud, period, period[0] * p / processes, period[0] * (p + 1) / processes, 2 * r_max + 0.001);
		sum_share(context, METHOD[(p + variant) % METHODS], variant % 2 ? 0.001 : 0, &s, variant % 3 == 0, sums,
			sums + 3 * cloud->count);
		free(s.spheres);
		free(s.names);
	}
	carom_destroy_context(context);
	return sums;
}

/// The cloud with all centres within the period.
static fixture_cloud wrapped_cloud(const double period[3], int64_t count)
{
	fixture_cloud cloud = fixture_make_periodic_cloud(period, count, 8);
	for (int64_t i = 0; i < cloud.count; i++) {
		for (int k = 0; k < 3; k++) {
			if (period[k] > 0)
				cloud.spheres[4 * i + k] -= period[k] * floor(cloud.spheres[4 * i + k] / period[k]);
		}
	}
	return cloud;
}

TEST(ghosts, sums_have_the_same_bits_for_any_share_out)
{
	const double period[3] = { 1, 0, 1 };
	fixture_cloud cloud = wrapped_cloud(period, 2000 / TEST_FEWER);
	const size_t bytes = 6 * (size_t)cloud.count * sizeof(double);
	// One process that knows of the periods, and needs no ghosts.
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_AUTO, 0, period, CAROM_UPKEEP_AUTO);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
	double *expected = malloc(bytes);
	uint64_t *names = malloc((size_t)cloud.count * sizeof *names);
	REQUIRE(expected && names);
	for (int64_t i = 0; i < cloud.count; i++)
		names[i] = (uint64_t)i;
	spring user = { names };
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_sum_forces(spheres, spring_force, &user, expected, expected + 3 * cloud.count) == CAROM_SUCCESS);
	CHECK(carom_spheres_get_stats(spheres).pairs > cloud.count);
	static const int processes[] = { 1, 2, 3, 5, 8 };
	for (int variant = 0; variant < 5; variant++) {
		double *sums = sum_shared(&cloud, period, processes[variant], variant, 1 + variant % 3);
		CHECK(memcmp(sums, expected, bytes) == 0);
		free(sums);
	}
	free(names);
	free(expected);
	fixture_free_arrays(&arrays);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
	fixture_free_cloud(&cloud);
}

/// A box so narrow that a sphere meets several images of one other: namesakes, in any order of the input.
TEST(ghosts, images_of_one_sphere_are_told_apart)
{
	carom_context *context = fixture_context(2);
	double expected[2][12];
	for (int order = 0; order < 6; order++) {
		// Two spheres of radius 0.7 in a period of 1 along x and z: 8 images of each.
		double spheres_at[4 * 18] = { 0.25, 0.5, 0.25, 0.7, 0.625, 0.875, 0.5, 0.7 };
		uint64_t names[18] = { 7, 3 };
		int64_t count = 2;
		for (int step = 0; step < 18; step++) {
			const int image = order % 2 ? 17 - step : (step + 5 * order) % 18, which = image / 9;
			if (image % 9 == 4)
				continue;
			const double shift[3] = { (double)(image % 9 / 3 - 1), 0, (double)(image % 3 - 1) };
			for (int k = 0; k < 4; k++)
				spheres_at[4 * count + k] = spheres_at[4 * which + k] + (k < 3 ? shift[k] : 0);
			names[count++] = names[which];
		}
		CHECK_INT(count, 18);
		for (int m = 0; m < METHODS; m++) {
			share s = { spheres_at, names, count, 2, count };
			double force[24] = { 0 }, torque[24] = { 0 };
			sum_share(context, METHOD[m], 0, &s, false, force, torque);
			double sums[2][6];
			for (int i = 0; i < 2; i++) {
				memcpy(sums[i], force + 3 * names[i], 3 * sizeof(double));
				memcpy(sums[i] + 3, torque + 3 * names[i], 3 * sizeof(double));
			}
			if (order == 0 && m == 0)
				memcpy(expected, sums, sizeof sums);
			CHECK(memcmp(expected, sums, sizeof sums) == 0);
			CHECK(fabs(force[9]) > 0);
		}
	}
	carom_destroy_context(context);
}

TEST(ghosts, any_number_of_threads_gives_the_same)
{
	const double period[3] = { 1, 0, 1 };
	fixture_cloud cloud = wrapped_cloud(period, 3000 / TEST_FEWER);
	const size_t bytes = 6 * (size_t)cloud.count * sizeof(double);
	double *expected = sum_shared(&cloud, period, 3, 0, 1);
	static const int threads[] = { 2, 3, 8 };
	for (int t = 0; t < 3; t++) {
		double *sums = sum_shared(&cloud, period, 3, 0, threads[t]);
		CHECK(memcmp(sums, expected, bytes) == 0);
		free(sums);
	}
	free(expected);
	fixture_free_cloud(&cloud);
}

// ---- Names of 64 bits ----

TEST(ghosts, names_of_64_bits_keep_lists_and_change_them)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_GRID, 0.001, NULL, CAROM_UPKEEP_AUTO);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 300, 3);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
	uint64_t names[300];
	for (uint64_t i = 0; i < 300; i++)
		names[i] = UINT64_MAX - i * 0x100000000u;
	arrays.input.ids64 = names;
	carom_sphere_neighbours rows;
	for (int pass = 0; pass < 4; pass++) {
		if (pass == 2)
			names[5] = 5;
		if (pass == 3)
			arrays.input.moved = INFINITY; // another list by the names of the last one
		REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
		CHECK(carom_spheres_get_stats(spheres).kept == (pass == 1));
		REQUIRE(carom_spheres_get_neighbours(spheres, &rows) == CAROM_SUCCESS);
		for (int64_t row = 0; row < rows.count; row++) {
			for (int64_t k = rows.first[row] + 1; k < rows.first[row + 1]; k++)
				CHECK(names[rows.other[k - 1]] < names[rows.other[k]]);
		}
	}
	// From names to ids and back: neither is taken for the other.
	uint32_t ids[300];
	for (uint32_t i = 0; i < 300; i++)
		ids[i] = i;
	arrays.input.ids64 = NULL;
	arrays.input.ids = ids;
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	CHECK(!carom_spheres_get_stats(spheres).kept);
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(ghosts, bad_input_is_named_and_changes_nothing)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_AUTO, 0, NULL, CAROM_UPKEEP_AUTO);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 100, 3);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
	uint64_t names[100];
	uint32_t ids[100];
	for (uint32_t i = 0; i < 100; i++) {
		ids[i] = i;
		names[i] = (uint64_t)i << 40;
	}
	check_owned(spheres, &cloud, NULL, 60);
	carom_sphere_input input = arrays.input;
	input.owned = 101;
	fixture_expect_wrong(context, carom_spheres_update(spheres, &input), "carom_sphere_input.owned is 101, more than count 100");
	input.owned = -1;
	input.ids = ids;
	input.ids64 = names;
	fixture_expect_wrong(context, carom_spheres_update(spheres, &input), "ids and ids64 are both given");
	input.ids = NULL;
	names[70] = names[20];
	fixture_expect_wrong(context, carom_spheres_update(spheres, &input),
		"carom_sphere_input.ids64 of spheres 20 and 70 are both 21990232555520");
	input.owned = 50; // a ghost may bear the name of another sphere
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
	names[70] = names[80];
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
	input.ids64 = NULL;
	input.ids = ids;
	ids[70] = ids[20];
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
	input.owned = 71; // checked although the ids are those of the last update
	fixture_expect_wrong(
		context, carom_spheres_update(spheres, &input), "carom_sphere_input.ids of spheres 20 and 70 are both 20");
	CHECK_INT(carom_spheres_get_stats(spheres).ghosts, 50);
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(ghosts, order_puts_them_last)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, CAROM_SPHERES_GRID, 0, NULL, CAROM_UPKEEP_AUTO);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 200, 3);
	check_owned(spheres, &cloud, NULL, 90);
	uint32_t order[200];
	bool seen[200] = { 0 };
	REQUIRE(carom_spheres_get_order(spheres, order) == CAROM_SUCCESS);
	for (int i = 0; i < 200; i++) {
		CHECK(order[i] < 200 && (order[i] < 90) == (i < 90) && !seen[order[i]]);
		seen[order[i]] = true;
	}
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(ghosts, every_allocation_may_fail)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, 300, 1);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
	uint64_t names[300];
	for (uint64_t i = 0; i < 300; i++)
		names[i] = i * i << 30;
	arrays.input.ids64 = names;
	arrays.input.owned = 200;
	for (int m = 0; m < METHODS; m++) {
		bool succeeded = false;
		for (int64_t fail_at = 1; !succeeded && fail_at < 300; fail_at++) { // 0 is the context
			fixture_heap heap;
			carom_context *context = fixture_heap_context(&heap, 2);
			carom_spheres *spheres = make_spheres(context, METHOD[m], 0.001, NULL, CAROM_UPKEEP_AUTO);
			atomic_store(&heap.fail_at, atomic_load(&heap.calls) + fail_at);
			carom_sphere_neighbours rows;
			const carom_result updated = carom_spheres_update(spheres, &arrays.input);
			const carom_result listed = updated == CAROM_SUCCESS ? carom_spheres_get_neighbours(spheres, &rows) : updated;
			CHECK(listed == CAROM_SUCCESS || listed == CAROM_OUT_OF_MEMORY);
			succeeded = listed == CAROM_SUCCESS;
			atomic_store(&heap.fail_at, -1);
			check_owned(spheres, &cloud, NULL, 120);
			carom_destroy_spheres(spheres);
			carom_destroy_context(context);
			CHECK_INT(atomic_load(&heap.blocks), 0);
		}
		CHECK(succeeded);
	}
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
}
