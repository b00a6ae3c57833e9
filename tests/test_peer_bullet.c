// Situations of Bullet's test suite and of reports to it: github.com/bulletphysics/bullet3,
// test/collision/main.cpp, and the issues that each case names. The numbers are theirs, the code is
// ours.
#include "peer_fixture.h"

#include "carom/batch.h"

#include <math.h>
#include <string.h>

static carom_ray segment(carom_vec3 from, carom_vec3 to) { return (carom_ray){ from, v3d_sub(to, from), 0, 1 }; }

/// Where a segment meets a world of one body; -1: nowhere.
static double cast_segment(const carom_world *world, carom_vec3 from, carom_vec3 to, carom_ray_hit *hit)
{
	const carom_ray ray = segment(from, to);
	bool found;
	REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, hit) == CAROM_SUCCESS);
	return found ? hit->t : -1;
}

// test/collision/main.cpp, testSphereSphereDistance: GjkEpa, GjkMPR, analytic. Their errors are
// 1e-5 to 0.1. Concentric spheres, which it leaves out, are asked too.
TEST(peer_bullet, sphere_sphere_distance)
{
	carom_context *context = fixture_context(1);
	for (int rb = 1; rb < 5; rb++) {
		for (int at = 0; at < 400; at++) {
			const double z = at / 40 - 5, y = at % 10 - 5;
			const double radius_a = at / 10 % 4 + 1, radius_b = rb * 0.1;
			const carom_shape a = fixture_sphere(radius_a), b = fixture_sphere(radius_b);
			const carom_separation s = peer_distance(context, &a, fixture_at(0, y, 0), &b, fixture_at(0, z, 0));
			CHECK_NEAR(s.distance, fabs(y - z) - radius_a - radius_b, 1e-12);
			const v3d computed = v3d_mad(s.point_b, s.distance, s.normal);
			CHECK_NEAR(v3d_length(v3d_sub(computed, s.point_a)), 0, 1e-12);
			CHECK_NEAR(v3d_length(s.normal), 1, 1e-12);
		}
	}
	carom_destroy_context(context);
}

