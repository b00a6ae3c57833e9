// carom.Grains: spheres that live on a graphics device (carom/grains.h).
#include "binding.h"

#include <stdlib.h>

typedef struct cp_grains {
	PyObject_HEAD carom_grains *grains;
	cp_context *context;
	cp_device *device;
	cp_use use;
	carom_grains_def def;
} cp_grains;

static PyObject *grains_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	carom_grains_def def;
	PyObject *keep;
	cp_grains *grains =
		(cp_grains *)cp_new_detector(type, args, keywords, CP_grains_def, &def, offsetof(cp_grains, context), &keep);
	if (!grains)
		return NULL;
	grains->device = cp_hold_device(keep);
	grains->def = def;
	Py_XDECREF(keep);
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_create_grains(grains->context->context, &def, &grains->grains);
	Py_END_ALLOW_THREADS if (result == CAROM_SUCCESS) return (PyObject *)grains;
	cp_raise(PyType_GetModuleState(type), grains->context->context, result);
	Py_DECREF((PyObject *)grains);
	return NULL;
}

static void grains_dealloc(PyObject *self)
{
	cp_grains *grains = (cp_grains *)self;
	carom_destroy_grains(grains->grains);
	cp_let_device_go(grains->device);
	cp_free_detector(self, grains->context);
}

/// A call ends. Returns value, whose reference is taken, or NULL with an exception.
static PyObject *end(cp_grains *grains, carom_result result, PyObject *value)
{
	cp_end_write(&grains->use);
	if (!result)
		return value;
	Py_XDECREF(value);
	return cp_raise(cp_state_of((PyObject *)grains), grains->context->context, result);
}

static bool begin(cp_grains *grains) { return cp_begin_write(&grains->use, "grains"); }

// ---- State ----

enum { PLACES, MOTIONS, SPINS, WALL_MARKS, WALL_SPRINGS, FIRST, OTHER, SPRINGS, ARRAY_COUNT };

/// The arrays of a state: their names, and the columns of their rows.
static const struct {
	const char *name;
	cp_kind kind;
	int columns; // 0: one dimension
} arrays[ARRAY_COUNT] = { { "places", CP_F64, 4 }, { "motions", CP_F64, 4 }, { "spins", CP_F64, 4 }, { "wall_marks", CP_U32, 0 },
	{ "wall_springs", CP_F64, 3 }, { "first", CP_I64, 0 }, { "other", CP_U32, 0 }, { "springs", CP_F64, 3 } };

/// How many rows an array has; -1: any.
static int64_t rows_of(const cp_grains *grains, int array)
{
	switch (array) {
	case WALL_SPRINGS: return grains->def.count * grains->def.wall_springs;
	case FIRST: return grains->def.count + 1;
	case OTHER:
	case SPRINGS: return -1;
	default: return grains->def.count;
	}
}

/// Put the address of an array into a state.
static void put_array(carom_grains_state *state, int array, void *data)
{
	switch (array) {
	case PLACES: state->places = data; break;
	case MOTIONS: state->motions = data; break;
	case SPINS: state->spins = data; break;
	case WALL_MARKS: state->wall_marks = data; break;
	case WALL_SPRINGS: state->wall_springs = data; break;
	case FIRST: state->first = data; break;
	case OTHER: state->other = data; break;
	default: state->springs = data;
	}
}

static bool take_array(const cp_grains *grains, int array, PyObject *value, cp_input *input, carom_grains_state *state)
{
	const void *data = NULL;
	const int64_t rows = rows_of(grains, array);
	if (!cp_is_given(value))
		return true;
	if (!cp_open_input(input, value, arrays[array].name, arrays[array].columns) || (rows >= 0 && !cp_has_rows(input, rows)))
		return false;
	switch (arrays[array].kind) {
	case CP_F64: data = cp_as_doubles(input); break;
	case CP_U32: data = cp_as_uint32(input); break;
	default: data = cp_as_uint64(input); // of first: the library looks at the order
	}
	put_array(state, array, (void *)data);
	return data != NULL;
}

