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
// Queries see the poses, and the places of vertices and spheres, that were set last, stepped or
// not.
//
// Parts of a body are asked one by one: where parts overlap, hits and nearest points may lie on
// one part inside another. Spheres of a granular body are asked one by one too; answers name the
// sphere where they name the part of other bodies.
//
// Trees are made when they are needed. The first query builds one over the bodies: O(n log n) for
// n bodies, about 210 bytes each. After k bodies (parts) have changed, the next query brings it up
// to date in O(k log n). It builds it again where, since the last build, more than a quarter of all
// have changed, come or gone, however often each, and after carom_world_restore. While some change
// again and again, queries search these in a tree of their own, beside that of the others.
//
// The first query that comes near spheres after they were set makes a tree over them (O(n log n),
// about 60 bytes a sphere). A deforming body is seen as it is, rounded to float about the middle of
// its box. The first query that comes near it after its vertices were set brings its tree up to
// date, which takes memory the first time, and whenever the tree has become so bad that it is
// rebuilt. A query that finds no memory for a tree fails with CAROM_OUT_OF_MEMORY, or with
// CAROM_OVER_BUDGET where carom_world_def.memory_budget forbids it; everything else stays usable,
// and no change is lost.

/// Return false to hide a body from a query: the team of the one who asks, a ghost, a part that is
/// broken.
///
/// A query calls it for each part of a body, and for each sphere of a granular body, that it comes
/// near and that the other members of its filter let through. It does so before it looks at their
/// surfaces. shape is the number that answers name beside the body (carom_ray_hit.shape); user_data
/// is that of the body. carom_world_get_part_data tells that of the part.
/// - A query comes near more than it hits, and may ask more than once about one body.
/// - A batch calls the function from several threads at once; every other query calls it from the
///   thread that asks.
/// - The answer must depend on the arguments alone, or on data that nobody changes meanwhile. Then
///   results do not depend on the number of threads.
/// - The function may read the world, and ask it further questions. Functions that change the world
///   fail inside (CAROM_INVALID_ARGUMENT), and carom_destroy_world does nothing.
typedef bool carom_body_filter_fn(
	carom_body_id body, int32_t shape, uint64_t user_data, void *user);

/// Which bodies a query sees. Start from carom_default_query_filter, which sees all: a filter of
/// zeros sees none.
typedef struct carom_query_filter {
	uint64_t category; ///< of the query, against the bodies' masks
	uint64_t mask;     ///< against the bodies' categories
	bool skip_sensors;
	/// Of shape casts alone: surfaces that the shape touches at the beginning stop it only where
	/// the motion goes into them. See carom_world_cast_shape.
	bool skip_separating;
	/// Of rays alone: they meet surfaces from the front only, and pass their backs. The front of a
	/// closed shape is its outside: a ray that begins inside leaves it without a hit. The front of
	/// an open mesh, and of cloth, is the side from which its triangles are counterclockwise.
	bool skip_back_faces;
	carom_body_id ignore; ///< null: none
	/// Asked about what the members above let through; NULL: all of that passes.
	carom_body_filter_fn *body_filter;
	void *filter_user; ///< handed to body_filter
} carom_query_filter;

/// A filter that lets all bodies pass, sensors too. Thread-safe.
CAROM_API carom_query_filter carom_default_query_filter(void);

/// Find the nearest hit of a ray with t_min <= t <= t_max. *found tells whether there is one;
/// filter may be NULL.
CAROM_API carom_result carom_world_cast_ray(const carom_world *world, const carom_ray *ray,
	const carom_query_filter *filter, bool *found, carom_ray_hit *hit);

/// Is there any hit? Faster than the nearest.
CAROM_API carom_result carom_world_cast_ray_any(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, bool *found);

/// Find all hits of a ray, sorted by t, then body, part and triangle. *count is the number of hits
/// there are; the first capacity of them are written. hits may be NULL when capacity is 0. A ray
/// through an edge or a vertex hits all triangles around it; their t differ by roundings, so the
/// first may lie that much before the hit of carom_world_cast_ray.
CAROM_API carom_result carom_world_cast_ray_all(const carom_world *world, const carom_ray *ray,
	const carom_query_filter *filter, int32_t capacity, carom_ray_hit *hits, int32_t *count);

