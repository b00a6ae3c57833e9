// Triangle tests against slow oracles: whole numbers for intersection, dense sampling and direct formulas for the rest.
#include "test.h"

#include "geom/triangle.h"

#include <math.h>

static v3d random_point(uint64_t *state, double size)
{
	double x = test_random_double(state, -size, size), y = test_random_double(state, -size, size);
	return (v3d){ x, y, test_random_double(state, -size, size) };
}

// ---- Intersection: an oracle in whole numbers that shares nothing with the code under test ----
// Two convex sets spanned by few points are disjoint exactly when a direction parts them strictly, and for triangles (points and lines
// included) these directions suffice: normals, cross products of edges, and in-plane normals of edges against every other edge.

typedef struct i3 {
	int64_t x, y, z;
} i3;

static i3 i3_sub(i3 a, i3 b) { return (i3){ a.x - b.x, a.y - b.y, a.z - b.z }; }
static i3 i3_cross(i3 a, i3 b) { return (i3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x }; }
static int64_t i3_dot(i3 a, i3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static bool parts(i3 axis, const i3 a[3], const i3 b[3])
{
	int64_t low_a = INT64_MAX, high_a = INT64_MIN, low_b = INT64_MAX, high_b = INT64_MIN;
	for (int i = 0; i < 3; i++) {
		int64_t p = i3_dot(axis, a[i]), q = i3_dot(axis, b[i]);
		low_a = p < low_a ? p : low_a;
		high_a = p > high_a ? p : high_a;
		low_b = q < low_b ? q : low_b;
		high_b = q > high_b ? q : high_b;
	}
	return high_a < low_b || high_b < low_a;
}

// Every direction that can be normal to the difference of the two: those orthogonal to two of its edge vectors or, when it is flat, to
// one of them within its plane, or, when it is a line, along it. All are among the cross products of differences d_i, (d_i x d_j) x d_k and d_i.
static bool oracle_intersect(const i3 a[3], const i3 b[3])
{
	i3 d[6];
	for (int i = 0; i < 3; i++) {
		d[i] = i3_sub(a[(i + 1) % 3], a[i]);
		d[3 + i] = i3_sub(b[(i + 1) % 3], b[i]);
	}
	i3 between = i3_sub(a[0], b[0]);
	if (parts(between, a, b))
		return false;
	for (int i = 0; i < 6; i++) {
		if (parts(d[i], a, b) || parts(i3_cross(i3_cross(d[i], between), d[i]), a, b))
			return false;
		for (int j = 0; j < 6; j++) {
			i3 n = i3_cross(d[i], d[j]);
			if (parts(n, a, b))
				return false;
			for (int k = 0; k < 6; k++) {
				if (parts(i3_cross(n, d[k]), a, b))
					return false;
			}
		}
	}
	return true;
}

static v3d from_i3(i3 p) { return (v3d){ (double)p.x, (double)p.y, (double)p.z }; }

static void check_grid(uint64_t seed, int rounds, int64_t range, bool flat)
{
	uint64_t state = seed;
	int wrong = 0, touching = 0;
	for (int round = 0; round < rounds; round++) {
		i3 ia[3], ib[3];
		v3d a[3], b[3];
		for (int i = 0; i < 6; i++) {
			int64_t c[3];
			for (int k = 0; k < 3; k++)
				c[k] = (int64_t)(test_random(&state) % (uint64_t)(2 * range + 1)) - range;
			i3 p = { c[0], c[1], flat ? c[0] - 2 * c[1] : c[2] };
			*(i < 3 ? &ia[i] : &ib[i - 3]) = p;
		}
		for (int i = 0; i < 3; i++) {
			a[i] = from_i3(ia[i]);
			b[i] = from_i3(ib[i]);
		}
		bool expected = oracle_intersect(ia, ib);
		touching += expected;
		for (int turn = 0; turn < 6; turn++) {
			v3d p[3] = { a[turn % 3], a[(turn + 1) % 3], a[(turn + 2) % 3] }, q[3] = { b[0], b[1], b[2] };
			if (turn >= 3) {
				v3d swap = p[0];
				p[0] = p[1];
				p[1] = swap;
				q[0] = b[2];
				q[2] = b[0];
			}
			wrong += cr_triangles_intersect(p, q) != expected;
			wrong += cr_triangles_intersect(q, p) != expected;
		}
	}
	CHECK_INT(wrong, 0);
	CHECK(touching > rounds / 20 && touching < rounds);
}

TEST(triangle, intersect_grid) { check_grid(11, 40000 / TEST_FEWER, 3, false); }
TEST(triangle, intersect_grid_small) { check_grid(12, 40000 / TEST_FEWER, 1, false); }
TEST(triangle, intersect_coplanar) { check_grid(13, 40000 / TEST_FAR_FEWER, 3, true); }

TEST(triangle, intersect_by_a_hair)
{
	v3d a[3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } };
	double hairs[3] = { 0, 0x1p-1074, -0x1p-1074 };
	for (int i = 0; i < 3; i++) {
		v3d b[3] = { { 0.25, 0.25, hairs[i] }, { 0.25, 0.25, 1 }, { 0.5, 0.25, 1 } };
		CHECK_INT(cr_triangles_intersect(a, b), hairs[i] <= 0);
		CHECK_INT(cr_triangles_intersect(b, a), hairs[i] <= 0);
	}
}

