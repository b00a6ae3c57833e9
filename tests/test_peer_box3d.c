// Situations of Box3D's test suite: github.com/erincatto/box3d, test/. The numbers are theirs, the code is ours. Box3D's y is up, and
// its normals point from A to B; its capsules lie between two points. It calls radii and gaps of 0.02 m its speculative distance.
#include "peer_fixture.h"

#include <math.h>

static const v3d X = { 1, 0, 0 }, Y = { 0, 1, 0 }, Z = { 0, 0, 1 }, ORIGIN = { 0, 0, 0 };

static carom_pose here(void) { return carom_pose_identity(); }

/// The capsule between two points, about its middle (peer_between).
static carom_shape capsule_between(v3d from, v3d to, double radius)
{
	return fixture_capsule(radius, 0.5 * v3d_length(v3d_sub(to, from)));
}

// ---- test_manifold.c ----

// EdgeEndpointTest: crossed edges of two cubes, near the end of one and beyond it. Beyond it a corner of A is near a face of B.
TEST(peer_box3d, edges_near_their_ends)
{
	carom_context *context = fixture_context(1);
	const carom_shape cube = fixture_box(0.5, 0.5, 0.5);
	const carom_pose a = peer_turned(Y, 0.25 * FIXTURE_PI, ORIGIN);
	carom_pose b = peer_turned(Z, 0.25 * FIXTURE_PI, (v3d){ 1.41, 0.49, 0 });
	carom_manifold m;
	REQUIRE(carom_collide_convex(context, &cube, &a, &cube, &b, 0.02, &m) == CAROM_SUCCESS);
	CHECK_INT(m.count, 1);
	CHECK_NEAR(m.points[0].depth, 2 * ROOT_HALF - 1.41, 1e-6);
	CHECK_NEAR(m.points[0].point.y, 0.49, 1e-6);
	b.position.y = 0.55;
	REQUIRE(carom_collide_convex(context, &cube, &a, &cube, &b, 0.02, &m) == CAROM_SUCCESS);
	CHECK_INT(m.count, 0);
	const carom_separation s = peer_distance(context, &cube, a, &cube, b);
	CHECK_NEAR(s.distance, (1.41 + 0.55 - 0.5) * ROOT_HALF - 1, 1e-6);
	CHECK_NEAR(v3d_dot(s.normal, (v3d){ -ROOT_HALF, -ROOT_HALF, 0 }), 1, 1e-6);
	carom_destroy_context(context);
}

/// Two long bars, ridge down on ridge up, crossing at an angle. Returns the manifold of the upper one on the lower one.
static carom_manifold ridges(carom_context *context, double overlap, double angle, carom_pose *upper)
{
	const carom_shape bar = fixture_box(1.5, 0.1, 0.1);
	const carom_pose roof = peer_turned(X, 0.25 * FIXTURE_PI, ORIGIN);
	const carom_pose turn = peer_turned(Y, angle, (v3d){ 0, 0.4 * ROOT_HALF - overlap, 0 });
	*upper = fixture_compose(turn, roof);
	carom_manifold m;
	REQUIRE(carom_collide_convex(context, &bar, upper, &bar, &roof, 0.005, &m) == CAROM_SUCCESS);
	return m;
}

// RidgeCrossingTest. Box3D prefers a roof's face with four points where the crossing is shallow. Carom tells the
// shortest way: up where the ridges cross, along a roof's face where they are nearly side by side.
TEST(peer_box3d, ridges_that_cross)
{
	static const double overlaps[] = { 0.01, 0.05 };
	static const double angles[] = { 0, 1e-4, 1e-3, 0.003, 0.02, 0.05, 0.1, 0.2, 0.5 };
	carom_context *context = fixture_context(1);
	const carom_shape bar = fixture_box(1.5, 0.1, 0.1);
	const carom_pose lower = peer_turned(X, 0.25 * FIXTURE_PI, ORIGIN);
	for (int i = 0; i < 18; i++) {
		const double overlap = overlaps[i / 9], angle = angles[i % 9];
		carom_pose upper;
		const carom_manifold m = ridges(context, overlap, angle, &upper);
		CHECK(m.count > 0 && m.normal.y > ROOT_HALF - 1e-6);
		double deepest = 0;
		for (int k = 0; k < m.count; k++)
			deepest = fmax(deepest, m.points[k].depth);
		CHECK(deepest > ROOT_HALF * overlap - 1e-6 && deepest < overlap + 1e-6);
		if (angle >= 0.05) {
			CHECK_NEAR(m.normal.y, 1, 1e-6);
			CHECK_NEAR(deepest, overlap, 1e-6);
			CHECK_NEAR(v3d_length(v3d_sub(m.points[0].point, (v3d){ 0, 0.2 * ROOT_HALF - overlap, 0 })), 0, 0.01);
		}
		upper.position = v3d_mad(upper.position, deepest + 1e-9, m.normal);
		CHECK(!peer_overlap(context, &bar, upper, &bar, lower));
	}
	carom_destroy_context(context);
}

/// The farthest that the corners of a cube of half extents 0.5, or three points, reach along an axis.
static double cube_reach(carom_pose pose, v3d axis)
{
	double reach = -INFINITY;
	for (int i = 0; i < 8; i++) {
		const v3d corner = { i & 1 ? 0.5 : -0.5, i & 2 ? 0.5 : -0.5, i & 4 ? 0.5 : -0.5 };
		reach = fmax(reach, v3d_dot(axis, carom_transform_point(pose, corner)));
	}
	return reach;
}

