/// Snapshots: a world that was put back goes on bit for bit as it did, whatever was done to it in between.
#include "base/hash.h"
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = TEST_FEWER > 1 ? 10 : 24, BODIES = 30 };

typedef struct meshes {
	carom_mesh *torus, *sphere, *sheet, *hull;
} meshes;

static meshes make_meshes(carom_context *context)
{
	static const float points[15] = { 0.4f, 0, 0, -0.4f, 0.3f, 0, -0.4f, -0.3f, 0, 0, 0, 0.5f, 0, 0.1f, -0.4f };
	return (meshes){ fixture_torus_mesh(context, 16, 8, 0.4, 0.1), fixture_sphere_mesh(context, 0.5, 8),
		fixture_sheet_mesh(context, 6, 2), fixture_hull_mesh(context, points, 5) };
}

static void release_meshes(meshes *m)
{
	carom_release_mesh(m->torus);
	carom_release_mesh(m->sphere);
	carom_release_mesh(m->sheet);
	carom_release_mesh(m->hull);
}

// ---- A random life ----

static carom_shape random_shape(const meshes *m, uint64_t *seed)
{
	switch (test_random(seed) % 10) {
	case 0: return fixture_sphere(0.4);
	case 1: return fixture_box(0.3, 0.4, 0.5);
	case 2: return fixture_capsule(0.2, 0.4);
	case 3: return fixture_cylinder(0.3, 0.3);
	case 4: return fixture_cone(0.3, 0.3);
	case 5: return fixture_ellipsoid(0.3, 0.4, 0.5);
	case 6: return fixture_hull(m->hull);
	case 7: return fixture_of_mesh(m->sphere);
	default: return fixture_of_mesh(m->torus);
	}
}

static void add_random_body(carom_world *world, const meshes *m, uint64_t *seed)
{
	carom_body_def def = carom_default_body_def();
	def.shape = random_shape(m, seed);
	def.pose = fixture_random_pose(seed, 2);
	def.user_data = test_random(seed);
	def.sensor = test_random(seed) % 8 == 0;
	const uint64_t kind = test_random(seed) % 10;
	if (kind < 2) {
		def.sensor = false;
		def.kind = kind == 0 ? CAROM_CLOTH : CAROM_DEFORMABLE;
		def.shape = fixture_of_mesh(kind == 0 ? m->sheet : m->sphere);
	}
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
}

static void fill_world(carom_world *world, const meshes *m, int bodies)
{
	uint64_t seed = 5;
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -1.5), CAROM_STATIC);
	for (int i = 0; i < bodies; i++)
		add_random_body(world, m, &seed);
}

static void move_vertices(carom_world *world, carom_body_id id, uint64_t *seed)
{
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, id, &view) == CAROM_SUCCESS);
	double *places = malloc(3 * (size_t)view.count * sizeof *places);
	REQUIRE(places);
	for (int32_t i = 0; i < 3 * view.count; i++)
		places[i] = view.data[i] + test_random_double(seed, -0.02, 0.02);
	const carom_strided end = { places, 0, CAROM_FLOAT64 };
	const carom_strided begin = { view.data, 0, CAROM_FLOAT64 };
	CHECK_INT(carom_world_set_vertices(world, id, &begin, &end), CAROM_SUCCESS);
	free(places);
}

static void move_body(carom_world *world, carom_body_id id, uint64_t *seed)
{
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(world, id, &def) == CAROM_SUCCESS);
	if (def.kind == CAROM_CLOTH || def.kind == CAROM_DEFORMABLE) {
		move_vertices(world, id, seed);
	} else if (def.kind == CAROM_DYNAMIC) {
		const double by = test_random(seed) % 8 == 0 ? 0.2 : 0.003;
		def.pose.position.x += test_random_double(seed, -by, by);
		def.pose.position.z += test_random_double(seed, -by, by);
		CHECK_INT(carom_world_set_pose(world, id, &def.pose), CAROM_SUCCESS);
	}
}

/// What the caller does before a step. Depends on the world and on the seed alone.
static void act(carom_world *world, const meshes *m, uint64_t seed)
{
	carom_body_id ids[4 * BODIES];
	const int count = carom_world_body_ids(world, 4 * BODIES, ids);
	REQUIRE(count <= 4 * BODIES);
	for (int i = 0; i < count; i++) {
		if (test_random(&seed) % 4 != 0)
			move_body(world, ids[i], &seed);
	}
	const carom_body_id chosen = ids[test_random(&seed) % (uint64_t)count];
	switch (test_random(&seed) % 5) {
	case 0: CHECK_INT(carom_world_remove_body(world, chosen), CAROM_SUCCESS); break;
	case 1: CHECK_INT(carom_world_set_filter(world, chosen, test_random(&seed) % 4, 3, 0), CAROM_SUCCESS); break;
	case 2: CHECK_INT(carom_world_set_user_data(world, chosen, test_random(&seed)), CAROM_SUCCESS); break;
	default: add_random_body(world, m, &seed); break;
	}
	const int32_t contacts = carom_world_contacts(world).count, pairs = carom_world_pairs(world).count;
	const float impulse[3] = { (float)test_random_double(&seed, 0, 1), 2, 3 };
	for (int i = 0; i < 5 && contacts > 0; i++)
		carom_world_set_impulse(world, (int32_t)(test_random(&seed) % (uint64_t)contacts), impulse);
	if (pairs > 0)
		carom_world_set_pair_data(world, (int32_t)(test_random(&seed) % (uint64_t)pairs), test_random(&seed));
}

// ---- Everything that can be read ----

static uint64_t hash_id(uint64_t hash, carom_body_id id)
{
	return cr_hash_u64(hash, (uint64_t)id.index1 << 32 | id.generation);
}

static uint64_t hash_views(const carom_world *world, uint64_t hash)
{
	const carom_contact_view contacts = carom_world_contacts(world);
	for (int32_t i = 0; i < contacts.count; i++) {
		hash = cr_hash_u64(hash, (uint64_t)contacts.data[i].age);
		for (int k = 0; k < 3; k++)
			hash = cr_hash_double(hash, contacts.data[i].impulse[k]);
	}
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *p = &pairs.data[i];
		hash = hash_id(hash_id(hash, p->body_a), p->body_b);
		hash = cr_hash_u64(cr_hash_u64(cr_hash_u64(hash, p->user_data_a), p->user_data_b), p->user_data);
		hash = cr_hash_u64(hash, (uint64_t)p->contact_count << 32 | (uint32_t)p->found_count);
		hash = cr_hash_u64(hash, (uint64_t)p->age);
	}
	const carom_event_view events = carom_world_events(world);
	for (int32_t i = 0; i < events.count; i++) {
		const carom_event *e = &events.data[i];
		hash = hash_id(hash_id(hash, e->body_a), e->body_b);
		hash = cr_hash_u64(cr_hash_u64(hash, (uint64_t)e->kind), e->pair_data);
	}
	return hash;
}

