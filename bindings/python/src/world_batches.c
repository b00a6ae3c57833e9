// Questions to a world by the million: rays, nearest points, overlaps, casts (carom/batch.h).
#include "binding.h"

#include <stdlib.h>

/// A batch that is being asked.
typedef struct batch_call {
	cp_world *world;
	cp_state *state;
	carom_batch batch;
	cp_filter filter;
	cp_input ignore;
	Py_buffer output;
	const void *queries; ///< rays, boxes, points, placed shapes or casts
	void *answers;
	double limit; ///< max_distance or tolerance, where the question has one
} batch_call;

/// The batch of count queries begins: with arguments filter, ignore and results. False with an
/// exception; end_batch is called in both cases.
static bool begin_batch(batch_call *call, PyObject *self, int64_t count, PyObject *const *values)
{
	*call = (batch_call){ .world = (cp_world *)self, .state = cp_state_of(self) };
	call->batch.count = count;
	if (!cp_get_filter(call->state, values[0], &call->filter) ||
		(cp_is_given(values[1]) &&
			(!cp_open_input(&call->ignore, values[1], "ignore", 0) || !cp_has_rows(&call->ignore, count) ||
				!cp_as_uint64(&call->ignore))) ||
		!cp_open_output(&call->output, values[2], "results", count, &call->batch.results))
		return false;
	call->batch.filter = call->filter.given;
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

/// Ask a batch that began, one answer for each query. Takes the reference to answers, which may be
/// NULL; returns them, or NULL with an exception.
static PyObject *ask_one_each(batch_call *call, cp_array *answers, int64_t first_piece, cp_ask_fn ask)
{
	bool good = false;
	if (answers) {
		call->answers = answers->data;
		good = cp_ask_in_pieces(call->state, call->world->context, call->batch.count, first_piece, ask, call);
	}
	cp_end_read(&call->world->use);
	if (!good)
		Py_CLEAR(answers);
	return cp_end_filter(&call->filter, (PyObject *)answers);
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

static int ask_nearest(void *user, int64_t first, int64_t count)
{
	const batch_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_world_cast_rays(
		call->world->world, &piece, (const carom_ray *)call->queries + first, (carom_ray_hit *)call->answers + first);
}

static int ask_any(void *user, int64_t first, int64_t count)
{
	const batch_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_world_cast_rays_any(
		call->world->world, &piece, (const carom_ray *)call->queries + first, (bool *)call->answers + first);
}

/// A device is asked for many rays at once.
static int64_t rays_at_once(const batch_call *call)
{
	return call->world->device_count > 0 ? CP_ON_DEVICE_AT_ONCE : CP_RAYS_AT_ONCE;
}

static PyObject *answer_rays(batch_call *call, const cp_input *input, ray_question question)
{
	cp_array *answers = question == RAY_ANY ? cp_new_numbers(call->state, CP_BOOL, call->batch.count, 0)
											: cp_new_records(call->state, CP_ray_hit, call->batch.count);
	PyObject *made = ask_one_each(call, answers, rays_at_once(call), question == RAY_ANY ? ask_any : ask_nearest);
	if (made)
		cp_shape_as(answers, input);
	return made;
}

// ---- Lists of answers ----

/// What is asked of a batch that has lists of answers.
typedef enum list_question { LIST_RAYS, LIST_BOXES, LIST_SHAPES, LIST_CONTACTS, LIST_CASTS } list_question;

typedef struct list_call {
	batch_call *call;
	list_question question;
} list_call;

static carom_result ask_list(const void *user, int64_t from, int64_t count, int64_t room, void *answers, int64_t *first)
{
	const list_call *list = user;
	const batch_call *call = list->call;
	const carom_world *world = call->world->world;
	const carom_batch piece = cp_piece_of(&call->batch, from, count);
	switch (list->question) {
	case LIST_RAYS:
		return carom_world_cast_rays_all(world, &piece, (const carom_ray *)call->queries + from, room, answers, first);
	case LIST_BOXES:
		return carom_world_overlap_aabbs(world, &piece, (const carom_aabb *)call->queries + from, room, answers, first);
	case LIST_SHAPES:
		return carom_world_overlap_shapes(world, &piece, (const carom_placed_shape *)call->queries + from, room, answers, first);
	case LIST_CASTS:
		return carom_world_cast_shapes_all(
			world, &piece, (const carom_shape_cast *)call->queries + from, call->limit, room, answers, first);
	default:
		return carom_world_collide_shapes(world, &piece, (const carom_placed_shape *)call->queries + from, room, answers, first);
	}
}

/// (first, answers) of all queries of a batch that began.
static PyObject *answer_lists(batch_call *call, list_question question, int layout)
{
	const list_call list = { call, question };
	const int64_t first_piece = question == LIST_RAYS ? rays_at_once(call)
		: question == LIST_BOXES                      ? CP_POINTS_AT_ONCE
													  : CP_SHAPES_AT_ONCE;
	PyObject *both = cp_ask_lists(call->state, call->world->context, call->batch.count, first_piece, layout, ask_list, &list);
	cp_end_read(&call->world->use);
	return cp_end_filter(&call->filter, both);
}

static PyObject *cast(
	PyObject *self, const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, ray_question question)
{
	PyObject *values[5], *made = NULL;
	cp_input input = { 0 };
	carom_ray *owned = NULL;
	const carom_ray *rays;
	batch_call call = { 0 };
	if (cp_arguments(function, args, count, keywords, ray_names, 1, values) &&
		cp_get_rays(&input, values[0], values[1], &rays, &owned) && begin_batch(&call, self, input.rows, values + 2)) {
		call.queries = rays;
		made = question == RAY_ALL ? answer_lists(&call, LIST_RAYS, CP_ray_hit) : answer_rays(&call, &input, question);
	}
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

static int ask_closest_points(void *user, int64_t first, int64_t count)
{
	const batch_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_world_closest_points(call->world->world, &piece, (const carom_vec3 *)call->queries + first, call->limit,
		(carom_closest_point *)call->answers + first);
}

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
		call.queries = points.data;
		call.limit = most;
		made = ask_one_each(
			&call, cp_new_records(call.state, CP_closest_point, points.rows), CP_POINTS_AT_ONCE, ask_closest_points);
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
		call.queries = boxes.data;
		made = answer_lists(&call, LIST_BOXES, -1);
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
		call.queries = placed;
		made = answer_lists(&call, layout < 0 ? LIST_SHAPES : LIST_CONTACTS, layout);
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

static int ask_closest_bodies(void *user, int64_t first, int64_t count)
{
	const batch_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_world_closest_bodies(call->world->world, &piece, (const carom_placed_shape *)call->queries + first,
		call->limit, (carom_closest_body *)call->answers + first);
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
		call.queries = placed;
		call.limit = most;
		made = ask_one_each(
			&call, cp_new_records(call.state, CP_closest_body, s.rows.rows), CP_SHAPES_AT_ONCE, ask_closest_bodies);
	}
	close_batch(&call);
	free(placed);
	close_shapes(&s);
	return made;
}

static int ask_casts(void *user, int64_t first, int64_t count)
{
	const batch_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_world_cast_shapes(call->world->world, &piece, (const carom_shape_cast *)call->queries + first, call->limit,
		(carom_shape_hit *)call->answers + first);
}

static carom_shape_cast *move_shapes(const shape_rows *s)
{
	carom_shape_cast *casts = malloc(sizeof(*casts) * (size_t)(s->rows.rows + 1));
	const carom_motion *motions = (const carom_motion *)(const void *)s->rows.data;
	for (int64_t i = 0; casts && i < s->rows.rows; i++)
		casts[i] = (carom_shape_cast){ &s->shapes[s->is_shared ? 0 : i], motions[i] };
	return casts ? casts : (void *)PyErr_NoMemory();
}

/// Casts of shapes: the first hit of each, or all hits.
static PyObject *cast_each(
	PyObject *self, const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, bool all)
{
	static const char *const names[] = { "shapes", "motions", "tolerance", "filter", "ignore", "results", NULL };
	PyObject *values[6], *made = NULL;
	shape_rows s = { 0 };
	batch_call call = { 0 };
	double tolerance = 1e-3;
	carom_shape_cast *casts = NULL;
	if (cp_arguments(function, args, count, keywords, names, 2, values) &&
		open_shapes(cp_state_of(self), &s, values[0], values[1], "motions", 14) &&
		(!values[2] || cp_get_double(values[2], "tolerance", &tolerance)) && (casts = move_shapes(&s)) &&
		begin_batch(&call, self, s.rows.rows, values + 3)) {
		call.queries = casts;
		call.limit = tolerance;
		made = all ? answer_lists(&call, LIST_CASTS, CP_shape_hit)
				   : ask_one_each(&call, cp_new_records(call.state, CP_shape_hit, s.rows.rows), CP_SHAPES_AT_ONCE, ask_casts);
	}
	close_batch(&call);
	free(casts);
	close_shapes(&s);
	return made;
}

static PyObject *cast_shapes(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	return cast_each(self, "cast_shapes", args, count, keywords, false);
}

static PyObject *cast_shapes_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	return cast_each(self, "cast_shapes_all", args, count, keywords, true);
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
	{ "cast_shapes_all", CP_NAMED(cast_shapes_all),
		CP_DOC("cast_shapes_all($self, /, shapes, motions, tolerance=0.001, filter=None, ignore=None, results=None)",
			carom_world_cast_shapes_all) },
	{ NULL, NULL, 0, NULL },
};
