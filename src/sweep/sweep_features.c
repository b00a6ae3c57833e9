/// From pairs of leaves to pairs of features whose boxes overlap. Compiled once for each instruction set (CR_ISA).
#include "sweep/sweep_kernels.h"
#include "sweep/sweep_overlap.h"

/// A triangle's mask of the features for which it is the first triangle: corners in the lowest bits, sides above.
enum { SIDES_SHIFT = 3 };

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

// Far pairs: the masks say whose features they are. No branch depends on data: each list is written at its end whether or not the entry
// stays.

enum { PAIRS = 64 }; // at a time: their features stay in the first-level cache

typedef struct far_features {
	int32_t face_count, edge_count;
	int32_t faces[PAIRS * CR_MOST_VERTEX_FACE + 1][2]; // vertex, node of the face
	int32_t edges[PAIRS * CR_MOST_EDGE_EDGE + 1][2];
} far_features;

static inline void gather_far(const cr_sweep_scene *s, cr_sweep_pair nodes, int32_t a, int32_t b, far_features *far)
{
	const int32_t *p = &s->triangles[3 * (int64_t)a], *q = &s->triangles[3 * (int64_t)b];
	const int of_a = s->first_of[a], of_b = s->first_of[b];
	int32_t count = far->face_count;
	for (int k = 0; k < 3; k++) {
		far->faces[count][0] = p[k];
		far->faces[count][1] = nodes.b;
		count += of_a >> k & 1;
	}
	for (int k = 0; k < 3; k++) {
		far->faces[count][0] = q[k];
		far->faces[count][1] = nodes.a;
		count += of_b >> k & 1;
	}
	far->face_count = count;
	p = &s->triangle_edges[3 * (int64_t)a];
	q = &s->triangle_edges[3 * (int64_t)b];
	count = far->edge_count;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++) {
			far->edges[count][0] = p[i];
			far->edges[count][1] = q[k];
			count += of_a >> (SIDES_SHIFT + i) & of_b >> (SIDES_SHIFT + k) & 1;
		}
	}
	far->edge_count = count;
}

static inline int32_t keep_overlapping(
	bool dop, const cr_sweep_boxes *first, const cr_sweep_boxes *second, int32_t (*pairs)[2], int32_t count)
{
	int32_t kept = 0;
	for (int32_t i = 0; i < count; i++) {
		const int32_t a = pairs[i][0], b = pairs[i][1];
		pairs[kept][0] = a;
		pairs[kept][1] = b;
		kept += cr_overlap(dop, first, a, second, b);
	}
	return kept;
}

static inline void list_far(bool dop, const cr_sweep_tree *tree, far_features *far, cr_sweep_queries *queries)
{
	const cr_sweep_scene *s = tree->scene;
	const int32_t faces = keep_overlapping(dop, &tree->vertex_boxes, &tree->node_boxes, far->faces, far->face_count);
	const int32_t edges = keep_overlapping(dop, &tree->edge_boxes, &tree->edge_boxes, far->edges, far->edge_count);
	for (int32_t i = 0; i < faces; i++)
		add_face(s, queries, far->faces[i][0], ~tree->nodes[far->faces[i][1]].right);
	for (int32_t i = 0; i < edges; i++)
		add_edges(s, queries, far->edges[i][0], far->edges[i][1]);
}

// Near pairs: a triangle at a feature of one may share a vertex with the other. Where none does for two features, the masks say whose they are as
// well; what may be otherwise is looked at when the boxes overlap.

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

/// Corners of triangle a with triangle b. rings: 0 where only the first triangle of a feature counts, all bits elsewhere.
static inline void gather_near_corners(
	const cr_sweep_scene *s, int32_t a, int32_t b, int32_t node, uint64_t rings, near_lists *near)
{
	const int32_t *p = &s->triangles[3 * (int64_t)a];
	const uint64_t own = own_bits(&s->triangles[3 * (int64_t)b]) & rings;
	int32_t count = near->face_count;
	for (int k = 0; k < 3; k++) {
		near->faces[count] = (near_features){ p[k], node, a, b };
		count += (s->first_of[a] >> k & 1) | may_touch(s->vertex_ring[p[k]], own);
	}
	near->face_count = count;
}

