/// The questions of other folders to a device in a library built with or without Vulkan.
#ifndef CR_VULKAN_GPU_DEVICE_H
#define CR_VULKAN_GPU_DEVICE_H

#include "base/context.h"
#include "carom/vulkan.h"

/// The context that a device was made with.
const carom_context *cr_device_context(const carom_device *device);

/// Refuses a device of another context than that of its user: failures of the device are told to
/// its context. field: "carom_spheres_def.device".
static inline carom_result cr_check_device_context(carom_context *context, const carom_device *device, const char *field)
{
	if (cr_context_root(cr_device_context(device)) == cr_context_root(context))
		return CAROM_SUCCESS;
	return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s is of another context", field);
}

#endif
