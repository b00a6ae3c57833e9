/// Pairs of small hulls: decided by their planes and edges, without their triangles.
///
/// A small hull is a convex closed mesh of few facets and few corners (mesh/hull_edges.c): a box, a
/// prism, a stone of 20 faces. Such a pair needs no walk of its trees and no triangle:
/// - If all corners of one lie above a plane of the other, the bodies are apart by their height.
/// - Else the corners inside, and the places where edges enter and leave between the planes of the
///   other (Cyrus and Beck 1978), are the corners of the common part. The plane of the patch is
///   chosen of all of the two bodies' planes, and of those along two edges that cross (manifold.c).
///
/// Every decision has a margin, which covers the rounding and how far triangles lie off their
/// facet. A pair with a corner or an edge within the margin of the other's surface, such as bodies
/// that touch exactly, is left to the exact test of its triangles; so is one whose edges do not
/// pierce. So it is never this file that finds out whether bodies collide by rounding. Heights are
/// in double, in A's frame, the same bits everywhere. Cost: corners x planes, edges x planes.

#include "contact/manifold.h"

// Of the coordinates.
static const double MARGIN = 1e-6;

typedef struct hull_pair {
	cr_completion *completion;
	cr_overlap *overlap;
	double margin;
	cr_hull_side side[2];
	cr_hull_heights heights[2]; // of the corners of a body over the planes of the other
	int32_t pierces;
	bool open; // rounding could matter
} hull_pair;

bool cr_are_hulls(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	return a->shape.mesh->facets.edge_count > 0 && b->shape.mesh->facets.edge_count > 0 && !w->cast && !cr_pair_deforms(a, b) &&
		p->settings.lab.hull_pairs && cr_wants_manifold(p, w);
}

static void place_hull(const cr_completion *c, int side, const cr_facets *f, cr_hull_side *hull)
{
	const float *vertices = c->collider[side]->topology->vertices;
	hull->corner_count = f->few_count;
	hull->plane_count = f->count;
	for (int32_t i = 0; i < f->few_count || i % CR_WIDTH != 0; i++) {
		const int32_t vertex = f->few[i < f->few_count ? i : 0];
		const v3d p = cr_to_a(c, side, v3d_from_floats(&vertices[3 * (int64_t)vertex]));
		hull->corner[0][i] = p.x;
		hull->corner[1][i] = p.y;
		hull->corner[2][i] = p.z;
	}
	for (int32_t i = 0; i < f->count; i++) {
		hull->normal[i] = cr_direction_to_a(c, side, f->data[i].normal);
		hull->offset[i] = f->data[i].offset + (side == 0 ? 0 : v3d_dot(hull->normal[i], c->translation));
	}
}

/// Measure the heights over one body's planes. Returns the largest gap that a plane leaves.
static double measure_over(hull_pair *h, int side)
{
	cr_hull_heights *heights = &h->heights[1 - side];
	h->completion->pipeline->kernels->hull_heights(&h->side[1 - side], &h->side[side], heights);
	double gap = -INFINITY;
	for (int32_t i = 0; i < h->side[side].plane_count; i++)
		gap = heights->lowest[i] > gap ? heights->lowest[i] : gap;
	return gap;
}

// ---- Corners of the common part ----

static v3d corner_at(const cr_hull_side *s, int i) { return (v3d){ s->corner[0][i], s->corner[1][i], s->corner[2][i] }; }

/// Where a point lies along a half-edge: 0 at its start, 1 at its end. Mesh's frame.
static double share_along(const cr_collider *collider, int32_t half_edge, v3d p)
{
	v3d corners[3];
	cr_collider_triangle(collider, half_edge / 3, corners);
	const v3d from = corners[half_edge % 3], along = v3d_sub(corners[(half_edge % 3 + 1) % 3], from);
	return v3d_dot(v3d_sub(p, from), along) / v3d_dot(along, along);
}

/// The half-edge of an edge that is cut into several, at a place in A's frame.
static int32_t piece_at(const hull_pair *h, int side, const cr_hull_edge *e, v3d at)
{
	const cr_collider *collider = h->completion->collider[side];
	const cr_topology *t = collider->topology;
	const cr_facets *f = h->overlap->facets[side];
	const cr_facet *facet = &f->data[f->of_triangle[e->half_edge / 3]];
	const int32_t beyond = f->of_triangle[t->neighbours[e->half_edge]];
	const v3d p = cr_from_a(h->completion, side, at);
	int32_t best = e->half_edge;
	double least = INFINITY;
	for (int32_t i = facet->first; i < facet->first + facet->count; i++) {
		const int32_t triangle = f->triangles[i];
		for (uint32_t creases = f->crease[triangle]; creases; creases &= creases - 1) {
			const int k = __builtin_ctz(creases);
			const int32_t across = t->neighbours[3 * (int64_t)triangle + k];
			if (across < 0 || f->of_triangle[across] != beyond)
				continue;
			const double off = fabs(share_along(collider, 3 * triangle + k, p) - 0.5);
			if (off < least) {
				least = off;
				best = cr_owner_of_edge(t, triangle, k);
			}
		}
	}
	return best;
}

static void add_corner(hull_pair *h, cr_overlap_corner corner) { h->overlap->corners[h->overlap->count++] = corner; }

static void add_pierce(hull_pair *h, int side, const cr_hull_edge *e, double s, int facet)
{
	const v3d from = corner_at(&h->side[side], e->from), to = corner_at(&h->side[side], e->to);
	const v3d at = v3d_mad(from, s, v3d_sub(to, from));
	const int32_t half_edge = e->pieces == 1 ? e->half_edge : piece_at(h, side, e, at);
	add_corner(h, (cr_overlap_corner){ at, CR_CORNER_PIERCE, side, half_edge, -1, facet });
	h->pierces++;
}

