// Casts of several shapes that move as one body: against distances along the way, against the cast
// of a shape, who stands on a floor, misuse, memory.
#include "fixture.h"

#include "carom/collide.h"

#include <math.h>
#include <string.h>

enum { BODIES = 40, PARTS = 3, CASTS = 240, LOOKS = 6 };

static const double TOLERANCE = 1e-3;

typedef struct scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *torus, *sheet;
	carom_shape shape[BODIES];
	carom_pose pose[BODIES];
	carom_body_id id[BODIES];
} scene;

static carom_shape random_shape(const scene *s, uint64_t *seed)
{
	const double x = test_random_double(seed, 0.1, 0.6), y = test_random_double(seed, 0.1, 0.6);
	const carom_shape shapes[7] = { fixture_sphere(x), fixture_box(x, y, 0.2), fixture_capsule(x, y), fixture_cylinder(x, y),
		fixture_cone(x, y), fixture_of_mesh(s->torus), fixture_of_mesh(s->sheet) };
	return shapes[test_random(seed) % 7];
}

static void open_scene(scene *s, uint64_t *seed)
{
	*s = (scene){ .context = fixture_context(1) };
	s->world = fixture_world(s->context, NULL);
	s->torus = fixture_torus_mesh(s->context, 8, 6, 0.4, 0.3);
	s->sheet = fixture_sheet_mesh(s->context, 4, 2);
	for (int i = 0; i < BODIES; i++) {
		s->shape[i] = random_shape(s, seed);
		s->pose[i] = fixture_random_pose(seed, 10);
		s->id[i] = fixture_add(s->world, s->shape[i], s->pose[i], CAROM_STATIC);
	}
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->torus);
	carom_release_mesh(s->sheet);
	carom_destroy_context(s->context);
}

static void random_parts(const scene *s, uint64_t *seed, carom_part parts[PARTS])
{
	for (int i = 0; i < PARTS; i++) {
		const carom_shape shape = random_shape(s, seed);
		const carom_pose pose = fixture_random_pose(seed, 1);
		parts[i] = (carom_part){ .shape = shape, .pose = pose };
	}
}

/// Short and long ways; half of them turn.
static carom_motion random_way(uint64_t *seed)
{
	carom_motion way;
	way.begin = fixture_random_pose(seed, 12);
	way.end = fixture_random_pose(seed, 12);
	if (test_random(seed) % 2)
		way.end.orientation = way.begin.orientation;
	return way;
}

/// Where the frame of a motion is at a time: on a straight line, turning at a constant rate.
static carom_pose place_at(const carom_motion *way, double t)
{
	const carom_quat p = way->begin.orientation;
	carom_quat q = way->end.orientation;
	double cosine = p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
	const double sign = cosine < 0 ? -1 : 1;
	cosine = fmin(1, sign * cosine);
	const double angle = acos(cosine), sine = sin(angle);
	const double a = sine > 1e-9 ? sin((1 - t) * angle) / sine : 1 - t, b = sign * (sine > 1e-9 ? sin(t * angle) / sine : t);
	q = (carom_quat){ a * p.x + b * q.x, a * p.y + b * q.y, a * p.z + b * q.z, a * p.w + b * q.w };
	const double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return (carom_pose){ v3d_mad(way->begin.position, t, v3d_sub(way->end.position, way->begin.position)),
		{ q.x / length, q.y / length, q.z / length, q.w / length } };
}

/// The distance of a part on its way from a body.
static double distance_at(const scene *s, const carom_part *part, const carom_motion *way, double t, int body)
{
	const carom_pose frame = place_at(way, t);
	const carom_pose pose = { v3d_add(frame.position, carom_rotate(frame.orientation, part->pose.position)),
		quat_mul(frame.orientation, part->pose.orientation) };
	carom_separation separation;
	REQUIRE(carom_distance(s->context, &part->shape, &pose, &s->shape[body], &s->pose[body], &separation) == CAROM_SUCCESS);
	return separation.distance;
}

