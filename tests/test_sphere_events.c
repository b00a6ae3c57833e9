/// Pairs of granular bodies: contacts, ages and sensors against bodies of one sphere each, events against a dull difference of sets,
/// the contact filter, data of pairs, recordings, snapshots, threads, failed allocations.
#include "fixture.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAINS = 60, MORE = 25, ALL = GRAINS + MORE, TARGETS = 6, MOST_PAIRS = 64 };

// ---- A world of grains, and one with a body for each grain ----

/// Two granular bodies about bodies of other kinds, of which two are sensors.
typedef struct play {
	carom_context *context;
	carom_mesh *torus, *sheet;
	carom_world *grains, *balls;
	bool grains_last; // they have the highest numbers
	carom_body_id heaps[2], targets[TARGETS];
	carom_body_id ball[ALL], ball_targets[TARGETS];
	double spheres[4 * ALL]; // of the first heap, then of the second
} play;

static void scatter(play *p, uint64_t *seed)
{
	for (int i = 0; i < ALL; i++) {
		for (int k = 0; k < 3; k++)
			p->spheres[4 * i + k] = test_random_double(seed, -1.4, 1.4);
		p->spheres[4 * i + 3] = test_random_double(seed, 0.05, i % 7 == 0 ? 0.5 : 0.2);
	}
}

static void add_heaps(play *p)
{
	for (int i = 0; i < 2; i++) {
		const double *first = p->spheres + (i == 0 ? 0 : 4 * GRAINS);
		carom_body_def def = carom_default_body_def();
		def.kind = CAROM_GRANULAR;
		def.sphere_count = i == 0 ? GRAINS : MORE;
		def.centres = fixture_centres(first);
		def.radii = fixture_radii(first);
		def.user_data = 50 + (uint64_t)i;
		REQUIRE(carom_world_add_body(p->grains, &def, &p->heaps[i]) == CAROM_SUCCESS);
	}
	for (int i = 0; i < ALL; i++) {
		carom_body_def ball = carom_default_body_def();
		ball.shape = fixture_sphere(p->spheres[4 * i + 3]);
		ball.pose = fixture_at(p->spheres[4 * i], p->spheres[4 * i + 1], p->spheres[4 * i + 2]);
		ball.group = -1; // not each other
		ball.user_data = i < GRAINS ? 50 : 51;
		REQUIRE(carom_world_add_body(p->balls, &ball, &p->ball[i]) == CAROM_SUCCESS);
	}
}

static void add_targets(const play *p, carom_world *world, carom_body_id ids[TARGETS])
{
	const carom_part parts[2] = { { fixture_of_mesh(p->torus), fixture_at(0, 0, 0.9), 0 },
		{ fixture_sphere(0.4), fixture_at(-0.5, 0, 0.5), 0 } };
	carom_shape shapes[TARGETS] = { fixture_of_mesh(p->torus), fixture_box(0.5, 0.4, 0.3), fixture_of_mesh(p->sheet), { 0 },
		fixture_of_mesh(p->torus), fixture_capsule(0.2, 0.3) };
	for (int i = 0; i < TARGETS; i++) {
		carom_body_def def = carom_default_body_def();
		def.kind = i % 2 ? CAROM_KINEMATIC : CAROM_STATIC;
		def.user_data = 100 + (uint64_t)i;
		def.pose = fixture_at(0.3 * i - 0.8, 0.2 * (i % 3) - 0.2, 0.25 * i - 0.8);
		if (i == 3) {
			def.parts = parts;
			def.part_count = 2;
		} else {
			def.shape = shapes[i];
		}
		def.sensor = i >= 4;
		REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
	}
}

