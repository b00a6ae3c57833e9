/// Choice of the wide kernels of swept scenes at run time, and the descent rule outside of them.
#include "base/dispatch.h"
#include "sweep/sweep_descent.h"

CR_DEFINE_KERNEL_GETTER(cr_sweep_kernels, cr_get_sweep_kernels)

int cr_sweep_children(const cr_sweep_tree *tree, cr_sweep_pair pair, cr_sweep_pair children[3])
{
	cr_sweep_pair all[3];
	const int count = cr_descend(tree, pair, all);
	int left = 0;
	for (int i = 0; i < count; i++) {
		const cr_sweep_node *a = &tree->nodes[all[i].a], *b = &tree->nodes[all[i].b];
		// A leaf against itself has no two features without a common vertex.
		if (!cr_is_excluded(a, b) && !(all[i].a == all[i].b && cr_is_leaf(a)))
			children[left++] = all[i];
	}
	return left;
}
