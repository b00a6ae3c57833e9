/// Bounding volume hierarchies: a binary tree built by binned SAH and its 8-wide form.
///
/// Both are flat arrays with 32-bit indices and without pointers. The wide tree is the one that
/// rays and queries walk: one SIMD test for the eight boxes of a node. Leaves hold up to eight
/// primitives, one block of structure-of-arrays data each.
#ifndef CR_TREE_TREE_H
#define CR_TREE_TREE_H

#include "base/context.h"
#include "math/box3.h"

enum {
	CR_WIDTH = 8,
	CR_MAX_DEPTH = 64,
	/// Entries that a walk of a wide tree may have before it: each level leaves seven children more
	/// than it takes.
	CR_TREE_STACK = CR_MAX_DEPTH * (CR_WIDTH - 1) + 1,
	/// Pairs that a walk of two wide trees at once may have before it, when it opens one of a pair
	/// at a time, down to the primitives.
	CR_TWO_TREES_STACK = 2 * (CR_MAX_DEPTH + 1) * (CR_WIDTH - 1) + 1,
};

/// Boxes of primitives to build over: [count] each, closed. Points have lower == upper.
typedef struct cr_build_boxes {
	const float *lower[3];
	const float *upper[3];
	int32_t count;
} cr_build_boxes;

/// One of the boxes, which user points to: a cr_primitive_box_fn.
static inline void cr_build_box(const void *user, int32_t primitive, float lower[3], float upper[3])
{
	const cr_build_boxes *boxes = user;
	for (int k = 0; k < 3; k++) {
		lower[k] = boxes->lower[k][primitive];
		upper[k] = boxes->upper[k][primitive];
	}
}

/// A node of the binary tree, depth-first: the first child follows its parent; skip is the node to
/// go on with when the box is missed or the leaf is done (the miss link of a stackless walk).
/// Leaves have count > 0.
typedef struct cr_node2 {
	float lower[3];
	float upper[3];
	int32_t skip;
	int32_t first; // leaf: in the order array; inner: second child
	int32_t count; // leaf: primitives; inner: 0
} cr_node2;

typedef struct cr_tree2 {
	cr_node2 *nodes;    // [node_count]
	int32_t node_count; // 0 for no primitives
	int32_t *order;     // [primitive_count] primitives as the leaves hold them
	int32_t primitive_count;
} cr_tree2;

#define CR_SAH_TRAVERSAL 0.35f // three levels become one wide node test
#define CR_FULL_LEAVES 1e30f

/// Build by binned surface area heuristic, leaves of up to eight (Wald, On fast Construction of
/// SAH-based Bounding Volume Hierarchies, 2007). The cost of a leaf is one block test. Parallel
/// over subtrees; the same tree for any thread count. O(n log n). On failure the tree is empty.
/// traversal_cost: of one more binary level, in block tests; CR_FULL_LEAVES never splits a range
/// that fits in a block.
carom_result cr_tree2_build(carom_context *context, const cr_build_boxes *boxes, float traversal_cost, cr_tree2 *tree);
void cr_tree2_free(carom_context *context, cr_tree2 *tree);

/// Build along the Morton curve: a node parts where the codes of its centres differ first (LBVH),
/// leaves of up to eight. Faster than cr_tree2_build, of lesser quality. sah_top: the nodes above
/// cells of 1/16 of the longest side are parted by the surface area heuristic (HLBVH: Garanzha,
/// Pantaleoni, McAllister, Simpler and Faster HLBVH with Work Queues, 2011). Parallel; the same
/// tree for any thread count. On failure the tree is empty.
carom_result cr_tree2_build_morton(carom_context *context, const cr_build_boxes *boxes, bool sah_top, cr_tree2 *tree);

/// Build by parallel locally-ordered clustering (build_ploc.c), and by treelet restructuring
/// (build_treelets.c): slower than along the curve, and nearly as good as the heuristic, or better.
/// Leaves of up to eight; parallel; the same tree for any thread count. O(n log n). On failure the
/// tree is empty. traversal_cost as in cr_tree2_build.
carom_result cr_tree2_build_ploc(carom_context *context, const cr_build_boxes *boxes, float traversal_cost, cr_tree2 *tree);
carom_result cr_tree2_build_treelets(carom_context *context, const cr_build_boxes *boxes, float traversal_cost, cr_tree2 *tree);

