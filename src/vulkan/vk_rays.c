/// Acceleration structures and ray-tracing pipelines. See vulkan/vk_rays.h.
#include "vulkan/vk_rays.h"
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_memory.h"
#include <string.h>

#include "carom_rays_box_hit.spv.h"
#include "carom_rays_box_meet.spv.h"
#include "carom_rays_none.spv.h"

enum {
	BOX_BYTES = sizeof(VkAabbPositionsKHR),
	SCRATCH_ALIGN = 256, // no device asks for more
	MOST_INSTANCES = 2,
};

// ---- Acceleration structures ----

static VkAccelerationStructureGeometryKHR geometry_of_boxes(const cr_gpu_rays *rays)
{
	return (VkAccelerationStructureGeometryKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
		.geometryType = VK_GEOMETRY_TYPE_AABBS_KHR,
		.geometry.aabbs = { .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR,
			.data.deviceAddress = rays->boxes.address,
			.stride = BOX_BYTES },
		.flags = VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR,
	};
}

static VkAccelerationStructureGeometryKHR geometry_of_instances(const cr_gpu_rays *rays)
{
	return (VkAccelerationStructureGeometryKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
		.geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR,
		.geometry.instances = { .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
			.data.deviceAddress = rays->instances.address },
	};
}

static VkAccelerationStructureBuildGeometryInfoKHR build_info(
	const VkAccelerationStructureGeometryKHR *geometry, VkAccelerationStructureTypeKHR type)
{
	const bool bottom = type == VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR;
	return (VkAccelerationStructureBuildGeometryInfoKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
		.type = type,
		.flags = bottom
			? VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_TRACE_BIT_KHR | VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_UPDATE_BIT_KHR
			: 0,
		.geometryCount = 1,
		.pGeometries = geometry,
	};
}

/// Make an acceleration structure for as many items; *scratch: bytes that its build takes, if more.
static carom_result make_structure(carom_device *device, const VkAccelerationStructureGeometryKHR *geometry,
	VkAccelerationStructureTypeKHR type, uint32_t count, cr_gpu_buffer *memory, VkAccelerationStructureKHR *structure,
	uint64_t *scratch)
{
	const cr_vk *vk = device->vk;
	const VkAccelerationStructureBuildGeometryInfoKHR info = build_info(geometry, type);
	VkAccelerationStructureBuildSizesInfoKHR sizes = { .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR };
	vk->GetAccelerationStructureBuildSizesKHR(
		device->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &count, &sizes);
	*scratch = sizes.buildScratchSize > *scratch ? sizes.buildScratchSize : *scratch;
	*scratch = sizes.updateScratchSize > *scratch ? sizes.updateScratchSize : *scratch;
	const carom_result room = cr_gpu_reserve(device, memory, sizes.accelerationStructureSize);
	if (room != CAROM_SUCCESS)
		return room;
	const VkAccelerationStructureCreateInfoKHR create = { .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
		.buffer = memory->buffer,
		.size = sizes.accelerationStructureSize,
		.type = type };
	const VkResult result = vk->CreateAccelerationStructureKHR(device->device, &create, device->instance.memory, structure);
	if (result == VK_SUCCESS)
		return CAROM_SUCCESS;
	*structure = VK_NULL_HANDLE;
	return cr_gpu_fail(device, "vkCreateAccelerationStructureKHR", result);
}

static VkDeviceAddress address_of(const carom_device *device, VkAccelerationStructureKHR structure)
{
	const VkAccelerationStructureDeviceAddressInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR, .accelerationStructure = structure
	};
	return device->vk->GetAccelerationStructureDeviceAddressKHR(device->device, &info);
}

