/// A pass along the sorted boxes, eight at a time. See lab/sweep_line.h.
#include "lab/line_isa.h"

static void pass(const cr_sweep_kernels *kernels, cr_sweep_walk *walk, const cr_sweep_line *line, int32_t begin, int32_t end)
{
	const float *bounds = line->bounds.data;
	const int64_t stride = line->stride;
	cr_sweep_pair pairs[CR_LINE_PAIRS + 8];
	int32_t count = 0;
	for (int32_t i = begin; i < end; i++) {
		const f8 last = f8_set1(bounds[stride + i]);
		const f8 low[2] = { f8_set1(bounds[2 * stride + i]), f8_set1(bounds[4 * stride + i]) };
		const f8 high[2] = { f8_set1(bounds[3 * stride + i]), f8_set1(bounds[5 * stride + i]) };
		const int32_t node = line->nodes.data[i];
		uint32_t along = 0xff;
		for (int32_t k = i + 1; k < line->count && along == 0xff; k += 8) {
			along = m8_bits(f8_le(f8_load(bounds + k), last));
			uint32_t meet = along & m8_bits(f8_le(f8_load(bounds + 2 * stride + k), high[0])) &
				m8_bits(f8_le(low[0], f8_load(bounds + 3 * stride + k))) &
				m8_bits(f8_le(f8_load(bounds + 4 * stride + k), high[1])) &
				m8_bits(f8_le(low[1], f8_load(bounds + 5 * stride + k)));
			walk->tests += __builtin_popcount(along);
			while (meet) {
				const int32_t other = line->nodes.data[k + cr_take_lowest_bit(&meet)];
				pairs[count++] = (cr_sweep_pair){ node < other ? node : other, node < other ? other : node };
			}
			if (count >= CR_LINE_PAIRS) {
				kernels->meet(walk, pairs, count);
				count = 0;
			}
		}
	}
	kernels->meet(walk, pairs, count);
}

const cr_line_kernels CR_ISA_NAME(cr_line_kernels) = { .pass = pass };
