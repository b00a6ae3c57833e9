/// Scenes whose bodies go from key to key: rigid bodies, cloth and grains follow them, and a restart changes no bit.
#include "quoted_scene.h"
#include "scene/scene_resume.h"
#include "scene/scene_run.h"
#include "scene/soft_fill.h"

#include "io/mesh_file.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

typedef struct keyed_run {
	scene_description scene;
	scene_run run;
} keyed_run;

static void start(keyed_run *k, const char *text)
{
	sim_error error = { "" };
	*k = (keyed_run){ .run = { .scene = &k->scene } };
	parse_quoted(text, &k->scene);
	REQUIRE(carom_create_context(NULL, &k->run.context) == CAROM_SUCCESS);
	const bool made = scene_run_add_all(&k->run, NULL, NULL, &error);
	CHECK_STR(error.text, "");
	REQUIRE(made);
}

static void go(keyed_run *k, int steps)
{
	sim_error error = { "" };
	bool done = true;
	for (int i = 0; i < steps && done; i++)
		done = scene_run_step_all(&k->run, NULL, &error);
	CHECK_STR(error.text, "");
	REQUIRE(done);
}

static void end(keyed_run *k)
{
	scene_run_end(&k->run);
	carom_destroy_context(k->run.context);
	scene_destroy(&k->scene);
}

static carom_pose pose_of(const keyed_run *k, int32_t body) { return scene_simulation_poses(k->run.simulation)[body]; }

static void check_pose(carom_pose a, carom_pose b)
{
	CHECK_NEAR(a.position.x, b.position.x, 1e-12);
	CHECK_NEAR(a.position.y, b.position.y, 1e-12);
	CHECK_NEAR(a.position.z, b.position.z, 1e-12);
	CHECK_NEAR(a.orientation.x, b.orientation.x, 1e-12);
	CHECK_NEAR(a.orientation.y, b.orientation.y, 1e-12);
	CHECK_NEAR(a.orientation.z, b.orientation.z, 1e-12);
	CHECK_NEAR(a.orientation.w, b.orientation.w, 1e-12);
}

TEST(keyed_scenes, bodies_are_where_keys_have_them_in_every_step)
{
	keyed_run k;
	start(&k,
		"{'bodies':{'substeps':3,'list':[{'name':'arm','shape':'box','half_extents':[1,0.1,0.1],'keys':{'list':["
		"{'time':0.1,'position':[0,1,0]},{'time':0.5,'rotation':{'axis':[1,2,0],'degrees':170}},{'time':1,'position':[3,1,2]}]}}]}}");
	CHECK(k.scene.rigid.bodies[0].kind == CAROM_KINEMATIC && k.scene.rigid.keyed_count == 1);
	const sim_keys *keys = &k.scene.rigid.keyed[0].keys;
	CHECK(keys->smooth && !keys->loop && keys->count == 3);
	CHECK(keys->list[2].pose.orientation.w == keys->list[1].pose.orientation.w && keys->list[1].pose.position.y == 1);
	for (int i = 0; i < 80; i++) {
		check_pose(pose_of(&k, 0), sim_keys_pose(keys, i / 60.0));
		go(&k, 1);
	}
	end(&k);
}

// A tray that starts and stops gently: the box on it goes along, turns with it, and does not lag behind.
TEST(keyed_scenes, a_tray_takes_a_box_along)
{
	keyed_run k;
	start(&k,
		"{'time_step':0.005,'bodies':{'solver':{'friction':0.8},'list':["
		"{'name':'tray','shape':'box','half_extents':[1,0.1,1],'keys':{'list':[{'time':0.2},{'time':1.7,'position':[1,0.5,0.3],"
		"'rotation':{'degrees':60}}]}},"
		"{'shape':'box','half_extents':[0.2,0.2,0.2],'position':[0.3,0.3,0]}]}}");
	go(&k, 400);
	const carom_vec3 on_tray = carom_inverse_transform_point(pose_of(&k, 0), pose_of(&k, 1).position);
	CHECK_NEAR(pose_of(&k, 0).position.y, 0.5, 1e-12);
	CHECK_NEAR(on_tray.x, 0.3, 0.02);
	CHECK_NEAR(on_tray.y, 0.3, 0.01);
	CHECK_NEAR(on_tray.z, 0, 0.02);
	end(&k);
}

