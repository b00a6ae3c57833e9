/// Spheres that meet deforming bodies: momentum, weight, friction, and that no centre ever passes through a surface.
#include "quoted_scene.h"
#include "test.h"

#include "carom/mesh_query.h"
#include "scene/granular_fill.h"
#include "scene/soft_fill.h"
#include "scene/soft_meeting.h"
#include "sim/base/rotations.h"
#include "sim/base/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
	scene_description scene;
	carom_context *context;
	sim_soft *soft;
	sim_granular *granular;
	scene_soft_meeting *meeting;
	int64_t count;
	double *state; // [10*count]: places, velocities, spins, radii
} run;

static void begin(run *r, int threads)
{
	sim_error error = { "" };
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	REQUIRE(carom_create_context(&def, &r->context) == CAROM_SUCCESS);
	r->soft = scene_start_deforming(r->context, &r->scene, &error);
	CHECK_STR(error.text, "");
	scene_granular_filling filling;
	REQUIRE(r->soft && scene_fill_spheres(r->context, &r->scene, &filling, &error));
	const sim_granular_def grains = scene_filled_def(&r->scene, &filling);
	r->granular = sim_create_granular(r->context, &grains, &error);
	CHECK_STR(error.text, "");
	scene_destroy_filling(&filling);
	REQUIRE(r->granular);
	r->meeting = scene_create_soft_meeting(&r->scene, r->soft, r->granular, &error);
	REQUIRE(r->meeting);
	r->count = sim_granular_get_info(r->granular).count;
	r->state = malloc((size_t)r->count * 10 * sizeof *r->state);
	REQUIRE(r->state != NULL);
}

/// Quotes are written as apostrophes.
static void start(run *r, const char *text, int threads)
{
	*r = (run){ 0 };
	parse_quoted(text, &r->scene);
	begin(r, threads);
}

static bool try_step(run *r, sim_error *error)
{
	bool done = scene_soft_meeting_begin(r->meeting, error);
	for (int32_t i = 0; i < r->scene.deforming.substeps && done; i++)
		done = sim_soft_advance(r->soft, NULL, error);
	for (int32_t i = 0; i < r->scene.spheres.substeps && done; i++)
		done = scene_soft_meeting_push(r->meeting, i, error) && sim_granular_advance(r->granular, NULL, error);
	return done;
}

static void advance(run *r, int steps)
{
	for (int i = 0; i < steps; i++) {
		sim_error error = { "" };
		const bool done = try_step(r, &error);
		CHECK_STR(error.text, "");
		REQUIRE(done);
	}
	const int64_t n = 3 * r->count;
	sim_granular_get_state(r->granular, r->state, r->state + 3 * n, r->state + n, r->state + 2 * n);
}

static void end(run *r)
{
	free(r->state);
	scene_destroy_soft_meeting(r->meeting);
	sim_destroy_granular(r->granular);
	sim_destroy_soft(r->soft);
	carom_destroy_context(r->context);
	scene_destroy(&r->scene);
}

/// Least distance of a centre from the first deforming body, in radii of its sphere.
static double least_distance(const run *r)
{
	const sim_soft_surface s = sim_soft_get_surface(r->soft);
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	double least = INFINITY;
	def.vertices = (carom_strided){ s.places, 0, CAROM_FLOAT64 };
	def.vertex_count = s.body_vertices[1];
	def.triangles = s.triangles;
	def.triangle_count = s.body_triangles[1];
	REQUIRE(carom_create_mesh(r->context, &def, NULL, &mesh) == CAROM_SUCCESS);
	for (int64_t i = 0; i < r->count; i++) {
		const double *p = r->state + 3 * i;
		carom_mesh_point nearest;
		bool found;
		REQUIRE(carom_mesh_closest_point(mesh, (carom_vec3){ p[0], p[1], p[2] }, INFINITY, &found, &nearest) == CAROM_SUCCESS);
		least = fmin(least, fabs(nearest.distance) / r->state[9 * r->count + i]);
	}
	carom_release_mesh(mesh);
	return least;
}

// ---- Momentum ----

