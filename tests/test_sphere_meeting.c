/// Spheres of a scene that meet its rigid bodies: momentum, weight, belts, edges of meshes, threads, and scene files at fault.
#include "quoted_scene.h"
#include "test.h"

#include "scene/granular_fill.h"
#include "scene/sphere_meeting.h"
#include "sim/base/rotations.h"
#include "sim/base/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
	scene_description scene;
	carom_context *context;
	scene_simulation *simulation;
	sim_granular *granular;
	scene_sphere_meeting *meeting;
} run;

/// Quotes are written as apostrophes. The run keeps pointing at the scene in *r.
static void start(run *r, const char *text, int threads)
{
	*r = (run){ 0 };
	sim_error error = { "" };
	parse_quoted(text, &r->scene);
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	REQUIRE(carom_create_context(&def, &r->context) == CAROM_SUCCESS);
	REQUIRE(!*error.text);
	r->simulation = scene_create_simulation(r->context, &r->scene, NULL, &error);
	CHECK_STR(error.text, "");
	scene_granular_filling filling;
	REQUIRE(r->simulation && scene_fill_spheres(r->context, &r->scene, &filling, &error));
	const sim_granular_def grains = scene_filled_def(&r->scene, &filling);
	r->granular = sim_create_granular(r->context, &grains, &error);
	CHECK_STR(error.text, "");
	scene_destroy_filling(&filling);
	r->meeting = scene_create_sphere_meeting(&r->scene, r->simulation, r->granular, &error);
	CHECK_STR(error.text, "");
	REQUIRE(r->granular && r->meeting);
}

static sim_granular_step advance(run *r, int steps)
{
	sim_error error = { "" };
	sim_granular_step step = { 0 };
	for (int i = 0; i < steps; i++) {
		CHECK(scene_simulate_step(r->simulation, NULL, &error));
		for (int32_t k = 0; k < r->scene.spheres.substeps; k++)
			CHECK(scene_meeting_advance(r->meeting, k, &step, &error));
		CHECK_STR(error.text, "");
	}
	return step;
}

static void end(run *r)
{
	scene_destroy_sphere_meeting(r->meeting);
	sim_destroy_granular(r->granular);
	scene_destroy_simulation(r->simulation);
	carom_destroy_context(r->context);
	scene_destroy(&r->scene);
}

/// The first sphere.
static void get_sphere(run *r, double place[3], double velocity[3], double spin[3])
{
	const size_t n = (size_t)sim_granular_get_info(r->granular).count;
	double *all = malloc(9 * n * sizeof *all);
	REQUIRE(all != NULL);
	sim_granular_get_state(r->granular, all, NULL, all + 3 * n, all + 6 * n);
	memcpy(place, all, 3 * sizeof *all);
	memcpy(velocity, all + 3 * n, 3 * sizeof *all);
	memcpy(spin, all + 6 * n, 3 * sizeof *all);
	free(all);
}

// ---- One sphere, known answers ----

#define ONE_SPHERE(body, start, law, extra)                                                                                   \
	"{'time_step': 1e-3, 'meshes': {'floor': {'shape': 'box', 'triangles': 1200, 'scale': [6, 1, 1], 'centre': true}},"       \
	"'bodies': {'list': [{'name': 'floor', 'position': [0, -0.5, 0], " body "}]},"                                            \
	"'spheres': {'substeps': 20, 'obstacles': ['floor'], 'box': {'lower': [-9, -9, -9], 'upper': [9, 9, 9], 'walls': false}," \
	"'material': {'density': 1000, 'stiffness': 5e4, " law "}, 'list': [{'random': 1, 'radius': 0.1, " start "}]" extra "}}"

TEST(sphere_meeting, a_sphere_at_rest_sinks_by_its_weight)
{
	// A mesh, a box and a plane are one floor.
	static const char *const floors[] = { "'mesh': 'floor', 'kind': 'static'",
		"'shape': 'box', 'half_extents': [3, 0.5, 0.5], 'kind': 'static'", "'mesh': 'floor', 'kind': 'kinematic'" };
	for (int i = 0; i < 3; i++) {
		char text[2000];
		snprintf(text, sizeof text,
			ONE_SPHERE(
				"%s", "'lower': [0.03, 0, -0.03], 'upper': [0.230000001, 0.200000001, 0.170000001]", "'restitution': 0.1", ""),
			floors[i]);
		run r;
		start(&r, text, 1);
		advance(&r, 600);
		double x[3], v[3], w[3];
		get_sphere(&r, x, v, w);
		const double weight = 1000 * 4.0 / 3 * SIM_PI * 1e-3 * 9.81;
		CHECK_NEAR(0.1 - x[1], weight / 5e4, 1e-9);
		CHECK_NEAR(v[1], 0, 1e-9);
		CHECK_NEAR(scene_meeting_get_impulse(r.meeting, 0).y, -weight * 1e-3, 1e-9);
		end(&r);
	}
}

