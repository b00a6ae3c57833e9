/// Queries of granular bodies, beside a world in which each sphere is a body of its own: the same answers, to the bit.
#include "test.h"
#include "fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPHERES = 300, GRAINS = 2, OTHERS = 6 };

/// Granular bodies among others; alone: each sphere is a body instead, and bodies are told by a table.
typedef struct scene {
	carom_context *context;
	carom_world *granular, *alone;
	carom_body_id grains[GRAINS], spheres[GRAINS][SPHERES];
	double places[GRAINS][SPHERES][4];
	carom_mesh *mesh;
} scene;

static void add_everywhere(scene *s, carom_shape shape, carom_pose pose, carom_body_kind kind)
{
	const carom_body_id a = fixture_add(s->granular, shape, pose, kind), b = fixture_add(s->alone, shape, pose, kind);
	CHECK(a.index1 > 0 && b.index1 > 0);
}

static void add_grains(scene *s, int set)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.category = 2ULL << set;
	def.sphere_count = SPHERES;
	def.centres = (carom_strided){ s->places[set], 4 * sizeof(double), CAROM_FLOAT64 };
	def.radii = (carom_strided){ &s->places[set][0][3], 4 * sizeof(double), CAROM_FLOAT64 };
	REQUIRE(carom_world_add_body(s->granular, &def, &s->grains[set]) == CAROM_SUCCESS);
	for (int i = 0; i < SPHERES; i++) {
		const double *p = s->places[set][i];
		def = carom_default_body_def();
		def.category = 2ULL << set;
		def.group = -1 - set; // those of one set do not meet
		def.shape = fixture_sphere(p[3]);
		def.pose = fixture_at(p[0], p[1], p[2]);
		REQUIRE(carom_world_add_body(s->alone, &def, &s->spheres[set][i]) == CAROM_SUCCESS);
	}
}

/// Spheres anywhere in a cube, some of them at one place, the last ones far away.
static void place_spheres(scene *s, uint64_t seed)
{
	for (int set = 0; set < GRAINS; set++) {
		for (int i = 0; i < SPHERES; i++) {
			double *p = s->places[set][i];
			for (int k = 0; k < 3; k++)
				p[k] = i == SPHERES - 1 ? 1e6 : test_random_double(&seed, -4, 4);
			p[3] = test_random_double(&seed, 0.01, 0.3);
			if (i % 10 == 9)
				memcpy(p, s->places[set][i - 1], sizeof s->places[set][i]);
		}
	}
}

static scene make_scene(uint64_t seed)
{
	scene s = { .context = fixture_context(2) };
	s.granular = fixture_world(s.context, NULL);
	s.alone = fixture_world(s.context, NULL);
	place_spheres(&s, seed);
	s.mesh = fixture_torus_mesh(s.context, 12, 8, 0.3, 0.1);
	add_everywhere(&s, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -5), CAROM_STATIC);
	add_grains(&s, 0);
	for (int i = 0; i < OTHERS; i++)
		add_everywhere(
			&s, i % 2 ? fixture_of_mesh(s.mesh) : fixture_box(0.3, 0.2, 0.5), fixture_random_pose(&seed, 4), CAROM_DYNAMIC);
	add_grains(&s, 1);
	return s;
}

static void free_scene(scene *s)
{
	carom_destroy_world(s->granular);
	carom_destroy_world(s->alone);
	carom_release_mesh(s->mesh);
	carom_destroy_context(s->context);
}

/// The body of the granular world that a body of the other one stands for, and the number of its sphere.
static carom_body_id told(const scene *s, carom_body_id id, int32_t *shape)
{
	for (int set = 0; set < GRAINS; set++) {
		const uint32_t first = s->spheres[set][0].index1;
		if (id.index1 >= first && id.index1 < first + SPHERES) {
			*shape = (int32_t)(id.index1 - first);
			return s->grains[set];
		}
	}
	// Of the other bodies: the plane comes first, then one body instead of many.
	*shape = 0;
	id.index1 -= id.index1 > SPHERES ? SPHERES - 1 : 0;
	return id;
}

static bool same_told(const scene *s, carom_body_id body, int32_t shape, carom_body_id alone)
{
	int32_t expected;
	return fixture_same_id(body, told(s, alone, &expected)) && shape == expected;
}

/// Sees all, one granular body, or all but one.
static carom_query_filter filter_of(const scene *s, int way)
{
	carom_query_filter filter = carom_default_query_filter();
	if (way == 1)
		filter.mask = 2;
	if (way == 2)
		filter.mask = ~2ULL;
	(void)s;
	return filter;
}

static bool same_hit(const scene *s, const carom_ray_hit *a, const carom_ray_hit *b)
{
	return same_told(s, a->body, a->shape, b->body) && a->t == b->t && fixture_same_vector(a->point, b->point) &&
		fixture_same_vector(a->normal, b->normal) && a->triangle == b->triangle && a->back_face == b->back_face;
}

