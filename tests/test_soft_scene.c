/// Scene files of cloth: what is read, the defaults, every error with its line and field; the forms that they name.
#include "test.h"

#include "sim/base/rotations.h"
#include "sim/shapes/form.h"
#include "io/json_reader.h"
#include "scene/soft_fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	CHECK(scene.text == NULL && scene.deforming.sources == NULL);
	scene_destroy(&scene);
}

TEST(soft_scene, defaults_of_the_smallest_scene)
{
	scene_description scene;
	sim_error error;
	REQUIRE(
		parse("{\"deforming\": {\"list\": [{\"form\": \"sheet\", \"size\": [1, 2], \"divisions\": [3, 4]}]}}", &scene, &error));
	sim_soft_def def = sim_default_soft_def();
	def.time_step = 1.0 / 60;
	const sim_soft_body body = sim_default_soft_body();
	CHECK_STR(scene.name, "scene");
	CHECK_INT(scene.steps, 600);
	CHECK_NEAR(scene.deforming.resolution, 1, 0);
	CHECK_INT(scene.output.frames, 1);
	CHECK(!scene.output.frames_as_obj && scene.picture.ground && !scene.camera.given);
	CHECK(memcmp(&scene.deforming.def, &def, sizeof def) == 0);
	REQUIRE(scene.deforming.source_count == 1);
	const scene_soft_source *source = &scene.deforming.sources[0];
	CHECK(!source->rigid);
	CHECK_INT(source->mesh, -1);
	CHECK_INT(source->form.kind, SIM_FORM_SHEET);
	CHECK_NEAR(source->form.size[0], 1, 0);
	CHECK_NEAR(source->form.size[2], 2, 0);
	CHECK_INT(source->form.divisions[1], 4);
	CHECK_INT(source->body.kind, SIM_SOFT_CLOTH);
	CHECK_NEAR(source->body.stiffness, body.stiffness, 0);
	CHECK_NEAR(source->scale[1], 1, 0);
	CHECK_INT(source->count[0] * source->count[1] * source->count[2], 1);
	scene_destroy(&scene);
	scene_destroy(&scene);
}

