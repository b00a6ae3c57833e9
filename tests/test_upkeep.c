/// Refit or rebuild: the best interval against brute force, and the decisions over simulated trees whose times are made up.
#include "test.h"
#include "spheres/upkeep.h"
#include <math.h>
#include <stdio.h>

/// Time of a step beside the query of a new tree when k refits follow each rebuild: added up step by step, the growth of a query
/// counted in the middle of its step.
static double modelled_ms(double refit_ms, double rebuild_ms, double growth_ms, int k)
{
	double sum = rebuild_ms;
	for (int i = 0; i < k; i++)
		sum += refit_ms + growth_ms * (i + 0.5);
	return sum / (k + 1);
}

TEST(upkeep, best_interval_is_that_of_brute_force)
{
	uint64_t seed = 1;
	int inside = 0;
	for (int round = 0; round < 3000 / TEST_FAR_FEWER; round++) {
		const double refit = exp(test_random_double(&seed, -3, 3)), rebuild = refit * exp(test_random_double(&seed, -1, 4));
		const double growth = rebuild * exp(test_random_double(&seed, -14, 2));
		int best = 0;
		for (int k = 1; k <= CR_UPKEEP_MAX_REFITS; k++) {
			if (modelled_ms(refit, rebuild, growth, k) < modelled_ms(refit, rebuild, growth, best))
				best = k;
		}
		const int32_t found = cr_best_refits(refit, rebuild, growth);
		inside += found > 0 && found < CR_UPKEEP_MAX_REFITS;
		const double least = modelled_ms(refit, rebuild, growth, best);
		if (!CHECK_NEAR(modelled_ms(refit, rebuild, growth, found), least, 1e-9 * least))
			printf("refit %g, rebuild %g, growth %g: %d refits, best %d\n", refit, rebuild, growth, found, best);
	}
	CHECK(inside > 1000 / TEST_FAR_FEWER);
}

TEST(upkeep, best_interval_of_odd_input)
{
	CHECK_INT(cr_best_refits(1, 1, 0.1), 0);
	CHECK_INT(cr_best_refits(2, 1, 0), 0);
	CHECK_INT(cr_best_refits(1, 2, 0), CR_UPKEEP_MAX_REFITS);
	CHECK_INT(cr_best_refits(1, 2, -3), CR_UPKEEP_MAX_REFITS);
	CHECK_INT(cr_best_refits(1, 2, 1e-300), CR_UPKEEP_MAX_REFITS);
	CHECK_INT(cr_best_refits(1, 2, 1e300), 0);
	CHECK_INT(cr_best_refits(0, 0, 0), 0);
	CHECK_INT(cr_best_refits(1, INFINITY, 1), CR_UPKEEP_MAX_REFITS);
	CHECK_INT(cr_best_refits(NAN, 1, 1), 0);
	CHECK_INT(cr_best_refits(1, 2, NAN), CR_UPKEEP_MAX_REFITS);
}

/// A made-up tree: what its steps take.
typedef struct machine {
	double refit_ms, rebuild_ms;
	double query_ms;      // of a new tree
	double growth_ms;     // for each refit since the rebuild: what a rebuild cures
	double drift_ms;      // for each step: what it does not
	double noise;         // part of every time
	double outlier_every; // 0: never; such a step takes ten times as long
	bool queries_seldom;  // only every fourth step has one
	// State.
	uint64_t seed;
	int steps, refits;
	int rebuilds;
	double total_ms;
} machine;

static double noisy(machine *m, double ms)
{
	ms *= 1 + m->noise * test_random_double(&m->seed, -1, 1);
	return m->outlier_every > 0 && test_random_double(&m->seed, 0, m->outlier_every) < 1 ? 10 * ms : ms;
}

static void run_step(machine *m, cr_upkeep *upkeep, bool rebuilds)
{
	m->refits = rebuilds ? 0 : m->refits + 1;
	m->rebuilds += rebuilds;
	const double query = m->query_ms + m->growth_ms * m->refits + m->drift_ms * m->steps,
				 update = rebuilds ? m->rebuild_ms : m->refit_ms;
	const bool queried = !m->queries_seldom || m->steps % 4 == 3;
	m->total_ms += update + (queried ? query : 0);
	m->steps++;
	const cr_upkeep_step step = { rebuilds, noisy(m, update), queried ? noisy(m, query) : -1, 100 + m->refits };
	cr_upkeep_record(upkeep, &step);
}

static carom_spheres_def def_of(carom_tree_upkeep mode)
{
	return (carom_spheres_def){ .upkeep = mode, .rebuild_interval = 8, .max_cost_growth = 1.5 };
}

/// Total time of 5000 steps by a policy.
static machine run(machine m, carom_tree_upkeep mode, int interval)
{
	carom_spheres_def def = def_of(mode);
	def.rebuild_interval = interval;
	cr_upkeep upkeep = cr_make_upkeep(&def);
	m.seed = 3;
	for (int i = 0; i < 5000; i++)
		run_step(&m, &upkeep, cr_upkeep_rebuilds(&upkeep));
	return m;
}

