/// The descent rule of the BVTT: fixed by the tree, whatever the boxes do, so that a front outlives every motion.
///
/// A node against itself has three children (2-3 tree). Of two nodes the one with more triangles is split, the first of equals: a
/// leaf never, unless both are. Sizes fall along every path, so the ancestors of both merge by size into one path from the root, and
/// every node of the BVTT has one parent.
#ifndef CR_SWEEP_SWEEP_DESCENT_H
#define CR_SWEEP_SWEEP_DESCENT_H

#include "sweep/sweep_kernels.h"

/// Children in the order of the traversal; returns how many. 0: two leaves, or a leaf against itself.
static inline int cr_descend(const cr_sweep_tree *tree, cr_sweep_pair p, cr_sweep_pair children[3])
{
	const cr_sweep_node *a = &tree->nodes[p.a], *b = &tree->nodes[p.b];
	if (p.a == p.b) {
		if (cr_is_leaf(a))
			return 0;
		const int32_t left = p.a + 1, right = a->right;
		children[0] = (cr_sweep_pair){ left, left };
		children[1] = (cr_sweep_pair){ left, right };
		children[2] = (cr_sweep_pair){ right, right };
		return 3;
	}
	if (a->size >= b->size) {
		if (cr_is_leaf(a))
			return 0;
		children[0] = (cr_sweep_pair){ p.a + 1, p.b };
		children[1] = (cr_sweep_pair){ a->right, p.b };
	} else {
		children[0] = (cr_sweep_pair){ p.a, p.b + 1 };
		children[1] = (cr_sweep_pair){ p.a, b->right };
	}
	return 2;
}

/// The parent of two nodes of the BVTT that may be siblings: true when one of a, b is the same in both, and the other ones are the
/// children of one node. (Whatever the front holds in their place covers the same pairs of triangles.)
static inline bool cr_are_siblings(const cr_sweep_tree *tree, cr_sweep_pair first, cr_sweep_pair second, cr_sweep_pair *parent)
{
	if (first.b == second.b) {
		*parent = (cr_sweep_pair){ first.a - 1, first.b };
		return first.a > 0 && tree->nodes[first.a - 1].right == second.a;
	}
	*parent = (cr_sweep_pair){ first.a, first.b - 1 };
	return first.a == second.a && first.b > 0 && tree->nodes[first.b - 1].right == second.b;
}

#endif
