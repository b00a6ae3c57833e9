/// Contacts on ground that is not flat: what a solver gets of a body that was pushed into hills and stairs leads it out of all of
/// them, and no farther.
#include "manifold_fixture.h"
#include <math.h>
#include <string.h>
#include <stdio.h>

enum { CELLS = 40, MOST_CONTACTS = 256, STEPS = 8 };
static const double CELL = 0.25;

static double height_at(int column, int row)
{
	const double x = (column - CELLS / 2) * CELL, y = (row - CELLS / 2) * CELL;
	return 0.35 * sin(1.7 * x) * cos(1.3 * y) + 0.08 * sin(9 * x + 2 * y);
}

static carom_mesh *make_mesh(
	carom_context *context, const double *vertices, int vertex_count, const int32_t *triangles, int count)
{
	carom_mesh *mesh;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT64 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = count;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void put_quad(int32_t *triangle, int32_t a, int32_t b, int32_t c, int32_t d)
{
	const int32_t corners[6] = { a, b, c, a, c, d };
	for (int i = 0; i < 6; i++)
		triangle[i] = corners[i];
}

/// Open hills about the origin.
static carom_mesh *make_hills(carom_context *context)
{
	static double vertices[(CELLS + 1) * (CELLS + 1)][3];
	static int32_t triangles[CELLS * CELLS][6];
	for (int i = 0; i < (CELLS + 1) * (CELLS + 1); i++) {
		const int column = i % (CELLS + 1), row = i / (CELLS + 1);
		const double place[3] = { (column - CELLS / 2) * CELL, (row - CELLS / 2) * CELL, height_at(column, row) };
		for (int k = 0; k < 3; k++)
			vertices[i][k] = place[k];
	}
	for (int i = 0; i < CELLS * CELLS; i++) {
		const int32_t a = i % CELLS + (CELLS + 1) * (i / CELLS);
		put_quad(triangles[i], a, a + 1, a + CELLS + 2, a + CELLS + 1);
	}
	return make_mesh(context, vertices[0], (CELLS + 1) * (CELLS + 1), triangles[0], 2 * CELLS * CELLS);
}

/// A height field of these hills. Its first sample is its origin.
static carom_mesh *make_field(carom_context *context)
{
	float heights[(CELLS + 1) * (CELLS + 1)];
	carom_mesh *mesh;
	for (int i = 0; i < (CELLS + 1) * (CELLS + 1); i++)
		heights[i] = (float)height_at(i % (CELLS + 1), i / (CELLS + 1));
	REQUIRE(carom_create_height_field(context, CELLS + 1, CELLS + 1, heights, (double[2]){ CELL, CELL }, 2, &mesh) ==
		CAROM_SUCCESS);
	return mesh;
}

/// Open stairs that go down along x, each tread 0.35 deep and 0.2 below the one before.
static carom_mesh *make_stairs(carom_context *context)
{
	double vertices[4 * STEPS][3];
	int32_t triangles[2 * STEPS - 1][6];
	for (int i = 0; i < 4 * STEPS; i++) {
		const int edge = i / 2;
		vertices[i][0] = 0.35 * ((edge + 1) / 2) - 1.4;
		vertices[i][1] = i % 2 ? 4 : -4;
		vertices[i][2] = -0.2 * (edge / 2) + 0.8;
	}
	for (int32_t i = 0; i < 2 * STEPS - 1; i++)
		put_quad(triangles[i], 2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1);
	return make_mesh(context, vertices[0], 4 * STEPS, triangles[0], 2 * (2 * STEPS - 1));
}

/// The least way that moves below no contact's plane.
static v3d way_of(const carom_contact *contacts, int count)
{
	v3d way = { 0, 0, 0 };
	for (int round = 0; round < 400; round++) {
		for (int i = 0; i < count; i++) {
			const v3d n = { contacts[i].normal[0], contacts[i].normal[1], contacts[i].normal[2] };
			const double lack = contacts[i].depth - v3d_dot(n, way);
			way = v3d_mad(way, lack > 0 ? lack : 0, n);
		}
	}
	return way;
}

/// A body falls on the ground and is pushed in by so much against the ground's normal. false: it missed, or is hardly in.
static bool push_in(carom_context *context, carom_shape body, carom_shape ground, const carom_pose *at, double depth,
	carom_pose *pose, double *overlap)
{
	const carom_motion rest = { *at, *at }, fall = carom_straight_motion(*pose, (carom_vec3){ 0, 0, -4 });
	carom_toi toi;
	carom_separation s;
	REQUIRE(carom_time_of_impact(context, &body, &fall, &ground, &rest, 1e-4, &toi) == CAROM_SUCCESS);
	if (toi.status != CAROM_TOI_IMPACT)
		return false;
	*pose = carom_motion_pose(&fall, toi.time);
	pose->position.x -= depth * toi.separation.normal.x;
	pose->position.y -= depth * toi.separation.normal.y;
	pose->position.z -= depth * toi.separation.normal.z;
	REQUIRE(carom_distance(context, &body, pose, &ground, at, &s) == CAROM_SUCCESS);
	*overlap = -s.distance;
	return *overlap > 0.0005;
}

/// What is left of the overlap once every contact is solved, and how far that moved the body.
static double solve(
	carom_context *context, carom_shape body, carom_shape ground, const carom_pose *at, carom_pose pose, double *moved)
{
	carom_contact contacts[MOST_CONTACTS];
	carom_separation s;
	int count;
	REQUIRE(carom_collide(context, &body, &pose, &ground, at, 0, MOST_CONTACTS, contacts, &count) == CAROM_SUCCESS);
	const v3d way = way_of(contacts, count);
	pose.position = (carom_vec3){ pose.position.x + way.x, pose.position.y + way.y, pose.position.z + way.z };
	REQUIRE(carom_distance(context, &body, &pose, &ground, at, &s) == CAROM_SUCCESS);
	*moved = v3d_length(way);
	return -s.distance;
}

/// Poses above the middle of the ground, turned at random.
static void check_ground(carom_context *context, carom_shape body, carom_shape ground, carom_pose at, double spread, int poses)
{
	uint64_t seed = 77;
	for (int i = 0; i < poses; i++) {
		const double depth = (double[]){ 0.003, 0.01, 0.03 }[i % 3];
		const v3d axis = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
			test_random_double(&seed, -1, 1) };
		carom_pose pose = { .orientation = fixture_turn(axis, test_random_double(&seed, -3, 3)) };
		pose.position.x = spread * test_random_double(&seed, -1, 1);
		pose.position.y = spread * test_random_double(&seed, -1, 1);
		pose.position.z = 1.8;
		double overlap, moved;
		if (!push_in(context, body, ground, &at, depth, &pose, &overlap))
			continue;
		const double left = solve(context, body, ground, &at, pose, &moved);
		if (!CHECK(left < fmax(0.002, 0.5 * depth)) || !CHECK(moved < 3 * overlap + 0.01))
			printf("pose %d, pushed in by %g: %g is left of %g, moved by %g\n", i, depth, left, overlap, moved);
	}
}

