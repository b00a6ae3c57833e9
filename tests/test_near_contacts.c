/// Contacts ahead: of shapes that are apart by less than the speculative distance, against distances by brute force.
#include "carom/collide.h"
#include "geom/triangle.h"
#include "manifold_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double AHEAD = 0.1;

static carom_world_def near_def(void)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = AHEAD;
	def.max_contacts_per_pair = 0;
	return def;
}

static v3d to_world(carom_pose pose, v3d p)
{
	const carom_vec3 w = carom_transform_point(pose, (carom_vec3){ p.x, p.y, p.z });
	return (v3d){ w.x, w.y, w.z };
}

/// Where two bodies are nearest, world frame.
typedef struct nearest {
	double distance; // 0: they meet
	v3d on_a, on_b;
} nearest;

/// Corners of all triangles, world frame.
static v3d *place_triangles(const carom_mesh *mesh, carom_pose pose)
{
	const int32_t count = carom_mesh_get_report(mesh)->triangle_count;
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *t = carom_mesh_get_triangles(mesh);
	v3d *placed = malloc((size_t)count * 3 * sizeof *placed);
	REQUIRE(placed);
	for (int32_t i = 0; i < 3 * count; i++)
		placed[i] = to_world(pose, v3d_from_floats(&v[3 * t[i]]));
	return placed;
}

/// By trying all pairs of triangles.
static nearest brute_force(const carom_mesh *a, carom_pose pose_a, const carom_mesh *b, carom_pose pose_b)
{
	v3d *p = place_triangles(a, pose_a), *q = place_triangles(b, pose_b);
	nearest best = { INFINITY, { 0, 0, 0 }, { 0, 0, 0 } };
	for (int32_t i = 0; i < carom_mesh_get_report(a)->triangle_count; i++) {
		for (int32_t j = 0; j < carom_mesh_get_report(b)->triangle_count && best.distance > 0; j++) {
			cr_triangle_point on_a, on_b;
			const double distance = sqrt(cr_closest_triangles(&p[3 * i], &q[3 * j], &on_a, &on_b));
			if (distance < best.distance)
				best = (nearest){ distance, on_a.point, on_b.point };
		}
	}
	free(p);
	free(q);
	return best;
}

static nearest box_distance(carom_context *context, carom_shape a, carom_pose pose_a, carom_shape b, carom_pose pose_b)
{
	carom_separation s;
	REQUIRE(carom_distance(context, &a, &pose_a, &b, &pose_b, &s) == CAROM_SUCCESS);
	return (
		nearest){ fmax(s.distance, 0), { s.point_a.x, s.point_a.y, s.point_a.z }, { s.point_b.x, s.point_b.y, s.point_b.z } };
}

/// Contacts of two bodies whose nearest points are known: the deepest is these, no other is nearer, and none is beyond
/// what was asked for.
static bool check_near(const manifold_view *view, const nearest *expected, double size, const char *name)
{
	if (expected->distance > AHEAD * (1 + 1e-6))
		return CHECK_INT(view->count, 0);
	if (!CHECK(view->count > 0)) {
		printf("%s: %g apart\n", name, expected->distance);
		return false;
	}
	const carom_contact *best = view->data;
	bool right = true;
	for (int i = 0; i < view->count; i++) {
		best = view->data[i].depth > best->depth ? &view->data[i] : best;
		right = right && view->data[i].depth >= -AHEAD * (1 + 1e-6);
	}
	const v3d across = v3d_scale(v3d_sub(expected->on_a, expected->on_b), 1 / expected->distance);
	const double tilt = v3d_length(v3d_sub(fixture_normal(best), across));
	right = right && fabs(best->depth + expected->distance) < 1e-6 * size && tilt < 1e-5 + 1e-5 * size / expected->distance;
	if (!CHECK(right)) {
		printf("%s: %.9g apart, told %.9g, normal off by %g, kind %d, %d contacts\n", name, expected->distance,
			-(double)best->depth, tilt, best->kind, view->count);
	}
	return right;
}

/// A body beside another one that is about the origin: nearer than what is looked ahead for, most of the time.
static carom_pose beside(uint64_t *seed, double span, int i)
{
	carom_pose pose = fixture_random_pose(seed, span);
	// Some lie as the other one does, or are turned about one axis alone: faces and edges side by side.
	if (i % 4 == 1)
		pose.orientation = (carom_quat){ 0, 0, 0, 1 };
	else if (i % 4 == 3)
		pose.orientation = fixture_turn((v3d){ i % 8 == 3, i % 16 == 7, i % 16 == 15 }, test_random_double(seed, 0, 3));
	return pose;
}