// #4464, btCollisionWorld::rayTest incredibly wrong: a segment through a box is missed; turned
// about it is met.
TEST(peer_bullet, a_segment_through_a_box)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_vec3 from = { -2.027535, 1.323740, -4.894639 }, to = { 2.506727, 1.292858, -2.102663 };
	carom_ray_hit hit;
	fixture_add(world, fixture_box(2.024, 2.024, 2.024), fixture_at(0, 2.024, -3), CAROM_STATIC);
	CHECK_NEAR(cast_segment(world, from, to, &hit), 0.003535 / 4.534262, 1e-9);
	CHECK_NEAR(hit.point.x, -2.024, 1e-12);
	CHECK_NEAR(hit.normal.x, -1, 0);
	CHECK_NEAR(cast_segment(world, to, from, &hit), 0.482727 / 4.534262, 1e-9);
	CHECK_NEAR(hit.point.x, 2.024, 1e-12);
	CHECK_NEAR(hit.normal.x, 1, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// #4286, ray hit is not detected inside an object: inside, from outside in (through an edge, at
// 0.5), from inside out.
TEST(peer_bullet, rays_that_begin_inside)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_vec3 middle = { 0, 0, 0 }, inside = { 1, 1, 0 }, outside = { 5, 5, 0 };
	carom_ray_hit hit;
	fixture_add(world, fixture_box(3, 3, 0.3), fixture_at(0, 0, -0.1), CAROM_STATIC);
	CHECK_NEAR(cast_segment(world, middle, inside, &hit), -1, 0);
	CHECK_NEAR(cast_segment(world, outside, inside, &hit), 0.5, 1e-15);
	CHECK(!hit.back_face);
	CHECK_NEAR(cast_segment(world, middle, outside, &hit), 0.6, 1e-15);
	CHECK(hit.back_face);
	CHECK_NEAR(v3d_length(v3d_sub(hit.point, (v3d){ 3, 3, 0 })), 0, 1e-14);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// #1947, rayTest() produces inaccurate results: a wall at z = 50 from x = -500 to 500 is met at
// 49.6. #2949: rays go through a convex shape and hit its far side.
TEST(peer_bullet, a_wide_wall)
{
	carom_context *context = fixture_context(1);
	const float corners[8][3] = { { -500, -500, 50 }, { 500, -500, 50 }, { -500, 500, 50 }, { 500, 500, 50 },
		{ -500, -500, 51 }, { 500, -500, 51 }, { -500, 500, 51 }, { 500, 500, 51 } };
	carom_mesh *hull = fixture_hull_mesh(context, corners[0], 8), *box = fixture_box_mesh(context, 500, 500, 0.5);
	const carom_shape walls[3] = { fixture_box(500, 500, 0.5), fixture_hull(hull), fixture_of_mesh(box) };
	for (int i = 0; i < 3; i++) {
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, walls[i], fixture_at(0, 0, i == 1 ? 0 : 50.5), CAROM_STATIC);
		for (int x = -499; x < 500; x++) {
			carom_ray_hit hit;
			CHECK_NEAR(cast_segment(world, (v3d){ x, 0, 0 }, (v3d){ x, -5, 100 }, &hit), 0.5, 1e-12);
			CHECK_NEAR(hit.point.z, 50, 1e-10);
			CHECK_NEAR(hit.normal.z, -1, 1e-12);
			CHECK(!hit.back_face);
		}
		carom_destroy_world(world);
	}
	carom_release_mesh(hull);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

// #2881, strange result of rayTest: a sphere of radius 0.03 is met at 0.45 of the segment, but not
// when both are lifted by 0.1.
TEST(peer_bullet, a_small_sphere_anywhere)
{
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 100; i++) {
		carom_world *world = fixture_world(context, NULL);
		const v3d at = { 0, 0, 0.1 * i };
		carom_ray_hit hit;
		fixture_add(world, fixture_sphere(0.03), fixture_at(at.x, at.y, at.z), CAROM_STATIC);
		CHECK_NEAR(cast_segment(world, v3d_add(at, (v3d){ -0.3, 0, 0 }), v3d_add(at, (v3d){ 0.3, 0, 0 }), &hit), 0.45, 1e-14);
		CHECK_NEAR(hit.point.x, -0.03, 1e-14);
		CHECK_NEAR(hit.normal.x, -1, 1e-14);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

// #2887, inconsistency between rayTest and rayTestBatch: 1024 rays of length 13 around (0, 0, 1), a
// body at (3, 3, 1).
TEST(peer_bullet, a_batch_of_rays_around_a_point)
{
	enum { RAYS = 1024 };
	static carom_ray rays[RAYS];
	static carom_ray_hit hits[RAYS];
	carom_context *context = fixture_context(2);
	carom_mesh *mesh = fixture_torus_mesh(context, 24, 16, 0.3, 0.2);
	const carom_shape shapes[4] = { fixture_sphere(0.03), fixture_sphere(0.5), fixture_box(0.05, 0.05, 0.05),
		fixture_of_mesh(mesh) };
	for (int k = 0; k < 4; k++) {
		carom_world *world = fixture_world(context, NULL);
		int count = 0;
		fixture_add(world, shapes[k], fixture_at(3, 3, 1), CAROM_STATIC);
		for (int i = 0; i < RAYS; i++) {
			const double angle = 2 * FIXTURE_PI * i / RAYS;
			rays[i] = segment((v3d){ 0, 0, 1 }, (v3d){ 13 * sin(angle), 13 * cos(angle), 1 });
		}
		REQUIRE(carom_world_cast_rays(world, &(carom_batch){ .count = RAYS }, rays, hits) == CAROM_SUCCESS);
		for (int i = 0; i < RAYS; i++) {
			bool found;
			carom_ray_hit hit = { .t = INFINITY }; // that of a miss in a batch
			REQUIRE(carom_world_cast_ray(world, &rays[i], NULL, &found, &hit) == CAROM_SUCCESS);
			CHECK(hits[i].body.index1 == hit.body.index1 && hits[i].t == hit.t && hits[i].normal.x == hit.normal.x);
			count += found;
		}
		// Half the angle of a ball is asin(r / d).
		if (k < 2)
			CHECK_NEAR(count, RAYS * asin(shapes[k].radius / sqrt(18)) / FIXTURE_PI, 1);
		CHECK(count > 0);
		carom_destroy_world(world);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// #596, convexSweepTest returns errant hitPointWorld: a ball that begins in the top of a turned
// box. It tells points 10 away from it.
TEST(peer_bullet, a_sphere_swept_against_a_turned_box)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape ball = fixture_sphere(0.45), box = fixture_box(19.919998, 0.92, 49.919998);
	carom_pose pose = { { 0, 0, 120 }, { -0.057141, 0.572179, 0.040011, 0.817157 } };
	const v3d from = { -27.449842, -2.994380, 109.886520 }, to = { -27.529308, -3.604819, 109.553276 };
	const carom_motion motion = carom_straight_motion(fixture_at(from.x, from.y, from.z), v3d_sub(to, from));
	fixture_add(world, box, pose, CAROM_STATIC);
	bool found;
	carom_shape_hit hit;
	REQUIRE(carom_world_cast_shape(world, &ball, &motion, 1e-4, NULL, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(hit.touching);
	CHECK_NEAR(hit.normal.x, -0.1308, 1e-4);
	CHECK_NEAR(hit.normal.y, 0.99027, 1e-4);
	// The point of the box that lies under the ball, as the smaller scene of the report has it.
	CHECK_NEAR(v3d_length(v3d_sub(hit.point, (v3d){ -27.425507, -3.178623, 109.895378 })), 0, 1e-3);
	CHECK_NEAR(hit.distance, v3d_length(v3d_sub(hit.point, from)) - 0.45, 1e-6);
	// From farther up it comes down on the same place.
	const v3d above = v3d_mad(from, 2, hit.normal), through = v3d_mad(from, -2, hit.normal);
	const carom_motion down = carom_straight_motion(fixture_at(above.x, above.y, above.z), v3d_sub(through, above));
	const v3d under = hit.point;
	REQUIRE(carom_world_cast_shape(world, &ball, &down, 1e-6, NULL, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(!hit.touching);
	CHECK_NEAR(v3d_length(v3d_sub(hit.point, under)), 0, 1e-4);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// #889, performing distance to point queries: 0.25 above the origin stands a sphere, a box or its
// hull; the point comes from 0.24 to 0.25. Bullet's normal turns over near the surface, and the
// distance jumps.
TEST(peer_bullet, a_point_that_comes_near)
{
	carom_context *context = fixture_context(1);
	const float corners[8][3] = { { -1, -1, -1 }, { 1, -1, -1 }, { -1, 1, -1 }, { 1, 1, -1 }, { -1, -1, 1 }, { 1, -1, 1 },
		{ -1, 1, 1 }, { 1, 1, 1 } };
	carom_mesh *hull = fixture_hull_mesh(context, corners[0], 8), *box = fixture_box_mesh(context, 1, 1, 1);
	const carom_shape shapes[4] = { fixture_sphere(1), fixture_box(1, 1, 1), fixture_hull(hull), fixture_of_mesh(box) };
	for (int k = 0; k < 4; k++) {
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, shapes[k], fixture_at(0, 0, 1.25), CAROM_STATIC);
		for (int i = 0; i <= 101; i++) {
			const double z = 0.24 + 0.0001 * i;
			bool found;
			carom_closest_point near;
			REQUIRE(carom_world_closest_point(world, (v3d){ 0, 0, z }, 1, NULL, &found, &near) == CAROM_SUCCESS && found);
			CHECK_NEAR(near.distance, 0.25 - z, 1e-12);
			CHECK_NEAR(near.normal.z, -1, 1e-12);
			CHECK_NEAR(near.point.z, 0.25, 1e-12);
		}
		carom_destroy_world(world);
	}
	carom_release_mesh(hull);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

static void check_normals(carom_context *context, const carom_shape *a, carom_pose at, const carom_shape *ground,
	carom_pose under, v3d up, double depth)
{
	carom_contact contacts[8];
	int32_t count;
	REQUIRE(carom_collide(context, a, &at, ground, &under, 0, 8, contacts, &count) == CAROM_SUCCESS);
	CHECK(count > 0);
	for (int32_t i = 0; i < count; i++) {
		CHECK_NEAR(v3d_length(v3d_sub(fixture_normal(&contacts[i]), up)), 0, 1e-5);
		CHECK_NEAR(contacts[i].depth, depth, 1e-5);
	}
}

// #288, improved edge collision filtering needed: a mesh box of 5, 1, 5 and a sphere of radius 3
// that falls from (-2, 9, 0). It bounces off the edge, half a unit beside it.
TEST(peer_bullet, a_large_sphere_beside_an_edge)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_box_mesh(context, 2.5, 0.5, 2.5);
	const carom_shape ball = fixture_sphere(3), box = fixture_of_mesh(mesh);
	for (int i = 1; i < 10; i++)
		check_normals(context, &ball, fixture_at(-2, 3.5 - 0.01 * i, 0), &box, fixture_at(0, 0, 0), (v3d){ 0, 1, 0 }, 0.01 * i);
	carom_toi toi;
	const carom_motion fall = carom_straight_motion(fixture_at(-2, 9, 0), (v3d){ 0, -10, 0 });
	REQUIRE(carom_time_of_impact(context, &ball, &fall, &box, NULL, 1e-5, &toi) == CAROM_SUCCESS);
	CHECK_INT(toi.status, CAROM_TOI_IMPACT);
	CHECK_NEAR(toi.time, 0.55, 2e-6);
	CHECK_NEAR(toi.separation.normal.y, 1, 1e-9);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// #676, incorrect normal in collision with a static triangle mesh: a puck, or a ball, on flat
// ground with normal (0, 1, 0) is told (0.2, 0.98, 0). Also #92, inner edges and spheres.
TEST(peer_bullet, a_puck_on_flat_ground)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 16, 16);
	const carom_shape ground = fixture_of_mesh(sheet), puck = fixture_cylinder(0.5, 0.1), ball = fixture_sphere(0.5);
	uint64_t seed = 2;
	for (int i = 0; i < 300; i++) {
		const double x = test_random_double(&seed, -6, 6), y = test_random_double(&seed, -6, 6);
		const double depth = test_random_double(&seed, 0.001, 0.02);
		// Also right over vertices and edges.
		const double px = i % 3 ? x : floor(x), py = i % 2 ? y : floor(y);
		check_normals(context, &puck, fixture_at(px, py, 0.1 - depth), &ground, fixture_at(0, 0, 0), (v3d){ 0, 0, 1 }, depth);
		check_normals(context, &ball, fixture_at(px, py, 0.5 - depth), &ground, fixture_at(0, 0, 0), (v3d){ 0, 0, 1 }, depth);
	}
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// #1703, error on box to box GJK: a box on one of half extents 128, 1, 128, without margins, is
// told a positive penetration (apart) where it sinks in. With 1, 1, 1 all is well.
TEST(peer_bullet, a_box_on_a_huge_one)
{
	carom_context *context = fixture_context(1);
	const carom_shape small = fixture_box(0.5, 1, 0.5), huge = fixture_box(128, 1, 128);
	uint64_t seed = 7;
	for (int i = 0; i < 500; i++) {
		const double x = test_random_double(&seed, -127, 127), z = test_random_double(&seed, -127, 127);
		const double depth = test_random_double(&seed, -0.05, 0.05);
		const carom_pose at = { { x, 2 - depth, z }, fixture_turn((v3d){ 0, 1, 0 }, 0.1 * i) };
		carom_separation s = peer_distance(context, &small, at, &huge, fixture_at(0, 0, 0));
		CHECK_NEAR(s.distance, -depth, 1e-7);
		CHECK(s.distance <= -depth + 1e-12 && -depth <= s.distance + s.error + 1e-12);
		CHECK_NEAR(s.normal.y, 1, 1e-3);
	}
	carom_destroy_context(context);
}

// #2646, contact normals persisting even after rotation: a box on a platform that turns under it.
TEST(peer_bullet, normals_turn_with_the_platform)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape platform = fixture_box(5, 5, 0.5), box = fixture_box(0.5, 0.5, 0.5);
	const carom_body_id under = fixture_add(world, platform, fixture_at(0, 0, 0), CAROM_KINEMATIC);
	const carom_body_id upon = fixture_add(world, box, fixture_at(0, 0, 1), CAROM_DYNAMIC);
	for (int i = 0; i < 60; i++) {
		const carom_quat turn = fixture_turn((v3d){ 0, 1, 0 }, 0.01 * i);
		const v3d up = carom_rotate(turn, (v3d){ 0, 0, 1 });
		const carom_pose below = { { 0, 0, 0 }, turn }, on = { v3d_scale(up, 0.999), turn };
		REQUIRE(carom_world_set_pose(world, under, &below) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_pose(world, upon, &on) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_contact_view contacts = carom_world_contacts(world);
		CHECK_INT(contacts.count, 4);
		for (int k = 0; k < contacts.count; k++) {
			const double side = v3d_dot(fixture_normal(&contacts.data[k]), up);
			CHECK_NEAR(fabs(side), 1, 1e-6);
			CHECK_NEAR(contacts.data[k].depth, 0.001, 1e-5);
		}
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// #1250, a sweep of a box from a place to itself does not tell the mesh that it stands in: from
// every side of it.
TEST(peer_bullet, a_sweep_that_goes_nowhere)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 4, 4);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape box = fixture_box(0.5, 0.5, 0.5);
	fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 0), CAROM_STATIC);
	for (int i = -4; i <= 4; i++) {
		const carom_pose at = { { 0.3, 0.2, 0.12 * i }, fixture_turn((v3d){ 1, 2, 3 }, i) };
		const carom_motion none = { at, at };
		carom_body_id body;
		int32_t count;
		bool found;
		carom_shape_hit hit;
		REQUIRE(carom_world_cast_shape(world, &box, &none, 1e-4, NULL, &found, &hit) == CAROM_SUCCESS);
		CHECK(found && hit.touching && hit.time == 0);
		REQUIRE(carom_world_overlap_shape(world, &box, &at, NULL, 1, &body, &count) == CAROM_SUCCESS);
		CHECK_INT(count, 1);
	}
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// #4673, btCompoundShape: only one of its children collides.
TEST(peer_bullet, children_of_a_compound)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_part parts[3];
	for (int i = 0; i < 3; i++)
		parts[i] = (carom_part){ fixture_box(1, 1, 1), fixture_at(2 * i - 2, 0, 0), 0 };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.parts = parts;
	def.part_count = 3;
	carom_body_id compound;
	REQUIRE(carom_world_add_body(world, &def, &compound) == CAROM_SUCCESS);
	const carom_body_id slider = fixture_add(world, fixture_box(0.4, 0.4, 0.4), fixture_at(0, 0, 9), CAROM_DYNAMIC);
	for (int i = -28; i < 28; i++) {
		const double x = 0.1 * i + 0.05;
		const carom_pose at = fixture_at(x, 0, 1.4 - 0.002);
		bool told[3] = { false, false, false };
		REQUIRE(carom_world_set_pose(world, slider, &at) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_contact_view contacts = carom_world_contacts(world);
		for (int k = 0; k < contacts.count; k++) {
			CHECK_NEAR(fabs(contacts.data[k].normal[2]), 1, 1e-6);
			CHECK_NEAR(contacts.data[k].depth, 0.002, 1e-5);
			told[contacts.data[k].shape_a] = true;
		}
		// Each child that lies well under the slider has contacts.
		for (int k = 0; k < 3; k++) {
			const double beside = fabs(x - (2 * k - 2));
			CHECK(beside > 1.4 || told[k]);
			CHECK(beside < 1.4 || !told[k]);
		}
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// #935, sphere against triangles broken, and #940, degenerate triangles: a mesh with triangles
// without an area tells neither a false contact nor a false way.
TEST(peer_bullet, triangles_without_an_area)
{
	carom_context *context = fixture_context(1);
	const float corners[6][3] = { { -2, -2, 0 }, { 2, -2, 0 }, { 2, 2, 0 }, { -2, 2, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };
	const int32_t triangles[6][3] = { { 0, 1, 4 }, { 1, 2, 4 }, { 2, 3, 4 }, { 3, 0, 4 }, { 4, 5, 4 }, { 0, 4, 5 } };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 6;
	def.triangles = triangles[0];
	def.triangle_count = 6;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	const carom_shape wheel = fixture_sphere(0.3), ground = fixture_of_mesh(mesh);
	for (int i = -30; i <= 30; i++)
		check_normals(
			context, &wheel, fixture_at(0.05 * i, 0.05 * i, 0.29), &ground, fixture_at(0, 0, 0), (v3d){ 0, 0, 1 }, 0.01);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// xexuxjy/bullet-xna #4, larger tri-mesh triangles can be walked through: a pyramid, and a box of
// half extents 0.2 anywhere on its faces.
TEST(peer_bullet, a_box_on_the_faces_of_a_pyramid)
{
	carom_context *context = fixture_context(1);
	static const float corners[10][3] = { { 1.78321f, 1.78321f, -1.783479f }, { 1.78321f, -1.78321f, -1.783479f },
		{ -1.78321f, -1.78321f, -1.783479f }, { -1.78321f, 1.78321f, -1.783479f }, { 0, 0, 1.783479f }, { 0, 0, 1.783479f },
		{ 0, 0, 1.783479f }, { 0, 0, 1.783479f }, { -1.78321f, -1.78321f, -1.783479f }, { 0, 0, 1.783479f } };
	static const int32_t triangles[6][3] = { { 0, 1, 2 }, { 3, 0, 2 }, { 4, 2, 1 }, { 5, 1, 0 }, { 6, 0, 3 }, { 7, 3, 8 } };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 10;
	def.triangles = triangles[0];
	def.triangle_count = 6;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	const carom_shape pyramid = fixture_of_mesh(mesh), box = fixture_box(0.2, 0.2, 0.2);
	const carom_pose turned = { { 0, 0, 0 }, fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI) };
	uint64_t seed = 6;
	for (int i = 0; i < 600; i++) {
		const int32_t *t = triangles[i % 6];
		double u = test_random_double(&seed, 0, 1), v = test_random_double(&seed, 0, 1);
		if (u + v > 1) {
			u = 1 - u;
			v = 1 - v;
		}
		const v3d a = v3d_from_floats(corners[t[0]]), b = v3d_from_floats(corners[t[1]]), c = v3d_from_floats(corners[t[2]]);
		const v3d on = v3d_add(a, v3d_add(v3d_scale(v3d_sub(b, a), u), v3d_scale(v3d_sub(c, a), v)));
		const v3d place = carom_rotate(turned.orientation, on);
		const carom_pose at = { place, fixture_turn((v3d){ 1, 1, 0 }, i) };
		carom_contact contacts[8];
		int32_t count;
		REQUIRE(carom_collide(context, &box, &at, &pyramid, &turned, 0, 8, contacts, &count) == CAROM_SUCCESS);
		CHECK(count > 0);
		CHECK(peer_distance(context, &box, at, &pyramid, turned).distance < -0.1);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// #4318, issues with the GImpact contact test: triangles that lie behind each other, each within
// the other's box, are told contacts though they do not touch. The first triangle is the report's;
// the second is the first, moved off along its normal.
TEST(peer_bullet, triangles_behind_each_other)
{
	carom_context *context = fixture_context(1);
	const float corners[3][3] = { { 0, 0, 0 }, { 1, 0, 1 }, { 1, 1, 1 } };
	const int32_t triangle[3] = { 0, 1, 2 };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 3;
	def.triangles = triangle;
	def.triangle_count = 1;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	const carom_shape shape = fixture_of_mesh(mesh);
	for (int i = -5; i <= 5; i++) {
		const double off = 0.05 * i;
		const carom_pose at = fixture_at(-off * sqrt(0.5), 0, off * sqrt(0.5));
		int32_t pairs, count;
		REQUIRE(carom_mesh_intersections(mesh, &at, mesh, NULL, 0, NULL, &pairs) == CAROM_SUCCESS);
		REQUIRE(carom_collide(context, &shape, &at, &shape, NULL, 0, 0, NULL, &count) == CAROM_SUCCESS);
		CHECK_INT(pairs > 0, i == 0);
		CHECK(i == 0 || count == 0);
		CHECK_NEAR(peer_distance(context, &shape, at, &shape, fixture_at(0, 0, 0)).distance, fabs(off), 1e-7);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
