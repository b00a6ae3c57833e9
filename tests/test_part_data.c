/// Numbers of parts (carom_part.user_data): results and queries lead to them, and they come back from snapshots.
#include "fixture.h"
#include "world/recording_format.h"
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

enum { STOOL_PARTS = 5, LEG = 70 };

/// A seat with the number 1, and four legs with the numbers 70 to 73.
static void make_stool(carom_part parts[STOOL_PARTS])
{
	parts[0] = (carom_part){ fixture_box(1, 1, 0.1), fixture_at(0, 0, 1), 1 };
	for (int i = 0; i < 4; i++)
		parts[1 + i] = (carom_part){ fixture_box(0.1, 0.1, 0.4), fixture_at(i & 1 ? 0.8 : -0.8, i & 2 ? 0.8 : -0.8, 0.45),
			(uint64_t)(LEG + i) };
}

static carom_body_id add_parts(carom_world *world, const carom_part *parts, int32_t count, carom_pose pose)
{
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = count;
	def.pose = pose;
	carom_body_id id = { 0 };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static carom_body_id add_plane(carom_world *world)
{
	return fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, carom_pose_identity(), CAROM_STATIC);
}

static carom_body_id add_stool(carom_world *world, double x)
{
	carom_part parts[STOOL_PARTS];
	make_stool(parts);
	return add_parts(world, parts, STOOL_PARTS, fixture_at(x, 0, -0.06));
}

/// The number of a part, which there is.
static uint64_t data_of(const carom_world *world, carom_body_id id, int32_t part)
{
	uint64_t data = UINT64_MAX - 1;
	REQUIRE(carom_world_get_part_data(world, id, part, &data) == CAROM_SUCCESS);
	return data;
}

static void set_data(carom_world *world, carom_body_id id, int32_t part, uint64_t data)
{
	REQUIRE(carom_world_set_part_data(world, id, part, data) == CAROM_SUCCESS);
}

// ---- Results and queries ----

