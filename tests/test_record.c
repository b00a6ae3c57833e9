/// Recordings: what was recorded replays to the same hashes; what is damaged is refused, whatever the damage, and never crashes.
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include "world/recording_format.h"
#include "world/world.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static carom_context *make_context(void)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1; // thousands of small replays: waking workers would take most of the time
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

/// An octahedron: the smallest mesh whose vertices cast rays into another.
static carom_mesh *make_octahedron(carom_context *context, float radius, int32_t grid_resolution)
{
	const float r = radius;
	const float vertices[18] = { r, 0, 0, -r, 0, 0, 0, r, 0, 0, -r, 0, 0, 0, r, 0, 0, -r };
	static const int32_t triangles[24] = { 0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5 };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 6;
	def.triangles = triangles;
	def.triangle_count = 8;
	def.grid_resolution = grid_resolution;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static carom_pose random_pose(uint64_t *seed)
{
	carom_pose p = { { test_random_double(seed, -1.5, 1.5), test_random_double(seed, -1.5, 1.5),
						 test_random_double(seed, -0.5, 1.5) },
		{ test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), 1 } };
	carom_quat *q = &p.orientation;
	const double length =
		sqrt(q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w) * 1.0003; // off by what a caller may be off
	*q = (carom_quat){ q->x / length, q->y / length, q->z / length, q->w / length };
	return p;
}

static bool odd_pairs_only(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b;
	const int *modulus = user;
	return (a.index1 + b.index1) % (uint32_t)*modulus != 0;
}

/// What is done to a world between and during recording.
typedef struct play {
	carom_context *context;
	carom_world *world;
	carom_mesh *meshes[2];
	carom_body_id ids[64];
	int count;
	uint64_t seed;
	int64_t contacts;
	carom_body_id soft[2]; // deforming bodies; null: none
} play;

static void add_random_body(play *p)
{
	carom_body_def def = carom_default_body_def();
	def.pose = random_pose(&p->seed);
	const int kind = (int)(test_random(&p->seed) % 5);
	switch (kind) {
	case 0: def.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = 0.4 }; break;
	case 1: def.shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.3, 0.4, 0.5 } }; break;
	case 2: def.shape = (carom_shape){ .type = CAROM_CAPSULE, .radius = 0.2, .half_length = 0.3 }; break;
	default: def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = p->meshes[kind - 3] }; break;
	}
	def.user_data = test_random(&p->seed);
	REQUIRE(carom_world_add_body(p->world, &def, &p->ids[p->count++]) == CAROM_SUCCESS);
}

static void remove_random_body(play *p)
{
	const int i = (int)(test_random(&p->seed) % (uint64_t)p->count);
	REQUIRE(carom_world_remove_body(p->world, p->ids[i]) == CAROM_SUCCESS);
	p->ids[i] = p->ids[--p->count];
}

/// Two bodies that deform, and hit each other in most steps.
static void add_soft_bodies(play *p)
{
	for (int i = 0; i < 2; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = p->meshes[i] };
		def.kind = i ? CAROM_CLOTH : CAROM_DEFORMABLE;
		def.self_collision = i;
		REQUIRE(carom_world_add_body(p->world, &def, &p->soft[i]) == CAROM_SUCCESS);
	}
}

static void move_soft_bodies(play *p, int step)
{
	for (int i = 0; i < 2 && p->soft[i].index1; i++) {
		double begin[18], end[18];
		for (int k = 0; k < 18; k++) {
			begin[k] = test_random_double(&p->seed, -1, 1);
			end[k] = test_random_double(&p->seed, -1, 1);
		}
		const carom_strided from = { begin, 0, CAROM_FLOAT64 }, to = { end, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(
					p->world, p->soft[i], step % 2 ? &from : NULL, step % 3 == 2 && step % 2 ? NULL : &to) == CAROM_SUCCESS);
	}
}

static void act(play *p, int steps)
{
	for (int step = 0; step < steps; step++) {
		if (step % 3 == 1) {
			remove_random_body(p);
			remove_random_body(p);
			add_random_body(p);
			add_random_body(p);
			add_random_body(p);
		}
		carom_pose poses[64];
		for (int i = 0; i < p->count; i++)
			poses[i] = random_pose(&p->seed);
		REQUIRE(carom_world_set_poses(p->world, p->count, p->ids, poses) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_pose(p->world, p->ids[0], &poses[1]) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_filter(p->world, p->ids[step % p->count], 1, step % 2 ? 2 : UINT64_MAX, -(step % 3)) ==
			CAROM_SUCCESS);
		REQUIRE(carom_world_set_user_data(p->world, p->ids[1], (uint64_t)step) == CAROM_SUCCESS);
		move_soft_bodies(p, step);
		// Failing calls leave no trace.
		CHECK(carom_world_set_pose(p->world, (carom_body_id){ 0, 0 }, &poses[0]) == CAROM_INVALID_BODY);
		REQUIRE(carom_world_step(p->world) == CAROM_SUCCESS);
		const carom_contact_view contacts = carom_world_contacts(p->world);
		p->contacts += contacts.count;
		if (contacts.count > 0)
			REQUIRE(carom_world_set_impulse(p->world, contacts.count - 1, (float[3]){ 1, 2, (float)step }) == CAROM_SUCCESS);
	}
}

static void open_play(play *p, const carom_world_def *def, int bodies)
{
	*p = (play){ .context = make_context(), .seed = 5 };
	REQUIRE(carom_create_world(p->context, def, &p->world) == CAROM_SUCCESS);
	p->meshes[0] = make_octahedron(p->context, 0.5f, 0);
	p->meshes[1] = make_octahedron(p->context, 0.8f, 3);
	carom_body_def ground = carom_default_body_def();
	ground.shape = (carom_shape){ .type = CAROM_PLANE };
	ground.kind = CAROM_STATIC;
	carom_body_id id;
	REQUIRE(carom_world_add_body(p->world, &ground, &id) == CAROM_SUCCESS);
	for (int i = 0; i < bodies; i++)
		add_random_body(p);
}

static void close_play(play *p)
{
	carom_destroy_world(p->world);
	carom_release_mesh(p->meshes[0]);
	carom_release_mesh(p->meshes[1]);
	CHECK(carom_memory_in_use(p->context) < 4096); // the context itself
	carom_destroy_context(p->context);
}

/// A recording of steps that begins when the world has a past.
static fixture_tape make_recording_of(const carom_world_def *def, bool soft, int bodies, int steps, uint64_t *hash)
{
	play p;
	fixture_tape t = { 0 };
	open_play(&p, def, bodies);
	if (soft)
		add_soft_bodies(&p);
	act(&p, 4);
	p.contacts = 0;
	REQUIRE(carom_world_record(p.world, fixture_write_tape, &t) == CAROM_SUCCESS);
	act(&p, steps);
	REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
	*hash = carom_world_hash(p.world);
	CHECK(p.contacts > 0);
	act(&p, 1); // no longer recorded
	close_play(&p);
	return t;
}

static fixture_tape make_recording(const carom_world_def *def, int bodies, int steps, uint64_t *hash)
{
	return make_recording_of(def, false, bodies, steps, hash);
}

typedef carom_result replay_fn(carom_context *context, carom_read_fn *read, void *user, carom_replay_result *result);

