/// @file carom.h
/// Worlds of bodies: add bodies, move them, step, read contacts.
///
/// Threads: calls that change a world must not overlap with any other call on it. Between them, the
/// views and queries (everything that takes a const carom_world *) may be used from many threads at
/// once. Different worlds, also of one context, are independent. Handles must not be NULL unless a
/// comment says otherwise. Results: a failing call changes nothing, unless its comment says
/// otherwise (carom_world_step and carom_world_record do), and leaves its reason in
/// carom_error_text. Determinism: contacts, pairs and events are the same, bit for bit, for any
/// number of threads, instruction set, and run. Bodies added in another order collide in the same
/// pairs. A pair whose bodies change places (the lower index is A) has as many contacts before they
/// are reduced. Their depths are equal and their normals opposite, up to rounding. Points of
/// volumes, and of two edges that cross, may lie on the other surface. Patches (CAROM_NORMAL_PATCH)
/// may choose another plane or other points then. This, and all that is promised, holds with the
/// floating-point unit in its default mode on every thread that runs the library: round to nearest,
/// denormals kept (no FTZ or DAZ, which a program linked with -ffast-math may set).
#ifndef CAROM_CAROM_H
#define CAROM_CAROM_H

#include "carom/base.h"
#include "carom/math.h"
#include "carom/mesh.h"
#include "carom/plugin.h"
#include "carom/sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bodies, their contacts, and what is remembered of the last step.
typedef struct carom_world carom_world;

/// A body in a world: a number that is used again after removal, and a generation that tells the
/// uses apart. All zero is the null id.
typedef struct carom_body_id {
	uint32_t index1; ///< index + 1
	uint32_t generation;
} carom_body_id;

/// What a body consists of, in its own frame; lengths in metres.
typedef enum carom_shape_type {
	CAROM_SPHERE,  ///< radius about the origin
	CAROM_BOX,     ///< half_extents about the origin
	CAROM_CAPSULE, ///< radius about the segment from (0,0,-half_length) to (0,0,half_length)
	CAROM_PLANE,   ///< the half space z <= 0 of the body's frame; static or kinematic bodies only
	CAROM_MESH,    ///< a triangle mesh or a height field
	// Convex shapes (docs/convex.md). They have no impacts with bodies that deform; give a mesh for
	// that.
	CAROM_HULL, ///< a convex hull: a mesh that carom_create_hull made
	/// Radius about the segment from (0,0,-half_length) to (0,0,half_length), flat ends.
	CAROM_CYLINDER,
	CAROM_CONE,      ///< base of this radius at z = -half_length, apex at (0,0,half_length)
	CAROM_ELLIPSOID, ///< half_extents: semi-axes along x, y, z
} carom_shape_type;

/// The form of a body, in its own frame. Set the fields of its type.
typedef struct carom_shape {
	carom_shape_type type;
	double radius;
	double half_length;
	double half_extents[3];
	const carom_mesh *mesh; ///< made from the context of the world; the body takes a reference
	/// Radius of a ball that is added to a box, hull, cylinder, cone or ellipsoid: it grows by this
	/// much, and its edges become round. 0 or more; not used for other types.
	double rounding;
} carom_shape;

/// One of the shapes that a body consists of, and where it is.
typedef struct carom_part {
	carom_shape shape;
	carom_pose pose; ///< in the frame of the body; no coordinate beyond CAROM_MAX_COORDINATE
} carom_part;

/// What moves a body, and what it is tested against.
typedef enum carom_body_kind {
	CAROM_STATIC, ///< does not move by itself; never collides with static or kinematic bodies
	/// Moved by the caller regardless of contacts; collides with dynamic bodies only.
	CAROM_KINEMATIC,
	CAROM_DYNAMIC,
	/// A solid whose vertices the caller moves (carom_world_set_vertices): its mesh is closed, and
	/// queries see an inside.
	CAROM_DEFORMABLE,
	/// A surface whose vertices the caller moves. Its mesh may be open, and has no inside even when
	/// it is closed.
	CAROM_CLOTH,
} carom_body_kind;

/// How to make a body. Start from carom_default_body_def.
typedef struct carom_body_def {
	int cookie;        ///< set by carom_default_body_def; do not touch
	carom_shape shape; ///< of a body without parts
	/// A rigid body of several shapes, or of one that is not at the body's pose (docs/bodies.md):
	/// its parts [part_count], which are copied. shape stays as carom_default_body_def made it
	/// then. Parts of one body never collide with each other. Results name a part by its number
	/// here, beside the body.
	const carom_part *parts;
	int32_t part_count; ///< 0: the body has shape
	carom_body_kind kind;
	carom_pose pose;
	/// Two bodies are tested when each one's category has a bit in common with the other's mask ...
	uint64_t category;
	uint64_t mask;
	/// ... unless they share a group other than 0: negative groups never collide, positive ones
	/// always do.
	int32_t group;
	/// Reports pairs and events but no contacts; takes no part in impacts, and cannot deform.
	bool sensor;
	/// Report impacts within a deforming body, between features that share no vertex. Vertices are
	/// told apart by their numbers, so triangles that belong together must share them. Rigid bodies
	/// never hit themselves.
	bool self_collision;
	/// Report when the body meets others on its way through each step (carom_world_body_impacts).
	/// Set it for fast and thin bodies. Dynamic and kinematic bodies only.
	bool continuous;
	uint64_t user_data;
} carom_body_def;

/// A dynamic body at the origin, category 1, all bits of the mask, no group, no sensor,
/// self-collision on, not continuous. The shape, or parts, are to be set. Thread-safe.
CAROM_API carom_body_def carom_default_body_def(void);

/// Return false to leave a pair out before the narrow phase. Called for each pair of overlapping
/// boxes that categories, masks and groups let pass (where one body deforms: of boxes of triangles,
/// and of bodies with parts: of boxes of parts, so perhaps more than once), a < b by index, from
/// worker threads, while the step runs: it must depend on nothing but its arguments, and not call
/// anything on the world that steps. A plane is asked about with bodies that are not wholly above
/// it. A pair that is left out takes no memory, but a call in each step; masks and groups leave out
/// whole heaps of bodies at once.
typedef bool carom_pair_filter_fn(
	carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user);

