// Loaded before all else (LD_PRELOAD): malloc and its kin, which fail when told, for calls from
// carom/_carom.abi3.so alone. It needs glibc, whose own functions have names of their own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void failing_memory_begin(long long fail_at);
long long failing_memory_end(void);

static bool s_counts; // of whichever thread: the tests have one
static long long s_calls, s_fail_at;

/// From now on calls are counted, from 0; the one with this number fails.
void failing_memory_begin(long long fail_at)
{
	s_calls = 0;
	s_fail_at = fail_at;
	s_counts = true;
}

/// Returns how many were counted.
long long failing_memory_end(void)
{
	s_counts = false;
	return s_calls;
}

static bool fails(const void *caller)
{
	Dl_info place;
	if (!s_counts || !dladdr(caller, &place) || !place.dli_fname || !strstr(place.dli_fname, "_carom.") ||
		s_calls++ != s_fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size); }
void *aligned_alloc(size_t alignment, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
