// Recorded calls (carom_replay_recording). Sizes, check sums and hashes are mended first, so that damage reaches the code behind
// them: the stream is cut into records as it comes, and each step's hash is taken from a replay. Scalar and widest kernels must agree.
#include "labs.h"
#include "fuzz.h"

#include "world/recording_format.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = CR_RECORDING_MAGIC_SIZE + 4, MOST_STEPS = 5, MOST_BYTES = 1 << 14 };

typedef struct stream {
	uint8_t *bytes;
	size_t size, at;
	uint64_t check;
	size_t hash_at[MOST_STEPS]; // where the hash of each step lies
	int steps;
} stream;

static bool read_stream(void *bytes, size_t count, void *user)
{
	stream *s = user;
	if (s->size - s->at < count)
		return false;
	memcpy(bytes, s->bytes + s->at, count);
	s->at += count;
	return true;
}

static void append(stream *s, const void *bytes, size_t count)
{
	if (count)
		memcpy(s->bytes + s->size, bytes, count);
	s->check = cr_check_bytes(s->check, s->bytes + s->size, count);
	s->size += count;
}

static void append_record(stream *s, uint32_t opcode, const uint8_t *payload, size_t size)
{
	uint8_t head[CR_RECORD_HEAD_SIZE], sum[CR_RECORD_CHECK_SIZE];
	cr_store_le(head, opcode, 4);
	cr_store_le(head + 4, size, 8);
	append(s, head, sizeof head);
	append(s, payload, size);
	if (opcode == CR_RECORD_STEP && size >= 8)
		s->hash_at[s->steps++] = s->size - 8;
	cr_store_le(sum, s->check, sizeof sum);
	append(s, sum, sizeof sum);
}

// Make a stream of whole records out of anything.
static bool mend(const uint8_t *data, size_t size, stream *s)
{
	if (size < HEAD || size > MOST_BYTES)
		return false;
	*s = (stream){ .bytes = malloc(4 * size + 256), .check = CR_CHECK_SEED };
	FUZZ_REQUIRE(s->bytes, "out of memory");
	uint8_t head[HEAD] = CR_RECORDING_MAGIC;
	head[CR_RECORDING_MAGIC_SIZE] = (uint8_t)(1 + data[CR_RECORDING_MAGIC_SIZE] % CR_RECORDING_VERSION);
	if (data[CR_RECORDING_MAGIC_SIZE] <= CR_RECORDING_VERSION)
		head[CR_RECORDING_MAGIC_SIZE] = data[CR_RECORDING_MAGIC_SIZE];
	append(s, head, sizeof head);
	for (size_t at = HEAD; size - at >= CR_RECORD_HEAD_SIZE;) {
		const uint32_t opcode = (uint32_t)(cr_load_le(data + at, 4) % CR_RECORD_OPCODES);
		const uint64_t claimed = cr_load_le(data + at + 4, 8);
		at += CR_RECORD_HEAD_SIZE;
		const size_t length = claimed < size - at ? (size_t)claimed : size - at;
		if (opcode == CR_RECORD_END || (opcode == CR_RECORD_STEP && s->steps == MOST_STEPS))
			break;
		append_record(s, opcode, data + at, length);
		at += length;
		at += size - at < CR_RECORD_CHECK_SIZE ? size - at : CR_RECORD_CHECK_SIZE;
	}
	append_record(s, CR_RECORD_END, NULL, 0);
	return true;
}

// Make all check sums fit again, after a hash was changed.
static void sum_again(stream *s)
{
	uint64_t check = cr_check_bytes(CR_CHECK_SEED, s->bytes, HEAD);
	for (size_t at = HEAD; at < s->size;) {
		const size_t length = CR_RECORD_HEAD_SIZE + (size_t)cr_load_le(s->bytes + at + 4, 8);
		check = cr_check_bytes(check, s->bytes + at, length);
		cr_store_le(s->bytes + at + length, check, CR_RECORD_CHECK_SIZE);
		check = cr_check_bytes(check, s->bytes + at + length, CR_RECORD_CHECK_SIZE);
		at += length + CR_RECORD_CHECK_SIZE;
	}
}

