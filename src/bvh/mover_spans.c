/// A first impact, span by span of time.
///
/// The search of mover.c follows each pair of parts through the whole motion. That is quick where
/// the surfaces come near each other in one place. Where they stay close all the way, as those of a
/// nut on its bolt, each triangle comes near hundreds of others, and steps of conservative
/// advancement are as short as the gap. Here all pairs are looked at for one span of time, then for
/// the next one. A pair of parts is left out for a span if one look proves that it stays apart all
/// the while; else the larger part is opened. A part is a body, a box of a tree, a block of up to
/// eight triangles, or a triangle.
///
/// One look. Let m be a unit direction, fixed in the world, and t the middle of a span of half
/// length s. A point at x of a body that turns by the angular velocity w about the point o, which
/// goes by v, has along m
///     the height m . x, the rate m . (v + w x (x - o)), and the bend m . (w x (w x (x - o))).
/// w and the distance r of the point from the axis through o stay, so at all times
///     |bend| = |(m x w) . (w x (x - o))| <= |m x w| |w| r.
/// So over the span the height of the point differs from m . x +- s rate, whichever is less or
/// more, by at most s^2 |m x w| |w| r / 2: a height less that square is concave, and least at an
/// end. m . x + s rate is linear in x: with e = m + s (m x w) it is e . x and a number. So the gap
/// of two sets of points along m, over the whole span, is no less than
///     min over both ends of (least e_A . x over A - greatest e_B . y over B) - bends of both.
/// For a box it is read off, for a block the least of its corners counts, for a convex body its
/// support point. The ball around a core lowers the height by its radius. A body of revolution
/// about z of its frame may turn without its spin (head of geom/guard.c): then w is what is left of
/// it, and the bend at most |w| (|w| + |spin|) r.
///
/// Directions are those of the axes of both boxes, the one between the middles, for blocks and
/// triangles their mean normals too, and for two triangles (a triangle and a convex body) the one
/// in which they are nearest in the middle of the span. Two triangles for which none of these holds
/// are looked at in halves of the span, the earlier one first, and after HALVINGS by conservative
/// advancement (cr_find_impact_guarded). It alone tells impacts, so their times keep its promise.
/// The span ends at the least impact so far.
///
/// So before the end of the last span that was passed, and before the impact, no two parts were
/// nearer than half of the tolerance. Should the work be used up in a span, the way up to its
/// beginning is known to be clear: that is told.
///
/// Spans are as long as they are worth: the length is doubled or halved as long as the work per
/// time falls. A span that takes far more work than those before is broken off and halved. The
/// number of looks alone decides, so results are the same everywhere. Cost: for each span the pairs
/// of parts that are close in it; the number of spans goes with the root of the gap.

#include "bvh/mover_spans.h"
#include "bvh/part_points.h"
#include "geom/convex_query.h"

enum {
	HALVINGS = 12, // of a span, for two triangles
	AXES = 6,
	FIRST_SPANS = 32, // in the motion
	LARGE = 4,        // times the work that was expected: a span is broken off
	FEW = 1 << 14,    // looks: a span of less is not broken off
};

static const double SHORTEST = 0x1p-14; // of the motion: a span that is not broken off

// ---- Spans ----

/// One body in the middle of a span.
typedef struct span_side {
	cr_motion_place place;
	v3d velocity; // of the origin of its frame
	v3d spin;     // angular velocity, world
	v3d axis;     // of its turning, unit, own frame
	double spin_length;
	double round_bend; // of a body of revolution, times r; negative: it is none
} span_side;

typedef struct span {
	double from, to, half;
	span_side side[2];
} span;

/// A direction m from B to A over a span.
typedef struct sight {
	v3d e[2][2];      // by body and end, frame of the body
	double offset[2]; // by end: height of the origin of A's frame over that of B's
	double bend[2];   // by body: times the distance of a point from the axis
} sight;

