/// Contacts of two bodies that cross, as patches: which planes part them, and by how much.
///
/// A ray from a vertex knows its own way out only. Here the common part of the two solids speaks as
/// a whole (common_part.c): its corners are the vertices inside and the places where edges pierce.
/// A *plane* that may part the bodies is that of a facet which takes part, of either body, or one
/// along two convex edges that cross. Below it lie those corners whose way up ends on its facet (of
/// a convex body: all). The depth of a plane is that of its deepest corner: so far must the bodies
/// move along its normal until no column along it holds points of both, an upper bound of the way
/// out that is exact for a convex overlap (the common part of two convex bodies: their separating
/// axes, Gottschalk 1996, looked for where they overlap).
///
/// 1. Planes: the facets that take part, and pairs of edges. Where both bodies bring many, only
///    those of the body with fewer.
/// 2. The element (vertex inside, or middle of a piece of an edge inside) that lies deepest in the
///    other body chooses first: of the planes that it lies below the one with the least depth. Of
///    equal ones the larger facet; edges only where they are clearly better, since a facet gives
///    several points. All corners below that plane, not deeper, are settled with it.
/// 3. The next element that is not settled chooses, until all are, or the rest only touches: a
///    coplanar side, or an edge that grazes, makes no patch of its own.
/// 4. Points of each patch: manifold_points.c. Which planes are no way out of an open mesh:
///    open_front.c.
///
/// Used where at least one body is made of few facets, or is open but has a front. Smooth bodies of
/// many triangles keep to their rays, which sample their curved surfaces better (pipeline: ray.c).
/// Cost: planes x corners, at most MOST_MEASURED; for two cubes 12 x 12. All in double, in A's
/// frame, in an order that only the meshes give.

#include "contact/manifold.h"
#include "contact/contact_normal.h"
#include <string.h>

enum {
	MOST_FACETS = 48,  // of one body that are tried as planes where the other brings fewer
	ALL_FACETS = 32,   // a convex body of so many facets, or fewer, brings all
	MOST_EDGES = 64,   // of each body that are tried against each other
	MOST_PATCHES = 64, // of a pair
	// Planes times corners of a pair, and crossing triangles of two bodies of many facets. Two fine
	// open sheets that cross would bring tens of millions, seconds and gigabytes: beyond this a
	// pair gets the contacts of its crossing triangles (edge_contacts.c).
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
	const int32_t of_a = cr_count_facets(&a->shape.mesh->facets), of_b = cr_count_facets(&b->shape.mesh->facets);
	return of_a < of_b ? of_a : of_b;
}

bool cr_bodies_make_patches(const cr_pipeline *p, const cr_body *a, const cr_body *b)
{
	if (p->settings.world.contact_normal != CAROM_NORMAL_PATCH || !p->settings.lab.complete)
		return false;
	const bool closed = a->shape.collider->closed && b->shape.collider->closed;
	return !closed || fewest_facets(a, b) <= CR_PATCH_FACETS;
}

