/// Thin facets, made all at once or near a change. See mesh/thin_facets.h.
///
/// Facets with a triangle that changed are grown again from their own triangles.
/// The others stay as long as neither could have taken a triangle of the other, whichever would
/// have grown first: then a whole build would have come to them too. One that could is grown again
/// as well, with all that were, until all the others stay. (As in mesh/facets.c, where facets have
/// an order besides.)
///
/// Until the change is taken, the numbers of the triangles that are grown again are negative:
/// FRESH, or -2 less the number of the new facet. All else is as it was.

#include "mesh/thin_facets.h"
#include "base/array.h"
#include "base/radix.h"
#include "mesh/facet_growth.h"
#include <string.h>

enum {
	FRESH = INT32_MIN,
	// Facets that go on taking from each other are made of the whole mesh in the end.
	MOST_ROUNDS = 400,
	LARGE_SHARE = 16, // as are those of more than such a share of all triangles
	FEWEST = 512,     // of fewer, facets are dense
	SPARE = 64,
};

/// A triangle that is grown again, and its facet as it was.
typedef struct regrown {
	int32_t triangle;
	int32_t before;
} regrown;

/// The creases at a vertex.
typedef struct corner_lines {
	v3d first;
	uint8_t count;
	uint8_t corner;
} corner_lines;

struct cr_facet_change {
	carom_context *context;
	cr_facets *facets;
	const cr_topology *topology;
	double tolerance;
	CR_ARRAY(regrown) again;
	CR_ARRAY(int32_t) gone;   // records
	CR_ARRAY(cr_facet) made;  // new facets; their triangles are in placed
	CR_ARRAY(int32_t) placed; // [again.count]
	CR_ARRAY(int32_t) stack;  // of a growth
	// [2 * again.count] of a growth; then [6 * again.count], of which the first [vertices.count]
	// have a corner at each vertex
	CR_ARRAY(cr_key) keys;
	CR_ARRAY(int32_t) vertices;   // as welded, rising: the corners of these triangles
	CR_ARRAY(corner_lines) lines; // of the vertices
	CR_ARRAY(uint8_t) crease;     // of placed
	CR_ARRAY(cr_key) around;      // [2 * n] triangles around the vertices
	bool failed;                  // out of memory
};

static v3d point_of(const cr_topology *t, int32_t vertex) { return v3d_from_floats(&t->vertices[3 * (int64_t)vertex]); }

static int32_t *facet_of(const cr_facet_change *p, int32_t triangle) { return &p->facets->of_triangle[triangle]; }

/// Is a triangle grown again?
static bool is_again(const cr_facet_change *p, int32_t triangle) { return *facet_of(p, triangle) < -1; }

// ---- Which facets ----

static void add_again(cr_facet_change *p, int32_t triangle)
{
	if (!cr_array_reserve(p->context, &p->again, p->again.count + 1)) {
		p->failed = true;
		return;
	}
	p->again.data[p->again.count++] = (regrown){ triangle, *facet_of(p, triangle) };
	*facet_of(p, triangle) = FRESH;
}

/// The facet of a triangle goes: its triangles are to be grown again.
static void mark_gone(cr_facet_change *p, int32_t triangle)
{
	const int32_t number = *facet_of(p, triangle);
	if (number < -1)
		return;
	if (number >= CR_LONE_FACET) {
		add_again(p, triangle);
		return;
	}
	if (!cr_array_reserve(p->context, &p->gone, p->gone.count + 1)) {
		p->failed = true;
		return;
	}
	p->gone.data[p->gone.count++] = number;
	const cr_facet *f = &p->facets->data[number];
	for (int32_t i = 0; i < f->count && !p->failed; i++)
		add_again(p, p->facets->triangles[f->first + i]);
}

static void choose_again(cr_facet_change *p, const cr_change *change)
{
	for (int32_t i = 0; i < change->triangle_count && !p->failed; i++)
		mark_gone(p, change->triangles[i]);
}

