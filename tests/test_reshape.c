/// Bodies that get another shape, or other traits, while they live: the next step finds what a world finds that began so.
#include "fixture.h"
#include "pool_fixture.h"
#include "world/recording_format.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 9, BODIES = 14, MAX_PARTS = 4 };

/// A body as the test knows it.
typedef struct model {
	carom_body_id id;
	carom_body_kind kind;
	bool sensor, apart; // apart: it has no contacts
	carom_pose pose;
	int32_t part_count; // 0: it has one shape
	int32_t part_room;  // 0: it cannot get more parts
	carom_shape shape;
	carom_part parts[MAX_PARTS];
	bool changed[MAX_PARTS]; // by a call since the last step: its shape, its pose in the body, its traits
} model;

typedef struct scene {
	carom_context *context;
	carom_mesh *torus, *cube, *hull, *sheet;
	carom_shape shapes[SHAPES];
	carom_world *world;
	model bodies[BODIES];
	uint64_t seed;
} scene;

static void open_shapes(scene *s, carom_context *context)
{
	static const float corners[15] = { -0.5F, -0.4F, -0.3F, 0.5F, -0.4F, -0.3F, 0.5F, 0.4F, -0.3F, -0.5F, 0.4F, -0.3F, 0, 0,
		0.6F };
	s->context = context;
	s->torus = fixture_torus_mesh(context, 14, 7, 0.3, 0.1);
	s->cube = fixture_box_mesh(context, 0.5, 0.4, 0.3);
	s->hull = fixture_hull_mesh(context, corners, 5);
	s->sheet = fixture_sheet_mesh(context, 4, 2);
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.5), fixture_box(0.4, 0.5, 0.6), fixture_capsule(0.3, 0.4),
		fixture_of_mesh(s->torus), fixture_of_mesh(s->cube), fixture_of_mesh(s->sheet), fixture_hull(s->hull),
		fixture_cylinder(0.4, 0.5), fixture_sphere(1) };
	memcpy(s->shapes, shapes, sizeof shapes);
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->torus);
	carom_release_mesh(s->cube);
	carom_release_mesh(s->hull);
	carom_release_mesh(s->sheet);
}

static carom_shape random_shape(scene *s) { return s->shapes[test_random(&s->seed) % SHAPES]; }

/// Leave the parts that there are, up to a count, and make the others.
static void make_parts_from(scene *s, model *m, int32_t count)
{
	for (int32_t i = m->part_count; i < count; i++) {
		const carom_shape shape = random_shape(s);
		m->parts[i] = (carom_part){ shape, fixture_random_pose(&s->seed, 0.6), 0 };
		m->changed[i] = true;
	}
	m->part_count = count;
}

static void make_parts(scene *s, model *m, int32_t count)
{
	m->part_count = 0;
	make_parts_from(s, m, count);
}

static carom_body_id add_model(carom_world *world, const model *m)
{
	carom_body_def def = carom_default_body_def();
	def.kind = m->kind;
	def.sensor = m->sensor;
	def.contacts = !m->apart;
	def.pose = m->pose;
	if (m->part_count > 0)
		def.parts = m->parts;
	else
		def.shape = m->shape;
	def.part_count = m->part_count;
	def.part_room = m->part_room;
	def.user_data = 77;
	carom_body_id id = { 0, 0 };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static void open_scene(scene *s, carom_context *context, const carom_world_def *def, uint64_t seed)
{
	*s = (scene){ .seed = seed };
	open_shapes(s, context);
	s->world = fixture_world(context, def);
	for (int i = 0; i < BODIES; i++) {
		model *m = &s->bodies[i];
		m->kind = i % 5 == 0 ? CAROM_STATIC : i % 5 == 1 ? CAROM_KINEMATIC : CAROM_DYNAMIC;
		m->pose = fixture_random_pose(&s->seed, 1.6);
		m->shape = random_shape(s);
		if (i % 3 == 2)
			make_parts(s, m, i % 2 ? MAX_PARTS : 2);
		m->part_room = i % 3 == 2 && i % 2 == 0 ? MAX_PARTS : 0;
		m->id = add_model(s->world, m);
	}
}

static void move_all(scene *s)
{
	for (int i = 0; i < BODIES; i++) {
		model *m = &s->bodies[i];
		if (m->kind == CAROM_STATIC)
			continue;
		const v3d push = { test_random_double(&s->seed, -0.05, 0.05), test_random_double(&s->seed, -0.05, 0.05),
			test_random_double(&s->seed, -0.05, 0.05) };
		m->pose.position = v3d_add(m->pose.position, push);
		REQUIRE(carom_world_set_pose(s->world, m->id, &m->pose) == CAROM_SUCCESS);
	}
}

/// Give one body another shape, or other parts of which some stay.
static void reshape(scene *s, int which)
{
	model *m = &s->bodies[which];
	if (m->part_count == 0) {
		m->shape = random_shape(s);
		m->changed[0] = true;
		REQUIRE(carom_world_set_shape(s->world, m->id, &m->shape) == CAROM_SUCCESS);
		return;
	}
	const int32_t before = m->part_count;
	m->part_count -= m->part_count > 1 && test_random(&s->seed) % 4 == 0;
	if (m->part_room > 0)
		make_parts_from(s, m, 1 + (int32_t)(test_random(&s->seed) % MAX_PARTS));
	for (int32_t i = 0; i < m->part_count && i < before; i++) {
		const uint64_t change = test_random(&s->seed) % 4;
		if (change & 1)
			m->parts[i].shape = random_shape(s);
		if (change & 2)
			m->parts[i].pose = fixture_random_pose(&s->seed, 0.6);
		m->changed[i] = m->changed[i] || (change & 3) != 0;
	}
	REQUIRE(carom_world_set_parts(s->world, m->id, m->parts, m->part_count) == CAROM_SUCCESS);
}

/// Give one body other traits.
static void set_traits(scene *s, int which)
{
	model *m = &s->bodies[which];
	const uint64_t change = test_random(&s->seed);
	m->kind = (carom_body_kind)(change % 3);
	m->sensor = change / 3 % 5 == 0;
	m->apart = change / 15 % 5 == 0;
	memset(m->changed, true, sizeof m->changed);
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(s->world, m->id, &def) == CAROM_SUCCESS);
	def.kind = m->kind;
	def.sensor = m->sensor;
	def.contacts = !m->apart;
	def.pose.position.x = NAN; // of no account
	REQUIRE(carom_world_set_traits(s->world, m->id, &def) == CAROM_SUCCESS);
}

