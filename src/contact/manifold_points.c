/// The points of a patch: where the other body lies below the plane that was chosen, and how deep.
///
/// Of the body below the plane: its vertices, where its edges leave the overlap through other
/// facets, and where they cross the plane itself, if it lies flat there. Of the body of the facet:
/// vertices on it, and where its rim leaves the other body; the points under these are found by
/// going down to the other body's surface. Points that stand over one another are one, the deepest.
///
/// An edge that lies in the facet through which it leaves adds no point: of two crates in line,
/// rounding tells where their rims cross, and such points would come and go while they tremble. The
/// ends of that side are points already. The patch loses no more than a strip as wide as FLUSH
/// allows. Nor is there a point where an edge comes up through the plane, if its end is a contact
/// ahead: the patch goes on to there.

#include "contact/manifold.h"
#include "geom/patch.h"
#include <string.h>

enum { BLOCKS = 64, FEW_POINTS = 128 };

// Cosine: facets that lie flat on each other differ by less than 5.7 degrees.
static const double FLAT = 0.995;
// Cosine of the steepest facet that one comes down to.
static const double STEEP = 0.1;
// Of the smaller body's diagonal: points nearer than this stand over one another.
static const double SAME_PLACE = 1e-3;
// Of the thickness of the thinner body's box: an edge that is nearer to a facet lies in it.
static const double FLUSH = 1e-3;
// Sine of the angle up to which a short edge may lie in a facet.
static const double ALONG = 1e-2;

// ---- Facets ----

/// Does a point of a triangle's plane lie in the triangle, within tolerance? n: its normal.
static bool lies_over(const cr_collider *c, int32_t triangle, v3d n, v3d point, double tolerance)
{
	v3d p[3];
	cr_collider_triangle(c, triangle, p);
	for (int k = 0; k < 3; k++) {
		const v3d edge = v3d_sub(p[(k + 1) % 3], p[k]);
		if (v3d_dot(v3d_cross(edge, v3d_sub(point, p[k])), n) < -tolerance * v3d_length(edge))
			return false;
	}
	return true;
}

static int32_t search_list(const cr_collider *c, const cr_facets *facets, const cr_facet *f, v3d point, double tolerance)
{
	for (int32_t i = 0; i < f->count; i++) {
		const int32_t triangle = cr_triangle_in_facet(facets, f, i);
		if (lies_over(c, triangle, f->normal, point, tolerance))
			return triangle;
	}
	return -1;
}

/// The lowest number, so that it does not depend on the tree.
static int32_t search_tree(
	const cr_bvh_kernels *kernels, const cr_collider *c, const cr_facets *facets, int32_t facet, v3d point, double tolerance)
{
	cr_facet room;
	const cr_facet *f = cr_facet_at(facets, facet, &room);
	const double pad = tolerance + 1e-5 * c->scale;
	int32_t blocks[BLOCKS], best = -1;
	float lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		lower[k] = cr_round_down(v3d_get(point, k) - pad);
		upper[k] = cr_round_up(v3d_get(point, k) + pad);
	}
	const int32_t count = kernels->blocks_in_box(c, lower, upper, BLOCKS, blocks);
	if (count > BLOCKS)
		return search_list(c, facets, f, point, tolerance);
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &c->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			const int32_t triangle = block->number[lane];
			if (facets->of_triangle[triangle] == facet && (best < 0 || triangle < best) &&
				lies_over(c, triangle, f->normal, point, tolerance))
				best = triangle;
		}
	}
	return best;
}

int32_t cr_triangle_of_facet_at(const cr_bvh_kernels *kernels, const cr_collider *collider, const cr_facets *facets,
	int32_t facet, v3d point, double tolerance)
{
	cr_facet room;
	const cr_facet *f = cr_facet_at(facets, facet, &room);
	const v3d on = v3d_mad(point, f->offset - v3d_dot(f->normal, point), f->normal);
	if (f->count <= CR_FEW_TRIANGLES)
		return search_list(collider, facets, f, on, tolerance);
	return search_tree(kernels, collider, facets, facet, on, tolerance);
}

