/// See world/part_tree.h.
#include "world/part_tree.h"

void cr_part_tree_clear(cr_part_tree *parts) { parts->endless.count = parts->items.count = 0; }

bool cr_part_tree_reserve(carom_context *memory, cr_part_tree *parts, int64_t count)
{
	return cr_array_reserve(memory, &parts->endless, count) && cr_array_reserve(memory, &parts->items, count) &&
		cr_array_reserve(memory, &parts->boxes, count);
}

/// Planes have no end.
static bool is_endless(const box3d *box)
{
	for (int k = 0; k < 3; k++) {
		if (!(box->lower[k] > -INFINITY && box->upper[k] < INFINITY))
			return true;
	}
	return false;
}

void cr_part_tree_add(cr_part_tree *parts, int32_t number, const box3d *box)
{
	if (is_endless(box)) {
		parts->endless.data[parts->endless.count++] = number;
		return;
	}
	parts->boxes.data[parts->items.count] = *box;
	parts->items.data[parts->items.count++] = number;
}

bool cr_part_tree_build(carom_context *memory, cr_part_tree *parts)
{
	if (!cr_dynamic_reserve(memory, &parts->tree, parts->items.count))
		return false;
	cr_dynamic_build(&parts->tree, parts->items.data, parts->boxes.data, (int32_t)parts->items.count);
	return true;
}

void cr_part_tree_free(carom_context *memory, cr_part_tree *parts)
{
	cr_array_free(memory, &parts->endless);
	cr_array_free(memory, &parts->items);
	cr_array_free(memory, &parts->boxes);
	cr_dynamic_free(memory, &parts->tree);
}