// Bodies may sleep; the box has rested for long when the lift starts, which is slower than what counts as rest.
TEST(keyed_scenes, a_lift_takes_along_what_has_rested_on_it)
{
	keyed_run k;
	start(&k,
		"{'time_step':0.01,'bodies':{'solver':{'sleep':{}},'list':["
		"{'name':'lift','shape':'box','half_extents':[1,0.1,1],'keys':{'between':'linear','list':[{'time':2},{'time':6,'position':[0,0.16,0]}]}},"
		"{'shape':'box','half_extents':[0.2,0.2,0.2],'position':[0,0.3,0]}]}}");
	go(&k, 200);
	CHECK_NEAR(pose_of(&k, 1).position.y, 0.3, 0.002);
	go(&k, 200);
	CHECK_NEAR(pose_of(&k, 1).position.y - 0.3, 0.08, 0.005);
	go(&k, 250);
	CHECK_NEAR(pose_of(&k, 1).position.y - 0.3, 0.16, 0.005);
	end(&k);
}

static const double *vertex(const keyed_run *k, int32_t body, int32_t i)
{
	const sim_soft_surface surface = sim_soft_get_surface(k->run.soft);
	return surface.places + 3 * (int64_t)(surface.body_vertices[body] + i);
}

/// Of a sheet of three by three vertices, pinned along x = -0.2, the distance of its first vertex from where a frame has it.
static double lag(const keyed_run *k, int32_t cloth, carom_pose frame, carom_vec3 local)
{
	const carom_vec3 wanted = carom_transform_point(frame, local);
	const double *p = vertex(k, cloth, 0);
	return sqrt(
		(p[0] - wanted.x) * (p[0] - wanted.x) + (p[1] - wanted.y) * (p[1] - wanted.y) + (p[2] - wanted.z) * (p[2] - wanted.z));
}

#define HAND_KEYS \
	"'keys':{'list':[{'time':0,'position':[0,1,0]},{'time':0.4,'position':[0.3,1.5,0],'rotation':{'axis':[0,0,1],'degrees':40}}]}"

TEST(keyed_scenes, pins_follow_movers_and_obstacles)
{
	keyed_run k;
	start(&k,
		"{'bodies':{'list':[{'name':'bar','shape':'box','half_extents':[0.05,0.05,0.05]," HAND_KEYS
		"}]},'deforming':{'substeps':2,"
		"'movers':[{'name':'hand','form':'sphere','radius':0.05,'divisions':[8,6]," HAND_KEYS "}],'obstacles':['bar'],"
		"'list':[{'form':'sheet','size':[0.4,0.4],'divisions':[2,2],'position':[0.5,1,1],'pins':[{'upper':[0.35,9,9],'to':'hand'}],'grid':{'count':[1,1,2]}},"
		"{'form':'sheet','size':[0.4,0.4],'divisions':[2,2],'position':[0.5,1,-1],'pins':[{'upper':[0.35,9,9],'to':'bar'}]}]}}");
	const sim_keys *keys = &k.scene.rigid.keyed[0].keys;
	double first[3][3];
	for (int i = 0; i < 3; i++)
		memcpy(first[i], vertex(&k, 1 + i, 0), sizeof first[i]);
	for (int i = 1; i <= 40; i++) {
		go(&k, 1);
		const carom_pose at = sim_keys_pose(keys, i / 60.0), begin = sim_keys_pose(keys, 0);
		for (int body = 0; body < 3; body++) {
			const double *p = first[body];
			CHECK(lag(&k, 1 + body, at, carom_inverse_transform_point(begin, (carom_vec3){ p[0], p[1], p[2] })) < 1e-9);
		}
	}
	end(&k);
}