typedef struct carom_contact carom_contact;

/// Return false to leave a single contact out: of a one-way platform, of a hole painted in a mesh,
/// of a layer that one body passes. Called after a pair was worked out and before its contacts are
/// reduced to max_contacts_per_pair, so that one left out takes no place, in the order of the
/// views. All members of the contact are set, its materials too, with two exceptions: pair is the
/// number of the contact among those of its pair, and age and impulse are 0. user_data are those of
/// body_a and body_b. Called from worker threads while the step runs: the answer must depend on
/// nothing but the arguments and what the step leaves alone, and the function must not call
/// anything on the world that steps. A pair all of whose contacts are left out does not touch: it
/// is not listed, ends if it was (its data goes with it), and begins when one stays. Not asked
/// about are sensors, which have no contacts, impacts, and queries, carom_world_collide_shape among
/// them. What pairs remember does not depend on the answers, so they may change from step to step.
/// A recording holds them.
typedef bool carom_contact_filter_fn(
	const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user);

/// How pairs of overlapping boxes are found; all give the same pairs. docs/broad_phase.md measures
/// them.
typedef enum carom_broad_phase {
	CAROM_BROAD_TREE,  ///< dynamic tree of widened boxes: cheap when little moves
	CAROM_BROAD_SWEEP, ///< sort along one axis each step: cheap when everything moves
	CAROM_BROAD_BRUTE, ///< all pairs; the oracle of the two others
} carom_broad_phase;

/// How rays are cast. The three watertight ones give the same hits, bit for bit.
typedef enum carom_ray_method {
	CAROM_RAYS_WIDE,   ///< 8-wide tree, SIMD, watertight
	CAROM_RAYS_BINARY, ///< binary tree with skip pointers, no stack, watertight
	CAROM_RAYS_BASIC,  ///< every triangle, watertight
	/// Every triangle, by Moeller and Trumbore (1997): may leak at edges; for comparison.
	CAROM_RAYS_MOLLER_TRUMBORE,
	CAROM_RAYS_PLUGIN, ///< carom_world_def.ray_plugin
} carom_ray_method;

/// Whether pairs of meshes are worked out from the beginning in every step.
typedef enum carom_temporal {
	/// Every pair with the full algorithm in every step.
	CAROM_TEMPORAL_NONE,
	/// A pair that has moved little since its last full step continues from it (Lehericey 2013):
	/// vertices near the other surface walk over its triangles from the one they met last, pairs
	/// known to be apart by more than they have moved are left alone, and pairs whose edges cross
	/// test only the triangles that were near. With complete, no pair is lost whose surfaces cross,
	/// or of which one body lies wholly inside the other. A separate piece of a body that has come
	/// wholly inside the other body, and a vertex that is inside by no more than rounding, are
	/// found in every step only if their vertices are watched, see predict; else perhaps with the
	/// pair's next full step. Single contacts of a colliding pair may be missed too, see predict
	/// and lost_rays.
	CAROM_TEMPORAL_ITERATIVE,
} carom_temporal;

/// What becomes of a ray whose walk over the triangles finds nothing.
typedef enum carom_lost_rays {
	CAROM_LOST_RECAST, ///< cast with the full algorithm in the same step
	CAROM_LOST_DROP,   ///< no contact from it until the pair's next full step, as in the paper
} carom_lost_rays;

/// Which way a contact of a vertex ray points.
typedef enum carom_contact_normal {
	CAROM_NORMAL_RAY, ///< along the ray
	/// Projected on the normal of the triangle that was hit, the depth likewise (Lehericey 2013,
	/// projected constraints).
	CAROM_NORMAL_TRIANGLE,
	/// The normal that belongs to the patch, and the points of the whole patch. Where a body of the
	/// pair consists of few flat facets, however many triangles these are made of, or is open but
	/// static (carom_mesh_def), contacts are made of facets and real edges: the plane of a facet of
	/// either body, or of two edges that cross, which parts the bodies soonest where they overlap
	/// gives the normal and all depths; points are vertices below it and where edges leave the
	/// overlap. Other pairs as CAROM_NORMAL_TRIANGLE. Needs complete; without it as
	/// CAROM_NORMAL_TRIANGLE.
	CAROM_NORMAL_PATCH,
} carom_contact_normal;

/// How the work on meshes is laid out; both give the same contacts.
typedef enum carom_stages {
	/// A dense list for each stage and each ray algorithm (Lehericey, Gouranton and Arnaldi, 2015).
	CAROM_STAGES_LISTS,
	/// One loop over pairs and all their vertices with a switch in it: the baseline that the paper
	/// compares with.
	CAROM_STAGES_NAIVE,
} carom_stages;

/// What happens when a list of rays needs more room than was predicted (Lehericey, Gouranton and
/// Arnaldi, 2015).
typedef enum carom_ray_buffers {
	CAROM_BUFFERS_EXACT, ///< lists take what they need: nothing is predicted
	/// Rays beyond the predicted room are left out and counted (carom_stats.rays_missed).
	CAROM_BUFFERS_IGNORE,
	CAROM_BUFFERS_BACKTRACK, ///< they are counted, and the stage is done again with the right room
} carom_ray_buffers;

/// How the room for rays is predicted from the last step.
typedef enum carom_ray_predictor {
	/// Rays of the last step * pairs of meshes now / then * buffer_confidence (Eq. 1 of the 2015
	/// paper).
	CAROM_PREDICTOR_PAIRS,
	CAROM_PREDICTOR_LAST, ///< rays of the last step * buffer_confidence (its Eq. 2)
} carom_ray_predictor;

enum { CAROM_MAX_WORKER_GROUPS = 16 };

