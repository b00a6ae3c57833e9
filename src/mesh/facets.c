/// Facets by growing: from the largest triangle on, each facet takes in the neighbours that lie in the plane of the triangle
/// that it began with. The largest begin, because their planes suffer least from the rounding of their corners.

#include "mesh/facets.h"
#include "base/radix.h"
#include <string.h>

// Of the diagonal of the box: corners of a facet lie this near its plane.
static const double FLAT = 1e-5;
// Cosine of a degree: triangles of a facet differ by less, so that a fine curved surface does not become one.
static const double LEVEL = 0.99985;
// Two creases are one that goes on through a vertex where they differ by less than about 0.05 degrees.
static const double STRAIGHT = 4e-7;
// Meshes of more facets are not tested for being convex.
enum { CONVEX_FACETS = 512, CONVEX_TESTS = 1 << 20 };

typedef struct growth {
	carom_context *context;
	const cr_topology *topology;
	cr_facets *facets;
	double tolerance;
	v3d *areas;      // [triangle_count] twice the areas of the used triangles along their normals
	double *sizes;   // [triangle_count] their lengths
	int32_t *stack;  // [triangle_count]
	cr_key *keys;    // [2 * triangle_count]
	v3d *first_line; // [vertex_count] direction of the first crease that was met at a vertex
	uint8_t *lines;  // [vertex_count] how many were
} growth;

static v3d point_of(const cr_topology *t, int32_t vertex) { return v3d_from_floats(&t->vertices[3 * (int64_t)vertex]); }

/// Twice the area of a triangle along its normal.
static v3d area_of(const cr_topology *t, int32_t triangle)
{
	const int32_t *v = &t->triangles[3 * (int64_t)triangle];
	const v3d p = point_of(t, v[0]);
	return v3d_cross(v3d_sub(point_of(t, v[1]), p), v3d_sub(point_of(t, v[2]), p));
}

/// The used triangles from the largest to the smallest into keys; returns their number.
static int32_t sort_by_area(const growth *g)
{
	int32_t count = 0;
	for (int32_t i = 0; i < g->topology->triangle_count; i++) {
		if (!g->topology->used[i])
			continue;
		g->areas[i] = area_of(g->topology, i);
		g->sizes[i] = v3d_length(g->areas[i]);
		uint64_t bits;
		memcpy(&bits, &g->sizes[i], sizeof bits);
		g->keys[count++] = (cr_key){ ~bits, (uint32_t)i };
	}
	cr_radix_sort(g->keys, g->keys + count, count, 64);
	return count;
}

static bool lies_in(const growth *g, const cr_facet *f, int32_t triangle)
{
	if (!(v3d_dot(g->areas[triangle], f->normal) >= LEVEL * g->sizes[triangle]))
		return false;
	for (int k = 0; k < 3; k++) {
		const v3d p = point_of(g->topology, g->topology->triangles[3 * (int64_t)triangle + k]);
		if (fabs(v3d_dot(p, f->normal) - f->offset) > g->tolerance)
			return false;
	}
	return true;
}

/// The plane of a facet from all its triangles.
static void settle_plane(const growth *g, cr_facet *f)
{
	v3d sum = { 0, 0, 0 };
	double offset = 0;
	for (int32_t i = 0; i < f->count; i++)
		sum = v3d_add(sum, g->areas[g->facets->triangles[f->first + i]]);
	f->normal = v3d_normalize(sum);
	f->area = 0.5 * v3d_length(sum);
	for (int32_t i = 0; i < 3 * f->count; i++) {
		const int64_t corner = 3 * (int64_t)g->facets->triangles[f->first + i / 3] + i % 3;
		offset += v3d_dot(f->normal, point_of(g->topology, g->topology->triangles[corner]));
	}
	f->offset = offset / (3 * f->count);
}

