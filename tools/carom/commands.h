/// @file commands.h
/// The sub-commands. Each takes its own words (argv[0] is its name) and returns the exit code of
/// the process.
#ifndef CAROM_TOOL_COMMANDS_H
#define CAROM_TOOL_COMMANDS_H

#include "sim/base/ranks.h"

int cmd_run(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_bake(int argc, char **argv);
int cmd_make(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_spheres(int argc, char **argv);
int cmd_ccd(int argc, char **argv);

/// `run` of carom-mpi on one of several ranks, and of carom, which has none (NULL).
int cmd_run_on(const sim_ranks *ranks, int argc, char **argv);

#endif
