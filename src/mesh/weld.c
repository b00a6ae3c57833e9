// Equal positions and equal triangles, by hashing: open addressing with linear probing in tables at
// most half full. Linear in the size of the mesh. Positions are compared as numbers, so 0 and -0
// are one position.
#include "geom/predicates.h"
#include "mesh/mesh_check.h"
#include "mesh/place_hash.h"
#include <string.h>

// Slots hold an element number, or -1.
typedef struct hash_table {
	int32_t *slots;
	uint64_t mask;
} hash_table;

static bool table_init(carom_context *context, hash_table *table, int32_t count)
{
	uint64_t size = 4;
	while (size < 2 * (uint64_t)count) {
		size *= 2;
	}
	table->mask = size - 1;
	table->slots = cr_alloc_array(context, size, sizeof *table->slots);
	if (table->slots == NULL) {
		return false;
	}
	memset(table->slots, 0xff, size * sizeof *table->slots);
	return true;
}

static void table_free(carom_context *context, hash_table *table)
{
	cr_free(context, table->slots, (table->mask + 1) * sizeof *table->slots);
}

static uint64_t hash_three(uint32_t a, uint32_t b, uint32_t c) { return cr_mix64(cr_mix64((uint64_t)a << 32 | b) + c); }

// A vertex as the scan judges it: as the mesh holds it, or as it was given.
static v3d position_of(const cr_mesh_scan *scan, int32_t vertex)
{
	if (scan->exact) {
		const double *p = scan->exact + 3 * (int64_t)vertex;
		return v3d_make(p[0], p[1], p[2]);
	}
	return v3d_from_floats(scan->topology.vertices + 3 * (int64_t)vertex);
}

static bool same_position(v3d a, v3d b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// Whether two vertices are one: at one position, and, in a mesh that has moved, there before as
// well.
static bool is_one_vertex(const cr_mesh_scan *scan, int32_t a, int32_t b)
{
	return same_position(position_of(scan, a), position_of(scan, b)) &&
		(!scan->before || scan->before->weld[a] == scan->before->weld[b]);
}

static bool weld_vertices(cr_mesh_scan *scan)
{
	cr_topology *topology = &scan->topology;
	hash_table table;
	if (!table_init(scan->context, &table, topology->vertex_count)) {
		return false;
	}
	for (int32_t vertex = 0; vertex < topology->vertex_count; vertex++) {
		uint64_t slot = cr_hash_place(position_of(scan, vertex)) & table.mask;
		while (table.slots[slot] >= 0 && !is_one_vertex(scan, vertex, table.slots[slot])) {
			slot = (slot + 1) & table.mask;
		}
		if (table.slots[slot] < 0) {
			table.slots[slot] = vertex;
		}
		topology->weld[vertex] = table.slots[slot];
	}
	table_free(scan->context, &table);
	return true;
}

// The welded corners with the smallest first; the direction stays.
static void canonical_corners(const cr_topology *topology, int32_t triangle, int32_t corner[3])
{
	const int32_t *index = topology->triangles + 3 * (int64_t)triangle;
	int32_t a = topology->weld[index[0]], b = topology->weld[index[1]], c = topology->weld[index[2]];
	int first = a <= b && a <= c ? 0 : b <= c ? 1 : 2;
	const int32_t welded[5] = { a, b, c, a, b };
	memcpy(corner, welded + first, 3 * sizeof *corner);
}

// The slot of the earlier triangle with these corners, or the free slot for this one.
static uint64_t find_triangle(const cr_topology *topology, const hash_table *table, const int32_t corner[3])
{
	uint64_t slot = hash_three((uint32_t)corner[0], (uint32_t)corner[1], (uint32_t)corner[2]) & table->mask;
	while (table->slots[slot] >= 0) {
		int32_t other[3];
		canonical_corners(topology, table->slots[slot], other);
		if (memcmp(corner, other, sizeof other) == 0) {
			break;
		}
		slot = (slot + 1) & table->mask;
	}
	return slot;
}

// Twice the area of a triangle as a vector.
static v3d area_vector(const cr_mesh_scan *scan, int32_t triangle)
{
	const int32_t *corner = scan->topology.triangles + 3 * (int64_t)triangle;
	const v3d a = position_of(scan, corner[0]);
	return v3d_cross(v3d_sub(position_of(scan, corner[1]), a), v3d_sub(position_of(scan, corner[2]), a));
}

// Whether three corners lie on one line. Exact for coordinates as they were given, whose area may
// round to zero or from it.
static bool is_flat(const cr_mesh_scan *scan, int32_t triangle, v3d area)
{
	const int32_t *corner = scan->topology.triangles + 3 * (int64_t)triangle;
	if (!scan->exact)
		return area.x == 0 && area.y == 0 && area.z == 0;
	return cr_projection_axis(position_of(scan, corner[0]), position_of(scan, corner[1]), position_of(scan, corner[2])) < 0;
}

// Which triangles of a mesh are left out, with the first of each kind.
typedef struct left_out {
	int32_t degenerate; // first degenerate triangle or -1
	bool repeated;      // it has a repeated corner
	int32_t duplicate;  // first duplicate or -1
	int32_t original;   // the first triangle of which it is a copy
} left_out;

// Every triangle that is left out is counted once; one that is both flat and a duplicate counts as
// degenerate.
static void judge_triangle(cr_mesh_scan *scan, int32_t triangle, hash_table *table, left_out *first)
{
	cr_topology *topology = &scan->topology;
	carom_mesh_report *report = scan->report;
	int32_t corner[3];
	canonical_corners(topology, triangle, corner);
	bool repeated = corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0];
	v3d normal = area_vector(scan, triangle);
	bool flat = repeated || is_flat(scan, triangle, normal);
	int32_t original = -1;
	if (!repeated) {
		int32_t *slot = &table->slots[find_triangle(topology, table, corner)];
		original = *slot;
		*slot = original < 0 ? triangle : original;
	}
	scan->carries[triangle] = !repeated && original < 0;
	topology->used[triangle] = !flat && original < 0;
	if (flat) {
		if (report->degenerate_triangles++ == 0) {
			first->degenerate = triangle;
			first->repeated = repeated;
		}
	} else if (original >= 0) {
		if (report->duplicate_triangles++ == 0) {
			first->duplicate = triangle;
			first->original = original;
		}
	} else {
		report->area += 0.5 * v3d_length(normal);
	}
}

