/// The life of an index, and its searches, in double: first the items without end, then the tree
/// that was built, then the dynamic tree of the items that have changed since.
#include "base/spin_lock.h"
#include "world/query_upkeep.h"
#include <math.h>

cr_box_index *cr_box_index_create(carom_context *memory)
{
	cr_box_index *index = cr_alloc_zero(memory, sizeof *index);
	if (!index)
		return NULL;
	index->memory = memory;
	atomic_init(&index->state, CR_INDEX_STALE);
	atomic_flag_clear(&index->lock);
	cr_dynamic_clear(&index->beside);
	return index;
}

void cr_box_index_trim(cr_box_index *index)
{
	cr_box_index_invalidate(index);
	cr_index_free_trees(index);
	cr_array_free(index->memory, &index->owners);
	cr_array_free(index->memory, &index->sides);
	cr_array_free(index->memory, &index->endless);
	cr_array_free(index->memory, &index->places);
	cr_array_free(index->memory, &index->noted);
	cr_dynamic_free(index->memory, &index->beside);
}

void cr_box_index_destroy(cr_box_index *index)
{
	if (!index)
		return;
	cr_box_index_trim(index);
	cr_free(index->memory, index, sizeof *index);
}

void cr_box_index_invalidate(cr_box_index *index)
{
	atomic_store_explicit(&index->state, CR_INDEX_STALE, memory_order_relaxed);
}

void cr_box_index_note(cr_box_index *index, int64_t item)
{
	if (atomic_load_explicit(&index->state, memory_order_relaxed) == CR_INDEX_STALE)
		return;
	if (item >= index->places.count) {
		cr_box_index_invalidate(index);
		return;
	}
	cr_item_place *place = &index->places.data[item];
	if (place->noted)
		return;
	if (index->noted.count == index->most_noted) {
		cr_box_index_invalidate(index);
		return;
	}
	place->noted = true;
	index->noted.data[index->noted.count++] = (int32_t)item;
	atomic_store_explicit(&index->state, CR_INDEX_NOTED, memory_order_relaxed);
}

