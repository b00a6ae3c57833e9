/// @file bench_cloth_contacts.c
/// What surface contacts cost. Sheets of cloth lie half an edge apart, one above the other, and
/// tremble; the thickness is a share of an edge. Prints CSV, least of the steps: milliseconds of
/// the surface contacts and of the impacts of a step, contacts, microseconds for each, and bytes
/// for each triangle, with the thickness and without.
/// Usage: bench_cloth_contacts [--steps N] [--threads N]
#include "bench/bench_check.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 201, MOST = MOST_SIDE * MOST_SIDE, MOST_SHEETS = 8 };
static double places[MOST][3];
static int32_t triangles[2 * MOST][3];

static void check(carom_context *context, carom_result result) { bench_check("bench_cloth_contacts", context, result); }

/// Put a sheet of side x side vertices, an edge apart, at its height, trembling.
static void place(int side, int sheet, int step)
{
	for (int i = 0; i < side * side; i++) {
		places[i][0] = i % side + 0.02 * sin(step + i);
		places[i][1] = i / side + 0.02 * sin(2 * step + i * sheet);
		places[i][2] = 0.5 * sheet + 0.05 * sin(0.3 * i + step);
	}
}

static carom_mesh *make_sheet(carom_context *context, int side)
{
	int count = 0;
	for (int v = 0; v < side * (side - 1); v++) {
		if (v % side == side - 1)
			continue;
		const int32_t cell[2][3] = { { v, v + 1, v + side + 1 }, { v, v + side + 1, v + side } };
		memcpy(triangles[count], cell, sizeof cell);
		count += 2;
	}
	for (int i = 0; i < side * side; i++) {
		const double at[3] = { i % side, i / side, 0 };
		memcpy(places[i], at, sizeof at);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = places, .type = CAROM_FLOAT64 };
	def.vertex_count = side * side;
	def.triangles = triangles[0];
	def.triangle_count = count;
	carom_mesh *mesh;
	check(context, carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

typedef struct figures {
	double surface, sweep;
	int64_t contacts;
	size_t memory;
} figures;

static void add_sheets(
	carom_context *context, carom_world *world, const carom_mesh *mesh, int sheets, double thickness, carom_body_id *ids)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	def.thickness = thickness;
	for (int i = 0; i < sheets; i++) {
		def.pose.position.z = 0.5 * i;
		check(context, carom_world_add_body(world, &def, &ids[i]));
	}
}

static figures run(carom_context *context, int side, int sheets, double thickness, int steps)
{
	carom_world *world;
	check(context, carom_create_world(context, NULL, &world));
	carom_mesh *mesh = make_sheet(context, side);
	carom_body_id ids[MOST_SHEETS];
	add_sheets(context, world, mesh, sheets, thickness, ids);
	figures f = { INFINITY, INFINITY, 0, 0 };
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < sheets; i++) {
			place(side, i, step);
			const carom_strided end = { .data = places, .type = CAROM_FLOAT64 };
			check(context, carom_world_set_vertices(world, ids[i], NULL, &end));
		}
		check(context, carom_world_step(world));
		const carom_stats stats = carom_world_stats(world);
		f.surface = fmin(f.surface, stats.ms_surface);
		f.sweep = fmin(f.sweep, stats.ms_sweep);
		f.contacts = stats.surface_contacts;
		f.memory = stats.memory;
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	return f;
}

static void print_row(carom_context *context, int side, int sheets, double thickness, int steps)
{
	const int all = sheets * 2 * (side - 1) * (side - 1);
	const figures with = run(context, side, sheets, thickness, steps), without = run(context, side, sheets, 0, steps);
	printf("%d,%d,%.2f,%.1f,%.1f,%lld,%.2f,%.0f,%.0f\n", sheets, all, thickness, with.surface, with.sweep,
		(long long)with.contacts, 1e3 * with.surface / (double)with.contacts, (double)with.memory / all,
		(double)without.memory / all);
}

int main(int argc, char **argv)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	int steps = 12;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--steps") == 0)
			steps = atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--threads") == 0)
			def.thread_count = atoi(argv[i + 1]);
	}
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 1;
	printf("sheets,triangles,thickness in edges,surface ms,impacts ms,contacts,us a contact,bytes a triangle,without\n");
	for (int i = 0; i < 3; i++)
		print_row(context, 101, 2, (double[]){ 0.55, 0.7, 1 }[i], steps);
	print_row(context, 101, MOST_SHEETS, 0.55, steps);
	print_row(context, MOST_SIDE, 4, 0.55, steps);
	carom_destroy_context(context);
	return 0;
}
