/// What moves as told pushes rigid bodies at the speed that it has where they touch: lifts, pushers, hammers, rollers, surfaces that
/// change their form.
#include "test.h"

#include "scene/scene_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct pushing_run {
	scene_description scene;
	scene_run run;
} pushing_run;

/// The run keeps pointing at the scene in *r.
static void start_file(pushing_run *r, const char *path)
{
	sim_error error = { "" };
	const bool loaded = scene_load(path, &r->scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
	r->run = (scene_run){ .scene = &r->scene };
	REQUIRE(carom_create_context(NULL, &r->run.context) == CAROM_SUCCESS);
	const bool made = scene_run_add_all(&r->run, NULL, NULL, &error);
	CHECK_STR(error.text, "");
	REQUIRE(made);
}

static void end(pushing_run *r)
{
	carom_context *context = r->run.context;
	scene_run_end(&r->run);
	carom_destroy_context(context);
	scene_destroy(&r->scene);
}

static int32_t body_named(const pushing_run *r, const char *name)
{
	for (int32_t i = 0; i < r->scene.rigid.body_count; i++) {
		if (strcmp(r->scene.rigid.bodies[i].name, name) == 0)
			return i;
	}
	REQUIRE(false);
	return -1;
}

static carom_vec3 place_of(const pushing_run *r, const char *name)
{
	return scene_simulation_poses(r->run.simulation)[body_named(r, name)].position;
}

static carom_vec3 velocity_of(const pushing_run *r, const char *name)
{
	return scene_simulation_velocity(r->run.simulation, body_named(r, name));
}

static void go_on(pushing_run *r, int steps)
{
	sim_error error = { "" };
	for (int i = 0; i < steps; i++) {
		const bool done = scene_run_step_all(&r->run, NULL, &error);
		CHECK_STR(error.text, "");
		REQUIRE(done);
	}
}

// Three crates stay on the lift: they rise by 1.2 m with it, and go 0.8 m aside. The pusher and its crate have one speed. The hammer's
// head hits the ball at 3.8 m/s. The plank goes at the speed of the rollers' surface, radius times spin.
TEST(pushing_movers, lift_carries_and_pusher_shoves)
{
	pushing_run r;
	char path[500];
	snprintf(path, sizeof path, "%s/lift.json", CAROM_SCENES);
	start_file(&r, path);
	const double surface = 0.1 * acos(-1.0);
	go_on(&r, 60);
	CHECK_NEAR(velocity_of(&r, "plank").x, surface, 0.01);
	go_on(&r, 60);
	CHECK_NEAR(velocity_of(&r, "shoved").x, 0.5, 0.01);
	CHECK(velocity_of(&r, "ball").x > 2);
	go_on(&r, 118);
	const char *crates[] = { "crate_low", "crate_high", "crate_beside" };
	const double x[] = { -2.35 + 0.8, -2.35 + 0.8, -1.95 + 0.8 }, y[] = { 1.45, 1.72, 1.43 };
	for (int i = 0; i < 3; i++) {
		printf("%s at %.3f %.3f\n", crates[i], place_of(&r, crates[i]).x, place_of(&r, crates[i]).y);
		CHECK_NEAR(place_of(&r, crates[i]).x, x[i], 0.02);
		CHECK_NEAR(place_of(&r, crates[i]).y, y[i], 0.01);
	}
	CHECK_NEAR(velocity_of(&r, "shoved").x, 0.5, 0.01);
	CHECK_NEAR(place_of(&r, "shoved").x, 1.39 + 0.05 + 0.15, 0.01);
	CHECK_INT(scene_summarise(r.run.simulation).bodies_above_ground, 6);
	end(&r);
}

// ---- A surface that changes its form ----

enum { COLUMNS = 8 };

/// A slab of 2 by 2 metres whose top is at a height, as a PLY file.
static void write_slab(const char *path, double height)
{
	FILE *file = fopen(path, "w");
	REQUIRE(file != NULL);
	const int row = COLUMNS + 1, top = row * row;
	fprintf(file, "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n", 2 * top);
	fprintf(file, "element face %d\nproperty list uchar int vertex_indices\nend_header\n", 4 * COLUMNS * COLUMNS + 8 * COLUMNS);
	for (int i = 0; i < 2 * top; i++)
		fprintf(file, "%.9g %.9g %.9g\n", 2.0 * (i % row) / COLUMNS - 1, i < top ? -0.2 : height,
			1 - 2.0 * (i % top / row) / COLUMNS);
	for (int j = 0; j < COLUMNS; j++) {
		for (int i = 0; i < COLUMNS; i++) {
			const int a = j * row + i, b = a + 1, c = b + row, d = a + row;
			fprintf(file, "3 %d %d %d\n3 %d %d %d\n", a, c, b, a, d, c);
			fprintf(file, "3 %d %d %d\n3 %d %d %d\n", top + a, top + b, top + c, top + a, top + c, top + d);
		}
	}
	for (int i = 0; i < COLUMNS; i++) {
		const int ends[4][2] = { { i, i + 1 }, { COLUMNS * row + i + 1, COLUMNS * row + i }, { (i + 1) * row, i * row },
			{ i * row + COLUMNS, (i + 1) * row + COLUMNS } };
		for (int k = 0; k < 4; k++) {
			const int a = ends[k][0], b = ends[k][1];
			fprintf(file, "3 %d %d %d\n3 %d %d %d\n", a, b, top + b, a, top + b, top + a);
		}
	}
	REQUIRE(fclose(file) == 0);
}

static void write_scene(const char *path, const char *folder)
{
	FILE *file = fopen(path, "w");
	REQUIRE(file != NULL);
	fprintf(file,
		"{ \"steps\": 200, \"bodies\": { \"list\": ["
		"{ \"name\": \"box\", \"shape\": \"box\", \"half_extents\": [0.2, 0.2, 0.2], \"position\": [0.3, 0.2, 0.1] },"
		"{ \"name\": \"ball\", \"shape\": \"sphere\", \"radius\": 0.2, \"position\": [-0.4, 0.2, -0.3] },"
		"{ \"name\": \"ring\", \"mesh\": \"ring\", \"position\": [0.4, 0.11, -0.5], \"rotation\": { \"axis\": [1, 0, 0], \"degrees\": 90 } } ] },"
		"\"meshes\": { \"ring\": { \"shape\": \"torus\", \"triangles\": 300, \"fit\": [0.6, 0.6, 0.2], \"centre\": true } },"
		"\"deforming\": { \"movers\": [ { \"pushes_bodies\": true, \"friction\": 0.8, \"animation\": { \"files\": \"%s/slab_%%d.ply\", "
		"\"count\": 3, \"per_second\": 1, \"start\": 0.5 }, \"keys\": { \"between\": \"linear\", \"list\": ["
		"{ \"time\": 0.5, \"position\": [0, 0, 0] }, { \"time\": 2.5, \"position\": [0.6, 0, 0] } ] } } ],"
		"\"list\": [ { \"form\": \"sheet\", \"size\": [0.2, 0.2], \"divisions\": [2, 2], \"position\": [0, 1.5, 0.7] } ] } }",
		folder);
	REQUIRE(fclose(file) == 0);
}

// The top rises by 0.4 m/s, then by 0.2, while all goes aside by 0.3 m/s: bodies upon it have that velocity, and stay on it.
TEST(pushing_movers, form_that_changes_carries_bodies)
{
	pushing_run r;
	char folder[] = "/tmp/carom_pushing_XXXXXX", path[600];
	const double heights[3] = { 0, 0.4, 0.6 };
	REQUIRE(mkdtemp(folder) != NULL);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/slab_%d.ply", folder, i);
		write_slab(path, heights[i]);
	}
	snprintf(path, sizeof path, "%s/scene.json", folder);
	write_scene(path, folder);
	start_file(&r, path);
	const char *names[] = { "box", "ball", "ring" };
	go_on(&r, 85);
	for (int i = 0; i < 3; i++)
		CHECK_NEAR(velocity_of(&r, names[i]).y, 0.4, 0.01);
	CHECK_NEAR(velocity_of(&r, "box").x, 0.3, 0.01);
	go_on(&r, 60);
	for (int i = 0; i < 3; i++)
		CHECK_NEAR(velocity_of(&r, names[i]).y, 0.2, 0.01);
	go_on(&r, 55);
	CHECK_NEAR(place_of(&r, "box").y, 0.8, 0.005);
	CHECK_NEAR(place_of(&r, "box").x, 0.9, 0.02);
	CHECK_NEAR(place_of(&r, "ball").y, 0.8, 0.005);
	printf("box at %.4f %.4f, ball at %.4f %.4f\n", place_of(&r, "box").x, place_of(&r, "box").y, place_of(&r, "ball").x,
		place_of(&r, "ball").y);
	end(&r);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/slab_%d.ply", folder, i);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/scene.json", folder);
	unlink(path);
	rmdir(folder);
}

