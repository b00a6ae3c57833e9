// Shapes without a world: how far apart, where they touch, when they meet; single questions and
// batches (carom/collide.h, carom/batch.h). They are functions of the module.
#include "binding.h"

#include <stdlib.h>

/// Two shapes at two poses, and the context of the call.
typedef struct pair_call {
	cp_state *state;
	cp_context *context;
	carom_shape a, b;
	carom_pose pose_a, pose_b;
} pair_call;

/// Arguments a, b, pose_a, pose_b and context. False with an exception; call->context is to be
/// given up in the other case.
static bool begin_pair(PyObject *module, PyObject *const values[5], pair_call *call)
{
	call->state = PyModule_GetState(module);
	return cp_get_shape(call->state, values[0], "a", &call->a) && cp_get_shape(call->state, values[1], "b", &call->b) &&
		cp_get_pose(call->state, values[2], "pose_a", &call->pose_a) &&
		cp_get_pose(call->state, values[3], "pose_b", &call->pose_b) &&
		(call->context = cp_use_context(call->state, values[4]));
}

/// The answer, whose reference is taken, or an exception; the context is given up.
static PyObject *end_pair(pair_call *call, carom_result result, PyObject *answer)
{
	if (result) {
		Py_XDECREF(answer);
		answer = cp_raise(call->state, call->context->context, result);
	}
	Py_DECREF((PyObject *)call->context);
	return answer;
}

static PyObject *distance(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "pose_a", "pose_b", "context", NULL };
	PyObject *values[5];
	pair_call call;
	if (!cp_arguments("distance", args, count, keywords, names, 2, values) || !begin_pair(module, values, &call))
		return NULL;
	carom_separation separation;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_distance(call.context->context, &call.a, &call.pose_a, &call.b, &call.pose_b, &separation);
	Py_END_ALLOW_THREADS return end_pair(
		&call, result, result ? NULL : cp_new_record(call.state, CP_separation, &separation, NULL));
}

static PyObject *overlap(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "pose_a", "pose_b", "context", NULL };
	PyObject *values[5];
	pair_call call;
	if (!cp_arguments("overlap", args, count, keywords, names, 2, values) || !begin_pair(module, values, &call))
		return NULL;
	bool answer;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_overlap(call.context->context, &call.a, &call.pose_a, &call.b, &call.pose_b, &answer);
	Py_END_ALLOW_THREADS return end_pair(&call, result, PyBool_FromLong(answer));
}

static PyObject *collide_convex(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "pose_a", "pose_b", "context", "margin", NULL };
	PyObject *values[6];
	pair_call call;
	double margin = 0;
	if (!cp_arguments("collide_convex", args, count, keywords, names, 2, values) ||
		(values[5] && !cp_get_double(values[5], "margin", &margin)) || !begin_pair(module, values, &call))
		return NULL;
	carom_manifold manifold;
	memset(&manifold, 0, sizeof(manifold));
	const carom_result result =
		carom_collide_convex(call.context->context, &call.a, &call.pose_a, &call.b, &call.pose_b, margin, &manifold);
	return end_pair(&call, result, result ? NULL : cp_new_record(call.state, CP_manifold, &manifold, NULL));
}

static PyObject *collide(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "pose_a", "pose_b", "context", "margin", NULL };
	enum { MOST = 8 }; // contacts of a pair, by carom/collide.h
	PyObject *values[6];
	pair_call call;
	double margin = 0;
	if (!cp_arguments("collide", args, count, keywords, names, 2, values) ||
		(values[5] && !cp_get_double(values[5], "margin", &margin)) || !begin_pair(module, values, &call))
		return NULL;
	int32_t found = 0;
	cp_array *contacts = cp_new_records(call.state, CP_contact, MOST);
	carom_result result = CAROM_SUCCESS;
	if (contacts) {
		Py_BEGIN_ALLOW_THREADS result = carom_collide(call.context->context, &call.a, &call.pose_a, &call.b, &call.pose_b,
			margin, MOST, (carom_contact *)(void *)contacts->data, &found);
		Py_END_ALLOW_THREADS cp_shorten(contacts, found < MOST ? found : MOST);
	}
	return end_pair(&call, result, (PyObject *)contacts);
}

