// Batches (carom/batch.h): each answer against the single call, bit for bit, on one thread and on
// four; errors, empty batches, failures of every allocation.
#include "fixture.h"
#include "pool_fixture.h"
#include "query_fixture.h"
#include "world/world.h"

#include "carom/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 50, QUERIES = 300, SHAPES = 9, MOST = 4096 };

typedef struct batch_scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *torus, *sheet, *hull;
	carom_shape shapes[SHAPES];
	carom_body_id ids[BODIES];
	carom_query_filter filter;
	carom_body_id ignore[QUERIES];
	carom_ray rays[QUERIES];
	carom_vec3 points[QUERIES];
	carom_aabb boxes[QUERIES];
	carom_placed_shape placed[QUERIES];
	carom_shape_cast casts[QUERIES];
} batch_scene;

static void add_parts(batch_scene *s, carom_body_id *id)
{
	const carom_part parts[2] = { { fixture_sphere(0.5), fixture_at(0, 0, 1), 0 }, { s->shapes[6], fixture_at(0, 0, -1), 0 } };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 2;
	REQUIRE(carom_world_add_body(s->world, &def, id) == CAROM_SUCCESS);
}

static void fill_queries(batch_scene *s, uint64_t *seed)
{
	s->filter = carom_default_query_filter();
	s->filter.skip_sensors = true;
	for (int i = 0; i < QUERIES; i++) {
		const carom_pose from = fixture_random_pose(seed, 7), to = fixture_random_pose(seed, 7);
		const v3d way = v3d_sub(to.position, from.position);
		s->rays[i] = (carom_ray){ from.position, way, 0, i % 3 ? 1 : INFINITY };
		s->points[i] = from.position;
		s->boxes[i] = (carom_aabb){ from.position, v3d_add(from.position, (v3d){ 0.5, i % 5, 2 }) };
		s->placed[i] = (carom_placed_shape){ &s->shapes[i % SHAPES], to };
		s->casts[i] = (carom_shape_cast){ &s->shapes[i % SHAPES], { from, to } };
		s->ignore[i] = i % 4 ? s->ids[i % BODIES] : (carom_body_id){ 0, 0 };
	}
}

static void open_scene(batch_scene *s, carom_context *context)
{
	uint64_t seed = 5;
	float points[3 * 12];
	for (int i = 0; i < 36; i++)
		points[i] = (float)test_random_double(&seed, -0.6, 0.6);
	*s = (batch_scene){ .context = context };
	s->world = fixture_world(context, NULL);
	s->torus = fixture_torus_mesh(context, 10, 8, 0.4, 0.2);
	s->sheet = fixture_sheet_mesh(context, 3, 2);
	s->hull = fixture_hull_mesh(context, points, 12);
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.5), fixture_box(0.5, 0.4, 0.3), fixture_capsule(0.2, 0.5),
		fixture_cylinder(0.4, 0.3), fixture_cone(0.4, 0.5), fixture_hull(s->hull), fixture_of_mesh(s->torus),
		fixture_of_mesh(s->sheet), fixture_ellipsoid(0.5, 0.3, 0.2) };
	memcpy(s->shapes, shapes, sizeof shapes);
	for (int i = 0; i < BODIES; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 5);
		if (i == 3)
			add_parts(s, &s->ids[i]);
		else if (i == 7)
			s->ids[i] = fixture_add(s->world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -5), CAROM_STATIC);
		else if (i == 9 || i == 10)
			s->ids[i] = fixture_add(s->world, s->shapes[6], fixture_at(i - 9, 2, 0), i == 9 ? CAROM_DEFORMABLE : CAROM_CLOTH);
		else
			s->ids[i] = fixture_add(s->world, s->shapes[i % SHAPES], pose, CAROM_STATIC);
	}
	fill_queries(s, &seed);
}

static void close_scene(batch_scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->torus);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->hull);
}

static bool same_separation(const carom_separation *a, const carom_separation *b)
{
	return a->distance == b->distance && a->error == b->error && fixture_same_vector(a->normal, b->normal) &&
		fixture_same_vector(a->point_a, b->point_a) && fixture_same_vector(a->point_b, b->point_b);
}

/// What a miss looks like in a batch (carom/batch.h).
static const carom_ray_hit no_hit = { .t = INFINITY, .triangle = -1 };
static const carom_closest_point no_point = { .distance = INFINITY, .triangle = -1 };
static const carom_closest_body no_body = { .distance = INFINITY };
static const carom_shape_hit no_meeting = { .time = 1, .distance = INFINITY, .triangle = -1, .own_triangle = -1 };

static bool is_zero(const void *bytes, size_t size)
{
	const unsigned char *b = bytes;
	for (size_t i = 0; i < size; i++) {
		if (b[i] != 0)
			return false;
	}
	return true;
}