static void check_ray(const scene *s, const carom_ray *ray, const carom_query_filter *filter)
{
	enum { ROOM = 256 };
	bool found[2];
	carom_ray_hit hit[2], all[2][ROOM];
	int32_t count[2];
	for (int i = 0; i < 2; i++) {
		const carom_world *world = i ? s->alone : s->granular;
		bool any;
		REQUIRE(carom_world_cast_ray(world, ray, filter, &found[i], &hit[i]) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray_any(world, ray, filter, &any) == CAROM_SUCCESS);
		CHECK(any == found[i]);
		REQUIRE(carom_world_cast_ray_all(world, ray, filter, ROOM, all[i], &count[i]) == CAROM_SUCCESS);
	}
	CHECK(found[0] == found[1] && (!found[0] || same_hit(s, &hit[0], &hit[1])));
	REQUIRE(count[0] == count[1] && count[0] <= ROOM);
	for (int i = 0; i < count[0]; i++)
		CHECK(same_hit(s, &all[0][i], &all[1][i]));
}

TEST(query_spheres, rays_meet_spheres_as_bodies)
{
	scene s = make_scene(11);
	uint64_t seed = 12;
	for (int i = 0; i < 300 / TEST_FEWER; i++) {
		const carom_query_filter filter = filter_of(&s, i % 3);
		const v3d from = fixture_random_pose(&seed, 6).position, to = fixture_random_pose(&seed, 6).position;
		check_ray(&s, &(carom_ray){ from, v3d_sub(to, from), 0, i % 2 ? INFINITY : 1 }, &filter);
	}
	free_scene(&s);
}

TEST(query_spheres, nearest_points)
{
	scene s = make_scene(13);
	uint64_t seed = 14;
	for (int i = 0; i < 300 / TEST_FEWER; i++) {
		const carom_query_filter filter = filter_of(&s, i % 3);
		const v3d at = fixture_random_pose(&seed, i % 7 ? 5 : 100).position;
		bool found[2];
		carom_closest_point p[2];
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_closest_point(
						k ? s.alone : s.granular, at, i % 2 ? INFINITY : 0.2, &filter, &found[k], &p[k]) == CAROM_SUCCESS);
		REQUIRE(found[0] == found[1]);
		CHECK(!found[0] ||
			(same_told(&s, p[0].body, p[0].shape, p[1].body) && p[0].distance == p[1].distance &&
				fixture_same_vector(p[0].point, p[1].point) && fixture_same_vector(p[0].normal, p[1].normal)));
	}
	free_scene(&s);
}

/// The ids of the other world, each told once and in order.
static int32_t tell_all(const scene *s, const carom_body_id *ids, int32_t count, carom_body_id *out)
{
	int32_t kept = 0, shape;
	for (int32_t i = 0; i < count; i++) {
		const carom_body_id id = told(s, ids[i], &shape);
		if (kept == 0 || !fixture_same_id(out[kept - 1], id))
			out[kept++] = id;
	}
	return kept;
}

static void check_overlap(const scene *s, const carom_shape *shape, const carom_pose *pose, const carom_query_filter *filter)
{
	enum { ROOM = GRAINS * SPHERES + OTHERS + 1 };
	carom_body_id bodies[2][ROOM], expected[ROOM];
	int32_t count[2];
	for (int k = 0; k < 2; k++) {
		const carom_world *world = k ? s->alone : s->granular;
		const double *h = shape->half_extents;
		const v3d half = { h[0], h[1], h[2] };
		const carom_aabb box = { v3d_sub(pose->position, half), v3d_add(pose->position, half) };
		REQUIRE((shape->type == CAROM_BOX && shape->rounding == 0
						? carom_world_overlap_aabb(world, &box, filter, ROOM, bodies[k], &count[k])
						: carom_world_overlap_shape(world, shape, pose, filter, ROOM, bodies[k], &count[k])) == CAROM_SUCCESS);
	}
	count[1] = tell_all(s, bodies[1], count[1], expected);
	REQUIRE(count[0] == count[1]);
	for (int i = 0; i < count[0]; i++)
		CHECK(fixture_same_id(bodies[0][i], expected[i]));
}

static carom_shape some_shape(const scene *s, int way)
{
	switch (way % 4) {
	case 0: return fixture_box(0.4, 0.2, 0.3);
	case 1: return fixture_capsule(0.2, 0.5);
	case 2: return fixture_of_mesh(s->mesh);
	default: return fixture_cone(0.3, 0.4);
	}
}

