/// @file detect_isa.h
/// Functions that the kernel files of this folder call in each other, for the instruction set that
/// they are compiled for. They alone include this.
#ifndef CR_CONTACT_CONTACT_ISA_H
#define CR_CONTACT_CONTACT_ISA_H

#include "frame/contact_kernels.h"
#include "math/simd.h"

extern const cr_contact_kernels CR_ISA_NAME(cr_contact_kernels);

// crossing_kernels.c
void CR_ISA_NAME(cr_find_pierces)(const cr_collider *a, const cr_collider *b, const m3d *rotation, v3d translation,
	const cr_candidate *pairs, int32_t count, cr_pierces8 *found);

// plane_kernels.c
uint32_t CR_ISA_NAME(cr_measure_row)(const cr_corner_columns *c, const cr_plane_row *row, int32_t begin, int32_t end,
	float *depth, float *unproved, uint8_t *left, float *nearest);
float CR_ISA_NAME(cr_find_deepest)(const float *depth, const int32_t *waits, int32_t count);
void CR_ISA_NAME(cr_settle_corners)(const float *depth, float most, int32_t count, int32_t *waits);
void CR_ISA_NAME(cr_measure_hull_heights)(const cr_hull_side *corners, const cr_hull_side *planes, cr_hull_heights *heights);
int32_t CR_ISA_NAME(cr_find_highest)(const double *const normal[3], const double *offset, int32_t count, v3d at, double *most);

#endif
