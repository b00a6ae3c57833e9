/// @file bench_clock.h
/// The clock of benches that measure one thread.
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <time.h>

/// Processor time of the calling thread, microseconds.
static inline double bench_thread_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

#endif
