/// Bodies asleep (carom_world_set_asleep). The oracle is a world that is treated alike but never sleeps: its contacts, pairs and events
/// with a body that is not at rest are those of the world that sleeps, with their ages and impulses.
#include "carom/snapshot.h"
#include "fixture.h"
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 80, SHAPES = 9, STEPS = 60 };

// ---- A world that sleeps and one that does not ----

typedef struct twins {
	carom_context *context;
	carom_mesh *cube, *torus, *hull;
	carom_shape shapes[SHAPES];
	carom_world *sleeper, *waker;
	carom_body_id ids[MOST]; // equal in both
	bool asleep[MOST];       // as the sleeper was told
	bool changed[MOST];      // by a call since the last step
	int count;
	int64_t hidden; // pairs of the waker that the sleeper has left alone
} twins;

static void open_twins(twins *t, const carom_world_def *def, int threads)
{
	float points[3 * 16];
	uint64_t seed = 5;
	memset(t, 0, sizeof *t);
	for (int i = 0; i < 3 * 16; i++)
		points[i] = (float)test_random_double(&seed, -0.5, 0.5);
	t->context = fixture_context(threads);
	t->cube = fixture_box_mesh(t->context, 0.4, 0.5, 0.3);
	t->torus = fixture_torus_mesh(t->context, 12, 6, 0.3, 0.1);
	t->hull = fixture_hull_mesh(t->context, points, 16);
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.5), fixture_box(0.5, 0.4, 0.3), fixture_capsule(0.3, 0.4),
		fixture_of_mesh(t->cube), fixture_of_mesh(t->torus), fixture_hull(t->hull), fixture_cylinder(0.4, 0.5),
		fixture_cone(0.4, 0.4), fixture_ellipsoid(0.5, 0.4, 0.3) };
	memcpy(t->shapes, shapes, sizeof shapes);
	t->sleeper = fixture_world(t->context, def);
	t->waker = fixture_world(t->context, def);
	REQUIRE(carom_world_set_body_pairs(t->sleeper, true, 0) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_body_pairs(t->waker, true, 0) == CAROM_SUCCESS);
}

static void close_twins(twins *t)
{
	carom_destroy_world(t->sleeper);
	carom_destroy_world(t->waker);
	carom_release_mesh(t->cube);
	carom_release_mesh(t->torus);
	carom_release_mesh(t->hull);
	carom_destroy_context(t->context);
}

static void add_both(twins *t, int i, const carom_body_def *def)
{
	carom_body_id other;
	REQUIRE(carom_world_add_body(t->sleeper, def, &t->ids[i]) == CAROM_SUCCESS);
	REQUIRE(carom_world_add_body(t->waker, def, &other) == CAROM_SUCCESS);
	REQUIRE(fixture_same_id(t->ids[i], other));
	t->asleep[i] = false;
	t->changed[i] = true;
}

static carom_pose pose_within(uint64_t *seed)
{
	carom_pose pose = fixture_random_pose(seed, 3.5);
	pose.position.z *= 0.3;
	return pose;
}

static carom_body_def random_def(const twins *t, uint64_t *seed, carom_part parts[2])
{
	carom_body_def def = carom_default_body_def();
	const int kind = (int)(test_random(seed) % 10);
	def.kind = kind < 1 ? CAROM_STATIC : kind < 2 ? CAROM_KINEMATIC : CAROM_DYNAMIC;
	def.sensor = test_random(seed) % 12 == 0;
	def.shape = t->shapes[test_random(seed) % SHAPES];
	def.pose = pose_within(seed);
	def.category = test_random(seed) % 8 == 0 ? 2 : 1;
	def.mask = test_random(seed) % 8 == 0 ? 1 : UINT64_MAX;
	if (test_random(seed) % 6 != 0)
		return def;
	for (int i = 0; i < 2; i++)
		parts[i] = (carom_part){ .shape = t->shapes[test_random(seed) % SHAPES], .pose = fixture_at(i - 0.5, 0, 0) };
	def.shape = carom_default_body_def().shape;
	def.parts = parts;
	def.part_count = 2;
	return def;
}

static void fill_twins(twins *t, uint64_t *seed, int count)
{
	for (int i = 0; i < count; i++) {
		carom_part parts[2];
		const carom_body_def def = random_def(t, seed, parts);
		add_both(t, i, &def);
	}
	t->count = count;
	carom_body_def floor = carom_default_body_def();
	floor.kind = CAROM_STATIC;
	floor.shape.type = CAROM_PLANE;
	floor.pose.position.z = -1;
	add_both(t, t->count++, &floor);
	floor.shape = fixture_box(5, 5, 0.5);
	add_both(t, t->count++, &floor);
}

