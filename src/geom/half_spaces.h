/// Moves that must lie in several half spaces, each p with normal . p >= reach.
#ifndef CR_GEOM_HALF_SPACES_H
#define CR_GEOM_HALF_SPACES_H

#include "math/vec.h"

enum { CR_MOST_HALF_SPACES = 16 };

typedef struct cr_half_spaces {
	v3d normal[CR_MOST_HALF_SPACES]; // unit
	double reach[CR_MOST_HALF_SPACES];
	int count;
} cr_half_spaces;

/// The shortest move in all half spaces, each widened by slack. Returns its length, infinite where
/// there is none. Cost: the fourth power of their number.
double cr_shortest_move(const cr_half_spaces *spaces, double slack, v3d *move);

#endif
