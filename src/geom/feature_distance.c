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

void cr_near_of(cr_swept_kind kind, const v3d vertices[4], cr_near *near)
{
	v3d p[4];
	for (int k = 0; k < 4; k++)
		p[k] = v3d_sub(vertices[k], vertices[0]);
	if (kind == CR_SWEPT_VERTEX_FACE)
		weigh_face(p, near);
	else
		weigh_edges(p, near);
	const v3d between = v3d_sub(near->on_a, near->on_b);
	near->distance2 = v3d_dot(between, between);
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

/// The status of one query; fills *impact if it is near.
static bool test_query(const cr_swept_queries *queries, int64_t query, double distance, cr_swept_impact *impact)
{
	v3d p[4];
	for (int k = 0; k < 4; k++) {
		const double *at = &queries->begin[3 * (int64_t)queries->vertices[query][k]];
		p[k] = (v3d){ at[0], at[1], at[2] };
	}
	if (are_far(p, queries->kind == CR_SWEPT_VERTEX_FACE ? 1 : 2, distance))
		return false;
	cr_near near;
	cr_near_of(queries->kind, p, &near);
	if (!(near.distance2 < distance * distance))
		return false;
	*impact = (cr_swept_impact){ .query = query, .status = CR_SWEPT_TOUCHING, .rung = 1, .distance = sqrt(near.distance2) };
	memcpy(impact->weight, near.weight, sizeof near.weight);
	return true;
}

int32_t cr_near_find(const cr_swept_queries *queries, int64_t begin, int32_t count, const cr_swept_options *options,
	cr_swept_impact *impacts, cr_swept_stats *stats)
{
	int32_t found = 0;
	for (int64_t i = begin; i < begin + count; i++)
		found += test_query(queries, i, options->min_separation, &impacts[found]);
	stats->queries += count;
	return found;
}
