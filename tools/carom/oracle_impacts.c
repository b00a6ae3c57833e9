// Every vertex and face, every two edges: the impacts of a step, the dull way. See tool_oracle.h.
#include "tool_oracle.h"

#include "mesh_input.h"
#include "oracle_boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// An impact, by its features.
typedef struct oracle_hit {
	int32_t kind, vertices[4], triangle;
	double time;
} oracle_hit;

typedef struct impact_search {
	carom_context *context;
	const carom_sweep_def *def;
	const sim_mesh *begin, *end;
	int32_t (*edges)[2]; // [edge_count] lower vertex first, sorted
	int64_t edge_count;
	oracle_hit *hits;
	int64_t count, capacity;
	bool failed;
} impact_search;

static void place_of(const sim_mesh *mesh, int32_t v, double place[3])
{
	for (int axis = 0; axis < 3; axis++)
		place[axis] = mesh_input_coordinate(mesh, v, axis);
}

static bool is_left_out(const int32_t *t) { return t[0] == t[1] || t[1] == t[2] || t[2] == t[0]; }

// ---- Testing ----

static bool test(impact_search *s, carom_sweep_kind kind, const int32_t vertices[4], int32_t triangle)
{
	double begin[4][3], end[4][3];
	bool found;
	carom_sweep_hit hit;
	for (int k = 0; k < 4; k++) {
		place_of(s->begin, vertices[k], begin[k]);
		place_of(s->end, vertices[k], end[k]);
	}
	s->failed = carom_sweep_test_pair(s->context, s->def, kind, (const double(*)[3])begin, (const double(*)[3])end, &found,
					&hit) != CAROM_SUCCESS;
	if (s->failed || !found)
		return !s->failed;
	if (s->count == s->capacity) {
		const int64_t larger = 2 * s->capacity + 1024;
		oracle_hit *memory = realloc(s->hits, (size_t)larger * sizeof *memory);
		s->failed = !memory;
		if (!memory)
			return false;
		s->hits = memory;
		s->capacity = larger;
	}
	oracle_hit *to = &s->hits[s->count++];
	*to = (oracle_hit){ .kind = (int32_t)kind, .triangle = triangle, .time = hit.time };
	memcpy(to->vertices, vertices, sizeof to->vertices);
	return true;
}

static bool test_face(int32_t v, int32_t triangle, void *user)
{
	impact_search *s = user;
	const int32_t *t = s->begin->triangles + 3 * (size_t)triangle;
	const int32_t vertices[4] = { v, t[0], t[1], t[2] };
	return v == t[0] || v == t[1] || v == t[2] || test(s, CAROM_SWEEP_VERTEX_FACE, vertices, triangle);
}

static bool test_edges(int32_t e, int32_t f, void *user)
{
	impact_search *s = user;
	const int32_t *p = s->edges[e < f ? e : f], *q = s->edges[e < f ? f : e];
	const int32_t vertices[4] = { p[0], p[1], q[0], q[1] };
	return p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1] || test(s, CAROM_SWEEP_EDGE_EDGE, vertices, -1);
}

// ---- Features ----

static int by_vertices(const void *first, const void *second)
{
	const int32_t *a = first, *b = second;
	const int k = a[0] == b[0];
	return (a[k] > b[k]) - (a[k] < b[k]);
}

static bool list_edges(impact_search *s)
{
	const sim_mesh *mesh = s->begin;
	s->edges = malloc((3 * (size_t)mesh->triangle_count + 1) * sizeof *s->edges);
	if (!s->edges)
		return false;
	int64_t count = 0;
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		const int32_t *t = mesh->triangles + 3 * (size_t)i;
		for (int k = 0; k < 3 && !is_left_out(t); k++) {
			const int32_t a = t[k], b = t[(k + 1) % 3];
			s->edges[count][0] = a < b ? a : b;
			s->edges[count++][1] = a < b ? b : a;
		}
	}
	if (count > 0)
		qsort(s->edges, (size_t)count, sizeof *s->edges, by_vertices);
	for (int64_t i = 0; i < count; i++) {
		if (i == 0 || by_vertices(s->edges[i], s->edges[i - 1]) != 0)
			memmove(s->edges[s->edge_count++], s->edges[i], sizeof *s->edges);
	}
	return true;
}

/// The box that holds the ways of count vertices, and as far around it as features may be that are
/// reported.
static oracle_box sweep_box(const impact_search *s, int32_t item, const int32_t *vertices, int count)
{
	oracle_box box = oracle_empty_box(item);
	double largest = 0;
	for (int k = 0; k < 2 * count; k++) {
		double place[3];
		place_of(k % 2 ? s->end : s->begin, vertices[k / 2], place);
		oracle_grow_box(&box, place);
		for (int axis = 0; axis < 3; axis++)
			largest = fmax(largest, fabs(place[axis]));
	}
	const double around = s->def->tolerance + s->def->min_separation + 1e-12 * largest;
	for (int axis = 0; axis < 3; axis++) {
		box.lower[axis] -= around;
		box.upper[axis] += around;
	}
	return box;
}

