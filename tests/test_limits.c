/// Memory: each single allocation may fail, the budget may be too small, and the steady state asks for nothing.
#include "fixture.h"
#include <math.h>
#include <string.h>

enum { BODIES = 40 };

/// A crowd of every shape, in which every stage has work.
typedef struct crowd {
	fixture_heap *heap;
	carom_context *context;
	carom_mesh *torus;
	carom_mesh *bar;
	carom_mesh *sheet;
	carom_world *world;
	int count;
	carom_body_id ids[BODIES];
	carom_pose poses[BODIES];
} crowd;

static void open_crowd(crowd *c, fixture_heap *heap, const carom_world_def *def)
{
	*c = (crowd){ .heap = heap, .count = BODIES };
	c->context = fixture_heap_context(heap, 1);
	c->torus = fixture_torus_mesh(c->context, 12, 6, 0.4, 0.3);
	c->bar = fixture_box_mesh(c->context, 1, 0.05, 0.05);
	c->sheet = fixture_sheet_mesh(c->context, 4, 4);
	c->world = fixture_world(c->context, def);
}

static carom_shape crowd_shape(const crowd *c, int i)
{
	switch (i % 8) {
	case 0: return (carom_shape){ .type = CAROM_PLANE };
	case 1: return fixture_sphere(0.4);
	case 2: return fixture_box(0.3, 0.4, 0.5);
	case 3: return fixture_capsule(0.2, 0.4);
	case 4: return fixture_of_mesh(c->sheet);
	case 5: return fixture_of_mesh(c->bar);
	default: return fixture_of_mesh(c->torus);
	}
}

static carom_body_def crowd_def(const crowd *c, int i, uint64_t *seed)
{
	carom_body_def def = carom_default_body_def();
	def.shape = crowd_shape(c, i);
	def.kind = def.shape.type == CAROM_PLANE ? CAROM_STATIC : CAROM_DYNAMIC;
	def.pose = fixture_random_pose(seed, 1.5);
	return def;
}

static void fill_crowd(crowd *c)
{
	uint64_t seed = 9;
	for (int i = 0; i < c->count; i++) {
		const carom_body_def def = crowd_def(c, i, &seed);
		c->poses[i] = def.pose;
		REQUIRE(carom_world_add_body(c->world, &def, &c->ids[i]) == CAROM_SUCCESS);
	}
}

static void close_crowd(crowd *c)
{
	carom_destroy_world(c->world);
	carom_release_mesh(c->torus);
	carom_release_mesh(c->bar);
	carom_release_mesh(c->sheet);
	CHECK_INT(carom_memory_in_use(c->context), atomic_load(&c->heap->bytes));
	carom_destroy_context(c->context);
	CHECK_INT(atomic_load(&c->heap->blocks), 0);
	CHECK_INT(atomic_load(&c->heap->bytes), 0);
}

/// Fail the n-th allocation from now on; only it, or it and all after it.
static void arm(fixture_heap *heap, long long n, bool on)
{
	atomic_store(&heap->fail_on, on);
	atomic_store(&heap->fail_at, atomic_load(&heap->calls) + n);
}

static void disarm(fixture_heap *heap) { atomic_store(&heap->fail_at, -1); }

TEST(limits, allocation_failure_in_create_world)
{
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 2);
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, broad);
		const long long blocks = atomic_load(&heap.blocks);
		int failures = 0;
		for (bool done = false; !done;) {
			carom_world *world = (carom_world *)&heap;
			arm(&heap, failures, failures % 2);
			const carom_result result = carom_create_world(context, &def, &world);
			disarm(&heap);
			done = result == CAROM_SUCCESS;
			if (done) {
				carom_destroy_world(world);
			} else {
				CHECK_INT(result, CAROM_OUT_OF_MEMORY);
				CHECK(world == NULL);
				CHECK(carom_error_text(context)[0] != 0);
				failures++;
			}
			CHECK_INT(atomic_load(&heap.blocks), blocks);
			REQUIRE(failures < 1000);
		}
		CHECK(failures >= 3);
		carom_destroy_context(context);
		CHECK_INT(atomic_load(&heap.blocks), 0);
	}
}

