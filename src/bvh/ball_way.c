/// The way of a ball beside a mesh that does not turn, where little happens: most balls of a heap
/// creep on the ground. In the frame of the mesh the centre of the ball moves on a straight
/// line by way, and touching.c and mover.c have closed forms. Let the centre begin at the distance
/// d > 0 from a triangle, with the unit direction n from its nearest point. The whole triangle lies
/// behind the plane across n there, so at time t the gap is at least
///     d - radius + t n . way.
///
/// A triangle is clear all the way, as touching.c says it, in each of these cases:
/// (1) It is apart at the beginning, and that bound stays above the tolerance.
/// (2) It touches at the beginning, and n . way is no less than a quarter of the slack below zero:
///     n is a direction of its own.
/// (3) Along a direction n of a triangle that touches, the ball is beyond it by the level of that
///     one less the slack, at both ends of the way. The height along n is linear in time.
/// Where one triangle is none of these, another search has to tell. So has it where the ball is
/// deeper than the slack in a triangle, or not in front of one that it touches; else it begins
/// outside of a closed mesh, because the point of the surface that is nearest to its centre then
/// sees the centre in front of all triangles around it.
///
/// Cost: a walk of the tree around the way, eight boxes or triangles at a time, and the nearest
/// points of the triangles there.

#include "bvh/mover_walk.h"
#include "geom/triangle.h"

enum { MOST_TRIANGLES = 192, MOST_DIRECTIONS = 8, MOST_DOUBTS = 32 };

static const double ALIKE = 0.999;  // cosine: triangles that touch share a direction
static const double MOST_WAY = 4;   // radii
static const double CLEARLY = 1e-9; // of a length: less is no front

/// A ball on its way, in the frame of the mesh.
typedef struct ball_way {
	const cr_mover *mesh;
	v3d centre, way;
	double radius, tolerance, slack;
	double lost; // to roundings of a gap
	// of triangles that touch: from them to the ball, with the least gaps
	v3d direction[MOST_DIRECTIONS];
	double level[MOST_DIRECTIONS];
	int count;
	int32_t doubt[MOST_DOUBTS]; // triangles that are neither (1) nor (2)
	int doubts;
	// of the triangles that touch, the one that is nearest
	double nearest;
	int32_t triangle;
	v3d point, normal; // of the triangle, to the ball
} ball_way;

static v3d front_of(const ball_way *b, const v3d corner[3])
{
	const v3d n = cr_triangle_normal(corner);
	const bool turned = b->mesh->two_sided && v3d_dot(n, v3d_sub(b->centre, corner[0])) < 0;
	return turned ? v3d_neg(n) : n;
}

static void add_direction(ball_way *b, v3d n, double gap)
{
	const double level = fmin(gap, 0.5 * b->tolerance);
	for (int i = 0; i < b->count; i++) {
		if (v3d_dot(b->direction[i], n) >= ALIKE) {
			b->level[i] = fmin(b->level[i], level);
			return;
		}
	}
	if (b->count == MOST_DIRECTIONS)
		return;
	b->direction[b->count] = n;
	b->level[b->count++] = level;
}

/// A triangle that touches at the beginning. Returns whether it is clear.
static bool take_touching(ball_way *b, int32_t triangle, const v3d corner[3], v3d point, double distance)
{
	const v3d away = v3d_sub(b->centre, point), n = v3d_scale(away, 1 / distance);
	const double gap = distance - b->radius;
	if (!(gap >= -b->slack) || !(v3d_dot(front_of(b, corner), away) > CLEARLY * distance) ||
		!(v3d_dot(n, b->way) >= -0.25 * b->slack))
		return false;
	add_direction(b, n, gap);
	if (b->triangle < 0 || gap < b->nearest || (gap == b->nearest && triangle < b->triangle)) {
		b->nearest = gap;
		b->triangle = triangle;
		b->point = point;
		b->normal = n;
	}
	return true;
}

/// Looks at a triangle at the beginning. Returns whether it is clear, or perhaps so.
static bool look_at(ball_way *b, int32_t triangle)
{
	v3d corner[3];
	cr_collider_triangle(b->mesh->collider, triangle, corner);
	const cr_triangle_point on = cr_closest_on_triangle(b->centre, corner);
	const v3d away = v3d_sub(b->centre, on.point);
	const double distance = v3d_length(away), gap = distance - b->radius - b->lost;
	if (!(distance > 0))
		return false;
	if (!(gap > b->tolerance))
		return take_touching(b, triangle, corner, on.point, distance);
	if (gap + v3d_dot(away, b->way) / distance > b->tolerance)
		return true;
	if (b->doubts == MOST_DOUBTS)
		return false;
	b->doubt[b->doubts++] = triangle;
	return true;
}

