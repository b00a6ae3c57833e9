// Shape casts in a world: against carom_time_of_impact with every body, known hits, filters, what is
// looked at, misuse, memory.
#include "fixture.h"

#include "carom/collide.h"

#include <math.h>
#include <string.h>

enum { BODIES = 60, CASTS = 600 };

typedef struct cast_scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *meshes[4]; // torus, sheet, sphere, hull
	carom_shape shape[BODIES];
	carom_pose pose[BODIES];
	carom_body_id id[BODIES];
} cast_scene;

static carom_shape random_shape(cast_scene *s, uint64_t *seed)
{
	const double x = test_random_double(seed, 0.1, 0.6), y = test_random_double(seed, 0.1, 0.6);
	const carom_shape shapes[10] = { fixture_sphere(x), fixture_box(x, y, 0.2), fixture_capsule(x, y), fixture_cylinder(x, y),
		fixture_cone(x, y), fixture_ellipsoid(x, y, 0.3), fixture_hull(s->meshes[3]), fixture_of_mesh(s->meshes[0]),
		fixture_of_mesh(s->meshes[1]), fixture_of_mesh(s->meshes[2]) };
	carom_shape shape = shapes[test_random(seed) % 10];
	shape.rounding = shape.type == CAROM_BOX ? 0.05 : 0;
	return shape;
}

static void open_scene(cast_scene *s, uint64_t *seed, v3d middle)
{
	float points[3 * 16];
	for (int i = 0; i < 48; i++)
		points[i] = (float)test_random_double(seed, -0.5, 0.5);
	*s = (cast_scene){ .context = fixture_context(1) };
	s->world = fixture_world(s->context, NULL);
	s->meshes[0] = fixture_torus_mesh(s->context, 8, 6, 0.4, 0.3);
	s->meshes[1] = fixture_sheet_mesh(s->context, 4, 2);
	s->meshes[2] = fixture_sphere_mesh(s->context, 0.6, 6);
	s->meshes[3] = fixture_hull_mesh(s->context, points, 16);
	for (int i = 0; i < BODIES; i++) {
		s->shape[i] = (carom_shape){ .type = CAROM_PLANE };
		if (i != 7)
			s->shape[i] = random_shape(s, seed);
		s->pose[i] = fixture_random_pose(seed, 12);
		if (i == 7)
			s->pose[i].position = (v3d){ 30, 0, 0 };
		s->pose[i].position = v3d_add(s->pose[i].position, middle);
		s->id[i] = fixture_add(s->world, s->shape[i], s->pose[i], CAROM_STATIC);
	}
}

static void close_scene(cast_scene *s)
{
	carom_destroy_world(s->world);
	for (int i = 0; i < 4; i++)
		carom_release_mesh(s->meshes[i]);
	carom_destroy_context(s->context);
}

static carom_motion random_cast(uint64_t *seed, v3d middle)
{
	carom_motion motion = { fixture_random_pose(seed, 14), fixture_random_pose(seed, 14) };
	motion.begin.position = v3d_add(motion.begin.position, middle);
	motion.end.position = v3d_add(motion.end.position, middle);
	if (test_random(seed) % 2)
		motion.end.orientation = motion.begin.orientation;
	const uint64_t along = test_random(seed) % 16; // along z, or across an axis
	if (along < 2)
		motion.end.position.x = motion.begin.position.x;
	if (along == 0 || along == 2)
		motion.end.position.y = motion.begin.position.y;
	if (along == 3)
		motion.end.position.z = motion.begin.position.z;
	if (test_random(seed) % 4 == 0) // a short way, which may begin in a body
		motion.end.position = v3d_mad(motion.begin.position, 0.1, v3d_sub(motion.end.position, motion.begin.position));
	return motion;
}

/// The earliest body of all, asked one by one; -1: none.
static int dull_cast(const cast_scene *s, const carom_shape *shape, const carom_motion *motion, carom_toi *best)
{
	int found = -1;
	for (int i = 0; i < BODIES; i++) {
		const carom_motion rest = { s->pose[i], s->pose[i] };
		carom_toi toi;
		REQUIRE(carom_time_of_impact(s->context, shape, motion, &s->shape[i], &rest, 1e-4, &toi) == CAROM_SUCCESS);
		if (toi.status == CAROM_TOI_APART || (found >= 0 && toi.time >= best->time))
			continue;
		found = i;
		*best = toi;
	}
	return found;
}

