// Trees of surfaces that move, against a mesh and a tree made from the same places: random motions,
// collapsed and torn surfaces, instruction sets, counted work, failures of every allocation.
#include "fixture.h"

#include "base/hash.h"
#include "bvh/collider_query.h"
#include "frame/body.h"
#include "surface/surface_tree.h"

#include <math.h>
#include <string.h>

enum { MOST = 4000, QUESTIONS = 40 };

/// A mesh whose places move, and the box of its triangles.
typedef struct scene {
	carom_context *context;
	carom_mesh *mesh;
	int32_t count;
	double places[3 * MOST], lower[3], upper[3];
	cr_surface_tree tree;
} scene;

static void open_scene(scene *s, carom_context *context, carom_mesh *mesh, bool solid)
{
	memset(s, 0, sizeof *s);
	s->context = context;
	s->mesh = mesh;
	s->count = mesh->topology.vertex_count;
	REQUIRE(s->count <= MOST);
	cr_surface_tree_init(&s->tree, &mesh->collider, &mesh->report, solid);
}

static void close_scene(scene *s)
{
	cr_surface_tree_free(s->context, &s->tree);
	carom_release_mesh(s->mesh);
}

static void measure(scene *s)
{
	const cr_topology *t = &s->mesh->topology;
	for (int k = 0; k < 3; k++) {
		s->lower[k] = INFINITY;
		s->upper[k] = -INFINITY;
	}
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count; i++) {
		for (int k = 0; k < 3; k++) {
			const double x = s->places[3 * (int64_t)t->triangles[i] + k];
			s->lower[k] = x < s->lower[k] ? x : s->lower[k];
			s->upper[k] = x > s->upper[k] ? x : s->upper[k];
		}
	}
}

static carom_result update(scene *s)
{
	measure(s);
	return cr_surface_tree_update(s->context, &s->tree, s->places, s->lower, s->upper);
}

/// The mesh of the present places, made anew, and its collider by the surface area heuristic, with
/// all that a collider has.
typedef struct fresh {
	cr_topology topology;
	carom_mesh_report report;
	cr_collider collider;
} fresh;

static void make_fresh(const scene *s, fresh *f)
{
	static float vertices[3 * MOST];
	const double middle[3] = { s->tree.middle.x, s->tree.middle.y, s->tree.middle.z };
	for (int i = 0; i < 3 * s->count; i++)
		vertices[i] = (float)(s->places[i] - middle[i % 3]);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = s->count;
	def.triangles = s->mesh->topology.triangles;
	def.triangle_count = s->mesh->topology.triangle_count;
	REQUIRE(cr_topology_build_moved(s->context, &def, &s->mesh->topology, &f->report, &f->topology) == CAROM_SUCCESS);
	const cr_sample_set none = { 0 };
	REQUIRE(cr_collider_build(s->context, &f->topology, s->tree.solid, &none, 0, CAROM_MESH_SAH, &f->collider) == CAROM_SUCCESS);
}

static void free_fresh(const scene *s, fresh *f)
{
	cr_collider_free(s->context, &f->collider);
	cr_topology_free(s->context, &f->topology);
}

// ---- Equal answers ----

typedef struct hit_sum {
	int count;
	uint64_t hash; // of all hits, whatever their order
} hit_sum;

static bool sum_hit(const cr_query_hit *hit, void *user)
{
	hit_sum *sum = user;
	uint64_t hash = cr_hash_double(cr_hash_double(CR_HASH_SEED, hit->t), hit->u);
	hash = cr_hash_double(cr_hash_double(hash, hit->v), hit->normal.z);
	sum->hash += cr_hash_u64(hash, (uint64_t)(uint32_t)hit->triangle << 1 | hit->back);
	sum->count++;
	return true;
}

