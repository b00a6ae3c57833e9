// Scene files: what is read, the defaults, and every error with its line and field.
#include "test.h"

#include "scene/scene.h"

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
	CHECK(scene.text == NULL && scene.rigid.bodies == NULL);
	scene_destroy(&scene);
}

static double length(carom_quat q) { return sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w); }

TEST(scene, defaults_of_the_smallest_scene)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse("{\"bodies\": {\"planes\": [{}]}}", &scene, &error));
	CHECK_STR(scene.name, "scene");
	CHECK_NEAR(scene.gravity.y, -9.81, 0);
	CHECK_NEAR(scene.time_step, 1.0 / 60, 0);
	CHECK_INT(scene.steps, 600);
	CHECK_INT(scene.rigid.substeps, 1);
	CHECK_INT(scene.rigid.max_substeps, 1);
	CHECK_INT(scene.rigid.detection.max_contacts_per_pair, 8);
	CHECK_INT(scene.rigid.max_contacts_per_body_pair, 0);
	CHECK(scene.rigid.lab.complete);
	CHECK(scene.rigid.lab.exit_distance_test);
	CHECK(!scene.camera.given);
	CHECK(!scene.output.contacts);
	REQUIRE(scene.rigid.body_count == 1);
	const scene_body *plane = &scene.rigid.bodies[0];
	CHECK_INT(plane->shape.type, CAROM_PLANE);
	CHECK_INT(plane->kind, CAROM_STATIC);
	// The plane's z axis points along its normal, up.
	const carom_vec3 z = carom_rotate(plane->pose.orientation, (carom_vec3){ 0, 0, 1 });
	CHECK_NEAR(z.x, 0, 1e-15);
	CHECK_NEAR(z.y, 1, 1e-15);
	CHECK_NEAR(z.z, 0, 1e-15);
	CHECK_NEAR(plane->friction, scene.rigid.solver.friction, 0);
	scene_destroy(&scene);
	scene_destroy(&scene);
}

TEST(scene, every_field)
{
	static const char text[] =
		"{\n"
		" \"name\": \"all\", \"description\": \"d\", \"gravity\": [1, 2, 3], \"time_step\": 0.01, \"steps\": 7,\n"
		" \"output\": {\"contacts\": true},\n"
		" \"meshes\": {\"a-1\": {\"shape\": \"torus\", \"triangles\": 600, \"seed\": 5, \"scale\": 2},\n"
		"  \"b_2\": {\"file\": \"m/x.obj\", \"scale\": [1, 2, 3], \"centre\": true},\n"
		"  \"c\": {\"file\": \"/m/y.obj\", \"fit\": [4, 5, 6]},\n"
		"  \"h\": {\"height_field\": {\"columns\": 3, \"rows\": 2, \"spacing\": [1, 2], \"thickness\": 4, \"heights\": [1, 2, 3, 4, 5, 6]}}}, \"bodies\": {\"substeps\": 3,\n"
		" \"max_substeps\": 9, \"substep_travel\": 0.5,\n"
		" \"solver\": {\"iterations\": 11, \"over_relaxation\": 1.5, \"error_reduction\": 0.25, \"softness\": 0.5, \"slop\": 0.125,\n"
		"  \"max_correcting_speed\": 9, \"friction\": 0.75, \"restitution\": 0.5, \"restitution_speed\": 2, \"linear_damping\": 0.1,\n"
		"  \"angular_damping\": 0.2, \"max_angular_speed\": 33, \"sleep\": {\"linear_speed\": 1, \"angular_speed\": 2, \"time\": 3}},\n"
		" \"detection\": {\"max_contacts_per_pair\": 5, \"max_contacts_per_body_pair\": 7, \"speculative_distance\": 0.5, \"match_distance\": 0.75,\n"
		"  \"broad_phase\": \"sweep\", \"temporal\": \"iterative\", \"contact_normal\": \"triangle\", \"internal_edge_angle\": 180,\n"
		"  \"lab\": {\"complete\": false, \"exit_distance_test\": false, \"brute_broad_phase\": true, \"ray_method\": \"binary\",\n"
		"   \"max_depth_ratio\": 3, \"lost_rays\": \"drop\", \"max_walk\": 77, \"displacement_threshold\": 0.25, \"distance_extension\": 0.125,\n"
		"   \"stages\": \"naive\", \"ray_buffers\": \"backtrack\", \"ray_predictor\": \"last\", \"buffer_confidence\": 1.5, \"worker_groups\": 16}},\n"
		" \"planes\": [{\"name\": \"p\", \"normal\": [0, 0, -2], \"offset\": 3, \"friction\": 1, \"restitution\": 1}],\n"
		" \"list\": [\n"
		"  {\"name\": \"s\", \"shape\": \"sphere\", \"radius\": 2, \"position\": [1, 2, 3], \"rotation\": {\"axis\": [0, 0, 5], \"degrees\": 90},\n"
		"   \"velocity\": [4, 5, 6], \"angular_velocity\": [7, 8, 9], \"density\": 10, \"friction\": 0.1, \"restitution\": 0.2,\n"
		"   \"category\": 2, \"mask\": \"0xfF00000000000001\", \"group\": -3},\n"
		"  {\"shape\": \"box\", \"half_extents\": [1, 2, 3], \"mass\": 5, \"orientation\": [0, 0, 0, -1]},\n"
		"  {\"shape\": \"capsule\", \"radius\": 1, \"half_length\": 2, \"kind\": \"kinematic\", \"velocity\": [1, 0, 0]},\n"
		"  {\"shape\": \"mesh\", \"mesh\": \"b_2\"}, {\"shape\": \"mesh\", \"mesh\": \"h\", \"kind\": \"static\"}, {\"shape\": \"plane\"}]},\n"
		" \"camera\": {\"position\": [1, 2, 3], \"target\": [0, 0, 0], \"up\": [0, 0, 1], \"field_of_view\": 50, \"width\": 320, \"height\": 200}\n"
		"}\n";
	scene_description scene;
	sim_error error;
	REQUIRE(parse(text, &scene, &error));
	CHECK_STR(scene.text, text);
	CHECK_INT(scene.steps, 7);
	CHECK_INT(scene.rigid.substeps, 3);
	CHECK_INT(scene.rigid.max_substeps, 9);
	CHECK_NEAR(scene.rigid.substep_travel, 0.5, 0);
	CHECK(scene.output.contacts);
	CHECK_NEAR(scene.gravity.z, 3, 0);
	const sim_solver_settings *solver = &scene.rigid.solver;
	CHECK_INT(solver->iterations, 11);
	CHECK_NEAR(solver->over_relaxation, 1.5, 0);
	CHECK_NEAR(solver->error_reduction, 0.25, 0);
	CHECK_NEAR(solver->softness, 0.5, 0);
	CHECK_NEAR(solver->slop, 0.125, 0);
	CHECK_NEAR(solver->max_correcting_speed, 9, 0);
	CHECK_NEAR(solver->restitution_speed, 2, 0);
	CHECK_NEAR(solver->linear_damping, 0.1, 0);
	CHECK_NEAR(solver->angular_damping, 0.2, 0);
	CHECK_NEAR(solver->max_angular_speed, 33, 0);
	CHECK(solver->sleep);
	CHECK_NEAR(solver->sleep_time, 3, 0);
	const carom_world_def *detection = &scene.rigid.detection;
	const carom_lab *lab = &scene.rigid.lab;
	CHECK_INT(detection->max_contacts_per_pair, 5);
	CHECK_INT(scene.rigid.max_contacts_per_body_pair, 7);
	CHECK(!lab->complete);
	CHECK(!lab->exit_distance_test);
	CHECK_NEAR(detection->speculative_distance, 0.5, 0);
	CHECK_NEAR(detection->match_distance, 0.75, 0);
	CHECK_INT(detection->broad_phase, CAROM_BROAD_SWEEP);
	CHECK(lab->brute_broad_phase);
	CHECK_INT(lab->ray_method, CAROM_RAYS_BINARY);
	CHECK_NEAR(lab->max_depth_ratio, 3, 0);
	CHECK_INT(detection->temporal, CAROM_TEMPORAL_ITERATIVE);
	CHECK_INT(lab->lost_rays, CAROM_LOST_DROP);
	CHECK_INT(lab->max_walk, 77);
	CHECK_NEAR(lab->displacement_threshold, 0.25, 0);
	CHECK_NEAR(lab->distance_extension, 0.125, 0);
	CHECK_INT(detection->contact_normal, CAROM_NORMAL_TRIANGLE);
	CHECK_NEAR(detection->internal_edge_angle, acos(-1), 0); // degrees in the file, radians in the library
	CHECK_INT(lab->stages, CAROM_STAGES_NAIVE);
	CHECK_INT(lab->ray_buffers, CAROM_BUFFERS_BACKTRACK);
	CHECK_INT(lab->ray_predictor, CAROM_PREDICTOR_LAST);
	CHECK_NEAR(lab->buffer_confidence, 1.5, 0);
	CHECK_INT(lab->worker_groups, 16);

	REQUIRE(scene.mesh_count == 4);
	CHECK_STR(scene.meshes[0].shape, "torus");
	CHECK_INT(scene.meshes[0].seed, 5);
	CHECK_NEAR(scene.meshes[0].scale[2], 2, 0);
	CHECK_STR(scene.meshes[1].file, "folder/m/x.obj");
	CHECK_NEAR(scene.meshes[1].scale[1], 2, 0);
	CHECK(scene.meshes[1].centre);
	CHECK_STR(scene.meshes[2].file, "/m/y.obj");
	CHECK_NEAR(scene.meshes[2].fit[2], 6, 0);
	CHECK_INT(scene.meshes[3].kind, SCENE_MESH_HEIGHT_FIELD);
	CHECK_NEAR(scene.meshes[3].heights[5], 6, 0);

	REQUIRE(scene.rigid.body_count == 7); // the plane comes first
	CHECK_NEAR(scene.rigid.bodies[0].pose.position.z, -3, 1e-15);
	CHECK_NEAR(scene.rigid.bodies[0].friction, 1, 0);
	const scene_body *sphere = &scene.rigid.bodies[1];
	CHECK_STR(sphere->name, "s");
	CHECK_STR(sphere->where, "bodies.list[0]");
	CHECK_INT(sphere->line, 19);
	CHECK_INT(sphere->first_step, 0);
	CHECK_NEAR(sphere->pose.orientation.z, sqrt(0.5), 1e-15);
	CHECK_NEAR(sphere->pose.orientation.w, sqrt(0.5), 1e-15);
	CHECK_NEAR(sphere->velocity.y, 5, 0);
	CHECK_NEAR(sphere->angular_velocity.z, 9, 0);
	CHECK_NEAR(sphere->density, 10, 0);
	CHECK(sphere->category == 2 && sphere->mask == UINT64_C(0xff00000000000001));
	CHECK_INT(sphere->group, -3);
	CHECK_NEAR(scene.rigid.bodies[2].mass, 5, 0);
	CHECK_NEAR(scene.rigid.bodies[2].friction, 0.75, 0); // the scene's
	CHECK_INT(scene.rigid.bodies[3].kind, CAROM_KINEMATIC);
	CHECK_NEAR(scene.rigid.bodies[3].shape.half_length, 2, 0);
	CHECK_INT(scene.rigid.bodies[4].shape.mesh, 1);
	CHECK_INT(scene.rigid.bodies[6].kind, CAROM_STATIC);
	CHECK(scene.camera.given);
	CHECK_INT(scene.camera.width, 320);
	scene_destroy(&scene);
}

