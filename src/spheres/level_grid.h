/// A grid for each class of radii, in one sorted array: for wide ranges of sizes, and for spheres
/// that lie in heaps far from each other.
#ifndef CR_SPHERES_LEVEL_GRID_H
#define CR_SPHERES_LEVEL_GRID_H

#include "spheres/sphere_detector.h"

/// About how many distances cr_levels_detector would compute for this set; looking into other
/// levels is counted as the distances that it costs as much as. From a sample, some hundred
/// microseconds for each level; infinite when out of memory.
double cr_levels_expected_tests(const cr_sphere_set *set);

#endif
