/// Balls inside of two bodies that overlap. While a ball of the one lies deep in the other, or over
/// its surface, no move is clear: so long ways are passed with a few look-ups in an inside-outside
/// grid. Nothing here allocates; everything may run on many threads at once.
#ifndef CR_BVH_INNER_BALLS_H
#define CR_BVH_INNER_BALLS_H

#include "bvh/clear_way.h"

enum { CR_MOST_INNER_BALLS = 16, CR_MOST_INNER_POINTS = 4 };

typedef struct cr_inner_ball {
	v3d centre; // frame of the other body, before any move
	double radius;
} cr_inner_ball;

/// Of A and of B. A body has none if the other one has no grid, as convex bodies and open meshes,
/// or if it is such a mesh itself.
typedef struct cr_inner_balls {
	cr_inner_ball ball[2][CR_MOST_INNER_BALLS];
	int count[2];
	// vertices that stood in the way last, of A and of B, frames as of balls
	v3d point[2][CR_MOST_INNER_POINTS];
	int point_count[2];
	int next[2]; // the one that the next takes the place of
} cr_inner_balls;

/// Finds balls of both bodies, large ones first, where the boxes of the two meet.
void cr_find_inner_balls(const cr_solid_pair *pair, cr_inner_balls *balls);

/// Keeps the vertices that leave the other body last on a way that was found.
void cr_add_inner_points(const cr_solid_pair *pair, const cr_clear_way *way, cr_inner_balls *balls);

/// Returns a move of A along a unit direction, limit or less unless all up to limit are, up to
/// which no move is clear. 0: nothing is told.
double cr_blocked_until(const cr_solid_pair *pair, const cr_inner_balls *balls, v3d direction, double limit);

/// Finds a likely way out of the overlap: for the ball that lies deepest, to the nearest point of
/// the other body's surface. false: no ball tells any.
bool cr_guess_way(const cr_solid_pair *pair, const cr_inner_balls *balls, v3d *direction);

#endif
