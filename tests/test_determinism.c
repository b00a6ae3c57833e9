/// Determinism (promise of carom.h): the same contacts, bit for bit, for any broad phase, number of threads, cut of the work and instruction
/// set; and, by the `hash` lines that ./dev test compares between its builds, for any compiler and its flags.
///
/// Poses come from + - * / and square roots of doubles only. After a change that is meant to change contacts (and only then) put
/// the printed hashes into GOLDEN: build release, run `carom_tests determinism`, and say in the commit why they changed.
#include "fixture.h"

#include "carom/collide.h"
#include "sim/mesh_file.h"
#include "sim/shapes.h"
#include "sim/trajectory.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden {
	const char *scene;
	uint64_t hash;
} golden;

static const golden GOLDEN[] = {
	{ "pile", 0x60bcf6853db5cf4c },
	{ "zoo", 0x5560274de494248a },
	{ "near", 0x10b998a78e53e4ca },
	{ "convex_shapes", 0x93cc8c124c8ba2f4 },
	{ "scene1_step_80", 0x647edbd94b3ed575 },
	{ "scene1_step_420", 0x7c6830622c91f9ef },
};

static void report_hash(const char *scene, uint64_t hash)
{
	printf("hash %s %016" PRIx64 "\n", scene, hash);
	for (size_t i = 0; i < sizeof GOLDEN / sizeof *GOLDEN; i++) {
		if (strcmp(GOLDEN[i].scene, scene) == 0) {
			if (!CHECK(hash == GOLDEN[i].hash))
				printf("the hash that GOLDEN has is %016" PRIx64 "\n", GOLDEN[i].hash);
			return;
		}
	}
	CHECK_STR(scene, "a scene of GOLDEN");
}

// ---- Ways to compute the same ----

/// Runs the pieces last first and as small as allowed, and hands the workers round.
static void reversed_scheduler(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	const int workers = *(const int *)user;
	int worker = 0;
	for (int64_t piece = (count + min_range - 1) / min_range - 1; piece >= 0; piece--) {
		const int64_t end = (piece + 1) * min_range;
		task_fn(piece * min_range, end < count ? end : count, worker, task);
		worker = (worker + 1) % workers;
	}
}

static int s_reversed_workers = 5;

typedef struct way {
	const char *name;
	carom_broad_phase broad_phase;
	int threads;
	carom_simd simd;
	carom_ray_method rays;
	bool reversed;
} way;

/// The first is what the others are compared with.
static const way WAYS[] = {
	{ "brute force on one thread, scalar", CAROM_BROAD_BRUTE, 1, CAROM_SIMD_SCALAR, CAROM_RAYS_WIDE, false },
	{ "sweep on one thread", CAROM_BROAD_SWEEP, 1, CAROM_SIMD_AUTO, CAROM_RAYS_WIDE, false },
	{ "tree on one thread", CAROM_BROAD_TREE, 1, CAROM_SIMD_AUTO, CAROM_RAYS_WIDE, false },
	{ "tree on two threads", CAROM_BROAD_TREE, 2, CAROM_SIMD_AUTO, CAROM_RAYS_WIDE, false },
	{ "tree on three threads", CAROM_BROAD_TREE, 3, CAROM_SIMD_SCALAR, CAROM_RAYS_WIDE, false },
	{ "sweep on three threads", CAROM_BROAD_SWEEP, 3, CAROM_SIMD_AUTO, CAROM_RAYS_WIDE, false },
	{ "sse2", CAROM_BROAD_TREE, 1, CAROM_SIMD_SSE2, CAROM_RAYS_WIDE, false },
	{ "avx2", CAROM_BROAD_TREE, 2, CAROM_SIMD_AVX2, CAROM_RAYS_WIDE, false },
	{ "avx512", CAROM_BROAD_TREE, 2, CAROM_SIMD_AVX512, CAROM_RAYS_WIDE, false },
	{ "neon", CAROM_BROAD_TREE, 2, CAROM_SIMD_NEON, CAROM_RAYS_WIDE, false },
	{ "pieces in reversed order, tree", CAROM_BROAD_TREE, 5, CAROM_SIMD_AUTO, CAROM_RAYS_WIDE, true },
	{ "pieces in reversed order, sweep, scalar", CAROM_BROAD_SWEEP, 5, CAROM_SIMD_SCALAR, CAROM_RAYS_WIDE, true },
	{ "rays by the binary tree", CAROM_BROAD_TREE, 1, CAROM_SIMD_AUTO, CAROM_RAYS_BINARY, false },
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS };

