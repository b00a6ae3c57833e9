/// The clock. See base/time.h.
#include "base/time.h"
#include <time.h>

double cr_time_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}
