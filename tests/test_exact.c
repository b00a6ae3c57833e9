/// A world goes on bit for bit, from whatever moment: from a snapshot, from the bytes of one in a twin that lived
/// otherwise, and in the replay of a recording. Worlds are random, of bodies of all kinds that move so far that they cross
/// themselves, and the user changes them between steps by all calls there are: a part of the state that a step reads, and that a
/// snapshot or a recording lacks, shows here.
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include <stdio.h>
#include <stdlib.h>

enum {
	LIVES = TEST_FEWER > 1 ? 6 : 15, // worlds of a case
	ROUNDS = 4,                      // of going back
	AGAIN = 4,                       // steps that are done again
	STEPS = 20,                      // of a recording's world
	FEW = 3,                         // bodies of a kind at the beginning, at most
	MOST_BODIES = 24,
	SPHERES = 30,
	SAMPLES = 7, // of a height field along each side
};

typedef struct meshes {
	carom_mesh *balls[2], *torus, *sheets[2], *hull, *fields[2];
} meshes;

typedef struct life {
	carom_context *context;
	carom_world *world;
	meshes m;
	bool listed; // carom_world_set_body_pairs, which no snapshot holds
	int32_t most_contacts;
} life;

// ---- Meshes ----

static carom_mesh *make_field(carom_context *context, uint64_t seed)
{
	float heights[SAMPLES * SAMPLES];
	for (int i = 0; i < SAMPLES * SAMPLES; i++)
		heights[i] = (float)test_random_double(&seed, -0.3, 0.2);
	const double spacing[2] = { 0.5, 0.5 };
	carom_mesh *field;
	REQUIRE(carom_create_height_field(context, SAMPLES, SAMPLES, heights, spacing, 0.5, &field) == CAROM_SUCCESS);
	return field;
}

static meshes make_meshes(carom_context *context)
{
	static const float points[15] = { 0.4f, 0, 0, -0.4f, 0.3f, 0, -0.4f, -0.3f, 0, 0, 0, 0.5f, 0, 0.1f, -0.4f };
	return (meshes){
		.balls = { fixture_sphere_mesh(context, 0.4, 6), fixture_sphere_mesh(context, 0.5, 7) },
		.torus = fixture_torus_mesh(context, 10, 5, 0.3, 0.1),
		.sheets = { fixture_sheet_mesh(context, 5, 1.5), fixture_sheet_mesh(context, 6, 1.2) },
		.hull = fixture_hull_mesh(context, points, 5),
		.fields = { make_field(context, 3), make_field(context, 4) },
	};
}

static void release_meshes(meshes *m)
{
	carom_mesh *const all[] = { m->balls[0], m->balls[1], m->torus, m->sheets[0], m->sheets[1], m->hull, m->fields[0],
		m->fields[1] };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		carom_release_mesh(all[i]);
}

// ---- Bodies ----

/// A definition, and room for the arrays that it points to.
typedef struct definition {
	carom_body_def def;
	carom_part parts[3];
	double spheres[4 * SPHERES];
} definition;

static carom_shape random_shape(const meshes *m, uint64_t *seed)
{
	switch (test_random(seed) % 10) {
	case 9: return fixture_capsule(0.02, 0.4);
	case 0: return fixture_sphere(test_random_double(seed, 0.2, 0.4));
	case 1: return fixture_box(0.3, 0.4, 0.2);
	case 2: return fixture_capsule(0.2, 0.3);
	case 3: return fixture_cylinder(0.3, 0.3);
	case 4: return fixture_cone(0.3, 0.3);
	case 5: return fixture_ellipsoid(0.3, 0.4, 0.2);
	case 6: return fixture_hull(m->hull);
	case 7: return fixture_of_mesh(m->balls[0]);
	default: return fixture_of_mesh(m->torus);
	}
}

static void define_rigid(const meshes *m, uint64_t *seed, definition *d)
{
	d->def.shape = random_shape(m, seed);
	d->def.kind = test_random(seed) % 4 == 0 ? CAROM_KINEMATIC : CAROM_DYNAMIC;
	d->def.continuous = test_random(seed) % 3 == 0;
}

static void define_sensor(const meshes *m, uint64_t *seed, definition *d)
{
	d->def.shape = random_shape(m, seed);
	d->def.sensor = true;
}