/// NULL: the machine or the build lacks the instruction set.
static carom_context *make_context(const way *w)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = w->threads;
	def.simd = w->simd;
	if (w->reversed) {
		def.parallel_for = reversed_scheduler;
		def.parallel_for_user = &s_reversed_workers;
	}
	carom_context *context = NULL;
	const carom_result result = carom_create_context(&def, &context);
	REQUIRE(result == CAROM_SUCCESS || result == CAROM_UNSUPPORTED);
	return context;
}

// ---- Scenes ----

enum { MAX_BODIES = 160, MAX_MESHES = 8 };

typedef struct scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *meshes[MAX_MESHES];
	int mesh_count;
	carom_body_id ids[MAX_BODIES]; // bodies that move
	carom_pose poses[MAX_BODIES];
	carom_vec3 velocities[MAX_BODIES];
	carom_quat spins[MAX_BODIES];
	int body_count;
	uint64_t seed;
} scene;

typedef struct model model;

/// How a scene is filled, and how it differs from the default world.
typedef struct plan {
	const char *name;
	model *models; // ends with a shape of NULL
	void (*fill)(scene *s, const model *models);
	int steps;
	int32_t max_contacts;
	bool exit_distance_test;
	double speculative_distance;
} plan;

static double between(scene *s, double low, double high) { return test_random_double(&s->seed, low, high); }

static carom_quat normalized(carom_quat q)
{
	const double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return (carom_quat){ q.x / length, q.y / length, q.z / length, q.w / length };
}

static carom_quat product(carom_quat a, carom_quat b)
{
	return (carom_quat){ a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
		a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z };
}

/// A random rotation; size 1: any, less: near the identity.
static carom_quat random_rotation(scene *s, double size)
{
	carom_quat q = { between(s, -size, size), between(s, -size, size), between(s, -size, size), 1 };
	q.w = size < 1 ? 1 : between(s, -1, 1);
	return normalized(q);
}

/// A shape of the generator: made once for all ways, for that takes longer than the steps.
struct model {
	const char *shape;
	int32_t triangles;
	double scale;
	int32_t left_out; // triangles: then the mesh is open
	sim_mesh made;
};

static void make_models(model *models)
{
	for (model *m = models; m->shape; m++) {
		char error[256];
		REQUIRE(sim_make_shape(m->shape, m->triangles, 7, &m->made, error, sizeof error));
		for (int32_t i = 0; i < 3 * m->made.vertex_count; i++)
			m->made.vertices[i] = (float)(m->made.vertices[i] * m->scale);
	}
}

static carom_mesh *add_mesh(scene *s, const model *m)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ m->made.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = m->made.vertex_count;
	def.triangles = m->made.triangles;
	def.triangle_count = m->made.triangle_count - m->left_out;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(s->context, &def, NULL, &mesh) == CAROM_SUCCESS);
	s->meshes[s->mesh_count++] = mesh;
	return mesh;
}

static carom_shape mesh_shape(const carom_mesh *mesh) { return (carom_shape){ .type = CAROM_MESH, .mesh = mesh }; }

static void add_body(scene *s, const carom_shape *shape, double half_width, double low, double high)
{
	carom_body_def def = carom_default_body_def();
	const int i = s->body_count++;
	def.shape = *shape;
	def.kind = i % 9 == 8 ? CAROM_KINEMATIC : CAROM_DYNAMIC;
	def.user_data = (uint64_t)i;
	def.pose.position.x = between(s, -half_width, half_width);
	def.pose.position.y = between(s, -half_width, half_width);
	def.pose.position.z = between(s, low, high);
	def.pose.orientation = random_rotation(s, 1);
	s->poses[i] = def.pose;
	s->velocities[i] = (carom_vec3){ between(s, -0.1, 0.1), between(s, -0.1, 0.1), between(s, -0.1, 0.1) };
	s->spins[i] = random_rotation(s, 0.1);
	REQUIRE(carom_world_add_body(s->world, &def, &s->ids[i]) == CAROM_SUCCESS);
}

static void add_bodies(scene *s, const carom_shape *shape, int count, double half_width, double low, double high)
{
	for (int i = 0; i < count; i++)
		add_body(s, shape, half_width, low, high);
}

