/// @file bench_continuous.c
/// The cost of continuous bodies in a step. Balls, boxes or rings of triangles over a height field
/// of 32,768 triangles, which fly through the air, or slide over flat ground in contact with it, or
/// are shot into it. Each load runs with and without carom_body_def.continuous, in turns, on one
/// thread. Prints CSV: microseconds a step, least and middle of the rounds. Usage: bench_continuous
/// [--bodies N] [--rounds N]
#include "bench/bench_check.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 129, MOST = 10000, STEPS = 20, MAX_ROUNDS = 100, AROUND = 24, ACROSS = 12 };

static void check(carom_context *context, carom_result result) { bench_check("bench_continuous", context, result); }

static double now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/// A ring of 576 triangles, 0.5 wide and 0.15 high.
static carom_mesh *make_ring(carom_context *context)
{
	static float vertices[AROUND * ACROSS][3];
	static int32_t triangles[2 * AROUND * ACROSS][3];
	for (int i = 0; i < AROUND; i++) {
		for (int k = 0; k < ACROSS; k++) {
			const double a = 2 * 3.14159265358979323846 * i / AROUND, b = 2 * 3.14159265358979323846 * k / ACROSS;
			const double r = 0.175 + 0.075 * cos(b);
			float *v = vertices[ACROSS * i + k];
			v[0] = (float)(r * cos(a)), v[1] = (float)(r * sin(a)), v[2] = (float)(0.075 * sin(b));
			const int32_t p = ACROSS * i + k, q = ACROSS * i + (k + 1) % ACROSS;
			const int32_t s = ACROSS * ((i + 1) % AROUND) + k, t = ACROSS * ((i + 1) % AROUND) + (k + 1) % ACROSS;
			memcpy(triangles[2 * p], (int32_t[3]){ p, s, t }, sizeof triangles[0]);
			memcpy(triangles[2 * p + 1], (int32_t[3]){ p, t, q }, sizeof triangles[0]);
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = AROUND * ACROSS;
	def.triangles = triangles[0];
	def.triangle_count = 2 * AROUND * ACROSS;
	carom_mesh *mesh;
	check(context, carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

typedef struct load {
	const char *name;
	double height;  // of the lowest points over the ground
	carom_vec3 way; // of a step
} load;

static const load loads[] = { { "fly", 2, { 1.5, 0.2, 0 } }, { "slide", 0.0005, { 0.05, 0.02, 0 } },
	{ "shoot", 2, { 0.5, 0.2, -3 } } };

typedef struct scene {
	carom_world *world;
	carom_body_id ids[MOST];
	carom_pose poses[MOST];
	int count;
} scene;

static void fill(scene *s, carom_context *context, const carom_mesh *field, carom_shape shape, double down, const load *l,
	int count, bool continuous)
{
	uint64_t seed = 1;
	carom_body_def def = carom_default_body_def();
	check(context, carom_create_world(context, NULL, &s->world));
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = field };
	carom_body_id ground;
	check(context, carom_world_add_body(s->world, &def, &ground));
	s->count = count;
	for (int i = 0; i < count; i++) {
		def.kind = CAROM_DYNAMIC;
		def.shape = shape;
		def.group = -1; // they meet the ground alone
		def.continuous = continuous;
		def.pose = carom_pose_identity();
		def.pose.position =
			(carom_vec3){ 4 + random_between(&seed, 0, 40), 4 + random_between(&seed, 0, 100), l->height + down };
		s->poses[i] = def.pose;
		check(context, carom_world_add_body(s->world, &def, &s->ids[i]));
	}
	check(context, carom_world_step(s->world));
}

/// Each step moves all bodies along the way, from where they began. Returns microseconds a step.
static double run(scene *s, carom_context *context, const load *l, carom_stats *stats)
{
	double total = 0;
	for (int step = 0; step < STEPS; step++) {
		static carom_motion motions[MOST];
		for (int i = 0; i < s->count; i++) {
			motions[i] = (carom_motion){ s->poses[i], s->poses[i] };
			motions[i].end.position.x += l->way.x;
			motions[i].end.position.y += l->way.y;
			motions[i].end.position.z += l->way.z;
		}
		check(context, carom_world_set_motions(s->world, s->count, s->ids, motions));
		const double start = now_us();
		check(context, carom_world_step(s->world));
		total += now_us() - start;
	}
	*stats = carom_world_stats(s->world);
	return total / STEPS;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void compare(carom_context *context, const carom_mesh *field, const char *name, carom_shape shape, double down,
	const load *l, int count, int rounds)
{
	static scene scenes[2];
	static double times[2][MAX_ROUNDS];
	carom_stats stats[2] = { 0 };
	for (int flagged = 0; flagged < 2; flagged++)
		fill(&scenes[flagged], context, field, shape, down, l, count, flagged);
	for (int round = 0; round < 2 * rounds; round++)
		times[round % 2][round / 2] = run(&scenes[round % 2], context, l, &stats[round % 2]);
	for (int flagged = 0; flagged < 2; flagged++) {
		qsort(times[flagged], (size_t)rounds, sizeof times[0][0], ascending);
		printf("%s,%s,%d,%d,%.1f,%.1f,%lld,%d\n", l->name, name, count, flagged, times[flagged][0], times[flagged][rounds / 2],
			(long long)stats[flagged].toi_tests, stats[flagged].body_impacts);
		carom_destroy_world(scenes[flagged].world);
	}
}

int main(int argc, char **argv)
{
	int count = 1000, rounds = 5;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--bodies"))
			count = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--rounds"))
			rounds = atoi(argv[i + 1]);
	}
	if (count < 1 || count > MOST || rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "bench_continuous: 1 to %d bodies, 1 to %d rounds\n", MOST, MAX_ROUNDS);
		return 2;
	}
	static float heights[SIDE * SIDE];
	carom_context *context;
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	if (carom_create_context(&def, &context))
		return 1;
	carom_mesh *field, *ring = make_ring(context);
	check(context, carom_create_height_field(context, SIDE, SIDE, heights, (double[2]){ 1, 1 }, 1, &field));
	const carom_shape shapes[] = { { .type = CAROM_SPHERE, .radius = 0.2 },
		{ .type = CAROM_BOX, .half_extents = { 0.3, 0.2, 0.1 } }, { .type = CAROM_MESH, .mesh = ring } };
	static const char *const names[] = { "ball", "box", "ring" };
	static const double downs[] = { 0.2, 0.1, 0.075 };
	puts("load,shape,bodies,continuous,us_least,us_middle,toi_tests,impacts");
	for (size_t l = 0; l < sizeof loads / sizeof *loads; l++) {
		for (int i = 0; i < 3; i++)
			compare(context, field, names[i], shapes[i], downs[i], &loads[l], count, rounds);
	}
	carom_release_mesh(field);
	carom_release_mesh(ring);
	carom_destroy_context(context);
	return 0;
}