#define PARTS                                                                                                                                        \
	"{'time_step':0.004,'bodies':{'substeps':2,'list':[{'name':'tray','shape':'box','half_extents':[0.4,0.05,0.4],'keys':{'loop':true,'list':["      \
	"{'time':0,'position':[0.5,0.3,0.5]},{'time':0.02,'position':[0.53,0.32,0.5],'rotation':{'axis':[0,0,1],'degrees':4}},"                          \
	"{'time':0.05,'position':[0.5,0.3,0.5],'rotation':{'degrees':0}}]}},{'shape':'sphere','radius':0.1,'position':[0.5,0.46,0.5]}]},"                \
	"'deforming':{'obstacles':['tray'],'movers':[{'name':'hand','form':'sphere','radius':0.05,'divisions':[8,6],'keys':{'between':'linear','list':[" \
	"{'time':0.01,'position':[0.5,0.8,0.5]},{'time':0.07,'position':[0.6,0.9,0.5]}]}}],"                                                             \
	"'list':[{'form':'sheet','size':[0.3,0.3],'divisions':[5,5],'position':[0.5,0.7,0.5],'pins':[{'upper':[0.36,9,9],'to':'hand'}]}]},"              \
	"'spheres':{'substeps':20,'obstacles':['tray'],'deforming':true,'material':{'stiffness':2000},"                                                  \
	"'list':[{'random':30,'radius':[0.02,0.03],'seed':3,'lower':[0.1,0.37,0.1],'upper':[0.9,0.5,0.3]}]}}"

TEST(keyed_scenes, a_restart_on_the_way_gives_equal_bits)
{
	keyed_run k;
	char path[] = "/tmp/carom-keyed-XXXXXX";
	const int file = mkstemp(path);
	REQUIRE(file >= 0 && close(file) == 0);
	start(&k, PARTS);
	sim_error error = { "" };
	for (int at = 0; at < 3; at++) {
		uint64_t hash, again;
		go(&k, 7);
		scene_run other = { .scene = &k.scene, .context = k.run.context };
		bool done = scene_save_run(&k.run, path, NULL, &error) && scene_run_add_all(&other, NULL, path, &error);
		for (int i = 0; i < 5 && done; i++)
			done = scene_run_step_all(&k.run, NULL, &error) && scene_run_step_all(&other, NULL, &error);
		CHECK(done && scene_run_hash(&k.run, &hash, &error) && scene_run_hash(&other, &again, &error) && hash == again);
		scene_run_end(&other);
	}
	CHECK_STR(error.text, "");
	end(&k);
	remove(path);
}

/// Kinetic energy per mass of grains that lie on a tray, after it was shaken or not.
static double unrest_of_grains(const char *keys)
{
	char text[1500];
	keyed_run k;
	snprintf(text, sizeof text,
		"{'time_step':0.001,'bodies':{'list':[{'name':'tray','shape':'box','half_extents':[0.5,0.1,0.5],%s}]},"
		"'spheres':{'substeps':5,'box':{'walls':['low_x','high_x','low_z','high_z']},'obstacles':['tray'],'material':{'stiffness':3000,'restitution':0.2},"
		"'list':[{'random':60,'radius':[0.03,0.04],'seed':2,'lower':[0,0.3,0],'upper':[1,0.5,1]}]}}",
		keys);
	start(&k, text);
	go(&k, 500);
	double sum = 0, places[180], radii[60], velocities[180];
	sim_granular_get_state(k.run.granular, places, radii, velocities, NULL);
	for (int i = 0; i < 180; i++)
		sum += velocities[i] * velocities[i];
	for (int i = 0; i < 60; i++)
		CHECK(places[3 * i + 1] > 0.15); // none falls through
	end(&k);
	return sum / 120;
}

