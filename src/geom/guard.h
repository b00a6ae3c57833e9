/// Directions along which two bodies that move may be near each other, because they touch from the
/// beginning: how long a body keeps to its side. The proof is at the head of the source.
#ifndef CR_GEOM_GUARD_H
#define CR_GEOM_GUARD_H

#include "geom/time_of_impact.h"

/// A direction from B to A, fixed in the frame of one of them, and the gap along it that is not to
/// be lost.
typedef struct cr_guard {
	v3d local; // unit, frame of B or A (of the part where it is one)
	bool of_b; // else of A. Of a plane and another body always of the plane
	double level;
} cr_guard;

/// The moving body: a convex body, a box in its frame, or the half space z <= 0.
typedef struct cr_guarded {
	const cr_motion *motion;
	const cr_convex *convex; // NULL: a box, or a plane
	bool is_plane;
	v3d centre; // of the box
	v3d extent;
	double reach; // of the core of a convex body, or of the box, from the origin of its frame
	// z of its frame is an axis of revolution, and the bound of its turning is to make use of that
	bool is_round;
	cr_motion_places *places; // of its motion, of a caller who looks at it often; NULL: none
} cr_guarded;

cr_guarded cr_guard_convex(const cr_motion *motion, const cr_convex *convex);

static inline carom_quat cr_guarded_orientation(const cr_guarded *g, double t)
{
	return g->places ? cr_look_at_place(g->places, t)->pose.orientation : cr_motion_at(g->motion, t).orientation;
}

/// Fixes a direction of the world, as it is at a time, in the frame of a body.
v3d cr_guard_local(const cr_motion *motion, v3d normal, double t);
/// Returns the direction of a guard in the world, from B to A.
v3d cr_guard_normal(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t);
/// Returns how far all points of A are beyond all points of B along the direction at least;
/// negative: they are not.
double cr_guard_gap(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t);
/// Returns how fast the gap changes then.
double cr_guard_rate(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t);
/// Returns the gap, and sets the rate.
double cr_guard_gap_rate(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t, double *rate);
/// Returns a time up to which the gap stays at the level or above; at least t, at most limit. t:
/// nothing is known.
double cr_guard_until(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t, double limit);

#endif
