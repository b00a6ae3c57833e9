/// @file output_file.h
/// An output file that appears whole, under its name, or not at all: it is written beside as
/// NAME.part and renamed at the end, so a failure half way keeps the old file.
#ifndef IO_OUTPUT_FILE_H
#define IO_OUTPUT_FILE_H

#include "sim/base/sim_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { IO_PATH_MAX = 4096 };

typedef struct io_output_file {
	FILE *stream; ///< write here; errors may be left to io_output_commit
	char path[IO_PATH_MAX];
	char part[IO_PATH_MAX + 16]; ///< "" when path is a device, pipe or stream: written directly
} io_output_file;

/// The stream of this process that a path names, as /dev/stdout, /dev/stderr, /dev/fd/N; -1: none.
int io_standard_stream(const char *path);

/// Does a path name such a stream, or a device or pipe? Then no extension tells the format.
bool io_is_device(const char *path);

/// Lead what this program prints on stdout to stderr, for an output goes to /dev/stdout. False when
/// the system has no more streams. For one thread, before others begin.
bool io_divert_stdout(void);

/// Open for writing (binary). On failure false, with the reason in error; nothing is open then.
bool io_output_open(io_output_file *file, const char *path, sim_error *error);

/// Like io_output_open, but a PATH.part that is there, left by a run that was cut off, stays until
/// io_output_take_part.
bool io_output_open_beside(io_output_file *file, const char *path, sim_error *error);

/// Put the output so far in the place of that PATH.part, and write on there: at every instant there
/// is the one or the other, whole. On failure false, with the reason in error.
bool io_output_take_part(io_output_file *file, sim_error *error);

/// Finish and give the file its name. On failure false, with the reason in error, and the output is
/// removed. Closed in both cases.
bool io_output_commit(io_output_file *file, sim_error *error);

/// Close and remove an unfinished file. Nothing happens when it is not open (all zero, or
/// committed).
void io_output_abandon(io_output_file *file);

#endif
