/// The detector "device": boxes of spheres on a graphics device, searched there in one of three
/// tiers (vulkan/gpu_tree.h).
///
/// The device says in single precision which pairs touch and which it cannot tell, with bounds that
/// hold for every rounding that Vulkan allows (vulkan/shaders/sphere_pairs.glsl). Those it cannot
/// tell are decided here in double, as ever, and images get their owners' names here. So the pairs
/// are those of all other methods.
///
/// Hardware that traces rays (tiers QUERY and PIPELINE) needs Mochi's proxies of twice the radius,
/// because it can only ask which boxes hold a point. A search that is a kernel of our own (COMPUTE)
/// asks which boxes overlap, an eighth of the volume. Which one is faster depends on the hardware:
/// a device whose tier is AUTO tries all that it has in the first builds. The first build of a tier
/// also compiles its kernels and takes memory, so the second one is measured, with its search.
///
/// Pairs come in windows, as many as fit into a buffer of the device, so their number is not
/// limited by its memory.
#include "base/array.h"
#include "base/parallel.h"
#include "base/time.h"
#include "spheres/device_order.h"
#include <string.h>

enum {
	PAIRS_A_PIECE = 4096,
	BUILDS_A_TIER = 2, // of a trial
	TIERS = CAROM_TIER_PIPELINE + 1,
};

typedef struct device_spheres {
	carom_context *context;
	carom_device *device;
	cr_gpu_tree tree;
	CR_ARRAY(cr_gpu_pair) copy; // of a window, where the processor cannot reach the device's memory
	uint64_t pairs;             // found last
	cr_device_order order;      // of pairs that the device sorts
	CR_ARRAY(uint32_t) names;   // of places, where some are images
	double cost;
	struct {
		bool open;          // tiers are tried
		int builds[TIERS];  // so far
		double ms[TIERS];   // of the last build and its search
		double build_ms;    // of the last build; below 0: it has been searched, or was a refit
		bool failed[TIERS]; // there was no memory for it
	} trial;
} device_spheres;

static carom_result fit(device_spheres *state, const cr_sphere_set *set, bool refit)
{
	cr_gpu_lock(state->device);
	const carom_result result = cr_gpu_build_tree(state->device, &state->tree, &set->spheres->x, set->count, set->lower,
		set->upper, cr_device_reach(set), refit, &state->cost);
	return cr_gpu_unlock(state->device, result);
}

// ---- The tier ----

/// The next tier of a trial; the fastest when all were tried.
static carom_device_tier next_tier(const device_spheres *state)
{
	const bool there[TIERS] = { false, true, state->device->rays.query, state->device->rays.pipeline };
	int best = CAROM_TIER_COMPUTE;
	for (int tier = CAROM_TIER_COMPUTE; tier < TIERS; tier++) {
		if (!there[tier] || state->trial.failed[tier])
			continue;
		if (state->trial.builds[tier] < BUILDS_A_TIER)
			return (carom_device_tier)tier;
		best = state->trial.ms[tier] < state->trial.ms[best] ? tier : best;
	}
	return (carom_device_tier)best;
}

static void set_tier(device_spheres *state, carom_device_tier tier)
{
	if (state->tree.tier == tier)
		return;
	cr_gpu_lock(state->device);
	cr_gpu_free_tree(state->device, &state->tree);
	cr_gpu_unlock(state->device, CAROM_SUCCESS);
	state->tree.tier = tier;
}

/// Build in the tier whose turn it is. One that cannot be built for want of room is tried no more.
static carom_result build_on_trial(device_spheres *state, const cr_sphere_set *set)
{
	for (;;) {
		const carom_device_tier tier = next_tier(state);
		const double start = cr_time_ms();
		set_tier(state, tier);
		const carom_result result = fit(state, set, false);
		state->trial.build_ms = cr_time_ms() - start;
		state->trial.builds[tier]++;
		const bool room = result != CAROM_OUT_OF_MEMORY && result != CAROM_OVER_BUDGET && result != CAROM_UNSUPPORTED;
		if (room || tier == CAROM_TIER_COMPUTE)
			return result;
		state->trial.failed[tier] = true;
	}
}

/// A search has taken so long.
static void note_search(device_spheres *state, double ms)
{
	if (state->trial.build_ms >= 0)
		state->trial.ms[state->tree.tier] = state->trial.build_ms + ms;
	state->trial.build_ms = -1;
}

/// The state of a set's detector, which is made if there is none; NULL: out of memory, and told.
static device_spheres *open_state(void **state_pointer, const cr_sphere_set *set)
{
	device_spheres *state = *state_pointer;
	if (state)
		return state;
	state = cr_alloc_zero(set->context, sizeof *state);
	if (!state) {
		cr_fail_memory(set->context, "spheres on a device");
		return NULL;
	}
	state->context = set->context;
	state->device = set->device;
	state->tree.tier = set->device->def.tier;
	state->trial.open = state->tree.tier == CAROM_TIER_AUTO;
	*state_pointer = state;
	return state;
}

