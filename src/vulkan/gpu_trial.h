/// Does a device round doubles as the processor does?
#ifndef CR_VULKAN_GPU_TRIAL_H
#define CR_VULKAN_GPU_TRIAL_H

#include "vulkan/vk_device.h"

/// Compare sums, differences, products, quotients and roots of 1,024 pairs of operands with those
/// of the processor. Vulkan does not promise that quotients and roots are rounded correctly.
/// *exact: all are the same bits. Needs a device with doubles, locked.
carom_result cr_gpu_try_arithmetic(carom_device *device, bool *exact);

#endif