static uint64_t hash_bodies(const carom_world *world, uint64_t hash)
{
	carom_body_id ids[4 * BODIES];
	const int count = carom_world_body_ids(world, 4 * BODIES, ids);
	for (int i = 0; i < count; i++) {
		carom_body_def def;
		REQUIRE(carom_world_get_body_def(world, ids[i], &def) == CAROM_SUCCESS);
		hash = cr_hash_u64(hash_id(hash, ids[i]), def.user_data);
		hash = cr_hash_u64(cr_hash_u64(hash, def.category), (uint64_t)def.kind << 32 | (uint64_t)def.shape.type);
		hash = cr_hash_double(cr_hash_double(hash, def.pose.position.x), def.pose.position.z);
		carom_vertex_view view = { 0 };
		if (def.kind == CAROM_CLOTH || def.kind == CAROM_DEFORMABLE)
			carom_world_get_vertices(world, ids[i], &view);
		for (int32_t k = 0; k < 3 * view.count; k++)
			hash = cr_hash_double(hash, view.data[k]);
	}
	return hash;
}

/// Counts of the work: what pairs remember decides them.
static uint64_t hash_stats(const carom_world *world, uint64_t hash)
{
	const carom_stats s = carom_world_stats(world);
	const int64_t counts[] = { s.step, s.bodies, s.box_pairs, s.narrow_pairs, s.colliding_pairs, s.contacts_found, s.contacts,
		s.vertices_tested, s.vertices_culled, s.rays_full, s.rays_outward, s.rays_iterative, s.rays_predictive, s.rays_lost,
		s.rays_recast, s.rays_missed, s.walk_steps, s.backtracks, s.pairs_full, s.pairs_iterative, s.pairs_apart,
		s.vertices_watched, s.pairs_completed, s.pairs_crossing, s.triangle_tests, s.impacts };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		hash = cr_hash_u64(hash, (uint64_t)counts[i]);
	for (int g = 0; g < 3; g++) {
		const carom_group_stats of_group = carom_lab_group_stats(world, g);
		hash = cr_hash_u64(
			cr_hash_u64(hash, (uint64_t)of_group.pairs << 32 | (uint32_t)of_group.new_pairs), (uint64_t)of_group.rays);
	}
	return hash;
}

static uint64_t digest(const carom_world *world)
{
	return hash_stats(world, hash_bodies(world, hash_views(world, carom_world_hash(world))));
}

// ---- Rolling back ----

static void make_snapshots(carom_world *world, carom_snapshot **snapshots, int count)
{
	for (int i = 0; i < count; i++)
		REQUIRE(carom_create_snapshot(world, &snapshots[i]) == CAROM_SUCCESS);
}

/// Go back to steps at random, others for each number of threads (18 of them on 1 and 4), and forward again; now and then another way first, with bodies that
/// get the ids of others.
static void roll_back(carom_world *world, const meshes *m, carom_snapshot **snapshots, const uint64_t *digests, int threads)
{
	uint64_t seed = 77 + (uint64_t)threads;
	for (int round = 0; round < (TEST_FEWER > 1 ? 3 : 9); round++) {
		const int from = (int)(test_random(&seed) % STEPS);
		REQUIRE(carom_world_restore(world, snapshots[from]) == CAROM_SUCCESS);
		CHECK_INT(digest(world), digests[from]);
		const bool astray = round % 3 == 0;
		for (int step = from; step < STEPS && step < from + 6; step++) {
			act(world, m, (uint64_t)step + (astray ? 1000 * (uint64_t)(round + 1) : 0));
			if (astray && step == from + 2)
				break; // not stepped
			fixture_step(world);
			if (!astray && !CHECK_INT(digest(world), digests[step + 1]))
				return;
		}
	}
}

/// Live, keeping each step, and roll back. Returns a hash of all the life.
static uint64_t live(const carom_world_def *def, int threads)
{
	carom_context *context = fixture_context(threads);
	meshes m = make_meshes(context);
	carom_world *world = fixture_world(context, def);
	carom_snapshot *snapshots[STEPS];
	uint64_t digests[STEPS + 1], all = CR_HASH_SEED;
	make_snapshots(world, snapshots, STEPS);
	fill_world(world, &m, BODIES);
	for (int step = 0; step < STEPS; step++) {
		digests[step] = digest(world);
		REQUIRE(carom_world_save(world, snapshots[step]) == CAROM_SUCCESS);
		act(world, &m, (uint64_t)step);
		fixture_step(world);
		all = cr_hash_u64(all, carom_world_hash(world));
	}
	CHECK(carom_world_contacts(world).count > 20);
	digests[STEPS] = digest(world);
	roll_back(world, &m, snapshots, digests, threads);
	for (int i = 0; i < STEPS; i++)
		carom_destroy_snapshot(snapshots[i]);
	carom_destroy_world(world);
	release_meshes(&m);
	carom_destroy_context(context);
	return all;
}

static void live_on_threads(const carom_world_def *def)
{
	const uint64_t one = live(def, 1);
	if (TEST_MOST_THREADS >= 4)
		CHECK_INT(live(def, 4), one);
}

TEST(snapshot, rolls_back_by_tree) { live_on_threads(NULL); }

TEST(snapshot, rolls_back_by_sweep_without_memory)
{
	carom_world_def def = carom_default_world_def();
	def.broad_phase = CAROM_BROAD_SWEEP;
	def.temporal = CAROM_TEMPORAL_NONE;
	live_on_threads(&def);
}

TEST(snapshot, rolls_back_speculative_by_brute_force)
{
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->brute_broad_phase = true;
	def.speculative_distance = 0.1;
	live_on_threads(&def);
}

TEST(snapshot, rolls_back_in_groups)
{
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->worker_groups = 3;
	fixture_lab(&def)->distance_extension = 0.2;
	live_on_threads(&def);
}

