/// Contacts of consecutive steps: what carries age and impulse over, and what must not.
#include "fixture.h"
#include "frame/match.h"
#include <math.h>
#include <string.h>

enum { MOST = 256 };
static const double FAR = 2;

/// A hand-made set of contacts, of a body that has turned by half a turn about z and moved since
/// the first of the two steps.
typedef struct hand {
	carom_contact contacts[MOST];
	double at[MOST]; // along x of the body
	int32_t count;
} hand;

static void put(hand *h, carom_contact_kind kind, int32_t feature_a, int32_t feature_b, double x, int32_t age, float impulse)
{
	h->contacts[h->count] = (carom_contact){ .kind = kind, .feature_a = feature_a, .feature_b = feature_b, .age = age };
	h->contacts[h->count].impulse[0] = impulse;
	h->at[h->count++] = x;
}

/// slid: how far body B has moved along x of A.
static void match_slid(hand *then, hand *now, double distance, double slid)
{
	static const carom_pose begin = { { 0, 0, 0 }, { 0, 0, 0, 1 } }, turned = { { 1000, 0, 0 }, { 0, 0, 1, 0 } };
	const carom_pose begin_b = { { 3, 2, 1 }, { 0, 1, 0, 0 } }, turned_b = { { 997 - slid, -2, 1 }, { 1, 0, 0, 0 } };
	static hand again;
	uint8_t used[MOST];
	cr_past_contact past[MOST];
	for (int32_t i = 0; i < then->count; i++) {
		then->contacts[i].point[0] = then->at[i];
		past[i] = cr_past_of(&then->contacts[i]);
	}
	for (int32_t i = 0; i < now->count; i++)
		now->contacts[i].point[0] = 1000 - now->at[i];
	again = *now;
	cr_match_contacts(&(cr_past_set){ past, then->count, &begin, &begin_b, false },
		&(cr_contact_set){ now->contacts, now->count, &turned, &turned_b }, distance, FAR, used);
	// Places that are local already mean the same.
	for (int32_t i = 0; i < then->count; i++)
		past[i].at.local = (cr_local_point){ { (float)then->at[i], 0, 0 } };
	cr_match_contacts(&(cr_past_set){ past, then->count, &begin, &begin_b, true },
		&(cr_contact_set){ again.contacts, again.count, &turned, &turned_b }, distance, FAR, used);
	CHECK(memcmp(again.contacts, now->contacts, (size_t)now->count * sizeof *now->contacts) == 0);
}

static void match(hand *then, hand *now, double distance) { match_slid(then, now, distance, 0); }

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

/// The normal of the last contact, along y of the world: the body of then is turned by half a turn
/// in now.
static void lean(hand *h, double x, double y)
{
	h->contacts[h->count - 1].normal[0] = (float)x;
	h->contacts[h->count - 1].normal[1] = (float)y;
}

TEST(match, opposite_normals_are_never_one_contact)
{
	static const carom_contact_kind kinds[3] = { CAROM_VERTEX_A, CAROM_VERTEX_B, CAROM_EDGE_A };
	for (int k = 0; k < 3; k++) {
		for (int like = 0; like < 4; like++) { // equal features; another one; a vertex of either
			static hand then, now;
			then = now = (hand){ 0 };
			put(&then, kinds[k], 3, 8, 0.01, 4, 1.5f);
			lean(&then, 0, 1);
			put(&now, kinds[k], like == 1 || like == 3 ? 4 : 3, like > 1 ? 9 : 8, 0.01, 0, 0);
			// Opposite in the world, but equal in the frame of A, which has turned.
			lean(&now, 0, -1);
			match(&then, &now, 0.1);
			CHECK_INT(now.contacts[0].age, 5);
			// The other side of A has come to lie where the first one was.
			now.contacts[0].age = 0;
			now.count = 1;
			lean(&now, 0, 1);
			match(&then, &now, 0.1);
			CHECK_INT(now.contacts[0].age, 5);
			// Opposite in both: across the axis of the turn.
			now.contacts[0].age = 0;
			then.contacts[0].normal[1] = now.contacts[0].normal[1] = 0;
			then.contacts[0].normal[2] = 1;
			now.contacts[0].normal[2] = -1;
			now.contacts[0].impulse[0] = 0;
			match(&then, &now, 0.1);
			CHECK_INT(now.contacts[0].age, 0);
			CHECK_NEAR(now.contacts[0].impulse[0], 0, 0);
		}
	}
}

