#include "peer_fixture.h"

#include <math.h>
#include <stdio.h>

void peer_check_vector(carom_vec3 actual, carom_vec3 expected, double tolerance)
{
	CHECK_NEAR(actual.x, expected.x, tolerance);
	CHECK_NEAR(actual.y, expected.y, tolerance);
	CHECK_NEAR(actual.z, expected.z, tolerance);
}

static v3d vector_of(const double v[3]) { return (v3d){ v[0], v[1], v[2] }; }

/// Checks one case in a frame, A against B or B against A.
static void check_in_frame(carom_context *context, const peer_case *p, carom_pose frame, bool swapped)
{
	const carom_pose a = fixture_compose(frame, p->pose_a), b = fixture_compose(frame, p->pose_b);
	const carom_separation s = swapped ? peer_distance(context, &p->b, b, &p->a, a) : peer_distance(context, &p->a, a, &p->b, b);
	CHECK_NEAR(s.distance, p->distance, PEER_TOLERANCE);
	if (p->normal) {
		const v3d normal = carom_rotate(frame.orientation, vector_of(p->normal));
		peer_check_vector(s.normal, v3d_scale(normal, swapped ? -1 : 1), PEER_TOLERANCE);
	}
	if (p->point_a)
		peer_check_vector(swapped ? s.point_b : s.point_a, carom_transform_point(frame, vector_of(p->point_a)), PEER_TOLERANCE);
	if (p->point_b)
		peer_check_vector(swapped ? s.point_a : s.point_b, carom_transform_point(frame, vector_of(p->point_b)), PEER_TOLERANCE);
}

void peer_check_cases(const peer_case *cases, size_t count)
{
	carom_context *context = fixture_context(1);
	// The second frame is that of distance_box_box_3 in hpp-fcl's test/box_box_distance.cpp.
	const carom_pose frames[] = { AT(0, 0, 0),
		{ { 4, 5, 6 }, { -0.718287018243, 0.310622451066, 0.444435113443, 0.435952844074 } }, AT(-1000, 2000, 3000) };
	for (size_t i = 0; i < count; i++) {
		const int before = test_failures();
		for (int k = 0; k < 6; k++)
			check_in_frame(context, &cases[i], frames[k / 2], k % 2);
		if (test_failures() > before)
			printf("peer case: %s\n", cases[i].name);
	}
	carom_destroy_context(context);
}

carom_pose peer_between(v3d from, v3d to)
{
	const v3d way = v3d_normalize(v3d_sub(to, from)), z = { 0, 0, 1 };
	v3d axis = v3d_cross(z, way);
	if (v3d_length(axis) < 1e-12)
		axis = (v3d){ 1, 0, 0 };
	return (carom_pose){ v3d_scale(v3d_add(from, to), 0.5), fixture_turn(axis, atan2(v3d_length(v3d_cross(z, way)), way.z)) };
}

carom_pose peer_turned(v3d axis, double angle, v3d place) { return (carom_pose){ place, fixture_turn(axis, angle) }; }

carom_mesh *peer_mesh(carom_context *context, const float *vertices, int32_t vertex_count, const int32_t *triangles,
	int32_t triangle_count, carom_mesh_sides sides, const uint32_t *materials)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	def.sides = sides;
	def.materials = materials;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

carom_mesh *peer_triangle(carom_context *context, v3d a, v3d b, v3d c, carom_mesh_sides sides)
{
	const float corners[9] = { (float)a.x, (float)a.y, (float)a.z, (float)b.x, (float)b.y, (float)b.z, (float)c.x, (float)c.y,
		(float)c.z };
	static const int32_t triangle[3] = { 0, 1, 2 };
	return peer_mesh(context, corners, 3, triangle, 1, sides, NULL);
}

carom_mesh *peer_box_hull(carom_context *context, v3d low, v3d high)
{
	float corners[24];
	for (int i = 0; i < 24; i++)
		corners[i] = (float)v3d_get(i / 3 >> i % 3 & 1 ? high : low, i % 3);
	return fixture_hull_mesh(context, corners, 8);
}

carom_separation peer_distance(
	carom_context *context, const carom_shape *a, carom_pose pose_a, const carom_shape *b, carom_pose pose_b)
{
	carom_separation s;
	REQUIRE(carom_distance(context, a, &pose_a, b, &pose_b, &s) == CAROM_SUCCESS);
	return s;
}

bool peer_overlap(carom_context *context, const carom_shape *a, carom_pose pose_a, const carom_shape *b, carom_pose pose_b)
{
	bool overlap;
	REQUIRE(carom_overlap(context, a, &pose_a, b, &pose_b, &overlap) == CAROM_SUCCESS);
	return overlap;
}

int32_t peer_collide(carom_context *context, const carom_shape *a, carom_pose pose_a, const carom_shape *b, carom_pose pose_b,
	double margin, carom_contact contacts[8])
{
	int32_t count;
	REQUIRE(carom_collide(context, a, &pose_a, b, &pose_b, margin, 8, contacts, &count) == CAROM_SUCCESS);
	return count;
}

carom_toi peer_impact(carom_context *context, const carom_shape *a, carom_pose from, v3d way, const carom_shape *b,
	carom_pose pose_b, double tolerance)
{
	const carom_motion motion = carom_straight_motion(from, way), rest = { pose_b, pose_b };
	carom_toi toi;
	REQUIRE(carom_time_of_impact(context, a, &motion, b, &rest, tolerance, &toi) == CAROM_SUCCESS);
	return toi;
}

carom_world *peer_world(carom_context *context, carom_shape shape, carom_pose pose)
{
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, shape, pose, CAROM_STATIC);
	return world;
}

carom_body_id peer_add_parts(carom_world *world, const carom_part *parts, int32_t count, carom_pose pose, carom_body_kind kind)
{
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = count;
	def.pose = pose;
	def.kind = kind;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

double peer_cast_ray(const carom_world *world, v3d from, v3d way, carom_ray_hit *hit)
{
	const carom_ray ray = { from, way, 0, 1 };
	bool found;
	REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, hit) == CAROM_SUCCESS);
	return found ? hit->t : -1;
}

carom_shape_hit peer_cast_shape(const carom_world *world, carom_shape shape, carom_pose from, v3d way, double tolerance)
{
	const carom_motion motion = carom_straight_motion(from, way);
	carom_shape_hit hit;
	bool found;
	REQUIRE(carom_world_cast_shape(world, &shape, &motion, tolerance, NULL, &found, &hit) == CAROM_SUCCESS && found);
	return hit;
}
