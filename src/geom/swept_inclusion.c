/// Inclusion-based bisection (rung 3 of geom/swept.h) after Wang, Ferguson, Schneider, Jiang,
/// Attene and Panozzo 2021 (arXiv 2009.13349, section 4).
///
/// The points of the figure of the relative motion (swept_motion.h) are F(t, s, r), linear in each
/// parameter, so over a box of parameters F stays in the convex hull of its values at the eight
/// corners of the box. A box whose hull is apart from the origin by more than the rounding error
/// holds no impact; the others are halved where F extends most. Boxes are taken by ascending time:
/// the first that is small enough gives the earliest impact. Departures from the paper: the hull is
/// tried not only along the axes but also along the direction from the origin to its middle, which
/// cuts sliding edges short; and the rounding filter.
///
/// Rounding: values are interpolated from differences of vertices, so their error is linear in M,
/// the largest magnitude of that component of the corners, whereas the paper's filter for the
/// products of absolute coordinates grows with the cube of the coordinates. With u = 2^-53, to
/// first order, in units of u M: a corner at time t is begin + t (end - begin): 1 (differences of
/// vertices) + 2 + 2 + 1 (difference, product, sum) = 6; the fourth corner of a triangle's
/// parallelogram, (c1 + c2) - c0, is 18 + 2 + 3 = 23 off, of magnitude 3 M; each further
/// interpolation adds 4 + 4 + 3, so F is off by at most 23 + 22 = 45. 64 is taken, and 1e-300 for
/// underflow.

#include "geom/swept_motion.h"
#include <math.h>

static bool comes_before(const cr_swept_box *a, const cr_swept_box *b)
{
	return a->low[0] < b->low[0] || (a->low[0] == b->low[0] && a->depth > b->depth);
}

/// False when the heap is full.
static bool push_box(cr_swept_boxes *heap, const cr_swept_box *box)
{
	if (heap->count == CR_SWEPT_MAX_BOXES)
		return false;
	int at = heap->count++;
	for (int parent; at > 0 && comes_before(box, &heap->box[parent = (at - 1) / 2]); at = parent)
		heap->box[at] = heap->box[parent];
	heap->box[at] = *box;
	return true;
}

static cr_swept_box pop_box(cr_swept_boxes *heap)
{
	const cr_swept_box first = heap->box[0], last = heap->box[--heap->count];
	int at = 0;
	for (int child = 1; child < heap->count; at = child, child = 2 * at + 1) {
		if (child + 1 < heap->count && comes_before(&heap->box[child + 1], &heap->box[child]))
			child++;
		if (!comes_before(&heap->box[child], &last))
			break;
		heap->box[at] = heap->box[child];
	}
	heap->box[at] = last;
	return first;
}

/// Numbers that all boxes of a query share.
typedef struct inclusion {
	const cr_swept_motion *motion;
	double begin[4][3], end[4][3];
	double error[3]; // of a component of F
	double size[3];  // M
	double min_separation;
	double near;     // distance that may be reported
	double width[3]; // a hull no wider is small enough
} inclusion;

static void init_inclusion(inclusion *in, const cr_swept_motion *motion, const cr_swept_options *options)
{
	in->motion = motion;
	in->min_separation = options->min_separation;
	in->near = options->min_separation + options->tolerance;
	for (int k = 0; k < 3; k++) {
		in->size[k] = 0;
		for (int i = 0; i < motion->count; i++) {
			in->begin[i][k] = v3d_get(motion->begin[i], k);
			in->end[i][k] = v3d_get(motion->end[i], k);
			const double begin = fabs(in->begin[i][k]), end = fabs(in->end[i][k]), larger = begin > end ? begin : end;
			in->size[k] = larger > in->size[k] ? larger : in->size[k];
		}
		in->error[k] = 0x1p-47 * in->size[k] + 1e-300;
		// A diagonal of a cube of half the tolerance is shorter than the tolerance.
		const double width = 0.5 * options->tolerance, least = 4 * in->error[k];
		in->width[k] = width > least ? width : least;
	}
}

/// Component k of F at the corners of a box: bit 2 of the place: later time, bit 1: greater s, bit
/// 0: greater r.
static void evaluate_corners(const inclusion *in, const cr_swept_box *box, int k, double value[8])
{
	for (int late = 0; late < 2; late++) {
		const double t = late ? box->high[0] : box->low[0];
		double c[4];
		for (int i = 0; i < in->motion->count; i++)
			c[i] = in->begin[i][k] + t * (in->end[i][k] - in->begin[i][k]);
		if (in->motion->kind == CR_SWEPT_VERTEX_FACE)
			c[3] = (c[1] + c[2]) - c[0];
		for (int more = 0; more < 2; more++) {
			const double s = more ? box->high[1] : box->low[1];
			const double near = c[0] + s * (c[1] - c[0]), far = c[2] + s * (c[3] - c[2]);
			value[4 * late + 2 * more] = near + box->low[2] * (far - near);
			value[4 * late + 2 * more + 1] = near + box->high[2] * (far - near);
		}
	}
}

/// Whether the hull is certainly farther from the origin than the separation, by its extent along
/// the axes.
static bool apart_along_axes(const inclusion *in, const double low[3], const double high[3])
{
	double squares = 0;
	for (int k = 0; k < 3; k++) {
		double gap = low[k] > 0 ? low[k] : high[k] < 0 ? -high[k] : 0;
		gap -= in->error[k];
		if (gap > in->min_separation * (1 + 0x1p-50))
			return true;
		squares += gap > 0 ? gap * gap : 0;
	}
	// A few roundings of the squares; underflow.
	return squares > in->min_separation * in->min_separation * (1 + 0x1p-48) + 1e-300;
}

