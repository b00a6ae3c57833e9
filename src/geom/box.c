// Oriented boxes: frames and closest points.
#include "geom/box.h"

cr_box cr_box_place(const carom_shape *shape, const carom_pose *pose, v3d origin)
{
	m3d r = m3d_from_quat(pose->orientation);
	cr_box box = { .centre = v3d_sub(pose->position, origin) };
	for (int i = 0; i < 3; i++) {
		box.axis[i] = (v3d){ v3d_get(r.row[0], i), v3d_get(r.row[1], i), v3d_get(r.row[2], i) };
		box.half[i] = shape->half_extents[i];
	}
	return box;
}

v3d cr_box_to_local(const cr_box *box, v3d p)
{
	v3d d = v3d_sub(p, box->centre);
	return (v3d){ v3d_dot(d, box->axis[0]), v3d_dot(d, box->axis[1]), v3d_dot(d, box->axis[2]) };
}

v3d cr_box_to_world(const cr_box *box, v3d local)
{
	v3d p = v3d_mad(v3d_mad(box->centre, local.x, box->axis[0]), local.y, box->axis[1]);
	return v3d_mad(p, local.z, box->axis[2]);
}

static double clamp(double x, double half) { return x < -half ? -half : x > half ? half : x; }

// Half the derivative of the squared distance of p + t d from the box. It never falls as t grows,
// for the box is convex.
static double slope(const double p[3], const double d[3], const double half[3], double t)
{
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		double x = p[i] + t * d[i];
		sum += d[i] * (x - clamp(x, half[i]));
	}
	return sum;
}

// The parameters in (0, 1) at which the segment crosses the plane of a face, sorted, with 0 before
// and 1 behind.
static int break_points(const double p[3], const double d[3], const double half[3], double t[8])
{
	int count = 1;
	t[0] = 0;
	for (int i = 0; i < 6; i++) {
		int axis = i / 2;
		if (d[axis] == 0)
			continue;
		double x = ((i % 2 ? half[axis] : -half[axis]) - p[axis]) / d[axis];
		if (!(x > 0 && x < 1))
			continue;
		int k = count++;
		for (; t[k - 1] > x; k--)
			t[k] = t[k - 1];
		t[k] = x;
	}
	t[count++] = 1;
	return count;
}

// The slope is linear between break points, so its zero is found without iteration.
static double nearest_parameter(const double p[3], const double d[3], const double half[3])
{
	double t[8], before = slope(p, d, half, 0);
	if (before >= 0)
		return 0;
	int count = break_points(p, d, half, t);
	for (int k = 1; k < count; k++) {
		double after = slope(p, d, half, t[k]);
		if (after >= 0)
			return t[k - 1] + (t[k] - t[k - 1]) * (-before / (after - before));
		before = after;
	}
	return 1;
}

double cr_closest_segment_box(v3d p0, v3d p1, const double half[3], double *s, v3d *on_segment, v3d *on_box)
{
	const double p[3] = { p0.x, p0.y, p0.z }, d[3] = { p1.x - p0.x, p1.y - p0.y, p1.z - p0.z };
	*s = nearest_parameter(p, d, half);
	*on_segment = *s == 1 ? p1 : v3d_mad(p0, *s, (v3d){ d[0], d[1], d[2] });
	*on_box = (v3d){ clamp(on_segment->x, half[0]), clamp(on_segment->y, half[1]), clamp(on_segment->z, half[2]) };
	return v3d_length(v3d_sub(*on_segment, *on_box));
}

double cr_box_distance(const double half[3], v3d p, v3d *nearest, v3d *normal)
{
	static const v3d unit[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
	double s, outside = cr_closest_segment_box(p, p, half, &s, &p, nearest);
	if (outside > 0) {
		*normal = v3d_scale(v3d_sub(p, *nearest), 1 / outside);
		return outside;
	}
	double depth[3] = { half[0] - fabs(p.x), half[1] - fabs(p.y), half[2] - fabs(p.z) };
	int axis = depth[0] <= depth[1] && depth[0] <= depth[2] ? 0 : depth[1] <= depth[2] ? 1 : 2;
	*normal = v3d_get(p, axis) < 0 ? v3d_neg(unit[axis]) : unit[axis];
	*nearest = v3d_mad(p, depth[axis], *normal);
	return -depth[axis];
}

// Corner number i: bit k is the side along axis k.
static v3d corner_of(const cr_box *box, int i)
{
	v3d local = { i & 1 ? box->half[0] : -box->half[0], i & 2 ? box->half[1] : -box->half[1],
		i & 4 ? box->half[2] : -box->half[2] };
	return cr_box_to_world(box, local);
}

// Nearest points of the edges of one box and the other, solid box; kept when nearer than *best.
static void closest_edges(const cr_box *edges, const cr_box *solid, double *best, v3d *on_edges, v3d *on_solid)
{
	v3d corner[8];
	for (int i = 0; i < 8; i++)
		corner[i] = cr_box_to_local(solid, corner_of(edges, i));
	for (int i = 0; i < 24; i++) {
		int bit = 1 << i / 8, from = i % 8;
		if (from & bit)
			continue;
		double s;
		v3d p, q;
		double distance = cr_closest_segment_box(corner[from], corner[from | bit], solid->half, &s, &p, &q);
		if (distance >= *best)
			continue;
		*best = distance;
		*on_edges = cr_box_to_world(solid, p);
		*on_solid = cr_box_to_world(solid, q);
	}
}

// Boxes come nearest, or meet, at an edge of one of them: a face against a face has edges around
// it.
double cr_closest_boxes(const cr_box *a, const cr_box *b, v3d *on_a, v3d *on_b)
{
	double best = INFINITY;
	closest_edges(a, b, &best, on_a, on_b);
	closest_edges(b, a, &best, on_b, on_a);
	return best;
}
