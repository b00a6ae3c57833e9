/// Near triangles on a device. See vulkan/gpu_near.h.
#include "vulkan/gpu_near.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_kernels.h"
#include <string.h>

enum {
	LANE_BYTES = 36, // mesh_near.glsl
	EACH = 8,        // invocations for an item: children of a node, triangles of a block
	MOST_THREADS = 1 << 18,
	// Entries for a walk that there is room for at first (avalanche: 2 to 24 were found).
	FIRST_ROOM = 32,
	EACH_ROOM = 64,                 // entries for a walk that have invocations of their own
	LEVELS = CR_GPU_TREE_DEPTH + 1, // one more than is looked at
};

_Static_assert(sizeof(cr_gpu_near_job) == 112 && sizeof(cr_gpu_mesh_head) == 64, "mesh_near.glsl");
_Static_assert(sizeof(cr_gpu_near_state) == 8 && sizeof(cr_gpu_near_find) == 16, "mesh_near.glsl");

/// Lengths of the lists of a wave, as mesh_near.glsl has them. Finds: of all waves, in those of the
/// first.
typedef struct near_counters {
	uint64_t blocks, lanes, finds;
	uint64_t nodes[LEVELS];
} near_counters;

/// Entries that the lists hold.
typedef struct near_room {
	uint32_t nodes, blocks, lanes, finds;
} near_room;

static uint32_t most_room(const cr_gpu_near *n) { return n->most_room > 0 ? n->most_room : CR_GPU_MOST_NEAR_ROOM; }

static uint32_t entries_in(const cr_gpu_near *n, const cr_gpu_buffer *buffer, uint64_t bytes)
{
	const uint64_t entries = buffer->size / bytes;
	return entries < most_room(n) ? (uint32_t)entries : most_room(n);
}

static near_room room_of(const cr_gpu_near *n)
{
	const uint64_t pair = sizeof(uint32_t[2]);
	const uint32_t here = entries_in(n, &n->nodes[0], pair), there = entries_in(n, &n->nodes[1], pair);
	return (near_room){ here < there ? here : there, entries_in(n, &n->blocks, pair), entries_in(n, &n->lanes, LANE_BYTES),
		entries_in(n, &n->finds, sizeof(cr_gpu_near_find)) };
}

/// The lengths of the longest lists of all waves.
static near_counters longest_lists(const near_counters *waves, uint32_t count)
{
	near_counters most = waves[0];
	for (uint32_t w = 0; w < count; w++) {
		most.blocks = waves[w].blocks > most.blocks ? waves[w].blocks : most.blocks;
		most.lanes = waves[w].lanes > most.lanes ? waves[w].lanes : most.lanes;
		for (int level = 0; level < LEVELS; level++)
			most.nodes[0] = waves[w].nodes[level] > most.nodes[0] ? waves[w].nodes[level] : most.nodes[0];
	}
	return most;
}

static bool holds(const near_room *room, const near_counters *longest)
{
	return longest->nodes[0] <= room->nodes && longest->blocks <= room->blocks && longest->lanes <= room->lanes &&
		longest->finds <= room->finds;
}

/// Room for lists of such lengths.
static carom_result reserve(carom_device *device, cr_gpu_near *n, const near_counters *longest)
{
	const uint64_t nodes = longest->nodes[0] * sizeof(uint32_t[2]);
	carom_result result = cr_gpu_reserve(device, &n->nodes[0], nodes);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->nodes[1], nodes);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->blocks, longest->blocks * sizeof(uint32_t[2]));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->lanes, longest->lanes * LANE_BYTES);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve_shared(device, &n->finds, longest->finds * sizeof(cr_gpu_near_find));
	return result;
}

static uint32_t count_jobs(const cr_gpu_near_list *list) { return list->first[list->waves]; }

/// Bring the jobs, and make first room for their finds.
static carom_result open(carom_device *device, cr_gpu_near *n, const cr_gpu_near_list *list)
{
	const uint64_t jobs = count_jobs(list), first = (uint64_t)FIRST_ROOM * list->first[1];
	const near_counters guess = { .blocks = first, .lanes = first, .finds = first, .nodes = { first } };
	carom_result result = cr_gpu_reserve_twin(device, &n->jobs, jobs * sizeof *list->jobs);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve_twin(device, &n->states, jobs * sizeof(cr_gpu_near_state));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->counters, CR_GPU_NEAR_WAVES * sizeof(near_counters));
	if (result == CAROM_SUCCESS)
		result = reserve(device, n, &guess);
	return result == CAROM_SUCCESS ? cr_gpu_send_twin(device, &n->jobs, list->jobs, jobs * sizeof *list->jobs) : result;
}

/// A kernel over a list of a wave of walks, of which the device knows the length.
static void run(carom_device *device, cr_kernel kernel, uint32_t walks, uint64_t room, const cr_gpu_arguments *arguments)
{
	const uint64_t wanted = (uint64_t)EACH_ROOM * walks, threads = EACH * (wanted < room ? wanted : room);
	cr_gpu_run(device, kernel, threads < MOST_THREADS ? threads : MOST_THREADS, CR_GPU_THREADS, arguments);
}

