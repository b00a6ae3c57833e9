/// @file bench_body_pairs.c
/// The cost of pairs of bodies (carom_world_set_body_pairs). Five worlds of one content step in
/// turn over the same poses, on one thread: two without pairs of bodies, whose difference is that
/// of the clock, one that lists them, one with a limit of contacts for two bodies, one with both.
/// Worlds with equal settings of contacts must agree in each step, else the program fails. Prints
/// CSV: of each world milliseconds of the processor for a step, least and median, and what the
/// last step has.
///
/// Scenes: "boxes" is layers of boxes, without parts. "tables" are tables of five parts on a plane.
/// "tiles" are such tables on a floor that is one body of tiles. At rest nothing moves after the
/// first step; "tremble" moves each body by up to 0.1 mm in each step.
/// Usage: bench_body_pairs (boxes | tables | tiles) BODIES LIMIT (rest | tremble) STEPS
#include "bench/bench_check.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORLDS = 5, TABLE_PARTS = 5, WARM = 3 };
static const double SPACE = 2.5, SUNK = 0.002, TREMBLE = 1e-4;
static const char *const NAMES[WORLDS] = { "without", "without again", "listed", "limited", "both" };

typedef struct bench {
	carom_context *context;
	carom_world *worlds[WORLDS];
	const char *scene;
	int count, steps, limit;
	bool trembles;
	carom_body_id *ids; // [count]
	carom_pose *places; // [count]
	carom_pose *poses;  // [count]
	double *times;      // [WORLDS*steps]
} bench;

static void check(const bench *b, carom_result result) { bench_check("bench_body_pairs", b->context, result); }

static carom_pose at(double x, double y, double z)
{
	carom_pose pose = carom_pose_identity();
	pose.position = (carom_vec3){ x, y, z };
	return pose;
}

static carom_shape box(double x, double y, double z) { return (carom_shape){ .type = CAROM_BOX, .half_extents = { x, y, z } }; }

static int row_of(const bench *b) { return (int)ceil(sqrt(b->count)); }

/// A plane, or tiles of 0.5 m, an odd number in a row so that tables stand across their edges.
static void add_floor(const bench *b, carom_world *world)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_STATIC;
	if (strcmp(b->scene, "tiles") != 0) {
		def.shape.type = CAROM_PLANE;
		check(b, carom_world_add_body(world, &def, &id));
		return;
	}
	const int side = (int)(SPACE * (row_of(b) + 1) / 0.5) | 1;
	carom_part *tiles = calloc((size_t)side * (size_t)side, sizeof *tiles);
	for (int i = 0; tiles && i < side * side; i++)
		tiles[i] = (carom_part){ box(0.25, 0.25, 0.1), at(0.5 * (i % side) - 1, 0.5 * (i / side) - 1, -0.1), 0 };
	def.parts = tiles;
	def.part_count = tiles ? side * side : 0;
	check(b, carom_world_add_body(world, &def, &id));
	free(tiles);
}

static void add_bodies(const bench *b, carom_world *world)
{
	carom_part parts[TABLE_PARTS] = { { box(0.8, 0.5, 0.05), at(0, 0, 0.75), 0 } };
	for (int leg = 0; leg < 4; leg++)
		parts[1 + leg] = (carom_part){ box(0.05, 0.05, 0.35), at(leg & 1 ? 0.7 : -0.7, leg & 2 ? 0.4 : -0.4, 0.35), 0 };
	carom_body_def def = carom_default_body_def();
	if (strcmp(b->scene, "boxes") == 0) {
		def.shape = box(0.6, 0.6, 0.25);
	} else {
		def.parts = parts;
		def.part_count = TABLE_PARTS;
	}
	for (int i = 0; i < b->count; i++) {
		def.pose = b->places[i];
		check(b, carom_world_add_body(world, &def, &b->ids[i]));
	}
}

/// Layers of 1.2 m boxes that lie across those below, or tables in rows.
static void place(bench *b)
{
	const int row = row_of(b), side = (int)ceil(cbrt(b->count));
	for (int i = 0; i < b->count; i++) {
		const int layer = i / (side * side), in_layer = i % (side * side);
		const double shift = layer % 2 ? 0.6 : 0;
		b->places[i] = strcmp(b->scene, "boxes") == 0
			? at(1.25 * (in_layer % side) + shift, 1.25 * (in_layer / side) + shift, (0.5 - SUNK) * layer + 0.25 - SUNK)
			: at(SPACE * (i % row), SPACE * (i / row), -SUNK);
	}
}

