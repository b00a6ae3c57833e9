/// Kernels as pipelines, made at their first use.
#ifndef CR_VULKAN_VK_KERNELS_H
#define CR_VULKAN_VK_KERNELS_H

#include "vulkan/vk_device.h"

carom_result cr_gpu_open_kernels(carom_device *device);
void cr_gpu_close_kernels(carom_device *device);
/// Make the pipeline of a kernel, with so many invocations in a workgroup, unless it is there.
carom_result cr_gpu_make_pipeline(carom_device *device, cr_kernel kernel, uint32_t threads);
/// The words of a kernel's code, and their size in bytes.
const uint32_t *cr_kernel_code(cr_kernel kernel, size_t *size);

/// "sort_count". Static text.
const char *cr_kernel_name(cr_kernel kernel);

/// Invocations in a workgroup of kernels that do not work by subgroups.
enum { CR_GPU_THREADS = 128 };
/// Invocations in a workgroup of the sort: eight subgroups, or as many as the device allows.
uint32_t cr_gpu_sort_threads(const carom_device *device);

#endif
