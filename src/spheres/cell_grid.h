/// One grid over all spheres, cells at least as wide as the largest reach: for spheres of about one
/// size, anywhere in a box.
#ifndef CR_SPHERES_CELL_GRID_H
#define CR_SPHERES_CELL_GRID_H

#include "spheres/sphere_detector.h"

/// About how many distances cr_grid_detector would compute for this set: good to a factor of two,
/// from a sample, some hundred microseconds. Infinite when out of memory.
double cr_grid_expected_tests(const cr_sphere_set *set);

#endif
