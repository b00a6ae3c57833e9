/// Boxes over spheres on a device, and the search of all their pairs, in three tiers.
///
/// COMPUTE: a tree of our own (gpu_lbvh.h). The spheres are 0 or 1 without a node.
///
/// QUERY and PIPELINE: the boxes of proxies of twice the radius, in the order of the same codes, in
/// an acceleration structure of the driver, and a ray of no length from each centre (Mochi,
/// Algorithm 1; shaders/sphere_rays.glsl).
///
/// All find the same pairs. Their order is determined by the spheres and the tier, on a device of
/// whatever subgroup size.
#ifndef CR_VULKAN_GPU_TREE_H
#define CR_VULKAN_GPU_TREE_H

#include "base/array.h"
#include "vulkan/gpu_lbvh.h"
#include "vulkan/vk_rays.h"

enum { CR_GPU_MOST_SPHERES = 1 << 29 }; // numbers leave room for the mark of doubt

/// A box reaches (radius + add) and some of it more, for roundings, from the centre.
typedef struct cr_gpu_reach {
	float add;
	// Spheres nearer than r_a + r_b + near touch, those further than r_a + r_b + far do not
	// (shaders/sphere_pairs.glsl).
	float near, far;
} cr_gpu_reach;

typedef struct cr_gpu_tree {
	carom_device_tier tier; // AUTO stands for COMPUTE
	uint32_t count;
	cr_gpu_reach reach;
	cr_gpu_lbvh lbvh;                   // the order; its nodes are of tier COMPUTE
	cr_gpu_buffer spheres;              // [count] x, y, z, r in floats, in the caller's order
	cr_gpu_buffer in_order;             // [count] in the order of the leaves
	cr_gpu_rays rays;                   // of the other tiers
	cr_gpu_buffer work;                 // of rays: shaders/rays_sum.comp
	cr_gpu_buffer counts, slots, first; // of the search: shaders/sphere_pairs.glsl
	cr_gpu_buffer tests, pairs;
	uint64_t room; // pairs that fit
	// Of rays, where not all pairs fit: a copy of `first`, because the pairs of a sphere are in one
	// window.
	CR_ARRAY(uint64_t) firsts;
	uint64_t found; // pairs
} cr_gpu_tree;

/// A found pair: numbers of spheres, CR_GPU_DOUBT in b where single precision cannot tell whether
/// they touch. a and b are in no order. b is CR_GPU_NO_PAIR where rays have left a place over.
typedef struct cr_gpu_pair {
	uint32_t a, b;
} cr_gpu_pair;
#define CR_GPU_DOUBT (1u << 31)
#define CR_GPU_NO_PAIR UINT32_MAX

/// Build the tree, of tree->tier, of count spheres [4*count], whose centres lie in the box lower,
/// upper; or, with refit, keep the shape of the last one of as many. *cost: boxes and spheres that
/// a random line through the box around all is expected to meet (surface area heuristic).
carom_result cr_gpu_build_tree(carom_device *device, cr_gpu_tree *tree, const float *spheres, uint32_t count,
	const float lower[3], const float upper[3], cr_gpu_reach reach, bool refit, double *cost);

/// Room for the tree of count spheres, and for its search but the pairs.
carom_result cr_gpu_reserve_tree(carom_device *device, cr_gpu_tree *tree, uint32_t count);
/// Record, between cr_gpu_begin and cr_gpu_finish: make the tree, of tree->tier, of the spheres
/// that kernels before have written to tree->spheres. At least 2. The order along the curve may
/// suffer where the box does not hold them all, nothing else.
void cr_gpu_record_tree(
	carom_device *device, cr_gpu_tree *tree, uint32_t count, const float lower[3], const float upper[3], cr_gpu_reach reach);

/// What a search has found and done.
typedef struct cr_gpu_search {
	uint64_t pairs;
	uint64_t tests;  // distances computed
	uint64_t visits; // nodes looked at; of rays: boxes met
} cr_gpu_search;

/// Find all pairs: they are counted, and the first of them, as many as there is room for, are in
/// tree->pairs. want: pairs to make room for before.
carom_result cr_gpu_find_pairs(carom_device *device, cr_gpu_tree *tree, uint64_t want, cr_gpu_search *found);

// The parts of cr_gpu_find_pairs, for work that follows in the same submission (gpu_pairs.h).

/// Where the processor will read the findings of a search.
typedef struct cr_gpu_search_reads {
	const char *pairs, *counters;
} cr_gpu_search_reads;

/// Room for as many pairs as are wanted, or for as many as there is memory for.
carom_result cr_gpu_reserve_pairs(carom_device *device, cr_gpu_tree *tree, uint64_t want);
/// Begin to record, and record the search of at least two spheres.
carom_result cr_gpu_begin_search(carom_device *device, cr_gpu_tree *tree, cr_gpu_search_reads *reads);
/// Record: the window that begins at a number, into tree->pairs.
void cr_gpu_record_fill(carom_device *device, cr_gpu_tree *tree, uint64_t first);
/// Submit the recorded work, and wait.
carom_result cr_gpu_end_search(carom_device *device, cr_gpu_tree *tree, const cr_gpu_search_reads *reads, cr_gpu_search *found);

/// How many pairs from a number on are in tree->pairs at once: the window. *count is not 0 before
/// the last pair, or the call fails.
carom_result cr_gpu_window(carom_device *device, cr_gpu_tree *tree, uint64_t first, uint64_t *count);
/// After cr_gpu_find_pairs: put the window that begins at a number into tree->pairs.
carom_result cr_gpu_next_pairs(carom_device *device, cr_gpu_tree *tree, uint64_t first);

/// Bytes of device memory.
uint64_t cr_gpu_tree_bytes(const cr_gpu_tree *tree);
void cr_gpu_free_tree(carom_device *device, cr_gpu_tree *tree);

#endif
