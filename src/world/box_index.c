/// The tree is built by SAH or along the Morton curve, and walked in double. Its boxes are floats
/// relative to a place among most items, rounded outward; items without end (planes) are kept
/// beside it.
#include "world/box_index.h"
#include "base/array.h"
#include "base/spin_lock.h"
#include "geom/spread.h"
#include "tree/tree.h"
#include <math.h>
#include <stdatomic.h>

enum { SIDES = 6 };

// Items that reach further from there count as endless. Below the empty boxes of the tree.
static const double END_OF_TREE = 1e29;

struct cr_box_index {
	carom_context *memory;
	atomic_bool valid; // the tree is that of the items as they are
	atomic_flag lock;  // held while the tree is made
	double origin[3];
	CR_ARRAY(int32_t) owners; // item of a primitive
	CR_ARRAY(float) sides;    // lower x y z, upper x y z, each [stride]
	int64_t stride;
	CR_ARRAY(int32_t) endless;
	cr_tree2 binary;
	cr_tree8 tree;
};

cr_box_index *cr_box_index_create(carom_context *memory)
{
	cr_box_index *index = cr_alloc_zero(memory, sizeof *index);
	if (!index)
		return NULL;
	index->memory = memory;
	atomic_init(&index->valid, false);
	atomic_flag_clear(&index->lock);
	return index;
}

static void free_trees(cr_box_index *index)
{
	cr_tree8_free(index->memory, &index->tree);
	cr_tree2_free(index->memory, &index->binary);
}

void cr_box_index_destroy(cr_box_index *index)
{
	if (!index)
		return;
	free_trees(index);
	cr_array_free(index->memory, &index->owners);
	cr_array_free(index->memory, &index->sides);
	cr_array_free(index->memory, &index->endless);
	cr_free(index->memory, index, sizeof *index);
}

void cr_box_index_invalidate(cr_box_index *index) { atomic_store_explicit(&index->valid, false, memory_order_relaxed); }

// ---- Making the tree ----

/// Boxes with ends tell where the items are.
static void choose_origin(cr_box_index *index, const cr_boxed_items *items)
{
	v3d places[CR_SPREAD_SAMPLES];
	int sampled = 0;
	const int64_t stride = cr_spread_stride(items->count);
	for (int64_t i = 0; i < items->count; i += stride) {
		double lower[3], upper[3];
		if (!items->bounds(items->user, i, lower, upper))
			continue;
		const v3d middle = { 0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]) };
		if (isfinite(middle.x) && isfinite(middle.y) && isfinite(middle.z))
			places[sampled++] = middle;
	}
	const cr_spread spread = cr_find_spread(places, sampled);
	for (int k = 0; k < 3; k++)
		index->origin[k] = spread.middle[k];
}

static void take_item(cr_box_index *index, const cr_boxed_items *items, int64_t item)
{
	double lower[3], upper[3];
	if (!items->bounds(items->user, item, lower, upper))
		return;
	bool near = true;
	for (int k = 0; k < 3; k++) {
		lower[k] -= index->origin[k];
		upper[k] -= index->origin[k];
		// neither planes nor empty boxes
		near = near && fabs(lower[k]) < END_OF_TREE && fabs(upper[k]) < END_OF_TREE;
	}
	if (!near) {
		index->endless.data[index->endless.count++] = (int32_t)item;
		return;
	}
	for (int k = 0; k < 3; k++) {
		index->sides.data[k * items->most + index->owners.count] = cr_round_down(lower[k]);
		index->sides.data[(k + 3) * items->most + index->owners.count] = cr_round_up(upper[k]);
	}
	index->owners.data[index->owners.count++] = (int32_t)item;
}

static carom_result build(cr_box_index *index, carom_context *context, const cr_boxed_items *items)
{
	const int64_t n = items->most;
	free_trees(index);
	index->owners.count = index->endless.count = 0;
	if (!cr_array_reserve(index->memory, &index->owners, n) || !cr_array_reserve(index->memory, &index->endless, n) ||
		!cr_array_reserve(index->memory, &index->sides, SIDES * n))
		return cr_fail_memory(context, "the tree of a query");
	// Rows as wide as there is room for items: how many go in the tree shows only afterwards.
	index->stride = n;
	if (n == 0)
		return CAROM_SUCCESS;
	choose_origin(index, items);
	for (int64_t i = 0; i < items->count; i++)
		take_item(index, items, i);
	const float *s = index->sides.data;
	const cr_build_boxes boxes = { { s, s + n, s + 2 * n }, { s + 3 * n, s + 4 * n, s + 5 * n }, (int32_t)index->owners.count };
	// A leaf's items are asked one by one, which costs far more than a box: any split that saves
	// area pays.
	carom_result result = items->along_curve ? cr_tree2_build_morton(index->memory, &boxes, false, &index->binary)
											 : cr_tree2_build(index->memory, &boxes, 0, &index->binary);
	if (result == CAROM_SUCCESS)
		result = cr_tree8_build(index->memory, &index->binary, 0, &index->tree);
	return result;
}

