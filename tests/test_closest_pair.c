// The two bodies of a world that are nearest to each other: against every pair by carom_distance,
// groups, ties, few looks, misuse, memory.
#include "fixture.h"
#include "world/world.h"

#include "carom/collide.h"

#include <math.h>
#include <string.h>

enum { BODIES = 14, ROUNDS = 300 / TEST_FEWER, SHAPES = 8 };

typedef struct pair_scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *torus, *sheet, *hull;
	carom_shape shapes[SHAPES];
	carom_body_def defs[BODIES];
	carom_body_id ids[BODIES]; // null: removed
} pair_scene;

static void open_scene(pair_scene *s)
{
	float points[3 * 10];
	uint64_t seed = 3;
	for (int i = 0; i < 30; i++)
		points[i] = (float)test_random_double(&seed, -0.6, 0.6);
	*s = (pair_scene){ .context = fixture_context(1) };
	s->torus = fixture_torus_mesh(s->context, 8, 6, 0.4, 0.3);
	s->sheet = fixture_sheet_mesh(s->context, 3, 2);
	s->hull = fixture_hull_mesh(s->context, points, 10);
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.4), fixture_box(0.5, 0.3, 0.2), fixture_capsule(0.2, 0.5),
		fixture_cylinder(0.3, 0.4), fixture_hull(s->hull), fixture_of_mesh(s->torus), fixture_of_mesh(s->sheet),
		{ .type = CAROM_PLANE } };
	memcpy(s->shapes, shapes, sizeof shapes);
}

static void close_scene(pair_scene *s)
{
	carom_release_mesh(s->torus);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->hull);
	carom_destroy_context(s->context);
}

/// A world of bodies of any kinds, categories and groups, some of them removed again.
static void fill(pair_scene *s, uint64_t *seed, double span)
{
	static const carom_body_kind kinds[4] = { CAROM_STATIC, CAROM_KINEMATIC, CAROM_DYNAMIC, CAROM_DYNAMIC };
	s->world = fixture_world(s->context, NULL);
	for (int i = 0; i < BODIES; i++) {
		carom_body_def *def = &s->defs[i];
		*def = carom_default_body_def();
		def->shape = s->shapes[test_random(seed) % (i == 5 ? SHAPES : SHAPES - 1)];
		def->kind = def->shape.type == CAROM_PLANE ? CAROM_STATIC : kinds[test_random(seed) % 4];
		def->pose = fixture_random_pose(seed, span);
		if (def->shape.type == CAROM_PLANE)
			def->pose = fixture_at(0, 0, -span - test_random_double(seed, 0, 2));
		def->category = test_random(seed) % 3 ? 1 : 2;
		def->mask = test_random(seed) % 4 ? UINT64_MAX : 1;
		def->group = (int32_t)(test_random(seed) % 8) - 1;
		def->group = def->group > 2 ? 0 : def->group;
		def->sensor = test_random(seed) % 8 == 0;
		REQUIRE(carom_world_add_body(s->world, def, &s->ids[i]) == CAROM_SUCCESS);
	}
	for (int i = 2; i < BODIES; i += 6) {
		REQUIRE(carom_world_remove_body(s->world, s->ids[i]) == CAROM_SUCCESS);
		s->ids[i] = (carom_body_id){ 0, 0 };
	}
}

static bool passes(const carom_query_filter *filter, const pair_scene *s, int i)
{
	const carom_body_def *def = &s->defs[i];
	if (s->ids[i].index1 == 0)
		return false;
	return !filter ||
		((filter->category & def->mask) && (def->category & filter->mask) && !(filter->skip_sensors && def->sensor) &&
			!fixture_same_id(filter->ignore, s->ids[i]));
}

static bool may_meet(const carom_body_def *x, const carom_body_def *y)
{
	if (x->kind != CAROM_DYNAMIC && y->kind != CAROM_DYNAMIC)
		return false;
	if (x->group != 0 && x->group == y->group)
		return x->group > 0;
	return (x->category & y->mask) && (y->category & x->mask);
}

typedef struct dull_pair {
	int a, b; // -1: none
	double distance;
} dull_pair;

/// The nearest pair of all; overlaps count as 0.
static dull_pair find_dull(const pair_scene *s, double most, const carom_query_filter *fa, const carom_query_filter *fb)
{
	dull_pair best = { -1, -1, INFINITY };
	for (int a = 0; a < BODIES; a++) {
		for (int b = 0; b < BODIES; b++) {
			carom_separation gap;
			const carom_body_def *x = &s->defs[a], *y = &s->defs[b];
			if (a == b || !passes(fa, s, a) || !passes(fb, s, b) || !may_meet(x, y))
				continue;
			REQUIRE(carom_distance(s->context, &x->shape, &x->pose, &y->shape, &y->pose, &gap) == CAROM_SUCCESS);
			const double distance = gap.distance < 0 ? 0 : gap.distance;
			// The other way about the last digits may differ.
			if (distance <= most && (best.a < 0 || (best.distance > 0 ? distance < best.distance * (1 - 1e-9) : false)))
				best = (dull_pair){ a, b, distance };
		}
	}
	return best;
}

