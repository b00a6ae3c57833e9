// Situations of other libraries' test suites, as in test_peer_cases.c: contacts of two shapes, half spaces, impacts of features.
#include "carom/sweep.h"
#include "peer_fixture.h"
#include <float.h>
#include <math.h>

// ---- FCL: test/test_fcl_geometric_shapes.cpp, shapeIntersection_halfspacecapsule and ..._halfspacecylinder ----

// The capsule and cylinder have radius 5 and full length 10. Carom's half space lies below z = 0 of its frame, so FCL's normals along
// x and y are turned planes. Where FCL says that nothing meets, the gap follows from the sizes.
TEST(peer_manifolds, fcl_half_spaces)
{
	static const double along_z[5][3] = { { 0, -10, -5 }, { 2.5, -12.5, -7.5 }, { -2.5, -7.5, -2.5 }, { 10.1, -20.1, -15.1 },
		{ -10.1, 0.1, 5.1 } };
	static const double across[5][2] = { { 0, -5 }, { 2.5, -7.5 }, { -2.5, -2.5 }, { 5.1, -10.1 }, { -5.1, 0.1 } };
	static const carom_quat to_x = { 0, ROOT_HALF, 0, ROOT_HALF }, to_y = { -ROOT_HALF, 0, 0, ROOT_HALF };
	const carom_shape plane = { .type = CAROM_PLANE }, shapes[2] = { fixture_capsule(5, 5), fixture_cylinder(5, 5) };
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 2; k++) {
			carom_separation s;
			const carom_pose x = { { across[i][0], 0, 0 }, to_x }, y = { { 0, across[i][0], 0 }, to_y };
			REQUIRE(carom_distance(context, &shapes[k], NULL, &plane, &x, &s) == CAROM_SUCCESS);
			CHECK_NEAR(s.distance, across[i][1], 1e-6);
			CHECK_NEAR(s.normal.x, 1, 1e-9);
			REQUIRE(carom_distance(context, &shapes[k], NULL, &plane, &y, &s) == CAROM_SUCCESS);
			CHECK_NEAR(s.distance, across[i][1], 1e-6);
			CHECK_NEAR(s.normal.y, 1, 1e-9);
			const carom_pose z = fixture_at(0, 0, along_z[i][0]);
			REQUIRE(carom_distance(context, &shapes[k], NULL, &plane, &z, &s) == CAROM_SUCCESS);
			CHECK_NEAR(s.distance, along_z[i][1 + k], 1e-6);
			CHECK_NEAR(s.normal.z, 1, 1e-9);
		}
	}
	carom_destroy_context(context);
}

// ---- Box3D: test/test_manifold.c ----

static const carom_vec3 AXIS_X = { 1, 0, 0 }, AXIS_Y = { 0, 1, 0 }, AXIS_Z = { 0, 0, 1 };

/// Cubes that meet edge on edge along x: CrossedEdgeTest and EdgeAxisScaleTest. Box3D tells the middle between the edges; Carom's point
/// lies on A's.
static void check_crossed_edges(carom_context *context, double half, double x, double margin, int count)
{
	const carom_shape cube = fixture_box(half, half, half);
	const carom_pose a = peer_turned(AXIS_Y, 0.25 * FIXTURE_PI, (v3d){ 0, 0, 0 }),
					 b = peer_turned(AXIS_Z, 0.25 * FIXTURE_PI, (v3d){ x, 0, 0 });
	const double edge = 2 * half * ROOT_HALF;
	carom_manifold m;
	REQUIRE(carom_collide_convex(context, &cube, &a, &cube, &b, margin, &m) == CAROM_SUCCESS);
	if (!CHECK_INT(m.count, count) || count == 0)
		return;
	CHECK_NEAR(m.normal.x, -1, 1e-6);
	CHECK_NEAR(m.points[0].depth, 2 * edge - x, 1e-6 * half + 1e-9);
	CHECK_NEAR(m.points[0].point.x, edge, 1e-6 * half);
	CHECK_NEAR(m.points[0].point.y, 0, 1e-6 * half);
	CHECK_NEAR(m.points[0].point.z, 0, 1e-6 * half);
}

