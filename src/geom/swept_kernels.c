/// Wide filters of swept queries (rung 1 of geom/swept.h). Compiled once for each instruction set
/// (CR_ISA).
///
/// All work on differences of vertices, each off by at most u = 2^-53 of itself, so that each bound
/// is relative to the size and motion of the features. Three ways to prove that the figure of the
/// relative motion (swept_motion.h) never holds the origin:
///
/// Relative motion along an axis: corners move on lines, so a component of one sign at both ends of
/// all corners keeps that sign. The sign of a difference is exact in floating point. So is that of
/// x + y: rounding keeps the order, so fl(x) > -fl(y) = fl(-y) only if x > -y. Only against a
/// separation does the size of a sum matter: with |dx| <= u |x| for the differences and one more
/// rounding, fl(x + y) is off by at most (2 u + u^2) (|x| + |y|); 4 u times the largest |x| + |y|
/// is taken.
///
/// The coplanarity cubic f(t) = det(A, B, C)(t), A and B along the features and C between them, has
/// no root when its Bernstein coefficients f0, f1, f2, f3 have one sign (Tang, Manocha and Tong
/// 2010). Each of f0, 3 f1, 3 f2, f3 is a sum of products of three factors whose absolute values
/// sum to at most p = a b c, with a the sum of the absolute components of A at both ends, and so
/// on. A product goes through at most 3 differences, 2 products and 5 sums (2 in the cross
/// product's mixed term, 2 in the dot product, 1 between the two dot products): the error is at
/// most gamma_10 p (Higham 2002, section 3.1); 16 u p is taken, which covers the rounding of p too,
/// and 1e-230 covers underflow (each of fewer than 64 products loses at most 2^-1074, multiplied by
/// at most c below, and c below 1e90 is demanded). p below 1e280 is demanded as well, so no product
/// overflows. If a coordinate is not finite, p or c is not, and nothing is ruled out.

#include "geom/swept_isa.h"
#include "math/simd.h"

/// Positions of one vertex of eight queries.
typedef struct point8 {
	d8 c[3];
} point8;

static inline point8 point8_sub(point8 a, point8 b)
{
	return (point8){ { d8_sub(a.c[0], b.c[0]), d8_sub(a.c[1], b.c[1]), d8_sub(a.c[2], b.c[2]) } };
}

static inline d8 point8_dot(point8 a, point8 b)
{
	return d8_add(d8_add(d8_mul(a.c[0], b.c[0]), d8_mul(a.c[1], b.c[1])), d8_mul(a.c[2], b.c[2]));
}

static inline point8 point8_cross(point8 a, point8 b)
{
	return (point8){ { d8_sub(d8_mul(a.c[1], b.c[2]), d8_mul(a.c[2], b.c[1])),
		d8_sub(d8_mul(a.c[2], b.c[0]), d8_mul(a.c[0], b.c[2])), d8_sub(d8_mul(a.c[0], b.c[1]), d8_mul(a.c[1], b.c[0])) } };
}

static inline point8 point8_add(point8 a, point8 b)
{
	return (point8){ { d8_add(a.c[0], b.c[0]), d8_add(a.c[1], b.c[1]), d8_add(a.c[2], b.c[2]) } };
}

/// Sum of the absolute components at both ends.
static inline d8 point8_size(const point8 ends[2])
{
	const d8 first = d8_add(d8_add(d8_abs(ends[0].c[0]), d8_abs(ends[0].c[1])), d8_abs(ends[0].c[2]));
	const d8 last = d8_add(d8_add(d8_abs(ends[1].c[0]), d8_abs(ends[1].c[1])), d8_abs(ends[1].c[2]));
	return d8_add(first, last);
}

static inline point8 gather_point(const double *positions, i8 place)
{
	return (point8){ { d8_gather(positions, place), d8_gather(positions + 1, place), d8_gather(positions + 2, place) } };
}

/// The figure of eight queries at both ends, and the vectors of the cubic.
typedef struct figure8 {
	point8 corner[8]; // corners at time 0, then those at time 1
	point8 a[2], b[2];
} figure8;

