/// @file bench_device_bodies.c
/// A step of many concave meshes that touch, with and without a graphics device. Bodies of one
/// lumpy mesh of 900 triangles hang in a grid in which neighbours overlap a little, and tremble.
/// Three worlds of one content step in turn over the same poses: on the processor, with a device
/// that is given every stage (carom_device_def.always), and with one that is asked as it is by
/// default. Their contacts must agree bit for bit in each step, else the program fails.
///
/// Prints CSV: for each way milliseconds of a step on the clock, least and median, means of its
/// stages, and what the last step has done and where. Then the kernels of the device that is given
/// every stage: calls and milliseconds of a step.
/// Usage: bench_device_bodies SIDE (none | predictive) TREMBLE STEPS THREADS DEVICE
/// for SIDE^3 bodies; TREMBLE in metres, DEVICE as carom_device_def.choice.
#include "bench/bench_check.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 3, WARM = 2, RINGS = 15, SECTORS = 32, VERTICES = 2 + (RINGS - 1) * SECTORS };
enum { TRIANGLES = 2 * SECTORS + 2 * SECTORS * (RINGS - 2) };
static const char *const NAMES[WAYS] = { "processor", "device for all", "device by default" };
static const double SPACE = 1.9, TWO_PI = 6.283185307179586;

typedef struct bench {
	carom_context *context;
	carom_device *devices[WAYS]; // NULL: none
	carom_mesh *mesh;
	carom_world *worlds[WAYS];
	int side, count, steps;
	double tremble;
	carom_body_id *ids; // [count]
	carom_pose *places; // [count]
	carom_pose *poses;  // [count]
	double *times;      // [WAYS*steps]
	carom_stats sums[WAYS];
} bench;

static void check(const bench *b, carom_result result) { bench_check("bench_device_bodies", b->context, result); }

static void *room(size_t count, size_t size)
{
	void *all = calloc(count, size);
	if (!all) {
		fprintf(stderr, "bench_device_bodies: out of memory\n");
		exit(1);
	}
	return all;
}

/// A ball with three waves around it and two along it.
static void place_vertex(float p[3], double along, double around)
{
	const double r = 1 + 0.15 * sin(along) * cos(3 * around) + 0.1 * cos(4 * along);
	p[0] = (float)(r * sin(along) * cos(around));
	p[1] = (float)(r * sin(along) * sin(around));
	p[2] = (float)(r * cos(along));
}

