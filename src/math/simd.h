/// Eight floats, or eight whole numbers, side by side: the only place with intrinsics.
///
/// A kernel file is compiled once for each instruction set with
/// -DCR_ISA=scalar|sse2|avx2|avx512|neon and sees the same names; the scalar form is the
/// definition. No form fuses, reorders or estimates, so all give the same bits: min and max are `a
/// < b ? a : b` and `a > b ? a : b` (as SSE does, NaN and signed zeros included), comparisons with
/// NaN are false.
#ifndef CR_MATH_SIMD_H
#define CR_MATH_SIMD_H

#include "base/float_mode.h"
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

// clang 14 makes wrong code of pair_kernels.c with these vectors (docs/measured/browser.md).
#if defined(__wasm_simd128__) && __clang_major__ >= 16
#define CR_WASM_VECTORS
#endif

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
/// The least and the greatest of the eight: lanes i and i + 4 first, then i and i + 2, then the
/// last two.
static inline float f8_lowest(f8 a)
{
	const __m128 four = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)),
				 two = _mm_min_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_min_ss(two, _mm_shuffle_ps(two, two, 1)));
}
static inline float f8_highest(f8 a)
{
	const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)),
				 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}
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
static inline __m128 cr_load_three(const float *p)
{
	return _mm_movelh_ps(_mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(const void *)p), _mm_load_ss(p + 2));
}
/// Rows of three floats, the first of row i at base[3 * index[i]], as columns.
static inline void f8_load_threes(const float *base, const int32_t index[8], f8 column[3])
{
	__m256 row[4];
	for (int i = 0; i < 4; i++) {
		const float *low = base + 3 * (int64_t)index[i], *high = base + 3 * (int64_t)index[i + 4];
		row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(cr_load_three(low)), cr_load_three(high), 1);
	}
	const __m256 a = _mm256_unpacklo_ps(row[0], row[1]), b = _mm256_unpacklo_ps(row[2], row[3]);
	const __m256 c = _mm256_unpackhi_ps(row[0], row[1]), d = _mm256_unpackhi_ps(row[2], row[3]);
	column[0] = _mm256_shuffle_ps(a, b, 0x44);
	column[1] = _mm256_shuffle_ps(a, b, 0xee);
	column[2] = _mm256_shuffle_ps(c, d, 0x44);
}
static inline f8 f8_sqrt(f8 a) { return _mm256_sqrt_ps(a); }
static inline i8 i8_sub(i8 a, i8 b) { return _mm256_sub_epi32(a, b); }
/// The low 32 bits of the product.
static inline i8 i8_mul(i8 a, i8 b) { return _mm256_mullo_epi32(a, b); }
static inline i8 i8_xor(i8 a, i8 b) { return _mm256_xor_si256(a, b); }
static inline i8 i8_min(i8 a, i8 b) { return _mm256_min_epi32(a, b); }
static inline i8 i8_max(i8 a, i8 b) { return _mm256_max_epi32(a, b); }
/// Bits moved down, zeros from above, bits a constant.
#define i8_shift_right(a, bits) _mm256_srli_epi32(a, bits)
/// Towards zero; the result must fit.
static inline i8 i8_truncate(f8 a) { return _mm256_cvttps_epi32(a); }
/// Eight pairs, one after the other: a[0], b[0], a[1], ...
static inline void i8_store_pairs(int32_t *p, i8 a, i8 b)
{
	const i8 low = _mm256_unpacklo_epi32(a, b), high = _mm256_unpackhi_epi32(a, b);
	i8_store(p, _mm256_permute2x128_si256(low, high, 0x20));
	i8_store(p + 8, _mm256_permute2x128_si256(low, high, 0x31));
}
/// Eight groups of four floats, one after the other: column[k] has the k-th of each group.
static inline void f8_load_fours(const float *p, f8 column[4])
{
	f8 row[4], half[4];
	for (int i = 0; i < 4; i++)
		row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + 4 * i)), _mm_loadu_ps(p + 4 * i + 16), 1);
	half[0] = _mm256_unpacklo_ps(row[0], row[1]);
	half[1] = _mm256_unpackhi_ps(row[0], row[1]);
	half[2] = _mm256_unpacklo_ps(row[2], row[3]);
	half[3] = _mm256_unpackhi_ps(row[2], row[3]);
	column[0] = _mm256_shuffle_ps(half[0], half[2], 0x44);
	column[1] = _mm256_shuffle_ps(half[0], half[2], 0xee);
	column[2] = _mm256_shuffle_ps(half[1], half[3], 0x44);
	column[3] = _mm256_shuffle_ps(half[1], half[3], 0xee);
}

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
static inline m8 i8_eq(i8 a, i8 b) { return _mm256_cmpeq_epi32_mask(a, b); }
/// The lanes of the mask first, in their order; the lanes behind them are not defined.
static inline i8 i8_compress(m8 m, i8 a) { return _mm256_maskz_compress_epi32(m, a); }
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
static inline m8 i8_eq(i8 a, i8 b) { return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)); }
/// The places of the bits of each mask, lowest first, four bits each.
static const uint32_t CR_COMPRESS_PLACES[256] = { 0x00000000, 0x00000000, 0x00000001, 0x00000010, 0x00000002, 0x00000020,
	0x00000021, 0x00000210, 0x00000003, 0x00000030, 0x00000031, 0x00000310, 0x00000032, 0x00000320, 0x00000321, 0x00003210,
	0x00000004, 0x00000040, 0x00000041, 0x00000410, 0x00000042, 0x00000420, 0x00000421, 0x00004210, 0x00000043, 0x00000430,
	0x00000431, 0x00004310, 0x00000432, 0x00004320, 0x00004321, 0x00043210, 0x00000005, 0x00000050, 0x00000051, 0x00000510,
	0x00000052, 0x00000520, 0x00000521, 0x00005210, 0x00000053, 0x00000530, 0x00000531, 0x00005310, 0x00000532, 0x00005320,
	0x00005321, 0x00053210, 0x00000054, 0x00000540, 0x00000541, 0x00005410, 0x00000542, 0x00005420, 0x00005421, 0x00054210,
	0x00000543, 0x00005430, 0x00005431, 0x00054310, 0x00005432, 0x00054320, 0x00054321, 0x00543210, 0x00000006, 0x00000060,
	0x00000061, 0x00000610, 0x00000062, 0x00000620, 0x00000621, 0x00006210, 0x00000063, 0x00000630, 0x00000631, 0x00006310,
	0x00000632, 0x00006320, 0x00006321, 0x00063210, 0x00000064, 0x00000640, 0x00000641, 0x00006410, 0x00000642, 0x00006420,
	0x00006421, 0x00064210, 0x00000643, 0x00006430, 0x00006431, 0x00064310, 0x00006432, 0x00064320, 0x00064321, 0x00643210,
	0x00000065, 0x00000650, 0x00000651, 0x00006510, 0x00000652, 0x00006520, 0x00006521, 0x00065210, 0x00000653, 0x00006530,
	0x00006531, 0x00065310, 0x00006532, 0x00065320, 0x00065321, 0x00653210, 0x00000654, 0x00006540, 0x00006541, 0x00065410,
	0x00006542, 0x00065420, 0x00065421, 0x00654210, 0x00006543, 0x00065430, 0x00065431, 0x00654310, 0x00065432, 0x00654320,
	0x00654321, 0x06543210, 0x00000007, 0x00000070, 0x00000071, 0x00000710, 0x00000072, 0x00000720, 0x00000721, 0x00007210,
	0x00000073, 0x00000730, 0x00000731, 0x00007310, 0x00000732, 0x00007320, 0x00007321, 0x00073210, 0x00000074, 0x00000740,
	0x00000741, 0x00007410, 0x00000742, 0x00007420, 0x00007421, 0x00074210, 0x00000743, 0x00007430, 0x00007431, 0x00074310,
	0x00007432, 0x00074320, 0x00074321, 0x00743210, 0x00000075, 0x00000750, 0x00000751, 0x00007510, 0x00000752, 0x00007520,
	0x00007521, 0x00075210, 0x00000753, 0x00007530, 0x00007531, 0x00075310, 0x00007532, 0x00075320, 0x00075321, 0x00753210,
	0x00000754, 0x00007540, 0x00007541, 0x00075410, 0x00007542, 0x00075420, 0x00075421, 0x00754210, 0x00007543, 0x00075430,
	0x00075431, 0x00754310, 0x00075432, 0x00754320, 0x00754321, 0x07543210, 0x00000076, 0x00000760, 0x00000761, 0x00007610,
	0x00000762, 0x00007620, 0x00007621, 0x00076210, 0x00000763, 0x00007630, 0x00007631, 0x00076310, 0x00007632, 0x00076320,
	0x00076321, 0x00763210, 0x00000764, 0x00007640, 0x00007641, 0x00076410, 0x00007642, 0x00076420, 0x00076421, 0x00764210,
	0x00007643, 0x00076430, 0x00076431, 0x00764310, 0x00076432, 0x00764320, 0x00764321, 0x07643210, 0x00000765, 0x00007650,
	0x00007651, 0x00076510, 0x00007652, 0x00076520, 0x00076521, 0x00765210, 0x00007653, 0x00076530, 0x00076531, 0x00765310,
	0x00076532, 0x00765320, 0x00765321, 0x07653210, 0x00007654, 0x00076540, 0x00076541, 0x00765410, 0x00076542, 0x00765420,
	0x00765421, 0x07654210, 0x00076543, 0x00765430, 0x00765431, 0x07654310, 0x00765432, 0x07654320, 0x07654321, 0x76543210 };