int32_t cr_facet_triangle_at(const cr_completion *c, int side, int32_t facet, v3d point, double tolerance)
{
	const cr_facets *facets = &c->body[side]->shape.mesh->facets;
	return cr_triangle_of_facet_at(c->pipeline->bvh, c->collider[side], facets, facet, cr_from_a(c, side, point), tolerance);
}

static const cr_facets *facets_of(const cr_facet_test *test) { return &test->completion->body[test->side]->shape.mesh->facets; }

void cr_begin_facet_test(
	const cr_completion *c, int side, int32_t facet, double tolerance, cr_edge_height *edges, cr_facet_test *test)
{
	*test = (cr_facet_test){ c, side, facet, tolerance, edges };
	const cr_facets *facets = facets_of(test);
	cr_facet room;
	const cr_facet *f = cr_facet_at(facets, facet, &room);
	for (int32_t i = 0; i < f->count && f->count <= CR_FEW_TRIANGLES; i++) {
		v3d p[3];
		cr_collider_triangle(c->collider[side], cr_triangle_in_facet(facets, f, i), p);
		for (int k = 0; k < 3; k++) {
			const v3d edge = v3d_sub(p[(k + 1) % 3], p[k]);
			const double length = v3d_length(edge);
			const v3d inward = v3d_scale(v3d_cross(f->normal, edge), length > 0 ? 1 / length : 0);
			// Nothing lies beyond an edge without a length.
			edges[3 * i + k] = (cr_edge_height){ inward, length > 0 ? v3d_dot(inward, p[k]) : -INFINITY };
		}
	}
}

/// Does a point lie in a triangle of the facet? 1: yes, -1: no, 0: the heights are within rounding
/// of the tolerance, or have no value.
static int ask_triangle(const cr_facet_test *test, int32_t number, v3d point, double rounding)
{
	int answer = 1;
	for (int32_t i = 3 * number; i < 3 * number + 3; i++) {
		const double height = v3d_dot(test->edges[i].inward, point) - test->edges[i].offset + test->tolerance;
		if (height < -rounding)
			return -1;
		answer = height > rounding ? answer : 0;
	}
	return answer;
}

bool cr_facet_has(const cr_facet_test *test, v3d point)
{
	const cr_completion *c = test->completion;
	const cr_facets *facets = facets_of(test);
	cr_facet room;
	const cr_facet *f = cr_facet_at(facets, test->facet, &room);
	if (f->count > CR_FEW_TRIANGLES)
		return cr_facet_triangle_at(c, test->side, test->facet, point, test->tolerance) >= 0;
	const v3d own = cr_from_a(c, test->side, point), on = v3d_mad(own, f->offset - v3d_dot(f->normal, own), f->normal);
	const cr_collider *collider = c->collider[test->side];
	const double rounding = CR_HEIGHT_ROUNDING * (fabs(own.x) + fabs(own.y) + fabs(own.z) + collider->scale);
	for (int32_t i = 0; i < f->count; i++) {
		const int answer = ask_triangle(test, i, own, rounding);
		if (answer > 0 ||
			(answer == 0 && lies_over(collider, cr_triangle_in_facet(facets, f, i), f->normal, on, test->tolerance)))
			return true;
	}
	return false;
}

/// The facets of a convex body through which one comes out along a direction. NULL: out of
/// memory.
static const cr_steep_facets *find_steep(cr_completion *c, int side, const cr_facets *facets, v3d d)
{
	cr_steep_facets *s = c->steep[side];
	if (!s) {
		s = c->steep[side] = cr_arena_alloc(&c->worker->arena, sizeof *s + (size_t)facets->count * sizeof s->data[0]);
		if (s)
			s->count = -1;
	}
	if (!s || (s->count >= 0 && s->direction.x == d.x && s->direction.y == d.y && s->direction.z == d.z))
		return s;
	s->direction = d;
	s->count = 0;
	for (int32_t i = 0; i < facets->count; i++) {
		const double cosine = v3d_dot(facets->data[i].normal, d);
		if (!(cosine > STEEP))
			continue;
		s->data[s->count].cosine = cosine;
		s->data[s->count++].facet = i;
	}
	return s;
}