/// The instances of the boxes: where they are, unmoved.
static carom_result put_instances(carom_device *device, cr_gpu_rays *rays)
{
	const VkAccelerationStructureInstanceKHR one = {
		.transform.matrix = { { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 } },
		.mask = 0xff,
		.accelerationStructureReference = address_of(device, rays->bottom),
	};
	const VkAccelerationStructureInstanceKHR all[MOST_INSTANCES] = { one, one };
	const carom_result result = cr_gpu_reserve(device, &rays->instances, sizeof all);
	return result == CAROM_SUCCESS ? cr_gpu_upload(device, &rays->instances, all, sizeof all) : result;
}

static void destroy_structures(carom_device *device, cr_gpu_rays *rays)
{
	const VkAllocationCallbacks *memory = device->instance.memory;
	if (rays->top)
		device->vk->DestroyAccelerationStructureKHR(device->device, rays->top, memory);
	if (rays->bottom)
		device->vk->DestroyAccelerationStructureKHR(device->device, rays->bottom, memory);
	rays->top = rays->bottom = VK_NULL_HANDLE;
	rays->room = 0;
}

carom_result cr_gpu_reserve_rays(carom_device *device, cr_gpu_rays *rays, uint64_t count)
{
	if (count > device->rays.most_boxes)
		return cr_fail(device->context, CAROM_UNSUPPORTED, "%s traces rays through at most %llu boxes, and %llu are needed",
			device->info.name, (unsigned long long)device->rays.most_boxes, (unsigned long long)count);
	if (rays->top && count <= rays->room)
		return CAROM_SUCCESS;
	destroy_structures(device, rays);
	uint64_t scratch = 0;
	carom_result result = cr_gpu_reserve(device, &rays->boxes, BOX_BYTES * count);
	const VkAccelerationStructureGeometryKHR boxes = geometry_of_boxes(rays), instances = geometry_of_instances(rays);
	if (result == CAROM_SUCCESS)
		result = make_structure(device, &boxes, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, (uint32_t)count,
			&rays->bottom_memory, &rays->bottom, &scratch);
	if (result == CAROM_SUCCESS)
		result = make_structure(device, &instances, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, MOST_INSTANCES,
			&rays->top_memory, &rays->top, &scratch);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &rays->scratch, scratch + SCRATCH_ALIGN);
	if (result == CAROM_SUCCESS)
		result = put_instances(device, rays);
	if (result != CAROM_SUCCESS) {
		destroy_structures(device, rays);
		return result;
	}
	rays->address = address_of(device, rays->top);
	rays->room = count;
	return CAROM_SUCCESS;
}

