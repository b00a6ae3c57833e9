// Memory and time for the granular simulation.
#include "sim/grains/granular_state.h"

enum { ALIGNMENT = 64 };

void *granular_alloc(sim_granular *granular, size_t size)
{
	if (size == 0)
		return NULL;
	const carom_allocator *allocator = &granular->allocator;
	void *pointer = allocator->allocate(size, ALIGNMENT, allocator->user);
	if (pointer)
		granular->bytes += size;
	return pointer;
}

void granular_free(sim_granular *granular, void *pointer, size_t size)
{
	if (!pointer)
		return;
	granular->bytes -= size;
	granular->allocator.release(pointer, size, ALIGNMENT, granular->allocator.user);
}

bool granular_no_memory(const char *what, sim_error *error) { return sim_fail(error, "out of memory for %s", what); }