// ---- Calls on both ----

static carom_body_kind kind_of(const twins *t, int i)
{
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(t->waker, t->ids[i], &def) == CAROM_SUCCESS);
	return def.kind;
}

/// A call that changes a body wakes it.
static void note_call(twins *t, int i)
{
	t->asleep[i] = false;
	t->changed[i] = true;
}

static void move_both(twins *t, int i, carom_pose pose)
{
	REQUIRE(carom_world_set_poses(t->sleeper, 1, &t->ids[i], &pose) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_poses(t->waker, 1, &t->ids[i], &pose) == CAROM_SUCCESS);
	note_call(t, i);
}

static void tremble_both(twins *t, uint64_t *seed, int i, double way)
{
	carom_pose pose;
	REQUIRE(carom_world_get_pose(t->waker, t->ids[i], &pose) == CAROM_SUCCESS);
	pose.position.x += test_random_double(seed, -way, way);
	pose.position.y += test_random_double(seed, -way, way);
	pose.position.z += test_random_double(seed, -way, way);
	move_both(t, i, pose);
}

static void change_both(twins *t, uint64_t *seed, int i)
{
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(t->waker, t->ids[i], &def) == CAROM_SUCCESS);
	switch (test_random(seed) % 4) {
	case 0: {
		carom_part parts[2];
		REQUIRE(carom_world_remove_body(t->sleeper, t->ids[i]) == CAROM_SUCCESS);
		REQUIRE(carom_world_remove_body(t->waker, t->ids[i]) == CAROM_SUCCESS);
		def = random_def(t, seed, parts);
		add_both(t, i, &def);
		return;
	}
	case 1:
		REQUIRE(carom_world_set_filter(t->sleeper, t->ids[i], 3, UINT64_MAX, 0) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_filter(t->waker, t->ids[i], 3, UINT64_MAX, 0) == CAROM_SUCCESS);
		break;
	case 2:
		def.sensor = !def.sensor;
		REQUIRE(carom_world_set_traits(t->sleeper, t->ids[i], &def) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_traits(t->waker, t->ids[i], &def) == CAROM_SUCCESS);
		break;
	default:
		if (def.part_count > 0)
			return;
		def.shape = fixture_sphere(test_random_double(seed, 0.3, 0.6));
		REQUIRE(carom_world_set_shape(t->sleeper, t->ids[i], &def.shape) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_shape(t->waker, t->ids[i], &def.shape) == CAROM_SUCCESS);
	}
	note_call(t, i);
}

static void set_asleep(twins *t, int i, bool asleep)
{
	REQUIRE(carom_world_set_asleep(t->sleeper, 1, &t->ids[i], asleep) == CAROM_SUCCESS);
	t->asleep[i] = asleep;
}

/// Calls before a step: bodies awake move, some fall asleep or wake, few are changed otherwise.
static void treat_twins(twins *t, uint64_t *seed)
{
	for (int i = 0; i < t->count - 2; i++) {
		const carom_body_kind kind = kind_of(t, i);
		const int choice = (int)(test_random(seed) % 100);
		if (choice < 2)
			change_both(t, seed, i);
		else if (choice < 4)
			move_both(t, i, pose_within(seed));
		else if (kind == CAROM_STATIC ? choice < 8 : !t->asleep[i] && choice < 30)
			tremble_both(t, seed, i, 0.02);
		if (kind_of(t, i) != CAROM_STATIC && choice >= 60 && choice < 75)
			set_asleep(t, i, choice < 71);
	}
	if (test_random(seed) % 10 == 0)
		tremble_both(t, seed, t->count - 1, 0.01);
}

// ---- The oracle ----

static bool is_quiet(const twins *t, carom_body_id id)
{
	for (int i = 0; i < t->count; i++) {
		if (fixture_same_id(t->ids[i], id))
			return (t->asleep[i] || kind_of(t, i) == CAROM_STATIC) && !t->changed[i];
	}
	return false; // it was removed
}

static bool is_seen(const twins *t, carom_body_id a, carom_body_id b) { return !is_quiet(t, a) || !is_quiet(t, b); }

