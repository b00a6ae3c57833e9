/// Bodies of several parts: they equal the parts as bodies of their own, contact for contact and bit for bit.
#include "fixture.h"
#include "pool_fixture.h"
#include "world/recording_format.h"
#include "world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 10, MAX_PARTS = 5, MAX_BODIES = 24 };

/// One shape of each type that may move.
typedef struct shape_box {
	carom_context *context;
	carom_mesh *torus, *cube, *hull;
	carom_shape shape[SHAPES];
} shape_box;

static void open_shapes(shape_box *b, carom_context *context)
{
	static const float corners[15] = { -0.3F, -0.3F, -0.2F, 0.3F, -0.3F, -0.2F, 0.3F, 0.3F, -0.2F, -0.3F, 0.3F, -0.2F, 0, 0,
		0.4F };
	b->context = context;
	b->torus = fixture_torus_mesh(context, 12, 6, 0.3, 0.1);
	b->cube = fixture_box_mesh(context, 0.4, 0.3, 0.3);
	b->hull = fixture_hull_mesh(context, corners, 5);
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.4), fixture_box(0.3, 0.4, 0.5), fixture_capsule(0.2, 0.4),
		fixture_of_mesh(b->torus), fixture_of_mesh(b->cube), fixture_hull(b->hull), fixture_cylinder(0.3, 0.3),
		fixture_cone(0.4, 0.3), fixture_ellipsoid(0.5, 0.3, 0.2), fixture_box(0.4, 0.2, 0.3) };
	memcpy(b->shape, shapes, sizeof shapes);
	b->shape[SHAPES - 1].rounding = 0.05;
}

static void close_shapes(shape_box *b)
{
	carom_release_mesh(b->torus);
	carom_release_mesh(b->cube);
	carom_release_mesh(b->hull);
}

static carom_body_id add_parts(carom_world *world, const carom_part *parts, int32_t count, carom_pose pose, carom_body_kind kind)
{
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = count;
	def.pose = pose;
	def.kind = kind;
	carom_body_id id = { 0 };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static void remove_body(carom_world *world, carom_body_id id) { REQUIRE(carom_world_remove_body(world, id) == CAROM_SUCCESS); }

static void set_pose(carom_world *world, carom_body_id id, carom_pose pose)
{
	REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
}

// ---- The oracle: all parts as bodies of their own ----

/// Two worlds of one content: bodies with parts, and their parts under the same numbers, in groups that do not collide.
typedef struct twins {
	shape_box shapes;
	carom_world *whole, *apart; // apart may be NULL: then only the first world lives
	carom_body_id ids[MAX_BODIES];
	carom_pose poses[MAX_BODIES];
	int count;
	int32_t groups;
	uint64_t seed;
	int64_t contacts; // seen in all steps, of parts beyond the first
} twins;

/// Give the part in apart the pose that it has in whole, to the last bit: a call would normalise it.
static void copy_place(twins *t, int32_t number)
{
	const cr_body *from = &t->whole->bodies.data[number];
	cr_body *to = &t->apart->bodies.data[number];
	to->pose = from->pose;
	if (!from->course && !to->course)
		return;
	REQUIRE(cr_reserve_courses(&t->apart->memory, &t->apart->courses, 1));
	cr_leave_pose(&t->apart->courses, to);
	to->course->last = *cr_last_pose(from);
}

/// Add a body to the second world under a number that is free there, or the next.
static void add_under(twins *t, int32_t number, const carom_body_def *def)
{
	carom_world *world = t->apart;
	const int64_t free_count = world->free_bodies.count;
	int32_t *numbers = world->free_bodies.data;
	int64_t at = 0;
	while (at < free_count && numbers[at] != number)
		at++;
	if (at < free_count) {
		numbers[at] = numbers[free_count - 1];
		numbers[free_count - 1] = number;
	} else {
		world->free_bodies.count = 0;
	}
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, def, &id) == CAROM_SUCCESS);
	REQUIRE(id.index1 == (uint32_t)number + 1);
	if (at == free_count)
		world->free_bodies.count = free_count;
	CHECK_INT(id.generation, t->whole->bodies.data[number].generation);
	copy_place(t, number);
}

static void add_twin(twins *t, carom_body_def *def, const carom_part *parts, int32_t count)
{
	carom_body_id id;
	const carom_shape none = { 0 };
	def->shape = count > 0 ? none : parts[0].shape;
	def->parts = count > 0 ? parts : NULL;
	def->part_count = count;
	REQUIRE(carom_world_add_body(t->whole, def, &id) == CAROM_SUCCESS);
	t->poses[t->count] = def->pose;
	t->ids[t->count++] = id;
	carom_body_def one = *def;
	one.parts = NULL;
	one.part_count = 0;
	one.group = count > 1 ? -++t->groups : 0;
	for (int32_t i = 0; t->apart && i < (count > 0 ? count : 1); i++) {
		one.shape = parts[i].shape;
		add_under(t, (int32_t)id.index1 - 1 + i, &one);
	}
}

static void add_random(twins *t)
{
	carom_part parts[MAX_PARTS];
	const int32_t count = (int32_t)(test_random(&t->seed) % (MAX_PARTS + 1));
	for (int32_t i = 0; i < (count > 0 ? count : 1); i++)
		parts[i] = (carom_part){ t->shapes.shape[test_random(&t->seed) % SHAPES], fixture_random_pose(&t->seed, 0.6), 0 };
	carom_body_def def = carom_default_body_def();
	def.pose = fixture_random_pose(&t->seed, 1.5);
	def.kind = test_random(&t->seed) % 6 == 0 ? CAROM_KINEMATIC : CAROM_DYNAMIC;
	def.sensor = test_random(&t->seed) % 8 == 0;
	def.category = test_random(&t->seed) % 4 == 0 ? 2 : 1;
	def.mask = test_random(&t->seed) % 8 == 0 ? 1 : UINT64_MAX;
	def.user_data = test_random(&t->seed);
	add_twin(t, &def, parts, count);
}

