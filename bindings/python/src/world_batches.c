// Questions to a world by the million: rays, nearest points, overlaps, casts (carom/batch.h).
#include "binding.h"

#include <stdlib.h>

/// A batch that is being asked.
typedef struct batch_call {
	cp_world *world;
	cp_state *state;
	carom_batch batch;
	cp_input ignore;
	Py_buffer output;
} batch_call;

/// The batch of count queries begins: with arguments filter, ignore and results. False with an
/// exception; end_batch is called in both cases.
static bool begin_batch(batch_call *call, PyObject *self, int64_t count, PyObject *const *values)
{
	*call = (batch_call){ .world = (cp_world *)self, .state = cp_state_of(self) };
	call->batch.count = count;
	if (!cp_get_filter(call->state, values[0], &call->batch.filter) ||
		(cp_is_given(values[1]) &&
			(!cp_open_input(&call->ignore, values[1], "ignore", 0) || !cp_has_rows(&call->ignore, count) ||
				!cp_as_uint64(&call->ignore))) ||
		!cp_open_output(&call->output, values[2], "results", count, &call->batch.results))
		return false;
	call->batch.ignore = call->ignore.name ? (const carom_body_id *)(const void *)call->ignore.data : NULL;
	if (cp_is_open(call->world) && cp_begin_read(&call->world->use, "world"))
		return true;
	return false;
}

static void close_batch(batch_call *call)
{
	cp_close_input(&call->ignore);
	if (call->batch.results)
		PyBuffer_Release(&call->output);
}

/// The end of a batch that began: its answers, whose reference is taken, or an exception.
static PyObject *end_batch(batch_call *call, carom_result result, PyObject *answers)
{
	cp_end_read(&call->world->use);
	return cp_end_call(call->world, result, answers);
}

// ---- Rays ----

/// Has an array three dimensions? Rays of a camera have.
static bool is_picture(PyObject *value)
{
	PyObject *shape = value && cp_is_array(value) ? PyObject_GetAttrString(value, "shape") : NULL;
	const bool answer = shape && PySequence_Check(shape) && PySequence_Size(shape) == 3;
	Py_XDECREF(shape);
	PyErr_Clear();
	return answer;
}

bool cp_get_rays(cp_input *rays, PyObject *value, PyObject *directions, const carom_ray **result, carom_ray **owned)
{
	static const cp_form pictures[] = { { 1, 6, 6 }, { 1, 8, 8 }, { 0, 0, 0 } };
	cp_input along = { 0 };
	const bool two = cp_is_given(directions);
	bool good =
		(two                        ? cp_open_input(rays, value, "rays", 3)
				: is_picture(value) ? cp_open_forms(rays, value, "rays", pictures, 2, "(n, 6), (n, 8), (h, w, 6) or (h, w, 8)")
									: cp_open_rows(rays, value, "rays", 6, 8)) &&
		cp_as_doubles(rays);
	if (good && two)
		good = cp_open_input(&along, directions, "directions", 3) && cp_has_rows(&along, rays->rows) && cp_as_doubles(&along);
	if (good && !two && rays->columns == 7) {
		PyErr_Format(PyExc_ValueError, "rays has rows of 7; they must have 6 numbers, or 8 with t_min and t_max");
		good = false;
	}
	const double *from = (const double *)(const void *)rays->data, *to = (const double *)(const void *)along.data;
	if (good && !two && rays->columns == 8) {
		*result = (const carom_ray *)(const void *)rays->data;
	} else if (good) {
		*result = *owned = malloc(sizeof(carom_ray) * (size_t)(rays->rows + 1));
		good = *owned || PyErr_NoMemory();
		for (int64_t i = 0; good && i < rays->rows; i++) {
			const double *o = from + i * rays->columns, *d = two ? to + 3 * i : o + 3;
			(*owned)[i] = (carom_ray){ { o[0], o[1], o[2] }, { d[0], d[1], d[2] }, 0, INFINITY };
		}
	}
	cp_close_input(&along);
	return good;
}

static const char *const ray_names[] = { "rays", "directions", "filter", "ignore", "results", NULL };

/// A batch of rays: which of the three questions is asked.
typedef enum ray_question { RAY_NEAREST, RAY_ANY, RAY_ALL } ray_question;

