// Questions to a mesh without a world: rays, nearest points, intersections, distances.
#include "binding.h"

#include <stdlib.h>

static carom_context *context_of(PyObject *self) { return ((cp_mesh *)self)->context->context; }

static PyObject *mesh_contains(PyObject *self, PyObject *value)
{
	carom_vec3 point;
	bool inside;
	if (!cp_get_vec3(value, "point", &point))
		return NULL;
	const carom_result result = carom_mesh_contains(((cp_mesh *)self)->mesh, point, &inside);
	return result ? cp_raise(cp_state_of(self), context_of(self), result) : PyBool_FromLong(inside);
}

static PyObject *mesh_closest_point(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "point", "max_distance", NULL };
	PyObject *values[2];
	carom_vec3 point;
	double most = INFINITY;
	bool found;
	carom_mesh_point nearest;
	if (!cp_arguments("closest_point", args, count, keywords, names, 1, values) || !cp_get_vec3(values[0], "point", &point) ||
		(values[1] && !cp_get_double(values[1], "max_distance", &most)))
		return NULL;
	const carom_result result = carom_mesh_closest_point(((cp_mesh *)self)->mesh, point, most, &found, &nearest);
	if (result)
		return cp_raise(cp_state_of(self), context_of(self), result);
	return found ? cp_new_record(cp_state_of(self), CP_mesh_point, &nearest, NULL) : Py_NewRef(Py_None);
}

static PyObject *mesh_distance(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "other", "pose", "other_pose", "max_distance", NULL };
	cp_state *state = cp_state_of(self);
	PyObject *values[4];
	carom_pose poses[2];
	double most = INFINITY;
	carom_mesh *other;
	if (!cp_arguments("distance", args, count, keywords, names, 1, values) ||
		!(other = cp_get_mesh(state, values[0], "other")) || !cp_get_pose(state, values[1], "pose", &poses[0]) ||
		!cp_get_pose(state, values[2], "other_pose", &poses[1]) ||
		(values[3] && !cp_get_double(values[3], "max_distance", &most)))
		return NULL;
	bool found;
	carom_mesh_gap gap;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_mesh_distance(((cp_mesh *)self)->mesh, &poses[0], other, &poses[1], most, &found, &gap);
	Py_END_ALLOW_THREADS if (result) return cp_raise(state, context_of(self), result);
	return found ? cp_new_record(state, CP_mesh_gap, &gap, NULL) : Py_NewRef(Py_None);
}

/// Meshes and poses whose intersecting triangles are asked for; other NULL: within the mesh.
typedef struct intersection_query {
	const carom_mesh *mesh, *other;
	carom_pose poses[2];
} intersection_query;

static carom_result find_intersections(const intersection_query *query, int32_t capacity, int32_t (*pairs)[2], int32_t *count)
{
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = query->other
		? carom_mesh_intersections(query->mesh, &query->poses[0], query->other, &query->poses[1], capacity, pairs, count)
		: carom_mesh_self_intersections(query->mesh, capacity, pairs, count);
	Py_END_ALLOW_THREADS return result;
}

/// All pairs: asked for again where there are more than there was room for.
static PyObject *intersections(PyObject *self, const intersection_query *query)
{
	cp_state *state = cp_state_of(self);
	int32_t found = 256;
	for (;;) {
		const int32_t capacity = found;
		cp_array *pairs = cp_new_numbers(state, CP_I32, capacity, 2);
		if (!pairs)
			return NULL;
		const carom_result result = find_intersections(query, capacity, (int32_t(*)[2])(void *)pairs->data, &found);
		if (result == CAROM_SUCCESS && found <= capacity) {
			cp_shorten(pairs, found);
			return (PyObject *)pairs;
		}
		Py_DECREF((PyObject *)pairs);
		if (result)
			return cp_raise(state, context_of(self), result);
	}
}

static PyObject *mesh_self_intersections(PyObject *self, PyObject *none)
{
	(void)none;
	const intersection_query query = { .mesh = ((cp_mesh *)self)->mesh };
	return intersections(self, &query);
}

static PyObject *mesh_intersections(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "other", "pose", "other_pose", NULL };
	cp_state *state = cp_state_of(self);
	PyObject *values[3];
	intersection_query query = { .mesh = ((cp_mesh *)self)->mesh };
	if (!cp_arguments("intersections", args, count, keywords, names, 1, values) ||
		!(query.other = cp_get_mesh(state, values[0], "other")) || !cp_get_pose(state, values[1], "pose", &query.poses[0]) ||
		!cp_get_pose(state, values[2], "other_pose", &query.poses[1]))
		return NULL;
	return intersections(self, &query);
}