TEST(scene, grid_is_unrolled)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse(
		"{\"meshes\": {\"a\": {\"shape\": \"box\"}, \"b\": {\"shape\": \"box\"}}, \"bodies\": {\"grids\": [{\"shape\": \"mesh\",\n"
		"\"mesh\": [\"a\", \"b\"], \"count\": [3, 2, 2], \"position\": [10, 20, 30], \"spacing\": [1, 2, 3],\n"
		"\"jitter\": {\"degrees\": 15, \"shift\": 0.25, \"seed\": 9}}]}}",
		&scene, &error));
	REQUIRE(scene.rigid.body_count == 12);
	double widest = 0;
	for (int i = 0; i < 12; i++) {
		const scene_body *body = &scene.rigid.bodies[i];
		CHECK_INT(body->shape.mesh, i % 2);
		CHECK_STR(body->where, "bodies.grids[0]");
		CHECK_NEAR(body->pose.position.x, 10 + i % 3, 0.25);
		CHECK_NEAR(body->pose.position.z, 30 + 3 * (i / 3 % 2), 0.25);
		CHECK_NEAR(body->pose.position.y, 20 + 2 * (i / 6), 0.25);
		CHECK_NEAR(length(body->pose.orientation), 1, 1e-15);
		const double degrees = 2 * acos(fabs(body->pose.orientation.w)) * 180 / acos(-1);
		CHECK(degrees <= 15 + 1e-9);
		widest = fmax(widest, degrees);
	}
	CHECK(widest > 5); // they do turn
	scene_description again;
	REQUIRE(scene_parse("x", scene.text, scene.text_size, &again, &error));
	CHECK(memcmp(&scene.rigid.bodies[11].pose, &again.rigid.bodies[11].pose, sizeof(carom_pose)) == 0);
	scene_destroy(&again);
	scene_destroy(&scene);
}

// What a scene does not say about the detection is what the library does by itself, bit for bit, but for two fields.
TEST(scene, detection_defaults_are_the_librarys)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse("{\"bodies\": {\"planes\": [{}], \"detection\": {}}}", &scene, &error));
	const carom_world_def expected = carom_default_world_def(), *d = &scene.rigid.detection;
	const carom_lab lab = carom_default_lab();
	CHECK_INT(d->temporal, expected.temporal);
	CHECK_NEAR(d->internal_edge_angle, expected.internal_edge_angle, 0);
	CHECK_INT(scene.rigid.lab.max_walk, lab.max_walk);
	CHECK_NEAR(scene.rigid.lab.buffer_confidence, lab.buffer_confidence, 0);
	CHECK_NEAR(scene.rigid.lab.max_depth_ratio, lab.max_depth_ratio, 0);
	CHECK(scene.rigid.lab.exit_distance_test);
	scene_destroy(&scene);
}

