/// @file bench_resting_grains.c
/// What grains cost that touch what lies under them: a layer of spheres on a height field, on open
/// and closed meshes, on cloth of the same triangles, on a box and on a plane. They creep by half a
/// millimetre a step. Each ground runs without and with carom_body_def.continuous, in turns, on one
/// thread. Last comes a heap without ground, whose spheres move by 20 mm, half of them back:
/// most meet another one. Prints CSV, least of the rounds: processor microseconds for each sphere
/// and step, contacts and impacts for each sphere.
/// Usage: bench_resting_grains [--spheres N] [--rounds N] [--only GROUND]
#include "bench/bench_check.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIELD = 257, SHEET = 127, MOST = 100000, HEAP = 6, GROUNDS };
static const double SIZE = 10, RADIUS = 0.05, CREEP = 5e-4, STIR = 0.02;
static const char *const names[GROUNDS] = { "field", "open", "closed", "cloth", "box", "plane", "heap" };

static void check(carom_context *context, carom_result result) { bench_check("bench_resting_grains", context, result); }

static double height_at(double x, double y) { return 0.2 * sin(0.8 * x) * cos(0.7 * y); }

static carom_mesh *make_field(carom_context *context)
{
	static float heights[FIELD * FIELD];
	const double step = SIZE / (FIELD - 1), spacing[2] = { step, step };
	for (int i = 0; i < FIELD * FIELD; i++)
		heights[i] = (float)height_at(step * (i % FIELD), step * (i / FIELD));
	carom_mesh *mesh;
	check(context, carom_create_height_field(context, FIELD, FIELD, heights, spacing, 1, &mesh));
	return mesh;
}

