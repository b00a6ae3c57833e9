/// Impacts of two bodies that touch when the motion begins: a body that slides over a floor meets a
/// wall of the same mesh; one that was stopped before a wall pushes on.
///
/// Touching is not to be reported again, meeting something else is. The difference is made by
/// guards: directions n along which the two touch at the beginning, each with a level g: the least
/// gap along it of all parts that touch there (negative where they overlap), or half of the
/// tolerance, if that is less. Then a pair of parts (triangles, convex bodies, a plane) is clear at
/// a time if
///     (1) it is apart by more than half of the tolerance, or
///     (2) along a direction n all points of the one are beyond all points of the other by g -
///         slack at least.
/// slack is half of the tolerance, or the depth to which the caller lets a body sink in
/// (cr_mover.sinking): a body that tumbles or slides over an edge gets deeper on its way than it is
/// at both ends, and contacts answer to that. Where a mover is held (cr_mover.held), no pair gets
/// below a gap of 0, or of g if that is less. n of (2) is a guard, or a direction within 25 degrees
/// of one, with that one's g: the normal of a triangle of the pair, or the direction in which the
/// two are nearest. So a body slides on over flat and curved floors, over edges too; a wall, to
/// which it has no contact yet, lies beyond the floor in no such direction, and (1) ends within the
/// tolerance of it as always; a body that was stopped before a wall has a guard against it, which
/// ends when it pushes on.
///
/// Each pair is followed through time by proved steps: while (1) holds by conservative advancement
/// (head of geom/time_of_impact.c), else by the guard that holds longest (head of geom/guard.c).
/// Its impact is where neither goes on. So before the impact each pair of parts is clear at all
/// times, not only at those that were looked at. The time that is told is earlier: where the pair
/// came within the tolerance, or, if it touches from the beginning, the last look at which its gap
/// was g - slack / 4 or more. It is 0 if any two parts that touch approach each other so fast at
/// the beginning that their gap would fall by that: then a solver sees the approach in their
/// contact, and a rest of it that he leaves does not creep. Pairs of boxes are left out where
/// (1) holds to the end, or (2) does so for the boxes.
///
/// Nothing passes through a surface by changing its mind: a guard is taken up only by a pair that
/// has not come from its other side (the direction in which the two were nearest before does not
/// oppose it; or it was within g along it at the beginning), a guard is exchanged only for one that
/// leads the same way, and none is taken from the back of a triangle where the fronts count.
///
/// Of a mover that is held the time is 0 too if two parts press on each other so at the beginning
/// and any pair has an impact: so the first impact ends the search. Most often one look at the two
/// parts that press tells it (presses_in).
///
/// What is told must not depend on the trees, which lead to the pairs of parts in an order of their
/// own. So of equals the pair with the lower triangles counts (cr_comes_first); of all pairs that
/// have an impact, the one whose impact is earliest; and the guards are made of the directions of
/// those pairs that have the lowest triangles. For that directions are sorted into cells, each with
/// the lowest pair and the least gap of its pairs. Where there are more than MOST_CELLS, those of
/// the lowest pairs are kept, and a second walk finds the levels.
///
/// Where parts of one body lie flush, the caller may know a direction along which another part of
/// it carries the other body (cr_open_ways). It counts as a guard, with the level that the caller
/// says. The two may be apart at the beginning.
///
/// Which way touching triangles part: apart, as they are nearest to each other; overlapping, or one
/// behind the other, along the normal of either, or out by the shortest way, whichever is least
/// deep. Bodies of which two parts overlap by more than DEEP tolerances are told to be touching and
/// no more: there two parts do not tell the way out, and a body that is pushed out must not be
/// held.

#include "bvh/mover_walk.h"
#include "geom/guard.h"
#include "geom/triangle.h"

enum {
	MOST_GUARDS = 24,
	MOST_STEPS = 400, // of a pair of parts
	FEW_STEPS = 24,   // of one that is held: then slower bounds that lead farther are tried
	DEEP = 8,         // tolerances
	DEEPER = 4,       // of the depth to which a body may sink in, if that is more
	BOX_STEPS = 4,
	MOST_WAYS = 3 + CR_MOST_OPEN_WAYS, // out of a pair of parts
	MOST_CELLS = 16,
	CELLS = 64, // of a unit length
};

static const double ALIKE = 0.999; // cosine: touching pairs share a guard
// cosine: a direction for which the level of a guard counts
static const double NEAR_GUARD = 0.9;
static const double OPPOSED = -0.5;    // cosine
static const double ALONG = 1 - 1e-12; // cosine: no other direction
// Of the tolerance: so much deeper than any guard allows two parts are looked at, to see that none
// is kept.
static const double PRESSED = 0.25;
static const double WAY_ROUNDING = 1e-9;  // of the way: more than the roundings of places on it
static const double LEAST_STEP = 0x1p-12; // of the motion: a guard that holds no longer ends

/// A cell of directions: that of its first pair, and the least gap.
typedef struct way_cell {
	int8_t cell[3];
	int32_t triangle[2];
	v3d normal;
	double gap;
} way_cell;

typedef struct touching {
	double slack;
	bool held;   // see cr_mover
	double lost; // to roundings of a gap
	v3d way;     // of A past B through the motion, frame of A at time 0
	double far;  // parts farther apart along it neither touch nor meet; INFINITY: of a plane
	int count;
	bool deep;
	bool of_b; // frame of the guards: of the body that turns less, or of the plane
	cr_guard guard[MOST_GUARDS];
	v3d normal[MOST_GUARDS];    // of the guards, world at time 0
	v3d middle[2];              // of the bodies at time 0
	const cr_open_ways *open;   // NULL: none
	way_cell cells[MOST_CELLS]; // until the guards are made of them; sorted by their first pairs
	int cell_count;
	bool more_cells; // some were left out
	// least rate of the gap of two parts that touch: their separation and triangles
	double approach;
	cr_separation first;
	cr_part_pair pressing; // these parts
	v3d way_out;           // along which they are least deep, and how far they are apart along it
	double way_gap;
	double nearest; // of the gaps of two parts that touch
	int32_t triangle[2];
	double ended; // an impact's own time, not the one that is told
	bool any;     // any impact ends the search: the beginning is told
	cr_motion_places places[2];
	double reach[2]; // of a convex body's core
	m3d b_to_a;      // axes of B to those of A at time 0
} touching;