TEST(query_spheres, overlaps)
{
	scene s = make_scene(15);
	uint64_t seed = 16;
	for (int i = 0; i < 200 / TEST_FEWER; i++) {
		const carom_query_filter filter = filter_of(&s, i % 3);
		const carom_pose pose = fixture_random_pose(&seed, 5);
		const carom_shape shape = some_shape(&s, i);
		check_overlap(&s, &shape, &pose, &filter);
	}
	free_scene(&s);
}

TEST(query_spheres, shapes_cast_and_the_nearest_body)
{
	scene s = make_scene(17);
	uint64_t seed = 18;
	for (int i = 0; i < 120 / TEST_FEWER; i++) {
		const carom_query_filter filter = filter_of(&s, i % 3);
		const carom_shape shape = some_shape(&s, i);
		const carom_motion motion = { fixture_random_pose(&seed, 6), fixture_random_pose(&seed, 6) };
		bool found[2];
		carom_shape_hit hit[2];
		carom_closest_body near[2];
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_cast_shape(k ? s.alone : s.granular, &shape, &motion, 1e-4, &filter, &found[k], &hit[k]) ==
				CAROM_SUCCESS);
		CHECK(found[0] == found[1] &&
			(!found[0] ||
				(same_told(&s, hit[0].body, hit[0].shape, hit[1].body) && hit[0].time == hit[1].time &&
					hit[0].distance == hit[1].distance && fixture_same_vector(hit[0].point, hit[1].point))));
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_closest_body(k ? s.alone : s.granular, &shape, &motion.begin, i % 2 ? INFINITY : 0.3, &filter,
						&found[k], &near[k]) == CAROM_SUCCESS);
		CHECK(found[0] == found[1] &&
			(!found[0] ||
				(same_told(&s, near[0].body, near[0].shape, near[1].body) && near[0].distance == near[1].distance &&
					fixture_same_vector(near[0].on_body, near[1].on_body))));
	}
	free_scene(&s);
}

TEST(query_spheres, the_nearest_pair)
{
	for (uint64_t round = 0; round < 4; round++) {
		scene s = make_scene(19 + round);
		bool found[2];
		carom_closest_pair pair[2];
		const carom_query_filter first = filter_of(&s, 1), others = filter_of(&s, 2);
		for (int k = 0; k < 2; k++)
			REQUIRE(carom_world_closest_pair(k ? s.alone : s.granular, INFINITY, round % 2 ? &first : NULL,
						round % 2 ? &others : NULL, &found[k], &pair[k]) == CAROM_SUCCESS);
		CHECK(found[0] && found[1] && pair[0].distance == pair[1].distance);
		CHECK(same_told(&s, pair[0].body_a, pair[0].shape_a, pair[1].body_a) &&
			same_told(&s, pair[0].body_b, pair[0].shape_b, pair[1].body_b));
		CHECK(fixture_same_vector(pair[0].normal, pair[1].normal) && fixture_same_vector(pair[0].on_a, pair[1].on_a));
		free_scene(&s);
	}
}

TEST(query_spheres, see_what_was_set_last)
{
	scene s = make_scene(23);
	carom_query_filter filter = filter_of(&s, 1);
	const carom_ray ray = { { 50, 0, 10 }, { 0, 0, -1 }, 0, 14 };
	bool found;
	carom_ray_hit hit;
	REQUIRE(carom_world_cast_ray(s.granular, &ray, &filter, &found, &hit) == CAROM_SUCCESS);
	CHECK(!found);

	carom_snapshot *before = NULL;
	REQUIRE(carom_create_snapshot(s.granular, &before) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(s.granular, before) == CAROM_SUCCESS);
	const double moved[4] = { 50, 0, 1, 0.5 };
	const carom_strided centre = { moved, 0, CAROM_FLOAT64 }, radius = { &moved[3], 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_spheres(s.granular, s.grains[0], 1, &centre, &radius) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_ray(s.granular, &ray, &filter, &found, &hit) == CAROM_SUCCESS);
	CHECK(found && hit.shape == 0 && fixture_same_id(hit.body, s.grains[0]));
	CHECK_NEAR(hit.t, 8.5, 1e-12);
	filter.ignore = s.grains[0];
	REQUIRE(carom_world_cast_ray_any(s.granular, &ray, &filter, &found) == CAROM_SUCCESS);
	CHECK(!found);

	// None left, and then those of the snapshot.
	const carom_query_filter all = carom_default_query_filter();
	REQUIRE(carom_world_set_spheres(s.granular, s.grains[0], 0, &centre, &radius) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_ray_any(s.granular, &ray, &all, &found) == CAROM_SUCCESS);
	CHECK(!found);
	REQUIRE(carom_world_restore(s.granular, before) == CAROM_SUCCESS);
	carom_destroy_snapshot(before);
	check_ray(&s, &(carom_ray){ { -6, 0.1, 0.2 }, { 1, 0, 0 }, 0, INFINITY }, &all);
	free_scene(&s);
}