static bool find_faces(impact_search *s)
{
	const sim_mesh *mesh = s->begin;
	oracle_box *faces = malloc(((size_t)mesh->triangle_count + 1) * sizeof *faces);
	oracle_box *vertices = malloc(((size_t)mesh->vertex_count + 1) * sizeof *vertices);
	bool *used = calloc((size_t)mesh->vertex_count + 1, sizeof *used);
	int64_t face_count = 0, vertex_count = 0;
	bool done = faces && vertices && used;
	for (int32_t i = 0; done && i < mesh->triangle_count; i++) {
		const int32_t *t = mesh->triangles + 3 * (size_t)i;
		if (is_left_out(t))
			continue;
		used[t[0]] = used[t[1]] = used[t[2]] = true;
		faces[face_count++] = sweep_box(s, i, t, 3);
	}
	for (int32_t v = 0; done && v < mesh->vertex_count; v++) {
		if (used[v])
			vertices[vertex_count++] = sweep_box(s, v, &v, 1);
	}
	done = done && oracle_visit_overlaps(vertices, vertex_count, faces, face_count, test_face, s);
	free(faces);
	free(vertices);
	free(used);
	return done;
}

static bool find_edges(impact_search *s)
{
	if (!list_edges(s))
		return false;
	oracle_box *boxes = malloc(((size_t)s->edge_count + 1) * sizeof *boxes);
	for (int64_t i = 0; boxes && i < s->edge_count; i++)
		boxes[i] = sweep_box(s, (int32_t)i, s->edges[i], 2);
	const bool done = boxes && oracle_visit_overlaps(boxes, s->edge_count, boxes, s->edge_count, test_edges, s);
	free(boxes);
	return done;
}

// ---- Comparing ----

static int by_feature(const void *first, const void *second)
{
	const oracle_hit *a = first, *b = second;
	const int32_t p[6] = { a->kind, a->vertices[0], a->vertices[1], a->vertices[2], a->vertices[3], a->triangle };
	const int32_t q[6] = { b->kind, b->vertices[0], b->vertices[1], b->vertices[2], b->vertices[3], b->triangle };
	for (int k = 0; k < 6; k++) {
		if (p[k] != q[k])
			return p[k] < q[k] ? -1 : 1;
	}
	return 0;
}

static oracle_hit plain_hit(const carom_sweep_hit *from)
{
	oracle_hit hit = { .kind = (int32_t)from->kind, .triangle = from->triangle, .time = from->time };
	memcpy(hit.vertices, from->vertices, sizeof hit.vertices);
	return hit;
}

static void note(oracle_difference *d, const oracle_hit *hit, const char *what, double time)
{
	const int32_t *v = hit->vertices;
	if (d->first[0])
		return;
	snprintf(d->first, sizeof d->first, "%s %d %d %d %d at %.9g is %s", hit->kind == CAROM_SWEEP_VERTEX_FACE ? "vf" : "ee",
		(int)v[0], (int)v[1], (int)v[2], (int)v[3], time, what);
}

/// Both lists sorted.
static void compare(const oracle_hit *fast, int64_t fast_count, const oracle_hit *dull, int64_t dull_count, oracle_difference *d)
{
	for (int64_t i = 0, k = 0; i < fast_count || k < dull_count;) {
		const int order = i == fast_count ? 1 : k == dull_count ? -1 : by_feature(&fast[i], &dull[k]);
		const bool other = order == 0 && fast[i].time != dull[k].time;
		if (order > 0)
			note(d, &dull[k], "missed", dull[k].time);
		else if (order < 0)
			note(d, &fast[i], "invented", fast[i].time);
		else if (other)
			note(d, &dull[k], "found at another time", dull[k].time);
		d->missed += order > 0;
		d->invented += order < 0;
		d->other += other;
		i += order <= 0;
		k += order >= 0;
	}
}

/// The first impact of a sorted list by time; NULL of none.
static const oracle_hit *earliest_of(const oracle_hit *hits, int64_t count)
{
	const oracle_hit *first = NULL;
	for (int64_t i = 0; i < count; i++) {
		if (!first || hits[i].time < first->time)
			first = &hits[i];
	}
	return first;
}

static bool compare_lists(impact_search *s, const carom_sweep_hits *fast, bool earliest, oracle_difference *d)
{
	oracle_hit *hits = malloc(((size_t)fast->count + 1) * sizeof *hits);
	if (!hits)
		return false;
	for (int64_t i = 0; i < fast->count; i++)
		hits[i] = plain_hit(&fast->data[i]);
	if (fast->count > 0)
		qsort(hits, (size_t)fast->count, sizeof *hits, by_feature);
	if (s->count > 0)
		qsort(s->hits, (size_t)s->count, sizeof *s->hits, by_feature);
	const oracle_hit *dull = earliest ? earliest_of(s->hits, s->count) : s->hits;
	const int64_t dull_count = earliest ? dull != NULL : s->count;
	d->count += dull_count;
	compare(hits, fast->count, dull, dull_count, d);
	free(hits);
	return true;
}

bool oracle_compare_impacts(carom_context *context, const carom_sweep_def *def, const sim_mesh *begin, const sim_mesh *end,
	const carom_sweep_hits *fast, bool earliest, oracle_difference *difference)
{
	carom_sweep_def certified = *def;
	// The oracle is to show the impacts that the plain cubic misses.
	if (certified.test == CAROM_SWEEP_CUBIC)
		certified.test = CAROM_SWEEP_CERTIFIED;
	impact_search s = { .context = context, .def = &certified, .begin = begin, .end = end };
	const bool done = find_faces(&s) && find_edges(&s) && compare_lists(&s, fast, earliest, difference);
	free(s.edges);
	free(s.hits);
	return done;
}