TEST(soft_scene, every_field)
{
	static const char text[] =
		"{\n"
		" \"name\": \"all\", \"description\": \"d\", \"gravity\": [1, 2, 3], \"time_step\": 0.01, \"steps\": 7,\n"
		" \"output\": {\"frames\": 3, \"format\": \"obj\"}, \"picture\": {\"ground\": false},\n"
		" \"camera\": {\"position\": [1, 2, 3], \"target\": [0, 0, 0], \"width\": 320},\n"
		" \"meshes\": {\"m\": {\"shape\": \"lumpy\"}}, \"deforming\": {\"resolution\": 0.5,\n"
		" \"thickness\": 0.004, \"solver\": {\"substeps\": 5, \"solves\": 3, \"rounds\": 4, \"damping\": 0.5, \"lead_apart\": true},\n"
		" \"movers\": [{\"name\": \"body\", \"mesh\": \"m\", \"friction\": 0.75, \"position\": [0, -5, 0],\n"
		"  \"motion\": {\"velocity\": [1, 0, 0], \"ramp\": 2, \"spin\": {\"axis\": [1, 0, 0], \"degrees_per_second\": 180},\n"
		"   \"swing\": {\"axis\": [0, 0, 1], \"degrees\": 90, \"shift\": [0, 1, 0], \"period\": 4, \"phase_degrees\": 90}}}],\n"
		" \"list\": [\n"
		"  {\"name\": \"s\", \"form\": \"skirt\", \"radius\": 0.2, \"hem_radius\": 0.5, \"length\": 0.75, \"folds\": 6, \"fold_depth\": 0.05,\n"
		"   \"divisions\": [24, 5], \"scale\": [1, 2, 3], \"offset\": [4, 5, 6], \"rotation\": {\"axis\": [0, 1, 0], \"degrees\": 180}, \"flat\": true, \"stretch_limit\": 0.1,\n"
		"   \"pins\": [{\"lower\": [1, 2, 3], \"upper\": [4, 5, 6], \"to\": \"body\"}, {}]},\n"
		"  {\"form\": \"sphere\", \"radius\": 0.25, \"divisions\": [8, 7], \"keeps_volume\": true, \"density\": 0.5, \"stiffness\": 100,\n"
		"   \"bending\": 0.125, \"bulk\": 50, \"shear\": 20, \"velocity\": [7, 8, 9], \"friction\": 0.125,\n"
		"   \"grid\": {\"count\": [2, 3, 4], \"spacing\": [1, 2, 3]}, \"jitter\": {\"degrees\": 30, \"shift\": 0.5, \"seed\": \"0xff\"}},\n"
		"  {\"form\": \"triangles\", \"count\": 9, \"size\": [1, 2, 3], \"radius\": 0.1, \"seed\": 4}]\n"
		"}}\n";
	scene_description scene;
	sim_error error;
	const bool parsed = parse(text, &scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(parsed);
	CHECK_STR(scene.text, text);
	CHECK_STR(scene.name, "all");
	CHECK_INT(scene.steps, 7);
	CHECK_NEAR(scene.deforming.def.gravity[2], 3, 0);
	CHECK_NEAR(scene.deforming.def.time_step, 0.01, 0);
	CHECK_NEAR(scene.deforming.resolution, 0.5, 0);
	CHECK_NEAR(scene.deforming.def.thickness, 0.004, 0);
	CHECK_INT(scene.deforming.def.substeps, 5);
	CHECK_INT(scene.deforming.def.solves, 3);
	CHECK_INT(scene.deforming.def.rounds, 4);
	CHECK_NEAR(scene.deforming.def.damping, 0.5, 0);
	CHECK(scene.deforming.def.lead_apart);
	CHECK_INT(scene.output.frames, 3);
	CHECK(scene.output.frames_as_obj && !scene.picture.ground && scene.camera.given);
	REQUIRE(scene.deforming.source_count == 4);
	const scene_soft_source *body = &scene.deforming.sources[0], *s = &scene.deforming.sources[1],
							*ball = &scene.deforming.sources[2], *lone = &scene.deforming.sources[3];
	CHECK(body->rigid && !s->rigid);
	CHECK_INT(body->mesh, 0);
	CHECK_NEAR(body->body.friction, 0.75, 0);
	const sim_soft_motion *motion = &body->body.motion;
	CHECK_NEAR(motion->start.position.y, -5, 0);
	CHECK_NEAR(motion->velocity[0], 1, 0);
	CHECK_NEAR(motion->spin_axis[0], 1, 0);
	CHECK_NEAR(motion->spin_axis[1], 0, 0);
	CHECK_NEAR(motion->spin, acos(-1), 1e-15);
	CHECK_NEAR(motion->swing, acos(-1) / 2, 1e-15);
	CHECK_NEAR(motion->shift[1], 1, 0);
	CHECK_NEAR(motion->period, 4, 0);
	CHECK_NEAR(motion->phase, acos(-1) / 2, 1e-15);
	CHECK_NEAR(motion->ramp, 2, 0);
	CHECK_INT(s->form.folds, 6);
	CHECK_NEAR(s->form.fold_depth, 0.05, 0);
	CHECK_NEAR(s->form.hem_radius, 0.5, 0);
	CHECK_NEAR(s->scale[2], 3, 0);
	CHECK_NEAR(s->offset[0], 4, 0);
	CHECK_NEAR(fabs(s->body.motion.start.orientation.y), 1, 1e-15);
	CHECK(s->body.flat);
	CHECK_NEAR(s->body.stretch_limit, 0.1, 0);
	REQUIRE(s->pin_count == 2);
	CHECK_STR(s->pins[0].to, "body");
	CHECK_NEAR(s->pins[0].lower[1], 2, 0);
	CHECK_NEAR(s->pins[0].upper[2], 6, 0);
	CHECK_STR(s->pins[1].to, "");
	CHECK_INT(ball->body.kind, SIM_SOFT_DEFORMABLE);
	CHECK_NEAR(ball->body.density, 0.5, 0);
	CHECK_NEAR(ball->body.stiffness, 100, 0);
	CHECK_NEAR(ball->body.stretch_limit, 0, 0); // what keeps its volume has none, unless said
	CHECK_NEAR(lone->body.stretch_limit, 0.03, 0);
	CHECK_NEAR(ball->body.bending, 0.125, 0);
	CHECK_NEAR(ball->body.bulk, 50, 0);
	CHECK_NEAR(ball->body.shear, 20, 0);
	CHECK_NEAR(ball->body.velocity[2], 9, 0);
	CHECK_INT(ball->count[1], 3);
	CHECK_NEAR(ball->spacing[2], 3, 0);
	CHECK_NEAR(ball->degrees, 30, 0);
	CHECK_NEAR(ball->shift, 0.5, 0);
	CHECK_INT(ball->jitter_seed, 255);
	CHECK_INT(lone->form.count, 9);
	CHECK_INT(lone->form.seed, 4);
	CHECK_NEAR(lone->form.size[1], 2, 0);
	scene_destroy(&scene);
}

#define SHEET "\"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [2, 2]"

TEST(soft_scene, errors_name_file_line_and_field)
{
	check_error("{", "folder/x.json:1: not a JSON text: it ends too early");
	check_error("{\"deforming\": {\"list\": []}}", "folder/x.json:1: field \"deforming.list\": holds no bodies");
	check_error("{\"deforming\": {\n\"thicknes\": 1, \"list\": []}}",
		"folder/x.json:2: field \"deforming.thicknes\": unknown field; did you mean \"thickness\"?");
	check_error("{\"deforming\": {\"thickness\": 0, \"list\": [{" SHEET "}]}}",
		"folder/x.json:1: field \"deforming.thickness\": must be from 1e-06 to 1, not 0");
	check_error("{\"deforming\": {\"list\": [{}]}}",
		"folder/x.json:1: field \"deforming.list[0]\": needs one of \"form\" and \"mesh\"");
	check_error("{\"deforming\": {\"list\": [{\"form\": \"sheet\", \"size\": [1, 1]}]}}",
		"folder/x.json:1: field \"deforming.list[0].divisions\": is missing: a sheet needs it");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"radius\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0].radius\": does not belong to a sheet");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"folds\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0].folds\": does not belong to a sheet");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"seed\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0].seed\": does not belong to a sheet");
	check_error("{\"deforming\": {\"list\": [{\"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [2, 2.5]}]}}",
		"folder/x.json:1: field \"deforming.list[0].divisions\": must be whole numbers");
	check_error("{\"deforming\": {\"list\": [{\"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [1e300, 1]}]}}",
		"folder/x.json:1: field \"deforming.list[0].divisions[0]\": must be from 1 to 10000, not 1e+300");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"grid\": {\"count\": [1, 1, -1e300]}}]}}",
		"folder/x.json:1: field \"deforming.list[0].grid.count[2]\": must be from 1 to 10000, not -1e+300");
	check_error("{\"deforming\": {\"list\": [{\"form\": \"capsule\", \"radius\": 1, \"length\": 1, \"divisions\": [3, 3]}]}}",
		"folder/x.json:1: field \"deforming.list[0].length\": holds the round ends too: at least twice the radius");
