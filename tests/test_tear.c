/// Pins that break by force, and cloth that tears: forces that statics gives, cloth that falls into two, equal bits.
#include "quoted_scene.h"
#include "scene/scene_resume.h"
#include "scene/scene_run.h"
#include "scene/soft_fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static carom_context *make_context(int threads)
{
	carom_context *context;
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

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

static sim_soft_step go(sim_soft *soft, int steps)
{
	sim_error error = { "" };
	sim_soft_step step = { 0 };
	for (int i = 0; i < steps; i++) {
		const bool done = sim_soft_advance(soft, &step, &error);
		CHECK_STR(error.text, "");
		REQUIRE(done);
	}
	return step;
}

// 0.3 kg/m2 of 0.4 x 0.5 m hang at one pin: 0.5886 N.
#define HANGING(force)                                                                                                \
	"{'deforming':{'solver':{'damping':4},'list':[{'form':'sheet','size':[0.4,0.5],'divisions':[8,10],'density':0.3," \
	"'rotation':{'axis':[1,0,0],'degrees':90},'pins':[{'lower':[-9,0.24,-9],'break_force':" force "}]}]}}"

TEST(tear, a_cloth_at_rest_pulls_at_its_pin_with_its_weight)
{
	carom_context *context = make_context(2);
	sim_soft *soft = start(context, HANGING("100"));
	CHECK_NEAR(go(soft, 600).pin_force, 0.3 * 0.4 * 0.5 * 9.81, 0.01);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

static double lowest(const sim_soft *soft)
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	double least = INFINITY;
	for (int32_t i = 0; i < s.vertex_count; i++)
		least = fmin(least, s.places[3 * (int64_t)i + 1]);
	return least;
}

TEST(tear, a_pin_breaks_below_the_weight_and_holds_above)
{
	for (int holds = 0; holds < 2; holds++) {
		carom_context *context = make_context(2);
		sim_soft *soft = start(context, holds ? HANGING("1.5") : HANGING("0.5"));
		int32_t broken = 0;
		for (int i = 0; i < 90; i++)
			broken += go(soft, 1).pins_broken;
		CHECK_INT(broken, 1 - holds);
		if (holds)
			CHECK(lowest(soft) > -0.3);
		else
			CHECK(lowest(soft) < -1); // it falls
		sim_destroy_soft(soft);
		carom_destroy_context(context);
	}
}

// A strip whose ends a mover pulls apart by 0.6 m/s: it falls into pieces.
#define STRIP(more)                                                                                                          \
	"{'gravity':[0,0,0],'deforming':{'substeps':2,'movers':[{'name':'hand','form':'sphere','radius':0.02,'divisions':[8,6]," \
	"'position':[0.5,0,0],'motion':{'velocity':[0.6,0,0]}}],'list':[{'form':'sheet','size':[0.6,0.2],'divisions':[18,6],"    \
	"'tear_stretch':0.15" more ",'pins':[{'upper':[-0.29,9,9]},{'lower':[0.29,-9,-9],'to':'hand'}]}]}}"

/// Pieces of a body that hang together by vertices of triangles.
static int32_t count_pieces(const sim_soft *soft, int32_t body)
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	const int32_t first = s.body_vertices[body], end = s.body_vertices[body + 1];
	int32_t *root = malloc((size_t)s.vertex_count * sizeof *root), pieces = end - first;
	REQUIRE(root != NULL);
	for (int32_t i = 0; i < s.vertex_count; i++)
		root[i] = i;
	for (int64_t k = 3 * (int64_t)s.body_triangles[body]; k < 3 * (int64_t)s.body_triangles[body + 1]; k++) {
		CHECK(s.triangles[k] >= first && s.triangles[k] < end);
		int32_t a = s.triangles[k], b = s.triangles[k - k % 3];
		while (root[a] != a)
			a = root[a];
		while (root[b] != b)
			b = root[b];
		pieces -= a != b;
		root[a] = b;
	}
	free(root);
	return pieces;
}

