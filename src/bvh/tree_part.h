/// Parts of a collider's tree, for walks of two trees at once: the whole, the box of a child, or a
/// triangle, each as one number.
#ifndef CR_BVH_TREE_PART_H
#define CR_BVH_TREE_PART_H

#include "bvh/collider.h"

/// Else CR_WIDTH * node + child, or CR_PART_TRIANGLE and the number of a triangle.
#define CR_PART_WHOLE UINT32_MAX
#define CR_PART_TRIANGLE 0x80000000u

static inline bool cr_is_triangle_part(uint32_t part) { return part != CR_PART_WHOLE && (part & CR_PART_TRIANGLE); }

static inline int32_t cr_triangle_of_part(uint32_t part) { return (int32_t)(part & ~CR_PART_TRIANGLE); }

/// List the parts that a part consists of, which is no triangle. Returns how many.
static inline int cr_open_part(const cr_collider *c, uint32_t part, uint32_t children[CR_WIDTH])
{
	const uint32_t child = part == CR_PART_WHOLE ? 0 : c->tree.nodes[part / CR_WIDTH].child[part % CR_WIDTH];
	if (child & CR_LEAF_BIT) {
		const cr_tri8 *block = &c->blocks[child & ~CR_LEAF_BIT];
		for (int i = 0; i < block->count; i++)
			children[i] = CR_PART_TRIANGLE | (uint32_t)block->number[i];
		return block->count;
	}
	const int count = (int)c->tree.nodes[child].child_count;
	for (int i = 0; i < count; i++)
		children[i] = CR_WIDTH * child + (uint32_t)i;
	return count;
}

#endif
