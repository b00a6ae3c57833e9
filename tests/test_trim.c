/// Memory of what lives: many bodies removed in one call (carom_world_remove_bodies), memory given back (carom_world_trim), and worlds
/// at their memory_budget that have been emptied.
#include "carom/carom.h"
#include "fixture.h"
#include "test.h"
#include "world/trim.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 400, WORLDS = 2, STEPS = TEST_FEWER > 1 ? 12 : 30 };

typedef struct meshes {
	carom_mesh *torus, *sphere, *sheet;
} meshes;

/// Worlds that are treated alike; one of them gets the call that is tested.
typedef struct twins {
	carom_context *context;
	meshes m;
	carom_world *world[WORLDS];
	carom_body_id ids[MOST];
	int count;
	uint64_t seed;
} twins;

static twins make_twins(int threads, const carom_world_def *def, uint64_t seed)
{
	twins t = { .context = fixture_context(threads), .seed = seed };
	t.m = (meshes){ fixture_torus_mesh(t.context, 12, 8, 0.4, 0.1), fixture_sphere_mesh(t.context, 0.5, 8),
		fixture_sheet_mesh(t.context, 6, 2) };
	for (int w = 0; w < WORLDS; w++) {
		t.world[w] = fixture_world(t.context, def);
		REQUIRE(carom_world_set_body_pairs(t.world[w], true, 0) == CAROM_SUCCESS);
	}
	return t;
}

static void end_twins(twins *t)
{
	for (int w = 0; w < WORLDS; w++)
		carom_destroy_world(t->world[w]);
	carom_release_mesh(t->m.torus);
	carom_release_mesh(t->m.sphere);
	carom_release_mesh(t->m.sheet);
	carom_destroy_context(t->context);
}

static carom_shape random_shape(const meshes *m, uint64_t *seed)
{
	switch (test_random(seed) % 6) {
	case 0: return fixture_sphere(0.4);
	case 1: return fixture_box(0.3, 0.4, 0.3 + 0.1 * (double)(test_random(seed) % 3));
	case 2: return fixture_capsule(0.2, 0.4);
	case 3: return fixture_cone(0.3, 0.3);
	case 4: return fixture_of_mesh(m->sphere);
	default: return fixture_of_mesh(m->torus);
	}
}

enum { MOST_PARTS = 4, GRAINS = 12 };

/// A body of any kind; deforming: such bodies too.
static void add_random(twins *t, bool deforming)
{
	carom_body_def def = carom_default_body_def();
	carom_part parts[MOST_PARTS];
	double grains[4 * GRAINS];
	def.pose = fixture_random_pose(&t->seed, 2.5);
	def.user_data = test_random(&t->seed);
	def.continuous = test_random(&t->seed) % 6 == 0;
	const int kind = (int)(test_random(&t->seed) % (deforming ? 12 : 8));
	if (kind < 3) {
		def.part_count = 1 + (int32_t)(test_random(&t->seed) % MOST_PARTS);
		for (int32_t i = 0; i < def.part_count; i++)
			parts[i] = (carom_part){ random_shape(&t->m, &t->seed), fixture_random_pose(&t->seed, 0.5), 0 };
		def.parts = parts;
	} else if (kind < 9) {
		def.shape = random_shape(&t->m, &t->seed);
	} else if (kind < 11) {
		def.continuous = false;
		def.kind = kind == 9 ? CAROM_CLOTH : CAROM_DEFORMABLE;
		def.thickness = kind == 9 ? 0.05 : 0;
		def.shape = fixture_of_mesh(kind == 9 ? t->m.sheet : t->m.sphere);
	} else {
		def.kind = CAROM_GRANULAR;
		for (int i = 0; i < 4 * GRAINS; i++)
			grains[i] = i % 4 == 3 ? 0.2 : test_random_double(&t->seed, -1, 1);
		def.sphere_count = GRAINS;
		def.centres = (carom_strided){ grains, 4 * sizeof(double), CAROM_FLOAT64 };
		def.radii = (carom_strided){ grains + 3, 4 * sizeof(double), CAROM_FLOAT64 };
	}
	carom_body_id ids[WORLDS];
	for (int w = 0; w < WORLDS; w++)
		REQUIRE(carom_world_add_body(t->world[w], &def, &ids[w]) == CAROM_SUCCESS);
	REQUIRE(fixture_same_id(ids[0], ids[1]));
	REQUIRE(t->count < MOST);
	t->ids[t->count++] = ids[0];
}