static void define_parts(const meshes *m, uint64_t *seed, definition *d)
{
	for (int i = 0; i < 3; i++)
		d->parts[i] = (carom_part){ random_shape(m, seed), fixture_random_pose(seed, 0.5), test_random(seed) };
	d->def.parts = d->parts;
	d->def.part_count = 2 + (int32_t)(test_random(seed) % 2);
	d->def.continuous = test_random(seed) % 3 == 0;
}

static void define_field(const meshes *m, uint64_t *seed, definition *d)
{
	d->def.shape = fixture_of_mesh(m->fields[test_random(seed) % 2]);
	d->def.kind = CAROM_STATIC;
	d->def.pose = fixture_at(-1.5, -1.5, -0.5);
}

static void define_plane(const meshes *m, uint64_t *seed, definition *d)
{
	(void)m;
	d->def.shape = (carom_shape){ .type = CAROM_PLANE };
	d->def.kind = CAROM_STATIC;
	d->def.pose = fixture_at(0, 0, test_random_double(seed, -1, -0.3));
}

static void define_solid(const meshes *m, uint64_t *seed, definition *d)
{
	d->def.shape = fixture_of_mesh(test_random(seed) % 3 == 0 ? m->torus : m->balls[test_random(seed) % 2]);
	d->def.kind = CAROM_DEFORMABLE;
	d->def.thickness = test_random(seed) % 4 == 0 ? 0 : 0.03;
	d->def.self_collision = test_random(seed) % 4 != 0;
}

static void define_cloth(const meshes *m, uint64_t *seed, definition *d)
{
	d->def.shape = fixture_of_mesh(m->sheets[test_random(seed) % 2]);
	d->def.kind = CAROM_CLOTH;
	d->def.thickness = test_random(seed) % 3 == 0 ? 0 : 0.05;
	d->def.self_collision = test_random(seed) % 4 != 0;
}

static void define_grains(const meshes *m, uint64_t *seed, definition *d)
{
	(void)m;
	for (int i = 0; i < 4 * SPHERES; i++)
		d->spheres[i] = i % 4 == 3 ? test_random_double(seed, 0.03, 0.08) : test_random_double(seed, -0.5, 0.5);
	d->def.kind = CAROM_GRANULAR;
	d->def.centres = (carom_strided){ d->spheres, 4 * sizeof(double), CAROM_FLOAT64 };
	d->def.radii = (carom_strided){ d->spheres + 3, 4 * sizeof(double), CAROM_FLOAT64 };
	d->def.sphere_count = 10 + (int32_t)(test_random(seed) % (SPHERES - 9));
	d->def.continuous = test_random(seed) % 2 == 0;
}

static void (*const definers[])(const meshes *, uint64_t *, definition *) = { define_solid, define_rigid, define_cloth,
	define_parts, define_field, define_grains, define_sensor, define_plane };
enum { KINDS = sizeof definers / sizeof *definers };

static void define(const life *l, int kind, uint64_t *seed, definition *d)
{
	d->def = carom_default_body_def();
	d->def.pose = fixture_random_pose(seed, 0.6);
	d->def.user_data = test_random(seed);
	definers[kind](&l->m, seed, d);
	if (d->def.kind == CAROM_DEFORMABLE || d->def.kind == CAROM_CLOTH)
		d->def.shape_impacts = test_random(seed) % 2 == 0;
	d->def.contacts = test_random(seed) % 8 != 0;
}

static void add_body(life *l, int kind, uint64_t *seed)
{
	definition d;
	carom_body_id id;
	define(l, kind, seed, &d);
	CHECK_INT(carom_world_add_body(l->world, &d.def, &id), CAROM_SUCCESS);
}

// ---- Motions ----

static void move_vertices(life *l, carom_body_id id, double by, uint64_t *seed)
{
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(l->world, id, &view) == CAROM_SUCCESS);
	double *places = malloc(6 * (size_t)view.count * sizeof *places);
	REQUIRE(places);
	for (int32_t i = 0; i < 3 * view.count; i++) {
		places[i] = view.data[i] + test_random_double(seed, -by, by);
		places[3 * view.count + i] = view.data[i] + test_random_double(seed, -by, by) / 4;
	}
	const carom_strided end = { places, 0, CAROM_FLOAT64 }, begin = { places + 3 * view.count, 0, CAROM_FLOAT64 };
	const uint64_t how = test_random(seed) % 16;
	CHECK_INT(carom_world_set_vertices(l->world, id, how < 2 ? &begin : NULL, how == 0 ? NULL : &end), CAROM_SUCCESS);
	free(places);
}