/// Grow a facet from a triangle; its triangles go behind those of the facets before it.
static void grow(const growth *g, int32_t seed, int32_t first)
{
	cr_facets *facets = g->facets;
	const int32_t number = facets->count++;
	cr_facet *f = &facets->data[number];
	const v3d normal = v3d_normalize(g->areas[seed]);
	*f = (cr_facet){ .normal = normal, .first = first };
	f->offset = v3d_dot(normal, point_of(g->topology, g->topology->triangles[3 * (int64_t)seed]));
	int32_t top = 0;
	g->stack[top++] = seed;
	facets->of_triangle[seed] = number;
	while (top > 0) {
		const int32_t triangle = g->stack[--top];
		facets->triangles[first + f->count++] = triangle;
		for (int k = 0; k < 3; k++) {
			const int32_t next = g->topology->neighbours[3 * (int64_t)triangle + k];
			if (next < 0 || facets->of_triangle[next] >= 0 || !lies_in(g, f, next))
				continue;
			facets->of_triangle[next] = number;
			g->stack[top++] = next;
		}
	}
	settle_plane(g, f);
}

/// A crease leaves a vertex along a line.
static void note_line(const growth *g, int32_t vertex, v3d line)
{
	const int32_t v = g->topology->weld[vertex];
	if (g->lines[v] == 0)
		g->first_line[v] = line;
	else if (g->lines[v] > 1 || v3d_dot(g->first_line[v], line) > STRAIGHT - 1)
		g->facets->corner[v] = 1;
	g->lines[v] = g->lines[v] < 2 ? g->lines[v] + 1 : 2;
}

static void mark_creases(const growth *g)
{
	const cr_topology *t = g->topology;
	cr_facets *f = g->facets;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		for (int k = 0; k < 3 && t->used[i]; k++) {
			const int32_t across = t->neighbours[3 * (int64_t)i + k];
			if (across >= 0 && f->of_triangle[across] == f->of_triangle[i])
				continue;
			f->crease[i] |= (uint8_t)(1u << k);
			if (across >= 0 && across < i)
				continue;
			const int32_t from = t->triangles[3 * (int64_t)i + k], to = t->triangles[3 * (int64_t)i + (k + 1) % 3];
			const v3d line = v3d_normalize(v3d_sub(point_of(t, to), point_of(t, from)));
			note_line(g, from, line);
			note_line(g, to, v3d_neg(line));
		}
	}
	for (int32_t v = 0; v < t->vertex_count; v++)
		f->corner[v] |= g->lines[v] == 1;
}

/// List the corners, if they are few.
static void list_corners(cr_facets *f)
{
	for (int32_t v = 0; v < f->vertex_count; v++) {
		if (!f->corner[v])
			continue;
		if (f->few_count == CR_FEW_CORNERS) {
			f->few_count = 0;
			return;
		}
		f->few[f->few_count++] = v;
	}
}

/// No corner lies in front of a facet's plane.
static bool is_convex(const growth *g)
{
	const cr_facets *f = g->facets;
	if (f->count > CONVEX_FACETS || (int64_t)f->count * f->vertex_count > CONVEX_TESTS)
		return false;
	for (int32_t v = 0; v < f->vertex_count; v++) {
		for (int32_t i = 0; i < f->count && f->corner[v]; i++) {
			if (v3d_dot(f->data[i].normal, point_of(g->topology, v)) - f->data[i].offset > g->tolerance)
				return false;
		}
	}
	return f->count > 0;
}

static double tolerance_of(const cr_topology *t)
{
	v3d lower = { INFINITY, INFINITY, INFINITY }, upper = { -INFINITY, -INFINITY, -INFINITY };
	for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
		if (!t->used[i / 3])
			continue;
		const v3d p = point_of(t, t->triangles[i]);
		lower = (v3d){ fmin(lower.x, p.x), fmin(lower.y, p.y), fmin(lower.z, p.z) };
		upper = (v3d){ fmax(upper.x, p.x), fmax(upper.y, p.y), fmax(upper.z, p.z) };
	}
	return upper.x >= lower.x ? FLAT * v3d_length(v3d_sub(upper, lower)) : 0;
}

