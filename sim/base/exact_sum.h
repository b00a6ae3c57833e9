/// @file exact_sum.h
/// Forces on a body, summed exactly: threads and ranks meet a body in any order, and the sum must
/// not depend on it.
#ifndef SIM_EXACT_SUM_H
#define SIM_EXACT_SUM_H

#include "sim/base/ranks.h"

/// Forces and torques (x, y, z each) in whole units of 2^-24 and of 2^-60. Zero: nothing yet.
typedef struct sim_exact_sum {
	int64_t high[6], low[6];
	int64_t touches; ///< forces that were added
	int64_t beyond;  ///< not 0: a number had no units
} sim_exact_sum;

/// Add a force at a point, and a torque beside it. Fewer than 2^27 may be added before the next
/// call of sim_join_exact_sum. A number beyond 2^38 has no units: the sum is then NaN.
void sim_note_force(sim_exact_sum *sum, const double point[3], const double force[3], const double torque[3]);

/// Add one sum to another. An empty one carries the low units of the other into its high ones.
void sim_join_exact_sum(sim_exact_sum *to, const sim_exact_sum *from);

/// Replace each of count sums by that of all ranks. Collective. False when a rank is lost.
bool sim_sum_exact_over_ranks(const sim_ranks *ranks, int64_t count, sim_exact_sum *sums);

/// The force and the torque about the origin, rounded once.
void sim_read_exact_sum(const sim_exact_sum *sum, double force[3], double torque[3]);

#endif
