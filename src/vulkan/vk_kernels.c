/// Pipelines and their cache. See vulkan/vk_kernels.h.
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_memory.h"
#include <stdio.h>
#include <string.h>

// The kernels as SPIR-V, which the build makes of src/vulkan/shaders.
#include "carom_arithmetic.spv.h"
#include "carom_clear.spv.h"
#include "carom_gather.spv.h"
#include "carom_grains_force.spv.h"
#include "carom_grains_move.spv.h"
#include "carom_grains_place.spv.h"
#include "carom_grains_rows_count.spv.h"
#include "carom_grains_rows_fill.spv.h"
#include "carom_grains_steer.spv.h"
#include "carom_grains_sum.spv.h"
#include "carom_mesh_cast.spv.h"
#include "carom_mesh_near_leaves.spv.h"
#include "carom_mesh_near_nodes.spv.h"
#include "carom_mesh_near_test.spv.h"
#include "carom_mesh_pierce.spv.h"
#include "carom_mesh_walk.spv.h"
#include "carom_morton.spv.h"
#include "carom_pairs_count.spv.h"
#include "carom_pairs_fill.spv.h"
#include "carom_pairs_judge.spv.h"
#include "carom_pairs_name.spv.h"
#include "carom_pairs_order.spv.h"
#include "carom_pairs_place.spv.h"
#include "carom_pairs_settle.spv.h"
#include "carom_proxies.spv.h"
#include "carom_proxies_cost.spv.h"
#include "carom_rays_query.spv.h"
#include "carom_rays_sum.spv.h"
#include "carom_rays_trace.spv.h"
#include "carom_scan_add_wide.spv.h"
#include "carom_scan_wide.spv.h"
#include "carom_scan_widen.spv.h"
#include "carom_sort_count.spv.h"
#include "carom_sort_count_wide.spv.h"
#include "carom_sort_scatter.spv.h"
#include "carom_sort_scatter_wide.spv.h"
#include "carom_sort_sum.spv.h"
#include "carom_sweep_edge_leaves.spv.h"
#include "carom_sweep_edge_points.spv.h"
#include "carom_sweep_face_leaves.spv.h"
#include "carom_sweep_face_points.spv.h"
#include "carom_sweep_filter_edges.spv.h"
#include "carom_sweep_filter_faces.spv.h"
#include "carom_sweep_search_edges.spv.h"
#include "carom_sweep_search_faces.spv.h"
#include "carom_tree_cost.spv.h"
#include "carom_tree_fit.spv.h"
#include "carom_tree_fit_boxes.spv.h"
#include "carom_tree_shape.spv.h"

typedef struct kernel_code {
	const char *name;
	const uint32_t *words;
	size_t size;
} kernel_code;

#define CODE(name)                                     \
	{                                                  \
#name, cr_##name##_spv, sizeof cr_##name##_spv \
	}
