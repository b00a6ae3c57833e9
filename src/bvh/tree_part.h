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

/// The child, as nodes name them, that a part is, which is no triangle.
static inline uint32_t cr_child_of_part(const cr_collider *c, uint32_t part)
{
	return part == CR_PART_WHOLE ? 0 : c->tree.nodes[part / CR_WIDTH].child[part % CR_WIDTH];
}

/// A part of a child: one of the boxes of a node, or one of the triangles of a block.
static inline uint32_t cr_part_of_child(const cr_collider *c, uint32_t child, int lane)
{
	return child & CR_LEAF_BIT ? CR_PART_TRIANGLE | (uint32_t)c->blocks[child & ~CR_LEAF_BIT].number[lane]
							   : CR_WIDTH * child + (uint32_t)lane;
}

/// List the parts that a part consists of, which is no triangle. Returns how many.
static inline int cr_open_part(const cr_collider *c, uint32_t part, uint32_t children[CR_WIDTH])
{
	const uint32_t child = cr_child_of_part(c, part);
	const int count = child & CR_LEAF_BIT ? c->blocks[child & ~CR_LEAF_BIT].count : (int)c->tree.nodes[child].child_count;
	for (int i = 0; i < count; i++)
		children[i] = cr_part_of_child(c, child, i);
	return count;
}

#endif
