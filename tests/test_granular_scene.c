// Scene files of spheres: what is read, the defaults, every error with its line and field, and the spheres that they make.
#include "test.h"

#include "scene/grain_sizes.h"
#include "scene/granular_fill.h"
#include "sim/grains/granular_output.h"
#include "io/json_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse(const char *text, scene_description *scene, sim_error *error)
{
	error->text[0] = 0;
	return scene_parse("folder/x.json", text, strlen(text), scene, error);
}

// Demand that a text is refused with exactly this message.
static void check_error(const char *text, const char *expected)
{
	scene_description scene;
	sim_error error;
	CHECK(!parse(text, &scene, &error));
	CHECK_STR(error.text, expected);
	CHECK(scene.text == NULL && scene.spheres.sources == NULL);
	scene_destroy(&scene);
}

/// Draw radii of a random source with this member "radius".
static void draw_radii(const char *radius, int count, double *radii)
{
	char text[400];
	scene_description scene;
	sim_error error;
	snprintf(text, sizeof text,
		"{\"spheres\": {\"box\": {\"upper\": [90, 90, 90]}, \"list\": [{\"random\": 9, \"radius\": %s}]}}", radius);
	if (!CHECK(parse(text, &scene, &error)))
		CHECK_STR(error.text, "");
	uint64_t state = 5, again = 5;
	for (int i = 0; i < count; i++)
		radii[i] = scene_next_radius(&scene.spheres.sources[0], &state);
	for (int i = 0; i < count; i++)
		CHECK(radii[i] == scene_next_radius(&scene.spheres.sources[0], &again));
	scene_destroy(&scene);
}

enum { DRAWN = 40000 };

/// The mean of a value over a density between cut-offs, by the middle rule, and the mean of the draws, within 4 standard errors.
static void check_mean(
	const double *radii, bool lognormal, double middle, double deviation, double least, double most, int power)
{
	double weight = 0, mean = 0, square = 0, drawn = 0;
	for (int i = 0; i < 100000; i++) {
		const double r = least + (most - least) * (i + 0.5) / 100000;
		const double z = (lognormal ? log(r / middle) : r - middle) / deviation;
		const double density = exp(-0.5 * z * z) / (lognormal ? r : 1), value = pow(r, power);
		weight += density;
		mean += density * value;
		square += density * value * value;
	}
	mean /= weight;
	for (int i = 0; i < DRAWN; i++) {
		CHECK(radii[i] >= least && radii[i] <= most);
		drawn += pow(radii[i], power) / DRAWN;
	}
	CHECK_NEAR(drawn, mean, 4 * sqrt((square / weight - mean * mean) / DRAWN));
}

TEST(granular_scene, radii_have_their_distributions)
{
	static double radii[DRAWN];
	static const struct {
		const char *text;
		bool lognormal;
		double middle, deviation, least, most;
	} cases[] = {
		{ "{\"normal\": 1, \"deviation\": 0.2, \"least\": 0.5, \"most\": 1.9}", false, 1, 0.2, 0.5, 1.9 },
		{ "{\"normal\": 1, \"deviation\": 0.2, \"least\": 1.3, \"most\": 30}", false, 1, 0.2, 1.3, 3 },
		{ "{\"lognormal\": 1, \"deviation\": 0.5, \"least\": 0.3, \"most\": 4}", true, 1, 0.5, 0.3, 4 },
		{ "{\"lognormal\": 0.01, \"deviation\": 0.3, \"least\": 0.001, \"most\": 0.009}", true, 0.01, 0.3, 0.001, 0.009 },
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		draw_radii(cases[k].text, DRAWN, radii);
		for (int power = 1; power <= 3; power++)
			check_mean(radii, cases[k].lognormal, cases[k].middle, cases[k].deviation, cases[k].least, cases[k].most, power);
	}
}

TEST(granular_scene, lists_of_radii_share_by_number_or_mass)
{
	static double radii[DRAWN];
	for (int by_mass = 0; by_mass < 2; by_mass++) {
		char text[200];
		double number[3] = { 0 }, mass[3] = { 0 };
		snprintf(text, sizeof text, "{\"list\": [[1, 3], [2, 5], [4, 2]], \"by\": \"%s\"}", by_mass ? "mass" : "number");
		draw_radii(text, DRAWN, radii);
		for (int i = 0; i < DRAWN; i++) {
			const int k = radii[i] == 1 ? 0 : radii[i] == 2 ? 1 : 2;
			CHECK(k < 2 || radii[i] == 4);
			number[k]++;
			mass[k] += radii[i] * radii[i] * radii[i];
		}
		const double *share = by_mass ? mass : number, total = share[0] + share[1] + share[2];
		for (int k = 0; k < 3; k++) // by mass few large spheres hold a fifth
			CHECK_NEAR(share[k] / total, (k == 0 ? 0.3 : k == 1 ? 0.5 : 0.2), by_mass ? 0.03 : 0.01);
	}
}

TEST(granular_scene, mistakes_in_distributions_of_radii)
{
	static const char *const cases[][2] = {
		{ "{}", "needs one of \"normal\", \"lognormal\" and \"list\"" },
		{ "{\"normal\": 1, \"deviation\": 1, \"least\": 2, \"most\": 1}", "must be above \"least\"" },
		{ "{\"normal\": 1, \"least\": 1, \"most\": 2}", "is needed with \"normal\"" },
		{ "{\"normal\": 1, \"deviation\": 0.1, \"least\": 2, \"most\": 3}", "lies more than 6 deviations beside \"normal\"" },
		{ "{\"list\": []}", "holds 0 sizes; there must be 1 to 32" },
		{ "{\"list\": [[1, 2], [3]]}", "must be a radius and its share" },
		{ "{\"list\": [[1, 2], [3, -1]]}", "must be a number above 0 and at most 1e6" },
		{ "{\"list\": [[1, 2]], \"least\": 1}", "cannot be given together with \"list\"" },
		{ "{\"normal\": 1, \"deviaton\": 1}", "did you mean \"deviation\"?" },
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		char text[400];
		scene_description scene;
		sim_error error;
		snprintf(text, sizeof text,
			"{\"spheres\": {\"box\": {\"upper\": [90, 90, 90]}, \"list\": [\n{\"random\": 9, \"radius\": %s}]}}", cases[k][0]);
		CHECK(!parse(text, &scene, &error));
		if (!CHECK(strstr(error.text, cases[k][1]) && strstr(error.text, "folder/x.json:2: field \"spheres.list[0].radius")))
			CHECK_STR(error.text, cases[k][1]);
	}
}

