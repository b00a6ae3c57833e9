/// Time of impact among shapes that are as bad as they come: needles, plates, sizes a thousand times apart, far from the origin, at rest,
/// spinning, all types of shapes and small meshes. Against fine steps: nothing is missed, and at the time that is told they are near.
#include "carom/collide.h"
#include "carom/query.h"
#include "fixture.h"

#include <math.h>
#include <string.h>

enum { STEPS = 24, CASES = 1500 / TEST_FEWER };

// As good as 10^x, for sizes: what bits come out decides nothing.
static double power_of_ten(double x) { return pow(10, x); }

/// A tetrahedron of any form; a plate, or a needle. NULL: this one is none.
static carom_mesh *splinter(carom_context *context, uint64_t *seed, double size)
{
	static const int32_t triangles[12] = { 0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3 };
	const uint32_t form = test_random(seed) % 3;
	float places[12];
	for (int i = 0; i < 12; i++) {
		const bool thin = form == 1 ? i % 3 == 2 : form == 2 && i % 3 != 0;
		places[i] = (float)(size * test_random_double(seed, -1, 1) * (thin ? 1e-3 : 1));
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT32 };
	def.vertex_count = 4;
	def.triangles = triangles;
	def.triangle_count = 4;
	carom_mesh *mesh;
	return carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS ? mesh : NULL;
}

static carom_shape bad_shape(carom_context *context, uint64_t *seed, double size)
{
	const double share = power_of_ten(test_random_double(seed, -3, 0));
	switch (test_random(seed) % 9) {
	case 0: return fixture_sphere(size);
	case 1: return fixture_box(size, size * share, size * test_random_double(seed, 0.01, 1));
	case 2: return fixture_capsule(size * share, size);
	case 3: return fixture_cylinder(size * share, size);
	case 4: return fixture_cone(size, size * share);
	case 5: return fixture_ellipsoid(size, size * share, size * test_random_double(seed, 0.05, 1));
	default: break;
	}
	carom_mesh *mesh = splinter(context, seed, size);
	return mesh ? fixture_of_mesh(mesh) : fixture_sphere(size);
}

static carom_pose bad_pose(uint64_t *seed, double span, double far)
{
	carom_pose pose = fixture_random_pose(seed, span);
	pose.position.x += far;
	return pose;
}

/// Do they overlap at a fine step that is clear by what was told?
static bool is_missed(carom_context *context, const carom_shape shapes[2], const carom_motion motions[2], const carom_toi *toi)
{
	if (toi->status == CAROM_TOI_TOUCHING)
		return false;
	const bool apart = toi->status == CAROM_TOI_APART;
	for (int k = 0; k < STEPS + apart; k++) {
		const double time = (apart ? 1 : toi->time) * k / STEPS;
		const carom_pose a = carom_motion_pose(&motions[0], time), b = carom_motion_pose(&motions[1], time);
		bool overlap;
		REQUIRE(carom_overlap(context, &shapes[0], &a, &shapes[1], &b, &overlap) == CAROM_SUCCESS);
		if (overlap)
			return true;
	}
	return false;
}

TEST(hostile, no_impact_is_missed_and_none_is_invented)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 77;
	int impacts = 0;
	for (int i = 0; i < CASES; i++) {
		const double sizes[2] = { power_of_ten(test_random_double(&seed, -2, 1)),
			power_of_ten(test_random_double(&seed, -2, 1)) };
		const double far = test_random(&seed) % 5 == 0 ? 1e5 : 0, span = sizes[0] + sizes[1], tolerance = 1e-4 * span;
		const carom_shape shapes[2] = { bad_shape(context, &seed, sizes[0]), bad_shape(context, &seed, sizes[1]) };
		carom_motion motions[2];
		for (int side = 0; side < 2; side++) {
			motions[side] = (carom_motion){ bad_pose(&seed, (side ? 0.1 : 1.2) * span, far),
				bad_pose(&seed, (side ? 0.5 : 1.2) * span, far) };
			if (test_random(&seed) % 10 == 0)
				motions[side].end = motions[side].begin;
		}
		carom_toi toi;
		REQUIRE(
			carom_time_of_impact(context, &shapes[0], &motions[0], &shapes[1], &motions[1], tolerance, &toi) == CAROM_SUCCESS);
		CHECK(!is_missed(context, shapes, motions, &toi));
		if (toi.status == CAROM_TOI_IMPACT) {
			const carom_pose a = carom_motion_pose(&motions[0], toi.time), b = carom_motion_pose(&motions[1], toi.time);
			carom_separation s;
			REQUIRE(carom_distance(context, &shapes[0], &a, &shapes[1], &b, &s) == CAROM_SUCCESS);
			CHECK(s.distance <= 1.01 * tolerance + 2e-6 * span + 1e-6 * far);
			impacts++;
		}
		for (int side = 0; side < 2; side++) {
			if (shapes[side].mesh)
				carom_release_mesh((carom_mesh *)shapes[side].mesh);
		}
	}
	CHECK(impacts > CASES / 8);
	carom_destroy_context(context);
}
