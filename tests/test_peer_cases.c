// Situations of other libraries' test suites: distances and casts of FCL, Coal, Jolt Physics and Box3D. Each pair is measured both
// ways round, and again in frames that turn or move both shapes.
#include "peer_fixture.h"

#include <math.h>

// FCL: test/test_fcl_capsule_capsule.cpp, test/test_fcl_capsule_box_1.cpp. FCL's capsules and boxes
// have full lengths, ours half. FCL gives the nearest points in the frames of the shapes; here they stand in the world.
TEST(peer_cases, fcl_capsules)
{
	const carom_shape capsule = fixture_capsule(5, 5), thick = fixture_capsule(2, 2), box = fixture_box(0.5, 1, 2);
	const peer_case cases[] = {
		{ "side by side", capsule, capsule, AT(0, 0, 0), AT(20.1, 0, 0), 10.1, V(-1, 0, 0), NULL, NULL },
		{ "askew", capsule, capsule, AT(0, 0, 0), AT(20, 20, 0), 20 * 2 * ROOT_HALF - 10, V(-ROOT_HALF, -ROOT_HALF, 0), NULL,
			NULL },
		{ "end to end", capsule, capsule, AT(0, 0, 0), AT(0, 0, 20.1), 0.1, V(0, 0, -1), V(0, 0, 10), V(0, 0, 10.1) },
		{ "beside a box", thick, box, AT(3, 0, 0), AT(0, 0, 0), 0.5, V(1, 0, 0), NULL, NULL },
		{ "above a box", thick, box, AT(0, 0, 8), AT(0, 0, 0), 2, V(0, 0, 1), V(0, 0, 4), V(0, 0, 2) },
		{ "behind a box", thick, box, { { -10, 0, 0 }, { 0, ROOT_HALF, 0, ROOT_HALF } }, AT(0, 0, 0), 5.5, V(-1, 0, 0),
			V(-6, 0, 0), V(-0.5, 0, 0) },
	};
	CHECK_CASES(cases);
}

// Coal (hpp-fcl): test/sphere_capsule.cpp. Where it says only that the shapes are apart, the distance follows from the sizes.
TEST(peer_cases, coal_sphere_capsule)
{
	const carom_shape s = fixture_sphere(50), c = fixture_capsule(50, 100);
	const carom_quat along_y = { ROOT_HALF, 0, 0, ROOT_HALF };
	const peer_case cases[] = {
		{ "separated z", s, c, AT(0, 0, -50), AT(0, 0, 200), 50, V(0, 0, -1), V(0, 0, 0), V(0, 0, 50) },
		{ "separated -z", s, c, AT(0, 0, 50), AT(0, 0, -200), 50, V(0, 0, 1), V(0, 0, 0), V(0, 0, -50) },
		{ "separated x", s, c, AT(0, 0, -50), AT(150, 0, 0), 50, V(-1, 0, 0), V(50, 0, -50), V(100, 0, -50) },
		{ "separated, turned", s, c, AT(0, 0, -50), { { 150, 0, 0 }, along_y }, 158.11388300841898 - 100, NULL, NULL, NULL },
		{ "penetration z", s, c, AT(0, 0, -50), AT(0, 0, 125), -25, V(0, 0, -1), NULL, NULL },
		{ "penetration z, turned", s, c, AT(0, 0, 0), { { 0, 50, 75 }, along_y }, -25, V(0, 0, -1), V(0, 0, 50), V(0, 0, 25) },
		{ "collision", s, c, AT(0, 0, -50), AT(0, 0, 100), -50, V(0, 0, -1), NULL, NULL },
		{ "separated by 25", s, c, AT(0, 0, -50), AT(0, 0, 175), 25, V(0, 0, -1), NULL, NULL },
	};
	CHECK_CASES(cases);
}

