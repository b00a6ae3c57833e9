/// @file obj_file.h
/// The OBJ reader behind sim_load_mesh.
#ifndef SIM_OBJ_FILE_H
#define SIM_OBJ_FILE_H

#include "sim/shapes.h"

#include <stdbool.h>
#include <stddef.h>

/// Read the text of an OBJ file, which is overwritten while it is read and must end with a zero. Vertices and faces are read;
/// groups, materials, normals and the like are skipped. On failure false with the line and what is wrong in error.
bool sim_read_obj(char *text, sim_mesh *mesh, char *error, size_t error_size);

#endif
