/// Nearest points of points, edges, triangles and meshes, against dull forms in long double and every pair of triangles.
#include "carom/carom.h"
#include "fixture.h"
#include "frame/body.h"
#include "geom/triangle.h"
#include "io/mesh_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Dull nearest points: every candidate, in long double ----

typedef struct v3l {
	long double x, y, z;
} v3l;

static v3l wide(v3d p) { return (v3l){ p.x, p.y, p.z }; }
static v3l l_sub(v3l a, v3l b) { return (v3l){ a.x - b.x, a.y - b.y, a.z - b.z }; }
static v3l l_mad(v3l a, long double s, v3l b) { return (v3l){ a.x + s * b.x, a.y + s * b.y, a.z + s * b.z }; }
static long double l_dot(v3l a, v3l b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static v3l l_cross(v3l a, v3l b) { return (v3l){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x }; }
static long double l_length(v3l a) { return sqrtl(l_dot(a, a)); }

static long double oracle_point_segment(v3l p, v3l a, v3l b)
{
	const v3l d = l_sub(b, a);
	const long double dd = l_dot(d, d);
	long double s = dd > 0 ? l_dot(l_sub(p, a), d) / dd : 0;
	s = s < 0 ? 0 : s > 1 ? 1 : s;
	return fminl(l_length(l_sub(p, l_mad(a, s, d))), l_length(l_sub(p, b)));
}

/// Distance to the line across the triangle at height w: convex in w, so that a search by thirds finds the least, needle or not.
static long double oracle_by_search(v3l p, const v3l t[3])
{
	long double low = 0, high = 1, best = INFINITY;
	for (int i = 0; i < 110; i++) {
		const long double w[2] = { low + (high - low) / 3, high - (high - low) / 3 };
		long double d[2];
		for (int k = 0; k < 2; k++)
			d[k] = oracle_point_segment(p, l_mad(t[0], w[k], l_sub(t[2], t[0])), l_mad(t[1], w[k], l_sub(t[2], t[1])));
		best = fminl(best, fminl(d[0], d[1]));
		if (d[0] < d[1])
			high = w[1];
		else
			low = w[0];
	}
	return best;
}

static long double oracle_point_triangle(v3l p, const v3l t[3])
{
	long double best = INFINITY;
	for (int i = 0; i < 3; i++)
		best = fminl(best, oracle_point_segment(p, t[i], t[(i + 1) % 3]));
	const v3l e = l_sub(t[1], t[0]), f = l_sub(t[2], t[0]), n = l_cross(e, f);
	const long double nn = l_dot(n, n), longest = fmaxl(l_dot(e, e), l_dot(f, f));
	if (nn < 1e-6L * longest * longest)
		return fminl(best, oracle_by_search(p, t));
	for (int i = 0; i < 3; i++) {
		if (!(l_dot(n, l_cross(l_sub(t[(i + 1) % 3], t[i]), l_sub(p, t[i]))) > 0))
			return best;
	}
	return fminl(best, fabsl(l_dot(n, l_sub(p, t[0]))) / sqrtl(nn));
}

static long double oracle_segments(v3l a0, v3l a1, v3l b0, v3l b1)
{
	const long double best = fminl(fminl(oracle_point_segment(a0, b0, b1), oracle_point_segment(a1, b0, b1)),
		fminl(oracle_point_segment(b0, a0, a1), oracle_point_segment(b1, a0, a1)));
	const v3l d = l_sub(a1, a0), e = l_sub(b1, b0), r = l_sub(b0, a0), n = l_cross(d, e);
	const long double nn = l_dot(n, n);
	if (!(nn > 0))
		return best;
	const long double s = l_dot(l_cross(r, e), n) / nn, t = l_dot(l_cross(r, d), n) / nn;
	if (s < 0 || s > 1 || t < 0 || t > 1)
		return best;
	return fminl(best, l_length(l_sub(l_mad(a0, s, d), l_mad(b0, t, e))));
}

static long double oracle_triangles(const v3d a[3], const v3d b[3])
{
	v3l p[3], q[3];
	for (int i = 0; i < 3; i++) {
		p[i] = wide(a[i]);
		q[i] = wide(b[i]);
	}
	if (cr_triangles_intersect(a, b)) // exact: test_triangle.c checks it against whole numbers
		return 0;
	long double best = INFINITY;
	for (int i = 0; i < 3; i++) {
		best = fminl(best, fminl(oracle_point_triangle(p[i], q), oracle_point_triangle(q[i], p)));
		for (int k = 0; k < 3; k++)
			best = fminl(best, oracle_segments(p[i], p[(i + 1) % 3], q[k], q[(k + 1) % 3]));
	}
	return best;
}

// ---- Triangles of every kind ----

static v3d random_vector(uint64_t *seed, double size)
{
	const double x = test_random_double(seed, -size, size), y = test_random_double(seed, -size, size);
	return (v3d){ x, y, test_random_double(seed, -size, size) };
}

static double random_power(uint64_t *seed, int low, int high)
{
	return pow(10, (double)low + (double)(test_random(seed) % (uint64_t)(high - low + 1)));
}

enum { KINDS = 7 };

/// Any triangle; one with small whole corners, where ties and touching are common; needles of all heights with the foot of the
/// height inside or at an end; a line; a point; a tiny one.
static void random_triangle(uint64_t *seed, int kind, v3d t[3])
{
	for (int i = 0; i < 3; i++)
		t[i] = random_vector(seed, 1);
	const v3d along = v3d_sub(t[1], t[0]);
	switch (kind) {
	case 1:
		for (int i = 0; i < 3; i++)
			t[i] = (v3d){ floor(3 * t[i].x), floor(3 * t[i].y), floor(3 * t[i].z) };
		break;
	case 2: t[2] = v3d_mad(v3d_mad(t[0], test_random_double(seed, 0, 1), along), random_power(seed, -17, -2), t[2]); break;
	case 3: t[2] = v3d_mad(t[1], random_power(seed, -17, -2), t[2]); break;
	case 4: t[2] = v3d_mad(t[0], test_random_double(seed, -1, 2), along); break;
	case 5: t[1] = t[2] = t[0]; break;
	case 6:
		for (int i = 1; i < 3; i++)
			t[i] = v3d_mad(t[0], random_power(seed, -12, -3), t[i]);
		break;
	default: break;
	}
}

static double largest_of(const v3d *p, int count)
{
	double largest = 0;
	for (int i = 0; i < count; i++)
		largest = fmax(largest, fmax(fabs(p[i].x), fmax(fabs(p[i].y), fabs(p[i].z))));
	return largest;
}

/// Weights, feature and number fit each other and give the point.
static void check_point(const carom_triangle_point *p, const v3d t[3], double tolerance)
{
	double sum = 0;
	int positive = 0, last = -1;
	v3d at = { 0, 0, 0 };
	for (int i = 0; i < 3; i++) {
		CHECK(p->weights[i] >= 0 && p->weights[i] <= 1);
		sum += p->weights[i];
		at = v3d_mad(at, p->weights[i], t[i]);
		positive += p->weights[i] > 0;
		last = p->weights[i] > 0 ? i : last;
	}
	CHECK_NEAR(sum, 1, 1e-15);
	CHECK_NEAR(v3d_length(v3d_sub(at, p->point)), 0, tolerance);
	if (p->feature == CAROM_FEATURE_VERTEX) {
		CHECK_INT(positive, 1);
		CHECK_INT(p->number, last);
		CHECK(p->weights[last] == 1 && memcmp(&p->point, &t[last], sizeof at) == 0);
	} else if (p->feature == CAROM_FEATURE_EDGE) {
		CHECK_INT(positive, 2);
		CHECK(p->number >= 0 && p->number < 3 && p->weights[(p->number + 2) % 3] == 0);
	} else {
		CHECK_INT(p->feature, CAROM_FEATURE_FACE);
		CHECK_INT(positive, 3);
		CHECK_INT(p->number, 0);
	}
}

TEST(distance, point_and_triangle)
{
	uint64_t seed = 1;
	int seen[3] = { 0 };
	for (int round = 0; round < 40000 && test_failures() == 0; round++) {
		v3d t[3];
		random_triangle(&seed, round % KINDS, t);
		v3d p = random_vector(&seed, 1.5);
		if (round % 3 == 1) // above the inside, far or as near as it gets
			p = v3d_mad(v3d_mad(v3d_mad(v3d_scale(t[0], 0.5), 0.2, t[1]), 0.3, t[2]), random_power(&seed, -12, 1), p);
		if (round % 30 == 2)
			p = t[round % 3];
		carom_triangle_point on;
		const double distance = carom_point_triangle_distance(p, t, &on), scale = fmax(largest_of(t, 3), largest_of(&p, 1));
		const v3l wt[3] = { wide(t[0]), wide(t[1]), wide(t[2]) };
		CHECK_NEAR(distance, oracle_point_triangle(wide(p), wt), 2e-11 * scale);
		CHECK_NEAR(v3d_length(v3d_sub(p, on.point)), distance, 4e-16 * scale);
		check_point(&on, t, 4e-16 * scale);
		seen[on.feature]++;
		if (test_failures())
			printf("round %d\n", round);
	}
	for (int i = 0; i < 3; i++)
		CHECK(seen[i] > 1000);
}

/// A foot in a needle of any height is found to the last digits: differences of products would leave none.
TEST(distance, a_needle_keeps_its_digits)
{
	uint64_t seed = 2;
	double worst = 0;
	for (int round = 0; round < 20000; round++) {
		v3d t[3];
		random_triangle(&seed, 2 + round % 2, t);
		const double v = test_random_double(&seed, 0, 1), w = test_random_double(&seed, 0, 1 - v);
		const v3d n = v3d_normalize(v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0])));
		const v3d p = v3d_mad(v3d_mad(v3d_mad(v3d_scale(t[0], 1 - v - w), v, t[1]), w, t[2]), round % 2 ? 0 : 1e-9, n);
		carom_triangle_point on;
		const v3l wt[3] = { wide(t[0]), wide(t[1]), wide(t[2]) };
		worst = fmax(worst, fabs(carom_point_triangle_distance(p, t, &on) - (double)oracle_point_triangle(wide(p), wt)));
	}
	CHECK(worst < 5e-12);
}

