/// How far two convex bodies are apart, or how far one must move to come out of the other.
///
/// Apart: the algorithm of Gilbert, Johnson and Keerthi (A Fast Procedure for Computing the
/// Distance Between Complex Objects in Three-Dimensional Space, 1988) on the difference of the two
/// cores. Overlapping: the polytope in that difference is grown towards its nearest face (van den
/// Bergen, Proximity Queries and Penetration Depth Computation on 3D Game Objects, 2001). All loops
/// are bounded, and the result holds however early they end:
/// - gap never exceeds the true signed distance when it is positive (a lower bound: the plane
///   across the normal parts the bodies).
/// - When it is negative, moving A by -gap along the normal parts the bodies: the support function
///   along the normal says so.
#ifndef CR_GEOM_SEPARATION_H
#define CR_GEOM_SEPARATION_H

#include "geom/convex.h"

typedef struct cr_separation {
	// distance of the bodies with their roundings; negative: A comes out by moving -gap along the
	// normal
	double gap;
	double error; // the true signed distance lies between gap and gap + error
	v3d normal;   // unit, from B to A, frame of A
	v3d on_a;     // nearest points of the surfaces, or the deepest ones; frame of A
	v3d on_b;
	bool converged; // error is a millionth of the sizes at most
} cr_separation;

/// The separation of two convex bodies. b_in_a: pose of B in the frame of A. Any sizes from 1e-100
/// to 1e100 of one order.
void cr_convex_separation(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, cr_separation *separation);

/// Does so, but may end where the bodies are known to be farther apart than enough. Then gap is a
/// lower bound above that, normal proves it, error is infinite, and the points are not set. Up to
/// enough all bits are those of cr_convex_separation.
void cr_convex_separation_to(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, double enough, cr_separation *separation);

/// Finds the separation by the descent and the polytope alone, without Newton steps
/// (curved_descent.h) and without the rind of ellipsoids. The oracle of the tests.
void cr_convex_separation_slow(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, cr_separation *separation);

/// An ellipsoid as a smaller core with more rounding, which is the body all the same (room holds
/// it); other bodies as they are. Bodies that overlap a little mostly have cores apart.
const cr_convex *cr_convex_rounded_core(const cr_convex *c, cr_convex *room);

/// Finds the separation of bodies that are apart. Returns false, with nothing of use set, where
/// they overlap or are too near for a direction to be told. Takes far less stack, for it never
/// looks for a depth.
bool cr_convex_apart(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, cr_separation *separation);

#endif
