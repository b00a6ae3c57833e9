/// @file bench_cloth_bodies.c
/// What pairs of surfaces cost. A sheet of cloth lies on many rigid bodies, a grid of balls of
/// triangles, of boxes or of spheres, and trembles; or it leaves all of them in each second step,
/// so that every pair begins or ends. Prints CSV, least of the steps: milliseconds of the surface
/// contacts, of the merge (pairs, events, numbers) and of the whole step; pairs, contacts, events;
/// bytes of the world, of one whose sheet is away, and of one without thickness.
/// Usage: bench_cloth_bodies [--steps N] [--threads N]
#include "bench/bench_check.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 129, MOST = SIDE * SIDE };
static double places[MOST][3];
static int32_t triangles[2 * MOST][3];

typedef enum body_shape { BALLS, BOXES, SPHERES } body_shape;
static const char *const shape_names[] = { "balls of 80 triangles", "boxes", "spheres" };

static void check(carom_context *context, carom_result result) { bench_check("bench_cloth_bodies", context, result); }

/// The sheet, an edge apart, at a height, trembling by a tenth of the thickness.
static void place(double height, int step)
{
	for (int i = 0; i < MOST; i++) {
		places[i][0] = i % SIDE + 0.01 * sin(step + i);
		places[i][1] = i / SIDE + 0.01 * sin(2 * step + i);
		places[i][2] = height + 0.01 * sin(0.3 * i + step);
	}
}

static carom_mesh *make_mesh(
	carom_context *context, carom_strided vertices, int vertex_count, const int32_t *corners, int triangle_count)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = vertices;
	def.vertex_count = vertex_count;
	def.triangles = corners;
	def.triangle_count = triangle_count;
	carom_mesh *mesh;
	check(context, carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

static carom_mesh *make_sheet(carom_context *context)
{
	int count = 0;
	for (int v = 0; v < SIDE * (SIDE - 1); v++) {
		if (v % SIDE == SIDE - 1)
			continue;
		const int32_t cell[2][3] = { { v, v + 1, v + SIDE + 1 }, { v, v + SIDE + 1, v + SIDE } };
		memcpy(triangles[count], cell, sizeof cell);
		count += 2;
	}
	place(0, 0);
	return make_mesh(context, (carom_strided){ places, 0, CAROM_FLOAT64 }, MOST, triangles[0], count);
}

/// A ball of radius 1: rings of vertices between two poles.
static carom_mesh *make_ball(carom_context *context)
{
	enum { RINGS = 5, ROUND = 8, COUNT = RINGS * ROUND + 2 };
	static float at[COUNT][3];
	static int32_t faces[2 * RINGS * ROUND][3];
	int count = 0;
	for (int i = 0; i < RINGS * ROUND; i++) {
		const double down = 3.14159265 * (i / ROUND + 1) / (RINGS + 1), turn = 6.2831853 * (i % ROUND) / ROUND;
		at[i][0] = (float)(sin(down) * cos(turn));
		at[i][1] = (float)(sin(down) * sin(turn));
		at[i][2] = (float)cos(down);
	}
	at[COUNT - 2][2] = 1;
	at[COUNT - 1][2] = -1;
	for (int i = 0; i < RINGS * ROUND; i++) {
		const int32_t next = i / ROUND * ROUND + (i + 1) % ROUND;
		const bool top = i < ROUND, bottom = i >= (RINGS - 1) * ROUND;
		if (top)
			memcpy(faces[count++], (int32_t[3]){ COUNT - 2, i, next }, sizeof faces[0]);
		memcpy(faces[count++], (int32_t[3]){ i, bottom ? COUNT - 1 : i + ROUND, next }, sizeof faces[0]);
		if (!bottom)
			memcpy(faces[count++], (int32_t[3]){ next, i + ROUND, next + ROUND }, sizeof faces[0]);
	}
	return make_mesh(context, (carom_strided){ at, 0, CAROM_FLOAT32 }, COUNT, faces[0], count);
}

/// A grid of bodies of radius 1 whose tops are at height 0, and group -1: not each other.
static void add_bodies(carom_context *context, carom_world *world, const carom_mesh *ball, body_shape shape, int round)
{
	carom_body_def def = carom_default_body_def();
	const carom_shape shapes[] = { { .type = CAROM_MESH, .mesh = ball }, { .type = CAROM_BOX, .half_extents = { 1, 1, 1 } },
		{ .type = CAROM_SPHERE, .radius = 1 } };
	def.shape = shapes[shape];
	def.group = -1;
	const double apart = (double)(SIDE - 1) / round;
	for (int i = 0; i < round * round; i++) {
		def.pose.position = (carom_vec3){ apart * (i % round + 0.5), apart * (i / round + 0.5), -1 };
		carom_body_id id;
		check(context, carom_world_add_body(world, &def, &id));
	}
}

/// Where the sheet is: on the bodies, in each second step away from them, always away.
typedef enum course { LIES, LEAVES, AWAY } course;

typedef struct figures {
	double surface, merge, total;
	int64_t pairs, contacts, events;
	size_t memory;
} figures;

typedef struct setting {
	carom_context *context;
	carom_mesh *sheet, *ball;
	int steps;
} setting;

static figures run(const setting *s, body_shape shape, int round, double thickness, course way)
{
	carom_world *world;
	check(s->context, carom_create_world(s->context, NULL, &world));
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = s->sheet };
	def.thickness = thickness;
	def.self_collision = false;
	carom_body_id cloth;
	check(s->context, carom_world_add_body(world, &def, &cloth));
	add_bodies(s->context, world, s->ball, shape, round);
	figures f = { .surface = INFINITY, .merge = INFINITY, .total = INFINITY };
	for (int step = 0; step < s->steps; step++) {
		const bool away = way == AWAY || (way == LEAVES && step % 2);
		place(away ? 2 : 0.04, step);
		const carom_strided end = { .data = places, .type = CAROM_FLOAT64 };
		check(s->context, carom_world_set_vertices(world, cloth, &end, &end));
		check(s->context, carom_world_step(world));
		const carom_stats stats = carom_world_stats(world);
		if (step < 2 || (way == LEAVES && away))
			continue;
		f.surface = fmin(f.surface, stats.ms_surface);
		f.merge = fmin(f.merge, stats.ms_merge);
		f.total = fmin(f.total, stats.ms_total);
		f.pairs = stats.surface_pairs;
		f.contacts = stats.surface_contacts;
		f.events = carom_world_events(world).count;
		f.memory = stats.memory;
	}
	carom_destroy_world(world);
	return f;
}

