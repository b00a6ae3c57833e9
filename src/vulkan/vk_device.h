/// A device: its instance, memory, kernels and commands. The parts are in vk_device.c (choice,
/// making), vk_memory.c (buffers), vk_kernels.c (pipelines) and vk_commands.c (work).
#ifndef CR_VULKAN_VK_DEVICE_H
#define CR_VULKAN_VK_DEVICE_H

#include "base/thread.h"
#include "carom/vulkan.h"
#include "vulkan/vk_loader.h"

/// The kernels: a file of src/vulkan/shaders, or one of its forms.
typedef enum cr_kernel {
	CR_KERNEL_SCAN_WIDEN, // 32-bit items, 64-bit sums
	CR_KERNEL_SCAN_WIDE,  // 64-bit items and sums
	CR_KERNEL_SCAN_ADD_WIDE,
	CR_KERNEL_SORT_COUNT, // 32-bit keys
	CR_KERNEL_SORT_COUNT_WIDE,
	CR_KERNEL_SORT_SUM,
	CR_KERNEL_SORT_SCATTER,
	CR_KERNEL_SORT_SCATTER_WIDE,
	CR_KERNEL_MORTON,
	CR_KERNEL_GATHER,
	CR_KERNEL_TREE_SHAPE,
	CR_KERNEL_TREE_FIT,
	CR_KERNEL_TREE_COST,
	CR_KERNEL_PAIRS_COUNT,
	CR_KERNEL_PAIRS_FILL,
	CR_KERNEL_PAIRS_NAME,
	CR_KERNEL_PAIRS_JUDGE,
	CR_KERNEL_PAIRS_PLACE,
	CR_KERNEL_PAIRS_ORDER,
	CR_KERNEL_PAIRS_SETTLE,
	CR_KERNEL_PROXIES,
	CR_KERNEL_PROXIES_COST,
	CR_KERNEL_RAYS_QUERY,
	CR_KERNEL_RAYS_TRACE, // a ray-tracing pipeline
	CR_KERNEL_RAYS_SUM,
	CR_KERNEL_CLEAR,
	CR_KERNEL_ARITHMETIC,
	CR_KERNEL_MESH_CAST,
	CR_KERNEL_MESH_QUERY,
	CR_KERNEL_MESH_TRACE, // a ray-tracing pipeline
	CR_KERNEL_MESH_WALK,
	CR_KERNEL_MESH_PIERCE,
	CR_KERNEL_MESH_NEAR_NODES,
	CR_KERNEL_MESH_NEAR_LEAVES,
	CR_KERNEL_MESH_NEAR_TEST,
	CR_KERNEL_GRAINS_STEER,
	CR_KERNEL_GRAINS_PLACE,
	CR_KERNEL_GRAINS_ROWS_COUNT,
	CR_KERNEL_GRAINS_ROWS_FILL,
	CR_KERNEL_GRAINS_FORCE,
	CR_KERNEL_GRAINS_MOVE,
	CR_KERNEL_GRAINS_SUM,
	CR_KERNEL_TREE_FIT_BOXES,
	CR_KERNEL_SWEEP_FACE_POINTS,
	CR_KERNEL_SWEEP_EDGE_POINTS,
	CR_KERNEL_SWEEP_FACE_LEAVES,
	CR_KERNEL_SWEEP_EDGE_LEAVES,
	CR_KERNEL_SWEEP_SEARCH_FACES,
	CR_KERNEL_SWEEP_SEARCH_EDGES,
	CR_KERNEL_SWEEP_FILTER_FACES,
	CR_KERNEL_SWEEP_FILTER_EDGES,
	CR_KERNEL_BOXES_BUILD, // the driver's, as is the next one
	CR_KERNEL_BOXES_REFIT,
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
	CR_GPU_GATE_SLOTS = 128,
	CR_GPU_RAY_PIPELINES = 2,
};

/// The abilities of a device with rays, and its bounds.
typedef struct cr_gpu_ray_limits {
	bool query, pipeline;                             // ray queries, ray-tracing pipelines
	uint64_t most_boxes;                              // in one acceleration structure
	uint32_t most_rays;                               // in one call
	uint32_t handle_size, handle_stride, table_align; // of a table of shaders
} cr_gpu_ray_limits;

/// A piece of work: its commands, and when it is done.
typedef struct cr_gpu_work {
	VkCommandPool pool;
	VkCommandBuffer commands;
	VkFence fence;
	bool pending;
} cr_gpu_work;

typedef struct cr_gpu_gate cr_gpu_gate;

struct carom_device {
	carom_context *context;
	cr_vk_instance instance;
	const cr_vk *vk; // &instance.vk
	carom_device_def def;
	bool adopted; // the caller has made it: handles
	carom_vulkan_handles handles;
	char *cache_path; // NULL: none
	size_t cache_path_size;
	bool cache_by_default; // its place is none of the caller's
	uint64_t cache_hash;   // of the data read from it; 0: none
	uint32_t driver;       // VkDriverId

	VkPhysicalDevice physical;
	carom_device_info info;
	VkPhysicalDeviceMemoryProperties memory_types;
	VkPhysicalDeviceLimits limits;
	uint8_t cache_uuid[VK_UUID_SIZE];
	uint32_t queue_family, timestamp_bits;
	bool fences;        // tree_fit.comp
	bool apart;         // tests: the processor does not reach its own memory, as of a card
	bool watches;       // a wait looks at the fence for a while before it sleeps
	bool tried, exact;  // the trial of doubles (gpu_trial.h) was made, and passed
	uint32_t leaf_size; // tree_shape.comp
	cr_gpu_ray_limits rays;
	VkDevice device;
	VkQueue queue;

	VkPipelineCache cache;
	VkPipelineLayout layout;
	VkShaderStageFlags stages;                      // that the layout is for
	VkPipeline pipelines[CR_KERNELS];               // made at the first use
	cr_gpu_buffer ray_tables[CR_GPU_RAY_PIPELINES]; // of shaders (vk_rays.c)

	cr_mutex lock; // of all that follows, while work is recorded and runs
	cr_gpu_work work;
	bool recording;
	carom_result failed; // the first failure since cr_gpu_begin
	cr_gpu_gate *gate;   // at which kernels wait (vk_commands.h); NULL: none
	VkQueryPool queries;
	uint32_t query_count;
	uint8_t query_kernels[CR_GPU_QUERIES / 2];
	bool timed; // between cr_gpu_begin_kernel and cr_gpu_end_kernel
	cr_gpu_work copies[CR_GPU_SLOTS];
	cr_gpu_buffer staging[CR_GPU_SLOTS];
	cr_gpu_buffer readback; // small results of a submission
	uint32_t readback_used;
	cr_gpu_buffer sending; // what travels with the recorded work
	uint64_t sent;         // bytes of it

	carom_device_stats stats;
	const char *lost_call; // in which the device was lost
	struct {
		int64_t calls;
		double ms;
	} kernels[CR_KERNELS];
};

/// Remember that a device is lost, and the call that told so, if a result of Vulkan says it.
void cr_gpu_note_loss(carom_device *device, const char *call, VkResult result);
/// The failure of a call of Vulkan on a device. A loss is noted.
carom_result cr_gpu_fail(carom_device *device, const char *call, VkResult result);

#endif
