/// Facets by growing: from the largest triangle on, each facet takes in the neighbours that lie in
/// the plane of the triangle that it began with. The largest begin, because their planes suffer
/// least from the rounding of their corners.

#include "mesh/facet_growth.h"
#include "base/radix.h"
#include <string.h>

// Of the diagonal of the box: corners of a facet lie this near its plane.
static const double FLAT = 1e-5;
// Cosine of a degree: triangles of a facet differ by less, so that a fine curved surface does not
// become one.
static const double LEVEL = 0.99985;
// Two creases are one that goes on through a vertex where they differ by less than about 0.05
// degrees.
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

v3d cr_area_of(const cr_topology *t, int32_t triangle)
{
	const int32_t *v = &t->triangles[3 * (int64_t)triangle];
	const v3d p = point_of(t, v[0]);
	return v3d_cross(v3d_sub(point_of(t, v[1]), p), v3d_sub(point_of(t, v[2]), p));
}

static void measure(const growth *g, int32_t triangle)
{
	g->areas[triangle] = cr_area_of(g->topology, triangle);
	g->sizes[triangle] = v3d_length(g->areas[triangle]);
}

uint64_t cr_area_key(double size)
{
	uint64_t bits;
	memcpy(&bits, &size, sizeof bits);
	return ~bits;
}

/// The key that triangles that are measured are sorted by.
static uint64_t key_of(const growth *g, int32_t triangle) { return cr_area_key(g->sizes[triangle]); }

/// The used triangles from the largest to the smallest into keys; returns their number.
static int32_t sort_by_area(const growth *g)
{
	int32_t count = 0;
	for (int32_t i = 0; i < g->topology->triangle_count; i++) {
		if (!g->topology->used[i])
			continue;
		measure(g, i);
		g->keys[count++] = (cr_key){ key_of(g, i), (uint32_t)i };
	}
	cr_radix_sort(g->keys, g->keys + count, count, 64);
	return count;
}

bool cr_lies_in_facet(const cr_topology *t, double tolerance, const cr_facet *f, int32_t triangle, v3d area, double size)
{
	if (!(v3d_dot(area, f->normal) >= LEVEL * size))
		return false;
	for (int k = 0; k < 3; k++) {
		const v3d p = point_of(t, t->triangles[3 * (int64_t)triangle + k]);
		if (fabs(v3d_dot(p, f->normal) - f->offset) > tolerance)
			return false;
	}
	return true;
}

static bool lies_in(const growth *g, const cr_facet *f, int32_t triangle)
{
	return cr_lies_in_facet(g->topology, g->tolerance, f, triangle, g->areas[triangle], g->sizes[triangle]);
}

void cr_settle_facet(const cr_topology *t, const int32_t *triangles, v3d sum, cr_facet *f)
{
	double offset = 0;
	f->normal = v3d_normalize(sum);
	f->area = 0.5 * v3d_length(sum);
	for (int32_t i = 0; i < 3 * f->count; i++) {
		const int64_t corner = 3 * (int64_t)triangles[f->first + i / 3] + i % 3;
		offset += v3d_dot(f->normal, point_of(t, t->triangles[corner]));
	}
	f->offset = offset / (3 * f->count);
}

/// How far a vertex lies from the plane of a facet of its own, at most.
static double slack_of(const cr_topology *t, const cr_facets *facets)
{
	double slack = 0;
	for (int32_t i = 0; i < facets->count; i++) {
		const cr_facet *f = &facets->data[i];
		for (int32_t k = 0; k < 3 * f->count; k++) {
			const int64_t corner = 3 * (int64_t)facets->triangles[f->first + k / 3] + k % 3;
			slack = fmax(slack, fabs(v3d_dot(f->normal, point_of(t, t->triangles[corner])) - f->offset));
		}
	}
	return slack;
}

void cr_settle_by_triangles(const cr_topology *t, const int32_t *triangles, cr_facet *f)
{
	v3d sum = { 0, 0, 0 };
	for (int32_t k = 0; k < f->count; k++)
		sum = v3d_add(sum, cr_area_of(t, triangles[f->first + k]));
	cr_settle_facet(t, triangles, sum, f);
}

