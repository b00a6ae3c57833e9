/// @file world.h
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
#ifndef CAROM_WORLD_H
#define CAROM_WORLD_H

#include "carom/mesh_query.h"
#include "carom/results.h"
#include "carom/shape.h"
#include "carom/vulkan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Who moves a body; this decides against which bodies it is tested.
typedef enum carom_body_kind {
	CAROM_STATIC, ///< does not move by itself; never collides with static or kinematic bodies
	/// Moved by the caller regardless of contacts; collides with dynamic bodies and solids only.
	CAROM_KINEMATIC,
	CAROM_DYNAMIC,
	/// A solid whose vertices the caller moves (carom_world_set_vertices): its mesh is closed, and
	/// contacts and queries see an inside. Collides with all kinds but cloth.
	CAROM_DEFORMABLE,
	/// A surface whose vertices the caller moves. Its mesh may be open, and has no inside even when
	/// it is closed. It has impacts, contacts with spheres, and where it has a thickness surface
	/// contacts, with their pairs and events.
	CAROM_CLOTH,
	/// Many spheres, which the caller moves (carom_world_set_spheres). They meet bodies of all
	/// kinds, and each other: carom_world_sphere_contacts, carom_world_sphere_pairs.
	CAROM_GRANULAR,
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
	/// Of a granular body, whose shape stays as carom_default_body_def made it: its spheres, which
	/// are copied. Their centres are in the frame of pose, their radii above 0; no value is beyond
	/// CAROM_MAX_COORDINATE. Other bodies do not read them.
	int32_t sphere_count;  ///< 0 to CAROM_MAX_SPHERES
	carom_strided centres; ///< x, y, z of each
	carom_strided radii;   ///< one value each (stride 0: packed)
	carom_pose pose;
	/// Two bodies are tested when each one's category has a bit in common with the other's mask ...
	uint64_t category;
	uint64_t mask;
	/// ... unless they share a group other than 0: negative groups never collide, positive ones
	/// always do.
	int32_t group;
	/// Reports pairs and events but no contacts; takes no part in impacts, and cannot deform.
	bool sensor;
	/// Within a granular body: report spheres that touch each other. Within a deforming body:
	/// report impacts between features that share no vertex. Vertices are
	/// told apart by their numbers, so triangles that belong together must share them. Rigid bodies
	/// never hit themselves.
	bool self_collision;
	/// Report when the body meets others on its way through each step (carom_world_body_impacts).
	/// Set it for fast and thin bodies. Dynamic and kinematic bodies only.
	bool continuous;
	/// Of a deforming body: report when it meets shapes other than meshes on its way through each
	/// step (carom_world_shape_impacts). Other bodies do not read it.
	bool shape_impacts;
	/// Has the body contacts, pairs and events? Without them it takes part in impacts, those of
	/// continuous bodies too, and in queries. Cloth has surface contacts, and the pairs and events
	/// of these, and contacts with spheres. A granular body without contacts meets nothing.
	bool contacts;
	/// Of a deforming body, metres: how thick its surface is; 0: it has no surface contacts. Cloth
	/// then has them (carom_world_surface_contacts) with everything nearer than half of it, and
	/// with another thick surface nearer than half the sum; within itself, where self_collision is
	/// set, nearer than the thickness. A solid has them with cloth and within itself. Sensors know
	/// of it as far. At most CAROM_MAX_COORDINATE. Other bodies do not read it.
	double thickness;
	uint64_t user_data;
} carom_body_def;

/// A dynamic body at the origin, category 1, all bits of the mask, no group, no sensor,
/// self-collision on, not continuous, with contacts, thickness 0. The shape, or parts, are to be
/// set.
/// Thread-safe.
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

