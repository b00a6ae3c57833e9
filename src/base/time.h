/// The clock for the milliseconds in stats.
#ifndef CR_BASE_TIME_H
#define CR_BASE_TIME_H

#include "base/float_mode.h"

/// Monotonic wall time in milliseconds from some fixed point.
double cr_time_ms(void);

#endif
