// Contacts of two basic volumes: a table by the two types. Everything is computed relative to the
// position of B, so that a world far from its origin loses nothing. Boxes have a file of their own,
// box_contacts.c.
#include "geom/box.h"
#include "geom/triangle.h"

// One volume in the frame of the pair.
typedef struct placed {
	const carom_shape *shape;
	const carom_pose *pose;
	v3d centre;
	v3d z; // third axis
} placed;

typedef int contact_fn(const placed *a, const placed *b, double margin, cr_volume_contact *contacts);

// Ends of the axis of a capsule.
static void axis_ends(const placed *capsule, v3d end[2])
{
	end[0] = v3d_mad(capsule->centre, -capsule->shape->half_length, capsule->z);
	end[1] = v3d_mad(capsule->centre, capsule->shape->half_length, capsule->z);
}

static int emit(v3d core, double radius, v3d normal, double depth, int32_t name, double margin, cr_volume_contact *contact)
{
	if (!(depth >= -margin))
		return 0;
	*contact = (cr_volume_contact){ v3d_mad(core, -radius, normal), normal, depth, name };
	return 1;
}

// A sphere against anything: the distance of its centre.
static int sphere_any(const placed *a, const placed *b, double margin, cr_volume_contact *contacts)
{
	carom_pose frame = { b->centre, b->pose->orientation };
	v3d nearest, normal;
	double distance = cr_volume_distance(b->shape, carom_inverse_transform_point(frame, a->centre), &nearest, &normal);
	double radius = cr_round_radius(a->shape);
	return emit(a->centre, radius, carom_rotate(frame.orientation, normal), radius - distance, 0, margin, contacts);
}

// Any unit vector across a unit vector.
static v3d across(v3d u)
{
	v3d least = fabs(u.x) <= fabs(u.y) && fabs(u.x) <= fabs(u.z) ? (v3d){ 1, 0, 0 }
		: fabs(u.y) <= fabs(u.z)                                 ? (v3d){ 0, 1, 0 }
																 : (v3d){ 0, 0, 1 };
	return v3d_normalize(v3d_cross(u, least));
}

// Direction that parts two axes which meet: across both, or across the one that is longer than
// nothing.
static v3d parting_direction(const placed *a, const placed *b)
{
	bool line_a = a->shape->half_length > 0, line_b = b->shape->half_length > 0;
	if (!line_a && !line_b)
		return (v3d){ 0, 0, 1 };
	v3d n = v3d_cross(a->z, b->z);
	if (!line_a || !line_b || !(v3d_length(n) > 1e-6))
		return across(line_b ? b->z : a->z);
	n = v3d_normalize(n);
	return v3d_dot(n, v3d_sub(a->centre, b->centre)) < 0 ? v3d_neg(n) : n;
}

// Sine of the angle between two axes: to this one capsules may lie along each other; to the second
// one they are parallel.
static const double ALONG = 0.25, PARALLEL = 1e-3;
// Cosine: a contact of an end points to the side of that of the nearest points.
static const double SAME_SIDE = 0.7;

// The two ends of the part of A's axis that runs beside B's; 0 when there is no such part.
static int side_by_side(const placed *a, const placed *b, v3d on_a[2], v3d on_b[2])
{
	double along = v3d_dot(a->z, b->z), turn = along < 0 ? -1 : 1, shift = v3d_dot(b->z, v3d_sub(a->centre, b->centre));
	double ha = a->shape->half_length, hb = b->shape->half_length, seen = ha * fabs(along);
	double from = shift - seen > -hb ? shift - seen : -hb, to = shift + seen < hb ? shift + seen : hb;
	if (!(to - from > 1e-6 * (ha + hb)))
		return 0;
	for (int i = 0; i < 2; i++) {
		double s = i == 0 ? from : to;
		on_b[i] = v3d_mad(b->centre, s, b->z);
		// Beside an end of B: the point of A's axis next to it.
		double t = fabs(s) < hb ? turn * (2 * i - 1) * ha : v3d_dot(a->z, v3d_sub(on_b[i], a->centre));
		on_a[i] = v3d_mad(a->centre, t < -ha ? -ha : t > ha ? ha : t, a->z);
	}
	return 2;
}

