// Functions of the module over points, edges and triangles, one by one and by the million
// (carom/geometry.h, the elementary tests of carom/batch.h), and over one shape.
#include "binding.h"

#include <stdlib.h>

// ---- Single tests ----

/// Points of an argument: (n, 3).
static bool get_points(PyObject *value, const char *name, int64_t count, carom_vec3 *points)
{
	cp_input input = { .name = NULL };
	const bool good = cp_open_input(&input, value, name, 3) && cp_has_rows(&input, count) && cp_as_doubles(&input);
	if (good)
		memcpy(points, input.data, sizeof(*points) * (size_t)count);
	cp_close_input(&input);
	return good;
}

/// Two arguments of so many points each.
static bool get_two(const char *function, PyObject *const *args, Py_ssize_t count, int64_t count_a, carom_vec3 *a,
	int64_t count_b, carom_vec3 *b)
{
	if (count != 2) {
		PyErr_Format(PyExc_TypeError, "%s takes two arguments (%zd given)", function, count);
		return false;
	}
	return (count_a == 1 ? cp_get_vec3(args[0], "point", a) : get_points(args[0], "a", count_a, a)) &&
		get_points(args[1], count_a == 1 ? "triangle" : "b", count_b, b);
}

static PyObject *triangles_intersect(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	(void)module;
	carom_vec3 a[3], b[3];
	return get_two("triangles_intersect", args, count, 3, a, 3, b) ? PyBool_FromLong(carom_triangles_intersect(a, b)) : NULL;
}

static PyObject *orientation(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	(void)module;
	carom_vec3 points[4];
	if (count != 4)
		return PyErr_Format(PyExc_TypeError, "orientation takes four points (%zd given)", count);
	for (int i = 0; i < 4; i++)
		if (!cp_get_vec3(args[i], "point", &points[i]))
			return NULL;
	return PyLong_FromLong(carom_orientation(points[0], points[1], points[2], points[3]));
}

/// (distance, on_a, on_b), or (distance, on_triangle) where layout_b is below 0.
static PyObject *distance_tuple(
	PyObject *module, double distance, int layout_a, const void *on_a, int layout_b, const void *on_b)
{
	cp_state *state = PyModule_GetState(module);
	PyObject *a = cp_new_record(state, layout_a, on_a, NULL);
	PyObject *b = a && layout_b >= 0 ? cp_new_record(state, layout_b, on_b, NULL) : NULL;
	PyObject *made = layout_b < 0 ? (a ? Py_BuildValue("(dO)", distance, a) : NULL)
		: b                       ? Py_BuildValue("(dOO)", distance, a, b)
								  : NULL;
	Py_XDECREF(a);
	Py_XDECREF(b);
	return made;
}

static PyObject *point_triangle_distance(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	carom_vec3 point, triangle[3];
	carom_triangle_point on = { .number = 0 };
	if (!get_two("point_triangle_distance", args, count, 1, &point, 3, triangle))
		return NULL;
	const double distance = carom_point_triangle_distance(point, triangle, &on);
	return distance_tuple(module, distance, CP_triangle_point, &on, -1, NULL);
}

static PyObject *edge_edge_distance(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	carom_vec3 a[2], b[2];
	carom_edge_point on_a = { .number = 0 }, on_b = { .number = 0 };
	if (!get_two("edge_edge_distance", args, count, 2, a, 2, b))
		return NULL;
	const double distance = carom_edge_edge_distance(a, b, &on_a, &on_b);
	return distance_tuple(module, distance, CP_edge_point, &on_a, CP_edge_point, &on_b);
}

static PyObject *triangle_triangle_distance(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	carom_vec3 a[3], b[3];
	carom_triangle_point on_a = { .number = 0 }, on_b = { .number = 0 };
	if (!get_two("triangle_triangle_distance", args, count, 3, a, 3, b))
		return NULL;
	const double distance = carom_triangle_triangle_distance(a, b, &on_a, &on_b);
	return distance_tuple(module, distance, CP_triangle_point, &on_a, CP_triangle_point, &on_b);
}

// ---- Records of vertices ----

/// Records of a batch, and the context.
typedef struct elements_call {
	cp_state *state;
	cp_context *context;
	cp_input positions, vertices;
	carom_elements elements;
	int size; ///< vertices of a record
	cp_array *arrays[3];
	cp_ask_fn ask;
	// Of the swept tests:
	const carom_sweep_def *def;
	carom_sweep_kind kind;
	const double *end; ///< [3*vertex_count]
} elements_call;

