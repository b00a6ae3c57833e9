/// Order of spheres along the Morton curve through their box.
#ifndef CR_SPHERES_SPHERE_ORDER_H
#define CR_SPHERES_SPHERE_ORDER_H

#include "spheres/sphere_set.h"
#include "tree/morton.h"

/// keys[i] = code of sphere i, i: the first count spheres of the set, sorted by code, equal ones by
/// i, ghosts behind all others (bit CR_MORTON_BITS of the key). scratch has the same size.
/// Parallel; the same result for any number of threads.
carom_result cr_morton_sort(const cr_sphere_set *set, uint32_t count, cr_key *keys, cr_key *scratch);

/// The order of the set's real spheres: order[k] is the place of the k-th.
carom_result cr_morton_order(carom_context *context, const cr_sphere_set *set, uint32_t *order);

#endif
