/// Pairs of spheres of all scales in one place, in double, for sets that no frame in single
/// precision resolves (sphere_frame.h). A grain of a millimetre on a planet, a chain of spheres
/// from 1e-3 to 1e12.
///
/// Spheres are dealt into bands of radii, each 16 times as wide as the next finer one. Each band
/// gets a balanced tree of boxes over its centres, halved by their number along the longest side;
/// all in double. The boxes of one band are alike in width, so a large sphere widens no box of
/// small ones. A band is searched with itself, and with each finer one: the leaves of the one with
/// fewer spheres go through the tree of the other. O(n log n) to build, and O(n log n) beside the
/// pairs to search where bands do not crowd.
#ifndef CR_SPHERES_WIDE_TREE_H
#define CR_SPHERES_WIDE_TREE_H

#include "spheres/sphere_detector.h"

/// Reads nothing of a set but its doubles (cr_read_sphere).
extern const cr_sphere_detector cr_wide_detector;

#endif
