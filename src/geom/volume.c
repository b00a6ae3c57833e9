// Basic volumes in their own frames: distance of a point, rays, bounds; and the gap between two of
// them.
#include "geom/volume.h"

#include "geom/box.h"
#include "geom/triangle.h"

static const v3d UNIT[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };

// The point of a capsule's axis nearest to p; the centre of a sphere.
static v3d core_point(const carom_shape *shape, v3d p)
{
	double half = shape->type == CAROM_CAPSULE ? shape->half_length : 0;
	return (v3d){ 0, 0, p.z < -half ? -half : p.z > half ? half : p.z };
}

static double round_distance(const carom_shape *shape, v3d p, v3d *nearest, v3d *normal)
{
	v3d core = core_point(shape, p), d = v3d_sub(p, core);
	double length = v3d_length(d);
	// On the axis every direction across it is as good; at a centre, every direction at all.
	*normal = length > 0                                         ? v3d_scale(d, 1 / length)
		: shape->type == CAROM_CAPSULE && shape->half_length > 0 ? UNIT[0]
																 : UNIT[2];
	const double radius = cr_round_radius(shape);
	*nearest = v3d_mad(core, radius, *normal);
	return length - radius;
}

double cr_volume_distance(const carom_shape *shape, v3d p, v3d *nearest, v3d *normal)
{
	if (shape->type == CAROM_BOX)
		return cr_box_distance(shape->half_extents, p, nearest, normal);
	if (shape->type != CAROM_PLANE)
		return round_distance(shape, p, nearest, normal);
	*nearest = (v3d){ p.x, p.y, 0 };
	*normal = UNIT[2];
	return p.z;
}

// Where a line is inside something convex: from t[0] to t[1]. Empty when t[0] > t[1].
typedef struct interval {
	double t[2];
	v3d normal[2];
} interval;

static const interval NOWHERE = { .t = { INFINITY, -INFINITY } };

// The part of a line that an interval and the slab |x| <= half along an axis share.
static void cut_slab(interval *inside, double origin, double direction, double half, v3d axis)
{
	if (direction == 0) {
		if (fabs(origin) > half)
			*inside = NOWHERE;
		return;
	}
	double enter = ((direction > 0 ? -half : half) - origin) / direction,
		   leave = ((direction > 0 ? half : -half) - origin) / direction;
	v3d forward = direction > 0 ? axis : v3d_neg(axis);
	if (enter > inside->t[0]) {
		inside->t[0] = enter;
		inside->normal[0] = v3d_neg(forward);
	}
	if (leave < inside->t[1]) {
		inside->t[1] = leave;
		inside->normal[1] = forward;
	}
}

// Ball (or endless cylinder along z, when the z parts are left out) about the origin: |o + t d| =
// radius.
static interval cut_round(v3d o, v3d d, double radius)
{
	double dd = v3d_dot(d, d);
	if (dd == 0)
		return v3d_dot(o, o) <= radius * radius ? (interval){ .t = { -INFINITY, INFINITY } } : NOWHERE;
	// From the point of the line nearest to the centre: b b - a c would cancel for far origins.
	double middle = -v3d_dot(o, d) / dd;
	v3d nearest = v3d_mad(o, middle, d);
	double rest = radius * radius - v3d_dot(nearest, nearest);
	if (rest < 0)
		return NOWHERE;
	double half = sqrt(rest / dd);
	return (interval){ .t = { middle - half, middle + half } };
}

static void join(interval *all, const interval *part)
{
	if (part->t[0] > part->t[1])
		return;
	if (part->t[0] < all->t[0])
		all->t[0] = part->t[0];
	if (part->t[1] > all->t[1])
		all->t[1] = part->t[1];
}

// A capsule is convex and made of two balls and a cylinder: the line is inside from the first entry
// to the last exit.
static interval cut_capsule(const carom_shape *shape, v3d o, v3d d)
{
	double half = shape->type == CAROM_CAPSULE ? shape->half_length : 0, radius = cr_round_radius(shape);
	interval inside = cut_round((v3d){ o.x, o.y, o.z - half }, d, radius);
	if (half > 0) {
		interval other = cut_round((v3d){ o.x, o.y, o.z + half }, d, radius);
		interval tube = cut_round((v3d){ o.x, o.y, 0 }, (v3d){ d.x, d.y, 0 }, radius);
		cut_slab(&tube, o.z, d.z, half, UNIT[2]);
		join(&inside, &other);
		join(&inside, &tube);
	}
	for (int i = 0; i < 2 && inside.t[0] <= inside.t[1]; i++) {
		v3d nearest;
		round_distance(shape, v3d_mad(o, inside.t[i], d), &nearest, &inside.normal[i]);
	}
	return inside;
}

static interval cut_volume(const carom_shape *shape, v3d o, v3d d)
{
	if (shape->type == CAROM_SPHERE || shape->type == CAROM_CAPSULE)
		return cut_capsule(shape, o, d);
	interval inside = { .t = { -INFINITY, INFINITY } };
	if (shape->type == CAROM_BOX) {
		for (int i = 0; i < 3; i++)
			cut_slab(&inside, v3d_get(o, i), v3d_get(d, i), shape->half_extents[i], UNIT[i]);
		return inside;
	}
	if (d.z == 0)
		return NOWHERE;
	int end = d.z > 0; // the plane: a ray upwards leaves, one downwards enters
	inside.t[end] = -o.z / d.z;
	inside.normal[end] = UNIT[2];
	return inside;
}