/// threads of the context; filter: of both worlds.
static void open_play(play *p, int threads, const carom_world_def *def, bool grains_last)
{
	uint64_t seed = 11;
	p->grains_last = grains_last;
	p->context = fixture_context(threads);
	p->torus = fixture_torus_mesh(p->context, 12, 8, 0.4, 0.1);
	p->sheet = fixture_sheet_mesh(p->context, 4, 1);
	p->grains = fixture_world(p->context, def);
	p->balls = fixture_world(p->context, def);
	p->balls->pipeline.keeps_covered = true; // the contacts of grains at seams of parts stay (docs/limits.md)
	scatter(p, &seed);
	if (!grains_last)
		add_heaps(p);
	add_targets(p, p->grains, p->targets);
	add_targets(p, p->balls, p->ball_targets);
	if (grains_last)
		add_heaps(p);
}

static void close_play(play *p)
{
	carom_destroy_world(p->grains);
	carom_destroy_world(p->balls);
	carom_release_mesh(p->torus);
	carom_release_mesh(p->sheet);
	carom_destroy_context(p->context);
}

static void put_heaps(play *p)
{
	for (int i = 0; i < 2; i++) {
		const carom_strided centres = fixture_centres(p->spheres + (i == 0 ? 0 : 4 * GRAINS));
		REQUIRE(carom_world_set_spheres(p->grains, p->heaps[i], i == 0 ? GRAINS : MORE, &centres, NULL) == CAROM_SUCCESS);
	}
	for (int i = 0; i < ALL; i++) {
		const carom_pose pose = fixture_at(p->spheres[4 * i], p->spheres[4 * i + 1], p->spheres[4 * i + 2]);
		REQUIRE(carom_world_set_pose(p->balls, p->ball[i], &pose) == CAROM_SUCCESS);
	}
}

/// Some tremble, some leap, in both worlds.
static void move(play *p, int step, uint64_t *seed)
{
	for (int i = 0; i < ALL; i++) {
		for (int k = 0; k < 3; k++) {
			double *x = &p->spheres[4 * i + k];
			*x = (i + step) % 5 == 0 ? test_random_double(seed, -1.4, 1.4) : *x + test_random_double(seed, -0.01, 0.01);
		}
	}
	put_heaps(p);
}

// ---- Contacts ----

static int32_t sphere_of(const play *p, const carom_sphere_contact *c)
{
	return c->sphere + (fixture_same_id(c->body_a, p->heaps[1]) ? GRAINS : 0);
}

static int target_of(const carom_body_id ids[TARGETS], carom_body_id id)
{
	int found = -1;
	for (int i = 0; i < TARGETS; i++)
		found = fixture_same_id(ids[i], id) ? i : found;
	return found;
}

/// Contacts of a grain are those of its body, with their ages. But a ball keeps a contact where it has rolled to, which a grain does
/// not: then the ball's is the older one.
static int check_contacts(const play *p)
{
	const carom_sphere_contact_view found = carom_world_sphere_contacts(p->grains);
	const carom_contact_view wanted = carom_world_contacts(p->balls);
	static bool used[4096];
	int kept = 0, older = 0;
	REQUIRE(wanted.count < 4096);
	memset(used, 0, sizeof used);
	CHECK_INT(found.count, wanted.count);
	for (int64_t i = 0; i < found.count; i++) {
		const carom_sphere_contact *c = &found.data[i];
		const carom_contact *match = NULL;
		for (int32_t k = 0; k < wanted.count && !match; k++) {
			const carom_contact *w = &wanted.data[k];
			const carom_body_id ball = p->grains_last ? w->body_b : w->body_a, other = p->grains_last ? w->body_a : w->body_b;
			const int32_t part = p->grains_last ? w->shape_a : w->shape_b;
			if (used[k] || !fixture_same_id(ball, p->ball[sphere_of(p, c)]) || part != c->shape_b ||
				target_of(p->ball_targets, other) != target_of(p->targets, c->body_b) ||
				fabs((double)w->depth - c->depth) > 1e-6)
				continue;
			used[k] = true;
			match = w;
		}
		if (!CHECK(match != NULL))
			continue;
		const double sign = p->grains_last ? -1 : 1;
		CHECK_NEAR(sign * (double)match->normal[2], c->normal.z, 1e-5);
		if (!p->grains_last) {
			older += match->age > c->age;
			CHECK(c->age <= match->age);
			CHECK(c->age < match->age || memcmp(c->impulse, match->impulse, sizeof c->impulse) == 0);
			CHECK((c->impulse[2] != 0) == (c->age > 0));
		}
		kept += c->age > 0;
		const float impulse[3] = { (float)i, (float)c->depth, 1 };
		REQUIRE(carom_world_set_sphere_impulse(p->grains, (int32_t)i, impulse) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_impulse(p->balls, (int32_t)(match - wanted.data), impulse) == CAROM_SUCCESS);
	}
	CHECK(10 * older <= kept + 10);
	return kept;
}

