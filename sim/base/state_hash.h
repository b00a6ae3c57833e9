/// @file state_hash.h
/// The hash of simulations: FNV-1a (Fowler, Noll, Vo) over words of eight bytes, with the high bits
/// mixed back down.
#ifndef SIM_STATE_HASH_H
#define SIM_STATE_HASH_H

#include <stdint.h>
#include <string.h>

/// The hash of nothing.
#define SIM_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t sim_hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x100000001b3);
	return hash ^ (hash >> 29);
}

/// The bits of numbers.
static inline uint64_t sim_hash_doubles(uint64_t hash, const double *numbers, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		uint64_t word;
		memcpy(&word, &numbers[i], sizeof word);
		hash = sim_hash_word(hash, word);
	}
	return hash;
}

/// The bytes of a text, each as a word.
static inline uint64_t sim_hash_text(uint64_t hash, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = sim_hash_word(hash, (unsigned char)text[i]);
	return hash;
}

#endif