static inline void make_figure(cr_swept_kind kind, const cr_swept_queries *queries, const i8 place[4], figure8 *figure)
{
	for (int t = 0; t < 2; t++) {
		const double *positions = t ? queries->end : queries->begin;
		point8 p[4];
		for (int k = 0; k < 4; k++)
			p[k] = gather_point(positions, place[k]);
		if (kind == CR_SWEPT_VERTEX_FACE) {
			for (int k = 0; k < 3; k++)
				figure->corner[3 * t + k] = point8_sub(p[0], p[k + 1]);
			figure->a[t] = point8_sub(p[2], p[1]);
			figure->b[t] = point8_sub(p[3], p[1]);
		} else {
			for (int k = 0; k < 4; k++)
				figure->corner[4 * t + k] = point8_sub(p[k & 1], p[2 + (k >> 1)]);
			figure->a[t] = point8_sub(p[1], p[0]);
			figure->b[t] = point8_sub(p[3], p[2]);
		}
	}
}

/// Lanes with all components beyond margin on one side.
static inline uint32_t beyond(d8 low, d8 high, d8 margin)
{
	return d8_lt(margin, low) | d8_lt(high, d8_sub(d8_set1(0), margin));
}

/// margin: a little more than min_separation.
static inline uint32_t apart_along_axes(int count, const figure8 *figure, double margin)
{
	uint32_t apart = 0;
	for (int k = 0; k < 3; k++) {
		d8 low = figure->corner[0].c[k], high = low;
		for (int i = 1; i < 2 * count; i++) {
			low = d8_min(low, figure->corner[i].c[k]);
			high = d8_max(high, figure->corner[i].c[k]);
		}
		apart |= beyond(low, high, d8_set1(margin));
	}
	return apart;
}

/// The bound that sums and differences of components k and m must exceed: 0, or the separation (the
/// length of the axis is the root of 2) and their error.
static inline d8 diagonal_bound(int count, const figure8 *figure, int k, int m, double margin)
{
	if (!(margin > 0))
		return d8_set1(0);
	d8 reach = d8_set1(0);
	for (int i = 0; i < 2 * count; i++)
		reach = d8_max(reach, d8_add(d8_abs(figure->corner[i].c[k]), d8_abs(figure->corner[i].c[m])));
	return d8_add(d8_mul(reach, d8_set1(0x1p-51)), d8_set1(margin * 1.4142135623730952));
}

static inline uint32_t apart_along_diagonals(int count, const figure8 *figure, double margin)
{
	uint32_t apart = 0;
	for (int k = 0; k < 3; k++) {
		const int m = (k + 1) % 3;
		const d8 x = figure->corner[0].c[k], y = figure->corner[0].c[m];
		d8 low_sum = d8_add(x, y), high_sum = low_sum;
		d8 low_difference = d8_sub(x, y), high_difference = low_difference;
		for (int i = 1; i < 2 * count; i++) {
			const d8 sum = d8_add(figure->corner[i].c[k], figure->corner[i].c[m]);
			const d8 difference = d8_sub(figure->corner[i].c[k], figure->corner[i].c[m]);
			low_sum = d8_min(low_sum, sum);
			high_sum = d8_max(high_sum, sum);
			low_difference = d8_min(low_difference, difference);
			high_difference = d8_max(high_difference, difference);
		}
		const d8 bound = diagonal_bound(count, figure, k, m, margin);
		apart |= beyond(low_sum, high_sum, bound) | beyond(low_difference, high_difference, bound);
	}
	return apart;
}