static bool has_memory(const cr_facets *f)
{
	return (f->triangle_count == 0 || (f->data && f->of_triangle && f->triangles && f->crease)) &&
		(f->vertex_count == 0 || f->corner);
}

static void grow_all(growth *g, bool closed)
{
	cr_facets *f = g->facets;
	g->tolerance = tolerance_of(g->topology);
	for (int32_t i = 0; i < f->triangle_count; i++)
		f->of_triangle[i] = -1;
	const int32_t used = sort_by_area(g);
	int32_t placed = 0;
	for (int32_t i = 0; i < used; i++) {
		const int32_t seed = (int32_t)g->keys[i].value;
		if (f->of_triangle[seed] >= 0)
			continue;
		grow(g, seed, placed);
		placed += f->data[f->count - 1].count;
	}
	mark_creases(g);
	list_corners(f);
	f->convex = closed && is_convex(g);
}

/// Give back the room of facets that there are not. false: out of memory.
static bool trim(carom_context *context, cr_facets *f)
{
	const size_t room = (size_t)f->triangle_count * sizeof *f->data, bytes = (size_t)f->count * sizeof *f->data;
	if (bytes == room)
		return true;
	cr_facet *data = cr_alloc(context, bytes);
	if (data)
		memcpy(data, f->data, bytes);
	cr_free(context, f->data, room);
	f->data = data;
	return data || bytes == 0;
}

bool cr_facets_build(carom_context *context, const cr_topology *t, bool closed, cr_facets *facets)
{
	const size_t n = (size_t)t->triangle_count, m = (size_t)t->vertex_count;
	*facets = (cr_facets){ .data = cr_alloc(context, n * sizeof(cr_facet)),
		.of_triangle = cr_alloc(context, n * sizeof(int32_t)),
		.triangles = cr_alloc(context, n * sizeof(int32_t)),
		.crease = cr_alloc_zero(context, n),
		.corner = cr_alloc_zero(context, m),
		.triangle_count = t->triangle_count,
		.vertex_count = t->vertex_count };
	growth g = { context, t, facets, 0, cr_alloc(context, n * sizeof(v3d)), cr_alloc(context, n * sizeof(double)),
		cr_alloc(context, n * sizeof(int32_t)), cr_alloc(context, 2 * n * sizeof(cr_key)), cr_alloc(context, m * sizeof(v3d)),
		cr_alloc_zero(context, m) };
	bool enough =
		has_memory(facets) && (n == 0 || (g.areas && g.sizes && g.stack && g.keys)) && (m == 0 || (g.first_line && g.lines));
	if (enough && n > 0)
		grow_all(&g, closed);
	cr_free(context, g.areas, n * sizeof(v3d));
	cr_free(context, g.sizes, n * sizeof(double));
	cr_free(context, g.stack, n * sizeof(int32_t));
	cr_free(context, g.keys, 2 * n * sizeof(cr_key));
	cr_free(context, g.first_line, m * sizeof(v3d));
	cr_free(context, g.lines, m);
	if (!enough && facets->count == 0) { // the room is that of a facet for each triangle
		cr_free(context, facets->data, n * sizeof(cr_facet));
		facets->data = NULL;
	}
	enough = enough && trim(context, facets);
	if (!enough)
		cr_facets_free(context, facets);
	return enough;
}

void cr_facets_free(carom_context *context, cr_facets *f)
{
	const size_t n = (size_t)f->triangle_count;
	cr_free(context, f->data, (size_t)f->count * sizeof(cr_facet));
	cr_free(context, f->of_triangle, n * sizeof(int32_t));
	cr_free(context, f->triangles, n * sizeof(int32_t));
	cr_free(context, f->crease, n);
	cr_free(context, f->corner, (size_t)f->vertex_count);
	*f = (cr_facets){ 0 };
}

size_t cr_facets_bytes(const cr_facets *f)
{
	return (size_t)f->count * sizeof(cr_facet) + (size_t)f->triangle_count * (2 * sizeof(int32_t) + 1) + (size_t)f->vertex_count;
}