// A source on a circle: when each body is due, where, and which mesh it has.
TEST(scene, source_is_unrolled)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse(
		"{\"time_step\": 0.0625, \"meshes\": {\"a\": {\"shape\": \"box\"}, \"b\": {\"shape\": \"box\"}}, \"bodies\": {\"planes\": [{}],\n"
		"\"sources\": [{\"name\": \"s\", \"rate\": 4, \"count\": 8, \"start\": 0.5, \"mesh\": [\"a\", \"b\"], \"position\": [10, 20, 30],\n"
		"\"velocity\": [0, -1, 0], \"circle\": {\"radius\": 2, \"axis\": [0, 0, 3], \"turns_per_second\": 1, \"start_degrees\": 90},\n"
		"\"jitter\": {\"degrees\": 30, \"seed\": 4}}]}}",
		&scene, &error));
	REQUIRE(scene.rigid.body_count == 9);
	CHECK_INT(scene.rigid.bodies[0].first_step, 0);
	for (int i = 0; i < 8; i++) {
		const scene_body *body = &scene.rigid.bodies[i + 1];
		CHECK_INT(body->first_step, 8 + 4 * i);
		CHECK_INT(body->shape.mesh, i % 2);
		CHECK_STR(body->where, "bodies.sources[0]");
		CHECK_INT(body->line, 2);
		CHECK_NEAR(body->velocity.y, -1, 0);
		// At the quarters of the circle: 90 degrees, and half a turn in the half second before the first.
		static const int x[4] = { 0, 2, 0, -2 }, y[4] = { -2, 0, 2, 0 };
		CHECK_NEAR(body->pose.position.x, 10 + x[i % 4], 1e-14);
		CHECK_NEAR(body->pose.position.y, 20 + y[i % 4], 1e-14);
		CHECK_NEAR(body->pose.position.z, 30, 1e-14);
		CHECK_NEAR(length(body->pose.orientation), 1, 1e-15);
		CHECK(2 * acos(fabs(body->pose.orientation.w)) * 180 / acos(-1) <= 30 + 1e-9);
	}
	CHECK(scene.rigid.bodies[1].pose.orientation.w != scene.rigid.bodies[2].pose.orientation.w);
	scene_description again;
	REQUIRE(scene_parse("x", scene.text, scene.text_size, &again, &error));
	CHECK(memcmp(&scene.rigid.bodies[8].pose, &again.rigid.bodies[8].pose, sizeof(carom_pose)) == 0);
	scene_destroy(&again);
	scene_destroy(&scene);
}

// About the axis y the circle starts on x and turns towards -z, counter-clockwise seen from above.
TEST(scene, source_turns_about_its_axis)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse(
		"{\"bodies\": {\"sources\": [{\"shape\": \"sphere\", \"radius\": 1, \"rate\": 4, \"count\": 4, \"circle\": {\"radius\": 3, \"turns_per_second\": 1}}]}}",
		&scene, &error));
	REQUIRE(scene.rigid.body_count == 4);
	static const int x[4] = { 3, 0, -3, 0 }, z[4] = { 0, -3, 0, 3 };
	for (int i = 0; i < 4; i++) {
		CHECK_NEAR(scene.rigid.bodies[i].pose.position.x, x[i], 1e-14);
		CHECK_NEAR(scene.rigid.bodies[i].pose.position.y, 0, 1e-14);
		CHECK_NEAR(scene.rigid.bodies[i].pose.position.z, z[i], 1e-14);
	}
	scene_destroy(&scene);
}

// A body is due in the first step that does not begin before its time, and a tenth of a second is six sixtieths in spite of rounding.
// The bodies of several sources are one list in the order of their steps, those of one step in the order of the file.
TEST(scene, sources_are_merged_by_step)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse(
		"{\"bodies\": {\"sources\": [{\"name\": \"a\", \"shape\": \"sphere\", \"radius\": 1, \"rate\": 10, \"count\": 500},\n"
		"{\"name\": \"b\", \"shape\": \"sphere\", \"radius\": 1, \"rate\": 7, \"count\": 20, \"start\": 0.3}]}}",
		&scene, &error));
	REQUIRE(scene.rigid.body_count == 520);
	int a = 0, b = 0;
	for (int i = 0; i < 520; i++) {
		const scene_body *body = &scene.rigid.bodies[i];
		if (body->name[0] == 'a')
			CHECK_INT(body->first_step, 6 * a++);
		else
			CHECK_INT(body->first_step, (int)ceil(60 * (0.3 + b++ / 7.0) - 1e-6));
		CHECK(i == 0 || body->first_step >= body[-1].first_step);
		if (i > 0 && body->first_step == body[-1].first_step)
			CHECK(body[-1].name[0] == 'a' && body->name[0] == 'b');
	}
	CHECK_INT(a, 500);
	CHECK_INT(b, 20);
	scene_destroy(&scene);
}

// Random waves: within their height, hills and hollows, other ones for other seeds.
TEST(scene, irregular_hills)
{
	scene_description scenes[3];
	sim_error error;
	for (int i = 0; i < 3; i++) {
		char text[300];
		snprintf(text, sizeof text,
			"{\"bodies\": {\"planes\": [{}]}, \"meshes\": {\"h\": {\"height_field\": {\"columns\": 30, \"rows\": 20, \"hills\": {\"height\": 3, \"length\": 9, \"waves\": 8, \"seed\": %d}}}}}",
			i / 2 + 1);
		REQUIRE(parse(text, &scenes[i], &error));
	}
	const float *heights = scenes[0].meshes[0].heights;
	double lowest = 0, highest = 0, steepest = 0;
	for (int i = 0; i < 600; i++) {
		lowest = fmin(lowest, (double)heights[i]);
		highest = fmax(highest, (double)heights[i]);
		if (i % 30 > 0)
			steepest = fmax(steepest, fabs((double)heights[i] - (double)heights[i - 1]));
	}
	CHECK(lowest < -0.5 && lowest >= -3 && highest > 0.5 && highest <= 3);
	CHECK(steepest < 2 * acos(-1) * 3 / 9 * 4);
	CHECK(memcmp(heights, scenes[1].meshes[0].heights, 600 * sizeof *heights) == 0);
	CHECK(memcmp(heights, scenes[2].meshes[0].heights, 600 * sizeof *heights) != 0);
	for (int i = 0; i < 3; i++)
		scene_destroy(&scenes[i]);
}

TEST(scene, contacts_as_springs)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse("{\"bodies\": {\"planes\": [{}], \"solver\": {\"stiffness\": 1000, \"damping\": 30}}}", &scene, &error));
	CHECK_NEAR(scene.rigid.solver.stiffness, 1000, 0);
	CHECK_NEAR(scene.rigid.solver.damping, 30, 0);
	scene_destroy(&scene);
}

TEST(scene, rotation_matches_the_c_library)
{
	uint64_t state = 11;
	for (int i = 0; i < 200; i++) {
		const double degrees = test_random_double(&state, -3600, 3600);
		char text[200];
		sim_error error;
		snprintf(text, sizeof text,
			"{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1, \"rotation\": {\"axis\": [0, 3, 0], \"degrees\": %.17g}}]}}",
			degrees);
		scene_description scene;
		REQUIRE(parse(text, &scene, &error));
		const carom_quat q = scene.rigid.bodies[0].pose.orientation;
		const double half = degrees * acos(-1) / 360;
		CHECK_NEAR(q.y, sin(half), 1e-13);
		CHECK_NEAR(q.w, cos(half), 1e-13);
		scene_destroy(&scene);
	}
}

