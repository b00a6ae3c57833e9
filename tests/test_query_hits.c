/// What hits of queries tell of a body and a triangle, and rays that pass back faces.
#include "fixture.h"

#include <math.h>
#include <string.h>

enum { SHAPES = 12, ROOM = 512 };

typedef struct scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *torus, *sheet, *field, *hull;
	carom_shape shape[SHAPES];
} scene;

static carom_mesh *make_field(carom_context *context)
{
	float heights[36];
	carom_mesh *mesh;
	for (int i = 0; i < 36; i++)
		heights[i] = 0.2F * (float)((i * 7) % 5);
	heights[14] = NAN;
	const double spacing[2] = { 0.3, 0.3 };
	REQUIRE(carom_create_height_field(context, 6, 6, heights, spacing, 0.5, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static scene open_scene(void)
{
	static const float corners[15] = { -0.3F, -0.3F, -0.2F, 0.3F, -0.3F, -0.2F, 0.3F, 0.3F, -0.2F, -0.3F, 0.3F, -0.2F, 0, 0,
		0.4F };
	scene s = { .context = fixture_context(1) };
	s.world = fixture_world(s.context, NULL);
	s.torus = fixture_torus_mesh(s.context, 16, 8, 0.3, 0.1);
	s.sheet = fixture_sheet_mesh(s.context, 4, 1.5);
	s.field = make_field(s.context);
	s.hull = fixture_hull_mesh(s.context, corners, 5);
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.4), fixture_box(0.3, 0.4, 0.5), fixture_capsule(0.2, 0.4),
		fixture_cylinder(0.3, 0.3), fixture_cone(0.4, 0.3), fixture_ellipsoid(0.5, 0.3, 0.2), fixture_hull(s.hull),
		fixture_box(0.4, 0.2, 0.3), fixture_of_mesh(s.torus), fixture_of_mesh(s.field), fixture_of_mesh(s.sheet),
		{ .type = CAROM_PLANE } };
	memcpy(s.shape, shapes, sizeof shapes);
	s.shape[7].rounding = 0.05;
	return s;
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->torus);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->field);
	carom_release_mesh(s->hull);
	carom_destroy_context(s->context);
}

/// One body of each shape, and one of all shapes but the plane.
static void add_all(const scene *s, uint64_t seed)
{
	carom_part parts[SHAPES - 1];
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	for (int i = 0; i < SHAPES; i++) {
		const carom_pose pose = i == SHAPES - 1 ? fixture_at(0, 0, -2.5) : fixture_random_pose(&seed, 2);
		fixture_add(s->world, s->shape[i], pose, i == SHAPES - 1 ? CAROM_STATIC : CAROM_DYNAMIC);
	}
	for (int i = 0; i < SHAPES - 1; i++)
		parts[i] = (carom_part){ .shape = s->shape[i], .pose = fixture_random_pose(&seed, 1) };
	def.parts = parts;
	def.part_count = SHAPES - 1;
	REQUIRE(carom_world_add_body(s->world, &def, &id) == CAROM_SUCCESS);
}

/// A square of cloth, two triangles of it, and a solid that deforms.
static void add_deforming(const scene *s)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = s->shape[10];
	def.kind = CAROM_CLOTH;
	def.thickness = 0.01;
	def.pose = fixture_at(0.5, 0.4, 1.2);
	REQUIRE(carom_world_add_body(s->world, &def, &id) == CAROM_SUCCESS);
	def.shape = s->shape[8];
	def.kind = CAROM_DEFORMABLE;
	def.pose = fixture_at(-0.8, 0.2, 1);
	REQUIRE(carom_world_add_body(s->world, &def, &id) == CAROM_SUCCESS);
}

static bool same_hit(const carom_ray_hit *a, const carom_ray_hit *b)
{
	return fixture_same_id(a->body, b->body) && a->shape == b->shape && a->t == b->t && a->triangle == b->triangle &&
		a->back_face == b->back_face && fixture_same_vector(a->point, b->point) && fixture_same_vector(a->normal, b->normal);
}