/// The number of the test's body that an id names, in order of the ids in their world.
static int body_of(const carom_body_id *ids, carom_body_id id)
{
	for (int i = 0; i < BODIES; i++) {
		if (fixture_same_id(ids[i], id))
			return i;
	}
	CHECK(!"a body of the world");
	return 0;
}

/// Are contacts equal in all that a single step decides?
static bool is_same_contact(const carom_contact *a, const carom_contact *b)
{
	return memcmp(a->point, b->point, sizeof a->point) == 0 && memcmp(a->normal, b->normal, sizeof a->normal) == 0 &&
		a->depth == b->depth && a->feature_a == b->feature_a && a->feature_b == b->feature_b && a->kind == b->kind &&
		a->shape_a == b->shape_a && a->shape_b == b->shape_b;
}

/// Compare the last step with that of a fresh world: all pairs, and the contacts of those that changed, or of all.
static int compare_with_fresh(const scene *s, const carom_world_def *def, bool all)
{
	carom_body_id fresh_ids[BODIES], ids[BODIES];
	carom_world *fresh = fixture_world(s->context, def);
	for (int i = 0; i < BODIES; i++) {
		fresh_ids[i] = add_model(fresh, &s->bodies[i]);
		ids[i] = s->bodies[i].id;
	}
	fixture_step(fresh);
	fixture_check_views(s->world);
	const carom_pair_view then = carom_world_pairs(fresh), now = carom_world_pairs(s->world);
	const carom_contact *expected = carom_world_contacts(fresh).data, *found = carom_world_contacts(s->world).data;
	int contacts = 0;
	if (CHECK_INT(now.count, then.count)) {
		for (int32_t i = 0; i < now.count; i++) {
			const carom_pair *a = &now.data[i], *b = &then.data[i];
			const int first = body_of(ids, a->body_a), second = body_of(ids, a->body_b);
			CHECK_INT(first, body_of(fresh_ids, b->body_a));
			CHECK_INT(second, body_of(fresh_ids, b->body_b));
			CHECK(a->shape_a == b->shape_a && a->shape_b == b->shape_b);
			if (!all && !s->bodies[first].changed[a->shape_a] && !s->bodies[second].changed[a->shape_b])
				continue; // their memory goes on, and may lack single contacts
			if (!CHECK_INT(a->contact_count, b->contact_count))
				continue;
			for (int32_t k = 0; k < a->contact_count; k++)
				CHECK(is_same_contact(&found[a->first_contact + k], &expected[b->first_contact + k]));
			contacts += a->contact_count;
		}
	}
	carom_destroy_world(fresh);
	return contacts;
}

static void live(const carom_world_def *def, int threads, int steps, void (*change)(scene *s, int which))
{
	carom_context *context = fixture_context(threads);
	int contacts = 0;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		scene s;
		open_scene(&s, context, def, seed);
		for (int step = 0; step < steps && test_failures() == 0; step++) {
			fixture_step(s.world);
			for (int i = 0; i < BODIES; i++)
				memset(s.bodies[i].changed, false, sizeof s.bodies[i].changed);
			move_all(&s);
			for (int i = 0; i < 3; i++)
				change(&s, (int)(test_random(&s.seed) % BODIES));
			fixture_step(s.world);
			contacts += compare_with_fresh(&s, def, def->temporal == CAROM_TEMPORAL_NONE);
		}
		close_scene(&s);
	}
	CHECK(contacts > 15 * steps);
	carom_destroy_context(context);
}