/// Return false to leave a single contact out: of a one-way platform, of a hole painted in a mesh,
/// of a layer that one body passes. Called after a pair was worked out and before its contacts are
/// reduced to max_contacts_per_pair, so that one left out takes no place, in the order of the
/// views. All members of the contact are set, its materials too, with two exceptions: pair is the
/// number of the contact among those of its pair, and age and impulse are 0. user_data are those of
/// body_a and body_b. Called from worker threads while the step runs: the answer must depend on
/// nothing but the arguments and data that the step leaves alone, and the function must not call
/// anything on the world that steps. A pair all of whose contacts are left out does not touch: it
/// is not listed, ends if it was (its data goes with it), and begins when one stays. Not asked
/// about are sensors, which have no contacts, impacts, and queries, carom_world_collide_shape among
/// them. The memory of pairs does not depend on the answers, so they may change from step to step.
/// A recording holds them.
/// Surface contacts are asked about too, shown as plain ones: point is that of the first feature
/// (of A of two edges and of shapes), depth the part of the thickness that lacks. A vertex and a
/// triangle are CAROM_VERTEX_A or CAROM_VERTEX_B, two edges CAROM_EDGES, a shape that is no mesh
/// CAROM_VOLUMES, with a triangle that has the feature. One that is left out is not remembered: its
/// vertex belongs from then on to the side where it is.
/// So are contacts of spheres with bodies of other kinds: CAROM_VOLUMES, with the sphere's number
/// and the triangle, or 0, as features. pair is the number of the contact among those of its sphere
/// with the other body then. Pairs of spheres are not asked about.
typedef bool carom_contact_filter_fn(
	const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user);

/// How pairs of overlapping boxes are found; all give the same pairs.
/// docs/measured/broad_phase.md measures them.
typedef enum carom_broad_phase {
	CAROM_BROAD_TREE,  ///< dynamic tree of widened boxes: cheap when little moves
	CAROM_BROAD_SWEEP, ///< sort along one axis each step: cheap when everything moves
} carom_broad_phase;

/// The memory of pairs of meshes from step to step.
typedef enum carom_temporal {
	/// Nothing: every pair is worked out with the full algorithm in every step.
	CAROM_TEMPORAL_NONE,
	/// A pair that has moved little since its last full step continues from it (Lehericey 2013):
	/// vertices near the other surface walk over its triangles from the one they met last, pairs
	/// known to be apart by more than they have moved are left alone, and pairs whose edges cross
	/// test only the triangles that were near. No pair is lost whose surfaces cross, or of which
	/// one body lies wholly inside the other. Only vertices that are inside already are watched: a
	/// separate piece of a body that has come wholly inside the other body, and a vertex that is
	/// inside by no more than rounding, may be found only with the pair's next full step. Single
	/// contacts of a colliding pair may be missed until then too.
	CAROM_TEMPORAL_ITERATIVE,
	/// As iterative, and the vertices outside are watched too that are near enough to enter before
	/// the pair's next full step: each becomes a contact in the very step in which it enters. Their
	/// rays are also followed outward, to find where their walks begin.
	CAROM_TEMPORAL_PREDICTIVE,
} carom_temporal;

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
	/// overlap. Other pairs as CAROM_NORMAL_TRIANGLE.
	CAROM_NORMAL_PATCH,
} carom_contact_normal;

/// Settings that repeat papers and baselines (carom/lab.h). Not part of the installed library.
typedef struct carom_lab carom_lab;