/// A triangle whose first edge crosses the lower edge of a cube at a gap. True where the gap is the distance of the two.
static bool check_triangle_under_cube(carom_context *context, double beta, double gamma, double gap)
{
	const carom_pose pitched = peer_turned(X, 0.25 * FIXTURE_PI, ORIGIN);
	const v3d normal = { sin(beta), cos(beta), 0 };
	const v3d edge = { sin(gamma) * cos(beta), -sin(gamma) * sin(beta), cos(gamma) };
	const v3d axis = v3d_normalize(v3d_cross(X, edge)), middle = v3d_mad((v3d){ 0, -ROOT_HALF, 0 }, gap, axis);
	const v3d v1 = v3d_sub(middle, edge), v2 = v3d_add(middle, edge), v3 = v3d_mad(v1, 1.5, v3d_cross(normal, edge));
	carom_mesh *mesh = peer_triangle(context, v1, v2, v3, CAROM_SIDES_AUTO);
	const carom_shape cube = fixture_box(0.5, 0.5, 0.5), triangle = fixture_of_mesh(mesh);
	// Do both lie on their sides of the edges? Else something else of them is nearer.
	const double hull = cube_reach(pitched, axis);
	const double least = fmin(v3d_dot(axis, v1), fmin(v3d_dot(axis, v2), v3d_dot(axis, v3)));
	const bool edges = fabs(least - hull - gap) < 1e-9;
	const carom_separation s = peer_distance(context, &cube, pitched, &triangle, here());
	CHECK(s.distance <= gap + 1e-6);
	if (edges) {
		CHECK_NEAR(s.distance, gap, 1e-6);
		peer_check_vector(s.normal, v3d_neg(axis), 1e-4);
		peer_check_vector(s.point_b, middle, 1e-4);
	}
	carom_release_mesh(mesh);
	return edges;
}

// TriangleEdgeTest and TriangleHullEdgeSweepTest, apart. Where they overlap Box3D tells the least way of one triangle; Carom tells a
// way out that parts the cube from the whole mesh.
TEST(peer_box3d, a_triangle_edge_across_a_cube_edge)
{
	static const double betas[] = { 8, 20, 32 }, gammas[] = { 20, 30, 35, 50, 70 }, gaps[] = { 0.01, 0.02, 0.03, 0.05 };
	carom_context *context = fixture_context(1);
	int edges = 0;
	for (int i = 0; i < 60; i++)
		edges += check_triangle_under_cube(
			context, betas[i % 3] * FIXTURE_PI / 180, gammas[i / 3 % 5] * FIXTURE_PI / 180, gaps[i / 15]);
	CHECK(edges >= 30);
	carom_destroy_context(context);
}

static const v3d TILT_AXES[] = { { 0.57735026918962576, 0.57735026918962576, 0.57735026918962576 }, { ROOT_HALF, 0, ROOT_HALF },
	{ 0.26726124191242440, 0.53452248382484879, 0.80178372573727319 },
	{ -0.48507125007266594, 0.72760687510899891, -0.48507125007266594 } };
static const double TILT_ANGLES[] = { 0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.004, 0.005, 0.006, 0.01, 0.05 };

