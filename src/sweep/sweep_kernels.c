/// Boxes, traversal and features of a swept scene. Compiled once for each instruction set (CR_ISA).
///
/// A box of the 18-DOP is two rows of eight floats, so one comparison of rows each way tells eight of nine axes; the record is a cache
/// line, and most pairs that are apart need no more than the two records.
#include "sweep/sweep_kernels.h"
#include "math/simd.h"
#include "sweep/sweep_descent.h"

#include <math.h>

enum { PREFETCH = 8 }; // nodes of the front ahead

// ---- Boxes ----

/// Below, or above, a number by more than its rounding to float.
static inline float round_below(double x) { return (float)(x - (fabs(x) * 0x1p-23 + 0x1p-140)); }
static inline float round_above(double x) { return (float)(x + (fabs(x) * 0x1p-23 + 0x1p-140)); }

static inline void project(const double p[3], double along[CR_DOP_AXES])
{
	along[0] = p[0];
	along[1] = p[1];
	along[2] = p[2];
	along[3] = p[0] + p[1];
	along[4] = p[0] - p[1];
	along[5] = p[0] + p[2];
	along[6] = p[0] - p[2];
	along[7] = p[1] + p[2];
	along[8] = p[1] - p[2];
}

static inline void bound_vertex_dop(const cr_sweep_motion *m, int64_t vertex, float main[CR_DOP_STRIDE], float last[2])
{
	double from[CR_DOP_AXES], to[CR_DOP_AXES];
	float low[CR_DOP_AXES], high[CR_DOP_AXES];
	project(m->begin + 3 * vertex, from);
	project(m->end + 3 * vertex, to);
	for (int k = 0; k < CR_DOP_AXES; k++) {
		const double margin = k < 3 ? m->straight : m->diagonal;
		low[k] = round_below((from[k] < to[k] ? from[k] : to[k]) - margin);
		high[k] = round_above((from[k] > to[k] ? from[k] : to[k]) + margin);
	}
	f8_store(main, f8_load(low));
	f8_store(main + 8, f8_load(high));
	last[0] = low[8];
	last[1] = high[8];
}

static inline void bound_vertex_aabb(const cr_sweep_motion *m, int64_t vertex, float main[CR_AABB_STRIDE])
{
	for (int k = 0; k < 3; k++) {
		const double from = m->begin[3 * vertex + k], to = m->end[3 * vertex + k];
		main[k] = round_below((from < to ? from : to) - m->straight);
		main[4 + k] = round_above((from > to ? from : to) + m->straight);
	}
	main[3] = main[7] = 0;
}

static void bound_vertices(cr_sweep_tree *tree, const cr_sweep_motion *motion, int64_t begin, int64_t end)
{
	const cr_sweep_boxes *boxes = &tree->vertex_boxes;
	for (int64_t i = begin; i < end; i++) {
		if (tree->volume == CAROM_SWEEP_DOP18)
			bound_vertex_dop(motion, i, boxes->main + CR_DOP_STRIDE * i, boxes->last + 2 * i);
		else
			bound_vertex_aabb(motion, i, boxes->main + CR_AABB_STRIDE * i);
	}
}

/// The box of two boxes, which may be one of them.
static inline void join_dop(const cr_sweep_boxes *to, int64_t i, const cr_sweep_boxes *from, int64_t a, int64_t b)
{
	const float *p = from->main + CR_DOP_STRIDE * a, *q = from->main + CR_DOP_STRIDE * b;
	float *r = to->main + CR_DOP_STRIDE * i;
	const f8 low = f8_min(f8_load(p), f8_load(q)), high = f8_max(f8_load(p + 8), f8_load(q + 8));
	f8_store(r, low);
	f8_store(r + 8, high);
	const float *s = from->last + 2 * a, *t = from->last + 2 * b;
	const float last_low = s[0] < t[0] ? s[0] : t[0], last_high = s[1] > t[1] ? s[1] : t[1];
	to->last[2 * i] = last_low;
	to->last[2 * i + 1] = last_high;
}

static inline void join_aabb(const cr_sweep_boxes *to, int64_t i, const cr_sweep_boxes *from, int64_t a, int64_t b)
{
	const float *p = from->main + CR_AABB_STRIDE * a, *q = from->main + CR_AABB_STRIDE * b;
	float r[CR_AABB_STRIDE];
	for (int k = 0; k < 4; k++) {
		r[k] = p[k] < q[k] ? p[k] : q[k];
		r[4 + k] = p[4 + k] > q[4 + k] ? p[4 + k] : q[4 + k];
	}
	f8_store(to->main + CR_AABB_STRIDE * i, f8_load(r));
}

static inline void join(bool dop, const cr_sweep_boxes *to, int64_t i, const cr_sweep_boxes *from, int64_t a, int64_t b)
{
	if (dop)
		join_dop(to, i, from, a, b);
	else
		join_aabb(to, i, from, a, b);
}

