/// Order along the Morton curve: 64-bit codes of 21 bits an axis, and a parallel sort by them.
#ifndef CR_TREE_MORTON_H
#define CR_TREE_MORTON_H

#include "base/radix.h"

enum { CR_MORTON_AXIS_BITS = 21, CR_MORTON_BITS = 3 * CR_MORTON_AXIS_BITS };

/// The cube that the curve fills: cells of equal width on all axes, so that neighbours on the curve
/// are near in every direction.
typedef struct cr_morton_frame {
	double lower[3];
	double scale; // cells per unit of length; 0: the box is a point
} cr_morton_frame;

/// The frame of a box; lower[k] <= upper[k].
cr_morton_frame cr_make_morton_frame(const float lower[3], const float upper[3]);

/// 21 bits, two zeros between neighbours.
static inline uint64_t cr_spread_bits(uint64_t v)
{
	v = (v | v << 32) & 0x001f00000000ffffu;
	v = (v | v << 16) & 0x001f0000ff0000ffu;
	v = (v | v << 8) & 0x100f00f00f00f00fu;
	v = (v | v << 4) & 0x10c30c30c30c30c3u;
	return (v | v << 2) & 0x1249249249249249u;
}

static inline uint64_t cr_morton_cell(const cr_morton_frame *frame, int axis, double at)
{
	const double cell = (at - frame->lower[axis]) * frame->scale;
	const double last = (1 << CR_MORTON_AXIS_BITS) - 1;
	return (uint64_t)(int64_t)(cell < 0 ? 0 : cell > last ? last : cell);
}

/// The code of a point; points outside of the cube get that of the cell nearest to them on each
/// axis.
static inline uint64_t cr_morton_code(const cr_morton_frame *frame, double x, double y, double z)
{
	return cr_spread_bits(cr_morton_cell(frame, 0, x)) | cr_spread_bits(cr_morton_cell(frame, 1, y)) << 1 |
		cr_spread_bits(cr_morton_cell(frame, 2, z)) << 2;
}

/// Sort keys[count] by the lowest bits of their key (at most 64), stable, in parallel: by their
/// upper bits into many heaps, and each heap by itself. scratch has the same size. The result does
/// not depend on the number of threads.
carom_result cr_sort_keys(carom_context *context, cr_key *keys, cr_key *scratch, int64_t count, int bits);

/// Where the upper half of keys[begin..end-1], sorted and at least two, begins: at the highest bit
/// in which they differ, or in the middle of equal ones.
static inline uint32_t cr_morton_split(const cr_key *keys, uint32_t begin, uint32_t end)
{
	const uint64_t differ = keys[begin].key ^ keys[end - 1].key;
	if (differ == 0)
		return begin + (end - begin) / 2;
	const uint64_t bit = (uint64_t)1 << (63 - __builtin_clzll(differ));
	uint32_t first = begin, count = end - begin;
	while (count > 1) { // the first set bit is in first .. first + count - 1
		const uint32_t half = count / 2;
		first = keys[first + half - 1].key & bit ? first : first + half;
		count -= half;
	}
	return first;
}

#endif
