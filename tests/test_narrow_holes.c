/// Convex shapes in holes that they nearly fill: no contact leads out along the hole, where a way across it is shorter.
#include "fixture.h"

#include "carom/collide.h"

enum { POSES = 100 / TEST_FEWER, MOST = 64 };

static const double RADIUS = 0.01, HEIGHT = 0.03, PLAY = 0.0001, HALF = 0.02;

static void put_vertex(fixture_soup *soup, double radius, double turn, double z)
{
	fixture_soup_vertex(soup, radius * cos(turn), radius * sin(turn), z);
}

/// A block with a hole through it along z, of so many sides. play is that across two of them.
static carom_mesh *block_with_hole(carom_context *context, int sides, double begin)
{
	static fixture_soup soup;
	const double inner = (RADIUS + PLAY) / cos(FIXTURE_PI / sides), outer = 3 * RADIUS / cos(FIXTURE_PI / sides);
	soup.vertex_count = soup.triangle_count = 0;
	for (int i = 0; i < sides; i++) {
		const double turn = begin + 2 * FIXTURE_PI * i / sides;
		put_vertex(&soup, inner, turn, 0);
		put_vertex(&soup, outer, turn, 0);
		put_vertex(&soup, outer, turn, HEIGHT);
		put_vertex(&soup, inner, turn, HEIGHT);
	}
	for (int i = 0; i < sides; i++) {
		for (int k = 0; k < 4; k++)
			fixture_soup_quad(
				&soup, 4 * i + k, 4 * ((i + 1) % sides) + k, 4 * ((i + 1) % sides) + (k + 1) % 4, 4 * i + (k + 1) % 4);
	}
	carom_mesh *mesh = fixture_mesh(context, &soup);
	REQUIRE(carom_mesh_get_report(mesh)->closed);
	return mesh;
}

static carom_mesh *prism(carom_context *context, int sides, double begin)
{
	float points[6 * 48];
	for (int i = 0; i < 2 * sides; i++) {
		const double turn = begin + 2 * FIXTURE_PI * (i / 2) / sides, r = RADIUS / cos(FIXTURE_PI / sides);
		points[3 * i] = (float)(r * cos(turn));
		points[3 * i + 1] = (float)(r * sin(turn));
		points[3 * i + 2] = (float)(i % 2 ? HALF : -HALF);
	}
	return fixture_hull_mesh(context, points, 2 * sides);
}

/// Nearly in the middle of the hole, turned a little.
static carom_pose pose_in_hole(uint64_t *seed, double turn)
{
	carom_pose pose = carom_pose_identity();
	const double x = test_random_double(seed, -2, 2), y = test_random_double(seed, -2, 2);
	const double z = test_random_double(seed, 0.3, 0.9), a = test_random_double(seed, -1, 1),
				 b = test_random_double(seed, -1, 1);
	const double c = test_random_double(seed, -turn, turn), tilt = test_random_double(seed, 0, 0.02);
	pose.position = (carom_vec3){ x * PLAY, y * PLAY, z * HEIGHT + 0.005 };
	pose.orientation = quat_mul(fixture_turn((v3d){ a, b, 0.01 }, tilt), fixture_turn((v3d){ 0, 0, 1 }, c));
	return pose;
}

/// Shallow poses: no contact is much deeper than the way out, and the deepest is no less.
static int check_hole(carom_context *context, const carom_mesh *mesh, const carom_shape *peg, double turn, int poses)
{
	const carom_shape hole = fixture_of_mesh(mesh);
	const carom_pose rest = carom_pose_identity();
	uint64_t seed = 5;
	int met = 0;
	for (int i = 0; i < poses; i++) {
		const carom_pose pose = pose_in_hole(&seed, turn);
		carom_separation way;
		carom_contact contacts[MOST];
		int32_t count;
		REQUIRE(carom_distance(context, peg, &pose, &hole, &rest, &way) == CAROM_SUCCESS);
		if (!(way.distance < -1e-6 && way.distance > -3e-4))
			continue;
		met++;
		REQUIRE(carom_collide(context, peg, &pose, &hole, &rest, 0, MOST, contacts, &count) == CAROM_SUCCESS);
		double deepest = 0;
		for (int32_t k = 0; k < count; k++)
			deepest = fmax(deepest, contacts[k].depth);
		CHECK(deepest > 0);
		CHECK(deepest <= -4 * way.distance + 1e-6);
	}
	return met;
}

TEST(narrow_holes, a_round_peg)
{
	carom_context *context = fixture_context(1);
	for (int sides = 16; sides <= 24; sides += 8) {
		carom_mesh *mesh = block_with_hole(context, sides, 0), *hull = prism(context, sides, 0);
		carom_shape shapes[4] = { fixture_cylinder(RADIUS, HALF), fixture_cylinder(RADIUS - 0.0005, HALF - 0.0005),
			fixture_hull(hull), fixture_capsule(RADIUS, HALF) };
		shapes[1].rounding = 0.0005;
		for (int k = 0; k < 4; k++)
			CHECK(check_hole(context, mesh, &shapes[k], FIXTURE_PI, POSES) > 1);
		carom_release_mesh(hull);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

TEST(narrow_holes, a_square_plug)
{
	carom_context *context = fixture_context(1);
	const double begin = FIXTURE_PI / 4;
	carom_mesh *mesh = block_with_hole(context, 4, begin), *hull = prism(context, 4, begin);
	carom_shape shapes[2] = { fixture_hull(hull), fixture_box(RADIUS - 0.0005, RADIUS - 0.0005, HALF - 0.0005) };
	shapes[1].rounding = 0.0005;
	for (int k = 0; k < 2; k++)
		CHECK(check_hole(context, mesh, &shapes[k], 0.02, 10 * POSES) > 5);
	carom_release_mesh(hull);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
