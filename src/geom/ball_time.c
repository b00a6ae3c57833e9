/// Two balls on straight ways.
///
/// Seen from A the centre of B moves from p by v, time 0 to 1. Its line passes A's centre at the
/// distance m = |p x v| / |v|, at the time t0 = -p . v / |v|^2; at time t the centres are
/// sqrt(m^2 + (t - t0)^2 |v|^2) apart. So with p . v < 0 they first come within h of each other,
/// for m <= h < |p|, at
///     t0 - sqrt((h - m) (h + m)) / |v|.
/// A graze costs no digits that way: h^2 - m^2 is not the difference of two squares of p.
///
/// Roundings. Let s be the sum of the sizes of all numbers (cr_ball_rounding adds it up). p and v
/// are off by 2^-53 s each along an axis, the product by 2^-51 |p| |v|, so m is off by less than
/// 2^-49 s, and so is a distance |p + t v| at a time that is told. 2^-46 s =: e is more than all of
/// it. t is within (e / |v|) of the time at which the exact distance is h + d, for some |d| <= e.
///
/// Balls that are farther apart than the tolerance at time 0 meet at h = radii + 3/4 tolerance + e.
/// Exact centres that come as near as the radii have m <= radii + e as computed, so the meeting is
/// found, before they do: e is less than h - radii. Before it they are not nearer than half of the
/// tolerance, for 2 e below a quarter of the tolerance. Where coordinates are so large that e is
/// more, nothing is missed either; the gap that is left is larger then.
///
/// Balls that touch at time 0, with the gap g, have contacts. They push on where they get nearer
/// than radii + l - slack, with the lesser l of g and half the tolerance: so touching.c tells it of
/// any two bodies. The time is that at radii + l - slack / 4, or 0 where their approach alone would
/// lead there. Balls of which one has its centre in the other, or nearly so, are deep: contacts
/// lead them out.

#include "geom/ball_time.h"

static double size_of(v3d p) { return fabs(p.x) + fabs(p.y) + fabs(p.z); }

double cr_ball_rounding(const cr_moving_ball *a, const cr_moving_ball *b)
{
	const double all = size_of(a->begin) + size_of(a->travel) + a->radius + size_of(b->begin) + size_of(b->travel) + b->radius;
	return all * 0x1p-46;
}

/// A centre on its way as seen from another one.
typedef struct passage {
	v3d p;
	v3d v;
	double distance; // |p|
	double speed;    // |v|, above 0
	double near;     // how near the line comes to the other
	double when;     // at this time
} passage;

static passage pass_by(v3d p, v3d v)
{
	passage w = { .p = p, .v = v, .distance = v3d_length(p), .speed = v3d_length(v) };
	const v3d n = v3d_scale(v, 1 / w.speed);
	w.near = v3d_length(v3d_cross(p, n));
	w.when = -v3d_dot(p, n) / w.speed;
	return w;
}

/// When the centres first are as near as h, which is at most their distance at time 0; 1 or more:
/// not on the way.
static double time_of(const passage *w, double h)
{
	if (!(w->when > 0) || !(w->near <= h))
		return INFINITY;
	const double time = w->when - sqrt((h - w->near) * (h + w->near)) / w->speed;
	return time > 0 ? time : 0;
}

static cr_ball_time told(double time)
{
	return time < 1 ? (cr_ball_time){ CR_IMPACT_FOUND, time } : (cr_ball_time){ CR_IMPACT_NONE, 1 };
}

/// Balls that touch at time 0.
static cr_ball_time push_on(const passage *w, double radii, double least_radius, double tolerance)
{
	const cr_ball_time touching = { CR_IMPACT_TOUCHING, 0 };
	const double gap = w->distance - radii, slack = fmax(0.25 * least_radius, 0.5 * tolerance);
	const double level = radii + fmin(gap, 0.5 * tolerance);
	if (gap < -4 * slack || !(w->distance > 0) || !(time_of(w, level - slack) < 1))
		return touching;
	if (v3d_dot(w->p, w->v) < -0.25 * slack * w->distance)
		return told(0);
	return told(time_of(w, level - 0.25 * slack));
}

cr_ball_time cr_find_ball_time(const cr_moving_ball *a, const cr_moving_ball *b, double tolerance)
{
	const v3d p = v3d_sub(b->begin, a->begin), v = v3d_sub(b->travel, a->travel);
	const double radii = a->radius + b->radius, error = cr_ball_rounding(a, b);
	const bool touches = v3d_length(p) <= radii + tolerance + error;
	const double speed = v3d_length(v);
	if (!(speed > 0) || (!touches && !(v3d_length(p) - speed <= radii + tolerance + 2 * error)))
		return (cr_ball_time){ touches ? CR_IMPACT_TOUCHING : CR_IMPACT_NONE, touches ? 0 : 1 };
	const passage w = pass_by(p, v);
	if (touches)
		return push_on(&w, radii, fmin(a->radius, b->radius), tolerance);
	return told(time_of(&w, radii + 0.75 * tolerance + error));
}
