/// Yes or no for two convex bodies. See geom/meet.h.
///
/// The descent of Gilbert, Johnson and Keerthi on the difference D of the cores
/// (geom/separation.c), which stops at the first proof. Let r be the sum of the roundings, and v
/// the point of the simplex that is nearest to the origin.
/// (1) v . d / |v| > r for the point d of D that lies farthest along -v: the plane across v parts
///     the bodies.
/// (2) |v| < r: D has a point within r of the origin.
/// (3) The origin lies in a tetrahedron of points of D, away from its faces.
///
/// A no asks for more room than the error of a converged separation, so that the separation says no
/// as well: it is a lower bound that misses the distance by its error at most. A yes needs room for
/// roundings alone, since the separation never exceeds the signed distance.

#include "geom/meet.h"

#include "geom/difference.h"
#include "geom/separation.h"

enum { MOST_LOOKS = 32 };

// Parts of the size: the error of a converged separation, and more than all roundings.
static const double PARTED = 1e-6, INSIDE = 1e-12, TINY = 1e-14;

/// A simplex of points of D without the points of A that made them, the newest last.
typedef struct points {
	v3d d[4];
	int count;
	v3d nearest; // to the origin
	bool inside; // the origin lies in it, away from its faces
} points;

static void keep_point(points *s, v3d p) { *s = (points){ { p }, 1, p, false }; }

static void keep_segment(points *s, v3d p, v3d q, double t)
{
	*s = (points){ { p, q }, 2, v3d_mad(p, t, v3d_sub(q, p)), false };
}

static void on_segment(points *s)
{
	const v3d p = s->d[0], q = s->d[1], along = v3d_sub(q, p);
	const double t = -v3d_dot(p, along), length = v3d_dot(along, along);
	if (!(t > 0))
		keep_point(s, p);
	else if (t >= length)
		keep_point(s, q);
	else
		keep_segment(s, p, q, t / length);
}

/// The regions of a triangle by its barycentric coordinates (Ericson, Real-Time Collision
/// Detection, 2005, 5.1.5).
static void on_triangle(v3d a, v3d b, v3d c, points *s)
{
	const v3d ab = v3d_sub(b, a), ac = v3d_sub(c, a);
	const double ab_a = -v3d_dot(ab, a), ac_a = -v3d_dot(ac, a), ab_b = -v3d_dot(ab, b), ac_b = -v3d_dot(ac, b),
				 ab_c = -v3d_dot(ab, c), ac_c = -v3d_dot(ac, c);
	const double at_c = ab_a * ac_b - ab_b * ac_a, at_b = ab_c * ac_a - ab_a * ac_c, at_a = ab_b * ac_c - ab_c * ac_b;
	if (ab_a <= 0 && ac_a <= 0)
		keep_point(s, a);
	else if (ab_b >= 0 && ac_b <= ab_b)
		keep_point(s, b);
	else if (ac_c >= 0 && ab_c <= ac_c)
		keep_point(s, c);
	else if (at_c <= 0 && ab_a >= 0 && ab_b <= 0)
		keep_segment(s, a, b, ab_a / (ab_a - ab_b));
	else if (at_b <= 0 && ac_a >= 0 && ac_c <= 0)
		keep_segment(s, a, c, ac_a / (ac_a - ac_c));
	else if (at_a <= 0 && ac_b >= ab_b && ab_c >= ac_c)
		keep_segment(s, b, c, (ac_b - ab_b) / ((ac_b - ab_b) + (ab_c - ac_c)));
	else {
		const double sum = 1 / (at_a + at_b + at_c);
		*s = (points){ { a, b, c }, 3, v3d_mad(v3d_mad(a, at_b * sum, ab), at_c * sum, ac), false };
	}
}

/// Is a height over a plane, times the length of its normal n, more than rounding? n is off by that
/// of products of two lengths.
static bool is_clear(double height, v3d n, double size)
{
	return height * height > INSIDE * INSIDE * (size * size) * v3d_dot(n, n) && height > TINY * (size * size) * size;
}

/// The nearest of the faces whose planes part the origin from the fourth point.
static void on_tetrahedron(points *s, double size)
{
	static const int faces[4][4] = { { 3, 0, 1, 2 }, { 3, 1, 2, 0 }, { 3, 2, 0, 1 }, { 0, 1, 2, 3 } };
	const points whole = *s;
	double least = (double)INFINITY;
	bool deep = true;
	for (int i = 0; i < 4; i++) {
		const v3d a = whole.d[faces[i][0]], b = whole.d[faces[i][1]], c = whole.d[faces[i][2]];
		const v3d n = v3d_cross(v3d_sub(b, a), v3d_sub(c, a));
		const double origin = -v3d_dot(n, a), fourth = v3d_dot(n, v3d_sub(whole.d[faces[i][3]], a));
		if (origin * fourth > 0) {
			deep = deep && is_clear(fabs(origin), n, size) && is_clear(fabs(fourth), n, size);
			continue;
		}
		points near;
		on_triangle(a, b, c, &near);
		const double square = v3d_dot(near.nearest, near.nearest);
		if (square < least) {
			least = square;
			*s = near;
		}
	}
	if (!(least < INFINITY)) {
		s->inside = deep;
		s->nearest = (v3d){ 0, 0, 0 };
	}
}

/// The simplex with one more point.
static void widen(points *s, v3d d, double size)
{
	s->d[s->count++] = d;
	if (s->count == 2)
		on_segment(s);
	else if (s->count == 3)
		on_triangle(s->d[2], s->d[1], s->d[0], s);
	else
		on_tetrahedron(s, size);
}

typedef enum verdict { APART, MEETING, UNKNOWN } verdict;

static verdict look(const cr_difference *p, v3d start)
{
	const double rounding = p->a->rounding + p->b->rounding, room = INSIDE * p->size;
	const double parted = rounding + PARTED * p->size, met = rounding - room;
	points s;
	keep_point(&s, start);
	for (int i = 0; i < MOST_LOOKS; i++) {
		const v3d v = s.nearest;
		const double length = v3d_length(v);
		if (length < met)
			return MEETING;
		if (!(length > room))
			return s.inside ? MEETING : UNKNOWN;
		const v3d w = cr_difference_support(p, v3d_neg(v)).d;
		const double bound = v3d_dot(v, w);
		if (bound > parted * length)
			return APART;
		if (length * length - bound <= room * length)
			return UNKNOWN;
		widen(&s, w, p->size);
	}
	return UNKNOWN;
}

bool cr_convex_meet(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a)
{
	cr_convex room_a, room_b;
	const cr_convex *core_a = cr_convex_rounded_core(a, &room_a), *core_b = cr_convex_rounded_core(b, &room_b);
	const v3d start = v3d_sub(cr_convex_centre(a), v3d_add(m3d_mul(&b_in_a->rotation, cr_convex_centre(b)), b_in_a->position));
	const double size = fmax(cr_convex_size(core_a) + cr_convex_size(core_b), v3d_length(start));
	const cr_difference p = { core_a, core_b, b_in_a, size, CR_FLAT, (double)INFINITY };
	const verdict found = look(&p, start);
	if (found != UNKNOWN)
		return found == MEETING;
	cr_separation least;
	cr_convex_separation(a, b, b_in_a, &least);
	return least.gap <= 0;
}
