/// Whether to refit or to rebuild a tree whose spheres have moved: the decision alone. Times and
/// costs are handed in, so that it needs no clock and no tree.
///
/// AUTO: a refit costs t_u, a rebuild t_r, and each refit since the last rebuild makes a query
/// slower by dq. With k refits between rebuilds a step costs on average (t_r + k t_u + dq k^2 / 2)
/// / (k + 1) beside the query of a new tree, which is least for k = -1 + sqrt(1 - 2 (t_u - t_r) /
/// dq) (Advancing RT Core-Accelerated Fixed-Radius Nearest Neighbor Search, arXiv 2601.15633). The
/// paper takes dq from the growth of the query's time. Queries also grow because spheres settle and
/// touch more, which a rebuild does not cure: each rebuild shows the share of the growth that it
/// took back, and that share of the growth is used.
#ifndef CR_SPHERES_UPKEEP_H
#define CR_SPHERES_UPKEEP_H

#include "base/float_mode.h"
#include "carom/spheres.h"

enum {
	CR_UPKEEP_MAX_REFITS = 1000, // AUTO rebuilds after so many, to know the cost of that today
	CR_UPKEEP_MAX_REBUILDS = 50, // and refits after so many rebuilds one after another
	CR_UPKEEP_TRIAL_REFITS = 2,  // before that nothing is known of the growth
};

/// The last measures and their times.
typedef struct cr_upkeep_step {
	bool rebuilt;
	double update_ms; // of the refit or the rebuild
	double query_ms;  // of the search that followed; below 0: there was none
	double cost;      // of the tree after the update (surface area heuristic)
} cr_upkeep_step;

typedef struct cr_upkeep {
	carom_tree_upkeep mode;
	int32_t rebuild_interval;
	double max_cost_growth;
	bool built;        // there is a tree
	int32_t refits;    // since the last rebuild
	int32_t rebuilds;  // since the last refit
	double built_cost; // of the tree when it was built
	double cost;       // of the tree now
	double rebuild_ms; // smoothed; below 0: not known
	double refit_ms;   // smoothed; below 0: not known
	double share;      // of the growth that rebuilds take back, 0 to 1, smoothed
	// query where the last rebuild ended the line below, and how much it had grown; rise 0: not
	// known
	double end_ms, rise_ms;
	// Sums over the queries since the rebuild, for the line of least squares through (refits,
	// query_ms).
	double n, sum_x, sum_y, sum_xx, sum_xy;
} cr_upkeep;

/// Start, or start again after the spheres have become others. def has been checked.
cr_upkeep cr_make_upkeep(const carom_spheres_def *def);

/// Should the next update rebuild? Always before the first.
bool cr_upkeep_rebuilds(const cr_upkeep *upkeep);

/// An update was made, and maybe a query.
void cr_upkeep_record(cr_upkeep *upkeep, const cr_upkeep_step *step);

/// The number of refits between rebuilds for which a step costs least: 0 when refits do not pay, at
/// most CR_UPKEEP_MAX_REFITS. growth: of the query's time for each refit.
int32_t cr_best_refits(double refit_ms, double rebuild_ms, double growth_ms);

#endif