/// Take some bodies out of the list: they are written to removed. Returns how many.
static int choose(twins *t, int one_in, carom_body_id removed[MOST])
{
	int count = 0, left = 0;
	for (int i = 0; i < t->count; i++) {
		if (test_random(&t->seed) % (uint64_t)one_in == 0)
			removed[count++] = t->ids[i];
		else
			t->ids[left++] = t->ids[i];
	}
	t->count = left;
	for (int i = count - 1; i > 0; i--) {
		const int k = (int)(test_random(&t->seed) % (uint64_t)(i + 1));
		const carom_body_id id = removed[i];
		removed[i] = removed[k];
		removed[k] = id;
	}
	return count;
}

static void move_some(twins *t)
{
	for (int i = 0; i < t->count; i++) {
		carom_body_def def;
		REQUIRE(carom_world_get_body_def(t->world[0], t->ids[i], &def) == CAROM_SUCCESS);
		if (def.kind != CAROM_DYNAMIC || test_random(&t->seed) % 2)
			continue;
		const double by = test_random(&t->seed) % 6 ? 0.01 : 0.5;
		def.pose.position.x += test_random_double(&t->seed, -by, by);
		for (int w = 0; w < WORLDS; w++)
			CHECK_INT(carom_world_set_pose(t->world[w], t->ids[i], &def.pose), CAROM_SUCCESS);
	}
}

/// Everything of the last step that may not depend on memory.
static void check_equal(const twins *t)
{
	const carom_world *a = t->world[0], *b = t->world[1];
	CHECK(carom_world_hash(a) == carom_world_hash(b));
	const carom_contact_view ca = carom_world_contacts(a), cb = carom_world_contacts(b);
	const carom_event_view ea = carom_world_events(a), eb = carom_world_events(b);
	const carom_body_pair_view pa = carom_world_body_pairs(a), pb = carom_world_body_pairs(b);
	REQUIRE(CHECK_INT(ca.count, cb.count) && CHECK_INT(ea.count, eb.count) && CHECK_INT(pa.count, pb.count));
	for (int32_t i = 0; i < ca.count; i++)
		CHECK(ca.data[i].age == cb.data[i].age && ca.data[i].impulse[0] == cb.data[i].impulse[0]);
	for (int32_t i = 0; i < ea.count; i++)
		CHECK(ea.data[i].kind == eb.data[i].kind && ea.data[i].pair_data == eb.data[i].pair_data);
	for (int32_t i = 0; i < pa.count; i++)
		CHECK(pa.data[i].age == pb.data[i].age && pa.data[i].contact_count == pb.data[i].contact_count);
	const carom_stats sa = carom_world_stats(a), sb = carom_world_stats(b);
	CHECK_INT(sa.rays_full, sb.rays_full);
	CHECK_INT(sa.pairs_full, sb.pairs_full);
	CHECK_INT(sa.pairs_iterative, sb.pairs_iterative);
	CHECK_INT(sa.pairs_apart, sb.pairs_apart);
	CHECK_INT(sa.vertices_watched, sb.vertices_watched);
	CHECK_INT(carom_world_earliest_impact(a) != NULL, carom_world_earliest_impact(b) != NULL);
}

/// The same ray in both.
static void cast_ray(twins *t)
{
	const carom_ray ray = { { test_random_double(&t->seed, -2, 2), test_random_double(&t->seed, -2, 2), 9 }, { 0, 0, -1 }, 0,
		20 };
	carom_ray_hit hit[WORLDS] = { 0 };
	bool found[WORLDS];
	for (int w = 0; w < WORLDS; w++)
		REQUIRE(carom_world_cast_ray(t->world[w], &ray, NULL, &found[w], &hit[w]) == CAROM_SUCCESS);
	CHECK(found[0] == found[1] && hit[0].t == hit[1].t && fixture_same_id(hit[0].body, hit[1].body));
}

static void step_both(twins *t)
{
	for (int w = 0; w < WORLDS; w++) {
		fixture_step(t->world[w]);
		const int32_t contacts = carom_world_contacts(t->world[w]).count;
		const float impulse[3] = { 1, 2, 3 };
		for (int32_t i = 0; i < contacts; i += 3)
			CHECK_INT(carom_world_set_impulse(t->world[w], i, impulse), CAROM_SUCCESS);
	}
	check_equal(t);
}

// ---- Many bodies ----