static carom_result replay_by(replay_fn *fn, fixture_tape t, carom_replay_result *result, char *text)
{
	carom_context *context = make_context();
	const carom_result outcome = fn(context, fixture_read_tape, &t, result);
	if (text)
		strcpy(text, carom_error_text(context));
	CHECK(carom_memory_in_use(context) < 4096);
	carom_destroy_context(context);
	return outcome;
}

static carom_result replay(fixture_tape t, carom_replay_result *result, char *text)
{
	return replay_by(carom_lab_replay_recording, t, result, text);
}

TEST(record, a_recording_replays_to_the_same_hashes)
{
	for (int variant = 0; variant < 4; variant++) {
		carom_world_def def = carom_default_world_def();
		int modulus = 3;
		fixture_set_broad(&def, variant % 3);
		def.max_contacts_per_pair = variant;
		fixture_lab(&def)->exit_distance_test = variant == 2;
		def.speculative_distance = variant == 1 ? 0.05 : 0;
		fixture_lab(&def)->max_depth_ratio = variant == 2 ? 0 : 1 + variant;
		if (variant == 3) {
			def.pair_filter = odd_pairs_only;
			def.filter_user = &modulus;
		}
		uint64_t hash;
		fixture_tape t = make_recording(&def, 20, 12, &hash);
		carom_replay_result result;
		char text[600];
		CHECK_INT(replay(t, &result, text), CAROM_SUCCESS);
		CHECK_STR(text, ""); // a call that succeeds says nothing
		CHECK_INT(result.steps, 12);
		CHECK_INT(result.first_difference, -1);
		CHECK(result.hash == hash);
		free(t.bytes);
	}
}

/// A lumpy torus whose trees are built so.
static carom_mesh *make_torus(carom_context *context, carom_mesh_build build)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_torus(&soup, 12, 12, 0.4, 0.1);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ soup.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = soup.vertex_count;
	def.triangles = soup.triangles;
	def.triangle_count = soup.triangle_count;
	def.build = build;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// What becomes of the mesh that was baked and loaded, which is released.
static carom_mesh *bake(carom_context *context, carom_mesh *mesh)
{
	fixture_tape bytes = { 0 };
	carom_mesh *loaded = NULL;
	REQUIRE(carom_mesh_save(mesh, fixture_write_tape, &bytes) == CAROM_SUCCESS);
	REQUIRE(carom_mesh_load(context, bytes.bytes, bytes.count, true, &loaded) == CAROM_SUCCESS);
	carom_release_mesh(mesh);
	free(bytes.bytes);
	return loaded;
}

/// Tori that overlap from the first and move on.
static fixture_tape record_tori(carom_context *context, carom_mesh *mesh, uint64_t seed, uint64_t *hash)
{
	enum { TORI = 3, STEPS = 4 };
	carom_world *world = fixture_world(context, NULL);
	carom_body_id ids[TORI];
	fixture_tape tape = { 0 };
	CHECK_INT(carom_world_record(world, fixture_write_tape, &tape), CAROM_SUCCESS);
	for (int i = 0; i < TORI; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = fixture_of_mesh(mesh);
		def.continuous = true;
		def.pose = fixture_random_pose(&seed, 0.5);
		def.pose.position.x += 0.9 * i;
		CHECK_INT(carom_world_add_body(world, &def, &ids[i]), CAROM_SUCCESS);
	}
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < TORI; i++) {
			carom_pose pose;
			carom_world_get_pose(world, ids[i], &pose);
			pose.position.x += test_random_double(&seed, -0.15, 0.15);
			pose.position.z += test_random_double(&seed, -0.15, 0.15);
			carom_world_set_pose(world, ids[i], &pose);
		}
		fixture_step(world);
	}
	*hash = carom_world_hash(world);
	CHECK_INT(carom_world_record(world, NULL, NULL), CAROM_SUCCESS);
	carom_destroy_world(world);
	return tape;
}

/// No result depends on how a mesh was built, neither in the recorded world nor in its replay.
TEST(record, meshes_of_every_build_replay)
{
	enum { SEEDS = 24 / TEST_FEWER };
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t of_sah = 0;
		for (int build = CAROM_MESH_SAH; build <= CAROM_MESH_PLOC; build++) {
			carom_context *context = make_context();
			carom_mesh *mesh = make_torus(context, (carom_mesh_build)build);
			if (seed % 2)
				mesh = bake(context, mesh);
			uint64_t hash;
			fixture_tape tape = record_tori(context, mesh, seed, &hash);
			of_sah = build == CAROM_MESH_SAH ? hash : of_sah;
			CHECK(hash == of_sah);
			carom_replay_result result;
			char text[600];
			if (!CHECK_INT(replay_by(carom_replay_recording, tape, &result, text), CAROM_SUCCESS))
				CHECK_STR(text, "");
			CHECK(result.hash == hash);
			free(tape.bytes);
			carom_release_mesh(mesh);
			carom_destroy_context(context);
		}
	}
}

/// Every setting off its default.
static carom_world_def odd_settings(void)
{
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_ITERATIVE;
	fixture_lab(&def)->lost_rays = CAROM_LOST_DROP;
	fixture_lab(&def)->max_walk = 5;
	fixture_lab(&def)->displacement_threshold = 0.25;
	fixture_lab(&def)->distance_extension = 0.125;
	def.contact_normal = CAROM_NORMAL_TRIANGLE;
	def.internal_edge_angle = 0.5;
	fixture_lab(&def)->stages = CAROM_STAGES_NAIVE;
	fixture_lab(&def)->ray_buffers = CAROM_BUFFERS_BACKTRACK;
	fixture_lab(&def)->ray_predictor = CAROM_PREDICTOR_LAST;
	fixture_lab(&def)->buffer_confidence = 1.5;
	fixture_lab(&def)->worker_groups = 3;
	def.sweep.method = CAROM_SWEEP_PHC;
	def.sweep.volume = CAROM_SWEEP_AABB;
	def.sweep.build = CAROM_SWEEP_SAH;
	def.sweep.test = CAROM_SWEEP_INCLUSION;
	def.sweep.tolerance = 0.0625;
	def.sweep.min_separation = 0.03125;
	def.sweep.orphan_sets = false;
	def.sweep.prune_front = false;
	def.sweep.rebuild_sprouted = 0.75;
	def.sweep.rebuild_replaced = 0.875;
	def.sweep.front_budget = 12345;
	def.toi_tolerance = 0.0078125;
	return def;
}

TEST(record, settings_of_temporal_data_replay_to_the_same_hashes)
{
	for (int variant = 0; variant < 5; variant++) {
		carom_world_def def = variant == 0 ? odd_settings() : carom_default_world_def();
		if (variant == 2)
			fixture_lab(&def)->displacement_threshold = 4; // these bodies jump about: anything less would be full in every step
		if (variant == 3)
			fixture_lab(&def)->ray_buffers = CAROM_BUFFERS_IGNORE; // what is missed depends on the step before
		if (variant == 4) {
			def.sweep.lab = carom_lab_sweep();
			def.sweep.test = CAROM_SWEEP_CUBIC; // it misses impacts
		}
		uint64_t hash;
		fixture_tape t = make_recording(&def, 20, 12, &hash);
		carom_replay_result result;
		char text[600];
		if (!CHECK_INT(replay(t, &result, text), CAROM_SUCCESS))
			CHECK_STR(text, "");
		CHECK_INT(result.steps, 12);
		CHECK(result.hash == hash);
		// Without the laboratory by the library's own methods, which find all contacts, and so cannot leave any out.
		const carom_result own = replay_by(carom_replay_recording, t, &result, text);
		CHECK_INT(own, variant >= 3 ? CAROM_UNSUPPORTED : CAROM_SUCCESS);
		CHECK(variant >= 3 ? strstr(text, "carom_lab_replay_recording") != NULL : result.hash == hash);
		free(t.bytes);
	}
}

