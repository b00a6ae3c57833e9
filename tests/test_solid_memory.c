/// What pairs with a solid that deforms remember from step to step: against a world that remembers nothing, on motions that a memory can get
/// wrong; collapsed solids, other meshes, snapshots, threads, instruction sets, failed allocations.
#include "moving.h"
#include "pool_fixture.h"

#include "world/world.h"

#include <math.h>
#include <string.h>

enum { MOST = 400, SOLIDS = 4, RIGID = 3, WORLDS = 2 };

typedef enum motion {
	MOTION_WAVE,     // in place, half a thousandth of the size a step
	MOTION_SETTLE,   // ever more slowly
	MOTION_PASS,     // through each other and away
	MOTION_LIMB,     // one end swings, the rest stays
	MOTION_TELEPORT, // elsewhere every seven steps
	MOTION_TAIL,     // what meets no other swings, the rest stays
	MOTION_SWALLOW,  // one side of some reaches over their neighbours every fifth step
	MOTION_COLLAPSE, // flat every fifth step: the mesh of a form is made once more
	MOTIONS,
} motion;

typedef struct scene {
	carom_context *context;
	carom_mesh *meshes[2]; // of solids
	carom_mesh *other;     // of rigid bodies
	motion motion;
} scene;

static void open_scene(scene *s, carom_context *context, motion kind)
{
	*s = (scene){ .context = context, .motion = kind };
	s->meshes[0] = fixture_torus_mesh(context, 14, 8, 0.4, 0.15);
	s->meshes[1] = fixture_sphere_mesh(context, 0.8, 8);
	s->other = fixture_torus_mesh(context, 12, 8, 0.35, 0.2);
}

static void close_scene(scene *s)
{
	carom_release_mesh(s->meshes[0]);
	carom_release_mesh(s->meshes[1]);
	carom_release_mesh(s->other);
	carom_destroy_context(s->context);
}

/// Where the point p of a solid at rest is in a step, but for its place in the row.
static carom_vec3 bend(motion kind, int solid, int step, carom_vec3 p)
{
	const double size = 2.8, t = step + 3 * solid;
	switch (kind) {
	case MOTION_WAVE: p.z += 0.02 * size * sin(2 * p.x + 0.02 * t); break;
	case MOTION_SETTLE: p.z += 0.1 * exp(-0.15 * step) * cos(step) * (1 + p.x); break;
	case MOTION_PASS: p.y += (solid % 2 ? 1 : -1) * 2.5 * cos(0.04 * step) + 0.05 * sin(3 * p.x + 0.1 * t); break;
	case MOTION_LIMB: p.z += p.x > 0.7 ? 0.3 * (p.x - 0.7) * sin(0.3 * t) : 0.0003 * sin(t); break;
	case MOTION_TELEPORT: p.x += 0.4 * (step / 7 % 3); break;
	case MOTION_TAIL: p.y += p.y > 0.8 ? 0.3 * (p.y - 0.8) * sin(0.3 * t) : 0; break;
	case MOTION_SWALLOW: p.x *= p.x > 0 && solid % 2 == 1 && step % 5 == 4 ? 3.5 : 1 + 0.0004 * sin(t); break;
	case MOTION_COLLAPSE: p.z *= step % 5 == 4 && solid % 2 == 0 ? 0 : 1 + 0.01 * sin(0.2 * t); break;
	default: break;
	}
	return p;
}

static void place_solid(const scene *s, carom_world *world, carom_body_id id, int solid, int step)
{
	double places[3 * MOST];
	const cr_topology *t = &s->meshes[solid % 2]->topology;
	REQUIRE(t->vertex_count <= MOST);
	for (int32_t i = 0; i < t->vertex_count; i++) {
		const float *v = &t->vertices[3 * (int64_t)i];
		const carom_vec3 p = bend(s->motion, solid, step, (carom_vec3){ (double)v[0], (double)v[1], (double)v[2] });
		places[3 * i] = p.x + 1.3 * solid;
		places[3 * i + 1] = solid % 3 == 1 ? -p.z : p.y;
		places[3 * i + 2] = solid % 3 == 1 ? p.y : p.z;
	}
	const carom_strided end = { places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(world, id, NULL, &end) == CAROM_SUCCESS);
}

static carom_pose rigid_pose(int body, int step)
{
	carom_pose pose = fixture_at(2.1 * body + 0.4, 0.3 * sin(0.004 * step), 0.5 + 0.2 * cos(0.005 * step + body));
	const double half = 0.001 * step + body;
	pose.orientation = (carom_quat){ 0, sin(half), 0, cos(half) };
	return pose;
}

typedef struct bodies {
	carom_body_id solid[SOLIDS];
	carom_body_id rigid[RIGID];
} bodies;

