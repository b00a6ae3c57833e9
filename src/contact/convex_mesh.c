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
/// 2. Of a solid that deforms each vertex in the body has a contact (solid_vertices.c).
/// 3. Closed meshes, and open ones that push to their front, are not met from behind. An open one
///    that pushes to the front does so however deep the body has sunk in; one that pushes to both
///    sides is met by the side on which the centre is.
///
/// Cost: a walk of the mesh's tree, and a search of the least separation for each triangle whose
/// box and plane meet the body. A body that stands deep is looked at once more where its deepest
/// contact leads.

#include "contact/convex_mesh.h"
#include "base/radix.h"
#include "contact/solid_vertices.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "geom/patch.h"
#include "geom/triangle.h"

enum { MOST_RING = 64, MOST_AROUND = 64 };

// Of a triangle's longest edge: corners that differ by no more are equally far along a normal, and
// a surface that rises by no more over such a length counts as flat.
static const double FLAT = 1e-4;
// A normal that holds is preferred to a triangle's own where it brings the body out by less than
// this share, less this part of its size; ahead, where its gap is longer than so.
static const double SOONER = 0.95, SOONER_SIZE = 2e-3;
// Cosine: normals of two faces of which one is a wall beside the other.
static const double FAR_FROM = 0.7;
// Sines: an edge lies along a plane, and across a direction, up to these angles.
static const double ALONG = 0.1, ACROSS = 0.01;
// Of the body's size: contacts that are nearer are in one place. Of a corner that hangs over the
// border, each triangle has another point.
static const double SAME_PLACE = 3 * CR_FLUSH;

// Of the largest coordinate of a closed mesh: a point that lies no deeper inside may be found
// outside, since the ray that decides takes floats.
static const double IN_SURFACE = 5e-7;