static carom_result build(void **state_pointer, const cr_sphere_set *set)
{
	device_spheres *state = open_state(state_pointer, set);
	if (!state)
		return CAROM_OUT_OF_MEMORY;
	return state->trial.open ? build_on_trial(state, set) : fit(state, set, false);
}

static carom_result refit(void *state_pointer, const cr_sphere_set *set)
{
	device_spheres *state = state_pointer;
	state->trial.build_ms = -1;
	return fit(state, set, true);
}

// ---- Pairs ----

typedef struct hand_task {
	const cr_sphere_set *set;
	const cr_pair_sink *sink;
	const cr_gpu_pair *pairs;
	cr_pair_batch *batches; // [thread_count]
	atomic_bool stopped;
} hand_task;

static void hand_piece(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	hand_task *task = task_pointer;
	cr_pair_batch *batch = &task->batches[worker];
	for (int64_t i = begin; i < end && !atomic_load_explicit(&task->stopped, memory_order_relaxed); i++) {
		const uint32_t a = task->pairs[i].a, b = task->pairs[i].b & ~CR_GPU_DOUBT;
		const bool sure = !(task->pairs[i].b & CR_GPU_DOUBT);
		if (task->pairs[i].b == CR_GPU_NO_PAIR || (!sure && !cr_spheres_touch(task->set, a, b)) ||
			!cr_name_pair(task->set, a, b, &batch->pairs[batch->count]))
			continue;
		if (++batch->count == CR_PAIR_BATCH)
			cr_flush_pairs(batch, task->sink, worker);
		if (batch->stopped)
			atomic_store_explicit(&task->stopped, true, memory_order_relaxed);
	}
}

/// Where the processor reads count pairs of the window that is in the tree's buffer; NULL: a
/// failure, in *result.
static const cr_gpu_pair *read_window(device_spheres *state, uint64_t count, carom_result *result)
{
	const cr_gpu_buffer *buffer = &state->tree.pairs;
	if (!buffer->mapped && !cr_array_reserve_fresh(state->context, &state->copy, (int64_t)count)) {
		*result = cr_fail_memory(state->context, "pairs from a device");
		return NULL;
	}
	cr_gpu_pair *to = buffer->mapped ? buffer->mapped : state->copy.data;
	cr_gpu_lock(state->device);
	*result = cr_gpu_download(state->device, buffer, to, count * sizeof(cr_gpu_pair));
	*result = cr_gpu_unlock(state->device, *result);
	return *result == CAROM_SUCCESS ? to : NULL;
}

/// Hand on the pairs of the window from *first on, which then is the end of the window. The device
/// is free for others meanwhile.
static carom_result hand_window(device_spheres *state, hand_task *task, uint64_t *first)
{
	uint64_t count;
	carom_result result = cr_gpu_window(state->device, &state->tree, *first, &count);
	if (result == CAROM_SUCCESS && *first > 0) {
		cr_gpu_lock(state->device);
		result = cr_gpu_unlock(state->device, cr_gpu_next_pairs(state->device, &state->tree, *first));
	}
	task->pairs = result == CAROM_SUCCESS ? read_window(state, count, &result) : NULL;
	if (task->pairs)
		cr_parallel_for(state->context, hand_piece, (int64_t)count, PAIRS_A_PIECE, task);
	*first += count;
	return result;
}

static carom_result hand_on(device_spheres *state, const cr_sphere_set *set, const cr_pair_sink *sink)
{
	carom_context *context = set->context;
	const size_t bytes = (size_t)context->thread_count * sizeof(cr_pair_batch);
	hand_task task = { .set = set, .sink = sink, .batches = cr_alloc_zero(context, bytes) };
	if (!task.batches)
		return cr_fail_memory(context, "pairs from a device");
	carom_result result = CAROM_SUCCESS;
	for (uint64_t first = 0; first < state->pairs && result == CAROM_SUCCESS && !atomic_load(&task.stopped);)
		result = hand_window(state, &task, &first);
	for (int w = 0; w < context->thread_count; w++)
		cr_flush_pairs(&task.batches[w], sink, w);
	cr_free(context, task.batches, bytes);
	return result;
}

static carom_result find_pairs(void *state_pointer, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests)
{
	device_spheres *state = state_pointer;
	cr_gpu_search found;
	const double start = cr_time_ms();
	cr_gpu_lock(state->device);
	carom_result result =
		cr_gpu_find_pairs(state->device, &state->tree, cr_expected_pairs(state->pairs, (uint64_t)set->count), &found);
	result = cr_gpu_unlock(state->device, result);
	note_search(state, cr_time_ms() - start);
	*tests = (int64_t)found.tests;
	state->pairs = found.pairs;
	return result == CAROM_SUCCESS ? hand_on(state, set, sink) : result;
}

