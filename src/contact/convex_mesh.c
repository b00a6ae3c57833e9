/// Pairs of a body of the convex family and a mesh (height fields are meshes): the body against
/// each triangle near it.
///
/// Each near triangle gives the contacts of two convex bodies, exact, in the frame of the convex
/// body. Their normal holds only where the surface around the triangle lies below the plane across
/// it: else the body would be pushed by the side of a triangle that its neighbours cover (an inner
/// edge), and the triangle's own normal takes its place. It does so unless one of the normals that
/// hold brings the body out of the triangle sooner: a side of a slab does not push a body that lies
/// on the slab.
///
/// A body that meets triangles and gets no contact so is led out over the edge that takes the least
/// depth: none is missed. One that meets none, but nears some, gets the nearest points of all as a
/// contact where no other contact is as near: a distance ahead is never told too long.
///
/// Triangles that meet in a corner or at an edge of the mesh have a contact there each, if they
/// meet the body. These are one contact in the end (join.c): which of the triangles meet a body at
/// rest is told by rounding.
///
/// 1. A body whose centre lies inside a closed mesh is led out through the nearest point of the
///    surface.
/// 2. Closed meshes, and open ones that push to their front, are not met from behind. An open one
///    that pushes to the front does so however deep the body has sunk in; one that pushes to both
///    sides is met by the side on which the centre is.
///
/// Cost: a walk of the mesh's tree, and a search of the least separation for each triangle whose
/// box and plane meet the body. A body that stands deep is looked at once more where its deepest
/// contact leads.

#include "contact/contact.h"
#include "frame/shape_table.h"
#include "geom/convex_contacts.h"
#include "geom/convex_query.h"
#include "geom/half_spaces.h"
#include "geom/patch.h"
#include "geom/triangle.h"

// The name on the body of a contact that is about the whole pair: no corner has it (geom/patch.h).
enum { WHOLE_PAIR = 0xffe };
enum {
	FEW_BLOCKS = 128,
	MOST_DIRECTIONS = 16,
	MOST_RING = 64,
	MOST_ROUNDS = 12,
	MOST_TRIALS = 64,
	MOST_MISSING = 4,
	FEW_WAYS = 3,
	MOST_AROUND = 64
};

// Of a triangle's longest edge: corners that differ by no more are equally far along a normal, and
// a surface that rises by no more over such a length counts as flat.
static const double FLAT = 1e-4;
// A normal that holds is preferred to a triangle's own where it brings the body out by less than
// this share, less this part of its size; ahead, where its gap is longer than so.
static const double SOONER = 0.95, SOONER_SIZE = 2e-3;
// Normals whose cosine is above this are one.
static const double ALIKE = 0.9999;
// Sines: an edge lies along a plane, and across a direction, up to these angles.
static const double ALONG = 0.1, ACROSS = 0.01;
// Of the body's size: a body that is less deep, and is pushed in one direction, is not asked
// whether it is parted; the longest way out; and the gap that counts as parted.
static const double DEEP = 0.02, MOST_WAY = 6, TOUCHES = 1e-6;
// Half spaces whose normals have a cosine above this are one.
static const double ONE_PLANE = 1 - 1e-8;
// Of the depth of a body that is not deep: a way that is longer leads out of where it is clamped.
static const double LONG_WAY = 4;
// A way out does not run into a surface more steeply than so.
static const double AGAINST = -1e-3;
// Of the body's size: contacts that are nearer are in one place. Of a corner that hangs over the
// border, each triangle has another point.
static const double SAME_PLACE = 3 * CR_FLUSH;

// Of the largest coordinate of a closed mesh: a point that lies no deeper inside may be found
// outside, since the ray that decides takes floats.
static const double IN_SURFACE = 5e-7;

static const cr_relative in_place = { { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, { 0, 0, 0 } };

/// A triangle near the body, in the frame of the body, turned so that its normal points to the side
/// that it pushes to.
typedef struct near_triangle {
	cr_convex convex; // its corners
	v3d normal;
	double depth; // of the body below the triangle's plane
	int32_t triangle;
	cr_triangle_rim rim;
	bool meets;   // the body; else it only has a part over or below the triangle
	bool flipped; // its front is away from the body
	bool behind;  // the body's centre is, of a front
} near_triangle;

/// A way out of the surface for the whole pair.
typedef struct way_out {
	v3d point; // on the surface, frame of the body
	v3d normal;
	double depth; // infinite: none yet
	int32_t triangle;
} way_out;

typedef struct convex_pair {
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
	double flush;             // cr_triangle_rim
	bool to_front;            // the mesh pushes to the front alone
	bool unwelded;            // its surface may go on where no edge tells so
	bool nested;              // it is closed, and a part of its surface may lie inside it
	near_triangle *unsettled; // triangles whose own normal may speak
	int32_t unsettled_count;
	v3d direction[MOST_DIRECTIONS]; // normals that hold
	double reach[MOST_DIRECTIONS];  // how far the body reaches against each
	int direction_count;
	int32_t facet[MOST_DIRECTIONS]; // flat parts of the mesh that the body stands on
	int facet_count;
	// over the triangle that the body is nearest to; triangle -1: none is within the margin
	way_out nearest;
	double met; // how deep it meets a triangle that may push it; below zero: it meets none
} convex_pair;

static v3d to_body(const convex_pair *c, v3d p)
{
	return v3d_add(m3d_mul(&c->mesh_in_body.rotation, p), c->mesh_in_body.position);
}

static v3d to_mesh(const convex_pair *c, v3d p)
{
	return m3d_tmul(&c->mesh_in_body.rotation, v3d_sub(p, c->mesh_in_body.position));
}

/// How far the body reaches along a direction.
static double reach_along(const convex_pair *c, v3d direction)
{
	return v3d_dot(direction, cr_convex_support(&c->convex, direction)) + c->convex.rounding;
}

static void add_contacts(convex_pair *c, const cr_volume_contact *contacts, int count, int32_t triangle)
{
	const cr_body *body = c->body;
	for (int i = 0; i < count; i++) {
		// The point lies on A's surface.
		const v3d local = v3d_mad(contacts[i].point, c->body_is_a ? 0 : contacts[i].depth, contacts[i].normal);
		const v3d point = cr_point_to_world(body, local);
		const v3d normal = v3d_scale(cr_vector_to_world(body, contacts[i].normal), c->body_is_a ? 1 : -1);
		const cr_raw_contact contact = {
			{ point.x, point.y, point.z },
			{ (float)normal.x, (float)normal.y, (float)normal.z },
			(float)contacts[i].depth,
			c->body_is_a ? contacts[i].name : triangle,
			c->body_is_a ? triangle : contacts[i].name,
			CAROM_VOLUMES,
		};
		cr_add_contact(c->worker, &contact);
	}
}

/// name: of the contact on the body.
static void add_way(convex_pair *c, const way_out *way, int32_t name)
{
	const cr_volume_contact contact = { v3d_mad(way->point, -way->depth, way->normal), way->normal, way->depth, name };
	add_contacts(c, &contact, 1, way->triangle);
}

/// The depth of the deepest contact so far; -INFINITY: there is none.
static double deepest_of(const convex_pair *c)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	float deepest = -INFINITY; // not a double: see find_near in near.c
	for (int64_t i = 0; i < list->count; i++)
		deepest = list->data[i].depth > deepest ? list->data[i].depth : deepest;
	return deepest;
}