TEST(triangle, segment_pierces)
{
	uint64_t state = 21;
	int hits = 0;
	for (int i = 0; i < 20000; i++) {
		v3d a = random_point(&state, 1), b = random_point(&state, 1), c = random_point(&state, 1);
		v3d p = random_point(&state, 1), q = random_point(&state, 1), n = v3d_cross(v3d_sub(b, a), v3d_sub(c, a));
		double hp = v3d_dot(n, v3d_sub(p, a)), hq = v3d_dot(n, v3d_sub(q, a)), s = -1;
		bool expected = hp * hq < 0;
		v3d x = v3d_mad(p, hp / (hp - hq), v3d_sub(q, p));
		expected = expected && v3d_dot(v3d_cross(v3d_sub(b, a), v3d_sub(x, a)), n) > 0;
		expected = expected && v3d_dot(v3d_cross(v3d_sub(c, b), v3d_sub(x, b)), n) > 0;
		expected = expected && v3d_dot(v3d_cross(v3d_sub(a, c), v3d_sub(x, c)), n) > 0;
		CHECK_INT(cr_segment_pierces_triangle(p, q, a, b, c, &s), expected);
		if (expected)
			CHECK_NEAR(s, hp / (hp - hq), 1e-9);
		hits += expected;
	}
	CHECK(hits > 500);
	v3d a = { 0, 0, 0 }, b = { 1, 0, 0 }, c = { 0, 1, 0 };
	double s;
	CHECK(cr_segment_pierces_triangle((v3d){ 0, 0, -1 }, (v3d){ 0, 0, 3 }, a, b, c, &s)); // through a corner
	CHECK_NEAR(s, 0.25, 1e-15);
	CHECK(cr_segment_pierces_triangle((v3d){ 0.25, 0.25, 1 }, (v3d){ 0.25, 0.25, 0 }, a, b, c, &s)); // ends on it
	CHECK_NEAR(s, 1, 0);
	CHECK(cr_segment_pierces_triangle((v3d){ 0.5, 0.5, 0 }, (v3d){ 0.5, 0.5, 2 }, a, b, c, &s)); // starts on an edge
	CHECK_NEAR(s, 0, 0);
	CHECK(!cr_segment_pierces_triangle((v3d){ -1, 0.1, 0 }, (v3d){ 1, 0.1, 0 }, a, b, c, &s));     // coplanar
	CHECK(!cr_segment_pierces_triangle((v3d){ 0.1, 0.1, -1 }, (v3d){ 0.1, 0.1, 1 }, a, b, b, &s)); // no area
}

// ---- Closest points ----

// Distance squared by projecting on all that the triangle has: an interior point, edges, corners.
static double oracle_point_triangle(v3d p, const v3d t[3])
{
	double best = INFINITY;
	for (int i = 0; i < 3; i++) {
		v3d e = v3d_sub(t[(i + 1) % 3], t[i]), d = v3d_sub(p, t[i]);
		double ee = v3d_dot(e, e), s = ee > 0 ? fmin(1, fmax(0, v3d_dot(d, e) / ee)) : 0;
		v3d r = v3d_sub(d, v3d_scale(e, s));
		best = fmin(best, v3d_dot(r, r));
	}
	v3d n = v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0]));
	double nn = v3d_dot(n, n), height = nn > 1e-20 ? v3d_dot(n, v3d_sub(p, t[0])) / nn : 0;
	bool inside = nn > 1e-20;
	v3d x = v3d_mad(p, -height, n);
	for (int i = 0; i < 3; i++)
		inside = inside && v3d_dot(n, v3d_cross(v3d_sub(t[(i + 1) % 3], t[i]), v3d_sub(x, t[i]))) >= 0;
	return inside ? fmin(best, height * height * nn) : best;
}

