/// @file granular_ranks.h
/// A simulation of spheres that several ranks share (sim/base/ranks.h). Each owns the spheres of a
/// part of space and does their steps. It has copies (ghosts) of the spheres of other ranks that
/// may touch its own, and is told their places and motions in each step. A sphere that leaves the
/// part goes to another rank with the springs of its contacts, when the next list of neighbours is
/// made. Then the parts are cut again too, if the work is no longer shared evenly.
///
/// The trajectory has the same bits for any number of ranks, and those of one simulation that is
/// not shared: each sphere sums the forces on it in the order of ids, and forces are exact
/// opposites whoever computes them.
#ifndef SIM_GRANULAR_RANKS_H
#define SIM_GRANULAR_RANKS_H

#include "sim/base/ranks.h"
#include "sim/grains/granular_memento.h"
#include "sim/grains/granular_output.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Share a simulation out that all ranks hold alike and that has done no step since it was made or
/// restored (sim_granular_restore_memento): each rank keeps a share, and frees the rest. All calls
/// but those that only ask are collective from then on. Functions, user pointers and what they need
/// must outlive the simulation. False, with the reason in error, when memory is short, a rank is
/// lost, or the simulation has a user's force or a device.
///
/// Bodies of other kinds are the caller's on each rank: it calls sim_granular_prepare, looks what
/// touches the spheres of sim_granular_get_view, and tells that (sim_granular_set_touches). The
/// springs of touches go with their sphere. Touches take 4 bytes for each sphere of all ranks.
///
/// Afterwards sim_granular_get_info counts the spheres of all ranks, but lists and bytes of this
/// one; sim_granular_get_state writes those of this rank alone, at their places in arrays for all,
/// and sim_granular_get_view shows them alone. Energies, counts of contacts by sphere and mementos
/// are refused: gather the simulation first.
bool sim_granular_share(sim_granular *granular, const sim_ranks *ranks, sim_error *error);

/// Create a simulation and share it out at once (sim_create_granular, sim_granular_share), from a
/// definition that all ranks hold alike: a rank never holds the spheres of others, which saves 100
/// to 300 bytes for each. NULL where either would have failed.
sim_granular *sim_create_granular_share(
	carom_context *context, const sim_granular_def *def, const sim_ranks *ranks, sim_error *error);

/// The ranks that share it; NULL: it is not shared.
const sim_ranks *sim_granular_get_ranks(const sim_granular *granular);

/// How evenly the work is shared, over the lists of neighbours so far. The same on all ranks.
typedef struct sim_granular_balance {
	int64_t lists;    ///< made so far
	int64_t cuts;     ///< how often space was cut
	int64_t moved;    ///< spheres that have gone to another rank since the first list
	int64_t own_most; ///< spheres of the rank that has most, in the present list
	int64_t ghosts;   ///< of all ranks, in the present list
	int64_t ghosts_most;
	int64_t entries;        ///< of all ranks: pairs that a step may test, from either side
	double imbalance;       ///< most entries of a rank over the mean, in the present list
	double worst_imbalance; ///< largest of those of all lists after the second
	int64_t bytes_step;     ///< sent by all ranks for the ghosts of one step
} sim_granular_balance;

sim_granular_balance sim_granular_get_balance(const sim_granular *granular);

/// Places and motions by ids: rank r of n gets those of the spheres count * r / n to
/// count * (r + 1) / n - 1, in this order; *first is the first of them. Collective. False, with the
/// reason in error, when memory is short or a rank is lost; *part is empty then. Give it back with
/// sim_free_granular_frame.
bool sim_granular_spread_frame(sim_granular *granular, sim_granular_frame *part, int64_t *first, sim_error *error);

/// Places and motions of all spheres for rank 0, in the order of ids; empty for the others.
/// Collective. False, with the reason in error, when memory is short or a rank is lost; *frame is
/// empty then. Give it back with sim_free_granular_frame.
bool sim_granular_gather_frame(sim_granular *granular, sim_granular_frame *frame, sim_error *error);

/// The memento of the spheres of the same ranges of ids, as sim_granular_take_memento has that of
/// all: rows of contacts count from 0 on each rank. Collective. False, with the reason in error,
/// when memory is short or a rank is lost; *part is empty then. Give it back with
/// sim_free_granular_springs.
bool sim_granular_spread_springs(sim_granular *granular, sim_granular_memento *part, sim_error *error);
void sim_free_granular_springs(sim_granular_memento *part);

/// Frame and memento of all spheres on rank 0, of none on the others. Collective. False, with the
/// reason in error, when memory is short or a rank is lost; both are empty then. Give them back
/// with sim_free_granular_frame and sim_free_granular_springs.
bool sim_granular_gather_state(
	sim_granular *granular, sim_granular_frame *frame, sim_granular_memento *springs, sim_error *error);

/// A hash of the state, equal to sim_hash_granular_frame of the simulation if it were not shared.
/// Collective. False, with the reason in error, when memory is short or a rank is lost.
bool sim_granular_hash_ranks(sim_granular *granular, uint64_t *hash, sim_error *error);

/// Go on with a hash over numbers that lie on the ranks one after the other: the same on all ranks
/// before and after. width: bytes of a number, 2, 4 or 8. Collective. False when a rank is lost.
bool sim_hash_over_ranks(const sim_ranks *ranks, const void *numbers, size_t width, int64_t count, uint64_t *hash);

#ifdef __cplusplus
}
#endif
#endif
