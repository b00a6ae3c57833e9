/// Calls of a driver that fail: functions that stand in the place of the true ones and let one call, of whatever function, fail.
/// Static: there are no such headers where the library is built without Vulkan.
#ifndef TESTS_DEVICE_FAILURES_H
#define TESTS_DEVICE_FAILURES_H

#include "failing_calls.h"
#include "test.h"
#include "vulkan/vk_device.h"
#include <stdio.h>
#include <string.h>

// Which call is to fail, with what, the true functions, and the name of the call that failed.
static failing_calls *s_failing;
static VkResult s_result;
static cr_vk s_real;
static const char *s_failed;

/// Is this the call that fails?
static inline bool fails(const char *name)
{
	if (!failing_calls_fail(s_failing))
		return false;
	s_failed = name;
	return true;
}

static inline VkResult VKAPI_PTR create_buffer(
	VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *memory, VkBuffer *buffer)
{
	return fails("vkCreateBuffer") ? s_result : s_real.CreateBuffer(device, info, memory, buffer);
}
static inline VkResult VKAPI_PTR allocate_memory(
	VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *callbacks, VkDeviceMemory *memory)
{
	return fails("vkAllocateMemory") ? s_result : s_real.AllocateMemory(device, info, callbacks, memory);
}
static inline VkResult VKAPI_PTR bind_memory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize at)
{
	return fails("vkBindBufferMemory") ? s_result : s_real.BindBufferMemory(device, buffer, memory, at);
}
static inline VkResult VKAPI_PTR map_memory(
	VkDevice device, VkDeviceMemory memory, VkDeviceSize at, VkDeviceSize size, VkMemoryMapFlags flags, void **data)
{
	return fails("vkMapMemory") ? s_result : s_real.MapMemory(device, memory, at, size, flags, data);
}
static inline VkResult VKAPI_PTR create_module(
	VkDevice device, const VkShaderModuleCreateInfo *info, const VkAllocationCallbacks *memory, VkShaderModule *module)
{
	return fails("vkCreateShaderModule") ? s_result : s_real.CreateShaderModule(device, info, memory, module);
}
static inline VkResult VKAPI_PTR create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
	const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *memory, VkPipeline *pipelines)
{
	return fails("vkCreateComputePipelines") ? s_result
											 : s_real.CreateComputePipelines(device, cache, count, infos, memory, pipelines);
}
static inline VkResult VKAPI_PTR reset_pool(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags)
{
	return fails("vkResetCommandPool") ? s_result : s_real.ResetCommandPool(device, pool, flags);
}
static inline VkResult VKAPI_PTR begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
	return fails("vkBeginCommandBuffer") ? s_result : s_real.BeginCommandBuffer(commands, info);
}
static inline VkResult VKAPI_PTR end(VkCommandBuffer commands)
{
	return fails("vkEndCommandBuffer") ? s_result : s_real.EndCommandBuffer(commands);
}
static inline VkResult VKAPI_PTR submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
	return fails("vkQueueSubmit") ? s_result : s_real.QueueSubmit(queue, count, infos, fence);
}
static inline VkResult VKAPI_PTR wait_fences(
	VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t nanoseconds)
{
	// The work is over in any case: what a lost device does afterwards is not tested here.
	const VkResult result = s_real.WaitForFences(device, count, fences, all, nanoseconds);
	return fails("vkWaitForFences") ? s_result : result;
}
static inline VkResult VKAPI_PTR reset_fences(VkDevice device, uint32_t count, const VkFence *fences)
{
	const VkResult result = s_real.ResetFences(device, count, fences);
	return fails("vkResetFences") ? s_result : result;
}
static inline VkResult VKAPI_PTR get_queries(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, size_t size,
	void *data, VkDeviceSize stride, VkQueryResultFlags flags)
{
	return fails("vkGetQueryPoolResults") ? s_result
										  : s_real.GetQueryPoolResults(device, pool, first, count, size, data, stride, flags);
}

static inline VkResult VKAPI_PTR create_structure(VkDevice device, const VkAccelerationStructureCreateInfoKHR *info,
	const VkAllocationCallbacks *memory, VkAccelerationStructureKHR *structure)
{
	return fails("vkCreateAccelerationStructureKHR") ? s_result
													 : s_real.CreateAccelerationStructureKHR(device, info, memory, structure);
}
static inline VkResult VKAPI_PTR create_ray_pipelines(VkDevice device, VkDeferredOperationKHR operation, VkPipelineCache cache,
	uint32_t count, const VkRayTracingPipelineCreateInfoKHR *infos, const VkAllocationCallbacks *memory, VkPipeline *pipelines)
{
	return fails("vkCreateRayTracingPipelinesKHR")
		? s_result
		: s_real.CreateRayTracingPipelinesKHR(device, operation, cache, count, infos, memory, pipelines);
}
static inline VkResult VKAPI_PTR get_handles(
	VkDevice device, VkPipeline pipeline, uint32_t first, uint32_t count, size_t size, void *data)
{
	return fails("vkGetRayTracingShaderGroupHandlesKHR")
		? s_result
		: s_real.GetRayTracingShaderGroupHandlesKHR(device, pipeline, first, count, size, data);
}