/// Would a new facet and one that stays share out their triangles as they do? own, across: beside
/// each other.
static bool are_settled(const cr_facet_change *p, int32_t own, int32_t across)
{
	const cr_topology *t = p->topology;
	const int32_t seed = p->placed.data[p->made.data[-2 - *facet_of(p, own)].first];
	const int32_t other = cr_first_of_facet(p->facets, *facet_of(p, across));
	const v3d area = cr_area_of(t, seed), other_area = cr_area_of(t, other);
	const uint64_t a = cr_area_key(v3d_length(area)), b = cr_area_key(v3d_length(other_area));
	const bool first = a < b || (a == b && seed < other);
	const cr_facet begun = cr_begin_facet(t, first ? seed : other, first ? area : other_area);
	const int32_t asked = first ? across : own;
	const v3d its = cr_area_of(t, asked);
	return !cr_lies_in_facet(t, p->tolerance, &begun, asked, its, v3d_length(its));
}

/// Let the facets go that would have grown otherwise beside the new ones. Returns whether there
/// were none.
static bool all_are_settled(cr_facet_change *p)
{
	const int64_t count = p->again.count;
	for (int64_t i = 0; i < count && !p->failed; i++) {
		const int32_t own = p->again.data[i].triangle;
		for (int k = 0; k < 3; k++) {
			const int32_t across = p->topology->neighbours[3 * (int64_t)own + k];
			if (across >= 0 && !is_again(p, across) && !are_settled(p, own, across))
				mark_gone(p, across);
		}
	}
	return p->again.count == count;
}

// ---- Growing ----

/// The triangles from the largest to the smallest; of equal ones the lower number first.
static void sort_by_area(cr_facet_change *p)
{
	const int64_t count = p->again.count;
	cr_key *keys = p->keys.data;
	for (int64_t i = 0; i < count; i++) {
		const uint32_t triangle = (uint32_t)p->again.data[i].triangle;
		keys[i] = (cr_key){ triangle, triangle };
		*facet_of(p, (int32_t)triangle) = FRESH;
	}
	cr_radix_sort(keys, keys + count, count, 32);
	for (int64_t i = 0; i < count; i++)
		keys[i].key = cr_area_key(v3d_length(cr_area_of(p->topology, (int32_t)keys[i].value)));
	cr_radix_sort(keys, keys + count, count, 64);
}

/// Room for as many new facets as there are triangles. false: out of memory.
static bool reserve_growth(cr_facet_change *p)
{
	const int64_t count = p->again.count;
	return cr_array_reserve(p->context, &p->keys, 2 * count) && cr_array_reserve(p->context, &p->made, count) &&
		cr_array_reserve(p->context, &p->placed, count) && cr_array_reserve(p->context, &p->stack, count);
}

/// Grow a facet from a triangle.
static void grow(cr_facet_change *p, int32_t seed)
{
	const cr_topology *t = p->topology;
	const int32_t mark = -2 - (int32_t)p->made.count;
	cr_facet *f = &p->made.data[p->made.count++];
	*f = cr_begin_facet(t, seed, cr_area_of(t, seed));
	f->first = (int32_t)p->placed.count;
	p->stack.count = 0;
	p->stack.data[p->stack.count++] = seed;
	*facet_of(p, seed) = mark;
	while (p->stack.count > 0) {
		const int32_t triangle = p->stack.data[--p->stack.count];
		p->placed.data[p->placed.count++] = triangle;
		f->count++;
		for (int k = 0; k < 3; k++) {
			const int32_t next = t->neighbours[3 * (int64_t)triangle + k];
			if (next < 0 || *facet_of(p, next) != FRESH)
				continue;
			const v3d area = cr_area_of(t, next);
			if (!cr_lies_in_facet(t, p->tolerance, f, next, area, v3d_length(area)))
				continue;
			*facet_of(p, next) = mark;
			p->stack.data[p->stack.count++] = next;
		}
	}
	cr_settle_by_triangles(t, p->placed.data, f);
}

