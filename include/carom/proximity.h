/// @file proximity.h
/// Features of triangle meshes that are near each other at one instant, and how far each vertex may
/// move before anything can cross.
///
/// A scene holds meshes, whose vertices the caller places, and shapes. A search finds all pairs of
/// a vertex and a face, and of two edges, that share no vertex and are nearer than a distance,
/// within meshes and between them; and the features near each shape. These are the pairs that
/// barrier and penalty methods sum over (Li et al., Incremental Potential Contact, 2020; Chen et
/// al., Vertex Block Descent, 2024, and Offset Geometric Contact, 2025). The tree and the front are
/// those of a swept scene (carom/sweep.h), so a scene that changes little is cheap to search again.
#ifndef CAROM_PROXIMITY_H
#define CAROM_PROXIMITY_H

#include "carom/shape.h"
#include "carom/sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to make a scene. Start from carom_default_proximity_def.
typedef struct carom_proximity_def {
	int cookie; ///< set by carom_default_proximity_def; do not touch
	/// How candidates are found: CAROM_SWEEP_AUTO, CAROM_SWEEP_FRONT or CAROM_SWEEP_BVH. All find
	/// equal pairs.
	carom_sweep_method method;
	size_t front_budget; ///< bytes that the front may take, as carom_sweep_def has it; 0: no bound
	/// 0 or more: a search that finds more pairs, those with shapes included, fails. 0: no bound.
	int64_t max_pairs;
	/// NULL, or a device of the same context, which must outlive the scene. It finds the pairs of
	/// features whose boxes are near each other, and the processor measures those that its filters
	/// leave (carom_sweep_def.device). Pairs are equal.
	carom_device *device;
	bool device_fallback; ///< where the device fails, the processor does that search alone
} carom_proximity_def;

/// CAROM_SWEEP_AUTO, a front of 256 MiB, no bound on pairs, no device. Thread-safe.
CAROM_API carom_proximity_def carom_default_proximity_def(void);

/// A scene of meshes and shapes. Calls on one scene are for one thread at a time; searches run on
/// the workers of the context. Results do not depend on their number, on the instruction set, or on
/// method.
typedef struct carom_proximity carom_proximity;

/// Make a scene without meshes. def may be NULL for the defaults. CAROM_INVALID_ARGUMENT names the
/// field. The context must outlive the scene. Thread-safe.
CAROM_API carom_result carom_create_proximity(
	carom_context *context, const carom_proximity_def *def, carom_proximity **proximity);
/// Destroy a scene. NULL does nothing.
CAROM_API void carom_destroy_proximity(carom_proximity *proximity);

/// Add a mesh, which is copied; *mesh is its number, from 0. def is that of carom_sweep_add_mesh:
/// self asks for pairs within the mesh; a rigid mesh has no pairs within it, nor with other rigid
/// ones; filters hold; def->vertices are its first places. As there, triangles with a repeated
/// corner and vertices that no triangle uses take no part. The next search builds the tree. Errors
/// as for carom_sweep_add_mesh; the scene then stays as it was.
CAROM_API carom_result carom_proximity_add_mesh(
	carom_proximity *proximity, const carom_sweep_mesh_def *def, int32_t *mesh);
/// Put the vertices of a mesh somewhere: one place for each vertex, world frame, metres, finite, at
/// most CAROM_MAX_COORDINATE. They are copied. CAROM_INVALID_ARGUMENT names the argument and the
/// vertex, and nothing has changed.
CAROM_API carom_result carom_proximity_place_mesh(
	carom_proximity *proximity, int32_t mesh, const carom_strided *vertices);

/// Change which other meshes and shapes a mesh meets (carom_sweep_mesh_def), from the next search
/// on. CAROM_INVALID_ARGUMENT names the argument.
CAROM_API carom_result carom_proximity_set_filter(
	carom_proximity *proximity, int32_t mesh, uint64_t category, uint64_t mask, int32_t group);

/// A shape of a scene. Start from carom_default_proximity_shape_def.
typedef struct carom_proximity_shape_def {
	int cookie;        ///< set by carom_default_proximity_shape_def; do not touch
	carom_shape shape; ///< any but CAROM_MESH; its hull is kept as long as the scene needs it
	carom_pose pose;   ///< of its frame in the world
	/// Which meshes it meets, as for meshes (carom_sweep_mesh_def).
	uint64_t category;
	uint64_t mask;
	int32_t group;
} carom_proximity_shape_def;

/// A sphere of radius 0.5 at the origin, category 1, all bits of the mask, no group. Thread-safe.
CAROM_API carom_proximity_shape_def carom_default_proximity_shape_def(void);
/// Add a shape; *shape is its number, from 0. CAROM_INVALID_ARGUMENT names the field.
CAROM_API carom_result carom_proximity_add_shape(
	carom_proximity *proximity, const carom_proximity_shape_def *def, int32_t *shape);
/// Put a shape somewhere. CAROM_INVALID_ARGUMENT names the argument.
CAROM_API carom_result carom_proximity_place_shape(
	carom_proximity *proximity, int32_t shape, const carom_pose *pose);

/// The parts of two features in which the nearest points lie.
typedef enum carom_proximity_type {
	CAROM_PROXIMITY_VERTEX_VERTEX,
	CAROM_PROXIMITY_VERTEX_EDGE,
	CAROM_PROXIMITY_VERTEX_FACE,
	CAROM_PROXIMITY_EDGE_EDGE,
} carom_proximity_type;

