// Edges by sorting: each side of a triangle gives the key of its welded ends, smaller first; after
// a radix sort the sides of one edge are neighbours. From the runs come borders, neighbours, pieces
// (union of triangles across edges) and fans (union of corners across the edges at a vertex). O(n)
// for n triangles, times the almost constant factor of union-find.
#include "mesh/mesh_check.h"
#include "base/union_find.h"
#include <stdio.h>

static int32_t welded_corner(const cr_topology *topology, uint32_t slot) { return topology->weld[topology->triangles[slot]]; }

// The slot that ends the side that starts at slot.
static uint32_t next_corner(uint32_t slot) { return slot % 3 == 2 ? slot - 2 : slot + 1; }

int64_t cr_mesh_edge_end(const cr_mesh_scan *scan, int64_t first)
{
	int64_t end = first + 1;
	while (end < scan->edge_count && scan->edges[end].key == scan->edges[first].key) {
		end++;
	}
	return end;
}

static bool sort_edges(cr_mesh_scan *scan)
{
	const cr_topology *topology = &scan->topology;
	uint64_t vertex_count = (uint64_t)topology->vertex_count;
	int64_t corners = 3 * (int64_t)topology->triangle_count, count = 0;
	bool ok = true;
	scan->edges = cr_mesh_alloc(scan->context, corners, sizeof *scan->edges, &ok);
	cr_key *scratch = ok ? cr_mesh_alloc(scan->context, corners, sizeof *scratch, &ok) : NULL;
	if (!ok) {
		return false;
	}
	for (uint32_t slot = 0; slot < (uint32_t)corners; slot++) {
		if (!scan->carries[slot / 3]) {
			continue;
		}
		uint64_t a = (uint64_t)welded_corner(topology, slot), b = (uint64_t)welded_corner(topology, next_corner(slot));
		scan->edges[count].key = a < b ? a * vertex_count + b : b * vertex_count + a;
		scan->edges[count++].value = slot;
	}
	int bits = 0;
	while (bits < 64 && vertex_count * vertex_count >> bits != 0) {
		bits++;
	}
	cr_radix_sort(scan->edges, scratch, count, bits);
	cr_free(scan->context, scratch, (size_t)corners * sizeof *scratch);
	scan->edge_count = count;
	return true;
}

// First sides (3 * triangle + side) of each kind of bad edge, or UINT32_MAX.
typedef struct bad_edges {
	uint32_t border, nonmanifold, inconsistent, unbalanced;
	int32_t nonmanifold_sides;
} bad_edges;

static void judge_edge(cr_mesh_scan *scan, int64_t first, int64_t end, bad_edges *bad)
{
	carom_mesh_report *report = scan->report;
	cr_topology *topology = &scan->topology;
	int64_t sides = end - first, forward = 0;
	uint32_t slot = scan->edges[first].value;
	for (int64_t i = first; i < end; i++) {
		uint32_t side = scan->edges[i].value;
		forward += welded_corner(topology, side) < welded_corner(topology, next_corner(side));
	}
	report->closed = report->closed && 2 * forward == sides;
	if (sides == 1) {
		report->border_edges++;
		bad->border = slot < bad->border ? slot : bad->border;
	} else if (sides > 2) {
		report->nonmanifold_edges++;
		bad->nonmanifold_sides = slot < bad->nonmanifold ? (int32_t)sides : bad->nonmanifold_sides;
		bad->nonmanifold = slot < bad->nonmanifold ? slot : bad->nonmanifold;
		if (2 * forward != sides) {
			report->unbalanced_edges++;
			bad->unbalanced = slot < bad->unbalanced ? slot : bad->unbalanced;
		}
	} else {
		uint32_t other = scan->edges[first + 1].value;
		if (forward != 1) {
			report->inconsistent_edges++;
			bad->inconsistent = slot < bad->inconsistent ? slot : bad->inconsistent;
		}
		if (topology->used[slot / 3] && topology->used[other / 3]) {
			topology->neighbours[slot] = (int32_t)(other / 3);
			topology->neighbours[other] = (int32_t)(slot / 3);
		}
	}
}