TEST(sphere_meeting, a_belt_takes_a_sphere_along)
{
	// A rough belt turns a sphere until it rolls: v + w l = 1, where the push that gives v gives w by its lever l, the radius
	// less the overlap. A ball that does not give way (l = r) gets 2/7 of the speed of the belt.
	const double l = 0.1 - 1000 * 4.0 / 3 * SIM_PI * 1e-3 * 9.81 / 5e4;
	run r;
	start(&r,
		ONE_SPHERE("'mesh': 'floor', 'kind': 'kinematic', 'velocity': [1, 0, 0]",
			"'lower': [-0.1, -0.00082, -0.1], 'upper': [0.100000001, 0.199180001, 0.100000001]",
			"'restitution': 0.2, 'tangential': 'spring', 'friction': 0.5", ""),
		1);
	advance(&r, 1000);
	double x[3], v[3], w[3];
	get_sphere(&r, x, v, w);
	CHECK_NEAR(v[0], 1 / (1 + l * l / (0.4 * 0.1 * 0.1)), 1e-4);
	CHECK_NEAR(v[0] + w[2] * l, 1, 1e-4);
	CHECK_NEAR(v[2], 0, 1e-4);
	end(&r);
}

TEST(sphere_meeting, a_sphere_rolls_over_the_edges_of_a_mesh)
{
	run r;
	start(&r,
		ONE_SPHERE("'mesh': 'floor', 'kind': 'static'",
			"'lower': [-2.3, -0.00082, -0.089], 'upper': [-2.099999999, 0.199180001, 0.111000001], 'velocity': [2, 0, 0], 'angular_velocity': [0, 0, -20]",
			"'restitution': 0.2, 'tangential': 'spring', 'friction': 0.5", ""),
		1);
	advance(&r, 2000); // 4 m, some 40 edges
	double x[3], v[3], w[3];
	get_sphere(&r, x, v, w);
	CHECK_NEAR(v[0], 2, 0.02);
	CHECK_NEAR(x[0], 1.8, 0.03);
	CHECK_NEAR(v[1], 0, 1e-5);
	CHECK_NEAR(v[2], 0, 1e-6);
	end(&r);
}

// ---- Many ----

#define CLOUD(two_way)                                                                                                          \
	"{'time_step': 1e-3, 'gravity': [0, 0, 0],"                                                                                 \
	"'bodies': {'solver': {'angular_damping': 0}, 'list': [{'name': 'crate', 'shape': 'box', 'half_extents': [0.1, 0.15, 0.2]," \
	"'mass': 2, 'position': [-0.3, 0.5, 0.5], 'velocity': [2, 0, 0], 'angular_velocity': [0, 3, 5]}]},"                         \
	"'spheres': {'substeps': 20, 'obstacles': ['crate'], 'two_way': " two_way ", 'box': {'walls': false},"                      \
	"'material': {'density': 1000, 'stiffness': 2e4, 'restitution': 0.5, 'tangential': 'spring', 'friction': 0.4,"              \
	"'rolling_friction': 0.05}, 'list': [{'random': 100, 'radius': [0.03, 0.05], 'lower': [0, 0.1, 0.1], 'upper': [0.8, 0.9, 0.9]}]}}"

typedef struct momenta {
	carom_vec3 linear, angular;
} momenta;

static momenta momenta_of(run *r)
{
	sim_granular_energy e;
	sim_error error = { "" };
	CHECK(sim_granular_get_energy(r->granular, &e, &error));
	const carom_vec3 v = scene_simulation_velocity(r->simulation, 0), c = scene_simulation_centre(r->simulation, 0);
	const carom_quat q = scene_simulation_body_def(r->simulation, 0).pose.orientation, back = { -q.x, -q.y, -q.z, q.w };
	carom_vec3 w = carom_rotate(back, scene_simulation_angular_velocity(r->simulation, 0));
	const double m = 2, a = 0.2 * 0.2, b = 0.3 * 0.3, d = 0.4 * 0.4;
	w = (carom_vec3){ w.x * m * (b + d) / 12, w.y * m * (a + d) / 12, w.z * m * (a + b) / 12 };
	const carom_vec3 spin = carom_rotate(q, w), orbit = sim_scale(sim_cross(c, v), m);
	return (momenta){ { e.momentum[0] + m * v.x, e.momentum[1] + m * v.y, e.momentum[2] + m * v.z },
		{ e.angular_momentum[0] + orbit.x + spin.x, e.angular_momentum[1] + orbit.y + spin.y,
			e.angular_momentum[2] + orbit.z + spin.z } };
}