// ---- A body whose centre is inside ----

/// Does the body's centre, moved by shift, lie inside a closed mesh? Then *centre is its place and
/// *near the point of the surface next to it, both in the mesh's frame.
static bool is_centre_inside(const convex_pair *c, v3d shift, v3d *centre, cr_near_point *near)
{
	if (!c->collider->closed)
		return false;
	*centre = to_mesh(c, v3d_add(c->centre, shift));
	const float origin[3] = { (float)centre->x, (float)centre->y, (float)centre->z }, direction[3] = { 0.5f, 0.7f, 0.3f };
	for (int k = 0; k < 3; k++) {
		if (!(origin[k] >= c->collider->lower[k] && origin[k] <= c->collider->upper[k]))
			return false;
	}
	return c->pipeline->bvh->winding(c->collider, origin, direction) != 0 &&
		c->pipeline->bvh->closest(c->collider, *centre, INFINITY, true, near);
}

static bool add_way_out(convex_pair *c)
{
	v3d centre;
	cr_near_point near;
	if (!is_centre_inside(c, (v3d){ 0, 0, 0 }, &centre, &near))
		return false;
	const v3d away = v3d_sub(near.on.point, centre);
	const v3d out =
		near.distance2 > 1e-12 * c->size * c->size ? v3d_normalize(away) : cr_collider_normal(c->collider, near.triangle);
	const v3d up = m3d_mul(&c->mesh_in_body.rotation, out);
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	const int count = cr_convex_plane_contacts(&c->convex, up, v3d_dot(up, to_body(c, near.on.point)), c->margin, contacts);
	for (int i = 0; i < count; i++)
		contacts[i].point = v3d_mad(contacts[i].point, -c->convex.rounding, up);
	add_contacts(c, contacts, count, near.triangle);
	return true;
}

// ---- Which normals hold ----

/// The vertex after the welded vertex v around triangle t: 0 to 2, its place in t; -1 where t does
/// not have it.
static int place_of(const cr_topology *top, int32_t t, int32_t v)
{
	for (int k = 0; k < 3; k++) {
		if (top->weld[top->triangles[3 * (int64_t)t + k]] == v)
			return k;
	}
	return -1;
}

static v3d vertex_in_body(const convex_pair *c, int32_t t, int k)
{
	const cr_topology *top = c->collider->topology;
	return to_body(c, v3d_from_floats(&top->vertices[3 * (int64_t)top->triangles[3 * (int64_t)t + k]]));
}

/// Does q lie below the plane across n through p, or above it by so little that the two count as
/// flat?
static bool lies_below(v3d n, v3d p, v3d q)
{
	const v3d d = v3d_sub(q, p);
	return v3d_dot(n, d) <= FLAT * v3d_length(d);
}

/// Does the other triangle at an edge (corner k to k + 1 of a triangle) lie below the plane across
/// n through the edge?
static bool holds_at_edge(const convex_pair *c, int32_t triangle, int k, v3d n, v3d on_edge)
{
	const cr_topology *top = c->collider->topology;
	const int32_t across = top->neighbours[3 * (int64_t)triangle + k];
	if (across < 0)
		return true;
	for (int i = 0; i < 3; i++) {
		if (!lies_below(n, on_edge, vertex_in_body(c, across, i)))
			return false;
	}
	return true;
}

/// Do all triangles around corner k of a triangle lie below the plane across n through it? Goes
/// round in one direction, and from a border in the other.
static bool holds_at_vertex(const convex_pair *c, int32_t triangle, int k, v3d n, v3d at)
{
	const cr_topology *top = c->collider->topology;
	const int32_t vertex = top->weld[top->triangles[3 * (int64_t)triangle + k]];
	for (int way = 0; way < 2; way++) {
		int32_t t = triangle;
		for (int i = 0; i < MOST_RING && t >= 0; i++) {
			const int place = place_of(top, t, vertex);
			if (place < 0)
				break;
			if (!lies_below(n, at, vertex_in_body(c, t, (place + 1) % 3)) ||
				!lies_below(n, at, vertex_in_body(c, t, (place + 2) % 3)))
				return false;
			t = top->neighbours[3 * (int64_t)t + (way == 0 ? place : (place + 2) % 3)];
			if (t == triangle)
				return true;
		}
	}
	return true;
}

