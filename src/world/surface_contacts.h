/// Surface contacts of a world: of thick cloth with everything, and of thick surfaces with
/// themselves.
///
/// surface_contacts.c owns the scene and the order of a step, surface_sides.c decides on which side
/// features belong, surface_passing.c for those that pass through closed meshes. surface_inside.c
/// finds vertices that begin inside closed meshes, surface_regions.c lets connected ones leave
/// together, surface_faces.c the faces around them; surface_cuts.c, surface_caps.c and
/// surface_arches.c find edges and faces that cut them. surface_ridges.c lets contacts of their
/// edges lead out. surface_shapes.c is for shapes that are no meshes, surface_shape_passing.c for
/// cloth that passes these, surface_shape_hanging.c for vertices that hang together with it,
/// surface_shape_regions.c for cloth that begins in them. surface_list.c puts contacts and pairs in
/// order, and surface_filter.c asks the user's filter. surface_carry.c keeps their memory where a
/// deforming body gets another mesh, surface_reshape.c where a rigid one gets another shape.
#ifndef CR_WORLD_SURFACE_CONTACTS_H
#define CR_WORLD_SURFACE_CONTACTS_H

#include "base/radix.h"
#include "carom/proximity.h"
#include "carom/world.h"
#include "contact/merge.h"
#include "math/box3.h"
#include "mesh/fans.h"
#include "surface/side.h"
#include "world/cut_lists.h"
#include "world/members.h"

typedef CR_ARRAY(carom_surface_contact) cr_surface_contact_list;
typedef CR_ARRAY(carom_surface_shape_contact) cr_surface_shape_contact_list;

/// Memory of contacts of parts that get another mesh or shape, in the numbers of these.
typedef struct cr_carried {
	cr_surface_contact_list contacts;
	cr_surface_shape_contact_list shapes;
} cr_carried;

/// A walk over the remembered contacts of a part (surface_carry.c).
typedef struct cr_carried_walk {
	int32_t part;
	int64_t at, end; // of the pair in hand
} cr_carried_walk;

static inline bool cr_is_zero(v3d v) { return v.x == 0 && v.y == 0 && v.z == 0; }

/// A vertex that belongs to one side of a surface, and where it is now.
typedef struct cr_belonging {
	int32_t mesh_a, mesh_b; // members of the scene
	int32_t vertex;         // of mesh_a
	int32_t triangle;       // of mesh_b, where the side was known
	cr_side side;
	bool through;  // it is not on its side now, or was not in the last step
	bool held;     // foot is where it came in: the nearest point is beyond (surface_passing.c)
	bool doubtful; // it came out at a face that looks to the side (surface_grazing.c)
	// When it came through the triangle in the step, if it did; negative: before the step.
	double entered;
	cr_foot foot; // of the vertex at the end of the step, as reached from there, or along lead
	v3d lead;     // unit: the way its region leaves a closed mesh; zero: by the nearest
} cr_belonging;

typedef CR_ARRAY(cr_belonging) cr_belongings;

/// Of one cloth that passes one closed mesh, by place of the cloth, as welded (surface_grazing.c).
typedef struct cr_grazing_lists {
	CR_ARRAY(uint32_t) roots; // of its set (base/union_find.h)
	CR_ARRAY(uint8_t) marks;
} cr_grazing_lists;

/// A vertex that may be inside a closed mesh.
typedef struct cr_vertex_inside {
	int32_t vertex;
	int32_t triangle; // of the mesh, nearest to it; -1: the vertex is outside
} cr_vertex_inside;

/// A vertex of a region of cloth inside a closed mesh (surface_regions.c).
typedef struct cr_region_vertex {
	int32_t vertex;
	int32_t began; // where it stands in the list of those that began inside; -1: it does not
} cr_region_vertex;

/// An edge of cloth with one end in a region.
typedef struct cr_region_edge {
	int32_t within, beyond;
} cr_region_edge;

typedef struct cr_region_lists {
	CR_ARRAY(int32_t) labels; // by vertex of the cloth
	CR_ARRAY(cr_region_vertex) vertices;
	CR_ARRAY(cr_region_edge) rim;
} cr_region_lists;

/// The highest place of a closed mesh over a face of cloth, along the way of the face.
typedef struct cr_led_top {
	double height;              // 0: there is none
	int32_t cloth[3], solid[2]; // the ends of two edges, lower first; or corners, and one vertex
	double cloth_weight[3], solid_weight[2];
} cr_led_top;

