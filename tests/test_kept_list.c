/// Lists kept with a skin: that no touching pair is ever missing, that lists are kept as long as they may be, and how the skin is
/// chosen.
#include "fixture.h"
#include "spheres/kept_list.h"
#include "spheres_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static carom_spheres *make_spheres(carom_context *context, double skin, const double period[3])
{
	carom_spheres_def def = carom_default_spheres_def();
	def.skin = skin;
	for (int k = 0; period && k < 3; k++) {
		def.periodic[k] = period[k] > 0;
		def.period[k] = period[k];
	}
	carom_spheres *spheres = NULL;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	return spheres;
}

static void update(carom_spheres *spheres, const fixture_cloud *cloud, double moved)
{
	fixture_arrays arrays = fixture_lay_out(cloud, cloud->single ? LAYOUT_PACKED : LAYOUT_DOUBLES);
	arrays.input.moved = moved;
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	fixture_free_arrays(&arrays);
}

static bool kept(const carom_spheres *spheres) { return carom_spheres_get_stats(spheres).kept; }

static bool check_now(carom_spheres *spheres, const fixture_cloud *cloud, const double period[3], const char *what)
{
	carom_sphere_pairs found;
	REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
	fixture_pairs expected = fixture_oracle_pairs(cloud, 0, period);
	fixture_pairs actual = { (carom_sphere_pair *)(uintptr_t)found.pairs, found.count, 0 };
	const bool same = fixture_check_pairs(&actual, &expected, what);
	fixture_free_pairs(&expected);
	return same;
}

// ---- The bound ----

TEST(kept_list, bounds_cover_what_pairs_close_in)
{
	enum { COUNT = 60 };
	uint64_t seed = 1;
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 200; round++) {
		const double step = pow(10, test_random_double(&seed, -6, 1));
		cr_sphere was[COUNT] = { 0 }, now[COUNT] = { 0 };
		const float drift[3] = { (float)test_random_double(&seed, -3, 3), 0, round % 2 ? 100 : 0 };
		for (int i = 0; i < COUNT; i++) {
			float *w = (float *)(was + i), *n = (float *)(now + i);
			for (int k = 0; k < 4; k++) {
				w[k] = (float)test_random_double(&seed, 0, 1);
				n[k] = w[k] + (float)test_random_double(&seed, -step, step) * (k == 3 ? 0.1f : 1) + (k < 3 ? drift[k] : 0);
			}
			now[i].r = fabsf(now[i].r);
		}
		carom_sphere_input input = carom_default_sphere_input();
		input.count = COUNT;
		input.centres = (carom_strided){ now, 16, CAROM_FLOAT32 };
		input.radii = (carom_strided){ &now[0].r, 16, CAROM_FLOAT32 };
		const cr_sphere_space space = { 0 };
		const cr_reference reference = { .spheres = was };
		cr_sphere_view view;
		cr_bounds4 bounds, motion;
		double shift[3], closest = -INFINITY;
		REQUIRE(cr_view_input(context, &input, &view) == CAROM_SUCCESS);
		REQUIRE(cr_measure_input(context, &view, &space, &reference, &bounds, &motion) == CAROM_SUCCESS);
		cr_common_translation(&motion, shift);
		const double by_box = cr_bound_by_box(&motion);
		const double by_distance = cr_bound_by_distance(&motion, cr_measure_distance(context, &view, &space, &reference, shift));
		for (int i = 0; i < COUNT; i++) {
			for (int j = 0; j < i; j++) {
				double before = 0, after = 0;
				const float *w = (const float *)(was + i), *v = (const float *)(was + j);
				const float *n = (const float *)(now + i), *m = (const float *)(now + j);
				for (int k = 0; k < 3; k++) {
					before += ((double)w[k] - v[k]) * ((double)w[k] - v[k]);
					after += ((double)n[k] - m[k]) * ((double)n[k] - m[k]);
				}
				const double grown = (double)now[i].r + now[j].r - was[i].r - was[j].r;
				closest = fmax(closest, sqrt(before) - sqrt(after) + grown);
			}
		}
		CHECK(closest <= by_distance * (1 + 1e-12) + 1e-13);
		CHECK(by_distance <= by_box * (1 + 1e-12) + 1e-13);
		// Not a bound that holds because it is always huge: no sphere went further than this from the drift.
		CHECK(by_box <= 2 * (sqrt(3) * step + 0.1 * step) * 1.01 + 1e-4);
	}
	carom_destroy_context(context);
}

