/// Contacts of consecutive steps: what carries age and impulse over, and what must not.
#include "fixture.h"
#include "frame/match.h"
#include <math.h>

enum { MOST = 256 };

/// A hand-made set of contacts.
typedef struct hand {
	carom_contact contacts[MOST];
	cr_local_point local[MOST];
	int32_t count;
} hand;

static void put(hand *h, carom_contact_kind kind, int32_t feature_a, int32_t feature_b, double x, int32_t age, float impulse)
{
	h->contacts[h->count] = (carom_contact){ .kind = kind, .feature_a = feature_a, .feature_b = feature_b, .age = age };
	h->contacts[h->count].impulse[0] = impulse;
	h->local[h->count++] = (cr_local_point){ { (float)x, 0, 0 } };
}

static void match(hand *then, hand *now, double distance)
{
	uint8_t used[MOST];
	const cr_contact_set a = { then->contacts, then->local, then->count }, b = { now->contacts, now->local, now->count };
	cr_match_contacts(&a, &b, distance, used);
}

TEST(match, equal_features_carry_age_and_impulse)
{
	static hand then, now;
	then = now = (hand){ 0 };
	put(&then, CAROM_VERTEX_A, 3, 8, 0, 4, 1.5f);
	put(&then, CAROM_VERTEX_B, 3, 8, 9, 6, 2.5f);
	put(&now, CAROM_VERTEX_A, 3, 8, 100, 0, 0); // far away: features count
	put(&now, CAROM_VERTEX_B, 3, 9, 50, 0, 0);
	match(&then, &now, 0.1);
	CHECK_INT(now.contacts[0].age, 5);
	CHECK_NEAR(now.contacts[0].impulse[0], 1.5, 0);
	CHECK_INT(now.contacts[1].age, 0);
	CHECK_NEAR(now.contacts[1].impulse[0], 0, 0);
}

TEST(match, age_stops_at_its_limit)
{
	static hand then, now;
	then = now = (hand){ 0 };
	put(&then, CAROM_FACES, 0, 0, 0, INT32_MAX, 0);
	put(&now, CAROM_FACES, 0, 0, 0, 0, 0);
	match(&then, &now, 0);
	CHECK_INT(now.contacts[0].age, INT32_MAX);
}

TEST(match, the_same_vertex_may_lie_over_another_triangle)
{
	static hand then, now;
	then = now = (hand){ 0 };
	put(&then, CAROM_VERTEX_A, 3, 8, 0, 4, 1);
	put(&then, CAROM_VERTEX_B, 7, 2, 0, 5, 2);
	put(&now, CAROM_VERTEX_A, 3, 9, 100, 0, 0);
	put(&now, CAROM_VERTEX_B, 8, 2, 100, 0, 0);
	match(&then, &now, 0.1);
	CHECK_INT(now.contacts[0].age, 5);
	CHECK_INT(now.contacts[1].age, 6);
	CHECK_NEAR(now.contacts[1].impulse[0], 2, 0);
}

TEST(match, the_vertex_of_one_body_is_not_that_of_the_other)
{
	static hand then, now;
	then = now = (hand){ 0 };
	put(&then, CAROM_VERTEX_A, 3, 8, 0, 4, 1);
	put(&now, CAROM_VERTEX_A, 4, 8, 100, 0, 0); // the same triangle of B, another vertex
	put(&now, CAROM_VERTEX_B, 3, 8, 100, 0, 0);
	match(&then, &now, 0.1);
	CHECK_INT(now.contacts[0].age, 0);
	CHECK_INT(now.contacts[1].age, 0);
}

TEST(match, a_vertex_comes_before_a_nearby_point)
{
	static hand then, now;
	then = now = (hand){ 0 };
	// Vertex 5 slid from triangle 1 to 2; vertex 3 is new, and lies where vertex 5 was.
	put(&then, CAROM_VERTEX_A, 5, 1, 0, 7, 3);
	put(&now, CAROM_VERTEX_A, 3, 9, 0.001, 0, 0);
	put(&now, CAROM_VERTEX_A, 5, 2, 0.05, 0, 0);
	match(&then, &now, 0.1);
	CHECK_INT(now.contacts[0].age, 0);
	CHECK_INT(now.contacts[1].age, 8);
	CHECK_NEAR(now.contacts[1].impulse[0], 3, 0);
}

