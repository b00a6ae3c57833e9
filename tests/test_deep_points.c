// The points of shapes that overlap, as carom_distance tells them: they lie on the two surfaces, and differ by the depth along
// the normal, for all pairs of kinds, at any poses and at those where many points are equally deep.
#include "fixture.h"

#include "carom/collide.h"
#include "carom/query.h"

#include <math.h>
#include <string.h>

enum { KINDS = 11, DEGENERATE = 8 };

typedef struct kinds {
	carom_context *context;
	carom_mesh *hull;
	carom_shape shape[KINDS];
} kinds;

static void open_kinds(kinds *k)
{
	uint64_t seed = 5;
	float points[3 * 14];
	for (int i = 0; i < 42; i++)
		points[i] = (float)test_random_double(&seed, -0.6, 0.6);
	*k = (kinds){ .context = fixture_context(1) };
	k->hull = fixture_hull_mesh(k->context, points, 14);
	const carom_shape shapes[KINDS] = { fixture_sphere(0.35), fixture_capsule(0.3, 0.4), fixture_cylinder(0.5, 0.6),
		fixture_cone(0.5, 0.6), fixture_ellipsoid(0.6, 0.4, 0.3), fixture_box(0.5, 0.4, 0.3), fixture_hull(k->hull),
		{ .type = CAROM_BOX, .half_extents = { 0.5, 0.4, 0.3 }, .rounding = 0.1 },
		{ .type = CAROM_CYLINDER, .radius = 0.4, .half_length = 0.5, .rounding = 0.1 },
		{ .type = CAROM_CONE, .radius = 0.4, .half_length = 0.5, .rounding = 0.1 },
		{ .type = CAROM_HULL, .mesh = k->hull, .rounding = 0.05 } };
	memcpy(k->shape, shapes, sizeof shapes);
}

/// Poses of B in A's frame at which many points are equally deep, or nearly so.
static carom_pose degenerate_pose(uint64_t *seed, int kind)
{
	const double x = test_random_double(seed, -0.4, 0.4);
	carom_pose pose = fixture_at(0, 0, 0);
	if (kind == 1) // on the axis
		pose.position.z = x;
	if (kind == 2) // parallel, aside
		pose.position = (v3d){ x, 0, 0 };
	if (kind == 3) // at right angles, centres in one place
		pose.orientation = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2);
	if (kind == 4) { // lying across, above
		pose.orientation = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2);
		pose.position.z = x;
	}
	if (kind == 5) // nearly parallel
		pose.orientation = fixture_turn((v3d){ 1, 0.3, 0 }, 1e-9 * x);
	if (kind == 6) { // upside down on the axis
		pose.orientation = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI);
		pose.position.z = x;
	}
	if (kind == 7) // off the axis by a trembling
		pose.position = (v3d){ 1e-9 * x, 1e-10, x };
	return pose;
}

/// How far a point is off the surface of a shape.
static double off_surface(const kinds *k, const carom_shape *shape, const carom_pose *pose, carom_vec3 point)
{
	bool found;
	carom_closest_point nearest;
	REQUIRE(carom_shape_closest_point(k->context, shape, pose, point, INFINITY, &found, &nearest) == CAROM_SUCCESS && found);
	return fabs(nearest.distance);
}

TEST(deep_points, lie_on_both_surfaces_and_differ_by_the_depth)
{
	uint64_t seed = 17;
	kinds k;
	open_kinds(&k);
	int deep = 0, fine = 0;
	for (int pair = 0; pair < KINDS * KINDS; pair++) {
		const carom_shape *a = &k.shape[pair % KINDS], *b = &k.shape[pair / KINDS];
		double worst = 0, apart = 0;
		for (int round = 0; round < 60; round++) {
			const carom_pose place = fixture_random_pose(&seed, 1), any = fixture_random_pose(&seed, 0.4);
			const carom_pose in_a = round % 2 ? any : degenerate_pose(&seed, round / 2 % DEGENERATE);
			const carom_pose pa = round % 3 ? place : carom_pose_identity(), pb = fixture_compose(pa, in_a);
			carom_separation s;
			REQUIRE(carom_distance(k.context, a, &pa, b, &pb, &s) == CAROM_SUCCESS);
			if (!(s.distance < 0))
				continue;
			deep++;
			const v3d between = v3d_sub(s.point_a, s.point_b);
			apart = fmax(apart, v3d_length(v3d_mad(between, -s.distance, s.normal)));
			worst = fmax(worst, fmax(off_surface(&k, a, &pa, s.point_a), off_surface(&k, b, &pb, s.point_b)));
		}
		// the boxes of two shapes have diagonals of 3.4 together
		CHECK(apart < 1e-10);
		CHECK(worst < 2e-8);
		fine += worst < 3.4e-9;
	}
	CHECK(fine >= KINDS * KINDS - 6);
	CHECK(deep > 6000);
	carom_release_mesh(k.hull);
	carom_destroy_context(k.context);
}
