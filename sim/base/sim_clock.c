// The clock: see sim_clock.h.
#include "sim/base/sim_clock.h"

#include <time.h>

double sim_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}