/// All hits without those from behind are the oracle. Returns whether a back came first.
static bool check_ray(const scene *s, const carom_ray *ray)
{
	carom_query_filter fronts = carom_default_query_filter();
	carom_ray_hit all[ROOM], seen[ROOM], first;
	int32_t count, told, kept = 0;
	bool found, any;
	fronts.skip_back_faces = true;
	REQUIRE(carom_world_cast_ray_all(s->world, ray, NULL, ROOM, all, &count) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_ray_all(s->world, ray, &fronts, ROOM, seen, &told) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_ray(s->world, ray, &fronts, &found, &first) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_ray_any(s->world, ray, &fronts, &any) == CAROM_SUCCESS);
	const bool starts_behind = count > 0 && all[0].back_face;
	for (int32_t i = 0; i < count; i++) {
		if (!all[i].back_face)
			all[kept++] = all[i];
	}
	CHECK(kept == told && found == (kept > 0) && any == found);
	for (int32_t i = 0; i < kept && i < told; i++)
		CHECK(same_hit(&all[i], &seen[i]));
	if (found && kept > 0) {
		// Through an edge the hits around it differ by roundings.
		CHECK(!first.back_face && fabs(first.t - all[0].t) <= 1e-9);
		CHECK(same_hit(&first, &all[0]) || fabs(first.t - all[0].t) <= 1e-9);
	}
	return starts_behind && kept > 0;
}

TEST(query_hits, rays_pass_back_faces)
{
	scene s = open_scene();
	uint64_t seed = 5;
	int behind = 0;
	add_all(&s, 6);
	add_deforming(&s);
	for (int i = 0; i < 3000 / TEST_FEWER; i++) {
		const v3d from = fixture_random_pose(&seed, i % 2 ? 3 : 1).position, to = fixture_random_pose(&seed, 3).position;
		const double t_min = i % 5 ? 0 : 0.3;
		behind += check_ray(&s, &(carom_ray){ from, v3d_sub(to, from), t_min, 3 });
	}
	CHECK(behind > 100 / TEST_FEWER);
	close_scene(&s);
}

/// A ray that begins inside a closed shape leaves it without a hit.
TEST(query_hits, rays_leave_closed_shapes)
{
	scene s = open_scene();
	uint64_t seed = 7;
	carom_query_filter fronts = carom_default_query_filter();
	fronts.skip_back_faces = true;
	for (int i = 0; i < 8; i++) {
		carom_world *world = fixture_world(s.context, NULL);
		fixture_add(world, s.shape[i], fixture_at(1, 2, 3), CAROM_DYNAMIC);
		for (int k = 0; k < 50; k++) {
			const carom_ray ray = { { 1, 2, 3 }, fixture_random_pose(&seed, 1).position, 0, INFINITY };
			bool found[2];
			carom_ray_hit hit;
			REQUIRE(carom_world_cast_ray(world, &ray, &fronts, &found[0], &hit) == CAROM_SUCCESS);
			REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found[1], &hit) == CAROM_SUCCESS);
			CHECK(!found[0] && found[1] && hit.back_face);
		}
		carom_destroy_world(world);
	}
	close_scene(&s);
}

/// Below a plane, and on both sides of a sheet, where two triangles lie at one place back to back.
TEST(query_hits, fronts_of_planes_and_sheets)
{
	static const float corners[4][3] = { { -1, -1, 0 }, { 1, -1, 0 }, { 1, 1, 0 }, { -1, 1, 0 } };
	static const int32_t triangles[4][3] = { { 2, 1, 0 }, { 3, 2, 0 }, { 0, 1, 2 }, { 0, 2, 3 } };
	carom_context *context = fixture_context(1);
	carom_query_filter fronts = carom_default_query_filter();
	fronts.skip_back_faces = true;
	for (int way = 0; way < 3; way++) { // a plane, the upper side, both sides
		carom_world *world = fixture_world(context, NULL);
		carom_mesh_def def = carom_default_mesh_def();
		carom_mesh *mesh = NULL;
		def.vertices = (carom_strided){ .data = corners, .type = CAROM_FLOAT32 };
		def.vertex_count = 4;
		def.triangles = way == 1 ? triangles[2] : triangles[0];
		def.triangle_count = way == 1 ? 2 : 4;
		REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
		fixture_add(
			world, way ? fixture_of_mesh(mesh) : (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0), CAROM_STATIC);
		for (int below = 0; below < 2; below++) {
			const carom_ray ray = { { 0.3, 0.1, below ? -2 : 2 }, { 0, 0, below ? 1 : -1 }, 0, 9 };
			bool found;
			carom_ray_hit hit;
			REQUIRE(carom_world_cast_ray(world, &ray, &fronts, &found, &hit) == CAROM_SUCCESS);
			CHECK(found == (!below || way == 2));
			CHECK(!found || (!hit.back_face && hit.t == 2 && hit.normal.z == (below ? -1 : 1)));
		}
		carom_release_mesh(mesh);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

// ---- Numbers of the user's ----

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
