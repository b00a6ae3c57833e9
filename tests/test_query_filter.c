/// Filters of queries that ask a function: the answers are those of a world without the bodies, parts and spheres that
/// the function hides, to the bit; what it may not do; all hits of shape casts, with such filters as the oracle.
#include "fixture.h"
#include "query_fixture.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 14, PARTS = 3, SPHERES = 60, ITEMS = BODIES + 4 * PARTS + SPHERES, ROOM = 512 };

/// A part or sphere of the whole world, and the body that stands for it in the other one.
typedef struct item {
	carom_body_id body;
	int32_t shape;
	carom_body_id alone; // null: hidden
} item;

/// The whole world, which a filter asks about, and one of what the function shows, each part a body of its own.
typedef struct scene {
	carom_context *context;
	carom_world *whole, *shown;
	carom_mesh *torus, *sheet, *field;
	item items[ITEMS];
	int count;
} scene;

static uint64_t data_of(int body) { return 1000 + (uint64_t)body; }

/// Is an item hidden? The answer depends on the arguments of the function alone.
static bool is_shown(carom_body_id body, int32_t shape, uint64_t user_data)
{
	const uint64_t mixed = (body.index1 * 2654435761U + (uint32_t)shape * 40503U + user_data * 97) >> 3;
	return mixed % 3 != 0;
}

static bool ask(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	if (user)
		atomic_fetch_add((atomic_int *)user, 1);
	return is_shown(body, shape, user_data);
}

/// Notes an item, and adds it to the other world where it is shown.
static void add_alone(scene *s, carom_body_id body, int32_t shape, uint64_t user_data, carom_shape form, carom_pose pose)
{
	item *i = &s->items[s->count++];
	*i = (item){ body, shape, { 0, 0 } };
	if (!is_shown(body, shape, user_data))
		return;
	carom_body_def def = carom_default_body_def();
	def.shape = form;
	def.pose = pose;
	def.group = -1 - (int32_t)body.index1; // parts of one body do not meet
	def.user_data = user_data;
	REQUIRE(carom_world_add_body(s->shown, &def, &i->alone) == CAROM_SUCCESS);
}

static carom_shape some_shape(const scene *s, int way)
{
	switch (way % 7) {
	case 0: return fixture_box(0.4, 0.2, 0.3);
	case 1: return fixture_capsule(0.2, 0.5);
	case 2: return fixture_of_mesh(s->torus);
	case 3: return fixture_cone(0.3, 0.4);
	case 4: return fixture_sphere(0.35);
	case 5: return fixture_of_mesh(s->sheet);
	default: return fixture_of_mesh(s->field);
	}
}

static void add_whole(scene *s, carom_body_def *def, int number, carom_body_id *id)
{
	def->user_data = data_of(number);
	REQUIRE(carom_world_add_body(s->whole, def, id) == CAROM_SUCCESS);
}

static void add_single(scene *s, int number, uint64_t *seed)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = some_shape(s, number);
	def.pose = fixture_random_pose(seed, 3);
	add_whole(s, &def, number, &id);
	add_alone(s, id, 0, def.user_data, def.shape, def.pose);
}

static void add_compound(scene *s, int number, uint64_t *seed)
{
	carom_body_def def = carom_default_body_def();
	carom_part parts[PARTS];
	carom_body_id id;
	for (int k = 0; k < PARTS; k++)
		parts[k] = (carom_part){ .shape = some_shape(s, number + k), .pose = fixture_random_pose(seed, 1) };
	def.parts = parts;
	def.part_count = PARTS;
	def.pose.position = fixture_random_pose(seed, 3).position;
	add_whole(s, &def, number, &id);
	for (int k = 0; k < PARTS; k++)
		add_alone(s, id, k, def.user_data, parts[k].shape, fixture_compose(def.pose, parts[k].pose));
}

static void add_spheres(scene *s, int number, uint64_t *seed)
{
	carom_body_def def = carom_default_body_def();
	double places[SPHERES][4];
	carom_body_id id;
	for (int i = 0; i < SPHERES; i++) {
		for (int k = 0; k < 3; k++)
			places[i][k] = test_random_double(seed, -3, 3);
		places[i][3] = test_random_double(seed, 0.05, 0.3);
	}
	def.kind = CAROM_GRANULAR;
	def.sphere_count = SPHERES;
	def.centres = (carom_strided){ places, sizeof places[0], CAROM_FLOAT64 };
	def.radii = (carom_strided){ &places[0][3], sizeof places[0], CAROM_FLOAT64 };
	add_whole(s, &def, number, &id);
	for (int i = 0; i < SPHERES; i++)
		add_alone(s, id, i, def.user_data, fixture_sphere(places[i][3]), fixture_at(places[i][0], places[i][1], places[i][2]));
}

