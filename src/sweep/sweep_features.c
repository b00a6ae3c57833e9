/// From pairs of leaves to pairs of features whose boxes overlap. Compiled once for each
/// instruction set (CR_ISA).
#include "sweep/sweep_isa.h"
#include "sweep/sweep_overlap.h"

static inline void add_face(const cr_sweep_scene *s, cr_sweep_queries *q, int32_t vertex, int32_t triangle)
{
	const int32_t *corners = &s->triangles[3 * (int64_t)triangle];
	int32_t *query = q->faces[q->face_count];
	query[0] = vertex;
	query[1] = corners[0];
	query[2] = corners[1];
	query[3] = corners[2];
	q->face_triangle[q->face_count++] = triangle;
}

static inline void add_edges(const cr_sweep_scene *s, cr_sweep_queries *q, int32_t e, int32_t f)
{
	const bool in_order = cr_edge_is_first(s, e, f);
	const int64_t low = in_order ? e : f, high = in_order ? f : e;
	int32_t *query = q->edges[q->edge_count++];
	query[0] = s->edges[2 * low];
	query[1] = s->edges[2 * low + 1];
	query[2] = s->edges[2 * high];
	query[3] = s->edges[2 * high + 1];
}

static inline bool has_corner(const int32_t *corners, int32_t vertex)
{
	return corners[0] == vertex || corners[1] == vertex || corners[2] == vertex;
}

static inline bool share_vertex(const cr_sweep_scene *s, int32_t e, int32_t f)
{
	const int32_t *p = &s->edges[2 * (int64_t)e], *q = &s->edges[2 * (int64_t)f];
	return p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1];
}

// Known and far pairs of leaves carry a mask of the features that they answer for: each feature
// belongs to its first triangle. The loops below are free of branches: they write every entry, and
// advance the count where the entry stays.

enum { PAIRS = 64 }; // at a time: their features stay in the first-level cache

/// Two numbers in one word: the compiler would put them together in a vector register.
static inline uint64_t low_half(int32_t number) { return (uint32_t)number; }
static inline uint64_t high_half(int32_t number) { return (uint64_t)(uint32_t)number << 32; }
static inline int32_t get_low(uint64_t both) { return (int32_t)(uint32_t)both; }
static inline int32_t get_high(uint64_t both) { return (int32_t)(uint32_t)(both >> 32); }

typedef struct known_features {
	int32_t face_count, edge_count;
	uint64_t faces[PAIRS * CR_MOST_VERTEX_FACE + 1]; // low: vertex, high: node of the face
	uint64_t edges[PAIRS * CR_MOST_EDGE_EDGE + 1];
} known_features;

/// The triangles of two leaves, and the features that they answer for.
typedef struct known_pair {
	cr_sweep_pair nodes;
	int32_t a, b;
	uint32_t features;
} known_pair;

static inline void gather_known(const cr_sweep_scene *s, const known_pair *pair, known_features *known)
{
	const int32_t *p = &s->triangles[3 * (int64_t)pair->a], *q = &s->triangles[3 * (int64_t)pair->b];
	const uint32_t features = pair->features;
	const uint64_t face_a = high_half(pair->nodes.a), face_b = high_half(pair->nodes.b);
	int32_t count = known->face_count;
	for (int k = 0; k < 3; k++) {
		known->faces[count] = low_half(p[k]) | face_b;
		count += features >> k & 1;
	}
	for (int k = 0; k < 3; k++) {
		known->faces[count] = low_half(q[k]) | face_a;
		count += features >> (CR_FEATURES_OF_B + k) & 1;
	}
	known->face_count = count;
	p = &s->triangle_edges[3 * (int64_t)pair->a];
	q = &s->triangle_edges[3 * (int64_t)pair->b];
	const uint64_t seconds[3] = { high_half(q[0]), high_half(q[1]), high_half(q[2]) };
	count = known->edge_count;
	for (int i = 0; i < 3; i++) {
		const uint64_t first = low_half(p[i]);
		for (int k = 0; k < 3; k++) {
			known->edges[count] = first | seconds[k];
			count += features >> (CR_FEATURES_EDGES + 3 * i + k) & 1;
		}
	}
	known->edge_count = count;
}

static inline int32_t keep_overlapping(
	bool dop, const cr_sweep_boxes *first, const cr_sweep_boxes *second, uint64_t *pairs, int32_t count)
{
	const cr_sweep_boxes of_low = *first, of_high = *second;
	int32_t kept = 0;
	for (int32_t i = 0; i < count; i++) {
		const uint64_t pair = pairs[i];
		pairs[kept] = pair;
		kept += cr_overlap(dop, &of_low, get_low(pair), &of_high, get_high(pair));
	}
	return kept;
}

