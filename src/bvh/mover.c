/// Conservative advancement over pairs of parts of two bodies. A part is a convex body, a mesh, a
/// box of its tree, or a triangle.
///
/// Each pair of parts has a time before which nothing in them meets. It begins at 0 for the two
/// bodies, and is handed down: a time of two boxes is one of all that they hold. From there it
/// is advanced. Let a plane with the unit normal n part the two boxes by a gap at time t. No points
/// of theirs approach each other along n faster than cr_motion_approach says (its proof is at the
/// head of geom/time_of_impact.c, and holds for any set of points within reach of the body's
/// origin). So nothing in them meets before t + gap / speed, for each n that is tried. Two
/// triangles, or a triangle and a convex body, take cr_find_impact_between from their time on. The
/// least of their times is the impact: a pair of boxes is dropped only when its time is not less
/// than that. So none is missed, however the tree is walked, and the time is never late because it
/// is a time of cr_find_impact_between.
///
/// A plane is one part, and the only normal that is tried with it is its own (cr_bound_over_plane).
///
/// Half of the tolerance is left of each gap, so parts that begin at a handed-down time are still
/// apart there. Parts within the tolerance at time 0 touch: no time is handed down to them, for
/// their gap then tells. Cost: O(log n) pairs of boxes where the surfaces come near each other in
/// one place.

#include "bvh/mover_spans.h"
#include "geom/convex_query.h"

// Of a time: more than its roundings.
static const double CERTAINLY = 1 - 1e-12;

enum {
	ADVANCES = 3, // of two boxes before they are opened
	AXES = 7,
	// in the whole motion, before a search goes on span by span: most take some thousands
	FEW_LOOKS = 1 << 17,
};

// ---- Parts ----

static double lesser(double a, double b) { return a < b ? a : b; }
static double greater(double a, double b) { return a > b ? a : b; }

static cr_mover_box make_box(const double lower[3], const double upper[3], bool with_reach)
{
	double centre[3], extent[3], far[3];
	for (int k = 0; k < 3; k++) {
		centre[k] = 0.5 * (lower[k] + upper[k]);
		extent[k] = 0.5 * (upper[k] - lower[k]);
		far[k] = greater(fabs(lower[k]), fabs(upper[k]));
	}
	return (cr_mover_box){ { centre[0], centre[1], centre[2] }, { extent[0], extent[1], extent[2] },
		with_reach ? v3d_length((v3d){ far[0], far[1], far[2] }) : 0 };
}

/// Grow the box of a part by the ball that is added to its mesh.
static void pad_box(const cr_mover *m, cr_mover_box *box)
{
	const double more = m->padding;
	if (!(more > 0))
		return;
	box->extent = v3d_add(box->extent, (v3d){ more, more, more });
	box->reach += more;
}

cr_mover_box cr_mover_bounds(const cr_mover *m)
{
	const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	double lower[3] = { 0, 0, 0 }, upper[3] = { 0, 0, 0 };
	for (int k = 0; k < 3 && m->collider; k++) {
		lower[k] = m->collider->lower[k];
		upper[k] = m->collider->upper[k];
	}
	if (m->convex)
		cr_convex_bounds(m->convex, &identity, lower, upper);
	cr_mover_box box = make_box(lower, upper, true);
	if (m->convex)
		box.reach = fmin(box.reach, cr_convex_reach(m->convex));
	pad_box(m, &box);
	return box;
}

static cr_mover_box triangle_box(const v3d p[3], bool with_reach)
{
	double lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		const double a = v3d_get(p[0], k), b = v3d_get(p[1], k), c = v3d_get(p[2], k);
		lower[k] = lesser(a, lesser(b, c));
		upper[k] = greater(a, greater(b, c));
	}
	return make_box(lower, upper, with_reach);
}