// ---- The record of the world: offsets in the stream ----

enum {
	WORLD_SIZE_AT = 16,
	TEMPORAL_AT = 62, // the first field that version 1 did not have
	PREDICT_AT = 66,
	LOST_RAYS_AT = 67,
	MAX_WALK_AT = 71,
	THRESHOLD_AT = 75,
	EXTENSION_AT = 83,
	NORMAL_AT = 91,
	EDGE_ANGLE_AT = 95,
	STAGES_AT = 103,
	BUFFERS_AT = 107,
	PREDICTOR_AT = 111,
	CONFIDENCE_AT = 115,
	GROUPS_AT = 123,
	SWEEP_AT = 127, // the first field that version 2 did not have
	SWEEP_VOLUME_AT = 131,
	SWEEP_BUILD_AT = 135,
	SWEEP_TEST_AT = 139,
	SWEEP_TOLERANCE_AT = 143,
	SWEEP_SEPARATION_AT = 151,
	SWEEP_ORPHANS_AT = 159,
	SWEEP_PRUNE_AT = 160,
	SWEEP_SPROUTED_AT = 161,
	SWEEP_REPLACED_AT = 169,
	SWEEP_BUDGET_AT = 177,
	WORLD_END = 185, // of versions 3 to 5
	TOI_TOLERANCE_AT = 185,
	BODY_LIMIT_AT = 193,
	BODY_PAIRS_AT = 197,
	EDGE_SHARE_AT = 198,
	WORLD_NOW = 206,
};

