/// @file rank_hub.h
/// Ranks of one process: threads that pass each other bytes in memory, in place of MPI.
#ifndef TESTS_RANK_HUB_H
#define TESTS_RANK_HUB_H

#include "sim/base/ranks.h"

enum { RANK_HUB_MOST = 8 };

/// The work of one rank. False: it has failed, and the others' calls to it fail from then on.
typedef bool rank_hub_fn(const sim_ranks *ranks, void *user);

/// Run fn on so many ranks at once, each with its own user pointer (users[rank]). Returns how many have failed.
int rank_hub_run(int count, rank_hub_fn *fn, void *const *users);

/// Calls to other ranks that one rank has made so far: to make the nth of them fail.
int64_t rank_hub_calls(const sim_ranks *ranks);

/// Let the calls of a rank fail from the nth on, as if another rank were lost. Below 0: never.
void rank_hub_cut(const sim_ranks *ranks, int64_t nth);

#endif
