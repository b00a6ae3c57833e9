/// Planes along two edges that cross, one of each body (manifold.c).
///
/// A ridge is a convex crease that pierces the other body. Of two bodies that are not both convex a
/// plane stands only for corners on its own two edges. So it can be chosen only for the middle of a
/// piece of one of these, and where both have none it is not made; and only edges that each pierce
/// a facet beside the other make one. Both are told from numbers alone, before a ridge is measured.
/// Cost: edges with a middle x edges.

#include "contact/contact_normal.h"
#include "contact/manifold.h"

// Sine of the angle between edges that make a plane.
static const double PARALLEL = 1e-4;
// Of its length: how far an edge may end before the place where it passes another.
static const double JOINT = 1e-3;

/// How much is known of an edge.
typedef enum ridge_state { RIDGE_OPEN, RIDGE_NONE, RIDGE_MADE } ridge_state;

/// A crease that pierces the other body.
typedef struct ridge {
	int32_t half_edge;
	int32_t facet[2]; // -1: a border
	int32_t first;    // of its pierces among the corners, which follow each other
	int32_t end;
	uint64_t facets;  // bits of its facets, by their numbers modulo 64
	uint64_t pierced; // bits of the facets of the other body that it pierces, likewise
	bool has_middle;  // a corner
	ridge_state state;
	// once made
	v3d normal[2]; // of its facets, A's frame
	v3d from;
	v3d along;
} ridge;

/// Measures an edge that is asked for. Returns whether it is a ridge.
static bool make_ridge(const cr_manifold *m, int side, ridge *r)
{
	if (r->state != RIDGE_OPEN)
		return r->state == RIDGE_MADE;
	r->state = RIDGE_NONE;
	const cr_completion *c = m->completion;
	const cr_collider *collider = c->collider[side];
	const int32_t own = r->half_edge / 3, across = collider->topology->neighbours[r->half_edge];
	if (across < 0)
		return false;
	const v3d n[2] = { cr_collider_normal(collider, own), cr_collider_normal(collider, across) };
	if (cr_edge_is_internal(collider, r->half_edge, n[0], n[1], c->internal_cosine))
		return false;
	v3d corners[3];
	cr_triangle_in_a(c, side, own, corners);
	const int k = r->half_edge % 3;
	r->normal[0] = cr_direction_to_a(c, side, n[0]);
	r->normal[1] = cr_direction_to_a(c, side, n[1]);
	r->from = corners[k];
	r->along = v3d_sub(corners[(k + 1) % 3], corners[k]);
	r->state = RIDGE_MADE;
	return true;
}

static uint64_t bit_of(int32_t facet) { return facet < 0 ? 0 : (uint64_t)1 << facet % 64; }

/// The bit of the facet that a pierce goes through; of small hulls it is not known, nor asked for.
static uint64_t pierced_bit(const cr_manifold *m, const cr_overlap_corner *pierce)
{
	return pierce->other < 0 ? 0 : bit_of(m->overlap->facets[1 - pierce->side]->of_triangle[pierce->other]);
}

/// Notes which edges of a side have a middle.
static void note_middles(const cr_manifold *m, int side, ridge *ridges, int count)
{
	for (int32_t i = 0; i < m->overlap->elements; i++) {
		const cr_overlap_corner *corner = &m->overlap->corners[i];
		if (corner->kind != CR_CORNER_MIDDLE || corner->side != side)
			continue;
		for (int k = 0; k < count; k++)
			ridges[k].has_middle = ridges[k].has_middle || ridges[k].half_edge == corner->number;
	}
}

/// The creases of a side among the pierces; at most CR_MOST_RIDGES.
static int find_ridges(const cr_manifold *m, int side, ridge *ridges)
{
	const cr_facets *f = m->overlap->facets[side];
	int count = 0;
	int32_t last = -1;
	for (int32_t i = m->overlap->elements; i < m->overlap->count; i++) {
		const cr_overlap_corner *corner = &m->overlap->corners[i];
		if (corner->kind != CR_CORNER_PIERCE || corner->side != side)
			continue;
		const bool begins = corner->number != last;
		if (begins && count == CR_MOST_RIDGES)
			break;
		// Whether an edge begins cannot be foretold: so all is written again. Most ridges are never
		// measured: the other members stay as they are.
		count += begins;
		last = corner->number;
		const int32_t across = m->completion->collider[side]->topology->neighbours[last];
		ridge *r = &ridges[count - 1];
		r->half_edge = last;
		r->facet[0] = f->of_triangle[last / 3];
		r->facet[1] = across < 0 ? -1 : f->of_triangle[across];
		r->first = begins ? i : r->first;
		r->end = i + 1;
		r->facets = bit_of(r->facet[0]) | bit_of(r->facet[1]);
		r->pierced = (begins ? 0 : r->pierced) | pierced_bit(m, corner);
		r->has_middle = false;
		r->state = RIDGE_OPEN;
	}
	return count;
}

/// Does an edge pierce a facet of either side of a ridge of the other body?
static bool pierces_beside(const cr_manifold *m, int side, const ridge *own, const ridge *other)
{
	const int32_t *of_triangle = m->overlap->facets[1 - side]->of_triangle;
	for (int32_t i = own->first; i < own->end; i++) {
		const int32_t facet = of_triangle[m->overlap->corners[i].other];
		if (facet == other->facet[0] || facet == other->facet[1])
			return true;
	}
	return false;
}

