/// @file run_ranks.h
/// `carom run --ranks N`: the run of a scene of spheres on several processes (carom-mpi).
#ifndef CAROM_TOOL_RUN_RANKS_H
#define CAROM_TOOL_RUN_RANKS_H

#include "run.h"

/// Can the scene, and what the options ask of it, be shared by ranks? EXIT_DONE, or EXIT_FAILED
/// after a message.
int run_check_ranks(const run_options *options, const scene_description *scene);

/// Become `mpirun -n N carom-mpi run ...` with the arguments of this `run`, but --ranks. The scene
/// is looked at before, so that what is wrong with it is said once. Returns only after a message.
int run_start_ranks(const run_options *options, int argc, char **argv);

/// Share the spheres of a run out. EXIT_DONE, or EXIT_FAILED after a message.
int run_share(run *r);

/// Have all ranks come to the same place, and is nobody interrupted?
bool run_ranks_go_on(const run *r, bool interrupted);

#endif
