/// Level floors that are one mesh, but badly cut: edges that end amid others, quads and solids that overlap, slivers,
/// triangles with a back. Contacts of whatever stands on them point up. Real steps still push.
#include "fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 6, STANDING = 11, POSES = 160 / TEST_FEWER };

/// What the quads of a floor are.
typedef enum floor_kind {
	FLOOR_ROWS,
	FLOOR_OVERLAP,
	FLOOR_SOLIDS,
	FLOOR_NESTED,
	FLOOR_BACKED,
	FLOOR_SLIVERS,
	FLOORS
} floor_kind;

static void add_quad(fixture_soup *s, double x, double y, double w, bool back)
{
	const int o = fixture_soup_vertex(s, x, y, 0);
	fixture_soup_vertex(s, x + w, y, 0);
	fixture_soup_vertex(s, x + w, y + w, 0);
	fixture_soup_vertex(s, x, y + w, 0);
	fixture_soup_triangle(s, o, o + 1, o + 2);
	fixture_soup_triangle(s, o, o + 2, o + 3);
	if (!back)
		return;
	fixture_soup_triangle(s, o, o + 2, o + 1);
	fixture_soup_triangle(s, o, o + 3, o + 2);
}

/// A quad around two vertices that nearly coincide.
static void add_slivers(fixture_soup *s, double x, double y, double w, double middle)
{
	const int o = fixture_soup_vertex(s, x, y, 0);
	fixture_soup_vertex(s, x + w, y, 0);
	fixture_soup_vertex(s, x + w, y + w, 0);
	fixture_soup_vertex(s, x, y + w, 0);
	fixture_soup_vertex(s, x + w * middle, y + 0.5 * w, 0);
	fixture_soup_vertex(s, x + w * middle + 1e-4, y + 0.5 * w + 1e-6, 0);
	fixture_soup_triangle(s, o, o + 1, o + 4);
	fixture_soup_triangle(s, o + 1, o + 5, o + 4);
	fixture_soup_triangle(s, o + 1, o + 2, o + 5);
	fixture_soup_triangle(s, o + 2, o + 3, o + 5);
	fixture_soup_triangle(s, o + 3, o + 4, o + 5);
	fixture_soup_triangle(s, o + 3, o, o + 4);
}

static void add_cell(fixture_soup *s, floor_kind kind, int i, int j, double middle)
{
	const double w = 0.5, x = w * (i - CELLS / 2), y = w * (j - CELLS / 2), grown = kind == FLOOR_NESTED ? 0.05 : 0;
	switch (kind) {
	case FLOOR_ROWS: add_quad(s, x + (j % 2 ? 0.17 : 0), y, w, false); return;
	case FLOOR_OVERLAP: add_quad(s, x, y, w + 0.1, false); return;
	case FLOOR_SOLIDS:
	case FLOOR_NESTED: fixture_soup_box(s, (v3d){ x + 0.25, y + 0.25, -0.25 }, 0.25 + grown, 0.25 + grown, 0.25); return;
	case FLOOR_BACKED: add_quad(s, x, y, w, true); return;
	default: add_slivers(s, x, y, w, middle); return;
	}
}

static carom_mesh *make_floor(carom_context *context, floor_kind kind)
{
	static fixture_soup soup;
	uint64_t seed = 5;
	soup.vertex_count = soup.triangle_count = 0;
	for (int i = 0; i < CELLS * CELLS; i++)
		add_cell(&soup, kind, i / CELLS, i % CELLS, test_random_double(&seed, 0.2, 0.8));
	return fixture_mesh(context, &soup);
}

/// A shape, turned so that it stands, and how high its middle is then.
typedef struct standing {
	const char *name;
	carom_shape shape;
	double height;
	carom_quat turn;
} standing;

