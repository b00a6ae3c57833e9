/// How much stack a call takes: each family of calls runs on a thread whose stack was painted, and what it has overwritten is measured.
/// carom/base.h promises CAROM_STACK_BYTES: fibers and threads with small stacks rely on it.
#include "carom/batch.h"
#include "carom/collide.h"
#include "carom/carom.h"
#include "carom/sweep.h"
#include "fixture.h"
#include "spheres_fixture.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Without optimisation frames do not share what they no longer need, and sanitizers put space around everything.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { STACK_IS_SMALL = 1 };
#else
enum { STACK_IS_SMALL = 0 };
#endif

enum { STACK_SIZE = 1 << 20, PAINT = 0xa5 };

/// What runs on the painted stack. Checks are made there too: the thread that waits makes none meanwhile.
typedef void stack_fn(void *user);

typedef struct painted {
	stack_fn *fn;
	void *user;
	unsigned char *stack;
	size_t depth; // that fn took
} painted;

/// From the lowest byte that lost its paint up to here: what lies above is the thread's own.
static void *run_painted(void *user)
{
	painted *p = user;
	unsigned char here;
	p->fn(p->user);
	const unsigned char *lowest = p->stack;
	while (*lowest == PAINT)
		lowest++;
	p->depth = (size_t)((uintptr_t)&here - (uintptr_t)lowest);
	return NULL;
}

#if defined(_WIN32) || defined(__wasi__)
static void check_stack(const char *what, stack_fn *fn, void *user)
{
	(void)run_painted, (void)what, (void)fn, (void)user;
	test_skip("threads on a stack of one's own are not to be had here");
}
#else
static void check_stack(const char *what, stack_fn *fn, void *user)
{
	painted p = { .fn = fn, .user = user };
	REQUIRE(posix_memalign((void **)&p.stack, 4096, STACK_SIZE) == 0);
	memset(p.stack, PAINT, STACK_SIZE);
	pthread_attr_t attributes;
	pthread_t thread;
	REQUIRE(pthread_attr_init(&attributes) == 0);
	REQUIRE(pthread_attr_setstack(&attributes, p.stack, STACK_SIZE) == 0);
	REQUIRE(pthread_create(&thread, &attributes, run_painted, &p) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	REQUIRE(pthread_attr_destroy(&attributes) == 0);
	free(p.stack);
	CHECK(p.depth > 100);
	printf("%s: %zu bytes of stack\n", what, p.depth);
	CHECK(p.depth <= CAROM_STACK_BYTES);
}
#endif

/// Skip a case in builds with larger frames, before it makes anything.
static void need_small_frames(void)
{
	if (!STACK_IS_SMALL)
		test_skip("frames of this build are not those of a user's; other topics make these calls");
}

/// Every instruction set that this machine has: frames are as wide as its registers.
static void for_each_simd(const char *what, stack_fn *fn)
{
	need_small_frames();
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		carom_context_def def = carom_default_context_def();
		def.thread_count = 1;
		def.simd = fixture_all_simd[i];
		carom_context *context;
		if (carom_create_context(&def, &context) != CAROM_SUCCESS)
			continue;
		char name[96];
		snprintf(name, sizeof name, "%s, %s", what, carom_simd_name(def.simd));
		check_stack(name, fn, context);
		carom_destroy_context(context);
	}
}

// ---- Worlds ----

static carom_mesh *make_height_field(carom_context *context)
{
	static float heights[20 * 20];
	for (int i = 0; i < 400; i++)
		heights[i] = 0.1f * (float)(i * 7 % 5);
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_height_field(context, 20, 20, heights, (double[2]){ 0.4, 0.4 }, 0.5, &mesh) == CAROM_SUCCESS);
	return mesh;
}

typedef struct stage {
	carom_world *world;
	carom_mesh *meshes[4];
	carom_body_id ids[64];
	int count;
} stage;

