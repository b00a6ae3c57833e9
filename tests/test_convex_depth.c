/// Least depths of convex shapes at poses that nobody can tell apart: the depth is continuous, whatever edges and faces are parallel.
#include "fixture.h"

#include "carom/collide.h"

#include <stdio.h>

enum { FORMS = 9, POSES = 240 / TEST_FEWER, NEIGHBOURS = 2 };

static void make_forms(carom_context *context, carom_shape forms[FORMS], carom_mesh **hull)
{
	uint64_t seed = 3;
	float points[90];
	for (int i = 0; i < 90; i++)
		points[i] = (float)test_random_double(&seed, -0.4, 0.4);
	*hull = fixture_hull_mesh(context, points, 30);
	forms[0] = fixture_sphere(0.4);
	forms[1] = fixture_box(0.3, 0.4, 0.5);
	forms[2] = fixture_capsule(0.3, 0.4);
	forms[3] = fixture_hull(*hull);
	forms[4] = fixture_cylinder(0.4, 0.4);
	forms[5] = fixture_cone(0.4, 0.4);
	forms[6] = fixture_ellipsoid(0.5, 0.3, 0.2);
	forms[7] = fixture_box(0.3, 0.4, 0.5);
	forms[7].rounding = 0.05;
	forms[8] = fixture_cone(0.4, 0.4);
	forms[8].rounding = 0.05;
}

/// A turn that lays axes along axes, or at 45 degrees to them; one in four is any.
static carom_quat even_turn(uint64_t *seed)
{
	if (test_random(seed) % 4 == 0)
		return fixture_random_pose(seed, 1).orientation;
	const int axis = (int)(test_random(seed) % 3);
	const carom_quat quarter =
		fixture_turn((v3d){ axis == 0, axis == 1, axis == 2 }, FIXTURE_PI / 2 * (double)(test_random(seed) % 2));
	const v3d oblique = { (double)(test_random(seed) % 3) - 1, (double)(test_random(seed) % 3) - 1, 1 };
	const carom_quat eighth = fixture_turn(oblique, FIXTURE_PI / 4 * (double)(test_random(seed) % 2));
	return fixture_compose((carom_pose){ { 0, 0, 0 }, quarter }, (carom_pose){ { 0, 0, 0 }, eighth }).orientation;
}

/// A multiple of 0.05, often 0.
static double even_place(uint64_t *seed) { return test_random(seed) % 3 ? 0 : 0.05 * ((double)(test_random(seed) % 13) - 6); }

/// The pose moved and turned by up to a part in 10^12 to 10^15.
static carom_pose neighbour_of(carom_pose pose, uint64_t *seed)
{
	static const double sizes[4] = { 1e-15, 1e-14, 1e-13, 1e-12 };
	const double e = sizes[test_random(seed) % 4];
	pose.position.x += test_random_double(seed, -e, e);
	pose.position.y += test_random_double(seed, -e, e);
	pose.position.z += test_random_double(seed, -e, e);
	pose.orientation.x += test_random_double(seed, -e, e);
	pose.orientation.y += test_random_double(seed, -e, e);
	return pose;
}

typedef struct depth_tally {
	int deep, jumps;
	double most; // of the jumps, as a part of the depth
} depth_tally;

static double distance_of(carom_context *context, const carom_shape *a, const carom_shape *b, const carom_pose *at)
{
	const carom_pose origin = carom_pose_identity();
	carom_separation s;
	REQUIRE(carom_distance(context, a, &origin, b, at, &s) == CAROM_SUCCESS);
	return s.distance;
}

static depth_tally compare_neighbours(carom_context *context, const carom_shape *a, const carom_shape *b, uint64_t seed)
{
	depth_tally t = { 0 };
	for (int i = 0; i < POSES; i++) {
		const carom_pose at = { { even_place(&seed), even_place(&seed), even_place(&seed) }, even_turn(&seed) };
		const double here = distance_of(context, a, b, &at);
		if (here > -1e-3)
			continue;
		t.deep++;
		for (int k = 0; k < NEIGHBOURS; k++) {
			const carom_pose beside = neighbour_of(at, &seed);
			const double jump = fabs(distance_of(context, a, b, &beside) / here - 1);
			t.jumps += !(jump <= 1e-6);
			t.most = fmax(t.most, jump);
		}
	}
	return t;
}

