/// @file results.h
/// The results of a step: contacts, pairs, events, impacts, counts. They are plain records in views
/// that the world owns. Here are also the calls by which a solver hands data back for them. Threads
/// and errors: world.h.
#ifndef CAROM_RESULTS_H
#define CAROM_RESULTS_H

#include "carom/math.h"
#include "carom/spheres.h"
#include "carom/sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bodies, their contacts, and the results of the last step.
typedef struct carom_world carom_world;

/// A body in a world: an index that is used again after removal, and a generation that tells its
/// uses apart. All zero is the null id, which names no body.
typedef struct carom_body_id {
	uint32_t index1; ///< index + 1
	uint32_t generation;
} carom_body_id;

/// How a contact was found, and so what feature_a and feature_b number. "Patch": the contact is one
/// of a patch (CAROM_NORMAL_PATCH). "Ahead": its depth is negative
/// (carom_world_def.speculative_distance).
typedef enum carom_contact_kind {
	/// feature_a is a vertex of A, feature_b a triangle of B that its ray hit (or whose surface is
	/// nearer than the hit). Patch: the vertex lies below the facet of the triangle, or the facet
	/// of the vertex lies above the triangle. Ahead: the triangle is nearest to the vertex.
	CAROM_VERTEX_A,
	/// As CAROM_VERTEX_A, with A and B exchanged.
	CAROM_VERTEX_B,
	/// feature_a is an edge of A, as 3 * triangle + the corner where it starts; it crosses the
	/// surface of B where no ray hit (carom_world_def.long_edge_share). feature_b is the triangle
	/// of B that limits the part inside. Patch: the edge pierces B beside the facet of the patch,
	/// or crosses an edge of feature_b. At both ends of the part inside there may be such a
	/// contact: the two have one name, and are told apart by their places. Ahead: it is nearest to
	/// an edge of feature_b.
	CAROM_EDGE_A,
	/// As CAROM_EDGE_A, with A and B exchanged.
	CAROM_EDGE_B,
	/// Two triangles: they cross, and there is no inside to measure in (open meshes); or they are
	/// nearest where too many are ahead.
	CAROM_FACES,
	/// A pair with a body that is no mesh. Of two such bodies feature_a is the name of the point,
	/// and feature_b 0. Beside a mesh, the feature of the mesh is the number of its triangle, and
	/// that of the other shape the name. Where several triangles have a contact at one place that
	/// pushes one way, the features are those of the first. A point keeps its name as long as the
	/// same edges and corners of the two shapes make it; 0: it has none.
	CAROM_VOLUMES,
	/// Two edges of surfaces that are too near, each as 3 * triangle + the corner where it starts.
	/// Only a contact filter sees such contacts (carom_contact_filter_fn).
	CAROM_EDGES,
} carom_contact_kind;

/// A point in which two bodies touch, or nearly touch. A has the lower index. Points, normals and
/// impulses are in the world frame, lengths in metres.
///
/// The kind tells whose surface the point lies on, and where its partner on the other surface is.
/// Moving A by depth * normal, while B rests, brings the two together:
/// - CAROM_VERTEX_A, CAROM_EDGE_A and CAROM_VOLUMES: the point lies on A. Its partner on B is
///   point + depth * normal.
/// - CAROM_VERTEX_B and CAROM_EDGE_B: the point lies on B. Its partner on A is
///   point - depth * normal.
/// - CAROM_FACES: the point lies on both surfaces, where they cross; depth is how far A must move
///   until these triangles no longer cross. Ahead it lies on A, as that of CAROM_VERTEX_A.
///
/// The partner lies in the plane of the facet or edge that the depth is measured to. Where the
/// normal leads past the rim of a triangle or facet, the partner lies in that plane beyond the rim,
/// and the surface itself falls away from it.
typedef struct carom_contact {
	carom_body_id body_a;
	carom_body_id body_b;
	/// The vertex; or, of an edge, the middle of its part inside; or, of CAROM_VOLUMES, a point of
	/// A's surface in the patch. See above.
	double point[3];
	float normal[3]; ///< world, unit, from B towards A: the direction that takes A out
	float depth;     ///< metres along normal, to the partner; negative for speculative contacts
	int32_t feature_a;
	int32_t feature_b;
	carom_contact_kind kind;
	/// Steps since this contact began: 0 when new. A contact continues one of the last step that
	/// has its features, or else lay near it, or where it rolled from. For edges the place counts
	/// in either case (carom_world_def.match_distance). A contact that rolled here from another
	/// part may be older than its pair.
	int32_t age;
	/// The value that the solver stored last for this contact (carom_world_set_impulse), in the
	/// last step or an earlier one; 0 when it stored none or the contact is new. A solver that
	/// leaves a contact out may store 0.
	float impulse[3];
	int32_t pair; ///< index in the view of pairs
	/// The number that carom_mesh_def.materials gives to the triangle that is touched on A: a
	/// triangle that is the feature; the triangle by which an edge is named; for a vertex the
	/// lowest-numbered triangle with a corner at its place (triangles left out of detection come
	/// last). For a convex mesh feature_a may name any triangle of a flat facet; the material is
	/// then that of the facet's triangle at the contact, and of a hull that of its triangle there
	/// (carom_create_painted_mesh). 0 where A has no mesh, or one without materials: of other
	/// shapes the data of the body or part tells it (carom_part.user_data).
	uint32_t material_a;
	uint32_t material_b; ///< of B, likewise
	int32_t shape_a; ///< number of the part of A (carom_body_def.parts); 0 of a body without parts
	int32_t shape_b; ///< of B, likewise
} carom_contact;

