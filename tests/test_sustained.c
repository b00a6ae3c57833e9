/// A world that bodies come to and leave for a long time: what it holds must settle, and all of it must come back. The seed decides
/// everything, so the work is bounded and the same in every run.
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include <stdio.h>

enum { PLACES = 60, SHARED = 3, WARM_STEPS = 60, STEPS = TEST_FEWER > 1 ? 240 : 480 };

typedef struct crowd {
	carom_context *context;
	carom_world *world;
	carom_mesh *shared[SHARED];
	carom_body_id ids[PLACES];
	uint64_t seed;
	int64_t added, removed, contacts;
} crowd;

static double chance(crowd *c) { return test_random_double(&c->seed, 0, 1); }

static carom_vec3 place(crowd *c)
{
	const double side = 6;
	carom_vec3 p;
	p.x = side * chance(c);
	p.y = side * chance(c);
	p.z = side * chance(c);
	return p;
}

// A body of any shape: one of the shared meshes, a mesh of its own that goes with it, a basic volume, or now and then a cloth.
static void add(crowd *c, int i)
{
	carom_body_def def = carom_default_body_def();
	carom_mesh *own = NULL;
	const int kind = (int)(test_random(&c->seed) % 8);
	if (kind < 3) {
		def.shape = fixture_of_mesh(c->shared[kind]);
	} else if (kind == 3 || kind == 7) {
		own = kind == 3 ? fixture_torus_mesh(c->context, 8 + (int)(test_random(&c->seed) % 5), 6, 0.3, 0.2)
						: fixture_sheet_mesh(c->context, 3, 1);
		def.shape = fixture_of_mesh(own);
		def.kind = kind == 7 ? CAROM_CLOTH : CAROM_DYNAMIC;
	} else {
		def.shape = kind == 4 ? fixture_sphere(0.6) : kind == 5 ? fixture_box(0.5, 0.4, 0.6) : fixture_capsule(0.4, 0.5);
	}
	def.pose = fixture_random_pose(&c->seed, 1);
	def.pose.position = place(c);
	def.sensor = kind != 7 && chance(c) < 0.05;
	REQUIRE(carom_world_add_body(c->world, &def, &c->ids[i]) == CAROM_SUCCESS);
	carom_release_mesh(own);
	c->added++;
}

static void remove_body(crowd *c, int i)
{
	REQUIRE(carom_world_remove_body(c->world, c->ids[i]) == CAROM_SUCCESS);
	c->ids[i] = (carom_body_id){ 0 };
	c->removed++;
}

// Some leave, some come, the others move a little.
static void change(crowd *c)
{
	for (int i = 0; i < PLACES; i++) {
		carom_pose pose;
		carom_body_def def;
		const double turn = 0.02 * (chance(c) - 0.5), luck = chance(c);
		if (!carom_world_is_body(c->world, c->ids[i])) {
			if (luck < 0.2)
				add(c, i);
			continue;
		}
		REQUIRE(carom_world_get_body_def(c->world, c->ids[i], &def) == CAROM_SUCCESS);
		if (luck < 0.05) {
			remove_body(c, i);
		} else if (luck < 0.6 && def.kind == CAROM_DYNAMIC) {
			REQUIRE(carom_world_get_pose(c->world, c->ids[i], &pose) == CAROM_SUCCESS);
			pose.position.x += 0.04 * (chance(c) - 0.5);
			pose.position.y += 0.04 * (chance(c) - 0.5);
			const carom_quat o = pose.orientation;
			pose.orientation = (carom_quat){ o.x + turn * o.w, o.y + turn * o.z, o.z - turn * o.y, o.w - turn * o.x };
			REQUIRE(carom_world_set_pose(c->world, c->ids[i], &pose) == CAROM_SUCCESS);
		}
	}
}

// What a program does with the results of a step: impulses, queries, and bodies removed while their events are walked.
static void use_results(crowd *c, int step)
{
	const carom_contact_view contacts = carom_world_contacts(c->world);
	const float impulse[3] = { 1, 2, 3 };
	c->contacts += contacts.count;
	for (int32_t i = 0; i < contacts.count; i += 7)
		REQUIRE(carom_world_set_impulse(c->world, i, impulse) == CAROM_SUCCESS);
	const carom_event_view events = carom_world_events(c->world);
	for (int32_t i = 0; i < events.count; i++)
		for (int k = 0; k < PLACES; k++)
			if (events.data[i].kind == CAROM_EVENT_BEGIN && fixture_same_id(events.data[i].body_a, c->ids[k]) &&
				chance(c) < 0.02)
				remove_body(c, k);
	if (step % 10)
		return;
	bool found;
	carom_ray_hit hit;
	carom_closest_point nearest;
	const carom_ray ray = { place(c), { 0, 0, 1 }, 0, 100 };
	REQUIRE(carom_world_cast_ray(c->world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
	REQUIRE(carom_world_closest_point(c->world, place(c), 10, NULL, &found, &nearest) == CAROM_SUCCESS);
}

TEST(sustained, a_world_that_bodies_come_to_and_leave_keeps_its_size)
{
	fixture_heap heap;
	crowd c = { .context = fixture_heap_context(&heap, 1), .seed = 11 };
	c.shared[0] = fixture_torus_mesh(c.context, 12, 8, 0.3, 0.1);
	c.shared[1] = fixture_box_mesh(c.context, 0.6, 0.5, 0.4);
	c.shared[2] = fixture_sphere_mesh(c.context, 0.7, 8);
	const size_t level = carom_memory_in_use(c.context);
	c.world = fixture_world(c.context, NULL);
	double early[2] = { 0, 0 }, late[2] = { 0, 0 }; // mean bytes of the world, and of the context with meshes that come and go
	const int middle = (WARM_STEPS + STEPS) / 2;
	for (int step = 0; step < STEPS; step++) {
		change(&c);
		fixture_step(c.world);
		use_results(&c, step);
		double *mean = step < middle ? early : late;
		mean[0] += step < WARM_STEPS ? 0 : (double)carom_world_stats(c.world).memory / (STEPS - middle);
		mean[1] += step < WARM_STEPS ? 0 : (double)carom_memory_in_use(c.context) / (STEPS - middle);
	}
	// Bodies were replaced many times over.
	CHECK(c.added > STEPS / 32 * PLACES && c.removed > STEPS / 34 * PLACES && c.contacts > 20 * STEPS);
	// What is there comes and goes; the second half holds as much as the first. What each body left behind would add up: the crowd
	// changes eight times in a half.
	CHECK_NEAR(late[0] / early[0], 1, 0.15);
	CHECK_NEAR(late[1] / early[1], 1, 0.15);
	// Meshes of bodies that left are gone with them.
	for (int i = 0; i < PLACES; i++)
		if (carom_world_is_body(c.world, c.ids[i]))
			remove_body(&c, i);
	CHECK_INT(carom_world_body_count(c.world), 0);
	carom_destroy_world(c.world);
	CHECK_INT(carom_memory_in_use(c.context), level);
	for (int i = 0; i < SHARED; i++)
		carom_release_mesh(c.shared[i]);
	carom_destroy_context(c.context);
	CHECK_INT(heap.blocks, 0);
	CHECK_INT(heap.bytes, 0);
	printf("%lld bodies added, %lld removed, %lld contacts; world %.0f and %.0f bytes, context %.0f and %.0f\n",
		(long long)c.added, (long long)c.removed, (long long)c.contacts, early[0], late[0], early[1], late[1]);
}