/// A face of cloth that crosses a closed mesh and leaves with a region (surface_faces.c).
typedef struct cr_led_face {
	int32_t cloth, solid, triangle;
	int32_t first_pierced, end_pierced; // where edges of the mesh that pierce it stand in pierced
	bool by_vertex;                     // top is a vertex of the mesh; else an edge of it
	v3d lead;                           // unit
	cr_led_top top;
} cr_led_face;

typedef struct cr_led_lists {
	CR_ARRAY(cr_led_face) faces; // by the lower and the higher member, then triangle
	CR_ARRAY(int32_t) order;     // of one pair
	CR_ARRAY(cr_key) pierced;    // edges of the mesh of one pair, by face; and room to sort
	cr_belongings ways;          // of vertices that leave with a region or have such a face: lead
} cr_led_lists;

/// How it is known by which way a feature leaves a shape that is no mesh.
typedef enum cr_shape_way {
	CR_SHAPE_WAY_OUTSIDE, // it does not overlap the shape, or that is a plane
	CR_SHAPE_WAY_KNOWN,   // by the last step
	CR_SHAPE_WAY_LED,     // by the last step, which led its region
	CR_SHAPE_WAY_BEGAN,   // by nothing but the nearest way
} cr_shape_way;

/// How it is known that a vertex is through a shape that is no mesh.
typedef enum cr_shape_entry_kind {
	CR_SHAPE_ENTRY_HELD,     // by the last step
	CR_SHAPE_ENTRY_NEW,      // it came in in this step
	CR_SHAPE_ENTRY_DOUBTFUL, // it came out beside its entry: through if the cloth around is
	CR_SHAPE_ENTRY_NEAR,     // it has come near, without a memory: likewise
	CR_SHAPE_ENTRY_DROPPED,  // it is not
} cr_shape_entry_kind;

/// A vertex of cloth that has come into a shape that is no mesh (surface_shape_passing.c).
typedef struct cr_shape_entry {
	int32_t part_b, part_a; // of the shape, of the cloth
	int32_t vertex;
	bool beyond;  // it is outside again, on the far side
	uint8_t kind; // cr_shape_entry_kind; once all are settled HELD or NEW
	v3d way;      // unit, world: out over the plane that touches the shape where it came in
} cr_shape_entry;

/// An edge or a triangle of cloth that has passed a shape between its vertices
/// (surface_shape_edges.c).
typedef struct cr_shape_pass {
	int32_t part_b, part_a; // of the shape, of the cloth
	int32_t vertices[3];    // of the feature, as in its contact
	int32_t triangle;
	int32_t by; // triangle whose way told; -1: the last step
	v3d way;    // unit, world: out
} cr_shape_pass;

/// A cloth and a shape that is no mesh, as features leave it (surface_shape_leaving.c).
typedef struct cr_shape_leaving {
	cr_placed of_cloth;
	cr_convex convex;
	m3d rotation;
	v3d position;
} cr_shape_leaving;

/// Regions of one cloth in one shape that is no mesh (surface_shape_regions.c).
typedef struct cr_shape_region_lists {
	CR_ARRAY(uint8_t) ways;   // cr_shape_way, by contact
	CR_ARRAY(uint32_t) roots; // by place of the cloth, as welded: of its region (base/union_find.h)
	CR_ARRAY(bool) inside;    // by place
	CR_ARRAY(cr_key) order;   // contacts by region, and room to sort
	CR_ARRAY(v3d) rim;        // of one region: unit, to corners outside
} cr_shape_region_lists;

/// Entries side by side of one kind, of features of two parts.
typedef struct cr_surface_run {
	int64_t first, end;
	carom_sweep_kind kind;
	int32_t part_a, part_b;
} cr_surface_run;

typedef CR_ARRAY(cr_surface_run) cr_surface_runs;

// Cosine of the angle by which the normal of a contact turns within a step at most, that of a
// vertex that slides as well.
#define CR_MOST_TURN 0.5
// Cosine up to which the place where a vertex leaves a body looks away from the one where it came
// in within the step: 60 degrees. Up to CR_AWAY that is doubtful: the cloth around tells. One that
// came in before may have begun in the body, where it may leave beside the nearest place.
#define CR_AWAY_WITHIN_STEP 0.5
#define CR_AWAY -0.25
// Cosine: a contact whose normal is farther from the way back would keep a vertex beyond the body.
#define CR_KEEPS_BEYOND 0.25

/// A contact with a shape of this step, and one of the last that it may take over from.
typedef struct cr_shape_partners {
	double distance; // of their places, metres
	int32_t now, then;
} cr_shape_partners;