static bool same_vec(v3d a, v3d b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

static int compare_rays(const cr_collider *a, const cr_collider *b, const cr_bvh_kernels *kernels, const cr_query_ray *ray)
{
	cr_query_hit hit[2];
	hit_sum sum[2] = { { 0 } };
	const bool found[2] = { cr_collider_cast(a, kernels, ray, &hit[0]), cr_collider_cast(b, kernels, ray, &hit[1]) };
	CHECK_INT(found[0], found[1]);
	if (found[0] && found[1])
		CHECK(hit[0].t == hit[1].t && hit[0].u == hit[1].u && hit[0].v == hit[1].v && hit[0].triangle == hit[1].triangle &&
			hit[0].back == hit[1].back && same_vec(hit[0].normal, hit[1].normal));
	cr_collider_cast_all(a, ray, sum_hit, &sum[0]);
	cr_collider_cast_all(b, ray, sum_hit, &sum[1]);
	CHECK_INT(sum[0].count, sum[1].count);
	CHECK(sum[0].hash == sum[1].hash);
	return found[0];
}

/// Returns 1 where an edge or a vertex is nearest, whose normal is worked out from the triangles around it.
static int compare_points(const cr_collider *a, const cr_collider *b, const cr_bvh_kernels *kernels, v3d point)
{
	cr_surface_point near[2];
	const bool found[2] = { cr_collider_closest_point(a, kernels, point, INFINITY, &near[0]),
		cr_collider_closest_point(b, kernels, point, INFINITY, &near[1]) };
	CHECK_INT(found[0], found[1]);
	CHECK_INT(cr_collider_contains(a, kernels, point), cr_collider_contains(b, kernels, point));
	if (!found[0] || !found[1])
		return 0;
	CHECK(near[0].distance == near[1].distance && near[0].triangle == near[1].triangle && near[0].feature == near[1].feature);
	CHECK(same_vec(near[0].point, near[1].point) && same_vec(near[0].normal, near[1].normal));
	CHECK(!memcmp(near[0].weight, near[1].weight, sizeof near[0].weight));
	return near[0].feature != CR_FEATURE_FACE;
}

/// The nearest triangle in float, and distances to the same surface moved aside.
static void compare_surfaces(const cr_collider *a, const cr_collider *b, const cr_bvh_kernels *kernels, v3d point)
{
	const float at[3] = { (float)point.x, (float)point.y, (float)point.z };
	const m3d identity = m3d_from_quat((carom_quat){ 0, 0, 0, 1 });
	int32_t triangle[2];
	cr_collider_gap gap[2];
	CHECK(kernels->nearest(a, at, INFINITY, &triangle[0]) == kernels->nearest(b, at, INFINITY, &triangle[1]));
	CHECK_INT(triangle[0], triangle[1]);
	const bool found[2] = { kernels->gap(a, a, &identity, point, INFINITY, &gap[0]),
		kernels->gap(b, b, &identity, point, INFINITY, &gap[1]) };
	CHECK_INT(found[0], found[1]);
	if (!found[0] || !found[1])
		return;
	CHECK(gap[0].distance2 == gap[1].distance2);
	if (gap[0].distance2 > 0) // of triangles that meet the one met first
		CHECK(gap[0].a == gap[1].a && gap[0].b == gap[1].b);
}

static void compare_measures(const scene *s, const fresh *f)
{
	const cr_collider *a = &s->tree.collider, *b = &f->collider;
	CHECK_INT(a->triangle_count, b->triangle_count);
	CHECK(a->scale == b->scale && a->diagonal == b->diagonal && a->extent == b->extent && a->closed == b->closed);
	for (int k = 0; k < 3; k++)
		CHECK(a->lower[k] == b->lower[k] && a->upper[k] == b->upper[k]);
	CHECK(!memcmp(s->tree.now.used, f->topology.used, (size_t)f->topology.triangle_count));
	CHECK(!memcmp(s->tree.now.weld, f->topology.weld, (size_t)f->topology.vertex_count * sizeof(int32_t)));
	CHECK(!memcmp(s->tree.now.neighbours, f->topology.neighbours, 3 * (size_t)f->topology.triangle_count * sizeof(int32_t)));
	CHECK_INT(s->tree.report.components, f->report.components);
}

typedef struct counts {
	int hits, edges;
} counts;

/// Compare the tree with one made anew, by random questions around the surface.
static void compare(const scene *s, uint64_t *seed, counts *n)
{
	fresh f;
	make_fresh(s, &f);
	compare_measures(s, &f);
	const cr_collider *a = &s->tree.collider, *b = &f.collider;
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(s->context->simd);
	const double span = a->triangle_count > 0 ? 1.2 * a->scale : 1;
	for (int i = 0; i < QUESTIONS; i++) {
		const v3d from = { test_random_double(seed, -span, span), test_random_double(seed, -span, span),
			test_random_double(seed, -span, span) };
		// To a vertex, so that edges and corners are hit, or anywhere.
		const v3d to = i % 2 ? v3d_from_floats(f.topology.vertices + 3 * (test_random(seed) % (uint64_t)s->count))
							 : (v3d){ test_random_double(seed, -span, span), 0, test_random_double(seed, -span, span) };
		const v3d way = v3d_sub(to, from);
		if (v3d_dot(way, way) > 0)
			n->hits += compare_rays(a, b, kernels, &(cr_query_ray){ from, way, 0, 3 });
		n->edges += compare_points(a, b, kernels, from);
		n->edges += compare_points(a, b, kernels, v3d_mad(to, 1e-9, way));
		if (i < 8)
			compare_surfaces(a, b, kernels, from);
	}
	free_fresh(s, &f);
}

// ---- Motions ----

static void rest(scene *s)
{
	for (int i = 0; i < 3 * s->count; i++)
		s->places[i] = s->mesh->topology.vertices[i];
}

/// Bend, shear and shake, the same at one place, and go away from the origin.
static void deform(scene *s, int step, double shake)
{
	uint64_t seed = (uint64_t)step + 1;
	double wave[3][3], phase[3];
	for (int k = 0; k < 9; k++)
		wave[k / 3][k % 3] = test_random_double(&seed, -3, 3);
	for (int k = 0; k < 3; k++)
		phase[k] = test_random_double(&seed, -3, 3);
	for (int32_t i = 0; i < s->count; i++) {
		const float *p = s->mesh->topology.vertices + 3 * i;
		for (int k = 0; k < 3; k++) {
			const double x = wave[k][0] * p[0] + wave[k][1] * p[1] + wave[k][2] * p[2] + phase[k];
			s->places[3 * i + k] = 100 * step + p[k] + shake * (sin(x) + 0.3 * sin(7.3 * x));
		}
	}
}

static void check_motion(carom_mesh *mesh, carom_context *context, bool solid, double shake, bool rebuilt)
{
	static scene s;
	uint64_t seed = 7;
	counts n = { 0 };
	open_scene(&s, context, mesh, solid);
	for (int step = 0; step < 100 && test_failures() == 0; step++) {
		deform(&s, step, step % 7 == 0 ? 0 : shake);
		REQUIRE(update(&s) == CAROM_SUCCESS);
		CHECK(!s.tree.apart);
		compare(&s, &seed, &n);
	}
	CHECK(n.hits > 500 && n.edges > 500);
	CHECK_INT(s.tree.refits, 100);
	CHECK_INT(s.tree.rebuilds > 0, rebuilt);
	close_scene(&s);
}

TEST(surface, refitted_solids_answer_as_fresh_ones)
{
	carom_context *context = fixture_context(1);
	check_motion(fixture_torus_mesh(context, 20, 10, 0.4, 0.1), context, true, 0.05, false);
	carom_destroy_context(context);
}

TEST(surface, refitted_sheets_answer_as_fresh_ones)
{
	carom_context *context = fixture_context(1);
	check_motion(fixture_sheet_mesh(context, 12, 2), context, false, 0.1, false);
	carom_destroy_context(context);
}

TEST(surface, rebuilt_ones_answer_as_fresh_ones)
{
	carom_context *context = fixture_context(1);
	check_motion(fixture_sheet_mesh(context, 24, 2), context, false, TEST_FEWER > 1 ? 2 : 5, true);
	check_motion(fixture_torus_mesh(context, 24, 12, 0.4, 0.1), context, true, TEST_FEWER > 1 ? 2 : 5, true);
	carom_destroy_context(context);
}

/// Every triangle with vertices of its own; some flat, some given twice, some of two corners, some vertices of none.
static carom_mesh *make_odd(carom_context *context, const carom_mesh *like)
{
	static float vertices[3 * MOST];
	static int32_t triangles[MOST];
	const cr_topology *t = &like->topology;
	int count = 0;
	for (int32_t i = 0; i < t->triangle_count && count < MOST - 12; i++) {
		for (int k = 0; k < 3; k++, count++) {
			memcpy(&vertices[3 * count], &t->vertices[3 * t->triangles[3 * i + k]], 3 * sizeof(float));
			triangles[count] = count;
		}
	}
	const int32_t first = count;
	for (int k = 0; k < 3; k++) { // flat, with corners of its own
		vertices[3 * (first + k)] = 0.5f * (float)k;
		vertices[3 * (first + k) + 1] = 0;
		vertices[3 * (first + k) + 2] = 0.25f;
		triangles[count] = count;
		count++;
	}
	for (int k = 0; k < 3; k++) // the first once more, with corners of its own
		memcpy(&vertices[3 * (first + 3 + k)], &vertices[3 * k], 3 * sizeof(float));
	for (int k = 0; k < 3; k++, count++)
		triangles[count] = count;
	const int32_t twice[3] = { 0, 0, 4 };
	memcpy(&triangles[count], twice, sizeof twice);
	const float free[6] = { 7, 8, 9, 7, 8, 10 }; // two of no triangle
	memcpy(&vertices[3 * count], free, sizeof free);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = count + 2;
	def.triangles = triangles;
	def.triangle_count = count / 3 + 1;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// Welded vertices that come apart, triangles that gain and lose an area, and back.
TEST(surface, torn_and_odd_ones_answer_as_fresh_ones)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 12, 8, 0.4, 0.1);
	static scene s;
	uint64_t seed = 3;
	counts n = { 0 };
	open_scene(&s, context, make_odd(context, torus), false);
	carom_release_mesh(torus);
	int apart = 0;
	for (int step = 0; step < 60 && test_failures() == 0; step++) {
		if (step % 3 == 0)
			rest(&s);
		else
			deform(&s, step, 0.2);
		if (step % 5 == 4) { // one corner leaves the others at its place
			for (int k = 0; k < 3; k++)
				s.places[3 * 30 + k] += 0.1;
		}
		if (step % 11 == 7) { // a triangle has no area any more
			for (int k = 0; k < 3; k++)
				s.places[3 * 61 + k] = s.places[3 * 60 + k];
		}
		if (step % 3 == 0 && step % 2) // vertices of no triangle lie far away
			s.places[3 * s.count - 1] = 1e11;
		REQUIRE(update(&s) == CAROM_SUCCESS);
		apart += s.tree.apart;
		if (step % 3 == 0 && step % 5 != 4 && step % 11 != 7) {
			CHECK(!s.tree.apart);
		}
		compare(&s, &seed, &n);
	}
	CHECK(apart > 20 && apart < 55);
	CHECK(n.hits > 300 && n.edges > 300);
	close_scene(&s);
	carom_destroy_context(context);
}

