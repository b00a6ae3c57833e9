/// Blocks of the front. See sweep/front.h. Cost of replacing a front: sorting its blocks, a few thousand nodes each, and copying those
/// that have become small.
#include "sweep/front.h"

#include <stdlib.h>
#include <string.h>

bool cr_front_add(
	carom_context *context, cr_front_blocks *blocks, const cr_sweep_pair *nodes, int32_t count, int32_t task, int32_t order)
{
	if (!cr_array_reserve(context, blocks, blocks->count + 1))
		return false;
	cr_sweep_pair *copy = cr_alloc_array(context, (size_t)count, sizeof *copy);
	if (!copy)
		return false;
	memcpy(copy, nodes, (size_t)count * sizeof *copy);
	blocks->data[blocks->count++] = (cr_front_block){ copy, count, task, order };
	return true;
}

void cr_front_free_block(carom_context *context, cr_front_block *block)
{
	cr_free(context, block->nodes, (size_t)block->count * sizeof *block->nodes);
	block->nodes = NULL;
	block->count = 0;
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
	return (size_t)front->nodes * sizeof(cr_sweep_pair) + (size_t)front->blocks.capacity * sizeof(cr_front_block);
}

static int compare_blocks(const void *first, const void *second)
{
	const cr_front_block *a = first, *b = second;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/// Make one block of blocks first..end-1, in the place of the first; left as they are when there is no memory.
static bool join_blocks(carom_context *context, cr_front_block *blocks, int64_t first, int64_t end, int32_t count)
{
	cr_sweep_pair *nodes = cr_alloc_array(context, (size_t)count, sizeof *nodes);
	if (!nodes)
		return false;
	int32_t at = 0;
	for (int64_t i = first; i < end; i++) {
		memcpy(nodes + at, blocks[i].nodes, (size_t)blocks[i].count * sizeof *nodes);
		at += blocks[i].count;
		cr_front_free_block(context, &blocks[i]);
	}
	blocks[first] = (cr_front_block){ nodes, count, 0, 0 };
	return true;
}

static void join_small(carom_context *context, cr_front *front)
{
	cr_front_block *blocks = front->blocks.data;
	int64_t kept = 0;
	for (int64_t first = 0, end; first < front->blocks.count; first = end) {
		int32_t count = blocks[first].count;
		for (end = first + 1; end < front->blocks.count && count + blocks[end].count <= CR_SWEEP_STOPS; end++)
			count += blocks[end].count;
		if (end > first + 1 && !join_blocks(context, blocks, first, end, count))
			end = first + 1;
		front->nodes += blocks[first].count;
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
		qsort(front->blocks.data, (size_t)count, sizeof *front->blocks.data, compare_blocks);
	join_small(context, front);
	return true;
}
