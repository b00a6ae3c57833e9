/// Hashes of places, for tables of vertices.
#ifndef CR_MESH_PLACE_HASH_H
#define CR_MESH_PLACE_HASH_H

#include "math/vec.h"
#include <stdint.h>
#include <string.h>

/// The last mixing step of splitmix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number
/// Generators, 2014).
static inline uint64_t cr_mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/// Equal numbers have equal hashes: 0 and -0 too.
static inline uint64_t cr_hash_place(v3d p)
{
	const double values[3] = { p.x, p.y, p.z };
	uint64_t hash = 0;
	for (int axis = 0; axis < 3; axis++) {
		uint64_t bits;
		const double value = values[axis] == 0 ? 0 : values[axis];
		memcpy(&bits, &value, sizeof value);
		hash = cr_mix64(hash + bits);
	}
	return hash;
}

#endif
