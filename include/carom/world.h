/// @file world.h
/// Worlds of bodies: add bodies, move them, step, read contacts.
///
/// Threads. A call that changes a world must not overlap with any other call on it. Between such
/// calls, views and queries (everything that takes a const carom_world *) may be used from many
/// threads at once. Different worlds are independent, even when they share a context.
///
/// Errors. A call that fails changes nothing, unless its comment says otherwise (carom_world_step
/// and carom_world_record do). carom_error_text tells why it failed. Handles must not be NULL
/// unless a comment says otherwise.
///
/// Determinism. Contacts, pairs and events are equal, bit for bit, for any number of threads, any
/// instruction set, and in every run. The order in which bodies are added changes no colliding
/// pair. It decides which body of a pair is A: the one with the lower index. Where A and B change
/// places:
/// - a pair has as many contacts before they are reduced, with equal depths and opposite normals,
///   up to rounding; of equal ways out another may be told, of 8 contacts of volumes others;
/// - points of volumes, and of two edges that cross, may lie on the other surface;
/// - patches (CAROM_NORMAL_PATCH) may choose another plane or other points.
///
/// All promises hold while the floating-point unit is in its default mode on every thread that runs
/// the library: it rounds to nearest and keeps denormals (no FTZ or DAZ, which a program linked
/// with -ffast-math may set).
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
	/// Does not move by itself. Never collides with static or kinematic bodies.
	CAROM_STATIC,
	/// Moved by the caller whatever it touches. Collides with dynamic bodies and with deforming
	/// solids, never with static or other kinematic bodies.
	CAROM_KINEMATIC,
	/// Moved by the caller's solver. Collides with static, kinematic and dynamic bodies and with
	/// deforming solids.
	CAROM_DYNAMIC,
	/// A solid whose vertices the caller moves (carom_world_set_vertices). Its mesh is closed, so
	/// contacts and queries see an inside. Collides with all kinds but cloth, which it meets by
	/// impacts and surface contacts.
	CAROM_DEFORMABLE,
	/// A surface whose vertices the caller moves. Its mesh may be open, and it has no inside even
	/// when the mesh is closed. Cloth has impacts and contacts with spheres. With a thickness
	/// (carom_body_def.thickness) it also has surface contacts, with their pairs and events.
	CAROM_CLOTH,
	/// Many spheres, which the caller moves (carom_world_set_spheres). They meet bodies of all
	/// kinds (carom_world_sphere_contacts) and each other (carom_world_sphere_pairs).
	CAROM_GRANULAR,
} carom_body_kind;

/// How to make a body. Start from carom_default_body_def.
typedef struct carom_body_def {
	int cookie; ///< set by carom_default_body_def; do not touch
	/// The shape of a rigid body without parts, or the mesh of a deforming body.
	carom_shape shape;
	/// For a rigid body of several shapes, or of one shape that is not at the body's origin
	/// (docs/bodies.md): its parts [part_count], which are copied. shape then stays as
	/// carom_default_body_def made it. Parts of one body never collide with each other. Results
	/// name the body and the index of the part in this array.
	const carom_part *parts;
	int32_t part_count; ///< 0: the body has shape, and parts is NULL
	/// For a body with parts: how many it may have at any time, from part_count on, so that
	/// carom_world_set_parts may add some: a wheel, an object in a gripper. A part that is not
	/// there takes about 300 bytes and no time. At most 65,536 more than part_count. 0: part_count,
	/// and numbers of parts that go are given up.
	int32_t part_room;
	carom_body_kind kind;
	/// For a granular body alone: its spheres, which are copied. shape then stays as
	/// carom_default_body_def made it. Centres are in the frame of pose. Radii are above 0, and no
	/// value is beyond CAROM_MAX_COORDINATE. sphere_count is from 0 to CAROM_MAX_SPHERES.
	int32_t sphere_count;
	carom_strided centres; ///< x, y, z of each
	carom_strided radii;   ///< one value each (stride 0: packed)
	/// The pose of the body's frame, in which the shape is given. Its origin need not be the centre
	/// of mass, of which the library knows nothing (carom_mesh_get_mass computes it).
	carom_pose pose;
	/// Two bodies are tested when each one's category has a bit in common with the other's mask ...
	uint64_t category;
	uint64_t mask;
	/// ... unless they share a group other than 0: negative groups never collide, positive ones
	/// always do.
	int32_t group;
	/// A sensor reports pairs and events but has no contacts. It takes no part in impacts of
	/// deforming bodies, cannot deform itself, and is not granular.
	/// - Static and kinematic sensors do not meet static or kinematic bodies, as no such bodies do.
	bool sensor;
	/// In a granular body: report spheres that touch, if it is continuous also those that meet. In
	/// a deforming body: report impacts between features that share no vertex, by their numbers: so
	/// triangles that belong together must share them. Rigid bodies never hit themselves.
	bool self_collision;
	/// Report the first impact with each other body on the way through the step
	/// (carom_world_body_impacts). Set it for fast and thin bodies. Dynamic, kinematic and granular
	/// bodies only; in a granular one each sphere has impacts, with other bodies and with spheres.
	bool continuous;
	/// For a deforming body: report where it meets shapes that are no meshes on the way through the
	/// step (carom_world_shape_impacts). Other bodies ignore it.
	bool shape_impacts;
	/// False: the body has no contacts, and no pairs and events from them. It still has impacts,
	/// those of continuous bodies too, and queries see it. Cloth then has no surface contacts and
	/// no contacts with spheres. A granular body then has no contacts and pairs of spheres.
	bool contacts;
	/// For a deforming body: the thickness of its surface, metres, at most CAROM_MAX_COORDINATE. 0:
	/// it has no surface contacts (carom_world_surface_contacts). Other bodies ignore it.
	/// - Cloth has surface contacts with all that is nearer than half its thickness, with another
	///   thick surface nearer than half the sum of both, and with itself, where self_collision is
	///   set, nearer than the thickness.
	/// - A solid has them with cloth and with itself.
	/// - A sensor reports cloth at the distance at which a contact would begin.
	double thickness;
	// Of a body in a world all of these can be changed, each by its own call (carom_world_set_...):
	// kind, sensor, self_collision, continuous, shape_impacts, contacts and thickness by
	// carom_world_set_traits.

	/// A number of the caller's, which filters, pairs and events hand on.
	uint64_t user_data;
} carom_body_def;

