/// @file sweep_isa.h
/// Functions that the kernel files of this folder call in each other, for the instruction set that
/// they are compiled for. They alone include this.
#ifndef CR_SWEEP_ISA_H
#define CR_SWEEP_ISA_H

#include "sweep/sweep_kernels.h"
#include "math/simd.h"

extern const cr_sweep_kernels CR_ISA_NAME(cr_sweep_kernels);

// sweep_features.c
void CR_ISA_NAME(cr_list_features)(
	const cr_sweep_tree *tree, const cr_leaf_pair *leaves, int32_t count, bool every, cr_sweep_queries *queries);

#endif