// ---- Two parts ----

/// Two parts of which neither is opened.
typedef struct part_pair {
	cr_convex convex[2];
	cr_guarded body[2];
	int faces;      // how many of them are triangles of meshes
	int side_of[2]; // of the faces
	v3d face[2];    // unit normals of triangles of meshes, frame of the mesh
} part_pair;

static const cr_motion_place *place_of(const cr_descent *d, int side, double t)
{
	touching *touch = d->user;
	return cr_look_at_place(&touch->places[side], t);
}

/// cr_convex_reach of a part, whose core reaches as far as its guarded body says.
static double reach_of(const part_pair *p, int side) { return p->body[side].reach + p->convex[side].rounding; }

/// Measures two parts at a time, as cr_measure_parts does, to the bit, if they are no farther apart
/// than enough.
static void measure_to(const cr_descent *d, const part_pair *p, double t, double enough, cr_separation *s)
{
	const touching *touch = d->user;
	if (p->body[0].is_plane || p->body[1].is_plane) {
		cr_measure_parts(d->mover[0], &p->convex[0], d->mover[1], &p->convex[1], t, s);
		return;
	}
	const cr_motion_place *a = place_of(d, 0, t), *b = place_of(d, 1, t);
	const m3d b_to_a = t == 0 ? touch->b_to_a : m3d_transpose_mul(&a->rotation, &b->rotation);
	cr_placed_separation(&p->convex[0], a, &p->convex[1], b, &b_to_a, enough, s);
}

static void measure(const cr_descent *d, const part_pair *p, double t, cr_separation *s) { measure_to(d, p, t, INFINITY, s); }

static void add_face(const cr_descent *d, part_pair *p, int side)
{
	const touching *t = d->user;
	const cr_mover *m = d->mover[side];
	const v3d *corner = p->convex[side].corner;
	v3d normal = cr_triangle_normal(corner);
	if (!(v3d_dot(normal, normal) > 0.5))
		return;
	if (m->two_sided) {
		const carom_pose pose = cr_motion_start(&m->motion);
		const v3d at = v3d_add(carom_rotate(pose.orientation, corner[0]), pose.position);
		if (v3d_dot(carom_rotate(pose.orientation, normal), v3d_sub(t->middle[1 - side], at)) < 0)
			normal = v3d_neg(normal);
	}
	p->side_of[p->faces] = side;
	p->face[p->faces++] = normal;
}

static void set_pair(const cr_descent *d, const cr_part_pair *parts, part_pair *p)
{
	touching *t = d->user;
	p->faces = 0;
	for (int i = 0; i < 2; i++) {
		const cr_mover *m = d->mover[i];
		p->convex[i] = cr_part_convex(m, parts->part[i]);
		p->body[i] = cr_is_plane(m) ? (cr_guarded){ .motion = &m->motion, .is_plane = true }
			: m->convex             ? (cr_guarded){ .motion = &m->motion, .convex = &p->convex[i], .reach = t->reach[i] }
									: cr_guard_convex(&m->motion, &p->convex[i]);
		p->body[i].is_round = t->held && m->convex && cr_convex_is_round(m->convex);
		p->body[i].places = &t->places[i];
		// of a plane only its own normal parts anything
		if (m->collider && !cr_is_plane(d->mover[1 - i]))
			add_face(d, p, i);
	}
}

/// The normal of a face, world, as a direction from B to A.
static v3d face_normal(const cr_descent *d, const part_pair *p, int face, double t)
{
	const int side = p->side_of[face];
	const v3d n = carom_rotate(place_of(d, side, t)->pose.orientation, p->face[face]);
	return side == 1 ? n : v3d_neg(n);
}

static cr_guard face_guard(const part_pair *p, int face)
{
	const bool of_b = p->side_of[face] == 1;
	return (cr_guard){ of_b ? p->face[face] : v3d_neg(p->face[face]), of_b, 0 };
}

/// Does a direction lead to the backs of all triangles of a pair?
static bool is_from_behind(const cr_descent *d, const part_pair *p, v3d normal, double t)
{
	bool behind = p->faces > 0;
	for (int i = 0; i < p->faces; i++)
		behind = behind && v3d_dot(normal, face_normal(d, p, i, t)) < OPPOSED;
	return behind;
}

/// Is a direction none for a pair, because it leads to backs? One that is held is stopped by backs
/// too, as long as it does not overlap them.
static bool is_barred(const cr_descent *d, const part_pair *p, v3d normal, double gap, double t)
{
	const touching *touch = d->user;
	return !(touch->held && gap > 0) && is_from_behind(d, p, normal, t);
}

static cr_guard guard_along(const cr_descent *d, v3d normal, double t)
{
	const touching *touch = d->user;
	return (cr_guard){ m3d_tmul(&place_of(d, touch->of_b, t)->rotation, normal), touch->of_b, 0 };
}

/// A pair of parts at a time.
typedef struct progress {
	double time;
	cr_separation separation;
	// along which they are apart there, or were last: as they are nearest, or of the guard; world
	v3d normal;
	bool guarded; // normal is that of guard
	bool found;   // a guard, at this time
	bool any;     // normal is set
	cr_guard guard;
	double slack;      // of the guard's level
	double until;      // the guard holds so long
	double shown_time; // the time to be told, and the separation then
	cr_separation shown;
	bool came; // the two were apart before
	bool sunk; // the pair is deeper than at the time of its told meeting
} progress;

