/// Rays along and against the ways of vertices (carom_world_cast_velocity_rays), beside all triangles in double.
#include "fixture.h"
#include "geom/triangle.h"
#include "test.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HITS = 4000, MOST_VERTICES = 400 };

typedef struct velocity_scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *torus;
	carom_body_id cloth, ring, other;
	carom_pose ring_pose;
	double ways[3 * MOST_VERTICES];
	int32_t vertex_count;
	carom_velocity_hit *hits; // [MOST_HITS]
	int32_t count;
} velocity_scene;

/// Crumple a sheet, and draw the ways of its vertices.
static void move_cloth(velocity_scene *s, carom_body_id id, uint64_t *random, bool keep_ways)
{
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(s->world, id, &view) == CAROM_SUCCESS);
	double *places = malloc(6 * (size_t)view.count * sizeof *places), *begin = places + 3 * (size_t)view.count;
	for (int32_t i = 0; i < 3 * view.count; i++) {
		places[i] = (float)(view.data[i] + test_random_double(random, -0.15, 0.15));
		const double way = test_random_double(random, -0.2, 0.2);
		begin[i] = places[i] - way;
		if (keep_ways)
			s->ways[i] = places[i] - begin[i];
	}
	const carom_strided from = { begin, 0, CAROM_FLOAT64 }, to = { places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, id, &from, &to) == CAROM_SUCCESS);
	free(places);
}

static void open_scene(velocity_scene *s, uint64_t seed, int threads)
{
	uint64_t random = seed;
	*s = (velocity_scene){ .context = fixture_context(threads) };
	s->world = fixture_world(s->context, NULL);
	s->sheet = fixture_sheet_mesh(s->context, 15, 2);
	s->torus = fixture_torus_mesh(s->context, 16, 8, 0.3, 0.1);
	s->vertex_count = s->sheet->topology.vertex_count;
	REQUIRE(s->vertex_count <= MOST_VERTICES);
	s->ring_pose = fixture_random_pose(&random, 0.3);
	s->cloth = fixture_add(s->world, fixture_of_mesh(s->sheet), fixture_at(0, 0, 0), CAROM_CLOTH);
	s->ring = fixture_add(s->world, fixture_of_mesh(s->torus), s->ring_pose, CAROM_KINEMATIC);
	s->other = fixture_add(s->world, fixture_of_mesh(s->sheet), fixture_at(0.3, 0.2, 0.1), CAROM_CLOTH);
	move_cloth(s, s->cloth, &random, true);
	move_cloth(s, s->other, &random, false);
	s->hits = calloc(MOST_HITS, sizeof *s->hits);
}

static void close_scene(velocity_scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->torus);
	carom_destroy_context(s->context);
	free(s->hits);
}

static void cast(velocity_scene *s, const carom_velocity_rays *rays, const carom_query_filter *filter)
{
	REQUIRE(
		carom_world_cast_velocity_rays(s->world, s->cloth, NULL, rays, filter, MOST_HITS, s->hits, &s->count) == CAROM_SUCCESS);
	REQUIRE(s->count <= MOST_HITS);
}

// ---- All triangles ----

/// The nearest hits of a ray among all triangles: the best, and the distance of the next one, which is not nearly as near.
typedef struct dull_hit {
	double distance, next;
	carom_body_id body;
	int32_t triangle;
	v3d way; // of the surface there
} dull_hit;

typedef struct dull_ray {
	v3d origin, direction, way;
	double limit, ahead;
	int32_t vertex;
	bool relative;
	double slack; // smallest gap of a decision: hits within rounding of one say nothing
} dull_ray;

/// Where a ray meets the plane of a triangle, and the weights there. False: beside it.
static bool meet_triangle(const dull_ray *r, const v3d p[3], double *t, double weights[3])
{
	const v3d normal = v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]));
	const double across = v3d_dot(normal, r->direction);
	if (across == 0)
		return false;
	*t = v3d_dot(normal, v3d_sub(p[0], r->origin)) / across;
	const v3d on = v3d_mad(r->origin, *t, r->direction);
	for (int k = 0; k < 3; k++)
		weights[k] = v3d_dot(normal, v3d_cross(v3d_sub(p[(k + 2) % 3], p[(k + 1) % 3]), v3d_sub(on, p[(k + 1) % 3]))) /
			v3d_dot(normal, normal);
	return weights[0] >= -1e-5 && weights[1] >= -1e-5 && weights[2] >= -1e-5;
}