/// The rows of contacts: all three arrays or none, as long as first says.
static bool rows_fit(const carom_grains_state *state, const cp_input *inputs, int64_t count)
{
	const bool given = inputs[FIRST].name != NULL;
	if (given != (inputs[OTHER].name != NULL) || given != (inputs[SPRINGS].name != NULL)) {
		PyErr_SetString(PyExc_ValueError, "first, other and springs must be given together");
		return false;
	}
	return !given || (cp_has_rows(&inputs[OTHER], state->first[count]) && cp_has_rows(&inputs[SPRINGS], state->first[count]));
}

static PyObject *set_state(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_grains *grains = (cp_grains *)self;
	PyObject *values[ARRAY_COUNT], *made = NULL;
	cp_input inputs[ARRAY_COUNT] = { { .name = NULL } };
	carom_grains_state state = { 0 };
	const char *names[ARRAY_COUNT + 1] = { NULL };
	for (int i = 0; i < ARRAY_COUNT; i++)
		names[i] = arrays[i].name;
	bool good = cp_arguments("set_state", args, count, keywords, names, 2, values);
	for (int i = 0; good && i < ARRAY_COUNT; i++)
		good = take_array(grains, i, values[i], &inputs[i], &state);
	if (good && rows_fit(&state, inputs, grains->def.count) && begin(grains)) {
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result = carom_grains_set_state(grains->grains, &state);
		Py_END_ALLOW_THREADS made = end(grains, result, Py_NewRef(Py_None));
	}
	for (int i = 0; i < ARRAY_COUNT; i++)
		cp_close_input(&inputs[i]);
	return made;
}

/// Is an array part of the state?
static bool has_array(const cp_grains *grains, int array)
{
	switch (array) {
	case SPINS: return grains->def.turns;
	case WALL_MARKS:
	case WALL_SPRINGS: return grains->def.wall_springs > 0;
	case FIRST:
	case OTHER:
	case SPRINGS: return grains->def.spheres.tangential;
	default: return true;
	}
}

/// A dict with new arrays, and their addresses in state.
static PyObject *new_arrays(const cp_grains *grains, int64_t contacts, carom_grains_state *state)
{
	PyObject *all = PyDict_New();
	for (int i = 0; all && i < ARRAY_COUNT; i++) {
		const int64_t rows = rows_of(grains, i);
		cp_array *array = !has_array(grains, i)
			? NULL
			: cp_new_numbers(cp_state_of((PyObject *)grains), arrays[i].kind, rows < 0 ? contacts : rows, arrays[i].columns);
		PyObject *value = array || has_array(grains, i) ? (PyObject *)array : Py_NewRef(Py_None);
		if (array)
			put_array(state, i, array->data);
		if (!value || PyDict_SetItemString(all, arrays[i].name, value) < 0)
			Py_CLEAR(all);
		Py_XDECREF(value);
	}
	return all;
}

static PyObject *get_state(PyObject *self, PyObject *none)
{
	(void)none;
	cp_grains *grains = (cp_grains *)self;
	carom_grains_state state = { 0 };
	int64_t contacts = 0;
	carom_result result = CAROM_SUCCESS;
	if (!begin(grains))
		return NULL;
	if (grains->def.spheres.tangential) {
		Py_BEGIN_ALLOW_THREADS result = carom_grains_count_springs(grains->grains, &contacts);
		Py_END_ALLOW_THREADS
	}
	PyObject *all = result ? NULL : new_arrays(grains, contacts, &state);
	if (all) {
		Py_BEGIN_ALLOW_THREADS result = carom_grains_get_state(grains->grains, &state);
		Py_END_ALLOW_THREADS
	}
	return end(grains, result, all);
}

// ---- Steps ----

/// Steps to do: moments, and the walls that they point to.
typedef struct grain_steps {
	carom_grains_moment *moments;
	carom_grain_wall *walls;
	int64_t wall_count;
} grain_steps;

