/// Conservative advancement of two convex bodies.
///
/// At time t let the bodies be apart by g > 0 along the unit direction n, from B to A: a plane
/// across n parts them, and every point of A is at least g beyond every point of B along n. A point
/// of A at the place p from A's origin has the velocity travel + angle * (axis x p). Along n that
/// is n . travel + angle * p . (n x axis). The point turns about the axis, so its distance from it,
/// at most r, stays; and n x axis lies across the axis, so p . (n x axis) >= -r |n x axis|, now and
/// at all later times. With the like bound for B, no two points approach each other along n faster
/// than
///     speed = n . (travel_b - travel_a) + angle_a r_a |n x axis_a| + angle_b r_b |n x axis_b|
/// and the bodies stay apart for g / speed at least. Each step goes so far that a part of the
/// tolerance is left; it ends when g is within the tolerance, or when time 1 is reached. Roundings
/// of g and of poses are a part in 1e12 of the sizes; g is made smaller by more.
///
/// A triangle whose corners move on straight lines stands for A likewise: each of its points is a
/// mean of the corners with weights that stay, so along n it approaches no faster than the fastest
/// corner, at a speed that stays.
///
/// A plane has no reach, so it takes a bound of its own. Let its frame be at o with the normal u,
/// and x be a point of the body. The height u . (x - o) changes by u' . (x - o) + u . (x' - o').
/// Here |u'| = angle_p |axis_p x u| = tilt at all times, for u turns about the axis; |x - o| is at
/// most r + far, with far the greater distance of the two places at time 0 and 1; and u differs
/// from its present value by at most tilt. So the height falls no faster than
///     -u . (travel_a - travel_p) + tilt |travel_a - travel_p|
///         + angle_a r min(1, |u x axis_a| + tilt) + tilt (r + far)
///
/// A part of a body moves with the body: p counts from the body's origin, so r grows by the lever,
/// the distance of the part's origin from there. Of a plane that is a part, o is the body's origin
/// too: u . (x - o) differs from the height by a constant.

/// Where these steps have not led to an end, further ones take the longer of two proved bounds: the
/// one above, and the one of geom/guard.h along n, which sees how each point turns now. Bodies that
/// leave each other slowly, or roll, need it.

#include "geom/time_of_impact.h"
#include "geom/guard.h"
#include "math/trig.h"

enum { MOST_STEPS = 400, MOST_SLOW_STEPS = 400 };

// Of the sizes: roundings of a separation and of the poses (cr_sincos is good to 1e-11).
static const double ROUNDING = 1e-10;
// Of the distance of two places: roundings of a height over a plane that does not turn.
static const double PLACE_ROUNDING = 0x1p-48;

cr_motion cr_motion_between(const carom_pose *begin, const carom_pose *end)
{
	const carom_quat q = begin->orientation, back = { -q.x, -q.y, -q.z, q.w };
	carom_quat turn = quat_mul(end->orientation, back);
	if (turn.w < 0)
		turn = (carom_quat){ -turn.x, -turn.y, -turn.z, -turn.w };
	const v3d part = { turn.x, turn.y, turn.z };
	const double sine = v3d_length(part);
	cr_motion m = { .begin = *begin, .travel = v3d_sub(end->position, begin->position), .axis = { 0, 0, 1 } };
	if (sine > 0) {
		m.axis = v3d_scale(part, 1 / sine);
		// For small angles the sine tells more than the cosine, whose arc loses half of the digits
		// there.
		m.angle = sine < 1e-4 ? 2 * sine * (1 + sine * sine / 6) : 2 * cr_acos(turn.w);
	}
	return m;
}

static carom_pose place_part(const cr_motion *m, const carom_pose *body)
{
	return (carom_pose){ v3d_add(carom_rotate(body->orientation, m->local.position), body->position),
		quat_mul(body->orientation, m->local.orientation) };
}

cr_motion cr_motion_of_part(const cr_motion *body, const carom_pose *local)
{
	cr_motion m = *body;
	m.is_part = true;
	m.local = *local;
	m.lever = v3d_length(local->position);
	return m;
}

carom_pose cr_motion_start(const cr_motion *m) { return m->is_part ? place_part(m, &m->begin) : m->begin; }