/// Lists to match the contacts of one mesh with one shape (surface_shape_match.c).
typedef struct cr_shape_match_lists {
	CR_ARRAY(cr_key) left; // old contacts without a namesake, by vertex; and room to sort
	CR_ARRAY(cr_shape_partners) partners;
	CR_ARRAY(bool) taken; // by old contact
} cr_shape_match_lists;

typedef struct cr_surface_contacts {
	int32_t body_count;    // deforming bodies that ask
	carom_proximity *near; // NULL: none made
	cr_membership members;
	double reach; // of the search: the largest thickness
	// Of the step that runs:
	CR_ARRAY(int32_t) shapes;               // by shape of near: number of the part
	cr_belongings remembered;               // from contacts, sorted by mesh_a, mesh_b, vertex
	cr_belongings crossing;                 // from impacts, sorted likewise
	cr_belongings began;                    // of vertices deep in closed meshes, likewise
	cr_belongings beyond;                   // those of these two that have passed a mesh, likewise
	cr_grazing_lists grazing;               // of one cloth and closed mesh
	cr_belongings leads;                    // vertices led in the last step, likewise
	CR_ARRAY(cr_vertex_inside) inside;      // vertices that may be, of two members
	cr_region_lists regions;                // of one cloth inside one closed mesh
	cr_cut_lists cuts;                      // of cloth that crosses closed meshes
	cr_led_lists led;                       // faces that leave with regions
	cr_shape_region_lists shape_regions;    // of one cloth in one shape
	cr_shape_match_lists shape_match;       // of one mesh with one shape
	CR_ARRAY(cr_shape_entry) shape_entries; // by part_b, part_a, vertex
	CR_ARRAY(box3d) way_blocks;             // of one cloth
	CR_ARRAY(cr_shape_pass) shape_passes;   // by part_b, part_a, feature
	CR_ARRAY(int32_t) were_through;         // of one cloth and shape: vertices, by the last step
	CR_ARRAY(int32_t) entry_queue;          // entries whose neighbours are to be asked
	bool tangled;                           // one of these has come through
	bool leading;                           // some of those that began leave with their regions
	CR_ARRAY(uint8_t) listed;               // by pair of near: it is a contact
	cr_surface_contact_list judged;         // by pair of near, where it is listed
	cr_surface_contact_list deep;           // further ones, on the wrong side, in no order
	cr_surface_runs runs;                   // of the last contacts; then of pairs of near
	CR_ARRAY(cr_key) order;                 // of runs, of deep contacts, of pairs
	CR_ARRAY(cr_key) deep_order;
	CR_ARRAY(cr_body_pair) sensed; // sensors and the surfaces that touch them, a < b
	CR_ARRAY(cr_fans) fans;        // by member: for the filter, and of solids
	CR_ARRAY(uint8_t) kept;        // by contact: the filter lets it pass
	cr_surface_contact_list next;
	cr_surface_shape_contact_list next_shapes;
	cr_further_pairs pairs; // in order
	// Of the last good step, and the memory of sides of the next:
	cr_surface_contact_list found;
	cr_surface_shape_contact_list found_shapes;
	int64_t known, known_shapes; // as many of them as the next step remembers: all or none
	// Of bodies that have got other meshes or shapes since, in the numbers of these. A step puts
	// them in order.
	cr_surface_contact_list carried;
	cr_surface_shape_contact_list carried_shapes;
} cr_surface_contacts;

/// Finds them, into next and next_shapes; the impacts of the step were found. On failure those of
/// the last good step stay.
carom_result cr_find_surface_contacts(carom_world *world);
/// Lets each of them name its pair, once pairs have their rows.
void cr_number_surface_contacts(cr_surface_contacts *contacts);
/// Makes them those of the last good step. Cannot fail.
void cr_take_surface_contacts(cr_surface_contacts *contacts);
/// Let the next step remember no sides, as after no step. Results stay.
void cr_forget_sides(cr_surface_contacts *contacts);
/// Adds to a hash, which stays as it is where there are none.
uint64_t cr_hash_surface_contacts(const cr_surface_contacts *contacts, uint64_t hash);
/// Drop the scene: triangles of a body in it are others. The next step makes it again.
void cr_forget_surface_scene(cr_surface_contacts *contacts);
/// Give back the scene, and all memory but that of the results and of sides.
void cr_trim_surface_contacts(carom_context *memory, cr_surface_contacts *contacts);
void cr_surface_contacts_free(carom_context *memory, cr_surface_contacts *contacts);

// ---- Between these files ----