TEST(granular_scene, forces_are_asked_for_in_the_output)
{
	scene_description scene;
	sim_error error;
	REQUIRE(
		parse("{\"spheres\": {\"list\": [{\"random\": 3, \"radius\": 0.1}]}, \"output\": {\"forces\": 25}}", &scene, &error));
	CHECK_INT(scene.output.forces, 25);
	scene_destroy(&scene);
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1}]},\n\"output\": {\"forces\": 25}}",
		"folder/x.json:2: field \"output.forces\": is for \"spheres\", which this scene does not have");
	check_error("{\"spheres\": {\"list\": [{\"random\": 3, \"radius\": 0.1}]},\n\"output\": {\"forces\": -1}}",
		"folder/x.json:2: field \"output.forces\": must be from 0 to 1000000000, not -1");
}

TEST(granular_scene, defaults_of_the_smallest_scene)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse("{\"spheres\": {\"list\": [{\"random\": 3, \"radius\": 0.1}]}}", &scene, &error));
	const sim_granular_def def = sim_default_granular_def();
	CHECK_STR(scene.name, "scene");
	CHECK_INT(scene.spheres.substeps, 1);
	CHECK_NEAR(scene.spheres.def.time_step, 1.0 / 60, 0);
	CHECK_NEAR(scene.spheres.def.gravity[1], -9.81, 0);
	CHECK_NEAR(scene.spheres.def.gravity_rate, 0, 0);
	for (int i = 0; i < 6; ++i)
		CHECK(scene.spheres.def.faces[i]);
	CHECK(!scene.spheres.def.periodic[0] && !scene.spheres.def.periodic[1] && !scene.spheres.def.periodic[2]);
	CHECK_NEAR(scene.spheres.def.lower[2], 0, 0);
	CHECK_NEAR(scene.spheres.def.upper[2], 1, 0);
	CHECK_INT(scene.spheres.def.method, CAROM_SPHERES_AUTO);
	CHECK_NEAR(scene.spheres.def.skin, def.skin, 0);
	CHECK(memcmp(&scene.spheres.def.walls, &scene.spheres.def.spheres, sizeof scene.spheres.def.walls) == 0);
	CHECK_INT(scene.output.snapshots, -1);
	CHECK_INT(scene.output.checkpoints, 0);
	CHECK_INT(scene.output.energy, 10);
	CHECK_INT(scene.picture.color, SIM_COLOR_ID);
	CHECK(scene.picture.box && scene.picture.ground && !scene.picture.color_copies && !scene.camera.given);
	REQUIRE(scene.spheres.source_count == 1);
	const scene_sphere_source *source = &scene.spheres.sources[0];
	CHECK_INT(source->kind, SCENE_SPHERES_RANDOM);
	CHECK_INT(source->count, 3);
	CHECK_NEAR(source->radius[0], 0.1, 0);
	CHECK_NEAR(source->radius[1], 0.1, 0);
	CHECK(source->apart);
	CHECK_NEAR(source->upper[0], 1, 0);
	CHECK_INT(source->copies, 1);
	scene_destroy(&scene);
	scene_destroy(&scene);
}