/// A dynamic body at the origin, category 1, all bits of the mask set, no group, no sensor,
/// self_collision on, not continuous, shape_impacts on, contacts on, thickness 0. The caller still
/// has to set shape, parts or spheres. Thread-safe.
CAROM_API carom_body_def carom_default_body_def(void);

/// Return false to leave a pair out before its contacts are looked for.
///
/// Called while a step runs, from worker threads, for each pair of bodies whose boxes overlap and
/// which categories, masks and groups let pass; a has the lower index. The answer must depend on
/// the arguments alone, and the function must not call anything on the world that steps: functions
/// that change the world fail there (CAROM_INVALID_ARGUMENT), and carom_destroy_world does nothing.
/// - Where one body deforms, boxes of its triangles count, and of a body with parts the boxes of
///   the parts: such a pair may be asked about more than once.
/// - A plane is asked about with all bodies that are not wholly above it.
/// - A pair that is left out takes no memory, but a call in each step. Masks and groups leave out
///   whole heaps of bodies at once.
typedef bool carom_pair_filter_fn(
	carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user);

/// Return false to leave a single contact out: of a one-way platform, of a hole painted in a mesh,
/// of a layer that one body passes.
///
/// Called from worker threads while a step runs, after a pair was worked out and before its
/// contacts are reduced to max_contacts_per_pair: a contact left out takes no place. The answer
/// must depend on nothing but the arguments and data that the step leaves alone. The function must
/// not call anything on the world that steps but carom_world_get_part_data: see
/// carom_pair_filter_fn.
/// - The contact is as the views show it, with its materials. Two members are not known yet: pair
///   is the number of the contact among those of its pair, and age and impulse are 0. user_data are
///   those of body_a and body_b.
/// - A pair without any contact left does not touch. It is not listed; if it was, it ends, and its
///   data goes with it. It begins again when a contact stays.
/// - It is not asked about sensors (which have no contacts), impacts, and queries, which
///   carom_world_collide_shape is one of.
/// - The memory of pairs does not depend on the answers, so these may change from step to step. A
///   recording holds them.
///
/// Other kinds of contacts are shown as plain ones:
/// - Surface contacts: point is that of the first feature (of A for two edges and for shapes),
///   depth the part of the thickness that lacks. A vertex and a triangle are CAROM_VERTEX_A or
///   CAROM_VERTEX_B, two edges CAROM_EDGES, a shape that is no mesh CAROM_VOLUMES, with a triangle
///   that has the feature. A contact left out is not remembered: its vertex belongs from then on to
///   the side where it is.
/// - Contacts of spheres with bodies of other kinds: CAROM_VOLUMES, with the sphere's number and
///   the triangle, or 0, as features. pair is the number of the contact among those of its sphere
///   with the other body. Pairs of spheres are not asked about.
typedef bool carom_contact_filter_fn(
	const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user);

/// How pairs of overlapping boxes are found. Both find equal pairs; docs/measured/broad_phase.md
/// compares their times.
typedef enum carom_broad_phase {
	CAROM_BROAD_TREE,  ///< dynamic tree of widened boxes: cheap when little moves
	CAROM_BROAD_SWEEP, ///< sort along one axis each step: cheap when everything moves
} carom_broad_phase;

/// The memory of pairs of meshes from step to step.
typedef enum carom_temporal {
	/// No memory: every pair is worked out with the full algorithm in every step.
	CAROM_TEMPORAL_NONE,
	/// A pair that has moved little since its last full step continues from it (Lehericey 2013).
	/// Vertices near the other surface walk over its triangles, from the one that they met last.
	/// Pairs known to be apart by more than they have moved are left alone. Pairs whose edges cross
	/// test only the triangles that were near.
	/// - No pair is lost whose surfaces cross, or of which one body lies wholly inside the other.
	/// - Only vertices that are inside already are watched. So single contacts of a colliding pair
	///   may be missed until its next full step; and so may a separate piece of a body that has
	///   come wholly inside the other one, and a vertex that is inside by no more than rounding.
	CAROM_TEMPORAL_ITERATIVE,
	/// As iterative; vertices outside are watched too, if they are near enough to enter before the
	/// pair's next full step. Each becomes a contact in the very step in which it enters. To find
	/// where their walks begin, rays are also followed outward.
	CAROM_TEMPORAL_PREDICTIVE,
} carom_temporal;

/// The direction of a contact that a vertex ray found.
typedef enum carom_contact_normal {
	CAROM_NORMAL_RAY, ///< along the ray
	/// Along the normal of the triangle that was hit; the depth is projected onto it (Lehericey
	/// 2013, projected constraints).
	CAROM_NORMAL_TRIANGLE,
	/// One normal for a whole patch, and the points that span it, where a mesh of the pair has at
	/// most 64 flat facets, however many triangles each is made of, or is open. Candidates for the
	/// plane of a patch are the facets of both bodies and the pairs of edges that cross. The one
	/// that parts the bodies soonest where they overlap gives the normal and all depths. Points are
	/// vertices below the plane, and places where edges leave the overlap. Other pairs of meshes
	/// have CAROM_NORMAL_TRIANGLE.
	CAROM_NORMAL_PATCH,
} carom_contact_normal;

/// Settings that repeat papers and baselines (carom/lab.h). Not part of the installed library.
typedef struct carom_lab carom_lab;