/// cr_way_through of a convex body, in the body's frame.
static double way_through_convex(cr_completion *c, int side, const cr_facets *facets, v3d from, v3d d, int32_t *triangle)
{
	const cr_steep_facets *s = find_steep(c, side, facets, d);
	double least = INFINITY;
	c->worker->failed = c->worker->failed || !s;
	for (int32_t i = 0; s && i < s->count; i++) {
		const cr_facet *f = &facets->data[s->data[i].facet];
		const double height = f->offset - v3d_dot(f->normal, from);
		if (!(height < least * s->data[i].cosine))
			continue;
		least = height / s->data[i].cosine;
		*triangle = facets->triangles[f->first];
	}
	return isfinite(least) ? fmax(least, 0) : 0;
}

double cr_way_through(const cr_completion *c, int side, v3d point, v3d direction, int32_t *triangle)
{
	const v3d from = cr_from_a(c, side, point), d = cr_direction_from_a(c, side, direction);
	const cr_facets *facets = &c->body[side]->shape.mesh->facets;
	*triangle = -1;
	if (facets->convex)
		return way_through_convex((cr_completion *)c, side, facets, from, d, triangle);
	const float origin[3] = { (float)from.x, (float)from.y, (float)from.z };
	cr_way_out way = { 0, { (float)d.x, (float)d.y, (float)d.z }, -1 };
	const bool out = cr_cast_out((cr_completion *)c, side, origin, &way);
	*triangle = way.triangle;
	return out ? way.depth : 0;
}

// ---- Points ----

typedef struct patch {
	cr_manifold *manifold;
	const cr_reference_plane *plane;
	int below; // the body below the plane
	double deepest;
	double same_place, flush;
	bool takes_all; // also places where edges leave the overlap that are no ends of the patch
} patch;

/// A point of the patch in A's frame, while others may still stand over it.
typedef struct patch_point {
	v3d at;
	double depth;
	const cr_overlap_corner *corner;
	int32_t triangle; // of the other body than the corner's
} patch_point;

typedef struct point_list {
	patch_point *data;
	int32_t count;
} point_list;

static void add_point(const patch *p, point_list *list, patch_point point)
{
	for (int32_t i = 0; i < list->count && list->count <= FEW_POINTS; i++) {
		const v3d d = v3d_sub(list->data[i].at, point.at), n = p->plane->normal;
		const v3d beside = v3d_mad(d, -v3d_dot(d, n), n);
		if (v3d_dot(beside, beside) > p->same_place * p->same_place)
			continue;
		if (point.depth > list->data[i].depth + p->manifold->tolerance)
			list->data[i] = point;
		return;
	}
	list->data[list->count++] = point;
}

/// Does a facet beside an edge of the body below lie flat on the plane?
static bool lies_flat(const patch *p, int32_t half_edge)
{
	const cr_completion *c = p->manifold->completion;
	const cr_facets *f = p->manifold->overlap->facets[p->below];
	const int32_t triangles[2] = { half_edge / 3, c->collider[p->below]->topology->neighbours[half_edge] };
	for (int i = 0; i < 2; i++) {
		if (triangles[i] < 0)
			continue;
		const v3d n = cr_direction_to_a(c, p->below, cr_facet_normal(f, f->of_triangle[triangles[i]]));
		if (v3d_dot(n, p->plane->normal) < -FLAT)
			return true;
	}
	return false;
}

/// Does an edge of the plane's body bound its facet?
static bool bounds_facet(const patch *p, int32_t half_edge)
{
	const int side = p->plane->side;
	const int32_t across = p->manifold->completion->collider[side]->topology->neighbours[half_edge];
	const cr_facets *f = p->manifold->overlap->facets[side];
	return f->of_triangle[half_edge / 3] == p->plane->facet || (across >= 0 && f->of_triangle[across] == p->plane->facet);
}