static void remove_both_ways(twins *t, int one_in)
{
	carom_body_id removed[MOST];
	const int count = choose(t, one_in, removed);
	for (int i = 0; i < count; i++)
		CHECK_INT(carom_world_remove_body(t->world[0], removed[i]), CAROM_SUCCESS);
	CHECK_INT(carom_world_remove_bodies(t->world[1], count, removed), CAROM_SUCCESS);
	CHECK_INT(carom_world_body_count(t->world[0]), carom_world_body_count(t->world[1]));
	for (int i = 0; i < count; i++)
		CHECK(!carom_world_is_body(t->world[1], removed[i]));
	// The numbers that are free, in the order in which they are given out.
	const carom_world *a = t->world[0], *b = t->world[1];
	REQUIRE(CHECK_INT(a->free_bodies.count, b->free_bodies.count) && CHECK_INT(a->free_ranges.count, b->free_ranges.count));
	for (int64_t i = 0; i < a->free_bodies.count; i++)
		CHECK_INT(a->free_bodies.data[i], b->free_bodies.data[i]);
	for (int64_t i = 0; i < a->free_ranges.count; i++)
		CHECK(a->free_ranges.data[i].first == b->free_ranges.data[i].first &&
			a->free_ranges.data[i].count == b->free_ranges.data[i].count);
}

TEST(remove_bodies, is_as_removing_one_by_one)
{
	enum { MORE = TEST_FEWER > 1 ? 4 : 2 };
	for (int one_in = 1; one_in <= 9; one_in += MORE) {
		twins t = make_twins(1, NULL, (uint64_t)one_in);
		for (int round = 0; round < (TEST_FEWER > 1 ? 1 : 3); round++) {
			// With more than 32 bodies of several parts among them, and with fewer.
			while (t.count < 200)
				add_random(&t, true);
			step_both(&t);
			remove_both_ways(&t, one_in);
			cast_ray(&t);
			for (int i = 0; i < 20; i++)
				add_random(&t, true);
			step_both(&t);
		}
		end_twins(&t);
	}
}

TEST(remove_bodies, refuses_all_for_a_bad_id)
{
	twins t = make_twins(1, NULL, 3);
	for (int i = 0; i < 60; i++)
		add_random(&t, true);
	carom_world *w = t.world[1];
	carom_body_id ids[4] = { t.ids[5], t.ids[7], t.ids[5], t.ids[9] };
	fixture_expect_error(t.context, carom_world_remove_bodies(w, 4, ids), CAROM_INVALID_BODY,
		"carom_world_remove_bodies: ids[2] names the body of ids[0] again");
	ids[2] = (carom_body_id){ t.ids[5].index1, t.ids[5].generation + 1 };
	fixture_expect_error(t.context, carom_world_remove_bodies(w, 4, ids), CAROM_INVALID_BODY,
		"carom_world_remove_bodies: ids[2]: no body has the id");
	ids[3] = (carom_body_id){ 0, 0 };
	ids[2] = t.ids[11];
	fixture_expect_error(t.context, carom_world_remove_bodies(w, 4, ids), CAROM_INVALID_BODY,
		"carom_world_remove_bodies: ids[3]: the body id is null");
	fixture_expect_wrong(t.context, carom_world_remove_bodies(w, -1, ids), "carom_world_remove_bodies: count is -1");
	fixture_expect_wrong(t.context, carom_world_remove_bodies(w, 1, NULL), "carom_world_remove_bodies: ids is NULL");
	CHECK_INT(carom_world_remove_bodies(w, 0, NULL), CAROM_SUCCESS);
	// None of these has removed a body.
	CHECK_INT(carom_world_body_count(w), t.count);
	step_both(&t);
	end_twins(&t);
}