TEST(tear, a_strip_falls_in_two_and_keeps_its_mass_and_triangles)
{
	carom_context *context = make_context(2);
	sim_soft *soft = start(context, STRIP(""));
	const sim_soft_surface before = sim_soft_get_surface(soft);
	const int32_t vertices = before.vertex_count, triangles = before.triangle_count;
	int64_t tears = 0;
	int32_t crossings = 0;
	double worst = 0;
	CHECK_INT(count_pieces(soft, 1), 1);
	for (int i = 0; i < 90; i++) {
		const sim_soft_step step = go(soft, 1);
		tears += step.tears;
		worst = fmax(worst, step.stretch_worst);
	}
	const sim_soft_surface s = sim_soft_get_surface(soft);
	CHECK(count_pieces(soft, 1) >= 2);
	CHECK_INT(s.tears, tears);
	CHECK(s.vertex_count >= vertices + tears);
	CHECK_INT(s.triangle_count, triangles);
	CHECK(worst > 0.15 && worst < 0.6);      // the hand alone would draw it by 0.9
	CHECK(go(soft, 1).stretch_worst < 0.15); // at the end nothing is pulled any more
	CHECK(sim_soft_count_crossings(soft, &crossings) && crossings == 0);
	for (int64_t k = 0; k < 3 * (int64_t)s.vertex_count; k++)
		CHECK(isfinite(s.places[k]) && isfinite(s.velocities[k]));
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

TEST(tear, threads_do_not_matter)
{
	uint64_t hash[2];
	for (int i = 0; i < 2; i++) {
		carom_context *context = make_context(1 + 3 * i);
		sim_soft *soft = start(context, STRIP(""));
		go(soft, 60);
		CHECK(sim_soft_get_surface(soft).tears > 0);
		hash[i] = sim_soft_hash(soft);
		sim_destroy_soft(soft);
		carom_destroy_context(context);
	}
	CHECK(hash[0] == hash[1]);
}

// A state that is read in the middle of a tear, and after a pin has broken, goes on in equal bits.
TEST(tear, a_state_goes_on_in_equal_bits)
{
	const char *const texts[] = { STRIP(""), HANGING("0.5") };
	for (int i = 0; i < 2; i++) {
		for (int at = 5; at < 60; at += 9) {
			carom_context *context = make_context(2);
			sim_soft *one = start(context, texts[i]), *other = start(context, texts[i]);
			sim_tape tape = { .writing = true };
			sim_error error = { "" };
			go(one, at);
			REQUIRE(sim_soft_move_state(one, &tape, &error));
			tape.writing = false;
			tape.at = 0;
			REQUIRE(sim_soft_move_state(other, &tape, &error));
			CHECK(sim_tape_is_done(&tape));
			const sim_soft_surface a = sim_soft_get_surface(one), b = sim_soft_get_surface(other);
			CHECK(a.vertex_count == b.vertex_count && a.tears == b.tears);
			CHECK(!memcmp(a.triangles, b.triangles, 3 * (size_t)a.triangle_count * sizeof *a.triangles));
			go(one, 20);
			go(other, 20);
			CHECK(sim_soft_hash(one) == sim_soft_hash(other));
			sim_free_tape(&tape);
			sim_destroy_soft(one);
			sim_destroy_soft(other);
			carom_destroy_context(context);
		}
	}
}

TEST(tear, a_cloth_that_is_too_small_to_split_tears_nothing)
{
	carom_context *context = make_context(1);
	sim_soft *soft = start(context,
		"{'gravity':[0,0,0],'deforming':{'movers':[{'name':'hand','form':'sphere','radius':0.02,'divisions':[8,6],'position':[0.5,0,0],"
		"'motion':{'velocity':[0.5,0,0]}}],'list':[{'form':'sheet','size':[0.4,0.2],'divisions':[1,1],'tear_stretch':0.1,"
		"'pins':[{'upper':[-0.19,9,9]},{'lower':[0.19,-9,-9],'to':'hand'}]}]}}");
	CHECK(go(soft, 60).stretch_worst > 0.5);
	CHECK_INT(sim_soft_get_surface(soft).tears, 0); // all vertices are held
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

static void refuse(const char *fields, const char *part)
{
	char text[500];
	scene_description scene;
	sim_error error = { "" };
	snprintf(text, sizeof text, "{\"deforming\":{\"list\":[{\"form\":\"sheet\",\"size\":[1,1]%s}]}}", fields);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	CHECK(!scene_parse("folder/x.json", text, strlen(text), &scene, &error));
	if (!strstr(error.text, part))
		CHECK_STR(error.text, part);
	CHECK(strstr(error.text, "folder/x.json:1: ") == error.text);
}

TEST(tear, bad_fields_are_refused_by_name)
{
	refuse(",'divisions':[2,2],'tear_stretch':0", "field \"deforming.list[0].tear_stretch\"");
	refuse(",'divisions':[2,2],'tear_stretch':-1", "field \"deforming.list[0].tear_stretch\"");
	refuse(",'divisions':[2,2],'tear_stretch':0.2,'stretch_limit':0.1",
		"field \"deforming.list[0].tear_stretch\": needs a \"stretch_limit\" of 0");
	refuse(",'divisions':[2,2],'pins':[{'break_force':0}]", "field \"deforming.list[0].pins[0].break_force\"");
	refuse(",'divisions':[2,2],'pins':[{'break_force':'a lot'}]", "field \"deforming.list[0].pins[0].break_force\"");
	refuse(",'divisions':[2,2],'stretch_limit':0.1,'pins':[{'break_force':5}]",
		"pins[0].break_force\": needs a \"stretch_limit\" of 0");
	refuse(",'divisions':[2,2]},{'form':'sphere','radius':1,'divisions':[8,6],'keeps_volume':true,'tear_stretch':0.1",
		"deforming.list[1].tear_stretch\": is for cloth");
	refuse(",'divisions':[2,2]},{'form':'sphere','radius':1,'divisions':[8,6],'rigid':true,'mass':1,'tear_stretch':0.1",
		"deforming.list[1].tear_stretch\": a rigid body has none");
}

TEST(tear, bad_definitions_are_refused_by_name)
{
	const double places[] = { 0, 0, 0, 1, 0, 0, 0, 0, 1 }, zero = 0;
	const int32_t triangles[] = { 0, 1, 2 }, pins[] = { SIM_SOFT_PINNED, SIM_SOFT_FREE, SIM_SOFT_FREE },
				  numbers[] = { 0, -1, -1 }, far[] = { 3, -1, -1 };
	carom_context *context = make_context(1);
	for (int i = 0; i < 5; i++) {
		const double force = 5;
		sim_error error = { "" };
		sim_soft_body body = sim_default_soft_body();
		body.name = "cloth";
		body.vertex_count = 3;
		body.triangle_count = 1;
		body.places = places;
		body.triangles = triangles;
		body.stretch_limit = i == 0 ? 0.1 : 0;
		body.pins = pins;
		body.pin_numbers = i == 1 ? NULL : i == 2 ? far : numbers;
		body.break_forces = i == 3 ? &zero : &force;
		body.break_count = 1;
		body.tear_stretch = i == 4 ? NAN : 0;
		sim_soft_def def = sim_default_soft_def();
		def.bodies = &body;
		def.body_count = 1;
		CHECK(!sim_create_soft(context, &def, &error));
		const char *const parts[] = { "break_forces", "break_forces", "pin_numbers[0] is 3", "break_forces[0] is 0",
			"tear_stretch" };
		CHECK(strstr(error.text, "body 0 (\"cloth\")") && strstr(error.text, parts[i]));
	}
	carom_destroy_context(context);
}

// Grains lie in a cloth that is pulled apart under them: they fall through the tear, and none is lost in a surface.
TEST(tear, spheres_fall_through_a_tear)
{
	carom_context *context = make_context(2);
	sim_soft *soft = start(context,
		"{'deforming':{'substeps':2,'movers':[{'name':'hand','form':'sphere','radius':0.02,'divisions':[8,6],'position':[0.5,0,0],"
		"'motion':{'velocity':[0.6,0,0]}}],'list':[{'form':'sheet','size':[0.6,0.2],'divisions':[12,4],'tear_stretch':0.15,"
		"'pins':[{'upper':[-0.29,9,9]},{'lower':[0.29,-9,-9],'to':'hand'}]}]}}");
	sim_soft_sphere spheres[3];
	for (int i = 0; i < 3; i++)
		spheres[i] = (sim_soft_sphere){ .radius = 0.02, .mass = 0.02, .place = { 0.08 * (i - 1), 0.03, 0 }, .friction = 0.3 };
	for (int i = 0; i < 100; i++) {
		sim_error error = { "" };
		for (int k = 0; k < 3; k++)
			spheres[k].force[1] = -9.81 * spheres[k].mass;
		const bool met = sim_soft_meet(soft, 3, spheres, &error);
		CHECK_STR(error.text, "");
		REQUIRE(met);
		go(soft, 1);
		for (int k = 0; k < 3; k++) {
			const sim_soft_sphere_change change = sim_soft_get_change(soft, k);
			for (int c = 0; c < 3; c++) {
				const double fall = spheres[k].force[c] / spheres[k].mass / 120;
				spheres[k].velocity[c] += fall / 2 + change.impulse[c] / spheres[k].mass;
				spheres[k].spin[c] += change.angular_impulse[c] / (0.4 * spheres[k].mass * 4e-4);
				spheres[k].place[c] += change.touched ? change.way[c] : spheres[k].velocity[c] / 240;
			}
		}
	}
	int fell = 0;
	for (int k = 0; k < 3; k++)
		fell += spheres[k].place[1] < -0.1;
	CHECK(fell > 0);
	CHECK(sim_soft_get_surface(soft).tears > 0);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}