/// No part comes nearer to any body before a time than it may.
static void expect_clear(const scene *s, const carom_part *parts, const carom_motion *way, double until, uint64_t *seed)
{
	for (int look = 0; look < LOOKS; look++) {
		const double t = test_random_double(seed, 0, until);
		for (int i = 0; i < PARTS; i++) {
			for (int body = 0; body < BODIES; body++)
				CHECK(distance_at(s, &parts[i], way, t, body) > 0.5 * TOLERANCE - 1e-6);
		}
	}
}

static int body_of(const scene *s, carom_body_id id)
{
	for (int i = 0; i < BODIES; i++) {
		if (fixture_same_id(s->id[i], id))
			return i;
	}
	return -1;
}

TEST(cast_parts, the_way_is_clear_until_the_hit)
{
	uint64_t seed = 1;
	scene s;
	open_scene(&s, &seed);
	int hits = 0, misses = 0, others = 0;
	for (int round = 0; round < CASTS / (TEST_FEWER > 4 ? 4 : TEST_FEWER); round++) {
		carom_part parts[PARTS];
		random_parts(&s, &seed, parts);
		const carom_motion way = random_way(&seed);
		bool found;
		carom_shape_hit hit;
		REQUIRE(carom_world_cast_parts(s.world, parts, PARTS, &way, TOLERANCE, NULL, &found, &hit) == CAROM_SUCCESS);
		if (found && (hit.touching || hit.undecided))
			continue;
		expect_clear(&s, parts, &way, found ? hit.time : 1, &seed);
		hits += found;
		misses += !found;
		if (!found)
			continue;
		const int body = body_of(&s, hit.body);
		REQUIRE(body >= 0 && hit.own_shape >= 0 && hit.own_shape < PARTS);
		others += hit.own_shape > 0;
		const double at = distance_at(&s, &parts[hit.own_shape], &way, hit.time, body);
		CHECK(at > 0.5 * TOLERANCE - 1e-6 && at < TOLERANCE + 1e-6);
		CHECK_NEAR(at, hit.distance, 1e-6);
	}
	CHECK(hits > 15);
	CHECK(misses > 1);
	CHECK(others > 5);
	close_scene(&s);
}

static void expect_equal_hits(const carom_shape_hit *a, const carom_shape_hit *b)
{
	CHECK(fixture_same_id(a->body, b->body));
	CHECK_INT(a->own_shape, b->own_shape);
	CHECK_NEAR(a->time, b->time, 0);
	CHECK_NEAR(a->distance, b->distance, 0);
	CHECK_NEAR(v3d_length(v3d_sub(a->point, b->point)), 0, 0);
	CHECK_NEAR(v3d_length(v3d_sub(a->normal, b->normal)), 0, 0);
	CHECK_INT(a->triangle, b->triangle);
	CHECK_INT(a->own_triangle, b->own_triangle);
	CHECK_INT(a->touching, b->touching);
}

// A part at the origin of its body is the shape.
TEST(cast_parts, one_part_is_as_its_shape)
{
	uint64_t seed = 2;
	scene s;
	open_scene(&s, &seed);
	int hits = 0;
	for (int round = 0; round < CASTS; round++) {
		const carom_part part = { .shape = random_shape(&s, &seed), .pose = carom_pose_identity() };
		const carom_motion way = random_way(&seed);
		carom_query_filter moving = carom_default_query_filter();
		moving.skip_separating = round % 3 == 0;
		bool found[2];
		carom_shape_hit hit[2];
		REQUIRE(carom_world_cast_shape(s.world, &part.shape, &way, TOLERANCE, &moving, &found[0], &hit[0]) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_parts(s.world, &part, 1, &way, TOLERANCE, &moving, &found[1], &hit[1]) == CAROM_SUCCESS);
		CHECK_INT(found[0], found[1]);
		hits += found[0];
		if (found[0] && found[1])
			expect_equal_hits(&hit[0], &hit[1]);
	}
	CHECK(hits > 20);
	close_scene(&s);
}

static bool is_alone(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	(void)shape;
	(void)user_data;
	return fixture_same_id(body, *(const carom_body_id *)user);
}