/// Find the point of all surfaces that is nearest to point (no coordinate beyond
/// CAROM_MAX_POSITION), if it is at most max_distance away (>= 0, may be INFINITY). *found tells
/// whether there is one; filter may be NULL.
CAROM_API carom_result carom_world_closest_point(const carom_world *world, carom_vec3 point,
	double max_distance, const carom_query_filter *filter, bool *found,
	carom_closest_point *result);

/// Find the bodies that touch an axis-aligned box (solid, closed, of any finite size), sorted by
/// index. count and capacity as in carom_world_cast_ray_all.
CAROM_API carom_result carom_world_overlap_aabb(const carom_world *world, const carom_aabb *box,
	const carom_query_filter *filter, int32_t capacity, carom_body_id *bodies, int32_t *count);

/// Find the bodies that touch a shape at a pose, which must not be NULL, sorted by index. The shape
/// must not be a plane. count and capacity as in carom_world_cast_ray_all.
CAROM_API carom_result carom_world_overlap_shape(const carom_world *world, const carom_shape *shape,
	const carom_pose *pose, const carom_query_filter *filter, int32_t capacity,
	carom_body_id *bodies, int32_t *count);

/// The contacts that a shape at a pose would have with the bodies of the world now, sorted by body
/// and part or sphere: as a dynamic body A that no step has seen, with the settings of the world
/// (max_contacts_per_pair, speculative_distance, contact_normal, carom_world_set_body_pairs, ...;
/// its lab's methods are not used). Normals take the shape out. pose must not be NULL. The shape
/// must not be a plane. count and capacity as in carom_world_cast_ray_all.
/// - body_a is null, impulses are 0, pair counts the bodies met. shape_b of a granular body is the
///   number of its sphere.
/// - Parts of a body that lie flush are one surface, as in a step (docs/bodies.md).
/// - The user's filters are not asked. Sensors, cloth and bodies without contacts (carom_body_def)
///   have none here.
/// - A solid that deforms has those of its present places. The query makes its mesh for contacts
///   where its vertices were set since the last step, or nothing was near it then: O(n log n).
///
/// Takes memory from the context while it runs, and runs on the calling thread.
CAROM_API carom_result carom_world_collide_shape(const carom_world *world, const carom_shape *shape,
	const carom_pose *pose, const carom_query_filter *filter, int32_t capacity,
	carom_contact *contacts, int32_t *count);

/// A body near a shape.
typedef struct carom_closest_body {
	carom_body_id body;
	/// The part of a body with parts, the sphere of a granular body, else 0. The other fields are
	/// about it alone.
	int32_t shape;
	/// Negative: they overlap, and moving the shape by -distance along normal parts the two.
	double distance;
	carom_vec3 normal; ///< unit, world, from the body to the shape
	/// Nearest points of the surfaces, or those that carom_distance tells of an overlap; world.
	carom_vec3 on_shape;
	carom_vec3 on_body;
	uint64_t user_data; ///< of the body
} carom_closest_body;

/// Find the body nearest to a shape at a pose, if it is at most max_distance away (>= 0, may be
/// INFINITY), by carom_distance (carom/collide.h). A body that overlaps the shape is nearer than
/// all others, and of several the one that overlaps most deeply is told: distance and normal are
/// the way out of it. Of equally near or deep ones it is the one with the lowest index. Parts of a
/// body are asked one by one. The shape must not be a plane. Bodies that deform are seen where they
/// are now. Thread-safe as all queries; may take memory from the context while it runs.
CAROM_API carom_result carom_world_closest_body(const carom_world *world, const carom_shape *shape,
	const carom_pose *pose, double max_distance, const carom_query_filter *filter, bool *found,
	carom_closest_body *result);

/// The two bodies that are nearest to each other.
typedef struct carom_closest_pair {
	carom_body_id body_a, body_b;
	int32_t shape_a, shape_b; ///< their parts or spheres; 0 of a body without
	/// Negative: they overlap, and moving A by -distance along normal parts the two (parts).
	double distance;
	carom_vec3 normal;     ///< unit, world, from B to A
	carom_vec3 on_a, on_b; ///< nearest points, or those that carom_distance tells of an overlap
	uint64_t user_data_a, user_data_b; ///< of the bodies
} carom_closest_pair;