static void move_spheres(life *l, carom_body_id id, double by, uint64_t *seed)
{
	carom_sphere_view view;
	REQUIRE(carom_world_get_spheres(l->world, id, &view) == CAROM_SUCCESS);
	double places[3 * SPHERES];
	for (int32_t i = 0; i < 3 * view.count; i++)
		places[i] = view.data[4 * (i / 3) + i % 3] + test_random_double(seed, -by, by);
	const carom_strided centres = { places, 0, CAROM_FLOAT64 };
	CHECK_INT(carom_world_set_spheres(l->world, id, view.count, &centres, NULL), CAROM_SUCCESS);
}

static void move_rigid(life *l, carom_body_id id, double by, uint64_t *seed)
{
	carom_motion motion;
	REQUIRE(carom_world_get_pose(l->world, id, &motion.begin) == CAROM_SUCCESS);
	const v3d axis = { 1, test_random_double(seed, -1, 1), test_random_double(seed, -1, 1) };
	const carom_pose turned = { { 0, 0, 0 }, fixture_turn(axis, test_random_double(seed, -by, by)) };
	motion.end = motion.begin;
	motion.end.orientation = fixture_compose(turned, motion.begin).orientation;
	motion.end.position.x += test_random_double(seed, -by, by);
	motion.end.position.y += test_random_double(seed, -by, by);
	motion.end.position.z += test_random_double(seed, -by, by);
	switch (test_random(seed) % 4) {
	case 0: CHECK_INT(carom_world_set_motions(l->world, 1, &id, &motion), CAROM_SUCCESS); break;
	case 1: CHECK_INT(carom_world_set_poses(l->world, 1, &id, &motion.end), CAROM_SUCCESS); break;
	default: CHECK_INT(carom_world_set_pose(l->world, id, &motion.end), CAROM_SUCCESS); break;
	}
}

static carom_body_def def_of(const life *l, carom_body_id id)
{
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(l->world, id, &def) == CAROM_SUCCESS);
	return def;
}

static bool is_soft(const carom_body_def *def) { return def->kind == CAROM_DEFORMABLE || def->kind == CAROM_CLOTH; }

static void move(life *l, carom_body_id id, double by, uint64_t *seed)
{
	const carom_body_def def = def_of(l, id);
	if (is_soft(&def))
		move_vertices(l, id, by, seed);
	else if (def.kind == CAROM_GRANULAR)
		move_spheres(l, id, by, seed);
	else if (def.kind != CAROM_STATIC)
		move_rigid(l, id, by, seed);
}

// ---- What a user changes between steps ----

// Each gets a body at random, and does nothing where its call is not for that body.

static void add_one(life *l, carom_body_id id, uint64_t *seed)
{
	(void)id;
	if (carom_world_body_count(l->world) < MOST_BODIES)
		add_body(l, (int)(test_random(seed) % KINDS), seed);
}

static void add_two(life *l, carom_body_id id, uint64_t *seed)
{
	(void)id;
	definition d[2];
	carom_body_id ids[2];
	for (int i = 0; i < 2; i++)
		define(l, (int)(test_random(seed) % KINDS), seed, &d[i]);
	const carom_body_def defs[2] = { d[0].def, d[1].def };
	if (carom_world_body_count(l->world) < MOST_BODIES - 1)
		CHECK_INT(carom_world_add_bodies(l->world, 2, defs, ids), CAROM_SUCCESS);
}

static void remove_one(life *l, carom_body_id id, uint64_t *seed)
{
	(void)seed;
	if (carom_world_body_count(l->world) > 1)
		CHECK_INT(carom_world_remove_body(l->world, id), CAROM_SUCCESS);
}

static void set_filter(life *l, carom_body_id id, uint64_t *seed)
{
	const uint64_t mask = test_random(seed) % 2 ? UINT64_MAX : test_random(seed) % 4;
	CHECK_INT(carom_world_set_filter(l->world, id, 1 + test_random(seed) % 3, mask, (int32_t)(test_random(seed) % 8) / 6),
		CAROM_SUCCESS);
}

