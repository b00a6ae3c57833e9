/// The distance of convex bodies of which one or both are curved, by Newton steps. See
/// curved_descent.c.
#ifndef CR_GEOM_CURVED_DESCENT_H
#define CR_GEOM_CURVED_DESCENT_H

#include "geom/difference.h"

/// Descend to the point of D nearest to the origin, from a unit direction n along which the cores
/// are apart (from B to A). True: nearest holds a point, and normal proves that no point of D is
/// nearer than lower, which is that point's distance less the tolerance or more. False: nothing is
/// set; the search did not get so far.
bool cr_descend_curved(
	const cr_difference *difference, v3d n, double tolerance, cr_simplex *nearest, double *lower, v3d *normal);

#endif
