/// @file bench_random.h
/// Random numbers of the benches: the splitmix64 generator (Steele, Lea and Flood, 2014).
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

/// The next number of a sequence, from low up to high; it changes the state.
static inline double random_between(uint64_t *state, double low, double high)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return low + (high - low) * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53);
}

#endif