static void name_bad_edges(cr_mesh_scan *scan, const bad_edges *bad)
{
	const int32_t *corner = scan->topology.triangles;
	uint32_t slot = bad->border;
	if (slot != UINT32_MAX) {
		cr_mesh_finding(scan->report, (int32_t)(slot / 3), "edge %d-%d of triangle %d has no second triangle", corner[slot],
			corner[next_corner(slot)], (int32_t)(slot / 3));
	}
	slot = bad->nonmanifold;
	if (slot != UINT32_MAX) {
		cr_mesh_finding(scan->report, (int32_t)(slot / 3), "edge %d-%d of triangle %d is shared by %d triangles", corner[slot],
			corner[next_corner(slot)], (int32_t)(slot / 3), bad->nonmanifold_sides);
	}
	slot = bad->inconsistent;
	if (slot != UINT32_MAX) {
		cr_mesh_finding(scan->report, (int32_t)(slot / 3), "edge %d-%d of triangle %d runs the same way in its second triangle",
			corner[slot], corner[next_corner(slot)], (int32_t)(slot / 3));
	}
	slot = bad->unbalanced;
	if (slot != UINT32_MAX) {
		cr_mesh_finding(scan->report, (int32_t)(slot / 3), "edge %d-%d of triangle %d runs more often one way than the other",
			corner[slot], corner[next_corner(slot)], (int32_t)(slot / 3));
	}
}

// parent: room for one number for each corner. It serves the pieces first, the fans afterwards.
static void count_pieces(cr_mesh_scan *scan, uint32_t *parent)
{
	uint32_t triangle_count = (uint32_t)scan->topology.triangle_count;
	for (uint32_t triangle = 0; triangle < triangle_count; triangle++) {
		parent[triangle] = triangle;
	}
	for (int64_t i = 1; i < scan->edge_count; i++) {
		if (scan->edges[i].key == scan->edges[i - 1].key) {
			cr_unite(parent, scan->edges[i].value / 3, scan->edges[i - 1].value / 3);
		}
	}
	for (uint32_t triangle = 0; triangle < triangle_count; triangle++) {
		scan->report->components += scan->carries[triangle] && parent[triangle] == triangle;
	}
}

// The corner of a side's triangle that lies at the smaller (or the larger) end of the edge.
static uint32_t end_corner(const cr_topology *topology, uint32_t slot, bool larger)
{
	uint32_t next = next_corner(slot);
	bool forward = welded_corner(topology, slot) < welded_corner(topology, next);
	return forward != larger ? slot : next;
}

static void join_fans(cr_mesh_scan *scan, uint32_t *parent)
{
	const cr_topology *topology = &scan->topology;
	for (uint32_t corner = 0; corner < 3 * (uint32_t)topology->triangle_count; corner++) {
		parent[corner] = corner;
	}
	for (int64_t i = 1; i < scan->edge_count; i++) {
		if (scan->edges[i].key != scan->edges[i - 1].key) {
			continue;
		}
		uint32_t a = scan->edges[i - 1].value, b = scan->edges[i].value;
		cr_unite(parent, end_corner(topology, a, false), end_corner(topology, b, false));
		cr_unite(parent, end_corner(topology, a, true), end_corner(topology, b, true));
	}
}

// fans: room for one byte for each vertex.
static void count_fans(cr_mesh_scan *scan, uint32_t *parent, uint8_t *fans)
{
	const cr_topology *topology = &scan->topology;
	carom_mesh_report *report = scan->report;
	join_fans(scan, parent);
	for (int32_t vertex = 0; vertex < topology->vertex_count; vertex++) {
		fans[vertex] = 0;
	}
	for (uint32_t corner = 0; corner < 3 * (uint32_t)topology->triangle_count; corner++) {
		uint8_t *count = &fans[welded_corner(topology, corner)];
		if (scan->carries[corner / 3] && parent[corner] == corner && *count < 2) {
			++*count;
		}
	}
	int32_t vertices = 0, first = -1;
	for (int32_t vertex = 0; vertex < topology->vertex_count; vertex++) {
		vertices += fans[vertex] > 0;
		if (fans[vertex] > 1) {
			first = report->nonmanifold_vertices++ == 0 ? vertex : first;
		}
	}
	report->euler += vertices;
	if (first >= 0) {
		cr_mesh_finding(report, first, "vertex %d joins fans of triangles that share no edge there", first);
	}
}