static void check_pair(
	const pair_scene *s, double most, const carom_query_filter *fa, const carom_query_filter *fb, int counts[3])
{
	bool found;
	carom_closest_pair pair;
	const dull_pair dull = find_dull(s, most, fa, fb);
	REQUIRE(carom_world_closest_pair(s->world, most, fa, fb, &found, &pair) == CAROM_SUCCESS);
	CHECK_INT(found, dull.a >= 0);
	counts[0] += !found;
	if (!found || dull.a < 0)
		return;
	const carom_body_def *x = &s->defs[dull.a], *y = &s->defs[dull.b];
	carom_separation gap;
	CHECK(fixture_same_id(pair.body_a, s->ids[dull.a]));
	CHECK(fixture_same_id(pair.body_b, s->ids[dull.b]));
	REQUIRE(carom_distance(s->context, &x->shape, &x->pose, &y->shape, &y->pose, &gap) == CAROM_SUCCESS);
	CHECK_NEAR(pair.distance, gap.distance, 1e-9);
	CHECK_NEAR(v3d_length(v3d_sub(pair.normal, gap.normal)), 0, 1e-6);
	CHECK_NEAR(v3d_length(v3d_sub(pair.on_a, gap.point_a)), 0, 1e-6);
	CHECK_NEAR(v3d_length(v3d_sub(pair.on_b, gap.point_b)), 0, 1e-6);
	counts[pair.distance > 0 ? 1 : 2]++;
}

TEST(closest_pair, against_every_pair)
{
	pair_scene s;
	uint64_t seed = 8;
	int counts[3] = { 0 };
	open_scene(&s);
	for (int round = 0; round < ROUNDS; round++) {
		fill(&s, &seed, round % 3 == 0 ? 2 : round % 3 == 1 ? 6 : 12);
		const double most = round % 5 ? INFINITY : test_random_double(&seed, 0, 2);
		carom_query_filter one = carom_default_query_filter(), two = one;
		one.mask = 1;
		two.mask = 2;
		one.skip_sensors = true;
		two.ignore = s.ids[0];
		check_pair(&s, most, NULL, NULL, counts);
		check_pair(&s, most, &one, &two, counts);
		check_pair(&s, most, &one, NULL, counts);
		carom_destroy_world(s.world);
	}
	CHECK(counts[0] > 30 / TEST_FEWER);
	CHECK(counts[1] > 300 / TEST_FEWER);
	CHECK(counts[2] > 100 / TEST_FEWER);
	close_scene(&s);
}

TEST(closest_pair, ties_go_to_the_lowest_bodies)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_id ids[20];
	// A row of balls: all gaps are equal.
	for (int i = 0; i < 20; i++)
		ids[i] = fixture_add(world, fixture_sphere(0.25), fixture_at(19 - i, 0, 0), CAROM_DYNAMIC);
	bool found;
	carom_closest_pair pair;
	REQUIRE(carom_world_closest_pair(world, 0.5, NULL, NULL, &found, &pair) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(pair.body_a, ids[0]) && fixture_same_id(pair.body_b, ids[1]));
	CHECK_NEAR(pair.distance, 0.5, 0);
	CHECK_NEAR(pair.normal.x, 1, 0);
	CHECK_NEAR(pair.on_a.x, 18.75, 0);
	CHECK_NEAR(pair.on_b.x, 18.25, 0);
	REQUIRE(carom_world_closest_pair(world, nextafter(0.5, 0), NULL, NULL, &found, &pair) == CAROM_SUCCESS);
	CHECK(!found);
	// All overlap now, and a plane with the lowest number would.
	carom_query_filter last = carom_default_query_filter();
	for (int i = 0; i < 20; i++) {
		const carom_pose pose = fixture_at(0.01 * i, 0, 0);
		REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
	}
	REQUIRE(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(pair.body_a, ids[0]) && fixture_same_id(pair.body_b, ids[1]));
	CHECK_NEAR(pair.distance, -0.49, 1e-9);
	last.ignore = ids[0];
	REQUIRE(carom_world_closest_pair(world, INFINITY, &last, NULL, &found, &pair) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(pair.body_a, ids[1]) && fixture_same_id(pair.body_b, ids[0]));
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(closest_pair, parts_and_bodies_that_deform)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *torus = fixture_torus_mesh(context, 12, 8, 0.3, 0);
	const carom_part parts[2] = { { fixture_sphere(0.5), fixture_at(0, 0, -2), 0 },
		{ fixture_sphere(0.5), fixture_at(0, 0, 2), 0 } };
	carom_body_def def = carom_default_body_def();
	carom_body_id body, ring;
	def.parts = parts;
	def.part_count = 2;
	REQUIRE(carom_world_add_body(world, &def, &body) == CAROM_SUCCESS);
	bool found;
	carom_closest_pair pair;
	// Parts of one body are no pair.
	REQUIRE(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair) == CAROM_SUCCESS);
	CHECK(!found);
	ring = fixture_add(world, fixture_of_mesh(torus), fixture_at(0, 0, 4), CAROM_DEFORMABLE);
	REQUIRE(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(pair.body_a, body) && fixture_same_id(pair.body_b, ring));
	CHECK_INT(pair.shape_a, 1);
	CHECK_INT(pair.shape_b, 0);
	CHECK(pair.distance > 1 && pair.distance < 2);
	// Overlapping: the way out of the mesh as it is now.
	const carom_shape ball = fixture_sphere(0.1);
	const carom_pose at = fixture_at(0.75, 0, 4);
	carom_closest_body one;
	REQUIRE(carom_world_closest_body(world, &ball, &at, 1, NULL, &found, &one) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(one.body, ring));
	CHECK(one.distance < -0.05 && one.distance > -0.5);
	const carom_body_id small = fixture_add(world, ball, at, CAROM_DYNAMIC);
	REQUIRE(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair) == CAROM_SUCCESS && found);
	CHECK(fixture_same_id(pair.body_a, ring) && fixture_same_id(pair.body_b, small));
	CHECK_NEAR(pair.distance, one.distance, 0.05);
	carom_destroy_world(world);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