static carom_result make_ready(cr_box_index *index, carom_context *context, const cr_boxed_items *items)
{
	if (atomic_load_explicit(&index->state, memory_order_acquire) == CR_INDEX_READY)
		return CAROM_SUCCESS;
	cr_lock(&index->lock);
	carom_result result = CAROM_SUCCESS;
	const int state = atomic_load_explicit(&index->state, memory_order_relaxed);
	if (state != CR_INDEX_READY) {
		result = state == CR_INDEX_NOTED ? cr_index_update(index, context, items) : cr_index_build(index, context, items);
		if (result == CAROM_SUCCESS)
			atomic_store_explicit(&index->state, CR_INDEX_READY, memory_order_release);
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

/// Push the children of a node that are not left out, nearest last.
static int push_children(const cr_node8 *node, const double origin[3], const cr_box_search *search, index_entry *stack, int top)
{
	const int base = top;
	double key[CR_WIDTH];
	if (node->child_count == 1 && search->takes_lone) {
		stack[top++] = (index_entry){ -INFINITY, node->child[0] };
		return top;
	}
	const cr_boxes8 boxes = { node->lower, node->upper, origin };
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

/// Show an item of the tree to the searcher, unless it has gone elsewhere. Returns whether to go
/// on.
static bool visit_primitive(const cr_box_index *index, int32_t primitive, cr_box_search *search)
{
	const int32_t item = index->owners.data[primitive];
	return item < 0 || search->visit(search->user, item, &search->limit);
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
		if ((met & 1) && key[i] <= search->limit && !visit_primitive(index, primitives[i], search))
			return false;
	}
	return true;
}

static bool visit_block(const cr_box_index *index, int32_t block, cr_box_search *search)
{
	const int32_t *primitives = index->binary.order + index->tree.block_first[block], count = index->tree.block_size[block];
	// The box of one item is that of the block, which has been looked at.
	if (count == 1)
		return visit_primitive(index, primitives[0], search);
	for (int32_t i = 0; i < count; i += CR_WIDTH) {
		if (!visit_some(index, primitives + i, count - i < CR_WIDTH ? count - i : CR_WIDTH, search))
			return false;
	}
	return true;
}

/// Searches the tree that was built. Returns whether to go on.
static bool search_tree(const cr_box_index *index, cr_box_search *search)
{
	index_entry stack[CR_TREE_STACK];
	int top = 0;
	if (index->tree.node_count > 0)
		stack[top++] = (index_entry){ -INFINITY, 0 };
	while (top > 0) {
		const index_entry e = stack[--top];
		if (e.key > search->limit)
			continue;
		if (!(e.child & CR_LEAF_BIT))
			top = push_children(&index->tree.nodes[e.child], index->origin, search, stack, top);
		else if (!visit_block(index, (int32_t)(e.child & ~CR_LEAF_BIT), search))
			return false;
	}
	return true;
}

// ---- The dynamic tree ----

// Boxes grow by more than the roundings to float, here where those of cr_round_down would cost more
// than the rest of a search.
static const float GROWN = 0x1p-22f, LEAST = 0x1p-126f;

/// Sets a box of a node that lies in the box that begins at origin.
static void set_lane(cr_node8 *node, int lane, const cr_dynamic_node *n, const double origin[3])
{
	for (int k = 0; k < 3; k++) {
		const double lower = n->lower[k] - origin[k];
		node->lower[k][lane] = (float)lower * (1 - GROWN) - LEAST;
		node->upper[k][lane] = (float)(lower + (double)n->size[k]) * (1 + GROWN) + LEAST;
	}
}

/// The nodes three levels below a node, and the leaves above them, as a wide node. Leaves are their
/// own blocks.
static cr_node8 open_node(const cr_dynamic_tree *tree, int32_t from)
{
	const cr_dynamic_node *nodes = tree->nodes.data;
	int32_t below[CR_WIDTH] = { from };
	int count = 1;
	for (int half = 1; half < CR_WIDTH; half *= 2) {
		for (int i = 0, end = count; i < end; i++) {
			const cr_dynamic_node *n = &nodes[below[i]];
			if (cr_dynamic_is_leaf(n))
				continue;
			below[i] = n->child[0];
			below[count++] = n->child[1];
		}
	}
	cr_node8 node = { .child_count = (uint32_t)count };
	for (int i = 0; i < count; i++) {
		set_lane(&node, i, &nodes[below[i]], nodes[from].lower);
		node.child[i] = (uint32_t)below[i] | (cr_dynamic_is_leaf(&nodes[below[i]]) ? CR_LEAF_BIT : 0);
	}
	return node;
}

/// Searches below a node without a stack, in the order of the tree. Returns whether to go on.
static bool search_below(const cr_dynamic_tree *tree, int32_t top, cr_box_search *search)
{
	const cr_dynamic_node *nodes = tree->nodes.data;
	int32_t node = top;
	for (;;) {
		const cr_dynamic_node *n = &nodes[node];
		cr_node8 one = { .child_count = 1 };
		double key[CR_WIDTH];
		set_lane(&one, 0, n, n->lower);
		const bool met = measure(search, &(cr_boxes8){ one.lower, one.upper, n->lower }, 1, key) && key[0] <= search->limit;
		if (met && cr_dynamic_is_leaf(n) && !search->visit(search->user, cr_dynamic_item(n), &search->limit))
			return false;
		if (met && !cr_dynamic_is_leaf(n)) {
			node = n->child[0];
			continue;
		}
		while (node != top && nodes[nodes[node].parent].child[1] == node)
			node = nodes[node].parent;
		if (node == top)
			return true;
		node = nodes[nodes[node].parent].child[1];
	}
}

/// Searches the items that have changed since the build.
static void search_beside(const cr_dynamic_tree *tree, cr_box_search *search)
{
	index_entry stack[CR_TREE_STACK];
	int top = 0;
	if (tree->root != CR_NO_NODE) {
		const cr_node8 root = open_node(tree, tree->root);
		top = push_children(&root, tree->nodes.data[tree->root].lower, search, stack, top);
	}
	while (top > 0) {
		const index_entry e = stack[--top];
		const int32_t node = (int32_t)(e.child & ~CR_LEAF_BIT);
		if (e.key > search->limit)
			continue;
		if (e.child & CR_LEAF_BIT) {
			if (!search->visit(search->user, cr_dynamic_item(&tree->nodes.data[node]), &search->limit))
				return;
		} else if (top + CR_WIDTH <= CR_TREE_STACK) {
			const cr_node8 opened = open_node(tree, node);
			top = push_children(&opened, tree->nodes.data[node].lower, search, stack, top);
		} else if (!search_below(tree, node, search)) {
			return; // boxes in boxes make a tree of any depth
		}
	}
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
	if (search_tree(index, search))
		search_beside(&index->beside, search);
	return CAROM_SUCCESS;
}