static void try_triangle(dull_ray *r, carom_body_id body, int32_t triangle, const v3d p[3], const v3d ways[3], dull_hit *best)
{
	double t, weights[3];
	if (!meet_triangle(r, p, &t, weights) || t < -1e-6)
		return;
	v3d way = { 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		way = v3d_mad(way, weights[k], ways[k]);
		r->slack = fmin(r->slack, fabs(weights[k]) * (t < r->limit + 1e-4 ? 1 : INFINITY));
	}
	const double along = r->ahead * v3d_dot(v3d_sub(r->way, way), r->direction);
	r->slack = fmin(r->slack, fmin(fabs(t), fmin(fabs(t - r->limit), r->relative ? fabs(t - along) : 1)));
	if (t > r->limit || (r->relative && t > along))
		return;
	if (t < best->distance)
		*best = (dull_hit){ t, best->distance, body, triangle, way };
	else if (t < best->next)
		best->next = t;
}

static void try_body(velocity_scene *s, dull_ray *r, carom_body_id id, dull_hit *best)
{
	const bool rigid = fixture_same_id(id, s->ring), own = fixture_same_id(id, s->cloth);
	const cr_topology *t = rigid ? &s->torus->topology : &s->sheet->topology;
	const m3d rotation = m3d_from_quat(s->ring_pose.orientation);
	carom_vertex_view view = { 0 };
	if (!rigid)
		REQUIRE(carom_world_get_vertices(s->world, id, &view) == CAROM_SUCCESS);
	const double *begin = rigid ? NULL : cr_deforming_of(&s->world->bodies.data[id.index1 - 1])->surface.begin;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		const int32_t *corners = &t->triangles[3 * i];
		v3d p[3], ways[3];
		if (own && (corners[0] == r->vertex || corners[1] == r->vertex || corners[2] == r->vertex))
			continue;
		for (int k = 0; k < 3; k++) {
			ways[k] = (v3d){ 0, 0, 0 };
			if (rigid) {
				p[k] = v3d_add(m3d_mul(&rotation, v3d_from_floats(t->vertices + 3 * corners[k])), s->ring_pose.position);
			} else {
				p[k] = v3d_from_doubles(view.data + 3 * corners[k]);
				ways[k] = v3d_sub(p[k], v3d_from_doubles(begin + 3 * corners[k]));
			}
		}
		try_triangle(r, id, i, p, ways, best);
	}
}

static const carom_velocity_hit *hit_of(const velocity_scene *s, int32_t vertex, bool behind)
{
	for (int32_t i = 0; i < s->count; i++) {
		if (s->hits[i].vertex == vertex && s->hits[i].behind == behind)
			return &s->hits[i];
	}
	return NULL;
}

static void check_hit(const dull_ray *r, const dull_hit *best, const carom_velocity_hit *hit)
{
	REQUIRE((hit != NULL) == (best->distance < INFINITY));
	if (!hit)
		return;
	CHECK_NEAR(hit->distance, best->distance, 1e-4);
	if (best->next > best->distance + 1e-4) {
		CHECK(fixture_same_id(hit->body, best->body));
		CHECK_INT(hit->triangle, best->triangle);
	}
	const v3d point = v3d_mad(r->origin, hit->distance, r->direction);
	CHECK(v3d_length(v3d_sub(point, fixture_vector(hit->point))) < 1e-9);
	CHECK_NEAR(v3d_length(fixture_vector(hit->normal)), 1, 1e-9);
	CHECK(v3d_dot(fixture_vector(hit->normal), r->direction) * r->ahead <= 0);
	CHECK_NEAR(hit->weights[0] + hit->weights[1] + hit->weights[2], 1, 1e-6);
}