static carom_result replay(carom_context *context, stream *s, carom_replay_result *result)
{
	s->at = 0;
	const size_t before = carom_memory_in_use(context);
	const carom_result outcome = carom_lab_replay_recording(context, read_stream, s, result);
	FUZZ_REQUIRE(carom_memory_in_use(context) == before, "something is left");
	return outcome;
}

// ---- Seeds ----

typedef struct written {
	uint8_t bytes[MOST_BYTES];
	size_t size;
} written;

static bool write_bytes(const void *bytes, size_t count, void *user)
{
	written *w = user;
	if (count > sizeof w->bytes - w->size)
		return false;
	memcpy(w->bytes + w->size, bytes, count);
	w->size += count;
	return true;
}

static bool some_pairs(carom_body_id a, carom_body_id b, uint64_t user_a, uint64_t user_b, void *user)
{
	(void)user_a, (void)user_b, (void)user;
	return (a.index1 + b.index1) % 4 != 0;
}

static carom_mesh *tetrahedron(carom_context *context)
{
	static const float vertices[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	static const int32_t triangles[12] = { 0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2 };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 4;
	def.triangles = triangles;
	def.triangle_count = 4;
	def.materials = (const uint32_t[4]){ 1, 2, 3, 4 };
	def.grid_resolution = 3;
	carom_mesh *mesh;
	FUZZ_REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS, "%s", carom_error_text(context));
	return mesh;
}

// Bodies of every shape and kind, some with parts; variant 1 with a filter, 2 with groups and another broad phase, 3 with bodies that deform.
static int add_bodies(carom_world *world, const carom_mesh *mesh, int variant, carom_body_id ids[6])
{
	static const carom_shape_type types[6] = { CAROM_MESH, CAROM_MESH, CAROM_SPHERE, CAROM_PLANE, CAROM_CAPSULE, CAROM_BOX };
	for (int i = 0; i < 6; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = (carom_shape){ .type = types[i], .radius = 0.4, .half_length = 0.3, .half_extents = { 0.3, 0.4, 0.5 } };
		def.shape.mesh = types[i] == CAROM_MESH ? mesh : NULL;
		def.kind = types[i] == CAROM_PLANE ? CAROM_STATIC : variant == 3 && i == 1 ? CAROM_CLOTH : CAROM_DYNAMIC;
		def.sensor = i == 4;
		def.pose.position = (carom_vec3){ 0.5 * i, 0.1 * i, 0.2 };
		def.user_data = (uint64_t)i;
		const carom_part parts[2] = { { def.shape, carom_pose_identity(), 0 },
			{ def.shape, { { 0.5, 0, 0 }, { 0, 0, 1, 0 } }, 0 } };
		if (i == 2 || (i == 0 && variant == 0)) {
			def.shape = (carom_shape){ 0 };
			def.parts = parts;
			def.part_count = 2;
		}
		FUZZ_REQUIRE(
			carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS, "%s", carom_error_text(carom_world_context(world)));
	}
	return 6;
}

