/// Spheres that are known to be clear of all parts are not asked: worlds that keep what they know against worlds that forget it
/// before each step (carom_world_trim), bit for bit.
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAINS = 400, PARTS = 9, STEPS = TEST_FEWER > 1 ? 60 : 500 };

/// A world that keeps what it knows, and one that does not.
typedef struct twins {
	carom_context *context;
	carom_world *world[2];
	carom_mesh *mesh[4];
	carom_body_id grains[2], part[PARTS], cloth; // null: none yet
	carom_pose pose[PARTS];
	double spheres[2][4 * GRAINS], velocity[2][3 * GRAINS];
	int32_t count[2];
	uint64_t seed;
	int64_t contacts;
} twins;

static double draw(twins *t, double least, double most) { return test_random_double(&t->seed, least, most); }

static carom_body_id add_part(twins *t, carom_shape shape, carom_pose pose, carom_body_kind kind, bool sensor)
{
	carom_body_id id = { 0, 0 };
	for (int w = 0; w < 2; w++) {
		carom_body_def def = carom_default_body_def();
		def.kind = kind;
		def.shape = shape;
		def.pose = pose;
		def.sensor = sensor;
		REQUIRE(carom_world_add_body(t->world[w], &def, &id) == CAROM_SUCCESS);
	}
	return id;
}

static void add_parts(twins *t)
{
	const float points[] = { 0, 0, 1, 1, 0, 0, 0, 1, 0, -1, 0, 0, 0, -1, 0, 0.2f, 0.3f, -1 };
	t->mesh[0] = fixture_torus_mesh(t->context, 24, 12, 0.35, 0.2);
	t->mesh[1] = fixture_sphere_mesh(t->context, 1.2, 8);
	t->mesh[2] = fixture_sheet_mesh(t->context, 6, 4);
	t->mesh[3] = fixture_hull_mesh(t->context, points, 6);
	const carom_shape shapes[PARTS] = { fixture_of_mesh(t->mesh[0]), fixture_of_mesh(t->mesh[1]), fixture_of_mesh(t->mesh[2]),
		fixture_hull(t->mesh[3]), fixture_box(0.8, 0.5, 0.3), fixture_capsule(0.4, 0.8), fixture_cone(0.6, 0.7),
		{ .type = CAROM_PLANE }, fixture_of_mesh(t->mesh[0]) };
	for (int i = 0; i < PARTS; i++) {
		t->pose[i] = fixture_random_pose(&t->seed, 2.5);
		if (shapes[i].type == CAROM_PLANE)
			t->pose[i] = fixture_at(0, 0, -3);
		t->part[i] = add_part(t, shapes[i], t->pose[i], i % 3 == 1 ? CAROM_KINEMATIC : CAROM_STATIC, i == PARTS - 1);
	}
}

static void scatter(twins *t, int b, int32_t i)
{
	for (int k = 0; k < 3; k++) {
		t->spheres[b][4 * i + k] = draw(t, -2.8, 2.8);
		t->velocity[b][3 * i + k] = draw(t, -0.01, 0.01);
	}
	t->spheres[b][4 * i + 3] = draw(t, 0.01, 0.1);
}

static void add_grains(twins *t)
{
	for (int b = 0; b < 2; b++) {
		t->count[b] = GRAINS / (b + 1);
		for (int32_t i = 0; i < GRAINS; i++)
			scatter(t, b, i);
		for (int w = 0; w < 2; w++) {
			carom_body_def def = carom_default_body_def();
			def.kind = CAROM_GRANULAR;
			def.sphere_count = t->count[b];
			def.centres = fixture_centres(t->spheres[b]);
			def.radii = fixture_radii(t->spheres[b]);
			def.self_collision = false;
			def.mask = b ? UINT64_MAX : ~(uint64_t)4;
			REQUIRE(carom_world_add_body(t->world[w], &def, &t->grains[b]) == CAROM_SUCCESS);
		}
	}
}

