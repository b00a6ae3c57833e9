/// @file query.h
/// Questions to a world between steps: rays, nearest points, overlaps, shape casts.
#ifndef CAROM_QUERY_H
#define CAROM_QUERY_H

#include "carom/world.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Queries between steps ----
//
// Parts of a body are asked one by one: where they overlap, hits and nearest points may lie on one
// inside another. Spheres of a granular body are asked one by one too, and answers name the sphere
// where they name the part of other bodies; the first query that comes near them after they were
// set makes a tree over them (O(n log n), about 60 bytes a sphere). Queries see the poses and the
// places of vertices and spheres set last, stepped or not. A
// deforming body is looked at as it is, rounded to float about the middle of its box: the first
// query that comes near it after its vertices were set brings its tree up to date, which takes
// memory the first time and where the tree has become so bad that it is rebuilt. A query that finds
// no memory for that fails with CAROM_OUT_OF_MEMORY, or with CAROM_OVER_BUDGET where
// carom_world_def.memory_budget forbids it; all else stays usable.

/// Which bodies a query sees. Start from carom_default_query_filter (all).
typedef struct carom_query_filter {
	uint64_t category; ///< of the query, against the bodies' masks
	uint64_t mask;     ///< against the bodies' categories
	bool skip_sensors;
	carom_body_id ignore; ///< null: none
} carom_query_filter;

/// Sees all bodies, sensors too. Thread-safe.
CAROM_API carom_query_filter carom_default_query_filter(void);

/// Nearest hit with t_min <= t <= t_max. *found tells whether there is one; filter may be NULL.
CAROM_API carom_result carom_world_cast_ray(const carom_world *world, const carom_ray *ray,
	const carom_query_filter *filter, bool *found, carom_ray_hit *hit);

/// Is there any hit? Faster than the nearest.
CAROM_API carom_result carom_world_cast_ray_any(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, bool *found);

/// All hits, sorted by t, then body, then part, then triangle; through an edge or a vertex all
/// triangles around it count, and their t differ by roundings: the first may lie that much before
/// the hit of carom_world_cast_ray. *count is the number of hits there are; the first capacity of
/// them are written. hits may be NULL when capacity is 0.
CAROM_API carom_result carom_world_cast_ray_all(const carom_world *world, const carom_ray *ray,
	const carom_query_filter *filter, int32_t capacity, carom_ray_hit *hits, int32_t *count);

/// Surface point nearest to point (no coordinate beyond CAROM_MAX_POSITION), over all bodies within
/// max_distance (>= 0, may be INFINITY) of their surface.
CAROM_API carom_result carom_world_closest_point(const carom_world *world, carom_vec3 point,
	double max_distance, const carom_query_filter *filter, bool *found,
	carom_closest_point *result);

/// Bodies that touch an axis-aligned box (solid, closed, of any finite size), sorted by index.
/// count and capacity as in carom_world_cast_ray_all.
CAROM_API carom_result carom_world_overlap_aabb(const carom_world *world, const carom_aabb *box,
	const carom_query_filter *filter, int32_t capacity, carom_body_id *bodies, int32_t *count);

/// Bodies that touch a shape at a pose, sorted by index. Planes are not accepted as the query's
/// shape.
CAROM_API carom_result carom_world_overlap_shape(const carom_world *world, const carom_shape *shape,
	const carom_pose *pose, const carom_query_filter *filter, int32_t capacity,
	carom_body_id *bodies, int32_t *count);

/// The contacts that a shape at a pose would have with the bodies of the world now, sorted by body
/// and part or sphere: as a dynamic body A that no step has seen, with the settings of the world
/// (max_contacts_per_pair, speculative_distance, contact_normal, ...; its lab's methods are not
/// used). Normals take the shape out. body_a is null, impulses are 0, pair counts the bodies met.
/// The user's pair filter is not asked. Sensors, cloth and bodies without contacts (carom_body_def)
/// have none here. shape_b of a granular body is the number of its sphere. A solid that deforms has
/// those of its present places; its mesh for contacts is made by the query where its vertices were
/// set since the last step, or nothing was near it then: O(n log n). Planes are not accepted as the
/// query's shape. count and capacity as in carom_world_cast_ray_all. Takes memory from the context
/// while it runs, and runs on the calling thread.
CAROM_API carom_result carom_world_collide_shape(const carom_world *world, const carom_shape *shape,
	const carom_pose *pose, const carom_query_filter *filter, int32_t capacity,
	carom_contact *contacts, int32_t *count);

