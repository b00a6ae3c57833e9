// carom.Spheres: touching pairs, neighbours and forces of many spheres (carom/spheres.h).
#include "binding.h"

typedef struct cp_spheres {
	PyObject_HEAD carom_spheres *spheres;
	cp_context *context;
	cp_device *device;                    ///< of the settings, or NULL
	cp_device *shared[CAROM_MAX_DEVICES]; ///< of set_devices
	int32_t shared_count;
	cp_use use;
	cp_guard lists;    ///< views of pairs and neighbours
	PyObject *failure; ///< the first exception that a callback raised in this call
} cp_spheres;

static PyObject *spheres_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	cp_state *state = PyType_GetModuleState(type);
	carom_spheres_def def;
	PyObject *keep;
	cp_spheres *spheres =
		(cp_spheres *)cp_new_detector(type, args, keywords, CP_spheres_def, &def, offsetof(cp_spheres, context), &keep);
	if (!spheres)
		return NULL;
	spheres->device = cp_hold_device(keep);
	Py_XDECREF(keep);
	const carom_result result = carom_create_spheres(spheres->context->context, &def, &spheres->spheres);
	if (result == CAROM_SUCCESS)
		return (PyObject *)spheres;
	cp_raise(state, spheres->context->context, result);
	Py_DECREF((PyObject *)spheres);
	return NULL;
}

static void let_shared_go(cp_spheres *spheres)
{
	for (int32_t i = 0; i < spheres->shared_count; i++)
		cp_let_device_go(spheres->shared[i]);
	spheres->shared_count = 0;
}

static void spheres_dealloc(PyObject *self)
{
	cp_spheres *spheres = (cp_spheres *)self;
	carom_destroy_spheres(spheres->spheres);
	let_shared_go(spheres);
	cp_let_device_go(spheres->device);
	Py_CLEAR(spheres->failure);
	cp_free_detector(self, spheres->context);
}

/// A call begins, after which the lists of earlier calls are void. False with an exception.
static bool begin(cp_spheres *spheres)
{
	return cp_is_free(&spheres->lists, "lists of the spheres") && cp_begin_write(&spheres->use, "detector of spheres");
}

/// It ends. Returns value, whose reference is taken, or NULL with an exception.
static PyObject *end(cp_spheres *spheres, carom_result result, PyObject *value)
{
	spheres->lists.generation++;
	cp_end_write(&spheres->use);
	if (spheres->failure) {
		PyErr_SetObject((PyObject *)Py_TYPE(spheres->failure), spheres->failure);
		Py_CLEAR(spheres->failure);
	} else if (result) {
		cp_raise(cp_state_of((PyObject *)spheres), spheres->context->context, result);
	} else {
		return value;
	}
	Py_XDECREF(value);
	return NULL;
}

// ---- Devices ----

/// Share the spheres out to these devices. It holds each of them.
static PyObject *take_devices(cp_spheres *spheres, cp_device *const *given, int32_t count)
{
	carom_device *devices[CAROM_MAX_DEVICES] = { NULL };
	for (int32_t i = 0; i < count; i++)
		devices[i] = given[i]->device;
	const carom_result result = carom_spheres_set_devices(spheres->spheres, devices, count);
	if (!result) {
		for (int32_t i = 0; i < count; i++) {
			given[i]->users++;
			Py_INCREF((PyObject *)given[i]);
		}
		let_shared_go(spheres);
		for (int32_t i = 0; i < count; i++)
			spheres->shared[i] = given[i];
		spheres->shared_count = count;
	}
	return end(spheres, result, Py_NewRef(Py_None));
}

static PyObject *set_devices(PyObject *self, PyObject *given)
{
	cp_device *devices[CAROM_MAX_DEVICES];
	PyObject *list = PySequence_Check(given) ? PySequence_Tuple(given) : Py_NewRef(given), *done = NULL;
	const int32_t count = list ? cp_get_devices(cp_state_of(self), list, devices) : -1;
	if (count >= 0 && begin((cp_spheres *)self))
		done = take_devices((cp_spheres *)self, devices, count);
	Py_XDECREF(list);
	return done;
}