TEST(match, the_contact_of_an_edge_goes_from_end_to_end)
{
	static hand then, now;
	then = now = (hand){ 0 };
	// In each step edge 6 has a contact at one end and a vertex one at the other.
	put(&then, CAROM_VERTEX_A, 2, 5, 1, 3, 1);
	put(&then, CAROM_EDGE_B, 5, 6, 0, 4, 2);
	put(&now, CAROM_VERTEX_A, 1, 5, 0.001, 0, 0);
	put(&now, CAROM_EDGE_B, 5, 6, 1.001, 0, 0);
	match(&then, &now, 0.1);
	CHECK_NEAR(now.contacts[0].impulse[0], 2, 0);
	CHECK_NEAR(now.contacts[1].impulse[0], 1, 0);
}

TEST(match, both_ends_of_an_edge)
{
	for (int kept = 0; kept < 4; kept++) {
		static hand then, now;
		then = now = (hand){ 0 };
		put(&then, CAROM_EDGE_A, 6, 5, 0, 4, 10);
		put(&then, CAROM_EDGE_A, 6, 5, 1, 4, 11);
		// One end alone, or both in either order: the order is that of places in the world.
		if (kept != 1)
			put(&now, CAROM_EDGE_A, 6, 5, kept == 3 ? 1.001 : -0.001, 0, 0);
		if (kept != 0)
			put(&now, CAROM_EDGE_A, 6, 5, kept == 3 ? -0.001 : 1.001, 0, 0);
		match(&then, &now, 0.1);
		for (int32_t i = 0; i < now.count; i++)
			CHECK_NEAR(now.contacts[i].impulse[0], now.at[i] > 0.5 ? 11 : 10, 0);
		// And one that becomes two.
		static hand back;
		back = now;
		back.count = 1;
		for (int32_t i = 0; i < then.count; i++)
			then.contacts[i].age = 0, then.contacts[i].impulse[0] = 0;
		match(&back, &then, 0.1);
		const int32_t same = back.at[0] > 0.5;
		CHECK(then.contacts[same].age > 0);
		CHECK_NEAR(then.contacts[same].impulse[0], 10 + same, 0);
	}
}

/// Three edges one behind the other, and body B slides by the distance between them: each keeps its impulse.
TEST(match, edges_that_slide_fast_are_not_the_ones_before_them)
{
	for (int far = 0; far < 2; far++) {
		static hand then, now;
		then = now = (hand){ 0 };
		for (int i = 0; i < 3; i++) {
			put(&then, CAROM_EDGE_B, 1, 10 + i, i, 4, (float)i);
			put(&now, CAROM_EDGE_B, 1, 10 + i, i + 1 + 0.9 * far, 0, 0); // across: it may move faster than B
		}
		match_slid(&then, &now, 0.1, 1);
		for (int i = 0; i < 3; i++)
			CHECK_NEAR(now.contacts[i].impulse[0], i, 0);
	}
}

TEST(match, both_ends_of_an_edge_slide_fast)
{
	static hand then, now;
	then = now = (hand){ 0 };
	put(&then, CAROM_EDGE_B, 1, 7, 0, 4, 10);
	put(&then, CAROM_EDGE_B, 1, 7, 1, 4, 11);
	put(&now, CAROM_EDGE_B, 1, 7, 1, 0, 0);
	put(&now, CAROM_EDGE_B, 1, 7, 2, 0, 0);
	match_slid(&then, &now, 0.1, 1);
	// An end that stays on A, and one that goes with B, are told apart by no place: each may be the other.
	CHECK_INT(now.contacts[0].age, 5);
	CHECK_INT(now.contacts[1].age, 5);
}

