/// Trees over spheres on a device. See vulkan/gpu_tree.h.
#include "vulkan/gpu_tree.h"
#include "vulkan/vk_kernels.h"
#include <math.h>
#include <string.h>

enum {
	SLOTS = 16, // sphere_pairs.glsl
	COUNTER_BYTES = 16,
	LEAST_PAIRS = 1024,
};

static uint32_t bits_of(float value) { return cr_gpu_float_bits(value); }

// ---- Memory ----

#define TREE_BUFFERS 7

static void list_buffers(cr_gpu_tree *t, cr_gpu_buffer *list[TREE_BUFFERS])
{
	cr_gpu_buffer *all[TREE_BUFFERS] = { &t->spheres, &t->in_order, &t->counts, &t->slots, &t->first, &t->tests, &t->work };
	memcpy(list, all, sizeof all);
}

uint64_t cr_gpu_tree_bytes(const cr_gpu_tree *tree)
{
	cr_gpu_tree copy = *tree;
	cr_gpu_buffer *list[TREE_BUFFERS];
	list_buffers(&copy, list);
	uint64_t bytes = tree->pairs.size + cr_gpu_lbvh_bytes(&tree->lbvh) + cr_gpu_rays_bytes(&tree->rays);
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
	cr_gpu_free_lbvh(device, &tree->lbvh);
	cr_gpu_free_rays(device, &tree->rays);
	cr_array_free(device->context, &tree->firsts);
	*tree = (cr_gpu_tree){ 0 };
}

static bool has_rays(const cr_gpu_tree *t) { return t->tier == CAROM_TIER_QUERY || t->tier == CAROM_TIER_PIPELINE; }

/// Room for the tree and its search.
static carom_result reserve_tree(carom_device *device, cr_gpu_tree *t, uint64_t n)
{
	const uint64_t theirs = has_rays(t) ? n : 0;
	const struct {
		cr_gpu_buffer *buffer;
		uint64_t size;
	} wanted[] = { { &t->spheres, 16 * n }, { &t->in_order, 16 * n }, { &t->work, 8 * theirs }, { &t->counts, 4 * (n + 1) },
		{ &t->slots, 4 * SLOTS * n }, { &t->first, 8 * (n + 1) }, { &t->tests, COUNTER_BYTES } };
	carom_result result = cr_gpu_reserve_lbvh(device, &t->lbvh, n, !has_rays(t));
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CAROM_SUCCESS; i++)
		result = cr_gpu_reserve(device, wanted[i].buffer, wanted[i].size);
	if (result == CAROM_SUCCESS && theirs > 1)
		result = cr_gpu_reserve_rays(device, &t->rays, theirs);
	return result;
}

// ---- Building ----

static void record_shape(carom_device *device, cr_gpu_tree *t, const float lower[3], const float upper[3])
{
	cr_gpu_record_order(device, &t->lbvh, t->spheres.address, t->count, lower, upper);
	if (!has_rays(t))
		cr_gpu_record_shape(device, &t->lbvh);
}

/// The driver's structure of proxies. Each reaches 2 r + skin, where `add` is half the skin and
/// more.
static void record_proxies(carom_device *device, cr_gpu_tree *t, bool refit)
{
	const uint32_t n = t->count;
	const cr_gpu_arguments boxes = { { t->in_order.address, t->rays.boxes.address },
		{ n, bits_of(2), bits_of(2 * t->reach.add) } };
	cr_gpu_run(device, CR_KERNEL_PROXIES, n, CR_GPU_THREADS, &boxes);
	cr_gpu_build_rays(device, &t->rays, n, refit);
	const cr_gpu_arguments cost = { { t->rays.boxes.address, t->lbvh.costs.address }, { n, CR_GPU_COST_GROUPS } };
	cr_gpu_run(device, CR_KERNEL_PROXIES_COST, CR_GPU_COST_GROUPS * CR_GPU_THREADS, CR_GPU_THREADS, &cost);
}

static void record_fit(carom_device *device, cr_gpu_tree *t, bool refit)
{
	const uint32_t n = t->count;
	const cr_gpu_arguments gather = { { t->spheres.address, t->lbvh.order[t->lbvh.sorted].address, t->in_order.address },
		{ n } };
	cr_gpu_run(device, CR_KERNEL_GATHER, n, CR_GPU_THREADS, &gather);
	if (has_rays(t)) {
		record_proxies(device, t, refit);
		return;
	}
	cr_gpu_record_fit(device, &t->lbvh, CR_KERNEL_TREE_FIT, t->in_order.address, bits_of(1), bits_of(t->reach.add));
}

/// Returns where the numbers will be that make up the cost.
static const float *record_cost(carom_device *device, cr_gpu_tree *t)
{
	if (has_rays(t)) // computed with the proxies
		return cr_gpu_read(device, &t->lbvh.costs, 0, 4 * CR_GPU_COST_FLOATS * CR_GPU_COST_GROUPS);
	return cr_gpu_record_cost(device, &t->lbvh);
}

