/// Elements below hollow edges (manifold.c): vertices, and middles of pieces of edges.
///
/// Below a valley, where two facets of a body meet at a hollow edge, lies a wedge of points that no
/// facet stands for: their feet on both planes lie beyond the edge, inside the body. The edge is
/// the part of the surface next to them. An element there has to come up through both facets, since
/// only points over both are outside; at the bottom of a pit through all that meet there. So it
/// stands below each of their planes, at its depth there, and waits until each is chosen, or one
/// that parts the bodies altogether. A facet farther off may stand for it all the same: the next
/// tread of stairs, for the foot of a body that has come into the riser, or the end of a rail, for
/// the edge of a longer bar that lies in it. That is no way out where the hollow edge is nearer.
///
/// 1. The point of the surface that is next to the element is looked for. It may be a hollow edge,
///    or a corner where hollow edges meet.
/// 2. Else, for a vertex, the hollow edges between the planes are asked one by one. Where a wedge
///    ends, the end of the body is nearer than the edge: to the end of a bar that is flush with the
///    end of its rail, or reaches it nearly. Such an end stands below both planes as the rest of
///    the bar does. It may still choose a plane that parts the bodies sooner.
///
/// Cost: the search for the nearest point of the surface, for each element inside that no facet
/// stands for, or that lies less deep below two other facets than below those that do. The hollow
/// edges of the facets that take part, of which each may have MOST_TRIANGLES; and their number for
/// each vertex.

#include "contact/manifold.h"

// Hollow edges of a body, and triangles of a facet that is asked for them.
enum { MOST_EDGES = 64, MOST_TRIANGLES = 64 };
// Sine of the angle from which two facets make a hollow edge.
static const double FLAT = 0.01;

/// Add the plane of a triangle's facet. false: the element is not below it.
static bool add_plane_of(cr_manifold *m, int side, int32_t triangle, cr_hollow_vertex *h)
{
	const int32_t facet = m->overlap->facets[side]->of_triangle[triangle];
	for (int32_t k = 0; k < m->facet_planes; k++) {
		const cr_reference_plane *plane = &m->planes[k];
		if (plane->side != side || plane->facet != facet || plane->chosen)
			continue;
		if (plane->offset - v3d_dot(plane->normal, m->overlap->corners[h->corner].at) <= m->tolerance)
			return false;
		for (int32_t i = 0; i < h->count; i++) {
			if (h->plane[i] == k)
				return true;
		}
		if (h->count < CR_MOST_HOLLOW)
			h->plane[h->count++] = k;
	}
	return true;
}

/// Add the planes of all triangles around a corner of one. false: the element is not below all of
/// them, or there is a border.
static bool add_fan(cr_manifold *m, int side, int32_t first, int corner, cr_hollow_vertex *h)
{
	const cr_topology *t = m->completion->collider[side]->topology;
	int32_t triangle = first;
	for (int32_t count = 0; count < t->triangle_count; count++) {
		if (!add_plane_of(m, side, triangle, h) || !cr_next_in_fan(t, true, &triangle, &corner))
			return false;
		if (triangle == first)
			return true;
	}
	return false;
}

/// Add the planes around the point of the surface that is next to an element. false: it is in a
/// facet, or the element is not behind it.
static bool add_planes(cr_manifold *m, int side, const cr_near_point *near, cr_hollow_vertex *h)
{
	if (near->on.feature == CR_FEATURE_FACE)
		return false;
	if (near->on.feature >= CR_FEATURE_A)
		return add_fan(m, side, near->triangle, near->on.feature - CR_FEATURE_A, h);
	const int edge = near->on.feature - CR_FEATURE_EDGE_AB;
	const int32_t across = m->completion->collider[side]->topology->neighbours[3 * (int64_t)near->triangle + edge];
	return across >= 0 && add_plane_of(m, side, near->triangle, h) && add_plane_of(m, side, across, h);
}

/// Let an element stand below its planes.
static void set_depths(cr_manifold *m, const cr_hollow_vertex *h, double depth)
{
	m->own[h->corner] = (float)depth;
	for (int32_t i = 0; i < h->count; i++) {
		cr_reference_plane *plane = &m->planes[h->plane[i]];
		const size_t entry = cr_entry_of(m, h->plane[i], h->corner);
		m->depth[entry] = (float)(plane->offset - v3d_dot(plane->normal, m->overlap->corners[h->corner].at));
		m->unproved[entry] = -1;
		cr_left_of(m, h->plane[i])[h->corner / CR_WIDTH] &= (uint8_t) ~(1u << h->corner % CR_WIDTH);
		plane->deepest_at = -1;
	}
}