/// Momentum and angular momentum about the origin of both; masses of vertices [vertex_count].
static void sum_momentum(const run *r, const double *masses, double sphere_mass, carom_vec3 sums[2])
{
	const sim_soft_surface s = sim_soft_get_surface(r->soft);
	const double *state = r->state;
	sums[0] = sums[1] = (carom_vec3){ 0, 0, 0 };
	for (int32_t i = 0; i < s.vertex_count; i++) {
		const double *x = s.places + 3 * (int64_t)i, *v = s.velocities + 3 * (int64_t)i;
		const carom_vec3 p = sim_scale((carom_vec3){ v[0], v[1], v[2] }, masses[i]);
		sums[0] = sim_add(sums[0], p);
		sums[1] = sim_add(sums[1], sim_cross((carom_vec3){ x[0], x[1], x[2] }, p));
	}
	const carom_vec3 p = sim_scale((carom_vec3){ state[3], state[4], state[5] }, sphere_mass);
	const carom_vec3 spin = sim_scale((carom_vec3){ state[6], state[7], state[8] }, 0.4 * sphere_mass * 0.01);
	sums[0] = sim_add(sums[0], p);
	sums[1] = sim_add(sums[1], sim_add(sim_cross((carom_vec3){ state[0], state[1], state[2] }, p), spin));
}

/// A third of the area around each vertex, at the start.
static double *weigh_vertices(const sim_soft_surface *s, double density)
{
	double *masses = calloc((size_t)s->vertex_count, sizeof *masses);
	REQUIRE(masses != NULL);
	for (int32_t t = 0; t < s->triangle_count; t++) {
		const int32_t *v = s->triangles + 3 * (int64_t)t;
		carom_vec3 p[3];
		for (int i = 0; i < 3; i++)
			p[i] = (carom_vec3){ s->places[3 * v[i]], s->places[3 * v[i] + 1], s->places[3 * v[i] + 2] };
		const double area = 0.5 * sim_length(sim_cross(sim_subtract(p[1], p[0]), sim_subtract(p[2], p[0])));
		for (int i = 0; i < 3; i++)
			masses[v[i]] += density * area / 3;
	}
	return masses;
}

// A sphere that spins hits a sheet that floats, off its middle. Nothing else acts, so momentum stays.
TEST(soft_meeting, a_collision_keeps_momentum)
{
	run r;
	start(&r,
		"{'time_step': 0.002, 'gravity': [0, 0, 0], 'deforming': {'solver': {'damping': 0, 'substeps': 4}, 'list': ["
		"{'form': 'sheet', 'size': [1, 1], 'divisions': [12, 12], 'density': 3, 'friction': 0.5}]},"
		"'spheres': {'substeps': 4, 'deforming': true, 'box': {'lower': [-9, -9, -9], 'upper': [9, 9, 9], 'walls': false},"
		"'material': {'density': 300, 'stiffness': 1e4, 'tangential': 'spring', 'friction': 0.5}, "
		"'list': [{'random': 1, 'radius': 0.1, 'lower': [0, 0.02, -0.05], 'upper': [0.200000001, 0.220000001, 0.150000001],"
		"'velocity': [1, -6, 0], 'angular_velocity': [0, 0, 20]}]}}",
		1);
	const sim_soft_surface s = sim_soft_get_surface(r.soft);
	const double mass = 300 * 4.0 / 3 * SIM_PI * 1e-3;
	double *masses = weigh_vertices(&s, 3);
	carom_vec3 before[2], now[2];
	advance(&r, 0);
	sum_momentum(&r, masses, mass, before);
	for (int i = 0; i < 40; i++) {
		advance(&r, 1);
		sum_momentum(&r, masses, mass, now);
		CHECK(sim_length(sim_subtract(now[0], before[0])) < 1e-9 * mass * 6);
		// Steps by positions keep the turning only as far as they are short: here within 1.5 % of the blow about the sheet's edge.
		CHECK(sim_length(sim_subtract(now[1], before[1])) < 0.015 * mass * 6 * 0.5);
	}
	CHECK(r.state[4] > -5); // slower
	CHECK(r.state[8] < 19); // friction has taken from the spin
	CHECK(least_distance(&r) > 0.95);
	free(masses);
	end(&r);
}

// ---- Weight and friction ----