// ---- Pairs against a dull set ----

typedef struct dull_pair {
	carom_body_id a, b;
	int32_t shape_a, shape_b;
	int32_t contacts, group, age;
	uint64_t data;
} dull_pair;

typedef struct dull_set {
	dull_pair data[MOST_PAIRS];
	int count;
} dull_set;

static dull_pair *find(dull_set *set, carom_body_id a, carom_body_id b, int32_t shape_a, int32_t shape_b)
{
	for (int i = 0; i < set->count; i++) {
		dull_pair *d = &set->data[i];
		if (fixture_same_id(d->a, a) && fixture_same_id(d->b, b) && d->shape_a == shape_a && d->shape_b == shape_b)
			return d;
	}
	return NULL;
}

/// grains and a part of another body, in any order.
static dull_pair *note(dull_set *set, carom_body_id grains, carom_body_id other, int32_t part)
{
	const bool turned = other.index1 < grains.index1;
	const carom_body_id a = turned ? other : grains, b = turned ? grains : other;
	dull_pair *found = find(set, a, b, turned ? part : 0, turned ? 0 : part);
	if (found)
		return found;
	REQUIRE(set->count < MOST_PAIRS);
	set->data[set->count] =
		(dull_pair){ .a = a, .b = b, .shape_a = turned ? part : 0, .shape_b = turned ? 0 : part, .group = -1 };
	return &set->data[set->count++];
}

/// From the lists of contacts and groups, and of sensors from the pairs of the balls.
static int collect(const play *p, dull_set *set)
{
	const carom_sphere_contact_view contacts = carom_world_sphere_contacts(p->grains);
	const carom_sphere_pair_view spheres = carom_world_sphere_pairs(p->grains);
	const carom_pair_view pairs = carom_world_pairs(p->balls);
	int sensed = 0;
	set->count = 0;
	for (int64_t i = 0; i < contacts.count; i++)
		note(set, contacts.data[i].body_a, contacts.data[i].body_b, contacts.data[i].shape_b)->contacts++;
	for (int64_t i = 0; i < spheres.group_count; i++)
		note(set, spheres.groups[i].body_a, spheres.groups[i].body_b, 0)->group = (int32_t)i;
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_body_id ball = p->grains_last ? pairs.data[i].body_b : pairs.data[i].body_a;
		const int target = target_of(p->ball_targets, p->grains_last ? pairs.data[i].body_a : pairs.data[i].body_b);
		if (target < 4)
			continue;
		int number = 0;
		while (!fixture_same_id(p->ball[number], ball))
			number++;
		note(set, p->heaps[number >= GRAINS], p->targets[target], 0);
		sensed++;
	}
	return sensed;
}

/// The range of a pair holds contacts that name it, by sphere; its group too.
static void check_ranges(const carom_world *world, int32_t row)
{
	const carom_pair *pair = &carom_world_pairs(world).data[row];
	const carom_sphere_contact_view view = carom_world_sphere_contacts(world);
	REQUIRE(pair->first_sphere_contact >= 0 && pair->first_sphere_contact + pair->sphere_contact_count <= view.count);
	const int32_t *numbers = view.by_pair + pair->first_sphere_contact;
	for (int32_t i = 0; i < pair->sphere_contact_count; i++) {
		CHECK(i == 0 || numbers[i - 1] < numbers[i]);
		CHECK_INT(view.data[numbers[i]].pair, row);
	}
	if (pair->sphere_group >= 0)
		CHECK_INT(carom_world_sphere_pairs(world).groups[pair->sphere_group].pair, row);
}