static void add_scenery(scene *s, const carom_shape *shape, carom_vec3 position)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = *shape;
	def.kind = CAROM_STATIC;
	def.pose.position = position;
	REQUIRE(carom_world_add_body(s->world, &def, &id) == CAROM_SUCCESS);
}

static void add_ground(scene *s)
{
	enum { SIDE = 16 };
	float heights[SIDE * SIDE];
	for (int i = 0; i < SIDE * SIDE; i++)
		heights[i] = (float)between(s, 0, 0.6);
	const double spacing[2] = { 0.5, 0.5 };
	carom_mesh *field = NULL;
	REQUIRE(carom_create_height_field(s->context, SIDE, SIDE, heights, spacing, 1, &field) == CAROM_SUCCESS);
	s->meshes[s->mesh_count++] = field;
	add_scenery(s, &(carom_shape){ .type = CAROM_PLANE }, (carom_vec3){ 0, 0, 0 });
	const carom_shape shape = mesh_shape(field);
	add_scenery(s, &shape, (carom_vec3){ -3.75, -3.75, -0.25 });
}

static void fill_pile(scene *s, const model *models)
{
	add_ground(s);
	const carom_shape lumpy = mesh_shape(add_mesh(s, models));
	add_bodies(s, &lumpy, 60, 3, 0, 2.5);
	add_bodies(s, &(carom_shape){ .type = CAROM_BOX, .half_extents = { 0.5, 0.3, 0.2 } }, 20, 3, 0, 2.5);
	add_bodies(s, &(carom_shape){ .type = CAROM_SPHERE, .radius = 0.3 }, 20, 3, 0, 2.5);
	add_bodies(s, &(carom_shape){ .type = CAROM_CAPSULE, .radius = 0.2, .half_length = 0.4 }, 20, 3, 0, 2.5);
}

static void fill_zoo(scene *s, const model *models)
{
	add_scenery(s, &(carom_shape){ .type = CAROM_PLANE }, (carom_vec3){ 0, 0, -1.5 });
	for (const model *m = models; m->shape; m++) {
		const carom_shape shape = mesh_shape(add_mesh(s, m));
		add_bodies(s, &shape, 8, 1.8, -1.8, 1.8);
	}
	add_bodies(s, &(carom_shape){ .type = CAROM_CAPSULE, .radius = 0.1, .half_length = 0.9 }, 8, 1.8, -1.8, 1.8);
}

static void open_scene(scene *s, const plan *p, const way *w, carom_context *context)
{
	*s = (scene){ .context = context, .seed = 20 };
	carom_world_def def = carom_default_world_def();
	def.broad_phase = w->broad_phase;
	def.ray_method = w->rays;
	def.max_contacts_per_pair = p->max_contacts;
	def.exit_distance_test = p->exit_distance_test;
	def.speculative_distance = p->speculative_distance;
	REQUIRE(carom_create_world(context, &def, &s->world) == CAROM_SUCCESS);
	p->fill(s, p->models);
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	for (int i = 0; i < s->mesh_count; i++)
		carom_release_mesh(s->meshes[i]);
	carom_destroy_context(s->context);
}

static void move_bodies(scene *s)
{
	for (int i = 0; i < s->body_count; i++) {
		carom_pose *pose = &s->poses[i];
		pose->position.x += s->velocities[i].x;
		pose->position.y += s->velocities[i].y;
		pose->position.z += s->velocities[i].z;
		pose->orientation = normalized(product(s->spins[i], pose->orientation));
	}
	REQUIRE(carom_world_set_poses(s->world, s->body_count, s->ids, s->poses) == CAROM_SUCCESS);
}

/// The hashes of all steps as one number (FNV-1a over 64-bit words).
static uint64_t run_plan(const plan *p, const way *w, carom_context *context, int64_t *contacts)
{
	scene s;
	open_scene(&s, p, w, context);
	uint64_t hash = 14695981039346656037u;
	for (int step = 0; step < p->steps; step++) {
		if (step > 0)
			move_bodies(&s);
		REQUIRE(carom_world_step(s.world) == CAROM_SUCCESS);
		hash = (hash ^ carom_world_hash(s.world)) * 1099511628211u;
		*contacts += carom_world_contacts(s.world).count;
	}
	close_scene(&s);
	return hash;
}