/// Are two ridges nearest within both, not at an end: of a crease made of several edges only one is
/// the right one. slack: so much, as a part of its length, an edge counts as longer at either end.
static bool meet_within(const ridge *a, const ridge *b, double slack)
{
	const v3d d = v3d_sub(b->from, a->from);
	const double aa = v3d_dot(a->along, a->along), bb = v3d_dot(b->along, b->along), ab = v3d_dot(a->along, b->along);
	const double area = aa * bb - ab * ab;
	const double s = v3d_dot(a->along, d) * bb - v3d_dot(b->along, d) * ab;
	const double t = v3d_dot(a->along, d) * ab - v3d_dot(b->along, d) * aa;
	const double least = -slack * area, most = area - least;
	return s >= least && s <= most && t >= least && t <= most;
}

/// The plane along two ridges: only where their common normal lies between the normals of the
/// facets of either (their arcs of the Gauss map cross; Gregorius 2013).
static bool plane_of_ridges(const cr_manifold *m, const ridge *a, const ridge *b, cr_reference_plane *plane)
{
	if (v3d_dot(a->along, b->normal[0]) * v3d_dot(a->along, b->normal[1]) > 0 ||
		v3d_dot(b->along, a->normal[0]) * v3d_dot(b->along, a->normal[1]) > 0)
		return false;
	v3d n = v3d_cross(a->along, b->along);
	const double length = v3d_length(n);
	if (!(length > PARALLEL * v3d_length(a->along) * v3d_length(b->along)))
		return false;
	n = v3d_scale(n, 1 / length);
	if (v3d_dot(n, v3d_add(b->normal[0], b->normal[1])) < 0)
		n = v3d_neg(n);
	if (v3d_dot(n, v3d_add(a->normal[0], a->normal[1])) >= 0 || v3d_dot(n, v3d_sub(b->from, a->from)) < -m->tolerance)
		return false;
	// The edges' own distance along the normal, also where all corners of A's edge are settled.
	const double depth = v3d_dot(n, v3d_sub(b->from, a->from));
	*plane = (cr_reference_plane){ .side = 1,
		.facet = -1,
		.edge = { a->half_edge, b->half_edge },
		.normal = n,
		.offset = v3d_dot(n, b->from),
		.depth = depth > 0 ? depth : 0,
		.area = meet_within(a, b, 0) ? 0 : -1 };
	return true;
}

/// The edges of both bodies that may make planes.
typedef struct ridge_pairs {
	ridge (*ridges)[CR_MOST_RIDGES];
	int count[2];
	bool convex; // both bodies
	bool all;    // see cr_add_ridge_planes
} ridge_pairs;

static void add_plane(cr_manifold *m, const ridge_pairs *p, ridge *a, ridge *b)
{
	cr_reference_plane plane;
	// The bits tell of nearly all.
	if (!p->convex &&
		(!(a->pierced & b->facets) | !(b->pierced & a->facets) || !pierces_beside(m, 0, a, b) || !pierces_beside(m, 1, b, a)))
		return;
	if (!make_ridge(m, 0, a) || !make_ridge(m, 1, b) || !plane_of_ridges(m, a, b, &plane))
		return;
	// Elsewhere than in a convex body edges that pass each other beyond an end part nothing.
	if (p->convex || plane.area == 0 || meet_within(a, b, JOINT))
		m->planes[m->plane_count++] = plane;
}

/// Planes by the number of A's edge, then of B's. Without a middle of its own an edge of A meets
/// only those of B that have one, unless all may make planes.
static void add_planes(cr_manifold *m, const ridge_pairs *p, int32_t capacity)
{
	int with_middle[CR_MOST_RIDGES], middles = 0;
	for (int j = 0; j < p->count[1]; j++) {
		if (p->ridges[1][j].has_middle)
			with_middle[middles++] = j;
	}
	for (int i = 0; i < p->count[0]; i++) {
		ridge *a = &p->ridges[0][i];
		const bool every = p->convex || p->all || a->has_middle;
		const int count = every ? p->count[1] : middles;
		for (int j = 0; j < count && m->plane_count < capacity; j++)
			add_plane(m, p, a, &p->ridges[1][every ? j : with_middle[j]]);
	}
}

/// Which kinds of corners a body has.
typedef struct kinds_of_side {
	bool pierce;
	bool middle;
} kinds_of_side;

static void find_kinds(const cr_manifold *m, kinds_of_side kinds[2])
{
	kinds[0] = kinds[1] = (kinds_of_side){ false, false };
	for (int32_t i = 0; i < m->overlap->count; i++) {
		const cr_overlap_corner *corner = &m->overlap->corners[i];
		kinds[corner->side].pierce |= corner->kind == CR_CORNER_PIERCE;
		kinds[corner->side].middle |= corner->kind == CR_CORNER_MIDDLE;
	}
}

bool cr_add_ridge_planes(cr_manifold *m, int32_t capacity, bool all)
{
	// Where a tip of one body is in a facet of the other, that has none.
	kinds_of_side kinds[2];
	find_kinds(m, kinds);
	if (!kinds[0].pierce || !kinds[1].pierce)
		return true;
	ridge_pairs p = { .convex = cr_are_both_convex(m->overlap), .all = all };
	if (!p.convex && !all && !kinds[0].middle && !kinds[1].middle)
		return true;
	p.ridges = cr_arena_alloc(&m->completion->worker->arena, 2 * sizeof *p.ridges);
	if (!p.ridges)
		return false;
	for (int side = 0; side < 2; side++) {
		p.count[side] = find_ridges(m, side, p.ridges[side]);
		note_middles(m, side, p.ridges[side], p.count[side]);
	}
	add_planes(m, &p, capacity);
	return true;
}