/// Does a body lie inside another one that it does not meet?
static bool lies_inside(const carom_mesh *a, carom_pose pose_a, const carom_mesh *b, carom_pose pose_b)
{
	const v3d world = to_world(pose_a, v3d_from_floats(carom_mesh_get_vertices(a)));
	const carom_vec3 own = carom_inverse_transform_point(pose_b, (carom_vec3){ world.x, world.y, world.z });
	const fixture_hit hit = fixture_cast(b, (v3d){ own.x, own.y, own.z }, (v3d){ 0.3, 0.5, 0.81 });
	return carom_mesh_get_report(b)->closed && hit.triangle >= 0 && hit.back;
}

typedef struct kind_of_pair {
	const char *name;
	carom_shape a, b;
	const carom_mesh *mesh_a, *mesh_b; // the same as meshes
	double span;
	int count;
} kind_of_pair;

static void check_pairs(carom_context *context, const kind_of_pair *k, uint64_t *seed)
{
	const carom_world_def def = near_def();
	int near = 0, tries = 0;
	while (near < k->count && tries < 400 * k->count) {
		const carom_pose b = fixture_random_pose(seed, tries % 2 ? 10 : 0), at = beside(seed, k->span, tries++);
		const carom_pose a = fixture_compose(b, at);
		nearest n = k->a.type == CAROM_BOX && k->b.type == CAROM_BOX ? box_distance(context, k->a, a, k->b, b) : (nearest){ 0 };
		if (n.distance == 0)
			n = brute_force(k->mesh_a, a, k->mesh_b, b);
		if (!(n.distance > 1e-5 && n.distance < 2 * AHEAD) || lies_inside(k->mesh_a, a, k->mesh_b, b) ||
			lies_inside(k->mesh_b, b, k->mesh_a, a))
			continue;
		manifold_view view;
		manifold_meet(context, &def, k->a, a, k->b, b, &view);
		near += n.distance < AHEAD;
		if (!check_near(&view, &n, 3, k->name))
			break;
	}
	CHECK_INT(near, k->count);
}

/// Signed distance and normal of the nearest features, whichever they are: vertices, edges, faces.
TEST(near_contacts, the_nearest_pair_is_told)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = manifold_cube(context, 1, 0.5), *cut = manifold_cube(context, 3, 0.5),
			   *brick = fixture_box_mesh(context, 0.7, 0.4, 0.3);
	carom_mesh *slab = fixture_box_mesh(context, 2, 2, 0.1), *lumpy = manifold_made_mesh(context, "lumpy", 300),
			   *sheet = fixture_sheet_mesh(context, 4, 3);
	const carom_shape box = fixture_box(0.5, 0.5, 0.5), flat = fixture_box(0.7, 0.4, 0.3);
	const kind_of_pair kinds[] = {
		{ "box and box", box, flat, cube, brick, 1.1, 480 / TEST_FEWER },
		{ "box and cube", box, fixture_of_mesh(cube), cube, cube, 1.1, 240 / TEST_FEWER },
		{ "cube and box", fixture_of_mesh(cube), flat, cube, brick, 1.1, 240 / TEST_FEWER },
		{ "cube and cube", fixture_of_mesh(cube), fixture_of_mesh(brick), cube, brick, 1.1, 240 / TEST_FEWER },
		{ "cut cube and cube", fixture_of_mesh(cut), fixture_of_mesh(cube), cut, cube, 1.1, 120 / TEST_FEWER },
		{ "lumpy and slab", fixture_of_mesh(lumpy), fixture_of_mesh(slab), lumpy, slab, 1.6, 40 / TEST_FEWER },
		{ "slab and lumpy", fixture_of_mesh(slab), fixture_of_mesh(lumpy), slab, lumpy, 1.6, 20 / TEST_FEWER },
		{ "cube and open sheet", fixture_of_mesh(cube), fixture_of_mesh(sheet), cube, sheet, 1.2, 120 / TEST_FEWER },
	};
	uint64_t seed = 5;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		check_pairs(context, &kinds[i], &seed);
	carom_mesh *all[] = { cube, cut, brick, slab, lumpy, sheet };
	for (int i = 0; i < 6; i++)
		carom_release_mesh(all[i]);
	carom_destroy_context(context);
}