/// A vertex and a face, or two edges, named as in carom_sweep_hit: vertices[0] of mesh_a and the
/// triangle of mesh_b with corners vertices[1..3]; or vertices[0..1] of mesh_a, lower first, and
/// vertices[2..3] of mesh_b, lower first, a being the lower (mesh, edge).
typedef struct carom_proximity_pair {
	carom_sweep_kind kind;
	carom_proximity_type type; ///< the vertices of these parts are those whose weight is not 0
	int32_t mesh_a, mesh_b;
	int32_t vertices[4]; ///< numbers within their meshes
	int32_t triangle;    ///< of mesh_b, vertex against face; else -1
	/// Barycentric coordinates of the nearest points: the first feature's sum to 1, the second's
	/// too.
	double weight[4];
	/// The nearest points, world frame.
	carom_vec3 point_a, point_b;
	/// The square of their distance, metres^2; it is below that of the search. It is off by at most
	/// 2^-44 of the square of the longest difference of the four vertices.
	double distance2;
	/// Metres: the features are proved to be at least this far apart. Equal to the distance up to
	/// rounding; 0 where they meet.
	double gap;
} carom_proximity_pair;

/// A feature of a mesh near a shape. Each vertex nearer than the distance is listed; of each
/// triangle whose nearest point is on no corner, the edge or the face that has it; and each
/// triangle that overlaps the shape. A plane has vertices alone. A nearest point within a billionth
/// of the triangle's longest edge of an edge or a corner lies there: one place has one name.
typedef struct carom_proximity_shape_pair {
	int32_t shape;
	int32_t mesh;
	/// One vertex, both ends of an edge, lower first, or the corners of a triangle; -1: none.
	int32_t vertices[3];
	int32_t triangle;  ///< that has these corners; -1: the feature is no triangle
	double weight[3];  ///< of these vertices in the feature's nearest point; sum 1
	carom_vec3 point;  ///< of the shape's surface, nearest to it
	carom_vec3 normal; ///< unit, from the shape to the feature
	/// Metres, proved: they are at least so far apart. Negative: they overlap, and moving the
	/// feature by -gap along the normal parts them.
	double gap;
} carom_proximity_shape_pair;

/// The pairs of a search. Valid until the next call on the scene.
typedef struct carom_proximity_view {
	/// Sorted by kind, mesh_a, mesh_b, vertices; each pair once.
	const carom_proximity_pair *pairs;
	int64_t pair_count;
	/// Sorted by shape, mesh; then vertices, edges and triangles, each by their numbers; each once.
	const carom_proximity_shape_pair *shape_pairs;
	int64_t shape_pair_count;
} carom_proximity_view;

/// Find all pairs that are nearer than distance (above 0, at most CAROM_MAX_COORDINATE; metres) at
/// the present places. None is left out: a pair that is not listed is at least distance apart, up
/// to the rounding of distance2. CAROM_INVALID_ARGUMENT names the argument. CAROM_OVER_BUDGET:
/// there are more pairs than max_pairs, and the text says how many. Then, and on
/// CAROM_OUT_OF_MEMORY, the view is empty, and the call may be made again.
CAROM_API carom_result carom_proximity_find(
	carom_proximity *proximity, double distance, carom_proximity_view *view);

/// Tell how far each vertex of a mesh may move so that nothing crosses: displacement [vertex_count
/// of the mesh], metres, 0 or more. Proved: let all vertices of all meshes move on any paths, each
/// within its own displacement from its present place, while shapes rest. Then no vertex reaches a
/// face, and no edge another edge, unless they share a vertex or filters keep them from meeting;
/// and nothing reaches a shape that it does not overlap already. The motion that counts is that of
/// the places as they are rounded: take a move that is shorter by a few units in the last place of
/// the largest coordinate. Vertices that no triangle uses take no part (carom_sweep_mesh_def), and
/// their values say nothing.
///
/// The displacement of a vertex is half the smallest gap of the pairs of meshes that it takes part
/// in, or the gap between its triangles and the nearest shape, if that is less. It is at most half
/// the distance of the last search, and 0 at features that meet; roundings are subtracted.
///
/// CAROM_INVALID_ARGUMENT: nothing was searched since something was placed or added, or the
/// argument that is named is wrong. Source: the conservative bound of Offset Geometric Contact
/// (Chen et al. 2025).
CAROM_API carom_result carom_proximity_get_safe_displacements(
	carom_proximity *proximity, int32_t mesh, double *displacement);

/// Counts and times of the last search for pairs of meshes, in the form of a sweep: hits_vf and
/// hits_ee are numbers of pairs. Zero before the first search.
CAROM_API carom_sweep_stats carom_proximity_get_stats(const carom_proximity *proximity);

/// Measure one pair of features by itself, as a search does: vertices [4][3] as
/// carom_sweep_test_pair takes them. In pair, mesh_a and mesh_b are 0, the vertices 0 to 3, and
/// triangle is 0 or -1. CAROM_INVALID_ARGUMENT names the argument that is NULL, not finite, or
/// beyond CAROM_MAX_COORDINATE. Thread-safe.
CAROM_API carom_result carom_proximity_of_pair(carom_context *context, carom_sweep_kind kind,
	const double vertices[4][3], carom_proximity_pair *pair);

#ifdef __cplusplus
}
#endif
#endif
