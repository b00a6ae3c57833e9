/// Meshes, capsules and spheres with a rounding. The sums are known: a box mesh and a ball are a rounded box; the distance of two
/// meshes is that of all their triangles, less the balls.
#include "fixture.h"
#include "frame/body.h"
#include "pool_fixture.h"

#include <math.h>
#include <string.h>

enum { POSES = 120 };

typedef struct kit {
	carom_context *context;
	carom_mesh *box, *torus, *sheet, *two;
} kit;

static kit open_kit(int threads)
{
	static fixture_soup soup;
	kit k = { .context = fixture_context(threads) };
	k.box = fixture_box_mesh(k.context, 0.5, 0.4, 0.3);
	k.torus = fixture_torus_mesh(k.context, 14, 7, 0.5, 0.15);
	k.sheet = fixture_sheet_mesh(k.context, 3, 1);
	soup = (fixture_soup){ .vertex_count = 0 };
	fixture_soup_box(&soup, (v3d){ -0.5, 0, 0 }, 0.2, 0.2, 0.2);
	fixture_soup_box(&soup, (v3d){ 0.5, 0.1, 0 }, 0.15, 0.2, 0.3);
	k.two = fixture_mesh(k.context, &soup);
	return k;
}

static void close_kit(kit *k)
{
	carom_release_mesh(k->box);
	carom_release_mesh(k->torus);
	carom_release_mesh(k->sheet);
	carom_release_mesh(k->two);
	carom_destroy_context(k->context);
}

static carom_shape padded(carom_shape shape, double rounding)
{
	shape.rounding = rounding;
	return shape;
}

// ---- Oracles ----

static void corners_of(const carom_mesh *mesh, const carom_pose *pose, int32_t triangle, carom_vec3 p[3])
{
	const cr_topology *t = &mesh->topology;
	for (int k = 0; k < 3; k++)
		p[k] = carom_transform_point(*pose, v3d_from_floats(&t->vertices[3 * (int64_t)t->triangles[3 * (int64_t)triangle + k]]));
}

/// The least distance of all pairs of triangles; negative where a corner of the one lies inside the other.
static double dull_distance(const carom_mesh *a, const carom_pose *pose_a, const carom_mesh *b, const carom_pose *pose_b)
{
	const carom_mesh *meshes[2] = { a, b };
	const carom_pose *poses[2] = { pose_a, pose_b };
	double least = INFINITY;
	for (int32_t i = 0; i < a->topology.triangle_count; i++) {
		for (int32_t j = 0; j < b->topology.triangle_count; j++) {
			carom_vec3 p[3], q[3];
			carom_triangle_point on_a, on_b;
			corners_of(a, pose_a, i, p);
			corners_of(b, pose_b, j, q);
			least = fmin(least, carom_triangle_triangle_distance(p, q, &on_a, &on_b));
		}
	}
	for (int side = 0; side < 2; side++) {
		for (int32_t i = 0; i < meshes[side]->topology.triangle_count; i++) {
			carom_vec3 p[3];
			bool inside = false;
			corners_of(meshes[side], poses[side], i, p);
			const carom_vec3 local = carom_inverse_transform_point(*poses[1 - side], p[0]);
			REQUIRE(carom_mesh_contains(meshes[1 - side], local, &inside) == CAROM_SUCCESS);
			if (inside)
				return -1;
		}
	}
	return least;
}

static carom_pose moved(carom_pose pose, v3d way, double length)
{
	pose.position = v3d_mad(pose.position, length, way);
	return pose;
}

// ---- Two meshes ----

/// Checks a pair of padded meshes against all their triangles. Returns 1 where the sums overlap and the meshes do not.
static int check_pair(
	const kit *k, const carom_mesh *a, const carom_pose *pa, double ra, const carom_mesh *b, const carom_pose *pb, double rb)
{
	const carom_shape sa = padded(fixture_of_mesh(a), ra), sb = padded(fixture_of_mesh(b), rb);
	const double surfaces = dull_distance(a, pa, b, pb), expected = surfaces - ra - rb;
	carom_separation s;
	bool overlap;
	REQUIRE(carom_distance(k->context, &sa, pa, &sb, pb, &s) == CAROM_SUCCESS);
	REQUIRE(carom_overlap(k->context, &sa, pa, &sb, pb, &overlap) == CAROM_SUCCESS);
	if (fabs(expected) > 1e-5)
		CHECK(overlap == (expected < 0));
	if (expected > 1e-5) {
		CHECK_NEAR(s.distance, expected, 1e-6);
		CHECK_NEAR(v3d_length(v3d_sub(s.point_a, s.point_b)), s.distance, 1e-6);
		CHECK_NEAR(v3d_dot(s.normal, v3d_sub(s.point_a, s.point_b)), s.distance, 1e-6);
		return 0;
	}
	if (expected > -1e-5)
		return 0;
	CHECK(s.distance < 0);
	const carom_pose out = moved(*pa, s.normal, -s.distance);
	CHECK(dull_distance(a, &out, b, pb) >= ra + rb - 1e-6);
	CHECK(-s.distance >= -expected - 1e-6 || surfaces < 0); // no move is shorter than what lacks
	return surfaces >= 0;
}

