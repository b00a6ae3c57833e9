/// Sweep and prune: the boxes of all triangles in the order in which they begin along one axis.
/// Those that overlap one along that axis follow it, until one begins after its end (Baraff 1992;
/// in parallel as Belgrod et al. 2023, Time of Impact Dataset). Nothing is kept of the pairs.
#ifndef CR_LAB_SWEEP_LINE_H
#define CR_LAB_SWEEP_LINE_H

#include "base/array.h"
#include "base/radix.h"
#include "sweep/sweep_lab.h"

// boxes beyond the last, which begin nowhere: kernels read eight at a time
enum { CR_LINE_PADDING = 8 };

enum { CR_LINE_PAIRS = 64 }; // pairs that a kernel hands on at once

/// One table for each instruction set, all with the same bits (line_kernels.c).
typedef struct cr_line_kernels {
	void (*pass)(const cr_sweep_kernels *kernels, cr_sweep_walk *walk, const cr_sweep_line *line, int32_t begin, int32_t end);
} cr_line_kernels;

struct cr_sweep_line {
	const cr_line_kernels *kernels;
	CR_ARRAY(cr_key) keys, scratch;
	CR_ARRAY(int32_t) nodes; // leaves
	CR_ARRAY(float) bounds;  // begin and end along the axis, then along the two others: six lists
	int32_t count, stride;   // boxes; length of a list
};

/// See struct cr_sweep_lab. The axis is that of x, y, z along which the middles of the boxes vary
/// most.
bool cr_sort_line(carom_context *context, const cr_sweep_tree *tree, cr_sweep_line **line);
void cr_pass_line(const cr_sweep_kernels *kernels, cr_sweep_walk *walk, const cr_sweep_line *line, int32_t begin, int32_t end);
void cr_drop_line(carom_context *context, cr_sweep_line *line);

const cr_line_kernels *cr_get_line_kernels(carom_simd simd);

#endif
