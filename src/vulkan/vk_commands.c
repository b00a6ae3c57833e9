/// Recording and running of work. See vulkan/vk_commands.h.
#include "vulkan/vk_commands.h"
#include "base/time.h"
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_memory.h"
#include <string.h>

enum { MOST_GROUPS = 65535 }; // in one dimension, on every device

// ---- Making ----

static carom_result make_work(carom_device *device, cr_gpu_work *work)
{
	const cr_vk *vk = device->vk;
	const VkAllocationCallbacks *memory = device->instance.memory;
	const VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.queueFamilyIndex = device->queue_family };
	VkResult result = vk->CreateCommandPool(device->device, &pool, memory, &work->pool);
	if (result != VK_SUCCESS) {
		work->pool = VK_NULL_HANDLE;
		return cr_gpu_fail(device, "vkCreateCommandPool", result);
	}
	const VkCommandBufferAllocateInfo commands = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = work->pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = 1 };
	result = vk->AllocateCommandBuffers(device->device, &commands, &work->commands);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkAllocateCommandBuffers", result);
	const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	result = vk->CreateFence(device->device, &fence, memory, &work->fence);
	if (result != VK_SUCCESS) {
		work->fence = VK_NULL_HANDLE;
		return cr_gpu_fail(device, "vkCreateFence", result);
	}
	return CAROM_SUCCESS;
}

static void free_work(carom_device *device, cr_gpu_work *work)
{
	if (work->fence)
		device->vk->DestroyFence(device->device, work->fence, device->instance.memory);
	if (work->pool)
		device->vk->DestroyCommandPool(device->device, work->pool, device->instance.memory);
	*work = (cr_gpu_work){ 0 };
}

static carom_result make_queries(carom_device *device)
{
	device->def.timing = device->def.timing && device->timestamp_bits > 0;
	if (!device->def.timing)
		return CAROM_SUCCESS;
	const VkQueryPoolCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = CR_GPU_QUERIES
	};
	const VkResult result = device->vk->CreateQueryPool(device->device, &info, device->instance.memory, &device->queries);
	if (result == VK_SUCCESS)
		return CAROM_SUCCESS;
	device->queries = VK_NULL_HANDLE;
	return cr_gpu_fail(device, "vkCreateQueryPool", result);
}

carom_result cr_gpu_open_commands(carom_device *device)
{
	carom_result result = make_work(device, &device->work);
	for (int slot = 0; slot < CR_GPU_SLOTS && result == CAROM_SUCCESS; slot++)
		result = make_work(device, &device->copies[slot]);
	if (result == CAROM_SUCCESS)
		result = make_queries(device);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_make_staging(device, &device->readback, CR_GPU_READBACK_SIZE);
	return result;
}

void cr_gpu_close_commands(carom_device *device)
{
	cr_gpu_free(device, &device->readback);
	cr_gpu_free(device, &device->sending);
	for (int slot = 0; slot < CR_GPU_SLOTS; slot++) {
		cr_gpu_free(device, &device->staging[slot]);
		free_work(device, &device->copies[slot]);
	}
	free_work(device, &device->work);
	if (device->queries)
		device->vk->DestroyQueryPool(device->device, device->queries, device->instance.memory);
	device->queries = VK_NULL_HANDLE;
}

// ---- A piece of work ----

carom_result cr_gpu_start_work(carom_device *device, cr_gpu_work *work)
{
	const cr_vk *vk = device->vk;
	if (device->stats.lost)
		return cr_fail(device->context, CAROM_DEVICE_FAILED, "%s was lost by its driver in %s; destroy it and make another one",
			device->info.name, device->lost_call);
	VkResult result = vk->ResetCommandPool(device->device, work->pool, 0);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkResetCommandPool", result);
	const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT };
	result = vk->BeginCommandBuffer(work->commands, &begin);
	return result == VK_SUCCESS ? CAROM_SUCCESS : cr_gpu_fail(device, "vkBeginCommandBuffer", result);
}