/// How to make a world. Start from carom_default_world_def.
typedef struct carom_world_def {
	int cookie; ///< set by carom_default_world_def; do not touch
	carom_broad_phase broad_phase;
	/// Contacts kept for each pair of rigid bodies, 1 to 256; 0: all that are found, at most 8 for
	/// two convex shapes that are no meshes. They span the patch, and a body that trembles keeps
	/// them. The greatest depth of the pair is always among them. To avoid flicker, the deepest
	/// contact may be represented by a nearby one of nearly equal depth, which then gets its depth:
	/// one that pushes the same way and was less deep by at most a hundredth of that depth, or a
	/// ten-thousandth of the patch's diagonal. A solid that deforms keeps all contacts of its
	/// pairs, since a vertex without one would sink in; carom_world_set_body_pairs limits them too.
	int32_t max_contacts_per_pair;
	/// Features that are apart by at most this distance (metres) are contacts with a negative
	/// depth; 0: there are none.
	/// - Two meshes that are apart: the nearest features, at their true distance and along the line
	///   between them, and all others that come near each other; of faces side by side the patch.
	/// - Two meshes that touch in patches also have contacts where corners and edges come near
	///   beside the patches, along the normals of these.
	/// - Without CAROM_NORMAL_PATCH, rays along vertex normals look ahead: two edges, or faces that
	///   no vertex points at, are then not seen.
	/// - Two convex shapes, or one and a mesh: the nearest contact has their distance. Its normal
	///   may be that of a face, up to 25 degrees beside the line between the nearest points.
	/// - The front of an open mesh (carom_mesh_sides) is not seen from behind.
	double speculative_distance;
	/// Metres, in the frame of body A. A contact may continue one of the last step, and then takes
	/// over its age and impulse. Contacts whose normals are more than 90 degrees apart, in the
	/// world and in the frame of body A, are never one. Each old contact is continued once; the
	/// order of choice is:
	/// - The one with equal features. Two contacts of an edge of a mesh may have equal features. So
	///   a contact of an edge counts here only if it lay within match_distance, or if the motion of
	///   the bodies has taken it there.
	/// - One of the same vertex with another triangle.
	/// - The nearest within match_distance, where at most 64 of each step are left.
	/// - For edges, one with equal features within a tenth of the smaller body; or at any distance,
	///   if the bodies have moved against each other there by more than match_distance.
	/// - Where one of the two bodies is round (sphere, capsule, cylinder, cone, ellipsoid, rounded
	///   box or hull) the contact that has gone as far as the middle of that body has, within
	///   match_distance and a twentieth of the body's radius, with a normal that has turned by at
	///   most 45 degrees. So a wheel keeps its impulse while it rolls over triangles, and from part
	///   to part of one body. A body that a step moves by more than 8 of its own radii, or that a
	///   motion lets begin elsewhere (carom_world_set_motions), has not rolled.
	///
	/// Contacts of deforming bodies with shapes that are no meshes go on by place too
	/// (carom_surface_shape_contact). For spheres of granular bodies half of the radius is the
	/// limit where that is less (carom_sphere_contact.age).
	double match_distance;
	carom_temporal temporal;
	carom_contact_normal contact_normal;
	/// An edge between two triangles whose normals differ by less than this angle (radians, 0 to
	/// pi) does not give a contact its normal: the contact takes that of the face. So bodies slide
	/// over a triangulated surface as over a smooth one. 0: every edge counts.
	double internal_edge_angle;
	/// Closed meshes of which both have more than 64 flat faces touch by their vertices. Where
	/// they touch in several places, edges may cross in one with no vertex inside. Each curve along
	/// which the surfaces cross has a contact then, if both meshes have an edge that is longer than
	/// this share of the smaller diagonal of the two (at least 0). 0: all pairs, which costs time
	/// where many touch; above 1: none. A place without contacts is no deeper than half of an edge.
	double long_edge_share;
	carom_pair_filter_fn *pair_filter;       ///< NULL: none
	carom_contact_filter_fn *contact_filter; ///< NULL: none
	void *filter_user;                       ///< handed to both filters
	carom_sweep_def sweep;                   ///< how impacts of deforming bodies are found
	/// Metres, above 0: the distance at which continuous bodies count as met
	/// (carom_world_body_impacts). A body that is stopped there has contacts if
	/// speculative_distance is as large.
	double toi_tolerance;
	/// Most bytes that the world may hold, without meshes and recordings; 0: no limit. A call that
	/// needs more fails with CAROM_OVER_BUDGET: making the world, adding a body, moving bodies or
	/// setting spheres, a step or a query.
	/// - A step or carom_world_add_body that has no room first gives back all memory that the
	///   content of the world does not need, as carom_world_trim does, and tries once more; the log
	///   is told (CAROM_LOG_INFO). Ids do not depend on that. The step then works all pairs out in
	///   full, as one that follows a failure. A world in which each step needs that takes twice the
	///   time.
	/// - A step that fails leaves the results of the last good one. They are a part of the content:
	///   the next step reads them.
	/// - Structures that queries make count and are kept: a tree over the bodies, and one over each
	///   deforming body that a query came near.
	size_t memory_budget;
	const carom_lab *lab; ///< NULL: none. Read by carom_create_world only
} carom_world_def;

/// Tree, 8 contacts a pair, no speculative distance, match_distance 0.02 m, predictive, normals of
/// patches, internal_edge_angle 5 degrees, long_edge_share 0.2, no filter, carom_default_sweep_def,
/// toi_tolerance 0.001 m, no budget, no lab. Thread-safe.
CAROM_API carom_world_def carom_default_world_def(void);

/// Make an empty world. def may be NULL for the defaults. On failure *world is NULL. Thread-safe:
/// several threads may make and destroy worlds and meshes of one context at once.
CAROM_API carom_result carom_create_world(
	carom_context *context, const carom_world_def *def, carom_world **world);

/// Let the steps from now on use a graphics device (carom/vulkan.h); NULL: the processor alone, as
/// in a new world. The device finds near triangles of meshes, tests which of them cross, and casts
/// the rays of meshes, in full or from where they met the mesh last; with carom_device_def.always
/// it finds pairs of boxes too. Everything else runs on the processor.
///
/// Contacts do not depend on it, to the bit. Doubtful cases go back to the processor
/// (carom_stats.rays_returned, tests_returned, near_returned); so do meshes that the kernels do not
/// take, with coordinates of 1e12 and more, or of less than 1.2e-38.
///
/// The device must be of the world's context and outlive the world, or its next device. Worlds that
/// share one take turns. Meshes stay on it while steps use them: 92 bytes a triangle and the cells
/// of their grids; and 48 for each ray of a step, 72 for each pair of triangles.
///
/// fallback: where the device fails in a step, or has no room, the processor does its work
/// (carom_stats.device_fallbacks). Without it the step fails, with CAROM_DEVICE_FAILED,
/// CAROM_OUT_OF_MEMORY or CAROM_OVER_BUDGET (carom_device_def.memory_budget), and leaves the
/// results of the last one. The world may go on with another device or NULL.
///
/// On failure the world keeps its device.
/// - CAROM_UNSUPPORTED: the device has no doubles, or does not round as IEEE 754 says.
/// - CAROM_INVALID_ARGUMENT: it is of another context, or the world has a lab with other rays or
///   stages than the library's.
/// - The trial of its arithmetic may fail as a step may.
CAROM_API carom_result carom_world_set_device(
	carom_world *world, carom_device *device, bool fallback);

