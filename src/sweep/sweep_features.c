/// From pairs of leaves to pairs of features whose boxes overlap. Compiled once for each instruction set (CR_ISA).
#include "sweep/sweep_kernels.h"
#include "sweep/sweep_overlap.h"

/// A triangle's mask of the features for which it is the first triangle: corners in the lowest bits, sides above.
enum { ALL_THREE = 7, SIDES_SHIFT = 3 };

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

// Near pairs: a triangle at a feature of one may share a vertex with the other.

typedef struct near_pair {
	cr_sweep_pair nodes;
	int32_t a, b;
	bool every; // no orphan sets: the first triangles answer, adjacent or not
} near_pair;

static inline bool has_corner(const int32_t *corners, int32_t vertex)
{
	return corners[0] == vertex || corners[1] == vertex || corners[2] == vertex;
}

/// Corners of triangle a against triangle b, whose node is given.
static inline void list_near_corners(
	bool dop, const cr_sweep_tree *tree, bool every, int32_t a, int32_t b, int32_t node, cr_sweep_queries *queries)
{
	const cr_sweep_scene *s = tree->scene;
	const int32_t *p = &s->triangles[3 * (int64_t)a], *q = &s->triangles[3 * (int64_t)b];
	uint32_t left = every ? s->first_of[a] & ALL_THREE : ALL_THREE;
	while (left) {
		const int32_t v = p[cr_take_lowest_bit(&left)];
		if (!cr_overlap(dop, &tree->vertex_boxes, v, &tree->node_boxes, node))
			continue;
		if (every ? !has_corner(q, v) : cr_answers_for_vertex(s, v, a, b))
			add_face(s, queries, v, b);
	}
}

static inline bool share_vertex(const cr_sweep_scene *s, int32_t e, int32_t f)
{
	const int32_t *p = &s->edges[2 * (int64_t)e], *q = &s->edges[2 * (int64_t)f];
	return p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1];
}

static inline bool answers_for_sides(const cr_sweep_scene *s, const near_pair *l, int32_t e, int32_t f)
{
	if (l->every)
		return !share_vertex(s, e, f);
	return e < f ? cr_answers_for_edges(s, e, f, l->a, l->b) : cr_answers_for_edges(s, f, e, l->b, l->a);
}

static inline void list_near_sides(bool dop, const cr_sweep_tree *tree, const near_pair *l, cr_sweep_queries *queries)
{
	const cr_sweep_scene *s = tree->scene;
	const int32_t *p = &s->triangle_edges[3 * (int64_t)l->a], *q = &s->triangle_edges[3 * (int64_t)l->b];
	const uint32_t of_b = l->every ? (uint32_t)s->first_of[l->b] >> SIDES_SHIFT : ALL_THREE;
	uint32_t left = l->every ? (uint32_t)s->first_of[l->a] >> SIDES_SHIFT : ALL_THREE;
	while (left) {
		const int32_t e = p[cr_take_lowest_bit(&left)];
		if (!cr_overlap(dop, &tree->edge_boxes, e, &tree->node_boxes, l->nodes.b))
			continue;
		uint32_t others = of_b;
		while (others) {
			const int32_t f = q[cr_take_lowest_bit(&others)];
			if (cr_overlap(dop, &tree->edge_boxes, e, &tree->edge_boxes, f) && answers_for_sides(s, l, e, f))
				add_edges(s, queries, e, f);
		}
	}
}

// All other pairs, most by far: the masks say whose features they are. No branch depends on data: each list is written at its end
// whether or not the entry stays.

enum { FAR_PAIRS = 64 }; // at a time: their features stay in the first-level cache

typedef struct far_features {
	int32_t face_count, edge_count;
	int32_t faces[FAR_PAIRS * CR_MOST_VERTEX_FACE + 1][2]; // vertex, node of the face
	int32_t edges[FAR_PAIRS * CR_MOST_EDGE_EDGE + 1][2];
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

static inline void list_with(
	bool dop, const cr_sweep_tree *tree, const cr_sweep_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries)
{
	far_features far;
	for (int32_t first = 0; first < count; first += FAR_PAIRS) {
		const int32_t end = count - first < FAR_PAIRS ? count : first + FAR_PAIRS;
		far.face_count = far.edge_count = 0;
		for (int32_t i = first; i < end; i++) {
			const int32_t a = ~tree->nodes[leaves[i].a].right, b = ~tree->nodes[leaves[i].b].right;
			if (!cr_may_be_near(tree->scene, a, b)) {
				gather_far(tree->scene, leaves[i], a, b, &far);
				continue;
			}
			const near_pair near = { leaves[i], a, b, every };
			list_near_corners(dop, tree, every, a, b, leaves[i].b, queries);
			list_near_corners(dop, tree, every, b, a, leaves[i].a, queries);
			list_near_sides(dop, tree, &near, queries);
		}
		list_far(dop, tree, &far, queries);
	}
}

extern void CR_ISA_NAME(cr_list_features)(const cr_sweep_tree *tree, const cr_sweep_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries);
void CR_ISA_NAME(cr_list_features)(
	const cr_sweep_tree *tree, const cr_sweep_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries)
{
	if (tree->volume == CAROM_SWEEP_DOP18)
		list_with(true, tree, leaves, count, every, queries);
	else
		list_with(false, tree, leaves, count, every, queries);
}