TEST(triangle, closest_point)
{
	uint64_t state = 31;
	int seen[7] = { 0 };
	for (int i = 0; i < 50000; i++) {
		v3d t[3] = { random_point(&state, 1), random_point(&state, 1), random_point(&state, 1) }, p = random_point(&state, 2);
		if (i % 10 == 0)
			t[2] = v3d_mad(t[0], test_random_double(&state, -2, 2), v3d_sub(t[1], t[0])); // no area
		if (i % 100 == 0)
			t[1] = t[2] = t[0];
		cr_feature feature = CR_FEATURE_FACE;
		v3d x = cr_closest_point_triangle(p, t[0], t[1], t[2], &feature), d = v3d_sub(p, x);
		CHECK_NEAR(sqrt(v3d_dot(d, d)), sqrt(oracle_point_triangle(p, t)), 1e-12);
		CHECK_NEAR(oracle_point_triangle(x, t), 0, 1e-26);
		if (feature >= CR_FEATURE_A)
			CHECK_NEAR(v3d_length(v3d_sub(x, t[feature - CR_FEATURE_A])), 0, 0);
		seen[feature]++;
	}
	for (int i = 0; i < 7; i++)
		CHECK(seen[i] > 100);
}

// Sampling one segment, exact on the other, then refining round the best sample.
static double oracle_segments(v3d p0, v3d p1, v3d q0, v3d q1)
{
	double from = 0, to = 1, best = INFINITY;
	for (int level = 0; level < 8; level++) {
		double at = from, step = (to - from) / 20;
		best = INFINITY;
		for (int i = 0; i <= 20; i++) {
			double s = from + i * step;
			v3d line[3] = { q0, q1, q1 };
			double d2 = oracle_point_triangle(v3d_mad(p0, s, v3d_sub(p1, p0)), line);
			if (d2 < best) {
				best = d2;
				at = s;
			}
		}
		from = fmax(0, at - step);
		to = fmin(1, at + step);
	}
	return sqrt(best);
}

TEST(triangle, closest_segments)
{
	uint64_t state = 32;
	for (int i = 0; i < 5000; i++) {
		v3d p0 = random_point(&state, 1), p1 = random_point(&state, 1), q0 = random_point(&state, 1),
			q1 = random_point(&state, 1);
		v3d shift = random_point(&state, 1);
		if (i % 8 == 1) {
			q0 = v3d_add(p0, shift);
			q1 = v3d_add(p1, shift);
		} // parallel
		if (i % 8 == 2)
			q1 = v3d_add(v3d_add(q0, v3d_sub(p1, p0)), v3d_scale(shift, 1e-7)); // nearly
		if (i % 8 == 3)
			q1 = q0;
		if (i % 8 == 4)
			p1 = p0;
		if (i % 8 == 5) {
			p1 = p0;
			q1 = q0;
		}
		if (i % 8 == 6) {
			q0 = v3d_mad(p0, 0.5, v3d_sub(p1, p0));
			q1 = v3d_mad(p0, 2, v3d_sub(p1, p0));
		} // on one line
		double s, t;
		v3d on_p, on_q;
		double d2 = cr_closest_segments(p0, p1, q0, q1, &s, &t, &on_p, &on_q);
		CHECK(s >= 0 && s <= 1 && t >= 0 && t <= 1);
		CHECK_NEAR(v3d_length(v3d_sub(on_p, v3d_mad(p0, s, v3d_sub(p1, p0)))), 0, 1e-14);
		CHECK_NEAR(v3d_length(v3d_sub(on_q, v3d_mad(q0, t, v3d_sub(q1, q0)))), 0, 1e-14);
		CHECK_NEAR(v3d_length(v3d_sub(on_p, on_q)), sqrt(d2), 1e-15);
		CHECK_NEAR(sqrt(d2), oracle_segments(p0, p1, q0, q1), 1e-8);
	}
}

