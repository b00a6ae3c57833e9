/// Treelet restructuring (Karras and Aila, Fast Parallel Construction of High-Quality Bounding
/// Volume Hierarchies, 2013): a tree along the Morton curve is made better from the leaves up.
///
/// The treelet of a node is its two children, of which the one with the largest box is replaced by
/// its own children until there are seven. Of all trees over these seven the one of least cost
/// takes the place of the present one; dynamic programming over their subsets finds it. Each of
/// ROUNDS rounds looks at the nodes over at least so many primitives, twice as many as the round
/// before. Subtrees are worked on in parallel, the nodes above them one after the other: the tree
/// does not depend on the threads.
///
/// "Least cost" is that of a wide tree, where a block of eight is one test, with a small share of
/// the measure of a binary tree, where it is eight: without that share the binary tree may end
/// worse than it began. Where it does all the same, the work is done once more, and no treelet may
/// then raise the measure.
#include "base/parallel.h"
#include "tree/links.h"
#include "tree/quality.h"

enum { TREELET = 7, SUBSETS = 1 << TREELET, ROUNDS = 3, SUBTREE = 2048 };

// A tree must be better by this, so that rounding changes nothing.
static const double GAIN = 1 - 1e-6;
// Of the measure, in the value of a tree. 20,000 boxes at random: with 0 the measure ends 2 % above
// that of the tree along the curve, with 0.05 3 % below it, and the wide tree is as good.
static const double SHARE = 0.05;

typedef struct restructuring {
	cr_links *links;
	int32_t *list; // [inner nodes] of the subtrees, each after its root; then of the nodes above
	int32_t *roots;
	int32_t *first; // [root_count + 1] of each subtree, in list
	int32_t root_count;
	int32_t least; // primitives of a node that is looked at
	bool strict;   // no node may have a larger measure than before the round
} restructuring;

// ---- The tree along the curve ----

typedef struct range {
	int32_t node;
	uint32_t begin, end;
} range;

/// A child of a range: a leaf, or a new node whose range is pushed.
static int32_t make_child(const cr_links *l, uint32_t begin, uint32_t end, int32_t *next, range *stack, int *top)
{
	if (end - begin == 1)
		return (int32_t)l->keys[begin].value;
	stack[(*top)++] = (range){ *next, begin, end };
	return (*next)++;
}

/// Parents have lower numbers than their children.
static void link_along_curve(cr_links *l)
{
	range stack[CR_MORTON_BITS + 34]; // codes part so often, then equal ones are halved
	int top = 0;
	int32_t next = l->primitives;
	l->root = make_child(l, 0, (uint32_t)l->primitives, &next, stack, &top);
	while (top > 0) {
		const range r = stack[--top];
		const uint32_t half = cr_morton_split(l->keys, r.begin, r.end);
		l->nodes[r.node].left = make_child(l, r.begin, half, &next, stack, &top);
		l->nodes[r.node].right = make_child(l, half, r.end, &next, stack, &top);
	}
	for (int32_t i = next - 1; i >= l->primitives; i--)
		l->nodes[i] = cr_link_over(l, l->nodes[i].left, l->nodes[i].right);
}

// ---- One treelet ----

typedef struct treelet {
	int32_t leaf[TREELET];
	int32_t inner[TREELET]; // numbers to give to its inner nodes but the root
	int leaf_count, inner_count;
	int used;
	int parts[SUBSETS];    // of the best tree over a subset: one of the two sides
	double value, measure; // of the best tree over all leaves
} treelet;

static inline double value_of(double cost, double measure) { return cost + SHARE * measure; }

