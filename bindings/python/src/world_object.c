// carom.World: its life, its steps, recordings and callbacks. Bodies, results and queries are in
// files of their own.
#include "binding.h"

#include <stdlib.h>

bool cp_is_open(cp_world *world)
{
	if (world->world)
		return true;
	PyErr_SetString(PyExc_ValueError, "the world is closed");
	return false;
}

// ---- Callbacks ----
//
// The library calls them from its own threads while the GIL is not held. What one of them raises
// is kept, and raised by the call that it was made in.

void cp_keep_failure(PyObject **failure)
{
	PyObject *type, *value, *trace;
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	if (trace && value)
		PyException_SetTraceback(value, trace);
	if (!*failure)
		*failure = Py_XNewRef(value);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
}

/// The truth of what a callback returned, whose reference is taken; true where it raised.
static bool verdict(cp_world *world, PyObject *answer)
{
	const int truth = answer ? PyObject_IsTrue(answer) : -1;
	Py_XDECREF(answer);
	if (truth < 0)
		cp_keep_failure(&world->failure);
	return truth != 0;
}

static bool filter_pair(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	cp_world *world = user;
	const PyGILState_STATE gil = PyGILState_Ensure();
	const unsigned long long id_a = (uint64_t)a.generation << 32 | a.index1, id_b = (uint64_t)b.generation << 32 | b.index1;
	const bool pass = world->failure ||
		verdict(world,
			PyObject_CallFunction(
				world->pair_filter, "KKKK", id_a, id_b, (unsigned long long)user_data_a, (unsigned long long)user_data_b));
	PyGILState_Release(gil);
	return pass;
}

static bool filter_contact(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	cp_world *world = user;
	const PyGILState_STATE gil = PyGILState_Ensure();
	bool pass = true;
	if (!world->failure) {
		world->asking++;
		PyObject *record = cp_new_record(cp_state_of((PyObject *)world), CP_contact, contact, NULL);
		PyObject *answer = record ? PyObject_CallFunction(world->contact_filter, "OKK", record, (unsigned long long)user_data_a,
										(unsigned long long)user_data_b)
								  : NULL;
		pass = verdict(world, answer);
		world->asking--;
		Py_XDECREF(record);
	}
	PyGILState_Release(gil);
	return pass;
}

static bool write_record(const void *bytes, size_t count, void *user)
{
	cp_world *world = user;
	const PyGILState_STATE gil = PyGILState_Ensure();
	bool done = !world->failure;
	if (done) {
		PyObject *text = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)count);
		PyObject *answer = text ? PyObject_CallFunctionObjArgs(world->writer, text, NULL) : NULL;
		done = answer != NULL;
		Py_XDECREF(answer);
		Py_XDECREF(text);
		if (!done)
			cp_keep_failure(&world->failure);
	}
	PyGILState_Release(gil);
	return done;
}

PyObject *cp_end_call(cp_world *world, carom_result result, PyObject *value)
{
	if (world->failure) {
		PyObject *failure = world->failure;
		world->failure = NULL;
		PyErr_SetObject((PyObject *)Py_TYPE(failure), failure);
		Py_DECREF(failure);
		Py_XDECREF(value);
		return NULL;
	}
	if (result == CAROM_SUCCESS)
		return value;
	Py_XDECREF(value);
	return cp_raise(cp_state_of((PyObject *)world), world->context->context, result);
}

// ---- Life ----

/// The arguments that are no settings, out of keywords, which becomes a dict of the others.
static bool take_others(cp_state *state, cp_world *world, PyObject **keywords, PyObject **record)
{
	static const char *const names[] = { "context", "pair_filter", "contact_filter", "settings" };
	PyObject *found[4] = { NULL, NULL, NULL, *record };
	PyObject *rest = *keywords ? PyDict_Copy(*keywords) : PyDict_New();
	for (int i = 0; rest && i < 4; i++) {
		PyObject *value = PyDict_GetItemString(rest, names[i]);
		if (value)
			found[i] = value; // *keywords holds it
		if (value && PyDict_DelItemString(rest, names[i]) < 0)
			Py_CLEAR(rest);
	}
	*keywords = rest;
	*record = found[3];
	if (!rest || !(world->context = cp_use_context(state, found[0])))
		return false;
	world->context->children++;
	world->pair_filter = cp_is_given(found[1]) ? Py_NewRef(found[1]) : NULL;
	world->contact_filter = cp_is_given(found[2]) ? Py_NewRef(found[2]) : NULL;
	return true;
}

