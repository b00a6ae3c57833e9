/// A tree of boxes over spheres on a device: the radix tree of their Morton codes (Karras 2012),
/// two children to a node, one sphere to a leaf; and the search of all its pairs.
///
/// Everything is determined by the spheres, and so is the order of the pairs, on a device of
/// whatever subgroup size. Building is O(n) beside the sort. The spheres are 0 or 1 without a node.
#ifndef CR_VULKAN_GPU_TREE_H
#define CR_VULKAN_GPU_TREE_H

#include "vulkan/gpu_sort.h"
#include "vulkan/vk_memory.h"

enum { CR_GPU_MOST_SPHERES = 1 << 29 }; // numbers leave room for the mark of doubt

/// A box reaches (radius + add) and some of it more, for roundings, from the centre.
typedef struct cr_gpu_reach {
	float add;
	// Spheres nearer than r_a + r_b + near touch, those further than r_a + r_b + far do not
	// (shaders/sphere_pairs.glsl).
	float near, far;
} cr_gpu_reach;

typedef struct cr_gpu_tree {
	uint32_t count;
	cr_gpu_reach reach;
	int sorted;             // which of the two codes and orders holds the sorted ones
	cr_gpu_buffer spheres;  // [count] x, y, z, r in single precision, in the caller's order
	cr_gpu_buffer in_order; // [count] in the order of the leaves
	cr_gpu_buffer codes[2], order[2];
	cr_gpu_buffer scratch; // of sorts and sums
	cr_gpu_buffer nodes, leaf_parents, node_parents, arrivals;
	cr_gpu_buffer costs;
	cr_gpu_buffer found, slots, first; // of the search: shaders/sphere_pairs.glsl
	cr_gpu_buffer tests, pairs;
	uint64_t room; // pairs that fit
} cr_gpu_tree;

/// A found pair: numbers of spheres, CR_GPU_DOUBT in b where single precision cannot tell whether
/// they touch. a and b are in no order.
typedef struct cr_gpu_pair {
	uint32_t a, b;
} cr_gpu_pair;
#define CR_GPU_DOUBT (1u << 31)

/// Build the tree of count spheres [4*count], whose centres lie in the box lower, upper; or, with
/// refit, keep the shape of the last one of as many. *cost: boxes and spheres that a random line
/// through the box around all is expected to meet (surface area heuristic).
carom_result cr_gpu_build_tree(carom_device *device, cr_gpu_tree *tree, const float *spheres, uint32_t count,
	const float lower[3], const float upper[3], cr_gpu_reach reach, bool refit, double *cost);

/// What a search has found and done.
typedef struct cr_gpu_search {
	uint64_t pairs;
	uint64_t tests;  // distances computed
	uint64_t visits; // nodes looked at
} cr_gpu_search;

/// Find all pairs: they are counted, and the first of them, as many as there is room for, are in
/// tree->pairs. want: pairs to make room for before.
carom_result cr_gpu_find_pairs(carom_device *device, cr_gpu_tree *tree, uint64_t want, cr_gpu_search *found);
/// After cr_gpu_find_pairs: put the pairs from a number on into tree->pairs.
carom_result cr_gpu_next_pairs(carom_device *device, cr_gpu_tree *tree, uint64_t first);

/// Bytes of device memory.
uint64_t cr_gpu_tree_bytes(const cr_gpu_tree *tree);
void cr_gpu_free_tree(carom_device *device, cr_gpu_tree *tree);

#endif
