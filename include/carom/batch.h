/// @file batch.h
/// Many questions in one call, on all threads of the context: rays, nearest points, shape casts and
/// overlaps of a world, pairs of shapes, and the elementary tests of points, edges and triangles.
///
/// One way for all: plain arrays in, plain arrays out, query i is record i of each. Every answer
/// has the bits of the single call that the comment names, for any number of threads. The caller
/// owns all arrays; in and out must not overlap. Several threads may make such calls at once; a
/// call from inside a piece of carom_parallel_for runs on the same worker. A world must not change
/// meanwhile.
///
/// Misses. Where a query finds nothing, its answer cannot be taken for a hit: body is null, t and
/// distance are INFINITY, time is 1, triangle and own_triangle are -1, and all else is 0. So the
/// least distance or t of a batch is that of a hit, and time < 1 asks for hits.
///
/// Errors. Without carom_batch.results a query with a wrong argument fails the whole call, and
/// carom_error_text names the first one: "carom_world_cast_rays: rays[7]: ray.origin is not
/// finite". With it each query has its own result there: the others are answered, the call
/// succeeds, and carom_error_text holds the text of the first failed one. Answers of failed queries
/// are zero. When memory runs out (CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET), or an argument that all
/// queries share is wrong, the whole call fails. Then all answers are zero, and each of results is
/// the result of the call. (The elementary tests below write nothing then.)
#ifndef CAROM_BATCH_H
#define CAROM_BATCH_H

#include "carom/collide.h"
#include "carom/mesh_query.h"
#include "carom/query.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The settings that all queries of a batch share. A batch with only count set is valid.
typedef struct carom_batch {
	int64_t count;                    ///< of queries, 0 or more
	const carom_query_filter *filter; ///< of all queries; NULL: none. Of worlds only
	/// [count] The body that each query does not see, in place of filter->ignore; null: none. NULL:
	/// filter->ignore counts. All else of the filter stays. Of worlds only.
	const carom_body_id *ignore;
	/// [count] out: one for each query; NULL: one wrong query fails the call.
	carom_result *results;
} carom_batch;

// ---- Worlds ----

/// The nearest hits of rays [count], as carom_world_cast_ray. hits [count]; body is null and
/// t INFINITY where a ray hits nothing.
CAROM_API carom_result carom_world_cast_rays(
	const carom_world *world, const carom_batch *batch, const carom_ray *rays, carom_ray_hit *hits);

/// Do rays [count] hit anything, as carom_world_cast_ray_any? found [count].
CAROM_API carom_result carom_world_cast_rays_any(
	const carom_world *world, const carom_batch *batch, const carom_ray *rays, bool *found);

/// All hits of rays [count], as carom_world_cast_ray_all. Those of ray i are hits[first[i]] to
/// hits[first[i + 1] - 1], in order; first [count + 1], so first[count] is how many there are. The
/// first capacity of them are written. hits may be NULL when capacity is 0.
CAROM_API carom_result carom_world_cast_rays_all(const carom_world *world, const carom_batch *batch,
	const carom_ray *rays, int64_t capacity, carom_ray_hit *hits, int64_t *first);

/// The nearest surface points to points [count], as carom_world_closest_point. closest [count];
/// body is null and distance INFINITY where none lies within max_distance.
CAROM_API carom_result carom_world_closest_points(const carom_world *world,
	const carom_batch *batch, const carom_vec3 *points, double max_distance,
	carom_closest_point *closest);

/// A shape at a pose.
typedef struct carom_placed_shape {
	const carom_shape *shape; ///< many records may share one
	carom_pose pose;
} carom_placed_shape;

/// The bodies that axis-aligned boxes [count] touch, as carom_world_overlap_aabb. first and
/// capacity as in carom_world_cast_rays_all.
CAROM_API carom_result carom_world_overlap_aabbs(const carom_world *world, const carom_batch *batch,
	const carom_aabb *boxes, int64_t capacity, carom_body_id *bodies, int64_t *first);