TEST(peer_manifolds, box3d_crossed_edges)
{
	carom_context *context = fixture_context(1);
	static const double apart[] = { 1.42, 2 * ROOT_HALF, 1.41, 1.3 }, scales[] = { 100, 1, 0.2 };
	for (int i = 0; i < 4; i++)
		check_crossed_edges(context, 0.5, apart[i], 0.02, 1);
	check_crossed_edges(context, 0.5, 1.5, 0.02, 0);
	for (int i = 0; i < 3; i++)
		check_crossed_edges(context, 0.5 * scales[i], 2 * ROOT_HALF * scales[i] - 0.002, 0.02, 1);
	carom_destroy_context(context);
}

static const carom_vec3 TILT_AXES[] = { { 0.57735026918962576, 0.57735026918962576, 0.57735026918962576 },
	{ ROOT_HALF, 0, ROOT_HALF }, { 0.26726124191242440, 0.53452248382484879, 0.80178372573727319 },
	{ -0.48507125007266594, 0.72760687510899891, -0.48507125007266594 } };
static const double TILT_ANGLES[] = { 0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.004, 0.005, 0.006, 0.01, 0.05 };
enum { TILTS = 4 * 11 };

static carom_pose tilted(int i) { return peer_turned(TILT_AXES[i / 11], TILT_ANGLES[i % 11], (v3d){ 0, 0.99, 0 }); }

// ParallelEdgeTest: cubes stacked face on face, the upper one tipped by a hair. The face contact has to survive.
TEST(peer_manifolds, box3d_parallel_edges)
{
	const carom_shape cube = fixture_box(0.5, 0.5, 0.5);
	carom_context *context = fixture_context(1);
	for (int i = 0; i < TILTS; i++) {
		const carom_pose upper = tilted(i);
		carom_manifold m;
		// Box3D keeps points that are apart by less than its speculative distance. Twisted squares have an octagon in common, of which it
		// keeps four corners.
		REQUIRE(carom_collide_convex(context, &cube, NULL, &cube, &upper, 0.05, &m) == CAROM_SUCCESS);
		CHECK(m.normal.y < -0.998);
		CHECK(m.count >= 4);
		for (int k = 0; k < m.count; k++)
			CHECK_NEAR(m.points[k].depth, 0.01, 0.87 * TILT_ANGLES[i % 11] + 1e-5);
	}
	carom_destroy_context(context);
}