TEST(reshape, steps_equal_those_of_a_fresh_world)
{
	static const int broads[] = { CAROM_BROAD_TREE, CAROM_BROAD_SWEEP, FIXTURE_BROAD_BRUTE };
	for (int i = 0; i < 3; i++) {
		carom_world_def def = carom_default_world_def();
		def.temporal = CAROM_TEMPORAL_NONE;
		fixture_set_broad(&def, broads[i]);
		def.speculative_distance = i == 1 ? 0.05 : 0;
		live(&def, 1, 7, reshape);
		live(&def, 1, 7, set_traits);
	}
}

TEST(reshape, what_pairs_remember_of_a_shape_goes_with_it)
{
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_PREDICTIVE;
	live(&def, 1, 12, reshape);
	live(&def, 1, 12, set_traits);
	fixture_lab(&def)->displacement_threshold = 4; // everything is remembered for ever
	def.temporal = CAROM_TEMPORAL_ITERATIVE;
	live(&def, 1, 4, reshape);
	live(&def, 1, 4, set_traits);
}

TEST(reshape, on_four_threads_nothing_differs)
{
	pool_require_threads();
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	live(&def, 4, 6, reshape);
	live(&def, 4, 6, set_traits);
}

// ---- What goes on ----

static const carom_event *only_event(const carom_world *world)
{
	const carom_event_view events = carom_world_events(world);
	REQUIRE(events.count == 1);
	return events.data;
}

