/// Boxes along the axes, float (box3f) and double (box3d), closed.
#ifndef CR_MATH_BOX3_H
#define CR_MATH_BOX3_H

#include <math.h>
#include <stdbool.h>

typedef struct box3f {
	float lower[3], upper[3];
} box3f;

typedef struct box3d {
	double lower[3], upper[3];
} box3d;

/// The box of nothing: lower above upper.
static const box3f BOX3F_NONE = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
static const box3d BOX3D_NONE = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };

/// The box around two.
static inline box3f box3f_join(const box3f *a, const box3f *b)
{
	box3f r;
	for (int k = 0; k < 3; k++) {
		r.lower[k] = a->lower[k] < b->lower[k] ? a->lower[k] : b->lower[k];
		r.upper[k] = a->upper[k] > b->upper[k] ? a->upper[k] : b->upper[k];
	}
	return r;
}
static inline box3d box3d_join(const box3d *a, const box3d *b)
{
	box3d r;
	for (int k = 0; k < 3; k++) {
		r.lower[k] = a->lower[k] < b->lower[k] ? a->lower[k] : b->lower[k];
		r.upper[k] = a->upper[k] > b->upper[k] ? a->upper[k] : b->upper[k];
	}
	return r;
}

/// Half of the area, in double. Of a box that is not empty.
static inline double box3d_area(const box3d *b)
{
	const double x = b->upper[0] - b->lower[0], y = b->upper[1] - b->lower[1], z = b->upper[2] - b->lower[2];
	return x * y + y * z + z * x;
}
static inline double box3f_area(const box3f *b)
{
	const double x = (double)b->upper[0] - b->lower[0], y = (double)b->upper[1] - b->lower[1];
	const double z = (double)b->upper[2] - b->lower[2];
	return x * y + y * z + z * x;
}

static inline bool box3d_overlap(const box3d *a, const box3d *b)
{
	return (a->lower[0] <= b->upper[0]) & (b->lower[0] <= a->upper[0]) & (a->lower[1] <= b->upper[1]) &
		(b->lower[1] <= a->upper[1]) & (a->lower[2] <= b->upper[2]) & (b->lower[2] <= a->upper[2]);
}

/// Does a box hold another wholly?
static inline bool box3d_contains(const box3d *outer, const box3d *inner)
{
	bool inside = true;
	for (int k = 0; k < 3; k++)
		inside = inside && inner->lower[k] >= outer->lower[k] && inner->upper[k] <= outer->upper[k];
	return inside;
}

#endif