/// May the body be pushed along n by the part of a triangle that lies farthest along it?
static bool holds(const convex_pair *c, const near_triangle *t, v3d n)
{
	if (!(v3d_dot(n, t->normal) > -FLAT))
		return false;
	v3d corner[3];
	double along[3], longest = 0, most = -INFINITY;
	for (int k = 0; k < 3; k++) {
		corner[k] = vertex_in_body(c, t->triangle, k);
		along[k] = v3d_dot(n, corner[k]);
		most = fmax(most, along[k]);
	}
	for (int k = 0; k < 3; k++)
		longest = fmax(longest, v3d_length(v3d_sub(corner[(k + 1) % 3], corner[k])));
	bool top[3];
	int count = 0;
	for (int k = 0; k < 3; k++) {
		top[k] = along[k] >= most - FLAT * longest;
		count += top[k];
	}
	if (count == 3)
		return true;
	for (int k = 0; k < 3; k++) {
		if (count == 2 && top[k] && top[(k + 1) % 3])
			return holds_at_edge(c, t->triangle, k, n, corner[k]);
		if (count == 1 && top[k])
			return holds_at_vertex(c, t->triangle, k, n, corner[k]);
	}
	return false;
}

/// The place on a triangle that a contact belongs to. Contacts that reach the depth of a pair lie
/// beside it.
static v3d place_on(const near_triangle *t, const cr_volume_contact *contact)
{
	cr_feature feature;
	const v3d *p = t->convex.corner, place = v3d_mad(contact->point, contact->depth, contact->normal);
	return cr_closest_point_triangle(place, p[0], p[1], p[2], &feature);
}

/// Nearer than this, places on the mesh are one.
static double covering_reach(const convex_pair *c) { return c->flush + IN_SURFACE * c->collider->scale; }

/// Edges of a triangle on which a place lies, as bits. Where some are across n, these alone.
static unsigned edges_at(const convex_pair *c, const near_triangle *t, v3d place, v3d n)
{
	const v3d *p = t->convex.corner;
	unsigned at = 0, across = 0;
	for (int k = 0; k < 3; k++) {
		const v3d along = v3d_sub(p[(k + 1) % 3], p[k]), from = v3d_sub(place, p[k]);
		const double length2 = v3d_dot(along, along), s = v3d_dot(along, from) / length2;
		if (!(v3d_length(v3d_mad(from, -fmax(0, fmin(1, s)), along)) <= covering_reach(c)))
			continue;
		at |= 1u << k;
		across |= (unsigned)(fabs(v3d_dot(along, n)) <= ACROSS * sqrt(length2)) << k;
	}
	return across ? across : at;
}

/// Does one of these edges of t lie along a plane?
static bool has_edge_along(const near_triangle *t, unsigned edges, v3d normal)
{
	const v3d *p = t->convex.corner;
	for (int k = 0; k < 3; k++) {
		const v3d along = v3d_sub(p[(k + 1) % 3], p[k]);
		if (edges >> k & 1 && fabs(v3d_dot(along, normal)) <= ALONG * v3d_length(along))
			return true;
	}
	return false;
}

/// Does another triangle go on over edges of t, beyond a place on them, against a push along n? No
/// neighbour tells that where the surface is not welded: an edge that ends amid another, sheets
/// that overlap, solids side by side.
static bool is_covered(const convex_pair *c, const near_triangle *t, unsigned edges, v3d place, v3d n)
{
	const double reach = covering_reach(c);
	int32_t around[MOST_AROUND];
	const int32_t count = c->pipeline->bvh->around(c->collider, to_mesh(c, place), reach, MOST_AROUND, around);
	for (int32_t i = 0; i < count && i < MOST_AROUND; i++) {
		const v3d normal = m3d_mul(&c->mesh_in_body.rotation, cr_collider_normal(c->collider, around[i]));
		if (!has_edge_along(t, edges, normal))
			continue;
		for (int k = 0; k < 3; k++) {
			const v3d d = v3d_sub(vertex_in_body(c, around[i], k), place);
			if (v3d_dot(n, d) > FLAT * v3d_length(d) + reach)
				return true;
		}
	}
	return false;
}

/// Is a place on the mesh, seen along n, inside it? So are walls of solids side by side.
static bool is_inner(const convex_pair *c, v3d place, v3d n)
{
	const v3d p = to_mesh(c, v3d_mad(place, covering_reach(c), n));
	const float origin[3] = { (float)p.x, (float)p.y, (float)p.z }, ray[3] = { 0.5f, 0.7f, 0.3f };
	return c->nested && c->pipeline->bvh->winding(c->collider, origin, ray) != 0;
}

/// Leaves out contacts where other triangles hide t. Returns how many are left: none if those on
/// its edges are all hidden.
static int drop_hidden(const convex_pair *c, const near_triangle *t, cr_volume_contact *contacts, int count)
{
	int kept = 0;
	bool dropped = false, stands = false;
	for (int i = 0; i < count; i++) {
		const v3d n = contacts[i].normal, place = place_on(t, &contacts[i]);
		const unsigned edges = edges_at(c, t, place, n);
		if ((edges && is_covered(c, t, edges, place, n)) || is_inner(c, place, n)) {
			dropped = true;
			continue;
		}
		stands = stands || edges;
		contacts[kept++] = contacts[i];
	}
	return dropped && !stands ? 0 : kept;
}

static void remember_direction(convex_pair *c, v3d n)
{
	for (int i = 0; i < c->direction_count; i++) {
		if (v3d_dot(c->direction[i], n) > ALIKE)
			return;
	}
	if (c->direction_count == MOST_DIRECTIONS)
		return;
	c->reach[c->direction_count] = reach_along(c, v3d_neg(n));
	c->direction[c->direction_count++] = n;
}

static int32_t facet_of(const convex_pair *c, int32_t triangle) { return c->mesh->shape.mesh->facets.of_triangle[triangle]; }

static bool stands_on_facet(const convex_pair *c, int32_t triangle)
{
	for (int i = 0; i < c->facet_count; i++) {
		if (c->facet[i] == facet_of(c, triangle))
			return true;
	}
	return false;
}

static void remember_facet(convex_pair *c, int32_t triangle)
{
	if (c->facet_count < MOST_DIRECTIONS && !stands_on_facet(c, triangle))
		c->facet[c->facet_count++] = facet_of(c, triangle);
}

