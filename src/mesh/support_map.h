/// @file support_map.h
/// How far a rigid mesh reaches along any direction, by a table: a few look-ups tell that the
/// convex hulls of two meshes are apart, and so that the meshes are.
///
/// Let h(d) be the largest p . d of the vertices p. The table holds h at the corners of a grid over
/// the faces of the cube of directions. Within a cell d is a mean of its four corners, and h of a
/// mean is at most the mean of h (h is convex): so bilinear interpolation gives an upper bound,
/// which is wrong by the square of the width of a cell.
#ifndef CR_MESH_SUPPORT_MAP_H
#define CR_MESH_SUPPORT_MAP_H

#include "math/vec.h"
#include <stdbool.h>
#include <stdint.h>

enum { CR_SUPPORT_ROW = 8 }; // corners of the grid along a side of a face

typedef struct cr_support_map {
	// face 2 * axis, and 2 * axis + 1 for directions that go down along it; then by the next axis
	// and the one after that
	float at[6][CR_SUPPORT_ROW][CR_SUPPORT_ROW];
	float scale; // largest |coordinate|
} cr_support_map;

/// Does a mesh of so many triangles and vertices get a table? Of a coarse mesh the triangles are
/// looked at as soon, and of a large one the table takes long to make, where few pairs ask for it.
bool cr_wants_support_map(int32_t triangle_count, int32_t vertex_count);

/// Fill the table of a mesh. vertices: [3*count], count > 0.
void cr_fill_support_map(cr_support_map *map, const float *vertices, int32_t count);

/// An upper bound of how far the mesh reaches along d, in lengths of d, which is not zero. *point:
/// about where on its hull it does.
double cr_support_bound(const cr_support_map *map, v3d d, v3d *point);

/// A lower bound of the distance of two meshes; 0: their hulls may meet, or the search was not long
/// enough. rotation, translation: of b in the frame of a.
double cr_hull_gap(const cr_support_map *a, const cr_support_map *b, const m3d *rotation, v3d translation);

#endif