static void set_user_data(life *l, carom_body_id id, uint64_t *seed)
{
	CHECK_INT(carom_world_set_user_data(l->world, id, test_random(seed)), CAROM_SUCCESS);
}

static void set_part_data(life *l, carom_body_id id, uint64_t *seed)
{
	if (def_of(l, id).part_count > 0)
		CHECK_INT(carom_world_set_part_data(l->world, id, 0, test_random(seed)), CAROM_SUCCESS);
}

static void set_shape(life *l, carom_body_id id, uint64_t *seed)
{
	const carom_body_def def = def_of(l, id);
	carom_shape shape = random_shape(&l->m, seed);
	if (is_soft(&def) || def.kind == CAROM_GRANULAR || def.part_count > 0)
		return;
	if (def.kind == CAROM_STATIC)
		shape = fixture_of_mesh(l->m.fields[test_random(seed) % 2]);
	CHECK_INT(carom_world_set_shape(l->world, id, &shape), CAROM_SUCCESS);
}

static void set_parts(life *l, carom_body_id id, uint64_t *seed)
{
	const carom_body_def def = def_of(l, id);
	carom_part parts[3];
	for (int32_t i = 0; i < def.part_count; i++)
		parts[i] = def.parts[i];
	if (def.part_count == 0)
		return;
	parts[0].shape = random_shape(&l->m, seed);
	parts[def.part_count - 1].pose = fixture_random_pose(seed, 0.3);
	const int32_t count = def.part_count - (test_random(seed) % 4 == 0 && def.part_count > 1);
	CHECK_INT(carom_world_set_parts(l->world, id, parts, count), CAROM_SUCCESS);
}

static void set_mesh(life *l, carom_body_id id, uint64_t *seed)
{
	const carom_body_def def = def_of(l, id);
	if (!is_soft(&def))
		return;
	const carom_mesh *mesh = test_random(seed) % 2 ? def.shape.mesh
		: def.kind == CAROM_CLOTH                  ? l->m.sheets[test_random(seed) % 2]
												   : l->m.balls[test_random(seed) % 2];
	double places[3 * 128];
	for (int i = 0; i < 3 * 128; i++)
		places[i] = test_random_double(seed, -0.4, 0.4);
	const carom_strided of_new = { places, 0, CAROM_FLOAT64 };
	CHECK_INT(carom_world_set_mesh(l->world, id, mesh, NULL, &of_new), CAROM_SUCCESS);
}

static void set_spheres(life *l, carom_body_id id, uint64_t *seed)
{
	definition d;
	if (def_of(l, id).kind != CAROM_GRANULAR)
		return;
	define_grains(&l->m, seed, &d);
	CHECK_INT(carom_world_set_spheres(l->world, id, d.def.sphere_count, &d.def.centres, &d.def.radii), CAROM_SUCCESS);
}

static void set_sphere_begins(life *l, carom_body_id id, uint64_t *seed)
{
	const carom_body_def def = def_of(l, id);
	double places[3 * SPHERES];
	for (int i = 0; i < 3 * SPHERES; i++)
		places[i] = test_random_double(seed, -0.5, 0.5);
	const carom_strided begins = { places, 0, CAROM_FLOAT64 };
	if (def.kind == CAROM_GRANULAR && def.continuous)
		CHECK_INT(carom_world_set_sphere_begins(l->world, id, &begins), CAROM_SUCCESS);
}

static void choose_body_pairs(life *l, bool listed, int32_t most_contacts)
{
	l->listed = listed;
	l->most_contacts = most_contacts;
	CHECK_INT(carom_world_set_body_pairs(l->world, listed, most_contacts), CAROM_SUCCESS);
}

static void set_body_pairs(life *l, carom_body_id id, uint64_t *seed)
{
	(void)id;
	const bool listed = test_random(seed) % 2 != 0;
	choose_body_pairs(l, listed, (int32_t)(test_random(seed) % 3) * 4);
}

static void set_numbers_of_pairs(life *l, carom_body_id id, uint64_t *seed)
{
	(void)id;
	const uint64_t pairs = (uint64_t)carom_world_pairs(l->world).count,
				   body_pairs = (uint64_t)carom_world_body_pairs(l->world).count;
	if (pairs > 0)
		carom_world_set_pair_data(l->world, (int32_t)(test_random(seed) % pairs), test_random(seed));
	if (body_pairs > 0)
		carom_world_set_body_pair_data(l->world, (int32_t)(test_random(seed) % body_pairs), test_random(seed));
}

