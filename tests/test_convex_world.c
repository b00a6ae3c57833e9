/// Bodies of the convex family in worlds: they rest on every ground, agree with the stateless functions and
/// with dull sampling.
#include "manifold_fixture.h"

#include "carom/collide.h"
#include "carom/carom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static carom_shape rounded(carom_shape shape, double rounding)
{
	shape.rounding = rounding;
	return shape;
}
static carom_mesh *cube_hull(carom_context *context, double half)
{
	float points[24];
	for (int i = 0; i < 24; i++)
		points[i] = (float)((i / 3 >> i % 3 & 1) ? half : -half);
	return fixture_hull_mesh(context, points, 8);
}

// ---- Resting flat ----

/// A ground whose top is z = 0, and where on it bodies are put.
typedef struct ground {
	const char *name;
	carom_shape shape;
	carom_pose pose;
	double spread; // of the places
	carom_mesh *mesh;
} ground;

enum { GROUNDS = 9 };

static ground mesh_ground(const char *name, carom_mesh *mesh, double lower, double spread)
{
	return (ground){ name, fixture_of_mesh(mesh), fixture_at(0, 0, lower), spread, mesh };
}

static void make_grounds(carom_context *context, ground g[GROUNDS])
{
	static const float heights[21 * 21];
	carom_mesh *field, *slab = cube_hull(context, 4);
	REQUIRE(carom_create_height_field(context, 21, 21, heights, (double[2]){ 1, 1 }, 1, &field) == CAROM_SUCCESS);
	g[0] = mesh_ground("open floor, 2 triangles", manifold_floor(context, 1, 20, CAROM_SIDES_AUTO), 0, 16);
	g[1] = mesh_ground("open floor, 800 triangles", manifold_floor(context, 20, 20, CAROM_SIDES_AUTO), 0, 16);
	g[2] = mesh_ground("height field", field, 0, 16);
	g[2].pose = fixture_at(-10, -10, 0);
	g[3] = mesh_ground("slab of 12 triangles", fixture_box_mesh(context, 10, 10, 0.5), -0.5, 16);
	g[4] = mesh_ground("block of 3072 triangles", manifold_cube(context, 16, 2), -2, 2);
	g[5] = (ground){ "slab as a box", fixture_box(10, 10, 0.5), fixture_at(0, 0, -0.5), 16, NULL };
	g[6] = (ground){ "plane", { .type = CAROM_PLANE }, carom_pose_identity(), 16, NULL };
	g[7] = (ground){ "block as a hull", fixture_hull(slab), fixture_at(0, 0, -4), 6, slab };
	g[8] = (ground){ "cylinder", fixture_cylinder(4, 1), fixture_at(0, 0, -1), 4, NULL };
}

/// Is a place surrounded by contacts: is there one on either side of every line through it?
static bool surrounds(const manifold_view *view, double x, double y)
{
	for (int i = 0; i < 180; i++) {
		const carom_vec3 d = carom_rotate(fixture_turn((v3d){ 0, 0, 1 }, i * FIXTURE_PI / 90), (carom_vec3){ 1, 0, 0 });
		double most = -INFINITY;
		for (int k = 0; k < view->count; k++)
			most = fmax(most, d.x * (view->data[k].point[0] - x) + d.y * (view->data[k].point[1] - y));
		if (most < 1e-6)
			return false;
	}
	return true;
}

/// A body at rest: its shape, how it is turned before it is turned about the upright, how high its middle
/// stands, and its contacts.
typedef struct resting {
	const char *name;
	carom_shape shape;
	carom_quat turn;
	double height;
	enum { ON_A_FACE, ON_A_LINE, ON_A_POINT } stand;
	double span; // of a line
} resting;

/// Contacts straight up, as deep as the body is sunk at most, and where the body stands.
static bool stands(const resting *body, const manifold_view *view, double x, double y, double sign, double sunk)
{
	double most = 0;
	bool good = view->count > 0 && view->count <= 8;
	for (int k = 0; k < view->count; k++) {
		const carom_contact *c = &view->data[k];
		good = good && sign * c->normal[2] > 1 - 1e-6 && c->depth <= sunk + 1e-5 && c->depth >= fmin(sunk, 0) - 1e-5;
		if (body->stand == ON_A_POINT)
			good = good && hypot(c->point[0] - x, c->point[1] - y) < 1e-3;
		for (int i = 0; i < k; i++)
			most = fmax(most, hypot(c->point[0] - view->data[i].point[0], c->point[1] - view->data[i].point[1]));
	}
	if (body->stand == ON_A_FACE)
		return good && surrounds(view, x, y);
	return good && (body->stand == ON_A_LINE ? most > 0.99 * body->span : most < 1e-3);
}