/// Find the two bodies of a world that are nearest to each other, if they are at most max_distance
/// apart (>= 0, may be INFINITY), by carom_distance (carom/collide.h).
/// - Only bodies that may meet count: by categories, masks and groups, and not two that are static
///   or kinematic. The user's pair filter is not asked.
/// - A passes filter_a and B passes filter_b (NULL: all pass), so the nearest pair of two groups is
///   found too. Where both could be either, A has the lower index.
/// - Bodies that overlap are nearer than all others. Of several such pairs, and of equally near
///   ones, the pair with the lowest indices is reported, A's first.
///
/// Bodies that deform are seen where they are now. Each body asks for its nearest one up to the
/// best distance so far: O(n log n) where few are that near. It runs on the calling thread.
/// Thread-safe as all queries; may take memory from the context while it runs.
CAROM_API carom_result carom_world_closest_pair(const carom_world *world, double max_distance,
	const carom_query_filter *filter_a, const carom_query_filter *filter_b, bool *found,
	carom_closest_pair *result);

/// Where a moving shape first meets a body.
typedef struct carom_shape_hit {
	carom_body_id body;
	int32_t shape;        ///< number of the part, or of a granular body's sphere; 0: neither
	double time;          ///< of the motion, in [0, 1); never later than the true impact
	/// At time 0: overlapping, or within the tolerance. With skip_separating: and stopped there.
	bool touching;
	/// Between shape and body at time; negative: how deep they overlap. With skip_separating it is
	/// measured along normal, so where a mesh is not flat it may be below carom_distance at that
	/// pose, by up to most of the tolerance.
	double distance;
	carom_vec3 point;     ///< of the body, at time, world
	carom_vec3 normal;    ///< unit, world, from the body to the shape
	int32_t triangle;     ///< of the body's mesh; -1: it has none
	int32_t own_triangle; ///< of the mesh that is cast; -1: it is none
	int32_t own_shape;    ///< number of the part that is cast; 0: a shape is
	/// The search ran out of steps: the way is clear up to time, and nothing is known beyond. The
	/// shape may be farther from the body than the tolerance there.
	bool undecided;
	uint32_t material;     ///< of triangle (carom_mesh_def.materials); 0: it has none
	uint32_t own_material; ///< of own_triangle
	uint64_t user_data;    ///< of the body
} carom_shape_hit;

/// Find the body that a moving shape meets first, as far as tolerance (above 0) tells. Bodies rest
/// where they are. *found tells whether there is one; filter may be NULL. A cast without turning is
/// a carom_straight_motion.
/// - The time of a hit lies where the gap to that body is between half of tolerance and tolerance;
///   before it the gap was never less than half of tolerance.
/// - A shape that passes a body at less than tolerance, but at half of it or more, may be a hit or
///   none. The time of such a hit may lie behind the nearest place. There the motion leads away
///   from the body already: the velocity along normal is above 0. Who wants only what is in the
///   way casts on from there with skip_separating.
/// - No body is missed, however far the shape goes or turns. Each answer is one that
///   carom_time_of_impact may give, and that one where its search is short; carom/collide.h states
///   its promise, also for shapes that begin inside a mesh.
/// - Of bodies, and of their parts, that are met at one time, the lowest is reported.
/// - A search that runs out of steps counts as a hit, at the time up to which the way is proved to
///   be clear: undecided is set. It happens to shapes that turn fast close beside a body.
/// - The shape must not be a plane. A mesh without triangles meets nothing.
///
/// A shape that begins within tolerance of a body, or in it, is touching: a hit at time 0,
/// wherever the motion leads. With filter->skip_separating a cast may begin there, as that of a
/// character does who stands on a floor and walks along a wall. It goes by features (triangles,
/// convex shapes, planes):
/// - One that is apart at the beginning is met when it comes within tolerance, as always.
/// - One that touches is passed over as long as the motion leaves it or goes along it. It stops
///   the motion where that goes into it: where their gap, measured along the way out, would fall by
///   more than half of tolerance below the one at the beginning (or below half of tolerance, if
///   that is less), and before they overlap, or overlap more deeply, however often a shape goes on
///   from where it was stopped. The time is 0, and touching is set, if the speed at the beginning
///   leads so far in one motion; normal and distance are those of the feature.
/// - Of hits at time 0 the one is reported that the motion goes into fastest, then the lowest.
/// - A body whose overlap is deeper than eight times tolerance, or that the shape is wholly inside
///   of, is passed over if the motion leads out at the beginning; else it is a hit at time 0. So a
///   motion that leaves all that it touches is not stopped there, and one that goes along a floor
///   meets the wall, with the wall's normal, of the same mesh too. Where flush bodies make up a
///   floor, the edge of the next one may be met, with a normal between those of its sides.
///
/// It takes 11 KB of memory from the context while it runs.
CAROM_API carom_result carom_world_cast_shape(const carom_world *world, const carom_shape *shape,
	const carom_motion *motion, double tolerance, const carom_query_filter *filter, bool *found,
	carom_shape_hit *hit);

