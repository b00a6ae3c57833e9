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

/// Do the boxes of two edges overlap, each that of the boxes of its two vertices? They are not
/// stored: most of them are looked at less than once in a step.
static inline bool cr_overlap_edges_dop(const cr_sweep_boxes *vertices, const int32_t e[2], const int32_t f[2])
{
	const float *p = vertices->main + CR_DOP_STRIDE * (int64_t)e[0], *q = vertices->main + CR_DOP_STRIDE * (int64_t)e[1];
	const float *r = vertices->main + CR_DOP_STRIDE * (int64_t)f[0], *s = vertices->main + CR_DOP_STRIDE * (int64_t)f[1];
	const f8 low_e = f8_min(f8_load(p), f8_load(q)), high_e = f8_max(f8_load(p + 8), f8_load(q + 8));
	const f8 low_f = f8_min(f8_load(r), f8_load(s)), high_f = f8_max(f8_load(r + 8), f8_load(s + 8));
	const m8 meet = m8_and(f8_le(low_e, high_f), f8_le(low_f, high_e));
	const float *a = vertices->last + 2 * (int64_t)e[0], *b = vertices->last + 2 * (int64_t)e[1];
	const float *c = vertices->last + 2 * (int64_t)f[0], *d = vertices->last + 2 * (int64_t)f[1];
	// One interval begins below the end of another where one of its two does, below one of the
	// other's two ends.
	const bool first = (a[0] <= c[1]) | (a[0] <= d[1]) | (b[0] <= c[1]) | (b[0] <= d[1]);
	const bool second = (c[0] <= a[1]) | (c[0] <= b[1]) | (d[0] <= a[1]) | (d[0] <= b[1]);
	return (m8_bits(meet) == 0xff) & first & second;
}

static inline bool cr_overlap_edges_aabb(const cr_sweep_boxes *vertices, const int32_t e[2], const int32_t f[2])
{
	const float *p = vertices->main + CR_AABB_STRIDE * (int64_t)e[0], *q = vertices->main + CR_AABB_STRIDE * (int64_t)e[1];
	const float *r = vertices->main + CR_AABB_STRIDE * (int64_t)f[0], *s = vertices->main + CR_AABB_STRIDE * (int64_t)f[1];
	bool meet = true;
	for (int k = 0; k < 3; k++) {
		const float low_e = p[k] < q[k] ? p[k] : q[k], high_e = p[4 + k] > q[4 + k] ? p[4 + k] : q[4 + k];
		const float low_f = r[k] < s[k] ? r[k] : s[k], high_f = r[4 + k] > s[4 + k] ? r[4 + k] : s[4 + k];
		meet &= (low_e <= high_f) & (low_f <= high_e);
	}
	return meet;
}

static inline bool cr_overlap_edges(bool dop, const cr_sweep_boxes *vertices, const int32_t e[2], const int32_t f[2])
{
	return dop ? cr_overlap_edges_dop(vertices, e, f) : cr_overlap_edges_aabb(vertices, e, f);
}

#endif