/// It rocks: an edge's end goes some way although the bodies hardly move, and nothing else is near. What is farther away is the
/// other end; but if the bodies slide fast, names are all that tells.
TEST(match, an_edge_alone_goes_on)
{
	static const struct {
		double x, slid;
		int age;
	} cases[] = { { 1.9, 0, 2 }, { 2.1, 0, 0 }, { 2.1, 0.09, 0 }, { 5, 0.11, 2 }, { -5, -0.11, 2 } };
	for (int i = 0; i < 5; i++) {
		static hand then, now;
		then = now = (hand){ 0 };
		put(&then, CAROM_EDGE_A, 1, 1, 0, 1, 1);
		put(&now, CAROM_EDGE_A, 1, 1, cases[i].x, 0, 0);
		match_slid(&then, &now, 0.1, cases[i].slid);
		CHECK_INT(now.contacts[0].age, cases[i].age);
		CHECK_NEAR(now.contacts[0].impulse[0], cases[i].age > 0, 0);
	}
}

/// More than are matched by place go on in order, none twice.
TEST(match, many_contacts_with_one_name)
{
	for (int count = 15; count <= 18; count++) {
		static hand then, now;
		then = now = (hand){ 0 };
		for (int i = 0; i < count; i++) {
			put(&then, CAROM_EDGE_A, 1, 1, i, 1, (float)i);
			put(&now, CAROM_EDGE_A, 1, 1, i, 0, 0);
		}
		match(&then, &now, 0.1);
		for (int i = 0; i < count; i++)
			CHECK_NEAR(now.contacts[i].impulse[0], i, 0);
	}
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

// ---- Many pairs whose contacts come and go ----

enum { BODIES = 40, COURSE_STEPS = 15, MOST_CONTACTS = 8000, MANY = 64 };

typedef struct course {
	carom_context *context;
	carom_world *world;
	carom_mesh *ball;
	carom_body_id bodies[BODIES];
	uint64_t seed;
	carom_contact old[MOST_CONTACTS]; // of the last step
	int32_t old_count;
	int equal, others, fresh, large; // contacts that go on by features, and otherwise; new ones; pairs
	uint64_t hash;
} course;

static void open_course(course *c, int threads, int most)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = most;
	def.match_distance = 0.2;
	*c = (course){ .context = fixture_context(threads), .seed = 7 };
	c->world = fixture_world(c->context, &def);
	c->ball = fixture_sphere_mesh(c->context, 0.5, 24);
	fixture_add(c->world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0), CAROM_STATIC);
	for (int i = 0; i < BODIES; i++) {
		const carom_shape shape = i % 2 ? fixture_box(0.5, 0.5, 0.5) : fixture_of_mesh(c->ball);
		c->bodies[i] = fixture_add(c->world, shape, fixture_at(2 * i, 0, 2), CAROM_DYNAMIC);
	}
}

static void close_course(course *c)
{
	carom_destroy_world(c->world);
	carom_release_mesh(c->ball);
	carom_destroy_context(c->context);
}

static bool same_pair(const carom_contact *a, const carom_contact *b)
{
	return fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b);
}

/// Looks for the old contact that a new one must or may continue, by features and by its impulse.
static void check_contact(course *c, const carom_contact *now)
{
	const carom_contact *equal = NULL, *source = NULL;
	for (int32_t i = 0; i < c->old_count; i++) {
		const carom_contact *old = &c->old[i];
		if (!same_pair(old, now))
			continue;
		if (old->kind == now->kind && old->feature_a == now->feature_a && old->feature_b == now->feature_b)
			equal = old;
		if (old->impulse[0] == now->impulse[0] && old->impulse[2] == now->impulse[2])
			source = old;
	}
	CHECK((now->age > 0) == (source != NULL));
	CHECK(!equal || source == equal);
	CHECK(!source || now->age == source->age + 1);
	CHECK(source || (now->impulse[0] == 0 && now->impulse[2] == 0));
	c->equal += equal != NULL;
	c->others += source && !equal;
	c->fresh += !source;
}