static void check_pairs(const play *p, dull_set *now, dull_set *last)
{
	const carom_pair_view pairs = carom_world_pairs(p->grains);
	CHECK_INT(pairs.count, now->count);
	CHECK_INT(carom_world_stats(p->grains).granular_pairs, now->count);
	CHECK_INT(carom_world_stats(p->grains).colliding_pairs, 0);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i];
		dull_pair *dull = find(now, pair->body_a, pair->body_b, pair->shape_a, pair->shape_b);
		const dull_pair *before = find(last, pair->body_a, pair->body_b, pair->shape_a, pair->shape_b);
		if (!CHECK(dull != NULL))
			continue;
		dull->age = before ? before->age + 1 : 0;
		dull->data = before ? before->data : 0;
		CHECK_INT(pair->age, dull->age);
		CHECK(pair->user_data == dull->data);
		CHECK_INT(pair->contact_count, 0);
		CHECK_INT(pair->sphere_contact_count, dull->contacts);
		CHECK_INT(pair->sphere_group, dull->group);
		const bool turned = p->grains_last && dull->group < 0;
		CHECK((turned ? pair->user_data_b : pair->user_data_a) ==
				(fixture_same_id(dull->b, p->heaps[1]) && p->grains_last ? 51U
						: fixture_same_id(dull->a, p->heaps[1])          ? 51U
																		 : 50U) ||
			dull->group >= 0);
		check_ranges(p->grains, i);
		if (i % 3 == 0) {
			dull->data = 1000 + (uint64_t)i;
			REQUIRE(carom_world_set_pair_data(p->grains, i, dull->data) == CAROM_SUCCESS);
		}
	}
}

static void check_events(const play *p, dull_set *now, dull_set *last, int kinds[3])
{
	const carom_event_view events = carom_world_events(p->grains);
	int expected = now->count;
	for (int i = 0; i < last->count; i++)
		expected += !find(now, last->data[i].a, last->data[i].b, last->data[i].shape_a, last->data[i].shape_b);
	CHECK_INT(events.count, expected);
	for (int32_t i = 0; i < events.count; i++) {
		const carom_event *e = &events.data[i];
		const dull_pair *before = find(last, e->body_a, e->body_b, e->shape_a, e->shape_b);
		const bool there = find(now, e->body_a, e->body_b, e->shape_a, e->shape_b) != NULL;
		CHECK_INT(e->kind, !there ? CAROM_EVENT_END : before ? CAROM_EVENT_PERSIST : CAROM_EVENT_BEGIN);
		CHECK(e->pair_data == (before ? before->data : 0));
		kinds[e->kind]++;
	}
}

static void check_play(bool grains_last, double ahead)
{
	static play p;
	static dull_set sets[2];
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = ahead;
	uint64_t seed = 5;
	int kinds[3] = { 0 }, kept = 0, sensed = 0;
	open_play(&p, 2, &def, grains_last);
	sets[1].count = 0;
	for (int step = 0; step < 24 / TEST_FEWER; step++) {
		dull_set *now = &sets[step % 2], *last = &sets[1 - step % 2];
		if (step % 6 == 4) { // far away: all pairs but those of the heaps end
			for (int i = 0; i < ALL; i++)
				p.spheres[4 * i] += 20;
			put_heaps(&p);
		} else if (step % 6 == 5) {
			for (int i = 0; i < ALL; i++)
				p.spheres[4 * i] -= 20;
			put_heaps(&p);
		} else if (step % 6 != 3) { // else all stays
			move(&p, step, &seed);
		}
		fixture_step(p.grains);
		fixture_step(p.balls);
		fixture_check_views(p.grains);
		kept += check_contacts(&p);
		sensed += collect(&p, now);
		check_pairs(&p, now, last);
		check_events(&p, now, last, kinds);
	}
	CHECK(kept > 50 && sensed > 5);
	CHECK(kinds[CAROM_EVENT_BEGIN] > 8 && kinds[CAROM_EVENT_PERSIST] > 20 && kinds[CAROM_EVENT_END] > 5);
	close_play(&p);
}