TEST(triangle, closest_segment_triangle)
{
	uint64_t state = 33;
	int crossing = 0;
	for (int i = 0; i < 3000; i++) {
		v3d t[3] = { random_point(&state, 1), random_point(&state, 1), random_point(&state, 1) };
		v3d p0 = random_point(&state, 1), p1 = i % 7 ? random_point(&state, 1) : p0, on_segment, on_triangle;
		double d2 = cr_closest_segment_triangle(p0, p1, t[0], t[1], t[2], &on_segment, &on_triangle);
		double best = INFINITY, from = 0, to = 1;
		for (int level = 0; level < 8; level++) { // the distance is convex along the segment
			double at = from, step = (to - from) / 20;
			best = INFINITY;
			for (int k = 0; k <= 20; k++) {
				double x2 = oracle_point_triangle(v3d_mad(p0, from + k * step, v3d_sub(p1, p0)), t);
				if (x2 < best) {
					best = x2;
					at = from + k * step;
				}
			}
			from = fmax(0, at - step);
			to = fmin(1, at + step);
		}
		CHECK_NEAR(sqrt(d2), sqrt(best), 1e-8);
		CHECK_NEAR(v3d_length(v3d_sub(on_segment, on_triangle)), sqrt(d2), 1e-14);
		CHECK_NEAR(oracle_point_triangle(on_triangle, t), 0, 1e-26);
		crossing += d2 == 0;
	}
	CHECK(crossing > 100);
}

// ---- Penetration and boxes ----

static void moved(const v3d t[3], v3d by, v3d out[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = v3d_add(t[i], by);
}

TEST(triangle, penetration)
{
	uint64_t state = 41;
	int overlapping = 0;
	for (int i = 0; i < 20000; i++) {
		v3d a[3], b[3], out[3], n;
		for (int k = 0; k < 6; k++)
			*(k < 3 ? &a[k] : &b[k - 3]) = random_point(&state, 1);
		double depth = cr_triangle_penetration(a, b, &n);
		CHECK_NEAR(v3d_length(n), 1, 1e-12);
		bool meet = cr_triangles_intersect(a, b);
		CHECK_INT(depth >= 0, meet);
		moved(a, v3d_scale(n, depth + 1e-9), out);
		CHECK(!cr_triangles_intersect(out, b));
		overlapping += meet;
		if (!meet)
			continue;
		// No direction tried gets out with less.
		for (int k = 0; k < 20; k++) {
			v3d u = v3d_normalize(k < 10 ? random_point(&state, 1) : v3d_add(n, random_point(&state, 0.1)));
			moved(a, v3d_scale(u, depth - 1e-9), out);
			CHECK(cr_triangles_intersect(out, b));
		}
	}
	CHECK(overlapping > 500);
}

TEST(triangle, penetration_degenerate)
{
	v3d a[3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } }, b[3] = { { 2, 0, 0 }, { 3, 0, 0 }, { 2, 1, 0 } }, n;
	CHECK_NEAR(cr_triangle_penetration(a, b, &n), -1, 1e-12); // in one plane
	CHECK_NEAR(n.x, -1, 1e-12);
	CHECK_NEAR(cr_triangle_penetration(a, a, &n), 0, 1e-15);
	CHECK_NEAR(fabs(n.z), 1, 1e-15);
	v3d p[3] = { { 1, 2, 3 }, { 1, 2, 3 }, { 1, 2, 3 } }, q[3] = { { 1, 2, 1 }, { 1, 2, 1 }, { 1, 2, 1 } };
	CHECK_NEAR(cr_triangle_penetration(p, q, &n), -2, 1e-12);
	CHECK_NEAR(n.z, 1, 1e-12);
	CHECK_NEAR(cr_triangle_penetration(p, p, &n), 0, 0);
	CHECK_NEAR(v3d_length(n), 1, 1e-15);
	v3d s[3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0.5, 0, 0 } }, t[3] = { { 3, 0, 0 }, { 4, 0, 0 }, { 3, 0, 0 } };
	CHECK_NEAR(cr_triangle_penetration(s, t, &n), -2, 1e-12); // on one line
	CHECK_NEAR(n.x, -1, 1e-12);
}

