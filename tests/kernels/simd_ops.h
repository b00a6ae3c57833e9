/// The functions of math/simd.h behind pointers, one table for each instruction set.
#ifndef TESTS_SIMD_OPS_H
#define TESTS_SIMD_OPS_H

#include <stdint.h>

typedef enum simd_op {
	SIMD_ADD,
	SIMD_SUB,
	SIMD_MUL,
	SIMD_DIV,
	SIMD_MIN,
	SIMD_MAX,
	SIMD_ABS,
	SIMD_NEG,
	SIMD_SET1,
	SIMD_COPY,
	SIMD_SELECT,
	SIMD_SQRT,
	SIMD_LOWEST,
	SIMD_HIGHEST,
	SIMD_OPS
} simd_op;

typedef enum simd_test { SIMD_LT, SIMD_LE, SIMD_EQ, SIMD_LT_AND_LE, SIMD_LT_OR_EQ, SIMD_TESTS } simd_test;

typedef enum simd_whole_op {
	SIMD_WHOLE_ADD,
	SIMD_WHOLE_AND,
	SIMD_WHOLE_SHIFT,
	SIMD_WHOLE_SELECT,
	SIMD_WHOLE_SET1,
	SIMD_WHOLE_SUB,
	SIMD_WHOLE_MUL,
	SIMD_WHOLE_XOR,
	SIMD_WHOLE_MIN,
	SIMD_WHOLE_MAX,
	SIMD_WHOLE_SHIFT_RIGHT,
	SIMD_WHOLE_EQUAL, // -1 or 0
	SIMD_WHOLE_OPS
} simd_whole_op;

typedef struct simd_ops {
	void (*compute)(simd_op op, const float a[8], const float b[8], float r[8]);
	uint32_t (*compare)(simd_test test, const float a[8], const float b[8]);
	void (*truncate)(const float a[8], float r[8]);
	void (*gather)(const uint8_t *base, const float index[8], float r[8]);
	void (*compute_whole)(simd_whole_op op, const int32_t a[8], const int32_t b[8], int32_t r[8]);
	uint32_t (*whole_less)(const int32_t a[8], const int32_t b[8]);
	void (*gather_floats)(const float *base, const int32_t index[8], float r[8]);
	void (*gather_whole)(const int32_t *base, const int32_t index[8], int32_t r[8]);
	/// Lanes with a < b, packed; returns how many.
	int (*compress)(const int32_t a[8], const int32_t b[8], int32_t r[8]);
	void (*store_pairs)(const int32_t a[8], const int32_t b[8], int32_t r[16]);
	void (*load_fours)(const float a[32], float r[4][8]);
	void (*load_threes)(const float *base, const int32_t index[8], float r[3][8]);
	void (*truncate_whole)(const float a[8], int32_t r[8]);
	/// SIMD_ADD, SUB, MUL, DIV, MIN, MAX, ABS, SET1, COPY.
	void (*compute_doubles)(simd_op op, const double a[8], const double b[8], double r[8]);
	uint32_t (*doubles_less)(const double a[8], const double b[8]);
	void (*gather_doubles)(const double *base, const int32_t index[8], double r[8]);
	void (*load_floats)(const float a[8], double r[8]);
	void (*to_floats)(const double a[8], float r[8]);
	/// a in the lanes whose bits are set, else b.
	void (*select_bits)(uint32_t lanes, const float a[8], const float b[8], float r[8]);
} simd_ops;

extern const simd_ops simd_ops_scalar;
#ifdef SIMD_OPS_SSE2
extern const simd_ops simd_ops_sse2;
#endif
#ifdef SIMD_OPS_AVX2
extern const simd_ops simd_ops_avx2;
#endif
#ifdef SIMD_OPS_AVX512
extern const simd_ops simd_ops_avx512;
#endif
#ifdef SIMD_OPS_NEON
extern const simd_ops simd_ops_neon;
#endif

#endif