TEST(part_data, results_and_queries_lead_to_them)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id floor = add_plane(world), stool = add_stool(world, 0);
	fixture_step(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	CHECK_INT(contacts.count, 16);
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		const uint64_t leg = LEG + (c->point[0] > 0) + 2 * (c->point[1] > 0);
		CHECK(data_of(world, c->body_b, c->shape_b) == leg);
		CHECK(data_of(world, c->body_a, c->shape_a) == 0); // the plane has no parts
	}
	const carom_event_view events = carom_world_events(world);
	CHECK_INT(events.count, 4);
	for (int32_t i = 0; i < events.count; i++)
		CHECK(data_of(world, events.data[i].body_b, events.data[i].shape_b) == (uint64_t)(LEG + i));
	const carom_ray ray = { { 0.3, 0.3, 9 }, { 0, 0, -1 }, 0, 100 };
	bool found;
	carom_ray_hit hit;
	REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, &hit) == CAROM_SUCCESS && found);
	CHECK(data_of(world, hit.body, hit.shape) == 1);
	carom_closest_point nearest;
	REQUIRE(carom_world_closest_point(world, (carom_vec3){ 1, 1, 0.3 }, 1, NULL, &found, &nearest) == CAROM_SUCCESS && found);
	CHECK(data_of(world, nearest.body, nearest.shape) == LEG + 3);
	const carom_shape ball = fixture_sphere(0.05);
	const carom_pose place = fixture_at(-0.8, 0.8, 0.3);
	carom_contact touching[4];
	int32_t count;
	REQUIRE(carom_world_collide_shape(world, &ball, &place, NULL, 4, touching, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 1);
	CHECK(data_of(world, touching[0].body_b, touching[0].shape_b) == LEG + 2);
	const carom_pose far = fixture_at(0, 0, 5);
	REQUIRE(carom_world_set_pose(world, stool, &far) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_events(world).data[3].kind, CAROM_EVENT_END);
	CHECK(data_of(world, stool, carom_world_events(world).data[3].shape_b) == LEG + 3);
	CHECK(data_of(world, floor, 0) == 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A sphere of a granular body is named like a part; it has no number.
TEST(part_data, spheres_have_none)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const double spheres[8] = { 0, 0, 0, 0.5, 2, 0, 0, 0.5 };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = 2;
	def.centres = (carom_strided){ spheres, 4 * sizeof(double), CAROM_FLOAT64 };
	def.radii = (carom_strided){ spheres + 3, 4 * sizeof(double), CAROM_FLOAT64 };
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	CHECK(data_of(world, id, 1) == 0);
	uint64_t data = 5;
	CHECK_INT(carom_world_get_part_data(world, id, 2, &data), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_get_part_data: part is 2, but the body has 2 spheres");
	CHECK_INT(carom_world_set_part_data(world, id, 1, 3), CAROM_INVALID_ARGUMENT);
	CHECK(data == 5);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Leaves out the contacts of the parts with even numbers, which it asks the world for.
static bool is_odd(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b;
	const carom_world *world = *(carom_world *const *)user;
	uint64_t data[2];
	REQUIRE(carom_world_get_part_data(world, contact->body_a, contact->shape_a, &data[0]) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_part_data(world, contact->body_b, contact->shape_b, &data[1]) == CAROM_SUCCESS);
	return data[1] % 2 != 0;
}

static void check_filter(int workers)
{
	carom_context *context = fixture_context(workers);
	carom_world_def def = carom_default_world_def();
	carom_world *world = NULL;
	def.contact_filter = is_odd;
	def.filter_user = &world;
	world = fixture_world(context, &def);
	add_plane(world);
	for (int i = 0; i < 40; i++)
		add_stool(world, 3 * i);
	fixture_step(world);
	CHECK_INT(carom_world_contacts(world).count, 40 * 8);
	const carom_contact_view contacts = carom_world_contacts(world);
	for (int32_t i = 0; i < contacts.count; i++)
		CHECK(contacts.data[i].shape_b == 2 || contacts.data[i].shape_b == 4);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(part_data, a_contact_filter_asks_for_them) { check_filter(1); }

TEST(part_data, a_contact_filter_asks_for_them_on_four_threads) { check_filter(4); }

// ---- Life ----

enum { LIVES = 12, MOST_PARTS = 4, ROUNDS = 4000 };

/// The numbers that a world should have, in plain arrays.
typedef struct dull {
	carom_body_id ids[LIVES];
	int32_t counts[LIVES]; // 0: no body
	uint64_t data[LIVES][MOST_PARTS];
} dull;

static void compare(const carom_world *world, const dull *d)
{
	for (int i = 0; i < LIVES; i++) {
		carom_body_def def;
		if (d->counts[i] == 0)
			continue;
		REQUIRE(carom_world_get_body_def(world, d->ids[i], &def) == CAROM_SUCCESS);
		CHECK_INT(def.part_count, d->counts[i]);
		for (int32_t k = 0; k < d->counts[i]; k++) {
			CHECK(data_of(world, d->ids[i], k) == d->data[i][k]);
			CHECK(def.parts[k].user_data == d->data[i][k]);
		}
	}
}

static void make_parts(uint64_t *seed, int32_t count, carom_part *parts, uint64_t *data)
{
	for (int32_t k = 0; k < count; k++) {
		data[k] = test_random(seed);
		parts[k] = (carom_part){ fixture_sphere(0.4), fixture_at(k, 0, 0), data[k] };
	}
}

static void live(carom_world *world, dull *d, uint64_t *seed)
{
	carom_part parts[MOST_PARTS];
	const int i = (int)(test_random(seed) % LIVES);
	if (d->counts[i] == 0) {
		d->counts[i] = 1 + (int32_t)(test_random(seed) % MOST_PARTS);
		make_parts(seed, d->counts[i], parts, d->data[i]);
		d->ids[i] = add_parts(world, parts, d->counts[i], fixture_at(0, 0.5 * i, 0));
		return;
	}
	const int32_t part = (int32_t)(test_random(seed) % (uint64_t)d->counts[i]);
	switch (test_random(seed) % 8) {
	case 0:
		REQUIRE(carom_world_remove_body(world, d->ids[i]) == CAROM_SUCCESS);
		d->counts[i] = 0;
		break;
	case 1:
		d->counts[i] = part + 1;
		make_parts(seed, d->counts[i], parts, d->data[i]);
		REQUIRE(carom_world_set_parts(world, d->ids[i], parts, d->counts[i]) == CAROM_SUCCESS);
		break;
	case 2: fixture_step(world); break;
	default: d->data[i][part] = test_random(seed); set_data(world, d->ids[i], part, d->data[i][part]);
	}
}

TEST(part_data, are_those_of_a_dull_list_whatever_is_done)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	add_plane(world);
	carom_snapshot *snapshots[2];
	dull now = { 0 }, saved[2] = { 0 };
	for (int k = 0; k < 2; k++) {
		REQUIRE(carom_create_snapshot(world, &snapshots[k]) == CAROM_SUCCESS);
		REQUIRE(carom_world_save(world, snapshots[k]) == CAROM_SUCCESS);
	}
	uint64_t seed = 11;
	for (int round = 0; round < ROUNDS / TEST_FEWER; round++) {
		const int which = (int)(test_random(&seed) % 40);
		if (which < 2) {
			REQUIRE(carom_world_save(world, snapshots[which]) == CAROM_SUCCESS);
			saved[which] = now;
		} else if (which < 4) {
			REQUIRE(carom_world_restore(world, snapshots[which - 2]) == CAROM_SUCCESS);
			now = saved[which - 2];
		} else {
			live(world, &now, &seed);
		}
		compare(world, &now);
	}
	carom_destroy_snapshot(snapshots[0]);
	carom_destroy_world(world);
	carom_destroy_snapshot(snapshots[1]);
	CHECK(carom_memory_in_use(context) < 4096); // the context itself
	carom_destroy_context(context);
}

/// Parts that get another number alone are the old ones: their pairs and contacts go on.
TEST(part_data, other_numbers_leave_pairs_alone)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	add_plane(world);
	const carom_body_id stool = add_stool(world, 0);
	fixture_step(world);
	carom_part parts[STOOL_PARTS];
	make_stool(parts);
	parts[2].user_data = 5;
	REQUIRE(carom_world_set_parts(world, stool, parts, STOOL_PARTS) == CAROM_SUCCESS);
	set_data(world, stool, 1, 6);
	CHECK(data_of(world, stool, 1) == 6 && data_of(world, stool, 2) == 5 && data_of(world, stool, 3) == LEG + 2);
	fixture_step(world);
	CHECK_INT(carom_world_contacts(world).count, 16);
	for (int32_t i = 0; i < 16; i++)
		CHECK_INT(carom_world_contacts(world).data[i].age, 1);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Bytes of a snapshot hold no numbers of bodies, and none of parts: they may be addresses in a program that has ended.
TEST(part_data, bytes_of_a_snapshot_leave_them_to_the_world)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	add_plane(world);
	const carom_body_id stool = add_stool(world, 0);
	carom_snapshot *snapshot;
	fixture_tape tape = { 0 };
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_snapshot_save(snapshot, fixture_write_tape, &tape) == CAROM_SUCCESS);
	set_data(world, stool, 0, 99);
	REQUIRE(carom_snapshot_load(snapshot, tape.bytes, tape.count) == CAROM_SUCCESS);
	set_data(world, stool, 0, 100); // the snapshot keeps 99
	REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
	CHECK(data_of(world, stool, 0) == 99 && data_of(world, stool, 1) == LEG);
	free(tape.bytes);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Misuse and failures ----

TEST(part_data, misuse)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id floor = add_plane(world), stool = add_stool(world, 0);
	uint64_t data = 42;
	fixture_expect_error(context, carom_world_get_part_data(world, stool, 5, &data), CAROM_INVALID_ARGUMENT,
		"carom_world_get_part_data: part is 5, but the body has 5 parts");
	fixture_expect_error(context, carom_world_get_part_data(world, stool, -1, &data), CAROM_INVALID_ARGUMENT,
		"carom_world_get_part_data: part is -1, but the body has 5 parts");
	fixture_expect_error(context, carom_world_get_part_data(world, floor, 1, &data), CAROM_INVALID_ARGUMENT,
		"carom_world_get_part_data: part is 1, but the body has 1 shape");
	fixture_expect_error(context, carom_world_get_part_data(world, stool, 0, NULL), CAROM_INVALID_ARGUMENT,
		"carom_world_get_part_data: user_data is NULL");
	fixture_expect_error(context, carom_world_get_part_data(world, (carom_body_id){ 0 }, 0, &data), CAROM_INVALID_BODY,
		"carom_world_get_part_data: the body id is null");
	fixture_expect_error(context, carom_world_set_part_data(world, stool, 5, 1), CAROM_INVALID_ARGUMENT,
		"carom_world_set_part_data: part is 5, but the body has 5 parts");
	fixture_expect_error(context, carom_world_set_part_data(world, floor, 0, 1), CAROM_INVALID_ARGUMENT,
		"carom_world_set_part_data: the body was added without parts; carom_world_set_user_data sets its number");
	fixture_expect_error(context, carom_world_set_part_data(world, (carom_body_id){ 0 }, 0, 1), CAROM_INVALID_BODY,
		"carom_world_set_part_data: the body id is null");
	const carom_body_id second_part = { stool.index1 + 1, stool.generation };
	CHECK_INT(carom_world_get_part_data(world, second_part, 0, &data), CAROM_INVALID_BODY);
	REQUIRE(carom_world_remove_body(world, stool) == CAROM_SUCCESS);
	CHECK_INT(carom_world_get_part_data(world, stool, 0, &data), CAROM_INVALID_BODY);
	CHECK_INT(carom_world_set_part_data(world, stool, 0, 1), CAROM_INVALID_BODY);
	CHECK(data == 42);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Memory is needed only while a snapshot shares the parts; a call that does not get it changes nothing.
TEST(part_data, failing_allocations_change_nothing)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id stool = add_stool(world, 0);
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	heap.fail_at = heap.calls;
	set_data(world, stool, 1, 5);
	heap.fail_at = -1;
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	heap.fail_at = heap.calls;
	CHECK_INT(carom_world_set_part_data(world, stool, 1, 6), CAROM_OUT_OF_MEMORY);
	heap.fail_at = -1;
	CHECK(data_of(world, stool, 1) == 5);
	set_data(world, stool, 1, 6);
	heap.fail_at = heap.calls;
	set_data(world, stool, 2, 7); // the parts are the body's alone by now
	heap.fail_at = -1;
	CHECK(data_of(world, stool, 1) == 6 && data_of(world, stool, 2) == 7);
	REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
	CHECK(data_of(world, stool, 1) == 5 && data_of(world, stool, 2) == LEG + 1);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

// ---- Recordings ----

/// A recording of a stool whose parts and numbers change, from a state in which it rests.
static fixture_tape record_stool(carom_context *context, uint64_t *hash)
{
	fixture_tape tape = { 0 };
	carom_world *world = fixture_world(context, NULL);
	add_plane(world);
	const carom_body_id stool = add_stool(world, 0);
	set_data(world, stool, 4, UINT64_MAX);
	fixture_step(world);
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	add_stool(world, 5);
	fixture_step(world);
	set_data(world, stool, 3, 12);
	carom_part parts[STOOL_PARTS];
	make_stool(parts);
	parts[0].pose.position.z = 1.1;
	REQUIRE(carom_world_set_parts(world, stool, parts, STOOL_PARTS) == CAROM_SUCCESS);
	fixture_step(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	*hash = carom_world_hash(world);
	carom_destroy_world(world);
	return tape;
}

static carom_result replay(carom_context *context, fixture_tape tape, carom_replay_result *result)
{
	return carom_replay_recording(context, fixture_read_tape, &tape, result);
}

TEST(part_data, recordings_replay)
{
	carom_context *context = fixture_context(1);
	uint64_t hash;
	fixture_tape tape = record_stool(context, &hash);
	carom_replay_result result;
	if (!CHECK_INT(replay(context, tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	CHECK(result.hash == hash && result.steps == 2);
	int found = 0;
	for (size_t at = 12; at < tape.count;) {
		uint8_t *payload = tape.bytes + at + CR_RECORD_HEAD_SIZE;
		const size_t size = (size_t)cr_load_le(tape.bytes + at + 4, 8);
		if (cr_load_le(tape.bytes + at, 4) == CR_RECORD_SET_PART_DATA) {
			found++;
			CHECK_INT(size, 20);
			CHECK(cr_load_le(payload, 4) == 2 && cr_load_le(payload + 8, 4) == 3 && cr_load_le(payload + 12, 8) == 12);
			cr_store_le(payload + 8, 5, 4);
		}
		at += CR_RECORD_HEAD_SIZE + size + CR_RECORD_CHECK_SIZE;
	}
	CHECK_INT(found, 1);
	fixture_repair_tape(&tape);
	CHECK_INT(replay(context, tape, &result), CAROM_INVALID_RECORDING);
	CHECK(strstr(carom_error_text(context), "carom_world_set_part_data: part is 5, but the body has 5 parts") != NULL);
	free(tape.bytes);
	carom_destroy_context(context);
}

static void copy(fixture_tape *to, const uint8_t **from, size_t count)
{
	memcpy(to->bytes + to->count, *from, count);
	to->count += count;
	*from += count;
}

enum { OLD_PART = 112, HEAD_OF_BODY = 146, END_OF_BODY = 11, OLD_VERSION = 14 };

static void strip_parts(fixture_tape *to, const uint8_t **from)
{
	const uint64_t count = cr_load_le(*from, 4);
	copy(to, from, 4);
	for (uint64_t i = 0; i < count; i++) {
		copy(to, from, OLD_PART);
		*from += 8;
	}
}

static void strip_body(fixture_tape *to, const uint8_t **from)
{
	copy(to, from, HEAD_OF_BODY);
	const bool has_parts = cr_load_le(*from, 4) > 0;
	strip_parts(to, from);
	*from += has_parts ? 4 : 0; // nor did it know room for more
	copy(to, from, END_OF_BODY);
}

static void strip_state(fixture_tape *to, const uint8_t **from)
{
	const uint64_t slots = cr_load_le(*from, 4);
	copy(to, from, 4);
	for (uint64_t i = 0; i < slots; i++) {
		const uint8_t kind = (*from)[4];
		copy(to, from, 5);
		if (kind != CR_RECORD_BODY)
			continue;
		strip_body(to, from);
		CHECK_INT(**from, 0); // it rests
		copy(to, from, 1);
		*from += 2; // nor did it know sleep
	}
}

/// What the library of version 14 would have written.
static fixture_tape to_old_version(const fixture_tape *t)
{
	fixture_tape old = { .bytes = malloc(t->count) };
	const uint8_t *from = t->bytes, *const end = t->bytes + t->count;
	copy(&old, &from, 12);
	cr_store_le(old.bytes + CR_RECORDING_MAGIC_SIZE, OLD_VERSION, 4);
	while (from < end) {
		const uint32_t opcode = (uint32_t)cr_load_le(from, 4);
		const uint8_t *const next = from + CR_RECORD_HEAD_SIZE + cr_load_le(from + 4, 8);
		const size_t head = old.count;
		copy(&old, &from, CR_RECORD_HEAD_SIZE);
		if (opcode == CR_RECORD_ADD_BODY)
			strip_body(&old, &from);
		else if (opcode == CR_RECORD_STATE)
			strip_state(&old, &from);
		else if (opcode == CR_RECORD_SET_PARTS) {
			copy(&old, &from, 8);
			strip_parts(&old, &from);
		} else if (opcode == CR_RECORD_WORLD) {
			copy(&old, &from, (size_t)(next - from) - sizeof(double)); // without long_edge_share
			from = next;
		}
		copy(&old, &from, (size_t)(next - from));
		cr_store_le(old.bytes + head + 4, old.count - head - CR_RECORD_HEAD_SIZE, 8);
		copy(&old, &from, CR_RECORD_CHECK_SIZE);
		if (opcode == CR_RECORD_SET_PART_DATA)
			old.count = head; // it knew none
	}
	fixture_repair_tape(&old);
	return old;
}

TEST(part_data, recordings_of_the_version_before_replay)
{
	carom_context *context = fixture_context(1);
	uint64_t hash;
	fixture_tape tape = record_stool(context, &hash), old = to_old_version(&tape);
	carom_replay_result result;
	if (!CHECK_INT(replay(context, old, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	CHECK(result.hash == hash && result.steps == 2);
	// Neither is taken for the other.
	cr_store_le(old.bytes + CR_RECORDING_MAGIC_SIZE, OLD_VERSION + 1, 4);
	fixture_repair_tape(&old);
	CHECK_INT(replay(context, old, &result), CAROM_INVALID_RECORDING);
	cr_store_le(tape.bytes + CR_RECORDING_MAGIC_SIZE, OLD_VERSION, 4);
	fixture_repair_tape(&tape);
	CHECK_INT(replay(context, tape, &result), CAROM_INVALID_RECORDING);
	free(tape.bytes);
	free(old.bytes);
	carom_destroy_context(context);
}