// Coal (hpp-fcl): test/box_box_distance.cpp.
TEST(peer_cases, coal_box_box)
{
	const carom_shape wide = fixture_box(3, 5, 1), two = fixture_box(1, 1, 1), one = fixture_box(0.5, 0.5, 0.5);
	const double c = 0.92387953251128674, s = 0.38268343236508977, t = s / 1.7320508075688772; // of pi/8
	const peer_case cases[] = {
		{ "corner to corner", wide, two, AT(0, 0, 0), AT(25, 20, 5), 25.41653005427767, NULL, V(3, 5, 1), V(24, 19, 4) },
		{ "corner above a face", wide, two, AT(0, 0, 0), { { 0, 0, 10 }, { t, t, t, c } }, 7.37876556, V(0, 0, -1),
			V(0.60947571, 0.01175873, 1), V(0.60947571, 0.01175873, 8.37876556) },
		{ "crossed edges", one, one, { { -2, 1, 0.5 }, { 0, 0, s, c } }, { { 2, 0.5, 0.5 }, { 0, s, 0, c } }, 4 - 2 * ROOT_HALF,
			V(-1, 0, 0), V(ROOT_HALF - 2, 1, 0.5), V(2 - ROOT_HALF, 1, 0.5) },
		{ "faces 1 apart", one, one, AT(2, 0, 0), AT(0, 0, 0), 1, V(1, 0, 0), NULL, NULL },
		{ "faces 0.01 apart", one, one, AT(1.01, 0, 0), AT(0, 0, 0), 0.01, V(1, 0, 0), NULL, NULL },
		{ "faces 0.01 deep", one, one, AT(0.99, 0, 0), AT(0, 0, 0), -0.01, V(1, 0, 0), NULL, NULL },
		{ "one in the other", one, one, AT(0, 0, 0), AT(0, 0, 0), -1, NULL, NULL, NULL },
	};
	CHECK_CASES(cases);
}

// Jolt Physics: UnitTests/Geometry/EPATests.cpp, UnitTests/Geometry/GJKTests.cpp. Jolt's normals point from A to B.
TEST(peer_cases, jolt_spheres_and_boxes)
{
	const carom_shape box = fixture_box(2, 3, 4), bar = fixture_box(0.5, 0.5, 2), cube = fixture_box(0.5, 0.5, 0.5);
	const double r8 = 2.8284271247461903, r12 = 3.4641016151377544, l = 2 / 1.7320508075688772, u = 0.57735026918962576;
	const carom_shape unit = fixture_sphere(1);
	const peer_case cases[] = {
		{ "misses a face", box, fixture_sphere(1.99), AT(0, 0, 0), AT(4, 0, 0), 0.01, V(-1, 0, 0), V(2, 0, 0), V(2.01, 0, 0) },
		{ "touches a face", box, fixture_sphere(2.01), AT(0, 0, 0), AT(4, 0, 0), -0.01, V(-1, 0, 0), V(2, 0, 0), V(1.99, 0, 0) },
		{ "deep in a face", box, fixture_sphere(2), AT(0, 0, 0), AT(3, 0, 0), -1, V(-1, 0, 0), V(2, 0, 0), V(1, 0, 0) },
		{ "misses an edge", bar, fixture_sphere(r8 - 0.01), AT(1.5, 1.5, 0), AT(4, 4, 0), 0.01, V(-ROOT_HALF, -ROOT_HALF, 0),
			V(2, 2, 0), NULL },
		{ "hits an edge", bar, fixture_sphere(r8 + 0.01), AT(1.5, 1.5, 0), AT(4, 4, 0), -0.01, V(-ROOT_HALF, -ROOT_HALF, 0),
			V(2, 2, 0), NULL },
		{ "misses a corner", cube, fixture_sphere(r12 - 0.01), AT(1.5, 1.5, 1.5), AT(4, 4, 4), 0.01, V(-u, -u, -u), V(2, 2, 2),
			NULL },
		{ "hits a corner", cube, fixture_sphere(r12 + 0.01), AT(1.5, 1.5, 1.5), AT(4, 4, 4), -0.01, V(-u, -u, -u), V(2, 2, 2),
			NULL },
		{ "spheres on each other", fixture_sphere(2), fixture_sphere(2), AT(1, 2, 3), AT(1, 2, 3), -4, NULL, NULL, NULL },
		{ "spheres nearly so", fixture_sphere(2), fixture_sphere(1.8), AT(1, 2, 3), AT(1.1, 2, 3), -3.7, V(-1, 0, 0),
			V(3, 2, 3), V(-0.7, 2, 3) },
		{ "spheres far apart", unit, unit, AT(0, 0, 0), AT(10, 10, 10), 17.320508075688775 - 2, V(-u, -u, -u), V(u, u, u),
			NULL },
		{ "spheres that touch", unit, unit, AT(0, 0, 0), AT(l, l, l), 0, V(-u, -u, -u), V(u, u, u), V(u, u, u) },
	};
	CHECK_CASES(cases);
}

