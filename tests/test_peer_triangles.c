// Situations of triangles and edges of other libraries' test suites: FCL's test/test_fcl_tri_tri_intersection.cpp, Coal's
// test/tri_tri_overlap_edge_cases.cpp, ipc-toolkit's tests/src/tests/distance/ and ccd/, Jolt's UnitTests/Geometry/ClosestPointTests.cpp.
// The numbers are theirs, the code is ours. ipc-toolkit's distances are squared ones.
#include "peer_fixture.h"

#include <math.h>

typedef struct triangle_case {
	v3d a[3], b[3];
	double distance; // 0: they meet; NaN: apart, how far is not told
} triangle_case;

/// Both ways round, with the corners of each in all orders.
static void check_triangles(const triangle_case *cases, int count)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 0, 2, 1 }, { 2, 1, 0 }, { 1, 0, 2 } };
	for (int i = 0; i < count * 36; i++) {
		const triangle_case *c = &cases[i / 36];
		v3d a[3], b[3];
		for (int k = 0; k < 3; k++) {
			a[k] = c->a[orders[i % 6][k]];
			b[k] = c->b[orders[i / 6 % 6][k]];
		}
		const bool meet = c->distance == 0;
		CHECK_INT(carom_triangles_intersect(a, b), meet);
		CHECK_INT(carom_triangles_intersect(b, a), meet);
		carom_triangle_point on_a, on_b;
		const double distance = carom_triangle_triangle_distance(a, b, &on_a, &on_b);
		if (isnan(c->distance))
			CHECK(distance > 0);
		else
			CHECK_NEAR(distance, c->distance, 1e-12);
		CHECK_NEAR(v3d_length(v3d_sub(on_a.point, on_b.point)), distance, 1e-12);
	}
}

// general_tris and coplanar_tris of FCL; a hexagram among them.
TEST(peer_triangles, fcl_pairs)
{
	const double h = sqrt(0.75);
	const triangle_case cases[] = {
		{ { { 0, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } }, { { 0, 0, 0 }, { 0, -1, 0 }, { 1, 0, 0 } }, 0 },
		{ { { 1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 } }, { { 0, 0, 0 }, { 0, 1, 1 }, { 0, -1, 1 } }, 0 },
		{ { { 1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 } }, { { 0, 0, 0.5 }, { 0, 1, 1 }, { 0, -1, 1 } }, 0.5 },
		{ { { 1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 } }, { { 1, 0, 0.1 }, { 0, 1, 0.1 }, { 0, -1, 0.1 } }, 0.1 },
		{ { { 1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 } }, { { 1, 0, 0.1 }, { 0, 1, 0.1 }, { 0, -1, 0.2 } }, NAN },
		{ { { 1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 } }, { { 0.5, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 } }, 0 },
		{ { { 1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 } }, { { 0.5, 0, 0 }, { 0, 0.5, 0 }, { 0, 0.25, 0 } }, 0 },
		{ { { 1, -0.1, 0 }, { -0.5, 1, 0 }, { -0.5, -0.1, 0 } }, { { 0, 0.1, -0.1 }, { 0, 0.1, 1 }, { 0, -1, -0.1 } }, 0 },
		{ { { -0.25, 0.5, -0.25 }, { -0.25, 0.5, 0.25 }, { 0.25, 0.5, -0.25 } },
			{ { -0.5, 0.5, -0.5 }, { -0.5, 0.5, 0.5 }, { 0.5, 0.5, -0.5 } }, 0 },
		{ { { -0.25, 0.5, -0.25 }, { -0.25, 0.5, 0.25 }, { 0.25, 0.5, 0.25 } },
			{ { -0.5, 0.5, -0.5 }, { -0.5, 0.5, 0.5 }, { 0.5, 0.5, -0.5 } }, 0 },
		{ { { -0.5, 0.5, -0.5 }, { -0.5, 0.5, 0.5 }, { 0.5, 0.5, -0.5 } },
			{ { -0.5, 0.5, 0.5 }, { 0.5, 0.5, -0.5 }, { -0.5, 0.5, -0.5 } }, 0 },
		{ { { 0.5, h, 0 }, { -1, 0, 0 }, { 0.5, -h, 0 } }, { { 1, 0, 0 }, { -0.5, h, 0 }, { -0.5, -h, 0 } }, 0 },
	};
	check_triangles(cases, sizeof cases / sizeof *cases);
}