carom_pose cr_motion_at(const cr_motion *m, double t)
{
	double sine = 0, cosine = 1;
	if (m->angle > 0)
		cr_sincos(0.5 * m->angle * t, &sine, &cosine);
	const carom_quat turn = { sine * m->axis.x, sine * m->axis.y, sine * m->axis.z, cosine };
	const carom_quat q = quat_mul(turn, m->begin.orientation);
	const double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	const carom_pose pose = { v3d_mad(m->begin.position, t, m->travel),
		{ q.x / length, q.y / length, q.z / length, q.w / length } };
	return m->is_part ? place_part(m, &pose) : pose;
}

double cr_convex_reach(const cr_convex *c) { return v3d_length(cr_convex_centre(c)) + cr_convex_size(c) + c->rounding; }

double cr_motion_rounding(double reach_a, double reach_b, double apart) { return ROUNDING * (reach_a + reach_b + apart); }

/// Bring the place of a body to another time, with the bits of cr_motion_place_at. A body that does
/// not turn keeps its rotation.
static void move_to(const cr_motion *m, double t, cr_motion_place *p)
{
	if (m->angle == 0 && !m->is_part) {
		p->time = t;
		p->pose.position = v3d_mad(m->begin.position, t, m->travel);
	} else {
		*p = cr_motion_place_at(m, t);
	}
}

void cr_placed_separation(const cr_convex *a, const cr_motion_place *pa, const cr_convex *b, const cr_motion_place *pb,
	const m3d *b_to_a, double enough, cr_separation *s)
{
	const m3d *ra = &pa->rotation;
	const cr_relative at = { *b_to_a, m3d_tmul(ra, v3d_sub(pb->pose.position, pa->pose.position)) };
	cr_convex_separation_to(a, b, &at, enough, s);
	s->normal = m3d_mul(ra, s->normal);
	s->on_a = m3d_mul(ra, s->on_a);
	s->on_b = m3d_mul(ra, s->on_b);
}

static void separate(
	const cr_convex *a, const cr_motion_place *pa, const cr_convex *b, const cr_motion_place *pb, cr_separation *s)
{
	const m3d b_to_a = m3d_transpose_mul(&pa->rotation, &pb->rotation);
	cr_placed_separation(a, pa, b, pb, &b_to_a, INFINITY, s);
}

void cr_motion_separation(
	const cr_convex *a, const cr_motion *ma, const cr_convex *b, const cr_motion *mb, double t, cr_separation *s)
{
	const cr_motion_place pa = cr_motion_place_at(ma, t), pb = cr_motion_place_at(mb, t);
	separate(a, &pa, b, &pb, s);
}

double cr_motion_approach(const cr_motion *ma, double reach_a, const cr_motion *mb, double reach_b, v3d n)
{
	const double turning_a = ma->angle * (reach_a + ma->lever) * v3d_length(v3d_cross(n, ma->axis));
	const double turning_b = mb->angle * (reach_b + mb->lever) * v3d_length(v3d_cross(n, mb->axis));
	return v3d_dot(n, v3d_sub(mb->travel, ma->travel)) + turning_a + turning_b;
}

/// Go on from a time at which the bodies are this far apart. until: up to there they are known to
/// stay apart. Returns false when the search has ended, with the state set.
static bool advance(cr_impact *impact, double gap, double speed, double until, double tolerance, double limit)
{
	if (!(gap > tolerance)) {
		impact->state = impact->time > 0 ? CR_IMPACT_FOUND : CR_IMPACT_TOUCHING;
		return false;
	}
	// Half of the tolerance is left, so that the next gap is above zero and a direction can be
	// told.
	const double step = (gap - 0.5 * tolerance) / speed;
	if (!(speed > 0) || !(impact->time + step < limit) || !(until < limit)) {
		impact->state = CR_IMPACT_NONE;
		impact->time = 1;
		return false;
	}
	impact->time = fmax(impact->time + step, until);
	return true;
}

