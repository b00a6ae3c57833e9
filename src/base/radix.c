/// Radix sort by bytes, from the lowest up. One sweep counts the digits of all passes, then each
/// pass that changes anything moves every key once; short inputs are sorted by insertion. Linear in
/// count, serial.
#include "base/radix.h"
#include <string.h>

enum {
	DIGIT_BITS = 8,
	DIGIT_VALUES = 1 << DIGIT_BITS,
	MAX_PASSES = 64 / DIGIT_BITS,
	// Below this the histograms cost more than insertion.
	INSERTION_COUNT = 48,
};

static inline unsigned digit_of(uint64_t key, int pass) { return (unsigned)(key >> (pass * DIGIT_BITS)) & (DIGIT_VALUES - 1); }

static void count_digits(const cr_key *keys, int64_t count, int passes, uint32_t counts[MAX_PASSES][DIGIT_VALUES])
{
	memset(counts, 0, (size_t)passes * sizeof counts[0]);
	for (int64_t i = 0; i < count; i++) {
		for (int pass = 0; pass < passes; pass++)
			counts[pass][digit_of(keys[i].key, pass)]++;
	}
}

static void move_by_digit(const cr_key *from, cr_key *to, int64_t count, int pass, uint32_t *offsets)
{
	uint32_t sum = 0;
	for (int value = 0; value < DIGIT_VALUES; value++) {
		const uint32_t here = offsets[value];
		offsets[value] = sum;
		sum += here;
	}
	for (int64_t i = 0; i < count; i++)
		to[offsets[digit_of(from[i].key, pass)]++] = from[i];
}

void cr_radix_sort(cr_key *keys, cr_key *scratch, int64_t count, int key_bits)
{
	if (count < INSERTION_COUNT) {
		cr_insertion_sort(keys, count);
		return;
	}
	const int passes = (key_bits + DIGIT_BITS - 1) / DIGIT_BITS;
	uint32_t counts[MAX_PASSES][DIGIT_VALUES];
	count_digits(keys, count, passes, counts);
	cr_key *from = keys;
	cr_key *to = scratch;
	for (int pass = 0; pass < passes; pass++) {
		if (counts[pass][digit_of(from[0].key, pass)] == count)
			continue; // all keys agree in this byte
		move_by_digit(from, to, count, pass, counts[pass]);
		cr_key *swap = from;
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, (size_t)count * sizeof *keys);
}