TEST(cast_parts, all_are_the_first_of_each_body)
{
	uint64_t seed = 3;
	scene s;
	open_scene(&s, &seed);
	int hits = 0;
	for (int round = 0; round < CASTS / TEST_FEWER; round++) {
		carom_part parts[PARTS];
		random_parts(&s, &seed, parts);
		const carom_motion way = random_way(&seed);
		carom_shape_hit all[BODIES], first;
		int32_t count, met = 0;
		bool found;
		REQUIRE(carom_world_cast_parts_all(s.world, parts, PARTS, &way, TOLERANCE, NULL, BODIES, all, &count) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_parts(s.world, parts, PARTS, &way, TOLERANCE, NULL, &found, &first) == CAROM_SUCCESS);
		CHECK_INT(found, count > 0);
		if (found)
			expect_equal_hits(&first, &all[0]);
		for (int i = 1; i < count; i++)
			CHECK(all[i].time >= all[i - 1].time);
		for (int body = 0; body < BODIES; body++) {
			carom_query_filter alone = carom_default_query_filter();
			alone.body_filter = is_alone;
			alone.filter_user = &s.id[body];
			REQUIRE(carom_world_cast_parts(s.world, parts, PARTS, &way, TOLERANCE, &alone, &found, &first) == CAROM_SUCCESS);
			met += found;
			for (int i = 0; i < count && found; i++) {
				if (fixture_same_id(all[i].body, first.body))
					expect_equal_hits(&all[i], &first);
			}
		}
		CHECK_INT(met, count);
		hits += count;
	}
	CHECK(hits > 30);
	close_scene(&s);
}

