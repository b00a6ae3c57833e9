/// Stable least-significant-digit radix sort of 64-bit keys with 32-bit values.
#ifndef CR_BASE_RADIX_H
#define CR_BASE_RADIX_H

#include "base/context.h"

typedef struct cr_key {
	uint64_t key;
	uint32_t value;
} cr_key;

/// Sort keys[count] by key, stable; scratch has the same size. Passes over bytes in which all keys agree are skipped.
/// key_bits: only the lowest key_bits of the keys differ (64 if unknown).
void cr_radix_sort(cr_key *keys, cr_key *scratch, int64_t count, int key_bits);

#endif