/// Sinks a body at places and yaws at random, as either body of the pair, or lets it hover where sunk is
/// negative, and checks that it stands at all of them.
static void check_rest(carom_context *context, const ground *g, const resting *body, int poses, double sunk)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = sunk < 0 ? -2 * sunk : 0;
	uint64_t seed = 9;
	int held = 0;
	for (int i = 0; i < poses; i++) {
		const double x = g->spread * test_random_double(&seed, -0.5, 0.5), y = g->spread * test_random_double(&seed, -0.5, 0.5);
		const carom_quat yaw = fixture_turn((v3d){ 0, 0, 1 }, 6.28 * test_random_double(&seed, 0, 1));
		carom_pose pose = fixture_compose((carom_pose){ { 0, 0, 0 }, yaw }, (carom_pose){ { 0, 0, 0 }, body->turn });
		pose.position = (carom_vec3){ x, y, body->height - sunk };
		manifold_view view;
		// The static body comes first in every other world: the contacts' normals point from the second to the first.
		const bool swapped = i % 2 && g->shape.type != CAROM_PLANE;
		carom_world *world = fixture_world(context, &def);
		if (swapped)
			fixture_add(world, g->shape, g->pose, CAROM_STATIC);
		fixture_add(world, body->shape, pose, CAROM_DYNAMIC);
		if (!swapped)
			fixture_add(world, g->shape, g->pose, CAROM_STATIC);
		fixture_step(world);
		const carom_contact_view contacts = carom_world_contacts(world);
		view.count = contacts.count < MANIFOLD_CONTACTS ? contacts.count : MANIFOLD_CONTACTS;
		for (int k = 0; k < view.count; k++)
			view.data[k] = contacts.data[k];
		held += stands(body, &view, x, y, swapped ? -1 : 1, sunk);
		fixture_check_views(world);
		carom_destroy_world(world);
	}
	if (!CHECK_INT(held, poses)) {
		CHECK_STR(body->name, "");
		CHECK_STR(g->name, "");
	}
}

static void rest_everywhere(double sunk, int poses)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = cube_hull(context, 0.5);
	const carom_quat upright = { 0, 0, 0, 1 }, lying = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2);
	// The slope of this cone rises by 45 degrees.
	const carom_quat on_slope = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2 + atan2(0.5, 1));
	const double slope = 0.5 * 0.5 / sqrt(1.25);
	const resting bodies[] = {
		{ "hull cube", fixture_hull(cube), upright, 0.5, ON_A_FACE, 0 },
		{ "rounded hull cube", rounded(fixture_hull(cube), 0.1), upright, 0.6, ON_A_FACE, 0 },
		{ "rounded box", rounded(fixture_box(0.4, 0.3, 0.2), 0.05), upright, 0.25, ON_A_FACE, 0 },
		{ "cylinder", fixture_cylinder(0.5, 0.4), upright, 0.4, ON_A_FACE, 0 },
		{ "lying cylinder", fixture_cylinder(0.5, 0.4), lying, 0.5, ON_A_LINE, 0.8 },
		{ "lying rounded cylinder", rounded(fixture_cylinder(0.4, 0.4), 0.1), lying, 0.5, ON_A_LINE, 0.8 },
		{ "cone", fixture_cone(0.5, 0.5), upright, 0.5, ON_A_FACE, 0 },
		{ "lying cone", fixture_cone(0.5, 0.5), on_slope, slope, ON_A_LINE, sqrt(1.25) },
		{ "ellipsoid", fixture_ellipsoid(0.5, 0.4, 0.3), upright, 0.3, ON_A_POINT, 0 },
		{ "rounded ellipsoid", rounded(fixture_ellipsoid(0.5, 0.4, 0.3), 0.1), upright, 0.4, ON_A_POINT, 0 },
	};
	ground grounds[GROUNDS];
	make_grounds(context, grounds);
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		for (int g = 0; g < GROUNDS; g++)
			check_rest(context, &grounds[g], &bodies[i], g < 4 ? poses : 60, sunk);
	}
	for (int g = 0; g < GROUNDS; g++)
		carom_release_mesh(grounds[g].mesh);
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

