/// Choice of the wide kernels at run time, and the lists that they write.

#include "bvh/bvh_kernels.h"
#include <string.h>

extern const cr_bvh_kernels cr_bvh_kernels_scalar;
#ifdef CR_HAVE_SSE2
extern const cr_bvh_kernels cr_bvh_kernels_sse2;
#endif
#ifdef CR_HAVE_AVX2
extern const cr_bvh_kernels cr_bvh_kernels_avx2;
#endif
#ifdef CR_HAVE_AVX512
extern const cr_bvh_kernels cr_bvh_kernels_avx512;
#endif
#ifdef CR_HAVE_NEON
extern const cr_bvh_kernels cr_bvh_kernels_neon;
#endif

const cr_bvh_kernels *cr_get_bvh_kernels(carom_simd simd)
{
	switch (simd) {
#ifdef CR_HAVE_SSE2
	case CAROM_SIMD_SSE2: return &cr_bvh_kernels_sse2;
#endif
#ifdef CR_HAVE_AVX2
	case CAROM_SIMD_AVX2: return &cr_bvh_kernels_avx2;
#endif
#ifdef CR_HAVE_AVX512
	case CAROM_SIMD_AVX512: return &cr_bvh_kernels_avx512;
#endif
#ifdef CR_HAVE_NEON
	case CAROM_SIMD_NEON: return &cr_bvh_kernels_neon;
#endif
	default: return &cr_bvh_kernels_scalar;
	}
}

bool cr_candidates_grow(cr_candidates *c, int32_t more)
{
	int64_t capacity = (int64_t)c->capacity * 2;
	if (capacity < (int64_t)c->count + more)
		capacity = (int64_t)c->count + more + 192;
	cr_candidate *data = capacity <= INT32_MAX ? cr_arena_alloc(c->arena, (size_t)capacity * sizeof *data) : NULL;
	if (!data) {
		c->failed = true;
		return false;
	}
	if (c->count > 0)
		memcpy(data, c->data, (size_t)c->count * sizeof *data);
	c->data = data;
	c->capacity = (int32_t)capacity;
	return true;
}
