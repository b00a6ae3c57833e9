/// Do two convex bodies touch or overlap? A yes or no takes far fewer steps than a depth.
#ifndef CR_GEOM_MEET_H
#define CR_GEOM_MEET_H

#include "geom/convex.h"

/// Tells whether the bodies touch or overlap: whether cr_convex_separation finds a gap of 0 or
/// less. A plane between the bodies proves a no, points of both a yes. Where neither is found, as
/// in bodies that touch, cr_convex_separation is asked. The answers differ only where the
/// separation has not converged, and its lower bound of a gap is therefore negative. b_in_a: pose
/// of B in the frame of A.
bool cr_convex_meet(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a);

#endif
