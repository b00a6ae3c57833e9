/// Pairs of a body of the convex family and a mesh: the work on one pair, which convex_mesh.c and
/// convex_mesh_way.c share.
#ifndef CR_CONTACT_CONVEX_MESH_H
#define CR_CONTACT_CONVEX_MESH_H

#include "contact/contact.h"
#include "geom/convex_contacts.h"

enum { CR_FEW_BLOCKS = 128, CR_MOST_DIRECTIONS = 16 };

// Cosine: normals that are nearer are one.
#define CR_ALIKE 0.9999
// Of the body's size: a gap that counts as parted.
#define CR_TOUCHES 1e-6
// Of the depth of a body that is not deep: a way that is longer leads out of where it is clamped.
#define CR_LONG_WAY 4

/// A triangle near the body, in the frame of the body, turned so that its normal points to the side
/// that it pushes to.
typedef struct cr_near_triangle {
	cr_convex convex; // its corners
	v3d normal;
	double depth; // of the body below the triangle's plane
	int32_t triangle;
	cr_triangle_rim rim;
	bool meets;   // the body; else it only has a part over or below the triangle
	bool flipped; // its front is away from the body
	bool behind;  // the body's centre is, of a front
} cr_near_triangle;

/// The highest point of a triangle along a direction.
static inline double cr_top_along(const cr_near_triangle *t, v3d direction)
{
	const v3d *p = t->convex.corner;
	return fmax(v3d_dot(direction, p[0]), fmax(v3d_dot(direction, p[1]), v3d_dot(direction, p[2])));
}

/// A way out of the surface for the whole pair.
typedef struct cr_convex_way {
	v3d point; // on the surface, frame of the body
	v3d normal;
	double depth; // infinite: none yet
	int32_t triangle;
} cr_convex_way;

typedef struct cr_convex_mesh_pair {
	const cr_pipeline *pipeline;
	cr_worker *worker;
	const cr_body *body; // of the convex family
	const cr_body *mesh;
	bool body_is_a;
	const cr_collider *collider;
	cr_convex convex;
	cr_relative mesh_in_body;
	v3d centre;    // of the body
	double behind; // at this height over the plane of a triangle or lower, the centre is behind it
	cr_local_box box;
	double size;
	double margin;
	double flush;                // cr_triangle_rim
	bool to_front;               // the mesh pushes to the front alone
	bool unwelded;               // its surface may go on where no edge tells so
	cr_near_triangle *unsettled; // triangles whose own normal may speak
	int32_t unsettled_count;
	v3d direction[CR_MOST_DIRECTIONS]; // normals that hold
	double reach[CR_MOST_DIRECTIONS];  // how far the body reaches against each
	int direction_count;
	int32_t facet[CR_MOST_DIRECTIONS]; // flat parts of the mesh that the body stands on
	int facet_count;
	// over the triangle that the body is nearest to; triangle -1: none is within the margin
	cr_convex_way nearest;
	double met; // how deep it meets a triangle that may push it; below zero: it meets none
} cr_convex_mesh_pair;

/// How far the body reaches along a direction.
static inline double cr_reach_along(const cr_convex_mesh_pair *c, v3d direction)
{
	return v3d_dot(direction, cr_convex_support(&c->convex, direction)) + c->convex.rounding;
}

/// A point of the mesh's frame in that of the body.
static inline v3d cr_to_body(const cr_convex_mesh_pair *c, v3d p)
{
	return v3d_add(m3d_mul(&c->mesh_in_body.rotation, p), c->mesh_in_body.position);
}

/// Corner k of a triangle, in the frame of the body.
static inline v3d cr_vertex_in_body(const cr_convex_mesh_pair *c, int32_t triangle, int k)
{
	const cr_topology *top = c->collider->topology;
	const v3d p = v3d_from_floats(&top->vertices[3 * (int64_t)top->triangles[3 * (int64_t)triangle + k]]);
	return cr_to_body(c, p);
}

/// The normal of a contact, out of the mesh, in the frame of the body.
static inline v3d cr_normal_in_body(const cr_convex_mesh_pair *c, const cr_raw_contact *contact)
{
	const v3d n = { contact->normal[0], contact->normal[1], contact->normal[2] };
	return v3d_scale(cr_vector_to_body(c->body, n), c->body_is_a ? 1 : -1);
}

/// Add a contact that leads along a way. name: of the contact on the body.
void cr_add_convex_way(cr_convex_mesh_pair *c, const cr_convex_way *way, int32_t name);
/// Does the body's centre, moved by shift, lie inside a closed mesh? Then *centre is its place and
/// *near the point of the surface next to it, both in the mesh's frame.
bool cr_is_centre_inside(const cr_convex_mesh_pair *c, v3d shift, v3d *centre, cr_near_point *near);
/// A triangle in the frame of the body; false where its box is farther than reach from that of the
/// body, moved by shift.
bool cr_place_triangle(const cr_convex_mesh_pair *c, int32_t number, v3d shift, double reach, cr_near_triangle *t);
/// Blocks of triangles near the body where it is moved by shift. few [CR_FEW_BLOCKS] is used where
/// it has room. When out of memory: none, and worker->failed is set.
int32_t *cr_find_near_blocks(const cr_convex_mesh_pair *c, v3d shift, int32_t *few, int32_t *count);
/// The shortest move out of all contacts that there are, in the frame of the body. Returns its
/// length; infinite: none leads out of all.
double cr_move_out_of_contacts(const cr_convex_mesh_pair *c, v3d *move);
/// How deep the body, moved by shift, meets a triangle; 0: it does not.
double cr_depth_moved(const cr_convex_mesh_pair *c, const cr_near_triangle *t, v3d shift);
/// Add contacts where those that there are do not part the pair. Sets worker->failed when out of
/// memory. (convex_mesh_way.c)
void cr_part_convex_mesh(cr_convex_mesh_pair *c);

#endif