/// As carom_world_set_device, with several devices [count], 0 to CAROM_MAX_DEVICES (0: the
/// processor). Each is named once; one card may have been opened several times. Contacts do not
/// depend on their number or order.
/// - Rays of a pair of meshes stay with the device that has cast them before. A new pair goes to
///   the device with the fewest rays.
/// - The first device that works does everything else that devices do.
/// - A device that fails in a step leaves its work of that step to the others; one that is lost
///   leaves it to them in all later steps. Each failure counts in carom_stats.device_fallbacks.
///   fallback decides only where all have failed.
///
/// CAROM_INVALID_ARGUMENT names the device.
CAROM_API carom_result carom_world_set_devices(
	carom_world *world, carom_device *const *devices, int32_t count, bool fallback);

/// Choose whether the steps from now on list pairs of bodies, with parts or without, and limit the
/// contacts of two bodies; a new world does neither. A snapshot does not hold these
/// settings: after carom_world_restore they stay, and the lists of the saved step are there again.
/// - listed: list pairs of bodies and their events (carom_world_body_pairs,
///   carom_world_body_events): of two bodies one, however many of their parts touch. Costs a pass
///   over the pairs of each step. Pairs begin with the first step that lists them.
/// - max_contacts: contacts kept for two bodies, of whatever parts, 1 to 256; 0: no limit but
///   max_contacts_per_pair. They are chosen among those of all pairs of parts, as those of a pair
///   are: they span the patch, and the greatest depth is among them. A contact that stays keeps its
///   age and impulse. Parts without a contact left stay a pair, so events do not depend on the
///   limit. Two bodies without parts have no more contacts than this, too, and neither have
///   solids that deform. It does not concern contacts of surfaces and of granular bodies.
///
/// CAROM_INVALID_ARGUMENT names max_contacts.
CAROM_API carom_result carom_world_set_body_pairs(
	carom_world *world, bool listed, int32_t max_contacts);

/// Destroy a world with its bodies. NULL does nothing. No other call on this world may be running;
/// calls on others may.
CAROM_API void carom_destroy_world(carom_world *world);

/// The context that a world was made from.
CAROM_API carom_context *carom_world_context(const carom_world *world);

// ---- Bodies ----

/// Add a body; *id is its id. It takes part from the next step on. Each part takes the memory of a
/// body. CAROM_INVALID_ARGUMENT names the field, and the part. On any failure nothing has been
/// added.
CAROM_API carom_result carom_world_add_body(
	carom_world *world, const carom_body_def *def, carom_body_id *id);

/// Add a body under an id that the caller has chosen: that of an equal body of another world. So a
/// world that begins late, of a player who joins or of a saved game, holds the bodies of the other
/// under their ids, and carom_snapshot_load takes its bytes.
/// - The body takes as many numbers from id.index1 on as it has parts, or part_room. None of them
///   may be a body's. Numbers that no body has had until now, and that lie below, stay free:
///   carom_world_add_body may give them out.
/// - id.generation: at least 1, and higher than those of bodies that this world had under the
///   number before.
/// - Takes constant time when bodies come in the order of their ids; else up to a pass over the
///   free numbers.
///
/// CAROM_INVALID_ARGUMENT names the field, or says why the id cannot be had. On any failure nothing
/// has been added.
CAROM_API carom_result carom_world_add_body_with_id(
	carom_world *world, const carom_body_def *def, carom_body_id id);

/// Add count bodies in order, as so many calls of carom_world_add_body would; their ids go to ids
/// [count]. All are added or none. CAROM_INVALID_ARGUMENT names the definition and its field,
/// before any body is added. Where memory runs out, bodies that were added are removed again, and
/// their ids name no body.
CAROM_API carom_result carom_world_add_bodies(
	carom_world *world, int count, const carom_body_def *defs, carom_body_id *ids);

/// Remove a body; its pairs end with the next step (their CAROM_EVENT_END names the removed id).
CAROM_API carom_result carom_world_remove_body(carom_world *world, carom_body_id id);

/// Remove count bodies in order, as so many calls of carom_world_remove_body would; ids [count] is
/// read only. All are removed or none: CAROM_INVALID_BODY names the index of the first id that
/// names no body, or names the body of an earlier index again. Costs O(count) and takes no memory;
/// where more than 32 of the bodies have several parts, it looks at all numbers of the world once.
CAROM_API carom_result carom_world_remove_bodies(
	carom_world *world, int count, const carom_body_id *ids);

/// Does the id name a body of this world?
CAROM_API bool carom_world_is_body(const carom_world *world, carom_body_id id);

/// Number of bodies; one of many parts counts once.
CAROM_API int carom_world_body_count(const carom_world *world);

/// The ids of all bodies, sorted by index. Returns how many there are (carom_world_body_count); the
/// first capacity of them are written. ids may be NULL when capacity is 0.
CAROM_API int carom_world_body_ids(const carom_world *world, int32_t capacity, carom_body_id *ids);

/// The definition of a body as it is now: kind, sensor, self_collision and continuous as given when
/// it was added; shape or parts, pose, filter and user data as set last (for a deforming body the
/// pose of its definition). It may be used to add another body like it.
///
/// shape.mesh and parts, with their meshes, and spheres belong to the body. They are valid until
/// it gets another shape, other spheres or another number for a part, or is removed;
/// carom_retain_mesh keeps a mesh longer.
/// Quaternions of parts are normalised.
CAROM_API carom_result carom_world_get_body_def(
	const carom_world *world, carom_body_id id, carom_body_def *def);

/// Put a body at a pose (world frame). Static bodies too: that is how scenery is moved. Deforming
/// bodies have no pose to be set: carom_world_set_vertices moves them, and carom_world_set_spheres
/// granular ones. CAROM_OUT_OF_MEMORY and CAROM_OVER_BUDGET, beyond 4,096 bodies: it has not moved.
CAROM_API carom_result carom_world_set_pose(
	carom_world *world, carom_body_id id, const carom_pose *pose);