static PyObject *time_of_impact(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "motion_a", "motion_b", "context", "tolerance", NULL };
	PyObject *values[6], *shapes[5] = { NULL };
	pair_call call;
	carom_motion motions[2];
	double tolerance = 1e-3;
	cp_state *state = PyModule_GetState(module);
	if (!cp_arguments("time_of_impact", args, count, keywords, names, 2, values) ||
		!cp_get_motion(state, values[2], "motion_a", &motions[0]) || !cp_get_motion(state, values[3], "motion_b", &motions[1]) ||
		(values[5] && !cp_get_double(values[5], "tolerance", &tolerance)))
		return NULL;
	shapes[0] = values[0];
	shapes[1] = values[1];
	shapes[4] = values[4];
	if (!begin_pair(module, shapes, &call))
		return NULL;
	carom_toi toi;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_time_of_impact(call.context->context, &call.a, &motions[0], &call.b, &motions[1], tolerance, &toi);
	Py_END_ALLOW_THREADS return end_pair(&call, result, result ? NULL : cp_new_record(call.state, CP_toi, &toi, NULL));
}

static PyObject *time_of_impact_within(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "work", "motion_a", "motion_b", "context", "tolerance", NULL };
	PyObject *values[7], *shapes[5] = { NULL };
	pair_call call;
	carom_motion motions[2];
	double tolerance = 1e-3;
	int64_t work;
	cp_state *state = PyModule_GetState(module);
	if (!cp_arguments("time_of_impact_within", args, count, keywords, names, 3, values) ||
		!cp_get_int(values[2], "work", 0, INT64_MAX, &work) || !cp_get_motion(state, values[3], "motion_a", &motions[0]) ||
		!cp_get_motion(state, values[4], "motion_b", &motions[1]) ||
		(values[6] && !cp_get_double(values[6], "tolerance", &tolerance)))
		return NULL;
	shapes[0] = values[0];
	shapes[1] = values[1];
	shapes[4] = values[5];
	if (!begin_pair(module, shapes, &call))
		return NULL;
	carom_toi toi;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_time_of_impact_within(call.context->context, &call.a, &motions[0], &call.b, &motions[1], tolerance, &work, &toi);
	Py_END_ALLOW_THREADS PyObject *answer =
		result ? NULL : Py_BuildValue("(NL)", cp_new_record(call.state, CP_toi, &toi, NULL), (long long)work);
	return end_pair(&call, result, answer);
}

static PyObject *motion_pose(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "motion", "time", NULL };
	cp_state *state = PyModule_GetState(module);
	PyObject *values[2];
	carom_motion motion;
	double time;
	if (!cp_arguments("motion_pose", args, count, keywords, names, 2, values) ||
		!cp_get_motion(state, values[0], "motion", &motion) || !cp_get_double(values[1], "time", &time))
		return NULL;
	const carom_pose pose = carom_motion_pose(&motion, time);
	return cp_new_record(state, CP_pose, &pose, NULL);
}

// ---- Pairs by the million ----

/// Records of two shapes and two rows of numbers, and the batch.
typedef struct pairs_call {
	cp_state *state;
	cp_context *context;
	carom_shape *shapes[2];
	bool is_shared[2];
	PyObject *held[2];
	cp_input rows[2]; ///< not open: all at the identity, or at rest
	carom_batch batch;
	Py_buffer output;
	void *records; ///< carom_shape_pair or carom_motion_pair [count]
	void *answers;
	double limit; ///< margin or tolerance, where the question has one
} pairs_call;

static void close_pairs(pairs_call *call)
{
	for (int i = 0; i < 2; i++) {
		free(call->shapes[i]);
		Py_XDECREF(call->held[i]);
		cp_close_input(&call->rows[i]);
	}
	if (call->batch.results)
		PyBuffer_Release(&call->output);
	free(call->records);
	Py_XDECREF((PyObject *)call->context);
}

/// Rows of each side where they are given; the count of queries is theirs, or that of the shapes.
static bool open_sides(pairs_call *call, PyObject *const values[6], const char *const *names, int columns)
{
	int64_t count = -1;
	for (int i = 0; i < 2; i++) {
		if (!cp_is_given(values[2 + i]))
			continue;
		if (!cp_open_places(call->state, &call->rows[i], values[2 + i], names[2 + i], columns) ||
			(count >= 0 && !cp_has_rows(&call->rows[i], count)))
			return false;
		count = call->rows[i].rows;
	}
	for (int i = 0; i < 2 && count < 0; i++)
		if (PySequence_Check(values[i]))
			count = PySequence_Size(values[i]);
	call->batch.count = count < 0 ? 1 : count;
	for (int i = 0; i < 2; i++)
		if (!(call->shapes[i] =
					cp_get_shapes(call->state, values[i], names[i], call->batch.count, &call->is_shared[i], &call->held[i])))
			return false;
	return (call->context = cp_use_context(call->state, values[4])) &&
		cp_open_output(&call->output, values[5], "results", call->batch.count, &call->batch.results);
}

