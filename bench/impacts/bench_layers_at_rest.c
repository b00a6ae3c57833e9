/// @file bench_layers_at_rest.c
/// 50 sheets of 69 x 69 cells, 476,100 triangles, lie on each other and tremble: what a step of
/// their impacts takes from the root of the tree and along the front, and what memory a deforming
/// triangle takes, with and without surface contacts. Prints CSV: what is measured, the least and
/// the median of the steps' milliseconds of processor time, impacts and surface contacts of the
/// last step, and bytes a triangle: in use behind the steps, and at their peak.
///
/// Usage: bench_layers_at_rest [STEPS [CELLS [SHEETS]]]
#include "bench/bench_check.h"
#include "bench/bench_clock.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct layers {
	carom_context *context;
	carom_world *world;
	carom_body_id *ids; // [sheets]
	int sheets, cells;
	int32_t vertices; // of a sheet
	double *places;   // [3*vertices] of the lowest sheet at rest
	double *now;
	int32_t *triangles;
	uint64_t random;
} layers;

// Metres: of a cell, between sheets, and how far vertices tremble.
static const double CELL = 0.01, GAP = 0.004, TREMBLE = 2e-5;

static void check(const layers *l, carom_result result) { bench_check("bench_layers_at_rest", l->context, result); }

static void make_sheet(layers *l)
{
	const int row = l->cells + 1;
	l->vertices = row * row;
	l->places = malloc(3 * (size_t)l->vertices * sizeof *l->places);
	l->now = malloc(3 * (size_t)l->vertices * sizeof *l->now);
	l->triangles = malloc(6 * (size_t)l->cells * (size_t)l->cells * sizeof *l->triangles);
	int32_t *t = l->triangles;
	for (int32_t i = 0; i < l->vertices; i++) {
		l->places[3 * i] = CELL * (i % row);
		l->places[3 * i + 1] = CELL * (i / row);
		l->places[3 * i + 2] = 0;
		if (i % row == l->cells || i / row == l->cells)
			continue;
		const int32_t cell[6] = { i, i + 1, i + row, i + 1, i + row + 1, i + row };
		memcpy(t, cell, sizeof cell);
		t += 6;
	}
}

/// Each sheet is shifted a little against the one below.
static void place_sheet(layers *l, int sheet)
{
	for (int32_t i = 0; i < l->vertices; i++) {
		l->now[3 * i] = l->places[3 * i] + 0.0037 * (sheet % 3) + random_between(&l->random, -TREMBLE, TREMBLE);
		l->now[3 * i + 1] = l->places[3 * i + 1] + 0.0023 * (sheet % 5) + random_between(&l->random, -TREMBLE, TREMBLE);
		l->now[3 * i + 2] = GAP * sheet + random_between(&l->random, -TREMBLE, TREMBLE);
	}
}

static void open_layers(layers *l, carom_sweep_method method, double thickness)
{
	carom_context_def context_def = carom_default_context_def();
	carom_world_def def = carom_default_world_def();
	context_def.thread_count = 1;
	if (carom_create_context(&context_def, &l->context) != CAROM_SUCCESS)
		exit(1);
	def.sweep.method = method;
	check(l, carom_create_world(l->context, &def, &l->world));
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = (carom_strided){ l->places, 0, CAROM_FLOAT64 };
	mesh_def.vertex_count = l->vertices;
	mesh_def.triangles = l->triangles;
	mesh_def.triangle_count = 2 * l->cells * l->cells;
	mesh_def.grid_resolution = 0;
	carom_mesh *mesh;
	check(l, carom_create_mesh(l->context, &mesh_def, NULL, &mesh));
	l->ids = malloc((size_t)l->sheets * sizeof *l->ids);
	l->random = 7;
	for (int i = 0; i < l->sheets; i++) {
		carom_body_def body = carom_default_body_def();
		body.kind = CAROM_CLOTH;
		body.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
		body.thickness = thickness;
		body.pose.position.z = GAP * i;
		check(l, carom_world_add_body(l->world, &body, &l->ids[i]));
		place_sheet(l, i);
		const carom_strided begin = { l->now, 0, CAROM_FLOAT64 };
		check(l, carom_world_set_vertices(l->world, l->ids[i], &begin, NULL));
	}
	carom_release_mesh(mesh);
}

static int compare_numbers(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_times(double *ms, int count)
{
	qsort(ms, (size_t)count, sizeof *ms, compare_numbers);
	printf(",%.1f,%.1f", ms[0], ms[count / 2]);
}

static void measure(layers *l, const char *name, carom_sweep_method method, double thickness, int steps)
{
	double *ms = malloc((size_t)steps * sizeof *ms);
	open_layers(l, method, thickness);
	for (int step = -2; step < steps; step++) {
		for (int i = 0; i < l->sheets; i++) {
			place_sheet(l, i);
			const carom_strided end = { l->now, 0, CAROM_FLOAT64 };
			check(l, carom_world_set_vertices(l->world, l->ids[i], NULL, &end));
		}
		const double start = bench_thread_us();
		check(l, carom_world_step(l->world));
		if (step >= 0)
			ms[step] = 1e-3 * (bench_thread_us() - start);
	}
	const double triangles = 2.0 * l->cells * l->cells * l->sheets;
	printf("%s,%.0f", name, triangles);
	print_times(ms, steps);
	const carom_stats stats = carom_world_stats(l->world);
	printf(",%lld,%lld,%.0f,%.0f\n", (long long)stats.impacts, (long long)stats.surface_contacts,
		(double)carom_memory_in_use(l->context) / triangles, (double)carom_memory_peak(l->context) / triangles);
	fflush(stdout);
	carom_destroy_world(l->world);
	carom_destroy_context(l->context);
	free(l->ids);
	free(ms);
}

int main(int argc, char **argv)
{
	const int steps = argc > 1 ? atoi(argv[1]) : 7;
	layers l = { .cells = argc > 2 ? atoi(argv[2]) : 69, .sheets = argc > 3 ? atoi(argv[3]) : 50 };
	if (steps < 1 || l.cells < 1 || l.sheets < 1) {
		fprintf(stderr, "usage: bench_layers_at_rest [STEPS [CELLS [SHEETS]]]\n");
		return 2;
	}
	make_sheet(&l);
	printf("what,triangles,least ms,median ms,impacts,surface contacts,bytes a triangle,at the peak\n");
	measure(&l, "impacts from the root", CAROM_SWEEP_BVH, 0, steps);
	measure(&l, "impacts along the front", CAROM_SWEEP_FRONT, 0, steps);
	measure(&l, "and surface contacts; no layer near enough", CAROM_SWEEP_FRONT, 0.8 * GAP, steps);
	measure(&l, "and surface contacts of all layers", CAROM_SWEEP_FRONT, 1.1 * GAP, steps);
	free(l.places);
	free(l.now);
	free(l.triangles);
	return 0;
}
