/// @file baked_file.h
/// Baked meshes as files (carom_mesh_save): read among the mesh files, written by `carom bake`. A
/// mesh that was read keeps the bytes, so that the library loads it from them and makes no trees.
#ifndef IO_BAKED_FILE_H
#define IO_BAKED_FILE_H

#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"

#include "carom/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IO_BAKED_EXTENSION ".cmesh"

/// Do the bytes begin as a baked mesh does?
bool io_is_baked(const char *bytes, size_t size);

/// Read a baked mesh: its vertices, triangles, materials and sides, and the bytes themselves. On
/// failure false, with one sentence in error.
bool io_read_baked(const char *bytes, size_t size, sim_mesh *mesh, sim_error *error);

/// Load the baked mesh of these bytes. As carom_mesh_load, without its name in the error: *error
/// becomes the text, valid until the thread's next call of the library.
carom_result io_load_baked(carom_context *context, const void *bytes, size_t size, carom_mesh **mesh, const char **error);

/// Drop the baked bytes of a mesh whose vertices change.
void io_forget_baked(sim_mesh *mesh);

/// The vertices of a mesh: doubles where it has them.
carom_strided io_mesh_vertices(const sim_mesh *mesh);

/// The definition of a mesh, with its sides, and with the materials of a baked one. Those of an OBJ
/// file are left out: `carom bake` alone asks for them.
carom_mesh_def io_mesh_def(const sim_mesh *mesh);

/// Make the library's mesh: from the baked bytes if they are there and grid_resolution is
/// CAROM_GRID_BY_SIZE, else by carom_create_mesh. report may be NULL.
carom_result io_create_mesh(
	carom_context *context, const sim_mesh *mesh, int32_t grid_resolution, carom_mesh_report *report, carom_mesh **made);

/// Write a mesh to a file, which appears whole or not at all; *size becomes its bytes. On failure
/// false, with one sentence in error.
bool io_save_baked(carom_context *context, const carom_mesh *mesh, const char *path, size_t *size, sim_error *error);

#ifdef __cplusplus
}
#endif
#endif
