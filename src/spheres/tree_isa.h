/// @file tree_isa.h
/// The table of tree_kernels.c for the instruction set that it is compiled for. That file alone
/// includes this.
#ifndef CR_TREE_ISA_H
#define CR_TREE_ISA_H

#include "spheres/tree_kernels.h"
#include "math/simd.h"

extern const cr_tree_kernels CR_ISA_NAME(cr_tree_kernels);

#endif