static void make_mesh(bench *b)
{
	static float vertices[VERTICES][3];
	static int32_t triangles[TRIANGLES][3];
	place_vertex(vertices[0], 0, 0);
	for (int ring = 1, i = 1; ring < RINGS; ring++)
		for (int s = 0; s < SECTORS; s++, i++)
			place_vertex(vertices[i], TWO_PI / 2 * ring / RINGS, TWO_PI * s / SECTORS);
	place_vertex(vertices[VERTICES - 1], TWO_PI / 2, 0);
	int n = 0;
	for (int s = 0; s < SECTORS; s++) {
		const int next = (s + 1) % SECTORS, last = 1 + (RINGS - 2) * SECTORS;
		memcpy(triangles[n++], (int32_t[3]){ 0, 1 + s, 1 + next }, sizeof *triangles);
		memcpy(triangles[n++], (int32_t[3]){ VERTICES - 1, last + next, last + s }, sizeof *triangles);
		for (int ring = 0; ring < RINGS - 2; ring++) {
			const int a = 1 + ring * SECTORS;
			memcpy(triangles[n++], (int32_t[3]){ a + s, a + SECTORS + s, a + next }, sizeof *triangles);
			memcpy(triangles[n++], (int32_t[3]){ a + next, a + SECTORS + s, a + SECTORS + next }, sizeof *triangles);
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = VERTICES;
	def.triangles = triangles[0];
	def.triangle_count = n;
	check(b, carom_create_mesh(b->context, &def, NULL, &b->mesh));
}

static carom_quat turn(uint64_t *seed)
{
	double q[4], length = 0;
	for (int k = 0; k < 4; k++) {
		q[k] = random_between(seed, -1, 1);
		length += q[k] * q[k];
	}
	length = sqrt(length);
	return (carom_quat){ q[0] / length, q[1] / length, q[2] / length, q[3] / length };
}

static void open_worlds(bench *b, carom_temporal temporal)
{
	carom_world_def def = carom_default_world_def();
	carom_body_def body = carom_default_body_def();
	uint64_t seed = 7;
	def.temporal = temporal;
	body.shape = (carom_shape){ .type = CAROM_MESH, .mesh = b->mesh };
	for (int i = 0; i < b->count; i++) {
		const int layer = i / (b->side * b->side), row = i / b->side % b->side;
		b->places[i].position = (carom_vec3){ SPACE * (i % b->side), SPACE * row, SPACE * layer };
		b->places[i].orientation = turn(&seed);
	}
	for (int w = 0; w < WAYS; w++) {
		check(b, carom_create_world(b->context, &def, &b->worlds[w]));
		check(b, carom_world_set_device(b->worlds[w], b->devices[w], false));
		for (int i = 0; i < b->count; i++) {
			body.pose = b->places[i];
			check(b, carom_world_add_body(b->worlds[w], &body, &b->ids[i]));
		}
	}
}

static void open_devices(bench *b, const char *choice)
{
	carom_device_def def = carom_default_device_def();
	def.choice = choice;
	for (int w = 1; w < WAYS; w++) {
		def.always = def.timing = w == 1;
		check(b, carom_create_device(b->context, &def, &b->devices[w]));
	}
}

static void move(const bench *b, uint64_t *seed)
{
	for (int i = 0; i < b->count; i++) {
		b->poses[i] = b->places[i];
		b->poses[i].position.x += random_between(seed, -b->tremble, b->tremble);
		b->poses[i].position.y += random_between(seed, -b->tremble, b->tremble);
		b->poses[i].position.z += random_between(seed, -b->tremble, b->tremble);
	}
}

static void add(carom_stats *sum, const carom_stats *stats)
{
	sum->ms_trees += stats->ms_trees;
	sum->ms_pair += stats->ms_pair;
	sum->ms_vertex += stats->ms_vertex;
	sum->ms_ray += stats->ms_ray;
	sum->ms_complete += stats->ms_complete;
	sum->ms_merge += stats->ms_merge;
}

static void step(bench *b, int number)
{
	for (int w = 0; w < WAYS; w++) {
		check(b, carom_world_set_poses(b->worlds[w], b->count, b->ids, b->poses));
		check(b, carom_world_step(b->worlds[w]));
		if (carom_world_hash(b->worlds[w]) != carom_world_hash(b->worlds[0])) {
			fprintf(stderr, "bench_device_bodies: in step %d the contacts of '%s' are others\n", number, NAMES[w]);
			exit(1);
		}
		const carom_stats stats = carom_world_stats(b->worlds[w]);
		if (number < 0)
			continue;
		b->times[w * b->steps + number] = stats.ms_total;
		add(&b->sums[w], &stats);
	}
}

/// Kernels of all steps, those that were not measured included.
static void print_kernels(const bench *b)
{
	enum { MOST = 64 };
	carom_kernel_time kernels[MOST];
	const int32_t count = carom_device_get_kernels(b->devices[1], kernels, MOST);
	const double share = 1.0 / (b->steps + WARM);
	printf("kernel,calls,ms\n");
	for (int32_t i = 0; i < count && i < MOST; i++)
		printf("%s,%.1f,%.4f\n", kernels[i].name, share * (double)kernels[i].calls, share * kernels[i].ms);
	const carom_device_stats stats = carom_device_get_stats(b->devices[1]);
	printf("submissions,%.1f\nKiB up and down,%.0f,%.0f\n", share * (double)stats.submissions,
		share * (double)stats.bytes_up / 1024, share * (double)stats.bytes_down / 1024);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print(const bench *b)
{
	printf("where,bodies,threads,ms least,ms median,trees,pair,vertex,ray,complete,merge,pairs,full rays,iterative,there,"
		   "walked there,near there,tests,tests there\n");
	for (int w = 0; w < WAYS; w++) {
		double *times = b->times + w * b->steps;
		qsort(times, (size_t)b->steps, sizeof *times, compare);
		const carom_stats s = carom_world_stats(b->worlds[w]), *m = &b->sums[w];
		const double n = b->steps;
		printf("%s,%d,%d,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%d,%lld,%lld,%lld,%lld,%lld,%lld,%lld\n", NAMES[w], b->count,
			carom_context_threads(b->context), times[0], times[b->steps / 2], m->ms_trees / n, m->ms_pair / n, m->ms_vertex / n,
			m->ms_ray / n, m->ms_complete / n, m->ms_merge / n, carom_world_pairs(b->worlds[w]).count, (long long)s.rays_full,
			(long long)s.rays_iterative, (long long)s.rays_on_device, (long long)s.walks_on_device, (long long)s.near_on_device,
			(long long)s.triangle_tests, (long long)s.tests_on_device);
	}
}

int main(int argc, char **argv)
{
	bench b = { 0 };
	if (argc != 7 || (strcmp(argv[2], "none") != 0 && strcmp(argv[2], "predictive") != 0)) {
		fprintf(stderr, "usage: bench_device_bodies SIDE (none | predictive) TREMBLE STEPS THREADS DEVICE\n");
		return 2;
	}
	b.side = atoi(argv[1]);
	b.count = b.side * b.side * b.side;
	b.tremble = atof(argv[3]);
	b.steps = atoi(argv[4]);
	if (b.count < 1 || b.steps < 1) {
		fprintf(stderr, "bench_device_bodies: SIDE and STEPS are at least 1\n");
		return 2;
	}
	b.ids = room((size_t)b.count, sizeof *b.ids);
	b.places = room((size_t)b.count, sizeof *b.places);
	b.poses = room((size_t)b.count, sizeof *b.poses);
	b.times = room((size_t)WAYS * (size_t)b.steps, sizeof *b.times);
	carom_context_def def = carom_default_context_def();
	def.thread_count = atoi(argv[5]);
	check(&b, carom_create_context(&def, &b.context));
	open_devices(&b, argv[6]);
	make_mesh(&b);
	open_worlds(&b, strcmp(argv[2], "none") == 0 ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_PREDICTIVE);
	uint64_t seed = 99;
	for (int i = -WARM; i < b.steps; i++) {
		move(&b, &seed);
		step(&b, i);
	}
	print(&b);
	print_kernels(&b);
	for (int w = 0; w < WAYS; w++)
		carom_destroy_world(b.worlds[w]);
	carom_release_mesh(b.mesh);
	for (int w = 0; w < WAYS; w++)
		carom_destroy_device(b.devices[w]);
	carom_destroy_context(b.context);
	free(b.ids);
	free(b.places);
	free(b.poses);
	free(b.times);
	return 0;
}
