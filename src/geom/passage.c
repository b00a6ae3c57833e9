/// See passage.h. The boundary of the rounded prism is made of spheres about its corners, cylinders
/// about its edges, and its faces moved outward: where a line meets any of these within its limits,
/// it meets the body, and the first and the last such place are the passage.
#include "geom/passage.h"

// Of an edge or a face: a place so far beyond its end still counts, so that no line slips through
// between two parts.
static const double LIMIT = 1e-9;

typedef struct line {
	v3d direction; // unit; through the origin
	double radius;
	cr_passage passage;
} line;

static void meet(line *l, double s)
{
	l->passage.enter = fmin(l->passage.enter, s);
	l->passage.leave = fmax(l->passage.leave, s);
}

static void meet_corner(line *l, v3d p)
{
	const double along = v3d_dot(l->direction, p);
	const v3d beside = v3d_mad(p, -along, l->direction);
	const double left = l->radius * l->radius - v3d_dot(beside, beside);
	if (left < 0)
		return;
	meet(l, along - sqrt(left));
	meet(l, along + sqrt(left));
}

static void meet_edge(line *l, v3d p, v3d q)
{
	const v3d d = v3d_sub(q, p);
	const double dd = v3d_dot(d, d);
	if (dd == 0)
		return;
	// Across the edge.
	const v3d m = v3d_mad(l->direction, -v3d_dot(l->direction, d) / dd, d), w = v3d_mad(p, -v3d_dot(p, d) / dd, d);
	const double mm = v3d_dot(m, m);
	if (!(mm > 1e-24))
		return; // along the edge: its ends say all
	const double middle = v3d_dot(m, w) / mm;
	const v3d beside = v3d_mad(w, -middle, m);
	const double left = (l->radius * l->radius - v3d_dot(beside, beside)) / mm;
	if (left < 0)
		return;
	for (int sign = -1; sign <= 1; sign += 2) {
		const double s = middle + sign * sqrt(left);
		const double t = v3d_dot(v3d_sub(v3d_scale(l->direction, s), p), d) / dd;
		if (t >= -LIMIT && t <= 1 + LIMIT)
			meet(l, s);
	}
}

/// A face with a corner at p and sides a and b: a triangle, or a parallelogram.
static void meet_face(line *l, v3d p, v3d a, v3d b, bool is_triangle)
{
	v3d n = v3d_cross(a, b);
	const double area = v3d_length(n), slope = v3d_dot(n, l->direction);
	if (!(area > 1e-12 * v3d_length(a) * v3d_length(b)) || !(fabs(slope) > 1e-12 * area))
		return;
	const double height = v3d_dot(n, p), offset = l->radius * area;
	for (int sign = -1; sign <= 1; sign += 2) {
		const double s = (height + sign * offset) / slope;
		const v3d foot = v3d_mad(v3d_sub(v3d_scale(l->direction, s), p), -sign * l->radius / area, n);
		const double u = v3d_dot(v3d_cross(foot, b), n) / (area * area), v = v3d_dot(v3d_cross(a, foot), n) / (area * area);
		if (u >= -LIMIT && v >= -LIMIT && (is_triangle ? u + v <= 1 + LIMIT : u <= 1 + LIMIT && v <= 1 + LIMIT))
			meet(l, s);
	}
}

cr_passage cr_round_passage(const v3d core[2], double radius, v3d direction, const v3d triangle[3])
{
	line l = { direction, radius, { INFINITY, -INFINITY } };
	const v3d axis = v3d_sub(core[0], core[1]);
	const bool is_point = v3d_dot(axis, axis) == 0;
	for (int end = 0; end < (is_point ? 1 : 2); end++) {
		v3d p[3];
		for (int k = 0; k < 3; k++)
			p[k] = v3d_sub(triangle[k], core[end]);
		meet_face(&l, p[0], v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]), true);
		for (int k = 0; k < 3; k++) {
			meet_corner(&l, p[k]);
			meet_edge(&l, p[k], p[(k + 1) % 3]);
			if (is_point || end == 1)
				continue;
			meet_edge(&l, p[k], v3d_add(p[k], axis));
			meet_face(&l, p[k], v3d_sub(p[(k + 1) % 3], p[k]), axis, false);
		}
	}
	return l.passage;
}