/// Whether the hull is certainly farther from the origin than the separation, by its extent along
/// the direction from the origin to its middle. Components of F reach 3 M, so the product of w and
/// F is off by at most (64 + 3 * 4) u M |w| in each component (Higham 2002, section 3.1); 128 is
/// taken.
static bool apart_along_middle(const inclusion *in, double value[3][8], const double low[3], const double high[3])
{
	double w[3], square = 0, error = 1e-280;
	for (int k = 0; k < 3; k++) {
		w[k] = 0.5 * (low[k] + high[k]);
		square += w[k] * w[k];
		error += 0x1p-46 * fabs(w[k]) * in->size[k];
	}
	if (!(square > 1e-240))
		return false;
	const double bound = error + (in->min_separation > 0 ? in->min_separation * sqrt(square) * (1 + 0x1p-48) : 0);
	for (int i = 0; i < 8; i++) {
		if (!(w[0] * value[0][i] + w[1] * value[1][i] + w[2] * value[2][i] > bound))
			return false;
	}
	return true;
}

/// The parameter along which F extends most over the box.
static int longest_parameter(double value[3][8])
{
	double extent[3] = { 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		for (int parameter = 0; parameter < 3; parameter++) {
			const int bit = 4 >> parameter;
			for (int i = 0; i < 8; i++) {
				const double change = fabs(value[k][i] - value[k][i ^ bit]);
				extent[parameter] = change > extent[parameter] ? change : extent[parameter];
			}
		}
	}
	if (extent[0] >= extent[1] && extent[0] >= extent[2])
		return 0;
	return extent[1] >= extent[2] ? 1 : 2;
}

/// Whether the features are within tolerance at the begin of the box, at one of its corners.
static bool near_at_begin(const inclusion *in, const cr_swept_box *box, double value[3][8])
{
	for (int i = 0; i < 4; i++) {
		// A corner beyond the triangle's third side is no point of it.
		const double s = i & 2 ? box->high[1] : box->low[1], r = i & 1 ? box->high[2] : box->low[2];
		if (in->motion->kind == CR_SWEPT_VERTEX_FACE && s + r > 1)
			continue;
		const double square = value[0][i] * value[0][i] + value[1][i] * value[1][i] + value[2][i] * value[2][i];
		if (square <= in->near * in->near)
			return true;
	}
	return false;
}

typedef enum box_verdict { BOX_CLEAR, BOX_SMALL, BOX_SPLIT } box_verdict;

/// The verdict on a box, and where to halve it.
static box_verdict judge_box(const inclusion *in, const cr_swept_box *box, int *parameter)
{
	double value[3][8], low[3], high[3];
	bool small = true;
	for (int k = 0; k < 3; k++) {
		evaluate_corners(in, box, k, value[k]);
		low[k] = high[k] = value[k][0];
		for (int i = 1; i < 8; i++) {
			low[k] = value[k][i] < low[k] ? value[k][i] : low[k];
			high[k] = value[k][i] > high[k] ? value[k][i] : high[k];
		}
		small = small && high[k] - low[k] <= in->width[k];
	}
	if (apart_along_axes(in, low, high) || apart_along_middle(in, value, low, high))
		return BOX_CLEAR;
	if (near_at_begin(in, box, value))
		return BOX_SMALL;
	*parameter = longest_parameter(value);
	// Below that width a middle would not be exact.
	if (small || box->high[*parameter] - box->low[*parameter] <= 0x1p-50)
		return BOX_SMALL;
	return BOX_SPLIT;
}

/// Halve a box and push the halves that matter. False when the heap is full.
static bool push_halves(cr_swept_boxes *heap, const cr_swept_box *box, int parameter, cr_swept_kind kind, double clear_until)
{
	const double middle = 0.5 * (box->low[parameter] + box->high[parameter]);
	for (int upper = 1; upper >= 0; upper--) {
		cr_swept_box half = *box;
		half.depth++;
		*(upper ? &half.low[parameter] : &half.high[parameter]) = middle;
		const bool outside = kind == CR_SWEPT_VERTEX_FACE && half.low[1] + half.low[2] > 1;
		if (!outside && half.high[0] >= clear_until && !push_box(heap, &half))
			return false;
	}
	return true;
}

cr_swept_status cr_swept_bisect(const cr_swept_motion *motion, const cr_swept_options *options, double clear_until,
	cr_swept_impact *impact, int64_t *bisections)
{
	inclusion in;
	init_inclusion(&in, motion, options);
	cr_swept_boxes *heap = options->boxes;
	heap->count = 1;
	heap->box[0] = (cr_swept_box){ .high = { 1, 1, 1 } };
	impact->time = clear_until;
	impact->time_high = 1;
	for (int32_t i = 0; i < options->max_iterations && heap->count > 0; i++) {
		const cr_swept_box box = pop_box(heap);
		int parameter = 0;
		// Only here, so that nothing before depends on how far is looked.
		if (box.low[0] > options->t_max)
			return CR_SWEPT_CLEAR;
		impact->time = box.low[0] > clear_until ? box.low[0] : clear_until;
		++*bisections;
		const box_verdict verdict = judge_box(&in, &box, &parameter);
		if (verdict == BOX_SMALL) {
			impact->time_high = box.high[0];
			return impact->time > 0 ? CR_SWEPT_IMPACT : CR_SWEPT_TOUCHING;
		}
		if (verdict == BOX_SPLIT && !push_halves(heap, &box, parameter, motion->kind, clear_until))
			return CR_SWEPT_UNDECIDED;
	}
	return heap->count > 0 ? CR_SWEPT_UNDECIDED : CR_SWEPT_CLEAR;
}