/// The distance that two bodies keep, half the sum of their thickness; 0: they have no surface
/// contacts. Filters are not asked.
double cr_kept_distance(const cr_body *a, const cr_body *b);
/// Is the body of a result of the last step still there, with the shape that it had? Gives its
/// part.
bool cr_is_still(const carom_world *world, carom_body_id id, int32_t shape, int64_t *part);
/// Are both bodies of a contact of the last step still there, with the shapes that they had, and do
/// category, mask and group still let them meet?
bool cr_is_remembered(const carom_world *world, const carom_surface_contact *contact);
/// A vertex of a body at a time of the step, on the straight line that impacts have it on.
v3d cr_vertex_at(const carom_world *world, int32_t part, int32_t vertex, double time);

/// May a pair of the search be a contact? A cr_near_keep_fn; user: the world (surface_sides.c).
bool cr_may_be_surface_contact(const void *user, const carom_proximity_pair *pair);
/// Contacts with meshes, from the pairs of a search: listed, judged, deep (surface_sides.c).
bool cr_judge_surface_pairs(carom_world *world, const carom_proximity_view *view);

// Vertices that pass through closed meshes (surface_passing.c). b names the vertex and the mesh:

/// From which side of its triangle the vertex of an impact came; NONE: the impact does not tell
/// (surface_sides.c). part: of the triangle.
cr_side cr_side_of_hit(const carom_world *world, int32_t part, const carom_sweep_hit *hit);
/// Has the vertex of an impact come through the closed mesh before, so that the impact does not
/// tell where it belongs? remembered and leads are there.
bool cr_is_hit_on_the_way(const carom_world *world, const cr_belonging *b, const carom_sweep_hit *hit);
/// Hold a vertex that has walked from the triangle where it came into a closed mesh, if it has come
/// beyond it: held and foot.
void cr_hold_at_entry(const carom_world *world, cr_belonging *b);
/// Has a vertex passed a closed mesh? It is beyond it.
bool cr_has_passed(const carom_world *world, const carom_proximity_view *view, const cr_belonging *b);
/// Has a vertex come in at its triangle in the step, and out at one that looks away, though it is
/// not held? Its walk found no way to the far side.
bool cr_has_gone_through(const carom_world *world, const cr_belonging *b);
/// Decide which doubtful vertices of the step's impacts have passed their meshes. The others are
/// not held, and stay marked as doubtful. False: out of memory. (surface_grazing.c)
bool cr_settle_doubtful(carom_world *world, const carom_proximity_view *view);
/// List the vertices that have passed closed meshes: beyond. remembered and
/// crossing tell. False when out of memory.
bool cr_list_beyond(carom_world *world, const carom_proximity_view *view);
/// The way back of such a vertex: unit; zero: it is none.
v3d cr_way_back(const carom_world *world, int32_t cloth, int32_t solid, int32_t vertex);
/// Is a face of a closed mesh, which a vertex of cloth is in front of, beyond the way of the
/// vertex?
bool cr_is_face_beyond(const carom_world *world, int32_t cloth, int32_t solid, int32_t vertex, int32_t triangle);
/// Would a contact of two edges along a normal keep such a vertex where it is?
bool cr_is_edge_beyond(const carom_world *world, const carom_proximity_pair *pair, v3d normal);
/// Would a new contact of two edges, which is through, lead an edge of cloth out against the way of
/// an end that was through in the last step?
bool cr_is_edge_on_the_way(const carom_world *world, int32_t mesh_a, int32_t mesh_b, const carom_surface_contact *c);
/// The side of a vertex of a closed mesh, as a triangle of cloth sees it that has such corners;
/// NONE: it has none.
cr_side cr_side_by_passing(const carom_world *world, int32_t solid, int32_t cloth, int32_t triangle);

// Members of the scene, belongings and pairs of the search (surface_sides.c, surface_inside.c):