bool cr_wants_manifold(const cr_pipeline *p, const cr_pair_work *w)
{
	return cr_bodies_make_patches(p, &p->bodies[w->a], &p->bodies[w->b]);
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
	r->half_edge = half_edge;
	r->facet[0] = f->of_triangle[own];
	r->facet[1] = f->of_triangle[across];
	r->normal[0] = cr_direction_to_a(c, side, n[0]);
	r->normal[1] = cr_direction_to_a(c, side, n[1]);
	r->from = corners[k];
	r->along = v3d_sub(corners[(k + 1) % 3], corners[k]);
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

/// Are two ridges nearest within both, not at an end: of a crease made of several edges only one is
/// the right one.
static bool meet_within(const ridge *a, const ridge *b)
{
	const v3d d = v3d_sub(b->from, a->from);
	const double aa = v3d_dot(a->along, a->along), bb = v3d_dot(b->along, b->along), ab = v3d_dot(a->along, b->along);
	const double area = aa * bb - ab * ab;
	const double s = v3d_dot(a->along, d) * bb - v3d_dot(b->along, d) * ab;
	const double t = v3d_dot(a->along, d) * ab - v3d_dot(b->along, d) * aa;
	return s >= 0 && s <= area && t >= 0 && t <= area;
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
	*plane = (cr_reference_plane){ .side = 1,
		.facet = -1,
		.edge = { a->half_edge, b->half_edge },
		.normal = n,
		.offset = v3d_dot(n, b->from),
		.area = meet_within(a, b) ? 0 : -1 };
	const bool convex = m->overlap->facets[0]->convex && m->overlap->facets[1]->convex;
	return convex || (pierces_beside(m, 0, a, b) && pierces_beside(m, 1, b, a));
}

/// Does an edge of a side pierce the other body at a corner?
static bool has_pierce(const cr_manifold *m, int side)
{
	for (int32_t i = 0; i < m->overlap->count; i++) {
		if (m->overlap->corners[i].kind == CR_CORNER_PIERCE && m->overlap->corners[i].side == side)
			return true;
	}
	return false;
}

/// Planes along two ridges that cross. Where a tip of one body is in a facet of the other, that has
/// none.
static bool add_ridges(cr_manifold *m, int32_t capacity)
{
	if (!has_pierce(m, 0) || !has_pierce(m, 1))
		return true;
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

/// The depth of a plane of small hulls is that of all of the body below it: corners outside the
/// overlap may be in the way too. Edges that have something above them are no plane.
static void measure_hulls(const cr_manifold *m, cr_reference_plane *plane)
{
	if (plane->facet < 0 && reach_of(m, 1, plane->normal) > plane->offset + m->tolerance)
		plane->chosen = true;
	const double depth = plane->offset + reach_of(m, 1 - plane->side, v3d_neg(plane->normal));
	plane->depth = depth > 0 ? depth : 0;
	plane->measured = true;
}

static bool is_convex(const cr_manifold *m, int side) { return m->overlap->facets[side]->convex; }

/// Does a plane stand for all corners below it, without a look at its facet?
static bool stands_for_all(const cr_manifold *m, const cr_reference_plane *plane)
{
	return plane->facet < 0 ? is_convex(m, 0) && is_convex(m, 1) : is_convex(m, plane->side);
}

/// The test of a plane's facet, made when it is first asked for; NULL: out of memory.
static const cr_facet_test *test_of(cr_manifold *m, cr_reference_plane *plane)
{
	if (plane->test)
		return plane->test;
	const int32_t count = m->overlap->facets[plane->side]->data[plane->facet].count;
	const size_t edges = count <= CR_FEW_TRIANGLES ? 3 * (size_t)count : 0;
	cr_facet_test *test = cr_arena_alloc(&m->completion->worker->arena, sizeof *test + edges * sizeof *test->edges);
	if (test)
		cr_begin_facet_test(m->completion, plane->side, plane->facet, 10 * m->tolerance, (cr_edge_height *)(test + 1), test);
	m->failed = m->failed || !test;
	return plane->test = test;
}

/// Does the facet of a plane, whose body is not convex, stand for a corner?
static bool facet_stands_for(cr_manifold *m, cr_reference_plane *plane, const cr_overlap_corner *corner)
{
	if (corner->kind == CR_CORNER_PIERCE && corner->side != plane->side &&
		m->overlap->facets[plane->side]->of_triangle[corner->other] == plane->facet)
		return true;
	const cr_facet_test *test = test_of(m, plane);
	return test && cr_facet_has(test, corner->at);
}

/// Lanes of the corners below a plane that are left to be proved, of each eight.
static uint8_t *left_of(const cr_manifold *m, int32_t plane) { return m->left + (size_t)plane * (size_t)m->stride / CR_WIDTH; }

/// The next corner from i on that is left below a plane; the number of corners where there is none.
static int32_t next_left(const cr_manifold *m, int32_t plane, int32_t i)
{
	const uint8_t *left = left_of(m, plane);
	for (; m->planes[plane].left && i < m->stride; i = (i / CR_WIDTH + 1) * CR_WIDTH) {
		const uint32_t lanes = (uint32_t)left[i / CR_WIDTH] >> i % CR_WIDTH;
		if (lanes)
			return i + __builtin_ctz(lanes);
	}
	return m->overlap->count;
}

/// The depth of a corner below a plane; negative: the plane does not stand for it. Finds out what
/// is not known yet: most planes are given up before that.
static float depth_at(cr_manifold *m, int32_t number, int32_t corner_number)
{
	const size_t entry = cr_entry_of(m, number, corner_number);
	const float unproved = m->unproved[entry];
	if (unproved < 0)
		return m->depth[entry];
	cr_reference_plane *plane = &m->planes[number];
	const cr_overlap_corner *corner = &m->overlap->corners[corner_number];
	m->unproved[entry] = -1;
	left_of(m, number)[corner_number / CR_WIDTH] &= (uint8_t) ~(1u << corner_number % CR_WIDTH);
	if (!stands_for_all(m, plane) && !facet_stands_for(m, plane, corner))
		return -1;
	m->depth[entry] = isfinite(unproved)
		? unproved
		: (float)cr_way_through(m->completion, 1 - plane->side, corner->at, v3d_neg(plane->normal), &m->way_triangle[entry]);
	return m->depth[entry];
}

/// Find out the depths below a plane that may be at most limit.
static void prove_row(cr_manifold *m, int32_t plane, double limit)
{
	const int32_t count = m->overlap->count;
	for (int32_t i = next_left(m, plane, 0); i < count; i = next_left(m, plane, i + 1)) {
		const float unproved = m->unproved[cr_entry_of(m, plane, i)];
		if (unproved <= limit || isinf(unproved))
			depth_at(m, plane, i);
	}
}

/// Lanes of the corners that lie on the edges of a plane; NULL: out of memory.
static const uint8_t *find_edge_corners(cr_manifold *m, const cr_reference_plane *plane)
{
	uint8_t *lanes = cr_arena_alloc(&m->completion->worker->arena, (size_t)m->stride / CR_WIDTH);
	if (!lanes)
		return NULL;
	memset(lanes, 0, (size_t)m->stride / CR_WIDTH);
	for (int32_t i = 0; i < m->overlap->count; i++)
		lanes[i / CR_WIDTH] |= (uint8_t)(is_of_edges(plane, &m->overlap->corners[i]) << i % CR_WIDTH);
	return lanes;
}

/// The depth of each corner below a plane, as far as it is known without a closer look at facets.
/// Returns what it found (CR_ROW_ABOVE, ...). own: see measure.
static uint32_t measure_corners(cr_manifold *m, int32_t number, float *own)
{
	cr_reference_plane *plane = &m->planes[number];
	const bool all = stands_for_all(m, plane);
	cr_plane_row row = { .normal = plane->normal,
		.offset = plane->offset,
		.tolerance = m->tolerance,
		.side = plane->side,
		.facet = plane->facet,
		.stands_for_all = all || plane->facet < 0 };
	if (!all && plane->facet < 0) {
		row.only = find_edge_corners(m, plane);
		m->failed = m->failed || !row.only;
	} else if (!all) {
		const cr_facet_test *test = test_of(m, plane);
		const int32_t count = m->overlap->facets[plane->side]->data[plane->facet].count;
		row.triangles = test && count <= CR_FEW_TRIANGLES ? count : 0;
		row.edges = test ? test->edges : NULL;
		row.rim = test ? test->tolerance : 0;
		row.scale = m->completion->collider[plane->side]->scale;
	}
	const size_t entry = cr_entry_of(m, number, 0);
	const uint32_t found = m->completion->pipeline->kernels->measure(
		&m->columns, &row, m->depth + entry, m->unproved + entry, left_of(m, number), own);
	plane->left = (found & CR_ROW_LEFT) != 0;
	return found;
}

/// What the depth of a corner is, if the plane stands for it; INFINITY: not known.
static float bound_at(const cr_manifold *m, size_t entry)
{
	return m->unproved[entry] < 0 ? m->depth[entry] : m->unproved[entry];
}

/// How deep corners lie in the other body: below the nearest of that body's planes which stand for
/// them. This takes those into account of which it was not known whether a plane stands for them.
static void note_own_depths(cr_manifold *m, int32_t number, float *own)
{
	const int32_t count = m->overlap->count;
	for (int32_t i = next_left(m, number, 0); i < count; i = next_left(m, number, i + 1)) {
		const cr_overlap_corner *corner = &m->overlap->corners[i];
		const float bound = bound_at(m, cr_entry_of(m, number, i));
		if (corner->side == m->planes[number].side || corner->kind == CR_CORNER_PIERCE || bound < 0 || !(bound < own[i]))
			continue;
		const float depth = depth_at(m, number, i);
		own[i] = depth >= 0 ? depth : own[i];
	}
}

/// The corners in columns. false: out of memory.
static bool fill_columns(cr_manifold *m)
{
	const cr_overlap *o = m->overlap;
	cr_corner_columns *c = &m->columns;
	const size_t stride = (size_t)m->stride, eights = stride / CR_WIDTH;
	double *row =
		cr_arena_alloc(&m->completion->worker->arena, 8 * stride * sizeof *row + stride * sizeof *c->pierced + 4 * eights);
	if (!row)
		return false;
	*c = (cr_corner_columns){ .count = o->count, .pierced = (int32_t *)(void *)(row + 8 * stride) };
	uint8_t *lanes = (uint8_t *)(c->pierced + stride);
	memset(row, 0, 8 * stride * sizeof *row);
	memset(lanes, 0, 4 * eights);
	for (int side = 0; side < 2; side++) {
		for (int k = 0; k < 3; k++)
			c->place[side][k] = row + (size_t)(4 * side + k) * stride;
		c->size[side] = row + (size_t)(4 * side + 3) * stride;
		c->pierces_of[side] = lanes + (size_t)(2 * side) * eights;
		c->vertices_of[side] = lanes + (size_t)(2 * side + 1) * eights;
	}
	for (int32_t i = 0; i < o->count; i++) {
		const cr_overlap_corner *corner = &o->corners[i];
		const bool pierce = corner->kind == CR_CORNER_PIERCE;
		for (int side = 0; side < 2; side++) {
			const v3d p = cr_from_a(m->completion, side, corner->at);
			for (int k = 0; k < 3; k++)
				c->place[side][k][i] = v3d_get(p, k);
			c->size[side][i] = fabs(p.x) + fabs(p.y) + fabs(p.z);
		}
		c->pierced[i] = pierce ? o->facets[1 - corner->side]->of_triangle[corner->other] : -1;
		uint8_t *of = pierce ? c->pierces_of[corner->side] : c->vertices_of[corner->side];
		of[i / CR_WIDTH] |= (uint8_t)(1u << i % CR_WIDTH);
	}
	for (int32_t i = o->count; i < m->stride; i++)
		c->pierced[i] = -1;
	return true;
}

/// Room for the depths. own: [stride]. false: out of memory.
static bool begin_depths(cr_manifold *m, float **own)
{
	m->stride = (m->overlap->count + CR_WIDTH - 1) / CR_WIDTH * CR_WIDTH;
	const size_t entries = (size_t)m->plane_count * (size_t)m->stride;
	cr_arena *arena = &m->completion->worker->arena;
	m->depth = cr_arena_alloc(arena, entries * sizeof *m->depth);
	m->unproved = cr_arena_alloc(arena, entries * sizeof *m->unproved);
	m->way_triangle = cr_arena_alloc(arena, entries * sizeof *m->way_triangle);
	m->left = cr_arena_alloc(arena, entries / CR_WIDTH);
	m->waits = cr_arena_alloc(arena, (size_t)m->stride * sizeof *m->waits);
	*own = cr_arena_alloc(arena, (size_t)m->stride * sizeof **own);
	if (!m->depth || !m->unproved || !m->way_triangle || !m->left || !m->waits || !*own || !fill_columns(m))
		return false;
	for (int32_t i = 0; i < m->stride; i++) {
		m->waits[i] = i < m->overlap->count ? -1 : 0;
		(*own)[i] = INFINITY;
	}
	return true;
}

/// Measure the corners below each plane. Edges that have something of the convex overlap above them
/// are no way out, nor are planes along an open mesh that goes on beyond the body. own: how deep
/// each corner lies in the other body; 0: not known.
static bool measure(cr_manifold *m, float **own)
{
	if (!begin_depths(m, own))
		return false;
	for (int32_t k = 0; k < m->plane_count; k++) {
		cr_reference_plane *plane = &m->planes[k];
		const uint32_t found = measure_corners(m, k, *own);
		plane->slips = cr_slips_along(m, plane);
		if (plane->slips)
			prove_row(m, k, INFINITY);
		// Not to be chosen.
		plane->chosen = plane->facet < 0 ? (found & CR_ROW_ABOVE) != 0
										 : plane->slips && !cr_leads_clear(m, plane, m->depth + cr_entry_of(m, k, 0));
		if (plane->facet >= 0 && found & CR_ROW_UNDECIDED)
			note_own_depths(m, k, *own);
	}
	for (int32_t i = 0; i < m->overlap->count; i++)
		(*own)[i] = isfinite((*own)[i]) ? (*own)[i] : 0;
	return !m->failed;
}

// ---- Choice ----

/// The depth of the deepest corner below a plane that is known and not settled; 0 where there is
/// none. Depths are compared by their bits, which order floats that are not negative, so that
/// compilers make it a loop without branches.
static float deepest_known(const cr_manifold *m, int32_t plane)
{
	const float *row = m->depth + cr_entry_of(m, plane, 0);
	int32_t most = 0;
	for (int32_t i = 0; i < m->stride; i++) {
		int32_t bits;
		memcpy(&bits, &row[i], sizeof bits);
		bits &= m->waits[i];
		most = bits > most ? bits : most;
	}
	float depth;
	memcpy(&depth, &most, sizeof depth);
	return depth;
}

/// How far to go along a plane's normal: the deepest corner of those not settled below it; of small
/// hulls, of all that is. Where that is more than limit, something above limit.
static double depth_of_plane(cr_manifold *m, int32_t plane, double limit)
{
	const double known = deepest_known(m, plane);
	double most = m->planes[plane].depth > known ? m->planes[plane].depth : known;
	const float *unproved = m->unproved + cr_entry_of(m, plane, 0);
	const int32_t count = m->overlap->count;
	for (int32_t i = next_left(m, plane, 0); i < count && most <= limit; i = next_left(m, plane, i + 1)) {
		if (!(unproved[i] > most) || !m->waits[i])
			continue;
		const double depth = depth_at(m, plane, i);
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

/// The depth up to which a plane may be better than the best so far (is_better).
static double limit_beside(const cr_manifold *m, const cr_reference_plane *best, double least)
{
	return best ? (1 + SAME) * least + m->tolerance : INFINITY;
}

/// Is it open yet whether a plane stands for a corner, or how deep it lies?
static bool is_left(const cr_manifold *m, int32_t plane, int32_t corner)
{
	return !(m->unproved[cr_entry_of(m, plane, corner)] < 0);
}

/// The best plane that stands for a corner; -1: there is none.
static int32_t choose_plane(cr_manifold *m, int32_t corner)
{
	const cr_reference_plane *best = NULL;
	double least = INFINITY;
	const bool hulls = are_small_hulls(m);
	for (int32_t k = 0; k < m->plane_count; k++) {
		cr_reference_plane *plane = &m->planes[k];
		const double limit = limit_beside(m, best, least);
		const float bound = bound_at(m, cr_entry_of(m, k, corner));
		if (plane->chosen || bound < 0 || (bound > limit && isfinite(bound)))
			continue;
		// What is known already gives most planes up, before a corner is looked at closely.
		if (is_left(m, k, corner) && deepest_known(m, k) > limit)
			continue;
		if (depth_at(m, k, corner) < 0)
			continue;
		if (hulls && !plane->measured)
			measure_hulls(m, plane);
		if (plane->chosen)
			continue;
		const double cost = depth_of_plane(m, k, limit) * (plane->slips ? SLIP_COST : 1);
		if (!is_better(m, plane, cost, best, least))
			continue;
		best = plane;
		least = cost;
	}
	return best ? (int32_t)(best - m->planes) : -1;
}

/// The element not settled that lies deepest; -1: none. Pierces are elements only where there are
/// no others.
static int32_t next_element(const cr_manifold *m, const float *own, bool pierces)
{
	int32_t next = -1;
	for (int32_t i = 0; i < m->overlap->count; i++) {
		if (!m->waits[i] || (m->overlap->corners[i].kind == CR_CORNER_PIERCE) != pierces)
			continue;
		if (next < 0 || own[i] > own[next])
			next = i;
	}
	return next;
}

static void settle(cr_manifold *m, int32_t plane, double deepest)
{
	for (int32_t i = 0; i < m->overlap->count; i++) {
		const float depth = m->depth[cr_entry_of(m, plane, i)];
		if (depth >= 0 && depth <= deepest * (1 + SAME) + m->tolerance)
			m->waits[i] = 0;
	}
}

/// Are there so few planes and corners that each of the one can be measured against each of the
/// other?
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
		const double depth = plane < 0 ? 0 : depth_of_plane(m, plane, INFINITY);
		m->waits[i] = 0;
		if (plane < 0)
			continue;
		prove_row(m, plane, depth * (1 + SAME) + m->tolerance);
		settle(m, plane, depth);
		m->planes[plane].chosen = true;
		cr_add_patch(m, plane, depth);
		patches++;
	}
	return patches;
}

// ---- Small hulls ----

/// The best plane of two small hulls, whose depths are those of all of the body below them: so it
/// does not depend on what chooses.
static cr_reference_plane choose_hull_plane(cr_manifold *m, const double *const lowest[2])
{
	cr_reference_plane best = { .depth = INFINITY };
	const cr_reference_plane *found = NULL;
	for (int side = 0; side < 2; side++) {
		for (int32_t i = 0; i < m->overlap->facets[side]->count; i++) {
			const double depth = lowest[side][i] < 0 ? -lowest[side][i] : 0;
			if (depth > limit_beside(m, found, best.depth))
				continue;
			cr_reference_plane plane = plane_of_facet(m, side, i);
			plane.depth = depth;
			if (!is_better(m, &plane, depth, found, best.depth))
				continue;
			best = plane;
			found = &best;
		}
	}
	for (int32_t i = 0; i < m->plane_count; i++) {
		cr_reference_plane *plane = &m->planes[i];
		measure_hulls(m, plane);
		if (!plane->chosen && is_better(m, plane, plane->depth, found, best.depth))
			best = *plane;
	}
	return best;
}

bool cr_make_hull_patch(cr_completion *c, const cr_overlap *overlap, const double *const lowest[2])
{
	enum { CAPACITY = 2 * MOST_EDGES };
	cr_manifold m = { .completion = c, .overlap = overlap, .stride = overlap->count };
	c->internal_cosine = cr_internal_cosine(c->pipeline->settings.world.internal_edge_angle);
	m.tolerance = TOUCHING * ((double)c->collider[0]->scale + c->collider[1]->scale);
	m.planes = cr_arena_alloc(&c->worker->arena, CAPACITY * sizeof *m.planes);
	m.depth = cr_arena_alloc(&c->worker->arena, (size_t)overlap->count * sizeof *m.depth);
	if (!m.planes || !m.depth || !add_ridges(&m, CAPACITY))
		return false;
	cr_reference_plane best = choose_hull_plane(&m, lowest);
	for (int32_t i = 0; i < overlap->count; i++) {
		const double depth = best.offset - v3d_dot(best.normal, overlap->corners[i].at);
		m.depth[i] = depth < -m.tolerance ? -1 : depth > 0 ? (float)depth : 0;
	}
	m.planes = &best;
	m.plane_count = 1;
	cr_add_patch(&m, 0, best.depth);
	return !m.failed;
}

static bool make_patches(cr_manifold *m)
{
	if (!find_planes(m))
		return false;
	if (!can_measure(m))
		return true;
	float *own;
	if (!measure(m, &own))
		return false;
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
	if (crossing->count > MOST_CROSSINGS && fewest_facets(c->body[0], c->body[1]) > CR_PATCH_FACETS)
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