TEST(keyed_scenes, a_tray_shakes_grains)
{
	const double still = unrest_of_grains("'keys':{'list':[{'time':0,'position':[0.5,0.1,0.5]}]}");
	const double shaken = unrest_of_grains(
		"'keys':{'loop':true,'list':[{'time':0,'position':[0.5,0.1,0.5]},{'time':0.05,'position':[0.5,0.15,0.5]},"
		"{'time':0.1,'position':[0.5,0.1,0.5]}]}");
	CHECK(still < 0.03);
	CHECK(shaken > 0.2);
}

static void refuse(const char *body, const char *wanted)
{
	char text[1200];
	scene_description scene;
	sim_error error = { "" };
	snprintf(text, sizeof text, "%s", body);
	quote_scene(text);
	CHECK(!scene_parse("a.json", text, strlen(text), &scene, &error));
	if (!strstr(error.text, wanted))
		CHECK_STR(error.text, wanted);
	scene_destroy(&scene);
}

#define BODY(more) "{'bodies':{'list':[{'shape':'sphere','radius':1," more "}]}}"
#define CLOTH(mover, pin)                                                                                                                                \
	"{'bodies':{'list':[{'name':'ball','shape':'sphere','radius':1}]},'deforming':{'two_way':true,'obstacles':['ball'],'movers':[{'name':'hand','form':" \
	"'sphere','radius':1,'divisions':[8,6]" mover "}],'list':[{'form':'sheet','size':[1,1],'divisions':[2,2],'pins':[" pin                               \
	"]}]}}"

TEST(keyed_scenes, errors_name_file_and_key)
{
	refuse(BODY("'keys':{}"), "a.json:1: field \"bodies.list[0].keys.list\": is missing");
	refuse(BODY("'keys':{'list':[]}"), "field \"bodies.list[0].keys.list\": must hold 1 to 100000 keys");
	refuse(BODY("'keys':{'list':[{'time':1},\n{}]}"), "a.json:2: field \"bodies.list[0].keys.list[1].time\": is missing");
	refuse(BODY("'keys':{'list':[{'time':1},{'time':1}]}"),
		"keys.list[1].time\": must be later than that of the key before, which is 1");
	refuse(BODY("'keys':{'list':[{'time':-1}]}"), "keys.list[0].time\"");
	refuse(BODY("'keys':{'list':[{'time':0}],'between':'cubic'}"), "field \"bodies.list[0].keys.between\"");
	refuse(BODY("'keys':{'list':[{'time':0,'positon':[0,0,0]}]}"), "did you mean \"position\"");
	refuse(BODY("'keys':{'list':[{'time':0}]},'position':[0,1,0]"),
		"field \"bodies.list[0].position\": cannot be given together with \"keys\"");
	refuse(
		BODY("'keys':{'list':[{'time':0}]},'velocity':[0,1,0]"), "field \"bodies.list[0].velocity\": cannot be given together");
	refuse(BODY("'keys':{'list':[{'time':0}]},'kind':'dynamic'"),
		"field \"bodies.list[0].kind\": a body with \"keys\" is \"kinematic\"");
	refuse(BODY("'keys':{'loop':true,'list':[{'time':0}]}"), "field \"bodies.list[0].keys.loop\": the last key must");
	refuse(BODY("'keys':{'loop':true,'list':[{'time':0},{'time':1,'position':[0,1,0]}]}"), "keys.loop\": the last key must");
	refuse(
		"{'bodies':{'grids':[{'shape':'sphere','radius':1,'keys':{'list':[{'time':0}]}}]}}", "field \"bodies.grids[0].keys\"");
	refuse(CLOTH(",'keys':{'list':[{'time':0}]},'motion':{}", ""),
		"field \"deforming.movers[0].motion\": cannot be given together with \"keys\"");
	refuse(BODY("'opacity':1.5"), "field \"bodies.list[0].opacity\"");
	refuse(CLOTH("", "{'to':'hnad'}"), "field \"deforming.list[0].pins[0].to\": there is no mover or obstacle \"hnad\"");
	refuse(CLOTH("", "{'to':'ball'}"), "field \"deforming.list[0].pins[0].to\": \"ball\" is pushed by what deforms");
}

