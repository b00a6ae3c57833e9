/// @file bench_solids.c
/// What contacts of solids that deform cost. Rings overlap in a row; all of them wave in each step.
/// Prints CSV, milliseconds of a step on one thread without the search for impacts, least and
/// middle of the steps, and the mean of that search: with contacts, with impacts alone, and with
/// the same rings as rigid bodies that turn a little.
/// Usage: bench_solids [--steps N]
#include "bench/bench_check.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RINGS = 10, MOST_AROUND = 60, MOST_ACROSS = 30, MOST = MOST_AROUND * MOST_ACROSS, MAX_STEPS = 1000 };

typedef struct ring {
	int count, triangle_count;
	double rest[MOST][3], places[MOST][3];
	int32_t triangles[2 * MOST][3];
} ring;

typedef enum kind { CONTACTS, IMPACTS, RIGID, KINDS } kind;

static void check(carom_context *context, carom_result result) { bench_check("bench_solids", context, result); }

/// A torus of radius 1 around z, its tube of radius 0.3.
static void make_ring(ring *r, int around, int across)
{
	const double whole = 2 * 3.14159265358979323846;
	r->count = around * across;
	r->triangle_count = 0;
	for (int i = 0; i < r->count; i++) {
		const double a = whole * (i / across) / around, b = whole * (i % across) / across, out = 1 + 0.3 * cos(b);
		const double p[3] = { out * cos(a), out * sin(a), 0.3 * sin(b) };
		memcpy(r->rest[i], p, sizeof p);
		const int next = (i / across + 1) % around * across, column = i % across, right = (column + 1) % across;
		const int32_t cell[2][3] = { { i, next + column, next + right }, { i, next + right, i / across * across + right } };
		memcpy(r->triangles[r->triangle_count], cell, sizeof cell);
		r->triangle_count += 2;
	}
}

static carom_mesh *make_mesh(carom_context *context, const ring *r)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = r->rest, .type = CAROM_FLOAT64 };
	def.vertex_count = r->count;
	def.triangles = r->triangles[0];
	def.triangle_count = r->triangle_count;
	carom_mesh *mesh;
	check(context, carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

/// Every second ring stands upright in its neighbours.
static void place(ring *r, int number, double phase)
{
	for (int i = 0; i < r->count; i++) {
		const double *p = r->rest[i];
		const double x = p[0], y = p[1], z = p[2] + 0.05 * sin(3 * p[0] + phase + number);
		const double q[3] = { x + 1.1 * number, number % 2 ? -z : y, number % 2 ? y : z };
		memcpy(r->places[i], q, sizeof q);
	}
}

static void move(carom_context *context, carom_world *world, kind how, ring *r, const carom_body_id *ids, int step)
{
	for (int i = 0; i < RINGS; i++) {
		if (how == RIGID) {
			const double angle = (i % 2 ? 0.25 : 0) * 3.14159265358979323846 + 0.002 * sin(0.3 * step + i);
			const carom_pose pose = { { 1.1 * i, 0, 0 }, { sin(angle), 0, 0, cos(angle) } };
			check(context, carom_world_set_pose(world, ids[i], &pose));
			continue;
		}
		place(r, i, 0.05 * step);
		const carom_strided end = { .data = r->places, .type = CAROM_FLOAT64 };
		// In the first step the rings are put where they are: they do not come from one place.
		check(context, carom_world_set_vertices(world, ids[i], step == -2 ? &end : NULL, &end));
	}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void run(carom_context *context, kind how, ring *r, int steps)
{
	static const char *const names[KINDS] = { "contacts", "impacts alone", "rigid" };
	static double times[MAX_STEPS];
	carom_world *world;
	check(context, carom_create_world(context, NULL, &world));
	carom_mesh *mesh = make_mesh(context, r);
	carom_body_id ids[RINGS];
	for (int i = 0; i < RINGS; i++) {
		carom_body_def def = carom_default_body_def();
		def.kind = how == RIGID ? CAROM_DYNAMIC : CAROM_DEFORMABLE;
		def.contacts = how != IMPACTS;
		def.self_collision = false;
		def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
		check(context, carom_world_add_body(world, &def, &ids[i]));
	}
	double sweep = 0;
	for (int step = -2; step < steps; step++) { // the first ones make room
		move(context, world, how, r, ids, step);
		check(context, carom_world_step(world));
		const carom_stats stats = carom_world_stats(world);
		if (step >= 0)
			times[step] = stats.ms_total - stats.ms_sweep;
		sweep += stats.ms_sweep;
	}
	qsort(times, (size_t)steps, sizeof *times, compare);
	fflush(stdout);
	printf("%d,%s,%.3f,%.3f,%.3f,%d,%d\n", r->triangle_count, names[how], times[0], times[steps / 2], sweep / (steps + 2),
		carom_world_pairs(world).count, carom_world_contacts(world).count);
	carom_release_mesh(mesh);
	carom_destroy_world(world);
}

int main(int argc, char **argv)
{
	static const int sizes[3][2] = { { 20, 10 }, { 30, 20 }, { 60, 30 } };
	static ring r;
	int steps = 20;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
			steps = atoi(argv[++i]);
	}
	steps = steps < 1 ? 1 : steps < MAX_STEPS ? steps : MAX_STEPS;
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *context;
	check(NULL, carom_create_context(&def, &context));
	printf("triangles,kind,least,middle,impacts_mean,pairs,contacts\n");
	for (int size = 0; size < 3; size++) {
		make_ring(&r, sizes[size][0], sizes[size][1]);
		for (int how = 0; how < KINDS; how++)
			run(context, (kind)how, &r, steps);
	}
	carom_destroy_context(context);
	return 0;
}
