/// @file bench_native.c
/// The work of bench_wasm.mjs by the native library, on one thread. bench_wasm.mjs writes FILE and
/// starts this program once in each of its rounds. Each work is done twice; the second time counts.
/// Prints a line for each: its number, ms of the processor, the answer.
/// Usage: bench_native FILE (scalar | sse2 | avx2 | avx512 | neon)
#include "carom/carom.h"
#include "carom/spheres.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench {
	carom_context *context;
	carom_world *world;
	int32_t vertices, triangles, bodies, spheres, rays; ///< the file begins with these
	const double *vertex, *pose, *centre, *radius, *origin, *direction;
	const int32_t *corner;
	carom_ray *ray;
	carom_ray_hit *hit;
	carom_closest_point *closest;
	double answer;
} bench;

static void fail(const char *text)
{
	fprintf(stderr, "bench_native: %s\n", text);
	exit(1);
}

static void check(const bench *b, carom_result result)
{
	if (result != CAROM_SUCCESS)
		fail(carom_error_text(b->context));
}

/// count elements of the file. They are never given back.
static void *take(FILE *file, size_t count, size_t size)
{
	void *const data = malloc(count * size);
	if (!data || fread(data, size, count, file) != count)
		fail("the file is cut off, or there is no memory for it");
	return data;
}

static void read_work(bench *b, const char *path)
{
	FILE *const file = fopen(path, "rb");
	int32_t counts[5];
	if (!file || fread(counts, sizeof counts, 1, file) != 1)
		fail("the file cannot be read");
	b->vertices = counts[0];
	b->triangles = counts[1];
	b->bodies = counts[2];
	b->spheres = counts[3];
	b->rays = counts[4];
	b->vertex = take(file, 3 * (size_t)counts[0], sizeof(double));
	b->pose = take(file, 7 * (size_t)counts[2], sizeof(double));
	b->centre = take(file, 3 * (size_t)counts[3], sizeof(double));
	b->radius = take(file, (size_t)counts[3], sizeof(double));
	b->origin = take(file, 3 * (size_t)counts[4], sizeof(double));
	b->direction = take(file, 3 * (size_t)counts[4], sizeof(double));
	b->corner = take(file, 3 * (size_t)counts[1], sizeof(int32_t));
	fclose(file);
	b->ray = calloc((size_t)b->rays, sizeof *b->ray);
	b->hit = calloc((size_t)b->rays, sizeof *b->hit);
	b->closest = calloc((size_t)b->rays, sizeof *b->closest);
	if (!b->ray || !b->hit || !b->closest)
		fail("out of memory");
	for (int32_t i = 0; i < b->rays; i++) {
		const double *const o = b->origin + 3 * (size_t)i, *const d = b->direction + 3 * (size_t)i;
		b->ray[i] = (carom_ray){ { o[0], o[1], o[2] }, { d[0], d[1], d[2] }, 0, INFINITY };
	}
}

static void make_world(bench *b, const char *set)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	while (strcmp(carom_simd_name(++def.simd), set) != 0) {
		if (def.simd == CAROM_SIMD_NEON)
			fail("there is no such instruction set");
	}
	if (carom_create_context(&def, &b->context) != CAROM_SUCCESS)
		fail(carom_error_text(NULL));
	carom_mesh_def mesh_def = carom_default_mesh_def();
	carom_mesh *mesh;
	mesh_def.vertices = (carom_strided){ b->vertex, 0, CAROM_FLOAT64 };
	mesh_def.vertex_count = b->vertices;
	mesh_def.triangles = b->corner;
	mesh_def.triangle_count = b->triangles;
	check(b, carom_create_mesh(b->context, &mesh_def, NULL, &mesh));
	carom_world_def world_def = carom_default_world_def();
	world_def.temporal = CAROM_TEMPORAL_NONE;
	check(b, carom_create_world(b->context, &world_def, &b->world));
	for (int32_t i = 0; i < b->bodies; i++) {
		const double *const p = b->pose + 7 * (size_t)i;
		carom_body_def body = carom_default_body_def();
		carom_body_id id;
		body.shape.type = CAROM_MESH;
		body.shape.mesh = mesh;
		body.pose = (carom_pose){ { p[0], p[1], p[2] }, { p[3], p[4], p[5], p[6] } };
		check(b, carom_world_add_body(b->world, &body, &id));
	}
}

static void six_steps(bench *b)
{
	for (int i = 0; i < 6; i++)
		check(b, carom_world_step(b->world));
}

static void sphere_pairs(bench *b)
{
	carom_spheres *spheres;
	carom_sphere_input input = carom_default_sphere_input();
	carom_sphere_pairs pairs;
	check(b, carom_create_spheres(b->context, NULL, &spheres));
	input.count = b->spheres;
	input.centres = (carom_strided){ b->centre, 0, CAROM_FLOAT64 };
	input.radii = (carom_strided){ b->radius, 0, CAROM_FLOAT64 };
	check(b, carom_spheres_update(spheres, &input));
	check(b, carom_spheres_find_pairs(spheres, &pairs));
	b->answer = 2 * (double)pairs.count;
	carom_destroy_spheres(spheres);
}

static void ray_batch(bench *b)
{
	const carom_batch batch = { .count = b->rays };
	check(b, carom_world_cast_rays(b->world, &batch, b->ray, b->hit));
	b->answer = 0;
	for (int32_t i = 0; i < b->rays; i++)
		b->answer += b->hit[i].t;
}

static void single_rays(bench *b)
{
	b->answer = 0;
	for (int32_t i = 0; i < b->rays / 4; i++) {
		bool found;
		check(b, carom_world_cast_ray_any(b->world, b->ray + i, NULL, &found));
		b->answer += found;
	}
}

static void nearest_points(bench *b)
{
	const carom_batch batch = { .count = b->rays / 4 };
	check(b, carom_world_closest_points(b->world, &batch, (const carom_vec3 *)b->origin, INFINITY, b->closest));
	b->answer = 0;
	for (int32_t i = 0; i < b->rays / 4; i++)
		b->answer += b->closest[i].distance;
}

int main(int argc, char **argv)
{
	static void (*const work[])(bench *) = { six_steps, sphere_pairs, ray_batch, single_rays, nearest_points };
	bench b = { 0 };
	if (argc != 3)
		fail("usage: bench_native FILE INSTRUCTION_SET");
	read_work(&b, argv[1]);
	make_world(&b, argv[2]);
	for (int i = 0; i < (int)(sizeof work / sizeof *work); i++) {
		work[i](&b);
		const clock_t begin = clock();
		work[i](&b);
		const clock_t end = clock();
		printf("%d %.3f ", i, 1000 * (double)(end - begin) / CLOCKS_PER_SEC);
		if (i == 0)
			printf("%016" PRIx64 "\n", carom_world_hash(b.world));
		else
			printf("%.17g\n", b.answer);
	}
	return 0;
}
