/// The 8-wide tree from the binary one.
///
/// Which binary nodes become children of which wide node is chosen so that the surface area
/// heuristic of the wide tree is least, by dynamic programming (Ylitalo, Karras, Aila, Efficient
/// Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017, section 3): best[n][i] is
/// the least cost of the subtree of n as a forest of at most i+1 roots. O(n * 8 * 8) time, O(n * 8)
/// memory. Opening the largest child greedily, as is more common, gave nodes of 4.3 children on the
/// 902-triangle body. Leaves become blocks in the order in which the walk meets them.

#include "tree/tree.h"
#include <string.h>

// Cost of a node test in block tests.
static const float NODE_COST = 1.2f;

/// Least cost of a binary node's subtree as a forest, and how the roots are shared between its two
/// children.
typedef struct forest {
	// by number of roots - 1; eight roots are those of a wide node
	float best[CR_WIDTH - 1];
	float node_best;                  // all eight children in use
	uint8_t left_roots[CR_WIDTH - 1]; // of best[i]; 0: same as best[i-1]
	uint8_t node_left_roots;
} forest;

static float node_area(const cr_node2 *n)
{
	const float x = n->upper[0] - n->lower[0], y = n->upper[1] - n->lower[1], z = n->upper[2] - n->lower[2];
	return x * y + y * z + z * x;
}

/// Cheapest way to share roots between two forests.
static float share_roots(const forest *left, const forest *right, int roots, uint8_t *left_roots)
{
	float best = 0;
	*left_roots = 0;
	for (int k = 1; k < roots; k++) {
		const float cost = left->best[k - 1] + right->best[roots - k - 1];
		if (*left_roots == 0 || cost < best) {
			best = cost;
			*left_roots = (uint8_t)k;
		}
	}
	return best;
}

/// Children come after their parents, so one pass from the end.
static void plan(const cr_tree2 *binary, forest *forests)
{
	for (int32_t n = binary->node_count - 1; n >= 0; n--) {
		const cr_node2 *node = &binary->nodes[n];
		forest *f = &forests[n];
		memset(f, 0, sizeof *f);
		const float area = node_area(node);
		if (node->count > 0) {
			for (int i = 0; i < CR_WIDTH - 1; i++)
				f->best[i] = area;
			continue;
		}
		const forest *left = &forests[n + 1], *right = &forests[node->first];
		f->node_best = share_roots(left, right, CR_WIDTH, &f->node_left_roots);
		f->best[0] = f->node_best + NODE_COST * area;
		for (int i = 1; i < CR_WIDTH - 1; i++) {
			f->best[i] = share_roots(left, right, i + 1, &f->left_roots[i]);
			if (f->best[i] >= f->best[i - 1]) {
				f->best[i] = f->best[i - 1];
				f->left_roots[i] = 0;
			}
		}
	}
}

/// A forest still to be resolved: the roots that the subtree of a node may have.
typedef struct open_forest {
	int32_t node;
	int roots;
} open_forest;

/// The binary nodes that become the children of the wide node made from root, in depth-first order.
/// A leaf becomes its own only child.
static int gather_children(const cr_tree2 *binary, const forest *forests, int32_t root, int32_t children[CR_WIDTH])
{
	if (binary->nodes[root].count > 0) {
		children[0] = root;
		return 1;
	}
	open_forest stack[CR_WIDTH + 1];
	int top = 0, count = 0;
	const int left = forests[root].node_left_roots;
	stack[top++] = (open_forest){ binary->nodes[root].first, CR_WIDTH - left };
	stack[top++] = (open_forest){ root + 1, left };
	while (top > 0) {
		open_forest f = stack[--top];
		const cr_node2 *node = &binary->nodes[f.node];
		while (f.roots > 1 && node->count == 0 && forests[f.node].left_roots[f.roots - 1] == 0)
			f.roots--;
		if (f.roots == 1 || node->count > 0) {
			children[count++] = f.node;
			continue;
		}
		const int left_roots = forests[f.node].left_roots[f.roots - 1];
		stack[top++] = (open_forest){ node->first, f.roots - left_roots };
		stack[top++] = (open_forest){ f.node + 1, left_roots };
	}
	return count;
}