// Box3D: test/test_distance.c. Its flat squares and bare segments are here a box and capsules of radius 0.25, whose
// sides lie where the squares and segments do. The tolerance of 0.0025 stands for the gap that Box3D's casts leave; Carom
// may come nearer than it, so the times here are those of the touch.
TEST(peer_cases, box3d_distance_and_casts)
{
	const carom_shape box = fixture_box(1, 1, 0.5), bar = fixture_capsule(0.25, 1);
	const carom_quat along_y = { ROOT_HALF, 0, 0, ROOT_HALF };
	const peer_case apart[] = { { "square and segment", box, bar, AT(0, 0, 0), { { 2.25, 0, 0 }, along_y }, 1, V(-1, 0, 0),
		NULL, NULL } };
	CHECK_CASES(apart);
	const struct {
		double x, dx, dy, tolerance, time;
		carom_toi_status status;
	} casts[] = {
		{ 2, -2, 0, 1e-4, 0.5, CAROM_TOI_IMPACT },         // ShapeCastTest, TimeOfImpactTest
		{ 1.002, 1, 0, 1e-4, 1, CAROM_TOI_APART },         // recedes
		{ 1.002, 0, 2, 1e-4, 1, CAROM_TOI_APART },         // slides
		{ 1.002, -1, 0, 0.0025, 0, CAROM_TOI_TOUCHING },   // closes in
		{ 1.005, -1, 0, 0.0025, 0.005, CAROM_TOI_IMPACT }, // graded
		{ 1.005, -0.001, 2, 0.0025, 1, CAROM_TOI_APART },  // grazes
		{ 1.002, 1, 0, 0.0025, 0, CAROM_TOI_TOUCHING },    // starts within the tolerance
		{ 0.5, 1, 0, 0.0025, 0, CAROM_TOI_TOUCHING },      // starts inside
	};
	carom_context *context = fixture_context(1);
	for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
		const carom_motion motion = { { { casts[i].x + 0.25, 0, 0 }, along_y },
			{ { casts[i].x + 0.25 + casts[i].dx, casts[i].dy, 0 }, along_y } };
		carom_toi toi;
		REQUIRE(carom_time_of_impact(context, &box, NULL, &bar, &motion, casts[i].tolerance, &toi) == CAROM_SUCCESS);
		CHECK_INT(toi.status, casts[i].status);
		// An impact is found between the time at which the gap is the tolerance and the time at which it is closed.
		const bool impact = casts[i].status == CAROM_TOI_IMPACT;
		CHECK(toi.time <= casts[i].time);
		CHECK(toi.time >= casts[i].time - (impact ? casts[i].tolerance / -casts[i].dx + 1e-12 : 0));
		if (impact)
			CHECK_NEAR(toi.separation.normal.x, -1, PEER_TOLERANCE);
	}
	carom_destroy_context(context);
}