// ---- Triangles ----

/// A triangle in the frame of the body; false where its box is farther than reach from that of the
/// body, moved by shift.
static bool place_triangle(const convex_pair *c, int32_t number, v3d shift, double reach, near_triangle *t)
{
	const double pad = reach + 1e-9 * c->size;
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	*t = (near_triangle){ .convex = { .core = CR_CORE_TRIANGLE }, .triangle = number };
	v3d *corner = t->convex.corner;
	for (int k = 0; k < 3; k++) {
		corner[k] = vertex_in_body(c, number, k);
		for (int i = 0; i < 3; i++) {
			lower[i] = fmin(lower[i], v3d_get(corner[k], i));
			upper[i] = fmax(upper[i], v3d_get(corner[k], i));
		}
	}
	for (int i = 0; i < 3; i++) {
		const double middle = v3d_get(c->box.centre, i) + v3d_get(shift, i), half = v3d_get(c->box.half, i) + pad;
		if (lower[i] > middle + half || upper[i] < middle - half)
			return false;
	}
	t->normal = v3d_normalize(v3d_cross(v3d_sub(corner[1], corner[0]), v3d_sub(corner[2], corner[0])));
	t->behind = v3d_dot(t->normal, v3d_sub(c->centre, corner[0])) <= c->behind;
	// A needle of denormal width is a segment in this frame. Its neighbour at the long edge is met
	// instead.
	return v3d_dot(t->normal, t->normal) > 0;
}

/// A triangle in the frame of the body; false where the body does not meet it, or meets it from a
/// side that does not push.
static bool take_triangle(const convex_pair *c, int32_t number, near_triangle *t)
{
	if (!place_triangle(c, number, (v3d){ 0, 0, 0 }, c->margin, t) || (t->behind && c->collider->closed))
		return false;
	v3d *corner = t->convex.corner;
	if (t->behind && !c->to_front) {
		const v3d swapped = corner[1];
		corner[1] = corner[2];
		corner[2] = swapped;
		t->normal = v3d_neg(t->normal);
		t->flipped = true;
		t->behind = false;
	}
	const cr_facets *facets = &c->mesh->shape.mesh->facets;
	t->rim.flush = c->flush;
	const cr_topology *top = c->collider->topology;
	for (int k = 0; k < 3; k++) {
		const int edge = t->flipped ? 2 - k : k, vertex = t->flipped ? (3 - k) % 3 : k;
		t->rim.inner |= (unsigned)!cr_is_crease(facets, 3 * number + edge) << k;
		t->rim.straight |= (unsigned)!facets->corner[top->weld[top->triangles[3 * (int64_t)number + vertex]]] << k;
	}
	const double height = v3d_dot(t->normal, corner[0]);
	t->depth = height + reach_along(c, v3d_neg(t->normal));
	// A body that nears a front from behind is not met, however near: its way out would lead
	// through the surface.
	return t->depth >= -c->margin && reach_along(c, t->normal) >= height - 1e-9 * c->size;
}

/// Does the body stand wholly over a triangle, and off its edges? Then no other direction than the
/// triangle's can be the least.
static bool stands_over(const convex_pair *c, const near_triangle *t)
{
	const v3d *corner = t->convex.corner;
	for (int k = 0; k < 3; k++) {
		const v3d outward = v3d_normalize(v3d_cross(v3d_sub(corner[(k + 1) % 3], corner[k]), t->normal));
		if (!(v3d_dot(outward, v3d_sub(c->centre, corner[k])) < -2 * c->size))
			return false;
	}
	return v3d_dot(t->normal, v3d_sub(c->centre, corner[0])) > 0;
}

/// Keeps the triangle that the body is nearest to. From behind a front only triangles beside it are
/// near.
static void note_nearest(convex_pair *c, const near_triangle *t, const cr_separation *least)
{
	if (-least->gap <= c->nearest.depth || (t->behind && !c->collider->closed && v3d_dot(least->normal, t->normal) < -FLAT))
		return;
	c->nearest = (way_out){ v3d_mad(least->on_a, -least->gap, least->normal), least->normal, -least->gap, t->triangle };
}

static void collide_triangle(convex_pair *c, int32_t number)
{
	near_triangle t;
	cr_separation least;
	bool on_face;
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	if (!take_triangle(c, number, &t))
		return;
	if (stands_over(c, &t)) {
		const v3d low = v3d_mad(cr_convex_support(&c->convex, v3d_neg(t.normal)), -c->convex.rounding, t.normal);
		least = (cr_separation){ .gap = -t.depth, .normal = t.normal, .on_a = low };
		c->met = t.depth > c->met ? t.depth : c->met;
		note_nearest(c, &t, &least);
		remember_direction(c, t.normal);
		remember_facet(c, number);
		add_contacts(c, contacts, cr_convex_contacts_on_triangle(&c->convex, &t.convex, t.rim, c->margin, contacts), number);
		return;
	}
	int count = cr_convex_triangle_contacts(&c->convex, &t.convex, t.rim, c->margin, &least, &on_face, contacts);
	t.meets = least.gap <= c->margin;
	c->met = -least.gap > c->met ? -least.gap : c->met;
	if (t.meets)
		note_nearest(c, &t, &least);
	if (!on_face && count > 0 && !holds(c, &t, contacts[0].normal))
		count = 0;
	const int found = count;
	if (on_face ? c->nested : c->unwelded)
		count = drop_hidden(c, &t, contacts, count);
	if (on_face && count == 0 && found > 0)
		return;
	if (!on_face && count == 0) {
		c->unsettled[c->unsettled_count++] = t;
		return;
	}
	remember_direction(c, on_face ? t.normal : contacts[0].normal);
	if (on_face)
		remember_facet(c, number);
	add_contacts(c, contacts, count, number);
}