carom_result cr_gpu_submit_work(carom_device *device, cr_gpu_work *work)
{
	const cr_vk *vk = device->vk;
	VkResult result = vk->EndCommandBuffer(work->commands);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkEndCommandBuffer", result);
	result = vk->ResetFences(device->device, 1, &work->fence);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkResetFences", result);
	const VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &work->commands
	};
	result = vk->QueueSubmit(device->queue, 1, &submit, work->fence);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkQueueSubmit", result);
	work->pending = true;
	device->stats.submissions++;
	return CAROM_SUCCESS;
}

/// Look at a fence until it is signalled, for a short while. A driver lets a thread that waits
/// sleep, and waking it takes longer than many a piece of work. Failures are told by the wait that
/// follows.
static bool watch(const carom_device *device, VkFence fence)
{
	const double most = 0.2; // milliseconds
	const double end = cr_time_ms() + most;
	do {
		const VkResult result = device->vk->GetFenceStatus(device->device, fence);
		if (result != VK_NOT_READY)
			return result == VK_SUCCESS;
	} while (cr_time_ms() < end);
	return false;
}

static VkResult wait_for_work(carom_device *device, cr_gpu_work *work)
{
	if (!work->pending)
		return VK_SUCCESS;
	work->pending = false;
	if (device->watches && watch(device, work->fence))
		return VK_SUCCESS;
	const VkResult result = device->vk->WaitForFences(device->device, 1, &work->fence, VK_TRUE, UINT64_MAX);
	if (result == VK_SUCCESS)
		return VK_SUCCESS;
	// Nobody knows what is still under way. Memory that it uses is given back soon.
	return device->vk->DeviceWaitIdle(device->device) == VK_ERROR_DEVICE_LOST ? VK_ERROR_DEVICE_LOST : result;
}

carom_result cr_gpu_wait(carom_device *device, cr_gpu_work *work)
{
	const VkResult result = wait_for_work(device, work);
	return result == VK_SUCCESS ? CAROM_SUCCESS : cr_gpu_fail(device, "vkWaitForFences", result);
}

void cr_gpu_barrier(const carom_device *device, VkCommandBuffer commands)
{
	VkPipelineStageFlags from = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
	VkAccessFlags written = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
	VkAccessFlags used = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
		VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT | VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
	if (device->rays.query || device->rays.pipeline) {
		from |= VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR;
		written |= VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR;
		used |= VK_ACCESS_ACCELERATION_STRUCTURE_READ_BIT_KHR | VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR;
	}
	if (device->rays.pipeline)
		from |= VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR;
	const VkMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = used
	};
	const VkPipelineStageFlags to = from | VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
	device->vk->CmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

// ---- Kernels one after the other ----

void cr_gpu_lock(carom_device *device) { cr_mutex_lock(&device->lock); }

carom_result cr_gpu_settle(carom_device *device, carom_result result)
{
	for (int slot = 0; slot < CR_GPU_SLOTS; slot++) {
		const VkResult waited = wait_for_work(device, &device->copies[slot]);
		if (waited == VK_SUCCESS)
			continue;
		if (result == CAROM_SUCCESS)
			result = cr_gpu_fail(device, "vkWaitForFences", waited);
		else
			cr_gpu_note_loss(device, "vkWaitForFences", waited); // the first failure's text stays
	}
	return result;
}

carom_result cr_gpu_unlock(carom_device *device, carom_result result)
{
	result = cr_gpu_settle(device, result);
	cr_mutex_unlock(&device->lock);
	return result;
}

carom_result cr_gpu_begin(carom_device *device)
{
	device->failed = cr_gpu_start_work(device, &device->work);
	device->readback_used = device->query_count = 0;
	device->sent = 0;
	device->gate = NULL;
	if (device->failed != CAROM_SUCCESS)
		return device->failed;
	if (device->queries)
		device->vk->CmdResetQueryPool(device->work.commands, device->queries, 0, CR_GPU_QUERIES);
	cr_gpu_barrier(device, device->work.commands); // after copies to the device
	return CAROM_SUCCESS;
}