static void leave_out_spin(span_side *side)
{
	const m3d *r = &side->place.rotation;
	const v3d a = { r->row[0].z, r->row[1].z, r->row[2].z };
	const double along = v3d_dot(side->spin, a);
	side->spin = v3d_mad(side->spin, -along, a);
	side->spin_length = v3d_length(side->spin);
	side->round_bend = side->spin_length * (side->spin_length + fabs(along));
}

static void set_side(const cr_mover *m, double t, span_side *side)
{
	const cr_motion *motion = &m->motion;
	*side = (span_side){ .place = cr_motion_place_at(motion, t), .velocity = motion->travel, .round_bend = -1 };
	if (motion->angle == 0)
		return;
	const v3d origin = v3d_mad(motion->begin.position, t, motion->travel);
	side->spin = v3d_scale(motion->axis, motion->angle);
	side->spin_length = motion->angle;
	side->axis = m3d_tmul(&side->place.rotation, motion->axis);
	side->velocity = v3d_add(side->velocity, v3d_cross(side->spin, v3d_sub(side->place.pose.position, origin)));
	if (m->convex && cr_convex_is_round(m->convex) && !motion->is_part)
		leave_out_spin(side);
}

static void set_span(const cr_mover *const movers[2], double from, double to, span *s)
{
	s->from = from;
	s->to = to;
	s->half = 0.5 * (to - from);
	for (int i = 0; i < 2; i++)
		set_side(movers[i], from + s->half, &s->side[i]);
}

static void set_sight(const span *s, v3d m, sight *out)
{
	double height = 0, rate = 0;
	for (int i = 0; i < 2; i++) {
		const span_side *side = &s->side[i];
		const double sign = i ? -1 : 1;
		const m3d *r = &side->place.rotation;
		const v3d own = m3d_tmul(r, m);
		height += sign * v3d_dot(m, side->place.pose.position);
		rate += sign * v3d_dot(m, side->velocity);
		out->e[i][0] = out->e[i][1] = own;
		out->bend[i] = 0;
		if (side->spin_length == 0 || s->half == 0)
			continue;
		const v3d roll = v3d_cross(m, side->spin), turned = m3d_tmul(r, roll);
		out->e[i][0] = v3d_mad(own, -s->half, turned);
		out->e[i][1] = v3d_mad(own, s->half, turned);
		out->bend[i] =
			0.5 * s->half * s->half * (side->round_bend >= 0 ? side->round_bend : v3d_length(roll) * side->spin_length);
	}
	out->offset[0] = height - s->half * rate;
	out->offset[1] = height + s->half * rate;
}

// ---- Sets of points ----

/// A part of a body, own frame: a box, corners, or a convex body.
typedef struct point_set {
	uint32_t part;
	bool known;     // it is that part
	bool is_box;    // neither corners nor a convex body
	double padding; // of corners: radius of the ball around each; else 0
	v3d mean;       // a point among them
	v3d normal;     // of corners; else zero
	v3d extent;     // of the box around them
	v3d centre;
	double far; // from the axis of its turning at most
	const cr_convex *convex;
	cr_part_points corners;
} point_set;

static double lesser(double a, double b) { return a < b ? a : b; }
static double greater(double a, double b) { return a > b ? a : b; }

static double lowest_of_box(v3d centre, v3d extent, v3d e)
{
	return v3d_dot(e, centre) - (fabs(e.x) * extent.x + fabs(e.y) * extent.y + fabs(e.z) * extent.z);
}

static double lowest(const point_set *p, v3d e)
{
	if (p->convex)
		return v3d_dot(e, cr_convex_support(p->convex, v3d_neg(e)));
	return p->is_box ? lowest_of_box(p->centre, p->extent, e) : cr_least_of_points(&p->corners, e);
}

static double rounding_of(const point_set *p) { return p->convex ? p->convex->rounding : p->padding; }

