// Functions of the module that ask shapes without a world: rays and nearest points, one by one and
// by the million; their mass.
#include "binding.h"

#include <stdlib.h>

/// One shape at one pose, and the context.
typedef struct shape_call {
	cp_state *state;
	cp_context *context;
	carom_shape shape;
	carom_pose pose;
	// Of a batch:
	carom_batch batch;
	const void *queries; ///< rays or points
	void *answers;
	double max_distance;
} shape_call;

static bool begin(PyObject *module, PyObject *shape, PyObject *pose, PyObject *context, shape_call *call)
{
	call->state = PyModule_GetState(module);
	return cp_get_shape(call->state, shape, "shape", &call->shape) && cp_get_pose(call->state, pose, "pose", &call->pose) &&
		(call->context = cp_use_context(call->state, context));
}

/// A record of the answer, None where nothing was found, or an exception; the context is given up.
static PyObject *end(shape_call *call, carom_result result, bool found, int layout, const void *answer)
{
	PyObject *made = result ? cp_raise(call->state, call->context->context, result)
		: found             ? cp_new_record(call->state, layout, answer, NULL)
							: Py_NewRef(Py_None);
	Py_DECREF((PyObject *)call->context);
	return made;
}

static PyObject *shape_cast_ray(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "shape", "origin", "direction", "pose", "t_min", "t_max", "context", NULL };
	PyObject *values[7];
	shape_call call;
	carom_ray ray = { .t_max = INFINITY };
	if (!cp_arguments("shape_cast_ray", args, count, keywords, names, 3, values) ||
		!cp_get_vec3(values[1], "origin", &ray.origin) || !cp_get_vec3(values[2], "direction", &ray.direction) ||
		(values[4] && !cp_get_double(values[4], "t_min", &ray.t_min)) ||
		(values[5] && !cp_get_double(values[5], "t_max", &ray.t_max)) || !begin(module, values[0], values[3], values[6], &call))
		return NULL;
	bool found = false;
	carom_ray_hit hit;
	const carom_result result = carom_shape_cast_ray(call.context->context, &call.shape, &call.pose, &ray, &found, &hit);
	return end(&call, result, found, CP_ray_hit, &hit);
}

static PyObject *shape_closest_point(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "shape", "point", "pose", "max_distance", "context", NULL };
	PyObject *values[5];
	shape_call call;
	carom_vec3 point;
	double most = INFINITY;
	if (!cp_arguments("shape_closest_point", args, count, keywords, names, 2, values) ||
		!cp_get_vec3(values[1], "point", &point) || (values[3] && !cp_get_double(values[3], "max_distance", &most)) ||
		!begin(module, values[0], values[2], values[4], &call))
		return NULL;
	bool found = false;
	carom_closest_point closest;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_shape_closest_point(call.context->context, &call.shape, &call.pose, point, most, &found, &closest);
	Py_END_ALLOW_THREADS return end(&call, result, found, CP_closest_point, &closest);
}

/// Ask a batch. Takes the reference to answers, which may be NULL, and gives up the context.
/// Returns the answers, or NULL with an exception.
static PyObject *ask_batch(shape_call *call, cp_array *answers, int64_t first_piece, cp_ask_fn ask)
{
	bool good = false;
	if (answers) {
		call->answers = answers->data;
		good = cp_ask_in_pieces(call->state, call->context, call->batch.count, first_piece, ask, call);
	}
	Py_DECREF((PyObject *)call->context);
	if (good)
		return (PyObject *)answers;
	Py_XDECREF((PyObject *)answers);
	return NULL;
}

static int ask_rays(void *user, int64_t first, int64_t count)
{
	const shape_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_shape_cast_rays(call->context->context, &piece, &call->shape, &call->pose,
		(const carom_ray *)call->queries + first, (carom_ray_hit *)call->answers + first);
}

static int ask_points(void *user, int64_t first, int64_t count)
{
	const shape_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_shape_closest_points(call->context->context, &piece, &call->shape, &call->pose,
		(const carom_vec3 *)call->queries + first, call->max_distance, (carom_closest_point *)call->answers + first);
}

