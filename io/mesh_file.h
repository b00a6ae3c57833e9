/// @file mesh_file.h
/// Triangle meshes from and to files. Vertices and triangles keep the order and the numbers of the
/// file.
#ifndef IO_MESH_FILE_H
#define IO_MESH_FILE_H

#include "io/input_file.h"
#include "sim/base/sim_error.h"
#include "sim/shapes/shapes.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Load a mesh, by the extension of the path or, where that tells nothing, by the first bytes: OBJ,
/// PLY, STL and OFF by readers of our own, other formats by assimp. A baked mesh (io/baked_file.h)
/// is told by its first bytes under any name. The file is opened once, so a pipe will do. Convex
/// polygons become fans about their first corner, others triangles that lie within them
/// (io/polygon.h); a file of triangles keeps its triangle numbers. The corners of an STL file,
/// which has no vertex numbers, are welded: the first corner at a position is its vertex. Where a
/// float does not hold a coordinate, of a type double or of any number in text, the mesh has
/// doubles; assimp reads floats. Coordinates that are not finite, corners that name no vertex, and
/// files of our own formats that end early are failures, and so is a file without triangles. On
/// failure false with one sentence in error, without the path but with the line or byte. Free the
/// mesh with sim_mesh_free.
bool io_load_mesh(const char *path, sim_mesh *mesh, sim_error *error);

/// Do so with a file that is open, from its beginning. It stays open.
bool io_read_mesh(io_input *input, sim_mesh *mesh, sim_error *error);

/// Save as .obj (in so many digits that every number comes back exactly), .ply (doubles where the
/// mesh has them) or .stl (binary, floats), by the extension of the path. The file appears whole or
/// not at all. Coordinates that are not finite are a failure, in .stl those that a float does not
/// hold too. On failure false with one sentence in error, without the path.
bool io_save_mesh(const char *path, const sim_mesh *mesh, sim_error *error);

/// Make vertices at equal positions (0 and -0 are equal) one: the first of them. Triangles keep
/// their numbers. False when out of memory; the mesh is unchanged then.
bool io_weld_mesh(sim_mesh *mesh);

#ifdef __cplusplus
}
#endif
#endif