/// How to make a world. Start from carom_default_world_def.
typedef struct carom_world_def {
	int cookie; ///< set by carom_default_world_def; do not touch
	carom_broad_phase broad_phase;
	/// Contacts kept for each pair, 1 to 256; 0: all. The deepest is always kept, and points that
	/// keep the extent of the patch.
	int32_t max_contacts_per_pair;
	/// Report features that are apart by at most this (metres) as contacts with negative depth; 0:
	/// none. Of two meshes that are apart the nearest features are told, whichever they are, at
	/// their true distance and along the line between them, and all others that come near each
	/// other; of faces side by side the patch. Two meshes that touch in patches also have contacts
	/// where corners and edges come near beside these, along their normals. Without
	/// CAROM_NORMAL_PATCH, rays along the vertex normals look for it: two edges, or faces that no
	/// vertex points at, are not seen ahead then. Of two convex shapes, and of a convex shape and a
	/// mesh, the distance told is never too long, and may be too short by a tenth, since the normal
	/// of a face is preferred. A front (carom_mesh_sides) is not seen from behind.
	double speculative_distance;
	/// Contacts of consecutive steps with other features are matched when they are this close in
	/// the frame of body A (metres).
	double match_distance;
	carom_temporal temporal;
	carom_contact_normal contact_normal;
	/// Edges between triangles that differ by less than this angle (radians, 0 to pi) are no edges
	/// to a contact: it takes the normal of the face, so that bodies slide over a triangulated
	/// surface as over a smooth one. 0: every edge counts.
	double internal_edge_angle;
	carom_pair_filter_fn *pair_filter;       ///< NULL: none
	carom_contact_filter_fn *contact_filter; ///< NULL: none
	void *filter_user;                       ///< handed to both filters
	carom_sweep_def sweep;                   ///< how impacts of deforming bodies are found
	/// Metres, above 0: bodies that come so near each other meet (carom_world_body_impacts). A body
	/// that is stopped there has contacts if speculative_distance is as large.
	double toi_tolerance;
	/// Most bytes that the world may hold, meshes and recordings aside; 0: no limit. A world, a
	/// body, a step or a query that needs more fails with CAROM_OVER_BUDGET; such a step leaves the
	/// results of the last one. Structures that queries make count too, and are kept: a tree over
	/// the bodies, and one over each deforming body that a query came near.
	size_t memory_budget;
	const carom_lab *lab; ///< NULL: none. Read by carom_create_world only
} carom_world_def;

/// Tree, 8 contacts a pair, nothing speculative, match_distance 0.02 m, predictive, normals of
/// patches, internal edges below 5 degrees, no filter, carom_default_sweep_def, toi_tolerance
/// 0.001 m, no budget, no lab. Thread-safe.
CAROM_API carom_world_def carom_default_world_def(void);

/// Make an empty world. def may be NULL for the defaults. On failure *world is NULL. Thread-safe:
/// several threads may make and destroy worlds and meshes of one context at once.
CAROM_API carom_result carom_create_world(
	carom_context *context, const carom_world_def *def, carom_world **world);

/// Let the steps from now on find near triangles of meshes on a graphics device (carom/vulkan.h),
/// test which of them cross, and cast the rays of meshes, in full or from where they met the mesh
/// last; or, with NULL, all on the processor again, as in a new world. Contacts do not depend on
/// it, to the bit: doubtful cases are left to the processor (carom_stats.rays_returned,
/// tests_returned, near_returned), as is all of meshes that the kernels do not take: with
/// coordinates of 1e12 and more, or of less than 1.2e-38. Everything else runs on the processor.
/// The device must be of the world's context and outlive the world, or its next device; worlds that
/// share one take turns. Meshes stay on it while steps use them: 92 bytes a triangle and the cells
/// of their grids; and 48 for each ray of a step, 72 for each pair of triangles.
/// fallback: where the device fails in a step, or has no room, the processor does its work
/// (carom_stats.device_fallbacks). Without it the step fails, with CAROM_DEVICE_FAILED,
/// CAROM_OUT_OF_MEMORY or CAROM_OVER_BUDGET (carom_device_def.memory_budget), leaves the results of
/// the last one, and the world may go on with another device or NULL.
/// CAROM_UNSUPPORTED: it has no doubles, or does not round as IEEE 754 says.
/// CAROM_INVALID_ARGUMENT: it is of another context, or the world has a lab with other rays or
/// stages than the library's. The trial of its arithmetic may fail as a step may. On failure the
/// world keeps its device.
CAROM_API carom_result carom_world_set_device(
	carom_world *world, carom_device *device, bool fallback);

enum { CAROM_MAX_DEVICES = 16 }; ///< of a world