static void check_grounds(carom_context *context, carom_shape body, int poses)
{
	carom_mesh *hills = make_hills(context), *field = make_field(context), *stairs = make_stairs(context);
	const double corner = -CELLS / 2 * CELL;
	check_ground(context, body, fixture_of_mesh(hills), fixture_at(0, 0, 0), 3, poses);
	check_ground(context, body, fixture_of_mesh(field), fixture_at(corner, corner, 0), 3, poses);
	check_ground(context, body, fixture_of_mesh(stairs), fixture_at(0, 0, 0), 1, poses);
	carom_release_mesh(hills);
	carom_release_mesh(field);
	carom_release_mesh(stairs);
}

TEST(terrain, contacts_lead_boxes_out)
{
	carom_context *context = fixture_context(1);
	check_grounds(context, fixture_box(0.2, 0.15, 0.1), 120 / TEST_FEWER);
	carom_destroy_context(context);
}

TEST(terrain, contacts_lead_meshes_out)
{
	carom_context *context = fixture_context(1);
	carom_mesh *box = fixture_box_mesh(context, 0.2, 0.15, 0.1), *ball = manifold_made_mesh(context, "sphere", 48);
	check_grounds(context, fixture_of_mesh(box), 60 / TEST_FEWER);
	const double fifth[3] = { 0.2, 0.2, 0.2 };
	carom_mesh *small;
	REQUIRE(carom_create_scaled_mesh(context, ball, fifth, &small) == CAROM_SUCCESS);
	check_grounds(context, fixture_of_mesh(small), 60 / TEST_FEWER);
	carom_release_mesh(small);
	carom_release_mesh(ball);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

/// The edge of a step in a box that hangs over it, 2.4 mm deep: straight up, whichever body is A.
TEST(terrain, the_edge_of_a_step_pushes_up)
{
	carom_context *context = fixture_context(1);
	const double vertices[8][3] = { { 1.05, -4, -0.6 }, { 1.4, -4, -0.6 }, { 1.4, 4, -0.6 }, { 1.05, 4, -0.6 },
		{ 1.4, -4, -0.8 }, { 1.4, 4, -0.8 }, { 1.75, -4, -0.8 }, { 1.75, 4, -0.8 } };
	const double drop[2][3] = { { 1.75, -4, -1 }, { 1.75, 4, -1 } };
	double all[10][3];
	for (int i = 0; i < 30; i++)
		all[i / 3][i % 3] = i < 24 ? vertices[i / 3][i % 3] : drop[i / 3 - 8][i % 3];
	int32_t triangles[4][6];
	put_quad(triangles[0], 0, 1, 2, 3);
	put_quad(triangles[1], 4, 5, 2, 1);
	put_quad(triangles[2], 4, 6, 7, 5);
	put_quad(triangles[3], 8, 9, 7, 6);
	carom_mesh *step = make_mesh(context, all[0], 10, triangles[0], 8);
	const carom_pose pose = { { 1.6511238764618781, 0.40423776960091445, -0.611169169573055 },
		{ 0.091764693615922766, -0.26059316206317679, -0.34261869889612573, -0.89793255429247953 } };
	for (int order = 0; order < 2; order++) {
		carom_world *world = fixture_world(context, NULL);
		for (int i = 0; i < 2; i++) {
			carom_body_id id;
			carom_body_def def = carom_default_body_def();
			def.kind = i == order ? CAROM_STATIC : CAROM_DYNAMIC;
			def.shape = i == order ? fixture_of_mesh(step) : fixture_box(0.2, 0.15, 0.1);
			def.pose = i == order ? fixture_at(0, 0, 0) : pose;
			REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
		}
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		const carom_contact_view view = carom_world_contacts(world);
		double deepest = 0, up = 0;
		for (int i = 0; i < view.count; i++) {
			up = view.data[i].depth > deepest ? view.data[i].normal[2] : up;
			deepest = fmax(deepest, view.data[i].depth);
		}
		CHECK_NEAR(deepest, 0.0024, 1e-4);
		CHECK_NEAR(order == 0 ? -up : up, 1, 1e-6);
		carom_destroy_world(world);
	}
	carom_release_mesh(step);
	carom_destroy_context(context);
}

enum { SIDE = 61, LEANING = 2000 / TEST_FEWER };

/// Hills of cells of 5 cm, no steeper than 18 degrees.
static carom_mesh *make_fine_hills(carom_context *context)
{
	static fixture_soup soup;
	soup.vertex_count = SIDE * SIDE;
	soup.triangle_count = 0;
	for (int i = 0; i < SIDE * SIDE; i++) {
		float *v = &soup.vertices[3 * i];
		v[0] = (float)(0.05 * (i % SIDE - SIDE / 2));
		v[1] = (float)(0.05 * (i / SIDE - SIDE / 2));
		v[2] = (float)(0.25 * sin(1.3 * (double)v[0]) * cos(1.1 * (double)v[1]));
	}
	for (int i = 0; i < SIDE * SIDE; i++) {
		const int32_t t[6] = { i, i + 1, i + SIDE + 1, i, i + SIDE + 1, i + SIDE };
		if (i % SIDE == SIDE - 1 || i / SIDE == SIDE - 1)
			continue;
		memcpy(&soup.triangles[3 * soup.triangle_count], t, sizeof t);
		soup.triangle_count += 2;
	}
	return fixture_mesh(context, &soup);
}

/// Boxes that lie on an edge or a corner in fine hills, 5 mm deep, are pushed where the hills face, and not across their sides.
TEST(terrain, fine_hills_push_where_they_face)
{
	carom_context *context = fixture_context(1);
	carom_mesh *hills = make_fine_hills(context), *mesh = fixture_box_mesh(context, 0.5, 0.3, 0.2);
	const carom_shape ground = fixture_of_mesh(hills), shapes[2] = { fixture_box(0.5, 0.3, 0.2), fixture_of_mesh(mesh) };
	uint64_t seed = 5;
	int odd = 0;
	for (int i = 0; i < LEANING; i++) {
		carom_pose pose = fixture_random_pose(&seed, 0.9);
		pose.position.z = 2;
		const carom_motion fall = carom_straight_motion(pose, (carom_vec3){ 0, 0, -4 });
		carom_toi impact;
		carom_contact c[64];
		int32_t count;
		REQUIRE(carom_time_of_impact(context, &shapes[i % 2], &fall, &ground, NULL, 1e-4, &impact) == CAROM_SUCCESS);
		pose = carom_motion_pose(&fall, impact.time);
		pose.position.z -= 0.005;
		REQUIRE(carom_collide(context, &shapes[i % 2], &pose, &ground, NULL, 0, 64, c, &count) == CAROM_SUCCESS);
		CHECK(count > 0);
		bool leans = false;
		for (int k = 0; k < count; k++)
			leans = leans || (c[k].normal[2] < 0.85f && c[k].depth > 1e-3f);
		odd += leans;
	}
	// Of 2,000 there were 30 before pieces of creases could be served by other patches, and are 3.
	if (!CHECK(odd <= LEANING / 250))
		printf("%d of %d\n", odd, LEANING);
	carom_release_mesh(hills);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