// The same cubes as meshes of twelve triangles.
TEST(peer_manifolds, box3d_parallel_edges_of_meshes)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	const carom_shape cube = fixture_of_mesh(mesh);
	for (int i = 0; i < TILTS; i++) {
		const carom_pose upper = tilted(i);
		carom_contact contacts[8];
		int32_t count;
		REQUIRE(carom_collide(context, &cube, NULL, &cube, &upper, 0, 8, contacts, &count) == CAROM_SUCCESS);
		CHECK(count >= 4 || TILT_ANGLES[i % 11] > 0.01); // a corner of a cube tipped so far is clear of the other
		CHECK(count >= 3);
		for (int k = 0; k < count; k++) {
			CHECK(contacts[k].normal[1] < -0.998f);
			CHECK_NEAR(contacts[k].depth, 0.01, 0.87 * TILT_ANGLES[i % 11] + 1e-5);
		}
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// OverlapNeverEmptyTest: where the middle of B is inside A there is a contact, whatever the turn.
TEST(peer_manifolds, box3d_overlaps_are_never_empty)
{
	const carom_shape a = fixture_box(0.5, 0.5, 0.5), b = fixture_box(0.4, 0.6, 0.5);
	carom_context *context = fixture_context(1);
	uint64_t seed = 12345;
	for (int i = 0; i < 2000; i++) {
		const carom_pose aim = fixture_random_pose(&seed, 1), way = fixture_random_pose(&seed, 1);
		const carom_vec3 axis = carom_rotate(aim.orientation, AXIS_X), offset = carom_rotate(way.orientation, AXIS_X);
		const double angle = i % 2 ? test_random_double(&seed, -0.01, 0.01) : test_random_double(&seed, -FIXTURE_PI, FIXTURE_PI);
		const carom_pose pose = peer_turned(axis, angle, (v3d){ 0.4 * offset.x, 0.4 * offset.y, 0.4 * offset.z });
		carom_manifold m;
		REQUIRE(carom_collide_convex(context, &a, NULL, &b, &pose, 0, &m) == CAROM_SUCCESS);
		double deepest = 0;
		for (int k = 0; k < m.count; k++)
			deepest = fmax(deepest, m.points[k].depth);
		CHECK(deepest > 0);
		CHECK_NEAR(m.normal.x * m.normal.x + m.normal.y * m.normal.y + m.normal.z * m.normal.z, 1, 1e-9);
	}
	carom_destroy_context(context);
}

// ---- ipc-toolkit: tests/src/tests/ccd/test_edge_edge_ccd.cpp and test_point_triangle_ccd.cpp ----

typedef double places[4][3];

/// What has to be found is found. exact: and nothing else is.
static void check_impact(carom_context *context, carom_sweep_kind kind, places begin, places end, bool expected, bool exact)
{
	bool found;
	carom_sweep_hit hit;
	REQUIRE(carom_sweep_test_pair(context, NULL, kind, begin, end, &found, &hit) == CAROM_SUCCESS);
	if (exact)
		CHECK_INT(found, expected);
	else
		CHECK(found || !expected);
	if (found)
		CHECK(hit.time >= 0 && hit.time <= 1);
}

/// Moves vertices first to last - 1 of begin by (0, y, z).
static void move(const places begin, places end, int first, int last, double y, double z)
{
	for (int i = first; i < last; i++) {
		end[i][0] = begin[i][0];
		end[i][1] = begin[i][1] + y;
		end[i][2] = begin[i][2] + z;
	}
}

TEST(peer_manifolds, ipc_edges_in_general)
{
	static const double ups[] = { -1, 0, 1 - FLT_EPSILON, 1, 1 + FLT_EPSILON, 2 };
	static const double xs[] = { -1 - FLT_EPSILON, -1, -1 + FLT_EPSILON, -0.5, 0, 0.5, 1 - FLT_EPSILON, 1, 1 + FLT_EPSILON };
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 2 * 6 * 9; i++) {
		const double up = ups[i % 6], x = xs[i / 6 % 9];
		const bool fixed = i >= 54, over = x >= -1 && x <= 1;
		places begin = { { -1, -1, 0 }, { 1, -1, 0 }, { x, 1, -1 }, { x, 1, 1 } }, end;
		move(begin, end, 0, 2, fixed ? 2 * up : up, 0);
		move(begin, end, 2, 4, fixed ? 0 : -up, 0);
		check_impact(context, CAROM_SWEEP_EDGE_EDGE, begin, end, over && up >= (fixed ? 2 : 1), false);
	}
	carom_destroy_context(context);
}