/// Ground of a plane, a mesh and a box.
static void add_ground(twins *t)
{
	const carom_part parts[3] = { { { .type = CAROM_PLANE }, fixture_at(0, 0, -1), 0 },
		{ fixture_of_mesh(t->shapes.cube), fixture_at(0.5, 0, -0.8), 0 },
		{ fixture_box(0.5, 0.5, 0.5), fixture_at(-1, 0, -1), 0 } };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.pose.orientation = fixture_turn((v3d){ 1, 2, 3 }, 0.1);
	add_twin(t, &def, parts, 3);
}

static void remove_twin(twins *t, int which)
{
	const carom_body_id id = t->ids[which];
	const int32_t count = cr_part_count(&t->whole->bodies.data[id.index1 - 1]);
	remove_body(t->whole, id);
	for (int32_t i = 0; t->apart && i < count; i++) {
		const uint32_t number = id.index1 - 1 + (uint32_t)i;
		remove_body(t->apart, (carom_body_id){ number + 1, t->apart->bodies.data[number].generation });
	}
	t->ids[which] = t->ids[--t->count];
	t->poses[which] = t->poses[t->count];
}

static void move_twin(twins *t, int which)
{
	carom_pose *pose = &t->poses[which];
	const carom_pose step = { { test_random_double(&t->seed, -0.05, 0.05), test_random_double(&t->seed, -0.05, 0.05),
								  test_random_double(&t->seed, -0.05, 0.05) },
		fixture_turn((v3d){ test_random_double(&t->seed, -1, 1), 1, 0.5 }, test_random_double(&t->seed, -0.1, 0.1)) };
	*pose = fixture_compose(*pose, step);
	const carom_body_id id = t->ids[which];
	set_pose(t->whole, id, *pose);
	const int32_t count = cr_part_count(&t->whole->bodies.data[id.index1 - 1]);
	for (int32_t i = 0; t->apart && i < count; i++) {
		const uint32_t number = id.index1 - 1 + (uint32_t)i;
		set_pose(t->apart, (carom_body_id){ number + 1, t->apart->bodies.data[number].generation }, carom_pose_identity());
		copy_place(t, (int32_t)number);
	}
}

/// Let a body meet fewer or more.
static void refilter_twin(twins *t, int which)
{
	const carom_body_id id = t->ids[which];
	const uint64_t category = 1 + test_random(&t->seed) % 3, mask = test_random(&t->seed) % 3 == 0 ? 2 : UINT64_MAX;
	REQUIRE(carom_world_set_filter(t->whole, id, category, mask, 0) == CAROM_SUCCESS);
	const int32_t count = cr_part_count(&t->whole->bodies.data[id.index1 - 1]);
	for (int32_t i = 0; i < count; i++) {
		const cr_body *part = &t->apart->bodies.data[id.index1 - 1 + (uint32_t)i];
		const carom_body_id part_id = { id.index1 + (uint32_t)i, part->generation };
		REQUIRE(carom_world_set_filter(t->apart, part_id, category, mask, part->group) == CAROM_SUCCESS);
	}
}

/// The pair of the second world between two numbers; NULL: none.
static const carom_pair *find_pair(const carom_world *world, uint32_t a, uint32_t b)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < pairs.count; i++) {
		if (pairs.data[i].body_a.index1 == a && pairs.data[i].body_b.index1 == b)
			return pairs.data + i;
	}
	return NULL;
}

static void compare_contact(const carom_contact *whole, const carom_contact *apart)
{
	CHECK(memcmp(whole->point, apart->point, sizeof whole->point) == 0);
	CHECK(memcmp(whole->normal, apart->normal, sizeof whole->normal) == 0);
	CHECK(whole->depth == apart->depth && whole->kind == apart->kind && whole->age == apart->age);
	CHECK(whole->feature_a == apart->feature_a && whole->feature_b == apart->feature_b);
	CHECK(apart->shape_a == 0 && apart->shape_b == 0);
}

static void compare_pairs(twins *t)
{
	const carom_pair_view pairs = carom_world_pairs(t->whole);
	CHECK_INT(pairs.count, carom_world_pairs(t->apart).count);
	CHECK_INT(carom_world_contacts(t->whole).count, carom_world_contacts(t->apart).count);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *p = &pairs.data[i];
		const carom_pair *q =
			find_pair(t->apart, p->body_a.index1 + (uint32_t)p->shape_a, p->body_b.index1 + (uint32_t)p->shape_b);
		if (!CHECK(q != NULL))
			continue;
		CHECK(p->user_data_a == q->user_data_a && p->user_data_b == q->user_data_b && p->age == q->age);
		CHECK_INT(p->found_count, q->found_count);
		if (!CHECK_INT(p->contact_count, q->contact_count))
			continue;
		for (int32_t k = 0; k < p->contact_count; k++)
			compare_contact(carom_world_contacts(t->whole).data + p->first_contact + k,
				carom_world_contacts(t->apart).data + q->first_contact + k);
		t->contacts += p->shape_a > 0 || p->shape_b > 0 ? p->contact_count : 0;
	}
}

static void count_events(const carom_world *world, int counts[3])
{
	const carom_event_view events = carom_world_events(world);
	for (int32_t i = 0; i < events.count; i++)
		counts[events.data[i].kind]++;
}

static void compare_events(const twins *t)
{
	int whole[3] = { 0 }, apart[3] = { 0 };
	count_events(t->whole, whole);
	count_events(t->apart, apart);
	for (int k = 0; k < 3; k++)
		CHECK_INT(whole[k], apart[k]);
}

// ---- Queries of the twins ----

static void compare_rays(twins *t)
{
	enum { MAX_HITS = 256 };
	static carom_ray_hit whole[MAX_HITS], apart[MAX_HITS];
	for (int i = 0; i < 8; i++) {
		const v3d from = fixture_random_pose(&t->seed, 3).position, to = fixture_random_pose(&t->seed, 1).position;
		const carom_ray ray = { from, v3d_sub(to, from), 0, 4 };
		int32_t count, expected;
		REQUIRE(carom_world_cast_ray_all(t->whole, &ray, NULL, MAX_HITS, whole, &count) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray_all(t->apart, &ray, NULL, MAX_HITS, apart, &expected) == CAROM_SUCCESS);
		CHECK_INT(count, expected);
		for (int32_t k = 0; k < count && k < expected && k < MAX_HITS; k++) {
			CHECK(whole[k].t == apart[k].t && whole[k].triangle == apart[k].triangle);
			CHECK(whole[k].body.index1 + (uint32_t)whole[k].shape == apart[k].body.index1);
			CHECK(carom_world_is_body(t->whole, whole[k].body));
		}
		bool found, also;
		carom_ray_hit first, other;
		REQUIRE(carom_world_cast_ray(t->whole, &ray, NULL, &found, &first) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray(t->apart, &ray, NULL, &also, &other) == CAROM_SUCCESS);
		CHECK(found == also);
		CHECK(!found || (first.t == other.t && first.body.index1 + (uint32_t)first.shape == other.body.index1));
	}
}