static void make_standing(carom_context *context, standing s[STANDING], carom_mesh *meshes[3])
{
	const carom_quat up = { 0, 0, 0, 1 }, lying = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2);
	float corners[24], points[180];
	uint64_t seed = 9;
	for (int i = 0; i < 24; i++)
		corners[i] = (i / 3 >> i % 3 & 1 ? 1.0f : -1.0f) * (0.5f - 0.15f * (float)(i % 3));
	double lowest = 0;
	for (int i = 0; i < 180; i += 3) {
		const v3d d = v3d_normalize(
			(v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1) });
		points[i] = (float)(0.4 * d.x);
		points[i + 1] = (float)(0.4 * d.y);
		points[i + 2] = (float)(0.25 * d.z);
		lowest = fmin(lowest, points[i + 2]);
	}
	meshes[0] = fixture_hull_mesh(context, corners, 8);
	meshes[1] = fixture_hull_mesh(context, points, 60);
	meshes[2] = fixture_box_mesh(context, 0.5, 0.35, 0.2);
	carom_shape rounded = fixture_box(0.4, 0.2, 0.1);
	rounded.rounding = 0.1;
	s[0] = (standing){ "sphere", fixture_sphere(0.3), 0.3, up };
	s[1] = (standing){ "box", fixture_box(0.5, 0.3, 0.2), 0.2, up };
	s[2] = (standing){ "capsule", fixture_capsule(0.2, 0.4), 0.2, lying };
	s[3] = (standing){ "cylinder", fixture_cylinder(0.3, 0.2), 0.2, up };
	s[4] = (standing){ "lying cylinder", fixture_cylinder(0.3, 0.2), 0.3, lying };
	s[5] = (standing){ "cone", fixture_cone(0.3, 0.3), 0.3, up };
	s[6] = (standing){ "ellipsoid", fixture_ellipsoid(0.4, 0.3, 0.2), 0.2, up };
	s[7] = (standing){ "rounded box", rounded, 0.2, up };
	s[8] = (standing){ "hull box", fixture_hull(meshes[0]), 0.2, up };
	s[9] = (standing){ "hull", fixture_hull(meshes[1]), -lowest, up };
	s[10] = (standing){ "mesh box", fixture_of_mesh(meshes[2]), 0.2, up };
}

static carom_pose stand(const standing *s, double x, double y, double deep, double angle)
{
	carom_pose turned = fixture_at(0, 0, 0), pose = fixture_at(x, y, s->height - deep);
	turned.orientation = s->turn;
	pose.orientation = fixture_turn((v3d){ 0, 0, 1 }, angle);
	return fixture_compose(pose, turned);
}

/// Contacts whose normals are more than five degrees off the vertical, met ones and those ahead.
static void count_odd(carom_context *context, const standing *s, const carom_mesh *floor, double ahead, int odd[2])
{
	const carom_shape below = fixture_of_mesh(floor);
	uint64_t seed = 17;
	for (int i = 0; i < POSES; i++) {
		carom_contact c[64];
		int32_t count;
		const double x = test_random_double(&seed, -0.7, 0.7), y = test_random_double(&seed, -0.7, 0.7);
		const carom_pose pose = stand(s, x, y, 0.005, test_random_double(&seed, 0, 2 * FIXTURE_PI));
		REQUIRE(carom_collide(context, &s->shape, &pose, &below, NULL, ahead, 64, c, &count) == CAROM_SUCCESS);
		CHECK(count > 0);
		for (int k = 0; k < count; k++)
			odd[c[k].depth < 0] += c[k].normal[2] < 0.9962;
	}
}