// FCL: test/test_fcl_signed_distance.cpp. Of the cylinders (its issues 391 and 319) FCL asks only
// that the points lie on the shapes; the distances follow from the sizes.
TEST(peer_cases, fcl_signed_distances)
{
	const carom_shape large = fixture_sphere(20), small = fixture_sphere(10), capsule = fixture_capsule(10, 10);
	const double r = ROOT_HALF;
	const peer_case cases[] = {
		{ "spheres apart", large, small, AT(0, 0, 0), AT(40, 0, 0), 10, V(-1, 0, 0), V(20, 0, 0), V(30, 0, 0) },
		{ "spheres deep", large, small, AT(0, 0, 0), AT(25, 0, 0), -5, V(-1, 0, 0), V(20, 0, 0), V(15, 0, 0) },
		{ "spheres askew", large, small, AT(0, 0, 0), AT(20, 0, 20), 40 * r - 30, V(-r, 0, -r), V(20 * r, 0, 20 * r),
			V(20 - 10 * r, 0, 20 - 10 * r) },
		{ "capsule apart", large, capsule, AT(0, 0, 0), AT(40, 0, 0), 10, V(-1, 0, 0), V(20, 0, 0), V(30, 0, 0) },
		{ "capsule deep", large, capsule, AT(0, 0, 0), AT(25, 0, 0), -5, V(-1, 0, 0), V(20, 0, 0), V(15, 0, 0) },
		{ "cylinder that a sphere just touches", fixture_cylinder(0.03, 0.325), fixture_sphere(0.055), AT(0.6, 0, 0.325),
			AT(0.5419794018, -0.0621175025, 0.6016236576), hypot(0.6 - 0.5419794018, 0.0621175025) - 0.085, NULL, NULL, NULL },
		{ "cylinder that a wall just touches", fixture_cylinder(0.05, 0.03), fixture_box(0.0125, 0.175, 0.9225),
			{ { 0.57500009756757608503, -0.42711963046787942977, 1.1867093358746836351 }, { ROOT_HALF, 0, 0, ROOT_HALF } },
			{ { 0.8, -0.4575, 1.0225 }, { 0, 0, ROOT_HALF, ROOT_HALF } }, -1e-7, V(-1, 0, 0), NULL, NULL },
	};
	CHECK_CASES(cases);
}

// FCL: test_gjk_libccd-inl_signed_distance.cpp, boxes: an edge before, at and in a face.
TEST(peer_cases, fcl_edge_and_face)
{
	const carom_shape one = fixture_box(0.5, 0.5, 0.5), two = fixture_box(0.3, 0.4, 0.5);
	const double at[][2] = { { -1, 0 }, { -1, 0.1 }, { -1, -0.1 }, { -0.9, 0 }, { -0.9, 0.1 }, { -0.9, -0.05 }, { -0.9, -0.1 } };
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		// The diagonal of the second box along x: a turn whose cosine is 0.6.
		const carom_pose pose = { { at[i][0], at[i][1], 0.5 }, { 0, 0, sqrt(0.2), sqrt(0.8) } };
		const peer_case apart = { "edge and face", one, two, AT(0, 0, 0.5), pose, -at[i][0] - 1, V(1, 0, 0), NULL, NULL };
		peer_check_cases(&apart, 1);
	}
}

