/// Which instruction sets this machine has.
#ifndef CR_BASE_CPU_H
#define CR_BASE_CPU_H

#include "carom/base.h"

/// Tell whether the processor has a set, and whether the system saves its registers. AUTO counts as
/// none.
bool cr_cpu_has(carom_simd simd);

#endif
