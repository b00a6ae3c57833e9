/// The door to what the laboratory adds to swept scenes: ways that exist only to be compared with
/// (carom/lab.h). carom_sweep_def.lab brings the table along; nothing in the library names a
/// function of the laboratory.
#ifndef CR_SWEEP_SWEEP_LAB_H
#define CR_SWEEP_SWEEP_LAB_H

#include "geom/swept.h"
#include "sweep/sweep_kernels.h"

/// The boxes of all triangles in their order along an axis: the laboratory's own.
typedef struct cr_sweep_line cr_sweep_line;

struct cr_sweep_lab {
	cr_swept_solve_fn *solve; // CAROM_SWEEP_CUBIC
	int64_t phc_tasks;        // CAROM_SWEEP_PHC: that one thread opens before it lets the others in
	/// CAROM_SWEEP_SORT: put the boxes of a tree in order. *line is NULL at first, and is used
	/// again. False when out of memory.
	bool (*sort)(carom_context *context, const cr_sweep_tree *tree, cr_sweep_line **line);
	/// Hand the pairs that boxes begin..end-1 of the line meet among those behind them to
	/// kernels->meet.
	void (*pass)(const cr_sweep_kernels *kernels, cr_sweep_walk *walk, const cr_sweep_line *line, int32_t begin, int32_t end);
	void (*drop)(carom_context *context, cr_sweep_line *line); // NULL does nothing
};

#endif