/// The part of an edge between two planes: its ends as shares of the edge, and the planes there.
typedef struct span {
	double from;
	double to;
	int from_plane; // -1: none, it is the end of the edge
	int to_plane;
} span;

/// The part of an edge below all planes of the other body, moved out by shift. false: there is
/// none.
static bool clip_edge(const hull_pair *h, int side, const cr_hull_edge *e, double shift, span *inside)
{
	const cr_hull_heights *heights = &h->heights[side];
	*inside = (span){ 0, 1, -1, -1 };
	for (int32_t i = 0; i < h->side[1 - side].plane_count; i++) {
		const double from = heights->height[i][e->from] - shift, to = heights->height[i][e->to] - shift;
		if (from > 0 && to > 0)
			return false;
		if (from <= 0 && to <= 0)
			continue;
		const double at = from / (from - to);
		if (from > 0 && at > inside->from) {
			inside->from = at;
			inside->from_plane = i;
		} else if (!(from > 0) && at < inside->to) {
			inside->to = at;
			inside->to_plane = i;
		}
	}
	return inside->from < inside->to;
}

/// An edge whose ends are both surely inside or outside.
static void take_edge(hull_pair *h, int side, const cr_hull_edge *e)
{
	const double *most = h->heights[side].most;
	const bool from_inside = most[e->from] < 0, to_inside = most[e->to] < 0;
	span inside;
	if (from_inside && to_inside)
		return;
	if (!from_inside && !to_inside) {
		if (!clip_edge(h, side, e, h->margin, &inside))
			return;
		h->open = h->open || !clip_edge(h, side, e, -h->margin, &inside);
	}
	if (!clip_edge(h, side, e, 0, &inside))
		return;
	if (!from_inside)
		add_pierce(h, side, e, inside.from, inside.from_plane);
	if (!to_inside)
		add_pierce(h, side, e, inside.to, inside.to_plane);
}

/// Is no corner of a body within the margin of the other's surface?
static bool are_corners_sure(const hull_pair *h, int side)
{
	for (int32_t i = 0; i < h->side[side].corner_count; i++) {
		if (fabs(h->heights[side].most[i]) <= h->margin)
			return false;
	}
	return true;
}

static void take_side(hull_pair *h, int side)
{
	const cr_facets *f = h->overlap->facets[side];
	for (int32_t i = 0; i < f->edge_count && !h->open; i++)
		take_edge(h, side, &f->edges[i]);
	for (int32_t i = 0; i < f->few_count; i++) {
		if (h->heights[side].most[i] < 0)
			add_corner(h, (cr_overlap_corner){ corner_at(&h->side[side], i), CR_CORNER_VERTEX, side, f->few[i], -1, -1 });
	}
}

/// The corners of the common part. false: rounding could matter, no edge pierces, or out of memory.
static bool find_corners(hull_pair *h)
{
	const cr_facets *const *f = h->overlap->facets;
	if (!are_corners_sure(h, 0) || !are_corners_sure(h, 1))
		return false;
	size_t most = 0;
	for (int side = 0; side < 2; side++)
		most += 2 * (size_t)f[side]->edge_count + (size_t)f[side]->few_count;
	cr_worker *worker = h->completion->worker;
	h->overlap->corners = cr_arena_alloc(&worker->arena, most * sizeof *h->overlap->corners);
	worker->failed = worker->failed || !h->overlap->corners;
	if (worker->failed)
		return false;
	take_side(h, 0);
	take_side(h, 1);
	return !h->open && h->pierces > 0;
}

// ---- Pairs ----

/// Returns whether the pair is decided. Sets its gap, or makes its contacts.
static bool decide(cr_completion *c)
{
	cr_overlap overlap = { .completion = c };
	hull_pair *h = cr_arena_alloc(&c->worker->arena, sizeof *h);
	if (!h) {
		c->worker->failed = true;
		return false;
	}
	h->completion = c;
	h->overlap = &overlap;
	h->pierces = 0;
	h->open = false;
	h->margin = MARGIN * ((double)c->collider[0]->scale + c->collider[1]->scale);
	for (int side = 0; side < 2; side++) {
		overlap.facets[side] = &c->body[side]->shape.mesh->facets;
		h->margin += overlap.facets[side]->slack;
		place_hull(c, side, overlap.facets[side], &h->side[side]);
	}
	double gap = measure_over(h, 0);
	if (gap <= h->margin) {
		const double beside = measure_over(h, 1);
		gap = beside > gap ? beside : gap;
	}
	if (gap > h->margin) {
		c->work->gap = gap - h->margin;
		return true;
	}
	if (!find_corners(h))
		return false;
	c->worker->pairs_crossing++;
	const double *const lowest[2] = { h->heights[1].lowest, h->heights[0].lowest };
	if (!cr_make_hull_patch(c, &overlap, lowest))
		c->worker->failed = true;
	return true;
}

bool cr_collide_hulls(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	cr_load_contacts(worker, w->contacts);
	const cr_raw_contact *contacts = worker->contacts.data;
	cr_completion c = cr_begin_completion(p, worker, w);
	const bool decided = decide(&c);
	if (decided) {
		worker->pairs_completed++;
		cr_keep_contacts(worker, &w->contacts);
	}
	cr_arena_rewind(&worker->arena, &mark);
	if (worker->contacts.data != contacts)
		worker->contacts = (cr_raw_contacts){ 0 };
	return decided;
}