static double load_double(const uint8_t *bytes)
{
	const uint64_t bits = cr_load_le(bytes, 8);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static void store_double(uint8_t *bytes, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	cr_store_le(bytes, bits, 8);
}

TEST(record, every_setting_is_written)
{
	const carom_world_def def = odd_settings();
	uint64_t hash;
	fixture_tape t = make_recording(&def, 8, 1, &hash);
	const uint8_t *b = t.bytes;
	CHECK_INT(cr_load_le(b + WORLD_SIZE_AT, 8), WORLD_NOW - 24);
	CHECK_INT(cr_load_le(b + TEMPORAL_AT, 4), 1); // something is kept; nothing predicted:
	CHECK_INT(b[PREDICT_AT], 0);
	CHECK_INT(cr_load_le(b + LOST_RAYS_AT, 4), CAROM_LOST_DROP);
	CHECK_INT(cr_load_le(b + MAX_WALK_AT, 4), 5);
	CHECK(load_double(b + THRESHOLD_AT) == 0.25);
	CHECK(load_double(b + EXTENSION_AT) == 0.125);
	CHECK_INT(cr_load_le(b + NORMAL_AT, 4), CAROM_NORMAL_TRIANGLE);
	CHECK(load_double(b + EDGE_ANGLE_AT) == 0.5);
	CHECK_INT(cr_load_le(b + STAGES_AT, 4), CAROM_STAGES_NAIVE);
	CHECK_INT(cr_load_le(b + BUFFERS_AT, 4), CAROM_BUFFERS_BACKTRACK);
	CHECK_INT(cr_load_le(b + PREDICTOR_AT, 4), CAROM_PREDICTOR_LAST);
	CHECK(load_double(b + CONFIDENCE_AT) == 1.5);
	CHECK_INT(cr_load_le(b + GROUPS_AT, 4), 3);
	CHECK_INT(cr_load_le(b + SWEEP_AT, 4), CAROM_SWEEP_PHC);
	CHECK_INT(cr_load_le(b + SWEEP_VOLUME_AT, 4), CAROM_SWEEP_AABB);
	CHECK_INT(cr_load_le(b + SWEEP_BUILD_AT, 4), CAROM_SWEEP_SAH);
	CHECK_INT(cr_load_le(b + SWEEP_TEST_AT, 4), CAROM_SWEEP_INCLUSION);
	CHECK(load_double(b + SWEEP_TOLERANCE_AT) == 0.0625);
	CHECK(load_double(b + SWEEP_SEPARATION_AT) == 0.03125);
	CHECK_INT(b[SWEEP_ORPHANS_AT], 0);
	CHECK_INT(b[SWEEP_PRUNE_AT], 0);
	CHECK(load_double(b + SWEEP_SPROUTED_AT) == 0.75);
	CHECK_INT(cr_load_le(b + BODY_LIMIT_AT, 4), 0);
	CHECK_INT(b[BODY_PAIRS_AT], 0);
	CHECK(load_double(b + SWEEP_REPLACED_AT) == 0.875);
	CHECK_INT(cr_load_le(b + SWEEP_BUDGET_AT, 8), 12345);
	CHECK(load_double(b + TOI_TOLERANCE_AT) == 0.0078125);
	free(t.bytes);
}

TEST(record, a_recording_of_an_empty_world)
{
	carom_context *context = make_context();
	carom_world *world;
	fixture_tape t = { 0 };
	REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
	REQUIRE(carom_world_record(world, fixture_write_tape, &t) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	carom_destroy_world(world); // ends the recording
	carom_destroy_context(context);
	carom_replay_result result;
	CHECK_INT(replay(t, &result, NULL), CAROM_SUCCESS);
	CHECK_INT(result.steps, 1);
	free(t.bytes);
}

TEST(record, the_stream_is_the_documented_one)
{
	uint64_t hash;
	fixture_tape t = make_recording_of(NULL, true, 3, 2, &hash);
	CHECK(memcmp(t.bytes, "CAROMREC\25\0\0\0", 12) == 0);
	size_t at = 12;
	uint64_t check = cr_check_bytes(CR_CHECK_SEED, t.bytes, 12);
	int records = 0, steps = 0;
	uint32_t opcode = 99;
	while (at < t.count) {
		opcode = (uint32_t)cr_load_le(t.bytes + at, 4);
		const size_t size = CR_RECORD_HEAD_SIZE + (size_t)cr_load_le(t.bytes + at + 4, 8);
		REQUIRE(at + size + CR_RECORD_CHECK_SIZE <= t.count);
		check = cr_check_bytes(check, t.bytes + at, size);
		CHECK(cr_load_le(t.bytes + at + size, 8) == check);
		check = cr_check_bytes(check, t.bytes + at + size, CR_RECORD_CHECK_SIZE);
		CHECK(records != 0 || opcode == CR_RECORD_WORLD);
		steps += opcode == CR_RECORD_STEP;
		if (opcode == CR_RECORD_STEP && steps == 2)
			CHECK(cr_load_le(t.bytes + at + size - 8, 8) == hash);
		at += size + CR_RECORD_CHECK_SIZE;
		records++;
	}
	CHECK_INT(opcode, CR_RECORD_END);
	CHECK_INT(steps, 2);
	CHECK_INT(at, t.count);
	free(t.bytes);
}

/// The next length at which a recording is cut: a byte behind each record's end, at each record's
/// end, and steps of an odd number of bytes between them, where every cut is one in a record.
static size_t next_cut(const fixture_tape *t, size_t length, size_t *record_end)
{
	const size_t stride = TEST_FEWER > 1 ? 15 : 5;
	if (length == *record_end) {
		*record_end += CR_RECORD_HEAD_SIZE + (size_t)cr_load_le(t->bytes + length + 4, 8) + CR_RECORD_CHECK_SIZE;
		return length + 1;
	}
	return length + stride < *record_end ? length + stride : *record_end;
}

TEST(record, prefixes_are_refused)
{
	uint64_t hash;
	fixture_tape t = make_recording_of(NULL, true, 4, 3, &hash);
	int64_t most_steps = 0;
	size_t record_end = 12; // of the head of the stream, at first
	for (size_t length = 0; length < t.count; length = next_cut(&t, length, &record_end)) {
		fixture_tape prefix = t;
		prefix.count = length;
		carom_replay_result result;
		char text[600];
		if (!CHECK(replay(prefix, &result, text) == CAROM_INVALID_RECORDING))
			CHECK_INT(length, -1);
		CHECK(text[0] != 0);
		CHECK_INT(result.first_difference, -1);
		CHECK(result.steps >= most_steps); // as far as it got
		most_steps = result.steps;
	}
	CHECK_INT(most_steps, 3);
	free(t.bytes);
}

TEST(record, every_flipped_byte_is_found)
{
	uint64_t hash;
	fixture_tape t = make_recording_of(NULL, true, 4, 1, &hash);
	for (size_t i = 0; i < t.count; i++) {
		carom_replay_result result;
		t.bytes[i] ^= (uint8_t)(1u << i % 8);
		if (!CHECK(replay(t, &result, NULL) == CAROM_INVALID_RECORDING))
			CHECK_INT(i, -1);
		t.bytes[i] ^= (uint8_t)(1u << i % 8);
	}
	carom_replay_result result;
	CHECK_INT(replay(t, &result, NULL), CAROM_SUCCESS);
	free(t.bytes);
}

static void check_forged(const fixture_tape *t, size_t at, uint8_t value, int counts[2])
{
	fixture_tape forged = *t;
	forged.bytes = malloc(t->count);
	memcpy(forged.bytes, t->bytes, t->count);
	forged.bytes[at] = value;
	fixture_repair_tape(&forged);
	carom_replay_result result;
	const carom_result outcome = replay(forged, &result, NULL);
	CHECK(outcome == CAROM_SUCCESS || outcome == CAROM_INVALID_RECORDING);
	CHECK(outcome != CAROM_SUCCESS || result.first_difference == -1);
	counts[outcome != CAROM_SUCCESS]++;
	free(forged.bytes);
}

TEST(record, forged_recordings_never_crash)
{
	// Any byte may hold anything with a right check sum: fields out of range, wrong counts, foreign ids, broken meshes.
	uint64_t hash;
	fixture_tape t = make_recording_of(NULL, true, 4, 1, &hash);
	int counts[2] = { 0, 0 };
	for (size_t i = 0; i < t.count; i += TEST_STRIDE) {
		const uint8_t values[3] = { 0xff, (uint8_t)(t.bytes[i] ^ 1), (uint8_t)(t.bytes[i] ^ 0x80) };
		check_forged(&t, i, values[i % 3], counts);
	}
	CHECK(counts[0] > 50 / TEST_STRIDE); // such as user data, which shows in no hash
	CHECK(counts[1] > 100 / TEST_STRIDE);
	free(t.bytes);
}

/// With right check sums, the replay refuses the world and names the field.
static void refuse_setting(const fixture_tape *t, const char *field)
{
	fixture_repair_tape(&(fixture_tape){ .bytes = t->bytes, .count = t->count });
	carom_replay_result result;
	char text[600];
	CHECK_INT(replay(*t, &result, text), CAROM_INVALID_RECORDING);
	if (!CHECK(strstr(text, field) != NULL))
		CHECK_STR(text, field);
	CHECK_INT(result.steps, 0);
}

TEST(record, settings_out_of_range_are_refused)
{
	static const struct {
		int at, value;
		const char *field;
	} integers[] = {
		{ TEMPORAL_AT, 2, "temporal" },
		{ PREDICT_AT, 2, "size is wrong" }, // neither true nor false
		{ LOST_RAYS_AT, -1, "lost_rays" },
		{ MAX_WALK_AT, 0, "max_walk" },
		{ MAX_WALK_AT, 65537, "max_walk" },
		{ NORMAL_AT, 3, "contact_normal" },
		{ STAGES_AT, 7, "stages" },
		{ BUFFERS_AT, 3, "ray_buffers" },
		{ PREDICTOR_AT, -2, "ray_predictor" },
		{ GROUPS_AT, 17, "worker_groups" },
		{ GROUPS_AT, -1, "worker_groups" },
		{ SWEEP_AT, 5, "method" },
		{ SWEEP_VOLUME_AT, 2, "volume" },
		{ SWEEP_BUILD_AT, -1, "build" },
		{ SWEEP_TEST_AT, 3, "test" },
		{ SWEEP_PRUNE_AT, 2, "size is wrong" },
	};
	static const struct {
		int at;
		double value;
		const char *field;
	} reals[] = {
		{ THRESHOLD_AT, -1, "displacement_threshold" },
		{ THRESHOLD_AT, NAN, "displacement_threshold" },
		{ EXTENSION_AT, INFINITY, "distance_extension" },
		{ EDGE_ANGLE_AT, 4, "internal_edge_angle" },
		{ EDGE_SHARE_AT, -1, "long_edge_share" },
		{ CONFIDENCE_AT, 0, "buffer_confidence" },
		{ CONFIDENCE_AT, INFINITY, "buffer_confidence" },
		{ SWEEP_TOLERANCE_AT, 0, "tolerance" },
		{ SWEEP_SEPARATION_AT, NAN, "min_separation" },
		{ SWEEP_REPLACED_AT, -1, "rebuild_replaced" },
	};
	uint64_t hash;
	fixture_tape t = make_recording_of(NULL, true, 4, 1, &hash);
	uint8_t kept[WORLD_NOW];
	memcpy(kept, t.bytes, WORLD_NOW);
	for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
		cr_store_le(t.bytes + integers[i].at, (uint64_t)integers[i].value,
			integers[i].at == PREDICT_AT || integers[i].at == SWEEP_PRUNE_AT ? 1 : 4);
		refuse_setting(&t, integers[i].field);
		memcpy(t.bytes, kept, WORLD_NOW);
	}
	for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
		store_double(t.bytes + reals[i].at, reals[i].value);
		refuse_setting(&t, reals[i].field);
		memcpy(t.bytes, kept, WORLD_NOW);
	}
	fixture_repair_tape(&t);
	carom_replay_result result;
	CHECK_INT(replay(t, &result, NULL), CAROM_SUCCESS); // it was the settings
	free(t.bytes);
}

// Bodies of version 3 end with self_collision, those of 4 with rounding, those of 5 with parts, of which there are none here,
// those of 6 with continuous, which none is, those of 7 with contacts, which all have, those of 8 with shape_impacts, which none needs.
enum { OLD_BODY_SIZE = 137, ROUNDING_SIZE = 8, COUNT_SIZE = 4 };

static void copy(fixture_tape *to, const uint8_t **from, size_t count)
{
	memcpy(to->bytes + to->count, *from, count);
	to->count += count;
	*from += count;
}

