// The calls of carom/collide.h: known answers, agreement with the library's other ways to ask, far places, misuse.
#include "fixture.h"

#include "carom/collide.h"
#include "carom/carom.h"

#include <string.h>

static carom_mesh *random_hull(carom_context *context, uint64_t *seed, int32_t count)
{
	float points[3 * 200];
	for (int32_t i = 0; i < 3 * count; i++)
		points[i] = (float)test_random_double(seed, -1, 1);
	return fixture_hull_mesh(context, points, count);
}

static carom_separation distance_of(carom_context *context, carom_shape a, carom_pose pa, carom_shape b, carom_pose pb)
{
	carom_separation s;
	REQUIRE(carom_distance(context, &a, &pa, &b, &pb, &s) == CAROM_SUCCESS);
	return s;
}

TEST(collide, hulls_are_closed_convex_meshes)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 1;
	for (int round = 0; round < 20; round++) {
		carom_mesh *mesh = random_hull(context, &seed, 4 + round * 9);
		const carom_mesh_report *report = carom_mesh_get_report(mesh);
		CHECK(report->closed);
		CHECK(!report->inverted);
		CHECK_INT(report->euler, 2);
		CHECK_INT(report->nonmanifold_vertices, 0);
		carom_mass mass;
		CHECK_INT(carom_mesh_get_mass(mesh, &mass), CAROM_SUCCESS);
		bool inside;
		CHECK_INT(carom_mesh_contains(mesh, mass.centre, &inside), CAROM_SUCCESS);
		CHECK(inside);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

// Points become floats first. gcc 12 left that out for the last points, where their number is no multiple of four.
TEST(collide, hulls_of_doubles_are_those_of_their_floats)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 2;
	for (int32_t count = 4; count <= 40; count++) {
		double doubles[3 * 40];
		float floats[3 * 40];
		for (int32_t i = 0; i < 3 * count; i++) {
			doubles[i] = test_random_double(&seed, -1, 1);
			floats[i] = (float)doubles[i];
		}
		const carom_strided given = { doubles, 0, CAROM_FLOAT64 };
		carom_mesh *wide = NULL, *narrow = fixture_hull_mesh(context, floats, count);
		REQUIRE(carom_create_hull(context, &given, count, &wide) == CAROM_SUCCESS);
		for (int round = 0; round < 40; round++) {
			const carom_pose far = fixture_random_pose(&seed, 4), near = carom_pose_identity();
			const carom_shape ball = fixture_sphere(0.1);
			CHECK(distance_of(context, fixture_hull(wide), near, ball, far).distance ==
				distance_of(context, fixture_hull(narrow), near, ball, far).distance);
		}
		carom_release_mesh(wide);
		carom_release_mesh(narrow);
	}
	carom_destroy_context(context);
}

// A hull is a mesh too: both ways to measure must agree where the bodies are apart.
TEST(collide, distances_of_hulls_are_those_of_their_meshes)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 2;
	int apart = 0;
	for (int round = 0; round < 200; round++) {
		carom_mesh *a = random_hull(context, &seed, 5 + (int32_t)(test_random(&seed) % 60)),
				   *b = random_hull(context, &seed, 5 + (int32_t)(test_random(&seed) % 60));
		const carom_pose pa = fixture_random_pose(&seed, 2), pb = fixture_random_pose(&seed, 2);
		const carom_separation s = distance_of(context, fixture_hull(a), pa, fixture_hull(b), pb);
		carom_mesh_gap gap;
		bool found;
		REQUIRE(carom_mesh_distance(a, &pa, b, &pb, INFINITY, &found, &gap) == CAROM_SUCCESS);
		CHECK(found);
		const bool overlap = gap.distance == 0 || gap.a_inside_b || gap.b_inside_a;
		CHECK(overlap ? s.distance <= 1e-9 : s.distance > 0);
		if (!overlap) {
			CHECK_NEAR(s.distance, gap.distance, 1e-7);
			apart++;
		}
		carom_release_mesh(a);
		carom_release_mesh(b);
	}
	CHECK(apart > 80);
	carom_destroy_context(context);
}

