/// Newton's method for the distance of curved bodies. See geom/curved_descent.h.
///
/// With h the support function of the difference D, the point of D nearest to the origin is the u
/// with the least h(-u) + |u|^2 / 2, and u is at right angles to the plane that parts the bodies.
/// That sum is strictly convex. D is the hull of smooth parts (geom/convex.h), so h is the most of
/// their support functions h_j. Each has the point p_j farthest along -u for its slope and the
/// radii of curvature H_j for its second derivatives (Schneider, Convex Bodies, section 2.5).
///
/// One step of sequential quadratic programming (Wilson 1963; Nocedal and Wright, Numerical
/// Optimization, chapter 18) has the dual: of the weights w that sum to 1, those with the least
/// P^T M^-1 P, where P is the sum of w_j p_j and M is 1 along u and (H / g + 1) across it. g is the
/// distance so far, H the mean of the H_j by the last weights. A change of the axes makes that the
/// point of a simplex nearest to the origin, which geom/simplex.h finds; with H = 0 it is the step
/// of Gilbert, Johnson and Keerthi. They converge linearly on curved bodies; these steps converge
/// quadratically, once the parts are those that the nearest points lie on.
///
/// A step that does not raise the lower bound is not taken: where it has met a part that is not in
/// the simplex yet, that part joins; else the step is halved. The end is proved by the two bounds,
/// so none of this needs to be trusted.

#include "geom/curved_descent.h"

enum { MOST_STEPS = 24, MOST_HALVINGS = 6 };

/// The points of both bodies, in their own frames, that tell smooth parts.
typedef struct part {
	v3d a;
	v3d b;
} part;

typedef struct descent {
	const cr_difference *difference;
	v3d n;         // the best direction
	double lower;  // the bodies are apart by so much along it
	part farthest; // along it
	part parts[4]; // those of the simplex
	v3d point[4];  // of D, farthest on each part
	double weight[4];
	int count;
	bool last_counts; // the part that joined last has a weight
} descent;

static part farthest_along(const cr_difference *d, v3d n)
{
	return (part){ cr_convex_support(d->a, v3d_neg(n)), cr_convex_support(d->b, m3d_tmul(&d->at->rotation, n)) };
}

/// Let a part be number i of the simplex, by its farthest points along n.
static void place_part(descent *s, int i, part on)
{
	const cr_difference *d = s->difference;
	const part at = { cr_convex_part_support(d->a, on.a, s->farthest.a, v3d_neg(s->n)),
		cr_convex_part_support(d->b, on.b, s->farthest.b, m3d_tmul(&d->at->rotation, s->n)) };
	s->parts[i] = at;
	s->point[i] = cr_difference_point(d, at.a, at.b);
}

/// Let the part that was placed behind those of the simplex join them, with no weight yet. False:
/// it is there.
static bool join(descent *s)
{
	const v3d p = s->point[s->count];
	for (int i = 0; i < s->count; i++) {
		if (s->point[i].x == p.x && s->point[i].y == p.y && s->point[i].z == p.z)
			return false;
	}
	s->weight[s->count++] = 0;
	return true;
}

/// Take a direction, the parts farthest along it, and the point of D that they make.
static void move_to(descent *s, v3d n, part farthest, v3d point, double lower)
{
	s->n = n;
	s->lower = lower;
	s->farthest = farthest;
	for (int i = 0; i < s->count; i++)
		place_part(s, i, s->parts[i]);
	s->parts[s->count] = farthest;
	s->point[s->count] = point;
	join(s);
}

/// Add the radii of curvature of a body (b: of B) where the parts of the simplex bend.
static void add_curvature(const descent *s, bool b, const v3d axes[2], double radii[3])
{
	const cr_difference *d = s->difference;
	const cr_convex *c = b ? d->b : d->a;
	if (!cr_convex_is_curved(c))
		return;
	double share = 0, own[3];
	int bent = -1;
	for (int i = 0; i < s->count; i++) {
		if (!cr_convex_part_bends(c, b ? s->parts[i].b : s->parts[i].a))
			continue;
		share += s->weight[i];
		bent = i;
	}
	if (!(share > 0))
		return;
	if (b) {
		const m3d *r = &d->at->rotation;
		const v3d own_axes[2] = { m3d_tmul(r, axes[0]), m3d_tmul(r, axes[1]) };
		cr_convex_curvature(c, s->parts[bent].b, m3d_tmul(r, s->n), own_axes, own);
	} else
		cr_convex_curvature(c, s->parts[bent].a, v3d_neg(s->n), axes, own);
	for (int k = 0; k < 3; k++)
		radii[k] += share * own[k];
}

