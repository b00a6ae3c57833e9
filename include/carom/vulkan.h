/// @file vulkan.h
/// Graphics devices, reached through Vulkan: which ones there are, and a device that worlds,
/// detectors of spheres, sweeps, proximity scenes and grains run on.
///
/// The Vulkan loader (libvulkan.so.1) is opened when it is first needed, so that a program which
/// links Carom needs neither it nor a driver. Where there is none, there are no devices, which is
/// no error. A library that was built without Vulkan (CAROM_VULKAN=OFF) has no devices either.
///
/// A device needs a driver of Vulkan 1.2 with buffer device addresses, 64-bit integers in shaders
/// and subgroups that vote by ballot and add. Kernels are in the library; nothing is compiled from
/// source at run time.
#ifndef CAROM_VULKAN_H
#define CAROM_VULKAN_H

#include "carom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a device is, in the driver's words.
typedef enum carom_device_kind {
	CAROM_DEVICE_OTHER,
	CAROM_DEVICE_INTEGRATED, ///< shares its memory with the processor
	CAROM_DEVICE_DISCRETE,
	CAROM_DEVICE_VIRTUAL,
	/// A driver that runs on the processor (Mesa's llvmpipe). Never chosen unless it is named.
	CAROM_DEVICE_CPU,
} carom_device_kind;

/// The name of a kind ("discrete"). Static text. Thread-safe.
CAROM_API const char *carom_device_kind_name(carom_device_kind kind);

/// How a device searches the boxes of spheres, and casts the full rays of meshes of a world. All
/// tiers give equal answers, to the bit.
typedef enum carom_device_tier {
	/// Measure: a detector's first builds take turns among the tiers that the device has, two
	/// builds each, and it stays with the fastest one; so do a world's first lots of 512 rays and
	/// more.
	CAROM_TIER_AUTO,
	CAROM_TIER_COMPUTE, ///< trees of our own in compute kernels; every device
	CAROM_TIER_QUERY,   ///< the driver's ray tracing, by ray queries (VK_KHR_ray_query)
	/// The driver's ray tracing, by a ray-tracing pipeline (VK_KHR_ray_tracing_pipeline).
	CAROM_TIER_PIPELINE,
} carom_device_tier;

/// The name of a tier ("auto", "compute", "query", "pipeline"). Static text. Thread-safe.
CAROM_API const char *carom_device_tier_name(carom_device_tier tier);

/// A device that a driver shows.
typedef struct carom_device_info {
	char name[256];
	char driver[256]; ///< name and version of the driver
	carom_device_kind kind;
	uint32_t vendor_id, device_id;
	int api_major, api_minor; ///< of Vulkan
	uint64_t memory;          ///< bytes of its own memory (of a CPU: that it may use)
	uint64_t largest_buffer;  ///< bytes that one buffer may have
	uint32_t subgroup_size;   ///< invocations that run in step
	/// Its kernels have double precision. Spheres, impacts and near pairs do without it. Worlds and
	/// grains refuse a device that has none, with CAROM_UNSUPPORTED.
	bool doubles;
	bool ray_query, ray_pipeline; ///< it has the tiers QUERY and PIPELINE
	bool usable;                  ///< carom_create_device can use it
	char lacks[128];              ///< why not; empty for a usable one
} carom_device_info;

/// Write the devices of this machine to infos [capacity], in the order of the loader: infos[i] is
/// the device of index i (carom_device_def.choice). *count is the number of devices there are,
/// which may be above capacity. infos may be NULL when capacity is 0. *count is 0, and no error,
/// without a loader or a driver and in a library built without Vulkan. CAROM_OUT_OF_MEMORY, or
/// CAROM_DEVICE_FAILED with the call that failed. Takes some tens of milliseconds. Thread-safe.
CAROM_API carom_result carom_list_devices(
	carom_context *context, carom_device_info *infos, int32_t capacity, int32_t *count);

/// A device of Vulkan that the caller has made, for carom_device_def.vulkan: handles, and the
/// loader's function. It must have been made for Vulkan 1.2, with the features bufferDeviceAddress,
/// shaderInt64, subgroupSizeControl, computeFullSubgroups, and the extension
/// VK_EXT_subgroup_size_control where it is not of version 1.3.
typedef struct carom_vulkan_handles {
	/// PFN_vkGetInstanceProcAddr, with which the instance was made
	void (*(*get_instance_proc_addr)(void *instance, const char *name))(void);
	void *instance, *physical_device, *device; ///< VkInstance, VkPhysicalDevice, VkDevice
	void *queue; ///< VkQueue, for compute; the library submits to it, and waits for its own work
	uint32_t queue_family; ///< of the queue
	bool doubles;          ///< the feature shaderFloat64 is on
} carom_vulkan_handles;