// ---- Places ----

/// Arrays of an update, open as long as the call.
typedef struct sphere_arrays {
	cp_input centres, radii, ids, ids64;
} sphere_arrays;

static const char *const update_names[] = { "centres", "radii", "ids", "moved", "neighbours_only", "owned", "ids64", NULL };

static bool take_arrays(PyObject *const *values, carom_sphere_input *input, sphere_arrays *arrays)
{
	if (!cp_open_input(&arrays->centres, values[0], "centres", 3) || !cp_as_strided(&arrays->centres, &input->centres) ||
		!cp_open_input(&arrays->radii, values[1], "radii", 0) || !cp_has_rows(&arrays->radii, arrays->centres.rows) ||
		!cp_as_strided(&arrays->radii, &input->radii))
		return false;
	input->count = arrays->centres.rows;
	if (cp_is_given(values[2]) &&
		(!cp_open_input(&arrays->ids, values[2], "ids", 0) || !cp_has_rows(&arrays->ids, arrays->centres.rows) ||
			!(input->ids = cp_as_uint32(&arrays->ids))))
		return false;
	if (cp_is_given(values[6]) &&
		(!cp_open_input(&arrays->ids64, values[6], "ids64", 0) || !cp_has_rows(&arrays->ids64, arrays->centres.rows) ||
			!(input->ids64 = cp_as_uint64(&arrays->ids64))))
		return false;
	if (values[5] && !cp_get_int(values[5], "owned", INT64_MIN, INT64_MAX, &input->owned))
		return false;
	return (!values[3] || cp_get_double(values[3], "moved", &input->moved)) &&
		(!values[4] || cp_get_bool(values[4], "neighbours_only", &input->neighbours_only));
}

static PyObject *update(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_spheres *spheres = (cp_spheres *)self;
	PyObject *values[7], *made = NULL;
	carom_sphere_input input = carom_default_sphere_input();
	sphere_arrays arrays = { .ids = { .name = NULL }, .ids64 = { .name = NULL } };
	if (cp_arguments("update", args, count, keywords, update_names, 2, values) && take_arrays(values, &input, &arrays) &&
		begin(spheres)) {
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result = carom_spheres_update(spheres->spheres, &input);
		Py_END_ALLOW_THREADS made = end(spheres, result, Py_NewRef(Py_None));
	}
	cp_close_input(&arrays.centres);
	cp_close_input(&arrays.radii);
	cp_close_input(&arrays.ids);
	cp_close_input(&arrays.ids64);
	return made;
}

// ---- Answers ----

static PyObject *find_pairs(PyObject *self, PyObject *none)
{
	(void)none;
	cp_spheres *spheres = (cp_spheres *)self;
	if (!begin(spheres))
		return NULL;
	carom_sphere_pairs pairs;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_spheres_find_pairs(spheres->spheres, &pairs);
	Py_END_ALLOW_THREADS PyObject *ended = end(spheres, result, Py_NewRef(Py_None));
	Py_XDECREF(ended);
	return ended ? cp_view_records(self, &spheres->lists, cp_state_of(self), CP_sphere_pair, pairs.pairs, pairs.count) : NULL;
}

static PyObject *find_device_pairs(PyObject *self, PyObject *none)
{
	(void)none;
	cp_spheres *spheres = (cp_spheres *)self;
	if (!begin(spheres))
		return NULL;
	carom_sphere_device_pairs pairs;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_spheres_find_device_pairs(spheres->spheres, &pairs);
	Py_END_ALLOW_THREADS return end(
		spheres, result, result ? NULL : cp_new_record(cp_state_of(self), CP_sphere_device_pairs, &pairs, NULL));
}