static void add_all(stage *s, uint64_t *seed)
{
	const carom_shape shapes[] = { fixture_of_mesh(s->meshes[0]), fixture_of_mesh(s->meshes[1]), fixture_of_mesh(s->meshes[2]),
		fixture_sphere(0.4), fixture_box(0.3, 0.4, 0.5), fixture_capsule(0.2, 0.4) };
	for (s->count = 0; s->count < 36; s->count++)
		s->ids[s->count] = fixture_add(s->world, shapes[s->count % 6], fixture_random_pose(seed, 1.5), CAROM_DYNAMIC);
	fixture_add(s->world, fixture_of_mesh(s->meshes[3]), fixture_at(-2, -2, -1), CAROM_STATIC);
	fixture_add(s->world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -1.2), CAROM_STATIC);
}

/// Steps of a crowd of all shapes, which turn a little, then a lot.
static void step_all(stage *s, uint64_t *seed)
{
	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < s->count; i++) {
			carom_pose pose = fixture_random_pose(seed, 1.5);
			if (step < 3) {
				REQUIRE(carom_world_get_pose(s->world, s->ids[i], &pose) == CAROM_SUCCESS);
				pose.position.x += test_random_double(seed, -0.01, 0.01);
			}
			REQUIRE(carom_world_set_pose(s->world, s->ids[i], &pose) == CAROM_SUCCESS);
		}
		fixture_step(s->world);
	}
	CHECK(carom_world_contacts(s->world).count > 0);
}

static void ask_all(const stage *s)
{
	const carom_ray ray = { { -5, 0.1, 0.2 }, { 1, 0.01, 0 }, 0, 20 };
	carom_ray_hit hits[16];
	carom_closest_point nearest;
	carom_body_id bodies[64];
	bool found;
	int32_t count;
	const carom_aabb box = { { -1, -1, -1 }, { 1, 1, 1 } };
	const carom_pose here = fixture_at(0.1, 0.2, 0.3);
	CHECK_INT(carom_world_cast_ray(s->world, &ray, NULL, &found, hits), CAROM_SUCCESS);
	CHECK_INT(carom_world_cast_ray_any(s->world, &ray, NULL, &found), CAROM_SUCCESS);
	CHECK_INT(carom_world_cast_ray_all(s->world, &ray, NULL, 16, hits, &count), CAROM_SUCCESS);
	CHECK_INT(carom_world_closest_point(s->world, here.position, INFINITY, NULL, &found, &nearest), CAROM_SUCCESS);
	CHECK_INT(carom_world_overlap_aabb(s->world, &box, NULL, 64, bodies, &count), CAROM_SUCCESS);
	for (int i = 0; i < 3; i++) {
		const carom_shape shape = i == 0 ? fixture_of_mesh(s->meshes[1]) : i == 1 ? fixture_box(1, 1, 1) : fixture_sphere(1);
		CHECK_INT(carom_world_overlap_shape(s->world, &shape, &here, NULL, 64, bodies, &count), CAROM_SUCCESS);
		CHECK(count > 0);
		CHECK_INT(carom_world_collide_shape(s->world, &shape, &here, NULL, 0, NULL, &count), CAROM_SUCCESS);
		carom_closest_body near;
		CHECK_INT(carom_world_closest_body(s->world, &shape, &here, INFINITY, NULL, &found, &near), CAROM_SUCCESS);
		CHECK(count > 0);
	}
	for (int i = 0; i < 8; i++) {
		const carom_shape shape = i % 4 == 3 ? fixture_cylinder(0.2, 0.4) : fixture_of_mesh(s->meshes[i % 4]);
		carom_motion way = { fixture_at(i < 4 ? 4 : 0, 0.1, 0.2), fixture_at(-4, 0.3, 0) };
		way.end.orientation = fixture_turn((v3d){ 1, 2, 3 }, 2);
		carom_shape_hit hit;
		CHECK_INT(carom_world_cast_shape(s->world, &shape, &way, 1e-4, NULL, &found, &hit), CAROM_SUCCESS);
		CHECK(found);
	}
	CHECK_INT(carom_world_cast_ray(s->world, &(carom_ray){ .t_max = 1 }, NULL, &found, hits), CAROM_INVALID_ARGUMENT);
}

