/// @file foreign_mesh.h
/// Meshes of the formats that assimp reads, behind io_load_mesh.
#ifndef IO_FOREIGN_MESH_H
#define IO_FOREIGN_MESH_H

#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"

#include <stdbool.h>
#include <stddef.h>

/// Read a file by assimp: from bytes [size] where they are given, else by its path, as formats of
/// several files want it. On failure false with one sentence in error.
bool io_read_foreign_mesh(const char *path, const char *bytes, size_t size, sim_mesh *mesh, sim_error *error);

#endif
