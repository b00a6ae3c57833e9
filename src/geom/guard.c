/// How long a body keeps to its side of another along a direction.
///
/// Let the direction m be fixed in the frame of the body P, whose origin is o, and lead from P to
/// the other body Q. All points of P lie at heights over o along m that never change; top is the
/// highest. A point of Q at q from Q's origin has the height
///     h = m . r,  r = o_Q - o + R_Q q.
/// m turns with P: m' = w_P x m, of the constant length tilt, and |m''| <= |w_P| tilt. r' = travel
/// + w_Q x R_Q q, with the constant travel of Q seen from P. r'' = w_Q x (w_Q x R_Q q), of which m
/// sees (m x w_Q) . (w_Q x R_Q q); m x w_Q is no longer than |w_Q|, nor than now by more than tilt
/// |w_Q|. So at all times, with |q| <= reach and |o_Q - o| <= far,
///     |h''| <= bend = |w_P| tilt (far + reach) + 2 tilt (|travel| + |w_Q| reach)
///                      + |m x w_Q| |w_Q| reach.
/// Hence h(t + s) >= h(t) + s h'(t) - s^2 bend / 2. For each point that is concave in s, so over a
/// span of time it is least at one of the two ends. At either end h + s h' is linear in q: its
/// least value over Q is that of a support point. So if
///     min over q of (h(t) + s h'(t)) - s^2 bend / 2 - top >= level
/// at s = 0 and at s = span, the gap stays at the level or above all the while, for all points. The
/// ball about a core only lowers heights by its radius, as m is a unit vector; so a body that rolls
/// on a ball about its origin has no reach. The span begins with all that is left of the motion and
/// is halved until this holds. Where neither turns bend is 0: the first try tells all.
///
/// A body of revolution about z of its frame is the same set of points however it spins about that
/// axis. Let P be at rest and the origin of Q go straight, and let a be Q's axis in the world. Q
/// covers the points that it would cover if it turned by w = w_Q - (w_Q . a) a instead: a moves as
/// before, since w x a = w_Q x a. So h may be that of points that turn by w. They have h' = m .
/// (travel + w x R q) and r'' = w' x R q + w x (w x R q). |w| = |w_Q x a| stays, for a keeps its
/// angle with w_Q, and |w'| = |(w_Q . a) a'| = |w_Q . a| |w|. Hence
///     bend = |w| (|w| + |w_Q . a|) reach
/// holds too, and the lesser one counts. A cylinder that rolls has w = 0.
///
/// With first bounds alone (head of time_of_impact.c) a body that turns while it rests on another
/// takes a step for each level that any of its points might lose; with second ones their number is
/// the root of that.

#include "geom/guard.h"

enum { HALVINGS = 12 };

static const double SHORT = 0x1p-10; // of the motion, to take a rate over

cr_guarded cr_guard_convex(const cr_motion *motion, const cr_convex *convex)
{
	return (cr_guarded){
		.motion = motion, .convex = convex, .reach = v3d_length(cr_convex_centre(convex)) + cr_convex_size(convex)
	};
}

v3d cr_guard_local(const cr_motion *motion, v3d normal, double t)
{
	const m3d rotation = m3d_from_quat(cr_motion_at(motion, t).orientation);
	return m3d_tmul(&rotation, normal);
}

v3d cr_guard_normal(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t)
{
	return carom_rotate(cr_guarded_orientation(guard->of_b ? b : a, t), guard->local);
}

/// The largest value of a linear function over the points of a body, without its rounding.
/// direction: its frame.
static double highest(const cr_guarded *g, v3d direction)
{
	if (g->is_plane)
		return 0;
	if (g->convex)
		return v3d_dot(direction, cr_convex_support(g->convex, direction));
	return v3d_dot(direction, g->centre) + fabs(direction.x) * g->extent.x + fabs(direction.y) * g->extent.y +
		fabs(direction.z) * g->extent.z;
}

static double rounding_of(const cr_guarded *g) { return g->convex ? g->convex->rounding : 0; }

static v3d origin_at(const cr_motion *m, double t) { return v3d_mad(m->begin.position, t, m->travel); }

/// Q over P at a time: heights of its points and their rates are linear.
typedef struct rise {
	const cr_guarded *q;
	const m3d *rotation; // of Q's frame
	v3d m, rate;         // the linear part of h and of h', world
	double h, h_rate;    // of the origin of Q's frame
	double bend;
	double lost;   // top, roundings of bodies and of numbers
	bool straight; // neither turns: rate and bend are 0
	double below;  // of the lowest point, along m
} rise;

static double bound_bend(const cr_motion *p, const cr_motion *q, double tilt, double roll, double reach)
{
	const v3d begin = v3d_sub(q->begin.position, p->begin.position), travel = v3d_sub(q->travel, p->travel);
	const double far = fmax(v3d_length(begin), v3d_length(v3d_add(begin, travel)));
	const double most = roll + tilt * q->angle, across = most < q->angle ? most : q->angle;
	return p->angle * tilt * (far + reach) + 2 * tilt * (v3d_length(travel) + q->angle * reach) + across * q->angle * reach;
}

