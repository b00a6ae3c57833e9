/// The filter of single contacts: what it leaves out is left out before contacts are reduced, and nothing else changes.
#include "fixture.h"
#include "pool_fixture.h"
#include "world/recording_format.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 26 };

/// An answer that depends on all that a solver may ask about.
static bool is_wanted(const carom_contact *c, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	const uint64_t *seed = user;
	uint64_t state = *seed + (uint64_t)(c->feature_a + 3) * 17 + (uint64_t)(c->feature_b + 5) * 31 + c->material_a +
		7 * c->material_b + user_data_a + 3 * user_data_b + (uint64_t)(c->shape_a + 2 * c->shape_b);
	const uint64_t draw = test_random(&state);
	return c->depth < 0 || c->normal[2] > 0.9F || draw % 3 != 0;
}

static carom_mesh *painted_torus(carom_context *context)
{
	static fixture_soup soup;
	static uint32_t materials[FIXTURE_MAX_TRIANGLES];
	soup = (fixture_soup){ 0 };
	fixture_soup_torus(&soup, 14, 7, 0.3, 0.1);
	for (int32_t i = 0; i < soup.triangle_count; i++)
		materials[i] = (uint32_t)i % 5;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = soup.vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = soup.vertex_count;
	def.triangles = soup.triangles;
	def.triangle_count = soup.triangle_count;
	def.materials = materials;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void fill(carom_world *world, const carom_mesh *torus, const carom_mesh *cube, carom_body_id ids[BODIES])
{
	uint64_t seed = 5;
	const carom_shape shapes[6] = { fixture_of_mesh(torus), fixture_of_mesh(cube), fixture_box(0.5, 0.4, 0.3),
		fixture_sphere(0.6), fixture_capsule(0.3, 0.5), fixture_cylinder(0.4, 0.5) };
	for (int i = 0; i < BODIES; i++) {
		const carom_part parts[2] = { { shapes[i % 6], fixture_at(0.3, 0, 0), 0 },
			{ shapes[(i + 1) % 6], fixture_at(-0.3, 0, 0), 0 } };
		carom_body_def def = carom_default_body_def();
		if (i % 4 == 3) {
			def.parts = parts;
			def.part_count = 2;
		} else {
			def.shape = shapes[i % 6];
		}
		def.kind = i % 7 == 0 ? CAROM_STATIC : CAROM_DYNAMIC;
		def.pose = fixture_random_pose(&seed, 2);
		def.user_data = (uint64_t)i * 3;
		def.sensor = i == 9;
		REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
	}
}

static void shake(carom_world *world, const carom_body_id ids[BODIES], uint64_t seed)
{
	for (int i = 0; i < BODIES; i++) {
		carom_pose pose;
		REQUIRE(carom_world_get_pose(world, ids[i], &pose) == CAROM_SUCCESS);
		pose.position.x += test_random_double(&seed, -0.03, 0.03);
		pose.position.z += test_random_double(&seed, -0.03, 0.03);
		REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
	}
}

static uint64_t user_data_of(const carom_world *world, carom_body_id id)
{
	uint64_t user_data = 0;
	REQUIRE(carom_world_get_user_data(world, id, &user_data) == CAROM_SUCCESS);
	return user_data;
}

/// The contacts of the unfiltered world that are wanted must be those of the filtered one, and the pairs those that keep one.
static int compare(const carom_world *all, const carom_world *some, uint64_t *seed, int most)
{
	const carom_pair_view pairs = carom_world_pairs(all), left = carom_world_pairs(some);
	const carom_contact *found = carom_world_contacts(all).data, *kept = carom_world_contacts(some).data;
	int32_t row = 0;
	int dropped = 0;
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i];
		int32_t count = 0;
		const carom_pair *other = row < left.count ? &left.data[row] : NULL;
		for (int32_t k = 0; k < pair->contact_count; k++) {
			const carom_contact *c = &found[pair->first_contact + k];
			if (!is_wanted(c, user_data_of(all, c->body_a), user_data_of(all, c->body_b), seed)) {
				dropped++;
				continue;
			}
			if (most == 0 && other && count < other->contact_count) {
				const carom_contact *d = &kept[other->first_contact + count];
				CHECK(memcmp(c->point, d->point, sizeof c->point) == 0 && c->depth == d->depth && c->kind == d->kind &&
					c->feature_a == d->feature_a && c->feature_b == d->feature_b && c->material_a == d->material_a &&
					c->material_b == d->material_b && c->shape_a == d->shape_a);
			}
			count++;
		}
		if (pair->contact_count > 0 && count == 0)
			continue; // all were left out, so the pair is no pair
		if (!CHECK(other != NULL))
			return dropped;
		CHECK(fixture_same_id(pair->body_a, other->body_a) && fixture_same_id(pair->body_b, other->body_b));
		CHECK_INT(other->contact_count, most > 0 && count > most ? most : count);
		CHECK_INT(other->found_count, pair->contact_count > 0 ? count : pair->found_count);
		for (int32_t k = 0; k < other->contact_count; k++) {
			const carom_contact *d = &kept[other->first_contact + k];
			CHECK(is_wanted(d, user_data_of(some, d->body_a), user_data_of(some, d->body_b), seed));
		}
		row++;
	}
	CHECK_INT(left.count, row);
	return dropped;
}

