/// @file bench_refit.c
/// What queries on a deforming body cost. A sheet of 91,592 triangles waves (its tree is refitted),
/// rolls up or twists and folds step by step (refitted, at times rebuilt), or turns into another
/// roll in each step (rebuilt in each). Prints CSV, microseconds on one thread, least and middle of
/// the steps: carom_world_set_vertices; the first query after it, which brings the tree up to date;
/// and a ray after that.
/// Usage: bench_refit [--steps N]
#include "bench/bench_check.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 215, COUNT = SIDE * SIDE, TRIANGLES = 2 * (SIDE - 1) * (SIDE - 1), MAX_STEPS = 1000, RAYS = 1000 };
static double places[COUNT][3];
static int32_t triangles[TRIANGLES][3];

static void check(carom_context *context, carom_result result) { bench_check("bench_refit", context, result); }

static double now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static carom_mesh *make_sheet(carom_context *context)
{
	int count = 0;
	for (int i = 0; i < COUNT; i++) {
		places[i][0] = (double)(i % SIDE) / (SIDE - 1) - 0.5;
		places[i][1] = (double)(i / SIDE) / (SIDE - 1) - 0.5;
		places[i][2] = 0;
	}
	for (int v = 0; v < COUNT - SIDE; v++) {
		if (v % SIDE == SIDE - 1)
			continue;
		const int32_t cell[2][3] = { { v, v + 1, v + SIDE + 1 }, { v, v + SIDE + 1, v + SIDE } };
		memcpy(triangles[count], cell, sizeof cell);
		count += 2;
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = places, .type = CAROM_FLOAT64 };
	def.vertex_count = COUNT;
	def.triangles = triangles[0];
	def.triangle_count = TRIANGLES;
	carom_mesh *mesh;
	check(context, carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

typedef enum motion { WAVE, ROLL, TWIST, FLIP, MOTIONS } motion;

/// Where the sheet is in a step: rolled up in turns about an axis that leans by an angle, or
/// waving.
static void move(motion kind, int step)
{
	const double turns = kind == ROLL ? 0.1 * step : 8, lean = kind == FLIP ? 1.3 * step : 0;
	for (int i = 0; i < COUNT; i++) {
		const double x = (double)(i % SIDE) / (SIDE - 1) - 0.5, y = (double)(i / SIDE) / (SIDE - 1) - 0.5;
		const double u = cos(lean) * x + sin(lean) * y, v = cos(lean) * y - sin(lean) * x;
		if (kind == WAVE) {
			const double p[3] = { x, y, 0.05 * sin(9 * x + 7 * y + 0.2 * step) };
			memcpy(places[i], p, sizeof p);
		} else if (kind == TWIST) {
			const double angle = 0.3 * step * (2 * x + sin(5 * y)), fold = 0.1 * sin(0.1 * step) * sin(20 * x + 13 * y);
			const double p[3] = { x + fold, y * cos(angle) + fold, y * sin(angle) };
			memcpy(places[i], p, sizeof p);
		} else {
			const double angle = 2 * 3.14159265358979323846 * turns * (u + 0.71), r = 0.05 + 0.3 * (u + 0.71) / (1 + turns);
			const double p[3] = { r * cos(angle), v, r * sin(angle) };
			memcpy(places[i], p, sizeof p);
		}
	}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void run(carom_context *context, motion kind, int steps)
{
	static const char *const names[MOTIONS] = { "wave", "roll", "twist", "flip" };
	static double times[3][MAX_STEPS];
	carom_world *world;
	check(context, carom_create_world(context, NULL, &world));
	carom_mesh *mesh = make_sheet(context);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	carom_body_id id;
	check(context, carom_world_add_body(world, &def, &id));
	int hits = 0;
	for (int step = -1; step < steps; step++) { // the first makes room
		const carom_strided view = { .data = places, .type = CAROM_FLOAT64 };
		bool found;
		carom_ray_hit hit;
		move(kind, step + 1);
		const double start = now_us();
		check(context, carom_world_set_vertices(world, id, &view, NULL));
		const double set = now_us();
		carom_closest_point near;
		check(context, carom_world_closest_point(world, (carom_vec3){ 0.01, 0.02, 9 }, 20, NULL, &found, &near));
		const double ready = now_us();
		for (int i = 0; i < RAYS; i++) {
			const carom_ray down = { { 0.3 * sin(i), 0.3 * cos(1.7 * i), 9 }, { 0.01 * sin(3.0 * i), 0, -1 }, 0, 20 };
			check(context, carom_world_cast_ray(world, &down, NULL, &found, &hit));
			hits += found;
		}
		if (step >= 0) {
			times[0][step] = set - start;
			times[1][step] = ready - set;
			times[2][step] = (now_us() - ready) / RAYS;
		}
	}
	printf("%s", names[kind]);
	for (int k = 0; k < 3; k++) {
		qsort(times[k], (size_t)steps, sizeof **times, compare);
		printf(",%.3f,%.3f", times[k][0], times[k][steps / 2]);
	}
	printf(",%d,%zu\n", hits, carom_memory_in_use(context));
	carom_release_mesh(mesh);
	carom_destroy_world(world);
}

int main(int argc, char **argv)
{
	int steps = 50;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
			steps = atoi(argv[++i]);
	}
	steps = steps < 1 ? 1 : steps < MAX_STEPS ? steps : MAX_STEPS;
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *context;
	check(NULL, carom_create_context(&def, &context));
	printf("motion,set_least,set_middle,update_least,update_middle,ray_least,ray_middle,hits,bytes\n");
	for (int kind = 0; kind < MOTIONS; kind++)
		run(context, (motion)kind, steps);
	carom_destroy_context(context);
	return 0;
}
