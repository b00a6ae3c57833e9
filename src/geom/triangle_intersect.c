// Do two triangles, or a segment and a triangle, share a point? Decided by exact orientation signs
// alone, so that degenerate, coplanar and merely touching input gets the right answer. Triangles
// that cross properly take at most eight signs (Devillers, Guigue 2002); the rest goes to 2D tests
// of segments, slower and rarer.
#include "geom/predicates.h"
#include "geom/triangle.h"

static double min2(double a, double b) { return a < b ? a : b; }
static double max2(double a, double b) { return a > b ? a : b; }

// Is x, which lies on the line of pq as seen along axis, within the segment pq?
static bool on_segment_2d(v3d p, v3d q, v3d x, int axis)
{
	for (int k = 0; k < 3; k++) {
		if (k == axis)
			continue;
		double xk = v3d_get(x, k), pk = v3d_get(p, k), qk = v3d_get(q, k);
		if (xk < min2(pk, qk) || xk > max2(pk, qk))
			return false;
	}
	return true;
}

// Closed segments pq and rs, seen along axis; either may be a point.
static bool segments_intersect_2d(v3d p, v3d q, v3d r, v3d s, int axis)
{
	int pqr = cr_orient2d_sign(p, q, r, axis), pqs = cr_orient2d_sign(p, q, s, axis);
	int rsp = cr_orient2d_sign(r, s, p, axis), rsq = cr_orient2d_sign(r, s, q, axis);
	if (pqr * pqs < 0 && rsp * rsq < 0)
		return true;
	return (pqr == 0 && on_segment_2d(p, q, r, axis)) || (pqs == 0 && on_segment_2d(p, q, s, axis)) ||
		(rsp == 0 && on_segment_2d(r, s, p, axis)) || (rsq == 0 && on_segment_2d(r, s, q, axis));
}

// Closed segments in space. Of points in one plane, at least one of the three views hides nothing,
// and an intersection shows in all.
static bool segments_intersect(v3d p, v3d q, v3d r, v3d s)
{
	if (cr_orient3d_sign(p, q, r, s) != 0)
		return false;
	for (int axis = 0; axis < 3; axis++) {
		if (!segments_intersect_2d(p, q, r, s, axis))
			return false;
	}
	return true;
}

// Three signs without a strict contradiction.
static bool agree(int a, int b, int c) { return (a >= 0 && b >= 0 && c >= 0) || (a <= 0 && b <= 0 && c <= 0); }

// x in the plane of the triangle t, which axis shows as a triangle.
static bool in_triangle_2d(v3d x, const v3d t[3], int axis)
{
	return agree(
		cr_orient2d_sign(t[0], t[1], x, axis), cr_orient2d_sign(t[1], t[2], x, axis), cr_orient2d_sign(t[2], t[0], x, axis));
}

static bool coplanar_segment_triangle(v3d p, v3d q, const v3d t[3], int axis)
{
	if (in_triangle_2d(p, t, axis))
		return true;
	for (int i = 0; i < 3; i++) {
		if (segments_intersect_2d(p, q, t[i], t[(i + 1) % 3], axis))
			return true;
	}
	return false;
}

// The line through p and q, not in the plane of t, meets t.
bool cr_line_meets_triangle(v3d p, v3d q, const v3d t[3])
{
	int ab = cr_orient3d_sign(p, q, t[0], t[1]), bc = cr_orient3d_sign(p, q, t[1], t[2]);
	return ab * bc >= 0 && agree(ab, bc, cr_orient3d_sign(p, q, t[2], t[0]));
}

// Any closed segment and any triangle that is not a line; axis shows it as a triangle.
static bool segment_triangle(v3d p, v3d q, const v3d t[3], int axis)
{
	int sp = cr_orient3d_sign(t[0], t[1], t[2], p), sq = cr_orient3d_sign(t[0], t[1], t[2], q);
	if (sp * sq > 0)
		return false;
	return sp == 0 && sq == 0 ? coplanar_segment_triangle(p, q, t, axis) : cr_line_meets_triangle(p, q, t);
}

bool cr_segment_meets_triangle(v3d p, v3d q, const v3d t[3])
{
	const int axis = cr_projection_axis(t[0], t[1], t[2]);
	if (axis >= 0)
		return segment_triangle(p, q, t, axis);
	return segments_intersect(p, q, t[0], t[1]) || segments_intersect(p, q, t[1], t[2]) || segments_intersect(p, q, t[2], t[0]);
}