static void check_step(course *c)
{
	const carom_contact_view now = carom_world_contacts(c->world);
	const carom_pair_view pairs = carom_world_pairs(c->world);
	REQUIRE(now.count <= MOST_CONTACTS);
	for (int32_t i = 0; i < now.count; i++) {
		check_contact(c, &now.data[i]);
		c->hash = 31 * c->hash + (uint64_t)now.data[i].age + (uint64_t)now.data[i].impulse[0];
	}
	for (int32_t i = 0; i < pairs.count; i++)
		c->large += pairs.data[i].contact_count > MANY;
	c->old_count = now.count;
	for (int32_t i = 0; i < now.count; i++) {
		REQUIRE(carom_world_set_impulse(c->world, i, (float[3]){ (float)(i + 1), 0, (float)(c->seed % 1000 + 1) }) ==
			CAROM_SUCCESS);
		c->old[i] = now.data[i];
	}
	fixture_check_views(c->world);
}

/// Bodies leave the plane, come to it, sink deeper, and turn, at random; at times most rest.
static void move_course(course *c, int step)
{
	for (int i = 0; i < BODIES; i++) {
		const double chance = test_random_double(&c->seed, 0, 1), deep = test_random_double(&c->seed, 0.001, 0.3);
		if (chance > (step % 3 == 0 ? 0.8 : 0.05))
			continue;
		carom_pose pose = fixture_at(2 * i, 0, chance < 0.02 ? 2 : 0.5 - deep);
		pose.orientation = fixture_turn((v3d){ 0.6, 0, 0.8 }, test_random_double(&c->seed, -0.3, 0.3));
		REQUIRE(carom_world_set_pose(c->world, c->bodies[i], &pose) == CAROM_SUCCESS);
	}
}

/// Plays the course with at most so many contacts a pair. Returns a hash of ages and impulses.
static uint64_t play_course(int threads, int most)
{
	static course c;
	open_course(&c, threads, most);
	for (int step = 0; step < COURSE_STEPS && test_failures() == 0; step++) {
		move_course(&c, step);
		fixture_step(c.world);
		check_step(&c);
	}
	CHECK(c.equal > 1000 && c.others > 0 && c.fresh > 100 && (most > 0 || c.large > 20));
	close_course(&c);
	return c.hash;
}

TEST(match, contacts_that_are_written_over_old_ones_continue_them_for_any_number_of_threads)
{
	CHECK(play_course(TEST_LEAST_THREADS, 0) == play_course(3, 0));
	if (!TEST_SEEKS_RACES) // the limit is kept pair by pair, by one thread each
		CHECK(play_course(1, 8) == play_course(3, 8));
}

// ---- Contacts that are made late, and those that stay ----

static bool keep_all(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)contact, (void)user_data_a, (void)user_data_b, (void)user;
	return true;
}

enum { PLAIN_BODIES = 24, PLAIN_STEPS = 60 };

/// Two worlds with one plane and the same bodies. One has a contact filter that keeps all: so its
/// contacts are in lists before they are shown, and none is taken over from the last step.
typedef struct plains {
	carom_world *world[2];
	carom_body_id bodies[PLAIN_BODIES];
	uint64_t seed;
} plains;

static carom_shape random_volume(uint64_t *seed)
{
	const double r = test_random_double(seed, 0.2, 0.5);
	switch (test_random(seed) % 3) {
	case 0: return (carom_shape){ .type = CAROM_SPHERE, .radius = r };
	case 1: return (carom_shape){ .type = CAROM_CAPSULE, .radius = r, .half_length = r };
	default: return (carom_shape){ .type = CAROM_BOX, .half_extents = { r, r, r } };
	}
}

