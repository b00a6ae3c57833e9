/// Stable least-significant-digit radix sort of 64-bit keys with 32-bit values.
#ifndef CR_BASE_RADIX_H
#define CR_BASE_RADIX_H

#include "base/context.h"
#include <string.h>

typedef struct cr_key {
	uint64_t key;
	uint32_t value;
} cr_key;

/// A key that sorts as the double does; one key for both zeros.
static inline uint64_t cr_key_of_double(double d)
{
	uint64_t bits;
	d += 0.0;
	memcpy(&bits, &d, sizeof bits);
	return bits ^ (bits >> 63 ? UINT64_MAX : (uint64_t)1 << 63);
}

/// Sort keys[count], less than 2^32, by key, stable; scratch has the same size. Passes over bytes
/// in which all keys agree are skipped. key_bits: only the lowest key_bits of the keys differ (64
/// if unknown).
void cr_radix_sort(cr_key *keys, cr_key *scratch, int64_t count, int key_bits);

/// Sort a few keys (some tens), stable.
static inline void cr_insertion_sort(cr_key *keys, int64_t count)
{
	for (int64_t i = 1; i < count; i++) {
		const cr_key moving = keys[i];
		int64_t j = i;
		for (; j > 0 && keys[j - 1].key > moving.key; j--)
			keys[j] = keys[j - 1];
		keys[j] = moving;
	}
}

/// Sort keys by key, stable; there is room for as many behind them.
static inline void cr_order_keys(cr_key *keys, int64_t count)
{
	if (count <= 32)
		cr_insertion_sort(keys, count);
	else
		cr_radix_sort(keys, keys + count, count, 64);
}

/// The first of sorted keys that is not below key; count: there is none.
static inline int64_t cr_first_key(const cr_key *keys, int64_t count, uint64_t key)
{
	int64_t low = 0, high = count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (keys[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/// A key among sorted ones; -1: it is none of them.
static inline int64_t cr_find_key(const cr_key *keys, int64_t count, uint64_t key)
{
	const int64_t at = cr_first_key(keys, count, key);
	return at < count && keys[at].key == key ? at : -1;
}

#endif
