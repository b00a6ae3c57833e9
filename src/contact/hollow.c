/// Vertices below hollow edges (manifold.c).
///
/// Below a valley, where two facets of a body meet at a hollow edge, lies a wedge of points that no
/// facet stands for: their feet on both planes lie beyond the edge, inside the body. The edge is
/// the part of the surface next to them. A vertex there has to come up through both facets, since
/// only points over both are outside; at the bottom of a pit through all that meet there. So it
/// stands below each of their planes, at its depth there, and waits until each is chosen, or one
/// that parts the bodies altogether. A facet farther off may stand for it all the same: the next
/// tread of stairs, for the foot of a body that has come into the riser. That is no way out where
/// the hollow edge is nearer.
///
/// Cost: the search for the nearest point of the surface, for each vertex inside that no facet
/// stands for, or that lies less deep below two other facets than below those that do.

#include "contact/manifold.h"

/// Add the plane of a triangle's facet. false: the vertex is not below it.
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

/// Add the planes of all triangles around a corner of one. false: the vertex is not below all of
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

/// Add the planes around the point of the surface that is next to a vertex. false: it is in a
/// facet, or the vertex is not behind it.
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

/// Let a vertex stand below its planes.
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

/// May the hollow edge of two facets be nearer to a vertex than the facets that stand for it? Not
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

/// Does a vertex inside lie below a hollow edge or corner? Then it stands below the planes there.
static bool is_hollow(cr_manifold *m, cr_hollow_vertex *h)
{
	const cr_overlap_corner *corner = &m->overlap->corners[h->corner];
	const cr_completion *c = m->completion;
	const int other = 1 - corner->side;
	cr_near_point near;
	if (!c->pipeline->bvh->closest(c->collider[other], cr_from_a(c, other, corner->at), INFINITY, true, &near))
		return false;
	const double distance = sqrt(near.distance2);
	if (distance <= m->tolerance || !(distance < m->own[h->corner] - m->tolerance) || !add_planes(m, other, &near, h) ||
		h->count == 0)
		return false;
	set_depths(m, h, distance);
	return true;
}

bool cr_find_hollow(cr_manifold *m)
{
	m->hollow = NULL;
	m->hollow_count = 0;
	for (int32_t i = 0; i < m->overlap->elements; i++) {
		const cr_overlap_corner *corner = &m->overlap->corners[i];
		if (corner->kind != CR_CORNER_VERTEX || m->overlap->facets[1 - corner->side]->convex || !may_be_hollow(m, i))
			continue;
		if (!m->hollow)
			m->hollow = cr_arena_alloc(&m->completion->worker->arena, (size_t)m->overlap->elements * sizeof *m->hollow);
		if (!m->hollow)
			return false;
		cr_hollow_vertex *h = &m->hollow[m->hollow_count];
		*h = (cr_hollow_vertex){ .corner = i };
		m->hollow_count += is_hollow(m, h);
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