static carom_world *make_world(const scene *s, const carom_world_def *def, bodies *b)
{
	carom_world *world = fixture_world(s->context, def);
	for (int i = 0; i < SOLIDS; i++) {
		carom_body_def body = carom_default_body_def();
		body.shape = fixture_of_mesh(s->meshes[i % 2]);
		body.kind = CAROM_DEFORMABLE;
		body.self_collision = body.shape_impacts = false;
		REQUIRE(carom_world_add_body(world, &body, &b->solid[i]) == CAROM_SUCCESS);
	}
	for (int i = 0; i < RIGID; i++)
		b->rigid[i] = fixture_add(world, i % 2 ? fixture_box(0.5, 0.4, 0.6) : fixture_of_mesh(s->other), rigid_pose(i, 0),
			i == RIGID - 1 ? CAROM_STATIC : CAROM_DYNAMIC);
	return world;
}

static void place(const scene *s, carom_world *world, const bodies *b, int step)
{
	for (int i = 0; i < SOLIDS; i++)
		place_solid(s, world, b->solid[i], i, step);
	for (int i = 0; i < RIGID - 1; i++) {
		const carom_pose pose = rigid_pose(i, step);
		REQUIRE(carom_world_set_pose(world, b->rigid[i], &pose) == CAROM_SUCCESS);
	}
}

// ---- Against a world that remembers nothing ----

typedef struct outcome {
	moving_difference difference;
	int64_t full, iterative, apart, walks;
} outcome;

static outcome run_against_full(motion kind, const carom_world_def *def, int steps)
{
	scene s;
	bodies b[WORLDS];
	outcome o = { 0 };
	open_scene(&s, fixture_context(1), kind);
	carom_world_def plain = *def;
	plain.temporal = CAROM_TEMPORAL_NONE;
	carom_world *world = make_world(&s, def, &b[0]), *full = make_world(&s, &plain, &b[1]);
	for (int step = 0; step < steps; step++) {
		place(&s, world, &b[0], step);
		place(&s, full, &b[1], step);
		fixture_step(world);
		fixture_step(full);
		if (!def->lab || def->lab->stages != CAROM_STAGES_NAIVE) // which counts walks among the samples tested
			fixture_check_views(world);
		moving_compare(full, world, &o.difference);
		CHECK_INT(o.difference.pairs_missing + o.difference.pairs_added, 0);
		const carom_stats stats = carom_world_stats(world);
		o.full += stats.pairs_full;
		o.iterative += stats.pairs_iterative;
		o.apart += stats.pairs_apart;
		o.walks += stats.rays_iterative;
	}
	carom_destroy_world(world);
	carom_destroy_world(full);
	close_scene(&s);
	return o;
}

static carom_world_def all_contacts(void)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	return def;
}

static outcome run_kind(motion kind)
{
	const carom_world_def def = all_contacts();
	const outcome o = run_against_full(kind, &def, TEST_FEWER > 1 ? 14 : 40);
	CHECK(o.difference.pairs > 0);
	CHECK(o.apart > 0);
	// A walk may end on another sheet of the surface than the first that a ray meets.
	CHECK(200 * o.difference.contacts_missing <= o.difference.contacts);
	CHECK(o.difference.deepest_missing < 0.05);
	return o;
}

TEST(solid_memory, waves_find_all_pairs)
{
	const outcome o = run_kind(MOTION_WAVE);
	CHECK(o.iterative > o.full && o.walks > 0);
}

TEST(solid_memory, settling_finds_all_pairs)
{
	const outcome o = run_kind(MOTION_SETTLE);
	CHECK(o.iterative > 0);
}

TEST(solid_memory, passing_finds_all_pairs) { run_kind(MOTION_PASS); }
TEST(solid_memory, a_swinging_limb_finds_all_pairs)
{
	run_kind(MOTION_LIMB);
	run_kind(MOTION_TAIL);
}

TEST(solid_memory, swallowing_finds_all_pairs) { run_kind(MOTION_SWALLOW); }
TEST(solid_memory, teleports_find_all_pairs) { run_kind(MOTION_TELEPORT); }
TEST(solid_memory, collapsing_finds_all_pairs) { run_kind(MOTION_COLLAPSE); }

TEST(solid_memory, no_setting_loses_a_pair)
{
	for (int i = 0; i < 8; i++) {
		carom_world_def def = all_contacts();
		carom_lab lab = carom_default_lab();
		def.lab = &lab;
		def.temporal = i % 2 ? CAROM_TEMPORAL_ITERATIVE : CAROM_TEMPORAL_PREDICTIVE;
		def.speculative_distance = i / 2 == 1 ? 0.03 : 0;
		lab.stages = i / 2 == 2 ? CAROM_STAGES_NAIVE : CAROM_STAGES_LISTS;
		lab.exit_distance_test = i / 2 == 3;
		const outcome o = run_against_full(MOTION_WAVE, &def, 12);
		CHECK(o.difference.pairs > 0 && o.iterative > 0);
	}
}