TEST(remove_bodies, takes_no_memory)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_id ids[MOST];
	const carom_part parts[2] = { { fixture_sphere(1), fixture_at(0, 0, 0), 0 }, { fixture_sphere(1), fixture_at(1, 0, 0), 0 } };
	for (int i = 0; i < MOST; i++) {
		carom_body_def def = carom_default_body_def();
		def.parts = i % 2 ? parts : NULL;
		def.part_count = i % 2 ? 2 : 0;
		def.shape = i % 2 ? def.shape : fixture_sphere(1);
		REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
	}
	fixture_step(world);
	const long long calls = atomic_load(&heap.calls);
	CHECK_INT(carom_world_remove_bodies(world, MOST, ids), CAROM_SUCCESS);
	CHECK_INT(atomic_load(&heap.calls), calls);
	CHECK_INT(carom_world_body_count(world), 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Trimming ----

/// A life in which the second world is trimmed at times, and the first one only gives up the numbers that a trim gives up.
static void live(twins *t, bool deforming)
{
	carom_body_id removed[MOST];
	for (int step = 0; step < STEPS; step++) {
		const int wanted = step % 10 < 5 ? 90 : 20;
		while (t->count < wanted)
			add_random(t, deforming);
		if (step % 5 == 4) {
			const int count = choose(t, 2, removed);
			for (int w = 0; w < WORLDS; w++)
				CHECK_INT(carom_world_remove_bodies(t->world[w], count, removed), CAROM_SUCCESS);
		}
		const bool trims = test_random(&t->seed) % 3 == 0, early = test_random(&t->seed) % 2;
		if (!early)
			move_some(t);
		if (trims) {
			cr_trim_numbers(t->world[0]);
			CHECK_INT(carom_world_trim(t->world[1]), CAROM_SUCCESS);
		}
		if (early)
			move_some(t);
		if (step % 2)
			cast_ray(t);
		step_both(t);
	}
}

TEST(trim, leaves_later_steps_as_they_are)
{
	enum { EVERY = TEST_FEWER > 1 ? 5 : 1 };
	for (int i = 0; i < 6; i += EVERY) {
		carom_world_def def = carom_default_world_def();
		def.temporal = (carom_temporal)(i % 3);
		def.broad_phase = i % 2 ? CAROM_BROAD_SWEEP : CAROM_BROAD_TREE;
		def.speculative_distance = i == 4 ? 0.05 : 0;
		twins t = make_twins(i < 3 ? 1 : 3, &def, (uint64_t)i + 1);
		live(&t, i % 2 == 0);
		end_twins(&t);
	}
}

TEST(trim, is_not_seen_where_no_number_is_free)
{
	twins t = make_twins(1, NULL, 11);
	for (int i = 0; i < 60; i++)
		add_random(&t, true);
	for (int step = 0; step < 8; step++) {
		move_some(&t);
		step_both(&t);
		CHECK_INT(carom_world_trim(t.world[1]), CAROM_SUCCESS);
		check_equal(&t); // the views are as they were
		add_random(&t, true);
	}
	end_twins(&t);
}

TEST(trim, ids_of_removed_bodies_stay_void)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_id old[64], id;
	int count = 0;
	for (int round = 0; round < 4; round++) {
		carom_body_id now[16];
		for (int i = 0; i < 16; i++)
			now[i] = old[count++] = fixture_add(world, fixture_sphere(1), fixture_at(3 * i, 0, 0), CAROM_DYNAMIC);
		// Number 3 lives on; those behind it are given up.
		CHECK_INT(carom_world_remove_bodies(world, 3, now), CAROM_SUCCESS);
		CHECK_INT(carom_world_remove_bodies(world, 12, now + 4), CAROM_SUCCESS);
		CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
		CHECK(carom_world_is_body(world, now[3]));
		CHECK_INT(world->bodies.count, now[3].index1);
		for (int i = 0; i < count; i++)
			CHECK_INT(carom_world_is_body(world, old[i]), i == count - 13);
		// The lowest free number comes first.
		id = fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 9), CAROM_DYNAMIC);
		CHECK_INT(id.index1, 1);
		for (int i = 0; i < count; i++)
			CHECK(!fixture_same_id(id, old[i]));
		const carom_body_id both[2] = { now[3], id };
		CHECK_INT(carom_world_remove_bodies(world, 2, both), CAROM_SUCCESS);
		CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
		CHECK_INT(world->bodies.count, 0);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Bytes of a world in which the first `count` bodies of a row have been stepped.
static size_t bytes_of_fresh(carom_context *context, int count)
{
	carom_world *world = fixture_world(context, NULL);
	for (int i = 0; i < count; i++)
		fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(0.9 * i, 0, 0), CAROM_DYNAMIC);
	fixture_step(world);
	fixture_step(world);
	const size_t bytes = carom_world_stats(world).memory;
	carom_destroy_world(world);
	return bytes;
}

// A body with one part and room for more: its numbers are a free range once it is removed.
TEST(trim, keeps_room_for_the_numbers_of_parts_to_come)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_part part = { fixture_box(1, 1, 1), fixture_at(0, 0, 0), 0 };
	carom_body_def def = carom_default_body_def();
	def.parts = &part;
	def.part_count = 1;
	def.part_room = 4;
	carom_body_id id, again;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	REQUIRE(carom_world_trim(world) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(world, id) == CAROM_SUCCESS);
	REQUIRE(carom_world_add_body(world, &def, &again) == CAROM_SUCCESS);
	CHECK_INT(again.index1, id.index1);
	CHECK(!carom_world_is_body(world, id));
	fixture_step(world);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(trim, memory_is_of_what_lives)
{
	enum { MANY = 4000, FEW = 10 };
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_id *ids = malloc(MANY * sizeof *ids);
	REQUIRE(ids);
	for (int i = 0; i < MANY; i++)
		ids[i] = fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(0.9 * i, 0, 0), CAROM_DYNAMIC);
	fixture_step(world);
	fixture_step(world);
	const size_t full = carom_world_stats(world).memory;
	CHECK_INT(carom_world_remove_bodies(world, MANY - FEW, ids + FEW), CAROM_SUCCESS);
	for (int i = 0; i < 3; i++)
		fixture_step(world);
	CHECK(carom_world_stats(world).memory > full / 2);
	CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
	const size_t fresh = bytes_of_fresh(context, FEW);
	CHECK(carom_world_stats(world).memory <= fresh);
	fixture_step(world);
	fixture_step(world);
	// The lists of a step grow in other portions than those of a fresh world.
	CHECK(carom_world_stats(world).memory <= fresh + 16384);
	free(ids);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A row of boxes up to the first that the budget refuses, with steps between. Returns how many.