/// A cube that hovers flat over another one, turned and shifted: the corners of the common part of the two faces are
/// contacts, each at the gap straight up. Reduced to four, these still surround the middle of the common part.
TEST(near_contacts, parallel_faces_are_covered)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cubes[3] = { manifold_cube(context, 1, 0.5), manifold_cube(context, 1, 0.5), manifold_cube(context, 8, 0.5) };
	uint64_t seed = 6;
	for (int i = 0; i < 300; i++) {
		const double gap = test_random_double(&seed, 0.001, 0.09), x = test_random_double(&seed, -0.3, 0.3),
					 y = test_random_double(&seed, -0.3, 0.3);
		const double angle = i % 5 == 0 ? 0 : test_random_double(&seed, 0, 3);
		const carom_pose frame = i % 2 ? carom_pose_identity() : fixture_random_pose(&seed, 4);
		const carom_pose above = { { x, y, 1 + gap }, fixture_turn((v3d){ 0, 0, 1 }, angle) };
		carom_world_def def = near_def();
		def.max_contacts_per_pair = i % 3 ? 0 : 4;
		manifold_view view;
		const carom_shape upper = i % 7 == 0 ? fixture_box(0.5, 0.5, 0.5) : fixture_of_mesh(cubes[i % 3]);
		manifold_meet(context, &def, upper, fixture_compose(frame, above), fixture_of_mesh(cubes[i / 3 % 3]), frame, &view);
		CHECK(view.count >= 4);
		double most[16], extent[16];
		for (int k = 0; k < 16; k++)
			most[k] = extent[k] = -INFINITY;
		for (int c = 0; c < view.count; c++) {
			const carom_vec3 n = carom_inverse_transform_point((carom_pose){ .orientation = frame.orientation },
				(carom_vec3){ view.data[c].normal[0], view.data[c].normal[1], view.data[c].normal[2] });
			const carom_vec3 at = carom_inverse_transform_point(
				frame, (carom_vec3){ view.data[c].point[0], view.data[c].point[1], view.data[c].point[2] });
			CHECK_NEAR(n.z, 1, 1e-6);
			CHECK_NEAR(view.data[c].depth, -gap, 1e-6);
			CHECK(fabs(at.x) < 0.5 + 1e-4 && fabs(at.y) < 0.5 + 1e-4);
			for (int k = 0; k < 16; k++)
				most[k] = fmax(most[k], at.x * cos(k * FIXTURE_PI / 8) + at.y * sin(k * FIXTURE_PI / 8));
		}
		// The common part by a fine grid of the lower face.
		double middle[2] = { 0, 0 };
		int inside = 0;
		for (int k = 0; k < 101 * 101; k++) {
			const carom_vec3 p = { k % 101 * 0.01 - 0.5, k / 101 * 0.01 - 0.5, 0 }; // NOLINT
			const carom_vec3 q = carom_inverse_transform_point((carom_pose){ { x, y, 0 }, above.orientation }, p);
			if (fabs(q.x) > 0.5 || fabs(q.y) > 0.5)
				continue;
			inside++;
			middle[0] += p.x;
			middle[1] += p.y;
			for (int j = 0; j < 16; j++)
				extent[j] = fmax(extent[j], p.x * cos(j * FIXTURE_PI / 8) + p.y * sin(j * FIXTURE_PI / 8));
		}
		for (int k = 0; k < 16; k++) {
			const double at_middle = (middle[0] * cos(k * FIXTURE_PI / 8) + middle[1] * sin(k * FIXTURE_PI / 8)) / inside;
			if (def.max_contacts_per_pair == 0)
				CHECK(most[k] > extent[k] - 0.02);
			CHECK(most[k] > at_middle);
		}
	}
	for (int i = 0; i < 3; i++)
		carom_release_mesh(cubes[i]);
	carom_destroy_context(context);
}

/// Is there a contact at a place that is at a height above a plane, or on the plane under it, with that height as its distance?
static bool has_contact_under(const manifold_view *view, v3d place, double height)
{
	for (int i = 0; i < view->count; i++) {
		const carom_contact *c = &view->data[i];
		const v3d at = { c->point[0], c->point[1], c->point[2] }, d = v3d_sub(at, place);
		if (v3d_length(d) < 2e-3 + fabs(height) && fabs(c->depth + height) < 1e-5)
			return true;
	}
	return false;
}

