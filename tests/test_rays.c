/// Rays against meshes: the wide tree on every instruction set, the binary tree and the plain loop give the same bits; all agree with a judge
/// in double away from edges; and no ray slips through an edge or a vertex of a closed mesh.
#include "lab/lab_state.h"
#include "fixture.h"
#include "test.h"
#include "bvh/collider_query.h"
#include "carom/carom.h"
#include "frame/pipeline.h"
#include "geom/triangle.h"
#include "sim/shapes/shapes.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of the usual number of rays only one in so many is cast. Sanitizers make rays ten times slower.
#ifdef NDEBUG
enum { RAY_SHARE = TEST_FEWER > 1 ? 40 : 1 };
#else
enum { RAY_SHARE = TEST_FEWER > 1 ? 40 : 8 };
#endif

// ---- Meshes ----

typedef struct model {
	carom_context *context;
	carom_mesh *mesh;
	const cr_collider *collider;
	const float *vertices;
	const int32_t *triangles;
	int32_t triangle_count;
} model;

typedef struct model_def {
	const char *shape;
	int32_t triangles;
	double scale;
	double offset[3]; // before the scale
	int32_t left_out; // last triangles, to make the mesh open
} model_def;

/// Turn the order of the triangles round.
static void renumber(sim_mesh *m)
{
	for (int32_t i = 0; i < m->triangle_count / 2; i++) {
		for (int k = 0; k < 3; k++) {
			int32_t *p = &m->triangles[3 * i + k], *q = &m->triangles[3 * (m->triangle_count - 1 - i) + k];
			const int32_t swapped = *p;
			*p = *q;
			*q = swapped;
		}
	}
}

static model make_model_numbered(const model_def *d, bool otherwise)
{
	model m = { 0 };
	sim_mesh made;
	sim_error error;
	REQUIRE(sim_make_shape(d->shape, d->triangles, 3, &made, &error));
	for (int32_t i = 0; i < 3 * made.vertex_count; i++)
		made.vertices[i] = (float)((made.vertices[i] + d->offset[i % 3]) * d->scale);
	if (otherwise)
		renumber(&made);
	REQUIRE(carom_create_context(NULL, &m.context) == CAROM_SUCCESS);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ made.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = made.vertex_count;
	def.triangles = made.triangles;
	def.triangle_count = made.triangle_count - d->left_out;
	REQUIRE(carom_create_mesh(m.context, &def, NULL, &m.mesh) == CAROM_SUCCESS);
	CHECK_INT(carom_mesh_get_report(m.mesh)->closed, d->left_out == 0);
	m.collider = &m.mesh->collider;
	m.vertices = carom_mesh_get_vertices(m.mesh);
	m.triangles = carom_mesh_get_triangles(m.mesh);
	m.triangle_count = def.triangle_count;
	sim_mesh_free(&made);
	return m;
}

static model make_model(const model_def *d) { return make_model_numbered(d, false); }

static void free_model(model *m)
{
	carom_release_mesh(m->mesh);
	carom_destroy_context(m->context);
}

static const float *corner_of(const model *m, int32_t triangle, int corner)
{
	return &m->vertices[3 * (int64_t)m->triangles[3 * (int64_t)triangle + corner]];
}

static v3d corner_of_double(const model *m, int32_t triangle, int corner)
{
	return v3d_from_floats(corner_of(m, triangle, corner));
}

static int32_t random_below(uint64_t *seed, int32_t count) { return (int32_t)(test_random(seed) % (uint64_t)count); }

static double longest_side(const model *m)
{
	double longest = 0;
	for (int k = 0; k < 3; k++)
		longest = fmax(longest, (double)m->collider->upper[k] - m->collider->lower[k]);
	return longest;
}

// ---- Batches ----

typedef struct batch {
	float *rows[7]; // origin, direction, t_max
	int32_t count;
	carom_ray_batch rays;
} batch;

static batch make_batch(int32_t count)
{
	batch b = { .count = count };
	for (int k = 0; k < 7; k++) {
		b.rows[k] = calloc((size_t)count, sizeof(float));
		REQUIRE(b.rows[k]);
	}
	b.rays = (carom_ray_batch){ count, { b.rows[0], b.rows[1], b.rows[2] }, { b.rows[3], b.rows[4], b.rows[5] }, b.rows[6] };
	return b;
}

static void free_batch(batch *b)
{
	for (int k = 0; k < 7; k++)
		free(b->rows[k]);
}

static void set_ray(batch *b, int32_t i, const float origin[3], const float direction[3], float t_max)
{
	for (int k = 0; k < 3; k++) {
		b->rows[k][i] = origin[k];
		b->rows[3 + k][i] = direction[k];
	}
	b->rows[6][i] = t_max;
}

typedef struct result {
	int32_t *triangle;
	float *t;
	uint8_t *back;
	carom_hit_batch hits;
} result;

static result make_result(int32_t count)
{
	result r = { calloc((size_t)count, sizeof(int32_t)), calloc((size_t)count, sizeof(float)), calloc((size_t)count, 1), { 0 } };
	REQUIRE(r.triangle && r.t && r.back);
	r.hits = (carom_hit_batch){ r.triangle, r.t, r.back };
	return r;
}

