/// The coplanarity cubic: its coefficients with an error bound, certified intervals without a root,
/// and roots in plain floating point, where it is worth to look.
///
/// Bound of the coefficients: with p = a b c, a the sum of the absolute components of A at both
/// ends, and so on, each Bernstein coefficient is off by at most gamma_10 p before the division by
/// 3 (see swept_kernels.c for the count) and one rounding more after it; 20 u p + 1e-230 is taken,
/// u = 2^-53, where c < 1e90 and p < 1e280 as there.
///
/// Bound of an interval: the Bernstein coefficients over [from, to] are the values of the blossom
/// at (from, from, from), (from, from, to), (from, to, to), (to, to, to), each from the
/// coefficients by three convex combinations, which keep their error and add at most 3 u max |b|
/// each to first order; 16 u max |b| is taken. If all are beyond the sum on one side, the cubic has
/// no zero in the interval, since it lies in the convex hull of its coefficients there.

#include "geom/swept_cubic.h"
#include <math.h>

static double size_of(v3d a, v3d b) { return (fabs(a.x) + fabs(a.y) + fabs(a.z)) + (fabs(b.x) + fabs(b.y) + fabs(b.z)); }

void cr_swept_init_cubic(cr_swept_cubic *cubic, const cr_swept_motion *motion)
{
	const v3d a0 = motion->side_begin[0], a1 = motion->side_end[0], b0 = motion->side_begin[1], b1 = motion->side_end[1];
	const v3d c0 = motion->begin[0], c1 = motion->end[0];
	const v3d first = v3d_cross(a0, b0), mixed = v3d_add(v3d_cross(a0, b1), v3d_cross(a1, b0)), last = v3d_cross(a1, b1);
	const double c = size_of(c0, c1), product = size_of(a0, a1) * size_of(b0, b1) * c;
	const double f0 = v3d_dot(first, c0), f1 = (v3d_dot(mixed, c0) + v3d_dot(first, c1)) / 3;
	const double f2 = (v3d_dot(mixed, c1) + v3d_dot(last, c0)) / 3, f3 = v3d_dot(last, c1);
	*cubic = (cr_swept_cubic){ { f0, f1, f2, f3 },
		{ f0, 3 * (f1 - f0), 3 * ((f2 - f1) - (f1 - f0)), (f3 - f0) - 3 * (f2 - f1) }, INFINITY };
	if (c < 1e90 && product < 1e280) {
		double largest = 0;
		for (int i = 0; i < 4; i++)
			largest = fabs(cubic->bernstein[i]) > largest ? fabs(cubic->bernstein[i]) : largest;
		cubic->error = (20 * product + 16 * largest) * 0x1p-53 + 1e-230;
	}
}

static double blend(double a, double b, double t) { return (1 - t) * a + t * b; }

/// Whether the cubic has certainly no zero in [from, to].
static bool has_no_root(const cr_swept_cubic *cubic, double from, double to)
{
	const double *b = cubic->bernstein;
	const double f0 = blend(b[0], b[1], from), f1 = blend(b[1], b[2], from), f2 = blend(b[2], b[3], from);
	const double t0 = blend(b[0], b[1], to), t1 = blend(b[1], b[2], to), t2 = blend(b[2], b[3], to);
	const double ff0 = blend(f0, f1, from), ff1 = blend(f1, f2, from), tt0 = blend(t0, t1, to), tt1 = blend(t1, t2, to);
	const double value[4] = { blend(ff0, ff1, from), blend(ff0, ff1, to), blend(tt0, tt1, from), blend(tt0, tt1, to) };
	const double e = cubic->error;
	return (value[0] > e && value[1] > e && value[2] > e && value[3] > e) ||
		(value[0] < -e && value[1] < -e && value[2] < -e && value[3] < -e);
}

static double value_at(const double c[4], double t) { return c[0] + t * (c[1] + t * (c[2] + t * c[3])); }

static double slope_at(const double c[4], double t) { return c[1] + t * (2 * c[2] + t * (3 * c[3])); }

