/// @file ranks.h
/// Processes that share one simulation out, as it sees them: ranks, numbered from 0, that send
/// bytes to each other. Whoever starts the simulation fills the table, by MPI or otherwise.
///
/// All calls are collective: each rank makes the same ones in the same order, and each returns when
/// it has what it waits for. False: another rank is lost, or the connection. The simulation can
/// then only be destroyed, here and everywhere.
#ifndef SIM_RANKS_H
#define SIM_RANKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_ranks {
	int rank, count; ///< this one; how many there are, at least 1
	/// Replace each of n values by the largest that a rank has.
	bool (*most)(void *user, int64_t n, double *values);
	/// Replace each of n values by the sum over all ranks.
	bool (*sum)(void *user, int64_t n, int64_t *values);
	/// Give rank r the number mine[r], and take theirs[r] from it: [count] each.
	bool (*tell)(void *user, const int64_t *mine, int64_t *theirs);
	/// Give rank r the bytes out[out_first[r]] to out[out_first[r + 1] - 1], and take from it, as
	/// many as it gives, in[in_first[r]] to in[in_first[r + 1] - 1]. Firsts are [count + 1] each.
	bool (*swap)(void *user, const void *out, const int64_t *out_first, void *in, const int64_t *in_first);
	void *user;
} sim_ranks;

#endif
