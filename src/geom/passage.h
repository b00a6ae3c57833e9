/// A round body (sphere or capsule) that moves along a straight line past a triangle.
#ifndef CR_GEOM_PASSAGE_H
#define CR_GEOM_PASSAGE_H

#include "math/vec.h"

/// Between which moves the body overlaps the triangle. Empty, leave below enter, when it never
/// does.
typedef struct cr_passage {
	double enter;
	double leave;
} cr_passage;

/// Move a body, all points within radius of the segment core[0] core[1] (a point for a sphere),
/// along a unit direction. Returns the moves, of either sign, at which it touches the triangle
/// first and last: those of a line through the triangle less the segment, a prism, rounded by the
/// radius. In double; off by a few roundings of the coordinates.
cr_passage cr_round_passage(const v3d core[2], double radius, v3d direction, const v3d triangle[3]);

#endif
