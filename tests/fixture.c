/// What the tests of worlds share. See fixture.h.
#include "fixture.h"
#include "world/recording_format.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Meshes ----

int32_t fixture_soup_vertex(fixture_soup *s, double x, double y, double z)
{
	REQUIRE(s->vertex_count < FIXTURE_MAX_VERTICES);
	float *v = &s->vertices[3 * s->vertex_count];
	v[0] = (float)x;
	v[1] = (float)y;
	v[2] = (float)z;
	return s->vertex_count++;
}

void fixture_soup_triangle(fixture_soup *s, int32_t a, int32_t b, int32_t c)
{
	REQUIRE(s->triangle_count < FIXTURE_MAX_TRIANGLES);
	int32_t *t = &s->triangles[3 * s->triangle_count++];
	t[0] = a;
	t[1] = b;
	t[2] = c;
}

void fixture_soup_quad(fixture_soup *s, int32_t a, int32_t b, int32_t c, int32_t d)
{
	fixture_soup_triangle(s, a, b, c);
	fixture_soup_triangle(s, a, c, d);
}

void fixture_soup_box(fixture_soup *s, v3d centre, double hx, double hy, double hz)
{
	static const int32_t quads[6][4] = { { 0, 2, 3, 1 }, { 4, 5, 7, 6 }, { 0, 1, 5, 4 }, { 2, 6, 7, 3 }, { 0, 4, 6, 2 },
		{ 1, 3, 7, 5 } };
	const int32_t base = s->vertex_count;
	for (int i = 0; i < 8; i++)
		fixture_soup_vertex(s, centre.x + (i & 1 ? hx : -hx), centre.y + (i & 2 ? hy : -hy), centre.z + (i & 4 ? hz : -hz));
	for (int i = 0; i < 6; i++)
		fixture_soup_quad(s, base + quads[i][0], base + quads[i][1], base + quads[i][2], base + quads[i][3]);
}

void fixture_soup_sphere(fixture_soup *s, v3d c, double radius, int stripes)
{
	const int around = 2 * stripes;
	const int32_t north = fixture_soup_vertex(s, c.x, c.y, c.z + radius), first = s->vertex_count;
	for (int i = 1; i < stripes; i++) {
		for (int k = 0; k < around; k++) {
			const double a = FIXTURE_PI * i / stripes, b = FIXTURE_PI * k / stripes;
			fixture_soup_vertex(s, c.x + radius * sin(a) * cos(b), c.y + radius * sin(a) * sin(b), c.z + radius * cos(a));
		}
	}
	const int32_t south = fixture_soup_vertex(s, c.x, c.y, c.z - radius), last = south - around;
	for (int k = 0; k < around; k++) {
		const int next = (k + 1) % around;
		fixture_soup_triangle(s, north, first + k, first + next);
		for (int32_t row = first; row < last; row += around)
			fixture_soup_quad(s, row + k, row + around + k, row + around + next, row + next);
		fixture_soup_triangle(s, south, last + next, last + k);
	}
}

void fixture_soup_torus(fixture_soup *s, int around, int across, double minor, double lump)
{
	const int32_t base = s->vertex_count;
	for (int i = 0; i < around; i++) {
		for (int k = 0; k < across; k++) {
			const double a = 2 * FIXTURE_PI * i / around, b = 2 * FIXTURE_PI * k / across;
			const double r = minor * (1 + lump * sin(5 * a + 2 * b)), ring = 1 + r * cos(b);
			fixture_soup_vertex(s, ring * cos(a), ring * sin(a), r * sin(b));
		}
	}
	for (int i = 0; i < around; i++) {
		for (int k = 0; k < across; k++) {
			const int32_t i1 = (i + 1) % around, k1 = (k + 1) % across;
			fixture_soup_quad(s, base + i * across + k, base + i1 * across + k, base + i1 * across + k1, base + i * across + k1);
		}
	}
}

void fixture_soup_sheet(fixture_soup *s, int cells, double size)
{
	const int32_t base = s->vertex_count, row = cells + 1;
	for (int y = 0; y <= cells; y++) {
		for (int x = 0; x <= cells; x++)
			fixture_soup_vertex(s, size * ((double)x / cells - 0.5), size * ((double)y / cells - 0.5), 0);
	}
	for (int y = 0; y < cells; y++) {
		for (int x = 0; x < cells; x++) {
			const int32_t a = base + y * row + x, b = a + 1, c = b + row, d = a + row;
			if ((x + y) % 2)
				fixture_soup_quad(s, a, b, c, d);
			else
				fixture_soup_quad(s, b, c, d, a);
		}
	}
}

