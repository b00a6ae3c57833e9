/// Two parts of bodies, one of which slides along a straight line: between which moves they
/// overlap.
///
/// A move s is forbidden where a part of A, moved by s along a direction, overlaps a part of B. For
/// convex parts these moves are one interval. For every n with n . direction > 0 it begins no
/// sooner than
///     (least of n over B - most of n over A) / (n . direction)
/// and ends no later than
///     (most of n over B - least of n over A) / (n . direction).
/// So each n gives bounds on both ends, and every bound holds, wherever the search for the best n
/// stops.
#ifndef CR_GEOM_SLIDE_H
#define CR_GEOM_SLIDE_H

#include "geom/convex.h"

/// The moves at which two parts overlap: from enter to leave, both rounded outward. Empty, leave
/// below enter, when they never do.
typedef struct cr_slide {
	double enter;
	double leave;
	v3d normal;   // unit, from B to A: A leaves over the plane across it
	double reach; // A is clear of B when it is moved by p with normal . p > reach
} cr_slide;

/// Slides one triangle along a unit direction past another. Exact up to rounding: the directions
/// tried (normals of both, cross products of edges, and for flat pairs the edges' own normals) hold
/// those of all faces of the difference of two triangles. slack: a length that is far more than the
/// rounding of the coordinates; both ends give way by it. low, high: the caller has no use for an
/// interval that ends before low or begins after high; of that, bounds on the ends may be told.
void cr_slide_triangles(const v3d a[3], const v3d b[3], v3d direction, double slack, double low, double high, cr_slide *slide);

/// Does so for any two convex bodies, by planes that part them, sought from both ends of first
/// (bounds that hold). Both in the frame of A.
void cr_slide_convex(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double slack,
	const cr_slide *first, cr_slide *slide);

/// Do two convex bodies overlap when A is moved by at? Else enter is set to a bound: between at and
/// it they do not; infinite: nor at any greater move.
bool cr_slide_holds(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double slack, double at, double *enter);

/// One end of the moves at which two convex bodies overlap, rounded outward: the upper one where
/// from is above stop, else the lower one. It is sought from a move beyond it, or on it, up to
/// stop. normal: unit, of the plane that parts them there, from B to A; left as it is where they
/// overlap at from. false: they overlap nowhere between.
bool cr_slide_end(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double slack, double from,
	double stop, double *end, v3d *normal);

#endif