/// Times in (from, 1) where the slope is zero, ascending.
static int extrema(const double c[4], double from, double times[2])
{
	const double a = 3 * c[3], discriminant = c[2] * c[2] - a * c[1];
	if (!(discriminant > 0))
		return 0;
	const double q = -(c[2] + (c[2] < 0 ? -sqrt(discriminant) : sqrt(discriminant)));
	double first = q / a, last = c[1] / q; // infinite or NaN where the slope has no such zero
	if (first > last) {
		const double swap = first;
		first = last;
		last = swap;
	}
	int count = 0;
	if (first > from && first < 1)
		times[count++] = first;
	if (last > from && last < 1)
		times[count++] = last;
	return count;
}

/// The root of a monotone piece with a change of sign: Newton's method, halving where it leaves the
/// bracket. Where the value is within its error nobody knows better.
static double root_between(const cr_swept_cubic *cubic, double low, double high, double at_low, double at_high)
{
	const double *c = cubic->power;
	const bool rising = at_low < at_high;
	double t = low + (high - low) * (at_low / (at_low - at_high));
	for (int i = 0; i < 60; i++) {
		const double value = value_at(c, t);
		if (fabs(value) <= cubic->error)
			return t;
		if ((value < 0) == rising)
			low = t;
		else
			high = t;
		double next = t - value / slope_at(c, t);
		if (!(next > low && next < high))
			next = 0.5 * (low + high);
		if (fabs(next - t) <= 0x1p-52)
			return next;
		t = next;
	}
	return t;
}

/// The monotone pieces of [from, 1] and the values at their ends; returns how many there are.
static int make_pieces(const cr_swept_cubic *cubic, double from, double ends[4], double values[4])
{
	ends[0] = from;
	const int count = 1 + extrema(cubic->power, from, ends + 1);
	ends[count] = 1;
	for (int i = 0; i < count; i++)
		values[i] = value_at(cubic->power, ends[i]);
	values[count] = cubic->bernstein[3];
	return count;
}

static bool changes_sign(double low, double high) { return (low < 0 && high >= 0) || (low > 0 && high <= 0); }

double cr_swept_cubic_root(const cr_swept_cubic *cubic, double from)
{
	double ends[4], values[4];
	const int count = make_pieces(cubic, from, ends, values);
	for (int i = 0; i < count; i++) {
		if (changes_sign(values[i], values[i + 1]))
			return root_between(cubic, ends[i], ends[i + 1], values[i], values[i + 1]);
	}
	return INFINITY;
}

/// A certified time shortly before target, where the cubic has a root or comes near zero; from when
/// there is none.
static double stop_before(const cr_swept_cubic *cubic, double from, double target)
{
	const double *c = cubic->power;
	// How far from the target the cubic is beyond its error, by its slope or by its curvature
	// there; then ever farther.
	const double by_slope = 2 * cubic->error / fabs(slope_at(c, target));
	const double by_curvature = 2 * sqrt(cubic->error / fabs(2 * c[2] + 6 * c[3] * target));
	double back = (by_slope < by_curvature ? by_slope : by_curvature) + 0x1p-52;
	for (int attempt = 0; attempt < 3 && back < target - from; attempt++, back *= 16) {
		if (has_no_root(cubic, from, target - back))
			return target - back;
	}
	return from;
}

double cr_swept_no_root_until(const cr_swept_cubic *cubic, double from)
{
	double ends[4], values[4];
	if (!(fabs(value_at(cubic->power, from)) > cubic->error))
		return from;
	const int count = make_pieces(cubic, from, ends, values);
	double until = from;
	for (int i = 0; i < count; i++) {
		if (changes_sign(values[i], values[i + 1]))
			return stop_before(cubic, until, root_between(cubic, ends[i], ends[i + 1], values[i], values[i + 1]));
		// Up to an extremum, where the last two coefficients agree, this fails only if the cubic
		// grazes zero there.
		if (!has_no_root(cubic, until, ends[i + 1]))
			return stop_before(cubic, until, ends[i + 1]);
		until = ends[i + 1];
	}
	return 2;
}