TEST(padding, distances_and_overlaps_of_meshes_are_those_of_their_triangles_less_the_balls)
{
	kit k = open_kit(1);
	const carom_mesh *meshes[4] = { k.box, k.torus, k.sheet, k.two };
	uint64_t seed = 3;
	int between = 0;
	for (int i = 0; i < POSES && test_failures() == 0; i++) {
		const carom_pose pa = fixture_random_pose(&seed, 0.9), pb = fixture_random_pose(&seed, 0.9);
		const double ra = test_random_double(&seed, 0, 0.2), rb = i % 3 ? 0 : test_random_double(&seed, 0, 0.2);
		between += check_pair(&k, meshes[i % 4], &pa, ra, meshes[i / 4 % 4], &pb, rb);
	}
	CHECK(between > POSES / 10);
	close_kit(&k);
}

/// A move by the depth of a convex sum is near the shortest: a box mesh with a ball against a slab, from beside.
TEST(padding, the_way_out_of_a_ball_is_what_lacks)
{
	kit k = open_kit(1);
	const carom_shape link = padded(fixture_of_mesh(k.box), 0.1), wall = fixture_of_mesh(k.torus);
	const carom_pose beside = fixture_at(2.05, 0, 0);
	carom_separation s;
	REQUIRE(carom_distance(k.context, &link, &beside, &wall, NULL, &s) == CAROM_SUCCESS);
	const carom_pose origin = carom_pose_identity();
	const double expected = dull_distance(k.box, &beside, k.torus, &origin) - 0.1;
	CHECK(expected < 0);
	CHECK_NEAR(s.distance, expected, 1e-4);
	close_kit(&k);
}

// ---- A box mesh with a ball is a rounded box ----

static carom_shape random_other(const kit *k, uint64_t *seed)
{
	const carom_shape shapes[7] = { fixture_sphere(0.3), fixture_box(0.3, 0.2, 0.4), fixture_capsule(0.15, 0.4),
		fixture_cylinder(0.25, 0.3), fixture_ellipsoid(0.4, 0.3, 0.2), padded(fixture_box(0.3, 0.2, 0.4), 0.05),
		fixture_of_mesh(k->box) };
	return shapes[test_random(seed) % 7];
}

TEST(padding, a_box_mesh_with_a_ball_is_a_rounded_box)
{
	kit k = open_kit(1);
	uint64_t seed = 8;
	int apart = 0, deep = 0;
	for (int i = 0; i < 300 && test_failures() == 0; i++) {
		const double r = test_random_double(&seed, 0.02, 0.2);
		const carom_shape mesh = padded(fixture_of_mesh(k.box), r), box = padded(fixture_box(0.5, 0.4, 0.3), r);
		const carom_shape other = random_other(&k, &seed);
		const carom_pose pa = fixture_random_pose(&seed, 0.9), pb = fixture_random_pose(&seed, 0.9);
		carom_separation s, t;
		bool meets, expected;
		REQUIRE(carom_distance(k.context, &mesh, &pa, &other, &pb, &s) == CAROM_SUCCESS);
		REQUIRE(carom_distance(k.context, &box, &pa, &other, &pb, &t) == CAROM_SUCCESS);
		REQUIRE(carom_overlap(k.context, &mesh, &pa, &other, &pb, &meets) == CAROM_SUCCESS);
		REQUIRE(carom_overlap(k.context, &box, &pa, &other, &pb, &expected) == CAROM_SUCCESS);
		if (fabs(t.distance) < 1e-5)
			continue;
		CHECK(meets == expected);
		CHECK(meets == (t.distance < 0));
		if (t.distance > 0)
			CHECK_NEAR(s.distance, t.distance, 1e-6);
		else // of two convex bodies the least way is found
			CHECK_NEAR(s.distance, t.distance, 1e-3 + 0.02 * -t.distance);
		apart += t.distance > 0;
		deep += t.distance < 0;
	}
	CHECK(apart > 60 && deep > 60);
	close_kit(&k);
}

