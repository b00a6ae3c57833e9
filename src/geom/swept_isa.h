/// @file swept_isa.h
/// The table of swept_kernels.c for the instruction set that it is compiled for. That file alone
/// includes this.
#ifndef CR_SWEPT_ISA_H
#define CR_SWEPT_ISA_H

#include "geom/swept_kernels.h"
#include "math/simd.h"

extern const cr_swept_kernels CR_ISA_NAME(cr_swept_kernels);

#endif