static carom_mesh *make_field(carom_context *context)
{
	float heights[25];
	carom_mesh *mesh;
	for (int i = 0; i < 25; i++)
		heights[i] = 0.2F * (float)((i * 7) % 5);
	const double spacing[2] = { 0.3, 0.3 };
	REQUIRE(carom_create_height_field(context, 5, 5, heights, spacing, 0.5, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static scene make_scene(uint64_t seed, int threads)
{
	scene s = { .context = fixture_context(threads) };
	s.whole = fixture_world(s.context, NULL);
	s.shown = fixture_world(s.context, NULL);
	s.torus = fixture_torus_mesh(s.context, 12, 8, 0.3, 0.1);
	s.sheet = fixture_sheet_mesh(s.context, 4, 1.5);
	s.field = make_field(s.context);
	for (int i = 0; i < BODIES; i++)
		add_single(&s, i, &seed);
	for (int i = 0; i < 4; i++)
		add_compound(&s, BODIES + i, &seed);
	add_spheres(&s, BODIES + 4, &seed);
	return s;
}

static void free_scene(scene *s)
{
	carom_destroy_world(s->whole);
	carom_destroy_world(s->shown);
	carom_release_mesh(s->torus);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->field);
	carom_destroy_context(s->context);
}

static const item *find_item(const scene *s, carom_body_id body, int32_t shape)
{
	for (int i = 0; i < s->count; i++) {
		if (fixture_same_id(s->items[i].body, body) && s->items[i].shape == shape)
			return &s->items[i];
	}
	return NULL;
}

/// Does an answer of the whole world name the part that the other world's answer stands for?
static bool same_item(const scene *s, carom_body_id body, int32_t shape, carom_body_id alone)
{
	const item *i = find_item(s, body, shape);
	return i && fixture_same_id(i->alone, alone);
}

static carom_query_filter asking(atomic_int *asked)
{
	carom_query_filter filter = carom_default_query_filter();
	filter.body_filter = ask;
	filter.filter_user = asked;
	return filter;
}

static bool same_ray_hit(const scene *s, const carom_ray_hit *a, const carom_ray_hit *b)
{
	return same_item(s, a->body, a->shape, b->body) && a->t == b->t && fixture_same_vector(a->point, b->point) &&
		a->triangle == b->triangle && a->user_data == b->user_data && a->back_face == b->back_face;
}

static carom_ray random_ray(uint64_t *seed)
{
	const v3d from = fixture_random_pose(seed, 5).position, to = fixture_random_pose(seed, 5).position;
	return (carom_ray){ from, v3d_sub(to, from), 0, 2 };
}

TEST(query_filter, rays_see_what_the_function_shows)
{
	scene s = make_scene(3, 1);
	uint64_t seed = 4;
	atomic_int asked = 0;
	int hits = 0;
	for (int i = 0; i < 600 / TEST_FEWER; i++) {
		carom_query_filter filters[2] = { asking(&asked), carom_default_query_filter() };
		filters[0].skip_back_faces = filters[1].skip_back_faces = i % 2;
		const carom_ray ray = random_ray(&seed);
		carom_ray_hit hit[2], all[2][ROOM];
		bool found[2], any;
		int32_t count[2];
		for (int k = 0; k < 2; k++) {
			const carom_world *world = k ? s.shown : s.whole;
			REQUIRE(carom_world_cast_ray(world, &ray, &filters[k], &found[k], &hit[k]) == CAROM_SUCCESS);
			REQUIRE(carom_world_cast_ray_any(world, &ray, &filters[k], &any) == CAROM_SUCCESS);
			CHECK(any == found[k]);
			REQUIRE(carom_world_cast_ray_all(world, &ray, &filters[k], ROOM, all[k], &count[k]) == CAROM_SUCCESS);
			for (int j = 0; j < count[k]; j++)
				CHECK(!filters[k].skip_back_faces || !all[k][j].back_face);
		}
		CHECK(found[0] == found[1] && (!found[0] || same_ray_hit(&s, &hit[0], &hit[1])));
		REQUIRE(count[0] == count[1] && count[0] <= ROOM);
		hits += found[0];
	}
	CHECK(hits > 60 / TEST_FEWER && asked > hits);
	free_scene(&s);
}

TEST(query_filter, nearest_points_and_bodies_see_what_the_function_shows)
{
	scene s = make_scene(5, 1);
	uint64_t seed = 6;
	atomic_int asked = 0;
	const carom_query_filter filter = asking(&asked);
	for (int i = 0; i < 300 / TEST_FEWER; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 4);
		const carom_shape shape = some_shape(&s, i % 5);
		bool found[2];
		carom_closest_point p[2];
		carom_closest_body b[2];
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_closest_point(k ? s.shown : s.whole, pose.position, 1, k ? NULL : &filter, &found[k], &p[k]) ==
				CAROM_SUCCESS);
		CHECK(found[0] == found[1] &&
			(!found[0] ||
				(same_item(&s, p[0].body, p[0].shape, p[1].body) && p[0].distance == p[1].distance &&
					p[0].user_data == p[1].user_data && fixture_same_vector(p[0].point, p[1].point))));
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_closest_body(
						k ? s.shown : s.whole, &shape, &pose, INFINITY, k ? NULL : &filter, &found[k], &b[k]) == CAROM_SUCCESS);
		CHECK(found[0] == found[1] &&
			(!found[0] ||
				(same_item(&s, b[0].body, b[0].shape, b[1].body) && b[0].distance == b[1].distance &&
					b[0].user_data == b[1].user_data && fixture_same_vector(b[0].on_body, b[1].on_body))));
	}
	CHECK(asked > 0);
	free_scene(&s);
}