/// A cube that stands on one edge, or on a corner, nearly flat on a slab: there are the contacts of that edge, and those of the
/// corners that hang over the slab by less than the speculative distance, each at its height.
TEST(near_contacts, a_patch_is_completed_beside_what_touches)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cubes[2] = { manifold_cube(context, 1, 0.5), manifold_cube(context, 4, 0.5) };
	carom_mesh *slabs[3] = { fixture_box_mesh(context, 2, 2, 0.5), manifold_cube(context, 3, 2),
		manifold_floor(context, 3, 4, CAROM_SIDES_AUTO) };
	const double top[3] = { 0.5, 2, 0 };
	uint64_t seed = 9;
	for (int i = 0; i < 240; i++) {
		const double tilt = test_random_double(&seed, 0.002, 0.02), depth = i % 4 ? test_random_double(&seed, 0, 2e-3) : 0;
		const v3d axis = { 1, i % 3 == 0 ? test_random_double(&seed, -1, 1) : 0, 0 };
		const carom_pose frame = i % 2 ? carom_pose_identity() : fixture_random_pose(&seed, 4);
		carom_pose cube =
			fixture_compose((carom_pose){ { 0.3, 0.2, 0 }, fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, 0, 3)) },
				(carom_pose){ { 0, 0, 0 }, fixture_turn(v3d_normalize(axis), tilt) });
		double lowest = INFINITY;
		v3d corner[4];
		for (int k = 0; k < 4; k++) {
			corner[k] = to_world(cube, (v3d){ k % 2 - 0.5, k / 2 - 0.5, -0.5 }); // NOLINT
			lowest = fmin(lowest, corner[k].z);
		}
		cube.position.z += top[i % 3] - lowest - depth;
		const carom_world_def def = near_def();
		const carom_shape upper = i % 5 == 0 ? fixture_box(0.5, 0.5, 0.5) : fixture_of_mesh(cubes[i / 3 % 2]);
		manifold_view view;
		manifold_meet(context, &def, upper, fixture_compose(frame, cube), fixture_of_mesh(slabs[i % 3]), frame, &view);
		for (int k = 0; k < 4; k++) {
			const double height = corner[k].z - lowest - depth;
			const v3d at = { corner[k].x, corner[k].y, top[i % 3] + height };
			CHECK(has_contact_under(&view, to_world(frame, at), height));
		}
		for (int c = 0; c < view.count; c++) {
			const carom_vec3 n = carom_inverse_transform_point((carom_pose){ .orientation = frame.orientation },
				(carom_vec3){ view.data[c].normal[0], view.data[c].normal[1], view.data[c].normal[2] });
			CHECK(n.z > 0.999 && view.data[c].depth <= depth + 1e-5);
		}
	}
	for (int i = 0; i < 2; i++)
		carom_release_mesh(cubes[i]);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(slabs[i]);
	carom_destroy_context(context);
}

/// Bodies that overlap anyhow. The contacts with a depth are those that there are without a speculative distance; only some that
/// just touch may be missing. Each one ahead is a point that is outside of the other body by its distance.
TEST(near_contacts, what_overlaps_keeps_its_depths)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = manifold_cube(context, 1, 0.5), *brick = fixture_box_mesh(context, 0.7, 0.4, 0.3);
	const carom_shape shapes[2] = { fixture_of_mesh(cube), fixture_of_mesh(brick) };
	const carom_shape boxes[2] = { fixture_box(0.5, 0.5, 0.5), fixture_box(0.7, 0.4, 0.3) };
	carom_world_def ahead = near_def(), plain = near_def();
	plain.speculative_distance = 0;
	uint64_t seed = 10;
	int told = 0;
	for (int i = 0; i < 2000; i++) {
		carom_pose poses[2] = { beside(&seed, i % 2 ? 1.0 : 0.6, i), carom_pose_identity() };
		if (i % 3 == 0) {
			const double tilt = test_random_double(&seed, 0, 0.1), depth = test_random_double(&seed, 0, 0.1);
			poses[0].orientation = fixture_turn(v3d_normalize(poses[0].position), tilt);
			poses[0].position.z = 0.8 - depth;
		}
		manifold_view with, without;
		manifold_meet(context, &plain, shapes[0], poses[0], shapes[1], poses[1], &without);
		if (without.count == 0)
			continue;
		manifold_meet(context, &ahead, shapes[0], poses[0], shapes[1], poses[1], &with);
		int deep = 0;
		for (int k = 0; k < with.count; k++) {
			const carom_contact *c = &with.data[k];
			if (c->depth >= 0) {
				// Where a side comes up through a face, its end ahead stands for the place.
				while (deep < without.count && without.data[deep].depth < 1e-6 &&
					memcmp(&c->point, &without.data[deep].point, sizeof c->point) != 0)
					deep++;
				CHECK(deep < without.count && memcmp(&c->point, &without.data[deep].point, sizeof c->point) == 0);
				CHECK(deep < without.count && c->depth == without.data[deep].depth);
				deep++;
				continue;
			}
			told++;
			const int side = c->kind == CAROM_VERTEX_B;
			// The point lies on A's surface, or as far ahead of it as the depth tells.
			double least = INFINITY;
			const carom_shape dot = fixture_sphere(1e-6);
			for (int end = 0; end < 2; end++) {
				const v3d on = v3d_mad((v3d){ c->point[0], c->point[1], c->point[2] }, end * (double)c->depth * (side ? 1 : -1),
					fixture_normal(c));
				carom_separation s;
				const carom_pose at = { { on.x, on.y, on.z }, { 0, 0, 0, 1 } };
				REQUIRE(carom_distance(context, &dot, &at, &boxes[1 - side], &poses[1 - side], &s) == CAROM_SUCCESS);
				least = fmin(least, fabs(s.distance + 1e-6 + c->depth));
			}
			CHECK(least < 1e-5 - 0.01 * (double)c->depth);
		}
		while (deep < without.count && without.data[deep].depth < 1e-6)
			deep++;
		CHECK_INT(deep, without.count);
	}
	CHECK(told > 100);
	carom_release_mesh(cube);
	carom_release_mesh(brick);
	carom_destroy_context(context);
}