TEST(sphere_meeting, a_free_collision_keeps_momentum)
{
	run r;
	start(&r, CLOUD("true"), 1);
	const momenta before = momenta_of(&r);
	advance(&r, 300);
	const momenta after = momenta_of(&r);
	CHECK(scene_simulation_velocity(r.simulation, 0).x < 1.5); // it has met something
	CHECK_NEAR(sim_length(sim_subtract(after.linear, before.linear)), 0, 1e-10);
	// ODE turns bodies by first order; so do the substeps.
	CHECK_NEAR(sim_length(sim_subtract(after.angular, before.angular)), 0, 2e-3 * sim_length(before.angular));
	end(&r);
}

static uint64_t hash_of_cloud(int threads)
{
	run r;
	start(&r, CLOUD("true"), threads);
	advance(&r, 150);
	double x[3], v[3], w[3];
	get_sphere(&r, x, v, w);
	uint64_t hash = scene_summarise(r.simulation).hash;
	for (int k = 0; k < 3; k++) {
		uint64_t bits[3];
		memcpy(&bits[0], &x[k], 8);
		memcpy(&bits[1], &v[k], 8);
		memcpy(&bits[2], &w[k], 8);
		for (int i = 0; i < 3; i++)
			hash = (hash ^ bits[i]) * 1099511628211u;
	}
	end(&r);
	return hash;
}

TEST(sphere_meeting, threads_change_nothing)
{
	const uint64_t hash = hash_of_cloud(1);
	CHECK(hash_of_cloud(2) == hash);
	CHECK(hash_of_cloud(4) == hash);
}

TEST(sphere_meeting, a_body_that_does_not_answer_goes_its_way)
{
	run r;
	start(&r, CLOUD("false"), 1);
	advance(&r, 100);
	const uint64_t hash = scene_summarise(r.simulation).hash;
	double impulse = 0;
	for (int i = 0; i < 50; i++) {
		advance(&r, 1);
		impulse += sim_length(scene_meeting_get_impulse(r.meeting, 0));
	}
	CHECK(impulse > 0.01);
	end(&r);
	start(&r, CLOUD("false"), 1);
	for (int i = 0; i < 100; i++)
		CHECK(scene_simulate_step(r.simulation, NULL, &(sim_error){ "" }));
	CHECK(scene_summarise(r.simulation).hash == hash);
	end(&r);
}

TEST(sphere_meeting, a_bed_carries_a_body)
{
	run r;
	start(&r,
		"{'time_step': 1e-3, 'bodies': {'list': [{'name': 'crate', 'shape': 'box', 'half_extents': [0.15, 0.1, 0.15],"
		"'mass': 3, 'position': [0.25, 0.62, 0.25]}]},"
		"'spheres': {'substeps': 10, 'obstacles': ['crate'], 'two_way': true, 'box': {'lower': [0, 0, 0], 'upper': [0.5, 2, 0.5]},"
		"'material': {'density': 1000, 'stiffness': 2e4, 'restitution': 0.1, 'tangential': 'spring', 'friction': 0.4,"
		"'rolling_friction': 0.1}, 'list': [{'random': 150, 'radius': [0.03, 0.04], 'lower': [0, 0, 0], 'upper': [0.5, 0.5, 0.5],"
		"'apart': false}]}}",
		2);
	advance(&r, 2500);
	double impulse = 0;
	for (int i = 0; i < 100; i++) {
		advance(&r, 1);
		impulse += scene_meeting_get_impulse(r.meeting, 0).y;
	}
	CHECK_NEAR(impulse / 0.1, 3 * 9.81, 0.02 * 3 * 9.81);
	CHECK_NEAR(sim_length(scene_simulation_velocity(r.simulation, 0)), 0, 0.01);
	CHECK(scene_simulation_centre(r.simulation, 0).y > 0.1 + 0.06); // on the bed, not on the ground
	end(&r);
}

