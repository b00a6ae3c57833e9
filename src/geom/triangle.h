/// Triangles: rays, closest points, intersection. Pure functions in double unless said otherwise;
/// the wide float forms of the ray test live with the trees and give the same bits as
/// cr_ray_triangle_watertight.
#ifndef CR_GEOM_TRIANGLE_H
#define CR_GEOM_TRIANGLE_H

#include "math/vec.h"

/// A ray prepared for the watertight test (Woop, Benthin, Wald, Watertight Ray/Triangle
/// Intersection, JCGT 2013).
typedef struct cr_ray_shear {
	// kz: axis of the largest |direction|; kx, ky swapped when direction[kz] < 0 to keep the
	// winding
	int kx, ky, kz;
	float sx, sy, sz; // d[kx] / d[kz], d[ky] / d[kz], 1 / d[kz]
	float origin[3];
} cr_ray_shear;

/// direction must not be zero.
void cr_ray_shear_init(cr_ray_shear *shear, const float origin[3], const float direction[3]);

/// The hit of a ray. t in lengths of the direction; back when it came from the inside (direction .
/// (e1 x e2) > 0).
typedef struct cr_triangle_hit {
	float t;
	float u, v; // weights of the second and third corner
	bool back;
} cr_triangle_hit;

/// Watertight: a ray that passes through the surface of a closed mesh meets at least one triangle,
/// whatever the rounding: the signs of the 2D edge functions are exact (float products compared;
/// double where they cancel). Edges and corners belong to all triangles around them, with the same
/// t to the bit. Zero determinant is no hit. Accepts 0 <= t <= t_max.
bool cr_ray_triangle_watertight(
	const cr_ray_shear *shear, const float a[3], const float b[3], const float c[3], float t_max, cr_triangle_hit *hit);

/// Moeller, Trumbore, Fast, Minimum Storage Ray/Triangle Intersection, 1997, as the thesis uses it:
/// float, u, v, t >= 0, u + v <= 1. Parallel rays are discarded. May leak at shared edges.
bool cr_ray_triangle_mt(const float origin[3], const float direction[3], const float a[3], const float b[3], const float c[3],
	float t_max, cr_triangle_hit *hit);

/// The unit normal of a triangle, on the side from which its corners go round counter-clockwise.
static inline v3d cr_triangle_normal(const v3d corner[3])
{
	return v3d_normalize(v3d_cross(v3d_sub(corner[1], corner[0]), v3d_sub(corner[2], corner[0])));
}

/// Which part of a triangle a closest point lies on.
typedef enum cr_feature {
	CR_FEATURE_FACE,
	CR_FEATURE_EDGE_AB,
	CR_FEATURE_EDGE_BC,
	CR_FEATURE_EDGE_CA,
	CR_FEATURE_A,
	CR_FEATURE_B,
	CR_FEATURE_C
} cr_feature;

/// A point of a triangle. The weights of the corners are at least 0 and sum to 1 up to rounding;
/// those that are 0 tell the feature: a corner has weight 1 and lies at the corner to the bit.
typedef struct cr_triangle_point {
	v3d point;
	double weight[3];
	cr_feature feature;
} cr_triangle_point;

/// Point of the triangle nearest to p (Ericson, Real-Time Collision Detection, 5.1.5, areas by
/// cross products instead of his differences of products, which leave no digit of a needle).
/// Degenerate triangles work.
cr_triangle_point cr_closest_on_triangle(v3d p, const v3d t[3]);

/// Move a point of a triangle to the corner that lies within tolerance of it, if there is one; else
/// to the edge that does. Of several the nearest counts. So points that differ by less than the
/// tolerance from one of an edge have one name.
void cr_snap_triangle_point(const v3d t[3], double tolerance, cr_triangle_point *on);

/// Point of the triangle abc nearest to p, without the weights.
v3d cr_closest_point_triangle(v3d p, v3d a, v3d b, v3d c, cr_feature *feature);

/// Parameter of the point of segment pq nearest to x; 0 when the segment is a point.
double cr_nearest_on_segment(v3d x, v3d p, v3d q);

/// Nearest points of two segments p0p1 and q0q1 (Ericson 5.1.9), with parameters in [0, 1]; returns
/// the squared distance. Points instead of segments, and parallel ones, work.
double cr_closest_segments(v3d p0, v3d p1, v3d q0, v3d q1, double *s, double *t, v3d *on_p, v3d *on_q);

/// Nearest points of a segment and a triangle; distance squared, 0 when they cross (then both
/// points are the crossing).
double cr_closest_segment_triangle(v3d p0, v3d p1, v3d a, v3d b, v3d c, v3d *on_segment, v3d *on_triangle);

/// Nearest points of two triangles; distance squared, 0 when they intersect
/// (cr_triangles_intersect; then both points are one of both, the same up to rounding in the
/// weights). Of equally near points corners go before edges. Degenerate triangles work.
double cr_closest_triangles(const v3d a[3], const v3d b[3], cr_triangle_point *on_a, cr_triangle_point *on_b);

/// Sign of the volume of (a, b, c, d): > 0 when d lies on the side of the plane abc to which (b-a)
/// x (c-a) points. Exact for every finite input: an error bound decides (Shewchuk, Adaptive
/// Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, 1997), and whole
/// numbers of any length where it cannot. Returns -1, 0, 1; 0 for infinities and NaN.
int cr_orient3d_sign(v3d a, v3d b, v3d c, v3d d);

/// Do a segment and a triangle, closed sets, intersect? Exact for any input: in one plane, points
/// instead of segments, triangles without area. Touching counts.
bool cr_segment_meets_triangle(v3d p, v3d q, const v3d t[3]);

/// Do two triangles, closed sets, intersect? Exact for any input, coplanar and degenerate included
/// (touching counts), by cr_orient3d_sign (Devillers, Guigue, Faster Triangle-Triangle Intersection
/// Tests, 2002; coplanar: 2D predicates).
bool cr_triangles_intersect(const v3d a[3], const v3d b[3]);

/// Does the line through p0 and p1, which is not in the triangle's plane, meet the triangle
/// (closed)? Exact.
bool cr_line_meets_triangle(v3d p0, v3d p1, const v3d t[3]);

/// Where segment p0p1 pierces triangle abc: true with the parameter s in [0, 1] when the signs say
/// so (closed sets). Coplanar: false.
bool cr_segment_pierces_triangle(v3d p0, v3d p1, v3d a, v3d b, v3d c, double *s);

/// Smallest move of triangle a along a unit direction that separates it from b (separating axis
/// test over the 2 normals, 9 edge products and, for triangles side by side in one plane, the 6
/// edge normals; touching allowed). depth < 0: they are apart by at least -depth. direction points
/// from b to a.
double cr_triangle_penetration(const v3d a[3], const v3d b[3], v3d *direction);

/// Do a triangle and an axis-aligned box (centre, half extents) overlap, closed sets?
/// (Akenine-Moeller, Fast 3D Triangle-Box Overlap Testing, 2001.) May report a false overlap within
/// rounding, never miss one.
bool cr_triangle_box_overlap(v3d centre, v3d half, v3d a, v3d b, v3d c);

#endif
