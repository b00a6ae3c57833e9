/// @file bench_boxes.c
/// The memory of many boxes. They stand apart in the air, or each on a plane or on a height field,
/// sunk 5 mm, equal, of 1,000 sizes, or all different. Prints CSV after each of a few steps: bytes
/// for a box that the library holds and has held at most, the most memory of the process in MB,
/// contacts, and seconds of the processor for the step.
/// Usage: bench_boxes BOXES (air | plane | field) (equal | sizes | different) [STEPS]
#include "bench/bench_check.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { SIDE = 65, SIZES = 1000 };
static const double SPACE = 1.5, SUNK = 0.005;

typedef struct bench {
	carom_context *context;
	carom_world *world;
	carom_mesh *field;
	int count;
	const char *ground, *sizes;
} bench;

static void check(const bench *b, carom_result result) { bench_check("bench_boxes", b->context, result); }

static int row_of(const bench *b) { return (int)ceil(sqrt(b->count)); }

static void add_ground(bench *b)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_STATIC;
	def.shape.type = CAROM_PLANE;
	if (strcmp(b->ground, "air") == 0)
		return;
	if (strcmp(b->ground, "field") == 0) {
		float heights[SIDE * SIDE];
		const double space = SPACE * (row_of(b) + 1) / (SIDE - 1);
		for (int i = 0; i < SIDE * SIDE; i++)
			heights[i] = 0.01f * sinf(0.7f * (float)(i % SIDE)) * cosf(0.9f * (float)(i / SIDE));
		check(b, carom_create_height_field(b->context, SIDE, SIDE, heights, (double[2]){ space, space }, 5, &b->field));
		def.shape.type = CAROM_MESH;
		def.shape.mesh = b->field;
	}
	check(b, carom_world_add_body(b->world, &def, &id));
}

static void add_boxes(const bench *b)
{
	const bool air = strcmp(b->ground, "air") == 0;
	uint64_t seed = 1;
	for (int i = 0; i < b->count; i++) {
		carom_body_def def = carom_default_body_def();
		carom_body_id id;
		def.shape.type = CAROM_BOX;
		if (strcmp(b->sizes, "sizes") == 0)
			seed = (uint64_t)(i % SIZES);
		for (int k = 0; k < 3; k++)
			def.shape.half_extents[k] = strcmp(b->sizes, "equal") == 0 ? 0.4 : random_between(&seed, 0.3, 0.5);
		const double height = air ? SPACE : def.shape.half_extents[2] - SUNK;
		def.pose.position = (carom_vec3){ SPACE * (i % row_of(b) + 0.5), SPACE * (i / row_of(b) + 0.5), height };
		check(b, carom_world_add_body(b->world, &def, &id));
	}
}

static double process_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void step(const bench *b, int number, size_t before)
{
	struct rusage usage;
	const double start = process_seconds();
	check(b, carom_world_step(b->world));
	const double seconds = process_seconds() - start;
	getrusage(RUSAGE_SELF, &usage);
	printf("%d,%s,%s,%d,%.0f,%.0f,%.0f,%d,%.2f\n", b->count, b->ground, b->sizes, number,
		(double)(carom_memory_in_use(b->context) - before) / b->count,
		(double)(carom_memory_peak(b->context) - before) / b->count, (double)usage.ru_maxrss / 1024,
		carom_world_contacts(b->world).count, seconds);
}

static bool is_one_of(const char *word, const char *const words[3])
{
	return strcmp(word, words[0]) == 0 || strcmp(word, words[1]) == 0 || strcmp(word, words[2]) == 0;
}

int main(int argc, char **argv)
{
	static const char *const grounds[] = { "air", "plane", "field" }, *const sizes[] = { "equal", "sizes", "different" };
	bench b = { .count = argc > 1 ? atoi(argv[1]) : 0 };
	if (argc < 4 || argc > 5 || b.count < 1 || !is_one_of(argv[2], grounds) || !is_one_of(argv[3], sizes)) {
		fprintf(stderr, "usage: bench_boxes BOXES (air | plane | field) (equal | sizes | different) [STEPS]\n");
		return 2;
	}
	b.ground = argv[2];
	b.sizes = argv[3];
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	if (carom_create_context(&def, &b.context) != CAROM_SUCCESS)
		return 1;
	const carom_world_def world_def = carom_default_world_def();
	check(&b, carom_create_world(b.context, &world_def, &b.world));
	add_ground(&b);
	const size_t before = carom_memory_in_use(b.context);
	add_boxes(&b);
	printf("boxes,ground,sizes,step,bytes_each,peak_bytes_each,process_mb,contacts,seconds\n");
	for (int i = 1; i <= (argc > 4 ? atoi(argv[4]) : 1); i++)
		step(&b, i, before);
	carom_destroy_world(b.world);
	carom_release_mesh(b.field);
	carom_destroy_context(b.context);
	return 0;
}
