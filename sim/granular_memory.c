// Memory and time for the granular simulation.
#ifdef __linux__
#define _DEFAULT_SOURCE // madvise
#endif
#include "sim/granular_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum { ALIGNMENT = 64, HUGE_PAGE = 1 << 21 };

// Large arrays on large pages, where the system gives them when asked: spheres of a block and its halo lie strewn over them, and each
// small page costs a look-up (a settled heap of a million: 4 % of a step).
static void *allocate(size_t size)
{
	const size_t alignment = size < 2 * HUGE_PAGE ? ALIGNMENT : HUGE_PAGE;
	const size_t rounded = (size + alignment - 1) / alignment * alignment;
	void *memory = aligned_alloc(alignment, rounded);
#ifdef MADV_HUGEPAGE
	if (memory && alignment == HUGE_PAGE)
		madvise(memory, rounded, MADV_HUGEPAGE); // only a wish
#endif
	return memory;
}

void *granular_alloc(sim_granular *granular, size_t size)
{
	if (size == 0 || size > SIZE_MAX - HUGE_PAGE)
		return NULL;
	const carom_allocator *allocator = &granular->allocator;
	void *pointer = allocator->allocate ? allocator->allocate(size, ALIGNMENT, allocator->user) : allocate(size);
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