/// Records from first on.
static carom_elements elements_of(const elements_call *call, int64_t first, int64_t count)
{
	carom_elements piece = call->elements;
	piece.count = count;
	if (piece.vertices) {
		piece.vertices += call->size * first;
	} else {
		piece.positions += 3 * call->size * first;
		piece.vertex_count = (int32_t)(call->size * count);
	}
	return piece;
}

/// The answers of records from first on, or NULL.
static void *answers_of(const elements_call *call, int array, int64_t first)
{
	const cp_array *answers = call->arrays[array];
	return answers ? answers->data + first * answers->item_size : NULL;
}

static const char *const element_names[] = { "positions", "vertices", "context", NULL };

/// Positions (n, 3) and, where given, records (m, 4) or (m, 6) of vertex numbers.
static bool open_elements(elements_call *call, PyObject *const *values, PyObject *context, int size)
{
	if (!cp_open_input(&call->positions, values[0], "positions", 3) ||
		!(call->elements.positions = cp_as_doubles(&call->positions)))
		return false;
	if (call->positions.rows > INT32_MAX) {
		PyErr_SetString(PyExc_OverflowError, "positions has more than 2**31 - 1 rows");
		return false;
	}
	call->size = size;
	call->elements.vertex_count = (int32_t)call->positions.rows;
	call->elements.count = call->positions.rows / size;
	if (!cp_is_given(values[1]) && call->positions.rows % size != 0) {
		PyErr_Format(PyExc_ValueError, "positions has %lld rows, not a multiple of %d", (long long)call->positions.rows, size);
		return false;
	}
	if (cp_is_given(values[1])) {
		if (!cp_open_input(&call->vertices, values[1], "vertices", size) ||
			!(call->elements.vertices = cp_as_int32(&call->vertices)))
			return false;
		call->elements.count = call->vertices.rows;
	}
	return (call->context = cp_use_context(call->state, context));
}

static void close_elements(elements_call *call)
{
	cp_close_input(&call->positions);
	cp_close_input(&call->vertices);
	Py_XDECREF((PyObject *)call->context);
}

/// A wrong record fails the whole batch, and the text counts from its start. All records are
/// checked before any is asked, so that text is told soon.
static int ask_piece(void *user, int64_t first, int64_t count)
{
	elements_call *call = user;
	const int result = call->ask(call, first, count);
	if (result != CAROM_INVALID_ARGUMENT || first == 0)
		return result;
	return call->ask(call, 0, call->elements.count) | CP_TOLD_WHOLE;
}

/// Ask all records; count arrays of answers become a tuple, or the one array, or an exception.
static PyObject *ask_elements(elements_call *call, int count, cp_ask_fn ask)
{
	bool good = true;
	for (int i = 0; i < count; i++)
		good = good && call->arrays[i];
	call->ask = ask;
	good = good && cp_ask_in_pieces(call->state, call->context, call->elements.count, CP_ELEMENTS_AT_ONCE, ask_piece, call);
	PyObject *made = NULL;
	cp_array *const *arrays = call->arrays;
	if (good)
		made = count == 1 ? Py_NewRef((PyObject *)arrays[0])
			: count == 2  ? PyTuple_Pack(2, arrays[0], arrays[1])
						  : PyTuple_Pack(3, arrays[0], arrays[1], arrays[2]);
	for (int i = 0; i < count; i++)
		Py_XDECREF((PyObject *)arrays[i]);
	return made;
}

/// Which of the elementary tests a function asks.
typedef enum element_test { POINT_TRIANGLE, EDGE_EDGE, TRIANGLE_TRIANGLE, INTERSECT, ORIENTATION } element_test;

#define ASK(name, call_of_test)                                       \
	static int ask_##name(void *user, int64_t first, int64_t count)   \
	{                                                                 \
		const elements_call *call = user;                             \
		const carom_elements piece = elements_of(call, first, count); \
		carom_context *context = call->context->context;              \
		void *a = answers_of(call, 0, first);                         \
		return call_of_test;                                          \
	}
ASK(point_triangle, carom_point_triangle_distances(context, &piece, a, answers_of(call, 1, first)))
ASK(edge_edge, carom_edge_edge_distances(context, &piece, a, answers_of(call, 1, first), answers_of(call, 2, first)))
ASK(triangle_triangle,
	carom_triangle_triangle_distances(context, &piece, a, answers_of(call, 1, first), answers_of(call, 2, first)))
ASK(intersect, carom_triangle_pairs_intersect(context, &piece, a))
ASK(orientation, carom_orientations(context, &piece, a))
#undef ASK

