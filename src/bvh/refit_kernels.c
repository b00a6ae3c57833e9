/// Refit of a collider whose vertices have all moved: blocks and nodes in one sweep from the end.
/// Compiled once for each instruction set (CR_ISA).
#include "bvh/bvh_isa.h"
#include "math/vec8.h"

/// Times the error of the float area of a triangle: differences, products and their difference
/// are rounded, by 2^-24 each. A larger area is no rounding, nor would it round to zero in double.
#define CERTAIN 0x1p-20f

/// Lanes whose triangle certainly has an area.
static inline uint32_t certain_areas(const f8 corner[3][3])
{
	f8 u[3], v[3];
	sub8(corner[1], corner[0], u);
	sub8(corner[2], corner[0], v);
	uint32_t certain = 0;
	for (int k = 0; k < 3; k++) {
		const int l = (k + 1) % 3, m = (k + 2) % 3;
		const f8 a = f8_mul(u[l], v[m]), b = f8_mul(u[m], v[l]);
		const f8 rounding = f8_mul(f8_add(f8_abs(a), f8_abs(b)), f8_set1(CERTAIN));
		certain |= m8_bits(f8_lt(rounding, f8_abs(f8_sub(a, b))));
	}
	return certain;
}

/// Has each triangle of some lanes of a block an area, as the mesh check sees it?
static bool have_areas(const cr_tri8 *block, uint32_t lanes)
{
	bool all = true;
	while (lanes) {
		v3d p[3];
		const int lane = __builtin_ctz(lanes);
		lanes &= lanes - 1;
		for (int k = 0; k < 3; k++)
			p[k] = v3d_make(block->corner[k][0][lane], block->corner[k][1][lane], block->corner[k][2][lane]);
		const v3d area = v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]));
		all = all && (area.x != 0 || area.y != 0 || area.z != 0);
	}
	return all;
}

/// Read the corners of a block's triangles; write its box, which grows by pad, to child i of a
/// node. Returns false where a triangle has no area.
static inline bool refit_block(
	const cr_topology *t, cr_tri8 *block, float pad, cr_node8 *node, uint32_t i, float longest[CR_WIDTH])
{
	f8 corner[3][3];
	int32_t vertex[3][CR_WIDTH];
	for (int lane = 0; lane < CR_WIDTH; lane++) {
		const int32_t *corners = t->triangles + 3 * (int64_t)block->number[lane];
		for (int c = 0; c < 3; c++)
			vertex[c][lane] = corners[c];
	}
	for (int c = 0; c < 3; c++) {
		f8_load_threes(t->vertices, vertex[c], corner[c]);
		for (int k = 0; k < 3; k++)
			f8_store(block->corner[c][k], corner[c][k]);
	}
	f8 length = f8_set1(0);
	for (int k = 0; k < 3; k++) {
		const f8 lower = f8_min(f8_min(corner[0][k], corner[1][k]), corner[2][k]);
		const f8 upper = f8_max(f8_max(corner[0][k], corner[1][k]), corner[2][k]);
		length = f8_max(length, f8_sub(upper, lower));
		node->lower[k][i] = f8_lowest(lower) - pad;
		node->upper[k][i] = f8_highest(upper) + pad;
	}
	f8_store(longest, length);
	const uint32_t open = ((1u << block->count) - 1) & ~certain_areas(corner);
	return !open || have_areas(block, open);
}

static inline void refit_inner(const cr_node8 *child, cr_node8 *node, uint32_t i)
{
	// The boxes of unused children are empty.
	for (int k = 0; k < 3; k++) {
		node->lower[k][i] = f8_lowest(f8_load(child->lower[k]));
		node->upper[k][i] = f8_highest(f8_load(child->upper[k]));
	}
}

bool CR_ISA_NAME(cr_refit)(cr_collider *c, float pad, int32_t *lengths)
{
	bool whole = true;
	// Children come after their parents.
	for (int32_t n = c->tree.node_count - 1; n >= 0 && whole; n--) {
		cr_node8 *node = &c->tree.nodes[n];
		for (uint32_t i = 0; i < node->child_count; i++) {
			const uint32_t child = node->child[i] & ~CR_LEAF_BIT;
			if (!(node->child[i] & CR_LEAF_BIT)) {
				refit_inner(&c->tree.nodes[child], node, i);
				continue;
			}
			float longest[CR_WIDTH];
			cr_tri8 *block = &c->blocks[child];
			whole = refit_block(c->topology, block, pad, node, i, longest) && whole;
			for (int lane = 0; lane < block->count; lane++)
				lengths[cr_length_class(longest[lane])]++;
		}
	}
	return whole;
}

/// Read the places of a block's samples; write its box to child i of a node. Lanes that are not
/// used repeat the first one.
static inline void refit_sample_block(const cr_topology *t, cr_sample8 *block, cr_node8 *node, uint32_t i)
{
	f8 point[3];
	f8_load_threes(t->vertices, block->number, point);
	for (int k = 0; k < 3; k++) {
		f8_store(block->point[k], point[k]);
		node->lower[k][i] = f8_lowest(point[k]);
		node->upper[k][i] = f8_highest(point[k]);
	}
}

void CR_ISA_NAME(cr_refit_samples)(cr_collider *c)
{
	for (int32_t n = c->sample_tree.node_count - 1; n >= 0; n--) {
		cr_node8 *node = &c->sample_tree.nodes[n];
		for (uint32_t i = 0; i < node->child_count; i++) {
			const uint32_t child = node->child[i] & ~CR_LEAF_BIT;
			if (node->child[i] & CR_LEAF_BIT)
				refit_sample_block(c->topology, &c->samples[child], node, i);
			else
				refit_inner(&c->sample_tree.nodes[child], node, i);
		}
	}
}
