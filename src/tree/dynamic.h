/// A tree of boxes that come, move and go one by one, for broad phases (Catto, Dynamic Bounding
/// Volume Hierarchies, GDC 2019).
///
/// Binary, an item a leaf. Nodes begin at doubles and have float sizes, rounded up, so that neither
/// a scene far from its origin nor one far item costs more than another. Boxes are smaller than
/// 1e30. Nodes keep their numbers while others come and go, so the number of a leaf may be
/// remembered. A box moves by being removed and inserted. An insertion costs O(log n) where boxes
/// are small, a build O(n log n). Memory is taken by cr_dynamic_reserve alone: only walks can fail
/// beside it. Changes are made by one thread; any number may walk.
#ifndef CR_TREE_DYNAMIC_H
#define CR_TREE_DYNAMIC_H

#include "base/array.h"
#include "math/box3.h"

enum { CR_NO_NODE = -1 };

typedef struct cr_dynamic_node {
	double lower[3];
	float size[3]; // to the upper side: see cr_dynamic_box
	int32_t parent;
	// The first is CR_NO_NODE: a leaf, whose item is the second; or a free node, where that is
	// CR_NO_NODE too.
	int32_t child[2];
} cr_dynamic_node;

_Static_assert(sizeof(cr_dynamic_node) == 48, "a million bodies have two million nodes");

/// An entry of the search for the best sibling.
typedef struct cr_dynamic_candidate {
	double inherited; // growth of the ancestors' areas
	int32_t node;
} cr_dynamic_candidate;

/// Begin one by cr_dynamic_clear from zero.
typedef struct cr_dynamic_tree {
	CR_ARRAY(cr_dynamic_node) nodes; // count: high-water mark
	// of an insertion. It has room for a part of the nodes: the nodes that find none in it are left
	// out of the search.
	CR_ARRAY(cr_dynamic_candidate) queue;
	int32_t root;      // CR_NO_NODE: the tree is empty
	int32_t free_node; // list through parent
	int32_t leaves;
	double built_area; // inner area relative to the root's, of the last build
	int32_t built_leaves;
} cr_dynamic_tree;

static inline bool cr_dynamic_is_leaf(const cr_dynamic_node *n) { return n->child[0] == CR_NO_NODE; }
/// The item of a leaf; CR_NO_NODE: the node is inner or free.
static inline int32_t cr_dynamic_item(const cr_dynamic_node *n) { return cr_dynamic_is_leaf(n) ? n->child[1] : CR_NO_NODE; }
/// The box of a node: that of a leaf is at most a few roundings to float larger than its item's.
static inline box3d cr_dynamic_box(const cr_dynamic_node *n)
{
	box3d b;
	for (int k = 0; k < 3; k++) {
		b.lower[k] = n->lower[k];
		b.upper[k] = n->lower[k] + (double)n->size[k];
	}
	return b;
}

/// The next node of a walk from child[0] to child[1] that does not go below node; CR_NO_NODE: the
/// walk is over.
static inline int32_t cr_dynamic_next_beside(const cr_dynamic_tree *tree, int32_t node)
{
	const cr_dynamic_node *nodes = tree->nodes.data;
	while (node != tree->root && nodes[nodes[node].parent].child[1] == node)
		node = nodes[node].parent;
	return node == tree->root ? CR_NO_NODE : nodes[nodes[node].parent].child[1];
}

/// Make a tree empty; its memory stays.
void cr_dynamic_clear(cr_dynamic_tree *tree);
void cr_dynamic_free(carom_context *context, cr_dynamic_tree *tree);
/// Make room for so many leaves. false: out of memory; the tree is as it was.
bool cr_dynamic_reserve(carom_context *context, cr_dynamic_tree *tree, int64_t leaves);

/// Add an item beside the node where it adds least area. Returns its leaf.
int32_t cr_dynamic_insert(cr_dynamic_tree *tree, int32_t item, const box3d *bounds);
void cr_dynamic_remove(cr_dynamic_tree *tree, int32_t leaf);
/// Make the tree over items [count] and their boxes, by the binned heuristic along the longest
/// axis. Leaf i holds items[i]. The content of items is lost.
void cr_dynamic_build(cr_dynamic_tree *tree, int32_t *items, const box3d *bounds, int32_t count);
/// Has the tree doubled, or have its boxes grown by so much since the last build that another one
/// pays?
bool cr_dynamic_is_worn_out(const cr_dynamic_tree *tree);

typedef void cr_dynamic_visit_fn(void *user, const cr_dynamic_tree *tree, int32_t node);
/// Visit all nodes, children before their parents.
void cr_dynamic_visit_up(cr_dynamic_tree *tree, cr_dynamic_visit_fn *visit, void *user);

/// A pair of nodes that a walk has before it.
typedef struct cr_dynamic_entry {
	int32_t a, b;
} cr_dynamic_entry;
typedef CR_ARRAY(cr_dynamic_entry) cr_dynamic_stack;

/// The walk through two trees, or one tree twice.
typedef struct cr_dynamic_walk {
	carom_context *context;
	const cr_dynamic_tree *a, *b;
	cr_dynamic_stack *stack; // its memory is used again
	/// May an item below node a of the one tree and one below node b of the other be a pair? NULL:
	/// all may.
	bool (*may)(void *user, int32_t a, int32_t b);
	/// Take a pair of items whose boxes overlap. false: end the walk.
	bool (*pair)(void *user, int32_t a, int32_t b);
	void *user;
	int64_t compared; // pairs of nodes; each walk adds its own
} cr_dynamic_walk;

/// Hand over all pairs of leaves below node a of the one tree and node b of the other. false: out
/// of memory.
bool cr_dynamic_pairs(cr_dynamic_walk *walk, int32_t a, int32_t b);

/// Check the invariants: links both ways, boxes that are those of their children, the number of
/// leaves, and no node that is neither linked nor free. For tests.
bool cr_dynamic_check(const cr_dynamic_tree *tree);

#endif