static void check_casts(v3d middle, double slack)
{
	uint64_t seed = 1;
	cast_scene s;
	open_scene(&s, &seed, middle);
	int hits = 0, misses = 0, touching = 0;
	for (int round = 0; round < CASTS; round++) {
		const carom_shape shape = random_shape(&s, &seed);
		const carom_motion motion = random_cast(&seed, middle);
		carom_toi toi = { 0 };
		const int body = dull_cast(&s, &shape, &motion, &toi);
		bool found;
		carom_shape_hit hit;
		REQUIRE(carom_world_cast_shape(s.world, &shape, &motion, 1e-4, NULL, &found, &hit) == CAROM_SUCCESS);
		CHECK_INT(found, body >= 0);
		hits += found;
		misses += !found;
		if (!found || body < 0)
			continue;
		touching += hit.touching;
		CHECK(fixture_same_id(hit.body, s.id[body]));
		CHECK_NEAR(hit.time, toi.time, 0);
		CHECK_INT(hit.touching, toi.status == CAROM_TOI_TOUCHING);
		CHECK_NEAR(hit.distance, toi.separation.distance, 0);
		CHECK_NEAR(v3d_length(v3d_sub(hit.point, toi.separation.point_b)), 0, slack);
		CHECK_NEAR(v3d_length(v3d_sub(hit.normal, toi.separation.normal)), 0, 0);
		CHECK_INT(hit.triangle, toi.triangle_b);
		CHECK_INT(hit.own_triangle, toi.triangle_a);
	}
	CHECK(hits > 100);
	CHECK(misses > 50);
	CHECK(touching > 3);
	close_scene(&s);
}

TEST(cast, the_earliest_of_all_bodies) { check_casts((v3d){ 0, 0, 0 }, 0); }

TEST(cast, far_from_the_origin) { check_casts((v3d){ 3e8, -2e8, 1e8 }, 1e-6); }

/// A shape that does not turn is as near as was asked for when it meets another one, and never was
/// nearer than half of that before.
TEST(cast, straight_ways_are_clear_until_the_impact)
{
	const double tolerance = 1e-4;
	uint64_t seed = 3;
	cast_scene s;
	open_scene(&s, &seed, (v3d){ 0, 0, 0 });
	int impacts = 0;
	for (int round = 0; round < 300; round++) {
		const carom_shape shape = random_shape(&s, &seed);
		const int i = (int)(test_random(&seed) % 7);
		carom_motion motion = random_cast(&seed, (v3d){ 0, 0, 0 });
		motion.end.orientation = motion.begin.orientation;
		// On the other side of the body, nearly.
		const v3d aside = fixture_random_pose(&seed, 0.8).position;
		motion.end.position = v3d_sub(v3d_add(v3d_scale(s.pose[i].position, 2), aside), motion.begin.position);
		const carom_motion rest = { s.pose[i], s.pose[i] };
		carom_toi toi;
		REQUIRE(carom_time_of_impact(s.context, &shape, &motion, &s.shape[i], &rest, tolerance, &toi) == CAROM_SUCCESS);
		if (toi.status != CAROM_TOI_IMPACT && toi.status != CAROM_TOI_APART)
			continue;
		impacts += toi.status == CAROM_TOI_IMPACT;
		for (int step = 0; step <= 20; step++) {
			carom_separation apart;
			carom_pose at = motion.begin;
			at.position = v3d_mad(at.position, toi.time * step / 20, v3d_sub(motion.end.position, motion.begin.position));
			REQUIRE(carom_distance(s.context, &shape, &at, &s.shape[i], &s.pose[i], &apart) == CAROM_SUCCESS);
			CHECK(apart.distance >= 0.49 * tolerance);
			if (step == 20 && toi.status == CAROM_TOI_IMPACT)
				CHECK(apart.distance <= 1.001 * tolerance);
		}
	}
	CHECK(impacts > 100);
	close_scene(&s);
}