/// How far A is beyond B along a sight over the whole span, at least.
static double gap_along(const sight *at, const point_set *a, const point_set *b)
{
	double gap = INFINITY;
	for (int end = 0; end < 2; end++) {
		const double low = lowest(a, at->e[0][end]), high = -lowest(b, v3d_neg(at->e[1][end]));
		gap = lesser(gap, at->offset[end] + low - high);
	}
	return gap - at->bend[0] * a->far - at->bend[1] * b->far - rounding_of(a) - rounding_of(b);
}

/// How far a box lies from the axis through the origin of its body at most.
static double distance_from_axis(const cr_mover *m, v3d axis, v3d centre, v3d extent)
{
	const v3d a = { fabs(axis.x), fabs(axis.y), fabs(axis.z) };
	if (m->motion.angle == 0)
		return 0;
	if (m->motion.is_part)
		return m->motion.lever +
			v3d_length((v3d){ fabs(centre.x) + extent.x, fabs(centre.y) + extent.y, fabs(centre.z) + extent.z });
	const v3d across = v3d_cross(centre, axis);
	return v3d_length((v3d){ fabs(across.x) + extent.y * a.z + extent.z * a.y, fabs(across.y) + extent.z * a.x + extent.x * a.z,
		fabs(across.z) + extent.x * a.y + extent.y * a.x });
}

// ---- The search ----

typedef struct span_search {
	cr_descent d; // movers, whole boxes, stack, best
	span now;
	sight axis[AXES];
	point_set set[2]; // parts looked at last, by body
	double lost;      // to roundings of a gap
	double level;     // gaps above it are of no use
	bool by_gap;      // the nearest parts at one time, not an impact
	int64_t *work;
	int64_t stop; // the walk ends when so much work is left
} span_search;

/// The box of a part alone.
static void set_part_box(const span_search *s, int side, uint32_t part, point_set *p)
{
	const cr_mover_box box = cr_part_box(&s->d, side, part);
	const span_side *now = &s->now.side[side];
	const bool is_round = part == CR_PART_WHOLE && now->round_bend >= 0;
	p->part = part;
	p->is_box = true;
	p->padding = 0;
	p->convex = NULL;
	p->centre = p->mean = box.centre;
	p->extent = box.extent;
	p->far = is_round ? box.reach : distance_from_axis(s->d.mover[side], now->axis, box.centre, box.extent);
}

/// What a part is looked at as: corners of blocks and triangles, else a box or a convex body.
static point_set *look_closely(span_search *s, int side, uint32_t part)
{
	const cr_mover *m = s->d.mover[side];
	point_set *p = &s->set[side];
	if (p->known && p->part == part)
		return p;
	set_part_box(s, side, part, p);
	p->known = true;
	p->normal = (v3d){ 0, 0, 0 };
	p->convex = m->convex;
	if (m->convex) {
		p->mean = cr_convex_centre(m->convex);
	} else if (cr_has_part_points(m->collider, part)) {
		p->is_box = false;
		p->padding = m->padding;
		cr_gather_part_points(m->collider, part, &p->corners);
		p->mean = p->corners.mean;
		p->normal = p->corners.normal;
	}
	return p;
}

static void forget_sets(span_search *s) { s->set[0].known = s->set[1].known = false; }

static void set_search_span(span_search *s, double from, double to)
{
	const cr_mover *const movers[2] = { s->d.mover[0], s->d.mover[1] };
	set_span(movers, from, to, &s->now);
	for (int i = 0; i < AXES; i++) {
		const m3d *r = &s->now.side[i / 3].place.rotation;
		set_sight(
			&s->now, (v3d){ v3d_get(r->row[0], i % 3), v3d_get(r->row[1], i % 3), v3d_get(r->row[2], i % 3) }, &s->axis[i]);
	}
	forget_sets(s);
}