TEST(distance, two_edges)
{
	uint64_t seed = 3;
	int inner = 0, ends = 0;
	for (int round = 0; round < 40000 && test_failures() == 0; round++) {
		v3d a[2] = { random_vector(&seed, 1), random_vector(&seed, 1) },
			b[2] = { random_vector(&seed, 1), random_vector(&seed, 1) };
		if (round % 5 == 1) // nearly parallel, from a hair to a little
			b[1] = v3d_mad(
				v3d_mad(b[0], test_random_double(&seed, -2, 2), v3d_sub(a[1], a[0])), random_power(&seed, -17, -2), b[1]);
		if (round % 5 == 2) // parallel, in one line or beside it
			b[0] = v3d_mad(a[0], test_random_double(&seed, -2, 2), v3d_sub(a[1], a[0])),
			b[1] = v3d_mad(b[0], 0.5, v3d_sub(a[1], a[0]));
		if (round % 5 == 3) // they cross, at angles down to a hair
			b[0] = v3d_mad(v3d_mad(a[0], 0.5, v3d_sub(a[1], a[0])), random_power(&seed, -9, 0), b[0]),
			b[1] = v3d_sub(v3d_add(a[0], a[1]), b[0]);
		if (round % 25 == 4)
			b[1] = b[0];
		if (round % 50 == 4)
			a[1] = a[0];
		carom_edge_point p, q;
		const double distance = carom_edge_edge_distance(a, b, &p, &q);
		CHECK_NEAR(distance, oracle_segments(wide(a[0]), wide(a[1]), wide(b[0]), wide(b[1])), 4e-15);
		CHECK_NEAR(v3d_length(v3d_sub(p.point, q.point)), distance, 1e-15);
		const carom_edge_point *on[2] = { &p, &q };
		for (int k = 0; k < 2; k++) {
			const v3d *e = k ? b : a;
			CHECK_NEAR(v3d_length(v3d_sub(v3d_mad(v3d_scale(e[0], 1 - on[k]->t), on[k]->t, e[1]), on[k]->point)), 0, 1e-15);
			const bool vertex = on[k]->t == 0 || on[k]->t == 1;
			CHECK_INT(on[k]->feature, vertex ? CAROM_FEATURE_VERTEX : CAROM_FEATURE_EDGE);
			CHECK_INT(on[k]->number, on[k]->t == 1);
			CHECK(!vertex || memcmp(&on[k]->point, &e[on[k]->number], sizeof *e) == 0);
			ends += vertex;
			inner += !vertex;
		}
		if (test_failures())
			printf("round %d\n", round);
	}
	CHECK(inner > 10000 && ends > 10000);
}

