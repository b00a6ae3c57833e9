// Single questions to a world between steps: rays, nearest points and bodies, overlaps, casts.
#include "binding.h"
#include <stdlib.h>

/// Arguments that queries share.
typedef struct query {
	cp_world *world;
	cp_state *state;
	cp_filter filter;
} query;

/// A query begins: with its filter. False with an exception. end_query ends it.
static bool begin_query(PyObject *self, PyObject *filter, query *q)
{
	q->world = (cp_world *)self;
	q->state = cp_state_of(self);
	return cp_get_filter(q->state, filter, &q->filter) && cp_is_open(q->world) && cp_begin_read(&q->world->use, "world");
}

/// Value, whose reference is taken, as the answer of a query.
static PyObject *end_with(query *q, carom_result result, PyObject *value)
{
	cp_end_read(&q->world->use);
	return cp_end_filter(&q->filter, cp_end_call(q->world, result, value));
}

/// A record of the answer; None where nothing was found.
static PyObject *end_query(query *q, carom_result result, bool found, int layout, const void *answer)
{
	return end_with(q, result, result ? NULL : found ? cp_new_record(q->state, layout, answer, NULL) : Py_NewRef(Py_None));
}

/// The ray of arguments origin, direction, t_min and t_max.
static bool get_ray(PyObject *const *values, carom_ray *ray)
{
	*ray = (carom_ray){ .t_max = INFINITY };
	return cp_get_vec3(values[0], "origin", &ray->origin) && cp_get_vec3(values[1], "direction", &ray->direction) &&
		(!values[2] || cp_get_double(values[2], "t_min", &ray->t_min)) &&
		(!values[3] || cp_get_double(values[3], "t_max", &ray->t_max));
}

/// A single ray is too short to let the GIL go for, unless it asks a function: other threads that
/// wait for the GIL may be those that it waits for.
static PyThreadState *begin_ray(const query *q) { return q->filter.function ? PyEval_SaveThread() : NULL; }

static void end_ray(PyThreadState *thread)
{
	if (thread)
		PyEval_RestoreThread(thread);
}

static const char *const ray_names[] = { "origin", "direction", "t_min", "t_max", "filter", NULL };

static PyObject *cast_ray(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	PyObject *values[5];
	carom_ray ray;
	query q;
	if (!cp_arguments("cast_ray", args, count, keywords, ray_names, 2, values) || !get_ray(values, &ray) ||
		!begin_query(self, values[4], &q))
		return NULL;
	bool found = false;
	carom_ray_hit hit;
	PyThreadState *const thread = begin_ray(&q);
	const carom_result result = carom_world_cast_ray(q.world->world, &ray, q.filter.given, &found, &hit);
	end_ray(thread);
	return end_query(&q, result, found, CP_ray_hit, &hit);
}

static PyObject *cast_ray_any(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	PyObject *values[5];
	carom_ray ray;
	query q;
	if (!cp_arguments("cast_ray_any", args, count, keywords, ray_names, 2, values) || !get_ray(values, &ray) ||
		!begin_query(self, values[4], &q))
		return NULL;
	bool found = false;
	PyThreadState *const thread = begin_ray(&q);
	const carom_result result = carom_world_cast_ray_any(q.world->world, &ray, q.filter.given, &found);
	end_ray(thread);
	return end_with(&q, result, PyBool_FromLong(found));
}

// ---- Questions with several answers ----

/// A question, in a form that can be asked again with more room.
typedef struct open_query {
	query q;
	carom_ray ray;
	carom_aabb box;
	carom_shape shape;
	carom_pose pose;
	carom_motion motion;
	double tolerance;
	carom_result (*ask)(const struct open_query *self, int32_t capacity, void *answers, int32_t *count);
	int layout; ///< of answers; -1: ids
} open_query;

static carom_result ask_ray(const open_query *o, int32_t capacity, void *answers, int32_t *count)
{
	return carom_world_cast_ray_all(o->q.world->world, &o->ray, o->q.filter.given, capacity, answers, count);
}

