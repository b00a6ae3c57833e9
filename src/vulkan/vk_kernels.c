/// Pipelines. See vulkan/vk_kernels.h.
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_cache.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_memory.h"
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
#include "carom_mesh_query.spv.h"
#include "carom_mesh_trace.spv.h"
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
	[CR_KERNEL_MESH_QUERY] = CODE(mesh_query),
	[CR_KERNEL_MESH_TRACE] = CODE(mesh_trace),
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

// ---- Pipelines ----

carom_result cr_gpu_open_kernels(carom_device *device)
{
	const VkAllocationCallbacks *memory = device->instance.memory;
	size_t size;
	void *bytes;
	const carom_result loaded = cr_gpu_load_cache(device, &bytes, &size);
	if (loaded != CAROM_SUCCESS)
		return loaded;
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
		device->stages |=
			VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR;
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
	for (int i = 0; i < CR_GPU_RAY_PIPELINES; i++)
		cr_gpu_free(device, &device->ray_tables[i]);
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