static void record_build(
	carom_device *device, const cr_gpu_rays *rays, VkAccelerationStructureBuildGeometryInfoKHR *info, uint32_t count)
{
	const VkAccelerationStructureBuildRangeInfoKHR range = { .primitiveCount = count };
	const VkAccelerationStructureBuildRangeInfoKHR *const ranges = &range;
	info->scratchData.deviceAddress = (rays->scratch.address + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
	device->vk->CmdBuildAccelerationStructuresKHR(device->work.commands, 1, info, &ranges);
	cr_gpu_barrier(device, device->work.commands);
}

void cr_gpu_build_rays(carom_device *device, cr_gpu_rays *rays, uint32_t count, bool refit)
{
	if (device->failed != CAROM_SUCCESS)
		return;
	const cr_kernel kernel = refit ? CR_KERNEL_BOXES_REFIT : CR_KERNEL_BOXES_BUILD;
	const VkAccelerationStructureGeometryKHR boxes = geometry_of_boxes(rays), instances = geometry_of_instances(rays);
	VkAccelerationStructureBuildGeometryInfoKHR bottom = build_info(&boxes, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR);
	VkAccelerationStructureBuildGeometryInfoKHR top = build_info(&instances, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR);
	if (refit) {
		bottom.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR;
		bottom.srcAccelerationStructure = rays->bottom;
	}
	bottom.dstAccelerationStructure = rays->bottom;
	top.dstAccelerationStructure = rays->top;
	cr_gpu_begin_kernel(device, kernel);
	record_build(device, rays, &bottom, count);
	record_build(device, rays, &top, 1 + rays->more_instances);
	cr_gpu_end_kernel(device, kernel);
}

uint64_t cr_gpu_rays_bytes(const cr_gpu_rays *rays)
{
	return rays->boxes.size + rays->bottom_memory.size + rays->top_memory.size + rays->instances.size + rays->scratch.size;
}

void cr_gpu_free_rays(carom_device *device, cr_gpu_rays *rays)
{
	destroy_structures(device, rays);
	cr_gpu_free(device, &rays->boxes);
	cr_gpu_free(device, &rays->bottom_memory);
	cr_gpu_free(device, &rays->top_memory);
	cr_gpu_free(device, &rays->instances);
	cr_gpu_free(device, &rays->scratch);
}

// ---- Pipelines ----

// The sender of rays, the shader of those that meet no box, and boxes with two shaders.
enum { STAGES = 4, GROUPS = 3 };

/// The shaders of the pipeline, as modules. Those that were made are destroyed by the caller.
static VkResult make_modules(carom_device *device, VkShaderModule modules[STAGES])
{
	VkShaderModuleCreateInfo codes[STAGES] = {
		{ 0 },
		{ .codeSize = sizeof cr_rays_none_spv, .pCode = cr_rays_none_spv },
		{ .codeSize = sizeof cr_rays_box_meet_spv, .pCode = cr_rays_box_meet_spv },
		{ .codeSize = sizeof cr_rays_box_hit_spv, .pCode = cr_rays_box_hit_spv },
	};
	codes[0].pCode = cr_kernel_code(CR_KERNEL_RAYS_TRACE, &codes[0].codeSize);
	for (int s = 0; s < STAGES; s++) {
		codes[s].sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
		const VkResult result = device->vk->CreateShaderModule(device->device, &codes[s], device->instance.memory, &modules[s]);
		if (result != VK_SUCCESS) {
			modules[s] = VK_NULL_HANDLE;
			return result;
		}
	}
	return VK_SUCCESS;
}

static VkResult link_pipeline(carom_device *device, const VkShaderModule modules[STAGES], VkPipeline *pipeline)
{
	static const VkShaderStageFlagBits KINDS[STAGES] = { VK_SHADER_STAGE_RAYGEN_BIT_KHR, VK_SHADER_STAGE_MISS_BIT_KHR,
		VK_SHADER_STAGE_INTERSECTION_BIT_KHR, VK_SHADER_STAGE_ANY_HIT_BIT_KHR };
	VkPipelineShaderStageCreateInfo stages[STAGES];
	VkRayTracingShaderGroupCreateInfoKHR groups[GROUPS];
	for (int s = 0; s < STAGES; s++)
		stages[s] = (VkPipelineShaderStageCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.stage = KINDS[s],
			.module = modules[s],
			.pName = "main" };
	for (uint32_t g = 0; g < GROUPS; g++)
		groups[g] = (VkRayTracingShaderGroupCreateInfoKHR){
			.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR,
			.type = g < 2 ? VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR
						  : VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR,
			.generalShader = g < 2 ? g : VK_SHADER_UNUSED_KHR,
			.closestHitShader = VK_SHADER_UNUSED_KHR,
			.anyHitShader = g < 2 ? VK_SHADER_UNUSED_KHR : 3,
			.intersectionShader = g < 2 ? VK_SHADER_UNUSED_KHR : 2,
		};
	const VkRayTracingPipelineCreateInfoKHR info = { .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
		.stageCount = STAGES,
		.pStages = stages,
		.groupCount = GROUPS,
		.pGroups = groups,
		.maxPipelineRayRecursionDepth = 1,
		.layout = device->layout };
	return device->vk->CreateRayTracingPipelinesKHR(
		device->device, VK_NULL_HANDLE, device->cache, 1, &info, device->instance.memory, pipeline);
}

/// Where the table of shaders begins: at the next place that is aligned as it must be.
static VkDeviceAddress table_address(const carom_device *device)
{
	const uint64_t align = device->rays.table_align;
	return (device->ray_table.address + align - 1) / align * align;
}

/// The table of shaders: a region for each group.
static carom_result fill_table(carom_device *device, VkPipeline pipeline)
{
	enum { MOST_TABLE = (GROUPS + 1) * CR_GPU_MOST_TABLE_ALIGN };
	const cr_gpu_ray_limits *limits = &device->rays;
	unsigned char handles[GROUPS * CR_GPU_MOST_HANDLE], table[MOST_TABLE] = { 0 };
	const size_t size = (GROUPS + 1) * (size_t)limits->table_align;
	const carom_result room = cr_gpu_reserve(device, &device->ray_table, size);
	if (room != CAROM_SUCCESS)
		return room;
	const VkResult result = device->vk->GetRayTracingShaderGroupHandlesKHR(
		device->device, pipeline, 0, GROUPS, GROUPS * (size_t)limits->handle_size, handles);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkGetRayTracingShaderGroupHandlesKHR", result);
	const size_t at = (size_t)(table_address(device) - device->ray_table.address);
	for (uint32_t g = 0; g < GROUPS; g++)
		memcpy(table + at + (size_t)g * limits->table_align, handles + (size_t)g * limits->handle_size, limits->handle_size);
	return cr_gpu_upload(device, &device->ray_table, table, size);
}

static carom_result make_pipeline(carom_device *device)
{
	VkShaderModule modules[STAGES] = { VK_NULL_HANDLE };
	VkPipeline pipeline = VK_NULL_HANDLE;
	const char *call = "vkCreateShaderModule";
	VkResult result = make_modules(device, modules);
	if (result == VK_SUCCESS) {
		call = "vkCreateRayTracingPipelinesKHR";
		result = link_pipeline(device, modules, &pipeline);
	}
	for (int s = 0; s < STAGES; s++) {
		if (modules[s])
			device->vk->DestroyShaderModule(device->device, modules[s], device->instance.memory);
	}
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, call, result);
	const carom_result filled = fill_table(device, pipeline);
	if (filled == CAROM_SUCCESS)
		device->pipelines[CR_KERNEL_RAYS_TRACE] = pipeline;
	else
		device->vk->DestroyPipeline(device->device, pipeline, device->instance.memory);
	return filled;
}