void cr_facets_settle(const cr_topology *t, cr_facets *facets)
{
	for (int32_t i = 0; i < facets->count; i++)
		cr_settle_by_triangles(t, facets->triangles, &facets->data[i]);
}

void cr_lone_facet(const cr_topology *t, int32_t triangle, cr_facet *f)
{
	*f = (cr_facet){ .count = 1 };
	cr_settle_facet(t, &triangle, v3d_add((v3d){ 0, 0, 0 }, cr_area_of(t, triangle)), f);
	f->first = ~triangle;
}

cr_facet cr_begin_facet(const cr_topology *t, int32_t seed, v3d area)
{
	cr_facet f = { .normal = v3d_normalize(area) };
	f.offset = v3d_dot(f.normal, point_of(t, t->triangles[3 * (int64_t)seed]));
	return f;
}

/// The plane that a facet begins with, of a triangle that is measured.
static cr_facet begin_at(const growth *g, int32_t seed) { return cr_begin_facet(g->topology, seed, g->areas[seed]); }

/// Grow a facet from a triangle; its triangles go behind those of the facets before it.
static void grow(const growth *g, int32_t seed, int32_t first)
{
	cr_facets *facets = g->facets;
	const int32_t number = facets->count++;
	cr_facet *f = &facets->data[number];
	*f = begin_at(g, seed);
	f->first = first;
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
	v3d sum = { 0, 0, 0 };
	for (int32_t i = 0; i < f->count; i++)
		sum = v3d_add(sum, g->areas[facets->triangles[f->first + i]]);
	cr_settle_facet(g->topology, facets->triangles, sum, f);
}

bool cr_goes_straight_on(v3d line, v3d other) { return !(v3d_dot(line, other) > STRAIGHT - 1); }

/// A crease leaves a vertex along a line.
static void note_line(const growth *g, int32_t vertex, v3d line)
{
	const int32_t v = g->topology->weld[vertex];
	if (g->lines[v] == 0)
		g->first_line[v] = line;
	else if (g->lines[v] > 1 || !cr_goes_straight_on(g->first_line[v], line))
		g->facets->corner[v] = 1;
	g->lines[v] = g->lines[v] < 2 ? g->lines[v] + 1 : 2;
}

/// The edges of a triangle in use that are creases, as bits.
static uint8_t creases_of(const growth *g, int32_t triangle)
{
	const int32_t *neighbours = &g->topology->neighbours[3 * (int64_t)triangle], *facet = g->facets->of_triangle;
	uint8_t creases = 0;
	for (int k = 0; k < 3; k++) {
		if (neighbours[k] < 0 || facet[neighbours[k]] != facet[triangle])
			creases |= (uint8_t)(1u << k);
	}
	return creases;
}

/// Note the creases of a triangle that are not noted from the triangle across, at those of their
/// ends that are wanted (NULL: all).
static void note_creases(const growth *g, int32_t triangle, const uint8_t *wanted)
{
	const cr_topology *t = g->topology;
	const int32_t *corners = &t->triangles[3 * (int64_t)triangle];
	for (int k = 0; k < 3; k++) {
		const int32_t across = t->neighbours[3 * (int64_t)triangle + k], from = corners[k], to = corners[(k + 1) % 3];
		if (!(g->facets->crease[triangle] >> k & 1) || (across >= 0 && across < triangle))
			continue;
		const bool at_from = !wanted || wanted[t->weld[from]], at_to = !wanted || wanted[t->weld[to]];
		if (!at_from && !at_to)
			continue;
		const v3d line = v3d_normalize(v3d_sub(point_of(t, to), point_of(t, from)));
		if (at_from)
			note_line(g, from, line);
		if (at_to)
			note_line(g, to, v3d_neg(line));
	}
}

static void mark_creases(const growth *g)
{
	const cr_topology *t = g->topology;
	cr_facets *f = g->facets;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		if (!t->used[i])
			continue;
		f->crease[i] = creases_of(g, i);
		note_creases(g, i, NULL);
	}
	for (int32_t v = 0; v < t->vertex_count; v++)
		f->corner[v] |= g->lines[v] == 1;
}