static bool are_same_contacts(const carom_contact *a, const carom_contact *b)
{
	return fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b) &&
		memcmp(a->point, b->point, sizeof a->point) == 0 && memcmp(a->normal, b->normal, sizeof a->normal) == 0 &&
		a->depth == b->depth && a->feature_a == b->feature_a && a->feature_b == b->feature_b && a->kind == b->kind &&
		a->age == b->age && memcmp(a->impulse, b->impulse, sizeof a->impulse) == 0 && a->shape_a == b->shape_a &&
		a->shape_b == b->shape_b;
}

/// Compares the contacts, and stores an impulse with each that both worlds list.
static void compare_contacts(const twins *t, uint64_t *seed)
{
	const carom_contact_view mine = carom_world_contacts(t->sleeper), all = carom_world_contacts(t->waker);
	int32_t k = 0;
	for (int32_t i = 0; i < all.count; i++) {
		if (!is_seen(t, all.data[i].body_a, all.data[i].body_b))
			continue;
		REQUIRE(k < mine.count);
		REQUIRE(are_same_contacts(&mine.data[k], &all.data[i]));
		const float impulse[3] = { (float)test_random_double(seed, 0, 1), 0, 1 };
		REQUIRE(carom_world_set_impulse(t->sleeper, k, impulse) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_impulse(t->waker, i, impulse) == CAROM_SUCCESS);
		k++;
	}
	CHECK_INT(k, mine.count);
}

static void compare_pairs(twins *t, uint64_t *seed)
{
	const carom_pair_view mine = carom_world_pairs(t->sleeper), all = carom_world_pairs(t->waker);
	int32_t k = 0;
	for (int32_t i = 0; i < all.count; i++) {
		const carom_pair *a = &all.data[i], *b = &mine.data[k];
		if (!is_seen(t, a->body_a, a->body_b)) {
			t->hidden++;
			continue;
		}
		REQUIRE(k < mine.count);
		REQUIRE(fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b) && a->shape_a == b->shape_a &&
			a->shape_b == b->shape_b);
		CHECK_INT(b->age, a->age);
		CHECK_INT(b->contact_count, a->contact_count);
		CHECK_INT(b->found_count, a->found_count);
		CHECK_INT(b->user_data, a->user_data);
		const uint64_t data = test_random(seed);
		REQUIRE(carom_world_set_pair_data(t->sleeper, k++, data) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_pair_data(t->waker, i, data) == CAROM_SUCCESS);
	}
	CHECK_INT(k, mine.count);
}

static void compare_events(const twins *t)
{
	const carom_event_view mine = carom_world_events(t->sleeper), all = carom_world_events(t->waker);
	int32_t k = 0;
	for (int32_t i = 0; i < all.count; i++) {
		const carom_event *a = &all.data[i], *b = &mine.data[k];
		if (!is_seen(t, a->body_a, a->body_b))
			continue;
		REQUIRE(k < mine.count);
		REQUIRE(fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b) && a->kind == b->kind &&
			a->pair_data == b->pair_data && a->shape_a == b->shape_a && a->shape_b == b->shape_b);
		k++;
	}
	CHECK_INT(k, mine.count);
}

static void compare_body_events(const twins *t)
{
	const carom_body_event_view mine = carom_world_body_events(t->sleeper), all = carom_world_body_events(t->waker);
	int32_t k = 0;
	for (int32_t i = 0; i < all.count; i++) {
		const carom_body_event *a = &all.data[i], *b = &mine.data[k];
		if (!is_seen(t, a->body_a, a->body_b))
			continue;
		REQUIRE(k < mine.count);
		REQUIRE(fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b) && a->kind == b->kind);
		if (a->body_pair >= 0) {
			const carom_body_pair *x = &carom_world_body_pairs(t->waker).data[a->body_pair];
			const carom_body_pair *y = &carom_world_body_pairs(t->sleeper).data[b->body_pair];
			CHECK_INT(y->age, x->age);
			CHECK_INT(y->pair_count, x->pair_count);
			CHECK_INT(y->contact_count, x->contact_count);
		}
		k++;
	}
	CHECK_INT(k, mine.count);
}

static void step_twins(twins *t, uint64_t *seed)
{
	fixture_step(t->sleeper);
	fixture_step(t->waker);
	fixture_check_views(t->sleeper);
	compare_contacts(t, seed);
	compare_pairs(t, seed);
	compare_events(t);
	compare_body_events(t);
	memset(t->changed, 0, sizeof t->changed);
	for (int i = 0; i < t->count; i++) {
		bool asleep;
		REQUIRE(carom_world_get_asleep(t->sleeper, 1, &t->ids[i], &asleep) == CAROM_SUCCESS);
		CHECK_INT(asleep, t->asleep[i]);
	}
}