// Coal. Triangles without an area may do as they like there; here they have an exact answer.
TEST(peer_triangles, coal_pairs)
{
	static const triangle_case cases[] = {
		{ { { 0, 0, 0 }, { 2, 0, 0 }, { 1, 2, 0 } }, { { 1, 1, 0 }, { 3, 1, 0 }, { 2, 3, 0 } }, 0 },
		{ { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } }, { { 10, 10, 0 }, { 11, 10, 0 }, { 10, 11, 0 } }, 13.435028842544403 },
		{ { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } }, { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } }, 0 },
		{ { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } }, { { 0, 0, 0 }, { 0, 0, 1 }, { 1, 0, 1 } }, 0 },
		{ { { 0, 0, 0 }, { 1, 0, 0 }, { 0.5, 1, 0 } }, { { 0, 0, 0 }, { 1, 0, 0 }, { 0.5, 0.5, 1 } }, 0 },
		{ { { 0, 0, 0 }, { 0, 0, 0 }, { 1, 0, 0 } }, { { 0, 0, -1 }, { 1, 0, -1 }, { 0.5, 1, -1 } }, 1 },
		{ { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 } }, { { 0, 1, 0 }, { 1, 1, 0 }, { 0.5, 0.5, 1 } }, 2 / 2.23606797749979 },
		{ { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } }, { { 0, 0, 1e-3 }, { 1, 0, 1e-3 }, { 0, 1, 1e-3 } }, 1e-3 },
		{ { { -1, -1, 0 }, { 1, -1, 0 }, { 0, 1, 0 } }, { { -0.5, 0, -0.001 }, { 0.5, 0, -0.001 }, { 0, 0.5, 0.001 } }, 0 },
		{ { { -2, -2, 0 }, { 2, -2, 0 }, { 0, 2, 0 } }, { { -0.5, -0.5, -1 }, { 0.5, -0.5, 1 }, { 0, 0.5, 0 } }, 0 },
	};
	check_triangles(cases, sizeof cases / sizeof *cases);
}

static const double HEIGHTS[7] = { -10, -1, -1e-12, 0, 1e-12, 1, 10 };

// test_point_triangle.cpp: points over the face, and out of each edge and corner. test_distance_type.cpp, a report of its own: a
// point that is nearest to the first edge.
TEST(peer_triangles, ipc_points_and_a_triangle)
{
	static const double shares[] = { 0, 1e-4, 0.5, 1 - 1e-4, 1 }, outs[] = { 0, 1e-12, 1e-4, 1, 2, 11, 1000 };
	static const v3d t[3] = { { -1, 0, 1 }, { 1, 0, 1 }, { 0, 0, -1 } };
	carom_triangle_point on;
	for (int i = 0; i < 7 * 3 * 5 * 7; i++) {
		const v3d from = t[i % 3], way = v3d_sub(t[(i + 1) % 3], from);
		const v3d out = v3d_normalize((v3d){ -way.z, 0, way.x }), near = v3d_mad(from, shares[i / 3 % 5], way);
		v3d point = v3d_mad(near, outs[i / 15 % 7], out);
		point.y = HEIGHTS[i / 105];
		const double distance = carom_point_triangle_distance(point, t, &on);
		CHECK_NEAR(distance, v3d_length(v3d_sub(point, near)), 1e-11);
		CHECK_NEAR(v3d_length(v3d_sub(on.point, near)), 0, 1e-9);
	}
	static const double inside[] = { 0, -1 + 1e-12, -1, 1, 1 - 1e-12 };
	for (int i = 0; i < 35; i++) {
		const v3d point = { 0, HEIGHTS[i % 7], inside[i / 7] };
		CHECK_NEAR(carom_point_triangle_distance(point, t, &on), fabs(point.y), 1e-12);
	}
	static const v3d thin[3] = { { 0.456476, 0.0526442, 0.260834 }, { 0.609111, 0.0595969, 0.275928 },
		{ 0.431262, 0.0508414, 0.255831 } };
	const double distance = carom_point_triangle_distance((v3d){ 0.488166, 0.0132623, 0.289055 }, thin, &on);
	CHECK_INT(on.feature, CAROM_FEATURE_EDGE);
	CHECK_INT(on.number, 0);
	CHECK_NEAR(distance, v3d_length(v3d_sub((v3d){ 0.488166, 0.0132623, 0.289055 }, on.point)), 1e-15);
}

