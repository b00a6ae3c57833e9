/// Continuous collision of rigid bodies: when bodies meet on their ways through a step.
#ifndef CR_WORLD_CONTINUOUS_H
#define CR_WORLD_CONTINUOUS_H

#include "bvh/mover.h"
#include "frame/broad.h"

/// The part of a body that a box of its motion stands for.
typedef struct cr_swept_part {
	int32_t part; // number
	bool moves;
} cr_swept_part;

typedef CR_ARRAY(carom_body_impact) cr_body_impacts;

typedef struct cr_continuous {
	int32_t body_count; // continuous rigid bodies alive
	cr_broad *broad;    // NULL: none made
	CR_ARRAY(int32_t) near; // numbers of the parts that move, then of those near them
	// stand-ins of parts near continuous ones, with boxes of their whole motions
	CR_ARRAY(cr_body) boxes;
	CR_ARRAY(cr_swept_part) parts; // of the boxes, by number
	cr_pair_list pairs;            // of boxes
	cr_mover_scratch *scratch;     // [worker_count]; NULL: none made
	cr_body_impacts next;          // of the step that runs: of all pairs, then of the reported ones
	int64_t tests;                 // of the step that runs
	cr_body_impacts found;         // of the last good step
} cr_continuous;

/// How far points of a part lie from the origin of its frame at most.
double cr_part_reach(const cr_body *part);
/// The motion of a part through the step, with places relative to an origin.
cr_motion cr_motion_of_body(const cr_body *bodies, int32_t part, v3d origin);
/// The box around the motion of a part, grown by the world's toi_tolerance. Returns false for one
/// without extent. That of a plane that moves is as far as the plane was.
bool cr_bound_motion(const carom_world *world, int32_t part, double lower[3], double upper[3]);
/// Does a part move in the step?
bool cr_part_moves(const cr_body *part);

/// A part as it moves, with places relative to an origin. convex: room that it points to.
cr_mover cr_mover_of_part(const carom_world *world, int32_t part, v3d origin, cr_convex *convex);
/// The impact of two movers, which stand for parts; status CAROM_TOI_APART: there is none. Any
/// thread.
void cr_sweep_movers(const carom_world *world, cr_mover_scratch *scratch, const int32_t part[2], const cr_mover movers[2],
	v3d origin, carom_body_impact *impact);

/// Finds the impacts of continuous rigid bodies, into next. On failure found stays.
carom_result cr_find_body_impacts(carom_world *world);
/// Makes next the impacts of the last good step. Cannot fail.
void cr_take_body_impacts(cr_continuous *continuous);
/// Adds to a hash, which stays as it is where there are none.
uint64_t cr_hash_body_impacts(const cr_continuous *continuous, uint64_t hash);
/// Give back all memory but that of the impacts of the last good step.
void cr_trim_body_impacts(carom_world *world);
void cr_continuous_free(carom_world *world);

#endif
