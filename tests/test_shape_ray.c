// Rays and nearest points of a shape without a world: those of a world with one body, to the bit.
#include "fixture.h"
#include "test.h"

#include "carom/collide.h"

#include <math.h>
#include <string.h>

enum { SHAPES = 14, RAYS = 200 };

typedef struct stock {
	carom_context *context;
	carom_mesh *torus, *sheet, *hull;
	carom_shape shapes[SHAPES];
} stock;

static stock make_stock(void)
{
	static const float points[18] = { 0.5f, 0, 0, -0.5f, 0, 0, 0, 0.4f, 0, 0, -0.4f, 0, 0, 0, 0.6f, 0, 0, -0.6f };
	carom_context *context = fixture_context(1);
	stock s = { context, fixture_torus_mesh(context, 16, 8, 0.6, 0.3), fixture_sheet_mesh(context, 4, 3),
		fixture_hull_mesh(context, points, 6), { { 0 } } };
	carom_shape rounded_box = fixture_box(0.4, 0.5, 0.6), rounded_hull = fixture_hull(s.hull);
	rounded_box.rounding = rounded_hull.rounding = 0.1;
	const carom_shape shapes[SHAPES] = { fixture_of_mesh(s.torus), fixture_of_mesh(s.sheet), fixture_hull(s.hull), rounded_hull,
		fixture_sphere(0.5), fixture_box(0.4, 0.5, 0.6), rounded_box, fixture_capsule(0.3, 0.5), fixture_cylinder(0.4, 0.3),
		fixture_cone(0.4, 0.5), fixture_ellipsoid(0.3, 0.5, 0.4), { .type = CAROM_PLANE }, fixture_sphere(1e-3),
		fixture_box(3, 1e-3, 2) };
	memcpy(s.shapes, shapes, sizeof shapes);
	return s;
}

static void free_stock(stock *s)
{
	carom_release_mesh(s->torus);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->hull);
	carom_destroy_context(s->context);
}

static carom_ray random_ray(uint64_t *seed, carom_vec3 middle)
{
	const double length = test_random(seed) % 8 == 0 ? 1e-40 : test_random_double(seed, 0.2, 5);
	const carom_vec3 from = { test_random_double(seed, -1, 1), test_random_double(seed, -1, 1),
		test_random_double(seed, -1, 1) };
	const carom_vec3 to = { test_random_double(seed, -0.5, 0.5), test_random_double(seed, -0.5, 0.5),
		test_random_double(seed, -0.5, 0.5) };
	return (carom_ray){ { middle.x + from.x, middle.y + from.y, middle.z + from.z },
		{ (to.x - from.x) * length, (to.y - from.y) * length, (to.z - from.z) * length }, 0, 3 / length };
}

static bool hits_alike(carom_ray_hit a, carom_ray_hit b)
{
	b.body = (carom_body_id){ 0 };
	return memcmp(&a.point, &b.point, sizeof a.point) == 0 && memcmp(&a.normal, &b.normal, sizeof a.normal) == 0 &&
		a.t == b.t && a.triangle == b.triangle && a.u == b.u && a.v == b.v && a.back_face == b.back_face &&
		a.body.index1 == 0 && a.shape == 0;
}

TEST(shape_ray, hits_are_those_of_a_world)
{
	stock s = make_stock();
	uint64_t seed = 4;
	for (int i = 0; i < SHAPES; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 2);
		carom_world *world = fixture_world(s.context, NULL);
		fixture_add(world, s.shapes[i], pose, CAROM_STATIC);
		int hit_count = 0;
		for (int k = 0; k < RAYS; k++) {
			const carom_ray ray = random_ray(&seed, pose.position);
			carom_ray_hit expected, hit;
			bool wanted, found;
			REQUIRE(carom_world_cast_ray(world, &ray, NULL, &wanted, &expected) == CAROM_SUCCESS);
			REQUIRE(carom_shape_cast_ray(s.context, &s.shapes[i], &pose, &ray, &found, &hit) == CAROM_SUCCESS);
			CHECK_INT(found, wanted);
			CHECK(!found || !wanted || hits_alike(hit, expected));
			hit_count += found;
		}
		CHECK(s.shapes[i].radius == 1e-3 || hit_count > RAYS / 10);
		carom_destroy_world(world);
	}
	free_stock(&s);
}