/// How long two bodies stay apart by more than half of the tolerance, by the proof of guards: along
/// the normal of their separation. Does nothing while few steps have been taken.
static double apart_until(const cr_impact *impact, cr_guarded a, cr_guarded b, double tolerance, int patience, double limit)
{
	if (impact->steps <= patience)
		return impact->time;
	const bool of_b = b.is_plane || b.motion->angle <= a.motion->angle;
	const v3d local = cr_guard_local(of_b ? b.motion : a.motion, impact->separation.normal, impact->time);
	const cr_guard guard = { local, of_b, 0.5 * tolerance };
	a.is_round = cr_convex_is_round(a.convex);
	b.is_round = b.convex && cr_convex_is_round(b.convex);
	return cr_guard_until(&a, &b, &guard, impact->time, limit);
}

/// patience: steps before guards are looked at, up to the time until.
static void find_between(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, double from, double limit, int patience, double until, cr_impact *impact)
{
	const double reach_a = cr_convex_reach(a), reach_b = cr_convex_reach(b);
	*impact = (cr_impact){ .state = CR_IMPACT_UNDECIDED, .time = from };
	cr_motion_place pa = cr_motion_place_at(motion_a, from), pb = cr_motion_place_at(motion_b, from);
	const cr_guarded ga = cr_guard_convex(motion_a, a), gb = cr_guard_convex(motion_b, b);
	for (bool on = true; on && impact->steps < MOST_STEPS + MOST_SLOW_STEPS;) {
		const double t = impact->separation_time = impact->time;
		cr_separation *s = &impact->separation;
		move_to(motion_a, t, &pa);
		move_to(motion_b, t, &pb);
		separate(a, &pa, b, &pb, s);
		impact->steps++;
		const double apart = v3d_length(v3d_sub(pa.pose.position, pb.pose.position));
		const double gap = s->gap - cr_motion_rounding(reach_a + motion_a->lever, reach_b + motion_b->lever, apart);
		const double speed = cr_motion_approach(motion_a, reach_a, motion_b, reach_b, s->normal);
		on = advance(impact, gap, speed, apart_until(impact, ga, gb, tolerance, patience, until), tolerance, limit);
	}
}

void cr_find_impact_between(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, double from, double limit, cr_impact *impact)
{
	find_between(a, motion_a, b, motion_b, tolerance, from, limit, MOST_STEPS, 1, impact);
}

void cr_find_impact_guarded(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, double from, double limit, cr_impact *impact)
{
	find_between(a, motion_a, b, motion_b, tolerance, from, limit, 0, limit, impact);
}

void cr_find_impact(const cr_convex *a, const cr_motion *motion_a, const cr_convex *b, const cr_motion *motion_b,
	double tolerance, cr_impact *impact)
{
	cr_find_impact_between(a, motion_a, b, motion_b, tolerance, 0, 1, impact);
}

// ---- Triangles ----

void cr_triangle_at(const cr_moving_triangle *triangle, double t, v3d corners[3])
{
	for (int k = 0; k < 3; k++)
		corners[k] = v3d_mad(triangle->begin[k], t, triangle->travel[k]);
}

/// The separation of a triangle and a convex body at a time, with the triangle as a convex body
/// about its first corner. Returns a bound for the loss by roundings.
static double separate_triangle(const cr_moving_triangle *a, const cr_convex *b, const cr_motion *mb, double t, cr_separation *s)
{
	cr_convex triangle = { .core = CR_CORE_TRIANGLE };
	cr_triangle_at(a, t, triangle.corner);
	const v3d place = triangle.corner[0];
	double reach = 0, way = 0;
	for (int k = 0; k < 3; k++) {
		triangle.corner[k] = v3d_sub(triangle.corner[k], place);
		reach = fmax(reach, v3d_length(triangle.corner[k]));
		way = fmax(way, v3d_length(a->travel[k]));
	}
	const carom_pose pose = cr_motion_at(mb, t);
	const cr_relative at = { m3d_from_quat(pose.orientation), v3d_sub(pose.position, place) };
	cr_convex_separation(&triangle, b, &at, s);
	return cr_motion_rounding(reach, cr_convex_reach(b) + mb->lever, v3d_length(at.position) + way);
}

