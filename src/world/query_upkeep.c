/// A build makes a wide tree over all items, by SAH or along the Morton curve. Its boxes are floats
/// relative to a place among most items, rounded outward; items without end (planes) are kept
/// beside it.
///
/// An item that changes afterwards leaves its primitive, which no search then meets, and goes into
/// a dynamic tree beside. It stays there until the next build. So k changes cost O(k log m) for the
/// m items in the dynamic tree: bodies that move in each step stay in a small tree, and those at
/// rest in the good one. Where many of the m items change, the dynamic tree is built again, which
/// costs less than as many insertions. When a quarter of all items have changed since the build,
/// everything is built again: n / 4 changes have paid for the O(n log n).
#include "world/query_upkeep.h"
#include "geom/spread.h"
#include <math.h>
#include <string.h>

enum {
	// A build is due when more than FEW and one in CHANGED_SHARE of the items that there were have
	// left the tree, or are beside it, or are noted.
	CHANGED_SHARE = 4,
	FEW = 16,
	// The dynamic tree is built where one item in REBUILD_SHARE of it changes at once (as in
	// contact/broad_tree.c).
	REBUILD_SHARE = 4,
	// So many insertions, and one for each leaf, come between two looks at the whole dynamic tree.
	MANY_INSERTIONS = 64,
};

// Items that reach further from there count as endless. Below the empty boxes of the tree.
static const double END_OF_TREE = 1e29;

void cr_index_free_trees(cr_box_index *index)
{
	cr_tree8_free(index->memory, &index->tree);
	cr_tree2_free(index->memory, &index->binary);
	cr_dynamic_clear(&index->beside);
	index->owners.count = index->endless.count = index->noted.count = index->places.count = 0;
	index->gone = index->worked = 0;
}

// ---- The tree over all items ----

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

/// Does a box lie near a place? Neither planes nor empty boxes do.
static bool is_near(const box3d *box, const double origin[3])
{
	bool near = true;
	for (int k = 0; k < 3; k++)
		near = near && fabs(box->lower[k] - origin[k]) < END_OF_TREE && fabs(box->upper[k] - origin[k]) < END_OF_TREE;
	return near;
}

/// The sides of a box as the tree has them.
static void round_box(const cr_box_index *index, const box3d *box, float sides[CR_BOX_SIDES])
{
	for (int k = 0; k < 3; k++) {
		sides[k] = cr_round_down(box->lower[k] - index->origin[k]);
		sides[k + 3] = cr_round_up(box->upper[k] - index->origin[k]);
	}
}

static void set_place(cr_box_index *index, int64_t item, cr_item_where where, int64_t at)
{
	if (index->places.count > 0)
		index->places.data[item] = (cr_item_place){ .at = (int32_t)at, .where = (uint8_t)where };
}

static void take_item(cr_box_index *index, const cr_boxed_items *items, int64_t item)
{
	box3d box;
	float sides[CR_BOX_SIDES];
	if (!items->bounds(items->user, item, box.lower, box.upper))
		return;
	if (!is_near(&box, index->origin)) {
		set_place(index, item, CR_ITEM_ENDLESS, 0);
		index->endless.data[index->endless.count++] = (int32_t)item;
		return;
	}
	round_box(index, &box, sides);
	for (int k = 0; k < CR_BOX_SIDES; k++)
		index->sides.data[k * index->stride + index->owners.count] = sides[k];
	set_place(index, item, CR_ITEM_IN_TREE, index->owners.count);
	index->owners.data[index->owners.count++] = (int32_t)item;
}

/// Room for notes. An item is new only where it has been noted. false: out of memory.
static bool reserve_notes(cr_box_index *index, const cr_boxed_items *items)
{
	const int64_t most_noted = FEW + items->most / CHANGED_SHARE, places = items->count + most_noted;
	if (!cr_array_reserve(index->memory, &index->places, places) || !cr_array_reserve(index->memory, &index->noted, most_noted))
		return false;
	memset(index->places.data, 0, (size_t)places * sizeof *index->places.data);
	index->places.count = places;
	index->most_noted = most_noted;
	return true;
}

