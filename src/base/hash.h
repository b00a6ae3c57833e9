/// FNV-1a, 64 bits (Fowler, Noll, Vo), over eight-byte words: hashes of results, not of secrets.
#ifndef CR_BASE_HASH_H
#define CR_BASE_HASH_H

#include <stdint.h>
#include <string.h>

#define CR_HASH_SEED 0xcbf29ce484222325u

static inline uint64_t cr_hash_u64(uint64_t hash, uint64_t word)
{
	// A multiply mixes upwards only; the shift brings the high bits back down between words.
	hash = (hash ^ word) * 0x100000001b3u;
	return hash ^ (hash >> 29);
}

static inline uint64_t cr_hash_double(uint64_t hash, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return cr_hash_u64(hash, bits);
}

#endif
