// Situations of parry's test suite: github.com/dimforge/parry, crates/parry3d/tests/, most of them from reports. The numbers are
// theirs, the code is ours. Parry's y is up and its cylinders and capsules stand along y; here everything stands along z where that
// alone differs. Its normals come in pairs, one out of each shape.
#include "peer_fixture.h"

#include <math.h>

static const v3d X = { 1, 0, 0 }, Z = { 0, 0, 1 }, ORIGIN = { 0, 0, 0 };

static carom_pose here(void) { return carom_pose_identity(); }

// ---- Distances and overlaps ----

// issue_431_cuboid_distance_asymmetry.rs, issue_315_touching_cuboids_contact.rs, query/closest_points_cuboid_cuboid.rs,
// geometry/epa3.rs.
TEST(peer_parry, boxes)
{
	const carom_shape one = fixture_box(1, 1, 1), wide = fixture_box(1, 2, 2), tall = fixture_box(1, 1, 5),
					  half = fixture_box(0.5, 0.5, 0.5);
	const carom_shape bar = fixture_box(2, 1, 1);
	const double s = 0.5, c = sqrt(0.75), e = 4 - c - s, f = 4 - c + s, gx = 1e-4, gy = 0.5e-4;
	const peer_case cases[] = {
		{ "faces that overhang", one, wide, AT(0, 0, 0), AT(-5.573167, 0, 0), 3.573167, V(1, 0, 0), NULL, NULL },
		{ "corner and face", one, one, AT(0, 0, 0), { { 4, 4, 0 }, { 0, 0, sin(FIXTURE_PI / 8), cos(FIXTURE_PI / 8) } },
			6 * ROOT_HALF - 1, V(-ROOT_HALF, -ROOT_HALF, 0), NULL, NULL },
		{ "edge and edge", one, one, AT(0, 0, 0), { { 5, 0, 5 }, { 0, sin(FIXTURE_PI / 12), 0, cos(FIXTURE_PI / 12) } },
			sqrt(e * e + f * f), NULL, NULL, NULL },
		{ "corner and corner", one, one, AT(0, 0, 0), AT(5, 4, 3), sqrt(14), NULL, V(1, 1, 1), V(4, 3, 2) },
		{ "touching", one, wide, AT(0, 0, 0), AT(2, 0, 0), 0, V(-1, 0, 0), NULL, NULL },
		{ "overlapping", one, wide, AT(0, 0, 0), AT(1.5, 0, 0), -0.5, V(-1, 0, 0), NULL, NULL },
		{ "exactly touching", half, half, AT(0.5, 0.5, 0.5), AT(1.5, 0.5, 0.5), 0, V(-1, 0, 0), NULL, NULL },
		{ "0.3 deep", half, half, AT(0.5, 0.5, 0.5), AT(1.2, 0.5, 0.5), -0.3, V(-1, 0, 0), NULL, NULL },
		{ "edges side by side", one, tall, AT(0, 0, 0), AT(3, 2.5, 0), sqrt(1.25), V(-1 / sqrt(1.25), -0.5 / sqrt(1.25), 0),
			NULL, NULL },
		{ "corners nearly touching", one, one, AT(0, 0, 0), AT(2 + gx, 2 + gy, 2), sqrt(gx * gx + gy * gy), NULL, NULL, NULL },
		{ "half deep", bar, bar, AT(3.5, 0, 0), AT(0, 0, 0), -0.5, V(1, 0, 0), NULL, NULL },
		{ "1.8 deep", bar, bar, AT(0, 0.2, 0), AT(0, 0, 0), -1.8, V(0, 1, 0), NULL, NULL },
	};
	CHECK_CASES(cases);
	for (int i = 0; i < 8; i++) {
		const double x = i & 1 ? 1 : -1, y = i & 2 ? 1 : -1, z = i & 4 ? 1 : -1;
		const peer_case octant = { "octant", one, one, AT(0, 0, 0), AT(3 * x, 2.5 * y, 2.25 * z), sqrt(1.3125), NULL,
			V(x, y, z), V(2 * x, 1.5 * y, 1.25 * z) };
		peer_check_cases(&octant, 1);
	}
}

// issue_396_cylinder_intersection_false_negative.rs: one axis for both. The distances follow from the sizes.
TEST(peer_parry, cylinders_about_one_axis)
{
	const carom_shape big = fixture_cylinder(100, 50), small = fixture_cylinder(1, 1.5), rod = fixture_capsule(10, 50);
	const peer_case cases[] = {
		{ "one in the other", small, big, AT(0, 0, 0), AT(0, 0, 0), -51.5, NULL, NULL, NULL },
		{ "rod", rod, big, AT(0, 0, 0), AT(0, 0, 0), -110, NULL, NULL, NULL },
		{ "off by a hair", small, big, AT(0.01, 0, 0), AT(0, 0, 0), -51.5, NULL, NULL, NULL },
		{ "up by a hair", small, big, AT(0, 0, 0.01), AT(0, 0, 0), -51.49, V(0, 0, 1), NULL, NULL },
		{ "anywhere", small, big, AT(3, 2, -5), AT(0, 0, 0), -46.5, V(0, 0, -1), NULL, NULL },
		{ "lying", small, big, { { 0, 0, 0 }, { ROOT_HALF, 0, 0, ROOT_HALF } }, AT(0, 0, 0), -51, NULL, NULL, NULL },
		{ "just above", small, big, AT(0, 0, 51.6), AT(0, 0, 0), 0.1, V(0, 0, 1), NULL, NULL },
		{ "far above", small, big, AT(0, 0, 200), AT(0, 0, 0), 148.5, V(0, 0, 1), NULL, NULL },
		{ "just beside", small, big, AT(101.1, 0, 0), AT(0, 0, 0), 0.1, V(1, 0, 0), NULL, NULL },
		{ "far beside", small, big, AT(500, 0, 0), AT(0, 0, 0), 399, V(1, 0, 0), NULL, NULL },
		{ "turned above", small, big, { { 0, 0, 53 }, { sin(0.35), 0, 0, cos(0.35) } }, AT(0, 0, 0),
			3 - 1.5 * cos(0.7) - sin(0.7), V(0, 0, 1), NULL, NULL },
		// geometry/cylinder_cuboid_contact.rs: the box reaches 0.02 into the barrel, beside its middle.
		{ "box in a barrel", fixture_cylinder(0.5, 0.925), fixture_box(0.05, 0.5, 0.75), AT(10.97, 61.02, 0.925),
			AT(11.5, 60.5, 0.75), hypot(11.45 - 10.97, 61.02 - 61) - 0.5, NULL, NULL, NULL },
	};
	CHECK_CASES(cases);
}