// Version 5 has parts; its steps end without the number of contacts left out, which is 0 here.
// Version 6 has all but whether a body has contacts, version 7 all but whether it has impacts with shapes, version 8 all but thickness, version 9 all but
// granular bodies, of which there are none here. The steps of version 12 end with the number of contacts of spheres left out.
enum {
	PARTS_VERSION = 5,
	CONTINUOUS_VERSION = 6,
	CONTACTS_VERSION = 7,
	SHAPES_VERSION = 8,
	THICKNESS_VERSION = 9,
	DROPS_VERSION = 12,
	HASH_SIZE = 8,
	THICKNESS_SIZE = 8,
	LIMIT_VERSION = 14, // the first whose world tells of pairs of bodies; 15 differs from it by parts, of which there are none
	LIMIT_SIZE = 5,
	SLEEP_VERSION = 17, // the first whose motions end with whether a body sleeps, and whether a call has changed it
	SLEEP_SIZE = 2,
	SHARE_SIZE = 8, // its world ends with long_edge_share
};

/// A body, and in a state the motion that follows, of one that rests.
static void copy_old_body(fixture_tape *to, const uint8_t **from, bool in_state, uint32_t version)
{
	copy(to, from, OLD_BODY_SIZE);
	if (version >= 3)
		copy(to, from, 1);
	else
		*from += 1;
	if (version >= 4)
		copy(to, from, ROUNDING_SIZE);
	else
		*from += ROUNDING_SIZE;
	CHECK_INT(cr_load_le(*from, COUNT_SIZE), 0);
	if (version >= PARTS_VERSION)
		copy(to, from, COUNT_SIZE);
	else
		*from += COUNT_SIZE;
	CHECK_INT(**from, 0); // continuous
	if (version >= CONTINUOUS_VERSION)
		copy(to, from, 1);
	else
		*from += 1;
	CHECK_INT(**from, 1); // contacts
	if (version >= CONTACTS_VERSION)
		copy(to, from, 1);
	else
		*from += 1;
	CHECK_INT(**from, 1); // shape_impacts
	if (version >= SHAPES_VERSION)
		copy(to, from, 1);
	else
		*from += 1;
	CHECK(cr_load_le(*from, THICKNESS_SIZE) == 0);
	if (version >= THICKNESS_VERSION)
		copy(to, from, THICKNESS_SIZE);
	else
		*from += THICKNESS_SIZE;
	if (in_state && version >= 3)
		copy(to, from, 1);
	else
		*from += in_state;
	CHECK(!in_state || (*from)[-1] == 0);
}

static void copy_old_state(fixture_tape *to, const uint8_t **from, uint32_t version)
{
	const int64_t slots = (int64_t)cr_load_le(*from, 4);
	copy(to, from, 4);
	for (int64_t i = 0; i < slots; i++) {
		const bool alive = (*from)[4];
		copy(to, from, 5);
		if (alive)
			copy_old_body(to, from, true, version);
		if (alive && version >= SLEEP_VERSION)
			copy(to, from, SLEEP_SIZE);
		else
			*from += alive ? SLEEP_SIZE : 0;
	}
}

/// What the library of an older version would have written: without the newer settings, and what they tell of.
static fixture_tape to_version(const fixture_tape *t, uint32_t version)
{
	fixture_tape old = { .bytes = malloc(t->count) };
	const uint8_t *from = t->bytes, *const end = t->bytes + t->count;
	copy(&old, &from, 12);
	cr_store_le(old.bytes + CR_RECORDING_MAGIC_SIZE, version, 4);
	while (from < end) {
		const uint32_t opcode = (uint32_t)cr_load_le(from, 4);
		const uint8_t *next = from + CR_RECORD_HEAD_SIZE + cr_load_le(from + 4, 8);
		const size_t head = old.count;
		copy(&old, &from, CR_RECORD_HEAD_SIZE);
		if (opcode == CR_RECORD_WORLD && version >= SLEEP_VERSION)
			copy(&old, &from, (size_t)(next - from));
		else if (opcode == CR_RECORD_WORLD && version >= LIMIT_VERSION)
			copy(&old, &from, (size_t)(next - from) - SHARE_SIZE);
		else if (opcode == CR_RECORD_WORLD && version >= CONTINUOUS_VERSION)
			copy(&old, &from, (size_t)(next - from) - LIMIT_SIZE - SHARE_SIZE);
		else if (opcode == CR_RECORD_WORLD)
			copy(&old, &from, (version == 1 ? TEMPORAL_AT : version == 2 ? SWEEP_AT : WORLD_END) - 24);
		else if (opcode == CR_RECORD_ADD_BODY)
			copy_old_body(&old, &from, false, version);
		else if (opcode == CR_RECORD_STATE)
			copy_old_state(&old, &from, version);
		// At the end of the state, none.
		if (opcode == CR_RECORD_STEP && version < DROPS_VERSION) {
			const size_t counts = version < CONTINUOUS_VERSION ? 2 : 1;
			copy(&old, &from, (size_t)(next - from) - HASH_SIZE - counts * COUNT_SIZE);
			for (size_t i = 0; i < counts; i++, from += COUNT_SIZE)
				CHECK_INT(cr_load_le(from, COUNT_SIZE), 0);
		}
		const size_t ranges = opcode == CR_RECORD_STATE && version < PARTS_VERSION ? COUNT_SIZE : 0;
		if (opcode == CR_RECORD_WORLD)
			from = next;
		copy(&old, &from, (size_t)(next - from) - ranges);
		from = next;
		cr_store_le(old.bytes + head + 4, old.count - head - CR_RECORD_HEAD_SIZE, 8);
		copy(&old, &from, CR_RECORD_CHECK_SIZE);
	}
	fixture_repair_tape(&old);
	return old;
}

TEST(record, recordings_of_older_versions_replay)
{
	carom_world_def defs[CR_RECORDING_VERSION];
	for (int i = 0; i < CR_RECORDING_VERSION; i++) {
		defs[i] = carom_default_world_def();
		defs[i].long_edge_share = 2; // no pair
	}
	defs[1].temporal = CAROM_TEMPORAL_NONE;
	defs[1].internal_edge_angle = 0;
	defs[1].contact_normal = CAROM_NORMAL_RAY;
	for (uint32_t version = 1; version < CR_RECORDING_VERSION; version++) {
		uint64_t hash;
		fixture_tape t = make_recording(&defs[version], 20, 8, &hash), old = to_version(&t, version);
		carom_replay_result result;
		char text[600];
		if (!CHECK_INT(replay(old, &result, text), CAROM_SUCCESS))
			CHECK_STR(text, "");
		CHECK_INT(result.steps, 8);
		CHECK(result.hash == hash);
		// Other versions are not guessed at, nor is one version's world under the other's number.
		for (uint32_t other = 0; other < CR_RECORDING_VERSION + 2; other++) {
			const bool known = other >= 1 && other <= CR_RECORDING_VERSION;
			cr_store_le(old.bytes + CR_RECORDING_MAGIC_SIZE, other, 4);
			fixture_repair_tape(&old);
			const bool alike = other == version ||
				(other >= THICKNESS_VERSION && other < DROPS_VERSION && version >= THICKNESS_VERSION &&
					version < DROPS_VERSION) ||
				(other >= DROPS_VERSION && other < LIMIT_VERSION && version >= DROPS_VERSION && version < LIMIT_VERSION) ||
				(other >= LIMIT_VERSION && other < SLEEP_VERSION && version >= LIMIT_VERSION && version < SLEEP_VERSION) ||
				(other >= SLEEP_VERSION && other <= CR_RECORDING_VERSION && version >= SLEEP_VERSION);
			CHECK_INT(replay(old, &result, text), alike ? CAROM_SUCCESS : CAROM_INVALID_RECORDING);
			// The bodies of version 3 are shorter, and those of 4: the state falls out of step behind the first.
			const bool in_body = version >= 3 && (strstr(text, ": a body ") || strstr(text, "pose.orientation"));
			CHECK(alike || in_body || strstr(text, known ? "size is wrong" : "version") != NULL);
		}
		free(t.bytes);
		free(old.bytes);
	}
}

