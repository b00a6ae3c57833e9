/// Granular bodies that take part in something, with all of their spheres in one row; and records
/// for the workers that go through it. Shared by contacts and impacts of spheres.
#ifndef CR_WORLD_GRANULAR_BODIES_H
#define CR_WORLD_GRANULAR_BODIES_H

#include "base/array.h"
#include "frame/body.h"

typedef CR_ARRAY(int32_t) cr_listed_bodies; // by number
typedef CR_ARRAY(int64_t) cr_listed_firsts; // [bodies + 1] of their spheres among those of all

/// List the granular bodies that are wanted; NULL: all. false: out of memory.
bool cr_list_granular(carom_world *world, bool (*wanted)(const cr_body *), cr_listed_bodies *bodies, cr_listed_firsts *first);

/// The listed body, of count, that a sphere belongs to. first: of their spheres.
static inline int64_t cr_listed_of(const int64_t *first, int64_t count, int64_t sphere)
{
	int64_t low = 0, high = count;
	while (high - low > 1) {
		const int64_t middle = (low + high) / 2;
		if (first[middle] <= sphere)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/// Records of size bytes, one for each worker of a world, zero at first: those that are there stay.
/// *count: how many. NULL: out of memory.
void *cr_keep_workers(carom_world *world, void *workers, size_t size, int32_t *count);

#endif
