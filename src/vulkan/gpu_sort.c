/// Prefix sums and sorting. See vulkan/gpu_sort.h, and shaders/scan.comp, sort_scatter.comp.
#include "vulkan/gpu_sort.h"
#include "vulkan/vk_kernels.h"

enum {
	SCAN_BLOCK = 1024, // as scan.comp has it
	MOST_ROWS = 16,    // as sort.glsl has it, as well as POOL
	POOL = 3584,       // items of a workgroup
	LEAST_ROWS = 2,
	// With so many workgroups at most each sums the counts of those before it, which spares a
	// kernel. With more, sort_sum does. (Chosen without a card.)
	FEW_BLOCKS = 128,
	TABLES = 3,          // of counts: of this digit, of the next one, and one that is zeroed
	WANTED_BLOCKS = 128, // so many workgroups keep a card busy: with fewer items each takes less
	DIGIT_BITS = 8,
	DIGITS = 1 << DIGIT_BITS,
};

static uint64_t blocks_of(uint64_t count) { return (count + SCAN_BLOCK - 1) / SCAN_BLOCK; }

uint64_t cr_gpu_scan_scratch(uint64_t count)
{
	uint64_t totals = 0;
	for (uint64_t blocks = blocks_of(count);; blocks = blocks_of(blocks)) {
		totals += blocks;
		if (blocks <= 1)
			break;
	}
	return totals * sizeof(uint64_t);
}

void cr_gpu_scan(carom_device *device, VkDeviceAddress items, VkDeviceAddress sums, uint32_t count, VkDeviceAddress scratch)
{
	const uint32_t blocks = (uint32_t)blocks_of(count);
	VkDeviceAddress sums_of[4] = { sums }, totals = scratch;
	uint32_t counts[4] = { count };
	int level = 0;
	for (uint32_t n = count, b = blocks; n > 0; n = b, b = (uint32_t)blocks_of(n)) {
		const cr_kernel kernel = level == 0 ? CR_KERNEL_SCAN_WIDEN : CR_KERNEL_SCAN_WIDE;
		const VkDeviceAddress from = level == 0 ? items : sums_of[level];
		const cr_gpu_arguments arguments = { { from, sums_of[level], totals }, { n } };
		cr_gpu_run(device, kernel, (uint64_t)b * CR_GPU_THREADS, CR_GPU_THREADS, &arguments);
		if (b == 1)
			break;
		level++;
		sums_of[level] = totals;
		counts[level] = b;
		totals += (uint64_t)b * sizeof(uint64_t);
	}
	for (; level > 0; level--) {
		const cr_gpu_arguments arguments = { { sums_of[level - 1], sums_of[level] }, { counts[level - 1] } };
		cr_gpu_run(device, CR_KERNEL_SCAN_ADD_WIDE, counts[level - 1], CR_GPU_THREADS, &arguments);
	}
}

/// Of the sort: most items of each invocation.
static uint32_t most_rows(uint64_t threads)
{
	const uint32_t rows = POOL / (uint32_t)threads;
	return rows < MOST_ROWS ? rows : MOST_ROWS;
}

static uint32_t sort_rows(uint32_t threads, uint64_t count)
{
	const uint64_t rows = count / ((uint64_t)threads * WANTED_BLOCKS), most = most_rows(threads);
	return rows < LEAST_ROWS ? LEAST_ROWS : rows > most ? (uint32_t)most : (uint32_t)rows;
}

static uint64_t sort_blocks(uint64_t threads, uint64_t rows, uint64_t count)
{
	return (count + threads * rows - 1) / (threads * rows);
}

static uint64_t table_bytes(uint64_t blocks) { return blocks * DIGITS * sizeof(uint32_t); }

uint64_t cr_gpu_sort_scratch(const carom_device *device, uint64_t count)
{
	// With fewer items there may be more blocks (rows are rounded down), but not twice as many.
	const uint64_t threads = cr_gpu_sort_threads(device), most = sort_blocks(threads, LEAST_ROWS, count);
	const uint64_t few = most < 2 * WANTED_BLOCKS ? most : 2 * WANTED_BLOCKS;
	const uint64_t many = sort_blocks(threads, most_rows(threads), count);
	return TABLES * table_bytes(few > many ? few : many) + DIGITS * sizeof(uint32_t); // and totals
}

int cr_gpu_sort(carom_device *device, const cr_gpu_sort_arrays *arrays, uint32_t count, int bits, bool wide)
{
	enum { FEW = 1, NEXT = 2 }; // as sort_scatter.comp has them
	const uint32_t threads = cr_gpu_sort_threads(device), rows = sort_rows(threads, count);
	const uint32_t blocks = (uint32_t)sort_blocks(threads, rows, count);
	const uint64_t items = (uint64_t)blocks * threads;
	const bool few = blocks <= FEW_BLOCKS;
	VkDeviceAddress tables[TABLES];
	for (int t = 0; t < TABLES; t++)
		tables[t] = arrays->scratch + (uint64_t)t * table_bytes(blocks);
	const VkDeviceAddress totals = tables[TABLES - 1] + table_bytes(blocks);
	if (count == 0 || bits <= 0)
		return 0;
	const cr_gpu_arguments counting = { { arrays->keys[0], tables[0], tables[1] }, { count, 0, blocks, rows } };
	cr_gpu_run(device, wide ? CR_KERNEL_SORT_COUNT_WIDE : CR_KERNEL_SORT_COUNT, items, threads, &counting);
	int from = 0;
	for (int pass = 0; pass * DIGIT_BITS < bits; pass++, from = 1 - from) {
		const uint32_t flags = (few ? FEW : 0) | ((pass + 1) * DIGIT_BITS < bits ? NEXT : 0);
		const cr_gpu_arguments adding = { { tables[pass % TABLES], totals }, { blocks } };
		if (!few)
			cr_gpu_run(device, CR_KERNEL_SORT_SUM, (uint64_t)DIGITS * device->info.subgroup_size, CR_GPU_THREADS, &adding);
		const int to = 1 - from;
		const cr_gpu_arguments moving = { { arrays->keys[from], arrays->values[from], arrays->keys[to], arrays->values[to],
											  tables[pass % TABLES], totals, tables[(pass + 1) % TABLES],
											  tables[(pass + 2) % TABLES] },
			{ count, (uint32_t)(pass * DIGIT_BITS), blocks, rows, flags } };
		cr_gpu_run(device, wide ? CR_KERNEL_SORT_SCATTER_WIDE : CR_KERNEL_SORT_SCATTER, items, threads, &moving);
	}
	return from;
}
