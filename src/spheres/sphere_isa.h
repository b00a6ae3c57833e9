/// @file sphere_isa.h
/// Functions that the kernel files of grids call in each other, for the instruction set that they
/// are compiled for. They alone include this.
#ifndef CR_SPHERE_ISA_H
#define CR_SPHERE_ISA_H

#include "spheres/sphere_kernels.h"
#include "math/simd.h"

extern const cr_sphere_kernels CR_ISA_NAME(cr_sphere_kernels);

// level_kernels.c
extern cr_locate_fn CR_ISA_NAME(cr_locate_levels);
void CR_ISA_NAME(cr_find_in_level)(
	const cr_level_grid *grid, const cr_sphere_search *search, int32_t level, int64_t begin, int64_t end);

#endif