/// How to make a world. Start from carom_default_world_def.
typedef struct carom_world_def {
	int cookie; ///< set by carom_default_world_def; do not touch
	carom_broad_phase broad_phase;
	carom_ray_method ray_method;
	const carom_ray_plugin *ray_plugin; ///< used with CAROM_RAYS_PLUGIN; must outlive the world
	/// Contacts kept for each pair, 1 to 256; 0: all. The deepest is always kept, and points that
	/// keep the extent of the patch.
	int32_t max_contacts_per_pair;
	/// Complete: pairs of meshes in which no ray hit are tested triangle against triangle. Without
	/// it edges that cross edges are missed, as in the papers.
	bool complete;
	/// Drop rays that leave the source body before they reach the surface of the target (Hermann,
	/// Faure and Raffin, 2008). A pair whose rays are all dropped is still completed.
	bool exit_distance_test;
	/// A ray may run far inside the other body although its surface is near: along a wall, or down
	/// the length of a limb. Where a ray is longer than this many times the distance to the nearest
	/// surface point, that point gives depth, normal and triangle instead. Rays shorter than a
	/// fiftieth of the diagonal of the smaller body's box stay as they are. At least 1; 0: never,
	/// the rays as they are.
	double max_depth_ratio;
	/// Report what is apart by at most this (metres) as contacts with negative depth; 0: none. Of
	/// two meshes that are apart the nearest features are told, whichever they are, at their true
	/// distance and along the line between them, and all others that come near each other; of faces
	/// side by side the patch. Two meshes that touch in patches also have contacts where corners
	/// and edges come near beside these, along their normals. Without complete, or
	/// CAROM_NORMAL_PATCH, rays along the vertex normals look for it: two edges, or faces that no
	/// vertex points at, are not seen ahead then. Of two convex shapes, and of a convex shape and a
	/// mesh, the distance told is never too long, and may be too short by a tenth, since the normal
	/// of a face is preferred. A front (carom_mesh_sides) is not seen from behind.
	double speculative_distance;
	/// Contacts of consecutive steps with other features are matched when they are this close in
	/// the frame of body A (metres).
	double match_distance;
	/// Reuse what the last steps found.
	carom_temporal temporal;
	/// Watch the vertices outside that are near enough to enter before the pair's next full step:
	/// each becomes a contact in the very step in which it enters. Their rays are followed outward
	/// too, by distance_extension, to find where their walks begin. Without it only vertices that
	/// are inside already are watched.
	bool predict;
	carom_lost_rays lost_rays;
	/// Most triangles that a walk visits, 1 to 65536.
	int32_t max_walk;
	/// Metres that the two bodies of a pair may have moved against each other, anywhere they could
	/// touch, since their last full step before the next is due; 0: chosen for each pair from its
	/// speed and size. At most distance_extension if both are given and predict is set.
	double displacement_threshold;
	/// Metres that outward rays are followed; 0: chosen with the threshold.
	double distance_extension;
	carom_contact_normal contact_normal;
	/// Edges between triangles that differ by less than this angle (radians, 0 to pi) are no edges
	/// to a contact: it takes the normal of the face, so that bodies slide over a triangulated
	/// surface as over a smooth one. 0: every edge counts.
	double internal_edge_angle;
	carom_stages stages;
	carom_ray_buffers ray_buffers;
	carom_ray_predictor ray_predictor;
	double buffer_confidence; ///< factor of the prediction, 1 to 1e6
	/// Deal the pairs of meshes to this many groups, each served by one worker at a time, as by
	/// devices with their own memory: a pair stays with its group while its boxes overlap, a new
	/// one goes to the group with the least work (Lehericey 2013). 0: no groups, any worker takes
	/// any pair. The results are the same. At most CAROM_MAX_WORKER_GROUPS.
	int32_t worker_groups;
	carom_pair_filter_fn *pair_filter; ///< NULL: none
	void *pair_filter_user;
	carom_contact_filter_fn *contact_filter; ///< NULL: none
	void *contact_filter_user;
	carom_sweep_def sweep; ///< how impacts of deforming bodies are found
	/// Metres, above 0: bodies that come so near each other meet (carom_world_body_impacts). What
	/// is stopped there has contacts if speculative_distance is as large.
	double toi_tolerance;
	/// Most bytes that the world may hold, meshes and recordings aside; 0: no limit. A world, a
	/// body, a step or a query that needs more fails with CAROM_OVER_BUDGET; such a step leaves the
	/// results of the last one. What queries make counts too, and is kept: a tree over the bodies,
	/// and one over each deforming body that a query came near.
	size_t memory_budget;
} carom_world_def;

/// Tree, wide rays, 8 contacts a pair, complete, no exit distance test, max_depth_ratio 2, nothing
/// speculative, match_distance 0.02 m, iterative with prediction, recast, max_walk 32 and
/// thresholds chosen, normals of patches, internal edges below 5 degrees, lists, exact buffers,
/// confidence 1.02, no groups, no filter, carom_default_sweep_def, toi_tolerance 0.001 m, no
/// budget. Thread-safe.
CAROM_API carom_world_def carom_default_world_def(void);

/// Make an empty world. def may be NULL for the defaults. On failure *world is NULL. Thread-safe:
/// several threads may make and destroy worlds and meshes of one context at once.
CAROM_API carom_result carom_create_world(
	carom_context *context, const carom_world_def *def, carom_world **world);

/// Destroy a world with its bodies. NULL does nothing. No other call on this world may be running;
/// calls on others may.
CAROM_API void carom_destroy_world(carom_world *world);

/// The context that a world was made from.
CAROM_API carom_context *carom_world_context(const carom_world *world);

// ---- Bodies ----

/// Add a body. It takes part from the next step on. Each part takes the memory of a body.
/// CAROM_INVALID_ARGUMENT names the field, and the part; nothing has been added then, nor on
/// CAROM_OUT_OF_MEMORY and CAROM_OVER_BUDGET.
CAROM_API carom_result carom_world_add_body(
	carom_world *world, const carom_body_def *def, carom_body_id *id);

/// Remove a body; its pairs end with the next step (their CAROM_EVENT_END names the removed id).
CAROM_API carom_result carom_world_remove_body(carom_world *world, carom_body_id id);

/// Does the id name a body of this world?
CAROM_API bool carom_world_is_body(const carom_world *world, carom_body_id id);

/// Number of bodies; one of many parts counts once.
CAROM_API int carom_world_body_count(const carom_world *world);

/// The ids of all bodies, sorted by index. Returns how many there are (carom_world_body_count); the
/// first capacity of them are written. ids may be NULL when capacity is 0.
CAROM_API int carom_world_body_ids(const carom_world *world, int32_t capacity, carom_body_id *ids);