static void record_wave(
	carom_device *device, const cr_gpu_near *n, const near_room *room, const cr_gpu_near_list *list, uint32_t wave)
{
	const uint32_t first = list->first[wave], walks = list->first[wave + 1] - first;
	const VkDeviceAddress jobs = n->jobs.own.address, states = n->states.own.address, all = n->counters.address,
						  counters = all + wave * sizeof(near_counters),
						  touched = list->casts ? list->casts->touched.address : 0;
	for (uint32_t level = 0; level < list->levels; level++) {
		const cr_gpu_arguments nodes = { { jobs, n->nodes[level % 2].address, n->nodes[1 - level % 2].address,
											 n->blocks.address, states, counters, 0, touched },
			{ level, walks, room->nodes, room->blocks, first } };
		run(device, CR_KERNEL_MESH_NEAR_NODES, walks, level == 0 ? walks : room->nodes, &nodes);
	}
	const cr_gpu_arguments leaves = { { jobs, n->blocks.address, n->lanes.address, 0, states, counters },
		{ room->blocks, room->lanes } };
	run(device, CR_KERNEL_MESH_NEAR_LEAVES, walks, room->blocks, &leaves);
	const cr_gpu_arguments test = { { jobs, n->lanes.address, n->finds.address, 0, states, counters, all },
		{ room->lanes, room->finds } };
	run(device, CR_KERNEL_MESH_NEAR_TEST, walks, room->lanes, &test);
}

/// first: the rays go before the walks.
static carom_result walk(
	carom_device *device, const cr_gpu_near *n, const cr_gpu_near_list *list, bool first, near_counters *longest)
{
	const near_room room = room_of(n);
	const uint64_t jobs = count_jobs(list), state_bytes = jobs * sizeof(cr_gpu_near_state);
	const uint32_t counter_bytes = list->waves * (uint32_t)sizeof(near_counters);
	near_counters counters[CR_GPU_NEAR_WAVES];
	carom_result result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	if (list->casts && first)
		cr_gpu_record_casts(device, list->casts, list->batch);
	cr_gpu_record_up(device, &n->jobs, jobs * sizeof *list->jobs);
	cr_gpu_clear(device, &n->counters, counter_bytes);
	cr_gpu_clear(device, &n->states.own, state_bytes);
	for (uint32_t wave = 0; wave < list->waves; wave++)
		record_wave(device, n, &room, list, wave);
	cr_gpu_record_down(device, &n->states, state_bytes);
	const void *read = cr_gpu_read(device, &n->counters, 0, counter_bytes);
	result = cr_gpu_finish(device);
	if (result != CAROM_SUCCESS)
		return result;
	memcpy(counters, read, counter_bytes);
	*longest = longest_lists(counters, list->waves);
	return CAROM_SUCCESS;
}

static carom_result fetch(carom_device *device, cr_gpu_near *n, uint32_t jobs, uint64_t finds)
{
	const cr_gpu_buffer *states = cr_gpu_reached(&n->states);
	if ((!states->mapped && !cr_array_reserve_fresh(device->context, &n->state_copy, jobs)) ||
		(!n->finds.mapped && !cr_array_reserve_fresh(device->context, &n->find_copy, (int64_t)finds)))
		return cr_fail_memory(device->context, "near triangles of a device");
	const void *outcomes = NULL, *found = NULL;
	carom_result result = cr_gpu_take(device, states, n->state_copy.data, jobs * sizeof *n->outcomes, &outcomes);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_take(device, &n->finds, n->find_copy.data, finds * sizeof *n->found, &found);
	n->outcomes = outcomes;
	n->found = found;
	n->found_count = (int64_t)finds;
	return result;
}

carom_result cr_gpu_find_near(carom_device *device, cr_gpu_near *n, const cr_gpu_near_list *list, bool *fits)
{
	near_counters longest;
	carom_result result = open(device, n, list);
	if (result == CAROM_SUCCESS && list->casts)
		result = cr_gpu_send_casts(device, list->casts, list->batch);
	// A list that is cut short hides entries of those after it.
	for (bool again = true, first = true; again && result == CAROM_SUCCESS; first = false) {
		result = walk(device, n, list, first, &longest);
		const uint32_t most_entries = most_room(n);
		const near_room room = room_of(n), most = { most_entries, most_entries, most_entries, most_entries };
		again = result == CAROM_SUCCESS && !holds(&room, &longest);
		*fits = result == CAROM_SUCCESS && holds(&most, &longest);
		if (again && !*fits)
			return CAROM_SUCCESS;
		if (again)
			result = reserve(device, n, &longest);
	}
	return result == CAROM_SUCCESS ? fetch(device, n, count_jobs(list), longest.finds) : result;
}

void cr_gpu_free_near(carom_device *device, cr_gpu_near *n)
{
	cr_gpu_buffer *buffers[] = { &n->counters, &n->nodes[0], &n->nodes[1], &n->blocks, &n->lanes, &n->finds };
	cr_gpu_free_twin(device, &n->jobs);
	cr_gpu_free_twin(device, &n->states);
	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		cr_gpu_free(device, buffers[i]);
	cr_array_free(device->context, &n->state_copy);
	cr_array_free(device->context, &n->find_copy);
	*n = (cr_gpu_near){ 0 };
}
