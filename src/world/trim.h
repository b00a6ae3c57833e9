/// Giving back memory that a world does not need any more (world/trim.c).
#ifndef CR_WORLD_TRIM_H
#define CR_WORLD_TRIM_H

#include "world/world.h"

/// Give up the numbers behind the last body, and let the free ones be given out lowest first.
void cr_trim_numbers(carom_world *world);
/// Give back all memory that bodies, results and the memory of pairs do not need. views_end: the
/// arrays that views show may move. No id and no later result depends on it. Cannot fail.
void cr_trim_memory_of(carom_world *world, bool views_end);
/// Where a call failed since memory_budget had no room, do so. Returns whether that gave anything
/// back, so that the call is worth another try. refusals: their count before the call.
bool cr_relieve(carom_world *world, const char *function, unsigned refusals, carom_result result, bool views_end);

#endif