/// Grow the facets again from their own triangles. Returns whether the others stay.
static bool grow_again(cr_facet_change *p)
{
	if (!reserve_growth(p)) {
		p->failed = true;
		return true;
	}
	sort_by_area(p);
	p->made.count = p->placed.count = 0;
	for (int64_t i = 0; i < p->again.count; i++) {
		const int32_t seed = (int32_t)p->keys.data[i].value;
		if (*facet_of(p, seed) == FRESH)
			grow(p, seed);
	}
	return all_are_settled(p);
}

// ---- Creases and corners ----

/// List the corners of the triangles grown again, as welded. false: out of memory.
static bool list_vertices(cr_facet_change *p)
{
	const int64_t count = 3 * p->again.count;
	const cr_topology *t = p->topology;
	if (!cr_array_reserve(p->context, &p->keys, 2 * count) || !cr_array_reserve(p->context, &p->vertices, count) ||
		!cr_array_reserve(p->context, &p->lines, count) || !cr_array_reserve(p->context, &p->crease, p->again.count))
		return false;
	for (int64_t i = 0; i < count; i++) {
		const int64_t corner = 3 * (int64_t)p->again.data[i / 3].triangle + i % 3;
		p->keys.data[i] = (cr_key){ (uint64_t)t->weld[t->triangles[corner]], (uint32_t)corner };
	}
	cr_radix_sort(p->keys.data, p->keys.data + count, count, 32);
	for (int64_t i = 0; i < count; i++) {
		const int32_t vertex = (int32_t)p->keys.data[i].key;
		if (p->vertices.count > 0 && p->vertices.data[p->vertices.count - 1] == vertex)
			continue;
		p->keys.data[p->vertices.count] = p->keys.data[i]; // with a corner there
		p->vertices.data[p->vertices.count++] = vertex;
	}
	memset(p->lines.data, 0, (size_t)p->vertices.count * sizeof *p->lines.data);
	p->lines.count = p->vertices.count;
	return true;
}