/// How fast any two points of a triangle and a body may approach each other along n.
static double triangle_approach(const cr_moving_triangle *a, const cr_convex *b, const cr_motion *mb, v3d n)
{
	double fastest = -INFINITY;
	for (int k = 0; k < 3; k++)
		fastest = fmax(fastest, -v3d_dot(n, a->travel[k]));
	const double turning = mb->angle * (cr_convex_reach(b) + mb->lever) * v3d_length(v3d_cross(n, mb->axis));
	return fastest + v3d_dot(n, mb->travel) + turning;
}

void cr_find_triangle_impact(
	const cr_moving_triangle *a, const cr_convex *b, const cr_motion *mb, double tolerance, cr_impact *impact)
{
	*impact = (cr_impact){ .state = CR_IMPACT_UNDECIDED };
	for (bool on = true; on && impact->steps < MOST_STEPS;) {
		cr_separation *s = &impact->separation;
		impact->separation_time = impact->time;
		const double lost = separate_triangle(a, b, mb, impact->time, s);
		impact->steps++;
		on = advance(impact, s->gap - lost, triangle_approach(a, b, mb, s->normal), 0, tolerance, 1);
	}
}

// ---- Planes ----

static double least(double a, double b) { return a < b ? a : b; }

cr_plane_bounds cr_bound_over_plane(const cr_motion *motion, double part_reach, const cr_motion *plane, v3d up, double height)
{
	const double reach = part_reach + motion->lever;
	// The places move on straight lines, so they are farthest from each other at an end.
	const v3d begin = v3d_sub(motion->begin.position, plane->begin.position), way = v3d_sub(motion->travel, plane->travel);
	const double far = fmax(v3d_length(begin), v3d_length(v3d_add(begin, way)));
	const double across = plane->angle > 0 ? v3d_length(v3d_cross(plane->axis, up)) : 0, tilt = plane->angle * across;
	const double turning = least(1, v3d_length(v3d_cross(up, motion->axis)) + tilt);
	return (cr_plane_bounds){
		.speed = -v3d_dot(up, way) + least(tilt, 2) * v3d_length(way) + motion->angle * reach * turning + tilt * (reach + far),
		.lost = cr_motion_rounding(reach, across * (far + plane->lever), fabs(height)) + PLACE_ROUNDING * (far + plane->lever),
	};
}

static v3d plane_up(const carom_pose *plane) { return carom_rotate(plane->orientation, (v3d){ 0, 0, 1 }); }

void cr_plane_separation(const cr_convex *a, const cr_motion *ma, const cr_motion *plane, double t, cr_separation *s)
{
	const carom_pose pa = cr_motion_at(ma, t), pp = cr_motion_at(plane, t);
	const m3d rotation = m3d_from_quat(pa.orientation);
	const v3d up = plane_up(&pp);
	const v3d lowest = m3d_mul(&rotation, cr_convex_support(a, v3d_neg(m3d_tmul(&rotation, up))));
	*s = (cr_separation){ .normal = up, .on_a = v3d_mad(lowest, -a->rounding, up), .converged = true };
	s->gap = v3d_dot(up, v3d_add(s->on_a, v3d_sub(pa.position, pp.position)));
	s->on_b = v3d_mad(s->on_a, -s->gap, up);
}

void cr_find_plane_impact(const cr_convex *a, const cr_motion *ma, const cr_motion *plane, double tolerance, double from,
	double limit, cr_impact *impact)
{
	const double reach = cr_convex_reach(a);
	*impact = (cr_impact){ .state = CR_IMPACT_UNDECIDED, .time = from };
	const cr_guarded body = cr_guard_convex(ma, a), ground = { .motion = plane, .is_plane = true };
	for (bool on = true; on && impact->steps < MOST_STEPS + MOST_SLOW_STEPS;) {
		cr_separation *s = &impact->separation;
		impact->separation_time = impact->time;
		cr_plane_separation(a, ma, plane, impact->time, s);
		impact->steps++;
		const cr_plane_bounds bounds = cr_bound_over_plane(ma, reach, plane, s->normal, s->gap);
		const double until = apart_until(impact, body, ground, tolerance, MOST_STEPS, 1);
		on = advance(impact, s->gap - bounds.lost, bounds.speed, until, tolerance, limit);
	}
}
