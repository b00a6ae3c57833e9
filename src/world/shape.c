/// Shapes of bodies: checks, and the data that detection derives from them.

#include "world/world.h"
#include "base/hash.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"

enum {
	FACE_SAMPLES = 4,
	BOX_SAMPLES = 6 * FACE_SAMPLES,
};

/// Samples of a box: the corners of each face, with the face's own normal. A corner casts one ray
/// along each of its three faces, and the shortest tells the way out; a ray along the diagonal
/// would tell sqrt(3) times the depth.
static void sample_box(const double half[3], float *points, float *normals, int32_t *numbers)
{
	int32_t n = 0;
	for (int axis = 0; axis < 3; axis++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			for (int i = 0; i < FACE_SAMPLES; i++) {
				const int u = (axis + 1) % 3, v = (axis + 2) % 3;
				float *p = &points[3 * n], *normal = &normals[3 * n];
				p[axis] = (float)(sign * half[axis]);
				p[u] = (float)(i & 1 ? half[u] : -half[u]);
				p[v] = (float)(i & 2 ? half[v] : -half[v]);
				normal[axis] = (float)sign;
				normal[u] = normal[v] = 0;
				numbers[n] = n;
				n++;
			}
		}
	}
}

/// A box as a closed mesh of twelve triangles: target of rays and of the completion.
static carom_result create_box_mesh(carom_context *memory, const double half[3], carom_mesh **mesh)
{
	static const int32_t triangles[36] = { 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 4, 6, 0,
		6, 2, 1, 3, 7, 1, 7, 5 };
	float corners[24];
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < 3; k++)
			corners[3 * i + k] = (float)((i >> k & 1) ? half[k] : -half[k]);
	}
	float points[3 * BOX_SAMPLES], normals[3 * BOX_SAMPLES];
	int32_t numbers[BOX_SAMPLES];
	sample_box(half, points, normals, numbers);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 8;
	def.triangles = triangles;
	def.triangle_count = 12;
	def.grid_resolution = 0;
	const cr_sample_set samples = { points, normals, numbers, BOX_SAMPLES };
	const carom_result result = cr_create_mesh(memory, &def, &samples, NULL, mesh);
	return result == CAROM_SUCCESS ? cr_pack_mesh(mesh) : result;
}

static void set_bounds(cr_shape *shape, const double lower[3], const double upper[3])
{
	for (int k = 0; k < 3; k++) {
		shape->centre[k] = 0.5 * (lower[k] + upper[k]);
		shape->half[k] = 0.5 * (upper[k] - lower[k]);
	}
}

/// The box of a convex body.
static void bound_convex(cr_shape *shape)
{
	const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const cr_convex convex = cr_convex_of(&shape->def);
	double lower[3], upper[3];
	cr_convex_bounds(&convex, &identity, lower, upper);
	set_bounds(shape, lower, upper);
}

/// Where the mesh of a box is kept, if it is.
static cr_box_mesh *find_box_mesh(cr_box_mesh *box_meshes, const double half[3])
{
	uint64_t hash = CR_HASH_SEED;
	for (int k = 0; k < 3; k++)
		hash = cr_hash_double(hash, half[k]);
	return &box_meshes[(hash ^ hash >> 32) % CR_BOX_MESHES];
}

carom_result cr_make_box_mesh(carom_context *memory, cr_box_mesh *box_meshes, cr_shape *shape)
{
	const double *h = shape->def.half_extents;
	cr_box_mesh *kept = find_box_mesh(box_meshes, h);
	carom_result result = CAROM_SUCCESS;
	if (kept->mesh && kept->half[0] == h[0] && kept->half[1] == h[1] && kept->half[2] == h[2]) {
		shape->mesh = carom_retain_mesh(kept->mesh);
	} else {
		result = create_box_mesh(memory, h, &shape->mesh);
		if (result == CAROM_SUCCESS) {
			carom_release_mesh(kept->mesh);
			*kept = (cr_box_mesh){ { h[0], h[1], h[2] }, carom_retain_mesh(shape->mesh) };
		}
	}
	shape->collider = result == CAROM_SUCCESS ? &shape->mesh->collider : NULL;
	return result;
}

void cr_release_box_meshes(cr_box_mesh *box_meshes)
{
	for (int i = 0; i < CR_BOX_MESHES; i++)
		carom_release_mesh(box_meshes[i].mesh);
}

static void init_mesh(cr_shape *shape)
{
	shape->mesh = carom_retain_mesh(shape->def.mesh);
	shape->collider = &shape->mesh->collider;
	double lower[3] = { 0, 0, 0 }, upper[3] = { 0, 0, 0 };
	for (int k = 0; k < 3 && shape->collider->triangle_count > 0; k++) {
		lower[k] = shape->collider->lower[k];
		upper[k] = shape->collider->upper[k];
	}
	set_bounds(shape, lower, upper);
}

void cr_shape_init(const carom_shape *def, cr_shape *shape)
{
	*shape = (cr_shape){ .def = *def, .family = cr_family_of(def) };
	const double radius = def->radius, length = def->type == CAROM_CAPSULE ? def->half_length : 0;
	switch (shape->family) {
	case CR_FAMILY_ROUND:
		set_bounds(shape, (double[3]){ -radius, -radius, -radius - length }, (double[3]){ radius, radius, radius + length });
		break;
	case CR_FAMILY_BOX:
		for (int k = 0; k < 3; k++)
			shape->half[k] = def->half_extents[k];
		break;
	case CR_FAMILY_MESH: init_mesh(shape); break;
	case CR_FAMILY_PLANE:
		for (int k = 0; k < 3; k++)
			shape->half[k] = INFINITY;
		break;
	default:
		shape->mesh = def->type == CAROM_HULL ? carom_retain_mesh(def->mesh) : NULL;
		bound_convex(shape);
		break;
	}
}

void cr_shape_free(cr_shape *shape)
{
	carom_release_mesh(shape->mesh);
	shape->mesh = NULL;
	shape->collider = NULL;
}