/// A region of the table of shaders.
static VkStridedDeviceAddressRegionKHR region_of(const carom_device *device, uint32_t group)
{
	const cr_gpu_ray_limits *limits = &device->rays;
	return (VkStridedDeviceAddressRegionKHR){ table_address(device) + (uint64_t)group * limits->table_align,
		limits->handle_stride, limits->handle_stride };
}

void cr_gpu_trace(carom_device *device, uint32_t count, const cr_gpu_arguments *arguments)
{
	const cr_vk *vk = device->vk;
	if (device->failed == CAROM_SUCCESS && !device->pipelines[CR_KERNEL_RAYS_TRACE])
		device->failed = make_pipeline(device);
	if (device->failed != CAROM_SUCCESS)
		return;
	const VkStridedDeviceAddressRegionKHR send = region_of(device, 0), miss = region_of(device, 1), hit = region_of(device, 2),
										  none = { 0 };
	const VkCommandBuffer commands = device->work.commands;
	cr_gpu_arguments piece = *arguments;
	vk->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, device->pipelines[CR_KERNEL_RAYS_TRACE]);
	for (uint32_t first = 0; first < count; first += device->rays.most_rays) {
		const uint32_t left = count - first;
		piece.word[2] = first;
		vk->CmdPushConstants(commands, device->layout, device->stages, 0, sizeof piece, &piece);
		cr_gpu_begin_kernel(device, CR_KERNEL_RAYS_TRACE);
		vk->CmdTraceRaysKHR(
			commands, &send, &miss, &hit, &none, left < device->rays.most_rays ? left : device->rays.most_rays, 1, 1);
		cr_gpu_end_kernel(device, CR_KERNEL_RAYS_TRACE);
	}
}