static int fill_up(carom_world *world, carom_body_id *ids, int most, carom_body_kind kind)
{
	carom_body_def def = carom_default_body_def();
	def.kind = kind;
	def.shape = fixture_box(0.5, 0.5, 0.5);
	for (int i = 0; i < most; i++) {
		def.pose.position = (carom_vec3){ 0.9 * (i % 100), i / 100, 0 };
		if (carom_world_add_body(world, &def, &ids[i]) != CAROM_SUCCESS)
			return i;
		if (i % 100 == 99 && carom_world_step(world) != CAROM_SUCCESS)
			return i + 1;
	}
	return most;
}

/// The room that a step of a nearly empty world needs at most: for the results of the last good step, and scratch as long as these;
/// for the records of bodies up to the highest number; and for the first step of any world.
static size_t needed(const carom_world *world)
{
	const size_t results = (size_t)carom_world_contacts(world).count * sizeof(carom_contact) +
		(size_t)carom_world_pairs(world).count * sizeof(carom_pair) +
		(size_t)carom_world_events(world).count * sizeof(carom_event);
	return 2 * results + (size_t)world->bodies.count * (sizeof(cr_body) + 16) + 200000;
}

static void step_if_there_is_room(carom_world *world, size_t budget, int *steps)
{
	if (needed(world) > budget)
		return;
	*steps += 1;
	if (!CHECK_INT(carom_world_step(world), CAROM_SUCCESS))
		printf("budget %zu of which %zu are needed: %s\n", budget, needed(world), carom_error_text(carom_world_context(world)));
}

TEST(trim, a_world_at_its_budget_steps_again_once_it_is_emptied)
{
	enum { MANY = 60000 };
	carom_context *context = fixture_context(1);
	carom_body_id *ids = malloc(MANY * sizeof *ids);
	REQUIRE(ids);
	uint64_t seed = 7;
	int steps = 0, trimmed = 0;
	for (int i = 0; i < (TEST_FEWER > 1 ? 3 : 12); i++) {
		carom_world_def def = carom_default_world_def();
		def.memory_budget = 300000 + test_random(&seed) % 6000000;
		def.broad_phase = i % 2 ? CAROM_BROAD_SWEEP : CAROM_BROAD_TREE;
		carom_world *world = fixture_world(context, &def);
		const int count = fill_up(world, ids, MANY, i % 3 ? CAROM_DYNAMIC : CAROM_STATIC);
		CHECK(count < MANY);
		const int left = (int)(test_random(&seed) % 12);
		REQUIRE(carom_world_remove_bodies(world, count - left, ids + left) == CAROM_SUCCESS);
		// Without a call of its own the world keeps the numbers of its bodies, and steps.
		step_if_there_is_room(world, def.memory_budget, &steps);
		CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
		step_if_there_is_room(world, def.memory_budget, &trimmed);
		// Trimmed once more it has room for as many bodies as a fresh world, less a fiftieth.
		CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
		carom_world *fresh = fixture_world(context, &def);
		carom_body_id *others = malloc(MANY * sizeof *others);
		REQUIRE(others);
		const int first = fill_up(fresh, others, MANY, CAROM_DYNAMIC), again = fill_up(world, ids, MANY, CAROM_DYNAMIC);
		if (!CHECK(again + left >= first - first / 50 - 100))
			printf("budget %zu, broad phase %d: %d bodies, %d of them left; then %d more, but %d in a fresh world\n",
				def.memory_budget, (int)def.broad_phase, count, left, again, first);
		CHECK(carom_world_stats(world).memory_peak <= def.memory_budget);
		free(others);
		carom_destroy_world(fresh);
		carom_destroy_world(world);
	}
	CHECK(steps >= (TEST_FEWER > 1 ? 1 : 6) && trimmed >= (TEST_FEWER > 1 ? 2 : 10));
	free(ids);
	carom_destroy_context(context);
}