#define ROPE "{\"deforming\": {\"list\": [{\"form\": \"rope\", \"radius\": 0.1, \"divisions\": [8, 8]"
	check_error(ROPE "}]}}", "folder/x.json:1: field \"deforming.list[0].points\": is missing: a rope needs it");
	check_error(ROPE ", \"points\": [0, 0, 0, 1]}]}}",
		"folder/x.json:1: field \"deforming.list[0].points\": must be three numbers for each of 2 to 10000 points");
	check_error(ROPE ", \"points\": [0, 0, 0, 1, 0, 0, 1, 0, 0]}]}}",
		"folder/x.json:1: field \"deforming.list[0].points\": points 1 and 2 are nearer than 1e-6 m");
	check_error(ROPE ", \"points\": [0, 0, 0, 1, 0, \"x\"]}]}}",
		"folder/x.json:1: field \"deforming.list[0].points[5]\": must be a number, not text");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"points\": [0, 0, 0, 1, 0, 0]}]}}",
		"folder/x.json:1: field \"deforming.list[0].points\": does not belong to a sheet");
	check_error("{\"meshes\": {\"bunny\": {\"shape\": \"lumpy\"}}, \"deforming\": {\"list\": [{\"mesh\": \"bnuny\"}]}}",
		"folder/x.json:1: field \"deforming.list[0].mesh\": there is no mesh \"bnuny\"; did you mean \"bunny\"?");
	check_error("{\"meshes\": {\"b\": {\"shape\": \"lumpy\"}}, \"deforming\": {\"list\": [{\"mesh\": \"b\", \"radius\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0].radius\": does not belong to a mesh");
	check_error("{\"meshes\": {\"h\": {\"height_field\": {\"hills\": {}}}}, \"deforming\": {\"list\": [{\"mesh\": \"h\"}]}}",
		"folder/x.json:1: field \"deforming.list[0].mesh\": a height field cannot be used here");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"keeps_volume\": true}]}}",
		"folder/x.json:1: field \"deforming.list[0].keeps_volume\": a sheet is not closed");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"bulk\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0].bulk\": needs \"keeps_volume\"");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"shear\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0].shear\": needs \"keeps_volume\"");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"rigid\": true, \"mass\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0].rigid\": a sheet is not closed");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"mass\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0].mass\": needs \"rigid\"");
	check_error("{\"deforming\": {\"list\": [{\"form\": \"sphere\", \"radius\": 1, \"divisions\": [8, 6], \"rigid\": true}]}}",
		"folder/x.json:1: field \"deforming.list[0].mass\": a rigid body needs one");
	check_error(
		"{\"deforming\": {\"list\": [{\"form\": \"sphere\", \"radius\": 1, \"divisions\": [8, 6], \"rigid\": true, \"mass\": 0}]}}",
		"folder/x.json:1: field \"deforming.list[0].mass\": must be from 1e-12 to 1e+12, not 0");
	check_error(
		"{\"deforming\": {\"list\": [{\"form\": \"sphere\", \"radius\": 1, \"divisions\": [8, 6], \"rigid\": true, \"mass\": 1, \"stiffness\": 5}]}}",
		"folder/x.json:1: field \"deforming.list[0].stiffness\": a rigid body has none");
	check_error(
		"{\"deforming\": {\"list\": [{\"form\": \"sphere\", \"radius\": 1, \"divisions\": [8, 6], \"rigid\": true, \"mass\": 1, \"pins\": []}]}}",
		"folder/x.json:1: field \"deforming.list[0].pins\": a rigid body has none");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"motion\": {}}]}}",
		"folder/x.json:1: field \"deforming.list[0].motion\": unknown field; did you mean \"position\"?");
	check_error("{\"deforming\": {\"movers\": [{" SHEET ", \"pins\": []}], \"list\": []}}",
		"folder/x.json:1: field \"deforming.movers[0].pins\": unknown field; did you mean \"points\"?");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"pins\": [{\"to\": \"hips\"}]}]}}",
		"folder/x.json:1: field \"deforming.list[0].pins[0].to\": there is no mover or obstacle \"hips\"");
	check_error("{\"deforming\": {\"movers\": [{" SHEET ", \"motion\": {\"spin\": {\"axis\": [0, 0, 0]}}}], \"list\": []}}",
		"folder/x.json:1: field \"deforming.movers[0].motion.spin.axis\": must not be zero");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"grid\": {\"count\": [1, 1.5, 1]}}]}}",
		"folder/x.json:1: field \"deforming.list[0].grid.count\": must be whole numbers");
	check_error("{\"deforming\": {\"list\": [{" SHEET ", \"grid\": {\"count\": [100, 100, 100]}}]}}",
		"folder/x.json:1: field \"deforming.list[0].grid.count\": makes more than 100000 bodies");
}

