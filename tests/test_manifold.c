/// Contacts that hold a body, by default: the bar of what a solver needs, on every ground and for cubes cut into few and many triangles.
#include "manifold_fixture.h"
#include "tiles_fixture.h"
#include <math.h>
#include <string.h>

// ---- Resting flat ----

/// A ground whose top is z = 0, and where on it bodies are put.
typedef struct ground {
	const char *name;
	carom_shape shape;
	carom_pose pose;
	double spread; // of the places
	double yaw;    // largest
	carom_mesh *mesh;
} ground;

enum { GROUNDS = 9 };

static ground mesh_ground(const char *name, carom_mesh *mesh, double lower, double spread, double yaw)
{
	return (ground){ name, fixture_of_mesh(mesh), fixture_at(0, 0, lower), spread, yaw, mesh };
}

static void make_grounds(carom_context *context, ground g[GROUNDS])
{
	static const float heights[21 * 21];
	carom_mesh *field;
	REQUIRE(carom_create_height_field(context, 21, 21, heights, (double[2]){ 1, 1 }, 1, &field) == CAROM_SUCCESS);
	g[0] = mesh_ground("open floor, 2 triangles", manifold_floor(context, 1, 20, CAROM_SIDES_AUTO), 0, 8, 6.28);
	g[1] = mesh_ground("open floor, 800 triangles", manifold_floor(context, 20, 20, CAROM_SIDES_AUTO), 0, 8, 6.28);
	g[2] = mesh_ground("height field", field, 0, 8, 6.28);
	g[2].pose = fixture_at(-10, -10, 0);
	g[3] = mesh_ground("slab of 12 triangles", fixture_box_mesh(context, 10, 10, 0.5), -0.5, 8, 6.28);
	g[4] = (ground){ "slab as a box", fixture_box(10, 10, 0.5), fixture_at(0, 0, -0.5), 8, 6.28, NULL };
	g[5] = mesh_ground("larger crate", fixture_box_mesh(context, 0.6, 0.6, 0.5), -0.5, 0.4, 0.3);
	g[6] = mesh_ground("crate of 12 triangles", manifold_cube(context, 1, 0.5), -0.5, 0.4, 0.3);
	g[7] = mesh_ground("crate of 3072 triangles", manifold_cube(context, 16, 0.5), -0.5, 0.4, 0.3);
	g[8] = (ground){ "crate as a box", fixture_box(0.5, 0.5, 0.5), fixture_at(0, 0, -0.5), 0.4, 0.3, NULL };
}

/// Is a place surrounded by contacts that point up: is there one on either side of every line through it?
static bool holds(const manifold_view *view, double x, double y)
{
	for (int i = 0; i < 720; i++) {
		const carom_quat q = fixture_turn((v3d){ 0, 0, 1 }, i * FIXTURE_PI / 360);
		const carom_vec3 d = carom_rotate(q, (carom_vec3){ 1, 0, 0 });
		double most = -INFINITY;
		for (int k = 0; k < view->count; k++) {
			if (view->data[k].normal[2] > 0.7)
				most = fmax(most, d.x * (view->data[k].point[0] - x) + d.y * (view->data[k].point[1] - y));
		}
		if (most < 1e-6)
			return false;
	}
	return true;
}

/// Contacts of a cube that rests on flat ground, sunk 1 mm: straight up, 1 mm deep at most, and around its middle.
static void check_rest(carom_context *context, const ground *g, carom_shape cube, int poses)
{
	const carom_world_def def = carom_default_world_def();
	uint64_t seed = 9;
	int held = 0, straight = 0, deep = 0;
	for (int i = 0; i < poses; i++) {
		const double x = g->spread * test_random_double(&seed, -0.5, 0.5), y = g->spread * test_random_double(&seed, -0.5, 0.5);
		const carom_quat yaw = fixture_turn((v3d){ 0, 0, 1 }, g->yaw * test_random_double(&seed, 0, 1));
		manifold_view view;
		manifold_meet(context, &def, cube, (carom_pose){ { x, y, 0.499 }, yaw }, g->shape, g->pose, &view);
		held += holds(&view, x, y);
		bool up = view.count > 0, right = view.count > 0;
		for (int k = 0; k < view.count; k++) {
			up = up && view.data[k].normal[2] > 1 - 1e-6;
			right = right && view.data[k].depth <= 0.001 + 1e-5 && view.data[k].depth >= 0;
		}
		straight += up;
		deep += right;
	}
	if (!CHECK_INT(held, poses) || !CHECK_INT(straight, poses) || !CHECK_INT(deep, poses))
		CHECK_STR(g->name, "");
}

TEST(manifold, flat_cubes_are_held_on_every_ground)
{
	carom_context *context = fixture_context(1);
	ground grounds[GROUNDS];
	make_grounds(context, grounds);
	for (int i = 0; i < 5; i++) {
		carom_mesh *mesh = i == 0 ? NULL : manifold_cube(context, (int[]){ 0, 1, 2, 4, 16 }[i], 0.5);
		for (int g = 0; g < GROUNDS; g++)
			check_rest(context, &grounds[g], mesh ? fixture_of_mesh(mesh) : fixture_box(0.5, 0.5, 0.5), i == 4 ? 12 : 60);
		carom_release_mesh(mesh);
	}
	for (int g = 0; g < GROUNDS; g++)
		carom_release_mesh(grounds[g].mesh);
	carom_destroy_context(context);
}