static void set_child_box(cr_node8 *node, int slot, const cr_node2 *from, float pad)
{
	for (int k = 0; k < 3; k++) {
		node->lower[k][slot] = from->lower[k] - pad;
		node->upper[k][slot] = from->upper[k] + pad;
	}
}

static void clear_node(cr_node8 *node)
{
	memset(node, 0, sizeof *node);
	// Only a ray or box that is not a number meets an unused child: it then finds a leaf, not the
	// root again.
	for (int i = 0; i < CR_WIDTH; i++)
		node->child[i] = CR_LEAF_BIT;
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < CR_WIDTH; i++) {
			node->lower[k][i] = CR_EMPTY_LOWER;
			node->upper[k][i] = CR_EMPTY_UPPER;
		}
	}
}

typedef struct open_node {
	int32_t binary;
	int32_t wide;
	int32_t depth;
} open_node;

static void collapse(const cr_tree2 *binary, const forest *forests, float pad, cr_tree8 *tree, open_node *stack)
{
	int top = 0;
	stack[top++] = (open_node){ 0, 0, 1 };
	tree->node_count = 1;
	tree->block_count = 0;
	while (top > 0) {
		const open_node open = stack[--top];
		cr_node8 *node = &tree->nodes[open.wide];
		int32_t children[CR_WIDTH];
		const int count = gather_children(binary, forests, open.binary, children);
		clear_node(node);
		node->child_count = (uint32_t)count;
		tree->depth = open.depth > tree->depth ? open.depth : tree->depth;
		const int first_pushed = top;
		for (int i = 0; i < count; i++) {
			const cr_node2 *from = &binary->nodes[children[i]];
			set_child_box(node, i, from, pad);
			if (from->count > 0) {
				tree->block_first[tree->block_count] = from->first;
				tree->block_size[tree->block_count] = from->count;
				node->child[i] = CR_LEAF_BIT | (uint32_t)tree->block_count++;
			} else {
				node->child[i] = (uint32_t)tree->node_count;
				stack[top++] = (open_node){ children[i], tree->node_count++, open.depth + 1 };
			}
		}
		// Reverse, so that the first child is taken next.
		for (int a = first_pushed, b = top - 1; a < b; a++, b--) {
			const open_node swapped = stack[a];
			stack[a] = stack[b];
			stack[b] = swapped;
		}
	}
}

/// The nodes that collapse makes.
static int32_t count_nodes(const cr_tree2 *binary, const forest *forests, open_node *stack)
{
	int top = 0;
	int32_t nodes = 0;
	stack[top++].binary = 0;
	while (top > 0) {
		int32_t children[CR_WIDTH];
		const int count = gather_children(binary, forests, stack[--top].binary, children);
		for (int i = 0; i < count; i++) {
			if (binary->nodes[children[i]].count == 0)
				stack[top++].binary = children[i];
		}
		nodes++;
	}
	return nodes;
}

/// Make the arrays of a tree as long as they will be, and fill them. false: out of memory.
static bool fill_tree(carom_context *context, const cr_tree2 *binary, const forest *forests, float pad, open_node *stack,
	int32_t leaves, cr_tree8 *tree)
{
	tree->node_count = count_nodes(binary, forests, stack);
	tree->block_count = leaves;
	tree->nodes = cr_alloc_array(context, (size_t)tree->node_count, sizeof(cr_node8));
	tree->block_first = cr_alloc_array(context, (size_t)leaves, sizeof(int32_t));
	tree->block_size = cr_alloc_array(context, (size_t)leaves, sizeof(int32_t));
	if (!tree->nodes || !tree->block_first || !tree->block_size) {
		cr_tree8_free(context, tree);
		return false;
	}
	collapse(binary, forests, pad, tree, stack);
	return true;
}

