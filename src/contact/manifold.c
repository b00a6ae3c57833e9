/// Contacts of two bodies that cross, as patches: which planes part them, and by how much.
///
/// A ray from a vertex knows its own way out only. Here the common part of the two solids speaks as a whole (common_part.c):
/// its corners are the vertices inside and the places where edges pierce. A *plane* that may part the bodies is that of a facet
/// which takes part, of either body, or one along two convex edges that cross. Below it lie those corners whose way up ends on
/// its facet (of a convex body: all). The depth of a plane is that of its deepest corner: so far must the bodies move along its
/// normal until no column along it holds points of both, an upper bound of the way out that is exact for a convex overlap (the
/// common part of two convex bodies: their separating axes, Gottschalk 1996, looked for where they overlap).
///
/// 1. Planes: the facets that take part, and pairs of edges. Where both bodies bring many, only those of the body with fewer.
/// 2. The element (vertex inside, or middle of a piece of an edge inside) that lies deepest in the other body chooses first: of
///    the planes that it lies below the one with the least depth. Of equal ones the larger facet; edges only where they are
///    clearly better, since a facet gives several points. All corners below that plane, not deeper, are settled with it.
/// 3. The next element that is not settled chooses, until all are, or the rest only touches: a coplanar side, or an edge
///    that grazes, makes no patch of its own.
/// 4. Points of each patch: manifold_points.c. Which planes are no way out of an open mesh: open_front.c.
///
/// Used where at least one body is made of few facets, or is open but has a front. Smooth bodies of many triangles keep to
/// their rays, which sample their curved surfaces better (pipeline: ray.c).
/// Cost: planes x corners, at most MOST_MEASURED; for two cubes 12 x 12. All in double, in A's frame, in an order that only the
/// meshes give.

#include "contact/manifold.h"
#include "contact/contact_normal.h"

enum {
	FEW_FACETS = 64,   // a body of so many facets, or fewer, makes patches
	MOST_FACETS = 48,  // of one body that are tried as planes where the other brings fewer
	ALL_FACETS = 32,   // a convex body of so many facets, or fewer, brings all
	MOST_EDGES = 64,   // of each body that are tried against each other
	MOST_PATCHES = 64, // of a pair
	// Planes times corners of a pair, and crossing triangles of two bodies of many facets. Two fine open sheets that cross
	// would bring tens of millions, seconds and gigabytes: beyond this a pair gets the contacts of its crossing triangles
	// (edge_contacts.c).
	MOST_MEASURED = 1 << 18,
	MOST_CROSSINGS = 1024,
};

// Of the coordinates: touching.
static const double TOUCHING = 1e-6;
// Planes are as good as each other within this share of their depth; edges must be better by more.
static const double SAME = 1e-3, EDGE_BIAS = 0.05;
// Cosine of the angle up to which edges that nearly lie in a facet must be better by that.
static const double FLAT = 0.995;
// Ways along an open mesh count this many times.
static const double SLIP_COST = 3;
// Sine of the angle between edges that make a plane.
static const double PARALLEL = 1e-4;

static int32_t fewest_facets(const cr_body *a, const cr_body *b)
{
	const int32_t of_a = a->shape.mesh->facets.count, of_b = b->shape.mesh->facets.count;
	return of_a < of_b ? of_a : of_b;
}

bool cr_wants_manifold(const cr_pipeline *p, const cr_pair_work *w)
{
	if (p->settings.world.contact_normal != CAROM_NORMAL_PATCH || !p->settings.lab.complete)
		return false;
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	const bool closed = a->shape.collider->closed && b->shape.collider->closed;
	return !closed || fewest_facets(a, b) <= FEW_FACETS;
}

// ---- Planes ----

static void add_plane(cr_manifold *m, cr_reference_plane plane) { m->planes[m->plane_count++] = plane; }

static cr_reference_plane plane_of_facet(const cr_manifold *m, int side, int32_t facet)
{
	const cr_completion *c = m->completion;
	const cr_facet *f = &m->overlap->facets[side]->data[facet];
	cr_reference_plane plane = { .side = side, .facet = facet, .normal = cr_direction_to_a(c, side, f->normal), .area = f->area };
	plane.offset = f->offset + (side == 0 ? 0 : v3d_dot(plane.normal, c->translation));
	if (cr_is_turned(m->overlap, side, facet)) {
		plane.normal = v3d_neg(plane.normal);
		plane.offset = -plane.offset;
	}
	return plane;
}