TEST(granular_scene, every_field)
{
	static const char text[] =
		"{\n"
		" \"name\": \"all\", \"description\": \"d\", \"time_step\": 0.001, \"steps\": 7,\n"
		" \"gravity\": {\"magnitude\": 2, \"direction\": [0, 0, 5], \"axis\": [0, 3, 0], \"degrees_per_second\": 90},\n"
		" \"output\": {\"snapshots\": 5, \"checkpoints\": 6, \"energy\": 2},\n"
		" \"picture\": {\"color\": \"copy\", \"box\": false, \"ground\": false},\n"
		" \"camera\": {\"position\": [1, 2, 3], \"target\": [0, 0, 0], \"width\": 320},\n"
		" \"meshes\": {\"m\": {\"shape\": \"lumpy\"}, \"n\": {\"file\": \"n.obj\", \"fit\": [1, 1, 1]}},\n"
		" \"spheres\": {\"box\": {\"lower\": [-1, -2, -3], \"upper\": [4, 5, 6], \"walls\": [\"low_y\", \"high_z\"], \"periodic\": [\"x\"]},\n"
		" \"moving_walls\": [{\"point\": [1, 2, 3], \"normal\": [0, 1, 0], \"velocity\": [4, 5, 6], \"amplitude\": [0, 0.5, 0],\n"
		"  \"frequency\": 2, \"phase_degrees\": 90}],\n"
		" \"material\": {\"density\": 500, \"normal\": \"linear\", \"stiffness\": 10, \"stiffness_radius\": 0.25, \"restitution\": 0.75,\n"
		"  \"tangential\": \"spring\", \"tangential_ratio\": 0.5, \"friction\": 0.125, \"rolling_friction\": 0.0625},\n"
		" \"wall_material\": {\"normal\": \"hertz\", \"young\": 1e6, \"poisson\": 0.375, \"restitution\": 0.5, \"tangential\": \"mindlin\",\n"
		"  \"friction\": 0.25},\n"
		" \"stability\": {\"check\": \"report\", \"contacts\": 3, \"overlap\": 0.25},\n"
		" \"detection\": {\"method\": \"tree\", \"skin\": 0.01},\n"
		" \"list\": [\n"
		"  {\"random\": 9, \"radius\": [0.25, 0.5], \"seed\": \"0xff\", \"apart\": false, \"lower\": [0, 0, 0], \"upper\": [2, 2, 2],\n"
		"   \"velocity\": [1, 2, 3], \"velocity_spread\": [4, 5, 6], \"velocity_seed\": 8, \"angular_velocity\": [7, 8, 9]},\n"
		"  {\"file\": \"s.csv\", \"radius\": 0.125, \"scale\": 2, \"position\": [1, 1, 1], \"velocity_spread\": 0.5},\n"
		"  {\"mesh\": \"n\", \"radius\": 0.5, \"count\": 77, \"mix\": true, \"jitter\": 0.25, \"seed\": 4, \"position\": [3, 2, 1],\n"
		"   \"copies\": {\"grid\": [2, 3, 4], \"spacing\": [5, 6, 7], \"count\": 23, \"degrees\": 45, \"seed\": 6}},\n"
		"  {\"mesh\": \"m\", \"radius\": 0.1, \"velocity_spread\": 0, \"copies\": {\"count\": 3, \"lower\": [0, 0, 0], \"upper\": [1, 2, 3]}}]\n"
		"}}\n";
	scene_description scene;
	sim_error error;
	REQUIRE(parse(text, &scene, &error));
	CHECK_STR(scene.text, text);
	CHECK_STR(scene.name, "all");
	CHECK_INT(scene.steps, 7);
	const sim_granular_def *def = &scene.spheres.def;
	CHECK_NEAR(def->time_step, 0.001, 0);
	CHECK_NEAR(def->gravity[2], 2, 1e-15);
	CHECK_NEAR(def->gravity[1], 0, 0);
	CHECK_NEAR(def->gravity_axis[1], 3, 0);
	CHECK_NEAR(def->gravity_rate, acos(-1) / 2, 1e-15);
	CHECK_NEAR(def->lower[1], -2, 0);
	CHECK_NEAR(def->upper[2], 6, 0);
	static const bool faces[6] = { false, false, true, false, false, true };
	CHECK(memcmp(def->faces, faces, sizeof faces) == 0);
	CHECK(def->periodic[0] && !def->periodic[1] && !def->periodic[2]);
	REQUIRE(def->moving_count == 1);
	CHECK_NEAR(def->moving[0].point[2], 3, 0);
	CHECK_NEAR(def->moving[0].normal[1], 1, 0);
	CHECK_NEAR(def->moving[0].velocity[0], 4, 0);
	CHECK_NEAR(def->moving[0].amplitude[1], 0.5, 0);
	CHECK_NEAR(def->moving[0].frequency, 4 * acos(-1), 1e-14);
	CHECK_NEAR(def->moving[0].phase, acos(-1) / 2, 1e-15);
	CHECK_NEAR(def->density, 500, 0);
	CHECK_INT(def->spheres.normal, SIM_GRANULAR_LINEAR);
	CHECK_NEAR(def->spheres.stiffness, 10, 0);
	CHECK_NEAR(def->spheres.stiffness_radius, 0.25, 0);
	CHECK_NEAR(def->spheres.restitution, 0.75, 0);
	CHECK_INT(def->spheres.tangential, SIM_GRANULAR_SPRING);
	CHECK_NEAR(def->spheres.tangential_ratio, 0.5, 0);
	CHECK_NEAR(def->spheres.friction, 0.125, 0);
	CHECK_NEAR(def->spheres.rolling_friction, 0.0625, 0);
	CHECK_INT(def->walls.normal, SIM_GRANULAR_HERTZ);
	CHECK_NEAR(def->walls.young, 1e6, 0);
	CHECK_NEAR(def->walls.poisson, 0.375, 0);
	CHECK_INT(def->walls.tangential, SIM_GRANULAR_MINDLIN);
	CHECK_NEAR(def->walls.friction, 0.25, 0);
	CHECK_INT(def->stability, SIM_GRANULAR_REPORT);
	CHECK_NEAR(def->stability_contacts, 3, 0);
	CHECK_NEAR(def->stability_overlap, 0.25, 0);
	CHECK_INT(def->method, CAROM_SPHERES_TREE);
	CHECK_NEAR(def->skin, 0.01, 0);
	CHECK_INT(scene.output.snapshots, 5);
	CHECK_INT(scene.output.checkpoints, 6);
	CHECK_INT(scene.output.energy, 2);
	CHECK_INT(scene.picture.color, SIM_COLOR_ID);
	CHECK(scene.picture.color_copies && !scene.picture.box && !scene.picture.ground);
	CHECK(scene.camera.given);
	CHECK_INT(scene.camera.width, 320);

	REQUIRE(scene.spheres.source_count == 4);
	const scene_sphere_source *s = &scene.spheres.sources[0];
	CHECK_INT(s->count, 9);
	CHECK_NEAR(s->radius[0], 0.25, 0);
	CHECK_NEAR(s->radius[1], 0.5, 0);
	CHECK_INT(s->seed, 255);
	CHECK(!s->apart);
	CHECK_NEAR(s->upper[1], 2, 0);
	CHECK_NEAR(s->velocity[2], 3, 0);
	CHECK_NEAR(s->velocity_spread[1], 5, 0);
	CHECK_INT(s->velocity_seed, 8);
	CHECK_NEAR(s->angular_velocity[0], 7, 0);
	CHECK_INT(s->line, 18);
	s = &scene.spheres.sources[1];
	CHECK(s->velocity_spread[0] == 0.5 && s->velocity_spread[1] == 0.5 && s->velocity_spread[2] == 0.5);
	CHECK_INT(s->kind, SCENE_SPHERES_FILE);
	CHECK_STR(s->file, "folder/s.csv");
	CHECK_NEAR(s->radius[1], 0.125, 0);
	CHECK_NEAR(s->scale, 2, 0);
	CHECK_NEAR(s->position[0], 1, 0);
	s = &scene.spheres.sources[2];
	CHECK_INT(s->kind, SCENE_SPHERES_MESH);
	CHECK_INT(s->mesh, 1);
	CHECK_NEAR(s->radius[1], 0.5, 0);
	CHECK_INT(s->count, 77);
	CHECK(s->mix);
	CHECK_NEAR(s->jitter, 0.25, 0);
	CHECK_INT(s->seed, 4);
	CHECK_INT(s->copies_kind, SCENE_COPIES_GRID);
	CHECK_INT(s->copies, 23);
	CHECK_INT(s->grid[1], 3);
	CHECK_NEAR(s->spacing[2], 7, 0);
	CHECK_NEAR(s->degrees, 45, 0);
	CHECK_INT(s->copies_seed, 6);
	s = &scene.spheres.sources[3];
	CHECK_INT(s->copies_kind, SCENE_COPIES_RANDOM);
	CHECK_INT(s->copies, 3);
	CHECK_NEAR(s->copies_upper[2], 3, 0);
	scene_destroy(&scene);
}