cr_mover_box cr_part_box(const cr_descent *d, int side, uint32_t part)
{
	const cr_collider *c = d->mover[side]->collider;
	if (part == CR_PART_WHOLE)
		return d->whole[side];
	if (cr_is_triangle_part(part)) {
		v3d corners[3];
		cr_collider_triangle(c, cr_triangle_of_part(part), corners);
		cr_mover_box box = triangle_box(corners, !d->by_gap);
		pad_box(d->mover[side], &box);
		return box;
	}
	const cr_node8 *node = &c->tree.nodes[part / CR_WIDTH];
	double lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		lower[k] = node->lower[k][part % CR_WIDTH];
		upper[k] = node->upper[k][part % CR_WIDTH];
	}
	cr_mover_box box = make_box(lower, upper, !d->by_gap);
	pad_box(d->mover[side], &box);
	return box;
}

cr_convex cr_part_convex(const cr_mover *m, uint32_t part)
{
	if (m->convex)
		return *m->convex;
	cr_convex triangle = { .core = CR_CORE_TRIANGLE, .rounding = m->padding };
	if (m->collider)
		cr_collider_triangle(m->collider, cr_triangle_of_part(part), triangle.corner);
	return triangle;
}

// ---- Two bodies, or a body and a plane ----

/// Turn a separation the other way about: A becomes B. apart: from the place of the new A to that
/// of the old one.
static void swap_sides(cr_separation *s, v3d apart)
{
	const v3d on_a = s->on_a;
	s->on_a = v3d_add(s->on_b, apart);
	s->on_b = v3d_add(on_a, apart);
	s->normal = v3d_neg(s->normal);
}

static v3d apart_at(const cr_motion *from, const cr_motion *to, double t)
{
	return v3d_sub(cr_motion_at(to, t).position, cr_motion_at(from, t).position);
}

static void find_between(const cr_mover *a, const cr_convex *ca, const cr_mover *b, const cr_convex *cb, double tolerance,
	double from, double limit, cr_impact *impact)
{
	if (cr_is_plane(b)) {
		cr_find_plane_impact(ca, &a->motion, &b->motion, tolerance, from, limit, impact);
	} else if (cr_is_plane(a)) {
		cr_find_plane_impact(cb, &b->motion, &a->motion, tolerance, from, limit, impact);
		swap_sides(&impact->separation, apart_at(&a->motion, &b->motion, impact->separation_time));
	} else {
		cr_find_impact_between(ca, &a->motion, cb, &b->motion, tolerance, from, limit, impact);
	}
}

void cr_measure_parts(
	const cr_mover *a, const cr_convex *ca, const cr_mover *b, const cr_convex *cb, double t, cr_separation *separation)
{
	if (cr_is_plane(b)) {
		cr_plane_separation(ca, &a->motion, &b->motion, t, separation);
	} else if (cr_is_plane(a)) {
		cr_plane_separation(cb, &b->motion, &a->motion, t, separation);
		swap_sides(separation, apart_at(&a->motion, &b->motion, t));
	} else {
		cr_motion_separation(ca, &a->motion, cb, &b->motion, t, separation);
	}
}

// ---- The walk ----

/// Open the larger one of two parts. Returns how many parts that one consists of.
static int open_pair(cr_descent *d, const cr_part_pair *pair)
{
	const bool single[2] = { cr_is_single_part(d->mover[0], pair->part[0]), cr_is_single_part(d->mover[1], pair->part[1]) };
	const cr_mover_box boxes[2] = { cr_part_box(d, 0, pair->part[0]), cr_part_box(d, 1, pair->part[1]) };
	const double sizes[2] = { v3d_dot(boxes[0].extent, boxes[0].extent), v3d_dot(boxes[1].extent, boxes[1].extent) };
	const int opened = single[0] || (!single[1] && sizes[1] > sizes[0]);
	uint32_t children[CR_WIDTH];
	const int count = cr_open_part(d->mover[opened]->collider, pair->part[opened], children), base = d->top;
	for (int i = 0; i < count; i++) {
		const cr_mover_box box = cr_part_box(d, opened, children[i]);
		cr_part_pair child = *pair;
		child.part[opened] = children[i];
		child.key = cr_round_down(d->bound(d, opened ? &boxes[0] : &box, opened ? &box : &boxes[1], pair->key));
		if (child.key < d->limit)
			cr_push_pair(d, base, &child);
	}
	return count;
}