/// What a distance of two parts, neither a plane, may have gained by the roundings of their places.
static double lost_to_places(const cr_descent *d, const part_pair *p, double t)
{
	const v3d apart = v3d_sub(place_of(d, 0, t)->pose.position, place_of(d, 1, t)->pose.position);
	return cr_motion_rounding(
		reach_of(p, 0) + d->mover[0]->motion.lever, reach_of(p, 1) + d->mover[1]->motion.lever, v3d_length(apart));
}

/// A distance less the most that roundings may have added.
static double safe_gap(const cr_descent *d, const part_pair *p, const progress *at)
{
	const cr_motion *ma = &d->mover[0]->motion, *mb = &d->mover[1]->motion;
	const cr_separation *s = &at->separation;
	if (p->body[1].is_plane)
		return s->gap - cr_bound_over_plane(ma, reach_of(p, 0), mb, s->normal, s->gap).lost;
	if (p->body[0].is_plane)
		return s->gap - cr_bound_over_plane(mb, reach_of(p, 1), ma, v3d_neg(s->normal), s->gap).lost;
	return s->gap - lost_to_places(d, p, at->time);
}

/// A separation along another direction. The point of B stays.
static cr_separation turn_to(const cr_separation *s, v3d normal, double gap)
{
	cr_separation turned = *s;
	turned.normal = normal;
	turned.gap = gap;
	turned.on_a = v3d_mad(s->on_b, gap, normal);
	return turned;
}

/// The separation that a solver sees of a pair that a guard parts: along the guard.
static cr_separation see_along(const cr_descent *d, const part_pair *p, const progress *at)
{
	const touching *t = d->user;
	cr_separation s = at->separation;
	if (!at->guarded || v3d_dot(s.normal, at->normal) > (t->held ? ALONG : NEAR_GUARD))
		return s;
	if (t->held)
		return turn_to(&s, at->normal, cr_guard_gap(&p->body[0], &p->body[1], &at->guard, at->time));
	const m3d rotation = place_of(d, 0, at->time)->rotation;
	s.normal = at->normal;
	s.gap = cr_guard_gap(&p->body[0], &p->body[1], &at->guard, at->time);
	if (!p->body[0].is_plane) {
		const v3d lowest = cr_convex_support(&p->convex[0], m3d_tmul(&rotation, v3d_neg(s.normal)));
		s.on_a = v3d_mad(m3d_mul(&rotation, lowest), -p->convex[0].rounding, s.normal);
	}
	s.on_b = v3d_mad(s.on_a, -s.gap, s.normal);
	return s;
}

// ---- Guards ----

static int nearest_of(const touching *t, v3d normal, double *cosine)
{
	int nearest = -1;
	*cosine = -2;
	for (int i = 0; i < t->count; i++) {
		const double c = v3d_dot(t->normal[i], normal);
		if (c > *cosine) {
			*cosine = c;
			nearest = i;
		}
	}
	return nearest;
}

static double level_of(const cr_descent *d, double gap) { return gap < 0.5 * d->tolerance ? gap : 0.5 * d->tolerance; }

static void add_guard(const cr_descent *d, v3d normal, double gap)
{
	touching *t = d->user;
	double cosine;
	int at = nearest_of(t, normal, &cosine);
	if (cosine < ALIKE && t->count < MOST_GUARDS) {
		at = t->count++;
		t->normal[at] = normal;
		t->guard[at] = guard_along(d, normal, 0);
		t->guard[at].level = level_of(d, gap);
	}
	t->guard[at].level = fmin(t->guard[at].level, level_of(d, gap));
}

static bool is_lower(const int32_t a[2], const int32_t b[2]) { return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1]; }

static bool is_same_cell(const way_cell *a, const way_cell *b)
{
	return a->cell[0] == b->cell[0] && a->cell[1] == b->cell[1] && a->cell[2] == b->cell[2];
}

/// Notes the way out of two parts that touch in the cell of its direction.
static void note_way(const cr_descent *d, const cr_part_pair *parts, v3d normal, double gap)
{
	touching *t = d->user;
	way_cell own = { .normal = normal, .gap = gap };
	for (int i = 0; i < 2; i++)
		own.triangle[i] = cr_part_triangle(d->mover[i], parts->part[i]);
	for (int k = 0; k < 3; k++)
		own.cell[k] = (int8_t)floor(CELLS * v3d_get(normal, k) + 0.5);
	int at = 0;
	while (at < t->cell_count && !is_same_cell(&t->cells[at], &own))
		at++;
	if (at < t->cell_count) {
		way_cell *there = &t->cells[at];
		there->gap = own.gap = fmin(there->gap, own.gap);
		if (!is_lower(own.triangle, there->triangle))
			return;
	} else if (t->cell_count < MOST_CELLS) {
		t->cell_count++;
	} else {
		t->more_cells = true;
		at = MOST_CELLS - 1;
		if (!is_lower(own.triangle, t->cells[at].triangle))
			return;
	}
	for (; at > 0 && is_lower(own.triangle, t->cells[at - 1].triangle); at--)
		t->cells[at] = t->cells[at - 1];
	t->cells[at] = own;
}

/// A way out for two parts that touch.
typedef struct way_out {
	v3d normal;
	double gap;
	double rate;  // of the gap
	bool of_face; // along the normal of a triangle
} way_out;

static int count_open(const touching *t) { return t->open ? t->open->count : 0; }