#define SPHERES "\"list\": [{\"random\": 1, \"radius\": 0.1}]"

TEST(granular_scene, walls_and_periods)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse("{\"spheres\": {\"box\": {\"walls\": false}, " SPHERES "}}", &scene, &error));
	for (int i = 0; i < 6; ++i)
		CHECK(!scene.spheres.def.faces[i]);
	scene_destroy(&scene);
	REQUIRE(parse("{\"spheres\": {\"box\": {\"walls\": true, \"periodic\": [\"z\", \"x\"]}, " SPHERES "}}", &scene, &error));
	static const bool faces[6] = { false, false, true, true, false, false };
	CHECK(memcmp(scene.spheres.def.faces, faces, sizeof faces) == 0);
	scene_destroy(&scene);
}

TEST(granular_scene, errors_name_line_and_field)
{
	check_error("{\n\"sphere\": 1}", "folder/x.json:2: field \"sphere\": unknown field; did you mean \"spheres\"?");
	check_error("{\"spheres\": {\"list\": []}}", "folder/x.json:1: field \"spheres.list\": holds no spheres");
	check_error("{\"spheres\": {" SPHERES ",\n\"bodies\": []}}", "folder/x.json:2: field \"spheres.bodies\": unknown field");
	check_error("{\"spheres\": {\"list\": [{}]}}",
		"folder/x.json:1: field \"spheres.list[0]\": needs one of \"random\", \"file\" and \"mesh\"");
	check_error("{\"spheres\": {\"list\": [{\"random\": 1, \"file\": \"x\"}]}}",
		"folder/x.json:1: field \"spheres.list[0]\": needs one of \"random\", \"file\" and \"mesh\"");
	check_error("{\"spheres\": {\"list\": [{\"random\": 1}]}}", "folder/x.json:1: field \"spheres.list[0].radius\": is needed");
	check_error("{\"spheres\": {\"list\": [\n{\"random\": 1, \"radius\": [2, 1]}]}}",
		"folder/x.json:2: field \"spheres.list[0].radius\": the first is the least and must not be above the second");
	check_error("{\"spheres\": {\"list\": [{\"random\": 1, \"radius\": 0.5}]}}",
		"folder/x.json:1: field \"spheres.list[0]\": the largest sphere has no room between \"lower\" and \"upper\" along x");
	check_error("{\"spheres\": {\"list\": [{\"random\": 1, \"radius\": 0.1, \"mix\": true}]}}",
		"folder/x.json:1: field \"spheres.list[0].mix\": cannot be given together with \"random\"");
	check_error("{\"spheres\": {\"list\": [{\"file\": \"a.csv\", \"count\": 3}]}}",
		"folder/x.json:1: field \"spheres.list[0].count\": cannot be given together with \"file\"");
	check_error(
		"{\"meshes\": {\"bunny\": {\"shape\": \"lumpy\"}},\n\"spheres\": {\"list\": [{\"mesh\": \"bnuny\", \"count\": 3}]}}",
		"folder/x.json:2: field \"spheres.list[0].mesh\": there is no mesh \"bnuny\"; did you mean \"bunny\"?");
	check_error("{\"meshes\": {\"a\": {\"shape\": \"lumpy\"}}, \"spheres\": {\"list\": [{\"mesh\": \"a\"}]}}",
		"folder/x.json:1: field \"spheres.list[0]\": needs \"radius\", \"count\", or both");
	check_error(
		"{\"meshes\": {\"a\": {\"height_field\": {\"hills\": {}}}}, \"spheres\": {\"list\": [{\"mesh\": \"a\", \"count\": 1}]}}",
		"folder/x.json:1: field \"spheres.list[0].mesh\": a height field cannot be filled with spheres");
	check_error(
		"{\"meshes\": {\"a\": {\"shape\": \"lumpy\"}}, \"spheres\": {\"list\": [{\"mesh\": \"a\", \"count\": 1, \"copies\": {\"grid\": [2, 1.5, 1]}}]}}",
		"folder/x.json:1: field \"spheres.list[0].copies.grid\": must be whole numbers");
	check_error("{\"spheres\": {\"list\": [{\"file\": \"a\", \"copies\": {\"spacing\": [1, 1, 1]}}]}}",
		"folder/x.json:1: field \"spheres.list[0].copies.spacing\": needs \"grid\"");
	check_error("{\"spheres\": {\"list\": [{\"file\": \"a\", \"position\": [1, 1, 1], \"copies\": {\"count\": 2}}]}}",
		"folder/x.json:1: field \"spheres.list[0].position\": cannot be given together with \"copies\"");
	check_error("{\"spheres\": {\"box\": {\"lower\": [0, 1, 0]}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.box.upper\": must be above \"lower\" along y");
	check_error("{\"spheres\": {\"box\": {\"walls\": [\"floor\"]}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.box.walls[0]\": must be one of \"low_x\", \"high_x\", \"low_y\", \"high_y\", \"low_z\", \"high_z\"");
	check_error("{\"spheres\": {\"box\": {\"walls\": [\"low_x\", \"low_x\"]}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.box.walls[1]\": given twice");
	check_error("{\"spheres\": {\"box\": {\"periodic\": [\"y\"], \"walls\": [\"low_y\"]}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.box.walls\": \"low_y\": space repeats along y, so there can be no wall");
	check_error("{\"gravity\": {\"axis\": [0, 0, 0]}, \"spheres\": {" SPHERES "}}",
		"folder/x.json:1: field \"gravity.axis\": must not be zero");
	check_error("{\"gravity\": {\"direction\": [0, 0, 0]}, \"spheres\": {" SPHERES "}}",
		"folder/x.json:1: field \"gravity.direction\": must not be zero");
	check_error("{\"spheres\": {\"moving_walls\": [{\"normal\": [0, 1, 0]}], " SPHERES "}}",
		"folder/x.json:1: field \"spheres.moving_walls[0].point\": is needed");
	check_error("{\"spheres\": {\"moving_walls\": [{\"point\": [0, 1, 0], \"normal\": [0, 0, 0]}], " SPHERES "}}",
		"folder/x.json:1: field \"spheres.moving_walls[0].normal\": must not be zero");
	check_error("{\"spheres\": {\"moving_walls\": [1,2,3,4,5,6,7,8,9,10,11], " SPHERES "}}",
		"folder/x.json:1: field \"spheres.moving_walls\": holds 11 walls; there may be 10");
	check_error("{\"spheres\": {\"material\": {\"young\": 1}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.material.young\": is for \"normal\": \"hertz\"");
	check_error("{\"spheres\": {\"wall_material\": {\"normal\": \"hertz\", \"stiffness\": 1}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.wall_material.stiffness\": is for \"normal\": \"linear\"");
	check_error("{\"spheres\": {\"material\": {\"friction\": 1}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.material.friction\": needs \"tangential\": \"spring\"");
	check_error("{\"spheres\": {\"material\": {\"normal\": \"hertz\", \"rolling_friction\": 0.1}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.material.rolling_friction\": needs \"tangential\": \"mindlin\"");
	check_error("{\"spheres\": {\"material\": {\"tangential\": \"mindlin\"}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.material.tangential\": \"spring\" goes with \"linear\", \"mindlin\" with \"hertz\"");
	check_error("{\"spheres\": {\"detection\": {\"skin\": \"much\"}, " SPHERES "}}",
		"folder/x.json:1: field \"spheres.detection.skin\": must be one of \"auto\"");
	check_error("{\"time_step\": 0, \"spheres\": {" SPHERES "}}",
		"folder/x.json:1: field \"time_step\": must be from 1e-12 to 1, not 0");
}