// issue_70_capsule_cuboid_false_negatives.rs: a capsule and a ball swept through the top of a large box, and a half space beside it.
TEST(peer_parry, round_shapes_in_a_large_box)
{
	carom_context *context = fixture_context(1);
	const carom_shape capsule = fixture_capsule(0.5, 0.5), ball = fixture_sphere(0.5), box = fixture_box(50, 50, 50);
	const carom_shape plane = { .type = CAROM_PLANE };
	for (int i = 0; i < 200; i++) {
		const carom_pose at = fixture_at(0, 0, -0.5 + i / 200.0), below = fixture_at(0, 0, -50);
		const double depth = peer_distance(context, &capsule, at, &box, below).distance;
		CHECK_NEAR(depth, -1 + at.position.z, 1e-7);
		CHECK_NEAR(peer_distance(context, &ball, at, &box, below).distance, depth + 0.5, 1e-7);
		CHECK_NEAR(peer_distance(context, &capsule, at, &plane, here()).distance, depth, 1e-7);
		CHECK(peer_overlap(context, &capsule, at, &box, below) && peer_overlap(context, &ball, at, &box, below));
		CHECK(peer_overlap(context, &capsule, at, &plane, here()) && peer_overlap(context, &ball, at, &plane, here()));
	}
	carom_destroy_context(context);
}

static const float FRUSTUMS[4][24] = {
	{ -0.7938391f, 5.1101756f, 0.1773476f, -5.293839f, 0.6101756f, -4.3226523f, -5.293839f, 0.6101756f, 5.6773477f, -0.7938391f,
		5.1101756f, 1.1773477f, -0.7938391f, 6.1101756f, 0.1773476f, -5.293839f, 10.610176f, -4.3226523f, -5.293839f,
		10.610176f, 5.6773477f, -0.7938391f, 6.1101756f, 1.1773477f },
	{ 8.114634f, 4.6308937f, 0.76987207f, -18.83664f, -53.96347f, -649.29565f, -608.7832f, -53.96347f, -208.59384f, 6.93474f,
		4.6308937f, 1.6512758f, 8.253552f, 5.426136f, 0.9558364f, 50.62288f, 343.65768f, -556.3136f, -539.3237f, 343.65768f,
		-115.611725f, 7.073659f, 5.426136f, 1.8372401f },
	{ 0.45838028f, 5.7372417f, 0.61019015f, 1000.35846f, -994.1628f, 1000.51013f, 1000.35834f, -994.1628f, -999.48987f,
		0.45838028f, 5.7372417f, 0.41019014f, 0.45838028f, 5.9372416f, 0.61019015f, 1000.35846f, 1005.8372f, 1000.51013f,
		1000.35834f, 1005.8372f, -999.48987f, 0.45838028f, 5.9372416f, 0.41019014f },
	{ -0.4522132f, 8.780189f, 15.508082f, 72537.12f, -72390.1f, -81439.88f, -74725.21f, -72390.1f, -79438.195f, -0.45368585f,
		8.780189f, 15.508101f, -0.45221695f, 8.780969f, 15.507806f, 72161.625f, 5710.25f, -109064.305f, -75100.7f, 5710.25f,
		-107062.62f, -0.4536896f, 8.780969f, 15.507825f },
};

/// How many corners of one hull lie in another one: by its rays, and by its nearest points.
static int corners_inside(carom_context *context, const float *corners, const carom_mesh *hull)
{
	int count = 0;
	for (int i = 0; i < 8; i++) {
		const carom_shape shape = fixture_hull(hull);
		bool inside, found;
		carom_closest_point near;
		const v3d corner = v3d_from_floats(corners + 3 * i);
		REQUIRE(carom_mesh_contains(hull, corner, &inside) == CAROM_SUCCESS);
		REQUIRE(carom_shape_closest_point(context, &shape, NULL, corner, INFINITY, &found, &near) == CAROM_SUCCESS && found);
		CHECK_INT(inside, near.distance < 0);
		count += inside;
	}
	return count;
}