static inline i8 i8_compress(m8 m, i8 a)
{
	const i8 places = _mm256_set1_epi32((int32_t)CR_COMPRESS_PLACES[m8_bits(m)]);
	return _mm256_permutevar8x32_epi32(a, _mm256_srlv_epi32(places, _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28)));
}
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
static inline float f8_lowest(f8 a)
{
	const __m128 four = _mm_min_ps(a.l, a.h), two = _mm_min_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_min_ss(two, _mm_shuffle_ps(two, two, 1)));
}
static inline float f8_highest(f8 a)
{
	const __m128 four = _mm_max_ps(a.l, a.h), two = _mm_max_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

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
static inline float f8_lowest(f8 a)
{
	const float32x4_t four = vbslq_f32(vcltq_f32(a.l, a.h), a.l, a.h);
	const float32x2_t l = vget_low_f32(four), h = vget_high_f32(four), two = vbsl_f32(vclt_f32(l, h), l, h);
	const float x = vget_lane_f32(two, 0), y = vget_lane_f32(two, 1);
	return x < y ? x : y;
}
static inline float f8_highest(f8 a)
{
	const float32x4_t four = vbslq_f32(vcltq_f32(a.h, a.l), a.l, a.h);
	const float32x2_t l = vget_low_f32(four), h = vget_high_f32(four), two = vbsl_f32(vclt_f32(h, l), l, h);
	const float x = vget_lane_f32(two, 0), y = vget_lane_f32(two, 1);
	return x > y ? x : y;
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

#elif defined(CR_WASM_VECTORS)
// The vectors of WebAssembly stand in for the scalar form: a module that has them runs nowhere
// without them, so there is nothing to choose.
#include <wasm_simd128.h>

typedef struct f8 {
	v128_t l, h;
} f8;
typedef f8 m8;

#define CR_F8_BOTH(a, call) ((f8){ call((a).l), call((a).h) })
#define CR_F8_PAIR(a, b, call) ((f8){ call((a).l, (b).l), call((a).h, (b).h) })

static inline f8 f8_load(const float *p) { return (f8){ wasm_v128_load(p), wasm_v128_load(p + 4) }; }
static inline void f8_store(float *p, f8 a)
{
	wasm_v128_store(p, a.l);
	wasm_v128_store(p + 4, a.h);
}
static inline f8 f8_set1(float a) { return (f8){ wasm_f32x4_splat(a), wasm_f32x4_splat(a) }; }
static inline f8 f8_add(f8 a, f8 b) { return CR_F8_PAIR(a, b, wasm_f32x4_add); }
static inline f8 f8_sub(f8 a, f8 b) { return CR_F8_PAIR(a, b, wasm_f32x4_sub); }
static inline f8 f8_mul(f8 a, f8 b) { return CR_F8_PAIR(a, b, wasm_f32x4_mul); }
static inline f8 f8_div(f8 a, f8 b) { return CR_F8_PAIR(a, b, wasm_f32x4_div); }
// pmin(x, y) is y < x ? y : x, and pmax(x, y) is x < y ? y : x.
static inline f8 f8_min(f8 a, f8 b) { return CR_F8_PAIR(b, a, wasm_f32x4_pmin); }
static inline f8 f8_max(f8 a, f8 b) { return CR_F8_PAIR(b, a, wasm_f32x4_pmax); }
static inline float f8_lowest(f8 a)
{
	const v128_t four = wasm_f32x4_pmin(a.h, a.l), high = wasm_i32x4_shuffle(four, four, 2, 3, 2, 3),
				 two = wasm_f32x4_pmin(high, four);
	const float x = wasm_f32x4_extract_lane(two, 0), y = wasm_f32x4_extract_lane(two, 1);
	return x < y ? x : y;
}
static inline float f8_highest(f8 a)
{
	const v128_t four = wasm_f32x4_pmax(a.h, a.l), high = wasm_i32x4_shuffle(four, four, 2, 3, 2, 3),
				 two = wasm_f32x4_pmax(high, four);
	const float x = wasm_f32x4_extract_lane(two, 0), y = wasm_f32x4_extract_lane(two, 1);
	return x > y ? x : y;
}
static inline f8 f8_abs(f8 a) { return CR_F8_BOTH(a, wasm_f32x4_abs); }
static inline f8 f8_neg(f8 a) { return CR_F8_BOTH(a, wasm_f32x4_neg); }
// By way of whole numbers, as the others: 0 has no sign then.
static inline f8 f8_truncate(f8 a)
{
	return (f8){ wasm_f32x4_convert_i32x4(wasm_i32x4_trunc_sat_f32x4(a.l)),
		wasm_f32x4_convert_i32x4(wasm_i32x4_trunc_sat_f32x4(a.h)) };
}
static inline m8 f8_lt(f8 a, f8 b) { return CR_F8_PAIR(a, b, wasm_f32x4_lt); }
static inline m8 f8_le(f8 a, f8 b) { return CR_F8_PAIR(a, b, wasm_f32x4_le); }
static inline m8 f8_eq(f8 a, f8 b) { return CR_F8_PAIR(a, b, wasm_f32x4_eq); }
static inline m8 m8_and(m8 a, m8 b) { return CR_F8_PAIR(a, b, wasm_v128_and); }
static inline m8 m8_or(m8 a, m8 b) { return CR_F8_PAIR(a, b, wasm_v128_or); }
static inline uint32_t m8_bits(m8 a) { return (uint32_t)wasm_i32x4_bitmask(a.l) | (uint32_t)wasm_i32x4_bitmask(a.h) << 4; }
static inline f8 f8_select(m8 m, f8 a, f8 b)
{
	return (f8){ wasm_v128_bitselect(a.l, b.l, m.l), wasm_v128_bitselect(a.h, b.h, m.h) };
}
static inline f8 f8_sqrt(f8 a) { return CR_F8_BOTH(a, wasm_f32x4_sqrt); }

typedef f8 i8;

static inline i8 i8_load(const int32_t *p) { return (i8){ wasm_v128_load(p), wasm_v128_load(p + 4) }; }
static inline void i8_store(int32_t *p, i8 a)
{
	wasm_v128_store(p, a.l);
	wasm_v128_store(p + 4, a.h);
}
static inline i8 i8_set1(int32_t a) { return (i8){ wasm_i32x4_splat(a), wasm_i32x4_splat(a) }; }
static inline i8 i8_add(i8 a, i8 b) { return CR_F8_PAIR(a, b, wasm_i32x4_add); }
static inline i8 i8_and(i8 a, i8 b) { return CR_F8_PAIR(a, b, wasm_v128_and); }
static inline i8 i8_shift_left(i8 a, int bits)
{
	return (i8){ wasm_i32x4_shl(a.l, (uint32_t)bits), wasm_i32x4_shl(a.h, (uint32_t)bits) };
}
static inline i8 i8_select(m8 m, i8 a, i8 b) { return f8_select(m, a, b); }
static inline m8 i8_lt(i8 a, i8 b) { return CR_F8_PAIR(a, b, wasm_i32x4_lt); }

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
static inline float f8_lowest(f8 a)
{
	for (int step = 4; step > 0; step /= 2) {
		for (int i = 0; i < step; i++)
			a.v[i] = a.v[i] < a.v[i + step] ? a.v[i] : a.v[i + step];
	}
	return a.v[0];
}
static inline float f8_highest(f8 a)
{
	for (int step = 4; step > 0; step /= 2) {
		for (int i = 0; i < step; i++)
			a.v[i] = a.v[i] > a.v[i + step] ? a.v[i] : a.v[i + step];
	}
	return a.v[0];
}
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

static inline void f8_load_threes(const float *base, const int32_t index[8], f8 column[3])
{
	float v[3][8];
	for (int i = 0; i < 24; i++)
		v[i % 3][i / 3] = base[3 * (int64_t)index[i / 3] + i % 3];
	for (int k = 0; k < 3; k++)
		column[k] = f8_load(v[k]);
}

static inline i8 i8_gather(const int32_t *base, i8 index)
{
	int32_t at[8], r[8];
	i8_store(at, index);
	for (int i = 0; i < 8; i++)
		r[i] = base[at[i]];
	return i8_load(r);
}

// Lane by lane; compilers make the wide form of most of these themselves.
#define CR_I8_PAIRWISE(name, expression)       \
	static inline i8 name(i8 first, i8 second) \
	{                                          \
		int32_t a[8], b[8];                    \
		i8_store(a, first);                    \
		i8_store(b, second);                   \
		for (int i = 0; i < 8; i++)            \
			a[i] = (expression);               \
		return i8_load(a);                     \
	}
CR_I8_PAIRWISE(i8_sub, (int32_t)((uint32_t)a[i] - (uint32_t)b[i]))
CR_I8_PAIRWISE(i8_mul, (int32_t)((uint32_t)a[i] * (uint32_t)b[i]))
CR_I8_PAIRWISE(i8_xor, a[i] ^ b[i])
CR_I8_PAIRWISE(i8_min, a[i] < b[i] ? a[i] : b[i])
CR_I8_PAIRWISE(i8_max, a[i] > b[i] ? a[i] : b[i])

static inline i8 i8_shift_right(i8 a, int bits)
{
	int32_t r[8];
	i8_store(r, a);
	for (int i = 0; i < 8; i++)
		r[i] = (int32_t)((uint32_t)r[i] >> bits);
	return i8_load(r);
}

static inline i8 i8_truncate(f8 a)
{
	float v[8];
	int32_t r[8];
	f8_store(v, a);
	for (int i = 0; i < 8; i++)
		r[i] = (int32_t)v[i];
	return i8_load(r);
}

static inline void i8_store_pairs(int32_t *p, i8 a, i8 b)
{
	int32_t first[8], second[8];
	i8_store(first, a);
	i8_store(second, b);
	for (int i = 0; i < 8; i++) {
		p[2 * i] = first[i];
		p[2 * i + 1] = second[i];
	}
}

static inline void f8_load_fours(const float *p, f8 column[4])
{
	float v[4][8];
	for (int i = 0; i < 32; i++)
		v[i % 4][i / 4] = p[i];
	for (int k = 0; k < 4; k++)
		column[k] = f8_load(v[k]);
}

static inline m8 i8_eq(i8 a, i8 b)
{
	const i8 off = i8_xor(a, b), one = i8_set1(1);
	return m8_and(i8_lt(off, one), i8_lt(i8_set1(-1), off));
}

static inline i8 i8_compress(m8 m, i8 a)
{
	int32_t v[8], r[8] = { 0 };
	const uint32_t bits = m8_bits(m);
	i8_store(v, a);
	for (int i = 0, n = 0; i < 8; i++) {
		r[n] = v[i];
		n += (int)(bits >> i & 1);
	}
	return i8_load(r);
}
#endif

// ---- Eight doubles ----
// As f8; comparisons give the lanes as bits at once, lane 0 lowest.

#if CR_ISA_ID == CR_ISA_ID_avx512
typedef __m512d d8;
static inline d8 d8_load(const double *p) { return _mm512_loadu_pd(p); }
static inline d8 d8_load_floats(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
static inline void d8_store(double *p, d8 a) { _mm512_storeu_pd(p, a); }
static inline d8 d8_set1(double a) { return _mm512_set1_pd(a); }
static inline d8 d8_add(d8 a, d8 b) { return _mm512_add_pd(a, b); }
static inline d8 d8_sub(d8 a, d8 b) { return _mm512_sub_pd(a, b); }
static inline d8 d8_mul(d8 a, d8 b) { return _mm512_mul_pd(a, b); }
static inline d8 d8_div(d8 a, d8 b) { return _mm512_div_pd(a, b); }
static inline d8 d8_min(d8 a, d8 b) { return _mm512_min_pd(a, b); }
static inline d8 d8_max(d8 a, d8 b) { return _mm512_max_pd(a, b); }
static inline d8 d8_abs(d8 a) { return _mm512_andnot_pd(_mm512_set1_pd(-0.0), a); }
static inline uint32_t d8_lt(d8 a, d8 b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
/// The nearest floats, as a cast gives them.
static inline f8 d8_to_floats(d8 a) { return _mm512_cvtpd_ps(a); }
/// Numbers base[index]; an index may be anything from 0 to INT32_MAX.
static inline d8 d8_gather(const double *base, i8 index)
{
	return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, index, base, 8);
}
#elif CR_ISA_ID == CR_ISA_ID_avx2
typedef struct d8 {
	__m256d l, h;
} d8;
static inline d8 d8_load(const double *p) { return (d8){ _mm256_loadu_pd(p), _mm256_loadu_pd(p + 4) }; }
static inline d8 d8_load_floats(const float *p)
{
	return (d8){ _mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p + 4)) };
}
static inline void d8_store(double *p, d8 a)
{
	_mm256_storeu_pd(p, a.l);
	_mm256_storeu_pd(p + 4, a.h);
}
static inline d8 d8_set1(double a) { return (d8){ _mm256_set1_pd(a), _mm256_set1_pd(a) }; }
static inline d8 d8_add(d8 a, d8 b) { return (d8){ _mm256_add_pd(a.l, b.l), _mm256_add_pd(a.h, b.h) }; }
static inline d8 d8_sub(d8 a, d8 b) { return (d8){ _mm256_sub_pd(a.l, b.l), _mm256_sub_pd(a.h, b.h) }; }
static inline d8 d8_mul(d8 a, d8 b) { return (d8){ _mm256_mul_pd(a.l, b.l), _mm256_mul_pd(a.h, b.h) }; }
static inline d8 d8_div(d8 a, d8 b) { return (d8){ _mm256_div_pd(a.l, b.l), _mm256_div_pd(a.h, b.h) }; }
static inline d8 d8_min(d8 a, d8 b) { return (d8){ _mm256_min_pd(a.l, b.l), _mm256_min_pd(a.h, b.h) }; }
static inline d8 d8_max(d8 a, d8 b) { return (d8){ _mm256_max_pd(a.l, b.l), _mm256_max_pd(a.h, b.h) }; }
static inline d8 d8_abs(d8 a)
{
	const __m256d sign = _mm256_set1_pd(-0.0);
	return (d8){ _mm256_andnot_pd(sign, a.l), _mm256_andnot_pd(sign, a.h) };
}
static inline uint32_t d8_lt(d8 a, d8 b)
{
	return (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(a.l, b.l, _CMP_LT_OQ)) |
		(uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(a.h, b.h, _CMP_LT_OQ)) << 4;
}
static inline f8 d8_to_floats(d8 a) { return _mm256_set_m128(_mm256_cvtpd_ps(a.h), _mm256_cvtpd_ps(a.l)); }
static inline d8 d8_gather(const double *base, i8 index)
{
	return (d8){ _mm256_i32gather_pd(base, _mm256_castsi256_si128(index), 8),
		_mm256_i32gather_pd(base, _mm256_extracti128_si256(index, 1), 8) };
}
#elif CR_ISA_ID == CR_ISA_ID_sse2
typedef struct d8 {
	__m128d v[4];
} d8;
#define CR_D8_EACH(expression)  \
	d8 r;                       \
	for (int i = 0; i < 4; i++) \
		r.v[i] = (expression);  \
	return r
static inline d8 d8_load(const double *p) { CR_D8_EACH(_mm_loadu_pd(p + 2 * i)); }
static inline d8 d8_load_floats(const float *p) { CR_D8_EACH(_mm_set_pd((double)p[2 * i + 1], (double)p[2 * i])); }
static inline void d8_store(double *p, d8 a)
{
	for (int i = 0; i < 4; i++)
		_mm_storeu_pd(p + 2 * i, a.v[i]);
}
static inline d8 d8_set1(double a) { CR_D8_EACH(_mm_set1_pd(a)); }
static inline d8 d8_add(d8 a, d8 b) { CR_D8_EACH(_mm_add_pd(a.v[i], b.v[i])); }
static inline d8 d8_sub(d8 a, d8 b) { CR_D8_EACH(_mm_sub_pd(a.v[i], b.v[i])); }
static inline d8 d8_mul(d8 a, d8 b) { CR_D8_EACH(_mm_mul_pd(a.v[i], b.v[i])); }
static inline d8 d8_div(d8 a, d8 b) { CR_D8_EACH(_mm_div_pd(a.v[i], b.v[i])); }
static inline d8 d8_min(d8 a, d8 b) { CR_D8_EACH(_mm_min_pd(a.v[i], b.v[i])); }
static inline d8 d8_max(d8 a, d8 b) { CR_D8_EACH(_mm_max_pd(a.v[i], b.v[i])); }
static inline d8 d8_abs(d8 a) { CR_D8_EACH(_mm_andnot_pd(_mm_set1_pd(-0.0), a.v[i])); }
static inline uint32_t d8_lt(d8 a, d8 b)
{
	uint32_t bits = 0;
	for (int i = 0; i < 4; i++)
		bits |= (uint32_t)_mm_movemask_pd(_mm_cmplt_pd(a.v[i], b.v[i])) << (2 * i);
	return bits;
}
static inline f8 d8_to_floats(d8 a)
{
	return (f8){ _mm_movelh_ps(_mm_cvtpd_ps(a.v[0]), _mm_cvtpd_ps(a.v[1])),
		_mm_movelh_ps(_mm_cvtpd_ps(a.v[2]), _mm_cvtpd_ps(a.v[3])) };
}
#elif defined(CR_WASM_VECTORS)
typedef struct d8 {
	v128_t v[4];
} d8;
#define CR_D8_EACH(expression)  \
	d8 r;                       \
	for (int i = 0; i < 4; i++) \
		r.v[i] = (expression);  \
	return r
static inline d8 d8_load(const double *p) { CR_D8_EACH(wasm_v128_load(p + 2 * i)); }
static inline d8 d8_load_floats(const float *p) { CR_D8_EACH(wasm_f64x2_make((double)p[2 * i], (double)p[2 * i + 1])); }
static inline void d8_store(double *p, d8 a)
{
	for (int i = 0; i < 4; i++)
		wasm_v128_store(p + 2 * i, a.v[i]);
}
static inline d8 d8_set1(double a) { CR_D8_EACH(wasm_f64x2_splat(a)); }
static inline d8 d8_add(d8 a, d8 b) { CR_D8_EACH(wasm_f64x2_add(a.v[i], b.v[i])); }
static inline d8 d8_sub(d8 a, d8 b) { CR_D8_EACH(wasm_f64x2_sub(a.v[i], b.v[i])); }
static inline d8 d8_mul(d8 a, d8 b) { CR_D8_EACH(wasm_f64x2_mul(a.v[i], b.v[i])); }
static inline d8 d8_div(d8 a, d8 b) { CR_D8_EACH(wasm_f64x2_div(a.v[i], b.v[i])); }
static inline d8 d8_min(d8 a, d8 b) { CR_D8_EACH(wasm_f64x2_pmin(b.v[i], a.v[i])); }
static inline d8 d8_max(d8 a, d8 b) { CR_D8_EACH(wasm_f64x2_pmax(b.v[i], a.v[i])); }
static inline d8 d8_abs(d8 a) { CR_D8_EACH(wasm_f64x2_abs(a.v[i])); }
static inline uint32_t d8_lt(d8 a, d8 b)
{
	uint32_t bits = 0;
	for (int i = 0; i < 4; i++)
		bits |= (uint32_t)wasm_i64x2_bitmask(wasm_f64x2_lt(a.v[i], b.v[i])) << (2 * i);
	return bits;
}
static inline f8 d8_to_floats(d8 a)
{
	v128_t two[4];
	for (int i = 0; i < 4; i++)
		two[i] = wasm_f32x4_demote_f64x2_zero(a.v[i]);
	return (f8){ wasm_i32x4_shuffle(two[0], two[1], 0, 1, 4, 5), wasm_i32x4_shuffle(two[2], two[3], 0, 1, 4, 5) };
}
#else
typedef struct d8 {
	double v[8];
} d8;
#define CR_D8_EACH(expression)  \
	d8 r;                       \
	for (int i = 0; i < 8; i++) \
		r.v[i] = (expression);  \
	return r
static inline d8 d8_load(const double *p) { CR_D8_EACH(p[i]); }
static inline d8 d8_load_floats(const float *p) { CR_D8_EACH((double)p[i]); }
static inline void d8_store(double *p, d8 a)
{
	for (int i = 0; i < 8; i++)
		p[i] = a.v[i];
}
static inline d8 d8_set1(double a) { CR_D8_EACH(a); }
static inline d8 d8_add(d8 a, d8 b) { CR_D8_EACH(a.v[i] + b.v[i]); }
static inline d8 d8_sub(d8 a, d8 b) { CR_D8_EACH(a.v[i] - b.v[i]); }
static inline d8 d8_mul(d8 a, d8 b) { CR_D8_EACH(a.v[i] * b.v[i]); }
static inline d8 d8_div(d8 a, d8 b) { CR_D8_EACH(a.v[i] / b.v[i]); }
static inline d8 d8_min(d8 a, d8 b) { CR_D8_EACH(a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
static inline d8 d8_max(d8 a, d8 b) { CR_D8_EACH(a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
static inline d8 d8_abs(d8 a) { CR_D8_EACH(fabs(a.v[i])); }
static inline uint32_t d8_lt(d8 a, d8 b)
{
	uint32_t bits = 0;
	for (int i = 0; i < 8; i++)
		bits |= (uint32_t)(a.v[i] < b.v[i]) << i;
	return bits;
}
static inline f8 d8_to_floats(d8 a)
{
	float r[8];
	for (int i = 0; i < 8; i++)
		r[i] = (float)a.v[i];
	return f8_load(r);
}
#endif

#if CR_ISA_ID != CR_ISA_ID_avx2 && CR_ISA_ID != CR_ISA_ID_avx512
static inline d8 d8_gather(const double *base, i8 index)
{
	int32_t at[8];
	double r[8];
	i8_store(at, index);
	for (int i = 0; i < 8; i++)
		r[i] = base[at[i]];
	return d8_load(r);
}
#endif

/// The mask of lanes that are given as bits.
static inline m8 m8_from_bits(uint32_t lanes)
{
#if CR_ISA_ID == CR_ISA_ID_avx512
	return (m8)lanes;
#else
	static const int32_t bits[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	const i8 own = i8_load(bits);
	return i8_eq(i8_and(i8_set1((int32_t)lanes), own), own);
#endif
}

/// Index of the lowest set bit, which is cleared. bits must not be 0.
static inline int cr_take_lowest_bit(uint32_t *bits)
{
	const int index = __builtin_ctz(*bits);
	*bits &= *bits - 1;
	return index;
}

#endif
