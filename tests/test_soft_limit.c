/// Cloth that keeps its limit of stretch in every step: the longest edge, found here from the places; and what that rests on:
/// distances along a surface, and colours of constraints.
#include "soft_fixture.h"
#include "test.h"

#include "scene/soft_fill.h"
#include "sim/cloth/soft_colors.h"
#include "sim/cloth/soft_geodesic.h"
#include "sim/cloth/soft_topology.h"
#include "sim/shapes/form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Stretch ----

static carom_context *make_context(int threads)
{
	carom_context_def def = carom_default_context_def();
	carom_context *context = NULL;
	def.thread_count = threads;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

static double side(const double *places, int32_t a, int32_t b)
{
	double square = 0;
	for (int k = 0; k < 3; k++) {
		const double d = places[3 * (int64_t)a + k] - places[3 * (int64_t)b + k];
		square += d * d;
	}
	return sqrt(square);
}

/// The largest stretch of an edge of deforming bodies, of the places now beside those of the start.
static double longest(const sim_soft *soft, const double *rest)
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	double worst = 0;
	for (int32_t body = 0; body < s.body_count; body++) {
		for (int32_t t = s.body_triangles[body]; !sim_soft_is_rigid(soft, body) && t < s.body_triangles[body + 1]; t++) {
			for (int i = 0; i < 3; i++) {
				const int32_t a = s.triangles[3 * (int64_t)t + i], b = s.triangles[3 * (int64_t)t + (i + 1) % 3];
				const double stretch = side(s.places, a, b) / side(rest, a, b) - 1;
				worst = stretch > worst ? stretch : worst;
			}
		}
	}
	return worst;
}

typedef struct stretched {
	double most, last; // of all steps, of the last one
	int64_t impacts;
	double mean; // the solver's own, most of all steps
} stretched;

static stretched run_stretched(const char *text, int steps, int threads)
{
	carom_context *context = make_context(threads);
	sim_soft *soft = fixture_start_soft(context, text);
	const sim_soft_surface s = sim_soft_get_surface(soft);
	const size_t bytes = (size_t)s.vertex_count * 3 * sizeof(double);
	double *rest = malloc(bytes);
	REQUIRE(rest != NULL);
	memcpy(rest, s.places, bytes);
	stretched result = { 0 };
	for (int i = 0; i < steps; i++) {
		sim_soft_step step = { 0 };
		sim_error error = { "" };
		const bool done = sim_soft_advance(soft, &step, &error);
		CHECK_STR(error.text, "");
		REQUIRE(done);
		result.last = longest(soft, rest);
		result.most = fmax(result.most, result.last);
		result.mean = fmax(result.mean, step.stretch_mean);
		result.impacts += step.impacts;
		CHECK_INT(step.zones, 0);
	}
	int32_t crossings = -1;
	REQUIRE(sim_soft_count_crossings(soft, &crossings));
	CHECK_INT(crossings, 0);
	free(rest);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	return result;
}

// The scene cloth_ball at a part of its fineness, faster, so that the sheet is wound up soon.
#define BALL_SCENE(resolution)                                                                                             \
	"{\"time_step\": 0.008333333333333333, \"deforming\": {\"resolution\": " resolution ", \"thickness\": 0.003, "         \
	"\"movers\": [{\"form\": \"sphere\", \"radius\": 0.7, \"divisions\": [60, 40], \"friction\": 1,"                       \
	"  \"motion\": {\"spin\": {\"degrees_per_second\": 150}, \"ramp\": 0.5}}],"                                            \
	" \"list\": [{\"form\": \"sheet\", \"size\": [2.8, 2.8], \"divisions\": [214, 214], \"position\": [0.03, 0.75, 0.02]," \
	"  \"rotation\": {\"degrees\": 20}, \"velocity\": [0, -1, 0]}]}}"

TEST(soft_limit, a_coarse_sheet_on_a_ball_keeps_its_edges)
{
	const stretched result = run_stretched(BALL_SCENE("0.12"), 120 / TEST_FEWER, 2);
	CHECK(result.impacts > 100);
	CHECK(result.most <= 0.03 + 1e-9);
	CHECK(result.most > 0.01); // else nothing was tried
}