static PyObject *answer_one_each(batch_call *call, const cp_input *input, const carom_ray *rays, ray_question question)
{
	cp_array *answers = question == RAY_ANY ? cp_new_numbers(call->state, CP_BOOL, call->batch.count, 0)
											: cp_new_records(call->state, CP_ray_hit, call->batch.count);
	carom_result result = CAROM_SUCCESS;
	if (answers) {
		Py_BEGIN_ALLOW_THREADS result = question == RAY_ANY
			? carom_world_cast_rays_any(call->world->world, &call->batch, rays, (bool *)answers->data)
			: carom_world_cast_rays(call->world->world, &call->batch, rays, (carom_ray_hit *)(void *)answers->data);
		Py_END_ALLOW_THREADS cp_shape_as(answers, input);
	}
	return end_batch(call, result, (PyObject *)answers);
}

/// Lists of answers: what is asked, and of what.
typedef struct list_question {
	const carom_ray *rays;
	const carom_aabb *boxes;
	const carom_placed_shape *shapes;
	int layout; ///< of answers; -1: ids
} list_question;

static carom_result ask_lists(const batch_call *call, const list_question *q, int64_t capacity, void *answers, int64_t *first)
{
	const carom_world *world = call->world->world;
	if (q->rays)
		return carom_world_cast_rays_all(world, &call->batch, q->rays, capacity, answers, first);
	if (q->boxes)
		return carom_world_overlap_aabbs(world, &call->batch, q->boxes, capacity, answers, first);
	if (q->layout < 0)
		return carom_world_overlap_shapes(world, &call->batch, q->shapes, capacity, answers, first);
	return carom_world_collide_shapes(world, &call->batch, q->shapes, capacity, answers, first);
}

/// (first, answers) of all queries: asked again where there was too little room.
static PyObject *answer_lists(batch_call *call, const list_question *q)
{
	cp_array *first = cp_new_numbers(call->state, CP_I64, call->batch.count + 1, 0);
	int64_t capacity = 2 * call->batch.count + 64;
	while (first) {
		cp_array *answers =
			q->layout < 0 ? cp_new_numbers(call->state, CP_U64, capacity, 0) : cp_new_records(call->state, q->layout, capacity);
		if (!answers)
			break;
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result = ask_lists(call, q, capacity, answers->data, (int64_t *)(void *)first->data);
		Py_END_ALLOW_THREADS const int64_t found = ((int64_t *)(void *)first->data)[call->batch.count];
		if (!result && found > capacity) {
			Py_DECREF((PyObject *)answers);
			capacity = found;
			continue;
		}
		if (!result)
			cp_shorten(answers, found);
		PyObject *both = result ? NULL : PyTuple_Pack(2, first, answers);
		Py_DECREF((PyObject *)answers);
		Py_DECREF((PyObject *)first);
		return end_batch(call, result, both);
	}
	Py_XDECREF((PyObject *)first);
	return end_batch(call, CAROM_SUCCESS, NULL);
}

static PyObject *cast(
	PyObject *self, const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, ray_question question)
{
	PyObject *values[5], *made = NULL;
	cp_input input = { 0 };
	carom_ray *owned = NULL;
	list_question lists = { .layout = CP_ray_hit };
	batch_call call = { 0 };
	if (cp_arguments(function, args, count, keywords, ray_names, 1, values) &&
		cp_get_rays(&input, values[0], values[1], &lists.rays, &owned) && begin_batch(&call, self, input.rows, values + 2))
		made = question == RAY_ALL ? answer_lists(&call, &lists) : answer_one_each(&call, &input, lists.rays, question);
	close_batch(&call);
	cp_close_input(&input);
	free(owned);
	return made;
}

static PyObject *cast_rays(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	return cast(self, "cast_rays", args, count, keywords, RAY_NEAREST);
}

static PyObject *cast_rays_any(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	return cast(self, "cast_rays_any", args, count, keywords, RAY_ANY);
}

static PyObject *cast_rays_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	return cast(self, "cast_rays_all", args, count, keywords, RAY_ALL);
}

// ---- Points and boxes ----

static PyObject *closest_points(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "points", "max_distance", "filter", "ignore", "results", NULL };
	PyObject *values[5], *made = NULL;
	cp_input points = { 0 };
	double most = INFINITY;
	batch_call call = { 0 };
	if (cp_arguments("closest_points", args, count, keywords, names, 1, values) &&
		cp_open_input(&points, values[0], "points", 3) && cp_as_doubles(&points) &&
		(!values[1] || cp_get_double(values[1], "max_distance", &most)) && begin_batch(&call, self, points.rows, values + 2)) {
		cp_array *answers = cp_new_records(call.state, CP_closest_point, points.rows);
		carom_result result = CAROM_SUCCESS;
		if (answers) {
			Py_BEGIN_ALLOW_THREADS result = carom_world_closest_points(call.world->world, &call.batch,
				(const carom_vec3 *)(const void *)points.data, most, (carom_closest_point *)(void *)answers->data);
			Py_END_ALLOW_THREADS
		}
		made = end_batch(&call, result, (PyObject *)answers);
	}
	close_batch(&call);
	cp_close_input(&points);
	return made;
}