static void open_worlds(bench *b)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	check(b, carom_create_context(&def, &b->context));
	for (int w = 0; w < WORLDS; w++) {
		check(b, carom_create_world(b->context, NULL, &b->worlds[w]));
		check(b, carom_world_set_body_pairs(b->worlds[w], w == 2 || w == 4, w >= 3 ? b->limit : 0));
		add_floor(b, b->worlds[w]);
		add_bodies(b, b->worlds[w]);
	}
}

static void move(const bench *b, uint64_t *seed)
{
	for (int i = 0; i < b->count; i++) {
		b->poses[i] = b->places[i];
		b->poses[i].position.x += random_between(seed, -TREMBLE, TREMBLE);
		b->poses[i].position.y += random_between(seed, -TREMBLE, TREMBLE);
		b->poses[i].position.z += random_between(seed, -TREMBLE, TREMBLE);
	}
	for (int w = 0; w < WORLDS; w++)
		check(b, carom_world_set_poses(b->worlds[w], b->count, b->ids, b->poses));
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void require(bool holds, const char *text)
{
	if (!holds) {
		fprintf(stderr, "bench_body_pairs: %s\n", text);
		exit(1);
	}
}

static void run(const bench *b)
{
	uint64_t seed = 1;
	for (int step = -WARM; step < b->steps; step++) {
		if (b->trembles)
			move(b, &seed);
		for (int k = 0; k < WORLDS; k++) {
			const int w = (k + step + WARM) % WORLDS; // no world is always the first one
			const double begin = now();
			check(b, carom_world_step(b->worlds[w]));
			if (step >= 0)
				b->times[w * b->steps + step] = now() - begin;
		}
		require(carom_world_hash(b->worlds[0]) == carom_world_hash(b->worlds[1]) &&
				carom_world_hash(b->worlds[0]) == carom_world_hash(b->worlds[2]),
			"a list of pairs of bodies changes contacts");
		require(carom_world_hash(b->worlds[3]) == carom_world_hash(b->worlds[4]), "a list changes limited contacts");
	}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void report(const bench *b)
{
	printf("scene,motion,bodies,limit,world,ms_least,ms_median,pairs,body_pairs,contacts\n");
	for (int w = 0; w < WORLDS; w++) {
		double *times = b->times + w * b->steps;
		qsort(times, (size_t)b->steps, sizeof *times, compare);
		printf("%s,%s,%d,%d,%s,%.4f,%.4f,%d,%d,%d\n", b->scene, b->trembles ? "tremble" : "rest", b->count, b->limit, NAMES[w],
			times[0], times[b->steps / 2], carom_world_pairs(b->worlds[w]).count, carom_world_body_pairs(b->worlds[w]).count,
			carom_world_contacts(b->worlds[w]).count);
	}
}

static void close_worlds(bench *b)
{
	for (int w = 0; w < WORLDS; w++)
		carom_destroy_world(b->worlds[w]);
	carom_destroy_context(b->context);
	free(b->ids);
	free(b->places);
	free(b->poses);
	free(b->times);
}

int main(int argc, char **argv)
{
	bench b = { 0 };
	if (argc == 6) {
		b = (bench){ .scene = argv[1], .count = atoi(argv[2]), .limit = atoi(argv[3]), .steps = atoi(argv[5]) };
		b.trembles = strcmp(argv[4], "tremble") == 0;
	}
	if (b.count < 1 || b.count > 1000000 || b.steps < 1 || b.steps > 100000 || (!b.trembles && strcmp(argv[4], "rest") != 0) ||
		(strcmp(b.scene, "boxes") != 0 && strcmp(b.scene, "tables") != 0 && strcmp(b.scene, "tiles") != 0)) {
		fprintf(stderr, "usage: bench_body_pairs (boxes | tables | tiles) BODIES LIMIT (rest | tremble) STEPS\n");
		return 2;
	}
	b.ids = calloc((size_t)b.count, sizeof *b.ids);
	b.places = calloc((size_t)b.count, sizeof *b.places);
	b.poses = calloc((size_t)b.count, sizeof *b.poses);
	b.times = calloc((size_t)b.steps * WORLDS, sizeof *b.times);
	if (!b.ids || !b.places || !b.poses || !b.times)
		return 1;
	place(&b);
	open_worlds(&b);
	run(&b);
	report(&b);
	close_worlds(&b);
	return 0;
}