static void free_result(result *r)
{
	free(r->triangle);
	free(r->t);
	free(r->back);
}

static void print_ray(const batch *b, int32_t i)
{
	printf("ray %d: origin %a %a %a direction %a %a %a t_max %a\n", i, b->rows[0][i], b->rows[1][i], b->rows[2][i],
		b->rows[3][i], b->rows[4][i], b->rows[5][i], b->rows[6][i]);
}

static bool same_results(const batch *b, const result *x, const result *y)
{
	for (int32_t i = 0; i < b->count; i++) {
		if (x->triangle[i] != y->triangle[i] || memcmp(&x->t[i], &y->t[i], sizeof(float)) != 0 || x->back[i] != y->back[i]) {
			print_ray(b, i);
			printf("triangle %d t %a back %d and triangle %d t %a back %d\n", x->triangle[i], x->t[i], x->back[i],
				y->triangle[i], y->t[i], y->back[i]);
			return false;
		}
	}
	return true;
}

/// All methods and instruction sets against the plain loop. Returns the number of hits.
static int32_t check_methods(const model *m, const batch *b)
{
	result expected = make_result(b->count), found = make_result(b->count);
	cr_cast_by(CAROM_RAYS_BASIC, CAROM_SIMD_SCALAR, m->collider, &b->rays, 0, b->count, &expected.hits);
	cr_cast_by(CAROM_RAYS_BINARY, CAROM_SIMD_SCALAR, m->collider, &b->rays, 0, b->count, &found.hits);
	CHECK(same_results(b, &found, &expected));
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[i]);
		if (!kernels)
			continue;
		memset(found.triangle, 0x55, (size_t)b->count * sizeof(int32_t));
		kernels->cast(m->collider, &b->rays, 0, b->count, &found.hits);
		if (!CHECK(same_results(b, &found, &expected)))
			printf("instruction set %s\n", carom_simd_name(fixture_all_simd[i]));
	}
	int32_t hits = 0;
	for (int32_t i = 0; i < b->count; i++)
		hits += expected.triangle[i] >= 0;
	free_result(&expected);
	free_result(&found);
	return hits;
}

// ---- Kinds of rays ----

typedef enum ray_kind {
	RAY_RANDOM,
	RAY_ALONG_AXIS, // components of the direction are exactly zero, some of them negative zeros
	RAY_AT_EDGE,
	RAY_AT_CORNER,
	RAY_IN_PLANE,    // in the plane of a triangle
	RAY_FROM_CORNER, // begins on the surface
	RAY_AXIS_AT_CORNER,
	RAY_KINDS,
} ray_kind;

static void random_origin(const model *m, uint64_t *seed, double room, float origin[3])
{
	const cr_collider *c = m->collider;
	for (int k = 0; k < 3; k++) {
		const double extent = (double)c->upper[k] - c->lower[k];
		origin[k] = (float)test_random_double(seed, c->lower[k] - room * extent, c->upper[k] + room * extent);
	}
}

static void aim(const float origin[3], v3d target, float direction[3])
{
	direction[0] = (float)(target.x - origin[0]);
	direction[1] = (float)(target.y - origin[1]);
	direction[2] = (float)(target.z - origin[2]);
}

static void make_ray(const model *m, ray_kind kind, uint64_t *seed, float origin[3], float direction[3])
{
	const int32_t triangle = random_below(seed, m->triangle_count);
	const int corner = (int)random_below(seed, 3), axis = (int)random_below(seed, 3);
	const v3d a = corner_of_double(m, triangle, corner), b = corner_of_double(m, triangle, (corner + 1) % 3);
	const v3d c = corner_of_double(m, triangle, (corner + 2) % 3);
	random_origin(m, seed, 0.3, origin);
	for (int k = 0; k < 3; k++)
		direction[k] = (float)test_random_double(seed, -1, 1);
	const double s = test_random_double(seed, 0, 1);
	if (kind == RAY_AT_EDGE)
		aim(origin, v3d_mad(a, s, v3d_sub(b, a)), direction);
	if (kind == RAY_AT_CORNER || kind == RAY_FROM_CORNER)
		aim(origin, a, direction);
	if (kind == RAY_IN_PLANE) {
		const v3d from = v3d_mad(v3d_mad(a, 3, v3d_sub(a, b)), s, v3d_sub(c, b));
		for (int k = 0; k < 3; k++)
			origin[k] = (float)v3d_get(from, k);
		aim(origin, v3d_mad(a, s, v3d_sub(c, a)), direction);
	}
	if (kind == RAY_FROM_CORNER)
		memcpy(origin, corner_of(m, triangle, corner), 3 * sizeof(float));
	if (kind == RAY_ALONG_AXIS || kind == RAY_AXIS_AT_CORNER) {
		const float sign = test_random(seed) % 2 ? 1.0f : -1.0f;
		for (int k = 0; k < 3; k++)
			direction[k] = k == axis ? sign : test_random(seed) % 2 ? 0.0f : -0.0f;
		if (kind == RAY_AXIS_AT_CORNER) {
			for (int k = 0; k < 3; k++)
				origin[k] = k == axis ? origin[k] : corner_of(m, triangle, corner)[k];
		}
	}
}

