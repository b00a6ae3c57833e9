/// Prefix sums and sorting on a device. They are recorded between cr_gpu_begin and cr_gpu_finish.
#ifndef CR_VULKAN_GPU_SORT_H
#define CR_VULKAN_GPU_SORT_H

#include "vulkan/vk_commands.h"

/// Bytes of scratch memory that a sum over count items takes.
uint64_t cr_gpu_scan_scratch(uint64_t count);
/// sums[i] = items[0] + ... + items[i-1], for count items of 32 bits and sums of 64.
void cr_gpu_scan(carom_device *device, VkDeviceAddress items, VkDeviceAddress sums, uint32_t count, VkDeviceAddress scratch);

/// Keys and their values, twice: a sort moves them to and fro.
typedef struct cr_gpu_sort_arrays {
	VkDeviceAddress keys[2];   // [count] 32-bit, or wide ones
	VkDeviceAddress values[2]; // [count] 32-bit
	VkDeviceAddress scratch;   // of cr_gpu_sort_scratch bytes
} cr_gpu_sort_arrays;

uint64_t cr_gpu_sort_scratch(const carom_device *device, uint64_t count);
/// Sort by the lowest bits of the keys; equal ones keep their order. A radix sort by eight bits at
/// a time: one kernel that counts, then one for each digit, or two where there are many items.
/// Returns which of both arrays holds the result.
int cr_gpu_sort(carom_device *device, const cr_gpu_sort_arrays *arrays, uint32_t count, int bits, bool wide);

#endif
