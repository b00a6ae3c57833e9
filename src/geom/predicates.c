// Exact orientation signs. A static filter in double decides almost always. Where it cannot, the
// coordinates are taken as integers, multiples of the smallest power of two among them, and the
// determinant is computed in whole numbers: exact for every finite input, however large, small or
// mixed, which floating-point expansions are not when their parts underflow. The numbers are as
// long as their values need: for vertices of one scene two or three limbs.
#include "geom/predicates.h"

#include "geom/triangle.h"

#include <string.h>

// A coordinate in units of 2^-1074 has at most 2098 bits, a sum of six products of three
// differences under 6310. Not inlined, so that its numbers, 800 bytes each, lie on the stack only
// while it runs.
#define ALONE __attribute__((noinline))

enum { COORDINATE_LIMBS = 67, LIMBS = 3 * COORDINATE_LIMBS + 2 };

// sign is -1, 0 or 1; the highest of count limbs is not 0.
typedef struct big {
	int sign;
	int count;
	uint32_t limb[LIMBS];
} big;

// value = mantissa * 2^exponent with an odd or zero mantissa.
static int64_t split(double value, int *exponent)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	int biased = (int)(bits >> 52 & 0x7ff);
	uint64_t mantissa = bits & 0xfffffffffffffull;
	if (biased > 0)
		mantissa |= 1ull << 52;
	*exponent = (biased > 0 ? biased : 1) - 1075;
	if (mantissa == 0)
		return 0;
	while ((mantissa & 1) == 0) {
		mantissa >>= 1;
		++*exponent;
	}
	return bits >> 63 ? -(int64_t)mantissa : (int64_t)mantissa;
}

static void trim(big *r)
{
	while (r->count > 0 && r->limb[r->count - 1] == 0)
		r->count--;
	if (r->count == 0)
		r->sign = 0;
}

// r = value / 2^unit, a whole number by the choice of unit.
static void big_load(big *r, double value, int unit)
{
	int exponent;
	int64_t mantissa = split(value, &exponent);
	r->sign = mantissa < 0 ? -1 : mantissa > 0;
	r->count = 0;
	if (mantissa == 0)
		return;
	uint64_t magnitude = (uint64_t)(mantissa < 0 ? -mantissa : mantissa);
	int shift = exponent - unit, zeros = shift / 32;
	memset(r->limb, 0, sizeof(uint32_t) * (size_t)zeros);
	uint64_t low = (magnitude & 0xffffffffu) << shift % 32, high = (magnitude >> 32) << shift % 32;
	high += low >> 32;
	r->limb[zeros] = (uint32_t)low;
	r->limb[zeros + 1] = (uint32_t)high;
	r->limb[zeros + 2] = (uint32_t)(high >> 32);
	r->count = zeros + 3;
	trim(r);
}

static int compare_magnitude(const big *a, const big *b)
{
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (int i = a->count - 1; i >= 0; i--) {
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	}
	return 0;
}

