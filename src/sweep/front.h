/// The front of the bounding volume test tree: where the last traversal stopped, kept for the next
/// one (Tang, Manocha and Tong, MCCD, 2010, section 4). In the order of the traversal, in blocks
/// that are followed independently.
#ifndef CR_SWEEP_FRONT_H
#define CR_SWEEP_FRONT_H

#include "base/array.h"
#include "sweep/sweep_kernels.h"

typedef CR_ARRAY(cr_front_block) cr_front_blocks;

typedef struct cr_front {
	cr_front_blocks blocks;
	int64_t nodes; // of both kinds
} cr_front;

/// A block of the nodes that a walk has listed; false when out of memory, it is empty then.
bool cr_front_make_block(carom_context *context, const cr_sweep_walk *walk, cr_front_block *block);
/// Append a block, which is the list's then; false when out of memory.
bool cr_front_add(carom_context *context, cr_front_blocks *blocks, const cr_front_block *block);
/// Bytes of so many nodes that are no pairs of leaves, and of so many pairs of leaves.
static inline int64_t cr_front_block_bytes(int64_t nodes, int64_t leaves)
{
	return nodes * (int64_t)sizeof(cr_sweep_pair) + leaves * (int64_t)sizeof(cr_leaf_pair);
}
/// Free the lists of a block.
void cr_front_free_block(carom_context *context, cr_front_block *block);
/// Free all blocks of a list, and the list.
void cr_front_free_blocks(carom_context *context, cr_front_blocks *blocks);
/// Replace a front by the lists that the workers made of it: these are emptied and put in order;
/// neighbours that fit into one block are joined. False when out of memory; the front is then
/// empty.
bool cr_front_replace(carom_context *context, cr_front *front, cr_front_blocks *const lists[], int list_count);
void cr_front_free(carom_context *context, cr_front *front);
size_t cr_front_bytes(const cr_front *front);

#endif
