/// Near triangles on a device. See vulkan/gpu_near.h.
#include "vulkan/gpu_near.h"
#include "vulkan/gpu_casts.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_kernels.h"
#include <string.h>

enum {
	LANE_BYTES = 36, // mesh_near.glsl
	EACH = 8,        // invocations for an item: children of a node, triangles of a block
	MOST_THREADS = 1 << 18,
	// Entries for a walk that there is room for at first (avalanche: 2 to 24 were found).
	FIRST_ROOM = 32,
	LEVELS = CR_GPU_TREE_DEPTH + 1, // one more than is looked at
};

_Static_assert(sizeof(cr_gpu_near_job) == 104 && sizeof(cr_gpu_mesh_head) == 64, "mesh_near.glsl");
_Static_assert(sizeof(cr_gpu_near_state) == 8 && sizeof(cr_gpu_near_find) == 16, "mesh_near.glsl");

/// Lengths of the lists, as mesh_near.glsl has them.
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

static uint64_t most_nodes(const near_counters *c)
{
	uint64_t most = 0;
	for (int level = 0; level < LEVELS; level++)
		most = c->nodes[level] > most ? c->nodes[level] : most;
	return most;
}

static bool holds(const near_room *room, const near_counters *c)
{
	return most_nodes(c) <= room->nodes && c->blocks <= room->blocks && c->lanes <= room->lanes && c->finds <= room->finds;
}

/// Room for lists of such lengths.
static carom_result reserve(carom_device *device, cr_gpu_near *n, const near_counters *c)
{
	const uint64_t nodes = most_nodes(c) * sizeof(uint32_t[2]);
	carom_result result = cr_gpu_reserve(device, &n->nodes[0], nodes);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->nodes[1], nodes);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->blocks, c->blocks * sizeof(uint32_t[2]));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->lanes, c->lanes * LANE_BYTES);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->finds, c->finds * sizeof(cr_gpu_near_find));
	return result;
}

/// Bring the jobs, and make first room for their finds.
static carom_result open(carom_device *device, cr_gpu_near *n, const cr_gpu_near_job *jobs, uint32_t count)
{
	const uint64_t first = (uint64_t)FIRST_ROOM * count;
	const near_counters guess = { .blocks = first, .lanes = first, .finds = first, .nodes = { first } };
	carom_result result = cr_gpu_reserve(device, &n->jobs, count * sizeof *jobs);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->states, count * sizeof(cr_gpu_near_state));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &n->counters, sizeof(near_counters));
	if (result == CAROM_SUCCESS)
		result = reserve(device, n, &guess);
	return result == CAROM_SUCCESS ? cr_gpu_upload(device, &n->jobs, jobs, count * sizeof *jobs) : result;
}

static void run(carom_device *device, cr_kernel kernel, uint64_t items, const cr_gpu_arguments *arguments)
{
	const uint64_t threads = EACH * items;
	cr_gpu_run(device, kernel, threads < MOST_THREADS ? threads : MOST_THREADS, CR_GPU_THREADS, arguments);
}

static void record_walks(carom_device *device, const cr_gpu_near *n, const near_room *room, uint32_t count, uint32_t levels)
{
	const VkDeviceAddress jobs = n->jobs.address, states = n->states.address, counters = n->counters.address;
	for (uint32_t level = 0; level < levels; level++) {
		const cr_gpu_arguments nodes = { { jobs, n->nodes[level % 2].address, n->nodes[1 - level % 2].address,
											 n->blocks.address, states, counters },
			{ level, count, room->nodes, room->blocks } };
		run(device, CR_KERNEL_MESH_NEAR_NODES, level == 0 ? count : room->nodes, &nodes);
	}
	const cr_gpu_arguments leaves = { { jobs, n->blocks.address, n->lanes.address, 0, states, counters },
		{ room->blocks, room->lanes } };
	run(device, CR_KERNEL_MESH_NEAR_LEAVES, room->blocks, &leaves);
	const cr_gpu_arguments test = { { jobs, n->lanes.address, n->finds.address, 0, states, counters },
		{ room->lanes, room->finds } };
	run(device, CR_KERNEL_MESH_NEAR_TEST, room->lanes, &test);
}

static carom_result walk(carom_device *device, const cr_gpu_near *n, uint32_t count, uint32_t levels, near_counters *counters)
{
	const near_room room = room_of(n);
	carom_result result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_clear(device, &n->counters, sizeof *counters);
	cr_gpu_clear(device, &n->states, count * sizeof(cr_gpu_near_state));
	record_walks(device, n, &room, count, levels);
	const void *read = cr_gpu_read(device, &n->counters, 0, sizeof *counters);
	result = cr_gpu_finish(device);
	if (result == CAROM_SUCCESS)
		memcpy(counters, read, sizeof *counters);
	return result;
}

static carom_result fetch(carom_device *device, cr_gpu_near *n, uint32_t count, uint64_t finds)
{
	if (!cr_array_reserve_fresh(device->context, &n->state_copy, count) ||
		!cr_array_reserve_fresh(device->context, &n->find_copy, (int64_t)finds))
		return cr_fail_memory(device->context, "near triangles of a device");
	n->state_copy.count = count;
	n->find_copy.count = (int64_t)finds;
	const carom_result result = cr_gpu_download(device, &n->states, n->state_copy.data, count * sizeof *n->state_copy.data);
	if (result != CAROM_SUCCESS || finds == 0)
		return result;
	return cr_gpu_download(device, &n->finds, n->find_copy.data, finds * sizeof *n->find_copy.data);
}

carom_result cr_gpu_find_near(
	carom_device *device, cr_gpu_near *n, const cr_gpu_near_job *jobs, uint32_t count, uint32_t levels, bool *fits)
{
	near_counters found;
	carom_result result = open(device, n, jobs, count);
	// A list that is cut short hides entries of those after it.
	for (bool again = true; again && result == CAROM_SUCCESS;) {
		result = walk(device, n, count, levels, &found);
		const uint32_t longest = most_room(n);
		const near_room room = room_of(n), most = { longest, longest, longest, longest };
		again = result == CAROM_SUCCESS && !holds(&room, &found);
		*fits = result == CAROM_SUCCESS && holds(&most, &found);
		if (again && !*fits)
			return CAROM_SUCCESS;
		if (again)
			result = reserve(device, n, &found);
	}
	return result == CAROM_SUCCESS ? fetch(device, n, count, found.finds) : result;
}

void cr_gpu_free_near(carom_device *device, cr_gpu_near *n)
{
	cr_gpu_buffer *buffers[] = { &n->jobs, &n->states, &n->counters, &n->nodes[0], &n->nodes[1], &n->blocks, &n->lanes,
		&n->finds };
	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		cr_gpu_free(device, buffers[i]);
	cr_array_free(device->context, &n->state_copy);
	cr_array_free(device->context, &n->find_copy);
	*n = (cr_gpu_near){ 0 };
}
