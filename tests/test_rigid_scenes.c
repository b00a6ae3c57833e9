/// Scenes of rigid bodies in scenes/ whose outcome can be said in a number: a ratio of teeth, a house that stands.
#include "test.h"

#include "scene/simulation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct rigid_run {
	scene_description scene;
	carom_context *context;
	scene_simulation *simulation;
} rigid_run;

/// friction below 0: as the file has it. The simulation keeps pointing at the scene in *r.
static void start(rigid_run *r, const char *name, double friction)
{
	char path[500];
	sim_error error = { "" };
	snprintf(path, sizeof path, "%s/%s.json", CAROM_SCENES, name);
	const bool loaded = scene_load(path, &r->scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
	for (int32_t i = 0; i < r->scene.rigid.body_count && friction >= 0; i++)
		r->scene.rigid.bodies[i].friction = friction;
	REQUIRE(carom_create_context(NULL, &r->context) == CAROM_SUCCESS);
	r->simulation = scene_create_simulation(r->context, &r->scene, NULL, &error);
	CHECK_STR(error.text, "");
	REQUIRE(r->simulation != NULL);
}

static void end(rigid_run *r)
{
	scene_destroy_simulation(r->simulation);
	carom_destroy_context(r->context);
	scene_destroy(&r->scene);
}

static carom_pose pose_named(const rigid_run *r, const char *name)
{
	int32_t found = -1;
	for (int32_t i = 0; i < r->scene.rigid.body_count; i++) {
		if (strcmp(r->scene.rigid.bodies[i].name, name) == 0)
			found = i;
	}
	REQUIRE(found >= 0);
	return scene_simulation_body_def(r->simulation, found).pose;
}

/// Degrees that a body has turned about z.
static double turned(const rigid_run *r, const char *name)
{
	const carom_quat q = pose_named(r, name).orientation;
	return 2 * atan2(q.z, q.w) * 180 / acos(-1);
}

// 12 teeth drive 18: in each step the driven gear is where the ratio has it, within the play of the teeth. A slip would be 20 degrees.
TEST(rigid_scenes, gears_keep_the_ratio_of_their_teeth)
{
	rigid_run r;
	sim_error error;
	start(&r, "gears", -1);
	const int steps = 240 / TEST_FEWER;
	for (int i = 1; i <= steps; i++) {
		REQUIRE(scene_simulate_step(r.simulation, NULL, &error));
		const carom_vec3 place = pose_named(&r, "driven").position;
		CHECK_NEAR(turned(&r, "driver"), i * 30 / 120.0, 1e-4);
		CHECK_NEAR(turned(&r, "driven") - 10, -turned(&r, "driver") * 12 / 18, 2);
		CHECK_NEAR(place.z, 0, 0.002);
		CHECK(hypot(place.x - 1.5, place.y) < 0.006); // the play of the bore around its pin
	}
	CHECK(turned(&r, "driven") < 10 - 15 / TEST_FEWER);
	end(&r);
}

/// How far the highest card sinks in so many steps, and the greatest shift of any card.
static double house_moves(double friction, int steps)
{
	rigid_run r;
	sim_error error;
	double most = 0;
	start(&r, "cards", friction);
	for (int i = 0; i < steps; i++)
		REQUIRE(scene_simulate_step(r.simulation, NULL, &error));
	for (int32_t i = 1; i < r.scene.rigid.body_count; i++) {
		const carom_vec3 p = r.scene.rigid.bodies[i].pose.position, q = scene_simulation_body_def(r.simulation, i).pose.position;
		most = fmax(most, hypot(hypot(p.x - q.x, p.y - q.y), p.z - q.z));
	}
	end(&r);
	return most;
}

// A card that leans by 15 degrees presses its foot outwards by half the tangent of that, 0.134, of its weight, and by more under a load.
TEST(rigid_scenes, a_house_of_cards_stands_by_friction)
{
	CHECK(house_moves(0.6, 240 / TEST_FEWER) < 0.004);
	CHECK(house_moves(0.05, 120) > 0.2);
}