// ---- Spheres that are far from all ----

/// A tube that turns, a crate and a cone that answer, and a wall. No sphere begins inside any of them.
#define FAR                                                                                                                \
	"{'time_step': 2e-3, 'meshes': {'tube': {'shape': 'torus', 'triangles': 800}},"                                        \
	"'bodies': {'list': [{'name': 'tube', 'mesh': 'tube', 'kind': 'kinematic', 'position': [0, 1, 0],"                     \
	"'angular_velocity': [0.7, 2, 0.4]}, {'name': 'crate', 'shape': 'box', 'half_extents': [0.2, 0.15, 0.2], 'mass': 3,"   \
	"'position': [0.3, 1.9, 0.2]}, {'name': 'cone', 'shape': 'cone', 'radius': 0.3, 'half_length': 0.3, 'mass': 2,"        \
	"'position': [-0.6, 2.1, 0.1]}, {'name': 'wall', 'shape': 'plane', 'kind': 'static', 'position': [0, 0, -1.45]}]},"    \
	"'spheres': {'substeps': 10, 'obstacles': 'all', 'two_way': true, 'box': {'lower': [-1.5, -1, -1.5],"                  \
	"'upper': [1.5, 4, 1.5]}, 'material': {'density': 1000, 'stiffness': 2e4, 'restitution': 0.3, 'tangential': 'spring'," \
	"'friction': 0.4}, 'list': [{'random': 600, 'radius': [0.03, 0.07], 'lower': [-1.4, 2.65, -1.4],"                      \
	"'upper': [1.4, 3.9, 1.4]}]}}"

/// Every place, velocity and spin of two runs.
static bool are_equal(run *a, run *b)
{
	const size_t n = (size_t)sim_granular_get_info(a->granular).count;
	double *all = malloc(18 * n * sizeof *all);
	REQUIRE(all != NULL);
	sim_granular_get_state(a->granular, all, NULL, all + 3 * n, all + 6 * n);
	sim_granular_get_state(b->granular, all + 9 * n, NULL, all + 12 * n, all + 15 * n);
	const bool equal = memcmp(all, all + 9 * n, 9 * n * sizeof *all) == 0;
	free(all);
	return equal && scene_summarise(a->simulation).hash == scene_summarise(b->simulation).hash;
}

TEST(sphere_meeting, spheres_that_are_known_to_be_far_change_nothing)
{
	run keeps, forgets;
	start(&keeps, FAR, 2);
	start(&forgets, FAR, 1);
	int64_t touches = 0;
	for (int i = 0; i < 450 && test_failures() == 0; i++) {
		sim_error error = { "" };
		touches += advance(&keeps, 1).wall_contacts;
		CHECK(scene_simulate_step(forgets.simulation, NULL, &error));
		for (int32_t k = 0; k < forgets.scene.spheres.substeps; k++) {
			scene_meeting_forget(forgets.meeting);
			CHECK(scene_meeting_advance(forgets.meeting, k, NULL, &error));
		}
		CHECK_STR(error.text, "");
		CHECK(are_equal(&keeps, &forgets));
	}
	CHECK(touches > 1000);
	end(&keeps);
	end(&forgets);
}

// ---- Scene files ----

static void refused(const char *obstacles, const char *text)
{
	char json[1000];
	scene_description scene;
	sim_error error = { "" };
	snprintf(json, sizeof json,
		"{'bodies': {'list': [{'name': 'a', 'shape': 'sphere', 'radius': 1, 'position': [0, 9, 0]}],"
		"'sources': [{'name': 'late', 'shape': 'sphere', 'radius': 0.1, 'position': [5, 9, 0], 'count': 2, 'start': 1}]},"
		"'spheres': {%s, 'list': [{'random': 1, 'radius': 0.1}]}}",
		obstacles);
	quote_scene(json);
	CHECK(!scene_parse("x.json", json, strlen(json), &scene, &error));
	CHECK_STR(error.text, text);
	scene_destroy(&scene);
}

// ---- Containers, and spheres that begin inside ----

/// A box of 12 triangles, of half a metre across, whose sides are given; and spheres in it.
#define IN_A_BOX(sides, bodies, lower, upper)                                                                                  \
	"{'time_step': 1e-3, 'meshes': {'b': {'shape': 'box', 'triangles': 12, 'fit': [0.5, 0.5, 0.5], 'centre': true" sides "}}," \
	"'bodies': {'list': [{'name': 'b', 'mesh': 'b', " bodies "}]},"                                                            \
	"'spheres': {'substeps': 20, 'obstacles': ['b'], 'box': {'lower': [-9, -9, -9], 'upper': [9, 9, 9], 'walls': false},"      \
	"'material': {'density': 1000, 'stiffness': 5e4, 'restitution': 0.5},"                                                     \
	"'list': [{'random': 40, 'radius': 0.03, 'lower': " lower ", 'upper': " upper "}]}}"