TEST(convex_world, bodies_rest_on_every_ground) { rest_everywhere(0.001, 500); }

TEST(convex_world, hovering_bodies_have_speculative_contacts) { rest_everywhere(-0.005, 60); }

/// Behind an open floor, near it or crossing it: a way out leads to the front, but only what crosses it is led there.
TEST(convex_world, a_front_is_not_met_from_behind_before_it_is_crossed)
{
	carom_context *context = fixture_context(1);
	carom_mesh *floor = manifold_floor(context, 5, 4, CAROM_SIDES_AUTO);
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = 0.05;
	carom_shape round_box = fixture_box(0.1, 0.1, 0.1);
	round_box.rounding = 0.1;
	const carom_shape shapes[] = { fixture_cylinder(0.2, 0.2), fixture_ellipsoid(0.2, 0.2, 0.2), round_box };
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		for (int crosses = 0; crosses < 2; crosses++) {
			carom_world *world = fixture_world(context, &def);
			fixture_add(world, shapes[i], fixture_at(0.03, 0.05, crosses ? -0.15 : -0.22), CAROM_DYNAMIC);
			fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, 0), CAROM_STATIC);
			fixture_step(world);
			const carom_contact_view contacts = carom_world_contacts(world);
			CHECK_INT(contacts.count > 0, crosses);
			for (int k = 0; k < contacts.count; k++)
				CHECK(contacts.data[k].normal[2] > 0.99f && contacts.data[k].depth > 0.3f);
			carom_destroy_world(world);
		}
	}
	carom_release_mesh(floor);
	carom_destroy_context(context);
}

/// A sensor tells of a body that comes and goes, and gives no contacts.
TEST(convex_world, sensors_report_events_alone)
{
	carom_context *context = fixture_context(1);
	carom_mesh *floor = manifold_floor(context, 4, 4, CAROM_SIDES_AUTO);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_cylinder(0.5, 0.5);
	def.sensor = true;
	carom_body_id sensor;
	REQUIRE(carom_world_add_body(world, &def, &sensor) == CAROM_SUCCESS);
	fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id egg = fixture_add(world, fixture_ellipsoid(0.2, 0.2, 0.2), fixture_at(0.3, 0, 0.4), CAROM_DYNAMIC);
	fixture_step(world);
	CHECK_INT(carom_world_contacts(world).count, 0);
	CHECK_INT(carom_world_pairs(world).count, 2); // with the floor and with the egg
	const carom_pose away = fixture_at(3, 0, 3);
	REQUIRE(carom_world_set_pose(world, egg, &away) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 1);
	CHECK_INT(carom_world_events(world).count, 2);
	fixture_check_views(world);
	carom_destroy_world(world);
	carom_release_mesh(floor);
	carom_destroy_context(context);
}

// ---- Against the stateless functions, and dull sampling ----

enum { KINDS = 9 };

/// A shape of each kind, of the size of about 1.
static carom_shape shape_of_kind(int kind, const carom_mesh *hull)
{
	switch (kind) {
	case 0: return fixture_sphere(0.4);
	case 1: return fixture_box(0.3, 0.4, 0.5);
	case 2: return fixture_capsule(0.3, 0.3);
	case 3: return fixture_hull(hull);
	case 4: return fixture_cylinder(0.4, 0.4);
	case 5: return fixture_cone(0.5, 0.5);
	case 6: return fixture_ellipsoid(0.6, 0.4, 0.3);
	case 7: return rounded(fixture_box(0.3, 0.3, 0.3), 0.1);
	default: return rounded(fixture_hull(hull), 0.1);
	}
}

static carom_mesh *random_hull(carom_context *context, uint64_t *seed, int32_t count)
{
	float points[3 * 64];
	for (int32_t i = 0; i < 3 * count; i++)
		points[i] = (float)test_random_double(seed, -0.5, 0.5);
	return fixture_hull_mesh(context, points, count);
}