// issue_157_frustum_contact.rs: frustums of a camera, one of which holds one corner, or four, of the other.
TEST(peer_parry, frustums)
{
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 2; i++) {
		carom_mesh *meshes[2] = { fixture_hull_mesh(context, FRUSTUMS[2 * i], 8),
			fixture_hull_mesh(context, FRUSTUMS[2 * i + 1], 8) };
		carom_shape a = fixture_hull(meshes[0]);
		const carom_shape b = fixture_hull(meshes[1]);
		CHECK_INT(corners_inside(context, FRUSTUMS[2 * i], meshes[1]), i == 0 ? 1 : 4);
		CHECK(peer_overlap(context, &a, here(), &b, here()));
		const carom_separation s = peer_distance(context, &a, here(), &b, here());
		CHECK(s.distance < 0);
		carom_manifold m;
		REQUIRE(carom_collide_convex(context, &a, NULL, &b, NULL, 0, &m) == CAROM_SUCCESS);
		CHECK(m.count > 0);
		// Moving by the depth, and by no more than the rounding of so large coordinates, parts them.
		const v3d out = v3d_scale(s.normal, -s.distance * (1 + 1e-6) + 1e-9);
		CHECK(!peer_overlap(context, &a, fixture_at(out.x, out.y, out.z), &b, here()));
		const v3d less = v3d_scale(s.normal, -s.distance - fmax(s.error, -1e-5 * s.distance) - 1e-6);
		CHECK(peer_overlap(context, &a, fixture_at(less.x, less.y, less.z), &b, here()));
		carom_release_mesh(meshes[0]);
		carom_release_mesh(meshes[1]);
	}
	carom_destroy_context(context);
}

// geometry/epa3.rs, triangle_vertex_touches_triangle_edge_epa: a corner of one triangle lies on the long thin one.
TEST(peer_parry, a_corner_on_a_thin_triangle)
{
	const v3d a[3] = { { -13.174434, 1, 8.736801 }, { 3.5251038, 1, 12.1 }, { 3.2048466, 1, 12.218325 } };
	const v3d b[3] = { { -1.63, 0, 11.19 }, { -2.349647, 0, 11.037681 }, { -2.349647, 1, 11.037681 } };
	carom_triangle_point on_a, on_b;
	const double distance = carom_triangle_triangle_distance(a, b, &on_a, &on_b);
	// The corner is 6e-4 beside the edge of the thin triangle, where both have y = 1.
	carom_triangle_point corner;
	CHECK_NEAR(distance, carom_point_triangle_distance(b[2], a, &corner), 1e-12);
	CHECK(distance < 1e-3);
	CHECK_NEAR(on_a.point.y, 1, 1e-9);
	CHECK_NEAR(on_a.point.x, -2.349647, 1e-3);
	CHECK_NEAR(v3d_length(v3d_sub(on_b.point, b[2])), 0, 1e-9);
}

