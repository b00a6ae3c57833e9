/// Orphan sets. See sweep/orphans.h. Only triangles around the corners of a feature's first triangle can be adjacent to all of
/// the feature's triangles, so each feature looks at its neighbourhood alone: O(triangles * valence^2).
#include "sweep/orphans.h"

#include <stdlib.h>

typedef struct finder {
	carom_context *context;
	cr_sweep_scene *scene;
	CR_ARRAY(int32_t) near; // features that may be orphans with the present one, each once
	int32_t *seen;          // [triangles or edges] the last feature that put it among them
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
	return (a->b > b->b) - (a->b < b->b);
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
	for (int32_t i = s->vertex_first[vertex]; i < s->vertex_first[vertex + 1]; i++) {
		if (!cr_are_adjacent(s, s->vertex_triangles[i], face))
			return false;
	}
	return true;
}

/// The triangles that share a corner with triangle.
static bool gather_triangles(finder *f, int32_t triangle, int32_t present)
{
	const cr_sweep_scene *s = f->scene;
	f->near.count = 0;
	for (int k = 0; k < 3; k++) {
		const int32_t v = s->triangles[3 * (int64_t)triangle + k];
		for (int32_t i = s->vertex_first[v]; i < s->vertex_first[v + 1]; i++) {
			if (!add_near(f, s->vertex_triangles[i], present))
				return false;
		}
	}
	return true;
}

static bool find_faces(finder *f)
{
	cr_sweep_scene *s = f->scene;
	for (int32_t v = 0; v < s->vertex_count; v++) {
		if (s->vertex_first[v] == s->vertex_first[v + 1])
			continue;
		const int64_t before = s->orphan_faces.count;
		if (!gather_triangles(f, s->vertex_triangles[s->vertex_first[v]], v))
			return false;
		for (int64_t i = 0; i < f->near.count; i++) {
			const int32_t face = f->near.data[i];
			if (!is_orphan_face(s, v, face))
				continue;
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

static bool is_orphan_edge(const cr_sweep_scene *s, int32_t a, int32_t b)
{
	const int32_t *p = &s->edges[2 * (int64_t)a], *q = &s->edges[2 * (int64_t)b];
	if (p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1])
		return false;
	for (int32_t i = s->edge_first[a]; i < s->edge_first[a + 1]; i++) {
		for (int32_t j = s->edge_first[b]; j < s->edge_first[b + 1]; j++) {
			if (!cr_are_adjacent(s, s->edge_triangles[i], s->edge_triangles[j]))
				return false;
		}
	}
	return true;
}

/// The edges, above edge, of the triangles that share a corner with its first triangle.
static bool gather_edges(finder *f, int32_t edge)
{
	const cr_sweep_scene *s = f->scene;
	const int32_t triangle = s->edge_triangles[s->edge_first[edge]];
	f->near.count = 0;
	for (int k = 0; k < 3; k++) {
		const int32_t v = s->triangles[3 * (int64_t)triangle + k];
		for (int32_t i = s->vertex_first[v]; i < s->vertex_first[v + 1]; i++) {
			for (int side = 0; side < 3; side++) {
				const int32_t other = s->triangle_edges[3 * (int64_t)s->vertex_triangles[i] + side];
				if (other > edge && !add_near(f, other, edge))
					return false;
			}
		}
	}
	return true;
}

static bool find_edges(finder *f)
{
	cr_sweep_scene *s = f->scene;
	for (int32_t e = 0; e < s->edge_count; e++) {
		const int64_t before = s->orphan_edges.count;
		if (!gather_edges(f, e))
			return false;
		for (int64_t i = 0; i < f->near.count; i++) {
			const int32_t other = f->near.data[i];
			if (!is_orphan_edge(s, e, other))
				continue;
			if (!cr_array_reserve(f->context, &s->orphan_edges, s->orphan_edges.count + 1))
				return false;
			s->orphan_edges.data[s->orphan_edges.count++] = cr_make_edge_pair(s, e, other);
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

bool cr_find_orphans(carom_context *context, cr_sweep_scene *scene)
{
	finder f = { .context = context, .scene = scene };
	const int32_t most = scene->edge_count > scene->triangle_count ? scene->edge_count : scene->triangle_count;
	if (most == 0)
		return true;
	f.seen = cr_alloc_array(context, (size_t)most, sizeof *f.seen);
	bool done = f.seen != NULL;
	if (done) {
		forget_seen(&f, most);
		done = find_faces(&f);
	}
	if (done) {
		forget_seen(&f, most);
		done = find_edges(&f);
	}
	cr_free(context, f.seen, (size_t)most * sizeof *f.seen);
	cr_array_free(context, &f.near);
	return done;
}