/// The contacts of a pair in a world of its own, where it is a moving one and a moving or static one.
static void meet(carom_context *context, double near, carom_shape a, carom_pose pose_a, carom_shape b, carom_pose pose_b,
	manifold_view *view)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = near;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, a, pose_a, CAROM_DYNAMIC);
	fixture_add(world, b, pose_b, b.type == CAROM_PLANE ? CAROM_STATIC : CAROM_DYNAMIC);
	fixture_step(world);
	fixture_check_views(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	view->count = contacts.count < MANIFOLD_CONTACTS ? contacts.count : MANIFOLD_CONTACTS;
	for (int i = 0; i < view->count; i++)
		view->data[i] = contacts.data[i];
	carom_destroy_world(world);
}

TEST(convex_world, pairs_of_volumes_have_the_contacts_of_the_stateless_calls)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 5;
	carom_mesh *hull = random_hull(context, &seed, 24);
	const double near = 0.05;
	int touching = 0;
	for (int i = 0; i < 3000; i++) {
		const int ka = (int)(test_random(&seed) % KINDS), kb = (int)(test_random(&seed) % KINDS);
		if (ka < 3 && kb < 3)
			continue;
		const carom_shape a = shape_of_kind(ka, hull),
						  b = i % 10 ? shape_of_kind(kb, hull) : (carom_shape){ .type = CAROM_PLANE };
		const carom_pose pose_a = fixture_random_pose(&seed, 0.6), pose_b = fixture_random_pose(&seed, 0.6);
		if (b.type == CAROM_PLANE && ka < 3)
			continue;
		manifold_view view;
		carom_manifold expected;
		meet(context, near, a, pose_a, b, pose_b, &view);
		REQUIRE(carom_collide_convex(context, &a, &pose_a, &b, &pose_b, near, &expected) == CAROM_SUCCESS);
		CHECK_INT(view.count, expected.count);
		touching += view.count > 0;
		for (int k = 0; k < view.count; k++) {
			double best = INFINITY;
			for (int j = 0; j < expected.count; j++)
				best = fmin(best,
					v3d_length(v3d_sub(fixture_point(&view.data[k]), expected.points[j].point)) +
						fabs(view.data[k].depth - expected.points[j].depth));
			CHECK(best < 1e-6);
			CHECK(v3d_length(v3d_sub(fixture_normal(&view.data[k]), expected.normal)) < 1e-6);
		}
	}
	CHECK(touching > 500);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

/// How far a body reaches into the solid cube |x|, |y|, |z| <= 1 at least, by its own corners and the cube's:
/// how deep the deepest point of a convex body lies below the nearest side.
TEST(convex_world, contacts_with_a_solid_part_the_bodies)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 6;
	carom_mesh *hull = random_hull(context, &seed, 24), *solid = manifold_cube(context, 3, 1);
	carom_mesh *cube = cube_hull(context, 1);
	const carom_shape target = fixture_hull(cube);
	int touching = 0, parted = 0, missed = 0;
	for (int i = 0; i < 2000; i++) {
		const carom_shape a = shape_of_kind(3 + i % (KINDS - 3), hull);
		const carom_pose pose = fixture_random_pose(&seed, 1.6), origin = carom_pose_identity();
		carom_separation truth, after;
		manifold_view view;
		REQUIRE(carom_distance(context, &a, &pose, &target, &origin, &truth) == CAROM_SUCCESS);
		meet(context, 0, a, pose, fixture_of_mesh(solid), origin, &view);
		if (fabs(truth.distance) < 1e-6)
			continue;
		missed += truth.distance < 0 && view.count == 0;
		CHECK(truth.distance < 0 || view.count == 0);
		if (truth.distance >= -1e-6 || truth.distance < -0.2)
			continue;
		// Moving the body by each contact in turn, as far as it is still needed, parts it from the solid.
		touching++;
		carom_pose moved = pose;
		for (int round = 0; round < 4; round++) {
			for (int k = 0; k < view.count; k++) {
				const v3d n = fixture_normal(&view.data[k]), gone = v3d_sub(moved.position, pose.position);
				const double left = view.data[k].depth - v3d_dot(n, gone);
				if (left > 0)
					moved.position = v3d_mad(moved.position, left, n);
			}
		}
		REQUIRE(carom_distance(context, &a, &moved, &target, &origin, &after) == CAROM_SUCCESS);
		parted += after.distance > 0.1 * truth.distance - 1e-3;
		// It is not sent much farther than the least way out, also where it goes along two contacts in turn.
		CHECK(v3d_length(v3d_sub(moved.position, pose.position)) < -3.5 * truth.distance + 0.01);
	}
	CHECK_INT(missed, 0);
	CHECK(touching > 300);
	CHECK_INT(parted, touching);
	carom_release_mesh(solid);
	carom_release_mesh(cube);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

