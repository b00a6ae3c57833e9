// Mass, centre and inertia of shapes and parts: fine meshes as the oracle, and identities between shapes.
#include "fixture.h"

#include "carom/carom.h"

#include <math.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;
enum { ROWS = 64, COLUMNS = 128 };

static carom_mass mass_of(carom_context *context, carom_shape shape)
{
	carom_mass mass = { 0 };
	REQUIRE(carom_shape_get_mass(context, &shape, &mass) == CAROM_SUCCESS);
	return mass;
}

/// Within a part of the mass, of a length and of the mass times its square.
static void check_same(const carom_mass *a, const carom_mass *b, double length, double part)
{
	CHECK_NEAR(a->mass, b->mass, part * b->mass);
	CHECK_NEAR(a->centre.x, b->centre.x, part * length);
	CHECK_NEAR(a->centre.y, b->centre.y, part * length);
	CHECK_NEAR(a->centre.z, b->centre.z, part * length);
	for (int k = 0; k < 6; k++)
		CHECK_NEAR(a->inertia[k], b->inertia[k], part * b->mass * length * length);
}

/// The point of a shape without rounding that is farthest along a unit direction.
static carom_vec3 farthest(const carom_shape *s, carom_vec3 d)
{
	const double *h = s->half_extents, across = hypot(d.x, d.y), l = s->half_length, r = s->radius;
	const double x = across > 0 ? r * d.x / across : 0, y = across > 0 ? r * d.y / across : 0;
	carom_vec3 p = { h[0] * h[0] * d.x, h[1] * h[1] * d.y, h[2] * h[2] * d.z };
	const double length = sqrt(h[0] * h[0] * d.x * d.x + h[1] * h[1] * d.y * d.y + h[2] * h[2] * d.z * d.z);
	switch (s->type) {
	case CAROM_SPHERE: return (carom_vec3){ r * d.x, r * d.y, r * d.z };
	case CAROM_CAPSULE: return (carom_vec3){ r * d.x, r * d.y, r * d.z + copysign(l, d.z) };
	case CAROM_BOX: return (carom_vec3){ copysign(h[0], d.x), copysign(h[1], d.y), copysign(h[2], d.z) };
	case CAROM_CYLINDER: return (carom_vec3){ x, y, copysign(l, d.z) };
	case CAROM_CONE: return r * across - l * d.z > l * d.z ? (carom_vec3){ x, y, -l } : (carom_vec3){ 0, 0, l };
	default: p.x /= length, p.y /= length, p.z /= length; return p;
	}
}

/// A fine mesh inside a shape.
static carom_mesh *fine_mesh(carom_context *context, const carom_shape *s)
{
	static float points[3 * ROWS * COLUMNS];
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		const double tilt = PI * (i / COLUMNS + 0.5) / ROWS, turn = 2 * PI * (i % COLUMNS + 0.5) / COLUMNS;
		const carom_vec3 d = { sin(tilt) * cos(turn), sin(tilt) * sin(turn), cos(tilt) }, p = farthest(s, d);
		points[3 * i] = (float)(p.x + s->rounding * d.x);
		points[3 * i + 1] = (float)(p.y + s->rounding * d.y);
		points[3 * i + 2] = (float)(p.z + s->rounding * d.z);
	}
	return fixture_hull_mesh(context, points, ROWS * COLUMNS);
}

