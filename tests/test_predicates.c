// Orientation signs against whole-number arithmetic, and exact cases at the ends of the range of double.
#include "test.h"

#include "geom/predicates.h"
#include "geom/triangle.h"

#include <float.h>
#include <math.h>

__extension__ typedef __int128 int128;

static int64_t random_integer(uint64_t *state, int64_t limit)
{
	return (int64_t)(test_random(state) % (uint64_t)(2 * limit + 1)) - limit;
}

static int sign128(int128 x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

// Coordinates up to 2^40 make a determinant below 2^126.
static int oracle3d(const int64_t p[4][3])
{
	int128 m[3][3];
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++)
			m[i][k] = (int128)p[i + 1][k] - p[0][k];
	}
	return sign128(m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
		m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]));
}

static v3d scaled(const int64_t p[3], double scale)
{
	return (v3d){ (double)p[0] * scale, (double)p[1] * scale, (double)p[2] * scale };
}

static int sign3d(const int64_t p[4][3], double scale)
{
	return cr_orient3d_sign(scaled(p[0], scale), scaled(p[1], scale), scaled(p[2], scale), scaled(p[3], scale));
}

TEST(predicates, orient3d_known)
{
	v3d o = { 0, 0, 0 }, x = { 1, 0, 0 }, y = { 0, 1, 0 }, z = { 0, 0, 1 };
	CHECK_INT(cr_orient3d_sign(o, x, y, z), 1);
	CHECK_INT(cr_orient3d_sign(o, y, x, z), -1);
	CHECK_INT(cr_orient3d_sign(o, x, y, (v3d){ 5, 7, 0 }), 0);
	CHECK_INT(cr_orient3d_sign(o, o, o, z), 0);
	CHECK_INT(cr_orient3d_sign((v3d){ NAN, 0, 0 }, x, y, z), 0);
	CHECK_INT(cr_orient3d_sign((v3d){ INFINITY, 0, 1 }, x, y, z), 0);
}

TEST(predicates, orient3d_random)
{
	uint64_t state = 1;
	int wrong = 0;
	for (int i = 0; i < 50000; i++) {
		int64_t p[4][3], limit = (int64_t)1 << (1 + test_random(&state) % 40);
		for (int k = 0; k < 12; k++)
			p[k / 3][k % 3] = random_integer(&state, limit);
		double scale = ldexp(1, (int)random_integer(&state, 900));
		wrong += sign3d(p, scale) != oracle3d(p);
	}
	CHECK_INT(wrong, 0);
}

// d = a + s (b - a) + t (c - a) for whole s and t lies in the plane; a step of 1 in one coordinate is all that tells the sign.
TEST(predicates, orient3d_nearly_coplanar)
{
	uint64_t state = 2;
	int wrong = 0, zeros = 0, filtered = 0;
	for (int i = 0; i < 50000; i++) {
		int64_t p[4][3], s = random_integer(&state, 1000), t = random_integer(&state, 1000);
		for (int k = 0; k < 9; k++)
			p[k / 3][k % 3] = random_integer(&state, (int64_t)1 << 28);
		for (int k = 0; k < 3; k++)
			p[3][k] = p[0][k] + s * (p[1][k] - p[0][k]) + t * (p[2][k] - p[0][k]);
		p[3][i % 3] += random_integer(&state, 1);
		int expected = oracle3d(p);
		zeros += expected == 0;
		wrong += sign3d(p, 0x1p-30) != expected;
		// Renamed corners: an even exchange keeps the sign.
		v3d q[4] = { scaled(p[0], 1), scaled(p[1], 1), scaled(p[2], 1), scaled(p[3], 1) };
		wrong += cr_orient3d_sign(q[1], q[2], q[0], q[3]) != expected || cr_orient3d_sign(q[3], q[0], q[2], q[1]) != expected;
		v3d u = v3d_sub(q[1], q[0]), v = v3d_sub(q[2], q[0]);
		double naive = v3d_dot(v3d_cross(u, v), v3d_sub(q[3], q[0]));
		filtered += (naive > 0) - (naive < 0) != expected;
	}
	CHECK_INT(wrong, 0);
	CHECK(zeros > 10000);
	CHECK(filtered > 100); // plain double would have failed: the cases are hard enough
}

