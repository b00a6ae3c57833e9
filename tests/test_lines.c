/// Lines in both directions against two casts of every triangle, and pairs of triangles within reach against their distances; on every
/// instruction set.
#include "lab/lab_state.h"
#include "fixture.h"
#include "test.h"
#include "bvh/bvh_kernels.h"
#include "bvh/ray_scalar.h"
#include "frame/body.h"
#include "geom/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 1500 };

// ---- Lines ----

typedef struct line_set {
	float origin[3][LINES];
	float direction[3][LINES];
	float t_max[LINES];
} line_set;

typedef struct line_results {
	int32_t triangle[LINES];
	float t[LINES];
	uint8_t back[LINES];
	int32_t behind_triangle[LINES];
	float behind_t[LINES];
	uint8_t behind_back[LINES];
} line_results;

/// Every third line passes through a corner or an edge, every eleventh starts on the surface, some run along an axis.
static void make_lines(const cr_collider *c, uint64_t seed, line_set *set)
{
	for (int32_t i = 0; i < LINES; i++) {
		v3d p[3], o, d;
		cr_collider_triangle(c, c->triangle_number[test_random(&seed) % (uint64_t)c->triangle_count], p);
		const v3d to = i % 3 == 0 ? i % 2 ? p[0] : v3d_scale(v3d_add(p[0], p[1]), 0.5)
								  : v3d_scale(v3d_add(v3d_add(p[0], p[1]), p[2]), 1.0 / 3);
		d = (v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1) };
		if (i % 7 == 0)
			d = (v3d){ i % 2, 0, i % 2 - 1 };
		o = i % 11 == 0 ? p[0] : v3d_mad(to, test_random_double(&seed, -1, 1), d);
		for (int k = 0; k < 3; k++) {
			set->origin[k][i] = (float)v3d_get(o, k);
			set->direction[k][i] = (float)v3d_get(d, k);
		}
		set->t_max[i] = i % 5 == 0 ? 0.2f : INFINITY;
	}
	for (int k = 0; k < 3; k++)
		set->direction[k][17] = 0;
}

static carom_ray_batch view_lines(const line_set *s)
{
	return (carom_ray_batch){ LINES, { s->origin[0], s->origin[1], s->origin[2] },
		{ s->direction[0], s->direction[1], s->direction[2] }, s->t_max };
}

/// Behind the origin by the turned line, one triangle at a time.
static void look_behind(const cr_collider *c, const line_set *s, float reach, line_results *r)
{
	for (int32_t i = 0; i < LINES; i++) {
		const float origin[3] = { s->origin[0][i], s->origin[1][i], s->origin[2][i] };
		const float turned[3] = { -s->direction[0][i], -s->direction[1][i], -s->direction[2][i] };
		cr_scalar_ray ray;
		r->behind_triangle[i] = -1;
		r->behind_t[i] = 0;
		r->behind_back[i] = 0;
		if (reach == 0 || !cr_scalar_ray_init(&ray, origin, turned))
			continue;
		for (int32_t k = 0; k < c->topology->triangle_count; k++) {
			const int32_t *t = &c->topology->triangles[3 * (int64_t)k];
			const float *v = c->topology->vertices;
			cr_triangle_hit hit;
			if (!cr_ray_triangle_watertight(&ray.shear, v + 3 * t[0], v + 3 * t[1], v + 3 * t[2], reach, &hit) || hit.t == 0)
				continue;
			const bool first = r->behind_triangle[i] < 0 || hit.t < r->behind_t[i];
			if (!first &&
				(hit.t > r->behind_t[i] || !cr_hit_precedes(c, k, hit.back, r->behind_triangle[i], !r->behind_back[i])))
				continue;
			r->behind_triangle[i] = k;
			r->behind_t[i] = hit.t;
			r->behind_back[i] = !hit.back;
		}
	}
}

static int check_lines(const cr_collider *c, const line_set *set, float reach)
{
	static line_results expected, found;
	const carom_ray_batch rays = view_lines(set);
	const carom_hit_batch forward = { expected.triangle, expected.t, expected.back };
	cr_cast_by(CAROM_RAYS_BASIC, CAROM_SIMD_SCALAR, c, &rays, 0, LINES, &forward);
	look_behind(c, set, reach, &expected);
	for (int s = 0; s < FIXTURE_SIMD_COUNT; s++) {
		const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[s]);
		if (!kernels)
			continue;
		memset(&found, 0x55, sizeof found);
		const cr_line_hits hits = { found.triangle, found.t, found.back, found.behind_triangle, found.behind_t,
			found.behind_back };
		kernels->cast_lines(c, &rays, 0, 700, reach, &hits);
		kernels->cast_lines(c, &rays, 700, LINES, reach, &hits);
		CHECK(memcmp(found.triangle, expected.triangle, sizeof found.triangle) == 0);
		CHECK(memcmp(found.t, expected.t, sizeof found.t) == 0);
		CHECK(memcmp(found.back, expected.back, sizeof found.back) == 0);
		CHECK(memcmp(found.behind_triangle, expected.behind_triangle, sizeof found.behind_triangle) == 0);
		CHECK(memcmp(found.behind_t, expected.behind_t, sizeof found.behind_t) == 0);
		CHECK(memcmp(found.behind_back, expected.behind_back, sizeof found.behind_back) == 0);
	}
	int behind = 0;
	for (int32_t i = 0; i < LINES; i++)
		behind += expected.behind_triangle[i] >= 0;
	return behind;
}

