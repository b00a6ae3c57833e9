/// @file input_file.h
/// Input files: opened once, since a pipe can be read only once, with the first bytes kept to tell
/// the kind of the file.
#ifndef IO_INPUT_FILE_H
#define IO_INPUT_FILE_H

#include "sim/base/sim_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/// A file that is read from its beginning to its end.
typedef struct io_input {
	const char *path; ///< the caller's
	FILE *stream;
	char *start; ///< [start_size] the first bytes, 64 KiB at most; a zero is behind them
	size_t start_size;
	size_t taken; ///< bytes of start that were handed out
	bool regular; ///< a file that can be opened again; no pipe and no terminal
	/// of a regular file, else INT64_MAX: the claims of a header can be checked before memory is
	/// asked for
	int64_t size;
} io_input;

/// Open a file and read its first bytes. On failure false with one sentence in error, without the
/// path; an empty file is a failure. The path must stay as it is until io_close_input.
bool io_open_input(io_input *input, const char *path, sim_error *error);

/// Read the next bytes. Returns their number: less than size at the end of the file and when it
/// cannot be read, which ferror of the stream tells.
size_t io_take_input(io_input *input, void *bytes, size_t size);

/// Read all bytes that were not taken yet, and put a zero behind them; *size does not count the
/// zero. NULL with the reason in error when the file cannot be read or memory runs out. Free with
/// free.
char *io_take_rest(io_input *input, size_t *size, sim_error *error);

/// Close the file and free the bytes kept of it. A second call does nothing.
void io_close_input(io_input *input);

/// Does the path end in this extension (".obj"), in capitals or small letters?
bool io_has_extension(const char *path, const char *extension);

#endif