// |r| = |a| + |b|, a the longer.
static void add_magnitude(big *r, const big *a, const big *b)
{
	uint64_t carry = 0;
	for (int i = 0; i < a->count; i++) {
		carry += (uint64_t)a->limb[i] + (i < b->count ? b->limb[i] : 0);
		r->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	r->limb[a->count] = (uint32_t)carry;
	r->count = a->count + 1;
}

// |r| = |a| - |b|, a the larger.
static void subtract_magnitude(big *r, const big *a, const big *b)
{
	int64_t borrow = 0;
	for (int i = 0; i < a->count; i++) {
		int64_t difference = (int64_t)a->limb[i] - (i < b->count ? b->limb[i] : 0) + borrow;
		r->limb[i] = (uint32_t)difference;
		borrow = difference < 0 ? -1 : 0;
	}
	r->count = a->count;
}

// r = a + b_sign * |b|; r may be neither a nor b.
static void add_signed(big *r, const big *a, const big *b, int b_sign)
{
	int order = compare_magnitude(a, b);
	const big *larger = order >= 0 ? a : b, *smaller = order >= 0 ? b : a;
	if (a->sign * b_sign >= 0) {
		r->sign = a->sign != 0 ? a->sign : b_sign;
		add_magnitude(r, larger, smaller);
	} else {
		r->sign = order >= 0 ? a->sign : b_sign;
		subtract_magnitude(r, larger, smaller);
	}
	trim(r);
}

static void big_add(big *r, const big *a, const big *b) { add_signed(r, a, b, b->sign); }
static void big_subtract(big *r, const big *a, const big *b) { add_signed(r, a, b, -b->sign); }

static void big_multiply(big *r, const big *a, const big *b)
{
	r->sign = a->sign * b->sign;
	r->count = r->sign == 0 ? 0 : a->count + b->count;
	if (r->sign == 0)
		return;
	memset(r->limb, 0, sizeof(uint32_t) * (size_t)r->count);
	for (int i = 0; i < a->count; i++) {
		uint64_t carry = 0;
		for (int j = 0; j < b->count; j++) {
			carry += (uint64_t)a->limb[i] * b->limb[j] + r->limb[i + j];
			r->limb[i + j] = (uint32_t)carry;
			carry >>= 32;
		}
		r->limb[i + b->count] = (uint32_t)carry;
	}
	trim(r);
}

// The power of two of the lowest bit set in any value (1024 when all are 0). False when one is not
// finite.
static bool common_unit(const double *values, int count, int *unit)
{
	*unit = 1024;
	for (int i = 0; i < count; i++) {
		if (!(fabs(values[i]) < INFINITY))
			return false;
		int exponent;
		if (split(values[i], &exponent) != 0 && exponent < *unit)
			*unit = exponent;
	}
	return true;
}

// r = x - y of two coordinates.
static ALONE void big_difference(big *r, double x, double y, int unit)
{
	big a, b;
	big_load(&a, x, unit);
	big_load(&b, y, unit);
	big_subtract(r, &a, &b);
}

// r = m00 m11 - m01 m10
static ALONE void big_determinant2(big *r, const big *m00, const big *m01, const big *m10, const big *m11)
{
	big left, right;
	big_multiply(&left, m00, m11);
	big_multiply(&right, m01, m10);
	big_subtract(r, &left, &right);
}

/// The minor of x and y of two points p and q (numbers in values) less the first one.
static ALONE void minor_of_rows(big *minor, const double values[12], int p, int q, int unit)
{
	big entry[2][2];
	for (int axis = 0; axis < 2; axis++) {
		big_difference(&entry[0][axis], values[3 * p + axis], values[axis], unit);
		big_difference(&entry[1][axis], values[3 * q + axis], values[axis], unit);
	}
	big_determinant2(minor, &entry[0][0], &entry[0][1], &entry[1][0], &entry[1][1]);
}

static int orient3d_exact(v3d a, v3d b, v3d c, v3d d)
{
	const double values[12] = { a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, d.x, d.y, d.z };
	int unit;
	if (!common_unit(values, 12, &unit))
		return 0;
	// Expanded along the last column: z0 (x1 y2 - y1 x2) + ... The nine differences at a time would
	// take 8 KB of stack.
	big sum = { .sign = 0 };
	for (int i = 0; i < 3; i++) {
		big minor, z, product;
		const big partial = sum;
		minor_of_rows(&minor, values, 1 + (i + 1) % 3, 1 + (i + 2) % 3, unit);
		big_difference(&z, values[3 * (i + 1) + 2], values[2], unit);
		big_multiply(&product, &minor, &z);
		big_add(&sum, &partial, &product);
	}
	return sum.sign;
}

int cr_orient3d_sign(v3d a, v3d b, v3d c, v3d d)
{
	v3d u = v3d_sub(b, a), v = v3d_sub(c, a), w = v3d_sub(d, a);
	double uv = u.x * v.y, vu = u.y * v.x, vw = v.x * w.y, wv = v.y * w.x, wu = w.x * u.y, uw = w.y * u.x;
	double determinant = (uv - vu) * w.z + (vw - wv) * u.z + (wu - uw) * v.z;
	double permanent = (fabs(uv) + fabs(vu)) * fabs(w.z) + (fabs(vw) + fabs(wv)) * fabs(u.z) + (fabs(wu) + fabs(uw)) * fabs(v.z);
	// Shewchuk's bound A for orient3d is (7 + 56 e) e, e = 2^-53; the second part covers the loss
	// of products by underflow.
	double bound = 8.8817841970012523e-16 * permanent + 1e-300 * (1 + fabs(u.z) + fabs(v.z) + fabs(w.z));
	if (determinant > bound)
		return 1;
	if (-determinant > bound)
		return -1;
	// All in a plane across an axis: frequent, and a difference is 0 only for equal numbers.
	bool flat = (u.x == 0 && v.x == 0 && w.x == 0) || (u.y == 0 && v.y == 0 && w.y == 0) || (u.z == 0 && v.z == 0 && w.z == 0);
	return flat ? 0 : orient3d_exact(a, b, c, d);
}

static int orient2d_exact(const double a[2], const double b[2], const double c[2])
{
	const double values[6] = { a[0], a[1], b[0], b[1], c[0], c[1] };
	int unit;
	if (!common_unit(values, 6, &unit))
		return 0;
	big ux, uy, vx, vy, r;
	big_difference(&ux, b[0], a[0], unit);
	big_difference(&uy, b[1], a[1], unit);
	big_difference(&vx, c[0], a[0], unit);
	big_difference(&vy, c[1], a[1], unit);
	big_determinant2(&r, &ux, &uy, &vx, &vy);
	return r.sign;
}

int cr_orient2d_sign(v3d a, v3d b, v3d c, int axis)
{
	int i = (axis + 1) % 3, j = (axis + 2) % 3;
	const double p[2] = { v3d_get(a, i), v3d_get(a, j) }, q[2] = { v3d_get(b, i), v3d_get(b, j) };
	const double r[2] = { v3d_get(c, i), v3d_get(c, j) };
	double ux = q[0] - p[0], uy = q[1] - p[1], vx = r[0] - p[0], vy = r[1] - p[1];
	double left = ux * vy, right = uy * vx, determinant = left - right;
	// Shewchuk's bound A for orient2d is (3 + 16 e) e.
	double bound = 4.4408920985006262e-16 * (fabs(left) + fabs(right)) + 1e-300;
	if (determinant > bound)
		return 1;
	if (-determinant > bound)
		return -1;
	bool flat = (ux == 0 && vx == 0) || (uy == 0 && vy == 0) || (ux == 0 && uy == 0) || (vx == 0 && vy == 0);
	return flat ? 0 : orient2d_exact(p, q, r);
}

int cr_projection_axis(v3d a, v3d b, v3d c)
{
	for (int axis = 0; axis < 3; axis++) {
		if (cr_orient2d_sign(a, b, c, axis) != 0)
			return axis;
	}
	return -1;
}