/// A precomputed sight, or the one against it.
static double gap_along_axis(const sight *at, const point_set *a, const point_set *b)
{
	double gap[2] = { INFINITY, INFINITY };
	for (int end = 0; end < 2; end++) {
		const v3d ea = at->e[0][end], eb = at->e[1][end];
		const double between = at->offset[end] + v3d_dot(ea, a->centre) - v3d_dot(eb, b->centre);
		const double reach = fabs(ea.x) * a->extent.x + fabs(ea.y) * a->extent.y + fabs(ea.z) * a->extent.z +
			fabs(eb.x) * b->extent.x + fabs(eb.y) * b->extent.y + fabs(eb.z) * b->extent.z;
		gap[0] = lesser(gap[0], between - reach);
		gap[1] = lesser(gap[1], -between - reach);
	}
	return greater(gap[0], gap[1]) - at->bend[0] * a->far - at->bend[1] * b->far;
}

/// How far two boxes stay apart over the span, at least.
static double box_gap(const span_search *s, const point_set *a, const point_set *b)
{
	double gap = -INFINITY;
	for (int i = 0; i < AXES && !(gap > s->level + s->lost); i++)
		gap = greater(gap, gap_along_axis(&s->axis[i], a, b));
	return gap;
}

// ---- Looks at pairs of parts ----

static v3d mean_apart(const span *s, const point_set *a, const point_set *b)
{
	const cr_motion_place *pa = &s->side[0].place, *pb = &s->side[1].place;
	const v3d at_a = v3d_add(m3d_mul(&pa->rotation, a->mean), pa->pose.position);
	return v3d_sub(at_a, v3d_add(m3d_mul(&pb->rotation, b->mean), pb->pose.position));
}

/// Do two sets stay apart along a direction of the world, or against it?
static bool is_clear_along(const span_search *s, const span *now, v3d m, v3d apart, const point_set *a, const point_set *b)
{
	sight at;
	const double along = v3d_dot(m, apart);
	if (!(fabs(along) > 0))
		return false;
	set_sight(now, along < 0 ? v3d_neg(m) : m, &at);
	return gap_along(&at, a, b) - s->lost >= s->level;
}

/// Does a look at the corners of two parts tell that they stay apart?
static bool is_clear(span_search *s, const point_set *a, const point_set *b)
{
	const v3d apart = mean_apart(&s->now, a, b);
	for (int i = 0; i < 2; i++) {
		const point_set *p = i ? b : a;
		if (v3d_dot(p->normal, p->normal) > 0 &&
			is_clear_along(s, &s->now, m3d_mul(&s->now.side[i].place.rotation, p->normal), apart, a, b))
			return true;
	}
	return is_clear_along(s, &s->now, v3d_normalize(apart), apart, a, b);
}

/// Open the larger one of two parts.
static void open_pair(span_search *s, const cr_part_pair *pair)
{
	cr_descent *d = &s->d;
	const bool single[2] = { cr_is_single_part(d->mover[0], pair->part[0]), cr_is_single_part(d->mover[1], pair->part[1]) };
	point_set box[2], child;
	for (int i = 0; i < 2; i++)
		set_part_box(s, i, pair->part[i], &box[i]);
	const double sizes[2] = { v3d_dot(box[0].extent, box[0].extent), v3d_dot(box[1].extent, box[1].extent) };
	const int opened = single[0] || (!single[1] && sizes[1] > sizes[0]), base = d->top;
	uint32_t children[CR_WIDTH];
	const int count = cr_open_part(d->mover[opened]->collider, pair->part[opened], children);
	*s->work -= count;
	for (int i = 0; i < count; i++) {
		set_part_box(s, opened, children[i], &child);
		const double gap = box_gap(s, opened ? &box[0] : &child, opened ? &child : &box[1]);
		if (gap - s->lost >= s->level)
			continue;
		cr_part_pair inner = *pair;
		inner.part[opened] = children[i];
		inner.key = cr_round_down(gap);
		cr_push_pair(d, base, &inner);
	}
}

// ---- Two triangles, or a triangle and a convex body ----

static void keep_nearest(span_search *s, const cr_part_pair *pair, const cr_separation *gap)
{
	cr_mover_impact *best = s->d.best;
	if (!(gap->gap < s->level))
		return;
	s->level = gap->gap;
	best->impact.separation = *gap;
	for (int i = 0; i < 2; i++)
		best->triangle[i] = cr_part_triangle(s->d.mover[i], pair->part[i]);
}