/// Lists the ways out of a pair at a time: as they are nearest, and along the normals of triangles.
/// Returns how many.
static int list_own_ways(const cr_descent *d, const part_pair *p, const cr_separation *s, double time, way_out ways[MOST_WAYS])
{
	int count = 0;
	for (int i = -1; i < p->faces; i++) {
		const cr_guard guard = i < 0 ? guard_along(d, s->normal, time) : face_guard(p, i);
		const v3d normal = i < 0 ? s->normal : face_normal(d, p, i, time);
		if (is_barred(d, p, normal, s->gap, time))
			continue;
		double rate;
		const double along = cr_guard_gap_rate(&p->body[0], &p->body[1], &guard, time, &rate);
		ways[count++] = (way_out){ normal, i < 0 ? s->gap : along, rate, i >= 0 };
	}
	return count;
}

/// Does so at time 0, with the ways that are open.
static int list_ways(const cr_descent *d, const part_pair *p, const cr_separation *s, way_out ways[MOST_WAYS])
{
	const touching *t = d->user;
	int count = list_own_ways(d, p, s, 0, ways);
	for (int i = 0; i < count_open(t); i++) {
		double rate;
		const double gap = cr_guard_gap_rate(&p->body[0], &p->body[1], &t->open->guard[i], 0, &rate);
		ways[count++] = (way_out){ t->normal[i], gap, rate, false };
	}
	return count;
}

/// Along a way with this gap two parts that are held are no deeper than along the best one.
static double parted_by(const touching *t, const way_out *best) { return (best->gap < 0 ? best->gap : 0) - 4 * t->lost; }

/// Of the ways that are as far as the best one, up to the slack, the one that the motion goes into
/// least: the shortest way out of a pair may lead aside, as at an edge inside a flat floor. Of
/// those that are held all ways count along which the two are apart.
static way_out least_approached(const touching *t, const way_out *ways, int count, way_out best)
{
	way_out least = best;
	const double enough = t->held ? parted_by(t, &best) : best.gap - t->slack;
	for (int i = 0; i < count; i++) {
		if (ways[i].gap >= enough && ways[i].rate > least.rate)
			least = ways[i];
	}
	return least;
}

/// The separation of a pair that nothing parts any more, as it is to be told.
static cr_separation see_obstacle(const cr_descent *d, const part_pair *p, const progress *at)
{
	const touching *t = d->user;
	const cr_separation *s = &at->separation;
	way_out ways[MOST_WAYS];
	if (!t->held)
		return *s;
	const way_out nearest = { s->normal, s->gap, -INFINITY, false };
	const way_out least = least_approached(t, ways, list_own_ways(d, p, s, at->time, ways), nearest);
	return v3d_dot(least.normal, s->normal) > ALONG ? *s : turn_to(s, least.normal, least.gap);
}

/// Notes the two touching parts that approach each other fastest: along the way that they go into
/// least.
static void note_pressing(
	const cr_descent *d, const cr_part_pair *parts, const part_pair *p, progress *at, const way_out *best, way_out least)
{
	touching *t = d->user;
	const bool equal = least.rate == t->approach && t->approach < 0;
	if (!(least.rate < t->approach) &&
		!(equal && (best->gap < t->way_gap || (best->gap == t->way_gap && cr_comes_first(d, parts, t->triangle)))))
		return;
	at->normal = t->held ? least.normal : best->normal;
	at->guard = guard_along(d, at->normal, 0);
	at->guarded = true;
	t->approach = least.rate;
	t->way_out = best->normal;
	t->way_gap = best->gap;
	t->pressing = *parts;
	t->first = see_along(d, p, at);
	for (int i = 0; i < 2; i++)
		t->triangle[i] = cr_part_triangle(d->mover[i], parts->part[i]);
}

static void note_nearest(const cr_descent *d, const cr_part_pair *parts, const cr_separation *s)
{
	touching *t = d->user;
	if (!(s->gap < t->nearest) && !(s->gap == t->nearest && cr_comes_first(d, parts, d->best->triangle)))
		return;
	t->nearest = s->gap;
	d->best->impact.separation = *s;
	for (int i = 0; i < 2; i++)
		d->best->triangle[i] = cr_part_triangle(d->mover[i], parts->part[i]);
}

/// Of parts that overlap deeply the way out by the front of a face, where it is not much longer
/// than the shortest one, which may lead aside to a part beside it.
static way_out front_way(const way_out *ways, int count, way_out best)
{
	way_out front = { .gap = 2 * best.gap };
	for (int i = 0; i < count; i++) {
		if (ways[i].of_face && ways[i].gap >= front.gap)
			front = ways[i];
	}
	return front.of_face ? front : best;
}

/// The way along which two parts are least deep.
static way_out best_way(const cr_separation *s, const way_out *ways, int count)
{
	way_out best = { s->normal, -INFINITY, -INFINITY, false };
	for (int i = 0; i < count; i++) {
		if (ways[i].gap > best.gap)
			best = ways[i];
	}
	return best;
}

/// Measures two parts at time 0. Returns whether they touch.
static bool touch_at_the_beginning(const cr_descent *d, const cr_part_pair *parts, part_pair *p, progress *at)
{
	set_pair(d, parts, p);
	*at = (progress){ .time = 0 };
	measure_to(d, p, 0, d->tolerance + lost_to_places(d, p, 0) * (1 + 1e-12), &at->separation);
	return !(safe_gap(d, p, at) > d->tolerance);
}

