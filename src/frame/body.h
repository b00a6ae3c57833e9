/// Bodies as detection sees them: a flat array in the world, indexed by body number.
#ifndef CR_FRAME_BODY_H
#define CR_FRAME_BODY_H

#include "base/array.h"
#include "bvh/collider.h"
#include "carom/world.h"
#include "math/box3.h"
#include "mesh/facets.h"
#include "mesh/hull.h"
#include "mesh/support_map.h"
#include "surface/surface.h"

/// The source of a mesh of carom_create_height_field. No columns: the mesh is none.
typedef struct cr_field {
	int32_t columns, rows;
	double spacing[2];
	double bottom;
	uint8_t *holes; // [columns*rows] 1: the height is NaN; NULL: none is
} cr_field;

/// The further parts of a mesh whose vertices move from step to step (world/moved_mesh.c).
typedef struct cr_moving {
	cr_fans fans;    // for its normals, which are worked out when they are asked for
	int32_t *welded; // [welded_count] vertices that are welded to another one
	int32_t welded_count;
	bool strays; // some vertices belong to no triangle
	double cost; // of the tree of the mesh at rest, by the surface area heuristic
} cr_moving;

/// The mesh that users hold (carom_mesh).
struct carom_mesh {
	carom_context *context;
	atomic_int references;
	carom_mesh_report report;
	carom_mesh_sides sides;
	carom_mesh_build build; // of the trees
	cr_topology topology;
	cr_facets facets;
	uint32_t *materials; // [triangle_count] the caller's numbers; NULL: all 0
	// [vertex_count] beside materials: of the lowest-numbered used triangle at the vertex's place
	uint32_t *vertex_materials;
	bool one_material; // all numbers of materials are equal
	// [3*vertex_count] the vertices as they were given, where a float does not hold one of them;
	// else NULL
	double *exact;
	cr_collider collider;
	cr_hull_data *hull; // of carom_create_hull; else NULL
	// of a mesh whose vertices stay, if it is neither coarse nor large; else NULL
	cr_support_map *support;
	cr_field field; // of carom_create_height_field; else empty
	// Of a mesh that was loaded, copied, or packed for being small (world/baked.c): its arrays lie
	// in one block.
	size_t baked_bytes; // 0: they lie each for itself
	void *baked;        // the block, where it belongs to the mesh; else NULL
	bool edited;        // facets, and some arrays of the grid, lie beside the block
	cr_moving *moving;  // of a mesh whose vertices move; else NULL
	// a reference: the mesh whose arrays it shares but for those that follow the places of its
	// vertices; else NULL
	carom_mesh *shared;
	// of edges that are real to contacts; 0: not measured yet (contact/contact_vertices.c). A mesh
	// whose vertices were elsewhere before has that of the mesh it was made of: it may not depend
	// on when it is asked for
	_Atomic float longest_edge;
	bool is_displaced; // its vertices were elsewhere before: its edges may be longer
	carom_vec3 centre; // carom_mesh_def.centre: vertices are about it
};

/// Types of shapes that are treated alike (shape_table.h).
typedef enum cr_family {
	CR_FAMILY_ROUND, // sphere, capsule
	CR_FAMILY_BOX,
	CR_FAMILY_PLANE,
	CR_FAMILY_MESH,
	CR_FAMILY_CONVEX, // hull, cylinder, cone, ellipsoid, and whatever is rounded
	CR_FAMILY_COUNT,
} cr_family;

/// A shape with the data that detection derives from it.
typedef struct cr_shape {
	carom_shape def;
	cr_family family;
	bool centred; // the form of a solid: its local box lies about the origin
	// the form of a solid that is inside out: second and third corner of each triangle of the
	// user's mesh have changed places
	bool turned;
	// A reference: the user's mesh or hull, or for boxes one of their own, once they have met a
	// mesh; NULL for the others.
	carom_mesh *mesh;
	// of the mesh, and NULL without; NULL for hulls, whose contacts are not made by it
	const cr_collider *collider;
} cr_shape;

typedef struct cr_deforming_view cr_deforming_view;