TEST(limits, allocation_failure_in_add_body)
{
	fixture_heap heap;
	crowd c;
	open_crowd(&c, &heap, NULL);
	uint64_t seed = 9;
	int failures = 0, bodies = 0;
	for (int i = 0; i < BODIES; i++) {
		const carom_body_def def = crowd_def(&c, i, &seed);
		for (int n = 0;; n++) {
			REQUIRE(n < 1000);
			const long long bytes = atomic_load(&heap.bytes);
			carom_body_id id = { 7, 7 };
			arm(&heap, n, n % 2);
			const carom_result result = carom_world_add_body(c.world, &def, &id);
			disarm(&heap);
			if (result == CAROM_SUCCESS) {
				CHECK_INT(carom_world_body_count(c.world), ++bodies);
				break;
			}
			failures++;
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK_INT(id.index1, 0);
			CHECK_INT(carom_world_body_count(c.world), bodies);
			// Arrays may have grown; the mesh of a box must be gone.
			CHECK(atomic_load(&heap.bytes) <= bytes + 64 * 1024);
		}
	}
	CHECK(failures > 3);
	fixture_step(c.world);
	fixture_check_views(c.world);
	CHECK(carom_world_contacts(c.world).count > 0);
	close_crowd(&c);
}

static uint64_t hash_events(const carom_world *world)
{
	uint64_t hash = 1469598103934665603u; // FNV-1a
	const carom_event_view e = carom_world_events(world);
	for (int32_t i = 0; i < e.count; i++) {
		const uint64_t words[3] = { e.data[i].body_a.index1, e.data[i].body_b.index1, (uint64_t)e.data[i].kind };
		for (int k = 0; k < 3; k++)
			hash = (hash ^ words[k]) * 1099511628211u;
	}
	return hash;
}

enum { STEPS = 3 };

/// What each step should give.
typedef struct course {
	uint64_t hash[STEPS];
	uint64_t events[STEPS];
} course;

static void move_crowd(crowd *c, int step)
{
	uint64_t seed = 100 + (uint64_t)step;
	for (int i = 0; i < c->count && step > 0; i++)
		c->poses[i] = fixture_random_pose(&seed, step == 1 ? 1.2 : 0.8);
	REQUIRE(carom_world_set_poses(c->world, c->count, c->ids, c->poses) == CAROM_SUCCESS);
}

/// Allocation n of all steps fails (and, if on, the others until the step returns): the last good results stay, and the step can be
/// done again with the right answer. Returns whether there was such an allocation; *failed counts the steps that failed.
static bool fail_course(crowd *c, const course *right, int n, bool on, int *failed)
{
	fixture_heap *heap = c->heap;
	arm(heap, n, on);
	for (int step = 0; step < STEPS; step++) {
		const uint64_t hash = carom_world_hash(c->world), events = hash_events(c->world);
		const carom_stats stats = carom_world_stats(c->world);
		move_crowd(c, step);
		const carom_result result = carom_world_step(c->world);
		if (atomic_load(&heap->calls) > atomic_load(&heap->fail_at))
			disarm(heap);
		if (result != CAROM_SUCCESS) {
			(*failed)++;
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK(strstr(carom_error_text(c->context), "memory") != NULL);
			CHECK(carom_world_hash(c->world) == hash && hash_events(c->world) == events);
			CHECK_INT(carom_world_contacts(c->world).count, stats.contacts);
			CHECK_INT(carom_world_stats(c->world).step, stats.step);
			fixture_step(c->world);
		}
		// (Making room ahead of a step may fail without harm.)
		CHECK(carom_world_hash(c->world) == right->hash[step] && hash_events(c->world) == right->events[step]);
		fixture_check_views(c->world);
	}
	const bool reached = atomic_load(&heap->fail_at) < 0;
	disarm(heap);
	return reached;
}

enum { FEW = 24 }; // three of each shape: each step of each course finds all their pairs