static void make_twins(twins *t, double ahead, int threads, uint64_t seed)
{
	*t = (twins){ .context = fixture_context(threads), .seed = seed };
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = ahead;
	for (int w = 0; w < 2; w++)
		t->world[w] = fixture_world(t->context, &def);
	add_parts(t);
	add_grains(t);
}

static void drop_twins(twins *t)
{
	for (int w = 0; w < 2; w++)
		carom_destroy_world(t->world[w]);
	for (int i = 0; i < 4; i++)
		carom_release_mesh(t->mesh[i]);
	carom_destroy_context(t->context);
}

/// Spheres fly on and come back at the sides; some jump, grow, go or come.
static void move_grains(twins *t, int b, int step)
{
	double *s = t->spheres[b], *v = t->velocity[b];
	for (int32_t i = 0; i < t->count[b]; i++) {
		for (int k = 0; k < 3; k++) {
			s[4 * i + k] += v[3 * i + k];
			if (fabs(s[4 * i + k]) > 2.8)
				v[3 * i + k] = s[4 * i + k] > 0 ? -0.01 : 0.01;
		}
	}
	const int32_t one = (int32_t)draw(t, 0, t->count[b]);
	switch (step % 11) {
	case 3: s[4 * one + 3] = draw(t, 0.01, 0.3); break;
	case 5: scatter(t, b, one); break;
	case 7: t->count[b] -= t->count[b] > 10; break;
	case 9: t->count[b] += t->count[b] < GRAINS; break;
	default: break;
	}
	const carom_strided centres = fixture_centres(s), radii = fixture_radii(s);
	for (int w = 0; w < 2; w++)
		REQUIRE(carom_world_set_spheres(t->world[w], t->grains[b], t->count[b], &centres, &radii) == CAROM_SUCCESS);
}

static void move_part(twins *t, int i, double way)
{
	carom_pose *pose = &t->pose[i];
	const v3d axis = { draw(t, -1, 1), draw(t, -1, 1), draw(t, -1, 1) };
	const carom_vec3 shift = { draw(t, -way, way), draw(t, -way, way), draw(t, -way, way) };
	pose->position = (carom_vec3){ pose->position.x + shift.x, pose->position.y + shift.y, pose->position.z + shift.z };
	pose->orientation = quat_mul(fixture_turn(axis, draw(t, 0, way)), pose->orientation);
	for (int w = 0; w < 2; w++)
		REQUIRE(carom_world_set_poses(t->world[w], 1, &t->part[i], pose) == CAROM_SUCCESS);
}

/// Now and then a part gets another shape, other filters, or leaves and comes back as another body.
static void change_part(twins *t, int step)
{
	const int i = step % PARTS;
	const carom_shape shape = fixture_of_mesh(t->mesh[step % 3]);
	if (step % 37 == 11) {
		for (int w = 0; w < 2; w++)
			REQUIRE(carom_world_set_shape(t->world[w], t->part[i], &shape) == CAROM_SUCCESS);
	} else if (step % 37 == 19) {
		for (int w = 0; w < 2; w++)
			REQUIRE(carom_world_set_filter(t->world[w], t->part[i], step % 2 ? 4 : 1, UINT64_MAX, 0) == CAROM_SUCCESS);
	} else if (step % 37 == 29) {
		for (int w = 0; w < 2; w++)
			REQUIRE(carom_world_remove_body(t->world[w], t->part[i]) == CAROM_SUCCESS);
		t->part[i] = add_part(t, shape, t->pose[i], CAROM_STATIC, false);
	}
}