TEST(sphere_meeting, a_container_tumbles_its_spheres)
{
	run r;
	start(&r,
		IN_A_BOX(", 'sides': 'container'", "'kind': 'kinematic', 'angular_velocity': [0, 0, 5]", "[-0.2, -0.2, -0.2]",
			"[0.2, 0.2, 0.2]"),
		1);
	double *all = malloc(40 * 3 * sizeof *all);
	REQUIRE(all && sim_granular_get_info(r.granular).count == 40);
	for (int i = 0; i < 8; i++) {
		advance(&r, 100);
		const carom_pose pose = scene_simulation_body_def(r.simulation, 0).pose;
		sim_granular_get_state(r.granular, all, NULL, NULL, NULL);
		for (int k = 0; k < 40; k++) {
			const carom_vec3 p = carom_inverse_transform_point(pose, (carom_vec3){ all[3 * k], all[3 * k + 1], all[3 * k + 2] });
			CHECK(fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))) < 0.25 - 0.03 + 0.005);
		}
	}
	free(all);
	end(&r);
}

static void check_start(const char *text, const char *expected)
{
	run r;
	sim_error error = { "" };
	sim_granular_step step = { 0 };
	start(&r, text, 1);
	CHECK(scene_simulate_step(r.simulation, NULL, &error));
	CHECK(scene_meeting_advance(r.meeting, 0, &step, &error) == !*expected);
	CHECK_STR(error.text, expected);
	end(&r);
}

TEST(sphere_meeting, spheres_that_begin_inside_are_told)
{
	check_start(IN_A_BOX("", "'kind': 'static'", "[-0.2, -0.2, -0.2]", "[0.2, 0.2, 0.2]"),
		"test.json: field \"spheres.obstacles[0]\": 40 spheres begin with the middle inside of \"b\" (the first is sphere 0); "
		"a closed mesh that is to hold spheres needs \"sides\": \"container\" in its entry of \"meshes\"");
	check_start(IN_A_BOX("", "'kind': 'static'", "[-0.2, 0.3, -0.2]", "[0.2, 0.6, 0.2]"), "");
}

static void check_sides(const char *text, const char *expected)
{
	carom_context *context = NULL;
	scene_description scene;
	sim_error error = { "" };
	parse_quoted(text, &scene);
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK(!scene_create_simulation(context, &scene, NULL, &error));
	CHECK_STR(error.text, expected);
	carom_destroy_context(context);
	scene_destroy(&scene);
}

TEST(sphere_meeting, sides_that_a_closed_mesh_would_ignore_are_refused)
{
	check_sides(IN_A_BOX(", 'sides': 'front'", "'kind': 'static'", "[-0.2, -0.2, -0.2]", "[0.2, 0.2, 0.2]"),
		"test.json: field \"meshes.b.sides\": the mesh is closed, so it has an inside and no sides; \"container\" makes a closed "
		"mesh collide from within");
	check_sides(IN_A_BOX(", 'sides': 'container'", "'kind': 'dynamic'", "[-0.2, -0.2, -0.2]", "[0.2, 0.2, 0.2]"),
		"test.json:1: field \"bodies.list[0]\": its mesh is not closed, so it has no volume: give \"mass\" in place of "
		"\"density\"");
}

TEST(sphere_meeting, scene_files_at_fault_are_refused)
{
	refused(
		"'obstacles': ['b']", "x.json:1: field \"spheres.obstacles[0]\": must be the name of bodies of the section \"bodies\"");
	refused(
		"'obstacles': [7]", "x.json:1: field \"spheres.obstacles[0]\": must be the name of bodies of the section \"bodies\"");
	refused("'obstacles': ['a', 'a']", "x.json:1: field \"spheres.obstacles\": names \"a\" twice");
	refused("'obstacles': ['late']",
		"x.json:1: field \"spheres.obstacles[0]\": \"late\" is of a source: it must be there from the beginning");
	refused("'two_way': true", "x.json:1: field \"spheres.two_way\": needs \"obstacles\": they are what is pushed back");
}