/// The lines of a vertex, if it is a corner of triangles grown again; else NULL.
static corner_lines *lines_of(const cr_facet_change *p, int32_t vertex)
{
	const int32_t v = p->topology->weld[vertex];
	int64_t low = 0, high = p->vertices.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (p->vertices.data[middle] < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->vertices.count && p->vertices.data[low] == v ? &p->lines.data[low] : NULL;
}

static uint8_t creases_of(const cr_facet_change *p, int32_t triangle)
{
	if (!is_again(p, triangle))
		return p->facets->crease[triangle];
	uint8_t creases = 0;
	for (int k = 0; k < 3; k++) {
		const int32_t across = p->topology->neighbours[3 * (int64_t)triangle + k];
		if (across < 0 || *facet_of(p, across) != *facet_of(p, triangle))
			creases |= (uint8_t)(1u << k);
	}
	return creases;
}

static void note_line(corner_lines *at, v3d line)
{
	if (!at)
		return;
	if (at->count == 0)
		at->first = line;
	else if (at->count > 1 || !cr_goes_straight_on(at->first, line))
		at->corner = 1;
	at->count = at->count < 2 ? at->count + 1 : 2;
}

/// Note the creases of a triangle that are not noted from the triangle across, at the vertices
/// listed.
static void note_creases(const cr_facet_change *p, int32_t triangle)
{
	const cr_topology *t = p->topology;
	const int32_t *corners = &t->triangles[3 * (int64_t)triangle];
	const uint8_t creases = creases_of(p, triangle);
	for (int k = 0; k < 3; k++) {
		const int32_t across = t->neighbours[3 * (int64_t)triangle + k], from = corners[k], to = corners[(k + 1) % 3];
		if (!(creases >> k & 1) || (across >= 0 && across < triangle))
			continue;
		corner_lines *at_from = lines_of(p, from), *at_to = lines_of(p, to);
		if (!at_from && !at_to)
			continue;
		const v3d line = v3d_normalize(v3d_sub(point_of(t, to), point_of(t, from)));
		note_line(at_from, line);
		note_line(at_to, v3d_neg(line));
	}
}

// ---- Room ----

/// Count the new facets that get a record, and their triangles.
static void count_records(const cr_facet_change *p, int32_t *records, int32_t *listed)
{
	*records = *listed = 0;
	for (int64_t i = 0; i < p->made.count; i++) {
		*records += p->made.data[i].count > 1;
		*listed += p->made.data[i].count > 1 ? p->made.data[i].count : 0;
	}
}

/// Make room for so many records more. false: out of memory.
static bool reserve_records(carom_context *context, cr_facets *f, int32_t more)
{
	if (f->room - f->count >= more)
		return true;
	const int64_t room = (int64_t)f->count + f->count / 8 + more + SPARE;
	cr_facet *data = room <= INT32_MAX ? cr_alloc_array(context, (size_t)room, sizeof *data) : NULL;
	if (!data)
		return false;
	if (f->count > 0)
		memcpy(data, f->data, (size_t)f->count * sizeof *data);
	cr_free(context, f->data, (size_t)f->room * sizeof *data);
	f->data = data;
	f->room = (int32_t)room;
	return true;
}

/// Make room for so many triangles more; room of facets that are gone is taken back. false: out of
/// memory.
static bool reserve_lists(carom_context *context, cr_facets *f, int32_t more)
{
	if (f->list_room - f->listed >= more)
		return true;
	int64_t live = 0;
	for (int32_t i = 0; i < f->count; i++)
		live += f->data[i].count;
	const int64_t room = live + live / 8 + more + SPARE;
	int32_t *triangles = room <= INT32_MAX ? cr_alloc_array(context, (size_t)room, sizeof *triangles) : NULL;
	if (!triangles)
		return false;
	f->listed = 0;
	for (int32_t i = 0; i < f->count; i++) {
		cr_facet *own = &f->data[i];
		if (own->count == 0)
			continue;
		memcpy(triangles + f->listed, f->triangles + own->first, (size_t)own->count * sizeof *triangles);
		own->first = f->listed;
		f->listed += own->count;
	}
	cr_free(context, f->triangles, (size_t)f->list_room * sizeof *triangles);
	f->triangles = triangles;
	f->list_room = (int32_t)room;
	return true;
}

static bool reserve_change(cr_facet_change *p)
{
	int32_t records, listed;
	count_records(p, &records, &listed);
	return reserve_records(p->context, p->facets, records) && reserve_lists(p->context, p->facets, listed);
}

// ---- The change ----

static void end_change(cr_facet_change *p)
{
	carom_context *context = p->context;
	cr_array_free(context, &p->again);
	cr_array_free(context, &p->gone);
	cr_array_free(context, &p->made);
	cr_array_free(context, &p->placed);
	cr_array_free(context, &p->stack);
	cr_array_free(context, &p->keys);
	cr_array_free(context, &p->vertices);
	cr_array_free(context, &p->lines);
	cr_array_free(context, &p->crease);
	cr_array_free(context, &p->around);
	cr_free(context, p, sizeof *p);
}

void cr_drop_facet_change(cr_facet_change *p)
{
	if (!p)
		return;
	for (int64_t i = 0; i < p->again.count; i++)
		*facet_of(p, p->again.data[i].triangle) = p->again.data[i].before;
	end_change(p);
}

/// How many facets there will be.
static int64_t count_after(const cr_facet_change *p)
{
	int64_t lone = 0;
	for (int64_t i = 0; i < p->again.count; i++)
		lone += p->again.data[i].before >= CR_LONE_FACET;
	return p->facets->whole - lone - p->gone.count + p->made.count;
}

carom_result cr_plan_facet_change(carom_context *context, const cr_change *change, const float lower[3], const float upper[3],
	cr_facets *facets, cr_facet_change **plan)
{
	cr_facet_change *p = cr_alloc_zero(context, sizeof *p);
	*plan = NULL;
	if (!p)
		return CAROM_OUT_OF_MEMORY;
	p->context = context;
	p->facets = facets;
	p->topology = facets->thin;
	p->tolerance = cr_facet_tolerance(lower, upper);
	choose_again(p, change);
	int round = 0;
	while (!p->failed && round < MOST_ROUNDS && !grow_again(p))
		round = p->again.count > facets->triangle_count / LARGE_SHARE ? MOST_ROUNDS : round + 1;
	carom_result result = CAROM_SUCCESS;
	if (round == MOST_ROUNDS || (!p->failed && count_after(p) <= FEWEST))
		result = CAROM_INVALID_MESH;
	if (p->failed || (result == CAROM_SUCCESS && (!list_vertices(p) || !reserve_change(p))))
		result = CAROM_OUT_OF_MEMORY;
	if (result == CAROM_SUCCESS)
		*plan = p;
	else
		cr_drop_facet_change(p);
	return result;
}

/// Add the triangles around a corner. false: it has a border, or there is no memory left.
static bool add_fan(cr_facet_change *p, int64_t at)
{
	const int32_t start = (int32_t)(at / 3);
	int32_t triangle = start;
	int corner = (int)(at % 3);
	do {
		if (!cr_array_reserve_one(p->context, &p->around))
			return false;
		p->around.data[p->around.count++] = (cr_key){ (uint64_t)triangle, 0 };
		if (!cr_next_in_fan(p->topology, true, &triangle, &corner))
			return false;
	} while (triangle != start);
	return true;
}

bool cr_surroundings_of_facet_change(cr_facet_change *p, cr_surroundings *s)
{
	bool all = true;
	*s = (cr_surroundings){ 0 };
	p->around.count = 0;
	for (int64_t i = 0; i < p->vertices.count && all; i++)
		all = add_fan(p, p->keys.data[i].value);
	const int64_t count = p->around.count;
	if (!all || count > INT32_MAX || !cr_array_reserve(p->context, &p->around, 2 * count))
		return false;
	cr_key *keys = p->around.data;
	cr_radix_sort(keys, keys + count, count, 32);
	int64_t kept = 0;
	for (int64_t i = 0; i < count; i++) {
		if (i == 0 || keys[i].key != keys[kept - 1].key)
			keys[kept++] = keys[i];
	}
	s->triangles = cr_alloc_array(p->context, (size_t)kept, sizeof *s->triangles);
	if (kept > 0 && !s->triangles)
		return false;
	s->count = (int32_t)kept;
	for (int64_t i = 0; i < kept; i++)
		s->triangles[i] = (int32_t)keys[i].key;
	return true;
}

const int32_t *cr_vertices_of_facet_change(const cr_facet_change *p, int32_t *count)
{
	*count = (int32_t)p->vertices.count;
	return p->vertices.data;
}

void cr_mark_facet_change(cr_facet_change *p, const cr_surroundings *around)
{
	for (int32_t i = 0; i < around->count; i++)
		note_creases(p, around->triangles[i]);
	for (int64_t i = 0; i < p->placed.count; i++)
		p->crease.data[i] = creases_of(p, p->placed.data[i]);
}

/// Take a record out.
static void free_record(cr_facets *f, int32_t number)
{
	f->data[number] = (cr_facet){ .first = f->free, .count = 0 };
	f->free = number + 1;
}

/// Give a new facet of several triangles a record.
static void add_record(const cr_facet_change *p, const cr_facet *made)
{
	cr_facets *f = p->facets;
	const int32_t number = f->free > 0 ? f->free - 1 : f->count++;
	if (f->free > 0)
		f->free = f->data[number].first;
	f->data[number] = *made;
	f->data[number].first = f->listed;
	for (int32_t i = 0; i < made->count; i++) {
		const int32_t triangle = p->placed.data[made->first + i];
		f->triangles[f->listed++] = triangle;
		f->of_triangle[triangle] = number;
	}
}

void cr_take_facet_change(cr_facet_change *p)
{
	cr_facets *f = p->facets;
	f->whole = (int32_t)count_after(p);
	for (int64_t i = 0; i < p->placed.count; i++)
		f->crease[p->placed.data[i]] = p->crease.data[i];
	for (int64_t i = 0; i < p->vertices.count; i++)
		f->corner[p->vertices.data[i]] = p->lines.data[i].corner | (p->lines.data[i].count == 1);
	for (int64_t i = 0; i < p->gone.count; i++)
		free_record(f, p->gone.data[i]);
	for (int64_t i = 0; i < p->made.count; i++) {
		const cr_facet *made = &p->made.data[i];
		if (made->count > 1)
			add_record(p, made);
		else
			f->of_triangle[p->placed.data[made->first]] = CR_LONE_FACET | p->placed.data[made->first];
	}
	end_change(p);
}

bool cr_copy_thin_facets(carom_context *context, const cr_facets *from, const cr_topology *topology, cr_facets *facets)
{
	const size_t n = (size_t)from->triangle_count, m = (size_t)from->vertex_count;
	cr_facets f = *from;
	f.thin = topology;
	f.room = f.count;
	f.list_room = f.listed;
	f.few = NULL;
	f.few_count = 0;
	f.data = cr_alloc_array(context, (size_t)f.count, sizeof *f.data);
	f.triangles = cr_alloc_array(context, (size_t)f.listed, sizeof *f.triangles);
	f.of_triangle = cr_alloc_array(context, n, sizeof *f.of_triangle);
	f.crease = cr_alloc(context, n);
	f.corner = cr_alloc(context, m);
	*facets = f;
	if ((f.count > 0 && !f.data) || (f.listed > 0 && !f.triangles) || !f.of_triangle || !f.crease || !f.corner) {
		cr_facets_free(context, facets);
		return false;
	}
	if (f.count > 0)
		memcpy(f.data, from->data, (size_t)f.count * sizeof *f.data);
	if (f.listed > 0)
		memcpy(f.triangles, from->triangles, (size_t)f.listed * sizeof *f.triangles);
	memcpy(f.of_triangle, from->of_triangle, n * sizeof *f.of_triangle);
	memcpy(f.crease, from->crease, n);
	memcpy(f.corner, from->corner, m);
	return true;
}

// ---- All facets ----

/// Thin facets that are made.
typedef struct building {
	carom_context *context;
	const cr_topology *topology;
	cr_facets *facets;
	double tolerance;
	CR_ARRAY(cr_facet) records;
	CR_ARRAY(int32_t) listed; // their triangles
	CR_ARRAY(int32_t) stack;
	CR_ARRAY(cr_key) keys; // [2 * n] the triangles to grow from, by area
	corner_lines *lines;   // [vertex_count]
	int64_t lone;          // facets of one triangle
} building;

/// Cosine of a bit more than twice the angle that a triangle of a facet may have with its plane: of
/// two triangles of one facet that share an edge both are as near to the plane, so no facet of
/// several triangles has one that differs more from all its neighbours.
static const double BESIDE = 0.9993;

/// Mark the triangles that may share a facet with a neighbour as FRESH. The others are facets.
static void find_fresh(const building *b)
{
	const cr_topology *t = b->topology;
	int32_t *of = b->facets->of_triangle;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		of[i] = t->used[i] ? CR_LONE_FACET | i : -1;
		if (!t->used[i])
			continue;
		const v3d area = cr_area_of(t, i);
		const double square = v3d_dot(area, area);
		for (int k = 0; k < 3; k++) {
			const int32_t across = t->neighbours[3 * (int64_t)i + k];
			if (across < 0 || across > i)
				continue;
			const v3d other = cr_area_of(t, across);
			const double product = v3d_dot(area, other);
			if (product > 0 && product * product >= BESIDE * BESIDE * square * v3d_dot(other, other))
				of[i] = of[across] = FRESH;
		}
	}
}