bool cr_prepare_descent(cr_descent *d, cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b, cr_mover_impact *best)
{
	d->mover[0] = a;
	d->mover[1] = b;
	d->best = best;
	d->stack = scratch->stack;
	d->steps = d->top = 0;
	d->by_gap = false;
	for (int i = 0; i < 2; i++) {
		if (cr_is_empty(d->mover[i]))
			return false;
		d->whole[i] = cr_mover_bounds(d->mover[i]);
	}
	return true;
}

bool cr_descend_within(cr_descent *d)
{
	d->stack[d->top++] = (cr_part_pair){ -INFINITY, { CR_PART_WHOLE, CR_PART_WHOLE } };
	while (d->top > 0 && d->looks > 0) {
		const cr_part_pair pair = d->stack[--d->top];
		if (!(pair.key < d->limit))
			continue;
		if (cr_is_single_part(d->mover[0], pair.part[0]) && cr_is_single_part(d->mover[1], pair.part[1])) {
			const int before = d->steps;
			d->meet(d, &pair);
			d->looks -= CR_LOOKS_OF_SEPARATION * (int64_t)(d->steps - before);
		} else {
			d->looks -= open_pair(d, &pair);
		}
	}
	return d->top == 0;
}

void cr_descend(cr_descent *d)
{
	d->looks = INT64_MAX;
	cr_descend_within(d);
}

/// Two boxes in axes of the world, with A's middle seen from B's.
typedef struct placed_boxes {
	m3d rotation[2];
	v3d extent[2];
	v3d apart;
} placed_boxes;

/// A direction across which two boxes may be parted, from B to A: along an axis of either, or
/// between their middles.
static v3d axis_of(const placed_boxes *p, int axis)
{
	const m3d *m = &p->rotation[axis / 3 % 2];
	const v3d n = axis == AXES - 1
		? v3d_normalize(p->apart)
		: (v3d){ v3d_get(m->row[0], axis % 3), v3d_get(m->row[1], axis % 3), v3d_get(m->row[2], axis % 3) };
	return v3d_dot(n, p->apart) < 0 ? v3d_neg(n) : n;
}

/// How far two boxes are apart along a direction; negative where they overlap.
static double gap_along(const placed_boxes *p, v3d n)
{
	double gap = v3d_dot(n, p->apart);
	if (!(v3d_dot(n, n) > 0.5)) // the middles are in one place
		return -INFINITY;
	for (int i = 0; i < 2; i++) {
		const v3d own = m3d_tmul(&p->rotation[i], n), e = p->extent[i];
		gap -= fabs(own.x) * e.x + fabs(own.y) * e.y + fabs(own.z) * e.z;
	}
	return gap;
}

// ---- The first impact ----

/// The height of a box over a plane, and the plane's normal.
static double height_at(const cr_motion *motion, const cr_mover_box *box, const cr_motion *plane, double t, v3d *up)
{
	const carom_pose pose = cr_motion_at(motion, t), ground = cr_motion_at(plane, t);
	*up = carom_rotate(ground.orientation, (v3d){ 0, 0, 1 });
	const m3d rotation = m3d_from_quat(pose.orientation);
	const v3d own = m3d_tmul(&rotation, *up), e = box->extent;
	return v3d_dot(*up, v3d_sub(pose.position, ground.position)) + v3d_dot(own, box->centre) -
		(fabs(own.x) * e.x + fabs(own.y) * e.y + fabs(own.z) * e.z);
}

/// How long after t a box stays over a plane at least.
static double free_time_over(
	const cr_motion *motion, const cr_mover_box *box, const cr_motion *plane, double t, double tolerance)
{
	v3d up;
	const double height = height_at(motion, box, plane, t, &up);
	const cr_plane_bounds bounds = cr_bound_over_plane(motion, box->reach, plane, up, height);
	const double gap = height - bounds.lost - 0.5 * tolerance;
	return gap > 0 ? (bounds.speed > 0 ? gap / bounds.speed : (double)INFINITY) : 0;
}