// Two contacts of parallel capsules, with one normal, where they lie side by side.
static int parallel_capsules(const placed *a, const placed *b, v3d normal, double margin, cr_volume_contact *contacts)
{
	v3d side_a[2], side_b[2];
	const double radius = cr_round_radius(a->shape), sum = radius + cr_round_radius(b->shape);
	int count = 0;
	for (int i = 0, sides = side_by_side(a, b, side_a, side_b); i < sides; i++) {
		double depth = sum - v3d_dot(normal, v3d_sub(side_a[i], side_b[i]));
		count += emit(side_a[i], radius, normal, depth, 1 + i, margin, &contacts[count]);
	}
	return count;
}

// Two contacts of capsules that lie along each other, at the ends of the part where they do, each
// with its own normal and depth: axes that cross at a small angle lie aside of each other there. 0:
// an end is out of reach, or the axes cross so deep that the ends part them the other way.
static int lying_capsules(const placed *a, const placed *b, v3d normal, double margin, cr_volume_contact *contacts)
{
	v3d side_a[2], side_b[2];
	const double radius = cr_round_radius(a->shape), sum = radius + cr_round_radius(b->shape);
	int count = 0;
	for (int i = 0, sides = side_by_side(a, b, side_a, side_b); i < sides; i++) {
		const v3d way = v3d_sub(side_a[i], side_b[i]);
		const double length = v3d_length(way);
		if (!(length > 0) || v3d_dot(normal, way) < SAME_SIDE * length)
			return 0;
		count += emit(side_a[i], radius, v3d_scale(way, 1 / length), sum - length, 1 + i, margin, &contacts[count]);
	}
	return count == 2 ? count : 0;
}

static int capsule_capsule(const placed *a, const placed *b, double margin, cr_volume_contact *contacts)
{
	v3d ea[2], eb[2], on_a, on_b;
	axis_ends(a, ea);
	axis_ends(b, eb);
	double s, t, distance = sqrt(cr_closest_segments(ea[0], ea[1], eb[0], eb[1], &s, &t, &on_a, &on_b));
	double radius = cr_round_radius(a->shape), sum = radius + cr_round_radius(b->shape);
	double tiny = 1e-9 * (sum + a->shape->half_length + b->shape->half_length);
	v3d normal = distance > tiny ? v3d_scale(v3d_sub(on_a, on_b), 1 / distance) : parting_direction(a, b);
	const double sine = v3d_length(v3d_cross(a->z, b->z));
	int count = sine <= PARALLEL ? parallel_capsules(a, b, normal, margin, contacts)
		: sine <= ALONG          ? lying_capsules(a, b, normal, margin, contacts)
								 : 0;
	double deepest = -INFINITY;
	for (int i = 0; i < count; i++)
		deepest = contacts[i].depth > deepest ? contacts[i].depth : deepest;
	// Crossing axes, or capsules end to end, or a closest point between the two ends.
	if (deepest < sum - distance - tiny)
		count += emit(on_a, radius, normal, sum - distance, 0, margin, &contacts[count]);
	return count;
}

static cr_box placed_box(const placed *p)
{
	cr_box box = cr_box_place(p->shape, p->pose, p->pose->position);
	box.centre = p->centre;
	return box;
}

static int capsule_box(const placed *a, const placed *b, double margin, cr_volume_contact *contacts)
{
	v3d end[2];
	axis_ends(a, end);
	cr_box box = placed_box(b);
	return cr_capsule_box_contacts(end[0], end[1], cr_round_radius(a->shape), &box, margin, contacts);
}