carom_mesh *fixture_mesh(carom_context *context, const fixture_soup *soup)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ soup->vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = soup->vertex_count;
	def.triangles = soup->triangles;
	def.triangle_count = soup->triangle_count;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static fixture_soup *empty_soup(void)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	return &soup;
}

carom_mesh *fixture_box_mesh(carom_context *context, double hx, double hy, double hz)
{
	fixture_soup *soup = empty_soup();
	fixture_soup_box(soup, (v3d){ 0, 0, 0 }, hx, hy, hz);
	return fixture_mesh(context, soup);
}

carom_mesh *fixture_sphere_mesh(carom_context *context, double radius, int stripes)
{
	fixture_soup *soup = empty_soup();
	fixture_soup_sphere(soup, (v3d){ 0, 0, 0 }, radius, stripes);
	return fixture_mesh(context, soup);
}

carom_mesh *fixture_torus_mesh(carom_context *context, int around, int across, double minor, double lump)
{
	fixture_soup *soup = empty_soup();
	fixture_soup_torus(soup, around, across, minor, lump);
	return fixture_mesh(context, soup);
}

carom_mesh *fixture_sheet_mesh(carom_context *context, int cells, double size)
{
	fixture_soup *soup = empty_soup();
	fixture_soup_sheet(soup, cells, size);
	return fixture_mesh(context, soup);
}

// ---- Worlds ----

carom_context *fixture_context(int threads)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

const carom_simd fixture_all_simd[FIXTURE_SIMD_COUNT] = { CAROM_SIMD_SCALAR, CAROM_SIMD_SSE2, CAROM_SIMD_AVX2,
	CAROM_SIMD_AVX512, CAROM_SIMD_NEON };

const cr_bvh_kernels *fixture_kernels(carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.simd = simd;
	carom_context *context = NULL;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return NULL;
	carom_destroy_context(context);
	return cr_get_bvh_kernels(simd);
}

carom_world *fixture_world(carom_context *context, const carom_world_def *def)
{
	carom_world *world = NULL;
	REQUIRE(carom_create_world(context, def, &world) == CAROM_SUCCESS);
	return world;
}