/// Find all bodies that a moving shape meets on its way, as if it passed through them. Each is told
/// once, with its first hit: the one that carom_world_cast_shape would find if it saw this body
/// alone, to the bit. Hits are sorted by time, and those at one time as carom_world_cast_shape
/// chooses among them, so the first one is what that call finds. count and capacity as in
/// carom_world_cast_ray_all. Takes memory from the context while it runs: 11 KB, and about 200
/// bytes for each part or sphere that is met.
CAROM_API carom_result carom_world_cast_shape_all(const carom_world *world,
	const carom_shape *shape, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, int32_t capacity, carom_shape_hit *hits, int32_t *count);

/// Find the body that several shapes meet first which move as one body: parts [part_count], which
/// is above 0, at their poses in the frame that goes along motion. So a vehicle, a character of
/// several shapes or a robot's tool is cast as it is. The parts need not be those of a body of the
/// world; one that is casts its own parts with filter->ignore.
/// - Each part goes on its arc around the frame's origin. The answer is the first of the hits that
///   carom_world_cast_shape would find for each part alone, and all that it promises holds.
///   hit->own_shape tells the part. Of parts that meet one body at one time the lowest counts.
/// - With filter->skip_separating each part passes the surfaces that it touches and leaves.
/// - A plane is no part. Cost: a search for each part, up to the hits of those before it.
///
/// CAROM_INVALID_ARGUMENT, naming the argument, or the part and its field. Memory as
/// carom_world_cast_shape.
CAROM_API carom_result carom_world_cast_parts(const carom_world *world, const carom_part *parts,
	int32_t part_count, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, bool *found, carom_shape_hit *hit);

/// Find all bodies that such parts meet on their way, as carom_world_cast_shape_all does for one
/// shape: each body once, with its first hit.
CAROM_API carom_result carom_world_cast_parts_all(const carom_world *world, const carom_part *parts,
	int32_t part_count, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, int32_t capacity, carom_shape_hit *hits, int32_t *count);

// ---- Surfaces that deform ----

/// Two triangles that share a point. A belongs to a body that deforms.
typedef struct carom_crossing {
	carom_body_id body_a;
	carom_body_id body_b; ///< body_a: its surface goes through itself
	int32_t shape_a, shape_b;       ///< number of the part; 0: the body has none
	int32_t triangle_a, triangle_b; ///< of their meshes; within one body the lower one first
	uint64_t user_data_a, user_data_b;
} carom_crossing;

/// Does a body begin well? Find the triangles of a deforming body that cross or touch triangles of
/// its own or of other bodies. A solver that starts from a state with crossings keeps them: neither
/// impacts nor surface contacts tell of them. id null: of all deforming bodies, each pair once.
/// - Exact, on the places of the vertices in double, also where they lie in one plane. Rigid meshes
///   are taken as impacts take them: their vertices in float, moved to their poses in double.
/// - Of one body, triangles that share a vertex are no pair. Vertices are told apart by number.
/// - Other bodies are those of meshes and height fields which categories, masks and groups let the
///   body meet, and which pass filter (NULL: all). Shapes that are no meshes have no triangles:
///   ask carom_world_overlap_shape, or read surface contacts. filter->ignore may name the body
///   itself; without that it meets itself, with or without self_collision.
/// - Triangles of deforming bodies with a repeated corner are in no pair, nor are triangles of
///   rigid meshes without an area. Sorted by body A, body B, shape_b, triangle_a, triangle_b.
///
/// O(n log n) for n triangles whose boxes meet, for each pair of bodies whose boxes do, on the
/// calling thread, with about 100 bytes a triangle of both. count and capacity as in
/// carom_world_cast_ray_all. CAROM_INVALID_BODY; CAROM_INVALID_ARGUMENT: the body does not deform,
/// or an argument is wrong. CAROM_OVER_BUDGET: there are more than INT32_MAX.
CAROM_API carom_result carom_world_find_crossings(const carom_world *world, carom_body_id id,
	const carom_query_filter *filter, int32_t capacity, carom_crossing *crossings, int32_t *count);