// test_edge_edge.cpp: crossed edges and their shifts.
TEST(peer_triangles, ipc_crossed_edges)
{
	static const double heights[7] = { -10, -1, -1e-4, 0, 1e-4, 1, 10 }, shifts[3] = { -2, 0, 2 },
						steps[5] = { -1, -0.5, 0, 0.5, 1 };
	carom_edge_point on_a, on_b;
	for (int i = 0; i < 7 * 9 * 25; i++) {
		const double y = heights[i % 7], sx = shifts[i / 7 % 3], sz = shifts[i / 21 % 3];
		const double x = sx + steps[i / 63 % 5], z = sz + steps[i / 315];
		const v3d a[2] = { { x - 1, y, z }, { x + 1, y, z } }, b[2] = { { 0, 0, -1 }, { 0, 0, 1 } };
		const v3d near_a = sx > 1 ? a[0] : sx < -1 ? a[1] : (v3d){ 0, y, z };
		const v3d near_b = sz > 1 ? b[1] : sz < -1 ? b[0] : (v3d){ 0, 0, z };
		CHECK_NEAR(carom_edge_edge_distance(a, b, &on_a, &on_b), v3d_length(v3d_sub(near_a, near_b)), 1e-12);
		peer_check_vector(on_a.point, near_a, 1e-9);
		peer_check_vector(on_b.point, near_b, 1e-9);
	}
	static const double turns[] = { -2, -1.5, -1, -0.123124, 0, 0.2342352, 0.5, 1, 1.5, 2, 50, 51 };
	for (int i = 0; i < 7 * 12 * 2; i++) {
		const double y = heights[i % 7], c = cos(turns[i / 7 % 12] * FIXTURE_PI), s = sin(turns[i / 7 % 12] * FIXTURE_PI);
		const v3d first[2] = { { -c, y, s }, { c, y, -s } }, other[2] = { { -s, 0, -c }, { s, 0, c } };
		const v3d a[2] = { { -1, y, 0 }, { 1, y, 0 } }, b[2] = { { 0, 0, -1 }, { 0, 0, 1 } };
		CHECK_NEAR(carom_edge_edge_distance(i < 84 ? first : a, i < 84 ? b : other, &on_a, &on_b), fabs(y), 1e-12);
	}
	static const double gaps[4] = { 0, 0.01, 0.1, 1 };
	for (int i = 0; i < 7 * 4 * 4; i++) {
		const double y = heights[i % 7], gap = gaps[i / 7 % 4];
		const int p = i / 28 & 1, q = i / 56;
		v3d a[2], b[2];
		a[p] = (v3d){ gap, y, 0 }, a[1 - p] = (v3d){ 1, y, 0 };
		b[q] = (v3d){ -1, 0, 0 }, b[1 - q] = (v3d){ -gap, 0, 0 };
		CHECK_NEAR(carom_edge_edge_distance(a, b, &on_a, &on_b), hypot(2 * gap, y), 1e-12);
	}
	for (int exponent = -6; exponent <= 2; exponent++) {
		const double angle = pow(10, exponent) * FIXTURE_PI / 180, c = cos(angle), s = sin(angle);
		const v3d a[2] = { { -1, 0, 0 }, { 1, 0, 0 } }, b[2] = { { c, 1, s }, { -c, 1, -s } };
		CHECK_NEAR(carom_edge_edge_distance(a, b, &on_a, &on_b), 1, 1e-12);
	}
}

/// An edge beside a line through another one: at a share of it, and so far off along n.
static void check_beside(v3d a[2], double share, double off, bool parallel)
{
	const v3d way = v3d_sub(a[1], a[0]), n = v3d_normalize(v3d_cross(way, (v3d){ 1, 0, 0 }));
	const v3d near = v3d_mad(a[0], fmin(fmax(share, 0), 1), way), start = v3d_mad(v3d_mad(a[0], share, way), off, n);
	const v3d out = v3d_sub(start, near);
	v3d b[2] = { start, parallel ? v3d_add(start, way) : v3d_mad(start, 1 / v3d_length(out), out) };
	carom_edge_point on_a, on_b;
	for (int order = 0; order < 8; order++) {
		const v3d first[2] = { a[order & 1], a[1 - (order & 1)] }, other[2] = { b[order >> 1 & 1], b[1 - (order >> 1 & 1)] };
		const double d = order & 4 ? carom_edge_edge_distance(other, first, &on_b, &on_a)
								   : carom_edge_edge_distance(first, other, &on_a, &on_b);
		CHECK_NEAR(d, v3d_length(out), 1e-12);
		CHECK_NEAR(v3d_length(v3d_sub(on_a.point, on_b.point)), d, 1e-12);
		if (!parallel)
			peer_check_vector(on_b.point, start, 1e-9);
	}
}