static void bound_edges(cr_sweep_tree *tree, int64_t begin, int64_t end)
{
	const bool dop = tree->volume == CAROM_SWEEP_DOP18;
	for (int64_t i = begin; i < end; i++)
		join(dop, &tree->edge_boxes, i, &tree->vertex_boxes, tree->scene->edges[2 * i], tree->scene->edges[2 * i + 1]);
}

static void bound_nodes(cr_sweep_tree *tree, int32_t begin, int32_t end)
{
	const bool dop = tree->volume == CAROM_SWEEP_DOP18;
	for (int32_t i = end - 1; i >= begin; i--) {
		const cr_sweep_node *node = &tree->nodes[i];
		if (!cr_is_leaf(node)) {
			join(dop, &tree->node_boxes, i, &tree->node_boxes, i + 1, node->right);
			continue;
		}
		// Two sides hold all three corners.
		const int32_t *e = &tree->scene->triangle_edges[3 * (int64_t)~node->right];
		join(dop, &tree->node_boxes, i, &tree->edge_boxes, e[0], e[1]);
	}
}

static inline bool overlap_dop(const cr_sweep_boxes *first, int64_t a, const cr_sweep_boxes *second, int64_t b)
{
	const float *p = first->main + CR_DOP_STRIDE * a, *q = second->main + CR_DOP_STRIDE * b;
	const m8 meet = m8_and(f8_le(f8_load(p), f8_load(q + 8)), f8_le(f8_load(q), f8_load(p + 8)));
	if (m8_bits(meet) != 0xff)
		return false;
	const float *s = first->last + 2 * a, *t = second->last + 2 * b;
	return (s[0] <= t[1]) & (t[0] <= s[1]);
}

static inline bool overlap_aabb(const cr_sweep_boxes *first, int64_t a, const cr_sweep_boxes *second, int64_t b)
{
	const float *p = first->main + CR_AABB_STRIDE * a, *q = second->main + CR_AABB_STRIDE * b;
	// Without branches: which axis tells two boxes apart cannot be foreseen.
	return (p[0] <= q[4]) & (q[0] <= p[4]) & (p[1] <= q[5]) & (q[1] <= p[5]) & (p[2] <= q[6]) & (q[2] <= p[6]);
}

static inline bool overlap_boxes(bool dop, const cr_sweep_boxes *first, int64_t a, const cr_sweep_boxes *second, int64_t b)
{
	return dop ? overlap_dop(first, a, second, b) : overlap_aabb(first, a, second, b);
}

static bool overlap(const cr_sweep_tree *tree, int32_t a, int32_t b)
{
	return overlap_boxes(tree->volume == CAROM_SWEEP_DOP18, &tree->node_boxes, a, &tree->node_boxes, b);
}

// ---- Traversal ----

static inline void add_stop(cr_sweep_walk *walk, cr_sweep_pair pair)
{
	walk->stop_total++;
	if (!walk->keep_stops)
		return;
	walk->stops[walk->stop_count++] = pair;
	if (walk->stop_count == CR_SWEEP_STOPS) {
		walk->stops_full(walk);
		walk->stop_count = 0;
	}
}

static inline void add_leaves(cr_sweep_walk *walk, cr_sweep_pair pair)
{
	walk->leaves[walk->leaf_count++] = pair;
	if (walk->leaf_count == CR_SWEEP_LEAVES) {
		walk->leaves_full(walk);
		walk->leaf_count = 0;
	}
}

/// A pair of leaves whose boxes overlap. Adjacent ones never part: no front needs them.
static inline void meet_leaves(cr_sweep_walk *walk, cr_sweep_pair p)
{
	const cr_sweep_node *nodes = walk->tree->nodes;
	if (cr_are_adjacent(walk->tree->scene, ~nodes[p.a].right, ~nodes[p.b].right)) {
		walk->adjacent++;
		if (!walk->keep_adjacent)
			return;
	}
	add_leaves(walk, p);
	add_stop(walk, p);
}

/// Everything below the children of a node of the BVTT; its own boxes are known to overlap.
static inline void walk_below(bool dop, cr_sweep_walk *walk, cr_sweep_pair from)
{
	const cr_sweep_tree *tree = walk->tree;
	const cr_sweep_boxes *boxes = &tree->node_boxes;
	cr_sweep_pair stack[CR_SWEEP_STACK], children[3];
	int64_t tests = 0;
	int top = 0;
	for (cr_sweep_pair p = from;;) {
		const int count = cr_descend(tree, p, children);
		if (count == 0 && p.a != p.b)
			meet_leaves(walk, p);
		for (int i = count - 1; i >= 0; i--)
			stack[top++] = children[i];
		// On to the next one whose boxes overlap.
		for (;;) {
			if (top == 0) {
				walk->tests += tests;
				return;
			}
			p = stack[--top];
			if (tree->grouped && cr_is_excluded(&tree->nodes[p.a], &tree->nodes[p.b]))
				continue;
			if (p.a == p.b)
				break;
			tests++;
			if (overlap_boxes(dop, boxes, p.a, boxes, p.b))
				break;
			add_stop(walk, p);
		}
	}
}