TEST(flat_floors, contacts_point_up)
{
	carom_context *context = fixture_context(1);
	standing s[STANDING];
	carom_mesh *meshes[3];
	make_standing(context, s, meshes);
	for (int kind = 0; kind < FLOORS; kind++) {
		carom_mesh *floor = make_floor(context, (floor_kind)kind);
		for (int i = 0; i < 2 * STANDING; i++) {
			int odd[2] = { 0, 0 };
			count_odd(context, &s[i / 2], floor, i % 2 ? 0.02 : 0, odd);
			CHECK_INT(odd[0], 0);
			// Of a hull, a facet may be nearest to a place amid a triangle.
			CHECK(odd[1] <= (i / 2 == 9 ? POSES / 80 : 0));
		}
		carom_release_mesh(floor);
	}
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

/// A step up of 5 cm whose upper floor has a corner amid the edge of the lower one and of the riser. A cylinder and a hull
/// that have come against it by a centimetre are pushed back.
TEST(flat_floors, a_step_at_a_junction_pushes_back)
{
	static fixture_soup soup;
	carom_context *context = fixture_context(1);
	standing s[STANDING];
	carom_mesh *meshes[3];
	make_standing(context, s, meshes);
	soup.vertex_count = soup.triangle_count = 0;
	for (int i = 0; i < 8; i++)
		fixture_soup_vertex(&soup, i & 1 ? 0 : -4, i & 2 ? 4 : -4, 0);
	soup.vertices[12] = soup.vertices[15] = soup.vertices[18] = 0; // 4: (0, 0, 0.05), 5 and 6: ends of the riser's top
	soup.vertices[13] = 0;
	soup.vertices[14] = soup.vertices[17] = soup.vertices[20] = soup.vertices[23] = 0.05f;
	soup.vertices[21] = 4;
	soup.vertices[22] = 0;
	fixture_soup_triangle(&soup, 0, 1, 3);
	fixture_soup_triangle(&soup, 0, 3, 2);
	fixture_soup_triangle(&soup, 1, 5, 6); // the riser, without a vertex in the middle
	fixture_soup_triangle(&soup, 1, 6, 3);
	fixture_soup_triangle(&soup, 4, 5, 7); // the upper floor, with one
	fixture_soup_triangle(&soup, 4, 7, 6);
	carom_mesh *mesh = fixture_mesh(context, &soup);
	const carom_shape below = fixture_of_mesh(mesh);
	static const int upright[2] = { 3, 8 };
	static const double reach[2] = { 0.3, 0.35 };
	for (int i = 0; i < 10; i++) {
		const standing *body = &s[upright[i / 5]];
		const carom_pose pose = stand(body, 0.01 - reach[i / 5], 0.3 * (i % 5 - 2), 0.002, FIXTURE_PI / 2);
		carom_contact c[64];
		int32_t count;
		REQUIRE(carom_collide(context, &body->shape, &pose, &below, NULL, 0, 64, c, &count) == CAROM_SUCCESS);
		bool back = false;
		for (int n = 0; n < count; n++)
			back = back || (c[n].normal[0] < -0.3f && c[n].depth > 0.005f);
		CHECK(back);
	}
	carom_release_mesh(mesh);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

/// Two treads of an open mesh, 5 cm apart, and the riser between them at x = 0; up is the way of the z axis.
static carom_mesh *make_stairs(carom_context *context)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	for (int i = 0; i < 8; i++) // from below: the ends of the lower tread, of the riser's foot and top, and of the upper tread
		fixture_soup_vertex(&soup, i < 2 ? -4 : i < 6 ? 0 : 4, i % 2 ? 4 : -4, i < 4 ? 0 : 0.05);
	for (int i = 0; i < 6; i += 2) {
		fixture_soup_triangle(&soup, i, i + 2, i + 3);
		fixture_soup_triangle(&soup, i, i + 3, i + 1);
	}
	return fixture_mesh(context, &soup);
}

/// The way along x by which a shape at a pose reaches into x > 0.
static double reach_beyond(carom_context *context, const carom_shape *shape, const carom_pose *pose)
{
	const carom_shape plane = { .type = CAROM_PLANE };
	carom_pose wall = fixture_at(0, 0, 0);
	wall.orientation = fixture_turn((v3d){ 0, 1, 0 }, -FIXTURE_PI / 2);
	carom_separation s;
	REQUIRE(carom_distance(context, shape, pose, &plane, &wall, &s) == CAROM_SUCCESS);
	return -s.distance;
}

/// Contacts of a body that has come into the riser: none leads up by more than the body is in the tread, or by the least way
/// out; one pushes back where that leads back.
static void check_at_riser(carom_context *context, const standing *body, const carom_mesh *stairs, double deep, carom_pose pose)
{
	const carom_shape below = fixture_of_mesh(stairs);
	carom_contact c[64];
	carom_separation least;
	int32_t count;
	bool back = false;
	REQUIRE(carom_distance(context, &body->shape, &pose, &below, NULL, &least) == CAROM_SUCCESS);
	REQUIRE(carom_collide(context, &body->shape, &pose, &below, NULL, 0, 64, c, &count) == CAROM_SUCCESS);
	const double way = fmax(deep, -least.distance);
	for (int k = 0; k < count; k++) {
		back = back || (c[k].normal[0] < -0.3f && c[k].depth > 0);
		CHECK(c[k].depth <= 1.5 * way + 0.002);
		CHECK(!(c[k].normal[2] > 0.7f) || c[k].depth <= 1.05 * way + 0.002);
	}
	// What is round comes over the riser above its front.
	if (!CHECK(back || least.normal.x > -0.5))
		printf("%s, %g in the tread, %g out\n", body->name, deep, -least.distance);
}

/// A body that walks against a step is not thrown up on it, however it is turned.
TEST(flat_floors, a_riser_pushes_back)
{
	carom_context *context = fixture_context(1);
	standing s[STANDING];
	carom_mesh *meshes[3], *stairs = make_stairs(context);
	make_standing(context, s, meshes);
	static const double deep[3] = { 0, 5e-4, 2e-3 }, in[3] = { 2e-3, 0.01, 0.02 };
	uint64_t seed = 23;
	for (int i = 0; i < STANDING * 9; i++) {
		for (int k = 0; k < 10 / TEST_FEWER; k++) {
			// Flush with the riser by quarter turns at first.
			const double angle = k < 4 ? k * FIXTURE_PI / 2 : test_random_double(&seed, 0, 6);
			const double y = test_random_double(&seed, -0.5, 0.5);
			const standing *body = &s[i / 9];
			carom_pose pose = stand(body, 0, y, deep[i % 3], angle);
			pose.position.x = in[i / 3 % 3] - reach_beyond(context, &body->shape, &pose);
			check_at_riser(context, body, stairs, deep[i % 3], pose);
		}
	}
	carom_release_mesh(stairs);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

/// A box on a sheet, which is a quad with its back: from above and from below it has its corners, and is pushed to the side that
/// its middle is on.
TEST(flat_floors, a_sheet_with_two_sides_holds_a_box)
{
	static fixture_soup soup;
	carom_context *context = fixture_context(1);
	carom_mesh *box = fixture_box_mesh(context, 0.5, 0.3, 0.2);
	const carom_shape shapes[2] = { fixture_box(0.5, 0.3, 0.2), fixture_of_mesh(box) };
	soup.vertex_count = soup.triangle_count = 0;
	add_quad(&soup, -4, -4, 8, true);
	carom_mesh *sheet = fixture_mesh(context, &soup);
	CHECK(carom_mesh_get_report(sheet)->closed);
	const carom_shape below = fixture_of_mesh(sheet);
	uint64_t seed = 3;
	for (int i = 0; i < 4 * POSES; i++) {
		const double side = i % 2 ? 1 : -1;
		carom_pose pose = fixture_at(test_random_double(&seed, -2, -0.9), test_random_double(&seed, 0.9, 2), side * 0.198);
		pose.orientation = fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, 0, 2 * FIXTURE_PI));
		carom_contact c[64];
		int32_t count;
		REQUIRE(carom_collide(context, &shapes[i / 2 % 2], &pose, &below, NULL, 0, 64, c, &count) == CAROM_SUCCESS);
		CHECK(count >= 4);
		for (int k = 0; k < count; k++) {
			CHECK(side * c[k].normal[2] > 0.99);
			CHECK_NEAR(c[k].depth, 0.002, 1e-5);
		}
	}
	carom_release_mesh(sheet);
	carom_release_mesh(box);
	carom_destroy_context(context);
}