static inline void gather_near(
	const cr_sweep_scene *s, cr_sweep_pair nodes, int32_t a, int32_t b, uint64_t rings, near_lists *near)
{
	gather_near_corners(s, a, b, nodes.b, rings, near);
	gather_near_corners(s, b, a, nodes.a, rings, near);
	const int32_t *p = &s->triangle_edges[3 * (int64_t)a], *q = &s->triangle_edges[3 * (int64_t)b];
	const int of_a = s->first_of[a] >> SIDES_SHIFT, of_b = s->first_of[b] >> SIDES_SHIFT;
	int32_t count = near->edge_count;
	for (int i = 0; i < 3; i++) {
		const uint64_t ring = s->edge_ring[p[i]] & rings;
		for (int k = 0; k < 3; k++) {
			near->edges[count] = (near_features){ p[i], q[k], a, b };
			count += (of_a >> i & of_b >> k & 1) | may_touch(ring, s->edge_ring[q[k]]);
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

static inline bool answers_for_edges(const cr_sweep_scene *s, const near_features *n)
{
	return n->a < n->b ? cr_answers_for_edges(s, n->a, n->b, n->of, n->to) : cr_answers_for_edges(s, n->b, n->a, n->to, n->of);
}

static inline void list_near(bool dop, const cr_sweep_tree *tree, bool every, near_lists *near, cr_sweep_queries *queries)
{
	const cr_sweep_scene *s = tree->scene;
	const int32_t faces = keep_near(dop, &tree->vertex_boxes, &tree->node_boxes, near->faces, near->face_count);
	const int32_t edges = keep_near(dop, &tree->edge_boxes, &tree->edge_boxes, near->edges, near->edge_count);
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

typedef struct leaf_pair {
	cr_sweep_pair nodes;
	int32_t a, b; // triangles
} leaf_pair;

/// Near pairs apart from far ones; returns how many are near.
static inline int32_t part_near(
	const cr_sweep_tree *tree, const cr_sweep_pair *leaves, int32_t count, leaf_pair *near, leaf_pair *far)
{
	int32_t near_count = 0, far_count = 0;
	for (int32_t i = 0; i < count; i++) {
		const leaf_pair pair = { leaves[i], ~tree->nodes[leaves[i].a].right, ~tree->nodes[leaves[i].b].right };
		const bool is_near = cr_may_be_near(tree->scene, pair.a, pair.b);
		near[near_count] = far[far_count] = pair;
		near_count += is_near;
		far_count += !is_near;
	}
	return near_count;
}

static inline void list_with(
	bool dop, const cr_sweep_tree *tree, const cr_sweep_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries)
{
	far_features far;
	near_lists near;
	leaf_pair near_pairs[PAIRS], far_pairs[PAIRS];
	for (int32_t first = 0; first < count; first += PAIRS) {
		const int32_t here = count - first < PAIRS ? count - first : PAIRS;
		const int32_t near_count = part_near(tree, leaves + first, here, near_pairs, far_pairs);
		far.face_count = far.edge_count = near.face_count = near.edge_count = 0;
		for (int32_t i = 0; i < here - near_count; i++)
			gather_far(tree->scene, far_pairs[i].nodes, far_pairs[i].a, far_pairs[i].b, &far);
		for (int32_t i = 0; i < near_count; i++)
			gather_near(tree->scene, near_pairs[i].nodes, near_pairs[i].a, near_pairs[i].b, every ? 0 : ~(uint64_t)0, &near);
		list_far(dop, tree, &far, queries);
		list_near(dop, tree, every, &near, queries);
	}
}

extern void CR_ISA_NAME(cr_list_features)(
	const cr_sweep_tree *tree, const cr_sweep_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries);
void CR_ISA_NAME(cr_list_features)(
	const cr_sweep_tree *tree, const cr_sweep_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries)
{
	if (tree->volume == CAROM_SWEEP_DOP18)
		list_with(true, tree, leaves, count, every, queries);
	else
		list_with(false, tree, leaves, count, every, queries);
}