static bool take_settings(cp_state *state, PyObject *keywords, PyObject *record, carom_world_def *def)
{
	PyObject *keep = NULL, *name, *value;
	Py_ssize_t at = 0;
	bool good = cp_get_settings(state, CP_world_def, "World", record, NULL, NULL, def, &keep);
	while (good && PyDict_Next(keywords, &at, &name, &value))
		good = cp_set_named(state, CP_world_def, (char *)def, &keep, name, value);
	Py_XDECREF(keep);
	return good;
}

static PyObject *world_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	cp_state *state = PyType_GetModuleState(type);
	if (PyTuple_Size(args) > 1)
		return PyErr_Format(PyExc_TypeError, "World takes a WorldDef, and settings by their names");
	PyObject *record = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL, *rest = keywords;
	allocfunc function = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	cp_world *world = (cp_world *)function(type, 0);
	if (!world)
		return NULL;
	carom_world_def def;
	const bool good = take_others(state, world, &rest, &record) && take_settings(state, rest, record, &def);
	Py_XDECREF(rest);
	if (good) {
		def.pair_filter = world->pair_filter ? filter_pair : NULL;
		def.contact_filter = world->contact_filter ? filter_contact : NULL;
		def.filter_user = world;
		const carom_result result = carom_create_world(world->context->context, &def, &world->world);
		if (result == CAROM_SUCCESS)
			return (PyObject *)world;
		cp_raise(state, world->context->context, result);
	}
	Py_DECREF(world);
	return NULL;
}

static void let_devices_go(cp_world *world)
{
	for (int32_t i = 0; i < world->device_count; i++)
		cp_let_device_go(world->devices[i]);
	world->device_count = 0;
}

/// Destroy the world. It is not used by another call, and no view is exported.
static void destroy(cp_world *world)
{
	carom_world *end = world->world;
	world->world = NULL;
	world->results.generation++;
	world->places.generation++;
	carom_destroy_world(end); // what a recording's writer raises now is lost
	let_devices_go(world);
	Py_CLEAR(world->failure);
}

/// Callbacks may refer to the world: the collector sees them.
static int world_traverse(PyObject *self, visitproc visit, void *arg)
{
	cp_world *world = (cp_world *)self;
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(world->pair_filter);
	Py_VISIT(world->contact_filter);
	Py_VISIT(world->writer);
	Py_VISIT((PyObject *)world->context);
	for (int32_t i = 0; i < world->device_count; i++)
		Py_VISIT((PyObject *)world->devices[i]);
	return 0;
}

/// Nothing can call the world any more, so it goes before its callbacks do.
static int world_clear(PyObject *self)
{
	cp_world *world = (cp_world *)self;
	destroy(world);
	Py_CLEAR(world->pair_filter);
	Py_CLEAR(world->contact_filter);
	Py_CLEAR(world->writer);
	return 0;
}

static void world_dealloc(PyObject *self)
{
	cp_world *world = (cp_world *)self;
	PyTypeObject *type = Py_TYPE(self);
	PyObject_GC_UnTrack(self);
	destroy(world);
	if (world->context)
		world->context->children--;
	Py_XDECREF(world->pair_filter);
	Py_XDECREF(world->contact_filter);
	Py_XDECREF(world->writer);
	Py_XDECREF((PyObject *)world->context);
	freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
	function(self);
	Py_DECREF(type);
}

static PyObject *world_close(PyObject *self, PyObject *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	if (!world->world)
		Py_RETURN_NONE;
	if (!cp_is_free(&world->results, "results of the world") || !cp_is_free(&world->places, "places of the world") ||
		!cp_begin_write(&world->use, "world"))
		return NULL;
	destroy(world);
	cp_end_write(&world->use);
	Py_RETURN_NONE;
}

static PyObject *world_enter(PyObject *self, PyObject *none)
{
	(void)none;
	return Py_NewRef(self);
}

static PyObject *world_exit(PyObject *self, PyObject *args)
{
	(void)args;
	return world_close(self, NULL);
}

// ---- Device ----