static bool brings_all(const cr_facets *f) { return f->convex && f->count <= ALL_FACETS; }

/// How many facets of a side may be planes.
static int32_t facets_of(const cr_overlap *o, int side)
{
	return brings_all(o->facets[side]) ? o->facets[side]->count : o->touched[side].count;
}

static void add_facets(cr_manifold *m, int side)
{
	const cr_overlap *o = m->overlap;
	const int32_t count = facets_of(o, side);
	for (int32_t i = 0; i < count; i++) {
		const int32_t facet = brings_all(o->facets[side]) ? i : o->touched[side].list[i];
		add_plane(m, plane_of_facet(m, side, facet));
	}
}

/// A convex crease that is pierced by the other body, or pierces it.
typedef struct ridge {
	int32_t half_edge;
	int32_t facet[2];
	v3d normal[2]; // of its facets, A's frame
	v3d from;
	v3d along;
} ridge;

static bool make_ridge(const cr_manifold *m, int side, int32_t half_edge, ridge *r)
{
	const cr_completion *c = m->completion;
	const cr_collider *collider = c->collider[side];
	const int32_t own = half_edge / 3, across = collider->topology->neighbours[half_edge];
	if (across < 0)
		return false;
	const v3d n[2] = { cr_collider_normal(collider, own), cr_collider_normal(collider, across) };
	if (cr_edge_is_internal(collider, half_edge, n[0], n[1], c->internal_cosine))
		return false;
	const cr_facets *f = m->overlap->facets[side];
	v3d corners[3];
	cr_triangle_in_a(c, side, own, corners);
	const int k = half_edge % 3;
	*r = (ridge){ half_edge, { f->of_triangle[own], f->of_triangle[across] },
		{ cr_direction_to_a(c, side, n[0]), cr_direction_to_a(c, side, n[1]) }, corners[k],
		v3d_sub(corners[(k + 1) % 3], corners[k]) };
	return true;
}

/// The convex creases of a side among the pierces; at most MOST_EDGES.
static int find_ridges(const cr_manifold *m, int side, ridge *ridges)
{
	int count = 0;
	int32_t last = -1;
	for (int32_t i = 0; i < m->overlap->count && count < MOST_EDGES; i++) {
		const cr_overlap_corner *corner = &m->overlap->corners[i];
		if (corner->kind != CR_CORNER_PIERCE || corner->side != side || corner->number == last)
			continue;
		last = corner->number;
		count += make_ridge(m, side, last, &ridges[count]);
	}
	return count;
}

/// Does an edge pierce a facet of either side of a ridge of the other body?
static bool pierces_beside(const cr_manifold *m, int side, const ridge *own, const ridge *other)
{
	for (int32_t i = 0; i < m->overlap->count; i++) {
		const cr_overlap_corner *c = &m->overlap->corners[i];
		if (c->kind != CR_CORNER_PIERCE || c->side != side || c->number != own->half_edge)
			continue;
		const int32_t facet = m->overlap->facets[1 - side]->of_triangle[c->other];
		if (facet == other->facet[0] || facet == other->facet[1])
			return true;
	}
	return false;
}

/// Are two ridges nearest within both, not at an end: of a crease made of several edges only one is the right one.
static bool meet_within(const ridge *a, const ridge *b)
{
	const v3d d = v3d_sub(b->from, a->from);
	const double aa = v3d_dot(a->along, a->along), bb = v3d_dot(b->along, b->along), ab = v3d_dot(a->along, b->along);
	const double area = aa * bb - ab * ab;
	const double s = v3d_dot(a->along, d) * bb - v3d_dot(b->along, d) * ab;
	const double t = v3d_dot(a->along, d) * ab - v3d_dot(b->along, d) * aa;
	return s >= 0 && s <= area && t >= 0 && t <= area;
}