TEST(soft_limit, a_fine_sheet_on_a_ball_keeps_its_edges)
{
	const stretched result = run_stretched(BALL_SCENE("0.3"), TEST_FEWER > 1 ? 20 : 48, 2);
	CHECK(result.impacts > (TEST_FEWER > 1 ? 10 : 1000)); // the sheet has only begun to lie on it
	CHECK(result.most <= 0.03 + 1e-9);
	CHECK(result.mean < 0.01);
}

TEST(soft_limit, a_skirt_that_swings_keeps_its_edges)
{
	const stretched result = run_stretched(
		"{\"time_step\": 0.008333333333333333, \"deforming\": {\"thickness\": 0.003, \"movers\": ["
		" {\"name\": \"hips\", \"form\": \"sphere\", \"radius\": 0.19, \"divisions\": [12, 7], \"position\": [0, -0.1, 0],"
		"  \"motion\": {\"swing\": {\"degrees\": 100, \"period\": 0.8}}},"
		" {\"form\": \"capsule\", \"radius\": 0.08, \"length\": 0.7, \"divisions\": [8, 7], \"position\": [0, -0.3, 0],"
		"  \"motion\": {\"swing\": {\"axis\": [1, 0, 0], \"degrees\": 30, \"period\": 0.8}}}],"
		" \"list\": [{\"form\": \"skirt\", \"radius\": 0.23, \"hem_radius\": 0.45, \"length\": 0.6, \"folds\": 10, \"fold_depth\": 0.07,"
		"  \"divisions\": [120, 15], \"flat\": true, \"pins\": [{\"lower\": [-1, -0.01, -1], \"to\": \"hips\"}]}]}}",
		TEST_FEWER > 1 ? 25 : 60, 2);
	CHECK(result.impacts > 100);
	CHECK(result.most <= 0.03 + 1e-9);
}

// A cloth of 4 kg/m2 that hangs, four metres long: 157 N/m on 2,000 N/m would make it 7.8 % longer at its top.
#define CURTAIN(limit)                                                                                                     \
	"{\"time_step\": 0.008333333333333333, \"deforming\": {\"solver\": {\"damping\": 4}, \"list\": [{\"form\": \"sheet\"," \
	" \"size\": [1, 4], \"divisions\": [4, 16], \"density\": 4, " limit                                                    \
	" \"rotation\": {\"axis\": [1, 0, 0], \"degrees\": 90}, \"pins\": [{\"lower\": [-1, 1.99, -1], \"upper\": [1, 2.01, 1]}]}]}}"

TEST(soft_limit, a_heavy_curtain_hangs_at_its_limit_or_as_hooke_says)
{
	const stretched held = run_stretched(CURTAIN(""), 300, 1);
	CHECK(held.most <= 0.03 + 1e-9);
	CHECK(held.last > 0.02);
	const stretched free_one = run_stretched(CURTAIN("\"stretch_limit\": 0,"), 300, 1);
	CHECK_NEAR(free_one.last, 0.065, 0.012); // slanting edges carry a part of it
	const stretched other = run_stretched(CURTAIN("\"stretch_limit\": 0.05,"), 300, 1);
	CHECK(other.most <= 0.05 + 1e-9);
	CHECK(other.last > 0.035);
}

// Nothing can keep the edges between two things that move apart. Both are still held, and the steps go on.
TEST(soft_limit, a_cloth_that_is_torn_at_stretches_and_goes_on)
{
	const stretched result = run_stretched(
		"{\"time_step\": 0.01, \"gravity\": [0, 0, 0], \"deforming\": {\"movers\": ["
		" {\"name\": \"left\", \"form\": \"sphere\", \"radius\": 0.1, \"divisions\": [6, 4], \"position\": [-2, 0, 0],"
		"  \"motion\": {\"velocity\": [-1, 0, 0]}},"
		" {\"name\": \"right\", \"form\": \"sphere\", \"radius\": 0.1, \"divisions\": [6, 4], \"position\": [2, 0, 0],"
		"  \"motion\": {\"velocity\": [1, 0, 0]}}],"
		" \"list\": [{\"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [8, 8], \"pins\": ["
		"  {\"lower\": [-1, -1, -1], \"upper\": [-0.49, 1, 1], \"to\": \"left\"}, {\"lower\": [0.49, -1, -1], \"to\": \"right\"}]}]}}",
		10, 1);
	CHECK(result.last >= 0.2 - 1e-9);
}