// A sphere bounces on a sheet that is held at its rim: the impulses are those of its weight and its change of speed.
TEST(soft_meeting, a_sphere_gets_what_a_sheet_gives)
{
	run r;
	start(&r,
		"{'time_step': 0.004, 'deforming': {'thickness': 0.004, 'list': [{'form': 'sheet', 'size': [1, 1], 'divisions': [14, 14],"
		"'density': 0.5, 'stiffness': 4000, 'pins': [{'upper': [-0.49, 1, 1]}, {'lower': [0.49, -1, -1]}, {'upper': [1, 1, -0.49]}, {'lower': [-1, -1, 0.49]}]}]},"
		"'spheres': {'substeps': 8, 'deforming': true, 'box': {'lower': [-9, -9, -9], 'upper': [9, 9, 9], 'walls': false},"
		"'material': {'density': 300, 'stiffness': 4000, 'restitution': 0.2, 'tangential': 'spring', 'friction': 0.4},"
		"'list': [{'random': 1, 'radius': 0.1, 'lower': [-0.1, 0.005, -0.1], 'upper': [0.100000001, 0.205000001, 0.100000001]}]}}",
		1);
	const double mass = sim_granular_get_info(r.granular).mass;
	double given = 0;
	advance(&r, 40 / TEST_FEWER);
	const double before = r.state[4];
	for (int i = 0; i < 60; i++) {
		advance(&r, 1);
		given += scene_soft_meeting_get_impulse(r.meeting).y;
		CHECK(least_distance(&r) > 0.97);
	}
	CHECK(given > 0.3 * 9.81 * mass * 60 * 0.004);
	CHECK_NEAR(given, mass * (9.81 * 60 * 0.004 + r.state[4] - before), 1e-9 * mass);
	end(&r);
}

/// The way of a sphere down a slope of 20 degrees of cloth that is held everywhere, in half a second.
static double roll(double friction)
{
	char text[2000];
	const double s = sin(SIM_PI / 9), c = cos(SIM_PI / 9), at = 0.1 + 0.0011;
	snprintf(text, sizeof text,
		"{'time_step': 0.004, 'deforming': {'thickness': 0.002, 'list': [{'form': 'sheet', 'size': [4, 0.5], 'divisions': [60, 6],"
		"'rotation': {'axis': [0, 0, 1], 'degrees': 20}, 'friction': %g, 'pins': [{}]}]},"
		"'spheres': {'substeps': 4, 'deforming': true, 'box': {'lower': [-9, -9, -9], 'upper': [9, 9, 9], 'walls': false},"
		"'material': {'density': 300, 'stiffness': 4000, 'tangential': 'spring', 'friction': %g}, 'list': [{'random': 1,"
		"'radius': 0.1, 'lower': [%.9f, %.9f, -0.1], 'upper': [%.9f, %.9f, 0.100000001]}]}}",
		friction, friction, -s * at - 0.1, c * at - 0.1, -s * at + 0.100000001, c * at + 0.100000001);
	run r;
	start(&r, text, 1);
	advance(&r, 0);
	const double from[2] = { r.state[0], r.state[1] };
	advance(&r, 125);
	const double way = -(r.state[0] - from[0]) * c - (r.state[1] - from[1]) * s;
	CHECK(least_distance(&r) > 0.99);
	end(&r);
	return way;
}

// Mechanics: it slides with g (sin - mu cos), and rolls with 5/7 g sin where friction suffices: mu above 2/7 tan.
TEST(soft_meeting, a_sphere_rolls_or_slides_down_a_slope_of_cloth)
{
	const double pull = 0.5 * 9.81 * sin(SIM_PI / 9) * 0.25, press = 0.5 * 9.81 * cos(SIM_PI / 9) * 0.25;
	CHECK_NEAR(roll(0), pull, 0.01 * pull);
	CHECK_NEAR(roll(0.05), pull - 0.05 * press, 0.01 * pull);
	CHECK_NEAR(roll(0.5), 5.0 / 7 * pull, 0.01 * pull);
}

// ---- Rigid bodies with mass ----

enum { BLOCK_MASS = 2 };