/// Bodies at random in a concave mesh: there are contacts where, and only where, the solids overlap; none leads
/// far away.
static void check_concave(carom_context *context, carom_mesh *mesh, const carom_mesh *hull, double span, int poses)
{
	uint64_t seed = 16;
	int overlapping = 0, apart = 0, missed = 0, false_alarms = 0;
	for (int i = 0; i < poses; i++) {
		const carom_shape a = shape_of_kind(3 + i % (KINDS - 3), hull);
		const carom_pose pose = fixture_random_pose(&seed, span), origin = carom_pose_identity();
		carom_world *world = fixture_world(context, NULL);
		carom_body_id found[1];
		int32_t count;
		fixture_add(world, fixture_of_mesh(mesh), origin, CAROM_STATIC);
		REQUIRE(carom_world_overlap_shape(world, &a, &pose, NULL, 1, found, &count) == CAROM_SUCCESS);
		carom_destroy_world(world);
		manifold_view view;
		meet(context, 0, a, pose, fixture_of_mesh(mesh), origin, &view);
		overlapping += count > 0;
		apart += count == 0;
		missed += count > 0 && view.count == 0;
		false_alarms += count == 0 && view.count > 0;
		for (int k = 0; k < view.count; k++)
			CHECK(view.data[k].depth >= -1e-6 && view.data[k].depth < 2);
	}
	CHECK(overlapping > poses / 10);
	CHECK(apart > poses / 20);
	CHECK_INT(missed, 0);
	CHECK_INT(false_alarms, 0);
}

TEST(convex_world, no_overlap_with_a_concave_mesh_is_missed)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 26;
	carom_mesh *hull = random_hull(context, &seed, 24);
	carom_mesh *torus = fixture_torus_mesh(context, 24, 12, 0.4, 0.3), *coarse = fixture_torus_mesh(context, 5, 4, 0.5, 0);
	carom_mesh *sheet = fixture_sheet_mesh(context, 6, 3);
	check_concave(context, torus, hull, 1.5, 900 / TEST_FEWER);
	check_concave(context, coarse, hull, 1.5, 900 / TEST_FEWER);
	check_concave(context, sheet, hull, 1.5, 900 / TEST_FEWER);
	carom_release_mesh(torus);
	carom_release_mesh(coarse);
	carom_release_mesh(sheet);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

/// A world of all kinds, planes aside, at random places; the shapes and poses to compare with.
enum { CROWD = 3 * KINDS };

typedef struct crowd {
	carom_world *world;
	carom_shape shapes[CROWD];
	carom_pose poses[CROWD];
	carom_body_id ids[CROWD];
} crowd;

static void gather(crowd *c, carom_context *context, const carom_mesh *hull, uint64_t *seed, double span)
{
	c->world = fixture_world(context, NULL);
	for (int i = 0; i < CROWD; i++) {
		c->shapes[i] = shape_of_kind(i % KINDS, hull);
		c->poses[i] = fixture_random_pose(seed, span);
		c->ids[i] = fixture_add(c->world, c->shapes[i], c->poses[i], CAROM_DYNAMIC);
	}
}