TEST(granular_scene, the_count_can_be_set)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse("{\"spheres\": {" SPHERES "}}", &scene, &error));
	CHECK(scene_set_sphere_count(&scene, 1234, &error));
	CHECK_INT(scene.spheres.sources[0].count, 1234);
	CHECK(!scene_set_sphere_count(&scene, 0, &error));
	CHECK(!scene_set_sphere_count(&scene, CAROM_MAX_SPHERES + 1, &error));
	CHECK_STR(error.text, "the count must be from 1 to 50000000");
	CHECK_INT(scene.spheres.sources[0].count, 1234);
	scene_destroy(&scene);
	REQUIRE(parse("{\"spheres\": {\"list\": [{\"file\": \"x\"}]}}", &scene, &error));
	CHECK(!scene_set_sphere_count(&scene, 5, &error));
	CHECK_STR(error.text, "folder/x.json: has 0 random sources of spheres; a count needs exactly one");
	scene_destroy(&scene);
}

// ---- The spheres ----

// Make a scene's spheres; an empty filling and the message when that fails.
static bool fill(const char *text, scene_granular_filling *filling, sim_error *error)
{
	scene_description scene;
	carom_context *context;
	REQUIRE(parse(text, &scene, error));
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	const bool done = scene_fill_spheres(context, &scene, filling, error);
	carom_destroy_context(context);
	scene_destroy(&scene);
	return done;
}

