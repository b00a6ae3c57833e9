/// Ways out of an open mesh that has a front.
///
/// The planes of a body's own facets measure how deep the open mesh lies in the body. Where the
/// mesh goes on beyond the body, a way along such a plane's normal leads on through it, down to its
/// back or along it: only where the mesh ends within the body, or turns away from it, is it a way
/// out. A body without such a way out is led to where the mesh's facets face in the mean. Cost:
/// corners of the overlap for each plane of the body's facets, and the facets that take part.

#include "contact/manifold.h"

// Cosine: ways that are steeper to the front lead along the mesh.
static const double SLIP = 0.3;
// Cosine to the outward direction of a border, and to the back: a way over the border is nearer to
// the first, and farther from the second.
static const double OVER_BORDER = 0.5;

/// Does a plane push along an open mesh that has a front, not to it? That is the way out only over
/// the mesh's border: a body that has sunk in deeply must not slip along until it is through.
bool cr_slips_along(const cr_manifold *m, const cr_reference_plane *plane)
{
	const int other = 1 - plane->side;
	const cr_overlap *o = m->overlap;
	if (plane->facet < 0 || m->completion->collider[other]->closed || o->two_sided[other])
		return false;
	for (int32_t i = 0; i < o->touched[other].count; i++) {
		const v3d front = cr_direction_to_a(m->completion, other, cr_facet_normal(o->facets[other], o->touched[other].list[i]));
		// The plane's normal takes the open mesh out of the other body.
		if (-v3d_dot(front, plane->normal) < SLIP)
			return true;
	}
	return false;
}

/// Does a way of the plane's body lead over an edge of the open mesh: to the front of a crease, or
/// off a border and not to the back?
static bool leads_over_edge(const cr_manifold *m, int open, v3d way, int32_t half_edge)
{
	const cr_completion *c = m->completion;
	const int32_t triangle = half_edge / 3, across = c->collider[open]->topology->neighbours[half_edge];
	const v3d front = cr_direction_to_a(c, open, cr_collider_normal(c->collider[open], triangle));
	if (across >= 0) {
		const v3d beyond = cr_direction_to_a(c, open, cr_collider_normal(c->collider[open], across));
		const v3d sum = v3d_add(front, beyond);
		return v3d_dot(way, sum) >= SLIP * v3d_length(sum);
	}
	v3d corners[3];
	cr_triangle_in_a(c, open, triangle, corners);
	const int k = half_edge % 3;
	const v3d off = v3d_cross(v3d_sub(corners[(k + 1) % 3], corners[k]), front);
	return v3d_dot(way, off) >= OVER_BORDER * v3d_length(off) && v3d_dot(way, front) >= -OVER_BORDER;
}

/// As leads_over_edge, of a vertex: to the front of the surface around it, or over one of the two
/// borders that meet there.
static bool leads_over_vertex(const cr_manifold *m, int open, v3d way, const cr_overlap_corner *corner)
{
	const cr_collider *collider = m->completion->collider[open];
	const cr_topology *t = collider->topology;
	const v3d front = cr_collider_vertex_normal(collider, corner->number);
	if (v3d_dot(way, cr_direction_to_a(m->completion, open, front)) >= SLIP)
		return true;
	for (int forward = 0; forward < 2; forward++) {
		int32_t triangle = corner->other, count = 0;
		int k = 0;
		while (t->weld[t->triangles[3 * (int64_t)triangle + k]] != t->weld[corner->number])
			k++;
		while (count++ < t->triangle_count && cr_next_in_fan(t, forward, &triangle, &k)) {
			if (triangle == corner->other)
				return false;
		}
		if (leads_over_edge(m, open, way, 3 * triangle + (forward ? (k + 2) % 3 : k)))
			return true;
	}
	return false;
}

/// Does a way of the plane's body lead over the open mesh at a corner of it, or where an edge of
/// the body pierces it?
static bool leads_over(const cr_manifold *m, int open, v3d way, const cr_overlap_corner *corner)
{
	if (corner->side == open)
		return corner->kind == CR_CORNER_VERTEX ? leads_over_vertex(m, open, way, corner)
												: leads_over_edge(m, open, way, corner->number);
	const v3d front = cr_collider_normal(m->completion->collider[open], corner->other);
	return v3d_dot(way, cr_direction_to_a(m->completion, open, front)) >= SLIP;
}

/// Does a corner lie on the open mesh's surface?
static bool lies_on(const cr_overlap_corner *corner, int open)
{
	return corner->side == open || corner->kind == CR_CORNER_PIERCE;
}

/// Does the open mesh end, or turn away, wherever it lies deepest below a plane of the other body?
/// Else it goes on from there, and a way along the plane's normal leads the body on through it.
/// row: the depths of the corners below the plane.
bool cr_leads_clear(const cr_manifold *m, const cr_reference_plane *plane, const float *row)
{
	const int open = 1 - plane->side;
	const cr_overlap_corner *corners = m->overlap->corners;
	float most = -1;
	for (int32_t i = 0; i < m->overlap->count; i++) {
		if (lies_on(&corners[i], open))
			most = row[i] > most ? row[i] : most;
	}
	for (int32_t i = 0; i < m->overlap->count; i++) {
		if (lies_on(&corners[i], open) && row[i] >= 0 && row[i] >= most - m->tolerance &&
			!leads_over(m, open, v3d_neg(plane->normal), &corners[i]))
			return false;
	}
	return most >= 0;
}

/// The side of the pair that is open and has a front where the other one is solid; -1: none.
static int find_front(const cr_manifold *m)
{
	for (int side = 0; side < 2; side++) {
		if (!m->completion->collider[side]->closed && !m->overlap->two_sided[side] && m->completion->collider[1 - side]->closed)
			return side;
	}
	return -1;
}

/// Where the facets of a side that take part face in the mean (A's frame); all count alike.
static v3d mean_front(const cr_manifold *m, int side)
{
	const cr_overlap *o = m->overlap;
	v3d sum = { 0, 0, 0 };
	for (int32_t i = 0; i < o->touched[side].count; i++)
		sum = v3d_add(sum, cr_facet_normal(o->facets[side], o->touched[side].list[i]));
	return cr_direction_to_a(m->completion, side, sum);
}

void cr_add_way_to_front(cr_manifold *m)
{
	const cr_overlap *o = m->overlap;
	const int open = find_front(m);
	if (open < 0)
		return;
	const v3d sum = mean_front(m, open);
	const double length = v3d_length(sum);
	if (!(length > SLIP * o->touched[open].count))
		return;
	const v3d front = v3d_scale(sum, 1 / length);
	double top = -INFINITY;
	for (int32_t i = 0; i < o->count; i++) {
		const double height = v3d_dot(front, o->corners[i].at);
		top = lies_on(&o->corners[i], open) && height > top ? height : top;
	}
	const int32_t triangle = cr_first_of_facet(o->facets[open], o->touched[open].list[0]);
	for (int32_t i = 0; i < o->count; i++) {
		const cr_overlap_corner *corner = &o->corners[i];
		const double depth = top - v3d_dot(front, corner->at);
		if (!lies_on(corner, open) && corner->kind == CR_CORNER_VERTEX && isfinite(depth) && depth > m->tolerance)
			cr_add_crossing_contact(m->completion, corner->side, corner->at, front, depth, corner->number, triangle,
				corner->side == 0 ? CAROM_VERTEX_A : CAROM_VERTEX_B);
	}
}
