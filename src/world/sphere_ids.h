/// Ids of the spheres of granular bodies: which sphere of the last step is which now.
#ifndef CR_WORLD_SPHERE_IDS_H
#define CR_WORLD_SPHERE_IDS_H

#include "base/array.h"
#include "frame/body.h"

/// Where the ids of a body go when it gets other spheres. Nothing of the body changes before
/// cr_take_renaming.
typedef struct cr_renaming {
	int32_t count;       // spheres that the body will have
	const uint64_t *ids; // [count] of these; NULL: their numbers
	bool same;           // all ids stay where they are
	// [count] number among the present spheres of the one that has the id; -1: none has it. Empty
	// where all stay.
	cr_sphere_numbers from;
} cr_renaming;

/// Find out where spheres go. ids [count]; NULL: those that the body has where count is the old
/// one, else their numbers. CAROM_INVALID_ARGUMENT: two ids are equal. Give it back with
/// cr_free_renaming, also on failure.
carom_result cr_find_renaming(carom_world *world, const cr_granular *granular, int32_t count, const uint64_t *ids,
	const char *function, cr_renaming *renaming);
/// Make room in the body for cr_take_renaming. False: out of memory.
bool cr_prepare_renaming(carom_world *world, cr_granular *granular, const cr_renaming *renaming);
/// Give the body its ids, and let it remember where its spheres were at the last step. Cannot fail.
void cr_take_renaming(carom_context *memory, cr_granular *granular, cr_renaming *renaming);
void cr_free_renaming(carom_context *memory, cr_renaming *renaming);

/// The number that a sphere had at the last step; -1: it was not there.
static inline int32_t cr_sphere_then(const cr_granular *granular, int32_t sphere)
{
	return granular->was.count > 0 ? granular->was.data[sphere] : sphere;
}

#endif