TEST(sphere_events, are_the_difference_of_the_sets_of_pairs) { check_play(false, 0); }

TEST(sphere_events, do_not_ask_who_has_the_lower_number) { check_play(true, 0); }

TEST(sphere_events, count_contacts_ahead) { check_play(false, 0.03); }

// ---- Ages ----

static carom_body_id add_one(carom_world *world, double x, double z, double radius)
{
	const double sphere[4] = { x, 0, z, radius };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = 1;
	def.centres = fixture_centres(sphere);
	def.radii = fixture_radii(sphere);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

/// A small sphere leaves one wall of a slot of a mesh and touches the other one: a new contact. So
/// it is where it comes to the back of its own triangle.
TEST(sphere_events, the_other_wall_of_a_slot_is_another_contact)
{
	static const double radii[3] = { 1e-3, 0.02, 0.5 };
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 3; i++) {
		const double r = radii[i];
		const float h = (float)(1.025 * r), s = (float)(10 * r);
		const float corners[24] = { -h, -s, -s, -h, s, -s, -h, s, s, -h, -s, s, h, -s, -s, h, s, -s, h, s, s, h, -s, s };
		const int32_t triangles[12] = { 0, 1, 2, 0, 2, 3, 4, 6, 5, 4, 7, 6 };
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
		def.vertex_count = 8;
		def.triangles = triangles;
		def.triangle_count = 4;
		def.sides = CAROM_SIDES_BOTH;
		carom_mesh *slot;
		REQUIRE(carom_create_mesh(context, &def, NULL, &slot) == CAROM_SUCCESS);
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, fixture_of_mesh(slot), carom_pose_identity(), CAROM_STATIC);
		const carom_body_id ball = add_one(world, -0.03 * r, 0.001 * r, r);
		static const struct {
			double x; // in radii
			int32_t age;
		} steps[] = { { -0.03, 0 }, { -0.04, 1 }, { 0.03, 0 }, { 0.04, 1 }, { 1.9, 0 }, { 0.15, 0 }, { 0.15, 1 } };
		for (int k = 0; k < 7; k++) {
			const double at[4] = { steps[k].x * r, 0, 0.001 * r, r };
			const carom_strided centres = fixture_centres(at);
			REQUIRE(carom_world_set_spheres(world, ball, 1, &centres, NULL) == CAROM_SUCCESS);
			fixture_step(world);
			REQUIRE(carom_world_sphere_contacts(world).count == 1);
			CHECK_INT(carom_world_sphere_contacts(world).data->age, steps[k].age);
		}
		carom_destroy_world(world);
		carom_release_mesh(slot);
	}
	carom_destroy_context(context);
}