/// May the hollow edge of two facets be nearer to an element than the facets that stand for it? Not
/// unless it lies less deep below both.
static bool may_be_hollow(const cr_manifold *m, int32_t corner)
{
	const cr_overlap_corner *vertex = &m->overlap->corners[corner];
	const double own = m->own[corner];
	int count = 0;
	if (!isfinite(own))
		return true;
	for (int32_t k = 0; k < m->facet_planes && count < 2; k++) {
		const cr_reference_plane *plane = &m->planes[k];
		const double depth = plane->offset - v3d_dot(plane->normal, vertex->at);
		count += plane->side != vertex->side && depth > m->tolerance && depth < own - m->tolerance;
	}
	return count == 2;
}

// ---- Wedges ----

/// A hollow edge between two planes, in A's frame.
typedef struct hollow_edge {
	int32_t plane[2];
	v3d from;
	v3d along;     // unit
	v3d inward[2]; // from the edge into either facet, unit
	double length;
} hollow_edge;

/// Those of one body.
typedef struct edge_list {
	hollow_edge *data; // NULL: not looked for
	int32_t count;
} edge_list;

/// The plane of a facet; -1: there is none.
static int32_t plane_of(const cr_manifold *m, int side, int32_t facet)
{
	for (int32_t k = 0; k < m->facet_planes; k++) {
		if (m->planes[k].side == side && m->planes[k].facet == facet)
			return k;
	}
	return -1;
}

/// Note an edge of a plane's facet, if it is hollow and has a plane on its other side too.
static void note_edge(const cr_manifold *m, int32_t number, int32_t half_edge, edge_list *l)
{
	const cr_reference_plane *first = &m->planes[number];
	const cr_facets *facets = m->overlap->facets[first->side];
	const cr_topology *t = m->completion->collider[first->side]->topology;
	const int32_t across = t->neighbours[half_edge];
	const int32_t facet = across < 0 ? -1 : facets->of_triangle[across];
	if (l->count == MOST_EDGES || facet < 0 || facet == first->facet)
		return;
	const int32_t other = plane_of(m, first->side, facet);
	// Where both facets are asked, the lower plane brings the edge.
	if (other < 0 || first->chosen || m->planes[other].chosen ||
		(other < number && cr_facet_size(facets, facet) <= MOST_TRIANGLES))
		return;
	v3d ends[2];
	cr_edge_in_a(m->completion, first->side, half_edge, ends);
	const v3d edge = v3d_sub(ends[1], ends[0]);
	const double length = v3d_length(edge);
	const v3d along = v3d_scale(edge, length > 0 ? 1 / length : 0), inward = v3d_cross(first->normal, along);
	if (v3d_dot(m->planes[other].normal, inward) > FLAT)
		l->data[l->count++] =
			(hollow_edge){ { number, other }, ends[0], along, { inward, v3d_cross(along, m->planes[other].normal) }, length };
}

/// List the hollow edges between planes of a body. false: out of memory.
static bool list_edges(cr_manifold *m, int side, edge_list *l)
{
	const cr_facets *facets = m->overlap->facets[side];
	l->data = cr_arena_alloc(&m->completion->worker->arena, MOST_EDGES * sizeof *l->data);
	for (int32_t k = 0; k < m->facet_planes && l->data; k++) {
		if (m->planes[k].side != side || cr_facet_size(facets, m->planes[k].facet) > MOST_TRIANGLES)
			continue;
		cr_facet room;
		const cr_facet *f = cr_facet_at(facets, m->planes[k].facet, &room);
		for (int32_t i = 0; i < 3 * f->count; i++)
			note_edge(m, k, 3 * cr_triangle_in_facet(facets, f, i / 3) + i % 3, l);
	}
	return l->data != NULL;
}