/// How long after t two boxes stay apart at least.
static double free_time(
	const cr_motion *ma, const cr_mover_box *a, const cr_motion *mb, const cr_mover_box *b, double t, double tolerance)
{
	const carom_pose pa = cr_motion_at(ma, t), pb = cr_motion_at(mb, t);
	placed_boxes p = { { m3d_from_quat(pa.orientation), m3d_from_quat(pb.orientation) }, { a->extent, b->extent }, { 0, 0, 0 } };
	const v3d between = v3d_sub(pa.position, pb.position);
	p.apart = v3d_add(between, v3d_sub(m3d_mul(&p.rotation[0], a->centre), m3d_mul(&p.rotation[1], b->centre)));
	const double lost = cr_motion_rounding(a->reach + ma->lever, b->reach + mb->lever, v3d_length(between)) + 0.5 * tolerance;
	double longest = 0;
	for (int axis = 0; axis < AXES; axis++) {
		const v3d n = axis_of(&p, axis);
		const double gap = gap_along(&p, n) - lost, speed = cr_motion_approach(ma, a->reach, mb, b->reach, n);
		if (gap > 0)
			longest = speed > 0 ? fmax(longest, gap / speed) : (double)INFINITY;
	}
	return longest;
}

/// How far turning moves any point of a body at most.
static double turned_way(const cr_motion *motion, const cr_mover_box *box)
{
	return motion->angle * (box->reach + motion->lever);
}

/// Do two bodies turn by next to nothing, so that straight_time holds?
static bool are_straight(
	const cr_motion *ma, const cr_mover_box *a, const cr_motion *mb, const cr_mover_box *b, double tolerance)
{
	return turned_way(ma, a) + turned_way(mb, b) <= 0.25 * tolerance;
}

/// A time before which two bodies that turn by next to nothing stay apart, by their boxes. Along
/// each axis of either box the two overlap for one span of times. They may meet from the begin of
/// the last of these spans on, unless another one has ended by then.
static double straight_time(
	const cr_motion *ma, const cr_mover_box *a, const cr_motion *mb, const cr_mover_box *b, double tolerance)
{
	const carom_pose pa = cr_motion_start(ma), pb = cr_motion_start(mb);
	const placed_boxes p = { { m3d_from_quat(pa.orientation), m3d_from_quat(pb.orientation) }, { a->extent, b->extent },
		{ 0, 0, 0 } };
	const v3d between = v3d_sub(pa.position, pb.position), way = v3d_sub(ma->travel, mb->travel);
	const v3d apart = v3d_add(between, v3d_sub(m3d_mul(&p.rotation[0], a->centre), m3d_mul(&p.rotation[1], b->centre)));
	const double lost = cr_motion_rounding(a->reach + ma->lever, b->reach + mb->lever, v3d_length(between) + v3d_length(way)) +
		turned_way(ma, a) + turned_way(mb, b) + 0.5 * tolerance;
	double enter = 0, leave = INFINITY;
	for (int axis = 0; axis < 6; axis++) {
		const m3d *m = &p.rotation[axis / 3];
		const v3d n = { v3d_get(m->row[0], axis % 3), v3d_get(m->row[1], axis % 3), v3d_get(m->row[2], axis % 3) };
		const double reach = lost - gap_along(&p, n);
		const double at = v3d_dot(n, apart), speed = v3d_dot(n, way);
		if (speed == 0) {
			if (fabs(at) > reach)
				return INFINITY;
			continue;
		}
		const double u = (-reach - at) / speed, v = (reach - at) / speed;
		enter = fmax(enter, fmin(u, v));
		leave = fmin(leave, fmax(u, v));
	}
	return enter * CERTAINLY > leave ? (double)INFINITY : enter * CERTAINLY;
}

double cr_mover_box_time(const cr_motion *motion, const cr_mover_box *box, const carom_aabb *rest, double tolerance)
{
	const cr_motion still = { .begin = carom_pose_identity(), .axis = { 0, 0, 1 } };
	const double lower[3] = { rest->lower.x, rest->lower.y, rest->lower.z };
	const double upper[3] = { rest->upper.x, rest->upper.y, rest->upper.z };
	const cr_mover_box there = make_box(lower, upper, true);
	if (are_straight(motion, box, &still, &there, tolerance))
		return straight_time(motion, box, &still, &there, tolerance);
	double t = 0;
	for (int i = 0; i < ADVANCES && t < 1; i++) {
		const double longer = free_time(motion, box, &still, &there, t, tolerance);
		if (!(longer > 0))
			break;
		t += longer;
	}
	return t;
}

