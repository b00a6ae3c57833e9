/// Orders and trees on a device. See vulkan/gpu_lbvh.h.
#include "vulkan/gpu_lbvh.h"
#include "vulkan/vk_kernels.h"
#include <math.h>
#include <string.h>

enum {
	CODE_BITS = 63,
	NODE_BYTES = 64, // tree.glsl
};

uint32_t cr_gpu_float_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

// ---- Memory ----

#define LBVH_BUFFERS 10

static void list_buffers(cr_gpu_lbvh *t, cr_gpu_buffer *list[LBVH_BUFFERS])
{
	cr_gpu_buffer *all[LBVH_BUFFERS] = { &t->codes[0], &t->codes[1], &t->order[0], &t->order[1], &t->scratch, &t->nodes,
		&t->leaf_parents, &t->node_parents, &t->arrivals, &t->costs };
	memcpy(list, all, sizeof all);
}

uint64_t cr_gpu_lbvh_bytes(const cr_gpu_lbvh *tree)
{
	cr_gpu_lbvh copy = *tree;
	cr_gpu_buffer *list[LBVH_BUFFERS];
	list_buffers(&copy, list);
	uint64_t bytes = 0;
	for (int i = 0; i < LBVH_BUFFERS; i++)
		bytes += list[i]->size;
	return bytes;
}

void cr_gpu_free_lbvh(carom_device *device, cr_gpu_lbvh *tree)
{
	cr_gpu_buffer *list[LBVH_BUFFERS];
	list_buffers(tree, list);
	for (int i = 0; i < LBVH_BUFFERS; i++)
		cr_gpu_free(device, list[i]);
	*tree = (cr_gpu_lbvh){ 0 };
}

carom_result cr_gpu_reserve_lbvh(carom_device *device, cr_gpu_lbvh *t, uint64_t n, bool nodes)
{
	const uint64_t sort = cr_gpu_sort_scratch(device, n), scan = cr_gpu_scan_scratch(n + 1), ours = nodes ? n : 0;
	const uint64_t sizes[LBVH_BUFFERS] = { 8 * n, 8 * n, 4 * n, 4 * n, sort > scan ? sort : scan, NODE_BYTES * ours, 4 * ours,
		4 * ours, 4 * ours, 4 * (uint64_t)CR_GPU_COST_FLOATS * CR_GPU_COST_GROUPS };
	cr_gpu_buffer *list[LBVH_BUFFERS];
	list_buffers(t, list);
	carom_result result = CAROM_SUCCESS;
	for (int i = 0; i < LBVH_BUFFERS && result == CAROM_SUCCESS; i++)
		result = cr_gpu_reserve(device, list[i], sizes[i]);
	return result;
}

// ---- Building ----

/// Cells of the curve for each unit of length; 0 where the box is a point, or nearly.
static float cells_per_length(const float lower[3], const float upper[3])
{
	float extent = 0;
	for (int k = 0; k < 3; k++)
		extent = fmaxf(extent, upper[k] - lower[k]);
	const float scale = 2097152.0f / extent;
	return extent > 0 && isfinite(scale) ? scale : 0;
}

void cr_gpu_record_order(
	carom_device *device, cr_gpu_lbvh *t, VkDeviceAddress points, uint32_t n, const float lower[3], const float upper[3])
{
	t->count = n;
	const cr_gpu_arguments codes = { { points, t->codes[0].address, t->order[0].address },
		{ n, cr_gpu_float_bits(lower[0]), cr_gpu_float_bits(lower[1]), cr_gpu_float_bits(lower[2]),
			cr_gpu_float_bits(cells_per_length(lower, upper)) } };
	cr_gpu_run(device, CR_KERNEL_MORTON, n, CR_GPU_THREADS, &codes);
	const cr_gpu_sort_arrays arrays = { { t->codes[0].address, t->codes[1].address },
		{ t->order[0].address, t->order[1].address }, t->scratch.address };
	t->sorted = cr_gpu_sort(device, &arrays, n, CODE_BITS, true);
}

void cr_gpu_record_shape(carom_device *device, cr_gpu_lbvh *t)
{
	cr_gpu_clear(device, &t->leaf_parents, 4 * (uint64_t)t->count);
	const cr_gpu_arguments shape = {
		{ t->codes[t->sorted].address, t->nodes.address, t->leaf_parents.address, t->node_parents.address }, { t->count }
	};
	cr_gpu_run(device, CR_KERNEL_TREE_SHAPE, t->count - 1, CR_GPU_THREADS, &shape);
}

void cr_gpu_record_fit(
	carom_device *device, cr_gpu_lbvh *t, cr_kernel kernel, VkDeviceAddress leaves, uint32_t word1, uint32_t word2)
{
	cr_gpu_clear(device, &t->arrivals, 4 * (uint64_t)t->count);
	const cr_gpu_arguments fit = { { leaves, t->nodes.address, t->leaf_parents.address, t->node_parents.address,
									   t->arrivals.address },
		{ t->count, word1, word2 } };
	cr_gpu_run(device, kernel, t->count, CR_GPU_THREADS, &fit);
}

const float *cr_gpu_record_cost(carom_device *device, cr_gpu_lbvh *t)
{
	const cr_gpu_arguments cost = { { t->nodes.address, t->costs.address }, { t->count, CR_GPU_COST_GROUPS } };
	cr_gpu_run(device, CR_KERNEL_TREE_COST, CR_GPU_COST_GROUPS * CR_GPU_THREADS, CR_GPU_THREADS, &cost);
	return cr_gpu_read(device, &t->costs, 0, 4 * (CR_GPU_COST_GROUPS + 1));
}

double cr_gpu_lbvh_cost(const float *costs)
{
	double sum = 0;
	for (int i = 0; i < CR_GPU_COST_GROUPS; i++)
		sum += costs[i];
	return costs[CR_GPU_COST_GROUPS] > 0 ? 2 + sum / costs[CR_GPU_COST_GROUPS] : 0;
}
