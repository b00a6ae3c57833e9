/// Forces on the spheres of one process: own ones first, then ghosts. What pair_style carom
/// computes; it knows nothing of LAMMPS.
#ifndef CAROM_LAMMPS_GRAINS_H
#define CAROM_LAMMPS_GRAINS_H

#include "carom_lammps.h"
#include "spring_store.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The caller's arrays, read where they are.
typedef struct grain_atoms {
	int64_t own, count;                         ///< own ones, and with ghosts
	const double *centres, *velocities, *spins; ///< [3*count]
	const double *radii, *masses;               ///< [count]
	const void *ids;                            ///< [count] above 0
	bool wide;                                  ///< ids have 64 bits, else 32
	const int *groups;                          ///< [count] bits
	int frozen;                                 ///< the bit of spheres whose mass does not count
	double largest;                             ///< radius; equal on all processes
} grain_atoms;

/// Where sums go: all are added to.
typedef struct grain_sums {
	double *forces, *torques; ///< [3*own]
	double *virial;           ///< [6] xx, yy, zz, xy, xz, yz; NULL: not wanted
	double *virials;          ///< [6*own] of each sphere; NULL: not wanted
} grain_sums;

typedef struct grains grains;

/// skin: how much further than they touch spheres are listed. NULL: error says why. Free with
/// grains_destroy.
grains *grains_create(const carom_lammps_law *law, double skin, char *error, int error_size);
void grains_destroy(grains *g);

/// A new list of neighbours. It holds for grains_compute while no sphere has moved by more than
/// half of the skin and the arrays hold the same spheres. springs: of laws with history, else NULL;
/// they are with the list until spring_store_take_back, after which a new list must be made. False:
/// grains_error says why.
bool grains_list(grains *g, const grain_atoms *atoms, spring_store *springs);

/// Add the forces. Springs are stretched by a step of time, or not for time_step 0. Sums do not
/// depend on the order in which they are made, and so not on how spheres are shared out.
void grains_compute(grains *g, const grain_atoms *atoms, double time_step, const grain_sums *sums);

const char *grains_error(const grains *g);
carom_lammps_stats grains_get_stats(const grains *g);
/// Bytes of lists of neighbours. NULL: 0.
size_t grains_bytes(const grains *g);

#ifdef __cplusplus
}
#endif
#endif