double cr_bound_time(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from)
{
	const cr_motion *ma = &d->mover[0]->motion, *mb = &d->mover[1]->motion;
	double t = fmax(from, 0);
	if (!cr_is_plane(d->mover[0]) && !cr_is_plane(d->mover[1]) && are_straight(ma, a, mb, b, d->tolerance)) {
		const double time = straight_time(ma, a, mb, b, d->tolerance);
		return time > 0 || t > 0 ? fmax(t, time) : (double)-INFINITY;
	}
	for (int i = 0; i < ADVANCES && t < 1; i++) {
		const double longer = cr_is_plane(d->mover[1]) ? free_time_over(ma, a, mb, t, d->tolerance)
			: cr_is_plane(d->mover[0])                 ? free_time_over(mb, b, ma, t, d->tolerance)
													   : free_time(ma, a, mb, b, t, d->tolerance);
		if (!(longer > 0))
			break;
		t += longer;
	}
	// Parts that may meet at time 0 are looked at whatever the limit is.
	return t > 0 ? t : (double)-INFINITY;
}

double cr_start_of(const cr_descent *d, const cr_part_pair *pair)
{
	if (!(pair->key > 0))
		return 0;
	const cr_mover_box a = cr_part_box(d, 0, pair->part[0]), b = cr_part_box(d, 1, pair->part[1]);
	return greater(cr_bound_time(d, &a, &b, 0), 0);
}

double cr_lost_gap(const cr_descent *d)
{
	const cr_motion *ma = &d->mover[0]->motion, *mb = &d->mover[1]->motion;
	v3d middle[2];
	for (int i = 0; i < 2; i++) {
		const carom_pose pose = cr_motion_start(&d->mover[i]->motion);
		middle[i] = v3d_add(carom_rotate(pose.orientation, d->whole[i].centre), pose.position);
	}
	const double apart = v3d_length(v3d_sub(middle[0], middle[1]));
	return cr_motion_rounding(d->whole[0].reach + ma->lever, d->whole[1].reach + mb->lever, apart);
}

/// The key of two boxes on their way: -INFINITY where parts in them may touch at the beginning.
static double bound_meeting(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from)
{
	const double time = cr_bound_time(d, a, b, from), *touching_gap = d->user;
	const bool touch = time > 0 && !(from > 0) && cr_bound_gap_to(d, a, b, -INFINITY, *touching_gap) <= *touching_gap;
	return touch ? (double)-INFINITY : time;
}

static void meet_on_the_way(cr_descent *d, const cr_part_pair *pair)
{
	const cr_mover *a = d->mover[0], *b = d->mover[1];
	const cr_convex ca = cr_part_convex(a, pair->part[0]), cb = cr_part_convex(b, pair->part[1]);
	const double start = cr_start_of(d, pair);
	if (!(start < d->limit)) // by their own boxes they do not meet
		return;
	cr_impact impact;
	find_between(a, &ca, b, &cb, d->tolerance, start, d->limit, &impact);
	d->steps += impact.steps;
	if (impact.state == CR_IMPACT_NONE)
		return;
	// Nothing comes before parts that touch from the first.
	d->limit = impact.state == CR_IMPACT_TOUCHING ? (double)-INFINITY : impact.time;
	d->best->impact = impact;
}

// ---- The nearest parts ----

static v3d absolute(v3d v) { return (v3d){ fabs(v.x), fabs(v.y), fabs(v.z) }; }

void cr_set_descent_time(cr_descent *d, double time)
{
	const carom_pose pa = cr_motion_at(&d->mover[0]->motion, time), pb = cr_motion_at(&d->mover[1]->motion, time);
	cr_relative_pose(&pa, &pb, &d->b_in_a.rotation, &d->b_in_a.position);
	d->time = time;
	const m3d *r = &d->b_in_a.rotation, columns = m3d_transposed(r);
	for (int k = 0; k < 3; k++) {
		d->row[k] = absolute(r->row[k]);
		d->column[k] = absolute(columns.row[k]);
		d->own[k] = absolute(m3d_tmul(r, columns.row[k]));
	}
}

