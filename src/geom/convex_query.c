/// Box, distance and rays of one convex body. See geom/convex_query.h.
///
/// Boxes, cylinders and cones have their distance in closed form, other cores by the search for two
/// convex bodies. A body is its core and all within its rounding from there. So, inside the core as
/// outside, its distance is that of the core less the rounding, along one normal.

#include "geom/convex_query.h"

#include "geom/box.h"
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

// ---- Distance of a point ----

/// A place in the half plane through the axis of a cylinder or a cone: distance from the axis and
/// height; or a direction there.
typedef struct profile_point {
	double across, along;
} profile_point;

/// The corners of the outline that makes a cylinder or a cone when it turns about the axis, from
/// the top of the axis to its bottom. Returns their number.
static int outline_of(const cr_convex *c, profile_point corners[4])
{
	int count = 0;
	corners[count++] = (profile_point){ 0, c->half_length };
	if (c->core == CR_CORE_CYLINDER)
		corners[count++] = (profile_point){ c->radius, c->half_length };
	corners[count++] = (profile_point){ c->radius, -c->half_length };
	corners[count++] = (profile_point){ 0, -c->half_length };
	return count;
}

/// The point of an outline that is nearest to a place.
typedef struct outline_point {
	profile_point at;
	profile_point normal; // outward, unit
	double distance;      // not negative
} outline_point;

/// Let best be the point of the side from corner p to q that is nearest to x, if it is nearer than
/// best. Returns the height of x over that side.
static double try_side(profile_point p, profile_point q, profile_point x, outline_point *best)
{
	const double across = q.across - p.across, along = q.along - p.along;
	const double length = sqrt(across * across + along * along);
	const profile_point out = { -along / length, across / length };
	const double height = (x.across - p.across) * out.across + (x.along - p.along) * out.along;
	const double t = ((x.across - p.across) * across + (x.along - p.along) * along) / (length * length);
	outline_point near = { { p.across + t * across, p.along + t * along }, out, fabs(height) };
	if (t < 0 || t > 1) {
		near.at = t < 0 ? p : q;
		const profile_point away = { x.across - near.at.across, x.along - near.at.along };
		near.distance = sqrt(away.across * away.across + away.along * away.along);
		if (near.distance > 0)
			near.normal = (profile_point){ away.across / near.distance, away.along / near.distance };
	}
	if (near.distance < best->distance)
		*best = near;
	return height;
}

/// Distance of a point from the core of a cylinder or a cone: in the half plane through the axis
/// and the point. For a point on the axis any half plane will do.
static double round_core_distance(const cr_convex *c, v3d p, v3d *nearest, v3d *normal)
{
	const double tiny = 1e-40 * c->radius, square = p.x * p.x + p.y * p.y, across = square > tiny * tiny ? sqrt(square) : 0;
	const double x = across > 0 ? p.x / across : 1, y = across > 0 ? p.y / across : 0;
	profile_point corners[4];
	outline_point best = { .distance = INFINITY };
	double height = -INFINITY;
	const int count = outline_of(c, corners);
	for (int i = 0; i + 1 < count; i++)
		height = fmax(height, try_side(corners[i], corners[i + 1], (profile_point){ across, p.z }, &best));
	*nearest = (v3d){ x * best.at.across, y * best.at.across, best.at.along };
	*normal = (v3d){ x * best.normal.across, y * best.normal.across, best.normal.along };
	return height > 0 ? best.distance : -best.distance;
}

/// Distance of a point from a core, by the search for two convex bodies. Inside a curved body the
/// deepest points that it finds need not lie over each other. There the nearest point is the foot
/// of p on the plane that bounds the depth. It is no farther from the surface than the depth is
/// from the true one.
static double searched_core_distance(const cr_convex *core, v3d p, v3d *nearest, v3d *normal)
{
	const cr_convex point = { .core = CR_CORE_POINT };
	const cr_relative at = { { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, v3d_neg(p) };
	cr_separation s;
	cr_convex_separation(&point, core, &at, &s);
	*nearest = s.gap > 0 ? v3d_add(s.on_b, p) : v3d_mad(p, -s.gap, s.normal);
	*normal = s.normal;
	return s.gap;
}

static double core_distance(const cr_convex *core, v3d p, v3d *nearest, v3d *normal)
{
	switch (core->core) {
	case CR_CORE_BOX: return cr_box_distance(core->half, p, nearest, normal);
	case CR_CORE_CYLINDER:
	case CR_CORE_CONE: return round_core_distance(core, p, nearest, normal);
	default: return searched_core_distance(core, p, nearest, normal);
	}
}

double cr_convex_distance(const cr_convex *convex, v3d p, v3d *nearest, v3d *normal)
{
	cr_convex core = *convex;
	core.rounding = 0;
	const double distance = core_distance(&core, p, nearest, normal);
	*nearest = v3d_mad(*nearest, convex->rounding, *normal);
	return distance - convex->rounding;
}

// ---- Rays ----

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
