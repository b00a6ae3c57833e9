/// @file output_file.h
/// An output file that appears whole, under its name, or not at all: it is written beside as
/// NAME.part and renamed at the end, so a failure half way keeps the old file.
#ifndef SIM_OUTPUT_FILE_H
#define SIM_OUTPUT_FILE_H

#include "sim/base/sim_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SIM_PATH_MAX = 4096 };

typedef struct sim_output_file {
	FILE *stream; ///< write here; errors may be left to sim_output_commit
	char path[SIM_PATH_MAX];
	char part[SIM_PATH_MAX + 16]; ///< "" when path is a device or pipe, which is written directly
} sim_output_file;

/// Open for writing (binary). On failure false, with the reason in error; nothing is open then.
bool sim_output_open(sim_output_file *file, const char *path, sim_error *error);

/// Like sim_output_open, but a PATH.part that is there, left by a run that was cut off, stays until
/// sim_output_take_part.
bool sim_output_open_beside(sim_output_file *file, const char *path, sim_error *error);

/// Put the output so far in the place of that PATH.part, and write on there: at every instant there
/// is the one or the other, whole. On failure false, with the reason in error.
bool sim_output_take_part(sim_output_file *file, sim_error *error);

/// Finish and give the file its name. On failure false, with the reason in error, and the output is
/// removed. Closed in both cases.
bool sim_output_commit(sim_output_file *file, sim_error *error);

/// Close and remove an unfinished file. Nothing happens when it is not open (all zero, or
/// committed).
void sim_output_abandon(sim_output_file *file);

#endif