TEST(distance, two_triangles)
{
	uint64_t seed = 4;
	int met = 0, seen[3][3] = { { 0 } };
	for (int round = 0; round < 30000 / TEST_FEWER && test_failures() == 0; round++) {
		v3d a[3], b[3];
		random_triangle(&seed, round % KINDS, a);
		random_triangle(&seed, round / KINDS % KINDS, b);
		const v3d shift = v3d_scale(random_vector(&seed, 1), round % 3);
		for (int i = 0; i < 3 && round % KINDS != 1; i++)
			b[i] = v3d_add(b[i], shift);
		carom_triangle_point p, q, swapped_p, swapped_q;
		const double distance = carom_triangle_triangle_distance(a, b, &p, &q);
		const double expected = (double)oracle_triangles(a, b);
		CHECK_NEAR(distance, expected, 2e-11);
		CHECK((expected == 0) == (distance == 0));
		CHECK_NEAR(carom_triangle_triangle_distance(b, a, &swapped_p, &swapped_q), distance, 2e-11);
		CHECK_NEAR(v3d_length(v3d_sub(p.point, q.point)), distance, 2e-15);
		if (distance > 0) {
			check_point(&p, a, 2e-15);
			check_point(&q, b, 2e-15);
			seen[p.feature][q.feature]++;
		} else {
			const v3l wa[3] = { wide(a[0]), wide(a[1]), wide(a[2]) }, wb[3] = { wide(b[0]), wide(b[1]), wide(b[2]) };
			CHECK_NEAR(oracle_point_triangle(wide(p.point), wa), 0, 4e-15);
			CHECK_NEAR(oracle_point_triangle(wide(p.point), wb), 0, 4e-15);
			met++;
		}
		if (test_failures())
			printf("round %d\n", round);
	}
	CHECK(met > 500 / TEST_FEWER);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++)
			CHECK(seen[i][k] > 100 / TEST_FEWER || i == CAROM_FEATURE_FACE || k == CAROM_FEATURE_FACE);
	}
	CHECK(seen[CAROM_FEATURE_FACE][CAROM_FEATURE_VERTEX] > 1000 / TEST_FEWER &&
		seen[CAROM_FEATURE_VERTEX][CAROM_FEATURE_FACE] > 1000 / TEST_FEWER);
	CHECK_INT(seen[CAROM_FEATURE_FACE][CAROM_FEATURE_FACE], 0);
}

