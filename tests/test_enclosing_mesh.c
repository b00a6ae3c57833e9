// Triangles around volumes of scenes: nothing of the volume sticks out, by the exact support functions of the volumes,
// and no corner is farther out than promised.
#include "failing_memory.h"
#include "test.h"

#include "scene/enclosing_mesh.h"
#include "scene/soft_fill.h"
#include "sim/base/rotations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const carom_pose HERE = { { 0, 0, 0 }, { 0, 0, 0, 1 } };

/// The height of a volume's highest point along a unit direction.
static double support(const scene_shape *s, const double d[3])
{
	const double across = hypot(d[0], d[1]), *half = s->half_extents;
	switch (s->type) {
	case CAROM_SPHERE: return s->radius;
	case CAROM_CAPSULE: return s->radius + s->half_length * fabs(d[2]);
	case CAROM_BOX: return s->rounding + half[0] * fabs(d[0]) + half[1] * fabs(d[1]) + half[2] * fabs(d[2]);
	case CAROM_CYLINDER: return s->rounding + s->radius * across + s->half_length * fabs(d[2]);
	case CAROM_CONE: return s->rounding + fmax(s->half_length * d[2], s->radius * across - s->half_length * d[2]);
	default:
		return s->rounding +
			sqrt(half[0] * half[0] * d[0] * d[0] + half[1] * half[1] * d[1] * d[1] + half[2] * half[2] * d[2] * d[2]);
	}
}

static void random_direction(uint64_t *state, double d[3])
{
	double length;
	do {
		for (int k = 0; k < 3; k++)
			d[k] = sim_random_unit(state);
		length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
	} while (!(length > 0.1 && length < 1));
	for (int k = 0; k < 3; k++)
		d[k] /= length;
}

static double highest(const sim_form_mesh *mesh, const double d[3])
{
	double most = -INFINITY;
	for (int32_t i = 0; i < mesh->vertex_count; i++) {
		const double *p = mesh->places + 3 * (int64_t)i;
		most = fmax(most, p[0] * d[0] + p[1] * d[1] + p[2] * d[2]);
	}
	return most;
}

/// Look at random directions, and at those of the axes.
static void check_around(const sim_form_mesh *mesh, const scene_shape *shape, double tolerance)
{
	uint64_t state = 7;
	const double rounding = 1e-6;
	for (int i = 0; i < 3000; i++) {
		double d[3] = { 0, 0, 0 };
		if (i < 6)
			d[i / 2] = i % 2 ? 1 : -1;
		else
			random_direction(&state, d);
		const double more = highest(mesh, d) - support(shape, d);
		CHECK(more >= -rounding);
		CHECK(more <= tolerance + rounding);
	}
}

static const scene_shape VOLUMES[] = {
	{ .type = CAROM_SPHERE, .mesh = -1, .radius = 0.5 },
	{ .type = CAROM_SPHERE, .mesh = -1, .radius = 0.01 },
	{ .type = CAROM_CAPSULE, .mesh = -1, .radius = 0.1, .half_length = 0.4 },
	{ .type = CAROM_BOX, .mesh = -1, .half_extents = { 0.5, 0.2, 0.1 } },
	{ .type = CAROM_BOX, .mesh = -1, .half_extents = { 0.5, 0.2, 0.1 }, .rounding = 0.05 },
	{ .type = CAROM_CYLINDER, .mesh = -1, .radius = 0.3, .half_length = 0.2 },
	{ .type = CAROM_CYLINDER, .mesh = -1, .radius = 0.3, .half_length = 0.2, .rounding = 0.02 },
	{ .type = CAROM_CONE, .mesh = -1, .radius = 0.3, .half_length = 0.4 },
	{ .type = CAROM_CONE, .mesh = -1, .radius = 0.3, .half_length = 0.4, .rounding = 0.1 },
	{ .type = CAROM_ELLIPSOID, .mesh = -1, .half_extents = { 0.5, 0.1, 0.25 } },
	{ .type = CAROM_ELLIPSOID, .mesh = -1, .half_extents = { 0.5, 0.1, 0.25 }, .rounding = 0.03 },
};

