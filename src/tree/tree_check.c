/// Invariants of trees, for tests and for whoever doubts a tree.

#include "tree/tree.h"

static bool encloses(const float outer_lower[3], const float outer_upper[3], const float lower[3], const float upper[3])
{
	for (int k = 0; k < 3; k++) {
		if (!(outer_lower[k] <= lower[k] && upper[k] <= outer_upper[k]))
			return false;
	}
	return true;
}

static bool leaf_encloses(const cr_tree2 *tree, const cr_node2 *n, const cr_build_boxes *boxes)
{
	for (int32_t i = 0; i < n->count; i++) {
		const int32_t p = tree->order[n->first + i];
		if (p < 0 || p >= boxes->count)
			return false;
		const float lower[3] = { boxes->lower[0][p], boxes->lower[1][p], boxes->lower[2][p] };
		const float upper[3] = { boxes->upper[0][p], boxes->upper[1][p], boxes->upper[2][p] };
		if (!encloses(n->lower, n->upper, lower, upper))
			return false;
	}
	return true;
}

static bool links_children(const cr_tree2 *tree, int32_t at)
{
	const cr_node2 *n = &tree->nodes[at];
	const int32_t second = n->first;
	return n->count == 0 && second > at + 1 && second < n->skip && n->skip <= tree->node_count &&
		tree->nodes[at + 1].skip == second && tree->nodes[second].skip == n->skip;
}

bool cr_tree2_check_links(const cr_tree2 *tree, int32_t primitives)
{
	if (primitives == 0)
		return tree->node_count == 0;
	int32_t position = 0;
	for (int32_t at = 0; at < tree->node_count; at++) {
		const cr_node2 *n = &tree->nodes[at];
		if (n->count <= 0) {
			if (!links_children(tree, at))
				return false;
			continue;
		}
		if (n->skip != at + 1 || n->first != position || n->count > CR_WIDTH || n->count > primitives - position)
			return false;
		position += n->count;
	}
	return position == primitives && tree->node_count > 0 && tree->nodes[0].skip == tree->node_count;
}

bool cr_tree2_check(const cr_tree2 *tree, const cr_build_boxes *boxes)
{
	if (!cr_tree2_check_links(tree, boxes->count))
		return false;
	int64_t sum = 0;
	for (int32_t at = 0; at < tree->node_count; at++) {
		const cr_node2 *n = &tree->nodes[at];
		if (n->count == 0) {
			const cr_node2 *children[2] = { &tree->nodes[at + 1], &tree->nodes[n->first] };
			for (int i = 0; i < 2; i++) {
				if (!encloses(n->lower, n->upper, children[i]->lower, children[i]->upper))
					return false;
			}
			continue;
		}
		if (!leaf_encloses(tree, n, boxes))
			return false;
		for (int32_t i = 0; i < n->count; i++)
			sum += tree->order[n->first + i];
	}
	// Each number once: as many as there are, in range, with the right sum. (A test compares the
	// sets themselves.)
	return sum == (int64_t)boxes->count * (boxes->count - 1) / 2;
}

bool cr_tree8_check(const cr_tree8 *tree, const cr_tree2 *binary)
{
	int32_t blocks = 0, nodes = 1;
	int64_t primitives = 0;
	for (int32_t at = 0; at < tree->node_count; at++) {
		const cr_node8 *n = &tree->nodes[at];
		for (uint32_t i = 0; i < n->child_count; i++) {
			if (n->child[i] & CR_LEAF_BIT) {
				const int32_t block = (int32_t)(n->child[i] & ~CR_LEAF_BIT);
				if (block >= tree->block_count)
					return false;
				primitives += tree->block_size[block];
				blocks++;
				continue;
			}
			nodes++;
			if (n->child[i] <= (uint32_t)at || n->child[i] >= (uint32_t)tree->node_count)
				return false;
			const cr_node8 *child = &tree->nodes[n->child[i]];
			const float lower[3] = { n->lower[0][i], n->lower[1][i], n->lower[2][i] };
			const float upper[3] = { n->upper[0][i], n->upper[1][i], n->upper[2][i] };
			for (uint32_t j = 0; j < child->child_count; j++) {
				const float inner_lower[3] = { child->lower[0][j], child->lower[1][j], child->lower[2][j] };
				const float inner_upper[3] = { child->upper[0][j], child->upper[1][j], child->upper[2][j] };
				if (!encloses(lower, upper, inner_lower, inner_upper))
					return false;
			}
		}
	}
	return tree->node_count == 0
		? binary->node_count == 0
		: blocks == tree->block_count && nodes == tree->node_count && primitives == binary->primitive_count;
}