TEST(trim, recordings_hold_it)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_id ids[40];
	for (int i = 0; i < 40; i++)
		ids[i] = fixture_add(world, fixture_sphere(0.6), fixture_at(i % 8, i / 8, 0), CAROM_DYNAMIC);
	// Ids that begin with a later generation are a part of the state.
	CHECK_INT(carom_world_remove_bodies(world, 10, ids + 30), CAROM_SUCCESS);
	CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
	fixture_tape tape = { 0 };
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	for (int step = 0; step < 6; step++) {
		CHECK_INT(carom_world_remove_bodies(world, 3, ids + 3 * step), CAROM_SUCCESS);
		if (step % 2)
			CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
		fixture_add(world, fixture_sphere(0.6), fixture_at(step, 3, 0.5), CAROM_DYNAMIC);
		fixture_step(world);
	}
	CHECK_INT(carom_world_record(world, NULL, NULL), CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 6);
	CHECK_INT(result.first_difference, -1);
	free(tape.bytes);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(trim, snapshots_from_before_bring_the_old_numbers_back)
{
	twins t = make_twins(1, NULL, 21);
	for (int i = 0; i < 80; i++)
		add_random(&t, true);
	step_both(&t);
	carom_snapshot *saved;
	REQUIRE(carom_create_snapshot(t.world[1], &saved) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(t.world[1], saved) == CAROM_SUCCESS);
	const uint64_t hash = carom_snapshot_hash(saved);
	CHECK_INT(carom_world_remove_bodies(t.world[1], 60, t.ids + 20), CAROM_SUCCESS);
	CHECK_INT(carom_world_trim(t.world[1]), CAROM_SUCCESS);
	fixture_add(t.world[1], fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	fixture_step(t.world[1]);
	REQUIRE(carom_world_save(t.world[1], saved) == CAROM_SUCCESS);
	CHECK(carom_snapshot_hash(saved) != hash);
	carom_destroy_snapshot(saved);
	end_twins(&t);

	t = make_twins(1, NULL, 22);
	for (int i = 0; i < 80; i++)
		add_random(&t, true);
	step_both(&t);
	REQUIRE(carom_create_snapshot(t.world[1], &saved) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(t.world[1], saved) == CAROM_SUCCESS);
	CHECK_INT(carom_world_remove_bodies(t.world[1], 60, t.ids + 20), CAROM_SUCCESS);
	CHECK_INT(carom_world_trim(t.world[1]), CAROM_SUCCESS);
	fixture_step(t.world[1]);
	CHECK_INT(carom_world_restore(t.world[1], saved), CAROM_SUCCESS);
	for (int step = 0; step < 5; step++) {
		move_some(&t);
		step_both(&t);
		add_random(&t, true);
	}
	carom_destroy_snapshot(saved);
	end_twins(&t);
}

TEST(trim, may_lack_memory_for_copies)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 8, 0.4, 0.1);
	uint64_t expected = 0;
	// Without failures first; then each allocation of the trim fails, and those behind it.
	for (long long fails = -1; fails < 40; fails++) {
		carom_world *world = fixture_world(context, NULL);
		for (int i = 0; i < 40; i++)
			fixture_add(
				world, i % 2 ? fixture_of_mesh(mesh) : fixture_box(0.4, 0.4, 0.4), fixture_at(0.5 * i, 0, 0), CAROM_DYNAMIC);
		for (int i = 0; i < 3; i++)
			fixture_step(world);
		atomic_store(&heap.fail_at, fails < 0 ? -1 : atomic_load(&heap.calls) + fails);
		atomic_store(&heap.fail_on, fails >= 0);
		CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
		atomic_store(&heap.fail_at, -1);
		atomic_store(&heap.fail_on, false);
		fixture_step(world);
		if (fails < 0)
			expected = carom_world_hash(world);
		CHECK(carom_world_hash(world) == expected);
		fixture_check_views(world);
		carom_destroy_world(world);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.bytes), 0);
}

// ---- Snapshots ----

