// Nearest points of points, segments and triangles. Pure functions; their results stand in
// triangle.h. Where a formula loses its digits (needles, nearly parallel edges) a second candidate
// is made another way, and the nearer one counts: each candidate is a point of the triangle or
// segment, so none can be too near.
#include "geom/triangle.h"

// Square of the sine below which a triangle is a needle. Above it rounding changes the weights by
// less than 1e-11.
static const double NEEDLE = 1e-8;
// Square of the sine below which two segments are nearly parallel.
static const double PARALLEL = 1e-10;

static double clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static double max3(double a, double b, double c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); }
static double distance_squared(v3d p, v3d q) { return v3d_dot(v3d_sub(p, q), v3d_sub(p, q)); }

double cr_nearest_on_segment(v3d x, v3d p, v3d q)
{
	v3d d = v3d_sub(q, p);
	double length2 = v3d_dot(d, d);
	return length2 > 0 ? clamp01(v3d_dot(v3d_sub(x, p), d) / length2) : 0;
}

static v3d lerp(v3d p, v3d q, double s) { return s == 1 ? q : v3d_mad(p, s, v3d_sub(q, p)); }

// ---- Points of a triangle ----

static inline cr_triangle_point at_corner(const v3d t[3], int i)
{
	cr_triangle_point r = { t[i], { 0, 0, 0 }, (cr_feature)(CR_FEATURE_A + i) };
	r.weight[i] = 1;
	return r;
}

// At s of the edge that starts at corner i.
static inline cr_triangle_point at_edge(const v3d t[3], int i, double s)
{
	const int j = (i + 1) % 3;
	if (s == 0 || s == 1)
		return at_corner(t, s == 0 ? i : j);
	cr_triangle_point r = { v3d_mad(t[i], s, v3d_sub(t[j], t[i])), { 0, 0, 0 }, (cr_feature)(CR_FEATURE_EDGE_AB + i) };
	r.weight[i] = 1 - s;
	r.weight[j] = s;
	return r;
}

// With weights v and w of the second and third corner, brought back into the triangle where
// rounding led out of it.
static cr_triangle_point at_weights(const v3d t[3], double v, double w)
{
	v = clamp01(v);
	w = w < 0 ? 0 : w > 1 - v ? 1 - v : w;
	const double u = 1 - v - w;
	if (w == 0)
		return at_edge(t, 0, v);
	if (v == 0)
		return at_edge(t, 2, u);
	if (u <= 0)
		return at_edge(t, 1, w);
	const v3d p = v3d_mad(v3d_mad(t[0], v, v3d_sub(t[1], t[0])), w, v3d_sub(t[2], t[0]));
	return (cr_triangle_point){ p, { u, v, w }, CR_FEATURE_FACE };
}

static cr_triangle_point closest_on_edges(v3d p, const v3d t[3])
{
	cr_triangle_point best = at_edge(t, 0, cr_nearest_on_segment(p, t[0], t[1]));
	for (int i = 1; i < 3; i++) {
		const cr_triangle_point x = at_edge(t, i, cr_nearest_on_segment(p, t[i], t[(i + 1) % 3]));
		if (distance_squared(p, x.point) < distance_squared(p, best.point))
			best = x;
	}
	return best;
}

// A needle: its edges, and the line parallel to the longest edge at the height where p is seen.
// Rounding of the height moves the line across the needle only, where there is no room; along the
// line the parameter is good.
static cr_triangle_point closest_on_needle(v3d p, const v3d t[3], v3d n)
{
	cr_triangle_point best = closest_on_edges(p, t);
	const double nn = v3d_dot(n, n);
	if (!(nn > 0))
		return best;
	int i = 0;
	for (int k = 1; k < 3; k++)
		i = distance_squared(t[k], t[(k + 1) % 3]) > distance_squared(t[i], t[(i + 1) % 3]) ? k : i;
	const int j = (i + 1) % 3, apex = (i + 2) % 3;
	const double height = clamp01(v3d_dot(n, v3d_cross(v3d_sub(t[j], t[i]), v3d_sub(p, t[i]))) / nn);
	const double s = cr_nearest_on_segment(p, lerp(t[i], t[apex], height), lerp(t[j], t[apex], height));
	double weight[3];
	weight[i] = (1 - s) * (1 - height);
	weight[j] = s * (1 - height);
	weight[apex] = height;
	const cr_triangle_point x = at_weights(t, weight[1], weight[2]);
	return distance_squared(p, x.point) < distance_squared(p, best.point) ? x : best;
}