/// A turned cube whose lowest corner is 1 mm below the ground: contacts up, none deeper.
TEST(manifold, turned_cubes_touch_floors_straight_up)
{
	carom_context *context = fixture_context(1);
	carom_world_def all = carom_default_world_def();
	all.max_contacts_per_pair = 0;
	ground grounds[GROUNDS];
	make_grounds(context, grounds);
	carom_mesh *cubes[3] = { NULL, manifold_cube(context, 1, 0.5), manifold_cube(context, 4, 0.5) };
	uint64_t seed = 4;
	int bad = 0, none = 0;
	for (int i = 0; i < 1500; i++) {
		const ground *g = &grounds[i % 5];
		const carom_mesh *mesh = cubes[i % 3];
		const carom_shape cube = mesh ? fixture_of_mesh(mesh) : fixture_box(0.5, 0.5, 0.5);
		const v3d axis = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
			test_random_double(&seed, -1, 1) };
		const carom_quat q = fixture_turn(axis, i & 1 ? test_random_double(&seed, 0, 0.05) : test_random_double(&seed, 0, 3));
		double low = 0;
		for (int k = 0; k < 8; k++)
			low = fmin(low, carom_rotate(q, (carom_vec3){ k & 1 ? 0.5 : -0.5, k & 2 ? 0.5 : -0.5, k & 4 ? 0.5 : -0.5 }).z);
		const carom_pose pose = { { test_random_double(&seed, -4, 4), test_random_double(&seed, -4, 4), -low - 0.001 }, q };
		manifold_view view;
		manifold_meet(context, &all, cube, pose, g->shape, g->pose, &view);
		none += view.count == 0;
		for (int k = 0; k < view.count; k++)
			bad += view.data[k].depth > 0.00102 || view.data[k].depth < 0 || view.data[k].normal[2] < 0.99;
	}
	CHECK_INT(none, 0);
	CHECK_INT(bad, 0);
	for (int i = 1; i < 3; i++)
		carom_release_mesh(cubes[i]);
	for (int g = 0; g < GROUNDS; g++)
		carom_release_mesh(grounds[g].mesh);
	carom_destroy_context(context);
}

/// Vertices that lie exactly on the other surface touch there: they have no depth, and the normal of the face.
TEST(manifold, vertices_on_the_other_surface_have_no_depth)
{
	carom_context *context = fixture_context(1);
	carom_mesh *small = manifold_cube(context, 1, 0.5), *large = manifold_cube(context, 1, 1.5);
	const carom_world_def def = carom_default_world_def();
	manifold_view view;
	manifold_meet(context, &def, fixture_of_mesh(small),
		(carom_pose){ { 0, 0, 0 }, fixture_turn((v3d){ 0, 1, 0 }, FIXTURE_PI / 4) }, fixture_of_mesh(large),
		fixture_at(0, 0, -1.5), &view);
	CHECK(view.count >= 4);
	for (int i = 0; i < view.count; i++) {
		CHECK_NEAR(view.data[i].normal[2], 1, 1e-6);
		CHECK_NEAR(view.data[i].depth, -view.data[i].point[2], 1e-6);
	}
	carom_release_mesh(small);
	carom_release_mesh(large);
	carom_destroy_context(context);
}

/// Coplanar sides and edges that graze add nothing: two equal crates, one on the other, turned by next to nothing.
TEST(manifold, coplanar_sides_push_nowhere)
{
	carom_context *context = fixture_context(1);
	carom_mesh *crate = manifold_cube(context, 1, 0.5), *fine = manifold_cube(context, 4, 0.5);
	const carom_world_def def = carom_default_world_def();
	for (int i = 0; i < 60; i++) {
		const double turn = i == 0 ? 0 : 1e-8 * (1 << i % 20), sunk = i % 3 ? 0.01 : 0;
		const v3d axis = { i % 2, i / 2 % 2, 1 };
		manifold_view view;
		manifold_meet(context, &def, fixture_of_mesh(i & 4 ? fine : crate),
			(carom_pose){ { 0, 0, 1 - sunk }, fixture_turn(axis, turn) }, fixture_of_mesh(crate), fixture_at(0, 0, 0), &view);
		if (sunk > 0)
			CHECK(view.count >= 4);
		for (int k = 0; k < view.count; k++) {
			CHECK(view.data[k].normal[2] > 0.99);
			CHECK(view.data[k].depth <= sunk + 0.02);
		}
	}
	carom_release_mesh(crate);
	carom_release_mesh(fine);
	carom_destroy_context(context);
}

// ---- Hulls ----