/// From the middle of B's box to that of A's, in the frame of A.
static v3d boxes_apart(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b)
{
	return v3d_sub(a->centre, v3d_add(m3d_mul(&d->b_in_a.rotation, b->centre), d->b_in_a.position));
}

double cr_bound_distance(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, v3d way)
{
	const double rounding = d->mover[0]->convex ? d->mover[0]->convex->rounding : 0;
	const v3d apart = boxes_apart(d, a, b);
	double square = 0;
	for (int k = 0; k < 3; k++) {
		const double begin = v3d_get(apart, k), end = begin + v3d_get(way, k);
		const double own = v3d_get(a->extent, k) - rounding, other = v3d_dot(d->row[k], b->extent);
		const double beyond = greater(lesser(begin, end), -greater(begin, end)) - own - other;
		square += beyond > 0 ? beyond * beyond : 0;
	}
	return sqrt(square) - rounding;
}

double cr_bound_gap_to(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from, double enough)
{
	const cr_motion *ma = &d->mover[0]->motion, *mb = &d->mover[1]->motion;
	v3d up;
	if (cr_is_plane(d->mover[1]))
		return greater(from, height_at(ma, a, mb, d->time, &up));
	if (cr_is_plane(d->mover[0]))
		return greater(from, height_at(mb, b, ma, d->time, &up));
	// gap_along each axis, in the order of its sums: B's own extents along the axes of A are those
	// along a row of the rotation, and A's along those of B a column
	const v3d apart = boxes_apart(d, a, b);
	double gap = from;
	for (int k = 0; k < 3; k++)
		gap = greater(gap, fabs(v3d_get(apart, k)) - v3d_get(a->extent, k) - v3d_dot(d->row[k], b->extent));
	for (int k = 0; k < 3 && !(gap > enough); k++) {
		const m3d *r = &d->b_in_a.rotation;
		const v3d n = { v3d_get(r->row[0], k), v3d_get(r->row[1], k), v3d_get(r->row[2], k) };
		gap = greater(gap, fabs(v3d_dot(n, apart)) - v3d_dot(d->column[k], a->extent) - v3d_dot(d->own[k], b->extent));
	}
	if (gap > enough)
		return gap;
	const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const placed_boxes p = { { identity, d->b_in_a.rotation }, { a->extent, b->extent }, apart };
	return greater(gap, gap_along(&p, axis_of(&p, AXES - 1)));
}

double cr_bound_gap(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from)
{
	return cr_bound_gap_to(d, a, b, from, d->limit);
}

static void meet_at_rest(cr_descent *d, const cr_part_pair *pair)
{
	const cr_mover *a = d->mover[0], *b = d->mover[1];
	const cr_convex ca = cr_part_convex(a, pair->part[0]), cb = cr_part_convex(b, pair->part[1]);
	cr_separation s;
	cr_measure_parts(a, &ca, b, &cb, d->time, &s);
	d->steps++;
	double *nearest = d->user;
	if (!(s.gap <= *nearest) || (s.gap == *nearest && !cr_comes_first(d, pair, d->best->triangle)))
		return;
	*nearest = s.gap;
	d->limit = cr_just_above(s.gap);
	d->best->impact.separation = s;
	d->best->triangle[0] = cr_part_triangle(a, pair->part[0]);
	d->best->triangle[1] = cr_part_triangle(b, pair->part[1]);
}

bool cr_find_nearest_parts(cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b, cr_mover_impact *impact)
{
	cr_descent d;
	double nearest = INFINITY;
	if (!cr_prepare_descent(&d, scratch, a, b, impact))
		return false;
	cr_set_descent_time(&d, impact->impact.separation_time);
	d.user = &nearest;
	d.limit = INFINITY;
	d.bound = cr_bound_gap;
	d.by_gap = true;
	d.meet = meet_at_rest;
	cr_descend(&d);
	impact->impact.steps += d.steps;
	return true;
}

// ---- Bodies that begin inside ----

