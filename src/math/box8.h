/// Eight boxes side by side: loads, transforms and overlap tests shared by the wide kernels.
/// Included by kernel files only.
#ifndef CR_MATH_BOX8_H
#define CR_MATH_BOX8_H

#include "math/simd.h"
#include "math/transform.h"

typedef struct box8 {
	f8 lower[3];
	f8 upper[3];
} box8;

static inline box8 load_boxes(const float lower[3][8], const float upper[3][8])
{
	box8 b;
	for (int k = 0; k < 3; k++) {
		b.lower[k] = f8_load(lower[k]);
		b.upper[k] = f8_load(upper[k]);
	}
	return b;
}

static inline void store_boxes(const box8 *boxes, float lower[3][8], float upper[3][8])
{
	for (int k = 0; k < 3; k++) {
		f8_store(lower[k], boxes->lower[k]);
		f8_store(upper[k], boxes->upper[k]);
	}
}

/// One box in all lanes.
static inline box8 spread_box(const float lower[3], const float upper[3])
{
	box8 b;
	for (int k = 0; k < 3; k++) {
		b.lower[k] = f8_set1(lower[k]);
		b.upper[k] = f8_set1(upper[k]);
	}
	return b;
}

/// Axis-aligned boxes around eight boxes that were turned and moved, grown by margin.
static inline box8 transform_boxes(const box8 *boxes, const cr_transform *m, f8 margin)
{
	const f8 half = f8_set1(0.5f);
	f8 centre[3], extent[3];
	for (int k = 0; k < 3; k++) {
		centre[k] = f8_mul(half, f8_add(boxes->lower[k], boxes->upper[k]));
		extent[k] = f8_mul(half, f8_sub(boxes->upper[k], boxes->lower[k]));
	}
	box8 r;
	for (int i = 0; i < 3; i++) {
		f8 c = f8_set1(m->t[i]), e = margin;
		for (int k = 0; k < 3; k++) {
			c = f8_add(c, f8_mul(f8_set1(m->r[i][k]), centre[k]));
			e = f8_add(e, f8_mul(f8_set1(fabsf(m->r[i][k])), extent[k]));
		}
		r.lower[i] = f8_sub(c, e);
		r.upper[i] = f8_add(c, e);
	}
	return r;
}

/// Lanes that overlap one box.
static inline m8 overlap_mask(const box8 *boxes, const float lower[3], const float upper[3])
{
	m8 m = m8_and(f8_le(boxes->lower[0], f8_set1(upper[0])), f8_le(f8_set1(lower[0]), boxes->upper[0]));
	for (int k = 1; k < 3; k++)
		m = m8_and(m, m8_and(f8_le(boxes->lower[k], f8_set1(upper[k])), f8_le(f8_set1(lower[k]), boxes->upper[k])));
	return m;
}

/// Which boxes overlap one box, as bits.
static inline uint32_t overlap_one(const box8 *boxes, const float lower[3], const float upper[3])
{
	return m8_bits(overlap_mask(boxes, lower, upper));
}

/// Lanes that overlap one lane of stored boxes.
static inline m8 overlap_lane_mask(const box8 *boxes, const float lower[3][8], const float upper[3][8], int lane)
{
	const float l[3] = { lower[0][lane], lower[1][lane], lower[2][lane] };
	const float u[3] = { upper[0][lane], upper[1][lane], upper[2][lane] };
	return overlap_mask(boxes, l, u);
}

/// Which boxes overlap the box of a lane, as bits.
static inline uint32_t overlap_lane(const box8 *boxes, const float lower[3][8], const float upper[3][8], int lane)
{
	return m8_bits(overlap_lane_mask(boxes, lower, upper, lane));
}

#endif
