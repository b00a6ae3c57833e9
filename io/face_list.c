// Growing lists of faces. See face_list.h.
#include "io/face_list.h"

#include <stdlib.h>
#include <string.h>

/// Make room for one more element. Returns NULL or a reason.
static const char *reserve(void **array, size_t size, int32_t count, int32_t *capacity)
{
	if (count < *capacity)
		return NULL;
	if (*capacity > INT32_MAX / 4)
		return "more elements than 32-bit numbers can count";
	const int32_t larger = *capacity ? 2 * *capacity : 1024;
	void *memory = realloc(*array, (size_t)larger * size);
	if (!memory)
		return "out of memory";
	*array = memory;
	*capacity = larger;
	return NULL;
}

const char *io_add_corner(io_face_list *faces, int32_t vertex)
{
	if (faces->corners > 2)
		faces->corner[1] = faces->corner[2];
	faces->corner[faces->corners < 2 ? faces->corners : 2] = vertex;
	if (++faces->corners < 3)
		return NULL;
	const char *reason = reserve((void **)&faces->triangles, sizeof faces->corner, faces->count, &faces->capacity);
	if (!reason)
		memcpy(faces->triangles + 3 * (size_t)faces->count++, faces->corner, sizeof faces->corner);
	return reason;
}

const char *io_end_face(io_face_list *faces)
{
	const io_polygon polygon = { faces->count - (faces->corners - 2), faces->corners };
	faces->corners = 0;
	if (polygon.corners == 3)
		return NULL;
	const char *reason = reserve((void **)&faces->polygons, sizeof polygon, faces->polygon_count, &faces->polygon_capacity);
	if (!reason)
		faces->polygons[faces->polygon_count++] = polygon;
	return reason;
}

bool io_take_faces(io_face_list *faces, sim_mesh *mesh)
{
	bool done = true;
	mesh->triangles = faces->triangles;
	mesh->triangle_count = faces->count;
	faces->triangles = NULL;
	for (int32_t i = 0; done && i < faces->polygon_count; i++)
		done = io_cut_polygon(mesh, faces->polygons[i]);
	io_free_faces(faces);
	return done;
}

void io_free_faces(io_face_list *faces)
{
	free(faces->triangles);
	free(faces->polygons);
	*faces = (io_face_list){ .count = 0 };
}