TEST(predicates, orient3d_extreme_range)
{
	double tiny = DBL_TRUE_MIN, huge = 0x1p1000;
	v3d o = { 0, 0, 0 };
	CHECK_INT(cr_orient3d_sign(o, (v3d){ tiny, 0, 0 }, (v3d){ 0, tiny, 0 }, (v3d){ 0, 0, tiny }), 1);
	CHECK_INT(cr_orient3d_sign(o, (v3d){ 0, tiny, 0 }, (v3d){ tiny, 0, 0 }, (v3d){ 0, 0, tiny }), -1);
	CHECK_INT(cr_orient3d_sign(o, (v3d){ huge, 0, 0 }, (v3d){ 0, huge, 0 }, (v3d){ huge, huge, tiny }), 1);
	CHECK_INT(cr_orient3d_sign(o, (v3d){ huge, 0, 0 }, (v3d){ 0, huge, 0 }, (v3d){ huge, huge, -tiny }), -1);
	CHECK_INT(cr_orient3d_sign(o, (v3d){ DBL_MAX, 0, 0 }, (v3d){ 0, -DBL_MAX, 0 }, (v3d){ 1, 1, -DBL_MAX }), 1);
	// (1 + tiny) is lost in double: the plane x + y = z through points that differ by the smallest number.
	v3d a = { 1, 0, 1 }, b = { 0, 1, 1 }, c = { 2, 3, 5 };
	int below = cr_orient3d_sign(a, b, c, (v3d){ tiny, 0, 0 });
	CHECK_INT(cr_orient3d_sign(a, b, c, (v3d){ 0, 0, tiny }), -below);
	CHECK_INT(cr_orient3d_sign(a, b, c, o), 0);
	CHECK(below != 0);
}

TEST(predicates, orient2d)
{
	uint64_t state = 3;
	int wrong = 0;
	for (int i = 0; i < 50000; i++) {
		int64_t p[3][3], k = random_integer(&state, 100000), small = i % 2 ? 3 : (int64_t)1 << 34;
		for (int j = 0; j < 9; j++)
			p[j / 3][j % 3] = random_integer(&state, small);
		if (i % 4 < 2) { // nearly on a line
			for (int j = 0; j < 3; j++)
				p[2][j] = p[0][j] + k * (p[1][j] - p[0][j]) + random_integer(&state, 1);
		}
		bool flat = true;
		for (int axis = 0; axis < 3; axis++) {
			int x = (axis + 1) % 3, y = (axis + 2) % 3;
			int expected =
				sign128((int128)(p[1][x] - p[0][x]) * (p[2][y] - p[0][y]) - (int128)(p[1][y] - p[0][y]) * (p[2][x] - p[0][x]));
			wrong += cr_orient2d_sign(scaled(p[0], 1), scaled(p[1], 1), scaled(p[2], 1), axis) != expected;
			flat &= expected == 0;
		}
		wrong += (cr_projection_axis(scaled(p[0], 1), scaled(p[1], 1), scaled(p[2], 1)) < 0) != flat;
	}
	CHECK_INT(wrong, 0);
	v3d o = { 0, 0, 0 };
	CHECK_INT(cr_orient2d_sign(o, (v3d){ 1, 0, 0 }, (v3d){ 0, 1, 0 }, 2), 1);
	CHECK_INT(cr_orient2d_sign(o, (v3d){ 1, 0x1p-1070, 0 }, (v3d){ 2, 0x1p-1069, 0 }, 2), 0);
	CHECK_INT(cr_orient2d_sign(o, (v3d){ 1, 0x1p-1070, 0 }, (v3d){ 2, 0x1p-1068, 0 }, 2), 1);
	CHECK_INT(cr_orient2d_sign(o, (v3d){ NAN, 0, 0 }, (v3d){ 0, 1, 0 }, 2), 0);
}
