/// Choice among tables of kernels that were compiled once for each instruction set
/// (cmake/CaromTargets.cmake).
#ifndef CR_BASE_DISPATCH_H
#define CR_BASE_DISPATCH_H

#include "base/float_mode.h"
#include "carom/base.h"

// CR_WITH_X(code): code where the build has instruction set X, else nothing.
#ifdef CR_HAVE_SSE2
#define CR_WITH_SSE2(code) code
#else
#define CR_WITH_SSE2(code)
#endif
#ifdef CR_HAVE_AVX2
#define CR_WITH_AVX2(code) code
#else
#define CR_WITH_AVX2(code)
#endif
#ifdef CR_HAVE_AVX512
#define CR_WITH_AVX512(code) code
#else
#define CR_WITH_AVX512(code)
#endif
#ifdef CR_HAVE_NEON
#define CR_WITH_NEON(code) code
#else
#define CR_WITH_NEON(code)
#endif

/// Define `const table *getter(carom_simd)` over the tables table_scalar, table_sse2, ... of type
/// table. An instruction set that was not built in gives the scalar one; a context never asks for
/// it.
#define CR_DEFINE_KERNEL_GETTER(table, getter)                               \
	extern const table table##_scalar;                                       \
	CR_WITH_SSE2(extern const table table##_sse2;)                           \
	CR_WITH_AVX2(extern const table table##_avx2;)                           \
	CR_WITH_AVX512(extern const table table##_avx512;)                       \
	CR_WITH_NEON(extern const table table##_neon;)                           \
	const table *getter(carom_simd simd)                                     \
	{                                                                        \
		switch (simd) {                                                      \
			CR_WITH_SSE2(case CAROM_SIMD_SSE2 : return &table##_sse2;)       \
			CR_WITH_AVX2(case CAROM_SIMD_AVX2 : return &table##_avx2;)       \
			CR_WITH_AVX512(case CAROM_SIMD_AVX512 : return &table##_avx512;) \
			CR_WITH_NEON(case CAROM_SIMD_NEON : return &table##_neon;)       \
		default: return &table##_scalar;                                     \
		}                                                                    \
	}

#endif