/// List the corners, if they are few. false: out of memory.
static bool list_corners(carom_context *context, cr_facets *f)
{
	int32_t few[CR_FEW_CORNERS], count = 0;
	for (int32_t v = 0; v < f->vertex_count; v++) {
		if (!f->corner[v])
			continue;
		if (count == CR_FEW_CORNERS)
			return true;
		few[count++] = v;
	}
	const size_t bytes = (size_t)count * sizeof *few;
	f->few = cr_alloc(context, bytes);
	if (!f->few)
		return count == 0;
	memcpy(f->few, few, bytes);
	f->few_count = count;
	return true;
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

double cr_facet_tolerance(const float lower[3], const float upper[3])
{
	return FLAT * v3d_length(v3d_sub(v3d_from_floats(upper), v3d_from_floats(lower)));
}

double cr_used_tolerance(const cr_topology *t)
{
	float lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count; i++) {
		if (!t->used[i / 3])
			continue;
		const float *p = &t->vertices[3 * (int64_t)t->triangles[i]];
		for (int k = 0; k < 3; k++) {
			lower[k] = p[k] < lower[k] ? p[k] : lower[k];
			upper[k] = p[k] > upper[k] ? p[k] : upper[k];
		}
	}
	return upper[0] >= lower[0] ? cr_facet_tolerance(lower, upper) : 0;
}

static bool has_memory(const cr_facets *f)
{
	return (f->triangle_count == 0 || (f->data && f->of_triangle && f->triangles && f->crease)) &&
		(f->vertex_count == 0 || f->corner);
}

static void grow_all(growth *g, bool closed)
{
	cr_facets *f = g->facets;
	g->tolerance = cr_used_tolerance(g->topology);
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
	f->listed = placed;
	mark_creases(g);
	f->convex = closed && is_convex(g);
	f->slack = slack_of(g->topology, f);
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
	enough = enough && trim(context, facets) && list_corners(context, facets) && cr_facets_list_edges(context, t, facets);
	if (!enough)
		cr_facets_free(context, facets);
	return enough;
}

// ---- Thin facets ----

/// Count the facets that keep a record, and their triangles.
static void count_records(const cr_facets *f, int32_t *records, int32_t *listed)
{
	*records = *listed = 0;
	for (int32_t i = 0; i < f->count; i++) {
		*records += f->data[i].count > 1;
		*listed += f->data[i].count > 1 ? f->data[i].count : 0;
	}
}

bool cr_facets_thin(carom_context *context, const cr_topology *t, cr_facets *f)
{
	int32_t records, listed;
	if (f->count <= CONVEX_FACETS)
		return true;
	count_records(f, &records, &listed);
	cr_facet *data = cr_alloc_array(context, (size_t)records, sizeof *data);
	int32_t *triangles = cr_alloc_array(context, (size_t)listed, sizeof *triangles);
	if ((records > 0 && !data) || (listed > 0 && !triangles)) {
		cr_free(context, data, (size_t)records * sizeof *data);
		cr_free(context, triangles, (size_t)listed * sizeof *triangles);
		return false;
	}
	records = listed = 0;
	for (int32_t i = 0; i < f->count; i++) {
		const cr_facet *from = &f->data[i];
		const int32_t *own = &f->triangles[from->first];
		for (int32_t k = 0; k < from->count; k++)
			f->of_triangle[own[k]] = from->count > 1 ? records : CR_LONE_FACET | own[k];
		if (from->count == 1)
			continue;
		memcpy(&triangles[listed], own, (size_t)from->count * sizeof *own);
		data[records] = *from;
		data[records++].first = listed;
		listed += from->count;
	}
	cr_free(context, f->data, (size_t)f->count * sizeof *f->data);
	cr_free(context, f->triangles, (size_t)f->triangle_count * sizeof *f->triangles);
	f->data = data;
	f->triangles = triangles;
	f->whole = f->count;
	f->count = f->room = records;
	f->listed = f->list_room = listed;
	f->thin = t;
	f->slack = 0;
	return true;
}

// ---- Whether they are many ----

enum { MOST_ASKED = 8 * CR_PATCH_FACETS, ROUNDS = 8 };
// Cosine: of two triangles of one facet both differ from the facet's first triangle by no more than
// LEVEL, so from each other by no more than 2 LEVEL^2 - 1 = 0.9994. The rest is for rounding.
static const double APART = 0.999;
// Unit normals that are not apart differ by at most sqrt(2 - 2 APART) = 0.0447 along an axis, which
// is less than the width of a bin along x. So they are in one bin, or in two side by side.
enum { BINS_OF_ONE = 22, BINS = 2 * BINS_OF_ONE };