/// Lanes whose cubic has no root in [0, 1]. product: a b c of the comment above.
static inline uint32_t never_coplanar(const figure8 *figure, const point8 c[2], d8 product)
{
	const point8 *a = figure->a, *b = figure->b;
	const point8 first = point8_cross(a[0], b[0]), last = point8_cross(a[1], b[1]);
	const point8 mixed = point8_add(point8_cross(a[0], b[1]), point8_cross(a[1], b[0]));
	const d8 f0 = point8_dot(first, c[0]);
	const d8 f1 = d8_add(point8_dot(mixed, c[0]), point8_dot(first, c[1]));
	const d8 f2 = d8_add(point8_dot(mixed, c[1]), point8_dot(last, c[0]));
	const d8 f3 = point8_dot(last, c[1]);
	const d8 low = d8_min(d8_min(f0, f1), d8_min(f2, f3));
	const d8 high = d8_max(d8_max(f0, f1), d8_max(f2, f3));
	const d8 error = d8_add(d8_mul(product, d8_set1(0x1p-49)), d8_set1(1e-230));
	return beyond(low, high, error);
}

/// Lanes of eight queries that are ruled out.
static inline uint32_t filter_eight(cr_swept_kind kind, const cr_swept_queries *queries, const int32_t (*vertices)[4],
	double margin, uint32_t lanes, cr_swept_stats *stats)
{
	const int count = kind == CR_SWEPT_VERTEX_FACE ? 3 : 4;
	int32_t at[4][8];
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < 4; k++)
			at[k][i] = 3 * vertices[i][k];
	}
	i8 place[4];
	for (int k = 0; k < 4; k++)
		place[k] = i8_load(at[k]);
	figure8 figure;
	make_figure(kind, queries, place, &figure);
	const point8 c[2] = { figure.corner[0], figure.corner[count] };
	const d8 size = point8_size(c);
	const d8 product = d8_mul(d8_mul(point8_size(figure.a), point8_size(figure.b)), size);
	const uint32_t usable = d8_lt(product, d8_set1(1e280)) & d8_lt(size, d8_set1(1e90)) & lanes;
	const uint32_t axes = apart_along_axes(count, &figure, margin) & usable;
	stats->by_axes += __builtin_popcount(axes);
	if (axes == lanes)
		return axes;
	uint32_t cubic = 0;
	// The cubic says that the features never meet, not how far apart they stay.
	if (!(margin > 0))
		cubic = never_coplanar(&figure, c, product) & usable & ~axes;
	stats->by_cubic += __builtin_popcount(cubic);
	if ((axes | cubic) == lanes)
		return lanes;
	const uint32_t diagonals = apart_along_diagonals(count, &figure, margin) & usable & ~(axes | cubic);
	stats->by_diagonals += __builtin_popcount(diagonals);
	return axes | diagonals | cubic;
}

static inline int32_t filter_kind(cr_swept_kind kind, const cr_swept_queries *queries, int64_t begin, int32_t count,
	double min_separation, int32_t *left, cr_swept_stats *stats)
{
	const double margin = min_separation * (1 + 0x1p-50);
	int32_t left_count = 0;
	for (int32_t first = 0; first < count; first += 8) {
		const int32_t(*vertices)[4] = queries->vertices + begin + first;
		const int32_t here = count - first < 8 ? count - first : 8;
		int32_t padded[8][4];
		if (here < 8) {
			for (int i = 0; i < 8; i++) {
				for (int k = 0; k < 4; k++)
					padded[i][k] = vertices[i < here ? i : 0][k];
			}
			vertices = (const int32_t(*)[4])padded;
		}
		const uint32_t lanes = (1u << here) - 1;
		uint32_t rest = lanes & ~filter_eight(kind, queries, vertices, margin, lanes, stats);
		while (rest)
			left[left_count++] = first + cr_take_lowest_bit(&rest);
	}
	stats->queries += count;
	return left_count;
}

static int32_t filter(
	const cr_swept_queries *queries, int64_t begin, int32_t count, double min_separation, int32_t *left, cr_swept_stats *stats)
{
	if (queries->kind == CR_SWEPT_VERTEX_FACE)
		return filter_kind(CR_SWEPT_VERTEX_FACE, queries, begin, count, min_separation, left, stats);
	return filter_kind(CR_SWEPT_EDGE_EDGE, queries, begin, count, min_separation, left, stats);
}

const cr_swept_kernels CR_ISA_NAME(cr_swept_kernels) = { filter };