/// A hit names vertices; where the records are in order, those of a piece count from its start.
static int ask_swept(void *user, int64_t first, int64_t count)
{
	const elements_call *call = user;
	const carom_elements piece = elements_of(call, first, count);
	const int32_t before = piece.vertices ? 0 : (int32_t)(call->size * first);
	double *times = answers_of(call, 0, first);
	carom_sweep_hit *hits = answers_of(call, 1, first);
	const carom_result result = carom_sweep_test_pairs(
		call->context->context, call->def, call->kind, &piece, call->end + 3 * (int64_t)before, times, hits);
	for (int64_t i = 0; !result && before > 0 && i < count; i++) {
		for (int k = 0; k < 4 && isfinite(times[i]); k++)
			hits[i].vertices[k] += before;
	}
	return result;
}

static PyObject *test_elements(
	PyObject *module, const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, element_test test)
{
	static const struct {
		int size;       ///< of a record
		cp_kind answer; ///< of the first array
		int layout;     ///< of the other arrays, of which there are so many
		int others;
		cp_ask_fn ask;
	} tests[] = { { 4, CP_F64, CP_triangle_point, 1, ask_point_triangle }, { 4, CP_F64, CP_edge_point, 2, ask_edge_edge },
		{ 6, CP_F64, CP_triangle_point, 2, ask_triangle_triangle }, { 6, CP_BOOL, 0, 0, ask_intersect },
		{ 4, CP_I8, 0, 0, ask_orientation } };
	PyObject *values[3], *made = NULL;
	elements_call call = { .state = PyModule_GetState(module) };
	if (cp_arguments(function, args, count, keywords, element_names, 1, values) &&
		open_elements(&call, values, values[2], tests[test].size)) {
		call.arrays[0] = cp_new_numbers(call.state, tests[test].answer, call.elements.count, 0);
		for (int i = 0; call.arrays[i] && i < tests[test].others; i++)
			call.arrays[1 + i] = cp_new_records(call.state, tests[test].layout, call.elements.count);
		made = ask_elements(&call, 1 + tests[test].others, tests[test].ask);
	}
	close_elements(&call);
	return made;
}

#define ELEMENTS(name, test)                                                                             \
	static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords) \
	{                                                                                                    \
		return test_elements(module, #name, args, count, keywords, test);                                \
	}
ELEMENTS(point_triangle_distances, POINT_TRIANGLE)
ELEMENTS(edge_edge_distances, EDGE_EDGE)
ELEMENTS(triangle_triangle_distances, TRIANGLE_TRIANGLE)
ELEMENTS(triangle_pairs_intersect, INTERSECT)
ELEMENTS(orientations, ORIENTATION)
#undef ELEMENTS

// ---- Swept tests ----

/// A SweepDef or None for the defaults. False with TypeError.
static bool get_sweep_def(cp_state *state, PyObject *value, const carom_sweep_def **def)
{
	*def = cp_is_given(value) ? cp_as_record(state, CP_sweep_def, value) : NULL;
	if (*def || !cp_is_given(value))
		return true;
	PyErr_Format(PyExc_TypeError, "settings is %R; it must be a SweepDef", value);
	return false;
}

static PyObject *sweep_test_pair(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "kind", "begin", "end", "settings", "context", NULL };
	cp_state *state = PyModule_GetState(module);
	PyObject *values[5];
	int kind;
	carom_vec3 places[2][4];
	const carom_sweep_def *def;
	if (!cp_arguments("sweep_test_pair", args, count, keywords, names, 3, values) ||
		!cp_get_enum(state, CP_sweep_kind, values[0], "kind", &kind) || !get_points(values[1], "begin", 4, places[0]) ||
		!get_points(values[2], "end", 4, places[1]) || !get_sweep_def(state, values[3], &def))
		return NULL;
	cp_context *context = cp_use_context(state, values[4]);
	if (!context)
		return NULL;
	bool found = false;
	carom_sweep_hit hit;
	const carom_result result = carom_sweep_test_pair(context->context, def, (carom_sweep_kind)kind,
		(const double(*)[3])(const void *)places[0], (const double(*)[3])(const void *)places[1], &found, &hit);
	PyObject *made = result ? cp_raise(state, context->context, result)
		: found             ? cp_new_record(state, CP_sweep_hit, &hit, NULL)
							: Py_NewRef(Py_None);
	Py_DECREF((PyObject *)context);
	return made;
}

