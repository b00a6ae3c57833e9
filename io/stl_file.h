/// @file stl_file.h
/// The STL reader behind io_load_mesh.
#ifndef IO_STL_FILE_H
#define IO_STL_FILE_H

#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"

#include <stdbool.h>
#include <stddef.h>

/// Read the bytes of an STL file, binary or text, which are overwritten while they are read; a zero
/// must follow the last byte. Each triangle has three vertices of its own; normals and attributes
/// are skipped. A binary file must hold as many triangles as it says, a text must end with
/// endsolid. On failure false with the line or byte and what is wrong in error.
bool io_read_stl(char *bytes, size_t size, sim_mesh *mesh, sim_error *error);

/// Do these bytes (a zero behind them) look like an STL file?
bool io_is_stl(const char *bytes, size_t size);

#endif
