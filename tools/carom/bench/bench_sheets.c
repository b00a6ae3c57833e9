// Shells about the sheets of a motion. See bench_sheets.h.
#include "bench_sheets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Metres that what touches a sheet lies within its shell, at least.
static const double DEPTH = 0.005;

struct bench_sheets {
	const bench_motion *motion;
	double half; // metres from the surface to either side
	// Of all shells: [3 * (first[i + 1] - first[i])] corners from first[i] on, numbers within a
	// shell. Vertices of the upper side follow those of the lower one.
	int32_t *triangles;
	int32_t *first; // [sheets + 1]
};

static int32_t vertices_of(const bench_motion *m, int sheet) { return m->sheet_vertices[sheet + 1] - m->sheet_vertices[sheet]; }

// ---- Triangles ----

typedef struct directed_edge {
	int32_t from, to;
} directed_edge;

static int compare_edges(const void *a, const void *b)
{
	const directed_edge *x = a, *y = b;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

static void add_triangle(bench_sheets *s, int sheet, int32_t a, int32_t b, int32_t c)
{
	int32_t *to = s->triangles + 3 * (size_t)s->first[sheet + 1]++;
	to[0] = a;
	to[1] = b;
	to[2] = c;
}

/// A wall over each edge that one triangle alone has.
static void add_rim(bench_sheets *s, int sheet, directed_edge *edges, size_t count)
{
	const int32_t up = vertices_of(s->motion, sheet);
	qsort(edges, count, sizeof *edges, compare_edges);
	for (size_t i = 0; i < count; i++) {
		const directed_edge edge = edges[i], back = { edge.to, edge.from };
		if (bsearch(&back, edges, count, sizeof back, compare_edges))
			continue;
		add_triangle(s, sheet, edge.from, up + edge.from, up + edge.to);
		add_triangle(s, sheet, edge.from, up + edge.to, edge.to);
	}
}

/// Both sides and the rim.
static void make_triangles(bench_sheets *s, int sheet)
{
	const bench_motion *m = s->motion;
	const int32_t up = vertices_of(m, sheet), base = m->sheet_vertices[sheet];
	const int32_t first = m->sheet_first[sheet], end = m->sheet_first[sheet + 1];
	directed_edge *edges = bench_allocate(3 * (size_t)(end - first), sizeof *edges);
	size_t count = 0;
	s->first[sheet + 1] = s->first[sheet];
	for (int32_t i = first; i < end; i++) {
		int32_t t[3];
		for (int k = 0; k < 3; k++)
			t[k] = m->sheet_triangles[3 * (size_t)i + (size_t)k] - base;
		add_triangle(s, sheet, up + t[0], up + t[1], up + t[2]);
		add_triangle(s, sheet, t[0], t[2], t[1]);
		for (int k = 0; k < 3; k++)
			edges[count++] = (directed_edge){ t[k], t[(k + 1) % 3] };
	}
	add_rim(s, sheet, edges, count);
	free(edges);
}

bench_sheets *bench_make_sheets(const bench_motion *motion)
{
	bench_sheets *s = bench_allocate(1, sizeof *s);
	s->motion = motion;
	s->half = motion->scene.deforming.def.thickness + DEPTH;
	s->first = bench_allocate((size_t)motion->sheet_count + 1, sizeof *s->first);
	// Two triangles for each, and at most three walls of two.
	const size_t triangles = motion->sheet_count > 0 ? (size_t)motion->sheet_first[motion->sheet_count] : 0;
	s->triangles = bench_allocate(3 * 8 * triangles + 1, sizeof *s->triangles);
	for (int i = 0; i < motion->sheet_count; i++)
		make_triangles(s, i);
	return s;
}

void bench_free_sheets(bench_sheets *s)
{
	if (!s)
		return;
	free(s->first);
	free(s->triangles);
	free(s);
}

int bench_sheet_count(const bench_sheets *s) { return s->motion->sheet_count; }

int bench_sheet_triangles(const bench_sheets *s) { return bench_sheet_count(s) > 0 ? s->first[1] : 0; }

// ---- Vertices ----

/// Add the normals of a sheet's triangles, as long as their areas, to those of its vertices.
static void add_normals(const bench_motion *m, int sheet, const float *places, double *normals)
{
	for (int32_t i = m->sheet_first[sheet]; i < m->sheet_first[sheet + 1]; i++) {
		const int32_t *t = m->sheet_triangles + 3 * (size_t)i;
		double e[2][3];
		for (int k = 0; k < 6; k++)
			e[k / 3][k % 3] =
				(double)places[3 * (size_t)t[1 + k / 3] + (size_t)(k % 3)] - (double)places[3 * (size_t)t[0] + (size_t)(k % 3)];
		for (int k = 0; k < 9; k++) {
			const int axis = k % 3, next = (axis + 1) % 3, last = (axis + 2) % 3;
			normals[3 * (size_t)(t[k / 3] - m->sheet_vertices[sheet]) + (size_t)axis] +=
				e[0][next] * e[1][last] - e[0][last] * e[1][next];
		}
	}
}

/// The vertices of the shell: those of the sheet, moved to both sides.
static void place_shell(const bench_sheets *s, int sheet, const float *places, double *shell)
{
	const size_t count = (size_t)vertices_of(s->motion, sheet);
	double *normals = bench_allocate(3 * count, sizeof *normals);
	add_normals(s->motion, sheet, places, normals);
	for (size_t i = 0; i < count; i++) {
		const float *p = places + 3 * ((size_t)s->motion->sheet_vertices[sheet] + i);
		const double *n = normals + 3 * i, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
		for (int k = 0; k < 3; k++) {
			const double by = length > 0 ? s->half * n[k] / length : 0;
			shell[3 * i + (size_t)k] = (double)p[k] - by;
			shell[3 * (count + i) + (size_t)k] = (double)p[k] + by;
		}
	}
	free(normals);
}

carom_result bench_sheet_mesh(const bench_sheets *s, carom_context *context, int sheet, int frame, carom_mesh **mesh)
{
	const bench_motion *m = s->motion;
	const int32_t count = vertices_of(m, sheet);
	double *places = bench_allocate(6 * (size_t)count, sizeof *places);
	place_shell(s, sheet, m->sheet_places + (size_t)frame * 3 * (size_t)m->sheet_vertices[m->sheet_count], places);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	def.vertex_count = 2 * count;
	def.triangles = s->triangles + 3 * (size_t)s->first[sheet];
	def.triangle_count = s->first[sheet + 1] - s->first[sheet];
	def.grid_resolution = 0;
	def.build = CAROM_MESH_LBVH;
	const carom_result result = carom_create_mesh(context, &def, NULL, mesh);
	free(places);
	return result;
}
