/// Choice of the stages' wide kernels at run time.

#include "detect/detect_kernels.h"

extern const cr_detect_kernels cr_detect_kernels_scalar;
#ifdef CR_HAVE_SSE2
extern const cr_detect_kernels cr_detect_kernels_sse2;
#endif
#ifdef CR_HAVE_AVX2
extern const cr_detect_kernels cr_detect_kernels_avx2;
#endif
#ifdef CR_HAVE_AVX512
extern const cr_detect_kernels cr_detect_kernels_avx512;
#endif
#ifdef CR_HAVE_NEON
extern const cr_detect_kernels cr_detect_kernels_neon;
#endif

const cr_detect_kernels *cr_get_detect_kernels(carom_simd simd)
{
	switch (simd) {
#ifdef CR_HAVE_SSE2
	case CAROM_SIMD_SSE2: return &cr_detect_kernels_sse2;
#endif
#ifdef CR_HAVE_AVX2
	case CAROM_SIMD_AVX2: return &cr_detect_kernels_avx2;
#endif
#ifdef CR_HAVE_AVX512
	case CAROM_SIMD_AVX512: return &cr_detect_kernels_avx512;
#endif
#ifdef CR_HAVE_NEON
	case CAROM_SIMD_NEON: return &cr_detect_kernels_neon;
#endif
	default: return &cr_detect_kernels_scalar;
	}
}