static void check_plan(const plan *p)
{
	uint64_t expected = 0;
	make_models(p->models);
	for (int i = 0; i < WAY_COUNT; i++) {
		carom_context *context = make_context(&WAYS[i]);
		if (!context)
			continue;
		int64_t contacts = 0;
		const uint64_t hash = run_plan(p, &WAYS[i], context, &contacts);
		CHECK(contacts > 20 * p->steps);
		if (i == 0)
			expected = hash;
		if (!CHECK(hash == expected))
			printf("scene %s: %s differs from %s\n", p->name, WAYS[i].name, WAYS[0].name);
	}
	for (model *m = p->models; m->shape; m++)
		sim_mesh_free(&m->made);
	report_hash(p->name, expected);
}

TEST(determinism, pile)
{
	model models[] = { { .shape = "lumpy", .triangles = 902, .scale = 1 }, { .shape = NULL } };
	check_plan(&(plan){ .name = "pile", .models = models, .fill = fill_pile, .steps = 5, .max_contacts = 0 });
}

TEST(determinism, reduced_and_speculative)
{
	model models[] = { { .shape = "lumpy", .triangles = 902, .scale = 1 }, { .shape = NULL } };
	check_plan(&(plan){
		.name = "near", .models = models, .fill = fill_pile, .steps = 3, .max_contacts = 4, .speculative_distance = 0.02 });
}

TEST(determinism, zoo)
{
	// One of each kind of mesh: holes, hooks, many sizes, an open one.
	model models[] = { { .shape = "torus", .triangles = 600, .scale = 1 }, { .shape = "knot", .triangles = 1440, .scale = 1 },
		{ .shape = "lock", .triangles = 960, .scale = 1 }, { .shape = "L", .triangles = 28, .scale = 1 },
		{ .shape = "sphere", .triangles = 320, .scale = 0.7 }, { .shape = "lumpy", .triangles = 2130, .scale = 1.5 },
		{ .shape = "lumpy", .triangles = 902, .scale = 1, .left_out = 40 }, { .shape = NULL } };
	check_plan(&(plan){
		.name = "zoo", .models = models, .fill = fill_zoo, .steps = 3, .max_contacts = 0, .exit_distance_test = true });
}

// ---- Recorded motion ----

typedef struct recorded {
	sim_mesh mesh;
	sim_trajectory trajectory;
	carom_body_id *ids;
	carom_pose *poses;
} recorded;

static void load_recorded(recorded *r)
{
	char error[256] = "";
	const bool loaded = sim_load_trajectory(test_data_path("trajectories/scene1.rbt.gz"), &r->trajectory, error, sizeof error) &&
		sim_load_mesh(test_data_path("meshes/bullet-bunny-902.obj"), &r->mesh, error, sizeof error);
	CHECK_STR(error, "");
	REQUIRE(loaded);
	r->ids = calloc((size_t)r->trajectory.body_count, sizeof *r->ids);
	r->poses = calloc((size_t)r->trajectory.body_count, sizeof *r->poses);
	REQUIRE(r->ids && r->poses);
}

static void free_recorded(recorded *r)
{
	sim_mesh_free(&r->mesh);
	sim_free_trajectory(&r->trajectory);
	free(r->ids);
	free(r->poses);
}

/// The hash of one frame, all contacts, ground included.
static uint64_t hash_frame(const recorded *r, int frame, const way *w, carom_context *context)
{
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = (carom_strided){ r->mesh.vertices, 0, CAROM_FLOAT32 };
	mesh_def.vertex_count = r->mesh.vertex_count;
	mesh_def.triangles = r->mesh.triangles;
	mesh_def.triangle_count = r->mesh.triangle_count;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &mesh_def, NULL, &mesh) == CAROM_SUCCESS);
	carom_world_def world_def = carom_default_world_def();
	world_def.broad_phase = w->broad_phase;
	world_def.ray_method = w->rays;
	world_def.max_contacts_per_pair = 0;
	carom_world *world = NULL;
	REQUIRE(carom_create_world(context, &world_def, &world) == CAROM_SUCCESS);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_DYNAMIC;
	def.shape = mesh_shape(mesh);
	for (int32_t i = 0; i < r->trajectory.body_count; i++)
		REQUIRE(carom_world_add_body(world, &def, &r->ids[i]) == CAROM_SUCCESS);
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_PLANE };
	def.pose = sim_trajectory_ground_pose(&r->trajectory);
	carom_body_id ground;
	REQUIRE(carom_world_add_body(world, &def, &ground) == CAROM_SUCCESS);
	sim_trajectory_poses(&r->trajectory, frame, r->poses);
	REQUIRE(carom_world_set_poses(world, r->trajectory.body_count, r->ids, r->poses) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	CHECK(carom_world_contacts(world).count > 20);
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	return hash;
}

