/// Determinism (promise of carom.h): the same contacts, bit for bit, for any broad phase, number of threads, cut of the work and instruction
/// set; and, by the `hash` lines that ./dev test compares between its builds, for any compiler and its flags.
///
/// Poses come from + - * / and square roots of doubles only. The hashes, and what to do when they change: determinism_fixture.c.
#include "determinism_fixture.h"
#include "sim/shapes/shapes.h"
#include "test.h"
#include <math.h>

// ---- Scenes ----

enum { MAX_BODIES = 200, MAX_MESHES = 8 };

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
		sim_error error;
		REQUIRE(sim_make_shape(m->shape, m->triangles, 7, &m->made, &error));
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
	const carom_shape shape = determinism_mesh_shape(field);
	add_scenery(s, &shape, (carom_vec3){ -3.75, -3.75, -0.25 });
}

static void fill_pile(scene *s, const model *models)
{
	add_ground(s);
	const carom_shape lumpy = determinism_mesh_shape(add_mesh(s, models));
	add_bodies(s, &lumpy, 60, 3, 0, 2.5);
	add_bodies(s, &(carom_shape){ .type = CAROM_BOX, .half_extents = { 0.5, 0.3, 0.2 } }, 20, 3, 0, 2.5);
	add_bodies(s, &(carom_shape){ .type = CAROM_SPHERE, .radius = 0.3 }, 20, 3, 0, 2.5);
	add_bodies(s, &(carom_shape){ .type = CAROM_CAPSULE, .radius = 0.2, .half_length = 0.4 }, 20, 3, 0, 2.5);
}

static void fill_zoo(scene *s, const model *models)
{
	add_scenery(s, &(carom_shape){ .type = CAROM_PLANE }, (carom_vec3){ 0, 0, -1.5 });
	for (const model *m = models; m->shape; m++) {
		const carom_shape shape = determinism_mesh_shape(add_mesh(s, m));
		add_bodies(s, &shape, 8, 1.8, -1.8, 1.8);
	}
	add_bodies(s, &(carom_shape){ .type = CAROM_CAPSULE, .radius = 0.1, .half_length = 0.9 }, 8, 1.8, -1.8, 1.8);
}

/// Convex bodies among each other and with everything else, which stands still, so that no other pairs come into it.
static void fill_convex(scene *s, const model *models)
{
	float points[3 * 40];
	for (int i = 0; i < 3 * 40; i++)
		points[i] = (float)between(s, -0.4, 0.4);
	carom_mesh *hull = NULL;
	REQUIRE(carom_create_hull(s->context, &(carom_strided){ points, 0, CAROM_FLOAT32 }, 40, &hull) == CAROM_SUCCESS);
	s->meshes[s->mesh_count++] = hull;
	add_ground(s);
	const carom_shape scenery[] = { determinism_mesh_shape(add_mesh(s, models)),
		{ .type = CAROM_BOX, .half_extents = { 0.5, 0.3, 0.2 } }, { .type = CAROM_SPHERE, .radius = 0.5 },
		{ .type = CAROM_CAPSULE, .radius = 0.3, .half_length = 0.4 } };
	for (int i = 0; i < 12; i++)
		add_scenery(s, &scenery[i % 4], (carom_vec3){ between(s, -2, 2), between(s, -2, 2), between(s, 0, 1.5) });
	const carom_shape shapes[] = {
		{ .type = CAROM_HULL, .mesh = hull },
		{ .type = CAROM_CYLINDER, .radius = 0.3, .half_length = 0.2 },
		{ .type = CAROM_CONE, .radius = 0.3, .half_length = 0.3 },
		{ .type = CAROM_ELLIPSOID, .half_extents = { 0.4, 0.3, 0.2 } },
		{ .type = CAROM_BOX, .half_extents = { 0.2, 0.2, 0.2 }, .rounding = 0.1 },
		{ .type = CAROM_HULL, .mesh = hull, .rounding = 0.05 },
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		add_bodies(s, &shapes[i], 12, 2, 0, 1.5);
}

static void open_scene(scene *s, const plan *p, const determinism_way *w, carom_context *context)
{
	*s = (scene){ .context = context, .seed = 20 };
	carom_world_def def = carom_default_world_def();
	fixture_set_broad(&def, w->broad_phase);
	fixture_lab(&def)->ray_method = w->rays;
	def.max_contacts_per_pair = p->max_contacts;
	fixture_lab(&def)->exit_distance_test = p->exit_distance_test;
	def.speculative_distance = p->speculative_distance;
	REQUIRE(carom_create_world(context, &def, &s->world) == CAROM_SUCCESS);
	p->fill(s, p->models);
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	for (int i = 0; i < s->mesh_count; i++)
		carom_release_mesh(s->meshes[i]);
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
static uint64_t run_plan(const determinism_way *w, carom_context *context, void *plan_pointer)
{
	const plan *p = plan_pointer;
	scene s;
	int64_t contacts = 0;
	open_scene(&s, p, w, context);
	uint64_t hash = 14695981039346656037u;
	for (int step = 0; step < p->steps; step++) {
		if (step > 0)
			move_bodies(&s);
		REQUIRE(carom_world_step(s.world) == CAROM_SUCCESS);
		hash = (hash ^ carom_world_hash(s.world)) * 1099511628211u;
		contacts += carom_world_contacts(s.world).count;
	}
	close_scene(&s);
	CHECK(contacts > 20 * p->steps);
	return hash;
}

static void check_plan(plan *p)
{
	make_models(p->models);
	determinism_check(p->name, run_plan, p);
	for (model *m = p->models; m->shape; m++)
		sim_mesh_free(&m->made);
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

TEST(determinism, convex_bodies)
{
	model models[] = { { .shape = "lumpy", .triangles = 902, .scale = 1 }, { .shape = NULL } };
	check_plan(&(plan){ .name = "convex_bodies",
		.models = models,
		.fill = fill_convex,
		.steps = 3,
		.max_contacts = 0,
		.speculative_distance = 0.01 });
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