TEST(triangle, box_overlap)
{
	uint64_t state = 51;
	int overlapping = 0, doubtful = 0;
	for (int i = 0; i < 20000; i++) {
		v3d centre = random_point(&state, 1), half = { 0.3, 0.5, 0.2 }, t[3];
		for (int k = 0; k < 3; k++)
			t[k] = random_point(&state, 1.2);
		if (i % 5 == 0)
			t[2] = t[1];
		// The oracle: any of the box's 12 triangles meets it, or a corner of it lies inside.
		bool expected = false;
		for (int k = 0; k < 3; k++) {
			v3d d = v3d_sub(t[k], centre);
			expected |= fabs(d.x) <= half.x && fabs(d.y) <= half.y && fabs(d.z) <= half.z;
		}
		v3d corner[8];
		for (int k = 0; k < 8; k++) {
			corner[k] = v3d_add(centre, (v3d){ k & 1 ? half.x : -half.x, k & 2 ? half.y : -half.y, k & 4 ? half.z : -half.z });
		}
		static const int faces[6][4] = { { 0, 1, 3, 2 }, { 4, 5, 7, 6 }, { 0, 1, 5, 4 }, { 2, 3, 7, 6 }, { 0, 2, 6, 4 },
			{ 1, 3, 7, 5 } };
		for (int k = 0; k < 6; k++) {
			v3d f0[3] = { corner[faces[k][0]], corner[faces[k][1]], corner[faces[k][2]] };
			v3d f1[3] = { corner[faces[k][0]], corner[faces[k][2]], corner[faces[k][3]] };
			expected |= cr_triangles_intersect(t, f0) || cr_triangles_intersect(t, f1);
		}
		bool found = cr_triangle_box_overlap(centre, half, t[0], t[1], t[2]);
		CHECK(found || !expected); // never misses
		doubtful += found != expected;
		overlapping += expected;
	}
	CHECK(overlapping > 3000 && overlapping < 17000);
	CHECK_INT(doubtful, 0); // and is wrong within rounding only, which random input does not reach
	v3d half = { 1, 1, 1 }, o = { 0, 0, 0 };
	CHECK(cr_triangle_box_overlap(o, half, (v3d){ 1, 0, 0 }, (v3d){ 2, 0, 0 }, (v3d){ 2, 1, 0 })); // touches a face
	CHECK(cr_triangle_box_overlap(o, half, (v3d){ 1, 1, 1 }, (v3d){ 2, 2, 2 }, (v3d){ 2, 1, 2 })); // touches a corner
	CHECK(cr_triangle_box_overlap(o, half, o, o, o));
	CHECK(!cr_triangle_box_overlap(o, half, (v3d){ 2.1, 1, 0 }, (v3d){ 1, 2.1, 0 }, (v3d){ 3, 3, 0 }));
}

// ---- Rays ----