/// Compare all hits with those of all triangles. Returns how many rays were judged that hit.
static int check_all(velocity_scene *s, const carom_velocity_rays *rays)
{
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(s->world, s->cloth, &view) == CAROM_SUCCESS);
	double longest = 0;
	int judged = 0;
	for (int32_t i = 0; i < s->vertex_count; i++)
		longest = fmax(longest, v3d_length(v3d_from_doubles(s->ways + 3 * i)));
	for (int32_t i = 0; i < 2 * s->vertex_count; i++) {
		const v3d way = v3d_from_doubles(s->ways + 3 * (i / 2));
		const double length = v3d_length(way), ahead = i % 2 == 0 ? 1 : -1;
		dull_ray ray = { v3d_from_doubles(view.data + 3 * (i / 2)), v3d_scale(way, ahead / length), way, length, ahead, i / 2,
			rays->relative, 1 };
		ray.limit = rays->max_distance > 0 ? rays->max_distance : rays->relative ? length + longest : length;
		dull_hit best = { INFINITY, INFINITY, { 0 }, -1, { 0, 0, 0 } };
		try_body(s, &ray, s->cloth, &best);
		try_body(s, &ray, s->ring, &best);
		try_body(s, &ray, s->other, &best);
		if (ray.slack < 1e-4)
			continue;
		check_hit(&ray, &best, hit_of(s, i / 2, i % 2 != 0));
		judged += best.distance < INFINITY;
	}
	return judged;
}

TEST(velocity_rays, against_all_triangles)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		velocity_scene s;
		open_scene(&s, seed, 2);
		const carom_velocity_rays ways[3] = { { 0 }, { .max_distance = 0.3 }, { .relative = true } };
		for (int k = 0; k < 3; k++) {
			cast(&s, &ways[k], NULL);
			CHECK(check_all(&s, &ways[k]) > 60);
			for (int32_t i = 1; i < s.count; i++)
				CHECK(s.hits[i - 1].vertex < s.hits[i].vertex ||
					(s.hits[i - 1].vertex == s.hits[i].vertex && !s.hits[i - 1].behind && s.hits[i].behind));
		}
		close_scene(&s);
	}
}

TEST(velocity_rays, threads_do_not_show)
{
	velocity_scene a, b;
	open_scene(&a, 7, 1);
	open_scene(&b, 7, 4);
	cast(&a, NULL, NULL);
	cast(&b, NULL, NULL);
	CHECK(a.count > 50);
	REQUIRE(a.count == b.count);
	for (int32_t i = 0; i < a.count; i++) {
		CHECK(a.hits[i].vertex == b.hits[i].vertex && a.hits[i].triangle == b.hits[i].triangle &&
			a.hits[i].distance == b.hits[i].distance && fixture_same_vector(a.hits[i].point, b.hits[i].point) &&
			fixture_same_vector(a.hits[i].normal, b.hits[i].normal));
	}
	close_scene(&a);
	close_scene(&b);
}

TEST(velocity_rays, given_ways_are_those_of_the_step)
{
	velocity_scene s;
	open_scene(&s, 11, 1);
	cast(&s, NULL, NULL);
	const int32_t count = s.count;
	carom_velocity_hit *before = malloc((size_t)count * sizeof *before);
	memcpy(before, s.hits, (size_t)count * sizeof *before);
	// Behind the step vertices have no ways of their own.
	fixture_step(s.world);
	cast(&s, NULL, NULL);
	CHECK_INT(s.count, 0);
	const carom_strided ways = { s.ways, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_cast_velocity_rays(s.world, s.cloth, &ways, NULL, NULL, MOST_HITS, s.hits, &s.count) == CAROM_SUCCESS);
	REQUIRE(s.count == count);
	for (int32_t i = 0; i < count; i++)
		CHECK(before[i].vertex == s.hits[i].vertex && before[i].distance == s.hits[i].distance);
	// Every third vertex alone.
	const carom_velocity_rays third = { .every = 3 };
	int32_t thirds = 0;
	for (int32_t i = 0; i < count; i++)
		thirds += before[i].vertex % 3 == 0;
	REQUIRE(carom_world_cast_velocity_rays(s.world, s.cloth, &ways, &third, NULL, MOST_HITS, s.hits, &s.count) == CAROM_SUCCESS);
	CHECK_INT(s.count, thirds);
	for (int32_t i = 0; i < s.count; i++)
		CHECK_INT(s.hits[i].vertex % 3, 0);
	free(before);
	close_scene(&s);
}