// Closed forms that worlds use, and the convex calls: the same gaps and depths.
TEST(collide, spheres_boxes_and_capsules_as_in_a_world)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 3;
	int contacts_seen = 0;
	for (int round = 0; round < 300; round++) {
		carom_shape shapes[2];
		for (int i = 0; i < 2; i++) {
			const double x = test_random_double(&seed, 0.2, 1), y = test_random_double(&seed, 0.2, 1);
			const uint64_t kind = test_random(&seed) % 3;
			shapes[i] = kind == 0 ? fixture_sphere(x) : kind == 1 ? fixture_box(x, y, 0.5) : fixture_capsule(0.5 * x, y);
		}
		const carom_pose pa = fixture_random_pose(&seed, 0.8), pb = fixture_random_pose(&seed, 0.8);
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, shapes[0], pa, CAROM_DYNAMIC);
		fixture_add(world, shapes[1], pb, CAROM_DYNAMIC);
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		const carom_separation s = distance_of(context, shapes[0], pa, shapes[1], pb);
		carom_manifold m;
		CHECK_INT(carom_collide_convex(context, &shapes[0], &pa, &shapes[1], &pb, 0, &m), CAROM_SUCCESS);
		CHECK_INT(m.count > 0, s.distance <= 0);
		if (fabs(s.distance) > 1e-6)
			CHECK_INT(view.count > 0, s.distance < 0);
		double deepest = 0;
		for (int i = 0; i < view.count; i++)
			deepest = fmax(deepest, (double)view.data[i].depth);
		// Deep pairs of boxes and capsules: the world's closed forms may know a longer way out only.
		if (view.count > 0) {
			CHECK(-s.distance <= deepest + 1e-5);
			contacts_seen++;
		}
		carom_destroy_world(world);
	}
	CHECK(contacts_seen > 100);
	carom_destroy_context(context);
}

TEST(collide, a_cylinder_on_a_plane_and_on_a_box)
{
	carom_context *context = fixture_context(1);
	const carom_shape wheel = fixture_cylinder(1, 0.25), ground = { .type = CAROM_PLANE }, slab = fixture_box(5, 5, 1);
	const carom_pose standing = fixture_at(3, 4, 0.249), floor = fixture_at(-7, 2, 0), top = fixture_at(0, 0, -1);
	carom_manifold m;
	CHECK_INT(carom_collide_convex(context, &wheel, &standing, &ground, &floor, 0, &m), CAROM_SUCCESS);
	CHECK_INT(m.count, CAROM_MAX_MANIFOLD);
	for (int i = 0; i < m.count; i++) {
		CHECK_NEAR(m.points[i].depth, 1e-3, 1e-12);
		CHECK_NEAR(m.points[i].point.z, -1e-3, 1e-12);
	}
	CHECK_NEAR(m.normal.z, 1, 1e-12);
	// The other way about: the normal turns round, and points lie on the plane, which is A now.
	CHECK_INT(carom_collide_convex(context, &ground, &floor, &wheel, &standing, 0, &m), CAROM_SUCCESS);
	CHECK_INT(m.count, CAROM_MAX_MANIFOLD);
	CHECK_NEAR(m.normal.z, -1, 1e-12);
	CHECK_NEAR(m.points[0].point.z, 0, 1e-12);
	// Lying: the two ends of its side.
	const carom_pose lying = { { 3, 4, 0.99 }, fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2) };
	CHECK_INT(carom_collide_convex(context, &wheel, &lying, &ground, &floor, 0, &m), CAROM_SUCCESS);
	CHECK_INT(m.count, 2);
	CHECK_NEAR(fabs(m.points[0].point.y - m.points[1].point.y), 0.5, 1e-9);
	CHECK_INT(carom_collide_convex(context, &wheel, &lying, &slab, &top, 0, &m), CAROM_SUCCESS);
	CHECK_INT(m.count, 2);
	CHECK_NEAR(m.points[0].depth, 0.01, 1e-9);
	// Speculative: above by less than the margin.
	const carom_pose above = fixture_at(0, 0, 0.3);
	CHECK_INT(carom_collide_convex(context, &wheel, &above, &slab, &top, 0.1, &m), CAROM_SUCCESS);
	CHECK(m.count >= 4);
	CHECK_NEAR(m.points[0].depth, -0.05, 1e-9);
	CHECK_INT(carom_collide_convex(context, &wheel, &above, &slab, &top, 0.01, &m), CAROM_SUCCESS);
	CHECK_INT(m.count, 0);
	carom_destroy_context(context);
}