TEST(reshape, pairs_persist_with_their_data_and_impulses)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id ball = fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0.995), CAROM_DYNAMIC);
	fixture_add(world, fixture_box(5, 5, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	fixture_step(world);
	CHECK_INT(only_event(world)->kind, CAROM_EVENT_BEGIN);
	const float impulse[3] = { 1, 2, 3 };
	REQUIRE(carom_world_set_impulse(world, 0, impulse) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_pair_data(world, 0, 42) == CAROM_SUCCESS);
	// The lowest point stays where it was on the body.
	const carom_shape larger = fixture_capsule(0.5, 0.5), tiny = fixture_sphere(0.1);
	REQUIRE(carom_world_set_shape(world, ball, &larger) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(only_event(world)->kind, CAROM_EVENT_PERSIST);
	CHECK_INT(only_event(world)->pair_data, 42);
	CHECK_INT(carom_world_pairs(world).data[0].age, 1);
	REQUIRE(carom_world_contacts(world).count == 1);
	CHECK_INT(carom_world_contacts(world).data[0].age, 1);
	CHECK_NEAR(carom_world_contacts(world).data[0].impulse[2], 3, 0);
	// A shape that is what the body has changes nothing.
	REQUIRE(carom_world_set_shape(world, ball, &larger) == CAROM_SUCCESS);
	CHECK(!world->bodies.data[ball.index1 - 1].reshaped);
	carom_body_def def;
	uint64_t user_data;
	REQUIRE(carom_world_get_body_def(world, ball, &def) == CAROM_SUCCESS);
	CHECK_INT(def.shape.type, CAROM_CAPSULE);
	CHECK_INT(carom_world_get_user_data(world, ball, &user_data), CAROM_SUCCESS);
	REQUIRE(carom_world_set_shape(world, ball, &tiny) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(only_event(world)->kind, CAROM_EVENT_END);
	CHECK_INT(only_event(world)->pair_data, 42);
	CHECK_INT(carom_world_contacts(world).count, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Two cubes have the same corners by number, at other places: their contacts are others.
TEST(reshape, features_of_the_old_shape_mean_nothing)
{
	carom_context *context = fixture_context(1);
	carom_mesh *small = fixture_box_mesh(context, 0.5, 0.5, 0.5), *large = fixture_box_mesh(context, 2, 2, 0.5);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id cube = fixture_add(world, fixture_of_mesh(small), fixture_at(0, 0, 0.495), CAROM_DYNAMIC);
	fixture_add(world, fixture_box(5, 5, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	fixture_step(world);
	const int32_t count = carom_world_contacts(world).count;
	CHECK(count >= 4);
	for (int32_t i = 0; i < count; i++)
		REQUIRE(carom_world_set_impulse(world, i, (const float[3]){ 0, 0, 1 }) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_shape(world, cube, &(carom_shape){ .type = CAROM_MESH, .mesh = large }) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	CHECK(contacts.count >= 4);
	for (int32_t i = 0; i < contacts.count; i++) {
		CHECK_INT(contacts.data[i].age, 0);
		CHECK_NEAR(contacts.data[i].impulse[2], 0, 0);
	}
	fixture_step(world); // and from here on they are known by their features
	for (int32_t i = 0; i < carom_world_contacts(world).count; i++)
		CHECK_INT(carom_world_contacts(world).data[i].age, 1);
	carom_release_mesh(small);
	carom_release_mesh(large);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(reshape, parts_that_break_off_free_their_numbers)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_part parts[4] = { { fixture_sphere(1), fixture_at(0, 0, 0), 0 }, { fixture_sphere(1), fixture_at(3, 0, 0), 0 },
		{ fixture_sphere(1), fixture_at(6, 0, 0), 0 }, { fixture_sphere(1), fixture_at(9, 0, 0), 0 } };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 4;
	def.pose = fixture_at(0, 0, 0.99);
	carom_body_id chain, fallen;
	REQUIRE(carom_world_add_body(world, &def, &chain) == CAROM_SUCCESS);
	fixture_add(world, fixture_box(20, 5, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 4);
	REQUIRE(carom_world_set_parts(world, chain, parts, 2) == CAROM_SUCCESS);
	CHECK_INT(world->shape_count, 3);
	// A query sees it at once.
	const carom_ray ray = { .origin = { 6, 0, 5 }, .direction = { 0, 0, -1 }, .t_max = 10 };
	bool found;
	carom_ray_hit hit;
	REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, &hit) == CAROM_SUCCESS && found);
	CHECK_NEAR(hit.t, 5, 1e-9);
	def.part_count = 2;
	REQUIRE(carom_world_add_body(world, &def, &fallen) == CAROM_SUCCESS);
	CHECK_INT(fallen.index1, chain.index1 + 2); // the numbers of those that broke off
	REQUIRE(carom_world_remove_body(world, fallen) == CAROM_SUCCESS);
	fixture_step(world);
	int kinds[3] = { 0 };
	const carom_event_view events = carom_world_events(world);
	for (int32_t i = 0; i < events.count; i++) {
		kinds[events.data[i].kind]++;
		CHECK_INT(events.data[i].kind, events.data[i].shape_a < 2 ? CAROM_EVENT_PERSIST : CAROM_EVENT_END);
	}
	CHECK(kinds[CAROM_EVENT_PERSIST] == 2 && kinds[CAROM_EVENT_END] == 2 && kinds[CAROM_EVENT_BEGIN] == 0);
	REQUIRE(carom_world_get_body_def(world, chain, &def) == CAROM_SUCCESS);
	CHECK_INT(def.part_count, 2);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A gripper of two fingers that takes up a crate and lets it go.
typedef struct gripper {
	carom_context *context;
	carom_world *world;
	carom_body_id hand, crate, floor;
	carom_part parts[3];
} gripper;

static gripper open_gripper(const carom_world_def *def)
{
	gripper g = { .context = fixture_context(1) };
	g.world = fixture_world(g.context, def);
	g.floor = fixture_add(g.world, fixture_box(20, 20, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	g.parts[0] = (carom_part){ fixture_box(0.1, 0.2, 0.5), fixture_at(-0.6, 0, 0), 1 };
	g.parts[1] = (carom_part){ fixture_box(0.1, 0.2, 0.5), fixture_at(0.6, 0, 0), 2 };
	g.parts[2] = (carom_part){ fixture_box(0.45, 0.3, 0.3), fixture_at(0, 0, -0.2), 3 };
	carom_body_def hand = carom_default_body_def();
	hand.parts = g.parts;
	hand.part_count = 2;
	hand.part_room = 3;
	hand.pose = fixture_at(0, 0, 0.495);
	REQUIRE(carom_world_add_body(g.world, &hand, &g.hand) == CAROM_SUCCESS);
	g.crate = fixture_add(g.world, g.parts[2].shape, fixture_at(0, 0, 0.295), CAROM_DYNAMIC);
	return g;
}

static void close_gripper(gripper *g)
{
	carom_destroy_world(g->world);
	carom_destroy_context(g->context);
}

static int count_events(const carom_world *world, carom_event_kind kind)
{
	const carom_event_view events = carom_world_events(world);
	int count = 0;
	for (int32_t i = 0; i < events.count; i++)
		count += events.data[i].kind == kind;
	return count;
}

TEST(reshape, a_gripper_takes_up_a_crate_and_lets_it_go)
{
	gripper g = open_gripper(NULL);
	CHECK_INT(g.crate.index1, g.hand.index1 + 3); // the hand keeps three numbers
	fixture_step(g.world);
	const int32_t fingers = 2, with_crate = 3;
	CHECK_INT(carom_world_pairs(g.world).count, with_crate);
	for (int32_t i = 0; i < carom_world_contacts(g.world).count; i++)
		REQUIRE(carom_world_set_impulse(g.world, i, (const float[3]){ 0, 0, 2 }) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(g.world, g.crate) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 3) == CAROM_SUCCESS);
	CHECK_INT(carom_world_body_count(g.world), 2);
	uint64_t data;
	REQUIRE(carom_world_get_part_data(g.world, g.hand, 2, &data) == CAROM_SUCCESS && data == 3);
	fixture_step(g.world);
	fixture_check_views(g.world);
	// The fingers go on, the crate's own pair ends, that of the part begins.
	CHECK(count_events(g.world, CAROM_EVENT_PERSIST) == fingers && count_events(g.world, CAROM_EVENT_END) == 1 &&
		count_events(g.world, CAROM_EVENT_BEGIN) == 1);
	const carom_contact_view contacts = carom_world_contacts(g.world);
	int held = 0, begun = 0;
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		held += c->shape_b < 2 && c->age == 1 && c->impulse[2] == 2;
		begun += c->shape_b == 2 && c->age == 0;
	}
	CHECK(held >= 8 && begun >= 4 && held + begun == contacts.count);
	// Let go: the part ends, and the crate is a body again.
	REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 2) == CAROM_SUCCESS);
	g.crate = fixture_add(g.world, g.parts[2].shape, fixture_at(0, 0, 0.295), CAROM_DYNAMIC);
	CHECK_INT(g.crate.index1, g.hand.index1 + 3);
	fixture_step(g.world);
	CHECK(count_events(g.world, CAROM_EVENT_PERSIST) == fingers && count_events(g.world, CAROM_EVENT_END) == 1 &&
		count_events(g.world, CAROM_EVENT_BEGIN) == 1);
	// Numbers stay with the hand, also when memory is given back, and go with it.
	REQUIRE(carom_world_trim(g.world) == CAROM_SUCCESS);
	const carom_body_id ball = fixture_add(g.world, fixture_sphere(0.1), fixture_at(9, 0, 5), CAROM_DYNAMIC);
	CHECK(ball.index1 != g.hand.index1 + 2);
	REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 3) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(g.world, g.hand) == CAROM_SUCCESS);
	const carom_body_id last = fixture_add(g.world, fixture_sphere(0.1), fixture_at(9, 0, 7), CAROM_DYNAMIC);
	CHECK(last.index1 >= g.hand.index1 && last.index1 != ball.index1 && last.index1 != g.crate.index1);
	close_gripper(&g);
}

/// A hand that moves takes its new part along: the part comes from where it would have been.
TEST(reshape, a_new_part_moves_with_its_body)
{
	gripper g = open_gripper(NULL);
	REQUIRE(carom_world_remove_body(g.world, g.crate) == CAROM_SUCCESS);
	carom_body_def traits;
	REQUIRE(carom_world_get_body_def(g.world, g.hand, &traits) == CAROM_SUCCESS);
	CHECK_INT(traits.part_room, 3);
	traits.continuous = true;
	REQUIRE(carom_world_set_traits(g.world, g.hand, &traits) == CAROM_SUCCESS);
	const carom_body_id wall = fixture_add(g.world, fixture_box(0.01, 5, 5), fixture_at(3, 0, 6), CAROM_STATIC);
	const carom_pose high = fixture_at(0, 0, 6), beyond = fixture_at(8, 0, 6);
	REQUIRE(carom_world_set_pose(g.world, g.hand, &high) == CAROM_SUCCESS);
	fixture_step(g.world);
	REQUIRE(carom_world_set_pose(g.world, g.hand, &beyond) == CAROM_SUCCESS);
	g.parts[2].pose = fixture_at(1.5, 0, 0);
	REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 3) == CAROM_SUCCESS);
	fixture_step(g.world);
	const carom_body_impact_view impacts = carom_world_body_impacts(g.world);
	// The wall is B. Fronts of the fingers and of the new part at the beginning:
	static const double fronts[3] = { -0.5, 0.7, 1.95 };
	CHECK_INT(impacts.count, 3);
	for (int32_t i = 0; i < impacts.count; i++) {
		CHECK(fixture_same_id(impacts.data[i].body_a, g.hand) && fixture_same_id(impacts.data[i].body_b, wall));
		CHECK_INT(impacts.data[i].shape_a, i);
		CHECK_NEAR(impacts.data[i].time, (2.99 - fronts[i]) / 8, 1e-3);
	}
	close_gripper(&g);
}

TEST(reshape, a_sensor_and_a_sleeper_get_parts)
{
	gripper g = open_gripper(NULL);
	REQUIRE(carom_world_remove_body(g.world, g.crate) == CAROM_SUCCESS);
	fixture_step(g.world);
	REQUIRE(carom_world_set_asleep(g.world, 1, &g.hand, true) == CAROM_SUCCESS);
	fixture_step(g.world);
	REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 3) == CAROM_SUCCESS);
	bool asleep = true;
	REQUIRE(carom_world_get_asleep(g.world, 1, &g.hand, &asleep) == CAROM_SUCCESS && !asleep);
	CHECK_INT(g.world->sleep.count, 0);
	fixture_step(g.world);
	CHECK_INT(carom_world_pairs(g.world).count, 3);
	REQUIRE(carom_world_set_asleep(g.world, 1, &g.hand, true) == CAROM_SUCCESS);
	CHECK_INT(g.world->sleep.count, 1);
	carom_body_def traits;
	REQUIRE(carom_world_get_body_def(g.world, g.hand, &traits) == CAROM_SUCCESS);
	traits.sensor = true;
	REQUIRE(carom_world_set_traits(g.world, g.hand, &traits) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 1) == CAROM_SUCCESS);
	fixture_step(g.world);
	REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 3) == CAROM_SUCCESS);
	fixture_step(g.world);
	CHECK_INT(carom_world_contacts(g.world).count, 0);
	CHECK_INT(carom_world_pairs(g.world).count, 3);
	close_gripper(&g);
}