/// Where the vertices of a deforming body are, world frame (world/deforming.c).
typedef struct cr_deforming {
	cr_surface surface;
	const carom_mesh *mesh;  // at rest: the body's
	carom_mesh *turned;      // that mesh turned round, once the body was inside out; else NULL
	cr_deforming_view *view; // its form for queries
	// A solid's form for contacts (world/solids.c): a mesh of its own about the middle of its box.
	cr_shape form;
	uint32_t form_revision; // of the surface that the last step's form was made for; 0: none
	// of the surface whose places the mesh of a form that may be refitted has; 0: of none. A query
	// may be ahead of the step.
	uint32_t form_places;
	bool form_refits; // the mesh may follow other places (cr_refit_moved_mesh)
	// held while a query refits the form or makes its facets, which are put off, or while the mesh
	// is turned round
	atomic_flag form_lock;
	bool needs_form;   // in this step: it has none that is up to date, and meets a body
	bool needs_facets; // in this step: those of the form are put off, and a pair asks for them
	// of a solid during a step, which sees the form in their place: what the body is between steps
	cr_shape shape;
	carom_pose pose;
} cr_deforming;

/// Where spheres come from in the coming step.
typedef enum cr_way {
	CR_WAY_NONE,  // they rest
	CR_WAY_KNOWN, // from begin
	CR_WAY_NEW,   // they are others than at the last step, and rest
} cr_way;

/// A number for each sphere.
typedef CR_ARRAY(int32_t) cr_sphere_numbers;

/// The spheres of a granular body, world frame (world/sphere_bodies.c).
typedef struct cr_granular {
	int32_t count;
	CR_ARRAY(double) spheres; // [4*count] x, y, z, radius
	CR_ARRAY(double) begin;   // [3*count] of a continuous body, where the coming step begins
	uint8_t way;              // a cr_way
	CR_ARRAY(uint64_t) ids;   // [count]; empty: their numbers
	// [count] the number of each sphere at the last step, -1: it was not there. Empty: as now
	cr_sphere_numbers was;
	box3d bounds;               // of all; none: lower above upper
	double largest;             // radius; 0 of none
	struct cr_box_index *index; // over them, for queries (world/box_index.h)
} cr_granular;

/// Where a sphere comes from in the coming step [3].
static inline const double *cr_sphere_from(const cr_granular *g, int64_t number)
{
	return g->way == CR_WAY_KNOWN ? &g->begin.data[3 * number] : &g->spheres.data[4 * number];
}

/// The parts of a body that was given some. The body and snapshots share it.
typedef struct cr_compound {
	int32_t references;
	int32_t count;
	int32_t room;      // numbers that the body keeps: count at least
	bool grows;        // the caller gave the room: numbers of parts that go stay with the body
	carom_pose pose;   // of the body, set last
	carom_part part[]; // [count] with poses normalised
} cr_compound;

/// How the shape of a part has changed since the last step.
typedef enum cr_reshaping {
	CR_SHAPE_KEPT,
	// a solid whose vertices have moved: its vertices and triangles are the old ones
	CR_SHAPE_MOVED,
	CR_SHAPE_REMADE,  // a solid with another mesh of the old vertices and triangles
	CR_SHAPE_CHANGED, // another shape in the same frame: a place on the body still means something
	CR_FRAME_CHANGED, // the part has another pose in its body too
} cr_reshaping;

/// Where a part comes from that is moved in the coming step.
typedef struct cr_course {
	carom_pose last;  // at the last good step, or when it was added
	carom_pose begin; // of the coming step; without has_begin that is last
	bool has_begin;   // the caller said where the coming step begins
	bool turned;      // rotation is that of the pose, since cr_bodies_update
	m3d rotation;
	// since last: how far a point at distance 1 of the origin has moved at most
	double turn;
	struct cr_course *next; // of the ones that no part has
} cr_course;

