/// @file off_file.h
/// The OFF reader behind io_load_mesh.
#ifndef IO_OFF_FILE_H
#define IO_OFF_FILE_H

#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"

#include <stdbool.h>
#include <stddef.h>

/// Read the bytes of an OFF file in text, which are overwritten while they are read; a zero must
/// follow the last byte. Normals, colours and texture coordinates are skipped. The file must hold
/// as many vertices and faces as its header says. On failure false with the line and what is wrong
/// in error.
bool io_read_off(char *bytes, size_t size, sim_mesh *mesh, sim_error *error);

/// Does a file that begins with these bytes (a zero behind them) look like an OFF file?
bool io_is_off(const char *bytes);

#endif
