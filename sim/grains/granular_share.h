/// @file granular_share.h
/// The inner side of a simulation that ranks share (granular_ranks.h). Inside sim/grains only.
///
/// A step: granular_renew_ghosts tells other ranks where the spheres of the border are; the passes
/// go over the own spheres and read ghosts; granular_join_ranks joins the tallies, so that all
/// decisions (when a list ends, which skin is tried) are the same everywhere. A list:
/// granular_share_out cuts space when that pays and hands spheres over (granular_cuts.c,
/// granular_share.c), granular_call_ghosts finds out whom other ranks need (granular_ghosts.c).
#ifndef SIM_GRANULAR_SHARE_H
#define SIM_GRANULAR_SHARE_H

#include "sim/grains/granular_ranks.h"
#include "sim/grains/granular_state.h"

/// Memory that grows.
typedef struct granular_buffer {
	char *data;
	size_t room;
} granular_buffer;

/// A plane across space: what is below `at` along the axis is on its lower side.
typedef struct granular_cut {
	int axis;
	double at;
} granular_cut;

/// Bytes for each rank, one behind the other.
typedef struct granular_parcels {
	int64_t *first; // [ranks + 1]
	granular_buffer bytes;
} granular_parcels;

struct granular_share {
	sim_ranks ranks;
	bool broken; // a rank is lost

	// Ranks by a tree of cuts: that of ranks a to b - 1 parts them at m = a + (b - a) / 2. Its
	// lower tree stands right behind it, its upper one behind that. [ranks - 1]
	granular_cut *cuts;
	bool is_cut;
	double after_cut; // imbalance that the last cuts left by the weights of then

	granular_buffer seats; // [count] uint32_t: to which rank, or part of space, a sphere goes
	granular_buffer bins;
	granular_buffer touch_seats; // [touches.count] uint32_t: to which rank a touch goes
	bool to_first;               // the ranges of ids give rank 0 all of them
	granular_parcels out, in;
	int64_t *told; // [2 * ranks]

	// [7 * ranks] least and largest centre of each rank's spheres, and their largest radius
	double *boxes;
	int64_t ghosts, arrived; // and spheres that came with the present list
	// [sent_first[ranks]] uint32_t: own spheres that others have ghosts of
	granular_buffer sent;
	int64_t *sent_first, *ghost_first; // [ranks + 1] by rank; ghosts count from the first one
	sim_granular_balance balance;
};

/// Ghosts that lie behind the own spheres.
static inline int64_t granular_ghosts(const sim_granular *g) { return g->share ? g->share->ghosts : 0; }

/// Is a rank lost? Then the simulation has failed, with the reason in error.
bool granular_lost_ranks(sim_granular *granular, sim_error *error);
/// Take the tallies of all ranks together.
void granular_join_ranks(sim_granular *granular, granular_tally *tally);
void granular_free_share(sim_granular *granular);

/// Make room for size bytes; the first `kept` stay. False when memory is short.
bool granular_grow(sim_granular *granular, granular_buffer *buffer, size_t size, size_t kept);
/// Make room for so many spheres; own ones stay. False when memory is short.
bool granular_grow_arrays(sim_granular *granular, int64_t room);
/// Send parcels, and take those of the others, whose sizes are not known yet.
bool granular_swap_parcels(sim_granular *granular, sim_error *error);
/// Offsets out of the sizes in parcels->first[1..]; false when memory for their bytes is short.
bool granular_lay_parcels(sim_granular *granular, granular_parcels *parcels);

/// Let parcels be those of the coming renewals of ghosts, whose sizes are known on both sides.
/// False when memory is short.
bool granular_restore_parcels(sim_granular *granular);

/// Room in packed for so many rows and contacts more than there are; all stays.
bool granular_pack_more(sim_granular *granular, int64_t held_rows, int64_t rows, int64_t contacts);

/// Find the ranks of the touches from the seats of their spheres, before these go. False when
/// memory is short.
bool granular_seat_touches(sim_granular *granular);
/// Let the touches of the last step go where they are seated (granular_touch_share.c).
bool granular_hand_touches(sim_granular *granular, sim_error *error);
/// Copy the touches of all ranks into touches_before of rank 0.
bool granular_gather_touches(sim_granular *granular, sim_error *error);
/// Keep the touches of the spheres of some ids alone.
void granular_keep_touches(sim_granular *granular, int64_t first, int64_t last);

/// Cut space if that pays, and give each sphere to the rank of its part. Forgets ghosts.
bool granular_share_out(sim_granular *granular, sim_error *error);
/// Cut space again if the shares have become uneven (granular_cuts.c).
bool granular_balance_cuts(sim_granular *granular, sim_error *error);
/// The rank of a place.
int granular_rank_of(const granular_share *share, const granular_place *place);
/// Let the times that choose the skin be those of the slowest rank.
bool granular_agree_on_times(sim_granular *granular, sim_error *error);
/// Fetch copies of all spheres that may touch an own one while the coming list holds.
bool granular_call_ghosts(sim_granular *granular, sim_error *error);
/// Bring their places and motions up to now.
bool granular_renew_ghosts(sim_granular *granular, sim_error *error);
/// Count the work of all ranks in a new list.
bool granular_weigh_ranks(sim_granular *granular, sim_error *error);

#endif
