// Triangles against rays and boxes, and how far two of them overlap. Pure functions; their results
// and sources stand in triangle.h. Whether two triangles intersect is in triangle_intersect.c,
// nearest points are in triangle_closest.c.
#include "geom/triangle.h"

#include <float.h>

void cr_ray_shear_init(cr_ray_shear *shear, const float origin[3], const float direction[3])
{
	float x = fabsf(direction[0]), y = fabsf(direction[1]), z = fabsf(direction[2]);
	// Which one it is cannot be foretold: so there are no branches.
	static const int8_t largest[8] = { 2, 2, 2, 0, 1, 1, 1, 0 }, next[5] = { 0, 1, 2, 0, 1 };
	const int kz = largest[(x >= y) | (x >= z) << 1 | (y >= z) << 2], negative = direction[kz] < 0;
	shear->kx = next[kz + 1 + negative];
	shear->ky = next[kz + 2 - negative];
	shear->kz = kz;
	shear->sx = direction[shear->kx] / direction[kz];
	shear->sy = direction[shear->ky] / direction[kz];
	shear->sz = 1.0f / direction[kz];
	for (int i = 0; i < 3; i++)
		shear->origin[i] = origin[i];
}

// A corner seen along the ray: sheared so that the ray is the z axis.
typedef struct sheared {
	float x, y, z;
} sheared;

static sheared shear_corner(const cr_ray_shear *shear, const float p[3])
{
	float x = p[shear->kx] - shear->origin[shear->kx];
	float y = p[shear->ky] - shear->origin[shear->ky];
	float z = p[shear->kz] - shear->origin[shear->kz];
	return (sheared){ x - shear->sx * z, y - shear->sy * z, shear->sz * z };
}

static float min3f(float a, float b, float c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }
static float max3f(float a, float b, float c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); }
static double min3(double a, double b, double c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }
static double max3(double a, double b, double c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); }

static bool comes_before(sheared p, sheared q) { return p.x != q.x ? p.x < q.x : p.y != q.y ? p.y < q.y : p.z < q.z; }

// How far along the ray the edge pq is met, which lies on a line through it. By the edge alone,
// from its lower end, so that all triangles around it say the same to the bit.
static double meet_edge(sheared p, sheared q)
{
	if (comes_before(q, p)) {
		sheared swapped = p;
		p = q;
		q = swapped;
	}
	double dx = (double)p.x - (double)q.x, dy = (double)p.y - (double)q.y;
	double s = fabs(dx) >= fabs(dy) ? (double)p.x / dx : (double)p.y / dy;
	return (double)p.z + s * ((double)q.z - (double)p.z);
}

// How far along the ray a triangle is met of which it misses no edge: at a corner, on an edge, or
// in the face.
static double meet_triangle(sheared a, sheared b, sheared c, double u, double v, double w)
{
	if (v == 0 && w == 0)
		return (double)a.z;
	if (w == 0 && u == 0)
		return (double)b.z;
	if (u == 0 && v == 0)
		return (double)c.z;
	if (u == 0)
		return meet_edge(b, c);
	if (v == 0)
		return meet_edge(c, a);
	if (w == 0)
		return meet_edge(a, b);
	return ((u * (double)a.z + v * (double)b.z) + w * (double)c.z) / ((u + v) + w);
}

// Products of two floats are exact in double, so the signs of the edge functions are those of the
// real numbers. The results are rounded to float only at the end: a weight too small for a float
// must not look like a zero.
static bool watertight_double(sheared a, sheared b, sheared c, float t_max, cr_triangle_hit *hit)
{
	double u = (double)c.x * (double)b.y - (double)c.y * (double)b.x;
	double v = (double)a.x * (double)c.y - (double)a.y * (double)c.x;
	double w = (double)b.x * (double)a.y - (double)b.y * (double)a.x;
	if (min3(u, v, w) < 0 && max3(u, v, w) > 0)
		return false;
	double determinant = (u + v) + w;
	if (determinant == 0)
		return false;
	float t = (float)meet_triangle(a, b, c, u, v, w);
	if (!(t >= 0 && t <= t_max))
		return false;
	*hit = (cr_triangle_hit){ t, (float)(v / determinant), (float)(w / determinant), determinant < 0 };
	return true;
}