TEST(record, what_was_forgotten_is_forgotten_in_the_replay)
{
	play p;
	fixture_tape t = { 0 };
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_PREDICTIVE;
	fixture_lab(&def)->displacement_threshold = 4;
	open_play(&p, &def, 20);
	act(&p, 3);
	REQUIRE(carom_world_record(p.world, fixture_write_tape, &t) == CAROM_SUCCESS);
	act(&p, 3);
	for (int k = 0; k < 3; k++) {
		cr_world_forget(p.world); // as a step that failed does
		act(&p, 2);
	}
	REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
	const uint64_t hash = carom_world_hash(p.world);
	close_play(&p);
	carom_replay_result result;
	char text[600];
	if (!CHECK_INT(replay(t, &result, text), CAROM_SUCCESS))
		CHECK_STR(text, "");
	CHECK_INT(result.steps, 9);
	CHECK(result.hash == hash);
	free(t.bytes);
}

/// A body of parts that overlaps a box, turned anyhow, and new: so it rests in its first step.
static void add_resting_parts(carom_world *world, uint64_t *seed)
{
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_box(0.5, 0.5, 0.5);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	const carom_part parts[2] = { { .shape = fixture_box(0.3, 0.2, 0.4), .pose = { { 0.3, 0.1, 0.2 }, { 0, 0, 0, 1 } } },
		{ .shape = fixture_box(0.2, 0.5, 0.1), .pose = { { -0.7, 0.4, -0.3 }, { 0, 0.6, 0, 0.8 } } } };
	def = carom_default_body_def();
	def.kind = CAROM_KINEMATIC;
	def.continuous = true;
	def.pose = random_pose(seed);
	def.parts = parts;
	def.part_count = 2;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
}

TEST(record, a_body_that_rests_does_so_in_the_replay_after_another_origin)
{
	uint64_t seed = 5;
	for (int i = 0; i < 20; i++) {
		carom_context *context = make_context();
		carom_world *world;
		REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
		add_resting_parts(world, &seed);
		fixture_tape t = { 0 };
		REQUIRE(carom_world_record(world, fixture_write_tape, &t) == CAROM_SUCCESS);
		REQUIRE(carom_world_shift_origin(world, (const double[3]){ 12.3, -4.56, 7.89 }) == CAROM_SUCCESS);
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		CHECK_INT(carom_world_body_impacts(world).count, 0);
		REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
		carom_destroy_world(world);
		carom_destroy_context(context);
		carom_replay_result result;
		char text[600];
		if (!CHECK_INT(replay(t, &result, text), CAROM_SUCCESS))
			CHECK_STR(text, "");
		free(t.bytes);
	}
}

typedef struct watched_steps {
	int64_t watched[8], full[8];
} watched_steps;

static bool note_watched(carom_world *world, int64_t step, void *user)
{
	watched_steps *w = user;
	const carom_stats stats = carom_world_stats(world);
	w->watched[step] = stats.vertices_watched;
	w->full[step] = stats.pairs_full;
	return step < 7;
}

/// Move the vertices of a solid to where its mesh has them, and up.
static void lift_solid(carom_world *world, carom_body_id solid, const carom_mesh *mesh, double height)
{
	const int32_t count = carom_mesh_get_report(mesh)->vertex_count;
	double *places = malloc(3 * (size_t)count * sizeof *places);
	REQUIRE(places != NULL);
	for (int32_t i = 0; i < 3 * count; i++)
		places[i] = carom_mesh_get_vertices(mesh)[i] + (i % 3 == 2 ? height : 0);
	const carom_strided end = { places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(world, solid, NULL, &end) == CAROM_SUCCESS);
	free(places);
}

TEST(record, a_replay_knows_as_little_of_the_ways_of_a_solid)
{
	// How much a pair watches goes by how far its bodies moved in the last step.
	carom_context *context = make_context();
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_PREDICTIVE;
	def.speculative_distance = 0.05;
	carom_world *world;
	REQUIRE(carom_create_world(context, &def, &world) == CAROM_SUCCESS);
	carom_mesh *mesh = make_torus(context, CAROM_MESH_SAH);
	carom_body_def body = carom_default_body_def();
	body.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	carom_body_id solid;
	REQUIRE(carom_world_add_body(world, &body, &solid) == CAROM_SUCCESS);
	body.kind = CAROM_DEFORMABLE;
	REQUIRE(carom_world_add_body(world, &body, &solid) == CAROM_SUCCESS);
	lift_solid(world, solid, mesh, 0.15);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	fixture_tape t = { 0 };
	watched_steps then = { 0 }, again = { 0 };
	REQUIRE(carom_world_record(world, fixture_write_tape, &t) == CAROM_SUCCESS);
	for (int step = 0; step < 6; step++) {
		if (step > 1)
			lift_solid(world, solid, mesh, 0.15 + 0.002 * step);
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		note_watched(world, step, &then);
	}
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_replay_result result;
	CHECK_INT(carom_watch_recording(context, fixture_read_tape, &t, note_watched, &again, &result), CAROM_SUCCESS);
	for (int step = 0; step < 6; step++) {
		CHECK_INT(again.watched[step], then.watched[step]);
		CHECK_INT(again.full[step], then.full[step]);
	}
	CHECK(then.watched[1] + then.watched[3] > 0);
	carom_destroy_context(context);
	free(t.bytes);
}

/// A height field with a hill, and hulls that lie on it. Where holes are asked for, one cell of it is open.
static carom_mesh *make_hill(carom_context *context, bool holes)
{
	enum { SIDE = 9 };
	float heights[SIDE * SIDE];
	uint32_t materials[2 * (SIDE - 1) * (SIDE - 1)];
	for (int i = 0; i < SIDE * SIDE; i++) {
		const double x = i % SIDE - 4, y = i / SIDE - 4;
		heights[i] = holes && i == 2 * SIDE + 1 ? NAN : (float)(0.3 / (1 + 0.3 * (x * x + y * y)));
	}
	for (int i = 0; i < 2 * (SIDE - 1) * (SIDE - 1); i++)
		materials[i] = (uint32_t)(i * i % 7);
	const double spacing[2] = { 0.3, 0.25 };
	carom_mesh *plain, *painted;
	REQUIRE(carom_create_height_field(context, SIDE, SIDE, heights, spacing, 0.1, &plain) == CAROM_SUCCESS);
	if (!holes)
		return plain;
	REQUIRE(carom_create_painted_mesh(context, plain, materials, 2 * (SIDE - 1) * (SIDE - 1), &painted) == CAROM_SUCCESS);
	carom_release_mesh(plain);
	return painted;
}