// ---- Random motion ----

typedef struct walk {
	fixture_cloud cloud;
	double *velocity; // [4*count], of the radius too
	uint64_t seed;
	double speed;
	const double *period;
} walk;

static walk make_walk(fixture_cloud cloud, double speed, const double *period, uint64_t seed)
{
	walk w = { cloud, malloc(4 * (size_t)cloud.count * sizeof(double)), seed, speed, period };
	REQUIRE(w.velocity);
	for (int64_t i = 0; i < 4 * cloud.count; i++)
		w.velocity[i] = test_random_double(&w.seed, -speed, speed) * (i % 4 == 3 ? 0.1 : 1);
	return w;
}

static void free_walk(walk *w)
{
	free(w->velocity);
	fixture_free_cloud(&w->cloud);
}

/// A step of all; now and then some turn, one jumps, all drift, the radii breathe, a periodic one is wrapped by the caller.
static void take_step(walk *w, int step)
{
	const double drift[3] = { step % 300 < 100 ? 3 * w->speed : 0, step % 7 == 0 ? -2 * w->speed : 0, 0 };
	for (int64_t i = 0; i < w->cloud.count; i++) {
		double *s = w->cloud.spheres + 4 * i, *v = w->velocity + 4 * i;
		if (test_random(&w->seed) % 50 == 0) {
			for (int k = 0; k < 4; k++)
				v[k] = test_random_double(&w->seed, -w->speed, w->speed) * (k == 3 ? 0.1 : 1);
		}
		for (int k = 0; k < 3; k++)
			s[k] += v[k] + drift[k];
		s[3] = fabs(s[3] + (step / 20 % 2 ? -v[3] : v[3]));
		if (w->period && i % 3 == 0 && w->period[0] > 0)
			s[0] -= w->period[0] * floor(s[0] / w->period[0]);
	}
	if (test_random(&w->seed) % 40 == 0) {
		double *jumping = w->cloud.spheres + 4 * (size_t)(test_random(&w->seed) % (uint64_t)w->cloud.count);
		const double *target = w->cloud.spheres + 4 * (size_t)(test_random(&w->seed) % (uint64_t)w->cloud.count);
		memcpy(jumping, target, 3 * sizeof(double));
	}
	// As in the clouds: floats where single, else multiples of 2^-24, for which the oracle's images are exact.
	for (int64_t i = 0; i < 4 * w->cloud.count; i++) {
		double *value = &w->cloud.spheres[i];
		*value = w->cloud.single ? (float)*value : ldexp(floor(ldexp(*value, 24)), -24);
	}
}

static void walk_and_check(walk *w, double skin, int steps, int least_kept, int most_builds, const char *what)
{
	carom_context *context = fixture_context(2);
	carom_spheres *spheres = make_spheres(context, skin, w->period);
	int kept_steps = 0;
	for (int step = 0; step < steps; step++) {
		update(spheres, &w->cloud, -1);
		kept_steps += kept(spheres);
		if (!check_now(spheres, &w->cloud, w->period, what)) {
			printf("step %d, kept %d\n", step, kept(spheres));
			break;
		}
		take_step(w, step);
	}
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	CHECK(kept_steps >= least_kept);
	CHECK(stats.list_builds <= most_builds);
	CHECK_INT(stats.list_builds + kept_steps, steps);
	if (test_failures())
		printf("%s: kept in %d of %d steps\n", what, kept_steps, steps);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(kept_list, never_misses_a_pair_in_float)
{
	walk w = make_walk(fixture_make_cloud(CLOUD_WIDE, 300, 5), 0.0002, NULL, 1);
	walk_and_check(&w, 0.01, 1000, 850, 150, "floats");
	free_walk(&w);
}

TEST(kept_list, never_misses_a_pair_in_double)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, 300, 6);
	cloud.single = false;
	walk w = make_walk(cloud, 0.0002, NULL, 2);
	walk_and_check(&w, 0.01, 1000, 850, 150, "doubles");
	free_walk(&w);
}

