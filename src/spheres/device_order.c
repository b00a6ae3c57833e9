/// Pairs in order on a device. See spheres/device_order.h.
#include "spheres/device_order.h"
#include "base/parallel.h"
#include "base/radix.h"

enum { PAIRS_A_PIECE = 4096 };

cr_gpu_reach cr_device_reach(const cr_sphere_set *set)
{
	const double slack = set->slack > 0 ? set->slack + (2.0 * set->r_max + set->skin + set->slack) * 0x1p-18 : 0;
	return (cr_gpu_reach){
		.add = (float)((0.5 * set->skin + (double)set->slack) * (1 + 0x1p-20)) + 0x1p-100f,
		.near = (float)(set->skin - slack),
		.far = (float)(set->skin + slack),
	};
}

typedef struct doubt_task {
	const cr_device_places *places;
	const cr_gpu_doubt *doubts;
	uint32_t *verdicts;
} doubt_task;

static void judge_piece(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	(void)worker;
	const doubt_task *task = task_pointer;
	const uint32_t *of_set = task->places->places;
	for (int64_t i = begin; i < end; i++) {
		const uint32_t a = task->doubts[i].a, b = task->doubts[i].b;
		task->verdicts[i] = cr_spheres_touch(task->places->set, of_set ? of_set[a] : a, of_set ? of_set[b] : b);
	}
}

/// Decide about pairs that single precision cannot tell.
static carom_result settle(carom_device *device, cr_gpu_tree *tree, const cr_device_places *places, cr_device_order *order)
{
	carom_context *context = places->set->context;
	const int64_t count = order->sorted.doubt_count;
	if (!cr_array_reserve_fresh(context, &order->doubts, count) || !cr_array_reserve_fresh(context, &order->verdicts, count))
		return cr_fail_memory(context, "pairs in doubt");
	const carom_result result = cr_gpu_read_doubts(device, &order->sorted, order->doubts.data);
	if (result != CAROM_SUCCESS)
		return result;
	doubt_task task = { places, order->doubts.data, order->verdicts.data };
	if (places->parallel)
		cr_parallel_for(context, judge_piece, count, PAIRS_A_PIECE, &task);
	else
		judge_piece(0, count, 0, &task);
	return cr_gpu_settle_doubts(device, tree, &places->naming, &order->sorted, order->verdicts.data);
}

/// Sort pairs[count] of one sphere a by b.
static void sort_row(carom_sphere_pair *pairs, int64_t count, cr_key *keys)
{
	for (int64_t i = 0; i < count; i++)
		keys[i] = (cr_key){ pairs[i].b, 0 };
	cr_radix_sort(keys, keys + count, count, 32);
	for (int64_t i = 0; i < count; i++)
		pairs[i].b = (uint32_t)keys[i].key;
}

/// Sort the rows that the device has left as they were.
static carom_result sort_long_rows(carom_context *context, carom_sphere_pair *pairs, int64_t count)
{
	CR_ARRAY(cr_key) keys = { 0 };
	bool room = true;
	for (int64_t first = 0, end; first < count && room; first = end) {
		for (end = first + 1; end < count && pairs[end].a == pairs[first].a;)
			end++;
		if (end - first <= CR_GPU_LONG_ROW)
			continue;
		room = cr_array_reserve_fresh(context, &keys, 2 * (end - first));
		if (room)
			sort_row(pairs + first, end - first, keys.data);
	}
	cr_array_free(context, &keys);
	return room ? CAROM_SUCCESS : cr_fail_memory(context, "pairs from a device");
}

static carom_result copy_pairs(carom_context *context, carom_device *device, const cr_gpu_sorted *sorted, cr_pair_array *pairs)
{
	if (!cr_array_reserve_fresh(context, pairs, (int64_t)sorted->count))
		return cr_fail_memory(context, "pairs from a device");
	pairs->count = (int64_t)sorted->count;
	return cr_gpu_download(device, &sorted->pairs, pairs->data, sorted->count * sizeof *pairs->data);
}

/// Show the pairs that are in order there to the processor, where it reaches them, or copied to
/// search->pairs.
static carom_result fetch(carom_context *context, carom_device *device, cr_gpu_sorted *sorted, cr_sorted_search *search)
{
	_Static_assert(sizeof(carom_sphere_pair) == sizeof(cr_gpu_pair), "pairs are read as they are");
	search->shown = (carom_sphere_pairs){ 0 };
	if (sorted->count == 0)
		return CAROM_SUCCESS;
	cr_gpu_pair *there;
	carom_result result = cr_gpu_reach_sorted(device, sorted, &there);
	carom_sphere_pair *pairs = (carom_sphere_pair *)(void *)there;
	if (!pairs) {
		result = copy_pairs(context, device, sorted, search->pairs);
		pairs = search->pairs->data;
	}
	const int64_t count = (int64_t)sorted->count;
	if (result == CAROM_SUCCESS && sorted->long_rows > 0)
		result = sort_long_rows(context, pairs, count);
	if (result == CAROM_SUCCESS)
		search->shown = (carom_sphere_pairs){ pairs, count };
	return result;
}

/// Pairs that stay there: rows that are long make a way here and back.
static carom_result mend_long_rows(carom_context *context, carom_device *device, cr_gpu_sorted *sorted)
{
	cr_pair_array pairs = { 0 };
	cr_sorted_search search = { .pairs = &pairs };
	carom_result result = fetch(context, device, sorted, &search);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(device, &sorted->pairs, search.shown.pairs, sorted->count * sizeof *pairs.data);
	cr_array_free(context, &pairs);
	return result;
}

carom_result cr_order_pairs(carom_device *device, cr_gpu_tree *tree, uint64_t want, const cr_device_places *places,
	cr_device_order *order, cr_sorted_search *search, cr_gpu_search *found)
{
	carom_context *context = places->set->context;
	carom_result result = cr_gpu_find_sorted(device, tree, want, &places->naming, &order->sorted, found, &search->done);
	if (result == CAROM_SUCCESS && search->done && order->sorted.doubt_count > 0)
		result = settle(device, tree, places, order);
	if (result != CAROM_SUCCESS || !search->done)
		return result;
	if (search->pairs)
		return fetch(context, device, &order->sorted, search);
	return order->sorted.long_rows > 0 ? mend_long_rows(context, device, &order->sorted) : CAROM_SUCCESS;
}

size_t cr_device_order_bytes(const cr_device_order *order)
{
	return (size_t)order->doubts.capacity * sizeof *order->doubts.data +
		(size_t)order->verdicts.capacity * sizeof *order->verdicts.data;
}

void cr_free_device_order(carom_context *context, carom_device *device, cr_device_order *order)
{
	cr_gpu_free_sorted(device, &order->sorted);
	cr_array_free(context, &order->doubts);
	cr_array_free(context, &order->verdicts);
}
