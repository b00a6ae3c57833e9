/// @file mesh_query.h
/// Queries of one or two meshes, without a world and without a state.
#ifndef CAROM_MESH_QUERY_H
#define CAROM_MESH_QUERY_H

#include "carom/geometry.h"
#include "carom/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Rays of one batch against one mesh, in the mesh's frame: arrays of count elements each.
typedef struct carom_ray_batch {
	int32_t count;
	const float *origin[3];
	const float *direction[3]; ///< need not be unit; t counts in their lengths
	const float *t_max;        ///< hits beyond are not wanted; may be infinite
} carom_ray_batch;

/// Where to write the hits of a batch of rays: arrays of its count elements each.
typedef struct carom_hit_batch {
	int32_t *triangle; ///< number of the nearest triangle hit with 0 <= t <= t_max, or -1
	float *t;           ///< INFINITY where there is none
	uint8_t *back_face; ///< 1 when direction . (e1 x e2) > 0; 0 where there is none
} carom_hit_batch;

/// Find the pairs of triangles of one mesh that intersect or touch and share no vertex: where the
/// surface passes through itself. Exact, on the coordinates that the mesh was made from; doubles
/// are not rounded to float. pairs[i] holds two triangle numbers, the lower one first; pairs are
/// sorted. *count is the number of pairs there are; the first capacity of them are written. pairs
/// may be NULL when capacity is 0.
/// - Vertices are told apart by number, not by position. In a mesh with three vertices of its own
///   for each triangle neighbours count too: weld it first.
/// - Triangles without an area are in no pair, nor are those that repeat the corners of an earlier
///   one in the same direction.
///
/// Fails for wrong arguments and out of memory. Thread-safe.
CAROM_API carom_result carom_mesh_self_intersections(
	const carom_mesh *mesh, int32_t capacity, int32_t (*pairs)[2], int32_t *count);

/// Find the pairs of triangles of two meshes at their poses (NULL: the identity) that intersect or
/// touch. pairs[i] holds a triangle of A and one of B; pairs are sorted. Exact, on the coordinates
/// that the meshes were made from; B's are moved to A's frame in double, and only that rounds.
/// Meshes that do not intersect may still lie one in the other (carom_mesh_contains).
///
/// capacity, count, triangles that are in no pair, and errors are as in
/// carom_mesh_self_intersections. The meshes may come from two contexts; memory and errors are
/// mesh_a's. Thread-safe.
CAROM_API carom_result carom_mesh_intersections(const carom_mesh *mesh_a, const carom_pose *pose_a,
	const carom_mesh *mesh_b, const carom_pose *pose_b, int32_t capacity, int32_t (*pairs)[2],
	int32_t *count);

/// Find the nearest hit of each ray of a batch, in float and in the mesh's frame, as the ray stage
/// of a step does. Hits count from either side, with 0 <= t <= t_max. No ray slips through between
/// two triangles. Of triangles hit at one t, as around an edge or corner, one that is hit from
/// behind is taken; of these, the one with the lowest corner (in x, then y, then z; then by its
/// other corners). So the numbers of triangles do not matter.
///
/// Directions shorter than 1e-30 give an arbitrary result. Equal bits on every machine.
/// CAROM_INVALID_ARGUMENT: a negative count or a missing array. Thread-safe, takes no memory.
CAROM_API carom_result carom_mesh_cast_rays(
	const carom_mesh *mesh, const carom_ray_batch *rays, const carom_hit_batch *hits);

/// A point of a mesh's surface, in the mesh's frame.
typedef struct carom_mesh_point {
	carom_vec3 point;
	/// Outward, unit: of the triangle, or the mean of those that meet at the edge or vertex.
	carom_vec3 normal;
	double distance; ///< from the asked point; negative when that is inside a closed mesh
	/// Of equally near ones the lowest number; from more than 1e9 sizes of the mesh away any one.
	int32_t triangle;
	/// Of that triangle's corners, and the feature of it that the point lies on, as in
	/// carom_triangle_point.
	double weights[3];
	carom_feature feature;
	int32_t number;
} carom_mesh_point;

/// Surface point nearest to point, not further than max_distance (>= 0, may be INFINITY). *found
/// tells whether there is one. CAROM_INVALID_ARGUMENT for a point that is not finite or a missing
/// result. Thread-safe, takes no memory.
CAROM_API carom_result carom_mesh_closest_point(const carom_mesh *mesh, carom_vec3 point,
	double max_distance, bool *found, carom_mesh_point *result);

/// Where the surfaces of two meshes A and B are nearest to each other.
typedef struct carom_mesh_gap {
	double distance;                 ///< 0: the surfaces intersect or touch
	carom_triangle_point on_a, on_b; ///< in the world; the same point at distance 0
	/// The nearest triangles. Of equally near pairs the one with the lowest numbers, A's first; at
	/// distance 0 any pair that touches.
	int32_t triangle_a, triangle_b;
	/// Does the nearest point of the one lie inside the other mesh, which is closed? False at
	/// distance 0.
	bool a_inside_b, b_inside_a;
} carom_mesh_gap;

/// Find the least distance between the surfaces of two meshes at their poses (NULL: the identity),
/// if it is at most max_distance (>= 0, may be INFINITY); *found tells whether there is one. Only
/// surfaces count: for a mesh inside another one it is the way to the skin, and a_inside_b tells.
///
/// It is the least of carom_triangle_triangle_distance over all pairs of triangles, with B's moved
/// to A's frame in double: good to a few roundings of the coordinates there. Of bodies more than
/// 1e6 sizes apart it is good to a millionth of their size, and equally near pairs are told in any
/// order. Both trees are walked by branch and bound: O(log n) where the meshes are apart.
///
/// The meshes may come from two contexts; errors go to mesh_a's. CAROM_INVALID_ARGUMENT: a wrong
/// pose, a negative or missing distance, a missing mesh or result. A mesh without triangles is near
/// nothing. Thread-safe, takes no memory. Equal bits on every machine.
CAROM_API carom_result carom_mesh_distance(const carom_mesh *mesh_a, const carom_pose *pose_a,
	const carom_mesh *mesh_b, const carom_pose *pose_b, double max_distance, bool *found,
	carom_mesh_gap *result);

/// Is a point inside a closed mesh (does the surface wind around it)? Always false for an open one.
/// Points nearer to the surface than double resolves may count as either. CAROM_INVALID_ARGUMENT
/// for a point that is not finite. Thread-safe, takes no memory.
CAROM_API carom_result carom_mesh_contains(const carom_mesh *mesh, carom_vec3 point, bool *inside);

#ifdef __cplusplus
}
#endif
#endif