static void set_impulses(life *l, carom_body_id id, uint64_t *seed)
{
	(void)id;
	carom_world *w = l->world;
	const float value = (float)test_random_double(seed, 0, 1), impulse[3] = { value, 2, 3 };
	if (carom_world_contacts(w).count > 0)
		CHECK_INT(carom_world_set_impulse(w, 0, impulse), CAROM_SUCCESS);
	if (carom_world_surface_contacts(w).count > 0)
		CHECK_INT(carom_world_set_surface_impulse(w, 0, impulse), CAROM_SUCCESS);
	if (carom_world_surface_shape_contacts(w).count > 0)
		CHECK_INT(carom_world_set_surface_shape_impulse(w, 0, impulse), CAROM_SUCCESS);
	if (carom_world_sphere_contacts(w).count > 0)
		CHECK_INT(carom_world_set_sphere_impulse(w, 0, impulse), CAROM_SUCCESS);
}

typedef carom_result set_impulses_fn(carom_world *world, int64_t count, const float *impulses);

static void set_all(life *l, set_impulses_fn *set, int64_t count, uint64_t *seed)
{
	float *impulses = malloc(3 * (size_t)count * sizeof *impulses + 1);
	REQUIRE(impulses);
	for (int64_t i = 0; i < 3 * count; i++)
		impulses[i] = (float)test_random_double(seed, -1, 1);
	CHECK_INT(set(l->world, count, impulses), CAROM_SUCCESS);
	free(impulses);
}

static void set_all_impulses(life *l, carom_body_id id, uint64_t *seed)
{
	(void)id;
	set_all(l, carom_world_set_impulses, carom_world_contacts(l->world).count, seed);
	set_all(l, carom_world_set_surface_impulses, carom_world_surface_contacts(l->world).count, seed);
	set_all(l, carom_world_set_surface_shape_impulses, carom_world_surface_shape_contacts(l->world).count, seed);
	set_all(l, carom_world_set_sphere_impulses, carom_world_sphere_contacts(l->world).count, seed);
}

/// Every call that changes a world between steps has its place here.
static void (*const changes[])(life *, carom_body_id, uint64_t *) = { add_one, add_two, remove_one, remove_one, set_filter,
	set_filter, set_user_data, set_part_data, set_shape, set_parts, set_mesh, set_mesh, set_spheres, set_sphere_begins,
	set_body_pairs, set_numbers_of_pairs, set_impulses, set_all_impulses };
enum { CHANGES = sizeof changes / sizeof *changes };

/// Queries make trees, which no step may depend on.
static void take_step(life *l)
{
	if (!CHECK_INT(carom_world_step(l->world), CAROM_SUCCESS)) {
		CHECK_STR(carom_error_text(l->context), "");
		test_stop();
	}
}

static void ask(const life *l, uint64_t seed)
{
	const carom_ray ray = { .origin = { 0, 0, 3 }, .direction = { test_random_double(&seed, -0.2, 0.2), 0, -1 }, .t_max = 10 };
	carom_ray_hit hit;
	carom_closest_point closest;
	bool found;
	CHECK_INT(carom_world_cast_ray(l->world, &ray, NULL, &found, &hit), CAROM_SUCCESS);
	CHECK_INT(carom_world_closest_point(l->world, (carom_vec3){ 0, 0, 0 }, 2, NULL, &found, &closest), CAROM_SUCCESS);
}

static carom_body_id random_body(const life *l, uint64_t *seed)
{
	carom_body_id ids[MOST_BODIES + 1];
	const int count = carom_world_body_ids(l->world, MOST_BODIES + 1, ids);
	REQUIRE(count > 0 && count <= MOST_BODIES);
	return ids[test_random(seed) % (uint64_t)count];
}