TEST(match, the_nearest_within_the_distance)
{
	static hand then, now;
	then = now = (hand){ 0 };
	put(&then, CAROM_EDGE_A, 1, 1, 0.00, 1, 1);
	put(&then, CAROM_EDGE_A, 2, 1, 0.05, 2, 2);
	put(&then, CAROM_EDGE_A, 3, 1, 0.50, 3, 3);
	put(&now, CAROM_EDGE_A, 10, 1, 0.04, 0, 0);
	put(&now, CAROM_EDGE_B, 11, 1, 0.39, 0, 0); // 0.11 from its nearest
	match(&then, &now, 0.1);
	CHECK_INT(now.contacts[0].age, 3);
	CHECK_NEAR(now.contacts[0].impulse[0], 2, 0);
	CHECK_INT(now.contacts[1].age, 0);
}

TEST(match, each_old_contact_serves_once)
{
	static hand then, now;
	then = now = (hand){ 0 };
	put(&then, CAROM_VOLUMES, 0, 0, 0, 9, 4);
	for (int i = 0; i < 3; i++)
		put(&now, CAROM_VOLUMES, i + 1, 0, 0.01 * i, 0, 0);
	match(&then, &now, 0.1);
	int matched = 0;
	for (int i = 0; i < 3; i++)
		matched += now.contacts[i].age > 0;
	CHECK_INT(matched, 1);
}

TEST(match, empty_sets)
{
	static hand then, now;
	then = now = (hand){ 0 };
	match(&then, &now, 0.1);
	put(&now, CAROM_FACES, 0, 0, 0, 0, 0);
	match(&then, &now, 0.1);
	CHECK_INT(now.contacts[0].age, 0);
	now.count = 0;
	put(&then, CAROM_FACES, 0, 0, 0, 3, 0);
	match(&then, &now, 0.1);
}

/// A large patch: the search by distance may be given up, features never.
TEST(match, features_count_in_large_patches)
{
	static hand then, now;
	then = now = (hand){ 0 };
	for (int i = 0; i < 200; i++)
		put(&then, CAROM_VERTEX_A, i, 1, i, 1, (float)i);
	for (int i = 0; i < 200; i++)
		put(&now, CAROM_VERTEX_A, i, i % 2, i, 0, 0); // every second on another triangle
	match(&then, &now, 0.01);
	int kept[2] = { 0, 0 };
	for (int i = 0; i < 200; i++)
		kept[i % 2] += now.contacts[i].age == 2 && now.contacts[i].impulse[0] == (float)i;
	CHECK_INT(kept[1], 100);
	CHECK_INT(kept[0], 100);
}

TEST(match, new_contacts_do_not_crowd_out_old_vertices)
{
	static hand then, now;
	then = now = (hand){ 0 };
	for (int i = 0; i < 10; i++)
		put(&then, CAROM_VERTEX_A, 100 + i, 1, 1000 + i, 1, 1);
	for (int i = 0; i < 90; i++)
		put(&now, CAROM_VERTEX_A, i, 1, i, 0, 0);
	for (int i = 0; i < 10; i++)
		put(&now, CAROM_VERTEX_A, 100 + i, 2, 1000 + i, 0, 0);
	match(&then, &now, 0.01);
	for (int i = 0; i < 90; i++)
		CHECK_INT(now.contacts[i].age, 0);
	int kept = 0;
	for (int i = 90; i < 100; i++)
		kept += now.contacts[i].age == 2;
	CHECK_INT(kept, 10);
}

// ---- In a world ----

/// A box mesh resting 0.01 deep in a larger one.
typedef struct stack {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh[2];
	carom_body_id lower, upper;
} stack;

static void open_stack(stack *s)
{
	s->context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	s->world = fixture_world(s->context, &def);
	s->mesh[0] = fixture_box_mesh(s->context, 2, 2, 0.5);
	s->mesh[1] = fixture_box_mesh(s->context, 0.5, 0.5, 0.5);
	s->lower = fixture_add(s->world, fixture_of_mesh(s->mesh[0]), fixture_at(0, 0, 0), CAROM_STATIC);
	s->upper = fixture_add(s->world, fixture_of_mesh(s->mesh[1]), fixture_at(0.1, 0.2, 0.99), CAROM_DYNAMIC);
}

static void close_stack(stack *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->mesh[0]);
	carom_release_mesh(s->mesh[1]);
	carom_destroy_context(s->context);
}