/// The definition of a body as it is now: its kind, sensor, self_collision and continuous as it was
/// added, and the shape or parts, pose, filter and user data set last (of a deforming body the pose
/// of its definition). It may be used to add a like body. shape.mesh is the body's and lives until
/// the body gets another shape or goes: carom_retain_mesh keeps it longer. So do parts, with their
/// meshes, and with quaternions normalised.
CAROM_API carom_result carom_world_get_body_def(
	const carom_world *world, carom_body_id id, carom_body_def *def);

/// Put a body at a pose (world frame). Static bodies too: that is how scenery is moved. Deforming
/// bodies have no pose to be set: carom_world_set_vertices moves them.
CAROM_API carom_result carom_world_set_pose(
	carom_world *world, carom_body_id id, const carom_pose *pose);

/// Put many bodies at once: poses[i] for ids[i]. One call a step; all are checked before the first
/// is moved.
CAROM_API carom_result carom_world_set_poses(
	carom_world *world, int count, const carom_body_id *ids, const carom_pose *poses);

/// Say where many bodies are at the beginning and at the end of the coming step: motions[i] for
/// ids[i]. All are checked before the first is moved. The end is the pose that carom_world_set_pose
/// sets. The beginning is where the motion starts that impacts are looked for on
/// (carom_world_body_impacts, and carom_world_impacts with bodies that deform). Without this call
/// that is the pose at the last step, or of a new body that of its definition. So a body that is
/// placed elsewhere, without a way there, gets a motion whose begin and end are that place. A
/// beginning holds for one step, also if poses are set after it. Contacts do not depend on it.
CAROM_API carom_result carom_world_set_motions(
	carom_world *world, int count, const carom_body_id *ids, const carom_motion *motions);

/// The pose set last (world frame), with its quaternion normalised; of a deforming body that of its
/// definition.
CAROM_API carom_result carom_world_get_pose(
	const carom_world *world, carom_body_id id, carom_pose *pose);
/// The caller's number; the library only hands it on: to filters, pairs and events.
CAROM_API carom_result carom_world_get_user_data(
	const carom_world *world, carom_body_id id, uint64_t *user_data);
/// Change it; pairs and events show it from the next step on.
CAROM_API carom_result carom_world_set_user_data(
	carom_world *world, carom_body_id id, uint64_t user_data);
/// Give a rigid body without parts another shape, in place: id, pose, last pose, filters and user
/// data stay. The next step finds what a world would find in which the body had this shape from the
/// beginning. Pairs that go on persist, with their age and data; contacts get the age and impulse
/// of those that were near them on body A, since features of the old shape mean nothing. A shape
/// equal to the present one changes nothing. The mesh of shape is retained, that of the old one
/// released. CAROM_INVALID_ARGUMENT, naming the field, where carom_world_add_body would refuse the
/// shape, for a deforming body, and for one with parts. On any failure nothing has changed.
/// Recorded.
CAROM_API carom_result carom_world_set_shape(
	carom_world *world, carom_body_id id, const carom_shape *shape);
/// Give a body with parts other parts, in place, as carom_world_set_shape does: count of them, from
/// 1 to as many as it has (never more: its parts have numbers side by side). A part is known by its
/// number: pairs of parts that stay go on, those of parts that are left out end in the next step.
/// Contacts of a part whose pose in the body changes begin with age 0 and no impulse, where the
/// body is A. Parts that are equal to those before keep all that they have.
CAROM_API carom_result carom_world_set_parts(
	carom_world *world, carom_body_id id, const carom_part *parts, int32_t count);
/// Change whom a body meets (carom_body_def), from the next step on.
CAROM_API carom_result carom_world_set_filter(
	carom_world *world, carom_body_id id, uint64_t category, uint64_t mask, int32_t group);
/// Whom a body meets, as set last.
CAROM_API carom_result carom_world_get_filter(
	const carom_world *world, carom_body_id id, uint64_t *category, uint64_t *mask, int32_t *group);
/// A box that holds a body at its present pose, world frame; for meshes never larger than that of
/// the turned local box. A plane gives infinite sides. Of a body with parts it holds them all. Of a
/// deforming body it holds the places set last. A mesh without triangles has no box: lower is
/// INFINITY, upper -INFINITY.
CAROM_API carom_result carom_world_get_aabb(
	const carom_world *world, carom_body_id id, carom_aabb *box);

// ---- Deforming bodies ----
//
// A body of kind CAROM_DEFORMABLE or CAROM_CLOTH takes its triangles from a mesh, and its first
// places from the mesh and the pose of its definition. In each step its vertices move on straight
// lines from where they are to where carom_world_set_vertices wants them, and the step reports
// every impact on the way (carom_world_impacts): within the body, with other deforming bodies, and
// with rigid bodies of mesh shape, whatever moves these. The vertices of a rigid body move on
// straight lines too, from its pose at the last step to the present one: one that turns by an angle
// cuts the arc by up to an eighth of angle^2 times the radius. Only meshes take part in impacts, no
// other shapes and no sensors; deforming bodies take no part in contacts, pairs and events.

/// Say where the vertices of a deforming body are at the end of the coming step, and, if begin is
/// not NULL, at its beginning; without begin they start from where they are: where the last step
/// ended, or a call since then said. With begin alone the body is put there without sweeping. World
/// frame, one place for each vertex of the mesh, finite and at most CAROM_MAX_COORDINATE. Between
/// steps the last call counts; a body of which none was made rests. CAROM_INVALID_ARGUMENT names
/// the field, and the first vertex at fault.
CAROM_API carom_result carom_world_set_vertices(
	carom_world *world, carom_body_id id, const carom_strided *begin, const carom_strided *end);

/// Places of vertices: read-only, valid until the body is removed or the world destroyed.
/// carom_world_set_vertices writes the new places into the same memory; nothing else changes them,
/// a step neither.
typedef struct carom_vertex_view {
	const double *data; ///< [3*count] world frame
	int32_t count;
} carom_vertex_view;