TEST(convex_depth, poses_that_nobody_can_tell_apart_have_one_depth)
{
	carom_context *context = fixture_context(1);
	carom_shape forms[FORMS];
	carom_mesh *hull;
	make_forms(context, forms, &hull);
	for (int a = 0; a < FORMS; a++) {
		for (int b = 0; b < FORMS; b++) {
			const depth_tally t = compare_neighbours(context, &forms[a], &forms[b], 7 + (uint64_t)(FORMS * a + b));
			CHECK(t.deep > POSES / 2);
			if (!CHECK_INT(t.jumps, 0))
				printf("shapes %d and %d: by up to %.2g of the depth\n", a, b, t.most);
		}
	}
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

// From FCL's test/narrowphase/detail/primitive_shape_algorithm/test_sphere_box.cpp, turned. The supports of a box along its own axes
// are corners that rounding chooses; all six may be one and its opposite.
TEST(convex_depth, bodies_about_one_centre)
{
	carom_context *context = fixture_context(1);
	const double half[3] = { 10, 12, 14 };
	const carom_shape box = fixture_box(half[0], half[1], half[2]);
	const struct {
		carom_shape shape;
		double reach[3];
	} inner[] = { { fixture_sphere(5), { 5, 5, 5 } }, { fixture_capsule(1, 2), { 1, 1, 3 } },
		{ fixture_box(3, 2, 1), { 3, 2, 1 } }, { fixture_cylinder(2, 1), { 2, 2, 1 } },
		{ fixture_ellipsoid(1, 2, 3), { 1, 2, 3 } }, { fixture_capsule(1, 0), { 1, 1, 1 } } };
	uint64_t seed = 7;
	for (int i = 0; i < 600; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 1);
		const int k = i % 6;
		double least = INFINITY;
		for (int axis = 0; axis < 3; axis++)
			least = fmin(least, half[axis] + inner[k].reach[axis]);
		for (int swapped = 0; swapped < 2; swapped++) {
			carom_separation s;
			REQUIRE(carom_distance(context, swapped ? &box : &inner[k].shape, &pose, swapped ? &inner[k].shape : &box, &pose,
						&s) == CAROM_SUCCESS);
			CHECK_NEAR(s.distance, -least, 1e-5);
			CHECK(s.error < 1e-5);
		}
	}
	carom_destroy_context(context);
}

/// Half of all directions lead a cylinder that lies across the end of a capsule's segment out equally soon. Distances, impacts and
/// contacts have one of them for their normal.
TEST(convex_depth, a_cylinder_across_the_end_of_a_capsule)
{
	carom_context *context = fixture_context(1);
	const carom_shape cylinder = fixture_cylinder(0.3, 0.5), capsule = fixture_capsule(0.25, 0.5);
	for (int end = -1; end <= 1; end += 2) {
		const carom_pose pose = { { 0, 0, 0.5 * end }, { sqrt(0.5), 0, 0, sqrt(0.5) } };
		const carom_motion motion = carom_straight_motion(pose, (carom_vec3){ 1, 0, 0 });
		carom_separation s;
		carom_toi impact;
		carom_contact contacts[8];
		int32_t count;
		REQUIRE(carom_distance(context, &cylinder, &pose, &capsule, NULL, &s) == CAROM_SUCCESS);
		CHECK_NEAR(s.distance, -0.55, 1e-6);
		CHECK_NEAR(v3d_length(s.normal), 1, 1e-12);
		REQUIRE(carom_time_of_impact(context, &cylinder, &motion, &capsule, NULL, 1e-3, &impact) == CAROM_SUCCESS);
		CHECK_NEAR(impact.separation.distance, -0.55, 1e-6);
		CHECK_NEAR(v3d_length(impact.separation.normal), 1, 1e-12);
		REQUIRE(carom_collide(context, &cylinder, &pose, &capsule, NULL, 0, 8, contacts, &count) == CAROM_SUCCESS);
		CHECK(count > 0);
		for (int i = 0; i < count && i < 8; i++) {
			CHECK_NEAR(contacts[i].depth, 0.55, 1e-6);
			CHECK_NEAR(v3d_length(v3d_from_floats(contacts[i].normal)), 1, 1e-6);
		}
	}
	carom_destroy_context(context);
}
