/// Order along the Morton curve: 64-bit codes of 21 bits an axis, and a parallel sort by them.
#ifndef CR_SPHERES_MORTON_H
#define CR_SPHERES_MORTON_H

#include "base/radix.h"
#include "spheres/sphere_set.h"

enum { CR_MORTON_AXIS_BITS = 21, CR_MORTON_BITS = 3 * CR_MORTON_AXIS_BITS };

/// The cube that the curve fills: cells of equal width on all axes, so that neighbours on the curve are near in every direction.
typedef struct cr_morton_frame {
	double lower[3];
	double scale; // cells per unit of length; 0: the box is a point
} cr_morton_frame;

/// The frame of a box; lower[k] <= upper[k].
cr_morton_frame cr_make_morton_frame(const float lower[3], const float upper[3]);

/// The code of a point; points outside of the cube get that of the cell nearest to them on each axis.
uint64_t cr_morton_code(const cr_morton_frame *frame, double x, double y, double z);

/// keys[i] = code of sphere i, i: the first count spheres of the set, sorted by code, equal ones by i. scratch has the same size.
/// Parallel; the same result for any number of threads.
carom_result cr_morton_sort(const cr_sphere_set *set, uint32_t count, cr_key *keys, cr_key *scratch);

/// Sort keys[count] by the lowest bits of their key (at most 64), stable, in parallel: by their upper bits into many heaps, and each
/// heap by itself.
carom_result cr_sort_keys(carom_context *context, cr_key *keys, cr_key *scratch, int64_t count, int bits);

/// The order of the set's real spheres along the curve through their box: order[k] is the place of the k-th.
carom_result cr_morton_order(carom_context *context, const cr_sphere_set *set, uint32_t *order);

#endif