// TriangleParallelEdgeTest: the cube rests on its edge on a triangle that is tipped by a hair. Box3D adds two points that are apart.
TEST(peer_box3d, a_cube_edge_on_a_tipped_triangle)
{
	carom_context *context = fixture_context(1);
	const carom_shape cube = fixture_box(0.5, 0.5, 0.5);
	const double y = 0.01 - ROOT_HALF;
	for (int i = 0; i < 44; i++) {
		const double angle = TILT_ANGLES[i % 11];
		const carom_quat turn = fixture_turn(TILT_AXES[i / 11], angle);
		const v3d a = carom_rotate(turn, (v3d){ -2, y, -1 }), b = carom_rotate(turn, (v3d){ 0, y, 2 });
		carom_mesh *mesh = peer_triangle(context, a, b, carom_rotate(turn, (v3d){ 2, y, -1 }), CAROM_SIDES_AUTO);
		const carom_shape triangle = fixture_of_mesh(mesh);
		carom_contact contacts[8];
		const carom_pose pitched = peer_turned(X, 0.25 * FIXTURE_PI, ORIGIN);
		const int count = peer_collide(context, &cube, pitched, &triangle, here(), 0, contacts);
		double deepest = -1;
		for (int k = 0; k < count; k++) {
			CHECK(contacts[k].normal[1] > 0.99f);
			deepest = fmax(deepest, contacts[k].depth);
		}
		CHECK(count >= (angle < 0.01 ? 2 : 1));
		CHECK_NEAR(deepest, 0.01, 0.87 * angle + 1e-5);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

// HullCapsuleEdgeDeepTest: a thin capsule is stabbed through an edge of a box.
TEST(peer_box3d, a_capsule_through_an_edge)
{
	static const double depths[] = { 0.12, 0.18, 0.25 }, radii[] = { 0.05, 0.1, 0.2 }, tilts[] = { 0, 0.25, -0.25 };
	carom_context *context = fixture_context(1);
	const carom_shape box = fixture_box(0.5, 0.5, 0.5);
	const v3d outward = { ROOT_HALF, ROOT_HALF, 0 };
	for (int i = 0; i < 27; i++) {
		const double depth = depths[i / 9], radius = radii[i / 3 % 3];
		const v3d along = v3d_normalize((v3d){ 1, -1, tilts[i % 3] }), middle = v3d_mad((v3d){ 0.5, 0.5, 0 }, -depth, outward);
		const carom_shape capsule = fixture_capsule(radius, 0.5);
		const carom_pose pose = peer_between(v3d_mad(middle, -0.5, along), v3d_mad(middle, 0.5, along));
		const peer_case deep = { "edge", capsule, box, pose, AT(0, 0, 0), -depth - radius, V(ROOT_HALF, ROOT_HALF, 0), NULL,
			V(0.5, 0.5, 0) };
		peer_check_cases(&deep, 1);
		carom_manifold m;
		REQUIRE(carom_collide_convex(context, &capsule, &pose, &box, NULL, 0, &m) == CAROM_SUCCESS);
		CHECK_INT(m.count, 1);
		CHECK_NEAR(m.points[0].depth, depth + radius, 1e-6);
	}
	carom_destroy_context(context);
}

static void check_flat(carom_context *context, const carom_shape *shape, carom_pose pose, int least, double depth)
{
	const carom_shape box = fixture_box(0.5, 0.5, 0.5);
	carom_manifold m;
	REQUIRE(carom_collide_convex(context, shape, &pose, &box, NULL, 0.01, &m) == CAROM_SUCCESS);
	CHECK(m.count >= least);
	peer_check_vector(m.normal, Y, 1e-6);
	for (int k = 0; k < m.count; k++)
		CHECK_NEAR(m.points[k].depth, depth, 1e-6);
}

// HullCapsuleFaceDeepTest, and SphereHullSeamTest and CapsuleHullSeamTest: from apart through the surface into the deep, without a jump.
TEST(peer_box3d, round_shapes_sink_into_a_face)
{
	static const double heights[] = { 0.1, 0.2, 0.3, 0.4, 0.45 }, yaws[] = { 0, 0.4, 0.8, 1.2 }, radii[] = { 0.1, 0.15, 0.2 };
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 180; i++) {
		const double y = heights[i / 36], yaw = yaws[i / 9 % 4], radius = radii[i / 3 % 3], x = 0.1 * (i % 3 - 1);
		const v3d half = { 0.3 * cos(yaw), 0, 0.3 * sin(yaw) }, middle = { x, y, 0 };
		const carom_shape capsule = fixture_capsule(radius, 0.3);
		check_flat(context, &capsule, peer_between(v3d_sub(middle, half), v3d_add(middle, half)), 2, 0.5 + radius - y);
	}
	const carom_shape sphere = fixture_sphere(0.15), capsule = fixture_capsule(0.15, 0.3);
	for (int i = 0; i <= 400; i++) {
		const double y = 0.658 - i * (0.658 - 0.1) / 400;
		check_flat(context, &sphere, fixture_at(0, y, 0), 1, 0.65 - y);
		check_flat(context, &capsule, peer_between((v3d){ -0.3, y, 0 }, (v3d){ 0.3, y, 0 }), 2, 0.65 - y);
	}
	carom_destroy_context(context);
}

// CapsuleTriangleFaceDeepTest: a capsule dips through the face of a triangle, its middle above.
TEST(peer_box3d, a_capsule_through_the_face_of_a_triangle)
{
	static const double yaws[] = { 0, 0.6, 1.2, 1.8, 2.4 }, tilts[] = { 0.06, 0.1, 0.15 }, radii[] = { 0.05, 0.1, 0.2 };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = peer_triangle(context, (v3d){ -3, 0, -2 }, (v3d){ 0, 0, 4 }, (v3d){ 3, 0, -2 }, CAROM_SIDES_AUTO);
	const carom_shape triangle = fixture_of_mesh(mesh);
	for (int i = 0; i < 45; i++) {
		const double yaw = yaws[i / 9], tilt = tilts[i / 3 % 3], radius = radii[i % 3];
		const v3d axis = { cos(tilt) * cos(yaw), sin(tilt), cos(tilt) * sin(yaw) }, middle = { 0, 0.01, 0 };
		const carom_shape capsule = fixture_capsule(radius, 1);
		carom_contact contacts[8];
		const int count = peer_collide(
			context, &capsule, peer_between(v3d_sub(middle, axis), v3d_add(middle, axis)), &triangle, here(), 1, contacts);
		double deepest = -1, highest = 1;
		for (int k = 0; k < count; k++) {
			peer_check_vector(fixture_normal(&contacts[k]), Y, 1e-5);
			deepest = fmax(deepest, contacts[k].depth);
			highest = fmin(highest, contacts[k].depth);
		}
		CHECK(count >= 2);
		CHECK_NEAR(deepest, radius - 0.01 + sin(tilt), 1e-5);
		CHECK_NEAR(highest, radius - 0.01 - sin(tilt), 1e-5);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ---- test_sat.c ----

static double box_reach(v3d half, carom_pose pose, v3d axis)
{
	const m3d turn = m3d_from_quat(pose.orientation);
	double reach = v3d_dot(axis, pose.position);
	for (int k = 0; k < 3; k++) {
		const v3d side = { v3d_get(turn.row[0], k), v3d_get(turn.row[1], k), v3d_get(turn.row[2], k) };
		reach += v3d_get(half, k) * fabs(v3d_dot(axis, side));
	}
	return reach;
}

static v3d side_of(carom_pose pose, int k) { return carom_rotate(pose.orientation, k == 0 ? X : k == 1 ? Y : Z); }

/// The most that a face's normal or the product of two edges parts two boxes: below 0 the least depth.
static double brute_separation(v3d half_a, carom_pose a, v3d half_b, carom_pose b)
{
	double best = -INFINITY;
	for (int i = 0; i < 15; i++) {
		v3d axis = i < 3 ? side_of(a, i)
			: i < 6      ? side_of(b, i - 3)
						 : v3d_cross(side_of(a, (i - 6) / 3), side_of(b, (i - 6) % 3));
		if (v3d_length(axis) < 1e-5)
			continue;
		axis = v3d_normalize(axis);
		const v3d back = v3d_neg(axis);
		best = fmax(best, -box_reach(half_b, b, back) - box_reach(half_a, a, axis));
		best = fmax(best, -box_reach(half_a, a, back) - box_reach(half_b, b, axis));
	}
	return best;
}

static v3d random_half(uint64_t *seed, bool thin)
{
	if (thin)
		return (v3d){ test_random_double(seed, 1, 1.6), test_random_double(seed, 0.08, 0.15),
			test_random_double(seed, 0.08, 0.15) };
	return (v3d){ test_random_double(seed, 0.3, 0.8), test_random_double(seed, 0.3, 0.8), test_random_double(seed, 0.3, 0.8) };
}

// SeparatingAxisOracleTest: chunky boxes, and thin beams driven deep into each other. Apart, the best axis only bounds the distance.
TEST(peer_box3d, separating_axes_by_brute_force)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 987654321;
	int apart = 0, deep = 0;
	for (int i = 0; i < 2000 / TEST_FEWER; i++) {
		const v3d ha = random_half(&seed, i % 2), hb = random_half(&seed, i % 2);
		carom_pose a = fixture_random_pose(&seed, 1), b = fixture_random_pose(&seed, 1);
		a.position = ORIGIN;
		b.position = v3d_scale(v3d_normalize(b.position), test_random_double(&seed, 0, i % 2 ? 0.4 : 1.7));
		const carom_shape sa = fixture_box(ha.x, ha.y, ha.z), sb = fixture_box(hb.x, hb.y, hb.z);
		const carom_separation s = peer_distance(context, &sa, a, &sb, b);
		const double best = brute_separation(ha, a, hb, b);
		CHECK(s.distance > 0 ? s.distance >= best - 1e-6 : fabs(s.distance - best) < 1e-6);
		CHECK_INT(s.distance > 0, best > 0);
		apart += best > 0;
		deep += best <= 0;
	}
	CHECK(apart > 100 / TEST_FEWER && deep > 100 / TEST_FEWER);
	carom_destroy_context(context);
}

// ---- test_compound.c ----

// CompoundRayCastClosest, CompoundRayCastMiss, CompoundShapeCastClosest, CompoundShapeCastMiss, and the hull that is turned a quarter.
TEST(peer_box3d, casts_at_parts)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = peer_box_hull(context, (v3d){ -1, -1, -1 }, (v3d){ 1, 1, 1 });
	const carom_part spheres[2] = { { fixture_sphere(1), AT(5, 0, 0), 0 }, { fixture_sphere(1), AT(10, 0, 0), 0 } };
	const carom_part hull = { fixture_hull(mesh), peer_turned(Z, 0.5 * FIXTURE_PI, (v3d){ 5, 0, 0 }), 0 };
	for (int turned = 0; turned < 2; turned++) {
		carom_world *world = fixture_world(context, NULL);
		peer_add_parts(world, turned ? &hull : spheres, turned ? 1 : 2, here(), CAROM_STATIC);
		carom_ray_hit hit;
		CHECK_NEAR(peer_cast_ray(world, ORIGIN, (v3d){ 20, 0, 0 }, &hit), 0.2, 1e-12);
		peer_check_vector(hit.normal, v3d_neg(X), 1e-12);
		CHECK_INT(hit.shape, 0);
		CHECK(peer_cast_ray(world, (v3d){ -5, 5, 0 }, (v3d){ 10, 0, 0 }, &hit) < 0);
		const carom_shape_hit cast = peer_cast_shape(world, fixture_sphere(0.25), here(), (v3d){ 20, 0, 0 }, 1e-5);
		CHECK_NEAR(cast.time, 3.75 / 20, 1e-6);
		peer_check_vector(cast.normal, v3d_neg(X), 1e-6);
		peer_check_vector(cast.point, (v3d){ 4, 0, 0 }, 1e-5);
		CHECK_INT(cast.shape, 0);
		const carom_motion beside = carom_straight_motion(fixture_at(0, 5, 0), (v3d){ 20, 0, 0 });
		const carom_shape small = fixture_sphere(0.25);
		bool found;
		carom_shape_hit none;
		REQUIRE(carom_world_cast_shape(world, &small, &beside, 1e-5, NULL, &found, &none) == CAROM_SUCCESS);
		CHECK(!found);
		carom_destroy_world(world);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

static bool touches(const carom_world *world, carom_shape shape, carom_pose pose)
{
	int32_t count;
	REQUIRE(carom_world_overlap_shape(world, &shape, &pose, NULL, 0, NULL, &count) == CAROM_SUCCESS);
	return count > 0;
}

// CompoundOverlapChildTypes: one part of each kind in a body that is moved and turned, probed inside each and between.
TEST(peer_box3d, overlaps_of_parts_of_every_kind)
{
	carom_context *context = fixture_context(1);
	carom_mesh *hull = peer_box_hull(context, (v3d){ -0.5, -0.5, -0.5 }, (v3d){ 0.5, 0.5, 0.5 });
	carom_mesh *box = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	const carom_part parts[4] = { { fixture_capsule(0.25, 0.5), peer_between((v3d){ -10, 0, 0 }, (v3d){ -9, 0, 0 }), 0 },
		{ fixture_hull(hull), peer_turned(Z, 0.25 * FIXTURE_PI, ORIGIN), 0 },
		{ fixture_of_mesh(box), peer_turned(Y, 0.5 * FIXTURE_PI, (v3d){ 10, 0, 0 }), 0 },
		{ fixture_sphere(0.5), AT(20, 0, 0), 0 } };
	const carom_pose pose = peer_turned(Z, 0.5 * FIXTURE_PI, (v3d){ 100, 200, 300 });
	carom_world *world = fixture_world(context, NULL);
	peer_add_parts(world, parts, 4, pose, CAROM_STATIC);
	static const struct {
		v3d at;
		bool inside;
	} probes[] = { { { -9.5, 0, 0 }, true }, { { 0, 0, 0 }, true }, { { 10, 0.45, 0 }, true }, { { 20, 0, 0 }, true },
		{ { 5, 0, 0 }, false }, { { -9.5, 0.4, 0 }, false }, { { 15, 0, 0 }, false } };
	for (int i = 0; i < 7; i++) {
		const carom_pose at = { carom_transform_point(pose, probes[i].at), { 0, 0, 0, 1 } };
		CHECK_INT(touches(world, fixture_sphere(0.1), at), probes[i].inside);
		// A probe that stays in the body's frame meets nothing.
		CHECK(!touches(world, fixture_sphere(0.1), (carom_pose){ probes[i].at, { 0, 0, 0, 1 } }));
	}
	carom_destroy_world(world);
	carom_release_mesh(hull);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

// CompoundOverlap, CompoundOverlapSegmentProxy, CompoundQuery.
TEST(peer_box3d, gaps_between_parts)
{
	carom_context *context = fixture_context(1);
	const carom_part pair[2] = { { fixture_sphere(0.5), AT(-3, 0, 0), 0 }, { fixture_sphere(0.5), AT(3, 0, 0), 0 } };
	const carom_pose pose = peer_turned(Y, 0.5 * FIXTURE_PI, (v3d){ -40, 15, 7 });
	carom_world *world = fixture_world(context, NULL);
	peer_add_parts(world, pair, 2, pose, CAROM_STATIC);
	static const double ends[] = { 1, 2.9 };
	for (int i = 0; i < 2; i++) {
		const v3d from = carom_transform_point(pose, (v3d){ -1, 0, 0 }),
				  to = carom_transform_point(pose, (v3d){ ends[i], 0, 0 });
		CHECK_INT(touches(world, capsule_between(from, to, 0.25), peer_between(from, to)), i == 1);
	}
	CHECK(touches(world, fixture_sphere(0.1), (carom_pose){ carom_transform_point(pose, (v3d){ 3, 0, 0 }), { 0, 0, 0, 1 } }));
	carom_body_id body;
	int32_t count;
	for (int i = 0; i < 2; i++) {
		const v3d middle = carom_transform_point(pose, (v3d){ 3.0 * i, 0, 0 });
		const carom_aabb box = { v3d_sub(middle, (v3d){ 1, 1, 1 }), v3d_add(middle, (v3d){ 1, 1, 1 }) };
		REQUIRE(carom_world_overlap_aabb(world, &box, NULL, 1, &body, &count) == CAROM_SUCCESS);
		CHECK_INT(count, i);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// CompoundMeshMaterialRemap and MoverWorldMeshMaterials: two triangles of a mesh that is a part, each with a material of its own.
TEST(peer_box3d, materials_of_triangles)
{
	static const float corners[18] = { -3, 0, -1, -2, 0, 1, -1, 0, -1, 1, 0, -1, 2, 0, 1, 3, 0, -1 };
	static const int32_t triangles[6] = { 0, 1, 2, 3, 4, 5 };
	static const uint32_t materials[2] = { 100, 200 };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = peer_mesh(context, corners, 6, triangles, 2, CAROM_SIDES_AUTO, materials);
	const carom_part parts[2] = { { fixture_box(0.5, 0.5, 0.5), AT(-8, 0, 0), 0 }, { fixture_of_mesh(mesh), AT(0, 0, 0), 0 } };
	carom_world *world = fixture_world(context, NULL);
	peer_add_parts(world, parts, 2, here(), CAROM_STATIC);
	for (int i = 0; i < 2; i++) {
		const double x = i == 0 ? -2 : 2;
		carom_ray_hit hit;
		uint32_t material;
		CHECK_NEAR(peer_cast_ray(world, (v3d){ x, 5, 0 }, (v3d){ 0, -10, 0 }, &hit), 0.5, 1e-12);
		CHECK_INT(hit.shape, 1);
		CHECK(!hit.back_face);
		REQUIRE(carom_mesh_get_material(mesh, hit.triangle, &material) == CAROM_SUCCESS);
		CHECK_INT(material, materials[i]);
		const carom_shape_hit cast = peer_cast_shape(world, fixture_sphere(0.1), fixture_at(x, 5, 0), (v3d){ 0, -10, 0 }, 1e-5);
		CHECK_INT(cast.shape, 1);
		CHECK_INT(cast.triangle, i);
		// A mover whose radius reaches 0.05 into the triangle.
		const carom_shape mover = fixture_capsule(0.2, 0.1);
		const carom_pose at = peer_between((v3d){ x, 0.15, 0 }, (v3d){ x, 0.35, 0 });
		carom_contact contact;
		int32_t count;
		REQUIRE(carom_world_collide_shape(world, &mover, &at, NULL, 1, &contact, &count) == CAROM_SUCCESS);
		CHECK_INT(count, 1);
		CHECK_NEAR(contact.normal[1], 1, 1e-6);
		CHECK_NEAR(contact.depth, 0.05, 1e-6);
		CHECK_INT(contact.material_b, materials[i]);
		CHECK_INT(contact.shape_b, 1);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// CompoundMover and MoverCapacity: a capsule on two boxes, and below two spheres.
TEST(peer_box3d, a_mover_on_two_parts)
{
	carom_context *context = fixture_context(1);
	const carom_part boxes[2] = { { fixture_box(0.5, 0.5, 0.5), AT(-1, 0, 0), 0 },
		{ fixture_box(0.5, 0.5, 0.5), { { 1, 0, 0 }, fixture_turn(Z, 0.5 * FIXTURE_PI) }, 0 } };
	const carom_part spheres[2] = { { fixture_sphere(0.5), AT(-0.4, 0.6, 0), 0 }, { fixture_sphere(0.5), AT(0.4, 0.6, 0), 0 } };
	for (int i = 0; i < 2; i++) {
		carom_world *world = fixture_world(context, NULL);
		peer_add_parts(world, i ? spheres : boxes, 2, here(), CAROM_STATIC);
		const double y = i ? 0 : 0.6;
		const carom_shape mover = fixture_capsule(0.2, 1);
		const carom_pose at = peer_between((v3d){ -1, y, 0 }, (v3d){ 1, y, 0 });
		carom_contact contacts[16];
		int32_t count, parts[2] = { 0, 0 };
		REQUIRE(carom_world_collide_shape(world, &mover, &at, NULL, 16, contacts, &count) == CAROM_SUCCESS);
		REQUIRE(count >= 2 && count <= 16);
		for (int k = 0; k < count; k++) {
			parts[contacts[k].shape_b]++;
			peer_check_vector(fixture_normal(&contacts[k]), (v3d){ 0, i ? -1 : 1, 0 }, 1e-6);
			CHECK_NEAR(contacts[k].depth, 0.1, 1e-6);
		}
		CHECK(parts[0] > 0 && parts[1] > 0);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

// ---- test_mover.c ----

// Axes that touch, cross and coincide. Box3D drops the plane where the axis lies in a box; Carom tells the way out.
TEST(peer_box3d, movers_deep_in_shapes)
{
	const carom_shape sphere = fixture_sphere(0.5), bar = fixture_capsule(0.3, 1), mover = fixture_capsule(0.2, 1);
	const carom_shape box = fixture_box(0.5, 0.5, 0.5), short_mover = fixture_capsule(0.1, 0.2), low = fixture_capsule(0.2, 0.3);
	const carom_quat along_x = fixture_turn(Y, 0.5 * FIXTURE_PI);
	const peer_case cases[] = {
		{ "apart of a sphere", mover, sphere, peer_between((v3d){ 4, 3, 0 }, (v3d){ 6, 3, 0 }), AT(0, 0, 0), 5 - 0.7,
			V(0.8, 0.6, 0), NULL, NULL },
		{ "touches a sphere", mover, sphere, { { 0, 0.6, 0 }, along_x }, AT(0, 0, 0), -0.1, V(0, 1, 0), NULL, NULL },
		{ "axis through the middle of a sphere", mover, sphere, { { 0, 0, 0 }, along_x }, AT(0, 0, 0), -0.7, NULL, NULL, NULL },
		{ "apart of a capsule", mover, bar, { { 0, 5, 0 }, along_x }, { { 0, 0, 0 }, along_x }, 4.5, V(0, 1, 0), NULL, NULL },
		{ "touches a capsule", mover, bar, { { 0, 0.4, 0 }, along_x }, { { 0, 0, 0 }, along_x }, -0.1, V(0, 1, 0), NULL, NULL },
		{ "axes that cross", mover, bar, AT(0, 0, 0), { { 0, 0, 0 }, along_x }, -0.5, NULL, NULL, NULL },
		{ "one axis", mover, bar, { { 0, 0, 0 }, along_x }, { { 0, 0, 0 }, along_x }, -0.5, NULL, NULL, NULL },
		{ "apart of a box", low, box, { { 0, 5, 0 }, along_x }, AT(0, 0, 0), 4.3, V(0, 1, 0), NULL, NULL },
		{ "touches a box", low, box, { { 0, 0.6, 0 }, along_x }, AT(0, 0, 0), -0.1, V(0, 1, 0), NULL, NULL },
		{ "axis in a box", short_mover, box, { { 0, 0, 0 }, along_x }, AT(0, 0, 0), -0.6, NULL, NULL, NULL },
	};
	CHECK_CASES(cases);
	carom_context *context = fixture_context(1);
	// The way out of axes that cross or coincide is across both.
	const carom_pose lying = { { 0, 0, 0 }, along_x };
	for (int i = 0; i < 3; i++) {
		const carom_separation s = peer_distance(context, &mover, i == 0 ? here() : lying, i == 2 ? &sphere : &bar, lying);
		CHECK_NEAR(s.normal.x, 0, 1e-6);
		CHECK(i > 0 || fabs(s.normal.z) < 1e-6);
	}
	carom_destroy_context(context);
}

// ---- test_body_query.c ----

// CastRayRotatedBody, CastRayFarFromOrigin, CastShapeRotatedBody, CastShapeFarFromOrigin.
TEST(peer_box3d, casts_far_from_the_origin)
{
	carom_context *context = fixture_context(1);
	static const v3d origins[] = { { 0, 0, 0 }, { 1e6, -2e6, 5e5 } };
	for (int i = 0; i < 2; i++) {
		const v3d o = origins[i];
		carom_ray_hit hit;
		carom_world *world = peer_world(context, fixture_sphere(1), fixture_at(o.x + 5, o.y, o.z));
		CHECK_NEAR(peer_cast_ray(world, o, (v3d){ 10, 0, 0 }, &hit), 0.4, 1e-9);
		peer_check_vector(hit.normal, v3d_neg(X), 1e-9);
		CHECK(peer_cast_ray(world, o, (v3d){ 0, 10, 0 }, &hit) < 0);
		carom_destroy_world(world);
		world = peer_world(context, fixture_box(1, 1, 1), fixture_at(o.x + 5, o.y, o.z));
		const carom_shape_hit cast =
			peer_cast_shape(world, fixture_sphere(0.5), fixture_at(o.x, o.y, o.z), (v3d){ 10, 0, 0 }, 1e-5);
		CHECK_NEAR(cast.time, 0.35, 1e-6);
		CHECK_NEAR(cast.point.x - o.x, 4, 1e-6);
		carom_destroy_world(world);
		const carom_part off = { fixture_sphere(0.5), AT(0, 2, 0), 0 };
		world = fixture_world(context, NULL);
		peer_add_parts(world, &off, 1, peer_turned(Z, 0.5 * FIXTURE_PI, o), CAROM_STATIC);
		CHECK_NEAR(peer_cast_ray(world, o, (v3d){ -4, 0, 0 }, &hit), 0.375, 1e-9);
		peer_check_vector(hit.normal, X, 1e-9);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

// OverlapFilter, OverlapHullProxyEquivalence, OverlapHullProxyRotation, MoverTOIFilter: a hull whose points stand where they are, and
// one at a pose; a bar along x and across it; a mask without bits.
TEST(peer_box3d, overlaps_of_hulls)
{
	carom_context *context = fixture_context(1);
	carom_world *world = peer_world(context, fixture_box(1, 1, 1), fixture_at(10, 0, 0));
	static const double at[] = { 10, 100 };
	for (int i = 0; i < 2; i++) {
		carom_mesh *baked = peer_box_hull(context, (v3d){ at[i] - 5, -5, -5 }, (v3d){ at[i] + 5, 5, 5 });
		carom_mesh *local = peer_box_hull(context, (v3d){ -5, -5, -5 }, (v3d){ 5, 5, 5 });
		CHECK_INT(touches(world, fixture_hull(baked), here()), i == 0);
		CHECK_INT(touches(world, fixture_hull(local), fixture_at(at[i], 0, 0)), i == 0);
		carom_release_mesh(baked);
		carom_release_mesh(local);
	}
	carom_mesh *bar = peer_box_hull(context, (v3d){ -4, -0.3, -0.3 }, (v3d){ 4, 0.3, 0.3 });
	CHECK(touches(world, fixture_hull(bar), fixture_at(5.5, 0, 0)));
	CHECK(!touches(world, fixture_hull(bar), peer_turned(Y, 0.5 * FIXTURE_PI, (v3d){ 5.5, 0, 0 })));
	carom_query_filter filter = carom_default_query_filter();
	filter.mask = 0;
	const carom_shape sphere = fixture_sphere(0.5);
	const carom_pose inside = fixture_at(10, 0, 0);
	const carom_motion into = carom_straight_motion(fixture_at(0, 0, 0), (v3d){ 10, 0, 0 });
	int32_t count;
	bool found;
	carom_shape_hit hit;
	REQUIRE(carom_world_overlap_shape(world, &sphere, &inside, &filter, 0, NULL, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 0);
	REQUIRE(carom_world_cast_shape(world, &sphere, &into, 1e-4, &filter, &found, &hit) == CAROM_SUCCESS);
	CHECK(!found);
	carom_destroy_world(world);
	carom_release_mesh(bar);
	carom_destroy_context(context);
}

// MoverTOI...: a standing capsule that goes to a box, beside it, out of it; and a bar that is swung at it.
TEST(peer_box3d, times_of_impact_of_a_mover)
{
	carom_context *context = fixture_context(1);
	const carom_shape mover = fixture_capsule(0.25, 0.5), box = fixture_box(0.5, 0.5, 0.5), bar = fixture_box(2, 0.25, 0.25);
	const carom_pose standing = peer_between(ORIGIN, Y);
	carom_toi toi = peer_impact(context, &mover, standing, (v3d){ 10, 0, 0 }, &box, fixture_at(5, 0, 0), 1e-5);
	CHECK_INT(toi.status, CAROM_TOI_IMPACT);
	CHECK_NEAR(toi.time, 0.425, 1e-6);
	peer_check_vector(toi.separation.normal, v3d_neg(X), 1e-6);
	toi = peer_impact(context, &mover, standing, (v3d){ 0, 10, 0 }, &box, fixture_at(5, 0, 0), 1e-5);
	CHECK_INT(toi.status, CAROM_TOI_APART);
	toi = peer_impact(context, &mover, standing, (v3d){ 10, 0, 0 }, &box, here(), 1e-5);
	CHECK_INT(toi.status, CAROM_TOI_TOUCHING);
	CHECK(toi.time == 0);
	const carom_pose beside = peer_between((v3d){ 0, 0, 2.1 }, (v3d){ 0, 1, 2.1 });
	const carom_motion stays = { beside, beside }, swing = { here(), peer_turned(Y, 0.5 * FIXTURE_PI, ORIGIN) };
	REQUIRE(carom_time_of_impact(context, &mover, &stays, &bar, &swing, 1e-5, &toi) == CAROM_SUCCESS);
	CHECK_INT(toi.status, CAROM_TOI_IMPACT);
	CHECK(toi.time > 0 && toi.time < 1);
	// The corner (2, 0.25) of the bar is 2.0156 from its middle: it comes to the capsule's circle, 0.25 about (0, 2.1).
	const double corner = hypot(2, 0.25), half = acos((corner * corner + 2.1 * 2.1 - 0.0625) / (2 * corner * 2.1));
	CHECK_NEAR(toi.time, (0.5 * FIXTURE_PI - half - atan2(0.25, 2)) / (0.5 * FIXTURE_PI), 1e-4);
	toi = peer_impact(context, &mover, beside, ORIGIN, &bar, here(), 1e-5);
	CHECK_INT(toi.status, CAROM_TOI_APART);
	carom_destroy_context(context);
}

// ---- test_height_field.c ----

/// A field whose z is up in its own frame, laid so that its z is the world's y, its columns go along x and its rows along -z.
static carom_pose upright(void) { return peer_turned(X, -0.5 * FIXTURE_PI, ORIGIN); }

static carom_mesh *field_of(carom_context *context, int columns, int rows, const float *heights, double spacing)
{
	carom_mesh *mesh;
	REQUIRE(
		carom_create_height_field(context, columns, rows, heights, (double[2]){ spacing, spacing }, 1, &mesh) == CAROM_SUCCESS);
	return mesh;
}

// RayCastFlatField, OverlapAtSurface.
TEST(peer_box3d, a_flat_height_field)
{
	static const float heights[16] = { 0 };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = field_of(context, 4, 4, heights, 1);
	carom_world *world = peer_world(context, fixture_of_mesh(mesh), upright());
	carom_ray_hit hit;
	CHECK_NEAR(peer_cast_ray(world, (v3d){ 1.25, 10, -1.25 }, (v3d){ 0, -20, 0 }, &hit), 0.5, 1e-9);
	peer_check_vector(hit.normal, Y, 1e-9);
	CHECK(!touches(world, fixture_sphere(0.5), fixture_at(1.5, 1, -1.5)));
	CHECK(touches(world, fixture_sphere(0.5), fixture_at(1.5, 0, -1.5)));
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ShapeCastVerticalStraddle: one cell is solid, its neighbours are holes; a sphere falls past its edges and its corner.
TEST(peer_box3d, a_sphere_falls_on_the_edge_of_a_hole)
{
	float heights[9] = { 0 };
	heights[2] = heights[5] = heights[6] = heights[7] = heights[8] = NAN;
	static const struct {
		double x, y, time;
	} falls[] = { { 1.05, 0.5, 0.4852098 }, { 0.5, 1.05, 0.4852098 }, { 1.05, 1.05, 0.4854226 } };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = field_of(context, 3, 3, heights, 1);
	carom_world *world = peer_world(context, fixture_of_mesh(mesh), upright());
	for (int i = 0; i < 3; i++) {
		const carom_pose from = fixture_at(falls[i].x, 10, -falls[i].y);
		const carom_shape_hit hit = peer_cast_shape(world, fixture_sphere(0.3), from, (v3d){ 0, -20, 0 }, 1e-6);
		CHECK_NEAR(hit.time, falls[i].time, 1e-6);
		CHECK(!hit.touching);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

static carom_mesh *wave(carom_context *context)
{
	float heights[100];
	for (int i = 0; i < 100; i++)
		heights[i] = (float)(1.5 * sin(0.2 * FIXTURE_PI * (i % 10)) * cos(0.0667 * FIXTURE_PI * (i / 10)));
	return field_of(context, 10, 10, heights, 2);
}

// ShapeCastBruteForce: spheres cast over a wave in all directions. At the time that is told they touch, and at 40 times before not.
TEST(peer_box3d, spheres_cast_over_a_wave)
{
	static const double radii[] = { 0.15, 0.4, 0.9 };
	static const v3d ways[] = { { 0, 0, -8 }, { 0, 6.4, -8 }, { 5.1, 0, -8 }, { 0, -6.4, -8 }, { -5.1, 0, -8 }, { 6, 5, -8 },
		{ -7, 4, -8 }, { 9, -9, -3 } };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = wave(context);
	const carom_shape field = fixture_of_mesh(mesh);
	int hits = 0;
	for (int i = 0; i < 8 * 3 * 9; i++) {
		const carom_shape sphere = fixture_sphere(radii[i / 8 % 3]);
		const v3d way = ways[i % 8], from = { 1.05 + 8 * (i / 24 % 3), 1.05 + 8 * (i / 72), 4 };
		const carom_toi toi = peer_impact(context, &sphere, fixture_at(from.x, from.y, from.z), way, &field, here(), 1e-5);
		const double end = toi.status == CAROM_TOI_APART ? 1 : toi.time;
		for (int k = 0; k <= 40; k++) {
			const v3d p = v3d_mad(from, end * k / 40, way);
			const double distance = peer_distance(context, &sphere, fixture_at(p.x, p.y, p.z), &field, here()).distance;
			CHECK(distance > 0);
			CHECK(k < 40 || toi.status == CAROM_TOI_APART || distance <= 1e-5);
		}
		hits += toi.status == CAROM_TOI_IMPACT;
	}
	CHECK(hits > 100 && hits < 216);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// RayCastBruteForce: rays over the wave against all its triangles, with the walls and the bottom of the solid.
TEST(peer_box3d, rays_over_a_wave)
{
	static const v3d ways[] = { { 0, 0, -8 }, { 0, 12, -8 }, { 12, 0, -8 }, { 0, -12, -8 }, { -12, 0, -8 }, { 14, 11, -8 },
		{ -13, 9, -8 }, { 16, -15, -4 } };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = wave(context);
	carom_world *world = peer_world(context, fixture_of_mesh(mesh), here());
	for (int i = 0; i < 8 * 25; i++) {
		const v3d from = { 1.05 + 4 * (i / 8 % 5), 1.05 + 4 * (i / 40), 4 };
		const fixture_hit brute = fixture_cast(mesh, from, ways[i % 8]);
		carom_ray_hit hit;
		const double t = peer_cast_ray(world, from, ways[i % 8], &hit);
		CHECK_NEAR(t, brute.triangle >= 0 && brute.t <= 1 ? brute.t : -1, 1e-6);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ---- test_shape.c ----

// RayCastShapeTest.
TEST(peer_box3d, rays_at_shapes)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = peer_box_hull(context, (v3d){ -1, -1, -1 }, (v3d){ 1, 1, 1 });
	const struct {
		carom_shape shape;
		carom_pose pose;
		double t;
	} casts[] = { { fixture_sphere(1), AT(1, 0, 0), 0.5 },
		{ fixture_capsule(1, 1), { { 0, 0, 0 }, fixture_turn(Y, 0.5 * FIXTURE_PI) }, 0.25 },
		{ fixture_box(1, 1, 1), AT(0, 0, 0), 0.375 }, { fixture_hull(mesh), AT(0, 0, 0), 0.375 } };
	for (int i = 0; i < 4; i++) {
		const carom_ray ray = { { -4, 0, 0 }, { 8, 0, 0 }, 0, 1 };
		bool found;
		carom_ray_hit hit;
		REQUIRE(carom_shape_cast_ray(context, &casts[i].shape, &casts[i].pose, &ray, &found, &hit) == CAROM_SUCCESS && found);
		CHECK_NEAR(hit.t, casts[i].t, 1e-12);
		peer_check_vector(hit.normal, v3d_neg(X), 1e-12);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ShapeMassTest: a box that is moved, turned and both, as a hull.
TEST(peer_box3d, masses_of_hulls)
{
	carom_context *context = fixture_context(1);
	static const v3d offset = { 0.4, -0.7, 0.1 };
	for (int i = 0; i < 4; i++) {
		const v3d half = i & 1 ? (v3d){ 0.25, 0.3, 0.5 } : (v3d){ 0.25, 0.5, 0.3 }, at = i & 2 ? offset : ORIGIN;
		carom_mesh *hull = peer_box_hull(context, v3d_sub(at, half), v3d_add(at, half));
		carom_mass mass;
		REQUIRE(carom_mesh_get_mass(hull, &mass) == CAROM_SUCCESS);
		const double m = 0.3, x = half.x * half.x, y = half.y * half.y, z = half.z * half.z;
		CHECK_NEAR(mass.mass, m, 1e-6);
		peer_check_vector(mass.centre, at, 1e-6);
		const double expected[6] = { m / 3 * (y + z), m / 3 * (x + z), m / 3 * (x + y), 0, 0, 0 };
		for (int k = 0; k < 6; k++)
			CHECK_NEAR(mass.inertia[k], expected[k], 1e-7);
		carom_release_mesh(hull);
	}
	carom_destroy_context(context);
}

// ---- test_world.c ----

// TestSensor: a bullet that is a sensor flies through a wall. It begins to touch it once, and ends once.
TEST(peer_box3d, a_sensor_through_a_wall)
{
	carom_context *context = fixture_context(1);
	carom_world *world = peer_world(context, fixture_box(0.5, 10, 1), fixture_at(1.5, 11, 0));
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(0.1);
	def.sensor = true;
	carom_body_id bullet;
	REQUIRE(carom_world_add_body(world, &def, &bullet) == CAROM_SUCCESS);
	int begins = 0, ends = 0;
	for (double x = 7.39814; x > -1; x -= 20.0 / 60) {
		const carom_pose pose = fixture_at(x, 4, 0);
		REQUIRE(carom_world_set_pose(world, bullet, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_event_view events = carom_world_events(world);
		for (int k = 0; k < events.count; k++) {
			begins += events.data[k].kind == CAROM_EVENT_BEGIN;
			ends += events.data[k].kind == CAROM_EVENT_END;
		}
		CHECK_INT(carom_world_contacts(world).count, 0);
		CHECK_INT(carom_world_pairs(world).count, x >= 0.9 && x <= 2.1);
	}
	CHECK_INT(begins, 1);
	CHECK_INT(ends, 1);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