TEST(snapshot, rolls_back_predicted_rooms)
{
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->ray_buffers = CAROM_BUFFERS_IGNORE;
	live_on_threads(&def);
	fixture_lab(&def)->ray_buffers = CAROM_BUFFERS_BACKTRACK;
	fixture_lab(&def)->ray_predictor = CAROM_PREDICTOR_LAST;
	live_on_threads(&def);
}

// ---- Memory ----

TEST(snapshot, holds_no_more_after_a_thousand_rounds)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	meshes m = make_meshes(context);
	carom_world *world = fixture_world(context, NULL);
	carom_snapshot *snapshots[2];
	make_snapshots(world, snapshots, 2);
	fill_world(world, &m, BODIES);
	fixture_step(world);
	long long calls = 0, bytes = 0;
	size_t memory = 0;
	for (int round = 0; round < 1010; round++) {
		if (round == 10) {
			calls = heap.calls;
			bytes = heap.bytes;
			memory = carom_snapshot_memory(snapshots[0]) + carom_snapshot_memory(snapshots[1]);
		}
		REQUIRE(carom_world_save(world, snapshots[round % 2]) == CAROM_SUCCESS);
		REQUIRE(carom_world_restore(world, snapshots[round % 2]) == CAROM_SUCCESS);
	}
	CHECK_INT(heap.calls - calls, 0);
	CHECK_INT(heap.bytes, bytes);
	CHECK_INT(carom_snapshot_memory(snapshots[0]) + carom_snapshot_memory(snapshots[1]), memory);
	carom_destroy_snapshot(snapshots[0]);
	// The world goes first: the other is empty then, and holds no mesh.
	carom_destroy_world(world);
	carom_destroy_snapshot(snapshots[1]);
	carom_destroy_snapshot(NULL);
	release_meshes(&m);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

/// Save, or restore a world that has lost its bodies, where allocation number fail of that call fails; *refused counts
/// the calls that it ended. False: the call makes fewer.
static bool fail_allocation(bool restore, int fail, int *refused)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	meshes m = make_meshes(context);
	carom_world *world = fixture_world(context, NULL);
	carom_snapshot *snapshot;
	make_snapshots(world, &snapshot, 1);
	fill_world(world, &m, 2 * BODIES / 3);
	for (int step = 0; step < 3; step++) {
		act(world, &m, (uint64_t)step);
		fixture_step(world);
	}
	const uint64_t saved = digest(world);
	carom_body_id ids[4 * BODIES];
	const int count = restore ? carom_world_body_ids(world, 4 * BODIES, ids) : 0;
	if (restore)
		REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	for (int i = 0; i < count; i++)
		carom_world_remove_body(world, ids[i]);
	for (int i = 0; i < 3 && restore; i++)
		fixture_step(world);

	const uint64_t before = digest(world);
	heap.fail_at = heap.calls + fail;
	const carom_result result = restore ? carom_world_restore(world, snapshot) : carom_world_save(world, snapshot);
	const bool failed = heap.calls > heap.fail_at;
	heap.fail_at = -1;
	// Joining the blocks of an arena may fail without harm.
	CHECK(result == CAROM_SUCCESS || (failed && result == CAROM_OUT_OF_MEMORY));
	CHECK_INT(digest(world), result == CAROM_SUCCESS ? saved : before);
	*refused += result != CAROM_SUCCESS;
	if (!restore && result != CAROM_SUCCESS) {
		CHECK_INT(carom_world_restore(world, snapshot), CAROM_INVALID_ARGUMENT); // still empty
		CHECK_INT(carom_world_save(world, snapshot), CAROM_SUCCESS);
	}
	fixture_step(world);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_SUCCESS);
	CHECK_INT(digest(world), saved);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	release_meshes(&m);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
	return failed;
}

TEST(snapshot, failing_allocations_change_nothing)
{
	for (int restore = 0; restore < 2; restore++) {
		int refused = 0;
		for (int fail = 0; fail_allocation(restore, fail, &refused);)
			fail += TEST_STRIDE;
		CHECK(refused >= 7 / TEST_STRIDE);
	}
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_snapshot *snapshot;
	heap.fail_at = heap.calls;
	CHECK_INT(carom_create_snapshot(world, &snapshot), CAROM_OUT_OF_MEMORY);
	CHECK(!snapshot);
	heap.fail_at = -1;
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- A step that fails, and is made again ----

enum { CRUMPLED = 2, CRUMPLE_STEPS = 3 };

/// Solids that deform and overlap, without memory of earlier steps, which a failed step drops.
static carom_world *make_crumpled(carom_context *context, size_t budget, carom_body_id ids[CRUMPLED])
{
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	def.memory_budget = budget;
	carom_world *world = fixture_world(context, &def);
	carom_mesh *mesh = fixture_torus_mesh(context, 16, 8, 0.4, 0.1);
	for (int i = 0; i < CRUMPLED; i++)
		ids[i] = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0.6 * i, 0, 0), CAROM_DEFORMABLE);
	carom_release_mesh(mesh);
	return world;
}

/// Sets all vertices for the coming step.
static void crumple(carom_world *world, const carom_body_id ids[CRUMPLED], int step)
{
	static double places[3 * FIXTURE_MAX_VERTICES];
	for (int i = 0; i < CRUMPLED; i++) {
		carom_vertex_view view;
		CHECK_INT(carom_world_get_vertices(world, ids[i], &view), CAROM_SUCCESS);
		for (int64_t k = 0; k < 3 * (int64_t)view.count; k++)
			places[k] = view.data[k] + 0.001 * (double)((k * 7 + step) % 11 - 5);
		const carom_strided end = { places, 0, CAROM_FLOAT64 };
		CHECK_INT(carom_world_set_vertices(world, ids[i], NULL, &end), CAROM_SUCCESS);
	}
}

static uint64_t snapshot_hash(carom_world *world)
{
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	const uint64_t hash = carom_snapshot_hash(snapshot);
	carom_destroy_snapshot(snapshot);
	return hash;
}

