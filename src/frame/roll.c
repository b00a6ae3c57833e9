/// Contacts of bodies that roll.
///
/// A wheel that rolls has a contact that stays with neither body. It leaves the triangle or part
/// that named it, and lies too far from its old place on both bodies to be found by that. But it
/// goes where the middle of the wheel goes: on a flat ground by exactly as much. So, seen from the
/// ground, an old contact is expected at its place plus the motion of the middle. A new one goes on
/// with it
/// - within distance of there, and a twentieth of how far it lies from the middle, and as much more
///   as a change of the normal moves it (it is as far from the middle as before, in another
///   direction), or a turn of the wheel about the normal;
/// - if the normals differ by 45 degrees at most, so that a wall has none of the floor's contacts.
///
/// Whether the wheel turns about its axis, or slides, does not matter. Each of the two bodies may
/// be the wheel, if its surface is round and it has not moved by more than JUMP of its own radii:
/// then it was put there. A body that the caller let begin the step elsewhere moved from there.
///
/// The nearest two go first, so the order of contacts counts only among those that are as near.

#include "frame/roll.h"

// Of the radius of the wheel: a body that moves farther does not roll.
static const double JUMP = 8;
// Cosine of the most that a normal turns.
static const double SAME_SIDE = 0.7;
// Of the distance from the middle: places of contacts are known so well.
static const double BLUR = 0.05;

/// The motion of the wheel, seen from the ground.
typedef struct course {
	m3d ground[2], wheel[2]; // rotations of the ground, then and now; of the wheel in its frame
	v3d origin[2];           // of the ground, world
	v3d middle[2];           // of the wheel, in the frame of the ground
	v3d motion;              // of the middle
	v3d turn;                // of the wheel: its axis, as long as the sine of the angle
} course;

double cr_radius_of(const cr_body *body) { return v3d_length(cr_local_box_of(body).half); }

bool cr_may_roll(const cr_body *a, const cr_body *b)
{
	return cr_is_rigid(a) && cr_is_rigid(b) && (cr_is_round(a) || cr_is_round(b));
}

/// The axis of the turn from one rotation to another one, as long as the sine of its angle.
static v3d turn_of(const m3d *from, const m3d *to)
{
	const v3d *f = from->row, *t = to->row;
	return v3d_scale((v3d){ v3d_dot(t[2], f[1]) - v3d_dot(t[1], f[2]), v3d_dot(t[0], f[2]) - v3d_dot(t[2], f[0]),
						 v3d_dot(t[1], f[0]) - v3d_dot(t[0], f[1]) },
		0.5);
}

/// Follow a wheel. false: it did not roll.
static bool follow(const cr_body *wheel, const cr_body *ground, course *c)
{
	const cr_local_box box = cr_local_box_of(wheel);
	const carom_pose *begin = cr_begin_of(wheel), *ends[2] = { cr_last_pose(ground), &ground->pose };
	const carom_pose *from[2] = { begin, &wheel->pose };
	for (int i = 0; i < 2; i++) {
		c->ground[i] = m3d_from_quat(ends[i]->orientation);
		c->origin[i] = ends[i]->position;
		v3d place;
		cr_relative_pose(ends[i], from[i], &c->wheel[i], &place);
		c->middle[i] = v3d_add(m3d_mul(&c->wheel[i], box.centre), place);
	}
	c->motion = v3d_sub(c->middle[1], c->middle[0]);
	c->turn = turn_of(&c->wheel[0], &c->wheel[1]);
	return v3d_length(c->motion) <= JUMP * cr_radius_of(wheel);
}

/// How far a new contact lies from where an old one is expected, if it may go on with it; else
/// INFINITY.
static double miss_of(const cr_rolling *r, const course *c, const cr_rolled *then, const carom_contact *now)
{
	const v3d n[2] = { m3d_tmul(&c->ground[0], v3d_from_floats(then->contact->normal)),
		m3d_tmul(&c->ground[1], v3d_from_floats(now->normal)) };
	if (v3d_dot(n[0], n[1]) < SAME_SIDE)
		return INFINITY;
	const v3d was = m3d_tmul(&c->ground[0], v3d_sub(then->point, c->origin[0])),
			  is = m3d_tmul(&c->ground[1], v3d_sub(v3d_from_doubles(now->point), c->origin[1]));
	const double miss = v3d_length(v3d_sub(is, v3d_add(was, c->motion)));
	const double turned = v3d_length(v3d_sub(n[1], n[0])) + fabs(v3d_dot(c->turn, n[0]));
	const double radius = fmin(v3d_length(v3d_sub(was, c->middle[0])), r->size);
	return miss <= r->distance + radius * (BLUR + turned) ? miss : INFINITY;
}

/// Of each new contact and each old one (miss_of); INFINITY: one of them is not free.
typedef double misses[CR_MOST_ROLLING][CR_MOST_ROLLING];

static void measure_misses(const cr_rolling *r, const course *c, misses miss)
{
	for (int32_t i = 0; i < r->now_count; i++) {
		for (int32_t k = 0; k < r->then_count; k++)
			miss[i][k] = r->now[i]->age > 0 || r->then[k].used ? INFINITY : miss_of(r, c, &r->then[k], r->now[i]);
	}
}

/// Let the nearest two go on that are left. false: none are.
static bool match_nearest(const cr_rolling *r, misses miss)
{
	double least = INFINITY;
	cr_rolled *then = NULL;
	carom_contact *now = NULL;
	for (int32_t i = 0; i < r->now_count; i++) {
		for (int32_t k = 0; k < r->then_count && r->now[i]->age == 0; k++) {
			if (r->then[k].used || !(miss[i][k] < least))
				continue;
			least = miss[i][k];
			then = &r->then[k];
			now = r->now[i];
		}
	}
	if (!then)
		return false;
	cr_carry_over(now, then->contact);
	then->used = true;
	return true;
}

void cr_match_rolling(const cr_rolling *r)
{
	if (r->then_count == 0 || r->now_count == 0)
		return;
	for (int side = 1; side >= 0; side--) {
		course c;
		misses miss;
		if (!r->wheels[side] || !cr_is_round(r->bodies[side]) || !follow(r->bodies[side], r->bodies[1 - side], &c))
			continue;
		measure_misses(r, &c, miss);
		while (match_nearest(r, miss)) {
		}
	}
}
