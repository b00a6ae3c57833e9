/// Walks of lines over triangles: the places they run over, and the walks themselves against the rays, on every instruction set.
#include "lab/lab_state.h"
#include "fixture.h"
#include "test.h"
#include "bvh/bvh_kernels.h"
#include "frame/body.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 3000 };

// ---- Lines ----

typedef struct walks {
	float origin[3][LINES];
	float direction[3][LINES];
	int32_t start[LINES];
	int32_t place[LINES];
	float t[LINES];
	uint8_t end[LINES];
} walks;

static void run(const cr_bvh_kernels *kernels, const cr_collider *c, walks *w, int32_t begin, int32_t end, int32_t max_walk,
	int64_t *visited)
{
	const cr_walk_lines lines = { { w->origin[0], w->origin[1], w->origin[2] },
		{ w->direction[0], w->direction[1], w->direction[2] }, w->place, w->t, w->end };
	kernels->walk(c, &lines, begin, end, max_walk, visited);
}

/// Lines that start near the surface and pass through the middle of a triangle, and walks that begin at a triangle up to steps edges away.
static void make_walks(const cr_collider *c, uint64_t seed, int steps, double depth, walks *w)
{
	for (int32_t i = 0; i < LINES; i++) {
		int32_t number = c->triangle_number[test_random(&seed) % (uint64_t)c->triangle_count];
		v3d p[3];
		cr_collider_triangle(c, number, p);
		const v3d middle = v3d_scale(v3d_add(v3d_add(p[0], p[1]), p[2]), 1.0 / 3), n = cr_collider_normal(c, number);
		v3d tilt = { test_random_double(&seed, -0.5, 0.5), test_random_double(&seed, -0.5, 0.5),
			test_random_double(&seed, -0.5, 0.5) };
		const v3d d = v3d_normalize(v3d_add(n, tilt));
		const v3d o = v3d_mad(middle, test_random_double(&seed, -depth, depth), d);
		for (int k = 0; k < 3; k++) {
			w->origin[k][i] = (float)v3d_get(o, k);
			w->direction[k][i] = (float)v3d_get(d, k);
		}
		for (uint64_t s = test_random(&seed) % (uint64_t)(steps + 1); s > 0; s--) {
			const int32_t next = c->topology->neighbours[3 * (int64_t)number + (int)(test_random(&seed) % 3)];
			number = next >= 0 ? next : number;
		}
		w->start[i] = w->place[i] = c->place[number];
	}
}

static carom_mesh *make_mesh(carom_context *context, int kind)
{
	if (kind == 0)
		return fixture_sphere_mesh(context, 1, 24);
	if (kind == 1)
		return fixture_torus_mesh(context, 40, 16, 0.35, 0.3);
	return fixture_sheet_mesh(context, 20, 2);
}

enum { KINDS = 3 };

// ---- Places ----

TEST(walk, places_and_what_lies_across)
{
	carom_context *context = fixture_context(1);
	for (int kind = 0; kind < KINDS; kind++) {
		carom_mesh *mesh = make_mesh(context, kind);
		const cr_collider *c = &mesh->collider;
		int borders = 0;
		for (int32_t i = 0; i < c->topology->triangle_count; i++) {
			const int32_t place = c->place[i];
			REQUIRE(CHECK(place >= 0 && place / CR_WIDTH < c->tree.block_count));
			CHECK_INT(cr_place_number(c, place), i);
			for (int k = 0; k < 3; k++) {
				const int32_t across = c->across[place / CR_WIDTH].edge[k][place % CR_WIDTH];
				const int32_t *t = &c->topology->triangles[3 * (int64_t)i];
				borders += across < 0;
				if (across < 0)
					continue;
				// The two ends of the edge are corners of the other triangle too.
				const int32_t *u = &c->topology->triangles[3 * (int64_t)cr_place_number(c, across)];
				int shared = 0;
				for (int m = 0; m < 3; m++) {
					const int32_t corner = c->topology->weld[u[m]];
					shared += corner == c->topology->weld[t[k]] || corner == c->topology->weld[t[(k + 1) % 3]];
				}
				CHECK_INT(shared, 2);
			}
		}
		CHECK_INT(borders, kind == 2 ? 80 : 0);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

TEST(walk, triangles_left_out_have_no_place)
{
	// The second triangle has no area, the third is the first again.
	static const float vertices[] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 2, 0, 0 };
	static const int32_t triangles[] = { 0, 1, 2, 0, 1, 3, 1, 2, 0 };
	carom_context *context = fixture_context(1);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 4;
	def.triangles = triangles;
	def.triangle_count = 3;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	int left_out = 0;
	for (int32_t i = 0; i < 3; i++) {
		left_out += mesh->collider.place[i] < 0;
		CHECK_INT(mesh->collider.place[i] >= 0, mesh->topology.used[i]);
	}
	CHECK_INT(left_out, 2);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ---- Walks ----

/// Where a line meets a triangle, in double; false when it does not, by more than the rounding of float.
static bool meets_triangle(const walks *w, int32_t i, const cr_collider *c, int32_t number, double *t, bool *back)
{
	v3d p[3], s[3];
	cr_collider_triangle(c, number, p);
	const v3d o = { w->origin[0][i], w->origin[1][i], w->origin[2][i] };
	const v3d d = { w->direction[0][i], w->direction[1][i], w->direction[2][i] };
	for (int k = 0; k < 3; k++)
		s[k] = v3d_sub(p[k], o);
	const v3d n = v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]));
	const double det = v3d_dot(n, d);
	*t = v3d_dot(n, s[0]) / det;
	*back = det > 0;
	for (int k = 0; k < 3; k++) {
		if (v3d_dot(d, v3d_cross(s[k], s[(k + 1) % 3])) / det < -1e-4)
			return false;
	}
	return true;
}

