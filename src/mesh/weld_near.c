// Vertices that nearly meet are put to one place (carom_mesh_def.weld_distance). Each vertex in
// turn stays, or moves to the nearest one that stayed within the distance. Before that, vertices
// are put about the centre of their mesh (carom_mesh_def.centre).
//
// Those that stayed lie in a grid of cubic cells, kept in a hash table. A cell is four distances
// wide, so the ball around a vertex touches at most two cells along each axis, mostly one.
// Subtraction, division and floor keep the order of numbers, also where they round: a place within
// the ball is in a cell between those of the ball's ends. Vertices that stayed are farther apart
// than the distance, so a cell holds some hundred at most, and all takes linear time.
#include "mesh/mesh_check.h"
#include "mesh/place_hash.h"

enum { CELL = 4 }; // distances along a side

typedef struct near_weld {
	double distance;
	double *places; // [3*count]
	int32_t *first; // [mask + 1] of each slot the vertex that stayed last; -1: none
	int32_t *next;  // [count] the one before it in its slot
	uint64_t mask;
} near_weld;

static v3d place_of(const near_weld *w, int32_t vertex)
{
	const double *p = w->places + 3 * (int64_t)vertex;
	return (v3d){ p[0], p[1], p[2] };
}

static double cell_at(const near_weld *w, double coordinate) { return floor(coordinate / (CELL * w->distance)); }

static v3d cell_of(const near_weld *w, v3d p) { return (v3d){ cell_at(w, p.x), cell_at(w, p.y), cell_at(w, p.z) }; }

static uint64_t slot_of(const near_weld *w, v3d cell) { return cr_hash_place(cell) & w->mask; }

/// The nearest vertex that stayed.
typedef struct nearest {
	int32_t vertex; // -1: none
	double distance2;
} nearest;

static void search_cell(const near_weld *w, v3d p, v3d cell, nearest *found)
{
	for (int32_t v = w->first[slot_of(w, cell)]; v >= 0; v = w->next[v]) {
		const v3d way = v3d_sub(place_of(w, v), p);
		const double distance2 = v3d_dot(way, way);
		const bool better = distance2 < found->distance2 || (distance2 == found->distance2 && v < found->vertex);
		if (distance2 <= w->distance * w->distance && (found->vertex < 0 || better))
			*found = (nearest){ v, distance2 };
	}
}

static int32_t find_near(const near_weld *w, v3d p)
{
	const v3d reach = { w->distance, w->distance, w->distance };
	const v3d low = cell_of(w, v3d_sub(p, reach)), high = cell_of(w, v3d_add(p, reach));
	const v3d more = v3d_sub(high, low);
	nearest found = { -1, 0 };
	// Counted, as a cell's number may be so large that one more is the same number.
	for (double x = 0; x <= more.x; x++) {
		for (double y = 0; y <= more.y; y++) {
			for (double z = 0; z <= more.z; z++)
				search_cell(w, p, v3d_add(low, (v3d){ x, y, z }), &found);
		}
	}
	return found.vertex;
}

/// Vertices that are not finite stay, and nothing moves to them: the check refuses them.
static bool is_finite(v3d p) { return isfinite(p.x) && isfinite(p.y) && isfinite(p.z); }

static void weld(near_weld *w, int32_t count)
{
	for (int32_t vertex = 0; vertex < count; vertex++) {
		const v3d p = place_of(w, vertex);
		if (!is_finite(p))
			continue;
		const int32_t to = find_near(w, p);
		if (to >= 0) {
			memcpy(w->places + 3 * (int64_t)vertex, w->places + 3 * (int64_t)to, 3 * sizeof *w->places);
			continue;
		}
		int32_t *first = &w->first[slot_of(w, cell_of(w, p))];
		w->next[vertex] = *first;
		*first = vertex;
	}
}

/// Weld the places of count vertices. False: out of memory.
static bool weld_places(carom_context *context, double distance, double *places, int32_t count)
{
	uint64_t slots = 4;
	bool ok = true;
	while (slots < (uint64_t)count)
		slots *= 2;
	near_weld w = { .distance = distance, .places = places, .mask = slots - 1 };
	w.first = cr_mesh_alloc(context, (int64_t)slots, sizeof *w.first, &ok);
	w.next = cr_mesh_alloc(context, count, sizeof *w.next, &ok);
	if (ok) {
		memset(w.first, 0xff, slots * sizeof *w.first);
		weld(&w, count);
	}
	cr_free(context, w.first, slots * sizeof *w.first);
	cr_free(context, w.next, (size_t)count * sizeof *w.next);
	return ok;
}

static bool is_centred(const carom_mesh_def *def) { return def->centre.x != 0 || def->centre.y != 0 || def->centre.z != 0; }

/// Read a vertex, about the centre of the mesh.
static void read_about(const carom_mesh_def *def, int32_t vertex, double place[3])
{
	cr_read_vertex(&def->vertices, vertex, place);
	place[0] -= def->centre.x;
	place[1] -= def->centre.y;
	place[2] -= def->centre.z;
}

const carom_mesh_def *cr_begin_weld(carom_context *context, const carom_mesh_def *def, cr_welded_def *welded)
{
	welded->vertices = NULL;
	if (cr_mesh_check_def(context, def) != CAROM_SUCCESS || def->vertex_count == 0)
		return def;
	if (def->weld_distance == 0 && !is_centred(def))
		return def;
	const int32_t count = def->vertex_count;
	bool ok = true;
	welded->def = *def;
	welded->vertices = cr_mesh_alloc(context, 3 * (int64_t)count, sizeof *welded->vertices, &ok);
	for (int32_t i = 0; ok && i < count; i++)
		read_about(def, i, welded->vertices + 3 * (int64_t)i);
	if (!ok || (def->weld_distance > 0 && !weld_places(context, def->weld_distance, welded->vertices, count))) {
		cr_end_weld(context, welded);
		cr_fail_memory(context, "the vertices of a mesh");
		return NULL;
	}
	welded->def.vertices = (carom_strided){ welded->vertices, 0, CAROM_FLOAT64 };
	welded->def.weld_distance = 0;
	return &welded->def;
}

void cr_end_weld(carom_context *context, cr_welded_def *welded)
{
	if (welded->vertices)
		cr_free(context, welded->vertices, 3 * (size_t)welded->def.vertex_count * sizeof *welded->vertices);
	welded->vertices = NULL;
}
