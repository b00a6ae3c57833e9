/// A device: its instance, memory, kernels and commands. The parts are in vk_device.c (choice,
/// making), vk_memory.c (buffers), vk_kernels.c (pipelines) and vk_commands.c (work).
#ifndef CR_VULKAN_VK_DEVICE_H
#define CR_VULKAN_VK_DEVICE_H

#include "base/thread.h"
#include "carom/vulkan.h"
#include "vulkan/vk_loader.h"

/// The kernels: a file of src/vulkan/shaders, or one of its forms.
typedef enum cr_kernel {
	CR_KERNEL_SCAN,       // 32-bit items and sums
	CR_KERNEL_SCAN_WIDEN, // 32-bit items, 64-bit sums
	CR_KERNEL_SCAN_WIDE,  // 64-bit items and sums
	CR_KERNEL_SCAN_ADD,   // 32 bits
	CR_KERNEL_SCAN_ADD_WIDE,
	CR_KERNEL_SORT_COUNT, // 32-bit keys
	CR_KERNEL_SORT_COUNT_WIDE,
	CR_KERNEL_SORT_SCATTER,
	CR_KERNEL_SORT_SCATTER_WIDE,
	CR_KERNEL_MORTON,
	CR_KERNEL_GATHER,
	CR_KERNEL_TREE_SHAPE,
	CR_KERNEL_TREE_FIT,
	CR_KERNEL_TREE_COST,
	CR_KERNEL_PAIRS_COUNT,
	CR_KERNEL_PAIRS_FILL,
	CR_KERNELS,
} cr_kernel;

/// A buffer in device memory. Zero is none.
typedef struct cr_gpu_buffer {
	VkBuffer buffer;
	VkDeviceMemory memory;
	VkDeviceAddress address;
	void *mapped; // NULL: reached by copies through the staging ring alone
	uint64_t size;
} cr_gpu_buffer;

enum {
	CR_GPU_SLOTS = 2, // of the staging ring
	CR_GPU_SLOT_SIZE = 4 << 20,
	CR_GPU_READBACK_SIZE = 64 << 10,
	CR_GPU_QUERIES = 512, // time stamps of one submission
};

/// A piece of work: its commands, and when it is done.
typedef struct cr_gpu_work {
	VkCommandPool pool;
	VkCommandBuffer commands;
	VkFence fence;
	bool pending;
} cr_gpu_work;

struct carom_device {
	carom_context *context;
	cr_vk_instance instance;
	const cr_vk *vk; // &instance.vk
	carom_device_def def;
	char *cache_path; // NULL: none
	size_t cache_path_size;

	VkPhysicalDevice physical;
	carom_device_info info;
	VkPhysicalDeviceMemoryProperties memory_types;
	VkPhysicalDeviceLimits limits;
	uint8_t cache_uuid[VK_UUID_SIZE];
	uint32_t queue_family, timestamp_bits;
	bool fences; // tree_fit.comp
	VkDevice device;
	VkQueue queue;

	VkPipelineCache cache;
	VkPipelineLayout layout;
	VkPipeline pipelines[CR_KERNELS]; // made at the first use

	cr_mutex lock; // of all that follows, while work is recorded and runs
	cr_gpu_work work;
	bool recording;
	carom_result failed; // the first failure since cr_gpu_begin
	VkQueryPool queries;
	uint32_t query_count;
	uint8_t query_kernels[CR_GPU_QUERIES / 2];
	cr_gpu_work copies[CR_GPU_SLOTS];
	cr_gpu_buffer staging[CR_GPU_SLOTS];
	cr_gpu_buffer readback; // small results of a submission
	uint32_t readback_used;

	carom_device_stats stats;
	const char *lost_call; // in which the device was lost
	struct {
		int64_t calls;
		double ms;
	} kernels[CR_KERNELS];
};

/// The failure of a call of Vulkan on a device. A lost device is remembered as lost.
carom_result cr_gpu_fail(carom_device *device, const char *call, VkResult result);

#endif
