/// @file bench_query_changes.c
/// A ray after some bodies have moved. Static boxes stand at random on a square, 20 m apart in the
/// middle of all. In each round so many of them move by up to a metre, the same ones or others, and
/// then a ray is cast down, whose time is that of bringing the tree up to date. Further rays show
/// how good the tree is. Prints CSV: microseconds of the thread for the ray (the least, the middle,
/// the mean and the most of all rounds), for each move, and for each of the further rays.
/// Usage: bench_query_changes BODIES CHANGES (same | others) [ROUNDS]
#include "bench/bench_check.h"
#include "bench/bench_clock.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 1000, RAYS = 1000 };

typedef struct bench {
	carom_context *context;
	carom_world *world;
	carom_body_id *ids; // [bodies]
	int bodies, changes;
	double half; // side of the square
	uint64_t seed;
} bench;

static void check(const bench *b, carom_result result) { bench_check("bench_query_changes", b->context, result); }

static void add_boxes(bench *b)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { 1, 1, 1 } };
	for (int i = 0; i < b->bodies; i++) {
		def.pose.position =
			(carom_vec3){ random_between(&b->seed, -b->half, b->half), random_between(&b->seed, -b->half, b->half), 0 };
		check(b, carom_world_add_body(b->world, &def, &b->ids[i]));
	}
}

static void move_boxes(bench *b, int first)
{
	for (int i = 0; i < b->changes; i++) {
		const carom_body_id id = b->ids[(first + i) % b->bodies];
		carom_pose pose;
		check(b, carom_world_get_pose(b->world, id, &pose));
		pose.position.x += random_between(&b->seed, -1, 1);
		check(b, carom_world_set_pose(b->world, id, &pose));
	}
}

static bool cast_down(bench *b)
{
	const carom_vec3 from = { random_between(&b->seed, -b->half, b->half), random_between(&b->seed, -b->half, b->half), 50 };
	const carom_ray ray = { from, { 0, 0, -1 }, 0, 100 };
	bool found;
	carom_ray_hit hit;
	check(b, carom_world_cast_ray(b->world, &ray, NULL, &found, &hit));
	return found;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void run(bench *b, bool others, int rounds)
{
	double ray[MOST_ROUNDS], moves = 0, further = 0, sum = 0;
	int hits = 0;
	cast_down(b);
	for (int r = 0; r < rounds; r++) {
		double start = bench_thread_us();
		move_boxes(b, others ? r * b->changes : 0);
		moves += bench_thread_us() - start;
		start = bench_thread_us();
		cast_down(b);
		ray[r] = bench_thread_us() - start;
		sum += ray[r];
		start = bench_thread_us();
		for (int i = 0; i < RAYS; i++)
			hits += cast_down(b);
		further += bench_thread_us() - start;
	}
	qsort(ray, (size_t)rounds, sizeof *ray, compare);
	printf("%d,%d,%s,%.2f,%.2f,%.2f,%.2f,%.3f,%.3f,%d\n", b->bodies, b->changes, others ? "others" : "same", ray[0],
		ray[rounds / 2], sum / rounds, ray[rounds - 1], moves / rounds / b->changes, further / rounds / RAYS, hits);
}

int main(int argc, char **argv)
{
	bench b = { .bodies = argc > 1 ? atoi(argv[1]) : 0, .changes = argc > 2 ? atoi(argv[2]) : 0, .seed = 1 };
	const int rounds = argc > 4 ? atoi(argv[4]) : 50;
	const bool others = argc > 3 && strcmp(argv[3], "others") == 0;
	if (argc < 4 || argc > 5 || b.bodies < 1 || b.changes < 1 || b.changes > b.bodies || rounds < 1 || rounds > MOST_ROUNDS ||
		(!others && strcmp(argv[3], "same") != 0)) {
		fprintf(stderr, "usage: bench_query_changes BODIES CHANGES (same | others) [ROUNDS]\n");
		return 2;
	}
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	if (carom_create_context(&def, &b.context) != CAROM_SUCCESS)
		return 1;
	check(&b, carom_create_world(b.context, NULL, &b.world));
	b.ids = malloc((size_t)b.bodies * sizeof *b.ids);
	if (!b.ids)
		return 1;
	b.half = 10 * sqrt(b.bodies);
	add_boxes(&b);
	printf("bodies,changes,which,ray_least_us,ray_middle_us,ray_mean_us,ray_most_us,move_us,further_ray_us,hits\n");
	run(&b, others, rounds);
	carom_destroy_world(b.world);
	carom_destroy_context(b.context);
	free(b.ids);
	return 0;
}
