/// Contacts of two meshes without an inside: each two crossing triangles by themselves, along the
/// smallest move that parts them.
///
/// A triangle alone is parted soonest over its own border, though the surface goes on behind it.
/// With carom_world_def.internal_edge_angle a direction counts only where both triangles' surfaces
/// end: no triangle around the corners that touch last reaches farther (the direction lies in their
/// part of the Gauss map; Gregorius, The separating axis test between convex polyhedra, GDC 2013).
/// A triangle's own normal always lies in its own part.

#include "contact/contact_normal.h"
#include "contact/crossing.h"
#include "geom/triangle.h"

enum { MAX_FAN = 64 };

/// A triangle in A's frame.
typedef struct patch {
	const cr_completion *completion;
	int side;
	int32_t number;
	v3d corner[3];
	unsigned counting; // of cr_counting_edges
	v3d normal;
	double tolerance;
} patch;

static patch patch_of(const cr_completion *c, int side, int32_t number)
{
	const cr_collider *collider = c->collider[side];
	patch p = { .completion = c, .side = side, .number = number };
	p.counting = cr_counting_edges(collider, number, c->internal_cosine);
	p.tolerance = 1e-7 * collider->scale;
	p.normal = cr_direction_to_a(c, side, cr_collider_normal(collider, number));
	cr_triangle_in_a(c, side, number, p.corner);
	return p;
}

/// Does a triangle around a corner reach farther along d than limit?
static bool goes_on(const patch *p, int corner, v3d d, double limit)
{
	const cr_topology *t = p->completion->collider[p->side]->topology;
	for (int forward = 1; forward >= 0; forward--) {
		int32_t triangle = p->number;
		int at = corner;
		for (int i = 0; i < MAX_FAN && cr_next_in_fan(t, forward, &triangle, &at) && triangle != p->number; i++) {
			v3d q[3];
			cr_triangle_in_a(p->completion, p->side, triangle, q);
			if (v3d_dot(d, q[(at + 1) % 3]) > limit || v3d_dot(d, q[(at + 2) % 3]) > limit)
				return true;
		}
	}
	return false;
}

/// How far the triangle reaches along d; *ends: the surface around the corners that do reaches no
/// farther.
static double reach_along(const patch *p, v3d d, bool check, bool *ends)
{
	double height[3];
	for (int k = 0; k < 3; k++)
		height[k] = v3d_dot(d, p->corner[k]);
	const double top = fmax(fmax(height[0], height[1]), height[2]);
	*ends = true;
	for (int k = 0; k < 3 && check && *ends; k++)
		*ends = height[k] < top - p->tolerance || !goes_on(p, k, d, top + p->tolerance);
	return top;
}

/// The smallest move so far.
typedef struct parting {
	double depth;
	v3d direction;
} parting;

/// Move a out of b along a unit axis, to either side. check_a, check_b: only where that one's
/// surface ends.
static void try_axis(const patch *a, const patch *b, v3d axis, bool check_a, bool check_b, parting *best)
{
	for (int sign = 1; sign >= -1; sign -= 2) {
		const v3d d = v3d_scale(axis, sign);
		bool a_ends, b_ends;
		const double depth = reach_along(b, d, check_b, &b_ends) + reach_along(a, v3d_neg(d), check_a, &a_ends);
		if (a_ends && b_ends && depth < best->depth)
			*best = (parting){ depth, d };
	}
}

static parting part(const patch *a, const patch *b)
{
	parting best = { INFINITY, { 0, 0, 1 } };
	try_axis(a, b, a->normal, false, true, &best);
	try_axis(a, b, b->normal, true, false, &best);
	for (int i = 0; i < 9; i++) {
		const int k = i / 3, j = i % 3;
		if ((a->counting >> k & b->counting >> j & 1) == 0)
			continue;
		const v3d e = v3d_sub(a->corner[(k + 1) % 3], a->corner[k]), f = v3d_sub(b->corner[(j + 1) % 3], b->corner[j]);
		const v3d axis = v3d_cross(e, f);
		if (v3d_dot(axis, axis) > 1e-12 * v3d_dot(e, e) * v3d_dot(f, f))
			try_axis(a, b, v3d_normalize(axis), true, true, &best);
	}
	// Surfaces that go on all around.
	if (best.depth == INFINITY) {
		try_axis(a, b, a->normal, false, false, &best);
		try_axis(a, b, b->normal, false, false, &best);
	}
	return best;
}

/// The middle of the corners of the overlap: where edges of one pierce the other. Triangles that
/// touch in their common plane: the middle of A's.
static v3d middle_of(const v3d a[3], const v3d b[3])
{
	v3d sum = { 0, 0, 0 };
	int hits = 0;
	for (int k = 0; k < 3; k++) {
		double s;
		if (cr_segment_pierces_triangle(a[k], a[(k + 1) % 3], b[0], b[1], b[2], &s)) {
			sum = v3d_add(sum, v3d_mad(a[k], s, v3d_sub(a[(k + 1) % 3], a[k])));
			hits++;
		}
		if (cr_segment_pierces_triangle(b[k], b[(k + 1) % 3], a[0], a[1], a[2], &s)) {
			sum = v3d_add(sum, v3d_mad(b[k], s, v3d_sub(b[(k + 1) % 3], b[k])));
			hits++;
		}
	}
	return hits ? v3d_scale(sum, 1.0 / hits) : v3d_scale(v3d_add(v3d_add(a[0], a[1]), a[2]), 1.0 / 3);
}

void cr_add_face_contacts(cr_completion *c, const cr_candidates *crossing)
{
	for (int32_t i = 0; i < crossing->count; i++) {
		const int32_t numbers[2] = { crossing->data[i].a, crossing->data[i].b };
		v3d a[3], b[3];
		parting way;
		cr_triangle_in_a(c, 0, numbers[0], a);
		cr_triangle_in_a(c, 1, numbers[1], b);
		if (c->internal_cosine > 1) {
			way.depth = cr_triangle_penetration(a, b, &way.direction);
		} else {
			const patch patches[2] = { patch_of(c, 0, numbers[0]), patch_of(c, 1, numbers[1]) };
			way = part(&patches[0], &patches[1]);
		}
		cr_add_crossing_contact(
			c, 0, middle_of(a, b), way.direction, way.depth > 0 ? way.depth : 0, numbers[0], numbers[1], CAROM_FACES);
	}
}