TEST(distance, any_scale_the_same_bits)
{
	uint64_t seed = 5;
	static const double scales[] = { 0x1p900, 0x1p-900, 0x1p200, 0x1p-200, 0x1p61, 0x1p-61 };
	for (int round = 0; round < 3000 && test_failures() == 0; round++) {
		v3d a[3], b[3], sa[3], sb[3];
		random_triangle(&seed, round % KINDS, a);
		random_triangle(&seed, round / KINDS % KINDS, b);
		const double scale = scales[round % 6];
		for (int i = 0; i < 3; i++) {
			sa[i] = v3d_scale(a[i], scale);
			sb[i] = v3d_scale(b[i], scale);
		}
		carom_triangle_point p, q, sp, sq;
		carom_edge_point e, f, se, sf;
		CHECK(carom_triangle_triangle_distance(sa, sb, &sp, &sq) == scale * carom_triangle_triangle_distance(a, b, &p, &q));
		CHECK(memcmp(sp.weights, p.weights, sizeof p.weights) == 0 && sq.point.x == q.point.x * scale);
		CHECK(carom_point_triangle_distance(sb[0], sa, &sp) == scale * carom_point_triangle_distance(b[0], a, &p));
		CHECK(sp.feature == p.feature && sp.number == p.number && sp.point.y == p.point.y * scale);
		CHECK(carom_edge_edge_distance(sa, sb, &se, &sf) == scale * carom_edge_edge_distance(a, b, &e, &f));
		CHECK(se.t == e.t && sf.t == f.t && sf.point.z == f.point.z * scale);
	}
	const v3d huge[3] = { { 1e308, 0, 0 }, { 0, 1e308, 0 }, { -1e308, -1e308, 0 } }, point = { 0, 0, 1e308 };
	carom_triangle_point on;
	CHECK_NEAR(carom_point_triangle_distance(point, huge, &on), 1e308, 1e293);
	CHECK_INT(on.feature, CAROM_FEATURE_FACE);
	const v3d tiny[3] = { { 0x1p-1070, 0, 0 }, { 0, 0x1p-1070, 0 }, { 0, 0, 0 } };
	CHECK(carom_point_triangle_distance((v3d){ 0, 0, 0x1p-1070 }, tiny, &on) == 0x1p-1070);
}

TEST(distance, wrong_arguments_of_the_elementary_ones)
{
	v3d a[3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } }, b[3] = { { 0, 0, 1 }, { 1, 0, 1 }, { 0, NAN, 1 } };
	carom_triangle_point p = { .number = 7 }, q = { .number = 7 };
	carom_edge_point e = { .number = 7 }, f = { .number = 7 };
	CHECK(isnan(carom_triangle_triangle_distance(a, b, &p, &q)));
	CHECK(isnan(carom_point_triangle_distance(b[2], a, &p)) && isnan(carom_point_triangle_distance(a[0], b, &p)));
	CHECK(isnan(carom_edge_edge_distance(a, b + 1, &e, &f)));
	CHECK(isnan(carom_triangle_triangle_distance(a, NULL, &p, &q)) && isnan(carom_triangle_triangle_distance(a, a, NULL, &q)));
	CHECK(isnan(carom_point_triangle_distance(a[0], NULL, &p)) && isnan(carom_point_triangle_distance(a[0], a, NULL)));
	CHECK(isnan(carom_edge_edge_distance(NULL, a, &e, &f)) && isnan(carom_edge_edge_distance(a, a, &e, NULL)));
	b[2].y = INFINITY;
	CHECK(isnan(carom_triangle_triangle_distance(a, b, &p, &q)));
	CHECK(p.number == 7 && q.number == 7 && e.number == 7 && f.number == 7);
}

// ---- One mesh ----

static void mesh_triangle(const carom_mesh *mesh, int32_t number, v3d t[3])
{
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *c = carom_mesh_get_triangles(mesh) + 3 * (int64_t)number;
	for (int k = 0; k < 3; k++)
		t[k] = v3d_from_floats(&v[3 * (int64_t)c[k]]);
}

