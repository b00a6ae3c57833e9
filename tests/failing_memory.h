/// @file failing_memory.h
/// The program's own memory, which fails when told: for parts that have no context, and so no
/// allocator of a caller. The linker leads malloc, calloc, realloc, aligned_alloc, strdup and strndup
/// of all that is linked into carom_tests here (--wrap). Libraries of others are not touched.
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include <stdbool.h>

/// Run work over and over, where one allocation of this thread after the other fails, and at last none:
/// then it must succeed. Release fails each allocation with a number that stride divides, the other
/// presets one for each call stack (failing_calls.h). work returns whether it has succeeded, and check,
/// if not NULL, looks at what is left. Returns how many runs failed.
int failing_memory_each(int stride, bool (*work)(void *user), void (*check)(bool done, void *user), void *user);

#endif