/// The filter of the single call that query i stands for.
static carom_query_filter filter_of(const batch_scene *s, bool own, int i)
{
	carom_query_filter filter = s->filter;
	if (own)
		filter.ignore = s->ignore[i];
	return filter;
}

static carom_batch batch_of(const batch_scene *s, bool own)
{
	return (carom_batch){ .count = QUERIES, .filter = &s->filter, .ignore = own ? s->ignore : NULL };
}

static void check_rays(const batch_scene *s, bool own)
{
	static carom_ray_hit hits[QUERIES];
	bool any[QUERIES];
	const carom_batch batch = batch_of(s, own);
	int found_count = 0;
	REQUIRE(carom_world_cast_rays(s->world, &batch, s->rays, hits) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_rays_any(s->world, &batch, s->rays, any) == CAROM_SUCCESS);
	for (int i = 0; i < QUERIES; i++) {
		const carom_query_filter filter = filter_of(s, own, i);
		bool found, some;
		carom_ray_hit hit = no_hit;
		REQUIRE(carom_world_cast_ray(s->world, &s->rays[i], &filter, &found, &hit) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray_any(s->world, &s->rays[i], &filter, &some) == CAROM_SUCCESS);
		CHECK(query_same_hit(&hits[i], &hit));
		CHECK_INT(any[i], some);
		found_count += found;
	}
	CHECK(found_count > QUERIES / 4);
	CHECK(found_count < QUERIES);
}

static void check_all_hits(const batch_scene *s, bool own)
{
	static carom_ray_hit hits[MOST], few[10];
	int64_t first[QUERIES + 1], again[QUERIES + 1];
	const carom_batch batch = batch_of(s, own);
	REQUIRE(carom_world_cast_rays_all(s->world, &batch, s->rays, MOST, hits, first) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_rays_all(s->world, &batch, s->rays, 10, few, again) == CAROM_SUCCESS);
	CHECK(memcmp(first, again, sizeof first) == 0);
	CHECK(first[0] == 0 && first[QUERIES] > QUERIES && first[QUERIES] < MOST);
	for (int i = 0; i < 10; i++)
		CHECK(query_same_hit(&few[i], &hits[i]));
	for (int i = 0; i < QUERIES; i++) {
		const carom_query_filter filter = filter_of(s, own, i);
		carom_ray_hit expected[64];
		int32_t count;
		REQUIRE(carom_world_cast_ray_all(s->world, &s->rays[i], &filter, 64, expected, &count) == CAROM_SUCCESS);
		CHECK_INT(first[i + 1] - first[i], count);
		for (int k = 0; k < count; k++)
			CHECK(query_same_hit(&hits[first[i] + k], &expected[k]));
	}
}

static void check_overlaps(const batch_scene *s, bool own)
{
	carom_body_id ids[MOST], expected[BODIES];
	int64_t first[QUERIES + 1];
	const carom_batch batch = batch_of(s, own);
	REQUIRE(carom_world_overlap_shapes(s->world, &batch, s->placed, MOST, ids, first) == CAROM_SUCCESS);
	CHECK(first[QUERIES] > QUERIES / 10);
	for (int i = 0; i < QUERIES; i++) {
		const carom_query_filter filter = filter_of(s, own, i);
		const carom_placed_shape *p = &s->placed[i];
		int32_t count;
		REQUIRE(carom_world_overlap_shape(s->world, p->shape, &p->pose, &filter, BODIES, expected, &count) == CAROM_SUCCESS);
		CHECK_INT(first[i + 1] - first[i], count);
		CHECK(count == 0 || memcmp(&ids[first[i]], expected, (size_t)count * sizeof *ids) == 0);
	}
}

static void check_boxes(const batch_scene *s, bool own)
{
	carom_body_id ids[MOST], expected[BODIES];
	int64_t first[QUERIES + 1];
	const carom_batch batch = batch_of(s, own);
	REQUIRE(carom_world_overlap_aabbs(s->world, &batch, s->boxes, MOST, ids, first) == CAROM_SUCCESS);
	CHECK(first[QUERIES] > QUERIES / 10);
	for (int i = 0; i < QUERIES; i++) {
		const carom_query_filter filter = filter_of(s, own, i);
		int32_t count;
		REQUIRE(carom_world_overlap_aabb(s->world, &s->boxes[i], &filter, BODIES, expected, &count) == CAROM_SUCCESS);
		CHECK_INT(first[i + 1] - first[i], count);
		CHECK(count == 0 || memcmp(&ids[first[i]], expected, (size_t)count * sizeof *ids) == 0);
	}
	// Fewer places than ids, and none.
	int64_t again[QUERIES + 1];
	carom_body_id few[6] = { { 0, 0 } };
	REQUIRE(carom_world_overlap_aabbs(s->world, &batch, s->boxes, 5, few, again) == CAROM_SUCCESS);
	CHECK(memcmp(first, again, sizeof first) == 0 && memcmp(few, ids, 5 * sizeof *ids) == 0);
	CHECK(few[5].index1 == 0);
}