/// Looks at two parts at time 0: if they touch, which way?
static void meet_at_the_beginning(cr_descent *d, const cr_part_pair *parts)
{
	touching *t = d->user;
	part_pair p;
	progress at;
	if (!touch_at_the_beginning(d, parts, &p, &at))
		return;
	note_nearest(d, parts, &at.separation);
	way_out ways[MOST_WAYS];
	const int count = list_ways(d, &p, &at.separation, ways);
	const way_out best = best_way(&at.separation, ways, count);
	const bool deep = best.gap < -DEEP * d->tolerance && best.gap < -DEEPER * t->slack;
	const bool by_front = t->held && deep && p.faces == 1;
	const way_out least = by_front ? front_way(ways, count, best) : least_approached(t, ways, count, best);
	note_way(d, parts, best.normal, best.gap);
	note_pressing(d, parts, &p, &at, &best, least);
	t->deep = t->deep || deep;
	if (t->deep && !t->held)
		d->limit = -INFINITY;
}

/// Finds the way that the motion goes into least, of two parts that are held: also a way of their
/// own near a guard, and a guard, along which they are no deeper than its level. Beside the
/// deepest point of a flat floor the edge of the next triangle leads out aside; the floor's own
/// normal, which the deepest triangle has made a guard, keeps the two as well.
static way_out least_guarded(const cr_descent *d, const part_pair *p, const way_out *ways, int count, way_out best)
{
	const touching *t = d->user;
	way_out least = least_approached(t, ways, count, best);
	for (int i = 0; i < count; i++) {
		double cosine;
		const int near = nearest_of(t, ways[i].normal, &cosine);
		if (cosine >= NEAR_GUARD && ways[i].gap >= t->guard[near].level - 4 * t->lost && ways[i].rate > least.rate)
			least = ways[i];
	}
	for (int i = 0; i < t->count; i++) {
		way_out way = { t->normal[i], 0, 0, false };
		way.gap = cr_guard_gap_rate(&p->body[0], &p->body[1], &t->guard[i], 0, &way.rate);
		if (way.gap >= t->guard[i].level - 4 * t->lost && way.rate > least.rate)
			least = way;
	}
	return least;
}

/// Looks again at two parts at time 0, when all guards are known.
static void meet_again(cr_descent *d, const cr_part_pair *parts)
{
	part_pair p;
	progress at;
	if (!touch_at_the_beginning(d, parts, &p, &at))
		return;
	way_out ways[MOST_WAYS];
	const int count = list_ways(d, &p, &at.separation, ways);
	const way_out best = best_way(&at.separation, ways, count);
	note_pressing(d, parts, &p, &at, &best, least_guarded(d, &p, ways, count, best));
}

/// Looks again at two parts at time 0, when there were more directions than cells: the guard that
/// is nearest to their way out takes its gap.
static void lower_level(cr_descent *d, const cr_part_pair *parts)
{
	touching *t = d->user;
	part_pair p;
	progress at;
	if (!touch_at_the_beginning(d, parts, &p, &at))
		return;
	way_out ways[MOST_WAYS];
	const int count = list_ways(d, &p, &at.separation, ways);
	const way_out best = best_way(&at.separation, ways, count);
	double cosine;
	cr_guard *guard = &t->guard[nearest_of(t, best.normal, &cosine)];
	guard->level = fmin(guard->level, level_of(d, best.gap));
}

/// Makes the guards of the directions that were noted.
static void make_guards(cr_descent *d)
{
	touching *t = d->user;
	if (t->deep && !t->held)
		return;
	for (int i = 0; i < t->cell_count; i++)
		add_guard(d, t->cells[i].normal, t->cells[i].gap);
	if (!t->more_cells)
		return;
	d->meet = lower_level;
	cr_descend(d);
	d->top = 0;
}

/// Are some parts deeper than the two that approach each other fastest?
static bool has_deeper(const touching *t)
{
	const way_out pressing = { t->way_out, t->way_gap, t->approach, false };
	bool deeper = false;
	for (int i = 0; i < t->count; i++)
		deeper = deeper || t->guard[i].level < parted_by(t, &pressing);
	return deeper;
}

/// Of bodies that are held, where some parts are deeper than the two that approach each other
/// fastest, looks at all that touch again: with all guards the approach may be less.
static void look_again(cr_descent *d)
{
	touching *t = d->user;
	if (!t->held || t->deep || !(t->approach < 0) || !has_deeper(t))
		return;
	t->approach = 0;
	d->meet = meet_again;
	cr_descend(d);
	d->top = 0;
}

/// The open ways are the first guards.
static void take_open_ways(cr_descent *d)
{
	touching *t = d->user;
	for (int i = 0; i < count_open(t); i++) {
		const cr_guard *guard = &t->open->guard[i];
		t->guard[i] = *guard;
		t->normal[i] = carom_rotate(cr_motion_start(&d->mover[guard->of_b]->motion).orientation, guard->local);
	}
	t->count = count_open(t);
}

/// The key of two boxes at time 0.
static double bound_touching(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from)
{
	const touching *t = d->user;
	const bool far = t->far < INFINITY && cr_bound_distance(d, a, b, (v3d){ 0, 0, 0 }) > d->limit;
	return far ? (double)INFINITY : cr_bound_gap_to(d, a, b, from, d->limit);
}

/// Sets the way of A past B. Turning moves a point by the angle times its reach at most.
static void set_way(const cr_descent *d)
{
	touching *t = d->user;
	const cr_motion *m[2] = { &d->mover[0]->motion, &d->mover[1]->motion };
	const m3d rotation = m3d_from_quat(cr_motion_start(m[0]).orientation);
	t->way = m3d_tmul(&rotation, v3d_sub(m[0]->travel, m[1]->travel));
	t->far = d->tolerance + 4 * t->lost + WAY_ROUNDING * v3d_length(t->way);
	for (int i = 0; i < 2; i++)
		t->far += cr_is_plane(d->mover[i]) ? (double)INFINITY : m[i]->angle * (d->whole[i].reach + m[i]->lever);
}