static void check_frame(const char *name, int frame)
{
	recorded r = { 0 };
	load_recorded(&r);
	uint64_t expected = 0;
	for (int i = 0; i < WAY_COUNT; i++) {
		carom_context *context = make_context(&WAYS[i]);
		if (!context)
			continue;
		const uint64_t hash = hash_frame(&r, frame, &WAYS[i], context);
		if (i == 0)
			expected = hash;
		if (!CHECK(hash == expected))
			printf("scene %s: %s differs from %s\n", name, WAYS[i].name, WAYS[0].name);
	}
	report_hash(name, expected);
	free_recorded(&r);
}

// ---- Convex shapes ----

static uint64_t hash_double(uint64_t hash, double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	return (hash ^ bits) * 1099511628211u;
}

static uint64_t hash_vector(uint64_t hash, carom_vec3 v) { return hash_double(hash_double(hash_double(hash, v.x), v.y), v.z); }

static carom_shape random_convex(uint64_t *seed, const carom_mesh *hull)
{
	static const carom_shape_type types[] = { CAROM_SPHERE, CAROM_BOX, CAROM_CAPSULE, CAROM_HULL, CAROM_CYLINDER, CAROM_CONE,
		CAROM_ELLIPSOID };
	carom_shape shape = { .type = types[test_random(seed) % 7], .mesh = hull };
	shape.radius = test_random_double(seed, 0.2, 1);
	shape.half_length = test_random_double(seed, 0.2, 1);
	for (int k = 0; k < 3; k++)
		shape.half_extents[k] = test_random_double(seed, 0.2, 1);
	shape.rounding = test_random(seed) % 2 ? test_random_double(seed, 0, 0.2) : 0;
	return shape;
}

static carom_pose random_pose(uint64_t *seed, double span)
{
	double v[7], length = 0;
	for (int i = 0; i < 7; i++)
		v[i] = test_random_double(seed, -1, 1);
	for (int i = 0; i < 4; i++)
		length += v[i] * v[i];
	length = sqrt(length);
	return (carom_pose){ { span * v[4], span * v[5], span * v[6] },
		{ v[0] / length, v[1] / length, v[2] / length, v[3] / length } };
}

/// Separations, manifolds and times of impact of random pairs: one hash for all machines.
TEST(determinism, convex_shapes)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 12, hash = 14695981039346656037u;
	float points[3 * 60];
	for (int i = 0; i < 3 * 60; i++)
		points[i] = (float)test_random_double(&seed, -1, 1);
	const carom_strided view = { points, 0, CAROM_FLOAT32 };
	carom_mesh *hull;
	REQUIRE(carom_create_hull(context, &view, 60, &hull) == CAROM_SUCCESS);
	for (int round = 0; round < 500; round++) {
		const carom_shape a = random_convex(&seed, hull), b = random_convex(&seed, hull);
		const carom_pose pa = random_pose(&seed, 1), pb = random_pose(&seed, 1);
		const carom_motion ma = { pa, random_pose(&seed, 3) }, mb = { pb, random_pose(&seed, 3) };
		carom_separation s;
		carom_manifold m;
		carom_toi toi;
		REQUIRE(carom_distance(context, &a, &pa, &b, &pb, &s) == CAROM_SUCCESS);
		REQUIRE(carom_collide(context, &a, &pa, &b, &pb, 0.1, &m) == CAROM_SUCCESS);
		REQUIRE(carom_time_of_impact(context, &a, &ma, &b, &mb, 1e-3, &toi) == CAROM_SUCCESS);
		hash = hash_vector(hash_vector(hash_vector(hash_double(hash, s.distance), s.normal), s.point_a), s.point_b);
		hash = hash_vector(hash_double(hash, m.count), m.normal);
		for (int i = 0; i < m.count; i++)
			hash = hash_double(hash_vector(hash, m.points[i].point), m.points[i].depth);
		hash = hash_double(hash_double(hash, toi.time), toi.status);
	}
	carom_release_mesh(hull);
	carom_destroy_context(context);
	report_hash("convex_shapes", hash);
}

TEST(determinism, scene1_step_80) { check_frame("scene1_step_80", 80); }

TEST(determinism, scene1_step_420) { check_frame("scene1_step_420", 420); }
