/// Broad phase: pairs of bodies whose world boxes overlap, and that filters let pass.
///
/// Several behind one interface. All give the same pairs: those of living bodies a < b (by index)
/// with cr_bodies_may_collide, cr_broad_meet and cr_broad_ask, asked in this order, sorted by a,
/// then b. Refused pairs are not stored.
#ifndef CR_FRAME_BROAD_H
#define CR_FRAME_BROAD_H

#include "base/array.h"
#include "frame/body.h"
#include "frame/changes.h"

typedef struct cr_body_pair {
	int32_t a;
	int32_t b;
} cr_body_pair;

typedef CR_ARRAY(cr_body_pair) cr_pair_list;

/// Decides for a pair of bodies a < b whose boxes meet; the world supplies it (user's filter and
/// its recording). Called by any worker.
typedef bool cr_pair_verdict_fn(void *user, int32_t a, int32_t b);

/// A broad phase with its state. Made for one world.
typedef struct cr_broad {
	/// Find the pairs of all bodies [count], into pairs: moved tells whose box changed since the
	/// last call (alive differs of removed ones), refiltered whose filter did or who is new. Others
	/// may be quiet now (cr_is_quiet). CAROM_OUT_OF_MEMORY leaves the state usable.
	carom_result (*find)(struct cr_broad *broad, const cr_body *bodies, int32_t count, cr_pair_list *pairs);
	void (*destroy)(struct cr_broad *broad);
	/// Make room for so many bodies and pairs of boxes that come near each other, between two
	/// finds. false: out of memory. NULL: there is nothing to make room in.
	bool (*reserve)(struct cr_broad *broad, int64_t bodies, int64_t pairs);
	/// Give back all memory that the next find can do without: that find looks at all bodies again.
	/// NULL: there is none.
	void (*trim)(struct cr_broad *broad);
	carom_context *context;
	double margin;               // by which boxes have grown on each side
	const cr_changes *changes;   // other bodies are as at the last call; NULL: any may differ
	cr_pair_verdict_fn *verdict; // NULL: all pass
	void *verdict_user;
	int64_t met;      // pairs of the last call before the verdict
	int64_t compared; // pairs of rough boxes that it looked at: the work
} cr_broad;

/// Do two bodies meet as boxes? Of a plane the half space below it counts, not its box, which has
/// no end. A plane meets no plane.
static inline bool cr_broad_meet(const cr_broad *broad, const cr_body *a, const cr_body *b)
{
	if (!cr_boxes_overlap(a, b))
		return false;
	const bool plane_a = a->shape.def.type == CAROM_PLANE, plane_b = b->shape.def.type == CAROM_PLANE;
	if (!(plane_a | plane_b))
		return true;
	return !(plane_a & plane_b) && cr_plane_meets_box(plane_a ? a : b, plane_a ? b : a, broad->margin);
}

/// The verdict on bodies a and b, in any order.
static inline bool cr_broad_ask(const cr_broad *broad, int32_t a, int32_t b)
{
	return !broad->verdict || broad->verdict(broad->verdict_user, a < b ? a : b, a < b ? b : a);
}

#endif
