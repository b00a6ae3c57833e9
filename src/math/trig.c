/// Sine, cosine and arc cosine by Taylor series after reduction to a small argument. See
/// math/trig.h.
#include "math/trig.h"
#include <math.h>

static const double s_pi = 0x1.921fb54442d18p+1;
static const double s_half_pi = 0x1.921fb54442d18p+0;

/// sin r for |r| <= pi/4 or a little more; the first term left out is r^17/17! < 5e-17.
static inline double taylor_sin(double r)
{
	const double r2 = r * r;
	double sum = -1.0 / 1307674368000; // -1/15!
	sum = 1.0 / 6227020800 + r2 * sum;
	sum = -1.0 / 39916800 + r2 * sum;
	sum = 1.0 / 362880 + r2 * sum;
	sum = -1.0 / 5040 + r2 * sum;
	sum = 1.0 / 120 + r2 * sum;
	sum = -1.0 / 6 + r2 * sum;
	return r + r * r2 * sum;
}

/// cos r for |r| <= pi/4 or a little more; the first term left out is r^18/18! < 3e-18.
static inline double taylor_cos(double r)
{
	const double r2 = r * r;
	double sum = 1.0 / 20922789888000; // 1/16!
	sum = -1.0 / 87178291200 + r2 * sum;
	sum = 1.0 / 479001600 + r2 * sum;
	sum = -1.0 / 3628800 + r2 * sum;
	sum = 1.0 / 40320 + r2 * sum;
	sum = -1.0 / 720 + r2 * sum;
	sum = 1.0 / 24 + r2 * sum;
	return (1 - 0.5 * r2) + r2 * r2 * sum;
}

void cr_sincos(double angle, double *sine, double *cosine)
{
	// Reduction in three parts after Cody and Waite, Software Manual for the Elementary Functions
	// (1980): the first two parts of pi/2 have 33 bits, so that their product with a quadrant
	// number of up to 20 bits is exact.
	const double quadrant = floor(angle / s_half_pi + 0.5);
	double r = angle - quadrant * 0x1.921fb544p+0;
	r = r - quadrant * 0x1.0b4611a6p-34;
	r = r - quadrant * 0x1.3198a2e037073p-69;
	const double s = taylor_sin(r);
	const double c = taylor_cos(r);
	switch ((int)quadrant & 3) {
	case 0: *sine = s, *cosine = c; break;
	case 1: *sine = c, *cosine = -s; break;
	case 2: *sine = -s, *cosine = -c; break;
	default: *sine = -c, *cosine = s; break;
	}
}

/// arc sine for |x| <= 1/2.
static inline double small_asin(double x)
{
	// The series is off by less than 1e-4 here. A step of Newton on sin(angle) = x makes of an
	// error e one of e^2 tan(angle) / 2: below 3e-9 after the first step and below rounding after
	// the second.
	const double x2 = x * x;
	double angle = x + x * x2 * (1.0 / 6 + x2 * (3.0 / 40 + x2 * (15.0 / 336)));
	for (int step = 0; step < 2; step++)
		angle = angle - (taylor_sin(angle) - x) / taylor_cos(angle);
	return angle;
}

double cr_acos(double x)
{
	if (x >= 1)
		return 0;
	if (x <= -1)
		return s_pi;
	// acos x = 2 asin sqrt((1 - x) / 2) keeps the digits where acos is steep (Abramowitz and Stegun
	// 4.4.32).
	if (x > 0.5)
		return 2 * small_asin(sqrt((1 - x) * 0.5));
	if (x < -0.5)
		return s_pi - 2 * small_asin(sqrt((1 + x) * 0.5));
	return s_half_pi - small_asin(x);
}

void cr_acos_three(const double x[3], double angle[3])
{
	// A fourth lane makes two pairs, which the compiler works out side by side.
	double small[4] = { 0, 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		const double rest = (1 - fabs(x[k])) * 0.5;
		small[k] = fabs(x[k]) > 0.5 ? sqrt(rest > 0 ? rest : 0) : x[k];
	}
	for (int k = 0; k < 4; k++)
		small[k] = small_asin(small[k]);
	for (int k = 0; k < 3; k++)
		angle[k] = x[k] >= 1 ? 0
			: x[k] <= -1     ? s_pi
			: x[k] > 0.5     ? 2 * small[k]
			: x[k] < -0.5    ? s_pi - 2 * small[k]
							 : s_half_pi - small[k];
}