/// Is a triangle clear along a direction of those that touch?
static bool is_behind_others(const ball_way *b, int32_t triangle)
{
	v3d corner[3];
	cr_collider_triangle(b->mesh->collider, triangle, corner);
	const v3d front = front_of(b, corner);
	for (int i = 0; i < b->count; i++) {
		const v3d n = b->direction[i];
		if (!(v3d_dot(n, front) > CLEARLY))
			continue;
		const double top = fmax(v3d_dot(n, corner[0]), fmax(v3d_dot(n, corner[1]), v3d_dot(n, corner[2])));
		const double height = v3d_dot(n, b->centre) - top - b->radius - b->lost;
		if (height + fmin(v3d_dot(n, b->way), 0) >= b->level[i] - b->slack)
			return true;
	}
	return false;
}

static bool look_at_all(ball_way *b, const cr_bvh_kernels *kernels)
{
	int32_t triangles[MOST_TRIANGLES];
	const double reach = 0.5 * v3d_length(b->way) + b->radius + b->tolerance + 2 * b->lost;
	const int32_t count = kernels->around(b->mesh->collider, v3d_mad(b->centre, 0.5, b->way), reach, MOST_TRIANGLES, triangles);
	bool clear = count <= MOST_TRIANGLES;
	for (int32_t i = 0; clear && i < count; i++)
		clear = look_at(b, triangles[i]);
	for (int i = 0; clear && i < b->doubts; i++)
		clear = is_behind_others(b, b->doubt[i]);
	return clear;
}

static bool is_ball(const cr_mover *m) { return m->convex && m->convex->core == CR_CORE_POINT && !m->motion.is_part; }

static bool is_straight_mesh(const cr_mover *m)
{
	return m->collider && m->collider->triangle_count > 0 && m->motion.angle == 0;
}

/// Tells the ball and the mesh apart, and brings the ball into the frame of the mesh, of which
/// rotation leads to the world.
static bool set_way(const cr_mover *a, const cr_mover *b, double tolerance, ball_way *way, m3d *rotation)
{
	const bool ball_is_a = is_ball(a) && is_straight_mesh(b);
	const cr_mover *ball = ball_is_a ? a : b, *mesh = ball_is_a ? b : a;
	if (!ball_is_a && !(is_ball(b) && is_straight_mesh(a)))
		return false;
	const carom_pose place = cr_motion_start(&mesh->motion);
	*rotation = m3d_from_quat(place.orientation);
	*way = (ball_way){ .mesh = mesh,
		.centre = m3d_tmul(rotation, v3d_sub(ball->motion.begin.position, place.position)),
		.way = m3d_tmul(rotation, v3d_sub(ball->motion.travel, mesh->motion.travel)),
		.radius = ball->convex->rounding,
		.tolerance = tolerance,
		.slack = cr_sinking_of(a, b, tolerance),
		.triangle = -1 };
	const double length = v3d_length(way->way);
	way->lost = cr_motion_rounding((double)mesh->collider->scale, way->radius, v3d_length(way->centre) + length);
	return length <= MOST_WAY * way->radius;
}

static void tell_touching(const ball_way *b, const m3d *rotation, bool ball_is_a, cr_mover_impact *impact)
{
	const v3d up = m3d_mul(rotation, b->normal);
	cr_separation *s = &impact->impact.separation;
	impact->impact.state = CR_IMPACT_TOUCHING;
	impact->impact.time = impact->impact.separation_time = 0;
	*s = (cr_separation){ .gap = b->nearest, .normal = ball_is_a ? up : v3d_neg(up), .converged = true };
	s->on_a = ball_is_a ? v3d_scale(up, -b->radius) : m3d_mul(rotation, b->point);
	s->on_b = v3d_mad(s->on_a, -s->gap, s->normal);
	impact->triangle[ball_is_a ? 1 : 0] = b->triangle;
}

bool cr_find_ball_way(
	const cr_bvh_kernels *kernels, const cr_mover *a, const cr_mover *b, double tolerance, cr_mover_impact *impact)
{
	ball_way way;
	m3d rotation;
	*impact = cr_no_impact();
	if (!set_way(a, b, tolerance, &way, &rotation) || !look_at_all(&way, kernels))
		return false;
	if (way.triangle >= 0)
		tell_touching(&way, &rotation, way.mesh == b, impact);
	else
		cr_find_inside(kernels, a, b, impact);
	return true;
}