TEST(surface, collapsed_ones_answer_as_fresh_ones)
{
	carom_context *context = fixture_context(1);
	for (int solid = 0; solid < 2; solid++) {
		static scene s;
		uint64_t seed = 5;
		counts n = { 0 };
		open_scene(&s, context, solid ? fixture_sphere_mesh(context, 1, 10) : fixture_sheet_mesh(context, 8, 2), solid);
		for (int step = 0; step < 40 && test_failures() == 0; step++) {
			// As it is; flat; a line; a point; almost a point; huge; half of it in a point.
			static const double factors[6][3] = { { 1, 1, 1 }, { 1, 1, 0 }, { 1, 0, 0 }, { 0, 0, 0 }, { 1e-25, 1e-25, 1e-25 },
				{ 1e11, 1e11, 1e11 } };
			deform(&s, step, 0.1);
			for (int i = 0; i < 3 * s.count; i++) {
				const double x = s.places[i] - 100 * step;
				s.places[i] = step % 7 < 6 ? x * factors[step % 7][i % 3] : i < 3 * s.count / 2 ? 0 : x;
			}
			REQUIRE(update(&s) == CAROM_SUCCESS);
			if (step % 7 == 2 || step % 7 == 3)
				CHECK_INT(s.tree.collider.triangle_count, 0);
			compare(&s, &seed, &n);
		}
		CHECK(n.hits > 30);
		close_scene(&s);
	}
	carom_destroy_context(context);
}