static carom_result ask_box(const open_query *o, int32_t capacity, void *answers, int32_t *count)
{
	return carom_world_overlap_aabb(o->q.world->world, &o->box, o->q.filter.given, capacity, answers, count);
}

static carom_result ask_overlap(const open_query *o, int32_t capacity, void *answers, int32_t *count)
{
	return carom_world_overlap_shape(o->q.world->world, &o->shape, &o->pose, o->q.filter.given, capacity, answers, count);
}

static carom_result ask_contacts(const open_query *o, int32_t capacity, void *answers, int32_t *count)
{
	return carom_world_collide_shape(o->q.world->world, &o->shape, &o->pose, o->q.filter.given, capacity, answers, count);
}

static carom_result ask_cast(const open_query *o, int32_t capacity, void *answers, int32_t *count)
{
	return carom_world_cast_shape_all(
		o->q.world->world, &o->shape, &o->motion, o->tolerance, o->q.filter.given, capacity, answers, count);
}

/// All answers, for a query that has begun; it is ended.
static PyObject *all_answers(open_query *o)
{
	int32_t found = 64;
	for (;;) {
		const int32_t capacity = found;
		cp_array *answers =
			o->layout < 0 ? cp_new_numbers(o->q.state, CP_U64, capacity, 0) : cp_new_records(o->q.state, o->layout, capacity);
		carom_result result = CAROM_SUCCESS;
		if (answers) {
			Py_BEGIN_ALLOW_THREADS result = o->ask(o, capacity, answers->data, &found);
			Py_END_ALLOW_THREADS
		}
		if (!answers || result || found <= capacity) {
			if (answers && !result)
				cp_shorten(answers, found);
			return end_with(&o->q, result, (PyObject *)answers);
		}
		Py_DECREF((PyObject *)answers);
	}
}

static PyObject *cast_ray_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	PyObject *values[5];
	open_query o = { .ask = ask_ray, .layout = CP_ray_hit };
	if (!cp_arguments("cast_ray_all", args, count, keywords, ray_names, 2, values) || !get_ray(values, &o.ray) ||
		!begin_query(self, values[4], &o.q))
		return NULL;
	return all_answers(&o);
}

static PyObject *overlap_aabb(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "lower", "upper", "filter", NULL };
	PyObject *values[3];
	open_query o = { .ask = ask_box, .layout = -1 };
	if (!cp_arguments("overlap_aabb", args, count, keywords, names, 2, values) ||
		!cp_get_vec3(values[0], "lower", &o.box.lower) || !cp_get_vec3(values[1], "upper", &o.box.upper) ||
		!begin_query(self, values[2], &o.q))
		return NULL;
	return all_answers(&o);
}

/// A question about a shape at a pose.
static PyObject *about_shape(
	PyObject *self, const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, open_query *o)
{
	static const char *const names[] = { "shape", "pose", "filter", NULL };
	PyObject *values[3];
	cp_state *state = cp_state_of(self);
	if (!cp_arguments(function, args, count, keywords, names, 1, values) ||
		!cp_get_shape(state, values[0], "shape", &o->shape) || !cp_get_pose(state, values[1], "pose", &o->pose) ||
		!begin_query(self, values[2], &o->q))
		return NULL;
	return all_answers(o);
}

static PyObject *overlap_shape(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	open_query o = { .ask = ask_overlap, .layout = -1 };
	return about_shape(self, "overlap_shape", args, count, keywords, &o);
}

static PyObject *collide_shape(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	open_query o = { .ask = ask_contacts, .layout = CP_contact };
	return about_shape(self, "collide_shape", args, count, keywords, &o);
}

// ---- The nearest ----

static PyObject *closest_point(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "point", "max_distance", "filter", NULL };
	PyObject *values[3];
	carom_vec3 point;
	double most = INFINITY;
	query q;
	if (!cp_arguments("closest_point", args, count, keywords, names, 1, values) || !cp_get_vec3(values[0], "point", &point) ||
		(values[1] && !cp_get_double(values[1], "max_distance", &most)) || !begin_query(self, values[2], &q))
		return NULL;
	bool found = false;
	carom_closest_point answer;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_world_closest_point(q.world->world, point, most, q.filter.given, &found, &answer);
	Py_END_ALLOW_THREADS return end_query(&q, result, found, CP_closest_point, &answer);
}

