/// Events: what begins, persists and ends, in every order of moving, removing and adding.
#include "fixture.h"

/// A world of spheres.
typedef struct play {
	carom_context *context;
	carom_world *world;
} play;

static void open_play(play *p, const carom_world_def *def)
{
	p->context = fixture_context(1);
	p->world = fixture_world(p->context, def);
}

static void close_play(play *p)
{
	carom_destroy_world(p->world);
	carom_destroy_context(p->context);
}

static carom_body_id add_sphere(play *p, double x, bool sensor, uint64_t user_data)
{
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(0.5);
	def.pose = fixture_at(x, 0, 0);
	def.sensor = sensor;
	def.user_data = user_data;
	carom_body_id id;
	REQUIRE(carom_world_add_body(p->world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static void move(play *p, carom_body_id id, double x)
{
	const carom_pose pose = fixture_at(x, 0, 0);
	REQUIRE(carom_world_set_pose(p->world, id, &pose) == CAROM_SUCCESS);
}

static void step(play *p)
{
	fixture_step(p->world);
	fixture_check_views(p->world);
}

/// The i-th event is of this kind, between these bodies.
static void check_event(const play *p, int32_t i, carom_event_kind kind, carom_body_id a, carom_body_id b)
{
	const carom_event_view events = carom_world_events(p->world);
	REQUIRE(i < events.count);
	CHECK_INT(events.data[i].kind, kind);
	CHECK(fixture_same_id(events.data[i].body_a, a));
	CHECK(fixture_same_id(events.data[i].body_b, b));
}

TEST(events, an_end_tells_user_data_as_set_last)
{
	play p;
	open_play(&p, NULL);
	REQUIRE(carom_world_set_body_pairs(p.world, true, 0) == CAROM_SUCCESS);
	const carom_body_id a = add_sphere(&p, 0, false, 11), b = add_sphere(&p, 0.9, false, 22),
						c = add_sphere(&p, -0.9, false, 33);
	step(&p);
	REQUIRE(carom_world_set_user_data(p.world, a, 44) == CAROM_SUCCESS);
	move(&p, b, 3);
	REQUIRE(carom_world_remove_body(p.world, c) == CAROM_SUCCESS);
	step(&p);
	check_event(&p, 0, CAROM_EVENT_END, a, b);
	check_event(&p, 1, CAROM_EVENT_END, a, c);
	const carom_body_event_view of_bodies = carom_world_body_events(p.world);
	REQUIRE(of_bodies.count == 2);
	for (int i = 0; i < 2; i++) {
		const carom_event *event = &carom_world_events(p.world).data[i];
		CHECK_INT(event->user_data_a, 44);
		CHECK_INT(event->user_data_b, i == 0 ? 22 : 33);
		CHECK_INT(of_bodies.data[i].user_data_a, 44);
		CHECK_INT(of_bodies.data[i].user_data_b, i == 0 ? 22 : 33);
	}
	close_play(&p);
}

TEST(events, begin_persist_end)
{
	play p;
	open_play(&p, NULL);
	const carom_body_id a = add_sphere(&p, 0, false, 11), b = add_sphere(&p, 3, false, 22);
	CHECK_INT(carom_world_events(p.world).count, 0);
	step(&p);
	CHECK_INT(carom_world_events(p.world).count, 0);
	move(&p, b, 0.9);
	for (int i = 0; i < 4; i++) {
		step(&p);
		CHECK_INT(carom_world_events(p.world).count, 1);
		check_event(&p, 0, i == 0 ? CAROM_EVENT_BEGIN : CAROM_EVENT_PERSIST, a, b);
		CHECK_INT(carom_world_pairs(p.world).data[0].age, i);
		CHECK_INT(carom_world_events(p.world).data[0].user_data_a, 11);
		CHECK_INT(carom_world_events(p.world).data[0].user_data_b, 22);
	}
	move(&p, b, 3);
	step(&p);
	CHECK_INT(carom_world_events(p.world).count, 1);
	check_event(&p, 0, CAROM_EVENT_END, a, b);
	CHECK_INT(carom_world_events(p.world).data[0].user_data_b, 22);
	step(&p);
	CHECK_INT(carom_world_events(p.world).count, 0);
	move(&p, b, 0.9);
	step(&p);
	check_event(&p, 0, CAROM_EVENT_BEGIN, a, b);
	CHECK_INT(carom_world_pairs(p.world).data[0].age, 0);
	close_play(&p);
}

TEST(events, removal_ends_the_pair_of_the_removed_id)
{
	play p;
	open_play(&p, NULL);
	const carom_body_id a = add_sphere(&p, 0, false, 1), b = add_sphere(&p, 0.9, false, 2);
	step(&p);
	REQUIRE(carom_world_remove_body(p.world, a) == CAROM_SUCCESS);
	CHECK_INT(carom_world_body_count(p.world), 1);
	step(&p);
	CHECK_INT(carom_world_events(p.world).count, 1);
	check_event(&p, 0, CAROM_EVENT_END, a, b);
	CHECK_INT(carom_world_events(p.world).data[0].user_data_a, 1);
	CHECK_INT(carom_world_pairs(p.world).count, 0);
	REQUIRE(carom_world_remove_body(p.world, b) == CAROM_SUCCESS);
	step(&p);
	CHECK_INT(carom_world_events(p.world).count, 0);
	close_play(&p);
}

TEST(events, an_index_used_again_in_the_same_step)
{
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		play p;
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, broad);
		open_play(&p, &def);
		const carom_body_id a = add_sphere(&p, 0, false, 1), b = add_sphere(&p, 0.9, false, 2);
		step(&p);
		REQUIRE(carom_world_remove_body(p.world, a) == CAROM_SUCCESS);
		const carom_body_id c = add_sphere(&p, 0, false, 3);
		CHECK_INT(c.index1, a.index1);
		CHECK(c.generation != a.generation);
		step(&p);
		CHECK_INT(carom_world_events(p.world).count, 2);
		check_event(&p, 0, CAROM_EVENT_END, a, b);
		check_event(&p, 1, CAROM_EVENT_BEGIN, c, b);
		CHECK_INT(carom_world_events(p.world).data[0].user_data_a, 1);
		CHECK_INT(carom_world_events(p.world).data[1].user_data_a, 3);
		CHECK_INT(carom_world_contacts(p.world).data[0].age, 0);
		step(&p);
		CHECK_INT(carom_world_events(p.world).count, 1);
		check_event(&p, 0, CAROM_EVENT_PERSIST, c, b);
		// Both at once, elsewhere: nothing persists.
		REQUIRE(carom_world_remove_body(p.world, c) == CAROM_SUCCESS);
		REQUIRE(carom_world_remove_body(p.world, b) == CAROM_SUCCESS);
		const carom_body_id d = add_sphere(&p, 50, false, 4), e = add_sphere(&p, 50.9, false, 5);
		step(&p);
		CHECK_INT(carom_world_events(p.world).count, 2);
		check_event(&p, 0, CAROM_EVENT_END, c, b);
		check_event(&p, 1, CAROM_EVENT_BEGIN, d.index1 < e.index1 ? d : e, d.index1 < e.index1 ? e : d);
		close_play(&p);
	}
}

TEST(events, a_body_that_came_and_went_between_steps_leaves_none)
{
	play p;
	open_play(&p, NULL);
	add_sphere(&p, 0, false, 1);
	step(&p);
	const carom_body_id b = add_sphere(&p, 0.9, false, 2);
	REQUIRE(carom_world_remove_body(p.world, b) == CAROM_SUCCESS);
	step(&p);
	CHECK_INT(carom_world_events(p.world).count, 0);
	close_play(&p);
}

TEST(events, sensors_have_pairs_but_no_contacts)
{
	play p;
	open_play(&p, NULL);
	const carom_body_id a = add_sphere(&p, 0, true, 0), b = add_sphere(&p, 0.9, false, 0), c = add_sphere(&p, 1.8, false, 0);
	step(&p);
	CHECK_INT(carom_world_events(p.world).count, 2);
	check_event(&p, 0, CAROM_EVENT_BEGIN, a, b);
	check_event(&p, 1, CAROM_EVENT_BEGIN, b, c);
	const carom_pair_view pairs = carom_world_pairs(p.world);
	CHECK_INT(pairs.data[0].contact_count, 0);
	CHECK_INT(pairs.data[1].contact_count, 1);
	CHECK_INT(carom_world_contacts(p.world).count, 1);
	CHECK_INT(carom_world_stats(p.world).colliding_pairs, 2);
	step(&p);
	check_event(&p, 0, CAROM_EVENT_PERSIST, a, b);
	CHECK_INT(carom_world_pairs(p.world).data[0].age, 1);
	move(&p, a, -5);
	step(&p);
	check_event(&p, 0, CAROM_EVENT_END, a, b);
	check_event(&p, 1, CAROM_EVENT_PERSIST, b, c);
	close_play(&p);
}

/// A pair of a sensor means overlap, however far contacts are looked for ahead.
TEST(events, sensors_do_not_see_ahead)
{
	play p;
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = 0.2;
	open_play(&p, &def);
	add_sphere(&p, 0, true, 0);
	const carom_body_id b = add_sphere(&p, 1.1, false, 0);
	step(&p);
	CHECK_INT(carom_world_pairs(p.world).count, 0);
	const carom_pose across = fixture_at(0.78, 0.78, 0); // boxes overlap, spheres are 0.103 apart
	REQUIRE(carom_world_set_pose(p.world, b, &across) == CAROM_SUCCESS);
	step(&p);
	CHECK_INT(carom_world_pairs(p.world).count, 0);
	CHECK_INT(carom_world_events(p.world).count, 0);
	move(&p, b, 0.9);
	step(&p);
	CHECK_INT(carom_world_pairs(p.world).count, 1);
	close_play(&p);
}

TEST(events, filters_end_pairs)
{
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		play p;
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, broad);
		open_play(&p, &def);
		const carom_body_id a = add_sphere(&p, 0, false, 0), b = add_sphere(&p, 0.9, false, 0);
		step(&p);
		REQUIRE(carom_world_set_filter(p.world, a, 1, 2, 0) == CAROM_SUCCESS); // nobody moves
		step(&p);
		CHECK_INT(carom_world_events(p.world).count, 1);
		check_event(&p, 0, CAROM_EVENT_END, a, b);
		REQUIRE(carom_world_set_filter(p.world, a, 1, 1, 0) == CAROM_SUCCESS);
		step(&p);
		check_event(&p, 0, CAROM_EVENT_BEGIN, a, b);
		close_play(&p);
	}
}

