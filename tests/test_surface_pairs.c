/// Triangles that intersect, within a mesh and between two, on doubles as they were given: against
/// every pair, judged by CGAL where it is there. The meshes lie far from the origin beside their
/// size, so that rounding to float would tell another story.
#include "carom/carom.h"
#include "fixture.h"
#include "frame/body.h"
#include "geom/triangle.h"
#include "geom/predicates.h"
#include "oracle.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIANGLES = 160, MOST_VERTICES = 3 * MOST_TRIANGLES, MOST_PAIRS = MOST_TRIANGLES * MOST_TRIANGLES };

typedef struct soup {
	double vertices[MOST_VERTICES][3];
	int32_t triangles[MOST_TRIANGLES][3];
	int32_t vertex_count, triangle_count;
} soup;

typedef struct pair_set {
	int32_t pairs[MOST_PAIRS][2], count;
} pair_set;

/// Small triangles around a far place. Of every eight one is of each kind: anywhere, on a grid of
/// whole steps (touching, coplanar, in one point), flat, a repetition of an earlier one with
/// vertices of its own, one that shares a vertex with an earlier one.
static void make_soup(soup *s, const double offset[3], double step, uint64_t *random)
{
	*s = (soup){ .triangle_count = MOST_TRIANGLES };
	for (int32_t t = 0; t < MOST_TRIANGLES; t++) {
		const int kind = t % 8;
		for (int k = 0; k < 3; k++) {
			double *p = s->vertices[s->vertex_count];
			for (int axis = 0; axis < 3; axis++)
				p[axis] =
					offset[axis] + step * (kind < 3 ? test_random_double(random, 0, 6) : (double)(test_random(random) % 7));
			s->triangles[t][k] = s->vertex_count++;
		}
		double(*p)[3] = &s->vertices[s->vertex_count - 3];
		const int32_t earlier = t > 0 ? (int32_t)(test_random(random) % (uint64_t)t) : 0;
		for (int axis = 0; axis < 3 && kind == 4; axis++)
			p[2][axis] = p[0][axis] + 2 * (p[1][axis] - p[0][axis]);
		for (int k = 0; k < 3 && kind == 5 && t > 0; k++)
			memcpy(p[k], s->vertices[s->triangles[earlier][(k + t) % 3]], sizeof p[k]);
		if (kind == 6)
			s->triangles[t][0] = s->triangles[earlier][t / 8 % 3];
	}
}