#define THINGS                                                                                                                                               \
	"\"meshes\": {\"m\": {\"shape\": \"lumpy\"}, \"h\": {\"height_field\": {\"hills\": {}}}}, \"bodies\": {\"planes\": [{\"name\": \"floor\"}], \"list\": [" \
	"{\"name\": \"stone\", \"mesh\": \"m\"}, {\"name\": \"hill\", \"mesh\": \"h\", \"kind\": \"static\"}, {\"name\": \"stone\", \"mesh\": \"m\"}], "         \
	"\"sources\": [{\"name\": \"late\", \"mesh\": \"m\", \"start\": 1}]}"

TEST(soft_scene, obstacles_are_rigid_bodies_by_name)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse("{\"deforming\": {\"obstacles\": [\"stone\"], \"list\": [{" SHEET "}]}, " THINGS "}", &scene, &error));
	REQUIRE(scene.deforming.obstacle_count == 2);
	CHECK_INT(scene.deforming.obstacles[0], 1);
	CHECK_INT(scene.deforming.obstacles[1], 3);
	CHECK(!scene.deforming.two_way);
	scene_destroy(&scene);
	REQUIRE(parse("{\"deforming\": {\"obstacles\": [\"stone\"], \"two_way\": true, \"list\": [{" SHEET "}]}, " THINGS "}",
		&scene, &error));
	CHECK(scene.deforming.two_way);
	scene_destroy(&scene);
	REQUIRE(parse("{\"deforming\": {\"obstacles\": \"all\", \"list\": [{" SHEET "}]}, " THINGS "}", &scene, &error));
	CHECK_INT(scene.deforming.obstacle_count, 4); // not the one of the source
	scene_destroy(&scene);
	check_error("{\"deforming\": {\n\"obstacles\": \"all\", \"list\": [{" SHEET "}]}}",
		"folder/x.json:2: field \"deforming.obstacles\": is \"all\", and no body of the section \"bodies\" can be one");
	check_error("{\"deforming\": {\n\"two_way\": true, \"list\": [{" SHEET "}]}, " THINGS "}",
		"folder/x.json:2: field \"deforming.two_way\": needs \"obstacles\": they are what is pushed back");
	static const struct {
		const char *names, *expected;
	} cases[] = {
		{ "\"rock\"", "[0]\": must be the name of bodies of the section \"bodies\"" },
		{ "3", "[0]\": must be the name of bodies of the section \"bodies\"" },
		{ "\"stonn\"", "[0]\": there are no bodies \"stonn\"; did you mean \"stone\"?" },
		{ "\"late\"", "[0]\": \"late\" is of a source: it must be there from the beginning" },
		{ "\"stone\", \"stone\"", "\": names \"stone\" twice" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[1000], expected[300];
		snprintf(
			text, sizeof text, "{\"deforming\": {\n\"obstacles\": [%s], \"list\": [{" SHEET "}]}, " THINGS "}", cases[i].names);
		snprintf(expected, sizeof expected, "folder/x.json:2: field \"deforming.obstacles%s", cases[i].expected);
		check_error(text, expected);
	}
}