/// As carom_world_set_device, with devices [count], 0 to CAROM_MAX_DEVICES (0: the processor), each
/// once; one card may have been opened several times. Rays of a pair of meshes stay with the device
/// that has cast them before, and a new pair goes to the one with the fewest rays. The first device
/// that works does all else that devices do. Contacts do not depend on the number of devices or
/// their order. A device that fails in a step leaves its work of that step to the others, one that
/// is lost that of all steps; each time counts in carom_stats.device_fallbacks. Only where all have
/// failed does fallback decide. CAROM_INVALID_ARGUMENT names the device.
CAROM_API carom_result carom_world_set_devices(
	carom_world *world, carom_device *const *devices, int32_t count, bool fallback);

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

/// Add count bodies, in order, as by so many calls of carom_world_add_body; their ids go to
/// ids[count]. All or none: CAROM_INVALID_ARGUMENT names the definition and its field before one
/// is added; where memory runs out, those that were added are removed again, and their ids name no
/// body.
CAROM_API carom_result carom_world_add_bodies(
	carom_world *world, int count, const carom_body_def *defs, carom_body_id *ids);

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
/// bodies have no pose to be set: carom_world_set_vertices moves them, and carom_world_set_spheres
/// granular ones. CAROM_OUT_OF_MEMORY and CAROM_OVER_BUDGET, beyond 4,096 bodies: it has not moved.
CAROM_API carom_result carom_world_set_pose(
	carom_world *world, carom_body_id id, const carom_pose *pose);

/// Put many bodies at once: poses[i] for ids[i]. One call a step; all are checked before the first
/// is moved. Fails as carom_world_set_pose does, and then none has moved.
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
/// The poses of count bodies, as carom_world_get_pose tells them, in the order of ids. On failure,
/// which names the id, none is written.
CAROM_API carom_result carom_world_get_poses(
	const carom_world *world, int count, const carom_body_id *ids, carom_pose *poses);
/// The caller's number; the library only hands it on: to filters, pairs and events.
CAROM_API carom_result carom_world_get_user_data(
	const carom_world *world, carom_body_id id, uint64_t *user_data);
/// Change it; pairs and events show it from the next step on.
CAROM_API carom_result carom_world_set_user_data(
	carom_world *world, carom_body_id id, uint64_t user_data);
/// Give a rigid body without parts another shape, in place: id, pose, last pose, filters and user
/// data stay. The next step finds the results of a world in which the body had this shape from the
/// beginning. Pairs that go on persist, with their age and data; contacts get the age and impulse
/// of those that were near them on body A, since features of the old shape mean nothing. A shape
/// equal to the present one changes nothing. The mesh of shape is retained, that of the old one
/// released. CAROM_INVALID_ARGUMENT, naming the field, where carom_world_add_body would refuse the
/// shape, for a deforming body (carom_world_set_mesh) and one with parts. On any failure nothing
/// has changed. Recorded.
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
// with rigid bodies of mesh shape, whatever moves these. A rigid body moves from its pose at the
// last step to the present one as carom_motion says: the arcs of its vertices are true. With one
// that turns, features come within one and a half times the tolerance. Impacts with shapes other
// than meshes are a list of their own (carom_world_shape_impacts). Sensors have none.
//
// A solid (CAROM_DEFORMABLE) has contacts, pairs and events too, with bodies of any shape and with
// other solids, as a rigid mesh of its vertices at the end of the step has them. Contacts name its
// vertices and triangles by their numbers, and are matched from step to step by them. A mesh for
// the contacts is refitted in each step in which its vertices were set and its box meets another
// body's, on all threads where there are several such solids: O(n), and O(n log n) for what is
// flat in it. Without contacts in its definition there is none. Itself it meets by surface contacts
// (carom_body_def.thickness).