/// Does the whole edge lie in the facet that it pierces? Then rounding tells where it does so, and
/// the two ends of that side of the patch are points of their own.
static bool runs_along(const patch *p, const cr_overlap_corner *corner)
{
	const cr_completion *c = p->manifold->completion;
	const int side = corner->side;
	if (corner->facet < 0)
		return false;
	const v3d facet = cr_facet_normal(p->manifold->overlap->facets[1 - side], corner->facet);
	const v3d n = cr_direction_from_a(c, side, cr_direction_to_a(c, 1 - side, facet));
	const cr_topology *t = c->collider[side]->topology;
	const int32_t first = corner->number / 3 * 3, k = corner->number % 3;
	const v3d from = v3d_from_floats(&t->vertices[3 * (int64_t)t->triangles[first + k]]);
	const v3d edge = v3d_sub(v3d_from_floats(&t->vertices[3 * (int64_t)t->triangles[first + (k + 1) % 3]]), from);
	const double rise = v3d_dot(n, edge);
	if (rise * rise > ALONG * ALONG * v3d_dot(edge, edge))
		return false;
	const double height = v3d_dot(n, v3d_sub(from, cr_from_a(c, side, corner->at)));
	return fabs(height) <= p->flush && fabs(height + rise) <= p->flush;
}

/// Is the end of an edge of the body below, which comes up through the plane, a contact ahead?
static bool is_told_ahead(const patch *p, const cr_overlap_corner *corner)
{
	const cr_completion *c = p->manifold->completion;
	const double ahead = c->pipeline->settings.world.speculative_distance;
	if (!(ahead > 0))
		return false;
	v3d ends[2];
	cr_edge_in_a(c, corner->side, corner->number, ends);
	const double height[2] = { v3d_dot(p->plane->normal, ends[0]) - p->plane->offset,
		v3d_dot(p->plane->normal, ends[1]) - p->plane->offset };
	const int end = height[1] > height[0];
	return height[end] < ahead &&
		cr_facet_triangle_at(c, p->plane->side, p->plane->facet, ends[end], p->manifold->tolerance) >= 0;
}

/// Is the place where an edge leaves the overlap no end of the patch? on_plane: it leaves through
/// the plane.
static bool is_no_end(const patch *p, const cr_overlap_corner *corner, bool on_plane)
{
	return !p->takes_all && (on_plane ? is_told_ahead(p, corner) : runs_along(p, corner));
}

/// A corner of the body below the plane.
static void take_below(const patch *p, point_list *list, const cr_overlap_corner *corner, double depth)
{
	const cr_manifold *m = p->manifold;
	const bool on_plane = depth <= cr_plane_tolerance(m, p->plane);
	if (corner->kind == CR_CORNER_PIERCE && ((on_plane && !lies_flat(p, corner->number)) || is_no_end(p, corner, on_plane)))
		return;
	int32_t triangle = corner->other;
	if (corner->kind == CR_CORNER_VERTEX || !on_plane || triangle < 0) {
		const cr_facets *f = m->overlap->facets[p->plane->side];
		triangle = cr_facet_triangle_at(m->completion, p->plane->side, p->plane->facet, corner->at, 10 * m->tolerance);
		triangle = triangle < 0 ? cr_first_of_facet(f, p->plane->facet) : triangle;
	}
	add_point(p, list, (patch_point){ corner->at, depth, corner, triangle });
}

/// How far down the other body reaches below a corner of the plane's body, and the triangle there.
/// entry: of the corner in the depths.
static double reach_below(const patch *p, const cr_overlap_corner *corner, size_t entry, int32_t *triangle)
{
	const cr_manifold *m = p->manifold;
	// Of a body that is not convex the way from a vertex is a float, measured for its depth.
	if (corner->kind == CR_CORNER_VERTEX && !m->overlap->facets[p->below]->convex) {
		*triangle = m->way_triangle[entry];
		return m->depth[entry];
	}
	return cr_way_through(m->completion, p->below, corner->at, v3d_neg(p->plane->normal), triangle);
}

