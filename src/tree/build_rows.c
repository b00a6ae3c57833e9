/// Builder of the tree of a grid of cells or samples, whose layout is known: rectangles are halved
/// along their longer side until they fit in a leaf. Sides are parted at powers of two, so nearly
/// all leaves are full, and all subtrees of a size are alike. What is no part of the grid gets a
/// tree by the surface area heuristic beside it. O(n).

#include "tree/slots.h"
#include "tree/tree.h"

/// Part of a grid: columns and rows from the first to before the end.
typedef struct part {
	int32_t first[2];
	int32_t end[2];
} part;

typedef struct builder {
	const cr_rows *rows;
	cr_tree2 *tree; // what was built so far
	int32_t placed; // primitives
} builder;

static int32_t side_of(const part *p, int k) { return p->end[k] - p->first[k]; }

static bool is_leaf(const builder *b, const part *p)
{
	return (int64_t)side_of(p, 0) * side_of(p, 1) * b->rows->each <= CR_WIDTH;
}

/// The greatest power of two below a number, which is 2 at least.
static int32_t power_below(int32_t n)
{
	int32_t power = 1;
	while (2 * power < n)
		power *= 2;
	return power;
}

/// Halve a part along its longer side.
static void halve(const builder *b, const part *p, part halves[2])
{
	const double width = side_of(p, 0) * b->rows->spacing[0], height = side_of(p, 1) * b->rows->spacing[1];
	const int k = side_of(p, 1) == 1 || (side_of(p, 0) > 1 && width >= height) ? 0 : 1;
	halves[0] = halves[1] = *p;
	halves[0].end[k] = halves[1].first[k] = p->first[k] + power_below(side_of(p, k));
}

static void place_leaf(builder *b, const part *p, cr_node2 *node)
{
	const cr_rows *r = b->rows;
	node->first = b->placed;
	for (int32_t row = p->first[1]; row < p->end[1]; row++) {
		for (int32_t i = r->each * p->first[0]; i < r->each * p->end[0]; i++)
			b->tree->order[b->placed++] = r->each * r->columns * row + i;
	}
	node->count = b->placed - node->first;
}

/// Append the nodes of the grid.
static void place_grid(builder *b)
{
	struct {
		part part;
		int32_t parent; // of a second child; -1: of a first one
	} stack[CR_MAX_DEPTH + 1];
	int top = 0;
	stack[top].part = (part){ { 0, 0 }, { b->rows->columns, b->rows->rows } };
	stack[top++].parent = -1;
	while (top > 0) {
		const part p = stack[--top].part;
		const int32_t number = b->tree->node_count++, parent = stack[top].parent;
		cr_node2 *node = &b->tree->nodes[number];
		*node = (cr_node2){ .skip = -1 };
		if (parent >= 0)
			b->tree->nodes[parent].first = number;
		if (is_leaf(b, &p)) {
			place_leaf(b, &p, node);
			continue;
		}
		part halves[2];
		halve(b, &p, halves);
		stack[top].part = halves[1];
		stack[top++].parent = number;
		stack[top].part = halves[0];
		stack[top++].parent = -1;
	}
}

/// Count the nodes of the grid.
static int64_t count_nodes(const builder *b)
{
	part stack[CR_MAX_DEPTH + 1];
	int top = 0;
	int64_t count = 0;
	stack[top++] = (part){ { 0, 0 }, { b->rows->columns, b->rows->rows } };
	while (top > 0) {
		const part p = stack[--top];
		count++;
		if (is_leaf(b, &p))
			continue;
		halve(b, &p, &stack[top]);
		top += 2;
	}
	return count;
}

/// Append the nodes of another tree, whose primitives begin behind those of the grid.
static void place_rest(builder *b, const cr_tree2 *rest)
{
	cr_tree2 *tree = b->tree;
	const int32_t shift = tree->node_count, placed = b->placed;
	for (int32_t i = 0; i < rest->node_count; i++) {
		cr_node2 *node = &tree->nodes[tree->node_count++];
		*node = rest->nodes[i];
		node->first += node->count > 0 ? placed : shift;
	}
	for (int32_t i = 0; i < rest->primitive_count; i++)
		tree->order[b->placed++] = placed + rest->order[i];
}

/// Build the tree, with the rest ready. false: out of memory.
static bool build(carom_context *context, const cr_rows *rows, const cr_build_boxes *boxes, const cr_tree2 *rest, cr_tree2 *tree)
{
	builder b = { rows, tree, 0 };
	const int64_t nodes = count_nodes(&b) + (rest->node_count > 0 ? 1 + (int64_t)rest->node_count : 0);
	*tree = (cr_tree2){ .primitive_count = boxes->count };
	tree->nodes = nodes <= INT32_MAX ? cr_alloc_array(context, (size_t)nodes, sizeof *tree->nodes) : NULL;
	tree->order = cr_alloc_array(context, (size_t)boxes->count, sizeof *tree->order);
	if (!tree->nodes || !tree->order) {
		tree->node_count = (int32_t)nodes;
		cr_tree2_free(context, tree);
		return false;
	}
	if (rest->node_count > 0)
		tree->nodes[tree->node_count++] = (cr_node2){ .skip = -1 };
	place_grid(&b);
	if (rest->node_count > 0) {
		tree->nodes[0].first = tree->node_count;
		place_rest(&b, rest);
	}
	cr_link_skips(tree->nodes, tree->node_count);
	cr_tree2_refit(tree, cr_build_box, boxes);
	return true;
}

carom_result cr_tree2_build_rows(
	carom_context *context, const cr_rows *rows, const cr_build_boxes *boxes, float traversal_cost, cr_tree2 *tree)
{
	*tree = (cr_tree2){ 0 };
	cr_build_boxes others = *boxes;
	const int32_t cells = rows->columns * rows->rows * rows->each;
	others.count -= cells;
	for (int k = 0; k < 3; k++) {
		others.lower[k] += cells;
		others.upper[k] += cells;
	}
	cr_tree2 rest;
	carom_result result = cr_tree2_build(context, &others, traversal_cost, &rest);
	if (result == CAROM_SUCCESS && !build(context, rows, boxes, &rest, tree))
		result = cr_fail_memory(context, "a tree");
	cr_tree2_free(context, &rest);
	return result;
}