static treelet form(const cr_links *l, int32_t root)
{
	treelet t = { .leaf = { l->nodes[root].left, l->nodes[root].right }, .leaf_count = 2 };
	while (t.leaf_count < TREELET) {
		int widest = -1;
		double most = -1;
		for (int i = 0; i < t.leaf_count; i++) {
			const double area = cr_link_is_leaf(l, t.leaf[i]) ? -1 : box3f_area(&l->nodes[t.leaf[i]].box);
			if (area > most) {
				most = area;
				widest = i;
			}
		}
		if (widest < 0)
			return t;
		const int32_t opened = t.leaf[widest];
		t.inner[t.inner_count++] = opened;
		t.leaf[widest] = l->nodes[opened].left;
		t.leaf[t.leaf_count++] = l->nodes[opened].right;
	}
	return t;
}

/// Find the tree of least value over all leaves: its parts, value and measure.
static void find_best(const cr_links *l, treelet *t)
{
	box3f box[SUBSETS];
	double cost[SUBSETS], measure[SUBSETS], value[SUBSETS];
	int32_t count[SUBSETS];
	const int all = (1 << t->leaf_count) - 1;
	value[0] = measure[0] = 0; // of no leaf
	for (int s = 1; s <= all; s++) {
		const int lowest = s & -s, rest = s ^ lowest;
		const cr_link *leaf = &l->nodes[t->leaf[__builtin_ctz((unsigned)s)]];
		if (rest == 0) {
			box[s] = leaf->box;
			cost[s] = leaf->cost;
			measure[s] = leaf->measure;
			value[s] = value_of(cost[s], measure[s]);
			count[s] = leaf->count;
			continue;
		}
		box[s] = box3f_join(&box[lowest], &box[rest]);
		count[s] = count[lowest] + count[rest];
		double least = INFINITY;
		// One side holds the lowest leaf.
		for (int p = rest;; p = (p - 1) & rest) {
			const int side = lowest | (rest ^ p);
			if (p == 0)
				break;
			if (value[side] + value[p] < least) {
				least = value[side] + value[p];
				t->parts[s] = side;
			}
		}
		const double area = box3f_area(&box[s]);
		const int side = t->parts[s], other = s ^ side;
		cost[s] = l->traversal * area + cost[side] + cost[other];
		measure[s] = CR_BOX_COST * area + measure[side] + measure[other];
		if (count[s] <= CR_WIDTH && !(cost[s] < area)) {
			cost[s] = area;
			measure[s] = CR_BLOCK_COST * area * count[s];
		}
		value[s] = value_of(cost[s], measure[s]);
	}
	t->value = value[all];
	t->measure = measure[all];
}

/// Link the best tree over a subset. Returns its node.
static int32_t link_best(cr_links *l, treelet *t, int subset, int32_t number)
{
	if ((subset & (subset - 1)) == 0)
		return t->leaf[__builtin_ctz((unsigned)subset)];
	const int side[2] = { t->parts[subset], subset ^ t->parts[subset] };
	int32_t child[2];
	for (int i = 0; i < 2; i++) {
		const bool is_inner = (side[i] & (side[i] - 1)) != 0;
		child[i] = link_best(l, t, side[i], is_inner ? t->inner[t->used++] : -1);
	}
	l->nodes[number] = cr_link_over(l, child[0], child[1]);
	return number;
}

static void restructure(const restructuring *r, int32_t root)
{
	cr_links *l = r->links;
	cr_link *node = &l->nodes[root];
	const double limit = node->measure;
	*node = cr_link_over(l, node->left, node->right); // what is below has changed
	if (node->count < r->least)
		return;
	treelet t = form(l, root);
	if (t.leaf_count < 3)
		return;
	find_best(l, &t);
	if (t.value < GAIN * value_of(node->cost, node->measure) && (!r->strict || t.measure <= limit))
		link_best(l, &t, (1 << t.leaf_count) - 1, root);
}

// ---- All of them ----

static bool is_above(const cr_links *l, int32_t node) { return l->nodes[node].count > SUBTREE; }