TEST(surface, meshes_without_triangles_have_no_tree)
{
	carom_context *context = fixture_context(1);
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	static scene s;
	open_scene(&s, context, mesh, false);
	for (int i = 0; i < 2; i++) {
		REQUIRE(update(&s) == CAROM_SUCCESS);
		CHECK_INT(s.tree.collider.triangle_count, 0);
	}
	close_scene(&s);
	carom_destroy_context(context);
}

// ---- Work, instruction sets, memory ----

/// A refit asks for no memory.
TEST(surface, refits_take_no_memory)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	static scene s;
	open_scene(&s, context, fixture_torus_mesh(context, 20, 10, 0.4, 0.1), true);
	rest(&s);
	REQUIRE(update(&s) == CAROM_SUCCESS);
	const long long calls = atomic_load(&heap.calls);
	for (int step = 0; step < 10; step++) {
		deform(&s, step, 0.05);
		REQUIRE(update(&s) == CAROM_SUCCESS);
	}
	CHECK_INT(atomic_load(&heap.calls), calls);
	CHECK_INT(s.tree.refits, 11);
	CHECK_INT(s.tree.rebuilds, 0);
	close_scene(&s);
	carom_destroy_context(context);
}

static uint64_t hash_tree(const cr_collider *c)
{
	uint64_t hash = CR_HASH_SEED;
	for (int32_t n = 0; n < c->tree.node_count; n++) {
		const cr_node8 *node = &c->tree.nodes[n];
		for (uint32_t i = 0; i < node->child_count; i++) {
			hash = cr_hash_u64(hash, node->child[i]);
			for (int k = 0; k < 3; k++)
				hash = cr_hash_double(cr_hash_double(hash, node->lower[k][i]), node->upper[k][i]);
		}
	}
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		for (int i = 0; i < 9 * CR_WIDTH; i++)
			hash = cr_hash_double(hash, c->blocks[b].corner[i / 24][i / 8 % 3][i % 8]);
	}
	return cr_hash_double(cr_hash_double(hash, c->extent), c->scale);
}