/// Two bodies with contacts (or overlapping, if one is a sensor). Contacts ahead
/// (carom_world_def.speculative_distance) are contacts: such a pair begins before it touches.
/// - Of bodies with parts each two parts that touch are a pair of their own, with its contacts,
///   age, data and events: the pairs of two bodies stand side by side in the view. Contacts that
///   other parts of the same body cover are left out or turned (docs/bodies.md, "Flush parts"); two
///   parts that have no others are no pair.
/// - A pair has contacts of one kind: those of carom_world_contacts or, where a thick surface
///   (carom_body_def.thickness) takes part in it by that, one of the two kinds of surface contacts.
///   A granular body has sphere contacts with bodies of other kinds and pairs of spheres with
///   granular ones.
/// - A pair with a sensor has none: a surface touches one where it is nearer than its contacts
///   would be, or inside.
typedef struct carom_pair {
	carom_body_id body_a; ///< the lower index, or B itself: a body that touches itself
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	int32_t first_contact; ///< in the view of contacts
	/// 0 for sensors, surfaces and granular bodies. Of bodies with parts it may be 0 too, where a
	/// limit for two bodies (carom_world_set_body_pairs) leaves the contacts to other parts.
	int32_t contact_count;
	/// Contacts before reduction; 0 of sensors, surfaces and granular bodies.
	int32_t found_count;
	int32_t age;           ///< steps since the pair began: 0 when new
	/// The number that carom_world_set_pair_data stored, in this step or an earlier one of the
	/// pair; 0 when there is none.
	uint64_t user_data;
	int32_t shape_a; ///< number of the part of A (carom_body_def.parts); 0 of a body without parts
	int32_t shape_b; ///< of B, likewise
	int32_t first_surface_contact;       ///< in the view of surface contacts; 0 without any
	int32_t surface_contact_count;       ///< carom_world_surface_contacts
	int32_t first_surface_shape_contact; ///< in the view of those with shapes; 0 without any
	int32_t surface_shape_contact_count; ///< carom_world_surface_shape_contacts
	/// In carom_sphere_contact_view.by_pair; 0 without any. body_a of such a contact is the
	/// granular body, which may be body_b of the pair.
	int32_t first_sphere_contact;
	int32_t sphere_contact_count; ///< carom_world_sphere_contacts
	int32_t sphere_group;         ///< in carom_sphere_pair_view.groups; -1: none
	/// In the view of pairs of bodies; -1: the step listed none (carom_world_set_body_pairs).
	int32_t body_pair;
} carom_pair;

/// Whether a pair began in this step, went on, or ended with it.
typedef enum carom_event_kind {
	CAROM_EVENT_BEGIN,
	CAROM_EVENT_PERSIST,
	CAROM_EVENT_END
} carom_event_kind;

/// The fate of a pair in the last step.
typedef struct carom_event {
	carom_body_id body_a; ///< the lower index, or B itself
	carom_body_id body_b;
	uint64_t user_data_a; ///< as set last; of a body that was removed, as in the step before
	uint64_t user_data_b;
	carom_event_kind kind;
	int32_t pair; ///< index in the view of pairs; -1 for CAROM_EVENT_END
	/// carom_pair.user_data as it was before the step. With CAROM_EVENT_END the caller may free the
	/// data that it refers to.
	uint64_t pair_data;
	int32_t shape_a; ///< as in carom_pair
	int32_t shape_b;
} carom_event;

/// Two bodies that are a pair, or several pairs of parts: all their pairs and contacts in a world
/// that lists them (carom_world_set_body_pairs). It begins with the first pair of the two bodies
/// and ends with the last one, whatever becomes of the pairs between. Two bodies without parts are
/// one pair, with its age. Sensors and granular bodies, and surfaces that touch, have such pairs
/// too; their contacts of other kinds are found through the pairs of parts.
typedef struct carom_body_pair {
	carom_body_id body_a; ///< the lower index, or B itself: a body that touches itself
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	int32_t first_pair;    ///< in the view of pairs
	int32_t pair_count;    ///< at least 1
	int32_t first_contact; ///< in the view of contacts
	int32_t contact_count; ///< of all these pairs
	int32_t found_count;   ///< contacts before reduction, of all these pairs
	int32_t age;           ///< steps since the first of the pairs began: 0 when new
	/// The number that carom_world_set_body_pair_data stored, in this step or an earlier one of the
	/// pair of bodies; 0 when there is none. It is another one than carom_pair.user_data.
	uint64_t user_data;
} carom_body_pair;

/// The fate of a pair of bodies in the last step.
typedef struct carom_body_event {
	carom_body_id body_a; ///< the lower index, or B itself
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	carom_event_kind kind;
	int32_t body_pair; ///< index in the view of pairs of bodies; -1 for CAROM_EVENT_END
	/// carom_body_pair.user_data as it was before the step. With CAROM_EVENT_END the caller may
	/// free the data that it refers to.
	uint64_t pair_data;
} carom_body_event;