static void print_row(const setting *s, body_shape shape, int round, course way)
{
	const figures with = run(s, shape, round, 0.2, way), away = run(s, shape, round, 0.2, AWAY),
				  without = run(s, shape, round, 0, way);
	printf("%d,%s,%s,%.2f,%.2f,%.3f,%.3f,%.2f,%.2f,%lld,%lld,%lld,%zu,%zu,%zu\n", round * round, shape_names[shape],
		way == LEAVES ? "all begin" : "all go on", with.surface, away.surface, with.merge, without.merge, with.total,
		without.total, (long long)with.pairs, (long long)with.contacts, (long long)with.events, with.memory, away.memory,
		without.memory);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	setting s = { .steps = 12 };
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--steps") == 0)
			s.steps = atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--threads") == 0)
			def.thread_count = atoi(argv[i + 1]);
	}
	if (carom_create_context(&def, &s.context) != CAROM_SUCCESS)
		return 1;
	s.sheet = make_sheet(s.context);
	s.ball = make_ball(s.context);
	printf("bodies,shape,pairs,surface ms,surface away,merge ms,merge without,step ms,step without,pairs,contacts,events,"
		   "bytes,bytes away,bytes without\n");
	for (int shape = BALLS; shape <= SPHERES; shape++) {
		print_row(&s, (body_shape)shape, 10, LIES);
		print_row(&s, (body_shape)shape, 32, LIES);
		print_row(&s, (body_shape)shape, 32, LEAVES);
	}
	carom_release_mesh(s.sheet);
	carom_release_mesh(s.ball);
	carom_destroy_context(s.context);
	return 0;
}