static double distance(const scene_granular_filling *f, int64_t i, int64_t j)
{
	const double *a = f->centres + 3 * i, *b = f->centres + 3 * j;
	return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

static int64_t count_touching(const scene_granular_filling *f)
{
	int64_t count = 0;
	for (int64_t i = 0; i < f->count; ++i)
		for (int64_t j = 0; j < i; ++j)
			count += distance(f, i, j) <= f->radii[i] + f->radii[j];
	return count;
}

TEST(granular_scene, random_spheres_lie_inside_and_apart)
{
	scene_granular_filling filling, again;
	sim_error error;
	// A fifth of the box is full: placing without a look would give hundreds of contacts.
	static const char text[] = "{\"spheres\": {\"box\": {\"lower\": [-1, 0, 2], \"upper\": [1, 3, 3]},"
							   "\"list\": [{\"random\": 2000, \"radius\": [0.02, 0.07], \"seed\": 3}]}}";
	REQUIRE(fill(text, &filling, &error));
	REQUIRE(filling.count == 2000 && filling.copy_count == 1 && filling.angular_velocities == NULL);
	static const double lower[] = { -1, 0, 2 }, upper[] = { 1, 3, 3 };
	double least = 1, largest = 0, sum[3] = { 0 };
	int outside = 0;
	for (int64_t i = 0; i < filling.count; ++i) {
		const double r = filling.radii[i];
		least = fmin(least, r);
		largest = fmax(largest, r);
		for (int k = 0; k < 3; ++k) {
			outside += filling.centres[3 * i + k] - r < lower[k] || filling.centres[3 * i + k] + r > upper[k];
			sum[k] += filling.centres[3 * i + k];
			CHECK(filling.velocities[3 * i + k] == 0);
		}
	}
	CHECK_INT(outside, 0);
	CHECK_INT(count_touching(&filling), 0);
	CHECK(least >= 0.02 && least < 0.021 && largest <= 0.07 && largest > 0.069);
	for (int k = 0; k < 3; ++k)
		CHECK_NEAR(sum[k] / 2000, 0.5 * (lower[k] + upper[k]), 0.04 * (upper[k] - lower[k]));
	REQUIRE(fill(text, &again, &error));
	CHECK(memcmp(filling.centres, again.centres, 3 * 2000 * sizeof(double)) == 0);
	CHECK(memcmp(filling.radii, again.radii, 2000 * sizeof(double)) == 0);
	scene_destroy_filling(&again);
	scene_destroy_filling(&filling);
	scene_destroy_filling(&filling);
}

TEST(granular_scene, random_spheres_that_may_touch)
{
	scene_granular_filling filling;
	sim_error error;
	REQUIRE(fill("{\"spheres\": {\"list\": [{\"random\": 1000, \"radius\": 0.05, \"apart\": false}]}}", &filling, &error));
	// Of 499500 pairs those nearer than 0.1, in a box whose side for centres is 0.9.
	const double expected = 499500 * 4.0 / 3 * acos(-1) * 1e-3 / (0.9 * 0.9 * 0.9);
	CHECK_NEAR((double)count_touching(&filling), expected, 0.15 * expected);
	scene_destroy_filling(&filling);
}

TEST(granular_scene, a_full_box_is_an_error)
{
	scene_granular_filling filling;
	sim_error error;
	CHECK(!fill("{\"spheres\": {\"list\": [\n{\"random\": 1000, \"radius\": 0.1}]}}", &filling, &error));
	CHECK(strstr(error.text, "folder/x.json:2: field \"spheres.list[0]\": after ") == error.text);
	CHECK(strstr(error.text, "no room for one more in 1000 tries") != NULL);
	CHECK(filling.centres == NULL && filling.count == 0);
}

static const char cube_csv[] = "x,y,z,radius\n0,0,0,0.1\n1,0,0,0.2\n0,1,0,0.3\n0,0,1,0.4\n";

// A scene with the file of four spheres in place of %s.
static bool fill_from_file(const char *format, scene_granular_filling *filling, sim_error *error)
{
	char path[] = "/tmp/carom_spheres_XXXXXX", text[800];
	const int file = mkstemp(path);
	REQUIRE(file >= 0);
	REQUIRE(write(file, cube_csv, strlen(cube_csv)) == (ssize_t)strlen(cube_csv));
	close(file);
	snprintf(text, sizeof text, format, path);
	const bool done = fill(text, filling, error);
	remove(path);
	return done;
}

TEST(granular_scene, files_are_scaled_copied_and_set_in_motion)
{
	scene_granular_filling filling;
	sim_error error;
	REQUIRE(fill_from_file(
		"{\"spheres\": {\"list\": [{\"random\": 1, \"radius\": 0.25}, {\"file\": \"%s\", \"scale\": 2, \"position\": [10, 20, 30],"
		"\"copies\": {\"grid\": [2, 2, 2], \"count\": 5, \"spacing\": [100, 200, 300]},"
		"\"velocity\": [1, 2, 3], \"velocity_spread\": [0, 0.5, 0], \"angular_velocity\": [0, 0, 4]}]}}",
		&filling, &error));
	REQUIRE(filling.count == 21 && filling.copy_count == 6);
	static const uint32_t starts[] = { 0, 1, 5, 9, 13, 17 };
	CHECK(memcmp(filling.copy_starts, starts, sizeof starts) == 0);
	static const double corners[4][3] = { { 0, 0, 0 }, { 2, 0, 0 }, { 0, 2, 0 }, { 0, 0, 2 } };
	static const double shifts[5][3] = { { 10, 20, 30 }, { 110, 20, 30 }, { 10, 220, 30 }, { 110, 220, 30 }, { 10, 20, 330 } };
	double least = 9, largest = -9;
	for (int copy = 0; copy < 5; ++copy)
		for (int i = 0; i < 4; ++i) {
			const int n = 1 + 4 * copy + i;
			for (int k = 0; k < 3; ++k)
				CHECK_NEAR(filling.centres[3 * n + k], corners[i][k] + shifts[copy][k], 1e-12);
			CHECK_NEAR(filling.radii[n], 0.2 * (i + 1), 1e-12);
			CHECK_NEAR(filling.velocities[3 * n], 1, 0);
			least = fmin(least, filling.velocities[3 * n + 1]);
			largest = fmax(largest, filling.velocities[3 * n + 1]);
			CHECK_NEAR(filling.velocities[3 * n + 2], 3, 0);
			CHECK_NEAR(filling.angular_velocities[3 * n + 2], 4, 0);
		}
	CHECK(least >= 1.5 && least < 1.7 && largest <= 2.5 && largest > 2.3);
	CHECK_NEAR(filling.angular_velocities[2], 0, 0); // of the other source
	scene_destroy_filling(&filling);
}

TEST(granular_scene, random_copies_are_turned_and_keep_apart)
{
	scene_granular_filling filling;
	sim_error error;
	REQUIRE(fill_from_file("{\"spheres\": {\"box\": {\"upper\": [9, 9, 9]}, \"list\": [{\"file\": \"%s\","
						   "\"copies\": {\"count\": 12, \"degrees\": 180, \"seed\": 2}}]}}",
		&filling, &error));
	REQUIRE(filling.count == 48);
	int turned = 0, outside = 0;
	for (int copy = 0; copy < 12; ++copy) {
		// Turned, but of the same shape.
		for (int i = 1; i < 4; ++i)
			CHECK_NEAR(distance(&filling, 4 * copy, 4 * copy + i), 1, 1e-12);
		turned += fabs(filling.centres[12 * copy + 3] - filling.centres[12 * copy] - 1) > 0.01;
	}
	for (int i = 0; i < 48; ++i)
		for (int k = 0; k < 3; ++k)
			outside += filling.centres[3 * i + k] < filling.radii[i] || filling.centres[3 * i + k] > 9 - filling.radii[i];
	CHECK(turned >= 11);
	CHECK_INT(outside, 0);
	// Spheres of different copies do not touch; those of one do: radii 0.3 and 0.4 at a distance of 1.41 do not either.
	CHECK_INT(count_touching(&filling), 0);
	scene_destroy_filling(&filling);
	CHECK(!fill_from_file(
		"{\"spheres\": {\"box\": {\"upper\": [2, 2, 2]}, \"list\": [{\"file\": \"%s\", \"copies\": {\"count\": 9}}]}}",
		&filling, &error));
	CHECK(strstr(error.text, "found no room in 1000 tries") != NULL);
	CHECK(!fill_from_file("{\"spheres\": {\"list\": [{\"file\": \"%s\", \"copies\": {\"count\": 2}}]}}", &filling, &error));
	CHECK_STR(error.text, "folder/x.json:1: field \"spheres.list[0]\": copy 0 is larger than the box of the copies");
}

TEST(granular_scene, meshes_are_filled)
{
	scene_granular_filling filling;
	sim_error error;
	REQUIRE(fill(
		"{\"meshes\": {\"ball\": {\"shape\": \"sphere\", \"triangles\": 960, \"fit\": [1, 1, 1], \"centre\": true}},"
		"\"spheres\": {\"list\": [{\"mesh\": \"ball\", \"count\": 500, \"radius\": 0.01, \"mix\": true, \"position\": [5, 5, 5]}]}}",
		&filling, &error));
	REQUIRE(filling.count == 500);
	int small = 0, outside = 0;
	for (int i = 0; i < 500; ++i) {
		const double *c = filling.centres + 3 * i;
		outside += (c[0] - 5) * (c[0] - 5) + (c[1] - 5) * (c[1] - 5) + (c[2] - 5) * (c[2] - 5) > 0.25;
		small += filling.radii[i] < 0.0075;
	}
	CHECK_INT(outside, 0);
	CHECK(small > 200 && small < 300);
	scene_destroy_filling(&filling);
}

TEST(granular_scene, what_cannot_be_made)
{
	scene_granular_filling filling;
	sim_error error;
	CHECK(!fill("{\"spheres\": {\"list\": [\n{\"file\": \"nowhere.sph\"}]}}", &filling, &error));
	CHECK(strstr(error.text, "folder/x.json:2: field \"spheres.list[0]\": folder/nowhere.sph: ") == error.text);
	CHECK(!fill("{\"meshes\": {\"m\": {\"shape\": \"blob\"}}, \"spheres\": {\"list\": [{\"mesh\": \"m\", \"count\": 5}]}}",
		&filling, &error));
	CHECK(strstr(error.text, "folder/x.json: field \"meshes.m\": ") == error.text);
	CHECK(!fill("{\"spheres\": {\"list\": [{\"random\": 30000000, \"radius\": 1e-5, \"apart\": false},\n"
				"{\"random\": 30000000, \"radius\": 1e-5, \"apart\": false}]}}",
		&filling, &error));
	CHECK_STR(error.text,
		"folder/x.json:2: field \"spheres.list[1]\": with it the scene has 60000000 spheres; there may be 50000000");
}

// ---- The scenes of the repository ----

static scene_description load(const char *name)
{
	scene_description scene;
	char path[300];
	sim_error error = { "" };
	size_t size;
	snprintf(path, sizeof path, "%s/%s.json", CAROM_SCENES, name);
	char *text = io_read_text(path, &size, &error);
	REQUIRE(text != NULL);
	const bool good = scene_parse(path, text, size, &scene, &error);
	CHECK_STR(error.text, "");
	free(text);
	REQUIRE(good);
	return scene;
}

// The parameters of Mochi, section 4.1.
TEST(granular_scene, scenes_have_the_papers_parameters)
{
	static const struct {
		const char *name;
		int64_t steps, count;
		double time_step, side, least, largest;
		bool turning;
	} scenes[] = {
		{ "freefall", 80000, 1000000, 0.0001, 1, 0.0005, 0.0006, false },
		{ "turning_gravity", 160000, 1000000, 0.00005, 1, 0.0005, 0.0006, true },
		{ "radii_narrow", 160000, 1000000, 0.00005, 16, 0.0005, 0.006, true },
		{ "radii_wide", 160000, 1000000, 0.00005, 16, 0.0005, 0.06, true },
		{ "grains1", 20000, 82337, 0.000025, 1, 0, 0, false },
		{ "grains14", 30000, 82337, 0.000025, 2, 0, 0, false },
	};
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
		scene_description scene = load(scenes[i].name);
		CHECK_STR(scene.name, scenes[i].name);
		CHECK_INT(scene.steps, scenes[i].steps);
		CHECK_NEAR(scene.spheres.def.time_step, scenes[i].time_step, 0);
		CHECK_NEAR(scene.spheres.def.upper[0] - scene.spheres.def.lower[0], scenes[i].side, 0);
		CHECK_NEAR(scene.spheres.def.density, 500, 0);
		CHECK_NEAR(scene.spheres.def.gravity_rate, scenes[i].turning ? 0.25 * acos(-1) : 0, 1e-15);
		CHECK_NEAR(fabs(scene.spheres.def.gravity[scenes[i].turning ? 0 : 1]), 9.81, 1e-12);
		REQUIRE(scene.spheres.source_count == 1);
		CHECK_INT(scene.spheres.sources[0].count, scenes[i].count);
		CHECK_INT(scene.spheres.sources[0].copies, i == 5 ? 14 : 1);
		if (scenes[i].largest > 0) {
			CHECK_NEAR(scene.spheres.sources[0].radius[0], scenes[i].least, 0);
			CHECK_NEAR(scene.spheres.sources[0].radius[1], scenes[i].largest, 0);
		}
		scene_destroy(&scene);
	}
}

