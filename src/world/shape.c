/// Shapes of bodies: checks, and what detection derives from them.

#include "world/world.h"

enum {
	BOX_GRID = 3, // samples along each side of a face, corners and edges included
	BOX_SAMPLES = 6 * BOX_GRID * BOX_GRID,
};

static carom_result check_length(
	carom_context *context, double value, bool zero_allowed, const char *function, const char *field)
{
	if (value > 0 || (zero_allowed && value == 0)) {
		if (value <= CAROM_MAX_COORDINATE)
			return CAROM_SUCCESS;
	}
	return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is %g; it must be %s 0 and at most %g", function, field, value,
		zero_allowed ? "at least" : "above", CAROM_MAX_COORDINATE);
}

static carom_result check_half_extents(carom_context *context, const carom_shape *shape, const char *function)
{
	static const char *const sides[3] = { "shape.half_extents[0]", "shape.half_extents[1]", "shape.half_extents[2]" };
	carom_result result = CAROM_SUCCESS;
	for (int k = 0; k < 3 && result == CAROM_SUCCESS; k++)
		result = check_length(context, shape->half_extents[k], false, function, sides[k]);
	return result;
}

/// The mesh of a mesh or hull.
static carom_result check_mesh(carom_context *context, const carom_shape *shape, const char *function)
{
	if (!shape->mesh)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.mesh is NULL", function);
	if (shape->mesh->context != context)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.mesh was made from another context", function);
	if (shape->type == CAROM_HULL && shape->mesh->hull.hull.vertex_count == 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.mesh is no hull: carom_create_hull makes one", function);
	return CAROM_SUCCESS;
}

carom_result cr_check_world_shape(carom_context *context, const carom_shape *shape, const char *function)
{
	const carom_result result = cr_check_shape(context, shape, function);
	if (result != CAROM_SUCCESS)
		return result;
	if (shape->type > CAROM_MESH)
		return cr_fail(context, CAROM_UNSUPPORTED,
			"%s: shape.type is %d, which carom/collide.h takes and a world does not; give a mesh of it (a hull is one)",
			function, (int)shape->type);
	if (shape->type == CAROM_BOX && shape->rounding != 0)
		return cr_fail(
			context, CAROM_UNSUPPORTED, "%s: shape.rounding is %g; in a world it must be 0", function, shape->rounding);
	return CAROM_SUCCESS;
}

carom_result cr_check_shape(carom_context *context, const carom_shape *shape, const char *function)
{
	carom_result result = CAROM_SUCCESS;
	switch (shape->type) {
	case CAROM_SPHERE: return check_length(context, shape->radius, false, function, "shape.radius");
	case CAROM_CAPSULE:
		result = check_length(context, shape->radius, false, function, "shape.radius");
		return result == CAROM_SUCCESS ? check_length(context, shape->half_length, true, function, "shape.half_length") : result;
	case CAROM_BOX:
	case CAROM_ELLIPSOID: return check_half_extents(context, shape, function);
	case CAROM_PLANE: return CAROM_SUCCESS;
	case CAROM_MESH:
	case CAROM_HULL: return check_mesh(context, shape, function);
	case CAROM_CYLINDER:
	case CAROM_CONE:
		result = check_length(context, shape->radius, false, function, "shape.radius");
		return result == CAROM_SUCCESS ? check_length(context, shape->half_length, false, function, "shape.half_length")
									   : result;
	}
	return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: shape.type is %d, which is no shape", function, (int)shape->type);
}

carom_result cr_check_pose(
	carom_context *context, const carom_pose *pose, const char *function, const char *field, carom_pose *normalized)
{
	const carom_vec3 p = pose->position;
	const carom_quat q = pose->orientation;
	if (!isfinite(p.x) || !isfinite(p.y) || !isfinite(p.z))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s.position is (%g, %g, %g); it must be finite", function, field,
			p.x, p.y, p.z);
	if (!(fabs(p.x) <= CAROM_MAX_POSITION && fabs(p.y) <= CAROM_MAX_POSITION && fabs(p.z) <= CAROM_MAX_POSITION))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s.position is (%g, %g, %g); it must lie within %g of the origin",
			function, field, p.x, p.y, p.z, CAROM_MAX_POSITION);
	const double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	if (!(fabs(length - 1) <= 1e-3))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s.orientation has length %g; it must be a unit quaternion",
			function, field, length);
	*normalized = (carom_pose){ p, { q.x / length, q.y / length, q.z / length, q.w / length } };
	return CAROM_SUCCESS;
}

/// Samples on the faces of a box: a grid of points on each, with the face's own normal. A corner casts one ray along each of
/// its three faces, and the shortest tells the way out; a ray along the diagonal would tell sqrt(3) times the depth.
static void sample_box(const double half[3], float *points, float *normals, int32_t *numbers)
{
	int32_t n = 0;
	for (int axis = 0; axis < 3; axis++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			for (int i = 0; i < BOX_GRID * BOX_GRID; i++) {
				const int u = (axis + 1) % 3, v = (axis + 2) % 3;
				float *p = &points[3 * n], *normal = &normals[3 * n];
				p[axis] = (float)(sign * half[axis]);
				p[u] = (float)((i % BOX_GRID - 1) * half[u]);
				p[v] = (float)((i / BOX_GRID - 1) * half[v]);
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
	return cr_create_mesh(memory, &def, &samples, NULL, mesh);
}

static void set_bounds(cr_shape *shape, const double lower[3], const double upper[3])
{
	for (int k = 0; k < 3; k++) {
		shape->centre[k] = 0.5 * (lower[k] + upper[k]);
		shape->half[k] = 0.5 * (upper[k] - lower[k]);
	}
}

carom_result cr_shape_init(carom_context *memory, const carom_shape *def, cr_shape *shape)
{
	*shape = (cr_shape){ .def = *def };
	const double radius = def->radius, length = def->half_length;
	switch (def->type) {
	case CAROM_SPHERE:
		set_bounds(shape, (double[3]){ -radius, -radius, -radius }, (double[3]){ radius, radius, radius });
		return CAROM_SUCCESS;
	case CAROM_CAPSULE:
		set_bounds(shape, (double[3]){ -radius, -radius, -radius - length }, (double[3]){ radius, radius, radius + length });
		return CAROM_SUCCESS;
	case CAROM_BOX: {
		const double *h = def->half_extents;
		set_bounds(shape, (double[3]){ -h[0], -h[1], -h[2] }, (double[3]){ h[0], h[1], h[2] });
		const carom_result result = create_box_mesh(memory, h, &shape->mesh);
		shape->collider = result == CAROM_SUCCESS ? &shape->mesh->collider : NULL;
		return result;
	}
	case CAROM_PLANE:
		for (int k = 0; k < 3; k++)
			shape->half[k] = INFINITY;
		return CAROM_SUCCESS;
	case CAROM_MESH: {
		shape->mesh = carom_retain_mesh(def->mesh);
		shape->collider = &shape->mesh->collider;
		double lower[3] = { 0, 0, 0 }, upper[3] = { 0, 0, 0 };
		for (int k = 0; k < 3 && shape->collider->triangle_count > 0; k++) {
			lower[k] = shape->collider->lower[k];
			upper[k] = shape->collider->upper[k];
		}
		set_bounds(shape, lower, upper);
		return CAROM_SUCCESS;
	}
	default: return CAROM_SUCCESS; // refused by cr_check_world_shape
	}
}

void cr_shape_free(cr_shape *shape)
{
	carom_release_mesh(shape->mesh);
	shape->mesh = NULL;
}
