// Situations of Jolt's test suite: github.com/jrouwe/JoltPhysics, UnitTests/Physics/. The numbers are theirs, the code is ours. Jolt's
// y is up and its capsules and cylinders stand along y; here they stand along z where that alone differs. Its penetration axis points
// from the first shape to the second.
#include "peer_fixture.h"

#include <math.h>

static const v3d Z = { 0, 0, 1 };

static carom_pose here(void) { return carom_pose_identity(); }
/// Turns z to y: stands a capsule up as Jolt does.
static carom_pose upright(double x, double y, double z)
{
	return peer_turned((v3d){ 1, 0, 0 }, -FIXTURE_PI / 2, (v3d){ x, y, z });
}

// ---- RayShapeTests.cpp ----

/// A ray from a point to another one. t of its first hit from outside and of its first from inside, -1: none.
static void cast_both(carom_context *context, const carom_shape *shape, carom_pose pose, v3d from, v3d to, double t[2])
{
	const carom_ray ray = { carom_transform_point(pose, from), carom_rotate(pose.orientation, v3d_sub(to, from)), 0, 1 };
	bool found;
	carom_ray_hit hit;
	t[0] = t[1] = -1;
	REQUIRE(carom_shape_cast_ray(context, shape, &pose, &ray, &found, &hit) == CAROM_SUCCESS);
	if (found)
		t[hit.back_face] = hit.t;
}

/// Rays along the line through two points of the surface that begin and end before, between and after them. A ray that begins inside
/// meets the far side from within; Jolt's solid shapes are met at once.
static void check_line(carom_context *context, const carom_shape *shape, carom_pose pose, v3d a, v3d b)
{
	static const struct {
		double from, to, outside, inside;
	} rays[] = { { -2, -0.1, -1, -1 }, { -0.1, 0.1, 0.5, -1 }, { -0.1, 1.1, 0.1 / 1.2, -1 }, { 0.9, 1.1, -1, 0.5 },
		{ 0.1, 0.9, -1, -1 }, { 1.1, 2, -1, -1 } };
	for (int i = 0; i < 12; i++) {
		const v3d start = i < 6 ? a : b, way = i < 6 ? v3d_sub(b, a) : v3d_sub(a, b);
		double t[2];
		cast_both(context, shape, pose, v3d_mad(start, rays[i % 6].from, way), v3d_mad(start, rays[i % 6].to, way), t);
		CHECK_NEAR(t[0], rays[i % 6].outside, 1e-5);
		CHECK_NEAR(t[1], rays[i % 6].inside, 1e-5);
	}
}

TEST(peer_jolt, rays_through_shapes)
{
	carom_context *context = fixture_context(1);
	carom_mesh *plain = peer_box_hull(context, (v3d){ -2, -4, -6 }, (v3d){ 3, 5, 7 });
	carom_mesh *scaled = peer_box_hull(context, (v3d){ -4, -12, -24 }, (v3d){ 6, 15, 28 });
	carom_mesh *flipped = peer_box_hull(context, (v3d){ -6, -12, -24 }, (v3d){ 4, 15, 28 });
	const struct {
		carom_shape shape;
		v3d low, high;
	} cases[] = {
		{ fixture_box(2, 3, 4), { -2, -3, -4 }, { 2, 3, 4 } },
		{ fixture_sphere(2), { -2, -2, -2 }, { 2, 2, 2 } },
		{ fixture_capsule(2, 4), { -2, -2, -6 }, { 2, 2, 6 } },
		{ fixture_cylinder(2, 4), { -2, -2, -4 }, { 2, 2, 4 } },
		{ fixture_hull(plain), { -2, -4, -6 }, { 3, 5, 7 } },
		{ fixture_of_mesh(plain), { -2, -4, -6 }, { 3, 5, 7 } },
		{ fixture_hull(scaled), { -4, -12, -24 }, { 6, 15, 28 } },
		{ fixture_hull(flipped), { -6, -12, -24 }, { 4, 15, 28 } },
	};
	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		const carom_pose pose = i % 2 ? peer_turned((v3d){ 1, 0, 0 }, FIXTURE_PI / 4, (v3d){ 2, 3, 4 }) : here();
		const v3d low = cases[i / 2].low, high = cases[i / 2].high;
		const carom_shape *shape = &cases[i / 2].shape;
		check_line(context, shape, pose, (v3d){ low.x, 0, 0 }, (v3d){ high.x, 0, 0 });
		check_line(context, shape, pose, (v3d){ 0, low.y, 0 }, (v3d){ 0, high.y, 0 });
		check_line(context, shape, pose, (v3d){ 0, 0, low.z }, (v3d){ 0, 0, high.z });
	}
	static const double misses[3] = { -5, 0, 6 };
	for (int i = 0; i < 3; i++) {
		double t[2];
		cast_both(context, &cases[4].shape, here(), (v3d){ -3, misses[i], 0 }, (v3d){ -3, misses[i] + 1, 0 }, t);
		CHECK(t[0] < 0 && t[1] < 0);
	}
	carom_release_mesh(plain);
	carom_release_mesh(scaled);
	carom_release_mesh(flipped);
	carom_destroy_context(context);
}