/// What the user does before a step. Depends on the world's bodies and on the seed alone, so a twin that took part in no step does
/// likewise.
static void act(life *l, uint64_t seed)
{
	carom_body_id ids[MOST_BODIES + 1];
	const int count = carom_world_body_ids(l->world, MOST_BODIES + 1, ids);
	const double by = (double[]){ 0.01, 0.05, 0.1 }[seed / 1000 % 3];
	for (int i = 0; i < count; i++) {
		uint64_t own = test_random(&seed);
		if (own % 8 != 0)
			move(l, ids[i], by, &own);
	}
	for (int64_t i = (int64_t)(test_random(&seed) % 3); i > 0; i--) {
		uint64_t own = test_random(&seed);
		const carom_body_id id = random_body(l, &own);
		changes[test_random(&seed) % CHANGES](l, id, &own);
	}
}

// ---- Worlds ----

static bool keep_pair(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)a, (void)b, (void)user;
	return (user_data_a ^ user_data_b) % 8 != 0;
}

static bool keep_contact(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b, (void)user;
	return (contact->feature_a + 3 * contact->feature_b) % 7 != 0;
}

static carom_world_def random_settings(uint64_t *seed)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = test_random(seed) % 2 ? 0.02 : 0;
	def.temporal = test_random(seed) % 4 ? def.temporal : CAROM_TEMPORAL_NONE;
	def.broad_phase = test_random(seed) % 2 ? CAROM_BROAD_TREE : CAROM_BROAD_SWEEP;
	def.sweep.method = test_random(seed) % 4 ? CAROM_SWEEP_AUTO : CAROM_SWEEP_BVH;
	def.pair_filter = test_random(seed) % 4 ? NULL : keep_pair;
	def.contact_filter = test_random(seed) % 4 ? NULL : keep_contact;
	return def;
}

/// The number of the world decides all. Few kinds at a time: one may hide what happens to others.
static life begin(uint64_t number, int threads)
{
	life l = { .context = fixture_context(threads) };
	uint64_t seed = 1000 * number;
	const carom_world_def def = random_settings(&seed);
	l.m = make_meshes(l.context);
	l.world = fixture_world(l.context, &def);
	add_body(&l, (int)(number % KINDS), &seed);
	for (int kind = 0; kind < KINDS; kind++) {
		for (uint64_t i = test_random(&seed) % 4 ? 0 : 1 + test_random(&seed) % FEW; i > 0; i--)
			add_body(&l, kind, &seed);
	}
	return l;
}

static void end(life *l)
{
	carom_destroy_world(l->world);
	release_meshes(&l->m);
	carom_destroy_context(l->context);
}

static carom_snapshot *make_snapshot(carom_world *world)
{
	carom_snapshot *s;
	REQUIRE(carom_create_snapshot(world, &s) == CAROM_SUCCESS);
	return s;
}

static void save(life *l, carom_snapshot *s) { REQUIRE(carom_world_save(l->world, s) == CAROM_SUCCESS); }

/// Two worlds that should be alike; false: they are not, and the check tells where.
static bool are_alike(const carom_snapshot *a, const carom_snapshot *b, const char *how, uint64_t number, uint64_t step)
{
	carom_snapshot_difference d = { 0 };
	if (!carom_snapshots_differ(a, b, &d))
		return CHECK(carom_snapshot_hash(a) == carom_snapshot_hash(b));
	char text[256];
	snprintf(text, sizeof text, "%s, world %d, step %d: %s, %s of record %d", how, (int)number, (int)step, d.list, d.field,
		(int)d.index);
	return CHECK_STR(text, "");
}

// ---- Going back ----

/// A world with a past, a twin of it, and snapshots of its steps.
typedef struct pair_of_lives {
	uint64_t number, step;
	life one, twin;
	carom_snapshot *start, *of_twin, *now, *steps[AGAIN];
} pair_of_lives;

/// Go on for some steps, and keep each. The twin acts likewise, without a step.
static void go_on(pair_of_lives *p)
{
	for (int i = 0; i < AGAIN; i++) {
		act(&p->one, 1000 * p->number + p->step + (uint64_t)i);
		if (i % 2)
			ask(&p->one, p->step);
		take_step(&p->one);
		save(&p->one, p->steps[i]);
	}
}

/// The steps again, of a world that was put back. False: one differs.
static bool go_again(pair_of_lives *p, life *l, const char *how)
{
	bool alike = true;
	for (int i = 0; i < AGAIN && alike; i++) {
		carom_snapshot *now = l == &p->one ? p->now : p->of_twin;
		act(l, 1000 * p->number + p->step + (uint64_t)i);
		take_step(l);
		save(l, now);
		alike = are_alike(p->steps[i], now, how, p->number, p->step + (uint64_t)i);
	}
	return alike;
}