static double reach_of_cube(carom_pose pose, v3d n)
{
	const carom_vec3 local =
		carom_inverse_transform_point((carom_pose){ { 0, 0, 0 }, pose.orientation }, (carom_vec3){ n.x, n.y, n.z });
	return 0.5 * (fabs(local.x) + fabs(local.y) + fabs(local.z));
}

/// Least overlap of two unit cubes over all their separating axes.
static double least_overlap(carom_pose a, carom_pose b)
{
	v3d axes[6];
	for (int i = 0; i < 6; i++) {
		const carom_vec3 e =
			carom_rotate(i < 3 ? a.orientation : b.orientation, (carom_vec3){ i % 3 == 0, i % 3 == 1, i % 3 == 2 });
		axes[i] = (v3d){ e.x, e.y, e.z };
	}
	const v3d d = v3d_sub((v3d){ a.position.x, a.position.y, a.position.z }, (v3d){ b.position.x, b.position.y, b.position.z });
	double least = INFINITY;
	for (int i = 0; i < 15; i++) {
		v3d n = i < 6 ? axes[i] : v3d_cross(axes[(i - 6) / 3], axes[3 + (i - 6) % 3]);
		if (v3d_length(n) < 1e-9)
			continue;
		n = v3d_normalize(n);
		least = fmin(least, reach_of_cube(a, n) + reach_of_cube(b, n) - fabs(v3d_dot(n, d)));
	}
	return least;
}

/// Moving by the deepest contact parts two cubes, however they overlap; shallow overlaps by next to the least move.
TEST(manifold, the_deepest_contact_parts_two_hulls)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cubes[2] = { manifold_cube(context, 1, 0.5), manifold_cube(context, 2, 0.5) };
	const carom_world_def def = carom_default_world_def();
	uint64_t seed = 3;
	int pairs = 0, parted = 0, shallow = 0, near_least = 0;
	while (pairs < 1500) {
		const carom_pose a = fixture_random_pose(&seed, 1), b = fixture_random_pose(&seed, 0.2);
		const double least = least_overlap(a, b);
		if (least < 1e-5)
			continue;
		manifold_view view;
		const carom_shape other = pairs % 3 == 0 ? fixture_box(0.5, 0.5, 0.5) : fixture_of_mesh(cubes[pairs % 3 - 1]);
		manifold_meet(context, &def, fixture_of_mesh(cubes[pairs % 2]), a, other, b, &view);
		pairs++;
		const carom_contact *deepest = NULL;
		for (int i = 0; i < view.count; i++)
			deepest = !deepest || view.data[i].depth > deepest->depth ? &view.data[i] : deepest;
		REQUIRE(deepest != NULL);
		carom_pose moved = a;
		const double way = deepest->depth * (1 + 1e-5) + 1e-6;
		moved.position.x += way * deepest->normal[0];
		moved.position.y += way * deepest->normal[1];
		moved.position.z += way * deepest->normal[2];
		parted += least_overlap(moved, b) <= 1e-6;
		CHECK(deepest->depth >= least * (1 - 1e-5) - 1e-6);
		if (least < 0.05) {
			shallow++;
			near_least += deepest->depth <= least * 1.06 + 1e-6;
		}
	}
	CHECK_INT(parted, pairs);
	CHECK(shallow > 50);
	CHECK_INT(near_least, shallow);
	for (int i = 0; i < 2; i++)
		carom_release_mesh(cubes[i]);
	carom_destroy_context(context);
}

/// Two bars that cross on edge touch along the common normal of their edges.
TEST(manifold, crossed_edges_part_along_their_common_normal)
{
	carom_context *context = fixture_context(1);
	carom_mesh *bar = fixture_box_mesh(context, 1, 0.1, 0.1);
	const carom_world_def def = carom_default_world_def();
	const carom_quat on_edge = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 4);
	uint64_t seed = 5;
	for (int i = 0; i < 100; i++) {
		const carom_quat across = fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, 0.5, 2.6));
		carom_pose upper = fixture_compose((carom_pose){ { 0, 0, 0 }, across }, (carom_pose){ { 0, 0, 0 }, on_edge });
		upper.position = (carom_vec3){ test_random_double(&seed, -0.1, 0.1), 0, 0.2 * sqrt(2) - 0.01 };
		manifold_view view;
		manifold_meet(
			context, &def, fixture_of_mesh(bar), upper, fixture_of_mesh(bar), (carom_pose){ { 0, 0, 0 }, on_edge }, &view);
		REQUIRE(view.count == 1);
		CHECK_NEAR(view.data[0].normal[2], 1, 1e-5);
		CHECK_NEAR(view.data[0].depth, 0.01, 1e-6);
		CHECK_INT(view.data[0].kind, CAROM_EDGE_A);
	}
	carom_release_mesh(bar);
	carom_destroy_context(context);
}

// ---- Concave bodies ----