// ---- What a step costs ----

/// Solids that are apart, and known to be, get no mesh in a step.
TEST(solid_memory, solids_known_to_be_apart_get_no_form)
{
	scene s;
	bodies b;
	open_scene(&s, fixture_context(1), MOTION_WAVE);
	carom_world *world = fixture_world(s.context, NULL);
	// Rings whose boxes overlap, one in the hole of the other.
	const carom_mesh *ring = s.meshes[0];
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_of_mesh(ring);
	def.kind = CAROM_DEFORMABLE;
	def.self_collision = def.shape_impacts = false;
	def.pose = fixture_at(0, 0, 0.9);
	REQUIRE(carom_world_add_body(world, &def, &b.solid[0]) == CAROM_SUCCESS);
	fixture_add(world, fixture_box(0.2, 0.2, 0.9), fixture_at(0, 0, 0.9), CAROM_STATIC);
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, b.solid[0], &view) == CAROM_SUCCESS);
	double places[3 * MOST];
	memcpy(places, view.data, 3 * (size_t)view.count * sizeof *places);
	int formed = 0;
	for (int step = 0; step < 20; step++) {
		const carom_strided end = { places, 0, CAROM_FLOAT64 };
		places[0] += step % 2 ? 0.001 : -0.001;
		REQUIRE(carom_world_set_vertices(world, b.solid[0], NULL, &end) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK_INT(carom_world_contacts(world).count, 0);
		CHECK_INT(carom_world_stats(world).box_pairs, 1);
		const cr_deforming *d = cr_deforming_of(&world->bodies.data[b.solid[0].index1 - 1]);
		formed += d->form_revision == d->surface.revision;
	}
	CHECK(formed >= 1 && formed < 5);
	carom_destroy_world(world);
	close_scene(&s);
}

/// One end of a ring swings far; the other, where it meets another ring, stays: that pair goes on from what it remembers.
TEST(solid_memory, a_swinging_end_leaves_the_other_alone)
{
	enum { STEPS = 24, VERTICES = 40 * 16 };
	carom_context *context = fixture_context(1);
	carom_mesh *ring = fixture_torus_mesh(context, 40, 16, 0.4, 0.1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_of_mesh(ring);
	def.kind = CAROM_DEFORMABLE;
	def.self_collision = def.shape_impacts = false;
	carom_body_id id, other;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	def.pose = fixture_at(2.2, 0, 0.3);
	REQUIRE(carom_world_add_body(world, &def, &other) == CAROM_SUCCESS);
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, id, &view) == CAROM_SUCCESS && view.count == VERTICES);
	static double rest[3 * VERTICES], places[3 * VERTICES];
	memcpy(rest, view.data, sizeof rest);
	int full = 0, iterative = 0;
	for (int step = 0; step < STEPS; step++) {
		memcpy(places, rest, sizeof places);
		for (int i = 0; i < VERTICES; i++)
			places[3 * i + 2] += rest[3 * i] < -0.5 ? 0.3 * (-0.5 - rest[3 * i]) * sin(0.8 * step) : 0;
		const carom_strided end = { places, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, id, NULL, &end) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK(carom_world_contacts(world).count > 0);
		const carom_stats stats = carom_world_stats(world);
		full += stats.pairs_full;
		iterative += stats.pairs_iterative;
	}
	CHECK(full >= 1 && full < 4);
	CHECK_INT(full + iterative, STEPS);
	carom_release_mesh(ring);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Other meshes, snapshots, threads, instruction sets, memory ----

TEST(solid_memory, another_mesh_is_seen)
{
	scene s;
	bodies b[WORLDS];
	open_scene(&s, fixture_context(1), MOTION_WAVE);
	carom_world_def def = all_contacts();
	carom_world *world[WORLDS];
	world[0] = make_world(&s, &def, &b[0]);
	def.temporal = CAROM_TEMPORAL_NONE;
	world[1] = make_world(&s, &def, &b[1]);
	// The triangles and vertices of the first mesh, with another tree.
	const cr_topology *t = &s.meshes[0]->topology;
	carom_mesh_def copy = carom_default_mesh_def();
	copy.vertices = (carom_strided){ t->vertices, 0, CAROM_FLOAT32 };
	copy.vertex_count = t->vertex_count;
	copy.triangles = t->triangles;
	copy.triangle_count = t->triangle_count;
	copy.build = CAROM_MESH_LBVH;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(s.context, &copy, NULL, &mesh) == CAROM_SUCCESS);
	moving_difference difference = { 0 };
	for (int step = 0; step < 16; step++) {
		for (int k = 0; k < WORLDS; k++) {
			place(&s, world[k], &b[k], step);
			if (step % 4 == 3)
				REQUIRE(carom_world_set_mesh(world[k], b[k].solid[0], step % 8 == 3 ? mesh : s.meshes[0], NULL, NULL) ==
					CAROM_SUCCESS);
			fixture_step(world[k]);
		}
		moving_compare(world[1], world[0], &difference);
		CHECK_INT(difference.pairs_missing + difference.pairs_added, 0);
		// Contacts grow older over the change.
		CHECK_INT(carom_world_pairs(world[0]).data[0].age, carom_world_pairs(world[1]).data[0].age);
	}
	CHECK(difference.contacts_missing * 200 <= difference.contacts);
	carom_destroy_world(world[0]);
	carom_destroy_world(world[1]);
	carom_release_mesh(mesh);
	close_scene(&s);
}