cr_triangle_point cr_closest_on_triangle(v3d p, const v3d t[3])
{
	const v3d ab = v3d_sub(t[1], t[0]), ac = v3d_sub(t[2], t[0]), bc = v3d_sub(t[2], t[1]), n = v3d_cross(ab, ac);
	const double longest2 = max3(v3d_dot(ab, ab), v3d_dot(ac, ac), v3d_dot(bc, bc)), nn = v3d_dot(n, n);
	if (!(nn > NEEDLE * longest2 * longest2))
		return closest_on_needle(p, t, n);
	const v3d ap = v3d_sub(p, t[0]), bp = v3d_sub(p, t[1]), cp = v3d_sub(p, t[2]);
	const double d1 = v3d_dot(ab, ap), d2 = v3d_dot(ac, ap);
	if (d1 <= 0 && d2 <= 0)
		return at_corner(t, 0);
	const double d3 = v3d_dot(ab, bp), d4 = v3d_dot(ac, bp);
	if (d3 >= 0 && d4 <= d3)
		return at_corner(t, 1);
	const double d5 = v3d_dot(ab, cp), d6 = v3d_dot(ac, cp);
	if (d6 >= 0 && d5 <= d6)
		return at_corner(t, 2);
	const double vc = v3d_dot(n, v3d_cross(ab, ap));
	if (vc <= 0 && d1 >= 0 && d3 <= 0)
		return at_edge(t, 0, clamp01(d1 / (d1 - d3)));
	const double vb = v3d_dot(n, v3d_cross(ap, ac));
	if (vb <= 0 && d2 >= 0 && d6 <= 0)
		return at_edge(t, 2, clamp01(-d6 / (d2 - d6)));
	const double va = v3d_dot(n, v3d_cross(bc, bp));
	if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0)
		return at_edge(t, 1, clamp01((d4 - d3) / ((d4 - d3) + (d5 - d6))));
	return at_weights(t, vb / nn, vc / nn);
}

void cr_snap_triangle_point(const v3d t[3], double tolerance, cr_triangle_point *on)
{
	const v3d p = on->point;
	double least = tolerance * tolerance;
	bool found = false;
	for (int i = 0; i < 3; i++) {
		const double d = distance_squared(p, t[i]);
		if (!(d <= least))
			continue;
		least = d;
		found = true;
		*on = at_corner(t, i);
	}
	for (int i = 0; i < 3 && !found; i++) {
		const cr_triangle_point edge = at_edge(t, i, cr_nearest_on_segment(p, t[i], t[(i + 1) % 3]));
		const double d = distance_squared(p, edge.point);
		if (!(d <= least))
			continue;
		least = d;
		*on = edge;
	}
}

v3d cr_closest_point_triangle(v3d p, v3d a, v3d b, v3d c, cr_feature *feature)
{
	const cr_triangle_point x = cr_closest_on_triangle(p, (v3d[3]){ a, b, c });
	*feature = x.feature;
	return x.point;
}

// ---- Segments ----

typedef struct segment_pair {
	double s, t, distance2;
	v3d on_p, on_q;
} segment_pair;

static segment_pair pair_at(v3d p0, v3d p1, v3d q0, v3d q1, double s, double t)
{
	segment_pair r = { s, t, 0, lerp(p0, p1, s), lerp(q0, q1, t) };
	r.distance2 = distance_squared(r.on_p, r.on_q);
	return r;
}

// The best of the four ends, each against the other segment.
static segment_pair closest_ends(v3d p0, v3d p1, v3d q0, v3d q1)
{
	const segment_pair ends[4] = {
		pair_at(p0, p1, q0, q1, 0, cr_nearest_on_segment(p0, q0, q1)),
		pair_at(p0, p1, q0, q1, 1, cr_nearest_on_segment(p1, q0, q1)),
		pair_at(p0, p1, q0, q1, cr_nearest_on_segment(q0, p0, p1), 0),
		pair_at(p0, p1, q0, q1, cr_nearest_on_segment(q1, p0, p1), 1),
	};
	segment_pair best = ends[0];
	for (int i = 1; i < 4; i++) {
		if (ends[i].distance2 < best.distance2)
			best = ends[i];
	}
	return best;
}

static segment_pair closest_segments(v3d p0, v3d p1, v3d q0, v3d q1)
{
	const v3d d = v3d_sub(p1, p0), e = v3d_sub(q1, q0), r = v3d_sub(p0, q0), n = v3d_cross(d, e);
	const double dd = v3d_dot(d, d), ee = v3d_dot(e, e), nn = v3d_dot(n, n);
	// Where the lines are nearest, by cross products: the difference of products of dot products
	// cancels for lines nearly parallel.
	const double p = nn > 0 ? clamp01(v3d_dot(v3d_cross(e, r), n) / nn) : 0;
	if (nn > PARALLEL * dd * ee) {
		const double q = (v3d_dot(d, e) * p + v3d_dot(e, r)) / ee;
		if (q >= 0 && q <= 1)
			return pair_at(p0, p1, q0, q1, p, q);
		// Where q leaves its segment the nearest point of p belongs to that end.
		return pair_at(p0, p1, q0, q1, cr_nearest_on_segment(q < 0 ? q0 : q1, p0, p1), q < 0 ? 0 : 1);
	}
	const segment_pair best = closest_ends(p0, p1, q0, q1);
	if (!(nn > 0))
		return best;
	// Nearly parallel lines may still cross; the ends catch the cases that rounding spoils.
	const segment_pair inner = pair_at(p0, p1, q0, q1, p, cr_nearest_on_segment(lerp(p0, p1, p), q0, q1));
	return inner.distance2 < best.distance2 ? inner : best;
}