static carom_pose turned_in_order(v3d first, double angle, v3d other, double other_angle, v3d place)
{
	return fixture_compose(peer_turned(first, angle, place), peer_turned(other, other_angle, (v3d){ 0, 0, 0 }));
}

// TestStaticCompoundShapeRay: two hulls as parts of a body that is turned itself.
TEST(peer_jolt, rays_through_parts)
{
	carom_context *context = fixture_context(1);
	carom_mesh *hull = peer_box_hull(context, (v3d){ -2, -4, -6 }, (v3d){ 3, 5, 7 });
	const carom_part parts[2] = {
		{ fixture_hull(hull),
			turned_in_order((v3d){ 1, 0, 0 }, 0.1 * FIXTURE_PI, (v3d){ 0, 1, 0 }, 0.2 * FIXTURE_PI, (v3d){ 10, 20, 30 }), 0 },
		{ fixture_hull(hull), peer_turned(Z, 0.3 * FIXTURE_PI, (v3d){ 40, 50, 60 }), 0 }
	};
	const carom_pose body = peer_turned((v3d){ 1, 0, 0 }, FIXTURE_PI / 4, (v3d){ 2, 3, 4 });
	carom_world *world = fixture_world(context, NULL);
	peer_add_parts(world, parts, 2, body, CAROM_STATIC);
	static const v3d ends[3][2] = { { { -2, 0, 0 }, { 3, 0, 0 } }, { { 0, -4, 0 }, { 0, 5, 0 } },
		{ { 0, 0, -6 }, { 0, 0, 7 } } };
	for (int i = 0; i < 12; i++) {
		const carom_pose at = fixture_compose(body, parts[i / 6].pose);
		const v3d a = carom_transform_point(at, ends[i % 3][i / 3 % 2]),
				  b = carom_transform_point(at, ends[i % 3][1 - i / 3 % 2]);
		const v3d way = v3d_sub(b, a), before = v3d_mad(a, -0.1, way);
		carom_ray_hit hit;
		CHECK_NEAR(peer_cast_ray(world, before, v3d_scale(way, 1.2), &hit), 0.1 / 1.2, 1e-5);
		CHECK_INT(hit.shape, i / 6);
		CHECK_NEAR(peer_cast_ray(world, before, v3d_scale(way, 0.2), &hit), 0.5, 1e-5);
		CHECK(peer_cast_ray(world, v3d_mad(a, -2, way), v3d_scale(way, 1.9), &hit) < 0);
		CHECK(peer_cast_ray(world, v3d_mad(b, 0.1, way), v3d_scale(way, 1.9), &hit) < 0);
	}
	carom_destroy_world(world);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

// ---- CollidePointTests.cpp ----

static double signed_distance(carom_context *context, const carom_shape *shape, carom_pose pose, v3d point)
{
	bool found;
	carom_closest_point near;
	REQUIRE(carom_shape_closest_point(context, shape, &pose, point, INFINITY, &found, &near) == CAROM_SUCCESS && found);
	return near.distance;
}

// Points at 0.99 of the way to each face, and at 1.01.
TEST(peer_jolt, points_in_and_out_of_shapes)
{
	carom_context *context = fixture_context(1);
	carom_mesh *hull = peer_box_hull(context, (v3d){ 9.9, 10.8, 11.7 }, (v3d){ 10.1, 11.2, 12.3 });
	const carom_pose turned = peer_turned((v3d){ 1, 2, 3 }, 0.3 * FIXTURE_PI, (v3d){ 10, 11, 12 });
	const struct {
		carom_shape shape;
		carom_pose pose, frame; // frame: where the probes are
		v3d reach;
	} cases[] = {
		{ fixture_box(0.1, 0.2, 0.3), here(), here(), { 0.1, 0.2, 0.3 } },
		{ fixture_box(0.1, 0.2, 0.3), turned, turned, { 0.1, 0.2, 0.3 } },
		{ fixture_box(0.2, 0.6, 1.2), here(), here(), { 0.2, 0.6, 1.2 } },
		{ fixture_sphere(0.1), here(), here(), { 0.1, 0.1, 0.1 } },
		{ fixture_capsule(0.1, 0.2), here(), here(), { 0.1, 0.1, 0.3 } },
		{ fixture_cylinder(0.1, 0.2), here(), here(), { 0.1, 0.1, 0.2 } },
		{ fixture_hull(hull), here(), fixture_at(10, 11, 12), { 0.1, 0.2, 0.3 } },
		{ fixture_of_mesh(hull), here(), fixture_at(10, 11, 12), { 0.1, 0.2, 0.3 } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const carom_shape *shape = &cases[i].shape;
		CHECK(signed_distance(context, shape, cases[i].pose, carom_transform_point(cases[i].frame, (v3d){ 0, 0, 0 })) < 0);
		for (int k = 0; k < 6; k++) {
			const double size = v3d_get(cases[i].reach, k % 3);
			for (int out = 0; out < 2; out++) {
				const double way = (k < 3 ? 1 : -1) * size * (out ? 1.01 : 0.99);
				const v3d probe = carom_transform_point(
					cases[i].frame, (v3d){ k % 3 == 0 ? way : 0, k % 3 == 1 ? way : 0, k % 3 == 2 ? way : 0 });
				CHECK_NEAR(signed_distance(context, shape, cases[i].pose, probe), (out ? 0.01 : -0.01) * size, 2e-6);
			}
		}
	}
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

// ---- ActiveEdgesTests.cpp ----

/// 7 x 7 squares of the plane z = 0 about the origin, as a mesh or as a height field with its lowest corner at the origin.
static carom_mesh *flat_mesh(carom_context *context, bool field)
{
	float vertices[192];
	int32_t triangles[294];
	for (int i = 0; i < 64; i++) {
		vertices[3 * i] = (float)(i % 8) - 3.5f;
		vertices[3 * i + 1] = (float)(i / 8) - 3.5f;
		vertices[3 * i + 2] = 0;
	}
	for (int i = 0; i < 49; i++) {
		const int32_t a = i / 7 * 8 + i % 7;
		const int32_t square[6] = { a, a + 1, a + 9, a, a + 9, a + 8 };
		for (int k = 0; k < 6; k++)
			triangles[6 * i + k] = square[k];
	}
	if (!field)
		return peer_mesh(context, vertices, 64, triangles, 98, CAROM_SIDES_AUTO, NULL);
	static const float heights[64] = { 0 };
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, 8, 8, heights, (double[]){ 1, 1 }, 1, &mesh) == CAROM_SUCCESS);
	return mesh;
}

// A long capsule through the inner edges is pushed straight up, as with Jolt's active edges; a cube that slides 0.02 deep meets no
// edge; one that sinks while it flies touches with its face.
TEST(peer_jolt, inner_edges_of_flat_ground)
{
	static const v3d places[] = { { -2.5, 0, 0.1 }, { 0, -2.5, 0.1 }, { -3, 0, 0.1 }, { -3, -3, 0.1 }, { 0.5, 0.5, 0.1 } };
	carom_context *context = fixture_context(1);
	const carom_shape capsule = fixture_capsule(0.1, 1), cube = fixture_box(0.1, 0.1, 0.1);
	for (int kind = 0; kind < 2; kind++) {
		carom_mesh *mesh = flat_mesh(context, kind);
		const carom_shape ground = fixture_of_mesh(mesh);
		const carom_pose pose = kind ? fixture_at(-3.5, -3.5, 0) : here();
		carom_contact contacts[8];
		for (int i = 0; i < 5 + 121; i++) {
			const v3d at = i < 5 ? places[i] : (v3d){ -3 + (i - 5) * 0.05, 0, 0.08 };
			if (kind && (i == 2 || i == 3))
				continue; // so near the side of a field, which is solid, the shortest way out is that
			const int count =
				peer_collide(context, i < 5 ? &capsule : &cube, fixture_at(at.x, at.y, at.z), &ground, pose, 0.01, contacts);
			CHECK(count > 0);
			for (int k = 0; k < count; k++) {
				peer_check_vector(fixture_normal(&contacts[k]), Z, 1e-6);
				CHECK(contacts[k].depth <= (i < 5 ? 1.0 : 0.02) + 1e-6);
			}
		}
		const carom_toi toi = peer_impact(context, &cube, fixture_at(-3, 0, 0.12), (v3d){ 6, 0, -0.03 }, &ground, pose, 1e-6);
		CHECK_INT(toi.status, CAROM_TOI_IMPACT);
		CHECK_NEAR(toi.time, 2.0 / 3, 1e-4);
		peer_check_vector(toi.separation.normal, Z, 1e-3);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

// ---- CastShapeTests.cpp ----

// TestDeepestPenetrationAtFraction0, TestCastSphereVsDegenerateTriangle (issue 886), TestCast2DBoxVsBox, TestCastShapeInitiallyIntersecting.
// A hull of points in a plane is refused here; the flat box is a mesh of two triangles.
TEST(peer_jolt, casts_that_begin_in_touch)
{
	carom_context *context = fixture_context(1);
	carom_mesh *ground = flat_mesh(context, false);
	const float corners[12] = { -1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0 };
	static const int32_t square[6] = { 0, 2, 1, 0, 3, 2 };
	carom_mesh *plate = peer_mesh(context, corners, 4, square, 2, CAROM_SIDES_BOTH, NULL);
	carom_mesh *needle = peer_triangle(context, (v3d){ 14.5536213, 10.5973721, -0.00600051880 },
		(v3d){ 14.5536213, 10.5969315, -3.18638134 }, (v3d){ 14.5536213, 10.5969315, -5.18637228 }, CAROM_SIDES_BOTH);
	const carom_shape capsule = fixture_capsule(1, 2), flat = fixture_of_mesh(ground), thin = fixture_of_mesh(plate);
	const carom_shape sliver = fixture_of_mesh(needle), slab = fixture_box(5, 5, 1), ball = fixture_sphere(0.2);
	const carom_toi deep = peer_impact(context, &capsule, fixture_at(0, 0, 2.1), (v3d){ 0, 0, -100 }, &flat, here(), 1e-6);
	CHECK(deep.status == CAROM_TOI_TOUCHING && deep.time == 0);
	CHECK_NEAR(peer_distance(context, &capsule, fixture_at(0, 0, 2.1), &flat, here()).distance, -0.9, 1e-6);
	const carom_toi past = peer_impact(context, &ball, fixture_at(14.8314590, 8.19055080, -4.30825043),
		(v3d){ -0.0988006592, 5.96046448e-08, 0.000732421875 }, &sliver, here(), 1e-6);
	CHECK_INT(past.status, CAROM_TOI_APART);
	const carom_toi level = peer_impact(context, &thin, fixture_at(0, 0, 1), (v3d){ 0, 0, -10 }, &slab, here(), 1e-6);
	CHECK(level.status == CAROM_TOI_TOUCHING && level.time == 0);
	CHECK_NEAR(level.separation.distance, 0, 1e-6);
	peer_check_vector(level.separation.normal, Z, 1e-6);
	const carom_shape base = fixture_box(1.5, 1.5, 0.5), cube = fixture_box(0.5, 0.5, 0.5);
	const carom_toi in = peer_impact(context, &cube, fixture_at(0.01, 0, 0.95), (v3d){ 0, 0, -0.5 }, &base, here(), 1e-6);
	CHECK(in.status == CAROM_TOI_TOUCHING && in.time == 0);
	CHECK_NEAR(in.separation.distance, -0.05, 1e-6);
	peer_check_vector(in.separation.normal, Z, 1e-6);
	carom_release_mesh(ground);
	carom_release_mesh(plate);
	carom_release_mesh(needle);
	carom_destroy_context(context);
}

// TestClosestHitPerBodyCollisionCollector: two bodies of ten slabs each. The first hit, either way.
TEST(peer_jolt, casts_at_slabs)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_part parts[10];
	for (int i = 0; i < 10; i++)
		parts[i] = (carom_part){ fixture_box(0.05, 0.5, 0.5), fixture_at(0.1 * i - 0.45, 0, 0), 0 };
	const carom_body_id first = peer_add_parts(world, parts, 10, here(), CAROM_STATIC);
	const carom_body_id other = peer_add_parts(world, parts, 10, fixture_at(1, 0, 0), CAROM_STATIC);
	const carom_shape_hit there = peer_cast_shape(world, fixture_sphere(0.1), fixture_at(-1, 0, 0), (v3d){ 3, 0, 0 }, 1e-6);
	CHECK_NEAR(there.time, 0.4 / 3, 1e-6);
	CHECK(fixture_same_id(there.body, first) && there.shape == 0);
	const carom_shape_hit back = peer_cast_shape(world, fixture_sphere(0.1), fixture_at(2, 0, 0), (v3d){ -3, 0, 0 }, 1e-6);
	CHECK_NEAR(back.time, 0.4 / 3, 1e-6);
	CHECK(fixture_same_id(back.body, other) && back.shape == 9);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- CollideShapeTests.cpp ----

// TestCollideShapeSphere, TestCollideShapeLongCapsuleVsEmbeddedBox: 1 % more of the depth parts them, 1 % less does not.
TEST(peer_jolt, spheres_and_a_long_capsule)
{
	const double d = sqrt(10);
	const peer_case spheres[] = {
		{ "beside", fixture_sphere(2), fixture_sphere(1.5), AT(10, 11, 12), AT(13, 11, 12), -0.5, V(-1, 0, 0), V(12, 11, 12),
			V(11.5, 11, 12) },
		{ "aslant", fixture_sphere(2), fixture_sphere(1.5), AT(10, 21, 12), AT(13, 22, 12), d - 3.5, V(-3 / d, -1 / d, 0), NULL,
			NULL },
	};
	CHECK_CASES(spheres);
	carom_context *context = fixture_context(1);
	const carom_shape capsule = fixture_capsule(1.5, 75), box = fixture_box(1.5, 0.75, 1.25);
	const carom_pose body = { { -10.2214508, -18.6808319, 40.7468987 },
		{ 0.2840966234013639, 0.009787453847882413, -0.49175089465285854, 0.8230275590768513 } };
	const carom_pose lying = { { -9.68538570, -18.0328083, 41.3212280 }, { 0.5, -0.5, -0.5, 0.5 } };
	const carom_pose at_capsule = fixture_compose(lying, upright(0, 0, 0));
	const carom_separation s = peer_distance(context, &box, body, &capsule, at_capsule);
	CHECK(s.distance < 0);
	CHECK(peer_overlap(context, &box, body, &capsule, at_capsule));
	for (int less = 0; less < 2; less++) {
		carom_pose moved = body;
		moved.position = v3d_mad(moved.position, (less ? 0.99 : 1.01) * -s.distance, s.normal);
		CHECK_INT(peer_overlap(context, &box, moved, &capsule, at_capsule), less);
	}
	carom_destroy_context(context);
}

// TestCollideShapeSmallTriangleVsLargeBox, TestCollideParallelTriangleVsCapsule and ...2: triangles beside a large hull, and nearly
// along a capsule.
TEST(peer_jolt, triangles_and_solids)
{
	static const float points[24] = { 125.932892f, -374.712250f, 364.192169f, 319.492218f, -73.2614441f, 475.009613f,
		-122.277550f, -152.200287f, 192.441437f, 71.2817841f, 149.250519f, 303.258881f, -77.8921967f, -359.410797f, 678.579712f,
		115.667137f, -57.9600067f, 789.397095f, -326.102631f, -136.898834f, 506.828949f, -132.543304f, 164.551971f,
		617.646362f };
	carom_context *context = fixture_context(1);
	carom_mesh *large = fixture_hull_mesh(context, points, 8);
	carom_mesh *small = peer_triangle(context, (v3d){ -81.5637589, -126.987244, -146.771729 },
		(v3d){ -81.8749924, -127.270691, -146.544403 }, (v3d){ -81.6972275, -127.383545, -146.773254 }, CAROM_SIDES_BOTH);
	carom_mesh *edge = peer_triangle(context, (v3d){ -0.479988575, -1.36185002, 0.269966960 },
		(v3d){ -0.104996204, 0.388152480, 0.269967079 }, (v3d){ -0.104996204, -1.36185002, 0.269966960 }, CAROM_SIDES_BOTH);
	carom_mesh *face = peer_triangle(context, (v3d){ -0.0904417038, -4.72410202, 0.307858467 },
		(v3d){ -0.0904417038, 5.27589798, 0.307857513 }, (v3d){ 9.90955830, 5.27589798, 0.307864189 }, CAROM_SIDES_BOTH);
	const carom_shape hull = fixture_hull(large),
					  triangles[3] = { fixture_of_mesh(small), fixture_of_mesh(edge), fixture_of_mesh(face) };
	CHECK(!peer_overlap(context, &triangles[0], here(), &hull, here()));
	CHECK(peer_distance(context, &triangles[0], here(), &hull, here()).distance > 100);
	const carom_shape capsules[2] = { fixture_capsule(0.37, 0.5), fixture_capsule(0.42, 0.675) };
	const double far = hypot(0.104996204, 0.269966960);
	const v3d normals[2] = { { 0.104996204 / far, 0, -0.269966960 / far }, { 0, 0, -1 } };
	const double depths[2] = { 0.37 - far, 0.42 - 0.307858467 };
	for (int i = 0; i < 2; i++) {
		const carom_separation s = peer_distance(context, &capsules[i], upright(0, 0, 0), &triangles[i + 1], here());
		CHECK_NEAR(s.distance, -depths[i], 2e-6);
		peer_check_vector(s.normal, normals[i], 0.01);
		carom_contact contacts[8];
		const int count = peer_collide(context, &capsules[i], upright(0, 0, 0), &triangles[i + 1], here(), 0, contacts);
		double deepest = 0;
		for (int k = 0; k < count; k++)
			deepest = fmax(deepest, contacts[k].depth);
		CHECK(count > 0);
		CHECK_NEAR(deepest, depths[i], 2e-5);
	}
	carom_mesh *all[4] = { large, small, edge, face };
	for (int i = 0; i < 4; i++)
		carom_release_mesh(all[i]);
	carom_destroy_context(context);
}

// ConvexVsTrianglesTest.cpp: a sphere of 0.5 whose centre is 0.1 off the faces, edges and corners of one triangle of two sides, or 0.6 off
// its faces, within a distance of 0.5 ahead and beyond it. All edges of a lone triangle are active.
TEST(peer_jolt, a_sphere_all_round_a_triangle)
{
	static const struct {
		v3d on, way;
	} cases[] = { { { 1, 1, 0 }, { 0, 0, 1 } }, { { 1, 1, 0 }, { 0, 0, -1 } }, { { 0, 2, 0 }, { -1, 0, 0 } },
		{ { 2, 2, 0 }, { ROOT_HALF, ROOT_HALF, 0 } }, { { 2, 0, 0 }, { 0, -1, 0 } },
		{ { 0, 0, 0 }, { -ROOT_HALF, -ROOT_HALF, 0 } }, { { 0, 4, 0 }, { -ROOT_HALF, ROOT_HALF, 0 } },
		{ { 4, 0, 0 }, { ROOT_HALF, -ROOT_HALF, 0 } } };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = peer_triangle(context, (v3d){ 0, 0, 0 }, (v3d){ 4, 0, 0 }, (v3d){ 0, 4, 0 }, CAROM_SIDES_BOTH);
	const carom_shape triangle = fixture_of_mesh(mesh), ball = fixture_sphere(0.5);
	const carom_pose frame = peer_turned((v3d){ 1, 0, 0 }, FIXTURE_PI / 4, (v3d){ 1, 2, 3 });
	static const double offs[3] = { 0.1, 0.6, 1.1 };
	for (int i = 0; i < 24; i++) {
		const v3d way = carom_rotate(frame.orientation, cases[i / 3].way), on = carom_transform_point(frame, cases[i / 3].on);
		const double off = offs[i % 3];
		const v3d at = v3d_add(v3d_mad(on, off, way), v3d_scale(carom_rotate(frame.orientation, Z), 1e-6));
		carom_contact contacts[8];
		const int count = peer_collide(context, &ball, fixture_at(at.x, at.y, at.z), &triangle, frame, 0.5, contacts);
		CHECK_INT(count, off < 1);
		CHECK_INT(peer_overlap(context, &ball, fixture_at(at.x, at.y, at.z), &triangle, frame), off < 0.5);
		if (count == 1) {
			CHECK_NEAR(contacts[0].depth, 0.5 - off, 1e-4);
			peer_check_vector(fixture_normal(&contacts[0]), way, 1e-4);
		}
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