// At least one triangle is a line or a point (axis < 0), or both lie in one plane.
static bool degenerate_or_coplanar(const v3d a[3], const v3d b[3])
{
	int axis_a = cr_projection_axis(a[0], a[1], a[2]), axis_b = cr_projection_axis(b[0], b[1], b[2]);
	if (axis_a >= 0 && axis_b >= 0) {
		for (int i = 0; i < 3; i++) {
			if (coplanar_segment_triangle(a[i], a[(i + 1) % 3], b, axis_b))
				return true;
		}
		return in_triangle_2d(b[0], a, axis_a); // no edge of a meets b: b lies inside a, or outside
	}
	for (int i = 0; i < 3; i++) {
		v3d a0 = a[i], a1 = a[(i + 1) % 3], b0 = b[i], b1 = b[(i + 1) % 3];
		if (axis_b >= 0 && segment_triangle(a0, a1, b, axis_b))
			return true;
		if (axis_a >= 0 && segment_triangle(b0, b1, a, axis_a))
			return true;
		for (int j = 0; j < 3 && axis_a < 0 && axis_b < 0; j++) {
			if (segments_intersect(a0, a1, b[j], b[(j + 1) % 3]))
				return true;
		}
	}
	return false;
}

// Signs of the corners of t against the plane of the triangle p.
static void plane_signs(const v3d p[3], const v3d t[3], int sign[3])
{
	for (int i = 0; i < 3; i++)
		sign[i] = cr_orient3d_sign(p[0], p[1], p[2], t[i]);
}

static bool one_side(const int sign[3]) { return sign[0] == sign[1] && sign[1] == sign[2] && sign[0] != 0; }
static bool all_zero(const int sign[3]) { return sign[0] == 0 && sign[1] == 0 && sign[2] == 0; }

// The corner that the plane divides from the two others. *above: it is on the positive side, or
// they are on the negative.
static int lone_corner(const int sign[3], bool *above)
{
	for (int i = 0; i < 2; i++) {
		int s = sign[i], p = sign[(i + 1) % 3], q = sign[(i + 2) % 3];
		*above = s > 0 || (s == 0 && p < 0 && q < 0);
		if (*above && p <= 0 && q <= 0)
			return i;
		if ((s < 0 && p >= 0 && q >= 0) || (s == 0 && p > 0 && q > 0))
			return i;
	}
	*above = sign[2] > 0 || (sign[2] == 0 && sign[0] < 0);
	return 2;
}

bool cr_triangles_intersect(const v3d a[3], const v3d b[3])
{
	int side_a[3], side_b[3];
	plane_signs(b, a, side_a);
	if (one_side(side_a))
		return false;
	plane_signs(a, b, side_b);
	if (one_side(side_b))
		return false;
	if (all_zero(side_a) || all_zero(side_b))
		return degenerate_or_coplanar(a, b);
	// Both cut the line in which their planes meet. Turn each so that its lone corner comes first
	// and lies above the other's plane; then the two pieces of the line overlap when neither begins
	// after the other ends.
	bool a_above, b_above;
	int i = lone_corner(side_a, &a_above), j = lone_corner(side_b, &b_above);
	v3d a0 = a[i], a1 = a[(i + 1) % 3], a2 = a[(i + 2) % 3], b0 = b[j], b1 = b[(j + 1) % 3], b2 = b[(j + 2) % 3];
	if (!b_above) {
		v3d swap = a1;
		a1 = a2;
		a2 = swap;
	}
	if (!a_above) {
		v3d swap = b1;
		b1 = b2;
		b2 = swap;
	}
	return cr_orient3d_sign(a1, b0, a0, b1) <= 0 && cr_orient3d_sign(a0, b0, a2, b2) <= 0;
}

bool cr_segment_pierces_triangle(v3d p0, v3d p1, v3d a, v3d b, v3d c, double *s)
{
	const v3d t[3] = { a, b, c };
	int sp = cr_orient3d_sign(a, b, c, p0), sq = cr_orient3d_sign(a, b, c, p1);
	if (sp * sq > 0 || (sp == 0 && sq == 0))
		return false;
	if (!cr_line_meets_triangle(p0, p1, t))
		return false;
	v3d n = v3d_cross(v3d_sub(b, a), v3d_sub(c, a));
	double height0 = fabs(v3d_dot(n, v3d_sub(p0, a))), height1 = fabs(v3d_dot(n, v3d_sub(p1, a)));
	// The signs have decided; the heights only say where, and may both have rounded to 0.
	*s = sp == 0 ? 0 : sq == 0 ? 1 : height0 + height1 > 0 ? height0 / (height0 + height1) : 0.5;
	return true;
}