/// A cloth that comes and goes, and moves.
static void move_cloth(twins *t, int step)
{
	for (int w = 0; w < 2 && step % 80 == 20; w++) {
		carom_body_def def = carom_default_body_def();
		def.kind = CAROM_CLOTH;
		def.shape = fixture_of_mesh(t->mesh[2]);
		def.thickness = 0.1;
		REQUIRE(carom_world_add_body(t->world[w], &def, &t->cloth) == CAROM_SUCCESS);
	}
	carom_vertex_view view;
	if (t->cloth.index1 == 0 || carom_world_get_vertices(t->world[0], t->cloth, &view) != CAROM_SUCCESS)
		return;
	double *places = malloc(3 * (size_t)view.count * sizeof *places);
	REQUIRE(places != NULL);
	for (int32_t i = 0; i < 3 * view.count; i++)
		places[i] = view.data[i] + (i % 3 == 2 ? 0.01 : 0);
	for (int w = 0; w < 2 && step % 3 == 0; w++)
		REQUIRE(carom_world_set_vertices(t->world[w], t->cloth, NULL, &(carom_strided){ places, 0, CAROM_FLOAT64 }) ==
			CAROM_SUCCESS);
	free(places);
	for (int w = 0; w < 2 && step % 80 == 70; w++)
		REQUIRE(carom_world_remove_body(t->world[w], t->cloth) == CAROM_SUCCESS);
	t->cloth.index1 = step % 80 == 70 ? 0 : t->cloth.index1;
}

/// The world that keeps what it knows takes a step with a part elsewhere, and goes back.
static void go_back(twins *t)
{
	carom_snapshot *before;
	REQUIRE(carom_create_snapshot(t->world[0], &before) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(t->world[0], before) == CAROM_SUCCESS);
	for (int i = 0; i < PARTS; i++) {
		const carom_pose pose = fixture_at(50, 0, 0);
		REQUIRE(carom_world_set_poses(t->world[0], 1, &t->part[i], &pose) == CAROM_SUCCESS);
	}
	for (int i = 0; i < 2; i++)
		fixture_step(t->world[0]);
	REQUIRE(carom_world_restore(t->world[0], before) == CAROM_SUCCESS);
	carom_destroy_snapshot(before);
}

static void step_twins(twins *t)
{
	REQUIRE(carom_world_trim(t->world[1]) == CAROM_SUCCESS);
	for (int w = 0; w < 2; w++)
		fixture_step(t->world[w]);
	t->contacts += carom_world_sphere_contacts(t->world[0]).count;
	CHECK(carom_world_hash(t->world[0]) == carom_world_hash(t->world[1]));
	const carom_sphere_contact_view a = carom_world_sphere_contacts(t->world[0]), b = carom_world_sphere_contacts(t->world[1]);
	CHECK(a.count == b.count);
	for (int64_t i = 0; i < a.count && i < b.count; i++)
		CHECK(a.data[i].age == b.data[i].age && a.data[i].pair == b.data[i].pair);
	CHECK(carom_world_stats(t->world[0]).granular_pairs == carom_world_stats(t->world[1]).granular_pairs);
}

static void run_twins(double ahead, int threads, uint64_t seed)
{
	twins *t = malloc(sizeof *t);
	REQUIRE(t);
	make_twins(t, ahead, threads, seed);
	for (int step = 0; step < STEPS && test_failures() == 0; step++) {
		if (step % 50 < 40)
			move_grains(t, 0, step);
		if (step % 20 < 15)
			move_grains(t, 1, step + 4);
		if (step % 50 >= 25 && step % 50 < 45)
			move_part(t, step % 7, 0.004);
		if (step % 97 == 60)
			move_part(t, step % 7, 1);
		change_part(t, step);
		move_cloth(t, step);
		if (step % 60 == 30)
			go_back(t);
		step_twins(t);
	}
	CHECK(t->contacts > 10 * STEPS);
	drop_twins(t);
	free(t);
}

TEST(sphere_clearance, contacts_are_those_of_a_world_that_keeps_nothing)
{
	run_twins(0, 1, 3);
	run_twins(0.02, 2, 4);
	run_twins(0, 2, 5);
}