/// What is said of a scene of one mover and one cloth; bodies: that section, or nothing.
static void check_refused(const char *bodies, const char *mover, const char *wanted)
{
	char text[1200];
	scene_description scene;
	sim_error error = { "" };
	snprintf(text, sizeof text,
		"{ %s \"deforming\": { \"movers\": [ { \"pushes_bodies\": true, \"friction\": 0.5, %s } ],"
		"\"list\": [ { \"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [2, 2], \"position\": [0, 5, 0] } ] } }",
		bodies, mover);
	bool made = scene_parse("x.json", text, strlen(text), &scene, &error);
	if (made) {
		scene_run run = { .scene = &scene };
		REQUIRE(carom_create_context(NULL, &run.context) == CAROM_SUCCESS);
		made = scene_run_add_all(&run, NULL, NULL, &error);
		carom_context *context = run.context;
		scene_run_end(&run);
		carom_destroy_context(context);
		scene_destroy(&scene);
	}
	CHECK(!made);
	CHECK_STR(error.text, wanted);
}

TEST(pushing_movers, bad_ones_are_refused_by_name)
{
	const char *bodies = "\"bodies\": { \"planes\": [ {} ] },";
	check_refused("", "\"form\": \"sphere\", \"radius\": 1, \"divisions\": [8, 6]",
		"x.json:1: field \"deforming.movers[0].pushes_bodies\": needs the section \"bodies\"");
	check_refused(bodies, "\"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [2, 2]",
		"x.json:1: field \"deforming.movers[0]\": is not closed: with \"pushes_bodies\" its surface must have an inside");
	check_refused(bodies, "\"animation\": { \"files\": \"nowhere_%d.ply\", \"count\": 2 }",
		"x.json:1: field \"deforming.movers[0].animation\": nowhere_0.ply: cannot be opened: No such file or directory");
}