/// A body, or one part of a body with parts. The parts of a body lie side by side in the array, in
/// order, so that the order of parts is that of their bodies. A body's number is that of its first
/// part.
typedef struct cr_body {
	// Flags side by side: no two threads write those of a body.
	bool alive : 1;
	bool sensor : 1;
	bool self_collision : 1;
	bool continuous : 1;    // impacts on its way are found
	bool contacts : 1;      // it has some, if it is no cloth
	bool shape_impacts : 1; // it is looked for them, if it deforms
	bool moved : 1;         // pose or vertices changed since the last step: box to be updated
	bool refiltered : 1;    // category, mask or group changed since the last step
	bool asleep : 1;        // all parts of a body are, or none is
	bool changed : 1;       // by a call since the last step: it is awake in the coming one
	uint8_t kind;           // carom_body_kind
	uint8_t reshaped;       // a cr_reshaping: since the last step
	uint32_t generation;
	int32_t group;
	int32_t part; // number within the body
	cr_shape shape;
	// What a body of its kind has beside its shape: read it by cr_deforming_of and its like.
	union {
		cr_deforming *deforming; // of a kind that deforms
		cr_granular *granular;   // of granular bodies
		cr_compound *compound;   // of the first part of a rigid body that was given parts
	} own;
	carom_pose pose;   // of the part
	cr_course *course; // NULL: the pose is that of the last good step, or the first one
	// how far any of its points may have moved since the pairs forgot; of meshes and boxes only
	double path;
	double stir; // how far any of its vertices may have moved since the last step, if it deforms
	// World box, grown by half the speculative distance; infinite sides for planes. Valid after
	// cr_bodies_update.
	double lower[3];
	double upper[3];
	double thickness; // of the surface, if it deforms
	uint64_t category;
	uint64_t mask;
	uint64_t user_data;
} cr_body;

/// Is the whole surface of a body smooth, but for rims? Sides of a rounded box are flat.
static inline bool cr_is_smooth(const cr_body *body)
{
	const carom_shape_type type = body->shape.def.type;
	return type == CAROM_SPHERE || type == CAROM_CAPSULE || type == CAROM_CYLINDER || type == CAROM_CONE ||
		type == CAROM_ELLIPSOID;
}
/// Is it, or are its edges rounded?
static inline bool cr_is_round(const cr_body *body)
{
	const carom_shape *shape = &body->shape.def;
	return cr_is_smooth(body) || ((shape->type == CAROM_BOX || shape->type == CAROM_HULL) && shape->rounding > 0);
}
static inline bool cr_is_rigid(const cr_body *body) { return body->kind <= CAROM_DYNAMIC; }

/// NULL: the body is rigid, or granular.
static inline cr_deforming *cr_deforming_of(const cr_body *body)
{
	return cr_is_rigid(body) || body->kind == CAROM_GRANULAR ? NULL : body->own.deforming;
}
/// NULL: the body is not granular.
static inline cr_granular *cr_granular_of(const cr_body *body)
{
	return body->kind == CAROM_GRANULAR ? body->own.granular : NULL;
}
/// NULL: the body was given no parts, or this is not the first one.
static inline cr_compound *cr_compound_of(const cr_body *body) { return cr_is_rigid(body) ? body->own.compound : NULL; }
/// Let a body have no vertices and no spheres, which somebody else keeps or has freed.
static inline void cr_forget_own(cr_body *body)
{
	if (!cr_is_rigid(body))
		body->own.deforming = NULL;
}

/// The local box of a body: its middle and half extents, infinite for planes. That of a body that
/// deforms is the box of its surface, about the origin. O(1).
typedef struct cr_local_box {
	v3d centre;
	v3d half;
} cr_local_box;
cr_local_box cr_local_box_of(const cr_body *body);

/// The number of the body that a part belongs to.
static inline int32_t cr_first_part(const cr_body *bodies, int32_t index) { return index - bodies[index].part; }

static inline carom_body_id cr_id_of(const cr_body *bodies, int32_t index)
{
	const int32_t first = cr_first_part(bodies, index);
	return (carom_body_id){ (uint32_t)first + 1, bodies[first].generation };
}
/// The order of ids: by index, and by generation.
static inline int cr_compare_ids(carom_body_id a, carom_body_id b)
{
	if (a.index1 != b.index1)
		return a.index1 < b.index1 ? -1 : 1;
	return (a.generation > b.generation) - (a.generation < b.generation);
}

/// Are two parts of one body?
static inline bool cr_same_body(const cr_body *a, const cr_body *b)
{
	return (a->part | b->part) != 0 && a - a->part == b - b->part;
}

/// The pose of a part at the last good step; the first pose before it.
static inline const carom_pose *cr_last_pose(const cr_body *part) { return part->course ? &part->course->last : &part->pose; }

/// Since then: how far a point at distance 1 of the origin has moved at most.
static inline double cr_turn_of(const cr_body *part) { return part->course ? part->course->turn : 0; }