/// Works out once the poses that all pairs of parts ask for.
static void place_movers(cr_descent *d)
{
	touching *t = d->user;
	for (int i = 0; i < 2; i++) {
		const cr_mover *m = d->mover[i];
		t->places[i] = cr_motion_places_of(&m->motion);
		t->reach[i] = m->convex ? v3d_length(cr_convex_centre(m->convex)) + cr_convex_size(m->convex) : 0;
	}
	t->b_to_a = m3d_transpose_mul(&t->places[0].begin.rotation, &t->places[1].begin.rotation);
}

static bool find_guards(cr_descent *d)
{
	touching *t = d->user;
	const cr_motion *m[2] = { &d->mover[0]->motion, &d->mover[1]->motion };
	place_movers(d);
	t->of_b = cr_is_plane(d->mover[1]) || (!cr_is_plane(d->mover[0]) && m[1]->angle <= m[0]->angle);
	for (int i = 0; i < 2; i++) {
		const carom_pose pose = cr_motion_start(m[i]);
		t->middle[i] = v3d_add(carom_rotate(pose.orientation, d->whole[i].centre), pose.position);
	}
	cr_set_descent_time(d, 0);
	t->lost = cr_lost_gap(d);
	set_way(d);
	take_open_ways(d);
	d->limit = d->tolerance + 4 * t->lost; // parts that touch are not farther apart
	d->bound = bound_touching;
	d->meet = meet_at_the_beginning;
	d->by_gap = true;
	cr_descend(d);
	d->top = 0;
	make_guards(d);
	look_again(d);
	d->by_gap = false;
	return t->count > 0 || t->deep;
}

/// The gap along a guard with a level that is not to be lost.
static double kept_level(const touching *t, double level, double slack)
{
	const double held = level - 4 * t->lost < 0 ? level - 4 * t->lost : 0;
	return t->held && held > level - slack ? held : level - slack;
}

// ---- Boxes ----

static double bound_later(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from)
{
	const touching *t = d->user;
	if (t->far < INFINITY && cr_bound_distance(d, a, b, t->way) > t->far)
		return INFINITY;
	double time = cr_bound_time(d, a, b, from);
	if (!(time < d->limit))
		return time;
	// A pair that touches is followed from the beginning: it is told to have met there.
	const double touching_gap = d->tolerance + 4 * t->lost;
	if (!(from > 0) && cr_bound_gap_to(d, a, b, -INFINITY, touching_gap) <= touching_gap)
		time = -INFINITY;
	const double begin = time > 0 ? time : 0;
	const cr_mover_box *box[2] = { a, b };
	cr_guarded body[2];
	bool is_near[MOST_GUARDS];
	for (int i = 0; i < 2; i++)
		body[i] = (cr_guarded){ .motion = &d->mover[i]->motion,
			.is_plane = cr_is_plane(d->mover[i]),
			.centre = box[i]->centre,
			.extent = box[i]->extent,
			.reach = box[i]->reach,
			.places = &((touching *)d->user)->places[i] };
	for (int i = 0; i < t->count; i++)
		is_near[i] = cr_guard_gap(&body[0], &body[1], &t->guard[i], 0) >= kept_level(t, t->guard[i].level, t->slack);
	for (int i = 0; i < t->count; i++) {
		bool use = is_near[i];
		for (int k = 0; k < t->count; k++)
			use = use && !(is_near[k] && v3d_dot(t->normal[i], t->normal[k]) < OPPOSED);
		cr_guard guard = t->guard[i];
		guard.level = kept_level(t, guard.level, t->slack);
		double until = begin, last = -1;
		for (int k = 0; k < BOX_STEPS && use && until < 1 && until > last; k++) {
			last = until;
			until = cr_guard_until(&body[0], &body[1], &guard, until, 1);
		}
		if (use && until >= 1)
			return INFINITY;
	}
	return time;
}

// ---- A pair on its way ----

/// Is a direction one that the pair may take up now?
static bool may_take(const cr_descent *d, const part_pair *p, const progress *at, const cr_guard *guard, v3d normal)
{
	if (is_barred(d, p, normal, at->separation.gap, at->time))
		return false;
	if (!at->any)
		return true;
	if (at->guarded)
		return v3d_dot(normal, at->normal) > 0;
	return v3d_dot(normal, at->normal) > OPPOSED || cr_guard_gap(&p->body[0], &p->body[1], guard, 0) >= guard->level;
}

/// Takes a guard if it holds longer than the one so far. level: g.
static void try_guard(const cr_descent *d, const part_pair *p, const progress *at, cr_guard guard, double level, progress *next)
{
	guard.level = kept_level(d->user, level, next->slack);
	const v3d normal = cr_guard_normal(&p->body[0], &p->body[1], &guard, at->time);
	if (!may_take(d, p, at, &guard, normal))
		return;
	if (!(cr_guard_gap(&p->body[0], &p->body[1], &guard, at->time) >= guard.level))
		return;
	const double until = cr_guard_until(&p->body[0], &p->body[1], &guard, at->time, 1);
	if (next->found && !(until > next->until))
		return;
	next->found = true;
	next->until = until;
	next->normal = normal;
	next->guard = guard;
	next->guarded = next->any = true;
}

/// Takes a direction of the pair's own if there is a guard near it.
static void try_own(
	const cr_descent *d, const part_pair *p, const progress *at, const v3d *normals, cr_guard guard, progress *next)
{
	const touching *t = d->user;
	const v3d normal = cr_guard_normal(&p->body[0], &p->body[1], &guard, at->time);
	double most = NEAR_GUARD;
	int near = -1;
	for (int i = 0; i < t->count; i++) {
		const double cosine = v3d_dot(normals[i], normal);
		if (cosine >= most) {
			most = cosine;
			near = i;
		}
	}
	if (near >= 0)
		try_guard(d, p, at, guard, t->guard[near].level, next);
}