// A ball that nothing stops flies through a sheet that is held at two sides. With lead_apart the sheet lets it pass at about twice its
// length, and is whole afterwards, on one side of the ball; without, it is drawn along.
TEST(soft_limit, a_fast_ball_passes_a_sheet_that_is_held)
{
	static const struct {
		int rate, steps;
		double speed;
	} runs[] = { { 24, 24, 15 }, { 120, 60, 15 }, { 60, 80, 3 } };
	for (int i = 0; i < 4; i++) {
		const bool leads = i < 3;
		char text[1000];
		snprintf(text, sizeof text,
			"{\"time_step\": %.17g, \"deforming\": {\"solver\": {\"lead_apart\": %s}, \"movers\": [{\"form\": \"sphere\", \"radius\": 0.2,"
			"\"divisions\": [20, 12], \"position\": [0.03, -1, 0.02], \"motion\": {\"velocity\": [0, %g, 0]}}],"
			"\"list\": [{\"form\": \"sheet\", \"size\": [1.2, 1.2], \"divisions\": [16, 16], \"pins\": ["
			"{\"lower\": [-0.61, -1, -1], \"upper\": [-0.59, 1, 1]}, {\"lower\": [0.59, -1, -1], \"upper\": [0.61, 1, 1]}]}]}}",
			1.0 / runs[i % 3].rate, leads ? "true" : "false", runs[i % 3].speed);
		carom_context *context = make_context(1);
		sim_soft *soft = fixture_start_soft(context, text);
		sim_soft_step step = { 0 };
		double most = 0;
		int32_t gave_way = 0;
		for (int k = 0; k < (leads ? runs[i].steps : 6); k++) {
			sim_error error = { "" };
			const bool done = sim_soft_advance(soft, &step, &error);
			CHECK_STR(error.text, "");
			REQUIRE(done);
			most = fmax(most, step.stretch_worst);
			gave_way += step.gave_way;
		}
		CHECK((gave_way > 0) == leads);
		CHECK(leads ? most < 1.2 : most > 5);
		CHECK(!leads || (step.stretch_worst <= 0.03 + 1e-9 && step.crossings == 0));
		sim_destroy_soft(soft);
		carom_destroy_context(context);
	}
}

// Fine enough for all threads to have work in each colour.
TEST(soft_limit, threads_do_not_show_in_a_fine_sheet_determinism)
{
	uint64_t hash[2];
	static const int threads[2] = { 1, 4 };
	for (int i = 0; i < 2; i++) {
		carom_context *context = make_context(threads[i]);
		sim_soft *soft = fixture_start_soft(context, BALL_SCENE("0.25"));
		sim_error error = { "" };
		for (int step = 0; step < 20 / TEST_FEWER; step++)
			REQUIRE(sim_soft_advance(soft, NULL, &error));
		hash[i] = sim_soft_hash(soft);
		sim_destroy_soft(soft);
		carom_destroy_context(context);
	}
	CHECK(hash[0] == hash[1]);
}

// ---- Colours ----

// Constraints of four vertices at random, many of them at one: no two of a colour share a vertex that moves, but in the last group.
TEST(soft_limit, constraints_of_a_colour_share_nothing_that_moves)
{
	enum { VERTICES = 300, COUNT = 2000, HUB = 7, HELD = 11 };
	static int32_t vertices[COUNT][4];
	static int32_t order[COUNT];
	static uint8_t color[COUNT];
	static uint64_t masks[VERTICES];
	static double inverse_mass[VERTICES];
	static bool seen[COUNT];
	uint32_t random = 12345;
	for (int i = 0; i < VERTICES; i++)
		inverse_mass[i] = i == HELD ? 0 : 1;
	for (int i = 0; i < COUNT; i++) {
		for (int k = 0; k < 4; k++) {
			random = random * 1664525u + 1013904223u;
			vertices[i][k] = k == 0 && i % 10 == 0 ? HUB : k == 1 ? HELD : (int32_t)(random >> 8) % VERTICES;
		}
	}
	soft_colors colors;
	const soft_things things = { vertices, sizeof vertices[0], 4, COUNT };
	soft_color_things(&things, inverse_mass, VERTICES, masks, color, order, &colors);
	CHECK_INT(colors.count, SOFT_MOST_COLORS); // 200 of them meet in the hub
	CHECK_INT(colors.first[colors.count], COUNT);
	for (int c = 0; c < colors.count; c++) {
		bool moved[VERTICES] = { false };
		for (int64_t i = colors.first[c]; i < colors.first[c + 1]; i++) {
			CHECK(!seen[order[i]]);
			seen[order[i]] = true;
			CHECK(i == colors.first[c] || order[i] > order[i - 1]);
			for (int k = 0; k < 4 && c < SOFT_MOST_COLORS - 1; k++) {
				const int32_t v = vertices[order[i]][k];
				bool again = false; // in one and the same constraint
				for (int m = 0; m < k; m++)
					again |= vertices[order[i]][m] == v;
				CHECK(again || inverse_mass[v] == 0 || !moved[v]);
				moved[v] = true;
			}
		}
	}
}