/// Two parts as they are measured.
typedef struct single_pair {
	const cr_part_pair *pair;
	cr_convex convex[2];
	const point_set *set[2];
} single_pair;

static void advance(span_search *s, const single_pair *p, double from, double to)
{
	cr_impact impact;
	const cr_mover *const *m = s->d.mover;
	cr_find_impact_guarded(&p->convex[0], &m[0]->motion, &p->convex[1], &m[1]->motion, s->d.tolerance, from, to, &impact);
	s->d.steps += impact.steps;
	*s->work -= CR_LOOKS_OF_SEPARATION * (int64_t)impact.steps;
	if (impact.state == CR_IMPACT_NONE)
		return;
	s->d.limit = impact.state == CR_IMPACT_TOUCHING ? (double)-INFINITY : impact.time;
	s->d.best->impact = impact;
}

/// Do two parts stay apart between two times, along the direction in which they are nearest in the
/// middle?
static bool is_clear_between(span_search *s, const single_pair *p, double from, double to)
{
	span now;
	cr_separation at;
	sight along;
	const cr_mover *const movers[2] = { s->d.mover[0], s->d.mover[1] };
	set_span(movers, from, to, &now);
	cr_measure_parts(movers[0], &p->convex[0], movers[1], &p->convex[1], from + now.half, &at);
	s->d.steps++;
	*s->work -= CR_LOOKS_OF_SEPARATION;
	if (!(at.gap - s->lost > s->level))
		return false;
	set_sight(&now, at.normal, &along);
	return gap_along(&along, p->set[0], p->set[1]) - s->lost >= s->level;
}

/// Look at halves of the span, the earlier one first, until each is clear or tells an impact.
static void meet_within(span_search *s, const single_pair *p)
{
	enum { WHOLE = 1 << HALVINGS };
	const double from = s->now.from, unit = (s->now.to - from) / WHOLE;
	for (int at = 0, length = WHOLE; at < WHOLE;) {
		const double begin = from + at * unit, end = at + length == WHOLE ? s->now.to : from + (at + length) * unit;
		if (!(begin < s->d.limit))
			return;
		if (!is_clear_between(s, p, begin, end)) {
			if (length > 1) {
				length /= 2;
				continue;
			}
			advance(s, p, begin, end);
		}
		at += length;
		while (length < WHOLE && at % (2 * length) == 0)
			length *= 2;
	}
}

static void meet(span_search *s, const cr_part_pair *pair)
{
	const single_pair p = { pair, { cr_part_convex(s->d.mover[0], pair->part[0]), cr_part_convex(s->d.mover[1], pair->part[1]) },
		{ &s->set[0], &s->set[1] } };
	if (s->by_gap) {
		cr_separation at;
		cr_measure_parts(s->d.mover[0], &p.convex[0], s->d.mover[1], &p.convex[1], s->now.from, &at);
		s->d.steps++;
		*s->work -= CR_LOOKS_OF_SEPARATION;
		keep_nearest(s, pair, &at);
		return;
	}
	meet_within(s, &p);
	if (s->d.limit < s->now.to && s->d.limit > s->now.from)
		set_search_span(s, s->now.from, s->d.limit);
}

// ---- Both ----

/// Look at all pairs of parts that may be near each other in the span. false: the work is used up.
static bool walk(span_search *s, double from, double to)
{
	cr_descent *d = &s->d;
	set_search_span(s, from, to);
	d->top = 0;
	d->stack[d->top++] = (cr_part_pair){ -INFINITY, { CR_PART_WHOLE, CR_PART_WHOLE } };
	while (d->top > 0) {
		if (*s->work <= s->stop)
			return false;
		const cr_part_pair pair = d->stack[--d->top];
		if ((double)pair.key - s->lost >= s->level || !(s->now.from < d->limit || s->by_gap))
			continue;
		--*s->work;
		const point_set *a = look_closely(s, 0, pair.part[0]), *b = look_closely(s, 1, pair.part[1]);
		if (is_clear(s, a, b))
			continue;
		if (cr_is_single_part(d->mover[0], pair.part[0]) && cr_is_single_part(d->mover[1], pair.part[1]))
			meet(s, &pair);
		else
			open_pair(s, &pair);
	}
	return true;
}