static void check_start_error(const char *text, const char *expected)
{
	scene_description scene;
	sim_error error = { "" };
	carom_context *context = NULL;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	REQUIRE(parse(text, &scene, &error));
	CHECK(scene_start_deforming(context, &scene, &error) == NULL);
	CHECK_STR(error.text, expected);
	scene_destroy(&scene);
	carom_destroy_context(context);
}

TEST(soft_scene, errors_of_the_bodies_themselves)
{
	check_start_error("{\"deforming\": {\"list\": [{" SHEET "},\n{" SHEET ", \"pins\": [{\"lower\": [5, 5, 5]}]}]}}",
		"folder/x.json:2: field \"deforming.list[1]\": no vertex starts in the boxes of its pins");
	check_start_error(
		"{\"deforming\": {\"resolution\": 1000, \"list\": [{\"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [9, 9]}]}}",
		"folder/x.json:1: field \"deforming.list[0]\": has more than 10000000 triangles at this resolution");
	// 3.6e9 of them, then 1e12: more than an int32_t holds.
	check_start_error(
		"{\"deforming\": {\"resolution\": 1000, \"list\": [{\"form\": \"triangles\", \"count\": 3600, \"size\": [1, 1, 1], \"radius\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0]\": has more than 10000000 triangles at this resolution");
	check_start_error(
		"{\"deforming\": {\"resolution\": 1000, \"list\": [{\"form\": \"triangles\", \"count\": 1000000, \"size\": [1, 1, 1], \"radius\": 1}]}}",
		"folder/x.json:1: field \"deforming.list[0]\": has more than 10000000 triangles at this resolution");
	// Of copies it is said which: the one on the right of four and the one that lies in it.
	check_start_error("{\"deforming\": {\"list\": [{\"name\": \"rag\", " SHEET
					  ", \"grid\": {\"count\": [2, 1, 2], \"spacing\": [3, 3, 3]}},"
					  "{" SHEET ", \"position\": [3, 0, 0], \"rotation\": {\"axis\": [1, 0, 0.3], \"degrees\": 80}}]}}",
		"folder/x.json: triangle 0 of body \"rag[1]\" and triangle 0 of body \"cloth\" cross at the start");
	// 100,000 copies of 90,002 vertices.
	check_start_error(
		"{\"deforming\": {\"list\": [{" SHEET
		"},\n{\"form\": \"sphere\", \"radius\": 1, \"divisions\": [300, 300], \"grid\": {\"count\": [100, 100, 10]}}]}}",
		"folder/x.json:2: field \"deforming.list[1]\": all bodies up to this one have 9000200009 vertices; at most 178956970 are possible");
	check_start_error("{\"deforming\": {\"list\": [{" SHEET "}, {" SHEET ", \"position\": [0.1, 0.1, 0.2],"
					  " \"rotation\": {\"axis\": [1, 0, 0], \"degrees\": 80}}]}}",
		"folder/x.json: triangle 4 of body \"cloth\" and triangle 4 of body \"cloth\" cross at the start");
}

