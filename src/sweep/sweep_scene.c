/// The scene as one mesh. See sweep/sweep_scene.h. Cost of the build: sorting the edges, and a few
/// passes over the triangles.
#include "sweep/sweep_scene.h"
#include "base/radix.h"
#include "sweep/orphans.h"

#include <string.h>

// ---- Edges ----

typedef struct half_edge {
	int32_t low, high;
} half_edge;

static half_edge edge_of_corner(const int32_t *triangle, int corner)
{
	const int32_t a = triangle[corner], b = triangle[corner == 2 ? 0 : corner + 1];
	return a < b ? (half_edge){ a, b } : (half_edge){ b, a };
}

/// All half edges by their lower vertex, in the order of the triangles; first [vertex_count+1]
/// tells where those of each begin.
static void bucket_half_edges(const cr_sweep_scene *s, int32_t *first, cr_key *keys)
{
	const int64_t count = 3 * (int64_t)s->triangle_count;
	memset(first, 0, ((size_t)s->vertex_count + 1) * sizeof *first);
	for (int64_t i = 0; i < count; i++)
		first[edge_of_corner(&s->triangles[i - i % 3], (int)(i % 3)).low + 1]++;
	for (int32_t v = 0; v < s->vertex_count; v++)
		first[v + 1] += first[v];
	for (int64_t i = 0; i < count; i++) {
		const half_edge e = edge_of_corner(&s->triangles[i - i % 3], (int)(i % 3));
		keys[first[e.low]++] = (cr_key){ (uint64_t)(uint32_t)e.high, (uint32_t)i };
	}
	// Every bucket ended where the next one began.
	memmove(first + 1, first, (size_t)s->vertex_count * sizeof *first);
	first[0] = 0;
}

static bool alloc_edges(carom_context *context, int32_t count, cr_sweep_scene *s)
{
	s->edge_room = count;
	s->edges = cr_alloc_array(context, (size_t)count, 2 * sizeof *s->edges);
	s->edge_first = cr_alloc_array(context, (size_t)count + 1, sizeof *s->edge_first);
	return s->edges && s->edge_first;
}

static void free_edges(carom_context *context, cr_sweep_scene *s)
{
	cr_free(context, s->edges, 2 * (size_t)s->edge_room * sizeof *s->edges);
	cr_free(context, s->edge_first, ((size_t)s->edge_room + 1) * sizeof *s->edge_first);
}

/// How many edges there are among half edges that are sorted.
static int32_t count_edges(const cr_key *keys, int32_t from, int32_t end)
{
	int32_t count = 0;
	for (int32_t i = from; i < end; i++)
		count += i == from || keys[i].key != keys[i - 1].key;
	return count;
}

/// Sort the half edges of each vertex by the other one. Returns how many edges there are.
static int32_t sort_half_edges(const cr_sweep_scene *s, const int32_t *first, cr_key *keys, cr_key *scratch)
{
	int32_t edges = 0;
	for (int32_t v = 0; v < s->vertex_count; v++) {
		cr_radix_sort(keys + first[v], scratch, first[v + 1] - first[v], 32);
		edges += count_edges(keys, first[v], first[v + 1]);
	}
	return edges;
}

/// Equal half edges, from..end-1 of those of a vertex by the other one, are one edge; their
/// triangles ascend because the sorts are stable.
static void number_edges(cr_sweep_scene *s, int32_t low, const cr_key *keys, int32_t from, int32_t end)
{
	for (int32_t i = from; i < end; i++) {
		if (i == from || keys[i].key != keys[i - 1].key) {
			const int32_t high = (int32_t)keys[i].key;
			const bool in_order = s->given_vertices[low] < s->given_vertices[high];
			s->edges[2 * (int64_t)s->edge_count] = in_order ? low : high;
			s->edges[2 * (int64_t)s->edge_count + 1] = in_order ? high : low;
			s->edge_first[s->edge_count++] = i;
		}
		s->triangle_edges[keys[i].value] = s->edge_count - 1;
		s->edge_triangles[i] = (int32_t)(keys[i].value / 3);
	}
}