/// Normals that are apart from each other, by their bins.
typedef struct apart_normals {
	int count;
	v3d normal[CR_PATCH_FACETS];
	int8_t next[CR_PATCH_FACETS]; // of the same bin; -1: none
	int8_t first[BINS + 2];       // of each bin, with an empty one at either end
} apart_normals;

/// Is a normal apart from all those of a bin?
static bool is_apart(const apart_normals *a, int bin, v3d normal)
{
	for (int at = a->first[bin]; at >= 0; at = a->next[at]) {
		if (!(v3d_dot(a->normal[at], normal) < APART))
			return false;
	}
	return true;
}

/// Add a unit normal that is apart from all that there are. false: there is no room.
static bool add_apart(apart_normals *a, v3d normal)
{
	const int at = (int)((normal.x + 1) * BINS_OF_ONE), bin = 1 + (at < BINS ? at : BINS - 1);
	if (!is_apart(a, bin, normal) || !is_apart(a, bin - 1, normal) || !is_apart(a, bin + 1, normal))
		return true;
	if (a->count == CR_PATCH_FACETS)
		return false;
	a->normal[a->count] = normal;
	a->next[a->count] = a->first[bin];
	a->first[bin] = (int8_t)a->count++;
	return true;
}

bool cr_has_many_facets(const cr_topology *t)
{
	apart_normals apart = { .count = 0 };
	memset(apart.first, -1, sizeof apart.first);
	const int32_t asked = t->triangle_count < MOST_ASKED ? t->triangle_count : MOST_ASKED;
	// Triangles that follow each other in a file mostly face nearly the same way.
	for (int32_t round = 0; round < ROUNDS; round++) {
		for (int32_t i = round; i < asked; i += ROUNDS) {
			const v3d area = cr_area_of(t, (int32_t)((int64_t)i * t->triangle_count / asked));
			const double size = v3d_length(area);
			if (size > 0 && !add_apart(&apart, v3d_scale(area, 1 / size)))
				return true;
		}
	}
	return false;
}

// ---- Refitting ----
//
// Facets with a triangle that changed, or beside one, are grown again from their own triangles. The
// others stay as long as neither could have taken a triangle of the other, whichever would have
// grown first. Then a whole build would have come to them too. One that could is grown again as
// well, with all that were, until all the others stay.

enum { MOST_ROUNDS = 16 }; // facets that go on taking from each other are made of the whole mesh

/// Facets that are brought up to date.
typedef struct regrowth {
	growth g;              // of the triangles that are grown again; its facets are the new ones
	const cr_facets *from; // as they were
	cr_facets part;        // those grown again; of_triangle is that of the new ones
	uint8_t *again;        // [triangle_count] 1: is grown again
	int32_t *list;         // [triangle_count] the triangles that are grown again
	uint8_t *gone;         // [from->count] 1: its triangles are
	uint8_t *at;           // [vertex_count] of a vertex as welded: 1: a corner of such a triangle
	int32_t count;         // of these triangles
	int32_t gone_count;
} regrowth;

/// A facet goes, with a triangle of its: its triangles are to be grown again.
static void mark_gone(regrowth *r, int32_t triangle)
{
	const cr_topology *t = r->g.topology;
	const int32_t number = r->from->of_triangle[triangle];
	const cr_facet *f = &r->from->data[number];
	if (r->gone[number])
		return;
	r->gone[number] = 1;
	r->gone_count++;
	for (int32_t i = 0; i < f->count; i++) {
		const int32_t own = r->from->triangles[f->first + i];
		r->again[own] = 1;
		r->list[r->count++] = own;
		measure(&r->g, own);
		for (int k = 0; k < 3; k++)
			r->at[t->weld[t->triangles[3 * (int64_t)own + k]]] = 1;
	}
}

/// Choose the facets to grow again first.
static void choose_again(regrowth *r, const cr_change *change)
{
	const cr_topology *t = r->g.topology;
	for (int32_t i = 0; i < change->triangle_count; i++) {
		const int32_t triangle = change->triangles[i];
		mark_gone(r, triangle);
		for (int k = 0; k < 3; k++) {
			if (t->neighbours[3 * (int64_t)triangle + k] >= 0)
				mark_gone(r, t->neighbours[3 * (int64_t)triangle + k]);
		}
	}
}