static PyObject *shape_cast_rays(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "shape", "rays", "directions", "pose", "results", "context", NULL };
	PyObject *values[6], *made = NULL;
	shape_call call = { .state = NULL };
	cp_input input = { .name = NULL };
	const carom_ray *rays;
	carom_ray *owned = NULL;
	Py_buffer output;
	if (cp_arguments("shape_cast_rays", args, count, keywords, names, 2, values) &&
		cp_get_rays(&input, values[1], values[2], &rays, &owned) &&
		cp_open_output(&output, values[4], "results", input.rows, &call.batch.results) &&
		begin(module, values[0], values[3], values[5], &call)) {
		call.batch.count = input.rows;
		call.queries = rays;
		cp_array *hits = cp_new_records(call.state, CP_ray_hit, input.rows);
		made = ask_batch(&call, hits, CP_RAYS_AT_ONCE, ask_rays);
		if (made)
			cp_shape_as(hits, &input);
	}
	if (call.batch.results)
		PyBuffer_Release(&output);
	cp_close_input(&input);
	free(owned);
	return made;
}

static PyObject *shape_closest_points(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "shape", "points", "pose", "max_distance", "results", "context", NULL };
	PyObject *values[6], *made = NULL;
	shape_call call = { .state = NULL };
	cp_input points = { .name = NULL };
	double most = INFINITY;
	Py_buffer output;
	if (cp_arguments("shape_closest_points", args, count, keywords, names, 2, values) &&
		cp_open_input(&points, values[1], "points", 3) && cp_as_doubles(&points) &&
		(!values[3] || cp_get_double(values[3], "max_distance", &most)) &&
		cp_open_output(&output, values[4], "results", points.rows, &call.batch.results) &&
		begin(module, values[0], values[2], values[5], &call)) {
		call.batch.count = points.rows;
		call.queries = points.data;
		call.max_distance = most;
		made = ask_batch(&call, cp_new_records(call.state, CP_closest_point, points.rows), CP_POINTS_AT_ONCE, ask_points);
	}
	if (call.batch.results)
		PyBuffer_Release(&output);
	cp_close_input(&points);
	return made;
}

// ---- Mass ----

static PyObject *shape_mass(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "shape", "context", NULL };
	PyObject *values[2];
	shape_call call;
	if (!cp_arguments("shape_mass", args, count, keywords, names, 1, values) ||
		!begin(module, values[0], NULL, values[1], &call))
		return NULL;
	carom_mass mass;
	const carom_result result = carom_shape_get_mass(call.context->context, &call.shape, &mass);
	return end(&call, result, true, CP_mass, &mass);
}

static PyObject *parts_mass(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "parts", "densities", "context", NULL };
	PyObject *values[3], *made = NULL;
	if (!cp_arguments("parts_mass", args, count, keywords, names, 1, values))
		return NULL;
	shape_call call = { .state = PyModule_GetState(module) };
	cp_input densities = { .name = NULL };
	PyObject *tuple = cp_parts_tuple(call.state, "parts", values[0]);
	int32_t part_count = 0;
	carom_part *parts = tuple ? cp_copy_parts(call.state, tuple, &part_count) : NULL;
	const double *numbers = NULL;
	if (parts &&
		(!values[1] ||
			(cp_open_input(&densities, values[1], "densities", 0) && cp_has_rows(&densities, part_count) &&
				(numbers = cp_as_doubles(&densities)))) &&
		(call.context = cp_use_context(call.state, values[2]))) {
		carom_mass mass;
		const carom_result result = carom_parts_get_mass(call.context->context, parts, part_count, numbers, &mass);
		made = end(&call, result, true, CP_mass, &mass);
	}
	cp_close_input(&densities);
	free(parts);
	Py_XDECREF(tuple);
	return made;
}

PyMethodDef cp_shape_rays[] = {
	{ "shape_cast_ray", CP_NAMED(shape_cast_ray),
		CP_DOC("shape_cast_ray($module, /, shape, origin, direction, pose=None, t_min=0.0, t_max=inf, context=None)",
			carom_shape_cast_ray) },
	{ "shape_closest_point", CP_NAMED(shape_closest_point),
		CP_DOC("shape_closest_point($module, /, shape, point, pose=None, max_distance=inf, context=None)",
			carom_shape_closest_point) },
	{ "shape_cast_rays", CP_NAMED(shape_cast_rays),
		CP_DOC("shape_cast_rays($module, /, shape, rays, directions=None, pose=None, results=None, context=None)",
			carom_shape_cast_rays) },
	{ "shape_closest_points", CP_NAMED(shape_closest_points),
		CP_DOC("shape_closest_points($module, /, shape, points, pose=None, max_distance=inf, results=None, context=None)",
			carom_shape_closest_points) },
	{ "shape_mass", CP_NAMED(shape_mass), CP_DOC("shape_mass($module, /, shape, context=None)", carom_shape_get_mass) },
	{ "parts_mass", CP_NAMED(parts_mass),
		CP_DOC("parts_mass($module, /, parts, densities=None, context=None)", carom_parts_get_mass) },
	{ NULL, NULL, 0, NULL },
};