/// A body near a shape.
typedef struct carom_closest_body {
	carom_body_id body;
	/// The part of a body with parts, the sphere of a granular body, else 0. All other fields are
	/// of it alone.
	int32_t shape;
	/// Negative: they overlap, and moving the shape by -distance along normal parts the two.
	double distance;
	carom_vec3 normal; ///< unit, world, from the body to the shape
	/// Nearest points of the surfaces, or those that carom_distance tells of an overlap; world.
	carom_vec3 on_shape;
	carom_vec3 on_body;
} carom_closest_body;

/// The body nearest to a shape at a pose, not farther than max_distance (>= 0, may be INFINITY), by
/// carom_distance (carom/collide.h). A body that overlaps the shape is nearer than all others; of
/// several such ones, and of equally near ones, that with the lowest index counts. Planes are not
/// accepted as the query's shape. Bodies that deform are seen where they are now. May take memory
/// from the context while it runs; thread-safe as all queries.
CAROM_API carom_result carom_world_closest_body(const carom_world *world, const carom_shape *shape,
	const carom_pose *pose, double max_distance, const carom_query_filter *filter, bool *found,
	carom_closest_body *result);

/// Two bodies that are near each other.
typedef struct carom_closest_pair {
	carom_body_id body_a, body_b;
	int32_t shape_a, shape_b; ///< their parts or spheres; 0 of a body without
	/// Negative: they overlap, and moving A by -distance along normal parts the two (parts).
	double distance;
	carom_vec3 normal;     ///< unit, world, from B to A
	carom_vec3 on_a, on_b; ///< nearest points, or those that carom_distance tells of an overlap
} carom_closest_pair;

/// The two bodies of a world that are nearest to each other, not farther apart than max_distance
/// (>= 0, may be INFINITY), by carom_distance (carom/collide.h). Of bodies that may meet: by
/// categories, masks and groups, at least one of them not static or kinematic; the user's pair
/// filter is not asked. A passes filter_a and B passes filter_b (NULL: all), so the nearest pair of
/// two groups is found too; where both could be either, A has the lower index. Bodies that overlap
/// are nearer than all others; of several such pairs, and of equally near ones, the one with the
/// lowest indices counts, A's first. Bodies that deform are seen where they are now. Each body asks
/// for its nearest one up to the best distance so far: O(n log n) where few are that near. Runs on
/// the calling thread; may take memory from the context while it runs; thread-safe as all queries.
CAROM_API carom_result carom_world_closest_pair(const carom_world *world, double max_distance,
	const carom_query_filter *filter_a, const carom_query_filter *filter_b, bool *found,
	carom_closest_pair *result);

/// Where a shape on its way first meets a body.
typedef struct carom_shape_hit {
	carom_body_id body;
	int32_t shape;        ///< number of the part, or of a granular body's sphere; 0: neither
	double time;          ///< of the motion, in [0, 1); never later than the true impact
	bool touching;        ///< within the tolerance, or overlapping, at time 0
	double distance;      ///< between shape and body at time; negative: how deep they overlap
	carom_vec3 point;     ///< of the body, at time, world
	carom_vec3 normal;    ///< unit, world, from the body to the shape
	int32_t triangle;     ///< of the body's mesh; -1: it has none
	int32_t own_triangle; ///< of the mesh that is cast; -1: it is none
} carom_shape_hit;

/// Finds the body that a shape on its way meets first: the earliest time at which the shape comes
/// within tolerance (above 0) of a body; of bodies, and of their parts, at one time the lowest. No
/// body is missed, however far the shape goes or turns: each answer is that of
/// carom_time_of_impact, and carom/collide.h states its promise, also of shapes that begin
/// inside a mesh. A straight cast is a carom_straight_motion. Bodies rest where they are. A search
/// that runs out of steps counts as a hit at the time up to which the way is proved to be clear.
/// Planes are not accepted as the query's shape; a mesh without triangles meets nothing. *found
/// tells whether there is a hit; filter may be NULL. It takes 11 KB of memory from the context
/// while it runs.
CAROM_API carom_result carom_world_cast_shape(const carom_world *world, const carom_shape *shape,
	const carom_motion *motion, double tolerance, const carom_query_filter *filter, bool *found,
	carom_shape_hit *hit);

#ifdef __cplusplus
}
#endif
#endif