/// The parts of a body at the limit may lie beyond it. They are seen all the same.
TEST(closest_pair, parts_of_a_body_at_the_limit)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_part parts[2] = { { fixture_sphere(0.25), fixture_at(4, 0, 0), 0 },
		{ fixture_box(1, 2, 3), fixture_at(-4, 0, 0), 0 } };
	carom_body_def def = carom_default_body_def();
	def.pose.position.x = CAROM_MAX_POSITION;
	def.parts = parts;
	def.part_count = 2;
	def.kind = CAROM_DYNAMIC;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	const carom_shape ball = fixture_sphere(1);
	const carom_pose pose = fixture_at(CAROM_MAX_POSITION, 0, 0);
	carom_closest_body near;
	bool found = false;
	REQUIRE(carom_world_closest_body(world, &ball, &pose, INFINITY, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(found && near.body.index1 == id.index1 && near.shape == 1);
	CHECK(near.distance == 2);
	def.part_count = 0;
	def.parts = NULL;
	def.shape = ball;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	carom_closest_pair pair;
	REQUIRE(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair) == CAROM_SUCCESS);
	CHECK(found && pair.distance == 2);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(closest_pair, misuse_and_empty_worlds)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	bool found = true;
	carom_closest_pair pair;
	CHECK_INT(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair), CAROM_SUCCESS);
	CHECK(!found);
	fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	CHECK_INT(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair), CAROM_SUCCESS);
	CHECK(!found);
	CHECK_INT(carom_world_closest_pair(NULL, 1, NULL, NULL, &found, &pair), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_closest_pair(world, 1, NULL, NULL, NULL, &pair), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_closest_pair: found is NULL") != NULL);
	CHECK_INT(carom_world_closest_pair(world, 1, NULL, NULL, &found, NULL), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "result is NULL") != NULL);
	CHECK_INT(carom_world_closest_pair(world, NAN, NULL, NULL, &found, &pair), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_closest_pair: max_distance is ") != NULL);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(closest_pair, out_of_memory_fails_one_query_only)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *torus = fixture_torus_mesh(context, 8, 6, 0.4, 0.3);
	carom_body_id ids[6];
	for (int i = 0; i < 6; i++)
		ids[i] = fixture_add(world, fixture_of_mesh(torus), fixture_at(3 * i, 0, 0), CAROM_DYNAMIC);
	int failures = 0;
	for (bool failed = true; failed; failures += failed) {
		const carom_pose pose = fixture_at(0.5, 0, 0); // 1.1 from the second
		bool found;
		carom_closest_pair pair;
		REQUIRE(carom_world_set_pose(world, ids[0], &pose) == CAROM_SUCCESS);
		cr_box_index_invalidate(world->query_index); // the tree must be made again
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failures);
		const carom_result result = carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair);
		atomic_store(&heap.fail_at, -1);
		failed = result != CAROM_SUCCESS;
		CHECK(!failed || (result == CAROM_OUT_OF_MEMORY && !found));
		REQUIRE(carom_world_closest_pair(world, INFINITY, NULL, NULL, &found, &pair) == CAROM_SUCCESS && found);
		CHECK(fixture_same_id(pair.body_a, ids[0]) && fixture_same_id(pair.body_b, ids[1]));
	}
	CHECK(failures > 3);
	carom_destroy_world(world);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}
