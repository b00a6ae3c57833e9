// Situations of FCL's, Coal's and libccd's test suites: github.com/flexible-collision-library/fcl, test/;
// github.com/coal-library/coal, test/; github.com/danfis/libccd, src/testsuites/. The numbers are theirs, the code is ours. Their
// sizes of boxes and lengths are whole ones; FCL's normals point from the first shape to the second.
#include "peer_fixture.h"

#include <math.h>

static carom_pose here(void) { return carom_pose_identity(); }

// ---- FCL ----

// test_sphere_box.cpp, uniform configurations.
TEST(peer_fcl, a_sphere_and_a_box)
{
	const double n = 1 / sqrt(14), r = 0.7, third = 1 / sqrt(3);
	const carom_shape ball = fixture_sphere(r), box = fixture_box(0.3, 0.6, 1.8), five = fixture_sphere(5);
	const peer_case cases[] = {
		{ "over a face", ball, box, AT(0.15, 0.3, 1.8 + 1.1 * r), AT(0, 0, 0), 0.1 * r, V(0, 0, 1), V(0.15, 0.3, 1.8 + 0.1 * r),
			V(0.15, 0.3, 1.8) },
		{ "off a corner", ball, box, AT(1.175, 1.475, 2.675), AT(0, 0, 0), 0.875 * sqrt(3) - r, V(third, third, third), NULL,
			V(0.3, 0.6, 1.8) },
		{ "into a face", ball, box, AT(0.3, 0.6, 2.15), AT(0, 0, 0), -0.35, V(0, 0, 1), NULL, V(0.3, 0.6, 1.8) },
		{ "into a corner", ball, box, AT(0.3 + 0.35 * n, 0.6 + 0.7 * n, 1.8 + 1.05 * n), AT(0, 0, 0), -0.35, V(n, 2 * n, 3 * n),
			NULL, V(0.3, 0.6, 1.8) },
		{ "inside, by -x", ball, box, AT(-0.15, 0, 0), AT(0, 0, 0), -0.85, V(-1, 0, 0), NULL, NULL },
		{ "inside, by x", ball, box, AT(0.15, 0, 0), AT(0, 0, 0), -0.85, V(1, 0, 0), NULL, NULL },
		{ "inside, by -y", ball, box, AT(0, -0.45, 0), AT(0, 0, 0), -0.85, V(0, -1, 0), NULL, NULL },
		{ "inside, by y", ball, box, AT(0, 0.45, 0), AT(0, 0, 0), -0.85, V(0, 1, 0), NULL, NULL },
		{ "inside, by -z", ball, box, AT(0, 0, -1.65), AT(0, 0, 0), -0.85, V(0, 0, -1), NULL, NULL },
		{ "inside, by z", ball, box, AT(0, 0, 1.65), AT(0, 0, 0), -0.85, V(0, 0, 1), NULL, NULL },
		{ "centre on a face", ball, box, AT(0, 0, 1.8), AT(0, 0, 0), -0.7, V(0, 0, 1), NULL, NULL },
		{ "centre on a corner", ball, box, AT(0.3, 0.6, 1.8), AT(0, 0, 0), -0.7, NULL, NULL, NULL },
		{ "one centre, cube", five, fixture_box(10, 10, 10), AT(0, 0, 0), AT(0, 0, 0), -15, NULL, NULL, NULL },
		{ "one centre, two least", five, fixture_box(10, 15, 10), AT(0, 0, 0), AT(0, 0, 0), -15, NULL, NULL, NULL },
		{ "one centre, least x", five, fixture_box(10, 12, 14), AT(0, 0, 0), AT(0, 0, 0), -15, NULL, NULL, NULL },
		{ "one centre, least y", five, fixture_box(15, 10, 14), AT(0, 0, 0), AT(0, 0, 0), -15, NULL, NULL, NULL },
		{ "one centre, least z", five, fixture_box(15, 12, 10), AT(0, 0, 0), AT(0, 0, 0), -15, NULL, NULL, NULL },
	};
	CHECK_CASES(cases);
}