static void fail_steps(int broad)
{
	static fixture_heap heap;
	crowd c;
	carom_world_def def = carom_default_world_def();
	fixture_set_broad(&def, broad);
	def.speculative_distance = 0.01;
	course right;
	open_crowd(&c, &heap, &def);
	c.count = FEW;
	fill_crowd(&c);
	for (int step = 0; step < STEPS; step++) {
		move_crowd(&c, step);
		fixture_step(c.world);
		CHECK(carom_world_contacts(c.world).count > 50);
		right.hash[step] = carom_world_hash(c.world);
		right.events[step] = hash_events(c.world);
	}
	close_crowd(&c);
	int failed = 0;
	bool reached = true;
	for (int n = 0; reached && test_failures() == 0; n += n < 20 ? 1 : TEST_FEWER) {
		REQUIRE(n < 1000);
		open_crowd(&c, &heap, &def);
		c.count = FEW;
		fill_crowd(&c);
		reached = fail_course(&c, &right, n, n / TEST_FEWER % 2, &failed);
		close_crowd(&c);
	}
	CHECK(failed >= 10);
}

TEST(limits, allocation_failure_in_steps)
{
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++)
		fail_steps(broad);
}

enum { LOTS = 12 };

/// Boxes that all differ, on a mesh.
static void put_boxes_on_mesh(carom_world *world, void *mesh)
{
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, -1), CAROM_STATIC);
	for (int i = 0; i < LOTS; i++)
		fixture_add(world, fixture_box(0.3 + 0.01 * i, 0.3, 0.3), fixture_at(i - 5.5, 0, 0.29), CAROM_DYNAMIC);
}

TEST(limits, allocation_failure_where_boxes_meet_a_mesh)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *floor = fixture_box_mesh(context, 10, 10, 1);
	const int failed = fixture_fail_each_allocation(&heap, context, NULL, put_boxes_on_mesh, floor, LOTS);
	CHECK(failed > 10 * LOTS); // each box makes a mesh
	const carom_world_def def = fixture_plugin_world_def();
	CHECK(fixture_fail_each_allocation(&heap, context, &def, put_boxes_on_mesh, floor, LOTS) > failed + LOTS);
	carom_release_mesh(floor);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(limits, no_memory_at_all)
{
	static fixture_heap heap;
	crowd c;
	open_crowd(&c, &heap, NULL);
	fill_crowd(&c);
	// All memory gone for a while, then back.
	arm(&heap, 0, true);
	CHECK_INT(carom_world_step(c.world), CAROM_OUT_OF_MEMORY);
	disarm(&heap);
	fixture_step(c.world);
	CHECK(carom_world_contacts(c.world).count > 0);
	close_crowd(&c);
}

TEST(limits, the_budget_of_a_world)
{
	static fixture_heap heap;
	crowd c;
	open_crowd(&c, &heap, NULL);
	fill_crowd(&c);
	fixture_step(c.world);
	const carom_stats free_stats = carom_world_stats(c.world);
	const uint64_t free_hash = carom_world_hash(c.world);
	CHECK(free_stats.memory > 0 && free_stats.memory_peak >= free_stats.memory);
	close_crowd(&c);

	// As much as the bodies take and a little more: the step does not fit.
	carom_world_def def = carom_default_world_def();
	open_crowd(&c, &heap, &def);
	const long long before = atomic_load(&heap.bytes);
	fill_crowd(&c);
	const size_t bodies = (size_t)(atomic_load(&heap.bytes) - before);
	close_crowd(&c);
	def.memory_budget = bodies + 96 * 1024;
	CHECK(def.memory_budget < free_stats.memory_peak);
	open_crowd(&c, &heap, &def);
	fill_crowd(&c);
	CHECK_INT(carom_world_step(c.world), CAROM_OVER_BUDGET);
	CHECK(strstr(carom_error_text(c.context), "memory_budget") != NULL);
	CHECK_INT(carom_world_stats(c.world).step, 0);
	CHECK_INT(carom_world_contacts(c.world).count, 0);
	for (int i = 4; i < BODIES; i++)
		REQUIRE(carom_world_remove_body(c.world, c.ids[i]) == CAROM_SUCCESS);
	CHECK_INT(carom_world_step(c.world), CAROM_SUCCESS);
	CHECK_INT(carom_world_stats(c.world).bodies, 4);
	CHECK(carom_world_stats(c.world).memory_peak <= def.memory_budget);
	close_crowd(&c);

	def.memory_budget = 2 * free_stats.memory_peak;
	open_crowd(&c, &heap, &def);
	fill_crowd(&c);
	CHECK_INT(carom_world_step(c.world), CAROM_SUCCESS);
	CHECK(carom_world_hash(c.world) == free_hash);
	close_crowd(&c);
}