static bool go_back(pair_of_lives *p)
{
	fixture_tape tape = { 0 };
	const bool listed = p->one.listed;
	const int32_t most_contacts = p->one.most_contacts;
	save(&p->one, p->start);
	CHECK_INT(carom_snapshot_save(p->start, fixture_write_tape, &tape), CAROM_SUCCESS);
	CHECK_INT(carom_snapshot_load(p->of_twin, tape.bytes, tape.count), CAROM_SUCCESS);
	CHECK_STR(carom_error_text(p->twin.context), "");
	free(tape.bytes);
	go_on(p);
	REQUIRE(carom_world_restore(p->one.world, p->start) == CAROM_SUCCESS);
	choose_body_pairs(&p->one, listed, most_contacts);
	REQUIRE(carom_world_restore(p->twin.world, p->of_twin) == CAROM_SUCCESS);
	save(&p->one, p->now);
	return are_alike(p->start, p->now, "put back", p->number, p->step) && go_again(p, &p->one, "put back") &&
		go_again(p, &p->twin, "from bytes");
}

/// Live to a step at random, go on, go back and go on again, as often as told.
static bool go_back_often(pair_of_lives *p)
{
	uint64_t seed = p->number;
	bool alike = true;
	for (int round = 0; round < ROUNDS && alike; round++) {
		for (uint64_t i = test_random(&seed) % 4; i > 0; i--, p->step++) {
			act(&p->one, 1000 * p->number + p->step);
			act(&p->twin, 1000 * p->number + p->step);
			take_step(&p->one);
		}
		alike = go_back(p);
		p->step += AGAIN;
	}
	return alike;
}

static bool rolls_back(uint64_t number, int threads, int twin_threads)
{
	pair_of_lives p = { .number = number, .one = begin(number, threads), .twin = begin(number, twin_threads) };
	carom_snapshot **const of_one[] = { &p.start, &p.now, &p.steps[0], &p.steps[1], &p.steps[2], &p.steps[3] };
	enum { OF_ONE = sizeof of_one / sizeof *of_one };
	for (int i = 0; i < OF_ONE; i++)
		*of_one[i] = make_snapshot(p.one.world);
	p.of_twin = make_snapshot(p.twin.world);
	const bool alike = go_back_often(&p);
	for (int i = 0; i < OF_ONE; i++)
		carom_destroy_snapshot(*of_one[i]);
	carom_destroy_snapshot(p.of_twin);
	end(&p.one);
	end(&p.twin);
	return alike;
}

TEST(exact, worlds_go_on_from_snapshots_and_from_bytes)
{
	const int few = test_wants_threads(1) ? 1 : 2, more = TEST_MOST_THREADS >= 3 ? 3 : 1;
	for (uint64_t number = 0; number < LIVES; number++) {
		if (!rolls_back(number, number % 2 ? more : few, number % 2 ? few : more))
			break;
	}
}

// ---- Recordings ----

static bool replays(const fixture_tape *tape, uint64_t number, int threads)
{
	carom_context *context = fixture_context(threads);
	fixture_tape read = *tape;
	carom_replay_result result;
	const carom_result replayed = carom_replay_recording(context, fixture_read_tape, &read, &result);
	const bool alike = CHECK_INT(replayed, CAROM_SUCCESS) && CHECK_INT(result.first_difference, -1);
	if (!alike) {
		char text[512];
		snprintf(text, sizeof text, "world %d: %s", (int)number, carom_error_text(context));
		CHECK_STR(text, "");
	}
	carom_destroy_context(context);
	return alike;
}