/// Is a facet grown before another one? Both are measured where they began.
static bool grows_first(const growth *g, int32_t seed, int32_t other)
{
	const uint64_t a = key_of(g, seed), b = key_of(g, other);
	return a < b || (a == b && seed < other);
}

/// Would a facet that is grown again and one that stays share out their triangles as they do? own,
/// across: beside each other.
static bool are_settled(const regrowth *r, int32_t own, int32_t across)
{
	const growth *g = &r->g;
	const int32_t seed = cr_first_of_facet(&r->part, r->part.of_triangle[own]),
				  other = cr_first_of_facet(r->from, r->from->of_triangle[across]);
	measure(g, other);
	const bool first = grows_first(g, seed, other);
	const cr_facet begun = begin_at(g, first ? seed : other);
	measure(g, across);
	return !lies_in(g, &begun, first ? across : own);
}

/// Let the facets go that would have grown otherwise beside those grown again. Returns whether
/// there were none.
static bool all_are_settled(regrowth *r)
{
	const int32_t count = r->count;
	for (int32_t i = 0; i < count; i++) {
		const int32_t own = r->list[i];
		for (int k = 0; k < 3; k++) {
			const int32_t across = r->g.topology->neighbours[3 * (int64_t)own + k];
			if (across >= 0 && !r->again[across] && !are_settled(r, own, across))
				mark_gone(r, across);
		}
	}
	return r->count == count;
}

/// Grow the facets again from their own triangles. Returns whether the others stay.
static bool grow_again(regrowth *r)
{
	growth g = r->g;
	int32_t placed = 0;
	for (int32_t i = 0; i < r->count; i++) {
		g.keys[i] = (cr_key){ (uint64_t)r->list[i], (uint32_t)r->list[i] };
		g.facets->of_triangle[r->list[i]] = -1;
	}
	// Equal areas are grown in the order of their numbers, as in a whole build.
	cr_radix_sort(g.keys, g.keys + r->count, r->count, 32);
	for (int32_t i = 0; i < r->count; i++)
		g.keys[i].key = key_of(&g, (int32_t)g.keys[i].value);
	cr_radix_sort(g.keys, g.keys + r->count, r->count, 64);
	r->part.of_triangle = r->g.facets->of_triangle;
	r->part.count = 0;
	g.facets = &r->part;
	for (int32_t i = 0; i < r->count; i++) {
		const int32_t seed = (int32_t)g.keys[i].value;
		if (r->part.of_triangle[seed] >= 0)
			continue;
		grow(&g, seed, placed);
		placed += r->part.data[r->part.count - 1].count;
	}
	return all_are_settled(r);
}

/// Append a facet that was grown again; placed: triangles of the facets so far. Returns how many
/// there are then.
static int32_t append(cr_facets *to, const cr_facets *from, int32_t facet, int32_t placed)
{
	cr_facet *f = &to->data[to->count];
	*f = from->data[facet];
	memcpy(&to->triangles[placed], &from->triangles[f->first], (size_t)f->count * sizeof *to->triangles);
	f->first = placed;
	for (int32_t i = 0; i < f->count; i++)
		to->of_triangle[to->triangles[placed + i]] = to->count;
	to->count++;
	return placed + f->count;
}

/// Append facets from begin to end that stay. Returns as append does.
static int32_t append_run(cr_facets *to, const cr_facets *from, int32_t begin, int32_t end, int32_t placed)
{
	if (begin == end)
		return placed;
	const cr_facet *last = &from->data[end - 1];
	const int32_t first = from->data[begin].first, count = last->first + last->count - first, shift = to->count - begin;
	memcpy(&to->data[to->count], &from->data[begin], (size_t)(end - begin) * sizeof *to->data);
	memcpy(&to->triangles[placed], &from->triangles[first], (size_t)count * sizeof *to->triangles);
	for (int32_t i = 0; i < end - begin && placed != first; i++)
		to->data[to->count + i].first += placed - first;
	for (int32_t i = 0; i < count && shift != 0; i++)
		to->of_triangle[from->triangles[first + i]] += shift;
	to->count += end - begin;
	return placed + count;
}