/// Two layers, one over the other: what is hit, and how many hits there are.
TEST(velocity_rays, layers_that_move_together_do_not_hit)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 6, 1);
	const carom_body_id low = fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 0), CAROM_CLOTH);
	const carom_body_id high = fixture_add(world, fixture_of_mesh(sheet), fixture_at(0.013, 0.017, 0.05), CAROM_CLOTH);
	const int32_t n = sheet->topology.vertex_count;
	double *places = malloc(3 * (size_t)n * sizeof *places);
	for (int both = 0; both < 2; both++) {
		for (int k = 0; k < 1 + both; k++) {
			carom_vertex_view view;
			REQUIRE(carom_world_get_vertices(world, k ? high : low, &view) == CAROM_SUCCESS);
			for (int32_t i = 0; i < 3 * n; i++)
				places[i] = view.data[i] + (i % 3 == 2 ? 0.1 : 0);
			const carom_strided end = { places, 0, CAROM_FLOAT64 };
			REQUIRE(carom_world_set_vertices(world, k ? high : low, NULL, &end) == CAROM_SUCCESS);
		}
		// The lower one goes through the upper one, or both go together.
		int32_t printed, relative;
		const carom_velocity_rays moving = { .relative = true };
		REQUIRE(carom_world_cast_velocity_rays(world, low, NULL, NULL, NULL, 0, NULL, &printed) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_velocity_rays(world, low, NULL, &moving, NULL, 0, NULL, &relative) == CAROM_SUCCESS);
		CHECK(printed >= 30);
		CHECK_INT(relative, both ? 0 : printed);
		fixture_step(world);
		for (int k = 0; k < 2 && !both; k++) {
			const carom_pose at = k ? fixture_at(0.013, 0.017, 0.05) : fixture_at(0, 0, 0);
			for (int32_t i = 0; i < n; i++) {
				const v3d p = v3d_add(v3d_from_floats(sheet->topology.vertices + 3 * i), at.position);
				places[3 * i] = p.x;
				places[3 * i + 1] = p.y;
				places[3 * i + 2] = p.z;
			}
			const carom_strided back = { places, 0, CAROM_FLOAT64 };
			REQUIRE(carom_world_set_vertices(world, k ? high : low, &back, NULL) == CAROM_SUCCESS);
		}
	}
	free(places);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

TEST(velocity_rays, misuse)
{
	velocity_scene s;
	open_scene(&s, 2, 1);
	int32_t count = 7;
	const carom_strided ways = { s.ways, 0, CAROM_FLOAT64 };
	CHECK_INT(carom_world_cast_velocity_rays(NULL, s.cloth, NULL, NULL, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(
		s.context, carom_world_cast_velocity_rays(s.world, s.cloth, NULL, NULL, NULL, 0, NULL, NULL), "count is NULL");
	fixture_expect_wrong(
		s.context, carom_world_cast_velocity_rays(s.world, s.ring, NULL, NULL, NULL, 0, NULL, &count), "does not deform");
	const carom_velocity_rays wrong[3] = { { .max_distance = -1 }, { .max_distance = INFINITY }, { .every = -2 } };
	const char *const texts[3] = { "rays.max_distance is -1", "rays.max_distance is inf", "rays.every is -2" };
	for (int i = 0; i < 3; i++)
		fixture_expect_wrong(
			s.context, carom_world_cast_velocity_rays(s.world, s.cloth, NULL, &wrong[i], NULL, 0, NULL, &count), texts[i]);
	s.ways[3 * 17 + 1] = NAN;
	fixture_expect_wrong(s.context, carom_world_cast_velocity_rays(s.world, s.cloth, &ways, NULL, NULL, 0, NULL, &count),
		"carom_world_cast_velocity_rays: ways: y of vertex 17 is");
	close_scene(&s);
}

TEST(velocity_rays, out_of_memory_fails_the_call_alone)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 6, 1), *torus = fixture_torus_mesh(context, 8, 6, 0.4, 0.3);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(sheet), fixture_at(0.1, 0, 0.01), CAROM_CLOTH);
	fixture_add(world, fixture_of_mesh(torus), fixture_at(0.8, 0.3, 0), CAROM_DYNAMIC);
	double ways[3 * MOST_VERTICES];
	for (int32_t i = 0; i < 3 * MOST_VERTICES; i++)
		ways[i] = i % 3 == 2 ? 0.3 : 0;
	const carom_strided given = { ways, 0, CAROM_FLOAT64 };
	int32_t expected = -1, failures = 0;
	for (bool failed = true; failed; failures += failed) {
		int32_t count = -1;
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failures);
		const carom_result result = carom_world_cast_velocity_rays(world, id, &given, NULL, NULL, 0, NULL, &count);
		atomic_store(&heap.fail_at, -1);
		failed = result != CAROM_SUCCESS;
		expected = failed ? 0 : count;
		CHECK(!failed || (result == CAROM_OUT_OF_MEMORY && count == 0));
	}
	CHECK(failures > 5);
	CHECK(expected > 5);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}
