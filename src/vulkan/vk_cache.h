/// The file of compiled kernels: its place, reading and writing.
///
/// It holds a head of our own, with the number of bytes and a hash of them, and then the data of
/// the driver's pipeline cache, whose first words name the driver. So a file that was cut off or
/// changed never reaches the driver, which may not look.
#ifndef CR_VULKAN_VK_CACHE_H
#define CR_VULKAN_VK_CACHE_H

#include "vulkan/vk_device.h"

/// The data in the file of a device whose driver is known, in memory of the context that the caller
/// frees; *size: its bytes. NULL, with *size 0: there is no file, or it is of no use. Without a
/// path of the caller's the default place becomes the device's. CAROM_OUT_OF_MEMORY.
carom_result cr_gpu_load_cache(carom_device *device, void **data, size_t *size);
/// Write the file of compiled kernels, if there is to be one and it would be another one.
void cr_gpu_save_cache(carom_device *device);

#endif
