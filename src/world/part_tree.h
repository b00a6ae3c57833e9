/// Boxes of parts of bodies, as spheres ask for those that they may meet: a tree, and beside it the
/// parts that have no end. It is made in each step. The numbers of parts are the caller's.
#ifndef CR_WORLD_PART_TREE_H
#define CR_WORLD_PART_TREE_H

#include "tree/dynamic.h"

typedef struct cr_part_tree {
	CR_ARRAY(int32_t) endless;
	CR_ARRAY(int32_t) items; // those in the tree
	CR_ARRAY(box3d) boxes;   // beside items
	cr_dynamic_tree tree;
} cr_part_tree;

/// Begins an empty one, from zero or from the last one.
void cr_part_tree_clear(cr_part_tree *parts);
/// Makes room for a count of parts. False: out of memory.
bool cr_part_tree_reserve(carom_context *memory, cr_part_tree *parts, int64_t count);
/// Lists a part. There is room.
void cr_part_tree_add(cr_part_tree *parts, int32_t number, const box3d *box);
/// Makes the tree of the listed parts. False: out of memory.
bool cr_part_tree_build(carom_context *memory, cr_part_tree *parts);
void cr_part_tree_free(carom_context *memory, cr_part_tree *parts);

/// A walk along the parts whose boxes meet a box: those without end first.
typedef struct cr_part_walk {
	const cr_part_tree *parts;
	box3d box;
	int64_t endless; // the next one
	int32_t node;    // the next one; CR_NO_NODE: the walk is over
} cr_part_walk;

static inline cr_part_walk cr_walk_parts(const cr_part_tree *parts, const box3d *box)
{
	return (cr_part_walk){ parts, *box, 0, parts->tree.leaves > 0 ? parts->tree.root : CR_NO_NODE };
}

/// The next part of a walk; CR_NO_NODE: there is none. Any number may walk.
static inline int32_t cr_next_part(cr_part_walk *walk)
{
	const cr_part_tree *parts = walk->parts;
	if (walk->endless < parts->endless.count)
		return parts->endless.data[walk->endless++];
	while (walk->node != CR_NO_NODE) {
		const cr_dynamic_node *n = &parts->tree.nodes.data[walk->node];
		const box3d box = cr_dynamic_box(n);
		const bool meets = box3d_overlap(&box, &walk->box), leaf = cr_dynamic_is_leaf(n);
		walk->node = meets && !leaf ? n->child[0] : cr_dynamic_next_beside(&parts->tree, walk->node);
		if (meets && leaf)
			return cr_dynamic_item(n);
	}
	return CR_NO_NODE;
}

#endif