/// The nearest parts at a time, if they are nearer than level. Returns whether they are.
static bool find_nearest(span_search *s, double time, double level, int64_t stop)
{
	s->by_gap = true;
	s->level = level;
	s->stop = stop;
	const bool done = walk(s, time, time);
	s->by_gap = false;
	return done && s->level < level;
}

/// Go through the motion. false: the work is used up, with from the time up to which it is clear.
static bool pass_spans(span_search *s, double end, double *from)
{
	double length = end / FIRST_SPANS, rate = 0, change = 2;
	int broken = 0;
	for (*from = 0; *from < s->d.limit && *from < end;) {
		const double last = fmin(end, s->d.limit), to = *from + 1.25 * length < last ? *from + length : last;
		const int64_t before = *s->work;
		const double most = fmax((double)((int64_t)FEW << broken), LARGE * rate * (to - *from));
		s->stop = length > SHORTEST && most < (double)before ? before - (int64_t)most : 0;
		if (!walk(s, *from, to)) {
			if (*s->work <= 0)
				return false;
			length *= 0.5;
			broken += broken < 32;
			continue;
		}
		if (!(to < s->d.limit))
			return true;
		const double cost = (double)(before - *s->work) / (to - *from);
		change = rate > 0 && cost > rate ? 1 / change : change;
		length = fmax(length * change, SHORTEST);
		rate = cost;
		broken = 0;
		*from = to;
	}
	return true;
}

static double bound_lost(const cr_descent *d)
{
	const cr_motion *m[2] = { &d->mover[0]->motion, &d->mover[1]->motion };
	const v3d begin = v3d_sub(m[0]->begin.position, m[1]->begin.position);
	const v3d end = v3d_add(begin, v3d_sub(m[0]->travel, m[1]->travel));
	const double apart = fmax(v3d_length(begin), v3d_length(end)) + m[0]->lever + m[1]->lever;
	return cr_motion_rounding(d->whole[0].reach + m[0]->lever, d->whole[1].reach + m[1]->lever, apart);
}

void cr_find_impact_by_spans(cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b, double tolerance, double limit,
	int64_t *work, cr_mover_impact *impact)
{
	span_search s = { .work = work };
	double from = 0;
	if (!cr_prepare_descent(&s.d, scratch, a, b, impact))
		return;
	s.d.by_gap = true; // boxes need no reach
	s.d.tolerance = tolerance;
	s.lost = bound_lost(&s.d);
	if (impact->impact.state == CR_IMPACT_TOUCHING)
		return;
	s.d.limit = impact->impact.state == CR_IMPACT_NONE ? limit : fmin(limit, impact->impact.time);
	if (find_nearest(&s, 0, nextafter(tolerance + s.lost, INFINITY), 0)) {
		impact->impact.state = CR_IMPACT_TOUCHING;
		impact->impact.time = impact->impact.separation_time = 0;
		impact->told = true;
		return;
	}
	s.level = 0.5 * tolerance;
	if (*work <= 0 || !pass_spans(&s, limit, &from)) {
		*impact = cr_no_impact();
		impact->impact.state = CR_IMPACT_UNDECIDED;
		impact->impact.time = impact->impact.separation_time = from;
		impact->out_of_work = true;
		return;
	}
	const bool met = impact->impact.state != CR_IMPACT_NONE;
	const double level = met ? nextafter(impact->impact.separation.gap, INFINITY) : INFINITY;
	find_nearest(&s, impact->impact.separation_time, level, INT64_MIN);
	impact->impact.steps += s.d.steps;
	impact->told = true;
}