static inline int32_t keep_overlapping_edges(bool dop, const cr_sweep_tree *tree, uint64_t *pairs, int32_t count)
{
	const cr_sweep_boxes boxes = tree->vertex_boxes;
	const int32_t *edges = tree->scene->edges;
	int32_t kept = 0;
	for (int32_t i = 0; i < count; i++) {
		const uint64_t pair = pairs[i];
		pairs[kept] = pair;
		kept += cr_overlap_edges(dop, &boxes, &edges[2 * (int64_t)get_low(pair)], &edges[2 * (int64_t)get_high(pair)]);
	}
	return kept;
}

static inline void list_known(bool dop, const cr_sweep_tree *tree, known_features *known, cr_sweep_queries *queries)
{
	const cr_sweep_scene *s = tree->scene;
	const int32_t faces = keep_overlapping(dop, &tree->vertex_boxes, &tree->node_boxes, known->faces, known->face_count);
	const int32_t edges = keep_overlapping_edges(dop, tree, known->edges, known->edge_count);
	for (int32_t i = 0; i < faces; i++)
		add_face(s, queries, get_low(known->faces[i]), ~tree->nodes[get_high(known->faces[i])].right);
	for (int32_t i = 0; i < edges; i++)
		add_edges(s, queries, get_low(known->edges[i]), get_high(known->edges[i]));
}

// Near pairs: a triangle at a feature of one may share a vertex with the other. Where none does for
// two features, the masks say whose they are as well; other cases are looked at when the boxes
// overlap.

typedef struct near_features {
	int32_t a, b;   // vertex and node of the face, or two edges
	int32_t of, to; // the triangles
} near_features;

typedef struct near_lists {
	int32_t face_count, edge_count;
	near_features faces[PAIRS * CR_MOST_VERTEX_FACE + 1];
	near_features edges[PAIRS * CR_MOST_EDGE_EDGE + 1];
} near_lists;

static inline uint64_t own_bits(const int32_t *corners)
{
	return cr_ring_bit(corners[0]) | cr_ring_bit(corners[1]) | cr_ring_bit(corners[2]);
}

static inline bool may_touch(uint64_t first, uint64_t second) { return (first & second) != 0; }

/// Corners of triangle a with triangle b. firsts: a bit for each corner whose first triangle a is.
/// rings: 0 where only the first triangle of a feature counts, all bits elsewhere.
static inline void gather_near_corners(
	const cr_sweep_scene *s, int32_t a, int32_t b, int32_t node, uint32_t firsts, uint64_t rings, near_lists *near)
{
	const int32_t *p = &s->triangles[3 * (int64_t)a];
	const uint64_t own = own_bits(&s->triangles[3 * (int64_t)b]) & rings;
	int32_t count = near->face_count;
	for (int k = 0; k < 3; k++) {
		near->faces[count] = (near_features){ p[k], node, a, b };
		count += (firsts >> k & 1) | may_touch(s->vertex_ring[p[k]], own);
	}
	near->face_count = count;
}

static inline void gather_near(const cr_sweep_scene *s, const known_pair *pair, uint64_t rings, near_lists *near)
{
	const int32_t a = pair->a, b = pair->b;
	const uint32_t firsts = pair->features;
	gather_near_corners(s, a, b, pair->nodes.b, firsts, rings, near);
	gather_near_corners(s, b, a, pair->nodes.a, firsts >> CR_FEATURES_OF_B, rings, near);
	const int32_t *p = &s->triangle_edges[3 * (int64_t)a], *q = &s->triangle_edges[3 * (int64_t)b];
	const uint64_t seconds[3] = { cr_edge_ring(s, q[0]), cr_edge_ring(s, q[1]), cr_edge_ring(s, q[2]) };
	int32_t count = near->edge_count;
	for (int i = 0; i < 3; i++) {
		const uint64_t ring = cr_edge_ring(s, p[i]) & rings;
		for (int k = 0; k < 3; k++) {
			near->edges[count] = (near_features){ p[i], q[k], a, b };
			count += (firsts >> (CR_FEATURES_EDGES + 3 * i + k) & 1) | may_touch(ring, seconds[k]);
		}
	}
	near->edge_count = count;
}

static inline int32_t keep_near(
	bool dop, const cr_sweep_boxes *first, const cr_sweep_boxes *second, near_features *pairs, int32_t count)
{
	int32_t kept = 0;
	for (int32_t i = 0; i < count; i++) {
		const near_features pair = pairs[i];
		pairs[kept] = pair;
		kept += cr_overlap(dop, first, pair.a, second, pair.b);
	}
	return kept;
}

