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
///    those of the body with fewer. Of two bodies that are not both convex, edges only where the
///    middle of a piece may choose them (ridges.c).
/// 2. The elements are measured below all planes, the other corners only below the few planes that
///    come to be compared: those first that the elements are known to lie least deep below. Their
///    depth gives most others up.
///    The element (vertex inside, or middle of a piece of an edge inside) that lies deepest in the
///    other body chooses first: of the planes that it lies below the one with the least depth. Of
///    equal ones the larger facet; edges only where they are clearly better, since a facet gives
///    several points. All corners below that plane, not deeper, are settled with it.
///    An element below a hollow edge has to come up through the facets on both sides (hollow.c).
/// 3. The next element that is not settled chooses, until all are, or the rest only touches: a
///    coplanar side, or an edge that grazes, makes no patch of its own.
///    A piece of a crease that a patch leads out already takes no plane that leans away from the
///    surface there (served.c).
///    A slope beside faces that lie flat on each other gives way to these (flat_faces.c).
/// 4. Points of each patch: manifold_points.c. No patch is deeper than a way that parts the bodies
///    altogether: parting_bound.c. Which planes are no way out of an open mesh:
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
	MOST_PATCHES = 64, // of a pair
	// Planes times corners of a pair, and crossing triangles of two bodies of many facets. Two fine
	// open sheets that cross would bring tens of millions, seconds and gigabytes: beyond this a
	// pair gets the contacts of its crossing triangles (edge_contacts.c).
	MOST_MEASURED = 1 << 18,
	MOST_CROSSINGS = 1024,
};

// Of the coordinates: touching.
static const double TOUCHING = 1e-6;
// Of a depth: edges must be better than planes of facets by more.
static const double EDGE_BIAS = 0.05;
// Cosine of the angle up to which edges that nearly lie in a facet must be better by that.
static const double FLAT = 0.995;
// Ways along an open mesh count this many times.
static const double SLIP_COST = 3;

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
	cr_facet room;
	const cr_facet *f = cr_facet_at(m->overlap->facets[side], facet, &room);
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