/// Views of the last good step's results: read-only, valid until the next step that succeeds or the
/// end of the world. All other calls, also those that remove bodies, leave them as they are, except
/// carom_world_set_impulse and its like, which write into their contact, and
/// carom_world_set_pair_data and carom_world_set_body_pair_data, which write into their pair; the
/// bodies that they name may be gone (carom_world_is_body).
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
typedef struct carom_body_pair_view {
	const carom_body_pair *data;
	int32_t count;
} carom_body_pair_view;
typedef struct carom_body_event_view {
	const carom_body_event *data;
	int32_t count;
} carom_body_event_view;

/// Contacts sorted by body_a, body_b, shape_a, shape_b, kind, feature_a, feature_b.
CAROM_API carom_contact_view carom_world_contacts(const carom_world *world);
/// Pairs sorted by body_a, body_b, shape_a, shape_b.
CAROM_API carom_pair_view carom_world_pairs(const carom_world *world);
/// One event for each pair of this step or the last, sorted as pairs are.
CAROM_API carom_event_view carom_world_events(const carom_world *world);
/// Pairs of bodies sorted by body_a, body_b; none without carom_world_set_body_pairs. The pairs and
/// contacts of each stand side by side in the other views: docs/bodies.md, "Pairs of bodies".
CAROM_API carom_body_pair_view carom_world_body_pairs(const carom_world *world);
/// One event for each pair of bodies of this step or the last, sorted likewise; none without
/// carom_world_set_body_pairs.
CAROM_API carom_body_event_view carom_world_body_events(const carom_world *world);