/// A cube in the corner of a room is pushed off the floor and both walls, with points that span each side.
TEST(manifold, a_cube_in_a_corner_is_held_on_three_sides)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	// A solid corner: three slabs would be three bodies, so one hollow outline, swept: floor and two walls as one closed mesh.
	static const float outline[14][3] = { { -1, -1, -1 }, { 4, -1, -1 }, { 4, 4, -1 }, { -1, 4, -1 }, { -1, -1, 4 },
		{ 4, -1, 4 }, { 4, 0, 4 }, { 0, 0, 4 }, { 0, 4, 4 }, { -1, 4, 4 }, { 4, 0, 0 }, { 0, 0, 0 }, { 0, 4, 0 }, { 4, 4, 0 } };
	static const int32_t triangles[] = { 0, 3, 2, 0, 2, 1, /* bottom */ 11, 10, 13, 11, 13, 12, /* floor */ 11, 12, 8, 11, 8, 7,
		/* wall x */ 11, 7, 6, 11, 6, 10, /* wall y */ 4, 5, 6, 4, 6, 7, 4, 7, 8, 4, 8, 9, /* top */ 0, 1, 5, 0, 5,
		4, /* outer y */
		0, 4, 9, 0, 9, 3, /* outer x */ 1, 2, 13, 1, 13, 10, 1, 10, 6, 1, 6, 5, /* end x */ 3, 9, 8, 3, 8, 12, 3, 12, 13, 3, 13,
		2 };
	memcpy(soup.vertices, outline, sizeof outline);
	memcpy(soup.triangles, triangles, sizeof triangles);
	soup.vertex_count = 14;
	soup.triangle_count = (int32_t)(sizeof triangles / sizeof triangles[0] / 3);
	carom_context *context = fixture_context(1);
	carom_mesh *corner = fixture_mesh(context, &soup), *cube = manifold_cube(context, 1, 0.5);
	CHECK(carom_mesh_get_report(corner)->closed);
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	manifold_view view;
	manifold_meet(context, &def, fixture_of_mesh(cube), fixture_at(0.499, 0.498, 0.497), fixture_of_mesh(corner),
		fixture_at(0, 0, 0), &view);
	for (int axis = 0; axis < 3; axis++) {
		double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
		for (int i = 0; i < view.count; i++) {
			if (view.data[i].normal[axis] < 0.99)
				continue;
			CHECK_NEAR(view.data[i].depth, 0.001 * (axis + 1), 1e-5);
			for (int k = 0; k < 3; k++) {
				lower[k] = fmin(lower[k], view.data[i].point[k]);
				upper[k] = fmax(upper[k], view.data[i].point[k]);
			}
		}
		for (int k = 1; k < 3; k++)
			CHECK_NEAR(upper[(axis + k) % 3] - lower[(axis + k) % 3], 1, 0.004); // but for what is in the other walls
	}
	carom_release_mesh(corner);
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

/// A closed mesh: an outline of the plane y = 0, counter-clockwise as seen along y, swept from y = -1 to 1.
static carom_mesh *swept_mesh(
	carom_context *context, const float (*outline)[2], int count, const int32_t (*caps)[3], int cap_count)
{
	static fixture_soup soup;
	soup.vertex_count = 2 * count;
	soup.triangle_count = 0;
	for (int i = 0; i < 2 * count; i++) {
		const float at[3] = { outline[i % count][0], i < count ? -1 : 1, outline[i % count][1] };
		memcpy(soup.vertices + 3 * i, at, sizeof at);
	}
	for (int i = 0; i < count; i++) {
		const int32_t j = (i + 1) % count, side[6] = { i, i + count, j + count, i, j + count, j };
		memcpy(soup.triangles + 3 * soup.triangle_count, side, sizeof side);
		soup.triangle_count += 2;
	}
	for (int i = 0; i < cap_count; i++) {
		const int32_t a = caps[i][0], b = caps[i][1], c = caps[i][2];
		const int32_t ends[6] = { a, b, c, a + count, c + count, b + count };
		memcpy(soup.triangles + 3 * soup.triangle_count, ends, sizeof ends);
		soup.triangle_count += 2;
	}
	carom_mesh *mesh = fixture_mesh(context, &soup);
	CHECK(carom_mesh_get_report(mesh)->closed && !carom_mesh_get_report(mesh)->inverted);
	return mesh;
}

/// How far contacts lead along x and z, where they face along one of the two alone.
static void find_ways(const carom_contact *contacts, int count, double way[2])
{
	way[0] = way[1] = 0;
	for (int i = 0; i < count; i++) {
		for (int k = 0; k < 2; k++) {
			const double along = contacts[i].normal[2 * k];
			if (fabs(along) > 0.9)
				way[k] = fmax(way[k], contacts[i].depth / fabs(along));
		}
	}
}