/// List the fresh triangles from the largest on; of equal ones the lower number first. false: out
/// of memory.
static bool list_fresh(building *b)
{
	const int32_t *of = b->facets->of_triangle, n = b->topology->triangle_count;
	int64_t count = 0;
	for (int32_t i = 0; i < n; i++)
		count += of[i] == FRESH;
	if (!cr_array_reserve(b->context, &b->keys, 2 * count))
		return false;
	for (int32_t i = 0; i < n; i++) {
		b->lone += of[i] >= 0;
		if (of[i] == FRESH)
			b->keys.data[b->keys.count++] = (cr_key){ cr_area_key(v3d_length(cr_area_of(b->topology, i))), (uint32_t)i };
	}
	cr_radix_sort(b->keys.data, b->keys.data + count, count, 64);
	return true;
}

/// Grow a facet from a triangle; its triangles go behind those of the facets before it. false: out
/// of memory.
static bool grow_fresh(building *b, int32_t seed)
{
	const cr_topology *t = b->topology;
	int32_t *of = b->facets->of_triangle;
	const int32_t first = (int32_t)b->listed.count, number = (int32_t)b->records.count;
	cr_facet f = cr_begin_facet(t, seed, cr_area_of(t, seed));
	f.first = first;
	b->stack.data[b->stack.count++] = seed;
	of[seed] = number;
	while (b->stack.count > 0) {
		const int32_t triangle = b->stack.data[--b->stack.count];
		if (!cr_array_reserve_one(b->context, &b->listed) || !cr_array_reserve(b->context, &b->stack, b->stack.count + 3))
			return false;
		b->listed.data[b->listed.count++] = triangle;
		f.count++;
		for (int k = 0; k < 3; k++) {
			const int32_t next = t->neighbours[3 * (int64_t)triangle + k];
			if (next < 0 || of[next] != FRESH)
				continue;
			const v3d area = cr_area_of(t, next);
			if (!cr_lies_in_facet(t, b->tolerance, &f, next, area, v3d_length(area)))
				continue;
			of[next] = number;
			b->stack.data[b->stack.count++] = next;
		}
	}
	if (f.count == 1) {
		of[seed] = CR_LONE_FACET | seed;
		b->listed.count--;
		b->lone++;
		return true;
	}
	cr_settle_by_triangles(t, b->listed.data, &f);
	if (!cr_array_reserve_one(b->context, &b->records))
		return false;
	b->records.data[b->records.count++] = f;
	return true;
}

