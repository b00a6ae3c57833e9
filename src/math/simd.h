/// Eight floats, or eight whole numbers, side by side: the only place with intrinsics.
///
/// A kernel file is compiled once for each instruction set with -DCR_ISA=scalar|sse2|avx2|avx512|neon and sees the same names;
/// the scalar form is the definition. No form fuses, reorders or estimates, so all give the same bits: min and max are
/// `a < b ? a : b` and `a > b ? a : b` (what SSE does, NaN and signed zeros included), comparisons with NaN are false.
#ifndef CR_MATH_SIMD_H
#define CR_MATH_SIMD_H

#include <math.h>
#include <stdint.h>

#define CR_ISA_ID_scalar 1
#define CR_ISA_ID_sse2 2
#define CR_ISA_ID_avx2 3
#define CR_ISA_ID_avx512 4
#define CR_ISA_ID_neon 5
#define CR_SIMD_PASTE2(a, b) a##b
#define CR_SIMD_PASTE(a, b) CR_SIMD_PASTE2(a, b)
#ifndef CR_ISA
#define CR_ISA scalar
#endif
#define CR_ISA_ID CR_SIMD_PASTE(CR_ISA_ID_, CR_ISA)
/// cr_cast -> cr_cast_avx2: the name of a kernel for the instruction set being compiled.
#define CR_ISA_NAME(name) CR_SIMD_PASTE(CR_SIMD_PASTE(name, _), CR_ISA)

#if CR_ISA_ID == CR_ISA_ID_avx2 || CR_ISA_ID == CR_ISA_ID_avx512
#include <immintrin.h>

typedef __m256 f8;