/// The plane along two ridges: only where their common normal lies between the normals of the facets of either (their arcs of
/// the Gauss map cross; Gregorius 2013).
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
	*plane = (cr_reference_plane){ .side = 1,
		.facet = -1,
		.edge = { a->half_edge, b->half_edge },
		.normal = n,
		.offset = v3d_dot(n, b->from),
		.area = meet_within(a, b) ? 0 : -1 };
	const bool convex = m->overlap->facets[0]->convex && m->overlap->facets[1]->convex;
	return convex || (pierces_beside(m, 0, a, b) && pierces_beside(m, 1, b, a));
}

static bool add_ridges(cr_manifold *m, int32_t capacity)
{
	ridge(*ridges)[MOST_EDGES] = cr_arena_alloc(&m->completion->worker->arena, 2 * sizeof *ridges);
	if (!ridges)
		return false;
	const int count[2] = { find_ridges(m, 0, ridges[0]), find_ridges(m, 1, ridges[1]) };
	for (int i = 0; i < count[0]; i++) {
		for (int j = 0; j < count[1]; j++) {
			cr_reference_plane plane;
			if (m->plane_count < capacity && plane_of_ridges(m, &ridges[0][i], &ridges[1][j], &plane))
				add_plane(m, plane);
		}
	}
	return true;
}

static bool find_planes(cr_manifold *m)
{
	const int32_t count[2] = { facets_of(m->overlap, 0), facets_of(m->overlap, 1) };
	const int fewer = count[1] == 0 || (count[0] > 0 && count[0] < count[1]) ? 0 : 1;
	const int32_t capacity = count[0] + count[1] + 2 * MOST_EDGES;
	m->planes = cr_arena_alloc(&m->completion->worker->arena, (size_t)capacity * sizeof *m->planes);
	if (!m->planes)
		return false;
	for (int side = 0; side < 2; side++) {
		if (side == fewer || count[side] <= MOST_FACETS)
			add_facets(m, side);
	}
	return add_ridges(m, capacity);
}

// ---- Depths ----

/// Does a corner lie on an edge of the plane's pair?
static bool is_of_edges(const cr_reference_plane *plane, const cr_overlap_corner *corner)
{
	return corner->kind != CR_CORNER_VERTEX && corner->number == plane->edge[corner->side];
}

/// Are all corners of both hulls at hand?
static bool are_small_hulls(const cr_manifold *m)
{
	const cr_facets *const *f = m->overlap->facets;
	return f[0]->convex && f[1]->convex && f[0]->few_count > 0 && f[1]->few_count > 0;
}

/// How far a small hull reaches along a direction (A's frame).
static double reach_of(const cr_manifold *m, int side, v3d direction)
{
	const cr_completion *c = m->completion;
	const cr_facets *f = m->overlap->facets[side];
	const v3d d = cr_direction_from_a(c, side, direction);
	double most = -INFINITY;
	for (int32_t i = 0; i < f->few_count; i++) {
		const double along = v3d_dot(d, v3d_from_floats(&c->collider[side]->topology->vertices[3 * (int64_t)f->few[i]]));
		most = along > most ? along : most;
	}
	return most + (side == 0 ? 0 : v3d_dot(direction, c->translation));
}

/// The depth of a plane of small hulls is that of all of the body below it: corners outside the overlap may be in the way too.
/// Edges that have something above them are no plane.
static void measure_hulls(const cr_manifold *m, cr_reference_plane *plane)
{
	if (plane->facet < 0 && reach_of(m, 1, plane->normal) > plane->offset + m->tolerance)
		plane->chosen = true;
	plane->depth = fmax(plane->offset + reach_of(m, 1 - plane->side, v3d_neg(plane->normal)), 0);
}

/// test: of the plane's facet, where the plane's body is not convex.
static bool stands_for(
	const cr_manifold *m, const cr_reference_plane *plane, const cr_facet_test *test, const cr_overlap_corner *corner)
{
	const cr_facets *const *facets = m->overlap->facets;
	if (plane->facet < 0)
		return (facets[0]->convex && facets[1]->convex) || is_of_edges(plane, corner);
	if (facets[plane->side]->convex)
		return true;
	if (corner->kind == CR_CORNER_PIERCE && corner->side != plane->side &&
		facets[plane->side]->of_triangle[corner->other] == plane->facet)
		return true;
	return cr_facet_has(test, corner->at);
}

