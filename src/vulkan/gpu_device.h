/// What other folders ask of a device in a library built with or without Vulkan.
#ifndef CR_VULKAN_GPU_DEVICE_H
#define CR_VULKAN_GPU_DEVICE_H

#include "base/context.h"
#include "carom/vulkan.h"

/// The context that a device was made with.
const carom_context *cr_device_context(const carom_device *device);

#endif
