/// Do two convex bodies touch or overlap: the answer beside that of a whole separation, which it is to equal on any input.
#include "fixture.h"

#include "carom/collide.h"
#include "geom/meet.h"
#include "geom/separation.h"
#include "mesh/hull.h"

#include <string.h>

enum { FORMS = 12, POINTS = 40 };

typedef struct zoo {
	cr_convex form[FORMS];
	cr_hull_data hull[2];
} zoo;

static void make_zoo(carom_context *context, double size, double flat, uint64_t *seed, zoo *z)
{
	for (int h = 0; h < 2; h++) {
		v3d points[POINTS];
		for (int i = 0; i < POINTS; i++) {
			const double x = test_random_double(seed, -size, size), y = test_random_double(seed, -size, size);
			points[i] = (v3d){ x, y, flat * test_random_double(seed, -size, size) };
		}
		REQUIRE(cr_hull_build(context, points, h ? POINTS : 8, &z->hull[h]) == CAROM_SUCCESS);
	}
	const double s = size, f = flat * size;
	const cr_convex forms[FORMS] = {
		{ .core = CR_CORE_POINT, .rounding = 0.5 * s },
		{ .core = CR_CORE_SEGMENT, .half_length = 0.5 * s, .rounding = 0.2 * f },
		{ .core = CR_CORE_BOX, .half = { 0.5 * s, 0.4 * s, 0.3 * f } },
		{ .core = CR_CORE_BOX, .half = { 0.5 * s, 0.4 * s, 0.3 * f }, .rounding = 0.1 * s },
		{ .core = CR_CORE_HULL, .hull = &z->hull[0].hull },
		{ .core = CR_CORE_HULL, .hull = &z->hull[1].hull },
		{ .core = CR_CORE_HULL, .hull = &z->hull[1].hull, .rounding = 0.05 * f },
		{ .core = CR_CORE_CYLINDER, .radius = 0.4 * s, .half_length = 0.5 * f },
		{ .core = CR_CORE_CONE, .radius = 0.4 * s, .half_length = 0.5 * f },
		{ .core = CR_CORE_CONE, .radius = 0.4 * f, .half_length = 0.5 * s, .rounding = 0.01 * s },
		{ .core = CR_CORE_ELLIPSOID, .half = { 0.5 * s, 0.4 * s, 0.3 * f } },
		{ .core = CR_CORE_TRIANGLE, .corner = { { s, 0, 0 }, { 0, s, 0 }, { 0, 0, f } } },
	};
	memcpy(z->form, forms, sizeof forms);
}

static void free_zoo(carom_context *context, zoo *z)
{
	for (int h = 0; h < 2; h++)
		cr_hull_free(context, &z->hull[h]);
}

/// A turn that lays edges along edges and faces along faces, or any.
static carom_quat even_turn(uint64_t *seed)
{
	if (test_random(seed) % 2)
		return fixture_random_pose(seed, 1).orientation;
	const int axis = (int)(test_random(seed) % 3), turns = (int)(test_random(seed) % 4);
	return fixture_turn((v3d){ axis == 0, axis == 1, axis == 2 }, FIXTURE_PI / 4 * turns);
}

static cr_relative any_place(uint64_t *seed, double size)
{
	const carom_quat turn = even_turn(seed);
	const carom_pose pose = fixture_random_pose(seed, size);
	const bool even = test_random(seed) % 4 == 0; // centres in line
	return (cr_relative){ m3d_from_quat(turn), even ? (v3d){ 0, 0, pose.position.z } : pose.position };
}

typedef struct tally {
	int yes, no, close;
} tally;

static void compare(const cr_convex *a, const cr_convex *b, const cr_relative *at, tally *t)
{
	cr_separation s;
	cr_convex_separation(a, b, at, &s);
	const bool meet = cr_convex_meet(a, b, at);
	// Where the separation's bounds lie on both sides of 0 it does not know.
	const bool known = s.converged || s.gap > 0 || s.gap + s.error <= 0;
	if (known && !CHECK(meet == (s.gap <= 0)))
		test_stop();
	t->yes += meet;
	t->no += !meet;
}

