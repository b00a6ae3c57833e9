/// @file soft_geodesic.h
/// Distances along a surface, so far as a few hundred triangles.
#ifndef SIM_SOFT_GEODESIC_H
#define SIM_SOFT_GEODESIC_H

#include "sim/cloth/soft_state.h"

typedef struct soft_geodesic soft_geodesic;

/// For the surfaces as they are now. NULL when memory is short.
soft_geodesic *soft_create_geodesic(const sim_soft *soft);
void soft_destroy_geodesic(soft_geodesic *geodesic);

/// The distances from a vertex to others, along the surface: exact where it can be unfolded into a
/// plane around the vertex. INFINITY where there is no way. False when memory is short.
bool soft_find_distances(soft_geodesic *geodesic, int32_t from, const int32_t *to, int32_t count, double *distances);

#endif
