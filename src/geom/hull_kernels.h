/// Wide search of points and normals of a hull: one table for each instruction set, all with the
/// same bits.
#ifndef CR_GEOM_HULL_KERNELS_H
#define CR_GEOM_HULL_KERNELS_H

#include "base/float_mode.h"
#include "carom/base.h"
#include <stdint.h>

/// Vectors in blocks of eight: x of eight, y of eight, z of eight.
enum { CR_ROW_WIDTH = 8, CR_ROW_DOUBLES = 3 * CR_ROW_WIDTH };

typedef struct cr_hull_kernels {
	/// The vector that lies farthest along d, of blocks >= 1 blocks; of equally far ones the first.
	int32_t (*farthest)(const double *rows, int32_t blocks, const double d[3]);
} cr_hull_kernels;

/// The table for an instruction set that was built in.
const cr_hull_kernels *cr_get_hull_kernels(carom_simd simd);

#endif