static carom_mesh *make_mesh(carom_context *context, const soup *s, carom_mesh_report *report)
{
	carom_mesh *mesh;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = s->vertices, .type = CAROM_FLOAT64 };
	def.vertex_count = s->vertex_count;
	def.triangles = s->triangles[0];
	def.triangle_count = s->triangle_count;
	def.grid_resolution = 0;
	REQUIRE(carom_create_mesh(context, &def, report, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void corners_of(const soup *s, int32_t t, v3d corners[3])
{
	for (int k = 0; k < 3; k++) {
		const double *p = s->vertices[s->triangles[t][k]];
		corners[k] = v3d_make(p[0], p[1], p[2]);
	}
}

static bool same_corner(v3d a, v3d b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

/// Flat, or with the corners of an earlier triangle in the same direction.
static bool is_left_out(const soup *s, int32_t t)
{
	v3d c[3], e[3];
	corners_of(s, t, c);
	if (cr_projection_axis(c[0], c[1], c[2]) < 0)
		return true;
	for (int32_t earlier = 0; earlier < t; earlier++) {
		corners_of(s, earlier, e);
		for (int turn = 0; turn < 3; turn++) {
			if (same_corner(c[0], e[turn]) && same_corner(c[1], e[(turn + 1) % 3]) && same_corner(c[2], e[(turn + 2) % 3]))
				return true;
		}
	}
	return false;
}

/// By CGAL, but for triangles that a move has made flat, which are nothing to it.
static bool judge(const v3d a[3], const v3d b[3])
{
#ifdef CAROM_HAVE_CGAL
	if (cr_projection_axis(a[0], a[1], a[2]) >= 0 && cr_projection_axis(b[0], b[1], b[2]) >= 0)
		return oracle_cgal_triangles_intersect(a, b);
#endif
	return carom_triangles_intersect(a, b);
}

static bool share_vertex(const soup *s, int32_t a, int32_t b)
{
	for (int k = 0; k < 9; k++) {
		if (s->triangles[a][k / 3] == s->triangles[b][k % 3])
			return true;
	}
	return false;
}

/// Every pair of a and b; b == a: within a. b is moved by a vector first.
static void find_dully(const soup *a, const soup *b, v3d move, pair_set *set)
{
	set->count = 0;
	bool out[2][MOST_TRIANGLES];
	for (int32_t t = 0; t < MOST_TRIANGLES; t++) {
		out[0][t] = is_left_out(a, t);
		out[1][t] = is_left_out(b, t);
	}
	for (int32_t i = 0; i < a->triangle_count; i++) {
		for (int32_t j = a == b ? i + 1 : 0; j < b->triangle_count; j++) {
			v3d p[3], q[3];
			if (out[0][i] || out[1][j] || (a == b && share_vertex(a, i, j)))
				continue;
			corners_of(a, i, p);
			corners_of(b, j, q);
			for (int k = 0; k < 3; k++)
				q[k] = v3d_add(q[k], move);
			if (!judge(p, q))
				continue;
			set->pairs[set->count][0] = i;
			set->pairs[set->count++][1] = j;
		}
	}
}

static bool same_set(const pair_set *a, const pair_set *b)
{
	return a->count == b->count && memcmp(a->pairs, b->pairs, (size_t)a->count * sizeof a->pairs[0]) == 0;
}

static const double offsets[5][3] = { { 0, 0, 0 }, { 1e5, -2e5, 3e5 }, { 1e9, 1e9, 0 }, { -1e12 + 1, 0, 1e-3 },
	{ 0.1, 0.2, 0.3 } };
static const double steps[5] = { 0.1, 1e-3, 0x1p-10, 0x1p-9, 1e-300 };

TEST(surface_pairs, of_doubles_against_every_pair)
{
	carom_context *context = fixture_context(1);
	static soup s, rounded;
	static pair_set found, expected, of_floats;
	uint64_t random = 31;
	int32_t total = 0, other = 0;
	for (int i = 0; i < 20; i++) {
		carom_mesh_report report;
		make_soup(&s, offsets[i % 5], steps[i % 5], &random);
		carom_mesh *mesh = make_mesh(context, &s, &report);
		REQUIRE(carom_mesh_self_intersections(mesh, MOST_PAIRS, found.pairs, &found.count) == CAROM_SUCCESS);
		find_dully(&s, &s, v3d_make(0, 0, 0), &expected);
		CHECK_INT(found.count, expected.count);
		CHECK(same_set(&found, &expected));
		total += expected.count;
		CHECK(report.rounded_vertices > 0 && report.rounding > 0);
		// A part of them, and the count alone.
		int32_t few[4][2], count;
		REQUIRE(carom_mesh_self_intersections(mesh, 4, few, &count) == CAROM_SUCCESS);
		CHECK(count == expected.count && memcmp(few, expected.pairs, (size_t)(count < 4 ? count : 4) * sizeof few[0]) == 0);
		REQUIRE(carom_mesh_self_intersections(mesh, 0, NULL, &count) == CAROM_SUCCESS);
		CHECK_INT(count, expected.count);
		carom_release_mesh(mesh);
		// Rounded first, it is another mesh.
		rounded = s;
		for (int32_t k = 0; k < 3 * s.vertex_count; k++)
			rounded.vertices[k / 3][k % 3] = (float)s.vertices[k / 3][k % 3];
		find_dully(&rounded, &rounded, v3d_make(0, 0, 0), &of_floats);
		other += !same_set(&of_floats, &expected);
	}
	CHECK(total > 2000);
	CHECK(other >= 12);
	carom_destroy_context(context);
}

TEST(surface_pairs, of_two_meshes_against_every_pair)
{
	carom_context *context = fixture_context(1);
	static soup a, b;
	static pair_set found, expected;
	uint64_t random = 32;
	int32_t total = 0;
	for (int i = 0; i < 20; i++) {
		const double *offset = offsets[i % 5], step = steps[i % 5];
		const double beside[3] = { offset[0] + 3 * step, offset[1], offset[2] };
		make_soup(&a, offset, step, &random);
		make_soup(&b, beside, step, &random);
		// Numbers that float holds, in some: then nothing is kept beside the floats.
		for (int32_t k = 0; k < 3 * a.vertex_count && i % 4 == 3; k++)
			a.vertices[k / 3][k % 3] = (float)a.vertices[k / 3][k % 3];
		carom_mesh *meshes[2] = { make_mesh(context, &a, NULL), make_mesh(context, &b, NULL) };
		for (int moved = 0; moved < 2; moved++) {
			const v3d move = moved ? v3d_make(-step, 0.3 * step, 0) : v3d_make(0, 0, 0);
			const carom_pose pose = { move, { 0, 0, 0, 1 } };
			REQUIRE(carom_mesh_intersections(meshes[0], NULL, meshes[1], moved ? &pose : NULL, MOST_PAIRS, found.pairs,
						&found.count) == CAROM_SUCCESS);
			find_dully(&a, &b, move, &expected);
			CHECK_INT(found.count, expected.count);
			CHECK(same_set(&found, &expected));
			total += expected.count;
		}
		carom_release_mesh(meshes[0]);
		carom_release_mesh(meshes[1]);
	}
	CHECK(total > 4000);
	carom_destroy_context(context);
}

TEST(surface_pairs, of_turned_meshes_meet_as_in_a_world)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 24, 10, 0.4, 0.2), *ball = fixture_sphere_mesh(context, 0.8, 12);
	uint64_t random = 33;
	int meeting = 0;
	for (int i = 0; i < 60; i++) {
		const carom_pose a = fixture_random_pose(&random, 1.5), b = fixture_random_pose(&random, 1.5);
		int32_t count;
		carom_mesh_gap gap;
		bool found;
		REQUIRE(carom_mesh_intersections(torus, &a, ball, &b, 0, NULL, &count) == CAROM_SUCCESS);
		REQUIRE(carom_mesh_distance(torus, &a, ball, &b, INFINITY, &found, &gap) == CAROM_SUCCESS);
		CHECK((count > 0) == (gap.distance == 0));
		meeting += count > 0;
	}
	CHECK(meeting > 10 && meeting < 50);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

/// All pairs of triangles of two meshes of floats, the second one moved.
static void find_all(const carom_mesh *a, const carom_mesh *b, const carom_pose *pose, pair_set *set)
{
	const m3d rotation = m3d_from_quat(pose->orientation);
	set->count = 0;
	for (int32_t i = 0; i < a->topology.triangle_count; i++) {
		for (int32_t j = 0; j < b->topology.triangle_count; j++) {
			v3d p[3], q[3];
			for (int k = 0; k < 3; k++) {
				p[k] = v3d_from_floats(a->topology.vertices + 3 * a->topology.triangles[3 * i + k]);
				q[k] = v3d_from_floats(b->topology.vertices + 3 * b->topology.triangles[3 * j + k]);
				q[k] = v3d_add(m3d_mul(&rotation, q[k]), pose->position);
			}
			if (!cr_triangles_intersect(p, q))
				continue;
			REQUIRE(set->count < MOST_PAIRS);
			set->pairs[set->count][0] = i;
			set->pairs[set->count++][1] = j;
		}
	}
}

/// Meshes of floats go by their own trees: turned, side by side, coplanar, touching in a corner, and far apart.
TEST(surface_pairs, of_floats_against_every_pair)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[3] = { fixture_torus_mesh(context, 12, 6, 0.4, 0.2), fixture_sphere_mesh(context, 0.8, 8),
		fixture_box_mesh(context, 0.5, 0.5, 0.5) };
	static pair_set found, expected;
	uint64_t random = 34;
	int32_t total = 0;
	for (int i = 0; i < 60; i++) {
		const carom_mesh *a = meshes[i % 3], *b = meshes[i / 3 % 3];
		carom_pose pose = fixture_random_pose(&random, 0.9);
		if (i >= 45)
			pose = fixture_at(i % 2 ? 1 : 0.25, i % 4 / 2 ? 1 : 0, i % 8 / 4 ? 1 : 0);
		REQUIRE(carom_mesh_intersections(a, NULL, b, &pose, MOST_PAIRS, found.pairs, &found.count) == CAROM_SUCCESS);
		find_all(a, b, &pose, &expected);
		CHECK_INT(found.count, expected.count);
		CHECK(same_set(&found, &expected));
		total += expected.count;
	}
	CHECK(total > 1000);
	const carom_pose far = fixture_at(1e14, 0, 0);
	REQUIRE(carom_mesh_intersections(meshes[0], NULL, meshes[1], &far, 0, NULL, &found.count) == CAROM_SUCCESS);
	CHECK_INT(found.count, 0);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

/// A ball of doubles that floats do not hold.
static carom_mesh *fine_ball(carom_context *context)
{
	carom_mesh *ball = fixture_sphere_mesh(context, 1, 24);
	static double places[3 * FIXTURE_MAX_VERTICES];
	const cr_topology *t = &ball->topology;
	for (int32_t k = 0; k < 3 * t->vertex_count; k++)
		places[k] = t->vertices[k] * (1 + 1e-12);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	def.vertex_count = t->vertex_count;
	def.triangles = t->triangles;
	def.triangle_count = t->triangle_count;
	carom_mesh *fine;
	REQUIRE(carom_create_mesh(context, &def, NULL, &fine) == CAROM_SUCCESS);
	carom_release_mesh(ball);
	return fine;
}

/// What does not meet the box around the other mesh is sorted into no tree: two meshes of doubles with boxes apart
/// take the four arrays of each, and four to judge its triangles, and nothing more.
TEST(surface_pairs, only_what_may_meet_is_sorted)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *ball = fine_ball(context);
	const double shifts[3] = { 2.5, 1.99, 0.5 };
	for (int i = 0; i < 3; i++) {
		const carom_pose pose = fixture_at(shifts[i], 0, 0);
		const long long calls = heap.calls;
		const size_t held = carom_memory_in_use(context);
		int32_t count;
		REQUIRE(carom_mesh_intersections(ball, NULL, ball, &pose, 0, NULL, &count) == CAROM_SUCCESS);
		CHECK((count > 0) == (i > 0));
		if (i == 0)
			CHECK_INT(heap.calls - calls, 16);
		CHECK_INT(carom_memory_in_use(context), held);
	}
	carom_release_mesh(ball);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(surface_pairs, rounding_is_reported)
{
	carom_context *context = fixture_context(1);
	static soup s;
	carom_mesh_report report;
	s = (soup){ .vertex_count = 4, .triangle_count = 1, .triangles = { { 0, 1, 2 } } };
	const double given[4][3] = { { 16777217, 0, 0 }, { 0.5, 1, 2 }, { 1, 7, 3 }, { 0.1, 0.1, -0.1 } };
	memcpy(s.vertices, given, sizeof given);
	carom_release_mesh(make_mesh(context, &s, &report));
	CHECK_INT(report.rounded_vertices, 2);
	CHECK_NEAR(report.rounding, 1, 0);
	for (int k = 0; k < 12; k++)
		s.vertices[k / 3][k % 3] = (float)s.vertices[k / 3][k % 3];
	carom_release_mesh(make_mesh(context, &s, &report));
	CHECK_INT(report.rounded_vertices, 0);
	CHECK_NEAR(report.rounding, 0, 0);
	carom_destroy_context(context);
}

TEST(surface_pairs, exact_tests_of_points_and_triangles)
{
	const carom_vec3 a = { 0, 0, 0 }, b = { 1, 0, 0 }, c = { 0, 1, 0 };
	CHECK_INT(carom_orientation(a, b, c, (carom_vec3){ 0.1, 0.1, 0x1p-1074 }), 1);
	CHECK_INT(carom_orientation(a, b, c, (carom_vec3){ 0.1, 0.1, -1e308 }), -1);
	CHECK_INT(carom_orientation(a, b, c, (carom_vec3){ 1e300, -0.1, 0 }), 0);
	const carom_vec3 flat[3] = { { 0.25, 0.25, 0 }, { 0.25, 0.25, 1 }, { 0.25, 0.25, 2 } }, face[3] = { a, b, c };
	const carom_vec3 above[3] = { { 0.25, 0.25, 0x1p-1074 }, { 0.25, 0.25, 1 }, { 0.25, 0.5, 2 } };
	CHECK(carom_triangles_intersect(face, flat));
	CHECK(!carom_triangles_intersect(face, above));
	CHECK(!carom_triangles_intersect(face, NULL) && !carom_triangles_intersect(NULL, face));
}

TEST(surface_pairs, refuses_bad_calls)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_box_mesh(context, 1, 1, 1);
	int32_t pairs[1][2], count = 7;
	const carom_pose bad = { { NAN, 0, 0 }, { 0, 0, 0, 1 } };
	CHECK_INT(carom_mesh_intersections(NULL, NULL, mesh, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_intersections(mesh, NULL, NULL, NULL, 0, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_intersections: mesh_b is NULL");
	CHECK_INT(carom_mesh_intersections(mesh, NULL, mesh, NULL, 1, NULL, &count), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_intersections: pairs is NULL");
	CHECK_INT(carom_mesh_intersections(mesh, NULL, mesh, NULL, 1, pairs, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_intersections: count is NULL");
	CHECK_INT(carom_mesh_intersections(mesh, NULL, mesh, NULL, -1, pairs, &count), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_intersections: capacity is -1");
	CHECK_INT(carom_mesh_intersections(mesh, &bad, mesh, NULL, 1, pairs, &count), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_mesh_intersections: pose_a") != NULL);
	CHECK_INT(carom_mesh_intersections(mesh, NULL, mesh, &bad, 1, pairs, &count), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_mesh_intersections: pose_b") != NULL);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// Meshes of nothing, and of nothing that takes part.
TEST(surface_pairs, nothing_to_find)
{
	carom_context *context = fixture_context(1);
	carom_mesh *box = fixture_box_mesh(context, 1, 1, 1);
	static soup s;
	s = (soup){ .vertices = { { 0.1 }, { 0.2 }, { 0.3 } }, .vertex_count = 3 };
	for (int i = 0; i < 2; i++) {
		s.triangle_count = i;
		s.triangles[0][1] = 1;
		s.triangles[0][2] = 2;
		carom_mesh *mesh = make_mesh(context, &s, NULL);
		int32_t count = 7;
		CHECK_INT(carom_mesh_self_intersections(mesh, 0, NULL, &count), CAROM_SUCCESS);
		CHECK_INT(count, 0);
		count = 7;
		CHECK_INT(carom_mesh_intersections(mesh, NULL, box, NULL, 0, NULL, &count), CAROM_SUCCESS);
		CHECK_INT(count, 0);
		count = 7;
		CHECK_INT(carom_mesh_intersections(box, NULL, mesh, NULL, 0, NULL, &count), CAROM_SUCCESS);
		CHECK_INT(count, 0);
		carom_release_mesh(mesh);
	}
	carom_release_mesh(box);
	carom_destroy_context(context);
}

/// Make two meshes and ask for pairs, with one allocation failing. Returns how many calls failed.
static int pairs_with_failure(fixture_heap *heap, int64_t fail_at, const soup *a, const soup *b)
{
	carom_context *context = fixture_heap_context(heap, 1);
	atomic_store(&heap->fail_at, fail_at);
	carom_mesh_def def = carom_default_mesh_def();
	const soup *soups[2] = { a, b };
	carom_mesh *meshes[2] = { NULL, NULL };
	int failed = 0;
	for (int i = 0; i < 2; i++) {
		def.vertices = (carom_strided){ .data = soups[i]->vertices, .type = CAROM_FLOAT64 };
		def.vertex_count = soups[i]->vertex_count;
		def.triangles = soups[i]->triangles[0];
		def.triangle_count = soups[i]->triangle_count;
		while (carom_create_mesh(context, &def, NULL, &meshes[i]) != CAROM_SUCCESS)
			failed++;
	}
	int32_t count, again;
	static int32_t pairs[MOST_PAIRS][2];
	carom_result result;
	while ((result = carom_mesh_self_intersections(meshes[0], MOST_PAIRS, pairs, &count)) != CAROM_SUCCESS) {
		CHECK_INT(result, CAROM_OUT_OF_MEMORY);
		CHECK_INT(count, 0);
		failed++;
	}
	CHECK(count > 0);
	while ((result = carom_mesh_intersections(meshes[0], NULL, meshes[1], NULL, MOST_PAIRS, pairs, &again)) != CAROM_SUCCESS) {
		CHECK_INT(result, CAROM_OUT_OF_MEMORY);
		CHECK_INT(again, 0);
		failed++;
	}
	CHECK(again > 0);
	carom_release_mesh(meshes[0]);
	carom_release_mesh(meshes[1]);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap->blocks), 0);
	return failed;
}

TEST(surface_pairs, survives_every_failed_allocation)
{
	static fixture_heap heap;
	static soup a, b;
	uint64_t random = 34;
	make_soup(&a, offsets[1], steps[1], &random);
	make_soup(&b, offsets[1], steps[1], &random);
	CHECK_INT(pairs_with_failure(&heap, -1, &a, &b), 0);
	const int64_t calls = atomic_load(&heap.calls);
	for (int64_t at = 1; at < calls && test_failures() == 0; at++)
		CHECK_INT(pairs_with_failure(&heap, at, &a, &b), 1);
	CHECK(calls > 60);
}