// FCL: test_sphere_cylinder.cpp, sphere and cylinder of like sizes.
TEST(peer_cases, fcl_sphere_cylinder)
{
	const double radius = 1.2, half = 0.3, ball = 0.7, depth = 0.175, u = 0.57735026918962576, r = ROOT_HALF;
	const carom_shape s = fixture_sphere(ball), c = fixture_cylinder(radius, half);
	const double out = ball + radius + 0.1, rim = radius * r, far = (ball + 0.1) * u;
	const peer_case cases[] = {
		{ "over a cap", s, c, AT(0.3, 0.3, half + 1.1 * ball), AT(0, 0, 0), 0.07, V(0, 0, 1), V(0.3, 0.3, 0.37),
			V(0.3, 0.3, half) },
		{ "beside the barrel", s, c, AT(out * r, out * r, 0.15), AT(0, 0, 0), 0.1, V(r, r, 0),
			V((radius + 0.1) * r, (radius + 0.1) * r, 0.15), V(rim, rim, 0.15) },
		{ "off the rim", s, c, AT(rim + far, rim + far, half + far), AT(0, 0, 0), 0.1, V(u, u, u),
			V(rim + 0.1 * u, rim + 0.1 * u, half + 0.1 * u), V(rim, rim, half) },
		{ "in the lower cap", s, c, AT(0.3, 0.3, -half - ball + depth), AT(0, 0, 0), -depth, V(0, 0, -1),
			V(0.3, 0.3, depth - half), V(0.3, 0.3, -half) },
		{ "in the upper cap", s, c, AT(0.3, 0.3, half + ball - depth), AT(0, 0, 0), -depth, V(0, 0, 1),
			V(0.3, 0.3, half - depth), V(0.3, 0.3, half) },
		{ "middle in the cylinder", s, c, AT(0.3, 0.3, half - 0.1), AT(0, 0, 0), -0.1 - ball, V(0, 0, 1),
			V(0.3, 0.3, half - 0.1 - ball), V(0.3, 0.3, half) },
	};
	CHECK_CASES(cases);
	const double around[][2] = { { 1, 0 }, { 0, 1 }, { 1, 0.5 }, { -1, 0.5 }, { -1, -0.5 }, { 1, -0.5 } };
	for (int i = 0; i < 12; i++) {
		const double length = hypot(around[i / 2][0], around[i / 2][1]);
		const double x = around[i / 2][0] / length, y = around[i / 2][1] / length;
		// In the barrel, and in the rim along the way from the middle of the cylinder.
		const double z = i % 2 ? half : 0.03, size = i % 2 ? hypot(radius, half) : radius;
		const v3d way = { x * radius / size, y * radius / size, i % 2 ? half / size : 0 };
		const v3d middle = v3d_mad((v3d){ x * radius, y * radius, z }, ball - depth, way);
		const peer_case deep = { "in the side", s, c, AT(middle.x, middle.y, middle.z), AT(0, 0, 0), -depth,
			V(way.x, way.y, way.z), NULL, NULL };
		peer_check_cases(&deep, 1);
	}
}

// Jolt Physics: UnitTests/Physics/CastShapeTests.cpp, TestCastSphereTriangle. Both sides of an open
// mesh are met here, as with Jolt's CollideWithBackFaces.
TEST(peer_cases, jolt_sphere_cast_at_a_triangle)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = peer_triangle(context, (v3d){ 50, 25, 0 }, (v3d){ -50, 25, 0 }, (v3d){ 0, -25, 0 }, CAROM_SIDES_AUTO);
	carom_world *world = peer_world(context, fixture_of_mesh(mesh), carom_pose_identity());
	const carom_shape sphere = fixture_sphere(0.2);
	// Where the sphere's middle would end, and its way: the faces, the corners, the edges.
	const struct {
		carom_vec3 end, way;
	} casts[] = { { { 0, 0, 0 }, { 0, 0, -15 } }, { { 0, 0, 0 }, { 0, 0, 15 } }, { { 50, 25, 0 }, { -10, -10, 0 } },
		{ { -50, 25, 0 }, { 10, -10, 0 } }, { { 0, -25, 0 }, { 0, 10, 0 } }, { { 0, 25, 0 }, { 0, -10, 0 } },
		{ { -25, 0, 0 }, { 10, 10, 0 } }, { { 25, 0, 0 }, { -10, 10, 0 } } };
	for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
		const v3d from = v3d_sub(casts[i].end, casts[i].way);
		const carom_shape_hit hit = peer_cast_shape(world, sphere, fixture_at(from.x, from.y, from.z), casts[i].way, 1e-6);
		const double length = v3d_length(casts[i].way);
		CHECK(!hit.touching && hit.triangle == 0);
		CHECK_NEAR(hit.time, 1 - 0.2 / length, 1e-6);
		CHECK_NEAR(hit.distance, 0, 1.01e-6);
		peer_check_vector(hit.point, casts[i].end, PEER_TOLERANCE);
		peer_check_vector(hit.normal, v3d_scale(casts[i].way, -1 / length), PEER_TOLERANCE);
	}
	// It begins in the back of the triangle: Jolt tells fraction 0 and the depth 0.1.
	const carom_shape_hit hit = peer_cast_shape(world, sphere, fixture_at(0, 0, -0.1), (carom_vec3){ 0, 0, 15 }, 1e-6);
	CHECK(hit.touching && hit.time == 0);
	CHECK_NEAR(hit.distance, -0.1, PEER_TOLERANCE);
	CHECK_NEAR(fabs(hit.normal.z), 1, PEER_TOLERANCE);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// Jolt Physics: the same file, TestCastShapeSphereVsBox, TestCastShapeCylinderVsCapsule and