static PyObject *closest_body(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "shape", "pose", "max_distance", "filter", NULL };
	cp_state *state = cp_state_of(self);
	PyObject *values[4];
	carom_shape shape;
	carom_pose pose;
	double most = INFINITY;
	query q;
	if (!cp_arguments("closest_body", args, count, keywords, names, 1, values) ||
		!cp_get_shape(state, values[0], "shape", &shape) || !cp_get_pose(state, values[1], "pose", &pose) ||
		(values[2] && !cp_get_double(values[2], "max_distance", &most)) || !begin_query(self, values[3], &q))
		return NULL;
	bool found = false;
	carom_closest_body answer;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_world_closest_body(q.world->world, &shape, &pose, most, q.filter.given, &found, &answer);
	Py_END_ALLOW_THREADS return end_query(&q, result, found, CP_closest_body, &answer);
}

static PyObject *closest_pair(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "max_distance", "filter_a", "filter_b", NULL };
	PyObject *values[3];
	double most = INFINITY;
	query a, b;
	if (!cp_arguments("closest_pair", args, count, keywords, names, 0, values) ||
		(values[0] && !cp_get_double(values[0], "max_distance", &most)) ||
		!cp_get_filter(cp_state_of(self), values[2], &b.filter) || !begin_query(self, values[1], &a))
		return NULL;
	bool found = false;
	carom_closest_pair answer;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_world_closest_pair(a.world->world, most, a.filter.given, b.filter.given, &found, &answer);
	Py_END_ALLOW_THREADS return cp_end_filter(&b.filter, end_query(&a, result, found, CP_closest_pair, &answer));
}

static const char *const cast_names[] = { "shape", "motion", "tolerance", "filter", NULL };

static PyObject *cast_shape(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_state *state = cp_state_of(self);
	PyObject *values[4];
	carom_shape shape;
	carom_motion motion;
	double tolerance = 1e-3;
	query q;
	if (!cp_arguments("cast_shape", args, count, keywords, cast_names, 2, values) ||
		!cp_get_shape(state, values[0], "shape", &shape) || !cp_get_motion(state, values[1], "motion", &motion) ||
		(values[2] && !cp_get_double(values[2], "tolerance", &tolerance)) || !begin_query(self, values[3], &q))
		return NULL;
	bool found = false;
	carom_shape_hit answer;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_world_cast_shape(q.world->world, &shape, &motion, tolerance, q.filter.given, &found, &answer);
	Py_END_ALLOW_THREADS return end_query(&q, result, found, CP_shape_hit, &answer);
}

static PyObject *cast_shape_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_state *state = cp_state_of(self);
	PyObject *values[4];
	open_query o = { .ask = ask_cast, .layout = CP_shape_hit, .tolerance = 1e-3 };
	if (!cp_arguments("cast_shape_all", args, count, keywords, cast_names, 2, values) ||
		!cp_get_shape(state, values[0], "shape", &o.shape) || !cp_get_motion(state, values[1], "motion", &o.motion) ||
		(values[2] && !cp_get_double(values[2], "tolerance", &o.tolerance)) || !begin_query(self, values[3], &o.q))
		return NULL;
	return all_answers(&o);
}

// ---- Parts that move as one body ----

static const char *const parts_cast_names[] = { "parts", "motion", "tolerance", "filter", NULL };

/// A cast of parts. What it holds is given back by end_parts.
typedef struct parts_cast {
	open_query o;
	PyObject *tuple;
	carom_part *parts;
	int32_t part_count;
} parts_cast;

static void end_parts(parts_cast *c)
{
	free(c->parts);
	Py_XDECREF(c->tuple);
}

