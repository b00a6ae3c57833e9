/// How near a vertex is to a face, or an edge to another edge, at one instant.
#ifndef CR_GEOM_FEATURE_DISTANCE_H
#define CR_GEOM_FEATURE_DISTANCE_H

#include "geom/swept.h"
#include "math/vec.h"

/// The nearest points of two features.
typedef struct cr_near {
	// of the vertices: the first feature's sum to 1 up to rounding, the second's too; those that
	// are 0 tell the parts of the features
	double weight[4];
	v3d on_a, on_b; // relative to the first vertex
	double distance2;
	// No greater than the true distance: the features are so far apart along the line between these
	// points. 0 where they meet.
	double gap;
} cr_near;

/// Measure two features, whose vertices are named as in cr_swept_queries. In double, relative to
/// the first vertex: distance2 is off by 2^-44 of the square of the longest difference of their
/// vertices at most.
void cr_near_of(cr_swept_kind kind, const v3d vertices[4], cr_near *near);

/// Are two features nearer than a distance, by distance2? Fills *near only if they are: equal bits
/// to those of cr_near_of.
bool cr_are_near(cr_swept_kind kind, const v3d vertices[4], double distance, cr_near *near);

#endif
