/// Trees over spheres on a device. See vulkan/gpu_tree.h.
#include "vulkan/gpu_tree.h"
#include "vulkan/vk_kernels.h"
#include <math.h>
#include <string.h>

enum {
	CODE_BITS = 63,
	NODE_BYTES = 64, // tree.glsl
	SLOTS = 8,       // sphere_pairs.glsl
	COST_GROUPS = 256,
	COUNTER_BYTES = 16,
	LEAST_PAIRS = 1024,
};

static uint32_t bits_of(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

// ---- Memory ----

#define TREE_BUFFERS 16

static void list_buffers(cr_gpu_tree *t, cr_gpu_buffer *list[TREE_BUFFERS])
{
	cr_gpu_buffer *all[TREE_BUFFERS] = { &t->spheres, &t->in_order, &t->codes[0], &t->codes[1], &t->order[0], &t->order[1],
		&t->scratch, &t->nodes, &t->leaf_parents, &t->node_parents, &t->arrivals, &t->costs, &t->found, &t->slots, &t->first,
		&t->tests };
	memcpy(list, all, sizeof all);
}

uint64_t cr_gpu_tree_bytes(const cr_gpu_tree *tree)
{
	cr_gpu_tree copy = *tree;
	cr_gpu_buffer *list[TREE_BUFFERS];
	list_buffers(&copy, list);
	uint64_t bytes = tree->pairs.size;
	for (int i = 0; i < TREE_BUFFERS; i++)
		bytes += list[i]->size;
	return bytes;
}

void cr_gpu_free_tree(carom_device *device, cr_gpu_tree *tree)
{
	cr_gpu_buffer *list[TREE_BUFFERS];
	list_buffers(tree, list);
	for (int i = 0; i < TREE_BUFFERS; i++)
		cr_gpu_free(device, list[i]);
	cr_gpu_free(device, &tree->pairs);
	*tree = (cr_gpu_tree){ 0 };
}

/// Room for the tree and its search.
static carom_result reserve_tree(carom_device *device, cr_gpu_tree *t, uint64_t n)
{
	const uint64_t sort = cr_gpu_sort_scratch(device, n), scan = cr_gpu_scan_scratch(n + 1, true);
	const struct {
		cr_gpu_buffer *buffer;
		uint64_t size;
	} wanted[] = { { &t->spheres, 16 * n }, { &t->in_order, 16 * n }, { &t->codes[0], 8 * n }, { &t->codes[1], 8 * n },
		{ &t->order[0], 4 * n }, { &t->order[1], 4 * n }, { &t->scratch, sort > scan ? sort : scan },
		{ &t->nodes, NODE_BYTES * n }, { &t->leaf_parents, 4 * n }, { &t->node_parents, 4 * n }, { &t->arrivals, 4 * n },
		{ &t->costs, 4 * (COST_GROUPS + 1) }, { &t->found, 4 * (n + 1) }, { &t->slots, 4 * SLOTS * n },
		{ &t->first, 8 * (n + 1) }, { &t->tests, COUNTER_BYTES } };
	carom_result result = CAROM_SUCCESS;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CAROM_SUCCESS; i++)
		result = cr_gpu_reserve(device, wanted[i].buffer, wanted[i].size);
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

static void record_shape(carom_device *device, cr_gpu_tree *t, const float lower[3], const float upper[3])
{
	const uint32_t n = t->count;
	const cr_gpu_arguments codes = { { t->spheres.address, t->codes[0].address, t->order[0].address },
		{ n, bits_of(lower[0]), bits_of(lower[1]), bits_of(lower[2]), bits_of(cells_per_length(lower, upper)) } };
	cr_gpu_run(device, CR_KERNEL_MORTON, n, CR_GPU_THREADS, &codes);
	const cr_gpu_sort_arrays arrays = { { t->codes[0].address, t->codes[1].address },
		{ t->order[0].address, t->order[1].address }, t->scratch.address };
	t->sorted = cr_gpu_sort(device, &arrays, n, CODE_BITS, true);
	const cr_gpu_arguments shape = {
		{ t->codes[t->sorted].address, t->nodes.address, t->leaf_parents.address, t->node_parents.address }, { n }
	};
	cr_gpu_run(device, CR_KERNEL_TREE_SHAPE, n - 1, CR_GPU_THREADS, &shape);
}

static void record_fit(carom_device *device, cr_gpu_tree *t)
{
	const uint32_t n = t->count;
	const cr_gpu_arguments gather = { { t->spheres.address, t->order[t->sorted].address, t->in_order.address }, { n } };
	cr_gpu_run(device, CR_KERNEL_GATHER, n, CR_GPU_THREADS, &gather);
	cr_gpu_clear(device, &t->arrivals, 4 * (uint64_t)n);
	const cr_gpu_arguments fit = { { t->in_order.address, t->nodes.address, t->leaf_parents.address, t->node_parents.address,
									   t->arrivals.address },
		{ n, bits_of(1), bits_of(t->reach.add) } };
	cr_gpu_run(device, CR_KERNEL_TREE_FIT, n, CR_GPU_THREADS, &fit);
	const cr_gpu_arguments cost = { { t->nodes.address, t->costs.address }, { n, COST_GROUPS } };
	cr_gpu_run(device, CR_KERNEL_TREE_COST, COST_GROUPS * CR_GPU_THREADS, CR_GPU_THREADS, &cost);
}

static double sum_costs(const float *costs)
{
	double sum = 0;
	for (int i = 0; i < COST_GROUPS; i++)
		sum += costs[i];
	return costs[COST_GROUPS] > 0 ? 2 + sum / costs[COST_GROUPS] : 0;
}

carom_result cr_gpu_build_tree(carom_device *device, cr_gpu_tree *tree, const float *spheres, uint32_t count,
	const float lower[3], const float upper[3], cr_gpu_reach reach, bool refit, double *cost)
{
	*cost = 0;
	carom_result result = reserve_tree(device, tree, count);
	tree->count = 0; // until it is made
	if (result != CAROM_SUCCESS || count < 2)
		return result;
	result = cr_gpu_upload(device, &tree->spheres, spheres, 16 * (uint64_t)count);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	tree->count = count;
	tree->reach = reach;
	if (!refit)
		record_shape(device, tree, lower, upper);
	record_fit(device, tree);
	const float *costs = cr_gpu_read(device, &tree->costs, 0, 4 * (COST_GROUPS + 1));
	result = cr_gpu_finish(device);
	if (result == CAROM_SUCCESS)
		*cost = sum_costs(costs);
	else
		tree->count = 0;
	return result;
}

// ---- Pairs ----

/// What both kernels of the search take; first: of the pairs wanted.
static cr_gpu_arguments search_arguments(const cr_gpu_tree *t, uint64_t first)
{
	return (cr_gpu_arguments){
		{ t->nodes.address, t->in_order.address, t->order[t->sorted].address, t->found.address, t->slots.address,
			t->tests.address, t->first.address, t->pairs.address },
		{ t->count, bits_of(1), bits_of(t->reach.add), bits_of(t->reach.near), bits_of(t->reach.far), (uint32_t)t->room,
			(uint32_t)first, (uint32_t)(first >> 32) },
	};
}

/// Pairs that a buffer can hold: of the device, and within its budget, where that leaves any room.
static uint64_t most_pairs(const carom_device *device, const cr_gpu_tree *t)
{
	uint64_t most = device->info.largest_buffer;
	const uint64_t budget = device->def.memory_budget, others = device->stats.bytes - t->pairs.size;
	if (budget > others && budget - others < most)
		most = budget - others;
	most /= 2 * sizeof(cr_gpu_pair); // a buffer may grow by half more than it is asked to
	return most < UINT32_MAX ? most : UINT32_MAX;
}

/// Room for as many pairs as are wanted, or for as many as there is memory for: the rest comes in
/// further windows.
static carom_result reserve_pairs(carom_device *device, cr_gpu_tree *t, uint64_t want)
{
	const uint64_t most = most_pairs(device, t);
	carom_result result = CAROM_SUCCESS;
	want = want < most ? want : most;
	want = want > LEAST_PAIRS ? want : LEAST_PAIRS;
	for (bool again = want > t->room; again; want /= 2) {
		result = cr_gpu_reserve(device, &t->pairs, want * sizeof(cr_gpu_pair));
		t->room = t->pairs.size / sizeof(cr_gpu_pair);
		again = want >= 2 * LEAST_PAIRS && (result == CAROM_OUT_OF_MEMORY || result == CAROM_OVER_BUDGET);
	}
	t->room = t->room < UINT32_MAX ? t->room : UINT32_MAX;
	return result;
}

carom_result cr_gpu_find_pairs(carom_device *device, cr_gpu_tree *t, uint64_t want, cr_gpu_search *found)
{
	*found = (cr_gpu_search){ 0 };
	if (t->count < 2)
		return CAROM_SUCCESS;
	carom_result result = reserve_pairs(device, t, want);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_gpu_arguments arguments = search_arguments(t, 0);
	cr_gpu_clear(device, &t->tests, COUNTER_BYTES);
	cr_gpu_run(device, CR_KERNEL_PAIRS_COUNT, (uint64_t)t->count + 1, CR_GPU_THREADS, &arguments);
	cr_gpu_scan(device, t->found.address, t->first.address, t->count + 1, true, t->scratch.address);
	cr_gpu_run(device, CR_KERNEL_PAIRS_FILL, t->count, CR_GPU_THREADS, &arguments);
	const char *all = cr_gpu_read(device, &t->first, 8 * (uint64_t)t->count, 8);
	const char *counters = cr_gpu_read(device, &t->tests, 0, COUNTER_BYTES);
	result = cr_gpu_finish(device);
	if (result == CAROM_SUCCESS) {
		memcpy(&found->pairs, all, 8);
		memcpy(&found->tests, counters, 8);
		memcpy(&found->visits, counters + 8, 8);
	}
	return result;
}

carom_result cr_gpu_next_pairs(carom_device *device, cr_gpu_tree *t, uint64_t first)
{
	const carom_result result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_gpu_arguments arguments = search_arguments(t, first);
	cr_gpu_run(device, CR_KERNEL_PAIRS_FILL, t->count, CR_GPU_THREADS, &arguments);
	return cr_gpu_finish(device);
}
