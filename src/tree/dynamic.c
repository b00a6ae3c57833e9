/// See tree/dynamic.h.
#include "tree/dynamic.h"
#include "tree/quality.h"
#include "tree/tree.h"
#include <string.h>

enum {
	// From this depth on a build halves the leaves, which bounds the depth for any input.
	HALVE_DEPTH = 40,
	// The search for a sibling has at most so many nodes before it, and one in QUEUE_SHARE leaves.
	// (Boxes put in at random, 100,000, have at most some hundred.)
	QUEUE_LEAST = 1024,
	QUEUE_SHARE = 32,
};

// Inner area relative to the root's may grow by this factor before the tree is rebuilt.
static const double WORN_OUT = 1.5;

// ---- Nodes ----

void cr_dynamic_clear(cr_dynamic_tree *t)
{
	t->nodes.count = 0;
	t->root = t->free_node = CR_NO_NODE;
	t->leaves = t->built_leaves = 0;
	t->built_area = 0;
}

void cr_dynamic_free(carom_context *context, cr_dynamic_tree *t)
{
	cr_array_free(context, &t->nodes);
	cr_array_free(context, &t->queue);
	cr_dynamic_clear(t);
}

bool cr_dynamic_reserve(carom_context *context, cr_dynamic_tree *t, int64_t leaves)
{
	const int64_t ahead = QUEUE_LEAST + leaves / QUEUE_SHARE;
	return cr_array_reserve(context, &t->nodes, 2 * leaves) &&
		(leaves == 0 || cr_array_reserve(context, &t->queue, ahead < 2 * leaves ? ahead : 2 * leaves));
}

static int32_t take_node(cr_dynamic_tree *t)
{
	int32_t index = t->free_node;
	if (index != CR_NO_NODE)
		t->free_node = t->nodes.data[index].parent;
	else
		index = (int32_t)t->nodes.count++;
	return index;
}

static void give_node(cr_dynamic_tree *t, int32_t index)
{
	t->nodes.data[index] = (cr_dynamic_node){ .parent = t->free_node, .child = { CR_NO_NODE, CR_NO_NODE } };
	t->free_node = index;
}

/// Give a node the least box that holds another one. lower + size never rounds below upper: the sum
/// that is rounded is at least upper, unless the difference was rounded down.
static void set_box(cr_dynamic_node *n, const box3d *box)
{
	for (int k = 0; k < 3; k++) {
		const float size = (float)(box->upper[k] - box->lower[k]);
		n->lower[k] = box->lower[k];
		n->size[k] = box->lower[k] + (double)size < box->upper[k] ? nextafterf(size, INFINITY) : size;
	}
}

static int32_t make_leaf(cr_dynamic_tree *t, int32_t item, const box3d *bounds)
{
	const int32_t leaf = take_node(t);
	t->nodes.data[leaf] = (cr_dynamic_node){ .parent = CR_NO_NODE, .child = { CR_NO_NODE, item } };
	set_box(&t->nodes.data[leaf], bounds);
	return leaf;
}

// ---- One leaf ----

static void swap_candidates(cr_dynamic_candidate *a, cr_dynamic_candidate *b)
{
	const cr_dynamic_candidate c = *a;
	*a = *b;
	*b = c;
}

