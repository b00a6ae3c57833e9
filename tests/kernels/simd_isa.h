/// @file simd_isa.h
/// The table of simd_ops.c for the instruction set that it is compiled for. That file alone includes this.
#ifndef TESTS_SIMD_ISA_H
#define TESTS_SIMD_ISA_H

#include "simd_ops.h"
#include "math/simd.h"

extern const simd_ops CR_ISA_NAME(simd_ops);

#endif