TEST(peer_manifolds, ipc_edges_hard)
{
	carom_context *context = fixture_context(1);
	places first[2] = { { { -3.0022200, 0.2362580, 0.0165247 }, { -3.2347850, 0.8312380, -0.1151003 },
							{ -3.0319900, 0.3148750, 0 }, { -2.8548800, 0.0900349, 0 } },
		{ { -2.8995600, 0.0345838, 0.0638580 }, { -3.1716930, 0.6104858, -0.0713340 }, { -3.0319900, 0.3148750, 0 },
			{ -2.8548800, 0.0900349, 0 } } };
	check_impact(context, CAROM_SWEEP_EDGE_EDGE, first[0], first[1], true, false); // double root test case 1
	static const double parts[] = { 0.5, 0.8, 0.88, 0.9, 1 };
	for (int i = 0; i < 5; i++) { // double root test case 2
		const double t = parts[i];
		places begin = { { 0, 0, 1 }, { 0, 1, 1 }, { 0.1, 0.2, 2 }, { 0.1, 0.2, -1 } };
		places end = { { t, t, 1 - t }, { 0, 1 - t, 1 - t }, { 0.1, 0.2, 2 }, { 0.1, 0.2, -1 } };
		check_impact(context, CAROM_SWEEP_EDGE_EDGE, begin, end, true, true);
	}
	places slow[2] = { { { 1, 0.50803125, 2.10835646075301e-18 }, { -2.38233935445388e-18, 0.50803125, 1 },
						   { -4.99999999958867e-07, 0.5, 0 }, { -4.99999999958867e-07, 0.5, 1 } },
		{ { 1, 0.47124375, 4.11078309465837e-18 }, { -2.8526707189104e-18, 0.47124375, 1 }, { -4.99999999958867e-07, 0.5, 0 },
			{ -4.99999999958867e-07, 0.5, 1 } } };
	// Slow case 1: the edges pass at 5e-7, which is within the toolkit's tolerance.
	carom_sweep_def def = carom_default_sweep_def();
	bool found;
	carom_sweep_hit hit;
	def.min_separation = 1e-6;
	REQUIRE(carom_sweep_test_pair(context, &def, CAROM_SWEEP_EDGE_EDGE, slow[0], slow[1], &found, &hit) == CAROM_SUCCESS);
	CHECK(found);
	static const double gaps[] = { 1e-2, 1e-4, 1e-6, 1e-8 };
	for (int i = 0; i < 4; i++) { // adversarial ACCD case
		const double h = 0.5 * gaps[i], d = gaps[i], s = 1e-3;
		places begin = { { -1, -h, 0 }, { 1, -h, 0 }, { 0, h, -1 }, { 0, h, 1 } };
		places end = { { -1 - s, -h + d, -s }, { 1 + s, -h + d, s }, { s, h - d, -1 + s }, { -s, h - d, 1 - s } };
		check_impact(context, CAROM_SWEEP_EDGE_EDGE, begin, end, true, true);
	}
	carom_destroy_context(context);
}

TEST(peer_manifolds, ipc_points_and_triangles)
{
	static const double moves[] = { -1, 0, 0.5 - FLT_EPSILON, 0.5, 0.5 + FLT_EPSILON, 1, 2 };
	static const double aside[] = { -FLT_EPSILON, 0, FLT_EPSILON };
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 2 * 7 * 7 * 3; i++) { // general
		const double z = i % 2 ? -1 : 0, down = -moves[i / 2 % 7], up = moves[i / 14 % 7], beside = aside[i / 98];
		places begin = { { 0, 1, z }, { -1, 0, 1 }, { 1, 0, 1 }, { 0, 0, -1 } }, end;
		move(begin, end, 0, 1, down, beside);
		move(begin, end, 1, 4, up, 0);
		check_impact(context, CAROM_SWEEP_VERTEX_FACE, begin, end, up - down >= 1 && z + beside >= -1, false);
	}
	for (int i = 0; i < 3; i++) { // Zhongshi's
		const double y = aside[i];
		places begin = { { 0, y, 0 }, { 0, 0, 0 }, { 0, 1, 0 }, { 1, 0, 0 } };
		places end = { { 0, y, 0 }, { 0, 0, 1 }, { 0, 1, 1 }, { 1, 0, 1 } };
		check_impact(context, CAROM_SWEEP_VERTEX_FACE, begin, end, y >= 0, false);
	}
	places turning[2] = { { { 0.1, 0.1, 0.1 }, { 0, 0, 1 }, { 1, 0, 1 }, { 0, 1, 1 } },
		{ { 0.1, 0.1, 0.1 }, { 0, 0, 0 }, { 0, 1, 0 }, { 1, 0, 0 } } };
	check_impact(context, CAROM_SWEEP_VERTEX_FACE, turning[0], turning[1], true, false); // Bolun's
	places together[2] = { { { 0.0133653, 0.100651, -0.0215935 }, { 0.0100485, 0.0950896, -0.0171013 },
							   { 0.0130388, 0.100666, -0.0218112 }, { 0.015413, 0.100554, -0.0202265 } },
		{ { 0.0133652999767858, 0.099670000268615, -0.0215934999996444 },
			{ 0.0100484999799995, 0.0941086002577558, -0.0171012999972189 },
			{ 0.0130387999724314, 0.0996850002629403, -0.0218111999936902 },
			{ 0.0154129999740718, 0.0995730002646605, -0.020226499996014 } } };
	check_impact(context, CAROM_SWEEP_VERTEX_FACE, together[0], together[1], false, true); // no zero time of impact
	carom_destroy_context(context);
}