static void check_shape(const batch_scene *s, const carom_shape *shape, const carom_pose *pose)
{
	static carom_ray_hit hits[QUERIES];
	static carom_closest_point closest[QUERIES];
	const carom_batch batch = { .count = QUERIES };
	int hit_count = 0, near_count = 0;
	REQUIRE(carom_shape_cast_rays(s->context, &batch, shape, pose, s->rays, hits) == CAROM_SUCCESS);
	REQUIRE(carom_shape_closest_points(s->context, &batch, shape, pose, s->points, 6, closest) == CAROM_SUCCESS);
	for (int i = 0; i < QUERIES; i++) {
		bool found, near;
		carom_ray_hit hit = no_hit;
		carom_closest_point point = no_point;
		REQUIRE(carom_shape_cast_ray(s->context, shape, pose, &s->rays[i], &found, &hit) == CAROM_SUCCESS);
		REQUIRE(carom_shape_closest_point(s->context, shape, pose, s->points[i], 6, &near, &point) == CAROM_SUCCESS);
		CHECK(query_same_hit(&hits[i], &hit) && (hits[i].t < INFINITY) == found);
		CHECK(query_same_closest(&closest[i], &point) && (closest[i].distance < INFINITY) == near);
		hit_count += found;
		near_count += near;
	}
	CHECK(hit_count > 0 && hit_count < QUERIES);
	CHECK(near_count > 50 && near_count < QUERIES);
}

static void check_contacts_and_bodies(const batch_scene *s, bool own)
{
	static carom_contact contacts[MOST], expected[256];
	static carom_closest_body closest[QUERIES];
	int64_t first[QUERIES + 1];
	const carom_batch batch = batch_of(s, own);
	int near = 0;
	REQUIRE(carom_world_collide_shapes(s->world, &batch, s->placed, MOST, contacts, first) == CAROM_SUCCESS);
	REQUIRE(carom_world_closest_bodies(s->world, &batch, s->placed, 0.5, closest) == CAROM_SUCCESS);
	CHECK(first[QUERIES] > QUERIES / 10 && first[QUERIES] < MOST);
	for (int i = 0; i < QUERIES; i++) {
		const carom_query_filter filter = filter_of(s, own, i);
		const carom_placed_shape *p = &s->placed[i];
		int32_t count;
		bool found;
		carom_closest_body body = no_body;
		REQUIRE(carom_world_collide_shape(s->world, p->shape, &p->pose, &filter, 256, expected, &count) == CAROM_SUCCESS);
		CHECK_INT(first[i + 1] - first[i], count);
		for (int k = 0; k < count; k++)
			CHECK(query_same_contact(&contacts[first[i] + k], &expected[k]));
		REQUIRE(carom_world_closest_body(s->world, p->shape, &p->pose, 0.5, &filter, &found, &body) == CAROM_SUCCESS);
		CHECK(query_same_body(&closest[i], &body));
		near += found;
	}
	CHECK(near > 50 && near < QUERIES);
}

static void check_points_and_casts(const batch_scene *s, bool own)
{
	static carom_closest_point closest[QUERIES];
	static carom_shape_hit hits[QUERIES];
	const carom_batch batch = batch_of(s, own);
	int near = 0, met = 0;
	REQUIRE(carom_world_closest_points(s->world, &batch, s->points, 1.5, closest) == CAROM_SUCCESS);
	REQUIRE(carom_world_cast_shapes(s->world, &batch, s->casts, 1e-3, hits) == CAROM_SUCCESS);
	for (int i = 0; i < QUERIES; i++) {
		const carom_query_filter filter = filter_of(s, own, i);
		const carom_shape_cast *c = &s->casts[i];
		bool is_near, meets;
		carom_closest_point point = no_point;
		carom_shape_hit hit = no_meeting;
		REQUIRE(carom_world_closest_point(s->world, s->points[i], 1.5, &filter, &is_near, &point) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_shape(s->world, c->shape, &c->motion, 1e-3, &filter, &meets, &hit) == CAROM_SUCCESS);
		CHECK(query_same_closest(&closest[i], &point));
		CHECK(query_same_shape_hit(&hits[i], &hit));
		near += is_near;
		met += meets;
	}
	CHECK(near > 50 && near < QUERIES);
	CHECK(met > 50 && met < QUERIES);
}