enum { STEPS = 12 };

static void run_hashes(carom_context *context, motion kind, int save_at, uint64_t *hashes, uint64_t *again)
{
	scene s;
	bodies b;
	carom_snapshot *snapshot;
	open_scene(&s, context, kind);
	carom_world *world = make_world(&s, NULL, &b);
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	for (int step = 0; step < STEPS; step++) {
		place(&s, world, &b, step);
		if (step == save_at)
			REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
		fixture_step(world);
		hashes[step] = carom_world_hash(world);
	}
	if (again) {
		REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
		for (int step = save_at; step < STEPS; step++) {
			if (step > save_at)
				place(&s, world, &b, step);
			fixture_step(world);
			again[step] = carom_world_hash(world);
		}
	}
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	close_scene(&s);
}

TEST(solid_memory, goes_back_to_a_snapshot_bit_for_bit)
{
	for (int kind = 0; kind < MOTIONS; kind++) {
		uint64_t hashes[STEPS], again[STEPS];
		run_hashes(fixture_context(1), (motion)kind, 6, hashes, again);
		CHECK(memcmp(hashes + 6, again + 6, (STEPS - 6) * sizeof *hashes) == 0);
	}
}

TEST(solid_memory, is_alike_for_any_number_of_threads)
{
	pool_require_threads();
	for (int kind = 0; kind < MOTIONS; kind += 3) {
		uint64_t one[STEPS], other[STEPS];
		run_hashes(fixture_context(TEST_LEAST_THREADS), (motion)kind, -1, one, NULL);
		for (int threads = 2 * TEST_LEAST_THREADS; threads <= 4; threads += 2) {
			run_hashes(fixture_context(threads), (motion)kind, -1, other, NULL);
			CHECK(memcmp(one, other, sizeof one) == 0);
		}
	}
}

TEST(solid_memory, is_alike_for_any_instruction_set)
{
	uint64_t one[STEPS], other[STEPS];
	run_hashes(fixture_context(1), MOTION_WAVE, -1, one, NULL);
	for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
		if (!fixture_kernels(fixture_all_simd[k]))
			continue;
		carom_context_def def = carom_default_context_def();
		carom_context *context;
		def.simd = fixture_all_simd[k];
		def.thread_count = 1;
		REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
		run_hashes(context, MOTION_WAVE, -1, other, NULL);
		CHECK(memcmp(one, other, sizeof one) == 0);
	}
}

/// Every allocation of a step that goes on from what pairs remember fails once: the repeated step finds what a world without a memory does.
TEST(solid_memory, failed_allocations_leave_a_usable_world)
{
	static fixture_heap heap;
	scene s;
	bodies b[WORLDS];
	open_scene(&s, fixture_heap_context(&heap, 1), MOTION_WAVE);
	carom_world_def def = all_contacts();
	def.temporal = CAROM_TEMPORAL_NONE;
	carom_world *full = make_world(&s, &def, &b[1]);
	moving_difference difference = { 0 };
	int failures = 0;
	bool failed = true;
	place(&s, full, &b[1], 1);
	fixture_step(full);
	for (int n = 0; failed; n += 5) {
		def.temporal = CAROM_TEMPORAL_PREDICTIVE;
		carom_world *world = make_world(&s, &def, &b[0]);
		for (int step = 0; step < 2; step++) {
			place(&s, world, &b[0], step);
			if (step == 0)
				fixture_step(world);
		}
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + n);
		const carom_result result = carom_world_step(world);
		failed = atomic_load(&heap.calls) > atomic_load(&heap.fail_at);
		atomic_store(&heap.fail_at, -1);
		CHECK(result == CAROM_SUCCESS || (failed && result == CAROM_OUT_OF_MEMORY));
		failures += result == CAROM_OUT_OF_MEMORY;
		if (result != CAROM_SUCCESS)
			fixture_step(world);
		moving_compare(full, world, &difference);
		CHECK_INT(difference.pairs_missing + difference.pairs_added, 0);
		carom_destroy_world(world);
	}
	CHECK(failures > 0);
	carom_destroy_world(full);
	close_scene(&s);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}