TEST(surface, every_instruction_set_and_thread_count_makes_the_same_tree)
{
	uint64_t expected[30] = { 0 };
	int64_t rebuilds = 0;
	for (int run = 0; run < 2 * FIXTURE_SIMD_COUNT; run++) {
		if (!fixture_kernels(fixture_all_simd[run / 2]))
			continue;
		carom_context_def def = carom_default_context_def();
		def.simd = fixture_all_simd[run / 2];
		def.thread_count = run % 2 ? 3 : 1;
		carom_context *context;
		REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
		static scene s;
		open_scene(&s, context, fixture_torus_mesh(context, 24, 12, 0.4, 0.1), true);
		for (int step = 0; step < 30; step++) {
			deform(&s, step, step % 4 == 3 ? 5 : 0.1);
			REQUIRE(update(&s) == CAROM_SUCCESS);
			const uint64_t hash = hash_tree(&s.tree.collider);
			expected[step] = run == 0 ? hash : expected[step];
			CHECK(hash == expected[step]);
		}
		rebuilds = s.tree.rebuilds;
		close_scene(&s);
		carom_destroy_context(context);
	}
	CHECK(rebuilds > 2);
}

TEST(surface, every_allocation_may_fail)
{
	fixture_heap heap;
	int failed = 0;
	for (int64_t fail_at = 0, more = 1; more; fail_at++) {
		carom_context *context = fixture_heap_context(&heap, 1);
		carom_mesh *torus = fixture_torus_mesh(context, 8, 6, 0.4, 0.1);
		static scene s;
		uint64_t seed = 1;
		counts n = { 0 };
		open_scene(&s, context, make_odd(context, torus), false);
		carom_release_mesh(torus);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + fail_at);
		more = 0;
		for (int step = 0; step < 4; step++) { // copied, rebuilt, torn, copied
			rest(&s);
			if (step == 1) {
				for (int i = 0; i < s.count; i++)
					s.places[3 * i] = sin(1e3 * s.mesh->topology.vertices[3 * i] + 2e3 * s.mesh->topology.vertices[3 * i + 1]);
			}
			s.places[60] += step == 2;
			const carom_result result = update(&s);
			more += result != CAROM_SUCCESS;
			CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
			if (result != CAROM_SUCCESS)
				CHECK(update(&s) == CAROM_SUCCESS);
		}
		failed += more > 0;
		atomic_store(&heap.fail_at, -1);
		compare(&s, &seed, &n);
		close_scene(&s);
		CHECK_INT(atomic_load(&heap.blocks), 1);
		carom_destroy_context(context);
	}
	CHECK(failed > 30);
}