static void fill_batch(const model *m, uint64_t *seed, batch *b)
{
	for (int32_t i = 0; i < b->count; i++) {
		float origin[3], direction[3];
		make_ray(m, (ray_kind)(i % RAY_KINDS), seed, origin, direction);
		// Half of the rays end early: now and then exactly at the surface.
		const float t_max = i / RAY_KINDS % 2 == 0 ? INFINITY
			: i / RAY_KINDS % 4 == 1               ? 1.0f
												   : (float)test_random_double(seed, 0, 2);
		set_ray(b, i, origin, direction, t_max);
	}
}

static const model_def MODELS[] = {
	{ .shape = "lumpy", .triangles = 902, .scale = 1 },
	{ .shape = "knot", .triangles = 720, .scale = 1 },
	{ .shape = "box", .triangles = 12, .scale = 1 },
	{ .shape = "box", .triangles = 300, .scale = 1 },
	{ .shape = "L", .triangles = 112, .scale = 1, .offset = { 5, -3, 2 } },
	{ .shape = "torus", .triangles = 600, .scale = 1e-3 },
	{ .shape = "torus", .triangles = 600, .scale = 1e6, .offset = { 1, 2, 3 } },
	{ .shape = "lumpy", .triangles = 300, .scale = 1, .offset = { 100, 0, -100 } },
	{ .shape = "lumpy", .triangles = 902, .scale = 1, .left_out = 300 },
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

/// How far a ray travels before it leaves the solid, by every triangle; those with a corner at the origin do not count.
static float dull_exit(const model *m, const float origin[3], const float direction[3])
{
	float best = INFINITY;
	cr_ray_shear shear;
	cr_ray_shear_init(&shear, origin, direction);
	for (int32_t i = 0; i < m->triangle_count; i++) {
		const float *p[3];
		bool touches = false;
		for (int k = 0; k < 3; k++) {
			p[k] = &m->vertices[3 * m->triangles[3 * i + k]];
			touches = touches || (p[k][0] == origin[0] && p[k][1] == origin[1] && p[k][2] == origin[2]);
		}
		cr_triangle_hit hit;
		if (!touches && cr_ray_triangle_watertight(&shear, p[0], p[1], p[2], best, &hit) && hit.back)
			best = hit.t;
	}
	return best;
}

/// The exits of all samples, and of rays along the axes, which meet edges.
static void check_exits(const model *m)
{
	int finite = 0;
	for (int32_t b = 0; b < m->collider->sample_tree.block_count; b++) {
		const cr_sample8 *block = &m->collider->samples[b];
		for (int lane = 0; lane < block->count; lane++) {
			const float origin[3] = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
			const float inward[3] = { block->inward[0][lane], block->inward[1][lane], block->inward[2][lane] };
			CHECK(block->exit[lane] == dull_exit(m, origin, inward));
			finite += isfinite(block->exit[lane]);
			float axis[3] = { 0 };
			axis[lane % 3] = lane % 2 ? 1 : -1;
			const float along = dull_exit(m, origin, axis);
			for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
				const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[i]);
				CHECK(!kernels || kernels->exit(m->collider, origin, inward) == block->exit[lane]);
				CHECK(!kernels || kernels->exit(m->collider, origin, axis) == along);
			}
		}
	}
	CHECK(finite > m->collider->sample_count / 2);
}

TEST(rays, all_methods_give_the_same_bits)
{
	uint64_t seed = 41;
	for (int i = 0; i < MODEL_COUNT; i++) {
		model m = make_model(&MODELS[i]);
		batch b = make_batch(RAY_KINDS * (RAY_SHARE == 1 ? 1000 : 100));
		fill_batch(&m, &seed, &b);
		// A zero direction hits nothing, whatever its signs.
		const float zero[3] = { 0, -0.0f, 0 }, origin[3] = { 0, 0, 0 };
		set_ray(&b, 5, origin, zero, INFINITY);
		const int before = test_failures();
		const int32_t hits = check_methods(&m, &b);
		CHECK(hits > b.count / 5);
		if (test_failures() != before)
			printf("mesh %d: %s of %d triangles, scale %g\n", i, MODELS[i].shape, MODELS[i].triangles, MODELS[i].scale);
		free_batch(&b);
		free_model(&m);
	}
}

// ---- Boxes ----

static double pick(uint64_t *seed, const double *values, int count)
{
	return values[(int)(test_random_double(seed, 0, 1) * count)];
}

/// A ray through or past the boxes, some of it along axes, tiny, huge or from far away.
static cr_query_ray any_ray(uint64_t *seed)
{
	static const double odd[] = { 0, -0.0, 1, -1, 1e-320, -1e-310, 0x1p100, -0x1p-100 }, far[] = { 1, 1, 1, 1e3, 1e9, 1e-9 };
	double v[6];
	for (int k = 0; k < 3; k++) {
		v[k] = pick(seed, far, 6) * test_random_double(seed, -2, 2);
		v[3 + k] = test_random_double(seed, 0, 1) < 0.3 ? pick(seed, odd, 8) : test_random_double(seed, -1, 1);
	}
	for (int k = 0; k < 3 && test_random_double(seed, 0, 1) < 0.8; k++) // towards a place among the boxes
		v[3 + k] = test_random_double(seed, -1, 1) - v[k];
	const double begin = test_random_double(seed, 0, 1) < 0.5 ? 0 : test_random_double(seed, -2, 2);
	return (cr_query_ray){ { v[0], v[1], v[2] }, { v[3], v[4], v[5] }, begin,
		test_random_double(seed, 0, 1) < 0.5 ? INFINITY : begin + test_random_double(seed, 0, 4) };
}