/// A grid of cells or samples, row by row, each of which is so many primitives, numbered in order
/// from 0 on.
typedef struct cr_rows {
	int32_t columns;
	int32_t rows;
	int32_t each;      // primitives: 1, 2, 4 or 8
	double spacing[2]; // of columns and rows
} cr_rows;

/// Build over such a grid by halving it (build_rows.c), and by cr_tree2_build over the primitives
/// behind it. Leaves of the grid are full as far as its sides allow. O(n). On failure the tree is
/// empty. traversal_cost as in cr_tree2_build.
carom_result cr_tree2_build_rows(
	carom_context *context, const cr_rows *rows, const cr_build_boxes *boxes, float traversal_cost, cr_tree2 *tree);

/// The box of a primitive.
typedef void cr_primitive_box_fn(const void *user, int32_t primitive, float lower[3], float upper[3]);
/// Make the boxes of a tree again from the places that its primitives have now. Leaves keep their
/// primitives.
void cr_tree2_refit(cr_tree2 *tree, cr_primitive_box_fn *box, const void *user);
/// Make those boxes again that primitives change which have moved. The region holds the box that
/// each of them had when the tree was last up to date. Returns the number of nodes refitted: those
/// that met the region.
int32_t cr_tree2_refit_near(cr_tree2 *tree, const box3f *region, cr_primitive_box_fn *box, const void *user);

/// Empty boxes of unused children: no finite box overlaps them and no ray meets them.
#define CR_EMPTY_LOWER 1e30f
#define CR_EMPTY_UPPER (-1e30f)

/// A child of a wide node: a node number, or CR_LEAF_BIT and the number of a block.
#define CR_LEAF_BIT 0x80000000u

typedef struct cr_node8 {
	float lower[3][CR_WIDTH];
	float upper[3][CR_WIDTH];
	uint32_t child[CR_WIDTH];
	uint32_t child_count; // used children come first; the others are block 0 with an empty box
	uint32_t padding[7];
} cr_node8;

_Static_assert(sizeof(cr_node8) == 256, "four cache lines");

typedef struct cr_tree8 {
	cr_node8 *nodes; // [node_count] root first; there always is one when there are primitives
	int32_t node_count;
	int32_t block_count; // leaves, one block each
	int32_t depth;
	int32_t *block_first; // [block_count] where the block starts in the binary tree's order
	int32_t *block_size;  // [block_count] its primitives, 1 to 8
} cr_tree8;

/// Collapse a binary tree to the wide tree of least cost. Boxes grow outward by pad.
carom_result cr_tree8_build(carom_context *context, const cr_tree2 *binary, float pad, cr_tree8 *tree);
void cr_tree8_free(carom_context *context, cr_tree8 *tree);

/// Bring the primitives of a block up to date and tell their box. Returns false where the block is
/// as it was; then there is no box.
typedef bool cr_block_refit_fn(void *user, int32_t block, float lower[3], float upper[3]);
/// Bring the boxes of a tree up to date whose primitives have moved within a region; leaves keep
/// their primitives. The region holds the box that each of them had before. Only blocks that meet
/// it are asked; their boxes grow by pad. Returns the number of nodes whose boxes were written.
int32_t cr_tree8_refit_near(cr_tree8 *tree, const box3f *region, float pad, cr_block_refit_fn *refit, void *user);

/// Check the invariants: every primitive in one leaf, boxes within their parents', links in range.
/// For tests.
bool cr_tree2_check(const cr_tree2 *tree, const cr_build_boxes *boxes);
/// The part of cr_tree2_check that needs no boxes: links and leaves over so many primitives, but
/// not their order.
bool cr_tree2_check_links(const cr_tree2 *tree, int32_t primitives);
bool cr_tree8_check(const cr_tree8 *tree, const cr_tree2 *binary);

#endif