static void compare_points(twins *t)
{
	for (int i = 0; i < 8; i++) {
		const v3d point = fixture_random_pose(&t->seed, 2).position;
		bool found, also;
		carom_closest_point whole, apart;
		REQUIRE(carom_world_closest_point(t->whole, point, INFINITY, NULL, &found, &whole) == CAROM_SUCCESS);
		REQUIRE(carom_world_closest_point(t->apart, point, INFINITY, NULL, &also, &apart) == CAROM_SUCCESS);
		REQUIRE(found && also);
		CHECK(whole.distance == apart.distance && whole.body.index1 + (uint32_t)whole.shape == apart.body.index1);
	}
}

static void compare_overlaps(twins *t)
{
	enum { MAX_FOUND = MAX_BODIES * MAX_PARTS };
	carom_body_id whole[MAX_FOUND], apart[MAX_FOUND], owners[MAX_FOUND];
	const carom_vec3 lower = fixture_random_pose(&t->seed, 2).position;
	const carom_aabb box = { lower, v3d_add(lower, (v3d){ 1, 1, 1 }) };
	int32_t count, parts, expected = 0;
	REQUIRE(carom_world_overlap_aabb(t->whole, &box, NULL, MAX_FOUND, whole, &count) == CAROM_SUCCESS);
	REQUIRE(carom_world_overlap_aabb(t->apart, &box, NULL, MAX_FOUND, apart, &parts) == CAROM_SUCCESS);
	for (int32_t i = 0; i < parts; i++) {
		const carom_body_id owner = cr_id_of(t->whole->bodies.data, (int32_t)apart[i].index1 - 1);
		if (expected == 0 || owners[expected - 1].index1 != owner.index1)
			owners[expected++] = owner;
	}
	if (!CHECK_INT(count, expected))
		return;
	for (int32_t i = 0; i < count; i++)
		CHECK(fixture_same_id(whole[i], owners[i]));
}

static void compare_nearest_bodies(twins *t)
{
	const carom_shape *shape = &t->shapes.shape[test_random(&t->seed) % SHAPES];
	carom_pose pose = fixture_random_pose(&t->seed, 2);
	pose.position.z += test_random(&t->seed) % 2 ? 4 : 0; // else it overlaps something
	bool found, also;
	carom_closest_body whole, apart;
	REQUIRE(carom_world_closest_body(t->whole, shape, &pose, INFINITY, NULL, &found, &whole) == CAROM_SUCCESS);
	REQUIRE(carom_world_closest_body(t->apart, shape, &pose, INFINITY, NULL, &also, &apart) == CAROM_SUCCESS);
	REQUIRE(found && also);
	CHECK(whole.distance == apart.distance && whole.body.index1 + (uint32_t)whole.shape == apart.body.index1);
	CHECK(carom_world_is_body(t->whole, whole.body));
}

static void compare_shape_contacts(twins *t)
{
	enum { MAX_CONTACTS = 512 };
	static carom_contact whole[MAX_CONTACTS], apart[MAX_CONTACTS];
	const carom_shape *shape = &t->shapes.shape[test_random(&t->seed) % SHAPES];
	const carom_pose pose = fixture_random_pose(&t->seed, 1.5);
	int32_t count, expected;
	REQUIRE(carom_world_collide_shape(t->whole, shape, &pose, NULL, MAX_CONTACTS, whole, &count) == CAROM_SUCCESS);
	REQUIRE(carom_world_collide_shape(t->apart, shape, &pose, NULL, MAX_CONTACTS, apart, &expected) == CAROM_SUCCESS);
	if (!CHECK_INT(count, expected))
		return;
	for (int32_t i = 0; i < count && i < MAX_CONTACTS; i++) {
		CHECK_INT(whole[i].body_b.index1 + (uint32_t)whole[i].shape_b, apart[i].body_b.index1);
		CHECK(carom_world_is_body(t->whole, whole[i].body_b) && whole[i].shape_a == 0);
		whole[i].shape_b = 0;
		compare_contact(&whole[i], &apart[i]);
	}
	carom_closest_body near, twin;
	bool found, expected_found;
	REQUIRE(carom_world_closest_body(t->whole, shape, &pose, 2, NULL, &found, &near) == CAROM_SUCCESS);
	REQUIRE(carom_world_closest_body(t->apart, shape, &pose, 2, NULL, &expected_found, &twin) == CAROM_SUCCESS);
	CHECK_INT(found, expected_found);
	if (found && expected_found) {
		CHECK_INT(near.body.index1 + (uint32_t)near.shape, twin.body.index1);
		CHECK(carom_world_is_body(t->whole, near.body));
		CHECK_NEAR(near.distance, twin.distance, 1e-12);
	}
}

static void live_as_twins(const carom_world_def *def, int threads, int steps)
{
	carom_context *context = fixture_context(threads);
	twins t = { .seed = 0x70617274 + (uint64_t)def->broad_phase };
	open_shapes(&t.shapes, context);
	t.whole = fixture_world(context, def);
	t.apart = fixture_world(context, def);
	t.whole->pipeline.keeps_covered = true; // what parts leave out of each other's contacts is in test_seams.c
	add_ground(&t);
	for (int i = 0; i < 10; i++)
		add_random(&t);
	for (int step = 0; step < steps; step++) {
		fixture_step(t.whole);
		fixture_step(t.apart);
		fixture_check_views(t.whole);
		compare_pairs(&t);
		compare_events(&t);
		compare_rays(&t);
		compare_points(&t);
		compare_overlaps(&t);
		compare_shape_contacts(&t);
		compare_nearest_bodies(&t);
		for (int i = 1; i < t.count; i++) {
			if (step % 4 != 3)
				move_twin(&t, i); // else what was found in the last step alone must not tell
		}
		refilter_twin(&t, (int)(test_random(&t.seed) % (unsigned)t.count));
		if (step % 3 == 2)
			remove_twin(&t, 1 + (int)(test_random(&t.seed) % (unsigned)(t.count - 1)));
		while (step % 3 != 1 && t.count < (step < steps / 2 ? 14 : 8))
			add_random(&t);
	}
	CHECK(t.contacts > 10 * steps);
	carom_destroy_world(t.whole);
	carom_destroy_world(t.apart);
	close_shapes(&t.shapes);
	carom_destroy_context(context);
}