/// What a pair remembers changes nothing of what is ahead: bodies that come near each other slowly, touch and part have
/// in each step the contacts of a world that knows nothing of the steps before.
TEST(near_contacts, memory_changes_none)
{
	carom_context *context = fixture_context(1);
	carom_mesh *lumpy = manifold_made_mesh(context, "lumpy", 300), *cube = manifold_cube(context, 2, 0.5);
	const carom_world_def def = near_def();
	carom_world *world = fixture_world(context, &def);
	const carom_shape shapes[2] = { fixture_of_mesh(lumpy), fixture_of_mesh(cube) };
	carom_body_id id[2];
	for (int k = 0; k < 2; k++)
		id[k] = fixture_add(world, shapes[k], fixture_at(3 * k, 0, 0), CAROM_DYNAMIC);
	int ahead = 0;
	for (int step = 0; step < 300; step += TEST_STRIDE) {
		const double x = 1.9 - 0.006 * (step < 150 ? step : 300 - step);
		const carom_pose pose[2] = { { { 0, 0, 0 }, fixture_turn((v3d){ 1, 2, 3 }, 0.002 * step) },
			{ { x, 0.1, 0 }, fixture_turn((v3d){ 0, 1, 1 }, 0.003 * step) } };
		REQUIRE(carom_world_set_poses(world, 2, id, pose) == CAROM_SUCCESS);
		fixture_step(world);
		fixture_check_views(world);
		const carom_contact_view c = carom_world_contacts(world);
		const nearest n = brute_force(lumpy, pose[0], cube, pose[1]);
		manifold_view fresh;
		manifold_meet(context, &def, shapes[0], pose[0], shapes[1], pose[1], &fresh);
		CHECK_INT(c.count, fresh.count);
		for (int k = 0; k < c.count && k < fresh.count; k++) {
			CHECK(memcmp(c.data[k].point, fresh.data[k].point, sizeof c.data[k].point) == 0);
			CHECK(c.data[k].depth == fresh.data[k].depth && c.data[k].feature_a == fresh.data[k].feature_a);
		}
		ahead += c.count > 0 && n.distance > 0;
		if (c.count > 0 && n.distance > 0)
			check_near(&fresh, &n, 3, "coming");
	}
	CHECK(ahead > 20 / TEST_STRIDE);
	carom_destroy_world(world);
	carom_release_mesh(lumpy);
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

/// A sheet with a front is seen from there alone; one with two sides from both.
TEST(near_contacts, open_sheets_have_a_front)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = manifold_cube(context, 2, 0.5);
	const carom_world_def def = near_def();
	for (int i = 0; i < 4; i++) {
		carom_mesh *floor = manifold_floor(context, 3, 4, i < 2 ? CAROM_SIDES_FRONT : CAROM_SIDES_BOTH);
		manifold_view view;
		const double side = i % 2 ? -1 : 1;
		manifold_meet(context, &def, fixture_of_mesh(cube), fixture_at(0.1, 0.2, side * 0.55), fixture_of_mesh(floor),
			fixture_at(0, 0, 0), &view);
		CHECK_INT(view.count, i == 1 ? 0 : 4);
		for (int k = 0; k < view.count; k++) {
			CHECK_NEAR(view.data[k].normal[2], side, 1e-6);
			CHECK_NEAR(view.data[k].depth, -0.05, 1e-6);
		}
		carom_release_mesh(floor);
	}
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

/// A body of any shape that is wholly behind a sheet with a front is told nothing of it; before it, and on both sides of a sheet
/// with two, it is told the distance.
TEST(near_contacts, no_shape_sees_a_front_from_behind)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = manifold_cube(context, 1, 0.2);
	const float corners[24] = { -0.2f, -0.2f, -0.2f, 0.2f, -0.2f, -0.2f, -0.2f, 0.2f, -0.2f, 0.2f, 0.2f, -0.2f, -0.2f, -0.2f,
		0.2f, 0.2f, -0.2f, 0.2f, -0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f };
	carom_mesh *hull = fixture_hull_mesh(context, corners, 8);
	carom_shape rounded = fixture_box(0.1, 0.1, 0.1);
	rounded.rounding = 0.1;
	const carom_shape shapes[] = { fixture_sphere(0.2), fixture_capsule(0.1, 0.1), fixture_box(0.2, 0.2, 0.2),
		fixture_of_mesh(cube), fixture_hull(hull), fixture_cylinder(0.2, 0.2), fixture_cone(0.2, 0.2),
		fixture_ellipsoid(0.2, 0.2, 0.2), rounded };
	const carom_world_def def = near_def();
	uint64_t seed = 11;
	for (int sheet = 0; sheet < 4; sheet++) {
		const bool two_sided = sheet / 2;
		carom_mesh *floor = manifold_floor(context, sheet % 2 ? 12 : 1, 4, two_sided ? CAROM_SIDES_BOTH : CAROM_SIDES_FRONT);
		for (int i = 0; i < 20 * (int)(sizeof shapes / sizeof *shapes); i++) {
			const carom_pose frame = fixture_random_pose(&seed, i % 4 ? 3 : 0);
			const double side = i % 2 ? -1 : 1, x = test_random_double(&seed, -1, 1), y = test_random_double(&seed, -1, 1);
			manifold_view view;
			manifold_meet(context, &def, shapes[i / 20], fixture_compose(frame, fixture_at(x, y, side * 0.25)),
				fixture_of_mesh(floor), frame, &view);
			double deepest = -INFINITY;
			for (int k = 0; k < view.count; k++)
				deepest = fmax(deepest, view.data[k].depth);
			if (side < 0 && !two_sided)
				CHECK_INT(view.count, 0);
			else
				CHECK_NEAR(deepest, -0.05, 1e-5);
		}
		carom_release_mesh(floor);
	}
	carom_release_mesh(cube);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

/// Two fine surfaces side by side have more pairs of triangles within reach than are looked at: those that are nearly
/// nearest still make the patch, and where these are too many as well, the nearest points are the contact.
TEST(near_contacts, too_many_pairs_leave_the_nearest)
{
	carom_context *context = fixture_context(1);
	carom_mesh *fine = manifold_cube(context, 24, 0.5);
	carom_world_def def = near_def();
	def.speculative_distance = 0.5;
	for (int far = 0; far < 2; far++) {
		const double gap = far ? 0.3 : 0.01;
		manifold_view view;
		manifold_meet(context, &def, fixture_of_mesh(fine), fixture_at(0.1, 0.2, 1 + gap), fixture_of_mesh(fine),
			fixture_at(0, 0, 0), &view);
		CHECK(far ? view.count == 1 && view.data[0].kind == CAROM_FACES : view.count >= 4);
		for (int k = 0; k < view.count; k++) {
			CHECK_NEAR(view.data[k].depth, -gap, 1e-6);
			CHECK_NEAR(view.data[k].normal[2], 1, 1e-6);
		}
	}
	carom_release_mesh(fine);
	carom_destroy_context(context);
}

static void add_near_cubes(carom_world *world, void *cube)
{
	fixture_add(world, fixture_of_mesh(cube), fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_add(world, fixture_of_mesh(cube), fixture_at(0, 0.1, 1.02), CAROM_DYNAMIC);
}

TEST(near_contacts, out_of_memory_is_an_error)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *cube = manifold_cube(context, 12, 0.5);
	const carom_world_def def = near_def();
	CHECK(fixture_fail_each_allocation(&heap, context, &def, add_near_cubes, cube, 1) > 5);
	carom_release_mesh(cube);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