TEST(distance, closest_points_of_a_mesh_have_features)
{
	uint64_t seed = 6;
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_torus_mesh(context, 20, 10, 0.4, 0.3);
	int seen[3] = { 0 };
	for (int round = 0; round < 2000 && test_failures() == 0; round++) {
		bool found;
		carom_mesh_point near;
		v3d t[3];
		REQUIRE(carom_mesh_closest_point(mesh, random_vector(&seed, 2), INFINITY, &found, &near) == CAROM_SUCCESS && found);
		mesh_triangle(mesh, near.triangle, t);
		const carom_triangle_point p = { near.point, { near.weights[0], near.weights[1], near.weights[2] }, near.feature,
			near.number };
		check_point(&p, t, 1e-15);
		seen[near.feature]++;
	}
	for (int i = 0; i < 3; i++)
		CHECK(seen[i] > 20);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// From any distance that a double holds; as far as rounding tells triangles apart, the lowest number of the nearest.
TEST(distance, closest_points_from_afar)
{
	uint64_t seed = 12;
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_torus_mesh(context, 16, 8, 0.4, 0.3);
	const int32_t count = carom_mesh_get_report(mesh)->triangle_count;
	for (double away = 1; away < 1e9; away *= 10) {
		for (int round = 0; round < 50; round++) {
			const v3d p = random_vector(&seed, away);
			double best2 = INFINITY;
			int32_t best = -1;
			for (int32_t i = 0; i < count; i++) {
				v3d t[3];
				mesh_triangle(mesh, i, t);
				const v3d d = v3d_sub(p, cr_closest_on_triangle(p, t).point);
				if (v3d_dot(d, d) < best2) {
					best2 = v3d_dot(d, d);
					best = i;
				}
			}
			bool found;
			carom_mesh_point near;
			REQUIRE(carom_mesh_closest_point(mesh, p, INFINITY, &found, &near) == CAROM_SUCCESS && found);
			CHECK(fabs(near.distance) == sqrt(best2));
			CHECK_INT(near.triangle, best);
		}
	}
	for (double away = 1e10; away < 1e307; away *= 1e9) {
		bool found;
		carom_mesh_point near;
		const v3d p = { 0, away, 0 };
		REQUIRE(carom_mesh_closest_point(mesh, p, INFINITY, &found, &near) == CAROM_SUCCESS && found);
		CHECK_NEAR(near.distance / away, 1, 1e-9);
		REQUIRE(carom_mesh_closest_point(mesh, p, 1.1 * away, &found, &near) == CAROM_SUCCESS && found);
		REQUIRE(carom_mesh_closest_point(mesh, p, 0.9 * away, &found, &near) == CAROM_SUCCESS);
		CHECK(!found);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ---- Two meshes ----

typedef struct dull_gap {
	double distance;
	int32_t a, b;
} dull_gap;

/// The rotation of a pose, as the library makes it.
static m3d turn_of(const carom_pose *pose)
{
	const carom_quat q = pose->orientation;
	const double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return m3d_from_quat((carom_quat){ q.x / length, q.y / length, q.z / length, q.w / length });
}

/// B's corners in A's frame, as the library makes them.
static void triangle_in_a(const carom_mesh *mesh, int32_t number, const carom_pose *a, const carom_pose *b, v3d t[3])
{
	const m3d turn_a = turn_of(a), turn_b = turn_of(b), b_to_a = m3d_transpose_mul(&turn_a, &turn_b);
	const v3d shift = m3d_tmul(&turn_a, v3d_sub(b->position, a->position));
	mesh_triangle(mesh, number, t);
	for (int k = 0; k < 3; k++)
		t[k] = v3d_add(m3d_mul(&b_to_a, t[k]), shift);
}

static dull_gap every_pair(const carom_mesh *mesh_a, const carom_pose *a, const carom_mesh *mesh_b, const carom_pose *b)
{
	const int32_t count_a = carom_mesh_get_report(mesh_a)->triangle_count,
				  count_b = carom_mesh_get_report(mesh_b)->triangle_count;
	dull_gap best = { INFINITY, -1, -1 };
	v3d(*of_b)[3] = malloc((size_t)count_b * sizeof *of_b);
	REQUIRE(of_b);
	for (int32_t k = 0; k < count_b; k++)
		triangle_in_a(mesh_b, k, a, b, of_b[k]);
	for (int32_t i = 0; i < count_a; i++) {
		v3d t[3];
		mesh_triangle(mesh_a, i, t);
		for (int32_t k = 0; k < count_b; k++) {
			// Degenerate triangles take no part.
			if (!mesh_a->topology.used[i] || !mesh_b->topology.used[k])
				continue;
			cr_triangle_point p, q;
			const double distance2 = cr_closest_triangles(t, of_b[k], &p, &q);
			if (distance2 < best.distance)
				best = (dull_gap){ distance2, i, k };
		}
	}
	free(of_b);
	best.distance = sqrt(best.distance);
	return best;
}

/// One query against every pair, and what it says of itself. scale: of the coordinates.
static double check_gap(const carom_mesh *mesh_a, carom_pose a, const carom_mesh *mesh_b, carom_pose b, double scale)
{
	const dull_gap dull = every_pair(mesh_a, &a, mesh_b, &b);
	bool found = false;
	carom_mesh_gap gap;
	REQUIRE(carom_mesh_distance(mesh_a, &a, mesh_b, &b, INFINITY, &found, &gap) == CAROM_SUCCESS);
	REQUIRE(found);
	CHECK(gap.distance == dull.distance);
	CHECK_NEAR(v3d_length(v3d_sub(gap.on_a.point, gap.on_b.point)), gap.distance, 1e-14 * scale);
	if (gap.distance > 0) {
		CHECK_INT(gap.triangle_a, dull.a);
		CHECK_INT(gap.triangle_b, dull.b);
	} else {
		v3d p[3], q[3];
		mesh_triangle(mesh_a, gap.triangle_a, p);
		triangle_in_a(mesh_b, gap.triangle_b, &a, &b, q);
		CHECK(cr_triangles_intersect(p, q));
		CHECK(!gap.a_inside_b && !gap.b_inside_a);
	}
	v3d ta[3], tb[3];
	mesh_triangle(mesh_a, gap.triangle_a, ta);
	mesh_triangle(mesh_b, gap.triangle_b, tb);
	v3d on_a = { 0, 0, 0 }, on_b = { 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		on_a = v3d_mad(on_a, gap.on_a.weights[k], carom_transform_point(a, ta[k]));
		on_b = v3d_mad(on_b, gap.on_b.weights[k], carom_transform_point(b, tb[k]));
	}
	CHECK_NEAR(v3d_length(v3d_sub(on_a, gap.on_a.point)), 0, 1e-14 * scale);
	CHECK_NEAR(v3d_length(v3d_sub(on_b, gap.on_b.point)), 0, 1e-14 * scale);
	carom_mesh_gap near;
	// Within 0 what touches is found, and nothing else; the same within what has no square.
	REQUIRE(carom_mesh_distance(mesh_a, &a, mesh_b, &b, 0, &found, &near) == CAROM_SUCCESS);
	CHECK_INT(found, gap.distance == 0);
	REQUIRE(carom_mesh_distance(mesh_a, &a, mesh_b, &b, 1e-200, &found, &near) == CAROM_SUCCESS);
	CHECK_INT(found, gap.distance == 0);
	if (gap.distance > 0) { // found up to just this far
		REQUIRE(carom_mesh_distance(mesh_a, &a, mesh_b, &b, gap.distance, &found, &near) == CAROM_SUCCESS && found);
		CHECK(near.distance == gap.distance && near.triangle_a == gap.triangle_a && near.triangle_b == gap.triangle_b);
		REQUIRE(carom_mesh_distance(mesh_a, &a, mesh_b, &b, 0.999999 * gap.distance, &found, &near) == CAROM_SUCCESS);
		CHECK(!found);
	}
	return gap.distance;
}

TEST(distance, meshes_against_every_pair)
{
	uint64_t seed = 7;
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[4] = { fixture_torus_mesh(context, 16, 8, 0.4, 0.3), fixture_box_mesh(context, 0.5, 0.2, 0.9),
		fixture_sphere_mesh(context, 0.3, 6), fixture_sheet_mesh(context, 6, 2) };
	int apart = 0, touching = 0;
	for (int round = 0; round < 240 / TEST_FEWER && test_failures() == 0; round++) {
		const double span = 0.3 + 0.05 * (round % 60);
		const double distance = check_gap(
			meshes[round % 4], fixture_random_pose(&seed, span), meshes[round / 4 % 4], fixture_random_pose(&seed, span), 4);
		apart += distance > 0;
		touching += distance == 0;
		if (test_failures())
			printf("round %d\n", round);
	}
	CHECK(apart > 80 / TEST_FEWER && touching > 40 / TEST_FEWER);
	for (int i = 0; i < 4; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

/// Found meshes, and nearest points of one against every triangle.
TEST(distance, found_meshes_against_every_pair)
{
	uint64_t seed = 11;
	static const char *const names[3] = { "meshes/bullet-bunny-902.obj", "meshes/bullet-torus-600.obj",
		"meshes/fcl-rob-216.obj" };
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[3];
	for (int i = 0; i < 3; i++) {
		sim_error error;
		sim_mesh file;
		REQUIRE(io_load_mesh(test_data_path(names[i]), &file, &error));
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ .data = file.vertices, .type = CAROM_FLOAT32 };
		def.vertex_count = file.vertex_count;
		def.triangles = file.triangles;
		def.triangle_count = file.triangle_count;
		REQUIRE(carom_create_mesh(context, &def, NULL, &meshes[i]) == CAROM_SUCCESS);
		sim_mesh_free(&file);
	}
	for (int round = 0; round < 4; round++) {
		check_gap(meshes[0], fixture_random_pose(&seed, 1), meshes[1], fixture_random_pose(&seed, 1 + 2 * round), 8);
		carom_pose far = fixture_random_pose(&seed, 1000);
		far.position.x += 500;
		check_gap(meshes[2], fixture_random_pose(&seed, 1), meshes[1], far, 2000);
	}
	for (int round = 0; round < 400 / TEST_FEWER && test_failures() == 0; round++) {
		const v3d p = random_vector(&seed, 2);
		double best2 = INFINITY;
		int32_t best = -1;
		for (int32_t i = 0; i < 902; i++) {
			v3d t[3];
			cr_feature feature;
			mesh_triangle(meshes[0], i, t);
			const v3d d = v3d_sub(p, cr_closest_point_triangle(p, t[0], t[1], t[2], &feature));
			if (v3d_dot(d, d) < best2) {
				best2 = v3d_dot(d, d);
				best = i;
			}
		}
		bool found;
		carom_mesh_point near;
		REQUIRE(carom_mesh_closest_point(meshes[0], p, INFINITY, &found, &near) == CAROM_SUCCESS && found);
		CHECK(fabs(near.distance) == sqrt(best2));
		CHECK_INT(near.triangle, best);
	}
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

/// Where many pairs are equally near the lowest numbers are told.
TEST(distance, ties_go_to_the_lowest_triangles)
{
	carom_context *context = fixture_context(1);
	carom_mesh *box = fixture_box_mesh(context, 1, 1, 1), *sheet = fixture_sheet_mesh(context, 12, 3),
			   *ball = fixture_sphere_mesh(context, 1, 8);
	for (int axis = 0; axis < 3; axis++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			double p[3] = { 0, 0, 0 };
			p[axis] = sign * 2.5;
			CHECK_NEAR(check_gap(box, carom_pose_identity(), box, fixture_at(p[0], p[1], p[2]), 4), 0.5, 1e-15);
			check_gap(ball, carom_pose_identity(), ball, fixture_at(p[0], p[1], p[2]), 4);
			p[(axis + 1) % 3] = 2.25;
			check_gap(box, carom_pose_identity(), box, fixture_at(p[0], p[1], p[2]), 4);
		}
	}
	CHECK_NEAR(check_gap(sheet, carom_pose_identity(), sheet, fixture_at(0, 0, 0.125), 4), 0.125, 1e-15);
	CHECK_NEAR(check_gap(sheet, carom_pose_identity(), box, fixture_at(0, 0, 1.25), 4), 0.25, 1e-15);
	CHECK(check_gap(sheet, carom_pose_identity(), sheet, carom_pose_identity(), 4) == 0);
	carom_release_mesh(box);
	carom_release_mesh(sheet);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

TEST(distance, meshes_far_apart_and_far_from_the_origin)
{
	uint64_t seed = 8;
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 12, 8, 0.4, 0.3), *ball = fixture_sphere_mesh(context, 0.5, 8);
	for (int round = 0; round < 12 && test_failures() == 0; round++) {
		carom_pose a = fixture_random_pose(&seed, 1), b = fixture_random_pose(&seed, 1);
		const v3d away = v3d_scale(random_vector(&seed, 1), round < 6 ? 1e3 : 1e5);
		b.position = v3d_add(b.position, away);
		check_gap(torus, a, ball, b, 1e6); // the one far from the other
		const v3d far = { 1e8, -3e8, 2e8 };
		a.position = v3d_add(a.position, far);
		b.position = v3d_add(v3d_sub(b.position, away), far);
		b.position.x += 2;
		check_gap(torus, a, ball, b, 1e9); // both far from the origin
	}
	// As far as a pose may be: still found, and right within what a double holds there.
	bool found;
	carom_mesh_gap gap;
	const carom_pose far = fixture_at(1e15, 0, 0);
	REQUIRE(carom_mesh_distance(torus, NULL, ball, &far, INFINITY, &found, &gap) == CAROM_SUCCESS && found);
	CHECK_NEAR(gap.distance, 1e15 - 0.5 - 1.4, 2);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

TEST(distance, one_mesh_inside_another)
{
	carom_context *context = fixture_context(1);
	carom_mesh *big = fixture_sphere_mesh(context, 2, 16), *small = fixture_box_mesh(context, 0.25, 0.25, 0.25),
			   *sheet = fixture_sheet_mesh(context, 4, 0.5), *tube = fixture_torus_mesh(context, 24, 12, 0.4, 0);
	const carom_pose inside = fixture_at(0.5, 0, 0), outside = fixture_at(3, 0, 0), identity = carom_pose_identity();
	bool found;
	carom_mesh_gap gap;
	REQUIRE(carom_mesh_distance(small, &inside, big, NULL, INFINITY, &found, &gap) == CAROM_SUCCESS && found);
	CHECK(gap.a_inside_b && !gap.b_inside_a && gap.distance > 1 && gap.distance < 1.3);
	REQUIRE(carom_mesh_distance(big, NULL, small, &inside, INFINITY, &found, &gap) == CAROM_SUCCESS && found);
	CHECK(!gap.a_inside_b && gap.b_inside_a);
	REQUIRE(carom_mesh_distance(big, &identity, small, &outside, INFINITY, &found, &gap) == CAROM_SUCCESS && found);
	CHECK(!gap.a_inside_b && !gap.b_inside_a && gap.distance > 0.7 && gap.distance < 0.8);
	// An open mesh has no inside, but may lie in one; a hole is no inside.
	REQUIRE(carom_mesh_distance(sheet, &inside, big, NULL, INFINITY, &found, &gap) == CAROM_SUCCESS && found);
	CHECK(gap.a_inside_b && !gap.b_inside_a);
	REQUIRE(carom_mesh_distance(small, NULL, tube, NULL, INFINITY, &found, &gap) == CAROM_SUCCESS && found);
	CHECK(!gap.a_inside_b && !gap.b_inside_a && gap.distance > 0.2);
	REQUIRE(carom_mesh_distance(small, NULL, big, NULL, 0.5, &found, &gap) == CAROM_SUCCESS);
	CHECK(!found);
	carom_release_mesh(big);
	carom_release_mesh(small);
	carom_release_mesh(sheet);
	carom_release_mesh(tube);
	carom_destroy_context(context);
}

/// Needles, points and doubled triangles: what takes part in detection takes part here, and the trees say the same as every pair.
TEST(distance, meshes_of_poor_triangles)
{
	uint64_t seed = 9;
	static fixture_soup soup;
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 12 && test_failures() == 0; round++) {
		carom_mesh *meshes[2];
		for (int m = 0; m < 2; m++) {
			soup.vertex_count = soup.triangle_count = 0;
			for (int i = 0; i < 120; i++) {
				v3d t[3];
				random_triangle(&seed, (int[]){ 0, 1, 2, 3, 6 }[i % 5], t);
				for (int k = 0; k < 3; k++) {
					const v3d p = v3d_mad(t[k], 0.1 * (i % 7), random_vector(&seed, 1e-9));
					float *v = &soup.vertices[3 * soup.vertex_count];
					v[0] = (float)p.x, v[1] = (float)p.y, v[2] = (float)p.z;
					soup.triangles[3 * soup.triangle_count + k] = soup.vertex_count++;
				}
				soup.triangle_count++;
			}
			meshes[m] = fixture_mesh(context, &soup);
		}
		carom_pose b = fixture_random_pose(&seed, 1);
		b.position.x += round % 2 ? 6 : 2.5;
		check_gap(meshes[0], fixture_random_pose(&seed, 1), meshes[1], b, 8);
		carom_release_mesh(meshes[0]);
		carom_release_mesh(meshes[1]);
	}
	carom_destroy_context(context);
}

/// The nearest point of a collider by each instruction set, with a guess made first and without.
static void check_closest_bits(const cr_collider *c, v3d p, double max_distance)
{
	cr_near_point first;
	const bool first_found = fixture_kernels(CAROM_SIMD_SCALAR)->closest(c, p, max_distance, true, &first);
	for (int i = 0; i < 2 * FIXTURE_SIMD_COUNT; i++) {
		const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[i / 2]);
		if (!kernels)
			continue;
		cr_near_point near;
		REQUIRE(CHECK_INT(kernels->closest(c, p, max_distance, i % 2, &near), first_found));
		if (!first_found)
			continue;
		CHECK(near.distance2 == first.distance2 && near.triangle == first.triangle && near.on.feature == first.on.feature);
		CHECK(memcmp(&near.on.point, &first.on.point, sizeof near.on.point) == 0);
		CHECK(memcmp(&near.on.weight, &first.on.weight, sizeof near.on.weight) == 0);
	}
}

TEST(distance, every_instruction_set_the_same_bits)
{
	uint64_t seed = 10;
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 30, 14, 0.4, 0.3), *ball = fixture_sphere_mesh(context, 0.5, 12);
	int sets = 0;
	for (int round = 0; round < 60; round++) {
		const carom_pose pose = fixture_random_pose(&seed, 2.5);
		const m3d turn = m3d_from_quat(pose.orientation);
		cr_collider_gap first = { 0 };
		bool first_found = false;
		for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
			const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[i]);
			if (!kernels)
				continue;
			sets++;
			cr_collider_gap gap = { 0 };
			const bool found = kernels->gap(&torus->collider, &ball->collider, &turn, pose.position, 1, &gap);
			if (i == 0) {
				first = gap;
				first_found = found;
			}
			CHECK(found == first_found && gap.distance2 == first.distance2 && gap.a == first.a && gap.b == first.b);
			CHECK(!found || memcmp(&gap.on_a.point, &first.on_a.point, sizeof gap.on_a.point) == 0);
			CHECK(!found || memcmp(&gap.on_b.weight, &first.on_b.weight, sizeof gap.on_b.weight) == 0);
		}
		check_closest_bits(&torus->collider, pose.position, round % 3 ? INFINITY : 0.5);
	}
	CHECK(sets >= 60);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

TEST(distance, wrong_arguments_are_named_and_no_memory_is_taken)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *box = fixture_box_mesh(context, 1, 1, 1);
	const carom_pose pose = fixture_at(3, 0, 0), long_turn = { { 0, 0, 0 }, { 0, 0, 0, 2 } },
					 lost = { { NAN, 0, 0 }, { 0, 0, 0, 1 } };
	bool found = true;
	carom_mesh_gap gap;
	heap.fail_at = heap.calls;
	heap.fail_on = true;
	CHECK(carom_mesh_distance(box, NULL, box, &pose, 2, &found, &gap) == CAROM_SUCCESS && found);
	CHECK_NEAR(gap.distance, 1, 1e-15);
	CHECK_INT(carom_mesh_distance(NULL, NULL, box, NULL, 1, &found, &gap), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_distance(box, NULL, NULL, NULL, 1, &found, &gap), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_distance: mesh_b is NULL");
	CHECK_INT(carom_mesh_distance(box, NULL, box, NULL, 1, NULL, &gap), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_distance: found is NULL");
	CHECK_INT(carom_mesh_distance(box, NULL, box, NULL, 1, &found, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_distance: result is NULL");
	CHECK_INT(carom_mesh_distance(box, NULL, box, NULL, -1, &found, &gap), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_distance: max_distance is -1; it must be at least 0");
	CHECK(!found);
	CHECK_INT(carom_mesh_distance(box, NULL, box, NULL, NAN, &found, &gap), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_distance(box, &lost, box, NULL, 1, &found, &gap), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_mesh_distance: pose_a.position is"));
	CHECK_INT(carom_mesh_distance(box, NULL, box, &long_turn, 1, &found, &gap), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_mesh_distance: pose_b.orientation has length 2"));
	heap.fail_at = -1;
	heap.fail_on = false;
	carom_release_mesh(box);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