static const kernel_code CODES[CR_KERNELS] = {
	[CR_KERNEL_SCAN_WIDEN] = CODE(scan_widen),
	[CR_KERNEL_SCAN_WIDE] = CODE(scan_wide),
	[CR_KERNEL_SCAN_ADD_WIDE] = CODE(scan_add_wide),
	[CR_KERNEL_SORT_COUNT] = CODE(sort_count),
	[CR_KERNEL_SORT_COUNT_WIDE] = CODE(sort_count_wide),
	[CR_KERNEL_SORT_SUM] = CODE(sort_sum),
	[CR_KERNEL_SORT_SCATTER] = CODE(sort_scatter),
	[CR_KERNEL_SORT_SCATTER_WIDE] = CODE(sort_scatter_wide),
	[CR_KERNEL_MORTON] = CODE(morton),
	[CR_KERNEL_GATHER] = CODE(gather),
	[CR_KERNEL_TREE_SHAPE] = CODE(tree_shape),
	[CR_KERNEL_TREE_FIT] = CODE(tree_fit),
	[CR_KERNEL_TREE_COST] = CODE(tree_cost),
	[CR_KERNEL_PAIRS_COUNT] = CODE(pairs_count),
	[CR_KERNEL_PAIRS_FILL] = CODE(pairs_fill),
	[CR_KERNEL_PAIRS_NAME] = CODE(pairs_name),
	[CR_KERNEL_PAIRS_JUDGE] = CODE(pairs_judge),
	[CR_KERNEL_PAIRS_PLACE] = CODE(pairs_place),
	[CR_KERNEL_PAIRS_ORDER] = CODE(pairs_order),
	[CR_KERNEL_PAIRS_SETTLE] = CODE(pairs_settle),
	[CR_KERNEL_PROXIES] = CODE(proxies),
	[CR_KERNEL_PROXIES_COST] = CODE(proxies_cost),
	[CR_KERNEL_RAYS_QUERY] = CODE(rays_query),
	[CR_KERNEL_RAYS_TRACE] = CODE(rays_trace),
	[CR_KERNEL_RAYS_SUM] = CODE(rays_sum),
	[CR_KERNEL_CLEAR] = CODE(clear),
	[CR_KERNEL_ARITHMETIC] = CODE(arithmetic),
	[CR_KERNEL_MESH_CAST] = CODE(mesh_cast),
	[CR_KERNEL_MESH_WALK] = CODE(mesh_walk),
	[CR_KERNEL_MESH_PIERCE] = CODE(mesh_pierce),
	[CR_KERNEL_MESH_NEAR_NODES] = CODE(mesh_near_nodes),
	[CR_KERNEL_MESH_NEAR_LEAVES] = CODE(mesh_near_leaves),
	[CR_KERNEL_MESH_NEAR_TEST] = CODE(mesh_near_test),
	[CR_KERNEL_GRAINS_STEER] = CODE(grains_steer),
	[CR_KERNEL_GRAINS_PLACE] = CODE(grains_place),
	[CR_KERNEL_GRAINS_ROWS_COUNT] = CODE(grains_rows_count),
	[CR_KERNEL_GRAINS_ROWS_FILL] = CODE(grains_rows_fill),
	[CR_KERNEL_GRAINS_FORCE] = CODE(grains_force),
	[CR_KERNEL_GRAINS_MOVE] = CODE(grains_move),
	[CR_KERNEL_GRAINS_SUM] = CODE(grains_sum),
	[CR_KERNEL_TREE_FIT_BOXES] = CODE(tree_fit_boxes),
	[CR_KERNEL_SWEEP_FACE_POINTS] = CODE(sweep_face_points),
	[CR_KERNEL_SWEEP_EDGE_POINTS] = CODE(sweep_edge_points),
	[CR_KERNEL_SWEEP_FACE_LEAVES] = CODE(sweep_face_leaves),
	[CR_KERNEL_SWEEP_EDGE_LEAVES] = CODE(sweep_edge_leaves),
	[CR_KERNEL_SWEEP_SEARCH_FACES] = CODE(sweep_search_faces),
	[CR_KERNEL_SWEEP_SEARCH_EDGES] = CODE(sweep_search_edges),
	[CR_KERNEL_SWEEP_FILTER_FACES] = CODE(sweep_filter_faces),
	[CR_KERNEL_SWEEP_FILTER_EDGES] = CODE(sweep_filter_edges),
	[CR_KERNEL_BOXES_BUILD] = { .name = "boxes_build" },
	[CR_KERNEL_BOXES_REFIT] = { .name = "boxes_refit" },
};

const char *cr_kernel_name(cr_kernel kernel) { return CODES[kernel].name; }

const uint32_t *cr_kernel_code(cr_kernel kernel, size_t *size)
{
	*size = CODES[kernel].size;
	return CODES[kernel].words;
}

uint32_t cr_gpu_sort_threads(const carom_device *device)
{
	enum { SUBGROUPS = 8 }; // as sort_scatter.comp has it
	const uint32_t most = device->limits.maxComputeWorkGroupInvocations, size = device->info.subgroup_size;
	const uint32_t threads = SUBGROUPS * size;
	return threads <= most ? threads : most / size * size;
}

// ---- The file ----

enum { MOST_CACHE = 64 << 20 };

/// Is the file of this driver? Its first words say so, and drivers should not be trusted to look.
static bool cache_fits(const carom_device *device, const void *bytes, size_t size)
{
	VkPipelineCacheHeaderVersionOne head;
	if (size < sizeof head)
		return false;
	memcpy(&head, bytes, sizeof head);
	return head.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && head.vendorID == device->info.vendor_id &&
		head.deviceID == device->info.device_id &&
		memcmp(head.pipelineCacheUUID, device->cache_uuid, sizeof device->cache_uuid) == 0;
}

/// The content of the file; NULL: there is none, or it is of no use. *size: of the memory.
static void *load_cache(carom_device *device, size_t *size)
{
	*size = 0;
	FILE *file = device->cache_path ? fopen(device->cache_path, "rb") : NULL;
	if (!file)
		return NULL;
	void *bytes = NULL;
	long length = -1;
	if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0 && length <= MOST_CACHE && fseek(file, 0, SEEK_SET) == 0)
		bytes = cr_alloc(device->context, (size_t)length);
	const bool read = bytes && fread(bytes, 1, (size_t)length, file) == (size_t)length;
	fclose(file);
	if (bytes && (!read || !cache_fits(device, bytes, (size_t)length))) {
		cr_free(device->context, bytes, (size_t)length);
		bytes = NULL;
	}
	if (!bytes)
		cr_log(device->context, CAROM_LOG_WARNING, "%s: is no file of compiled kernels of %s", device->cache_path,
			device->info.name);
	else
		*size = (size_t)length;
	return bytes;
}

