/// Questions about one collider in its own frame, in double: rays, nearest points, inside, overlap
/// with a volume. For users' queries; detection has kernels of its own. Nothing here allocates;
/// everything may run on many threads at once.
#ifndef CR_BVH_COLLIDER_QUERY_H
#define CR_BVH_COLLIDER_QUERY_H

#include "bvh/bvh_kernels.h"

/// Where a ray met a triangle. t, u, v are those of the double ray on the triangle's plane, u and v
/// brought back into the triangle.
typedef struct cr_query_hit {
	double t;
	double u, v; // weights of the second and third corner
	v3d normal;  // of the triangle, unit
	int32_t triangle;
	bool back;
} cr_query_hit;

/// Nearest hit with t_min <= t <= t_max. The origin is moved to the collider's box in double before
/// the float tree is walked, so a ray from far away has the hits of a ray from nearby.
bool cr_collider_cast(const cr_collider *collider, const cr_bvh_kernels *kernels, const cr_query_ray *ray, cr_query_hit *hit);

/// Nearest hit of a triangle's front; of those at one t that of the lowest number. It walks in
/// double, so it is for rays whose nearest hit is a back.
bool cr_collider_cast_front(const cr_collider *collider, const cr_query_ray *ray, cr_query_hit *hit);

/// Receives a hit; return false to stop.
typedef bool cr_query_hit_fn(const cr_query_hit *hit, void *user);
/// Every triangle that the ray meets, in no particular order. Through an edge or a vertex it meets
/// all triangles around.
void cr_collider_cast_all(const cr_collider *collider, const cr_query_ray *ray, cr_query_hit_fn *fn, void *user);

/// 1 / d for slabs of boxes: finite, as a component of a direction this small counts as 1e-300.
static inline double cr_slab_inverse(double d) { return 1 / (fabs(d) < 1e-300 ? copysign(1e-300, d) : d); }

/// Parameters at which a ray is inside a box, cut to [t_min, t_max]; false when it misses. Errs on
/// the side of a hit.
bool cr_ray_box(const cr_query_ray *ray, const double lower[3], const double upper[3], double *enter, double *leave);

/// The surface point nearest to a point.
typedef struct cr_surface_point {
	v3d point;
	v3d normal;      // outward, unit: of the face, or the mean at an edge or vertex
	double distance; // negative inside a closed collider
	int32_t triangle;
	double weight[3]; // of the triangle's corners
	cr_feature feature;
} cr_surface_point;

/// False when there is none within max_distance (>= 0, may be infinite). Of triangles equally near,
/// the lowest number.
bool cr_collider_closest_point(
	const cr_collider *collider, const cr_bvh_kernels *kernels, v3d point, double max_distance, cr_surface_point *result);

/// Is the point inside a closed collider? Points on the surface count as either, by the last bits.
/// Open: false.
bool cr_collider_contains(const cr_collider *collider, const cr_bvh_kernels *kernels, v3d point);

/// The rules of a walk: nodes whose box meets_box accepts are opened; the walk stops when
/// meets_triangle returns true.
typedef struct cr_query_walk {
	bool (*meets_box)(const void *user, const double lower[3], const double upper[3]);
	bool (*meets_triangle)(void *user, int32_t triangle, const v3d corners[3]);
	void *user;
} cr_query_walk;

/// Did meets_triangle return true for any triangle?
bool cr_collider_walk(const cr_collider *collider, const cr_query_walk *walk);

/// End-point overlap of the binary tree over the triangles (tree/quality.h).
double cr_collider_epo(const cr_collider *collider);

#endif