TEST(collide, planes)
{
	carom_context *context = fixture_context(1);
	const carom_shape ground = { .type = CAROM_PLANE }, egg = fixture_ellipsoid(1, 2, 3), hat = fixture_cone(1, 2);
	const carom_pose tilted = { { 10, 20, 30 }, fixture_turn((v3d){ 1, 2, 3 }, 1) };
	const v3d up = carom_rotate(tilted.orientation, (v3d){ 0, 0, 1 });
	for (int i = 0; i < 2; i++) {
		// Upright to the plane, half a metre above it.
		carom_pose pose = tilted;
		pose.position = v3d_mad(tilted.position, (i == 0 ? 3 : 2) + 0.5, up);
		carom_separation s = distance_of(context, i == 0 ? egg : hat, pose, ground, tilted);
		CHECK_NEAR(s.distance, 0.5, 1e-9);
		CHECK_NEAR(v3d_length(v3d_sub(s.normal, up)), 0, 1e-9);
		s = distance_of(context, ground, tilted, i == 0 ? egg : hat, pose);
		CHECK_NEAR(s.distance, 0.5, 1e-9);
		CHECK_NEAR(v3d_length(v3d_add(s.normal, up)), 0, 1e-9);
		CHECK_NEAR(v3d_length(v3d_sub(s.point_a, s.point_b)), 0.5, 1e-9);
	}
	carom_destroy_context(context);
}