TEST(kept_list, never_misses_a_pair_in_periodic_space)
{
	const double period[3] = { 1, 0.75, 0 };
	walk w = make_walk(fixture_make_periodic_cloud(period, 300, 7), 0.0003, period, 3);
	walk_and_check(&w, 0.02, 1000, 850, 150, "periodic");
	free_walk(&w);
}

TEST(kept_list, never_misses_a_pair_with_a_skin_of_its_own_choice)
{
	walk w = make_walk(fixture_make_cloud(CLOUD_WIDE, 300, 8), 0.0002, NULL, 4);
	walk_and_check(&w, -1, 1000, 500, 500, "automatic");
	free_walk(&w);
}

TEST(kept_list, never_misses_a_pair_however_fast_all_move)
{
	walk w = make_walk(fixture_make_cloud(CLOUD_WIDE, 300, 9), 0.05, NULL, 5);
	walk_and_check(&w, 0.001, 60, 0, 60, "fast");
	walk_and_check(&w, -1, 60, 0, 60, "fast, automatic");
	free_walk(&w);
}

TEST(kept_list, an_automatic_skin_respects_the_periods)
{
	const double period[3] = { 0.5, 0, 0 };
	walk w = make_walk(fixture_make_periodic_cloud(period, 40, 1), 0.00001, period, 5);
	for (int64_t i = 0; i < w.cloud.count; i++)
		w.cloud.spheres[4 * i + 3] = 0.1171875;
	for (int64_t i = 0; i < w.cloud.count; i++)
		w.velocity[4 * i + 3] = 0;
	walk_and_check(&w, -1, 60, 30, 30, "automatic, tight period");
	free_walk(&w);
}

// ---- What the bound knows of ----

TEST(kept_list, moving_all_alike_costs_nothing)
{
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 2000, 1);
	cloud.single = false;
	carom_spheres *spheres = make_spheres(context, 0.0001, NULL);
	update(spheres, &cloud, -1);
	check_now(spheres, &cloud, NULL, "at first");
	for (int step = 0; step < 20; step++) {
		for (int64_t i = 0; i < cloud.count; i++)
			cloud.spheres[4 * i + 1] += 0.5;
		update(spheres, &cloud, -1);
		CHECK(kept(spheres));
		check_now(spheres, &cloud, NULL, "all moved");
	}
	carom_destroy_spheres(spheres);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

/// Two spheres with a gap, as input of two records.
static void update_two(carom_spheres *spheres, double gap, double growth, double moved, const uint32_t *ids)
{
	const double records[2][4] = { { 0, 0, 0, 1 + growth }, { 2 + gap, 0, 0, 1 } };
	carom_sphere_input input = carom_default_sphere_input();
	input.count = 2;
	input.centres = (carom_strided){ records, 32, CAROM_FLOAT64 };
	input.radii = (carom_strided){ &records[0][3], 32, CAROM_FLOAT64 };
	input.moved = moved;
	input.ids = ids;
	REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
}

static int64_t pairs_of(carom_spheres *spheres)
{
	carom_sphere_pairs found;
	REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
	return found.count;
}