static PyObject *neighbours(PyObject *self, PyObject *none)
{
	(void)none;
	cp_spheres *spheres = (cp_spheres *)self;
	if (!begin(spheres))
		return NULL;
	carom_sphere_neighbours list;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_spheres_get_neighbours(spheres->spheres, &list);
	Py_END_ALLOW_THREADS PyObject *ended = end(spheres, result, Py_NewRef(Py_None));
	Py_XDECREF(ended);
	if (!ended)
		return NULL;
	cp_state *state = cp_state_of(self);
	PyObject *first = cp_view_numbers(self, &spheres->lists, state, CP_I64, list.first, list.count + 1, 0);
	PyObject *other =
		first ? cp_view_numbers(self, &spheres->lists, state, CP_U32, list.other, list.first[list.count], 0) : NULL;
	PyObject *all = other ? Py_BuildValue("(OOK)", first, other, (unsigned long long)list.build) : NULL;
	Py_XDECREF(first);
	Py_XDECREF(other);
	return all;
}

static PyObject *order(PyObject *self, PyObject *none)
{
	(void)none;
	cp_spheres *spheres = (cp_spheres *)self;
	if (!begin(spheres))
		return NULL;
	cp_array *numbers = cp_new_numbers(cp_state_of(self), CP_U32, carom_spheres_get_stats(spheres->spheres).count, 0);
	const carom_result result =
		numbers ? carom_spheres_get_order(spheres->spheres, (uint32_t *)(void *)numbers->data) : CAROM_SUCCESS;
	return end(spheres, result, (PyObject *)numbers);
}

// ---- Callbacks: they take the GIL, so one of them runs at a time ----

typedef struct callback {
	cp_spheres *spheres;
	PyObject *function;
} callback;

static void keep_failure(cp_spheres *spheres)
{
	PyObject *type, *value, *trace;
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	if (!spheres->failure)
		spheres->failure = Py_XNewRef(value);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
}

static bool visit(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	(void)worker;
	const callback *c = user;
	const PyGILState_STATE gil = PyGILState_Ensure();
	bool more = !c->spheres->failure;
	if (more) {
		cp_array *copy = cp_new_records(cp_state_of((PyObject *)c->spheres), CP_sphere_pair, count);
		if (copy)
			memcpy(copy->data, pairs, sizeof(*pairs) * (size_t)count);
		PyObject *answer = copy ? PyObject_CallFunctionObjArgs(c->function, (PyObject *)copy, NULL) : NULL;
		more = answer && answer != Py_False;
		if (!answer)
			keep_failure(c->spheres);
		Py_XDECREF(answer);
		Py_XDECREF((PyObject *)copy);
	}
	PyGILState_Release(gil);
	return more;
}

static PyObject *visit_pairs(PyObject *self, PyObject *function)
{
	cp_spheres *spheres = (cp_spheres *)self;
	callback c = { spheres, function };
	if (!PyCallable_Check(function))
		return PyErr_Format(PyExc_TypeError, "function is %R; it must be callable", function);
	if (!begin(spheres))
		return NULL;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_spheres_visit_pairs(spheres->spheres, visit, &c);
	Py_END_ALLOW_THREADS return end(spheres, result, Py_NewRef(Py_None));
}

/// The answer of a force: (force, torque), or a force alone.
static bool take_force(PyObject *answer, double force[3], double torque[3])
{
	double both[2][3] = { { 0, 0, 0 }, { 0, 0, 0 } };
	bool good;
	if (PyTuple_Check(answer) && PyTuple_Size(answer) == 2)
		good = cp_get_numbers(PyTuple_GetItem(answer, 0), "force", 3, both[0]) &&
			cp_get_numbers(PyTuple_GetItem(answer, 1), "torque", 3, both[1]);
	else
		good = cp_get_numbers(answer, "force", 3, both[0]);
	for (int i = 0; good && i < 3; i++) {
		force[i] += both[0][i];
		if (torque)
			torque[i] += both[1][i];
	}
	return good;
}

static void add_force(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	const callback *c = user;
	const PyGILState_STATE gil = PyGILState_Ensure();
	if (!c->spheres->failure) {
		PyObject *answer = PyObject_CallFunction(
			c->function, "II(ddd)d", (unsigned)a, (unsigned)b, direction[0], direction[1], direction[2], overlap);
		if (!answer || !take_force(answer, force, torque))
			keep_failure(c->spheres);
		Py_XDECREF(answer);
	}
	PyGILState_Release(gil);
}

