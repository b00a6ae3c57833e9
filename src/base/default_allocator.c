/// The default allocator: the C library's, large arrays on large pages where the system gives them
/// when asked.

#ifdef __linux__
#define _DEFAULT_SOURCE // madvise
#endif
#include "base/context.h"
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef _WIN32
#include <malloc.h>

// The C library of Windows has no aligned_alloc: its free could not tell such blocks from others.
// Nor does it look whether the sum of size, alignment and its own words is still a number.
static void *allocate_aligned(size_t size, size_t alignment)
{
	return size <= PTRDIFF_MAX ? _aligned_malloc(size, alignment) : NULL;
}

static void free_aligned(void *pointer) { _aligned_free(pointer); }

#else

static void *allocate_aligned(size_t size, size_t alignment)
{
	// aligned_alloc wants a multiple of the alignment.
	const size_t rounded = (size + alignment - 1) & ~(alignment - 1);
	return rounded >= size ? aligned_alloc(alignment, rounded) : NULL;
}

static void free_aligned(void *pointer) { free(pointer); }

#endif

#ifdef MADV_HUGEPAGE
enum { LARGE_PAGE = 1 << 21 }; // bytes; of x86-64, and of 64-bit ARM with small pages of 4 KiB

// A step reads entries all over its arrays, and each small page costs a look-up: 5 % of a step at
// rest (avalanche). The last page is a large one only if it is at least half full.
static void *allocate_large(size_t size)
{
	void *memory = allocate_aligned(size, LARGE_PAGE);
	if (memory) // only a wish
		madvise(memory, (size + LARGE_PAGE / 2) & ~(size_t)(LARGE_PAGE - 1), MADV_HUGEPAGE);
	return memory;
}
#endif

static void *allocate(size_t size, size_t alignment, void *user)
{
	(void)user;
#ifdef MADV_HUGEPAGE
	if (size >= LARGE_PAGE)
		return allocate_large(size);
#endif
	return allocate_aligned(size, alignment);
}

static void release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment, (void)user;
	free_aligned(pointer);
}

carom_allocator carom_default_allocator(void) { return (carom_allocator){ allocate, release, NULL }; }
