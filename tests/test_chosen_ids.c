/// Bodies that are added under ids of the caller's choice, beside bodies whose ids are found.
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include "world/recording_format.h"
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 64, MOST_PARTS = 4, ROUNDS = TEST_FEWER > 1 ? 300 : 3000 };

// ---- A dull model ----

/// Who has each number, and the generation that it had last.
typedef struct model {
	carom_body_id body[NUMBERS]; // that has the number, or keeps it for a part to come; null: it is free
	carom_body_id ids[NUMBERS];  // in no order
	int32_t numbers[NUMBERS];    // that each takes
	int count;
} model;

static int32_t numbers_of(const carom_body_def *def)
{
	const int32_t parts = def->part_count > 0 ? def->part_count : 1;
	return def->part_room > parts ? def->part_room : parts;
}

static bool is_room(const model *m, int64_t first, int32_t count)
{
	for (int64_t i = first; i < first + count; i++) {
		if (i >= NUMBERS || m->body[i].index1 != 0)
			return false;
	}
	return true;
}

static void take(model *m, carom_body_id id, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		m->body[id.index1 - 1 + (uint32_t)i] = id;
	m->ids[m->count] = id;
	m->numbers[m->count++] = count;
}

static carom_body_id give_back(model *m, int which)
{
	const carom_body_id id = m->ids[which];
	for (int32_t i = 0; i < m->numbers[which]; i++)
		m->body[id.index1 - 1 + (uint32_t)i] = (carom_body_id){ 0, 0 };
	m->ids[which] = m->ids[--m->count];
	m->numbers[which] = m->numbers[m->count];
	return id;
}

static int compare_ids(const void *a, const void *b)
{
	const carom_body_id *x = a, *y = b;
	return (x->index1 > y->index1) - (x->index1 < y->index1);
}

/// Does the world hold the bodies of the model?
static bool agrees(const carom_world *world, const model *m)
{
	carom_body_id ids[NUMBERS], want[NUMBERS];
	if (!CHECK_INT(carom_world_body_ids(world, NUMBERS, ids), m->count))
		return false;
	memcpy(want, m->ids, sizeof want);
	qsort(want, (size_t)m->count, sizeof *want, compare_ids);
	for (int i = 0; i < m->count; i++) {
		if (!CHECK_INT(ids[i].index1, want[i].index1) || !CHECK_INT(ids[i].generation, want[i].generation))
			return false;
	}
	return true;
}

static carom_body_def random_def(uint64_t *seed, carom_part parts[MOST_PARTS])
{
	carom_body_def def = carom_default_body_def();
	def.pose = fixture_random_pose(seed, 1.5);
	const int32_t count = (int32_t)(test_random(seed) % (MOST_PARTS + 1));
	if (count == 0) {
		def.shape = fixture_sphere(0.3);
		return def;
	}
	for (int32_t i = 0; i < count; i++)
		parts[i] = (carom_part){ fixture_box(0.2, 0.2, 0.3), fixture_at(0.4 * i, 0, 0), (uint64_t)i };
	def.parts = parts;
	def.part_count = count;
	def.part_room = test_random(seed) % 3 == 0 ? count + (int32_t)(test_random(seed) % 4) : 0;
	return def;
}

static void add_chosen(carom_world *world, model *m, uint64_t *seed, uint32_t generation)
{
	carom_part parts[MOST_PARTS];
	const carom_body_def def = random_def(seed, parts);
	const carom_body_id id = { 1 + (uint32_t)(test_random(seed) % (NUMBERS - 8)), generation };
	const bool room = is_room(m, (int64_t)id.index1 - 1, numbers_of(&def));
	CHECK_INT(carom_world_add_body_with_id(world, &def, id), room ? CAROM_SUCCESS : CAROM_INVALID_ARGUMENT);
	if (room)
		take(m, id, numbers_of(&def));
}

/// A body that finds an id. It may get one behind all that the model has: then it goes at once.
static void add_found(carom_world *world, model *m, uint64_t *seed)
{
	carom_part parts[MOST_PARTS];
	const carom_body_def def = random_def(seed, parts);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	if ((int64_t)id.index1 - 1 + numbers_of(&def) > NUMBERS) {
		CHECK_INT(carom_world_remove_body(world, id), CAROM_SUCCESS);
		return;
	}
	if (CHECK(is_room(m, (int64_t)id.index1 - 1, numbers_of(&def))))
		take(m, id, numbers_of(&def));
}

