/// See slide.h. Triangles: the separating axis test, where each axis bounds the moves instead of
/// answering yes or no. Convex bodies: conservative advancement from either end, as in van den
/// Bergen, Ray Casting against General Convex Objects with Application to Continuous Collision
/// Detection (2004).
#include "geom/slide.h"
#include "geom/separation.h"

enum { MOST_ADVANCES = 24 };

/// Two triangles, and the moves that no axis has ruled out yet.
typedef struct sliding {
	const v3d *a;
	const v3d *b;
	v3d direction;
	double slack;
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

/// Bound the moves by an axis of any length. Returns false when none remains.
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
		return s->leave >= s->enter;
	}
	const double p = back / slope, q = forth / slope, enter = p < q ? p : q, leave = p < q ? q : p;
	s->enter = enter > s->enter ? enter : s->enter;
	if (leave < s->leave) {
		s->leave = leave;
		s->normal = slope > 0 ? n : v3d_neg(n);
		s->reach = slope > 0 ? forth : -back;
	}
	return s->leave >= s->enter;
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
	for (int k = 0; k < 3; k++) {
		if (!try_axis(s, v3d_cross(na, ea[k])) || !try_axis(s, v3d_cross(nb, eb[k])))
			return false;
	}
	return true;
}

void cr_slide_triangles(const v3d a[3], const v3d b[3], v3d direction, double slack, cr_slide *slide)
{
	sliding s = { a, b, direction, slack, -INFINITY, INFINITY, direction, INFINITY };
	// The direction itself bounds every pair.
	const bool meets = try_axis(&s, direction) && try_axes(&s);
	const double length = v3d_length(s.normal);
	*slide = (cr_slide){ s.enter, meets ? s.leave : -INFINITY, v3d_scale(s.normal, 1 / length), s.reach / length };
}

/// Tells how two bodies are apart when A is moved by s. false: they overlap.
static bool is_apart_at(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double s, cr_separation *separation)
{
	const cr_relative moved = { b_in_a->rotation, v3d_mad(b_in_a->position, -s, direction) };
	return cr_convex_apart(a, b, &moved, separation);
}

void cr_slide_convex(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, v3d direction, double slack,
	const cr_slide *first, cr_slide *slide)
{
	cr_separation s;
	*slide = *first;
	// At either end, a plane that parts the two does so until the move has used up their gap.
	for (int i = 0; i < MOST_ADVANCES; i++) {
		if (!is_apart_at(a, b, b_in_a, direction, slide->leave, &s))
			break;
		const double slope = v3d_dot(s.normal, direction), spare = s.gap - slack;
		if (!(spare > 0))
			break;
		if (!(slope > 0) || slide->leave - spare / slope < slide->enter) {
			slide->leave = -INFINITY;
			return;
		}
		slide->leave -= spare / slope;
		slide->normal = s.normal;
		slide->reach = slide->leave * slope;
	}
	for (int i = 0; i < MOST_ADVANCES; i++) {
		if (!is_apart_at(a, b, b_in_a, direction, slide->enter, &s))
			break;
		const double slope = v3d_dot(s.normal, direction), spare = s.gap - slack;
		if (!(spare > 0))
			break;
		if (!(slope < 0) || slide->enter - spare / slope > slide->leave) {
			slide->leave = -INFINITY;
			return;
		}
		slide->enter -= spare / slope;
	}
}