static bool make_edges(carom_context *context, cr_sweep_scene *s)
{
	const int64_t count = 3 * (int64_t)s->triangle_count;
	cr_key *keys = cr_alloc_array(context, (size_t)count, sizeof *keys);
	cr_key *scratch = cr_alloc_array(context, (size_t)count, sizeof *scratch);
	bool done = keys && scratch;
	int32_t *first = s->vertex_first, edges = 0; // first gets its content afterwards
	if (done) {
		bucket_half_edges(s, first, keys);
		edges = sort_half_edges(s, first, keys, scratch);
	}
	cr_free(context, scratch, (size_t)count * sizeof *scratch);
	done = done && alloc_edges(context, edges, s);
	for (int32_t v = 0; v < s->vertex_count && done; v++)
		number_edges(s, v, keys, first[v], first[v + 1]);
	if (done)
		s->edge_first[edges] = (int32_t)count;
	cr_free(context, keys, (size_t)count * sizeof *keys);
	return done;
}

/// Counting sort of the corners by vertex.
static void make_vertex_triangles(cr_sweep_scene *s)
{
	const int64_t count = 3 * (int64_t)s->triangle_count;
	int32_t *first = s->vertex_first;
	memset(first, 0, ((size_t)s->vertex_count + 1) * sizeof *first);
	for (int64_t i = 0; i < count; i++)
		first[s->triangles[i] + 1]++;
	for (int32_t v = 0; v < s->vertex_count; v++)
		first[v + 1] += first[v];
	for (int64_t i = 0; i < count; i++)
		s->vertex_triangles[first[s->triangles[i]]++] = (int32_t)(i / 3);
	// Every count ended where the next one began.
	memmove(first + 1, first, (size_t)s->vertex_count * sizeof *first);
	first[0] = 0;
}

// ---- Who is first, who is near ----

static void mark_firsts(cr_sweep_scene *s)
{
	for (int32_t i = 0; i < s->triangle_count; i++) {
		uint32_t mask = 0;
		for (int k = 0; k < 3; k++) {
			const int32_t v = s->triangles[3 * (int64_t)i + k], e = s->triangle_edges[3 * (int64_t)i + k];
			mask |= (uint32_t)(s->vertex_triangles[s->vertex_first[v]] == i) << k;
			mask |= (uint32_t)(s->edge_triangles[s->edge_first[e]] == i) << (3 + k);
		}
		s->first_of[i] = (uint8_t)mask;
	}
}

static inline void join_near(cr_near_vertices *set, const cr_near_vertices *more)
{
	for (int word = 0; word < 2; word++)
		set->bits[word] |= more->bits[word];
	set->low = more->low < set->low ? more->low : set->low;
	set->high = more->high > set->high ? more->high : set->high;
}

static cr_near_vertices near_vertex(int32_t vertex)
{
	cr_near_vertices one = { { 0 }, vertex, vertex };
	const uint32_t bit = cr_vertex_bit(vertex);
	one.bits[bit >> 6] = (uint64_t)1 << (bit & 63);
	return one;
}

static bool mark_near(carom_context *context, cr_sweep_scene *s)
{
	// For each vertex those of its triangles; then for each triangle those of its corners.
	cr_near_vertices *ring = cr_alloc_array(context, (size_t)s->vertex_count, sizeof *ring);
	if (!ring)
		return false;
	for (int32_t v = 0; v < s->vertex_count; v++)
		ring[v] = near_vertex(v);
	for (int64_t i = 0; i < 3 * (int64_t)s->triangle_count; i++) {
		for (int k = 0; k < 3; k++) {
			const cr_near_vertices corner = near_vertex(s->triangles[i - i % 3 + k]);
			join_near(&ring[s->triangles[i]], &corner);
		}
	}
	for (int32_t i = 0; i < s->triangle_count; i++) {
		const int32_t *t = &s->triangles[3 * (int64_t)i];
		s->near[i] = ring[t[0]];
		join_near(&s->near[i], &ring[t[1]]);
		join_near(&s->near[i], &ring[t[2]]);
	}
	cr_free(context, ring, (size_t)s->vertex_count * sizeof *ring);
	return true;
}

