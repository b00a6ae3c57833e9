/// Buffers, and the staging ring. See vulkan/vk_memory.h.
#include "vulkan/vk_memory.h"
#include "base/parallel.h"
#include "vulkan/vk_commands.h"
#include <string.h>

// Memory that the processor reads fast: where the device's own memory is of this kind (integrated
// devices, drivers on the processor), there is nothing to copy.
static const VkMemoryPropertyFlags REACHABLE =
	VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

static int find_type(const carom_device *device, uint32_t allowed, VkMemoryPropertyFlags wanted)
{
	const VkPhysicalDeviceMemoryProperties *types = &device->memory_types;
	for (uint32_t i = 0; i < types->memoryTypeCount; i++) {
		if ((allowed >> i & 1) && (types->memoryTypes[i].propertyFlags & wanted) == wanted)
			return (int)i;
	}
	return -1;
}

/// The type of memory for a buffer; -1: there is none. *mapped: the processor is to reach it.
static int choose_type(const carom_device *device, uint32_t allowed, bool reached, bool *mapped)
{
	*mapped = true;
	if (reached) {
		const int cached = find_type(device, allowed, REACHABLE);
		return cached >= 0 ? cached : find_type(device, allowed, REACHABLE & ~VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
	}
	const int shared = find_type(device, allowed, REACHABLE | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
	if (shared >= 0 && !device->def.staging && !device->apart)
		return shared;
	*mapped = false;
	const int own = find_type(device, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
	return own >= 0 ? own : find_type(device, allowed, 0);
}

static carom_result allocate(carom_device *device, cr_gpu_buffer *buffer, bool reached)
{
	const cr_vk *vk = device->vk;
	VkMemoryRequirements needs;
	vk->GetBufferMemoryRequirements(device->device, buffer->buffer, &needs);
	bool mapped;
	const int type = choose_type(device, needs.memoryTypeBits, reached, &mapped);
	if (type < 0)
		return cr_fail(device->context, CAROM_UNSUPPORTED, "%s has no memory for buffers", device->info.name);
	const VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
	const VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.pNext = &flags,
		.allocationSize = needs.size,
		.memoryTypeIndex = (uint32_t)type };
	VkResult result = vk->AllocateMemory(device->device, &info, device->instance.memory, &buffer->memory);
	if (result != VK_SUCCESS) {
		buffer->memory = VK_NULL_HANDLE;
		return cr_gpu_fail(device, "vkAllocateMemory", result);
	}
	result = vk->BindBufferMemory(device->device, buffer->buffer, buffer->memory, 0);
	if (result != VK_SUCCESS)
		return cr_gpu_fail(device, "vkBindBufferMemory", result);
	if (mapped) {
		result = vk->MapMemory(device->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &buffer->mapped);
		if (result != VK_SUCCESS)
			return cr_gpu_fail(device, "vkMapMemory", result);
	}
	const VkBufferDeviceAddressInfo address = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
		.buffer = buffer->buffer };
	buffer->address = vk->GetBufferDeviceAddress(device->device, &address);
	return CAROM_SUCCESS;
}

void cr_gpu_free(carom_device *device, cr_gpu_buffer *buffer)
{
	if (buffer->buffer)
		device->vk->DestroyBuffer(device->device, buffer->buffer, device->instance.memory);
	if (buffer->memory)
		device->vk->FreeMemory(device->device, buffer->memory, device->instance.memory);
	device->stats.bytes -= (size_t)buffer->size;
	*buffer = (cr_gpu_buffer){ 0 };
}

static carom_result check_size(carom_device *device, uint64_t size)
{
	if (size > device->info.largest_buffer)
		return cr_fail(device->context, CAROM_UNSUPPORTED, "%s has buffers of at most %llu bytes, and %llu are needed",
			device->info.name, (unsigned long long)device->info.largest_buffer, (unsigned long long)size);
	const size_t budget = device->def.memory_budget;
	if (budget != 0 && (size > budget || device->stats.bytes > budget - size))
		return cr_fail(device->context, CAROM_OVER_BUDGET,
			"%s: %llu bytes are needed beside %zu, more than carom_device_def.memory_budget of %zu", device->info.name,
			(unsigned long long)size, device->stats.bytes, budget);
	return CAROM_SUCCESS;
}

/// reached: the processor is to reach it, wherever the memory is.
static carom_result make_buffer(carom_device *device, cr_gpu_buffer *buffer, uint64_t size, bool reached)
{
	carom_result result = check_size(device, size);
	if (result != CAROM_SUCCESS)
		return result;
	VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
		VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
	if (device->rays.query || device->rays.pipeline)
		usage |= VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR |
			VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR;
	if (device->rays.pipeline)
		usage |= VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR;
	const VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage };
	const VkResult created = device->vk->CreateBuffer(device->device, &info, device->instance.memory, &buffer->buffer);
	if (created != VK_SUCCESS) {
		*buffer = (cr_gpu_buffer){ 0 };
		return cr_gpu_fail(device, "vkCreateBuffer", created);
	}
	buffer->size = size;
	device->stats.bytes += (size_t)size;
	result = allocate(device, buffer, reached);
	if (result != CAROM_SUCCESS) {
		cr_gpu_free(device, buffer);
		return result;
	}
	if (device->stats.bytes > device->stats.bytes_peak)
		device->stats.bytes_peak = device->stats.bytes;
	return CAROM_SUCCESS;
}