/// A triangle whose least direction does not hold: along its own normal, unless one that holds
/// brings the body out of it sooner. One that does not meet the body takes part where the body
/// stands on its flat part: an overhang reaches below it.
static void settle(convex_pair *c, const near_triangle *t)
{
	if (!t->meets && !stands_on_facet(c, t->triangle))
		return;
	const v3d *p = t->convex.corner;
	const double sooner = t->depth > 0 ? SOONER * t->depth : t->depth / SOONER;
	for (int i = 0; i < c->direction_count; i++) {
		const v3d d = c->direction[i];
		const double depth = fmax(v3d_dot(d, p[0]), fmax(v3d_dot(d, p[1]), v3d_dot(d, p[2]))) + c->reach[i];
		if (depth < sooner - SOONER_SIZE * c->size)
			return;
	}
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	const int count = cr_convex_contacts_on_triangle(&c->convex, &t->convex, t->rim, c->margin, contacts);
	add_contacts(c, contacts, c->nested ? drop_hidden(c, t, contacts, count) : count, t->triangle);
}

// ---- Where no normal holds, and no triangle lies below the body's deepest point ----

/// The least depth along the directions between two normals, and its direction. on_edge: a point of
/// the edge between them.
static double search_arc(const convex_pair *c, v3d from, v3d to, v3d on_edge, v3d *best)
{
	double least = INFINITY, at = 0;
	for (double step = 1.0 / 16; step > 1e-4; step *= 0.25) {
		const double middle = at;
		for (int i = -16; i <= 16; i++) {
			const double s = middle + i * step;
			if (s < 0 || s > 1)
				continue;
			const v3d d = v3d_normalize(v3d_add(v3d_scale(from, 1 - s), v3d_scale(to, s)));
			const double depth = v3d_dot(d, on_edge) + reach_along(c, v3d_neg(d));
			if (depth < least) {
				least = depth;
				at = s;
				*best = d;
			}
		}
	}
	return least;
}

/// The other normal at edge k of a triangle (its turned corners), if the edge is convex: beyond a
/// border, or where the neighbour has lost its width (place_triangle), straight outward.
static bool normal_beyond(const convex_pair *c, const near_triangle *t, int k, v3d *normal)
{
	const v3d *p = t->convex.corner, along = v3d_sub(p[(k + 1) % 3], p[k]);
	const int32_t across = c->collider->topology->neighbours[3 * (int64_t)t->triangle + (t->flipped ? 2 - k : k)];
	if (across < 0) {
		*normal = v3d_normalize(v3d_cross(along, t->normal));
		return true;
	}
	v3d q[3];
	for (int i = 0; i < 3; i++) {
		q[i] = vertex_in_body(c, across, i);
		if (!lies_below(t->normal, p[k], q[i]))
			return false;
	}
	*normal = v3d_scale(v3d_normalize(v3d_cross(v3d_sub(q[1], q[0]), v3d_sub(q[2], q[0]))), t->flipped ? -1 : 1);
	if (!(v3d_dot(*normal, *normal) > 0))
		*normal = v3d_normalize(v3d_cross(along, t->normal));
	return v3d_dot(*normal, t->normal) > -1 + FLAT;
}

/// The ways out over the edges of a triangle that pass through the body.
static void try_edges(const convex_pair *c, const near_triangle *t, way_out *way)
{
	const v3d *p = t->convex.corner;
	for (int k = 0; k < 3; k++) {
		const v3d along = v3d_sub(p[(k + 1) % 3], p[k]);
		double at[2];
		v3d beyond, normals[2], direction = t->normal;
		bool back[2];
		if (t->rim.inner >> k & 1 || !normal_beyond(c, t, k, &beyond) ||
			cr_convex_ray(&c->convex, p[k], along, -INFINITY, INFINITY, 2, at, normals, back) < 2 || at[0] > 1 || at[1] < 0)
			continue;
		const double depth = search_arc(c, t->normal, beyond, p[k], &direction);
		const double middle = 0.5 * (fmax(at[0], 0) + fmin(at[1], 1));
		if (depth < way->depth)
			*way = (way_out){ v3d_mad(p[k], middle, along), direction, depth, t->triangle };
	}
}

/// One contact for a body that meets the surface and has none, or none but ahead: over an edge that
/// passes through it, else out of a triangle.
static void add_last_way(convex_pair *c)
{
	way_out way = { .depth = INFINITY };
	for (int32_t i = 0; i < c->unsettled_count; i++) {
		if (c->unsettled[i].meets)
			try_edges(c, &c->unsettled[i], &way);
	}
	const bool over_edge = way.depth < INFINITY;
	for (int32_t i = 0; i < c->unsettled_count && !over_edge; i++) {
		const near_triangle *t = &c->unsettled[i];
		const v3d low = v3d_mad(cr_convex_support(&c->convex, v3d_neg(t->normal)), -c->convex.rounding, t->normal);
		if (t->meets && t->depth < way.depth)
			way = (way_out){ v3d_mad(low, t->depth, t->normal), t->normal, t->depth, t->triangle };
	}
	if (!(way.depth < INFINITY && way.depth >= -c->margin))
		return;
	add_way(c, &way, 0);
}

// ---- Where the body meets nothing yet ----

/// A triangle of a closed mesh that has the body's centre behind it may be the nearest all the
/// same: at a vertex with ridges and valleys.
static void note_behind(convex_pair *c, int32_t number)
{
	near_triangle t;
	cr_separation least;
	if (!place_triangle(c, number, (v3d){ 0, 0, 0 }, -c->nearest.depth, &t) || !t.behind)
		return;
	cr_convex_separation(&c->convex, &t.convex, &in_place, &least);
	if (least.gap > 0)
		note_nearest(c, &t, &least);
}

/// A body that is near and meets nothing: the nearest points, where no contact is as near. The
/// normals that were dropped may be those that lead there.
static void add_nearest(convex_pair *c, const int32_t *blocks, int32_t count)
{
	for (int32_t i = 0; i < count && c->collider->closed; i++) {
		const cr_tri8 *block = &c->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++)
			note_behind(c, block->number[lane]);
	}
	const double deepest = deepest_of(c);
	// Depths are told as floats.
	if (c->nearest.triangle < 0 || !(c->nearest.depth > (1 - 1e-6) * deepest + 1e-9 * c->size))
		return;
	add_way(c, &c->nearest, 0);
}