// test_sphere_box.cpp, sizes that differ much; test_fcl_box_box.cpp; test_half_space_convex.cpp is below.
TEST(peer_fcl, boxes_of_all_sizes)
{
	const double n = 1 / sqrt(14), c = cos(FIXTURE_PI / 8), s = sin(FIXTURE_PI / 8), reach = 1 - 0.1 * ROOT_HALF;
	const carom_shape dot = fixture_sphere(0.01), bar = fixture_box(15, 1, 1), globe = fixture_sphere(10);
	const carom_shape tiny = fixture_box(0.1, 0.15, 0.2), cube = fixture_box(0.5, 0.5, 0.5), base = fixture_box(1.5, 1.5, 1.5);
	const carom_pose rolled = peer_turned((v3d){ 1, 0, 0 }, FIXTURE_PI / 8, (v3d){ 0 });
	const carom_pose spun = peer_turned((v3d){ 0, 0, 1 }, FIXTURE_PI / 4, (v3d){ 0, 0, -0.75 });
	const carom_pose pitched = peer_turned((v3d){ 0, 1, 0 }, FIXTURE_PI / 4, (v3d){ 0 });
	const carom_pose edge = fixture_compose(peer_turned((v3d){ 0, 1, 0 }, -FIXTURE_PI / 4, (v3d){ reach, 0, reach }),
		peer_turned((v3d){ 0, 0, 1 }, FIXTURE_PI / 4, (v3d){ 0 }));
	const double in = 0.5 - 0.1 * ROOT_HALF, deep = ROOT_HALF * c - 0.25;
	const peer_case cases[] = {
		{ "dot in a bar", dot, bar, AT(14.25, 0, 1.005), AT(0, 0, 0), -0.005, V(0, 0, 1), NULL, NULL },
		{ "dot over a bar", dot, bar, AT(14.25, 0, 1.011), AT(0, 0, 0), 0.001, V(0, 0, 1), V(14.25, 0, 1.001), V(14.25, 0, 1) },
		{ "globe in a corner", globe, tiny, AT(0.1 + 9.95 * n, 0.15 + 19.9 * n, 0.2 + 29.85 * n), AT(0, 0, 0), -0.05,
			V(n, 2 * n, 3 * n), NULL, V(0.1, 0.15, 0.2) },
		{ "globe off a corner", globe, tiny, AT(0.1 + 10.01 * n, 0.15 + 20.02 * n, 0.2 + 30.03 * n), AT(0, 0, 0), 0.01,
			V(n, 2 * n, 3 * n), NULL, V(0.1, 0.15, 0.2) },
		{ "an edge in a face", cube, base, pitched, AT(0, 0, -1.5), -ROOT_HALF, V(0, 0, 1), NULL, NULL },
		{ "an edge over corners", cube, cube, rolled, spun, -deep, V(0, 0, 1), NULL, NULL },
		{ "edges", cube, cube, edge, AT(0, 0, 0), -0.1, V(ROOT_HALF, 0, ROOT_HALF), V(in, 0, in), V(0.5, 0, 0.5) },
	};
	CHECK(fabs(deep - 0.4032814) < 1e-7 && s < c);
	CHECK_CASES(cases);
}

