/// The order along the Morton curve, and a tree of boxes over it, on a device: the radix tree of
/// the codes (Karras 2012), two children to a node (shaders/tree.glsl). Building is O(n) beside the
/// sort. Boxes of leaves are those of spheres (gpu_tree.h), or features
/// that move (gpu_sweep.h).
#ifndef CR_VULKAN_GPU_LBVH_H
#define CR_VULKAN_GPU_LBVH_H

#include "vulkan/gpu_sort.h"
#include "vulkan/vk_memory.h"

enum {
	CR_GPU_COST_GROUPS = 256,
	CR_GPU_COST_FLOATS = 7, // of a group: proxies_cost.comp
};

typedef struct cr_gpu_lbvh {
	uint32_t count;
	int sorted; // which of the two codes and orders holds the sorted ones
	cr_gpu_buffer codes[2], order[2];
	cr_gpu_buffer scratch; // of sorts, and of wide sums over count + 1 items
	cr_gpu_buffer nodes, leaf_parents, node_parents, arrivals;
	cr_gpu_buffer costs;
} cr_gpu_lbvh;

/// Room for an order of count items, and for its nodes if they are wanted.
carom_result cr_gpu_reserve_lbvh(carom_device *device, cr_gpu_lbvh *tree, uint64_t count, bool nodes);
void cr_gpu_free_lbvh(carom_device *device, cr_gpu_lbvh *tree);
/// Bytes of device memory.
uint64_t cr_gpu_lbvh_bytes(const cr_gpu_lbvh *tree);

// These functions record, between cr_gpu_begin and cr_gpu_finish.

/// Put count points, each the head of a vec4, in order. They lie in the box lower, upper: the order
/// may suffer where it does not hold them all, nothing else.
void cr_gpu_record_order(carom_device *device, cr_gpu_lbvh *tree, VkDeviceAddress points, uint32_t count, const float lower[3],
	const float upper[3]);
/// The nodes over at least two items in order.
void cr_gpu_record_shape(carom_device *device, cr_gpu_lbvh *tree);
/// The boxes of all nodes, by a form of tree_fit.comp: the contents of leaves, and its words 1
/// and 2.
void cr_gpu_record_fit(
	carom_device *device, cr_gpu_lbvh *tree, cr_kernel kernel, VkDeviceAddress leaves, uint32_t word1, uint32_t word2);
/// The cost of the tree: returns where the processor finds the numbers that make it up.
const float *cr_gpu_record_cost(carom_device *device, cr_gpu_lbvh *tree);
/// Boxes and items that a random line through the box around all is expected to meet (surface area
/// heuristic).
double cr_gpu_lbvh_cost(const float *costs);

/// The bits of a number, as kernels take words.
uint32_t cr_gpu_float_bits(float value);

#endif