// The wide kernels repeat these operations in this order: change both or neither.
bool cr_ray_triangle_watertight(
	const cr_ray_shear *shear, const float a[3], const float b[3], const float c[3], float t_max, cr_triangle_hit *hit)
{
	sheared p = shear_corner(shear, a), q = shear_corner(shear, b), r = shear_corner(shear, c);
	float u = r.x * q.y - r.y * q.x;
	float v = p.x * r.y - p.y * r.x;
	float w = q.x * p.y - q.y * p.x;
	// A difference of two rounded products has the right sign unless it is 0, for rounding keeps
	// order.
	if (u == 0 || v == 0 || w == 0)
		return watertight_double(p, q, r, t_max, hit);
	if (min3f(u, v, w) < 0 && max3f(u, v, w) > 0)
		return false;
	float determinant = (u + v) + w;
	if (determinant == 0)
		return false;
	float t = ((u * p.z + v * q.z) + w * r.z) / determinant;
	if (!(t >= 0 && t <= t_max))
		return false;
	*hit = (cr_triangle_hit){ t, v / determinant, w / determinant, determinant < 0 };
	return true;
}

static v3f v3f_at(const float p[3]) { return (v3f){ p[0], p[1], p[2] }; }

bool cr_ray_triangle_mt(const float origin[3], const float direction[3], const float a[3], const float b[3], const float c[3],
	float t_max, cr_triangle_hit *hit)
{
	v3f d = v3f_at(direction), corner = v3f_at(a);
	v3f e1 = v3f_sub(v3f_at(b), corner), e2 = v3f_sub(v3f_at(c), corner), s = v3f_sub(v3f_at(origin), corner);
	v3f p = v3f_cross(d, e2);
	float determinant = v3f_dot(p, e1); // = -direction . (e1 x e2)
	if (fabsf(determinant) <= FLT_MIN)
		return false;
	float inverse = 1 / determinant;
	float u = v3f_dot(p, s) * inverse;
	if (!(u >= 0 && u <= 1))
		return false;
	v3f q = v3f_cross(s, e1);
	float v = v3f_dot(q, d) * inverse;
	if (!(v >= 0 && u + v <= 1))
		return false;
	float t = v3f_dot(q, e2) * inverse;
	if (!(t >= 0 && t <= t_max))
		return false;
	*hit = (cr_triangle_hit){ t, u, v, determinant < 0 };
	return true;
}

// Keep the axis when both triangles overlap less along it. Returns false for an axis too short to
// have a direction.
static bool try_axis(v3d axis, double scale, const v3d a[3], const v3d b[3], double *depth, v3d *direction)
{
	double length = v3d_length(axis);
	if (!(length > 1e-12 * scale))
		return false;
	axis = v3d_scale(axis, 1 / length);
	// Relative to one corner: triangles far from the origin lose nothing.
	double a1 = v3d_dot(axis, v3d_sub(a[1], a[0])), a2 = v3d_dot(axis, v3d_sub(a[2], a[0]));
	double b0 = v3d_dot(axis, v3d_sub(b[0], a[0])), b1 = v3d_dot(axis, v3d_sub(b[1], a[0])),
		   b2 = v3d_dot(axis, v3d_sub(b[2], a[0]));
	double up = max3(b0, b1, b2) - min3(0, a1, a2), down = max3(0, a1, a2) - min3(b0, b1, b2);
	double overlap = up <= down ? up : down;
	if (overlap < *depth) {
		*depth = overlap;
		*direction = up <= down ? axis : v3d_neg(axis);
	}
	return true;
}

