/// Questions about one convex body in its own frame: its box, its distance from a point, and rays.
#ifndef CR_GEOM_CONVEX_QUERY_H
#define CR_GEOM_CONVEX_QUERY_H

#include "geom/convex.h"
#include <stdbool.h>

/// The box of a convex body that is turned, about the origin of its frame; rounded outward.
void cr_convex_bounds(const cr_convex *convex, const m3d *rotation, double lower[3], double upper[3]);

/// Signed distance from p to the surface (negative inside), with the nearest surface point and its
/// outward normal.
double cr_convex_distance(const cr_convex *convex, v3d p, v3d *nearest, v3d *normal);

/// A ray against the surface: the first crossings with t_min <= t <= t_max, most (1 or 2) of them,
/// sorted. back[i] when it comes from inside. Returns their number. Places are good to about 1e-9
/// of the size. Source: van den Bergen, Ray Casting against General Convex Objects with Application
/// to Continuous Collision Detection (2004); the line is searched from both of its ends.
int cr_convex_ray(const cr_convex *convex, v3d origin, v3d direction, double t_min, double t_max, int most, double t[2],
	v3d normal[2], bool back[2]);

/// How far A must move along a unit direction until it no more meets B: the end of the last part of
/// the way from 0 to most on which it does. Both in the frame of A; moved by most, A does not meet
/// B. At most 1e-6 of A's size too far across B's surface; 0: A comes to B nowhere on the way.
double cr_convex_exit(const cr_convex *a, const cr_convex *b, v3d direction, double most);

#endif
