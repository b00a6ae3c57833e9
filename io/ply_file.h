/// @file ply_file.h
/// The PLY reader behind io_load_mesh.
#ifndef IO_PLY_FILE_H
#define IO_PLY_FILE_H

#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"

#include <stdbool.h>
#include <stddef.h>

/// Read the bytes of a PLY file, ASCII or binary of either byte order; a zero must follow the last
/// byte. x, y, z of the element "vertex" and the list of the element "face" are taken, all else is
/// skipped. On failure false with the place and what is wrong in error.
bool io_read_ply(const char *bytes, size_t size, sim_mesh *mesh, sim_error *error);

#endif
