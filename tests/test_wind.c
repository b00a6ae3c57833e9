/// Wind on cloth, and pins that let go: speeds and angles that a formula gives, equal bits after a restart.
#include "quoted_scene.h"
#include "scene/scene_resume.h"
#include "scene/scene_run.h"
#include "scene/soft_fill.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static sim_soft *start(carom_context *context, const char *text)
{
	scene_description scene;
	sim_error error = { "" };
	parse_quoted(text, &scene);
	sim_soft *soft = scene_start_deforming(context, &scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(soft != NULL);
	scene_destroy(&scene);
	return soft;
}

static void go(sim_soft *soft, int steps)
{
	sim_error error = { "" };
	for (int i = 0; i < steps; i++)
		REQUIRE(sim_soft_advance(soft, NULL, &error));
}

static carom_context *make_context(int threads)
{
	carom_context *context;
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

/// Mean velocity of a body along y.
static double falls_at(const sim_soft *soft, int32_t body)
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	double sum = 0;
	for (int32_t i = s.body_vertices[body]; i < s.body_vertices[body + 1]; i++)
		sum += s.velocities[3 * (int64_t)i + 1];
	return sum / (s.body_vertices[body + 1] - s.body_vertices[body]);
}

// In still air a level sheet of d kg/m2 falls at the speed at which air of density r carries it: d g = r / 2 C v^2.
TEST(wind, a_sheet_falls_at_the_speed_of_its_drag)
{
	carom_context *context = make_context(2);
	sim_soft *soft = start(context,
		"{'deforming':{'solver':{'damping':0},'wind':{'air_density':1.3,'drag':1.2,'lift':0.4},"
		"'list':[{'form':'sheet','size':[0.5,0.5],'divisions':[6,6],'bending':10,'density':0.15},"
		"{'form':'sheet','size':[0.5,0.5],'divisions':[6,6],'bending':10,'density':0.6,'position':[2,0,0]},"
		"{'form':'sphere','radius':0.2,'divisions':[12,8],'keeps_volume':true,'position':[4,0,0]}]}}");
	go(soft, 300);
	CHECK_NEAR(falls_at(soft, 0), -sqrt(2 * 0.15 * 9.81 / (1.3 * 1.2)), 0.004);
	CHECK_NEAR(falls_at(soft, 1), -sqrt(2 * 0.6 * 9.81 / (1.3 * 1.2)), 0.008);
	// A ball has its surface for weight and its cross section for drag, of which pressure (here a third) pushes less at the sides.
	const double ball = -falls_at(soft, 2);
	CHECK(ball > sqrt(2 * 4 * 0.2 * 9.81 / (1.3 * 1.2)) * 0.98 && ball < 1.25 * sqrt(2 * 4 * 0.2 * 9.81 / (1.3 * 1.2)));
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

// A strip that hangs at an angle a is flat where weight and wind have no part along its normal together:
// d g sin(a) = r / 2 v^2 cos(a) (D cos(a) + L sin(a)^2).
static double angle_of_strip(double wind, double weight, double drag, double lift)
{
	double low = 0, high = 1.5707;
	for (int i = 0; i < 60; i++) {
		const double a = 0.5 * (low + high);
		if (weight * sin(a) < wind * cos(a) * (drag * cos(a) + lift * sin(a) * sin(a)))
			low = a;
		else
			high = a;
	}
	return low * 180 / 3.14159265;
}

TEST(wind, a_strip_hangs_at_the_angle_of_drag_and_lift)
{
	carom_context *context = make_context(2);
	sim_soft *soft = start(context,
		"{'deforming':{'solver':{'damping':2},'wind':{'velocity':[2,0,0],'drag':0.9,'lift':0.7},'list':[{'form':'sheet','size':[0.5,0.1],'divisions':[20,4],"
		"'rotation':{'axis':[0,0,1],'degrees':-60},'position':[0.125,-0.2165,0],'density':0.2,'bending':1e-6,'flat':true,'pins':[{'lower':[-9,-0.02,-9]}]}]}}");
	go(soft, 300);
	const sim_soft_surface s = sim_soft_get_surface(soft);
	const double *top = s.places, *bottom = s.places;
	for (int32_t i = 0; i < s.vertex_count; i++) {
		top = s.places[3 * i + 1] > top[1] ? s.places + 3 * i : top;
		bottom = s.places[3 * i + 1] < bottom[1] ? s.places + 3 * i : bottom;
	}
	const double tangent = (bottom[0] - top[0]) / (top[1] - bottom[1]);
	CHECK_NEAR(atan(tangent) * 180 / 3.14159265, angle_of_strip(0.6 * 4, 0.2 * 9.81, 0.9, 0.7), 0.3);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

#define FLAG(more, pins)                                                                                              \
	"{'deforming':{'wind':{'velocity':[6,0,1]" more "},'list':[{'form':'sheet','size':[0.6,0.4],'divisions':[24,16]," \
	"'rotation':{'axis':[1,0,0],'degrees':90},'pins':[{'upper':[-0.29,9,9]" pins "}]}]}}"

TEST(wind, threads_and_seeds_decide_as_they_should)
{
	uint64_t hash[4];
	const char *const gusts[] = { ",'gusts':{'strength':0.8,'period':0.1}", ",'gusts':{'strength':0.8,'period':0.1}",
		",'gusts':{'strength':0.8,'period':0.1,'seed':2}", "" };
	for (int i = 0; i < 4; i++) {
		char text[600];
		carom_context *context = make_context(1 + 3 * (i % 2));
		snprintf(text, sizeof text, FLAG("%s", ""), gusts[i]);
		sim_soft *soft = start(context, text);
		go(soft, 20);
		hash[i] = sim_soft_hash(soft);
		sim_destroy_soft(soft);
		carom_destroy_context(context);
	}
	CHECK(hash[0] == hash[1]);
	CHECK(hash[0] != hash[2] && hash[0] != hash[3] && hash[2] != hash[3]);
}

// Light cloth in a storm, in long steps: it must not be thrown faster than the wind, which would mean that the force has turned it round.
TEST(wind, a_storm_throws_nothing_beyond_its_speed)
{
	carom_context *context = make_context(2);
	sim_soft *soft = start(context,
		"{'time_step':0.0333,'deforming':{'solver':{'substeps':2,'damping':0},'wind':{'velocity':[0,60,0]},"
		"'list':[{'form':'sheet','size':[0.5,0.5],'divisions':[6,6],'density':0.01,'bending':1}]}}");
	for (int i = 0; i < 30; i++) {
		go(soft, 1);
		CHECK(falls_at(soft, 0) > -1 && falls_at(soft, 0) < 62);
	}
	CHECK_NEAR(falls_at(soft, 0), 60, 1);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

TEST(wind, a_pin_lets_go_when_it_is_due)
{
	carom_context *context = make_context(2);
	sim_soft *held = start(context,
		"{'time_step':0.01,'deforming':{'list':[{'form':'sheet','size':[0.5,0.5],'divisions':[12,12],'velocity':[0,0,0],"
		"'pins':[{'until':0.2}]}]}}");
	sim_soft *plain =
		start(context, "{'time_step':0.01,'deforming':{'list':[{'form':'sheet','size':[0.5,0.5],'divisions':[12,12]}]}}");
	const sim_soft_surface a = sim_soft_get_surface(held), b = sim_soft_get_surface(plain);
	go(held, 20);
	for (int64_t i = 0; i < 3 * (int64_t)a.vertex_count; i++)
		CHECK(a.velocities[i] == 0);
	for (int step = 0; step < 15; step++) {
		go(held, 1);
		go(plain, 1);
		for (int64_t i = 0; i < 3 * (int64_t)a.vertex_count; i++)
			CHECK_NEAR(a.places[i], b.places[i], 1e-12); // as if it had never been held
	}
	CHECK(falls_at(held, 0) < -1);
	sim_destroy_soft(plain);
	sim_destroy_soft(held);
	carom_destroy_context(context);
}

// Regions of a solid weigh vertices by their masses, and held ones have none.
TEST(wind, a_solid_that_is_let_go_bounces_as_if_it_had_never_been_held)
{
#define SOLID(MORE)                                                                                           \
	"{'time_step':0.01,'deforming':{'movers':[{'name':'floor','form':'sheet','size':[4,4],'divisions':[4,4]," \
	"'position':[0,-0.4,0]}],'list':[{'form':'sphere','radius':0.3,'divisions':[12,8],'keeps_volume':true" MORE "}]}}"
	carom_context *context = make_context(1);
	sim_soft *held = start(context, SOLID(",'pins':[{'until':0}]")), *plain = start(context, SOLID(""));
	const sim_soft_surface a = sim_soft_get_surface(held), b = sim_soft_get_surface(plain);
	for (int step = 0; step < 30; step++) {
		go(held, 1);
		go(plain, 1);
		for (int64_t i = 0; i < 3 * (int64_t)a.vertex_count; i++)
			CHECK_NEAR(a.places[i], b.places[i], 1e-9);
	}
	CHECK(falls_at(plain, 0) > -1.4); // it has met the floor, or it would fall at 2.9 m/s
	sim_destroy_soft(plain);
	sim_destroy_soft(held);
	carom_destroy_context(context);
}

// A hand throws a cloth: what it holds keeps the velocity of the hand when it lets go.
TEST(wind, what_is_let_go_keeps_its_velocity)
{
	carom_context *context = make_context(1);
	sim_soft *soft = start(context,
		"{'time_step':0.01,'gravity':[0,0,0],'deforming':{'solver':{'damping':0},'movers':[{'name':'hand','form':'sphere','radius':0.05,'divisions':[8,6],"
		"'keys':{'between':'linear','list':[{'time':0,'position':[0,1,0]},{'time':1,'position':[3,3,0]}]}}],"
		"'list':[{'form':'sheet','size':[0.5,0.5],'divisions':[6,6],'pins':[{'to':'hand','until':0.5}]}]}}");
	go(soft, 100);
	const sim_soft_surface s = sim_soft_get_surface(soft);
	for (int32_t i = s.body_vertices[1]; i < s.body_vertices[2]; i++) {
		CHECK_NEAR(s.velocities[3 * i], 3, 1e-6);
		CHECK_NEAR(s.velocities[3 * i + 1], 2, 1e-6);
	}
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

TEST(wind, restarts_around_a_release_give_equal_bits)
{
	static const int at[] = { 4, 11, 12, 20 };
	scene_description scene;
	sim_error error = { "" };
	char path[] = "/tmp/carom-wind-XXXXXX";
	const int file = mkstemp(path);
	REQUIRE(file >= 0 && close(file) == 0);
	parse_quoted(FLAG(",'gusts':{}", ",'until':0.2},{'upper':[-0.29,9,-0.1],'until':0.25"), &scene);
	scene_run run = { .scene = &scene };
	REQUIRE(carom_create_context(NULL, &run.context) == CAROM_SUCCESS);
	CHECK(scene_run_add_all(&run, NULL, NULL, &error));
	for (int k = 0; k < 4; k++) {
		uint64_t hash, again;
		scene_run other = { .scene = &scene, .context = run.context };
		bool done = true;
		while (run.steps < at[k] && done)
			done = scene_run_step_all(&run, NULL, &error);
		done = done && scene_save_run(&run, path, NULL, &error) && scene_run_add_all(&other, NULL, path, &error);
		for (int i = 0; i < (k == 0 ? 7 : 1) && done; i++)
			done = scene_run_step_all(&run, NULL, &error);
		while (other.steps < run.steps && done)
			done = scene_run_step_all(&other, NULL, &error);
		CHECK(done && scene_run_hash(&run, &hash, &error) && scene_run_hash(&other, &again, &error) && hash == again);
		scene_run_end(&other);
	}
	CHECK_STR(error.text, "");
	scene_run_end(&run);
	carom_destroy_context(run.context);
	scene_destroy(&scene);
	remove(path);
}

static void refuse(const char *text, const char *wanted)
{
	char json[900];
	scene_description scene;
	sim_error error = { "" };
	snprintf(json, sizeof json, "%s", text);
	quote_scene(json);
	CHECK(!scene_parse("a.json", json, strlen(json), &scene, &error));
	if (!strstr(error.text, wanted))
		CHECK_STR(error.text, wanted);
	scene_destroy(&scene);
}

TEST(wind, errors_name_the_field)
{
	refuse(FLAG(",'speed':1", ""), "field \"deforming.wind.speed\"");
	refuse(FLAG(",'drag':-1", ""), "field \"deforming.wind.drag\"");
	refuse(FLAG(",'gusts':{'period':0}", ""), "field \"deforming.wind.gusts.period\"");
	refuse(FLAG(",'gusts':{'strength':11}", ""), "field \"deforming.wind.gusts.strength\"");
	refuse(FLAG("", ",'until':-1"), "field \"deforming.list[0].pins[0].until\"");
	carom_context *context = make_context(1);
	scene_description scene;
	parse_quoted(FLAG("", ""), &scene);
	sim_soft_def def = scene.deforming.def;
	const double places[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 }, until[3] = { NAN, 0, 0 };
	const int32_t triangles[3] = { 0, 1, 2 }, pins[3] = { SIM_SOFT_PINNED, SIM_SOFT_FREE, SIM_SOFT_FREE };
	sim_soft_body body = sim_default_soft_body();
	sim_error error = { "" };
	body.places = places;
	body.triangles = triangles;
	body.pins = pins;
	body.vertex_count = 3;
	body.triangle_count = def.body_count = 1;
	def.bodies = &body;
	def.wind.lift = NAN;
	CHECK(sim_create_soft(context, &def, &error) == NULL && strstr(error.text, "wind.lift is out of range"));
	def.wind.lift = 1;
	body.until = until;
	CHECK(sim_create_soft(context, &def, &error) == NULL && strstr(error.text, "until: that of vertex 0"));
	carom_destroy_context(context);
	scene_destroy(&scene);
}