// Each scene, with few spheres, can be made: its time step is below the bound of stability, and it moves.
TEST(granular_scene, scenes_of_the_repository_run)
{
	static const char *const names[] = { "freefall", "turning_gravity", "radii_narrow", "radii_wide", "grains1", "grains14" };
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	for (int i = 0; i < 6; ++i) {
		scene_description scene = load(names[i]);
		scene_granular_filling filling;
		sim_error error = { "" };
		scene.spheres.sources[0].count = 1000;
		REQUIRE(scene_fill_spheres(context, &scene, &filling, &error));
		CHECK_INT(filling.count, i == 5 ? 14000 : 1000);
		const sim_granular_def def = scene_filled_def(&scene, &filling);
		sim_granular *granular = sim_create_granular(context, &def, &error);
		CHECK_STR(error.text, "");
		REQUIRE(granular != NULL);
		const sim_granular_info info = sim_granular_get_info(granular);
		CHECK(info.time_step <= info.step_limit);
		for (int step = 0; step < 20; ++step)
			REQUIRE(sim_granular_advance(granular, NULL, &error));
		// In free fall: mass g t^2 / 2, with velocities g t after as many steps.
		const double speed = 9.81 * 20 * info.time_step;
		CHECK_NEAR(sim_granular_kinetic_energy(granular), 0.5 * info.mass * speed * speed, 1e-3 * info.mass * speed * speed);
		sim_destroy_granular(granular);
		scene_destroy_filling(&filling);
		scene_destroy(&scene);
	}
	carom_destroy_context(context);
}