static void play(carom_world *world, carom_body_id ids[6], int variant)
{
	for (int step = 0; step < 3; step++) {
		for (int i = 0; i < 6; i++) {
			const carom_pose pose = { { 0.5 * i - 0.1 * step * i, 0.1 * i, 0.2 }, { 0, 0, 0.1 * step, 1 } };
			if (variant != 3 || i != 1)
				carom_world_set_pose(world, ids[i], &pose);
		}
		double places[12] = { 0.1 * step, 0, 0.5, 1, 0, 0.4, 0, 1, 0.4, 0, 0.1 * step, 0.6 };
		const carom_strided end = { places, 0, CAROM_FLOAT64 };
		if (variant == 3)
			carom_world_set_vertices(world, ids[1], step == 1 ? &end : NULL, &end);
		carom_world_set_filter(world, ids[0], 1, step == 1 ? 2 : ~0u, step == 2 ? -1 : 0);
		carom_world_set_user_data(world, ids[2], (uint64_t)step);
		carom_world_set_part_data(world, ids[2], step, (uint64_t)step); // step 2 names no part
		FUZZ_REQUIRE(carom_world_step(world) == CAROM_SUCCESS, "%s", carom_error_text(carom_world_context(world)));
		const float impulse[3] = { 1, 2, 3 };
		if (carom_world_contacts(world).count > 0)
			carom_world_set_impulse(world, 0, impulse);
		if (carom_world_pairs(world).count > 0)
			carom_world_set_pair_data(world, 0, (uint64_t)step);
	}
	carom_world_remove_body(world, ids[5]);
}

static void seeds_calls(fuzz_keep_fn *keep, void *user)
{
	carom_context *context = fuzz_context(CAROM_SIMD_AUTO);
	carom_mesh *mesh = tetrahedron(context);
	static written w;
	for (int variant = 0; variant < 4; variant++) {
		carom_world_def def = carom_default_world_def();
		def.pair_filter = variant == 1 ? some_pairs : NULL;
		fixture_lab(&def)->worker_groups = variant == 2 ? 2 : 0;
		def.broad_phase = variant == 2 ? CAROM_BROAD_SWEEP : CAROM_BROAD_TREE;
		carom_world *world;
		carom_body_id ids[6];
		char name[32];
		w.size = 0;
		FUZZ_REQUIRE(carom_create_world(context, &def, &world) == CAROM_SUCCESS, "%s", carom_error_text(context));
		if (variant % 2)
			FUZZ_REQUIRE(carom_world_record(world, write_bytes, &w) == CAROM_SUCCESS, "%s", carom_error_text(context));
		add_bodies(world, mesh, variant, ids);
		if (variant % 2 == 0) // these begin with a state that holds bodies
			FUZZ_REQUIRE(carom_world_record(world, write_bytes, &w) == CAROM_SUCCESS, "%s", carom_error_text(context));
		play(world, ids, variant);
		FUZZ_REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS, "%s", carom_error_text(context));
		snprintf(name, sizeof name, "calls%d", variant);
		keep(name, w.bytes, w.size, user);
		carom_destroy_world(world);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

FUZZ_TARGET(calls, seeds_calls, false)
{
	static carom_context *contexts[2];
	if (!contexts[0]) {
		contexts[0] = fuzz_context(CAROM_SIMD_AUTO);
		contexts[1] = fuzz_context(CAROM_SIMD_SCALAR);
	}
	stream s;
	if (!mend(data, size, &s))
		return false;
	carom_replay_result results[2];
	carom_result outcomes[2] = { CAROM_SUCCESS, CAROM_SUCCESS };
	// Each round gives the hash of one more step, or of some that were right already.
	int64_t step = -1;
	for (int round = 0; round <= s.steps; round++) {
		for (int k = 0; k < 2; k++)
			outcomes[k] = replay(contexts[k], &s, &results[k]);
		FUZZ_REQUIRE(outcomes[0] == outcomes[1] && results[0].steps == results[1].steps && results[0].hash == results[1].hash,
			"%s (%lld steps) and %s (%lld steps)", carom_error_text(contexts[0]), (long long)results[0].steps,
			carom_error_text(contexts[1]), (long long)results[1].steps);
		if (results[0].first_difference < 0)
			break;
		FUZZ_REQUIRE(results[0].first_difference > step && results[0].first_difference < s.steps, "step %lld after step %lld",
			(long long)results[0].first_difference, (long long)step);
		step = results[0].first_difference;
		cr_store_le(s.bytes + s.hash_at[step], results[0].hash, 8);
		sum_again(&s);
	}
	free(s.bytes);
	return outcomes[0] == CAROM_SUCCESS;
}