/// Compares the bodies of one world with those of the other one, which has each part as a body.
static void check_same_bodies(
	const scene *s, const carom_body_id *whole, int32_t count, const carom_body_id *alone, int32_t parts)
{
	int32_t matched = 0;
	for (int32_t i = 0; i < count; i++) {
		int32_t found = 0;
		for (int32_t k = 0; k < parts; k++) {
			for (int j = 0; j < s->count; j++)
				found += fixture_same_id(s->items[j].body, whole[i]) && fixture_same_id(s->items[j].alone, alone[k]);
		}
		CHECK(found > 0);
		matched += found;
	}
	CHECK_INT(matched, parts);
}

TEST(query_filter, overlaps_and_contacts_see_what_the_function_shows)
{
	scene s = make_scene(7, 1);
	uint64_t seed = 8;
	atomic_int asked = 0;
	const carom_query_filter filter = asking(&asked);
	int touched = 0;
	for (int i = 0; i < 200 / TEST_FEWER; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 3);
		const carom_shape shape = some_shape(&s, i % 5);
		const carom_aabb box = { v3d_sub(pose.position, (v3d){ 0.5, 0.3, 0.4 }),
			v3d_add(pose.position, (v3d){ 0.5, 0.3, 0.4 }) };
		carom_body_id bodies[2][ROOM];
		int32_t count[2];
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_overlap_shape(
						k ? s.shown : s.whole, &shape, &pose, k ? NULL : &filter, ROOM, bodies[k], &count[k]) == CAROM_SUCCESS);
		check_same_bodies(&s, bodies[0], count[0], bodies[1], count[1]);
		touched += count[0];
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_overlap_aabb(k ? s.shown : s.whole, &box, k ? NULL : &filter, ROOM, bodies[k], &count[k]) ==
				CAROM_SUCCESS);
		check_same_bodies(&s, bodies[0], count[0], bodies[1], count[1]);
		carom_contact contacts[ROOM];
		REQUIRE(carom_world_collide_shape(s.whole, &shape, &pose, &filter, ROOM, contacts, &count[0]) == CAROM_SUCCESS);
		for (int32_t k = 0; k < count[0] && k < ROOM; k++) {
			const item *met = find_item(&s, contacts[k].body_b, contacts[k].shape_b);
			CHECK(met && met->alone.index1 != 0);
		}
	}
	CHECK(touched > 20 / TEST_FEWER && asked > 0);
	free_scene(&s);
}