/// Looks for the guard that holds longest from now on.
static void find_guard(const cr_descent *d, const part_pair *p, const progress *at, progress *next)
{
	const touching *t = d->user;
	v3d normals[MOST_GUARDS];
	for (int i = 0; i < t->count; i++) {
		normals[i] = cr_guard_normal(&p->body[0], &p->body[1], &t->guard[i], at->time);
		try_guard(d, p, at, t->guard[i], t->guard[i].level, next);
	}
	if (next->until >= 1)
		return;
	for (int i = 0; i < p->faces; i++)
		try_own(d, p, at, normals, face_guard(p, i), next);
	if (!(cr_is_plane(d->mover[0]) || cr_is_plane(d->mover[1])))
		try_own(d, p, at, normals, guard_along(d, at->separation.normal, at->time), next);
}

static void show(progress *at, const cr_separation *s)
{
	at->shown_time = at->time;
	at->shown = *s;
}

/// Looks for a guard with a level. Returns whether there is one that holds for a while.
static bool find_guard_within(const cr_descent *d, const part_pair *p, const progress *at, double slack, progress *next)
{
	*next = *at;
	next->slack = slack;
	next->until = at->time;
	next->found = false;
	find_guard(d, p, at, next);
	return next->found && (next->until - next->time >= LEAST_STEP || next->until >= 1);
}

/// Goes on by the guard that holds longest. Returns false where none does: an impact.
static bool go_on_guarded(const cr_descent *d, const part_pair *p, progress *at)
{
	const touching *t = d->user;
	progress next;
	// As it began, or nearly so: the time that is told goes with it.
	bool on = !at->came && !at->sunk && find_guard_within(d, p, at, 0.25 * t->slack, &next);
	if (!on) {
		at->sunk = at->sunk || at->guarded || at->time == 0;
		on = find_guard_within(d, p, at, t->slack, &next);
	}
	const bool shows = !at->guarded || (!at->came && !at->sunk);
	if (shows) {
		const cr_separation seen = next.found ? see_along(d, p, &next) : see_obstacle(d, p, at);
		show(&next, &seen);
	}
	*at = next;
	if (!on)
		return false;
	at->time = next.until;
	if (at->time < 1)
		at->normal = cr_guard_normal(&p->body[0], &p->body[1], &at->guard, at->time);
	return true;
}

/// How long the pair stays apart by more than half of the tolerance, by the proof of guards: along
/// the direction in which it is nearest now.
static double apart_until(const cr_descent *d, const part_pair *p, const progress *at)
{
	cr_guard guard = guard_along(d, at->separation.normal, at->time);
	guard.level = 0.5 * d->tolerance;
	const double until = cr_guard_until(&p->body[0], &p->body[1], &guard, at->time, 1);
	return until < 1 ? until : (double)INFINITY;
}

/// Goes on from a time at which the pair is apart. slow: it has done so often.
static void go_on_apart(const cr_descent *d, const part_pair *p, progress *at, double gap, bool slow)
{
	const cr_motion *ma = &d->mover[0]->motion, *mb = &d->mover[1]->motion;
	const cr_separation *s = &at->separation;
	const double reach[2] = { p->body[0].is_plane ? 0 : reach_of(p, 0), p->body[1].is_plane ? 0 : reach_of(p, 1) };
	const double speed = p->body[1].is_plane ? cr_bound_over_plane(ma, reach[0], mb, s->normal, s->gap).speed
		: p->body[0].is_plane                ? cr_bound_over_plane(mb, reach[1], ma, v3d_neg(s->normal), s->gap).speed
											 : cr_motion_approach(ma, reach[0], mb, reach[1], s->normal);
	show(at, s);
	at->normal = s->normal;
	at->any = at->came = true;
	at->guarded = false;
	const double until = slow ? apart_until(d, p, at) : at->time;
	at->time = speed > 0 ? at->time + (gap - 0.5 * d->tolerance) / speed : (double)INFINITY;
	at->time = until > at->time ? until : at->time;
}

/// Follows a pair from a time before which it is apart. Returns the state at its impact, or
/// CR_IMPACT_NONE.
static cr_impact_state follow(cr_descent *d, const part_pair *p, progress *at)
{
	const bool held = ((const touching *)d->user)->held;
	for (int i = 0; i < MOST_STEPS; i++) {
		if (!(at->time < 1 && at->time < d->limit))
			return CR_IMPACT_NONE;
		measure(d, p, at->time, &at->separation);
		d->steps++;
		const double gap = safe_gap(d, p, at);
		const bool begins_without = !at->any && at->time == 0;
		if (at->time > 0 && !at->guarded) { // it came apart from the other
			at->normal = at->separation.normal;
			at->any = at->came = true;
		}
		if (gap > d->tolerance)
			go_on_apart(d, p, at, gap, held && i >= FEW_STEPS);
		else if (!go_on_guarded(d, p, at))
			// Where no way out is known from the beginning there is none to be lost.
			return begins_without && !at->any ? CR_IMPACT_NONE : CR_IMPACT_FOUND;
	}
	return CR_IMPACT_UNDECIDED;
}

/// Looks at two parts at the time of an impact: if the motion goes into them, and they are nearer
/// than those so far, they are told. Parts beside an obstacle may come within the tolerance first,
/// as the next triangle of a flat floor does, and lead aside.
static void meet_obstacle(cr_descent *d, const cr_part_pair *parts)
{
	touching *t = d->user;
	cr_mover_impact *best = d->best;
	part_pair p;
	set_pair(d, parts, &p);
	progress at = { .time = best->impact.time };
	measure(d, &p, at.time, &at.separation);
	if (!(at.separation.gap <= t->nearest) || (at.separation.gap == t->nearest && !cr_comes_first(d, parts, best->triangle)))
		return;
	const cr_separation seen = see_obstacle(d, &p, &at);
	const cr_guard guard = guard_along(d, seen.normal, at.time);
	if (!(cr_guard_rate(&p.body[0], &p.body[1], &guard, at.time) < -0.25 * t->slack))
		return;
	t->nearest = at.separation.gap;
	d->limit = cr_just_above(t->nearest);
	best->impact.separation = seen;
	for (int i = 0; i < 2; i++)
		best->triangle[i] = cr_part_triangle(d->mover[i], parts->part[i]);
}