/// Add the walls of a sequence. False with an exception.
static bool add_walls(cp_state *state, grain_steps *steps, PyObject *walls, int32_t *count)
{
	const Py_ssize_t more = PySequence_Check(walls) ? PySequence_Size(walls) : -1;
	if (more < 0 || more > CAROM_GRAINS_MAX_WALLS) {
		PyErr_Format(PyExc_ValueError, "walls must be a sequence of at most %d GrainWall", CAROM_GRAINS_MAX_WALLS);
		return false;
	}
	carom_grain_wall *grown = realloc(steps->walls, sizeof(*grown) * (size_t)(steps->wall_count + more + 1));
	if (!grown)
		return PyErr_NoMemory() != NULL;
	steps->walls = grown;
	for (Py_ssize_t i = 0; i < more; i++) {
		PyObject *wall = PySequence_GetItem(walls, i);
		const carom_grain_wall *one = wall ? cp_as_record(state, CP_grain_wall, wall) : NULL;
		if (wall && !one)
			PyErr_Format(PyExc_TypeError, "walls[%zd] is %R; it must be a GrainWall", i, wall);
		if (one)
			steps->walls[steps->wall_count++] = *one;
		Py_XDECREF(wall);
		if (!one)
			return false;
	}
	*count = (int32_t)more;
	return true;
}

/// Do the steps, and free them. An array of GrainsStep, or NULL with an exception.
static PyObject *do_steps(cp_grains *grains, grain_steps *steps, int32_t count)
{
	cp_array *done = NULL;
	PyObject *made = NULL;
	if (begin(grains)) {
		carom_result result = CAROM_SUCCESS;
		done = cp_new_records(cp_state_of((PyObject *)grains), CP_grains_step, count);
		if (done) {
			Py_BEGIN_ALLOW_THREADS result =
				carom_grains_advance(grains->grains, count, steps->moments, (carom_grains_step *)(void *)done->data, NULL);
			Py_END_ALLOW_THREADS
		}
		made = end(grains, result, (PyObject *)done);
	}
	free(steps->moments);
	free(steps->walls);
	return made;
}

static PyObject *advance(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "count", "gravity", "walls", NULL };
	PyObject *values[3];
	int64_t number = 1;
	int32_t walls = 0;
	carom_grains_moment moment = { { 0, 0, 0 }, 0, NULL };
	grain_steps steps = { NULL, NULL, 0 };
	bool good = cp_arguments("advance", args, count, keywords, names, 0, values) &&
		(!values[0] || cp_get_int(values[0], "count", 0, INT32_MAX, &number)) &&
		(!values[1] || cp_get_numbers(values[1], "gravity", 3, moment.gravity)) &&
		(!cp_is_given(values[2]) || add_walls(cp_state_of(self), &steps, values[2], &walls));
	steps.moments = good ? malloc(sizeof(*steps.moments) * ((size_t)number + 1)) : NULL;
	if (!steps.moments) {
		free(steps.walls);
		return good ? PyErr_NoMemory() : NULL;
	}
	moment.walls = steps.walls;
	moment.wall_count = walls;
	for (int64_t i = 0; i < number; i++)
		steps.moments[i] = moment;
	return do_steps((cp_grains *)self, &steps, (int32_t)number);
}

/// One of advance_moments: (gravity, walls). Walls may move in memory until all are there.
static bool add_moment(cp_state *state, grain_steps *steps, int32_t i, PyObject *one)
{
	if (!PyTuple_Check(one) || PyTuple_Size(one) != 2) {
		PyErr_Format(PyExc_TypeError, "moments[%d] is %R; it must be a tuple of gravity and walls", (int)i, one);
		return false;
	}
	return cp_get_numbers(PyTuple_GetItem(one, 0), "gravity", 3, steps->moments[i].gravity) &&
		add_walls(state, steps, PyTuple_GetItem(one, 1), &steps->moments[i].wall_count);
}

