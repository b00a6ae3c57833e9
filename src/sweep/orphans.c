/// Orphan sets. See sweep/orphans.h. Only triangles around the corners of a feature's first
/// triangle can be adjacent to all of the feature's triangles, so each feature looks at its
/// neighbourhood alone: O(triangles * valence^2).
#include "sweep/orphans.h"

#include <stdlib.h>

enum { CANDIDATES = 64 }; // edges listed before they are looked at

typedef struct finder {
	carom_context *context;
	cr_sweep_scene *scene;
	CR_ARRAY(int32_t) near; // features that may be orphans with the present one, each once
	int32_t *seen;          // [triangles or edges] the last feature that put it among them
	int32_t *opposite;      // [3*triangles] third corners, as edge_triangles
	const uint8_t *alone;   // [vertices] 1: no orphans there; NULL: everywhere
} finder;

/// Put a feature among those near the present one, unless it is there.
static bool add_near(finder *f, int32_t feature, int32_t present)
{
	if (f->seen[feature] == present)
		return true;
	f->seen[feature] = present;
	if (!cr_array_reserve(f->context, &f->near, f->near.count + 1))
		return false;
	f->near.data[f->near.count++] = feature;
	return true;
}

static int compare_pairs(const void *first, const void *second)
{
	const cr_feature_pair *a = first, *b = second;
	return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

// ---- Vertex and face ----

static bool has_corner(const cr_sweep_scene *s, int32_t triangle, int32_t vertex)
{
	const int32_t *t = &s->triangles[3 * (int64_t)triangle];
	return t[0] == vertex || t[1] == vertex || t[2] == vertex;
}

static bool is_orphan_face(const cr_sweep_scene *s, int32_t vertex, int32_t face)
{
	if (has_corner(s, face, vertex))
		return false;
	// From the last one: the face was found around the first.
	for (int32_t i = s->vertex_first[vertex + 1] - 1; i >= s->vertex_first[vertex]; i--) {
		if (!cr_are_adjacent(s, s->vertex_triangles[i], face))
			return false;
	}
	return true;
}

/// The orphans of a vertex: among the triangles around the other corners of its first triangle.
static bool gather_triangles(finder *f, int32_t vertex)
{
	const cr_sweep_scene *s = f->scene;
	const int32_t *corners = &s->triangles[3 * (int64_t)s->vertex_triangles[s->vertex_first[vertex]]];
	f->near.count = 0;
	for (int k = 0; k < 3; k++) {
		const int32_t v = corners[k];
		for (int32_t i = s->vertex_first[v]; i < s->vertex_first[v + 1] && v != vertex; i++) {
			const int32_t face = s->vertex_triangles[i];
			if (is_orphan_face(s, vertex, face) && !add_near(f, face, vertex))
				return false;
		}
	}
	return true;
}

static bool find_faces(finder *f)
{
	cr_sweep_scene *s = f->scene;
	for (int32_t v = 0; v < s->vertex_count; v++) {
		if (s->vertex_first[v] == s->vertex_first[v + 1] || (f->alone && f->alone[v]))
			continue;
		const int64_t before = s->orphan_faces.count;
		if (!gather_triangles(f, v))
			return false;
		for (int64_t i = 0; i < f->near.count; i++) {
			const int32_t face = f->near.data[i];
			if (!cr_array_reserve(f->context, &s->orphan_faces, s->orphan_faces.count + 1))
				return false;
			const int32_t *t = &s->triangles[3 * (int64_t)face];
			s->orphan_faces.data[s->orphan_faces.count++] = (cr_feature_pair){ { v, t[0], t[1], t[2] }, v, face };
		}
		if (s->orphan_faces.count > before + 1)
			qsort(&s->orphan_faces.data[before], (size_t)(s->orphan_faces.count - before), sizeof(cr_feature_pair),
				compare_pairs);
	}
	return true;
}

// ---- Two edges ----
//
// Edges e and f without a common vertex; x is the third corner of a triangle of e, y of one of f.
// The two triangles are adjacent when x is an end of f, or y one of e, or x = y. So f is opposite
// to an end of e in one of its triangles; or else, by the first triangle of e, it ends at x or is
// opposite to it.

/// The third corner of each triangle of each edge, in the order of edge_triangles.
static void find_opposite(const cr_sweep_scene *s, int32_t *opposite)
{
	for (int32_t e = 0; e < s->edge_count; e++) {
		const int64_t ends = (int64_t)s->edges[2 * (int64_t)e] + s->edges[2 * (int64_t)e + 1];
		for (int32_t i = s->edge_first[e]; i < s->edge_first[e + 1]; i++) {
			const int32_t *t = &s->triangles[3 * (int64_t)s->edge_triangles[i]];
			opposite[i] = (int32_t)((int64_t)t[0] + t[1] + t[2] - ends);
		}
	}
}

static inline int are_near(const int32_t *e, int32_t x, const int32_t *f, int32_t y)
{
	return (x == f[0]) | (x == f[1]) | (y == e[0]) | (y == e[1]) | (x == y);
}

/// False when two edges are certainly no orphans, by their first and last triangles, which are all
/// most often. Without branches, since hardly a pair is one of orphans.
static inline bool may_be_orphan_edge(const cr_sweep_scene *s, const int32_t *opposite, int32_t a, int32_t b)
{
	const int32_t *e = &s->edges[2 * (int64_t)a], *f = &s->edges[2 * (int64_t)b];
	const int32_t x[2] = { opposite[s->edge_first[a]], opposite[s->edge_first[a + 1] - 1] };
	const int32_t y[2] = { opposite[s->edge_first[b]], opposite[s->edge_first[b + 1] - 1] };
	const int are_apart = (e[0] != f[0]) & (e[0] != f[1]) & (e[1] != f[0]) & (e[1] != f[1]);
	const int first_near = are_near(e, x[0], f, y[0]) & are_near(e, x[0], f, y[1]);
	const int last_near = are_near(e, x[1], f, y[0]) & are_near(e, x[1], f, y[1]);
	return are_apart & first_near & last_near;
}

static bool is_orphan_edge(const cr_sweep_scene *s, const int32_t *opposite, int32_t a, int32_t b)
{
	const int32_t *e = &s->edges[2 * (int64_t)a], *f = &s->edges[2 * (int64_t)b];
	for (int32_t i = s->edge_first[a]; i < s->edge_first[a + 1]; i++) {
		for (int32_t j = s->edge_first[b]; j < s->edge_first[b + 1]; j++) {
			if (!are_near(e, opposite[i], f, opposite[j]))
				return false;
		}
	}
	return true;
}

/// Put the orphans of an edge among those near it.
static bool keep_orphans(finder *f, int32_t edge, const int32_t *others, int count)
{
	const cr_sweep_scene *s = f->scene;
	for (int i = 0; i < count; i++) {
		if (may_be_orphan_edge(s, f->opposite, edge, others[i]) && is_orphan_edge(s, f->opposite, edge, others[i]) &&
			!add_near(f, others[i], edge))
			return false;
	}
	return true;
}

/// The orphans, above an edge, among the sides of the triangles around a vertex: those opposite to
/// it, or all of them, each that ends there by its first triangle.
static bool gather_edges(finder *f, int32_t edge, int32_t vertex, bool all)
{
	const cr_sweep_scene *s = f->scene;
	int32_t others[CANDIDATES];
	int count = 0;
	for (int32_t i = s->vertex_first[vertex]; i < s->vertex_first[vertex + 1]; i++) {
		const int32_t triangle = s->vertex_triangles[i];
		const int32_t *corners = &s->triangles[3 * (int64_t)triangle], *sides = &s->triangle_edges[3 * (int64_t)triangle];
		const int opposite = (corners[0] == vertex) + 2 * (corners[1] == vertex);
		const int wanted = 1 << opposite | (all ? s->first_of[triangle] >> CR_SIDES_SHIFT : 0);
		for (int k = all ? 0 : opposite; k < (all ? 3 : opposite + 1); k++) {
			others[count] = sides[k];
			count += (wanted >> k & 1) & (sides[k] > edge);
		}
		if (count > CANDIDATES - 3) {
			if (!keep_orphans(f, edge, others, count))
				return false;
			count = 0;
		}
	}
	return keep_orphans(f, edge, others, count);
}

static bool find_edges(finder *f)
{
	cr_sweep_scene *s = f->scene;
	find_opposite(s, f->opposite);
	for (int32_t e = 0; e < s->edge_count; e++) {
		const int64_t before = s->orphan_edges.count;
		const int32_t *ends = &s->edges[2 * (int64_t)e];
		if (f->alone && f->alone[ends[0]])
			continue;
		f->near.count = 0;
		if (!gather_edges(f, e, ends[0], false) || !gather_edges(f, e, ends[1], false) ||
			!gather_edges(f, e, f->opposite[s->edge_first[e]], true))
			return false;
		for (int64_t i = 0; i < f->near.count; i++) {
			if (!cr_array_reserve(f->context, &s->orphan_edges, s->orphan_edges.count + 1))
				return false;
			s->orphan_edges.data[s->orphan_edges.count++] = cr_make_edge_pair(s, e, f->near.data[i]);
		}
		if (s->orphan_edges.count > before + 1)
			qsort(&s->orphan_edges.data[before], (size_t)(s->orphan_edges.count - before), sizeof(cr_feature_pair),
				compare_pairs);
	}
	return true;
}

static void forget_seen(finder *f, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		f->seen[i] = -1;
}

bool cr_find_orphans(carom_context *context, cr_sweep_scene *scene, const uint8_t *alone)
{
	finder f = { .context = context, .scene = scene, .alone = alone };
	const int32_t most = scene->edge_count > scene->triangle_count ? scene->edge_count : scene->triangle_count;
	if (most == 0)
		return true;
	f.seen = cr_alloc_array(context, (size_t)most, sizeof *f.seen);
	f.opposite = cr_alloc_array(context, (size_t)scene->triangle_count, 3 * sizeof *f.opposite);
	bool done = f.seen && f.opposite;
	if (done) {
		forget_seen(&f, most);
		done = find_faces(&f);
	}
	if (done) {
		forget_seen(&f, most);
		done = find_edges(&f);
	}
	cr_free(context, f.seen, (size_t)most * sizeof *f.seen);
	cr_free(context, f.opposite, (size_t)scene->triangle_count * 3 * sizeof *f.opposite);
	cr_array_free(context, &f.near);
	return done;
}