static void queue_push(cr_dynamic_tree *t, cr_dynamic_candidate c)
{
	cr_dynamic_candidate *q = t->queue.data;
	int64_t at = t->queue.count++;
	q[at] = c;
	while (at > 0 && q[(at - 1) / 2].inherited > q[at].inherited) {
		swap_candidates(&q[at], &q[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static cr_dynamic_candidate queue_pop(cr_dynamic_tree *t)
{
	cr_dynamic_candidate *q = t->queue.data;
	const cr_dynamic_candidate top = q[0];
	const int64_t count = --t->queue.count;
	q[0] = q[count];
	for (int64_t at = 0;;) {
		int64_t least = at;
		for (int64_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < count && q[child].inherited < q[least].inherited)
				least = child;
		}
		if (least == at)
			return top;
		swap_candidates(&q[at], &q[least]);
		at = least;
	}
}

/// The node beside which a leaf adds least area to the tree: branch and bound (Bittner, Hapala,
/// Havran, Fast Insertion-Based Optimization of Bounding Volume Hierarchies, 2013, section 3.2).
static int32_t find_sibling(cr_dynamic_tree *t, const box3d *leaf)
{
	const cr_dynamic_node *nodes = t->nodes.data;
	const double leaf_area = box3d_area(leaf);
	int32_t best = t->root;
	double best_cost = INFINITY;
	t->queue.count = 0;
	queue_push(t, (cr_dynamic_candidate){ 0, t->root });
	while (t->queue.count > 0) {
		const cr_dynamic_candidate c = queue_pop(t);
		if (c.inherited + leaf_area >= best_cost)
			break;
		const cr_dynamic_node *n = &nodes[c.node];
		const box3d own = cr_dynamic_box(n), joined = box3d_join(&own, leaf);
		const double joined_area = box3d_area(&joined), cost = c.inherited + joined_area;
		if (cost < best_cost) {
			best_cost = cost;
			best = c.node;
		}
		const double below = c.inherited + (joined_area - box3d_area(&own));
		const bool fits = t->queue.count + 2 <= t->queue.capacity;
		if (!cr_dynamic_is_leaf(n) && fits && below + leaf_area < best_cost) {
			queue_push(t, (cr_dynamic_candidate){ below, n->child[0] });
			queue_push(t, (cr_dynamic_candidate){ below, n->child[1] });
		}
	}
	return best;
}

static void replace_child(cr_dynamic_tree *t, int32_t parent, int32_t old, int32_t new)
{
	if (parent == CR_NO_NODE)
		t->root = new;
	else
		t->nodes.data[parent].child[t->nodes.data[parent].child[0] == old ? 0 : 1] = new;
	t->nodes.data[new].parent = parent;
}

static box3d join_boxes(const cr_dynamic_node *a, const cr_dynamic_node *b)
{
	const box3d box_a = cr_dynamic_box(a), box_b = cr_dynamic_box(b);
	return box3d_join(&box_a, &box_b);
}

static double area_of(const cr_dynamic_node *n)
{
	const box3d box = cr_dynamic_box(n);
	return box3d_area(&box);
}

static bool has_box_of(const cr_dynamic_node *a, const cr_dynamic_node *b)
{
	return memcmp(a->lower, b->lower, sizeof a->lower) == 0 && memcmp(a->size, b->size, sizeof a->size) == 0;
}

/// Let an inner node be around its children. Its box before does not matter: a new node has none.
static void enclose_children(cr_dynamic_node *nodes, int32_t inner)
{
	cr_dynamic_node *n = &nodes[inner];
	const box3d box = join_boxes(&nodes[n->child[0]], &nodes[n->child[1]]);
	set_box(n, &box);
}

/// Likewise, for a node that has a box. Returns whether it was another one.
static bool shrink_to_children(cr_dynamic_node *nodes, int32_t inner)
{
	const cr_dynamic_node old = nodes[inner];
	enclose_children(nodes, inner);
	return !has_box_of(&old, &nodes[inner]);
}

/// Exchange a child with a grandchild on the other side when that makes the inner box between them
/// smaller; of the four ways the best.
static void rotate(cr_dynamic_tree *t, int32_t top)
{
	cr_dynamic_node *nodes = t->nodes.data;
	double best_gain = 0;
	int best_side = -1, best_grandchild = 0;
	for (int side = 0; side < 2; side++) {
		const cr_dynamic_node *moved_down = &nodes[nodes[top].child[side]], *other = &nodes[nodes[top].child[1 - side]];
		if (cr_dynamic_is_leaf(other))
			continue;
		for (int g = 0; g < 2; g++) {
			const box3d joined = join_boxes(moved_down, &nodes[other->child[1 - g]]);
			const double gain = area_of(other) - box3d_area(&joined);
			if (gain > best_gain) {
				best_gain = gain;
				best_side = side;
				best_grandchild = g;
			}
		}
	}
	if (best_side < 0)
		return;
	const int32_t down = nodes[top].child[best_side], inner = nodes[top].child[1 - best_side];
	const int32_t up = nodes[inner].child[best_grandchild];
	nodes[top].child[best_side] = up;
	nodes[up].parent = top;
	nodes[inner].child[best_grandchild] = down;
	nodes[down].parent = inner;
	enclose_children(nodes, inner);
	enclose_children(nodes, top);
}

int32_t cr_dynamic_insert(cr_dynamic_tree *t, int32_t item, const box3d *new_bounds)
{
	const int32_t leaf = make_leaf(t, item, new_bounds);
	const box3d bounds = cr_dynamic_box(&t->nodes.data[leaf]);
	t->leaves++;
	if (t->root == CR_NO_NODE) {
		t->root = leaf;
		return leaf;
	}
	const int32_t sibling = find_sibling(t, &bounds);
	const int32_t inner = take_node(t);
	cr_dynamic_node *nodes = t->nodes.data;
	replace_child(t, nodes[sibling].parent, sibling, inner);
	nodes[inner].child[0] = sibling;
	nodes[inner].child[1] = leaf;
	nodes[sibling].parent = nodes[leaf].parent = inner;
	enclose_children(nodes, inner);
	for (int32_t at = nodes[inner].parent; at != CR_NO_NODE; at = nodes[at].parent) {
		enclose_children(nodes, at);
		rotate(t, at);
	}
	return leaf;
}

void cr_dynamic_remove(cr_dynamic_tree *t, int32_t leaf)
{
	cr_dynamic_node *nodes = t->nodes.data;
	const int32_t parent = nodes[leaf].parent;
	t->leaves--;
	if (parent == CR_NO_NODE) {
		t->root = CR_NO_NODE;
	} else {
		const int32_t sibling = nodes[parent].child[nodes[parent].child[0] == leaf ? 1 : 0];
		replace_child(t, nodes[parent].parent, parent, sibling);
		give_node(t, parent);
		for (int32_t at = nodes[sibling].parent; at != CR_NO_NODE && shrink_to_children(nodes, at);)
			at = nodes[at].parent;
	}
	give_node(t, leaf);
}

/// Areas of the inner nodes relative to the root's: the part of the surface area heuristic that
/// depends on the shape of the tree.
static double inner_area(const cr_dynamic_tree *t)
{
	if (t->leaves < 2)
		return 0;
	double sum = 0;
	for (int64_t i = 0; i < t->nodes.count; i++) {
		if (!cr_dynamic_is_leaf(&t->nodes.data[i]))
			sum += area_of(&t->nodes.data[i]);
	}
	const double root = area_of(&t->nodes.data[t->root]);
	return root > 0 ? sum / root : 0;
}

// ---- Building from the top down ----

typedef struct build_job {
	int32_t *leaves;
	int32_t count;
	int32_t parent;
	int32_t side;
	int32_t depth;
} build_job;

static double leaf_centre(const cr_dynamic_tree *t, int32_t leaf, int axis)
{
	const cr_dynamic_node *n = &t->nodes.data[leaf];
	return n->lower[axis] + 0.5 * (double)n->size[axis];
}

/// How leaves are put in bins: along the longest axis of their centres.
typedef struct split_map {
	const cr_dynamic_tree *tree;
	int axis;
	double origin;
	double scale; // 0: all centres are the same
} split_map;

enum { SPLIT_BINS = 8 };
typedef int32_t split_item;
typedef box3d split_box;
typedef double split_real;
#define SPLIT_NONE BOX3D_NONE

static inline int split_bin(const split_map *map, const int32_t *leaf, int axis)
{
	const int i = (int)((leaf_centre(map->tree, *leaf, axis) - map->origin) * map->scale);
	return i < SPLIT_BINS ? i : SPLIT_BINS - 1;
}

static inline box3d split_join(box3d a, box3d b) { return box3d_join(&a, &b); }

static inline double split_area(box3d b) { return box3d_area(&b); }

static inline double split_weight(int32_t count) { return count; }

#include "tree/split.h"

static split_map choose_map(const cr_dynamic_tree *t, const build_job *job)
{
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	for (int32_t i = 0; i < job->count; i++) {
		for (int k = 0; k < 3; k++) {
			const double c = leaf_centre(t, job->leaves[i], k);
			lower[k] = c < lower[k] ? c : lower[k];
			upper[k] = c > upper[k] ? c : upper[k];
		}
	}
	int axis = upper[1] - lower[1] > upper[0] - lower[0] ? 1 : 0;
	axis = upper[2] - lower[2] > upper[axis] - lower[axis] ? 2 : axis;
	const double scale = SPLIT_BINS / (upper[axis] - lower[axis]);
	return (split_map){ t, axis, lower[axis], isfinite(scale) ? scale : 0 };
}

/// Move the leaves of the left side to the front and return their number, 1 to count - 1.
static int32_t split_leaves(const cr_dynamic_tree *t, const build_job *job)
{
	const split_map map = choose_map(t, job);
	if (map.scale == 0 || job->depth >= HALVE_DEPTH)
		return job->count / 2;
	split_row row;
	split_clear(&row);
	for (int32_t i = 0; i < job->count; i++)
		split_add(&row, split_bin(&map, &job->leaves[i], map.axis), cr_dynamic_box(&t->nodes.data[job->leaves[i]]), 1);
	split best = { map.axis, 1, INFINITY };
	split_axis(&row, map.axis, &best);
	const int32_t left = split_part(&map, job->leaves, job->count, best.axis, best.bin);
	return left > 0 && left < job->count ? left : job->count / 2;
}

/// Link inner nodes over leaves that are nodes already.
static void link_leaves(cr_dynamic_tree *t, int32_t *leaves, int32_t count)
{
	build_job stack[2 * CR_MAX_DEPTH];
	int depth = 0;
	if (count > 0)
		stack[depth++] = (build_job){ leaves, count, CR_NO_NODE, 0, 0 };
	while (depth > 0) {
		const build_job job = stack[--depth];
		const int32_t index = job.count == 1 ? job.leaves[0] : take_node(t);
		if (job.parent == CR_NO_NODE)
			t->root = index;
		else
			t->nodes.data[job.parent].child[job.side] = index;
		t->nodes.data[index].parent = job.parent;
		if (job.count == 1)
			continue;
		const int32_t left = split_leaves(t, &job);
		stack[depth++] = (build_job){ job.leaves + left, job.count - left, index, 1, job.depth + 1 };
		stack[depth++] = (build_job){ job.leaves, left, index, 0, job.depth + 1 };
	}
}

void cr_dynamic_build(cr_dynamic_tree *t, int32_t *items, const box3d *bounds, int32_t count)
{
	cr_dynamic_clear(t);
	for (int32_t i = 0; i < count; i++)
		items[i] = make_leaf(t, items[i], &bounds[i]);
	t->leaves = t->built_leaves = count;
	link_leaves(t, items, count);
	// Children were taken after their parents.
	for (int64_t i = t->nodes.count - 1; i >= count; i--)
		enclose_children(t->nodes.data, (int32_t)i);
	t->built_area = inner_area(t);
}

bool cr_dynamic_is_worn_out(const cr_dynamic_tree *t)
{
	return t->leaves > 2 * t->built_leaves || inner_area(t) > WORN_OUT * t->built_area;
}

// ---- Walks ----

/// The first leaf below a node.
static int32_t first_leaf(const cr_dynamic_tree *t, int32_t node)
{
	while (!cr_dynamic_is_leaf(&t->nodes.data[node]))
		node = t->nodes.data[node].child[0];
	return node;
}

void cr_dynamic_visit_up(cr_dynamic_tree *t, cr_dynamic_visit_fn *visit, void *user)
{
	int32_t node = t->root == CR_NO_NODE ? CR_NO_NODE : first_leaf(t, t->root);
	while (node != CR_NO_NODE) {
		visit(user, t, node);
		const int32_t parent = t->nodes.data[node].parent;
		const bool is_first = parent != CR_NO_NODE && t->nodes.data[parent].child[0] == node;
		node = is_first ? first_leaf(t, t->nodes.data[parent].child[1]) : parent;
	}
}

/// Put a pair of nodes before the walk, if they may hold a pair. There is room.
static inline void push_pair(cr_dynamic_walk *w, int32_t a, const box3d *box_a, int32_t b, const box3d *box_b)
{
	w->compared++;
	if (box3d_overlap(box_a, box_b) && (!w->may || w->may(w->user, a, b)))
		w->stack->data[w->stack->count++] = (cr_dynamic_entry){ a, b };
}

/// Put the pairs of the children of a node with another one before the walk.
static void push_children(cr_dynamic_walk *w, const cr_dynamic_node *na, const cr_dynamic_node *nb, cr_dynamic_entry e)
{
	const box3d box_a = cr_dynamic_box(na), box_b = cr_dynamic_box(nb);
	if (!cr_dynamic_is_leaf(nb) && (cr_dynamic_is_leaf(na) || box3d_area(&box_a) <= box3d_area(&box_b))) {
		for (int side = 0; side < 2; side++) {
			const box3d box = cr_dynamic_box(&w->b->nodes.data[nb->child[side]]);
			push_pair(w, e.a, &box_a, nb->child[side], &box);
		}
		return;
	}
	for (int side = 0; side < 2; side++) {
		const box3d box = cr_dynamic_box(&w->a->nodes.data[na->child[side]]);
		push_pair(w, na->child[side], &box, e.b, &box_b);
	}
}

bool cr_dynamic_pairs(cr_dynamic_walk *w, int32_t a, int32_t b)
{
	cr_dynamic_stack *stack = w->stack;
	const box3d box_a = cr_dynamic_box(&w->a->nodes.data[a]), box_b = cr_dynamic_box(&w->b->nodes.data[b]);
	stack->count = 0;
	if (!cr_array_reserve(w->context, stack, 1))
		return false;
	push_pair(w, a, &box_a, b, &box_b);
	bool going = true, fits = true;
	while (stack->count > 0 && going && fits) {
		const cr_dynamic_entry e = stack->data[--stack->count];
		const cr_dynamic_node *na = &w->a->nodes.data[e.a], *nb = &w->b->nodes.data[e.b];
		if (cr_dynamic_is_leaf(na) && cr_dynamic_is_leaf(nb)) {
			going = w->pair(w->user, cr_dynamic_item(na), cr_dynamic_item(nb));
			continue;
		}
		fits = stack->count + 2 <= stack->capacity || cr_array_reserve(w->context, stack, stack->count + 2);
		if (fits)
			push_children(w, na, nb, e);
	}
	return fits;
}

// ---- How it is ----

double cr_dynamic_sah_cost(const cr_dynamic_tree *t)
{
	double leaves = 0;
	for (int64_t i = 0; i < t->nodes.count; i++) {
		if (cr_dynamic_item(&t->nodes.data[i]) != CR_NO_NODE)
			leaves += area_of(&t->nodes.data[i]);
	}
	const double root = t->root != CR_NO_NODE ? area_of(&t->nodes.data[t->root]) : 0;
	return root > 0 ? CR_BOX_COST * inner_area(t) + CR_BLOCK_COST * leaves / root
					: CR_BOX_COST * (t->leaves - (t->leaves > 0)) + CR_BLOCK_COST * t->leaves;
}

/// Is a node that is in the tree as it should be?
static bool is_whole(const cr_dynamic_tree *t, int32_t at)
{
	const cr_dynamic_node *n = &t->nodes.data[at];
	if (cr_dynamic_is_leaf(n))
		return n->child[1] != CR_NO_NODE;
	for (int side = 0; side < 2; side++) {
		const int32_t child = n->child[side];
		if (child < 0 || child >= t->nodes.count || t->nodes.data[child].parent != at)
			return false;
	}
	const box3d joined = join_boxes(&t->nodes.data[n->child[0]], &t->nodes.data[n->child[1]]);
	cr_dynamic_node tight;
	set_box(&tight, &joined);
	return n->child[0] != n->child[1] && has_box_of(&tight, n);
}

/// Count the nodes below the root, and stop at one that is not whole. No node names a parent twice,
/// so the walk by parents ends.
static int64_t count_whole(const cr_dynamic_tree *t, int64_t *leaves)
{
	int64_t count = 0;
	int32_t at = t->root, from = CR_NO_NODE;
	while (at != CR_NO_NODE) {
		const cr_dynamic_node *n = &t->nodes.data[at];
		const bool down = from == n->parent;
		if (down && (!is_whole(t, at) || ++count > t->nodes.count))
			return -1;
		const bool leaf = cr_dynamic_is_leaf(n);
		*leaves += down && leaf;
		const int32_t next = leaf || from == n->child[1] ? n->parent : n->child[down ? 0 : 1];
		from = at;
		at = next;
	}
	return count;
}

bool cr_dynamic_check(const cr_dynamic_tree *t)
{
	if (t->root < CR_NO_NODE || t->root >= t->nodes.count)
		return false;
	if (t->root != CR_NO_NODE && t->nodes.data[t->root].parent != CR_NO_NODE)
		return false;
	int64_t leaves = 0, count = count_whole(t, &leaves);
	if (count < 0 || leaves != t->leaves)
		return false;
	for (int32_t at = t->free_node; at != CR_NO_NODE; at = t->nodes.data[at].parent) {
		if (at < 0 || at >= t->nodes.count || !cr_dynamic_is_leaf(&t->nodes.data[at]) ||
			cr_dynamic_item(&t->nodes.data[at]) != CR_NO_NODE || ++count > t->nodes.count)
			return false;
	}
	return count == t->nodes.count;
}