// test_edge_edge.cpp: random edges, one of them out of the other's side or parallel to it.
TEST(peer_triangles, ipc_random_edges)
{
	uint64_t seed = 1;
	for (int i = 0; i < 30 * 20; i++) {
		v3d a[2];
		for (int k = 0; k < 2; k++)
			a[k] = (v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1) };
		const double off = i % 20 - 9.5;
		check_beside(a, -1 + i / 20 * 0.1, off, false);
		check_beside(a, test_random_double(&seed, 0.01, 0.99), 0.5 * off, true);
	}
}

// ClosestPointTests.cpp: the origin and a long triangle in all orders; one whose corners are nearly on one line.
TEST(peer_triangles, jolt_points_and_long_triangles)
{
	static const v3d far[3] = { { 100, 1, 0 }, { 100, 1, 1 }, { -100, 1, 0 } };
	static const int orders[6][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 0, 2, 1 }, { 2, 1, 0 }, { 1, 0, 2 } };
	static const v3d thin[3] = { { 99.9999847, 0.946687222, 99.9999847 }, { -100.010002, 0.977360725, -100.010002 },
		{ -100.000137, 0.977310658, -100.000137 } };
	const v3d origin = { 0, 0, 0 }, way = v3d_sub(thin[2], thin[0]);
	const v3d near = v3d_mad(thin[0], -v3d_dot(thin[0], way) / v3d_dot(way, way), way);
	for (int i = 0; i < 6; i++) {
		v3d a[3], b[3];
		for (int k = 0; k < 3; k++)
			a[k] = far[orders[i][k]], b[k] = thin[orders[i][k]];
		carom_triangle_point on;
		CHECK_NEAR(carom_point_triangle_distance(origin, a, &on), 1, 1e-12);
		peer_check_vector(on.point, (v3d){ 0, 1, 0 }, 1e-9);
		CHECK_NEAR(carom_point_triangle_distance(origin, b, &on), v3d_length(near), 1e-9);
	}
}

// test_nonlinear_ccd.cpp: an edge that turns about its middle meets a parallel one half its length off after 30 degrees, and a triangle
// that turns meets a point after 90. Here the edges and the point are a ten thousandth thick.
TEST(peer_triangles, ipc_turning_edges)
{
	carom_context *context = fixture_context(1);
	const carom_shape rod = fixture_capsule(1e-4, 1), dot = fixture_sphere(1e-4);
	const carom_pose along_x = peer_between((v3d){ -1, 0, 0 }, (v3d){ 1, 0, 0 });
	const carom_motion quarter = { along_x,
		fixture_compose(peer_turned((v3d){ 0, 0, 1 }, FIXTURE_PI / 2, (v3d){ 0 }), along_x) };
	const carom_pose beside = { { 0, 0.5, 0 }, along_x.orientation };
	const carom_motion rest = { beside, beside };
	carom_toi toi;
	REQUIRE(carom_time_of_impact(context, &rod, &quarter, &rod, &rest, 1e-6, &toi) == CAROM_SUCCESS);
	CHECK_INT(toi.status, CAROM_TOI_IMPACT);
	CHECK(toi.time <= 30 / 90.0 && toi.time > 30 / 90.0 - 1e-3);
	const carom_motion turn = { carom_pose_identity(), peer_turned((v3d){ 0, 0, 1 }, 0.75 * FIXTURE_PI, (v3d){ 0 }) };
	const carom_motion still = { fixture_at(0, 0.5, 0), fixture_at(0, 0.5, 0) };
	for (int i = -1; i <= 1; i++) {
		carom_mesh *mesh =
			peer_triangle(context, (v3d){ 1, 0, 0 }, (v3d){ 0.1 * i, 0, 1 }, (v3d){ 0.1 * i, 0, -1 }, CAROM_SIDES_BOTH);
		const carom_shape triangle = fixture_of_mesh(mesh);
		REQUIRE(carom_time_of_impact(context, &triangle, &turn, &dot, &still, 1e-6, &toi) == CAROM_SUCCESS);
		CHECK_INT(toi.status, CAROM_TOI_IMPACT);
		CHECK(toi.time <= 90 / 135.0 && toi.time > 90 / 135.0 - 1e-3);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}