/// False with an exception; then nothing is held.
static bool begin_parts(
	PyObject *self, const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, parts_cast *c)
{
	cp_state *state = cp_state_of(self);
	PyObject *values[4];
	*c = (parts_cast){ .o = { .layout = CP_shape_hit, .tolerance = 1e-3 } };
	if (cp_arguments(function, args, count, keywords, parts_cast_names, 2, values) &&
		cp_get_motion(state, values[1], "motion", &c->o.motion) &&
		(!values[2] || cp_get_double(values[2], "tolerance", &c->o.tolerance)) &&
		(c->tuple = cp_parts_tuple(state, "parts", values[0])) != NULL &&
		(c->parts = cp_copy_parts(state, c->tuple, &c->part_count)) != NULL && begin_query(self, values[3], &c->o.q))
		return true;
	end_parts(c);
	return false;
}

static PyObject *cast_parts(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	parts_cast c;
	if (!begin_parts(self, "cast_parts", args, count, keywords, &c))
		return NULL;
	bool found = false;
	carom_shape_hit answer;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_world_cast_parts(
		c.o.q.world->world, c.parts, c.part_count, &c.o.motion, c.o.tolerance, c.o.q.filter.given, &found, &answer);
	Py_END_ALLOW_THREADS PyObject *made = end_query(&c.o.q, result, found, CP_shape_hit, &answer);
	end_parts(&c);
	return made;
}

static carom_result ask_parts(const open_query *o, int32_t capacity, void *answers, int32_t *count)
{
	const parts_cast *c = (const parts_cast *)o;
	return carom_world_cast_parts_all(
		o->q.world->world, c->parts, c->part_count, &o->motion, o->tolerance, o->q.filter.given, capacity, answers, count);
}

static PyObject *cast_parts_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	parts_cast c;
	if (!begin_parts(self, "cast_parts_all", args, count, keywords, &c))
		return NULL;
	c.o.ask = ask_parts;
	PyObject *made = all_answers(&c.o);
	end_parts(&c);
	return made;
}

// ---- Surfaces that deform ----

typedef struct crossings_query {
	open_query o;
	carom_body_id id;
} crossings_query;

static carom_result ask_crossings(const open_query *o, int32_t capacity, void *answers, int32_t *count)
{
	const crossings_query *c = (const crossings_query *)o;
	return carom_world_find_crossings(o->q.world->world, c->id, o->q.filter.given, capacity, answers, count);
}

static PyObject *find_crossings(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "filter", NULL };
	PyObject *values[2];
	crossings_query c = { .o = { .ask = ask_crossings, .layout = CP_crossing } };
	if (!cp_arguments("find_crossings", args, count, keywords, names, 0, values) ||
		(cp_is_given(values[0]) && !cp_get_id(values[0], &c.id)) || !begin_query(self, values[1], &c.o.q))
		return NULL;
	return all_answers(&c.o);
}

typedef struct velocity_query {
	open_query o;
	carom_body_id id;
	carom_velocity_rays rays;
	cp_input input;
	carom_strided ways;
} velocity_query;

static carom_result ask_velocity(const open_query *o, int32_t capacity, void *answers, int32_t *count)
{
	const velocity_query *v = (const velocity_query *)o;
	return carom_world_cast_velocity_rays(
		o->q.world->world, v->id, v->input.name ? &v->ways : NULL, &v->rays, o->q.filter.given, capacity, answers, count);
}

/// Read the ways of the body's vertices, for a query that has begun. A wrong body is left to the
/// call.
static bool open_ways(velocity_query *v, PyObject *value)
{
	carom_vertex_view view;
	return !cp_is_given(value) || carom_world_get_vertices(v->o.q.world->world, v->id, &view) != CAROM_SUCCESS ||
		(cp_open_input(&v->input, value, "ways", 3) && cp_has_rows(&v->input, view.count) && cp_as_strided(&v->input, &v->ways));
}