static void check_pairs(const batch_scene *s)
{
	static carom_shape_pair pairs[QUERIES];
	static carom_motion_pair moving[QUERIES];
	static carom_separation separations[QUERIES];
	static carom_manifold manifolds[QUERIES];
	static carom_toi impacts[QUERIES];
	const carom_batch batch = { .count = QUERIES };
	for (int i = 0; i < QUERIES; i++) {
		carom_pose near = s->placed[i].pose;
		near.position = v3d_scale(near.position, 0.15);
		pairs[i] = (carom_shape_pair){ &s->shapes[i % 6], &s->shapes[i / 6 % 6], near, carom_pose_identity() };
		moving[i] =
			(carom_motion_pair){ &s->shapes[i % SHAPES], &s->shapes[i / SHAPES % SHAPES], s->casts[i].motion, { near, near } };
	}
	REQUIRE(carom_distances(s->context, &batch, pairs, separations) == CAROM_SUCCESS);
	REQUIRE(carom_manifolds(s->context, &batch, pairs, 0.1, manifolds) == CAROM_SUCCESS);
	REQUIRE(carom_times_of_impact(s->context, &batch, moving, 1e-3, impacts) == CAROM_SUCCESS);
	int overlaps = 0, meet = 0;
	for (int i = 0; i < QUERIES; i++) {
		const carom_shape_pair *p = &pairs[i];
		const carom_motion_pair *m = &moving[i];
		carom_separation separation;
		carom_manifold manifold;
		carom_toi toi;
		REQUIRE(carom_distance(s->context, p->a, &p->pose_a, p->b, &p->pose_b, &separation) == CAROM_SUCCESS);
		REQUIRE(carom_collide_convex(s->context, p->a, &p->pose_a, p->b, &p->pose_b, 0.1, &manifold) == CAROM_SUCCESS);
		REQUIRE(carom_time_of_impact(s->context, m->a, &m->motion_a, m->b, &m->motion_b, 1e-3, &toi) == CAROM_SUCCESS);
		CHECK(same_separation(&separations[i], &separation));
		CHECK(fixture_same_vector(manifolds[i].normal, manifold.normal));
		CHECK_INT(manifolds[i].count, manifold.count);
		CHECK(memcmp(manifolds[i].points, manifold.points, (size_t)manifold.count * sizeof *manifold.points) == 0);
		CHECK(impacts[i].status == toi.status && impacts[i].time == toi.time && impacts[i].steps == toi.steps &&
			impacts[i].triangle_a == toi.triangle_a && impacts[i].triangle_b == toi.triangle_b);
		CHECK(same_separation(&impacts[i].separation, &toi.separation));
		overlaps += separation.distance < 0;
		meet += toi.status != CAROM_TOI_APART;
	}
	CHECK(overlaps > 20 && overlaps < QUERIES);
	CHECK(meet > 5);
}

/// The first query of a batch makes the tree of the bodies and those of bodies that deform: all
/// workers may want them.
static void check_with(int threads)
{
	if (threads < TEST_LEAST_THREADS)
		test_skip("there are no races on one thread");
	static batch_scene s;
	carom_context *context = fixture_context(threads);
	open_scene(&s, context);
	for (int own = 0; own < 2; own++) {
		check_rays(&s, own);
		check_all_hits(&s, own);
		check_overlaps(&s, own);
		check_boxes(&s, own);
		check_points_and_casts(&s, own);
		check_contacts_and_bodies(&s, own);
	}
	check_pairs(&s);
	const carom_pose pose = { { 0.5, -0.3, 0.2 }, fixture_turn((v3d){ 1, 2, 3 }, 1) };
	for (int i = 0; i < SHAPES; i++) {
		if (s.shapes[i].type != CAROM_PLANE)
			check_shape(&s, &s.shapes[i], i % 2 ? &pose : NULL);
	}
	close_scene(&s);
	carom_destroy_context(context);
}

TEST(batch, answers_of_one_thread_are_those_of_single_calls) { check_with(1); }

TEST(batch, answers_of_four_threads_are_those_of_single_calls)
{
	pool_require_threads();
	check_with(4);
}

// ---- Errors ----

/// Wrong queries 7 and 200 of each batch that has one.
static void spoil(batch_scene *s)
{
	static const carom_shape bad = { .type = CAROM_SPHERE, .radius = -1 }, plane = { .type = CAROM_PLANE };
	for (int i = 7; i < QUERIES; i += 193) {
		s->rays[i].origin.y = NAN;
		s->points[i].z = INFINITY;
		s->boxes[i].lower.x = i == 7 ? NAN : 1e6;
		s->placed[i].shape = i == 7 ? &bad : NULL;
		s->casts[i].shape = i == 7 ? &plane : &bad;
	}
}