TEST(scene, errors_of_syntax)
{
	check_error("", "folder/x.json:1: not a JSON text: it ends too early");
	check_error("{ \"steps\": 3,\n }", "folder/x.json:2: not a JSON text: a comma before the closing }; take the comma away");
	check_error("{ \"gravity\": [0, 1, 2, ],\n }",
		"folder/x.json:1: not a JSON text: a comma before the closing ]; take the comma away");
	check_error("]", "folder/x.json:1: not a JSON text: unexpected ]");
	check_error("{\n \"steps\": 3,\n", "folder/x.json:3: not a JSON text: it ends too early");
	check_error("{\n \"steps\": 3\n \"name\": 1}", "folder/x.json:3: not a JSON text: unexpected \"name\": 1}");
	check_error("{} x", "folder/x.json:1: not a JSON text: unexpected x");
	check_error("[]", "folder/x.json:1: must be an object {...}, not an array");
	scene_description scene;
	sim_error error;
	CHECK(!scene_parse("z", "{\n\0}", 4, &scene, &error));
	CHECK_STR(error.text, "z:2: holds a byte 0: this is not a JSON text");
	CHECK(!scene_load("/nowhere/x.json", &scene, &error));
	CHECK_STR(error.text, "/nowhere/x.json: cannot be opened: No such file or directory");
}

TEST(scene, errors_of_fields)
{
	check_error("{\n\n \"stepps\": 3}", "folder/x.json:3: field \"stepps\": unknown field; did you mean \"steps\"?");
	check_error(
		"{\"bodies\": {\"solver\": {\n\"banana\": 3}}}", "folder/x.json:2: field \"bodies.solver.banana\": unknown field");
	check_error("{\"steps\": 1,\n\"steps\": 2}", "folder/x.json:1: field \"steps\": given twice");
	check_error("{\"steps\": 1.5}", "folder/x.json:1: field \"steps\": must be a whole number, not 1.5");
	check_error("{\"steps\": 0}", "folder/x.json:1: field \"steps\": must be from 1 to 1000000000, not 0");
	check_error("{\"steps\": \"9\"}", "folder/x.json:1: field \"steps\": must be a number, not text");
	check_error("{\"time_step\": 1e999}", "folder/x.json:1: field \"time_step\": is too large for a number");
	check_error("{\"gravity\": [1, 2]}", "folder/x.json:1: field \"gravity\": must be an array of 3 numbers");
	check_error("{\"gravity\": [1,\n2,\nnull]}", "folder/x.json:3: field \"gravity[2]\": must be a number, not null");
	check_error("{\"bodies\": {}, \"output\": {\"contacts\": 1}}",
		"folder/x.json:1: field \"output.contacts\": must be true or false, not a number");
	check_error("{\"name\": \"\"}", "folder/x.json:1: field \"name\": must not be empty");
	check_error("{\"bodies\": {\"detection\": {\"broad_phase\": \"grid\"}}}",
		"folder/x.json:1: field \"bodies.detection.broad_phase\": must be \"tree\" or \"sweep\"");
	check_error("{\"bodies\": {\"solver\": {\"stiffness\": 1, \"damping\": 1, \"softness\": 1}}}",
		"folder/x.json:1: field \"bodies.solver.softness\": cannot be given together with \"stiffness\"");
	check_error("{\"bodies\": {\"solver\": {\"damping\": 1}}}",
		"folder/x.json:1: field \"bodies.solver\": \"stiffness\" and \"damping\" must be given together");
	check_error("{\"bodies\": {\"detection\": {\n\"max_contacts_per_body_pair\": 257}}}",
		"folder/x.json:2: field \"bodies.detection.max_contacts_per_body_pair\": must be from 0 to 256, not 257");
	check_error("{\"bodies\": {\"detection\": {\"max_contacts_per_body_pair\": 2.5}}}",
		"folder/x.json:1: field \"bodies.detection.max_contacts_per_body_pair\": must be a whole number, not 2.5");
	check_error("{\"bodies\": {\"detection\": {\"max_contacts_per_bodypair\": 2}}}",
		"folder/x.json:1: field \"bodies.detection.max_contacts_per_bodypair\": unknown field; did you mean \"max_contacts_per_body_pair\"?");
	check_error("{\"bodies\": {\"max_substeps\": 4}}",
		"folder/x.json:1: field \"bodies\": \"max_substeps\" and \"substep_travel\" must be given together");
	check_error("{\"bodies\": {\"solver\": {\"max_correcting_speed\": 0}}}",
		"folder/x.json:1: field \"bodies.solver.max_correcting_speed\": must be above 0, not 0");
	check_error("{\"bodies\": {}}",
		"folder/x.json:1: field \"bodies\": holds no bodies: \"list\", \"grids\", \"sources\" or \"planes\" must hold some");
	check_error("{}", "folder/x.json:1: the scene is empty: it needs \"bodies\", \"deforming\" or \"spheres\"");
	check_error("{\"camera\": {\"position\": [0, 0, 0], \"target\": [0, 5, 0]}}",
		"folder/x.json:1: field \"camera\": \"target\" must differ from \"position\", and \"up\" must not lie along the line of sight");
	check_error("{\"bodies\": {\"planes\": [{},\n{\"normal\": [0, 0, 0]}]}}",
		"folder/x.json:2: field \"bodies.planes[1].normal\": must not be zero");
}

typedef struct wrong_field {
	const char *field, *expected;
} wrong_field;

static void check_wrong_fields(const wrong_field *cases, int count, const char *open, const char *close, const char *path)
{
	for (int i = 0; i < count; i++) {
		char text[240], expected[200];
		snprintf(text, sizeof text, "{\n\"bodies\": {\"detection\": {%s\n%s%s}}}", open, cases[i].field, close);
		snprintf(expected, sizeof expected, "folder/x.json:3: field \"bodies.detection.%s%s", path, cases[i].expected);
		check_error(text, expected);
	}
}

TEST(scene, errors_of_detection)
{
	static const wrong_field cases[] = {
		{ "\"temporal\": \"iterativ\"", "temporal\": must be \"none\", \"iterative\" or \"predictive\"" },
		{ "\"contact_normal\": \"face\"", "contact_normal\": must be \"ray\", \"triangle\" or \"patch\"" },
		{ "\"internal_edge_angle\": 181", "internal_edge_angle\": must be from 0 to 180, not 181" },
		{ "\"temporale\": true", "temporale\": unknown field; did you mean \"temporal\"?" },
	};
	check_wrong_fields(cases, sizeof cases / sizeof *cases, "", "", "");
}

TEST(scene, errors_of_the_lab)
{
	static const wrong_field cases[] = {
		{ "\"lost_rays\": \"keep\"", "lost_rays\": must be \"recast\" or \"drop\"" },
		{ "\"max_walk\": 0", "max_walk\": must be from 1 to 65536, not 0" },
		{ "\"displacement_threshold\": -1", "displacement_threshold\": must be from 0 to 1000000, not -1" },
		{ "\"distance_extension\": null", "distance_extension\": must be a number, not null" },
		{ "\"stages\": \"list\"", "stages\": must be \"lists\" or \"naive\"" },
		{ "\"ray_buffers\": \"none\"", "ray_buffers\": must be \"exact\", \"ignore\" or \"backtrack\"" },
		{ "\"ray_predictor\": 1", "ray_predictor\": must be \"pairs\" or \"last\"" },
		{ "\"buffer_confidence\": 0.5", "buffer_confidence\": must be from 1 to 1000000, not 0.5" },
		{ "\"worker_groups\": 17", "worker_groups\": must be from 0 to 16, not 17" },
		{ "\"max_depth_ratio\": 0.5", "max_depth_ratio\": must be 0 or from 1 to 1000000, not 0.5" },
		{ "\"distance_extension\": 0.1, \"displacement_threshold\": 0.2",
			"displacement_threshold\": must be at most \"distance_extension\" (0.1), not 0.2" },
		{ "\"temporal\": \"none\"", "temporal\": unknown field" },
	};
	check_wrong_fields(cases, sizeof cases / sizeof *cases, "\"lab\": {", "}", "lab.");
	scene_description scene; // without prediction nothing has to be seen ahead
	sim_error error;
	CHECK(parse("{\"bodies\": {\"planes\": [{}], \"detection\": {\"temporal\": \"iterative\",\n"
				"\"lab\": {\"distance_extension\": 0.1, \"displacement_threshold\": 0.2}}}}",
		&scene, &error));
	scene_destroy(&scene);
}