static carom_result reserve(carom_device *device, cr_gpu_buffer *buffer, uint64_t size, bool reached)
{
	enum { GRANULE = 256 }; // every alignment that kernels ask for divides it
	if (size <= buffer->size)
		return CAROM_SUCCESS;
	const uint64_t want = (size + GRANULE - 1) / GRANULE * GRANULE;
	uint64_t more = (buffer->size + buffer->size / 2) / GRANULE * GRANULE;
	cr_gpu_free(device, buffer);
	const size_t budget = device->def.memory_budget;
	if (more > device->info.largest_buffer || (budget != 0 && more > budget - device->stats.bytes))
		more = 0;
	return make_buffer(device, buffer, more > want ? more : want, reached);
}

carom_result cr_gpu_reserve(carom_device *device, cr_gpu_buffer *buffer, uint64_t size)
{
	return reserve(device, buffer, size, false);
}

carom_result cr_gpu_reserve_shared(carom_device *device, cr_gpu_buffer *buffer, uint64_t size)
{
	return reserve(device, buffer, size, !device->def.staging);
}

carom_result cr_gpu_reserve_twin(carom_device *device, cr_gpu_twin *twin, uint64_t size)
{
	const carom_result result = cr_gpu_reserve(device, &twin->own, size);
	if (result != CAROM_SUCCESS || twin->own.mapped || device->def.staging)
		return result;
	return cr_gpu_reserve_shared(device, &twin->reached, size);
}

void cr_gpu_free_twin(carom_device *device, cr_gpu_twin *twin)
{
	cr_gpu_free(device, &twin->own);
	cr_gpu_free(device, &twin->reached);
}

carom_result cr_gpu_make_staging(carom_device *device, cr_gpu_buffer *buffer, uint64_t size)
{
	return buffer->buffer ? CAROM_SUCCESS : make_buffer(device, buffer, size, true);
}

// ---- Copies ----

typedef struct copy_task {
	char *to;
	const char *from;
} copy_task;

static void copy_range(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	(void)worker;
	const copy_task *task = task_pointer;
	memcpy(task->to + begin, task->from + begin, (size_t)(end - begin));
}

void cr_gpu_copy_bytes(const carom_device *device, void *to, const void *from, uint64_t size)
{
	enum { BYTES_A_TASK = 256 << 10 };
	copy_task task = { to, from };
	cr_parallel_for(device->context, copy_range, (int64_t)size, BYTES_A_TASK, &task);
}

/// The slot of the ring for the next piece, once the device is done with it.
static carom_result take_slot(carom_device *device, int slot)
{
	carom_result result = cr_gpu_make_staging(device, &device->staging[slot], CR_GPU_SLOT_SIZE);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_wait(device, &device->copies[slot]);
	return result;
}

static carom_result copy_piece(carom_device *device, int slot, const cr_gpu_buffer *from, uint64_t at, const cr_gpu_buffer *to,
	uint64_t start, uint64_t size)
{
	cr_gpu_work *work = &device->copies[slot];
	const carom_result result = cr_gpu_start_work(device, work);
	if (result != CAROM_SUCCESS)
		return result;
	const VkBufferCopy piece = { at, start, size };
	cr_gpu_barrier(device, work->commands);
	device->vk->CmdCopyBuffer(work->commands, from->buffer, to->buffer, 1, &piece);
	cr_gpu_barrier(device, work->commands);
	return cr_gpu_submit_work(device, work);
}

carom_result cr_gpu_upload(carom_device *device, const cr_gpu_buffer *buffer, const void *data, uint64_t size)
{
	return cr_gpu_upload_at(device, buffer, 0, data, size);
}

