/// How far spheres are from all that they may touch: bounds that are kept from step to step, so
/// that a step looks only at the spheres that may have come near something (sphere_clearance.c).
#ifndef CR_WORLD_SPHERE_CLEARANCE_H
#define CR_WORLD_SPHERE_CLEARANCE_H

#include "base/array.h"
#include "frame/body.h"
#include "world/part_tree.h"

/// A place that is clear: a sphere of radius r at p touches no watched part, and is ahead of none,
/// while the distance from p to the place, r and cr_clearances.path have a sum below until.
typedef struct cr_clear_ball {
	double at[3];
	double until; // -INFINITY: nothing is known
} cr_clear_ball;

/// A rigid part that may come near spheres, as a step saw it.
typedef struct cr_watched_part {
	int32_t part;
	uint32_t generation;
	carom_pose pose;
} cr_watched_part;
typedef CR_ARRAY(cr_watched_part) cr_watch_list;

typedef struct cr_clearances {
	bool forgotten; // the bounds do not hold: a step failed, or the world was restored
	bool soft;      // a part that deforms may be near spheres: these are asked in each step
	bool was_soft;  // in the last step
	bool still;     // no sphere, watched part or filter has changed since the last step
	// the sum over the steps of the farthest that a point of any watched part may have moved
	double path;
	// by row of a sphere among those of all listed bodies; empty: nothing is watched
	CR_ARRAY(cr_clear_ball) balls;
	cr_watch_list watched; // by part
	cr_watch_list then;    // of the last step
	// of the last step: number, generation and spheres of each granular body
	CR_ARRAY(int64_t) rows;
	cr_part_tree beside;     // boxes of watched parts that no sphere can touch now, by part
	cr_part_tree soft_parts; // boxes of the near parts that deform, by their number there
} cr_clearances;

static inline bool cr_is_clear(const cr_clearances *c, const cr_clear_ball *ball, const double at[4])
{
	const double x = at[0] - ball->at[0], y = at[1] - ball->at[1], z = at[2] - ball->at[2];
	return sqrt(x * x + y * y + z * z) + at[3] + c->path < ball->until;
}

/// Begins the lists of a step: no part is watched.
void cr_begin_watch(carom_world *world);
/// Lists a part that spheres may have contacts with, if it may come near them. near: its number
/// among the near parts; -1: it is none. False: out of memory.
bool cr_watch_part(carom_world *world, int32_t part, int64_t near, const box3d *box);
/// Ends the lists: finds out how far parts have moved, and whether the balls still hold. False: out
/// of memory.
bool cr_end_watch(carom_world *world);
/// Finds out how far a sphere of the listed body grains, which meets nothing, is from all watched
/// parts.
void cr_find_clearance(const carom_world *world, int64_t grains, const double at[4], cr_clear_ball *ball);
/// Let the next step begin without bounds.
void cr_forget_clearances(carom_world *world);
void cr_free_clearances(carom_context *memory, cr_clearances *clearances);

#endif