/// Let the world go on with these devices. It holds each of them.
static PyObject *take_devices(cp_world *world, cp_device *const *given, int32_t count, bool fallback)
{
	carom_device *devices[CAROM_MAX_DEVICES] = { NULL };
	for (int32_t i = 0; i < count; i++)
		devices[i] = given[i]->device;
	const carom_result result = carom_world_set_devices(world->world, devices, count, fallback);
	if (!result) {
		for (int32_t i = 0; i < count; i++) {
			given[i]->users++;
			Py_INCREF((PyObject *)given[i]);
		}
		let_devices_go(world);
		for (int32_t i = 0; i < count; i++)
			world->devices[i] = given[i];
		world->device_count = count;
	}
	cp_end_write(&world->use);
	return cp_end_call(world, result, Py_NewRef(Py_None));
}

static PyObject *world_set_device(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "device", "fallback", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[2];
	cp_device *device = NULL;
	bool fallback = false;
	if (!cp_arguments("set_device", args, count, keywords, names, 1, values) ||
		(cp_is_given(values[0]) && !(device = cp_get_device(cp_state_of(self), values[0], "device"))) ||
		(values[1] && !cp_get_bool(values[1], "fallback", &fallback)) || !cp_is_open(world) ||
		!cp_begin_write(&world->use, "world"))
		return NULL;
	return take_devices(world, &device, device != NULL, fallback);
}

static PyObject *world_set_devices(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "devices", "fallback", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[2];
	cp_device *devices[CAROM_MAX_DEVICES];
	bool fallback = false;
	if (!cp_arguments("set_devices", args, count, keywords, names, 1, values) ||
		(values[1] && !cp_get_bool(values[1], "fallback", &fallback)))
		return NULL;
	PyObject *list = PySequence_Check(values[0]) ? PySequence_Tuple(values[0]) : Py_NewRef(values[0]);
	PyObject *done = NULL;
	const int32_t given = list ? cp_get_devices(cp_state_of(self), list, devices) : -1;
	if (given >= 0 && cp_is_open(world) && cp_begin_write(&world->use, "world"))
		done = take_devices(world, devices, given, fallback);
	Py_XDECREF(list);
	return done;
}

// ---- Steps and recordings ----

static PyObject *world_step(PyObject *self, PyObject *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	if (!cp_is_open(world) || !cp_is_free(&world->results, "results of the world") || !cp_begin_write(&world->use, "world"))
		return NULL;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_world_step(world->world);
	Py_END_ALLOW_THREADS cp_end_write(&world->use);
	if (result == CAROM_SUCCESS)
		world->results.generation++;
	return cp_end_call(world, result, Py_NewRef(Py_None));
}

static PyObject *world_reserve(PyObject *self, PyObject *args)
{
	cp_world *world = (cp_world *)self;
	int parts, pairs, contacts;
	// The results of the last step move.
	if (!PyArg_ParseTuple(args, "iii:reserve", &parts, &pairs, &contacts) || !cp_is_open(world) ||
		!cp_is_free(&world->results, "results of the world") || !cp_begin_write(&world->use, "world"))
		return NULL;
	const carom_result result = carom_world_reserve(world->world, parts, pairs, contacts);
	cp_end_write(&world->use);
	world->results.generation++;
	return cp_end_call(world, result, Py_NewRef(Py_None));
}

static PyObject *world_trim(PyObject *self, PyObject *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	if (!cp_is_open(world) || !cp_is_free(&world->results, "results of the world") ||
		!cp_is_free(&world->places, "places of the world") || !cp_begin_write(&world->use, "world"))
		return NULL;
	const carom_result result = carom_world_trim(world->world);
	cp_end_write(&world->use);
	world->results.generation++;
	world->places.generation++;
	return cp_end_call(world, result, Py_NewRef(Py_None));
}

static PyObject *world_record(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	if (!cp_is_open(world))
		return NULL;
	if (value != Py_None && !PyCallable_Check(value))
		return PyErr_Format(PyExc_TypeError, "write is %R; it must be callable, or None to end the recording", value);
	if (!cp_begin_write(&world->use, "world"))
		return NULL;
	carom_result result = CAROM_SUCCESS;
	if (world->writer) {
		result = carom_world_record(world->world, NULL, NULL); // it may still write to the old one
		Py_CLEAR(world->writer);
	}
	if (value != Py_None) {
		world->writer = Py_NewRef(value);
		result = carom_world_record(world->world, write_record, world);
		if (result)
			Py_CLEAR(world->writer);
	}
	cp_end_write(&world->use);
	return cp_end_call(world, result, Py_NewRef(Py_None));
}