// ---- Forms ----

// Every edge has two triangles that run along it in opposite directions, or, where the form is open, one.
static void check_surface(const sim_form_mesh *mesh)
{
	int64_t border = 0;
	for (int32_t t = 0; t < mesh->triangle_count; t++)
		for (int i = 0; i < 3; i++) {
			const int32_t a = mesh->triangles[3 * t + i], b = mesh->triangles[3 * t + (i + 1) % 3];
			int same = 0, opposite = 0;
			for (int32_t u = 0; u < mesh->triangle_count; u++)
				for (int k = 0; k < 3; k++) {
					const int32_t c = mesh->triangles[3 * u + k], d = mesh->triangles[3 * u + (k + 1) % 3];
					same += c == a && d == b;
					opposite += c == b && d == a;
				}
			CHECK_INT(same, 1);
			CHECK(opposite <= 1);
			border += opposite == 0;
		}
	CHECK(mesh->closed == (border == 0));
}

static double volume_of(const sim_form_mesh *mesh)
{
	double six = 0;
	for (int32_t t = 0; t < mesh->triangle_count; t++) {
		const double *p[3];
		for (int i = 0; i < 3; i++)
			p[i] = mesh->places + 3 * (size_t)mesh->triangles[3 * t + i];
		six += p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) + p[0][1] * (p[1][2] * p[2][0] - p[1][0] * p[2][2]) +
			p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0]);
	}
	return six / 6;
}

