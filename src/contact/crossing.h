/// The pair that the crossings stage works on, and where the edges of its two meshes pierce each
/// other.
#ifndef CR_CONTACT_CROSSING_H
#define CR_CONTACT_CROSSING_H

#include "contact/contact_vertices.h"

/// Where an edge of one body pierces a triangle of the other.
typedef struct cr_pierce {
	// half-edge 3 * triangle + corner, of the lower triangle of the two that share the edge
	int32_t edge;
	int32_t other; // triangle of the other body
	double s;      // along the edge, 0..1
	bool entering; // from the triangle's front
	bool served;   // contacts of vertices tell of the curve (edges_beside.c)
	int32_t curve; // along which the surfaces cross there; set with served
} cr_pierce;

/// The facets of a convex body through which one comes out along a direction, of the last one asked
/// for.
typedef struct cr_steep_facets {
	v3d direction; // the body's frame
	int32_t count; // -1: none was asked for
	struct {
		double cosine; // of the direction and the facet's normal
		int32_t facet;
	} data[];
} cr_steep_facets;

/// A pair while it is completed. Everything in double in the frame of A.
typedef struct cr_completion {
	const cr_pipeline *pipeline;
	cr_worker *worker;
	cr_pair_work *work;
	const cr_body *body[2];
	const cr_collider *collider[2];
	m3d rotation; // of B in A's frame
	v3d translation;
	double internal_cosine; // of cr_internal_cosine; set by cr_add_crossing_contacts
	struct {
		cr_pierce *data;
		int32_t count, capacity;
	} pierces[2]; // edges of A, edges of B
	struct {
		cr_tri8 *blocks; // NULL: not packed yet
		int32_t count;
		int32_t rays;          // cast before
	} packed[2];               // the triangles of a body of few, for rays
	cr_steep_facets *steep[2]; // NULL: not made yet
	// Where only triangles are looked at that no vertex speaks for, those vertices; else NULL
	const cr_contact_vertices *spoken;
	bool *told; // likewise: curves of which a piece of an edge has a contact
} cr_completion;

/// Begin the work on a pair whose relative pose is set.
cr_completion cr_begin_completion(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work);

/// A point of a body in the frame of A.
static inline v3d cr_to_a(const cr_completion *c, int side, v3d p)
{
	return side == 0 ? p : v3d_add(m3d_mul(&c->rotation, p), c->translation);
}

/// Corners of a triangle in the frame of A.
static inline void cr_triangle_in_a(const cr_completion *c, int side, int32_t number, v3d corners[3])
{
	cr_collider_triangle(c->collider[side], number, corners);
	for (int k = 0; k < 3; k++)
		corners[k] = cr_to_a(c, side, corners[k]);
}

/// Ends of a half-edge in the frame of A.
static inline void cr_edge_in_a(const cr_completion *c, int side, int32_t half_edge, v3d ends[2])
{
	v3d corners[3];
	cr_triangle_in_a(c, side, half_edge / 3, corners);
	for (int i = 0; i < 2; i++)
		ends[i] = corners[(half_edge % 3 + i) % 3];
}

/// A direction of a body in the frame of A.
static inline v3d cr_direction_to_a(const cr_completion *c, int side, v3d d)
{
	return side == 0 ? d : m3d_mul(&c->rotation, d);
}

/// A point and a direction of A's frame in the frame of a body.
static inline v3d cr_from_a(const cr_completion *c, int side, v3d p)
{
	return side == 0 ? p : m3d_tmul(&c->rotation, v3d_sub(p, c->translation));
}
static inline v3d cr_direction_from_a(const cr_completion *c, int side, v3d d)
{
	return side == 0 ? d : m3d_tmul(&c->rotation, d);
}

/// Decide candidates exactly: keep those whose triangles pierce each other, or touch in a common
/// plane, and note the pierces of both bodies' edges, sorted by edge and along it. The relative
/// pose must be set. false: out of memory.
bool cr_find_crossings(cr_completion *c, cr_candidates *candidates);

/// The first pierce of an edge, or of the next one that has any; half-edge as in cr_pierce. Behind
/// the last where there is none.
static inline const cr_pierce *cr_first_pierce(const cr_completion *c, int side, int32_t edge)
{
	const cr_pierce *pierces = c->pierces[side].data;
	int32_t low = 0, high = c->pierces[side].count;
	while (low < high) {
		const int32_t middle = (low + high) / 2;
		if (pierces[middle].edge < edge)
			low = middle + 1;
		else
			high = middle;
	}
	return pierces + low;
}

/// The contacts of a pair from its crossings (edge_contacts.c). crossing: the candidates that
/// cr_find_crossings kept; at least one.
void cr_add_crossing_contacts(cr_completion *c, const cr_candidates *crossing);
/// Add the contacts of the pieces of edges that lie inside the other body, but of those that begin
/// or end at a pierce that is served.
void cr_add_edges_of_pieces(cr_completion *c);
/// Does a pair whose contacts are those of vertices have others where edges alone cross?
/// (edges_beside.c)
bool cr_looks_beside_vertices(const cr_pipeline *pipeline, const cr_pair_work *work);
/// Add these to the contacts in worker->contacts. Sets worker->failed when out of memory.
void cr_add_edges_beside_vertices(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work);
/// Contacts of the crossing triangles themselves, where there is no inside to measure in
/// (face_contacts.c).
void cr_add_face_contacts(cr_completion *c, const cr_candidates *crossing);
/// Add a contact given in A's frame; out takes the body of the side out of the other.
void cr_add_crossing_contact(cr_completion *c, int side, v3d point, v3d out, double depth, int32_t own_feature,
	int32_t other_feature, carom_contact_kind kind);
/// May a pair of one mesh, twice at one place, lack a contact that parts the two? Its mirror image
/// counts as the mesh. (way_apart.c)
bool cr_may_lack_way(const cr_pipeline *pipeline, const cr_pair_work *work);
/// Add the way out of such a pair as a whole, where no contact of it is as deep. Sets
/// worker->failed when out of memory. (way_apart.c)
void cr_add_way_apart(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work);
/// A ray from a point in the target's frame along the direction in way: false when its first hit is
/// no back face. Whether the point is inside is for the caller to ask.
bool cr_cast_out(cr_completion *c, int target, const float origin[3], cr_way_out *way);

#endif