/// A ball rolls over the triangles of a sheet: its contact goes on. It leaps to the other side: another one.
TEST(sphere_events, ages_go_on_over_triangles_and_end_with_contacts)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 8, 4);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id floor = fixture_add(world, fixture_of_mesh(sheet), carom_pose_identity(), CAROM_KINEMATIC);
	const carom_body_id ball = add_one(world, -1.5, 0.45, 0.5);
	int triangles = 0;
	int32_t last = -1;
	for (int step = 0; step < 20; step++) {
		const double at[4] = { -1.5 + 0.15 * (step % 15), 0.03, step < 15 ? 0.45 : -0.45, 0.5 };
		const carom_strided centres = fixture_centres(at);
		REQUIRE(carom_world_set_spheres(world, ball, 1, &centres, NULL) == CAROM_SUCCESS);
		fixture_step(world);
		REQUIRE(carom_world_sphere_contacts(world).count == 1);
		const carom_sphere_contact *c = carom_world_sphere_contacts(world).data;
		triangles += c->triangle != last;
		last = c->triangle;
		CHECK_INT(c->age, step % 15);
		CHECK_INT(carom_world_pairs(world).data[0].age, step);
	}
	CHECK(triangles > 5);
	// Another shape in the same place: places still mean something, triangles do not.
	const carom_shape box = fixture_box(2, 2, 0.001);
	REQUIRE(carom_world_set_shape(world, floor, &box) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_sphere_contacts(world).data[0].age, 5);
	// The body is gone, and another one has its number.
	REQUIRE(carom_world_remove_body(world, floor) == CAROM_SUCCESS);
	fixture_add(world, box, carom_pose_identity(), CAROM_KINEMATIC);
	fixture_step(world);
	CHECK_INT(carom_world_sphere_contacts(world).data[0].age, 0);
	REQUIRE(carom_world_events(world).count == 2);
	CHECK_INT(
		carom_world_events(world).data[0].kind + carom_world_events(world).data[1].kind, CAROM_EVENT_BEGIN + CAROM_EVENT_END);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// ---- The contact filter ----

/// Drops what a platform of one way lets through: from below, and of some places.
static bool one_way(const carom_contact *c, uint64_t data_a, uint64_t data_b, void *user)
{
	const bool grain_is_a = data_a < 100;
	CHECK(grain_is_a != (data_b < 100));
	CHECK_INT(c->age, 0);
	CHECK(c->body_a.index1 < c->body_b.index1 && c->pair >= 0);
	// A's deepest point, less the depth along the normal, is on B.
	CHECK(fabs((double)c->normal[0]) <= 1.0001);
	(void)user;
	const double up = (grain_is_a ? 1 : -1) * (double)c->normal[2];
	const double x = c->point[0] + (grain_is_a ? (double)c->depth * (double)c->normal[0] : 0); // of the other's surface
	return up > -0.3 && fmod(fabs(x), 0.5) < 0.35;
}