// issue_76_point_degenerate_triangle.rs: triangles without an area are as far away as their longest sides.
TEST(peer_parry, points_and_triangles_without_an_area)
{
	static const struct {
		v3d corner[3];
		int from, to; // the longest side
		v3d point;
	} cases[] = {
		{ { { 2.27699995, -7.9000001, 16.3180008 }, { -0.569999993, -8.10000038, 16.6070004 },
			  { -0.569999993, -8.10000038, 16.6070004 } },
			0, 1, { 1.10000002, -7.9000001, 16.5879993 } },
		{ { { -1, 2, 0.5 }, { 3, -1, 2 }, { 3, -1, 2 } }, 0, 1, { 0, 0, 0 } },
		{ { { -1, 2, 0.5 }, { 3, -1, 2 }, { 3, -1, 2 } }, 0, 1, { 10, 10, -3 } },
		{ { { -1, 2, 0.5 }, { 3, -1, 2 }, { 3, -1, 2 } }, 0, 1, { -5, 2.5, 1 } },
		{ { { -1, 2, 0.5 }, { 3, -1, 2 }, { 3, -1, 2 } }, 0, 1, { 1, 0.5, 1.25 } },
		{ { { -1, 2, 0.5 }, { 3, -1, 2 }, { 3, -1, 2 } }, 0, 1, { -1, 2, 0.5 } },
		{ { { 40, 0, 0 }, { 0, 80, 0 }, { 0, 80, 0 } }, 0, 1, { 10, 20, 0 } },
		{ { { 40, 0, 0 }, { 0, 80, 0 }, { 0, 80, 0 } }, 0, 1, { 40, 0, 0 } },
		{ { { 0, 0, 0 }, { 100, 0, 0 }, { 160, 0, 0 } }, 0, 2, { 10, 0, 0 } },
		{ { { 0, 0, 0 }, { 100, 0, 0 }, { 160, 0, 0 } }, 0, 2, { 10, 10, 0 } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const v3d from = cases[i].corner[cases[i].from], way = v3d_sub(cases[i].corner[cases[i].to], from);
		const double t = fmin(fmax(v3d_dot(v3d_sub(cases[i].point, from), way) / v3d_dot(way, way), 0), 1);
		const double side = v3d_length(v3d_sub(cases[i].point, v3d_mad(from, t, way)));
		carom_triangle_point on;
		CHECK_NEAR(carom_point_triangle_distance(cases[i].point, cases[i].corner, &on), side, 1e-12);
		CHECK_NEAR(v3d_length(v3d_sub(cases[i].point, on.point)), side, 1e-12);
	}
}

static void cube_mesh(float vertices[24], double unit)
{
	for (int i = 0; i < 24; i++)
		vertices[i] = (float)((i / 3 >> i % 3 & 1 ? 0.5 : -0.5) * unit);
}

static const int32_t CUBE[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1,
	3, 5, 3, 7, 5 };

// issue_17_tiny_trimesh_distance.rs: a cube of 1e-10. issue_395_project_point_nan.rs: a point that is no number is refused.
TEST(peer_parry, points_and_a_tiny_cube)
{
	carom_context *context = fixture_context(1);
	const double unit = 1e-10;
	float vertices[24];
	cube_mesh(vertices, unit);
	carom_mesh *mesh = peer_mesh(context, vertices, 8, CUBE, 12, CAROM_SIDES_AUTO, NULL);
	CHECK(carom_mesh_get_report(mesh)->closed);
	const struct {
		v3d point;
		double distance;
	} cases[] = { { { 0, 0, 0 }, -0.5 * unit }, { { 0.25 * unit, 0.25 * unit, 0.25 * unit }, -0.25 * unit },
		{ { 2 * unit, 2 * unit, 2 * unit }, 1.5 * sqrt(3) * unit }, { { 1, -2, 3 }, sqrt(14) } };
	bool found;
	carom_mesh_point near;
	for (int i = 0; i < 4; i++) {
		REQUIRE(carom_mesh_closest_point(mesh, cases[i].point, INFINITY, &found, &near) == CAROM_SUCCESS && found);
		CHECK_NEAR(near.distance, cases[i].distance, 1e-6 * fabs(cases[i].distance));
	}
	fixture_expect_wrong(context, carom_mesh_closest_point(mesh, (v3d){ NAN, NAN, NAN }, INFINITY, &found, &near), "point");
	CHECK(!found);
	bool inside;
	fixture_expect_wrong(context, carom_mesh_contains(mesh, (v3d){ 0, NAN, 0 }, &inside), "point");
	CHECK(!inside);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// issue_79_closest_points_max_dist.rs: a cylinder half a metre over a triangle, asked within 0.49 and within 0.6.
TEST(peer_parry, a_cylinder_over_a_triangle)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = peer_triangle(context, (v3d){ 1, 0, -1 }, (v3d){ 0, 1, -1 }, (v3d){ -1, 0, -1 }, CAROM_SIDES_AUTO);
	const carom_shape cylinder = fixture_cylinder(1, 0.5), triangle = fixture_of_mesh(mesh);
	const carom_pose origin = here();
	carom_world *world = peer_world(context, triangle, here());
	CHECK_NEAR(peer_distance(context, &cylinder, here(), &triangle, here()).distance, 0.5, 1e-9);
	bool found;
	carom_closest_body near;
	REQUIRE(carom_world_closest_body(world, &cylinder, &origin, 0.49, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(!found);
	REQUIRE(carom_world_closest_body(world, &cylinder, &origin, 0.6, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(found);
	CHECK_NEAR(near.distance, 0.5, 1e-9);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// issue_387_composite_contact_flipped.rs: a ball over a part that is far from the middle of its body.
TEST(peer_parry, a_ball_over_a_part_far_off)
{
	carom_context *context = fixture_context(1);
	const carom_part parts[2] = { { fixture_box(1, 1, 1), AT(5, 0, 0), 0 }, { fixture_box(1, 1, 1), AT(-5, -2, 0), 0 } };
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = 1.5;
	for (int swapped = 0; swapped < 2; swapped++) {
		carom_world *world = fixture_world(context, &def);
		if (!swapped)
			peer_add_parts(world, parts, 2, here(), CAROM_STATIC);
		fixture_add(world, fixture_sphere(1), fixture_at(5, 3, 0), CAROM_DYNAMIC);
		if (swapped)
			peer_add_parts(world, parts, 2, here(), CAROM_STATIC);
		fixture_step(world);
		const carom_contact_view contacts = carom_world_contacts(world);
		REQUIRE(contacts.count == 1);
		CHECK_NEAR(contacts.data[0].depth, -1, 1e-6);
		peer_check_vector(fixture_normal(&contacts.data[0]), (v3d){ 0, swapped ? 1 : -1, 0 }, 1e-6);
		peer_check_vector(fixture_point(&contacts.data[0]), (v3d){ 5, swapped ? 2 : 1, 0 }, 1e-6);
		CHECK_INT(swapped ? contacts.data[0].shape_b : contacts.data[0].shape_a, 0);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

// ---- Height fields ----

static carom_mesh *flat_field(carom_context *context)
{
	static const float heights[9] = { 0 };
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, 3, 3, heights, (double[]){ 5, 5 }, 1, &mesh) == CAROM_SUCCESS);
	return mesh;
}

// issue_274_contact_heightfield.rs: a capsule and a ball above, on and in a flat field; also over its corners and edges, where parry
// leaves the normal open, and both ways round.
TEST(peer_parry, round_shapes_on_a_flat_field)
{
	static const v3d places[] = { { 1, -2, 0 }, { 0, 0, 0 }, { 0, 2, 0 }, { 1, 1, 0 } };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = flat_field(context);
	const carom_shape field = fixture_of_mesh(mesh), capsule = fixture_capsule(0.2, 0.5), ball = fixture_sphere(0.5);
	const carom_pose under = fixture_at(-5, -5, 0);
	const struct {
		const carom_shape *shape;
		double z, distance;
	} cases[] = { { &capsule, 2, 1.3 }, { &capsule, 0.7, 0 }, { &capsule, 0.6, -0.1 }, { &ball, 0.3, -0.2 } };
	for (int i = 0; i < 16; i++) {
		const v3d at = places[i % 4];
		const carom_pose pose = fixture_at(at.x, at.y, cases[i / 4].z);
		for (int swapped = 0; swapped < 2; swapped++) {
			carom_contact contacts[8];
			const carom_separation s = swapped ? peer_distance(context, &field, under, cases[i / 4].shape, pose)
											   : peer_distance(context, cases[i / 4].shape, pose, &field, under);
			CHECK_NEAR(s.distance, cases[i / 4].distance, 1e-6);
			peer_check_vector(s.normal, (v3d){ 0, 0, swapped ? -1 : 1 }, 1e-6);
			const int count = swapped ? peer_collide(context, &field, under, cases[i / 4].shape, pose, 2, contacts)
									  : peer_collide(context, cases[i / 4].shape, pose, &field, under, 2, contacts);
			double deepest = -INFINITY;
			for (int k = 0; k < count; k++) {
				peer_check_vector(fixture_normal(&contacts[k]), (v3d){ 0, 0, swapped ? -1 : 1 }, 1e-6);
				deepest = fmax(deepest, contacts[k].depth);
			}
			CHECK_NEAR(deepest, -cases[i / 4].distance, 1e-6);
		}
	}
	carom_contact contact[8];
	const carom_pose high = fixture_at(0, 0, 2);
	CHECK_INT(peer_collide(context, &capsule, high, &field, under, 1, contact), 0);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// issue_332_heightfield_point_projection.rs: the nearest point of a rough and of a flat field against all triangles.
TEST(peer_parry, points_near_a_height_field)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 0x332;
	for (int flat = 0; flat < 2; flat++) {
		float heights[256];
		for (int i = 0; i < 256; i++)
			heights[i] = flat ? 1 : (float)test_random_double(&seed, -2, 2);
		carom_mesh *mesh;
		REQUIRE(
			carom_create_height_field(context, 16, 16, heights, (double[]){ 16 / 15.0, 16 / 15.0 }, 1, &mesh) == CAROM_SUCCESS);
		const float *vertices = carom_mesh_get_vertices(mesh);
		const int32_t *triangles = carom_mesh_get_triangles(mesh), count = carom_mesh_get_report(mesh)->triangle_count;
		for (int i = 0; i < 200 / TEST_FEWER; i++) {
			static const double spans[4][2] = { { 8, 2 }, { 8, 100 }, { 100, 10 }, { 8.5, 3 } };
			const double span = spans[i % 4][0], height = spans[i % 4][1];
			const v3d p = { 8 + test_random_double(&seed, -span, span), 8 + test_random_double(&seed, -span, span),
				test_random_double(&seed, -height, height) };
			bool found;
			carom_mesh_point near;
			REQUIRE(carom_mesh_closest_point(mesh, p, INFINITY, &found, &near) == CAROM_SUCCESS && found);
			double least = INFINITY;
			for (int32_t t = 0; t < count; t++) {
				v3d corner[3];
				for (int k = 0; k < 3; k++)
					corner[k] = v3d_from_floats(vertices + 3 * triangles[3 * t + k]);
				carom_triangle_point on;
				least = fmin(least, carom_point_triangle_distance(p, corner, &on));
			}
			CHECK_NEAR(fabs(near.distance), least, 1e-9 * fmax(least, 1));
		}
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

/// Casts one shape over a field of one cell. Returns whether it meets: then both its triangles are asked, and one is met at that time.
static bool check_cell_cast(carom_context *context, uint64_t *seed, const carom_shape *shape, int kind)
{
	const float heights[4] = { (float)test_random_double(seed, -1, 1), (float)test_random_double(seed, -1, 1),
		(float)test_random_double(seed, -1, 1), (float)test_random_double(seed, -1, 1) };
	const double width = test_random_double(seed, 0.5, 4);
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, 2, 2, heights, (double[]){ width, width }, 1, &mesh) == CAROM_SUCCESS);
	carom_pose from = fixture_random_pose(seed, 3);
	from.position.z = test_random_double(seed, -2, 3);
	v3d way = { test_random_double(seed, -10, 10), test_random_double(seed, -10, 10), test_random_double(seed, -10, 10) };
	if (kind == 0)
		way = (v3d){ 2 * way.x, 2 * way.y, 0.1 * way.z };
	if (kind == 1)
		way = (v3d){ 0, 0, -fabs(way.z) };
	const carom_shape field = fixture_of_mesh(mesh);
	const carom_toi toi = peer_impact(context, shape, from, way, &field, here(), 1e-5);
	const float *v = carom_mesh_get_vertices(mesh);
	double first = 2;
	for (int32_t t = 0; t < carom_mesh_get_report(mesh)->triangle_count; t++) {
		const int32_t *c = carom_mesh_get_triangles(mesh) + 3 * (int64_t)t;
		carom_mesh *one = peer_triangle(context, v3d_from_floats(v + 3 * c[0]), v3d_from_floats(v + 3 * c[1]),
			v3d_from_floats(v + 3 * c[2]), CAROM_SIDES_BOTH);
		const carom_shape triangle = fixture_of_mesh(one);
		const carom_toi single = peer_impact(context, shape, from, way, &triangle, here(), 1e-5);
		if (single.status != CAROM_TOI_APART)
			first = fmin(first, single.time);
		carom_release_mesh(one);
	}
	// A shape that begins wholly in the solid meets none of its triangles first.
	const bool begins_inside = toi.status == CAROM_TOI_TOUCHING;
	CHECK(begins_inside || (toi.status == CAROM_TOI_APART) == (first > 1));
	// Each time lies between that of the tolerance and that of half of it.
	if (!begins_inside && first <= 1)
		CHECK_NEAR(toi.time, first, 1e-3);
	carom_release_mesh(mesh);
	return toi.status != CAROM_TOI_APART;
}

// heightfield_shape_cast.rs: fields of one cell, shapes that skim them, fall or fly anywhere, against the triangles one by one.
TEST(peer_parry, casts_over_fields_of_one_cell)
{
	carom_context *context = fixture_context(1);
	const carom_shape shapes[3] = { fixture_sphere(0.4), fixture_box(0.6, 0.9, 0.3), fixture_capsule(0.3, 0.5) };
	uint64_t seed = 0x5ca57;
	int hits = 0;
	enum { CASTS = 120 };
	for (int i = 0; i < CASTS; i++)
		hits += check_cell_cast(context, &seed, &shapes[i % 3], i % 4);
	CHECK(hits > CASTS / 10 && hits < CASTS * 9 / 10);
	carom_destroy_context(context);
}

// ---- Casts ----

// issue_193_shape_cast_penetrating_normals.rs: shapes that begin a little in a large box and move up and aside.
TEST(peer_parry, casts_that_begin_a_little_inside)
{
	carom_context *context = fixture_context(1);
	const carom_shape capsule = fixture_capsule(1, 5), ball = fixture_sphere(1), box = fixture_box(20, 20, 1);
	const struct {
		const carom_shape *shape;
		double z, depth;
	} cases[] = { { &capsule, 4.99, 1.01 }, { &capsule, 4.98, 1.02 }, { &ball, 0.8, 0.2 }, { &ball, 0.799999, 0.200001 } };
	for (int i = 0; i < 4; i++) {
		const carom_toi toi = peer_impact(
			context, cases[i].shape, fixture_at(0, 0, cases[i].z), (v3d){ 0.1, 0, 1 }, &box, fixture_at(0, 0, -1), 1e-5);
		CHECK_INT(toi.status, CAROM_TOI_TOUCHING);
		CHECK(toi.time == 0);
		CHECK_NEAR(toi.separation.distance, -cases[i].depth, 1e-6);
		peer_check_vector(toi.separation.normal, Z, 1e-6);
	}
	carom_destroy_context(context);
}

// issue_429_shape_cast_toi_accuracy.rs and geometry/shape_cast_huge_cuboid_toi.rs: the time must not depend on the size of the ground,
// but for a part in 10^10 of it.
TEST(peer_parry, casts_at_huge_boxes)
{
	static const v3d places[] = { { 1.4, 2.8, 0 }, { -1.4, -0.4, 0 }, { 1.4, -2, 0 }, { -1.4, 2, 0 } };
	static const double halves[] = { 5, 50, 500, 5000 };
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(0.5166);
	for (int k = 0; k < 4; k++) {
		const carom_shape ground = fixture_box(halves[k], halves[k], 0.5);
		const double lost = 2e-10 * (halves[k] + 2);
		for (int i = 0; i < 200; i++) {
			const double z = 1.177 + (i / 4) * 2e-4;
			const carom_toi toi = peer_impact(context, &ball, fixture_at(places[i % 4].x, places[i % 4].y, z),
				(v3d){ 0, 0, -2 }, &ground, fixture_at(0, 0, -0.5), 1e-7);
			CHECK_INT(toi.status, CAROM_TOI_IMPACT);
			CHECK_NEAR(2 * toi.time, z - 0.5166, 1e-7 + lost);
			CHECK_NEAR(toi.separation.point_b.z, 0, 1e-9);
			peer_check_vector(toi.separation.normal, Z, 1e-3);
		}
		const carom_shape disc = fixture_cylinder(0.438, 0.25), sphere = fixture_sphere(0.438);
		const carom_pose from = fixture_at(k == 3 ? 43 : 0, k == 3 ? 5.7 : 0, 1.281), below = fixture_at(0, 0, -0.6);
		CHECK_NEAR(2 * peer_impact(context, &disc, from, (v3d){ 0, 0, -2 }, &ground, below, 1e-6).time, 1.131, 1e-6 + lost);
		CHECK_NEAR(2 * peer_impact(context, &sphere, from, (v3d){ 0, 0, -2 }, &ground, below, 1e-6).time, 0.943, 1e-6 + lost);
	}
	carom_destroy_context(context);
}

// geometry/ball_ball_toi.rs, still_objects_toi.rs, time_of_impact3.rs, trimesh_trimesh_toi.rs, ball_triangle_toi.rs,
// issue_26_shape_cast_target_distance.rs, issue_106_shape_cast_status_consistency.rs.
TEST(peer_parry, times_of_impact)
{
	carom_context *context = fixture_context(1);
	static const float points[12] = { 0, 1, 0, -1, -0.5f, 0, 0, -0.5f, -1, 1, -0.5f, 0 };
	static const int32_t sides[9] = { 0, 1, 2, 0, 2, 3, 0, 3, 1 };
	carom_mesh *pyramid = peer_mesh(context, points, 4, sides, 3, CAROM_SIDES_AUTO, NULL);
	carom_mesh *flat =
		peer_triangle(context, (v3d){ 0.5, -0.5, 0 }, (v3d){ -0.5, -0.5, 0 }, (v3d){ -0.5, 0.5, 0 }, CAROM_SIDES_AUTO);
	const carom_shape ball = fixture_sphere(0.5), box = fixture_box(0.5, 0.5, 0.5), unit = fixture_sphere(1),
					  cube = fixture_box(1, 1, 1);
	const carom_shape open = fixture_of_mesh(pyramid), small = fixture_sphere(0.375), triangle = fixture_of_mesh(flat);
	const struct {
		const carom_shape *a, *b;
		v3d from, way, at;
		double tolerance, time;
		carom_toi_status status;
	} cases[] = {
		{ &ball, &ball, { 0, 0, 0 }, { 0, 10, 0 }, { 0, 10, 0 }, 1e-6, 0.9, CAROM_TOI_IMPACT },
		{ &box, &box, { 0, 1.1, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, 1e-6, 1, CAROM_TOI_APART },
		{ &box, &box, { 0, 1.1, 0 }, { 0, 1, 0 }, { 0, 0, 0 }, 1e-6, 1, CAROM_TOI_APART },
		{ &box, &box, { 0, 1.1, 0 }, { 0, -1, 0 }, { 0, 0, 0 }, 1e-6, 0.1, CAROM_TOI_IMPACT },
		{ &unit, &cube, { 1, 1, 1 }, { 3, 1, 1 }, { 0, 0, 0 }, 1e-6, 0, CAROM_TOI_TOUCHING },
		{ &unit, &cube, { 2, 2, 2 }, { -1.5, -1.5, -1.5 }, { 0, 0, 0 }, 1e-6, (sqrt(3) - 1) / sqrt(6.75), CAROM_TOI_IMPACT },
		{ &unit, &cube, { 3, 3, 3 }, { 3, 1, 1 }, { 0, 0, 0 }, 1e-6, 1, CAROM_TOI_APART },
		{ &open, &open, { 0, 0, 0 }, { 100000, 0, 0 }, { 1000, 0, 0 }, 1e-3, 0.00998, CAROM_TOI_IMPACT },
		{ &small, &triangle, { 0, 0, 0 }, { 0, 6.925e-42, 0 }, { 11.5, 5.5, 0 }, 1e-6, 1, CAROM_TOI_APART },
		{ &ball, &ball, { 0, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 }, 1e-6, 1, CAROM_TOI_IMPACT },
		{ &ball, &ball, { 0, 1, 0 }, { 0, -1, 0 }, { 0, 0, 0 }, 1e-6, 0, CAROM_TOI_TOUCHING },
		{ &ball, &cube, { 0, 1.5, 0 }, { 0, -1, 0 }, { 0, 0, 0 }, 1e-6, 0, CAROM_TOI_TOUCHING },
		{ &ball, &ball, { 0, 0.875, 0 }, { 0, -1, 0 }, { 0, 0, 0 }, 1e-6, 0, CAROM_TOI_TOUCHING },
		{ &ball, &cube, { 0, 1.375, 0 }, { 0, -1, 0 }, { 0, 0, 0 }, 1e-6, 0, CAROM_TOI_TOUCHING },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const v3d from = cases[i].from, at = cases[i].at;
		const carom_toi toi = peer_impact(context, cases[i].a, fixture_at(from.x, from.y, from.z), cases[i].way, cases[i].b,
			fixture_at(at.x, at.y, at.z), cases[i].tolerance);
		CHECK_INT(toi.status, cases[i].status);
		CHECK(toi.time <= cases[i].time);
		CHECK_NEAR(toi.time, cases[i].time, 2e-6);
	}
	carom_release_mesh(pyramid);
	carom_release_mesh(flat);
	carom_destroy_context(context);
}

// ---- Manifolds ----

static int cap_contacts(carom_context *context, const carom_shape *a, carom_pose pose, const carom_shape *b, v3d normal)
{
	carom_manifold m;
	REQUIRE(carom_collide_convex(context, a, &pose, b, NULL, 0.01, &m) == CAROM_SUCCESS);
	peer_check_vector(m.normal, normal, 0.01);
	return m.count;
}

// issue_rapier810_cylinder_cap_manifold.rs: a cube that lies flat on the cap of a wide disc, out to its rim; a cylinder on a floor.
TEST(peer_parry, cubes_on_the_cap_of_a_disc)
{
	static const double places[][2] = { { 0, 0 }, { 3, -2 }, { 5.54, 4.51 }, { -5.65, 5.65 }, { 7, 7 }, { 9.9, 0 } };
	carom_context *context = fixture_context(1);
	const carom_shape disc = fixture_cylinder(10, 0.05), cube = fixture_box(0.05, 0.05, 0.05), floor = fixture_box(5, 5, 0.5);
	for (int i = 0; i < 12; i++) {
		const carom_pose at = fixture_at(places[i % 6][0], places[i % 6][1], 0.1 + (i < 6 ? -0.001 : 0.0001));
		CHECK(cap_contacts(context, &cube, at, &disc, Z) >= 3);
	}
	const carom_shape can = fixture_cylinder(0.3, 0.4), barrel = fixture_cylinder(0.5, 2), block = fixture_box(0.25, 0.25, 0.25);
	CHECK(cap_contacts(context, &can, fixture_at(1, -2, 0.899), &floor, Z) >= 3);
	carom_manifold m;
	const carom_pose beside = fixture_at(0.749, 0, 0);
	REQUIRE(carom_collide_convex(context, &block, &beside, &barrel, NULL, 0.01, &m) == CAROM_SUCCESS);
	peer_check_vector(m.normal, X, 1e-6);
	CHECK(m.count > 0);
	for (int i = 0; i < m.count; i++)
		CHECK_NEAR(m.points[i].point.y, 0, 1e-3);
	carom_destroy_context(context);
}

// two_sided_internal_edges.rs: a ball over and under the inner edge of a strip. Parry drops what comes from behind; Carom's front
// pushes it up and out, and a mesh of two sides pushes it down.
TEST(peer_parry, a_ball_on_both_sides_of_an_inner_edge)
{
	static const float vertices[18] = { -2, -1, 0, 0, -1, 0, 2, -1, 0, -2, 1, 0, 0, 1, 0, 2, 1, 0 };
	static const int32_t triangles[12] = { 0, 1, 4, 0, 4, 3, 1, 2, 5, 1, 5, 4 };
	carom_context *context = fixture_context(1);
	const carom_shape ball = fixture_sphere(0.5);
	for (int both = 0; both < 2; both++) {
		carom_mesh *mesh = peer_mesh(context, vertices, 6, triangles, 4, both ? CAROM_SIDES_BOTH : CAROM_SIDES_FRONT, NULL);
		const carom_shape strip = fixture_of_mesh(mesh);
		carom_contact contacts[8];
		for (int below = 0; below < 2; below++) {
			const int count = peer_collide(context, &ball, fixture_at(0, 0, below ? -0.4 : 0.4), &strip, here(), 0, contacts);
			CHECK_INT(count, 1);
			const bool down = below && both;
			peer_check_vector(fixture_normal(&contacts[0]), (v3d){ 0, 0, down ? -1 : 1 }, 1e-6);
			CHECK_NEAR(contacts[0].depth, below && !both ? 0.9 : 0.1, 1e-6);
		}
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

// ---- Rays, hulls, masses ----

// issue_451_convex_hull_raycast.rs: a pyramid of five points; a ray that misses it, and one that hits it.
TEST(peer_parry, rays_at_a_pyramid)
{
	static const float points[15] = { -34, -14, 29, -24, -12, 29, -32, -12, 29, -32, -12, 2, -24, -12, 2 };
	carom_context *context = fixture_context(1);
	carom_mesh *hull = fixture_hull_mesh(context, points, 5);
	const carom_shape shapes[2] = { fixture_hull(hull), fixture_of_mesh(hull) };
	for (int i = 0; i < 2; i++) {
		const carom_ray rays[2] = { { { -16, 8, 0 }, { -0.5956519, -0.67131174, 0.44106603 }, 0, 1e6 },
			{ { -28, 0, 10 }, { 0, -1, 0 }, 0, 1e6 } };
		for (int k = 0; k < 2; k++) {
			bool found;
			carom_ray_hit hit;
			REQUIRE(carom_shape_cast_ray(context, &shapes[i], NULL, &rays[k], &found, &hit) == CAROM_SUCCESS);
			CHECK_INT(found, k == 1);
			if (k == 1)
				CHECK_NEAR(hit.t, 12, 1e-6);
		}
	}
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

// issue_451, tetrahedron_distant_face_projection: a point far in front of the middle of a face.
TEST(peer_parry, points_far_from_a_tetrahedron)
{
	static const float points[12] = { 0, 0, 0, 1, -1, 0, 1, 0, -1, -1, -1, -1 };
	carom_context *context = fixture_context(1);
	carom_mesh *hull = fixture_hull_mesh(context, points, 4);
	const carom_shape shape = fixture_hull(hull);
	static const double offs[] = { 0.25, 4096 };
	for (int i = 0; i < 2; i++) {
		bool found;
		carom_closest_point near;
		const v3d p = { 0.5 + offs[i], -0.25 + offs[i], -0.25 + offs[i] };
		REQUIRE(carom_shape_closest_point(context, &shape, NULL, p, INFINITY, &found, &near) == CAROM_SUCCESS && found);
		peer_check_vector(near.point, (v3d){ 0.5, -0.25, -0.25 }, 1e-6);
		CHECK_NEAR(near.distance, offs[i] * sqrt(3), 1e-6);
	}
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

// geometry/cuboid_ray_cast.rs: rays at turned shapes. Beside the hit one side is inside and the other is not, and a ray back from
// there meets nothing.
TEST(peer_parry, rays_at_turned_shapes)
{
	carom_context *context = fixture_context(1);
	const carom_shape shapes[4] = { fixture_sphere(1), fixture_box(1, 1, 1), fixture_box(1, 1, 0.5), fixture_box(0.5, 1, 0.5) };
	uint64_t seed = 42;
	for (int i = 0; i < 1000 / TEST_FEWER; i++) {
		const carom_shape *shape = &shapes[i % 4];
		const v3d origin = v3d_scale(v3d_normalize((v3d){ test_random_double(&seed, 0, 1), test_random_double(&seed, 0, 1),
										 test_random_double(&seed, 0, 1) }),
			5);
		carom_pose pose = fixture_random_pose(&seed, 1);
		pose.position = ORIGIN;
		if (i % 97 == 0)
			pose = here();
		const carom_ray ray = { origin, v3d_neg(origin), 0, INFINITY };
		bool found;
		carom_ray_hit hit;
		REQUIRE(carom_shape_cast_ray(context, shape, &pose, &ray, &found, &hit) == CAROM_SUCCESS && found);
		CHECK(!hit.back_face);
		for (int side = -1; side <= 1; side += 2) {
			const v3d p = v3d_mad(hit.point, 0.001 * side, hit.normal);
			carom_closest_point near;
			REQUIRE(carom_shape_closest_point(context, shape, &pose, p, INFINITY, &found, &near) == CAROM_SUCCESS && found);
			CHECK_INT(near.distance < 0, side < 0);
		}
		const v3d out = v3d_mad(hit.point, 0.001, hit.normal);
		const carom_ray back = { out, v3d_sub(origin, out), 0, INFINITY };
		REQUIRE(carom_shape_cast_ray(context, shape, &pose, &back, &found, &hit) == CAROM_SUCCESS);
		CHECK(!found);
	}
	carom_destroy_context(context);
}

// issue_252_trimesh_inertia_offdiagonal.rs: a box mesh along the axes, and turned with its vertices.
TEST(peer_parry, the_inertia_of_a_turned_box)
{
	carom_context *context = fixture_context(1);
	static const double half[3] = { 0.4, 0.6, 0.8 };
	const double m = 8 * half[0] * half[1] * half[2];
	const double own[3] = { m / 3 * (0.36 + 0.64), m / 3 * (0.16 + 0.64), m / 3 * (0.16 + 0.36) };
	for (int turned = 0; turned < 2; turned++) {
		const carom_quat turn = fixture_turn((v3d){ 1, 2, 3 }, turned ? 0.7 : 0);
		double vertices[24];
		for (int i = 0; i < 8; i++) {
			const v3d p = carom_rotate(turn, (v3d){ i & 1 ? 0.4 : -0.4, i & 2 ? 0.6 : -0.6, i & 4 ? 0.8 : -0.8 });
			vertices[3 * i] = p.x, vertices[3 * i + 1] = p.y, vertices[3 * i + 2] = p.z;
		}
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT64 };
		def.vertex_count = 8;
		def.triangles = CUBE;
		def.triangle_count = 12;
		carom_mesh *mesh;
		REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
		carom_mass mass;
		REQUIRE(carom_mesh_get_mass(mesh, &mass) == CAROM_SUCCESS);
		CHECK_NEAR(mass.mass, m, 1e-6);
		const m3d r = m3d_from_quat(turn);
		static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
		for (int k = 0; k < 6; k++) {
			double expected = 0;
			for (int j = 0; j < 3; j++)
				expected += own[j] * v3d_get(r.row[at[k][0]], j) * v3d_get(r.row[at[k][1]], j);
			CHECK_NEAR(mass.inertia[k], expected, 1e-6);
		}
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}
