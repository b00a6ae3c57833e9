// Pairs of bodies: what a dull grouping of the pairs of parts says, from step to step, whatever is done to bodies; and the limit of
// contacts for two bodies.
#include "fixture.h"
#include "tiles_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 512, BODIES = 14, PARTS = 4 };

// ---- The oracle ----

/// What a dull observer knows of the last step.
typedef struct watch {
	carom_body_pair rows[MOST_ROWS];
	int count;
	int begun, ended, several; // seen so far: events, and rows of more than one pair
} watch;

static bool same_bodies(const carom_body_pair *row, carom_body_id a, carom_body_id b)
{
	return fixture_same_id(row->body_a, a) && fixture_same_id(row->body_b, b);
}

static const carom_body_pair *find_row(const carom_body_pair *rows, int count, carom_body_id a, carom_body_id b)
{
	for (int i = 0; i < count; i++) {
		if (same_bodies(&rows[i], a, b))
			return &rows[i];
	}
	return NULL;
}

/// Group the pairs of parts.
static int group_pairs(const carom_world *world, const watch *before, carom_body_pair rows[MOST_ROWS])
{
	const carom_pair_view pairs = carom_world_pairs(world);
	int count = 0;
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *p = &pairs.data[i];
		carom_body_pair *row = (carom_body_pair *)find_row(rows, count, p->body_a, p->body_b);
		if (!row) {
			REQUIRE(count < MOST_ROWS);
			const carom_body_pair *old = find_row(before->rows, before->count, p->body_a, p->body_b);
			row = &rows[count++];
			*row = (carom_body_pair){ p->body_a, p->body_b, p->user_data_a, p->user_data_b, i, 0, p->first_contact, 0, 0,
				old ? old->age + 1 : 0, old ? old->user_data : 0 };
		}
		CHECK_INT(p->body_pair, row - rows);
		CHECK_INT(row->first_pair + row->pair_count, i); // side by side
		CHECK_INT(row->first_contact + row->contact_count, p->first_contact);
		row->pair_count++;
		row->contact_count += p->contact_count;
		row->found_count += p->found_count;
	}
	return count;
}

static void compare_rows(const carom_body_pair *a, const carom_body_pair *b)
{
	CHECK(same_bodies(a, b->body_a, b->body_b));
	CHECK_INT(a->user_data_a, b->user_data_a);
	CHECK_INT(a->user_data_b, b->user_data_b);
	CHECK_INT(a->first_pair, b->first_pair);
	CHECK_INT(a->pair_count, b->pair_count);
	CHECK_INT(a->first_contact, b->first_contact);
	CHECK_INT(a->contact_count, b->contact_count);
	CHECK_INT(a->found_count, b->found_count);
	CHECK_INT(a->age, b->age);
	CHECK_INT(a->user_data, b->user_data);
}

static int compare_keys(const carom_body_event *a, const carom_body_event *b)
{
	const uint32_t keys[2][4] = { { a->body_a.index1, a->body_a.generation, a->body_b.index1, a->body_b.generation },
		{ b->body_a.index1, b->body_a.generation, b->body_b.index1, b->body_b.generation } };
	for (int k = 0; k < 4; k++) {
		if (keys[0][k] != keys[1][k])
			return keys[0][k] < keys[1][k] ? -1 : 1;
	}
	return 0;
}

/// Each row of now has one event, and each of before that is gone has one; they are sorted, and there are no others.
static void check_body_events(const carom_world *world, watch *before, const carom_body_pair *rows, int count)
{
	const carom_body_event_view events = carom_world_body_events(world);
	int rows_seen = 0, ended = 0;
	for (int32_t i = 0; i < events.count; i++) {
		const carom_body_event *e = &events.data[i];
		CHECK(i == 0 || compare_keys(e - 1, e) < 0);
		const carom_body_pair *now = find_row(rows, count, e->body_a, e->body_b),
							  *old = find_row(before->rows, before->count, e->body_a, e->body_b);
		REQUIRE(now || old);
		CHECK_INT(e->kind, !old ? CAROM_EVENT_BEGIN : now ? CAROM_EVENT_PERSIST : CAROM_EVENT_END);
		CHECK_INT(e->body_pair, now ? now - rows : -1);
		CHECK_INT(e->pair_data, old ? old->user_data : 0);
		CHECK_INT(e->user_data_a, now ? now->user_data_a : old->user_data_a);
		CHECK_INT(e->user_data_b, now ? now->user_data_b : old->user_data_b);
		rows_seen += now != NULL;
		ended += !now;
		before->begun += !old;
	}
	CHECK_INT(rows_seen, count);
	CHECK_INT(rows_seen + ended, events.count);
	before->ended += ended;
}