TEST(rays, eight_boxes_as_one_by_one)
{
	static const double origins[] = { 0, 0.5, -1e6, 1e12 };
	uint64_t seed = 53;
	int met = 0, missed = 0;
	for (int round = 0; round < 1000 + 4000 / RAY_SHARE; round++) {
		float lower[3][CR_WIDTH], upper[3][CR_WIDTH];
		const double origin[3] = { pick(&seed, origins, 4), pick(&seed, origins, 4), pick(&seed, origins, 4) };
		for (int i = 0; i < 3 * CR_WIDTH; i++) {
			const double low = test_random_double(&seed, -2, 2), wide = test_random_double(&seed, -0.5, 2);
			lower[i % 3][i / 3] = (float)low;
			upper[i % 3][i / 3] = (float)(low + (wide < 0 ? 0 : wide));
		}
		const cr_boxes8 boxes = { lower, upper, origin };
		cr_query_ray ray = any_ray(&seed);
		ray.origin = v3d_add(ray.origin, (v3d){ origin[0], origin[1], origin[2] });
		for (int s = 0; s < FIXTURE_SIMD_COUNT; s++) {
			const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[s]);
			double enter[CR_WIDTH];
			const uint32_t lanes = kernels ? kernels->ray_boxes(&ray, &boxes, enter) : 0;
			for (int i = 0; kernels && i < CR_WIDTH; i++) {
				double l[3], u[3], first, last;
				cr_box_in_place(&boxes, i, l, u);
				const bool meets = cr_ray_box(&ray, l, u, &first, &last);
				met += meets;
				missed += !meets;
				CHECK_INT(lanes >> i & 1, meets);
				CHECK(!meets || memcmp(&first, &enter[i], sizeof first) == 0);
			}
			CHECK(lanes < 1u << CR_WIDTH);
		}
	}
	CHECK(met > 100 && missed > 100);
}

/// All rays of a batch, without their ends, one by one against packed triangles: as by the tree.
static void check_packed(const model *m, const batch *b, const cr_bvh_kernels *kernels)
{
	cr_tri8 blocks[CR_PACKED_BLOCKS];
	REQUIRE(cr_has_few_triangles(m->collider));
	const int32_t used = cr_pack_triangles(m->collider, blocks);
	CHECK_INT(used, (m->triangle_count + CR_WIDTH - 1) / CR_WIDTH);
	int wrong = 0, hits = 0;
	for (int32_t i = 0; i < b->count; i++) {
		const float reach = INFINITY, *const *row = (const float *const *)b->rows;
		const carom_ray_batch ray = { 1, { row[0] + i, row[1] + i, row[2] + i }, { row[3] + i, row[4] + i, row[5] + i },
			&reach };
		const float origin[3] = { row[0][i], row[1][i], row[2][i] }, direction[3] = { row[3][i], row[4][i], row[5][i] };
		int32_t triangle;
		float t;
		uint8_t back;
		kernels->cast(m->collider, &ray, 0, 1, &(carom_hit_batch){ &triangle, &t, &back });
		cr_packed_hit hit;
		kernels->cast_packed(m->collider, blocks, used, origin, direction, &hit);
		hits += triangle >= 0;
		wrong += hit.triangle != triangle || memcmp(&hit.t, &t, sizeof t) != 0 || (triangle >= 0 && hit.back != back);
	}
	CHECK_INT(wrong, 0);
	CHECK(hits > b->count / 5);
}

TEST(rays, packed_triangles_give_the_bits_of_the_tree)
{
	static const model_def few[] = {
		{ .shape = "box", .triangles = 12, .scale = 1 },
		{ .shape = "lumpy", .triangles = 12, .scale = 1e-3 },
		{ .shape = "lumpy", .triangles = 64, .scale = 1, .offset = { 100, 0, -100 } },
		{ .shape = "L", .triangles = 28, .scale = 1e6 },
		{ .shape = "lumpy", .triangles = 48, .scale = 1, .left_out = 11 },
	};
	uint64_t seed = 47;
	for (int i = 0; i < (int)(sizeof few / sizeof *few); i++) {
		model m = make_model(&few[i]);
		batch b = make_batch(RAY_KINDS * (RAY_SHARE == 1 ? 500 : 50));
		fill_batch(&m, &seed, &b);
		const float zero[3] = { 0, -0.0f, 0 }, origin[3] = { 0, 0, 0 };
		set_ray(&b, 5, origin, zero, INFINITY);
		for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
			const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[k]);
			if (kernels)
				check_packed(&m, &b, kernels);
		}
		free_batch(&b);
		free_model(&m);
	}
}

