/// Topology of height fields. See mesh/field_topology.h.
///
/// The neighbours of a cell's triangles follow from its row and column. Only the edges of the walls
/// and of the bottom, and those of the surface along its border, are matched by sorting.

#include "mesh/field_topology.h"
#include "base/radix.h"
#include <string.h>

/// A field on its way.
typedef struct field {
	carom_context *context;
	int32_t columns, rows; // of cells
	carom_mesh_report *report;
	cr_topology t;
	bool usual; // nothing is amiss so far
} field;

static v3d point_of(const cr_topology *t, int32_t vertex) { return v3d_from_floats(&t->vertices[3 * (int64_t)vertex]); }

static int32_t cells_of(const field *f) { return f->columns * f->rows; }

static bool make_room(field *f)
{
	cr_topology *t = &f->t;
	const size_t vertices = (size_t)t->vertex_count, triangles = (size_t)t->triangle_count;
	t->vertices = cr_alloc_array(f->context, vertices, 3 * sizeof *t->vertices);
	t->triangles = cr_alloc_array(f->context, triangles, 3 * sizeof *t->triangles);
	t->weld = cr_alloc_array(f->context, vertices, sizeof *t->weld);
	t->used = cr_alloc_array(f->context, triangles, sizeof *t->used);
	t->neighbours = cr_alloc_array(f->context, triangles, 3 * sizeof *t->neighbours);
	t->normals = cr_alloc_array(f->context, vertices, 3 * sizeof *t->normals);
	return t->vertices && t->triangles && t->weld && t->used && t->neighbours && t->normals;
}

// ---- Neighbours ----

/// The first (0) or second (1) triangle of the cell at a column and row; -1 beyond the border.
static int32_t beyond(const field *f, int32_t column, int32_t row, int32_t second)
{
	if (column < 0 || row < 0 || column >= f->columns || row >= f->rows)
		return -1;
	return 2 * (row * f->columns + column) + second;
}

static void set_cell(field *f, int32_t column, int32_t row)
{
	const int32_t first = beyond(f, column, row, 0);
	int32_t *of = &f->t.neighbours[3 * (int64_t)first];
	of[0] = beyond(f, column, row - 1, 1);
	of[1] = beyond(f, column + 1, row, 1);
	of[2] = first + 1;
	of[3] = first;
	of[4] = beyond(f, column, row + 1, 0);
	of[5] = beyond(f, column - 1, row, 0);
}

/// List the sides that have no neighbour yet, as keys of their ends. Returns their number; keys
/// NULL: only counts.
static int64_t list_open(const field *f, cr_key *keys)
{
	const cr_topology *t = &f->t;
	int64_t count = 0;
	for (int64_t side = 0; side < 3 * (int64_t)t->triangle_count; side++) {
		if (t->neighbours[side] >= 0)
			continue;
		if (keys) {
			const uint64_t a = (uint64_t)t->triangles[side], b = (uint64_t)t->triangles[side - side % 3 + (side + 1) % 3];
			keys[count] = (cr_key){ a < b ? a << 32 | b : b << 32 | a, (uint32_t)side };
		}
		count++;
	}
	return count;
}

/// Match the sides at the border of the surface, of the walls and of the bottom. false: out of
/// memory.
static bool match_rest(field *f)
{
	cr_topology *t = &f->t;
	const int64_t count = list_open(f, NULL);
	cr_key *keys = cr_alloc_array(f->context, 2 * (size_t)count, sizeof *keys);
	if (!keys)
		return count == 0;
	list_open(f, keys);
	cr_radix_sort(keys, keys + count, count, 64);
	f->usual = f->usual && count % 2 == 0;
	for (int64_t i = 0; f->usual && i < count; i += 2) {
		const uint32_t a = keys[i].value, b = keys[i + 1].value;
		f->usual = keys[i].key == keys[i + 1].key && (i + 2 == count || keys[i + 2].key != keys[i].key) &&
			t->triangles[a] != t->triangles[b];
		t->neighbours[a] = (int32_t)(b / 3);
		t->neighbours[b] = (int32_t)(a / 3);
	}
	cr_free(f->context, keys, 2 * (size_t)count * sizeof *keys);
	return true;
}

static bool set_neighbours(field *f)
{
	for (int32_t row = 0; row < f->rows; row++) {
		for (int32_t column = 0; column < f->columns; column++)
			set_cell(f, column, row);
	}
	for (int64_t side = 6 * (int64_t)cells_of(f); side < 3 * (int64_t)f->t.triangle_count; side++)
		f->t.neighbours[side] = -1;
	return match_rest(f);
}