// TestCastShapePenetrationDepthOrdering. Of bodies that are met at one time Carom tells the lowest,
// where Jolt tells the deepest.
TEST(peer_cases, jolt_casts_that_begin_inside)
{
	carom_context *context = fixture_context(1);
	carom_world *world = peer_world(context, fixture_box(10, 1, 1), (carom_pose){ { 0, 1, 0 }, { 0, 0, ROOT_HALF, ROOT_HALF } });
	carom_shape_hit hit = peer_cast_shape(world, fixture_sphere(1), fixture_at(0, 11, 0), (carom_vec3){ 0, 1, 0 }, 1e-6);
	CHECK(hit.touching && hit.time == 0);
	CHECK_NEAR(hit.distance, -1, PEER_TOLERANCE);
	peer_check_vector(hit.normal, (carom_vec3){ 0, 1, 0 }, PEER_TOLERANCE);
	peer_check_vector(hit.point, (carom_vec3){ 0, 11, 0 }, PEER_TOLERANCE);
	carom_destroy_world(world);

	const carom_quat along_y = { ROOT_HALF, 0, 0, ROOT_HALF };
	world = peer_world(context, fixture_capsule(7.19732189, 2.03114343), (carom_pose){ { 0, 0, 0 }, along_y });
	const carom_pose beside = { { -0.951660156, -2.09155273, -7.63574218 }, along_y };
	hit = peer_cast_shape(
		world, fixture_cylinder(0.4975, 0.3), beside, (carom_vec3){ 0.00244140625, -0.0068359375, 0.0029296875 }, 1e-6);
	CHECK(hit.touching && hit.time == 0);
	CHECK(hit.distance <= 0 && hit.distance > -1e-4);
	carom_destroy_world(world);

	world = fixture_world(context, NULL);
	carom_body_id first = { 0 }, last = { 0 };
	for (int i = 0; i < 10; i++) {
		last = fixture_add(world, fixture_box(0.1, 2, 2), fixture_at(0.1 + 0.2 * i, 0, 0), CAROM_STATIC);
		first = i == 0 ? last : first;
	}
	const struct {
		double from, way, time;
	} casts[] = { { -5, 10, 0.4 }, { 5, -10, 0.2 }, { 1.05, 10, 0 } };
	for (int i = 0; i < 3; i++) {
		hit = peer_cast_shape(
			world, fixture_sphere(1), fixture_at(casts[i].from, 0, 0), (carom_vec3){ casts[i].way, 0, 0 }, 1e-6);
		CHECK_NEAR(hit.time, casts[i].time, 1e-7);
		CHECK_INT(hit.touching, i == 2);
		CHECK_INT(hit.body.index1, i == 1 ? last.index1 : first.index1);
		if (i < 2)
			peer_check_vector(hit.point, (carom_vec3){ i == 0 ? 0 : 2, 0, 0 }, PEER_TOLERANCE);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}