/// Rays through edges and corners hit what they hit, however the triangles are numbered: the same t, face and triangle.
TEST(rays, numbers_of_triangles_do_not_matter)
{
	uint64_t seed = 44;
	for (int i = 0; i < MODEL_COUNT; i++) {
		if (MODELS[i].left_out > 0)
			continue;
		model m = make_model(&MODELS[i]), other = make_model_numbered(&MODELS[i], true);
		batch b = make_batch(RAY_SHARE == 1 ? 3200 : 800);
		result x = make_result(b.count), y = make_result(b.count);
		int32_t hits = 0;
		for (int32_t k = 0; k < b.count; k++) {
			const ray_kind kinds[4] = { RAY_AT_EDGE, RAY_AT_CORNER, RAY_ALONG_AXIS, RAY_AXIS_AT_CORNER };
			float origin[3], direction[3];
			make_ray(&m, kinds[k % 4], &seed, origin, direction);
			set_ray(&b, k, origin, direction, INFINITY);
		}
		cr_cast_by(CAROM_RAYS_BASIC, CAROM_SIMD_SCALAR, m.collider, &b.rays, 0, b.count, &x.hits);
		cr_cast_by(CAROM_RAYS_BASIC, CAROM_SIMD_SCALAR, other.collider, &b.rays, 0, b.count, &y.hits);
		for (int32_t k = 0; k < b.count; k++) {
			const bool hit = x.triangle[k] >= 0;
			const int32_t expected = hit ? m.triangle_count - 1 - x.triangle[k] : -1;
			if (!CHECK(y.triangle[k] == expected && x.t[k] == y.t[k] && x.back[k] == y.back[k]))
				print_ray(&b, k);
			hits += hit;
		}
		CHECK(hits > b.count / 4);
		free_result(&x);
		free_result(&y);
		free_batch(&b);
		free_model(&m);
		free_model(&other);
	}
}

/// Rays of random numbers, a third of them odd ones.
static void fill_odd(batch *b, const float *odd, int32_t odd_count, uint64_t seed)
{
	for (int32_t i = 0; i < b->count; i++) {
		float values[7];
		for (int k = 0; k < 7; k++)
			values[k] = test_random(&seed) % 3 ? (float)test_random_double(&seed, -1, 1) : odd[random_below(&seed, odd_count)];
		set_ray(b, i, values, values + 3, values[6]);
	}
}

TEST(rays, extreme_numbers_are_the_same_for_all_methods)
{
	const float odd[] = { 0, -0.0f, 1, -1, 0.25f, 1e-40f, -1e-40f, 1e-20f, 1e4f, -1e4f, INFINITY };
	model m = make_model(&MODELS[3]);
	batch b = make_batch(RAY_SHARE == 1 ? 20000 : 2000);
	fill_odd(&b, odd, sizeof odd / sizeof *odd - 1, 42);
	for (int32_t i = 0; i < b.count; i++) {
		// A direction must not vanish as a whole.
		b.rows[3 + i % 3][i] = i % 2 ? 1.0f : -1e-10f;
		b.rows[6][i] = i % 4 < 2 ? INFINITY : b.rows[6][i];
	}
	CHECK(check_methods(&m, &b) > b.count / 20);
	free_batch(&b);
	free_model(&m);
}

TEST(rays, rays_that_are_not_finite_do_no_harm)
{
	// What no caller should pass, but one will. A hit must still name a triangle; and every instruction set sees the same.
	const float odd[] = { 0, 1e30f, -1e38f, INFINITY, -INFINITY, NAN };
	model m = make_model(&MODELS[3]);
	batch b = make_batch(RAY_SHARE == 1 ? 20000 : 2000);
	fill_odd(&b, odd, sizeof odd / sizeof *odd, 46);
	for (int32_t i = 0; i < 216; i++) {
		for (int k = 0; k < 3; k++)
			b.rows[k][i] = odd[i / (k == 0 ? 1 : k == 1 ? 6 : 36) % 6];
		b.rows[6][i] = INFINITY;
	}
	result expected = make_result(b.count), found = make_result(b.count);
	REQUIRE(carom_lab_cast_rays(m.mesh, CAROM_RAYS_WIDE, &b.rays, &expected.hits) == CAROM_SUCCESS);
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		const cr_bvh_kernels *kernels = fixture_kernels(fixture_all_simd[i]);
		if (!kernels)
			continue;
		kernels->cast(m.collider, &b.rays, 0, b.count, &found.hits);
		CHECK(same_results(&b, &found, &expected));
	}
	for (int method = CAROM_RAYS_WIDE; method <= CAROM_RAYS_MOLLER_TRUMBORE; method++) {
		REQUIRE(carom_lab_cast_rays(m.mesh, (carom_ray_method)method, &b.rays, &found.hits) == CAROM_SUCCESS);
		for (int32_t i = 0; i < b.count; i++)
			CHECK(found.triangle[i] >= -1 && found.triangle[i] < m.triangle_count);
	}
	free_result(&expected);
	free_result(&found);
	free_batch(&b);
	free_model(&m);
}

