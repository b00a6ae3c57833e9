/// Blocks of the front. See sweep/front.h. Cost of replacing a front: sorting its blocks, a few
/// thousand nodes each, and copying those that have become small.
#include "base/stable_sort.h"
#include "sweep/front.h"

#include <string.h>

/// A block without nodes, and room for some.
static bool make_room(carom_context *context, int32_t nodes, int32_t leaves, cr_front_block *block)
{
	*block = (cr_front_block){ .node_room = nodes, .leaf_room = leaves };
	if (nodes > 0)
		block->nodes = cr_alloc_array(context, (size_t)nodes, sizeof *block->nodes);
	if (leaves > 0)
		block->leaves = cr_alloc_array(context, (size_t)leaves, sizeof *block->leaves);
	if ((nodes == 0 || block->nodes) && (leaves == 0 || block->leaves))
		return true;
	cr_front_free_block(context, block);
	return false;
}

static void append(
	cr_front_block *block, const cr_sweep_pair *nodes, int32_t count, const cr_leaf_pair *leaves, int32_t leaf_count)
{
	if (count > 0)
		memcpy(block->nodes + block->count, nodes, (size_t)count * sizeof *nodes);
	if (leaf_count > 0)
		memcpy(block->leaves + block->leaf_count, leaves, (size_t)leaf_count * sizeof *leaves);
	block->count += count;
	block->leaf_count += leaf_count;
}

bool cr_front_make_block(carom_context *context, const cr_sweep_walk *walk, cr_front_block *block)
{
	if (!make_room(context, walk->stop_count, walk->leaf_stop_count, block))
		return false;
	append(block, walk->stops, walk->stop_count, walk->leaf_stops, walk->leaf_stop_count);
	return true;
}

bool cr_front_add(carom_context *context, cr_front_blocks *blocks, const cr_front_block *block)
{
	if (!cr_array_reserve(context, blocks, blocks->count + 1))
		return false;
	blocks->data[blocks->count++] = *block;
	return true;
}

void cr_front_free_block(carom_context *context, cr_front_block *block)
{
	cr_free(context, block->nodes, (size_t)block->node_room * sizeof *block->nodes);
	cr_free(context, block->leaves, (size_t)block->leaf_room * sizeof *block->leaves);
	*block = (cr_front_block){ 0 };
}

void cr_front_free_blocks(carom_context *context, cr_front_blocks *blocks)
{
	for (int64_t i = 0; i < blocks->count; i++)
		cr_front_free_block(context, &blocks->data[i]);
	cr_array_free(context, blocks);
}

void cr_front_free(carom_context *context, cr_front *front)
{
	cr_front_free_blocks(context, &front->blocks);
	front->nodes = 0;
}

size_t cr_front_bytes(const cr_front *front)
{
	int64_t bytes = front->blocks.capacity * (int64_t)sizeof(cr_front_block);
	for (int64_t i = 0; i < front->blocks.count; i++)
		bytes += cr_front_block_bytes(front->blocks.data[i].node_room, front->blocks.data[i].leaf_room);
	return (size_t)bytes;
}

static int compare_blocks(const void *first, const void *second)
{
	const cr_front_block *a = first, *b = second;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/// Make one block of blocks first..end-1, in the place of the first; left as they are when there is
/// no memory.
static bool join_blocks(
	carom_context *context, cr_front_block *blocks, int64_t first, int64_t end, int32_t nodes, int32_t leaves)
{
	cr_front_block joined;
	if (!make_room(context, nodes, leaves, &joined))
		return false;
	for (int64_t i = first; i < end; i++) {
		append(&joined, blocks[i].nodes, blocks[i].count, blocks[i].leaves, blocks[i].leaf_count);
		cr_front_free_block(context, &blocks[i]);
	}
	blocks[first] = joined;
	return true;
}

/// Has more than a quarter of its room become free?
static bool is_loose(const cr_front_block *block)
{
	return 4 * (block->node_room - block->count + block->leaf_room - block->leaf_count) > block->node_room + block->leaf_room;
}

static void join_small(carom_context *context, cr_front *front)
{
	cr_front_block *blocks = front->blocks.data;
	int64_t kept = 0;
	for (int64_t first = 0, end; first < front->blocks.count; first = end) {
		int32_t nodes = blocks[first].count, leaves = blocks[first].leaf_count;
		for (end = first + 1; end < front->blocks.count; end++) {
			const cr_front_block *next = &blocks[end];
			if (nodes + next->count + leaves + next->leaf_count > CR_FRONT_BLOCK)
				break;
			nodes += next->count;
			leaves += next->leaf_count;
		}
		if ((end > first + 1 || is_loose(&blocks[first])) && !join_blocks(context, blocks, first, end, nodes, leaves))
			end = first + 1;
		front->nodes += blocks[first].count + blocks[first].leaf_count;
		blocks[kept++] = blocks[first];
	}
	front->blocks.count = kept;
}

bool cr_front_replace(carom_context *context, cr_front *front, cr_front_blocks *const lists[], int list_count)
{
	int64_t count = 0;
	for (int i = 0; i < list_count; i++)
		count += lists[i]->count;
	cr_front_free_blocks(context, &front->blocks);
	front->nodes = 0;
	if (!cr_array_reserve(context, &front->blocks, count)) {
		for (int i = 0; i < list_count; i++)
			cr_front_free_blocks(context, lists[i]);
		return false;
	}
	for (int i = 0; i < list_count; i++) {
		if (lists[i]->count > 0)
			memcpy(front->blocks.data + front->blocks.count, lists[i]->data, (size_t)lists[i]->count * sizeof *lists[i]->data);
		front->blocks.count += lists[i]->count;
		lists[i]->count = 0;
	}
	if (count > 0)
		cr_sort_stably(front->blocks.data, count, sizeof *front->blocks.data, compare_blocks);
	join_small(context, front);
	return true;
}
