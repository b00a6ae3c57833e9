/// The clock for the milliseconds in stats.
#ifndef CR_BASE_TIME_H
#define CR_BASE_TIME_H

/// Monotonic wall time in milliseconds from some fixed point.
double cr_time_ms(void);

#endif