/// The places of a deforming body's vertices set last.
CAROM_API carom_result carom_world_get_vertices(
	const carom_world *world, carom_body_id id, carom_vertex_view *view);

// ---- Step and results ----

/// Find all contacts at the present poses, and all impacts since the last step. On failure the
/// results of the last good step, with their views and counts, stay in place, bodies stay where
/// they were put, and the step may be repeated. One thing is lost: what pairs remember of earlier
/// steps (carom_world_def.temporal), so that the next step works all of them out in full. That
/// costs time and may give other contacts than a step that did not follow a failure.
CAROM_API carom_result carom_world_step(carom_world *world);

/// How a contact was found; it says what feature_a and feature_b are.
typedef enum carom_contact_kind {
	/// A ray from vertex feature_a of A hit triangle feature_b of B (see also max_depth_ratio). Of
	/// patches: the vertex lies below the facet that the triangle is part of, or the facet of the
	/// vertex above the triangle. Ahead: the triangle is nearest to the vertex.
	CAROM_VERTEX_A,
	CAROM_VERTEX_B, ///< the same with A and B exchanged
	/// An edge of A and the surface of B cross and no ray hit: feature_a is 3 * triangle + corner
	/// where the edge starts, feature_b the triangle that limits it. Of patches: the edge pierces B
	/// beside the patch's facet, or crosses an edge of feature_b. Ahead: it is nearest to an edge
	/// of feature_b.
	CAROM_EDGE_A,
	CAROM_EDGE_B, ///< the same with A and B exchanged
	/// Two triangles cross, without an inside to measure in (open meshes), or are nearest, of too
	/// many ahead: their numbers.
	CAROM_FACES,
	/// Of a pair with a body that is no mesh: the triangle number of a mesh, else the number of the
	/// point in the pair, or 0.
	CAROM_VOLUMES,
} carom_contact_kind;

/// One contact. a has the lower index. Moving A by depth * normal (B at rest) brings the point to
/// the other's surface.
typedef struct carom_contact {
	carom_body_id body_a;
	carom_body_id body_b;
	/// World: for rays the vertex, for edges the middle of the part inside, for volumes the deepest
	/// point of A.
	double point[3];
	float normal[3]; ///< world, unit, from B towards A: the direction that takes A out
	float depth;     ///< metres along normal; negative for speculative contacts
	int32_t feature_a;
	int32_t feature_b;
	carom_contact_kind kind;
	/// Steps since this contact first appeared: 0 when new. Matched by features, else by distance.
	int32_t age;
	/// What the solver stored for it in the last step (carom_world_set_impulse), else 0.
	float impulse[3];
	int32_t pair; ///< index in the view of pairs
	/// What carom_mesh_def.materials says of the triangle that the contact touches on A: of a
	/// triangle as feature that one, of an edge the triangle that names it, of a vertex the
	/// lowest-numbered triangle with a corner at its place, those left out of detection aside. Of a
	/// convex mesh feature_a may name any triangle of a flat facet; the material is that of the
	/// facet's triangle at the contact. 0 where A is no mesh, or a mesh without materials.
	uint32_t material_a;
	uint32_t material_b; ///< of B, likewise
	int32_t shape_a; ///< number of the part of A (carom_body_def.parts); 0 of a body without parts
	int32_t shape_b; ///< of B, likewise
} carom_contact;

/// Two bodies with contacts (or overlapping, if one is a sensor). Of bodies with parts each two
/// parts that touch are a pair of their own, with its contacts, age, data and events: the pairs of
/// two bodies stand side by side in the view.
typedef struct carom_pair {
	carom_body_id body_a; ///< the lower index
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	int32_t first_contact; ///< in the view of contacts
	int32_t contact_count; ///< 0 for sensors
	int32_t found_count;   ///< contacts before reduction
	int32_t age;           ///< steps since the pair began: 0 when new
	/// Set by carom_world_set_pair_data in this or an earlier step of the pair, else 0.
	uint64_t user_data;
	int32_t shape_a; ///< number of the part of A (carom_body_def.parts); 0 of a body without parts
	int32_t shape_b; ///< of B, likewise
} carom_pair;

/// A pair began in this step, went on, or ended with it.
typedef enum carom_event_kind {
	CAROM_EVENT_BEGIN,
	CAROM_EVENT_PERSIST,
	CAROM_EVENT_END
} carom_event_kind;

/// What became of a pair in the last step.
typedef struct carom_event {
	carom_body_id body_a; ///< the lower index
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	carom_event_kind kind;
	int32_t pair; ///< index in the view of pairs; -1 for CAROM_EVENT_END
	/// carom_pair.user_data as it was set before the step; what it refers to may be freed with
	/// CAROM_EVENT_END.
	uint64_t pair_data;
	int32_t shape_a; ///< as in carom_pair
	int32_t shape_b;
} carom_event;

/// Views of the last good step's results: read-only, valid until the next step that succeeds or the
/// end of the world. All other calls, also those that remove bodies, leave them as they are, except
/// carom_world_set_impulse, which writes into its contact, and carom_world_set_pair_data, which
/// writes into its pair; the bodies that they name may be gone (carom_world_is_body).
typedef struct carom_contact_view {
	const carom_contact *data;
	int32_t count;
} carom_contact_view;
typedef struct carom_pair_view {
	const carom_pair *data;
	int32_t count;
} carom_pair_view;
typedef struct carom_event_view {
	const carom_event *data;
	int32_t count;
} carom_event_view;

/// Contacts sorted by body_a, body_b, shape_a, shape_b, kind, feature_a, feature_b.
CAROM_API carom_contact_view carom_world_contacts(const carom_world *world);
/// Pairs sorted by body_a, body_b, shape_a, shape_b.
CAROM_API carom_pair_view carom_world_pairs(const carom_world *world);
/// One event for each pair of this step or the last, sorted as pairs are.
CAROM_API carom_event_view carom_world_events(const carom_world *world);

