/// The descent rule of the BVTT: fixed by the tree, whatever the boxes do, so that a front outlives
/// every motion.
///
/// A node against itself has three children (2-3 tree). Of two nodes the one with more triangles is
/// split, the first of equals: a leaf never, unless both are. Sizes fall along every path, so the
/// ancestors of both merge by size into one path from the root, and every node of the BVTT has one
/// parent.
#ifndef CR_SWEEP_SWEEP_DESCENT_H
#define CR_SWEEP_SWEEP_DESCENT_H

#include "sweep/sweep_kernels.h"

/// Which of two different nodes is split?
static inline bool cr_splits_first(const cr_sweep_node *a, const cr_sweep_node *b) { return a->size >= b->size; }

/// Children in the order of the traversal; returns how many. 0: two leaves, or a leaf against
/// itself.
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
	if (cr_splits_first(a, b)) {
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

/// The parent of a pair of two different nodes. Sizes of the split nodes fall along the path to it,
/// so of the two parents the smaller one was split last; of equal ones the second.
static inline cr_sweep_pair cr_parent(const cr_sweep_tree *tree, cr_sweep_pair p)
{
	const int32_t a = tree->nodes[p.a].parent, b = tree->nodes[p.b].parent;
	if (a == b)
		return (cr_sweep_pair){ a, a };
	return tree->nodes[a].size < tree->nodes[b].size ? (cr_sweep_pair){ a, p.b } : (cr_sweep_pair){ p.a, b };
}

/// Of the two children of a pair of two different nodes.
static inline bool cr_is_first_child(cr_sweep_pair parent, cr_sweep_pair child)
{
	return child.a == parent.a ? child.b == parent.b + 1 : child.a == parent.a + 1;
}

#endif