TEST(query_filter, the_nearest_pair_sees_what_the_functions_show)
{
	for (uint64_t round = 0; round < 12 / TEST_FEWER; round++) {
		scene s = make_scene(20 + round, 1);
		const carom_query_filter filter = asking(NULL);
		bool found[2];
		carom_closest_pair pair[2];
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_closest_pair(k ? s.shown : s.whole, INFINITY, k ? NULL : &filter, k ? NULL : &filter, &found[k],
						&pair[k]) == CAROM_SUCCESS);
		CHECK(found[0] && found[1] && pair[0].distance == pair[1].distance);
		CHECK(same_item(&s, pair[0].body_a, pair[0].shape_a, pair[1].body_a));
		CHECK(same_item(&s, pair[0].body_b, pair[0].shape_b, pair[1].body_b));
		CHECK(pair[0].user_data_a == pair[1].user_data_a && pair[0].user_data_b == pair[1].user_data_b);
		free_scene(&s);
	}
}

// ---- The nearest pair, one function for each side ----

static bool is_low(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	(void)user_data, (void)user;
	return body.index1 == 1 && shape < 3;
}

static bool is_high(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	(void)user_data, (void)user;
	return body.index1 == 2 || shape == 5;
}

/// Spheres of two granular bodies in a row, 1 apart: sphere 2 of the first is the last that A may be.
TEST(query_filter, each_side_of_a_pair_has_a_function)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	for (int set = 0; set < 2; set++) {
		double places[8][4];
		carom_body_def def = carom_default_body_def();
		carom_body_id id;
		for (int i = 0; i < 8; i++)
			memcpy(places[i], (double[4]){ i + 8 * set, 0, 0, 0.25 }, sizeof places[i]);
		def.kind = CAROM_GRANULAR;
		def.sphere_count = 8;
		def.centres = (carom_strided){ places, sizeof places[0], CAROM_FLOAT64 };
		def.radii = (carom_strided){ &places[0][3], sizeof places[0], CAROM_FLOAT64 };
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	}
	carom_query_filter low = carom_default_query_filter(), high = low;
	low.body_filter = is_low;
	high.body_filter = is_high;
	for (int turned = 0; turned < 2; turned++) {
		bool found;
		carom_closest_pair pair;
		REQUIRE(carom_world_closest_pair(world, INFINITY, turned ? &high : &low, turned ? &low : &high, &found, &pair) ==
			CAROM_SUCCESS);
		REQUIRE(found);
		CHECK_NEAR(pair.distance, 5.5, 1e-12);
		CHECK_INT(turned ? pair.shape_b : pair.shape_a, 2);
		CHECK_INT(turned ? pair.shape_a : pair.shape_b, 0);
		CHECK_INT((int)(turned ? pair.body_b : pair.body_a).index1, 1);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Batches ----

TEST(query_filter, batches_have_the_bits_of_single_queries_for_any_number_of_threads)
{
	enum { COUNT = 200 };
	for (int threads = 1; threads <= 4; threads += 3) {
		scene s = make_scene(9, threads);
		uint64_t seed = 10;
		atomic_int asked = 0;
		const carom_query_filter filter = asking(&asked);
		const carom_batch batch = { .count = COUNT, .filter = &filter };
		carom_ray rays[COUNT];
		carom_ray_hit hits[COUNT], hit;
		carom_shape_cast casts[COUNT];
		carom_shape shapes[5];
		static carom_shape_hit found_shapes[16 * COUNT], one[ROOM];
		int64_t first[COUNT + 1];
		for (int i = 0; i < 5; i++)
			shapes[i] = some_shape(&s, i);
		for (int i = 0; i < COUNT; i++) {
			rays[i] = random_ray(&seed);
			casts[i].shape = &shapes[i % 5];
			casts[i].motion.begin = fixture_random_pose(&seed, 4);
			casts[i].motion.end = fixture_random_pose(&seed, 4);
		}
		REQUIRE(carom_world_cast_rays(s.whole, &batch, rays, hits) == CAROM_SUCCESS);
		CHECK(asked > 0);
		for (int i = 0; i < COUNT; i++) {
			bool found;
			REQUIRE(carom_world_cast_ray(s.whole, &rays[i], &filter, &found, &hit) == CAROM_SUCCESS);
			CHECK(found == (hits[i].body.index1 != 0) && (!found || memcmp(&hits[i].t, &hit.t, sizeof hit.t) == 0));
		}
		REQUIRE(carom_world_cast_shapes_all(s.whole, &batch, casts, 1e-3, 16 * COUNT, found_shapes, first) == CAROM_SUCCESS);
		REQUIRE(first[COUNT] <= 16 * COUNT && first[COUNT] > COUNT / 4);
		for (int i = 0; i < COUNT; i++) {
			int32_t count;
			REQUIRE(carom_world_cast_shape_all(s.whole, casts[i].shape, &casts[i].motion, 1e-3, &filter, ROOM, one, &count) ==
				CAROM_SUCCESS);
			REQUIRE(count == first[i + 1] - first[i]);
			for (int k = 0; k < count; k++) {
				const carom_shape_hit *h = &found_shapes[first[i] + k];
				CHECK(fixture_same_id(h->body, one[k].body) && h->time == one[k].time && h->distance == one[k].distance);
			}
		}
		free_scene(&s);
	}
}

// ---- All hits of a shape cast ----

/// Shows one body alone.
static bool is_body(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	(void)shape, (void)user_data;
	return fixture_same_id(body, *(const carom_body_id *)user);
}

/// Each body asked alone is the oracle.
static int check_all_hits(const scene *s, const carom_shape *shape, const carom_motion *motion, bool skip_separating)
{
	carom_query_filter filter = carom_default_query_filter();
	carom_shape_hit hits[ROOM], first;
	int32_t count, expected = 0;
	bool found;
	filter.skip_separating = skip_separating;
	REQUIRE(carom_world_cast_shape_all(s->whole, shape, motion, 1e-3, &filter, ROOM, hits, &count) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_shape(s->whole, shape, motion, 1e-3, &filter, &found, &first) == CAROM_SUCCESS);
	CHECK(found == (count > 0) && (!found || query_same_shape_hit(&hits[0], &first)));
	for (int i = 1; i < count; i++)
		CHECK(hits[i - 1].time <= hits[i].time);
	for (int i = 0; i < s->count; i++) {
		if (s->items[i].shape != 0)
			continue;
		carom_body_id body = s->items[i].body;
		carom_shape_hit alone;
		filter.body_filter = is_body;
		filter.filter_user = &body;
		REQUIRE(carom_world_cast_shape(s->whole, shape, motion, 1e-3, &filter, &found, &alone) == CAROM_SUCCESS);
		int matches = 0;
		for (int k = 0; k < count; k++) {
			if (fixture_same_id(hits[k].body, body)) {
				matches++;
				CHECK(query_same_shape_hit(&hits[k], &alone));
			}
		}
		CHECK_INT(matches, found);
		expected += found;
	}
	CHECK_INT(count, expected);
	return count;
}

TEST(query_filter, all_hits_of_a_shape_are_those_of_each_body_alone)
{
	scene s = make_scene(11, 1);
	uint64_t seed = 12;
	int hits = 0;
	for (int i = 0; i < 120 / TEST_FEWER; i++) {
		const carom_shape shape = some_shape(&s, i % 6);
		const carom_pose begin = fixture_random_pose(&seed, 4);
		carom_motion motion = { begin, fixture_random_pose(&seed, 4) };
		if (i % 3 == 0)
			motion.end.orientation = begin.orientation;
		hits += check_all_hits(&s, &shape, &motion, i % 2);
	}
	CHECK(hits > 120 / TEST_FEWER);
	free_scene(&s);
}

TEST(query_filter, all_hits_of_a_shape_are_counted_beyond_the_room)
{
	scene s = make_scene(13, 1);
	const carom_shape ball = fixture_sphere(1.5);
	const carom_motion motion = { fixture_at(-6, 0, 0), fixture_at(6, 0, 0) };
	carom_shape_hit all[ROOM], some[2];
	int32_t count, told;
	REQUIRE(carom_world_cast_shape_all(s.whole, &ball, &motion, 1e-3, NULL, ROOM, all, &count) == CAROM_SUCCESS);
	REQUIRE(count > 4 && count <= BODIES + 5);
	REQUIRE(carom_world_cast_shape_all(s.whole, &ball, &motion, 1e-3, NULL, 2, some, &told) == CAROM_SUCCESS);
	CHECK(told == count && query_same_shape_hit(&some[0], &all[0]) && query_same_shape_hit(&some[1], &all[1]));
	REQUIRE(carom_world_cast_shape_all(s.whole, &ball, &motion, 1e-3, NULL, 0, NULL, &told) == CAROM_SUCCESS);
	CHECK_INT(told, count);
	const carom_shape plane = { .type = CAROM_PLANE };
	fixture_expect_error(s.context, carom_world_cast_shape_all(s.whole, &plane, &motion, 1e-3, NULL, 2, some, &told),
		CAROM_INVALID_ARGUMENT, "carom_world_cast_shape_all: shape.type is CAROM_PLANE, which has no end");
	CHECK_INT(told, 0);
	fixture_expect_error(s.context, carom_world_cast_shape_all(s.whole, &ball, &motion, 0, NULL, 2, some, &told),
		CAROM_INVALID_ARGUMENT, "carom_world_cast_shape_all: tolerance is 0; it must be finite and above 0");
	fixture_expect_error(s.context, carom_world_cast_shape_all(s.whole, &ball, &motion, 1e-3, NULL, 2, NULL, &told),
		CAROM_INVALID_ARGUMENT, "carom_world_cast_shape_all: hits is NULL");
	free_scene(&s);
}

// ---- What the function may do ----

typedef struct intruder {
	carom_world *world;
	int refused, nested, asked;
} intruder;

static bool intrude(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	intruder *in = user;
	const carom_pose pose = fixture_at(1, 2, 3);
	(void)shape;
	in->asked++;
	in->refused += carom_world_set_pose(in->world, body, &pose) == CAROM_INVALID_ARGUMENT &&
		strstr(carom_error_text(carom_world_context(in->world)), ": called from inside the filter of a query");
	in->refused += carom_world_step(in->world) == CAROM_INVALID_ARGUMENT;
	in->refused += carom_world_remove_body(in->world, body) == CAROM_INVALID_ARGUMENT;
	carom_destroy_world(in->world); // does nothing, and says so in the log
	uint64_t data = 0;
	bool found = false;
	carom_closest_point point;
	in->nested += carom_world_get_user_data(in->world, body, &data) == CAROM_SUCCESS && data == user_data;
	in->nested +=
		carom_world_closest_point(in->world, (carom_vec3){ 0, 0, 9 }, INFINITY, NULL, &found, &point) == CAROM_SUCCESS && found;
	return true;
}

TEST(query_filter, the_function_reads_its_world_and_cannot_change_it)
{
	carom_context *context = fixture_context(2);
	carom_world *world = fixture_world(context, NULL), *other = fixture_world(context, NULL);
	intruder in = { .world = world };
	carom_query_filter filter = carom_default_query_filter();
	filter.body_filter = intrude;
	filter.filter_user = &in;
	for (int i = 0; i < 3; i++)
		fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(2 * i, 0, 0), CAROM_DYNAMIC);
	const carom_body_id apart = fixture_add(other, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	const carom_ray ray = { { -5, 0, 0 }, { 1, 0, 0 }, 0, INFINITY };
	carom_ray_hit hits[8];
	int32_t count;
	REQUIRE(carom_world_cast_ray_all(world, &ray, &filter, 8, hits, &count) == CAROM_SUCCESS);
	CHECK_INT(count, 6);
	CHECK_INT(in.asked, 3);
	CHECK_INT(in.refused, 9);
	CHECK_INT(in.nested, 6);
	// Another world may change inside, and this one may do so after the query.
	REQUIRE(carom_world_remove_body(other, apart) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_remove_body(world, hits[0].body), CAROM_SUCCESS);
	carom_destroy_world(world);
	carom_destroy_world(other);
	carom_destroy_context(context);
}

/// A failed allocation anywhere makes the query fail, and nothing else.
TEST(query_filter, all_hits_without_memory)
{
	fixture_heap heap = { 0 };
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	for (int i = 0; i < 20; i++)
		fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(2 * i, 0, 0), CAROM_DYNAMIC);
	const carom_shape ball = fixture_sphere(0.3);
	const carom_motion motion = { fixture_at(-3, 0, 0), fixture_at(50, 0, 0) };
	carom_shape_hit hits[32];
	int32_t count = 0;
	int failures = 0;
	failing_calls calls = failing_calls_all();
	for (bool failed = true; failed; failures += failed) {
		fixture_begin_failing(&heap, &calls);
		const carom_result result = carom_world_cast_shape_all(world, &ball, &motion, 1e-3, NULL, 32, hits, &count);
		failed = fixture_end_failing(&heap);
		CHECK_INT(result, failed ? CAROM_OUT_OF_MEMORY : CAROM_SUCCESS);
		CHECK_INT(count, failed ? 0 : 20);
	}
	failing_calls_free(&calls);
	CHECK(failures >= 3);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