/// Moved along the normal until they touch, exactly or but for a little.
static void compare_touching(const cr_convex *a, const cr_convex *b, cr_relative at, double size, uint64_t *seed, tally *t)
{
	static const double off[8] = { 0, 0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5 };
	cr_separation s;
	cr_convex_separation(a, b, &at, &s);
	const double more = size * off[test_random(seed) % 8] * test_random_double(seed, -1, 1);
	at.position = v3d_mad(at.position, s.gap + more, s.normal);
	compare(a, b, &at, t);
	t->close++;
}

static void compare_all(double size, double flat, int rounds)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 21;
	tally t = { 0 };
	zoo z;
	make_zoo(context, size, flat, &seed, &z);
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < FORMS * FORMS; i++) {
			const cr_convex *a = &z.form[i % FORMS], *b = &z.form[i / FORMS];
			const cr_relative at = any_place(&seed, size * (round % 2 ? 0.5 : 1.2));
			compare(a, b, &at, &t);
			compare_touching(a, b, at, size, &seed, &t);
		}
	}
	CHECK(t.yes > t.close / 2 && t.no > t.close / 4);
	free_zoo(context, &z);
	carom_destroy_context(context);
}

TEST(meet, bodies_of_all_forms) { compare_all(1, 1, 200 / TEST_FEWER); }
TEST(meet, flat_bodies) { compare_all(1, 1e-5, 40 / TEST_FEWER); }
TEST(meet, large_and_small_bodies)
{
	compare_all(1e6, 1, 20 / TEST_FEWER);
	compare_all(1e-6, 1, 20 / TEST_FEWER);
	compare_all(1e70, 1, 2);
	compare_all(1e-70, 1, 2);
}

/// Points, edges and faces that lie exactly on each other overlap; a step of rounding away from there they need not.
TEST(meet, exact_touch)
{
	const m3d straight = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const cr_convex cube = { .core = CR_CORE_BOX, .half = { 0.5, 0.5, 0.5 } };
	const cr_convex ball = { .core = CR_CORE_POINT, .rounding = 0.5 };
	static const v3d shifts[3] = { { 1, 0, 0 }, { 1, 1, 0 }, { 1, 1, 1 } };
	for (int i = 0; i < 3; i++) {
		cr_relative at = { straight, shifts[i] };
		CHECK(cr_convex_meet(&cube, &cube, &at));
		at.position.x += 1e-9;
		CHECK(!cr_convex_meet(&cube, &cube, &at));
	}
	cr_relative at = { straight, { 1, 0, 0 } };
	CHECK(cr_convex_meet(&ball, &ball, &at) && cr_convex_meet(&ball, &cube, &at) && cr_convex_meet(&cube, &ball, &at));
	at.position = (v3d){ 0, 0, 0 };
	CHECK(cr_convex_meet(&ball, &ball, &at) && cr_convex_meet(&ball, &cube, &at) && cr_convex_meet(&cube, &cube, &at));
}

/// The public call, both ways round, beside carom_distance.
TEST(meet, overlap_of_two_shapes_says_what_their_distance_does)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 5;
	float points[90];
	for (int i = 0; i < 90; i++)
		points[i] = (float)test_random_double(&seed, -0.4, 0.4);
	carom_mesh *hull = fixture_hull_mesh(context, points, 30);
	const carom_shape shapes[6] = { fixture_hull(hull), fixture_cylinder(0.4, 0.3), fixture_cone(0.3, 0.4),
		fixture_ellipsoid(0.5, 0.3, 0.2), fixture_capsule(0.2, 0.3), fixture_box(0.3, 0.4, 0.5) };
	for (int i = 0; i < 3600 / TEST_FEWER; i++) {
		const carom_shape *a = &shapes[i % 6], *b = &shapes[i / 6 % 6];
		const carom_pose pose_a = fixture_random_pose(&seed, 0.4), pose_b = fixture_random_pose(&seed, 0.4);
		carom_separation s;
		bool overlap, back;
		REQUIRE(carom_distance(context, a, &pose_a, b, &pose_b, &s) == CAROM_SUCCESS);
		REQUIRE(carom_overlap(context, a, &pose_a, b, &pose_b, &overlap) == CAROM_SUCCESS);
		REQUIRE(carom_overlap(context, b, &pose_b, a, &pose_a, &back) == CAROM_SUCCESS);
		CHECK(overlap == (s.distance <= 0) && back == overlap);
	}
	carom_release_mesh(hull);
	carom_destroy_context(context);
}
