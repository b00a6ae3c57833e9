/// Where a mover stops that may begin in touch: a character on a floor that walks along a wall.
///
/// touching.c tells the next impact, whether A and B touch or not, and proves that the way until
/// then is clear. Where they overlap too deeply for that, or one is inside the other, only the way
/// out is known: a motion that leads along it at the beginning, or across it, is not held.

#include "bvh/mover_walk.h"

// Of the way: an approach that is less is one of roundings, for a way out is good to a millionth.
static const double ACROSS = 1e-6;

/// The velocity of a point that moves with a body. point: from the position of A, world.
static v3d velocity_at(const cr_motion *m, v3d point, v3d place, double t)
{
	const v3d origin = v3d_mad(m->begin.position, t, m->travel);
	return v3d_mad(m->travel, m->angle, v3d_cross(m->axis, v3d_sub(v3d_add(point, place), origin)));
}

double cr_impact_rate(const cr_mover *a, const cr_mover *b, const cr_impact *impact)
{
	const cr_separation *s = &impact->separation;
	const double t = impact->separation_time;
	const v3d place = cr_motion_at(&a->motion, t).position;
	return v3d_dot(s->normal, v3d_sub(velocity_at(&a->motion, s->on_a, place, t), velocity_at(&b->motion, s->on_b, place, t)));
}

/// How far any two points of two bodies move past each other at most.
static double way_of(const cr_mover *a, const cr_mover *b)
{
	double way = v3d_length(v3d_sub(a->motion.travel, b->motion.travel));
	for (int i = 0; i < 2; i++) {
		const cr_mover *m = i ? b : a;
		way += m->motion.angle > 0 && !cr_is_plane(m) ? m->motion.angle * (cr_mover_bounds(m).reach + m->motion.lever) : 0;
	}
	return way;
}

void cr_find_stop(const cr_bvh_kernels *kernels, cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b,
	double tolerance, double limit, cr_mover_impact *impact)
{
	*impact = cr_no_impact();
	if (cr_is_empty(a) || cr_is_empty(b))
		return;
	if (!cr_find_inside(kernels, a, b, impact)) {
		cr_find_later_impact(scratch, a, b, tolerance, limit, NULL, impact);
		if (!impact->deep) {
			if (impact->impact.state == CR_IMPACT_TOUCHING)
				*impact = cr_no_impact();
			return;
		}
	}
	if (cr_impact_rate(a, b, &impact->impact) >= -ACROSS * way_of(a, b))
		*impact = cr_no_impact();
}