TEST(limits, a_budget_too_small_for_a_world)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world_def def = carom_default_world_def();
	int refused = 0;
	for (bool made = false; !made; def.memory_budget = 2 * def.memory_budget + 1, refused += !made) {
		carom_world *world;
		const carom_result result = carom_create_world(context, &def, &world);
		made = result == CAROM_SUCCESS && def.memory_budget > 0;
		if (result != CAROM_SUCCESS) {
			CHECK_INT(result, CAROM_OVER_BUDGET);
			CHECK(strstr(carom_error_text(context), "carom_create_world: needs more than the memory_budget of") != NULL);
		}
		carom_destroy_world(world);
		CHECK_INT(atomic_load(&heap.blocks), 1); // the context itself
	}
	CHECK(refused > 1);
	carom_destroy_context(context);
}

static void check_over_budget(const carom_context *context, carom_result result, const char *function)
{
	CHECK_INT(result, CAROM_OVER_BUDGET);
	const char *text = carom_error_text(context);
	if (!CHECK(strncmp(text, function, strlen(function)) == 0 && strstr(text, "memory_budget") != NULL))
		CHECK_STR(text, function); // prints it
}

/// Adds cloths to a world, the largest first, until its budget has no place for one of two triangles.
/// Returns how many it added.
static int fill_with_cloth(carom_world *world, carom_context *context)
{
	int added = 0;
	for (int cells = 40; cells > 0; cells /= 2) {
		carom_mesh *sheet = fixture_sheet_mesh(context, cells, cells);
		carom_body_def body = carom_default_body_def();
		body.shape = fixture_of_mesh(sheet);
		body.kind = CAROM_CLOTH;
		carom_body_id id;
		while (carom_world_add_body(world, &body, &id) == CAROM_SUCCESS)
			added++;
		carom_release_mesh(sheet);
	}
	return added;
}

/// Cloths fit, but not the trees that queries want of them.
TEST(limits, a_budget_too_small_for_queries)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world_def def = carom_default_world_def();
	def.memory_budget = 500000;
	carom_world *world = fixture_world(context, &def);
	const int cloths = fill_with_cloth(world, context);
	REQUIRE(cloths > 0);
	const carom_ray ray = { { 0, 0, 5 }, { 0, 0, -1 }, 0, 10 };
	const carom_aabb box = { { -1, -1, -1 }, { 1, 1, 1 } };
	const carom_shape shape = fixture_sphere(1);
	const carom_pose pose = fixture_at(0, 0, 0);
	carom_ray_hit hit;
	carom_closest_point near;
	bool found;
	int32_t count;
	check_over_budget(context, carom_world_cast_ray(world, &ray, NULL, &found, &hit), "carom_world_cast_ray:");
	check_over_budget(context, carom_world_cast_ray_any(world, &ray, NULL, &found), "carom_world_cast_ray_any:");
	check_over_budget(context, carom_world_cast_ray_all(world, &ray, NULL, 0, NULL, &count), "carom_world_cast_ray_all:");
	check_over_budget(
		context, carom_world_closest_point(world, pose.position, 1, NULL, &found, &near), "carom_world_closest_point:");
	check_over_budget(context, carom_world_overlap_aabb(world, &box, NULL, 0, NULL, &count), "carom_world_overlap_aabb:");
	check_over_budget(
		context, carom_world_overlap_shape(world, &shape, &pose, NULL, 0, NULL, &count), "carom_world_overlap_shape:");
	carom_body_id ids[1000];
	REQUIRE(cloths <= 1000 && carom_world_body_ids(world, 1000, ids) == cloths);
	for (int i = 1; i < cloths; i++)
		REQUIRE(carom_world_remove_body(world, ids[i]) == CAROM_SUCCESS);
	// The tree of one cloth has place now. A real lack of memory is not blamed on the budget.
	arm(&heap, 0, true);
	CHECK_INT(carom_world_cast_ray(world, &ray, NULL, &found, &hit), CAROM_OUT_OF_MEMORY);
	disarm(&heap);
	CHECK_INT(carom_world_cast_ray(world, &ray, NULL, &found, &hit), CAROM_SUCCESS);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A real lack of memory is not blamed on the budget.