const cr_body *cr_body_of_member(const carom_world *world, int32_t mesh);
cr_placed cr_placed_member(const carom_world *world, int32_t mesh);
/// Does the surface of mesh_b hold that of mesh_a on its outside?
bool cr_has_outside(const carom_world *world, int32_t mesh_a, int32_t mesh_b);
/// False when out of memory.
bool cr_append_belonging(carom_world *world, cr_belongings *list, const cr_belonging *b);
/// Walk to where the vertex is now.
void cr_walk_belonging(const carom_world *world, cr_belonging *b);
int cr_compare_belonging(const cr_belonging *b, int32_t mesh_a, int32_t mesh_b, int32_t vertex);
/// Where the belongings of a vertex to a surface begin in a list.
int64_t cr_first_belonging(const cr_belongings *list, int32_t mesh_a, int32_t mesh_b, int32_t vertex);
static inline bool cr_is_of_vertex(const carom_proximity_pair *a, const carom_proximity_pair *b)
{
	return a->kind == b->kind && a->mesh_a == b->mesh_a && a->mesh_b == b->mesh_b && a->vertices[0] == b->vertices[0];
}
static inline bool cr_is_nearer_pair(const carom_proximity_pair *a, const carom_proximity_pair *b)
{
	return a->distance2 < b->distance2 || (a->distance2 == b->distance2 && a->triangle < b->triangle);
}
/// The pair of a vertex with the nearest face among those from one on; -1: it has none.
int64_t cr_nearest_pair(const carom_proximity_view *view, int64_t first, const carom_proximity_pair *of);
/// The first pair of a vertex of mesh_a, or of a higher one, with faces of mesh_b.
int64_t cr_first_pair_of_vertex(const carom_proximity_view *view, int32_t mesh_a, int32_t mesh_b, int32_t vertex);
/// Find the vertices of cloth that are inside closed meshes, that no pair tells of, and that belong
/// nowhere there: began. False when out of memory.
bool cr_find_vertices_inside(carom_world *world, const carom_proximity_view *view);
/// A closed mesh, as a search for points inside it sees it.
typedef struct cr_closed_mesh {
	const carom_world *world;
	const cr_body *seen; // the mesh as queries see it; it may be torn: report.closed tells
	double lower[3], upper[3];
} cr_closed_mesh;
/// False when out of memory.
bool cr_see_closed_mesh(const carom_world *world, int32_t mesh, cr_closed_mesh *closed);
/// Is a point inside? The mesh is not torn.
bool cr_is_in_closed_mesh(const cr_closed_mesh *closed, v3d point);

/// Does a vertex of cloth belong somewhere on the surface of a closed mesh, and is it on the wrong
/// side there?
bool cr_is_known_inside(const carom_world *world, int32_t mesh_a, int32_t mesh_b, int32_t vertex);
/// Let connected vertices of a cloth that began inside a closed mesh leave one way, where their
/// nearest ways part. first: where those of this cloth and mesh begin in began, by vertex, up to
/// its end. False when out of memory (surface_regions.c).
bool cr_lead_regions(carom_world *world, const cr_closed_mesh *closed, int32_t mesh_a, int32_t mesh_b, int64_t first);
/// Did the last step lead vertices of a cloth out of a closed mesh with their regions?
bool cr_was_led(const carom_world *world, int32_t mesh_a, int32_t mesh_b);
// Cosine from which on a direction is along the way of a region: it goes out over its mesh, not
// through faces beside it.
#define CR_ALONG_LEAD 0.25
/// Let faces of cloth that cross closed meshes leave with the regions that they belong to: deep.
/// False when out of memory (surface_faces.c).
bool cr_lead_faces(carom_world *world);
/// NULL: the face does not leave with a region.
const cr_led_face *cr_find_led_face(const carom_world *world, int32_t cloth, int32_t solid, int32_t triangle);
void cr_free_led(carom_context *memory, cr_led_lists *lists);
/// Is an edge of cloth, through one of a closed mesh, of a vertex whose region leaves another way?
bool cr_is_beside_lead(const carom_world *world, int32_t mesh_a, int32_t mesh_b, const carom_surface_contact *c);
/// The way that a vertex of cloth leaves a closed mesh by with its region or face, in this step, or
/// did in the last one; zero: it has none.
v3d cr_lead_now(const carom_world *world, int32_t cloth, int32_t solid, int32_t vertex);
/// Is there such a vertex?
static inline bool cr_is_any_led(const cr_surface_contacts *m) { return m->leading || m->leads.count > 0; }
/// The way of a vertex in a list of belongings; zero: it has none.
v3d cr_lead_of_vertex(const cr_belongings *list, int32_t mesh_a, int32_t mesh_b, int32_t vertex);