// test_fcl_sphere_sphere.cpp: four spheres, each with each.
TEST(peer_fcl, four_spheres)
{
	static const double radii[4] = { 0.5, 0.6, 0.4, 0.3 };
	static const v3d centres[4] = { { 0, 0, -1 }, { 1.2, 0, 0 }, { -0.3, 0, 0 }, { 0, 0, 1 } };
	for (int i = 0; i < 12; i++) {
		const int j = (i % 4 + 1 + i / 4) % 4;
		const v3d a = centres[i % 4], b = centres[j], way = v3d_normalize(v3d_sub(a, b));
		const v3d on_a = v3d_mad(a, -radii[i % 4], way), on_b = v3d_mad(b, radii[j], way);
		const peer_case one = { "spheres", fixture_sphere(radii[i % 4]), fixture_sphere(radii[j]), AT(a.x, a.y, a.z),
			AT(b.x, b.y, b.z), v3d_length(v3d_sub(a, b)) - radii[i % 4] - radii[j], V(way.x, way.y, way.z),
			V(on_a.x, on_a.y, on_a.z), V(on_b.x, on_b.y, on_b.z) };
		peer_check_cases(&one, 1);
	}
}

// test_fcl_tetrahedrons.cpp: the tip of one tetrahedron at the base of another, touching and 1e-4 deep; test_half_space_convex.cpp: the
// tip of one in a half space. test_fcl_boxmesh_boxmesh.cpp: FCL's meshes are surfaces and one inside the other has no contact; Carom's
// closed ones are solid.
TEST(peer_fcl, tetrahedra_and_box_meshes)
{
	static const float upper[12] = { -1, -1, 0, 1, -1, 0, 0, 1, 0, 0, 0, 1 };
	static const float lower[2][12] = { { -1, -1, -1, 1, -1, -1, 0, 1, -1, 0, 0, 0 },
		{ -1, -1, -1, 1, -1, -1, 0, 1, -1, 0, 0, 1e-4f } };
	static const float corner[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	carom_context *context = fixture_context(1);
	carom_mesh *top = fixture_hull_mesh(context, upper, 4), *tip = fixture_hull_mesh(context, corner, 4);
	for (int i = 0; i < 2; i++) {
		carom_mesh *below = fixture_hull_mesh(context, lower[i], 4);
		const carom_shape solids[2] = { fixture_hull(top), fixture_of_mesh(top) },
						  spikes[2] = { fixture_hull(below), fixture_of_mesh(below) };
		for (int k = 0; k < 4; k++) {
			const carom_separation s = peer_distance(context, &solids[k % 2], here(), &spikes[k / 2], here());
			CHECK_NEAR(s.distance, i * -1e-4, 1e-6);
			peer_check_vector(s.point_b, (v3d){ 0, 0, i * 1e-4 }, 1e-6);
			if (i)
				peer_check_vector(s.normal, (v3d){ 0, 0, 1 }, 1e-6);
			CHECK(peer_overlap(context, &solids[k % 2], here(), &spikes[k / 2], here()));
		}
		carom_release_mesh(below);
	}
	const carom_shape tetrahedron = fixture_hull(tip), plane = { .type = CAROM_PLANE };
	const carom_pose over = peer_turned((v3d){ 1, 0, 0 }, FIXTURE_PI, (v3d){ 0, 0, 0.5 });
	CHECK_NEAR(peer_distance(context, &tetrahedron, over, &plane, here()).distance, -0.5, 1e-6);
	carom_mesh *big = fixture_box_mesh(context, 0.5, 0.5, 0.5), *small = fixture_box_mesh(context, 0.25, 0.25, 0.25);
	const carom_shape outer = fixture_of_mesh(big), inner = fixture_of_mesh(small);
	CHECK_NEAR(peer_distance(context, &inner, here(), &outer, here()).distance, -0.75, 1e-6);
	CHECK_NEAR(peer_distance(context, &inner, fixture_at(0, 0.75, 0), &outer, here()).distance, 0, 1e-9);
	CHECK(peer_overlap(context, &inner, fixture_at(0, 0.75, 0), &outer, here()) &&
		peer_overlap(context, &outer, here(), &inner, here()));
	carom_release_mesh(big);
	carom_release_mesh(small);
	carom_release_mesh(tip);
	carom_release_mesh(top);
	carom_destroy_context(context);
}

// ---- Coal ----

/// A field of 100 x 100 heights from -1 to 1, 1 high and 0 in a hole: a square of half side 0.5 or a disc of radius 1.
static carom_mesh *field_with_a_hole(carom_context *context, bool square)
{
	float heights[10000];
	for (int i = 0; i < 10000; i++) {
		const double x = -1 + i % 100 * 2 / 99.0, y = -1 + i / 100 * 2 / 99.0;
		heights[i] = (square ? fabs(x) < 0.5 && fabs(y) < 0.5 : x * x + y * y <= 1) ? 0 : 1;
	}
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, 100, 100, heights, (double[]){ 2 / 99.0, 2 / 99.0 }, 1, &mesh) == CAROM_SUCCESS);
	return mesh;
}

