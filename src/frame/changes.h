/// Which bodies of a world have changed since its last step: a bit for each number.
///
/// A step looks at these alone, so that bodies at rest cost it nothing but their bits: 64 in a
/// word. The calls that change a body add its number; the step empties the set once it has
/// succeeded.
#ifndef CR_FRAME_CHANGES_H
#define CR_FRAME_CHANGES_H

#include "base/array.h"
#include <string.h>

typedef struct cr_changes {
	CR_ARRAY(uint64_t) words;
} cr_changes;

/// Make room for the numbers below count. false: out of memory.
static inline bool cr_reserve_changes(carom_context *memory, cr_changes *changes, int64_t count)
{
	const int64_t words = (count + 63) / 64;
	if (!cr_array_reserve(memory, &changes->words, words))
		return false;
	while (changes->words.count < words)
		changes->words.data[changes->words.count++] = 0;
	return true;
}

/// Add a number that there is room for.
static inline void cr_add_change(cr_changes *changes, int64_t number)
{
	changes->words.data[number / 64] |= (uint64_t)1 << (number % 64);
}

/// Add all numbers below count, for which there is room.
static inline void cr_add_all_changes(cr_changes *changes, int64_t count)
{
	if (count > 0)
		memset(changes->words.data, 0xff, (size_t)((count + 63) / 64) * sizeof *changes->words.data);
}

static inline void cr_clear_changes(cr_changes *changes)
{
	if (changes->words.count > 0)
		memset(changes->words.data, 0, (size_t)changes->words.count * sizeof *changes->words.data);
}

/// The first number of the set from one on, below end; end: there is none. changes NULL: all
/// numbers are in the set.
static inline int64_t cr_next_change(const cr_changes *changes, int64_t from, int64_t end)
{
	if (!changes || from >= end)
		return from < end ? from : end;
	int64_t word = from / 64;
	uint64_t bits = changes->words.data[word] & (~(uint64_t)0 << (from % 64));
	while (bits == 0 && (word + 1) * 64 < end)
		bits = changes->words.data[++word];
	const int64_t found = bits == 0 ? end : word * 64 + __builtin_ctzll(bits);
	return found < end ? found : end;
}

#endif
