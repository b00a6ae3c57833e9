/// Boxes of a binary tree from the leaves up. See tree/tree.h.
#include "tree/tree.h"
#include <string.h>

static void bound_leaf(const cr_tree2 *tree, cr_node2 *leaf, cr_primitive_box_fn *box, const void *user)
{
	box3f all = BOX3F_NONE;
	for (int32_t i = 0; i < leaf->count; i++) {
		box3f one;
		box(user, tree->order[leaf->first + i], one.lower, one.upper);
		all = box3f_join(&one, &all);
	}
	memcpy(leaf->lower, all.lower, sizeof leaf->lower);
	memcpy(leaf->upper, all.upper, sizeof leaf->upper);
}

static void bound_inner(cr_node2 *node, const cr_node2 *a, const cr_node2 *b)
{
	for (int k = 0; k < 3; k++) {
		node->lower[k] = a->lower[k] < b->lower[k] ? a->lower[k] : b->lower[k];
		node->upper[k] = a->upper[k] > b->upper[k] ? a->upper[k] : b->upper[k];
	}
}

void cr_tree2_refit(cr_tree2 *tree, cr_primitive_box_fn *box, const void *user)
{
	// Children come after their parents.
	for (int32_t n = tree->node_count - 1; n >= 0; n--) {
		cr_node2 *node = &tree->nodes[n];
		if (node->count == 0)
			bound_inner(node, &tree->nodes[n + 1], &tree->nodes[node->first]);
		else
			bound_leaf(tree, node, box, user);
	}
}

static bool is_apart(const cr_node2 *node, const box3f *region)
{
	for (int k = 0; k < 3; k++) {
		if (node->lower[k] > region->upper[k] || node->upper[k] < region->lower[k])
			return true;
	}
	return false;
}

/// Refit a node and all below it that meet a region. Returns how many were refitted.
static int32_t refit_below(cr_tree2 *tree, int32_t n, const box3f *region, cr_primitive_box_fn *box, const void *user)
{
	cr_node2 *node = &tree->nodes[n];
	if (is_apart(node, region))
		return 0;
	if (node->count > 0) {
		bound_leaf(tree, node, box, user);
		return 1;
	}
	const int32_t count = refit_below(tree, n + 1, region, box, user) + refit_below(tree, node->first, region, box, user);
	bound_inner(node, &tree->nodes[n + 1], &tree->nodes[node->first]);
	return count + 1;
}

int32_t cr_tree2_refit_near(cr_tree2 *tree, const box3f *region, cr_primitive_box_fn *box, const void *user)
{
	return tree->node_count > 0 ? refit_below(tree, 0, region, box, user) : 0;
}