/// Is it asked which triangles of two members cross? A cr_near_cut_fn; user: the world
/// (surface_cuts.c).
bool cr_may_be_cut(const void *user, int32_t mesh_a, int32_t mesh_b);
/// Find the vertices of closed meshes that have come through faces of cloth: began. False when out
/// of memory (surface_caps.c).
bool cr_find_caps(carom_world *world);
/// Is an edge of cloth through an edge of a closed mesh that it crosses, along a normal that does
/// not lead out there? Its piercing has passed from one face to the next (surface_ridges.c).
bool cr_is_beside_ridge(const carom_world *world, int32_t mesh_a, int32_t mesh_b, const carom_surface_contact *c);
/// Give a contact of an edge of cloth with one of a closed mesh a normal that leads out there, and
/// the distance along it. False: other features are nearer, and it is no contact. Contacts of other
/// surfaces stay as they are (surface_ridges.c).
bool cr_hold_in_cone(const carom_world *world, int32_t mesh_a, int32_t mesh_b, carom_surface_contact *c);
/// Append contacts of edges of cloth that go through closed meshes: deep. False when out of memory
/// (surface_arches.c).
bool cr_append_cut_edges(carom_world *world, const carom_proximity_view *view);
/// Sort belongings by meshes, vertex and triangle, each once.
void cr_sort_belongings(cr_belongings *list);
/// Fill all members of a contact except those that tell its features and place; and let it go on
/// from the contact of its features in the last step (surface_sides.c).
void cr_begin_surface_contact(const carom_world *world, int32_t mesh_a, int32_t mesh_b, carom_surface_contact *c);
void cr_continue_surface_contact(const carom_world *world, carom_surface_contact *c);

/// Make the fans of closed meshes that are no cloth and that may be asked about in this step: by a
/// pair, an impact, or a contact of the last step. So an answer does not depend on the steps
/// before. False when out of memory (surface_inside.c).
bool cr_see_solids(carom_world *world, const carom_proximity_view *view);
/// Is the face of pair i, which has its vertex at its back, on the far side of a closed mesh? The
/// vertex belongs elsewhere.
bool cr_is_far_face(const carom_world *world, const carom_proximity_view *view, int64_t i);
/// Is the edge of a closed mesh on its far side, likewise? normal: of the contact.
bool cr_is_far_edge(const carom_world *world, const carom_proximity_view *view, const carom_proximity_pair *pair, v3d normal);
/// Would a contact along a normal hold an edge of cloth, of which an end is through a closed mesh,
/// on the wrong side?
bool cr_is_way_back_against(const carom_world *world, const carom_proximity_pair *pair, v3d normal);
/// Make the fans of a part's mesh, unless there are some. False when out of memory
/// (surface_filter.c).
bool cr_make_surface_fans(carom_world *world, int32_t part);

/// Contacts with shapes, likewise: next_shapes, and sensed (surface_shapes.c).
bool cr_judge_surface_shapes(carom_world *world, const carom_proximity_view *view);
/// The way out of a shape that a feature of a contact had in the last step, or else a vertex of it.
/// One of them had one.
v3d cr_last_way_out(const carom_world *world, int32_t part, const carom_surface_shape_contact *c);
/// The contact of a vertex and a shape in the last step; NULL: there was none.
const carom_surface_shape_contact *cr_last_of_shape_vertex(
	const carom_world *world, int32_t part_a, int32_t part_b, int32_t vertex);
/// Find the vertices that have come into shapes, and have not come out on their side:
/// shape_entries. False when out of memory (surface_shape_passing.c).
bool cr_find_shape_entries(carom_world *world);
/// Put entries in order by part_b, part_a and vertex, each vertex once.
void cr_sort_shape_entries(cr_surface_contacts *contacts);
/// Settle them by the cloth around each: vertices that have no memory of a side take that of the
/// entries that they hang together with. False when out of memory (surface_shape_hanging.c).
bool cr_settle_shape_entries(carom_world *world, const carom_proximity_view *view);
/// Is a vertex, at its place at the end of the step, below the plane that touches a shape and
/// stands across a way (world)? *outside: it is out of the shape there. *depth: below the plane.
bool cr_is_below_entry(
	const carom_world *world, int32_t part_a, int32_t part_b, int32_t vertex, v3d way, bool *outside, double *depth);