/// Write a file beside it and put that in its place: two processes may end at once.
static bool write_cache(const carom_device *device, const void *bytes, size_t size, char *beside, size_t room)
{
	snprintf(beside, room, "%s.%lld", device->cache_path, (long long)cr_process_id());
	FILE *file = fopen(beside, "wb");
	if (!file)
		return false;
	const bool written = fwrite(bytes, 1, size, file) == size;
	if (fclose(file) == 0 && written && rename(beside, device->cache_path) == 0)
		return true;
	remove(beside);
	return false;
}

void cr_gpu_save_cache(carom_device *device)
{
	enum { SUFFIX = 32 };
	size_t size = 0;
	if (!device->cache_path || device->stats.lost ||
		device->vk->GetPipelineCacheData(device->device, device->cache, &size, NULL) != VK_SUCCESS)
		return;
	const size_t room = device->cache_path_size + SUFFIX, held = size;
	void *bytes = cr_alloc(device->context, held);
	char *beside = cr_alloc(device->context, room);
	const bool saved = bytes && beside &&
		device->vk->GetPipelineCacheData(device->device, device->cache, &size, bytes) == VK_SUCCESS &&
		write_cache(device, bytes, size, beside, room);
	if (!saved)
		cr_log(device->context, CAROM_LOG_WARNING, "%s: the compiled kernels cannot be written", device->cache_path);
	cr_free(device->context, bytes, held);
	cr_free(device->context, beside, room);
}

// ---- Pipelines ----

carom_result cr_gpu_open_kernels(carom_device *device)
{
	const VkAllocationCallbacks *memory = device->instance.memory;
	size_t size;
	void *bytes = load_cache(device, &size);
	const VkPipelineCacheCreateInfo cache = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = size, .pInitialData = bytes
	};
	VkResult result = device->vk->CreatePipelineCache(device->device, &cache, memory, &device->cache);
	device->stats.cache_used = bytes != NULL && result == VK_SUCCESS;
	cr_free(device->context, bytes, size);
	if (result != VK_SUCCESS) {
		device->cache = VK_NULL_HANDLE;
		return cr_gpu_fail(device, "vkCreatePipelineCache", result);
	}
	device->stages = VK_SHADER_STAGE_COMPUTE_BIT;
	if (device->rays.pipeline)
		device->stages |= VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR;
	const VkPushConstantRange range = { device->stages, 0, sizeof(cr_gpu_arguments) };
	const VkPipelineLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .pushConstantRangeCount = 1, .pPushConstantRanges = &range
	};
	result = device->vk->CreatePipelineLayout(device->device, &layout, memory, &device->layout);
	if (result == VK_SUCCESS)
		return CAROM_SUCCESS;
	device->layout = VK_NULL_HANDLE;
	return cr_gpu_fail(device, "vkCreatePipelineLayout", result);
}

void cr_gpu_close_kernels(carom_device *device)
{
	const VkAllocationCallbacks *memory = device->instance.memory;
	for (int k = 0; k < CR_KERNELS; k++) {
		if (device->pipelines[k])
			device->vk->DestroyPipeline(device->device, device->pipelines[k], memory);
	}
	cr_gpu_free(device, &device->ray_table);
	if (device->layout)
		device->vk->DestroyPipelineLayout(device->device, device->layout, memory);
	if (device->cache)
		device->vk->DestroyPipelineCache(device->device, device->cache, memory);
}

carom_result cr_gpu_make_pipeline(carom_device *device, cr_kernel kernel, uint32_t threads)
{
	if (device->pipelines[kernel])
		return CAROM_SUCCESS;
	const VkAllocationCallbacks *memory = device->instance.memory;
	const VkShaderModuleCreateInfo code = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = CODES[kernel].size, .pCode = CODES[kernel].words
	};
	VkShaderModule module;
	VkResult result = device->vk->CreateShaderModule(device->device, &code, memory, &module);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkCreateShaderModule", result);
	const uint32_t values[] = { threads, device->fences, device->leaf_size };
	const VkSpecializationMapEntry entries[] = { { 0, 0, sizeof *values }, { 1, sizeof *values, sizeof *values },
		{ 2, 2 * sizeof *values, sizeof *values } };
	const VkSpecializationInfo constants = { 3, entries, sizeof values, values };
	const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
		.requiredSubgroupSize = device->info.subgroup_size,
	};
	const bool whole = threads % device->info.subgroup_size == 0;
	const VkComputePipelineCreateInfo info = { .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.pNext = whole ? &size : NULL,
			.flags = whole ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
			.stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.module = module,
			.pName = "main",
			.pSpecializationInfo = &constants },
		.layout = device->layout };
	result = device->vk->CreateComputePipelines(device->device, device->cache, 1, &info, memory, &device->pipelines[kernel]);
	device->vk->DestroyShaderModule(device->device, module, memory);
	if (result == VK_SUCCESS)
		return CAROM_SUCCESS;
	device->pipelines[kernel] = VK_NULL_HANDLE;
	return cr_gpu_fail(device, "vkCreateComputePipelines", result);
}
