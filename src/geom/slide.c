/// See slide.h. Triangles: the separating axis test, where each axis bounds the moves instead of
/// answering yes or no. Convex bodies: a ray is cast at their difference from either end, as in van
/// den Bergen, Ray Casting against General Convex Objects with Application to Continuous Collision
/// Detection (2004): each plane that parts the two moves the end of the ray up to that plane, and
/// the simplex goes along.
///
/// Each search takes at most MOST_STEPS steps. Wherever it stops its answer is a bound that holds:
/// find_end moves only up to planes that part the two, and cr_slide_holds says that two bodies
/// overlap unless a plane has parted them. An end that is told depends on the bodies, the direction
/// and the move that it is sought from, not on where the search may stop: the caller counts on that
/// (head of bvh/clear_way.c).
#include "geom/slide.h"
#include "geom/simplex.h"

enum { MOST_STEPS = 48 };

// Of the sizes: bodies no farther apart touch, for all that rounding tells; and an end is known
// well enough.
static const double TOUCHING = 1e-14, NEAR = 1e-10;
// Square of the sine between the normals of triangles that lie flat upon each other.
static const double FLAT = 1e-12;

/// Two triangles, and the moves that no axis has ruled out yet.
typedef struct sliding {
	const v3d *a;
	const v3d *b;
	v3d direction;
	double slack;
	double low, high; // an interval that ends before low or begins after high is of no use
	double enter, leave;
	v3d normal; // of any length
	double reach;
} sliding;

static double least_of(const double d[3]) { return d[0] < d[1] ? (d[0] < d[2] ? d[0] : d[2]) : (d[1] < d[2] ? d[1] : d[2]); }
static double most_of(const double d[3]) { return d[0] > d[1] ? (d[0] > d[2] ? d[0] : d[2]) : (d[1] > d[2] ? d[1] : d[2]); }

static void rule_out_all(sliding *s)
{
	s->enter = INFINITY;
	s->leave = -INFINITY;
}

static bool is_of_use(const sliding *s) { return s->leave >= s->enter && s->leave >= s->low && s->enter <= s->high; }

/// Bound the moves by an axis of any length. Returns false when none of use remains.
static bool try_axis(sliding *s, v3d n)
{
	const double on_a[3] = { v3d_dot(n, s->a[0]), v3d_dot(n, s->a[1]), v3d_dot(n, s->a[2]) };
	const double on_b[3] = { v3d_dot(n, s->b[0]), v3d_dot(n, s->b[1]), v3d_dot(n, s->b[2]) };
	const double slack = s->slack * (fabs(n.x) + fabs(n.y) + fabs(n.z)), slope = v3d_dot(n, s->direction);
	const double back = least_of(on_b) - most_of(on_a) - slack, forth = most_of(on_b) - least_of(on_a) + slack;
	if (!(slack > 0))
		return true;
	// Across the way, or as good as across it: within a move of any length that counts the axis
	// changes by less than the slack.
	if (fabs(slope) < 1e-12 * (fabs(n.x) + fabs(n.y) + fabs(n.z))) {
		if (back > 0 || forth < 0)
			rule_out_all(s);
		return is_of_use(s);
	}
	const double p = back / slope, q = forth / slope, enter = p < q ? p : q, leave = p < q ? q : p;
	s->enter = enter > s->enter ? enter : s->enter;
	if (leave < s->leave) {
		s->leave = leave;
		s->normal = slope > 0 ? n : v3d_neg(n);
		s->reach = slope > 0 ? forth : -back;
	}
	return is_of_use(s);
}

static bool try_axes(sliding *s)
{
	v3d ea[3], eb[3];
	for (int k = 0; k < 3; k++) {
		ea[k] = v3d_sub(s->a[(k + 1) % 3], s->a[k]);
		eb[k] = v3d_sub(s->b[(k + 1) % 3], s->b[k]);
	}
	const v3d na = v3d_cross(ea[0], ea[1]), nb = v3d_cross(eb[0], eb[1]);
	if (!try_axis(s, na) || !try_axis(s, nb))
		return false;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++) {
			if (!try_axis(s, v3d_cross(ea[i], eb[k])))
				return false;
		}
	}
	// Only where the two are flat upon each other, or one has no area, has their difference sides
	// of another kind.
	const v3d both = v3d_cross(na, nb);
	if (v3d_dot(both, both) > FLAT * v3d_dot(na, na) * v3d_dot(nb, nb))
		return true;
	for (int k = 0; k < 3; k++) {
		if (!try_axis(s, v3d_cross(na, ea[k])) || !try_axis(s, v3d_cross(nb, eb[k])))
			return false;
	}
	return true;
}

void cr_slide_triangles(const v3d a[3], const v3d b[3], v3d direction, double slack, double low, double high, cr_slide *slide)
{
	sliding s = { a, b, direction, slack, low, high, -INFINITY, INFINITY, direction, INFINITY };
	// The direction itself bounds every pair.
	const bool meets = try_axis(&s, direction) && try_axes(&s);
	const double length = v3d_length(s.normal);
	*slide =
		(cr_slide){ s.enter, meets || s.enter > high ? s.leave : -INFINITY, v3d_scale(s.normal, 1 / length), s.reach / length };
}

// ---- Convex bodies ----

/// The difference D of two bodies, all a - b, when A has been moved by s along a direction. The
/// bodies overlap where D, with the roundings around it, holds the origin.
typedef struct difference {
	const cr_convex *a;
	const cr_convex *b;
	const cr_relative *b_in_a;
	v3d direction;
	double rounding; // of both, and the slack
	double size;
	double s;
	cr_simplex simplex; // of D; beside each vertex: where it was before the move
	v3d v;              // the point of the simplex that is nearest to the origin
} difference;