/// Two features that meet on their way through the step. Vertex against face: vertices[0] of body_a
/// hits the triangle of body_b with corners vertices[1..3]. Edge against edge: vertices[0..1] of
/// body_a, the lower one first, and vertices[2..3] of body_b, the lower one first; A has the lower
/// (body, edge). Numbers are those of the bodies' meshes.
typedef struct carom_impact {
	carom_body_id body_a, body_b; ///< equal for an impact within a body
	carom_sweep_kind kind;
	carom_sweep_status status;
	int32_t vertices[4];
	int32_t triangle; ///< of body_b, vertex against face; else -1
	double time;      ///< in the step, 0 to 1; never later than the true impact
	/// Of the vertices in the nearest points at time: those of each feature sum to 1.
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
/// body_b, shape_b, vertices. None is missed: docs/sweep.md states the promise.
CAROM_API carom_impact_view carom_world_impacts(const carom_world *world);
/// The earliest of these impacts (at equal times the first in order); NULL if there is none. Costs
/// nothing. Valid as long as the view.
CAROM_API const carom_impact *carom_world_earliest_impact(const carom_world *world);

// ---- Deforming bodies and shapes ----

/// Whether and when things that move meet.
typedef enum carom_toi_status {
	CAROM_TOI_APART,     ///< they stay farther apart than half the tolerance
	CAROM_TOI_IMPACT,    ///< clear before time, within the tolerance at it
	CAROM_TOI_TOUCHING,  ///< at time 0: overlapping, or within the tolerance
	CAROM_TOI_UNDECIDED, ///< out of steps: clear before time, unknown beyond; treat it as an impact
} carom_toi_status;

/// A feature of a deforming body that meets a rigid body whose shape is no mesh on its way through
/// the step: a sphere, a box, a capsule, any convex shape, a plane. Vertices move on straight
/// lines, the rigid body as carom_motion says, on true arcs. They meet when they come within
/// sweep.min_separation of each other, up to sweep.tolerance.
///
/// Each vertex that meets the shape is listed. A triangle that meets it with an edge or its face
/// first is listed by that feature; a point within a billionth of its longest edge of an edge or a
/// corner lies there. So no triangle that meets the shape is left out.
typedef struct carom_shape_impact {
	carom_body_id body_a; ///< the deforming one
	carom_body_id body_b; ///< the rigid one
	uint64_t user_data_a;
	uint64_t user_data_b;
	int32_t shape_b; ///< number of the part of B (carom_body_def.parts); 0 of a body without parts
	carom_toi_status status; ///< IMPACT, TOUCHING or UNDECIDED
	/// The feature: one vertex, both ends of an edge, lower first, or the corners of a triangle.
	/// Numbers are those of the body's mesh; -1: none.
	int32_t vertices[3];
	int32_t triangle;  ///< that has these corners; -1: the feature is no triangle
	double time;       ///< in the step, 0 to 1; never later than the true impact
	double weight[3];  ///< of these vertices in the nearest point at time; sum 1
	carom_vec3 point;  ///< of the shape, nearest to it then; world
	carom_vec3 normal; ///< unit, world, from B to A
	/// Between feature and shape at time, metres. Negative: they overlap at time 0, and moving the
	/// feature by -distance along the normal parts them.
	double distance;
} carom_shape_impact;

/// As the other views.
typedef struct carom_shape_impact_view {
	const carom_shape_impact *data;
	int64_t count;
} carom_shape_impact_view;

/// Impacts of deforming bodies with shapes in the last step, for bodies whose definition has
/// shape_impacts. Sorted by body_a, body_b, shape_b; then vertices, edges and triangles, each by
/// their numbers. Each feature is listed once. Sensors have none. Source of the method:
/// conservative advancement (Mirtich 1996).
CAROM_API carom_shape_impact_view carom_world_shape_impacts(const carom_world *world);
/// The earliest of these impacts (at equal times the first in order); NULL if there is none. A pass
/// over the view. Valid as long as the view.
CAROM_API const carom_shape_impact *carom_world_earliest_shape_impact(const carom_world *world);

// ---- Surface contacts ----
//
// Cloth, and solids against themselves, have surface contacts where carom_body_def.thickness is
// above 0. They are found at the places where the step ends: all features that are nearer than the
// thickness asks for, and all vertices and edges that are on the wrong side.
//
// The side of a contact is the one that its first feature came from. It is remembered from step to
// step, however deep a vertex goes, and learnt from impacts where something crosses within a step.
// So a solver that moves features along the normals, until each distance is the thickness, undoes
// a crossing instead of sealing it.
//
// Each nearest point of a surface is one contact. Where a vertex is nearest to an edge or corner
// between triangles, one of these triangles names the contact.
//
// Two bodies with surface contacts, and a body with contacts within it, are a pair in the views of
// pairs and events, with its age, data, begin and end (carom_pair).

/// Two features that are too near, or of which one has gone through the other's surface. Vertex
/// against face: vertices[0] of body_a and the triangle of body_b with corners vertices[1..3]. Edge
/// against edge: vertices[0..1] of body_a, lower first, and vertices[2..3] of body_b, lower first.
/// Numbers are those of the bodies' meshes.
typedef struct carom_surface_contact {
	carom_body_id body_a, body_b; ///< equal for a contact within a body
	uint64_t user_data_a;
	uint64_t user_data_b;
	int32_t shape_a; ///< number of the part whose mesh this is; 0 of a body without parts
	int32_t shape_b; ///< of body_b, likewise
	carom_sweep_kind kind;
	int32_t vertices[4];
	int32_t triangle; ///< of body_b, vertex against face; else -1
	/// Vertex against face: 1: the vertex belongs to the front of the surface (from where its
	/// triangles are counter-clockwise); -1: to its back; 0: it is beside the border of an open
	/// mesh. Edge against edge: 0.
	int32_t side;
	bool through; ///< the first feature is on the wrong side
	/// A vertex, an edge or a face of cloth leaves a closed mesh with the vertices around it, along
	/// one direction, which is the normal. The points are on this direction, and are not the
	/// nearest ones: where a vertex leaves the mesh, or the highest place of the mesh over an edge
	/// or a face. Else false.
	bool led;
	int32_t age;  ///< steps for which these two features have had a contact
	int32_t pair; ///< index in the view of pairs
	/// The value that the solver stored last for it (carom_world_set_surface_impulse), where these
	/// two features had a contact then, or the vertex had one with another triangle; else 0.
	float impulse[3];
	/// Nearest points: the first feature's weights sum to 1, the second's too.
	double weight[4];
	carom_vec3 point_a, point_b; ///< the nearest points, world
	/// Unit, world. Moving the first feature along it, or the second one against it, parts them,
	/// towards the side where the first one belongs. An edge of cloth at an edge of a closed mesh:
	/// along the line of the two points if that lies between the normals of the mesh's two faces
	/// there, else the normal of the face that the cloth's point is over.
	carom_vec3 normal;
	double distance;  ///< of the two along the normal, metres; negative: through
	double thickness; ///< the distance to be kept, metres: distance is below it
} carom_surface_contact;

/// As the other views.
typedef struct carom_surface_contact_view {
	const carom_surface_contact *data;
	int64_t count;
} carom_surface_contact_view;

/// Surface contacts of the last step between meshes, deforming or not, and within deforming bodies.
/// The contacts of a pair stand side by side: sorted by the lower index and its part, the higher
/// index and its part, kind, body_a, shape_a, vertices.
/// - A closed mesh that is no cloth holds cloth on its outside. A vertex of cloth that is inside,
///   and of which no step and no impact tells where it came in, is led out by the nearest point of
///   the surface: at the first step, after a body was put elsewhere, after it has grown. That way
///   out is remembered from then on. So each vertex inside has a contact that is through. Where
///   the nearest ways of vertices that edges connect point apart, these vertices are led out along
///   one direction (carom_surface_contact.led), and so are the faces around them that cross the
///   mesh, as long as anything there crosses.
/// - A vertex that goes through such a mesh within a step, or by and by, is led back to where it
///   came in, though it is outside again. It is at rest there once it has come back.
/// - So with edges and faces of cloth that cut such a mesh while their ends are outside. The
///   smaller part of the mesh that has come through faces goes back: its vertices are through the
///   faces. An edge goes out over the mesh, with its neighbours to one side: it is through the edge
///   of the mesh under which it lies deepest, and the points of this contact are where that is.
/// - In a plate that is thinner than the thickness a vertex has the face by which it goes out, and
///   not the opposite one.
/// - Within a body, features that are near in its own mesh are no contacts: two features keep at
///   most half of their distance there.
/// - Two edges count where both nearest points lie within them (else a vertex is as near) and the
///   edges are not parallel.
/// - Wind meshes consistently: a side does not pass between neighbouring triangles that are turned
///   against each other.
CAROM_API carom_surface_contact_view carom_world_surface_contacts(const carom_world *world);

/// A feature of a deforming body that is too near to a rigid body whose shape is no mesh, or inside
/// it. Each vertex that is nearer than the thickness asks for is listed; of each triangle whose
/// nearest point is on no corner, the edge or face that has it; and each triangle that overlaps the
/// shape. A nearest point within a billionth of the triangle's longest edge of an edge or a corner
/// lies there, so one place has one name and cloth that trembles keeps it.
///
/// A contact goes on from that of its feature in the last step. A new one takes over from one whose
/// feature has no contact any more, if the two features share a vertex and their places on the
/// surface are within carom_world_def.match_distance: where a place passes from a face to the next.
///
/// While a feature stays in a shape, the normal follows the nearest way out as long as that turns
/// by less than 60 degrees in a step. So a feature that is pushed into a thin plate goes back to
/// where it came from. A vertex that comes into a shape within a step leaves over the plane that
/// touches the shape where it came in, also once it is beyond the shape: then the distance is that
/// below this plane, and the point is on the plane. It does so until it is over the plane or comes
/// out on that side. Vertices that come to the shape for the first time and hang together with such
/// ones leave to their side. An edge or a triangle that passes a thin shape between its vertices
/// leaves by the normal where they first met. A plane has no other side. Features that begin in a
/// shape, hang together and have nearest ways out that point apart leave along one direction (led),
/// as in a sheet across the middle of a ball.
typedef struct carom_surface_shape_contact {
	carom_body_id body_a; ///< the deforming one
	carom_body_id body_b; ///< the rigid one
	uint64_t user_data_a;
	uint64_t user_data_b;
	int32_t shape_b; ///< number of the part of B (carom_body_def.parts); 0 of a body without parts
	/// The feature: one vertex, both ends of an edge, lower first, or the corners of a triangle.
	/// Numbers are those of the body's mesh; -1: none.
	int32_t vertices[3];
	int32_t triangle; ///< that has these corners; -1: the feature is no triangle
	/// The feature leaves the shape with the features around it, along one direction, which is the
	/// normal: moving it by -distance along that parts it from the shape. Else false.
	bool led;
	int32_t age;      ///< steps for which the contact has gone on
	int32_t pair;     ///< index in the view of pairs
	/// The value that the solver stored last for the contact that this one goes on from
	/// (carom_world_set_surface_shape_impulse), else 0.
	float impulse[3];
	double weight[3];  ///< of these vertices in the feature's nearest point; sum 1
	carom_vec3 point;  ///< of the shape's surface, nearest to it; world
	carom_vec3 normal; ///< unit, world, from B to A
	/// Metres. Negative: they overlap, and moving the feature by -distance along the normal parts
	/// them. So distance < 0 stands for carom_surface_contact.through.
	double distance;
	double thickness; ///< the distance to be kept, metres: distance is below it
} carom_surface_shape_contact;

/// As the other views.
typedef struct carom_surface_shape_contact_view {
	const carom_surface_shape_contact *data;
	int64_t count;
} carom_surface_shape_contact_view;

/// Surface contacts of the last step with shapes that are no meshes, sorted by body_b, shape_b,
/// body_a; then vertices, edges and triangles, each by their numbers.
CAROM_API carom_surface_shape_contact_view carom_world_surface_shape_contacts(
	const carom_world *world);

// ---- Granular bodies ----
//
// A granular body (CAROM_GRANULAR) consists of spheres that the caller moves, up to
// CAROM_MAX_SPHERES in a world. They have contacts with bodies of every other kind, and pairs with
// each other. Both are lists of their own: a million grains put no weight on the lists of bodies.
//
// A granular body and another body, two granular bodies, and a granular body whose spheres touch
// each other are a pair of the views of pairs and events, with its age, data, begin and end
// (carom_pair). Sensors have such pairs too, without contacts: as soon as a sphere touches them.

/// A sphere that touches a body of another kind, or comes within speculative_distance of it. It has
/// the contacts that a dynamic body of that sphere would have: one for each place where a concave
/// mesh comes nearest. Cloth has two sides and half its thickness on each: the sphere is held on
/// the side where its centre is.
typedef struct carom_sphere_contact {
	carom_body_id body_a; ///< the granular body
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	int32_t sphere;   ///< its number in body_a at the step (carom_sphere_view.ids tells its id)
	int32_t shape_b;  ///< number of the part of B (carom_body_def.parts); 0 of a body without parts
	int32_t triangle; ///< of B's mesh; -1: B is none
	uint32_t material_b; ///< of the triangle (carom_contact.material_b)
	/// Of the triangle's corners in the nearest point of B; sum 1, or 0 without a triangle. They
	/// share a force on B out to the vertices of a deforming body.
	double weight[3];
	carom_vec3 point;  ///< of the sphere, deepest in B; world
	carom_vec3 normal; ///< unit, world, from B to A
	double depth;      ///< metres along normal; negative for speculative contacts
	/// Steps since this contact first appeared: 0 when new. One of the same sphere and part goes on
	/// with the same triangle, unless its normal has turned by more than 90 degrees; else where its
	/// point has moved over the sphere by no more than match_distance and half of the radius (29
	/// degrees). So it goes on where a sphere rolls from triangle to triangle, and a small sphere
	/// that leaves one wall for another one has a new contact there. Spheres are told apart by
	/// their numbers, or by ids (carom_world_set_spheres_by_id).
	int32_t age;
	int32_t pair; ///< index in the view of pairs
	/// The value that the solver stored last for it (carom_world_set_sphere_impulse),
	/// else 0.
	float impulse[3];
} carom_sphere_contact;

/// As the other views.
typedef struct carom_sphere_contact_view {
	const carom_sphere_contact *data;
	int64_t count;
	/// [count] Numbers of contacts, where those of a pair stand side by side, by sphere
	/// (carom_pair.first_sphere_contact).
	const int32_t *by_pair;
} carom_sphere_contact_view;

/// Contacts of spheres in the last step, sorted by body_a, sphere, body_b, shape_b, triangle. A
/// pair filter is asked for each two bodies, a contact filter for each contact. Sensors have none.
CAROM_API carom_sphere_contact_view carom_world_sphere_contacts(const carom_world *world);

/// The pairs of spheres of two granular bodies, or of one.
typedef struct carom_sphere_group {
	carom_body_id body_a; ///< the lower index, or B itself
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	int64_t first_pair; ///< in the view's pairs
	int64_t pair_count;
	int32_t pair; ///< index in the view of pairs (carom_world_pairs)
} carom_sphere_group;

/// Valid as the other views. In a pair, a is the number of a sphere of body_a and b of one of
/// body_b; within one body a < b.
typedef struct carom_sphere_pair_view {
	const carom_sphere_group *groups;
	int64_t group_count;
	const carom_sphere_pair *pairs;
	int64_t pair_count;
} carom_sphere_pair_view;

/// Spheres that touch each other in the last step, or come within speculative_distance. Groups are
/// sorted by body_a, body_b; the pairs of each by a, b; each pair is listed once. Pairs within a
/// body are listed where its self_collision is set. None is missed: carom_spheres_find_pairs states
/// the promise.
CAROM_API carom_sphere_pair_view carom_world_sphere_pairs(const carom_world *world);

// ---- Continuous collision of rigid bodies ----
//
// Contacts are those at the poses at which a step ends. A body that is fast or thin may have
// passed through another one by then. With carom_body_def.continuous the step also looks at the
// way: each body moves from its pose at the last step (or from the beginning that
// carom_world_set_motions gave) to the present one, as carom_motion says, all at once.
//
// A continuous body is tested against every rigid body that it may have contacts with, of any
// shape, continuous or not, if one of the two moves. No impact is missed, however fast they go or
// turn: carom_time_of_impact (carom/collide.h) states the promise. Where bodies touch at the
// beginning, impacts are found between features that were apart, and where the two push on into
// each other. docs/continuous.md says how a solver uses them.
//
// A sphere of a continuous granular body is tested against all parts of other bodies, and against
// the spheres of its own body (carom_body_def.self_collision) and of other granular ones, on its
// straight way. Of its impacts with spheres the earliest is listed. Spheres of a granular body that
// is not continuous count as at rest, where they were set last. Spheres that touch each other at
// the beginning have an impact only where they get deeper by more than a quarter of the smaller
// radius.

/// Two bodies that meet on their ways through the step. Of bodies with parts each two parts that
/// meet are an impact of their own.
typedef struct carom_body_impact {
	carom_body_id body_a; ///< the lower index
	carom_body_id body_b;
	uint64_t user_data_a;
	uint64_t user_data_b;
	/// Number of the part of A (carom_body_def.parts), or of a granular body's sphere; 0: neither.
	/// Two spheres of one body: A and B are that body, and shape_a is below shape_b.
	int32_t shape_a;
	int32_t shape_b; ///< of B, likewise
	/// Never CAROM_TOI_APART.
	/// - CAROM_TOI_TOUCHING: they touch at the beginning, and the step leads neither deeper nor to
	///   other features of theirs. Contacts deal with it, so a solver does not stop for it.
	///   A sphere whose middle begins inside a closed mesh, rigid or deforming, touches it: the
	///   normal leads it out by the nearest point, and the distance says how far.
	/// - CAROM_TOI_IMPACT at time 0, or with a negative distance: they touch at the beginning and
	///   push on (docs/continuous.md).
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

/// Impacts of continuous bodies in the last step, sorted by body_a, body_b, shape_a, shape_b. Each
/// two parts have at most one: the first on their way. So have a sphere and a part. An impact of
/// two spheres is listed where it is the first impact with a sphere for one of them (at equal times
/// the one with the sphere that comes first), as if all went straight on until then.
CAROM_API carom_body_impact_view carom_world_body_impacts(const carom_world *world);
/// The earliest impact of a body, or with the null id that of all bodies (at equal times the first
/// in order); NULL if there is none. Impacts of sensors and CAROM_TOI_TOUCHING do not count. A pass
/// over the view. Valid as long as the view.
CAROM_API const carom_body_impact *carom_world_earliest_body_impact(
	const carom_world *world, carom_body_id id);

/// Where a contact acts on a body that deforms: corners of its surface, with weights. A way d of
/// the place that they make moves each corner by d * w[i] * m[i] / sum(w[k]^2 * m[k]), where m are
/// inverse masses; an impulse goes to each by its weight.
typedef struct carom_contact_corners {
	int32_t count;       ///< 1 to 3; 0 where the body does not deform
	int32_t vertices[3]; ///< of the body's mesh; 0 behind the first count
	double weights[3];   ///< from 0 to 1, their sum is 1; 0 behind the first count
} carom_contact_corners;

/// The corners of A and of B that the contacts first to first + count - 1 of the view
/// (carom_world_contacts) act on: corners_a, corners_b [count], each may be NULL. The corners are
/// those of the contact's feature, the weights those of the feature's nearest place to the point of
/// the contact, by the places of the vertices set last. So ask after the step, before vertices
/// move. A body that was removed or got another mesh since the step has none. Impacts and surface
/// contacts have weights of their own. O(count). CAROM_INVALID_ARGUMENT: there are not so many.
CAROM_API carom_result carom_world_get_contact_corners(const carom_world *world, int32_t first,
	int32_t count, carom_contact_corners *corners_a, carom_contact_corners *corners_b);

/// Store the impulse that a solver found for contact i of the view (world frame, N s); the contact
/// that matches it in the next step hands it back for a warm start. It is written into the view,
/// which stays valid: it may be walked while doing so.
CAROM_API carom_result carom_world_set_impulse(
	carom_world *world, int32_t contact, const float impulse[3]);

/// As carom_world_set_impulse, for a contact of carom_world_surface_contacts: the contact of its
/// two features in the next step hands it back. Where a vertex slides to another triangle of the
/// surface, its contact there hands it back. Where a body gets another mesh (carom_world_set_mesh),
/// the contact of each copy of the features does.
CAROM_API carom_result carom_world_set_surface_impulse(
	carom_world *world, int64_t contact, const float impulse[3]);
/// As carom_world_set_impulse, for a contact of carom_world_surface_shape_contacts.
CAROM_API carom_result carom_world_set_surface_shape_impulse(
	carom_world *world, int64_t contact, const float impulse[3]);
/// As carom_world_set_impulse, for a contact of carom_world_sphere_contacts, as long as its age
/// goes on.
CAROM_API carom_result carom_world_set_sphere_impulse(
	carom_world *world, int64_t contact, const float impulse[3]);

/// Store the impulses of all contacts of a view at once, in its order: impulses [3*count], where
/// count is that of the view. All are checked before the first one is stored.
/// CAROM_INVALID_ARGUMENT names the number at fault.
CAROM_API carom_result carom_world_set_impulses(
	carom_world *world, int64_t count, const float *impulses);
/// As carom_world_set_impulses, for carom_world_surface_contacts.
CAROM_API carom_result carom_world_set_surface_impulses(
	carom_world *world, int64_t count, const float *impulses);
/// As carom_world_set_impulses, for carom_world_surface_shape_contacts.
CAROM_API carom_result carom_world_set_surface_shape_impulses(
	carom_world *world, int64_t count, const float *impulses);
/// As carom_world_set_impulses, for carom_world_sphere_contacts (not by_pair).
CAROM_API carom_result carom_world_set_sphere_impulses(
	carom_world *world, int64_t count, const float *impulses);

/// Store a number of the caller's with pair i of the view; pairs of sensors too. The pair keeps it
/// in every step until it ends or the number is set again; the event of its end hands it back. A
/// pair that begins again begins with 0. It is written into the view as an impulse is.
CAROM_API carom_result carom_world_set_pair_data(
	carom_world *world, int32_t pair, uint64_t user_data);

/// As carom_world_set_pair_data, for a pair of bodies i of carom_world_body_pairs: two bodies keep
/// the number from the first pair of their parts to the last. CAROM_INVALID_ARGUMENT: there is no
/// such pair, or the world lists none.
CAROM_API carom_result carom_world_set_body_pair_data(
	carom_world *world, int32_t pair, uint64_t user_data);

/// A hash of the contacts and impacts of the last step, of every kind: equal for equal results.
/// Poses and ids count bit for bit, materials and numbers of parts where one is not 0. Impulses and
/// user data do not count.
CAROM_API uint64_t carom_world_hash(const carom_world *world);

/// Counts, times and memory of the last step.
typedef struct carom_stats {
	int64_t step; ///< steps done
	int32_t bodies;
	/// Pairs of overlapping world boxes that categories, masks and groups let pass, before the
	/// user's filter; at most INT32_MAX. A plane is paired with each body that is not wholly above
	/// it.
	int32_t box_pairs;
	int32_t narrow_pairs;    ///< of these, pairs whose oriented boxes overlap too
	int32_t colliding_pairs; ///< of these, pairs that touch
	int32_t surface_pairs;   ///< pairs of thick surfaces that touch; not among the others
	int32_t granular_pairs;  ///< pairs of granular bodies that touch; not among the others
	int64_t contacts_found;  ///< before reduction
	int32_t contacts;
	int64_t vertices_tested; ///< vertices reached by walking the trees
	/// Of these, outside the target's box or known to be outside its surface.
	int64_t vertices_culled;
	int64_t rays_full; ///< rays cast with the full algorithm
	/// Of these, rays of vertices outside, which are followed outward too: for speculative contacts
	/// or prediction.
	int64_t rays_outward;
	int64_t rays_iterative; ///< rays continued from the triangle of the last step
	/// Of the outward rays, those of pairs that remember their hits.
	int64_t rays_predictive;
	int64_t rays_lost; ///< iterative rays whose walk found nothing
	/// Iterative rays cast again in full (counted in rays_full too): lost ones; those without a
	/// place to begin; those that seem to have come out, unless the grid knows them to be outside.
	int64_t rays_recast;
	/// Of the full rays, those that were cast on a device (carom_world_set_device).
	int64_t rays_on_device;
	int64_t walks_on_device; ///< of the iterative rays, those whose walks were done there
	/// Of rays_on_device and walks_on_device, those that the device left to the processor, because
	/// rounding had to decide.
	int64_t rays_returned;
	int64_t tests_on_device; ///< of triangle_tests, those that were done there
	int64_t tests_returned;  ///< of these, those that rounding left open, for the processor
	/// Walks of the trees of two meshes there, which find triangles that are near each other.
	int64_t near_on_device;
	int64_t near_returned;    ///< of these, those that it left to the processor
	int32_t device_fallbacks; ///< times that the processor did a device's work in its place
	int64_t rays_missed;      ///< rays that the laboratory left out
	int64_t walk_steps;       ///< triangles visited by all walks
	int32_t backtracks;       ///< times that the laboratory did a stage again
	/// Pairs of meshes worked out in full: by the full algorithm, or because their surfaces showed
	/// that they are apart.
	int32_t pairs_full;
	int32_t pairs_iterative;  ///< pairs of meshes continued from the last steps
	int32_t pairs_apart;      ///< of these, pairs that were known to be apart and needed no test
	int64_t vertices_watched; ///< vertices near the other surface that pairs remember
	/// Pairs without a ray hit that were tested by their triangles, or, where both are small convex
	/// meshes, by their planes and edges.
	int32_t pairs_completed;
	int32_t pairs_crossing;  ///< of these, pairs whose surfaces intersect
	int64_t triangle_tests;  ///< pairs of triangles tested exactly
	int64_t impacts;         ///< of deforming bodies
	int32_t body_impacts;    ///< of continuous bodies (carom_world_body_impacts)
	int64_t toi_tests;       ///< pairs whose ways were looked at for these
	int64_t shape_impacts;   ///< of deforming bodies with shapes (carom_world_shape_impacts)
	int64_t shape_toi_tests; ///< features whose ways were looked at for these
	/// Of thick surfaces with meshes and with shapes (carom_world_surface_contacts).
	int64_t surface_contacts;
	int64_t sphere_contacts; ///< of granular bodies with other bodies
	int64_t sphere_pairs;    ///< of spheres with each other
	// Milliseconds of wall time.
	double ms_total;
	double ms_trees;  ///< poses, boxes
	double ms_pair;   ///< broad phase, relative transforms, oriented boxes
	double ms_vertex; ///< cull
	double ms_ray;
	double ms_complete;  ///< near triangles, crossings, speculative contacts, pairs of primitives
	double ms_merge;     ///< reduction, matching, events
	double ms_sweep;     ///< impacts
	double ms_surface;   ///< surface contacts
	double ms_spheres;   ///< contacts and pairs of spheres
	size_t memory;       ///< bytes the world holds
	size_t memory_peak;  ///< most it ever held
	size_t scratch_peak; ///< most that the per-step memory of all workers needed in one step
} carom_stats;

/// Counts and times of the last good step; zero before the first.
CAROM_API carom_stats carom_world_stats(const carom_world *world);
/// How the impacts of deforming bodies were found in the last good step; zero when no body deformed
/// in it.
CAROM_API carom_sweep_stats carom_world_sweep_stats(const carom_world *world);

// ---- Rays and nearest points (query.h, collide.h) ----

/// A ray in the world frame: the points origin + t * direction, t_min <= t <= t_max. direction need
/// not have unit length.
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
	/// Of a mesh; 0 for primitives; -1 of a batch's miss.
	int32_t triangle;
	float u, v;         ///< barycentric weights of the triangle's second and third corner
	bool back_face;     ///< hit from the inside
	int32_t shape;      ///< number of the part, or of a granular body's sphere; 0: neither
	uint32_t material;  ///< of the triangle (carom_mesh_def.materials); 0: it has none
	uint64_t user_data; ///< of the body; 0: there is none
} carom_ray_hit;

/// A point of a body's surface.
typedef struct carom_closest_point {
	carom_body_id body;
	carom_vec3 point;  ///< on the surface, world
	/// Outward, unit, world: point + distance * normal is the asked point. On the surface it is the
	/// surface's own; at an edge or a corner a mean.
	carom_vec3 normal;
	double distance; ///< negative when the asked point is inside the body
	int32_t triangle;
	int32_t shape;      ///< number of the part, or of a granular body's sphere; 0: neither
	uint32_t material;  ///< of the triangle (carom_mesh_def.materials); 0: it has none
	uint64_t user_data; ///< of the body; 0: there is none
} carom_closest_point;

#ifdef __cplusplus
}
#endif
#endif