/// Compare the step with what the observer expects, and let him know it.
static void observe(watch *w, carom_world *world)
{
	static carom_body_pair rows[MOST_ROWS];
	const int count = group_pairs(world, w, rows);
	const carom_body_pair_view view = carom_world_body_pairs(world);
	REQUIRE(view.count == count);
	for (int i = 0; i < count; i++) {
		compare_rows(&view.data[i], &rows[i]);
		w->several += rows[i].pair_count > 1;
	}
	check_body_events(world, w, rows, count);
	memcpy(w->rows, rows, (size_t)count * sizeof *rows);
	w->count = count;
}

// ---- Random lives ----

/// A world that lists pairs of bodies, with a limit of contacts for each.
static carom_world *listing_world(carom_context *context, const carom_world_def *def, int32_t limit)
{
	carom_world *world = fixture_world(context, def);
	REQUIRE(carom_world_set_body_pairs(world, true, limit) == CAROM_SUCCESS);
	return world;
}

/// A world of bodies of all kinds that pairs have: with parts and without, sensors, a solid, thick cloth, grains.
typedef struct life {
	carom_context *context;
	carom_world *world;
	carom_mesh *torus, *sheet, *ball;
	carom_body_id ids[BODIES];
	int32_t parts[BODIES]; // 0: the body has no parts
	uint64_t seed;
	watch watch;
} life;

static uint64_t throw_die(life *l, uint64_t sides) { return test_random(&l->seed) % sides; }

static carom_shape random_shape(life *l)
{
	switch (throw_die(l, 4)) {
	case 0: return fixture_sphere(0.4);
	case 1: return fixture_box(0.3, 0.4, 0.5);
	case 2: return fixture_capsule(0.2, 0.4);
	default: return fixture_of_mesh(l->torus);
	}
}

static void random_parts(life *l, carom_part parts[PARTS], int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		parts[i] = (carom_part){ random_shape(l), fixture_random_pose(&l->seed, 0.8), 0 };
}

static void add_random(life *l, int which)
{
	carom_part parts[PARTS];
	carom_body_def def = carom_default_body_def();
	const int32_t count = (int32_t)throw_die(l, PARTS + 1);
	random_parts(l, parts, count);
	l->parts[which] = count;
	if (count > 0) {
		def.parts = parts;
		def.part_count = count;
	} else {
		def.shape = random_shape(l);
	}
	def.pose = fixture_random_pose(&l->seed, 1.6);
	def.sensor = throw_die(l, 6) == 0;
	def.kind = throw_die(l, 5) == 0 ? CAROM_KINEMATIC : CAROM_DYNAMIC;
	def.user_data = throw_die(l, 1000);
	REQUIRE(carom_world_add_body(l->world, &def, &l->ids[which]) == CAROM_SUCCESS);
}

static void add_deforming(life *l)
{
	static double centres[90], radii[30];
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(l->sheet);
	def.thickness = 0.1;
	REQUIRE(carom_world_add_body(l->world, &def, &id) == CAROM_SUCCESS);
	def.kind = CAROM_DEFORMABLE;
	def.shape = fixture_of_mesh(l->ball);
	def.thickness = 0;
	def.pose = fixture_at(0.5, 0.5, -0.5);
	REQUIRE(carom_world_add_body(l->world, &def, &id) == CAROM_SUCCESS);
	carom_body_def grains = carom_default_body_def();
	for (int i = 0; i < 30; i++) {
		radii[i] = 0.12;
		for (int k = 0; k < 3; k++)
			centres[3 * i + k] = test_random_double(&l->seed, -1, 1);
	}
	grains.kind = CAROM_GRANULAR;
	grains.sphere_count = 30;
	grains.centres = (carom_strided){ .data = centres, .type = CAROM_FLOAT64 };
	grains.radii = (carom_strided){ .data = radii, .type = CAROM_FLOAT64 };
	REQUIRE(carom_world_add_body(l->world, &grains, &id) == CAROM_SUCCESS);
}