/// Blocks of triangles near the body where it is moved by shift; NULL when out of memory.
static int32_t *find_blocks(const convex_pair *c, v3d shift, int32_t *few, int32_t *count)
{
	const m3d to_mesh = m3d_transposed(&c->mesh_in_body.rotation);
	const v3d origin = m3d_tmul(&c->mesh_in_body.rotation, v3d_sub(shift, c->mesh_in_body.position));
	const double pad = c->margin + (c->collider->scale + v3d_length(origin)) * 1e-6;
	double lower[3], upper[3];
	cr_convex_bounds(&c->convex, &to_mesh, lower, upper);
	float low[3], high[3];
	for (int k = 0; k < 3; k++) {
		low[k] = cr_round_down(lower[k] + v3d_get(origin, k) - pad);
		high[k] = cr_round_up(upper[k] + v3d_get(origin, k) + pad);
	}
	const cr_bvh_kernels *kernels = c->pipeline->bvh;
	*count = kernels->blocks_in_box(c->collider, low, high, FEW_BLOCKS, few);
	if (*count <= FEW_BLOCKS)
		return few;
	int32_t *blocks = cr_arena_alloc(&c->worker->arena, (size_t)*count * sizeof *blocks);
	if (blocks)
		kernels->blocks_in_box(c->collider, low, high, *count, blocks);
	return blocks;
}

static void collide_triangles(convex_pair *c)
{
	int32_t few[FEW_BLOCKS], count;
	const int32_t *blocks = find_blocks(c, (v3d){ 0, 0, 0 }, few, &count);
	c->unsettled = blocks ? cr_arena_alloc(&c->worker->arena, (size_t)(count + 1) * CR_WIDTH * sizeof *c->unsettled) : NULL;
	if (!c->unsettled) {
		c->worker->failed = true;
		return;
	}
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &c->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++)
			collide_triangle(c, block->number[lane]);
	}
	for (int32_t i = 0; i < c->unsettled_count; i++)
		settle(c, &c->unsettled[i]);
	if (c->nearest.depth < 0 && c->margin > 0)
		add_nearest(c, blocks, count);
	// A body that meets a triangle is not told contacts ahead alone.
	if (c->worker->contacts.count == 0 || (c->met > TOUCHES * c->size && deepest_of(c) < 0))
		add_last_way(c);
	if (c->nearest.depth > TOUCHES * c->size && deepest_of(c) < 0)
		add_way(c, &c->nearest, 0);
}

// ---- Do the contacts part the pair? ----

/// The end of the way along n past the triangles that the body meets where it is moved by so much;
/// 0: it meets none.
static double end_of_meeting(const convex_pair *c, v3d n, double moved)
{
	const v3d shift = v3d_scale(n, moved);
	const cr_relative at = { in_place.rotation, v3d_neg(shift) };
	int32_t few[FEW_BLOCKS], count;
	const int32_t *blocks = find_blocks(c, shift, few, &count);
	double end = 0;
	if (!blocks) {
		c->worker->failed = true;
		return 0;
	}
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &c->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			near_triangle t;
			cr_separation s;
			if (!place_triangle(c, block->number[lane], shift, 0, &t))
				continue;
			const v3d *p = t.convex.corner;
			const double top = fmax(v3d_dot(n, p[0]), fmax(v3d_dot(n, p[1]), v3d_dot(n, p[2]))) + reach_along(c, v3d_neg(n));
			if (top <= fmax(moved, end) + TOUCHES * c->size)
				continue;
			cr_convex_separation(&c->convex, &t.convex, &at, &s);
			if (s.gap < -TOUCHES * c->size)
				end = fmax(end, cr_convex_exit(&c->convex, &t.convex, n, top));
		}
	}
	return end;
}

/// As end_of_meeting, but a body that meets no triangle because it lies wholly inside the mesh must
/// move on at least until its centre is at the surface.
static double end_of_way(const convex_pair *c, v3d n, double moved)
{
	const double end = end_of_meeting(c, n, moved);
	v3d centre;
	cr_near_point near;
	if (end > moved || !is_centre_inside(c, v3d_scale(n, moved), &centre, &near))
		return end;
	return moved + fmax(sqrt(near.distance2), TOUCHES * c->size);
}

/// How far the body must move along n, at least from, so that the pair is parted there; infinite:
/// farther than most.
static double way_along(const convex_pair *c, v3d n, double from, double most)
{
	double way = from;
	for (int i = 0; i < MOST_ROUNDS && way <= most; i++) {
		const double end = end_of_way(c, n, way);
		if (!(end > way))
			return way;
		way = end;
	}
	return INFINITY;
}

static v3d normal_of(const convex_pair *c, const cr_raw_contact *contact)
{
	const v3d n = { contact->normal[0], contact->normal[1], contact->normal[2] };
	return v3d_scale(cr_vector_to_body(c->body, n), c->body_is_a ? 1 : -1);
}

/// Of more half spaces than fit, those of the least reach are left out.
static void add_half_space(cr_half_spaces *spaces, v3d normal, double reach)
{
	int least = 0;
	for (int i = 0; i < spaces->count; i++) {
		if (v3d_dot(spaces->normal[i], normal) > ONE_PLANE) {
			spaces->reach[i] = fmax(spaces->reach[i], reach);
			return;
		}
		least = spaces->reach[i] < spaces->reach[least] ? i : least;
	}
	if (spaces->count < CR_MOST_HALF_SPACES)
		least = spaces->count++;
	else if (spaces->reach[least] >= reach)
		return;
	spaces->normal[least] = normal;
	spaces->reach[least] = reach;
}