static inline f8 f8_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void f8_store(float *p, f8 a) { _mm256_storeu_ps(p, a); }
static inline f8 f8_set1(float a) { return _mm256_set1_ps(a); }
static inline f8 f8_add(f8 a, f8 b) { return _mm256_add_ps(a, b); }
static inline f8 f8_sub(f8 a, f8 b) { return _mm256_sub_ps(a, b); }
static inline f8 f8_mul(f8 a, f8 b) { return _mm256_mul_ps(a, b); }
static inline f8 f8_div(f8 a, f8 b) { return _mm256_div_ps(a, b); }
static inline f8 f8_min(f8 a, f8 b) { return _mm256_min_ps(a, b); }
static inline f8 f8_max(f8 a, f8 b) { return _mm256_max_ps(a, b); }
static inline f8 f8_abs(f8 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
static inline f8 f8_neg(f8 a) { return _mm256_xor_ps(_mm256_set1_ps(-0.0f), a); }
/// Towards zero, to a whole number below 2^24 in magnitude.
static inline f8 f8_truncate(f8 a) { return _mm256_cvtepi32_ps(_mm256_cvttps_epi32(a)); }
/// Bytes base[index], index a whole number >= 0; reads up to three bytes beyond each.
static inline f8 f8_gather_bytes(const uint8_t *base, f8 index)
{
	const __m256i words = _mm256_i32gather_epi32((const int *)(const void *)base, _mm256_cvttps_epi32(index), 1);
	return _mm256_cvtepi32_ps(_mm256_and_si256(words, _mm256_set1_epi32(0xff)));
}

/// Eight whole numbers of 32 bits; sums and shifts keep the low bits.
typedef __m256i i8;
static inline i8 i8_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
static inline void i8_store(int32_t *p, i8 a) { _mm256_storeu_si256((__m256i *)(void *)p, a); }
static inline i8 i8_set1(int32_t a) { return _mm256_set1_epi32(a); }
static inline i8 i8_add(i8 a, i8 b) { return _mm256_add_epi32(a, b); }
static inline i8 i8_and(i8 a, i8 b) { return _mm256_and_si256(a, b); }
/// a * 2^bits, bits a constant.
#define i8_shift_left(a, bits) _mm256_slli_epi32(a, bits)
/// Numbers base[index]; an index may be anything from 0 to INT32_MAX.
static inline f8 f8_gather(const float *base, i8 index) { return _mm256_i32gather_ps(base, index, 4); }
static inline i8 i8_gather(const int32_t *base, i8 index) { return _mm256_i32gather_epi32((const int *)base, index, 4); }
static inline f8 f8_sqrt(f8 a) { return _mm256_sqrt_ps(a); }

#if CR_ISA_ID == CR_ISA_ID_avx512
typedef __mmask8 m8;
static inline m8 f8_lt(f8 a, f8 b) { return _mm256_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline m8 f8_le(f8 a, f8 b) { return _mm256_cmp_ps_mask(a, b, _CMP_LE_OQ); }
static inline m8 f8_eq(f8 a, f8 b) { return _mm256_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline m8 m8_and(m8 a, m8 b) { return (m8)(a & b); }
static inline m8 m8_or(m8 a, m8 b) { return (m8)(a | b); }
static inline uint32_t m8_bits(m8 a) { return a; }
/// Lane by lane: m ? a : b.
static inline f8 f8_select(m8 m, f8 a, f8 b) { return _mm256_mask_blend_ps(m, b, a); }
static inline i8 i8_select(m8 m, i8 a, i8 b) { return _mm256_mask_blend_epi32(m, b, a); }
static inline m8 i8_lt(i8 a, i8 b) { return _mm256_cmplt_epi32_mask(a, b); }
#else
typedef __m256 m8;
static inline m8 f8_lt(f8 a, f8 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline m8 f8_le(f8 a, f8 b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
static inline m8 f8_eq(f8 a, f8 b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline m8 m8_and(m8 a, m8 b) { return _mm256_and_ps(a, b); }
static inline m8 m8_or(m8 a, m8 b) { return _mm256_or_ps(a, b); }
static inline uint32_t m8_bits(m8 a) { return (uint32_t)_mm256_movemask_ps(a); }
static inline f8 f8_select(m8 m, f8 a, f8 b) { return _mm256_blendv_ps(b, a, m); }
static inline i8 i8_select(m8 m, i8 a, i8 b) { return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m)); }
static inline m8 i8_lt(i8 a, i8 b) { return _mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a)); }
#endif

#elif CR_ISA_ID == CR_ISA_ID_sse2
#include <emmintrin.h>

typedef struct f8 {
	__m128 l, h;
} f8;
typedef f8 m8;

static inline f8 f8_load(const float *p) { return (f8){ _mm_loadu_ps(p), _mm_loadu_ps(p + 4) }; }
static inline void f8_store(float *p, f8 a)
{
	_mm_storeu_ps(p, a.l);
	_mm_storeu_ps(p + 4, a.h);
}
static inline f8 f8_set1(float a) { return (f8){ _mm_set1_ps(a), _mm_set1_ps(a) }; }
static inline f8 f8_add(f8 a, f8 b) { return (f8){ _mm_add_ps(a.l, b.l), _mm_add_ps(a.h, b.h) }; }
static inline f8 f8_sub(f8 a, f8 b) { return (f8){ _mm_sub_ps(a.l, b.l), _mm_sub_ps(a.h, b.h) }; }
static inline f8 f8_mul(f8 a, f8 b) { return (f8){ _mm_mul_ps(a.l, b.l), _mm_mul_ps(a.h, b.h) }; }
static inline f8 f8_div(f8 a, f8 b) { return (f8){ _mm_div_ps(a.l, b.l), _mm_div_ps(a.h, b.h) }; }
static inline f8 f8_min(f8 a, f8 b) { return (f8){ _mm_min_ps(a.l, b.l), _mm_min_ps(a.h, b.h) }; }
static inline f8 f8_max(f8 a, f8 b) { return (f8){ _mm_max_ps(a.l, b.l), _mm_max_ps(a.h, b.h) }; }
static inline f8 f8_abs(f8 a)
{
	const __m128 sign = _mm_set1_ps(-0.0f);
	return (f8){ _mm_andnot_ps(sign, a.l), _mm_andnot_ps(sign, a.h) };
}
static inline f8 f8_neg(f8 a)
{
	const __m128 sign = _mm_set1_ps(-0.0f);
	return (f8){ _mm_xor_ps(sign, a.l), _mm_xor_ps(sign, a.h) };
}
static inline f8 f8_truncate(f8 a)
{
	return (f8){ _mm_cvtepi32_ps(_mm_cvttps_epi32(a.l)), _mm_cvtepi32_ps(_mm_cvttps_epi32(a.h)) };
}
static inline m8 f8_lt(f8 a, f8 b) { return (m8){ _mm_cmplt_ps(a.l, b.l), _mm_cmplt_ps(a.h, b.h) }; }
static inline m8 f8_le(f8 a, f8 b) { return (m8){ _mm_cmple_ps(a.l, b.l), _mm_cmple_ps(a.h, b.h) }; }
static inline m8 f8_eq(f8 a, f8 b) { return (m8){ _mm_cmpeq_ps(a.l, b.l), _mm_cmpeq_ps(a.h, b.h) }; }
static inline m8 m8_and(m8 a, m8 b) { return (m8){ _mm_and_ps(a.l, b.l), _mm_and_ps(a.h, b.h) }; }
static inline m8 m8_or(m8 a, m8 b) { return (m8){ _mm_or_ps(a.l, b.l), _mm_or_ps(a.h, b.h) }; }
static inline uint32_t m8_bits(m8 a) { return (uint32_t)_mm_movemask_ps(a.l) | (uint32_t)_mm_movemask_ps(a.h) << 4; }
static inline f8 f8_select(m8 m, f8 a, f8 b)
{
	return (f8){ _mm_or_ps(_mm_and_ps(m.l, a.l), _mm_andnot_ps(m.l, b.l)),
		_mm_or_ps(_mm_and_ps(m.h, a.h), _mm_andnot_ps(m.h, b.h)) };
}
static inline f8 f8_sqrt(f8 a) { return (f8){ _mm_sqrt_ps(a.l), _mm_sqrt_ps(a.h) }; }

typedef struct i8 {
	__m128i l, h;
} i8;

static inline i8 i8_load(const int32_t *p)
{
	return (i8){ _mm_loadu_si128((const __m128i *)(const void *)p), _mm_loadu_si128((const __m128i *)(const void *)(p + 4)) };
}
static inline void i8_store(int32_t *p, i8 a)
{
	_mm_storeu_si128((__m128i *)(void *)p, a.l);
	_mm_storeu_si128((__m128i *)(void *)(p + 4), a.h);
}
static inline i8 i8_set1(int32_t a) { return (i8){ _mm_set1_epi32(a), _mm_set1_epi32(a) }; }
static inline i8 i8_add(i8 a, i8 b) { return (i8){ _mm_add_epi32(a.l, b.l), _mm_add_epi32(a.h, b.h) }; }
static inline i8 i8_and(i8 a, i8 b) { return (i8){ _mm_and_si128(a.l, b.l), _mm_and_si128(a.h, b.h) }; }
static inline i8 i8_shift_left(i8 a, int bits) { return (i8){ _mm_slli_epi32(a.l, bits), _mm_slli_epi32(a.h, bits) }; }
static inline i8 i8_select(m8 m, i8 a, i8 b)
{
	const __m128i l = _mm_castps_si128(m.l), h = _mm_castps_si128(m.h);
	return (i8){ _mm_or_si128(_mm_and_si128(l, a.l), _mm_andnot_si128(l, b.l)),
		_mm_or_si128(_mm_and_si128(h, a.h), _mm_andnot_si128(h, b.h)) };
}
static inline m8 i8_lt(i8 a, i8 b)
{
	return (m8){ _mm_castsi128_ps(_mm_cmplt_epi32(a.l, b.l)), _mm_castsi128_ps(_mm_cmplt_epi32(a.h, b.h)) };
}

#elif CR_ISA_ID == CR_ISA_ID_neon
#include <arm_neon.h>

typedef struct f8 {
	float32x4_t l, h;
} f8;
typedef struct m8 {
	uint32x4_t l, h;
} m8;

static inline f8 f8_load(const float *p) { return (f8){ vld1q_f32(p), vld1q_f32(p + 4) }; }
static inline void f8_store(float *p, f8 a)
{
	vst1q_f32(p, a.l);
	vst1q_f32(p + 4, a.h);
}
static inline f8 f8_set1(float a) { return (f8){ vdupq_n_f32(a), vdupq_n_f32(a) }; }
static inline f8 f8_add(f8 a, f8 b) { return (f8){ vaddq_f32(a.l, b.l), vaddq_f32(a.h, b.h) }; }
static inline f8 f8_sub(f8 a, f8 b) { return (f8){ vsubq_f32(a.l, b.l), vsubq_f32(a.h, b.h) }; }
static inline f8 f8_mul(f8 a, f8 b) { return (f8){ vmulq_f32(a.l, b.l), vmulq_f32(a.h, b.h) }; }
static inline f8 f8_div(f8 a, f8 b) { return (f8){ vdivq_f32(a.l, b.l), vdivq_f32(a.h, b.h) }; }
static inline m8 f8_lt(f8 a, f8 b) { return (m8){ vcltq_f32(a.l, b.l), vcltq_f32(a.h, b.h) }; }
static inline m8 f8_le(f8 a, f8 b) { return (m8){ vcleq_f32(a.l, b.l), vcleq_f32(a.h, b.h) }; }
static inline m8 f8_eq(f8 a, f8 b) { return (m8){ vceqq_f32(a.l, b.l), vceqq_f32(a.h, b.h) }; }
// vminq differs from SSE for NaN and signed zeros, so compare and select.
static inline f8 f8_min(f8 a, f8 b)
{
	const m8 m = f8_lt(a, b);
	return (f8){ vbslq_f32(m.l, a.l, b.l), vbslq_f32(m.h, a.h, b.h) };
}
static inline f8 f8_max(f8 a, f8 b)
{
	const m8 m = f8_lt(b, a);
	return (f8){ vbslq_f32(m.l, a.l, b.l), vbslq_f32(m.h, a.h, b.h) };
}
static inline f8 f8_abs(f8 a) { return (f8){ vabsq_f32(a.l), vabsq_f32(a.h) }; }
static inline f8 f8_neg(f8 a) { return (f8){ vnegq_f32(a.l), vnegq_f32(a.h) }; }
static inline f8 f8_truncate(f8 a) { return (f8){ vcvtq_f32_s32(vcvtq_s32_f32(a.l)), vcvtq_f32_s32(vcvtq_s32_f32(a.h)) }; }
static inline m8 m8_and(m8 a, m8 b) { return (m8){ vandq_u32(a.l, b.l), vandq_u32(a.h, b.h) }; }
static inline m8 m8_or(m8 a, m8 b) { return (m8){ vorrq_u32(a.l, b.l), vorrq_u32(a.h, b.h) }; }
static inline uint32_t m8_bits(m8 a)
{
	static const uint32_t bit[4] = { 1, 2, 4, 8 };
	const uint32x4_t bits = vld1q_u32(bit);
	return vaddvq_u32(vandq_u32(a.l, bits)) | vaddvq_u32(vandq_u32(a.h, bits)) << 4;
}
static inline f8 f8_select(m8 m, f8 a, f8 b) { return (f8){ vbslq_f32(m.l, a.l, b.l), vbslq_f32(m.h, a.h, b.h) }; }
static inline f8 f8_sqrt(f8 a) { return (f8){ vsqrtq_f32(a.l), vsqrtq_f32(a.h) }; }

typedef struct i8 {
	int32x4_t l, h;
} i8;

static inline i8 i8_load(const int32_t *p) { return (i8){ vld1q_s32(p), vld1q_s32(p + 4) }; }
static inline void i8_store(int32_t *p, i8 a)
{
	vst1q_s32(p, a.l);
	vst1q_s32(p + 4, a.h);
}
static inline i8 i8_set1(int32_t a) { return (i8){ vdupq_n_s32(a), vdupq_n_s32(a) }; }
static inline i8 i8_add(i8 a, i8 b) { return (i8){ vaddq_s32(a.l, b.l), vaddq_s32(a.h, b.h) }; }
static inline i8 i8_and(i8 a, i8 b) { return (i8){ vandq_s32(a.l, b.l), vandq_s32(a.h, b.h) }; }
static inline i8 i8_shift_left(i8 a, int bits)
{
	const int32x4_t by = vdupq_n_s32(bits);
	return (i8){ vshlq_s32(a.l, by), vshlq_s32(a.h, by) };
}
static inline i8 i8_select(m8 m, i8 a, i8 b) { return (i8){ vbslq_s32(m.l, a.l, b.l), vbslq_s32(m.h, a.h, b.h) }; }
static inline m8 i8_lt(i8 a, i8 b) { return (m8){ vcltq_s32(a.l, b.l), vcltq_s32(a.h, b.h) }; }

#else

typedef struct f8 {
	float v[8];
} f8;
typedef uint32_t m8;

#define CR_F8_EACH(expression)  \
	f8 r;                       \
	for (int i = 0; i < 8; i++) \
		r.v[i] = (expression);  \
	return r
#define CR_M8_EACH(condition)            \
	m8 r = 0;                            \
	for (int i = 0; i < 8; i++)          \
		r |= (uint32_t)(condition) << i; \
	return r

static inline f8 f8_load(const float *p) { CR_F8_EACH(p[i]); }
static inline void f8_store(float *p, f8 a)
{
	for (int i = 0; i < 8; i++)
		p[i] = a.v[i];
}
static inline f8 f8_set1(float a) { CR_F8_EACH(a); }
static inline f8 f8_add(f8 a, f8 b) { CR_F8_EACH(a.v[i] + b.v[i]); }
static inline f8 f8_sub(f8 a, f8 b) { CR_F8_EACH(a.v[i] - b.v[i]); }
static inline f8 f8_mul(f8 a, f8 b) { CR_F8_EACH(a.v[i] * b.v[i]); }
static inline f8 f8_div(f8 a, f8 b) { CR_F8_EACH(a.v[i] / b.v[i]); }
static inline f8 f8_min(f8 a, f8 b) { CR_F8_EACH(a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
static inline f8 f8_max(f8 a, f8 b) { CR_F8_EACH(a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
static inline f8 f8_abs(f8 a) { CR_F8_EACH(fabsf(a.v[i])); }
static inline f8 f8_neg(f8 a) { CR_F8_EACH(-a.v[i]); }
static inline f8 f8_truncate(f8 a) { CR_F8_EACH((float)(int32_t)a.v[i]); }
static inline m8 f8_lt(f8 a, f8 b) { CR_M8_EACH(a.v[i] < b.v[i]); }
static inline m8 f8_le(f8 a, f8 b) { CR_M8_EACH(a.v[i] <= b.v[i]); }
static inline m8 f8_eq(f8 a, f8 b) { CR_M8_EACH(a.v[i] == b.v[i]); }
static inline m8 m8_and(m8 a, m8 b) { return a & b; }
static inline m8 m8_or(m8 a, m8 b) { return a | b; }
static inline uint32_t m8_bits(m8 a) { return a; }
static inline f8 f8_select(m8 m, f8 a, f8 b) { CR_F8_EACH((m >> i & 1) ? a.v[i] : b.v[i]); }
static inline f8 f8_sqrt(f8 a) { CR_F8_EACH(sqrtf(a.v[i])); }

typedef struct i8 {
	int32_t v[8];
} i8;

#define CR_I8_EACH(expression)  \
	i8 r;                       \
	for (int i = 0; i < 8; i++) \
		r.v[i] = (expression);  \
	return r

static inline i8 i8_load(const int32_t *p) { CR_I8_EACH(p[i]); }
static inline void i8_store(int32_t *p, i8 a)
{
	for (int i = 0; i < 8; i++)
		p[i] = a.v[i];
}
static inline i8 i8_set1(int32_t a) { CR_I8_EACH(a); }
static inline i8 i8_add(i8 a, i8 b) { CR_I8_EACH((int32_t)((uint32_t)a.v[i] + (uint32_t)b.v[i])); }
static inline i8 i8_and(i8 a, i8 b) { CR_I8_EACH(a.v[i] & b.v[i]); }
static inline i8 i8_shift_left(i8 a, int bits) { CR_I8_EACH((int32_t)((uint32_t)a.v[i] << bits)); }
static inline i8 i8_select(m8 m, i8 a, i8 b) { CR_I8_EACH((m >> i & 1) ? a.v[i] : b.v[i]); }
static inline m8 i8_lt(i8 a, i8 b) { CR_M8_EACH(a.v[i] < b.v[i]); }

#endif

#if CR_ISA_ID != CR_ISA_ID_avx2 && CR_ISA_ID != CR_ISA_ID_avx512
static inline f8 f8_gather_bytes(const uint8_t *base, f8 index)
{
	float at[8], bytes[8];
	f8_store(at, index);
	for (int i = 0; i < 8; i++)
		bytes[i] = (float)base[(int32_t)at[i]];
	return f8_load(bytes);
}

static inline f8 f8_gather(const float *base, i8 index)
{
	int32_t at[8];
	float r[8];
	i8_store(at, index);
	for (int i = 0; i < 8; i++)
		r[i] = base[at[i]];
	return f8_load(r);
}

static inline i8 i8_gather(const int32_t *base, i8 index)
{
	int32_t at[8], r[8];
	i8_store(at, index);
	for (int i = 0; i < 8; i++)
		r[i] = base[at[i]];
	return i8_load(r);
}
#endif

/// Index of the lowest set bit, which is cleared. bits must not be 0.
static inline int cr_take_lowest_bit(uint32_t *bits)
{
	const int index = __builtin_ctz(*bits);
	*bits &= *bits - 1;
	return index;
}

#endif