static const cr_relative in_place = { { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, { 0, 0, 0 } };

static v3d to_mesh(const cr_convex_mesh_pair *c, v3d p)
{
	return m3d_tmul(&c->mesh_in_body.rotation, v3d_sub(p, c->mesh_in_body.position));
}

static void add_contacts(cr_convex_mesh_pair *c, const cr_volume_contact *contacts, int count, int32_t triangle)
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

void cr_add_convex_way(cr_convex_mesh_pair *c, const cr_convex_way *way, int32_t name)
{
	const cr_volume_contact contact = { v3d_mad(way->point, -way->depth, way->normal), way->normal, way->depth, name };
	add_contacts(c, &contact, 1, way->triangle);
}

// ---- A body whose centre is inside ----

/// Does a point of the mesh's frame lie inside the mesh?
static bool is_inside(const cr_convex_mesh_pair *c, v3d point)
{
	const float origin[3] = { (float)point.x, (float)point.y, (float)point.z }, ray[3] = { 0.5f, 0.7f, 0.3f };
	for (int k = 0; k < 3; k++) {
		if (!(origin[k] >= c->collider->lower[k] && origin[k] <= c->collider->upper[k]))
			return false;
	}
	return c->pipeline->bvh->winding(c->collider, origin, ray) != 0;
}

bool cr_is_centre_inside(const cr_convex_mesh_pair *c, v3d shift, v3d *centre, cr_near_point *near)
{
	*centre = to_mesh(c, v3d_add(c->centre, shift));
	return c->collider->closed && is_inside(c, *centre) && c->pipeline->bvh->closest(c->collider, *centre, INFINITY, true, near);
}

static bool add_way_out(cr_convex_mesh_pair *c)
{
	v3d centre;
	cr_near_point near;
	if (!cr_is_centre_inside(c, (v3d){ 0, 0, 0 }, &centre, &near))
		return false;
	const v3d away = v3d_sub(near.on.point, centre);
	const v3d out =
		near.distance2 > 1e-12 * c->size * c->size ? v3d_normalize(away) : cr_collider_normal(c->collider, near.triangle);
	const v3d up = m3d_mul(&c->mesh_in_body.rotation, out);
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	const int count = cr_convex_plane_contacts(&c->convex, up, v3d_dot(up, cr_to_body(c, near.on.point)), c->margin, contacts);
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

/// Does q lie below the plane across n through p, or above it by so little that the two count as
/// flat?
static bool lies_below(v3d n, v3d p, v3d q)
{
	const v3d d = v3d_sub(q, p);
	return v3d_dot(n, d) <= FLAT * v3d_length(d);
}

/// Does the other triangle at an edge (corner k to k + 1 of a triangle) lie below the plane across
/// n through the edge?
static bool holds_at_edge(const cr_convex_mesh_pair *c, int32_t triangle, int k, v3d n, v3d on_edge)
{
	const cr_topology *top = c->collider->topology;
	const int32_t across = top->neighbours[3 * (int64_t)triangle + k];
	if (across < 0)
		return true;
	for (int i = 0; i < 3; i++) {
		if (!lies_below(n, on_edge, cr_vertex_in_body(c, across, i)))
			return false;
	}
	return true;
}

/// Do all triangles around corner k of a triangle lie below the plane across n through it? Goes
/// round in one direction, and from a border in the other.
static bool holds_at_vertex(const cr_convex_mesh_pair *c, int32_t triangle, int k, v3d n, v3d at)
{
	const cr_topology *top = c->collider->topology;
	const int32_t vertex = top->weld[top->triangles[3 * (int64_t)triangle + k]];
	for (int way = 0; way < 2; way++) {
		int32_t t = triangle;
		for (int i = 0; i < MOST_RING && t >= 0; i++) {
			const int place = place_of(top, t, vertex);
			if (place < 0)
				break;
			if (!lies_below(n, at, cr_vertex_in_body(c, t, (place + 1) % 3)) ||
				!lies_below(n, at, cr_vertex_in_body(c, t, (place + 2) % 3)))
				return false;
			t = top->neighbours[3 * (int64_t)t + (way == 0 ? place : (place + 2) % 3)];
			if (t == triangle)
				return true;
		}
	}
	return true;
}

/// May the body be pushed along n by the part of a triangle that lies farthest along it?
static bool holds(const cr_convex_mesh_pair *c, const cr_near_triangle *t, v3d n)
{
	if (!(v3d_dot(n, t->normal) > -FLAT))
		return false;
	v3d corner[3];
	double along[3], longest = 0, most = -INFINITY;
	for (int k = 0; k < 3; k++) {
		corner[k] = cr_vertex_in_body(c, t->triangle, k);
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
static v3d place_on(const cr_near_triangle *t, const cr_volume_contact *contact)
{
	cr_feature feature;
	const v3d *p = t->convex.corner, place = v3d_mad(contact->point, contact->depth, contact->normal);
	return cr_closest_point_triangle(place, p[0], p[1], p[2], &feature);
}

/// Nearer than this, places on the mesh are one.
static double covering_reach(const cr_convex_mesh_pair *c) { return c->flush + IN_SURFACE * c->collider->scale; }

/// Edges of a triangle on which a place lies, as bits. Where some are across n, these alone.
static unsigned edges_at(const cr_convex_mesh_pair *c, const cr_near_triangle *t, v3d place, v3d n)
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
static bool has_edge_along(const cr_near_triangle *t, unsigned edges, v3d normal)
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
static bool is_covered(const cr_convex_mesh_pair *c, const cr_near_triangle *t, unsigned edges, v3d place, v3d n)
{
	const double reach = covering_reach(c);
	int32_t around[MOST_AROUND];
	const int32_t count = c->pipeline->bvh->around(c->collider, to_mesh(c, place), reach, MOST_AROUND, around);
	for (int32_t i = 0; i < count && i < MOST_AROUND; i++) {
		const v3d normal = m3d_mul(&c->mesh_in_body.rotation, cr_collider_normal(c->collider, around[i]));
		if (!has_edge_along(t, edges, normal))
			continue;
		for (int k = 0; k < 3; k++) {
			const v3d d = v3d_sub(cr_vertex_in_body(c, around[i], k), place);
			if (v3d_dot(n, d) > FLAT * v3d_length(d) + reach)
				return true;
		}
	}
	return false;
}

/// May a part of the surface lie inside the mesh?
static bool is_nested(const cr_convex_mesh_pair *c) { return c->unwelded && c->collider->closed; }

/// Is a place on the mesh, seen along n, inside it? So are walls of solids side by side.
static bool is_inner(const cr_convex_mesh_pair *c, v3d place, v3d n)
{
	return is_nested(c) && is_inside(c, to_mesh(c, v3d_mad(place, covering_reach(c), n)));
}

/// Leaves out contacts where other triangles hide t. Returns how many are left: none if those on
/// its edges are all hidden.
static int drop_hidden(const cr_convex_mesh_pair *c, const cr_near_triangle *t, cr_volume_contact *contacts, int count)
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

static void remember_direction(cr_convex_mesh_pair *c, v3d n)
{
	for (int i = 0; i < c->direction_count; i++) {
		if (v3d_dot(c->direction[i], n) > CR_ALIKE)
			return;
	}
	if (c->direction_count == CR_MOST_DIRECTIONS)
		return;
	c->reach[c->direction_count] = cr_reach_along(c, v3d_neg(n));
	c->direction[c->direction_count++] = n;
}

static int32_t facet_of(const cr_convex_mesh_pair *c, int32_t triangle)
{
	return c->mesh->shape.mesh->facets.of_triangle[triangle];
}

static bool stands_on_facet(const cr_convex_mesh_pair *c, int32_t triangle)
{
	for (int i = 0; i < c->facet_count; i++) {
		if (c->facet[i] == facet_of(c, triangle))
			return true;
	}
	return false;
}

static void remember_facet(cr_convex_mesh_pair *c, int32_t triangle)
{
	if (c->facet_count < CR_MOST_DIRECTIONS && !stands_on_facet(c, triangle))
		c->facet[c->facet_count++] = facet_of(c, triangle);
}

// ---- Triangles ----

bool cr_place_triangle(const cr_convex_mesh_pair *c, int32_t number, v3d shift, double reach, cr_near_triangle *t)
{
	const double pad = reach + 1e-9 * c->size;
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	*t = (cr_near_triangle){ .convex = { .core = CR_CORE_TRIANGLE }, .triangle = number };
	v3d *corner = t->convex.corner;
	for (int k = 0; k < 3; k++) {
		corner[k] = cr_vertex_in_body(c, number, k);
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
	t->normal = cr_triangle_normal(corner);
	t->behind = v3d_dot(t->normal, v3d_sub(c->centre, corner[0])) <= c->behind;
	// A needle of denormal width is a segment in this frame. Its neighbour at the long edge is met
	// instead.
	return v3d_dot(t->normal, t->normal) > 0;
}

/// A triangle in the frame of the body; false where the body does not meet it, or meets it from a
/// side that does not push.
static bool take_triangle(const cr_convex_mesh_pair *c, int32_t number, cr_near_triangle *t)
{
	if (!cr_place_triangle(c, number, (v3d){ 0, 0, 0 }, c->margin, t) || (t->behind && c->collider->closed))
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
	t->depth = height + cr_reach_along(c, v3d_neg(t->normal));
	// A body that nears a front from behind is not met, however near: its way out would lead
	// through the surface.
	return t->depth >= -c->margin && cr_reach_along(c, t->normal) >= height - 1e-9 * c->size;
}

/// Does the body stand wholly over a triangle, and off its edges? Then no other direction than the
/// triangle's can be the least.
static bool stands_over(const cr_convex_mesh_pair *c, const cr_near_triangle *t)
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
static void note_nearest(cr_convex_mesh_pair *c, const cr_near_triangle *t, const cr_separation *least)
{
	if (-least->gap <= c->nearest.depth || (t->behind && !c->collider->closed && v3d_dot(least->normal, t->normal) < -FLAT))
		return;
	c->nearest = (cr_convex_way){ v3d_mad(least->on_a, -least->gap, least->normal), least->normal, -least->gap, t->triangle };
}

static void collide_triangle(cr_convex_mesh_pair *c, int32_t number)
{
	cr_near_triangle t;
	cr_separation least;
	bool on_face;
	cr_volume_contact contacts[CR_MAX_TRIANGLE_CONTACTS];
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
	if (on_face ? is_nested(c) : c->unwelded)
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

/// Does a direction bring the body out of a triangle sooner than the triangle's normal? reach: of
/// the body against the direction.
static bool is_sooner(const cr_convex_mesh_pair *c, const cr_near_triangle *t, v3d direction, double reach)
{
	const double sooner = t->depth > 0 ? SOONER * t->depth : t->depth / SOONER;
	return cr_top_along(t, direction) + reach < sooner - SOONER_SIZE * c->size;
}

/// The unsettled triangle that the body meets least deeply along its own normal; NULL: none.
static const cr_near_triangle *least_unsettled(const cr_convex_mesh_pair *c)
{
	const cr_near_triangle *least = NULL;
	for (int32_t i = 0; i < c->unsettled_count; i++) {
		const cr_near_triangle *t = &c->unsettled[i];
		if (t->meets && (!least || t->depth < least->depth))
			least = t;
	}
	return least;
}

/// The shortest move out of the contacts that are settled, for triangles that are met much deeper.
typedef struct settled {
	v3d move;
	double length; // infinite: there is none
} settled;

/// Is the way out of all contacts, and on out of a triangle, much shorter than that along the
/// triangle's normal? In a corner of a hole two walls together lead the body out of the rim.
static bool is_led_out(const cr_convex_mesh_pair *c, const cr_near_triangle *t, const settled *s)
{
	return t->meets && s->length > 0 && t->depth > CR_LONG_WAY * s->length &&
		t->depth > CR_LONG_WAY * (s->length + cr_depth_moved(c, t, s->move));
}

/// A triangle whose least direction does not hold: along its own normal, unless one that holds
/// brings the body out of it sooner, or all contacts together much sooner. So does the normal of
/// the triangle that is met least, if it leans far from this one: at a rim where no direction
/// holds, the wall does not push a body that lies on the top. One that does not meet the body takes
/// part where the body stands on its flat part: an overhang reaches below it. Returns whether it
/// gets contacts.
static bool settle(
	cr_convex_mesh_pair *c, const cr_near_triangle *t, const cr_near_triangle *least, double reach, const settled *s)
{
	if (!t->meets && !stands_on_facet(c, t->triangle))
		return false;
	for (int i = 0; i < c->direction_count; i++) {
		if (is_sooner(c, t, c->direction[i], c->reach[i]))
			return false;
	}
	if (least && v3d_dot(least->normal, t->normal) < FAR_FROM && is_sooner(c, t, least->normal, reach))
		return false;
	if (is_led_out(c, t, s))
		return false;
	cr_volume_contact contacts[CR_MAX_TRIANGLE_CONTACTS];
	int count = cr_convex_contacts_on_triangle(&c->convex, &t->convex, t->rim, c->margin, contacts);
	count = is_nested(c) ? drop_hidden(c, t, contacts, count) : count;
	add_contacts(c, contacts, count, t->triangle);
	return count > 0;
}

/// Settle the triangles that are left of a solid, those first that the body lies least deep below:
/// they lead it out sooner than the others' own normals. So a flat face with a wobble, of which no
/// normal holds, keeps the walls beside it from pushing.
static void settle_by_depth(cr_convex_mesh_pair *c)
{
	const int64_t count = c->unsettled_count;
	const settled none = { .length = INFINITY };
	cr_key *keys = cr_arena_alloc(&c->worker->arena, 2 * (size_t)(count + 1) * sizeof *keys);
	if (!keys) {
		c->worker->failed = true;
		return;
	}
	for (int32_t i = 0; i < count; i++)
		keys[i] = (cr_key){ cr_key_of_double(c->unsettled[i].depth), (uint32_t)i };
	cr_order_keys(keys, count);
	for (int64_t i = 0; i < count; i++) {
		const cr_near_triangle *t = &c->unsettled[keys[i].value];
		if (settle(c, t, NULL, 0, &none) && t->meets)
			remember_direction(c, t->normal);
	}
}

/// Those that are not much deeper than the contacts that there are, else than the least of them,
/// come first: the deep ones ask for a move out of all contacts.
static void settle_all(cr_convex_mesh_pair *c)
{
	if (cr_deforming_of(c->mesh)) {
		settle_by_depth(c);
		return;
	}
	const cr_near_triangle *least = least_unsettled(c);
	const double reach = least ? cr_reach_along(c, v3d_neg(least->normal)) : 0;
	const double deepest = cr_greatest_depth(&c->worker->contacts);
	const double shallow = deepest > 0 ? CR_LONG_WAY * deepest : least ? CR_LONG_WAY * least->depth : INFINITY;
	settled s = { .length = INFINITY };
	bool deep = false;
	for (int32_t i = 0; i < c->unsettled_count; i++) {
		if (c->unsettled[i].meets && c->unsettled[i].depth > shallow)
			deep = true;
		else
			settle(c, &c->unsettled[i], least, reach, &s);
	}
	if (!deep)
		return;
	s.length = cr_move_out_of_contacts(c, &s.move);
	for (int32_t i = 0; i < c->unsettled_count; i++) {
		if (c->unsettled[i].meets && c->unsettled[i].depth > shallow)
			settle(c, &c->unsettled[i], least, reach, &s);
	}
}

// ---- Where no normal holds, and no triangle lies below the body's deepest point ----

/// The least depth along the directions between two normals, and its direction. on_edge: a point of
/// the edge between them.
static double search_arc(const cr_convex_mesh_pair *c, v3d from, v3d to, v3d on_edge, v3d *best)
{
	double least = INFINITY, at = 0;
	for (double step = 1.0 / 16; step > 1e-4; step *= 0.25) {
		const double middle = at;
		for (int i = -16; i <= 16; i++) {
			const double s = middle + i * step;
			if (s < 0 || s > 1)
				continue;
			const v3d d = v3d_normalize(v3d_add(v3d_scale(from, 1 - s), v3d_scale(to, s)));
			const double depth = v3d_dot(d, on_edge) + cr_reach_along(c, v3d_neg(d));
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
/// border, or where the neighbour has lost its width (cr_place_triangle), straight outward.
static bool normal_beyond(const cr_convex_mesh_pair *c, const cr_near_triangle *t, int k, v3d *normal)
{
	const v3d *p = t->convex.corner, along = v3d_sub(p[(k + 1) % 3], p[k]);
	const int32_t across = c->collider->topology->neighbours[3 * (int64_t)t->triangle + (t->flipped ? 2 - k : k)];
	if (across < 0) {
		*normal = v3d_normalize(v3d_cross(along, t->normal));
		return true;
	}
	v3d q[3];
	for (int i = 0; i < 3; i++) {
		q[i] = cr_vertex_in_body(c, across, i);
		if (!lies_below(t->normal, p[k], q[i]))
			return false;
	}
	*normal = v3d_scale(v3d_normalize(v3d_cross(v3d_sub(q[1], q[0]), v3d_sub(q[2], q[0]))), t->flipped ? -1 : 1);
	if (!(v3d_dot(*normal, *normal) > 0))
		*normal = v3d_normalize(v3d_cross(along, t->normal));
	return v3d_dot(*normal, t->normal) > -1 + FLAT;
}

/// The ways out over the edges of a triangle that pass through the body.
static void try_edges(const cr_convex_mesh_pair *c, const cr_near_triangle *t, cr_convex_way *way)
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
			*way = (cr_convex_way){ v3d_mad(p[k], middle, along), direction, depth, t->triangle };
	}
}

/// One contact for a body that meets the surface and has none, or none but ahead: over an edge that
/// passes through it, else out of a triangle.
static void add_last_way(cr_convex_mesh_pair *c)
{
	cr_convex_way way = { .depth = INFINITY };
	for (int32_t i = 0; i < c->unsettled_count; i++) {
		if (c->unsettled[i].meets)
			try_edges(c, &c->unsettled[i], &way);
	}
	const bool over_edge = way.depth < INFINITY;
	for (int32_t i = 0; i < c->unsettled_count && !over_edge; i++) {
		const cr_near_triangle *t = &c->unsettled[i];
		const v3d low = v3d_mad(cr_convex_support(&c->convex, v3d_neg(t->normal)), -c->convex.rounding, t->normal);
		if (t->meets && t->depth < way.depth)
			way = (cr_convex_way){ v3d_mad(low, t->depth, t->normal), t->normal, t->depth, t->triangle };
	}
	if (!(way.depth < INFINITY && way.depth >= -c->margin))
		return;
	cr_add_convex_way(c, &way, 0);
}

// ---- Where the body meets nothing yet ----

/// A triangle of a closed mesh that has the body's centre behind it may be the nearest all the
/// same: at a vertex with ridges and valleys.
static void note_behind(cr_convex_mesh_pair *c, int32_t number)
{
	cr_near_triangle t;
	cr_separation least;
	if (!cr_place_triangle(c, number, (v3d){ 0, 0, 0 }, -c->nearest.depth, &t) || !t.behind)
		return;
	cr_convex_separation(&c->convex, &t.convex, &in_place, &least);
	if (least.gap > 0)
		note_nearest(c, &t, &least);
}

/// A body that is near and meets nothing: the nearest points, where no contact is as near. The
/// normals that were dropped may be those that lead there.
static void add_nearest(cr_convex_mesh_pair *c, const int32_t *blocks, int32_t count)
{
	for (int32_t i = 0; i < count && c->collider->closed; i++) {
		const cr_tri8 *block = &c->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++)
			note_behind(c, block->number[lane]);
	}
	const double deepest = cr_greatest_depth(&c->worker->contacts);
	// Depths are told as floats.
	if (c->nearest.triangle < 0 || !(c->nearest.depth > (1 - 1e-6) * deepest + 1e-9 * c->size))
		return;
	cr_add_convex_way(c, &c->nearest, 0);
}

/// Contacts ahead are as far away as the nearest points at least. One of a triangle along the
/// normal of a face of the body may tell less, where a corner of the triangle beside the face lies
/// nearer to its plane.
static void keep_apart(const cr_convex_mesh_pair *c)
{
	cr_raw_contacts *list = &c->worker->contacts;
	if (c->nearest.triangle < 0 || !(cr_greatest_depth(list) < 0))
		return;
	const float most = (float)c->nearest.depth;
	for (int64_t i = 0; i < list->count; i++)
		list->data[i].depth = list->data[i].depth > most ? most : list->data[i].depth;
}

int32_t *cr_find_near_blocks(const cr_convex_mesh_pair *c, v3d shift, int32_t *few, int32_t *count)
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
	*count = kernels->blocks_in_box(c->collider, low, high, CR_FEW_BLOCKS, few);
	if (*count <= CR_FEW_BLOCKS)
		return few;
	int32_t *blocks = cr_arena_alloc(&c->worker->arena, (size_t)*count * sizeof *blocks);
	if (!blocks) {
		c->worker->failed = true;
		*count = 0;
		return NULL;
	}
	kernels->blocks_in_box(c->collider, low, high, *count, blocks);
	return blocks;
}

static void collide_triangles(cr_convex_mesh_pair *c)
{
	int32_t few[CR_FEW_BLOCKS], count;
	const int32_t *blocks = cr_find_near_blocks(c, (v3d){ 0, 0, 0 }, few, &count);
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
	settle_all(c);
	if (c->nearest.depth < 0 && c->margin > 0) {
		add_nearest(c, blocks, count);
		keep_apart(c);
	}
	// A body that meets a triangle is not told contacts ahead alone.
	if (c->worker->contacts.count == 0 || (c->met > CR_TOUCHES * c->size && cr_greatest_depth(&c->worker->contacts) < 0))
		add_last_way(c);
	if (c->nearest.depth > CR_TOUCHES * c->size && cr_greatest_depth(&c->worker->contacts) < 0)
		cr_add_convex_way(c, &c->nearest, 0);
}

// ---- The whole pair ----

/// May the surface go on where no edge tells so?
static bool is_unwelded(const cr_body *mesh)
{
	const carom_mesh_report *r = &mesh->shape.mesh->report;
	return r->components > 1 || r->border_edges + r->nonmanifold_edges + r->degenerate_triangles > 0;
}

static bool pushes_to_front(const cr_body *mesh) { return mesh->shape.collider->closed || cr_has_front(mesh); }

void cr_join_convex_mesh(cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const bool is_a = a->shape.family == CR_FAMILY_CONVEX;
	const cr_body *body = is_a ? a : b, *mesh = is_a ? b : a;
	const cr_convex convex = cr_convex_of(&body->shape.def);
	const double size = cr_convex_size(&convex) + convex.rounding;
	// Beside a large body vertices of a small solid would be one.
	const double smaller = cr_deforming_of(mesh) ? fmin(size, 0.5 * (double)mesh->shape.collider->diagonal) : size;
	cr_join_contacts(worker, &worker->contacts, SAME_PLACE * smaller, is_a);
}

void cr_collide_convex_mesh(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const bool body_is_a = a->shape.family == CR_FAMILY_CONVEX;
	const cr_body *body = body_is_a ? a : b, *mesh = body_is_a ? b : a;
	cr_convex_mesh_pair c = { .pipeline = p,
		.worker = worker,
		.body = body,
		.mesh = mesh,
		.body_is_a = body_is_a,
		.collider = mesh->shape.collider,
		.convex = cr_convex_of(&body->shape.def),
		.margin = p->settings.world.speculative_distance,
		.to_front = pushes_to_front(mesh),
		.unwelded = is_unwelded(mesh) };
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
	c.nearest = (cr_convex_way){ .depth = -nextafter(c.margin, INFINITY), .triangle = -1 };
	c.met = -INFINITY;
	if (!add_way_out(&c))
		collide_triangles(&c);
	cr_part_convex_mesh(&c);
	if (cr_deforming_of(mesh))
		cr_cover_solid_vertices(&c);
}