// ---- Pairs in order ----

/// Which spheres stand at the places of the set.
static carom_result name_places(device_spheres *state, const cr_sphere_set *set, cr_gpu_naming *naming)
{
	*naming = (cr_gpu_naming){
		.spheres = set->real, .owned = cr_owned_spheres(set), .own_places = set->count, .judged = !set->exact, .skin = set->skin
	};
	if (set->count == set->real)
		return CAROM_SUCCESS;
	if (!cr_array_reserve_fresh(state->context, &state->names, set->count))
		return cr_fail_memory(state->context, "names of images");
	for (uint32_t i = 0; i < set->real; i++)
		state->names.data[i] = i;
	memcpy(state->names.data + set->real, set->owner, (size_t)(set->count - set->real) * sizeof *set->owner);
	naming->names = state->names.data;
	return CAROM_SUCCESS;
}

static carom_result find_sorted(
	void *state_pointer, const cr_sphere_set *set, const cr_pair_sink *sink, cr_sorted_search *search, int64_t *tests)
{
	device_spheres *state = state_pointer;
	cr_gpu_search found = { 0 };
	cr_device_places places = { .set = set, .parallel = true };
	carom_result result = name_places(state, set, &places.naming);
	if (result != CAROM_SUCCESS)
		return result;
	const double start = cr_time_ms();
	cr_gpu_lock(state->device);
	result = cr_order_pairs(state->device, &state->tree, cr_expected_pairs(state->pairs, (uint64_t)set->count), &places,
		&state->order, search, &found);
	result = cr_gpu_unlock(state->device, result);
	note_search(state, cr_time_ms() - start);
	*tests = (int64_t)found.tests;
	state->pairs = found.pairs;
	return result == CAROM_SUCCESS && !search->done ? hand_on(state, set, sink) : result;
}

/// Bring pairs of the processor's to the device. It is locked by the caller.
static carom_result bring_pairs(device_spheres *state, const cr_sphere_set *set, const cr_pair_array *pairs)
{
	const int64_t rows = (int64_t)set->real + 1;
	CR_ARRAY(uint64_t) first = { 0 };
	if (!cr_array_reserve_fresh(state->context, &first, rows))
		return cr_fail_memory(state->context, "pairs for a device");
	for (int64_t row = 0, i = 0; row < rows; row++) {
		while (i < pairs->count && pairs->data[i].a < row)
			i++;
		first.data[row] = (uint64_t)i;
	}
	const carom_result result = cr_gpu_bring_sorted(
		state->device, &state->order.sorted, (const cr_gpu_pair *)(const void *)pairs->data, first.data, set->real);
	cr_array_free(state->context, &first);
	return result;
}

carom_result cr_show_device_pairs(
	void **state_pointer, const cr_sphere_set *set, const cr_pair_array *pairs, carom_sphere_device_pairs *shown)
{
	device_spheres *state = open_state(state_pointer, set);
	if (!state)
		return CAROM_OUT_OF_MEMORY;
	carom_result result = CAROM_SUCCESS;
	if (pairs) {
		cr_gpu_lock(state->device);
		result = cr_gpu_unlock(state->device, bring_pairs(state, set, pairs));
	}
	if (result != CAROM_SUCCESS)
		return result;
	const cr_gpu_sorted *sorted = &state->order.sorted;
	*shown =
		(carom_sphere_device_pairs){ cr_show_buffer(&sorted->pairs), cr_show_buffer(&sorted->first), (int64_t)sorted->count };
	return CAROM_SUCCESS;
}

// ---- Further entries of the table ----

static double cost(const void *state) { return ((const device_spheres *)state)->cost; }

static size_t bytes(const void *state_pointer)
{
	const device_spheres *state = state_pointer;
	return sizeof *state + (size_t)state->copy.capacity * sizeof *state->copy.data +
		(size_t)state->names.capacity * sizeof *state->names.data + cr_device_order_bytes(&state->order);
}

static void release(carom_context *context, void *state_pointer)
{
	device_spheres *state = state_pointer;
	cr_gpu_lock(state->device);
	cr_gpu_free_tree(state->device, &state->tree);
	cr_free_device_order(context, state->device, &state->order);
	cr_gpu_unlock(state->device, CAROM_SUCCESS);
	cr_array_free(context, &state->copy);
	cr_array_free(context, &state->names);
	cr_free(context, state, sizeof *state);
}

const cr_sphere_detector cr_device_detector = { build, refit, find_pairs, cost, bytes, release, find_sorted };
