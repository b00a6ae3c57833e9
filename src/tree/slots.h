/// From a rule that parts ranges of primitives to a binary tree.
///
/// Large ranges are parted first, one after the other; the subtrees below are then built in
/// parallel. A subtree of n primitives owns the 2n-1 node slots that follow its root, so nobody
/// waits for slots and the result does not depend on the threads; a last walk closes the gaps.
#ifndef CR_TREE_SLOTS_H
#define CR_TREE_SLOTS_H

#include "tree/tree.h"

/// From this depth on rules halve their ranges, which bounds the depth for any input.
enum { CR_HALVE_DEPTH = 32 };

typedef struct cr_slot {
	float lower[3];
	float upper[3];
	int32_t right; // slot of the second child; the first is the next slot. 0: leaf
	int32_t first;
	int32_t count;
} cr_slot;

/// A node to be made.
typedef struct cr_slot_job {
	int32_t slot;
	int32_t first; // range of primitives
	int32_t count;
	int32_t depth;
} cr_slot_job;

/// Decides how many primitives of a range go to the first child; 0 makes a leaf, which at most
/// CR_WIDTH may be. May order the primitives of the range, and may set the box of the slot.
/// parallel: nothing else runs, so the rule may use all workers.
typedef int32_t cr_split_fn(const void *user, const cr_slot_job *range, bool parallel, cr_slot *slot);

/// Build the nodes of a tree over count primitives (at least 1), and make room for their order,
/// which the caller fills in. On failure the tree is empty and the caller says so.
carom_result cr_slots_build(carom_context *context, int32_t count, cr_split_fn *split, const void *user, cr_tree2 *tree);

/// Set the skip links of nodes from their child links: a first child skips to its sibling, a second
/// child to where its parent skips.
void cr_link_skips(cr_node2 *nodes, int32_t count);

#endif
