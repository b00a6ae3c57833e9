/// @file failing_memory.h
/// The program's own memory, which fails when told: for parts that have no context, and so no
/// allocator of a caller. The linker leads malloc, calloc, realloc, aligned_alloc, strdup and strndup
/// of all that is linked into carom_tests here (--wrap). Libraries of others are not touched.
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include <stdbool.h>

/// From now on the calls of this thread are counted, from 0; the one with the number fail_at fails.
/// -1: none.
void failing_memory_begin(long long fail_at);
/// No call fails any more. Returns how many were counted.
long long failing_memory_end(void);

/// Run work over and over, where each allocation with a number that stride divides fails once, and at
/// last none: then it must succeed. work returns whether it has, and check, if not NULL, looks at what is
/// left. Returns how many runs failed.
int failing_memory_each(int stride, bool (*work)(void *user), void (*check)(bool done, void *user), void *user);

#endif
