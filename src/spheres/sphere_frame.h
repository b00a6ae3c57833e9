/// The frame of a set: from which places its spheres are measured, so that single precision tells
/// them apart.
///
/// Doubles are rounded about the middle of their box, which loses 2^-24 of its extent. One sphere
/// that has flown off, or two heaps far apart, make this more than all sizes, and everything in a
/// heap would be as near as can be told. So the set is looked at (cr_frame_resolves), and where
/// many spheres fall together the empty space between them is cut out (cr_cut_gaps).
///
/// Cutting. Along one axis sphere i covers the interval x_i -+ h_i, h_i a little more than r_i +
/// skin / 2. Where no interval covers a stretch of the axis, a gap, everything above it is moved
/// down until the gap is narrow. This is a map x -> x - shift(x) whose shift is constant between
/// gaps.
/// Claim 1: of a pair that touches (distance <= r_a + r_b + skin) the difference of coordinates
/// stays as it is. Proof: on each axis the two intervals meet, so no gap lies between them, and
/// both have the same shift. h has room for the roundings of the test (2^-50 of the reach, and
/// squares that vanish) and gaps narrower than 2^-47 of the largest coordinate stay, which is more
/// than the roundings of the intervals' ends.
/// Claim 2: a pair that does not touch does not come to touch. Proof: with the same shifts its
/// distance is as it was. With other shifts on one axis a gap lies between the two intervals, and
/// some of it is left: along this axis their centres are h_a
/// + h_b apart, or more. So the map may stand in for the coordinates in every decision of a
///   detector, with the error of
/// rounding the mapped coordinates to float: 2^-24 of the summed lengths that the intervals cover,
/// however far apart they are. Decisions too close for that are made from the coordinates as given,
/// as ever.
///
/// Cutting cannot mend sizes of all scales in one place: a heap of grains on a planet. Such sets go
/// to the wide tree (wide_tree.h).
#ifndef CR_SPHERES_SPHERE_FRAME_H
#define CR_SPHERES_SPHERE_FRAME_H

#include "spheres/sphere_input.h"

/// Can detectors tell the set's spheres apart? They cannot where about CROWD pairs or more for each
/// sphere are nearer to each other than the finest width of a detector's cells or of rounding: such
/// pairs are compared whether they touch or not. Takes no time where the smallest sphere is wider
/// than that; else it looks at a sample, and if they can, makes the set's box that of the sample,
/// without the few far out. CAROM_OUT_OF_MEMORY when there is none for the sample.
carom_result cr_check_frame(cr_sphere_set *set, bool *resolved);

/// Round exact[4*count] with the gaps cut out. bounds: of exact, to about its rounding; then those
/// of the result. O(count) for each of at most eight passes; one where a few gaps are all.
/// CAROM_OUT_OF_MEMORY leaves spheres and bounds undefined.
carom_result cr_cut_gaps(
	carom_context *context, const double *exact, uint32_t count, double skin, cr_sphere *spheres, cr_bounds4 *bounds);

#endif