/// Contacts of a bar in the hollow corner x = z = 0: of both walls, and none much deeper than the way out. swap: the bar is B.
static void check_bar(carom_context *context, carom_shape bar, carom_shape corner, carom_pose pose, double depth, bool swap)
{
	const carom_quat q = pose.orientation, back = { -q.x, -q.y, -q.z, q.w };
	const carom_vec3 p = pose.position, away = carom_rotate(back, (carom_vec3){ -p.x, -p.y, -p.z });
	const carom_pose seen = { away, back };
	carom_contact contacts[64];
	int32_t count;
	carom_separation gap;
	if (swap)
		REQUIRE(carom_collide(context, &corner, &seen, &bar, NULL, 0, 64, contacts, &count) == CAROM_SUCCESS);
	else
		REQUIRE(carom_collide(context, &bar, &pose, &corner, NULL, 0, 64, contacts, &count) == CAROM_SUCCESS);
	double deepest = 0, way[2];
	for (int i = 0; i < count; i++)
		deepest = fmax(deepest, contacts[i].depth);
	CHECK(deepest < 4 * depth && deepest > 0.2 * depth);
	find_ways(contacts, count, way);
	CHECK(way[0] > 0 && way[1] > 0);
	pose.position.x += way[0];
	pose.position.z += way[1];
	REQUIRE(carom_distance(context, &bar, &pose, &corner, NULL, &gap) == CAROM_SUCCESS);
	CHECK(gap.distance > -0.3 * depth);
}

/// Bars shorter and longer than the corner they lie in, that stick out of it at one end, at both or at none, or end flush
/// with it: their edge is below the hollow edge, and may have no end inside.
TEST(manifold, a_bar_in_a_corner_is_held_by_both_walls_whatever_its_length)
{
	static const float l[6][2] = { { -1, -1 }, { 3, -1 }, { 3, 0 }, { 0, 0 }, { 0, 3 }, { -1, 3 } };
	static const int32_t l_caps[4][3] = { { 0, 1, 3 }, { 1, 2, 3 }, { 0, 3, 5 }, { 3, 4, 5 } };
	static const float u[8][2] = { { -1, -1 }, { 3, -1 }, { 3, 2 }, { 2, 2 }, { 2, 0 }, { 0, 0 }, { 0, 2 }, { -1, 2 } };
	static const int32_t u_caps[6][3] = { { 0, 1, 5 }, { 1, 4, 5 }, { 1, 2, 3 }, { 1, 3, 4 }, { 0, 5, 7 }, { 5, 6, 7 } };
	static const double halves[] = { 0.3, 0.9, 0.99, 1, 1.01, 1.5, 5 }, depths[] = { 1e-4, 1e-3, 1e-2 };
	enum { HALVES = 7, DEPTHS = 3, POSES = 24 / TEST_FEWER };
	carom_context *context = fixture_context(1);
	carom_mesh *corners[2] = { swept_mesh(context, l, 6, l_caps, 4), swept_mesh(context, u, 8, u_caps, 6) };
	uint64_t seed = 31;
	for (int h = 0; h < HALVES; h++) {
		const double half = halves[h];
		carom_mesh *mesh = fixture_box_mesh(context, 0.2, half, 0.2);
		for (int i = 0; i < DEPTHS * POSES; i++) {
			const double depth = depths[i % DEPTHS];
			const double x = test_random_double(&seed, 0.3, 1), z = test_random_double(&seed, 0.3, 1);
			const double along = (1 + half) * test_random_double(&seed, -0.9, 0.9);
			const double axis[2] = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1) };
			const double turn = fmin(1e-3, 0.1 * depth / half) * test_random_double(&seed, 0, 1);
			const double places[3] = { along, 0, 1 - half };
			const carom_pose pose = { { 0.2 - x * depth, places[i / DEPTHS % 3], 0.2 - z * depth },
				fixture_turn((v3d){ axis[0], 0, axis[1] }, i % 4 ? turn : 0) };
			const carom_shape bar = i % 2 ? fixture_of_mesh(mesh) : fixture_box(0.2, half, 0.2);
			check_bar(context, bar, fixture_of_mesh(corners[i / 2 % 2]), pose, depth, i / 4 % 2);
		}
		carom_release_mesh(mesh);
	}
	carom_release_mesh(corners[0]);
	carom_release_mesh(corners[1]);
	carom_destroy_context(context);
}

// ---- Open meshes ----

/// A cube that has sunk in by three quarters is pushed to the front of what has one, and to its own middle's side by what has two.
TEST(manifold, open_floors_push_to_their_front)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = manifold_cube(context, 2, 0.5);
	for (int i = 0; i < 12; i++) {
		const carom_mesh_sides sides = (carom_mesh_sides)(i % 3);
		const carom_body_kind kind = i / 3 % 2 ? CAROM_STATIC : CAROM_DYNAMIC;
		const bool front = sides == CAROM_SIDES_FRONT || (sides == CAROM_SIDES_AUTO && kind == CAROM_STATIC);
		carom_mesh *floor = manifold_floor(context, i / 6 ? 7 : 1, 7, sides);
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, 0), kind);
		fixture_add(world, fixture_of_mesh(cube), fixture_at(0.3, 0.2, -0.25), CAROM_DYNAMIC);
		fixture_step(world);
		const carom_contact_view c = carom_world_contacts(world);
		CHECK(c.count >= 4);
		for (int k = 0; k < c.count; k++) {
			// The floor is A: the normal takes it away from the cube.
			CHECK_NEAR(c.data[k].normal[2], front ? -1 : 1, 1e-6);
			CHECK_NEAR(c.data[k].depth, front ? 0.75 : 0.25, 1e-6);
		}
		carom_destroy_world(world);
		carom_release_mesh(floor);
	}
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

