/// Conservative advancement of two convex bodies.
///
/// At time t let the bodies be apart by g > 0 along the unit direction n, from B to A: a plane across n parts them, and every point of A
/// is at least g beyond every point of B along n. A point of A at the place p from A's origin has the velocity travel + angle * (axis x p).
/// Along n that is n . travel + angle * p . (n x axis). The point turns about the axis, so its distance from it, at most r, stays;
/// and n x axis lies across the axis, so p . (n x axis) >= -r |n x axis|, now and at all later times. With the like bound for B, no two points
/// approach each other along n faster than
///     speed = n . (travel_b - travel_a) + angle_a r_a |n x axis_a| + angle_b r_b |n x axis_b|
/// and the bodies stay apart for g / speed at least. Each step goes so far that a part of the tolerance is left; it ends when g is
/// within the tolerance, or when time 1 is reached. Roundings of g and of poses are a part in 1e12 of the sizes; g is made smaller by more.

#include "geom/time_of_impact.h"
#include "math/trig.h"

enum { MOST_STEPS = 400 };

// Of the sizes: roundings of a separation and of the poses (cr_sincos is good to 1e-11).
static const double ROUNDING = 1e-10;

static carom_quat product(carom_quat p, carom_quat q)
{
	return (carom_quat){ p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y, p.w * q.y - p.x * q.z + p.y * q.w + p.z * q.x,
		p.w * q.z + p.x * q.y - p.y * q.x + p.z * q.w, p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z };
}

cr_motion cr_motion_between(const carom_pose *begin, const carom_pose *end)
{
	const carom_quat q = begin->orientation, back = { -q.x, -q.y, -q.z, q.w };
	carom_quat turn = product(end->orientation, back);
	if (turn.w < 0)
		turn = (carom_quat){ -turn.x, -turn.y, -turn.z, -turn.w };
	const v3d part = { turn.x, turn.y, turn.z };
	const double sine = v3d_length(part);
	cr_motion m = { *begin, v3d_sub(end->position, begin->position), { 0, 0, 1 }, 0 };
	if (sine > 0) {
		m.axis = v3d_scale(part, 1 / sine);
		// For small angles the sine tells more than the cosine, whose arc loses half of the digits there.
		m.angle = sine < 1e-4 ? 2 * sine * (1 + sine * sine / 6) : 2 * cr_acos(turn.w);
	}
	return m;
}

carom_pose cr_motion_at(const cr_motion *m, double t)
{
	double sine, cosine;
	cr_sincos(0.5 * m->angle * t, &sine, &cosine);
	const carom_quat turn = { sine * m->axis.x, sine * m->axis.y, sine * m->axis.z, cosine };
	const carom_quat q = product(turn, m->begin.orientation);
	const double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return (carom_pose){ v3d_mad(m->begin.position, t, m->travel), { q.x / length, q.y / length, q.z / length, q.w / length } };
}

/// The most that any point of a body lies away from the origin of its frame.
static double reach_of(const cr_convex *c) { return v3d_length(cr_convex_centre(c)) + cr_convex_size(c) + c->rounding; }

/// The separation at a time, with everything turned to the axes of the world and taken from A's position.
static void separate(
	const cr_convex *a, const cr_motion *ma, const cr_convex *b, const cr_motion *mb, double t, cr_separation *s)
{
	const carom_pose pa = cr_motion_at(ma, t), pb = cr_motion_at(mb, t);
	const m3d ra = m3d_from_quat(pa.orientation), rb = m3d_from_quat(pb.orientation);
	const cr_relative at = { m3d_transpose_mul(&ra, &rb), m3d_tmul(&ra, v3d_sub(pb.position, pa.position)) };
	cr_convex_separation(a, b, &at, s);
	s->normal = m3d_mul(&ra, s->normal);
	s->on_a = m3d_mul(&ra, s->on_a);
	s->on_b = m3d_mul(&ra, s->on_b);
}

/// How fast any two points may approach each other along n.
static double approach(const cr_motion *ma, double reach_a, const cr_motion *mb, double reach_b, v3d n)
{
	const double turning_a = ma->angle * reach_a * v3d_length(v3d_cross(n, ma->axis));
	const double turning_b = mb->angle * reach_b * v3d_length(v3d_cross(n, mb->axis));
	return v3d_dot(n, v3d_sub(mb->travel, ma->travel)) + turning_a + turning_b;
}

void cr_find_impact(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, cr_impact *impact)
{
	const double reach_a = reach_of(a), reach_b = reach_of(b);
	*impact = (cr_impact){ .state = CR_IMPACT_UNDECIDED };
	for (double t = 0; impact->steps < MOST_STEPS;) {
		cr_separation *s = &impact->separation;
		separate(a, motion_a, b, motion_b, t, s);
		impact->steps++;
		impact->time = impact->separation_time = t;
		const double apart = v3d_length(v3d_sub(cr_motion_at(motion_a, t).position, cr_motion_at(motion_b, t).position));
		const double gap = s->gap - ROUNDING * (reach_a + reach_b + apart);
		if (!(gap > tolerance)) {
			impact->state = t > 0 ? CR_IMPACT_FOUND : CR_IMPACT_TOUCHING;
			return;
		}
		const double speed = approach(motion_a, reach_a, motion_b, reach_b, s->normal);
		// Half of the tolerance is left, so that the next gap is above zero and a direction can be told.
		const double step = (gap - 0.5 * tolerance) / speed;
		if (!(speed > 0) || !(t + step < 1)) {
			impact->state = CR_IMPACT_NONE;
			impact->time = 1;
			return;
		}
		t += step;
	}
}
