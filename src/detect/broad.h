/// Broad phase: pairs of bodies whose world boxes overlap.
///
/// Three of them behind one interface. All give the same pairs: those of living bodies a < b (by index) with
/// cr_bodies_may_collide and cr_boxes_overlap (closed boxes, exact), sorted by a, then b.
#ifndef CR_DETECT_BROAD_H
#define CR_DETECT_BROAD_H

#include "base/array.h"
#include "detect/body.h"

typedef struct cr_body_pair {
	int32_t a;
	int32_t b;
} cr_body_pair;

typedef CR_ARRAY(cr_body_pair) cr_pair_list;

/// A broad phase with its state. Made for one world.
typedef struct cr_broad {
	/// Find the pairs of all bodies [count]; bodies[i].moved tells whose box changed since the last call (also those added or
	/// removed since: alive differs). Replaces the content of pairs. CAROM_OUT_OF_MEMORY leaves the state usable.
	carom_result (*find)(struct cr_broad *broad, const cr_body *bodies, int32_t count, cr_pair_list *pairs);
	void (*destroy)(struct cr_broad *broad);
	carom_context *context;
} cr_broad;

/// Make one. Brute force O(n^2) is the oracle; sweep sorts along the axis of largest spread each step (Baraff 1992; Cohen et
/// al. 1995, I-COLLIDE); tree is a dynamic tree of widened boxes (Catto, Dynamic Bounding Volume Hierarchies, 2019).
carom_result cr_broad_create_brute(carom_context *context, cr_broad **broad);
carom_result cr_broad_create_sweep(carom_context *context, cr_broad **broad);
carom_result cr_broad_create_tree(carom_context *context, cr_broad **broad);

#endif