static void begin_life(life *l, const carom_world_def *def, int32_t limit, int threads)
{
	*l = (life){ .context = fixture_context(threads), .seed = 11 };
	l->world = listing_world(l->context, def, limit);
	l->torus = fixture_torus_mesh(l->context, 8, 5, 0.3, 0.1);
	l->sheet = fixture_sheet_mesh(l->context, 4, 2);
	l->ball = fixture_sphere_mesh(l->context, 0.5, 6);
	add_deforming(l);
	for (int i = 0; i < BODIES; i++)
		add_random(l, i);
}

static void end_life(life *l)
{
	carom_destroy_world(l->world);
	carom_release_mesh(l->torus);
	carom_release_mesh(l->sheet);
	carom_release_mesh(l->ball);
	carom_destroy_context(l->context);
}

/// Something happens to a body.
static void change(life *l, int which)
{
	carom_part parts[PARTS];
	const carom_pose pose = fixture_random_pose(&l->seed, 1.6);
	switch (throw_die(l, 6)) {
	case 0:
		REQUIRE(carom_world_remove_body(l->world, l->ids[which]) == CAROM_SUCCESS);
		add_random(l, which);
		break;
	case 1:
		REQUIRE(carom_world_set_filter(l->world, l->ids[which], 1 + throw_die(l, 3), ~throw_die(l, 4), 0) == CAROM_SUCCESS);
		break;
	case 2:
		if (l->parts[which] == 0)
			break;
		l->parts[which] = 1 + (int32_t)throw_die(l, (uint64_t)l->parts[which]);
		random_parts(l, parts, l->parts[which]);
		REQUIRE(carom_world_set_parts(l->world, l->ids[which], parts, l->parts[which]) == CAROM_SUCCESS);
		break;
	default: REQUIRE(carom_world_set_pose(l->world, l->ids[which], &pose) == CAROM_SUCCESS);
	}
}

/// Some pairs of bodies get a number.
static void give_data(life *l)
{
	const int32_t count = carom_world_body_pairs(l->world).count;
	for (int i = 0; count > 0 && i < 4; i++) {
		const int32_t pair = (int32_t)throw_die(l, (uint64_t)count);
		const uint64_t data = test_random(&l->seed);
		REQUIRE(carom_world_set_body_pair_data(l->world, pair, data) == CAROM_SUCCESS);
		l->watch.rows[pair].user_data = data;
	}
}

static uint64_t live(life *l, int steps)
{
	uint64_t hash = 0;
	for (int i = 0; i < steps; i++) {
		for (int k = 0; k < 3; k++)
			change(l, (int)throw_die(l, BODIES));
		fixture_step(l->world);
		observe(&l->watch, l->world);
		give_data(l);
		const carom_body_pair_view view = carom_world_body_pairs(l->world);
		for (int32_t k = 0; k < view.count; k++)
			hash = hash * 31 + (uint64_t)(view.data[k].contact_count + 7 * view.data[k].age);
		hash = hash * 31 + carom_world_hash(l->world);
	}
	return hash;
}

TEST(body_pairs, equal_a_dull_grouping_whatever_is_done)
{
	static const int32_t limits[] = { 0, 4, 1 };
	static life l;
	for (int i = 0; i < 3; i++) {
		uint64_t hashes[2];
		carom_world_def def = carom_default_world_def();
		def.speculative_distance = i == 2 ? 0.05 : 0;
		for (int k = 0; k < 2; k++) {
			begin_life(&l, &def, limits[i], k ? 4 : 1);
			hashes[k] = live(&l, TEST_FEWER > 1 ? 12 : 40);
			CHECK(l.watch.begun > 30 && l.watch.ended > 30 && l.watch.several > 60);
			end_life(&l);
		}
		CHECK(hashes[0] == hashes[1]);
	}
}

static bool keep_few(const carom_contact *contact, uint64_t a, uint64_t b, void *user)
{
	(void)contact, (void)user;
	return (a + b) % 3 != 0;
}

static bool keep_most(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)a, (void)b, (void)user;
	return (data_a ^ data_b) % 4 != 0;
}

TEST(body_pairs, with_filters_of_pairs_and_contacts)
{
	static life l;
	carom_world_def def = carom_default_world_def();
	def.contact_filter = keep_few;
	def.pair_filter = keep_most;
	begin_life(&l, &def, 3, 1);
	live(&l, 40);
	CHECK(l.watch.begun > 30 && l.watch.ended > 30 && l.watch.several > 60);
	end_life(&l);
}