/// The cost of proxies_cost.comp, where each group has a box around its boxes.
static double sum_proxy_costs(const float *costs)
{
	double sum = 0, size[3];
	for (int i = 0; i < CR_GPU_COST_GROUPS; i++)
		sum += costs[CR_GPU_COST_FLOATS * i];
	for (int k = 0; k < 3; k++) {
		float lower = INFINITY, upper = -INFINITY;
		for (int i = 0; i < CR_GPU_COST_GROUPS; i++) {
			lower = fminf(lower, costs[CR_GPU_COST_FLOATS * i + 1 + k]);
			upper = fmaxf(upper, costs[CR_GPU_COST_FLOATS * i + 4 + k]);
		}
		size[k] = (double)upper - lower;
	}
	const double area = 2 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0]);
	return area > 0 ? 2 + sum / area : 0;
}

carom_result cr_gpu_build_tree(carom_device *device, cr_gpu_tree *tree, const float *spheres, uint32_t count,
	const float lower[3], const float upper[3], cr_gpu_reach reach, bool refit, double *cost)
{
	*cost = 0;
	carom_result result = reserve_tree(device, tree, count);
	tree->count = 0; // until it is made
	if (result != CAROM_SUCCESS || count < 2)
		return result;
	result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_send(device, &tree->spheres, spheres, 16 * (uint64_t)count);
	tree->count = count;
	tree->reach = reach;
	if (!refit)
		record_shape(device, tree, lower, upper);
	record_fit(device, tree, refit);
	const float *costs = record_cost(device, tree);
	result = cr_gpu_finish(device);
	if (result == CAROM_SUCCESS)
		*cost = (has_rays(tree) ? sum_proxy_costs : cr_gpu_lbvh_cost)(costs);
	else
		tree->count = 0;
	return result;
}

carom_result cr_gpu_reserve_tree(carom_device *device, cr_gpu_tree *tree, uint32_t count)
{
	return reserve_tree(device, tree, count);
}

void cr_gpu_record_tree(
	carom_device *device, cr_gpu_tree *tree, uint32_t count, const float lower[3], const float upper[3], cr_gpu_reach reach)
{
	tree->count = count;
	tree->reach = reach;
	record_shape(device, tree, lower, upper);
	record_fit(device, tree, false);
}

// ---- Pairs ----