/// Move A to s.
static void set_move(difference *d, double s)
{
	d->s = s;
	for (int i = 0; i < d->simplex.count; i++)
		d->simplex.v[i].d = v3d_mad(d->simplex.v[i].a, s, d->direction);
}

static difference difference_of(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double slack, double s)
{
	const v3d from = cr_convex_centre(a), to = v3d_add(m3d_mul(&b_in_a->rotation, cr_convex_centre(b)), b_in_a->position);
	difference d = { a, b, b_in_a, direction, a->rounding + b->rounding + slack, .s = s };
	d.v = v3d_mad(v3d_sub(from, to), s, direction);
	d.size = cr_convex_size(a) + cr_convex_size(b) + v3d_length(d.v) + d.rounding;
	if (!(v3d_length(d.v) > TOUCHING * d.size))
		d.v = direction;
	return d;
}

/// The vertex of D farthest against v.
static cr_simplex_vertex farthest_back(const difference *d)
{
	const v3d b = cr_convex_support(d->b, m3d_tmul(&d->b_in_a->rotation, d->v)), a = cr_convex_support(d->a, v3d_neg(d->v));
	const v3d before = v3d_sub(v3d_sub(a, m3d_mul(&d->b_in_a->rotation, b)), d->b_in_a->position);
	return (cr_simplex_vertex){ v3d_mad(before, d->s, d->direction), before };
}

static bool has_vertex(const difference *d, v3d before)
{
	for (int i = 0; i < d->simplex.count; i++) {
		const v3d p = d->simplex.v[i].a;
		if (p.x == before.x && p.y == before.y && p.z == before.z)
			return true;
	}
	return false;
}

/// Add a vertex, and go to the point nearest to the origin. false: nothing is left to gain, or D
/// holds the origin.
static bool go_nearer(difference *d, const cr_simplex_vertex *w, bool moved)
{
	cr_simplex wider = d->simplex;
	if (!has_vertex(d, w->a))
		wider.v[wider.count++] = *w;
	else if (!moved)
		return false;
	const double before = d->simplex.count > 0 ? v3d_dot(d->v, d->v) : INFINITY;
	d->simplex = cr_nearest_of_simplex(&wider);
	if (d->simplex.count == 4)
		return false;
	d->v = cr_simplex_point(&d->simplex);
	return moved || v3d_dot(d->v, d->v) < before;
}

bool cr_slide_holds(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double slack, double at, double *enter)
{
	difference d = difference_of(a, b, b_in_a, direction, slack, at);
	for (int step = 0; step < MOST_STEPS; step++) {
		const double length = v3d_length(d.v);
		if (d.simplex.count > 0 && length <= fmax(d.rounding, TOUCHING * d.size))
			break;
		const cr_simplex_vertex w = farthest_back(&d);
		const double gap = v3d_dot(d.v, w.d) / length - d.rounding, slope = v3d_dot(d.v, direction) / length;
		if (gap > 0) {
			*enter = slope < 0 ? at - gap / slope : INFINITY;
			return false;
		}
		if (!go_nearer(&d, &w, false))
			break;
	}
	*enter = at;
	return true;
}

/// An end of the interval, sought from a move beyond it: sense is 1 for the upper end, -1 for the
/// lower. normal stays where the first move overlaps. false: none before stop.
static bool find_end(difference *d, double sense, double stop, double *end, v3d *normal)
{
	for (int step = 0; step < MOST_STEPS; step++) {
		const double length = v3d_length(d->v);
		if (d->simplex.count > 0 && length <= d->rounding + TOUCHING * d->size)
			break;
		const cr_simplex_vertex w = farthest_back(d);
		const double gap = v3d_dot(d->v, w.d) / length - d->rounding, slope = v3d_dot(d->v, d->direction) / length;
		const bool moves = gap > 0;
		if (moves) {
			if (!(sense * slope > 0) || !(sense * (d->s - gap / slope - stop) >= 0))
				return false;
			*normal = v3d_scale(d->v, 1 / length);
			set_move(d, d->s - gap / slope);
		}
		if (d->simplex.count > 0 && length - d->rounding <= NEAR * d->size)
			break;
		const cr_simplex_vertex moved = { v3d_mad(w.a, d->s, d->direction), w.a };
		if (!go_nearer(d, &moved, moves))
			break;
	}
	*end = d->s;
	return true;
}

bool cr_slide_end(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double slack, double from,
	double stop, double *end, v3d *normal)
{
	difference d = difference_of(a, b, b_in_a, direction, slack, from);
	return find_end(&d, from > stop ? 1 : -1, stop, end, normal);
}

void cr_slide_convex(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double slack,
	const cr_slide *first, cr_slide *slide)
{
	double end;
	v3d unused;
	*slide = *first;
	slide->normal = (v3d){ 0, 0, 0 };
	if (!cr_slide_end(a, b, b_in_a, direction, slack, first->leave, first->enter, &slide->leave, &slide->normal) ||
		!cr_slide_end(a, b, b_in_a, direction, slack, first->enter, slide->leave, &end, &unused)) {
		slide->leave = -INFINITY;
		return;
	}
	slide->enter = end;
	if (slide->leave < first->leave)
		slide->reach = slide->leave * v3d_dot(slide->normal, direction);
	else
		slide->normal = first->normal;
}