TEST(rays, public_call_gives_the_same_as_the_kernels)
{
	uint64_t seed = 43;
	model m = make_model(&MODELS[0]);
	batch b = make_batch(RAY_KINDS * 50);
	fill_batch(&m, &seed, &b);
	result expected = make_result(b.count), found = make_result(b.count);
	cr_cast_by(CAROM_RAYS_BASIC, CAROM_SIMD_SCALAR, m.collider, &b.rays, 0, b.count, &expected.hits);
	for (int method = CAROM_RAYS_WIDE; method <= CAROM_RAYS_BASIC; method++) {
		REQUIRE(carom_lab_cast_rays(m.mesh, (carom_ray_method)method, &b.rays, &found.hits) == CAROM_SUCCESS);
		CHECK(same_results(&b, &found, &expected));
	}
	// A part of a batch leaves the rest alone.
	memset(found.triangle, 0x55, (size_t)b.count * sizeof(int32_t));
	cr_get_bvh_kernels(CAROM_SIMD_SCALAR)->cast(m.collider, &b.rays, 10, 20, &found.hits);
	for (int32_t i = 0; i < 40; i++)
		CHECK_INT(found.triangle[i], i >= 10 && i < 20 ? expected.triangle[i] : 0x55555555);
	free_result(&expected);
	free_result(&found);
	free_batch(&b);
	free_model(&m);
}

// ---- A judge in double ----

/// The nearest hit by double Moeller-Trumbore over all triangles. false: the ray passes so near to an edge, a silhouette or the end of its
/// range that float may see it otherwise.
static bool judge_ray(const model *m, const batch *b, int32_t i, double *best_t, int32_t *best_triangle)
{
	const v3d o = { b->rows[0][i], b->rows[1][i], b->rows[2][i] }, d = { b->rows[3][i], b->rows[4][i], b->rows[5][i] };
	const double t_max = b->rows[6][i], near = 1e-3;
	*best_t = INFINITY;
	*best_triangle = -1;
	for (int32_t k = 0; k < m->triangle_count; k++) {
		const v3d p = corner_of_double(m, k, 0), e1 = v3d_sub(corner_of_double(m, k, 1), p),
				  e2 = v3d_sub(corner_of_double(m, k, 2), p);
		const v3d n = v3d_cross(e1, e2), s = v3d_sub(o, p);
		const double size = fmax(v3d_length(e1), v3d_length(e2)), det = -v3d_dot(n, d);
		const v3d q = v3d_cross(s, d);
		if (fabs(det) < 1e-3 * v3d_length(n) * v3d_length(d)) {
			// Nearly edge on. It matters only when the ray comes near the triangle.
			const double along = -v3d_dot(s, d) / v3d_dot(d, d);
			if (v3d_length(v3d_mad(s, along, d)) < 3 * size)
				return false;
			continue;
		}
		const double t = v3d_dot(n, s) / det, u = v3d_dot(e2, q) / det, v = -v3d_dot(e1, q) / det;
		const double inside = fmin(fmin(u, v), 1 - u - v);
		const double span = (v3d_length(s) + size) / v3d_length(d);
		const bool reached = t > 0 && t <= t_max;
		if (fabs(inside) < near && t > -near * span && t < t_max + near * span)
			return false;
		if (inside > 0 && (fabs(t) < 1e-4 * span || fabs(t - t_max) < 1e-4 * span || fabs(t - *best_t) < 1e-4 * span))
			return false;
		if (inside > 0 && reached && t < *best_t) {
			*best_t = t;
			*best_triangle = k;
		}
	}
	return true;
}

TEST(rays, agree_with_a_judge_in_double_away_from_edges)
{
	uint64_t seed = 44;
	for (int i = 0; i < MODEL_COUNT; i++) {
		model m = make_model(&MODELS[i]);
		batch b = make_batch(RAY_KINDS * (RAY_SHARE == 1 ? 300 : 30));
		fill_batch(&m, &seed, &b);
		result wide = make_result(b.count), plain = make_result(b.count);
		REQUIRE(carom_lab_cast_rays(m.mesh, CAROM_RAYS_WIDE, &b.rays, &wide.hits) == CAROM_SUCCESS);
		REQUIRE(carom_lab_cast_rays(m.mesh, CAROM_RAYS_MOLLER_TRUMBORE, &b.rays, &plain.hits) == CAROM_SUCCESS);
		int judged = 0, hits = 0;
		const int before = test_failures();
		for (int32_t k = 0; k < b.count && test_failures() == before; k++) {
			double t;
			int32_t triangle;
			if (!judge_ray(&m, &b, k, &t, &triangle))
				continue;
			judged++;
			hits += triangle >= 0;
			bool right = CHECK_INT(wide.triangle[k], triangle) && CHECK_INT(plain.triangle[k], triangle);
			if (right && triangle >= 0) {
				const v3d p = corner_of_double(&m, triangle, 0);
				const v3d n =
					v3d_cross(v3d_sub(corner_of_double(&m, triangle, 1), p), v3d_sub(corner_of_double(&m, triangle, 2), p));
				const v3d d = { b.rows[3][k], b.rows[4][k], b.rows[5][k] };
				right = CHECK_NEAR(wide.t[k], t, 1e-3 * t + 1e-4 * m.collider->scale / v3d_length(d)) &&
					CHECK_NEAR(plain.t[k], t, 1e-2 * t + 1e-3 * m.collider->scale / v3d_length(d));
				right = CHECK_INT(wide.back[k], v3d_dot(n, d) > 0) && right;
				right = CHECK_INT(plain.back[k], wide.back[k]) && right;
			}
			if (!right)
				print_ray(&b, k);
		}
		if (!CHECK(judged > b.count / 8 && hits > 0) || test_failures() != before)
			printf("mesh %d: %d of %d rays judged, %d hits\n", i, judged, b.count, hits);
		free_result(&wide);
		free_result(&plain);
		free_batch(&b);
		free_model(&m);
	}
}