static int capsule_plane(const placed *a, const placed *b, double margin, cr_volume_contact *contacts)
{
	v3d end[2];
	axis_ends(a, end);
	int count = 0;
	for (int i = 0; i < (a->shape->half_length > 0 ? 2 : 1); i++) {
		double depth = cr_round_radius(a->shape) - v3d_dot(b->z, v3d_sub(end[i], b->centre));
		count += emit(end[i], cr_round_radius(a->shape), b->z, depth, i, margin, &contacts[count]);
	}
	return count;
}

static int box_box(const placed *a, const placed *b, double margin, cr_volume_contact *contacts)
{
	cr_box box_a = placed_box(a), box_b = placed_box(b);
	return cr_box_box_contacts(&box_a, &box_b, margin, contacts);
}

static int box_plane(const placed *a, const placed *b, double margin, cr_volume_contact *contacts)
{
	const double *half = a->shape->half_extents;
	cr_box box = placed_box(a);
	int count = 0;
	for (int i = 0; i < 8; i++) {
		v3d corner = { i & 1 ? half[0] : -half[0], i & 2 ? half[1] : -half[1], i & 4 ? half[2] : -half[2] };
		corner = cr_box_to_world(&box, corner);
		count += emit(corner, 0, b->z, -v3d_dot(b->z, v3d_sub(corner, b->centre)), i, margin, &contacts[count]);
	}
	return count;
}

// Row and column of a type in the table; -1 for other shapes than basic volumes.
static int rank(carom_shape_type type)
{
	switch (type) {
	case CAROM_SPHERE: return 0;
	case CAROM_CAPSULE: return 1;
	case CAROM_BOX: return 2;
	case CAROM_PLANE: return 3;
	default: return -1;
	}
}

static placed place(const carom_shape *shape, const carom_pose *pose, v3d origin)
{
	return (placed){ shape, pose, v3d_sub(pose->position, origin), carom_rotate(pose->orientation, (v3d){ 0, 0, 1 }) };
}

// The end of a capsule that leans over the border of a box has no point of the box right below its
// normal: the nearest one stands for it.
static v3d nearest_in_box(const placed *p, v3d point)
{
	const cr_box box = placed_box(p);
	const v3d local = cr_box_to_local(&box, point);
	double s;
	v3d same, nearest;
	const double distance = cr_closest_segment_box(local, local, box.half, &s, &same, &nearest);
	return distance > 0 ? cr_box_to_world(&box, nearest) : point;
}

int cr_volume_contacts(const carom_shape *a, const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b,
	double margin, cr_volume_contact *contacts)
{
	// The lower half is the upper half with the bodies exchanged; two planes have no entry.
	static contact_fn *const table[4][4] = {
		{ sphere_any, sphere_any, sphere_any, sphere_any },
		{ NULL, capsule_capsule, capsule_box, capsule_plane },
		{ NULL, NULL, box_box, box_plane },
		{ NULL, NULL, NULL, NULL },
	};
	int row = rank(a->type), column = rank(b->type);
	if (row < 0 || column < 0)
		return 0;
	placed place_a = place(a, pose_a, pose_b->position), place_b = place(b, pose_b, pose_b->position);
	bool swap = row > column;
	contact_fn *fn = swap ? table[column][row] : table[row][column];
	if (fn == NULL)
		return 0;
	int count = swap ? fn(&place_b, &place_a, margin, contacts) : fn(&place_a, &place_b, margin, contacts);
	for (int i = 0; i < count; i++) {
		cr_volume_contact *c = &contacts[i];
		if (swap) { // the point on the other surface lies a depth away
			c->point = v3d_mad(c->point, c->depth, c->normal);
			c->normal = v3d_neg(c->normal);
			if (a->type == CAROM_BOX && b->type == CAROM_CAPSULE)
				c->point = nearest_in_box(&place_a, c->point);
		}
		c->point = v3d_add(c->point, pose_b->position);
	}
	return count;
}