/// A sphere of radius 0.1 flies down at 3 m/s, so far beside the middle of a cube of side 0.3 and 2 kg that floats.
static void start_hit(run *r, double x, double z, double friction)
{
	char text[2000];
	snprintf(text, sizeof text,
		"{'time_step': 0.002, 'gravity': [0, 0, 0],"
		"'meshes': {'block': {'shape': 'box', 'triangles': 48, 'fit': [0.3, 0.3, 0.3], 'centre': true}},"
		"'deforming': {'thickness': 0.002, 'solver': {'damping': 0, 'substeps': 4}, 'list': ["
		"{'mesh': 'block', 'rigid': true, 'mass': 2, 'friction': %g}]},"
		"'spheres': {'substeps': 4, 'deforming': true, 'box': {'lower': [-9, -9, -9], 'upper': [9, 9, 9], 'walls': false},"
		"'material': {'density': 300, 'stiffness': 1e4, 'tangential': 'spring', 'friction': %g}, 'list': [{'random': 1, 'radius': 0.1,"
		"'lower': [%.9f, 0.3, %.9f], 'upper': [%.9f, 0.500000001, %.9f], 'velocity': [0, -3, 0]}]}}",
		friction, friction, x - 0.1, z - 0.1, x + 0.100000001, z + 0.100000001);
	start(r, text, 1);
	advance(r, 0);
}

/// Momentum and angular momentum about the origin of both, and their kinetic energy.
static double sum_of_hit(const run *r, double sphere_mass, carom_vec3 sums[2])
{
	const double *s = r->state, turning[2] = { 0.4 * sphere_mass * 0.01, BLOCK_MASS * 0.09 / 6 };
	double v[3], w[3];
	const carom_vec3 place[2] = { { s[0], s[1], s[2] }, sim_soft_get_solid(r->soft, 0, v, w).position };
	const carom_vec3 speed[2] = { { s[3], s[4], s[5] }, { v[0], v[1], v[2] } },
					 spin[2] = { { s[6], s[7], s[8] }, { w[0], w[1], w[2] } };
	double energy = 0;
	sums[0] = sums[1] = (carom_vec3){ 0, 0, 0 };
	for (int i = 0; i < 2; i++) {
		const double mass = i == 0 ? sphere_mass : BLOCK_MASS;
		const carom_vec3 p = sim_scale(speed[i], mass);
		sums[0] = sim_add(sums[0], p);
		sums[1] = sim_add(sums[1], sim_add(sim_cross(place[i], p), sim_scale(spin[i], turning[i])));
		energy += 0.5 * (mass * sim_dot(speed[i], speed[i]) + turning[i] * sim_dot(spin[i], spin[i]));
	}
	return energy;
}

// Mechanics: without restitution both go on together after a hit in the middle; momentum stays after each hit, and no energy is made.
TEST(soft_meeting, a_sphere_pushes_a_rigid_body)
{
	static const double beside[3][3] = { { 0, 0, 0.5 }, { 0.06, 0.03, 0 }, { 0.06, 0.03, 0.5 } };
	for (int i = 0; i < 3; i++) {
		run r;
		carom_vec3 before[2], now[2];
		double v[3], w[3];
		start_hit(&r, beside[i][0], beside[i][1], beside[i][2]);
		const double mass = sim_granular_get_info(r.granular).mass, blow = mass * 3, energy = sum_of_hit(&r, mass, before);
		for (int step = 0; step < 60; step++) {
			advance(&r, 1);
			CHECK(sum_of_hit(&r, mass, now) <= energy * (1 + 1e-9));
			CHECK(sim_length(sim_subtract(now[0], before[0])) < 1e-9 * blow);
			CHECK(sim_length(sim_subtract(now[1], before[1])) < 0.02 * blow * 0.15);
			CHECK(least_distance(&r) > 0.95);
		}
		sim_soft_get_solid(r.soft, 0, v, w);
		CHECK(v[1] < -0.5);
		if (i == 0) {
			CHECK_NEAR(v[1], -blow / (mass + BLOCK_MASS), 0.06 * blow / (mass + BLOCK_MASS));
			CHECK_NEAR(r.state[4], v[1], 0.06 * 3); // they part with a twentieth of the speed with which they met
		} else {
			CHECK(w[2] < -0.5 && w[0] > 0.2); // to the side that was hit
		}
		end(&r);
	}
}

// ---- The sack ----