/// Tells an impact of one that is held by the nearest parts that it goes into.
static void name_obstacle(cr_descent *d)
{
	d->top = 0;
	cr_set_descent_time(d, d->best->impact.time);
	touching *t = d->user;
	t->nearest = d->best->impact.separation.gap;
	d->limit = cr_just_above(t->nearest);
	d->bound = cr_bound_gap;
	d->by_gap = true;
	d->meet = meet_obstacle;
	cr_descend(d);
}

static void meet_later(cr_descent *d, const cr_part_pair *parts)
{
	touching *t = d->user;
	part_pair p;
	progress at = { .time = cr_start_of(d, parts) };
	if (!(at.time < d->limit)) // by their own boxes they do not meet
		return;
	set_pair(d, parts, &p);
	const cr_impact_state state = follow(d, &p, &at);
	if (state == CR_IMPACT_NONE)
		return;
	// Several may end at one time: the nearest of them is told.
	const double gap = d->best->impact.separation.gap;
	const bool nearer = at.shown.gap < gap || (at.shown.gap == gap && cr_comes_first(d, parts, d->best->triangle));
	if (!(at.time < t->ended || (at.time == t->ended && nearer)))
		return;
	t->ended = at.time;
	d->best->impact = (cr_impact){ state, at.shown_time, at.shown, at.shown_time, 0 };
	for (int i = 0; i < 2; i++)
		d->best->triangle[i] = cr_part_triangle(d->mover[i], parts->part[i]);
	d->limit = t->any ? -(double)INFINITY : cr_just_above(at.time);
}

// ---- A motion that presses on what it touches ----

/// Is there a way out for the two parts that approach each other fastest, which a guard keeps?
static bool has_guarded_way(const touching *t)
{
	double cosine;
	const int near = nearest_of(t, t->way_out, &cosine);
	return cosine >= NEAR_GUARD && t->way_gap - 2 * t->lost >= kept_level(t, t->guard[near].level, t->slack);
}

/// Do the two parts that approach each other fastest have an impact for certain? One look tells it:
/// shortly after the approach has led them so deep that no guard can be kept. No direction parts
/// them by more than their distance, so follow() would not get beyond that time.
static bool presses_in(const cr_descent *d)
{
	const touching *t = d->user;
	double least = INFINITY;
	if (!has_guarded_way(t))
		return false;
	for (int i = 0; i < t->count; i++)
		least = fmin(least, kept_level(t, t->guard[i].level, t->slack));
	const double time = (t->first.gap - least + PRESSED * d->tolerance) / -t->approach;
	if (!(time > 0 && time < 1))
		return false;
	part_pair p;
	cr_separation s;
	set_pair(d, &t->pressing, &p);
	measure(d, &p, time, &s);
	return s.gap + s.error + 4 * t->lost < least;
}

/// Looks for impacts of two that touch at the beginning and approach each other there: any one
/// tells that they stop at the beginning.
static void find_any_impact(cr_descent *d, cr_mover_impact *impact)
{
	touching *t = d->user;
	if (presses_in(d)) {
		impact->impact.state = CR_IMPACT_FOUND;
		return;
	}
	t->any = true;
	cr_descend(d);
}

/// Tells the two parts that approach each other fastest at the beginning.
static void tell_first(const touching *t, cr_impact_state state, cr_mover_impact *impact)
{
	impact->impact = (cr_impact){ .state = state, .separation = t->first };
	impact->triangle[0] = t->triangle[0];
	impact->triangle[1] = t->triangle[1];
}

bool cr_find_later_impact(cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b, double tolerance, double limit,
	const cr_open_ways *ways, cr_mover_impact *impact)
{
	cr_descent d = { .tolerance = tolerance };
	touching t = {
		.slack = cr_sinking_of(a, b, tolerance), .held = a->held || b->held, .nearest = INFINITY, .ended = INFINITY, .open = ways
	};
	*impact = (cr_mover_impact){ { .state = CR_IMPACT_TOUCHING }, .triangle = { -1, -1 } };
	d.user = &t;
	if (!cr_prepare_descent(&d, scratch, a, b, impact) || (!find_guards(&d) && !t.held))
		return false;
	if (t.deep) {
		impact->deep = true;
		// two triangles of meshes tell no way out of either mesh
		if (t.held && !(a->collider && b->collider))
			tell_first(&t, CR_IMPACT_TOUCHING, impact);
		else
			cr_find_nearest_parts(scratch, a, b, impact);
		return true;
	}
	if (!(t.nearest < INFINITY))
		impact->impact = (cr_impact){ .state = CR_IMPACT_NONE, .time = 1, .separation_time = 1 };
	t.slack += 4 * t.lost;
	// An approach at the beginning counts whatever has been found before.
	d.limit = t.held && t.nearest < INFINITY ? 1 : limit;
	d.bound = bound_later;
	d.meet = meet_later;
	const bool presses = t.approach < -0.25 * t.slack;
	if (t.held && presses)
		find_any_impact(&d, impact);
	else
		cr_descend(&d);
	if (impact->impact.state != CR_IMPACT_TOUCHING && presses) {
		tell_first(&t, impact->impact.state, impact);
	} else if (t.held && impact->impact.state == CR_IMPACT_FOUND && impact->impact.time > 0) {
		name_obstacle(&d);
	}
	impact->impact.steps = d.steps;
	return true;
}
