/// A rigid transform in float, p -> R p + t: relative poses of pairs, computed in double and used in float.
#ifndef CR_MATH_TRANSFORM_H
#define CR_MATH_TRANSFORM_H

typedef struct cr_transform {
	float r[3][3]; // rows of R
	float t[3];
} cr_transform;

#endif