/// Two features that meet on their way through the step. Vertex against face: vertices[0] of body_a
/// hits the triangle of body_b with corners vertices[1..3]. Edge against edge: vertices[0..1] of
/// body_a, lower first, and vertices[2..3] of body_b, lower first; a is the lower (body, edge).
/// Numbers are those of the bodies' meshes.
typedef struct carom_impact {
	carom_body_id body_a, body_b; ///< the same for an impact within a body
	carom_sweep_kind kind;
	carom_sweep_status status;
	int32_t vertices[4];
	int32_t triangle; ///< of body_b, vertex against face; else -1
	double time;      ///< in the step, 0 to 1; never later than the true impact
	/// Nearest points at time: the first feature's weights sum to 1, the second's too.
	double weight[4];
	double normal[3]; ///< world, unit, from the second feature to the first
	int32_t shape_a;  ///< number of the part whose mesh this is; 0 of a body without parts
	int32_t shape_b;  ///< of body_b, likewise
} carom_impact;

/// As the other views.
typedef struct carom_impact_view {
	const carom_impact *data;
	int64_t count;
} carom_impact_view;

/// Every impact of the last step, each pair of features once, sorted by kind, body_a, shape_a,
/// body_b, shape_b, vertices. docs/sweep.md says what is promised.
CAROM_API carom_impact_view carom_world_impacts(const carom_world *world);
/// The earliest of them (equal times: the first in order), NULL if there is none. Costs nothing.
/// Valid as the view is.
CAROM_API const carom_impact *carom_world_earliest_impact(const carom_world *world);

// ---- Continuous collision of rigid bodies ----
//
// Contacts are those of the poses at the end of a step. A body that is fast or thin may have passed
// through another by then. With carom_body_def.continuous the step also looks at the way between
// the poses: each body moves from its pose at the last step (or from the beginning that
// carom_world_set_motions gave) to the present one, as carom_motion says, at once with all others.
// Each continuous body is tested against every rigid body that it may have contacts with, of any
// shape, continuous or not, if either moves. No impact is missed, however fast they go or turn:
// carom_time_of_impact (carom/collide.h) says what is promised. Of bodies that touch at the
// beginning, impacts are found between what was apart, and where they push on into each other.
// docs/continuous.md says what a solver does with it.

/// Whether and when two moving shapes meet.
typedef enum carom_toi_status {
	CAROM_TOI_APART,     ///< the shapes stay farther apart than half the tolerance
	CAROM_TOI_IMPACT,    ///< clear before time, within the tolerance at it
	CAROM_TOI_TOUCHING,  ///< within the tolerance, or overlapping, at time 0
	CAROM_TOI_UNDECIDED, ///< out of steps: clear before time, unknown beyond; treat it as an impact
} carom_toi_status;

/// Two bodies that meet on their ways through the step. Of bodies with parts each two parts that
/// meet are an impact of their own.
typedef struct carom_body_impact {
	carom_body_id body_a; ///< the lower index
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	int32_t shape_a; ///< number of the part of A (carom_body_def.parts); 0 of a body without parts
	int32_t shape_b; ///< of B, likewise
	/// Never CAROM_TOI_APART. CAROM_TOI_TOUCHING: the two touch at the beginning, and the step does
	/// not lead deeper nor to anything else of theirs: a matter of contacts, so a solver does not
	/// stop for it. CAROM_TOI_IMPACT at a time of 0, or with a negative distance: they touch at the
	/// beginning and push on. See docs/continuous.md.
	carom_toi_status status;
	bool sensor;        ///< one of them is a sensor: nothing is to be stopped
	double time;        ///< in the step, 0 to 1; never later than the true impact
	double distance;    ///< at time, at most the tolerance; negative where they overlap
	carom_vec3 point;   ///< of A, at time, world; that of B is point - distance * normal
	carom_vec3 normal;  ///< unit, world, from B to A
	int32_t triangle_a; ///< of A's mesh; -1: it has none
	int32_t triangle_b; ///< of B's, likewise
} carom_body_impact;

/// As the other views.
typedef struct carom_body_impact_view {
	const carom_body_impact *data;
	int32_t count;
} carom_body_impact_view;

/// Impacts of continuous bodies in the last step, sorted by body_a, body_b, shape_a, shape_b. At
/// most one for each two parts: their first.
CAROM_API carom_body_impact_view carom_world_body_impacts(const carom_world *world);
/// The earliest impact of a body, or of all for the null id, without sensors and
/// CAROM_TOI_TOUCHING; equal times: the first in order. NULL if there is none. A pass over the
/// view. Valid as the view is.
CAROM_API const carom_body_impact *carom_world_earliest_body_impact(
	const carom_world *world, carom_body_id id);

/// Store the impulse that a solver found for contact i of the view (world frame, N s); the contact
/// that matches it in the next step hands it back for a warm start. It is written into the view,
/// which stays valid: it may be walked while doing so.
CAROM_API carom_result carom_world_set_impulse(
	carom_world *world, int32_t contact, const float impulse[3]);

/// Store a number of the caller's with pair i of the view; pairs of sensors too. The pair keeps it
/// in every step until it ends or the number is set again; the event of its end hands it back. A
/// pair that begins again begins with 0. It is written into the view as an impulse is.
CAROM_API carom_result carom_world_set_pair_data(
	carom_world *world, int32_t pair, uint64_t user_data);

/// A hash of the last step's contacts and impacts of either kind: equal for equal results. Poses
/// and ids go in bit for bit, materials and numbers of parts where one is not 0; impulses and user
/// data do not.
CAROM_API uint64_t carom_world_hash(const carom_world *world);