// Two feet on a floor walk along it to a wall; the head, which is far out, hits a beam before.
TEST(cast_parts, feet_go_along_the_floor)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_box(20, 20, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	const carom_body_id wall = fixture_add(world, fixture_box(1, 20, 5), fixture_at(11, 0, 5), CAROM_STATIC);
	const carom_part walker[3] = { { .shape = fixture_box(0.2, 0.1, 0.5), .pose = fixture_at(0, 0.3, 0.5) },
		{ .shape = fixture_box(0.2, 0.1, 0.5), .pose = fixture_at(0, -0.3, 0.5) },
		{ .shape = fixture_sphere(0.4), .pose = fixture_at(1, 0, 2) } };
	const carom_motion walk = carom_straight_motion(fixture_at(0, 0, 0), (v3d){ 20, 0, 0 });
	carom_query_filter moving = carom_default_query_filter();
	bool found;
	carom_shape_hit hit;
	REQUIRE(carom_world_cast_parts(world, walker, 3, &walk, 1e-4, &moving, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(hit.touching && hit.time == 0); // the floor
	moving.skip_separating = true;
	REQUIRE(carom_world_cast_parts(world, walker, 2, &walk, 1e-4, &moving, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(hit.body, wall));
	CHECK_NEAR(20 * hit.time, 9.8, 2e-4);
	CHECK_NEAR(hit.normal.x, -1, 1e-6);
	REQUIRE(carom_world_cast_parts(world, walker, 3, &walk, 1e-4, &moving, &found, &hit) == CAROM_SUCCESS && found);
	CHECK_INT(hit.own_shape, 2);
	CHECK_NEAR(20 * hit.time, 8.6, 2e-4);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// A bar that turns about its end sweeps an arc, which no straight way of the part does.
TEST(cast_parts, parts_go_on_arcs)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_part tip = { .shape = fixture_sphere(0.1), .pose = fixture_at(5, 0, 0) };
	const double half = sqrt(0.5);
	const carom_motion turn = { fixture_at(0, 0, 0), { { 0, 0, 0 }, { 0, 0, half, half } } }; // by 90 degrees
	const carom_body_id on_arc = fixture_add(world, fixture_sphere(0.1), fixture_at(5 * half, 5 * half, 0), CAROM_STATIC);
	fixture_add(world, fixture_sphere(0.1), fixture_at(2.5, 2.5, 0), CAROM_STATIC); // on the chord
	bool found;
	carom_shape_hit hit;
	REQUIRE(carom_world_cast_parts(world, &tip, 1, &turn, 1e-4, NULL, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(hit.body, on_arc));
	const double before = 2 * asin(0.1 / 5); // so far from the middle of the arc the two touch
	CHECK_NEAR(hit.time, (acos(half) - before) / (2 * acos(half)), 1e-4);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

static void expect_error(carom_world *world, carom_context *context, const carom_part *parts, int32_t count,
	const carom_motion *way, double tolerance, const char *text)
{
	bool found = true;
	int32_t hits = -1;
	carom_shape_hit hit;
	CHECK_INT(carom_world_cast_parts(world, parts, count, way, tolerance, NULL, &found, &hit), CAROM_INVALID_ARGUMENT);
	CHECK(!found);
	if (!CHECK(strstr(carom_error_text(context), text) != NULL))
		CHECK_STR(carom_error_text(context), text);
	CHECK_INT(carom_world_cast_parts_all(world, parts, count, way, tolerance, NULL, 1, &hit, &hits), CAROM_INVALID_ARGUMENT);
	CHECK_INT(hits, 0);
	CHECK(strstr(carom_error_text(context), text) != NULL);
	CHECK(strstr(carom_error_text(context), "carom_world_cast_parts_all: ") != NULL);
}

TEST(cast_parts, misuse)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_motion way = carom_straight_motion(fixture_at(0, 0, 0), (v3d){ 1, 0, 0 });
	carom_part parts[2] = { { .shape = fixture_sphere(1), .pose = carom_pose_identity() },
		{ .shape = fixture_sphere(1), .pose = carom_pose_identity() } };
	bool found;
	carom_shape_hit hit;
	CHECK_INT(carom_world_cast_parts(world, parts, 2, &way, 1, NULL, NULL, &hit), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_cast_parts: found is NULL") != NULL);
	CHECK_INT(carom_world_cast_parts(world, parts, 2, &way, 1, NULL, &found, NULL), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_cast_parts: hit is NULL") != NULL);
	expect_error(world, context, NULL, 2, &way, 1, "parts is NULL");
	expect_error(world, context, parts, 0, &way, 1, "part_count is 0; it must be above 0");
	expect_error(world, context, parts, -3, &way, 1, "part_count is -3");
	expect_error(world, context, parts, 2, NULL, 1, "motion is NULL");
	expect_error(world, context, parts, 2, &way, 0, "tolerance is 0");
	parts[1].shape.radius = -1;
	expect_error(world, context, parts, 2, &way, 1, "parts[1]: shape.radius is -1");
	parts[1].shape = (carom_shape){ .type = CAROM_PLANE };
	expect_error(world, context, parts, 2, &way, 1, "parts[1]: shape.type is CAROM_PLANE, which has no end");
	parts[1].shape = fixture_sphere(1);
	parts[1].pose.orientation.w = 9;
	expect_error(world, context, parts, 2, &way, 1, "parts[1]: pose.orientation");
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(cast_parts, out_of_memory_fails_one_query_only)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	for (int i = 0; i < 20; i++)
		fixture_add(world, fixture_sphere(0.4), fixture_at(i, 0, 0), CAROM_STATIC);
	const carom_part parts[2] = { { .shape = fixture_sphere(0.1), .pose = carom_pose_identity() },
		{ .shape = fixture_sphere(0.1), .pose = fixture_at(2, 0, 0) } };
	const carom_motion way = carom_straight_motion(fixture_at(7, 0, 9), (v3d){ 0, 0, -18 });
	int failures = 0;
	for (bool failed = true; failed; failures += failed) {
		const carom_body_id first = { 1, 1 };
		const carom_pose pose = fixture_at(0, 0, 0);
		int32_t count;
		carom_shape_hit hits[4];
		carom_world_set_pose(world, first, &pose); // the tree must be made again
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failures);
		const carom_result result = carom_world_cast_parts_all(world, parts, 2, &way, 1e-3, NULL, 4, hits, &count);
		atomic_store(&heap.fail_at, -1);
		failed = result != CAROM_SUCCESS;
		if (failed)
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
		REQUIRE(carom_world_cast_parts_all(world, parts, 2, &way, 1e-3, NULL, 4, hits, &count) == CAROM_SUCCESS);
		REQUIRE(count == 2);
		CHECK_INT(hits[0].body.index1 + hits[1].body.index1, 8 + 10);
	}
	CHECK(failures > 1);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