static void add_contact_spaces(const convex_pair *c, cr_half_spaces *spaces)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	for (int64_t i = 0; i < list->count; i++) {
		if (list->data[i].depth > 0)
			add_half_space(spaces, normal_of(c, &list->data[i]), list->data[i].depth);
	}
}

/// Does a direction lead into a surface that one of the half spaces is about?
static bool leads_into_surface(const cr_half_spaces *spaces, v3d n)
{
	for (int i = 0; i < spaces->count; i++) {
		if (v3d_dot(n, spaces->normal[i]) < AGAINST)
			return true;
	}
	return false;
}

/// A contact with a triangle that the body, moved by shift, meets more deeply than depth; false:
/// not so deeply. It leads along the triangle's normal where the least way out would lead through
/// it, or into another surface.
static bool way_out_of(
	const convex_pair *c, const cr_half_spaces *spaces, int32_t number, v3d shift, double *depth, way_out *way)
{
	const cr_relative at = { in_place.rotation, v3d_neg(shift) };
	near_triangle t;
	cr_separation s;
	if (!place_triangle(c, number, shift, 0, &t))
		return false;
	const double over = v3d_dot(t.normal, t.convex.corner[0]) + reach_along(c, v3d_neg(t.normal));
	if (over - v3d_dot(t.normal, shift) <= *depth)
		return false;
	cr_convex_separation(&c->convex, &t.convex, &at, &s);
	if (-s.gap <= *depth)
		return false;
	*depth = -s.gap;
	const bool through = v3d_dot(s.normal, t.normal) < AGAINST || leads_into_surface(spaces, s.normal);
	const v3d normal = through ? t.normal : s.normal;
	const v3d low = v3d_mad(cr_convex_support(&c->convex, v3d_neg(normal)), -c->convex.rounding, normal);
	const double reach = (through ? over : v3d_dot(normal, shift) - s.gap) + TOUCHES * c->size;
	*way = (way_out){ v3d_mad(through ? low : s.on_a, reach, normal), normal, reach, number };
	return true;
}

/// A contact with the triangle that the body meets most deeply where it is moved by shift; false:
/// it meets none there.
static bool find_left(const convex_pair *c, const cr_half_spaces *spaces, v3d shift, way_out *way)
{
	int32_t few[FEW_BLOCKS], count;
	const int32_t *blocks = find_blocks(c, shift, few, &count);
	double deepest = TOUCHES * c->size;
	bool found = false;
	if (!blocks) {
		c->worker->failed = true;
		return false;
	}
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &c->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++)
			found |= way_out_of(c, spaces, block->number[lane], shift, &deepest, way);
	}
	return found;
}

/// Contacts that are missing: with them, the shortest move out of all contacts parts the pair.
typedef struct missing {
	way_out data[MOST_MISSING];
	int count;
	int ways; // different directions of them and of the contacts
	v3d move;
} missing;

/// Moves the body out of its contacts, and, for as long as it meets triangles there, out of these
/// as well. false: no such move is found.
static bool find_missing(const convex_pair *c, missing *m)
{
	cr_half_spaces spaces = { .count = 0 };
	add_contact_spaces(c, &spaces);
	for (m->count = 0;; m->count++) {
		m->ways = spaces.count;
		v3d centre;
		cr_near_point near;
		way_out left;
		if (!(cr_shortest_move(&spaces, 1e-9 * c->size, &m->move) < MOST_WAY * c->size))
			return false;
		if (!find_left(c, &spaces, m->move, &left))
			return !is_centre_inside(c, m->move, &centre, &near);
		if (m->count == MOST_MISSING || !(left.depth > 0))
			return false;
		add_half_space(&spaces, left.normal, left.depth);
		m->data[m->count] = left;
	}
}

static void add_missing(convex_pair *c, const missing *m)
{
	for (int i = 0; i < m->count; i++)
		add_way(c, &m->data[i], WHOLE_PAIR);
}

/// A direction and how far the body must move along it.
typedef struct way_along_normal {
	v3d normal;
	double length;
} way_along_normal;

/// Directions that are tried, each once.
typedef struct trials {
	v3d tried[MOST_TRIALS];
	int count;
	double from; // no way is shorter
	bool any;    // also into a surface that a contact is about
	cr_half_spaces contacts;
	way_along_normal best;
} trials;

static void try_normal(const convex_pair *c, trials *t, v3d n)
{
	for (int i = 0; i < t->count; i++) {
		if (v3d_dot(t->tried[i], n) > ALIKE)
			return;
	}
	if (t->count == MOST_TRIALS || (!t->any && leads_into_surface(&t->contacts, n)))
		return;
	t->tried[t->count++] = n;
	const double way = way_along(c, n, t->from, t->best.length);
	if (way < t->best.length)
		t->best = (way_along_normal){ n, way };
}

/// The normals of the contacts, their mean, those of the triangles near, and directions all around.
static void try_normals(const convex_pair *c, trials *t)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	v3d sum = { 0, 0, 0 };
	for (int64_t i = 0; i < list->count; i++) {
		sum = v3d_add(sum, normal_of(c, &list->data[i]));
		try_normal(c, t, normal_of(c, &list->data[i]));
	}
	if (v3d_dot(sum, sum) > 1e-2)
		try_normal(c, t, v3d_normalize(sum));
	for (int32_t i = 0; i < c->unsettled_count; i++) {
		if (c->unsettled[i].meets)
			try_normal(c, t, c->unsettled[i].normal);
	}
	if (c->nearest.depth > 0)
		try_normal(c, t, c->nearest.normal);
	// An open mesh has no outside to which any direction leads.
	for (int i = 0; i < 27 && c->collider->closed; i++) {
		const v3d d = { i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1 };
		if (i != 13)
			try_normal(c, t, v3d_normalize(m3d_mul(&c->mesh_in_body.rotation, d)));
	}
}

