/// Facets that lie flat on each other, and planes that lean beside them (manifold.c).
///
/// The plane of a facet is measured over that facet alone. So where two faces lie flat on each
/// other, a slope beside one of them may seem the shorter way out: at the rim the bodies are only
/// just inside each other, as seen from the slope. Moved that way they stay inside each other over
/// the whole of the faces. Of two rings whose sides have slopes every corner is at such a rim.
///
/// A flat pair is a facet of each body, opposed to the other one up to FLAT, with corners of the
/// common part between them. Its depth is that of the deepest of these. A plane that an element has
/// chosen gives way to a flat pair if
/// - it is no facet of a flat pair itself, and its way does not go against that of the flat pair;
/// - moved along the flat pair by its depth, all corners that the plane would settle are outside
///   the other body, or on its surface;
/// - the plane's own way, of the length of that depth, would leave places of the two facets inside
///   the other body;
/// - some of these places are not much nearer to another surface than that depth. The end of a bar
///   lies flat below the far end of the rail that it lies in, but just below the rail's walls.
/// So a wall beside a floor keeps its contacts: corners inside the wall still are after the way out
/// of the floor. The slope of a rim loses them, for the faces lead all of the rim out. And where
/// two bodies overlap by a strip alone, the way across the strip counts, not that along it.
///
/// Only of two closed bodies that are not both convex; of convex bodies the depths of planes are
/// those of all that is below them. Cost: planes of A x planes of B, once for a pair; for an
/// element whose plane is compared, the corners below that plane, each with a facet or a point
/// test.

#include "contact/manifold.h"

enum { MOST_FLAT = 16 };

// Cosine of the angle up to which opposed facets lie flat on each other: 1.1 degrees.
static const double FLAT = 0.9998;
// Of the depth of a flat pair: a place that is nearer to the surface is not about the pair.
static const double NEARER = 0.125;

/// The direction in which a plane moves B.
static v3d way_of_b(const cr_reference_plane *plane) { return plane->side == 0 ? plane->normal : v3d_neg(plane->normal); }

/// How far a corner is moved by a way that takes B along a direction.
static v3d moved(const cr_manifold *m, int32_t corner, v3d way_of_b, double length)
{
	// Only the motion against the other body counts.
	const cr_overlap_corner *c = &m->overlap->corners[corner];
	return v3d_mad(c->at, c->side == 1 ? length : -length, way_of_b);
}

static double height_over(const cr_reference_plane *plane, v3d at) { return v3d_dot(plane->normal, at) - plane->offset; }

/// Does a corner lie on a plane of its own body?
static bool lies_on(const cr_manifold *m, int32_t corner, const cr_reference_plane *plane)
{
	const cr_overlap_corner *c = &m->overlap->corners[corner];
	return c->side == plane->side && fabs(height_over(plane, c->at)) <= cr_plane_tolerance(m, plane);
}

// ---- Flat pairs ----

/// The depth of the corners between two opposed facets.
static double depth_between(cr_manifold *m, const int32_t number[2])
{
	double most = 0;
	for (int32_t i = 0; i < m->overlap->count; i++) {
		const int side = m->overlap->corners[i].side;
		if (lies_on(m, i, &m->planes[number[side]]))
			most = fmax(most, cr_depth_below(m, number[1 - side], i));
	}
	return most;
}

/// Find the flat pairs among the planes. false: out of memory.
static bool find_flat(cr_manifold *m)
{
	m->flat_known = true;
	m->flat_count = 0;
	for (int32_t i = 0; i < m->facet_planes && m->planes[i].side == 0; i++) {
		for (int32_t k = m->facet_planes - 1; k > i && m->planes[k].side == 1 && m->flat_count < MOST_FLAT; k--) {
			if (v3d_dot(m->planes[i].normal, m->planes[k].normal) > -FLAT)
				continue;
			if (!m->flat)
				m->flat = cr_arena_alloc(&m->completion->worker->arena, MOST_FLAT * sizeof *m->flat);
			if (!m->flat)
				return false;
			cr_flat_pair *f = &m->flat[m->flat_count];
			*f = (cr_flat_pair){ .plane = { i, k } };
			f->depth = depth_between(m, f->plane);
			m->flat_count += f->depth > m->tolerance;
		}
	}
	return true;
}

// ---- The way out of a flat pair ----

/// Is a point (A's frame) outside a body, or on its surface?
static bool is_out(const cr_manifold *m, int side, v3d at)
{
	const cr_completion *c = m->completion;
	const cr_collider *body = c->collider[side];
	const v3d p = cr_from_a(c, side, at);
	const float point[3] = { (float)p.x, (float)p.y, (float)p.z }, direction[3] = { 0.11f, 0.07f, 0.99f };
	for (int k = 0; k < 3; k++) {
		if (point[k] < body->lower[k] || point[k] > body->upper[k])
			return true;
	}
	const int known = cr_side_of(body, point);
	cr_near_point near;
	if (known != 0)
		return known < 0;
	return c->pipeline->bvh->closest(body, p, m->tolerance, true, &near) ||
		c->pipeline->bvh->winding(body, point, direction) == 0;
}