/// The depth of a corner that a plane stands for. A corner on its own facet is at no depth itself: the other body's surface
/// below it is.
static double depth_below(const cr_manifold *m, const cr_reference_plane *plane, const cr_overlap_corner *corner, double depth)
{
	int32_t triangle;
	if (plane->facet >= 0 && corner->side == plane->side && corner->kind != CR_CORNER_PIERCE && depth <= m->tolerance)
		return cr_way_through(m->completion, 1 - plane->side, corner->at, v3d_neg(plane->normal), &triangle);
	return fmax(depth, 0);
}

/// The depth of each corner below a plane, and whether a corner lies above it.
static void measure_corners(const cr_manifold *m, const cr_reference_plane *plane, float *row, bool *above)
{
	cr_facet_test test;
	if (plane->facet >= 0 && !m->overlap->facets[plane->side]->convex)
		cr_begin_facet_test(m->completion, plane->side, plane->facet, 10 * m->tolerance, &test);
	*above = false;
	for (int32_t i = 0; i < m->overlap->count; i++) {
		const cr_overlap_corner *corner = &m->overlap->corners[i];
		const double depth = plane->offset - v3d_dot(plane->normal, corner->at);
		const bool below = depth >= -m->tolerance && stands_for(m, plane, &test, corner);
		row[i] = below ? (float)depth_below(m, plane, corner, depth) : -1;
		*above = *above || depth < -m->tolerance;
	}
}

/// The depth of each corner below each plane. Edges that have something of the convex overlap above them are no way out, nor
/// are planes along an open mesh that goes on beyond the body.
static bool measure(cr_manifold *m)
{
	const int32_t count = m->overlap->count;
	cr_arena *arena = &m->completion->worker->arena;
	m->depth = cr_arena_alloc(arena, (size_t)m->plane_count * (size_t)count * sizeof *m->depth);
	m->settled = cr_arena_alloc(arena, (size_t)count * sizeof *m->settled);
	if (!m->depth || !m->settled)
		return false;
	for (int32_t i = 0; i < count; i++)
		m->settled[i] = false;
	for (int32_t k = 0; k < m->plane_count; k++) {
		cr_reference_plane *plane = &m->planes[k];
		float *row = m->depth + (size_t)k * (size_t)count;
		bool above;
		measure_corners(m, plane, row, &above);
		plane->slips = cr_slips_along(m, plane);
		// Not to be chosen.
		plane->chosen = plane->facet < 0 ? above : plane->slips && !cr_leads_clear(m, plane, row);
		if (are_small_hulls(m))
			measure_hulls(m, plane);
	}
	return true;
}

static float depth_at(const cr_manifold *m, int32_t plane, int32_t corner)
{
	return m->depth[(size_t)plane * (size_t)m->overlap->count + (size_t)corner];
}

// ---- Choice ----

/// How deep a corner lies in the other body: below the nearest of that body's planes which stand for it.
static float own_depth(const cr_manifold *m, int32_t corner)
{
	float least = INFINITY;
	for (int32_t k = 0; k < m->plane_count; k++) {
		const float depth = depth_at(m, k, corner);
		if (m->planes[k].facet >= 0 && m->planes[k].side != m->overlap->corners[corner].side && depth >= 0)
			least = depth < least ? depth : least;
	}
	return isfinite(least) ? least : 0;
}

/// How far to go along a plane's normal: the deepest corner of those not settled below it; of small hulls, of all that is.
static double depth_of_plane(const cr_manifold *m, int32_t plane)
{
	double most = m->planes[plane].depth;
	for (int32_t i = 0; i < m->overlap->count; i++) {
		const double depth = m->settled[i] ? 0 : depth_at(m, plane, i);
		most = depth > most ? depth : most;
	}
	return most;
}

/// Is a plane of some depth a better way out than the best so far?
static bool is_better(
	const cr_manifold *m, const cr_reference_plane *plane, double depth, const cr_reference_plane *best, double least)
{
	if (!best)
		return true;
	if (plane->facet < 0 && best->facet >= 0 && fabs(v3d_dot(plane->normal, best->normal)) > FLAT)
		return depth < (1 - EDGE_BIAS) * least - m->tolerance;
	if (depth < (1 - SAME) * least - m->tolerance)
		return true;
	return depth <= (1 + SAME) * least + m->tolerance && plane->area > (1 + SAME) * best->area;
}