typedef struct asking {
	const scene *scene;
	carom_closest_point found[200];
} asking;

static void *ask_points(void *user)
{
	asking *a = user;
	uint64_t seed = 31;
	for (int i = 0; i < 200; i++) {
		bool found;
		a->found[i] = (carom_closest_point){ .triangle = -1 };
		CHECK(carom_world_closest_point(a->scene->granular, fixture_random_pose(&seed, 5).position, INFINITY, NULL, &found,
				  &a->found[i]) == CAROM_SUCCESS);
	}
	return NULL;
}

/// The contacts of a shape with all that is there, and those with the granular bodies.
static int check_contacts(const scene *s, const carom_shape *shape, const carom_pose *pose, const carom_query_filter *filter)
{
	enum { ROOM = 1024 };
	static carom_contact found[2][ROOM];
	int32_t count[2];
	int spheres = 0;
	for (int i = 0; i < 2; i++)
		REQUIRE(carom_world_collide_shape(i ? s->alone : s->granular, shape, pose, filter, ROOM, found[i], &count[i]) ==
			CAROM_SUCCESS);
	REQUIRE(count[0] == count[1] && count[0] <= ROOM);
	for (int i = 0; i < count[0]; i++) {
		const carom_contact *a = &found[0][i], *b = &found[1][i];
		CHECK(same_told(s, a->body_b, a->shape_b, b->body_b));
		CHECK(a->depth == b->depth && memcmp(a->point, b->point, sizeof a->point) == 0);
		CHECK(memcmp(a->normal, b->normal, sizeof a->normal) == 0);
		CHECK(a->pair == b->pair && a->feature_a == b->feature_a && a->feature_b == b->feature_b && a->kind == b->kind);
		for (int k = 0; k < GRAINS; k++)
			spheres += fixture_same_id(a->body_b, s->grains[k]);
	}
	return spheres;
}

TEST(query_spheres, a_shape_has_contacts_with_spheres_as_with_bodies)
{
	scene s = make_scene(31);
	uint64_t seed = 6;
	int spheres = 0;
	const carom_shape shapes[] = { fixture_box(0.8, 0.5, 0.4), fixture_of_mesh(s.mesh), fixture_sphere(0.9),
		fixture_capsule(0.3, 1) };
	for (int i = 0; i < 60 / TEST_FEWER; i++) {
		const carom_query_filter filter = filter_of(&s, i % 3);
		const carom_pose pose = fixture_random_pose(&seed, 3.5);
		spheres += check_contacts(&s, &shapes[i % 4], &pose, &filter);
	}
	CHECK(spheres > 60 / TEST_FEWER);
	free_scene(&s);
}

TEST(query_spheres, two_threads_ask_at_once)
{
	scene s = make_scene(29);
	asking *asks = calloc(2, sizeof *asks);
	REQUIRE(asks);
	asks[0].scene = asks[1].scene = &s;
	fixture_run_two(ask_points, (void *[2]){ &asks[0], &asks[1] });
	for (int i = 0; i < 200; i++)
		CHECK(fixture_same_vector(asks[0].found[i].point, asks[1].found[i].point) &&
			asks[0].found[i].shape == asks[1].found[i].shape);
	free(asks);
	free_scene(&s);
}

/// A world of its own, filled and asked.
static carom_result ask_once(carom_context *context)
{
	static const double places[2][4] = { { 0, 0, 0, 0.5 }, { 2, 0, 0, 0.5 } };
	carom_world *world;
	carom_result result = carom_create_world(context, NULL, &world);
	if (result != CAROM_SUCCESS)
		return result;
	carom_body_def body = carom_default_body_def();
	body.kind = CAROM_GRANULAR;
	body.sphere_count = 2;
	body.centres = (carom_strided){ places, 4 * sizeof(double), CAROM_FLOAT64 };
	body.radii = (carom_strided){ &places[0][3], 4 * sizeof(double), CAROM_FLOAT64 };
	carom_body_id id;
	bool found = false;
	carom_ray_hit hit;
	result = carom_world_add_body(world, &body, &id);
	if (result == CAROM_SUCCESS)
		result = carom_world_cast_ray(world, &(carom_ray){ { 2, 0, 5 }, { 0, 0, -1 }, 0, 9 }, NULL, &found, &hit);
	CHECK(result != CAROM_SUCCESS || (found && hit.shape == 1));
	carom_destroy_world(world);
	return result;
}

TEST(query_spheres, a_failure_of_each_allocation)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const long long before = heap.blocks;
	int failures = 0;
	for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS; failures++) {
		heap.calls = 0;
		heap.fail_at = failures;
		result = ask_once(context);
		heap.fail_at = -1;
		CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
		CHECK_INT(heap.blocks, before);
	}
	CHECK(failures > 10);
	carom_destroy_context(context);
}