// ---- Measures ----

/// Find the box, and look whether all coordinates are in range.
static void measure_vertices(field *f)
{
	const cr_topology *t = &f->t;
	for (int k = 0; k < 3; k++) {
		float lower = t->vertices[k], upper = lower;
		bool usual = true;
		for (int64_t i = k; i < 3 * (int64_t)t->vertex_count; i += 3) {
			const float x = t->vertices[i];
			usual &= fabsf(x) <= (float)CAROM_MAX_COORDINATE;
			lower = x < lower ? x : lower;
			upper = x > upper ? x : upper;
		}
		f->usual = f->usual && usual;
		f->report->lower[k] = lower;
		f->report->upper[k] = upper;
	}
}

/// Do the samples lie above the vertices of the bottom, which come behind them?
static bool is_above_bottom(const field *f)
{
	const int64_t samples = (int64_t)(f->columns + 1) * (f->rows + 1);
	bool above = samples < f->t.vertex_count;
	for (int64_t i = 0; above && i < samples; i++)
		above = f->t.vertices[3 * i + 2] > f->t.vertices[3 * samples + 2];
	return above;
}

/// Sum up area and volume, and the normals at the corners.
static void measure_triangles(field *f, v3d *sums)
{
	const cr_topology *t = &f->t;
	const double *lower = f->report->lower, *upper = f->report->upper;
	const v3d middle = { 0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]) };
	double area = 0, volume = 0, size = 0;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		const int32_t *corner = &t->triangles[3 * (int64_t)i];
		const v3d p = point_of(t, corner[0]), q = point_of(t, corner[1]), r = point_of(t, corner[2]);
		const double twice = v3d_length(v3d_cross(v3d_sub(q, p), v3d_sub(r, p)));
		const double part = v3d_dot(v3d_sub(p, middle), v3d_cross(v3d_sub(q, middle), v3d_sub(r, middle))) / 6;
		v3d normal;
		double angles[3];
		f->usual = f->usual && twice > 0;
		area += 0.5 * twice;
		volume += part;
		size += fabs(part);
		cr_triangle_angles(t, i, &normal, angles);
		for (int k = 0; k < 3; k++)
			sums[corner[k]] = v3d_mad(sums[corner[k]], angles[k], normal);
	}
	f->usual = f->usual && volume > CR_VOLUME_NOISE * size;
	f->report->area = area;
	f->report->volume = volume;
}

static bool set_normals(field *f)
{
	const int32_t count = f->t.vertex_count;
	v3d *sums = cr_alloc_zero(f->context, (size_t)count * sizeof *sums);
	if (!sums)
		return false;
	measure_triangles(f, sums);
	for (int32_t i = 0; i < count; i++) {
		float *normal = &f->t.normals[3 * (int64_t)i];
		cr_store_normal(sums[i], normal);
		f->usual = f->usual && (normal[0] != 0 || normal[1] != 0 || normal[2] != 0);
	}
	cr_free(f->context, sums, (size_t)count * sizeof *sums);
	return true;
}

// ---- All ----

/// false: out of memory.
static bool fill(field *f, const carom_mesh_def *def)
{
	cr_topology *t = &f->t;
	if (!make_room(f))
		return false;
	memcpy(t->vertices, def->vertices.data, 3 * (size_t)t->vertex_count * sizeof *t->vertices);
	memcpy(t->triangles, def->triangles, 3 * (size_t)t->triangle_count * sizeof *t->triangles);
	memset(t->used, 1, (size_t)t->triangle_count);
	for (int32_t i = 0; i < t->vertex_count; i++)
		t->weld[i] = i;
	measure_vertices(f);
	f->usual = f->usual && is_above_bottom(f);
	if (!f->usual)
		return true;
	return set_neighbours(f) && set_normals(f);
}

carom_result cr_field_topology(carom_context *context, int32_t columns, int32_t rows, const carom_mesh_def *def,
	carom_mesh_report *report, cr_topology *topology, bool *done)
{
	field f = { context, columns - 1, rows - 1, report,
		{ .vertex_count = def->vertex_count, .triangle_count = def->triangle_count }, true };
	*report = (carom_mesh_report){ .vertex_count = def->vertex_count,
		.triangle_count = def->triangle_count,
		.components = 1,
		.euler = 2,
		.closed = true,
		.usable = true,
		.first_element = -1 };
	const bool enough = fill(&f, def);
	*done = enough && f.usual;
	*topology = f.t;
	if (!*done)
		cr_topology_free(context, topology);
	return enough ? CAROM_SUCCESS : cr_fail_memory(context, "the topology of a mesh");
}