TEST(batch, the_first_wrong_query_is_named_on_any_threads)
{
	static batch_scene s;
	static carom_ray_hit hits[QUERIES];
	static carom_closest_point closest[QUERIES];
	static carom_shape_hit met[QUERIES];
	int64_t first[QUERIES + 1];
	bool any[QUERIES];
	carom_context *context = fixture_context(4);
	open_scene(&s, context);
	spoil(&s);
	const carom_batch batch = { .count = QUERIES };
	for (int round = 0; round < 20; round++) {
		memset(hits, 1, sizeof hits);
		fixture_expect_wrong(context, carom_world_cast_rays(s.world, &batch, s.rays, hits),
			"carom_world_cast_rays: rays[7]: ray.origin is not finite");
		CHECK(is_zero(hits, sizeof hits));
		memset(any, 1, sizeof any);
		fixture_expect_wrong(context, carom_world_cast_rays_any(s.world, &batch, s.rays, any), "rays_any: rays[7]: ray.origin");
		CHECK(is_zero(any, sizeof any));
		memset(first, 1, sizeof first);
		fixture_expect_wrong(
			context, carom_world_cast_rays_all(s.world, &batch, s.rays, 0, NULL, first), "rays_all: rays[7]: ray.origin");
		CHECK(is_zero(first, sizeof first));
		memset(closest, 1, sizeof closest);
		fixture_expect_wrong(
			context, carom_world_closest_points(s.world, &batch, s.points, 1, closest), "points[7]: point is not finite");
		CHECK(is_zero(closest, sizeof closest));
		memset(first, 1, sizeof first);
		fixture_expect_wrong(
			context, carom_world_overlap_shapes(s.world, &batch, s.placed, 0, NULL, first), "shapes[7]: shape.radius is -1");
		CHECK(is_zero(first, sizeof first));
		memset(first, 1, sizeof first);
		fixture_expect_wrong(
			context, carom_world_overlap_aabbs(s.world, &batch, s.boxes, 0, NULL, first), "boxes[7]: box.lower is not finite");
		CHECK(is_zero(first, sizeof first));
		memset(hits, 1, sizeof hits);
		fixture_expect_wrong(context, carom_shape_cast_rays(context, &batch, &s.shapes[0], NULL, s.rays, hits),
			"carom_shape_cast_rays: rays[7]: ray.origin is not finite");
		CHECK(is_zero(hits, sizeof hits));
		memset(closest, 1, sizeof closest);
		fixture_expect_wrong(context, carom_shape_closest_points(context, &batch, &s.shapes[0], NULL, s.points, 1, closest),
			"carom_shape_closest_points: points[7]: point is not finite");
		CHECK(is_zero(closest, sizeof closest));
		memset(met, 1, sizeof met);
		fixture_expect_wrong(
			context, carom_world_cast_shapes(s.world, &batch, s.casts, 1e-3, met), "casts[7]: shape.type is CAROM_PLANE");
		CHECK(is_zero(met, sizeof met));
	}
	close_scene(&s);
	carom_destroy_context(context);
}

TEST(batch, results_tell_which_queries_of_all_threads_are_wrong)
{
	static batch_scene s;
	static carom_ray_hit hits[QUERIES], good[QUERIES];
	carom_result results[QUERIES];
	int64_t first[QUERIES + 1];
	carom_body_id ids[MOST];
	carom_context *context = fixture_context(4);
	open_scene(&s, context);
	REQUIRE(carom_world_cast_rays(s.world, &(carom_batch){ .count = QUERIES }, s.rays, good) == CAROM_SUCCESS);
	spoil(&s);
	const carom_batch batch = { .count = QUERIES, .results = results };
	memset(hits, 1, sizeof hits);
	REQUIRE(carom_world_cast_rays(s.world, &batch, s.rays, hits) == CAROM_SUCCESS);
	CHECK(strstr(carom_error_text(context), "carom_world_cast_rays: rays[7]: ray.origin is not finite") != NULL);
	for (int i = 0; i < QUERIES; i++) {
		const bool wrong = i == 7 || i == 200;
		CHECK_INT(results[i], wrong ? CAROM_INVALID_ARGUMENT : CAROM_SUCCESS);
		CHECK(wrong ? is_zero(&hits[i], sizeof hits[i]) : query_same_hit(&hits[i], &good[i]));
	}
	REQUIRE(carom_world_overlap_shapes(s.world, &batch, s.placed, MOST, ids, first) == CAROM_SUCCESS);
	CHECK_INT(results[7], CAROM_INVALID_ARGUMENT);
	CHECK_INT(results[200], CAROM_INVALID_ARGUMENT);
	CHECK(first[8] == first[7] && first[201] == first[200] && first[QUERIES] > 0);
	REQUIRE(carom_world_overlap_aabbs(s.world, &batch, s.boxes, MOST, ids, first) == CAROM_SUCCESS);
	CHECK_INT(results[7], CAROM_INVALID_ARGUMENT);
	CHECK_INT(results[200], CAROM_INVALID_ARGUMENT);
	CHECK(first[8] == first[7] && first[201] == first[200] && first[QUERIES] > 0);
	// Two planes are a pair that has no distance.
	const carom_shape plane = { .type = CAROM_PLANE }, ball = fixture_sphere(1);
	const carom_shape_pair pairs[3] = { { &ball, &plane, fixture_at(0, 0, 3), fixture_at(0, 0, 0) },
		{ &plane, &plane, fixture_at(0, 0, 3), fixture_at(0, 0, 0) },
		{ &ball, &ball, fixture_at(0, 0, 3), fixture_at(0, 0, 0) } };
	carom_separation separations[3];
	REQUIRE(carom_distances(context, &(carom_batch){ .count = 3, .results = results }, pairs, separations) == CAROM_SUCCESS);
	CHECK_INT(results[1], CAROM_UNSUPPORTED);
	CHECK_NEAR(separations[0].distance, 2, 0);
	CHECK_NEAR(separations[2].distance, 1, 0);
	CHECK_INT(carom_distances(context, &(carom_batch){ .count = 3 }, pairs, separations), CAROM_UNSUPPORTED);
	CHECK(strstr(carom_error_text(context), "carom_distances: pairs[1]: two planes have no distance") != NULL);
	CHECK(is_zero(separations, sizeof separations));
	close_scene(&s);
	carom_destroy_context(context);
}

