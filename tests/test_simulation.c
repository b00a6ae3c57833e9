// Scenes in motion: the whole chain of scene, detection, dynamics and recording.
#include "test.h"

#include "scene/interpenetration.h"
#include "io/recording.h"
#include "scene/simulation.h"
#include "scene/volumes.h"
#include "sim/base/rotations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct run {
	scene_description scene;
	carom_context *context;
	scene_simulation *simulation;
} run;

// The simulation keeps pointing at the scene in *r.
static void start_text(run *r, const char *text, int threads, const char *recording)
{
	*r = (run){ 0 };
	sim_error error = { "" };
	CHECK(scene_parse("test.json", text, strlen(text), &r->scene, &error));
	CHECK_STR(error.text, "");
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	REQUIRE(carom_create_context(&def, &r->context) == CAROM_SUCCESS);
	r->simulation = scene_create_simulation(r->context, &r->scene, recording, &error);
	CHECK_STR(error.text, "");
	REQUIRE(r->simulation != NULL);
}

static void start_file(run *r, const char *name, int threads, const char *recording)
{
	char path[500];
	sim_error error = { "" };
	size_t size = 0;
	snprintf(path, sizeof path, "%s/%s.json", CAROM_SCENES, name);
	scene_description scene;
	REQUIRE(scene_load(path, &scene, &error));
	size = scene.text_size;
	char *text = malloc(size + 1);
	REQUIRE(text != NULL);
	memcpy(text, scene.text, size + 1);
	scene_destroy(&scene);
	start_text(r, text, threads, recording);
	free(text);
}

static scene_step advance(const run *r, int steps)
{
	scene_step step = { 0 };
	sim_error error = { "" };
	for (int i = 0; i < steps; i++) {
		CHECK(scene_simulate_step(r->simulation, &step, &error));
		CHECK_STR(error.text, "");
	}
	return step;
}

static void end(run *r)
{
	scene_destroy_simulation(r->simulation);
	CHECK(carom_memory_in_use(r->context) < 100000); // the context alone
	carom_destroy_context(r->context);
	scene_destroy(&r->scene);
}

static carom_pose pose_of(const run *r, int body)
{
	carom_pose pose;
	REQUIRE(carom_world_get_pose(scene_simulation_world(r->simulation), scene_simulation_ids(r->simulation)[body], &pose) ==
		CAROM_SUCCESS);
	return pose;
}

// Each kind of body comes to rest on a plane at its own height.
TEST(simulation, every_shape_rests_on_a_plane)
{
	run r;
	start_text(&r,
		"{\"meshes\": {\"cube\": {\"shape\": \"box\", \"triangles\": 12, \"fit\": [1, 1, 1], \"centre\": true}},\"bodies\": {\"planes\": [{}],\n"
		"\"list\": [{\"shape\": \"sphere\", \"radius\": 0.5, \"position\": [0, 0.7, 0]},\n"
		"{\"shape\": \"box\", \"half_extents\": [0.5, 0.4, 0.3], \"position\": [3, 0.6, 0]},\n"
		"{\"shape\": \"capsule\", \"radius\": 0.3, \"half_length\": 0.5, \"position\": [6, 0.5, 0]},\n"
		"{\"shape\": \"mesh\", \"mesh\": \"cube\", \"position\": [9, 0.7, 0]}]}}",
		1, NULL);
	advance(&r, 240);
	static const double heights[] = { 0.5, 0.4, 0.3, 0.5 };
	for (int i = 0; i < 4; i++)
		CHECK_NEAR(pose_of(&r, i + 1).position.y, heights[i], 0.01);
	const scene_summary summary = scene_summarise(r.simulation);
	CHECK_INT(summary.bodies, 4);
	CHECK_INT(summary.others, 1);
	CHECK_INT(summary.bodies_above_ground, 4);
	CHECK_INT(summary.steps, 240);
	CHECK(summary.kinetic_energy_final < 1e-3 * summary.kinetic_energy_peak);
	end(&r);
}