static carom_motion random_motion(uint64_t *seed)
{
	const carom_pose begin = fixture_random_pose(seed, 2), end = fixture_random_pose(seed, 2);
	return (carom_motion){ begin, end };
}

TEST(padding, times_of_impact_are_those_of_the_rounded_box)
{
	kit k = open_kit(1);
	uint64_t seed = 17;
	int hits = 0;
	const double tolerance = 1e-3;
	for (int i = 0; i < 300 && test_failures() == 0; i++) {
		const double r = test_random_double(&seed, 0.02, 0.2);
		const carom_shape mesh = padded(fixture_of_mesh(k.box), r), box = padded(fixture_box(0.5, 0.4, 0.3), r);
		const carom_shape other = i % 5 ? random_other(&k, &seed) : padded(fixture_of_mesh(k.torus), 0.05);
		const carom_motion ma = random_motion(&seed), mb = random_motion(&seed);
		carom_toi toi;
		REQUIRE(carom_time_of_impact(k.context, &mesh, &ma, &other, &mb, tolerance, &toi) == CAROM_SUCCESS);
		// Up to the time the rounded box was never nearer than half of the tolerance, and at it the two are within it.
		for (int step = 0; step <= 40 && toi.status != CAROM_TOI_TOUCHING; step++) {
			const double t = toi.time * step / 40;
			const carom_pose pa = carom_motion_pose(&ma, t), pb = carom_motion_pose(&mb, t);
			carom_separation s;
			REQUIRE(carom_distance(k.context, &box, &pa, &other, &pb, &s) == CAROM_SUCCESS);
			CHECK(s.distance >= 0.5 * tolerance - 1e-6);
			if (step == 40 && toi.status == CAROM_TOI_IMPACT)
				CHECK(s.distance <= tolerance + 1e-6);
		}
		if (toi.status == CAROM_TOI_IMPACT) {
			CHECK_NEAR(toi.separation.distance, tolerance, tolerance);
			hits++;
		}
	}
	CHECK(hits > 30);
	close_kit(&k);
}

TEST(padding, a_plane_is_met_by_the_ball)
{
	kit k = open_kit(1);
	const carom_shape mesh = padded(fixture_of_mesh(k.box), 0.25), floor = { .type = CAROM_PLANE };
	const carom_pose above = fixture_at(0, 0, 0.8);
	carom_separation s;
	bool overlap;
	REQUIRE(carom_distance(k.context, &mesh, &above, &floor, NULL, &s) == CAROM_SUCCESS);
	CHECK_NEAR(s.distance, 0.25, 1e-7);
	CHECK_NEAR(s.point_a.z, 0.25, 1e-7);
	CHECK_NEAR(s.point_b.z, 0, 1e-7);
	REQUIRE(carom_overlap(k.context, &mesh, &above, &floor, NULL, &overlap) == CAROM_SUCCESS);
	CHECK(!overlap);
	const carom_pose low = fixture_at(0, 0, 0.5);
	REQUIRE(carom_overlap(k.context, &mesh, &low, &floor, NULL, &overlap) == CAROM_SUCCESS);
	CHECK(overlap);
	const carom_motion fall = { above, low };
	carom_toi toi;
	REQUIRE(carom_time_of_impact(k.context, &mesh, &fall, &floor, NULL, 1e-4, &toi) == CAROM_SUCCESS);
	CHECK_INT(toi.status, CAROM_TOI_IMPACT);
	CHECK_NEAR(toi.time, (0.25 - 1e-4) / 0.3, 1e-3);
	close_kit(&k);
}

// ---- Worlds ----