/// Grow all facets. false: out of memory.
static bool grow_all(building *b)
{
	find_fresh(b);
	if (!list_fresh(b) || !cr_array_reserve(b->context, &b->stack, SPARE))
		return false;
	for (int64_t i = 0; i < b->keys.count; i++) {
		const int32_t seed = (int32_t)b->keys.data[i].value;
		if (b->facets->of_triangle[seed] == FRESH && !grow_fresh(b, seed))
			return false;
	}
	return true;
}

/// Note the creases of a triangle that are not noted from the triangle across.
static void mark_creases(const building *b, int32_t triangle)
{
	const cr_topology *t = b->topology;
	const int32_t *of = b->facets->of_triangle, *corners = &t->triangles[3 * (int64_t)triangle];
	uint8_t creases = 0;
	for (int k = 0; k < 3; k++) {
		const int32_t across = t->neighbours[3 * (int64_t)triangle + k], from = corners[k], to = corners[(k + 1) % 3];
		if (across >= 0 && of[across] == of[triangle])
			continue;
		creases |= (uint8_t)(1u << k);
		corner_lines *at_from = &b->lines[t->weld[from]], *at_to = &b->lines[t->weld[to]];
		// At a vertex that is a corner already, further creases tell nothing.
		if ((across >= 0 && across < triangle) || (at_from->corner && at_to->corner))
			continue;
		const v3d line = v3d_normalize(v3d_sub(point_of(t, to), point_of(t, from)));
		note_line(at_from, line);
		note_line(at_to, v3d_neg(line));
	}
	b->facets->crease[triangle] = creases;
}