TEST(lines, both_directions_are_those_of_two_casts)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[] = { fixture_sphere_mesh(context, 1, 16), fixture_torus_mesh(context, 24, 12, 0.35, 0.3),
		fixture_sheet_mesh(context, 10, 2) };
	static line_set set;
	for (int m = 0; m < 3; m++) {
		const cr_collider *c = &meshes[m]->collider;
		make_lines(c, 101 + (uint64_t)m, &set);
		CHECK_INT(check_lines(c, &set, 0), 0);
		const int few = check_lines(c, &set, 0.01f), some = check_lines(c, &set, 0.3f), all = check_lines(c, &set, 100);
		CHECK(few > 0 && few < some && some < all);
		carom_release_mesh(meshes[m]);
	}
	carom_destroy_context(context);
}

// ---- Pairs within reach ----

enum { SOUP = 60, MOST = 256 };

/// Triangles here and there; some are needles, some lie in one plane.
static carom_mesh *make_soup(carom_context *context, uint64_t seed, double scale)
{
	float vertices[9 * SOUP];
	int32_t triangles[3 * SOUP];
	for (int i = 0; i < SOUP; i++) {
		double centre[3];
		for (int k = 0; k < 3; k++) {
			centre[k] = test_random_double(&seed, -1, 1);
			triangles[3 * i + k] = 3 * i + k;
		}
		for (int k = 0; k < 9; k++) {
			double x = centre[k % 3] + test_random_double(&seed, -0.3, 0.3);
			if (i % 6 == 1 && k >= 6) // a needle
				x = 0.5 * (vertices[9 * i + k - 3] + vertices[9 * i + k - 6]) / scale + 1e-6 * (k - 7);
			if (i % 6 == 2 && k % 3 == 2)
				x = 0.25;
			vertices[9 * i + k] = (float)(x * scale);
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 3 * SOUP;
	def.triangles = triangles;
	def.triangle_count = SOUP;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// Distance of two triangles: an edge of one to the other, all ways; 0 when they meet.
static double triangle_distance(const v3d s[3], const v3d t[3])
{
	double best = INFINITY;
	v3d p, q;
	for (int k = 0; k < 3; k++) {
		best = fmin(best, cr_closest_segment_triangle(s[k], s[(k + 1) % 3], t[0], t[1], t[2], &p, &q));
		best = fmin(best, cr_closest_segment_triangle(t[k], t[(k + 1) % 3], s[0], s[1], s[2], &p, &q));
	}
	return sqrt(best);
}

typedef struct pose_pair {
	m3d rotation;
	v3d shift;
	cr_transform b_to_a, a_to_b;
} pose_pair;

static pose_pair make_poses(uint64_t *seed, double span)
{
	const carom_pose pose = fixture_random_pose(seed, span);
	pose_pair p;
	p.rotation = m3d_from_quat(span == 0 ? (carom_quat){ 0, 0, 0, 1 } : pose.orientation);
	p.shift = pose.position;
	const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const m3d inverse = m3d_transpose_mul(&p.rotation, &identity);
	p.b_to_a = cr_make_transform(&p.rotation, p.shift);
	p.a_to_b = cr_make_transform(&inverse, v3d_neg(m3d_tmul(&p.rotation, p.shift)));
	return p;
}

typedef struct reach_counts {
	int near, listed, tight;
} reach_counts;

/// Every pair within reach is listed once, with a gap that is not above its distance.
static reach_counts check_reach(
	const cr_collider *a, const cr_collider *b, const pose_pair *p, float reach, const cr_candidates *found)
{
	static float gap[MOST][MOST];
	reach_counts counts = { 0 };
	REQUIRE(a->topology->triangle_count <= MOST && b->topology->triangle_count <= MOST);
	for (int i = 0; i < MOST * MOST; i++)
		gap[i / MOST][i % MOST] = -1;
	for (int32_t i = 0; i < found->count; i++) {
		const cr_candidate c = found->data[i];
		CHECK(gap[c.a][c.b] < 0 && c.gap >= 0 && c.gap <= reach);
		gap[c.a][c.b] = c.gap;
	}
	int missed = 0, too_wide = 0;
	for (int32_t i = 0; i < a->triangle_count; i++) {
		for (int32_t k = 0; k < b->triangle_count; k++) {
			const int32_t na = a->triangle_number[i], nb = b->triangle_number[k];
			v3d s[3], t[3];
			cr_collider_triangle(a, na, s);
			cr_collider_triangle(b, nb, t);
			for (int m = 0; m < 3; m++)
				t[m] = v3d_add(m3d_mul(&p->rotation, t[m]), p->shift);
			const double distance = triangle_distance(s, t);
			const bool listed = gap[na][nb] >= 0;
			counts.near += distance <= reach;
			counts.listed += listed;
			counts.tight += listed && gap[na][nb] > 0.7 * distance;
			missed += distance <= reach && !listed;
			too_wide += listed && gap[na][nb] > distance;
		}
	}
	CHECK_INT(missed, 0);
	CHECK_INT(too_wide, 0);
	return counts;
}

static reach_counts check_pairs(const cr_collider *a, const cr_collider *b, const pose_pair *p, float reach)
{
	carom_context *context = fixture_context(1);
	cr_arena arena;
	cr_arena_init(&arena, context);
	cr_candidates expected = { .arena = &arena };
	cr_get_bvh_kernels(CAROM_SIMD_SCALAR)->pairs(a, b, &p->b_to_a, &p->a_to_b, reach, &expected);
	CHECK(!expected.failed);
	for (int s = 1; s < FIXTURE_SIMD_COUNT; s++) {
		const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[s]);
		if (!kernels)
			continue;
		cr_candidates found = { .arena = &arena };
		kernels->pairs(a, b, &p->b_to_a, &p->a_to_b, reach, &found);
		REQUIRE(CHECK_INT(found.count, expected.count));
		CHECK(found.count == 0 || memcmp(found.data, expected.data, (size_t)found.count * sizeof *found.data) == 0);
	}
	const reach_counts counts = check_reach(a, b, p, reach, &expected);
	cr_arena_free(&arena);
	carom_destroy_context(context);
	return counts;
}

TEST(lines, pairs_within_reach_are_found)
{
	carom_context *context = fixture_context(1);
	const double scales[] = { 1, 1e-6, 1e6 };
	for (int k = 0; k < 3; k++) {
		carom_mesh *a = make_soup(context, 111, scales[k]), *b = make_soup(context, 112, scales[k]);
		uint64_t seed = 113;
		reach_counts all = { 0 };
		for (int round = 0; round < 12; round++) {
			const pose_pair p = make_poses(&seed, round == 0 ? 0 : 2 * scales[k]);
			const float reach = (float)(scales[k] * (round % 3 == 0 ? 0 : round % 3 == 1 ? 0.02 : 0.3));
			const reach_counts counts = check_pairs(&a->collider, round == 0 ? &a->collider : &b->collider, &p, reach);
			if (reach > 0) {
				all.near += counts.near;
				all.listed += counts.listed;
				all.tight += counts.tight;
			}
		}
		// The bound is of use: not much is listed in vain, and many gaps are near the distance.
		CHECK(all.near > 300);
		CHECK(all.listed < 2 * all.near);
		CHECK(all.tight > all.listed / 3);
		carom_release_mesh(a);
		carom_release_mesh(b);
	}
	carom_destroy_context(context);
}

TEST(lines, pairs_of_closed_meshes_use_the_grid)
{
	// Apart by a known distance: with less reach nothing is near, with more something is.
	carom_context *context = fixture_context(1);
	carom_mesh *a = fixture_box_mesh(context, 0.5, 0.5, 0.5), *b = fixture_sphere_mesh(context, 0.5, 6);
	pose_pair p = { .rotation = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, .shift = { 0, 0, 1.25 } };
	p.b_to_a = cr_make_transform(&p.rotation, p.shift);
	p.a_to_b = cr_make_transform(&p.rotation, v3d_neg(p.shift));
	CHECK_INT(check_pairs(&a->collider, &b->collider, &p, 0).listed, 0);
	CHECK_INT(check_pairs(&a->collider, &b->collider, &p, 0.24f).listed, 0);
	CHECK(check_pairs(&a->collider, &b->collider, &p, 0.26f).near > 0);
	CHECK(check_pairs(&a->collider, &b->collider, &p, 3).near > 100);
	carom_release_mesh(a);
	carom_release_mesh(b);
	carom_destroy_context(context);
}