/// Is a part a shape that is no mesh, which cloth can pass? Of two parts: do they meet?
bool cr_can_be_passed(const cr_body *part);
bool cr_may_pass(carom_world *world, int32_t part_a, int32_t part_b);
/// Did a region of the cloth leave the shape in the last step?
bool cr_was_shape_led(const carom_world *world, int32_t part_a, int32_t part_b);
/// Find the edges and triangles that have passed shapes between their vertices: shape_passes. The
/// entries are settled. False when out of memory (surface_shape_edges.c).
bool cr_find_shape_passes(carom_world *world);
/// That of a contact's feature; NULL: it has none. around: or else one that shares a vertex with it
/// and whose way is nearest to the contact's normal.
const cr_shape_pass *cr_pass_of(const carom_world *world, int32_t part_b, const carom_surface_shape_contact *c, bool around);
/// The cloth and the shape at the end of the step (surface_shape_edges.c).
cr_shape_leaving cr_leaving_of(const carom_world *world, int32_t part_a, int32_t part_b);
/// How far a feature has to go along a direction to be clear of the shape. False: it comes nowhere
/// to it, and *by is to beyond it all (surface_shape_leaving.c).
bool cr_leave_shape(const cr_shape_leaving *out, const carom_surface_shape_contact *c, v3d direction, double *by);
/// Let a contact lead its feature along a direction until it is clear: distance, point, normal and
/// weights.
void cr_lead_out_of_shape(const cr_shape_leaving *out, v3d direction, carom_surface_shape_contact *c);
/// The signed distance of a feature and the shape, with the normal towards the feature.
double cr_gap_of_feature(const cr_shape_leaving *out, const carom_surface_shape_contact *c, v3d *normal);
static inline int cr_corners_of(const carom_surface_shape_contact *c)
{
	return c->vertices[1] < 0 ? 1 : c->vertices[2] < 0 ? 2 : 3;
}
/// The entry of a vertex; NULL: it has none.
const cr_shape_entry *cr_entry_of(const carom_world *world, int32_t part_a, int32_t part_b, int32_t vertex);
/// That of a feature's vertices whose way is nearest to the contact's normal; NULL: there is none.
const cr_shape_entry *cr_entry_of_feature(const carom_world *world, int32_t part_b, const carom_surface_shape_contact *c);
/// Would a contact of a feature that is outside a shape keep a vertex of it beyond?
bool cr_keeps_beyond(const carom_world *world, int32_t part_b, const carom_surface_shape_contact *c);
/// Let features of a cloth that overlap a shape leave it one way, where they began there and their
/// nearest ways part. Contacts of the two are in next_shapes from first on, and their ways in
/// shape_regions. goes_on: some were led in the last step. False when out of memory
/// (surface_shape_regions.c).
bool cr_lead_shape_regions(carom_world *world, int32_t member, int32_t part, int64_t first, bool goes_on);
void cr_free_shape_regions(carom_context *memory, cr_shape_region_lists *lists);
/// The contacts of the last step between the body and the shape of this one, and how many; NULL:
/// there are none that count, not counting those that were carried over from other meshes.
const carom_surface_shape_contact *cr_last_shape_contacts(
	const carom_world *world, const carom_surface_shape_contact *c, int64_t *count);
/// The normal of a contact of the last step where the shape has turned to since. part: the shape's.
v3d cr_shape_normal_now(const carom_world *world, int32_t part, const carom_surface_shape_contact *last);
/// Let the contacts of a mesh with a shape, which are in next_shapes from first on, take over from
/// those of the last step with other names at nearly their places. False when out of memory
/// (surface_shape_match.c).
bool cr_match_shape_contacts(carom_world *world, int32_t part, int64_t first);
void cr_free_shape_match(carom_context *memory, cr_shape_match_lists *lists);
/// Do two parts have surface contacts with each other, as their kinds, flags and the user's filter
/// of pairs say? Sensors have none, but their pairs go by it too. Category, mask and group are not
/// asked (surface_contacts.c).
bool cr_may_surfaces_touch(carom_world *world, int32_t part_a, int32_t part_b);

/// What a contact takes over from that of its features in the last step, whose members these are;
/// NULL: there was none.
static inline void cr_go_on(const int32_t *age, const float *impulse, int32_t *new_age, float new_impulse[3])
{
	*new_age = age ? cr_next_age(*age) : 0;
	for (int k = 0; k < 3; k++)
		new_impulse[k] = impulse ? impulse[k] : 0;
}