static void use_world(carom_context *context, const carom_world_def *def)
{
	uint64_t seed = 5;
	stage s = { .world = fixture_world(context, def) };
	s.meshes[0] = fixture_torus_mesh(context, 24, 12, 0.4, 0.2);
	s.meshes[1] = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	s.meshes[2] = fixture_sheet_mesh(context, 8, 1.5);
	s.meshes[3] = make_height_field(context);
	add_all(&s, &seed);
	step_all(&s, &seed);
	ask_all(&s);
	carom_destroy_world(s.world);
	for (int i = 0; i < 4; i++)
		carom_release_mesh(s.meshes[i]);
}

static void steps_of_worlds(void *context)
{
	for (int variant = 0; variant < 6; variant++) {
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, variant % 3);
		fixture_lab(&def)->ray_method = (carom_ray_method)(variant % 3);
		def.temporal = variant < 3 ? CAROM_TEMPORAL_PREDICTIVE : CAROM_TEMPORAL_NONE;
		fixture_lab(&def)->exit_distance_test = variant == 4;
		use_world(context, &def);
	}
}

TEST(stack, worlds_of_all_shapes) { for_each_simd("worlds", steps_of_worlds); }

/// Boxes whose faces lie in one plane, edge on edge: every predicate goes to its exact form.
static void exact_contacts(void *context)
{
	carom_mesh *box = fixture_box_mesh(context, 0.5, 0.5, 0.5), *sheet = fixture_sheet_mesh(context, 6, 3);
	carom_world *world = fixture_world(context, NULL);
	for (int i = 0; i < 27; i++)
		fixture_add(world, fixture_of_mesh(box), fixture_at(i % 3, i / 3 % 3 + 0.5 * (i % 2), i / 9), CAROM_DYNAMIC);
	fixture_add(world, fixture_of_mesh(sheet), fixture_at(1, 1, 0.5), CAROM_DYNAMIC);
	fixture_step(world);
	fixture_step(world);
	bool found;
	carom_mesh_gap gap;
	for (int i = 0; i < 6; i++) {
		const carom_pose pose = fixture_at(i % 2 ? 1 : 0.25 * i, 1, i > 3 ? 1 : 0.75);
		CHECK_INT(carom_mesh_distance(box, NULL, i % 3 ? box : sheet, &pose, INFINITY, &found, &gap), CAROM_SUCCESS);
	}
	carom_destroy_world(world);
	carom_release_mesh(box);
	carom_release_mesh(sheet);
}

TEST(stack, contacts_that_are_decided_exactly) { for_each_simd("exact contacts", exact_contacts); }

// ---- Meshes ----

/// Making, checking, judging and asking a mesh; and one whose vertices lie at all scales, so that its tree is deep.
static void use_meshes(void *context)
{
	carom_mesh *torus = fixture_torus_mesh(context, 60, 30, 0.4, 0.3), *ball = fixture_sphere_mesh(context, 0.7, 24);
	carom_tree_info info;
	carom_mass mass;
	carom_mesh_point nearest;
	carom_mesh_gap gap;
	carom_separation way;
	int32_t count, pairs[8][2];
	bool found;
	const carom_pose away = fixture_at(1.7, 0.1, 0.2);
	CHECK_INT(carom_mesh_get_tree_info(torus, true, &info), CAROM_SUCCESS);
	CHECK_INT(carom_mesh_get_mass(torus, &mass), CAROM_SUCCESS);
	CHECK_INT(carom_mesh_self_intersections(torus, 8, pairs, &count), CAROM_SUCCESS);
	CHECK_INT(carom_mesh_contains(torus, (carom_vec3){ 1, 0.01, 0.02 }, &found), CAROM_SUCCESS);
	CHECK_INT(carom_mesh_closest_point(torus, (carom_vec3){ 3, 1, 2 }, INFINITY, &found, &nearest), CAROM_SUCCESS);
	CHECK_INT(carom_mesh_distance(torus, NULL, ball, &away, INFINITY, &found, &gap), CAROM_SUCCESS);
	const carom_shape shapes[4] = { fixture_of_mesh(torus), fixture_of_mesh(ball), fixture_cone(0.3, 0.5),
		{ .type = CAROM_PLANE } };
	for (int i = 0; i < 12; i++) {
		CHECK_INT(carom_collide(context, &shapes[i & 1], NULL, &shapes[i / 2 % 4], &away, 0.1, 0, NULL, &count), CAROM_SUCCESS);
		CHECK_INT(carom_distance(context, &shapes[i & 1], NULL, &shapes[i / 2 % 4], i < 8 ? NULL : &away, &way), CAROM_SUCCESS);
	}
	carom_release_mesh(torus);
	carom_release_mesh(ball);
}