static void act(carom_world *world, model *m, uint64_t *seed, uint32_t generation)
{
	switch (test_random(seed) % 8) {
	case 0:
	case 1: add_found(world, m, seed); break;
	case 2:
	case 3:
	case 4: add_chosen(world, m, seed, generation); break;
	case 5:
		if (test_random(seed) % 4 == 0)
			CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
		break;
	default:
		if (m->count > 0)
			CHECK_INT(
				carom_world_remove_body(world, give_back(m, (int)(test_random(seed) % (uint64_t)m->count))), CAROM_SUCCESS);
	}
}

TEST(chosen_ids, come_and_go_beside_others)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_tape tape = { 0 };
	model m = { 0 };
	uint64_t seed = 3;
	for (int round = 0; round < ROUNDS && agrees(world, &m); round++) {
		if (round == ROUNDS / 2)
			REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		// Higher than what a trim makes of generations that found ids had.
		act(world, &m, &seed, 10 * (uint32_t)(round + 1));
		if (round % 10 == 9)
			fixture_step(world);
	}
	const uint64_t hash = carom_world_hash(world);
	CHECK_INT(carom_world_record(world, NULL, NULL), CAROM_SUCCESS);
	carom_replay_result result;
	carom_context *other = fixture_context(1);
	CHECK_INT(carom_replay_recording(other, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_STR(carom_error_text(other), "");
	CHECK_INT(result.first_difference, -1);
	CHECK(result.hash == hash);
	tape.at = 0;
	// Version 20 knew no such record.
	cr_store_le(tape.bytes + CR_RECORDING_MAGIC_SIZE, 20, 4);
	fixture_repair_tape(&tape);
	CHECK_INT(carom_replay_recording(other, fixture_read_tape, &tape, &result), CAROM_INVALID_RECORDING);
	CHECK(strstr(carom_error_text(other), "its version has no such record") != NULL);
	carom_destroy_context(other);
	free(tape.bytes);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Results ----

/// A world whose bodies were added under the ids that they would have got finds the results of one where they got them.
TEST(chosen_ids, change_no_result)
{
	carom_context *context = fixture_context(1);
	carom_world *found = fixture_world(context, NULL), *chosen = fixture_world(context, NULL);
	uint64_t seed = 8;
	for (int i = 0; i < 40; i++) {
		carom_part parts[MOST_PARTS];
		const carom_body_def def = random_def(&seed, parts);
		carom_body_id id;
		REQUIRE(carom_world_add_body(found, &def, &id) == CAROM_SUCCESS);
		CHECK_INT(carom_world_add_body_with_id(chosen, &def, id), CAROM_SUCCESS);
		if (i % 8 == 7) {
			fixture_step(found);
			fixture_step(chosen);
			CHECK(carom_world_contacts(found).count > 0);
			CHECK(carom_world_hash(found) == carom_world_hash(chosen));
		}
	}
	carom_destroy_world(found);
	carom_destroy_world(chosen);
	carom_destroy_context(context);
}

/// Results name the body by its id, and the numbers below are no bodies.
TEST(chosen_ids, numbers_between_stay_free)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(1);
	const carom_body_id high = { 1000, 77 };
	CHECK_INT(carom_world_add_body_with_id(world, &def, high), CAROM_SUCCESS);
	carom_body_id low;
	def.pose.position.x = 1.5;
	CHECK_INT(carom_world_add_body(world, &def, &low), CAROM_SUCCESS);
	CHECK_INT(low.index1, 1);
	CHECK_INT(low.generation, 1);
	fixture_step(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	REQUIRE(pairs.count == 1);
	CHECK_INT(pairs.data[0].body_a.index1, 1);
	CHECK_INT(pairs.data[0].body_b.index1, 1000);
	CHECK_INT(pairs.data[0].body_b.generation, 77);
	CHECK(!carom_world_is_body(world, (carom_body_id){ 500, 1 }));
	CHECK(carom_world_is_body(world, high));
	CHECK_INT(carom_world_remove_body(world, high), CAROM_SUCCESS);
	CHECK_INT(carom_world_trim(world), CAROM_SUCCESS);
	CHECK_INT(carom_world_add_body(world, &def, &low), CAROM_SUCCESS);
	CHECK_INT(low.index1, 2);
	CHECK(low.generation > 77); // no id comes back
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Misuse ----

static void refused(carom_world *world, const carom_body_def *def, carom_body_id id, const char *text)
{
	const int count = carom_world_body_count(world);
	CHECK_INT(carom_world_add_body_with_id(world, def, id), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(carom_world_context(world)), text);
	CHECK_INT(carom_world_body_count(world), count);
}

TEST(chosen_ids, misuse)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_part part = { fixture_box(1, 1, 1), carom_pose_identity(), 0 };
	carom_body_def def = carom_default_body_def(), wide = def;
	def.shape = fixture_sphere(1);
	wide.parts = &part;
	wide.part_count = 1;
	wide.part_room = 4;
	refused(world, &def, (carom_body_id){ 0, 1 }, "carom_world_add_body_with_id: id is (0, 1); both numbers begin with 1");
	refused(world, &def, (carom_body_id){ 1, 0 }, "carom_world_add_body_with_id: id is (1, 0); both numbers begin with 1");
	refused(world, &def, (carom_body_id){ 2147483647, 1 },
		"carom_world_add_body_with_id: id.index1 is 2147483647; the last number of the body is above 2147483646");
	refused(world, &wide, (carom_body_id){ 2147483644, 1 },
		"carom_world_add_body_with_id: id.index1 is 2147483644; the last number of the body is above 2147483646");
	CHECK_INT(carom_world_add_body_with_id(world, &wide, (carom_body_id){ 3, 5 }), CAROM_SUCCESS);
	refused(world, &def, (carom_body_id){ 3, 6 },
		"carom_world_add_body_with_id: id is (3, 6), and the body takes 1 numbers from index1 on, but a body has the number 3");
	refused(world, &def, (carom_body_id){ 6, 6 },
		"carom_world_add_body_with_id: id is (6, 6), and the body takes 1 numbers from index1 on, but a body has the number 6");
	refused(world, &wide, (carom_body_id){ 1, 6 },
		"carom_world_add_body_with_id: id is (1, 6), and the body takes 4 numbers from index1 on, but a body has the number 3");
	CHECK_INT(carom_world_add_body_with_id(world, &def, (carom_body_id){ 2, 1 }), CAROM_SUCCESS);
	CHECK_INT(carom_world_remove_body(world, (carom_body_id){ 3, 5 }), CAROM_SUCCESS);
	refused(world, &def, (carom_body_id){ 3, 5 },
		"carom_world_add_body_with_id: id is (3, 5), but another body may have had it: id.generation must be at least 6");
	CHECK_INT(carom_world_add_body_with_id(world, &def, (carom_body_id){ 3, 6 }), CAROM_SUCCESS);
	refused(world, NULL, (carom_body_id){ 9, 1 }, "carom_world_add_body_with_id: def is NULL");
	def.shape.radius = -1;
	CHECK_INT(carom_world_add_body_with_id(world, &def, (carom_body_id){ 9, 1 }), CAROM_INVALID_ARGUMENT);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(chosen_ids, failing_allocations_add_nothing)
{
	bool failed = true;
	int refusals = 0;
	for (int fail = 0; failed; fail++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 1);
		carom_world *world = fixture_world(context, NULL);
		uint64_t seed = 4;
		carom_part parts[MOST_PARTS];
		carom_body_def def = random_def(&seed, parts);
		while (def.part_count < 2)
			def = random_def(&seed, parts);
		const carom_body_id id = { 2000, 3 };
		heap.fail_at = heap.calls + fail;
		const carom_result result = carom_world_add_body_with_id(world, &def, id);
		failed = heap.calls > heap.fail_at;
		heap.fail_at = -1;
		CHECK(result == CAROM_SUCCESS || (failed && result == CAROM_OUT_OF_MEMORY));
		CHECK_INT(carom_world_body_count(world), result == CAROM_SUCCESS);
		refusals += result != CAROM_SUCCESS;
		if (result != CAROM_SUCCESS)
			CHECK_INT(carom_world_add_body_with_id(world, &def, id), CAROM_SUCCESS);
		CHECK(carom_world_is_body(world, id));
		fixture_step(world);
		carom_destroy_world(world);
		carom_destroy_context(context);
		CHECK_INT(heap.blocks, 0);
	}
	CHECK(refusals >= 3);
}