// A pile of concave meshes comes to rest above the ground, and what the recording holds is what was simulated.
TEST(simulation, pile_comes_to_rest_and_is_recorded)
{
	char path[] = "/tmp/carom_simulation_XXXXXX";
	sim_error error = { "" };
	const int file = mkstemp(path);
	REQUIRE(file >= 0);
	close(file);
	run r;
	start_file(&r, "pile27", 1, path);
	const carom_pose start = pose_of(&r, 5);
	advance(&r, (int)r.scene.steps);
	const carom_vec3 before = pose_of(&r, 5).position;
	const scene_summary summary = scene_summarise(r.simulation);
	CHECK_INT(summary.bodies_above_ground, 27);
	CHECK(summary.kinetic_energy_final < 0.01 * summary.kinetic_energy_peak);
	CHECK(summary.deepest_penetration_relative < 0.05);
	CHECK(summary.substeps > summary.steps);
	CHECK(summary.contacts_peak > 50);
	CHECK(scene_finish_recording(r.simulation, &error));

	io_recording *recording = io_open_recording(path, &error);
	CHECK_STR(error.text, "");
	REQUIRE(recording != NULL);
	CHECK_INT(io_recording_frame_count(recording), r.scene.steps);
	CHECK_INT(io_recording_body_count(recording), 28);
	CHECK_STR(io_recording_get_info(recording)->scene_text, r.scene.text);
	CHECK_INT(io_recording_get_mesh(recording, 0)->triangle_count, 902);
	carom_pose poses[28];
	REQUIRE(io_recording_read_poses(recording, 0, poses, &error));
	CHECK(memcmp(&poses[5], &start, sizeof start) == 0);
	REQUIRE(io_recording_read_poses(recording, (int32_t)r.scene.steps - 1, poses, &error));
	CHECK_NEAR(poses[5].position.y, before.y, 0.05);
	io_close_recording(recording);
	unlink(path);
	end(&r);
}

// The bodies of the avalanche start apart: turned as they are, they fit between their neighbours.
TEST(simulation, avalanche_starts_without_contacts)
{
	run r;
	start_file(&r, "avalanche", 1, NULL);
	const scene_step step = advance(&r, 1);
	CHECK_INT(step.detection.bodies, 513);
	CHECK_INT(step.detection.contacts, 0);
	CHECK(step.detection.box_pairs > 30); // but near each other; all are above the plane, which pairs with none of them
	end(&r);
}

// A body of a source: nothing of it before its step, neither for the world, nor the counts, nor the recording; from then on it is like any
// other. Here it appears in the very place of another body.
TEST(simulation, source_adds_bodies_in_their_steps)
{
	char path[] = "/tmp/carom_source_XXXXXX";
	sim_error error = { "" };
	const int file = mkstemp(path);
	REQUIRE(file >= 0);
	close(file);
	run r;
	start_text(&r,
		"{\"gravity\": [0, 0, 0], \"output\": {\"contacts\": true}, \"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1, \"position\": [5, 0, 0]}],\n"
		"\"sources\": [{\"shape\": \"sphere\", \"radius\": 1, \"rate\": 20, \"count\": 3, \"start\": 0.05, \"position\": [4.5, 0, 0],\n"
		"\"velocity\": [0, 0, 300], \"angular_velocity\": [0, 1, 0]}]}}",
		1, path);
	CHECK_INT(scene_simulation_body_count(r.simulation), 1);
	CHECK_INT(scene_simulation_ids(r.simulation)[1].index1, 0);
	for (int i = 0; i < 8; i++) {
		const scene_step step = advance(&r, 1);
		const int appeared = i < 3 ? 0 : i < 6 ? 1 : 2;
		CHECK_INT(scene_simulation_body_count(r.simulation), 1 + appeared);
		CHECK_INT(step.detection.bodies, 1 + appeared);
		CHECK_INT(step.detection.contacts > 0, i == 3 || i == 6); // 5 m a step take them away in between
		CHECK_INT(scene_summarise(r.simulation).bodies, 1 + appeared);
		CHECK_INT(scene_summarise(r.simulation).bodies_above_ground, 1 + appeared);
	}
	CHECK(scene_finish_recording(r.simulation, &error));

	io_recording *recording = io_open_recording(path, &error);
	REQUIRE(recording != NULL);
	CHECK_INT(io_recording_body_count(recording), 3); // the third was still to come
	for (int32_t frame = 0; frame < 8; frame++) {
		carom_pose poses[3];
		REQUIRE(io_recording_read_poses(recording, frame, poses, &error));
		CHECK(!isnan(poses[0].position.x));
		CHECK_INT(isnan(poses[1].position.x), frame < 3);
		CHECK_INT(isnan(poses[2].position.x), frame < 6);
		if (frame == 3)
			CHECK_NEAR(poses[1].position.x, 4.5, 0);
		CHECK_INT(io_recording_contact_count(recording, frame) > 0, frame == 3 || frame == 6);
	}
	io_close_recording(recording);
	unlink(path);
	end(&r);
}

