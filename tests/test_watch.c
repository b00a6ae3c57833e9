/// Replays that show their world after each step: it is as the recorded one was, may be asked, and ends where the watcher says.
#include "fixture.h"
#include "query_fixture.h"

#include "world/recording_format.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 8, BODIES = 6, CELLS = 4 };

/// What is seen of a step.
typedef struct sight {
	uint64_t hash;
	int32_t bodies, contacts, pairs;
	carom_pose pose;    // of the first body
	carom_ray_hit hit;  // of a ray
	double vertices[3]; // of the cloth
} sight;

typedef struct show {
	carom_context *context;
	fixture_tape tape;
	sight steps[STEPS];
	int64_t seen; // by the replay
	int64_t ends; // after this step
} show;

static sight look(const carom_world *world, const carom_body_id *ids)
{
	sight s;
	memset(&s, 0, sizeof s); // compared by bytes
	s.hash = carom_world_hash(world);
	s.bodies = carom_world_body_count(world);
	s.contacts = carom_world_contacts(world).count;
	s.pairs = carom_world_pairs(world).count;
	CHECK(carom_world_get_pose(world, ids[0], &s.pose) == CAROM_SUCCESS);
	const carom_ray ray = { .origin = { 0.1, 0.1, 9 }, .direction = { 0, 0, -1 }, .t_max = 100 };
	bool found;
	CHECK(carom_world_cast_ray(world, &ray, NULL, &found, &s.hit) == CAROM_SUCCESS);
	carom_vertex_view view;
	CHECK(carom_world_get_vertices(world, ids[BODIES], &view) == CAROM_SUCCESS);
	memcpy(s.vertices, view.data, sizeof s.vertices);
	return s;
}

/// Boxes and tori that fall on each other, and a sheet that sinks into them.
static void record(show *s)
{
	*s = (show){ .context = fixture_context(1), .ends = STEPS };
	carom_world *world = fixture_world(s->context, NULL);
	carom_mesh *torus = fixture_torus_mesh(s->context, 12, 6, 0.4, 0.1), *sheet = fixture_sheet_mesh(s->context, CELLS, 2);
	carom_body_id ids[BODIES + 1];
	for (int i = 0; i < BODIES; i++)
		ids[i] = fixture_add(world, i % 2 ? fixture_of_mesh(torus) : fixture_box(0.4, 0.4, 0.4),
			fixture_at(0.3 * i, 0.1, 0.5 * i), CAROM_DYNAMIC);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(sheet);
	def.pose = fixture_at(0, 0, 1);
	def.thickness = 0.05;
	REQUIRE(carom_world_add_body(world, &def, &ids[BODIES]) == CAROM_SUCCESS);
	REQUIRE(carom_world_record(world, fixture_write_tape, &s->tape) == CAROM_SUCCESS);
	for (int step = 0; step < STEPS; step++) {
		const carom_pose pose = fixture_at(0, 0, -0.05 * step);
		REQUIRE(carom_world_set_pose(world, ids[2], &pose) == CAROM_SUCCESS);
		fixture_step(world);
		s->steps[step] = look(world, ids);
	}
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_destroy_world(world);
	carom_release_mesh(torus);
	carom_release_mesh(sheet);
}

static void close_show(show *s)
{
	free(s->tape.bytes);
	carom_destroy_context(s->context);
}

static bool compare(carom_world *world, int64_t step, void *user)
{
	show *s = user;
	carom_body_id ids[BODIES + 1];
	CHECK_INT(step, s->seen);
	CHECK_INT(carom_world_body_ids(world, BODIES + 1, ids), BODIES + 1);
	sight seen = look(world, ids), recorded = s->steps[step];
	CHECK(query_same_hit(&seen.hit, &recorded.hit));
	memset(&seen.hit, 0, sizeof seen.hit); // it has padding
	memset(&recorded.hit, 0, sizeof recorded.hit);
	CHECK(memcmp(&seen, &recorded, sizeof seen) == 0);
	s->seen++;
	return step != s->ends;
}

TEST(watch, each_step_is_seen_as_it_was)
{
	static show s;
	record(&s);
	for (int by = 0; by < 2; by++) {
		carom_replay_result result;
		fixture_tape t = s.tape;
		s.seen = 0;
		CHECK((by ? carom_lab_watch_recording : carom_watch_recording)(
				  s.context, fixture_read_tape, &t, compare, &s, &result) == CAROM_SUCCESS);
		CHECK_INT(s.seen, STEPS);
		CHECK_INT(result.steps, STEPS);
		CHECK_INT(result.first_difference, -1);
		CHECK(result.hash == s.steps[STEPS - 1].hash);
	}
	CHECK(s.steps[STEPS - 1].contacts > 0);
	close_show(&s);
}

