/// Asks the processor itself: the way that compilers offer (__builtin_cpu_supports) needs a library
/// that clang for MSVC does not link.
#include "base/cpu.h"
#include "base/float_mode.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

// Bits of leaf 1 (ecx, edx) and of leaf 7 (ebx), and the register states that the system must save
// (XCR0).
enum {
	LEAF1_EDX_SSE2 = 1 << 26,
	LEAF1_ECX_OSXSAVE = 1 << 27,
	LEAF1_ECX_AVX = 1 << 28,
	LEAF7_EBX_BMI1 = 1 << 3,
	LEAF7_EBX_AVX2 = 1 << 5,
	LEAF7_EBX_BMI2 = 1 << 8,
	LEAF7_EBX_AVX512F = 1 << 16,
	LEAF7_EBX_AVX512DQ = 1 << 17,
	LEAF7_EBX_AVX512BW = 1 << 30,
	STATE_AVX = 0x06,   // SSE, upper halves of 256 bits
	STATE_AVX512 = 0xe6 // these, masks, upper halves of 512 bits, registers 16 to 31
};
#define LEAF7_EBX_AVX512VL (1u << 31)
// Kernels of AVX2 and of AVX-512 use them to take bits one by one.
#define BITS (LEAF7_EBX_BMI1 | LEAF7_EBX_BMI2)

typedef struct cpu_leaf {
	unsigned eax, ebx, ecx, edx;
} cpu_leaf;

/// A leaf of cpuid, subleaf 0; zeros where the processor has none of that number.
static cpu_leaf read_leaf(unsigned number)
{
	cpu_leaf leaf = { 0 };
	if (!__get_cpuid_count(number, 0, &leaf.eax, &leaf.ebx, &leaf.ecx, &leaf.edx))
		return (cpu_leaf){ 0 };
	return leaf;
}

/// Does the system save all register states of the mask?
static bool saves_states(unsigned mask)
{
	if (!(read_leaf(1).ecx & LEAF1_ECX_OSXSAVE))
		return false;
	unsigned low, high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & mask) == mask;
}

static bool has_leaf7(unsigned bits) { return (read_leaf(7).ebx & bits) == bits; }

bool cr_cpu_has(carom_simd simd)
{
	switch (simd) {
	case CAROM_SIMD_SCALAR: return true;
	case CAROM_SIMD_SSE2: return read_leaf(1).edx & LEAF1_EDX_SSE2;
	case CAROM_SIMD_AVX2:
		return (read_leaf(1).ecx & LEAF1_ECX_AVX) && has_leaf7(LEAF7_EBX_AVX2 | BITS) && saves_states(STATE_AVX);
	case CAROM_SIMD_AVX512:
		return has_leaf7(LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512DQ | LEAF7_EBX_AVX512BW | LEAF7_EBX_AVX512VL | BITS) &&
			saves_states(STATE_AVX512);
	default: return false;
	}
}

#elif defined(__aarch64__)

bool cr_cpu_has(carom_simd simd)
{
	// NEON is a part of every 64-bit ARM
	return simd == CAROM_SIMD_SCALAR || simd == CAROM_SIMD_NEON;
}

#else

bool cr_cpu_has(carom_simd simd) { return simd == CAROM_SIMD_SCALAR; }

#endif
