/// The front of the bounding volume test tree: where the last traversal stopped, kept for the next one (Tang, Manocha and Tong,
/// MCCD, 2010, section 4). In the order of the traversal, in blocks that are followed independently.
#ifndef CR_SWEEP_FRONT_H
#define CR_SWEEP_FRONT_H

#include "base/array.h"
#include "sweep/sweep_kernels.h"

/// Nodes of the front one after the other. What the traversal from task (a node of the BVTT, or a block of the last front) gave is in
/// blocks of this number, in their order.
typedef struct cr_front_block {
	cr_sweep_pair *nodes; // [count], allocated for as many
	int32_t count;
	int32_t task, order;
} cr_front_block;

typedef CR_ARRAY(cr_front_block) cr_front_blocks;

typedef struct cr_front {
	cr_front_blocks blocks;
	int64_t nodes;
} cr_front;

/// Append a block with a copy of nodes; false when out of memory.
bool cr_front_add(
	carom_context *context, cr_front_blocks *blocks, const cr_sweep_pair *nodes, int32_t count, int32_t task, int32_t order);
/// Free the nodes of a block.
void cr_front_free_block(carom_context *context, cr_front_block *block);
/// Free all blocks of a list, and the list.
void cr_front_free_blocks(carom_context *context, cr_front_blocks *blocks);
/// Replace a front by what the workers made of it: the lists, emptied by this, put in order; neighbours that fit into one block are
/// joined. False when out of memory; the front is then empty.
bool cr_front_replace(carom_context *context, cr_front *front, cr_front_blocks *const lists[], int list_count);
void cr_front_free(carom_context *context, cr_front *front);
size_t cr_front_bytes(const cr_front *front);

#endif