/// Steps, the first of which may fail; then vertices move once more before it is made again. hashes: after each step. Returns the
/// result of the first.
static carom_result run_crumpled(fixture_heap *heap, carom_world *world, const carom_body_id ids[CRUMPLED],
	failing_calls *calls, bool *failed, uint64_t hashes[CRUMPLE_STEPS])
{
	carom_result result = CAROM_SUCCESS;
	for (int step = 0; step < CRUMPLE_STEPS; step++) {
		crumple(world, ids, step);
		if (step == 0 && calls) {
			const uint64_t before = snapshot_hash(world);
			fixture_begin_failing(heap, calls);
			result = carom_world_step(world);
			*failed = fixture_end_failing(heap);
			if (result != CAROM_SUCCESS)
				CHECK(snapshot_hash(world) == before);
			crumple(world, ids, 5);
			if (result != CAROM_SUCCESS)
				fixture_step(world);
		} else {
			if (step == 0)
				crumple(world, ids, 5);
			fixture_step(world);
		}
		hashes[step] = snapshot_hash(world);
	}
	return result;
}

TEST(snapshot, a_repeated_step_is_as_one_that_never_failed)
{
	fixture_heap heap;
	carom_body_id ids[CRUMPLED];
	uint64_t expected[CRUMPLE_STEPS];
	failing_calls calls = failing_calls_of_preset();
	int refused = 0, run = 0;
	for (bool failed = true; failed; run++) {
		uint64_t hashes[CRUMPLE_STEPS];
		carom_context *context = fixture_heap_context(&heap, 1); // which keeps no scratch memory of the run before
		carom_world *world = make_crumpled(context, 0, ids);
		const carom_result result =
			run_crumpled(&heap, world, ids, run > 0 ? &calls : NULL, &failed, run > 0 ? hashes : expected);
		refused += result != CAROM_SUCCESS;
		// an allocation may fail without harm, such as one that joins the blocks of an arena
		for (int step = 0; step < CRUMPLE_STEPS && result != CAROM_SUCCESS; step++)
			CHECK(hashes[step] == expected[step]);
		carom_destroy_world(world);
		carom_destroy_context(context);
		CHECK_INT(heap.blocks, 0);
	}
	CHECK(refused > 5);
	failing_calls_free(&calls);
}

static void count_log(carom_log_level level, const char *text, void *user)
{
	(void)level;
	*(int *)user += strstr(text, "for another try") != NULL;
}

/// A step that finds no room in memory_budget trims the world, and tries again by itself.
TEST(snapshot, a_step_that_tries_again_is_as_one_that_had_room)
{
	int tries = 0;
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	def.log = count_log;
	def.log_user = &tries;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	carom_body_id ids[CRUMPLED];
	uint64_t expected[CRUMPLE_STEPS];
	carom_world *world = make_crumpled(context, 0, ids);
	for (int step = 0; step < CRUMPLE_STEPS; step++) {
		crumple(world, ids, step);
		fixture_step(world);
		expected[step] = snapshot_hash(world);
	}
	const double most = (double)carom_world_stats(world).memory_peak;
	carom_destroy_world(world);
	for (int i = 0; i < 80; i++) {
		world = make_crumpled(context, (size_t)(most * (0.8 + 0.0025 * i)), ids);
		for (int step = 0; step < CRUMPLE_STEPS; step++) {
			crumple(world, ids, step);
			if (carom_world_step(world) != CAROM_SUCCESS)
				break;
			CHECK(snapshot_hash(world) == expected[step]);
		}
		carom_destroy_world(world);
	}
	CHECK(tries > 0);
	carom_destroy_context(context);
}

// ---- Meshes, misuse ----

TEST(snapshot, keeps_the_meshes_of_removed_bodies)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.5, 8);
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	const carom_body_id a = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	const carom_body_id b = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0.8, 0, 0), CAROM_DYNAMIC);
	carom_release_mesh(mesh);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	CHECK_INT(carom_world_save(world, snapshot), CAROM_SUCCESS);
	carom_world_remove_body(world, a);
	carom_world_remove_body(world, b);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 0);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_SUCCESS);
	carom_destroy_snapshot(snapshot);
	CHECK(carom_world_is_body(world, a) && carom_world_is_body(world, b));
	CHECK_INT(carom_world_hash(world), hash);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 1);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A box that was never in a state gets the number of one that is gone from it, and other filters: the broad phase must ask.
TEST(snapshot, forgets_the_filters_of_bodies_added_since)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	fixture_add(world, fixture_box(1, 1, 1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	CHECK_INT(carom_world_save(world, snapshot), CAROM_SUCCESS);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_box(1, 1, 1);
	def.pose = fixture_at(1.5, 0, 0);
	def.mask = 0;
	carom_body_id first, second;
	CHECK_INT(carom_world_add_body(world, &def, &first), CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 0);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_SUCCESS);
	CHECK(!carom_world_is_body(world, first));
	def.mask = UINT64_MAX;
	CHECK_INT(carom_world_add_body(world, &def, &second), CAROM_SUCCESS);
	CHECK(fixture_same_id(first, second));
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 1);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

typedef struct plugin_counts {
	int built, destroyed;
} plugin_counts;

static void *count_build(const float *vertices, int32_t vertex_count, const int32_t *triangles, const int32_t *number,
	int32_t triangle_count, void *user)
{
	(void)vertices, (void)vertex_count, (void)triangles, (void)number, (void)triangle_count;
	plugin_counts *counts = user;
	counts->built++;
	return counts;
}

static void hit_nothing(void *state, const carom_ray_batch *rays, const carom_hit_batch *hits, void *user)
{
	(void)state, (void)rays, (void)hits, (void)user;
}

static void count_destroy(void *state, void *user)
{
	(void)state;
	((plugin_counts *)user)->destroyed++;
}

TEST(snapshot, keeps_what_a_ray_plugin_made)
{
	carom_context *context = fixture_context(1);
	plugin_counts counts = { 0 };
	const carom_ray_plugin plugin = { "counting", count_build, hit_nothing, count_destroy, &counts };
	carom_world_def world_def = carom_default_world_def();
	fixture_lab(&world_def)->ray_method = CAROM_RAYS_PLUGIN;
	fixture_lab(&world_def)->ray_plugin = &plugin;
	carom_world *world = fixture_world(context, &world_def);
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.5, 8);
	carom_snapshot *snapshots[2];
	make_snapshots(world, snapshots, 2);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	CHECK_INT(carom_world_save(world, snapshots[0]), CAROM_SUCCESS);
	CHECK_INT(carom_world_save(world, snapshots[0]), CAROM_SUCCESS);
	carom_world_remove_body(world, id);
	CHECK_INT(counts.destroyed, 0);
	CHECK_INT(carom_world_save(world, snapshots[1]), CAROM_SUCCESS);
	CHECK_INT(carom_world_restore(world, snapshots[0]), CAROM_SUCCESS);
	CHECK_INT(carom_world_restore(world, snapshots[0]), CAROM_SUCCESS);
	carom_destroy_snapshot(snapshots[0]);
	CHECK_INT(counts.destroyed, 0);
	CHECK_INT(carom_world_restore(world, snapshots[1]), CAROM_SUCCESS);
	CHECK_INT(counts.built, 1);
	CHECK_INT(counts.destroyed, 1);
	carom_destroy_snapshot(snapshots[1]);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// Boxes that had not met a mesh when they were saved, and have when they are restored; and the other way round.