// The sources of the fountain: equal motions for one and two threads, through the steps in which bodies come in.
TEST(simulation, determinism_with_sources)
{
	uint64_t hash[2];
	for (int i = 0; i < 2; i++) {
		run r;
		start_file(&r, "fountain", i + 1, NULL);
		const scene_step step = advance(&r, 150);
		CHECK_INT(step.detection.bodies, 26);
		hash[i] = scene_summarise(r.simulation).hash;
		end(&r);
	}
	CHECK(hash[0] == hash[1]);
}

// An error in the midst of a run names the source: its bodies are made when they are due.
TEST(simulation, source_that_fails_is_named)
{
	char folder[] = "/tmp/carom_source_XXXXXX", path[64], text[400];
	sim_error error = { "" };
	REQUIRE(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/open.obj", folder);
	FILE *file = fopen(path, "w");
	REQUIRE(file != NULL);
	fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", file);
	fclose(file);
	snprintf(text, sizeof text,
		"{\"meshes\": {\"m\": {\"file\": \"%s\"}},\"bodies\": {\"planes\": [{}],\n\"sources\": [{\"mesh\": \"m\", \"start\": 0.1}]}}",
		path);
	run r;
	start_text(&r, text, 1, NULL);
	advance(&r, 6);
	CHECK(!scene_simulate_step(r.simulation, NULL, &error));
	static const char expected[] = "test.json:2: field \"bodies.sources[0]\": its mesh is not closed";
	CHECK_INT(strncmp(error.text, expected, strlen(expected)), 0);
	end(&r);
	unlink(path);
	rmdir(folder);
}

// An octahedron whose lowest corner is 0.25 m inside a cube: its normal points down, so its ray goes up and is 0.25 m long. A second
// one is 0.125 m below the plane, a third one hangs free. Settings of the scene's own detection do not matter.
// A top and four feet, a centimetre above the floor.
static const char table[] =
	"{\"bodies\": {\"planes\": [{}], \"list\": [{\"position\": [0, 0.71, 0], \"parts\": ["
	"{\"shape\": \"box\", \"half_extents\": [0.8, 0.05, 0.5], \"position\": [0, 0.35, 0]},"
	"{\"shape\": \"box\", \"half_extents\": [0.05, 0.35, 0.05], \"position\": [0.7, -0.35, 0.4]},"
	"{\"shape\": \"box\", \"half_extents\": [0.05, 0.35, 0.05], \"position\": [-0.7, -0.35, 0.4]},"
	"{\"shape\": \"box\", \"half_extents\": [0.05, 0.35, 0.05], \"position\": [0.7, -0.35, -0.4]},"
	"{\"shape\": \"box\", \"half_extents\": [0.05, 0.35, 0.05], \"position\": [-0.7, -0.35, -0.4]}]}]}}";

TEST(simulation, table_of_parts_stands)
{
	run r;
	start_text(&r, table, 1, NULL);
	const scene_step last = advance(&r, 180);
	const carom_pose pose = pose_of(&r, 1);
	CHECK_NEAR(pose.position.y, 0.7, 0.005);
	CHECK_NEAR(pose.orientation.w, 1, 1e-4);
	CHECK(last.kinetic_energy < 1e-3);
	CHECK_INT(last.detection.colliding_pairs, 4); // its feet
	CHECK_INT(scene_summarise(r.simulation).bodies, 1);
	end(&r);
}

// Four feet of four contacts each: with a limit the world keeps five of sixteen, and the table stands.
TEST(simulation, two_bodies_keep_as_many_contacts_as_the_scene_says)
{
	static const char head[] = "{\"bodies\": {\"detection\": {\"max_contacts_per_body_pair\": 5},";
	char limited[sizeof table + sizeof head];
	snprintf(limited, sizeof limited, "%s%s", head, table + strlen("{\"bodies\": {"));
	run r;
	start_text(&r, limited, 1, NULL);
	for (int step = 0; step < 180; step++) {
		advance(&r, 1);
		CHECK(carom_world_contacts(scene_simulation_world(r.simulation)).count <= 5);
	}
	CHECK_INT(carom_world_contacts(scene_simulation_world(r.simulation)).count, 5);
	CHECK_INT(carom_world_pairs(scene_simulation_world(r.simulation)).count, 4);
	CHECK_NEAR(pose_of(&r, 1).position.y, 0.7, 0.005);
	end(&r);
	start_text(&r, table, 1, NULL);
	advance(&r, 180);
	CHECK_INT(carom_world_contacts(scene_simulation_world(r.simulation)).count, 16);
	end(&r);
}

// One part at the pose of its body moves as a body of that shape, bit for bit.
TEST(simulation, one_part_is_its_shape)
{
	static const char *const forms[2] = { "\"mesh\": \"m\"", "\"parts\": [{\"mesh\": \"m\"}]" };
	scene_summary summary[2];
	scene_interpenetration inside[2];
	sim_error error = { "" };
	for (int i = 0; i < 2; i++) {
		char text[600];
		run r;
		snprintf(text, sizeof text,
			"{\"meshes\": {\"m\": {\"shape\": \"lumpy\", \"fit\": [1, 1, 1], \"centre\": true}},\"bodies\": {\"planes\": [{}], \"detection\": {\"contact_normal\": \"ray\"},\n"
			"\"grids\": [{\"count\": [2, 3, 2], \"position\": [0, 0.6, 0], \"spacing\": [0.6, 1, 0.6], \"mass\": 3, %s}]}}",
			forms[i]);
		start_text(&r, text, 1, NULL);
		advance(&r, 60);
		summary[i] = scene_summarise(r.simulation);
		REQUIRE(scene_measure_interpenetration(r.simulation, &inside[i], &error));
		end(&r);
	}
	CHECK(summary[0].hash == summary[1].hash);
	CHECK_NEAR(summary[0].deepest_penetration_relative, summary[1].deepest_penetration_relative, 0);
	CHECK(inside[0].rays_inside > 0 && inside[0].plane_vertices > 0);
	CHECK_INT(inside[0].rays_inside, inside[1].rays_inside);
	CHECK_NEAR(inside[0].ray_length, inside[1].ray_length, 0);
	CHECK_NEAR(inside[0].plane_depth, inside[1].plane_depth, 0);
}

TEST(simulation, open_part_needs_a_mass)
{
	scene_description scene;
	sim_error error = { "" };
	carom_context *context;
	static const char text[] = "{\"meshes\": {\"c\": {\"file\": \"/tmp/carom_open_part.obj\"}},\n"
							   "\"bodies\": {\"list\": [{\"parts\": [{\"mesh\": \"c\"}]}]}}";
	FILE *file = fopen("/tmp/carom_open_part.obj", "w");
	REQUIRE(file != NULL);
	fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", file);
	fclose(file);
	REQUIRE(scene_parse("test.json", text, strlen(text), &scene, &error));
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK(scene_create_simulation(context, &scene, NULL, &error) == NULL);
	CHECK_STR(error.text,
		"test.json:2: field \"bodies.list[0]\": its mesh is not closed, so it has no volume: give \"mass\" in place of \"density\"");
	carom_destroy_context(context);
	scene_destroy(&scene);
	unlink("/tmp/carom_open_part.obj");
}

// The world of a recorded frame, found again, has the contacts that were recorded, between the rows of these parts.
static int64_t check_recorded_frame(
	carom_context *context, io_recording *recording, int32_t frame, const scene_description *scene)
{
	enum { MOST = 4000 };
	static io_recorded_contact recorded[MOST];
	static carom_pose poses[MOST];
	carom_mesh *no_meshes[1] = { NULL }, *no_hulls[1] = { NULL };
	sim_error error = { "" };
	carom_world *world;
	REQUIRE(carom_create_world(context, &scene->rigid.detection, &world) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_body_pairs(world, false, scene->rigid.max_contacts_per_body_pair) == CAROM_SUCCESS);
	REQUIRE(io_recording_body_count(recording) < MOST && io_recording_contact_count(recording, frame) < MOST);
	REQUIRE(io_recording_read_poses(recording, frame, poses, &error));
	REQUIRE(io_recording_read_contacts(recording, frame, recorded, &error));
	for (int32_t row = 0; row < io_recording_body_count(recording); row += scene_recorded_rows(recording, row)) {
		carom_body_def def = carom_default_body_def();
		carom_body_id id;
		REQUIRE(scene_recorded_def(context, recording, row, no_meshes, no_hulls, &def) == CAROM_SUCCESS);
		def.pose = poses[row];
		def.user_data = (uint64_t)row;
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
		free((void *)def.parts);
	}
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	const carom_contact_view found = carom_world_contacts(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	REQUIRE(found.count == io_recording_contact_count(recording, frame));
	for (int32_t i = 0; i < found.count; i++) {
		const carom_pair *pair = &pairs.data[found.data[i].pair];
		CHECK_INT(recorded[i].body_a, (int64_t)pair->user_data_a + pair->shape_a);
		CHECK_INT(recorded[i].body_b, (int64_t)pair->user_data_b + pair->shape_b);
		CHECK(memcmp(recorded[i].point, found.data[i].point, sizeof recorded[i].point) == 0);
		CHECK(recorded[i].depth == found.data[i].depth);
	}
	carom_destroy_world(world);
	return found.count;
}

/// limit: of contacts of two bodies. Returns how many contacts the recording has.
static int64_t replay_parts(int limit)
{
	static const char form[] =
		"{\"output\": {\"contacts\": true}, \"bodies\": {\"planes\": [{}],\n"
		"\"detection\": {\"temporal\": \"none\", \"max_contacts_per_body_pair\": %d}, \"grids\": [{\"count\": [2, 3, 2],\n"
		"\"position\": [0, 0.5, 0], \"spacing\": [0.9, 1, 0.9], \"jitter\": {\"degrees\": 180}, \"parts\": [\n"
		"{\"shape\": \"box\", \"half_extents\": [0.4, 0.12, 0.12], \"position\": [0.28, 0, 0]},\n"
		"{\"shape\": \"box\", \"half_extents\": [0.12, 0.28, 0.12], \"position\": [0, 0.4, 0]}]}]}}";
	char path[] = "/tmp/carom_parts_XXXXXX", text[sizeof form + 16];
	sim_error error = { "" };
	const int file = mkstemp(path);
	REQUIRE(file >= 0);
	close(file);
	snprintf(text, sizeof text, form, limit);
	run r;
	start_text(&r, text, 1, path);
	advance(&r, 40);
	CHECK(scene_finish_recording(r.simulation, &error));
	io_recording *recording = io_open_recording(path, &error);
	CHECK_STR(error.text, "");
	REQUIRE(recording != NULL);
	CHECK_INT(io_recording_body_count(recording), 25);
	CHECK_INT(io_recording_whole_count(recording), 13);
	int64_t contacts = 0;
	for (int32_t f = 0; f < 40; f++)
		contacts += check_recorded_frame(r.context, recording, f, &r.scene);
	CHECK(contacts > 100);
	io_close_recording(recording);
	unlink(path);
	end(&r);
	return contacts;
}

TEST(simulation, recording_of_parts_replays)
{
	const int64_t all = replay_parts(0), kept = replay_parts(3);
	CHECK(kept < all);
}

TEST(simulation, interpenetration_of_a_known_case)
{
	static const char *const detections[] = {
		"{}",
		"{\"max_contacts_per_pair\": 1, \"temporal\": \"iterative\", \"contact_normal\": \"triangle\", \"lab\": {\"complete\": false}}"
	};
	char folder[] = "/tmp/carom_rays_XXXXXX", path[64], text[900];
	sim_error error = { "" };
	REQUIRE(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/o.obj", folder);
	FILE *file = fopen(path, "w");
	REQUIRE(file != NULL);
	fputs("v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\n"
		  "f 1 3 5\nf 3 2 5\nf 2 4 5\nf 4 1 5\nf 3 1 6\nf 2 3 6\nf 4 2 6\nf 1 4 6\n",
		file);
	fclose(file);
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof text,
			"{\"meshes\": {\"o\": {\"file\": \"%s\"},\n"
			"\"cube\": {\"shape\": \"box\", \"triangles\": 12, \"fit\": [4, 4, 4], \"centre\": true}},\"bodies\": {\"detection\": %s, \"planes\": [{}],\n"
			"\"list\": [{\"mesh\": \"cube\", \"kind\": \"static\", \"position\": [0, 3, 0]}, {\"mesh\": \"o\", \"position\": [0.3, 5.75, 0.1]},\n"
			"{\"mesh\": \"o\", \"position\": [8, 0.875, 0]}, {\"mesh\": \"o\", \"position\": [8, 4, 0]}]}}",
			path, detections[i]);
		run r;
		start_text(&r, text, 1, NULL);
		scene_interpenetration inside;
		REQUIRE(scene_measure_interpenetration(r.simulation, &inside, &error));
		CHECK_INT(inside.rays_inside, 1);
		CHECK_NEAR(inside.ray_length, 0.25, 1e-6);
		CHECK_INT(inside.plane_vertices, 1);
		CHECK_NEAR(inside.plane_depth, 0.125, 1e-6);
		end(&r);
	}
	unlink(path);
	rmdir(folder);
}

// Measuring looks on: the motion goes on as if nothing had been. And it sees the present poses, not those of the start.
TEST(simulation, interpenetration_changes_nothing)
{
	uint64_t hash[2];
	for (int i = 0; i < 2; i++) {
		run r;
		start_file(&r, "pile27", 1, NULL);
		for (int k = 0; k < 3; k++) {
			advance(&r, 15 + 15 * k);
			scene_interpenetration inside = { .rays_inside = -1 };
			sim_error error = { "" };
			if (i == 0)
				continue;
			CHECK(scene_measure_interpenetration(r.simulation, &inside, &error));
			CHECK_INT(inside.plane_vertices > 0, k > 0);
			CHECK_INT(inside.plane_depth > 0, k > 0);
			CHECK(k < 2 || (inside.rays_inside > 0 && inside.ray_length > 0));
		}
		hash[i] = scene_summarise(r.simulation).hash;
		end(&r);
	}
	CHECK(hash[0] == hash[1]);
}

// The other scenes of the papers too; and what comes out of the fountain is apart until it reaches the ground.
TEST(simulation, bodies_start_apart)
{
	static const struct {
		const char *name;
		int steps, bodies;
	} scenes[] = { { "pile216", 1, 217 }, { "terrain1000", 1, 1001 }, { "fountain", 66, 12 } };
	for (int i = 0; i < 3; i++) {
		run r;
		start_file(&r, scenes[i].name, 1, NULL);
		const scene_step step = advance(&r, scenes[i].steps);
		CHECK_INT(step.detection.bodies, scenes[i].bodies);
		CHECK_INT(scene_summarise(r.simulation).contacts_peak, 0);
		end(&r);
	}
}

// Threads of the detection do not show in the motion.
TEST(simulation, determinism_over_threads)
{
	uint64_t hash[3] = { 0 };
	for (int i = 0; i < 3; i++) {
		if (TEST_SEEKS_RACES && i != 1)
			continue;
		run r;
		start_file(&r, "pile27", i == 1 ? 2 : 1, NULL);
		advance(&r, 99);
		const uint64_t last = scene_summarise(r.simulation).hash;
		advance(&r, 1);
		hash[i] = scene_summarise(r.simulation).hash;
		CHECK(hash[i] != last);
		end(&r);
	}
	CHECK(hash[0] == hash[1] || TEST_SEEKS_RACES);
	CHECK(hash[0] == hash[2]);
}

TEST(simulation, substeps_split_the_step)
{
	run r;
	start_text(&r,
		"{\"bodies\": {\"substeps\": 4, \"planes\": [{\"offset\": -50}], \"list\": [{\"shape\": \"sphere\", \"radius\": 1}]}}",
		1, NULL);
	const scene_step step = advance(&r, 60);
	CHECK_INT(step.step, 59);
	CHECK_INT(step.detection.step, 240);
	CHECK_NEAR(pose_of(&r, 1).position.y, -9.81 / 240 / 240 * 240 * 241 / 2, 1e-9);
	end(&r);
}

// Substeps come with speed: a body that falls from rest, 0.02 m a substep.
TEST(simulation, substeps_follow_the_speed)
{
	run r;
	start_text(&r,
		"{\"bodies\": {\"substeps\": 2, \"max_substeps\": 6, \"substep_travel\": 0.02, \"list\": [{\"shape\": \"sphere\", \"radius\": 1}]}}",
		1, NULL);
	int least = 100, most = 0;
	for (int i = 0; i < 60; i++) {
		const scene_step step = advance(&r, 1);
		const double travel = 9.81 * (i + 1) / 60 / 60;
		const int wanted = (int)ceil(travel / 0.02 - 1e-9);
		CHECK_INT(step.substeps, wanted < 2 ? 2 : wanted > 6 ? 6 : wanted);
		least = step.substeps < least ? step.substeps : least;
		most = step.substeps > most ? step.substeps : most;
	}
	CHECK_INT(least, 2);
	CHECK_INT(most, 6);
	end(&r);
}

// A sphere that falls past everything is not above the ground any more: with a plane, with another body, but not with nothing.
TEST(simulation, what_is_above_the_ground)
{
	static const struct {
		const char *text;
		int above;
	} scenes[] = {
		{ "{\"bodies\": {\"planes\": [{}], \"list\": [{\"shape\": \"sphere\", \"radius\": 1, \"mask\": 0, \"position\": [0, 1, 0]}]}}",
			0 },
		{ "{\"bodies\": {\"list\": [{\"shape\": \"box\", \"half_extents\": [1, 1, 1], \"kind\": \"static\"}, {\"shape\": \"sphere\", \"radius\": 1, \"position\": [9, 1, 0]}]}}",
			0 },
		{ "{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1}]}}", 1 },
	};
	for (int i = 0; i < 3; i++) {
		run r;
		start_text(&r, scenes[i].text, 1, NULL);
		CHECK_INT(scene_summarise(r.simulation).bodies_above_ground, 1);
		advance(&r, 60);
		CHECK_INT(scene_summarise(r.simulation).bodies_above_ground, scenes[i].above);
		end(&r);
	}
}

/// Each body is compared with the planes alone, not with all bodies.
TEST(simulation, counting_what_is_above_the_ground_is_linear)
{
	run r;
	start_text(&r,
		"{\"bodies\": {\"planes\": [{}, {\"offset\": -1}], \"grids\": [{\"shape\": \"sphere\", \"radius\": 0.1, "
		"\"count\": [20, 20, 20], \"position\": [0, 1, 0]}]}}",
		1, NULL);
	const scene_summary summary = scene_summarise(r.simulation);
	CHECK_INT(summary.bodies, 8000);
	CHECK_INT(summary.bodies_above_ground, 8000);
	CHECK_INT(summary.plane_tests, 16000);
	end(&r);
}

static void check_refused(const char *text, const char *expected)
{
	scene_description scene;
	carom_context *context;
	sim_error error = { "" };
	REQUIRE(scene_parse("dir/t.json", text, strlen(text), &scene, &error));
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK(scene_create_simulation(context, &scene, NULL, &error) == NULL);
	CHECK(strncmp(error.text, expected, strlen(expected)) == 0);
	if (strncmp(error.text, expected, strlen(expected)) != 0)
		CHECK_STR(error.text, expected);
	carom_destroy_context(context);
	scene_destroy(&scene);
}

TEST(simulation, errors_name_the_field)
{
	check_refused(
		"{\"bodies\": {\"planes\": [{}]}, \"meshes\": {\"m\": {\"shape\": \"banana\"}}}", "dir/t.json: field \"meshes.m\": ");
	check_refused("{\"bodies\": {\"planes\": [{}]}, \"meshes\": {\"m\": {\"file\": \"none.obj\"}}}",
		"dir/t.json: field \"meshes.m\": dir/none.obj: ");

	// An open mesh has no volume.
	char folder[] = "/tmp/carom_open_XXXXXX", path[64], text[300];
	REQUIRE(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/open.obj", folder);
	FILE *file = fopen(path, "w");
	REQUIRE(file != NULL);
	fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", file);
	fclose(file);
	snprintf(text, sizeof text,
		"{\"meshes\": {\"m\": {\"file\": \"%s\"}},\n\"bodies\": {\"list\": [{\"shape\": \"mesh\", \"mesh\": \"m\"}]}}", path);
	check_refused(text, "dir/t.json:2: field \"bodies.list[0]\": its mesh is not closed, so it has no volume: give \"mass\"");
	snprintf(text, sizeof text,
		"{\"meshes\": {\"m\": {\"file\": \"%s\"}}, \"bodies\": {\"list\": [{\"shape\": \"mesh\", \"mesh\": \"m\", \"mass\": 2}]}}",
		path);
	run r;
	start_text(&r, text, 1, NULL);
	CHECK_NEAR(advance(&r, 1).kinetic_energy, 0.5 * 2 * (9.81 / 60) * (9.81 / 60), 1e-6);
	end(&r);
	unlink(path);
	rmdir(folder);
}

TEST(simulation, table_has_a_value_for_each_name)
{
	FILE *file = tmpfile();
	REQUIRE(file != NULL);
	const scene_step step = { .step = 3 };
	scene_write_step_names(file);
	scene_write_step(file, &step);
	rewind(file);
	int commas[2] = { 0 }, line = 0;
	for (int c; (c = fgetc(file)) != EOF && line < 2;) {
		commas[line] += c == ',';
		line += c == '\n';
	}
	CHECK_INT(line, 2);
	CHECK_INT(commas[0], commas[1]);
	CHECK(commas[0] > 20);
	fclose(file);
}

// The stacks of scenes/convex.json stand for two seconds: drums, hulls, rounded chests, logs on logs, cones on top.
TEST(simulation, stacks_of_convex_bodies_stand)
{
	run r;
	start_file(&r, "convex", 1, NULL);
	const char *const names[] = { "drum", "crate", "chest", "hat", "log" };
	carom_pose before[128];
	REQUIRE(r.scene.rigid.body_count <= 128);
	for (int32_t i = 0; i < r.scene.rigid.body_count; i++)
		before[i] = pose_of(&r, i);
	advance(&r, 120);
	int standing = 0;
	for (int32_t i = 0; i < r.scene.rigid.body_count; i++) {
		bool named = false;
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			named = named || strncmp(r.scene.rigid.bodies[i].name, names[k], strlen(names[k])) == 0;
		if (!named || r.scene.rigid.bodies[i].kind != CAROM_DYNAMIC)
			continue;
		standing++;
		const carom_vec3 from = before[i].position, to = pose_of(&r, i).position;
		CHECK_NEAR(to.x, from.x, 0.05);
		CHECK_NEAR(to.y, from.y, 0.05);
		CHECK_NEAR(to.z, from.z, 0.05);
	}
	CHECK_INT(standing, 5 + 5 + 5 + 4 + 2 + 10);
	end(&r);
}

// How many bodies are behind the sheet of scenes/bullets.json in the end.
static int count_passed(bool continuous, int threads, uint64_t *hash)
{
	char path[500];
	sim_error error = { "" };
	snprintf(path, sizeof path, "%s/bullets.json", CAROM_SCENES);
	run r = { 0 };
	REQUIRE(scene_load(path, &r.scene, &error));
	for (int32_t i = 0; i < r.scene.rigid.body_count; i++)
		r.scene.rigid.bodies[i].continuous = r.scene.rigid.bodies[i].continuous && continuous;
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	REQUIRE(carom_create_context(&def, &r.context) == CAROM_SUCCESS);
	r.simulation = scene_create_simulation(r.context, &r.scene, NULL, &error);
	REQUIRE(r.simulation != NULL);
	advance(&r, 40);
	int passed = 0;
	for (int32_t i = 0; i < r.scene.rigid.body_count; i++) // the sheet stands at 0
		passed += r.scene.rigid.bodies[i].kind == CAROM_DYNAMIC && pose_of(&r, i).position.x > 0;
	*hash = scene_summarise(r.simulation).hash;
	end(&r);
	return passed;
}

TEST(simulation, no_continuous_body_passes_a_thin_sheet_with_any_threads)
{
	uint64_t hash[2], ignored;
	CHECK_INT(count_passed(true, 2, &hash[1]), 0);
	if (TEST_SEEKS_RACES)
		return;
	CHECK_INT(count_passed(true, 1, &hash[0]), 0);
	CHECK(hash[0] == hash[1]);
	CHECK(count_passed(false, 1, &ignored) > 40);
}

// A bat swings at a ball at rest, a fifth of a turn in a step: it takes the ball along.
TEST(simulation, a_kinematic_body_takes_a_continuous_one_along)
{
	for (int continuous = 0; continuous < 2; continuous++) {
		char text[600];
		snprintf(text, sizeof text,
			"{\"gravity\": [0, 0, 0], \"bodies\": {\"list\": [{\"shape\": \"box\", \"half_extents\": [2, 0.02, 0.2], \"kind\": \"kinematic\", "
			"\"angular_velocity\": [0, 0, 75]}, {\"shape\": \"sphere\", \"radius\": 0.1, \"position\": [1.2, 0.7, 0]%s}]}}",
			continuous ? ", \"continuous\": true" : "");
		run r;
		start_text(&r, text, 1, NULL);
		advance(&r, 2);
		const carom_vec3 at = pose_of(&r, 1).position;
		CHECK((fabs(at.x - 1.2) + fabs(at.y - 0.7) > 0.3) == (continuous == 1));
		end(&r);
	}
}

TEST(simulation, continuous_belongs_to_dynamic_bodies)
{
	sim_error error = { "" };
	scene_description scene;
	static const char text[] =
		"{\"bodies\": {\"list\": [{\"shape\": \"sphere\", \"radius\": 1, \"kind\": \"kinematic\", \"continuous\": true}]}}";
	CHECK(!scene_parse("t.json", text, strlen(text), &scene, &error));
	CHECK_STR(error.text,
		"t.json:1: field \"bodies.list[0].continuous\": only dynamic bodies are stopped; they also are by a \"kinematic\" one that is fast");
	static const char number[] =
		"{\"bodies\": {\"detection\": {\"toi_tolerance\": 0}, \"list\": [{\"shape\": \"sphere\", \"radius\": 1}]}}";
	CHECK(!scene_parse("t.json", number, strlen(number), &scene, &error));
	CHECK(strstr(error.text, "detection.toi_tolerance") != NULL);
}