/// Lets a body of revolution turn without its spin where that bends its way less. P is at rest.
static void leave_out_spin(const cr_motion *q, double reach, rise *r)
{
	const v3d w = v3d_scale(q->axis, q->angle);
	const v3d a = { r->rotation->row[0].z, r->rotation->row[1].z, r->rotation->row[2].z };
	const double spin = v3d_dot(w, a);
	const v3d rest = v3d_mad(w, -spin, a);
	const double turn = v3d_length(rest), bend = turn * (turn + fabs(spin)) * reach;
	if (!(bend < r->bend))
		return;
	r->bend = bend;
	r->rate = v3d_cross(r->m, rest);
}

static void set_turning(const cr_guarded *p, const cr_guarded *q, v3d at, v3d off, double reach, rise *r)
{
	const cr_motion *mp = p->motion, *mq = q->motion;
	const v3d turn = v3d_cross(v3d_scale(mp->axis, mp->angle), r->m), roll = v3d_cross(r->m, v3d_scale(mq->axis, mq->angle));
	r->rate = v3d_add(turn, roll);
	r->h_rate = v3d_dot(turn, at) + v3d_dot(r->m, v3d_sub(mq->travel, mp->travel)) + v3d_dot(roll, off);
	r->bend = bound_bend(mp, mq, v3d_length(turn), v3d_length(roll), reach);
	if (q->is_round && mp->angle == 0 && !mq->is_part)
		leave_out_spin(mq, reach, r);
}

static rise make_rise(
	const cr_guarded *p, const cr_guarded *q, const cr_motion_place *pp, const cr_motion_place *pq, v3d m, double t)
{
	const cr_motion *mp = p->motion, *mq = q->motion;
	const v3d origin = origin_at(mp, t), at = v3d_sub(pq->pose.position, origin);
	const double reach = q->reach + mq->lever, apart = v3d_length(at);
	const double top = v3d_dot(m, v3d_sub(pp->pose.position, origin)) + highest(p, m3d_tmul(&pp->rotation, m)) + rounding_of(p);
	rise r = { .q = q, .rotation = &pq->rotation, .m = m, .h = v3d_dot(m, at), .straight = mp->angle == 0 && mq->angle == 0 };
	r.lost = top + rounding_of(q) + cr_motion_rounding(p->is_plane ? 0 : p->reach + mp->lever, reach, apart);
	if (r.straight)
		r.h_rate = v3d_dot(m, v3d_sub(mq->travel, mp->travel));
	else
		set_turning(p, q, at, v3d_sub(pq->pose.position, origin_at(mq, t)), reach, &r);
	r.below = highest(q, m3d_tmul(r.rotation, v3d_neg(m)));
	return r;
}

/// How high all points of Q are over those of P a span later, at least.
static double least_height(const rise *r, double span)
{
	double below = r->below;
	if (span > 0 && !r->straight)
		below = highest(r->q, m3d_tmul(r->rotation, v3d_neg(v3d_mad(r->m, span, r->rate))));
	return r->h + span * r->h_rate - below - 0.5 * span * span * r->bend - r->lost;
}

/// Where the two bodies are.
typedef struct both_places {
	cr_motion_place room[2];
	const cr_motion_place *at[2];
} both_places;

static void place_both(const cr_guarded *a, const cr_guarded *b, double t, both_places *places)
{
	for (int i = 0; i < 2; i++) {
		const cr_guarded *g = i ? b : a;
		if (g->places) {
			places->at[i] = cr_look_at_place(g->places, t);
		} else {
			places->room[i] = cr_motion_place_at(g->motion, t);
			places->at[i] = &places->room[i];
		}
	}
}

/// places lasts as long as the result.
static rise rise_of(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t, both_places *places)
{
	place_both(a, b, t, places);
	const cr_motion_place *const *at = places->at;
	const v3d normal = carom_rotate(at[guard->of_b]->pose.orientation, guard->local);
	return guard->of_b ? make_rise(b, a, at[1], at[0], normal, t) : make_rise(a, b, at[0], at[1], v3d_neg(normal), t);
}

double cr_guard_gap(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t)
{
	both_places places;
	const rise r = rise_of(a, b, guard, t, &places);
	return least_height(&r, 0);
}

double cr_guard_gap_rate(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t, double *rate)
{
	both_places places;
	rise r = rise_of(a, b, guard, t, &places);
	r.bend = 0;
	const double gap = least_height(&r, 0);
	*rate = (least_height(&r, SHORT) - gap) / SHORT;
	return gap;
}

double cr_guard_rate(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t)
{
	double rate;
	cr_guard_gap_rate(a, b, guard, t, &rate);
	return rate;
}

double cr_guard_until(const cr_guarded *a, const cr_guarded *b, const cr_guard *guard, double t, double limit)
{
	both_places places;
	const rise r = rise_of(a, b, guard, t, &places);
	if (!(least_height(&r, 0) >= guard->level))
		return t;
	double span = limit - t;
	for (int i = 0; i < HALVINGS; i++, span *= 0.5) {
		if (least_height(&r, span) >= guard->level)
			return i == 0 ? limit : t + span;
	}
	return t;
}
