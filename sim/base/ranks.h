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

/// Bytes and their place in a file.
typedef struct sim_piece {
	int64_t offset;
	const void *data;
	int64_t size;
} sim_piece;

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
	/// Write a file together: each rank its own pieces, none of which overlap, into the size bytes
	/// of a new file, or (keep) into those of one that is there. False also where that fails on
	/// this rank alone.
	bool (*write)(void *user, const char *path, bool keep, int64_t size, int count, const sim_piece *pieces);
	void *user;
} sim_ranks;

/// Is this the rank that reads and writes for all, or the only process (ranks NULL)?
static inline bool sim_is_first_rank(const sim_ranks *ranks) { return !ranks || ranks->rank == 0; }

/// Tell whether all ranks have done something. False too where one is lost.
static inline bool sim_all_ranks(const sim_ranks *ranks, bool done)
{
	double failed = !done;
	return ranks->most(ranks->user, 1, &failed) && failed == 0;
}

#endif