/// A corner of the plane's body, on its facet: how far down the other body reaches there.
static void take_above(const patch *p, point_list *list, const cr_overlap_corner *corner, size_t entry)
{
	const cr_manifold *m = p->manifold;
	if (p->plane->offset - v3d_dot(p->plane->normal, corner->at) > cr_plane_tolerance(p->manifold, p->plane))
		return;
	const bool convex = m->overlap->facets[p->below]->convex, pierce = corner->kind == CR_CORNER_PIERCE;
	if (pierce && (!convex || !bounds_facet(p, corner->number) || is_no_end(p, corner, false)))
		return;
	int32_t triangle;
	const double depth = reach_below(p, corner, entry, &triangle);
	if (triangle < 0 || depth > p->deepest * 1.01 + m->tolerance ||
		((pierce || p->deepest > m->tolerance) && depth <= m->tolerance))
		return;
	add_point(p, list, (patch_point){ corner->at, depth, corner, triangle });
}

static void emit(const patch *p, const patch_point *point)
{
	const cr_overlap_corner *corner = point->corner;
	const bool vertex = corner->kind == CR_CORNER_VERTEX;
	const carom_contact_kind kind =
		corner->side == 0 ? (vertex ? CAROM_VERTEX_A : CAROM_EDGE_A) : (vertex ? CAROM_VERTEX_B : CAROM_EDGE_B);
	// The plane's normal takes the body below it out.
	const v3d out = corner->side == p->below ? p->plane->normal : v3d_neg(p->plane->normal);
	cr_add_crossing_contact(
		p->manifold->completion, corner->side, point->at, out, point->depth, corner->number, point->triangle, kind);
}

/// The corners that lie below a plane, not deeper than the patch, in order: pierces and elements of
/// A, and those of B.
typedef struct below_lists {
	int32_t *list[2][2]; // [side][is element]
	int32_t count[2][2];
} below_lists;

/// List them. Few corners lie below, and which ones cannot be foretold: so there are no branches.
static void list_below(const patch *p, int32_t number, below_lists *l)
{
	const cr_overlap *o = p->manifold->overlap;
	const float *row = p->manifold->depth + cr_entry_of(p->manifold, number, 0);
	const float most = cr_round_down(p->deepest * (1 + 1e-3) + p->manifold->tolerance);
	for (int32_t i = 0; i < o->count; i++) {
		const int side = o->corners[i].side, element = i < o->elements;
		l->list[side][element][l->count[side][element]] = i;
		l->count[side][element] += (row[i] >= 0) & (row[i] <= most) & (o->corners[i].kind != CR_CORNER_MIDDLE);
	}
}

/// Take a corner that lies below.
static void take_corner(const patch *p, int32_t number, point_list *list, int32_t i)
{
	const cr_overlap_corner *corner = &p->manifold->overlap->corners[i];
	if (corner->side == p->below)
		take_below(p, list, corner, p->manifold->depth[cr_entry_of(p->manifold, number, i)]);
	else
		take_above(p, list, corner, cr_entry_of(p->manifold, number, i));
}

/// Take the corners below a plane where there are no elements, or, as of small hulls, they are not
/// told apart: those of both bodies in one order.
static void take_in_order(const patch *p, int32_t number, point_list *list)
{
	const float *row = p->manifold->depth + cr_entry_of(p->manifold, number, 0);
	const double most = p->deepest * (1 + 1e-3) + p->manifold->tolerance;
	for (int32_t i = 0; i < p->manifold->overlap->count; i++) {
		if (row[i] >= 0 && (double)row[i] <= most && p->manifold->overlap->corners[i].kind != CR_CORNER_MIDDLE)
			take_corner(p, number, list, i);
	}
}

/// Of points in one place the first remains: of each body pierces come before vertices, as small
/// hulls bring them. Pierces of the plane's own body are no points where the other is not convex.
static void take_corners(const patch *p, int32_t number, below_lists *l, point_list *list)
{
	list_below(p, number, l);
	if (!p->manifold->overlap->facets[p->below]->convex)
		l->count[1 - p->below][0] = 0;
	for (int side = 0; side < 2; side++) {
		for (int element = 0; element < 2; element++) {
			for (int32_t k = 0; k < l->count[side][element]; k++)
				take_corner(p, number, list, l->list[side][element][k]);
		}
	}
}