static PyObject *sum_forces(PyObject *self, PyObject *function)
{
	cp_spheres *spheres = (cp_spheres *)self;
	cp_state *state = cp_state_of(self);
	callback c = { spheres, function };
	if (!PyCallable_Check(function))
		return PyErr_Format(PyExc_TypeError, "function is %R; it must be callable", function);
	if (!begin(spheres))
		return NULL;
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres->spheres);
	const int64_t count = stats.count - stats.ghosts;
	cp_array *forces = cp_new_numbers(state, CP_F64, count, 3), *torques = cp_new_numbers(state, CP_F64, count, 3);
	carom_result result = CAROM_SUCCESS;
	if (forces && torques) {
		Py_BEGIN_ALLOW_THREADS result = carom_spheres_sum_forces(
			spheres->spheres, add_force, &c, (double *)(void *)forces->data, (double *)(void *)torques->data);
		Py_END_ALLOW_THREADS
	}
	PyObject *both = forces && torques ? PyTuple_Pack(2, forces, torques) : NULL;
	Py_XDECREF((PyObject *)forces);
	Py_XDECREF((PyObject *)torques);
	return end(spheres, result, both);
}

static PyObject *get_stats(PyObject *self, void *none)
{
	(void)none;
	cp_spheres *spheres = (cp_spheres *)self;
	if (!cp_begin_read(&spheres->use, "detector of spheres"))
		return NULL;
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres->spheres);
	cp_end_read(&spheres->use);
	return cp_new_record(cp_state_of(self), CP_sphere_stats, &stats, NULL);
}

static PyMethodDef methods[] = {
	{ "update", CP_NAMED(update),
		CP_DOC("update($self, /, centres, radii, ids=None, moved=-1.0, neighbours_only=False, owned=-1, ids64=None)",
			carom_spheres_update) },
	{ "set_devices", set_devices, METH_O, CP_DOC("set_devices($self, devices, /)", carom_spheres_set_devices) },
	{ "find_pairs", find_pairs, METH_NOARGS, CP_DOC("find_pairs($self, /)", carom_spheres_find_pairs) },
	{ "find_device_pairs", find_device_pairs, METH_NOARGS,
		CP_DOC("find_device_pairs($self, /)", carom_spheres_find_device_pairs) " Device.read copies a part." },
	{ "visit_pairs", visit_pairs, METH_O,
		CP_DOC("visit_pairs($self, function, /)",
			carom_spheres_visit_pairs) " function takes an Array of SpherePair; False ends." },
	{ "sum_forces", sum_forces, METH_O,
		CP_DOC("sum_forces($self, function, /)",
			carom_spheres_sum_forces) " function(a, b, direction, overlap) returns a force, or (force, torque). The answer is (forces, torques)." },
	{ "neighbours", neighbours, METH_NOARGS,
		CP_DOC("neighbours($self, /)", carom_spheres_get_neighbours) " (first, other, build)." },
	{ "order", order, METH_NOARGS, CP_DOC("order($self, /)", carom_spheres_get_order) },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "stats", get_stats, NULL, DOC_carom_spheres_get_stats, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_new, (void *)spheres_new }, { Py_tp_dealloc, (void *)spheres_dealloc },
	{ Py_tp_methods, methods }, { Py_tp_getset, attributes },
	{ Py_tp_doc,
		"Spheres(settings=None, /, *, context=None, **keywords)\n--\n\nThe detector of one body of spheres. Settings are those of SpheresDef, "
		"by name. Pairs and neighbours are views: while one is exported, calls that would replace them raise BufferError." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom.Spheres", sizeof(cp_spheres), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots };

int cp_add_spheres(PyObject *module, cp_state *state)
{
	state->spheres_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
	return state->spheres_type ? PyModule_AddObjectRef(module, "Spheres", (PyObject *)state->spheres_type) : -1;
}
