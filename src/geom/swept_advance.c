/// Advancement along certified separating directions (rung 2 of geom/swept.h).
///
/// At the current time take the direction w from the origin to the nearest point of the figure
/// (swept_motion.h). Corners move on straight lines, so their components along w are linear in
/// time: while all are positive, the figure does not hold the origin, and the features are apart.
/// The first time at which one of them reaches zero is the next current time, so that the intervals
/// join and everything before the current time is proved clear. This is conservative advancement
/// (Mirtich 1996) with a direction in place of a bound on speeds, as in the time of impact of Catto
/// ("Continuous collision", GDC 2013): like Newton's method on the distance, it converges in a few
/// steps, and any w will do, however roughly it was found: only the components are certified.
///
/// Over the inside of the figure, a corner far from the contact is often the first to reach zero,
/// and steps shrink by a constant factor only. But there contact needs the four vertices to be
/// coplanar: each step begins with a leap to shortly before the next root of the cubic
/// (swept_cubic.c), certified as well; the remaining question is mostly whether the features meet
/// there.
///
/// Bound: with k off by u |k|, u = 2^-53, the computed component g = w . k is off by at most
/// gamma_4 m, m = sum of |w_i k_i| (Higham 2002, section 3.1), so g - 8 u m is a lower bound, its
/// own rounding and that of m included; 1e-280 stands for underflow. With a separation to keep, |w|
/// min_separation is taken off too: then a positive component means a greater distance. Lower
/// bounds at both ends of the step give a lower bound at all times between, by linearity, without
/// evaluating anything at the rounded current time; its zero l0 / (l0 - l1) is off by three
/// roundings and is moved by 8 u to the safe side.

#include "geom/swept_cubic.h"
#include <math.h>

enum {
	MAX_ADVANCES = 64, // all steps: generous, since bisection decides the rest
	MAX_PLAIN = 4,     // steps before looking ahead
	MAX_NEAR = 24,     // steps within tolerance, which only sharpen the time or prove a close miss
};

/// Lower bound of a corner's component along w beyond the separation.
static double component_bound(v3d w, v3d corner, double separation)
{
	const double x = w.x * corner.x, y = w.y * corner.y, z = w.z * corner.z;
	const double size = fabs(x) + fabs(y) + fabs(z) + separation;
	return (x + y + z) - separation - (0x1p-50 * size + 1e-280);
}

/// How far the features are proved apart by direction w from time on: a later time, 2 when it is
/// for good, or time itself when w does not even separate them there.
static double clear_until(const cr_swept_motion *motion, v3d w, double min_separation, double time)
{
	if (!(v3d_dot(w, w) > 1e-240))
		return time; // its length would be lost to underflow
	const double separation = min_separation > 0 ? min_separation * v3d_length(w) * (1 + 0x1p-49) : 0;
	double until = 2;
	for (int i = 0; i < motion->count; i++) {
		const double first = component_bound(w, motion->begin[i], separation);
		const double last = component_bound(w, motion->end[i], separation);
		if (first > 0 && last > 0)
			continue;
		if (first > 0) {
			const double zero = first / (first - last) * (1 - 0x1p-50);
			if (!(zero > time))
				return time;
			until = zero < until ? zero : until;
		} else {
			const double zero = first / (first - last) * (1 + 0x1p-50);
			if (!(last > 0) || !(time > zero))
				return time;
		}
	}
	return until;
}

double cr_swept_clear_along_axes(const cr_swept_motion *motion, double min_separation)
{
	static const v3d axes[9] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 0 }, { 1, -1, 0 }, { 1, 0, 1 }, { 1, 0, -1 },
		{ 0, 1, 1 }, { 0, 1, -1 } };
	double most = 0;
	for (int i = 0; i < 18; i++) {
		const v3d axis = i < 9 ? axes[i] : v3d_neg(axes[i - 9]);
		const double until = clear_until(motion, axis, min_separation, 0);
		most = until > most ? until : most;
	}
	return most;
}