static PyObject *cast_velocity_rays(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "ways", "max_distance", "relative", "every", "filter", NULL };
	PyObject *values[6];
	int64_t every = 1;
	velocity_query v = { .o = { .ask = ask_velocity, .layout = CP_velocity_hit } };
	if (!cp_arguments("cast_velocity_rays", args, count, keywords, names, 1, values) || !cp_get_id(values[0], &v.id) ||
		(values[2] && !cp_get_double(values[2], "max_distance", &v.rays.max_distance)) ||
		(values[3] && !cp_get_bool(values[3], "relative", &v.rays.relative)) ||
		(values[4] && !cp_get_int(values[4], "every", 1, INT32_MAX, &every)) || !begin_query(self, values[5], &v.o.q))
		return NULL;
	v.rays.every = (int32_t)every;
	PyObject *made = open_ways(&v, values[1]) ? all_answers(&v.o) : end_with(&v.o.q, CAROM_SUCCESS, NULL);
	cp_close_input(&v.input);
	return made;
}

PyMethodDef cp_world_queries[] = {
	{ "cast_ray", CP_NAMED(cast_ray),
		CP_DOC("cast_ray($self, /, origin, direction, t_min=0.0, t_max=inf, filter=None)", carom_world_cast_ray) },
	{ "cast_ray_any", CP_NAMED(cast_ray_any),
		CP_DOC("cast_ray_any($self, /, origin, direction, t_min=0.0, t_max=inf, filter=None)", carom_world_cast_ray_any) },
	{ "cast_ray_all", CP_NAMED(cast_ray_all),
		CP_DOC("cast_ray_all($self, /, origin, direction, t_min=0.0, t_max=inf, filter=None)", carom_world_cast_ray_all) },
	{ "overlap_aabb", CP_NAMED(overlap_aabb),
		CP_DOC("overlap_aabb($self, /, lower, upper, filter=None)", carom_world_overlap_aabb) },
	{ "overlap_shape", CP_NAMED(overlap_shape),
		CP_DOC("overlap_shape($self, /, shape, pose=None, filter=None)", carom_world_overlap_shape) },
	{ "collide_shape", CP_NAMED(collide_shape),
		CP_DOC("collide_shape($self, /, shape, pose=None, filter=None)", carom_world_collide_shape) },
	{ "closest_point", CP_NAMED(closest_point),
		CP_DOC("closest_point($self, /, point, max_distance=inf, filter=None)", carom_world_closest_point) },
	{ "closest_body", CP_NAMED(closest_body),
		CP_DOC("closest_body($self, /, shape, pose=None, max_distance=inf, filter=None)", carom_world_closest_body) },
	{ "closest_pair", CP_NAMED(closest_pair),
		CP_DOC("closest_pair($self, /, max_distance=inf, filter_a=None, filter_b=None)", carom_world_closest_pair) },
	{ "cast_shape", CP_NAMED(cast_shape),
		CP_DOC("cast_shape($self, /, shape, motion, tolerance=0.001, filter=None)", carom_world_cast_shape) },
	{ "cast_shape_all", CP_NAMED(cast_shape_all),
		CP_DOC("cast_shape_all($self, /, shape, motion, tolerance=0.001, filter=None)", carom_world_cast_shape_all) },
	{ "cast_parts", CP_NAMED(cast_parts),
		CP_DOC("cast_parts($self, /, parts, motion, tolerance=0.001, filter=None)", carom_world_cast_parts) },
	{ "cast_parts_all", CP_NAMED(cast_parts_all),
		CP_DOC("cast_parts_all($self, /, parts, motion, tolerance=0.001, filter=None)", carom_world_cast_parts_all) },
	{ "find_crossings", CP_NAMED(find_crossings),
		CP_DOC("find_crossings($self, /, id=None, filter=None)", carom_world_find_crossings) },
	{ "cast_velocity_rays", CP_NAMED(cast_velocity_rays),
		CP_DOC("cast_velocity_rays($self, /, id, ways=None, max_distance=0.0, relative=False, every=1, filter=None)",
			carom_world_cast_velocity_rays) },
	{ NULL, NULL, 0, NULL },
};