/// Asks a world of many bodies and each pair alone: the answers are one.
static void check_world(const kit *k, uint64_t seed)
{
	enum { BODIES = 12 };
	carom_world *world = fixture_world(k->context, NULL);
	carom_body_id ids[BODIES];
	carom_shape shapes[BODIES];
	carom_pose poses[BODIES];
	for (int i = 0; i < BODIES; i++) {
		shapes[i] = i % 2 ? fixture_of_mesh(i % 4 == 1 ? k->torus : k->sheet) : random_other(k, &seed);
		poses[i] = fixture_random_pose(&seed, 3);
		ids[i] = fixture_add(world, shapes[i], poses[i], i % 3 ? CAROM_STATIC : CAROM_DYNAMIC);
	}
	for (int n = 0; n < 40; n++) {
		const carom_shape link = padded(fixture_of_mesh(n % 2 ? k->torus : k->two), test_random_double(&seed, 0, 0.3));
		const carom_pose pose = fixture_random_pose(&seed, 3);
		carom_body_id found[BODIES];
		int32_t count, expected = 0;
		double least = INFINITY;
		REQUIRE(carom_world_overlap_shape(world, &link, &pose, NULL, BODIES, found, &count) == CAROM_SUCCESS);
		for (int i = 0; i < BODIES; i++) {
			bool overlap;
			carom_separation s;
			REQUIRE(carom_overlap(k->context, &link, &pose, &shapes[i], &poses[i], &overlap) == CAROM_SUCCESS);
			REQUIRE(carom_distance(k->context, &link, &pose, &shapes[i], &poses[i], &s) == CAROM_SUCCESS);
			if (overlap && CHECK(expected < count))
				CHECK(fixture_same_id(found[expected], ids[i]));
			expected += overlap;
			least = fmin(least, overlap ? fmin(s.distance, 0) : s.distance);
		}
		CHECK_INT(count, expected);
		carom_closest_body near;
		bool any;
		REQUIRE(carom_world_closest_body(world, &link, &pose, INFINITY, NULL, &any, &near) == CAROM_SUCCESS);
		CHECK(any);
		CHECK_NEAR(near.distance, least, 1e-9);
	}
	carom_destroy_world(world);
}

TEST(padding, worlds_tell_what_two_shapes_tell)
{
	kit k = open_kit(1);
	for (uint64_t seed = 1; seed <= 3; seed++)
		check_world(&k, seed);
	close_kit(&k);
}

/// Casts of a padded mesh stop where the rounded box stops; batches on four threads have the bits of single calls.
TEST(padding, casts_stop_before_the_ball_and_batches_agree)
{
	enum { CASTS = 64 };
	pool_require_threads();
	kit k = open_kit(4);
	carom_world *world = fixture_world(k.context, NULL);
	uint64_t seed = 5;
	for (int i = 0; i < 10; i++)
		fixture_add(
			world, i % 2 ? fixture_of_mesh(k.torus) : fixture_box(0.4, 0.3, 0.2), fixture_random_pose(&seed, 2), CAROM_STATIC);
	const carom_shape mesh = padded(fixture_of_mesh(k.box), 0.12), box = padded(fixture_box(0.5, 0.4, 0.3), 0.12);
	carom_shape_cast casts[CASTS];
	carom_shape_hit hits[CASTS];
	int met = 0;
	for (int i = 0; i < CASTS; i++)
		casts[i] = (carom_shape_cast){ &mesh, random_motion(&seed) };
	const carom_batch batch = { .count = CASTS };
	REQUIRE(carom_world_cast_shapes(world, &batch, casts, 1e-3, hits) == CAROM_SUCCESS);
	for (int skip = 0; skip < 2; skip++) {
		carom_query_filter filter = carom_default_query_filter();
		filter.skip_separating = skip;
		for (int i = 0; i < CASTS; i++) {
			carom_shape_hit one, other;
			bool found, expected;
			REQUIRE(carom_world_cast_shape(world, &mesh, &casts[i].motion, 1e-3, &filter, &found, &one) == CAROM_SUCCESS);
			REQUIRE(carom_world_cast_shape(world, &box, &casts[i].motion, 1e-3, &filter, &expected, &other) == CAROM_SUCCESS);
			if (!skip && found) {
				CHECK(one.time == hits[i].time && one.distance == hits[i].distance);
				CHECK(one.triangle == hits[i].triangle && one.own_triangle == hits[i].own_triangle);
			}
			if (found && expected && one.time > 0 && other.time > 0 && !one.undecided && !other.undecided) {
				CHECK_NEAR(one.time, other.time, 5e-3);
				met++;
			}
			CHECK(found || !expected || other.touching || other.distance > 0.5e-3);
		}
	}
	CHECK(met > 20);
	carom_destroy_world(world);
	close_kit(&k);
}

// ---- Spheres and capsules ----