// ---- Animated colliders ----

/// A plate of 13 by 13 vertices whose middle has risen, as a file of an animation.
static void save_plate(const char *folder, int number, double height)
{
	enum { SIDE = 13 };
	float vertices[3 * SIDE * SIDE];
	int32_t triangles[6 * (SIDE - 1) * (SIDE - 1)], *t = triangles;
	char path[200];
	sim_error error = { "" };
	for (int i = 0; i < SIDE * SIDE; i++) {
		const double x = (i % SIDE - 6) / 12.0, z = (i / SIDE - 6) / 12.0, near = fmax(0, 1 - 8 * (x * x + z * z));
		vertices[3 * i] = (float)x;
		vertices[3 * i + 1] = (float)(height * near * near);
		vertices[3 * i + 2] = (float)z;
	}
	for (int i = 0; i < SIDE * (SIDE - 1); i++) {
		if (i % SIDE == SIDE - 1)
			continue;
		const int32_t both[6] = { i, i + SIDE, i + 1, i + 1, i + SIDE, i + SIDE + 1 };
		memcpy(t, both, sizeof both);
		t += 6;
	}
	const sim_mesh mesh = { .vertex_count = SIDE * SIDE,
		.triangle_count = 2 * (SIDE - 1) * (SIDE - 1) - (number == 9 ? 2 : 0), // one file has fewer
		.vertices = vertices,
		.triangles = triangles };
	snprintf(path, sizeof path, "%s/plate_%03d.ply", folder, number);
	REQUIRE(io_save_mesh(path, &mesh, &error));
}

static void remove_plates(const char *folder)
{
	char path[200];
	for (int i = 0; i < 12; i++) {
		snprintf(path, sizeof path, "%s/plate_%03d.ply", folder, i);
		remove(path);
	}
	rmdir(folder);
}

#define ANIMATED(count)                                                                                                                        \
	"{'time_step':0.01,'deforming':{'substeps':2,'movers':[{'name':'plate','animation':{'files':'%s/plate_%%03d.ply','first':3,'count':" count \
	","                                                                                                                                        \
	"'per_second':10,'start':0.2}}],'list':[{'form':'sheet','size':[0.6,0.6],'divisions':[14,14],'position':[0,0.03,0]},"                      \
	"{'form':'sheet','size':[0.1,0.1],'divisions':[2,2],'position':[0,0.6,0],'pins':[{'upper':[-0.04,9,9],'to':'plate'}]}]}}"

TEST(keyed_scenes, an_animated_mesh_lifts_cloth)
{
	char folder[] = "/tmp/carom-plate-XXXXXX", text[1200];
	keyed_run k;
	sim_error error = { "" };
	int32_t crossings = -1;
	REQUIRE(mkdtemp(folder) != NULL);
	for (int i = 0; i < 5; i++)
		save_plate(folder, 3 + i, 0.06 * i);
	snprintf(text, sizeof text, ANIMATED("5"), folder);
	start(&k, text);
	const double held = vertex(&k, 2, 0)[1];
	for (int i = 1; i <= 100; i++) {
		go(&k, 1);
		// Between two frames vertices go straight; the middle of the plate is its vertex 84.
		const double height = 0.24 * fmin(fmax(i * 0.01 - 0.2, 0) / 0.4, 1);
		CHECK_NEAR(vertex(&k, 0, 84)[1], height, 1e-6);
		// It is pinned, and goes with the vertex of the plate that is nearest: one from the middle, along x and along z.
		CHECK_NEAR(vertex(&k, 2, 0)[1] - held, height * 64 / 81, 1e-6);
		CHECK(vertex(&k, 1, 112)[1] > height); // the cloth is above
	}
	CHECK(sim_soft_count_crossings(k.run.soft, &crossings) && crossings == 0);
	CHECK_STR(error.text, "");
	end(&k);
	remove_plates(folder);
}