TEST(parts, equal_bodies_of_their_own_by_tree)
{
	const carom_world_def def = carom_default_world_def();
	live_as_twins(&def, 1, 30);
}

TEST(parts, equal_bodies_of_their_own_on_four_threads)
{
	pool_require_threads();
	const carom_world_def def = carom_default_world_def();
	live_as_twins(&def, 4, 30);
}

TEST(parts, equal_bodies_of_their_own_by_sweep)
{
	carom_world_def def = carom_default_world_def();
	def.broad_phase = CAROM_BROAD_SWEEP;
	def.temporal = CAROM_TEMPORAL_NONE;
	live_as_twins(&def, 1, 12);
}

TEST(parts, equal_bodies_of_their_own_ahead_by_brute_force)
{
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->brute_broad_phase = true;
	def.speculative_distance = 0.05;
	live_as_twins(&def, 1, 12);
}

// ---- Poses ----

/// A dumbbell: two spheres and the capsule between them.
static const carom_part DUMBBELL[3] = {
	{ { .type = CAROM_SPHERE, .radius = 0.5 }, { { 0, 0, -1 }, { 0, 0, 0, 1 } }, 0 },
	{ { .type = CAROM_SPHERE, .radius = 0.5 }, { { 0, 0, 1 }, { 0, 0, 0, 1 } }, 0 },
	{ { .type = CAROM_CAPSULE, .radius = 0.1, .half_length = 1 }, { { 0, 0, 0 }, { 0, 0, 0, 1 } }, 0 },
};

TEST(parts, lie_where_the_poses_take_them)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	uint64_t seed = 5;
	carom_part parts[4];
	for (int i = 0; i < 4; i++)
		parts[i] = (carom_part){ fixture_box(0.1 + i, 0.2, 0.3), fixture_random_pose(&seed, 5), 0 };
	carom_body_id id = add_parts(world, parts, 4, fixture_random_pose(&seed, 5), CAROM_DYNAMIC);
	for (int round = 0; round < 20; round++) {
		const carom_pose pose = fixture_random_pose(&seed, 5);
		carom_pose back;
		if (round % 2)
			set_pose(world, id, pose);
		else
			REQUIRE(carom_world_set_poses(world, 1, &id, &pose) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_pose(world, id, &back) == CAROM_SUCCESS);
		CHECK_NEAR(v3d_length(v3d_sub(back.position, pose.position)), 0, 0);
		carom_aabb all = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } }, box;
		for (int i = 0; i < 4; i++) {
			const carom_pose at = fixture_compose(pose, parts[i].pose);
			for (int corner = 0; corner < 8; corner++) {
				const double *h = parts[i].shape.half_extents;
				const v3d local = { corner & 1 ? h[0] : -h[0], corner & 2 ? h[1] : -h[1], corner & 4 ? h[2] : -h[2] };
				const v3d p = carom_transform_point(at, local);
				all.lower = (v3d){ fmin(all.lower.x, p.x), fmin(all.lower.y, p.y), fmin(all.lower.z, p.z) };
				all.upper = (v3d){ fmax(all.upper.x, p.x), fmax(all.upper.y, p.y), fmax(all.upper.z, p.z) };
			}
		}
		REQUIRE(carom_world_get_aabb(world, id, &box) == CAROM_SUCCESS);
		CHECK_NEAR(v3d_length(v3d_sub(box.lower, all.lower)), 0, 1e-12);
		CHECK_NEAR(v3d_length(v3d_sub(box.upper, all.upper)), 0, 1e-12);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// The hash after some steps of bodies that are given as one shape, or as one part at the body's pose.
static uint64_t hash_of_one(bool as_part)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	shape_box shapes;
	open_shapes(&shapes, context);
	uint64_t seed = 9, hash = 0;
	carom_body_id ids[SHAPES];
	for (int step = 0; step < 6; step++) {
		for (int i = 0; i < SHAPES; i++) {
			const carom_part part = { shapes.shape[i], carom_pose_identity(), 0 };
			const carom_pose pose = fixture_random_pose(&seed, 0.7);
			if (step > 0)
				set_pose(world, ids[i], pose);
			else
				ids[i] = as_part ? add_parts(world, &part, 1, pose, CAROM_DYNAMIC)
								 : fixture_add(world, part.shape, pose, CAROM_DYNAMIC);
		}
		fixture_step(world);
		hash = hash * 31 + carom_world_hash(world);
	}
	close_shapes(&shapes);
	carom_destroy_world(world);
	carom_destroy_context(context);
	return hash;
}

TEST(parts, one_at_the_pose_of_its_body_changes_no_bit) { CHECK(hash_of_one(true) == hash_of_one(false)); }

