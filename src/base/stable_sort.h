/// A sort that keeps the order of equal elements, and gives one result with every C library.
#ifndef CR_BASE_STABLE_SORT_H
#define CR_BASE_STABLE_SORT_H

#include "base/float_mode.h"

#include <stddef.h>
#include <stdint.h>

/// As qsort, but stable: qsort may leave elements that compare equal in any order, which differs
/// from one C library to the next, and the one of glibc allocates. Takes no memory. O(n log² n)
/// moves, O(n log n) comparisons; O(n) where the data are in order.
void cr_sort_stably(void *data, int64_t count, size_t size, int (*compare)(const void *a, const void *b));

#endif
