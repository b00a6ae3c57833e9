/// @file hull_isa.h
/// The table of hull_kernels.c for the instruction set that it is compiled for. That file alone
/// includes this.
#ifndef CR_GEOM_HULL_ISA_H
#define CR_GEOM_HULL_ISA_H

#include "geom/hull_kernels.h"
#include "math/simd.h"

extern const cr_hull_kernels CR_ISA_NAME(cr_hull_kernels);

#endif
