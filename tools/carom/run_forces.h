/// @file run_forces.h
/// forces.csv of `carom run`: the forces of spheres on the walls of their box, on moving walls and
/// on obstacles ("forces" of the section "output").
#ifndef TOOLS_RUN_FORCES_H
#define TOOLS_RUN_FORCES_H

#include "run.h"

typedef struct run_forces {
	io_output_file file;
	int64_t last; ///< step of the last row, or that before the first one
} run_forces;

/// Open the table, where the scene asks for one and there is a folder. A run that goes on in its
/// folder keeps the rows of the steps before. Returns an exit code.
int run_open_forces(run *r, run_forces *forces);
/// Write the rows of the present step, if it has any. Collective on ranks. Returns an exit code.
int run_write_forces(run *r, run_forces *forces);
/// Close the table. Returns an exit code.
int run_close_forces(run_forces *forces);
/// Close a table after a failure.
void run_drop_forces(run_forces *forces);

#endif