/// What both kernels of the search take; first: of the pairs wanted.
static cr_gpu_arguments search_arguments(const cr_gpu_tree *t, uint64_t first)
{
	return (cr_gpu_arguments){
		{ t->lbvh.nodes.address, t->in_order.address, t->lbvh.order[t->lbvh.sorted].address, t->counts.address,
			t->slots.address, t->tests.address, t->first.address, t->pairs.address },
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

/// Put a buffer with room for so many pairs in the place of the one that there is. That one stays
/// until the other one is made.
static carom_result replace_pairs(carom_device *device, cr_gpu_tree *t, uint64_t want)
{
	cr_gpu_buffer pairs = { 0 };
	const carom_result result = cr_gpu_reserve(device, &pairs, want * sizeof(cr_gpu_pair));
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_free(device, &t->pairs);
	t->pairs = pairs;
	const uint64_t room = pairs.size / sizeof(cr_gpu_pair);
	t->room = room < UINT32_MAX ? room : UINT32_MAX;
	return CAROM_SUCCESS;
}

carom_result cr_gpu_reserve_pairs(carom_device *device, cr_gpu_tree *t, uint64_t want)
{
	const uint64_t most = most_pairs(device, t);
	if (want > t->room && want < t->room + t->room / 2)
		want = t->room + t->room / 2; // growth is rare
	want = want < most ? want : most;
	want = want > LEAST_PAIRS ? want : LEAST_PAIRS;
	while (want > t->room) {
		const carom_result result = replace_pairs(device, t, want);
		const bool scarce = result == CAROM_OUT_OF_MEMORY || result == CAROM_OVER_BUDGET;
		if (result != CAROM_SUCCESS && (!scarce || (want == LEAST_PAIRS && t->room == 0)))
			return result;
		if (result == CAROM_SUCCESS || want == LEAST_PAIRS)
			break;
		want = want / 2 > LEAST_PAIRS ? want / 2 : LEAST_PAIRS;
	}
	return CAROM_SUCCESS;
}

/// The arguments of rays: sphere_rays.glsl.
static cr_gpu_arguments ray_arguments(const cr_gpu_tree *t, uint64_t first, bool filling)
{
	return (cr_gpu_arguments){
		{ t->rays.address, t->in_order.address, t->lbvh.order[t->lbvh.sorted].address, t->counts.address, t->slots.address,
			t->tests.address, t->first.address, t->pairs.address, t->work.address },
		{ t->count, filling, 0, bits_of(t->reach.near), bits_of(t->reach.far), (uint32_t)t->room, (uint32_t)first,
			(uint32_t)(first >> 32) },
	};
}

static void record_rays(carom_device *device, cr_gpu_tree *t, uint64_t first, bool filling)
{
	const cr_gpu_arguments arguments = ray_arguments(t, first, filling);
	if (t->tier == CAROM_TIER_PIPELINE)
		cr_gpu_trace(device, CR_KERNEL_RAYS_TRACE, t->count, &arguments);
	else
		cr_gpu_run(device, CR_KERNEL_RAYS_QUERY, t->count, CR_GPU_THREADS, &arguments);
}

static void record_count(carom_device *device, cr_gpu_tree *t)
{
	const uint64_t items = (uint64_t)t->count + 1; // the last one puts an end to the counts
	if (has_rays(t)) {
		record_rays(device, t, 0, false);
		const cr_gpu_arguments arguments = ray_arguments(t, 0, false);
		cr_gpu_run(device, CR_KERNEL_RAYS_SUM, items, CR_GPU_THREADS, &arguments);
	} else {
		const cr_gpu_arguments arguments = search_arguments(t, 0);
		cr_gpu_run(device, CR_KERNEL_PAIRS_COUNT, items, CR_GPU_THREADS, &arguments);
	}
}

void cr_gpu_record_fill(carom_device *device, cr_gpu_tree *t, uint64_t first)
{
	const cr_gpu_arguments arguments = search_arguments(t, first);
	if (has_rays(t))
		record_rays(device, t, first, true);
	else
		cr_gpu_run(device, CR_KERNEL_PAIRS_FILL, t->count, CR_GPU_THREADS, &arguments);
}

/// Of rays, where not all pairs fit: the sums, for the processor.
static carom_result fetch_firsts(carom_device *device, cr_gpu_tree *t)
{
	const int64_t count = (int64_t)t->count + 1;
	if (!cr_array_reserve_fresh(device->context, &t->firsts, count))
		return cr_fail_memory(device->context, "windows of pairs");
	return cr_gpu_download(device, &t->first, t->firsts.data, 8 * (uint64_t)count);
}

carom_result cr_gpu_begin_search(carom_device *device, cr_gpu_tree *t, cr_gpu_search_reads *reads)
{
	t->found = 0;
	const carom_result result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_clear(device, &t->tests, COUNTER_BYTES);
	record_count(device, t);
	cr_gpu_scan(device, t->counts.address, t->first.address, t->count + 1, t->lbvh.scratch.address);
	cr_gpu_record_fill(device, t, 0);
	reads->pairs = cr_gpu_read(device, &t->first, 8 * (uint64_t)t->count, 8);
	reads->counters = cr_gpu_read(device, &t->tests, 0, COUNTER_BYTES);
	return CAROM_SUCCESS;
}

carom_result cr_gpu_end_search(carom_device *device, cr_gpu_tree *t, const cr_gpu_search_reads *reads, cr_gpu_search *found)
{
	const carom_result result = cr_gpu_finish(device);
	if (result != CAROM_SUCCESS)
		return result;
	memcpy(&found->pairs, reads->pairs, 8);
	memcpy(&found->tests, reads->counters, 8);
	memcpy(&found->visits, reads->counters + 8, 8);
	device->stats.tier = has_rays(t) ? t->tier : CAROM_TIER_COMPUTE;
	t->found = found->pairs;
	return has_rays(t) && t->found > t->room ? fetch_firsts(device, t) : CAROM_SUCCESS;
}

carom_result cr_gpu_find_pairs(carom_device *device, cr_gpu_tree *t, uint64_t want, cr_gpu_search *found)
{
	*found = (cr_gpu_search){ 0 };
	t->found = 0;
	if (t->count < 2)
		return CAROM_SUCCESS;
	cr_gpu_search_reads reads;
	carom_result result = cr_gpu_reserve_pairs(device, t, want);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin_search(device, t, &reads);
	return result == CAROM_SUCCESS ? cr_gpu_end_search(device, t, &reads, found) : result;
}

carom_result cr_gpu_window(carom_device *device, cr_gpu_tree *t, uint64_t first, uint64_t *count)
{
	const uint64_t left = t->found - first;
	*count = left < t->room ? left : t->room;
	if (!has_rays(t) || left <= t->room)
		return CAROM_SUCCESS;
	// The last sphere whose pairs end within the room: sums do not fall.
	uint32_t low = 0, high = t->count;
	while (low < high) {
		const uint32_t middle = low + (high - low + 1) / 2;
		if (t->firsts.data[middle] <= first + t->room)
			low = middle;
		else
			high = middle - 1;
	}
	*count = t->firsts.data[low] - first;
	return *count > 0
		? CAROM_SUCCESS
		: cr_fail(device->context, CAROM_OVER_BUDGET, "%s: one sphere has more than the %llu pairs that there is room for",
			  device->info.name, (unsigned long long)t->room);
}

carom_result cr_gpu_next_pairs(carom_device *device, cr_gpu_tree *t, uint64_t first)
{
	const carom_result result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_record_fill(device, t, first);
	return cr_gpu_finish(device);
}