static PyObject *overlap_aabbs(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "boxes", "filter", "ignore", "results", NULL };
	PyObject *values[4], *made = NULL;
	cp_input boxes = { 0 };
	batch_call call = { 0 };
	if (cp_arguments("overlap_aabbs", args, count, keywords, names, 1, values) && cp_open_input(&boxes, values[0], "boxes", 6) &&
		cp_as_doubles(&boxes) && begin_batch(&call, self, boxes.rows, values + 1)) {
		const list_question q = { .boxes = (const carom_aabb *)(const void *)boxes.data, .layout = -1 };
		made = answer_lists(&call, &q);
	}
	close_batch(&call);
	cp_close_input(&boxes);
	return made;
}

// ---- Shapes ----

/// Queries about shapes [count], each at a pose or on a motion.
typedef struct shape_rows {
	carom_shape *shapes; ///< one, or one for each query
	bool is_shared;
	PyObject *held; ///< a tuple of their objects
	cp_input rows;  ///< poses (n, 7) or motions (n, 14), of doubles
} shape_rows;

carom_shape *cp_get_shapes(cp_state *state, PyObject *value, const char *name, int64_t count, bool *is_shared, PyObject **held)
{
	*is_shared = cp_as_record(state, CP_shape, value) || Py_TYPE(value) == state->mesh_type;
	*held = *is_shared ? PyTuple_Pack(1, value) : PySequence_Tuple(value);
	const Py_ssize_t given = *held ? PyTuple_Size(*held) : -1;
	if (given < 0)
		return NULL;
	if (!*is_shared && given != count)
		return (void *)PyErr_Format(PyExc_ValueError, "%s has %zd shapes for %lld queries", name, given, (long long)count);
	carom_shape *shapes = malloc(sizeof(*shapes) * (size_t)(given + 1));
	if (!shapes)
		return (void *)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < given; i++) {
		if (!cp_get_shape(state, PyTuple_GetItem(*held, i), name, &shapes[i])) {
			free(shapes);
			return NULL;
		}
	}
	return shapes;
}

static bool open_shapes(cp_state *state, shape_rows *s, PyObject *shapes, PyObject *rows, const char *name, int columns)
{
	return cp_open_places(state, &s->rows, rows, name, columns) &&
		(s->shapes = cp_get_shapes(state, shapes, "shapes", s->rows.rows, &s->is_shared, &s->held));
}

static void close_shapes(shape_rows *s)
{
	free(s->shapes);
	Py_XDECREF(s->held);
	cp_close_input(&s->rows);
}

static carom_placed_shape *place_shapes(const shape_rows *s)
{
	carom_placed_shape *placed = malloc(sizeof(*placed) * (size_t)(s->rows.rows + 1));
	const carom_pose *poses = (const carom_pose *)(const void *)s->rows.data;
	for (int64_t i = 0; placed && i < s->rows.rows; i++)
		placed[i] = (carom_placed_shape){ &s->shapes[s->is_shared ? 0 : i], poses[i] };
	return placed ? placed : (void *)PyErr_NoMemory();
}

static PyObject *about_shapes(
	PyObject *self, const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, int layout)
{
	static const char *const names[] = { "shapes", "poses", "filter", "ignore", "results", NULL };
	PyObject *values[5], *made = NULL;
	shape_rows s = { 0 };
	batch_call call = { 0 };
	carom_placed_shape *placed = NULL;
	if (cp_arguments(function, args, count, keywords, names, 2, values) &&
		open_shapes(cp_state_of(self), &s, values[0], values[1], "poses", 7) && (placed = place_shapes(&s)) &&
		begin_batch(&call, self, s.rows.rows, values + 2)) {
		const list_question q = { .shapes = placed, .layout = layout };
		made = answer_lists(&call, &q);
	}
	close_batch(&call);
	free(placed);
	close_shapes(&s);
	return made;
}

static PyObject *overlap_shapes(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	return about_shapes(self, "overlap_shapes", args, count, keywords, -1);
}

static PyObject *collide_shapes(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	return about_shapes(self, "collide_shapes", args, count, keywords, CP_contact);
}