/// List the inner nodes of a subtree from the root down. above: only those above the subtrees.
static int32_t list_nodes(const cr_links *l, int32_t root, bool above, int32_t *list)
{
	int32_t count = 0;
	list[count++] = root;
	for (int32_t i = 0; i < count; i++) {
		const int32_t child[2] = { l->nodes[list[i]].left, l->nodes[list[i]].right };
		for (int side = 0; side < 2; side++) {
			if (!cr_link_is_leaf(l, child[side]) && (!above || is_above(l, child[side])))
				list[count++] = child[side];
		}
	}
	return count;
}

static void restructure_list(const restructuring *r, const int32_t *list, int32_t count)
{
	for (int32_t i = count - 1; i >= 0; i--)
		restructure(r, list[i]);
}

static void subtree_task(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const restructuring *r = user;
	for (int64_t i = begin; i < end; i++) {
		int32_t *list = r->list + r->first[i];
		restructure_list(r, list, list_nodes(r->links, r->roots[i], false, list));
	}
}

/// The roots of the subtrees below the listed nodes, and room for the nodes of each.
static void list_roots(restructuring *r, const int32_t *above, int32_t count)
{
	r->root_count = 0;
	r->first[0] = 0;
	for (int32_t i = 0; i < count; i++) {
		const int32_t child[2] = { r->links->nodes[above[i]].left, r->links->nodes[above[i]].right };
		for (int side = 0; side < 2; side++) {
			if (cr_link_is_leaf(r->links, child[side]) || is_above(r->links, child[side]))
				continue;
			r->roots[r->root_count++] = child[side];
			r->first[r->root_count] = r->first[r->root_count - 1] + r->links->nodes[child[side]].count - 1;
		}
	}
}

static void run_round(carom_context *context, restructuring *r)
{
	cr_links *l = r->links;
	if (!is_above(l, l->root)) {
		restructure_list(r, r->list, list_nodes(l, l->root, false, r->list));
		return;
	}
	// The nodes above take the end of the list: the subtrees have one inner node less than
	// primitives each.
	int32_t *above = r->list + l->primitives;
	const int32_t count = list_nodes(l, l->root, true, above);
	list_roots(r, above, count);
	cr_parallel_for(context, subtree_task, r->root_count, 1, r);
	restructure_list(r, above, count);
}

static void run_rounds(carom_context *context, restructuring *r)
{
	r->least = TREELET;
	for (int round = 0; round < ROUNDS; round++, r->least *= 2)
		run_round(context, r);
}

static bool restructure_all(carom_context *context, cr_links *l)
{
	const size_t n = (size_t)l->primitives;
	restructuring r = { .links = l };
	r.list = cr_alloc_array(context, 2 * n, sizeof *r.list);
	r.roots = cr_alloc_array(context, n, sizeof *r.roots);
	r.first = cr_alloc_array(context, n + 1, sizeof *r.first);
	const bool fits = r.list && r.roots && r.first;
	const double start = l->nodes[l->root].measure;
	if (fits && n > 1)
		run_rounds(context, &r);
	if (l->nodes[l->root].measure > start) {
		r.strict = true;
		link_along_curve(l);
		run_rounds(context, &r);
	}
	cr_free(context, r.list, 2 * n * sizeof *r.list);
	cr_free(context, r.roots, n * sizeof *r.roots);
	cr_free(context, r.first, (n + 1) * sizeof *r.first);
	return fits;
}

carom_result cr_tree2_build_treelets(carom_context *context, const cr_build_boxes *boxes, float traversal_cost, cr_tree2 *tree)
{
	*tree = (cr_tree2){ 0 };
	if (boxes->count == 0)
		return CAROM_SUCCESS;
	cr_links links;
	if (!cr_links_begin(context, boxes, traversal_cost, &links))
		return cr_fail_memory(context, "a tree");
	link_along_curve(&links);
	carom_result result = CAROM_OUT_OF_MEMORY;
	if (restructure_all(context, &links))
		result = cr_links_to_tree(context, &links, tree);
	cr_links_end(context, &links);
	return result == CAROM_SUCCESS ? result : cr_fail_memory(context, "a tree");
}