static PyObject *advance_moments(PyObject *self, PyObject *moments)
{
	const Py_ssize_t count = PySequence_Check(moments) ? PySequence_Size(moments) : -1;
	if (count < 0 || count > INT32_MAX)
		return PyErr_Format(PyExc_TypeError, "moments must be a sequence of (gravity, walls)");
	grain_steps steps = { calloc((size_t)count + 1, sizeof(*steps.moments)), NULL, 0 };
	bool good = steps.moments || PyErr_NoMemory();
	for (Py_ssize_t i = 0; good && i < count; i++) {
		PyObject *one = PySequence_GetItem(moments, i);
		good = one && add_moment(cp_state_of(self), &steps, (int32_t)i, one);
		Py_XDECREF(one);
	}
	if (!good) {
		free(steps.moments);
		free(steps.walls);
		return NULL;
	}
	const carom_grain_wall *next = steps.walls;
	for (Py_ssize_t i = 0; i < count; i++) {
		steps.moments[i].walls = next;
		next += steps.moments[i].wall_count;
	}
	return do_steps((cp_grains *)self, &steps, (int32_t)count);
}

// ---- The rest ----

static PyObject *get_buffers(PyObject *self, PyObject *none)
{
	(void)none;
	cp_grains *grains = (cp_grains *)self;
	carom_grains_buffers buffers;
	if (!begin(grains))
		return NULL;
	const carom_result result = carom_grains_get_buffers(grains->grains, &buffers);
	return end(grains, result, result ? NULL : cp_new_record(cp_state_of(self), CP_grains_buffers, &buffers, NULL));
}

static PyObject *set_moved(PyObject *self, PyObject *none)
{
	(void)none;
	cp_grains *grains = (cp_grains *)self;
	if (!begin(grains))
		return NULL;
	carom_grains_set_moved(grains->grains);
	return end(grains, CAROM_SUCCESS, Py_NewRef(Py_None));
}

static PyObject *get_stats(PyObject *self, void *none)
{
	(void)none;
	cp_grains *grains = (cp_grains *)self;
	if (!cp_begin_read(&grains->use, "grains"))
		return NULL;
	const carom_grains_stats stats = carom_grains_get_stats(grains->grains);
	cp_end_read(&grains->use);
	return cp_new_record(cp_state_of(self), CP_grains_stats, &stats, NULL);
}

static PyMethodDef methods[] = {
	{ "set_state", CP_NAMED(set_state),
		"set_state($self, /, places, motions, spins=None, wall_marks=None, wall_springs=None, first=None, other=None, springs=None)\n"
		"--\n\nBring a state to the device. n spheres: places (n, 4), x, y, z and radius; motions (n, 4), velocity and 1 / mass; spins "
		"(n, 4), angular velocity and 1 / moment of inertia, where they turn. The rest is of a state that state() gave, or None: "
		"wall_marks (n), wall_springs (n * GrainsDef.wall_springs, 3), first (n + 1), other (first[n]), springs (first[n], 3)." },
	{ "state", get_state, METH_NOARGS,
		"state($self, /)\n--\n\nThe state: a dict of new arrays, by the names of set_state's arguments; None for those that it does not "
		"have." },
	{ "advance", CP_NAMED(advance),
		"advance($self, /, count=1, gravity=(0.0, 0.0, 0.0), walls=())\n--\n\nDo count steps with one gravity and the walls, a GrainWall "
		"each. An array of GrainsStep." },
	{ "advance_moments", advance_moments, METH_O,
		CP_DOC("advance_moments($self, moments, /)", carom_grains_advance) " moments: a sequence of (gravity, walls)." },
	{ "buffers", get_buffers, METH_NOARGS, CP_DOC("buffers($self, /)", carom_grains_get_buffers) },
	{ "set_moved", set_moved, METH_NOARGS, CP_DOC("set_moved($self, /)", carom_grains_set_moved) },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "stats", get_stats, NULL, DOC_carom_grains_get_stats, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_new, (void *)grains_new }, { Py_tp_dealloc, (void *)grains_dealloc },
	{ Py_tp_methods, methods }, { Py_tp_getset, attributes },
	{ Py_tp_doc,
		"Grains(settings=None, /, *, context=None, **keywords)\n--\n\nSpheres that live on a graphics device, and whole granular steps "
		"there. Settings are those of GrainsDef, by name; device, count and time_step are needed." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom.Grains", sizeof(cp_grains), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots };

int cp_add_grains(PyObject *module, cp_state *state)
{
	state->grains_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
	return state->grains_type ? PyModule_AddObjectRef(module, "Grains", (PyObject *)state->grains_type) : -1;
}