carom_result cr_gpu_upload_at(carom_device *device, const cr_gpu_buffer *buffer, uint64_t place, const void *data, uint64_t size)
{
	device->stats.bytes_up += (int64_t)size;
	if (buffer->mapped) {
		char *to = (char *)buffer->mapped + place;
		if (to != data)
			cr_gpu_copy_bytes(device, to, data, size);
		return CAROM_SUCCESS;
	}
	carom_result result = CAROM_SUCCESS;
	uint64_t at = 0;
	for (int slot = 0; result == CAROM_SUCCESS && at < size; slot = (slot + 1) % CR_GPU_SLOTS) {
		const uint64_t piece = size - at < CR_GPU_SLOT_SIZE ? size - at : CR_GPU_SLOT_SIZE;
		result = take_slot(device, slot);
		if (result != CAROM_SUCCESS)
			break;
		cr_gpu_copy_bytes(device, device->staging[slot].mapped, (const char *)data + at, piece);
		result = copy_piece(device, slot, &device->staging[slot], 0, buffer, place + at, piece);
		at += piece;
	}
	return result; // work that follows on the queue waits for the copies: each ends with a barrier
}

/// What the device has copied to a slot: to the caller.
static carom_result empty_slot(carom_device *device, int slot, char *data, uint64_t size)
{
	const carom_result result = cr_gpu_wait(device, &device->copies[slot]);
	if (result == CAROM_SUCCESS)
		cr_gpu_copy_bytes(device, data, device->staging[slot].mapped, size);
	return result;
}

carom_result cr_gpu_download(carom_device *device, const cr_gpu_buffer *buffer, void *data, uint64_t size)
{
	return cr_gpu_download_from(device, buffer, 0, data, size);
}

carom_result cr_gpu_download_from(carom_device *device, const cr_gpu_buffer *buffer, uint64_t place, void *data, uint64_t size)
{
	device->stats.bytes_down += (int64_t)size;
	if (buffer->mapped) {
		const char *from = (const char *)buffer->mapped + place;
		if (data != from)
			cr_gpu_copy_bytes(device, data, from, size);
		return CAROM_SUCCESS;
	}
	carom_result result = CAROM_SUCCESS;
	uint64_t begun = 0, done = 0;
	// One slot is filled while the one before is emptied.
	for (int slot = 0; result == CAROM_SUCCESS && done < size; slot = (slot + 1) % CR_GPU_SLOTS) {
		if (begun < size) {
			const uint64_t piece = size - begun < CR_GPU_SLOT_SIZE ? size - begun : CR_GPU_SLOT_SIZE;
			result = take_slot(device, slot);
			if (result == CAROM_SUCCESS)
				result = copy_piece(device, slot, buffer, place + begun, &device->staging[slot], 0, piece);
			begun += piece;
		}
		if (result == CAROM_SUCCESS && (begun == size || begun - done > CR_GPU_SLOT_SIZE)) {
			const int oldest = (int)(done / CR_GPU_SLOT_SIZE % CR_GPU_SLOTS);
			const uint64_t piece = size - done < CR_GPU_SLOT_SIZE ? size - done : CR_GPU_SLOT_SIZE;
			result = empty_slot(device, oldest, (char *)data + done, piece);
			done += piece;
		}
	}
	return result;
}

carom_result cr_gpu_take(carom_device *device, const cr_gpu_buffer *buffer, void *room, uint64_t size, const void **data)
{
	*data = buffer->mapped ? buffer->mapped : room;
	return cr_gpu_download(device, buffer, buffer->mapped ? buffer->mapped : room, size);
}

// ---- Twins ----

carom_result cr_gpu_send_twin(carom_device *device, const cr_gpu_twin *twin, const void *data, uint64_t size)
{
	return cr_gpu_upload(device, cr_gpu_reached(twin), data, size);
}

void cr_gpu_record_up(carom_device *device, const cr_gpu_twin *twin, uint64_t size)
{
	if (twin->reached.buffer)
		cr_gpu_copy(device, &twin->reached, &twin->own, size);
}

void cr_gpu_record_down(carom_device *device, const cr_gpu_twin *twin, uint64_t size)
{
	if (twin->reached.buffer)
		cr_gpu_copy(device, &twin->own, &twin->reached, size);
}

carom_result carom_device_read(carom_device *device, const carom_device_buffer *buffer, uint64_t at, uint64_t size, void *to)
{
	if (!device)
		return CAROM_INVALID_ARGUMENT;
	if (!buffer || (size > 0 && !to))
		return cr_fail(device->context, CAROM_INVALID_ARGUMENT, "carom_device_read: %s is NULL", buffer ? "to" : "buffer");
	if (at > buffer->size || size > buffer->size - at)
		return cr_fail(device->context, CAROM_INVALID_ARGUMENT,
			"carom_device_read: at %llu with a size of %llu is not within the buffer's %llu bytes", (unsigned long long)at,
			(unsigned long long)size, (unsigned long long)buffer->size);
	if (size == 0)
		return CAROM_SUCCESS;
	// Nobody knows where the processor reaches it: the ring copies.
	cr_gpu_buffer from = { .size = buffer->size };
	memcpy(&from.buffer, &buffer->buffer, sizeof from.buffer);
	cr_gpu_lock(device);
	return cr_gpu_unlock(device, cr_gpu_download_from(device, &from, at, to, size));
}
