/// Boxes and traversal of a swept scene. Compiled once for each instruction set (CR_ISA).
///
/// A box of the 18-DOP is two rows of eight floats, so one comparison of rows each way tells eight
/// of nine axes; the record is a cache line, and most pairs that are apart need no more than the
/// two records.
#include "sweep/sweep_isa.h"
#include "sweep/sweep_descent.h"
#include "sweep/sweep_overlap.h"

#include <math.h>
#include <string.h>

enum {
	BATCH = 64,     // pairs opened, or nodes of the front looked at, before their results are
	SAMPLE = 16,    // of so many batches of a front one is a sample
	MOST_FRESH = 3, // children of a pair
	// Pairs waiting; beyond it they are opened one at a time, in depth-first order, which needs
	// CR_SWEEP_DEPTH_FIRST at most.
	BATCH_ROOM = CR_SWEEP_STACK - CR_SWEEP_DEPTH_FIRST - (MOST_FRESH - 1) * BATCH,
};

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

static inline void place_until(const cr_sweep_motion *m, int64_t vertex, double place[3])
{
	for (int k = 0; k < 3; k++) {
		const double from = m->begin[3 * vertex + k], to = m->end[3 * vertex + k];
		place[k] = m->until < 1 ? from + m->until * (to - from) : to;
	}
}

/// The margin of the box of a vertex beyond its places, along x, y, z and along the other axes.
static inline double straight_margin(const cr_sweep_motion *m, int64_t vertex)
{
	const double margin = m->sizes ? m->base + m->share * m->sizes[vertex] : m->straight;
	return m->halves ? margin + m->halves[vertex] * (1 + 0x1p-20) : margin;
}

static inline double diagonal_margin(const cr_sweep_motion *m, int64_t vertex, double straight)
{
	if (m->sizes)
		return CR_SWEEP_DIAGONAL * straight + CR_SWEEP_DIAGONAL_ROUNDING * m->sizes[vertex];
	return m->halves ? m->diagonal + CR_SWEEP_DIAGONAL * m->halves[vertex] * (1 + 0x1p-20) : m->diagonal;
}