TEST(shape_ray, closest_points_are_those_of_a_world)
{
	stock s = make_stock();
	uint64_t seed = 5;
	for (int i = 0; i < SHAPES; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 2);
		carom_world *world = fixture_world(s.context, NULL);
		fixture_add(world, s.shapes[i], pose, CAROM_STATIC);
		int near_count = 0;
		for (int k = 0; k < RAYS; k++) {
			const carom_vec3 point = random_ray(&seed, pose.position).origin;
			const double max_distance = k % 2 ? INFINITY : 0.3;
			carom_closest_point expected, nearest;
			bool wanted, found;
			REQUIRE(carom_world_closest_point(world, point, max_distance, NULL, &wanted, &expected) == CAROM_SUCCESS);
			REQUIRE(carom_shape_closest_point(s.context, &s.shapes[i], &pose, point, max_distance, &found, &nearest) ==
				CAROM_SUCCESS);
			CHECK_INT(found, wanted);
			near_count += found;
			if (!found || !wanted)
				continue;
			CHECK_INT(nearest.body.index1, 0);
			nearest.body = expected.body;
			CHECK(nearest.distance == expected.distance && nearest.triangle == expected.triangle && nearest.shape == 0);
			CHECK(memcmp(&nearest.point, &expected.point, sizeof nearest.point) == 0);
			CHECK(memcmp(&nearest.normal, &expected.normal, sizeof nearest.normal) == 0);
		}
		CHECK(near_count >= RAYS / 2);
		carom_destroy_world(world);
	}
	free_stock(&s);
}

/// On an axis all directions across it are as good: the nearest point is one of many, and fits the distance all the same.
TEST(shape_ray, closest_points_of_an_axis)
{
	stock s = make_stock();
	carom_shape rounded = fixture_cylinder(0.4, 0.3);
	rounded.rounding = 0.1;
	const carom_shape forms[5] = { fixture_cylinder(0.4, 1.5), fixture_cone(0.4, 1.5), rounded,
		fixture_ellipsoid(0.4, 0.4, 1.5), s.shapes[6] };
	uint64_t seed = 6;
	for (int i = 0; i < 5 * RAYS; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 2);
		const double aside = i % 3 == 0 ? 0 : i % 3 == 1 ? 1e-12 : 1e-3, along = test_random_double(&seed, -1.7, 1.7);
		const carom_vec3 point = carom_transform_point(pose, (carom_vec3){ 0, aside, along });
		bool found;
		carom_closest_point c;
		REQUIRE(carom_shape_closest_point(s.context, &forms[i % 5], &pose, point, INFINITY, &found, &c) == CAROM_SUCCESS);
		CHECK(found);
		const v3d way = v3d_sub(point, c.point);
		CHECK_NEAR(v3d_length(c.normal), 1, 1e-12);
		CHECK_NEAR(v3d_length(v3d_mad(way, -c.distance, c.normal)), 0, 1e-6);
		// The told point is on the surface.
		carom_closest_point again;
		REQUIRE(carom_shape_closest_point(s.context, &forms[i % 5], &pose, c.point, INFINITY, &found, &again) == CAROM_SUCCESS);
		CHECK_NEAR(again.distance, 0, 1e-6);
		// A cylinder is pushed straight out of its side.
		if (i % 5 == 0 && fabs(along) < 1) {
			CHECK_NEAR(c.distance, -0.4 + aside, 1e-12);
			CHECK_NEAR(v3d_dot(c.normal, carom_rotate(pose.orientation, (carom_vec3){ 0, 0, 1 })), 0, 1e-12);
		}
	}
	free_stock(&s);
}

/// Of every shape, outside and inside, at faces, edges and corners: from the told point, the told distance along the normal leads to
/// the asked point.
TEST(shape_ray, normals_of_closest_points_lead_to_the_asked_point)
{
	stock s = make_stock();
	carom_mesh *cube = fixture_box_mesh(s.context, 0.5, 0.5, 0.5);
	s.shapes[12] = fixture_of_mesh(cube);
	uint64_t seed = 7;
	for (int i = 0; i < SHAPES * RAYS; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 2);
		const double far = i % 2 ? 0.5 : 1.2;
		const carom_vec3 local = { test_random_double(&seed, -far, far), test_random_double(&seed, -far, far),
			test_random_double(&seed, -far, far) };
		const carom_vec3 point = carom_transform_point(pose, local);
		bool found;
		carom_closest_point c;
		REQUIRE(
			carom_shape_closest_point(s.context, &s.shapes[i % SHAPES], &pose, point, INFINITY, &found, &c) == CAROM_SUCCESS);
		REQUIRE(found);
		CHECK_NEAR(v3d_length(c.normal), 1, 1e-9);
		CHECK_NEAR(v3d_length(v3d_sub(v3d_mad(c.point, c.distance, c.normal), point)), 0, 1e-6);
	}
	carom_release_mesh(cube);
	free_stock(&s);
}

