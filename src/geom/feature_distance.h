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

/// Queries begin..begin+count-1 at the beginning of their motion, in place of cr_swept_find: those
/// whose features are nearer than options->min_separation, by distance2, are TOUCHING. Equal bits
/// wherever a query stands.
int32_t cr_near_find(const cr_swept_queries *queries, int64_t begin, int32_t count, const cr_swept_options *options,
	cr_swept_impact *impacts, cr_swept_stats *stats);

#endif
