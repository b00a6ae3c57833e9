/// Meshes and hulls of another size. See carom_create_scaled_mesh.
#include "contact/material.h"
#include "world/world.h"

static const char *const name = "carom_create_scaled_mesh";

static carom_result check_scale(carom_context *context, const double scale[3])
{
	if (!scale)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: scale is NULL", name);
	for (int k = 0; k < 3; k++) {
		if (!isfinite(scale[k]) || scale[k] == 0)
			return cr_fail(
				context, CAROM_INVALID_ARGUMENT, "%s: scale[%d] is %g; it must be finite and not 0", name, k, scale[k]);
	}
	return CAROM_SUCCESS;
}

/// Does the scale exchange left and right?
static bool mirrors(const double scale[3]) { return (scale[0] < 0) ^ (scale[1] < 0) ^ (scale[2] < 0); }

/// As many cells along the longest side as the mesh has.
static int32_t grid_resolution_of(const carom_mesh *mesh)
{
	const cr_grid *g = &mesh->collider.grid;
	int32_t most = 0;
	for (int k = 0; k < 3 && g->cells; k++)
		most = g->size[k] > most ? g->size[k] : most;
	return most < 1024 ? most : 1024;
}

/// Write the scaled vertices of a mesh as the type that it has: doubles where it keeps them.
/// Returns the first vertex that ends beyond the limit, or -1.
static int32_t scale_vertices(const carom_mesh *mesh, const double scale[3], void *to)
{
	const int64_t count = 3 * (int64_t)mesh->topology.vertex_count;
	float *floats = to;
	double *doubles = to;
	for (int64_t i = 0; i < count; i++) {
		const double value = scale[i % 3] * (mesh->exact ? mesh->exact[i] : (double)mesh->topology.vertices[i]);
		if (!(fabs(value) <= CAROM_MAX_COORDINATE))
			return (int32_t)(i / 3);
		if (mesh->exact)
			doubles[i] = value;
		else
			floats[i] = (float)value;
	}
	return -1;
}

/// Write the triangles, the second and third corner exchanged where the scale mirrors.
static void turn_triangles(const carom_mesh *mesh, bool mirrored, int32_t *to)
{
	const cr_topology *t = &mesh->topology;
	for (int64_t i = 0; i < t->triangle_count; i++) {
		to[3 * i] = t->triangles[3 * i];
		to[3 * i + 1] = t->triangles[3 * i + (mirrored ? 2 : 1)];
		to[3 * i + 2] = t->triangles[3 * i + (mirrored ? 1 : 2)];
	}
}

/// Give a scaled hull the materials of the hull: each triangle takes that of the triangle which the
/// middle of its image lies on. Triangles of one face may lie otherwise. May fail.
static carom_result scale_materials(carom_context *context, const carom_mesh *hull, const double scale[3], carom_mesh **scaled)
{
	const cr_topology *t = &(*scaled)->topology;
	const size_t bytes = (size_t)t->triangle_count * sizeof(uint32_t);
	uint32_t *materials = cr_alloc(context, bytes);
	if (!materials)
		return cr_fail_memory(context, "a scaled mesh");
	for (int32_t i = 0; i < t->triangle_count; i++) {
		v3d middle = { 0, 0, 0 };
		for (int k = 0; k < 3; k++) {
			const float *v = &t->vertices[3 * (int64_t)t->triangles[3 * (int64_t)i + k]];
			middle = v3d_add(middle, v3d_make(v[0] / scale[0] / 3, v[1] / scale[1] / 3, v[2] / scale[2] / 3));
		}
		const v3d n = cr_face_normal(t, i);
		const v3d normal = v3d_normalize(v3d_make(n.x * scale[0], n.y * scale[1], n.z * scale[2]));
		materials[i] = hull->materials[cr_hull_triangle_at(hull, middle, normal)];
	}
	carom_mesh *painted = NULL;
	const carom_result result = carom_create_painted_mesh(context, *scaled, materials, t->triangle_count, &painted);
	cr_free(context, materials, bytes);
	if (result != CAROM_SUCCESS)
		return result;
	carom_release_mesh(*scaled);
	*scaled = painted;
	return CAROM_SUCCESS;
}

static carom_result scale_hull(
	carom_context *context, const carom_mesh *hull, const carom_strided *points, const double scale[3], carom_mesh **scaled)
{
	carom_result result = carom_create_hull(context, points, hull->topology.vertex_count, scaled);
	if (result != CAROM_SUCCESS || !hull->materials)
		return result;
	result = scale_materials(context, hull, scale, scaled);
	if (result != CAROM_SUCCESS) {
		carom_release_mesh(*scaled);
		*scaled = NULL;
	}
	return result;
}

static carom_result create(carom_context *context, const carom_mesh *mesh, const double scale[3], void *vertices,
	int32_t *triangles, carom_mesh **scaled)
{
	const cr_topology *t = &mesh->topology;
	const carom_strided places = { vertices, 0, mesh->exact ? CAROM_FLOAT64 : CAROM_FLOAT32 };
	const int32_t beyond = scale_vertices(mesh, scale, vertices);
	if (beyond >= 0)
		return cr_fail(context, CAROM_INVALID_MESH, "%s: scale takes vertex %d beyond the limit of %g", name, (int)beyond,
			CAROM_MAX_COORDINATE);
	if (mesh->hull)
		return scale_hull(context, mesh, &places, scale, scaled);
	turn_triangles(mesh, mirrors(scale), triangles);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = places;
	def.vertex_count = t->vertex_count;
	def.triangles = triangles;
	def.triangle_count = t->triangle_count;
	def.grid_resolution = grid_resolution_of(mesh);
	def.sides = mesh->sides;
	def.materials = mesh->materials;
	const carom_result result = carom_create_mesh(context, &def, NULL, scaled);
	if (result == CAROM_SUCCESS)
		(*scaled)->centre = v3d_make(scale[0] * mesh->centre.x, scale[1] * mesh->centre.y, scale[2] * mesh->centre.z);
	return result;
}

carom_result carom_create_scaled_mesh(carom_context *context, const carom_mesh *mesh, const double scale[3], carom_mesh **scaled)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!scaled)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: scaled is NULL", name);
	*scaled = NULL;
	if (!mesh)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: mesh is NULL", name);
	carom_result result = check_scale(context, scale);
	if (result != CAROM_SUCCESS)
		return result;
	const size_t vertex_bytes =
		3 * (size_t)mesh->topology.vertex_count * (mesh->exact ? sizeof *mesh->exact : sizeof *mesh->topology.vertices);
	const size_t triangle_bytes = 3 * (size_t)mesh->topology.triangle_count * sizeof(int32_t);
	void *vertices = cr_alloc(context, vertex_bytes);
	int32_t *triangles = cr_alloc(context, triangle_bytes);
	if ((vertices || vertex_bytes == 0) && (triangles || triangle_bytes == 0))
		result = create(context, mesh, scale, vertices, triangles, scaled);
	else
		result = cr_fail_memory(context, "a scaled mesh");
	cr_free(context, vertices, vertex_bytes);
	cr_free(context, triangles, triangle_bytes);
	return result;
}
