/// @file bench_proximity.c
/// What a search for features near each other costs (carom/proximity.h). A mesh is placed by turns
/// as in two files, or stays where it is, and is searched with a distance given in mean lengths of
/// its edges. Prints CSV, milliseconds on one thread: the first search, which builds the tree; the
/// searches after it, least and middle, from the root and by the front, with the placing of the
/// vertices; the safe displacements; counts, and a hash of all pairs. --brute adds the time of all
/// pairs of features tried one by one, boxes first: minutes on large meshes. --device adds times
/// with a graphics device: its index, or a part of its name.
/// Usage: bench_proximity [--steps N] [--distance SHARE] [--brute] [--device CHOICE] FIRST [SECOND]
#include "bench/bench_check.h"
#include "carom/carom.h"
#include "carom/vulkan.h"
#include "io/mesh_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_STEPS = 1000 };

typedef struct bench {
	carom_context *context;
	sim_mesh frames[2];
	int frame_count, steps;
	double distance; // metres
	carom_device *device;
} bench;

static void check(carom_context *context, carom_result result) { bench_check("bench_proximity", context, result); }

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int compare_times(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static carom_strided places_of(const sim_mesh *mesh)
{
	return mesh->doubles ? (carom_strided){ .data = mesh->doubles, .type = CAROM_FLOAT64 }
						 : (carom_strided){ .data = mesh->vertices, .type = CAROM_FLOAT32 };
}

static void place_of(const sim_mesh *mesh, int32_t vertex, double p[3])
{
	for (int k = 0; k < 3; k++)
		p[k] = mesh->doubles ? mesh->doubles[3 * (int64_t)vertex + k] : (double)mesh->vertices[3 * (int64_t)vertex + k];
}

static double mean_edge(const sim_mesh *mesh)
{
	double sum = 0;
	for (int64_t i = 0; i < 3 * (int64_t)mesh->triangle_count; i++) {
		double a[3], b[3];
		place_of(mesh, mesh->triangles[i], a);
		place_of(mesh, mesh->triangles[i % 3 == 2 ? i - 2 : i + 1], b);
		sum += sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
	}
	return sum / (3.0 * mesh->triangle_count);
}

/// FNV-1a of what names and weighs each pair.
static uint64_t hash_pairs(const carom_proximity_view *view)
{
	uint64_t hash = 14695981039346656037u;
	for (int64_t i = 0; i < view->pair_count; i++) {
		const carom_proximity_pair *pair = &view->pairs[i];
		uint64_t words[3];
		memcpy(words, pair->vertices, sizeof pair->vertices);
		memcpy(&words[2], &pair->distance2, sizeof words[2]);
		for (int k = 0; k < 3; k++)
			hash = (hash ^ words[k]) * 1099511628211u;
	}
	return hash;
}

static void run(const bench *b, const char *name, carom_sweep_method method)
{
	static double times[MAX_STEPS];
	carom_proximity_def def = carom_default_proximity_def();
	def.method = method;
	def.device = b->device;
	carom_proximity *scene;
	check(b->context, carom_create_proximity(b->context, &def, &scene));
	carom_sweep_mesh_def mesh_def = carom_default_sweep_mesh_def();
	mesh_def.vertex_count = b->frames[0].vertex_count;
	mesh_def.triangles = b->frames[0].triangles;
	mesh_def.triangle_count = b->frames[0].triangle_count;
	mesh_def.vertices = places_of(&b->frames[0]);
	int32_t mesh;
	check(b->context, carom_proximity_add_mesh(scene, &mesh_def, &mesh));
	carom_proximity_view view;
	double start = now_ms();
	check(b->context, carom_proximity_find(scene, b->distance, &view));
	const double first = now_ms() - start;
	for (int step = 0; step < b->steps; step++) {
		const carom_strided places = places_of(&b->frames[(step + 1) % b->frame_count]);
		start = now_ms();
		check(b->context, carom_proximity_place_mesh(scene, mesh, &places));
		check(b->context, carom_proximity_find(scene, b->distance, &view));
		times[step] = now_ms() - start;
	}
	double *radii = calloc((size_t)mesh_def.vertex_count + 1, sizeof *radii);
	if (!radii)
		exit(1);
	start = now_ms();
	check(b->context, carom_proximity_get_safe_displacements(scene, mesh, radii));
	const double safe = now_ms() - start;
	free(radii);
	qsort(times, (size_t)b->steps, sizeof *times, compare_times);
	const carom_sweep_stats stats = carom_proximity_get_stats(scene);
	printf("%s,%.2f,%.2f,%.2f,%.2f,%lld,%lld,%lld,%lld,%lld,%.1f,%016llx\n", name, first, times[0], times[b->steps / 2], safe,
		(long long)stats.tests_vf, (long long)stats.tests_ee, (long long)stats.device_left, (long long)stats.hits_vf,
		(long long)stats.hits_ee, (double)carom_memory_in_use(b->context) / (1 << 20), (unsigned long long)hash_pairs(&view));
	carom_destroy_proximity(scene);
}

static void run_on_device(bench *b, const char *choice)
{
	carom_device_def def = carom_default_device_def();
	def.choice = choice;
	def.tier = CAROM_TIER_COMPUTE;
	check(b->context, carom_create_device(b->context, &def, &b->device));
	run(b, "device", CAROM_SWEEP_AUTO);
	carom_destroy_device(b->device);
	b->device = NULL;
}

// ---- All pairs, one by one ----

typedef struct feature {
	int32_t vertices[3];
	int count;
	double low[3], high[3];
} feature;

static feature make_feature(const sim_mesh *mesh, int count, const int32_t *vertices)
{
	feature f = { { -1, -1, -1 }, count, { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
	for (int i = 0; i < count; i++) {
		double p[3];
		place_of(mesh, f.vertices[i] = vertices[i], p);
		for (int k = 0; k < 3; k++) {
			f.low[k] = fmin(f.low[k], p[k]);
			f.high[k] = fmax(f.high[k], p[k]);
		}
	}
	return f;
}

static int compare_features(const void *a, const void *b)
{
	const feature *x = a, *y = b;
	for (int k = 0; k < 3; k++) {
		if (x->vertices[k] != y->vertices[k])
			return x->vertices[k] < y->vertices[k] ? -1 : 1;
	}
	return 0;
}

/// Vertices, edges or faces, each once; degenerate triangles left out.
static feature *list_features(const sim_mesh *mesh, int size, int64_t *count)
{
	feature *list = calloc(3 * (size_t)mesh->triangle_count + 1, sizeof *list);
	if (!list)
		exit(1);
	int64_t all = 0;
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		const int32_t *t = mesh->triangles + 3 * (int64_t)i;
		if (t[0] == t[1] || t[1] == t[2] || t[2] == t[0])
			continue;
		for (int k = 0; k < (size == 3 ? 1 : 3); k++) {
			const int32_t a = t[k], b = t[(k + 1) % 3], ends[2] = { a < b ? a : b, a < b ? b : a };
			list[all++] = make_feature(mesh, size, size == 3 ? t : size == 2 ? ends : &a);
		}
	}
	if (size < 3)
		qsort(list, (size_t)all, sizeof *list, compare_features);
	int64_t kept = 0;
	for (int64_t i = 0; i < all; i++) {
		if (size == 3 || kept == 0 || compare_features(&list[i], &list[kept - 1]) != 0)
			list[kept++] = list[i];
	}
	*count = kept;
	return list;
}

static bool is_near(const bench *b, carom_sweep_kind kind, const feature *f, const feature *g)
{
	for (int k = 0; k < 3; k++) {
		if (f->low[k] > g->high[k] + b->distance || g->low[k] > f->high[k] + b->distance)
			return false;
	}
	for (int i = 0; i < f->count * g->count; i++) {
		if (f->vertices[i / g->count] == g->vertices[i % g->count])
			return false;
	}
	double at[4][3];
	for (int k = 0; k < 4; k++)
		place_of(&b->frames[b->steps % b->frame_count], k < f->count ? f->vertices[k] : g->vertices[k - f->count], at[k]);
	carom_proximity_pair pair;
	check(b->context, carom_proximity_of_pair(b->context, kind, at, &pair));
	return pair.distance2 < b->distance * b->distance;
}

static void run_brute(const bench *b)
{
	const sim_mesh *mesh = &b->frames[b->steps % b->frame_count];
	const double start = now_ms();
	int64_t counts[3], faces = 0, edges = 0;
	feature *lists[3];
	for (int size = 1; size <= 3; size++)
		lists[size - 1] = list_features(mesh, size, &counts[size - 1]);
	for (int64_t i = 0; i < counts[0]; i++) {
		for (int64_t k = 0; k < counts[2]; k++)
			faces += is_near(b, CAROM_SWEEP_VERTEX_FACE, &lists[0][i], &lists[2][k]);
	}
	for (int64_t i = 0; i < counts[1]; i++) {
		for (int64_t k = i + 1; k < counts[1]; k++)
			edges += is_near(b, CAROM_SWEEP_EDGE_EDGE, &lists[1][i], &lists[1][k]);
	}
	printf("brute,%.2f,,,,%lld,%lld,,%lld,%lld,,\n", now_ms() - start, (long long)(counts[0] * counts[2]),
		(long long)(counts[1] * (counts[1] - 1) / 2), (long long)faces, (long long)edges);
	for (int size = 0; size < 3; size++)
		free(lists[size]);
}

int main(int argc, char **argv)
{
	bench b = { .steps = 10 };
	double share = 0.1;
	bool brute = false;
	const char *choice = NULL;
	for (int i = 1; i < argc; i++) {
		sim_error error;
		if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
			b.steps = atoi(argv[++i]);
		else if (strcmp(argv[i], "--distance") == 0 && i + 1 < argc)
			share = atof(argv[++i]);
		else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
			choice = argv[++i];
		else if (strcmp(argv[i], "--brute") == 0)
			brute = true;
		else if (b.frame_count == 2 || !io_load_mesh(argv[i], &b.frames[b.frame_count++], &error))
			return fprintf(stderr, "bench_proximity: cannot use %s\n", argv[i]), 1;
	}
	if (b.frame_count == 0 || (b.frame_count == 2 && b.frames[0].vertex_count != b.frames[1].vertex_count))
		return fprintf(stderr,
				   "usage: bench_proximity [--steps N] [--distance SHARE] [--brute] [--device CHOICE] FIRST [SECOND]\n"),
			   1;
	b.steps = b.steps < 1 ? 1 : b.steps < MAX_STEPS ? b.steps : MAX_STEPS;
	b.distance = share * mean_edge(&b.frames[0]);
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	check(NULL, carom_create_context(&def, &b.context));
	printf("method,first,least,middle,safe,tests_vf,tests_ee,device_left,pairs_vf,pairs_ee,mebibytes,hash\n");
	run(&b, "bvh", CAROM_SWEEP_BVH);
	run(&b, "front", CAROM_SWEEP_FRONT);
	if (choice)
		run_on_device(&b, choice);
	if (brute)
		run_brute(&b);
	carom_destroy_context(b.context);
	for (int i = 0; i < b.frame_count; i++)
		sim_mesh_free(&b.frames[i]);
	return 0;
}