static void make_deep_mesh(void *context)
{
	enum { COUNT = 600 };
	static float vertices[3 * COUNT][3];
	static int32_t triangles[COUNT][3];
	for (int i = 0; i < COUNT; i++) {
		const double at = pow(1e12, (double)i / COUNT) * 1e-6;
		for (int k = 0; k < 3; k++) {
			vertices[3 * i + k][0] = (float)(at * (1 + 0.001 * (k == 1)));
			vertices[3 * i + k][1] = (float)(at * 0.001 * (k == 2));
			vertices[3 * i + k][2] = (float)(at * 0.5);
			triangles[i][k] = 3 * i + k;
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 3 * COUNT;
	def.triangles = triangles[0];
	def.triangle_count = COUNT;
	carom_mesh *mesh = NULL;
	CHECK_INT(carom_create_mesh(context, &def, NULL, &mesh), CAROM_SUCCESS);
	fixture_tape tape = { 0 };
	CHECK_INT(carom_mesh_save(mesh, fixture_write_tape, &tape), CAROM_SUCCESS);
	carom_release_mesh(mesh);
	CHECK_INT(carom_mesh_load(context, tape.bytes, tape.count, true, &mesh), CAROM_SUCCESS);
	carom_release_mesh(mesh);
	free(tape.bytes);
}

TEST(stack, meshes)
{
	for_each_simd("meshes", use_meshes);
	carom_context *context = fixture_context(1);
	check_stack("a mesh of all scales", make_deep_mesh, context);
	carom_destroy_context(context);
}

static void meet_convex(void *context)
{
	const carom_shape shapes[] = { fixture_sphere(0.4), fixture_box(0.3, 0.4, 0.5), fixture_capsule(0.2, 0.4) };
	uint64_t seed = 3;
	for (int i = 0; i < 90; i++) {
		const carom_pose a = fixture_random_pose(&seed, 0.6), b = fixture_random_pose(&seed, 0.6);
		carom_separation apart;
		carom_manifold manifold;
		bool overlap;
		CHECK_INT(carom_overlap(context, &shapes[i % 3], &a, &shapes[i / 3 % 3], &b, &overlap), CAROM_SUCCESS);
		CHECK_INT(carom_distance(context, &shapes[i % 3], &a, &shapes[i / 3 % 3], &b, &apart), CAROM_SUCCESS);
		CHECK_INT(carom_collide_convex(context, &shapes[i % 3], &a, &shapes[i / 3 % 3], &b, 0.01, &manifold), CAROM_SUCCESS);
	}
}

/// Rings whose tubes come into each other, so that parts are opened on both sides and deep pairs are measured.
static void meet_meshes(void *context)
{
	carom_mesh *ring = fixture_torus_mesh(context, 32, 16, 0.4, 0.2);
	const carom_shape torus = fixture_of_mesh(ring), egg = fixture_ellipsoid(0.3, 0.4, 0.5);
	uint64_t seed = 4;
	for (int i = 0; i < 40; i++) {
		const carom_motion a = { fixture_random_pose(&seed, 1.5), fixture_random_pose(&seed, 1.5) },
						   b = { fixture_random_pose(&seed, 1.5), fixture_random_pose(&seed, 1.5) };
		carom_toi toi;
		CHECK_INT(carom_time_of_impact(context, &torus, &a, i % 2 ? &torus : &egg, &b, 1e-4, &toi), CAROM_SUCCESS);
	}
	carom_release_mesh(ring);
}

/// Batches of all questions of a world and of two shapes, on meshes and convex bodies.
static void ask_batches(void *context)
{
	enum { COUNT = 24 };
	carom_mesh *ring = fixture_torus_mesh(context, 32, 16, 0.4, 0.2);
	carom_world *world = fixture_world(context, NULL);
	const carom_shape shapes[4] = { fixture_of_mesh(ring), fixture_box(0.3, 0.4, 0.5), fixture_ellipsoid(0.3, 0.4, 0.5),
		fixture_cylinder(0.3, 0.4) };
	const carom_batch batch = { .count = COUNT };
	static carom_ray rays[COUNT];
	static carom_vec3 points[COUNT];
	static carom_placed_shape placed[COUNT];
	static carom_shape_cast casts[COUNT];
	static carom_shape_pair pairs[COUNT];
	static carom_motion_pair moving[COUNT];
	static union {
		carom_ray_hit hits[COUNT];
		bool any[COUNT];
		carom_closest_point closest[COUNT];
		carom_closest_body bodies[COUNT];
		carom_shape_hit met[COUNT];
		carom_separation separations[COUNT];
		carom_toi impacts[COUNT];
	} out;
	int64_t first[COUNT + 1];
	bool found;
	carom_closest_pair pair;
	uint64_t seed = 9;
	for (int i = 0; i < COUNT; i++) {
		const carom_pose a = fixture_random_pose(&seed, 1.5), b = fixture_random_pose(&seed, 1.5);
		fixture_add(world, shapes[i % 4], a, i % 8 == 4 ? CAROM_CLOTH : CAROM_DYNAMIC);
		rays[i] = (carom_ray){ a.position, v3d_sub(b.position, a.position), 0, 3 };
		points[i] = b.position;
		placed[i] = (carom_placed_shape){ &shapes[i / 4 % 4], b };
		casts[i] = (carom_shape_cast){ &shapes[i / 4 % 4], { a, b } };
		pairs[i] = (carom_shape_pair){ &shapes[i % 4], &shapes[i / 4 % 4], a, b };
		moving[i] = (carom_motion_pair){ &shapes[i % 4], &shapes[i / 4 % 4], { a, b }, { b, b } };
	}
	CHECK_INT(carom_world_cast_rays(world, &batch, rays, out.hits), CAROM_SUCCESS);
	CHECK_INT(carom_world_cast_rays_any(world, &batch, rays, out.any), CAROM_SUCCESS);
	CHECK_INT(carom_world_cast_rays_all(world, &batch, rays, 0, NULL, first), CAROM_SUCCESS);
	CHECK_INT(carom_world_closest_points(world, &batch, points, 1, out.closest), CAROM_SUCCESS);
	CHECK_INT(carom_world_overlap_shapes(world, &batch, placed, 0, NULL, first), CAROM_SUCCESS);
	const carom_aabb box = { { -1, -1, -1 }, { 1, 1, 1 } };
	CHECK_INT(carom_world_overlap_aabbs(world, &(carom_batch){ .count = 1 }, &box, 0, NULL, first), CAROM_SUCCESS);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(carom_shape_cast_rays(context, &batch, &shapes[i], NULL, rays, out.hits), CAROM_SUCCESS);
		CHECK_INT(carom_shape_closest_points(context, &batch, &shapes[i], NULL, points, 1, out.closest), CAROM_SUCCESS);
	}
	CHECK_INT(carom_world_collide_shapes(world, &batch, placed, 0, NULL, first), CAROM_SUCCESS);
	CHECK_INT(carom_world_closest_bodies(world, &batch, placed, 1, out.bodies), CAROM_SUCCESS);
	CHECK_INT(carom_world_cast_shapes(world, &batch, casts, 1e-4, out.met), CAROM_SUCCESS);
	CHECK_INT(carom_world_closest_pair(world, 1, NULL, NULL, &found, &pair), CAROM_SUCCESS);
	CHECK_INT(carom_distances(context, &batch, pairs, out.separations), CAROM_SUCCESS);
	CHECK_INT(carom_times_of_impact(context, &batch, moving, 1e-4, out.impacts), CAROM_SUCCESS);
	carom_destroy_world(world);
	carom_release_mesh(ring);
}

TEST(stack, batches) { for_each_simd("batches", ask_batches); }

TEST(stack, impacts_of_meshes) { for_each_simd("impacts of meshes", meet_meshes); }

TEST(stack, convex_shapes) { for_each_simd("convex shapes", meet_convex); }

// ---- Deforming meshes ----

/// A crumpled sheet that folds through itself, with steps that only bisection decides.
static void sweep_sheet(carom_context *context, const carom_sweep_def *def)
{
	enum { SIDE = 14, COUNT = SIDE * SIDE };
	static double places[COUNT][3];
	static int32_t triangles[2 * SIDE * SIDE][3];
	int32_t triangle_count = 0;
	uint64_t seed = 9;
	for (int v = 0; v < COUNT; v++) {
		places[v][0] = v % SIDE;
		places[v][1] = v / SIDE; // NOLINT: whole numbers, so that much meets exactly
		places[v][2] = 0;
		if (v % SIDE < SIDE - 1 && v < COUNT - SIDE) {
			const int32_t corners[2][3] = { { v, v + 1, v + SIDE }, { v + 1, v + SIDE + 1, v + SIDE } };
			memcpy(triangles[triangle_count], corners, sizeof corners);
			triangle_count += 2;
		}
	}
	carom_sweep *sweep = NULL;
	carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
	mesh.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	mesh.vertex_count = COUNT;
	mesh.triangles = triangles[0];
	mesh.triangle_count = triangle_count;
	int32_t number;
	REQUIRE(carom_create_sweep(context, def, &sweep) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_add_mesh(sweep, &mesh, &number) == CAROM_SUCCESS);
	for (int step = 0; step < 3; step++) {
		carom_sweep_hits hits;
		carom_sweep_hit hit;
		bool found;
		for (int v = 0; v < COUNT; v++) {
			places[v][0] += floor(test_random_double(&seed, -2, 3));
			places[v][2] = floor(test_random_double(&seed, -2, 3));
		}
		REQUIRE(carom_sweep_move_mesh(sweep, number, &mesh.vertices) == CAROM_SUCCESS);
		CHECK_INT(carom_sweep_find(sweep, &hits), CAROM_SUCCESS);
		const double corners[4][3] = { { 0, 0, 0 }, { -1, -1, 0 }, { 2, -1, 0 }, { -1, 2, 0 } };
		bool pair_meets;
		CHECK_INT(carom_sweep_test_pair(context, def, (carom_sweep_kind)(step % 2), corners, corners, &pair_meets, &hit),
			CAROM_SUCCESS);
		CHECK(hits.count > 0);
		CHECK_INT(carom_sweep_find_earliest(sweep, &hit, &found), CAROM_SUCCESS);
	}
	carom_destroy_sweep(sweep);
}

static void use_sweeps(void *context)
{
	for (int variant = 0; variant < 8; variant++) {
		carom_sweep_def def = carom_default_sweep_def();
		def.lab = carom_lab_sweep();
		def.method = (carom_sweep_method)(variant % 5);
		def.volume = (carom_sweep_volume)(variant % 2);
		def.build = (carom_sweep_build)(variant / 2 % 2);
		def.test = (carom_sweep_test)(variant % 3);
		def.orphan_sets = variant % 4 != 3;
		sweep_sheet(context, &def);
	}
}

TEST(stack, sweeps) { for_each_simd("sweeps", use_sweeps); }

/// A cloth of a world that falls through rigid meshes, is asked, recorded and replayed.
static void drop_cloth(void *context)
{
	fixture_tape t = { 0 };
	uint64_t seed = 5;
	carom_mesh *sheet = fixture_sheet_mesh(context, 12, 2), *ball = fixture_sphere_mesh(context, 0.6, 8);
	stage s = { .world = fixture_world(context, NULL) };
	s.meshes[0] = fixture_torus_mesh(context, 12, 8, 0.4, 0.2);
	s.meshes[1] = s.meshes[2] = ball;
	s.meshes[3] = sheet;
	REQUIRE(carom_world_record(s.world, fixture_write_tape, &t) == CAROM_SUCCESS);
	add_all(&s, &seed);
	const carom_body_id cloth = fixture_add(s.world, fixture_of_mesh(sheet), fixture_at(0, 0, 0), CAROM_CLOTH);
	const int count = 13 * 13;
	float(*places)[3] = malloc((size_t)count * sizeof *places);
	REQUIRE(places);
	memcpy(places, carom_mesh_get_vertices(sheet), (size_t)count * sizeof *places);
	for (int step = 0; step < 4; step++) {
		for (int v = 0; v < count; v++)
			places[v][2] += (float)test_random_double(&seed, -0.8, 0.8);
		REQUIRE(carom_world_set_vertices(s.world, cloth, NULL, &(carom_strided){ places, 0, CAROM_FLOAT32 }) == CAROM_SUCCESS);
		fixture_step(s.world);
		ask_all(&s);
	}
	CHECK(carom_world_impacts(s.world).count > 0);
	CHECK_INT(carom_world_record(s.world, NULL, NULL), CAROM_SUCCESS);
	carom_destroy_world(s.world);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &t, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 4);
	free(places);
	free(t.bytes);
	carom_release_mesh(sheet);
	carom_release_mesh(ball);
	carom_release_mesh(s.meshes[0]);
}

