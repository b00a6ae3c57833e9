/// @file input_file.h
/// Input files as one piece of memory.
#ifndef SIM_INPUT_FILE_H
#define SIM_INPUT_FILE_H

#include <stddef.h>
#include <stdio.h>

/// start [start_size] (bytes that were read already), the rest of the stream, and a zero behind it; *size does not count the
/// zero. NULL with errno set when it cannot be read or memory runs out. Free with free.
char *sim_read_rest(FILE *stream, const char *start, size_t start_size, size_t *size);

#endif