/// Append the facets from begin to end, without those that are gone.
static int32_t append_kept(const regrowth *r, int32_t begin, int32_t end, int32_t placed)
{
	while (begin < end) {
		int32_t stop = begin;
		while (stop < end && !r->gone[stop])
			stop++;
		placed = append_run(r->g.facets, r->from, begin, stop, placed);
		begin = stop + 1;
	}
	return placed;
}

/// Find the first facet that stays, from one on, before which a facet that was grown again belongs.
static int32_t find_place(const regrowth *r, int32_t part, int32_t low)
{
	const int32_t seed = cr_first_of_facet(&r->part, part);
	int32_t high = r->from->count;
	while (low < high) {
		const int32_t middle = low + (high - low) / 2;
		int32_t at = middle;
		while (at < high && r->gone[at])
			at++;
		if (at < high)
			measure(&r->g, cr_first_of_facet(r->from, at));
		if (at == high || grows_first(&r->g, seed, cr_first_of_facet(r->from, at)))
			high = middle;
		else
			low = at + 1;
	}
	return low;
}

/// Put the facets that stay and those grown again in order.
static void merge(const regrowth *r)
{
	int32_t placed = 0, next = 0;
	for (int32_t i = 0; i < r->part.count; i++) {
		const int32_t at = find_place(r, i, next);
		placed = append_kept(r, next, at, placed);
		placed = append(r->g.facets, &r->part, i, placed);
		next = at;
	}
	r->g.facets->listed = append_kept(r, next, r->from->count, placed);
}

/// Find creases and corners again where facets were grown again.
static void mark_again(const regrowth *r)
{
	const cr_topology *t = r->g.topology;
	cr_facets *f = r->g.facets;
	memcpy(f->crease, r->from->crease, (size_t)t->triangle_count);
	memcpy(f->corner, r->from->corner, (size_t)t->vertex_count);
	for (int32_t i = 0; i < r->count; i++) {
		const int32_t triangle = (int32_t)r->g.keys[i].value;
		f->crease[triangle] = creases_of(&r->g, triangle);
	}
	for (int32_t v = 0; v < t->vertex_count; v++)
		f->corner[v] &= (uint8_t)!r->at[v];
	for (int32_t i = 0; i < t->triangle_count; i++) {
		const int32_t *v = &t->triangles[3 * (int64_t)i];
		if (f->crease[i] && (r->at[t->weld[v[0]]] | r->at[t->weld[v[1]]] | r->at[t->weld[v[2]]]))
			note_creases(&r->g, i, r->at);
	}
	for (int32_t v = 0; v < t->vertex_count; v++)
		f->corner[v] |= r->g.lines[v] == 1;
}

/// Room for what only lasts until the facets are made. false: out of memory.
static bool make_room(carom_context *context, regrowth *r)
{
	const cr_topology *t = r->g.topology;
	const size_t n = (size_t)t->triangle_count, m = (size_t)t->vertex_count;
	growth *g = &r->g;
	g->areas = cr_alloc(context, n * sizeof *g->areas);
	g->sizes = cr_alloc(context, n * sizeof *g->sizes);
	g->stack = cr_alloc(context, n * sizeof *g->stack);
	g->keys = cr_alloc(context, 2 * n * sizeof *g->keys);
	g->first_line = cr_alloc(context, m * sizeof *g->first_line);
	g->lines = cr_alloc_zero(context, m);
	r->part.data = cr_alloc(context, n * sizeof *r->part.data);
	r->part.triangles = cr_alloc(context, n * sizeof *r->part.triangles);
	r->again = cr_alloc_zero(context, n);
	r->list = cr_alloc(context, n * sizeof *r->list);
	r->gone = cr_alloc_zero(context, (size_t)r->from->count);
	r->at = cr_alloc_zero(context, m);
	return g->areas && g->sizes && g->stack && g->keys && g->first_line && g->lines && r->part.data && r->part.triangles &&
		r->again && r->list && r->gone && r->at;
}