/// Sets the weights to those of a simplex in other axes, whose vertices keep the number of their
/// part, and leaves out the parts that have none.
static void take_weights(descent *s, const cr_simplex *found)
{
	part parts[4];
	v3d point[4];
	s->last_counts = false;
	for (int i = 0; i < found->count; i++) {
		const int from = (int)found->v[i].a.x;
		parts[i] = s->parts[from];
		point[i] = s->point[from];
		s->last_counts = s->last_counts || from == s->count - 1;
	}
	s->count = found->count;
	for (int i = 0; i < found->count; i++) {
		s->parts[i] = parts[i];
		s->point[i] = point[i];
		s->weight[i] = found->weight[i];
	}
}

/// Two axes across n, and the root of the metric across it: rows (x, 0) and (y, z).
typedef struct metric {
	v3d axis[2];
	double x, y, z;
} metric;

/// False: the curvature is not finite.
static bool set_metric(const descent *s, metric *m)
{
	m->axis[0] = cr_across(s->n);
	m->axis[1] = v3d_cross(s->n, m->axis[0]);
	double k[3] = { s->lower, 0, s->lower };
	add_curvature(s, false, m->axis, k);
	add_curvature(s, true, m->axis, k);
	const double scale = 1 / s->lower;
	m->x = sqrt(k[0] * scale);
	m->y = k[1] * scale / m->x;
	m->z = sqrt(k[2] * scale - m->y * m->y);
	return m->x > 0 && m->z > 0;
}

static v3d to_metric(const metric *m, v3d n, v3d p)
{
	const double u = v3d_dot(p, m->axis[0]) / m->x;
	return (v3d){ u, (v3d_dot(p, m->axis[1]) - m->y * u) / m->z, v3d_dot(p, n) };
}

/// Sets the weights and the next direction. False: that is not to be had.
static bool solve_step(descent *s, v3d *next)
{
	metric m;
	if (!set_metric(s, &m))
		return false;
	v3d p = to_metric(&m, s->n, s->point[0]);
	if (s->count > 1) {
		cr_simplex all;
		all.count = s->count;
		all.v[0] = (cr_simplex_vertex){ p, { 0, 0, 0 } };
		for (int i = 1; i < s->count; i++)
			all.v[i] = (cr_simplex_vertex){ to_metric(&m, s->n, s->point[i]), { i, 0, 0 } };
		const cr_simplex found = cr_nearest_of_simplex(&all);
		p = cr_simplex_point(&found);
		take_weights(s, &found);
	}
	const double v = p.y / m.z, u = (p.x - m.y * v) / m.x;
	*next = v3d_normalize(v3d_mad(v3d_mad(v3d_scale(s->n, p.z), u, m.axis[0]), v, m.axis[1]));
	return s->count < 4;
}

/// Of the point of D that the weights make.
static double distance_of(const descent *s)
{
	v3d p = v3d_scale(s->point[0], s->weight[0]);
	for (int i = 1; i < s->count; i++)
		p = v3d_mad(p, s->weight[i], s->point[i]);
	return v3d_length(p);
}

static cr_simplex simplex_of(const descent *s)
{
	cr_simplex simplex = { .count = s->count };
	for (int i = 0; i < s->count; i++) {
		simplex.v[i] = (cr_simplex_vertex){ s->point[i], s->parts[i].a };
		simplex.weight[i] = s->weight[i];
	}
	return simplex;
}

/// Halve the step from the best direction to n, unless that was done too often.
static bool halve(const descent *s, v3d *n, int *halvings)
{
	*n = v3d_normalize(v3d_add(*n, s->n));
	return (*halvings)++ < MOST_HALVINGS;
}

/// Take the direction n, or let a part that stops the step join, and find the next one. False: no
/// way leads on.
static bool advance(descent *s, v3d *n, int *halvings)
{
	const cr_difference *d = s->difference;
	const part w = farthest_along(d, *n);
	const v3d point = cr_difference_point(d, w.a, w.b);
	const double bound = v3d_dot(*n, point);
	if (bound > s->lower) {
		const bool first = s->count == 0;
		move_to(s, *n, w, point, bound);
		s->weight[0] = first ? 1 : s->weight[0];
		*halvings = 0;
		return solve_step(s, n);
	}
	if (s->count == 0)
		return false;
	place_part(s, s->count, w);
	if (!join(s))
		return halve(s, n, halvings);
	// Far from n a part may stop the step that is in no one's way beside n.
	v3d next;
	if (!solve_step(s, &next))
		return false;
	if (!s->last_counts)
		return halve(s, n, halvings);
	*n = next;
	return true;
}

bool cr_descend_curved(const cr_difference *d, v3d n, double tolerance, cr_simplex *nearest, double *lower, v3d *normal)
{
	descent s;
	s.difference = d;
	s.lower = 0;
	s.count = 0;
	int halvings = 0;
	for (int step = 0; step < MOST_STEPS; step++) {
		if (!advance(&s, &n, &halvings))
			return false;
		if (s.lower > d->enough || distance_of(&s) - s.lower <= tolerance) {
			*nearest = simplex_of(&s);
			*lower = s.lower;
			*normal = s.n;
			return true;
		}
	}
	return false;
}