/// Where all points found are shallower than the patch, an edge lies deepest between the places
/// where it pierces: take the middles of such pieces.
static void take_middles(const patch *p, int32_t number, point_list *list)
{
	const cr_overlap *o = p->manifold->overlap;
	const float *row = p->manifold->depth + cr_entry_of(p->manifold, number, 0);
	const double most = p->deepest * (1 + 1e-3) + p->manifold->tolerance;
	double found = 0;
	for (int32_t i = 0; i < list->count; i++)
		found = fmax(found, list->data[i].depth);
	const double least = found * (1 + 1e-3) + p->manifold->tolerance;
	for (int32_t i = 0; i < o->elements && p->deepest > least; i++) {
		if (o->corners[i].kind == CR_CORNER_MIDDLE && (double)row[i] > least && (double)row[i] <= most)
			take_corner(p, number, list, i);
	}
}

/// list: has room for all corners.
static void take_points(const patch *p, int32_t number, point_list *list, below_lists *below)
{
	if (p->manifold->overlap->elements == 0)
		take_in_order(p, number, list);
	else
		take_corners(p, number, below, list);
}

static void add_facet_points(patch *p, int32_t number)
{
	const cr_overlap *o = p->manifold->overlap;
	cr_arena *arena = &p->manifold->completion->worker->arena;
	const size_t count = (size_t)o->count;
	point_list list = { cr_arena_alloc(arena, count * (sizeof(patch_point) + 4 * sizeof(int32_t)) + 4 * sizeof(int32_t)), 0 };
	if (!list.data) {
		p->manifold->failed = true;
		return;
	}
	below_lists below = { .count = { { 0 } } };
	// Each list is written one entry beyond its end.
	for (int i = 0; i < 4; i++)
		below.list[i / 2][i % 2] = (int32_t *)(void *)(list.data + count) + (size_t)i * (count + 1);
	take_points(p, number, &list, &below);
	if (list.count == 0) {
		p->takes_all = true;
		memset(below.count, 0, sizeof below.count);
		take_points(p, number, &list, &below);
	}
	if (!cr_are_both_convex(o))
		take_middles(p, number, &list);
	for (int32_t i = 0; i < list.count; i++)
		emit(p, &list.data[i]);
}

/// Two edges: where they are nearest.
static void add_edge_point(const patch *p)
{
	const cr_completion *c = p->manifold->completion;
	v3d ends[2][2], on[2];
	for (int side = 0; side < 2; side++)
		cr_edge_in_a(c, side, p->plane->edge[side], ends[side]);
	double s, t;
	cr_closest_segments(ends[0][0], ends[0][1], ends[1][0], ends[1][1], &s, &t, &on[0], &on[1]);
	const double depth = fmax(v3d_dot(p->plane->normal, v3d_sub(on[1], on[0])), 0);
	cr_add_crossing_contact(
		(cr_completion *)c, 0, on[0], p->plane->normal, depth, p->plane->edge[0], p->plane->edge[1] / 3, CAROM_EDGE_A);
}

/// With two edges vertices may lie below the plane.
static void add_vertices_below(const patch *p, int32_t number)
{
	const cr_overlap *o = p->manifold->overlap;
	for (int32_t i = 0; i < o->count; i++) {
		const cr_overlap_corner *corner = &o->corners[i];
		const double depth = p->manifold->depth[cr_entry_of(p->manifold, number, i)];
		if (corner->kind == CR_CORNER_VERTEX && corner->side == 0 && depth > p->manifold->tolerance)
			emit(p, &(patch_point){ corner->at, depth, corner, p->plane->edge[1] / 3 });
	}
}

