/// @file oracle_boxes.h
/// Overlapping boxes for the oracles, by a sort along x.
#ifndef CAROM_TOOL_ORACLE_BOXES_H
#define CAROM_TOOL_ORACLE_BOXES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct oracle_box {
	double lower[3], upper[3];
	int32_t item;
} oracle_box;

/// An empty box.
oracle_box oracle_empty_box(int32_t item);
void oracle_grow_box(oracle_box *box, const double point[3]);

/// Called with the items of two boxes that overlap; false to stop.
typedef bool oracle_visit_fn(int32_t a, int32_t b, void *user);

/// Visit the pairs of boxes that overlap, each once, in no particular order: of one list with
/// itself (a == b), or of two. The lists are sorted. Returns false when a visit did.
bool oracle_visit_overlaps(oracle_box *a, int64_t count_a, oracle_box *b, int64_t count_b, oracle_visit_fn *visit, void *user);

#endif
