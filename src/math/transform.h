/// A rigid transform in float, p -> R p + t: relative poses of pairs, computed in double and used
/// in float.
#ifndef CR_MATH_TRANSFORM_H
#define CR_MATH_TRANSFORM_H

#include "math/vec.h"

typedef struct cr_transform {
	float r[3][3]; // rows of R
	float t[3];
} cr_transform;

static inline cr_transform cr_make_transform(const m3d *rotation, v3d translation)
{
	cr_transform m;
	for (int i = 0; i < 3; i++) {
		m.r[i][0] = (float)rotation->row[i].x;
		m.r[i][1] = (float)rotation->row[i].y;
		m.r[i][2] = (float)rotation->row[i].z;
	}
	m.t[0] = (float)translation.x;
	m.t[1] = (float)translation.y;
	m.t[2] = (float)translation.z;
	return m;
}

#endif