TEST(trim, snapshots_are_as_large_as_what_lives)
{
	enum { MANY = 3000, FEW = 10 };
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_id *ids = malloc(MANY * sizeof *ids);
	REQUIRE(ids);
	for (int i = 0; i < MANY; i++)
		ids[i] = fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(2 * i, 0, 0), i % 2 ? CAROM_STATIC : CAROM_DYNAMIC);
	fixture_step(world);
	// Those that stay are strewn over all numbers.
	int left = 0;
	for (int i = 0; i < MANY; i++) {
		if (i % (MANY / FEW) == 7)
			continue;
		ids[left++] = ids[i];
	}
	CHECK_INT(carom_world_remove_bodies(world, left, ids), CAROM_SUCCESS);
	fixture_step(world);
	carom_snapshot *saved;
	REQUIRE(carom_create_snapshot(world, &saved) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(world, saved) == CAROM_SUCCESS);
	CHECK(carom_snapshot_memory(saved) < FEW * 400 + MANY * 8 + 4096);
	// It brings back all of them, and gives out the ids that it gave.
	const carom_body_id next = fixture_add(world, fixture_sphere(1), fixture_at(0, 9, 0), CAROM_DYNAMIC);
	carom_body_id before[FEW], after[FEW];
	REQUIRE(carom_world_remove_body(world, next) == CAROM_SUCCESS);
	CHECK_INT(carom_world_body_ids(world, FEW, before), FEW);
	CHECK_INT(carom_world_remove_bodies(world, FEW, before), CAROM_SUCCESS);
	CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
	CHECK_INT(carom_world_restore(world, saved), CAROM_SUCCESS);
	CHECK_INT(carom_world_body_ids(world, FEW, after), FEW);
	for (int i = 0; i < FEW; i++)
		CHECK(fixture_same_id(before[i], after[i]));
	CHECK(fixture_same_id(fixture_add(world, fixture_sphere(1), fixture_at(0, 9, 0), CAROM_DYNAMIC), next));
	fixture_step(world);
	free(ids);
	carom_destroy_snapshot(saved);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Room ahead ----

enum { ROOM_BODIES = 300, ROOM_PAIRS = 8000, ROOM_CONTACTS = 12000 };

static carom_shape volume_of(int i, const carom_mesh *hull)
{
	switch (i % 5) {
	case 0: return fixture_sphere(0.5);
	case 1: return fixture_box(0.4, 0.5, 0.3);
	case 2: return fixture_capsule(0.3, 0.4);
	case 3: return fixture_cylinder(0.4, 0.4);
	default: return fixture_hull(hull);
	}
}

/// A heap of volumes on a plane, moved and stepped. Returns how many allocations the steps took.
static long long play_volumes(fixture_heap *heap, carom_world *world, const carom_mesh *hull)
{
	carom_body_id ids[ROOM_BODIES];
	uint64_t seed = 3;
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -0.2), CAROM_STATIC);
	for (int i = 1; i < ROOM_BODIES; i++)
		ids[i] = fixture_add(world, volume_of(i, hull), fixture_at(0.8 * (i % 7), 0.8 * (i / 7 % 7), 0.7 * (i / 49)),
			i % 6 ? CAROM_DYNAMIC : CAROM_STATIC);
	long long taken = 0;
	for (int step = 0; step < 8; step++) {
		for (int i = 1; i < ROOM_BODIES; i++) {
			carom_pose pose = fixture_random_pose(&seed, 0.05);
			pose.position.x += 0.8 * (i % 7);
			pose.position.y += 0.8 * (i / 7 % 7);
			pose.position.z += 0.7 * (i / 49);
			CHECK_INT(carom_world_set_pose(world, ids[i], &pose), CAROM_SUCCESS);
		}
		const long long before = atomic_load(&heap->calls);
		fixture_step(world);
		taken += atomic_load(&heap->calls) - before;
	}
	CHECK(carom_world_contacts(world).count > ROOM_BODIES);
	return taken;
}