/// Mark all creases and corners. Returns the number of corners.
static int64_t mark_all(const building *b)
{
	int64_t corners = 0;
	for (int32_t i = 0; i < b->topology->triangle_count; i++) {
		if (b->topology->used[i])
			mark_creases(b, i);
	}
	for (int32_t v = 0; v < b->topology->vertex_count; v++) {
		b->facets->corner[v] = b->lines[v].corner || b->lines[v].count == 1;
		corners += b->facets->corner[v];
	}
	return corners;
}

/// Make records and lists as long as they are. false: out of memory.
static bool take_records(building *b)
{
	cr_facets *f = b->facets;
	const size_t records = (size_t)b->records.count, listed = (size_t)b->listed.count;
	f->count = f->room = (int32_t)records;
	f->listed = f->list_room = (int32_t)listed;
	f->data = cr_alloc_array(b->context, records, sizeof *f->data);
	f->triangles = cr_alloc_array(b->context, listed, sizeof *f->triangles);
	if (records == 0)
		return true;
	if (!f->data || !f->triangles)
		return false;
	memcpy(f->data, b->records.data, records * sizeof *f->data);
	memcpy(f->triangles, b->listed.data, listed * sizeof *f->triangles);
	return true;
}

/// Make all. *few: there are too few facets or corners for thin ones. false: out of memory.
static bool build_all(building *b, bool *few)
{
	const cr_topology *t = b->topology;
	cr_facets *f = b->facets;
	const size_t n = (size_t)t->triangle_count, m = (size_t)t->vertex_count;
	f->of_triangle = cr_alloc_array(b->context, n, sizeof *f->of_triangle);
	f->crease = cr_alloc_zero(b->context, n);
	f->corner = cr_alloc_zero(b->context, m);
	b->lines = cr_alloc_zero(b->context, m * sizeof *b->lines);
	if (!f->of_triangle || !f->crease || !f->corner || !b->lines || !grow_all(b))
		return false;
	*few = b->lone + b->records.count <= FEWEST || mark_all(b) <= CR_FEW_CORNERS;
	f->whole = (int32_t)(b->lone + b->records.count);
	return *few || take_records(b);
}

bool cr_thin_facets_build(carom_context *context, const cr_topology *t, bool closed, cr_facets *facets)
{
	*facets = (cr_facets){ .triangle_count = t->triangle_count, .vertex_count = t->vertex_count, .thin = t };
	building b = { .context = context, .topology = t, .facets = facets, .tolerance = cr_used_tolerance(t) };
	bool few = t->triangle_count <= FEWEST;
	const bool enough = few || build_all(&b, &few);
	cr_array_free(context, &b.records);
	cr_array_free(context, &b.listed);
	cr_array_free(context, &b.stack);
	cr_array_free(context, &b.keys);
	cr_free(context, b.lines, b.lines ? (size_t)t->vertex_count * sizeof *b.lines : 0);
	if (enough && !few)
		return true;
	cr_facets_free(context, facets);
	if (!enough || !cr_facets_build(context, t, closed, facets))
		return false;
	if (cr_facets_thin(context, t, facets))
		return true;
	cr_facets_free(context, facets);
	return false;
}