carom_body_id fixture_add(carom_world *world, carom_shape shape, carom_pose pose, carom_body_kind kind)
{
	carom_body_def def = carom_default_body_def();
	def.shape = shape;
	def.pose = pose;
	def.kind = kind;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

void fixture_step(carom_world *world) { REQUIRE(carom_world_step(world) == CAROM_SUCCESS); }

carom_quat fixture_turn(v3d axis, double angle)
{
	const v3d u = v3d_scale(v3d_normalize(axis), sin(angle / 2));
	return (carom_quat){ u.x, u.y, u.z, cos(angle / 2) };
}

carom_pose fixture_trembling_pose(uint64_t *seed, double tremble, carom_vec3 at)
{
	double d[5];
	for (int k = 0; k < 5; k++)
		d[k] = test_random_double(seed, -tremble, tremble);
	return (carom_pose){ { at.x + d[0], at.y + d[1], at.z + d[2] }, { d[3], d[4], sin(0.05), cos(0.05) } };
}

carom_pose fixture_random_pose(uint64_t *seed, double span)
{
	double q[4], length;
	do {
		length = 0;
		for (int i = 0; i < 4; i++) {
			q[i] = test_random_double(seed, -1, 1);
			length += q[i] * q[i];
		}
	} while (length < 0.01 || length > 1);
	length = sqrt(length);
	carom_pose p = { .orientation = { q[0] / length, q[1] / length, q[2] / length, q[3] / length } };
	p.position.x = test_random_double(seed, -span, span);
	p.position.y = test_random_double(seed, -span, span);
	p.position.z = test_random_double(seed, -span, span);
	return p;
}

cr_transform fixture_transform(carom_pose pose)
{
	const m3d rotation = m3d_from_quat(pose.orientation);
	return cr_make_transform(&rotation, (v3d){ pose.position.x, pose.position.y, pose.position.z });
}

carom_pose fixture_compose(carom_pose a, carom_pose b) { return carom_compose_poses(a, b); }

bool fixture_same_vector(carom_vec3 a, carom_vec3 b) { return memcmp(&a, &b, sizeof a) == 0; }

void fixture_expect_error(const carom_context *context, carom_result result, carom_result expected, const char *text)
{
	CHECK_INT(result, expected);
	if (!CHECK(strstr(carom_error_text(context), text) != NULL))
		printf("text: %s\n", carom_error_text(context));
}

void fixture_expect_wrong(const carom_context *context, carom_result result, const char *text)
{
	fixture_expect_error(context, result, CAROM_INVALID_ARGUMENT, text);
}

// ---- What holds for every step ----

static int compare_ids(carom_body_id a, carom_body_id b)
{
	if (a.index1 != b.index1)
		return a.index1 < b.index1 ? -1 : 1;
	return (a.generation > b.generation) - (a.generation < b.generation);
}

static int compare_bodies(carom_body_id a1, carom_body_id b1, carom_body_id a2, carom_body_id b2)
{
	const int order = compare_ids(a1, a2);
	return order != 0 ? order : compare_ids(b1, b2);
}

static int compare_parts(int32_t a1, int32_t b1, int32_t a2, int32_t b2)
{
	if (a1 != a2)
		return a1 < a2 ? -1 : 1;
	return (b1 > b2) - (b1 < b2);
}

static int compare_pairs(const carom_pair *p, const carom_pair *q)
{
	const int order = compare_bodies(p->body_a, p->body_b, q->body_a, q->body_b);
	return order != 0 ? order : compare_parts(p->shape_a, p->shape_b, q->shape_a, q->shape_b);
}

static int compare_events(const carom_event *e, const carom_event *f)
{
	const int order = compare_bodies(e->body_a, e->body_b, f->body_a, f->body_b);
	return order != 0 ? order : compare_parts(e->shape_a, e->shape_b, f->shape_a, f->shape_b);
}

static int compare_contacts(const carom_contact *c, const carom_contact *d)
{
	int order = compare_bodies(c->body_a, c->body_b, d->body_a, d->body_b);
	if (order == 0)
		order = compare_parts(c->shape_a, c->shape_b, d->shape_a, d->shape_b);
	if (order != 0)
		return order;
	const int64_t keys[3][2] = { { c->kind, d->kind }, { c->feature_a, d->feature_a }, { c->feature_b, d->feature_b } };
	for (int k = 0; k < 3; k++) {
		if (keys[k][0] != keys[k][1])
			return keys[k][0] < keys[k][1] ? -1 : 1;
	}
	return 0;
}

static void check_pairs(const carom_world *world)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	int32_t next = 0;
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *p = &pairs.data[i];
		CHECK(p->body_a.index1 < p->body_b.index1 ||
			((p->surface_contact_count > 0 || p->sphere_group >= 0) && p->body_a.index1 == p->body_b.index1));
		CHECK(carom_world_is_body(world, p->body_a) && carom_world_is_body(world, p->body_b));
		CHECK(i == 0 || compare_pairs(&p[-1], p) < 0);
		CHECK_INT(p->first_contact, next);
		CHECK(p->contact_count >= 0 && p->contact_count <= p->found_count);
		for (int32_t k = next; k < next + p->contact_count && k < contacts.count; k++)
			CHECK(contacts.data[k].pair == i && fixture_same_id(contacts.data[k].body_a, p->body_a) &&
				fixture_same_id(contacts.data[k].body_b, p->body_b) && contacts.data[k].shape_a == p->shape_a &&
				contacts.data[k].shape_b == p->shape_b);
		next += p->contact_count;
	}
	CHECK_INT(contacts.count, next);
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		CHECK(i == 0 || compare_contacts(&c[-1], c) <= 0);
		CHECK_NEAR(v3d_length(fixture_normal(c)), 1, 1e-5);
		CHECK(isfinite(c->depth) && isfinite(c->point[0]) && isfinite(c->point[1]) && isfinite(c->point[2]));
		CHECK(c->feature_a >= 0 && c->feature_b >= 0 && c->age >= 0);
	}
}

static void check_events(const carom_world *world)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	const carom_event_view events = carom_world_events(world);
	int32_t seen = 0;
	for (int32_t i = 0; i < events.count; i++) {
		const carom_event *e = &events.data[i];
		CHECK(i == 0 || compare_events(&e[-1], e) < 0);
		if (e->kind == CAROM_EVENT_END) {
			CHECK_INT(e->pair, -1);
			continue;
		}
		CHECK_INT(e->pair, seen++);
		if (e->pair < 0 || e->pair >= pairs.count)
			continue;
		const carom_pair *p = &pairs.data[e->pair];
		CHECK(compare_bodies(p->body_a, p->body_b, e->body_a, e->body_b) == 0);
		CHECK(compare_parts(p->shape_a, p->shape_b, e->shape_a, e->shape_b) == 0);
		CHECK((p->age == 0) == (e->kind == CAROM_EVENT_BEGIN));
		CHECK(p->user_data_a == e->user_data_a && p->user_data_b == e->user_data_b);
	}
	CHECK_INT(seen, pairs.count);
}