TEST(shape_mass, is_that_of_fine_meshes)
{
	carom_context *context = fixture_context(1);
	carom_shape shapes[] = {
		{ .type = CAROM_SPHERE, .radius = 0.7 },
		{ .type = CAROM_CAPSULE, .radius = 0.4, .half_length = 0.6 },
		{ .type = CAROM_BOX, .half_extents = { 0.3, 0.5, 0.8 } },
		{ .type = CAROM_CYLINDER, .radius = 0.4, .half_length = 0.7 },
		{ .type = CAROM_CONE, .radius = 0.6, .half_length = 0.5 },
		{ .type = CAROM_ELLIPSOID, .half_extents = { 0.3, 0.5, 0.8 } },
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		for (int round = 0; round < (i < 2 ? 1 : 3); round++) {
			shapes[i].rounding = i < 2 ? 0 : 0.3 * round;
			carom_mesh *mesh = fine_mesh(context, &shapes[i]);
			carom_mass fine;
			REQUIRE(carom_mesh_get_mass(mesh, &fine) == CAROM_SUCCESS);
			const carom_mass mass = mass_of(context, shapes[i]);
			check_same(&fine, &mass, 1, 3e-3);
			CHECK(fine.mass < mass.mass * (1 + 1e-6));
			carom_release_mesh(mesh);
		}
	}
	carom_destroy_context(context);
}

// The closed forms of rounded hulls, boxes, cylinders and ellipsoids are four ways to one answer.
TEST(shape_mass, rounded_shapes_agree)
{
	carom_context *context = fixture_context(1);
	const double h[3] = { 0.25, 0.5, 1 }, r = 0.375;
	float corners[24];
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 3; k++)
			corners[3 * i + k] = (float)(i >> k & 1 ? h[k] : -h[k]);
	carom_mesh *hull = fixture_hull_mesh(context, corners, 8);
	const carom_mass box =
		mass_of(context, (carom_shape){ .type = CAROM_BOX, .half_extents = { h[0], h[1], h[2] }, .rounding = r });
	const carom_mass same = mass_of(context, (carom_shape){ .type = CAROM_HULL, .mesh = hull, .rounding = r });
	check_same(&same, &box, 1, 1e-13);
	carom_release_mesh(hull);

	const carom_mass ball = mass_of(context, (carom_shape){ .type = CAROM_SPHERE, .radius = 0.75 });
	const carom_mass grown =
		mass_of(context, (carom_shape){ .type = CAROM_ELLIPSOID, .half_extents = { 0.5, 0.5, 0.5 }, .rounding = 0.25 });
	check_same(&grown, &ball, 1, 1e-13);

	// A thin rounded cylinder and a thin rounded cone tend to a capsule.
	const carom_mass capsule = mass_of(context, (carom_shape){ .type = CAROM_CAPSULE, .radius = 0.3, .half_length = 0.5 });
	const carom_shape rod = { .type = CAROM_CYLINDER, .radius = 1e-9, .half_length = 0.5, .rounding = 0.3 };
	const carom_mass thin = mass_of(context, rod);
	check_same(&thin, &capsule, 1, 1e-7);
	const carom_shape needle = { .type = CAROM_CONE, .radius = 1e-9, .half_length = 0.5, .rounding = 0.3 };
	const carom_mass sharp = mass_of(context, needle);
	check_same(&sharp, &capsule, 1, 1e-7);
	carom_destroy_context(context);
}

/// A hull of random points somewhere, rounded: its parts move with its place.
TEST(shape_mass, rounded_hulls_anywhere)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 5;
	for (int round = 0; round < 20; round++) {
		float points[2][3 * 40];
		const int32_t count = 4 + 2 * round % 36;
		for (int i = 0; i < 3 * count; i++) {
			points[0][i] = (float)(int)test_random_double(&seed, -512, 512) / 512;
			points[1][i] = points[0][i] + 8;
		}
		carom_mesh *here = fixture_hull_mesh(context, points[0], count), *there = fixture_hull_mesh(context, points[1], count);
		const carom_mass a = mass_of(context, (carom_shape){ .type = CAROM_HULL, .mesh = here, .rounding = 0.5 });
		carom_mass b = mass_of(context, (carom_shape){ .type = CAROM_HULL, .mesh = there, .rounding = 0.5 });
		b.centre = (carom_vec3){ b.centre.x - 8, b.centre.y - 8, b.centre.z - 8 };
		check_same(&b, &a, 1, 1e-11);
		// Steiner: the volume grows by r S + r^2 M + 4/3 pi r^3, so three radii give it at a fourth.
		const double v[4] = { mass_of(context, fixture_hull(here)).mass,
			mass_of(context, (carom_shape){ .type = CAROM_HULL, .mesh = here, .rounding = 1 }).mass - 4 * PI / 3,
			mass_of(context, (carom_shape){ .type = CAROM_HULL, .mesh = here, .rounding = 2 }).mass - 32 * PI / 3,
			mass_of(context, (carom_shape){ .type = CAROM_HULL, .mesh = here, .rounding = 3 }).mass - 108 * PI / 3 };
		CHECK_NEAR(v[3], v[0] - 3 * v[1] + 3 * v[2], 1e-10 * v[3]);
		carom_release_mesh(here);
		carom_release_mesh(there);
	}
	carom_destroy_context(context);
}