/// The least total time of any fixed interval.
static double best_fixed(machine m)
{
	double best = INFINITY;
	for (int interval = 1; interval <= CR_UPKEEP_MAX_REFITS + 1; interval = interval < 20 ? interval + 1 : interval * 11 / 10)
		best = fmin(best, run(m, CAROM_UPKEEP_INTERVAL, interval).total_ms);
	return best;
}

static void check_auto(const char *what, machine m, double most)
{
	const double found = run(m, CAROM_UPKEEP_AUTO, 1).total_ms, best = best_fixed(m);
	if (!CHECK(found <= most * best))
		printf("%s: %g ms, best interval %g ms\n", what, found, best);
}

TEST(upkeep, auto_is_as_good_as_the_best_interval)
{
	check_auto("plain", (machine){ .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40, .growth_ms = 1 }, 1.01);
	check_auto("slow growth", (machine){ .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40, .growth_ms = 0.001 }, 1.01);
	check_auto("fast growth", (machine){ .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40, .growth_ms = 30 }, 1.15);
	check_auto("no growth", (machine){ .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40 }, 1.01);
	check_auto("refits dearer", (machine){ .refit_ms = 12, .rebuild_ms = 11, .query_ms = 40, .growth_ms = 1 }, 1.01);
	check_auto("seldom queried",
		(machine){ .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40, .growth_ms = 1, .queries_seldom = true }, 1.03);
}

TEST(upkeep, auto_bears_noise)
{
	machine m = { .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40, .growth_ms = 0.5, .noise = 0.2 };
	check_auto("noise", m, 1.08);
	m.growth_ms = 0;
	check_auto("noise without growth", m, 1.08);
	m.outlier_every = 30;
	m.growth_ms = 0.5;
	check_auto("outliers", m, 1.15);
}

/// Queries that slow down because the spheres come to touch more: rebuilding does not help, and is given up.
TEST(upkeep, growth_that_rebuilds_do_not_cure)
{
	const machine m = { .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40, .drift_ms = 0.1 };
	const machine result = run(m, CAROM_UPKEEP_AUTO, 1);
	CHECK(result.rebuilds < 60);
	check_auto("drift", m, 1.03);
	// Some of both.
	check_auto("drift and growth",
		(machine){ .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40, .growth_ms = 0.5, .drift_ms = 0.02 }, 1.03);
}

TEST(upkeep, auto_notices_when_times_change)
{
	const carom_spheres_def def = def_of(CAROM_UPKEEP_AUTO);
	cr_upkeep upkeep = cr_make_upkeep(&def);
	machine m = { .refit_ms = 20, .rebuild_ms = 10, .query_ms = 40, .growth_ms = 1 };
	for (int i = 0; i < 300; i++)
		run_step(&m, &upkeep, cr_upkeep_rebuilds(&upkeep));
	CHECK(m.rebuilds >= 290); // and a refit now and then to see
	CHECK(m.rebuilds < 300);
	m.refit_ms = 1;
	m.growth_ms = 0.01;
	m.rebuilds = 0;
	for (int i = 0; i < 1000; i++)
		run_step(&m, &upkeep, cr_upkeep_rebuilds(&upkeep));
	CHECK(m.rebuilds < 500);
	m.rebuilds = 0;
	for (int i = 0; i < 1000; i++)
		run_step(&m, &upkeep, cr_upkeep_rebuilds(&upkeep));
	CHECK(m.rebuilds > 0);
	CHECK(m.rebuilds < 50);
}

TEST(upkeep, bounded_without_growth)
{
	const machine m = run((machine){ .refit_ms = 1, .rebuild_ms = 1000, .query_ms = 1 }, CAROM_UPKEEP_AUTO, 1);
	CHECK_INT(m.rebuilds, 1 + 4999 / (CR_UPKEEP_MAX_REFITS + 1));
}

TEST(upkeep, fixed_policies)
{
	const machine m = { .refit_ms = 10, .rebuild_ms = 60, .query_ms = 40, .growth_ms = 1 };
	CHECK_INT(run(m, CAROM_UPKEEP_REBUILD, 1).rebuilds, 5000);
	CHECK_INT(run(m, CAROM_UPKEEP_REFIT, 1).rebuilds, 1);
	CHECK_INT(run(m, CAROM_UPKEEP_INTERVAL, 1).rebuilds, 5000);
	CHECK_INT(run(m, CAROM_UPKEEP_INTERVAL, 8).rebuilds, 625);
	// Cost 100 when built, and 1 more with each refit: beyond 150 after 51 refits.
	CHECK_INT(run(m, CAROM_UPKEEP_QUALITY, 1).rebuilds, 1 + 4999 / 52);
}

TEST(upkeep, quality_of_a_tree_without_extent)
{
	const carom_spheres_def def = def_of(CAROM_UPKEEP_QUALITY);
	cr_upkeep upkeep = cr_make_upkeep(&def);
	CHECK(cr_upkeep_rebuilds(&upkeep));
	const double costs[] = { 0, NAN, INFINITY };
	for (int i = 0; i < 3; i++) {
		upkeep = cr_make_upkeep(&def);
		cr_upkeep_record(&upkeep, &(cr_upkeep_step){ true, 1, 1, costs[i] });
		CHECK(!cr_upkeep_rebuilds(&upkeep));
	}
}