TEST(snapshot, boxes_that_have_met_no_mesh)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *floor = fixture_box_mesh(context, 10, 10, 1);
	carom_snapshot *snapshots[2];
	make_snapshots(world, snapshots, 2);
	for (int i = 0; i < 8; i++)
		fixture_add(world, fixture_box(0.3 + 0.01 * i, 0.3, 0.3), fixture_at(i - 3.5, 0, 0.29), CAROM_DYNAMIC);
	fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, -1), CAROM_STATIC);
	CHECK_INT(carom_world_save(world, snapshots[0]), CAROM_SUCCESS);
	fixture_step(world);
	const uint64_t first = carom_world_hash(world);
	CHECK_INT(carom_world_pairs(world).count, 8);
	CHECK_INT(carom_world_save(world, snapshots[1]), CAROM_SUCCESS);
	fixture_step(world);
	const uint64_t second = carom_world_hash(world);
	for (int round = 0; round < 3; round++) {
		CHECK_INT(carom_world_restore(world, snapshots[0]), CAROM_SUCCESS);
		fixture_step(world);
		CHECK(carom_world_hash(world) == first);
		CHECK_INT(carom_world_restore(world, snapshots[round % 2]), CAROM_SUCCESS);
		fixture_step(world);
		CHECK(carom_world_hash(world) == (round % 2 ? second : first));
	}
	for (int i = 0; i < 2; i++)
		carom_destroy_snapshot(snapshots[i]);
	carom_destroy_world(world);
	carom_release_mesh(floor);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

// ---- Comparing ----

/// Two worlds that are treated alike, and a snapshot of each.
typedef struct peers {
	carom_context *context[2];
	carom_world *world[2];
	carom_snapshot *snapshot[2];
	meshes m[2];
} peers;

static peers make_peers(void)
{
	peers p;
	for (int k = 0; k < 2; k++) {
		p.context[k] = fixture_context(1 + 2 * k);
		p.m[k] = make_meshes(p.context[k]);
		p.world[k] = fixture_world(p.context[k], NULL);
		make_snapshots(p.world[k], &p.snapshot[k], 1);
		fill_world(p.world[k], &p.m[k], BODIES);
	}
	return p;
}

static void free_peers(peers *p)
{
	for (int k = 0; k < 2; k++) {
		carom_destroy_snapshot(p->snapshot[k]);
		carom_destroy_world(p->world[k]);
		release_meshes(&p->m[k]);
		carom_destroy_context(p->context[k]);
	}
}

/// Let both live through steps first to end - 1 alike.
static void live_alike(peers *p, int first, int end)
{
	for (int k = 0; k < 2; k++) {
		for (int step = first; step < end; step++) {
			act(p->world[k], &p->m[k], (uint64_t)step);
			fixture_step(p->world[k]);
		}
	}
}

static bool peers_differ(peers *p, carom_snapshot_difference *difference)
{
	for (int k = 0; k < 2; k++)
		CHECK_INT(carom_world_save(p->world[k], p->snapshot[k]), CAROM_SUCCESS);
	const bool differ = carom_snapshots_differ(p->snapshot[0], p->snapshot[1], difference);
	CHECK_INT(carom_snapshots_differ(p->snapshot[1], p->snapshot[0], NULL), differ);
	CHECK_INT(carom_snapshot_hash(p->snapshot[0]) != carom_snapshot_hash(p->snapshot[1]), differ);
	return differ;
}

TEST(snapshot, worlds_treated_alike_do_not_differ)
{
	peers p = make_peers();
	carom_snapshot_difference d;
	live_alike(&p, 0, 10);
	CHECK(!peers_differ(&p, &d));
	CHECK(!d.list && !d.field && d.index == 0 && d.body.index1 == 0);
	CHECK(carom_world_contacts(p.world[0]).count > 20);
	// One goes astray, adds bodies that the other never had, and returns.
	const uint64_t hash = carom_snapshot_hash(p.snapshot[0]);
	for (int step = 0; step < 8; step++) {
		act(p.world[0], &p.m[0], 500 + (uint64_t)step);
		fixture_step(p.world[0]);
	}
	CHECK_INT(carom_world_restore(p.world[0], p.snapshot[0]), CAROM_SUCCESS);
	CHECK(!peers_differ(&p, &d));
	CHECK_INT(carom_snapshot_hash(p.snapshot[0]), hash);
	live_alike(&p, 10, 20);
	CHECK(!peers_differ(&p, &d));
	CHECK(carom_snapshot_hash(p.snapshot[0]) != hash);
	free_peers(&p);
}

/// The only difference that the peers have just been given.
static void expect_difference(peers *p, const char *list, const char *field, carom_body_id body)
{
	carom_snapshot_difference d;
	if (!CHECK(peers_differ(p, &d)))
		return;
	CHECK_STR(d.list, list);
	CHECK_STR(d.field, field);
	CHECK_INT(d.body.index1, body.index1);
	CHECK_INT(d.body.generation, body.generation);
	CHECK_INT(carom_world_restore(p->world[1], p->snapshot[1]), CAROM_SUCCESS);
}

/// The first body of a kind that the caller moves.
static carom_body_id find_kind(carom_world *world, carom_body_kind kind)
{
	carom_body_id ids[4 * BODIES];
	const int count = carom_world_body_ids(world, 4 * BODIES, ids);
	for (int i = 0; i < count; i++) {
		carom_body_def def;
		REQUIRE(carom_world_get_body_def(world, ids[i], &def) == CAROM_SUCCESS);
		if (def.kind == kind)
			return ids[i];
	}
	REQUIRE(false);
	return ids[0];
}

static void undo(peers *p, carom_snapshot *before)
{
	CHECK_INT(carom_world_restore(p->world[1], before), CAROM_SUCCESS);
	CHECK(!peers_differ(p, NULL));
}