/// How to make a device. Start from carom_default_device_def.
typedef struct carom_device_def {
	int cookie; ///< set by carom_default_device_def; do not touch
	/// Which one: "auto", an index into the list ("0"), or a part of its name in any case
	/// ("radeon"; the first that has it). auto takes the first discrete device that can be used,
	/// else an integrated one, else a virtual or another one, and never a driver that runs on the
	/// processor. NULL: "auto". The text is not kept.
	const char *choice;
	/// Not NULL: use this device of the caller's, which must outlive the one that is made. Buffers
	/// that the library shows (carom/grains.h) are of it then. Vulkan wants that no two threads use
	/// a queue at once: while a call of the library uses the device, the caller must not use the
	/// queue. choice must be NULL, validation off (it is the caller's), and the tier AUTO or
	/// COMPUTE. The record is copied.
	const carom_vulkan_handles *vulkan;
	/// How detectors and worlds search on it. Impacts, near pairs and grains are searched in
	/// compute kernels in any tier. QUERY or PIPELINE on a device that lacks it: CAROM_UNSUPPORTED.
	carom_device_tier tier;
	/// File of compiled kernels, so that the next process need not compile them: read now, if it is
	/// there and of this driver, and written when the device is destroyed and kernels have come to
	/// it. NULL: carom/kernels-VENDOR-DEVICE-DRIVER.bin in the user's cache folder, which is
	/// XDG_CACHE_HOME, else HOME/.cache; none where neither is an absolute path. Empty: none. A
	/// file that cannot be read or written costs time only, and one that is damaged or of another
	/// driver is replaced; the log is warned, of the default place it is told (INFO). The text is
	/// copied.
	const char *cache_path;
	/// Most bytes of device memory; 0: no limit but the device's. Calls that need more fail with
	/// CAROM_OVER_BUDGET.
	size_t memory_budget;
	/// Measure the time of each kernel (carom_device_get_kernels). Costs a little time.
	bool timing;
	/// For tests: copy to and from the device in pieces even where the processor could reach its
	/// memory. Results are equal.
	bool staging;
	/// For tests: make the device without double precision even where it has it, as many small
	/// cards are (carom_device_info.doubles).
	bool without_doubles;
	/// Give the device every stage of a world's step that it can do, for tests and measurements.
	/// Off: the threads of the context do little stages, which take them less time than a device
	/// takes to answer. Results are equal.
	bool always;
	/// Let the loader and driver take host memory from the context's allocator, not from the C
	/// library. Off by default: drivers may crash when it refuses (Mesa 22.3 does).
	bool driver_memory;
	/// For tests: run under the validation layer of Khronos; CAROM_UNSUPPORTED where it is not
	/// installed. Its messages go to the log as errors, and are counted.
	bool validation;
} carom_device_def;

/// "auto", the file of the default place, no limit, nothing measured. Thread-safe.
CAROM_API carom_device_def carom_default_device_def(void);

/// A device to run on. Detectors, worlds and scenes that share one may be used in different
/// threads; their work on the device is done one after the other.
typedef struct carom_device carom_device;

/// Most devices of a world, and of a detector of spheres.
enum { CAROM_MAX_DEVICES = 16 };

/// Open a device. def may be NULL for the defaults. The context must outlive it.
/// CAROM_INVALID_ARGUMENT names the field. CAROM_UNSUPPORTED: there is no such device, it lacks
/// something, or the library was built without Vulkan; the text says which. CAROM_OUT_OF_MEMORY, or
/// CAROM_DEVICE_FAILED with the call of the driver that failed. On failure *device is NULL.
/// Thread-safe.
CAROM_API carom_result carom_create_device(
	carom_context *context, const carom_device_def *def, carom_device **device);

/// Destroy a device. Destroy what uses it first (carom_spheres_def.device, carom_sweep_def.device,
/// carom_proximity_def.device, grains), and take it from worlds (carom_world_set_device). NULL does
/// nothing.
CAROM_API void carom_destroy_device(carom_device *device);

/// What the device is. Thread-safe.
CAROM_API carom_device_info carom_device_get_info(const carom_device *device);

/// Counts and memory since the device was made.
typedef struct carom_device_stats {
	size_t bytes, bytes_peak;     ///< device memory held now, and at most
	int64_t bytes_up, bytes_down; ///< copied to and from the device, or written and read there
	int64_t submissions;          ///< pieces of work handed to the driver
	int64_t dispatches;           ///< kernels started
	int64_t validation_messages;  ///< with carom_device_def.validation
	carom_device_tier tier;       ///< of the last search; AUTO: there was none yet
	bool lost;                    ///< the driver has given the device up: nothing runs any more
	bool cache_used;              ///< the file of compiled kernels was there and fitted
} carom_device_stats;

/// Counts and memory. Thread-safe while no call uses the device.
CAROM_API carom_device_stats carom_device_get_stats(const carom_device *device);

/// Time of a kernel since the device was made.
typedef struct carom_kernel_time {
	const char *name; ///< static text
	int64_t calls;
	double ms; ///< on the device; 0 without carom_device_def.timing
} carom_kernel_time;

/// Write the kernels that have run to times [capacity]; returns how many there are, which may
/// be above capacity. Thread-safe while no call uses the device.
CAROM_API int32_t carom_device_get_kernels(
	const carom_device *device, carom_kernel_time *times, int32_t capacity);

/// A Vulkan buffer on the device, for kernels of the caller's: buffer is the VkBuffer. All zero
/// where there is none.
typedef struct carom_device_buffer {
	uint64_t buffer;
	uint64_t address; ///< of the device
	uint64_t size;    ///< bytes
} carom_device_buffer;

/// Copy size bytes from place `at` on of a buffer that the library shows (carom_grains_get_buffers,
/// carom_spheres_find_device_pairs), or of one that the caller has made on the same VkDevice for
/// copies from it (VK_BUFFER_USAGE_TRANSFER_SRC_BIT), to memory of the caller's. Work that was
/// submitted to the queue before is done by then. A copy of its own goes through memory that the
/// processor reaches, 4 MiB at a time. CAROM_INVALID_ARGUMENT names the argument;
/// CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET, CAROM_DEVICE_FAILED. Thread-safe.
CAROM_API carom_result carom_device_read(
	carom_device *device, const carom_device_buffer *buffer, uint64_t at, uint64_t size, void *to);

#ifdef __cplusplus
}
#endif
#endif