void cr_gpu_begin_kernel(carom_device *device, cr_kernel kernel)
{
	if (device->queries && device->query_count + 2 <= CR_GPU_QUERIES) {
		device->vk->CmdWriteTimestamp(
			device->work.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, device->queries, device->query_count);
		device->query_kernels[device->query_count / 2] = (uint8_t)kernel;
		device->timed = true;
	}
}

void cr_gpu_end_kernel(carom_device *device, cr_kernel kernel)
{
	if (device->timed) {
		device->vk->CmdWriteTimestamp(
			device->work.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, device->queries, device->query_count + 1);
		device->query_count += 2;
		device->timed = false;
	}
	cr_gpu_barrier(device, device->work.commands);
	device->kernels[kernel].calls++;
	device->stats.dispatches++;
}

/// Note the numbers of workgroups that are wanted; those that the device will have written count.
static void dispatch_gated(carom_device *device, uint32_t columns, uint32_t rows)
{
	cr_gpu_gate *gate = device->gate;
	if (gate->used == CR_GPU_GATE_SLOTS) {
		device->failed = cr_fail(device->context, CAROM_UNSUPPORTED, "more than %d kernels at a gate", CR_GPU_GATE_SLOTS);
		return;
	}
	const uint32_t groups[3] = { columns, rows, 1 };
	memcpy(gate->wanted[gate->used], groups, sizeof groups);
	device->vk->CmdDispatchIndirect(
		device->work.commands, gate->groups->buffer, (uint64_t)gate->used * sizeof(VkDispatchIndirectCommand));
	gate->used++;
}

void cr_gpu_run(carom_device *device, cr_kernel kernel, uint64_t count, uint32_t threads, const cr_gpu_arguments *arguments)
{
	const cr_vk *vk = device->vk;
	const VkCommandBuffer commands = device->work.commands;
	if (device->failed == CAROM_SUCCESS)
		device->failed = cr_gpu_make_pipeline(device, kernel, threads);
	if (device->failed != CAROM_SUCCESS || count == 0)
		return;
	const uint64_t groups = (count + threads - 1) / threads;
	const uint32_t rows = (uint32_t)((groups + MOST_GROUPS - 1) / MOST_GROUPS);
	const uint32_t columns = rows > 1 ? MOST_GROUPS : (uint32_t)groups;
	vk->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->pipelines[kernel]);
	vk->CmdPushConstants(commands, device->layout, device->stages, 0, sizeof *arguments, arguments);
	cr_gpu_begin_kernel(device, kernel);
	if (device->gate)
		dispatch_gated(device, columns, rows);
	else
		vk->CmdDispatch(commands, columns, rows, 1);
	cr_gpu_end_kernel(device, kernel);
}

void cr_gpu_clear(carom_device *device, const cr_gpu_buffer *buffer, uint64_t size)
{
	if (device->failed != CAROM_SUCCESS || size == 0)
		return;
	if (device->gate) {
		const cr_gpu_arguments arguments = { { buffer->address }, { (uint32_t)(size / 4) } };
		cr_gpu_run(device, CR_KERNEL_CLEAR, size / 4, CR_GPU_THREADS, &arguments);
		return;
	}
	device->vk->CmdFillBuffer(device->work.commands, buffer->buffer, 0, size, 0);
	cr_gpu_barrier(device, device->work.commands);
}

void cr_gpu_write(carom_device *device, const cr_gpu_buffer *buffer, const void *data, uint32_t size)
{
	if (device->failed != CAROM_SUCCESS || size == 0)
		return;
	device->stats.bytes_up += size;
	if (buffer->mapped) {
		memcpy(buffer->mapped, data, size); // nothing that was submitted before is under way
		return;
	}
	device->vk->CmdUpdateBuffer(device->work.commands, buffer->buffer, 0, size, data);
	cr_gpu_barrier(device, device->work.commands);
}