static fixture_tape record_hill(carom_context *context, bool holes, carom_tree_info *info, uint64_t *hash)
{
	carom_mesh *hill = make_hill(context, holes);
	const float cube[24] = { -0.2f, -0.2f, -0.2f, 0.2f, -0.2f, -0.2f, -0.2f, 0.2f, -0.2f, 0.2f, 0.2f, -0.2f, -0.2f, -0.2f, 0.2f,
		0.2f, -0.2f, 0.2f, -0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f };
	carom_mesh *hull = fixture_hull_mesh(context, cube, 8);
	CHECK_INT(carom_mesh_get_tree_info(hill, true, info), CAROM_SUCCESS);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id ground = fixture_add(world, fixture_of_mesh(hill), fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_tape tape = { 0 };
	CHECK_INT(carom_world_record(world, fixture_write_tape, &tape), CAROM_SUCCESS);
	for (int i = 0; i < 6; i++)
		fixture_add(world, i % 2 ? fixture_hull(hull) : fixture_of_mesh(hull), fixture_at(0.4 * i - 0.9, 0.2 * i - 0.6, 0.3),
			CAROM_DYNAMIC);
	fixture_step(world);
	const carom_field_region region = { 3, 2, 3, 2 };
	const float heights[6] = { 0.5f, 0.4f, 0.3f, 0.6f, 0.7f, 0.1f };
	CHECK_INT(carom_world_edit_field(world, ground, &region, heights), CAROM_SUCCESS);
	fixture_step(world);
	*hash = carom_world_hash(world);
	CHECK_INT(carom_world_record(world, NULL, NULL), CAROM_SUCCESS);
	CHECK(carom_world_contacts(world).count > 6);
	carom_destroy_world(world);
	carom_release_mesh(hill);
	carom_release_mesh(hull);
	return tape;
}

/// Is the ground of the replayed world a field, which has the trees that it had until it was edited?
static bool check_hill(carom_world *world, int64_t step, void *user)
{
	const carom_tree_info *then = user;
	carom_body_def def;
	CHECK_INT(carom_world_get_body_def(world, (carom_body_id){ 1, 1 }, &def), CAROM_SUCCESS);
	const carom_field_region region = { 0, 0, 1, 1 };
	const float height = 0.2f;
	carom_mesh *edited;
	CHECK_INT(carom_create_edited_field(carom_world_context(world), def.shape.mesh, &region, &height, &edited), CAROM_SUCCESS);
	carom_release_mesh(edited);
	carom_tree_info now;
	CHECK_INT(carom_mesh_get_tree_info(def.shape.mesh, true, &now), CAROM_SUCCESS);
	CHECK(step > 0 || (now.wide_nodes == then->wide_nodes && now.sah_cost == then->sah_cost && now.epo == then->epo));
	return true;
}

TEST(record, height_fields_are_fields_in_the_replay)
{
	for (int holes = 0; holes < 2; holes++) {
		carom_context *context = make_context();
		carom_tree_info info;
		uint64_t hash;
		fixture_tape tape = record_hill(context, holes, &info, &hash), reader = tape;
		carom_replay_result result;
		CHECK_INT(carom_watch_recording(context, fixture_read_tape, &reader, check_hill, &info, &result), CAROM_SUCCESS);
		CHECK_INT(result.steps, 2);
		CHECK(result.hash == hash);
		// Its bottom, behind head, world, sides and spacing: a number that no field has.
		const size_t field = CR_RECORDING_MAGIC_SIZE + 4 + CR_RECORD_HEAD_SIZE +
			(size_t)cr_load_le(tape.bytes + CR_RECORDING_MAGIC_SIZE + 8, 8) + CR_RECORD_CHECK_SIZE;
		char text[600];
		CHECK_INT(cr_load_le(tape.bytes + field, 4), CR_RECORD_FIELD);
		const double wrong[] = { 0.5, NAN, -INFINITY, INFINITY, -1e300 };
		for (int i = 0; i < 5; i++) {
			store_double(tape.bytes + field + CR_RECORD_HEAD_SIZE + 8 + 16, wrong[i]);
			fixture_repair_tape(&tape);
			CHECK_INT(replay(tape, &result, text), CAROM_INVALID_RECORDING);
		}
		cr_store_le(tape.bytes + CR_RECORDING_MAGIC_SIZE, CR_RECORDING_VERSION - 1, 4);
		fixture_repair_tape(&tape);
		CHECK_INT(replay(tape, &result, text), CAROM_INVALID_RECORDING);
		CHECK(strstr(text, "its version has no such record") != NULL);
		free(tape.bytes);
		carom_destroy_context(context);
	}
}

TEST(record, the_first_differing_step_is_named)
{
	uint64_t hash;
	fixture_tape t = make_recording_of(NULL, true, 8, 6, &hash);
	int step = 0;
	for (size_t at = 12; at < t.count;) {
		const uint32_t opcode = (uint32_t)cr_load_le(t.bytes + at, 4);
		const size_t size = CR_RECORD_HEAD_SIZE + (size_t)cr_load_le(t.bytes + at + 4, 8);
		if (opcode == CR_RECORD_STEP && step++ == 3)
			t.bytes[at + size - 1] ^= 1; // the hash of step 3
		at += size + CR_RECORD_CHECK_SIZE;
	}
	fixture_repair_tape(&t);
	carom_replay_result result;
	char text[600];
	CHECK_INT(replay(t, &result, text), CAROM_INVALID_RECORDING);
	CHECK_INT(result.first_difference, 3);
	CHECK_INT(result.steps, 4);
	CHECK(strstr(text, "step 3") != NULL);
	free(t.bytes);
}

TEST(record, a_writer_that_gives_up_is_reported)
{
	for (size_t limit = 1; limit < 6000; limit += 97) {
		play p;
		fixture_tape t = { .limit = limit };
		open_play(&p, NULL, 6);
		const carom_result started = carom_world_record(p.world, fixture_write_tape, &t);
		CHECK(started == CAROM_SUCCESS || started == CAROM_INVALID_RECORDING);
		act(&p, 2); // the world goes on
		const bool complete =
			started == CAROM_SUCCESS && t.count > 0 && carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS;
		carom_replay_result result;
		CHECK(complete == (replay(t, &result, NULL) == CAROM_SUCCESS));
		CHECK_INT(carom_world_record(p.world, NULL, NULL), CAROM_SUCCESS); // nothing is being recorded
		free(t.bytes);
		close_play(&p);
	}
}

TEST(record, a_second_recording_ends_the_first)
{
	play p;
	fixture_tape first = { 0 }, second = { 0 };
	open_play(&p, NULL, 10);
	REQUIRE(carom_world_record(p.world, fixture_write_tape, &first) == CAROM_SUCCESS);
	act(&p, 2);
	REQUIRE(carom_world_record(p.world, fixture_write_tape, &second) == CAROM_SUCCESS);
	act(&p, 3);
	REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
	close_play(&p);
	carom_replay_result result;
	CHECK_INT(replay(first, &result, NULL), CAROM_SUCCESS);
	CHECK_INT(result.steps, 2);
	CHECK_INT(replay(second, &result, NULL), CAROM_SUCCESS);
	CHECK_INT(result.steps, 3);
	free(first.bytes);
	free(second.bytes);
}

/// A writer that calls the library on the world that it records.
typedef struct meddler {
	fixture_tape tape;
	carom_world *world;
	carom_body_id body;
	int at;     // the call of the writer in which it meddles
	int calls;  // so far
	bool moves; // it moves the body; else it stops the recording
	carom_result result;
	char text[128];
} meddler;

static bool meddling_write(const void *bytes, size_t count, void *user)
{
	meddler *m = user;
	if (m->calls++ == m->at) {
		const carom_pose pose = carom_pose_identity();
		m->result = m->moves ? carom_world_set_pose(m->world, m->body, &pose)
							 : carom_world_record(m->world, m->at % 2 ? fixture_write_tape : NULL, NULL);
		snprintf(m->text, sizeof m->text, "%s", carom_error_text(carom_world_context(m->world)));
	}
	return fixture_write_tape(bytes, count, &m->tape);
}

/// The writer moves the body, or else stops the recording, in each of its calls: that is refused, and the recording stays whole.
static void meddle(bool moves, const char *refusal)
{
	int last = 1;
	for (int at = 0; at < last; at++) {
		play p;
		open_play(&p, NULL, 4);
		meddler m = { .world = p.world, .body = p.ids[0], .at = at, .moves = moves };
		REQUIRE(carom_world_record(p.world, meddling_write, &m) == CAROM_SUCCESS);
		act(&p, 1);
		REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
		CHECK_INT(m.result, CAROM_INVALID_ARGUMENT);
		CHECK_STR(m.text, refusal);
		carom_replay_result result;
		CHECK_INT(replay(m.tape, &result, NULL), CAROM_SUCCESS);
		last = m.calls;
		free(m.tape.bytes);
		close_play(&p);
	}
	CHECK(last > 10);
}

TEST(record, a_writer_cannot_stop_its_own_recording)
{
	meddle(false, "carom_world_record: called from inside the write function");
}

TEST(record, a_writer_cannot_change_its_world) { meddle(true, "carom_world_set_pose: called from inside the write function"); }

TEST(record, a_recording_may_take_the_place_of_a_broken_one)
{
	play p;
	fixture_tape broken = { .limit = 3000 }, whole = { 0 }, full = { .limit = 1 };
	open_play(&p, NULL, 4);
	REQUIRE(carom_world_record(p.world, fixture_write_tape, &broken) == CAROM_SUCCESS);
	act(&p, 20);
	CHECK_INT(carom_world_record(p.world, fixture_write_tape, &whole), CAROM_SUCCESS);
	act(&p, 3);
	// One that cannot begin ends the one before it all the same.
	CHECK_INT(carom_world_record(p.world, fixture_write_tape, &full), CAROM_INVALID_RECORDING);
	CHECK_INT(carom_world_record(p.world, NULL, NULL), CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(replay(broken, &result, NULL), CAROM_INVALID_RECORDING);
	CHECK_INT(replay(whole, &result, NULL), CAROM_SUCCESS);
	CHECK_INT(result.steps, 3);
	CHECK_INT(full.count, 0);
	free(broken.bytes);
	free(whole.bytes);
	close_play(&p);
}

TEST(record, wrong_arguments_are_refused)
{
	carom_context *context = make_context();
	carom_replay_result result;
	fixture_tape t = { 0 };
	CHECK_INT(carom_lab_replay_recording(NULL, fixture_read_tape, &t, &result), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_lab_replay_recording(context, NULL, &t, &result), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_lab_replay_recording(context, fixture_read_tape, &t, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_lab_replay_recording(context, fixture_read_tape, &t, &result), CAROM_INVALID_RECORDING);
	carom_destroy_context(context);
}

// ---- Out of memory ----

static void *limited_allocate(size_t size, size_t alignment, void *user)
{
	int64_t *allowed = user;
	return (*allowed)-- > 0 ? test_allocate(size, alignment) : NULL;
}

static void limited_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment, (void)user;
	test_release(pointer);
}

/// Runs every loop on a thread of its own, refuses the memory that a rejection takes there, and notes where the log is called.
typedef struct far_worker {
	pthread_t caller;
	int64_t refused;
	int logged;
	bool logged_elsewhere;
} far_worker;

static _Thread_local bool refuse_next;

static void *refusing_allocate(size_t size, size_t alignment, void *user)
{
	far_worker *w = user;
	if (refuse_next) {
		refuse_next = false;
		w->refused++;
		return NULL;
	}
	return test_allocate(size, alignment);
}

static void note_log(carom_log_level level, const char *text, void *user)
{
	(void)level, (void)text;
	far_worker *w = user;
	w->logged++;
	w->logged_elsewhere |= !pthread_equal(pthread_self(), w->caller);
}

static bool refuse_pair(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)a, (void)b, (void)user_data_a, (void)user_data_b, (void)user;
	refuse_next = true; // what is allocated next is the list of what was left out
	return false;
}

typedef struct far_loop {
	carom_task_fn *fn;
	int64_t count;
	void *task;
} far_loop;

static void *run_far_loop(void *argument)
{
	const far_loop *loop = argument;
	loop->fn(0, loop->count, 0, loop->task);
	refuse_next = false;
	return NULL;
}

static void far_parallel_for(carom_task_fn *fn, int64_t count, int64_t min_range, void *task, void *user)
{
	(void)min_range, (void)user;
	far_loop loop = { fn, count, task };
	pthread_t thread;
	REQUIRE(pthread_create(&thread, NULL, run_far_loop, &loop) == 0);
	pthread_join(thread, NULL);
}

TEST(record, the_log_is_never_called_on_a_worker_thread)
{
	far_worker worker = { .caller = pthread_self() };
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ refusing_allocate, limited_release, &worker };
	def.log = note_log;
	def.log_user = &worker;
	def.parallel_for = far_parallel_for;
	def.thread_count = 2;
	carom_context *context;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	carom_world_def world_def = carom_default_world_def();
	world_def.pair_filter = refuse_pair;
	fixture_lab(&world_def)->brute_broad_phase = true;
	carom_world *world;
	REQUIRE(carom_create_world(context, &world_def, &world) == CAROM_SUCCESS);
	carom_body_def body = carom_default_body_def();
	body.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = 1 };
	carom_body_id id;
	for (int i = 0; i < 600; i++) {
		body.pose.position.x = 1.5 * i;
		REQUIRE(carom_world_add_body(world, &body, &id) == CAROM_SUCCESS);
	}
	fixture_tape t = { 0 };
	REQUIRE(carom_world_record(world, fixture_write_tape, &t) == CAROM_SUCCESS);
	CHECK_INT(carom_world_step(world), CAROM_SUCCESS);
	CHECK(worker.refused > 0);
	CHECK_INT(worker.logged, 1);
	CHECK(!worker.logged_elsewhere);
	CHECK_INT(carom_world_record(world, NULL, NULL), CAROM_INVALID_RECORDING);
	free(t.bytes);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(record, replay_out_of_memory_leaks_nothing)
{
	uint64_t hash;
	fixture_tape t = make_recording_of(NULL, true, 5, 2, &hash);
	int failures = 0;
	for (int64_t fail_at = 0; fail_at < 3000; fail_at += 1 + fail_at / 40) {
		int64_t allowed = INT64_MAX;
		carom_context_def def = carom_default_context_def();
		def.allocator = (carom_allocator){ limited_allocate, limited_release, &allowed };
		def.thread_count = 1;
		carom_context *context;
		REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
		allowed = fail_at;
		fixture_tape reader = t;
		carom_replay_result result;
		const carom_result outcome = carom_lab_replay_recording(context, fixture_read_tape, &reader, &result);
		CHECK(outcome == CAROM_SUCCESS || outcome == CAROM_OUT_OF_MEMORY);
		failures += outcome != CAROM_SUCCESS;
		CHECK(carom_memory_in_use(context) < 4096);
		carom_destroy_context(context);
		if (outcome == CAROM_SUCCESS)
			break;
	}
	CHECK(failures > 20);
	free(t.bytes);
}