/// The best plane that stands for a corner; -1: there is none.
static int32_t choose_plane(const cr_manifold *m, int32_t corner)
{
	int32_t best = -1;
	double least = INFINITY;
	for (int32_t k = 0; k < m->plane_count; k++) {
		if (m->planes[k].chosen || depth_at(m, k, corner) < 0)
			continue;
		const double cost = depth_of_plane(m, k) * (m->planes[k].slips ? SLIP_COST : 1);
		if (!is_better(m, &m->planes[k], cost, best < 0 ? NULL : &m->planes[best], least))
			continue;
		best = k;
		least = cost;
	}
	return best;
}

/// The element not settled that lies deepest; -1: none. Pierces are elements only where there are no others.
static int32_t next_element(const cr_manifold *m, const float *own, bool pierces)
{
	int32_t next = -1;
	for (int32_t i = 0; i < m->overlap->count; i++) {
		if (m->settled[i] || (m->overlap->corners[i].kind == CR_CORNER_PIERCE) != pierces)
			continue;
		if (next < 0 || own[i] > own[next])
			next = i;
	}
	return next;
}

static void settle(cr_manifold *m, int32_t plane, double deepest)
{
	for (int32_t i = 0; i < m->overlap->count; i++) {
		const float depth = depth_at(m, plane, i);
		m->settled[i] = m->settled[i] || (depth >= 0 && depth <= deepest * (1 + SAME) + m->tolerance);
	}
}

/// Are there so few planes and corners that each of the one can be measured against each of the other?
static bool can_measure(const cr_manifold *m) { return (int64_t)m->plane_count * m->overlap->count <= MOST_MEASURED; }

/// Choose planes for the elements, and add their contacts. Returns how many planes.
static int choose_patches(cr_manifold *m, const float *own, bool pierces)
{
	int patches = 0;
	for (int32_t i = next_element(m, own, pierces); i >= 0 && patches < MOST_PATCHES && !m->failed;
		 i = next_element(m, own, pierces)) {
		if (patches > 0 && own[i] <= m->tolerance)
			break;
		const int32_t plane = choose_plane(m, i);
		const double depth = plane < 0 ? 0 : depth_of_plane(m, plane);
		m->settled[i] = true;
		if (plane < 0)
			continue;
		settle(m, plane, depth);
		m->planes[plane].chosen = true;
		cr_add_patch(m, plane, depth);
		patches++;
	}
	return patches;
}

static bool make_patches(cr_manifold *m)
{
	if (!find_planes(m))
		return false;
	if (!can_measure(m))
		return true;
	if (!measure(m))
		return false;
	float *own = cr_arena_alloc(&m->completion->worker->arena, (size_t)m->overlap->count * sizeof *own);
	if (!own)
		return false;
	for (int32_t i = 0; i < m->overlap->count; i++)
		own[i] = m->overlap->corners[i].kind == CR_CORNER_PIERCE ? 0 : own_depth(m, i);
	const int64_t before = m->completion->worker->contacts.count;
	if (choose_patches(m, own, false) == 0)
		choose_patches(m, own, true);
	if (m->completion->worker->contacts.count == before)
		cr_add_way_to_front(m);
	return !m->failed;
}

bool cr_make_manifold(cr_completion *c, const cr_candidates *crossing)
{
	cr_overlap overlap;
	const int64_t before = c->worker->contacts.count;
	if (crossing->count > MOST_CROSSINGS && fewest_facets(c->body[0], c->body[1]) > FEW_FACETS)
		return false;
	c->internal_cosine = cr_internal_cosine(c->pipeline->settings.world.internal_edge_angle);
	cr_manifold m = { .completion = c, .overlap = &overlap };
	m.tolerance = TOUCHING * ((double)c->collider[0]->scale + c->collider[1]->scale);
	if (!cr_find_overlap(c, crossing, &overlap) || !make_patches(&m)) {
		c->worker->failed = true;
		return false;
	}
	return c->worker->contacts.count > before;
}