carom_result cr_tree8_build(carom_context *context, const cr_tree2 *binary, float pad, cr_tree8 *tree)
{
	*tree = (cr_tree8){ 0 };
	if (binary->node_count == 0)
		return CAROM_SUCCESS;
	const size_t leaves = ((size_t)binary->node_count + 1) / 2;
	// Every wide node but a root of one leaf has at least two children, so there are at most as
	// many nodes as leaves.
	open_node *stack = cr_alloc_array(context, leaves, sizeof(open_node));
	forest *forests = cr_alloc_array(context, (size_t)binary->node_count, sizeof(forest));
	bool fits = stack && forests;
	if (fits) {
		plan(binary, forests);
		fits = fill_tree(context, binary, forests, pad, stack, (int32_t)leaves, tree);
	}
	cr_free(context, forests, (size_t)binary->node_count * sizeof(forest));
	cr_free(context, stack, leaves * sizeof(open_node));
	return fits ? CAROM_SUCCESS : cr_fail_memory(context, "a wide tree");
}

void cr_tree8_free(carom_context *context, cr_tree8 *tree)
{
	cr_free(context, tree->nodes, (size_t)tree->node_count * sizeof(cr_node8));
	cr_free(context, tree->block_first, (size_t)tree->block_count * sizeof(int32_t));
	cr_free(context, tree->block_size, (size_t)tree->block_count * sizeof(int32_t));
	*tree = (cr_tree8){ 0 };
}

// ---- Refitting ----

static void set_box(cr_node8 *node, uint32_t slot, const float lower[3], const float upper[3], float pad)
{
	for (int k = 0; k < 3; k++) {
		node->lower[k][slot] = lower[k] - pad;
		node->upper[k][slot] = upper[k] + pad;
	}
}

/// The box of all children of a node, which are larger by the pad already.
static void box_of_children(const cr_node8 *node, float lower[3], float upper[3])
{
	for (int k = 0; k < 3; k++) {
		lower[k] = node->lower[k][0];
		upper[k] = node->upper[k][0];
		for (uint32_t i = 1; i < node->child_count; i++) {
			lower[k] = node->lower[k][i] < lower[k] ? node->lower[k][i] : lower[k];
			upper[k] = node->upper[k][i] > upper[k] ? node->upper[k][i] : upper[k];
		}
	}
}

typedef struct near_refit {
	cr_tree8 *tree;
	const box3f *region;
	float pad;
	cr_block_refit_fn *refit;
	void *user;
	int32_t written; // nodes
} near_refit;

static bool meets_child(const cr_node8 *node, uint32_t i, const box3f *region)
{
	for (int k = 0; k < 3; k++) {
		if (node->lower[k][i] > region->upper[k] || node->upper[k][i] < region->lower[k])
			return false;
	}
	return true;
}

/// Returns whether boxes of the node's children were written.
static bool refit_below(near_refit *r, uint32_t n)
{
	cr_node8 *node = &r->tree->nodes[n];
	bool written = false;
	for (uint32_t i = 0; i < node->child_count; i++) {
		const bool leaf = node->child[i] & CR_LEAF_BIT;
		const uint32_t child = node->child[i] & ~CR_LEAF_BIT;
		float lower[3], upper[3];
		if (!meets_child(node, i, r->region))
			continue;
		if (leaf ? !r->refit(r->user, (int32_t)child, lower, upper) : !refit_below(r, child))
			continue;
		if (!leaf)
			box_of_children(&r->tree->nodes[child], lower, upper);
		set_box(node, i, lower, upper, leaf ? r->pad : 0);
		written = true;
	}
	r->written += written;
	return written;
}

int32_t cr_tree8_refit_near(cr_tree8 *tree, const box3f *region, float pad, cr_block_refit_fn *refit, void *user)
{
	near_refit r = { tree, region, pad, refit, user, 0 };
	if (tree->node_count > 0)
		refit_below(&r, 0);
	return r.written;
}