/// What the last step did, and what it cost.
typedef struct carom_stats {
	int64_t step; ///< steps done
	int32_t bodies;
	/// Pairs of overlapping world boxes, after categories, masks and groups, before the user's
	/// filter; at most INT32_MAX. A plane counts with bodies that are not wholly above it.
	int32_t box_pairs;
	int32_t narrow_pairs; ///< of these, pairs whose oriented boxes overlap too
	int32_t colliding_pairs;
	int64_t contacts_found; ///< before reduction
	int32_t contacts;
	int64_t vertices_tested; ///< vertices reached by walking the trees
	/// Of these, outside the target's box or certainly outside its surface.
	int64_t vertices_culled;
	int64_t rays_full; ///< rays cast with the full algorithm
	/// Of these, from vertices outside and followed outward too: for speculative contacts or
	/// prediction.
	int64_t rays_outward;
	int64_t rays_iterative; ///< rays continued from the triangle of the last step
	/// Of the outward rays, those of pairs that remember what they found (predict).
	int64_t rays_predictive;
	int64_t rays_lost; ///< iterative rays whose walk found nothing
	/// Iterative rays cast again in full: lost ones, those without a place to begin, and those that
	/// seem to have come out, where the grid does not know them outside (counted in rays_full too).
	int64_t rays_recast;
	int64_t rays_missed; ///< rays that CAROM_BUFFERS_IGNORE left out
	int64_t walk_steps;  ///< triangles visited by all walks
	int32_t backtracks;  ///< times that CAROM_BUFFERS_BACKTRACK did a stage again
	/// Pairs of meshes done in full: by the full algorithm, or found apart by their surfaces.
	int32_t pairs_full;
	int32_t pairs_iterative;  ///< pairs of meshes continued from the last steps
	int32_t pairs_apart;      ///< of these, pairs that were known to be apart and needed no test
	int64_t vertices_watched; ///< vertices near the other surface that pairs remember
	int32_t pairs_completed; ///< pairs without a ray hit that were tested triangle against triangle
	int32_t pairs_crossing;  ///< of these, pairs whose surfaces intersect
	int64_t triangle_tests;  ///< pairs of triangles tested exactly
	int64_t impacts;         ///< of deforming bodies
	int32_t body_impacts;    ///< of continuous bodies (carom_world_body_impacts)
	int64_t toi_tests;       ///< pairs whose ways were looked at for these
	// Milliseconds of wall time.
	double ms_total;
	double ms_trees;  ///< poses, boxes
	double ms_pair;   ///< broad phase, relative transforms, oriented boxes
	double ms_vertex; ///< cull
	double ms_ray;
	double ms_complete;  ///< near triangles, crossings, contacts ahead, pairs of basic volumes
	double ms_merge;     ///< reduction, matching, events
	double ms_sweep;     ///< impacts
	size_t memory;       ///< bytes the world holds
	size_t memory_peak;  ///< most it ever held
	size_t scratch_peak; ///< most that the per-step memory of all workers needed in one step
} carom_stats;

/// What one worker group did in the last step (carom_world_def.worker_groups).
typedef struct carom_group_stats {
	int32_t pairs;     ///< of meshes
	int32_t new_pairs; ///< of these, dealt to the group in this step
	int64_t rays;      ///< full and iterative
} carom_group_stats;

/// Counts and times of the last good step; zero before the first.
CAROM_API carom_stats carom_world_stats(const carom_world *world);
/// Counts of group 0 <= group < worker_groups; zero before the first step and for other numbers.
CAROM_API carom_group_stats carom_world_group_stats(const carom_world *world, int group);
/// How the impacts of the last good step were found; zero when no body deformed in it.
CAROM_API carom_sweep_stats carom_world_sweep_stats(const carom_world *world);

// ---- Queries between steps ----
//
// Parts of a body are asked one by one: where they overlap, hits and nearest points may lie on one
// inside another. They see the poses and the places of vertices set last, stepped or not. A
// deforming body is looked at as it is, rounded to float about the middle of its box: its tree is
// made by the first query that comes near it after its vertices were set. A query that finds no
// memory for that fails with CAROM_OUT_OF_MEMORY, or with CAROM_OVER_BUDGET where
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

/// A ray in the world. direction need not have unit length; t counts in its lengths.
typedef struct carom_ray {
	carom_vec3 origin;    ///< no coordinate beyond CAROM_MAX_POSITION
	carom_vec3 direction; ///< finite, not zero
	double t_min;
	double t_max;
} carom_ray;

/// Where a ray meets a body.
typedef struct carom_ray_hit {
	carom_body_id body;
	double t;
	carom_vec3 point;
	carom_vec3 normal; ///< of the surface, outward, unit, world
	/// Of a mesh (carom_mesh_get_material tells its material); 0 for basic volumes.
	int32_t triangle;
	float u, v;     ///< barycentric weights of the triangle's second and third corner
	bool back_face; ///< hit from the inside
	int32_t shape;  ///< number of the part (carom_body_def.parts); 0 of a body without parts
} carom_ray_hit;

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

/// A point of a body's surface.
typedef struct carom_closest_point {
	carom_body_id body;
	carom_vec3 point;  ///< on the surface, world
	carom_vec3 normal; ///< of the surface there, outward, unit, world
	double distance;   ///< negative when the asked point is inside the body
	int32_t triangle;
	int32_t shape; ///< number of the part (carom_body_def.parts); 0 of a body without parts
} carom_closest_point;

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
/// and part: as a dynamic body A that no step has seen, with the settings of the world
/// (max_contacts_per_pair, speculative_distance, contact_normal, ...; rays of a plug-in by
/// CAROM_RAYS_WIDE instead). Normals take the shape out. body_a is null, impulses are 0, pair
/// counts the bodies met. The user's pair filter is not asked. Sensors and bodies that deform have
/// no contacts. Planes are not accepted as the query's shape. count and capacity as in
/// carom_world_cast_ray_all. Takes memory from the context while it runs, and runs on the calling
/// thread.
CAROM_API carom_result carom_world_collide_shape(const carom_world *world, const carom_shape *shape,
	const carom_pose *pose, const carom_query_filter *filter, int32_t capacity,
	carom_contact *contacts, int32_t *count);