TEST(watch, the_watcher_ends_the_replay)
{
	static show s;
	record(&s);
	for (s.ends = 0; s.ends < STEPS; s.ends++) {
		carom_replay_result result;
		fixture_tape t = s.tape;
		s.seen = 0;
		CHECK(carom_watch_recording(s.context, fixture_read_tape, &t, compare, &s, &result) == CAROM_SUCCESS);
		CHECK_INT(s.seen, s.ends + 1);
		CHECK_INT(result.steps, s.ends + 1);
		CHECK(result.hash == s.steps[s.ends].hash);
		CHECK_INT(result.first_difference, -1);
	}
	close_show(&s);
}

/// The recorded hash of a step gets another bit.
static void spoil_step(fixture_tape *t, int64_t step)
{
	size_t at = CR_RECORDING_MAGIC_SIZE + 4;
	for (int64_t steps = 0; at < t->count;) {
		const uint32_t opcode = (uint32_t)cr_load_le(t->bytes + at, 4);
		const size_t payload = (size_t)cr_load_le(t->bytes + at + 4, 8), end = at + CR_RECORD_HEAD_SIZE + payload;
		if (opcode == CR_RECORD_STEP && steps++ == step)
			t->bytes[end - 1] ^= 1;
		at = end + CR_RECORD_CHECK_SIZE;
	}
	fixture_repair_tape(t);
}

TEST(watch, a_step_that_differs_is_seen_before_the_replay_fails)
{
	static show s;
	record(&s);
	spoil_step(&s.tape, 3);
	carom_replay_result result;
	fixture_tape t = s.tape;
	CHECK(carom_watch_recording(s.context, fixture_read_tape, &t, compare, &s, &result) == CAROM_INVALID_RECORDING);
	CHECK_INT(s.seen, 4);
	CHECK_INT(result.steps, 4);
	CHECK_INT(result.first_difference, 3);
	close_show(&s);
}

static bool meddle(carom_world *world, int64_t step, void *user)
{
	static const char *const told = "called from inside the watch function of a replay";
	show *s = user;
	carom_body_id ids[BODIES + 1];
	carom_world_body_ids(world, BODIES + 1, ids);
	const carom_pose pose = carom_pose_identity();
	const float impulse[3] = { 0 };
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(1);
	fixture_expect_wrong(s->context, carom_world_set_pose(world, ids[0], &pose), told);
	fixture_expect_wrong(s->context, carom_world_step(world), told);
	fixture_expect_wrong(s->context, carom_world_add_body(world, &def, &ids[0]), told);
	fixture_expect_wrong(s->context, carom_world_remove_body(world, ids[1]), told);
	fixture_expect_wrong(s->context, carom_world_set_impulse(world, 0, impulse), told);
	fixture_expect_wrong(s->context, carom_world_record(world, fixture_write_tape, &s->tape), told);
	carom_destroy_world(world); // does nothing, and says so in the log
	return compare(world, step, user);
}

TEST(watch, the_world_cannot_be_changed)
{
	static show s;
	record(&s);
	carom_replay_result result;
	fixture_tape t = s.tape;
	CHECK(carom_watch_recording(s.context, fixture_read_tape, &t, meddle, &s, &result) == CAROM_SUCCESS);
	CHECK_INT(s.seen, STEPS);
	close_show(&s);
}

TEST(watch, wrong_arguments_are_refused)
{
	static show s;
	record(&s);
	carom_replay_result result;
	fixture_tape t = s.tape;
	CHECK_INT(carom_watch_recording(NULL, fixture_read_tape, &t, compare, &s, &result), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(s.context, carom_watch_recording(s.context, fixture_read_tape, &t, NULL, &s, &result), "watch is NULL");
	fixture_expect_wrong(s.context, carom_watch_recording(s.context, NULL, &t, compare, &s, &result), "read is NULL");
	fixture_expect_wrong(
		s.context, carom_watch_recording(s.context, fixture_read_tape, &t, compare, &s, NULL), "result is NULL");
	CHECK_INT(s.seen, 0);
	close_show(&s);
}