TEST(walk, ends_where_the_line_meets_the_surface)
{
	carom_context *context = fixture_context(1);
	static walks w;
	for (int kind = 0; kind < KINDS; kind++) {
		carom_mesh *mesh = make_mesh(context, kind);
		const cr_collider *c = &mesh->collider;
		make_walks(c, 61 + (uint64_t)kind, 4, 0.05, &w);
		int64_t visited = 0;
		run(cr_get_bvh_kernels(CAROM_SIMD_SCALAR), c, &w, 0, LINES, 32, &visited);
		CHECK(visited > LINES && visited < 6 * LINES);
		int lost = 0, wrong = 0;
		for (int32_t i = 0; i < LINES; i++) {
			double t = 0;
			bool back = false;
			if (w.end[i] == CR_WALK_LOST) {
				lost++;
				wrong += w.place[i] != w.start[i];
				continue;
			}
			wrong += !meets_triangle(&w, i, c, cr_place_number(c, w.place[i]), &t, &back);
			wrong += fabs(t - w.t[i]) > 1e-5 || back != (w.end[i] == CR_WALK_BACK);
		}
		CHECK_INT(wrong, 0);
		// A sphere loses none; on the sheet only lines beyond its border can be.
		CHECK(kind == 0 ? lost == 0 : lost < LINES / 50);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

TEST(walk, agrees_with_rays_on_a_sphere)
{
	// From inside a convex body there is one triangle to end at, from whatever triangle the walk starts. t is that of the ray.
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 1, 24);
	const cr_collider *c = &mesh->collider;
	static walks w;
	make_walks(c, 71, 3, 0, &w);
	static float t_max[LINES], t[LINES];
	static int32_t triangle[LINES];
	static uint8_t back[LINES];
	for (int32_t i = 0; i < LINES; i++) {
		t_max[i] = INFINITY;
		for (int k = 0; k < 3; k++)
			w.origin[k][i] *= 0.9f;
	}
	int64_t visited = 0;
	run(cr_get_bvh_kernels(CAROM_SIMD_SCALAR), c, &w, 0, LINES, 64, &visited);
	const carom_ray_batch rays = { LINES, { w.origin[0], w.origin[1], w.origin[2] },
		{ w.direction[0], w.direction[1], w.direction[2] }, t_max };
	const carom_hit_batch hits = { triangle, t, back };
	cr_cast_by(CAROM_RAYS_BASIC, CAROM_SIMD_SCALAR, c, &rays, 0, LINES, &hits);
	int same = 0;
	for (int32_t i = 0; i < LINES; i++) {
		CHECK_INT(w.end[i], CR_WALK_BACK);
		CHECK_NEAR(w.t[i], t[i], 1e-5);
		if (cr_place_number(c, w.place[i]) == triangle[i]) {
			same++;
			CHECK(memcmp(&w.t[i], &t[i], sizeof t[i]) == 0);
		}
	}
	CHECK(same > LINES * 99 / 100);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(walk, instruction_sets_and_batches_do_not_show)
{
	carom_context *context = fixture_context(1);
	static walks expected, w;
	for (int kind = 0; kind < KINDS; kind++) {
		carom_mesh *mesh = make_mesh(context, kind);
		const cr_collider *c = &mesh->collider;
		make_walks(c, 81, 12, 0.4, &expected);
		int64_t visited = 0;
		expected.place[5] = -1; // nowhere to start
		for (int k = 0; k < 3; k++)
			expected.direction[k][6] = 0; // no direction
		expected.origin[1][7] = NAN;
		expected.direction[2][8] = INFINITY;
		w = expected;
		run(cr_get_bvh_kernels(CAROM_SIMD_SCALAR), c, &expected, 0, LINES, 16, &visited);
		for (int i = 5; i < 9; i++)
			CHECK_INT(expected.end[i], CR_WALK_LOST);
		const walks start = w;
		for (int s = 0; s < FIXTURE_SIMD_COUNT; s++) {
			const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[s]);
			if (!kernels)
				continue;
			// Runs of any length: neighbours in the lanes must not matter.
			w = start;
			int64_t count = 0;
			for (int32_t i = 0, length = 1; i < LINES; i += length, length = length % 37 + 1)
				run(kernels, c, &w, i, i + length < LINES ? i + length : LINES, 16, &count);
			CHECK_INT(count, visited);
			CHECK(memcmp(w.place, expected.place, sizeof w.place) == 0);
			CHECK(memcmp(w.t, expected.t, sizeof w.t) == 0);
			CHECK(memcmp(w.end, expected.end, sizeof w.end) == 0);
		}
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

TEST(walk, edges_and_corners_are_not_leaks)
{
	// Lines through the corners and the middles of edges of a closed convex mesh end at a triangle that touches them.
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 1, 24);
	const cr_collider *c = &mesh->collider;
	static walks w;
	make_walks(c, 91, 2, 0, &w);
	for (int32_t i = 0; i < LINES; i++) {
		v3d p[3];
		cr_collider_triangle(c, cr_place_number(c, w.start[i]), p);
		const v3d d = i % 2 ? p[i % 3] : v3d_scale(v3d_add(p[i % 3], p[(i + 1) % 3]), 0.5);
		for (int k = 0; k < 3; k++) {
			w.origin[k][i] = 0;
			w.direction[k][i] = (float)v3d_get(d, k);
		}
	}
	int64_t visited = 0;
	run(cr_get_bvh_kernels(CAROM_SIMD_SCALAR), c, &w, 0, LINES, 32, &visited);
	for (int32_t i = 0; i < LINES; i++) {
		CHECK_INT(w.end[i], CR_WALK_BACK);
		CHECK_NEAR(w.t[i], 1, 1e-5);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(walk, is_bounded_and_stops_at_borders)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sheet_mesh(context, 20, 2);
	const cr_collider *c = &mesh->collider;
	static walks w;
	for (int32_t i = 0; i < LINES; i++) {
		const bool beyond = i % 2;
		w.origin[0][i] = beyond ? 5.0f : 0.93f;
		w.origin[1][i] = 0.013f;
		w.origin[2][i] = 0.5f;
		w.direction[0][i] = w.direction[1][i] = 0;
		w.direction[2][i] = 1;
		w.start[i] = w.place[i] = c->place[i % c->topology->triangle_count];
	}
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(CAROM_SIMD_SCALAR);
	int64_t visited = 0;
	run(kernels, c, &w, 0, LINES, 400, &visited);
	for (int32_t i = 0; i < LINES; i++) {
		CHECK_INT(w.end[i], i % 2 ? CR_WALK_LOST : CR_WALK_BACK);
		CHECK_NEAR(w.t[i], i % 2 ? 0 : -0.5, 1e-6);
	}
	// One triangle each, and none.
	memcpy(w.place, w.start, sizeof w.place);
	visited = 0;
	run(kernels, c, &w, 0, LINES, 1, &visited);
	CHECK_INT(visited, LINES);
	int ended = 0;
	for (int32_t i = 0; i < LINES; i++)
		ended += w.end[i] != CR_WALK_LOST;
	CHECK(ended > 0 && ended < 20);
	visited = 0;
	run(kernels, c, &w, 0, LINES, 0, &visited);
	CHECK_INT(visited, 0);
	for (int32_t i = 0; i < LINES; i++)
		CHECK_INT(w.end[i], CR_WALK_LOST);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
