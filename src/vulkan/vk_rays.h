/// Acceleration structures of the driver over boxes, and rays through them: VK_KHR_acceleration_
/// structure, with VK_KHR_ray_query or VK_KHR_ray_tracing_pipeline.
///
/// The driver makes a tree of its own of the boxes. Mesa's llvmpipe 25.0 cuts their order in
/// halves, so boxes that are neighbours should stand near each other: callers sort them.
#ifndef CR_VULKAN_VK_RAYS_H
#define CR_VULKAN_VK_RAYS_H

#include "vulkan/vk_commands.h"

// A device whose tables of shaders are larger has no pipelines of rays for us. None was heard of.
enum { CR_GPU_MOST_HANDLE = 128, CR_GPU_MOST_TABLE_ALIGN = 1024 };

/// Boxes for rays: the structure over the boxes, and the one over that, which shaders are given.
typedef struct cr_gpu_rays {
	cr_gpu_buffer boxes; // lower and upper corner of each, six floats: written before a build
	cr_gpu_buffer bottom_memory, top_memory, instances, scratch;
	VkAccelerationStructureKHR bottom, top;
	uint64_t room;           // boxes that there is memory for
	VkDeviceAddress address; // of the upper structure
	// Instances less one, so that rays meet each box several times, as Vulkan allows. For tests.
	uint32_t more_instances;
} cr_gpu_rays;

/// Room for count boxes. CAROM_UNSUPPORTED where one structure of the device holds fewer.
carom_result cr_gpu_reserve_rays(carom_device *device, cr_gpu_rays *rays, uint64_t count);
/// Record: make the structure of the first count boxes; with refit, which keeps the shape of the
/// last one of as many.
void cr_gpu_build_rays(carom_device *device, cr_gpu_rays *rays, uint32_t count, bool refit);
/// Record: send count rays by a pipeline, in pieces that the device sends at once. Word 2 of the
/// arguments is the number of the first ray of a piece.
void cr_gpu_trace(carom_device *device, cr_kernel kernel, uint32_t count, const cr_gpu_arguments *arguments);

/// The structures of a mesh, over the boxes of its blocks, in a buffer that several meshes share.
/// Zero is none.
typedef struct cr_gpu_mesh_rays {
	VkAccelerationStructureKHR bottom, top;
} cr_gpu_mesh_rays;

enum { CR_GPU_STRUCTURE_ALIGN = 256 }; // of a place in the buffer, and of scratch memory

/// Bytes of the buffer that the structures of so many boxes take. *scratch: bytes that their build
/// takes.
uint64_t cr_gpu_measure_mesh_rays(const carom_device *device, uint32_t count, uint64_t *scratch);
/// Make them at a place of the buffer. They are yet to be built.
carom_result cr_gpu_make_mesh_rays(
	carom_device *device, const cr_gpu_buffer *memory, uint64_t place, uint32_t count, cr_gpu_mesh_rays *rays);
/// The item of the upper one, to be put on the device: the mesh, unmoved.
VkAccelerationStructureInstanceKHR cr_gpu_mesh_instance(const carom_device *device, const cr_gpu_mesh_rays *rays);
/// Record: build them, of boxes as cr_gpu_rays has them and the instance, which are on the device.
void cr_gpu_build_mesh_rays(carom_device *device, const cr_gpu_mesh_rays *rays, VkDeviceAddress boxes, VkDeviceAddress instance,
	uint32_t count, VkDeviceAddress scratch);
/// The address of the upper structure, for shaders.
VkDeviceAddress cr_gpu_mesh_rays_address(const carom_device *device, const cr_gpu_mesh_rays *rays);
void cr_gpu_free_mesh_rays(const carom_device *device, cr_gpu_mesh_rays *rays);

uint64_t cr_gpu_rays_bytes(const cr_gpu_rays *rays);
void cr_gpu_free_rays(carom_device *device, cr_gpu_rays *rays);

#endif
