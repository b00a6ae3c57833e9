/// Wide filters of swept queries: one table for each instruction set, all with the same bits.
#ifndef CR_GEOM_SWEPT_KERNELS_H
#define CR_GEOM_SWEPT_KERNELS_H

#include "geom/swept.h"

typedef struct cr_swept_kernels {
	/// Queries begin..begin+count-1 that no filter can rule out, as offsets from begin, ascending;
	/// returns how many. A query that is not among them has certainly no impact: its features stay
	/// more than min_separation (>= 0) apart. stats counts those that each filter ruled out.
	int32_t (*filter)(const cr_swept_queries *queries, int64_t begin, int32_t count, double min_separation, int32_t *left,
		cr_swept_stats *stats);
} cr_swept_kernels;

/// The table for an instruction set that was built in.
const cr_swept_kernels *cr_get_swept_kernels(carom_simd simd);

#endif