/// A sheet of 2 * (SHEET - 1)^2 triangles; closed: a slab, whose lower side is one too.
static carom_mesh *make_sheet(carom_context *context, bool closed)
{
	enum { VERTICES = SHEET * SHEET, CELLS = SHEET - 1 };
	static float vertices[2 * VERTICES][3];
	static int32_t triangles[4 * CELLS * CELLS + 8 * CELLS][3];
	int32_t count = 0;
	for (int i = 0; i < 2 * VERTICES; i++) {
		const int n = i % VERTICES;
		const double x = SIZE * (n % SHEET) / CELLS, y = SIZE * (n / SHEET) / CELLS;
		const double z = height_at(x, y) - (i < VERTICES ? 0 : 0.5);
		vertices[i][0] = (float)x, vertices[i][1] = (float)y, vertices[i][2] = (float)z;
	}
	for (int i = 0; i < CELLS * CELLS; i++) {
		const int32_t a = SHEET * (i / CELLS) + i % CELLS, b = a + 1, c = a + SHEET, d = c + 1, v = VERTICES;
		memcpy(triangles[count++], (int32_t[3]){ a, b, d }, sizeof *triangles);
		memcpy(triangles[count++], (int32_t[3]){ a, d, c }, sizeof *triangles);
		if (closed) {
			memcpy(triangles[count++], (int32_t[3]){ v + a, v + d, v + b }, sizeof *triangles);
			memcpy(triangles[count++], (int32_t[3]){ v + a, v + c, v + d }, sizeof *triangles);
		}
	}
	for (int side = 0; side < 4 && closed; side++) {
		for (int i = 0; i < CELLS; i++) {
			const int32_t from[4] = { i, SHEET * i + CELLS, SHEET * CELLS + CELLS - i, SHEET * (CELLS - i) };
			const int32_t way[4] = { 1, SHEET, -1, -SHEET }, a = from[side], b = a + way[side], v = VERTICES;
			memcpy(triangles[count++], (int32_t[3]){ a, v + a, b }, sizeof *triangles);
			memcpy(triangles[count++], (int32_t[3]){ b, v + a, v + b }, sizeof *triangles);
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = closed ? 2 * VERTICES : VERTICES;
	def.triangles = triangles[0];
	def.triangle_count = count;
	carom_mesh *mesh;
	check(context, carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

typedef struct layer {
	carom_world *world;
	carom_body_id id;
	int count;
	double at[MOST][4]; // x, y, z, radius
} layer;

static void add_ground(const layer *s, carom_context *context, int ground)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	carom_mesh *mesh = NULL;
	def.kind = ground == 3 ? CAROM_CLOTH : CAROM_STATIC;
	if (ground < 4) {
		mesh = ground == 0 ? make_field(context) : make_sheet(context, ground == 2);
		def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	} else {
		def.shape = ground == 4 ? (carom_shape){ .type = CAROM_BOX, .half_extents = { SIZE, SIZE, 0.5 } }
								: (carom_shape){ .type = CAROM_PLANE };
		def.pose.position.z = ground == 4 ? -0.5 : 0;
	}
	check(context, carom_world_add_body(s->world, &def, &id));
	carom_release_mesh(mesh);
}

/// Spheres on a grid, each a little off it.
static void fill_heap(layer *s)
{
	uint64_t random = 1;
	const int side = (int)ceil(cbrt(s->count));
	for (int i = 0; i < s->count; i++) {
		const int cell[3] = { i % side, i / side % side, i / side / side };
		for (int k = 0; k < 3; k++)
			s->at[i][k] = 2.15 * RADIUS * cell[k] + random_between(&random, -0.05, 0.05) * RADIUS;
		s->at[i][3] = RADIUS;
	}
}

static void begin(layer *s, carom_context *context, int ground, bool continuous)
{
	uint64_t random = 1;
	const double way = ground < 4 ? 1 : 0;
	check(context, carom_create_world(context, NULL, &s->world));
	if (ground == HEAP)
		fill_heap(s);
	else
		add_ground(s, context, ground);
	for (int i = 0; i < s->count && ground != HEAP; i++) {
		const double x = random_between(&random, 0.5, SIZE - 0.5), y = random_between(&random, 0.5, SIZE - 0.5);
		const double place[4] = { x, y, way * height_at(x, y) + RADIUS - 2e-4, RADIUS };
		memcpy(s->at[i], place, sizeof place);
	}
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.continuous = continuous;
	def.self_collision = ground == HEAP;
	def.sphere_count = s->count;
	def.centres = (carom_strided){ s->at, sizeof *s->at, CAROM_FLOAT64 };
	def.radii = (carom_strided){ &s->at[0][3], sizeof *s->at, CAROM_FLOAT64 };
	check(context, carom_world_add_body(s->world, &def, &s->id));
	check(context, carom_world_step(s->world));
}

/// Returns processor microseconds for each sphere.
static double step(layer *s, carom_context *context, int ground, int number)
{
	for (int i = 0; i < s->count; i++) {
		const double way = ground != HEAP ? CREEP : (uint32_t)i * 2654435761u >> 31 ? STIR : -STIR;
		s->at[i][number / 2 % 2] += number % 2 ? -way : way;
	}
	const carom_strided centres = { s->at, sizeof *s->at, CAROM_FLOAT64 };
	check(context, carom_world_set_spheres(s->world, s->id, s->count, &centres, NULL));
	const clock_t start = clock();
	check(context, carom_world_step(s->world));
	return (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC / s->count;
}

static void compare(carom_context *context, int ground, int count, int rounds)
{
	static layer layers[2];
	double least[2] = { INFINITY, INFINITY };
	for (int i = 0; i < 2; i++) {
		layers[i].count = count;
		begin(&layers[i], context, ground, i);
	}
	for (int i = 0; i < 2 * rounds; i++) {
		const double us = step(&layers[i % 2], context, ground, i / 2);
		if (ground != HEAP || i / 2 % 2 == 0) // half of a heap's steps lead back, out of overlaps
			least[i % 2] = fmin(least[i % 2], us);
	}
	const carom_stats stats = carom_world_stats(layers[1].world);
	printf("%s,%d,%.2f,%.2f,%.2f,%.2f\n", names[ground], count, least[0], least[1], (double)stats.sphere_contacts / count,
		(double)stats.body_impacts / count);
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		carom_destroy_world(layers[i].world);
}

int main(int argc, char **argv)
{
	int count = 10000, rounds = 9;
	const char *only = "";
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--spheres") == 0)
			count = atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--rounds") == 0)
			rounds = atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--only") == 0)
			only = argv[i + 1];
	}
	if (count < 1 || count > MOST || rounds < 1) {
		fprintf(stderr, "bench_resting_grains: 1 to %d spheres, 1 round or more\n", MOST);
		return 2;
	}
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *context;
	check(NULL, carom_create_context(&def, &context));
	puts("ground,spheres,us,us continuous,contacts a sphere,impacts a sphere");
	for (int ground = 0; ground < GROUNDS; ground++) {
		if (!*only || strcmp(only, names[ground]) == 0)
			compare(context, ground, count, rounds);
	}
	carom_destroy_context(context);
	return 0;
}