TEST(parts, of_one_body_never_collide)
{
	carom_context *context = fixture_context(1);
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, broad);
		carom_world *world = fixture_world(context, &def);
		add_parts(world, DUMBBELL, 3, carom_pose_identity(), CAROM_DYNAMIC);
		fixture_step(world);
		CHECK_INT(carom_world_pairs(world).count, 0);
		CHECK_INT(carom_world_stats(world).box_pairs, 0);
		CHECK_INT(carom_world_body_count(world), 1);
		// Another like it does, part for part, and a positive group does not make one collide with itself.
		const carom_body_id second = add_parts(world, DUMBBELL, 3, fixture_at(0.1, 0, 0), CAROM_DYNAMIC);
		REQUIRE(carom_world_set_filter(world, second, 1, UINT64_MAX, 7) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK(carom_world_pairs(world).count < 7); // the capsules meet within the spheres
		world->pipeline.keeps_covered = true;
		fixture_step(world);
		CHECK_INT(carom_world_pairs(world).count, 7); // and each sphere with the capsule, both ways, and the capsules
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

// ---- What worlds tell of bodies with parts ----

TEST(parts, definitions_come_back)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_part parts[3];
	memcpy(parts, DUMBBELL, sizeof parts);
	const carom_body_id id = add_parts(world, parts, 3, fixture_at(1, 2, 3), CAROM_KINEMATIC);
	memset(parts, 0, sizeof parts); // they were copied
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(world, id, &def) == CAROM_SUCCESS);
	CHECK_INT(def.part_count, 3);
	CHECK_INT(def.kind, CAROM_KINEMATIC);
	CHECK(def.pose.position.x == 1 && def.pose.position.z == 3);
	CHECK(def.parts[1].shape.radius == 0.5 && def.parts[1].pose.position.z == 1);
	carom_body_id again; // it can be used as it is
	REQUIRE(carom_world_add_body(world, &def, &again) == CAROM_SUCCESS);
	CHECK_INT(carom_world_body_count(world), 2);
	carom_body_id ids[4];
	CHECK_INT(carom_world_body_ids(world, 4, ids), 2);
	CHECK(fixture_same_id(ids[0], id) && fixture_same_id(ids[1], again));
	CHECK_INT(again.index1, 4);
	for (uint32_t part = 1; part < 3; part++) { // parts have no ids
		const carom_body_id no_body = { id.index1 + part, 1 };
		CHECK(!carom_world_is_body(world, no_body));
		CHECK_INT(carom_world_remove_body(world, no_body), CAROM_INVALID_BODY);
	}
	const carom_body_id plain = fixture_add(world, fixture_sphere(1), carom_pose_identity(), CAROM_DYNAMIC);
	REQUIRE(carom_world_get_body_def(world, plain, &def) == CAROM_SUCCESS);
	CHECK(def.part_count == 0 && !def.parts && def.shape.radius == 1);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Numbers stay together and are used again: a world that comes and goes does not grow.