// ---- Contacts that are kept ----

/// A closed prism about z: radius and half its height 0.5.
static carom_mesh *make_prism(carom_context *context, int sides)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	for (int i = 0; i < 2 * sides; i++, soup.vertex_count++) {
		const double angle = 2 * FIXTURE_PI * (i % sides) / sides;
		const v3d p = { 0.5 * cos(angle), 0.5 * sin(angle), i < sides ? -0.5 : 0.5 };
		for (int k = 0; k < 3; k++)
			soup.vertices[3 * i + k] = (float)(k == 0 ? p.x : k == 1 ? p.y : p.z);
	}
	for (int i = 0; i < sides; i++) {
		const int32_t j = (i + 1) % sides, wall[6] = { i, j, sides + j, i, sides + j, sides + i };
		memcpy(&soup.triangles[3 * soup.triangle_count], wall, sizeof wall);
		soup.triangle_count += 2;
		const int32_t ends[6] = { 0, i + 1, i, sides, sides + i, sides + i + 1 };
		if (i > 0 && i + 1 < sides) {
			memcpy(&soup.triangles[3 * soup.triangle_count], ends, sizeof ends);
			soup.triangle_count += 2;
		}
	}
	return fixture_mesh(context, &soup);
}

/// One prism stands on another and trembles by so much. *kept: contacts from the third step on; new ones are counted.
static int count_new_contacts(carom_context *context, carom_mesh *mesh, double tremble, int *kept)
{
	const carom_world_def def = carom_default_world_def();
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id upper = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 1), CAROM_DYNAMIC);
	uint64_t seed = 3;
	int fresh = 0;
	*kept = 0;
	for (int step = 0; step < 60; step++) {
		const carom_pose pose = fixture_trembling_pose(&seed, tremble, (carom_vec3){ 0.01, 0, 0.999 });
		REQUIRE(carom_world_set_pose(world, upper, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		for (int i = 0; step > 1 && i < view.count; i++, (*kept)++)
			fresh += view.data[i].age == 0;
	}
	carom_destroy_world(world);
	return fresh;
}

/// A body that trembles keeps its contacts, and so a solver its impulses, though more are found than are kept.
TEST(manifold, bodies_that_tremble_keep_their_contacts)
{
	carom_context *context = fixture_context(1);
	static const int sides[] = { 8, 16, 24, 32 };
	for (int i = 0; i < 4; i++) {
		carom_mesh *mesh = make_prism(context, sides[i]);
		int kept;
		CHECK_INT(count_new_contacts(context, mesh, 1e-6, &kept), 0);
		CHECK_INT(kept, 8 * 58);
		CHECK(count_new_contacts(context, mesh, 1e-4, &kept) <= kept / 40);
		CHECK_INT(kept, 8 * 58);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

/// Is there a contact at a corner of a cube that stands on z = 0?
static bool has_corner(const manifold_view *view, double x, double y, double most)
{
	for (int i = 0; i < view->count; i++) {
		const double *p = view->data[i].point;
		if (fabs(p[0] - x) < 1e-3 && fabs(p[1] - y) < 1e-3 && view->data[i].depth > -most)
			return true;
	}
	return false;
}

/// A cube just touches: its corners are kept, though rings of its sides are ahead at the same places.
TEST(manifold, what_touches_is_kept_before_what_is_ahead)
{
	static const double depths[] = { 0, 1e-9, 1e-7, 1e-5, 1e-3, -1e-6 };
	carom_context *context = fixture_context(1);
	carom_mesh *cube = manifold_cube(context, 4, 0.1);
	float corners[24];
	tiles_corners(0.3, 0.6, 0.1, corners);
	carom_mesh *hull = fixture_hull_mesh(context, corners, 8), *mesh = fixture_box_mesh(context, 0.3, 0.6, 0.1);
	const carom_shape grounds[] = { fixture_hull(hull), fixture_of_mesh(mesh), fixture_box(0.3, 0.6, 0.1) };
	for (int i = 0; i < 3 * 6 * 2; i++) {
		carom_world_def def = carom_default_world_def();
		def.speculative_distance = 0.2;
		const carom_shape slab = grounds[i % 3];
		const carom_pose low = fixture_at(0, 0, -0.1), high = fixture_at(0.07, 0.11, 0.1 - depths[i / 3 % 6]);
		manifold_view view;
		if (i < 18)
			manifold_meet(context, &def, slab, low, fixture_of_mesh(cube), high, &view);
		else
			manifold_meet(context, &def, fixture_of_mesh(cube), high, slab, low, &view);
		for (int k = 0; k < 4; k++)
			CHECK(has_corner(&view, k & 1 ? 0.17 : -0.03, k & 2 ? 0.21 : 0.01, 1e-5));
	}
	carom_release_mesh(cube);
	carom_release_mesh(hull);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

static const carom_contact *deepest_of(const manifold_view *view)
{
	const carom_contact *deepest = &view->data[0];
	for (int i = 1; i < view->count; i++)
		deepest = view->data[i].depth > deepest->depth ? &view->data[i] : deepest;
	return deepest;
}

/// However few contacts are kept, the greatest depth is among them, with its direction.
TEST(manifold, the_greatest_depth_is_kept)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[3] = { manifold_made_mesh(context, "lumpy", 192), manifold_cube(context, 4, 0.5),
		make_prism(context, 16) };
	static const int most[] = { 1, 2, 4, 8 };
	uint64_t seed = 17;
	int reduced = 0;
	for (int i = 0; i < 240; i++) {
		const carom_shape a = fixture_of_mesh(meshes[i % 3]), b = fixture_of_mesh(meshes[i / 3 % 3]);
		const carom_pose pose = i % 2 ? fixture_at(0.1, 0.2, 0.9999) : fixture_random_pose(&seed, 0.6);
		manifold_view all, few;
		carom_world_def def = carom_default_world_def();
		def.max_contacts_per_pair = 0;
		manifold_meet(context, &def, a, pose, b, fixture_at(0, 0, 0), &all);
		def.max_contacts_per_pair = most[i % 4];
		manifold_meet(context, &def, a, pose, b, fixture_at(0, 0, 0), &few);
		CHECK_INT(few.count, all.count < most[i % 4] ? all.count : most[i % 4]);
		if (all.count == 0)
			continue;
		const carom_contact *found = deepest_of(&all), *kept = deepest_of(&few);
		CHECK(kept->depth == found->depth);
		CHECK(v3d_dot(fixture_normal(kept), fixture_normal(found)) > 1 - 1e-6);
		reduced += few.count < all.count;
	}
	CHECK(reduced > 100);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

// ---- What the contacts must not depend on ----

static int find_like(const manifold_view *view, const carom_contact *c, double tolerance)
{
	for (int i = 0; i < view->count; i++) {
		// Where two edges have passed each other the place along them says nothing.
		const bool edges = c->kind == CAROM_EDGE_A && c->depth > 0.1;
		if ((edges || v3d_length(v3d_sub(fixture_point(&view->data[i]), fixture_point(c))) < tolerance) &&
			v3d_length(v3d_sub(fixture_normal(&view->data[i]), fixture_normal(c))) < tolerance &&
			fabs(view->data[i].depth - c->depth) < tolerance)
			return i;
	}
	return -1;
}

/// Cubes cut otherwise, or with their triangles in another order, have the same contacts.
TEST(manifold, contacts_do_not_depend_on_triangles)
{
	carom_context *context = fixture_context(1);
	carom_mesh *plain = manifold_cube(context, 1, 0.5),
			   *others[4] = { manifold_cube(context, 2, 0.5), manifold_cube(context, 16, 0.5),
				   manifold_shuffled_cube(context, 1, 0.5, 1), manifold_shuffled_cube(context, 4, 0.5, 2) };
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	uint64_t seed = 12;
	int contacts = 0, lost = 0;
	for (int i = 0; i < 200; i++) {
		const carom_pose a = fixture_random_pose(&seed, 0.7), b = fixture_random_pose(&seed, 0.2);
		manifold_view first, second;
		manifold_meet(context, &def, fixture_of_mesh(plain), a, fixture_of_mesh(plain), b, &first);
		manifold_meet(context, &def, fixture_of_mesh(others[i % 4]), a, fixture_of_mesh(others[i / 4 % 4]), b, &second);
		CHECK_INT(second.count, first.count);
		for (int k = 0; k < first.count; k++, contacts++)
			lost += find_like(&second, &first.data[k], 1e-5) < 0;
	}
	CHECK(contacts > 500);
	CHECK_INT(lost, 0);
	carom_release_mesh(plain);
	for (int i = 0; i < 4; i++)
		carom_release_mesh(others[i]);
	carom_destroy_context(context);
}

/// A scene turned and moved, also far away, has its contacts turned and moved.
TEST(manifold, contacts_move_with_the_scene)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = manifold_cube(context, 1, 0.5);
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	uint64_t seed = 21;
	int contacts = 0, lost = 0;
	for (int i = 0; i < 200; i++) {
		carom_pose frame = fixture_random_pose(&seed, 5);
		frame.position.x += i % 2 ? 1e6 : 0;
		const carom_pose a = fixture_random_pose(&seed, 0.7), b = fixture_random_pose(&seed, 0.2);
		manifold_view here, there;
		manifold_meet(context, &def, fixture_of_mesh(cube), a, fixture_of_mesh(cube), b, &here);
		manifold_meet(context, &def, fixture_of_mesh(cube), fixture_compose(frame, a), fixture_of_mesh(cube),
			fixture_compose(frame, b), &there);
		for (int k = 0; k < here.count; k++, contacts++) {
			carom_contact moved = here.data[k];
			const carom_vec3 p = carom_transform_point(frame, (carom_vec3){ moved.point[0], moved.point[1], moved.point[2] });
			const carom_vec3 n =
				carom_rotate(frame.orientation, (carom_vec3){ moved.normal[0], moved.normal[1], moved.normal[2] });
			memcpy(moved.point, (double[3]){ p.x, p.y, p.z }, sizeof moved.point);
			memcpy(moved.normal, (float[3]){ (float)n.x, (float)n.y, (float)n.z }, sizeof moved.normal);
			lost += find_like(&there, &moved, 1e-5) < 0;
		}
	}
	CHECK(contacts > 500);
	CHECK(lost <= contacts / 200); // planes that are equally good
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

/// A step among others gives what a first step gives: what pairs remember changes nothing.
TEST(manifold, memory_changes_no_contact)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = manifold_cube(context, 2, 0.5), *floor = manifold_floor(context, 3, 6, CAROM_SIDES_AUTO);
	carom_world_def defs[2] = { carom_default_world_def(), carom_default_world_def() };
	defs[1].temporal = CAROM_TEMPORAL_NONE;
	carom_world *worlds[2];
	carom_body_id ids[2][2];
	for (int w = 0; w < 2; w++) {
		worlds[w] = fixture_world(context, &defs[w]);
		fixture_add(worlds[w], fixture_of_mesh(floor), fixture_at(0, 0, 0), CAROM_STATIC);
		for (int i = 0; i < 2; i++)
			ids[w][i] = fixture_add(worlds[w], fixture_of_mesh(cube), fixture_at(0, 0, 3), CAROM_DYNAMIC);
	}
	uint64_t seed = 8;
	int contacts = 0;
	carom_pose poses[2] = { fixture_at(0.2, 0.1, 0.51), fixture_at(0.3, -0.1, 1.52) };
	for (int step = 0; step < 300; step++) {
		for (int i = 0; i < 2; i++) {
			const v3d axis = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
				test_random_double(&seed, -1, 1) };
			const carom_pose turn = { { 0, 0, 0 }, fixture_turn(axis, 0.01 * (step % 50 == 0 ? 30 : 1)) };
			poses[i].orientation = fixture_compose(turn, (carom_pose){ { 0, 0, 0 }, poses[i].orientation }).orientation;
			poses[i].position.z += test_random_double(&seed, -0.01, 0.01);
		}
		for (int w = 0; w < 2; w++) {
			REQUIRE(carom_world_set_poses(worlds[w], 2, ids[w], poses) == CAROM_SUCCESS);
			fixture_step(worlds[w]);
		}
		contacts += carom_world_contacts(worlds[0]).count;
		CHECK(carom_world_hash(worlds[0]) == carom_world_hash(worlds[1]));
	}
	CHECK(contacts > 300);
	for (int w = 0; w < 2; w++)
		carom_destroy_world(worlds[w]);
	carom_release_mesh(cube);
	carom_release_mesh(floor);
	carom_destroy_context(context);
}

typedef struct pile_meshes {
	carom_mesh *floor, *cube;
} pile_meshes;

static void add_pile(carom_world *world, void *user)
{
	const pile_meshes *meshes = user;
	fixture_add(world, fixture_of_mesh(meshes->floor), fixture_at(0, 0, 0), CAROM_STATIC);
	for (int i = 0; i < 3; i++)
		fixture_add(world, fixture_of_mesh(meshes->cube), fixture_at(0.1 * i, 0, 0.499 + 0.999 * i), CAROM_DYNAMIC);
}

/// Each allocation on the way fails once: an error, nothing lost, and the next step works.
/// The scratch of one step of so many pairs of lumpy bodies that cross deeply.
static size_t scratch_of_pairs(carom_context *context, carom_mesh *mesh, int pairs)
{
	carom_world *world = fixture_world(context, NULL);
	const carom_shape shape = fixture_of_mesh(mesh);
	for (int i = 0; i < pairs; i++) {
		fixture_add(world, shape, fixture_at(10 * i, 0, 0), CAROM_DYNAMIC);
		fixture_add(world, shape, fixture_at(10 * i + 0.5, 0.1, 0.2), CAROM_DYNAMIC);
	}
	fixture_step(world);
	const carom_stats stats = carom_world_stats(world);
	CHECK_INT(stats.pairs_crossing, pairs);
	carom_destroy_world(world);
	return stats.scratch_peak;
}

TEST(manifold, pairs_take_their_scratch_one_after_the_other)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = manifold_made_mesh(context, "lumpy", 48);
	const size_t few = scratch_of_pairs(context, mesh, 2), many = scratch_of_pairs(context, mesh, 64);
	// 32 times as much where each pair has its own.
	CHECK(few > 1000);
	CHECK(many < 3 * few);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(manifold, out_of_memory_is_an_error)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	pile_meshes meshes = { manifold_floor(context, 20, 20, CAROM_SIDES_AUTO), manifold_cube(context, 4, 0.5) };
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, add_pile, &meshes, 3) > 5);
	carom_release_mesh(meshes.floor);
	carom_release_mesh(meshes.cube);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