double cr_closest_segments(v3d p0, v3d p1, v3d q0, v3d q1, double *s, double *t, v3d *on_p, v3d *on_q)
{
	const segment_pair best = closest_segments(p0, p1, q0, q1);
	*s = best.s;
	*t = best.t;
	*on_p = best.on_p;
	*on_q = best.on_q;
	return best.distance2;
}

// ---- Segments and triangles ----

double cr_closest_segment_triangle(v3d p0, v3d p1, v3d a, v3d b, v3d c, v3d *on_segment, v3d *on_triangle)
{
	double s;
	if (cr_segment_pierces_triangle(p0, p1, a, b, c, &s)) {
		*on_segment = *on_triangle = lerp(p0, p1, s);
		return 0;
	}
	double best2 = INFINITY;
	for (int end = 0; end < 2; end++) {
		cr_feature feature;
		v3d p = end == 0 ? p0 : p1, x = cr_closest_point_triangle(p, a, b, c, &feature);
		double d2 = distance_squared(p, x);
		if (!(d2 < best2))
			continue;
		best2 = d2;
		*on_segment = p;
		*on_triangle = x;
	}
	const v3d corner[4] = { a, b, c, a };
	for (int i = 0; i < 3; i++) {
		double t;
		v3d p, x;
		double d2 = cr_closest_segments(p0, p1, corner[i], corner[i + 1], &s, &t, &p, &x);
		if (!(d2 < best2))
			continue;
		best2 = d2;
		*on_segment = p;
		*on_triangle = x;
	}
	return best2;
}

// ---- Two triangles ----

// Where an edge of a pierces b.
static bool find_piercing(const v3d a[3], const v3d b[3], cr_triangle_point *on_a, cr_triangle_point *on_b)
{
	for (int i = 0; i < 3; i++) {
		double s;
		if (!cr_segment_pierces_triangle(a[i], a[(i + 1) % 3], b[0], b[1], b[2], &s))
			continue;
		*on_a = at_edge(a, i, s);
		*on_b = cr_closest_on_triangle(on_a->point, b);
		on_b->point = on_a->point;
		return true;
	}
	return false;
}

// The inward normals of a triangle's edges in its plane.
typedef struct face {
	v3d inward[3];
	bool needle;
} face;

static face face_of(const v3d t[3])
{
	const v3d e[3] = { v3d_sub(t[1], t[0]), v3d_sub(t[2], t[1]), v3d_sub(t[0], t[2]) }, n = v3d_cross(e[0], e[1]);
	const double longest2 = max3(v3d_dot(e[0], e[0]), v3d_dot(e[1], e[1]), v3d_dot(e[2], e[2]));
	face f;
	for (int i = 0; i < 3; i++)
		f.inward[i] = v3d_cross(n, e[i]);
	f.needle = !(v3d_dot(n, n) > NEEDLE * longest2 * longest2);
	return f;
}

// May p be nearest to the inside of the face? A point nearest to a border is found edge against
// edge.
static bool may_face(const face *f, const v3d t[3], v3d p)
{
	for (int i = 0; i < 3 && !f->needle; i++) {
		if (v3d_dot(f->inward[i], v3d_sub(p, t[i])) < 0)
			return false;
	}
	return true;
}

double cr_closest_triangles(const v3d a[3], const v3d b[3], cr_triangle_point *on_a, cr_triangle_point *on_b)
{
	const bool meet = cr_triangles_intersect(a, b);
	if (meet && (find_piercing(a, b, on_a, on_b) || find_piercing(b, a, on_b, on_a)))
		return 0;
	double best2 = INFINITY;
	const face faces[2] = { face_of(a), face_of(b) };
	for (int i = 0; i < 6; i++) {
		const bool of_a = i < 3;
		const v3d p = of_a ? a[i] : b[i - 3];
		if (!may_face(&faces[of_a], of_a ? b : a, p))
			continue;
		const cr_triangle_point x = cr_closest_on_triangle(p, of_a ? b : a);
		const double distance2 = distance_squared(p, x.point);
		if (!(distance2 < best2))
			continue;
		best2 = distance2;
		*on_a = of_a ? at_corner(a, i) : x;
		*on_b = of_a ? x : at_corner(b, i - 3);
	}
	for (int i = 0; i < 9; i++) {
		const int k = i / 3, l = i % 3;
		const segment_pair x = closest_segments(a[k], a[(k + 1) % 3], b[l], b[(l + 1) % 3]);
		if (!(x.distance2 < best2))
			continue;
		best2 = x.distance2;
		*on_a = at_edge(a, k, x.s);
		*on_b = at_edge(b, l, x.t);
	}
	if (!meet)
		return best2;
	// In one plane, or without area: candidates are a rounding apart.
	on_b->point = on_a->point;
	return 0;
}