TEST(match, a_resting_body_keeps_its_impulses)
{
	stack s;
	open_stack(&s);
	fixture_step(s.world);
	const carom_contact_view first = carom_world_contacts(s.world);
	CHECK_INT(first.count, 4);
	for (int32_t i = 0; i < first.count; i++) {
		CHECK_INT(first.data[i].age, 0);
		CHECK_NEAR(first.data[i].impulse[2], 0, 0);
		REQUIRE(carom_world_set_impulse(s.world, i, (float[3]){ 0, 0, (float)first.data[i].feature_b + 1 }) == CAROM_SUCCESS);
	}
	for (int step = 1; step < 5; step++) {
		const carom_pose pose = fixture_at(0.1 + 0.01 * step, 0.2, 0.99);
		REQUIRE(carom_world_set_pose(s.world, s.upper, &pose) == CAROM_SUCCESS);
		fixture_step(s.world);
		const carom_contact_view now = carom_world_contacts(s.world);
		CHECK_INT(now.count, 4);
		for (int32_t i = 0; i < now.count; i++) {
			CHECK_INT(now.data[i].age, step);
			CHECK_NEAR(now.data[i].impulse[2], now.data[i].feature_b + 1, 0);
		}
	}
	close_stack(&s);
}

TEST(match, a_vertex_keeps_its_impulse_across_triangles)
{
	stack s;
	open_stack(&s);
	fixture_step(s.world);
	int32_t triangle[8];
	for (int32_t i = 0; i < 4; i++) {
		const carom_contact_view contacts = carom_world_contacts(s.world);
		const carom_contact *c = &contacts.data[i];
		REQUIRE(c->kind == CAROM_VERTEX_B && c->feature_b < 8);
		triangle[c->feature_b] = c->feature_a;
		REQUIRE(carom_world_set_impulse(s.world, i, (float[3]){ 0, 0, (float)c->feature_b + 1 }) == CAROM_SUCCESS);
	}
	const carom_pose pose = fixture_at(1, -1, 0.99);
	REQUIRE(carom_world_set_pose(s.world, s.upper, &pose) == CAROM_SUCCESS);
	fixture_step(s.world);
	int moved = 0;
	const carom_contact_view now = carom_world_contacts(s.world);
	CHECK_INT(now.count, 4);
	for (int32_t i = 0; i < now.count; i++) {
		moved += triangle[now.data[i].feature_b] != now.data[i].feature_a;
		CHECK_INT(now.data[i].age, 1);
		CHECK_NEAR(now.data[i].impulse[2], now.data[i].feature_b + 1, 0);
	}
	CHECK(moved > 0);
	close_stack(&s);
}

TEST(match, parting_forgets)
{
	stack s;
	open_stack(&s);
	fixture_step(s.world);
	REQUIRE(carom_world_set_impulse(s.world, 0, (float[3]){ 1, 2, 3 }) == CAROM_SUCCESS);
	const carom_pose away = fixture_at(0, 0, 5), back = fixture_at(0.1, 0.2, 0.99);
	REQUIRE(carom_world_set_pose(s.world, s.upper, &away) == CAROM_SUCCESS);
	fixture_step(s.world);
	CHECK_INT(carom_world_contacts(s.world).count, 0);
	REQUIRE(carom_world_set_pose(s.world, s.upper, &back) == CAROM_SUCCESS);
	fixture_step(s.world);
	CHECK_INT(carom_world_contacts(s.world).count, 4);
	CHECK_INT(carom_world_contacts(s.world).data[0].age, 0);
	CHECK_NEAR(carom_world_contacts(s.world).data[0].impulse[0], 0, 0);
	CHECK_INT(carom_world_pairs(s.world).data[0].age, 0);
	close_stack(&s);
}

TEST(match, a_new_body_with_an_old_index_inherits_nothing)
{
	stack s;
	open_stack(&s);
	fixture_step(s.world);
	REQUIRE(carom_world_set_impulse(s.world, 0, (float[3]){ 1, 2, 3 }) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(s.world, s.upper) == CAROM_SUCCESS);
	const carom_body_id again = fixture_add(s.world, fixture_of_mesh(s.mesh[1]), fixture_at(0.1, 0.2, 0.99), CAROM_DYNAMIC);
	CHECK_INT(again.index1, s.upper.index1);
	fixture_step(s.world);
	const carom_contact_view now = carom_world_contacts(s.world);
	CHECK_INT(now.count, 4);
	for (int32_t i = 0; i < now.count; i++) {
		CHECK_INT(now.data[i].age, 0);
		CHECK_NEAR(now.data[i].impulse[0], 0, 0);
	}
	close_stack(&s);
}

TEST(match, impulses_do_not_show_in_the_hash)
{
	stack s;
	open_stack(&s);
	fixture_step(s.world);
	const uint64_t hash = carom_world_hash(s.world);
	REQUIRE(carom_world_set_impulse(s.world, 0, (float[3]){ 1, 2, 3 }) == CAROM_SUCCESS);
	CHECK(carom_world_hash(s.world) == hash);
	close_stack(&s);
}