static inline void walk_from(bool dop, cr_sweep_walk *walk, cr_sweep_pair from)
{
	const cr_sweep_tree *tree = walk->tree;
	if (cr_is_excluded(&tree->nodes[from.a], &tree->nodes[from.b]))
		return;
	if (from.a != from.b) {
		walk->tests++;
		if (!overlap_boxes(dop, &tree->node_boxes, from.a, &tree->node_boxes, from.b)) {
			add_stop(walk, from);
			return;
		}
	}
	walk_below(dop, walk, from);
}

static void walk(cr_sweep_walk *w, cr_sweep_pair from)
{
	if (w->tree->volume == CAROM_SWEEP_DOP18)
		walk_from(true, w, from);
	else
		walk_from(false, w, from);
}

/// The last two of the list are apart: as long as they are siblings whose parent's boxes are apart as well, the parent takes their place.
/// Returns how many at the end of the list are known to be apart, 2 at most.
static inline int prune_stops(bool dop, cr_sweep_walk *walk)
{
	const cr_sweep_boxes *boxes = &walk->tree->node_boxes;
	cr_sweep_pair parent;
	while (walk->stop_count >= 2) {
		cr_sweep_pair *last = &walk->stops[walk->stop_count - 1];
		if (!cr_are_siblings(walk->tree, last[-1], last[0], &parent))
			return 2;
		walk->tests++;
		// The box before them may overlap; then so does that of any pair's parent that holds it.
		if (overlap_boxes(dop, boxes, parent.a, boxes, parent.b))
			return 2;
		last[-1] = parent;
		walk->stop_count--;
		walk->stop_total--;
		walk->pruned++;
	}
	return walk->stop_count;
}

static inline void follow_with(bool dop, cr_sweep_walk *walk, const cr_sweep_pair *front, int32_t count)
{
	const cr_sweep_tree *tree = walk->tree;
	const cr_sweep_boxes *boxes = &tree->node_boxes;
	const int stride = dop ? CR_DOP_STRIDE : CR_AABB_STRIDE;
	int apart = 0; // at the end of the list, 2 at most
	for (int32_t i = 0; i < count; i++) {
		const cr_sweep_pair p = front[i];
		if (i + PREFETCH < count) {
			__builtin_prefetch(boxes->main + (int64_t)stride * front[i + PREFETCH].a);
			__builtin_prefetch(boxes->main + (int64_t)stride * front[i + PREFETCH].b);
		}
		walk->tests++;
		if (!overlap_boxes(dop, boxes, p.a, boxes, p.b)) {
			walk->kept++;
			add_stop(walk, p);
			apart = walk->stop_count == 0 ? 0 : apart + 1;
			if (walk->prune && walk->keep_stops && apart >= 2)
				apart = prune_stops(dop, walk);
			continue;
		}
		apart = 0;
		if (tree->nodes[p.a].size == 1 && tree->nodes[p.b].size == 1) {
			walk->kept++;
			add_leaves(walk, p);
			add_stop(walk, p);
			continue;
		}
		const int64_t before = walk->stop_total;
		walk_below(dop, walk, p);
		walk->replaced++;
		walk->sprouted += walk->stop_total - before;
	}
}

static void follow(cr_sweep_walk *w, const cr_sweep_pair *front, int32_t count)
{
	if (w->tree->volume == CAROM_SWEEP_DOP18)
		follow_with(true, w, front, count);
	else
		follow_with(false, w, front, count);
}

// ---- Features ----

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
		if (!overlap_boxes(dop, &tree->vertex_boxes, v, &tree->node_boxes, node))
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
		if (!overlap_boxes(dop, &tree->edge_boxes, e, &tree->node_boxes, l->nodes.b))
			continue;
		uint32_t others = of_b;
		while (others) {
			const int32_t f = q[cr_take_lowest_bit(&others)];
			if (overlap_boxes(dop, &tree->edge_boxes, e, &tree->edge_boxes, f) && answers_for_sides(s, l, e, f))
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
		kept += overlap_boxes(dop, first, a, second, b);
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

static void list_features(
	const cr_sweep_tree *tree, const cr_sweep_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries)
{
	if (tree->volume == CAROM_SWEEP_DOP18)
		list_with(true, tree, leaves, count, every, queries);
	else
		list_with(false, tree, leaves, count, every, queries);
}

extern const cr_sweep_kernels CR_ISA_NAME(cr_sweep_kernels);
const cr_sweep_kernels CR_ISA_NAME(cr_sweep_kernels) = {
	.bound_vertices = bound_vertices,
	.bound_edges = bound_edges,
	.bound_nodes = bound_nodes,
	.overlap = overlap,
	.walk = walk,
	.follow = follow,
	.list_features = list_features,
};