/// The bodies that shapes [count] touch, as carom_world_overlap_shape. first and capacity as in
/// carom_world_cast_rays_all.
CAROM_API carom_result carom_world_overlap_shapes(const carom_world *world,
	const carom_batch *batch, const carom_placed_shape *shapes, int64_t capacity,
	carom_body_id *bodies, int64_t *first);

/// The contacts that shapes [count] would have, as carom_world_collide_shape. first and capacity as
/// in carom_world_cast_rays_all.
CAROM_API carom_result carom_world_collide_shapes(const carom_world *world,
	const carom_batch *batch, const carom_placed_shape *shapes, int64_t capacity,
	carom_contact *contacts, int64_t *first);

/// The bodies nearest to shapes [count], as carom_world_closest_body. closest [count]; body is null
/// and distance INFINITY where none lies within max_distance.
CAROM_API carom_result carom_world_closest_bodies(const carom_world *world,
	const carom_batch *batch, const carom_placed_shape *shapes, double max_distance,
	carom_closest_body *closest);

/// A shape on its way.
typedef struct carom_shape_cast {
	const carom_shape *shape; ///< many records may share one
	carom_motion motion;
} carom_shape_cast;

/// The first body that each shape meets on its way, as carom_world_cast_shape. hits [count]; body
/// is null and time 1 where a shape meets nothing. Takes 11 KB of memory for each worker while it
/// runs.
CAROM_API carom_result carom_world_cast_shapes(const carom_world *world, const carom_batch *batch,
	const carom_shape_cast *casts, double tolerance, carom_shape_hit *hits);

/// All bodies that each shape meets on its way, as carom_world_cast_shape_all. first and capacity
/// as in carom_world_cast_rays_all.
CAROM_API carom_result carom_world_cast_shapes_all(const carom_world *world,
	const carom_batch *batch, const carom_shape_cast *casts, double tolerance, int64_t capacity,
	carom_shape_hit *hits, int64_t *first);

// ---- One shape ----

/// The hits of rays [count] on one shape at a pose (NULL: the identity), as carom_shape_cast_ray.
/// hits [count]; t is INFINITY and triangle -1 where a ray hits nothing. Takes no memory; so does
/// the next one.
CAROM_API carom_result carom_shape_cast_rays(carom_context *context, const carom_batch *batch,
	const carom_shape *shape, const carom_pose *pose, const carom_ray *rays, carom_ray_hit *hits);

/// The points of one shape's surface that are nearest to points [count], as
/// carom_shape_closest_point. closest [count]; distance is INFINITY and triangle -1 where none
/// lies within max_distance.
CAROM_API carom_result carom_shape_closest_points(carom_context *context, const carom_batch *batch,
	const carom_shape *shape, const carom_pose *pose, const carom_vec3 *points, double max_distance,
	carom_closest_point *closest);

// ---- Two shapes ----

/// Two shapes at two poses.
typedef struct carom_shape_pair {
	const carom_shape *a, *b;
	carom_pose pose_a, pose_b;
} carom_shape_pair;

/// The separations of pairs [count], as carom_distance. separations [count].
CAROM_API carom_result carom_distances(carom_context *context, const carom_batch *batch,
	const carom_shape_pair *pairs, carom_separation *separations);

/// Do the shapes of pairs [count] overlap, as carom_overlap? overlap [count].
CAROM_API carom_result carom_overlaps(
	carom_context *context, const carom_batch *batch, const carom_shape_pair *pairs, bool *overlap);

/// The contacts of pairs [count] of any shapes, meshes and height fields included, as
/// carom_collide: for a narrow phase behind a broad phase of your own. Those of pair i are
/// contacts[first[i]] to contacts[first[i + 1] - 1], at most 8. first and capacity as in
/// carom_world_cast_rays_all. Where first[count] is above capacity, ask again with that room.
/// - With a capacity of 8 * count or more no contact is missed, and none is copied to memory of the
///   library: they are first written far apart. So records behind first[count] change too, and
///   records change where the call fails. A capacity of 0 asks for numbers alone.
/// - Some pairs go through the stages together, so that small ones cost as little as in a step
///   of a world. Memory as of carom_collide, for each worker.
CAROM_API carom_result carom_collide_pairs(carom_context *context, const carom_batch *batch,
	const carom_shape_pair *pairs, double margin, int64_t capacity, carom_contact *contacts,
	int64_t *first);

