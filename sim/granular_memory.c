// Memory and time for the granular simulation.
#include "sim/granular_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ALIGNMENT = 64 };

void *granular_alloc(sim_granular *granular, size_t size)
{
	if (size == 0 || size > SIZE_MAX - ALIGNMENT)
		return NULL;
	const carom_allocator *allocator = &granular->allocator;
	void *pointer = allocator->allocate ? allocator->allocate(size, ALIGNMENT, allocator->user)
										: aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
	if (pointer)
		granular->bytes += size;
	return pointer;
}

void granular_free(sim_granular *granular, void *pointer, size_t size)
{
	if (!pointer)
		return;
	granular->bytes -= size;
	if (granular->allocator.release)
		granular->allocator.release(pointer, size, ALIGNMENT, granular->allocator.user);
	else
		free(pointer);
}

bool granular_no_memory(const char *what, char *error, size_t error_size)
{
	snprintf(error, error_size, "out of memory for %s", what);
	return false;
}

double granular_now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}
