/// Eight vectors side by side, and lists made of lanes. Included by kernel files only.
#ifndef CR_MATH_VEC8_H
#define CR_MATH_VEC8_H

#include "math/simd.h"

static inline f8 dot8(const f8 a[3], const f8 b[3])
{
	return f8_add(f8_add(f8_mul(a[0], b[0]), f8_mul(a[1], b[1])), f8_mul(a[2], b[2]));
}

static inline void sub8(const f8 a[3], const f8 b[3], f8 r[3])
{
	for (int k = 0; k < 3; k++)
		r[k] = f8_sub(a[k], b[k]);
}

static inline void cross8(const f8 a[3], const f8 b[3], f8 r[3])
{
	for (int k = 0; k < 3; k++) {
		const int l = (k + 1) % 3, m = (k + 2) % 3;
		r[k] = f8_sub(f8_mul(a[l], b[m]), f8_mul(a[m], b[l]));
	}
}

/// The whole numbers from first on.
static inline i8 i8_count_from(int32_t first)
{
	static const int32_t lanes[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	return i8_add(i8_set1(first), i8_load(lanes));
}

/// Write the lanes of a mask to the end of a list; room for eight. Returns how many.
static inline int32_t i8_append(int32_t *end, m8 mask, i8 values)
{
	i8_store(end, i8_compress(mask, values));
	return __builtin_popcount(m8_bits(mask));
}

#endif