/// The rotations of a part's pose and of its last one. They are made when they are asked for:
/// beside the poses each would be a quarter of a body. Parts that move have the first one in their
/// course during a step.
static inline m3d cr_rotation_of(const cr_body *body) { return m3d_from_quat(body->pose.orientation); }
/// The rotation of a part's pose where it is, or made in room. For those who ask often.
static inline const m3d *cr_rotation_at(const cr_body *body, m3d *room)
{
	if (body->course && body->course->turned)
		return &body->course->rotation;
	*room = cr_rotation_of(body);
	return room;
}
static inline m3d cr_last_rotation(const cr_body *body) { return m3d_from_quat(cr_last_pose(body)->orientation); }

/// Turn a vector of a body's frame to the world's, or back.
static inline v3d cr_vector_to_world(const cr_body *body, v3d v)
{
	const m3d rotation = cr_rotation_of(body);
	return m3d_mul(&rotation, v);
}
static inline v3d cr_vector_to_body(const cr_body *body, v3d v)
{
	const m3d rotation = cr_rotation_of(body);
	return m3d_tmul(&rotation, v);
}
/// Take a point of a body's frame to the world's, or back.
static inline v3d cr_point_to_world(const cr_body *body, v3d p)
{
	return v3d_add(cr_vector_to_world(body, p), body->pose.position);
}
static inline v3d cr_point_to_body(const cr_body *body, v3d p)
{
	return cr_vector_to_body(body, v3d_sub(p, body->pose.position));
}

/// Where a part begins the coming step.
static inline const carom_pose *cr_begin_of(const cr_body *part)
{
	return part->course && part->course->has_begin ? &part->course->begin : cr_last_pose(part);
}

/// Parts of the body whose first part this is.
static inline int32_t cr_part_count(const cr_body *first) { return cr_compound_of(first) ? cr_compound_of(first)->count : 1; }
/// Numbers that the body keeps, from that of its first part on. Those behind its parts are dead.
static inline int32_t cr_number_count(const cr_body *first) { return cr_compound_of(first) ? cr_compound_of(first)->room : 1; }

/// Does a mesh always push to its front, if it is open? See carom_mesh_sides.
static inline bool cr_is_one_sided(const carom_mesh *mesh)
{
	return mesh->sides == CAROM_SIDES_FRONT || mesh->sides == CAROM_SIDES_CONTAINER;
}
/// Do bodies leave the mesh of a body by its front, if it is open?
static inline bool cr_has_front(const cr_body *body)
{
	const carom_mesh *mesh = body->shape.mesh;
	return cr_is_one_sided(mesh) || (mesh->sides == CAROM_SIDES_AUTO && body->kind == CAROM_STATIC);
}

/// Do forces move the body, or its vertices? Of two bodies with contacts at least one is such.
static inline bool cr_is_free(const cr_body *body) { return body->kind == CAROM_DYNAMIC || body->kind == CAROM_DEFORMABLE; }

/// Does a body that deforms have surface contacts, with whatever it meets?
static inline bool cr_is_thick(const cr_body *body) { return cr_deforming_of(body) && body->contacts && body->thickness > 0; }

/// Is a body at rest in the coming step? Two such bodies are not looked at.
static inline bool cr_is_quiet(const cr_body *body) { return (body->asleep || body->kind == CAROM_STATIC) && !body->changed; }

/// Has a body contacts with others of which this is true too? Cloth has impacts alone, and spheres
/// have contacts of their own.
static inline bool cr_has_contacts(const cr_body *body)
{
	return body->contacts && body->kind != CAROM_CLOTH && body->kind != CAROM_GRANULAR;
}

/// Do kinds, categories, masks, groups and sleep let two bodies of an array have contacts? (Not the
/// user's filter.) Cloth has none, and parts of one body have none with each other.
bool cr_bodies_may_collide(const cr_body *a, const cr_body *b);
/// Do categories, masks and groups alone let two bodies meet?
bool cr_filters_pass(const cr_body *a, const cr_body *b);

/// May the world box of a body, which has grown by margin on each side, come within margin of the
/// half space below a plane?
bool cr_plane_meets_box(const cr_body *plane, const cr_body *body, double margin);

static inline bool cr_boxes_overlap(const cr_body *a, const cr_body *b)
{
	return a->lower[0] <= b->upper[0] && b->lower[0] <= a->upper[0] && a->lower[1] <= b->upper[1] &&
		b->lower[1] <= a->upper[1] && a->lower[2] <= b->upper[2] && b->lower[2] <= a->upper[2];
}

#endif