TEST(soft_scene, forms_are_whole_surfaces_of_the_promised_size)
{
	static const double line[6] = { 0, 0, 0, 1, 2, 2 }; // 3 m
	const double pi = acos(-1);
	const struct {
		sim_form form;
		int64_t triangles, coarse; // at resolutions 1 and 0.25
		double volume;             // of the closed ones, when very fine
	} cases[] = {
		{ { .kind = SIM_FORM_SHEET, .size = { 2, 0, 1 }, .divisions = { 12, 8 } }, 192, 12, 0 },
		{ { .kind = SIM_FORM_SKIRT,
			  .radius = 0.2,
			  .hem_radius = 0.5,
			  .length = 1,
			  .folds = 3,
			  .fold_depth = 0.05,
			  .divisions = { 12, 8 } },
			192, 12, 0 },
		{ { .kind = SIM_FORM_SPHERE, .radius = 0.5, .divisions = { 12, 8 } }, 192, 12, pi / 6 },
		{ { .kind = SIM_FORM_CONE, .radius = 0.5, .length = 2, .divisions = { 12, 8 } }, 192, 12, pi / 6 },
		{ { .kind = SIM_FORM_CAPSULE, .radius = 0.5, .length = 2, .divisions = { 12, 8 } }, 192, 12, pi / 6 + pi / 4 },
		{ { .kind = SIM_FORM_BOWL, .radius = 0.5, .length = 0.3, .divisions = { 12, 8 } }, 180, 9, 0 },
		{ { .kind = SIM_FORM_ROPE, .radius = 0.5, .points = line, .point_count = 2, .divisions = { 12, 8 } }, 192, 12,
			pi * 0.25 * (3 + 0.5 / 3) }, // a blunt cone at each end
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sim_form_mesh mesh;
		CHECK_INT(sim_form_triangles(&cases[i].form, 1), cases[i].triangles);
		CHECK_INT(sim_form_triangles(&cases[i].form, 0.25), cases[i].coarse);
		REQUIRE(sim_make_form(&cases[i].form, 1, &mesh));
		CHECK_INT(mesh.triangle_count, cases[i].triangles);
		check_surface(&mesh);
		CHECK(mesh.closed == (cases[i].volume > 0));
		sim_free_form_mesh(&mesh);
		REQUIRE(sim_make_form(&cases[i].form, 0.25, &mesh));
		CHECK_INT(mesh.triangle_count, cases[i].coarse);
		check_surface(&mesh);
		sim_free_form_mesh(&mesh);
		if (cases[i].volume > 0) {
			REQUIRE(sim_make_form(&cases[i].form, 10, &mesh));
			CHECK_NEAR(volume_of(&mesh), cases[i].volume, 0.002);
			sim_free_form_mesh(&mesh);
		}
	}
}

// The curve goes through the points, and rings lie along it at even distances.
TEST(soft_scene, a_rope_follows_its_points)
{
	static const double points[12] = { 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1 };
	const sim_form form = { .kind = SIM_FORM_ROPE, .radius = 0.05, .points = points, .point_count = 4, .divisions = { 8, 200 } };
	sim_form_mesh mesh;
	REQUIRE(sim_make_form(&form, 1, &mesh));
	check_surface(&mesh);
	double nearest[4] = { 9, 9, 9, 9 }, before[3] = { 0 }, least = 9, most = 0;
	for (int ring = 0; ring < 200; ring++) {
		double middle[3] = { 0 }, way[3];
		for (int i = 0; i < 24; i++)
			middle[i % 3] += mesh.places[3 * (1 + 8 * ring) + i] / 8;
		for (int k = 0; k < 4; k++) {
			for (int axis = 0; axis < 3; axis++)
				way[axis] = middle[axis] - points[3 * k + axis];
			nearest[k] = fmin(nearest[k], sim_length3(way));
		}
		for (int axis = 0; axis < 3; axis++) {
			way[axis] = middle[axis] - before[axis];
			before[axis] = middle[axis];
		}
		least = ring > 0 ? fmin(least, sim_length3(way)) : least;
		most = ring > 0 ? fmax(most, sim_length3(way)) : most;
	}
	for (int k = 0; k < 4; k++)
		CHECK(nearest[k] < (k % 3 == 0 ? 1e-12 : 0.01));
	CHECK(least > 0.99 * most);
	sim_free_form_mesh(&mesh);
}