TEST(keyed_scenes, a_restart_within_an_animation_gives_equal_bits)
{
	char folder[] = "/tmp/carom-plate-XXXXXX", text[1200], path[300];
	keyed_run k;
	sim_error error = { "" };
	uint64_t hash, again;
	REQUIRE(mkdtemp(folder) != NULL);
	for (int i = 0; i < 5; i++)
		save_plate(folder, 3 + i, 0.06 * i);
	snprintf(path, sizeof path, "%s/checkpoint.h5", folder);
	snprintf(text, sizeof text, ANIMATED("5"), folder);
	start(&k, text);
	go(&k, 33);
	scene_run other = { .scene = &k.scene, .context = k.run.context };
	bool done = scene_save_run(&k.run, path, NULL, &error) && scene_run_add_all(&other, NULL, path, &error);
	for (int i = 0; i < 15 && done; i++)
		done = scene_run_step_all(&k.run, NULL, &error) && scene_run_step_all(&other, NULL, &error);
	CHECK(done && scene_run_hash(&k.run, &hash, &error) && scene_run_hash(&other, &again, &error) && hash == again);
	scene_run_end(&other);
	CHECK_STR(error.text, "");
	// A file that is another one now is told.
	save_plate(folder, 5, 0.2);
	CHECK(!scene_run_add_all(&other, NULL, path, &error) && strstr(error.text, "their surfaces are others"));
	scene_run_end(&other);
	end(&k);
	remove(path);
	remove_plates(folder);
}

/// Parse a scene whose files are in a folder, start its cloth, and look for an error.
static void refuse_files(const char *text, const char *folder, const char *wanted)
{
	char full[1500];
	scene_description scene;
	sim_error error = { "" };
	carom_context *context;
	snprintf(full, sizeof full, text, folder);
	parse_quoted(full, &scene);
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK(scene_start_deforming(context, &scene, &error) == NULL);
	if (!strstr(error.text, wanted))
		CHECK_STR(error.text, wanted);
	carom_destroy_context(context);
	scene_destroy(&scene);
}

TEST(keyed_scenes, errors_of_animations_name_file_and_key)
{
	char folder[] = "/tmp/carom-plate-XXXXXX";
	REQUIRE(mkdtemp(folder) != NULL);
	for (int i = 3; i <= 9; i++) // the last one has fewer triangles
		save_plate(folder, i, 0.01 * i);
	refuse_files(ANIMATED("7"), folder, "plate_009.ply: has other triangles than the first file of the animation");
	refuse_files(ANIMATED("7"), folder, "field \"deforming.movers[0].animation\": ");
	remove_plates(folder);
	refuse_files(ANIMATED("2"), folder, "plate_003.ply: ");
	refuse(CLOTH(",'animation':{}", ""), "field \"deforming.movers[0]\": needs one of");
#define MOVER(animation) \
	"{'deforming':{'movers':[{'animation':" animation "}],'list':[{'form':'sheet','size':[1,1],'divisions':[2,2]}]}}"
	refuse(MOVER("{'count':2}"), "field \"deforming.movers[0].animation.files\": is missing");
	refuse(MOVER("{'files':'a%d.ply'}"), "field \"deforming.movers[0].animation.count\": is missing");
	refuse(MOVER("{'files':'a.ply','count':2}"), "animation.files\": must hold the place of the number once, as %d or %04d");
	refuse(MOVER("{'files':'a%s.ply','count':2}"), "animation.files\": must hold the place");
	refuse(MOVER("{'files':'a%d%n.ply','count':2}"), "animation.files\": must hold the place");
	refuse(MOVER("{'files':'%d/a.ply','count':2}"), "animation.files\": must hold the place");
	refuse(MOVER("{'files':'a%d.ply','count':2,'per_second':0}"), "animation.per_second\"");
}
