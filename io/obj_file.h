/// @file obj_file.h
/// The OBJ reader behind io_load_mesh.
#ifndef IO_OBJ_FILE_H
#define IO_OBJ_FILE_H

#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"

#include <stdbool.h>
#include <stddef.h>

/// Read the bytes of an OBJ file, which are overwritten while they are read; a zero must follow the
/// last byte. Vertices, faces and the names of usemtl are read; groups, normals and the like are
/// skipped. On failure false, with the line and the fault in error.
bool io_read_obj(char *bytes, size_t size, sim_mesh *mesh, sim_error *error);

#endif
