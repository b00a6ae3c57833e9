/// The floating-point arithmetic that the proofs and the promise of equal bits rest on. All sources
/// of the library see this header.
#ifndef CR_BASE_FLOAT_MODE_H
#define CR_BASE_FLOAT_MODE_H

#include <float.h>

// -ffast-math, and the options that it consists of: each makes the compiler reorder sums, or forget
// infinities, NaN and the sign of zero.
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
	defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "Carom must not be compiled with -ffast-math, -Ofast or a part of them: its results would be wrong"
#endif

// 16: as 0, except for half floats, which the library does not use.
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "Carom needs floats computed as floats (FLT_EVAL_METHOD 0): on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

/// Look at the arithmetic of this thread. Returns NULL if it is the default one, else a few words
/// that name the first fault.
const char *cr_float_mode_fault(void);
/// Give this thread the default arithmetic.
void cr_float_mode_reset(void);

#endif