TEST(snapshot, differences_are_named)
{
	peers p = make_peers();
	carom_snapshot *before;
	live_alike(&p, 0, 6);
	make_snapshots(p.world[1], &before, 1);
	REQUIRE(carom_world_save(p.world[1], before) == CAROM_SUCCESS);
	carom_world *world = p.world[1];
	const carom_body_id solid = find_kind(world, CAROM_DYNAMIC), cloth = find_kind(world, CAROM_CLOTH);
	carom_pose pose;
	REQUIRE(carom_world_get_pose(world, solid, &pose) == CAROM_SUCCESS);
	pose.position.y = nextafter(pose.position.y, 9);
	CHECK_INT(carom_world_set_pose(world, solid, &pose), CAROM_SUCCESS);
	expect_difference(&p, "bodies", "pose.position", solid);
	undo(&p, before);
	CHECK_INT(carom_world_set_filter(world, solid, 1, 77, 0), CAROM_SUCCESS);
	expect_difference(&p, "bodies", "mask", solid);
	undo(&p, before);
	uint64_t seed = 3;
	move_vertices(world, cloth, &seed);
	expect_difference(&p, "places", "coordinate", cloth);
	undo(&p, before);
	const float impulse[3] = { 7, 8, 9 };
	CHECK_INT(carom_world_set_impulse(world, 4, impulse), CAROM_SUCCESS);
	expect_difference(&p, "contacts", "impulse", carom_world_contacts(world).data[4].body_a);
	undo(&p, before);
	add_random_body(world, &p.m[1], &seed);
	carom_snapshot_difference d;
	CHECK(peers_differ(&p, &d));
	CHECK_STR(d.list, "bodies");
	undo(&p, before);
	CHECK_INT(carom_world_remove_body(world, solid), CAROM_SUCCESS);
	expect_difference(&p, "bodies", "existence", solid);
	undo(&p, before);
	// The numbers of the caller's own do not count.
	CHECK_INT(carom_world_set_user_data(world, solid, 1234567), CAROM_SUCCESS);
	CHECK_INT(carom_world_set_pair_data(world, 0, 1234567), CAROM_SUCCESS);
	CHECK(!peers_differ(&p, NULL));
	carom_destroy_snapshot(before);
	free_peers(&p);
}

TEST(snapshot, empty_ones_compare)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_snapshot *snapshots[2];
	make_snapshots(world, snapshots, 2);
	CHECK(!carom_snapshots_differ(snapshots[0], snapshots[1], NULL));
	const carom_body_id ball = fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	CHECK_INT(carom_world_save(world, snapshots[0]), CAROM_SUCCESS);
	carom_snapshot_difference d;
	for (int turned = 0; turned < 2; turned++) {
		CHECK(carom_snapshots_differ(snapshots[turned], snapshots[1 - turned], &d));
		CHECK_STR(d.list, "bodies");
		CHECK_STR(d.field, "count");
		CHECK_INT(d.index, 0);
		CHECK_INT(d.body.index1, ball.index1);
	}
	for (int k = 0; k < 2; k++)
		carom_destroy_snapshot(snapshots[k]);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

static carom_result add_sheet(carom_world *world, const carom_mesh *sheet, carom_body_id *id)
{
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_of_mesh(sheet);
	def.kind = CAROM_CLOTH;
	return carom_world_add_body(world, &def, id);
}

TEST(snapshot, restoring_keeps_to_the_budget)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 60, 2);
	carom_world_def def = carom_default_world_def();
	def.memory_budget = 4 << 20;
	carom_world *world = fixture_world(context, &def);
	carom_snapshot *snapshot;
	carom_body_id ids[4];
	make_snapshots(world, &snapshot, 1);
	for (int i = 0; i < 4; i++)
		REQUIRE(add_sheet(world, sheet, &ids[i]) == CAROM_SUCCESS);
	CHECK_INT(carom_world_save(world, snapshot), CAROM_SUCCESS);
	for (int i = 0; i < 4; i++)
		CHECK_INT(carom_world_remove_body(world, ids[i]), CAROM_SUCCESS);
	carom_body_id id;
	while (add_sheet(world, sheet, &id) == CAROM_SUCCESS)
		CHECK(carom_world_body_count(world) < 1000);
	const int count = carom_world_body_count(world);
	const uint64_t before = digest(world);
	CHECK(count >= 4);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_OVER_BUDGET);
	CHECK(strncmp(carom_error_text(context), "carom_world_restore:", 20) == 0);
	CHECK_INT(carom_world_body_count(world), count);
	CHECK_INT(digest(world), before);
	CHECK_INT(carom_world_remove_body(world, ids[0]), CAROM_INVALID_BODY);
	carom_body_id all[1000];
	CHECK_INT(carom_world_body_ids(world, 1000, all), count);
	for (int i = 0; i < count; i++)
		CHECK_INT(carom_world_remove_body(world, all[i]), CAROM_SUCCESS);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_SUCCESS);
	CHECK_INT(carom_world_body_count(world), 4);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