/// May the deepest contact lead the body out of the triangle that it was worked out for, but not
/// out of all? Not where the body touches lightly, all contacts have one normal and none of the
/// triangles is met more deeply than the contact tells.
static bool may_not_part(const convex_pair *c, const cr_raw_contact *deepest)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	const double depth = deepest->depth, most = depth > c->met ? depth : c->met;
	if (!(depth > 0))
		return false;
	if (most > DEEP * c->size || most > depth + TOUCHES * c->size)
		return true;
	const v3d normal = normal_of(c, deepest);
	for (int64_t i = 0; i < list->count; i++) {
		if (v3d_dot(normal, normal_of(c, &list->data[i])) < ALIKE)
			return true;
	}
	return false;
}

static double depth_met(const convex_pair *c, const cr_raw_contact *deepest) { return fmax((double)deepest->depth, c->met); }

static bool is_deep(const convex_pair *c, const cr_raw_contact *deepest) { return depth_met(c, deepest) > DEEP * c->size; }

/// Is none of the contacts left out when those of a pair are reduced, as by default? What is found
/// does not depend on the limit that a world has.
static bool all_stay(const convex_pair *c, const missing *m)
{
	return m->ways <= FEW_WAYS && c->worker->contacts.count + m->count <= CR_MAX_VOLUME_CONTACTS;
}

/// Adds the shortest way out of all that is found. A body that is clamped and not deep is left to
/// its contacts: no short way leads out.
static void add_whole_way(convex_pair *c, const cr_raw_contact *deepest)
{
	const bool deep = is_deep(c, deepest);
	const double limit = deep ? MOST_WAY * c->size : LONG_WAY * depth_met(c, deepest);
	trials t = { .from = deepest->depth, .best = { .length = limit } };
	cr_raw_contact contact = *deepest;
	add_contact_spaces(c, &t.contacts);
	try_normals(c, &t);
	if (deep && !(t.best.length < fmin(limit, 2 * depth_met(c, deepest)))) {
		t.any = true;
		try_normals(c, &t);
	}
	if (!(t.best.length < limit))
		return;
	const v3d n = v3d_scale(cr_vector_to_world(c->body, t.best.normal), c->body_is_a ? 1 : -1);
	for (int k = 0; k < 3; k++)
		contact.normal[k] = (float)v3d_get(n, k);
	contact.depth = (float)(t.best.length + TOUCHES * c->size);
	*(c->body_is_a ? &contact.feature_a : &contact.feature_b) = WHOLE_PAIR;
	cr_add_contact(c->worker, &contact);
}

/// The contacts of a body were worked out triangle by triangle: together they need not bring it out
/// of all. Where neither the shortest move out of all of them does, nor the deepest one by itself,
/// contacts are added, never removed: a patch of contacts that pushes out of a floor must stay. Of
/// a body that is deep, only contacts of a few directions count together: others may be left out
/// where the contacts of a pair are reduced.
static void part(convex_pair *c)
{
	const cr_raw_contacts *list = &c->worker->contacts;
	int64_t number = 0;
	missing m;
	for (int64_t i = 1; i < list->count; i++)
		number = list->data[i].depth > list->data[number].depth ? i : number;
	if (list->count == 0 || !may_not_part(c, &list->data[number]))
		return;
	const bool found = find_missing(c, &m) && (!is_deep(c, &list->data[number]) || all_stay(c, &m));
	if (found && m.count == 0)
		return;
	const cr_raw_contact deepest = list->data[number];
	if (!(end_of_way(c, normal_of(c, &deepest), deepest.depth) > deepest.depth))
		return;
	if (found)
		add_missing(c, &m);
	else
		add_whole_way(c, &deepest);
}

/// May the surface go on where no edge tells so?
static bool is_unwelded(const cr_body *mesh)
{
	const carom_mesh_report *r = &mesh->shape.mesh->report;
	return r->components > 1 || r->border_edges + r->nonmanifold_edges + r->degenerate_triangles > 0;
}

static bool pushes_to_front(const cr_body *mesh)
{
	const carom_mesh_sides sides = mesh->shape.mesh->sides;
	return mesh->shape.collider->closed || sides == CAROM_SIDES_FRONT ||
		(sides == CAROM_SIDES_AUTO && mesh->kind == CAROM_STATIC);
}

void cr_join_convex_mesh(cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const cr_body *body = a->shape.family == CR_FAMILY_CONVEX ? a : b;
	const cr_convex convex = cr_convex_of(&body->shape.def);
	cr_join_contacts(worker, &worker->contacts, SAME_PLACE * (cr_convex_size(&convex) + convex.rounding));
}

void cr_collide_convex_mesh(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const bool body_is_a = a->shape.family == CR_FAMILY_CONVEX;
	const cr_body *body = body_is_a ? a : b, *mesh = body_is_a ? b : a;
	convex_pair c = { .pipeline = p,
		.worker = worker,
		.body = body,
		.mesh = mesh,
		.body_is_a = body_is_a,
		.collider = mesh->shape.collider,
		.convex = cr_convex_of(&body->shape.def),
		.margin = p->settings.world.speculative_distance,
		.to_front = pushes_to_front(mesh),
		.unwelded = is_unwelded(mesh),
		.nested = is_unwelded(mesh) && mesh->shape.collider->closed };
	if (c.collider->tree.node_count == 0)
		return;
	cr_relative_transform(body, mesh, &c.mesh_in_body.rotation, &c.mesh_in_body.position);
	c.centre = cr_convex_centre(&c.convex);
	c.box = cr_local_box_of(body);
	c.size = cr_convex_size(&c.convex) + c.convex.rounding;
	c.flush = CR_FLUSH * fmin(c.size, 0.5 * (double)c.collider->diagonal);
	// Rounding tells whether a centre in the surface of a closed mesh lies inside. If it is found
	// outside, it counts as in front of the triangles there, so that one of these leads it out.
	c.behind = c.collider->closed ? -IN_SURFACE * c.collider->scale : 0;
	c.nearest = (way_out){ .depth = -nextafter(c.margin, INFINITY), .triangle = -1 };
	c.met = -INFINITY;
	if (!add_way_out(&c))
		collide_triangles(&c);
	part(&c);
}
