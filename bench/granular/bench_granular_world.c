/// @file bench_granular_world.c
/// What spheres cost in a world: half of the room over a height field of 80,000 triangles, with a
/// hundred boxes in it, as one granular body, and (up to 100,000) as a body for each. The spheres
/// sink a little in each step. Prints CSV, least of the steps: milliseconds of a step, contacts
/// with other bodies, pairs, bytes of the world for each sphere.
/// Usage: bench_granular_world [--steps N] [--threads N]
#include "bench/bench_check.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 201, BOXES = 100, MOST_BODIES = 100000 };
static const double SIZE = 10, DEPTH = 2;

typedef struct setting {
	carom_context *context;
	carom_mesh *ground;
	int spheres;
	double (*at)[4]; // x, y, z, radius
	carom_body_id *ids;
} setting;

static void check(carom_context *context, carom_result result) { bench_check("bench_granular_world", context, result); }

static carom_mesh *make_ground(carom_context *context)
{
	static float heights[SAMPLES * SAMPLES];
	for (int i = 0; i < SAMPLES * SAMPLES; i++)
		heights[i] = (float)(0.3 * sin(0.2 * (i % SAMPLES)) * cos(0.17 * (i / SAMPLES)));
	const double spacing[2] = { SIZE / (SAMPLES - 1), SIZE / (SAMPLES - 1) };
	carom_mesh *mesh;
	check(context, carom_create_height_field(context, SAMPLES, SAMPLES, heights, spacing, 1, &mesh));
	return mesh;
}

static void fill_room(setting *s)
{
	uint64_t random = 1;
	const double radius = cbrt(SIZE * SIZE * DEPTH * 0.5 / s->spheres * 3 / 4 / 3.14159);
	for (int i = 0; i < s->spheres; i++) {
		const double place[4] = { random_between(&random, 0, SIZE), random_between(&random, 0, SIZE),
			random_between(&random, 0.1, 0.1 + DEPTH), radius };
		memcpy(s->at[i], place, sizeof place);
	}
}

static void add_scenery(const setting *s, carom_world *world)
{
	uint64_t random = 2;
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = s->ground };
	check(s->context, carom_world_add_body(world, &def, &id));
	def.kind = CAROM_DYNAMIC;
	def.group = -1;
	for (int i = 0; i < BOXES; i++) {
		def.shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.1, 0.1, 0.1 } };
		def.pose.position = (carom_vec3){ random_between(&random, 0, SIZE), random_between(&random, 0, SIZE),
			random_between(&random, 0, DEPTH) };
		check(s->context, carom_world_add_body(world, &def, &id));
	}
}

static void add_spheres(setting *s, carom_world *world, bool as_one)
{
	carom_body_def def = carom_default_body_def();
	if (as_one) {
		def.kind = CAROM_GRANULAR;
		def.sphere_count = s->spheres;
		def.centres = (carom_strided){ s->at, sizeof *s->at, CAROM_FLOAT64 };
		def.radii = (carom_strided){ &s->at[0][3], sizeof *s->at, CAROM_FLOAT64 };
		check(s->context, carom_world_add_body(world, &def, s->ids));
		return;
	}
	for (int i = 0; i < s->spheres; i++) {
		def.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = s->at[i][3] };
		def.pose.position = (carom_vec3){ s->at[i][0], s->at[i][1], s->at[i][2] };
		check(s->context, carom_world_add_body(world, &def, &s->ids[i]));
	}
}

static void sink(setting *s, carom_world *world, bool as_one)
{
	for (int i = 0; i < s->spheres; i++)
		s->at[i][2] -= 1e-5;
	const carom_strided centres = { s->at, sizeof *s->at, CAROM_FLOAT64 };
	if (as_one) {
		check(s->context, carom_world_set_spheres(world, s->ids[0], s->spheres, &centres, NULL));
		return;
	}
	for (int i = 0; i < s->spheres; i++) {
		const carom_pose pose = { { s->at[i][0], s->at[i][1], s->at[i][2] }, { 0, 0, 0, 1 } };
		check(s->context, carom_world_set_pose(world, s->ids[i], &pose));
	}
}

static void run(setting *s, bool as_one, int steps)
{
	carom_world *world;
	check(s->context, carom_create_world(s->context, NULL, &world));
	fill_room(s);
	add_scenery(s, world);
	add_spheres(s, world, as_one);
	double least = INFINITY;
	for (int step = 0; step < steps; step++) {
		sink(s, world, as_one);
		check(s->context, carom_world_step(world));
		least = fmin(least, carom_world_stats(world).ms_total);
	}
	const carom_stats stats = carom_world_stats(world);
	printf("%d,%s,%.1f,%lld,%lld,%.0f\n", s->spheres, as_one ? "one body" : "a body each", least,
		as_one ? (long long)stats.sphere_contacts : (long long)stats.contacts,
		as_one ? (long long)stats.sphere_pairs : (long long)stats.colliding_pairs, (double)stats.memory / s->spheres);
	fflush(stdout);
	carom_destroy_world(world);
}

int main(int argc, char **argv)
{
	static const int counts[] = { 10000, 100000, 1000000 };
	int steps = 6, threads = 1;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--steps") == 0)
			steps = atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--threads") == 0)
			threads = atoi(argv[i + 1]);
	}
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	setting s = { .ground = NULL };
	check(NULL, carom_create_context(&def, &s.context));
	s.ground = make_ground(s.context);
	s.at = malloc(1000000 * sizeof *s.at);
	s.ids = malloc(1000000 * sizeof *s.ids);
	printf("spheres,as,ms,contacts,pairs,bytes a sphere\n");
	for (int i = 0; i < 3 && s.at && s.ids; i++) {
		s.spheres = counts[i];
		run(&s, true, steps);
		if (counts[i] <= MOST_BODIES)
			run(&s, false, steps);
	}
	free(s.at);
	free(s.ids);
	carom_release_mesh(s.ground);
	carom_destroy_context(s.context);
	return 0;
}