static uint64_t live(carom_world_def def, int threads, int most)
{
	carom_context *context = fixture_context(threads);
	carom_mesh *torus = painted_torus(context), *cube = fixture_box_mesh(context, 0.5, 0.4, 0.4);
	carom_body_id ids[BODIES], same[BODIES];
	uint64_t seed = 0, hash = 0;
	def.max_contacts_per_pair = 0;
	carom_world *all = fixture_world(context, &def);
	def.max_contacts_per_pair = most;
	def.contact_filter = is_wanted;
	def.filter_user = &seed;
	carom_world *some = fixture_world(context, &def);
	all->pipeline.keeps_covered = some->pipeline.keeps_covered = true; // these follow after the filter
	fill(all, torus, cube, ids);
	fill(some, torus, cube, same);
	int dropped = 0;
	for (int step = 0; step < (TEST_FEWER > 1 ? 5 : 8); step++) {
		seed = (uint64_t)step / 3; // the answers change while pairs go on
		shake(all, ids, (uint64_t)step);
		shake(some, same, (uint64_t)step);
		fixture_step(all);
		fixture_step(some);
		fixture_check_views(some);
		dropped += compare(all, some, &seed, most);
		hash = hash * 31 + carom_world_hash(some);
	}
	CHECK(dropped > 100 / TEST_STRIDE);
	carom_release_mesh(torus);
	carom_release_mesh(cube);
	carom_destroy_world(all);
	carom_destroy_world(some);
	carom_destroy_context(context);
	return hash;
}

TEST(contact_filter, leaves_out_and_changes_nothing_else)
{
	carom_world_def def = carom_default_world_def();
	live(def, 1, 0);
	def.speculative_distance = 0.05;
	live(def, 1, 0);
	def.temporal = CAROM_TEMPORAL_NONE;
	def.contact_normal = CAROM_NORMAL_RAY;
	fixture_lab(&def)->stages = CAROM_STAGES_NAIVE;
	live(def, 1, 0);
}

TEST(contact_filter, left_out_contacts_take_no_place) { live(carom_default_world_def(), 1, 3); }

TEST(contact_filter, on_four_threads_the_same_contacts)
{
	pool_require_threads();
	CHECK(live(carom_default_world_def(), 1, 4) == live(carom_default_world_def(), 4, 4));
}

// ---- What engineers build ----

/// Speeds along z by user data: of a platform 0.
typedef struct speeds {
	double z[4];
} speeds;