static void check_stats(const carom_world *world)
{
	const carom_stats s = carom_world_stats(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	int32_t found = 0;
	for (int32_t i = 0; i < pairs.count; i++)
		found += pairs.data[i].found_count;
	CHECK_INT(s.bodies, carom_world_body_count(world));
	CHECK_INT(s.contacts, carom_world_contacts(world).count);
	CHECK_INT(s.contacts_found, found);
	CHECK(s.contacts <= s.contacts_found);
	CHECK(s.colliding_pairs + s.surface_pairs + s.granular_pairs <= pairs.count);
	CHECK(pairs.count - s.surface_pairs - s.granular_pairs <= s.narrow_pairs && s.narrow_pairs <= s.box_pairs);
	CHECK(s.vertices_culled >= 0 && s.vertices_culled <= s.vertices_tested);
	CHECK(s.rays_outward >= 0 && s.rays_outward <= s.rays_full);
	CHECK(s.vertices_tested - s.vertices_culled <= s.rays_full);
	CHECK(s.pairs_crossing <= s.pairs_completed && s.pairs_completed <= s.narrow_pairs);
	CHECK(s.triangle_tests >= 0);
	CHECK(s.ms_total >= 0 && s.ms_trees >= 0 && s.ms_pair >= 0 && s.ms_vertex >= 0 && s.ms_ray >= 0 && s.ms_complete >= 0);
	CHECK(s.ms_trees + s.ms_pair + s.ms_vertex + s.ms_ray + s.ms_complete + s.ms_merge + s.ms_sweep <= s.ms_total + 0.1);
	CHECK(s.memory <= s.memory_peak && s.scratch_peak <= s.memory_peak);
}

int fixture_count_through(const carom_world *world)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(world);
	int count = 0;
	for (int64_t i = 0; i < view.count; i++)
		count += view.data[i].through;
	return count;
}

void fixture_check_views(const carom_world *world)
{
	check_pairs(world);
	check_events(world);
	check_stats(world);
}

// ---- A dull ray ----

fixture_hit fixture_cast(const carom_mesh *mesh, v3d o, v3d d)
{
	fixture_hit best = { -1, INFINITY, false, INFINITY, 0, 0 };
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *triangles = carom_mesh_get_triangles(mesh);
	for (int32_t i = 0; i < carom_mesh_get_report(mesh)->triangle_count; i++) {
		const int32_t *t = &triangles[3 * i];
		const v3d p = v3d_from_floats(&v[3 * t[0]]);
		const v3d e = v3d_sub(v3d_from_floats(&v[3 * t[1]]), p), f = v3d_sub(v3d_from_floats(&v[3 * t[2]]), p);
		// Moeller, Trumbore, Fast, Minimum Storage Ray/Triangle Intersection, 1997.
		const v3d n = v3d_cross(e, f), h = v3d_cross(d, f), s = v3d_sub(o, p), q = v3d_cross(s, e);
		const double det = v3d_dot(e, h);
		if (det == 0)
			continue;
		const double u = v3d_dot(s, h) / det, w = v3d_dot(d, q) / det, at = v3d_dot(f, q) / det;
		if (u < 0 || w < 0 || u + w > 1 || at < 0)
			continue;
		if (at >= best.t) {
			best.t_second = fmin(best.t_second, at);
			continue;
		}
		best = (fixture_hit){ i, at, v3d_dot(n, d) > 0, best.t, fmin(fmin(u, w), 1 - u - w),
			fabs(v3d_dot(n, d)) / (v3d_length(n) * v3d_length(d)) };
	}
	return best;
}

// ---- Memory ----

static void *heap_allocate(size_t size, size_t alignment, void *user)
{
	fixture_heap *heap = user;
	const long long call = atomic_fetch_add(&heap->calls, 1), fail_at = atomic_load(&heap->fail_at);
	if (fail_at >= 0 && (call == fail_at || (call > fail_at && atomic_load(&heap->fail_on))))
		return NULL;
	if (failing_calls_fail(heap->failing))
		return NULL;
	void *pointer = test_allocate(size, alignment);
	if (pointer) {
		memset(pointer, 0xa5, size); // nobody may count on zeros
		atomic_fetch_add(&heap->blocks, 1);
		atomic_fetch_add(&heap->bytes, (long long)size);
	}
	return pointer;
}

static void heap_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)alignment;
	fixture_heap *heap = user;
	atomic_fetch_sub(&heap->blocks, 1);
	atomic_fetch_sub(&heap->bytes, (long long)size);
	test_release(pointer);
}