TEST(scene, errors_of_sources)
{
	check_error("{\"bodies\": {\"sources\": [\n{\"shape\": \"sphere\", \"radius\": 1, \"rate\": 0}]}}",
		"folder/x.json:2: field \"bodies.sources[0].rate\": must be from 1e-06 to 1000000, not 0");
	check_error("{\"bodies\": {\"sources\": [{\"shape\": \"sphere\", \"radius\": 1, \"count\": 0}]}}",
		"folder/x.json:1: field \"bodies.sources[0].count\": must be from 1 to 1000000, not 0");
	check_error("{\"bodies\": {\"planes\": [{}], \"sources\": [{\"shape\": \"sphere\", \"radius\": 1, \"count\": 1000000}]}}",
		"folder/x.json:1: field \"bodies.sources[0].count\": makes more than 1000000 bodies");
	check_error("{\"bodies\": {\"sources\": [{\"shape\": \"sphere\", \"radius\": 1,\n\"start\": -1}]}}",
		"folder/x.json:2: field \"bodies.sources[0].start\": must be from 0 to 1000000, not -1");
	check_error("{\"bodies\": {\"sources\": [{\"shape\": \"sphere\", \"radius\": 1, \"circle\": {\n\"axis\": [0, 0, 0]}}]}}",
		"folder/x.json:2: field \"bodies.sources[0].circle.axis\": must not be zero");
	check_error("{\"bodies\": {\"sources\": [{\"shape\": \"sphere\", \"radius\": 1, \"circle\": {\"turns\": 1}}]}}",
		"folder/x.json:1: field \"bodies.sources[0].circle.turns\": unknown field");
	check_error("{\"bodies\": {\"sources\": [{\"shape\": \"sphere\", \"radius\": 1, \"spacing\": [1, 1, 1]}]}}",
		"folder/x.json:1: field \"bodies.sources[0].spacing\": unknown field; did you mean \"opacity\"?");
	check_error("{\"bodies\": {\"sources\": [{\"mesh\": [\"x\"]}]}}",
		"folder/x.json:1: field \"bodies.sources[0].mesh[0]\": there is no mesh \"x\"; \"meshes\" must hold it");
	check_error("{\"bodies\": {\"sources\": [{\"shape\": \"plane\", \"kind\": \"dynamic\"}]}}",
		"folder/x.json:1: field \"bodies.sources[0].kind\": a plane must be \"static\" or \"kinematic\"");
}

TEST(scene, errors_of_meshes)
{
	check_error("{\"meshes\": {\"a/b\": {}}}",
		"folder/x.json:1: field \"meshes.a/b\": a mesh is named by 1 to 63 letters, digits, '_' and '-'");
	check_error("{\"meshes\": {\"a\": {}}}",
		"folder/x.json:1: field \"meshes.a\": needs one of \"shape\", \"file\" and \"height_field\"");
	check_error("{\"meshes\": {\"a\": {\"file\": \"f\"},\n \"a\": {\"file\": \"g\"}}}",
		"folder/x.json:2: field \"meshes.a\": given twice");
	check_error("{\"meshes\": {\"a\": {\"file\": \"x\", \"scale\": 1, \"fit\": [1, 1, 1]}}}",
		"folder/x.json:1: field \"meshes.a.fit\": cannot be given together with \"scale\"");
	check_error("{\"meshes\": {\"a\": {\"height_field\": {\"columns\": 2,\n\"rows\": 2}}}}",
		"folder/x.json:1: field \"meshes.a.height_field\": needs \"heights\" or \"hills\"");
	check_error("{\"meshes\": {\"a\": {\"height_field\": {\"hills\": {\"waves\": 65}}}}}",
		"folder/x.json:1: field \"meshes.a.height_field.hills.waves\": must be from 1 to 64, not 65");
	check_error("{\"meshes\": {\"a\": {\"height_field\": {\"hills\": {\n\"seed\": 2}}}}}",
		"folder/x.json:2: field \"meshes.a.height_field.hills.seed\": needs \"waves\": without them nothing is random");
	check_error("{\"meshes\": {\"a\": {\"height_field\": {\"heights\": [1,\n2, 3]}}}}",
		"folder/x.json:1: field \"meshes.a.height_field.heights\": must be an array of 4 numbers");
}

TEST(scene, null_heights_are_holes)
{
	scene_description scene;
	sim_error error;
	REQUIRE(parse(
		"{\"bodies\": {\"planes\": [{}]}, \"meshes\": {\"h\": {\"height_field\": {\"columns\": 3, \"heights\": [1, 2, 3, 4, 5, null]}}}}",
		&scene, &error));
	CHECK_NEAR(scene.meshes[0].heights[4], 5, 0);
	CHECK(isnan(scene.meshes[0].heights[5]));
	scene_destroy(&scene);
	check_error("{\"meshes\": {\"a\": {\"height_field\": {\"heights\": [1, null,\n2, \"x\"]}}}}",
		"folder/x.json:2: field \"meshes.a.height_field.heights[3]\": must be a number, not text");
}

TEST(scene, parts_of_bodies)
{
	scene_description scene;
	sim_error error = { "" };
	REQUIRE(parse(
		"{\"meshes\": {\"m\": {\"shape\": \"lumpy\"}}, \"bodies\": {\"list\": [\n"
		"{\"shape\": \"sphere\", \"radius\": 1},\n"
		"{\"density\": 300, \"parts\": [{\"shape\": \"box\", \"half_extents\": [1, 2, 3], \"rounding\": 0.5},\n"
		"{\"mesh\": \"m\", \"position\": [1, 2, 3], \"rotation\": {\"axis\": [0, 0, 1], \"degrees\": 90}, \"density\": 7}]}],\n"
		"\"grids\": [{\"count\": [3, 1, 1], \"parts\": [{\"shape\": \"capsule\", \"radius\": 2, \"half_length\": 4}]}],\n"
		"\"sources\": [{\"count\": 2, \"kind\": \"kinematic\", \"parts\": [{\"shape\": \"plane\"}]}]}}",
		&scene, &error));
	CHECK_STR(error.text, "");
	REQUIRE(scene.rigid.body_count == 7 && scene.rigid.part_count == 4);
	CHECK_INT(scene_shape_count(&scene.rigid.bodies[0]), 1);
	CHECK(scene_shape_of(&scene, &scene.rigid.bodies[0], 0) == &scene.rigid.bodies[0].shape);
	const scene_body *body = &scene.rigid.bodies[1];
	CHECK_INT(scene_shape_count(body), 2);
	CHECK_INT(body->first_part, 0);
	CHECK_INT(scene.rigid.parts[0].shape.type, CAROM_BOX);
	CHECK_NEAR(scene.rigid.parts[0].shape.half_extents[2], 3, 0);
	CHECK_NEAR(scene.rigid.parts[0].shape.rounding, 0.5, 0);
	CHECK_NEAR(scene.rigid.parts[0].density, 300, 0);
	CHECK_NEAR(scene.rigid.parts[0].pose.orientation.w, 1, 0);
	CHECK_INT(scene_shape_of(&scene, body, 1)->type, CAROM_MESH);
	CHECK_INT(scene.rigid.parts[1].shape.mesh, 0);
	CHECK_NEAR(scene.rigid.parts[1].pose.position.z, 3, 0);
	CHECK_NEAR(scene.rigid.parts[1].pose.orientation.z, sqrt(0.5), 1e-15);
	CHECK_NEAR(scene.rigid.parts[1].density, 7, 0);
	for (int i = 2; i < 5; i++) { // the bodies of a grid share their parts
		CHECK_INT(scene.rigid.bodies[i].first_part, 2);
		CHECK_INT(scene.rigid.bodies[i].part_count, 1);
	}
	CHECK_INT(scene.rigid.bodies[6].first_part, 3);
	CHECK_INT(scene.rigid.bodies[6].kind, CAROM_KINEMATIC);
	scene_destroy(&scene);
}