static uint64_t hash_of_round(const kit *k, double radius, double rounding)
{
	carom_world *world = fixture_world(k->context, NULL);
	uint64_t seed = 2;
	for (int i = 0; i < 24; i++) {
		carom_shape shape = i % 3 == 0 ? fixture_capsule(radius, 0.3)
			: i % 3 == 1               ? fixture_sphere(radius)
									   : fixture_of_mesh(k->torus);
		if (shape.type != CAROM_MESH)
			shape.rounding = rounding;
		fixture_add(world, i % 7 ? shape : fixture_box(0.3, 0.3, 0.3), fixture_random_pose(&seed, 1), CAROM_DYNAMIC);
	}
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -0.8), CAROM_STATIC);
	fixture_step(world);
	CHECK(carom_world_contacts(world).count > 20);
	const carom_ray ray = { .origin = { -3, 0.1, 0.05 }, .direction = { 1, 0, 0 }, .t_max = 10 };
	carom_ray_hit hit;
	bool found;
	REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
	const uint64_t hash = carom_world_hash(world) ^ (found ? (uint64_t)(hit.t * 1e6) : 0);
	carom_destroy_world(world);
	return hash;
}

TEST(padding, spheres_and_capsules_grow_by_their_rounding)
{
	kit k = open_kit(1);
	CHECK(hash_of_round(&k, 0.25, 0) == hash_of_round(&k, 0.125, 0.125));
	CHECK(hash_of_round(&k, 0.25, 0) != hash_of_round(&k, 0.25, 0.125));
	carom_mass thin, thick;
	const carom_shape grown = padded(fixture_capsule(0.125, 0.5), 0.125), whole = fixture_capsule(0.25, 0.5);
	REQUIRE(carom_shape_get_mass(k.context, &grown, &thin) == CAROM_SUCCESS);
	REQUIRE(carom_shape_get_mass(k.context, &whole, &thick) == CAROM_SUCCESS);
	CHECK(thin.mass == thick.mass);
	close_kit(&k);
}

// ---- What does not take it ----

TEST(padding, what_cannot_bear_it_says_so)
{
	kit k = open_kit(1);
	carom_world *world = fixture_world(k.context, NULL);
	const carom_shape mesh = padded(fixture_of_mesh(k.box), 0.1), ball = fixture_sphere(1);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	carom_contact contact;
	carom_ray_hit hit;
	carom_closest_point nearest;
	carom_mass mass;
	int32_t count;
	bool found;
	const carom_ray ray = { .origin = { 0, 0, 5 }, .direction = { 0, 0, -1 }, .t_max = 10 };
	def.shape = mesh;
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(k.context), "carom_world_add_body: shape.rounding is 0.1") != NULL);
	def = carom_default_body_def();
	const carom_part part = { mesh, carom_pose_identity(), 0 };
	def.parts = &part;
	def.part_count = 1;
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(k.context), "parts[0]: shape.rounding is 0.1") != NULL);
	const carom_body_id body = fixture_add(world, ball, fixture_at(0, 0, 0), CAROM_DYNAMIC);
	CHECK_INT(carom_world_set_shape(world, body, &mesh), CAROM_INVALID_ARGUMENT);
	const carom_pose pose = carom_pose_identity();
	CHECK_INT(carom_world_collide_shape(world, &mesh, &pose, NULL, 1, &contact, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_collide(k.context, &ball, NULL, &mesh, NULL, 0, 1, &contact, &count), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(k.context), "carom_collide: b: shape.rounding is 0.1") != NULL);
	CHECK_INT(carom_shape_cast_ray(k.context, &mesh, NULL, &ray, &found, &hit), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_shape_closest_point(k.context, &mesh, NULL, (carom_vec3){ 0, 0, 2 }, 9, &found, &nearest),
		CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_shape_get_mass(k.context, &mesh, &mass), CAROM_INVALID_ARGUMENT);
	const carom_shape wrong[3] = { padded(fixture_of_mesh(k.box), -1), padded(fixture_capsule(1, 1), NAN),
		padded((carom_shape){ .type = CAROM_PLANE }, 0.1) };
	for (int i = 0; i < 3; i++) {
		carom_separation s;
		CHECK_INT(carom_distance(k.context, &wrong[i], NULL, &ball, NULL, &s), CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(k.context), "shape.rounding") != NULL);
	}
	carom_destroy_world(world);
	close_kit(&k);
}