/// A recording that begins while a body keeps numbers, and bytes of a snapshot from before its parts came.
TEST(reshape, kept_numbers_are_in_recordings_and_snapshots)
{
	gripper g = open_gripper(NULL);
	fixture_tape tape = { 0 };
	carom_snapshot *snapshot;
	fixture_step(g.world);
	REQUIRE(carom_create_snapshot(g.world, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(g.world, snapshot) == CAROM_SUCCESS);
	uint64_t hashes[2];
	for (int round = 0; round < 2; round++) {
		if (round == 0)
			REQUIRE(carom_world_record(g.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		REQUIRE(carom_world_remove_body(g.world, g.crate) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 3) == CAROM_SUCCESS);
		fixture_step(g.world);
		fixture_add(g.world, fixture_sphere(0.1), fixture_at(2, 0, 0.09), CAROM_DYNAMIC);
		REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 1) == CAROM_SUCCESS);
		fixture_step(g.world);
		REQUIRE(carom_world_set_parts(g.world, g.hand, g.parts, 2) == CAROM_SUCCESS);
		fixture_step(g.world);
		hashes[round] = carom_world_hash(g.world);
		if (round == 0)
			REQUIRE(carom_world_record(g.world, NULL, NULL) == CAROM_SUCCESS);
		REQUIRE(carom_world_restore(g.world, snapshot) == CAROM_SUCCESS);
	}
	CHECK(hashes[0] == hashes[1]);
	carom_replay_result result;
	if (!CHECK_INT(carom_replay_recording(g.context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(g.context), "");
	CHECK(result.hash == hashes[0] && result.steps == 3);
	// Without the room the later parts have no numbers: under the number of the version before they are refused.
	cr_store_le(tape.bytes + CR_RECORDING_MAGIC_SIZE, 18, 4);
	fixture_repair_tape(&tape);
	tape.at = 0;
	CHECK_INT(carom_replay_recording(g.context, fixture_read_tape, &tape, &result), CAROM_INVALID_RECORDING);
	free(tape.bytes);
	carom_destroy_snapshot(snapshot);
	close_gripper(&g);
}

/// A cloth falls on a mesh whose shape has changed: impacts are those of a world that began so.
TEST(reshape, impacts_see_the_new_triangles)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = fixture_box_mesh(context, 0.2, 0.2, 0.2), *sheet = fixture_sheet_mesh(context, 4, 0.6);
	carom_mesh *torus = fixture_torus_mesh(context, 12, 6, 0.3, 0.1);
	uint64_t hashes[2];
	int64_t counts[2];
	for (int swapped = 0; swapped < 2; swapped++) {
		carom_world *world = fixture_world(context, NULL);
		const carom_shape first = fixture_of_mesh(cube), second = fixture_of_mesh(torus);
		const carom_body_id body = fixture_add(world, swapped ? first : second, carom_pose_identity(), CAROM_STATIC);
		const carom_body_id cloth = fixture_add(world, fixture_of_mesh(sheet), fixture_at(1, 0, 0.6), CAROM_CLOTH);
		fixture_step(world);
		if (swapped)
			REQUIRE(carom_world_set_shape(world, body, &second) == CAROM_SUCCESS);
		double end[75];
		carom_vertex_view view;
		REQUIRE(carom_world_get_vertices(world, cloth, &view) == CAROM_SUCCESS);
		for (int i = 0; i < 75; i++)
			end[i] = view.data[i] - (i % 3 == 2 ? 1 : 0);
		const carom_strided places = { end, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, cloth, NULL, &places) == CAROM_SUCCESS);
		fixture_step(world);
		counts[swapped] = carom_world_impacts(world).count;
		hashes[swapped] = carom_world_hash(world);
		carom_destroy_world(world);
	}
	CHECK(counts[0] > 0);
	CHECK_INT(counts[1], counts[0]);
	CHECK(hashes[1] == hashes[0]);
	carom_release_mesh(cube);
	carom_release_mesh(sheet);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

// ---- Misuse, memory ----

static void refused(const carom_world *world, carom_result result, carom_result expected, const char *text)
{
	CHECK_INT(result, expected);
	if (!CHECK(strstr(carom_error_text(carom_world_context(world)), text) != NULL))
		CHECK_STR(carom_error_text(carom_world_context(world)), text);
}

TEST(reshape, misuse)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 2, 1);
	const carom_shape ball = fixture_sphere(1), none = fixture_sphere(-1), plane = { .type = CAROM_PLANE };
	carom_part parts[3] = { { ball, carom_pose_identity(), 0 }, { ball, fixture_at(1, 0, 0), 0 },
		{ ball, fixture_at(2, 0, 0), 0 } };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 2;
	carom_body_id chain;
	REQUIRE(carom_world_add_body(world, &def, &chain) == CAROM_SUCCESS);
	const carom_body_id body = fixture_add(world, ball, carom_pose_identity(), CAROM_DYNAMIC);
	const carom_body_id cloth = fixture_add(world, fixture_of_mesh(sheet), carom_pose_identity(), CAROM_CLOTH);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	const carom_result bad = CAROM_INVALID_ARGUMENT;
	refused(world, carom_world_set_shape(world, (carom_body_id){ 9, 1 }, &ball), CAROM_INVALID_BODY, "set_shape: no body has");
	refused(world, carom_world_set_shape(world, body, NULL), bad, "carom_world_set_shape: shape is NULL");
	refused(world, carom_world_set_shape(world, body, &none), bad, "carom_world_set_shape: shape.radius");
	refused(world, carom_world_set_shape(world, body, &plane), bad, "a plane must be static or kinematic");
	refused(world, carom_world_set_shape(world, chain, &ball), bad, "the body has parts");
	refused(world, carom_world_set_shape(world, cloth, &ball), bad, "kind is CAROM_CLOTH");
	refused(world, carom_world_set_parts(world, cloth, parts, 1), bad, "kind is CAROM_CLOTH");
	refused(world, carom_world_set_parts(world, body, parts, 1), bad, "the body was added without parts");
	refused(world, carom_world_set_parts(world, chain, parts, 3), bad, "count is 3, but the body has 2 parts");
	refused(world, carom_world_set_parts(world, chain, parts, 0), bad, "count is 0, but the body has 2 parts");
	carom_body_id other;
	for (int i = 0; i < 4; i++) {
		def.part_count = i == 3 ? 0 : 2;
		def.parts = i == 3 ? NULL : parts;
		def.shape = i == 3 ? ball : (carom_shape){ .type = CAROM_SPHERE };
		def.part_room = i == 0 ? 1 : i == 1 ? -1 : i == 2 ? 65539 : 1;
		refused(world, carom_world_add_body(world, &def, &other), bad, i == 3 ? "only a body with parts" : "part_room is");
	}
	refused(world, carom_world_set_parts(world, chain, NULL, 1), bad, "carom_world_set_parts: parts is NULL, but count is 1");
	parts[1].shape.radius = NAN;
	refused(world, carom_world_set_parts(world, chain, parts, 2), bad, "carom_world_set_parts: parts[1]: shape.radius");
	fixture_step(world);
	CHECK(carom_world_hash(world) == hash);
	carom_release_mesh(sheet);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(reshape, failing_allocations_change_nothing)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 6, 0.3, 0.1);
	carom_mesh *bar = fixture_box_mesh(context, 1.5, 1.25, 0.75);
	const carom_shape box = fixture_of_mesh(bar);
	const carom_world_def world_def = fixture_plugin_world_def();
	carom_part parts[3] = { { fixture_sphere(1), carom_pose_identity(), 0 }, { fixture_sphere(1), fixture_at(1, 0, 0), 0 },
		{ fixture_sphere(1), fixture_at(2, 0, 0), 0 } };
	carom_part other[3] = { { fixture_of_mesh(mesh), carom_pose_identity(), 0 }, { box, fixture_at(1, 0, 0), 0 },
		{ fixture_box(0.5, 0.25, 0.125), fixture_at(2, 1, 0), 0 } };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	for (int of_parts = 0; of_parts < 3; of_parts++) {
		def.part_count = of_parts == 2 ? 1 : 3; // two come
		def.part_room = of_parts == 2 ? 3 : 0;
		int failed = 0;
		carom_result result = CAROM_OUT_OF_MEMORY;
		for (int fail = 0; result != CAROM_SUCCESS; fail++) {
			carom_world *world = fixture_world(context, &world_def);
			carom_body_id chain;
			REQUIRE(carom_world_add_body(world, &def, &chain) == CAROM_SUCCESS);
			const carom_body_id body = fixture_add(world, fixture_sphere(1), fixture_at(0.5, 0, 0), CAROM_DYNAMIC);
			fixture_step(world);
			const uint64_t hash = carom_world_hash(world);
			const int references = atomic_load(&mesh->references);
			heap.fail_at = heap.calls + fail;
			result = of_parts ? carom_world_set_parts(world, chain, other, 3) : carom_world_set_shape(world, body, &box);
			heap.fail_at = -1;
			CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
			failed += result != CAROM_SUCCESS;
			CHECK_INT(atomic_load(&mesh->references), references + (of_parts && result == CAROM_SUCCESS));
			fixture_step(world);
			CHECK((carom_world_hash(world) == hash) == (result != CAROM_SUCCESS));
			carom_destroy_world(world);
		}
		CHECK(failed >= 2);
	}
	carom_release_mesh(mesh);
	carom_release_mesh(bar);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(reshape, a_budget_refuses_what_is_too_large)
{
	carom_context *context = fixture_context(1);
	carom_world_def world_def = carom_default_world_def();
	carom_part parts[40];
	for (int i = 0; i < 40; i++)
		parts[i] = (carom_part){ fixture_sphere(0.1), fixture_at(i, 0, 0), 0 };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 40;
	carom_body_id id;
	carom_world *world = fixture_world(context, NULL);
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	fixture_step(world);
	world_def.memory_budget = carom_world_stats(world).memory_peak + 2000; // too little for 40 shapes beside the others
	carom_destroy_world(world);
	world = fixture_world(context, &world_def);
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	fixture_step(world);
	for (int i = 0; i < 40; i++)
		parts[i].shape = fixture_box(1 + 0.01 * i, 1, 1);
	refused(world, carom_world_set_parts(world, id, parts, 40), CAROM_OVER_BUDGET, "carom_world_set_parts");
	REQUIRE(carom_world_get_body_def(world, id, &def) == CAROM_SUCCESS);
	CHECK_INT(def.parts[7].shape.type, CAROM_SPHERE);
	fixture_step(world);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Recordings and snapshots ----

static void live_on(scene *s, int steps, uint64_t *hashes)
{
	for (int step = 0; step < steps; step++) {
		move_all(s);
		for (int i = 0; i < 4; i++)
			reshape(s, (int)(test_random(&s->seed) % BODIES));
		set_traits(s, (int)(test_random(&s->seed) % BODIES));
		fixture_step(s->world);
		hashes[step] = carom_world_hash(s->world);
	}
}

TEST(reshape, recordings_replay_to_the_same_hashes)
{
	enum { STEPS = 10 };
	uint64_t hashes[STEPS];
	carom_context *context = fixture_context(1);
	fixture_tape tape = { 0 };
	scene s;
	open_scene(&s, context, NULL, 7);
	fixture_step(s.world);
	reshape(&s, 0); // not yet stepped when the recording begins
	reshape(&s, 2);
	REQUIRE(carom_world_record(s.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	live_on(&s, STEPS, hashes);
	REQUIRE(carom_world_record(s.world, NULL, NULL) == CAROM_SUCCESS);
	close_scene(&s);
	carom_replay_result result;
	if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	CHECK_INT(result.steps, STEPS);
	CHECK(result.hash == hashes[STEPS - 1]);
	// A version that knew no such calls does not hold them.
	cr_store_le(tape.bytes + CR_RECORDING_MAGIC_SIZE, 5, 4);
	fixture_repair_tape(&tape);
	tape.at = 0;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_INVALID_RECORDING);
	free(tape.bytes);
	carom_destroy_context(context);
}

TEST(reshape, forged_calls_never_crash)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	fixture_tape tape = { 0 };
	scene s;
	uint64_t hashes[3];
	open_scene(&s, context, NULL, 3);
	REQUIRE(carom_world_record(s.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	live_on(&s, 3, hashes);
	REQUIRE(carom_world_record(s.world, NULL, NULL) == CAROM_SUCCESS);
	close_scene(&s);
	const long long blocks = heap.blocks;
	int refusals = 0, calls = 0;
	for (size_t at = 12; at < tape.count;) {
		const uint32_t opcode = (uint32_t)cr_load_le(tape.bytes + at, 4);
		const size_t size = (size_t)cr_load_le(tape.bytes + at + 4, 8), payload = at + CR_RECORD_HEAD_SIZE;
		const bool is_call = opcode == CR_RECORD_SET_SHAPE || opcode == CR_RECORD_SET_PARTS || opcode == CR_RECORD_SET_TRAITS;
		calls += is_call;
		for (size_t i = 0; is_call && i < size; i += TEST_STRIDE * (i < 24 ? 1 : 7)) {
			const uint8_t good = tape.bytes[payload + i];
			tape.bytes[payload + i] ^= (uint8_t)(i % 3 ? 1 : 0x82);
			fixture_repair_tape(&tape);
			tape.at = 0;
			carom_replay_result result;
			const carom_result outcome = carom_replay_recording(context, fixture_read_tape, &tape, &result);
			CHECK(outcome == CAROM_SUCCESS || outcome == CAROM_INVALID_RECORDING);
			refusals += outcome != CAROM_SUCCESS;
			CHECK_INT(heap.blocks, blocks);
			tape.bytes[payload + i] = good;
		}
		at = payload + size + CR_RECORD_CHECK_SIZE;
	}
	CHECK(calls >= 3 && refusals > 10 / TEST_STRIDE);
	free(tape.bytes);
	carom_destroy_context(context);
}

TEST(reshape, snapshots_bring_back_shapes_and_parts)
{
	enum { STEPS = 8 };
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	uint64_t first[STEPS], again[STEPS];
	scene s;
	open_scene(&s, context, NULL, 11);
	live_on(&s, 2, first);
	reshape(&s, 1); // noted, and not yet stepped
	set_traits(&s, 3);
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(s.world, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(s.world, snapshot) == CAROM_SUCCESS);
	const scene saved = s;
	live_on(&s, STEPS, first);
	for (int round = 0; round < 2; round++) {
		REQUIRE(carom_world_restore(s.world, snapshot) == CAROM_SUCCESS);
		s = saved;
		live_on(&s, STEPS, again);
		CHECK(memcmp(first, again, sizeof first) == 0);
	}
	carom_destroy_snapshot(snapshot);
	close_scene(&s);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
