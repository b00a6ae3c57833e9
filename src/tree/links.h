/// Binary trees whose nodes name both children, as builders make them that work from the leaves up.
#ifndef CR_TREE_LINKS_H
#define CR_TREE_LINKS_H

#include "math/box3.h"
#include "tree/morton.h"
#include "tree/tree.h"

/// A node. Leaves are primitives, and have no children.
typedef struct cr_link {
	box3f box;
	int32_t left, right;
	int32_t count; // primitives below
	// of all below by the surface area heuristic, where up to CR_WIDTH primitives may be one block
	double cost;
	double measure; // of the tree below as cr_tree2_sah_cost has it, not divided by the root's area
} cr_link;

typedef struct cr_links {
	cr_link *nodes; // [2*primitives-1]: the primitives by number, then inner nodes
	int32_t primitives;
	int32_t root;
	double traversal; // cost of one more level, in block tests
	cr_key *keys;     // [primitives] along the Morton curve, while a builder works
} cr_links;

/// Make the leaves over boxes, at least one, and the order of their centres along the curve. false:
/// out of memory; nothing is held.
bool cr_links_begin(carom_context *context, const cr_build_boxes *boxes, float traversal_cost, cr_links *links);
void cr_links_end(carom_context *context, cr_links *links);

/// Is a node a primitive?
static inline bool cr_link_is_leaf(const cr_links *links, int32_t node) { return node < links->primitives; }
/// The node over two others, with its cost and measure.
cr_link cr_link_over(const cr_links *links, int32_t left, int32_t right);

/// The tree of the links under root: subtrees that cost less as one block become leaves. What lies
/// deeper than CR_HALVE_DEPTH is parted in halves. On failure the tree is empty.
carom_result cr_links_to_tree(carom_context *context, const cr_links *links, cr_tree2 *tree);

#endif