int cr_volume_ray(
	const carom_shape *shape, v3d origin, v3d direction, double t_min, double t_max, double t[2], v3d normal[2], bool back[2])
{
	if (v3d_dot(direction, direction) == 0)
		return 0;
	interval inside = cut_volume(shape, origin, direction);
	if (!(inside.t[0] <= inside.t[1]))
		return 0;
	int count = 0;
	for (int i = 0; i < 2; i++) {
		if (!(fabs(inside.t[i]) < INFINITY && inside.t[i] >= t_min && inside.t[i] <= t_max))
			continue;
		t[count] = inside.t[i];
		normal[count] = inside.normal[i];
		back[count++] = i == 1;
	}
	return count;
}

carom_aabb cr_volume_bounds(const carom_shape *shape)
{
	double r = cr_round_radius(shape);
	v3d h = { r, r, r };
	switch (shape->type) {
	case CAROM_CAPSULE: h.z = r + shape->half_length; break;
	case CAROM_BOX: h = (v3d){ shape->half_extents[0], shape->half_extents[1], shape->half_extents[2] }; break;
	case CAROM_PLANE: h = (v3d){ INFINITY, INFINITY, INFINITY }; break;
	default: break;
	}
	return (carom_aabb){ v3d_neg(h), h };
}

// Ends of the axis in the frame of a pose, relative to origin; both the centre for a sphere.
static void core_ends(const carom_shape *shape, const carom_pose *pose, v3d origin, v3d *p0, v3d *p1)
{
	double half = shape->type == CAROM_CAPSULE ? shape->half_length : 0;
	v3d centre = v3d_sub(pose->position, origin), along = v3d_scale(carom_rotate(pose->orientation, UNIT[2]), half);
	*p0 = v3d_sub(centre, along);
	*p1 = v3d_add(centre, along);
}

static double positive(double x) { return x > 0 ? x : 0; }

// Height of the lowest point of a volume above the surface of a plane.
static double plane_gap(const carom_pose *plane, const carom_shape *shape, const carom_pose *pose)
{
	v3d n = carom_rotate(plane->orientation, UNIT[2]);
	double height = v3d_dot(n, v3d_sub(pose->position, plane->position));
	if (shape->type == CAROM_PLANE) {
		// Half spaces miss each other only back to back.
		v3d m = carom_rotate(pose->orientation, UNIT[2]);
		return v3d_length(v3d_add(n, m)) <= 1e-12 ? positive(height) : 0;
	}
	carom_quat q = pose->orientation;
	v3d down = carom_rotate((carom_quat){ -q.x, -q.y, -q.z, q.w }, n);
	const double *half = shape->half_extents;
	double reach = cr_round_radius(shape) + (shape->type == CAROM_CAPSULE ? shape->half_length * fabs(down.z) : 0);
	if (shape->type == CAROM_BOX)
		reach = half[0] * fabs(down.x) + half[1] * fabs(down.y) + half[2] * fabs(down.z);
	return positive(height - reach);
}

static double box_gap(const cr_box *box, const carom_shape *other, const carom_pose *pose, v3d origin)
{
	v3d p0, p1, p, q;
	double s;
	if (other->type == CAROM_BOX) {
		cr_box second = cr_box_place(other, pose, origin);
		// Where all edges lie on faces of the other, rounding tells on which side of them.
		return cr_box_box_depth(box, &second) >= 0 ? 0 : cr_closest_boxes(box, &second, &p, &q);
	}
	core_ends(other, pose, origin, &p0, &p1);
	double distance = cr_closest_segment_box(cr_box_to_local(box, p0), cr_box_to_local(box, p1), box->half, &s, &p, &q);
	return positive(distance - cr_round_radius(other));
}

double cr_volume_gap(const carom_shape *a, const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b)
{
	if (a->type == CAROM_PLANE)
		return plane_gap(pose_a, b, pose_b);
	if (b->type == CAROM_PLANE)
		return plane_gap(pose_b, a, pose_a);
	v3d origin = pose_b->position;
	if (a->type == CAROM_BOX) {
		cr_box box = cr_box_place(a, pose_a, origin);
		return box_gap(&box, b, pose_b, origin);
	}
	if (b->type == CAROM_BOX) {
		cr_box box = cr_box_place(b, pose_b, origin);
		return box_gap(&box, a, pose_a, origin);
	}
	v3d a0, a1, b0, b1, on_a, on_b;
	double s, t;
	core_ends(a, pose_a, origin, &a0, &a1);
	core_ends(b, pose_b, origin, &b0, &b1);
	return positive(sqrt(cr_closest_segments(a0, a1, b0, b1, &s, &t, &on_a, &on_b)) - cr_round_radius(a) - cr_round_radius(b));
}