TEST(triangle, ray_against_direct)
{
	uint64_t state = 61;
	int hits = 0, mt_differs = 0, wrong = 0;
	for (int i = 0; i < 100000; i++) {
		float o[3], d[3], t[3][3];
		for (int k = 0; k < 3; k++) {
			o[k] = (float)test_random_double(&state, -1, 1);
			d[k] = (float)test_random_double(&state, -1, 1);
			for (int j = 0; j < 3; j++)
				t[j][k] = (float)test_random_double(&state, -1, 1);
		}
		if (i % 3 == 0)
			d[i % 9 / 3] = 0;
		if (i % 30 == 0)
			d[(i % 9 / 3 + 1) % 3] = 0;
		v3d p = v3d_from_floats(o), q = v3d_from_floats(d), a = v3d_from_floats(t[0]);
		v3d e1 = v3d_sub(v3d_from_floats(t[1]), a), e2 = v3d_sub(v3d_from_floats(t[2]), a), n = v3d_cross(e1, e2),
			s = v3d_sub(p, a);
		double along = v3d_dot(q, n), at = -v3d_dot(s, n) / along;
		double u = v3d_dot(q, v3d_cross(e2, s)) / -along, v = v3d_dot(q, v3d_cross(s, e1)) / -along;
		bool expected = u >= 0 && v >= 0 && u + v <= 1 && at >= 0 && at <= 2;
		double edge = fmin(fmin(fabs(u), fabs(v)), fmin(fabs(1 - u - v), fmin(fabs(at), fabs(at - 2))));
		if (fabs(along) < 1e-2 || edge < 1e-3)
			continue; // rounding may decide
		cr_ray_shear shear;
		cr_triangle_hit hit, mt;
		cr_ray_shear_init(&shear, o, d);
		bool found = cr_ray_triangle_watertight(&shear, t[0], t[1], t[2], 2, &hit);
		bool found_mt = cr_ray_triangle_mt(o, d, t[0], t[1], t[2], 2, &mt);
		wrong += found != expected;
		mt_differs += found_mt != expected;
		if (!expected || !found || !found_mt)
			continue;
		hits++;
		CHECK_INT(hit.back, along > 0);
		CHECK_INT(mt.back, along > 0);
		CHECK_NEAR(hit.t, at, 1e-3);
		CHECK_NEAR(hit.u, u, 1e-3);
		CHECK_NEAR(hit.v, v, 1e-3);
		CHECK_NEAR(mt.t, at, 1e-3);
		CHECK_NEAR(mt.u, u, 1e-3);
		CHECK_NEAR(mt.v, v, 1e-3);
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(mt_differs, 0);
	CHECK(hits > 1000);
}

TEST(triangle, ray_limits)
{
	float a[3] = { 0, 0, 1 }, b[3] = { 1, 0, 1 }, c[3] = { 0, 1, 1 }, o[3] = { 0.25f, 0.25f, 0 }, up[3] = { 0, 0, 2 },
		  side[3] = { 1, 0, 0 };
	cr_ray_shear shear;
	cr_triangle_hit hit;
	cr_ray_shear_init(&shear, o, up);
	CHECK(cr_ray_triangle_watertight(&shear, a, b, c, 0.5f, &hit)); // t counts in lengths of the direction; t_max belongs
	CHECK_NEAR(hit.t, 0.5, 0);
	CHECK(hit.back);
	CHECK(!cr_ray_triangle_watertight(&shear, a, b, c, 0.49f, &hit));
	CHECK(cr_ray_triangle_watertight(&shear, a, c, b, 1, &hit));
	CHECK(!hit.back);
	float on[3] = { 0.25f, 0.25f, 1 };
	cr_ray_shear_init(&shear, on, up);
	CHECK(cr_ray_triangle_watertight(&shear, a, b, c, 1, &hit)); // starts on the triangle
	CHECK_NEAR(hit.t, 0, 0);
	cr_ray_shear_init(&shear, on, side); // within its plane
	CHECK(!cr_ray_triangle_watertight(&shear, a, b, c, 1, &hit));
	CHECK(!cr_ray_triangle_mt(on, side, a, b, c, 1, &hit));
	CHECK(!cr_ray_triangle_watertight(&shear, a, a, a, 1, &hit));
	// Edge functions whose product is below the smallest float still have a sign.
	float tiny = 1e-30f, ta[3] = { -tiny, -tiny, 1 }, tb[3] = { tiny, -tiny, 1 }, tc[3] = { 0, tiny, 1 }, zero[3] = { 0, 0, 0 };
	cr_ray_shear_init(&shear, zero, up);
	CHECK(cr_ray_triangle_watertight(&shear, ta, tb, tc, 1, &hit));
	CHECK_NEAR(hit.u, 0.25, 1e-6);
	CHECK_NEAR(hit.v, 0.5, 1e-6);
	float off[3] = { 3 * tiny, 0, 0 };
	cr_ray_shear_init(&shear, off, up);
	CHECK(!cr_ray_triangle_watertight(&shear, ta, tb, tc, 1, &hit));
}

typedef struct solid {
	float vertex[12][3];
	int triangle[20][3];
	int triangles;
} solid;

// Turned and moved, so that no coordinate is special.
static void place_solid(
	solid *m, const double (*vertex)[3], int vertices, const int (*triangle)[3], int triangles, uint64_t *state)
{
	v3d axis = v3d_normalize(random_point(state, 1)), shift = random_point(state, 3);
	double w = test_random_double(state, -1, 1), s = sqrt(1 - w * w);
	carom_quat q = { axis.x * s, axis.y * s, axis.z * s, w };
	for (int i = 0; i < vertices; i++) {
		v3d p = v3d_add(carom_rotate(q, (v3d){ vertex[i][0], vertex[i][1], vertex[i][2] }), shift);
		m->vertex[i][0] = (float)p.x;
		m->vertex[i][1] = (float)p.y;
		m->vertex[i][2] = (float)p.z;
	}
	m->triangles = triangles;
	for (int i = 0; i < triangles * 3; i++)
		m->triangle[i / 3][i % 3] = triangle[i / 3][i % 3];
}

static const double TETRA[4][3] = { { 1, 1, 1 }, { 1, -1, -1 }, { -1, 1, -1 }, { -1, -1, 1 } };
static const int TETRA_FACES[4][3] = { { 0, 1, 2 }, { 0, 3, 1 }, { 0, 2, 3 }, { 1, 3, 2 } };
static const double CUBE[8][3] = { { -1, -1, -1 }, { 1, -1, -1 }, { -1, 1, -1 }, { 1, 1, -1 }, { -1, -1, 1 }, { 1, -1, 1 },
	{ -1, 1, 1 }, { 1, 1, 1 } };
static const int CUBE_FACES[12][3] = { { 0, 2, 1 }, { 1, 2, 3 }, { 4, 5, 6 }, { 5, 7, 6 }, { 0, 1, 4 }, { 1, 5, 4 },
	{ 2, 6, 3 }, { 3, 6, 7 }, { 0, 4, 2 }, { 2, 4, 6 }, { 1, 3, 5 }, { 3, 7, 5 } };
#define G 1.618033988749895
static const double ICO[12][3] = { { -1, G, 0 }, { 1, G, 0 }, { -1, -G, 0 }, { 1, -G, 0 }, { 0, -1, G }, { 0, 1, G },
	{ 0, -1, -G }, { 0, 1, -G }, { G, 0, -1 }, { G, 0, 1 }, { -G, 0, -1 }, { -G, 0, 1 } };
static const int ICO_FACES[20][3] = { { 0, 11, 5 }, { 0, 5, 1 }, { 0, 1, 7 }, { 0, 7, 10 }, { 0, 10, 11 }, { 1, 5, 9 },
	{ 5, 11, 4 }, { 11, 10, 2 }, { 10, 7, 6 }, { 7, 1, 8 }, { 3, 9, 4 }, { 3, 4, 2 }, { 3, 2, 6 }, { 3, 6, 8 }, { 3, 8, 9 },
	{ 4, 9, 5 }, { 2, 4, 11 }, { 6, 2, 10 }, { 8, 6, 7 }, { 9, 8, 1 } };

// From a point inside a closed mesh, towards corners and points of edges: something must be hit, and from inside.
TEST(triangle, watertight_closed)
{
	uint64_t state = 71;
	int missed = 0, front = 0, mt_missed = 0;
	for (int i = 0; i < 100000; i++) {
		static solid m;
		if (i % 10 == 0) {
			int kind = i / 10 % 3;
			if (kind == 0)
				place_solid(&m, TETRA, 4, TETRA_FACES, 4, &state);
			if (kind == 1)
				place_solid(&m, CUBE, 8, CUBE_FACES, 12, &state);
			if (kind == 2)
				place_solid(&m, ICO, 12, ICO_FACES, 20, &state);
		}
		// Well inside: near the middle of all corners in use.
		float o[3], d[3];
		const int *t = m.triangle[test_random(&state) % (uint64_t)m.triangles];
		double s = i % 4 == 0 ? 0 : test_random_double(&state, 0, 1);
		for (int k = 0; k < 3; k++) {
			double middle = 0;
			for (int j = 0; j < m.triangles * 3; j++)
				middle += m.vertex[m.triangle[j / 3][j % 3]][k];
			o[k] = (float)(middle / (m.triangles * 3) + test_random_double(&state, -0.1, 0.1));
			double target = m.vertex[t[0]][k] + s * ((double)m.vertex[t[1]][k] - m.vertex[t[0]][k]);
			d[k] = (float)(target - o[k]);
		}
		cr_ray_shear shear;
		cr_triangle_hit hit;
		cr_ray_shear_init(&shear, o, d);
		int hits = 0, mt_hits = 0;
		for (int j = 0; j < m.triangles; j++) {
			const int *v = m.triangle[j];
			bool found = cr_ray_triangle_watertight(&shear, m.vertex[v[0]], m.vertex[v[1]], m.vertex[v[2]], 100, &hit);
			hits += found;
			front += found && !hit.back;
			mt_hits += cr_ray_triangle_mt(o, d, m.vertex[v[0]], m.vertex[v[1]], m.vertex[v[2]], 100, &hit);
		}
		missed += hits == 0;
		mt_missed += mt_hits == 0;
	}
	CHECK_INT(missed, 0);
	CHECK_INT(front, 0);
	CHECK(mt_missed > 0); // that the older test leaks is what the watertight one is for
}
