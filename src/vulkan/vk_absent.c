/// carom/vulkan.h in a library that was built without Vulkan: there are no devices.
#include "carom/grains.h"
#include "vulkan/gpu_device.h"

// As in vk_device.c: a definition is checked wherever it is given.
enum { DEVICE_COOKIE = 0x43645631, GRAINS_COOKIE = 0x43677231 };

carom_device_def carom_default_device_def(void) { return (carom_device_def){ .cookie = DEVICE_COOKIE }; }

const char *carom_device_kind_name(carom_device_kind kind)
{
	(void)kind;
	return "unknown";
}

const char *carom_device_tier_name(carom_device_tier tier)
{
	(void)tier;
	return "unknown";
}

carom_result carom_list_devices(carom_context *context, carom_device_info *infos, int32_t capacity, int32_t *count)
{
	(void)infos;
	(void)capacity;
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!count)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_list_devices: count is NULL");
	*count = 0;
	return CAROM_SUCCESS;
}

carom_result carom_create_device(carom_context *context, const carom_device_def *def, carom_device **device)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!device)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_device: device is NULL");
	*device = NULL;
	if (def && def->cookie != DEVICE_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_device_def.cookie: start from carom_default_device_def");
	return cr_fail(context, CAROM_UNSUPPORTED, "this library was built without Vulkan (CAROM_VULKAN=OFF): it has no devices");
}

const carom_context *cr_device_context(const carom_device *device)
{
	(void)device;
	return NULL;
}

void carom_destroy_device(carom_device *device) { (void)device; }

carom_device_info carom_device_get_info(const carom_device *device)
{
	(void)device;
	return (carom_device_info){ .lacks = "this library was built without Vulkan" };
}

carom_device_stats carom_device_get_stats(const carom_device *device)
{
	(void)device;
	return (carom_device_stats){ 0 };
}

int32_t carom_device_get_kernels(const carom_device *device, carom_kernel_time *times, int32_t capacity)
{
	(void)device;
	(void)times;
	(void)capacity;
	return 0;
}

carom_result carom_device_read(carom_device *device, const carom_device_buffer *buffer, uint64_t at, uint64_t size, void *to)
{
	(void)device;
	(void)buffer;
	(void)at;
	(void)size;
	(void)to;
	return CAROM_INVALID_ARGUMENT; // nobody has a device
}

// ---- carom/grains.h: there are none, so but for the first two nothing can be called ----

carom_grains_def carom_default_grains_def(void) { return (carom_grains_def){ .cookie = GRAINS_COOKIE }; }

carom_result carom_create_grains(carom_context *context, const carom_grains_def *def, carom_grains **grains)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!def || !grains)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_grains: %s is NULL", !def ? "def" : "grains");
	*grains = NULL;
	return cr_fail(context, CAROM_UNSUPPORTED, "this library was built without Vulkan (CAROM_VULKAN=OFF): it has no devices");
}

void carom_destroy_grains(carom_grains *grains) { (void)grains; }

carom_result carom_grains_set_state(carom_grains *grains, const carom_grains_state *state)
{
	(void)grains;
	(void)state;
	return CAROM_UNSUPPORTED;
}

carom_result carom_grains_count_springs(carom_grains *grains, int64_t *count)
{
	(void)grains;
	*count = 0;
	return CAROM_UNSUPPORTED;
}

carom_result carom_grains_get_state(carom_grains *grains, carom_grains_state *state)
{
	(void)grains;
	(void)state;
	return CAROM_UNSUPPORTED;
}

carom_result carom_grains_advance(
	carom_grains *grains, int32_t count, const carom_grains_moment *moments, carom_grains_step *steps, int32_t *done)
{
	(void)grains;
	(void)count;
	(void)moments;
	(void)steps;
	(void)done;
	return CAROM_UNSUPPORTED;
}

carom_grains_stats carom_grains_get_stats(const carom_grains *grains)
{
	(void)grains;
	return (carom_grains_stats){ 0 };
}

carom_result carom_grains_get_buffers(carom_grains *grains, carom_grains_buffers *buffers)
{
	(void)grains;
	(void)buffers;
	return CAROM_UNSUPPORTED;
}

void carom_grains_set_moved(carom_grains *grains) { (void)grains; }