/// How far a corner is from a hollow edge above it; INFINITY: it is not in the wedge below it.
static double distance_below(const cr_manifold *m, const hollow_edge *e, v3d point)
{
	const v3d off = v3d_sub(point, e->from);
	const double rim = 10 * m->tolerance, at = v3d_dot(off, e->along);
	if (at < -rim || at > e->length + rim)
		return INFINITY;
	for (int i = 0; i < 2; i++) {
		const cr_reference_plane *plane = &m->planes[e->plane[i]];
		if (plane->offset - v3d_dot(plane->normal, point) <= m->tolerance || v3d_dot(off, e->inward[i]) > rim)
			return INFINITY;
	}
	return v3d_length(v3d_mad(off, -at, e->along));
}

/// Find the wedge that holds a corner, that of the nearest edge. Returns how far this is; INFINITY:
/// there is none.
static double find_wedge(const cr_manifold *m, const edge_list *l, cr_hollow_vertex *h)
{
	double least = INFINITY;
	for (int32_t i = 0; i < l->count; i++) {
		const hollow_edge *e = &l->data[i];
		const double distance = distance_below(m, e, m->overlap->corners[h->corner].at);
		if (!(distance < least))
			continue;
		least = distance;
		h->count = 2;
		h->plane[0] = e->plane[0];
		h->plane[1] = e->plane[1];
	}
	return least;
}

// ---- Corners ----

/// Is the surface next to a corner inside that of a hollow edge or corner? Then it stands below the
/// planes there.
static bool is_nearest_hollow(cr_manifold *m, cr_hollow_vertex *h)
{
	const cr_overlap_corner *corner = &m->overlap->corners[h->corner];
	const cr_completion *c = m->completion;
	const int other = 1 - corner->side;
	cr_near_point near;
	if (!may_be_hollow(m, h->corner) ||
		!c->pipeline->bvh->closest(c->collider[other], cr_from_a(c, other, corner->at), INFINITY, true, &near))
		return false;
	const double distance = sqrt(near.distance2);
	if (distance <= m->tolerance || !(distance < m->own[h->corner] - m->tolerance) || !add_planes(m, other, &near, h) ||
		h->count == 0)
		return false;
	set_depths(m, h, distance);
	return true;
}

/// Does a corner inside lie below a hollow edge or corner?
static bool is_hollow(cr_manifold *m, const edge_list *edges, cr_hollow_vertex *h)
{
	if (is_nearest_hollow(m, h))
		return true;
	const bool vertex = m->overlap->corners[h->corner].kind == CR_CORNER_VERTEX;
	const double distance = vertex ? find_wedge(m, edges, h) : INFINITY;
	if (isinf(distance))
		return false;
	set_depths(m, h, fmin(distance, m->own[h->corner]));
	return true;
}

bool cr_find_hollow(cr_manifold *m)
{
	edge_list edges[2] = { { NULL, 0 }, { NULL, 0 } };
	m->hollow = NULL;
	m->hollow_count = 0;
	for (int32_t i = 0; i < m->overlap->elements; i++) {
		const int other = 1 - m->overlap->corners[i].side;
		if (m->overlap->facets[other]->convex)
			continue;
		if (m->overlap->corners[i].kind == CR_CORNER_VERTEX && !edges[other].data && !list_edges(m, other, &edges[other]))
			return false;
		if (!m->hollow)
			m->hollow = cr_arena_alloc(&m->completion->worker->arena, (size_t)m->overlap->elements * sizeof *m->hollow);
		if (!m->hollow)
			return false;
		cr_hollow_vertex *h = &m->hollow[m->hollow_count];
		*h = (cr_hollow_vertex){ .corner = i };
		m->hollow_count += is_hollow(m, &edges[other], h);
	}
	return true;
}

cr_hollow_vertex *cr_hollow_at(const cr_manifold *m, int32_t corner)
{
	for (int32_t i = 0; i < m->hollow_count; i++) {
		if (m->hollow[i].corner == corner)
			return &m->hollow[i];
	}
	return NULL;
}

void cr_wait_for_hollow(cr_manifold *m, int32_t plane)
{
	for (int32_t i = 0; i < m->hollow_count; i++) {
		cr_hollow_vertex *h = &m->hollow[i];
		if (h->done || m->waits[h->corner])
			continue;
		bool own = false, all = true;
		for (int32_t k = 0; k < h->count; k++) {
			own = own || h->plane[k] == plane;
			all = all && m->planes[h->plane[k]].chosen;
		}
		h->done = !own || all;
		if (h->done)
			continue;
		m->waits[h->corner] = -1;
		m->settled++;
	}
}