TEST(scene, errors_of_parts)
{
	check_error("{\"bodies\": {\"list\": [{\"parts\": []}]}}",
		"folder/x.json:1: field \"bodies.list[0].parts\": must hold 1 to 10000 parts");
	check_error("{\"bodies\": {\"list\": [{\"parts\": {}}]}}",
		"folder/x.json:1: field \"bodies.list[0].parts\": must be an array [...], not an object");
	check_error(
		"{\"bodies\": {\"list\": [{\"shape\": \"box\", \"half_extents\": [1, 1, 1],\n\"parts\": [{\"shape\": \"sphere\", \"radius\": 1}]}]}}",
		"folder/x.json:1: field \"bodies.list[0].shape\": cannot be given together with \"parts\"");
	check_error("{\"bodies\": {\"list\": [{\"radius\": 1, \"parts\": [{\"shape\": \"sphere\", \"radius\": 1}]}]}}",
		"folder/x.json:1: field \"bodies.list[0].radius\": cannot be given together with \"parts\"");
	check_error("{\"bodies\": {\"list\": [{\"parts\": [{\"shape\": \"sphere\", \"radius\": 1},\n{\"shape\": \"sphere\"}]}]}}",
		"folder/x.json:2: field \"bodies.list[0].parts[1].radius\": is missing: this shape needs it");
	check_error("{\"bodies\": {\"list\": [{\"parts\": [{\"mesh\": \"x\"}]}]}}",
		"folder/x.json:1: field \"bodies.list[0].parts[0].mesh\": there is no mesh \"x\"; \"meshes\" must hold it");
	check_error("{\"bodies\": {\"list\": [{\"parts\": [{\"shape\": \"sphere\", \"radius\": 1, \"mass\": 2}]}]}}",
		"folder/x.json:1: field \"bodies.list[0].parts[0].mass\": unknown field; did you mean \"mesh\"?");
	check_error("{\"bodies\": {\"list\": [{\"parts\": [{\"shape\": \"plane\"}]}]}}",
		"folder/x.json:1: field \"bodies.list[0].parts[0].shape\": a plane must be \"static\" or \"kinematic\"");
	check_error(
		"{\"bodies\": {\"list\": [{\"kind\": \"static\", \"parts\": [{\"shape\": \"sphere\", \"radius\": 1, \"density\": 2}]}]}}",
		"folder/x.json:1: field \"bodies.list[0].parts[0].density\": only dynamic bodies have a mass");
	check_error(
		"{\"meshes\": {\"h\": {\"height_field\": {\"hills\": {}}}}, \"bodies\": {\"grids\": [{\"parts\": [{\"shape\": \"hull\", \"mesh\": \"h\"}]}]}}",
		"folder/x.json:1: field \"bodies.grids[0].parts[0].mesh\": a height field has no hull");
	check_error(
		"{\"bodies\": {\"list\": [{\"parts\": [{\"shape\": \"sphere\", \"radius\": 1, \"orientation\": [0, 0, 0, 2]}]}]}}",
		"folder/x.json:1: field \"bodies.list[0].parts[0].orientation\": must be a unit quaternion x, y, z, w; its length is 2");
}

TEST(scene, errors_of_bodies)
{
	check_error(
		"{\"meshes\": {\"bunny\": {\"shape\": \"lumpy\"}},\n\"bodies\": {\"list\": [\n{\"shape\": \"mesh\",\n\"mesh\": \"bnuny\"}]}}",
		"folder/x.json:4: field \"bodies.list[0].mesh\": there is no mesh \"bnuny\"; did you mean \"bunny\"?");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"mesh\", \"mesh\": \"x\"}]}}",
		"folder/x.json:1: field \"bodies.list[0].mesh\": there is no mesh \"x\"; \"meshes\" must hold it");
	check_error("{\"bodies\": {\"list\": [\n{\"shape\": \"capsule\", \"radius\": 1}]}}",
		"folder/x.json:2: field \"bodies.list[0].half_length\": is missing: this shape needs it");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1,\n\"half_extents\": [1, 1, 1]}]}}",
		"folder/x.json:2: field \"bodies.list[0].half_extents\": does not belong to this shape");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"cone\", \"radius\": 1}]}}",
		"folder/x.json:1: field \"bodies.list[0].half_length\": is missing: this shape needs it");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"hull\"}]}}",
		"folder/x.json:1: field \"bodies.list[0].mesh\": is missing: this shape needs it");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1,\n\"rounding\": 1}]}}",
		"folder/x.json:2: field \"bodies.list[0].rounding\": does not belong to this shape");
	check_error(
		"{\"meshes\": {\"h\": {\"height_field\": {\"hills\": {}}}}, \"bodies\": {\"list\": [{\"shape\": \"hull\", \"mesh\": \"h\"}]}}",
		"folder/x.json:1: field \"bodies.list[0].mesh\": a height field has no hull");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"plane\", \"kind\": \"dynamic\"}]}}",
		"folder/x.json:1: field \"bodies.list[0].kind\": a plane must be \"static\" or \"kinematic\"");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1, \"kind\": \"static\", \"mass\": 1}]}}",
		"folder/x.json:1: field \"bodies.list[0].mass\": only dynamic bodies have a mass");
	check_error(
		"{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1, \"kind\": \"static\", \"velocity\": [1, 0, 0]}]}}",
		"folder/x.json:1: field \"bodies.list[0].velocity\": a static body does not move; \"kind\": \"kinematic\" does");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1, \"orientation\": [0, 0, 0, 0.5]}]}}",
		"folder/x.json:1: field \"bodies.list[0].orientation\": must be a unit quaternion x, y, z, w; its length is 0.5");
	check_error("{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1, \"mask\": \"12\"}]}}",
		"folder/x.json:1: field \"bodies.list[0].mask\": must be a whole number or text such as \"0xff00\"");
	check_error(
		"{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1}, {\"shape\": \"sphere\", \"radius\": 1, \"mass\": 1, \"density\": 1}]}}",
		"folder/x.json:1: field \"bodies.list[1].mass\": cannot be given together with \"density\"");
	check_error("{\"bodies\": {\"grids\": [{\"shape\": \"sphere\", \"radius\": 1, \"count\": [1000, 1000, 2]}]}}",
		"folder/x.json:1: field \"bodies.grids[0].count\": makes more than 1000000 bodies");
	check_error("{\"bodies\": {\"grids\": [{\"shape\": \"sphere\", \"radius\": 1, \"kind\": \"static\",\n\"mass\": 1}]}}",
		"folder/x.json:2: field \"bodies.grids[0].mass\": only dynamic bodies have a mass");
	check_error("{\"bodies\": {\"grids\": [{\"shape\": \"sphere\", \"radius\": 1, \"count\": [1.5, 1, 1]}]}}",
		"folder/x.json:1: field \"bodies.grids[0].count\": must be three whole numbers");
}