TEST(soft_scene, lone_triangles_keep_apart_in_their_box)
{
	const sim_form form = { .kind = SIM_FORM_TRIANGLES, .count = 500, .size = { 1, 2, 0.5 }, .radius = 0.05, .seed = 3 };
	sim_form_mesh mesh;
	CHECK_INT(sim_form_triangles(&form, 0.5), 125);
	CHECK_INT(sim_form_triangles(&form, 0.001), 1);
	CHECK_INT(sim_form_triangles(&form, 1000), 500000000);
	CHECK_INT(sim_form_triangles(&(sim_form){ .kind = SIM_FORM_TRIANGLES, .count = 1000000 }, 1000), 1000000000000);
	REQUIRE(sim_make_form(&form, 1, &mesh));
	CHECK_INT(mesh.triangle_count, 500);
	CHECK_INT(mesh.vertex_count, 1500);
	CHECK(!mesh.closed);
	double largest = 0;
	for (int32_t t = 0; t < mesh.triangle_count; t++) {
		const double *p = mesh.places + 9 * (size_t)t;
		for (int k = 0; k < 9; k++)
			CHECK(fabs(p[k]) <= 0.5 * form.size[k % 3]);
		largest =
			fmax(largest, sqrt((p[0] - p[3]) * (p[0] - p[3]) + (p[1] - p[4]) * (p[1] - p[4]) + (p[2] - p[5]) * (p[2] - p[5])));
	}
	CHECK(largest > 0.08 && largest <= 0.1);
	sim_free_form_mesh(&mesh);
}

// ---- Motion ----

TEST(soft_scene, motions_go_where_they_say)
{
	sim_soft_motion motion = { .start = { { 1, 2, 3 }, { 0, 0, 0, 1 } } };
	CHECK(sim_soft_rests(&motion));
	CHECK_NEAR(sim_soft_pose(&motion, 5).position.y, 2, 0);
	motion.velocity[0] = 2;
	motion.ramp = 1;
	CHECK(!sim_soft_rests(&motion));
	CHECK_NEAR(
		sim_soft_pose(&motion, 0.5).position.x, 1 + 2 * 0.125, 1e-15); // half the speed, so a quarter of the way on average
	CHECK_NEAR(sim_soft_pose(&motion, 2).position.x, 1 + 2 * 1.5, 1e-15);
	motion.ramp = 0;
	motion.from = 1;
	motion.until = 3;
	CHECK_NEAR(sim_soft_pose(&motion, 0.5).position.x, 1, 0);
	CHECK_NEAR(sim_soft_pose(&motion, 2).position.x, 1 + 2, 1e-15);
	CHECK_NEAR(sim_soft_pose(&motion, 9).position.x, 1 + 2 * 2, 1e-15);
	motion.from = motion.until = 0;
	motion.spin = acos(-1) / 2;
	motion.spin_axis[2] = 3;
	const carom_pose turned = sim_soft_pose(&motion, 1);
	const carom_vec3 p = carom_rotate(turned.orientation, (carom_vec3){ 1, 0, 0 });
	CHECK_NEAR(p.y, 1, 1e-15);
	motion.spin = 0;
	motion.swing = acos(-1) / 3;
	motion.swing_axis[1] = 1;
	motion.shift[2] = 4;
	motion.period = 2;
	const carom_pose swung = sim_soft_pose(&motion, 0.5);
	CHECK_NEAR(swung.position.z, 7, 1e-14);
	CHECK_NEAR(swung.orientation.y, 0.5, 1e-15);
	CHECK_NEAR(sim_soft_pose(&motion, 1).position.z, 3, 1e-14);
	CHECK_NEAR(sim_soft_pose(&motion, 1.5).position.z, -1, 1e-14);
}