/// A world brought back tells the events that it told, and hands back the numbers.
TEST(body_pairs, snapshots_bring_them_back)
{
	enum { STEPS = TEST_FEWER > 1 ? 8 : 20 };
	static life l;
	begin_life(&l, NULL, 4, 1);
	live(&l, STEPS);
	carom_snapshot *snapshot, *other;
	REQUIRE(carom_create_snapshot(l.world, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_create_snapshot(l.world, &other) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(l.world, snapshot) == CAROM_SUCCESS);
	static life then;
	then = l;
	const uint64_t hash = live(&l, STEPS);
	REQUIRE(carom_world_save(l.world, other) == CAROM_SUCCESS);
	const uint64_t other_hash = carom_snapshot_hash(other);
	CHECK(carom_snapshots_differ(snapshot, other, NULL));
	for (int i = 0; i < 2; i++) {
		if (i == 1) { // by way of bytes
			fixture_tape tape = { 0 };
			REQUIRE(carom_world_restore(l.world, snapshot) == CAROM_SUCCESS);
			REQUIRE(carom_snapshot_save(snapshot, fixture_write_tape, &tape) == CAROM_SUCCESS);
			REQUIRE(carom_snapshot_load(snapshot, tape.bytes, tape.count) == CAROM_SUCCESS);
			free(tape.bytes);
		}
		REQUIRE(carom_world_restore(l.world, snapshot) == CAROM_SUCCESS);
		l = then;
		CHECK(live(&l, STEPS) == hash);
		REQUIRE(carom_world_save(l.world, other) == CAROM_SUCCESS);
		CHECK(carom_snapshot_hash(other) == other_hash);
	}
	carom_destroy_snapshot(snapshot);
	carom_destroy_snapshot(other);
	end_life(&l);
}

/// Two spheres that touch, after a step.
static carom_world *two_spheres(carom_context *context, bool listed)
{
	carom_world *world = fixture_world(context, NULL);
	REQUIRE(carom_world_set_body_pairs(world, listed, 0) == CAROM_SUCCESS);
	fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	fixture_add(world, fixture_sphere(1), fixture_at(1, 0, 0), CAROM_DYNAMIC);
	fixture_step(world);
	return world;
}

/// The view has no pair of bodies, or one of this age.
static void check_listed(carom_world *world, int age)
{
	const carom_body_pair_view view = carom_world_body_pairs(world);
	CHECK_INT(view.count, age >= 0);
	CHECK_INT(carom_world_body_events(world).count, age >= 0);
	CHECK_INT(carom_world_pairs(world).data[0].body_pair, age >= 0 ? 0 : -1);
	CHECK(age < 0 || view.data[0].age == age);
	CHECK(age < 0 || carom_world_body_events(world).data[0].kind == (age > 0 ? CAROM_EVENT_PERSIST : CAROM_EVENT_BEGIN));
}

/// They can be asked for at any time, and begin with the step that lists them.
TEST(body_pairs, are_listed_only_where_they_are_wanted)
{
	carom_context *context = fixture_context(1);
	carom_world *world = two_spheres(context, false);
	static const bool listed[] = { false, true, true, false, false, true, false, true, true };
	static const int age[] = { -1, 0, 1, -1, -1, 0, -1, 0, 1 };
	check_listed(world, -1);
	fixture_expect_wrong(context, carom_world_set_body_pair_data(world, 0, 1), "carom_world_set_body_pairs lists them");
	for (int i = 0; i < 9; i++) {
		REQUIRE(carom_world_set_body_pairs(world, listed[i], 0) == CAROM_SUCCESS);
		fixture_step(world);
		check_listed(world, age[i]);
	}
	fixture_expect_wrong(context, carom_world_set_body_pair_data(world, 1, 1), "pair is 1, but there are 1 pairs of bodies");
	fixture_expect_wrong(context, carom_world_set_body_pair_data(world, -1, 1), "pair is -1");
	fixture_expect_wrong(context, carom_world_set_body_pairs(world, true, 257), "max_contacts is 257; it must be 0 to 256");
	fixture_expect_wrong(context, carom_world_set_body_pairs(world, true, -1), "max_contacts is -1");
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// Snapshots that differ in the pairs of bodies alone: the difference is told.
TEST(body_pairs, snapshots_tell_that_they_differ)
{
	carom_context *context = fixture_context(1);
	carom_snapshot *snapshots[2];
	carom_world *worlds[2];
	for (int i = 0; i < 2; i++) {
		worlds[i] = two_spheres(context, i == 0);
		REQUIRE(carom_create_snapshot(worlds[i], &snapshots[i]) == CAROM_SUCCESS);
		REQUIRE(carom_world_save(worlds[i], snapshots[i]) == CAROM_SUCCESS);
	}
	carom_snapshot_difference difference;
	CHECK(carom_snapshots_differ(snapshots[0], snapshots[1], &difference));
	CHECK_STR(difference.list, "pairs of bodies");
	CHECK_STR(difference.field, "count");
	CHECK(carom_snapshot_hash(snapshots[0]) != carom_snapshot_hash(snapshots[1]));
	for (int i = 0; i < 2; i++) {
		carom_destroy_snapshot(snapshots[i]);
		carom_destroy_world(worlds[i]);
	}
	carom_destroy_context(context);
}

TEST(body_pairs, recordings_replay_with_limit_and_numbers)
{
	static life l;
	begin_life(&l, NULL, 5, 1);
	fixture_tape tape = { 0 };
	REQUIRE(carom_world_record(l.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	live(&l, 6);
	REQUIRE(carom_world_set_body_pairs(l.world, true, 3) == CAROM_SUCCESS);
	live(&l, 6);
	const uint64_t hash = carom_world_hash(l.world);
	REQUIRE(carom_world_record(l.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	if (!CHECK_INT(carom_replay_recording(l.context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(l.context), "");
	CHECK_INT(result.steps, 12);
	CHECK(result.hash == hash);
	free(tape.bytes);
	end_life(&l);
}

// ---- The limit ----

enum { LIMITED_BODIES = 10 };

/// Two worlds of one content; only the second one has a limit for two bodies.
typedef struct limited {
	carom_world *worlds[2];
	carom_body_id ids[LIMITED_BODIES];
	int reduced; // pairs of bodies seen so far that have lost contacts
} limited;

static const carom_contact *find_contact(const carom_world *world, const carom_body_pair *pair, const carom_contact *c)
{
	const carom_contact_view all = carom_world_contacts(world);
	for (int32_t i = pair->first_contact; i < pair->first_contact + pair->contact_count; i++) {
		const carom_contact *o = &all.data[i];
		if (o->shape_a == c->shape_a && o->shape_b == c->shape_b && o->kind == c->kind && o->feature_a == c->feature_a &&
			o->feature_b == c->feature_b && memcmp(o->point, c->point, sizeof c->point) == 0 &&
			memcmp(o->normal, c->normal, sizeof c->normal) == 0)
			return o;
	}
	return NULL;
}

static double greatest_depth(const carom_world *world, const carom_body_pair *pair)
{
	double depth = -INFINITY;
	for (int32_t i = pair->first_contact; i < pair->first_contact + pair->contact_count; i++)
		depth = fmax(depth, (double)carom_world_contacts(world).data[i].depth);
	return depth;
}

/// The longest line between two contacts.
static double extent(const carom_world *world, const carom_body_pair *pair)
{
	const carom_contact *c = carom_world_contacts(world).data + pair->first_contact;
	double longest = 0;
	for (int32_t i = 0; i < pair->contact_count; i++) {
		for (int32_t k = 0; k < i; k++)
			longest = fmax(longest, v3d_length(v3d_sub(fixture_point(&c[i]), fixture_point(&c[k]))));
	}
	return longest;
}

/// What a pair of bodies keeps: some of its contacts, as they are, spread as widely, the greatest depth among them.
static void check_kept(limited *l, const carom_body_pair *all, const carom_body_pair *kept, int32_t most)
{
	const carom_contact_view contacts = carom_world_contacts(l->worlds[1]);
	int deeper = 0;
	CHECK_INT(kept->contact_count, all->contact_count < most ? all->contact_count : most);
	for (int32_t i = kept->first_contact; i < kept->first_contact + kept->contact_count; i++) {
		const carom_contact *found = find_contact(l->worlds[0], all, &contacts.data[i]);
		REQUIRE(found);
		deeper += found->depth != contacts.data[i].depth;
		CHECK(found->depth <= contacts.data[i].depth);
	}
	CHECK(deeper <= (kept->contact_count < all->contact_count)); // one may have the depth of the deepest
	CHECK(greatest_depth(l->worlds[0], all) == greatest_depth(l->worlds[1], kept));
	CHECK(most < 3 || extent(l->worlds[1], kept) >= 0.4 * extent(l->worlds[0], all));
	l->reduced += kept->contact_count < all->contact_count;
}

/// Nothing but contacts differs.
static void compare_limited(limited *l, int32_t most)
{
	const carom_pair_view pairs[2] = { carom_world_pairs(l->worlds[0]), carom_world_pairs(l->worlds[1]) };
	const carom_event_view events[2] = { carom_world_events(l->worlds[0]), carom_world_events(l->worlds[1]) };
	const carom_body_pair_view rows[2] = { carom_world_body_pairs(l->worlds[0]), carom_world_body_pairs(l->worlds[1]) };
	REQUIRE(pairs[0].count == pairs[1].count && events[0].count == events[1].count && rows[0].count == rows[1].count);
	for (int32_t i = 0; i < pairs[0].count; i++) {
		CHECK_INT(pairs[0].data[i].age, pairs[1].data[i].age);
		CHECK_INT(pairs[0].data[i].found_count, pairs[1].data[i].found_count);
		CHECK_INT(pairs[0].data[i].shape_b, pairs[1].data[i].shape_b);
	}
	for (int32_t i = 0; i < events[0].count; i++)
		CHECK_INT(events[0].data[i].kind, events[1].data[i].kind);
	for (int32_t i = 0; i < rows[0].count; i++) {
		CHECK(same_bodies(&rows[0].data[i], rows[1].data[i].body_a, rows[1].data[i].body_b));
		check_kept(l, &rows[0].data[i], &rows[1].data[i], most);
	}
	CHECK_INT(carom_world_stats(l->worlds[0]).colliding_pairs, carom_world_stats(l->worlds[1]).colliding_pairs);
	CHECK_INT(carom_world_stats(l->worlds[0]).contacts_found, carom_world_stats(l->worlds[1]).contacts_found);
}

static void add_limited(limited *l, const carom_shape shapes[3], uint64_t *seed, int which)
{
	carom_part parts[PARTS];
	carom_body_def def = carom_default_body_def();
	for (int i = 0; i < PARTS; i++)
		parts[i] = (carom_part){ shapes[test_random(seed) % 3], fixture_random_pose(seed, 0.8), 0 };
	def.parts = parts;
	def.part_count = PARTS;
	def.pose = fixture_random_pose(seed, 1.2);
	def.sensor = which == 0;
	for (int w = 0; w < 2; w++)
		REQUIRE(carom_world_add_body(l->worlds[w], &def, &l->ids[which]) == CAROM_SUCCESS);
}

/// Random compounds, moving or at rest, with a limit for two bodies and without: contacts of a few pairs are left out, nothing else.
static void compare_lives(int32_t most, double ahead)
{
	limited l = { .reduced = 0 };
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 8, 5, 0.3, 0.1);
	const carom_shape shapes[3] = { fixture_of_mesh(torus), fixture_box(0.3, 0.4, 0.5), fixture_capsule(0.2, 0.4) };
	carom_world_def def = carom_default_world_def();
	uint64_t seed = 5;
	def.max_contacts_per_pair = most;
	def.speculative_distance = ahead;
	l.worlds[0] = listing_world(context, &def, 0);
	l.worlds[1] = listing_world(context, &def, most);
	for (int i = 0; i < LIMITED_BODIES; i++)
		add_limited(&l, shapes, &seed, i);
	for (int step = 0; step < (TEST_FEWER > 1 ? 12 : 30); step++) {
		for (int i = 0; i < 3 && step % 3; i++) {
			const carom_pose pose = fixture_random_pose(&seed, 1.2);
			const carom_body_id id = l.ids[test_random(&seed) % LIMITED_BODIES];
			for (int w = 0; w < 2; w++)
				REQUIRE(carom_world_set_pose(l.worlds[w], id, &pose) == CAROM_SUCCESS);
		}
		fixture_step(l.worlds[0]);
		fixture_step(l.worlds[1]);
		compare_limited(&l, most);
	}
	CHECK(l.reduced > (TEST_FEWER > 1 ? 30 : 100));
	for (int w = 0; w < 2; w++)
		carom_destroy_world(l.worlds[w]);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

TEST(body_pairs, a_limit_leaves_out_contacts_and_nothing_else)
{
	compare_lives(1, 0);
	compare_lives(4, 0);
	compare_lives(8, 0);
	compare_lives(8, 0.1);
}

/// A table of five boxes.
static void make_table(carom_part table[5])
{
	table[0] = (carom_part){ fixture_box(1, 0.6, 0.05), fixture_at(0, 0, 0.75), 0 };
	for (int i = 0; i < 4; i++)
		table[1 + i] =
			(carom_part){ fixture_box(0.05, 0.05, 0.35), fixture_at(i & 1 ? 0.9 : -0.9, i & 2 ? 0.5 : -0.5, 0.35), 0 };
}

/// Without parts the limit is that of a pair, and whoever has less decides.
TEST(body_pairs, the_limit_is_that_of_pairs_where_no_body_has_parts)
{
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 16; i++) {
		carom_world_def def = carom_default_world_def();
		def.max_contacts_per_pair = i / 4;
		carom_world *world = listing_world(context, &def, i % 4);
		fixture_add(world, fixture_box(2, 2, 0.5), fixture_at(0, 0, -0.5), CAROM_STATIC);
		fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(0, 0, 0.499), CAROM_DYNAMIC);
		fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0.001), CAROM_STATIC);
		fixture_step(world);
		const int limit = i % 4 == 0 ? i / 4 : i / 4 == 0 || i % 4 < i / 4 ? i % 4 : i / 4;
		REQUIRE(carom_world_pairs(world).count == 2);
		for (int k = 0; k < 2; k++)
			CHECK_INT(carom_world_pairs(world).data[k].contact_count, limit ? limit : 4);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

/// Another limit holds from the next step on, also for pairs whose bodies rest.
TEST(body_pairs, another_limit_holds_for_bodies_at_rest)
{
	carom_context *context = fixture_context(1);
	carom_world *world = listing_world(context, NULL, 0);
	carom_mesh *floor = fixture_box_mesh(context, 2, 2, 0.5);
	fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, -0.5), CAROM_STATIC);
	fixture_add(world, fixture_of_mesh(floor), fixture_at(0.3, 0.2, 0.49), CAROM_DYNAMIC);
	fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(5, 0, 0.499), CAROM_DYNAMIC);
	fixture_add(world, fixture_of_mesh(floor), fixture_at(5, 0, -0.5), CAROM_STATIC);
	for (int i = 0; i < 12; i++) {
		const int limit = (const int[]){ 0, 2, 3, 1 }[i / 3];
		REQUIRE(carom_world_set_body_pairs(world, true, limit) == CAROM_SUCCESS);
		fixture_step(world);
		REQUIRE(carom_world_pairs(world).count == 2);
		for (int k = 0; k < 2; k++) {
			const carom_pair *pair = &carom_world_pairs(world).data[k];
			CHECK(pair->found_count >= 4);
			CHECK_INT(pair->contact_count, limit ? limit : pair->found_count < 8 ? pair->found_count : 8);
		}
	}
	carom_destroy_world(world);
	carom_release_mesh(floor);
	carom_destroy_context(context);
}

/// A table on tiles trembles by so much. *kept: contacts from the third step on; the new ones are counted.
static int count_new_on_tiles(tile_kind kind, double tremble, int *kept)
{
	carom_context *context = fixture_context(1);
	carom_world *world = listing_world(context, NULL, 8);
	carom_mesh *mesh;
	carom_part tiles[TILES], table[5];
	tiles_lay(tiles_make_tile(context, kind, &mesh), 0, tiles);
	tiles_add(world, tiles, TILES, CAROM_STATIC);
	make_table(table);
	const carom_body_id id = tiles_add(world, table, 5, CAROM_DYNAMIC);
	uint64_t seed = 3;
	int fresh = 0;
	*kept = 0;
	for (int step = 0; step < 60; step++) {
		const carom_pose pose = fixture_trembling_pose(&seed, tremble, (carom_vec3){ 0.013, 0, -0.001 });
		REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		CHECK_INT(view.count, 8);
		CHECK_INT(carom_world_body_pairs(world).count, 1);
		CHECK_INT(carom_world_body_pairs(world).data[0].age, step);
		CHECK(carom_world_body_pairs(world).data[0].found_count >= 16);
		for (int i = 0; step > 1 && i < view.count; i++, (*kept)++)
			fresh += view.data[i].age == 0;
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	return fresh;
}

/// A compound that trembles keeps its contacts, and so a solver its impulses, though more are found than are kept.
TEST(body_pairs, bodies_that_tremble_keep_their_contacts)
{
	static const tile_kind kinds[] = { TILE_BOX, TILE_MESH, TILE_HULL };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		int kept;
		CHECK_INT(count_new_on_tiles(kinds[i], 1e-6, &kept), 0);
		CHECK_INT(kept, 8 * 58);
		CHECK(count_new_on_tiles(kinds[i], 1e-4, &kept) <= kept / 40);
	}
}

/// A table at rest keeps the contacts of the first step, with ages and impulses; and where the limit no longer leaves contacts out,
/// because a body went, what rests has its own depths again.
TEST(body_pairs, what_rests_keeps_ages_and_impulses)
{
	carom_context *context = fixture_context(1);
	carom_world *world = listing_world(context, NULL, 6);
	carom_part tiles[TILES], table[5];
	tiles_lay(fixture_box(0.3, 0.6, 0.1), 0, tiles);
	tiles_add(world, tiles, TILES, CAROM_STATIC);
	make_table(table);
	const carom_body_id id = tiles_add(world, table, 5, CAROM_DYNAMIC);
	const carom_pose pose = { { 0.013, 0, -0.001 }, fixture_turn((v3d){ 1, 0.3, 0 }, 0.0005) };
	REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	REQUIRE(carom_world_contacts(world).count == 6);
	for (int i = 0; i < 6; i++)
		REQUIRE(carom_world_set_impulse(world, i, (float[3]){ (float)i, 1, 2 }) == CAROM_SUCCESS);
	for (int step = 1; step < 4; step++) {
		fixture_step(world);
		CHECK(carom_world_hash(world) == hash);
		for (int i = 0; i < 6; i++) {
			CHECK_INT(carom_world_contacts(world).data[i].age, step);
			CHECK(carom_world_contacts(world).data[i].impulse[0] == (float)i);
		}
	}
	for (int legs = 4; legs > 1; legs--) {
		REQUIRE(carom_world_set_parts(world, id, table, legs) == CAROM_SUCCESS);
		fixture_step(world);
		carom_world *fresh = listing_world(context, NULL, 6);
		tiles_add(fresh, tiles, TILES, CAROM_STATIC);
		const carom_body_id same = tiles_add(fresh, table, legs, CAROM_DYNAMIC);
		REQUIRE(carom_world_set_pose(fresh, same, &pose) == CAROM_SUCCESS);
		fixture_step(fresh);
		const carom_contact_view a = carom_world_contacts(world), b = carom_world_contacts(fresh);
		REQUIRE(a.count == b.count);
		for (int32_t i = 0; i < a.count; i++) {
			CHECK(a.data[i].depth == b.data[i].depth);
			CHECK(memcmp(a.data[i].point, b.data[i].point, sizeof a.data[i].point) == 0);
		}
		carom_destroy_world(fresh);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Memory ----

static void fill_tables(carom_world *world, void *user)
{
	(void)user;
	REQUIRE(carom_world_set_body_pairs(world, true, 3) == CAROM_SUCCESS);
	carom_part tiles[TILES], table[5];
	tiles_lay(fixture_box(0.3, 0.6, 0.1), 0, tiles);
	tiles_add(world, tiles, TILES, CAROM_STATIC);
	make_table(table);
	tiles_add(world, table, 5, CAROM_DYNAMIC);
}

TEST(body_pairs, failing_allocations_lose_nothing)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const carom_world_def def = carom_default_world_def();
	carom_world *world = fixture_world(context, &def);
	fill_tables(world, NULL);
	fixture_step(world);
	const int pairs = carom_world_pairs(world).count;
	carom_destroy_world(world);
	CHECK(pairs >= 4);
	CHECK(fixture_fail_each_allocation(&heap, context, &def, fill_tables, NULL, pairs) > 5);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(body_pairs, a_step_that_fails_leaves_them)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const carom_world_def def = carom_default_world_def();
	carom_world *world = fixture_world(context, &def);
	fill_tables(world, NULL);
	fixture_step(world);
	REQUIRE(carom_world_set_body_pair_data(world, 0, 99) == CAROM_SUCCESS);
	for (int i = 0; i < 100; i++) // bodies that need room for pairs of their own
		fixture_add(world, fixture_sphere(0.2), fixture_at(0.05 * i - 2.5, 0.4, 0.15), CAROM_DYNAMIC);
	int failed = 0;
	for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS; failed++) {
		heap.fail_at = heap.calls + failed;
		result = carom_world_step(world);
		heap.fail_at = -1;
		const carom_body_pair_view view = carom_world_body_pairs(world);
		CHECK(result == CAROM_SUCCESS ? view.count > 100 : view.count == 1);
		CHECK_INT(view.data[0].user_data, 99);
		CHECK_INT(view.data[0].age, result == CAROM_SUCCESS);
	}
	CHECK(failed > 3);
	carom_destroy_world(world);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
