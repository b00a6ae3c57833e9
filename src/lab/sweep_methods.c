/// The table behind carom_lab_sweep.
#include "lab/sweep_methods.h"
#include "lab/sweep_line.h"

const struct cr_sweep_lab cr_sweep_methods = {
	.solve = cr_swept_solve_cubic,
	.phc_tasks = 16384, // the paper's "enough", at 16 workers and a thousand for each
	.sort = cr_sort_line,
	.pass = cr_pass_line,
	.drop = cr_drop_line,
};
