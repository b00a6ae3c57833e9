/// Exact orientation signs. cr_orient3d_sign is declared in triangle.h.
#ifndef CR_GEOM_PREDICATES_H
#define CR_GEOM_PREDICATES_H

#include "math/vec.h"

/// Sign of twice the area of the triangle abc seen along an axis (0, 1, 2), the two other axes
/// taken in cyclic order: > 0 when counter-clockwise from the axis' positive end. Exact for finite
/// input. Returns -1, 0, 1.
int cr_orient2d_sign(v3d a, v3d b, v3d c, int axis);

/// The first axis along which the triangle abc is not seen as a line, or -1 when its corners lie on
/// one line. Exact.
int cr_projection_axis(v3d a, v3d b, v3d c);

#endif