static bool fill_pairs(pairs_call *call)
{
	carom_shape_pair *pairs = call->records = malloc(sizeof(*pairs) * (size_t)(call->batch.count + 1));
	const carom_pose *poses[2] = { (const carom_pose *)(const void *)call->rows[0].data,
		(const carom_pose *)(const void *)call->rows[1].data };
	for (int64_t i = 0; pairs && i < call->batch.count; i++)
		pairs[i] =
			(carom_shape_pair){ &call->shapes[0][call->is_shared[0] ? 0 : i], &call->shapes[1][call->is_shared[1] ? 0 : i],
				poses[0] ? poses[0][i] : carom_pose_identity(), poses[1] ? poses[1][i] : carom_pose_identity() };
	return pairs || PyErr_NoMemory();
}

static bool fill_motions(pairs_call *call)
{
	carom_motion_pair *pairs = call->records = malloc(sizeof(*pairs) * (size_t)(call->batch.count + 1));
	const carom_motion rest = { carom_pose_identity(), carom_pose_identity() };
	const carom_motion *motions[2] = { (const carom_motion *)(const void *)call->rows[0].data,
		(const carom_motion *)(const void *)call->rows[1].data };
	for (int64_t i = 0; pairs && i < call->batch.count; i++)
		pairs[i] = (carom_motion_pair){ &call->shapes[0][call->is_shared[0] ? 0 : i],
			&call->shapes[1][call->is_shared[1] ? 0 : i], motions[0] ? motions[0][i] : rest, motions[1] ? motions[1][i] : rest };
	return pairs || PyErr_NoMemory();
}

/// Ask the batch. Takes the reference to answers, which may be NULL; returns them, or NULL with an
/// exception.
static PyObject *ask_pairs(pairs_call *call, cp_array *answers, cp_ask_fn ask)
{
	if (!answers)
		return NULL;
	call->answers = answers->data;
	if (cp_ask_in_pieces(call->state, call->context, call->batch.count, CP_SHAPES_AT_ONCE, ask, call))
		return (PyObject *)answers;
	Py_DECREF((PyObject *)answers);
	return NULL;
}

static int ask_distances(void *user, int64_t first, int64_t count)
{
	const pairs_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_distances(call->context->context, &piece, (const carom_shape_pair *)call->records + first,
		(carom_separation *)call->answers + first);
}

static int ask_overlaps(void *user, int64_t first, int64_t count)
{
	const pairs_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_overlaps(
		call->context->context, &piece, (const carom_shape_pair *)call->records + first, (bool *)call->answers + first);
}

static int ask_manifolds(void *user, int64_t first, int64_t count)
{
	const pairs_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_manifolds(call->context->context, &piece, (const carom_shape_pair *)call->records + first, call->limit,
		(carom_manifold *)call->answers + first);
}

static int ask_times_of_impact(void *user, int64_t first, int64_t count)
{
	const pairs_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, first, count);
	return carom_times_of_impact(call->context->context, &piece, (const carom_motion_pair *)call->records + first, call->limit,
		(carom_toi *)call->answers + first);
}

static PyObject *distances(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "poses_a", "poses_b", "context", "results", NULL };
	PyObject *values[6], *made = NULL;
	pairs_call call = { .state = PyModule_GetState(module) };
	if (cp_arguments("distances", args, count, keywords, names, 2, values) && open_sides(&call, values, names, 7) &&
		fill_pairs(&call))
		made = ask_pairs(&call, cp_new_records(call.state, CP_separation, call.batch.count), ask_distances);
	close_pairs(&call);
	return made;
}

static PyObject *overlaps(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "poses_a", "poses_b", "context", "results", NULL };
	PyObject *values[6], *made = NULL;
	pairs_call call = { .state = PyModule_GetState(module) };
	if (cp_arguments("overlaps", args, count, keywords, names, 2, values) && open_sides(&call, values, names, 7) &&
		fill_pairs(&call))
		made = ask_pairs(&call, cp_new_numbers(call.state, CP_BOOL, call.batch.count, 0), ask_overlaps);
	close_pairs(&call);
	return made;
}

