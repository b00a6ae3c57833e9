/// The coplanarity cubic of a swept query: certified bounds for rung 2, and plain roots, which
/// prove nothing.
#ifndef CR_GEOM_SWEPT_CUBIC_H
#define CR_GEOM_SWEPT_CUBIC_H

#include "geom/swept_motion.h"

/// det(A, B, C)(t), A and B along the sides of the figure and C its first corner: zero when the
/// four vertices are coplanar.
typedef struct cr_swept_cubic {
	double bernstein[4]; // coefficients over [0, 1]; each off by at most error
	double power[4];     // coefficients of 1, t, t^2, t^3, in plain floating point
	double error;        // infinite where nothing can be proved
} cr_swept_cubic;

void cr_swept_init_cubic(cr_swept_cubic *cubic, const cr_swept_motion *motion);

/// The first change of sign in (from, 1], in plain floating point; infinite when there is none.
double cr_swept_cubic_root(const cr_swept_cubic *cubic, double from);

/// A time until which the cubic has certainly no zero, from time from on: shortly before the first
/// root, 2 when there is none in [from, 1], from itself when nothing can be proved.
double cr_swept_no_root_until(const cr_swept_cubic *cubic, double from);

#endif