static void run_twins(const carom_world_def *def, uint64_t seed, int threads)
{
	twins t;
	open_twins(&t, def, threads);
	fill_twins(&t, &seed, MOST - 2);
	for (int k = 0; k < STEPS / TEST_FEWER + 5; k++) {
		treat_twins(&t, &seed);
		step_twins(&t, &seed);
	}
	CHECK(t.hidden > 100);
	close_twins(&t);
}

TEST(sleep, contacts_are_those_of_a_world_that_never_sleeps)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		for (int broad = 0; broad <= FIXTURE_BROAD_BRUTE; broad++) {
			carom_world_def def = carom_default_world_def();
			def.temporal = CAROM_TEMPORAL_NONE;
			def.speculative_distance = seed == 2 ? 0.05 : 0;
			fixture_set_broad(&def, broad);
			run_twins(&def, seed, seed == 3 ? 2 : 1);
		}
	}
}

TEST(sleep, pairs_remember_what_they_knew_before)
{
	for (uint64_t seed = 11; seed <= 13; seed++) {
		carom_world_def def = carom_default_world_def();
		run_twins(&def, seed, seed == 13 ? 2 : 1);
	}
}

// ---- One pile ----

enum { CRATES = 6 };

typedef struct pile {
	carom_context *context;
	carom_world *world;
	carom_mesh *cube;
	carom_body_id floor, crates[CRATES];
} pile;