static carom_result make_ready(cr_box_index *index, carom_context *context, const cr_boxed_items *items)
{
	if (atomic_load_explicit(&index->valid, memory_order_acquire))
		return CAROM_SUCCESS;
	cr_lock(&index->lock);
	carom_result result = CAROM_SUCCESS;
	if (!atomic_load_explicit(&index->valid, memory_order_relaxed)) {
		result = build(index, context, items);
		atomic_store_explicit(&index->valid, result == CAROM_SUCCESS, memory_order_release);
	}
	cr_unlock(&index->lock);
	return result;
}

// ---- Searching ----

/// A box of the tree in the world, grown by more than the addition of the origin rounds.
static void world_box(
	const cr_box_index *index, const float lower[3], const float upper[3], double out_lower[3], double out_upper[3])
{
	for (int k = 0; k < 3; k++) {
		const double l = (double)lower[k] + index->origin[k], u = (double)upper[k] + index->origin[k];
		out_lower[k] = l - fabs(l) * 0x1p-51;
		out_upper[k] = u + fabs(u) * 0x1p-51;
	}
}

typedef struct index_entry {
	float key; // rounded down: floats halve the stack
	uint32_t child;
} index_entry;

static int push_children(
	const cr_box_index *index, const cr_node8 *node, const cr_box_search *search, index_entry *stack, int top)
{
	const int base = top;
	for (uint32_t i = 0; i < node->child_count; i++) {
		const float l[3] = { node->lower[0][i], node->lower[1][i], node->lower[2][i] };
		const float u[3] = { node->upper[0][i], node->upper[1][i], node->upper[2][i] };
		double lower[3], upper[3];
		world_box(index, l, u, lower, upper);
		const double key = search->key(search->user, lower, upper);
		if (!(key <= search->limit) || key == INFINITY)
			continue;
		const float low = cr_round_down(key);
		int at = top++;
		for (; at > base && stack[at - 1].key < low; at--)
			stack[at] = stack[at - 1];
		stack[at] = (index_entry){ low, node->child[i] };
	}
	return top;
}

static bool visit_block(const cr_box_index *index, int32_t block, cr_box_search *search)
{
	const int64_t n = index->stride;
	const float *s = index->sides.data;
	for (int32_t i = 0; i < index->tree.block_size[block]; i++) {
		const int32_t primitive = index->binary.order[index->tree.block_first[block] + i];
		const float l[3] = { s[primitive], s[n + primitive], s[2 * n + primitive] };
		const float u[3] = { s[3 * n + primitive], s[4 * n + primitive], s[5 * n + primitive] };
		double lower[3], upper[3];
		world_box(index, l, u, lower, upper);
		const double key = search->key(search->user, lower, upper);
		if (key <= search->limit && key < INFINITY &&
			!search->visit(search->user, index->owners.data[primitive], &search->limit))
			return false;
	}
	return true;
}

carom_result cr_box_index_search(cr_box_index *index, carom_context *context, const cr_boxed_items *items, cr_box_search *search)
{
	const carom_result result = make_ready(index, context, items);
	if (result != CAROM_SUCCESS)
		return result;
	for (int64_t i = 0; i < index->endless.count; i++) {
		if (!search->visit(search->user, index->endless.data[i], &search->limit))
			return CAROM_SUCCESS;
	}
	index_entry stack[CR_TREE_STACK];
	int top = 0;
	if (index->tree.node_count > 0)
		stack[top++] = (index_entry){ -INFINITY, 0 };
	while (top > 0) {
		const index_entry e = stack[--top];
		if ((double)e.key > search->limit)
			continue;
		if (!(e.child & CR_LEAF_BIT))
			top = push_children(index, &index->tree.nodes[e.child], search, stack, top);
		else if (!visit_block(index, (int32_t)(e.child & ~CR_LEAF_BIT), search))
			return CAROM_SUCCESS;
	}
	return CAROM_SUCCESS;
}