static void mark_rings(cr_sweep_scene *s)
{
	memset(s->vertex_ring, 0, (size_t)s->vertex_count * sizeof *s->vertex_ring);
	for (int64_t i = 0; i < 3 * (int64_t)s->triangle_count; i += 3) {
		const int32_t *t = &s->triangles[i];
		const uint64_t bits = cr_ring_bit(t[0]) | cr_ring_bit(t[1]) | cr_ring_bit(t[2]);
		for (int k = 0; k < 3; k++)
			s->vertex_ring[t[k]] |= bits;
	}
}

// ---- Making ----

static size_t corner_bytes(const cr_sweep_scene *s) { return 3 * (size_t)s->triangle_count * sizeof(int32_t); }

bool cr_sweep_scene_build(carom_context *context, const int32_t *triangles, int32_t triangle_count,
	const int32_t *given_vertices, int32_t vertex_count, const uint8_t *alone, cr_sweep_scene *scene)
{
	*scene = (cr_sweep_scene){
		.vertex_count = vertex_count, .triangle_count = triangle_count, .triangles = triangles, .given_vertices = given_vertices
	};
	cr_sweep_scene *s = scene;
	s->triangle_edges = cr_alloc(context, corner_bytes(s));
	s->edge_triangles = cr_alloc(context, corner_bytes(s));
	s->vertex_triangles = cr_alloc(context, corner_bytes(s));
	s->vertex_first = cr_alloc(context, ((size_t)vertex_count + 1) * sizeof(int32_t));
	s->first_of = cr_alloc(context, (size_t)triangle_count);
	s->near = cr_alloc_array(context, (size_t)triangle_count, sizeof *s->near);
	s->vertex_ring = cr_alloc_array(context, (size_t)vertex_count, sizeof *s->vertex_ring);
	bool done = s->vertex_first && s->triangle_edges && s->edge_triangles && s->vertex_triangles && s->first_of && s->near &&
		s->vertex_ring && make_edges(context, s);
	if (done) {
		make_vertex_triangles(s);
		mark_firsts(s);
		mark_rings(s);
		done = mark_near(context, s) && cr_find_orphans(context, s, alone);
	}
	if (!done)
		cr_sweep_scene_free(context, scene);
	return done;
}

void cr_sweep_scene_free(carom_context *context, cr_sweep_scene *scene)
{
	const size_t corners = corner_bytes(scene);
	cr_free(context, scene->triangle_edges, corners);
	free_edges(context, scene);
	cr_free(context, scene->edge_triangles, corners);
	cr_free(context, scene->vertex_triangles, corners);
	cr_free(context, scene->vertex_first, ((size_t)scene->vertex_count + 1) * sizeof(int32_t));
	cr_free(context, scene->first_of, (size_t)scene->triangle_count);
	cr_free(context, scene->near, (size_t)scene->triangle_count * sizeof *scene->near);
	cr_free(context, scene->vertex_ring, (size_t)scene->vertex_count * sizeof *scene->vertex_ring);
	cr_array_free(context, &scene->orphan_faces);
	cr_array_free(context, &scene->orphan_edges);
	*scene = (cr_sweep_scene){ 0 };
}

// ---- Which pair of triangles answers for a pair of features ----

bool cr_answers_for_vertex(const cr_sweep_scene *s, int32_t vertex, int32_t a, int32_t b)
{
	for (int32_t i = s->vertex_first[vertex]; s->vertex_triangles[i] != a; i++) {
		if (!cr_are_adjacent(s, s->vertex_triangles[i], b))
			return false;
	}
	return true;
}

bool cr_answers_for_edges(const cr_sweep_scene *s, int32_t edge_a, int32_t edge_b, int32_t a, int32_t b)
{
	for (int32_t i = s->edge_first[edge_a]; i < s->edge_first[edge_a + 1]; i++) {
		const int32_t p = s->edge_triangles[i];
		for (int32_t j = s->edge_first[edge_b]; j < s->edge_first[edge_b + 1]; j++) {
			const int32_t q = s->edge_triangles[j];
			if (p == a && q == b)
				return true;
			if (!cr_are_adjacent(s, p, q))
				return false;
		}
	}
	return false;
}