TEST(enclosing_mesh, nothing_sticks_out_and_nothing_is_far_out)
{
	const double tolerance = 1e-3;
	scene_description scene = { 0 };
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	for (size_t i = 0; i < sizeof VOLUMES / sizeof *VOLUMES; i++) {
		sim_form_mesh mesh = { 0 };
		sim_error error;
		REQUIRE(scene_enclose_shape(context, &scene, &VOLUMES[i], &HERE, tolerance, (carom_vec3){ 0, 0, 0 }, 1, &mesh, &error));
		CHECK(mesh.triangle_count == 2 * mesh.vertex_count - 4); // closed, of one piece
		// Where a ball is added to a polytope around a round form, both are out by as much.
		check_around(&mesh, &VOLUMES[i], (VOLUMES[i].rounding > 0 ? 2 : 1) * tolerance * 1.01);
		CHECK(scene_is_behind(&mesh, 0, (const double[3]){ 0, 0, 0 }));
		CHECK(!scene_is_behind(&mesh, 0, (const double[3]){ 0, 0, 2 }));
		sim_free_form_mesh(&mesh);
	}
	carom_destroy_context(context);
}

TEST(enclosing_mesh, several_shapes_are_put_where_their_poses_say)
{
	scene_description scene = { 0 };
	carom_context *context;
	sim_form_mesh mesh = { 0 };
	sim_error error;
	const carom_pose there = { { 1, 2, 3 }, { 0, 0, sqrt(0.5), sqrt(0.5) } }; // x to y
	const carom_vec3 middle = { 5, 7, 20 };
	const scene_shape plane = { .type = CAROM_PLANE, .mesh = -1 };
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	REQUIRE(scene_enclose_shape(context, &scene, &VOLUMES[3], &there, 1e-3, middle, 1, &mesh, &error));
	REQUIRE(scene_enclose_shape(context, &scene, &plane, &there, 1e-3, middle, 10, &mesh, &error));
	REQUIRE(mesh.vertex_count == 12 && mesh.triangle_count == 14);
	CHECK_NEAR(highest(&(sim_form_mesh){ .vertex_count = 8, .places = mesh.places }, (const double[3]){ 0, 1, 0 }), 2.5, 1e-6);
	CHECK_NEAR(highest(&(sim_form_mesh){ .vertex_count = 8, .places = mesh.places }, (const double[3]){ 1, 0, 0 }), 1.2, 1e-6);
	CHECK_NEAR(highest(&mesh, (const double[3]){ 1, 0, 0 }), 15, 1e-9);
	CHECK_NEAR(highest(&mesh, (const double[3]){ 0, 1, 0 }), 17, 1e-9);
	for (int32_t i = 24; i < 36; i += 3)
		CHECK_NEAR(mesh.places[i + 2], 3, 1e-12);
	CHECK(scene_is_behind(&mesh, 12, (const double[3]){ 5, 7, 2.9 }));
	CHECK(!scene_is_behind(&mesh, 12, (const double[3]){ 5, 7, 3.1 }));
	sim_free_form_mesh(&mesh);
	carom_destroy_context(context);
}

// ---- In scenes ----

static const char HEAD[] =
	"{\"meshes\": {\"h\": {\"height_field\": {\"heights\": [0, 0, 0, 0]}}, \"m\": {\"shape\": \"lumpy\", \"triangles\": 64}},"
	"\"bodies\": {\"planes\": [{\"name\": \"floor\"}], \"list\": [";