TEST(kept_list, approach_and_growth_up_to_the_skin)
{
	carom_context *context = fixture_context(1);
	for (int growing = 0; growing < 2; growing++) {
		carom_spheres *spheres = make_spheres(context, 0.25, NULL);
		// A gap a little wider than the skin: not in the list. They touch before the list may be kept no longer, or not at all.
		update_two(spheres, 0.2501, 0, -1, NULL);
		CHECK_INT(pairs_of(spheres), 0);
		CHECK_INT(carom_spheres_get_stats(spheres).list_builds, 1);
		update_two(spheres, growing ? 0.2501 : 0.0101, growing ? 0.12 : 0, -1, NULL);
		CHECK(kept(spheres));
		CHECK_INT(pairs_of(spheres), 0);
		update_two(spheres, growing ? 0.2501 : 0, growing ? 0.2501 : 0, -1, NULL);
		CHECK(!kept(spheres));
		CHECK_INT(pairs_of(spheres), 1);
		carom_destroy_spheres(spheres);
	}
	carom_destroy_context(context);
}

/// Two tiny spheres a little further apart than the skin go so far together that their way is rounded to less than the skin; there,
/// in float, they meet.
TEST(kept_list, the_rounding_of_long_ways_counts)
{
	const double place = 0x3p32, grain = 0x1p-19; // the way's last place
	carom_context *context = fixture_context(1);
	for (int part = 1; part < 8; part++) {
		float centres[6] = { 0 }, radii[2] = { 1e-12f, 1e-12f };
		carom_spheres *spheres = make_spheres(context, (5242 + (part - 0.5) / 8) * grain, NULL);
		carom_sphere_input input = carom_default_sphere_input();
		input.count = 2;
		input.centres = (carom_strided){ centres, 0, CAROM_FLOAT32 };
		input.radii = (carom_strided){ radii, 0, CAROM_FLOAT32 };
		centres[3] = (float)((5242 + part / 8.0) * grain);
		REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
		CHECK_INT(pairs_of(spheres), 0);
		centres[0] = centres[3] = (float)place;
		REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
		CHECK_INT(pairs_of(spheres), 1);
		carom_destroy_spheres(spheres);
	}
	carom_destroy_context(context);
}