/// Put many bodies at once: poses[i] for ids[i]. One call a step; all are checked before the first
/// is moved. Of a body that is named twice the last pose holds. Fails as carom_world_set_pose does,
/// and then none has moved.
CAROM_API carom_result carom_world_set_poses(
	carom_world *world, int count, const carom_body_id *ids, const carom_pose *poses);

/// Say where many bodies are at the beginning and at the end of the coming step: motions[i] for
/// ids[i], arrays of count. All are checked before the first one is moved.
///
/// The end becomes the pose, as by carom_world_set_pose. Contacts depend on the end alone. The
/// beginning is the start of the motion on which impacts are looked for (carom_world_body_impacts,
/// and carom_world_impacts with bodies that deform). It holds for one step, even if poses are set
/// after this call.
///
/// Without this call a motion starts at the pose of the last step, or for a new body at that of its
/// definition. So give a body that is teleported a motion whose begin and end are both its new
/// place.
CAROM_API carom_result carom_world_set_motions(
	carom_world *world, int count, const carom_body_id *ids, const carom_motion *motions);

/// The pose set last (world frame), with its quaternion normalised. For a deforming body it is the
/// pose of its definition.
CAROM_API carom_result carom_world_get_pose(
	const carom_world *world, carom_body_id id, carom_pose *pose);
/// The poses of count bodies, as carom_world_get_pose tells them: poses[i] is that of ids[i]. On
/// failure, which names the id, none is written.
CAROM_API carom_result carom_world_get_poses(
	const carom_world *world, int count, const carom_body_id *ids, carom_pose *poses);
/// The caller's number; the library only hands it on: to filters, pairs, events and queries.
CAROM_API carom_result carom_world_get_user_data(
	const carom_world *world, carom_body_id id, uint64_t *user_data);
/// Change the caller's number. Pairs and events show it from the next step on.
CAROM_API carom_result carom_world_set_user_data(
	carom_world *world, carom_body_id id, uint64_t user_data);
/// The caller's number of a part (carom_part.user_data), which the library only keeps. part counts
/// from 0 in the order of carom_body_def.parts, as in results and answers to queries:
/// carom_contact.shape_a, carom_event.shape_b, carom_ray_hit.shape and their like.
/// - A body without parts has no such numbers. Its shape, which is part 0, has 0, and so has each
///   sphere of a granular body. So results need not be told apart.
/// - Any number of threads may ask between calls that change the world. A contact filter may ask
///   during a step, about bodies of the world that steps.
///
/// CAROM_INVALID_BODY; CAROM_INVALID_ARGUMENT: part is none of the body, or user_data is NULL.
CAROM_API carom_result carom_world_get_part_data(
	const carom_world *world, carom_body_id id, int32_t part, uint64_t *user_data);
/// Change the caller's number of a part. carom_world_set_parts sets the numbers of all parts.
/// CAROM_INVALID_ARGUMENT: the body was added without parts, or part is none of its parts.
/// CAROM_OUT_OF_MEMORY and CAROM_OVER_BUDGET, only while a snapshot holds the parts: the number has
/// not changed.
CAROM_API carom_result carom_world_set_part_data(
	carom_world *world, carom_body_id id, int32_t part, uint64_t user_data);
/// Give a rigid body without parts another shape, in place: its id, pose, last pose, filters and
/// user data stay. The next step finds the results of a world in which the body had this shape from
/// the beginning.
/// - Pairs that go on keep their age and data. Since features of the old shape mean nothing, a
///   contact takes the age and impulse of an old contact that lay near it on body A.
/// - Surface contacts with the body (carom/results.h) go on: cloth remembers on which side of the
///   body it was, however deep it is. Meshes of equal triangles keep the numbers of their features;
///   with others the place counts. A feature forgets where the middle of the new shape is on its
///   other side, or where the place is along an open mesh.
/// - A shape equal to the present one changes nothing.
/// - The mesh of the new shape is retained, that of the old one released.
///
/// CAROM_INVALID_ARGUMENT, naming the field: carom_world_add_body would refuse the shape, or the
/// body deforms (carom_world_set_mesh) or has parts (carom_world_set_parts). On any failure nothing
/// has changed.
CAROM_API carom_result carom_world_set_shape(
	carom_world *world, carom_body_id id, const carom_shape *shape);
/// Dig in the ground: give the height field of a body other heights in a rectangle, heights
/// [region->rows * region->columns], metres in the field's frame, row by row, NaN for a hole. The
/// body is one of a single shape. The next step finds the results of a world in which the body had
/// the field of carom_create_edited_field from the beginning; ages, data and memory of pairs go on
/// as with carom_world_set_shape, and what rests there wakes.
///
/// Where nothing but the body holds the field, it changes in place, and the call costs work near
/// the rectangle, whatever the size of the field. Release your own reference after
/// carom_world_add_body for that; such a field then shows its new heights to all who still look at
/// it. It is copied first, as by carom_create_edited_field, where somebody else holds it (another
/// body, a snapshot, a recording, the caller), where cloth is near, where it was loaded, or where
/// devices have it; and in part or in whole made again where a hole opens or closes, where the
/// least or largest coordinate changes, and where the ground has few facets, as a plain has.
///
/// CAROM_INVALID_BODY; CAROM_INVALID_ARGUMENT as of carom_create_edited_field, and where the shape
/// of the body is no height field, or the body has parts. On any failure nothing has changed.
CAROM_API carom_result carom_world_edit_field(carom_world *world, carom_body_id id,
	const carom_field_region *region, const float *heights);