static void judge_edges(cr_mesh_scan *scan)
{
	bad_edges bad = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0 };
	scan->report->closed = scan->edge_count > 0;
	for (int64_t first = 0, end; first < scan->edge_count; first = end) {
		end = cr_mesh_edge_end(scan, first);
		judge_edge(scan, first, end, &bad);
		scan->report->euler--;
	}
	scan->report->euler += (int32_t)(scan->edge_count / 3);
	name_bad_edges(scan, &bad);
}

bool cr_mesh_match_edges(cr_mesh_scan *scan)
{
	cr_topology *topology = &scan->topology;
	int64_t corners = 3 * (int64_t)topology->triangle_count;
	bool ok = true;
	topology->neighbours = cr_mesh_alloc(scan->context, corners, sizeof(int32_t), &ok);
	if (!ok || !sort_edges(scan)) {
		return false;
	}
	for (int64_t i = 0; i < corners; i++) {
		topology->neighbours[i] = -1;
	}
	judge_edges(scan);
	uint32_t *parent = cr_mesh_alloc(scan->context, corners, sizeof *parent, &ok);
	uint8_t *fans = cr_mesh_alloc(scan->context, topology->vertex_count, sizeof *fans, &ok);
	if (ok) {
		count_pieces(scan, parent);
		count_fans(scan, parent, fans);
	}
	cr_free(scan->context, fans, (size_t)topology->vertex_count);
	cr_free(scan->context, parent, (size_t)corners * sizeof *parent);
	return ok;
}

// ---- Why a mesh is open ----

/// Has no other triangle in use an edge between the places of a corner and the next one?
static bool is_border(const cr_topology *t, int64_t slot)
{
	const int32_t *corners = &t->triangles[slot - slot % 3];
	const int32_t p = t->weld[corners[slot % 3]], q = t->weld[corners[(slot + 1) % 3]];
	bool alone = true;
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count && alone; i++) {
		const int32_t *of = &t->triangles[i - i % 3];
		const int32_t a = t->weld[of[i % 3]], b = t->weld[of[(i + 1) % 3]];
		alone = i / 3 == slot / 3 || !t->used[i / 3] || !((a == p && b == q) || (a == q && b == p));
	}
	return alone;
}

/// The first edge that one triangle alone uses, by its corner; -1 if none of the first TRIES edges
/// without a neighbour is one.
static int64_t find_border(const cr_topology *t)
{
	enum { TRIES = 64 };
	int tries = 0;
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count && tries < TRIES; i++) {
		if (!t->used[i / 3] || t->neighbours[i] >= 0)
			continue;
		if (is_border(t, i))
			return i;
		tries++;
	}
	return -1;
}

void cr_say_why_open(const cr_topology *t, const carom_mesh_report *report, char text[CR_WHY_OPEN])
{
	const int64_t border = report->border_edges > 0 ? find_border(t) : -1;
	if (border >= 0) {
		const int32_t *corners = &t->triangles[border - border % 3];
		snprintf(text, CR_WHY_OPEN, "edge %d-%d of triangle %d has no second triangle", corners[border % 3],
			corners[(border + 1) % 3], (int32_t)(border / 3));
	} else if (report->border_edges > 0) {
		snprintf(text, CR_WHY_OPEN, "%d edges have no second triangle", report->border_edges);
	} else if (report->inconsistent_edges + report->unbalanced_edges > 0) {
		snprintf(text, CR_WHY_OPEN, "%d edges run more often one way than the other",
			report->inconsistent_edges + report->unbalanced_edges);
	} else if (report->area > 0) {
		snprintf(text, CR_WHY_OPEN, "its sides are CAROM_SIDES_CONTAINER");
	} else {
		snprintf(text, CR_WHY_OPEN, "%s", t->triangle_count > 0 ? "no triangle of it is usable" : "it has no triangles");
	}
}