/// A cube answers alike as a box, as a hull and as a mesh, also beside an edge and a corner, and on its surface.
TEST(shape_ray, closest_points_of_three_cubes)
{
	static const carom_vec3 points[6] = { { 1, 0.7, 0 }, { 1, 1, 1 }, { 0.6, 2, -0.9 }, { 1, 0.2, 0.1 }, { 0.4, 0.1, 0.2 },
		{ 0.5, 0.2, 0.1 } };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	carom_mesh *hull = fixture_hull_mesh(context, carom_mesh_get_vertices(mesh), 8);
	const carom_shape shapes[3] = { fixture_box(0.5, 0.5, 0.5), fixture_hull(hull), fixture_of_mesh(mesh) };
	for (int i = 0; i < 6; i++) {
		carom_closest_point c[3];
		for (int k = 0; k < 3; k++) {
			bool found;
			REQUIRE(carom_shape_closest_point(context, &shapes[k], NULL, points[i], INFINITY, &found, &c[k]) == CAROM_SUCCESS);
			CHECK_NEAR(c[k].distance, c[0].distance, 1e-7);
			CHECK_NEAR(v3d_length(v3d_sub(c[k].point, c[0].point)), 0, 1e-7);
			CHECK_NEAR(v3d_length(v3d_sub(c[k].normal, c[0].normal)), 0, 1e-6);
		}
	}
	carom_release_mesh(hull);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(shape_ray, wrong_arguments_are_named)
{
	stock s = make_stock();
	const carom_ray ray = { { 0, 0, 5 }, { 0, 0, -1 }, 0, 10 };
	const carom_pose crooked = { .orientation = { 1, 1, 0, 0 } };
	carom_shape flat = fixture_sphere(0), without = fixture_of_mesh(NULL);
	bool found = true;
	carom_ray_hit hit;
	carom_closest_point nearest;
	const struct {
		const carom_shape *shape;
		const carom_pose *pose;
		carom_ray ray;
		const char *text;
	} cases[] = {
		{ NULL, NULL, ray, "carom_shape_cast_ray: shape is NULL" },
		{ &flat, NULL, ray, "carom_shape_cast_ray: shape.radius is 0" },
		{ &without, NULL, ray, "carom_shape_cast_ray: shape.mesh is NULL" },
		{ &s.shapes[4], &crooked, ray, "carom_shape_cast_ray: pose.orientation has length" },
		{ &s.shapes[4], NULL, { { NAN, 0, 0 }, { 0, 0, 1 }, 0, 1 }, "carom_shape_cast_ray: ray.origin is not finite" },
		{ &s.shapes[4], NULL, { { 0, 0, 0 }, { 0, 0, 0 }, 0, 1 }, "carom_shape_cast_ray: ray.direction is zero" },
		{ &s.shapes[4], NULL, { { 0, 0, 0 }, { 0, 0, 1 }, 1, 0 }, "carom_shape_cast_ray: ray.t_min is 1 and ray.t_max is 0" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		found = true;
		CHECK_INT(carom_shape_cast_ray(s.context, cases[i].shape, cases[i].pose, &cases[i].ray, &found, &hit),
			CAROM_INVALID_ARGUMENT);
		CHECK(strncmp(carom_error_text(s.context), cases[i].text, strlen(cases[i].text)) == 0);
		CHECK(!found);
	}
	CHECK_INT(carom_shape_cast_ray(s.context, &s.shapes[4], NULL, NULL, &found, &hit), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(s.context), "carom_shape_cast_ray: ray is NULL");
	CHECK_INT(carom_shape_cast_ray(s.context, &s.shapes[4], NULL, &ray, NULL, &hit), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(s.context), "carom_shape_cast_ray: found is NULL");
	CHECK_INT(carom_shape_cast_ray(NULL, &s.shapes[4], NULL, &ray, &found, &hit), CAROM_INVALID_ARGUMENT);
	const carom_vec3 point = { 0, 0, 1e300 };
	CHECK_INT(carom_shape_closest_point(s.context, &s.shapes[4], NULL, point, 1, &found, &nearest), CAROM_INVALID_ARGUMENT);
	CHECK(strncmp(carom_error_text(s.context), "carom_shape_closest_point: point is (", 37) == 0);
	CHECK_INT(carom_shape_closest_point(s.context, &s.shapes[4], NULL, (carom_vec3){ 0 }, -1, &found, &nearest),
		CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(s.context), "carom_shape_closest_point: max_distance is -1; it must be at least 0");
	free_stock(&s);
}
