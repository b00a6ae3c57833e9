/// The difference D of the cores of two convex bodies: all a - b, in the frame of A. The bodies
/// overlap where D holds the origin; its distance from there is that of the cores.
#ifndef CR_GEOM_DIFFERENCE_H
#define CR_GEOM_DIFFERENCE_H

#include "geom/convex.h"
#include "geom/simplex.h"

/// How a descent on D converges. A rim and a point lie in one half plane through the axis, in which
/// nothing bends.
typedef enum cr_difference_form {
	CR_FLAT,   // in a few steps: polytopes, and a rim and a point
	CR_RIMMED, // of a core with a rim: where that is nearest, slowly
	CR_SMOOTH, // of an ellipsoid: slowly
} cr_difference_form;

typedef struct cr_difference {
	const cr_convex *a;
	const cr_convex *b;
	const cr_relative *at; // of B in the frame of A
	double size;           // of both cores and the space between them
	cr_difference_form form;
	double enough; // a descent may end where the cores are known to be farther apart
} cr_difference;

/// Progress that is a smaller part of the size is none.
#define CR_NO_PROGRESS 1e-13

/// The point of D that a point of A and one of B (in its own frame) make.
static inline v3d cr_difference_point(const cr_difference *p, v3d a, v3d b)
{
	return v3d_sub(v3d_sub(a, m3d_mul(&p->at->rotation, b)), p->at->position);
}

/// The point of D that lies farthest along a direction.
static inline cr_simplex_vertex cr_difference_support(const cr_difference *p, v3d direction)
{
	const v3d a = cr_convex_support(p->a, direction);
	const v3d b = cr_convex_support(p->b, m3d_tmul(&p->at->rotation, v3d_neg(direction)));
	return (cr_simplex_vertex){ cr_difference_point(p, a, b), a };
}

/// A unit direction at right angles to one of any length.
static inline v3d cr_across(v3d d)
{
	const v3d size = { fabs(d.x), fabs(d.y), fabs(d.z) };
	const v3d least = size.x <= size.y && size.x <= size.z ? (v3d){ 1, 0, 0 }
		: size.y <= size.z                                 ? (v3d){ 0, 1, 0 }
														   : (v3d){ 0, 0, 1 };
	return v3d_normalize(v3d_cross(d, least));
}

#endif
