/// Whether boxes of a swept tree overlap. For the files that are compiled once for each instruction
/// set.
#ifndef CR_SWEEP_SWEEP_OVERLAP_H
#define CR_SWEEP_SWEEP_OVERLAP_H

#include "math/simd.h"
#include "sweep/sweep_tree.h"

/// Do two boxes overlap? Without branches: which axis tells two boxes apart, and whether one does,
/// cannot be foreseen.
static inline bool cr_overlap_dop(const cr_sweep_boxes *first, int64_t a, const cr_sweep_boxes *second, int64_t b)
{
	const float *p = first->main + CR_DOP_STRIDE * a, *q = second->main + CR_DOP_STRIDE * b;
	const float *s = first->last + 2 * a, *t = second->last + 2 * b;
	const m8 meet = m8_and(f8_le(f8_load(p), f8_load(q + 8)), f8_le(f8_load(q), f8_load(p + 8)));
	return (m8_bits(meet) == 0xff) & (s[0] <= t[1]) & (t[0] <= s[1]);
}

static inline bool cr_overlap_aabb(const cr_sweep_boxes *first, int64_t a, const cr_sweep_boxes *second, int64_t b)
{
	const float *p = first->main + CR_AABB_STRIDE * a, *q = second->main + CR_AABB_STRIDE * b;
	return (p[0] <= q[4]) & (q[0] <= p[4]) & (p[1] <= q[5]) & (q[1] <= p[5]) & (p[2] <= q[6]) & (q[2] <= p[6]);
}

static inline bool cr_overlap(bool dop, const cr_sweep_boxes *first, int64_t a, const cr_sweep_boxes *second, int64_t b)
{
	return dop ? cr_overlap_dop(first, a, second, b) : cr_overlap_aabb(first, a, second, b);
}

#endif