/// The corner of the small hull below a plane that lies deepest.
static patch_point find_deepest_corner(const patch *p, cr_overlap_corner *corner)
{
	const cr_completion *c = p->manifold->completion;
	const cr_facets *f = p->manifold->overlap->facets[p->below];
	*corner = (cr_overlap_corner){ .kind = CR_CORNER_VERTEX, .side = p->below };
	double least = INFINITY;
	for (int32_t i = 0; i < f->few_count; i++) {
		const v3d at = cr_to_a(c, p->below, v3d_from_floats(&c->collider[p->below]->topology->vertices[3 * (int64_t)f->few[i]]));
		const double height = v3d_dot(p->plane->normal, at);
		if (height < least) {
			least = height;
			corner->at = at;
			corner->number = f->few[i];
		}
	}
	return (patch_point){ corner->at, p->plane->offset - least, corner, -1 };
}

/// Let a contact of the patch have the depth of a place beside it: the nearest of those that are
/// about as deep (geom/patch.h). first: number of the first contact of the patch.
static void raise_contact(const patch *p, int64_t first, const patch_point *place)
{
	const cr_completion *c = p->manifold->completion;
	cr_raw_contact *contacts = c->worker->contacts.data + first;
	const int count = (int)(c->worker->contacts.count - first);
	cr_volume_contact *of_patch = cr_arena_alloc(&c->worker->arena, (size_t)count * sizeof *of_patch);
	if (!of_patch) {
		p->manifold->failed = true;
		return;
	}
	for (int i = 0; i < count; i++) {
		const double *at = contacts[i].point;
		of_patch[i] = (cr_volume_contact){ .point = { at[0], at[1], at[2] }, .depth = contacts[i].depth };
	}
	const cr_volume_contact beside = { .point = cr_point_to_world(c->body[0], place->at), .depth = place->depth };
	const double size = 0.5 * fminf(c->collider[0]->diagonal, c->collider[1]->diagonal);
	contacts[cr_nearest_deep_contact(&beside, size, of_patch, count)].depth = (float)place->depth;
}

/// The depth of two small hulls is that of the corner that lies deepest below the plane, also where
/// it is outside the other body. Over the facet it is a place of the patch. Beside the facet it is
/// none: a contact there would hold the body where nothing touches. A contact of the patch gets its
/// depth then.
static void reach_depth(const patch *p, int64_t first)
{
	const cr_completion *c = p->manifold->completion;
	const int32_t facet = p->plane->facet;
	const bool empty = c->worker->contacts.count == first;
	cr_overlap_corner corner;
	patch_point place = find_deepest_corner(p, &corner);
	if (facet >= 0)
		place.triangle = cr_facet_triangle_at(c, p->plane->side, facet, place.at, 10 * p->manifold->tolerance);
	if (place.triangle >= 0 || empty) {
		const cr_facets *own = p->manifold->overlap->facets[p->plane->side];
		place.triangle = place.triangle < 0 ? cr_first_of_facet(own, facet) : place.triangle;
		emit(p, &place);
	} else {
		raise_contact(p, first, &place);
	}
}

/// The shortest side of a body's box.
static double thickness(const cr_body *body)
{
	const v3d half = cr_local_box_of(body).half;
	return 2 * fmin(half.x, fmin(half.y, half.z));
}

void cr_add_patch(cr_manifold *m, int32_t number, double deepest)
{
	const cr_completion *c = m->completion;
	const cr_reference_plane *plane = &m->planes[number];
	patch p = { .manifold = m, .plane = plane, .below = 1 - plane->side, .deepest = deepest };
	p.same_place = SAME_PLACE * fminf(c->collider[0]->diagonal, c->collider[1]->diagonal);
	p.flush = FLUSH * fmin(thickness(c->body[0]), thickness(c->body[1]));
	const int64_t first = c->worker->contacts.count;
	if (plane->facet >= 0) {
		add_facet_points(&p, number);
	} else {
		add_edge_point(&p);
		add_vertices_below(&p, number);
	}
	float found = 0;
	for (int64_t i = first; i < c->worker->contacts.count; i++)
		found = fmaxf(found, c->worker->contacts.data[i].depth);
	if (plane->depth > found * (1 + 1e-3) + m->tolerance)
		reach_depth(&p, first);
}