TEST(kept_list, vouched_motion_adds_up)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, 0.25, NULL);
	update_two(spheres, 1, 0, -1, NULL);
	CHECK_INT(pairs_of(spheres), 0);
	// 2 * 0.031 for each update: four fit, and then the library looks for itself and finds that nothing has moved.
	for (int step = 0; step < 4; step++) {
		update_two(spheres, 1, 0, 0.031, NULL);
		CHECK(kept(spheres));
	}
	update_two(spheres, 1, 0, 0.031, NULL);
	CHECK(kept(spheres));
	// Half of the skin is measured: what is vouched for comes on top of it, and two fit.
	update_two(spheres, 0.875, 0, -1, NULL);
	CHECK(kept(spheres));
	update_two(spheres, 0.82, 0, 0.031, NULL);
	CHECK(kept(spheres));
	update_two(spheres, 0.76, 0, 0.031, NULL);
	CHECK(kept(spheres));
	update_two(spheres, 0.7, 0, 0.031, NULL);
	CHECK(!kept(spheres));
	CHECK_INT(pairs_of(spheres), 0);
	CHECK_INT(carom_spheres_get_stats(spheres).list_builds, 2);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(kept_list, infinite_motion_demands_a_new_list)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, 0.25, NULL);
	update_two(spheres, 0.3, 0, -1, NULL);
	CHECK_INT(pairs_of(spheres), 0);
	// The old list would hold, but the caller counts from here.
	update_two(spheres, 0.2, 0, INFINITY, NULL);
	CHECK(!kept(spheres));
	carom_sphere_neighbours rows;
	REQUIRE(carom_spheres_get_neighbours(spheres, &rows) == CAROM_SUCCESS);
	CHECK_INT(rows.first[2], 2);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(kept_list, neighbours_only_reads_no_sphere)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, 0.25, NULL);
	update_two(spheres, -0.1, 0, -1, NULL);
	carom_sphere_neighbours rows;
	REQUIRE(carom_spheres_get_neighbours(spheres, &rows) == CAROM_SUCCESS);
	CHECK_INT(rows.first[2], 2);
	const uint64_t build = rows.build;
	// What is not read may be anything.
	const double nothing[6] = { NAN, NAN, NAN, NAN, NAN, NAN };
	carom_sphere_input input = carom_default_sphere_input();
	input.count = 2;
	input.centres = (carom_strided){ nothing, 0, CAROM_FLOAT64 };
	input.radii = (carom_strided){ nothing, 0, CAROM_FLOAT64 };
	input.moved = 0.06;
	input.neighbours_only = true;
	for (int step = 0; step < 2; step++) {
		CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
		CHECK(kept(spheres));
		REQUIRE(carom_spheres_get_neighbours(spheres, &rows) == CAROM_SUCCESS);
		CHECK(rows.build == build);
		carom_sphere_pairs found;
		double forces[6];
		CHECK_INT(carom_spheres_find_pairs(spheres, &found), CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(context), "neighbours_only") != NULL);
		CHECK_INT(carom_spheres_sum_forces(spheres, (carom_sphere_force_fn *)0, NULL, forces, NULL), CAROM_INVALID_ARGUMENT);
	}
	// The third time the list no longer holds: then they are read, and found wanting.
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_INVALID_ARGUMENT);
	// An update that reads brings all back.
	update_two(spheres, -0.2, 0, -1, NULL);
	CHECK(kept(spheres));
	CHECK_INT(pairs_of(spheres), 1);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(kept_list, other_names_or_types_make_another_list)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, 0.25, NULL);
	const uint32_t ids[2] = { 7, 3 }, others[2] = { 3, 7 };
	update_two(spheres, 0, 0, -1, ids);
	CHECK_INT(pairs_of(spheres), 1);
	update_two(spheres, 0, 0, -1, ids);
	CHECK(kept(spheres));
	update_two(spheres, 0, 0, 0, others);
	CHECK(!kept(spheres));
	CHECK_INT(pairs_of(spheres), 1);
	update_two(spheres, 0, 0, -1, NULL);
	CHECK(!kept(spheres));
	CHECK_INT(pairs_of(spheres), 1);
	// The same spheres as floats.
	const float records[2][4] = { { 0, 0, 0, 1 }, { 2, 0, 0, 1 } };
	carom_sphere_input input = carom_default_sphere_input();
	input.count = 2;
	input.centres = (carom_strided){ records, 16, CAROM_FLOAT32 };
	input.radii = (carom_strided){ &records[0][3], 16, CAROM_FLOAT32 };
	REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
	CHECK(!kept(spheres));
	CHECK_INT(pairs_of(spheres), 1);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

// ---- The skin ----

TEST(kept_list, the_skin_follows_the_motion)
{
	// A model list: what is made costs 100 ms and a tenth of it for each step, so that wide skins pay when all is slow.
	cr_kept_list list = { .held = true, .skin = 0.1, .updates = 9, .ms_made = 50, .ms_found = 50, .entries = 1000000 };
	cr_kept_list slow = list, fast = list, still = list;
	cr_end_list(&slow, 0.001);
	cr_end_list(&fast, 0.9);
	cr_end_list(&still, -1);
	CHECK(!slow.held && slow.rate > 0 && fast.rate > slow.rate && still.rate == 0);
	const double with_slow = cr_choose_skin(&slow, 1, 10), with_fast = cr_choose_skin(&fast, 1, 10);
	CHECK(with_slow < list.skin); // it would be kept for a thousand steps: fewer neighbours are better
	CHECK(with_fast > list.skin); // it was kept for one step
	CHECK(with_fast <= 2 * list.skin && with_slow >= list.skin / 2);
	CHECK_NEAR(cr_choose_skin(&still, 1, 10), list.skin, 0);
	CHECK(cr_choose_skin(&fast, 1, 0.05) <= 0.05);
	const cr_kept_list none = { 0 };
	CHECK(cr_choose_skin(&none, 1, 10) > 0 && cr_choose_skin(&none, 1, 0.01) <= 0.01);
}
