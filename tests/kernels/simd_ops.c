/// Compiled once for each instruction set, as the kernels of the library are.

#include "simd_isa.h"
#include "math/simd.h"

static void compute(simd_op op, const float a[8], const float b[8], float r[8])
{
	const f8 x = f8_load(a), y = f8_load(b);
	switch (op) {
	case SIMD_ADD: f8_store(r, f8_add(x, y)); break;
	case SIMD_SUB: f8_store(r, f8_sub(x, y)); break;
	case SIMD_MUL: f8_store(r, f8_mul(x, y)); break;
	case SIMD_DIV: f8_store(r, f8_div(x, y)); break;
	case SIMD_MIN: f8_store(r, f8_min(x, y)); break;
	case SIMD_MAX: f8_store(r, f8_max(x, y)); break;
	case SIMD_ABS: f8_store(r, f8_abs(x)); break;
	case SIMD_NEG: f8_store(r, f8_neg(x)); break;
	case SIMD_SET1: f8_store(r, f8_set1(a[0])); break;
	case SIMD_SELECT: f8_store(r, f8_select(f8_lt(x, y), f8_neg(y), x)); break;
	case SIMD_SQRT: f8_store(r, f8_sqrt(x)); break;
	case SIMD_LOWEST: f8_store(r, f8_set1(f8_lowest(x))); break;
	case SIMD_HIGHEST: f8_store(r, f8_set1(f8_highest(x))); break;
	default: f8_store(r, x); break;
	}
}

static uint32_t compare(simd_test test, const float a[8], const float b[8])
{
	const f8 x = f8_load(a), y = f8_load(b);
	switch (test) {
	case SIMD_LT: return m8_bits(f8_lt(x, y));
	case SIMD_LE: return m8_bits(f8_le(x, y));
	case SIMD_EQ: return m8_bits(f8_eq(x, y));
	// The second comparison the other way round, so that the two masks differ.
	case SIMD_LT_AND_LE: return m8_bits(m8_and(f8_lt(x, y), f8_le(f8_abs(y), f8_abs(x))));
	default: return m8_bits(m8_or(f8_lt(x, y), f8_eq(x, y)));
	}
}

static void truncate_lanes(const float a[8], float r[8]) { f8_store(r, f8_truncate(f8_load(a))); }

static void gather(const uint8_t *base, const float index[8], float r[8])
{
	f8_store(r, f8_gather_bytes(base, f8_load(index)));
}

static void compute_whole(simd_whole_op op, const int32_t a[8], const int32_t b[8], int32_t r[8])
{
	const i8 x = i8_load(a), y = i8_load(b);
	switch (op) {
	case SIMD_WHOLE_ADD: i8_store(r, i8_add(x, y)); break;
	case SIMD_WHOLE_AND: i8_store(r, i8_and(x, y)); break;
	case SIMD_WHOLE_SHIFT: i8_store(r, i8_shift_left(x, 3)); break;
	case SIMD_WHOLE_SELECT: i8_store(r, i8_select(i8_lt(x, y), y, x)); break;
	case SIMD_WHOLE_SUB: i8_store(r, i8_sub(x, y)); break;
	case SIMD_WHOLE_MUL: i8_store(r, i8_mul(x, y)); break;
	case SIMD_WHOLE_XOR: i8_store(r, i8_xor(x, y)); break;
	case SIMD_WHOLE_MIN: i8_store(r, i8_min(x, y)); break;
	case SIMD_WHOLE_MAX: i8_store(r, i8_max(x, y)); break;
	case SIMD_WHOLE_SHIFT_RIGHT: i8_store(r, i8_shift_right(x, 5)); break;
	case SIMD_WHOLE_EQUAL: i8_store(r, i8_select(i8_eq(x, y), i8_set1(-1), i8_set1(0))); break;
	default: i8_store(r, i8_set1(a[0])); break;
	}
}

static uint32_t whole_less(const int32_t a[8], const int32_t b[8]) { return m8_bits(i8_lt(i8_load(a), i8_load(b))); }

static void gather_floats(const float *base, const int32_t index[8], float r[8])
{
	f8_store(r, f8_gather(base, i8_load(index)));
}

static void gather_whole(const int32_t *base, const int32_t index[8], int32_t r[8])
{
	i8_store(r, i8_gather(base, i8_load(index)));
}

static int compress(const int32_t a[8], const int32_t b[8], int32_t r[8])
{
	const i8 x = i8_load(a);
	const m8 less = i8_lt(x, i8_load(b));
	i8_store(r, i8_compress(less, x));
	return __builtin_popcount(m8_bits(less));
}

static void store_pairs(const int32_t a[8], const int32_t b[8], int32_t r[16]) { i8_store_pairs(r, i8_load(a), i8_load(b)); }

static void load_fours(const float a[32], float r[4][8])
{
	f8 column[4];
	f8_load_fours(a, column);
	for (int k = 0; k < 4; k++)
		f8_store(r[k], column[k]);
}

static void load_threes(const float *base, const int32_t index[8], float r[3][8])
{
	f8 column[3];
	f8_load_threes(base, index, column);
	for (int k = 0; k < 3; k++)
		f8_store(r[k], column[k]);
}

static void truncate_whole(const float a[8], int32_t r[8]) { i8_store(r, i8_truncate(f8_load(a))); }

static void compute_doubles(simd_op op, const double a[8], const double b[8], double r[8])
{
	const d8 x = d8_load(a), y = d8_load(b);
	switch (op) {
	case SIMD_ADD: d8_store(r, d8_add(x, y)); break;
	case SIMD_SUB: d8_store(r, d8_sub(x, y)); break;
	case SIMD_MUL: d8_store(r, d8_mul(x, y)); break;
	case SIMD_DIV: d8_store(r, d8_div(x, y)); break;
	case SIMD_MIN: d8_store(r, d8_min(x, y)); break;
	case SIMD_MAX: d8_store(r, d8_max(x, y)); break;
	case SIMD_ABS: d8_store(r, d8_abs(x)); break;
	case SIMD_SET1: d8_store(r, d8_set1(a[0])); break;
	default: d8_store(r, x); break;
	}
}

static uint32_t doubles_less(const double a[8], const double b[8]) { return d8_lt(d8_load(a), d8_load(b)); }

static void gather_doubles(const double *base, const int32_t index[8], double r[8])
{
	d8_store(r, d8_gather(base, i8_load(index)));
}

static void load_floats(const float a[8], double r[8]) { d8_store(r, d8_load_floats(a)); }

static void to_floats(const double a[8], float r[8]) { f8_store(r, d8_to_floats(d8_load(a))); }

static void select_bits(uint32_t lanes, const float a[8], const float b[8], float r[8])
{
	f8_store(r, f8_select(m8_from_bits(lanes), f8_load(a), f8_load(b)));
}

const simd_ops CR_ISA_NAME(simd_ops) = { compute, compare, truncate_lanes, gather, compute_whole, whole_less, gather_floats,
	gather_whole, compress, store_pairs, load_fours, load_threes, truncate_whole, compute_doubles, doubles_less, gather_doubles,
	load_floats, to_floats, select_bits };
