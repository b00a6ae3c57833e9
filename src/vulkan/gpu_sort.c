/// Prefix sums and sorting. See vulkan/gpu_sort.h, and shaders/scan.comp, sort_scatter.comp.
#include "vulkan/gpu_sort.h"
#include "vulkan/vk_kernels.h"

enum {
	SCAN_BLOCK = 1024, // as scan.comp has it
	SORT_ROWS = 16,    // as sort.glsl has it
	DIGIT_BITS = 8,
	DIGITS = 1 << DIGIT_BITS,
};

// Tables of counts begin so far behind the scratch memory of their sum.
enum { ALIGN = 256 };

static uint64_t blocks_of(uint64_t count) { return (count + SCAN_BLOCK - 1) / SCAN_BLOCK; }

uint64_t cr_gpu_scan_scratch(uint64_t count, bool wide)
{
	uint64_t totals = 0;
	for (uint64_t blocks = blocks_of(count);; blocks = blocks_of(blocks)) {
		totals += blocks;
		if (blocks <= 1)
			break;
	}
	return (totals * (wide ? 8 : 4) + ALIGN - 1) / ALIGN * ALIGN;
}

void cr_gpu_scan(
	carom_device *device, VkDeviceAddress items, VkDeviceAddress sums, uint32_t count, bool wide, VkDeviceAddress scratch)
{
	const uint32_t blocks = (uint32_t)blocks_of(count);
	const cr_kernel add = wide ? CR_KERNEL_SCAN_ADD_WIDE : CR_KERNEL_SCAN_ADD;
	VkDeviceAddress sums_of[4] = { sums }, totals = scratch;
	uint32_t counts[4] = { count };
	int level = 0;
	for (uint32_t n = count, b = blocks; n > 0; n = b, b = (uint32_t)blocks_of(n)) {
		const cr_kernel kernel = !wide ? CR_KERNEL_SCAN : level == 0 ? CR_KERNEL_SCAN_WIDEN : CR_KERNEL_SCAN_WIDE;
		const VkDeviceAddress from = level == 0 ? items : sums_of[level];
		const cr_gpu_arguments arguments = { { from, sums_of[level], totals }, { n } };
		cr_gpu_run(device, kernel, (uint64_t)b * CR_GPU_THREADS, CR_GPU_THREADS, &arguments);
		if (b == 1)
			break;
		level++;
		sums_of[level] = totals;
		counts[level] = b;
		totals += (uint64_t)b * (wide ? 8 : 4);
	}
	for (; level > 0; level--) {
		const cr_gpu_arguments arguments = { { sums_of[level - 1], sums_of[level] }, { counts[level - 1] } };
		cr_gpu_run(device, add, counts[level - 1], CR_GPU_THREADS, &arguments);
	}
}

/// Of the sort: items that one workgroup takes.
static uint64_t sort_blocks(const carom_device *device, uint64_t count)
{
	const uint64_t block = (uint64_t)cr_gpu_sort_threads(device) * SORT_ROWS;
	return (count + block - 1) / block;
}

uint64_t cr_gpu_sort_scratch(const carom_device *device, uint64_t count)
{
	const uint64_t table = sort_blocks(device, count) * DIGITS;
	return table * 4 + cr_gpu_scan_scratch(table, false);
}

int cr_gpu_sort(carom_device *device, const cr_gpu_sort_arrays *arrays, uint32_t count, int bits, bool wide)
{
	const uint32_t threads = cr_gpu_sort_threads(device), blocks = (uint32_t)sort_blocks(device, count);
	const uint64_t table = (uint64_t)blocks * DIGITS;
	int from = 0;
	for (uint32_t shift = 0; (int)shift < bits && count > 0; shift += DIGIT_BITS, from = 1 - from) {
		const int to = 1 - from;
		const cr_gpu_arguments counting = { { arrays->keys[from], arrays->scratch }, { count, shift, blocks } };
		cr_gpu_run(
			device, wide ? CR_KERNEL_SORT_COUNT_WIDE : CR_KERNEL_SORT_COUNT, (uint64_t)blocks * threads, threads, &counting);
		cr_gpu_scan(device, arrays->scratch, arrays->scratch, (uint32_t)table, false, arrays->scratch + table * 4);
		const cr_gpu_arguments moving = { { arrays->keys[from], arrays->values[from], arrays->keys[to], arrays->values[to],
											  arrays->scratch },
			{ count, shift, blocks } };
		cr_gpu_run(
			device, wide ? CR_KERNEL_SORT_SCATTER_WIDE : CR_KERNEL_SORT_SCATTER, (uint64_t)blocks * threads, threads, &moving);
	}
	return from;
}