/// A platform (user data 0) holds what comes from above: its top pushes up, and nothing that moves up is held.
static bool holds(const carom_contact *c, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	const speeds *s = user;
	if (user_data_a != 0 && user_data_b != 0)
		return true;
	const double up = user_data_b == 0 ? c->normal[2] : -c->normal[2];
	return up > 0.7 && s->z[user_data_a + user_data_b] <= 0;
}

TEST(contact_filter, a_platform_lets_through_from_below)
{
	carom_context *context = fixture_context(1);
	speeds speed = { { 0 } };
	carom_world_def world_def = carom_default_world_def();
	world_def.contact_filter = holds;
	world_def.filter_user = &speed;
	carom_world *world = fixture_world(context, &world_def);
	fixture_add(world, fixture_box(5, 5, 0.1), carom_pose_identity(), CAROM_STATIC);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(0.5);
	def.user_data = 1;
	def.pose = fixture_at(0, 0, -0.55);
	carom_body_id ball;
	REQUIRE(carom_world_add_body(world, &def, &ball) == CAROM_SUCCESS);
	int events[3] = { 0 };
	for (int step = 0; step < 60; step++) {
		const carom_pose pose = fixture_at(0, 0, -0.55 + 0.02 * (step < 58 ? step : 57.4)); // up, and then it lies
		speed.z[1] = step < 58 ? 1 : 0;
		REQUIRE(carom_world_set_pose(world, ball, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_event_view view = carom_world_events(world);
		for (int32_t i = 0; i < view.count; i++)
			events[view.data[i].kind]++;
		CHECK_INT(carom_world_contacts(world).count, step < 58 ? 0 : 1);
	}
	CHECK(events[CAROM_EVENT_BEGIN] == 1 && events[CAROM_EVENT_PERSIST] == 1 && events[CAROM_EVENT_END] == 0);
	speed.z[1] = 1; // it jumps: the pair ends in that step, although the ball is still in the platform
	fixture_step(world);
	REQUIRE(carom_world_events(world).count == 1);
	CHECK_INT(carom_world_events(world).data[0].kind, CAROM_EVENT_END);
	// Queries are not asked about.
	carom_contact contacts[8];
	int32_t count;
	const carom_pose inside = fixture_at(0, 0, 0.55);
	REQUIRE(carom_world_collide_shape(world, &def.shape, &inside, NULL, 8, contacts, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 2); // the platform and the ball
	carom_destroy_world(world);
	carom_destroy_context(context);
}

enum { HOLE = 9 };

static bool is_no_hole(const carom_contact *c, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b, (void)user;
	return c->material_a != HOLE && c->material_b != HOLE;
}

/// A sheet of 8 x 8 squares with a hole painted in the middle: a ball falls through, a box lies across.
TEST(contact_filter, a_painted_hole_holds_nothing)
{
	enum { CELLS = 8 };
	static fixture_soup soup;
	static uint32_t materials[2 * CELLS * CELLS];
	soup = (fixture_soup){ 0 };
	fixture_soup_sheet(&soup, CELLS, CELLS);
	for (int32_t i = 0; i < soup.triangle_count; i++) {
		double x = 0, y = 0;
		for (int k = 0; k < 3; k++) {
			x += (double)soup.vertices[3 * soup.triangles[3 * i + k]] / 3;
			y += (double)soup.vertices[3 * soup.triangles[3 * i + k] + 1] / 3;
		}
		materials[i] = fabs(x) < 1 && fabs(y) < 1 ? HOLE : 1;
	}
	carom_context *context = fixture_context(1);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = soup.vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = soup.vertex_count;
	def.triangles = soup.triangles;
	def.triangle_count = soup.triangle_count;
	def.materials = materials;
	carom_mesh *sheet;
	REQUIRE(carom_create_mesh(context, &def, NULL, &sheet) == CAROM_SUCCESS);
	carom_world_def world_def = carom_default_world_def();
	world_def.contact_filter = is_no_hole;
	carom_world *world = fixture_world(context, &world_def);
	fixture_add(world, fixture_of_mesh(sheet), carom_pose_identity(), CAROM_STATIC);
	const carom_body_id ball = fixture_add(world, fixture_sphere(0.4), fixture_at(0.3, 0.2, 0.39), CAROM_DYNAMIC);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 0);
	const carom_pose beside = fixture_at(2.5, 0.2, 0.39);
	REQUIRE(carom_world_set_pose(world, ball, &beside) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_contacts(world).count, 1);
	fixture_add(world, fixture_box(1.7, 0.3, 0.3), fixture_at(0, 0, 0.29), CAROM_DYNAMIC);
	fixture_step(world);
	int32_t of_box = 0;
	const carom_contact_view contacts = carom_world_contacts(world);
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		CHECK(c->material_a != HOLE);
		CHECK(fabs(c->point[0]) > 0.99);
		of_box += c->body_b.index1 == 3;
	}
	CHECK(of_box >= 4);
	carom_release_mesh(sheet);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Recordings ----

static fixture_tape record(carom_context *context, int threads, uint64_t *hash)
{
	carom_context *own = fixture_context(threads);
	carom_mesh *torus = painted_torus(own), *cube = fixture_box_mesh(own, 0.5, 0.4, 0.4);
	fixture_tape tape = { 0 };
	uint64_t seed = 4;
	carom_body_id ids[BODIES];
	carom_world_def def = carom_default_world_def();
	def.contact_filter = is_wanted;
	def.filter_user = &seed;
	carom_world *world = fixture_world(own, &def);
	fill(world, torus, cube, ids);
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	for (int step = 0; step < 6; step++) {
		seed++;
		shake(world, ids, (uint64_t)step);
		fixture_step(world);
	}
	*hash = carom_world_hash(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_release_mesh(torus);
	carom_release_mesh(cube);
	carom_destroy_world(world);
	carom_destroy_context(own);
	carom_replay_result result;
	if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	CHECK_INT(result.steps, 6);
	CHECK(result.hash == *hash);
	return tape;
}

TEST(contact_filter, recordings_hold_the_answers)
{
	carom_context *context = fixture_context(1);
	uint64_t hash;
	fixture_tape tape = record(context, 1, &hash);
	// Of forged lists: out of order, or naming what is not there, nothing crashes.
	int refused = 0, steps = 0;
	for (size_t at = 12; at < tape.count;) {
		const uint32_t opcode = (uint32_t)cr_load_le(tape.bytes + at, 4);
		const size_t size = (size_t)cr_load_le(tape.bytes + at + 4, 8), payload = at + CR_RECORD_HEAD_SIZE;
		steps += opcode == CR_RECORD_STEP;
		for (size_t i = 0; opcode == CR_RECORD_STEP && steps == 2 && i < size; i += TEST_STRIDE * (i < 32 ? 1 : 29)) {
			tape.bytes[payload + i] ^= 0x11;
			fixture_repair_tape(&tape);
			tape.at = 0;
			carom_replay_result result;
			refused += carom_replay_recording(context, fixture_read_tape, &tape, &result) == CAROM_INVALID_RECORDING;
			tape.bytes[payload + i] ^= 0x11;
		}
		at = payload + size + CR_RECORD_CHECK_SIZE;
	}
	CHECK(refused > 20 / TEST_STRIDE);
	free(tape.bytes);
	carom_destroy_context(context);
}

TEST(contact_filter, recordings_of_four_threads_are_those_of_one)
{
	pool_require_threads();
	carom_context *context = fixture_context(1);
	uint64_t hashes[2];
	fixture_tape one = record(context, 1, &hashes[0]), four = record(context, 4, &hashes[1]);
	CHECK(hashes[0] == hashes[1]);
	CHECK(one.count == four.count && memcmp(one.bytes, four.bytes, one.count) == 0);
	free(one.bytes);
	free(four.bytes);
	carom_destroy_context(context);
}
