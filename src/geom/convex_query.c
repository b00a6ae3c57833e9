/// Box, distance and rays of one convex body. See geom/convex_query.h.

#include "geom/convex_query.h"
#include "geom/separation.h"

// A search along a ray ends after so many planes, or within this part of the size.
enum { MOST_PLANES = 64 };
static const double NEAR_SURFACE = 1e-10;

void cr_convex_bounds(const cr_convex *convex, const m3d *rotation, double lower[3], double upper[3])
{
	for (int k = 0; k < 3; k++) {
		const v3d row = rotation->row[k];
		upper[k] = v3d_dot(row, cr_convex_support(convex, row)) + convex->rounding;
		lower[k] = v3d_dot(row, cr_convex_support(convex, v3d_neg(row))) - convex->rounding;
		// A few roundings of the sum.
		const double slack = (fabs(lower[k]) + fabs(upper[k]) + cr_convex_size(convex) + convex->rounding) * 0x1p-48;
		lower[k] -= slack;
		upper[k] += slack;
	}
}

double cr_convex_distance(const cr_convex *convex, v3d p, v3d *nearest, v3d *normal)
{
	const cr_convex point = { .core = CR_CORE_POINT };
	const cr_relative at = { { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, v3d_neg(p) };
	cr_separation s;
	cr_convex_separation(&point, convex, &at, &s);
	*nearest = v3d_add(s.on_b, p);
	*normal = s.normal;
	return s.gap;
}

/// Where a ray from outside enters, as a distance along its unit direction: the plane across the
/// nearest direction is never behind the surface. False: it misses.
static bool find_entry(const cr_convex *convex, v3d origin, v3d direction, double size, double *distance, v3d *normal)
{
	v3d nearest;
	*distance = 0;
	for (int i = 0; i < MOST_PLANES; i++) {
		const double gap = cr_convex_distance(convex, v3d_mad(origin, *distance, direction), &nearest, normal);
		const double approach = -v3d_dot(*normal, direction);
		if (gap <= NEAR_SURFACE * size)
			return true;
		if (!(approach > 0))
			return false;
		*distance += gap / approach;
		if (*distance > 4 * size)
			return false;
	}
	return true; // a line that all but touches
}

int cr_convex_ray(const cr_convex *convex, v3d origin, v3d direction, double t_min, double t_max, int most, double t[2],
	v3d normal[2], bool back[2])
{
	const double length = v3d_length(direction), size = cr_convex_size(convex) + convex->rounding;
	if (!(length > 0))
		return 0;
	const v3d along = v3d_scale(direction, 1 / length), centre = cr_convex_centre(convex);
	// The place of the line nearest to the centre; both ends of the search lie outside of the
	// body's ball about it.
	const double middle = v3d_dot(along, v3d_sub(centre, origin));
	const v3d foot = v3d_mad(origin, middle, along);
	const double across = v3d_length(v3d_sub(foot, centre)), half = 1.5 * size;
	double distance;
	int count = 0;
	if (!(across <= size * (1 + 1e-9)) || !find_entry(convex, v3d_mad(foot, -half, along), along, size, &distance, &normal[0]))
		return 0;
	const double in = (middle - half + distance) / length;
	if (in > t_max)
		return 0;
	if (in >= t_min) {
		t[0] = in;
		back[0] = false;
		count = 1;
	}
	// The other end is dear, and often not asked for.
	if (count == most || !find_entry(convex, v3d_mad(foot, half, along), v3d_neg(along), size, &distance, &normal[count]))
		return count;
	const double out = (middle + half - distance) / length;
	if (!(out >= in && out >= t_min && out <= t_max))
		return count;
	t[count] = out;
	back[count] = true;
	return count + 1;
}

double cr_convex_exit(const cr_convex *a, const cr_convex *b, v3d direction, double most)
{
	const double near = 1e-6 * (cr_convex_size(a) + a->rounding);
	cr_relative b_in_a = { { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, { 0, 0, 0 } };
	double at = most;
	for (int i = 0; i < MOST_PLANES && at > 0; i++) {
		cr_separation s;
		b_in_a.position = v3d_scale(direction, -at);
		cr_convex_separation(a, b, &b_in_a, &s);
		const double approach = v3d_dot(s.normal, direction);
		if (s.gap <= near)
			return at;
		if (!(approach > 0))
			return 0;
		at -= (s.gap - 0.5 * near) / approach;
	}
	return fmax(at, 0);
}