// ---- Looking at states ----

TEST(granular_scene, energy_and_hash_do_not_depend_on_threads_or_order)
{
	enum { RUNS = 3 };
	double energy[RUNS];
	uint64_t hash[RUNS];
	scene_description scene;
	sim_error error;
	REQUIRE(parse(
		"{\"time_step\": 1e-4, \"spheres\": {\"box\": {\"upper\": [0.2, 0.2, 0.2]}, \"material\": {\"density\": 500, \"stiffness\": 100},"
		"\"list\": [{\"random\": 3000, \"radius\": [0.004, 0.006], \"velocity_spread\": [1, 1, 1]}]}}",
		&scene, &error));
	for (int run = 0; run < RUNS; ++run) {
		carom_context_def context_def = carom_default_context_def();
		carom_context *context;
		context_def.thread_count = run == 0 ? 1 : 3;
		REQUIRE(carom_create_context(&context_def, &context) == CAROM_SUCCESS);
		scene_granular_filling filling;
		REQUIRE(scene_fill_spheres(context, &scene, &filling, &error));
		sim_granular_def def = scene_filled_def(&scene, &filling);
		def.keep_order = run == 2;
		sim_granular *granular = sim_create_granular(context, &def, &error);
		REQUIRE(granular != NULL);
		for (int step = 0; step < 50; ++step)
			REQUIRE(sim_granular_advance(granular, NULL, &error));
		sim_granular_frame frame;
		REQUIRE(sim_take_granular_frame(granular, &frame));
		energy[run] = sim_granular_kinetic_energy(granular);
		hash[run] = sim_hash_granular_frame(&frame);
		// The same as a plain sum up to its rounding, and as the simulation's own.
		sim_granular_energy own;
		REQUIRE(sim_granular_get_energy(granular, &own, &error));
		CHECK_NEAR(energy[run], own.kinetic + own.rotational, 1e-12 * energy[run]);
		sim_free_granular_frame(&frame);
		sim_destroy_granular(granular);
		scene_destroy_filling(&filling);
		carom_destroy_context(context);
	}
	CHECK(energy[0] > 0);
	for (int run = 1; run < RUNS; ++run) {
		CHECK(energy[run] == energy[0]);
		CHECK(hash[run] == hash[0]);
	}
	scene_destroy(&scene);
}

TEST(granular_scene, frames_count_and_hash)
{
	double centres[] = { 0, 0, 0, 1, 1, 1, 0.5, 2, 0.5 }, radii[] = { 1, 2, 3 }, velocities[9] = { 0 }, spins[9] = { 0 };
	const sim_granular_frame frame = { 3, centres, radii, velocities, spins };
	static const double lower[] = { 0, 0, 0 }, upper[] = { 1, 1, 1 };
	CHECK_INT(sim_count_spheres_inside(&frame, lower, upper), 2); // the border belongs to it
	const uint64_t hash = sim_hash_granular_frame(&frame);
	spins[8] = 1e-300;
	CHECK(sim_hash_granular_frame(&frame) != hash);
	spins[8] = 0;
	CHECK(sim_hash_granular_frame(&frame) == hash);
	centres[0] = -0.0;
	CHECK(sim_hash_granular_frame(&frame) != hash);
}
