/// Pairs of triangles that intersect, on the coordinates as they were given. See surface_pairs.c.
#ifndef CR_WORLD_SURFACE_PAIRS_H
#define CR_WORLD_SURFACE_PAIRS_H

#include "carom/mesh.h"

/// Find the pairs of triangles of one mesh that intersect and share no vertex, sorted; the first
/// capacity of them are written. False when out of memory, with *count 0.
bool cr_find_self_pairs(const carom_mesh *mesh, int32_t capacity, int32_t (*pairs)[2], int32_t *count);

#endif
