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

typedef struct index_entry {
	double key;
	uint32_t child;
} index_entry;

/// Keys of the first boxes, count (1 to 8). Returns those that are not left out.
static uint32_t measure(const cr_box_search *search, const cr_boxes8 *boxes, int32_t count, double key[CR_WIDTH])
{
	const uint32_t used = (1u << count) - 1;
	if (search->keys)
		return search->keys(search->asker, boxes, key) & used;
	uint32_t met = used;
	for (int32_t i = 0; i < count; i++) {
		double lower[3], upper[3];
		cr_box_in_place(boxes, i, lower, upper);
		key[i] = search->key(search->asker, lower, upper);
		met &= ~((uint32_t)(key[i] == INFINITY) << i);
	}
	return met;
}

static int push_children(
	const cr_box_index *index, const cr_node8 *node, const cr_box_search *search, index_entry *stack, int top)
{
	const int base = top;
	double key[CR_WIDTH];
	const cr_boxes8 boxes = { node->lower, node->upper, index->origin };
	uint32_t met = measure(search, &boxes, (int32_t)node->child_count, key);
	for (int i = 0; met; i++, met >>= 1) {
		if (!(met & 1) || !(key[i] <= search->limit))
			continue;
		int at = top++;
		for (; at > base && stack[at - 1].key < key[i]; at--)
			stack[at] = stack[at - 1];
		stack[at] = (index_entry){ key[i], node->child[i] };
	}
	return top;
}

/// Visits up to eight items of a block. Returns whether to go on.
static bool visit_some(const cr_box_index *index, const int32_t *primitives, int32_t count, cr_box_search *search)
{
	const int64_t n = index->stride;
	float lower[3][CR_WIDTH] = { { 0 } }, upper[3][CR_WIDTH] = { { 0 } };
	double key[CR_WIDTH];
	for (int k = 0; k < 3; k++) {
		for (int32_t i = 0; i < count; i++) {
			lower[k][i] = index->sides.data[k * n + primitives[i]];
			upper[k][i] = index->sides.data[(k + 3) * n + primitives[i]];
		}
	}
	const cr_boxes8 boxes = { lower, upper, index->origin };
	uint32_t met = measure(search, &boxes, count, key);
	for (int i = 0; met; i++, met >>= 1) {
		if ((met & 1) && key[i] <= search->limit &&
			!search->visit(search->user, index->owners.data[primitives[i]], &search->limit))
			return false;
	}
	return true;
}

static bool visit_block(const cr_box_index *index, int32_t block, cr_box_search *search)
{
	const int32_t *primitives = index->binary.order + index->tree.block_first[block], count = index->tree.block_size[block];
	// The box of one item is that of the block, which has been looked at.
	if (count == 1)
		return search->visit(search->user, index->owners.data[primitives[0]], &search->limit);
	for (int32_t i = 0; i < count; i += CR_WIDTH) {
		if (!visit_some(index, primitives + i, count - i < CR_WIDTH ? count - i : CR_WIDTH, search))
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
		if (e.key > search->limit)
			continue;
		if (!(e.child & CR_LEAF_BIT))
			top = push_children(index, &index->tree.nodes[e.child], search, stack, top);
		else if (!visit_block(index, (int32_t)(e.child & ~CR_LEAF_BIT), search))
			return CAROM_SUCCESS;
	}
	return CAROM_SUCCESS;
}