// Grains poured into a sack: each stays outside the cloth and above its bottom, and the cloth carries the weight of all.
TEST(soft_meeting, a_sack_holds_grains)
{
	run r = { 0 };
	sim_error error = { "" };
	REQUIRE(scene_load(CAROM_SCENES "/sack.json", &r.scene, &error));
	r.scene.deforming.resolution = 0.5;
	REQUIRE(scene_set_sphere_count(&r.scene, 50, &error));
	begin(&r, 1);
	const double weight = 9.81 * sim_granular_get_info(r.granular).mass;
	double carried = 0;
	for (int i = 0; i < 60 / TEST_FEWER; i++) {
		int32_t crossings = -1;
		advance(&r, 10);
		CHECK(least_distance(&r) > 0.9);
		REQUIRE(sim_soft_count_crossings(r.soft, &crossings));
		CHECK_INT(crossings, 0);
	}
	for (int i = 0; i < 60; i++) {
		advance(&r, 1);
		carried += scene_soft_meeting_get_impulse(r.meeting).y / (60 * r.scene.time_step);
	}
	CHECK_NEAR(carried, weight, 0.02 * weight + (TEST_FEWER > 1 ? weight : 0));
	for (int64_t i = 0; i < r.count; i++)
		CHECK(r.state[3 * i + 1] > -0.05);
	end(&r);
}

// ---- Fast spheres ----

#define FAST(velocity)                                                                                                          \
	"{'time_step': 0.01, 'gravity': [0, 0, 0], 'deforming': {'list': [{'form': 'sheet', 'size': [1, 1], 'divisions': [10, 10]," \
	"'density': 0.5, 'pins': [{'upper': [-0.49, 1, 1]}, {'lower': [0.49, -1, -1]}]}]}, 'spheres': {'substeps': 4,"              \
	"'deforming': true, 'box': {'lower': [-90, -90, -90], 'upper': [90, 90, 90], 'walls': false}, 'material': {'density': 10,"  \
	"'stiffness': 500}, 'list': [{'random': 1, 'radius': 0.05, 'lower': [0.01, 0.5, 0.01], 'upper': [0.110000001, "             \
	"0.600000001, 0.110000001], 'velocity': [0, " velocity ", 0]}]}}"

// Steps are halved until no centre can pass a surface, or it is said that this does not suffice.
TEST(soft_meeting, a_fast_sphere_does_not_pass_a_sheet)
{
	run r;
	sim_error error = { "" };
	start(&r, FAST("-40"), 1);
	for (int i = 0; i < 12; i++) {
		advance(&r, 1);
		const sim_soft_surface s = sim_soft_get_surface(r.soft);
		double lowest = INFINITY;
		for (int32_t k = 0; k < s.vertex_count; k++)
			lowest = fmin(lowest, s.places[3 * (int64_t)k + 1]);
		CHECK(r.state[1] > lowest);
		CHECK(least_distance(&r) > 0.5);
	}
	CHECK(r.state[4] > -20);
	end(&r);
	start(&r, FAST("-100000"), 1);
	CHECK(!try_step(&r, &error));
	CHECK(strstr(error.text, "sphere 0 ") == error.text);
	end(&r);
}

// ---- Threads ----

static uint64_t hash_with(int threads)
{
	run r = { 0 };
	sim_error error = { "" };
	REQUIRE(scene_load(CAROM_SCENES "/sack.json", &r.scene, &error));
	REQUIRE(scene_set_sphere_count(&r.scene, 30, &error));
	begin(&r, threads);
	advance(&r, 80 / TEST_FEWER);
	uint64_t hash = sim_soft_hash(r.soft);
	for (int64_t i = 0; i < 9 * r.count; i++) {
		uint64_t word;
		memcpy(&word, &r.state[i], sizeof word);
		hash = (hash ^ word) * 0x100000001b3u;
	}
	end(&r);
	return hash;
}

TEST(soft_meeting, threads_change_nothing) { CHECK(hash_with(1) == hash_with(3)); }

// ---- Misuse ----