/// Room for a build, and for notes of items that come behind it. false: out of memory.
static bool reserve_build(cr_box_index *index, const cr_boxed_items *items)
{
	const int64_t n = items->most;
	if (!items->along_curve && !reserve_notes(index, items))
		return false;
	// Rows as wide as there is room for items: how many go in the tree shows only afterwards.
	index->stride = n;
	return cr_array_reserve(index->memory, &index->owners, n) && cr_array_reserve(index->memory, &index->endless, n) &&
		cr_array_reserve(index->memory, &index->sides, CR_BOX_SIDES * n);
}

carom_result cr_index_build(cr_box_index *index, carom_context *context, const cr_boxed_items *items)
{
	atomic_store_explicit(&index->state, CR_INDEX_STALE, memory_order_relaxed);
	cr_index_free_trees(index);
	if (!reserve_build(index, items))
		return cr_fail_memory(context, "the tree of a query");
	if (items->most == 0)
		return CAROM_SUCCESS;
	choose_origin(index, items);
	for (int64_t i = 0; i < items->count; i++)
		take_item(index, items, i);
	const float *s = index->sides.data;
	const int64_t n = index->stride;
	const cr_build_boxes boxes = { { s, s + n, s + 2 * n }, { s + 3 * n, s + 4 * n, s + 5 * n }, (int32_t)index->owners.count };
	// A leaf's items are asked one by one, which costs far more than a box: any split that saves
	// area pays.
	carom_result result = items->along_curve ? cr_tree2_build_morton(index->memory, &boxes, false, &index->binary)
											 : cr_tree2_build(index->memory, &boxes, 0, &index->binary);
	if (result == CAROM_SUCCESS)
		result = cr_tree8_build(index->memory, &index->binary, 0, &index->tree);
	return result;
}

// ---- Items that changed ----

