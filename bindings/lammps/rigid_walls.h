/// What walls carry: force and torque of each, as sums over rows of contacts (rigid_scene.h).
///
/// Bodies of many processes press on one wall, so the sum must not depend on how they are shared
/// out. It is made in whole numbers: the largest share of all processes tells how fine they are.
#ifndef CAROM_LAMMPS_RIGID_WALLS_H
#define CAROM_LAMMPS_RIGID_WALLS_H

#include "rigid_scene.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	RIGID_LOAD = 6,                   ///< numbers of a wall: force, torque
	RIGID_LOAD_PARTS = 2 * RIGID_LOAD ///< whole numbers of a wall: coarse ones, then fine ones
};

/// The largest absolute value of any share of a load; infinite if one is not finite. Torques are
/// about `about` of each motion.
double rigid_walls_largest(const rigid_report *report, const rigid_wall_motion *walls);

/// The loads as whole numbers [RIGID_LOAD_PARTS * walls], from 0. largest: of all processes. Sums
/// of them over processes do not depend on any order; up to 2^22 contacts never overflow.
void rigid_walls_sum(const rigid_report *report, const rigid_wall_motion *walls, int wall_count, double largest, int64_t *parts);

/// Loads [RIGID_LOAD * walls] from the sums of parts over all processes. What is lost is below
/// 2^-80 of the largest share for each contact. NaN where one is not finite.
void rigid_walls_loads(const int64_t *parts, int wall_count, double largest, double *loads);

#ifdef __cplusplus
}
#endif
#endif