/// How velocity rays are cast. All zero is valid; NULL stands for it.
typedef struct carom_velocity_rays {
	/// Metres: rays end there. 0: each ray is as long as the way of its vertex.
	double max_distance;
	/// Ways count relative to the surface that is hit: layers that move together have no hit, and a
	/// ray that is not limited by max_distance is followed as far as the two come nearer in a step.
	/// False: as the paper prints it, all that is hit stands still.
	bool relative;
	/// A ray for vertices 0, every, 2 * every, ... alone; 0 or 1: for all.
	int32_t every;
} carom_velocity_rays;

/// A vertex whose ray hits a surface.
typedef struct carom_velocity_hit {
	carom_body_id body; ///< that was hit; the one that was asked: its own surface
	int32_t shape;      ///< number of the part, or of a granular body's sphere; 0: neither
	int32_t vertex;     ///< of the body that was asked
	int32_t triangle;   ///< of the body's mesh; -1: it has none
	/// The hit lies against the way of the vertex: it has come through that surface. False: it is
	/// about to meet it.
	bool behind;
	double weights[3];  ///< of the corners of triangle; 0 where there is none
	double distance;    ///< from the vertex along the ray
	carom_vec3 point;   ///< world
	/// Unit, world, of the surface at point, on the side from which the vertex comes: along it the
	/// vertex goes back
	carom_vec3 normal;
	uint64_t user_data; ///< of the body
} carom_velocity_hit;

/// Cast rays from the vertices of a deforming body along their ways, forward and back, at its own
/// surface and at other bodies: the self-collision of open meshes of Li and Yamaguchi (Real-time
/// Ray-traced Collision Detection for Deformable Objects, Algorithm 1). Cheap, and no more than an
/// estimate: edges that cross edges have no ray, and of vertices that meet a face some have no hit
/// (docs/measured/deforming.md). Impacts and surface contacts miss nothing. Who uses rays in their
/// place may clear self_collision, so that a step does not look for these.
/// - ways [vertex_count]: how far each vertex goes in a step, world frame, metres. NULL: from where
///   it begins the coming step to where it ends it (carom_world_set_vertices); behind a step, until
///   vertices are set again, all ways are 0.
/// - Places are those at the end of the coming step. Of each ray the nearest hit is reported, so a
///   vertex has at most two: ahead and behind. Triangles around the vertex do not count.
/// - Vertices that stay where they are, or move by less than 1e-12 of the size of the body, have no
///   ray. So a surface that comes upon a vertex at rest is found by its own vertices alone.
/// - The body meets itself, with or without self_collision, unless filter->ignore names it; other
///   bodies as in carom_world_find_crossings, of any shape.
/// - With relative, an unlimited ray goes on for its way and the longest of the body. Bodies that
///   are hit move as their coming step has it, and the body that was asked by ways.
///
/// Sorted by vertex, ahead before behind. Runs on all threads of the context, with equal results
/// for any number of them. count and capacity as in carom_world_cast_ray_all. CAROM_INVALID_BODY;
/// CAROM_INVALID_ARGUMENT names the field, and the first vertex at fault.
CAROM_API carom_result carom_world_cast_velocity_rays(const carom_world *world, carom_body_id id,
	const carom_strided *ways, const carom_velocity_rays *rays, const carom_query_filter *filter,
	int32_t capacity, carom_velocity_hit *hits, int32_t *count);

#ifdef __cplusplus
}
#endif
#endif
