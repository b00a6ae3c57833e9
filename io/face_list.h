/// @file face_list.h
/// The faces of a mesh file that is being read, corner by corner.
#ifndef IO_FACE_LIST_H
#define IO_FACE_LIST_H

#include "io/polygon.h"
#include "sim/shapes/shapes.h"

#include <stdbool.h>
#include <stdint.h>

/// All zero: none. Polygons are fans about their first corner until io_take_faces.
typedef struct io_face_list {
	int32_t *triangles; ///< [3*count]
	int32_t count;
	int32_t capacity;
	int32_t corner[3]; ///< of the face in hand: the first, the last but one, the last
	int32_t corners;   ///< of the face in hand
	io_polygon *polygons;
	int32_t polygon_count;
	int32_t polygon_capacity;
} io_face_list;

/// Add a corner to the face in hand. Returns NULL, or the reason why it cannot be: memory, or more
/// triangles than 32-bit numbers can count.
const char *io_add_corner(io_face_list *faces, int32_t vertex);

/// End the face in hand, of three corners or more, as io_add_corner does.
const char *io_end_face(io_face_list *faces);

/// Give the triangles to a mesh that has all its vertices, which the corners must name, and cut its
/// polygons (io_cut_polygon). False when out of memory. The list is empty then, in both cases.
bool io_take_faces(io_face_list *faces, sim_mesh *mesh);

void io_free_faces(io_face_list *faces);

#endif