/// A recording that begins at a step at random.
static fixture_tape record(uint64_t number, int threads)
{
	life l = begin(number, threads);
	fixture_tape tape = { 0 };
	uint64_t seed = number;
	const uint64_t first = test_random(&seed) % (STEPS / 2);
	for (uint64_t step = 0; step < STEPS; step++) {
		if (step == first)
			REQUIRE(carom_world_record(l.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		act(&l, 1000 * number + step);
		take_step(&l);
	}
	REQUIRE(carom_world_record(l.world, NULL, NULL) == CAROM_SUCCESS);
	end(&l);
	return tape;
}

TEST(exact, recordings_replay_from_any_step)
{
	const int few = test_wants_threads(1) ? 1 : 2, more = TEST_MOST_THREADS >= 3 ? 3 : 1;
	bool alike = true;
	for (uint64_t number = 0; number < LIVES && alike; number++) {
		fixture_tape tape = record(number, number % 2 ? more : few);
		alike = replays(&tape, number, few) && replays(&tape, number, more);
		free(tape.bytes);
	}
}

// ---- What is beside a solid ----

static bool keep_all(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)contact, (void)user_data_a, (void)user_data_b, (void)user;
	return true;
}

/// A solid that crosses itself; and cloth around it, which a filter is asked about, if beside.
static life make_solid_life(bool beside)
{
	life l = { .context = fixture_context(1) };
	carom_world_def def = carom_default_world_def();
	def.contact_filter = beside ? keep_all : NULL;
	l.m = make_meshes(l.context);
	l.world = fixture_world(l.context, &def);
	for (int i = 0; i < 1 + beside; i++) {
		carom_body_def body = carom_default_body_def();
		body.kind = i == 0 ? CAROM_DEFORMABLE : CAROM_CLOTH;
		body.shape = fixture_of_mesh(i == 0 ? l.m.balls[0] : l.m.sheets[0]);
		body.thickness = 0.03;
		carom_body_id id;
		REQUIRE(carom_world_add_body(l.world, &body, &id) == CAROM_SUCCESS);
	}
	return l;
}

static carom_body_id first_body(const life *l)
{
	carom_body_id ids[2];
	CHECK(carom_world_body_ids(l->world, 2, ids) >= 1);
	return ids[0];
}

/// The next contact of the first body with itself, from one on; -1: there are no more.
static int64_t next_of_solid(const life *l, int64_t i)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(l->world);
	const carom_body_id solid = first_body(l);
	while (i < view.count && !(fixture_same_id(view.data[i].body_a, solid) && fixture_same_id(view.data[i].body_b, solid)))
		i++;
	return i < view.count ? i : -1;
}

/// Contacts of the solid with itself are equal in both worlds. Returns how many are through.
static int compare_contacts_of_solid(const life *a, const life *b)
{
	int through = 0;
	int64_t i = next_of_solid(a, 0), k = next_of_solid(b, 0);
	for (; i >= 0 && k >= 0; i = next_of_solid(a, i + 1), k = next_of_solid(b, k + 1)) {
		const carom_surface_contact *x = &carom_world_surface_contacts(a->world).data[i],
									*y = &carom_world_surface_contacts(b->world).data[k];
		CHECK_INT(y->vertices[0], x->vertices[0]);
		CHECK_INT(y->through, x->through);
		CHECK_INT(y->side, x->side);
		CHECK_INT(y->age, x->age);
		CHECK(y->distance == x->distance);
		through += x->through;
	}
	CHECK_INT(i, -1);
	CHECK_INT(k, -1);
	return through;
}

TEST(exact, a_solid_meets_itself_alike_whatever_is_beside_it)
{
	life one = make_solid_life(false), other = make_solid_life(true);
	int through = 0;
	for (uint64_t i = 0; i < 60 && test_failures() == 0; i++) {
		uint64_t seed = i, again = i;
		move_vertices(&one, first_body(&one), 0.05, &seed);
		move_vertices(&other, first_body(&other), 0.05, &again);
		take_step(&one);
		take_step(&other);
		through += compare_contacts_of_solid(&one, &other);
	}
	CHECK(through > 20);
	end(&one);
	end(&other);
}

/// Thick cloth without contacts asks for none, beside nothing or beside thick cloth that does.
TEST(exact, thick_cloth_without_contacts_steps)
{
	life l = make_solid_life(false);
	carom_body_def body = carom_default_body_def();
	REQUIRE(carom_world_remove_body(l.world, first_body(&l)) == CAROM_SUCCESS);
	body.kind = CAROM_CLOTH;
	body.shape = fixture_of_mesh(l.m.sheets[0]);
	body.thickness = 0.05;
	for (int i = 0; i < 3; i++) {
		carom_body_id id;
		body.contacts = i > 0;
		REQUIRE(carom_world_add_body(l.world, &body, &id) == CAROM_SUCCESS);
		take_step(&l);
		CHECK_INT(carom_world_surface_contacts(l.world).count > 0, i == 2);
	}
	end(&l);
}