/// Other directions, for when the nearest point gives none: the normal of the figure, both ways.
static double clear_until_otherwise(
	const cr_swept_motion *motion, v3d normal, double min_separation, double time, v3d *direction)
{
	for (int side = 0; side < 2; side++) {
		const v3d w = side ? v3d_neg(normal) : normal;
		const double until = clear_until(motion, w, min_separation, time);
		if (until > time) {
			*direction = w;
			return until;
		}
	}
	return time;
}

/// The step from time by a separating direction; time itself when none is found.
static double advance_apart(
	const cr_swept_motion *motion, const cr_swept_nearest *nearest, double min_separation, double time, v3d *direction)
{
	const double until = clear_until(motion, nearest->point, min_separation, time);
	if (until > time) {
		*direction = nearest->point;
		return until;
	}
	return nearest->distance > 0 ? clear_until_otherwise(motion, nearest->normal, min_separation, time, direction) : time;
}

/// Near a graze, where the distance d goes to zero with the square of the time left, a step gets d
/// / speed ahead, ever less. The direction of a later time, in the middle of the step, gets as far
/// as the square root of d. *stride adapts itself.
static double look_ahead(const cr_swept_motion *motion, double min_separation, double time, double *stride, v3d *direction)
{
	const double ahead = time + *stride;
	cr_swept_nearest nearest;
	if (!(ahead < 1))
		return time;
	cr_swept_find_nearest(motion, ahead, &nearest);
	const double until = clear_until(motion, nearest.point, min_separation, time);
	*stride *= until > time ? 4 : 0.25;
	if (until > time)
		*direction = nearest.point;
	return until;
}

cr_swept_status cr_swept_advance(
	const cr_swept_motion *motion, const cr_swept_options *options, cr_swept_impact *impact, v3d *direction, int64_t *advances)
{
	const double rounding = 0x1p-49 * cr_swept_motion_size(motion);
	const double near = options->min_separation + (options->tolerance > rounding ? options->tolerance : rounding);
	cr_swept_cubic cubic;
	cr_swept_init_cubic(&cubic, motion);
	double time = 0, stride = 0;
	int near_count = 0;
	impact->time_high = 1;
	for (int step = 0; step < MAX_ADVANCES; step++) {
		++*advances;
		// Being apart in depth says nothing about a separation to keep.
		const double coplanar = options->min_separation > 0 ? time : cr_swept_no_root_until(&cubic, time);
		if (coplanar > options->t_max)
			return CR_SWEPT_CLEAR;
		const bool at_root = coplanar > time;
		time = coplanar;
		cr_swept_nearest nearest;
		cr_swept_find_nearest(motion, time, &nearest);
		const bool within = nearest.distance <= near;
		double until = time;
		near_count += within;
		// Right before a root of the cubic, in reach, over the inside of the figure: steps would
		// only crawl to the root.
		if (!(within && ((at_root && nearest.inside) || near_count > MAX_NEAR)))
			until = advance_apart(motion, &nearest, options->min_separation, time, direction);
		if (until > options->t_max)
			return CR_SWEPT_CLEAR;
		impact->time = time;
		if (!(until > time)) {
			if (!within)
				break;
			impact->time_high = time;
			return time > 0 ? CR_SWEPT_IMPACT : CR_SWEPT_TOUCHING;
		}
		if (step >= MAX_PLAIN && until < 1) {
			if (!(stride > 0))
				stride = 4 * (until - time);
			until = look_ahead(motion, options->min_separation, until, &stride, direction);
		}
		if (until > options->t_max)
			return CR_SWEPT_CLEAR;
		time = until;
	}
	// Proved clear until there: a search bounded by the time reported here must not find it clear
	// beyond it.
	impact->time = time;
	return CR_SWEPT_UNDECIDED;
}