static inline void put_failing(cr_vk *vk)
{
	vk->CreateAccelerationStructureKHR = create_structure;
	vk->CreateRayTracingPipelinesKHR = create_ray_pipelines;
	vk->GetRayTracingShaderGroupHandlesKHR = get_handles;
	vk->CreateBuffer = create_buffer;
	vk->AllocateMemory = allocate_memory;
	vk->BindBufferMemory = bind_memory;
	vk->MapMemory = map_memory;
	vk->CreateShaderModule = create_module;
	vk->CreateComputePipelines = create_pipelines;
	vk->ResetCommandPool = reset_pool;
	vk->BeginCommandBuffer = begin;
	vk->EndCommandBuffer = end;
	vk->QueueSubmit = submit;
	vk->WaitForFences = wait_fences;
	vk->ResetFences = reset_fences;
	vk->GetQueryPoolResults = get_queries;
}

/// Calls of a device fail from now on as calls says, with a result: at most one until end_failing.
static inline void begin_failing(carom_device *device, failing_calls *calls, VkResult result)
{
	failing_calls_begin(calls);
	s_failing = calls;
	s_result = result;
	s_failed = NULL;
	s_real = device->instance.vk;
	put_failing(&device->instance.vk);
}

/// No call of the device fails any more. Returns whether one has failed (s_failed).
static inline bool end_failing(carom_device *device)
{
	device->instance.vk = s_real;
	return failing_calls_end(s_failing);
}

/// A detector of a test, whose settings and findings are in user.
typedef struct failing_detector {
	void *(*make)(void *user, bool fallback);
	/// Find all that there is, with buffers of the device that are new the first time.
	carom_result (*find)(void *detector, void *user);
	/// Did the last successful search find what there is?
	bool (*is_right)(const void *user);
	int64_t (*fallbacks)(const void *detector);
	void (*destroy)(void *detector);
} failing_detector;

/// How calls fail. Most calls come again and again: in release, after the first ones, each of which fails, a stride meets each of them.
typedef struct failing_way {
	VkResult failure;
	carom_result expected; ///< of the search, without a fallback
	bool fallback;
	int first_ones, stride;
} failing_way;

/// One search in which one call fails, and one more on the same detector. Returns whether the call was made.
static inline bool check_one_failing_call(
	carom_device *device, const failing_detector *kind, void *user, const failing_way *way, failing_calls *calls, int *failures)
{
	void *detector = kind->make(user, way->fallback);
	begin_failing(device, calls, way->failure);
	const carom_result result = kind->find(detector, user);
	const bool failed = end_failing(device);
	// Else the text names the call; or it was one that the library can do without. No wait is: behind it, nobody knows what is done.
	const bool waits = failed && strcmp(s_failed, "vkWaitForFences") == 0;
	bool good = result == CAROM_SUCCESS
		? kind->is_right(user) && (!waits || way->fallback)
		: failed && !way->fallback && result == way->expected && strstr(carom_error_text(device->context), s_failed);
	*failures += failed && (way->fallback ? kind->fallbacks(detector) == 1 : result != CAROM_SUCCESS);
	const bool lost = carom_device_get_stats(device).lost;
	good = good && lost == (failed && way->failure == VK_ERROR_DEVICE_LOST);
	good = good && (!lost || way->fallback || kind->find(detector, user) == CAROM_DEVICE_FAILED);
	device->stats.lost = false; // it is not, really
	// The next time all is well.
	good = good && kind->find(detector, user) == CAROM_SUCCESS && kind->is_right(user);
	kind->destroy(detector);
	good = good && carom_device_get_stats(device).bytes <= CR_GPU_READBACK_SIZE + (CR_GPU_SLOTS + 1) * CR_GPU_SLOT_SIZE;
	if (!CHECK(good))
		printf("call %lld, %s: %d, %s\n", calls->failed, failed ? s_failed : "none", (int)result,
			carom_error_text(device->context));
	return failed;
}

/// One call of the driver after the other fails (failing_calls_of_preset), in a search of a new detector on a device that has a ring (carom_device_def.staging).
static inline void check_each_failing_call(
	carom_device *device, const failing_detector *kind, void *user, const failing_way *way)
{
	failing_calls calls = failing_calls_of_preset();
	int failures = 0;
	while (check_one_failing_call(device, kind, user, way, &calls, &failures) && calls.failed < 1000)
		calls.stride = calls.failed < way->first_ones ? 1 : way->stride;
	CHECK(calls.failed < 0 && failures > (calls.by_stack ? 15 : 40));
	failing_calls_free(&calls);
}

#endif
