/// The clock. See base/time.h.
#include "base/time.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

double cr_time_ms(void)
{
	LARGE_INTEGER ticks, per_second;
	QueryPerformanceCounter(&ticks);
	QueryPerformanceFrequency(&per_second);
	return (double)ticks.QuadPart * 1e3 / (double)per_second.QuadPart;
}

#else
#include <time.h>

double cr_time_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

#endif
