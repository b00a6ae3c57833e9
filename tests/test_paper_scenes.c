/// Scenes of Li and Yamaguchi: 100 rings and 100 lumpy bodies, rigid and soft. In small here: none of the pairs that cross is missed, bodies come to
/// rest on the ground and not in it, soft ones keep their volume.
#include "test.h"

#include "carom/mesh_query.h"
#include "scene/simulation.h"
#include "scene/soft_fill.h"

#include <math.h>
#include <stdio.h>

static void load(const char *name, scene_description *scene)
{
	char path[500];
	sim_error error = { "" };
	snprintf(path, sizeof path, "%s/%s.json", CAROM_SCENES, name);
	const bool loaded = scene_load(path, scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
}

// ---- Rigid ----

enum { BODIES = 41, MESHES = 40, STEPS = 300, FEWER_STEPS = 150 };

/// A world of its own that follows a simulation, with the settings of the library.
typedef struct follower {
	carom_context *context;
	carom_world *world;
	carom_body_id ids[BODIES];
	int count;
} follower;

static void follow(follower *f, const scene_simulation *simulation)
{
	for (int i = 0; i < scene_simulation_body_count(simulation); i++) {
		const carom_body_def def = scene_simulation_body_def(simulation, i);
		if (i >= f->count) {
			REQUIRE(carom_world_add_body(f->world, &def, &f->ids[f->count++]) == CAROM_SUCCESS);
		} else if (def.kind != CAROM_STATIC) {
			REQUIRE(carom_world_set_poses(f->world, 1, &f->ids[i], &def.pose) == CAROM_SUCCESS);
		}
	}
	REQUIRE(carom_world_step(f->world) == CAROM_SUCCESS);
}

static bool is_pair(const carom_world *world, int a, int b)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < pairs.count; i++) {
		if (pairs.data[i].user_data_a == (uint64_t)a && pairs.data[i].user_data_b == (uint64_t)b)
			return pairs.data[i].contact_count > 0;
	}
	return false;
}

/// Each pair of meshes whose triangles cross, by exact tests of all triangles, has contacts. Returns how many there are.
static int check_crossings(const follower *f, const scene_simulation *simulation)
{
	int crossing = 0;
	for (int a = 1; a < f->count; a++) {
		const carom_body_def first = scene_simulation_body_def(simulation, a);
		for (int b = a + 1; b < f->count; b++) {
			const carom_body_def second = scene_simulation_body_def(simulation, b);
			int32_t count = 0;
			REQUIRE(carom_mesh_intersections(first.shape.mesh, &first.pose, second.shape.mesh, &second.pose, 0, NULL, &count) ==
				CAROM_SUCCESS);
			crossing += count > 0;
			if (count > 0)
				CHECK(is_pair(f->world, a, b));
		}
	}
	return crossing;
}

static void check_rigid(const char *name)
{
	scene_description scene;
	sim_error error = { "" };
	scene_step step;
	follower f = { 0 };
	int crossing = 0;
	load(name, &scene);
	REQUIRE(scene.rigid.body_count == 101);
	scene.rigid.body_count = BODIES;
	REQUIRE(carom_create_context(NULL, &f.context) == CAROM_SUCCESS);
	REQUIRE(carom_create_world(f.context, NULL, &f.world) == CAROM_SUCCESS);
	scene_simulation *simulation = scene_create_simulation(f.context, &scene, NULL, &error);
	CHECK_STR(error.text, "");
	REQUIRE(simulation != NULL);
	for (int i = 0; i < (TEST_FEWER > 1 ? FEWER_STEPS : STEPS); i++) {
		REQUIRE(scene_simulate_step(simulation, &step, &error));
		follow(&f, simulation);
		if (i % 10 == 9)
			crossing += check_crossings(&f, simulation);
	}
	const scene_summary summary = scene_summarise(simulation);
	CHECK_INT(summary.bodies_above_ground, summary.bodies);
	CHECK(summary.deepest_penetration_relative < 0.06);
	CHECK(crossing > (TEST_FEWER > 1 ? 0 : 20));
	if (TEST_FEWER == 1) {
		CHECK_INT(summary.bodies, MESHES);
		CHECK(summary.final_penetration_relative < 0.02);
	}
	scene_destroy_simulation(simulation);
	carom_destroy_world(f.world);
	carom_destroy_context(f.context);
	scene_destroy(&scene);
}

TEST(paper_scenes, rings_that_cross_have_contacts) { check_rigid("tori"); }
TEST(paper_scenes, lumpy_bodies_that_cross_have_contacts) { check_rigid("bunnies"); }

// ---- Soft ----

static double volume_of(const sim_soft_surface *s, int32_t body)
{
	double six = 0;
	for (int32_t t = s->body_triangles[body]; t < s->body_triangles[body + 1]; t++) {
		const double *p[3];
		for (int k = 0; k < 3; k++)
			p[k] = s->places + 3 * (int64_t)s->triangles[3 * (int64_t)t + k];
		six += p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) + p[0][1] * (p[1][2] * p[2][0] - p[1][0] * p[2][2]) +
			p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0]);
	}
	return six / 6;
}

/// Four of the bodies, in two layers.
static void check_soft(const char *name)
{
	enum { SOFT_STEPS = 90, BODY_COUNT = 5 };
	scene_description scene;
	sim_error error = { "" };
	carom_context *context;
	sim_soft_step step = { 0 };
	int64_t impacts = 0;
	load(name, &scene);
	REQUIRE(scene.deforming.source_count == 2);
	for (int k = 0; k < 3; k++)
		scene.deforming.sources[1].count[k] = k < 2 ? 2 : 1;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	sim_soft *soft = scene_start_deforming(context, &scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(soft != NULL);
	const sim_soft_surface surface = sim_soft_get_surface(soft);
	double volumes[BODY_COUNT];
	REQUIRE(surface.body_count == BODY_COUNT);
	for (int i = 1; i < BODY_COUNT; i++)
		volumes[i] = volume_of(&surface, i);
	for (int i = 0; i < SOFT_STEPS / TEST_FEWER; i++) {
		REQUIRE(sim_soft_advance(soft, &step, &error));
		impacts += step.impacts;
		for (int k = 1; k < BODY_COUNT; k++)
			CHECK_NEAR(volume_of(&surface, k) / volumes[k], 1, 0.05);
	}
	int32_t crossings = -1;
	REQUIRE(sim_soft_count_crossings(soft, &crossings));
	CHECK_INT(crossings, 0);
	CHECK(impacts > 200 || TEST_FEWER > 1);
	for (int32_t i = surface.body_vertices[1]; i < surface.vertex_count; i++)
		CHECK(surface.places[3 * (int64_t)i + 1] > 0.002);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	scene_destroy(&scene);
}

TEST(paper_scenes, soft_rings_keep_their_volume_and_cross_nothing) { check_soft("tori_soft"); }
TEST(paper_scenes, soft_lumpy_bodies_keep_their_volume_and_cross_nothing) { check_soft("bunnies_soft"); }
