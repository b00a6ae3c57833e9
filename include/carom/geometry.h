/// @file geometry.h
/// Points, edges and triangles: exact signs, nearest points. Pure functions.
#ifndef CAROM_GEOMETRY_H
#define CAROM_GEOMETRY_H

#include "carom/math.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Do two triangles share a point? Exact for all finite doubles, whether or not they have an area.
/// Pure, thread-safe.
CAROM_API bool carom_triangles_intersect(const carom_vec3 a[3], const carom_vec3 b[3]);

/// Tells on which side of the plane through a, b and c the point d lies. 1: d sees a, b, c
/// counter-clockwise; -1: clockwise; 0: all four lie in one plane. Exact for all finite doubles.
/// Pure, thread-safe.
CAROM_API int carom_orientation(carom_vec3 a, carom_vec3 b, carom_vec3 c, carom_vec3 d);

// ---- Nearest points ----

/// The part of a triangle or an edge that a nearest point lies on.
typedef enum carom_feature {
	CAROM_FEATURE_FACE, ///< the inside of a triangle
	/// The inside of an edge. Edge k runs from corner k to corner k + 1 (of a triangle: modulo 3).
	CAROM_FEATURE_EDGE,
	CAROM_FEATURE_VERTEX, ///< corner number k
} carom_feature;

/// A point of a triangle. The weights of its corners are at least 0 and sum to 1 up to rounding;
/// they are 0 for the corners that the feature does not touch. A point on a vertex is the corner
/// itself, to the bit.
typedef struct carom_triangle_point {
	carom_vec3 point;
	double weights[3];
	carom_feature feature;
	int32_t number; ///< of the edge or vertex, 0 to 2; 0 for the face
} carom_triangle_point;

/// A point of a segment, (1 - t) end[0] + t end[1], 0 <= t <= 1.
typedef struct carom_edge_point {
	carom_vec3 point;
	double t;
	carom_feature feature; ///< CAROM_FEATURE_EDGE or CAROM_FEATURE_VERTEX
	int32_t number;        ///< of the end, 0 or 1; 0 for the edge
} carom_edge_point;

// The next three are pure functions, thread-safe, for any scale and frame. They return the
// distance. One below 1e-150 of the largest coordinate may count as 0. Where a coordinate is not
// finite or a pointer is NULL they return NaN and write nothing. Triangles without area and edges
// without length work: needles, points, parallel edges. Where several points are equally near, one
// of them is taken, on every machine the same one. carom/batch.h has these functions over arrays.
// For vertices that move: carom_sweep_test_pair.

/// Nearest point of a triangle to a point (Ericson, Real-Time Collision Detection, 2005, 5.1.5).
CAROM_API double carom_point_triangle_distance(
	carom_vec3 point, const carom_vec3 triangle[3], carom_triangle_point *on_triangle);

/// Nearest points of two edges, each given by its two ends (Ericson 5.1.9; for edges that are
/// nearly parallel all four ends are tried too).
CAROM_API double carom_edge_edge_distance(
	const carom_vec3 a[2], const carom_vec3 b[2], carom_edge_point *on_a, carom_edge_point *on_b);

/// Nearest points of two triangles: all corners against the other triangle, all edges against
/// edges. Triangles that intersect, by exact predicates, have distance 0 and one point in common,
/// which both results hold, each with the feature of its own triangle.
CAROM_API double carom_triangle_triangle_distance(const carom_vec3 a[3], const carom_vec3 b[3],
	carom_triangle_point *on_a, carom_triangle_point *on_b);

#ifdef __cplusplus
}
#endif
#endif