static bool judge_triangles(cr_mesh_scan *scan)
{
	hash_table table;
	if (!table_init(scan->context, &table, scan->topology.triangle_count)) {
		return false;
	}
	left_out first = { -1, false, -1, -1 };
	for (int32_t triangle = 0; triangle < scan->topology.triangle_count; triangle++) {
		judge_triangle(scan, triangle, &table, &first);
	}
	table_free(scan->context, &table);
	if (first.degenerate >= 0) {
		cr_mesh_finding(scan->report, first.degenerate, "triangle %d has %s", first.degenerate,
			first.repeated ? "two corners at one position" : "no area");
	}
	if (first.duplicate >= 0) {
		cr_mesh_finding(
			scan->report, first.duplicate, "triangle %d has the same corners as triangle %d", first.duplicate, first.original);
	}
	return true;
}

static void grow_box(carom_mesh_report *report, const float *position, bool first)
{
	for (int axis = 0; axis < 3; axis++) {
		double value = position[axis];
		report->lower[axis] = first || value < report->lower[axis] ? value : report->lower[axis];
		report->upper[axis] = first || value > report->upper[axis] ? value : report->upper[axis];
	}
}

// Unreferenced and repeated vertices, and the box of those that triangles name.
static bool judge_vertices(cr_mesh_scan *scan)
{
	const cr_topology *topology = &scan->topology;
	carom_mesh_report *report = scan->report;
	int32_t vertex_count = topology->vertex_count;
	uint8_t *referenced = cr_alloc_zero(scan->context, (size_t)vertex_count);
	if (vertex_count > 0 && referenced == NULL) {
		return false;
	}
	for (int64_t i = 0; i < 3 * (int64_t)topology->triangle_count; i++) {
		referenced[topology->triangles[i]] = 1;
	}
	int32_t unreferenced = -1, duplicate = -1;
	bool first = true;
	for (int32_t vertex = 0; vertex < vertex_count; vertex++) {
		if (topology->weld[vertex] != vertex) {
			duplicate = report->duplicate_vertices++ == 0 ? vertex : duplicate;
		}
		if (!referenced[vertex]) {
			unreferenced = report->unreferenced_vertices++ == 0 ? vertex : unreferenced;
			continue;
		}
		grow_box(report, topology->vertices + 3 * (int64_t)vertex, first);
		first = false;
	}
	cr_free(scan->context, referenced, (size_t)vertex_count);
	if (unreferenced >= 0) {
		cr_mesh_finding(report, unreferenced, "vertex %d is used by no triangle", unreferenced);
	}
	if (duplicate >= 0) {
		cr_mesh_finding(report, duplicate, "vertex %d is at the position of vertex %d", duplicate, topology->weld[duplicate]);
	}
	return true;
}

bool cr_mesh_weld(cr_mesh_scan *scan)
{
	cr_topology *topology = &scan->topology;
	bool ok = true;
	topology->weld = cr_mesh_alloc(scan->context, topology->vertex_count, sizeof(int32_t), &ok);
	topology->used = cr_mesh_alloc(scan->context, topology->triangle_count, sizeof(uint8_t), &ok);
	scan->carries = cr_mesh_alloc(scan->context, topology->triangle_count, sizeof(uint8_t), &ok);
	return ok && weld_vertices(scan) && judge_triangles(scan) && judge_vertices(scan);
}

bool cr_mesh_judge_exact(carom_context *context, const cr_topology *topology, const double *exact, uint8_t *used)
{
	carom_mesh_report report = { 0 }; // nobody reads it
	cr_mesh_scan scan = { .context = context, .report = &report, .exact = exact };
	bool ok = true;
	scan.topology = (cr_topology){ .vertex_count = topology->vertex_count,
		.triangle_count = topology->triangle_count,
		.triangles = topology->triangles,
		.used = used };
	scan.topology.weld = cr_mesh_alloc(context, topology->vertex_count, sizeof(int32_t), &ok);
	scan.carries = cr_mesh_alloc(context, topology->triangle_count, sizeof(uint8_t), &ok);
	ok = ok && weld_vertices(&scan) && judge_triangles(&scan);
	cr_free(context, scan.topology.weld, (size_t)topology->vertex_count * sizeof(int32_t));
	cr_free(context, scan.carries, (size_t)topology->triangle_count);
	return ok;
}