static PyObject *manifolds(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "poses_a", "poses_b", "context", "results", "margin", NULL };
	PyObject *values[7], *made = NULL;
	double margin = 0;
	pairs_call call = { .state = PyModule_GetState(module) };
	if (cp_arguments("manifolds", args, count, keywords, names, 2, values) &&
		(!values[6] || cp_get_double(values[6], "margin", &margin)) && open_sides(&call, values, names, 7) &&
		fill_pairs(&call)) {
		call.limit = margin;
		made = ask_pairs(&call, cp_new_records(call.state, CP_manifold, call.batch.count), ask_manifolds);
	}
	close_pairs(&call);
	return made;
}

static carom_result ask_contacts(const void *user, int64_t from, int64_t count, int64_t room, void *answers, int64_t *first)
{
	const pairs_call *call = user;
	const carom_batch piece = cp_piece_of(&call->batch, from, count);
	return carom_collide_pairs(
		call->context->context, &piece, (const carom_shape_pair *)call->records + from, call->limit, room, answers, first);
}

static PyObject *collide_pairs(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "poses_a", "poses_b", "context", "results", "margin", NULL };
	PyObject *values[7], *made = NULL;
	pairs_call call = { .state = PyModule_GetState(module) };
	if (cp_arguments("collide_pairs", args, count, keywords, names, 2, values) &&
		(!values[6] || cp_get_double(values[6], "margin", &call.limit)) && open_sides(&call, values, names, 7) &&
		fill_pairs(&call))
		made = cp_ask_lists(call.state, call.context, call.batch.count, CP_SHAPES_AT_ONCE, CP_contact, ask_contacts, &call);
	close_pairs(&call);
	return made;
}

static PyObject *times_of_impact(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "a", "b", "motions_a", "motions_b", "context", "results", "tolerance", NULL };
	PyObject *values[7], *made = NULL;
	double tolerance = 1e-3;
	pairs_call call = { .state = PyModule_GetState(module) };
	if (cp_arguments("times_of_impact", args, count, keywords, names, 2, values) &&
		(!values[6] || cp_get_double(values[6], "tolerance", &tolerance)) && open_sides(&call, values, names, 14) &&
		fill_motions(&call)) {
		call.limit = tolerance;
		made = ask_pairs(&call, cp_new_records(call.state, CP_toi, call.batch.count), ask_times_of_impact);
	}
	close_pairs(&call);
	return made;
}

#define PAIR "a, b, pose_a=None, pose_b=None, context=None"
#define PAIRS "a, b, poses_a=None, poses_b=None, context=None, results=None"
PyMethodDef cp_shape_functions[] = {
	{ "distance", CP_NAMED(distance), CP_DOC("distance($module, /, " PAIR ")", carom_distance) },
	{ "overlap", CP_NAMED(overlap), CP_DOC("overlap($module, /, " PAIR ")", carom_overlap) },
	{ "collide_convex", CP_NAMED(collide_convex),
		CP_DOC("collide_convex($module, /, " PAIR ", margin=0.0)", carom_collide_convex) },
	{ "collide", CP_NAMED(collide), CP_DOC("collide($module, /, " PAIR ", margin=0.0)", carom_collide) },
	{ "time_of_impact", CP_NAMED(time_of_impact),
		CP_DOC("time_of_impact($module, /, a, b, motion_a=None, motion_b=None, context=None, tolerance=0.001)",
			carom_time_of_impact) },
	{ "time_of_impact_within", CP_NAMED(time_of_impact_within),
		CP_DOC("time_of_impact_within($module, /, a, b, work, motion_a=None, motion_b=None, context=None, tolerance=0.001)",
			carom_time_of_impact_within) },
	{ "motion_pose", CP_NAMED(motion_pose), CP_DOC("motion_pose($module, /, motion, time)", carom_motion_pose) },
	{ "distances", CP_NAMED(distances), CP_DOC("distances($module, /, " PAIRS ")", carom_distances) },
	{ "overlaps", CP_NAMED(overlaps), CP_DOC("overlaps($module, /, " PAIRS ")", carom_overlaps) },
	{ "manifolds", CP_NAMED(manifolds), CP_DOC("manifolds($module, /, " PAIRS ", margin=0.0)", carom_manifolds) },
	{ "collide_pairs", CP_NAMED(collide_pairs),
		CP_DOC("collide_pairs($module, /, " PAIRS ", margin=0.0)", carom_collide_pairs) },
	{ "times_of_impact", CP_NAMED(times_of_impact),
		CP_DOC("times_of_impact($module, /, a, b, motions_a=None, motions_b=None, context=None, results=None, tolerance=0.001)",
			carom_times_of_impact) },
	{ NULL, NULL, 0, NULL },
};
