/// What hits of queries tell of a body and a triangle.
#include "fixture.h"

#include <math.h>

enum { GRASS = 7, ROCK = 4000000000U };

/// A cube of which one side is of rock.
static carom_mesh *make_cube(carom_context *context, uint32_t materials[12])
{
	static fixture_soup soup;
	soup = (fixture_soup){ .vertex_count = 0 };
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 0.5, 0.5, 0.5);
	REQUIRE(soup.triangle_count == 12);
	for (int i = 0; i < 12; i++) {
		bool is_right = true;
		for (int k = 0; k < 3; k++)
			is_right = is_right && soup.vertices[3 * soup.triangles[3 * i + k]] > 0;
		materials[i] = is_right ? ROCK : GRASS;
	}
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	def.vertices = (carom_strided){ .data = soup.vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = soup.vertex_count;
	def.triangles = soup.triangles;
	def.triangle_count = soup.triangle_count;
	def.materials = materials;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

TEST(query_hits, tell_the_material_and_the_user_data)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	uint32_t materials[12];
	carom_mesh *cube = make_cube(context, materials);
	carom_body_def def = carom_default_body_def();
	carom_body_id id, ball;
	const carom_part parts[2] = { { .shape = fixture_sphere(0.5), .pose = fixture_at(0, 0, 2) },
		{ .shape = fixture_of_mesh(cube), .pose = fixture_at(0, 0, 0) } };
	def.parts = parts;
	def.part_count = 2;
	def.user_data = 1ULL << 40;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	def = carom_default_body_def();
	def.shape = fixture_sphere(0.5);
	def.user_data = 5;
	def.pose = fixture_at(0, 9, 0);
	REQUIRE(carom_world_add_body(world, &def, &ball) == CAROM_SUCCESS);
	for (int side = 0; side < 2; side++) {
		const double out = side ? 1 : -1;
		const uint32_t expected = side ? ROCK : GRASS;
		const carom_ray ray = { { 3 * out, 0.1, 0.2 }, { -out, 0, 0 }, 0, 9 };
		carom_ray_hit hit, alone;
		carom_closest_point point;
		bool found;
		REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
		CHECK(found && hit.material == expected && hit.user_data == 1ULL << 40 && hit.shape == 1);
		REQUIRE(carom_world_closest_point(world, ray.origin, INFINITY, NULL, &found, &point) == CAROM_SUCCESS);
		CHECK(found && point.material == expected && point.user_data == 1ULL << 40 && point.shape == 1);
		REQUIRE(carom_shape_cast_ray(context, &parts[1].shape, NULL, &ray, &found, &alone) == CAROM_SUCCESS);
		CHECK(found && alone.material == expected && alone.user_data == 0);
		REQUIRE(
			carom_shape_closest_point(context, &parts[1].shape, NULL, ray.origin, INFINITY, &found, &point) == CAROM_SUCCESS);
		CHECK(found && point.material == expected && point.user_data == 0);
		// The cube itself, cast from the side: its own side that leads is the other one.
		const carom_motion motion = carom_straight_motion(fixture_at(3 * out, 0.1, 0.2), (carom_vec3){ -4 * out, 0, 0 });
		carom_shape_hit met;
		REQUIRE(carom_world_cast_shape(world, &parts[1].shape, &motion, 1e-3, NULL, &found, &met) == CAROM_SUCCESS);
		CHECK(found && met.material == expected && met.user_data == 1ULL << 40 && met.shape == 1);
		CHECK_INT((int)met.own_material, (int)(side ? GRASS : ROCK));
	}
	const carom_ray up = { { 0, 0, 9 }, { 0, 0, -1 }, 0, 9 };
	carom_ray_hit hit;
	carom_closest_body near;
	carom_closest_pair pair;
	bool found;
	REQUIRE(carom_world_cast_ray(world, &up, NULL, &found, &hit) == CAROM_SUCCESS);
	CHECK(found && hit.material == 0 && hit.shape == 0 && hit.user_data == 1ULL << 40);
	const carom_pose beside = fixture_at(0, 7, 0);
	REQUIRE(carom_world_closest_body(world, &def.shape, &beside, INFINITY, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(found && near.user_data == 5);
	REQUIRE(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair) == CAROM_SUCCESS);
	CHECK(found && pair.user_data_a == 1ULL << 40 && pair.user_data_b == 5);
	carom_release_mesh(cube);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