/// Change the materials of the ground: give the height field of a body other materials in a
/// rectangle of its cells, of which there are one less than samples along either side. region
/// counts cells here: first_column and first_row are those of the first cell, columns and rows how
/// many. materials [2 * region->rows * region->columns] are two for each cell, row by row, as of
/// carom_create_painted_mesh; the numbers of walls and bottom follow. A field that had none has 0
/// elsewhere. Heights and holes stay: carom_world_edit_field changes them, and keeps materials.
///
/// The next step finds the results of a world in which the body had the painted field from the
/// beginning; ages, data and memory of pairs go on as with carom_world_set_shape, and bodies
/// at rest there wake. Queries see the numbers at once.
///
/// Where nothing but the body holds the field, as of carom_world_edit_field, it changes in place,
/// in time that goes by the rectangle; or by the field, where it has holes or the rectangle reaches
/// its border. Else it is copied first.
///
/// CAROM_INVALID_BODY; CAROM_INVALID_ARGUMENT names region or materials that is NULL and a side of
/// region beyond the cells, and where the shape of the body is no height field, or the body has
/// parts. On any failure nothing has changed.
CAROM_API carom_result carom_world_paint_field(carom_world *world, carom_body_id id,
	const carom_field_region *region, const uint32_t *materials);
/// Give a body with parts other parts [count], in place, as carom_world_set_shape does: move some,
/// attach an object to a gripper and let it go, break a piece off. count is from 1 to
/// carom_body_def.part_room; in a body without room to the number of parts that it has.
/// - A part is known by its number. Pairs of parts that stay go on; those of parts that are left
///   out end in the next step, and those of parts that come begin. So append a part that comes, and
///   let the last part take the number of one that goes.
/// - A part that was a body of its own is removed by carom_world_remove_body, before or after: its
///   pairs end, and those of the part begin with age 0.
/// - Where the body is A, contacts of a part whose pose in the body changes begin with age 0 and no
///   impulse.
/// - Parts that are equal to those before keep all that they have.
///
/// CAROM_INVALID_ARGUMENT, naming the argument or the field: parts is NULL, count is out of range,
/// carom_world_add_body would refuse a part, the body deforms or was added without parts. On any
/// failure nothing has changed.
CAROM_API carom_result carom_world_set_parts(
	carom_world *world, carom_body_id id, const carom_part *parts, int32_t count);
/// Change which bodies a body meets (carom_body_def.category, mask and group), from the next step
/// on. So a body is taken out for a while: with mask 0 and group 0 it meets no other body; a
/// deforming one still meets itself, if it has self_collision. Two bodies forget each
/// other with the first step in which they do not meet: ages, impulses, and the sides of surface
/// contacts. When they meet again, a feature belongs to the side on which it is then.
CAROM_API carom_result carom_world_set_filter(
	carom_world *world, carom_body_id id, uint64_t category, uint64_t mask, int32_t group);
/// The category, mask and group of a body, as set last.
CAROM_API carom_result carom_world_get_filter(
	const carom_world *world, carom_body_id id, uint64_t *category, uint64_t *mask, int32_t *group);
/// Change how a body takes part, from the next step on. Its kind, sensor, self_collision,
/// continuous, shape_impacts, contacts and thickness become those of traits; the other members of
/// traits are ignored. Begin with carom_world_get_body_def, and change some.
/// - Static, kinematic and dynamic bodies become each other. Other kinds stay.
/// - Pairs that go on keep their contacts' ages, impulses and data, and the sides of surface
///   contacts. Two bodies that no longer meet forget each other, as with carom_world_set_filter.
/// - Pairs of a sensor have no contacts, so contacts end where a body becomes one.
/// - A granular body that becomes continuous has its first way with the next
///   carom_world_set_spheres, and one that does not forgets the way of the coming step.
///
/// Fails with CAROM_INVALID_BODY; with CAROM_INVALID_ARGUMENT where carom_world_add_body would, and
/// for another kind. On any failure nothing has changed.
CAROM_API carom_result carom_world_set_traits(
	carom_world *world, carom_body_id id, const carom_body_def *traits);
/// Put bodies to sleep, or wake them: ids [count]. All are checked before the first one changes. A
/// body that sleeps does not move, and steps leave its pairs with other bodies at rest alone: those
/// asleep, and static ones that no call has changed since the last step. Such pairs cost nothing.
/// - Pairs that are left alone are not listed, and neither are their contacts. They do not end:
///   there is no CAROM_EVENT_END when they fall asleep, and no CAROM_EVENT_BEGIN when they wake.
/// - They go on when one of their bodies is awake in a step, with their data and with the ages and
///   impulses of their contacts. Ages grow meanwhile, as if the pairs had been looked at. A pair
///   that no longer touches then ends.
/// - A body that is awake has pairs with those asleep as with any other. So has a static one that a
///   call has changed, in the next step. None of this wakes anything: that is the solver's choice.
/// - A call that moves, reshapes or removes a body, or changes its filter or traits, wakes it. The
///   pose that it has already moves it not. So a body that was moved before this call is awake in
///   the coming step, at its new place, and sleeps from the step after it.
/// - Queries, impacts, spheres and surfaces see a body asleep as one that does not move.
///
/// New bodies are awake. Dynamic and kinematic bodies sleep; other kinds do not, and static ones
/// need not. CAROM_BROAD_SWEEP still sorts all bodies: CAROM_BROAD_TREE looks at those awake alone.
///
/// Fails with CAROM_INVALID_BODY; with CAROM_INVALID_ARGUMENT, naming the id, for another kind. The
/// next step may need memory: until it has succeeded for the pairs that fall asleep twice.
CAROM_API carom_result carom_world_set_asleep(
	carom_world *world, int count, const carom_body_id *ids, bool asleep);
/// Are bodies asleep? ids [count], asleep [count]. On failure, which names the id, none is written.
CAROM_API carom_result carom_world_get_asleep(
	const carom_world *world, int count, const carom_body_id *ids, bool *asleep);
/// A box (world frame) that holds a body at its present pose, with all of its parts; for a
/// deforming body the places of its vertices set last.
/// - For a mesh it is never larger than the box of the turned local box.
/// - A plane gives infinite sides.
/// - A mesh without triangles has no box: lower is INFINITY, upper -INFINITY.
CAROM_API carom_result carom_world_get_aabb(
	const carom_world *world, carom_body_id id, carom_aabb *box);