/// How many points of a body to look at, so that each piece has one: a mesh of many pieces has them
/// anywhere among its triangles.
static int32_t count_points(const cr_mover *m) { return m->convex || !m->many_pieces ? 1 : m->collider->triangle_count; }

/// One of these points, in the frame of the body.
static v3d point_of(const cr_mover *m, int32_t i)
{
	if (m->convex)
		return cr_convex_centre(m->convex);
	v3d corners[3];
	cr_collider_triangle(m->collider, cr_used_triangle(m->collider, i), corners);
	return corners[0];
}

/// How far a body reaches beyond a point along a unit direction of its frame, at least.
static double reach_beyond(const cr_mover *m, v3d point, v3d n)
{
	if (m->convex)
		return v3d_dot(n, v3d_sub(cr_convex_support(m->convex, n), point)) + m->convex->rounding;
	const cr_mover_box box = cr_mover_bounds(m);
	return v3d_dot(n, v3d_sub(box.centre, point)) + fabs(n.x) * box.extent.x + fabs(n.y) * box.extent.y +
		fabs(n.z) * box.extent.z;
}

/// A point of a body that is inside another one, a closed mesh.
typedef struct inner_point {
	v3d own;   // in the body's frame
	v3d place; // axes of the world, from the position of the mesh
	v3d local; // in the frame of the mesh
} inner_point;

static bool find_point_inside(const cr_bvh_kernels *kernels, const cr_mover *mesh, const m3d *rotation, const cr_mover *inner,
	const m3d *inner_rotation, v3d between, inner_point *p)
{
	const int32_t count = mesh->collider->closed ? count_points(inner) : 0;
	for (int32_t i = 0; i < count; i++) {
		p->own = point_of(inner, i);
		p->place = v3d_add(m3d_mul(inner_rotation, p->own), between);
		p->local = m3d_tmul(rotation, p->place);
		if (cr_collider_contains(mesh->collider, kernels, p->local))
			return true;
	}
	return false;
}

/// Is a piece of the one body inside the other, a closed mesh, at time 0? Then separation leads the
/// inner body out, by a point of the piece. Axes of the world, points from the position of the
/// mesh; the normal is the way of the inner one.
static bool begins_inside(
	const cr_bvh_kernels *kernels, const cr_mover *mesh, const cr_mover *inner, cr_separation *s, int32_t *triangle)
{
	const carom_pose pm = cr_motion_start(&mesh->motion), pi = cr_motion_start(&inner->motion);
	const m3d rm = m3d_from_quat(pm.orientation), ri = m3d_from_quat(pi.orientation);
	inner_point p;
	cr_surface_point nearest;
	if (!find_point_inside(kernels, mesh, &rm, inner, &ri, v3d_sub(pi.position, pm.position), &p) ||
		!cr_collider_closest_point(mesh->collider, kernels, p.local, INFINITY, &nearest))
		return false;
	const v3d way = v3d_sub(nearest.point, p.local);
	const double length = v3d_length(way);
	// On the surface, as near as floats tell, the way out is that of the surface.
	const v3d n = m3d_mul(&rm, length > 1e-6 * (double)mesh->collider->scale ? v3d_scale(way, 1 / length) : nearest.normal);
	const double beyond = reach_beyond(inner, p.own, m3d_tmul(&ri, v3d_neg(n)));
	*s = (cr_separation){ .gap = -(length + beyond + mesh->padding), .normal = n, .converged = true };
	s->on_a = v3d_mad(p.place, -beyond, n);
	s->on_b = v3d_mad(m3d_mul(&rm, nearest.point), mesh->padding, n);
	*triangle = nearest.triangle;
	return true;
}

static bool lead_out(const cr_bvh_kernels *kernels, const cr_mover *a, const cr_mover *b, cr_mover_impact *impact)
{
	cr_separation *s = &impact->impact.separation;
	const v3d between = v3d_sub(cr_motion_start(&b->motion).position, cr_motion_start(&a->motion).position);
	if (cr_is_plane(a) || cr_is_plane(b))
		return false;
	if (b->collider && begins_inside(kernels, b, a, s, &impact->triangle[1])) {
		s->on_a = v3d_add(s->on_a, between);
		s->on_b = v3d_add(s->on_b, between);
		return true;
	}
	if (!a->collider || !begins_inside(kernels, a, b, s, &impact->triangle[0]))
		return false;
	swap_sides(s, (v3d){ 0, 0, 0 });
	return true;
}