/// One coordinate after the other, as carom_ray_batch wants them: [3 * rows].
static float *by_coordinate(const float *rows, int64_t count)
{
	float *columns = malloc(sizeof(float) * (size_t)(3 * count + 1));
	for (int64_t i = 0; columns && i < 3 * count; i++)
		columns[i % 3 * count + i / 3] = rows[i];
	return columns;
}

/// The answers of cast_rays, in the order of the tuple.
static PyObject *cast(PyObject *self, const float *origins, const float *directions, const float *most, int64_t count)
{
	cp_state *state = cp_state_of(self);
	cp_array *triangles = cp_new_numbers(state, CP_I32, count, 0), *times = cp_new_numbers(state, CP_F32, count, 0),
			 *backs = cp_new_numbers(state, CP_BOOL, count, 0);
	PyObject *made = NULL;
	if (triangles && times && backs) {
		const carom_ray_batch rays = { (int32_t)count, { origins, origins + count, origins + 2 * count },
			{ directions, directions + count, directions + 2 * count }, most };
		const carom_hit_batch hits = { (int32_t *)(void *)triangles->data, (float *)(void *)times->data,
			(uint8_t *)backs->data };
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result = carom_mesh_cast_rays(((cp_mesh *)self)->mesh, &rays, &hits);
		Py_END_ALLOW_THREADS made =
			result ? cp_raise(state, context_of(self), result) : PyTuple_Pack(3, triangles, times, backs);
	}
	Py_XDECREF((PyObject *)triangles);
	Py_XDECREF((PyObject *)times);
	Py_XDECREF((PyObject *)backs);
	return made;
}

static PyObject *mesh_cast_rays(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "origins", "directions", "t_max", NULL };
	PyObject *values[3], *made = NULL;
	cp_input origins = { 0 }, directions = { 0 };
	double most = INFINITY;
	if (!cp_arguments("cast_rays", args, count, keywords, names, 2, values) ||
		(values[2] && !cp_get_double(values[2], "t_max", &most)))
		return NULL;
	if (cp_open_input(&origins, values[0], "origins", 3) && cp_open_input(&directions, values[1], "directions", 3) &&
		cp_has_rows(&directions, origins.rows) && cp_as_floats(&origins) && cp_as_floats(&directions)) {
		const int64_t n = origins.rows;
		float *from = by_coordinate((const float *)origins.data, n), *along = by_coordinate((const float *)directions.data, n);
		float *limits = malloc(sizeof(float) * (size_t)(n + 1));
		for (int64_t i = 0; limits && i < n; i++)
			limits[i] = (float)most;
		made = n > INT32_MAX          ? PyErr_Format(PyExc_OverflowError, "at most 2**31 - 1 rays at once")
			: from && along && limits ? cast(self, from, along, limits, n)
									  : PyErr_NoMemory();
		free(from);
		free(along);
		free(limits);
	}
	cp_close_input(&origins);
	cp_close_input(&directions);
	return made;
}

PyMethodDef cp_mesh_queries[] = {
	{ "contains", mesh_contains, METH_O, CP_DOC("contains($self, point, /)", carom_mesh_contains) },
	{ "closest_point", CP_NAMED(mesh_closest_point),
		CP_DOC("closest_point($self, /, point, max_distance=inf)", carom_mesh_closest_point) },
	{ "distance", CP_NAMED(mesh_distance),
		CP_DOC("distance($self, /, other, pose=None, other_pose=None, max_distance=inf)", carom_mesh_distance) },
	{ "self_intersections", mesh_self_intersections, METH_NOARGS,
		CP_DOC("self_intersections($self, /)", carom_mesh_self_intersections) },
	{ "intersections", CP_NAMED(mesh_intersections),
		CP_DOC("intersections($self, /, other, pose=None, other_pose=None)", carom_mesh_intersections) },
	{ "cast_rays", CP_NAMED(mesh_cast_rays),
		"cast_rays($self, /, origins, directions, t_max=inf)\n--\n\n(triangles, t, back_face) of the nearest hits, in float. "
		"" DOC_carom_mesh_cast_rays },
	{ NULL, NULL, 0, NULL },
};