/// Let another place be the origin of the world: add offset, in metres, to all coordinates in the
/// world frame. A large world stays near its origin so, where places are finest. Nothing moves
/// against anything else.
/// - Poses move, those of the last step and of the beginning of the coming one, vertices, spheres,
///   and the points of the last step's contacts and impacts, as the views show them. Those views
///   stay valid. Bodies stay asleep or awake.
/// - The next step lists no pair as new for it: pairs, contacts and surface contacts go on with
///   their ages, impulses, sides and data. It finds no impact on the way.
/// - Each sum is rounded to a double, once. Where all sums are exact (of a whole offset, for places
///   that are multiples of 2^-20 below 2^30), vertices, spheres and poses lie against each other as
///   before, to the bit. A body with parts moves by its pose; its parts may round otherwise. Steps
///   work relative to bodies, so results differ from those at the old origin by rounding alone.
/// - Costs a pass over the world. The next step and the next query place all bodies once more.
///
/// CAROM_INVALID_ARGUMENT: an offset is not finite, or a body would come to lie where no call may
/// put it (the text names it). On failure nothing has changed.
CAROM_API carom_result carom_world_shift_origin(carom_world *world, const double offset[3]);

// ---- Deforming bodies ----
//
// A body of kind CAROM_DEFORMABLE or CAROM_CLOTH takes its triangles from a mesh, and the first
// places of its vertices from the mesh and the pose of its definition.
//
// Impacts. In each step vertices move on straight lines from where they are to where
// carom_world_set_vertices puts them, and the step reports every impact on the way
// (carom_world_impacts): within the body, with other deforming bodies, and with rigid meshes,
// moving or not. A rigid body moves from its pose at the last step to the present one as
// carom_motion says: its vertices follow their true arcs. With a body that turns, features come
// within one and a half times the tolerance. Impacts with shapes that are no meshes are a list of
// their own (carom_world_shape_impacts). Sensors have none.
//
// Contacts. A solid (CAROM_DEFORMABLE) also has contacts, pairs and events, with bodies of any
// shape and with other solids: those of a rigid mesh of its vertices at the end of the step.
// Contacts name its vertices and triangles by number, and are matched by these from step to step.
// Set carom_body_def.contacts to false where they are not wanted. With itself a solid has surface
// contacts (carom_body_def.thickness).
//
// Cost. The mesh for contacts is refitted in each step in which vertices were set and the box of
// the solid meets that of another body, for several such solids on all threads: O(n), and O(n log
// n) for the flat parts.

/// Say where the vertices of a deforming body are at the end of the coming step (end) and at its
/// beginning (begin). World frame, metres, one place for each vertex of the mesh, finite and at
/// most CAROM_MAX_COORDINATE.
/// - begin NULL: they start from where they are, which is where the last step ended or a call since
///   then put them.
/// - end NULL: the body is put at begin, and nothing is swept.
/// - The last call before a step counts. Without a call the body rests.
///
/// CAROM_INVALID_ARGUMENT names the field, and the first vertex at fault.
CAROM_API carom_result carom_world_set_vertices(
	carom_world *world, carom_body_id id, const carom_strided *begin, const carom_strided *end);

/// Give a deforming body another mesh, in place: where cloth tears, a solid is cut, or triangles
/// are refined. Its id, kind, filters and user data stay.
/// - from tells, for each vertex of the new mesh, which vertex of the present mesh it was; -1: it
///   is new. Several may have been one vertex. NULL: vertex i was vertex i, as far as there was
///   one.
/// - A vertex that was there keeps its places at the beginning and at the end of the coming step.
/// - A new vertex rests at its place in places (world frame, one for each vertex of the new mesh,
///   as for carom_world_set_vertices; entries of old vertices are ignored). places NULL: where the
///   pose of the body's definition puts it.
///
/// Surface contacts of features that are still there go on with age, side and impulse. A new vertex
/// belongs where the old one does that is nearest to it along the edges of the new mesh; its
/// contacts begin with age 0.
///
/// The next step finds all impacts of the new triangles. Where triangles and vertices are the old
/// ones, its search goes on from the last one. The impacts of the last step still name vertices and
/// triangles of the old mesh. The new mesh is retained, the old one released; a view of vertices
/// ends.
///
/// CAROM_INVALID_ARGUMENT or CAROM_INVALID_MESH, naming the field: carom_world_add_body would
/// refuse the mesh, the body is rigid, or the map or a place is bad. On any failure nothing has
/// changed.
CAROM_API carom_result carom_world_set_mesh(carom_world *world, carom_body_id id,
	const carom_mesh *mesh, const int32_t *from, const carom_strided *places);

/// Places of vertices: read-only. Valid until the body gets another mesh or is removed, or the
/// world is restored from a snapshot or destroyed. carom_world_set_vertices and
/// carom_world_shift_origin write new places into the memory of the view. A step changes none.
typedef struct carom_vertex_view {
	const double *data; ///< [3*count] world frame
	int32_t count;
} carom_vertex_view;

/// The places of a deforming body's vertices set last.
CAROM_API carom_result carom_world_get_vertices(
	const carom_world *world, carom_body_id id, carom_vertex_view *view);

/// How much of space a deforming body encloses.
typedef struct carom_enclosed {
	/// Cubic metres, at the places set last; negative: more of it is inside out than is not.
	double volume;
	double rest_volume; ///< cubic metres, of its mesh; never negative
	/// The volume is negative, and more than a fiftieth of that at rest. Then the triangles of a
	/// solid face inwards, and contacts and queries take it turned round: outward is where nothing
	/// is enclosed. Vertices, triangles and edges keep their names.
	bool inside_out;
} carom_enclosed;

/// Tell how much a deforming body encloses, so that a solver notices a solid that is squashed flat
/// or has been turned inside out. The volume is the sum of the signed volumes of the tetrahedra
/// below its triangles, in double. It is worked out when it is asked for, O(triangles). The places
/// set last alone decide: a step between changes nothing. Any thread, as a query.
///
/// CAROM_INVALID_BODY; CAROM_INVALID_ARGUMENT: the body does not deform, or its mesh is open, or
/// enclosed is NULL.
CAROM_API carom_result carom_world_get_enclosed(
	const carom_world *world, carom_body_id id, carom_enclosed *enclosed);

// ---- Granular bodies ----
//
// The pose of a definition of kind CAROM_GRANULAR only places its first spheres. From then on the
// pose of the body is the identity, and its spheres are in the world frame. Queries see its
// spheres one by one (carom/query.h). Speeds: docs/measured/spheres.md.

