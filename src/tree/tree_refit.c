/// Boxes of a binary tree from the leaves up. See tree/tree.h.
#include "math/box3.h"
#include "tree/tree.h"
#include <string.h>

static bool has_moved(const cr_tree2 *tree, const cr_node2 *leaf, cr_primitive_moved_fn *moved, const void *user)
{
	for (int32_t i = 0; moved && i < leaf->count; i++) {
		if (moved(user, tree->order[leaf->first + i]))
			return true;
	}
	return !moved;
}

void cr_tree2_refit(cr_tree2 *tree, cr_primitive_box_fn *box, cr_primitive_moved_fn *moved, const void *user)
{
	// Children come after their parents.
	for (int32_t n = tree->node_count - 1; n >= 0; n--) {
		cr_node2 *node = &tree->nodes[n];
		if (node->count == 0) {
			const cr_node2 *a = &tree->nodes[n + 1], *b = &tree->nodes[node->first];
			for (int k = 0; k < 3; k++) {
				node->lower[k] = a->lower[k] < b->lower[k] ? a->lower[k] : b->lower[k];
				node->upper[k] = a->upper[k] > b->upper[k] ? a->upper[k] : b->upper[k];
			}
		} else if (has_moved(tree, node, moved, user)) {
			box3f all = BOX3F_NONE;
			for (int32_t i = 0; i < node->count; i++) {
				box3f one;
				box(user, tree->order[node->first + i], one.lower, one.upper);
				all = box3f_join(&one, &all);
			}
			memcpy(node->lower, all.lower, sizeof node->lower);
			memcpy(node->upper, all.upper, sizeof node->upper);
		}
	}
}
