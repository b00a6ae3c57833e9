/// Distances of features. The nearest points are those of geom/triangle.h (Ericson, Real-Time
/// Collision Detection, 5.1.5 and 5.1.9, by areas and cross products).
///
/// gap, proved: let n be the computed direction from the nearest point of the second feature to
/// that of the first, of length at most 1 + 4u with u = 2^-53. Any two points x and y of the
/// features are means of their vertices, so n . (x - y) is at least the least n . vertex of the
/// first less the greatest of the second. Differences of vertices are rounded once, products and
/// sums three times, all relative to the longest difference M: the computed value is off by at most
/// 16 u M. The distance of x and y is n . (x - y) / |n| at least.
#include "geom/feature_distance.h"
#include "geom/triangle.h"
#include <math.h>
#include <string.h>

static void weigh_face(const v3d p[4], cr_near *near)
{
	const cr_triangle_point on = cr_closest_on_triangle(p[0], &p[1]);
	near->weight[0] = 1;
	memcpy(&near->weight[1], on.weight, sizeof on.weight);
	near->on_a = p[0];
	near->on_b = on.point;
}

static void weigh_edges(const v3d p[4], cr_near *near)
{
	double s, t;
	cr_closest_segments(p[0], p[1], p[2], p[3], &s, &t, &near->on_a, &near->on_b);
	near->weight[0] = 1 - s;
	near->weight[1] = s;
	near->weight[2] = 1 - t;
	near->weight[3] = t;
}

/// How far the features are apart along the line between their nearest points.
static double gap_of(cr_swept_kind kind, const v3d p[4], const cr_near *near)
{
	const double distance = sqrt(near->distance2);
	if (!(distance > 0))
		return 0;
	const int first = kind == CR_SWEPT_VERTEX_FACE ? 1 : 2;
	const v3d n = v3d_scale(v3d_sub(near->on_a, near->on_b), 1 / distance);
	double least = INFINITY, greatest = -INFINITY, longest = 0;
	for (int k = 0; k < 4; k++) {
		const double along = v3d_dot(n, p[k]);
		if (k < first)
			least = fmin(least, along);
		else
			greatest = fmax(greatest, along);
		longest = fmax(longest, v3d_length(p[k]));
	}
	return fmax(0, (least - greatest) * (1 - 0x1p-49) - longest * 0x1p-48);
}

/// Everything but the gap. p: relative to the first vertex.
static void measure(cr_swept_kind kind, const v3d p[4], cr_near *near)
{
	if (kind == CR_SWEPT_VERTEX_FACE)
		weigh_face(p, near);
	else
		weigh_edges(p, near);
	const v3d between = v3d_sub(near->on_a, near->on_b);
	near->distance2 = v3d_dot(between, between);
}

static void make_relative(const v3d vertices[4], v3d p[4])
{
	for (int k = 0; k < 4; k++)
		p[k] = v3d_sub(vertices[k], vertices[0]);
}

void cr_near_of(cr_swept_kind kind, const v3d vertices[4], cr_near *near)
{
	v3d p[4];
	make_relative(vertices, p);
	measure(kind, p, near);
	near->gap = gap_of(kind, p, near);
}

/// Are features farther apart than a distance along an axis? Differences are rounded, but never
/// across the distance.
static bool are_far(const v3d p[4], int first, double distance)
{
	bool far = false;
	for (int axis = 0; axis < 3; axis++) {
		double lower[2] = { INFINITY, INFINITY }, upper[2] = { -INFINITY, -INFINITY };
		for (int k = 0; k < 4; k++) {
			const double x = v3d_get(p[k], axis);
			const int feature = k >= first;
			lower[feature] = x < lower[feature] ? x : lower[feature];
			upper[feature] = x > upper[feature] ? x : upper[feature];
		}
		far = far || lower[0] - upper[1] > distance || lower[1] - upper[0] > distance;
	}
	return far;
}

bool cr_are_near(cr_swept_kind kind, const v3d vertices[4], double distance, cr_near *near)
{
	v3d p[4];
	if (are_far(vertices, kind == CR_SWEPT_VERTEX_FACE ? 1 : 2, distance))
		return false;
	make_relative(vertices, p);
	cr_near measured;
	measure(kind, p, &measured);
	if (!(measured.distance2 < distance * distance))
		return false;
	measured.gap = gap_of(kind, p, &measured);
	*near = measured;
	return true;
}
