// Hulls of meshes, and the shapes of recorded bodies.
#include "scene/volumes.h"

#include <stdlib.h>

carom_result scene_hull_of(carom_context *context, const carom_mesh *mesh, carom_mesh **hull)
{
	if (*hull)
		return CAROM_SUCCESS;
	const carom_strided points = { .data = carom_mesh_get_vertices(mesh), .type = CAROM_FLOAT32 };
	return carom_create_hull(context, &points, carom_mesh_get_report(mesh)->vertex_count, hull);
}

static carom_result recorded_shape(
	carom_context *context, const io_recorded_body *body, carom_mesh *const *meshes, carom_mesh **hulls, carom_shape *shape)
{
	*shape = (carom_shape){ .type = body->type,
		.radius = body->radius,
		.half_length = body->half_length,
		.half_extents = { body->half_extents[0], body->half_extents[1], body->half_extents[2] },
		.mesh = body->mesh >= 0 ? meshes[body->mesh] : NULL,
		.rounding = body->rounding };
	if (body->type != CAROM_HULL)
		return CAROM_SUCCESS;
	const carom_result result = scene_hull_of(context, meshes[body->mesh], &hulls[body->mesh]);
	shape->mesh = hulls[body->mesh];
	return result;
}

int32_t scene_recorded_rows(const io_recording *recording, int32_t row)
{
	const int32_t count = io_recording_body_count(recording);
	int32_t rows = 1;
	while (row + rows < count && io_recording_get_body(recording, row + rows)->part > 1)
		rows++;
	return rows;
}

carom_result scene_recorded_def(carom_context *context, const io_recording *recording, int32_t row, carom_mesh *const *meshes,
	carom_mesh **hulls, carom_body_def *def)
{
	const io_recorded_body *body = io_recording_get_body(recording, row);
	const int32_t rows = scene_recorded_rows(recording, row);
	def->kind = body->kind;
	if (body->part == 0)
		return recorded_shape(context, body, meshes, hulls, &def->shape);
	carom_part *parts = calloc((size_t)rows, sizeof *parts);
	carom_result result = parts ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
	for (int32_t k = 0; k < rows && result == CAROM_SUCCESS; k++) {
		parts[k].pose = body[k].place;
		result = recorded_shape(context, &body[k], meshes, hulls, &parts[k].shape);
	}
	def->parts = parts;
	def->part_count = rows;
	return result;
}