// ---- No leaks ----

typedef struct leak_counts {
	int64_t rays;
	int64_t missed;      // from inside and no hit
	int64_t front_first; // from inside and the first hit is a front face, away from silhouettes
	int64_t wrong_winding;
	int64_t mt_missed; // of the rays that Moeller-Trumbore was asked for too
	int64_t silhouettes;
} leak_counts;

/// How often the surface winds around a point, by solid angles (Van Oosterom, Strackee, 1983), and its distance from the surface.
static double winding_by_angles(const model *m, const float point[3], double *distance)
{
	const v3d o = v3d_from_floats(point);
	double sum = 0;
	*distance = INFINITY;
	for (int32_t i = 0; i < m->triangle_count; i++) {
		v3d p[3];
		double l[3];
		for (int k = 0; k < 3; k++) {
			p[k] = v3d_sub(corner_of_double(m, i, k), o);
			l[k] = v3d_length(p[k]);
		}
		const double volume = v3d_dot(p[0], v3d_cross(p[1], p[2]));
		const double denominator =
			l[0] * l[1] * l[2] + v3d_dot(p[0], p[1]) * l[2] + v3d_dot(p[1], p[2]) * l[0] + v3d_dot(p[2], p[0]) * l[1];
		sum += 2 * atan2(volume, denominator);
		cr_feature feature;
		const v3d nearest = cr_closest_point_triangle((v3d){ 0, 0, 0 }, p[0], p[1], p[2], &feature);
		*distance = fmin(*distance, v3d_length(nearest));
	}
	return sum / (4 * 3.14159265358979323846);
}

/// Points on the wanted side that are not on the surface, on a coarse binary grid: then the way to most vertices is exact in float.
static void find_origins(const model *m, uint64_t *seed, bool inside, int32_t count, float (*origins)[3])
{
	const double size = longest_side(m);
	int exponent;
	frexp(size, &exponent);
	const double grid = ldexp(1, exponent - 10);
	for (int32_t found = 0, tries = 0; found < count; tries++) {
		REQUIRE(tries < 200 * count);
		float p[3];
		random_origin(m, seed, inside ? 0 : 0.5, p);
		for (int k = 0; k < 3; k++)
			p[k] = (float)(floor(p[k] / grid + 0.5) * grid);
		double distance;
		const double winding = winding_by_angles(m, p, &distance);
		if (distance > 1e-3 * size && (winding > 0.5) == inside)
			memcpy(origins[found++], p, sizeof p);
	}
}

/// A point of an edge (random, or its middle) or a vertex.
static void aim_at_feature(const model *m, uint64_t *seed, int32_t i, const float origin[3], float direction[3])
{
	const int32_t triangle = random_below(seed, m->triangle_count);
	const int corner = (int)random_below(seed, 3);
	const v3d a = corner_of_double(m, triangle, corner), b = corner_of_double(m, triangle, (corner + 1) % 3);
	const double s = i % 4 < 2 ? test_random_double(seed, 0, 1) : i % 4 == 2 ? 0.5 : 0;
	aim(origin, v3d_mad(a, s, v3d_sub(b, a)), direction);
}

/// Does a ray whose first hit is a front face meet a back face at the same place, up to rounding? Then it brushes a silhouette, where the
/// surface folds over: both are right.
static bool brushes_silhouette(const model *m, const float origin[3], const float direction[3], float t)
{
	cr_ray_shear shear;
	cr_ray_shear_init(&shear, origin, direction);
	for (int32_t i = 0; i < m->triangle_count; i++) {
		cr_triangle_hit hit;
		if (cr_ray_triangle_watertight(&shear, corner_of(m, i, 0), corner_of(m, i, 1), corner_of(m, i, 2), INFINITY, &hit) &&
			hit.back && fabsf(hit.t - t) <= 1e-5f * (t + m->collider->scale / (float)v3d_length(v3d_from_floats(direction))))
			return true;
	}
	return false;
}

enum { ORIGINS = 64, PIECE = 4096, MT_SHARE = 512 };

static void note_hit(const model *m, const batch *b, int32_t i, const result *r, leak_counts *counts)
{
	const float origin[3] = { b->rows[0][i], b->rows[1][i], b->rows[2][i] };
	const float direction[3] = { b->rows[3][i], b->rows[4][i], b->rows[5][i] };
	if (r->triangle[i] < 0) {
		if (counts->missed++ == 0)
			print_ray(b, i);
	} else if (!r->back[i]) {
		if (brushes_silhouette(m, origin, direction, r->t[i]))
			counts->silhouettes++;
		else if (counts->front_first++ == 0)
			print_ray(b, i);
	}
}