/// How far 1,600 directions carry for a rounded ellipsoid: the truth is a rounded hull of many points of it.
TEST(shape_mass, rounded_ellipsoids_and_hulls)
{
	carom_context *context = fixture_context(1);
	const carom_shape flat = { .type = CAROM_ELLIPSOID, .half_extents = { 1, 0.4, 0.1 } };
	carom_mesh *mesh = fine_mesh(context, &flat);
	const carom_mass hull = mass_of(context, (carom_shape){ .type = CAROM_HULL, .mesh = mesh, .rounding = 0.2 });
	const carom_mass smooth =
		mass_of(context, (carom_shape){ .type = CAROM_ELLIPSOID, .half_extents = { 1, 0.4, 0.1 }, .rounding = 0.2 });
	check_same(&hull, &smooth, 1, 2e-3);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(shape_mass, meshes_and_parts)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_torus_mesh(context, 40, 20, 0.3, 0.2), *scaled;
	REQUIRE(carom_create_scaled_mesh(context, mesh, (const double[3]){ 2, -1, 0.5 }, &scaled) == CAROM_SUCCESS);
	carom_mass expected;
	REQUIRE(carom_mesh_get_mass(scaled, &expected) == CAROM_SUCCESS);
	const carom_mass whole = mass_of(context, (carom_shape){ .type = CAROM_MESH, .mesh = scaled });
	check_same(&whole, &expected, 1, 0);

	// A box sawn in two, one half of it turned by a right angle about x.
	const double s = sqrt(0.5);
	const carom_part halves[2] = {
		{ .shape = { .type = CAROM_BOX, .half_extents = { 0.5, 0.3, 0.2 } }, .pose = { { 3.5, 1, 2 }, { 0, 0, 0, 1 } } },
		{ .shape = { .type = CAROM_BOX, .half_extents = { 0.5, 0.2, 0.3 } }, .pose = { { 4.5, 1, 2 }, { s, 0, 0, s } } },
	};
	carom_mass sum, one = mass_of(context, (carom_shape){ .type = CAROM_BOX, .half_extents = { 1, 0.3, 0.2 } });
	one.centre = (carom_vec3){ 4, 1, 2 };
	REQUIRE(carom_parts_get_mass(context, halves, 2, NULL, &sum) == CAROM_SUCCESS);
	check_same(&sum, &one, 1, 1e-14);
	// Halves of other densities: the heavier one draws the centre, and adds by Steiner.
	const double densities[2] = { 3, 1 };
	carom_mass uneven;
	REQUIRE(carom_parts_get_mass(context, halves, 2, densities, &uneven) == CAROM_SUCCESS);
	CHECK_NEAR(uneven.mass, 2 * one.mass, 1e-14);
	CHECK_NEAR(uneven.centre.x, 3.75, 1e-14);
	CHECK_NEAR(uneven.inertia[0], 2 * one.inertia[0], 1e-14);
	CHECK_NEAR(uneven.inertia[1], 2 * one.inertia[1] - uneven.mass * 0.0625, 1e-14);

	// Moments of a mesh that was turned and moved.
	uint64_t seed = 9;
	const carom_pose pose = fixture_random_pose(&seed, 2);
	const carom_part part = { .shape = { .type = CAROM_MESH, .mesh = scaled }, .pose = pose };
	REQUIRE(carom_parts_get_mass(context, &part, 1, NULL, &sum) == CAROM_SUCCESS);
	const int32_t count = carom_mesh_get_report(scaled)->vertex_count;
	double *moved = malloc(sizeof(double) * 3 * (size_t)count);
	REQUIRE(moved != NULL);
	for (int32_t i = 0; i < count; i++) {
		const float *v = carom_mesh_get_vertices(scaled) + 3 * i;
		const carom_vec3 p = carom_transform_point(pose, (carom_vec3){ v[0], v[1], v[2] });
		moved[3 * i] = p.x, moved[3 * i + 1] = p.y, moved[3 * i + 2] = p.z;
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ moved, 0, CAROM_FLOAT64 };
	def.vertex_count = count;
	def.triangles = carom_mesh_get_triangles(scaled);
	def.triangle_count = carom_mesh_get_report(scaled)->triangle_count;
	carom_mesh *turned;
	REQUIRE(carom_create_mesh(context, &def, NULL, &turned) == CAROM_SUCCESS);
	REQUIRE(carom_mesh_get_mass(turned, &expected) == CAROM_SUCCESS);
	check_same(&sum, &expected, 1, 1e-5);
	free(moved);
	carom_release_mesh(turned);
	carom_release_mesh(scaled);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(shape_mass, tells_what_is_wrong)
{
	carom_context *context = fixture_context(1);
	carom_mesh *open = fixture_sheet_mesh(context, 4, 1);
	carom_mass mass = { .mass = 4711 };
	carom_shape shape = { .type = CAROM_PLANE };
	fixture_expect_wrong(context, carom_shape_get_mass(context, &shape, &mass), "CAROM_PLANE");
	shape = (carom_shape){ .type = CAROM_MESH, .mesh = open };
	fixture_expect_error(context, carom_shape_get_mass(context, &shape, &mass), CAROM_INVALID_MESH, "is open");
	shape = (carom_shape){ .type = CAROM_CONE, .radius = 1 };
	fixture_expect_wrong(context, carom_shape_get_mass(context, &shape, &mass), "half_length");
	fixture_expect_wrong(context, carom_shape_get_mass(context, NULL, &mass), "shape is NULL");
	fixture_expect_wrong(context, carom_shape_get_mass(context, &shape, NULL), "mass is NULL");
	CHECK_INT(carom_shape_get_mass(NULL, &shape, &mass), CAROM_INVALID_ARGUMENT);
	carom_part parts[2] = { { .shape = fixture_sphere(1), .pose = carom_pose_identity() },
		{ .shape = { .type = CAROM_PLANE }, .pose = carom_pose_identity() } };
	fixture_expect_wrong(context, carom_parts_get_mass(context, parts, 2, NULL, &mass), "parts[1]");
	parts[1] = (carom_part){ .shape = fixture_sphere(1) };
	fixture_expect_wrong(context, carom_parts_get_mass(context, parts, 2, NULL, &mass), "parts[1]: pose.orientation");
	fixture_expect_wrong(context, carom_parts_get_mass(context, parts, 0, NULL, &mass), "part_count");
	fixture_expect_wrong(context, carom_parts_get_mass(context, NULL, 1, NULL, &mass), "parts is NULL");
	fixture_expect_wrong(context, carom_parts_get_mass(context, parts, 1, NULL, NULL), "mass is NULL");
	CHECK_INT(carom_parts_get_mass(NULL, parts, 1, NULL, &mass), CAROM_INVALID_ARGUMENT);
	const double bad[3][1] = { { 0 }, { -2 }, { (double)NAN } };
	for (int i = 0; i < 3; i++)
		fixture_expect_wrong(context, carom_parts_get_mass(context, parts, 1, bad[i], &mass), "densities[0]");
	CHECK(mass.mass == 4711);
	carom_release_mesh(open);
	carom_destroy_context(context);
}