/// Say where the vertices of a deforming body are at the end of the coming step, and, if begin is
/// not NULL, at its beginning; without begin they start from where they are: where the last step
/// ended, or a call since then said. With begin alone the body is put there without sweeping. World
/// frame, one place for each vertex of the mesh, finite and at most CAROM_MAX_COORDINATE. Between
/// steps the last call counts; a body of which none was made rests. CAROM_INVALID_ARGUMENT names
/// the field, and the first vertex at fault.
CAROM_API carom_result carom_world_set_vertices(
	carom_world *world, carom_body_id id, const carom_strided *begin, const carom_strided *end);

/// Give a deforming body another mesh, in place, as where cloth tears, a solid is cut, or triangles
/// are made finer: id, kind, filters and user data stay. from says which vertex of the present mesh
/// each vertex of the new one was (-1: none, it is new; several may have been one): one number for
/// each vertex, or NULL where vertex i was vertex i, as far as there was one. Such a vertex keeps
/// its places at the beginning and at the end of the coming step. A new vertex rests at its place
/// in places (world frame, one for each vertex of the new mesh, as for carom_world_set_vertices;
/// those of others are not used), or without places where the pose of the body's definition puts
/// it. The next step finds all impacts of the new triangles; where triangles and vertices are the
/// old ones its search goes on from the last one. The impacts of the last step go on naming the
/// vertices and triangles of the old mesh. mesh is retained, the old one released; a view of
/// vertices ends. CAROM_INVALID_ARGUMENT or CAROM_INVALID_MESH, naming the field, where
/// carom_world_add_body would refuse the mesh, for a rigid body, and for a bad map or place. On any
/// failure nothing has changed. Recorded.
CAROM_API carom_result carom_world_set_mesh(carom_world *world, carom_body_id id,
	const carom_mesh *mesh, const int32_t *from, const carom_strided *places);

/// Places of vertices: read-only, valid until the body gets another mesh or is removed, or the
/// world goes back to a snapshot or is destroyed. carom_world_set_vertices writes the new places
/// into the same memory; nothing else changes them, a step neither.
typedef struct carom_vertex_view {
	const double *data; ///< [3*count] world frame
	int32_t count;
} carom_vertex_view;

/// The places of a deforming body's vertices set last.
CAROM_API carom_result carom_world_get_vertices(
	const carom_world *world, carom_body_id id, carom_vertex_view *view);

// ---- Granular bodies ----
//
// A body of kind CAROM_GRANULAR has no pose after it was added (it is the identity): its spheres
// are in the world's frame. Queries see its spheres one by one (carom/query.h). Speeds:
// docs/measured/spheres.md.

/// Say where the spheres of a granular body are, and how many it has: count of them, in the world's
/// frame. radii NULL: as they were; count is then that of before. Values are checked as those of a
/// definition, before any is taken. CAROM_INVALID_ARGUMENT names the field and the first sphere at
/// fault. On any failure nothing has changed. Recorded.
CAROM_API carom_result carom_world_set_spheres(carom_world *world, carom_body_id id, int32_t count,
	const carom_strided *centres, const carom_strided *radii);

/// The spheres of a granular body: read-only, valid until carom_world_set_spheres gives it more, it
/// is removed, or the world goes back to a snapshot or is destroyed.
typedef struct carom_sphere_view {
	const double *data; ///< [4*count] x, y, z, radius; world frame
	int32_t count;
} carom_sphere_view;

/// The spheres set last.
CAROM_API carom_result carom_world_get_spheres(
	const carom_world *world, carom_body_id id, carom_sphere_view *view);

// ---- Step and results ----

/// Find all contacts at the present poses, and all impacts since the last step. On failure the
/// results of the last good step, with their views and counts, stay in place, bodies stay where
/// they were put, and the step may be repeated. One thing is lost: the memory that pairs have of
/// earlier steps (carom_world_def.temporal), so that the next step works all of them out in full.
/// That costs time and may give other contacts than a step that did not follow a failure.
CAROM_API carom_result carom_world_step(carom_world *world);

#ifdef __cplusplus
}
#endif
#endif
