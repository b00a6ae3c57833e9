/// @file line_isa.h
/// The table of line_kernels.c for the instruction set that it is compiled for. It alone includes
/// this.
#ifndef CR_LAB_LINE_ISA_H
#define CR_LAB_LINE_ISA_H

#include "lab/sweep_line.h"
#include "math/simd.h"

extern const cr_line_kernels CR_ISA_NAME(cr_line_kernels);

#endif