static PyObject *world_repr(PyObject *self)
{
	cp_world *world = (cp_world *)self;
	return world->world ? PyUnicode_FromFormat("<carom.World: %d bodies, %lld steps>", carom_world_body_count(world->world),
							  (long long)carom_world_stats(world->world).step)
						: PyUnicode_FromString("<carom.World: closed>");
}

static Py_ssize_t world_length(PyObject *self)
{
	cp_world *world = (cp_world *)self;
	return cp_is_open(world) ? carom_world_body_count(world->world) : -1;
}

static int world_contains(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	if (!cp_get_id(value, &id) || !cp_is_open(world))
		return -1;
	return carom_world_is_body(world->world, id);
}

static PyObject *get_context(PyObject *self, void *none)
{
	(void)none;
	return Py_NewRef((PyObject *)((cp_world *)self)->context);
}

static PyMethodDef methods[] = {
	{ "step", world_step, METH_NOARGS, CP_DOC("step($self, /)", carom_world_step) },
	{ "reserve", world_reserve, METH_VARARGS, CP_DOC("reserve($self, parts, pairs, contacts, /)", carom_world_reserve) },
	{ "trim", world_trim, METH_NOARGS, CP_DOC("trim($self, /)", carom_world_trim) },
	{ "record", world_record, METH_O,
		CP_DOC("record($self, write, /)", carom_world_record) " write takes bytes. None ends a recording." },
	{ "set_device", CP_NAMED(world_set_device), CP_DOC("set_device($self, /, device, fallback=False)", carom_world_set_device) },
	{ "set_devices", CP_NAMED(world_set_devices),
		CP_DOC("set_devices($self, /, devices, fallback=False)", carom_world_set_devices) },
	{ "close", world_close, METH_NOARGS,
		"close($self, /)\n--\n\nDestroy the world with its bodies; calls on it raise ValueError afterwards. BufferError while arrays look "
		"at its results." },
	{ "__enter__", world_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nThe world itself." },
	{ "__exit__", world_exit, METH_VARARGS, "__exit__($self, /, *args)\n--\n\nclose()." },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef context_attribute[] = { { "context", get_context, NULL, DOC_carom_world_context, NULL },
	{ NULL, NULL, NULL, NULL, NULL } };
static const char world_doc[] =
	"World(settings=None, /, *, context=None, pair_filter=None, contact_filter=None, **keywords)\n--\n\nBodies, and the contacts that "
	"steps find among them. Settings are those of WorldDef, by name. len(world) counts its bodies, id in world asks for one. "
	"pair_filter(id_a, id_b, user_data_a, user_data_b) and contact_filter(contact, user_data_a, user_data_b) return false to leave a "
	"pair or contact out; they are called from threads of the library.";

int cp_add_world(PyObject *module, cp_state *state)
{
	PyMethodDef *all = cp_join_methods(
		methods, cp_world_bodies, cp_world_results, cp_world_queries, cp_world_batches, cp_world_snapshots, NULL);
	PyGetSetDef *attributes = cp_join_attributes(context_attribute, cp_world_views, NULL);
	PyType_Slot slots[] = { { Py_tp_new, (void *)world_new }, { Py_tp_dealloc, (void *)world_dealloc },
		{ Py_tp_traverse, (void *)world_traverse }, { Py_tp_clear, (void *)world_clear }, { Py_tp_repr, (void *)world_repr },
		{ Py_tp_methods, all }, { Py_tp_getset, attributes }, { Py_sq_length, (void *)world_length },
		{ Py_sq_contains, (void *)world_contains }, { Py_tp_doc, (void *)world_doc }, { 0, NULL } };
	PyType_Spec spec = { "carom.World", sizeof(cp_world), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
		slots };
	state->world_type = all && attributes ? (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL) : NULL;
	return state->world_type ? PyModule_AddObjectRef(module, "World", (PyObject *)state->world_type) : -1;
}