/// all: as of cr_add_ridge_planes.
static bool find_planes(cr_manifold *m, bool all)
{
	m->plane_count = 0;
	m->flat_known = false;
	const int32_t count[2] = { facets_of(m->overlap, 0), facets_of(m->overlap, 1) };
	const int fewer = count[1] == 0 || (count[0] > 0 && count[0] < count[1]) ? 0 : 1;
	const int32_t capacity = count[0] + count[1] + 2 * CR_MOST_RIDGES;
	m->planes = cr_arena_alloc(&m->completion->worker->arena, (size_t)capacity * sizeof *m->planes);
	if (!m->planes)
		return false;
	for (int side = 0; side < 2; side++) {
		if (side == fewer || count[side] <= MOST_FACETS)
			add_facets(m, side);
	}
	m->facet_planes = m->plane_count;
	return cr_add_ridge_planes(m, capacity, all);
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
	return cr_are_both_convex(m->overlap) && f[0]->few_count > 0 && f[1]->few_count > 0;
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

/// Does a plane stand for all corners below it, without a look at its facet?
static bool stands_for_all(const cr_manifold *m, const cr_reference_plane *plane)
{
	return plane->facet < 0 ? cr_are_both_convex(m->overlap) : m->overlap->facets[plane->side]->convex;
}

/// The test of a plane's facet, made when it is first asked for; NULL: out of memory.
static const cr_facet_test *test_of(cr_manifold *m, cr_reference_plane *plane)
{
	if (plane->test)
		return plane->test;
	const int32_t count = cr_facet_size(m->overlap->facets[plane->side], plane->facet);
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

/// The next corner from i on that is left below a plane; the number of corners where there is none.
static int32_t next_left(const cr_manifold *m, int32_t plane, int32_t i)
{
	const uint8_t *left = cr_left_of(m, plane);
	const int32_t known = m->planes[plane].left ? m->planes[plane].known : 0;
	for (; i < known; i = (i / CR_WIDTH + 1) * CR_WIDTH) {
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
	cr_left_of(m, number)[corner_number / CR_WIDTH] &= (uint8_t) ~(1u << corner_number % CR_WIDTH);
	if (!stands_for_all(m, plane) && !facet_stands_for(m, plane, corner))
		return -1;
	m->depth[entry] = isfinite(unproved)
		? unproved
		: (float)cr_way_through(m->completion, 1 - plane->side, corner->at, v3d_neg(plane->normal), &m->way_triangle[entry]);
	if (m->waits[corner_number] && m->depth[entry] > plane->deepest)
		plane->deepest = m->depth[entry];
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

/// A plane as its corners are to be measured.
static cr_plane_row make_row(cr_manifold *m, cr_reference_plane *plane)
{
	const bool all = stands_for_all(m, plane);
	cr_plane_row row = { .normal = plane->normal,
		.offset = plane->offset,
		.tolerance = cr_plane_tolerance(m, plane),
		.side = plane->side,
		.facet = plane->facet,
		.stands_for_all = all || plane->facet < 0 };
	if (!all && plane->facet < 0) {
		row.only = find_edge_corners(m, plane);
		m->failed = m->failed || !row.only;
	} else if (!all) {
		const cr_facet_test *test = test_of(m, plane);
		const int32_t count = cr_facet_size(m->overlap->facets[plane->side], plane->facet);
		row.triangles = test && count <= CR_FEW_TRIANGLES ? count : 0;
		row.edges = test ? test->edges : NULL;
		row.rim = test ? test->tolerance : 0;
		row.scale = m->completion->collider[plane->side]->scale;
	}
	return row;
}

/// Work out the depths of corners up to end below a plane, as far as they are known without a
/// closer look at facets. Returns what it found (CR_ROW_ABOVE, ...).
static uint32_t measure_corners(cr_manifold *m, int32_t number, int32_t end)
{
	cr_reference_plane *plane = &m->planes[number];
	const cr_plane_row row = make_row(m, plane);
	const size_t entry = cr_entry_of(m, number, 0);
	const uint32_t found = m->completion->pipeline->kernels->measure(
		&m->columns, &row, plane->known, end, m->depth + entry, m->unproved + entry, cr_left_of(m, number), m->own);
	plane->left = plane->left || (found & CR_ROW_LEFT) != 0;
	plane->known = end;
	plane->deepest_at = -1;
	return found;
}

/// Work out those corners below a plane that were put off: few planes come to be compared by all of
/// them.
static void complete_row(cr_manifold *m, int32_t number)
{
	if (m->planes[number].known < m->overlap->count)
		measure_corners(m, number, m->overlap->count);
}

float cr_depth_below(cr_manifold *m, int32_t plane, int32_t corner)
{
	complete_row(m, plane);
	return depth_at(m, plane, corner);
}

bool cr_facet_of_plane_has(cr_manifold *m, int32_t plane, v3d at)
{
	const cr_facet_test *test = test_of(m, &m->planes[plane]);
	return test && cr_facet_has(test, at);
}

/// What the depth of a corner is, if the plane stands for it; INFINITY: not known.
static float bound_at(const cr_manifold *m, size_t entry)
{
	// One of the two is -1. Which one cannot be foretold.
	const float proved = m->depth[entry], unproved = m->unproved[entry];
	return unproved > proved ? unproved : proved;
}

/// How deep corners lie in the other body: below the nearest of that body's planes which stand for
/// them. This takes those into account of which it was not known whether a plane stands for them.
static void note_own_depths(cr_manifold *m, int32_t number)
{
	const int32_t elements = m->overlap->elements;
	float *own = m->own;
	for (int32_t i = next_left(m, number, 0); i < elements; i = next_left(m, number, i + 1)) {
		const cr_overlap_corner *corner = &m->overlap->corners[i];
		const float bound = bound_at(m, cr_entry_of(m, number, i));
		if (corner->side == m->planes[number].side || bound < 0 || !(bound < own[i]))
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

/// Room for the depths. false: out of memory.
static bool begin_depths(cr_manifold *m)
{
	m->stride = (m->overlap->count + CR_WIDTH - 1) / CR_WIDTH * CR_WIDTH;
	const size_t entries = (size_t)m->plane_count * (size_t)m->stride;
	cr_arena *arena = &m->completion->worker->arena;
	m->depth = cr_arena_alloc(arena, entries * sizeof *m->depth);
	m->unproved = cr_arena_alloc(arena, entries * sizeof *m->unproved);
	m->way_triangle = cr_arena_alloc(arena, entries * sizeof *m->way_triangle);
	m->left = cr_arena_alloc(arena, entries / CR_WIDTH);
	m->waits = cr_arena_alloc(arena, (size_t)m->stride * sizeof *m->waits);
	m->own = cr_arena_alloc(arena, (size_t)m->stride * sizeof *m->own);
	m->candidates = cr_arena_alloc(arena, ((size_t)m->facet_planes + 1) * sizeof *m->candidates);
	if (!m->depth || !m->unproved || !m->way_triangle || !m->left || !m->waits || !m->own || !m->candidates || !fill_columns(m))
		return false;
	for (int32_t i = 0; i < m->stride; i++) {
		m->waits[i] = i < m->overlap->count ? -1 : 0;
		m->own[i] = INFINITY;
	}
	return true;
}

/// How many corners below a plane are measured at first. Ridges and planes along an open mesh are
/// judged by all.
static int32_t first_corners(const cr_manifold *m, const cr_reference_plane *plane)
{
	const int32_t elements = (m->overlap->elements + CR_WIDTH - 1) / CR_WIDTH * CR_WIDTH;
	return plane->facet < 0 || plane->slips || elements > m->overlap->count ? m->overlap->count : elements;
}

/// Measure the elements below each plane. Edges that have something of the convex overlap above
/// them are no way out, nor are planes along an open mesh that goes on beyond the body.
static bool measure(cr_manifold *m)
{
	if (!begin_depths(m))
		return false;
	for (int32_t k = 0; k < m->plane_count; k++) {
		cr_reference_plane *plane = &m->planes[k];
		plane->slips = cr_slips_along(m, plane);
		const uint32_t found = measure_corners(m, k, first_corners(m, plane));
		if (plane->slips)
			prove_row(m, k, INFINITY);
		// Not to be chosen.
		plane->chosen = plane->facet < 0 ? (found & CR_ROW_ABOVE) != 0
										 : plane->slips && !cr_leads_clear(m, plane, m->depth + cr_entry_of(m, k, 0));
		if (plane->facet >= 0 && found & CR_ROW_UNDECIDED)
			note_own_depths(m, k);
	}
	if (!cr_find_hollow(m))
		return false;
	for (int32_t i = 0; i < m->overlap->count; i++)
		m->own[i] = isfinite(m->own[i]) ? m->own[i] : 0;
	return !m->failed;
}

// ---- Choice ----

/// The depth of the deepest corner below a plane that is known and not settled; 0 where there is
/// none.
static float deepest_known(const cr_manifold *m, int32_t number)
{
	cr_reference_plane *plane = &m->planes[number];
	if (plane->deepest_at == m->settled)
		return plane->deepest;
	const float *row = m->depth + cr_entry_of(m, number, 0);
	plane->deepest = m->completion->pipeline->kernels->deepest(row, m->waits, plane->known);
	plane->deepest_at = m->settled;
	return plane->deepest;
}

double cr_depth_of_plane(cr_manifold *m, int32_t plane, double limit)
{
	complete_row(m, plane);
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
	if (depth < (1 - CR_SAME_DEPTH) * least - m->tolerance)
		return true;
	return depth <= (1 + CR_SAME_DEPTH) * least + m->tolerance && plane->area > (1 + CR_SAME_DEPTH) * best->area;
}

/// The depth up to which a plane may be better than one of the least depth so far (is_better).
static double limit_beside(const cr_manifold *m, double least) { return (1 + CR_SAME_DEPTH) * least + m->tolerance; }

/// The depth of a plane that stands for a corner, times what it costs more; INFINITY: it does not,
/// or is no plane, or what is known says already that it is more than limit.
static double cost_of(cr_manifold *m, int32_t number, int32_t corner, double limit)
{
	cr_reference_plane *plane = &m->planes[number];
	// Known depths give most planes up, before a corner is looked at closely.
	if (deepest_known(m, number) > limit)
		return INFINITY;
	complete_row(m, number);
	if (deepest_known(m, number) > limit || depth_at(m, number, corner) < 0)
		return INFINITY;
	if (!plane->measured && are_small_hulls(m))
		measure_hulls(m, plane);
	return plane->chosen ? INFINITY : cr_depth_of_plane(m, number, limit) * (plane->slips ? SLIP_COST : 1);
}

/// The least that the depth of a plane can be which stands for a corner, as far as it is known.
static double least_cost(cr_manifold *m, int32_t plane, int32_t corner)
{
	const float bound = bound_at(m, cr_entry_of(m, plane, corner)), known = deepest_known(m, plane);
	return isfinite(bound) && bound > known ? bound : known;
}

/// May a plane be chosen for a corner?
static bool is_candidate(const cr_manifold *m, int32_t plane, int32_t corner)
{
	return (bound_at(m, cr_entry_of(m, plane, corner)) >= 0) & !m->planes[plane].chosen;
}

/// List the facets that may be chosen for a corner, by number, with the least that each can cost.
/// Returns how many.
static int32_t list_candidates(cr_manifold *m, int32_t corner)
{
	cr_candidate_plane *c = m->candidates;
	int32_t count = 0;
	// Few are, and which ones cannot be foretold: so there are no branches.
	for (int32_t k = 0; k < m->facet_planes; k++) {
		c[count].plane = k;
		count += is_candidate(m, k, corner);
	}
	for (int32_t i = 0; i < count; i++)
		c[i].cost = least_cost(m, c[i].plane, corner);
	return count;
}

/// Put the candidate that may cost least, the first of equal ones, in front of the others.
static void put_least_first(cr_candidate_plane *c, int32_t count)
{
	int32_t first = 0;
	double least = INFINITY;
	for (int32_t i = 0; i < count; i++) {
		first = c[i].cost < least ? i : first;
		least = c[i].cost < least ? c[i].cost : least;
	}
	const cr_candidate_plane own = c[first];
	for (int32_t i = first; i > 0; i--)
		c[i] = c[i - 1];
	c[0] = own;
}

/// Of the candidates behind the first one leave those that may cost at most limit. Those that may
/// cost least come first. Returns how many candidates there are.
static int32_t sort_candidates(cr_candidate_plane *c, int32_t count, double limit)
{
	int32_t left = 1;
	for (int32_t i = 1; i < count; i++) {
		c[left] = c[i];
		left += c[i].cost <= limit;
	}
	for (int32_t i = 2; i < left; i++) {
		const cr_candidate_plane own = c[i];
		int32_t at = i;
		for (; at > 1 && c[at - 1].cost > own.cost; at--)
			c[at] = c[at - 1];
		c[at] = own;
	}
	return left;
}

/// Work out the costs of the facets that may be chosen for a corner: those first that may have the
/// least depth, since most others are given up by it. Leaves those at most a little above the
/// least, by number. Returns how many.
static int32_t work_out_costs(cr_manifold *m, int32_t corner)
{
	int32_t count = list_candidates(m, corner);
	cr_candidate_plane *c = m->candidates;
	if (count == 0)
		return 0;
	// The first one gives most others up, before they are sorted.
	put_least_first(c, count);
	double least = c[0].cost = cost_of(m, c[0].plane, corner, INFINITY);
	count = sort_candidates(c, count, limit_beside(m, least));
	int32_t end = 1, left = 0;
	for (; end < count && c[end].cost <= limit_beside(m, least); end++) {
		c[end].cost = cost_of(m, c[end].plane, corner, limit_beside(m, least));
		least = c[end].cost < least ? c[end].cost : least;
	}
	for (int32_t i = 0; i < end; i++) {
		const cr_candidate_plane own = c[i];
		if (!(own.cost <= limit_beside(m, least)) || isinf(own.cost))
			continue;
		int32_t at = left++;
		for (; at > 0 && c[at - 1].plane > own.plane; at--)
			c[at] = c[at - 1];
		c[at] = own;
	}
	return left;
}

/// The best plane that stands for a corner; -1: there is none.
static int32_t choose_plane(cr_manifold *m, int32_t corner)
{
	const cr_reference_plane *best = NULL;
	double least = INFINITY;
	const int32_t count = work_out_costs(m, corner);
	for (int32_t i = 0; i < count; i++) {
		const cr_candidate_plane *c = &m->candidates[i];
		if (!is_better(m, &m->planes[c->plane], c->cost, best, least))
			continue;
		best = &m->planes[c->plane];
		least = c->cost;
	}
	for (int32_t k = m->facet_planes; k < m->plane_count; k++) {
		if (!is_candidate(m, k, corner))
			continue;
		const double cost = cost_of(m, k, corner, limit_beside(m, least));
		if (!isfinite(cost) || !is_better(m, &m->planes[k], cost, best, least))
			continue;
		best = &m->planes[k];
		least = cost;
	}
	return best ? (int32_t)(best - m->planes) : -1;
}

/// The element not settled that lies deepest; -1: none. Pierces are elements only where there are
/// no others.
static int32_t next_element(const cr_manifold *m, bool pierces)
{
	const int32_t end = pierces ? m->overlap->count : m->overlap->elements;
	const int32_t *waits = m->waits;
	const float *own = m->own;
	int32_t next = -1;
	float most = -1;
	for (int32_t i = pierces ? m->overlap->elements : 0; i < end; i++) {
		const float depth = own[i];
		const bool deeper = (waits[i] != 0) & (depth > most);
		most = deeper ? depth : most;
		next = deeper ? i : next;
	}
	return next;
}

static void settle(cr_manifold *m, int32_t plane, double deepest)
{
	const float most = cr_round_down(deepest * (1 + CR_SAME_DEPTH) + m->tolerance);
	m->settled++;
	m->completion->pipeline->kernels->settle(m->depth + cr_entry_of(m, plane, 0), most, m->overlap->count, m->waits);
}

/// Are there so few planes and corners that each of the one can be measured against each of the
/// other?
static bool can_measure(const cr_manifold *m) { return (int64_t)m->plane_count * m->overlap->count <= MOST_MEASURED; }

/// Add the contacts of a plane, and settle the corners below it.
static void take_plane(cr_manifold *m, int32_t plane)
{
	const double depth = cr_depth_of_plane(m, plane, INFINITY);
	prove_row(m, plane, depth * (1 + CR_SAME_DEPTH) + m->tolerance);
	settle(m, plane, depth);
	m->planes[plane].chosen = true;
	m->planes[plane].led = depth;
	cr_wait_for_hollow(m, plane);
	cr_add_patch(m, plane, depth);
}

/// Take the plane that an element has chosen. One below a hollow edge that chose a facet beside it
/// still waits then, and must come through the others as well. Returns how many planes
/// were taken.
static int take_choice(cr_manifold *m, int32_t corner, int32_t plane)
{
	const cr_hollow_vertex *h = cr_hollow_at(m, corner);
	int taken = 1;
	take_plane(m, plane);
	for (int32_t k = 0; h && !h->done && k < h->count; k++) {
		if (m->planes[h->plane[k]].chosen || cr_parts_sooner(m, cr_depth_of_plane(m, h->plane[k], INFINITY)))
			continue;
		take_plane(m, h->plane[k]);
		taken++;
	}
	return taken;
}

/// Let a corner wait no longer.
static void leave_corner(cr_manifold *m, int32_t corner)
{
	cr_hollow_vertex *h = cr_hollow_at(m, corner);
	if (h)
		h->done = true;
	m->waits[corner] = 0;
	m->settled++;
}

/// Let an element have its contacts by the plane that it has chosen, or along the way that parts
/// both bodies sooner. Returns how many patches there are more.
static int follow_choice(cr_manifold *m, int32_t element, int32_t plane)
{
	if (!cr_parts_sooner(m, cr_depth_of_plane(m, plane, INFINITY)))
		return take_choice(m, element, plane);
	cr_add_parting_contact(m, element);
	return 1;
}

/// Choose planes for the elements, and add their contacts. Returns how many planes.
static int choose_patches(cr_manifold *m, bool pierces)
{
	int patches = 0;
	for (int32_t i = next_element(m, pierces); i >= 0 && patches < MOST_PATCHES && !m->failed; i = next_element(m, pierces)) {
		if (patches > 0 && m->own[i] <= m->tolerance)
			break;
		const int32_t chosen = choose_plane(m, i), plane = chosen < 0 ? -1 : cr_prefer_flat(m, chosen);
		if (plane >= 0 && !cr_is_served(m, i, plane))
			patches += follow_choice(m, i, plane);
		leave_corner(m, i);
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
			if (depth > limit_beside(m, best.depth))
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
	enum { CAPACITY = 2 * CR_MOST_RIDGES };
	cr_manifold m = { .completion = c, .overlap = overlap, .stride = overlap->count };
	c->internal_cosine = cr_internal_cosine(c->pipeline->settings.world.internal_edge_angle);
	m.tolerance = TOUCHING * ((double)c->collider[0]->scale + c->collider[1]->scale);
	m.planes = cr_arena_alloc(&c->worker->arena, CAPACITY * sizeof *m.planes);
	m.depth = cr_arena_alloc(&c->worker->arena, (size_t)overlap->count * sizeof *m.depth);
	if (!m.planes || !m.depth || !cr_add_ridge_planes(&m, CAPACITY, true))
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

/// Find planes, measure what lies below them, and choose patches for the elements or for the
/// pierces. Sets how many planes were chosen. false: out of memory.
static bool choose_for(cr_manifold *m, bool pierces, int *patches)
{
	*patches = 0;
	if (!find_planes(m, pierces))
		return false;
	if (!can_measure(m))
		return true;
	if (!measure(m))
		return false;
	for (int32_t k = 0; k < m->plane_count && pierces; k++)
		complete_row(m, k);
	for (int32_t i = 0; i < m->overlap->elements && pierces; i++)
		m->waits[i] = 0;
	m->settled++;
	*patches = choose_patches(m, pierces);
	return !m->failed;
}

static bool make_patches(cr_manifold *m)
{
	int patches = 0;
	const int64_t before = m->completion->worker->contacts.count;
	if (m->overlap->elements > 0 && !choose_for(m, false, &patches))
		return false;
	if (patches == 0 && !choose_for(m, true, &patches))
		return false;
	if (can_measure(m) && m->completion->worker->contacts.count == before)
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
