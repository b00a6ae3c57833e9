/// Convex shapes that lie a little deep on the rim of a mesh: on the top of a wedge whose sides lean back under it, and on hills that end
/// in a wall. No contact is much deeper than the shape lies, and all together lead out.
#include "fixture.h"

#include <math.h>
#include <stdio.h>

enum { KINDS = 7 };

static carom_shape shape_of(carom_context *context, int kind, carom_mesh **hull)
{
	switch (kind) {
	case 0: return fixture_cylinder(0.5, 0.5);
	case 1: return (carom_shape){ .type = CAROM_CONE, .radius = 0.5, .half_length = 0.5 };
	case 2: return (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.45, 0.45, 0.45 }, .rounding = 0.05 };
	case 3: return fixture_box(0.5, 0.5, 0.5);
	case 4: return (carom_shape){ .type = CAROM_ELLIPSOID, .half_extents = { 0.5, 0.4, 0.3 } };
	case 5: return fixture_capsule(0.3, 0.3);
	default: break;
	}
	if (!*hull) {
		double points[3 * 24];
		uint64_t seed = 3;
		for (int i = 0; i < 24; i++) {
			const v3d p = v3d_scale(v3d_normalize((v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
										test_random_double(&seed, -1, 1) }),
				0.5);
			points[3 * i] = p.x;
			points[3 * i + 1] = p.y;
			points[3 * i + 2] = p.z;
		}
		const carom_strided strided = { points, 0, CAROM_FLOAT64 };
		REQUIRE(carom_create_hull(context, &strided, 24, hull) == CAROM_SUCCESS);
	}
	return (carom_shape){ .type = CAROM_HULL, .mesh = *hull };
}

/// A wedge of 12 triangles, 10 m wide; its top is z = 0.1 x.
static carom_mesh *make_wedge(carom_context *context)
{
	fixture_soup soup = { 0 };
	fixture_soup_box(&soup, (v3d){ 0, 0, -2.5 }, 5, 5, 2.5);
	for (int i = 0; i < soup.vertex_count; i++) {
		if (soup.vertices[3 * i + 2] > -1)
			soup.vertices[3 * i + 2] = 0.1F * soup.vertices[3 * i];
	}
	return fixture_mesh(context, &soup);
}

/// Hills of 17 x 17 samples that end in walls at x = 0 and 16.
static carom_mesh *make_hills(carom_context *context)
{
	float heights[17 * 17];
	for (int j = 0; j < 17; j++) {
		for (int i = 0; i < 17; i++)
			heights[17 * j + i] = (float)(sin(0.25 * i) * cos(0.2 * j));
	}
	const double spacing[2] = { 1, 1 };
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, 17, 17, heights, spacing, 5, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// A shape that falls on the rim at x, and then sinks by depth. false: it misses.
static bool sink(carom_context *context, const carom_shape *shape, const carom_shape *ground, uint64_t *seed, double x,
	double y0, double y1, double depth, carom_pose *pose)
{
	const carom_pose at = fixture_at(x, test_random_double(seed, y0, y1), 8);
	const double yaw = test_random_double(seed, 0, 6.28), tilt = test_random_double(seed, -0.1, 0.1);
	*pose = at;
	pose->orientation = (carom_quat){ sin(tilt / 2) * cos(yaw / 2), sin(tilt / 2) * sin(yaw / 2), cos(tilt / 2) * sin(yaw / 2),
		cos(tilt / 2) * cos(yaw / 2) };
	const carom_motion motion = carom_straight_motion(*pose, (carom_vec3){ 0, 0, -12 });
	carom_toi toi;
	REQUIRE(carom_time_of_impact(context, shape, &motion, ground, NULL, 1e-4, &toi) == CAROM_SUCCESS);
	*pose = carom_motion_pose(&motion, toi.time);
	pose->position.z -= depth;
	return toi.status == CAROM_TOI_IMPACT;
}

static void lie_at_rim(carom_mesh *(*make)(carom_context *), double rim, double y0, double y1)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = make(context), *hull = NULL;
	const carom_shape ground = fixture_of_mesh(mesh);
	for (int kind = 0; kind < KINDS; kind++) {
		const carom_shape shape = shape_of(context, kind, &hull);
		uint64_t seed = 4242 + (uint64_t)kind;
		int placed = 0;
		double worst = 0;
		for (int i = 0; i < 600 / TEST_STRIDE; i++) {
			const double depth = i % 3 == 0 ? 0.001 : i % 3 == 1 ? 0.005 : 0.02;
			carom_pose pose;
			if (!sink(context, &shape, &ground, &seed, rim + test_random_double(&seed, -0.55, 0.2), y0, y1, depth, &pose))
				continue;
			carom_contact contacts[64];
			int32_t count;
			REQUIRE(carom_collide(context, &shape, &pose, &ground, NULL, 0, 64, contacts, &count) == CAROM_SUCCESS);
			CHECK(count > 0);
			placed++;
			for (int32_t k = 0; k < count; k++)
				worst = fmax(worst, contacts[k].depth / depth);
		}
		if (!CHECK(worst < 4))
			printf("kind %d at the rim %g: a contact is %g times as deep as the shape lies\n", kind, rim, worst);
		CHECK(placed > 100 / TEST_STRIDE);
	}
	carom_release_mesh(mesh);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

TEST(rims, of_a_wedge_push_along_its_top) { lie_at_rim(make_wedge, 5, -4, 4); }

TEST(rims, of_hills_push_along_the_hills) { lie_at_rim(make_hills, 16, 2, 14); }