/// Against a dull count: random bodies come, go and move; the set of pairs of each step is compared with that of the last.
TEST(events, random_lives)
{
	enum { SLOTS = 24, STEPS = 60 };
	play p;
	open_play(&p, NULL);
	carom_body_id ids[SLOTS];
	double at[SLOTS];
	static bool touching[SLOTS][SLOTS], before[SLOTS][SLOTS];
	uint64_t seed = 5;
	for (int i = 0; i < SLOTS; i++)
		ids[i] = add_sphere(&p, at[i] = test_random_double(&seed, 0, 12), false, (uint64_t)i);
	for (int n = 0; n < STEPS; n++) {
		int born = 0, kept = 0, gone = 0, counts[3] = { 0 };
		for (int i = 0; i < SLOTS; i++) {
			const bool renew = test_random(&seed) % 8 == 0;
			at[i] = renew || test_random(&seed) % 3 == 0 ? test_random_double(&seed, 0, 12) : at[i];
			if (renew) {
				REQUIRE(carom_world_remove_body(p.world, ids[i]) == CAROM_SUCCESS);
				ids[i] = add_sphere(&p, at[i], false, (uint64_t)i);
				for (int k = 0; k < SLOTS; k++) {
					gone += n > 0 && (before[i][k] || before[k][i]);
					before[i][k] = before[k][i] = false;
				}
			} else {
				move(&p, ids[i], at[i]);
			}
		}
		step(&p);
		for (int i = 0; i < SLOTS; i++) {
			for (int k = i + 1; k < SLOTS; k++) {
				const double gap = at[i] - at[k];
				touching[i][k] = gap * gap <= 1;
				born += touching[i][k] && !before[i][k];
				kept += touching[i][k] && before[i][k];
				gone += !touching[i][k] && before[i][k];
				before[i][k] = touching[i][k];
			}
		}
		const carom_event_view events = carom_world_events(p.world);
		for (int32_t i = 0; i < events.count; i++)
			counts[events.data[i].kind]++;
		CHECK_INT(counts[CAROM_EVENT_BEGIN], born);
		CHECK_INT(counts[CAROM_EVENT_PERSIST], kept);
		CHECK_INT(counts[CAROM_EVENT_END], gone);
	}
	close_play(&p);
}
