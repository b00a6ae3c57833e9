/// Convex hulls as meshes.

#include "mesh/hull.h"
#include "sweep/sweep_motion.h"
#include "world/world.h"

static const char *const name = "carom_create_hull";

/// The vertices of a hull as floats, which they are, and a mesh of its triangles.
static carom_result create_mesh(carom_context *context, const cr_hull_data *data, carom_mesh **mesh)
{
	const cr_hull *h = &data->hull;
	const size_t bytes = 3 * (size_t)h->vertex_count * sizeof(float);
	float *vertices = cr_alloc(context, bytes);
	if (!vertices)
		return cr_fail_memory(context, "a hull");
	for (int32_t i = 0; i < h->vertex_count; i++) {
		for (int k = 0; k < 3; k++)
			vertices[3 * i + k] = (float)v3d_get(h->vertices[i], k);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = h->vertex_count;
	def.triangles = data->triangles;
	def.triangle_count = data->triangle_count;
	const carom_result result = cr_create_mesh(context, &def, NULL, NULL, mesh);
	cr_free(context, vertices, bytes);
	return result;
}

static carom_result create_hull(carom_context *context, v3d *points, int32_t count, carom_mesh **mesh)
{
	for (int32_t i = 0; i < count; i++)
		points[i] = (v3d){ (float)points[i].x, (float)points[i].y, (float)points[i].z };
	cr_hull_data data;
	carom_result result = cr_hull_build(context, points, count, &data);
	// Where points were left out the hull is made of its vertices, so that these alone give the
	// very same one again (a replay).
	while (result == CAROM_SUCCESS && data.hull.vertex_count < count) {
		count = data.hull.vertex_count;
		for (int32_t i = 0; i < count; i++)
			points[i] = data.hull.vertices[i];
		cr_hull_free(context, &data);
		result = cr_hull_build(context, points, count, &data);
	}
	if (result == CAROM_OUT_OF_MEMORY)
		return cr_fail_memory(context, "a hull");
	if (result != CAROM_SUCCESS)
		return cr_fail(
			context, result, "%s: the %d points lie in one plane, so that their hull has no volume", name, (int)count);
	cr_hull_data *kept = cr_alloc(context, sizeof *kept);
	result = kept ? create_mesh(context, &data, mesh) : cr_fail_memory(context, "a hull");
	if (result != CAROM_SUCCESS) {
		cr_free(context, kept, sizeof *kept);
		cr_hull_free(context, &data);
		return result;
	}
	*kept = data;
	(*mesh)->hull = kept;
	return cr_pack_mesh(mesh);
}

carom_result carom_create_hull(carom_context *context, const carom_strided *points, int32_t count, carom_mesh **mesh)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!mesh)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: mesh is NULL", name);
	*mesh = NULL;
	if (!points)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: points is NULL", name);
	if (count < 4)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: count is %d; a hull takes 4 points at least", name, (int)count);
	carom_result result = cr_check_sweep_vertices(context, "carom_create_hull: points", points, count, CAROM_INVALID_ARGUMENT);
	if (result != CAROM_SUCCESS)
		return result;
	v3d *read = cr_alloc_array(context, (size_t)count, sizeof *read);
	if (!read)
		return cr_fail_memory(context, "a hull");
	cr_read_sweep_vertices(points, count, &read->x);
	result = create_hull(context, read, count, mesh);
	cr_free(context, read, (size_t)count * sizeof *read);
	return result;
}