TEST(convex_world, queries_agree_with_the_distances_of_points_and_shapes)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 8;
	carom_mesh *hull = random_hull(context, &seed, 24);
	crowd c;
	gather(&c, context, hull, &seed, 2);
	const carom_shape tiny = fixture_sphere(1e-9);
	int hits = 0;
	for (int i = 0; i < 400; i++) {
		// A ray: its first hit lies on the surface of its body, and no place before it is inside any.
		const carom_pose from = fixture_random_pose(&seed, 4), to = fixture_random_pose(&seed, 1);
		const carom_ray ray = { from.position, v3d_sub(to.position, from.position), 0, 2 };
		bool found;
		carom_ray_hit hit;
		REQUIRE(carom_world_cast_ray(c.world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
		hits += found;
		double nearest = INFINITY;
		carom_body_id around[1];
		int32_t inside;
		REQUIRE(carom_world_overlap_shape(c.world, &tiny, &from, NULL, 1, around, &inside) == CAROM_SUCCESS);
		if (inside)
			continue; // it begins in a body, and leaves that first
		for (int b = 0; b < CROWD; b++) {
			carom_separation s;
			for (int k = 0; k < 40; k++) {
				const carom_pose at = { v3d_mad(ray.origin, (found ? hit.t : 2) * k / 40.0, ray.direction), { 0, 0, 0, 1 } };
				REQUIRE(carom_distance(context, &tiny, &at, &c.shapes[b], &c.poses[b], &s) == CAROM_SUCCESS);
				CHECK(s.distance > -1e-6);
				if (s.distance <= -1e-6)
					break;
			}
			const carom_pose at = { hit.point, { 0, 0, 0, 1 } };
			if (found && fixture_same_id(c.ids[b], hit.body)) {
				REQUIRE(carom_distance(context, &tiny, &at, &c.shapes[b], &c.poses[b], &s) == CAROM_SUCCESS);
				CHECK_NEAR(s.distance, 0, 1e-6);
				CHECK(v3d_dot(hit.normal, ray.direction) < 1e-6 && !hit.back_face);
			}
			// The nearest point of the world, by the distance to each body.
			REQUIRE(carom_distance(context, &tiny, &to, &c.shapes[b], &c.poses[b], &s) == CAROM_SUCCESS);
			nearest = fmin(nearest, fabs(s.distance));
		}
		carom_closest_point near;
		REQUIRE(carom_world_closest_point(c.world, to.position, 10, NULL, &found, &near) == CAROM_SUCCESS);
		CHECK_NEAR(fabs(near.distance), nearest, 1e-6);
		CHECK_NEAR(v3d_length(v3d_sub(near.point, to.position)), nearest, 1e-5);
	}
	CHECK(hits > 100);
	carom_destroy_world(c.world);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

TEST(convex_world, rays_through_a_body_enter_and_leave)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 18;
	carom_mesh *hull = random_hull(context, &seed, 24);
	const carom_shape tiny = fixture_sphere(1e-9);
	int through = 0;
	for (int i = 0; i < 600; i++) {
		const carom_shape shape = shape_of_kind(3 + i % (KINDS - 3), hull);
		const carom_pose pose = fixture_random_pose(&seed, 1), a = fixture_random_pose(&seed, 3),
						 b = fixture_random_pose(&seed, 0.3);
		const carom_ray ray = { a.position, v3d_sub(v3d_add(pose.position, b.position), a.position), 0, 10 };
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, shape, pose, CAROM_DYNAMIC);
		carom_ray_hit hits[4];
		int32_t count;
		REQUIRE(carom_world_cast_ray_all(world, &ray, NULL, 4, hits, &count) == CAROM_SUCCESS);
		CHECK(count <= 2);
		through += count == 2;
		for (int k = 0; k < 50 && count == 2; k++) {
			// Inside between the two hits, outside elsewhere.
			const double t = hits[0].t + (hits[1].t - hits[0].t) * test_random_double(&seed, -1, 2);
			const carom_pose at = { v3d_mad(ray.origin, t, ray.direction), { 0, 0, 0, 1 } };
			carom_separation s;
			REQUIRE(carom_distance(context, &tiny, &at, &shape, &pose, &s) == CAROM_SUCCESS);
			CHECK(fabs(s.distance) < 1e-6 || (s.distance < 0) == (t > hits[0].t && t < hits[1].t));
		}
		CHECK(count < 2 || (!hits[0].back_face && hits[1].back_face && v3d_dot(hits[1].normal, ray.direction) > -1e-6));
		carom_destroy_world(world);
	}
	CHECK(through > 100);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

TEST(convex_world, overlaps_are_those_of_the_distances)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 28;
	carom_mesh *hull = random_hull(context, &seed, 24), *solid = manifold_cube(context, 2, 0.5), *cube = cube_hull(context, 0.5);
	crowd c;
	gather(&c, context, hull, &seed, 2);
	int overlaps = 0;
	for (int i = 0; i < 400; i++) {
		// A mesh of a cube has the distance of its hull.
		const carom_shape asked = i % 3 ? shape_of_kind(i % KINDS, hull) : fixture_of_mesh(solid);
		const carom_shape same = i % 3 ? asked : fixture_hull(cube);
		const carom_pose pose = fixture_random_pose(&seed, 2);
		carom_body_id found[CROWD];
		int32_t count;
		REQUIRE(carom_world_overlap_shape(c.world, &asked, &pose, NULL, CROWD, found, &count) == CAROM_SUCCESS);
		overlaps += count;
		for (int b = 0; b < CROWD; b++) {
			carom_separation s;
			bool listed = false;
			for (int k = 0; k < count; k++)
				listed = listed || fixture_same_id(found[k], c.ids[b]);
			REQUIRE(carom_distance(context, &same, &pose, &c.shapes[b], &c.poses[b], &s) == CAROM_SUCCESS);
			CHECK(fabs(s.distance) < 1e-6 || listed == (s.distance < 0));
		}
	}
	CHECK(overlaps > 200);
	carom_destroy_world(c.world);
	carom_release_mesh(solid);
	carom_release_mesh(cube);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

// ---- Recordings, memory, odd forms ----

/// A hull of a grid of points, most of which it leaves out: the replay makes it of its vertices alone.
static carom_mesh *grid_hull(carom_context *context)
{
	float points[3 * 125];
	for (int i = 0; i < 125; i++) {
		points[3 * i] = 0.2f * (float)(i % 5 - 2);
		points[3 * i + 1] = 0.2f * (float)(i / 5 % 5 - 2) + 0.05f * (float)(i % 5);
		points[3 * i + 2] = 0.2f * (float)(i / 25 - 2);
	}
	return fixture_hull_mesh(context, points, 125);
}

static carom_mesh *add_crowd(crowd *c, carom_context *context, carom_mesh *hull, uint64_t *seed)
{
	gather(c, context, hull, seed, 0.8);
	carom_mesh *solid = manifold_cube(context, 2, 0.5);
	fixture_add(c->world, fixture_of_mesh(solid), carom_pose_identity(), CAROM_DYNAMIC);
	fixture_add(c->world, (carom_shape){ .type = CAROM_PLANE }, carom_pose_identity(), CAROM_STATIC);
	return solid;
}

TEST(convex_world, recordings_replay_to_the_same_hashes)
{
	for (int late = 0; late < 2; late++) {
		carom_context *context = fixture_context(1);
		uint64_t seed = 38;
		carom_mesh *hull = grid_hull(context);
		fixture_tape tape = { 0 };
		crowd c;
		carom_mesh *solid = add_crowd(&c, context, hull, &seed);
		REQUIRE(carom_world_record(c.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		if (late) // bodies that come after the recording has begun
			fixture_add(c.world, rounded(fixture_hull(hull), 0.2), carom_pose_identity(), CAROM_DYNAMIC);
		int contacts = 0;
		for (int step = 0; step < 5; step++) {
			for (int i = 0; i < CROWD; i++)
				c.poses[i].position.z *= 0.95;
			REQUIRE(carom_world_set_poses(c.world, CROWD, c.ids, c.poses) == CAROM_SUCCESS);
			fixture_step(c.world);
			contacts += carom_world_contacts(c.world).count;
		}
		CHECK(contacts > 100);
		REQUIRE(carom_world_record(c.world, NULL, NULL) == CAROM_SUCCESS);
		carom_replay_result result;
		if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
			CHECK_STR(carom_error_text(context), "");
		CHECK_INT(result.steps, 5);
		CHECK(result.hash == carom_world_hash(c.world));
		free(tape.bytes);
		carom_destroy_world(c.world);
		carom_release_mesh(solid);
		carom_release_mesh(hull);
		carom_destroy_context(context);
	}
}

/// Every allocation of a world with these bodies fails once: an error, and nothing is lost.
TEST(convex_world, running_out_of_memory_is_an_error)
{
	fixture_heap heap;
	long long calls = -1;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *hull = grid_hull(context), *solid = manifold_floor(context, 60, 4, CAROM_SIDES_AUTO);
	for (long long fail = -1; fail < calls || fail < 0; fail += fail < 0 ? 1 : TEST_STRIDE) {
		uint64_t seed = 48;
		const long long blocks = atomic_load(&heap.blocks), before = atomic_load(&heap.calls);
		atomic_store(&heap.fail_at, fail < 0 ? -1 : before + fail);
		carom_world *world = NULL;
		carom_result result = carom_create_world(context, NULL, &world);
		for (int i = 0; i < KINDS + 1 && result == CAROM_SUCCESS; i++) {
			carom_body_def def = carom_default_body_def();
			carom_body_id id;
			def.shape = i < KINDS ? shape_of_kind(i, hull) : fixture_of_mesh(solid);
			def.kind = i < KINDS ? CAROM_DYNAMIC : CAROM_STATIC;
			if (i < KINDS)
				def.pose = fixture_random_pose(&seed, 0.5);
			result = carom_world_add_body(world, &def, &id);
		}
		if (result == CAROM_SUCCESS)
			result = carom_world_step(world);
		CHECK_INT(result, fail < 0 ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY);
		if (fail < 0)
			calls = atomic_load(&heap.calls) - before;
		atomic_store(&heap.fail_at, -1);
		if (world && fail >= 0 && result == CAROM_OUT_OF_MEMORY)
			CHECK_INT(carom_world_step(world), CAROM_SUCCESS);
		carom_destroy_world(world);
		CHECK_INT(atomic_load(&heap.blocks), blocks);
	}
	carom_release_mesh(solid);
	carom_release_mesh(hull);
	carom_destroy_context(context);
	CHECK(calls > 20);
}

/// Flat, thin, tiny and huge bodies on a floor and a plane: they stand, or are refused by name.
TEST(convex_world, odd_sizes_stand)
{
	carom_context *context = fixture_context(1);
	const double sizes[] = { 1e-5, 1e-3, 1, 1e3, 1e5 };
	for (int i = 0; i < 5; i++) {
		const double s = sizes[i];
		carom_mesh *floor = manifold_floor(context, 4, 20 * s, CAROM_SIDES_AUTO);
		const resting bodies[] = {
			{ "cylinder", fixture_cylinder(0.5 * s, 0.4 * s), { 0, 0, 0, 1 }, 0.4 * s, ON_A_FACE, 0 },
			{ "coin", fixture_cylinder(0.5 * s, 0.005 * s), { 0, 0, 0, 1 }, 0.005 * s, ON_A_FACE, 0 },
			{ "cone", fixture_cone(0.5 * s, 0.5 * s), { 0, 0, 0, 1 }, 0.5 * s, ON_A_FACE, 0 },
		};
		for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
			for (int flat = 0; flat < 2; flat++) {
				manifold_view view;
				const carom_shape plane = { .type = CAROM_PLANE }, below = flat ? plane : fixture_of_mesh(floor);
				meet(context, 0, bodies[k].shape, fixture_at(0.3 * s, 0.7 * s, bodies[k].height - 0.001 * s), below,
					carom_pose_identity(), &view);
				CHECK(view.count >= 3 && view.count <= 8);
				for (int n = 0; n < view.count; n++) {
					CHECK(view.data[n].normal[2] > 1 - 1e-6);
					CHECK_NEAR(view.data[n].depth, 0.001 * s, 1e-6 * s);
				}
			}
		}
		carom_release_mesh(floor);
	}
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	static const struct {
		carom_shape shape;
		const char *text;
	} bad[] = {
		{ { .type = CAROM_CYLINDER, .half_length = 1 }, "shape.radius is 0" },
		{ { .type = CAROM_CYLINDER, .radius = 1 }, "shape.half_length is 0" },
		{ { .type = CAROM_CONE, .radius = -1, .half_length = 1 }, "shape.radius is -1" },
		{ { .type = CAROM_ELLIPSOID, .half_extents = { 1, 0, 1 } }, "shape.half_extents[1] is 0" },
		{ { .type = CAROM_ELLIPSOID, .half_extents = { 1, 1, 1 }, .rounding = 2e12 }, "shape.rounding is 2e+12" },
		{ { .type = CAROM_HULL }, "shape.mesh is NULL" },
		{ { .type = (carom_shape_type)9 }, "shape.type is 9" },
		{ { .type = (carom_shape_type)-1 }, "shape.type is -1" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		def.shape = bad[i].shape;
		CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT);
		if (!strstr(carom_error_text(context), bad[i].text))
			CHECK_STR(carom_error_text(context), bad[i].text);
	}
	carom_mesh *mesh = manifold_cube(context, 1, 1);
	def.shape = fixture_hull(mesh);
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "shape.mesh is no hull") != NULL);
	carom_release_mesh(mesh);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
