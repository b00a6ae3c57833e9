/// A look at the floating-point arithmetic of a thread, by computing with it. See
/// base/float_mode.h.
#include "base/float_mode.h"
#include <fenv.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Volatile everywhere: the compiler would compute with the default mode.

/// The bits tell: a comparison would take a number for zero where it is flushed.
static bool is_zero(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits << 1 == 0;
}

static bool flushes_results(void)
{
	volatile float least = FLT_MIN, half = 0.5f;
	volatile float result = least * half;
	return is_zero(result);
}

/// Half of the least normal number, by its bits, times 2 to the power of 30.
static bool flushes_arguments(void)
{
	const uint32_t bits = 0x00400000;
	float half_least;
	memcpy(&half_least, &bits, sizeof half_least);
	volatile float argument = half_least, factor = 0x1p30f;
	volatile float result = argument * factor;
	return is_zero(result);
}

static bool rounds_otherwise(void)
{
	volatile float one = 1, little = 0x1p-30f;
	volatile float above = one + little, below = one - little;
	return above != 1 || below != 1;
}

/// The product is 1 - 2^-60, which rounds to 1.
static bool fuses(void)
{
	volatile double above = 1 + 0x1p-30, below = 1 - 0x1p-30;
	const double a = above, b = below;
	volatile double rest = a * b - 1;
	return rest != 0;
}

const char *cr_float_mode_fault(void)
{
	if (rounds_otherwise())
		return "does not round to nearest";
	if (flushes_results())
		return "flushes small results to zero (FTZ)";
	if (flushes_arguments())
		return "takes small arguments for zero (DAZ)";
	if (fuses())
		return "fuses multiplication and addition (the library was compiled without -ffp-contract=off)";
	return NULL;
}

void cr_float_mode_reset(void)
{
	fesetenv(FE_DFL_ENV);
#ifdef __SSE__
	// the default, all exceptions masked; under Wine fesetenv leaves this register as it is
	__builtin_ia32_ldmxcsr(0x1f80);
#endif
}