/// Say where the spheres of a granular body are, and how many it has: centres and radii of count
/// spheres, in the world frame, metres. They are copied, and may lie in the view of the body's own
/// spheres. radii NULL: radii stay as they were, and count must be as before. Values are checked
/// like those of a definition, before any is taken. CAROM_INVALID_ARGUMENT names the field and the
/// first sphere at fault; CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET. On any failure nothing has
/// changed.
///
/// In a continuous body sphere i comes from where sphere i was at the last step, or from where
/// carom_world_set_sphere_begins puts it. With another count than before the spheres are new: they
/// rest, and have no impacts with what rests.
///
/// Contacts go on by the numbers of the spheres, so this call must not take spheres out of the
/// middle, or put them into another order: carom_world_set_spheres_by_id does. Ids that a body has
/// stay while count does; with another count the ids are the numbers again.
CAROM_API carom_result carom_world_set_spheres(carom_world *world, carom_body_id id, int32_t count,
	const carom_strided *centres, const carom_strided *radii);

/// As carom_world_set_spheres, for spheres that come, go, or get another order: ids [count] tell
/// which is which. They are the caller's, each at most once in a body, in any order, and copied.
/// Spheres without ids have their numbers as ids.
/// - Contacts with other bodies keep age and impulse (carom_sphere_contact) by id: those of a
///   sphere that has got another number go on, and a new id has new contacts.
/// - In a continuous body a sphere comes from where the sphere of its id was; a new one rests.
/// - Results name numbers still: carom_sphere_view.ids tells the ids as they are set now.
///
/// An id that was left out and comes back before the next step is a new one. CAROM_INVALID_ARGUMENT
/// also where ids is NULL, two ids are equal, or radii is NULL and the ids are not those of before,
/// in their order. Cost: O(spheres), to sort by id; where all ids stay in their places, to compare
/// them.
CAROM_API carom_result carom_world_set_spheres_by_id(carom_world *world, carom_body_id id,
	int32_t count, const carom_strided *centres, const carom_strided *radii, const uint64_t *ids);

/// Say where the spheres of a continuous granular body begin the coming step, in the place of where
/// they were at the last one: begins of all its spheres as set last, [3*count], world frame,
/// metres, copied. So a solver lets spheres that it has stopped at an impact go on from there. It
/// lasts until the next step that succeeds; carom_world_set_spheres keeps it unless the count
/// changes. CAROM_INVALID_ARGUMENT: the body is not granular, or not continuous, or a place is not
/// usable (the first sphere at fault is named); CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET. On any
/// failure nothing has changed.
CAROM_API carom_result carom_world_set_sphere_begins(
	carom_world *world, carom_body_id id, const carom_strided *begins);

/// The spheres of a granular body: read-only. Valid until carom_world_set_spheres gives the body
/// more spheres, the body is removed, or the world is restored from a snapshot or destroyed.
typedef struct carom_sphere_view {
	const double *data; ///< [4*count] x, y, z, radius; world frame
	int32_t count;
	/// [count] as carom_world_set_spheres_by_id has set them; NULL: none were set, and the ids are
	/// the numbers
	const uint64_t *ids;
} carom_sphere_view;

/// The spheres of a granular body, as set last.
CAROM_API carom_result carom_world_get_spheres(
	const carom_world *world, carom_body_id id, carom_sphere_view *view);

// ---- Memory ----

/// Make room ahead for so many in all: parts of bodies (a body without parts counts as one), pairs
/// whose boxes come within an eighth of their size of each other, and contacts, before and after
/// they are reduced. For use before a level starts. The world may grow beyond them.
/// - carom_world_add_body then takes memory for its parts, vertices or spheres alone.
/// - Steps of a world of spheres, boxes, capsules, planes, hulls and their like then take none,
///   while no pair needs a mesh.
/// - It makes no such promise for other steps. The rays and triangles of a pair of meshes are known
///   once it was worked out; a box gets a mesh when it first meets one; bodies that deform,
///   granular and continuous ones have lists of their own. All these grow in the first steps and
///   stay. So make the heaviest step once before the level starts, and no later one like it takes
///   memory.
/// - The tree of more than 65,536 bodies gives the memory of its builds back, and takes it again.
///
/// carom_world_trim gives the room back. Views of the last step end. CAROM_INVALID_ARGUMENT: a
/// count is negative. CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET: some room may have been made; nothing
/// else has changed. Results do not depend on it.
CAROM_API carom_result carom_world_reserve(
	carom_world *world, int32_t parts, int32_t pairs, int32_t contacts);

/// Give back the memory that the content of the world does not need. A world keeps the memory of
/// its largest step, so that later steps need not ask for it again; call this when much has gone,
/// as after a level was streamed out.
/// - Bodies, vertices, results, the memory of pairs and the meshes of boxes stay. The memory that a
///   step or a query uses while it runs goes, and so do all trees and scenes, and the room that
///   arrays have grown ahead. The next step and the next query make theirs again, at the cost of
///   the first one.
/// - Bodies lie in an array by their ids: it reaches to the highest id that is in use. Numbers
///   behind that are given up. Free ones below it are given out again from the lowest on, so the
///   array shrinks as bodies come and go. So bodies added later may get other ids than in a world
///   that was not trimmed: worlds that shall stay equal are trimmed at the same time. Ids of
///   removed bodies stay void, and those of others stay valid.
/// - Apart from such ids, later results are those of a world that was not trimmed, bit for bit.
///   carom_stats tells other times and memory.
/// - Views end, those of spheres too: ask for them again. Snapshots stay good. Memory of a device
///   stays.
///
/// Recordings hold it. It cannot fail but by being called from inside a step or a write function
/// (CAROM_INVALID_ARGUMENT). Where there is no memory for a smaller copy of a list, that list stays
/// as it is. O(bodies + results + lists of pairs).
CAROM_API carom_result carom_world_trim(carom_world *world);

// ---- Step and results ----

/// Find all contacts at the present poses, and all impacts on the way since the last step. It moves
/// no body.
///
/// On failure the results of the last good step stay, with their views and counts; bodies stay
/// where they were put; and the step may be repeated. One thing is lost: all that pairs remember of
/// earlier steps (carom_world_def.temporal), so the next step works all of them out in full. That
/// takes longer, and may give other contacts than a step that does not follow a failure.
CAROM_API carom_result carom_world_step(carom_world *world);

#ifdef __cplusplus
}
#endif
#endif