bool cr_find_inside(const cr_bvh_kernels *kernels, const cr_mover *a, const cr_mover *b, cr_mover_impact *impact)
{
	if (!lead_out(kernels, a, b, impact))
		return false;
	impact->impact.state = CR_IMPACT_TOUCHING;
	impact->impact.time = impact->impact.separation_time = 0;
	impact->inside = true;
	return true;
}

// ---- Both ----

/// The walk through the whole motion, while work is left. false: it was broken off.
static bool descend_to_impact(cr_descent *d, double tolerance, double limit, int64_t *work)
{
	double touching_gap = tolerance + 4 * cr_lost_gap(d);
	const int64_t before = *work;
	d->tolerance = tolerance;
	d->limit = limit;
	d->bound = bound_meeting;
	d->meet = meet_on_the_way;
	d->user = &touching_gap;
	d->looks = before;
	cr_set_descent_time(d, 0);
	const bool done = cr_descend_within(d);
	d->best->impact.steps = d->steps;
	*work = d->looks;
	return done;
}

/// The end of a walk that was broken off: the least time of the pairs that are left.
static void write_undecided(const cr_descent *d, cr_mover_impact *impact)
{
	double time = d->limit;
	for (int i = 0; i < d->top; i++)
		time = fmin(time, d->stack[i].key);
	*impact = cr_no_impact();
	impact->impact.state = CR_IMPACT_UNDECIDED;
	impact->impact.time = impact->impact.separation_time = fmax(time, 0);
	impact->impact.steps = d->steps;
	impact->out_of_work = true;
}

static void find_convex_impact(
	const cr_mover *a, const cr_mover *b, double tolerance, double limit, int64_t *work, cr_mover_impact *impact)
{
	find_between(a, a->convex, b, b->convex, tolerance, 0, limit, &impact->impact);
	*work -= CR_LOOKS_OF_SEPARATION * (int64_t)impact->impact.steps;
}

/// Looks at pairs in order of their times. False: the search by spans is to go on. A function of
/// its own, so that its room on the stack is free then.
static __attribute__((noinline)) bool find_by_time(const cr_bvh_kernels *kernels, cr_mover_scratch *scratch, const cr_mover *a,
	const cr_mover *b, double tolerance, double limit, int64_t *work, cr_mover_impact *impact)
{
	cr_descent d;
	if (!cr_prepare_descent(&d, scratch, a, b, impact) || cr_find_inside(kernels, a, b, impact))
		return true;
	const bool spans = !cr_is_plane(a) && !cr_is_plane(b);
	int64_t first = spans && *work / 2 > FEW_LOOKS ? FEW_LOOKS : spans ? *work / 2 : *work;
	*work -= first;
	const bool done = descend_to_impact(&d, tolerance, limit, &first);
	*work += first > 0 ? first : 0;
	if (!done && !spans)
		write_undecided(&d, impact);
	return done || !spans;
}

void cr_find_mover_impact_within(const cr_bvh_kernels *kernels, cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b,
	double tolerance, double limit, int64_t *work, cr_mover_impact *impact)
{
	*impact = cr_no_impact();
	if (!a->collider && !b->collider)
		find_convex_impact(a, b, tolerance, limit, work, impact);
	else if (!find_by_time(kernels, scratch, a, b, tolerance, limit, work, impact))
		cr_find_impact_by_spans(scratch, a, b, tolerance, limit, work, impact);
}

void cr_find_mover_impact(const cr_bvh_kernels *kernels, cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b,
	double tolerance, double limit, cr_mover_impact *impact)
{
	int64_t work = INT64_MAX;
	cr_descent d;
	*impact = cr_no_impact();
	if (!a->collider && !b->collider)
		find_convex_impact(a, b, tolerance, limit, &work, impact);
	else if (cr_prepare_descent(&d, scratch, a, b, impact) && !cr_find_inside(kernels, a, b, impact))
		descend_to_impact(&d, tolerance, limit, &work);
}