/// Add, remove or move a body of both worlds, or leave it where it is.
static void change(plains *p, int which)
{
	carom_pose pose = fixture_at(which % 5, which / 5, test_random_double(&p->seed, 0.1, 0.6));
	const carom_shape shape = random_volume(&p->seed);
	if (test_random(&p->seed) % 2)
		pose.orientation = fixture_turn((v3d){ 1, 1, 0 }, test_random_double(&p->seed, 0, 0.2));
	const uint64_t what = test_random(&p->seed) % 12;
	for (int w = 0; w < 2; w++) {
		const bool is_there = carom_world_is_body(p->world[w], p->bodies[which]);
		if (!is_there && what < 4 && w == 0)
			p->bodies[which] = fixture_add(p->world[0], shape, pose, CAROM_DYNAMIC);
		else if (!is_there && what < 4)
			fixture_add(p->world[1], shape, pose, CAROM_DYNAMIC);
		else if (is_there && what == 0)
			REQUIRE(carom_world_remove_body(p->world[w], p->bodies[which]) == CAROM_SUCCESS);
		else if (is_there && what < 3)
			REQUIRE(carom_world_set_pose(p->world[w], p->bodies[which], &pose) == CAROM_SUCCESS);
		else if (is_there && what == 3)
			REQUIRE(carom_world_set_shape(p->world[w], p->bodies[which], &shape) == CAROM_SUCCESS);
	}
}

/// Are the contacts, pairs and events of both worlds equal in every bit?
static bool show_the_same(const plains *p)
{
	const carom_contact_view a = carom_world_contacts(p->world[0]), b = carom_world_contacts(p->world[1]);
	const carom_pair_view pa = carom_world_pairs(p->world[0]), pb = carom_world_pairs(p->world[1]);
	const carom_event_view ea = carom_world_events(p->world[0]), eb = carom_world_events(p->world[1]);
	if (a.count != b.count || pa.count != pb.count || ea.count != eb.count)
		return false;
	return (a.count == 0 || memcmp(a.data, b.data, (size_t)a.count * sizeof *a.data) == 0) &&
		(pa.count == 0 || memcmp(pa.data, pb.data, (size_t)pa.count * sizeof *pa.data) == 0) &&
		(ea.count == 0 || memcmp(ea.data, eb.data, (size_t)ea.count * sizeof *ea.data) == 0);
}

TEST(match, late_contacts_are_those_that_lists_keep)
{
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	plains p = { .seed = 5 };
	p.world[0] = fixture_world(context, &def);
	def.contact_filter = keep_all;
	p.world[1] = fixture_world(context, &def);
	for (int w = 0; w < 2; w++)
		fixture_add(p.world[w], (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0), CAROM_STATIC);
	int32_t oldest = 0;
	int64_t seen = 0;
	for (int step = 0; step < PLAIN_STEPS; step++) {
		for (int i = 0; i < PLAIN_BODIES && step % 4 < 2; i++)
			change(&p, i);
		for (int w = 0; w < 2; w++)
			fixture_step(p.world[w]);
		REQUIRE(show_the_same(&p));
		const carom_contact_view contacts = carom_world_contacts(p.world[0]);
		seen += contacts.count;
		for (int32_t i = 0; i < contacts.count; i++) {
			oldest = contacts.data[i].age > oldest ? contacts.data[i].age : oldest;
			for (int w = 0; w < 2; w++)
				REQUIRE(carom_world_set_impulse(p.world[w], i, (float[3]){ (float)i, 0, (float)step }) == CAROM_SUCCESS);
		}
		for (int32_t i = 0; i < carom_world_pairs(p.world[0]).count; i++) {
			for (int w = 0; w < 2; w++)
				REQUIRE(carom_world_set_pair_data(p.world[w], i, (uint64_t)(step * 100 + i)) == CAROM_SUCCESS);
		}
	}
	CHECK(oldest > 8 && seen > 1000);
	carom_destroy_world(p.world[0]);
	carom_destroy_world(p.world[1]);
	carom_destroy_context(context);
}
