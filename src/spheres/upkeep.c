/// Refit or rebuild. See spheres/upkeep.h.
#include "spheres/upkeep.h"
#include <math.h>

// A new value counts a quarter, and at most twice the known one: one interrupted step does not
// change the plan.
static const double WEIGHT = 0.25, MOST = 2;
// However little of the growth rebuilds have taken back, so much is assumed, so that it is tried
// again.
static const double LEAST_SHARE = 1.0 / 64;
// Part of a query's time by which it changes for no reason.
static const double NOISE = 0.05;

cr_upkeep cr_make_upkeep(const carom_spheres_def *def)
{
	return (cr_upkeep){ .mode = def->upkeep,
		.rebuild_interval = def->rebuild_interval,
		.max_cost_growth = def->max_cost_growth,
		.rebuild_ms = -1,
		.refit_ms = -1,
		.share = 1 };
}

/// Average beside the query of a new tree.
static double step_ms(double refit_ms, double rebuild_ms, double growth_ms, double refits)
{
	return (rebuild_ms + refits * refit_ms + growth_ms * refits * refits / 2) / (refits + 1);
}

int32_t cr_best_refits(double refit_ms, double rebuild_ms, double growth_ms)
{
	if (!(refit_ms < rebuild_ms))
		return 0;
	if (!(growth_ms > 0))
		return CR_UPKEEP_MAX_REFITS;
	const double best = -1 + sqrt(1 - 2 * (refit_ms - rebuild_ms) / growth_ms);
	if (!(best < CR_UPKEEP_MAX_REFITS))
		return CR_UPKEEP_MAX_REFITS;
	const double below = floor(best), above = below + 1;
	const bool round_up = step_ms(refit_ms, rebuild_ms, growth_ms, above) < step_ms(refit_ms, rebuild_ms, growth_ms, below);
	return (int32_t)(round_up ? above : below);
}

/// Slope of the line through the queries since the rebuild; 0: not known.
static double query_slope(const cr_upkeep *u)
{
	const double spread = u->n * u->sum_xx - u->sum_x * u->sum_x;
	return spread > 0 ? (u->n * u->sum_xy - u->sum_x * u->sum_y) / spread : 0;
}

static bool auto_rebuilds(const cr_upkeep *u)
{
	if (u->refit_ms < 0)
		return false; // the first refit tells the cost of one
	if (u->refits == 0 && u->refit_ms >= u->rebuild_ms)
		return u->rebuilds < CR_UPKEEP_MAX_REBUILDS;
	if (u->refits < CR_UPKEEP_TRIAL_REFITS)
		return u->refit_ms >= u->rebuild_ms;
	// Where not every update is followed by a query, growth costs less.
	const double growth_ms = query_slope(u) * u->share * u->n / (u->refits + 1);
	return u->refits >= cr_best_refits(u->refit_ms, u->rebuild_ms, growth_ms);
}

bool cr_upkeep_rebuilds(const cr_upkeep *u)
{
	if (!u->built)
		return true;
	switch (u->mode) {
	case CAROM_UPKEEP_REBUILD: return true;
	case CAROM_UPKEEP_REFIT: return false;
	case CAROM_UPKEEP_INTERVAL: return u->refits + 1 >= u->rebuild_interval;
	case CAROM_UPKEEP_QUALITY: return u->cost > u->max_cost_growth * u->built_cost;
	default: return auto_rebuilds(u);
	}
}

static double smooth(double known, double value)
{
	if (known < 0)
		return value;
	return known + WEIGHT * (fmin(value, MOST * known) - known);
}

static void start_line(cr_upkeep *u)
{
	// Growth within the noise says nothing about the gain of rebuilding.
	const double slope = query_slope(u), rise = slope * u->refits;
	const double end = u->n > 0 ? (u->sum_y + slope * (u->n * u->refits - u->sum_x)) / u->n : 0;
	u->end_ms = end;
	u->rise_ms = rise > NOISE * end ? rise : 0;
	u->n = u->sum_x = u->sum_y = u->sum_xx = u->sum_xy = 0;
}

/// The first query of a new tree: how much of the growth is gone?
static void learn_share(cr_upkeep *u, double query_ms)
{
	const double share = (u->end_ms - query_ms) / u->rise_ms;
	u->share += WEIGHT * (fmin(fmax(share, LEAST_SHARE), 1) - u->share);
	u->rise_ms = 0;
}

static void add_query(cr_upkeep *u, double query_ms)
{
	const double x = u->refits, y = u->n > 0 ? fmin(query_ms, MOST * u->sum_y / u->n) : query_ms;
	u->n += 1;
	u->sum_x += x;
	u->sum_y += y;
	u->sum_xx += x * x;
	u->sum_xy += x * y;
}

void cr_upkeep_record(cr_upkeep *u, const cr_upkeep_step *step)
{
	u->cost = step->cost;
	if (step->rebuilt) {
		start_line(u);
		u->rebuild_ms = smooth(u->rebuild_ms, step->update_ms);
		u->built = true;
		u->built_cost = step->cost;
		u->rebuilds++;
		u->refits = 0;
	} else {
		u->refit_ms = smooth(u->refit_ms, step->update_ms);
		u->rebuilds = 0;
		u->refits++;
	}
	if (step->query_ms < 0)
		return;
	if (u->refits == 0 && u->rise_ms > 0)
		learn_share(u, step->query_ms);
	add_query(u, step->query_ms);
}