TEST(batch, empty_batches_and_misuse)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_batch none = { .count = 0 }, one = { .count = 1 }, wrong = { .count = -3 };
	const carom_query_filter filter = carom_default_query_filter();
	const carom_shape ball = fixture_sphere(1);
	const carom_ray ray = { { 0, 0, 0 }, { 1, 0, 0 }, 0, 1 };
	const carom_vec3 point = { 0, 0, 0 };
	const carom_shape_cast cast = { &ball, { carom_pose_identity(), carom_pose_identity() } };
	const carom_placed_shape placed = { &ball, carom_pose_identity() };
	carom_closest_body body;
	const carom_shape_pair pair = { &ball, &ball, fixture_at(0, 0, 0), fixture_at(3, 0, 0) };
	const carom_motion_pair moving = { &ball, &ball, cast.motion, cast.motion };
	carom_ray_hit hit;
	carom_closest_point closest;
	carom_shape_hit met;
	carom_separation separation;
	carom_manifold manifold;
	carom_toi toi;
	int64_t first[2] = { 5, 5 };
	CHECK_INT(carom_world_cast_rays(world, &none, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_world_cast_rays_any(world, &none, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_world_cast_rays_all(world, &none, NULL, 0, NULL, first), CAROM_SUCCESS);
	CHECK_INT(first[0], 0);
	CHECK_INT(carom_world_closest_points(world, &none, NULL, 1, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_world_cast_shapes(world, &none, NULL, 1, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_distances(context, &none, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_manifolds(context, &none, NULL, 0, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_times_of_impact(context, &none, NULL, 1, NULL), CAROM_SUCCESS);
	// A world without bodies.
	CHECK_INT(carom_world_cast_rays(world, &one, &ray, &hit), CAROM_SUCCESS);
	CHECK(hit.body.index1 == 0);
	CHECK_INT(carom_world_closest_points(world, &one, &point, 1, &closest), CAROM_SUCCESS);
	CHECK(closest.body.index1 == 0);

	CHECK_INT(carom_world_cast_rays(NULL, &one, &ray, &hit), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_rays_any(NULL, &one, &ray, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_rays_all(NULL, &one, &ray, 0, NULL, first), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_closest_points(NULL, &one, &point, 1, &closest), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_overlap_aabbs(NULL, &one, NULL, 0, NULL, first), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_shape_cast_rays(NULL, &one, &ball, NULL, &ray, &hit), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_shape_closest_points(NULL, &one, &ball, NULL, &point, 1, &closest), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_overlap_aabbs(world, &none, NULL, 0, NULL, first), CAROM_SUCCESS);
	CHECK_INT(carom_shape_cast_rays(context, &none, &ball, NULL, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_shape_closest_points(context, &none, &ball, NULL, NULL, 1, NULL), CAROM_SUCCESS);
	fixture_expect_wrong(context, carom_world_overlap_aabbs(world, &one, NULL, 0, NULL, first), "boxes is NULL");
	fixture_expect_wrong(context, carom_shape_cast_rays(context, &one, NULL, NULL, &ray, &hit), "shape is NULL");
	fixture_expect_wrong(context, carom_shape_cast_rays(context, &one, &ball, NULL, NULL, &hit), "rays is NULL");
	fixture_expect_wrong(context, carom_shape_cast_rays(context, &one, &ball, NULL, &ray, NULL), "hits is NULL");
	fixture_expect_wrong(context, carom_shape_cast_rays(context, NULL, &ball, NULL, &ray, &hit), "batch is NULL");
	fixture_expect_wrong(context, carom_shape_closest_points(context, &one, &ball, NULL, &point, NAN, &closest),
		"carom_shape_closest_points: max_distance is");
	CHECK_INT(carom_world_overlap_shapes(NULL, &one, NULL, 0, NULL, first), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_cast_shapes(NULL, &one, &cast, 1, &met), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_distances(NULL, &one, &pair, &separation), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_manifolds(NULL, &one, &pair, 0, &manifold), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_times_of_impact(NULL, &one, &moving, 1, &toi), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_world_cast_rays(world, NULL, &ray, &hit), "carom_world_cast_rays: batch is NULL");
	fixture_expect_wrong(context, carom_world_cast_rays(world, &wrong, &ray, &hit), "batch->count is -3");
	fixture_expect_wrong(context, carom_world_cast_rays(world, &one, NULL, &hit), "carom_world_cast_rays: rays is NULL");
	fixture_expect_wrong(context, carom_world_cast_rays(world, &one, &ray, NULL), "hits is NULL");
	fixture_expect_wrong(context, carom_world_cast_rays_any(world, &one, &ray, NULL), "found is NULL");
	fixture_expect_wrong(context, carom_world_cast_rays_all(world, &one, NULL, 0, NULL, first), "rays is NULL");
	fixture_expect_wrong(context, carom_world_cast_rays_all(world, &one, &ray, 0, NULL, NULL), "first is NULL");
	fixture_expect_wrong(context, carom_world_cast_rays_all(world, &one, &ray, 1, NULL, first), "hits is NULL");
	fixture_expect_wrong(context, carom_world_cast_rays_all(world, &one, &ray, -1, NULL, first), "capacity is -1");
	fixture_expect_wrong(context, carom_world_overlap_shapes(world, &one, NULL, 0, NULL, first), "shapes is NULL");
	fixture_expect_wrong(
		context, carom_world_collide_shapes(world, &one, NULL, 0, NULL, first), "carom_world_collide_shapes: shapes is NULL");
	fixture_expect_wrong(context, carom_world_collide_shapes(world, &one, &placed, 1, NULL, first), "contacts is NULL");
	fixture_expect_wrong(
		context, carom_world_closest_bodies(world, &one, &placed, -1, &body), "carom_world_closest_bodies: max_distance is -1");
	fixture_expect_wrong(context, carom_world_closest_bodies(world, &one, &placed, 1, NULL), "closest is NULL");
	CHECK_INT(carom_world_collide_shapes(NULL, &one, &placed, 0, NULL, first), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_closest_bodies(NULL, &one, &placed, 1, &body), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_world_closest_points(world, &one, &point, -1, &closest), "max_distance is -1");
	fixture_expect_wrong(context, carom_world_closest_points(world, &one, &point, 1, NULL), "closest is NULL");
	fixture_expect_wrong(
		context, carom_world_cast_shapes(world, &one, &cast, 0, &met), "carom_world_cast_shapes: tolerance is 0");
	fixture_expect_wrong(context, carom_world_cast_shapes(world, &one, &cast, 1, NULL), "hits is NULL");
	fixture_expect_wrong(context, carom_distances(context, &one, &pair, NULL), "separations is NULL");
	fixture_expect_wrong(context, carom_distances(context, &(carom_batch){ .count = 1, .filter = &filter }, &pair, &separation),
		"batch->filter is given, which is for worlds alone");
	fixture_expect_wrong(context, carom_manifolds(context, &one, &pair, -1, &manifold), "carom_manifolds: margin is -1");
	fixture_expect_wrong(
		context, carom_times_of_impact(context, &one, &moving, 0, &toi), "carom_times_of_impact: tolerance is 0");
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(batch, what_all_queries_share_fails_all_of_them)
{
	static batch_scene s;
	static carom_ray_hit hits[QUERIES];
	static carom_closest_point closest[QUERIES];
	static carom_closest_body bodies[QUERIES];
	static carom_shape_hit met[QUERIES];
	static carom_separation separations[QUERIES];
	static carom_shape_pair pairs[QUERIES];
	static carom_body_id ids[QUERIES];
	static int64_t first[QUERIES + 1];
	carom_context *context = fixture_context(1);
	open_scene(&s, context);
	const carom_shape bad = { .type = CAROM_SPHERE, .radius = -1 };
	const struct {
		void *answers;
		size_t size;
	} outputs[] = { { closest, sizeof closest }, { bodies, sizeof bodies }, { met, sizeof met }, { first, sizeof first },
		{ first, sizeof first }, { separations, sizeof separations }, { hits, sizeof hits }, { closest, sizeof closest } };
	for (int kind = 0; kind < 8; kind++) {
		carom_result results[QUERIES], result = CAROM_SUCCESS;
		carom_batch batch = { .count = QUERIES, .results = results };
		memset(results, 0, sizeof results);
		memset(outputs[kind].answers, 1, outputs[kind].size);
		switch (kind) {
		case 0: result = carom_world_closest_points(s.world, &batch, s.points, -1, closest); break;
		case 1: result = carom_world_closest_bodies(s.world, &batch, s.placed, NAN, bodies); break;
		case 2: result = carom_world_cast_shapes(s.world, &batch, s.casts, 0, met); break;
		case 3: result = carom_world_overlap_aabbs(s.world, &batch, s.boxes, -1, ids, first); break;
		case 4: result = carom_world_overlap_shapes(s.world, &batch, s.placed, 1, NULL, first); break;
		case 5:
			batch.filter = &s.filter;
			result = carom_distances(context, &batch, pairs, separations);
			break;
		case 6: result = carom_shape_cast_rays(context, &batch, &bad, NULL, s.rays, hits); break;
		default: result = carom_shape_closest_points(context, &batch, &s.shapes[0], NULL, s.points, -1, closest);
		}
		CHECK_INT(result, CAROM_INVALID_ARGUMENT);
		CHECK(is_zero(outputs[kind].answers, outputs[kind].size));
		for (int i = 0; i < QUERIES; i++)
			CHECK_INT(results[i], CAROM_INVALID_ARGUMENT);
	}
	close_scene(&s);
	carom_destroy_context(context);
}

// ---- Memory ----

/// Asks one kind of batch. Returns its result; *clean: nothing was told where it failed.
static carom_result ask_kind(batch_scene *s, int kind, carom_result *results, bool *clean)
{
	static carom_ray_hit hits[MOST];
	static carom_shape_hit met[QUERIES];
	static carom_body_id ids[MOST];
	static carom_contact contacts[MOST];
	static int64_t first[QUERIES + 1];
	const carom_batch batch = { .count = QUERIES, .results = results };
	memset(first, 1, sizeof first);
	memset(hits, 1, sizeof hits);
	memset(met, 1, sizeof met);
	carom_result result;
	if (kind == 0)
		result = carom_world_cast_rays(s->world, &batch, s->rays, hits);
	else if (kind == 1)
		result = carom_world_cast_rays_all(s->world, &batch, s->rays, MOST, hits, first);
	else if (kind == 2)
		result = carom_world_overlap_shapes(s->world, &batch, s->placed, MOST, ids, first);
	else if (kind == 3)
		result = carom_world_collide_shapes(s->world, &batch, s->placed, MOST, contacts, first);
	else if (kind == 4)
		result = carom_world_overlap_aabbs(s->world, &batch, s->boxes, MOST, ids, first);
	else
		result = carom_world_cast_shapes(s->world, &batch, s->casts, 1e-3, met);
	*clean = kind == 0 ? is_zero(hits, QUERIES * sizeof *hits)
		: kind < 5     ? is_zero(first, sizeof first)
					   : is_zero(met, sizeof met);
	return result;
}

static void fail_allocations(int threads)
{
	if (threads < TEST_LEAST_THREADS)
		test_skip("there are no races on one thread");
	static batch_scene s;
	carom_result results[QUERIES];
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, threads);
	open_scene(&s, context);
	for (int kind = 0; kind < 6; kind++) {
		int failures = 0;
		bool clean;
		for (bool failed = true; failed && failures < 300; failures += failed) {
			cr_box_index_invalidate(s.world->query_index); // the tree must be made again
			atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failures);
			const carom_result result = ask_kind(&s, kind, results, &clean);
			atomic_store(&heap.fail_at, -1);
			failed = result != CAROM_SUCCESS;
			CHECK(!failed || result == CAROM_OUT_OF_MEMORY);
			CHECK(!failed || clean);
			for (int i = 0; i < QUERIES; i++)
				CHECK_INT(results[i], result);
		}
		CHECK(failures > 3);
		REQUIRE(ask_kind(&s, kind, results, &clean) == CAROM_SUCCESS);
		CHECK(!clean);
	}
	close_scene(&s);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

TEST(batch, no_memory_fails_the_whole_call_of_one_thread) { fail_allocations(1); }

TEST(batch, no_memory_fails_the_whole_call_of_four_threads)
{
	pool_require_threads();
	fail_allocations(4);
}

// ---- Inside a loop ----

static void ask_in_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	batch_scene *s = user;
	for (int64_t i = begin; i < end; i++) {
		const carom_batch batch = { .count = 100 };
		carom_ray_hit hits[100];
		int64_t first[101];
		s->filter.mask &= carom_world_cast_rays(s->world, &batch, s->rays, hits) == CAROM_SUCCESS ? UINT64_MAX : 0;
		s->filter.mask &= carom_world_cast_rays_all(s->world, &batch, s->rays, 0, NULL, first) == CAROM_SUCCESS ? UINT64_MAX : 0;
	}
}

TEST(batch, a_batch_inside_a_piece_of_a_loop_runs_on_its_worker)
{
	static batch_scene s;
	carom_context *context = fixture_context(4);
	open_scene(&s, context);
	carom_parallel_for(context, ask_in_piece, 8, 8, &s);
	CHECK(s.filter.mask == UINT64_MAX);
	close_scene(&s);
	carom_destroy_context(context);
}