double cr_triangle_penetration(const v3d a[3], const v3d b[3], v3d *direction)
{
	v3d ea[3], eb[3];
	for (int i = 0; i < 3; i++) {
		ea[i] = v3d_sub(a[(i + 1) % 3], a[i]);
		eb[i] = v3d_sub(b[(i + 1) % 3], b[i]);
	}
	v3d na = v3d_cross(ea[0], ea[1]), nb = v3d_cross(eb[0], eb[1]);
	double la[3], lb[3];
	for (int i = 0; i < 3; i++) {
		la[i] = v3d_length(ea[i]);
		lb[i] = v3d_length(eb[i]);
	}
	double size_a = max3(la[0], la[1], la[2]), size_b = max3(lb[0], lb[1], lb[2]);
	double depth = INFINITY;
	*direction = (v3d){ 0, 0, 1 };
	bool any = try_axis(na, size_a * size_a, a, b, &depth, direction);
	any |= try_axis(nb, size_b * size_b, a, b, &depth, direction);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			any |= try_axis(v3d_cross(ea[i], eb[j]), la[i] * lb[j], a, b, &depth, direction);
	}
	// In the planes: triangles side by side in one plane are kept apart by these alone.
	for (int i = 0; i < 3; i++) {
		any |= try_axis(v3d_cross(na, ea[i]), size_a * size_a * la[i], a, b, &depth, direction);
		any |= try_axis(v3d_cross(nb, eb[i]), size_b * size_b * lb[i], a, b, &depth, direction);
	}
	if (any)
		return depth;
	// Points, or parallel lines: along and across the line between them.
	v3d along = size_a >= size_b ? (la[0] >= la[1] ? ea[0] : ea[1]) : (lb[0] >= lb[1] ? eb[0] : eb[1]);
	v3d between = v3d_sub(a[0], b[0]);
	double size = size_a + size_b + v3d_length(between);
	any = try_axis(v3d_cross(along, v3d_cross(between, along)), size * size * size, a, b, &depth, direction);
	any |= try_axis(along, 0, a, b, &depth, direction);
	any |= try_axis(between, 0, a, b, &depth, direction);
	return any ? depth : 0;
}

// Does the projection of the three corners on an axis miss [-radius, radius] by more than slack?
static bool separated(double p0, double p1, double p2, double radius, double slack)
{
	return min3(p0, p1, p2) > radius + slack || max3(p0, p1, p2) < -radius - slack;
}

bool cr_triangle_box_overlap(v3d centre, v3d half, v3d a, v3d b, v3d c)
{
	const v3d p[3] = { v3d_sub(a, centre), v3d_sub(b, centre), v3d_sub(c, centre) };
	double size = max3(half.x, half.y, half.z);
	for (int i = 0; i < 3; i++) {
		double largest = max3(fabs(p[i].x), fabs(p[i].y), fabs(p[i].z));
		if (largest > size)
			size = largest;
	}
	// Roundings of at most 2^-53 of a length, an area and a volume add up to less than these.
	double slack1 = 1e-15 * size, slack2 = 2e-14 * size * size, slack3 = 1e-13 * size * size * size;
	if (separated(p[0].x, p[1].x, p[2].x, half.x, slack1))
		return false;
	if (separated(p[0].y, p[1].y, p[2].y, half.y, slack1))
		return false;
	if (separated(p[0].z, p[1].z, p[2].z, half.z, slack1))
		return false;
	v3d n = v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[1]));
	double reach = half.x * fabs(n.x) + half.y * fabs(n.y) + half.z * fabs(n.z);
	if (fabs(v3d_dot(n, p[0])) > reach + slack3)
		return false;
	for (int i = 0; i < 3; i++) {
		v3d e = v3d_sub(p[(i + 1) % 3], p[i]);
		// unit axis x e
		const v3d axes[3] = { { 0, -e.z, e.y }, { e.z, 0, -e.x }, { -e.y, e.x, 0 } };
		for (int j = 0; j < 3; j++) {
			v3d axis = axes[j];
			double radius = half.x * fabs(axis.x) + half.y * fabs(axis.y) + half.z * fabs(axis.z);
			if (separated(v3d_dot(axis, p[0]), v3d_dot(axis, p[1]), v3d_dot(axis, p[2]), radius, slack2))
				return false;
		}
	}
	return true;
}
