/// The search for a first impact span by span of time, for pairs whose surfaces stay close to each
/// other all the way. See the head of the source.
#ifndef CR_BVH_MOVER_SPANS_H
#define CR_BVH_MOVER_SPANS_H

#include "bvh/mover_walk.h"

/// Finds the impact of A and B, neither a mesh without triangles nor begun inside the other, before
/// limit, as cr_find_mover_impact says it, with separation and triangles of the parts that are
/// nearest then. impact comes with that of another search, or CR_IMPACT_NONE; one at time 0 needs
/// no search. work: looks that are left; it counts down. Where none are left impact is
/// CR_IMPACT_UNDECIDED: the way is clear up to its time, and nothing is known beyond.
void cr_find_impact_by_spans(cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b, double tolerance, double limit,
	int64_t *work, cr_mover_impact *impact);

#endif