/// The part of a contact's first and second feature.
static inline int32_t cr_part_a_of(const carom_surface_contact *c) { return (int32_t)c->body_a.index1 - 1 + c->shape_a; }
static inline int32_t cr_part_b_of(const carom_surface_contact *c) { return (int32_t)c->body_b.index1 - 1 + c->shape_b; }
static inline int cr_compare_numbers(int64_t a, int64_t b) { return a < b ? -1 : a > b; }
/// The order of the view of surface contacts: by the lower part, the higher part, kind, part of the
/// first feature, vertices (surface_list.c).
int cr_compare_surface_contacts(const carom_surface_contact *a, const carom_surface_contact *b);
/// The order of the view of contacts with shapes (surface_shapes.c).
int cr_compare_surface_shape_contacts(const carom_surface_shape_contact *a, const carom_surface_shape_contact *b);
/// Where the contacts of the pair of one end, of count in order. O(log of their number).
int64_t cr_end_of_surface_pair(const carom_surface_contact *contacts, int64_t begin, int64_t count);
int64_t cr_end_of_surface_shape_pair(const carom_surface_shape_contact *contacts, int64_t begin, int64_t count);
/// The runs of vertices against faces among the contacts of the last step, sorted by part_a and
/// part_b: order names them, in runs. False when out of memory.
bool cr_list_last_runs(carom_world *world);
/// Sort contacts in the order of the view, each once. False when out of memory (surface_list.c).
bool cr_put_in_order(carom_world *world, cr_surface_contact_list *contacts);
/// Sort contacts with shapes likewise (surface_shapes.c).
bool cr_put_shapes_in_order(carom_world *world, cr_surface_shape_contact_list *contacts);
/// Put judged and deep contacts into next, in the order of the view, each once. False when out of
/// memory.
bool cr_order_surface_contacts(carom_world *world, const carom_proximity_view *view);
/// List the pairs of next, of next_shapes and of sensed, once the filter has left contacts out.
/// False when out of memory.
bool cr_list_surface_pairs(carom_world *world);
/// Let contacts of vertices that have slid to another triangle take over the impulse of one with a
/// triangle that they have left. Parallel (surface_list.c).
void cr_follow_impulses(carom_world *world);
/// A further pair of two parts, in either order, without contacts.
cr_further_pair cr_pair_of_parts(int32_t part_a, int32_t part_b);
bool cr_append_further_pair(carom_world *world, cr_further_pairs *pairs, const cr_further_pair *pair);
/// Put further pairs in order, each once. False when out of memory.
bool cr_sort_further_pairs(carom_world *world, cr_further_pairs *pairs);
/// Note a sensor and a surface that touches it. False when out of memory.
bool cr_note_sensed(carom_world *world, int32_t part_a, int32_t part_b);
/// Leave out the contacts of pairs that the user's filter, which there is, refuses, and pairs that
/// have none left. False when out of memory (surface_filter.c).
bool cr_filter_surface_contacts(carom_world *world);

// ---- Memory that is carried over (surface_carry.c) ----

/// Is there any memory of sides?
static inline bool cr_has_surface_memory(const cr_surface_contacts *m)
{
	return m->known + m->known_shapes + m->carried.count + m->carried_shapes.count > 0;
}
/// The part of the rigid body in a contact with a shape.
static inline int32_t cr_shape_part_of(const carom_surface_shape_contact *c)
{
	return (int32_t)c->body_b.index1 - 1 + c->shape_b;
}
/// The next contact of the last step that is of the walk's part and would be remembered; NULL:
/// there are no more.
const carom_surface_contact *cr_next_remembered(const carom_world *world, cr_carried_walk *walk);
const carom_surface_shape_contact *cr_next_remembered_shape(const carom_world *world, cr_carried_walk *walk);
/// False when out of memory.
bool cr_emit_carried(carom_context *memory, cr_carried *carried, const carom_surface_contact *contact);
bool cr_emit_carried_shape(carom_context *memory, cr_carried *carried, const carom_surface_shape_contact *contact);
/// Append the memory of a part that gets other faces. from: as carom_world_set_mesh maps vertices;
/// both surfaces have their places. False when out of memory.
bool cr_carry_surface_contacts(
	carom_world *world, int32_t part, const cr_surface *old, const cr_surface *made, const int32_t *from, cr_carried *carried);
/// Append the memory of a rigid part that gets another shape, and would have ended the last step at
/// a pose. False when out of memory (surface_reshape.c).
bool cr_carry_to_new_shape(carom_world *world, int32_t part, const cr_shape *now, const carom_pose *last, cr_carried *carried);
/// Make room for it. False when out of memory.
bool cr_reserve_carried(carom_context *memory, cr_surface_contacts *contacts, const cr_carried *carried);
/// Remember it, once that of its parts was dropped, and free the lists. Cannot fail.
void cr_take_carried(carom_context *memory, cr_surface_contacts *contacts, cr_carried *carried);
void cr_free_carried(carom_context *memory, cr_carried *carried);
/// A part has got another shape: the memory carried over of it holds no longer.
void cr_drop_carried(cr_surface_contacts *contacts, int32_t part);
/// Likewise of all parts that are no body's any more.
void cr_drop_carried_of_dead(carom_world *world);
/// Put memory that was carried over in order. False when out of memory.
bool cr_sort_carried(carom_world *world);
/// Forget the edges of members: they may be others.
void cr_drop_surface_fans(carom_context *memory, cr_surface_contacts *contacts);

#endif