TEST(cast, known_hits)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape bullet = fixture_sphere(0.05), wall = fixture_box(0.01, 2, 2);
	const carom_body_id far = fixture_add(world, wall, fixture_at(8, 0, 0), CAROM_STATIC);
	const carom_body_id near = fixture_add(world, wall, fixture_at(5, 0, 0), CAROM_STATIC);
	const carom_body_id twin = fixture_add(world, wall, fixture_at(5, 0, 0), CAROM_STATIC);
	const carom_body_id ground = fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -1), CAROM_STATIC);
	const carom_motion shot = carom_straight_motion(fixture_at(0, 0, 0), (v3d){ 1000, 0, 0 });
	bool found;
	carom_shape_hit hit;
	REQUIRE(carom_world_cast_shape(world, &bullet, &shot, 1e-5, NULL, &found, &hit) == CAROM_SUCCESS && found);
	// Of two bodies at one time the lower index.
	CHECK(fixture_same_id(hit.body, near));
	CHECK(hit.time <= 4.94 / 1000);
	CHECK_NEAR(hit.time, 4.94 / 1000, 1e-5 / 1000 + 1e-9);
	CHECK_NEAR(hit.normal.x, -1, 1e-9);
	CHECK_NEAR(hit.point.x, 4.99, 1e-9);
	CHECK(!hit.touching && hit.distance > 0 && hit.distance <= 1e-5);
	CHECK_INT(hit.triangle, -1);
	// A filter leaves one out.
	carom_query_filter filter = carom_default_query_filter();
	filter.ignore = near;
	REQUIRE(carom_world_cast_shape(world, &bullet, &shot, 1e-5, &filter, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(hit.body, twin));
	filter.mask = 0;
	REQUIRE(carom_world_cast_shape(world, &bullet, &shot, 1e-5, &filter, &found, &hit) == CAROM_SUCCESS);
	CHECK(!found);
	// It sees the poses set last.
	const carom_pose aside = fixture_at(5, 9, 0);
	REQUIRE(carom_world_set_pose(world, near, &aside) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_pose(world, twin, &aside) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_shape(world, &bullet, &shot, 1e-5, NULL, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(hit.body, far));
	// A plane has no box in the tree.
	const carom_motion fall = carom_straight_motion(fixture_at(0, 0, 3), (v3d){ 0, 0, -100 });
	REQUIRE(carom_world_cast_shape(world, &bullet, &fall, 1e-5, NULL, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(hit.body, ground));
	CHECK_NEAR(hit.time, 3.95 / 100, 1e-6);
	// What begins in a body touches it, and is told the way out.
	const carom_motion inside = carom_straight_motion(fixture_at(8, 0, 0), (v3d){ 1, 0, 0 });
	REQUIRE(carom_world_cast_shape(world, &bullet, &inside, 1e-5, NULL, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(hit.touching && hit.time == 0);
	CHECK_NEAR(hit.distance, -0.06, 1e-9);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(cast, parts_are_named)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_part parts[3];
	for (int i = 0; i < 3; i++)
		parts[i] = (carom_part){ .shape = fixture_box(0.01, 2, 2), .pose = fixture_at(5 - i % 2, 0, 0) };
	fixture_add(world, fixture_sphere(1), fixture_at(0, 9, 0), CAROM_STATIC);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.parts = parts;
	def.part_count = 3;
	def.pose = fixture_at(10, 0, 0);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	const carom_shape bullet = fixture_sphere(0.05);
	for (int i = 0; i < 2; i++) { // from before: the part in front; from behind: of two in one place the lower number
		const carom_motion shot = carom_straight_motion(fixture_at(i ? 40 : 0, 0, 0), (v3d){ i ? -100 : 100, 0, 0 });
		bool found;
		carom_shape_hit hit;
		REQUIRE(carom_world_cast_shape(world, &bullet, &shot, 1e-5, NULL, &found, &hit) == CAROM_SUCCESS && found);
		CHECK(fixture_same_id(hit.body, id));
		CHECK_INT(hit.shape, i ? 0 : 1);
		CHECK_NEAR(hit.point.x, i ? 15.01 : 13.99, 1e-9);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// The tree of a deforming body is made when a query comes near it: casts that pass many by make few.
TEST(cast, few_of_many_bodies_are_looked_at)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	enum { SHEETS = 100 };
	carom_mesh *sheet = fixture_sheet_mesh(context, 2, 1);
	for (int i = 0; i < SHEETS; i++)
		fixture_add(world, fixture_of_mesh(sheet), fixture_at(3 * i, 0, 0), CAROM_CLOTH);
	const carom_shape ball = fixture_sphere(0.3);
	bool found;
	carom_shape_hit hit;
	long long calls[2];
	for (int i = 0; i < 2; i++) {
		// Straight down on the 51st, then along all of them, higher than they are.
		const carom_motion down = carom_straight_motion(fixture_at(150, 0.1, 5), (v3d){ 0, 0, -10 });
		const carom_motion along = carom_straight_motion(fixture_at(-9, 0, 5), (v3d){ 320, 0, 0 });
		const long long before = atomic_load(&heap.calls);
		REQUIRE(carom_world_cast_shape(world, &ball, i ? &along : &down, 1e-4, NULL, &found, &hit) == CAROM_SUCCESS);
		calls[i] = atomic_load(&heap.calls) - before;
		CHECK_INT(found, i == 0);
		if (i == 0)
			CHECK_NEAR(hit.time, 0.47, 1e-4);
	}
	CHECK(calls[0] > 0 && calls[0] < 60);
	CHECK_INT(calls[1], 1); // the query's own room
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

static void expect_error(const carom_world *world, carom_context *context, const carom_shape *shape, const carom_motion *motion,
	double tolerance, const char *text)
{
	bool found = true;
	carom_shape_hit hit;
	(void)world;
	CHECK_INT(carom_world_cast_shape(world, shape, motion, tolerance, NULL, &found, &hit), CAROM_INVALID_ARGUMENT);
	CHECK(!found);
	if (!CHECK(strstr(carom_error_text(context), text) != NULL))
		CHECK_STR(carom_error_text(context), text);
}

TEST(cast, misuse)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape ball = fixture_sphere(1), bad = fixture_sphere(-1), plane = { .type = CAROM_PLANE };
	const carom_motion way = carom_straight_motion(fixture_at(0, 0, 0), (v3d){ 1, 0, 0 });
	carom_motion wrong = way;
	bool found;
	carom_shape_hit hit;
	CHECK_INT(carom_world_cast_shape(world, &ball, &way, 1, NULL, NULL, &hit), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_cast_shape: found is NULL") != NULL);
	CHECK_INT(carom_world_cast_shape(world, &ball, &way, 1, NULL, &found, NULL), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_cast_shape: hit is NULL") != NULL);
	expect_error(world, context, NULL, &way, 1, "carom_world_cast_shape: shape is NULL");
	expect_error(world, context, &ball, NULL, 1, "carom_world_cast_shape: motion is NULL");
	expect_error(world, context, &plane, &way, 1, "shape.type is CAROM_PLANE, which has no end");
	expect_error(world, context, &bad, &way, 1, "shape.radius is -1");
	expect_error(world, context, &ball, &way, 0, "tolerance is 0; it must be finite and above 0");
	expect_error(world, context, &ball, &way, NAN, "tolerance is nan");
	expect_error(world, context, &ball, &way, INFINITY, "tolerance is inf");
	wrong.end.position.x = INFINITY;
	expect_error(world, context, &ball, &wrong, 1, "motion.end.position");
	wrong.begin.orientation.w = 3;
	expect_error(world, context, &ball, &wrong, 1, "motion.begin.orientation");
	// A world without bodies.
	REQUIRE(carom_world_cast_shape(world, &ball, &way, 1, NULL, &found, &hit) == CAROM_SUCCESS);
	CHECK(!found);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(cast, out_of_memory_fails_one_query_only)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	for (int i = 0; i < 20; i++)
		fixture_add(world, fixture_sphere(0.4), fixture_at(i, 0, 0), CAROM_STATIC);
	const carom_shape ball = fixture_sphere(0.1);
	const carom_motion way = carom_straight_motion(fixture_at(7, 0, 9), (v3d){ 0, 0, -18 });
	int failures = 0;
	for (bool failed = true; failed; failures += failed) {
		const carom_body_id first = { 1, 1 };
		const carom_pose pose = fixture_at(0, 0, 0);
		bool found;
		carom_shape_hit hit;
		carom_world_set_pose(world, first, &pose); // the tree must be made again
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failures);
		const carom_result result = carom_world_cast_shape(world, &ball, &way, 1e-3, NULL, &found, &hit);
		atomic_store(&heap.fail_at, -1);
		failed = result != CAROM_SUCCESS;
		if (failed)
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
		REQUIRE(carom_world_cast_shape(world, &ball, &way, 1e-3, NULL, &found, &hit) == CAROM_SUCCESS && found);
		CHECK_INT(hit.body.index1, 8);
	}
	CHECK(failures > 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
