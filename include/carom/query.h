/// @file query.h
/// Stateless tests of meshes, without a world.
#ifndef CAROM_QUERY_H
#define CAROM_QUERY_H

#include "carom/carom.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Pairs of triangles of one mesh that intersect and share no vertex: where the surface passes through or touches itself.
/// Exact: touching counts. Vertices are told apart by number, not by position, so neighbours in a mesh with its own three
/// vertices for each triangle count too; weld such a mesh first. Triangles that are left out of detection (degenerate,
/// duplicate) are not in any pair. pairs[i] holds two triangle numbers, the lower first; pairs are sorted. *count is the number
/// of pairs there are; the first capacity of them are written. pairs may be NULL when capacity is 0. Fails for wrong arguments
/// and out of memory. Thread-safe.
CAROM_API carom_result carom_mesh_self_intersections(
	const carom_mesh *mesh, int32_t capacity, int32_t (*pairs)[2], int32_t *count);

/// Nearest hit of many rays in the mesh's frame, float; what the ray step does. A hit counts from either side, with 0 <= t <=
/// t_max; of triangles hit at the same t the one with the lowest number is taken. Directions of length below 1e-30 hit nothing
/// or anything. The results are the same, bit for bit, for CAROM_RAYS_WIDE, CAROM_RAYS_BINARY and CAROM_RAYS_BASIC on every
/// machine (triangles seen so nearly edge-on that t has no digits left aside). CAROM_INVALID_ARGUMENT for CAROM_RAYS_PLUGIN, an
/// unknown method, a negative count, or a missing array. Thread-safe, takes no memory.
CAROM_API carom_result carom_mesh_cast_rays(
	const carom_mesh *mesh, carom_ray_method method, const carom_ray_batch *rays, const carom_hit_batch *hits);

/// A point of a mesh's surface, in the mesh's frame.
typedef struct carom_mesh_point {
	carom_vec3 point;
	carom_vec3 normal; ///< outward, unit: of the triangle, or the mean of those that meet at the edge or vertex
	double distance;   ///< from the asked point; negative when that is inside a closed mesh
	int32_t triangle;  ///< of equally near ones the lowest number
} carom_mesh_point;

/// Surface point nearest to point, not further than max_distance (>= 0, may be INFINITY). *found tells whether there is one.
/// CAROM_INVALID_ARGUMENT for a point that is not finite or a missing result. Thread-safe, takes no memory.
CAROM_API carom_result carom_mesh_closest_point(
	const carom_mesh *mesh, carom_vec3 point, double max_distance, bool *found, carom_mesh_point *result);

/// Is a point inside a closed mesh (does the surface wind around it)? Always false for an open one. Points nearer to the
/// surface than double resolves may count as either. CAROM_INVALID_ARGUMENT for a point that is not finite. Thread-safe, takes
/// no memory.
CAROM_API carom_result carom_mesh_contains(const carom_mesh *mesh, carom_vec3 point, bool *inside);

#ifdef __cplusplus
}
#endif
#endif