TEST(soft_meeting, numbers_out_of_range_are_named)
{
	run r;
	start(&r, FAST("-1"), 1);
	sim_soft_sphere good = { .radius = 0.05, .mass = 1, .place = { 0, 1, 0 } };
	const struct {
		size_t field;
		double value;
		const char *text;
	} cases[] = {
		{ offsetof(sim_soft_sphere, radius), -1, "spheres[1].radius is out of range" },
		{ offsetof(sim_soft_sphere, mass), 0, "spheres[1].mass is out of range" },
		{ offsetof(sim_soft_sphere, place[2]), NAN, "spheres[1].place is out of range" },
		{ offsetof(sim_soft_sphere, velocity[0]), INFINITY, "spheres[1].velocity is out of range" },
		{ offsetof(sim_soft_sphere, spin[1]), NAN, "spheres[1].spin is out of range" },
		{ offsetof(sim_soft_sphere, force[1]), NAN, "spheres[1].force is out of range" },
		{ offsetof(sim_soft_sphere, friction), -0.5, "spheres[1].friction is out of range" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sim_soft_sphere two[2] = { good, good };
		sim_error error = { "" };
		memcpy((char *)&two[1] + cases[i].field, &cases[i].value, sizeof cases[i].value);
		CHECK(!sim_soft_meet(r.soft, 2, two, &error));
		CHECK_STR(error.text, cases[i].text);
	}
	sim_error error = { "" };
	CHECK(!sim_soft_meet(r.soft, -1, NULL, &error));
	CHECK_STR(error.text, "count: -1 is below 0");
	CHECK(!sim_soft_meet(r.soft, 1, NULL, &error));
	CHECK_STR(error.text, "spheres: NULL, but the count is 1");
	CHECK(sim_soft_meet(r.soft, 1, &good, &error));
	CHECK(!sim_soft_meet(r.soft, 0, NULL, &error));
	CHECK_STR(error.text, "count: there are 1 spheres, not 0");
	REQUIRE(sim_soft_advance(r.soft, NULL, &error));
	sim_soft_sphere other = good;
	other.radius = 0.06;
	CHECK(!sim_soft_meet(r.soft, 1, &other, &error));
	CHECK_STR(error.text, "spheres[0].radius: it was 0.05, and cannot become 0.06");
	other = good;
	other.place[1] = -1;
	CHECK(!sim_soft_meet(r.soft, 1, &other, &error));
	CHECK_STR(error.text, "spheres[0].place: it may have passed through a surface since the last step");
	CHECK(sim_soft_meet(r.soft, 1, &good, &error));
	end(&r);
}

TEST(soft_meeting, pushes_need_touches)
{
	const double place[3] = { 0, 0, 0 }, radius = 1, impulse[3] = { 1, 0, 0 };
	carom_context *context = NULL;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	sim_granular_def def = sim_default_granular_def();
	sim_error error = { "" };
	def.count = 1;
	def.centres = (carom_strided){ place, 0, CAROM_FLOAT64 };
	def.radii = (carom_strided){ &radius, 0, CAROM_FLOAT64 };
	for (int i = 0; i < 2; i++) {
		def.touches = i == 1;
		sim_granular *g = sim_create_granular(context, &def, &error);
		REQUIRE(g != NULL);
		CHECK(sim_granular_push(g, impulse, NULL, &error) == def.touches);
		double velocity[3], mass = sim_granular_get_info(g).mass;
		sim_granular_get_state(g, NULL, NULL, velocity, NULL);
		CHECK_NEAR(velocity[0], def.touches ? 1 / mass : 0, 1e-12);
		sim_destroy_granular(g);
	}
	CHECK_STR(error.text, "impulses: the definition of the simulation has no touches (sim_granular_def.touches)");
	carom_destroy_context(context);
}

TEST(soft_meeting, a_sphere_that_starts_in_a_surface_is_named)
{
	run r;
	sim_error error = { "" };
	start(&r, FAST("-1"), 1);
	const sim_soft_sphere at = { .radius = 0.05, .mass = 1, .place = { 0.1, 0.02, 0.1 } };
	CHECK(sim_soft_meet(r.soft, 1, &at, &error));
	CHECK(!sim_soft_advance(r.soft, NULL, &error));
	CHECK_STR(error.text, "sphere 0 and body \"cloth\" overlap at the start");
	end(&r);
}

// A scene that cannot be: spheres meet nothing that deforms.
TEST(soft_meeting, the_section_must_be_there)
{
	static const char text[] = "{\"spheres\": {\"deforming\": true, \"list\": [{\"random\": 1, \"radius\": 0.1}]}}";
	scene_description scene;
	sim_error error = { "" };
	CHECK(!scene_parse("x.json", text, strlen(text), &scene, &error));
	CHECK(strstr(error.text, "\"spheres.deforming\": needs the section \"deforming\"") != NULL);
}