/// The manifolds of pairs [count] of convex shapes, as carom_collide_convex. manifolds [count].
CAROM_API carom_result carom_manifolds(carom_context *context, const carom_batch *batch,
	const carom_shape_pair *pairs, double margin, carom_manifold *manifolds);

/// Two shapes on their ways.
typedef struct carom_motion_pair {
	const carom_shape *a, *b;
	carom_motion motion_a, motion_b;
} carom_motion_pair;

/// The times at which pairs [count] meet, as carom_time_of_impact. impacts [count].
CAROM_API carom_result carom_times_of_impact(carom_context *context, const carom_batch *batch,
	const carom_motion_pair *pairs, double tolerance, carom_toi *impacts);

// ---- Elementary tests ----
//
// Over records of vertices, as candidates of a solver are. Each answer has the bits of the single
// test. A wrong call fails as a whole, names the first wrong record, and writes nothing.

/// Records of vertices: 4 or 6 numbers each, as the call says.
typedef struct carom_elements {
	int64_t count;           ///< of records, 0 or more
	const double *positions; ///< [3*vertex_count]
	int32_t vertex_count;
	/// [4 or 6 times count], each from 0 to vertex_count - 1. NULL: in order, record i has vertices
	/// 4 i to 4 i + 3 or 6 i to 6 i + 5.
	const int32_t *vertices;
} carom_elements;

/// Records: a point and the corners of a triangle. distances [count], and where wanted (else NULL)
/// on_triangle [count], as carom_point_triangle_distance: NaN and a zero point where a coordinate
/// is not finite. Takes no memory; so do the next four.
CAROM_API carom_result carom_point_triangle_distances(carom_context *context,
	const carom_elements *elements, double *distances, carom_triangle_point *on_triangle);

/// Records: the ends of edge A and of edge B. As carom_edge_edge_distance.
CAROM_API carom_result carom_edge_edge_distances(carom_context *context,
	const carom_elements *elements, double *distances, carom_edge_point *on_a,
	carom_edge_point *on_b);

/// Records of 6: the corners of triangle A and of triangle B. As carom_triangle_triangle_distance.
CAROM_API carom_result carom_triangle_triangle_distances(carom_context *context,
	const carom_elements *elements, double *distances, carom_triangle_point *on_a,
	carom_triangle_point *on_b);

/// Records of 6: the corners of two triangles. intersect [count], as carom_triangles_intersect.
CAROM_API carom_result carom_triangle_pairs_intersect(
	carom_context *context, const carom_elements *elements, bool *intersect);

/// Records: a, b, c and d. signs [count], as carom_orientation.
CAROM_API carom_result carom_orientations(
	carom_context *context, const carom_elements *elements, int8_t *signs);

/// Swept tests: when do a vertex and a face, or two edges, meet while their vertices move on
/// straight lines from elements->positions to end [3*vertex_count]? Records: a vertex and the
/// corners of a face, or the ends of edge A and of edge B. As carom_sweep_test_pair with def (NULL:
/// the defaults): no impact is missed.
/// - times [count]: of the impact, never later than the true one; INFINITY where there is none.
/// - hits [count] or NULL: with meshes 0, the record's vertices, and triangle 0 or -1; zero where
///   there is none.
/// - Coordinates that are used must be finite, within CAROM_MAX_COORDINATE.
/// - Pairs that share a vertex touch at time 0: leave them out.
///
/// Takes 100 KB of memory for each worker while it runs; CAROM_OUT_OF_MEMORY.
CAROM_API carom_result carom_sweep_test_pairs(carom_context *context, const carom_sweep_def *def,
	carom_sweep_kind kind, const carom_elements *elements, const double *end, double *times,
	carom_sweep_hit *hits);

#ifdef __cplusplus
}
#endif
#endif