TEST(snapshot, misuse)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL), *other = fixture_world(context, NULL);
	carom_snapshot *snapshot;
	CHECK_INT(carom_create_snapshot(world, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_create_snapshot: snapshot is NULL");
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	CHECK_INT(carom_world_save(world, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_save: snapshot is NULL");
	CHECK_INT(carom_world_restore(world, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_restore: snapshot is NULL");
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_restore: snapshot is empty: carom_world_save fills it");
	CHECK_INT(carom_world_save(other, snapshot), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_save: snapshot was made for another world");
	CHECK_INT(carom_world_save(world, snapshot), CAROM_SUCCESS);
	CHECK_INT(carom_world_restore(other, snapshot), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_restore: snapshot was made for another world");
	fixture_tape tape = { 0 };
	CHECK_INT(carom_world_record(world, fixture_write_tape, &tape), CAROM_SUCCESS);
	CHECK_INT(carom_world_save(world, snapshot), CAROM_SUCCESS);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context),
		"carom_world_restore: the world is being recorded, and recordings cannot go back: end it by carom_world_record first");
	CHECK_INT(carom_world_record(world, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_SUCCESS);
	free(tape.bytes);
	carom_destroy_world(world);
	CHECK_INT(carom_world_restore(other, snapshot), CAROM_INVALID_ARGUMENT);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(other);
	carom_destroy_context(context);
}

// ---- As bytes ----

static carom_world *lived(carom_context *context, const meshes *m, const carom_world_def *def, int steps, bool stepped)
{
	carom_world *world = fixture_world(context, def);
	fill_world(world, m, BODIES);
	for (int step = 0; step < steps; step++) {
		act(world, m, (uint64_t)step);
		if (stepped)
			fixture_step(world);
	}
	return world;
}

static void save_bytes(carom_world *world, fixture_tape *tape)
{
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	CHECK_INT(carom_snapshot_save(snapshot, fixture_write_tape, tape), CAROM_SUCCESS);
	carom_destroy_snapshot(snapshot);
}

/// A world of another context, whose bodies came and went alike but which has done no step, goes on after so many as the one that was saved.
static void goes_on_after(const carom_world_def *def, int steps)
{
	carom_context *contexts[2] = { fixture_context(1), fixture_context(TEST_MOST_THREADS >= 2 ? 2 : 1) };
	meshes m[2] = { make_meshes(contexts[0]), make_meshes(contexts[1]) };
	carom_world *one = lived(contexts[0], &m[0], def, steps, true), *two = lived(contexts[1], &m[1], def, steps, false);
	fixture_tape tape = { 0 };
	carom_snapshot *snapshot;
	save_bytes(one, &tape);
	REQUIRE(carom_create_snapshot(two, &snapshot) == CAROM_SUCCESS);
	CHECK_INT(carom_snapshot_load(snapshot, tape.bytes, tape.count), CAROM_SUCCESS);
	CHECK_STR(carom_error_text(contexts[1]), "");
	REQUIRE(carom_world_restore(two, snapshot) == CAROM_SUCCESS);
	CHECK(carom_world_contacts(two).count > 0);
	for (int step = steps; step < 2 * steps; step++) {
		if (!CHECK_INT(digest(two), digest(one)))
			break;
		for (int i = 0; i < 2; i++) {
			act(i ? two : one, &m[i], (uint64_t)step);
			fixture_step(i ? two : one);
		}
	}
	carom_destroy_snapshot(snapshot);
	free(tape.bytes);
	carom_destroy_world(one);
	carom_destroy_world(two);
	for (int i = 0; i < 2; i++) {
		release_meshes(&m[i]);
		carom_destroy_context(contexts[i]);
	}
}

/// After few steps too: bodies stand still then that move later.
static void goes_on(const carom_world_def *def)
{
	for (int steps = 5; steps <= STEPS / 2; steps += 7)
		goes_on_after(def, steps);
}

TEST(snapshot, goes_on_from_bytes_on_other_threads)
{
	goes_on(NULL);
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	def.speculative_distance = 0.1;
	goes_on(&def);
}

static carom_mesh *counterpart(const carom_mesh *mesh, const meshes *of, const meshes *to)
{
	return mesh == of->torus ? to->torus : mesh == of->sphere ? to->sphere : mesh == of->sheet ? to->sheet : to->hull;
}

/// Add a body of one world to another, of another context, under its id.
static void add_copy(carom_world *to, const carom_world *from, carom_body_id id, const meshes *m)
{
	carom_body_def def;
	carom_part parts[4];
	REQUIRE(carom_world_get_body_def(from, id, &def) == CAROM_SUCCESS);
	def.pose = carom_pose_identity(); // that of the bytes holds
	if (def.shape.mesh)
		def.shape.mesh = counterpart(def.shape.mesh, &m[0], &m[1]);
	REQUIRE(def.part_count <= 4);
	for (int32_t i = 0; i < def.part_count; i++) {
		parts[i] = def.parts[i];
		if (parts[i].shape.mesh)
			parts[i].shape.mesh = counterpart(parts[i].shape.mesh, &m[0], &m[1]);
	}
	if (def.part_count > 0)
		def.parts = parts;
	CHECK_INT(carom_world_add_body_with_id(to, &def, id), CAROM_SUCCESS);
}

/// Bodies with parts come and go, so that numbers side by side are free.
static void add_compounds(carom_world *world, const meshes *m)
{
	uint64_t seed = 9;
	carom_body_id ids[6];
	for (int i = 0; i < 6; i++) {
		const carom_part parts[3] = { { random_shape(m, &seed), fixture_at(-0.4, 0, 0), 5 },
			{ fixture_of_mesh(m->torus), fixture_at(0.4, 0, 0), 6 }, { fixture_sphere(0.2), fixture_at(0, 0.5, 0), 7 } };
		carom_body_def def = carom_default_body_def();
		def.parts = parts;
		def.part_count = 2 + i % 2;
		def.part_room = i == 4 ? 6 : 0;
		def.pose = fixture_random_pose(&seed, 2);
		def.user_data = (uint64_t)i;
		REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
	}
	for (int i = 0; i < 4; i += 3)
		CHECK_INT(carom_world_remove_body(world, ids[i]), CAROM_SUCCESS);
	add_random_body(world, m, &seed);
}

/// A world that begins when another has lived, gets copies of the bodies there are under their ids, in the order of these or against
/// it, and the state as bytes. Then both live on alike.
static void begins_late(bool trimmed, bool rising)
{
	carom_context *contexts[2] = { fixture_context(1), fixture_context(TEST_MOST_THREADS >= 2 ? 2 : 1) };
	meshes m[2] = { make_meshes(contexts[0]), make_meshes(contexts[1]) };
	carom_world *one = lived(contexts[0], &m[0], NULL, 5, true), *two = fixture_world(contexts[1], NULL);
	add_compounds(one, &m[0]);
	fixture_step(one);
	carom_body_id ids[4 * BODIES];
	const int count = carom_world_body_ids(one, 4 * BODIES, ids);
	if (trimmed) {
		CHECK_INT(carom_world_remove_body(one, ids[count - 1]), CAROM_SUCCESS);
		CHECK_INT(carom_world_trim(one), CAROM_SUCCESS);
	}
	for (int i = 0; i < count - trimmed; i++)
		add_copy(two, one, ids[rising ? i : count - trimmed - 1 - i], m);
	fixture_tape tape = { 0 };
	carom_snapshot *snapshot;
	save_bytes(one, &tape);
	REQUIRE(carom_create_snapshot(two, &snapshot) == CAROM_SUCCESS);
	CHECK_INT(carom_snapshot_load(snapshot, tape.bytes, tape.count), CAROM_SUCCESS);
	CHECK_STR(carom_error_text(contexts[1]), "");
	REQUIRE(carom_world_restore(two, snapshot) == CAROM_SUCCESS);
	for (int step = 5; step < STEPS; step++) {
		if (!CHECK_INT(digest(two), digest(one)))
			break;
		if (step == 8) {
			add_compounds(one, &m[0]);
			add_compounds(two, &m[1]);
		}
		for (int i = 0; i < 2; i++) {
			act(i ? two : one, &m[i], (uint64_t)step);
			fixture_step(i ? two : one);
		}
	}
	carom_destroy_snapshot(snapshot);
	free(tape.bytes);
	for (int i = 0; i < 2; i++) {
		carom_destroy_world(i ? two : one);
		release_meshes(&m[i]);
		carom_destroy_context(contexts[i]);
	}
}

TEST(snapshot, a_world_that_begins_late_goes_on_from_bytes)
{
	for (int kind = 0; kind < 4; kind++)
		begins_late(kind & 1, kind & 2);
}

TEST(snapshot, goes_on_from_bytes_in_the_laboratory)
{
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->worker_groups = 3;
	fixture_lab(&def)->distance_extension = 0.2;
	fixture_lab(&def)->ray_buffers = CAROM_BUFFERS_BACKTRACK;
	goes_on(&def);
}

TEST(snapshot, damaged_bytes_are_refused)
{
	carom_context *context = fixture_context(1);
	meshes m = make_meshes(context);
	carom_world *world = lived(context, &m, NULL, STEPS / 2, true);
	const uint64_t before = digest(world);
	fixture_tape tape = { 0 };
	carom_snapshot *snapshot;
	save_bytes(world, &tape);
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	for (size_t at = 0; at < tape.count; at += at < 300 ? 1 : 1021) {
		tape.bytes[at] ^= 0x10;
		CHECK_INT(carom_snapshot_load(snapshot, tape.bytes, tape.count), CAROM_INVALID_ARGUMENT);
		tape.bytes[at] ^= 0x10;
	}
	for (size_t cut = 0; cut < tape.count; cut += tape.count / 50)
		CHECK_INT(carom_snapshot_load(snapshot, tape.bytes, cut), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_INVALID_ARGUMENT); // still empty
	tape.bytes[8] = 4;
	CHECK_INT(carom_snapshot_load(snapshot, tape.bytes, tape.count), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_snapshot_load: version is 4; this library reads 9");
	tape.bytes[8] = 9;
	CHECK_INT(digest(world), before);
	CHECK_INT(carom_snapshot_load(snapshot, tape.bytes, tape.count), CAROM_SUCCESS);
	CHECK_INT(carom_world_restore(world, snapshot), CAROM_SUCCESS);
	CHECK_INT(digest(world), before);
	carom_destroy_snapshot(snapshot);
	free(tape.bytes);
	carom_destroy_world(world);
	release_meshes(&m);
	carom_destroy_context(context);
}

TEST(snapshot, bytes_of_other_bodies_are_refused)
{
	carom_context *context = fixture_context(1);
	carom_mesh *fine = fixture_sphere_mesh(context, 0.5, 8), *coarse = fixture_sphere_mesh(context, 0.5, 6);
	carom_world *world = fixture_world(context, NULL), *others[3];
	fixture_add(world, fixture_of_mesh(fine), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	for (int i = 0; i < 3; i++)
		others[i] = fixture_world(context, NULL);
	fixture_add(others[1], fixture_of_mesh(coarse), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	fixture_add(others[2], fixture_of_mesh(fine), fixture_at(0, 0, 0), CAROM_KINEMATIC);
	static const char *const texts[3] = { "bodies: the saved world had 1, this one has 0",
		"bodies[0]: differs from the saved one: mesh", "bodies[0]: differs from the saved one: kind" };
	fixture_tape tape = { 0 };
	save_bytes(world, &tape);
	for (int i = 0; i < 3; i++) {
		carom_snapshot *snapshot;
		REQUIRE(carom_create_snapshot(others[i], &snapshot) == CAROM_SUCCESS);
		CHECK_INT(carom_snapshot_load(snapshot, tape.bytes, tape.count), CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(context), texts[i]) != NULL);
		CHECK_INT(carom_world_body_count(others[i]), i > 0);
		carom_destroy_snapshot(snapshot);
		carom_destroy_world(others[i]);
	}
	free(tape.bytes);
	carom_destroy_world(world);
	carom_release_mesh(fine);
	carom_release_mesh(coarse);
	carom_destroy_context(context);
}

static bool give_up(const void *bytes, size_t count, void *user)
{
	(void)bytes;
	(void)count;
	(void)user;
	return false;
}

TEST(snapshot, misuse_of_bytes)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_snapshot *snapshot;
	fixture_tape tape = { 0 };
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	CHECK_INT(carom_snapshot_save(NULL, fixture_write_tape, &tape), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_snapshot_load(NULL, "", 0), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_snapshot_save(snapshot, NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_snapshot_save: write is NULL");
	CHECK_INT(carom_snapshot_save(snapshot, fixture_write_tape, &tape), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_snapshot_save: snapshot is empty: carom_world_save fills it");
	CHECK_INT(carom_snapshot_load(snapshot, NULL, 100), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_snapshot_load: bytes is NULL");
	fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	fixture_step(world);
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	CHECK_INT(carom_snapshot_save(snapshot, give_up, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_snapshot_save: write gave up");
	heap.fail_at = heap.calls;
	CHECK_INT(carom_snapshot_save(snapshot, fixture_write_tape, &tape), CAROM_OUT_OF_MEMORY);
	heap.fail_at = -1;
	CHECK_INT(carom_snapshot_save(snapshot, fixture_write_tape, &tape), CAROM_SUCCESS);
	carom_destroy_snapshot(snapshot);
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	int refused = 0;
	for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS; refused++) {
		carom_destroy_snapshot(snapshot);
		REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
		heap.fail_at = heap.calls + refused;
		result = carom_snapshot_load(snapshot, tape.bytes, tape.count);
		heap.fail_at = -1;
		CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
		REQUIRE(refused < 100);
	}
	CHECK(refused > 1);
	carom_destroy_world(world);
	CHECK_INT(carom_snapshot_load(snapshot, tape.bytes, tape.count), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_snapshot_load: snapshot: its world was destroyed");
	carom_destroy_snapshot(snapshot);
	free(tape.bytes);
	carom_destroy_context(context);
}