/// Make the deforming bodies of a scene with a body and a sheet at a height.
static sim_soft *start(carom_context *context, const char *body, double height, sim_error *error)
{
	char text[2000];
	scene_description scene;
	snprintf(text, sizeof text,
		"%s%s]},\n\"deforming\": {\"obstacles\": \"all\", \"list\": [{\"name\": \"rag\", \"form\": \"sheet\", \"size\": [1, 1], "
		"\"divisions\": [4, 4], \"position\": [0, %g, 0]}]}}",
		HEAD, body, height);
	const bool parsed = scene_parse("x.json", text, strlen(text), &scene, error);
	CHECK(parsed);
	if (!parsed)
		return NULL;
	sim_soft *soft = scene_start_deforming(context, &scene, error);
	scene_destroy(&scene);
	return soft;
}

TEST(enclosing_mesh, all_shapes_are_obstacles_and_nothing_may_begin_inside)
{
	static const struct {
		const char *body;
		double height;
		const char *expected; // NULL: it begins
	} cases[] = {
		{ "{\"shape\": \"sphere\", \"radius\": 0.3, \"position\": [0, 0.5, 0]}", 0.9, NULL },
		{ "{\"shape\": \"sphere\", \"radius\": 0.3, \"position\": [0, 0.5, 0]}", 0.7,
			"x.json:1: field \"bodies.list[0]\": vertex 12 of the deforming body \"rag\" begins inside of it" },
		{ "{\"parts\": [{\"shape\": \"box\", \"half_extents\": [0.1, 0.1, 0.1]}, {\"shape\": \"capsule\", \"radius\": 0.1, \"half_length\": 0.2, "
		  "\"position\": [0.5, 0.4, 0]}], \"position\": [0, 0.5, 0]}",
			0.9, "x.json:1: field \"bodies.list[0]\": vertex 9 of the deforming body \"rag\" begins inside of it" },
		{ "{\"shape\": \"box\", \"half_extents\": [0.1, 0.1, 0.1], \"position\": [0, 5, 0]}", -0.1,
			"x.json:1: field \"bodies.planes[0]\": vertex 0 of the deforming body \"rag\" begins inside of it" },
		{ "{\"mesh\": \"h\", \"kind\": \"static\", \"position\": [-0.5, 0.5, 0.5], \"rotation\": {\"axis\": [1, 0, 0], \"degrees\": -90}}",
			0.6, NULL },
		{ "{\"shape\": \"hull\", \"mesh\": \"m\", \"position\": [0, 5, 0]}", 0.6, NULL },
		{ "{\"shape\": \"box\", \"half_extents\": [0.1, 0.1, 0.6], \"position\": [0.1, 0.5, 0]}", 0.45, "cross at the start" },
	};
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sim_error error = { "" };
		sim_soft *soft = start(context, cases[i].body, cases[i].height, &error);
		if (!cases[i].expected)
			CHECK_STR(error.text, "");
		else if (i != 6)
			CHECK_STR(error.text, cases[i].expected);
		else
			CHECK(strstr(error.text, "begins inside of it") || strstr(error.text, cases[i].expected));
		CHECK(!soft == (cases[i].expected != NULL));
		sim_destroy_soft(soft);
	}
	carom_destroy_context(context);
}

/// Enclose one of the volumes.
static bool enclose(void *user)
{
	sim_form_mesh mesh = { 0 };
	sim_error error;
	scene_description scene = { 0 };
	carom_context *context = NULL;
	bool done = carom_create_context(NULL, &context) == CAROM_SUCCESS;
	if (done) {
		done = scene_enclose_shape(context, &scene, user, &HERE, 1e-2, (carom_vec3){ 0, 0, 0 }, 1, &mesh, &error);
		CHECK(done || strstr(error.text, "memory") != NULL);
	}
	sim_free_form_mesh(&mesh);
	carom_destroy_context(context);
	return done;
}

TEST(enclosing_mesh, any_allocation_may_fail)
{
	scene_shape box = VOLUMES[4];
	CHECK(failing_memory_each(1, enclose, NULL, &box) > 5);
}