// Whatever is cut out of a good text, or changed in it: an error or a scene, no crash.
TEST(scene, damaged_texts_are_survived)
{
	static const char good[] =
		"{\"name\": \"x\", \"meshes\": {\"m\": {\"shape\": \"box\", \"fit\": [1, 2, 3]}}, \"bodies\": {\"solver\": {\"sleep\": {\"time\": 1}},"
		"\"planes\": [{\"normal\": [0, 1, 0]}], \"grids\": [{\"shape\": \"mesh\", \"mesh\": [\"m\"], \"count\": [2, 1, 2]}],"
		"\"sources\": [{\"mesh\": \"m\", \"rate\": 2, \"count\": 3, \"circle\": {\"radius\": 1}}]}}";
	uint64_t state = 5;
	int refused = 0;
	for (int i = 0; i < 3000; i++) {
		char text[sizeof good];
		memcpy(text, good, sizeof good);
		size_t size = sizeof good - 1;
		for (uint64_t k = 0; k <= test_random(&state) % 3; k++)
			text[test_random(&state) % size] = "{}[]\",:0a-\\ \n"[test_random(&state) % 13];
		if (test_random(&state) % 4 == 0)
			size = test_random(&state) % size;
		scene_description scene;
		sim_error error = { "" };
		const bool done = scene_parse("f", text, size, &scene, &error);
		CHECK(done == (error.text[0] == 0));
		refused += !done;
		scene_destroy(&scene);
	}
	CHECK(refused > 1000);
}

TEST(scene, mesh_is_scaled_to_fit_and_centred)
{
	scene_description scene;
	sim_mesh mesh;
	sim_error error;
	REQUIRE(parse(
		"{\"bodies\": {\"planes\": [{}]}, \"meshes\": {\"m\": {\"shape\": \"torus\", \"triangles\": 600, \"fit\": [3, 2, 1], \"centre\": true}}}",
		&scene, &error));
	REQUIRE(scene_build_mesh(&scene, 0, &mesh, &error));
	const double box[3] = { 3, 2, 1 };
	int touching = 0;
	for (int k = 0; k < 3; k++) {
		double lower = INFINITY, upper = -INFINITY;
		for (int32_t i = k; i < 3 * mesh.vertex_count; i += 3) {
			lower = fmin(lower, (double)mesh.vertices[i]);
			upper = fmax(upper, (double)mesh.vertices[i]);
		}
		CHECK_NEAR(lower + upper, 0, 1e-6);
		CHECK(upper - lower <= box[k] + 1e-6);
		touching += upper - lower > box[k] - 1e-6;
	}
	CHECK(touching >= 1);
	sim_mesh_free(&mesh);
	scene_destroy(&scene);
}

TEST(scene, mesh_is_replaced_by_a_file)
{
	scene_description scene;
	sim_mesh mesh;
	sim_error error;
	REQUIRE(parse("{\"bodies\": {\"planes\": [{}]}, \"meshes\": {\"m\": {\"shape\": \"box\"}, \"n\": {\"shape\": \"box\"}}}",
		&scene, &error));
	CHECK(!scene_replace_mesh(&scene, "m", &error));
	CHECK_STR(error.text, "\"m\": must be NAME=FILE");
	CHECK(!scene_replace_mesh(&scene, "q=x", &error));
	CHECK_STR(error.text, "folder/x.json: has no mesh \"q\"; it has: m, n");
	REQUIRE(scene_replace_mesh(&scene, "n=/nowhere/a=b.obj", &error));
	CHECK_STR(scene.meshes[1].file, "/nowhere/a=b.obj");
	CHECK(!scene_build_mesh(&scene, 1, &mesh, &error));
	CHECK_STR(error.text, "folder/x.json: field \"meshes.n\": /nowhere/a=b.obj: cannot be opened: No such file or directory");
	scene_destroy(&scene);
}

// CAROM_SCENES names the repository's scenes folder; the build sets it.
TEST(scene, shipped_scenes_are_valid)
{
	static const struct {
		const char *name;
		int bodies;
	} scenes[] = { { "avalanche", 513 }, { "pile27", 28 }, { "pile216", 217 }, { "mixed", 178 }, { "fountain", 501 },
		{ "terrain1000", 1001 }, { "convex", 120 } };
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		char path[500];
		sim_error error = { "" };
		snprintf(path, sizeof path, "%s/%s.json", CAROM_SCENES, scenes[i].name);
		scene_description scene;
		CHECK(scene_load(path, &scene, &error));
		CHECK_STR(error.text, "");
		CHECK_STR(scene.name, scenes[i].name);
		CHECK_INT(scene.rigid.body_count, scenes[i].bodies);
		for (int32_t k = 0; k < scene.mesh_count; k++) {
			sim_mesh mesh;
			if (scene.meshes[k].kind == SCENE_MESH_HEIGHT_FIELD)
				continue;
			CHECK(scene_build_mesh(&scene, k, &mesh, &error));
			CHECK_STR(error.text, "");
			sim_mesh_free(&mesh);
		}
		scene_destroy(&scene);
	}
}

// The sizes that the papers name, as meshes that were made, in equal numbers; the fountain takes 50 s.
TEST(scene, scenes_of_the_papers_have_their_sizes)
{
	static const struct {
		const char *name;
		int each, sizes[4];
		int64_t last_step;
	} scenes[] = {
		{ "fountain", 125, { 902, 2130, 3456, 3458 }, 2994 },
		{ "terrain1000", 250, { 902, 2130, 3264, 3458 }, 0 },
		{ "pile216", 216, { 902 }, 0 },
	};
	for (int i = 0; i < 3; i++) {
		char path[500];
		sim_error error = { "" };
		snprintf(path, sizeof path, "%s/%s.json", CAROM_SCENES, scenes[i].name);
		scene_description scene;
		REQUIRE(scene_load(path, &scene, &error));
		CHECK_NEAR(scene.time_step, 1.0 / 60, 1e-15);
		CHECK_INT(scene.rigid.bodies[scene.rigid.body_count - 1].first_step, scenes[i].last_step);
		CHECK(scene.steps > scenes[i].last_step);
		int found[4] = { 0 };
		for (int32_t k = 0; k < scene.mesh_count; k++) {
			sim_mesh mesh;
			if (scene.meshes[k].kind == SCENE_MESH_HEIGHT_FIELD)
				continue;
			REQUIRE(scene_build_mesh(&scene, k, &mesh, &error));
			for (int size = 0; size < 4; size++)
				for (int32_t b = 0; b < scene.rigid.body_count && mesh.triangle_count == scenes[i].sizes[size]; b++)
					found[size] += scene.rigid.bodies[b].shape.mesh == k;
			sim_mesh_free(&mesh);
		}
		for (int size = 0; size < 4; size++)
			CHECK_INT(found[size], scenes[i].sizes[size] > 0 ? scenes[i].each : 0);
		scene_destroy(&scene);
	}
}

// ---- Sections ----