static PyObject *sweep_test_pairs(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "kind", "begin", "end", "vertices", "settings", "context", NULL };
	PyObject *values[6], *made = NULL;
	elements_call call = { .state = PyModule_GetState(module) };
	cp_input places = { .name = NULL };
	int kind;
	const carom_sweep_def *def;
	if (!cp_arguments("sweep_test_pairs", args, count, keywords, names, 3, values) ||
		!cp_get_enum(call.state, CP_sweep_kind, values[0], "kind", &kind) || !get_sweep_def(call.state, values[4], &def))
		return NULL;
	PyObject *const both[] = { values[1], values[3] };
	if (open_elements(&call, both, values[5], 4) && cp_open_input(&places, values[2], "end", 3) &&
		cp_has_rows(&places, call.positions.rows) && cp_as_doubles(&places)) {
		call.def = def;
		call.kind = (carom_sweep_kind)kind;
		call.end = (const double *)(const void *)places.data;
		call.arrays[0] = cp_new_numbers(call.state, CP_F64, call.elements.count, 0);
		call.arrays[1] = call.arrays[0] ? cp_new_records(call.state, CP_sweep_hit, call.elements.count) : NULL;
		made = ask_elements(&call, 2, ask_swept);
	}
	cp_close_input(&places);
	close_elements(&call);
	return made;
}

static PyObject *proximity_of_pair(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "kind", "vertices", "context", NULL };
	cp_state *state = PyModule_GetState(module);
	PyObject *values[3];
	int kind;
	carom_vec3 places[4];
	if (!cp_arguments("proximity_of_pair", args, count, keywords, names, 2, values) ||
		!cp_get_enum(state, CP_sweep_kind, values[0], "kind", &kind) || !get_points(values[1], "vertices", 4, places))
		return NULL;
	cp_context *context = cp_use_context(state, values[2]);
	if (!context)
		return NULL;
	carom_proximity_pair pair;
	const carom_result result =
		carom_proximity_of_pair(context->context, (carom_sweep_kind)kind, (const double(*)[3])(const void *)places, &pair);
	PyObject *made = result ? cp_raise(state, context->context, result) : cp_new_record(state, CP_proximity_pair, &pair, NULL);
	Py_DECREF((PyObject *)context);
	return made;
}

#define RECORDS "positions, vertices=None, context=None"
PyMethodDef cp_element_functions[] = {
	{ "triangles_intersect", (PyCFunction)(void (*)(void))triangles_intersect, METH_FASTCALL,
		CP_DOC("triangles_intersect($module, a, b, /)", carom_triangles_intersect) },
	{ "orientation", (PyCFunction)(void (*)(void))orientation, METH_FASTCALL,
		CP_DOC("orientation($module, a, b, c, d, /)", carom_orientation) },
	{ "point_triangle_distance", (PyCFunction)(void (*)(void))point_triangle_distance, METH_FASTCALL,
		CP_DOC("point_triangle_distance($module, point, triangle, /)",
			carom_point_triangle_distance) " (distance, on_triangle)." },
	{ "edge_edge_distance", (PyCFunction)(void (*)(void))edge_edge_distance, METH_FASTCALL,
		CP_DOC("edge_edge_distance($module, a, b, /)", carom_edge_edge_distance) " (distance, on_a, on_b)." },
	{ "triangle_triangle_distance", (PyCFunction)(void (*)(void))triangle_triangle_distance, METH_FASTCALL,
		CP_DOC("triangle_triangle_distance($module, a, b, /)", carom_triangle_triangle_distance) " (distance, on_a, on_b)." },
	{ "point_triangle_distances", CP_NAMED(point_triangle_distances),
		CP_DOC("point_triangle_distances($module, /, " RECORDS ")", carom_point_triangle_distances) },
	{ "edge_edge_distances", CP_NAMED(edge_edge_distances),
		CP_DOC("edge_edge_distances($module, /, " RECORDS ")", carom_edge_edge_distances) },
	{ "triangle_triangle_distances", CP_NAMED(triangle_triangle_distances),
		CP_DOC("triangle_triangle_distances($module, /, " RECORDS ")", carom_triangle_triangle_distances) },
	{ "triangle_pairs_intersect", CP_NAMED(triangle_pairs_intersect),
		CP_DOC("triangle_pairs_intersect($module, /, " RECORDS ")", carom_triangle_pairs_intersect) },
	{ "orientations", CP_NAMED(orientations), CP_DOC("orientations($module, /, " RECORDS ")", carom_orientations) },
	{ "sweep_test_pair", CP_NAMED(sweep_test_pair),
		CP_DOC("sweep_test_pair($module, /, kind, begin, end, settings=None, context=None)", carom_sweep_test_pair) },
	{ "sweep_test_pairs", CP_NAMED(sweep_test_pairs),
		CP_DOC("sweep_test_pairs($module, /, kind, begin, end, vertices=None, settings=None, context=None)",
			carom_sweep_test_pairs) " (times, hits)." },
	{ "proximity_of_pair", CP_NAMED(proximity_of_pair),
		CP_DOC("proximity_of_pair($module, /, kind, vertices, context=None)", carom_proximity_of_pair) },
	{ NULL, NULL, 0, NULL },
};
