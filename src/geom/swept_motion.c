/// The figure of the relative motion: corners, nearest point, description of an impact. Nothing
/// here is certified, only plain.

#include "geom/swept_motion.h"
#include <math.h>

static v3d difference(const double *a, const double *b) { return v3d_make(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

void cr_swept_init_motion(cr_swept_motion *motion, cr_swept_kind kind, const double *const begin[4], const double *const end[4])
{
	const bool edges = kind == CR_SWEPT_EDGE_EDGE;
	motion->kind = kind;
	motion->count = edges ? 4 : 3;
	for (int i = 0; i < motion->count; i++) {
		const int first = edges ? i & 1 : 0, second = edges ? 2 + (i >> 1) : 1 + i;
		motion->begin[i] = difference(begin[first], begin[second]);
		motion->end[i] = difference(end[first], end[second]);
	}
	// Corners 1 and 2 minus corner 0: a1 - a0 and b0 - b1, or f0 - f1 and f0 - f2.
	for (int i = 0; i < 2; i++) {
		const int to = edges ? (i ? 2 : 1) : 1, from = edges ? (i ? 3 : 0) : 2 + i;
		motion->side_begin[i] = difference(begin[to], begin[from]);
		motion->side_end[i] = difference(end[to], end[from]);
	}
}

double cr_swept_motion_size(const cr_swept_motion *motion)
{
	v3d sum = { 0, 0, 0 };
	for (int i = 0; i < motion->count; i++) {
		const v3d begin = motion->begin[i], end = motion->end[i];
		sum.x += fabs(begin.x) + fabs(end.x);
		sum.y += fabs(begin.y) + fabs(end.y);
		sum.z += fabs(begin.z) + fabs(end.z);
	}
	return (sum.x + sum.y) + sum.z;
}

static v3d blend_at(v3d begin, v3d end, double time) { return v3d_mad(v3d_scale(begin, 1 - time), time, end); }

/// Nearest point to the origin of the segment from p to q, as its parameter.
static double nearest_on_segment(v3d p, v3d q, v3d *point)
{
	const v3d along = v3d_sub(q, p);
	const double length = v3d_dot(along, along);
	double s = length > 0 ? -v3d_dot(p, along) / length : 0;
	s = s > 0 ? s : 0;
	s = s < 1 ? s : 1;
	// From the nearer end, so that a point near q keeps its last places.
	*point = s < 0.5 ? v3d_mad(p, s, along) : v3d_mad(q, s - 1, along);
	return s;
}

/// The sides of the figure: both corners, and s and r on them: s = s0 + ds e, r = r0 + dr e.
typedef struct figure_side {
	int8_t from, to, s0, ds, r0, dr;
} figure_side;
static const figure_side TRIANGLE_SIDES[3] = { { 0, 1, 0, 1, 0, 0 }, { 0, 2, 0, 0, 0, 1 }, { 1, 2, 1, -1, 0, 1 } };
static const figure_side PARALLELOGRAM_SIDES[4] = { { 0, 1, 0, 1, 0, 0 }, { 0, 2, 0, 0, 0, 1 }, { 2, 3, 0, 1, 1, 0 },
	{ 1, 3, 1, 0, 0, 1 } };

static void nearest_on_sides(cr_swept_kind kind, const v3d corners[4], cr_swept_nearest *nearest)
{
	const figure_side *sides = kind == CR_SWEPT_VERTEX_FACE ? TRIANGLE_SIDES : PARALLELOGRAM_SIDES;
	const int count = kind == CR_SWEPT_VERTEX_FACE ? 3 : 4;
	double best = INFINITY;
	int side = -1;
	for (int i = 0; i < count; i++) {
		v3d point;
		const double e = nearest_on_segment(corners[sides[i].from], corners[sides[i].to], &point);
		const double square = v3d_dot(point, point);
		if (!(square < best))
			continue;
		best = square;
		nearest->point = point;
		side = e > 0 && e < 1 ? i : -1;
		nearest->s = sides[i].s0 + sides[i].ds * e;
		nearest->r = sides[i].r0 + sides[i].dr * e;
	}
	nearest->distance = sqrt(best);
	if (side < 0)
		return;
	// The point is rounded by places of the corners, so it is not quite across its side: too far
	// off to be a separating direction when it is short. Once more, with places of its own.
	const v3d along = v3d_sub(corners[sides[side].to], corners[sides[side].from]);
	nearest->point = v3d_mad(nearest->point, -v3d_dot(nearest->point, along) / v3d_dot(along, along), along);
}

static double larger(double a, double b) { return a > b ? a : b; }

static double largest_component(v3d a) { return larger(larger(fabs(a.x), fabs(a.y)), fabs(a.z)); }

/// The power of two that brings a size below 2^-200 to between 2^-100 and 1; 1 for larger sizes,
/// and for 0.
static double factor_of_tiny(double size)
{
	double factor = 1;
	if (!(size > 0 && size < 0x1p-200))
		return factor;
	for (; size < 0x1p-100; size *= 0x1p100)
		factor *= 0x1p100;
	return factor;
}

/// A triangle, or a parallelogram, and its sides from corner 0.
typedef struct flat_figure {
	v3d corners[4], side[2];
} flat_figure;

static flat_figure figure_at(const cr_swept_motion *motion, double time)
{
	flat_figure f;
	for (int i = 0; i < 3; i++)
		f.corners[i] = blend_at(motion->begin[i], motion->end[i], time);
	if (motion->count == 4)
		f.corners[3] = blend_at(motion->begin[3], motion->end[3], time);
	for (int i = 0; i < 2; i++)
		f.side[i] = blend_at(motion->side_begin[i], motion->side_end[i], time);
	return f;
}

/// Make a tiny figure larger by a power of two, which changes no digit; returns that.
static double enlarge(flat_figure *f, int count)
{
	double size = 0;
	for (int i = 0; i < count; i++)
		size = larger(size, largest_component(f->corners[i]));
	const double factor = factor_of_tiny(size);
	for (int i = 0; i < count; i++)
		f->corners[i] = v3d_scale(f->corners[i], factor);
	for (int i = 0; i < 2; i++)
		f->side[i] = v3d_scale(f->side[i], factor);
	return factor;
}

/// As cr_swept_find_nearest, but of the figure made larger by the power of two that is returned.
static double find_nearest_enlarged(const cr_swept_motion *motion, double time, cr_swept_nearest *nearest)
{
	flat_figure f = figure_at(motion, time);
	v3d n = v3d_cross(f.side[0], f.side[1]);
	double square = v3d_dot(n, n), factor = 1;
	// Products of four lengths: only those of a tiny figure, or of a flat one, are as small as
	// that.
	if (square < 0x1p-700 && (factor = enlarge(&f, motion->count)) > 1) {
		n = v3d_cross(f.side[0], f.side[1]);
		square = v3d_dot(n, n);
	}
	const v3d a = f.side[0], b = f.side[1], c = f.corners[0];
	*nearest = (cr_swept_nearest){ .distance = INFINITY };
	// Below that angle between the sides the normal is rounding alone, and the figure as good as
	// its sides.
	if (square > 1e-28 * v3d_dot(a, a) * v3d_dot(b, b)) {
		const double height = v3d_dot(n, c);
		nearest->normal = height < 0 ? v3d_neg(n) : n;
		const double s = v3d_dot(v3d_cross(b, c), n) / square, r = v3d_dot(v3d_cross(c, a), n) / square;
		if (s > 0 && r > 0 && (motion->kind == CR_SWEPT_VERTEX_FACE ? s + r < 1 : s < 1 && r < 1)) {
			nearest->point = v3d_scale(n, height / square);
			nearest->distance = fabs(height) / sqrt(square);
			nearest->s = s;
			nearest->r = r;
			nearest->inside = true;
			return factor;
		}
	}
	nearest_on_sides(motion->kind, f.corners, nearest);
	return factor;
}

void cr_swept_find_nearest(const cr_swept_motion *motion, double time, cr_swept_nearest *nearest)
{
	const double factor = find_nearest_enlarged(motion, time, nearest);
	if (factor > 1) {
		nearest->point = v3d_scale(nearest->point, 1 / factor);
		nearest->distance /= factor;
	}
}

static void set_normal(v3d direction, double normal[3])
{
	// Scaled first: squares of small components would underflow.
	direction = v3d_scale(direction, factor_of_tiny(largest_component(direction)));
	const double size = largest_component(direction);
	const bool is_finite = fabs(direction.x) < INFINITY && fabs(direction.y) < INFINITY && fabs(direction.z) < INFINITY;
	const v3d unit = size > 0 && is_finite ? v3d_normalize(v3d_scale(direction, 1 / size)) : v3d_make(0, 0, 1);
	normal[0] = unit.x;
	normal[1] = unit.y;
	normal[2] = unit.z;
}

void cr_swept_describe(const cr_swept_motion *motion, v3d direction, double weight[4], cr_swept_impact *impact)
{
	cr_swept_nearest nearest;
	const double factor = find_nearest_enlarged(motion, impact->time, &nearest);
	const double s = nearest.s, r = nearest.r;
	const double vertex_face[4] = { 1, 1 - s - r, s, r }, edge_edge[4] = { 1 - s, s, 1 - r, r };
	for (int i = 0; i < 4; i++)
		weight[i] = motion->kind == CR_SWEPT_VERTEX_FACE ? vertex_face[i] : edge_edge[i];
	impact->distance = nearest.distance / factor;
	if (!(v3d_dot(direction, direction) > 0))
		direction = v3d_dot(nearest.normal, nearest.normal) > 0 ? nearest.normal : nearest.point;
	set_normal(direction, impact->normal);
}
