/// The rungs of the swept tests share this: the motion of one feature relative to the other. See
/// swept.h.
#ifndef CR_GEOM_SWEPT_MOTION_H
#define CR_GEOM_SWEPT_MOTION_H

#include "geom/swept.h"
#include "math/vec.h"

/// Differences of the vertices of the first feature and those of the second: the corners of the
/// flat figure (Minkowski difference) that holds the origin exactly when the features meet.
/// Vertex-face: a triangle, corners v - f0, v - f1, v - f2. Edge-edge: a parallelogram, corners a0
/// - b0, a1 - b0, a0 - b1, a1 - b1. Corners move on straight lines too.
///
/// Taking differences makes every bound below relative to the size and the motion of the features,
/// wherever they are: a difference of two doubles is off by at most u = 2^-53 of itself, component
/// by component (gradual underflow makes tiny ones exact).
struct cr_swept_motion {
	cr_swept_kind kind;
	int count;    // of corners: 3 or 4
	v3d begin[4]; // corners at time 0
	v3d end[4];   // corners at time 1
	// Corners 1 and 2 minus corner 0, from the vertices themselves: a short side keeps its last
	// places.
	v3d side_begin[2];
	v3d side_end[2];
};

/// The nearest point of the figure to the origin, in plain floating point: nothing may be concluded
/// from it.
typedef struct cr_swept_nearest {
	v3d point;
	double distance;
	double s, r; // point = corner0 + s (corner1 - corner0) + r (corner2 - corner0)
	// of the figure, not unit, away from the origin; zero when the figure is (nearly) a line
	v3d normal;
	bool inside; // the point is inside of the figure, not on one of its sides
} cr_swept_nearest;

void cr_swept_init_motion(cr_swept_motion *motion, cr_swept_kind kind, const double *const begin[4], const double *const end[4]);

/// Sum of the absolute components of all corners at both ends: at least the largest, at most 24
/// times that. Not finite if one is not.
double cr_swept_motion_size(const cr_swept_motion *motion);

/// Nearest point at a time.
void cr_swept_find_nearest(const cr_swept_motion *motion, double time, cr_swept_nearest *nearest);

/// Fill the weights, and distance and normal of the impact, from the nearest points at
/// impact->time; direction: along which the features were apart last (zero: unknown), the better
/// normal when they touch.
void cr_swept_describe(const cr_swept_motion *motion, v3d direction, double weight[4], cr_swept_impact *impact);

/// Rung 2 (swept_advance.c). Fills time, time_high and status; UNDECIDED leaves the time up to
/// which the features are proved clear. *direction: along which they were apart last.
cr_swept_status cr_swept_advance(
	const cr_swept_motion *motion, const cr_swept_options *options, cr_swept_impact *impact, v3d *direction, int64_t *advances);

/// How far the features are proved apart, beyond min_separation, along one of the nine axes of the
/// 18-DOP alone; 0 when along none, above 1 when during the whole step (swept_advance.c).
double cr_swept_clear_along_axes(const cr_swept_motion *motion, double min_separation);

/// Rung 3 (swept_inclusion.c), given that nothing happens before clear_until. Fills time, time_high
/// and status.
cr_swept_status cr_swept_bisect(const cr_swept_motion *motion, const cr_swept_options *options, double clear_until,
	cr_swept_impact *impact, int64_t *bisections);

#endif