static PyObject *closest_bodies(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "shapes", "poses", "max_distance", "filter", "ignore", "results", NULL };
	PyObject *values[6], *made = NULL;
	shape_rows s = { 0 };
	batch_call call = { 0 };
	carom_placed_shape *placed = NULL;
	double most = INFINITY;
	if (cp_arguments("closest_bodies", args, count, keywords, names, 2, values) &&
		open_shapes(cp_state_of(self), &s, values[0], values[1], "poses", 7) &&
		(!values[2] || cp_get_double(values[2], "max_distance", &most)) && (placed = place_shapes(&s)) &&
		begin_batch(&call, self, s.rows.rows, values + 3)) {
		cp_array *answers = cp_new_records(call.state, CP_closest_body, s.rows.rows);
		carom_result result = CAROM_SUCCESS;
		if (answers) {
			Py_BEGIN_ALLOW_THREADS result = carom_world_closest_bodies(
				call.world->world, &call.batch, placed, most, (carom_closest_body *)(void *)answers->data);
			Py_END_ALLOW_THREADS
		}
		made = end_batch(&call, result, (PyObject *)answers);
	}
	close_batch(&call);
	free(placed);
	close_shapes(&s);
	return made;
}

static PyObject *cast_shapes(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "shapes", "motions", "tolerance", "filter", "ignore", "results", NULL };
	PyObject *values[6], *made = NULL;
	shape_rows s = { 0 };
	batch_call call = { 0 };
	double tolerance = 1e-3;
	carom_shape_cast *casts = NULL;
	if (cp_arguments("cast_shapes", args, count, keywords, names, 2, values) &&
		open_shapes(cp_state_of(self), &s, values[0], values[1], "motions", 14) &&
		(!values[2] || cp_get_double(values[2], "tolerance", &tolerance)) && begin_batch(&call, self, s.rows.rows, values + 3)) {
		cp_array *answers = cp_new_records(call.state, CP_shape_hit, s.rows.rows);
		casts = malloc(sizeof(*casts) * (size_t)(s.rows.rows + 1));
		const carom_motion *motions = (const carom_motion *)(const void *)s.rows.data;
		for (int64_t i = 0; casts && i < s.rows.rows; i++)
			casts[i] = (carom_shape_cast){ &s.shapes[s.is_shared ? 0 : i], motions[i] };
		carom_result result = casts ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
		if (answers && casts) {
			Py_BEGIN_ALLOW_THREADS result = carom_world_cast_shapes(
				call.world->world, &call.batch, casts, tolerance, (carom_shape_hit *)(void *)answers->data);
			Py_END_ALLOW_THREADS
		}
		made = end_batch(&call, result, (PyObject *)answers);
	}
	close_batch(&call);
	free(casts);
	close_shapes(&s);
	return made;
}

PyMethodDef cp_world_batches[] = {
	{ "cast_rays", CP_NAMED(cast_rays),
		CP_DOC("cast_rays($self, /, rays, directions=None, filter=None, ignore=None, results=None)", carom_world_cast_rays) },
	{ "cast_rays_any", CP_NAMED(cast_rays_any),
		CP_DOC("cast_rays_any($self, /, rays, directions=None, filter=None, ignore=None, results=None)",
			carom_world_cast_rays_any) },
	{ "cast_rays_all", CP_NAMED(cast_rays_all),
		CP_DOC("cast_rays_all($self, /, rays, directions=None, filter=None, ignore=None, results=None)",
			carom_world_cast_rays_all) },
	{ "closest_points", CP_NAMED(closest_points),
		CP_DOC("closest_points($self, /, points, max_distance=inf, filter=None, ignore=None, results=None)",
			carom_world_closest_points) },
	{ "overlap_aabbs", CP_NAMED(overlap_aabbs),
		CP_DOC("overlap_aabbs($self, /, boxes, filter=None, ignore=None, results=None)", carom_world_overlap_aabbs) },
	{ "overlap_shapes", CP_NAMED(overlap_shapes),
		CP_DOC("overlap_shapes($self, /, shapes, poses, filter=None, ignore=None, results=None)", carom_world_overlap_shapes) },
	{ "collide_shapes", CP_NAMED(collide_shapes),
		CP_DOC("collide_shapes($self, /, shapes, poses, filter=None, ignore=None, results=None)", carom_world_collide_shapes) },
	{ "closest_bodies", CP_NAMED(closest_bodies),
		CP_DOC("closest_bodies($self, /, shapes, poses, max_distance=inf, filter=None, ignore=None, results=None)",
			carom_world_closest_bodies) },
	{ "cast_shapes", CP_NAMED(cast_shapes),
		CP_DOC("cast_shapes($self, /, shapes, motions, tolerance=0.001, filter=None, ignore=None, results=None)",
			carom_world_cast_shapes) },
	{ NULL, NULL, 0, NULL },
};