/// Bodies asleep keep their contacts, ages and impulses through a trim, and wake as in a world that was not trimmed.
TEST(trim, bodies_asleep_stay_as_they_were)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 6, 0.4, 0.1);
	carom_world *worlds[2] = { fixture_world(context, NULL), fixture_world(context, NULL) };
	enum { COUNT = 12 };
	carom_body_id ids[2][COUNT];
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < COUNT; i++)
			ids[k][i] = fixture_add(worlds[k], i % 2 ? fixture_of_mesh(mesh) : fixture_box(0.4, 0.4, 0.4),
				fixture_at(0.6 * (i % 4), 0.5 * (i / 4), 0.02 * i), CAROM_DYNAMIC);
		for (int step = 0; step < 3; step++)
			fixture_step(worlds[k]);
		REQUIRE(carom_world_contacts(worlds[k]).count > 10);
		for (int i = 0; i < carom_world_contacts(worlds[k]).count; i++)
			REQUIRE(carom_world_set_impulse(worlds[k], i, (float[]){ (float)i, 0, 1 }) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_asleep(worlds[k], COUNT - 2, ids[k], true) == CAROM_SUCCESS);
		for (int step = 0; step < 3; step++)
			fixture_step(worlds[k]);
	}
	for (int round = 0; round < 6; round++) {
		CHECK_INT(carom_world_trim(worlds[0]), CAROM_SUCCESS);
		for (int k = 0; k < 2; k++) {
			if (round == 2 || round == 4)
				REQUIRE(carom_world_set_asleep(worlds[k], 5, ids[k] + round, false) == CAROM_SUCCESS);
			fixture_step(worlds[k]);
		}
		const carom_contact_view a = carom_world_contacts(worlds[0]), b = carom_world_contacts(worlds[1]);
		CHECK_INT(a.count, b.count);
		CHECK(carom_world_hash(worlds[0]) == carom_world_hash(worlds[1]));
		for (int i = 0; i < a.count && a.count == b.count; i++) {
			CHECK_INT(a.data[i].age, b.data[i].age);
			CHECK(memcmp(a.data[i].impulse, b.data[i].impulse, sizeof a.data[i].impulse) == 0);
		}
		CHECK_INT(carom_world_events(worlds[0]).count, carom_world_events(worlds[1]).count);
	}
	for (int k = 0; k < 2; k++)
		carom_destroy_world(worlds[k]);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(reserve, steps_of_volumes_take_no_memory)
{
	for (int i = 0; i < 4; i++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, i < 2 ? 1 : 2);
		const float points[15] = { 0.4f, 0, 0, -0.4f, 0.3f, 0, -0.4f, -0.3f, 0, 0, 0, 0.5f, 0, 0.1f, -0.4f };
		carom_mesh *hull = fixture_hull_mesh(context, points, 5);
		carom_world_def def = carom_default_world_def();
		def.broad_phase = i % 2 ? CAROM_BROAD_SWEEP : CAROM_BROAD_TREE;
		carom_world *plain = fixture_world(context, &def), *world = fixture_world(context, &def);
		CHECK(play_volumes(&heap, plain, hull) > 0);
		CHECK_INT(carom_world_reserve(world, ROOM_BODIES, ROOM_PAIRS, ROOM_CONTACTS), CAROM_SUCCESS);
		CHECK_INT(play_volumes(&heap, world, hull), 0);
		CHECK(carom_world_hash(world) == carom_world_hash(plain));
		// Bodies that go and come, and room that is made again, take none either.
		CHECK_INT(carom_world_reserve(world, ROOM_BODIES, ROOM_PAIRS, ROOM_CONTACTS), CAROM_SUCCESS);
		carom_destroy_world(plain);
		carom_destroy_world(world);
		carom_release_mesh(hull);
		carom_destroy_context(context);
	}
}

TEST(reserve, misuse_and_failures)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world_def def = carom_default_world_def();
	def.memory_budget = 1 << 20;
	carom_world *world = fixture_world(context, &def);
	fixture_expect_wrong(context, carom_world_reserve(world, -1, 0, 0), "carom_world_reserve: parts is -1");
	fixture_expect_wrong(context, carom_world_reserve(world, 0, -2, 0), "carom_world_reserve: pairs is -2");
	fixture_expect_wrong(context, carom_world_reserve(world, 0, 0, -3), "carom_world_reserve: contacts is -3");
	fixture_expect_error(
		context, carom_world_reserve(world, 100000, 0, 0), CAROM_OVER_BUDGET, "carom_world_reserve: needs more");
	CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
	CHECK_INT(carom_world_reserve(world, 0, 0, 0), CAROM_SUCCESS);
	for (int i = 0; i < 40; i++) {
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + i);
		const carom_result result = carom_world_reserve(world, 100, 100, 100);
		CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
		atomic_store(&heap.fail_at, -1);
		if (i % 2)
			CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
		const carom_body_id id = fixture_add(world, fixture_sphere(1), fixture_at(i, 0, 0), CAROM_DYNAMIC);
		fixture_step(world);
		CHECK(carom_world_is_body(world, id));
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

static bool trim_inside(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)a, (void)b, (void)user_data_a, (void)user_data_b;
	carom_world **world = user;
	return carom_world_trim(*world) == CAROM_INVALID_ARGUMENT &&
		carom_world_remove_bodies(*world, 1, &a) == CAROM_INVALID_ARGUMENT;
}

TEST(trim, is_refused_inside_a_step)
{
	carom_context *context = fixture_context(1);
	carom_world *world;
	carom_world_def def = carom_default_world_def();
	def.pair_filter = trim_inside;
	def.filter_user = &world;
	world = fixture_world(context, &def);
	fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	fixture_add(world, fixture_sphere(1), fixture_at(1, 0, 0), CAROM_DYNAMIC);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 1);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