static inline int32_t keep_near_edges(bool dop, const cr_sweep_tree *tree, near_features *pairs, int32_t count)
{
	const int32_t *edges = tree->scene->edges;
	int32_t kept = 0;
	for (int32_t i = 0; i < count; i++) {
		const near_features pair = pairs[i];
		pairs[kept] = pair;
		kept += cr_overlap_edges(dop, &tree->vertex_boxes, &edges[2 * (int64_t)pair.a], &edges[2 * (int64_t)pair.b]);
	}
	return kept;
}

static inline bool answers_for_edges(const cr_sweep_scene *s, const near_features *n)
{
	return n->a < n->b ? cr_answers_for_edges(s, n->a, n->b, n->of, n->to) : cr_answers_for_edges(s, n->b, n->a, n->to, n->of);
}

static inline void list_near(bool dop, const cr_sweep_tree *tree, bool every, near_lists *near, cr_sweep_queries *queries)
{
	const cr_sweep_scene *s = tree->scene;
	const int32_t faces = keep_near(dop, &tree->vertex_boxes, &tree->node_boxes, near->faces, near->face_count);
	const int32_t edges = keep_near_edges(dop, tree, near->edges, near->edge_count);
	for (int32_t i = 0; i < faces; i++) {
		const near_features *n = &near->faces[i];
		if (every ? !has_corner(&s->triangles[3 * (int64_t)n->to], n->a) : cr_answers_for_vertex(s, n->a, n->of, n->to))
			add_face(s, queries, n->a, n->to);
	}
	for (int32_t i = 0; i < edges; i++) {
		const near_features *n = &near->edges[i];
		if (every ? !share_vertex(s, n->a, n->b) : answers_for_edges(s, n))
			add_edges(s, queries, n->a, n->b);
	}
}

/// Room in which list_features works.
typedef struct feature_room {
	known_features known;
	near_lists near;
	known_pair near_pairs[PAIRS], known_pairs[PAIRS];
} feature_room;
_Static_assert(sizeof(feature_room) <= CR_SWEEP_FEATURE_ROOM, "workers make room for it");

/// Near pairs apart from those whose features are known, or told by masks; returns how many are
/// near.
static inline int32_t part_near(
	const cr_sweep_tree *tree, const cr_leaf_pair *leaves, int32_t count, known_pair *near, known_pair *known)
{
	const cr_sweep_scene *s = tree->scene;
	int32_t near_count = 0, known_count = 0;
	for (int32_t i = 0; i < count; i++) {
		const cr_sweep_pair nodes = leaves[i].nodes;
		known_pair pair = { nodes, ~tree->nodes[nodes.a].right, ~tree->nodes[nodes.b].right, leaves[i].features };
		// Foreseen rightly most often: a front knows most of its pairs, a traversal none.
		if (pair.features != CR_FEATURES_UNKNOWN) {
			known[known_count++] = pair;
			continue;
		}
		const bool is_near = cr_may_be_near(s, pair.a, pair.b);
		pair.features = cr_features_of_firsts(s, pair.a, pair.b);
		near[near_count] = known[known_count] = pair;
		near_count += is_near;
		known_count += !is_near;
	}
	return near_count;
}

static inline void list_with(
	bool dop, const cr_sweep_tree *tree, const cr_leaf_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries)
{
	feature_room *room = queries->room;
	known_features *known = &room->known;
	near_lists *near = &room->near;
	for (int32_t first = 0; first < count; first += PAIRS) {
		const int32_t here = count - first < PAIRS ? count - first : PAIRS;
		const int32_t near_count = part_near(tree, leaves + first, here, room->near_pairs, room->known_pairs);
		known->face_count = known->edge_count = near->face_count = near->edge_count = 0;
		for (int32_t i = 0; i < here - near_count; i++)
			gather_known(tree->scene, &room->known_pairs[i], known);
		for (int32_t i = 0; i < near_count; i++)
			gather_near(tree->scene, &room->near_pairs[i], every ? 0 : ~(uint64_t)0, near);
		list_known(dop, tree, known, queries);
		list_near(dop, tree, every, near, queries);
	}
}

void CR_ISA_NAME(cr_list_features)(
	const cr_sweep_tree *tree, const cr_leaf_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries)
{
	if (tree->volume == CAROM_SWEEP_DOP18)
		list_with(true, tree, leaves, count, every, queries);
	else
		list_with(false, tree, leaves, count, every, queries);
}
