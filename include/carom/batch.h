/// @file batch.h
/// Many questions in one call, on all threads of the context: rays, nearest points, shape casts and
/// overlaps of a world, and pairs of shapes.
///
/// One way for all: plain arrays in, plain arrays out, query i is record i of each. Every answer
/// has the bits of the single call that the comment names, for any number of threads. The caller
/// owns all arrays; in and out must not overlap. Several threads may make such calls at once; a
/// call from inside a piece of carom_parallel_for runs on the same worker. A world must not change
/// meanwhile.
///
/// Errors. Without carom_batch.results a query with a wrong argument fails the whole call, and
/// carom_error_text names the first one: "carom_world_cast_rays: rays[7]: ray.origin is not
/// finite". With it each query has its own result there: the others are answered, the call
/// succeeds, and carom_error_text holds what the first failed one says. Answers of failed queries
/// are zero. When memory runs out (CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET) the whole call fails. A
/// call that fails leaves nothing half told: all answers are zero, and all results are its own.
#ifndef CAROM_BATCH_H
#define CAROM_BATCH_H

#include "carom/carom.h"
#include "carom/collide.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the queries of a batch share. Zero but for count is a good one.
typedef struct carom_batch {
	int64_t count;                    ///< of queries, 0 or more
	const carom_query_filter *filter; ///< of all queries; NULL: none. Of worlds only
	/// [count] instead of filter's: the body that each query does not see, null: none. NULL: filter
	/// decides. Of worlds only.
	const carom_body_id *ignore;
	carom_result *results; ///< [count] out: one for each query; NULL: one wrong query fails the call
} carom_batch;

// ---- Worlds ----

/// The nearest hits of rays [count], as carom_world_cast_ray. hits [count]; body is null where a
/// ray hits nothing.
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
/// body is null where none lies within max_distance.
CAROM_API carom_result carom_world_closest_points(const carom_world *world, const carom_batch *batch,
	const carom_vec3 *points, double max_distance, carom_closest_point *closest);

/// A shape at a pose.
typedef struct carom_placed_shape {
	const carom_shape *shape; ///< many records may share one
	carom_pose pose;
} carom_placed_shape;

/// The bodies that shapes [count] touch, as carom_world_overlap_shape. first and capacity as in
/// carom_world_cast_rays_all.
CAROM_API carom_result carom_world_overlap_shapes(const carom_world *world, const carom_batch *batch,
	const carom_placed_shape *shapes, int64_t capacity, carom_body_id *bodies, int64_t *first);

/// A shape on its way.
typedef struct carom_shape_cast {
	const carom_shape *shape; ///< many records may share one
	carom_motion motion;
} carom_shape_cast;

/// What shapes on their ways meet first, as carom_world_cast_shape. hits [count]; body is null
/// where a shape meets nothing. Takes 11 KB of memory for each worker while it runs.
CAROM_API carom_result carom_world_cast_shapes(const carom_world *world, const carom_batch *batch,
	const carom_shape_cast *casts, double tolerance, carom_shape_hit *hits);

// ---- Two shapes ----

/// Two shapes at two poses.
typedef struct carom_shape_pair {
	const carom_shape *a, *b;
	carom_pose pose_a, pose_b;
} carom_shape_pair;

/// The separations of pairs [count], as carom_distance. separations [count].
CAROM_API carom_result carom_distances(carom_context *context, const carom_batch *batch,
	const carom_shape_pair *pairs, carom_separation *separations);

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

#ifdef __cplusplus
}
#endif
#endif
