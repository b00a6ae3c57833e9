/// Sums of forces over the rows of neighbours.
#ifndef CR_SPHERES_SPHERE_FORCES_H
#define CR_SPHERES_SPHERE_FORCES_H

#include "carom/spheres.h"

/// carom_spheres_sum_forces, once there are rows. Adds to the time and the tests of the search.
void cr_sum_forces(carom_spheres *spheres, carom_sphere_force_fn *fn, void *user, double *forces, double *torques);

#endif