carom_context *fixture_heap_context(fixture_heap *heap, int threads)
{
	atomic_store(&heap->calls, 0);
	atomic_store(&heap->blocks, 0);
	atomic_store(&heap->bytes, 0);
	atomic_store(&heap->fail_at, -1);
	atomic_store(&heap->fail_on, false);
	heap->failing = NULL;
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ heap_allocate, heap_release, heap };
	def.thread_count = threads;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

void fixture_begin_failing(fixture_heap *heap, failing_calls *calls)
{
	failing_calls_begin(calls);
	heap->failing = calls;
}

bool fixture_end_failing(fixture_heap *heap)
{
	const bool failed = failing_calls_end(heap->failing);
	heap->failing = NULL;
	return failed;
}

void fixture_run_two(void *(*fn)(void *), void *users[2])
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_create(&threads[i], NULL, fn, users[i]) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

bool fixture_write_tape(const void *bytes, size_t count, void *user)
{
	fixture_tape *t = user;
	if (t->limit > 0 && t->count + count > t->limit)
		return false;
	if (t->count + count > t->capacity) {
		t->capacity = 2 * (t->count + count);
		t->bytes = realloc(t->bytes, t->capacity);
	}
	if (!t->bytes)
		return false;
	memcpy(t->bytes + t->count, bytes, count);
	t->count += count;
	return true;
}

bool fixture_read_tape(void *bytes, size_t count, void *user)
{
	fixture_tape *t = user;
	if (count > t->count - t->at)
		return false;
	memcpy(bytes, t->bytes + t->at, count);
	t->at += count;
	return true;
}

carom_mesh *fixture_hull_mesh(carom_context *context, const float *points, int32_t count)
{
	carom_mesh *mesh;
	const carom_strided view = { points, 0, CAROM_FLOAT32 };
	REQUIRE(carom_create_hull(context, &view, count, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void *prepare_nothing(const float *vertices, int32_t vertex_count, const int32_t *triangles, const int32_t *number,
	int32_t triangle_count, void *user)
{
	(void)vertices, (void)vertex_count, (void)triangles, (void)number, (void)triangle_count, (void)user;
	static int prepared;
	return &prepared;
}

static void hit_nothing(void *state, const carom_ray_batch *rays, const carom_hit_batch *hits, void *user)
{
	(void)state, (void)user;
	for (int32_t i = 0; i < rays->count; i++)
		hits->triangle[i] = -1;
}

static void forget_nothing(void *state, void *user) { (void)state, (void)user; }

carom_world_def fixture_plugin_world_def(void)
{
	static const carom_ray_plugin plugin = { "nothing", prepare_nothing, hit_nothing, forget_nothing, NULL };
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->ray_method = CAROM_RAYS_PLUGIN;
	fixture_lab(&def)->ray_plugin = &plugin;
	return def;
}

int fixture_fail_each_allocation(fixture_heap *heap, carom_context *context, const carom_world_def *def,
	void (*fill)(carom_world *world, void *user), void *user, int pairs)
{
	failing_calls calls = failing_calls_of_preset();
	for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS;) {
		carom_world *world = fixture_world(context, def);
		fill(world, user);
		fixture_begin_failing(heap, &calls);
		result = carom_world_step(world);
		fixture_end_failing(heap);
		if (result != CAROM_SUCCESS) {
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			fixture_step(world);
		}
		CHECK_INT(carom_world_pairs(world).count, pairs);
		carom_destroy_world(world);
	}
	const int allocations = (int)calls.calls;
	failing_calls_free(&calls);
	return allocations;
}

void fixture_repair_tape(fixture_tape *t)
{
	uint64_t check = cr_check_bytes(CR_CHECK_SEED, t->bytes, 12);
	for (size_t at = 12; at + CR_RECORD_HEAD_SIZE + CR_RECORD_CHECK_SIZE <= t->count;) {
		const uint64_t payload = cr_load_le(t->bytes + at + 4, 8);
		if (payload > t->count - at - CR_RECORD_HEAD_SIZE - CR_RECORD_CHECK_SIZE)
			return;
		const size_t size = CR_RECORD_HEAD_SIZE + (size_t)payload;
		check = cr_check_bytes(check, t->bytes + at, size);
		cr_store_le(t->bytes + at + size, check, CR_RECORD_CHECK_SIZE);
		check = cr_check_bytes(check, t->bytes + at + size, CR_RECORD_CHECK_SIZE);
		at += size + CR_RECORD_CHECK_SIZE;
	}
}