static bool share_vertex(const cr_sweep_scene *s, int32_t e, int32_t f)
{
	const int32_t *p = &s->edges[2 * (int64_t)e], *q = &s->edges[2 * (int64_t)f];
	return p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1];
}

static uint32_t corners_against(const cr_sweep_scene *s, int32_t a, int32_t b)
{
	const int32_t *corners = &s->triangles[3 * (int64_t)a];
	uint32_t mask = 0;
	for (int k = 0; k < 3; k++)
		mask |= (uint32_t)cr_answers_for_vertex(s, corners[k], a, b) << k;
	return mask;
}

static uint32_t sides_against(const cr_sweep_scene *s, int32_t a, int32_t b)
{
	const int32_t *p = &s->triangle_edges[3 * (int64_t)a], *q = &s->triangle_edges[3 * (int64_t)b];
	uint32_t mask = 0;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++) {
			const bool answers =
				p[i] < q[k] ? cr_answers_for_edges(s, p[i], q[k], a, b) : cr_answers_for_edges(s, q[k], p[i], b, a);
			mask |= (uint32_t)answers << (3 * i + k);
		}
	}
	return mask;
}

/// Pairs of features of two triangles that share a vertex.
static uint32_t sharing_features(const cr_sweep_scene *s, int32_t a, int32_t b)
{
	const int32_t *t = &s->triangles[3 * (int64_t)a], *u = &s->triangles[3 * (int64_t)b];
	const int32_t *p = &s->triangle_edges[3 * (int64_t)a], *q = &s->triangle_edges[3 * (int64_t)b];
	uint32_t mask = 0;
	for (int i = 0; i < 3; i++) {
		mask |= (uint32_t)(t[i] == u[0] || t[i] == u[1] || t[i] == u[2]) << i;
		mask |= (uint32_t)(u[i] == t[0] || u[i] == t[1] || u[i] == t[2]) << (CR_FEATURES_OF_B + i);
		for (int k = 0; k < 3; k++)
			mask |= (uint32_t)share_vertex(s, p[i], q[k]) << (CR_FEATURES_EDGES + 3 * i + k);
	}
	return mask;
}

uint32_t cr_features_mask(const cr_sweep_scene *s, int32_t a, int32_t b, bool every)
{
	if (every)
		return cr_features_of_firsts(s, a, b) & ~sharing_features(s, a, b);
	if (!cr_may_be_near(s, a, b))
		return cr_features_of_firsts(s, a, b);
	return corners_against(s, a, b) | corners_against(s, b, a) << CR_FEATURES_OF_B | sides_against(s, a, b) << CR_FEATURES_EDGES;
}

int cr_features_of_pair(const cr_sweep_scene *s, int32_t a, int32_t b, cr_feature_pair faces[CR_MOST_VERTEX_FACE],
	cr_feature_pair edges[CR_MOST_EDGE_EDGE], int *edge_pairs)
{
	const uint32_t mask = cr_features_mask(s, a, b, false);
	const int32_t *t = &s->triangles[3 * (int64_t)a], *u = &s->triangles[3 * (int64_t)b];
	const int32_t *p = &s->triangle_edges[3 * (int64_t)a], *q = &s->triangle_edges[3 * (int64_t)b];
	int count = 0, found = 0;
	for (int k = 0; k < 3; k++) {
		if (mask >> k & 1)
			faces[count++] = (cr_feature_pair){ { t[k], u[0], u[1], u[2] }, t[k], b };
	}
	for (int k = 0; k < 3; k++) {
		if (mask >> (CR_FEATURES_OF_B + k) & 1)
			faces[count++] = (cr_feature_pair){ { u[k], t[0], t[1], t[2] }, u[k], a };
	}
	for (int i = 0; i < 9; i++) {
		if (mask >> (CR_FEATURES_EDGES + i) & 1)
			edges[found++] = cr_make_edge_pair(s, p[i / 3], q[i % 3]);
	}
	*edge_pairs = found;
	return count;
}
