/// Sweep and prune: the boxes of all triangles in the order in which they begin along one axis.
/// Those that overlap one along that axis follow it, until one begins after its end (Baraff 1992;
/// in parallel as Belgrod et al. 2023, Time of Impact Dataset). Nothing is kept of the pairs.
#ifndef CR_SWEEP_SWEEP_LINE_H
#define CR_SWEEP_SWEEP_LINE_H

#include "base/array.h"
#include "base/radix.h"
#include "sweep/sweep_tree.h"

// boxes beyond the last, which begin nowhere: kernels read eight at a time
enum { CR_LINE_PADDING = 8 };

typedef struct cr_sweep_line {
	CR_ARRAY(cr_key) keys, scratch;
	CR_ARRAY(int32_t) nodes; // leaves
	CR_ARRAY(float) bounds;  // begin and end along the axis, then along the two others: six lists
	int32_t count, stride;   // boxes; length of a list
} cr_sweep_line;

/// Put the boxes of a tree in order, along the axis of x, y, z along which their middles vary most.
/// False when out of memory.
bool cr_sweep_line_sort(carom_context *context, const cr_sweep_tree *tree, cr_sweep_line *line);
void cr_sweep_line_free(carom_context *context, cr_sweep_line *line);

#endif