static inline void bound_vertex_dop(const cr_sweep_motion *m, int64_t vertex, float main[CR_DOP_STRIDE], float last[2])
{
	double from[CR_DOP_AXES], to[CR_DOP_AXES];
	float low[CR_DOP_AXES], high[CR_DOP_AXES];
	double last_place[3];
	place_until(m, vertex, last_place);
	project(m->begin + 3 * vertex, from);
	project(last_place, to);
	const double straight = straight_margin(m, vertex), diagonal = diagonal_margin(m, vertex, straight);
	for (int k = 0; k < CR_DOP_AXES; k++) {
		const double margin = k < 3 ? straight : diagonal;
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
	double last_place[3];
	place_until(m, vertex, last_place);
	const double margin = straight_margin(m, vertex);
	for (int k = 0; k < 3; k++) {
		const double from = m->begin[3 * vertex + k], to = last_place[k];
		main[k] = round_below((from < to ? from : to) - margin);
		main[4 + k] = round_above((from > to ? from : to) + margin);
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

/// The box of a node: that of its children, the first of which follows it.
static inline void join_dop(const cr_sweep_boxes *boxes, int64_t i, int64_t right)
{
	float *r = boxes->main + CR_DOP_STRIDE * i;
	const float *p = r + CR_DOP_STRIDE, *q = boxes->main + CR_DOP_STRIDE * right;
	const f8 low = f8_min(f8_load(p), f8_load(q)), high = f8_max(f8_load(p + 8), f8_load(q + 8));
	f8_store(r, low);
	f8_store(r + 8, high);
	const float *s = boxes->last + 2 * (i + 1), *t = boxes->last + 2 * right;
	const float last_low = s[0] < t[0] ? s[0] : t[0], last_high = s[1] > t[1] ? s[1] : t[1];
	boxes->last[2 * i] = last_low;
	boxes->last[2 * i + 1] = last_high;
}

static inline void join_aabb(const cr_sweep_boxes *boxes, int64_t i, int64_t right)
{
	const float *p = boxes->main + CR_AABB_STRIDE * (i + 1), *q = boxes->main + CR_AABB_STRIDE * right;
	float r[CR_AABB_STRIDE];
	for (int k = 0; k < 4; k++) {
		r[k] = p[k] < q[k] ? p[k] : q[k];
		r[4 + k] = p[4 + k] > q[4 + k] ? p[4 + k] : q[4 + k];
	}
	f8_store(boxes->main + CR_AABB_STRIDE * i, f8_load(r));
}

static inline void join(bool dop, const cr_sweep_boxes *boxes, int64_t i, int64_t right)
{
	if (dop)
		join_dop(boxes, i, right);
	else
		join_aabb(boxes, i, right);
}

/// The box of the three corners of a triangle.
static inline void bound_leaf(bool dop, cr_sweep_tree *tree, int32_t node, int32_t triangle)
{
	const int32_t *t = &tree->scene->triangles[3 * (int64_t)triangle];
	const cr_sweep_boxes *boxes = &tree->vertex_boxes;
	if (!dop) {
		float r[CR_AABB_STRIDE];
		const float *p = boxes->main + CR_AABB_STRIDE * (int64_t)t[0], *q = boxes->main + CR_AABB_STRIDE * (int64_t)t[1];
		const float *s = boxes->main + CR_AABB_STRIDE * (int64_t)t[2];
		for (int k = 0; k < 4; k++) {
			const float low = p[k] < q[k] ? p[k] : q[k], high = p[4 + k] > q[4 + k] ? p[4 + k] : q[4 + k];
			r[k] = s[k] < low ? s[k] : low;
			r[4 + k] = s[4 + k] > high ? s[4 + k] : high;
		}
		f8_store(tree->node_boxes.main + CR_AABB_STRIDE * (int64_t)node, f8_load(r));
		return;
	}
	const float *p = boxes->main + CR_DOP_STRIDE * (int64_t)t[0], *q = boxes->main + CR_DOP_STRIDE * (int64_t)t[1];
	const float *r = boxes->main + CR_DOP_STRIDE * (int64_t)t[2];
	float *to = tree->node_boxes.main + CR_DOP_STRIDE * (int64_t)node;
	f8_store(to, f8_min(f8_min(f8_load(p), f8_load(q)), f8_load(r)));
	f8_store(to + 8, f8_max(f8_max(f8_load(p + 8), f8_load(q + 8)), f8_load(r + 8)));
	const float *a = boxes->last + 2 * (int64_t)t[0], *b = boxes->last + 2 * (int64_t)t[1], *c = boxes->last + 2 * (int64_t)t[2];
	const float low = a[0] < b[0] ? a[0] : b[0], high = a[1] > b[1] ? a[1] : b[1];
	tree->node_boxes.last[2 * (int64_t)node] = c[0] < low ? c[0] : low;
	tree->node_boxes.last[2 * (int64_t)node + 1] = c[1] > high ? c[1] : high;
}

static void bound_nodes(cr_sweep_tree *tree, int32_t begin, int32_t end)
{
	const bool dop = tree->volume == CAROM_SWEEP_DOP18;
	for (int32_t i = end - 1; i >= begin; i--) {
		const cr_sweep_node *node = &tree->nodes[i];
		if (cr_is_leaf(node))
			bound_leaf(dop, tree, i, ~node->right);
		else
			join(dop, &tree->node_boxes, i, node->right);
	}
}

static bool overlap(const cr_sweep_tree *tree, int32_t a, int32_t b)
{
	return cr_overlap(tree->volume == CAROM_SWEEP_DOP18, &tree->node_boxes, a, &tree->node_boxes, b);
}

// ---- Traversal ----
//
// Pairs whose boxes overlap wait on a stack; the uppermost BATCH of them are opened together, and
// each child goes where it belongs without a branch: it is written at the end of each list, and the
// list grows or does not. (Branches foreseen wrongly took most of the time.) listed: where it stops
// is listed for a front; when the front has been lost on the way, nobody takes the list.

/// Hand on the lists that have no room for as many more.
static inline void make_room(cr_sweep_walk *walk, int32_t leaves, int32_t stops)
{
	if (walk->leaf_count > CR_SWEEP_LEAVES - leaves) {
		walk->leaves_full(walk);
		walk->leaf_count = 0;
	}
	const int32_t most = walk->stop_count > walk->leaf_stop_count ? walk->stop_count : walk->leaf_stop_count;
	if (most > CR_SWEEP_STOPS - stops) {
		walk->stops_full(walk);
		walk->stop_count = walk->leaf_stop_count = 0;
	}
}

/// Pairs of leaves whose boxes overlap. Adjacent ones never part: no front needs them.
static inline void meet_leaves(bool listed, cr_sweep_walk *walk, const cr_sweep_pair *pairs, int32_t count)
{
	const cr_sweep_tree *tree = walk->tree;
	make_room(walk, count, count);
	int32_t leaves = walk->leaf_count, stops = walk->leaf_stop_count;
	for (int32_t i = 0; i < count; i++) {
		const cr_leaf_pair p = { pairs[i], CR_FEATURES_UNKNOWN };
		const bool adjacent = cr_are_adjacent(tree->scene, ~tree->nodes[p.nodes.a].right, ~tree->nodes[p.nodes.b].right);
		const bool keep = !adjacent | walk->keep_adjacent;
		walk->adjacent += adjacent;
		walk->leaves[leaves] = p;
		leaves += keep;
		if (listed) {
			walk->leaf_stops[stops] = p;
			stops += keep;
		}
	}
	walk->stop_total += leaves - walk->leaf_count;
	walk->leaf_stop_total += leaves - walk->leaf_count;
	walk->leaf_count = leaves;
	walk->leaf_stop_count = stops;
}

/// A node against itself waits, unless nothing in it is to be looked at. Returns how many pairs
/// wait.
static inline int32_t wait_alone(cr_sweep_walk *walk, int32_t node, int32_t waiting)
{
	const cr_sweep_node *n = &walk->tree->nodes[node];
	walk->stack[waiting] = (cr_sweep_pair){ node, node };
	return waiting + ((n->size > 1) & (n->group < 0));
}

static inline int32_t leave_out_excluded(const cr_sweep_node *nodes, cr_sweep_pair *pairs, int32_t count)
{
	int32_t left = 0;
	for (int32_t i = 0; i < count; i++) {
		const cr_sweep_pair p = pairs[i];
		pairs[left] = p;
		left += !cr_is_excluded(&nodes[p.a], &nodes[p.b]);
	}
	return left;
}

/// The children of pairs, which are no pairs of leaves. Nodes against themselves wait at once.
/// Returns how many are left to look at.
static inline int32_t open_pairs(
	cr_sweep_walk *walk, const cr_sweep_pair *pairs, int32_t count, int32_t *waiting, cr_sweep_pair *children)
{
	const cr_sweep_node *nodes = walk->tree->nodes;
	int32_t opened = 0;
	for (int32_t i = 0; i < count; i++) {
		const int32_t a = pairs[i].a, b = pairs[i].b;
		if (a == b) {
			*waiting = wait_alone(walk, nodes[a].right, *waiting);
			*waiting = wait_alone(walk, a + 1, *waiting);
			children[opened++] = (cr_sweep_pair){ a + 1, nodes[a].right };
			continue;
		}
		// Exchange the two where the second is split, and back, by masks: the compiler would make a
		// branch of it.
		const int32_t swap = -(int32_t)!cr_splits_first(&nodes[a], &nodes[b]);
		const int32_t split = a ^ ((a ^ b) & swap), other = b ^ ((a ^ b) & swap), right = nodes[split].right;
		const int32_t low = (right ^ other) & swap, high = ((split + 1) ^ other) & swap;
		children[opened++] = (cr_sweep_pair){ right ^ low, other ^ low };
		children[opened++] = (cr_sweep_pair){ (split + 1) ^ high, other ^ high };
	}
	return walk->tree->grouped ? leave_out_excluded(nodes, children, opened) : opened;
}

/// Put each of these pairs of different nodes where it belongs. Returns how many pairs wait.
static inline int32_t place_pairs(
	bool dop, bool listed, cr_sweep_walk *walk, const cr_sweep_pair *pairs, int32_t count, int32_t waiting)
{
	const cr_sweep_node *nodes = walk->tree->nodes;
	const cr_sweep_boxes boxes = walk->tree->node_boxes;
	cr_sweep_pair meeting[MOST_FRESH * BATCH], *stack = walk->stack, *stops = walk->stops;
	cr_leaf_pair *leaf_stops = walk->leaf_stops;
	int32_t top = waiting, meeting_count = 0, stop_count = walk->stop_count, leaf_stop_count = walk->leaf_stop_count;
	for (int32_t i = 0; i < count; i++) {
		const cr_sweep_pair p = pairs[i];
		const bool leaves = (nodes[p.a].size | nodes[p.b].size) == 1;
		const bool meet = cr_overlap(dop, &boxes, p.a, &boxes, p.b);
		stack[top] = p;
		top += meet & !leaves;
		meeting[meeting_count] = p;
		meeting_count += meet & leaves;
		if (listed) {
			stops[stop_count] = p;
			leaf_stops[leaf_stop_count] = (cr_leaf_pair){ p, CR_FEATURES_UNKNOWN };
		}
		stop_count += !(meet | leaves);
		leaf_stop_count += leaves & !meet;
	}
	walk->tests += count;
	walk->stop_total += count - (top - waiting) - meeting_count;
	walk->leaf_stop_total += leaf_stop_count - walk->leaf_stop_count;
	if (listed) {
		walk->stop_count = stop_count;
		walk->leaf_stop_count = leaf_stop_count;
	}
	meet_leaves(listed, walk, meeting, meeting_count);
	return top;
}

/// Everything below the pairs that wait. The boxes of each overlap, or it is a node against itself;
/// none is a pair of leaves.
static inline void walk_waiting(bool dop, bool listed, cr_sweep_walk *walk, int32_t waiting)
{
	cr_sweep_pair batch[BATCH], children[MOST_FRESH * BATCH];
	while (waiting > 0) {
		const int32_t most = waiting < BATCH ? waiting : BATCH;
		const int32_t count = waiting > BATCH_ROOM ? 1 : most;
		waiting -= count;
		memcpy(batch, walk->stack + waiting, (size_t)count * sizeof *batch);
		make_room(walk, 0, MOST_FRESH * BATCH);
		const int32_t opened = open_pairs(walk, batch, count, &waiting, children);
		waiting = place_pairs(dop, listed, walk, children, opened, waiting);
	}
}

static inline void walk_from(bool dop, bool listed, cr_sweep_walk *walk, cr_sweep_pair from)
{
	make_room(walk, 0, 1);
	int32_t waiting = 0;
	if (from.a == from.b)
		waiting = wait_alone(walk, from.a, waiting);
	else if (leave_out_excluded(walk->tree->nodes, &from, 1) > 0)
		waiting = place_pairs(dop, listed, walk, &from, 1, waiting);
	walk_waiting(dop, listed, walk, waiting);
}

static void walk(cr_sweep_walk *w, cr_sweep_pair from)
{
	const bool dop = w->tree->volume == CAROM_SWEEP_DOP18;
	if (dop && w->keep_stops)
		walk_from(true, true, w, from);
	else if (dop)
		walk_from(true, false, w, from);
	else
		walk_from(false, w->keep_stops, w, from);
}

// ---- The front ----

/// The last parent whose boxes were tested, since siblings are neighbours most often.
typedef struct parent_test {
	cr_sweep_pair pair;
	bool meet;
} parent_test;

static inline bool parents_meet(bool dop, cr_sweep_walk *walk, parent_test *last, cr_sweep_pair parent)
{
	if (parent.a == parent.b)
		return true;
	if (parent.a != last->pair.a || parent.b != last->pair.b) {
		const cr_sweep_boxes *boxes = &walk->tree->node_boxes;
		*last = (parent_test){ parent, cr_overlap(dop, boxes, parent.a, boxes, parent.b) };
		walk->tests++;
	}
	return last->meet;
}

/// The first child of its parent that is not excluded? (One is wanted at least, since excluded
/// children make an excluded parent.)
static inline bool is_first_wanted(const cr_sweep_tree *tree, cr_sweep_pair parent, cr_sweep_pair child)
{
	if (cr_is_first_child(parent, child))
		return true;
	cr_sweep_pair children[3];
	if (!tree->grouped || cr_descend(tree, parent, children) != 2)
		return false;
	return cr_is_excluded(&tree->nodes[children[0].a], &tree->nodes[children[0].b]);
}

/// The uppermost ancestor of a pair that is apart. It takes the place of all that is below it:
/// *first tells whether only first children lead to the pair, which puts it there; the others,
/// which are apart as well, go.
static inline cr_sweep_pair raise(bool dop, cr_sweep_walk *walk, parent_test *last, cr_sweep_pair p, bool *first)
{
	*first = true;
	for (;;) {
		const cr_sweep_pair parent = cr_parent(walk->tree, p);
		if (parents_meet(dop, walk, last, parent))
			return p;
		*first = is_first_wanted(walk->tree, parent, p);
		if (!*first)
			return p;
		p = parent;
	}
}

/// Put pairs that are apart back into the block, or their uppermost ancestors that are apart.
static inline void raise_nodes(bool dop, cr_sweep_walk *walk, cr_front_block *block, const cr_sweep_pair *apart, int32_t count)
{
	parent_test last = { .pair = { -1, -1 } };
	int32_t kept = block->count;
	for (int32_t i = 0; i < count; i++) {
		bool first;
		block->nodes[kept] = raise(dop, walk, &last, apart[i], &first);
		kept += first;
	}
	walk->pruned += count - (kept - block->count);
	block->count = kept;
}

/// Put pairs of leaves that are apart back into the block, or list their uppermost ancestors that
/// are apart.
static inline void raise_leaves(bool dop, cr_sweep_walk *walk, cr_front_block *block, const cr_leaf_pair *apart, int32_t count)
{
	parent_test last = { .pair = { -1, -1 } };
	int32_t kept = block->leaf_count, stops = walk->stop_count;
	for (int32_t i = 0; i < count; i++) {
		bool first;
		const cr_sweep_pair p = raise(dop, walk, &last, apart[i].nodes, &first);
		const bool stays = (p.a == apart[i].nodes.a) & (p.b == apart[i].nodes.b);
		block->leaves[kept] = apart[i];
		kept += first & stays;
		walk->stops[stops] = p;
		stops += first & !stays;
	}
	walk->pruned += count - (kept - block->leaf_count) - (stops - walk->stop_count);
	walk->stop_total += stops - walk->stop_count;
	block->leaf_count = kept;
	walk->stop_count = stops;
}

static inline void count_if_stale(bool dop, cr_sweep_walk *walk, parent_test *last, cr_sweep_pair apart)
{
	walk->stale += !parents_meet(dop, walk, last, cr_parent(walk->tree, apart));
	walk->sampled++;
}

static inline void prefetch(bool dop, const cr_sweep_boxes *boxes, cr_sweep_pair p)
{
	const int64_t stride = dop ? CR_DOP_STRIDE : CR_AABB_STRIDE;
	__builtin_prefetch(boxes->main + stride * p.a);
	__builtin_prefetch(boxes->main + stride * p.b);
}

/// At most BATCH nodes of a block, which are no pairs of leaves: those that sprout wait, the others
/// go to its end. Returns how many wait.
static inline int32_t look_at_nodes(
	bool dop, cr_sweep_walk *walk, cr_front_block *block, const cr_sweep_pair *nodes, int32_t count, bool sample)
{
	const cr_sweep_boxes boxes = walk->tree->node_boxes;
	cr_sweep_pair apart[BATCH], *stack = walk->stack;
	int32_t waiting = 0, apart_count = 0;
	for (int32_t i = 0; i < count; i++) {
		const cr_sweep_pair p = nodes[i];
		const bool meet = cr_overlap(dop, &boxes, p.a, &boxes, p.b);
		stack[waiting] = p;
		waiting += meet;
		apart[apart_count] = p;
		apart_count += !meet;
	}
	walk->tests += count;
	walk->kept += apart_count;
	walk->replaced += waiting;
	parent_test last = { .pair = { -1, -1 } };
	for (int32_t i = 0; sample && i < apart_count; i++)
		count_if_stale(dop, walk, &last, apart[i]);
	if (walk->prune) {
		raise_nodes(dop, walk, block, apart, apart_count);
	} else {
		memcpy(block->nodes + block->count, apart, (size_t)apart_count * sizeof *apart);
		block->count += apart_count;
	}
	return waiting;
}

static inline void follow_nodes(bool dop, cr_sweep_walk *walk, cr_front_block *block)
{
	const cr_sweep_boxes *boxes = &walk->tree->node_boxes;
	const int32_t count = block->count;
	block->count = 0; // the nodes that stay never overtake those that are looked at
	for (int32_t i = 0; i < count; i += BATCH) {
		const int32_t here = count - i < BATCH ? count - i : BATCH;
		for (int32_t k = i + BATCH; k < i + 2 * BATCH && k < count; k++)
			prefetch(dop, boxes, block->nodes[k]);
		const int32_t waiting = look_at_nodes(dop, walk, block, block->nodes + i, here, i / BATCH % SAMPLE == 0);
		const int64_t before = walk->stop_total;
		walk_waiting(dop, true, walk, waiting);
		walk->sprouted += walk->stop_total - before;
	}
}

/// The pairs of features that a pair of leaves answers for are found when it meets for the second
/// time.
static inline void learn_features(cr_sweep_walk *walk, cr_leaf_pair *in_block, cr_leaf_pair *in_list)
{
	const cr_sweep_node *nodes = walk->tree->nodes;
	in_block->features = in_list->features = cr_features_mask(
		walk->tree->scene, ~nodes[in_block->nodes.a].right, ~nodes[in_block->nodes.b].right, walk->keep_adjacent);
}

/// At most BATCH pairs of leaves of a block: those that meet are listed.
static inline void look_at_leaves(bool dop, cr_sweep_walk *walk, cr_leaf_pair *pairs, int32_t count)
{
	const cr_sweep_boxes boxes = walk->tree->node_boxes;
	make_room(walk, BATCH, 0);
	struct {
		int32_t in_block, in_list;
	} unknown[BATCH];
	int32_t leaves = walk->leaf_count, unknown_count = 0;
	for (int32_t i = 0; i < count; i++) {
		const cr_leaf_pair p = pairs[i];
		const bool meet = cr_overlap(dop, &boxes, p.nodes.a, &boxes, p.nodes.b);
		unknown[unknown_count].in_block = i;
		unknown[unknown_count].in_list = leaves;
		unknown_count += meet & (p.features == CR_FEATURES_UNKNOWN);
		walk->leaves[leaves] = p;
		leaves += meet;
	}
	for (int32_t i = 0; i < unknown_count; i++)
		learn_features(walk, &pairs[unknown[i].in_block], &walk->leaves[unknown[i].in_list]);
	walk->leaf_count = leaves;
	walk->tests += count;
	walk->kept += count;
}

/// Those of a batch that are apart; returns how many.
static inline int32_t find_apart(
	bool dop, const cr_sweep_walk *walk, const cr_leaf_pair *pairs, int32_t count, cr_leaf_pair apart[BATCH])
{
	const cr_sweep_boxes boxes = walk->tree->node_boxes;
	int32_t apart_count = 0;
	for (int32_t i = 0; i < count; i++) {
		apart[apart_count] = pairs[i];
		apart_count += !cr_overlap(dop, &boxes, pairs[i].nodes.a, &boxes, pairs[i].nodes.b);
	}
	return apart_count;
}

/// Keep those of a batch that meet, and of the others the ancestors that raising leaves.
static inline void prune_leaves(bool dop, cr_sweep_walk *walk, cr_front_block *block, const cr_leaf_pair *pairs, int32_t count)
{
	const cr_sweep_boxes boxes = walk->tree->node_boxes;
	cr_leaf_pair apart[BATCH];
	make_room(walk, 0, BATCH);
	const int32_t apart_count = find_apart(dop, walk, pairs, count, apart);
	for (int32_t i = 0; i < count; i++) {
		const cr_leaf_pair p = pairs[i];
		block->leaves[block->leaf_count] = p;
		block->leaf_count += cr_overlap(dop, &boxes, p.nodes.a, &boxes, p.nodes.b);
	}
	raise_leaves(dop, walk, block, apart, apart_count);
}

static inline void sample_leaves(bool dop, cr_sweep_walk *walk, const cr_leaf_pair *pairs, int32_t count)
{
	cr_leaf_pair apart[BATCH];
	const int32_t apart_count = find_apart(dop, walk, pairs, count, apart);
	parent_test last = { .pair = { -1, -1 } };
	for (int32_t i = 0; i < apart_count; i++)
		count_if_stale(dop, walk, &last, apart[i].nodes);
}

/// Pairs of leaves stay where they are, unless the front is pruned.
static inline void follow_leaves(bool dop, cr_sweep_walk *walk, cr_front_block *block)
{
	const cr_sweep_boxes *boxes = &walk->tree->node_boxes;
	const int32_t count = block->leaf_count;
	const bool prune = walk->prune;
	block->leaf_count = prune ? 0 : count;
	for (int32_t i = 0; i < count; i += BATCH) {
		const int32_t here = count - i < BATCH ? count - i : BATCH;
		for (int32_t k = i + BATCH; k < i + 2 * BATCH && k < count; k++)
			prefetch(dop, boxes, block->leaves[k].nodes);
		look_at_leaves(dop, walk, block->leaves + i, here);
		if (i / BATCH % SAMPLE == 0)
			sample_leaves(dop, walk, block->leaves + i, here);
		if (prune)
			prune_leaves(dop, walk, block, block->leaves + i, here);
	}
}

static inline void follow_with(bool dop, cr_sweep_walk *walk, cr_front_block *block)
{
	follow_nodes(dop, walk, block);
	follow_leaves(dop, walk, block);
	// Nodes listed before are in the block.
	walk->stop_total += block->count + block->leaf_count;
	walk->leaf_stop_total += block->leaf_count;
}

static void follow(cr_sweep_walk *w, cr_front_block *block)
{
	if (w->tree->volume == CAROM_SWEEP_DOP18)
		follow_with(true, w, block);
	else
		follow_with(false, w, block);
}

// ---- Sweep and prune ----

static inline void meet_with(bool dop, cr_sweep_walk *walk, cr_sweep_pair *pairs, int32_t count)
{
	const cr_sweep_boxes *boxes = &walk->tree->node_boxes;
	const int32_t wanted = walk->tree->grouped ? leave_out_excluded(walk->tree->nodes, pairs, count) : count;
	int32_t kept = 0;
	for (int32_t i = 0; i < wanted; i++) {
		const cr_sweep_pair p = pairs[i];
		pairs[kept] = p;
		kept += cr_overlap(dop, boxes, p.a, boxes, p.b);
	}
	meet_leaves(false, walk, pairs, kept);
}

static void meet(cr_sweep_walk *w, cr_sweep_pair *pairs, int32_t count)
{
	if (w->tree->volume == CAROM_SWEEP_DOP18)
		meet_with(true, w, pairs, count);
	else
		meet_with(false, w, pairs, count);
}

// ---- Crossing triangles ----

static int32_t keep_deep(const cr_sweep_tree *tree, const cr_leaf_pair *leaves, int32_t count, float least, int32_t *kept)
{
	const float *boxes = tree->node_boxes.main;
	const f8 more = f8_set1(least);
	int32_t deep = 0;
	for (int32_t i = 0; i < count; i++) {
		const float *p = boxes + CR_DOP_STRIDE * (int64_t)leaves[i].nodes.a,
					*q = boxes + CR_DOP_STRIDE * (int64_t)leaves[i].nodes.b;
		const m8 meet = m8_and(f8_le(f8_add(f8_load(p), more), f8_load(q + 8)), f8_le(f8_add(f8_load(q), more), f8_load(p + 8)));
		kept[deep] = i;
		deep += m8_bits(meet) == 0xff;
	}
	return deep;
}

const cr_sweep_kernels CR_ISA_NAME(cr_sweep_kernels) = {
	.bound_vertices = bound_vertices,
	.bound_nodes = bound_nodes,
	.overlap = overlap,
	.walk = walk,
	.follow = follow,
	.meet = meet,
	.keep_deep = keep_deep,
	.list_features = CR_ISA_NAME(cr_list_features),
};