TEST(collide, rounding_moves_the_surface_by_as_much)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 4;
	carom_mesh *mesh = random_hull(context, &seed, 30);
	for (int round = 0; round < 100; round++) {
		carom_shape shapes[5] = { fixture_box(0.5, 0.4, 0.3), fixture_hull(mesh), fixture_cylinder(0.5, 0.3),
			fixture_cone(0.4, 0.5), fixture_ellipsoid(0.5, 0.3, 0.7) };
		carom_shape a = shapes[round % 5], b = shapes[(round / 5) % 5];
		const carom_pose pa = fixture_random_pose(&seed, 1), pb = fixture_random_pose(&seed, 1);
		const double plain = distance_of(context, a, pa, b, pb).distance;
		a.rounding = 0.125;
		b.rounding = 0.25;
		const carom_separation rounded = distance_of(context, a, pa, b, pb);
		CHECK_NEAR(rounded.distance, plain - 0.375, 1e-7 + rounded.error);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(collide, far_places_lose_nothing)
{
	carom_context *context = fixture_context(1);
	const carom_shape wheel = fixture_cylinder(1, 0.5), box = fixture_box(1, 1, 1);
	const carom_pose near_a = fixture_at(0, 0, 2), near_b = fixture_at(0.5, 0, 0), far_a = fixture_at(1e9, -1e9, 2),
					 far_b = fixture_at(1e9 + 0.5, -1e9, 0);
	const carom_separation near = distance_of(context, wheel, near_a, box, near_b),
						   far = distance_of(context, wheel, far_a, box, far_b);
	CHECK_NEAR(far.distance, near.distance, 0);
	CHECK_NEAR(near.distance, 0.5, 1e-9);
	carom_destroy_context(context);
}

TEST(collide, time_of_impact)
{
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(0.5), wall = fixture_box(0.01, 5, 5), rod = fixture_box(2, 0.05, 0.05);
	carom_toi toi;
	// A bullet through a thin wall: it goes from -10 to 10 in a step.
	const carom_motion fast = { fixture_at(-10, 0, 0), fixture_at(10, 0, 0) };
	CHECK_INT(carom_time_of_impact(context, &ball, &fast, &wall, NULL, 1e-3, &toi), CAROM_SUCCESS);
	CHECK_INT(toi.status, CAROM_TOI_IMPACT);
	CHECK(toi.time <= (10 - 0.51) / 20);
	CHECK_NEAR(toi.time, (10 - 0.51) / 20, 1e-3 / 20 + 1e-9);
	CHECK_NEAR(toi.separation.normal.x, -1, 1e-9);
	CHECK_NEAR(toi.separation.point_b.x, -0.01, 1e-9);
	// The same a million metres away.
	const carom_motion far = { fixture_at(1e6 - 10, 7, 0), fixture_at(1e6 + 10, 7, 0) };
	const carom_motion still = { fixture_at(1e6, 7, 0), fixture_at(1e6, 7, 0) };
	carom_toi there;
	CHECK_INT(carom_time_of_impact(context, &ball, &far, &wall, &still, 1e-3, &there), CAROM_SUCCESS);
	CHECK_NEAR(there.time, toi.time, 1e-12);
	CHECK_NEAR(there.separation.point_b.x, 1e6 - 0.01, 1e-9);
	// A rod that turns by half a turn where it is: its end meets what neither its begin nor its end pose touches.
	const carom_motion turn = { carom_pose_identity(), { { 0, 0, 0 }, fixture_turn((v3d){ 0, 0, 1 }, 3.1) } };
	const carom_motion beside = { fixture_at(0, 2.2, 0), fixture_at(0, 2.2, 0) };
	CHECK_INT(carom_time_of_impact(context, &rod, &turn, &ball, &beside, 1e-3, &toi), CAROM_SUCCESS);
	CHECK_INT(toi.status, CAROM_TOI_IMPACT);
	CHECK(toi.time > 0.3 && toi.time < 0.52);
	const carom_pose then = carom_motion_pose(&turn, toi.time);
	CHECK_NEAR(distance_of(context, rod, then, ball, beside.begin).distance, toi.separation.distance, 1e-9);
	// Apart, and touching from the first.
	const carom_motion away = { fixture_at(0, 3, 0), fixture_at(0, 9, 0) };
	CHECK_INT(carom_time_of_impact(context, &ball, &away, &rod, NULL, 1e-3, &toi), CAROM_SUCCESS);
	CHECK_INT(toi.status, CAROM_TOI_APART);
	CHECK_NEAR(toi.time, 1, 0);
	CHECK_INT(carom_time_of_impact(context, &ball, NULL, &rod, NULL, 1e-3, &toi), CAROM_SUCCESS);
	CHECK_INT(toi.status, CAROM_TOI_TOUCHING);
	CHECK_NEAR(toi.time, 0, 0);
	carom_destroy_context(context);
}

TEST(collide, misuse_of_shapes)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_box_mesh(context, 1, 1, 1);
	const carom_shape ball = fixture_sphere(1), plane = { .type = CAROM_PLANE };
	carom_shape bad = ball;
	carom_separation s;
	carom_manifold m;
	CHECK_INT(carom_distance(NULL, &ball, NULL, &ball, NULL, &s), CAROM_INVALID_ARGUMENT);
	fixture_expect_error(
		context, carom_distance(context, &ball, NULL, &ball, NULL, NULL), CAROM_INVALID_ARGUMENT, "separation is NULL");
	fixture_expect_error(
		context, carom_distance(context, NULL, NULL, &ball, NULL, &s), CAROM_INVALID_ARGUMENT, "carom_distance: a is NULL");
	bad = fixture_of_mesh(mesh);
	fixture_expect_error(context, carom_collide_convex(context, &ball, NULL, &bad, NULL, 0, &m), CAROM_UNSUPPORTED,
		"CAROM_MESH, which need not be convex; carom_collide takes it");
	fixture_expect_error(
		context, carom_distance(context, &bad, NULL, NULL, NULL, &s), CAROM_INVALID_ARGUMENT, "carom_distance: b is NULL");
	fixture_expect_error(context, carom_distance(context, &bad, NULL, &ball, &(carom_pose){ { NAN, 0, 0 }, { 0, 0, 0, 1 } }, &s),
		CAROM_INVALID_ARGUMENT, "pose_b");
	fixture_expect_error(context,
		carom_distance(context, &bad, NULL, &(carom_shape){ .type = CAROM_SPHERE, .radius = -1 }, NULL, &s),
		CAROM_INVALID_ARGUMENT, "carom_distance: b: shape.radius is -1");
	fixture_expect_error(context, carom_distance(context, &(carom_shape){ .type = CAROM_MESH }, NULL, &ball, NULL, &s),
		CAROM_INVALID_ARGUMENT, "mesh");
	bad.type = CAROM_HULL;
	fixture_expect_error(context, carom_distance(context, &ball, NULL, &bad, NULL, &s), CAROM_INVALID_ARGUMENT, "is no hull");
	bad = fixture_cone(1, 0);
	fixture_expect_error(
		context, carom_distance(context, &bad, NULL, &ball, NULL, &s), CAROM_INVALID_ARGUMENT, "shape.half_length is 0");
	bad = fixture_ellipsoid(1, -1, 1);
	fixture_expect_error(context, carom_collide_convex(context, &bad, NULL, &ball, NULL, 0, &m), CAROM_INVALID_ARGUMENT,
		"half_extents[1] is -1");
	bad = fixture_cylinder(1, 1);
	bad.rounding = -0.5;
	fixture_expect_error(context, carom_collide_convex(context, &bad, NULL, &ball, NULL, 0, &m), CAROM_INVALID_ARGUMENT,
		"shape.rounding is -0.5");
	fixture_expect_error(
		context, carom_collide_convex(context, &ball, NULL, &ball, NULL, NAN, &m), CAROM_INVALID_ARGUMENT, "margin is nan");
	fixture_expect_error(context, carom_distance(context, &plane, NULL, &plane, NULL, &s), CAROM_UNSUPPORTED, "two planes");
	bad.type = (carom_shape_type)77;
	fixture_expect_error(
		context, carom_distance(context, &bad, NULL, &ball, NULL, &s), CAROM_INVALID_ARGUMENT, "shape.type is 77");
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(collide, misuse_of_motions_and_hulls)
{
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(1), plane = { .type = CAROM_PLANE };
	carom_toi toi;
	CHECK_INT(carom_time_of_impact(NULL, &ball, NULL, &ball, NULL, 1, &toi), CAROM_INVALID_ARGUMENT);
	fixture_expect_error(
		context, carom_time_of_impact(context, &ball, NULL, &ball, NULL, 1, NULL), CAROM_INVALID_ARGUMENT, "toi is NULL");
	fixture_expect_error(
		context, carom_time_of_impact(context, &ball, NULL, &ball, NULL, 0, &toi), CAROM_INVALID_ARGUMENT, "tolerance is 0");
	fixture_expect_error(
		context, carom_time_of_impact(context, &plane, NULL, &plane, NULL, 1, &toi), CAROM_UNSUPPORTED, "two planes");
	carom_motion bad = { carom_pose_identity(), { { NAN, 0, 0 }, { 0, 0, 0, 1 } } };
	fixture_expect_error(context, carom_time_of_impact(context, &ball, NULL, &ball, &bad, 1, &toi), CAROM_INVALID_ARGUMENT,
		"motion_b.end.position");
	bad.end = (carom_pose){ { 0, 0, 0 }, { 0, 0, 0, 2 } };
	fixture_expect_error(context, carom_time_of_impact(context, &ball, &bad, &ball, NULL, 1, &toi), CAROM_INVALID_ARGUMENT,
		"motion_a.end.orientation");
	carom_mesh *mesh;
	float points[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0 };
	carom_strided view = { points, 0, CAROM_FLOAT32 };
	fixture_expect_error(context, carom_create_hull(context, &view, 4, &mesh), CAROM_INVALID_MESH, "lie in one plane");
	CHECK(mesh == NULL);
	fixture_expect_error(context, carom_create_hull(context, &view, 3, &mesh), CAROM_INVALID_ARGUMENT, "count is 3");
	fixture_expect_error(context, carom_create_hull(context, NULL, 4, &mesh), CAROM_INVALID_ARGUMENT, "points is NULL");
	points[5] = NAN;
	fixture_expect_error(context, carom_create_hull(context, &view, 4, &mesh), CAROM_INVALID_ARGUMENT, "vertex 1");
	points[5] = 1;
	CHECK_INT(carom_create_hull(context, &view, 4, &mesh), CAROM_SUCCESS);
	// Worlds take the mesh of a hull, and hulls, and refuse what is out of range.
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = fixture_hull(mesh);
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_SUCCESS);
	def.shape = fixture_box(1, 1, 1);
	def.shape.rounding = -0.1;
	fixture_expect_error(context, carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT, "shape.rounding is -0.1");
	def.shape = fixture_of_mesh(mesh);
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_SUCCESS);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