static void free_room(carom_context *context, regrowth *r)
{
	const cr_topology *t = r->g.topology;
	const size_t n = (size_t)t->triangle_count, m = (size_t)t->vertex_count;
	growth *g = &r->g;
	cr_free(context, g->areas, n * sizeof *g->areas);
	cr_free(context, g->sizes, n * sizeof *g->sizes);
	cr_free(context, g->stack, n * sizeof *g->stack);
	cr_free(context, g->keys, 2 * n * sizeof *g->keys);
	cr_free(context, g->first_line, m * sizeof *g->first_line);
	cr_free(context, g->lines, m);
	cr_free(context, r->part.data, n * sizeof *r->part.data);
	cr_free(context, r->part.triangles, n * sizeof *r->part.triangles);
	cr_free(context, r->again, n);
	cr_free(context, r->list, n * sizeof *r->list);
	cr_free(context, r->gone, (size_t)r->from->count);
	cr_free(context, r->at, m);
}

/// Everything, once there is room. CAROM_INVALID_MESH: the facets have to be made of the whole
/// mesh.
static carom_result refit(carom_context *context, regrowth *r, const cr_change *change, bool closed)
{
	cr_facets *f = r->g.facets;
	memcpy(f->of_triangle, r->from->of_triangle, (size_t)f->triangle_count * sizeof *f->of_triangle);
	choose_again(r, change);
	int round = 0;
	while (round < MOST_ROUNDS && !grow_again(r))
		round++;
	if (round == MOST_ROUNDS)
		return CAROM_INVALID_MESH;
	const size_t count = (size_t)(r->from->count - r->gone_count) + (size_t)r->part.count;
	f->data = cr_alloc(context, count * sizeof *f->data);
	if (!f->data)
		return CAROM_OUT_OF_MEMORY;
	merge(r);
	mark_again(r);
	f->convex = closed && is_convex(&r->g);
	f->slack = slack_of(r->g.topology, f);
	return list_corners(context, f) && cr_facets_list_edges(context, r->g.topology, f) ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
}

carom_result cr_facets_refit(carom_context *context, const cr_topology *t, const cr_change *change, const cr_facets *from,
	const float lower[3], const float upper[3], bool closed, cr_facets *facets)
{
	const size_t n = (size_t)t->triangle_count, m = (size_t)t->vertex_count;
	*facets = (cr_facets){ .of_triangle = cr_alloc(context, n * sizeof(int32_t)),
		.triangles = cr_alloc(context, n * sizeof(int32_t)),
		.crease = cr_alloc(context, n),
		.corner = cr_alloc(context, m),
		.triangle_count = t->triangle_count,
		.vertex_count = t->vertex_count };
	regrowth r = { .g = { .context = context, .topology = t, .facets = facets, .tolerance = cr_facet_tolerance(lower, upper) },
		.from = from };
	const bool enough = make_room(context, &r) && facets->of_triangle && facets->triangles && facets->crease && facets->corner;
	const carom_result result = enough ? refit(context, &r, change, closed) : CAROM_OUT_OF_MEMORY;
	free_room(context, &r);
	if (result != CAROM_SUCCESS)
		cr_facets_free(context, facets);
	return result;
}

/// Room for the lists of triangles.
static size_t list_room(const cr_facets *f) { return (size_t)(f->thin ? f->list_room : f->triangle_count); }
static size_t record_room(const cr_facets *f) { return (size_t)(f->thin ? f->room : f->count); }

void cr_facets_free(carom_context *context, cr_facets *f)
{
	const size_t n = (size_t)f->triangle_count;
	cr_free(context, f->data, record_room(f) * sizeof(cr_facet));
	cr_free(context, f->of_triangle, n * sizeof(int32_t));
	cr_free(context, f->triangles, list_room(f) * sizeof(int32_t));
	cr_free(context, f->crease, n);
	cr_free(context, f->corner, (size_t)f->vertex_count);
	cr_free(context, f->few, (size_t)f->few_count * sizeof *f->few);
	cr_free(context, f->edges, (size_t)f->edge_count * sizeof *f->edges);
	*f = (cr_facets){ 0 };
}

size_t cr_facets_bytes(const cr_facets *f)
{
	return record_room(f) * sizeof(cr_facet) + (size_t)f->triangle_count * (sizeof(int32_t) + 1) +
		list_room(f) * sizeof(int32_t) + (size_t)f->vertex_count + (size_t)f->edge_count * sizeof *f->edges +
		(size_t)f->few_count * sizeof *f->few;
}