/// A body near a shape.
typedef struct carom_closest_body {
	carom_body_id body;
	int32_t shape; ///< the part of a body with parts; else 0. What follows is of this part alone
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
	int32_t shape_a, shape_b; ///< their parts; 0 of a body without parts
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
	int32_t shape;        ///< number of the part (carom_body_def.parts); 0 of a body without parts
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
/// carom_time_of_impact, and carom/collide.h says what it promises, also of shapes that begin
/// inside a mesh. A straight cast is a carom_straight_motion. Bodies rest where they are. A search
/// that runs out of steps counts as a hit at the time up to which the way is proved to be clear.
/// Planes are not accepted as the query's shape; a mesh without triangles meets nothing. *found
/// tells whether there is a hit; filter may be NULL. It takes 11 KB of memory from the context
/// while it runs.
CAROM_API carom_result carom_world_cast_shape(const carom_world *world, const carom_shape *shape,
	const carom_motion *motion, double tolerance, const carom_query_filter *filter, bool *found,
	carom_shape_hit *hit);

// ---- Snapshots, for rollback ----

/// Memory for one state of one world: a caller that rolls back keeps one for each frame that it may
/// return to, and saves into them in turn. Saving into one that is large enough allocates nothing.
typedef struct carom_snapshot carom_snapshot;

/// Make an empty snapshot for a world. Its memory comes from the context and does not count for
/// carom_world_def.memory_budget. CAROM_OUT_OF_MEMORY.
CAROM_API carom_result carom_create_snapshot(carom_world *world, carom_snapshot **snapshot);

/// NULL does nothing. A world that is destroyed empties its snapshots; this call destroys them all
/// the same, and must do so before their context is destroyed.
CAROM_API void carom_destroy_snapshot(carom_snapshot *snapshot);

/// Replace what a snapshot holds by the world as it is, between any two calls: bodies with their
/// ids, their parts, poses now and at the last step, filters, user data and vertices, the ids that
/// bodies added next will get, the last step's contacts, pairs, events and impacts as the views
/// show them, with impulses and numbers of pairs, all that pairs remember, and the statistics. It
/// takes a reference to each mesh, which is not copied. Costs a copy of that; CAROM_OUT_OF_MEMORY
/// leaves the snapshot as it was.
CAROM_API carom_result carom_world_save(carom_world *world, carom_snapshot *snapshot);

/// Put the world back into the state that was saved in it, whatever has been done since: bodies
/// added since are gone, removed ones are back under their ids, and the steps that follow give bit
/// for bit the results that they gave, or would have given, after the save. Views end as by a step.
/// Of the statistics after further steps times, memory, and the work of the broad phase and of
/// carom_world_sweep_stats may differ. The snapshot stays as it is and can be restored again. Ids
/// that were given out between the save and the restore are void: bodies added afterwards may get
/// them. What the caller holds elsewhere, as the state of a pair filter, is the caller's to put
/// back. CAROM_INVALID_ARGUMENT when the snapshot is another world's or empty, and while the world
/// is being recorded: a recording cannot go back. CAROM_OUT_OF_MEMORY or CAROM_OVER_BUDGET leave
/// the world as it was, but views end.
CAROM_API carom_result carom_world_restore(carom_world *world, carom_snapshot *snapshot);

/// A hash for peers that simulate in step: two worlds that were treated alike have equal hashes, on
/// any machine and for any number of threads. It covers bodies (ids, kinds, shapes, filters, poses
/// now and at the last step, vertices), the ids that bodies added next will get, and the views with
/// ages and impulses, all bit for bit. Meshes count by their numbers of vertices and triangles.
/// User data, numbers of pairs and statistics do not count. Costs a pass over what the snapshot
/// holds. An empty snapshot has a hash as well.
CAROM_API uint64_t carom_snapshot_hash(const carom_snapshot *snapshot);

/// The first thing in which two snapshots differ. The texts last as long as the program.
typedef struct carom_snapshot_difference {
	/// "bodies", "free ids", "free ids of bodies with parts", "places", "contacts", "pairs",
	/// "events", "impacts" or "body impacts"; NULL: nothing differs. The bodies of a world are its
	/// parts, at their own poses in the world. Places are the vertices of deforming bodies, and the
	/// poses of bodies with parts.
	const char *list;
	/// Of the record, as "pose.position"; "count" when one list ends where the other goes on.
	const char *field;
	/// Of the record; of "bodies" each part counts, of "places" each coordinate.
	int64_t index;
	carom_body_id body; ///< that the record is about, the lower one of a pair; null for free ids
} carom_snapshot_difference;

/// Do two snapshots differ in anything that carom_snapshot_hash covers? They may be of different
/// worlds and contexts. difference may be NULL; else it tells the first one. Thread-safe as long as
/// nobody saves into either.
CAROM_API bool carom_snapshots_differ(
	const carom_snapshot *a, const carom_snapshot *b, carom_snapshot_difference *difference);

/// Bytes that a snapshot holds, without the meshes.
CAROM_API size_t carom_snapshot_memory(const carom_snapshot *snapshot);

// ---- Recording of every call, for bug reports and regression tests ----

/// Delivers exactly count bytes; return false at the end or on error. Called on the thread that
/// replays. It may use other worlds; it must not destroy the context.
typedef bool carom_read_fn(void *bytes, size_t count, void *user);

/// Write every following call that changes the world, and the hash after each step, to a stream
/// (docs/recording.md describes it). write is called on the thread of the call that is recorded,
/// while that call runs: it must not call anything on that world but carom_world_context. The
/// present state goes first. A pair filter is not recorded: its verdicts are. A recording that runs
/// is ended first, also when the new one then cannot begin. NULL only ends it:
/// CAROM_INVALID_RECORDING then tells that its writer gave up or memory ran out on the way. With a
/// new writer that is left to the log: the result is that of the new recording,
/// CAROM_INVALID_RECORDING when its writer gave up or memory ran out at once; nothing is being
/// recorded then. A replay begins without memory, so a recording that begins makes the world forget
/// what its pairs remember: the next step works all of them out in full, which costs time and may
/// give other contacts than a step without the recording. CAROM_INVALID_ARGUMENT from inside a
/// write function of this world.
CAROM_API carom_result carom_world_record(carom_world *world, carom_write_fn *write, void *user);

/// How far a replay got.
typedef struct carom_replay_result {
	int64_t steps;            ///< steps replayed
	int64_t first_difference; ///< step whose hash differs from the recorded one, or -1
	uint64_t hash;            ///< of the last step
} carom_replay_result;

/// Run a recording in a new world of the context and compare each step's hash.
/// CAROM_INVALID_RECORDING when the stream is damaged or a hash differs; result is filled in both
/// cases as far as it got.
CAROM_API carom_result carom_replay_recording(
	carom_context *context, carom_read_fn *read, void *user, carom_replay_result *result);

#ifdef __cplusplus
}
#endif
#endif
