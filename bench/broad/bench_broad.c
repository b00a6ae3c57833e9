/// @file bench_broad.c
/// The broad phases against each other: spheres at the density of a heap, all moving, few moving,
/// none moving. Each runs on the same poses in turn; the step's pairs and hashes are compared
/// before a time is taken. Prints CSV: milliseconds of the pair step, which is the broad phase and
/// the oriented boxes of its pairs. Usage: bench_broad [--threads N] [--bodies N]
#include "bench/bench_random.h"
#include "carom/lab.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 3, WARM_UP = 5, STEPS = 40, BRUTE_LIMIT = 2000 };

static const char *const NAMES[WORLDS] = { "tree", "sweep", "brute" };

typedef struct scene {
	carom_context *context;
	carom_world *worlds[WORLDS];
	int world_count;
	int bodies;
	carom_body_id *ids;
	carom_pose *poses;
	uint64_t seed;
	double ms[WORLDS][STEPS];
} scene;

static void fail(const char *what)
{
	fprintf(stderr, "bench_broad: %s\n", what);
	exit(1);
}

/// Spheres of radius 0.5, three volumes of a ball to each: about two overlapping boxes a body.
static void open_scene(scene *s, int threads)
{
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = threads;
	if (carom_create_context(&context_def, &s->context) != CAROM_SUCCESS)
		fail("no context");
	s->world_count = s->bodies <= BRUTE_LIMIT ? WORLDS : WORLDS - 1;
	s->ids = malloc((size_t)s->bodies * sizeof *s->ids);
	s->poses = malloc((size_t)s->bodies * sizeof *s->poses);
	double side = 1;
	while (side * side * side < 1.6 * s->bodies)
		side *= 1.01;
	for (int i = 0; i < s->bodies; i++) {
		s->poses[i] = carom_pose_identity();
		s->poses[i].position = (carom_vec3){ random_between(&s->seed, 0, side), random_between(&s->seed, 0, side),
			random_between(&s->seed, 0, side) };
	}
	for (int w = 0; w < s->world_count; w++) {
		carom_world_def def = carom_default_world_def();
		carom_lab lab = carom_default_lab();
		def.lab = &lab;
		def.broad_phase = w == 1 ? CAROM_BROAD_SWEEP : CAROM_BROAD_TREE;
		lab.brute_broad_phase = w == 2;
		if (carom_create_world(s->context, &def, &s->worlds[w]) != CAROM_SUCCESS)
			fail(carom_error_text(s->context));
		for (int i = 0; i < s->bodies; i++) {
			carom_body_def body = carom_default_body_def();
			body.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = 0.5 };
			body.pose = s->poses[i];
			if (carom_world_add_body(s->worlds[w], &body, &s->ids[i]) != CAROM_SUCCESS)
				fail(carom_error_text(s->context));
		}
	}
}

static void close_scene(scene *s)
{
	for (int w = 0; w < s->world_count; w++)
		carom_destroy_world(s->worlds[w]);
	carom_destroy_context(s->context);
	free(s->ids);
	free(s->poses);
}

/// Move one body in every share by up to distance along each axis. share 0: none.
static void move_bodies(scene *s, int step, int share, double distance)
{
	for (int i = step; share > 0 && i < s->bodies + step; i += share) {
		const int b = i % s->bodies;
		carom_vec3 *p = &s->poses[b].position;
		p->x += random_between(&s->seed, -distance, distance);
		p->y += random_between(&s->seed, -distance, distance);
		p->z += random_between(&s->seed, -distance, distance);
		for (int w = 0; w < s->world_count; w++) {
			if (carom_world_set_pose(s->worlds[w], s->ids[b], &s->poses[b]) != CAROM_SUCCESS)
				fail(carom_error_text(s->context));
		}
	}
}

static void step_worlds(scene *s, double *ms)
{
	for (int w = 0; w < s->world_count; w++) {
		if (carom_world_step(s->worlds[w]) != CAROM_SUCCESS)
			fail(carom_error_text(s->context));
		if (carom_world_hash(s->worlds[w]) != carom_world_hash(s->worlds[0]) ||
			carom_world_stats(s->worlds[w]).box_pairs != carom_world_stats(s->worlds[0]).box_pairs)
			fail("the broad phases disagree");
		ms[w] = carom_world_stats(s->worlds[w]).ms_pair;
	}
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void run(int bodies, const char *motion, int share, double distance, int threads)
{
	scene s = { .bodies = bodies, .seed = 1 };
	open_scene(&s, threads);
	for (int step = 0; step < WARM_UP + STEPS; step++) {
		double ms[WORLDS];
		move_bodies(&s, step, share, distance);
		step_worlds(&s, ms);
		for (int w = 0; w < s.world_count && step >= WARM_UP; w++)
			s.ms[w][step - WARM_UP] = ms[w];
	}
	for (int w = 0; w < s.world_count; w++) {
		qsort(s.ms[w], STEPS, sizeof s.ms[w][0], compare_doubles);
		printf("%d,%s,%s,%d,%d,%.4f,%.4f\n", bodies, motion, NAMES[w], threads, carom_world_stats(s.worlds[w]).box_pairs,
			s.ms[w][0], s.ms[w][STEPS / 2]);
	}
	fflush(stdout);
	close_scene(&s);
}

static int number_after(int argc, char **argv, const char *name, int otherwise)
{
	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return atoi(argv[i + 1]);
	}
	return otherwise;
}

int main(int argc, char **argv)
{
	const int threads = number_after(argc, argv, "--threads", 1), only = number_after(argc, argv, "--bodies", 0);
	printf("bodies,motion,broad phase,threads,box pairs,min ms,median ms\n");
	for (int i = 0; i < 2; i++) {
		const int bodies = only > 0 ? only : i ? 20000 : 512;
		run(bodies, "all creep", 1, 0.01, threads);
		run(bodies, "all jump", 1, 0.3, threads);
		run(bodies, "1 in 20 creeps", 20, 0.01, threads);
		run(bodies, "1 in 20 jumps", 20, 0.3, threads);
		run(bodies, "none", 0, 0, threads);
		if (only > 0)
			break;
	}
	return 0;
}