/// Does the way of a flat pair lead a corner out?
static bool leads_corner_out(cr_manifold *m, const cr_flat_pair *f, int32_t corner)
{
	const double most = f->depth * (1 + CR_SAME_DEPTH) + m->tolerance;
	for (int side = 0; side < 2; side++) {
		const cr_reference_plane *plane = &m->planes[f->plane[side]];
		if (m->overlap->corners[corner].side == side && !lies_on(m, corner, plane))
			continue;
		const double depth = cr_depth_below(m, f->plane[side], corner);
		if (depth >= 0 && depth <= most)
			return true;
	}
	return is_out(m, 1 - m->overlap->corners[corner].side, moved(m, corner, way_of_b(&m->planes[f->plane[0]]), most));
}

/// Does the way of a flat pair lead all corners out that a plane of some depth would settle?
static bool leads_all_out(cr_manifold *m, const cr_flat_pair *f, int32_t plane, double depth)
{
	const double most = depth * (1 + CR_SAME_DEPTH) + m->tolerance;
	for (int32_t i = 0; i < m->overlap->count; i++) {
		if (!m->waits[i])
			continue;
		const double own = cr_depth_below(m, plane, i);
		if (own >= 0 && own <= most && !leads_corner_out(m, f, i))
			return false;
	}
	return true;
}

/// Is a place of a side near the surface of the other body, for a flat pair?
static bool is_near_surface(const cr_manifold *m, const cr_flat_pair *f, int side, v3d at)
{
	const cr_completion *c = m->completion;
	cr_near_point near;
	const v3d p = cr_from_a(c, 1 - side, at);
	return c->pipeline->bvh->closest(c->collider[1 - side], p, NEARER * f->depth, true, &near);
}

/// Does a place between the facets of a flat pair, moved along a way by the depth of the pair, lie
/// there still? side: whose place it is.
static bool place_stays(cr_manifold *m, const cr_flat_pair *f, int side, v3d at, v3d way)
{
	const int32_t other = f->plane[1 - side];
	const v3d to = v3d_mad(at, side == 1 ? f->depth : -f->depth, way);
	return -height_over(&m->planes[other], to) > m->tolerance && cr_facet_of_plane_has(m, other, at) &&
		cr_facet_of_plane_has(m, other, to) && !is_near_surface(m, f, side, at);
}

/// Would a way of the length of a flat pair's depth leave the facets of the pair inside each other?
/// Asked of the corners between them, and of places between corners of a body.
static bool stays_inside(cr_manifold *m, const cr_flat_pair *f, const cr_reference_plane *plane)
{
	const v3d way = way_of_b(plane);
	v3d last[2];
	bool known[2] = { false, false };
	for (int32_t i = 0; i < m->overlap->count; i++) {
		const cr_overlap_corner *c = &m->overlap->corners[i];
		if (!lies_on(m, i, &m->planes[f->plane[c->side]]) || !(cr_depth_below(m, f->plane[1 - c->side], i) > m->tolerance))
			continue;
		if (place_stays(m, f, c->side, c->at, way) ||
			(known[c->side] && place_stays(m, f, c->side, v3d_scale(v3d_add(c->at, last[c->side]), 0.5), way)))
			return true;
		last[c->side] = c->at;
		known[c->side] = true;
	}
	return false;
}

/// The facet of a flat pair that is not chosen and is no deeper than the pair; of both the less
/// deep one, or the larger. -1: there is none.
static int32_t facet_to_take(cr_manifold *m, const cr_flat_pair *f)
{
	int32_t best = -1;
	double least = f->depth * (1 + CR_SAME_DEPTH) + m->tolerance;
	for (int side = 0; side < 2; side++) {
		const cr_reference_plane *plane = &m->planes[f->plane[side]];
		const double depth = plane->chosen ? 0 : cr_depth_of_plane(m, f->plane[side], INFINITY);
		if (!(depth > m->tolerance && depth <= least))
			continue;
		if (best >= 0 && depth >= (1 - CR_SAME_DEPTH) * least - m->tolerance &&
			plane->area <= (1 + CR_SAME_DEPTH) * m->planes[best].area)
			continue;
		best = f->plane[side];
		least = depth * (1 + CR_SAME_DEPTH) + m->tolerance;
	}
	return best;
}

/// Does a plane give way to a flat pair?
static bool gives_way(cr_manifold *m, int32_t number, const cr_flat_pair *f)
{
	const cr_reference_plane *plane = &m->planes[number];
	const double along = v3d_dot(way_of_b(plane), way_of_b(&m->planes[f->plane[0]]));
	if (along < -1e-2 || along > FLAT)
		return false;
	const double depth = cr_depth_of_plane(m, number, INFINITY);
	return stays_inside(m, f, plane) && leads_all_out(m, f, number, depth);
}

int32_t cr_prefer_flat(cr_manifold *m, int32_t number)
{
	const cr_completion *c = m->completion;
	if (cr_are_both_convex(m->overlap) || !c->collider[0]->closed || !c->collider[1]->closed)
		return number;
	if (!m->flat_known && !find_flat(m))
		m->failed = true;
	for (int32_t i = 0; i < m->flat_count; i++) {
		if (m->flat[i].plane[0] == number || m->flat[i].plane[1] == number)
			return number;
	}
	for (int32_t i = 0; i < m->flat_count && !m->failed; i++) {
		const cr_flat_pair *f = &m->flat[i];
		if (!gives_way(m, number, f))
			continue;
		if (m->planes[f->plane[0]].led > 0 || m->planes[f->plane[1]].led > 0)
			return -1;
		const int32_t facet = facet_to_take(m, f);
		if (facet >= 0)
			return facet;
	}
	return number;
}