static void check_filter(bool grains_last)
{
	static play p;
	carom_world_def def = carom_default_world_def();
	def.contact_filter = one_way;
	def.max_contacts_per_pair = 2;
	uint64_t seed = 8;
	open_play(&p, 2, &def, grains_last);
	fixture_tape tape = { 0 };
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(p.grains, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_record(p.grains, fixture_write_tape, &tape) == CAROM_SUCCESS);
	int64_t contacts = 0;
	for (int step = 0; step < 5; step++) {
		move(&p, step, &seed);
		fixture_step(p.grains);
		fixture_step(p.balls);
		check_contacts(&p);
		contacts += carom_world_sphere_contacts(p.grains).count;
		for (int32_t i = 0; i < carom_world_pairs(p.grains).count; i++)
			check_ranges(p.grains, i);
	}
	CHECK(contacts > 40);
	REQUIRE(carom_world_record(p.grains, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(p.context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 5);
	CHECK_INT(result.first_difference, -1);
	carom_destroy_snapshot(snapshot);
	free(tape.bytes);
	close_play(&p);
}

TEST(sphere_events, the_contact_filter_is_asked_as_about_a_body_for_each_sphere)
{
	check_filter(false);
	check_filter(true);
}

static bool refuse_all(const carom_contact *c, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)c, (void)data_a, (void)data_b, (void)user;
	return false;
}

TEST(sphere_events, a_pair_without_contacts_left_is_none)
{
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	def.contact_filter = refuse_all;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_box(1, 1, 1), carom_pose_identity(), CAROM_STATIC);
	add_one(world, 0, 1.4, 0.5);
	fixture_step(world);
	CHECK_INT(carom_world_sphere_contacts(world).count, 0);
	CHECK_INT(carom_world_pairs(world).count, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Memory, threads, time ----

/// All that a step tells of grains, in one number.
static uint64_t digest(const carom_world *world)
{
	uint64_t sum = carom_world_hash(world);
	const carom_sphere_contact_view view = carom_world_sphere_contacts(world);
	for (int64_t i = 0; i < view.count; i++)
		sum = sum * 31 + (uint64_t)(view.by_pair[i] + 7 * view.data[i].age + 1000 * view.data[i].pair);
	for (int32_t i = 0; i < carom_world_pairs(world).count; i++) {
		const carom_pair *p = &carom_world_pairs(world).data[i];
		sum = sum * 31 + (uint64_t)p->age + 100 * p->user_data;
	}
	return sum;
}

TEST(sphere_events, are_told_alike_by_any_number_of_threads)
{
	static play p;
	uint64_t wanted = 0;
	for (int threads = 1; threads <= 3; threads++) {
		uint64_t seed = 3, sum = 0;
		open_play(&p, threads, NULL, false);
		for (int step = 0; step < 4; step++) {
			move(&p, step, &seed);
			fixture_step(p.grains);
			sum = sum * 17 + digest(p.grains);
		}
		wanted = threads == 1 ? sum : wanted;
		CHECK(sum == wanted);
		close_play(&p);
	}
}

TEST(sphere_events, come_back_with_snapshots_and_their_bytes)
{
	static play p;
	uint64_t seed = 3, wanted = 0;
	open_play(&p, 1, NULL, false);
	carom_snapshot *snapshots[2];
	for (int i = 0; i < 2; i++)
		REQUIRE(carom_create_snapshot(p.grains, &snapshots[i]) == CAROM_SUCCESS);
	for (int step = 0; step < 3; step++) {
		move(&p, step, &seed);
		fixture_step(p.grains);
		for (int32_t i = 0; i < carom_world_pairs(p.grains).count; i++)
			REQUIRE(carom_world_set_pair_data(p.grains, i, (uint64_t)i + 1) == CAROM_SUCCESS);
	}
	REQUIRE(carom_world_save(p.grains, snapshots[0]) == CAROM_SUCCESS);
	const uint64_t before = digest(p.grains);
	double kept[4 * ALL];
	memcpy(kept, p.spheres, sizeof kept);
	for (int turn = 0; turn < 2; turn++) {
		uint64_t same_seed = 21;
		memcpy(p.spheres, kept, sizeof kept);
		move(&p, 1, &same_seed);
		fixture_step(p.grains);
		wanted = turn == 0 ? digest(p.grains) : wanted;
		CHECK(digest(p.grains) == wanted);
		REQUIRE(carom_world_restore(p.grains, snapshots[0]) == CAROM_SUCCESS);
		CHECK(digest(p.grains) == before);
		for (int32_t i = 0; i < carom_world_pairs(p.grains).count; i++)
			check_ranges(p.grains, i);
	}
	REQUIRE(carom_world_save(p.grains, snapshots[1]) == CAROM_SUCCESS);
	CHECK(!carom_snapshots_differ(snapshots[0], snapshots[1], NULL));
	for (int i = 0; i < 2; i++)
		carom_destroy_snapshot(snapshots[i]);
	close_play(&p);
}

/// Grains among bodies and sensors. user: a mesh.
static void fill(carom_world *world, void *user)
{
	static play p;
	uint64_t seed = 4;
	p.torus = p.sheet = user;
	p.grains = world;
	p.balls = fixture_world(carom_world_context(world), NULL);
	scatter(&p, &seed);
	add_heaps(&p);
	add_targets(&p, world, p.targets);
	carom_destroy_world(p.balls);
}

TEST(sphere_events, fail_without_memory_and_go_on)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 2);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 8, 0.35, 0);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, fill, mesh, 15) > 10);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