static const char all_sections[] =
	"{\"time_step\": 0.01, \"gravity\": [1, 2, 3], \"meshes\": {\"m\": {\"shape\": \"lumpy\"}},\n"
	" \"bodies\": {\"substeps\": 2, \"planes\": [{}], \"list\": [{\"mesh\": \"m\"}]},\n"
	" \"deforming\": {\"substeps\": 4, \"list\": [{\"mesh\": \"m\", \"position\": [0, 5, 0]}]},\n"
	" \"spheres\": {\"substeps\": 10, \"list\": [{\"mesh\": \"m\", \"radius\": 0.1}]},\n"
	" \"output\": {\"contacts\": true, \"frames\": 3, \"snapshots\": 4, \"energy\": 5}, \"picture\": {\"color\": \"speed\", \"ground\": false}}";

TEST(scene, sections_share_gravity_clock_and_meshes)
{
	scene_description scene;
	sim_error error = { "" };
	const bool parsed = parse(all_sections, &scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(parsed);
	CHECK(scene.has_bodies && scene.has_deforming && scene.has_spheres);
	CHECK_INT(scene.rigid.body_count, 2);
	CHECK_INT(scene.rigid.bodies[1].shape.mesh, 0);
	CHECK_INT(scene.deforming.sources[0].mesh, 0);
	CHECK_INT(scene.spheres.sources[0].mesh, 0);
	CHECK_NEAR(scene.deforming.def.time_step, 0.0025, 1e-18);
	CHECK_NEAR(scene.spheres.def.time_step, 0.001, 1e-18);
	CHECK_NEAR(scene.deforming.def.gravity[1], 2, 0);
	CHECK_NEAR(scene.spheres.def.gravity[2], 3, 0);
	CHECK_INT(scene.rigid.substeps, 2);
	CHECK(scene.output.contacts);
	CHECK_INT(scene.output.frames, 3);
	CHECK_INT(scene.output.snapshots, 4);
	CHECK_INT(scene.output.energy, 5);
	CHECK_INT(scene.picture.color, SIM_COLOR_SPEED);
	CHECK(!scene.picture.ground);
	scene_destroy(&scene);
	REQUIRE(parse("{\"bodies\": {\"planes\": [{}]}}", &scene, &error));
	CHECK(scene.has_bodies && !scene.has_deforming && !scene.has_spheres);
	scene_destroy(&scene);
}

// What belongs to a section that is not there, or to scenes of another kind.
TEST(scene, errors_of_sections)
{
	check_error("{\"bodies\": {\"planes\": [{}]},\n\"output\": {\"frames\": 1}}",
		"folder/x.json:2: field \"output.frames\": is for \"deforming\", which this scene does not have");
	check_error("{\"bodies\": {\"planes\": [{}]}, \"output\": {\"energy\": 1}}",
		"folder/x.json:1: field \"output.energy\": is for \"spheres\", which this scene does not have");
	check_error("{\"bodies\": {\"planes\": [{}]}, \"picture\": {\"box\": true}}",
		"folder/x.json:1: field \"picture.box\": is for \"spheres\", which this scene does not have");
	check_error("{\"bodies\": {\"planes\": [{}]}, \"picture\": {\"ground\": true}}",
		"folder/x.json:1: field \"picture.ground\": is for \"deforming\", which this scene does not have");
	check_error("{\"bodies\": {\"planes\": [{}]},\n\"gravity\": {\"degrees_per_second\": 1}}",
		"folder/x.json:2: field \"gravity.degrees_per_second\": is for scenes of spheres alone so far");
	check_error("{\"bodies\": 1}", "folder/x.json:1: field \"bodies\": must be an object {...}, not a number");
	check_error(
		"{\"spheres\": {\"lists\": []}}", "folder/x.json:1: field \"spheres.lists\": unknown field; did you mean \"list\"?");
	check_error(
		"{\"spheres\": {\"substeps\": 0}}", "folder/x.json:1: field \"spheres.substeps\": must be from 1 to 1000000, not 0");
	check_error(
		"{\"time_step\": 1e-7, \"deforming\": {}}", "folder/x.json:1: field \"time_step\": must be from 1e-06 to 1, not 1e-07");
	check_error(
		"{\"time_step\": 1e-10, \"bodies\": {}}", "folder/x.json:1: field \"time_step\": must be from 1e-09 to 1, not 1e-10");
}

// Files of the three kinds that there were say what to write instead.
TEST(scene, errors_of_the_form_before_the_sections)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "\"planes\": [{}]", "planes\": belongs into \"bodies\"" },
		{ "\"bodies\": []", "bodies\": is an object now, and this array its \"list\"" },
		{ "\"spheres\": [], \"steps\": 3", "spheres\": is an object now, and this array its \"list\"" },
		{ "\"cloth\": []", "cloth\": is \"list\" in \"deforming\" now" },
		{ "\"rigid\": []", "rigid\": is \"movers\" in \"deforming\" now" },
		{ "\"record_contacts\": true", "record_contacts\": is \"contacts\" in \"output\" now" },
		{ "\"solver\": {}", "solver\": belongs into \"bodies\" or \"deforming\"" },
		{ "\"detection\": {}", "detection\": belongs into \"bodies\" or \"spheres\"" },
		{ "\"material\": {}", "material\": belongs into \"spheres\"" },
		{ "\"thickness\": 1", "thickness\": belongs into \"deforming\"" },
		{ "\"substeps\": 1", "substeps\": belongs into \"bodies\"" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[200], expected[200];
		snprintf(text, sizeof text, "{\n%s}", cases[i].text);
		snprintf(expected, sizeof expected, "folder/x.json:2: field \"%s (docs/scenes.md)", cases[i].expected);
		check_error(text, expected);
	}
}

// Recordings hold the text of their scene. Those from before the sections still give camera and detection.
TEST(scene, recorded_scenes_of_both_forms)
{
	static const char old[] =
		"{\"planes\": [{}], \"bodies\": [], \"detection\": {\"temporal\": \"iterative\", \"max_contacts_per_pair\": 3, \"max_walk\": 5},\n"
		"\"camera\": {\"position\": [1, 2, 3], \"target\": [0, 0, 0]}}";
	static const char now[] =
		"{\"bodies\": {\"planes\": [{}], \"detection\": {\"max_contacts_per_pair\": 3, \"max_contacts_per_body_pair\": 4}},\n"
		"\"camera\": {\"position\": [1, 2, 3], \"target\": [0, 0, 0]}}";
	static const char *const texts[] = { old, now };
	for (int i = 0; i < 2; i++) {
		scene_description scene;
		sim_error error = { "" };
		REQUIRE(scene_parse_recorded("r.h5", texts[i], strlen(texts[i]), &scene, &error));
		CHECK_STR(error.text, "");
		CHECK(scene.camera.given);
		CHECK_NEAR(scene.camera.position.z, 3, 0);
		CHECK_INT(scene.rigid.detection.max_contacts_per_pair, 3);
		CHECK_INT(scene.rigid.max_contacts_per_body_pair, i == 0 ? 0 : 4);
		CHECK(scene.rigid.lab.exit_distance_test);
		CHECK_INT(scene.rigid.lab.max_walk, i == 0 ? 5 : 32);
		CHECK_INT(scene.rigid.detection.temporal, CAROM_TEMPORAL_PREDICTIVE);
		scene_destroy(&scene);
	}
	static const char wrong[] = "{\"detection\": {\n\"max_contacts_per_pair\": -3}}";
	scene_description scene;
	sim_error error;
	CHECK(!scene_parse_recorded("r.h5", wrong, strlen(wrong), &scene, &error));
	CHECK_STR(error.text, "r.h5:2: field \"detection.max_contacts_per_pair\": must be from 0 to 256, not -3");
	CHECK(scene.text == NULL);
}