// hfields.cpp: a flat field is as a box, and spheres in holes of a field. In the smaller ones they touch nothing.
TEST(peer_fcl, coal_height_fields)
{
	carom_context *context = fixture_context(1);
	for (int square = 0; square < 2; square++) {
		carom_mesh *mesh = field_with_a_hole(context, square);
		const carom_shape field = fixture_of_mesh(mesh), fits = fixture_sphere(square ? 0.48 : 0.975);
		const carom_shape too_big = fixture_sphere(square ? 0.51 : 1.01);
		const carom_pose place = fixture_at(0, 0, square ? 0.5 : 1), under = fixture_at(-1, -1, 0);
		CHECK(!peer_overlap(context, &fits, place, &field, under) && peer_overlap(context, &too_big, place, &field, under));
		CHECK_NEAR(peer_distance(context, &fits, place, &field, under).distance, square ? 0.02 : 0.025, 5e-4);
		carom_release_mesh(mesh);
	}
	static const float level[40] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	for (int columns = 2; columns <= 20; columns += 18) {
		carom_mesh *mesh;
		const double spacing[2] = { 1.0 / (columns - 1), 2 };
		REQUIRE(carom_create_height_field(context, columns, 2, level, spacing, 1, &mesh) == CAROM_SUCCESS);
		const carom_shape field = fixture_of_mesh(mesh), box = fixture_box(0.5, 1, 0.5);
		const carom_shape others[2] = { fixture_sphere(1), fixture_box(0.5, 0.5, 0.5) };
		for (int i = 0; i < 4; i++) {
			const double gap = i % 2 ? 0.1 : -0.1;
			const carom_pose at = fixture_at(0, 0, 1 + (i / 2 ? 0.5 : 1) + gap);
			CHECK_NEAR(peer_distance(context, &others[i / 2], at, &field, fixture_at(-0.5, -1, 0)).distance, gap, 1e-6);
			CHECK_NEAR(peer_distance(context, &others[i / 2], at, &box, fixture_at(0, 0, 0.5)).distance, gap, 1e-6);
		}
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

// ---- libccd ----

// boxbox.c: a box that goes past another one along each axis, in a hundred steps; the sums of half sizes are 1.5.
TEST(peer_fcl, libccd_boxes_in_steps)
{
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 500; i++) {
		const int sweep = i / 100;
		const double unit = sweep == 1 ? 0.1 : 1, along = (-5 + i % 100 * 0.1) * unit;
		v3d place = { 0, sweep == 2 ? -0.1 : 0, 0 };
		if (sweep <= 2)
			place.x = along;
		else if (sweep == 3)
			place.y = along;
		else
			place.z = along;
		const carom_shape a = fixture_box(0.5 * unit, unit, 0.5 * unit), b = fixture_box(unit, 0.5 * unit, unit);
		const carom_pose at = fixture_at(place.x, place.y, place.z);
		const double expected = fmax(fabs(along), sweep == 2 ? 0.1 : 0) - 1.5 * unit;
		CHECK_NEAR(peer_distance(context, &a, at, &b, here()).distance, expected, 1e-9);
		if (fabs(expected) > 1e-6)
			CHECK_INT(peer_overlap(context, &a, at, &b, here()), expected < 0);
	}
	carom_destroy_context(context);
}

// boxbox.c, boxboxRot: a box turned by 45 degrees goes past; a cube that turns touches its neighbour at all but quarter turns.
TEST(peer_fcl, libccd_boxes_that_turn)
{
	carom_context *context = fixture_context(1);
	const carom_shape a = fixture_box(0.5, 1, 0.5), b = fixture_box(1, 0.5, 1), cube = fixture_box(0.5, 0.5, 0.5);
	for (int i = 0; i < 100; i++) {
		const carom_pose at = peer_turned((v3d){ 0, 1, 0 }, FIXTURE_PI / 4, (v3d){ -5 + 0.1 * i, 0.5, 0 });
		const double gap = fabs(at.position.x) - 1 - ROOT_HALF, distance = peer_distance(context, &a, at, &b, here()).distance;
		CHECK_INT(distance < 0, i >= 33 && i <= 67);
		if (gap > 0)
			CHECK_NEAR(distance, gap, 1e-9);
	}
	for (int i = 0; i < 30; i++) {
		const double angle = i * FIXTURE_PI / 20;
		const carom_pose at = peer_turned((v3d){ 0, 1, 0 }, angle, (v3d){ -1.01, 0, 0 });
		const carom_separation s = peer_distance(context, &cube, at, &cube, here());
		CHECK_NEAR(s.distance, 0.51 - 0.5 * (fabs(cos(angle)) + fabs(sin(angle))), 1e-9);
		peer_check_vector(s.normal, (v3d){ -1, 0, 0 }, 1e-9);
		CHECK_INT(peer_overlap(context, &cube, at, &cube, here()), i % 10 != 0);
	}
	carom_destroy_context(context);
}

// boxbox.c, boxboxSeparate; cylcyl.c: cylinders that go past each other, and Pen 1.
TEST(peer_fcl, libccd_separations)
{
	const carom_shape cube = fixture_box(0.5, 0.5, 0.5), slab = fixture_box(0.25, 0.5, 0.75);
	const carom_shape small = fixture_cylinder(0.35, 0.25), large = fixture_cylinder(0.5, 0.5);
	const carom_pose turned = peer_turned((v3d){ 0, 0, 1 }, FIXTURE_PI / 4, (v3d){ 0 });
	const carom_pose aside = peer_turned((v3d){ 0, 0, 1 }, FIXTURE_PI / 4, (v3d){ -0.5, 0, 0 });
	const peer_case cases[] = {
		{ "by -x", cube, slab, AT(-0.5, 0.5, 0.2), AT(0, 0, 0), -0.25, V(-1, 0, 0), NULL, NULL },
		{ "parted", cube, slab, AT(-0.75, 0.5, 0.2), AT(0, 0, 0), 0, V(-1, 0, 0), NULL, NULL },
		{ "by z", cube, slab, AT(-0.3, 0.5, 1), AT(0, 0, 0), -0.25, V(0, 0, 1), NULL, NULL },
		{ "one centre", cube, cube, turned, AT(0, 0, 0), -1, NULL, NULL, NULL },
		{ "turned, aside", cube, cube, aside, AT(0, 0, 0), -ROOT_HALF, V(-1, 0, 0), NULL, NULL },
		{ "cylinders", small, large, AT(0, 0, 0), AT(0, 0, 0.3), -0.45, V(0, 0, -1), NULL, NULL },
	};
	CHECK_CASES(cases);
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 300; i++) {
		const double along = -5 + 0.1 * (i % 100), sum = i < 200 ? 0.85 : 0.75;
		const carom_pose at = fixture_at(i < 100 ? along : 0, i >= 100 && i < 200 ? along : 0, i >= 200 ? along : 0);
		const double distance = peer_distance(context, &small, at, &large, here()).distance;
		CHECK_INT(distance < 0, fabs(along) < sum);
		if (fabs(along) > sum)
			CHECK_NEAR(distance, fabs(along) - sum, 1e-6);
	}
	carom_destroy_context(context);
}