/// Where so many bytes for the recorded work have room; NULL: nowhere, or a failure.
static char *room_to_send(carom_device *device, uint64_t size)
{
	if (device->sent + size > device->sending.size) {
		if (device->sent > 0 || size > CR_GPU_SLOT_SIZE)
			return NULL;
		cr_gpu_free(device, &device->sending);
		device->failed = cr_gpu_make_staging(device, &device->sending, size);
	}
	return device->failed == CAROM_SUCCESS ? (char *)device->sending.mapped + device->sent : NULL;
}

void cr_gpu_send(carom_device *device, const cr_gpu_buffer *buffer, const void *data, uint64_t size)
{
	enum { ALIGN = 16 };
	if (device->failed != CAROM_SUCCESS || size == 0)
		return;
	char *room = buffer->mapped ? NULL : room_to_send(device, size);
	if (device->failed != CAROM_SUCCESS)
		return;
	if (!room) {
		device->failed = cr_gpu_upload(device, buffer, data, size);
		return;
	}
	const VkBufferCopy piece = { device->sent, 0, size };
	cr_gpu_copy_bytes(device, room, data, size);
	device->sent += (size + ALIGN - 1) / ALIGN * ALIGN;
	device->stats.bytes_up += (int64_t)size;
	device->vk->CmdCopyBuffer(device->work.commands, device->sending.buffer, buffer->buffer, 1, &piece);
	cr_gpu_barrier(device, device->work.commands);
}

void cr_gpu_copy(carom_device *device, const cr_gpu_buffer *from, const cr_gpu_buffer *to, uint64_t size)
{
	if (device->failed != CAROM_SUCCESS || size == 0)
		return;
	const VkBufferCopy piece = { 0, 0, size };
	device->vk->CmdCopyBuffer(device->work.commands, from->buffer, to->buffer, 1, &piece);
	cr_gpu_barrier(device, device->work.commands);
}

const void *cr_gpu_read(carom_device *device, const cr_gpu_buffer *buffer, uint64_t at, uint32_t size)
{
	enum { ALIGN = 16 };
	if (device->failed != CAROM_SUCCESS)
		return NULL;
	const VkBufferCopy piece = { at, device->readback_used, size };
	const char *place = (const char *)device->readback.mapped + device->readback_used;
	device->readback_used += (size + ALIGN - 1) / ALIGN * ALIGN;
	device->stats.bytes_down += size;
	device->vk->CmdCopyBuffer(device->work.commands, buffer->buffer, device->readback.buffer, 1, &piece);
	cr_gpu_barrier(device, device->work.commands);
	return place;
}

/// Add the times of the kernels that have just run.
static carom_result add_times(carom_device *device)
{
	uint64_t stamps[CR_GPU_QUERIES];
	if (device->query_count == 0)
		return CAROM_SUCCESS;
	const VkResult result = device->vk->GetQueryPoolResults(device->device, device->queries, 0, device->query_count,
		sizeof stamps, stamps, sizeof *stamps, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkGetQueryPoolResults", result);
	const uint64_t mask = device->timestamp_bits < 64 ? ((uint64_t)1 << device->timestamp_bits) - 1 : UINT64_MAX;
	for (uint32_t q = 0; q < device->query_count; q += 2) {
		const uint64_t ticks = (stamps[q + 1] - stamps[q]) & mask;
		device->kernels[device->query_kernels[q / 2]].ms += (double)ticks * device->limits.timestampPeriod * 1e-6;
	}
	return CAROM_SUCCESS;
}

carom_result cr_gpu_submit(carom_device *device)
{
	return device->failed == CAROM_SUCCESS ? cr_gpu_submit_work(device, &device->work) : device->failed;
}

carom_result cr_gpu_complete(carom_device *device)
{
	const carom_result result = cr_gpu_settle(device, cr_gpu_wait(device, &device->work));
	return result == CAROM_SUCCESS ? add_times(device) : result;
}

carom_result cr_gpu_finish(carom_device *device)
{
	const carom_result result = cr_gpu_submit(device);
	return result == CAROM_SUCCESS ? cr_gpu_complete(device) : result;
}