static void shoot(const model *m, bool inside, int64_t count, leak_counts *counts)
{
	static float origins[ORIGINS][3];
	uint64_t seed = 45;
	find_origins(m, &seed, inside, ORIGINS, origins);
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(carom_context_simd(m->context));
	batch b = make_batch(PIECE);
	result r = make_result(PIECE);
	for (int64_t done = 0; done < count; done += PIECE) {
		for (int32_t i = 0; i < PIECE; i++) {
			const float *origin = origins[random_below(&seed, ORIGINS)];
			float direction[3];
			aim_at_feature(m, &seed, i, origin, direction);
			set_ray(&b, i, origin, direction, INFINITY);
			// All rays from outside, and an eighth of those from inside.
			if ((!inside || i % 32 < 4) && kernels->winding(m->collider, origin, direction) != (inside ? 1 : 0)) {
				if (counts->wrong_winding++ == 0)
					print_ray(&b, i);
			}
		}
		counts->rays += PIECE;
		if (!inside)
			continue;
		kernels->cast(m->collider, &b.rays, 0, PIECE, &r.hits);
		for (int32_t i = 0; i < PIECE; i++)
			note_hit(m, &b, i, &r, counts);
		cr_cast_by(CAROM_RAYS_MOLLER_TRUMBORE, CAROM_SIMD_SCALAR, m->collider, &b.rays, 0, PIECE / MT_SHARE, &r.hits);
		for (int32_t i = 0; i < PIECE / MT_SHARE; i++)
			counts->mt_missed += r.triangle[i] < 0;
	}
	free_batch(&b);
	free_result(&r);
}

/// Shoot rays at edges and vertices of closed meshes; from inside all must hit, and a back face first.
static leak_counts check_leaks(const model_def *defs, int def_count, bool inside, int64_t count)
{
	leak_counts total = { 0 };
	for (int i = 0; i < def_count; i++) {
		model m = make_model(&defs[i]);
		leak_counts counts = { 0 };
		shoot(&m, inside, count / def_count, &counts);
		const bool right =
			CHECK_INT(counts.missed, 0) + CHECK_INT(counts.front_first, 0) + CHECK_INT(counts.wrong_winding, 0) == 3;
		if (!right)
			printf("%s of %d triangles, scale %g\n", defs[i].shape, defs[i].triangles, defs[i].scale);
		total.rays += counts.rays;
		total.mt_missed += counts.mt_missed;
		total.silhouettes += counts.silhouettes;
		free_model(&m);
	}
	printf("%lld rays, %lld at silhouettes, %lld leaks of Moeller-Trumbore\n", (long long)total.rays,
		(long long)total.silhouettes, (long long)total.mt_missed);
	return total;
}

static const model_def CLOSED[] = {
	{ .shape = "lumpy", .triangles = 902, .scale = 1 },
	{ .shape = "knot", .triangles = 720, .scale = 1 },
	{ .shape = "box", .triangles = 12, .scale = 1 },
	{ .shape = "box", .triangles = 1200, .scale = 1 },
	{ .shape = "sphere", .triangles = 1280, .scale = 1 },
	{ .shape = "torus", .triangles = 600, .scale = 1 },
	{ .shape = "L", .triangles = 252, .scale = 1 },
};

static const model_def SCALED[] = {
	{ .shape = "lumpy", .triangles = 902, .scale = 1e-3 },
	{ .shape = "lumpy", .triangles = 902, .scale = 1e6 },
	{ .shape = "torus", .triangles = 600, .scale = 1, .offset = { 300, -200, 100 } },
	{ .shape = "knot", .triangles = 720, .scale = 1e6, .offset = { 3, 2, 1 } },
	{ .shape = "sphere", .triangles = 320, .scale = 1e-3, .offset = { 40, 0, 0 } },
	{ .shape = "lumpy", .triangles = 902, .scale = 0.37, .offset = { 1000, 1000, 1000 } },
};

TEST(rays, watertight_from_inside)
{
	const leak_counts counts = check_leaks(CLOSED, sizeof CLOSED / sizeof *CLOSED, true, 4200000 / RAY_SHARE);
	// The rays are as nasty as they ought to be: the textbook's test lets some through.
	CHECK(counts.mt_missed > 0);
	CHECK(counts.rays >= 4200000 / RAY_SHARE);
}

TEST(rays, watertight_from_inside_scaled_and_shifted)
{
	check_leaks(SCALED, sizeof SCALED / sizeof *SCALED, true, 1500000 / RAY_SHARE);
}

TEST(rays, watertight_from_outside)
{
	check_leaks(CLOSED, sizeof CLOSED / sizeof *CLOSED, false, 700000 / RAY_SHARE);
	check_leaks(SCALED, sizeof SCALED / sizeof *SCALED, false, 500000 / RAY_SHARE);
}

TEST(rays, exits_as_by_every_triangle)
{
	const model_def defs[] = { { "lumpy", 902, 1, { 0 }, 0 }, { "box", 192, 0.3, { 1, 2, 3 }, 0 }, { "L", 28, 1, { 0 }, 0 },
		{ "knot", 720, 100, { 0 }, 0 } };
	for (int i = 0; i < 4; i++) {
		model m = make_model(&defs[i]);
		check_exits(&m);
		free_model(&m);
	}
}
