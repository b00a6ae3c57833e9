/// carom/vulkan.h in a library that was built without Vulkan: there are no devices.
#include "vulkan/gpu_device.h"

// As in vk_device.c: a definition is checked wherever it is given.
enum { DEVICE_COOKIE = 0x43645631 };

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
