/// Acceleration structures and ray-tracing pipelines. See vulkan/vk_rays.h.
#include "vulkan/vk_rays.h"
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_memory.h"
#include <string.h>

#include "carom_mesh_box_hit.spv.h"
#include "carom_mesh_box_meet.spv.h"
#include "carom_rays_box_hit.spv.h"
#include "carom_rays_box_meet.spv.h"
#include "carom_rays_none.spv.h"

enum {
	BOX_BYTES = sizeof(VkAabbPositionsKHR),
	SCRATCH_ALIGN = CR_GPU_STRUCTURE_ALIGN, // no device asks for more
	MOST_INSTANCES = 2,
};

// ---- Acceleration structures ----

static VkAccelerationStructureGeometryKHR geometry_of_boxes(VkDeviceAddress boxes)
{
	return (VkAccelerationStructureGeometryKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
		.geometryType = VK_GEOMETRY_TYPE_AABBS_KHR,
		.geometry.aabbs = { .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR,
			.data.deviceAddress = boxes,
			.stride = BOX_BYTES },
		.flags = VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR,
	};
}

static VkAccelerationStructureGeometryKHR geometry_of_instances(VkDeviceAddress instances)
{
	return (VkAccelerationStructureGeometryKHR){
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
		.geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR,
		.geometry.instances = { .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
			.data.deviceAddress = instances },
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

/// Bytes of an acceleration structure for as many items; *scratch: those that its build takes, if
/// more.
static uint64_t measure_structure(const carom_device *device, const VkAccelerationStructureGeometryKHR *geometry,
	VkAccelerationStructureTypeKHR type, uint32_t count, uint64_t *scratch)
{
	const VkAccelerationStructureBuildGeometryInfoKHR info = build_info(geometry, type);
	VkAccelerationStructureBuildSizesInfoKHR sizes = { .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR };
	device->vk->GetAccelerationStructureBuildSizesKHR(
		device->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &count, &sizes);
	*scratch = sizes.buildScratchSize > *scratch ? sizes.buildScratchSize : *scratch;
	*scratch = sizes.updateScratchSize > *scratch ? sizes.updateScratchSize : *scratch;
	return sizes.accelerationStructureSize;
}

/// Make an acceleration structure of so many bytes at a place of a buffer.
static carom_result create_structure(carom_device *device, VkAccelerationStructureTypeKHR type, const cr_gpu_buffer *memory,
	uint64_t place, uint64_t size, VkAccelerationStructureKHR *structure)
{
	const VkAccelerationStructureCreateInfoKHR create = { .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
		.buffer = memory->buffer,
		.offset = place,
		.size = size,
		.type = type };
	const VkResult result =
		device->vk->CreateAccelerationStructureKHR(device->device, &create, device->instance.memory, structure);
	if (result == VK_SUCCESS)
		return CAROM_SUCCESS;
	*structure = VK_NULL_HANDLE;
	return cr_gpu_fail(device, "vkCreateAccelerationStructureKHR", result);
}

/// Make an acceleration structure for as many items, with its memory; *scratch as of
/// measure_structure.
static carom_result make_structure(carom_device *device, const VkAccelerationStructureGeometryKHR *geometry,
	VkAccelerationStructureTypeKHR type, uint32_t count, cr_gpu_buffer *memory, VkAccelerationStructureKHR *structure,
	uint64_t *scratch)
{
	const uint64_t size = measure_structure(device, geometry, type, count, scratch);
	const carom_result room = cr_gpu_reserve(device, memory, size);
	return room == CAROM_SUCCESS ? create_structure(device, type, memory, 0, size, structure) : room;
}

static VkDeviceAddress address_of(const carom_device *device, VkAccelerationStructureKHR structure)
{
	const VkAccelerationStructureDeviceAddressInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR, .accelerationStructure = structure
	};
	return device->vk->GetAccelerationStructureDeviceAddressKHR(device->device, &info);
}

/// An instance of boxes: where they are, unmoved.
static VkAccelerationStructureInstanceKHR instance_of(const carom_device *device, VkAccelerationStructureKHR bottom)
{
	return (VkAccelerationStructureInstanceKHR){
		.transform.matrix = { { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 } },
		.mask = 0xff,
		.accelerationStructureReference = address_of(device, bottom),
	};
}

static carom_result put_instances(carom_device *device, cr_gpu_rays *rays)
{
	const VkAccelerationStructureInstanceKHR one = instance_of(device, rays->bottom);
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
	const VkAccelerationStructureGeometryKHR boxes = geometry_of_boxes(rays->boxes.address),
											 instances = geometry_of_instances(rays->instances.address);
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
	carom_device *device, VkDeviceAddress scratch, VkAccelerationStructureBuildGeometryInfoKHR *info, uint32_t count)
{
	const VkAccelerationStructureBuildRangeInfoKHR range = { .primitiveCount = count };
	const VkAccelerationStructureBuildRangeInfoKHR *const ranges = &range;
	info->scratchData.deviceAddress = (scratch + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
	device->vk->CmdBuildAccelerationStructuresKHR(device->work.commands, 1, info, &ranges);
	cr_gpu_barrier(device, device->work.commands);
}

void cr_gpu_build_rays(carom_device *device, cr_gpu_rays *rays, uint32_t count, bool refit)
{
	if (device->failed != CAROM_SUCCESS)
		return;
	const cr_kernel kernel = refit ? CR_KERNEL_BOXES_REFIT : CR_KERNEL_BOXES_BUILD;
	const VkAccelerationStructureGeometryKHR boxes = geometry_of_boxes(rays->boxes.address),
											 instances = geometry_of_instances(rays->instances.address);
	VkAccelerationStructureBuildGeometryInfoKHR bottom = build_info(&boxes, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR);
	VkAccelerationStructureBuildGeometryInfoKHR top = build_info(&instances, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR);
	if (refit) {
		bottom.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR;
		bottom.srcAccelerationStructure = rays->bottom;
	}
	bottom.dstAccelerationStructure = rays->bottom;
	top.dstAccelerationStructure = rays->top;
	cr_gpu_begin_kernel(device, kernel);
	record_build(device, rays->scratch.address, &bottom, count);
	record_build(device, rays->scratch.address, &top, 1 + rays->more_instances);
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

// ---- Meshes ----

static uint64_t align_structure(uint64_t bytes)
{
	return (bytes + CR_GPU_STRUCTURE_ALIGN - 1) / CR_GPU_STRUCTURE_ALIGN * CR_GPU_STRUCTURE_ALIGN;
}

/// Bytes of both structures of a mesh, each to its next place.
typedef struct mesh_bytes {
	uint64_t bottom, top;
} mesh_bytes;

static mesh_bytes measure_mesh(const carom_device *device, uint32_t count, uint64_t *scratch)
{
	const VkAccelerationStructureGeometryKHR boxes = geometry_of_boxes(0), instances = geometry_of_instances(0);
	return (mesh_bytes){
		align_structure(measure_structure(device, &boxes, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, count, scratch)),
		align_structure(measure_structure(device, &instances, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, 1, scratch)),
	};
}

uint64_t cr_gpu_measure_mesh_rays(const carom_device *device, uint32_t count, uint64_t *scratch)
{
	*scratch = 0;
	const mesh_bytes bytes = measure_mesh(device, count, scratch);
	*scratch += SCRATCH_ALIGN;
	return bytes.bottom + bytes.top;
}

carom_result cr_gpu_make_mesh_rays(
	carom_device *device, const cr_gpu_buffer *memory, uint64_t place, uint32_t count, cr_gpu_mesh_rays *rays)
{
	uint64_t scratch = 0;
	const mesh_bytes bytes = measure_mesh(device, count, &scratch);
	*rays = (cr_gpu_mesh_rays){ VK_NULL_HANDLE, VK_NULL_HANDLE };
	carom_result result =
		create_structure(device, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, memory, place, bytes.bottom, &rays->bottom);
	if (result == CAROM_SUCCESS)
		result = create_structure(
			device, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, memory, place + bytes.bottom, bytes.top, &rays->top);
	if (result != CAROM_SUCCESS)
		cr_gpu_free_mesh_rays(device, rays);
	return result;
}

VkAccelerationStructureInstanceKHR cr_gpu_mesh_instance(const carom_device *device, const cr_gpu_mesh_rays *rays)
{
	return instance_of(device, rays->bottom);
}

void cr_gpu_build_mesh_rays(carom_device *device, const cr_gpu_mesh_rays *rays, VkDeviceAddress boxes, VkDeviceAddress instance,
	uint32_t count, VkDeviceAddress scratch)
{
	if (device->failed != CAROM_SUCCESS)
		return;
	const VkAccelerationStructureGeometryKHR of_boxes = geometry_of_boxes(boxes), of_mesh = geometry_of_instances(instance);
	VkAccelerationStructureBuildGeometryInfoKHR bottom = build_info(&of_boxes, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR);
	VkAccelerationStructureBuildGeometryInfoKHR top = build_info(&of_mesh, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR);
	bottom.dstAccelerationStructure = rays->bottom;
	top.dstAccelerationStructure = rays->top;
	cr_gpu_begin_kernel(device, CR_KERNEL_BOXES_BUILD);
	record_build(device, scratch, &bottom, count);
	record_build(device, scratch, &top, 1);
	cr_gpu_end_kernel(device, CR_KERNEL_BOXES_BUILD);
}

VkDeviceAddress cr_gpu_mesh_rays_address(const carom_device *device, const cr_gpu_mesh_rays *rays)
{
	return address_of(device, rays->top);
}

void cr_gpu_free_mesh_rays(const carom_device *device, cr_gpu_mesh_rays *rays)
{
	if (rays->top)
		device->vk->DestroyAccelerationStructureKHR(device->device, rays->top, device->instance.memory);
	if (rays->bottom)
		device->vk->DestroyAccelerationStructureKHR(device->device, rays->bottom, device->instance.memory);
	*rays = (cr_gpu_mesh_rays){ VK_NULL_HANDLE, VK_NULL_HANDLE };
}

// ---- Pipelines ----

// The sender of rays, the shader of those that meet no box, and boxes with two shaders.
enum { STAGES = 4, GROUPS = 3 };

/// The shaders of a pipeline beside the one that sends rays.
typedef struct ray_shaders {
	cr_kernel kernel;
	const uint32_t *meet, *hit;
	size_t meet_size, hit_size;
} ray_shaders;

static const ray_shaders PIPELINES[CR_GPU_RAY_PIPELINES] = {
	{ CR_KERNEL_RAYS_TRACE, cr_rays_box_meet_spv, cr_rays_box_hit_spv, sizeof cr_rays_box_meet_spv, sizeof cr_rays_box_hit_spv },
	{ CR_KERNEL_MESH_TRACE, cr_mesh_box_meet_spv, cr_mesh_box_hit_spv, sizeof cr_mesh_box_meet_spv, sizeof cr_mesh_box_hit_spv },
};

static int number_of(cr_kernel kernel) { return kernel == PIPELINES[0].kernel ? 0 : 1; }

/// The shaders of the pipeline, as modules. Those that were made are destroyed by the caller.
static VkResult make_modules(carom_device *device, const ray_shaders *shaders, VkShaderModule modules[STAGES])
{
	VkShaderModuleCreateInfo codes[STAGES] = {
		{ 0 },
		{ .codeSize = sizeof cr_rays_none_spv, .pCode = cr_rays_none_spv },
		{ .codeSize = shaders->meet_size, .pCode = shaders->meet },
		{ .codeSize = shaders->hit_size, .pCode = shaders->hit },
	};
	codes[0].pCode = cr_kernel_code(shaders->kernel, &codes[0].codeSize);
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
static VkDeviceAddress table_address(const carom_device *device, int number)
{
	const uint64_t align = device->rays.table_align;
	return (device->ray_tables[number].address + align - 1) / align * align;
}

/// The table of shaders: a region for each group.
static carom_result fill_table(carom_device *device, int number, VkPipeline pipeline)
{
	enum { MOST_TABLE = (GROUPS + 1) * CR_GPU_MOST_TABLE_ALIGN };
	const cr_gpu_ray_limits *limits = &device->rays;
	unsigned char handles[GROUPS * CR_GPU_MOST_HANDLE], table[MOST_TABLE] = { 0 };
	const size_t size = (GROUPS + 1) * (size_t)limits->table_align;
	const carom_result room = cr_gpu_reserve(device, &device->ray_tables[number], size);
	if (room != CAROM_SUCCESS)
		return room;
	const VkResult result = device->vk->GetRayTracingShaderGroupHandlesKHR(
		device->device, pipeline, 0, GROUPS, GROUPS * (size_t)limits->handle_size, handles);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkGetRayTracingShaderGroupHandlesKHR", result);
	const size_t at = (size_t)(table_address(device, number) - device->ray_tables[number].address);
	for (uint32_t g = 0; g < GROUPS; g++)
		memcpy(table + at + (size_t)g * limits->table_align, handles + (size_t)g * limits->handle_size, limits->handle_size);
	return cr_gpu_upload(device, &device->ray_tables[number], table, size);
}

static carom_result make_pipeline(carom_device *device, int number)
{
	VkShaderModule modules[STAGES] = { VK_NULL_HANDLE };
	VkPipeline pipeline = VK_NULL_HANDLE;
	const char *call = "vkCreateShaderModule";
	VkResult result = make_modules(device, &PIPELINES[number], modules);
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
	const carom_result filled = fill_table(device, number, pipeline);
	if (filled == CAROM_SUCCESS)
		device->pipelines[PIPELINES[number].kernel] = pipeline;
	else
		device->vk->DestroyPipeline(device->device, pipeline, device->instance.memory);
	return filled;
}

/// A region of the table of shaders.
static VkStridedDeviceAddressRegionKHR region_of(const carom_device *device, int number, uint32_t group)
{
	const cr_gpu_ray_limits *limits = &device->rays;
	return (VkStridedDeviceAddressRegionKHR){ table_address(device, number) + (uint64_t)group * limits->table_align,
		limits->handle_stride, limits->handle_stride };
}

void cr_gpu_trace(carom_device *device, cr_kernel kernel, uint32_t count, const cr_gpu_arguments *arguments)
{
	const cr_vk *vk = device->vk;
	const int number = number_of(kernel);
	if (device->failed == CAROM_SUCCESS && !device->pipelines[kernel])
		device->failed = make_pipeline(device, number);
	if (device->failed != CAROM_SUCCESS)
		return;
	const VkStridedDeviceAddressRegionKHR send = region_of(device, number, 0), miss = region_of(device, number, 1),
										  hit = region_of(device, number, 2), none = { 0 };
	const VkCommandBuffer commands = device->work.commands;
	cr_gpu_arguments piece = *arguments;
	vk->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, device->pipelines[kernel]);
	for (uint32_t first = 0; first < count; first += device->rays.most_rays) {
		const uint32_t left = count - first;
		piece.word[2] = first;
		vk->CmdPushConstants(commands, device->layout, device->stages, 0, sizeof piece, &piece);
		cr_gpu_begin_kernel(device, kernel);
		vk->CmdTraceRaysKHR(
			commands, &send, &miss, &hit, &none, left < device->rays.most_rays ? left : device->rays.most_rays, 1, 1);
		cr_gpu_end_kernel(device, kernel);
	}
}