TEST(limits, out_of_memory_within_the_budget)
{
	static fixture_heap heap;
	crowd c;
	carom_world_def def = carom_default_world_def();
	def.memory_budget = (size_t)1 << 30;
	open_crowd(&c, &heap, &def);
	fill_crowd(&c);
	arm(&heap, 1, true);
	CHECK_INT(carom_world_step(c.world), CAROM_OUT_OF_MEMORY);
	disarm(&heap);
	fixture_step(c.world);
	close_crowd(&c);
}

TEST(limits, what_the_stats_say_of_memory)
{
	static fixture_heap heap;
	crowd c;
	open_crowd(&c, &heap, NULL);
	const long long before = atomic_load(&heap.bytes);
	fill_crowd(&c);
	size_t peak = 0;
	uint64_t seed = 11;
	for (int step = 0; step < 10; step++) {
		for (int i = 0; i < BODIES; i++)
			c.poses[i] = fixture_random_pose(&seed, step % 5 == 2 ? 0.6 : 3);
		REQUIRE(carom_world_set_poses(c.world, BODIES, c.ids, c.poses) == CAROM_SUCCESS);
		fixture_step(c.world);
		const carom_stats s = carom_world_stats(c.world);
		CHECK(s.memory >= (size_t)(atomic_load(&heap.bytes) - before));
		CHECK(s.memory <= (size_t)atomic_load(&heap.bytes));
		CHECK(s.memory_peak >= peak && s.memory_peak >= s.memory);
		CHECK(s.scratch_peak > 0 && s.scratch_peak <= s.memory_peak);
		CHECK(s.memory_peak <= carom_memory_peak(c.context));
		peak = s.memory_peak;
	}
	close_crowd(&c);
}

TEST(limits, the_steady_state_allocates_nothing)
{
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		static fixture_heap heap;
		crowd c;
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, broad);
		open_crowd(&c, &heap, &def);
		fill_crowd(&c);
		long long calls = 0, bytes = 0;
		for (int step = 0; step < 40; step++) {
			REQUIRE(carom_world_set_poses(c.world, BODIES, c.ids, c.poses) == CAROM_SUCCESS);
			fixture_step(c.world);
			if (step == 5) {
				calls = atomic_load(&heap.calls);
				bytes = atomic_load(&heap.bytes);
			}
		}
		CHECK_INT(atomic_load(&heap.calls), calls);
		CHECK_INT(atomic_load(&heap.bytes), bytes);
		close_crowd(&c);
	}
}

/// Adding and removing for ever does not grow the world.
TEST(limits, coming_and_going_holds_its_memory)
{
	static fixture_heap heap;
	crowd c;
	open_crowd(&c, &heap, NULL);
	fill_crowd(&c);
	long long bytes = 0;
	// What pairs remember moves between two memories whenever enough has been left behind: both have been full long before WARM steps.
	enum { WARM = 80 };
	for (int step = 0; step < 3 * WARM; step++) {
		uint64_t seed = 12;
		for (int i = 0; i < BODIES; i++)
			REQUIRE(carom_world_remove_body(c.world, c.ids[i]) == CAROM_SUCCESS);
		for (int i = BODIES; i-- > 0;) {
			carom_body_def def = crowd_def(&c, i, &seed);
			REQUIRE(carom_world_add_body(c.world, &def, &c.ids[i]) == CAROM_SUCCESS);
		}
		fixture_step(c.world);
		if (step == WARM)
			bytes = atomic_load(&heap.bytes);
	}
	CHECK_INT(atomic_load(&heap.bytes), bytes);
	close_crowd(&c);
}