// ---- Distances along a surface ----

/// Distances from a vertex to all others of a surface, by a simulation that is never moved.
static double *find_all(const sim_form_mesh *mesh, int32_t from)
{
	sim_soft shell = { .allocator = carom_default_allocator(),
		.vertex_count = mesh->vertex_count,
		.triangle_count = mesh->triangle_count,
		.triangles = mesh->triangles,
		.place = mesh->places };
	shell.around_first = malloc(((size_t)mesh->vertex_count + 1) * sizeof *shell.around_first);
	shell.around = malloc(3 * (size_t)mesh->triangle_count * sizeof *shell.around);
	REQUIRE(shell.around_first != NULL && shell.around != NULL);
	soft_list_around(&shell);
	soft_geodesic *geodesic = soft_create_geodesic(&shell);
	double *distances = malloc((size_t)mesh->vertex_count * sizeof *distances);
	int32_t *to = malloc((size_t)mesh->vertex_count * sizeof *to);
	REQUIRE(geodesic != NULL && distances != NULL && to != NULL);
	for (int32_t i = 0; i < mesh->vertex_count; i++)
		to[i] = i;
	REQUIRE(soft_find_distances(geodesic, from, to, mesh->vertex_count, distances));
	// Asked again, for fewer, it says the same.
	double some[2];
	REQUIRE(soft_find_distances(geodesic, from, (const int32_t[2]){ 3, 3 }, 2, some));
	CHECK(some[0] == distances[3] && some[1] == distances[3]);
	soft_destroy_geodesic(geodesic);
	free(shell.around_first);
	free(shell.around);
	free(to);
	return distances;
}

TEST(soft_limit, distances_in_a_plane_are_straight)
{
	const sim_form form = { .kind = SIM_FORM_SHEET, .size = { 1.3, 0, 1 }, .divisions = { 13, 9 } };
	sim_form_mesh mesh;
	REQUIRE(sim_make_form(&form, 1, &mesh));
	for (int32_t from = 0; from < mesh.vertex_count; from += 17) {
		double *distances = find_all(&mesh, from);
		for (int32_t i = 0; i < mesh.vertex_count; i++)
			CHECK_NEAR(distances[i], side(mesh.places, from, i), 1e-9);
		free(distances);
	}
	// Rolled up as a scroll of half a turn, it is as far from end to end, up to its corners.
	for (int32_t i = 0; i < mesh.vertex_count; i++) {
		double *p = mesh.places + 3 * (int64_t)i;
		const double angle = p[0] / 1.3 * acos(-1);
		p[0] = 1.3 / acos(-1) * sin(angle);
		p[1] = 1.3 / acos(-1) * cos(angle);
	}
	double *distances = find_all(&mesh, 0);
	for (int32_t i = 0; i < mesh.vertex_count; i++) {
		const double *p = mesh.places + 3 * (int64_t)i, *q = mesh.places;
		const double turn = atan2(p[0], p[1]) - atan2(q[0], q[1]), along = 1.3 / acos(-1) * turn;
		CHECK_NEAR(distances[i], hypot(along, p[2] - q[2]), 0.005);
	}
	free(distances);
	sim_free_form_mesh(&mesh);
}

TEST(soft_limit, there_is_no_way_to_another_piece)
{
	const sim_form form = { .kind = SIM_FORM_TRIANGLES, .count = 2, .size = { 1, 1, 1 }, .radius = 0.1, .seed = 1 };
	sim_form_mesh mesh;
	REQUIRE(sim_make_form(&form, 1, &mesh));
	double *distances = find_all(&mesh, 0);
	CHECK_NEAR(distances[2], side(mesh.places, 0, 2), 1e-12);
	CHECK(distances[3] == INFINITY && distances[5] == INFINITY);
	free(distances);
	sim_free_form_mesh(&mesh);
}