TEST(parts, numbers_are_used_again)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_part parts[7];
	for (int i = 0; i < 7; i++)
		parts[i] = (carom_part){ fixture_sphere(0.1), fixture_at(i, 0, 0), 0 };
	carom_body_id ids[30], old = { 0 };
	uint64_t seed = 3;
	for (int i = 0; i < 30; i++)
		ids[i] = add_parts(world, parts, 1 + (int32_t)(test_random(&seed) % 7), carom_pose_identity(), CAROM_DYNAMIC);
	for (int round = 0; round < 3000; round++) {
		const int i = (int)(test_random(&seed) % 30);
		remove_body(world, ids[i]);
		CHECK(!carom_world_is_body(world, ids[i]));
		old = ids[i];
		const int32_t count = 1 + (int32_t)(test_random(&seed) % 7);
		ids[i] = add_parts(world, parts, count, carom_pose_identity(), CAROM_DYNAMIC);
		CHECK(!fixture_same_id(ids[i], old));
		const cr_body *body = &world->bodies.data[ids[i].index1 - 1];
		for (int32_t k = 0; k < count; k++)
			CHECK(body[k].alive && body[k].part == k);
	}
	CHECK(world->bodies.count <= 2 * 30 * 7);
	int32_t alive = 0;
	for (int64_t i = 0; i < world->bodies.count; i++)
		alive += world->bodies.data[i].alive;
	CHECK_INT(alive, world->shape_count);
	int64_t free_count = world->free_bodies.count;
	for (int64_t i = 0; i < world->free_ranges.count; i++) {
		const cr_range *range = &world->free_ranges.data[i];
		free_count += range->count;
		CHECK(i == 0 || range[-1].first + range[-1].count < range->first);
	}
	CHECK_INT(free_count, world->bodies.count - alive);
	CHECK_INT(carom_world_body_count(world), 30);
	for (int i = 0; i < 30; i++)
		remove_body(world, ids[i]);
	CHECK_INT(world->shape_count, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

static bool only_first_with_ground(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_b;
	int *calls = user;
	++*calls;
	return a.index1 == 1 && b.index1 == 2 && user_data_a == 11;
}

TEST(parts, filters_and_user_data_are_the_bodys)
{
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	int calls = 0;
	def.pair_filter = only_first_with_ground;
	def.filter_user = &calls;
	carom_world *world = fixture_world(context, &def);
	const carom_body_id ground = fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, carom_pose_identity(), CAROM_STATIC);
	REQUIRE(carom_world_set_user_data(world, ground, 11) == CAROM_SUCCESS);
	const carom_pose lying = { { 0, 0, 0.45 }, fixture_turn((v3d){ 0, 1, 0 }, FIXTURE_PI / 2) };
	const carom_body_id first = add_parts(world, DUMBBELL, 3, lying, CAROM_DYNAMIC);
	carom_pose other = lying;
	other.position.x = 5;
	add_parts(world, DUMBBELL, 3, other, CAROM_DYNAMIC);
	REQUIRE(carom_world_set_user_data(world, first, 22) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(calls >= 4);
	CHECK_INT(carom_world_pairs(world).count, 2);
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *p = pairs.data + i;
		CHECK(fixture_same_id(p->body_b, first) && p->user_data_a == 11 && p->user_data_b == 22);
		CHECK_INT(p->shape_b, i);
	}
	REQUIRE(carom_world_set_filter(world, first, 1, 0, 0) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 0);
	CHECK_INT(carom_world_events(world).count, 2);
	CHECK(carom_world_events(world).data[1].kind == CAROM_EVENT_END && carom_world_events(world).data[1].shape_b == 1);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(parts, queries_leave_out_whole_bodies)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id id = add_parts(world, DUMBBELL, 3, carom_pose_identity(), CAROM_DYNAMIC);
	const carom_ray ray = { { 5, 0, 1 }, { -1, 0, 0 }, 0, 100 };
	carom_query_filter filter = carom_default_query_filter();
	bool found;
	carom_ray_hit hit;
	REQUIRE(carom_world_cast_ray(world, &ray, &filter, &found, &hit) == CAROM_SUCCESS);
	CHECK(found && fixture_same_id(hit.body, id) && hit.shape == 1);
	CHECK_NEAR(hit.t, 4.5, 1e-12);
	filter.ignore = id;
	REQUIRE(carom_world_cast_ray(world, &ray, &filter, &found, &hit) == CAROM_SUCCESS);
	CHECK(!found);
	carom_closest_point near;
	REQUIRE(carom_world_closest_point(world, (v3d){ 0.3, 0, 0 }, 1, NULL, &found, &near) == CAROM_SUCCESS);
	CHECK(found && near.shape == 2 && fixture_same_id(near.body, id));
	CHECK_NEAR(near.distance, 0.2, 1e-12);
	carom_body_id bodies[4];
	int32_t count;
	const carom_shape ball = fixture_sphere(3);
	const carom_pose origin = carom_pose_identity();
	REQUIRE(carom_world_overlap_shape(world, &ball, &origin, NULL, 4, bodies, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 1); // though it meets three parts
	CHECK(fixture_same_id(bodies[0], id));
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Misuse, memory ----

static void refuse(carom_world *world, const carom_body_def *def, carom_result expected, const char *text)
{
	const int before = carom_world_body_count(world);
	carom_body_id id = { 5, 5 };
	CHECK_INT(carom_world_add_body(world, def, &id), expected);
	CHECK(id.index1 == 0 && id.generation == 0);
	if (!CHECK(strstr(carom_error_text(world->context), text) != NULL))
		CHECK_STR(carom_error_text(world->context), text);
	CHECK_INT(carom_world_body_count(world), before);
}

TEST(parts, misuse)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *mesh = fixture_box_mesh(context, 1, 1, 1);
	carom_part parts[3];
	memcpy(parts, DUMBBELL, sizeof parts);
	carom_body_def good = carom_default_body_def(), def;
	good.parts = parts;
	good.part_count = 3;
#define REFUSE(field, value, text) \
	def = good;                    \
	def.field = value;             \
	refuse(world, &def, CAROM_INVALID_ARGUMENT, text)
	REFUSE(part_count, -1, "carom_world_add_body: part_count is -1");
	REFUSE(parts, NULL, "carom_world_add_body: part_count is 3, but parts is NULL");
	REFUSE(part_count, 0, "carom_world_add_body: part_count is 0, but parts is set");
	REFUSE(shape, fixture_sphere(1), "carom_world_add_body: shape is set, and parts too");
	REFUSE(shape.rounding, 1, "shape is set, and parts too");
	REFUSE(kind, CAROM_CLOTH, "kind is CAROM_CLOTH, but the body has parts: only rigid bodies may have them");
	REFUSE(kind, CAROM_DEFORMABLE, "kind is CAROM_DEFORMABLE, but the body has parts");
#undef REFUSE
	parts[2].shape.radius = -1;
	refuse(world, &good, CAROM_INVALID_ARGUMENT, "carom_world_add_body: parts[2]: shape.radius is -1");
	parts[2].shape = (carom_shape){ .type = CAROM_PLANE };
	refuse(world, &good, CAROM_INVALID_ARGUMENT, "carom_world_add_body: parts[2]: kind is CAROM_DYNAMIC, but a plane");
	parts[2].shape = (carom_shape){ .type = CAROM_MESH };
	refuse(world, &good, CAROM_INVALID_ARGUMENT, "carom_world_add_body: parts[2]: shape.mesh is NULL");
	parts[2] = DUMBBELL[2];
	parts[1].pose.orientation.w = 2;
	refuse(world, &good, CAROM_INVALID_ARGUMENT, "carom_world_add_body: parts[1]: pose.orientation has length 2");
	parts[1].pose = fixture_at(0, 2e12, 0);
	refuse(world, &good, CAROM_INVALID_ARGUMENT, "parts[1]: pose.position is (0, 2e+12, 0); it must lie within 1e+12 of");
	parts[1].pose = fixture_at(0, 0, NAN);
	refuse(world, &good, CAROM_INVALID_ARGUMENT, "parts[1]: pose.position");
	CHECK_INT(world->bodies.count, 0);
	carom_release_mesh(mesh);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

enum { MANY = 24 };

/// Parts that each have a mesh of their own.
static void many_parts(carom_part parts[MANY], carom_mesh *const meshes[MANY])
{
	for (int i = 0; i < MANY; i++)
		parts[i] = (carom_part){ fixture_of_mesh(meshes[i]), fixture_at(3 * i, 0, 0), 0 };
}

TEST(parts, failing_allocations_lose_nothing)
{
	static carom_part parts[MANY];
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *meshes[MANY];
	for (int i = 0; i < MANY; i++)
		meshes[i] = fixture_box_mesh(context, 1, 1, 1);
	many_parts(parts, meshes);
	const carom_world_def world_def = fixture_plugin_world_def();
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = MANY;
	int failed = 0;
	carom_result result = CAROM_OUT_OF_MEMORY;
	for (int fail = 0; result != CAROM_SUCCESS; fail++) {
		carom_world *world = fixture_world(context, &world_def);
		const carom_body_id first = fixture_add(world, fixture_sphere(1), carom_pose_identity(), CAROM_DYNAMIC);
		carom_body_id id;
		heap.fail_at = heap.calls + fail;
		result = carom_world_add_body(world, &def, &id);
		heap.fail_at = -1;
		CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
		CHECK_INT(carom_world_body_count(world), result == CAROM_SUCCESS ? 2 : 1);
		CHECK_INT(world->shape_count, result == CAROM_SUCCESS ? MANY + 1 : 1);
		if (result != CAROM_SUCCESS) {
			failed++;
			for (int i = 0; i < MANY; i++)
				CHECK_INT(atomic_load(&meshes[i]->references), 1);
			CHECK(carom_world_is_body(world, first));
			if (fail % 16 == 0) { // all is as it was: the next try gets the number that this one would have got
				REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
				CHECK_INT(id.index1, 2);
				fixture_step(world);
			}
		}
		carom_destroy_world(world);
	}
	CHECK(failed > MANY); // the plugin takes one for each part
	for (int i = 0; i < MANY; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(parts, a_budget_refuses_whole_bodies)
{
	static carom_part parts[2000];
	for (int i = 0; i < 2000; i++)
		parts[i] = (carom_part){ fixture_sphere(0.1), fixture_at(i, 0, 0), 0 };
	carom_context *context = fixture_context(1);
	carom_world_def world_def = carom_default_world_def();
	world_def.memory_budget = 400000;
	carom_world *world = fixture_world(context, &world_def);
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 2000;
	refuse(world, &def, CAROM_OVER_BUDGET, "carom_world_add_body");
	CHECK_INT(world->shape_count, 0);
	def.part_count = 200;
	carom_body_id id;
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_SUCCESS);
	fixture_step(world);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- What engineers build ----

TEST(parts, a_table_and_a_dumbbell_stand_on_a_floor)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id floor = fixture_add(world, fixture_box(10, 10, 0.5), fixture_at(0, 0, -0.5), CAROM_STATIC);
	carom_part table[5] = { { fixture_box(1, 0.6, 0.05), fixture_at(0, 0, 0.75), 0 } };
	for (int i = 0; i < 4; i++)
		table[1 + i] =
			(carom_part){ fixture_box(0.05, 0.05, 0.35), fixture_at(i & 1 ? 0.9 : -0.9, i & 2 ? 0.5 : -0.5, 0.35), 0 };
	const carom_body_id stands = add_parts(world, table, 5, fixture_at(0, 0, -0.001), CAROM_DYNAMIC);
	const carom_pose lying = { { 4, 0, 0.499 }, fixture_turn((v3d){ 0, 1, 0 }, FIXTURE_PI / 2) };
	add_parts(world, DUMBBELL, 3, lying, CAROM_DYNAMIC);
	fixture_step(world);
	fixture_check_views(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	REQUIRE(pairs.count == 6); // four legs, two spheres
	int of_legs = 0;
	for (int32_t i = 0; i < pairs.count; i++) {
		CHECK(fixture_same_id(pairs.data[i].body_a, floor));
		CHECK_INT(pairs.data[i].shape_b, i < 4 ? i + 1 : i - 4);
		of_legs += fixture_same_id(pairs.data[i].body_b, stands) ? pairs.data[i].contact_count : 0;
	}
	CHECK_INT(of_legs, 16); // four corners each
	const carom_contact_view contacts = carom_world_contacts(world);
	CHECK_INT(contacts.count, 18);
	for (int32_t i = 0; i < contacts.count; i++) {
		CHECK_NEAR(contacts.data[i].depth, 0.001, 1e-6);
		CHECK_NEAR(contacts.data[i].normal[2], -1, 1e-6);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A cloth falls on a body of two meshes: impacts name the part.
TEST(parts, impacts_name_the_part)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *cube = fixture_box_mesh(context, 0.2, 0.2, 0.2), *sheet = fixture_sheet_mesh(context, 4, 0.6);
	const carom_part parts[2] = { { fixture_of_mesh(cube), fixture_at(-5, 0, 0), 0 },
		{ fixture_of_mesh(cube), fixture_at(5, 0, 0), 0 } };
	const carom_body_id body = add_parts(world, parts, 2, carom_pose_identity(), CAROM_STATIC);
	const carom_body_id cloth = fixture_add(world, fixture_of_mesh(sheet), fixture_at(5, 0, 0.5), CAROM_CLOTH);
	double end[75];
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, cloth, &view) == CAROM_SUCCESS);
	REQUIRE(view.count == 25);
	for (int i = 0; i < 75; i++)
		end[i] = view.data[i] - (i % 3 == 2 ? 1 : 0);
	const carom_strided places = { end, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(world, cloth, NULL, &places) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_impact_view impacts = carom_world_impacts(world);
	CHECK(impacts.count > 0);
	for (int64_t i = 0; i < impacts.count; i++) {
		const carom_impact *m = &impacts.data[i];
		if (fixture_same_id(m->body_a, m->body_b))
			continue;
		const bool body_is_a = fixture_same_id(m->body_a, body);
		CHECK(body_is_a || fixture_same_id(m->body_b, body));
		CHECK_INT(body_is_a ? m->shape_a : m->shape_b, 1);
		CHECK_INT(body_is_a ? m->shape_b : m->shape_a, 0);
	}
	carom_release_mesh(cube);
	carom_release_mesh(sheet);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Recordings and snapshots ----

/// Remove the first body of one part, or of more, behind the ground.
static void remove_first(twins *t, bool of_one)
{
	for (int i = 1; i < t->count; i++) {
		if ((cr_part_count(&t->whole->bodies.data[t->ids[i].index1 - 1]) == 1) == of_one) {
			remove_twin(t, i);
			return;
		}
	}
	CHECK(!"a body of that kind");
}

/// A world in the middle of its life: bodies with and without parts, free numbers of both kinds, and one body that has moved.
static void begin_life(twins *t, carom_context *context, const carom_world_def *def)
{
	*t = (twins){ .seed = 0x6c696665 };
	open_shapes(&t->shapes, context);
	t->whole = fixture_world(context, def);
	add_ground(t);
	for (int i = 0; i < 12; i++)
		add_random(t);
	for (int i = 0; i < 4; i++)
		remove_first(t, i % 2 == 0);
	fixture_step(t->whole);
	for (int i = 1; i < t->count; i += 2)
		move_twin(t, i);
}

static void live_on(twins *t, int steps, uint64_t *hashes)
{
	for (int step = 0; step < steps; step++) {
		fixture_step(t->whole);
		hashes[step] = carom_world_hash(t->whole);
		for (int i = 1; i < t->count; i++)
			move_twin(t, i);
		if (step % 2)
			remove_twin(t, 1 + (int)(test_random(&t->seed) % (unsigned)(t->count - 1)));
		else
			add_random(t);
	}
}

static fixture_tape record_life(carom_context *context, int steps, uint64_t *hashes, const carom_world_def *def)
{
	twins t;
	fixture_tape tape = { 0 };
	begin_life(&t, context, def);
	CHECK(t.whole->free_ranges.count > 0 && t.whole->free_bodies.count > 0);
	REQUIRE(carom_world_record(t.whole, fixture_write_tape, &tape) == CAROM_SUCCESS);
	live_on(&t, steps, hashes);
	REQUIRE(carom_world_record(t.whole, NULL, NULL) == CAROM_SUCCESS);
	carom_destroy_world(t.whole);
	close_shapes(&t.shapes);
	return tape;
}

static bool few_pairs(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b, (void)user;
	return (a.index1 + b.index1) % 3 != 0;
}

TEST(parts, recordings_replay_to_the_same_hashes)
{
	enum { STEPS = 12 };
	carom_context *context = fixture_context(1);
	for (int filtered = 0; filtered < 2; filtered++) {
		carom_world_def def = carom_default_world_def();
		def.pair_filter = filtered ? few_pairs : NULL;
		uint64_t hashes[STEPS];
		fixture_tape tape = record_life(context, STEPS, hashes, &def);
		carom_replay_result result;
		if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
			CHECK_STR(carom_error_text(context), "");
		CHECK_INT(result.steps, STEPS);
		CHECK(result.hash == hashes[STEPS - 1]);
		free(tape.bytes);
	}
	carom_destroy_context(context);
}

/// The payload of the state of a recording; *size of it.
static uint8_t *find_state(const fixture_tape *t, size_t *size)
{
	size_t at = 12;
	while (cr_load_le(t->bytes + at, 4) != CR_RECORD_STATE)
		at += CR_RECORD_HEAD_SIZE + (size_t)cr_load_le(t->bytes + at + 4, 8) + CR_RECORD_CHECK_SIZE;
	*size = (size_t)cr_load_le(t->bytes + at + 4, 8);
	return t->bytes + at + CR_RECORD_HEAD_SIZE;
}

/// Every byte of the state another: it is refused, or tells of another world, but never more than that.
TEST(parts, forged_states_never_crash)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	uint64_t hashes[1];
	const carom_world_def def = carom_default_world_def();
	fixture_tape tape = record_life(context, 1, hashes, &def);
	const long long blocks = heap.blocks;
	size_t size;
	uint8_t *state = find_state(&tape, &size);
	int refused = 0;
	for (size_t i = 0; i < size; i += TEST_STRIDE * (i < size - 120 ? 13 : 1)) { // all of the lists at the end
		const uint8_t good = state[i];
		state[i] ^= (uint8_t)(i % 3 ? 1 : 0x82);
		fixture_repair_tape(&tape);
		tape.at = 0;
		carom_replay_result result;
		const carom_result outcome = carom_replay_recording(context, fixture_read_tape, &tape, &result);
		CHECK(outcome == CAROM_SUCCESS || outcome == CAROM_INVALID_RECORDING);
		refused += outcome != CAROM_SUCCESS;
		CHECK_INT(heap.blocks, blocks);
		state[i] = good;
	}
	CHECK(refused > (int)(size / 26) / TEST_STRIDE);
	free(tape.bytes);
	carom_destroy_context(context);
}

TEST(parts, snapshots_bring_back_bodies_numbers_and_poses)
{
	enum { STEPS = 8 };
	carom_context *context = fixture_context(1);
	const carom_world_def def = carom_default_world_def();
	twins t;
	begin_life(&t, context, &def);
	carom_snapshot *snapshot, *other;
	REQUIRE(carom_create_snapshot(t.whole, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_create_snapshot(t.whole, &other) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(t.whole, snapshot) == CAROM_SUCCESS);
	const twins saved = t;
	uint64_t first[STEPS], again[STEPS];
	live_on(&t, STEPS, first);
	const carom_body_id last = t.ids[t.count - 1];
	const carom_part pair[2] = { { fixture_sphere(1), fixture_at(9, 9, 9), 0 }, { fixture_sphere(1), fixture_at(9, 9, 8), 0 } };
	for (int i = 0; i < 40; i++) // more numbers than were saved
		add_parts(t.whole, pair, 2, carom_pose_identity(), CAROM_DYNAMIC);
	for (int round = 0; round < 2; round++) {
		REQUIRE(carom_world_restore(t.whole, snapshot) == CAROM_SUCCESS);
		REQUIRE(carom_world_save(t.whole, other) == CAROM_SUCCESS);
		CHECK(!carom_snapshots_differ(snapshot, other, NULL) && carom_snapshot_hash(snapshot) == carom_snapshot_hash(other));
		t = saved;
		CHECK_INT(carom_world_body_count(t.whole), t.count);
		for (int i = 0; i < t.count; i++) {
			carom_pose pose;
			REQUIRE(carom_world_get_pose(t.whole, t.ids[i], &pose) == CAROM_SUCCESS);
			CHECK_NEAR(v3d_length(v3d_sub(pose.position, t.poses[i].position)), 0, 0);
		}
		live_on(&t, STEPS, again);
		CHECK(memcmp(first, again, sizeof first) == 0);
		CHECK(fixture_same_id(t.ids[t.count - 1], last));
	}
	carom_destroy_snapshot(other);
	carom_destroy_world(t.whole); // empties the snapshot
	carom_destroy_snapshot(snapshot);
	close_shapes(&t.shapes);
	carom_destroy_context(context);
}

TEST(parts, other_parts_of_a_new_body_do_not_move_it)
{
	uint64_t seed = 7;
	for (int round = 0; round < 50; round++) {
		carom_context *context = fixture_context(1);
		carom_world *world = fixture_world(context, NULL);
		carom_part parts[2] = { { fixture_box(0.5, 0.5, 0.5), fixture_random_pose(&seed, 0.3), 0 },
			{ fixture_sphere(0.2), fixture_random_pose(&seed, 0.3), 0 } };
		const carom_body_id id = add_parts(world, parts, 2, fixture_random_pose(&seed, 1), CAROM_KINEMATIC);
		carom_body_def def = carom_default_body_def();
		def.kind = CAROM_DYNAMIC;
		def.shape = fixture_box(0.4, 0.4, 0.4);
		def.continuous = true;
		carom_body_id other;
		REQUIRE(carom_world_add_body(world, &def, &other) == CAROM_SUCCESS);
		parts[0].pose = fixture_random_pose(&seed, 0.3);
		REQUIRE(carom_world_set_parts(world, id, parts, 2) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK_INT(carom_world_body_impacts(world).count, 0);
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
}