/// Crates on top of each other on a floor; each second one is a mesh.
static void open_pile_in(pile *p, carom_context *context)
{
	p->context = context;
	p->cube = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	p->world = fixture_world(context, NULL);
	p->floor = fixture_add(p->world, fixture_box(9, 9, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	for (int i = 0; i < CRATES; i++)
		p->crates[i] = fixture_add(p->world, i % 2 ? fixture_of_mesh(p->cube) : fixture_box(0.5, 0.5, 0.5),
			fixture_at(0, 0, 0.499 + 0.998 * i), CAROM_DYNAMIC);
}

static void open_pile(pile *p)
{
	open_pile_in(p, fixture_context(1));
	fixture_step(p->world);
	fixture_step(p->world);
	CHECK_INT(carom_world_pairs(p->world).count, CRATES);
}

static void close_pile(pile *p)
{
	carom_destroy_world(p->world);
	carom_release_mesh(p->cube);
	carom_destroy_context(p->context);
}

static void put_pile(pile *p, bool asleep)
{
	REQUIRE(carom_world_set_asleep(p->world, CRATES, p->crates, asleep) == CAROM_SUCCESS);
}

static int count_events(const carom_world *world, carom_event_kind kind)
{
	const carom_event_view events = carom_world_events(world);
	int count = 0;
	for (int32_t i = 0; i < events.count; i++)
		count += events.data[i].kind == kind;
	return count;
}

TEST(sleep, pairs_neither_end_nor_begin)
{
	pile p;
	open_pile(&p);
	const int32_t contacts = carom_world_contacts(p.world).count;
	for (int32_t i = 0; i < contacts; i++)
		REQUIRE(carom_world_set_impulse(p.world, i, (const float[3]){ (float)i, 0, 5 }) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_pair_data(p.world, 2, 77) == CAROM_SUCCESS);
	put_pile(&p, true);
	for (int k = 0; k < 3; k++) {
		fixture_step(p.world);
		CHECK_INT(carom_world_pairs(p.world).count, 0);
		CHECK_INT(carom_world_contacts(p.world).count, 0);
		CHECK_INT(carom_world_events(p.world).count, 0);
		CHECK_INT(carom_world_stats(p.world).box_pairs, 0);
	}
	put_pile(&p, false);
	fixture_step(p.world);
	CHECK_INT(carom_world_contacts(p.world).count, contacts);
	CHECK_INT(carom_world_pairs(p.world).data[2].user_data, 77);
	CHECK_INT(carom_world_pairs(p.world).data[2].age, 5);
	CHECK_INT(count_events(p.world, CAROM_EVENT_PERSIST), CRATES);
	CHECK_INT(carom_world_events(p.world).count, CRATES);
	for (int32_t i = 0; i < contacts; i++) {
		CHECK_INT(carom_world_contacts(p.world).data[i].age, 5);
		CHECK_NEAR(carom_world_contacts(p.world).data[i].impulse[0], i, 0);
	}
	close_pile(&p);
}

TEST(sleep, one_that_wakes_has_its_pairs_with_those_asleep)
{
	pile p;
	open_pile(&p);
	put_pile(&p, true);
	fixture_step(p.world);
	REQUIRE(carom_world_set_asleep(p.world, 1, &p.crates[3], false) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK_INT(carom_world_pairs(p.world).count, 2);
	CHECK_INT(count_events(p.world, CAROM_EVENT_PERSIST), 2);
	// It flies off: both end, and the others sleep on.
	REQUIRE(carom_world_set_pose(p.world, p.crates[3], &(carom_pose){ { 0, 0, 90 }, { 0, 0, 0, 1 } }) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK_INT(carom_world_pairs(p.world).count, 0);
	CHECK_INT(count_events(p.world, CAROM_EVENT_END), 2);
	fixture_step(p.world);
	CHECK_INT(carom_world_events(p.world).count, 0);
	close_pile(&p);
}

TEST(sleep, a_floor_that_goes_or_moves_is_told)
{
	pile p;
	open_pile(&p);
	put_pile(&p, true);
	fixture_step(p.world);
	// Moved, it is awake in one step.
	REQUIRE(carom_world_set_pose(p.world, p.floor, &(carom_pose){ { 0.5, 0, -1 }, { 0, 0, 0, 1 } }) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK_INT(carom_world_pairs(p.world).count, 1);
	CHECK_INT(count_events(p.world, CAROM_EVENT_PERSIST), 1);
	fixture_step(p.world);
	CHECK_INT(carom_world_events(p.world).count, 0);
	for (int way = 0; way < 3; way++) { // within its box in the tree, to and fro
		REQUIRE(carom_world_set_pose(p.world, p.floor, &(carom_pose){ { 0.4 + 0.1 * way, 0, -1 }, { 0, 0, 0, 1 } }) ==
			CAROM_SUCCESS);
		fixture_step(p.world);
		CHECK_INT(carom_world_pairs(p.world).count, 1);
	}
	REQUIRE(carom_world_remove_body(p.world, p.floor) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK_INT(count_events(p.world, CAROM_EVENT_END), 1);
	CHECK_INT(carom_world_events(p.world).count, 1);
	CHECK(fixture_same_id(carom_world_events(p.world).data[0].body_a, p.floor));
	fixture_step(p.world);
	CHECK_INT(carom_world_events(p.world).count, 0);
	REQUIRE(carom_world_remove_body(p.world, p.crates[0]) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK_INT(count_events(p.world, CAROM_EVENT_END), 1);
	close_pile(&p);
}

TEST(sleep, kinematic_bodies_awake_meet_those_asleep)
{
	pile p;
	open_pile(&p);
	const carom_body_id lift = fixture_add(p.world, fixture_box(3, 3, 0.5), fixture_at(2, 0, 0.51), CAROM_KINEMATIC);
	put_pile(&p, true);
	fixture_step(p.world);
	fixture_step(p.world);
	CHECK(carom_world_pairs(p.world).count > 0);
	const int32_t pairs = carom_world_pairs(p.world).count;
	// It rests as well.
	REQUIRE(carom_world_set_asleep(p.world, 1, &lift, true) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK_INT(carom_world_events(p.world).count, 0);
	REQUIRE(carom_world_set_asleep(p.world, 1, &lift, false) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK_INT(carom_world_pairs(p.world).count, pairs);
	CHECK_INT(count_events(p.world, CAROM_EVENT_PERSIST), pairs);
	close_pile(&p);
}

/// The call of a number on a body at a pose. The first one puts it where it is.
static carom_result change_crate(carom_world *world, carom_body_id id, int call, carom_pose pose)
{
	carom_body_def def;
	const carom_shape shape = fixture_box(0.5, 0.5, 0.501);
	const carom_motion motion = { pose, pose };
	REQUIRE(carom_world_get_body_def(world, id, &def) == CAROM_SUCCESS);
	switch (call) {
	case 0: return carom_world_set_pose(world, id, &pose);
	case 1: pose.position.x += 0.01; return carom_world_set_pose(world, id, &pose);
	case 2: return carom_world_set_motions(world, 1, &id, &motion);
	case 3: return carom_world_set_filter(world, id, 1, UINT64_MAX, 0);
	case 4: return carom_world_set_traits(world, id, &def);
	default: return carom_world_set_shape(world, id, &shape);
	}
}

TEST(sleep, calls_that_change_a_body_wake_it)
{
	pile p;
	open_pile(&p);
	for (int call = 0; call < 6; call++) {
		bool asleep;
		carom_pose pose;
		const carom_body_id id = p.crates[0];
		REQUIRE(carom_world_get_pose(p.world, id, &pose) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_asleep(p.world, 1, &id, true) == CAROM_SUCCESS);
		fixture_step(p.world);
		CHECK_INT(change_crate(p.world, id, call, pose), CAROM_SUCCESS);
		REQUIRE(carom_world_get_asleep(p.world, 1, &id, &asleep) == CAROM_SUCCESS);
		CHECK_INT(asleep, call == 0);
		fixture_step(p.world);
		CHECK_INT(carom_world_pairs(p.world).count, call == 0 ? CRATES - 1 : CRATES);
	}
	close_pile(&p);
}

// ---- Misuse, memory ----

TEST(sleep, wrong_calls_are_refused)
{
	pile p;
	open_pile(&p);
	carom_mesh *sheet = fixture_sheet_mesh(p.context, 3, 2);
	carom_body_id ids[2] = { p.crates[0], fixture_add(p.world, fixture_of_mesh(sheet), fixture_at(0, 0, 20), CAROM_CLOTH) };
	bool asleep[2] = { true, true };
	fixture_expect_wrong(
		p.context, carom_world_set_asleep(p.world, 2, ids, true), "ids[1] names a body whose kind is CAROM_CLOTH");
	REQUIRE(carom_world_get_asleep(p.world, 2, ids, asleep) == CAROM_SUCCESS);
	CHECK(!asleep[0] && !asleep[1]);
	ids[1] = p.floor;
	fixture_expect_wrong(p.context, carom_world_set_asleep(p.world, 2, ids, true), "CAROM_STATIC");
	fixture_expect_wrong(p.context, carom_world_set_asleep(p.world, -1, ids, true), "count is -1");
	fixture_expect_wrong(p.context, carom_world_set_asleep(p.world, 1, NULL, true), "ids is NULL");
	fixture_expect_wrong(p.context, carom_world_get_asleep(p.world, 1, ids, NULL), "asleep is NULL");
	ids[1].generation++;
	fixture_expect_error(p.context, carom_world_set_asleep(p.world, 2, ids, true), CAROM_INVALID_BODY, "ids[1]");
	fixture_expect_error(p.context, carom_world_get_asleep(p.world, 2, ids, asleep), CAROM_INVALID_BODY, "ids[1]");
	CHECK_INT(carom_world_set_asleep(p.world, 0, NULL, true), CAROM_SUCCESS);
	carom_release_mesh(sheet);
	close_pile(&p);
}

/// A step whose rows fall asleep, or wake, fails for each of its allocations, and may be made again.
static void fail_turn(bool wakes)
{
	fixture_heap heap;
	failing_calls calls = failing_calls_of_preset();
	carom_context *context = fixture_heap_context(&heap, 1);
	for (bool failed = true; failed;) {
		pile p;
		open_pile_in(&p, context);
		fixture_step(p.world);
		fixture_step(p.world);
		put_pile(&p, true);
		if (wakes)
			fixture_step(p.world);
		put_pile(&p, !wakes);
		const int32_t shown = carom_world_pairs(p.world).count;
		fixture_begin_failing(&heap, &calls);
		const carom_result result = carom_world_step(p.world);
		failed = fixture_end_failing(&heap);
		if (result != CAROM_SUCCESS) {
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK_INT(carom_world_pairs(p.world).count, shown);
			fixture_step(p.world);
		}
		CHECK_INT(carom_world_pairs(p.world).count, wakes ? CRATES : 0);
		CHECK_INT(carom_world_events(p.world).count, wakes ? CRATES : 0);
		CHECK_INT(count_events(p.world, CAROM_EVENT_PERSIST), wakes ? CRATES : 0);
		put_pile(&p, false);
		fixture_step(p.world);
		CHECK_INT(count_events(p.world, CAROM_EVENT_PERSIST), CRATES);
		CHECK_INT(carom_world_pairs(p.world).data[0].age, wakes ? 4 : 3);
		carom_destroy_world(p.world);
		carom_release_mesh(p.cube);
	}
	carom_destroy_context(context);
	failing_calls_free(&calls);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

TEST(sleep, a_step_without_memory_leaves_all_pairs_where_they_are)
{
	fail_turn(false);
	fail_turn(true);
}

// ---- Snapshots and recordings ----

static void wake_and_hash(pile *p, uint64_t hashes[3])
{
	put_pile(p, false);
	for (int k = 0; k < 3; k++) {
		fixture_step(p->world);
		hashes[k] = carom_world_hash(p->world);
	}
}

TEST(sleep, snapshots_hold_it)
{
	pile p;
	open_pile(&p);
	carom_snapshot *saved, *again;
	REQUIRE(carom_create_snapshot(p.world, &saved) == CAROM_SUCCESS && carom_create_snapshot(p.world, &again) == CAROM_SUCCESS);
	put_pile(&p, true);
	REQUIRE(carom_world_save(p.world, again) == CAROM_SUCCESS);
	fixture_step(p.world);
	REQUIRE(carom_world_save(p.world, saved) == CAROM_SUCCESS);
	CHECK(carom_snapshot_hash(saved) != carom_snapshot_hash(again));
	uint64_t first[3], second[3];
	fixture_tape tape = { 0 };
	REQUIRE(carom_snapshot_save(saved, fixture_write_tape, &tape) == CAROM_SUCCESS);
	for (int round = 0; round < 2; round++) {
		fixture_step(p.world);
		CHECK_INT(carom_world_pairs(p.world).count, 0);
		wake_and_hash(&p, first);
		CHECK_INT(carom_world_pairs(p.world).data[0].age, 6);
		if (round == 0) {
			REQUIRE(carom_world_restore(p.world, saved) == CAROM_SUCCESS);
		} else {
			REQUIRE(carom_snapshot_load(again, tape.bytes, tape.count) == CAROM_SUCCESS);
			REQUIRE(carom_world_restore(p.world, again) == CAROM_SUCCESS);
		}
		REQUIRE(carom_world_save(p.world, again) == CAROM_SUCCESS);
		carom_snapshot_difference difference;
		CHECK(!carom_snapshots_differ(saved, again, &difference));
		CHECK_INT(carom_snapshot_hash(again), carom_snapshot_hash(saved));
		fixture_step(p.world);
		CHECK_INT(carom_world_pairs(p.world).count, 0);
		CHECK_INT(carom_world_events(p.world).count, 0);
		wake_and_hash(&p, second);
		CHECK(memcmp(first, second, sizeof first) == 0);
		CHECK_INT(count_events(p.world, CAROM_EVENT_PERSIST), CRATES);
		CHECK_INT(carom_world_pairs(p.world).data[0].age, 6);
		REQUIRE(carom_world_restore(p.world, saved) == CAROM_SUCCESS);
	}
	free(tape.bytes);
	carom_destroy_snapshot(saved);
	carom_destroy_snapshot(again);
	close_pile(&p);
}

TEST(sleep, recordings_hold_it)
{
	for (int begin = 0; begin < 3; begin++) { // before it sleeps, between the call and the step, while it sleeps
		pile p;
		fixture_tape tape = { 0 };
		carom_replay_result result;
		open_pile(&p);
		if (begin == 0)
			REQUIRE(carom_world_record(p.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		REQUIRE(
			carom_world_set_pose(p.world, p.crates[5], &(carom_pose){ { 0.01, 0, 5.488 }, { 0, 0, 0, 1 } }) == CAROM_SUCCESS);
		put_pile(&p, true);
		if (begin == 1)
			REQUIRE(carom_world_record(p.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		fixture_step(p.world);
		CHECK_INT(carom_world_pairs(p.world).count, 1); // of the one that was moved
		if (begin == 2)
			REQUIRE(carom_world_record(p.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		fixture_step(p.world);
		CHECK_INT(carom_world_pairs(p.world).count, 0);
		REQUIRE(carom_world_set_asleep(p.world, 2, p.crates, false) == CAROM_SUCCESS);
		fixture_step(p.world);
		CHECK_INT(carom_world_pairs(p.world).count, 3);
		REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
		CHECK_INT(carom_replay_recording(p.context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
		CHECK_INT(result.steps, begin == 2 ? 2 : 3);
		CHECK_INT(result.first_difference, -1);
		free(tape.bytes);
		close_pile(&p);
	}
}
