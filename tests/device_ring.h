/// The staging ring of a device, for tests of memory budgets. Only for tests of libraries with Vulkan.
#ifndef TESTS_DEVICE_RING_H
#define TESTS_DEVICE_RING_H

#include "device_fixture.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_memory.h"

/// Bytes of the ring that copies of at most 4 MiB take of a device's budget; 0 where the processor reaches its memory.
static inline size_t fixture_ring_size(carom_context *context)
{
	carom_device *device = fixture_device(context, NULL);
	cr_gpu_buffer buffer = { 0 };
	cr_gpu_lock(device);
	REQUIRE(cr_gpu_reserve(device, &buffer, 4) == CAROM_SUCCESS);
	const size_t size = buffer.mapped ? 0 : CR_GPU_SLOT_SIZE;
	cr_gpu_free(device, &buffer);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
	carom_destroy_device(device);
	return size;
}

#endif