TEST(stack, cloth_recorded_and_replayed) { for_each_simd("cloth", drop_cloth); }

// ---- Spheres ----

static bool ignore_pairs(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	(void)pairs, (void)count, (void)worker, (void)user;
	return true;
}

static void push_apart(uint32_t a, uint32_t b, const double d[3], double overlap, double force[3], double torque[3], void *user)
{
	(void)a, (void)b, (void)torque, (void)user;
	for (int k = 0; k < 3; k++)
		force[k] += overlap * d[k];
}

static void use_spheres_of(carom_context *context, const fixture_cloud *cloud, carom_sphere_method method, double skin)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = method;
	def.skin = skin;
	carom_spheres *spheres = NULL;
	carom_sphere_pairs pairs;
	carom_sphere_neighbours rows;
	fixture_arrays arrays = fixture_lay_out(cloud, LAYOUT_DOUBLES);
	double *forces = malloc(3 * (size_t)cloud->count * sizeof *forces);
	uint32_t *order = malloc((size_t)cloud->count * sizeof *order);
	REQUIRE(forces && order && carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	for (int update = 0; update < 2; update++) {
		CHECK_INT(carom_spheres_update(spheres, &arrays.input), CAROM_SUCCESS);
		CHECK_INT(carom_spheres_find_pairs(spheres, &pairs), CAROM_SUCCESS);
		CHECK_INT(carom_spheres_visit_pairs(spheres, ignore_pairs, NULL), CAROM_SUCCESS);
		CHECK_INT(carom_spheres_sum_forces(spheres, push_apart, NULL, forces, NULL), CAROM_SUCCESS);
		CHECK_INT(carom_spheres_get_neighbours(spheres, &rows), CAROM_SUCCESS);
		CHECK_INT(carom_spheres_get_order(spheres, order), CAROM_SUCCESS);
	}
	free(forces);
	free(order);
	fixture_free_arrays(&arrays);
	carom_destroy_spheres(spheres);
}

/// Clouds are made before, since that is no call of the library.
static fixture_cloud s_clouds[4];

static void use_spheres(void *context)
{
	for (int i = 0; i < 4; i++) {
		for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++)
			use_spheres_of(context, &s_clouds[i], (carom_sphere_method)method, i % 2 ? 0.0001 : 0);
	}
}

TEST(stack, spheres)
{
	need_small_frames();
	s_clouds[0] = fixture_make_cloud(CLOUD_DENSE, 70000, 1); // enough for the sort by all workers
	s_clouds[1] = fixture_make_cloud(CLOUD_POWER_LAW, 3000, 2);
	s_clouds[2] = fixture_make_cloud(CLOUD_ALL_SCALES, 3000, 3);
	s_clouds[3] = fixture_make_cloud(CLOUD_STRAYS, 3000, 4);
	for_each_simd("spheres", use_spheres);
	for (int i = 0; i < 4; i++)
		fixture_free_cloud(&s_clouds[i]);
}