/// Where an item is among the endless ones, or where it would be.
static int64_t find_endless(const cr_box_index *index, int32_t item)
{
	int64_t low = 0, high = index->endless.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (index->endless.data[middle] < item)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void take_out(cr_box_index *index, int32_t item)
{
	const cr_item_place *place = &index->places.data[item];
	if (place->where == CR_ITEM_IN_TREE) {
		index->owners.data[place->at] = -1;
		index->gone++;
	} else if (place->where == CR_ITEM_BESIDE) {
		cr_dynamic_remove(&index->beside, place->at);
	} else if (place->where == CR_ITEM_ENDLESS) {
		int32_t *gap = index->endless.data + find_endless(index, item);
		const int64_t behind = --index->endless.count - (gap - index->endless.data);
		memmove(gap, gap + 1, (size_t)behind * sizeof *gap);
	}
	set_place(index, item, CR_ITEM_NOWHERE, 0);
}

static void put_among_endless(cr_box_index *index, int32_t item)
{
	int32_t *gap = index->endless.data + find_endless(index, item);
	const int64_t behind = index->endless.count++ - (gap - index->endless.data);
	memmove(gap + 1, gap, (size_t)behind * sizeof *gap);
	*gap = item;
}

/// Items of which the dynamic tree is to be built.
typedef struct beside_list {
	CR_ARRAY(int32_t) items;
	CR_ARRAY(box3d) boxes;
} beside_list;

static void list_item(beside_list *list, int32_t item, const box3d *box)
{
	list->items.data[list->items.count++] = item;
	list->boxes.data[list->boxes.count++] = *box;
}

/// An item goes into the dynamic tree, or into the list, if there is one.
static void put_beside(cr_box_index *index, int32_t item, const box3d *box, beside_list *list)
{
	int32_t leaf = CR_NO_NODE; // until the list becomes a tree
	if (list)
		list_item(list, item, box);
	else
		leaf = cr_dynamic_insert(&index->beside, item, box);
	index->worked++;
	set_place(index, item, CR_ITEM_BESIDE, leaf);
}

/// Is the box of an item the one that it is in the tree with?
static bool is_as_built(const cr_box_index *index, const cr_item_place *place, const box3d *box)
{
	float sides[CR_BOX_SIDES];
	bool same = place->where == CR_ITEM_IN_TREE && is_near(box, index->origin);
	if (!same)
		return false;
	round_box(index, box, sides);
	for (int k = 0; k < CR_BOX_SIDES; k++)
		same = same && sides[k] == index->sides.data[k * index->stride + place->at];
	return same;
}

static void update_item(cr_box_index *index, const cr_boxed_items *items, int32_t item, beside_list *list)
{
	static const double zero[3] = { 0, 0, 0 };
	cr_item_place *place = &index->places.data[item];
	box3d box;
	const bool has_box = item < items->count && items->bounds(items->user, item, box.lower, box.upper);
	place->noted = false;
	if (has_box && is_as_built(index, place, &box))
		return;
	take_out(index, item);
	if (!has_box)
		return;
	if (is_near(&box, zero)) {
		put_beside(index, item, &box, list);
	} else {
		put_among_endless(index, item);
		set_place(index, item, CR_ITEM_ENDLESS, 0);
	}
}

// ---- The dynamic tree ----

/// Begin the list with the items of the dynamic tree that are not noted, and make the tree empty.
/// false: out of memory, and all is as it was.
static bool list_beside(cr_box_index *index, beside_list *list)
{
	cr_dynamic_tree *beside = &index->beside;
	const int64_t most = beside->leaves + index->noted.count;
	if (!cr_array_reserve(index->memory, &list->items, most) || !cr_array_reserve(index->memory, &list->boxes, most))
		return false;
	for (int64_t i = 0; i < beside->nodes.count; i++) {
		const int32_t item = cr_dynamic_item(&beside->nodes.data[i]);
		if (item == CR_NO_NODE)
			continue;
		const box3d box = cr_dynamic_box(&beside->nodes.data[i]);
		if (index->places.data[item].noted)
			index->places.data[item].where = CR_ITEM_NOWHERE;
		else
			list_item(list, item, &box);
	}
	cr_dynamic_clear(beside);
	return true;
}

static void build_beside(cr_box_index *index, beside_list *list)
{
	const int32_t count = (int32_t)list->items.count;
	for (int32_t i = 0; i < count; i++)
		index->places.data[list->items.data[i]].at = i;
	cr_dynamic_build(&index->beside, list->items.data, list->boxes.data, count);
	index->worked = 0;
}

/// Does a build of the dynamic tree cost less than the insertions, or has the tree become bad?
static bool is_list_better(cr_box_index *index)
{
	const int64_t noted = index->noted.count, leaves = index->beside.leaves;
	if (noted >= FEW && noted * REBUILD_SHARE >= leaves)
		return true;
	// Looking at the whole tree is worth as many insertions.
	if (index->worked <= MANY_INSERTIONS + leaves)
		return false;
	index->worked = 0;
	return cr_dynamic_is_worn_out(&index->beside);
}

// ---- Changes ----

/// Would so many items leave the tree, or be beside it, that a build is due?
static bool is_build_due(const cr_box_index *index)
{
	int64_t leaving = 0, coming = 0;
	for (int64_t i = 0; i < index->noted.count; i++) {
		const cr_item_place *place = &index->places.data[index->noted.data[i]];
		leaving += place->where == CR_ITEM_IN_TREE;
		coming += place->where != CR_ITEM_BESIDE;
	}
	return index->gone + leaving > index->most_noted || index->beside.leaves + coming > index->most_noted;
}

/// Room for all noted items, wherever they go. false: out of memory.
static bool reserve_update(cr_box_index *index)
{
	return cr_array_reserve(index->memory, &index->endless, index->endless.count + index->noted.count) &&
		cr_dynamic_reserve(index->memory, &index->beside, index->beside.leaves + index->noted.count);
}

carom_result cr_index_update(cr_box_index *index, carom_context *context, const cr_boxed_items *items)
{
	if (is_build_due(index))
		return cr_index_build(index, context, items);
	if (!reserve_update(index))
		return cr_fail_memory(context, "the tree of a query");
	beside_list list = { .items = { .count = 0 } };
	// Without memory for the list the tree serves on.
	const bool listed = is_list_better(index) && list_beside(index, &list);
	for (int64_t i = 0; i < index->noted.count; i++)
		update_item(index, items, index->noted.data[i], listed ? &list : NULL);
	index->noted.count = 0;
	if (listed)
		build_beside(index, &list);
	cr_array_free(index->memory, &list.items);
	cr_array_free(index->memory, &list.boxes);
	return CAROM_SUCCESS;
}
