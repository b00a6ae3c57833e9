// carom.Snapshot: the states that a world goes back to.
#include "binding.h"

typedef struct cp_snapshot {
	PyObject_HEAD carom_snapshot *snapshot;
	cp_context *context;
} cp_snapshot;

static carom_snapshot *get_snapshot(cp_state *state, PyObject *value)
{
	if (Py_TYPE(value) == state->snapshot_type)
		return ((cp_snapshot *)value)->snapshot;
	PyErr_Format(PyExc_TypeError, "snapshot is %R; it must be a Snapshot", value);
	return NULL;
}

/// Save the world into a snapshot. False with an exception.
static bool save(cp_world *world, carom_snapshot *snapshot)
{
	if (!cp_begin_write(&world->use, "world"))
		return false;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_world_save(world->world, snapshot);
	Py_END_ALLOW_THREADS cp_end_write(&world->use);
	PyObject *none = cp_end_call(world, result, Py_NewRef(Py_None));
	Py_XDECREF(none);
	return none != NULL;
}

/// An empty snapshot of a world. NULL with an exception.
static cp_snapshot *new_snapshot(cp_world *world)
{
	cp_state *state = cp_state_of((PyObject *)world);
	if (!cp_is_open(world))
		return NULL;
	allocfunc function = (allocfunc)PyType_GetSlot(state->snapshot_type, Py_tp_alloc);
	cp_snapshot *made = (cp_snapshot *)function(state->snapshot_type, 0);
	if (!made)
		return NULL;
	made->context = (cp_context *)Py_NewRef((PyObject *)world->context);
	made->context->children++;
	const carom_result result = carom_create_snapshot(world->world, &made->snapshot);
	if (!result)
		return made;
	Py_DECREF(made);
	return (void *)cp_raise(state, world->context->context, result);
}

static PyObject *world_snapshot(PyObject *self, PyObject *none)
{
	(void)none;
	cp_snapshot *made = new_snapshot((cp_world *)self);
	if (!made || save((cp_world *)self, made->snapshot))
		return (PyObject *)made;
	Py_DECREF(made);
	return NULL;
}

static PyObject *world_load_snapshot(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	Py_buffer bytes;
	if (!cp_is_open(world) || PyObject_GetBuffer(value, &bytes, PyBUF_SIMPLE) < 0)
		return NULL;
	cp_snapshot *made = new_snapshot(world);
	PyObject *answer = NULL;
	if (made && cp_begin_write(&world->use, "world")) {
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result = carom_snapshot_load(made->snapshot, bytes.buf, (size_t)bytes.len);
		Py_END_ALLOW_THREADS cp_end_write(&world->use);
		answer = cp_end_call(world, result, Py_NewRef((PyObject *)made));
	}
	Py_XDECREF((PyObject *)made);
	PyBuffer_Release(&bytes);
	return answer;
}

static PyObject *world_save(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_snapshot *snapshot = get_snapshot(cp_state_of(self), value);
	return snapshot && cp_is_open(world) && save(world, snapshot) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *world_restore(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_snapshot *snapshot = get_snapshot(cp_state_of(self), value);
	if (!snapshot || !cp_is_open(world) || !cp_is_free(&world->results, "results of the world") ||
		!cp_is_free(&world->places, "places of the world") || !cp_begin_write(&world->use, "world"))
		return NULL;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_world_restore(world->world, snapshot);
	Py_END_ALLOW_THREADS cp_end_write(&world->use);
	world->results.generation++; // views end even where it fails
	world->places.generation++;
	return cp_end_call(world, result, Py_NewRef(Py_None));
}

PyMethodDef cp_world_snapshots[] = {
	{ "snapshot", world_snapshot, METH_NOARGS,
		"snapshot($self, /)\n--\n\nA new Snapshot of the world as it is. save() reuses one without taking memory." },
	{ "save", world_save, METH_O, CP_DOC("save($self, snapshot, /)", carom_world_save) },
	{ "load_snapshot", world_load_snapshot, METH_O,
		CP_DOC("load_snapshot($self, data, /)", carom_snapshot_load) " A new Snapshot, for restore()." },
	{ "restore", world_restore, METH_O, CP_DOC("restore($self, snapshot, /)", carom_world_restore) },
	{ NULL, NULL, 0, NULL },
};

// ---- The type ----

static void snapshot_dealloc(PyObject *self)
{
	cp_snapshot *snapshot = (cp_snapshot *)self;
	PyTypeObject *type = Py_TYPE(self);
	carom_destroy_snapshot(snapshot->snapshot);
	if (snapshot->context)
		snapshot->context->children--;
	Py_XDECREF((PyObject *)snapshot->context);
	freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
	function(self);
	Py_DECREF(type);
}

static PyObject *get_hash(PyObject *self, void *none)
{
	(void)none;
	return PyLong_FromUnsignedLongLong(carom_snapshot_hash(((cp_snapshot *)self)->snapshot));
}

static PyObject *get_memory(PyObject *self, void *none)
{
	(void)none;
	return PyLong_FromSize_t(carom_snapshot_memory(((cp_snapshot *)self)->snapshot));
}

static PyObject *snapshot_save(PyObject *self, PyObject *none)
{
	(void)none;
	cp_snapshot *snapshot = (cp_snapshot *)self;
	PyObject *bytes = NULL;
	const carom_result result = carom_snapshot_save(snapshot->snapshot, cp_write_bytes, &bytes);
	return result ? cp_raise(cp_state_of(self), snapshot->context->context, result) : bytes;
}

static PyObject *difference(PyObject *self, PyObject *value)
{
	const carom_snapshot *other = get_snapshot(cp_state_of(self), value);
	carom_snapshot_difference first;
	if (!other)
		return NULL;
	if (!carom_snapshots_differ(((cp_snapshot *)self)->snapshot, other, &first))
		Py_RETURN_NONE;
	return cp_new_record(cp_state_of(self), CP_snapshot_difference, &first, NULL);
}

static PyMethodDef methods[] = {
	{ "save", snapshot_save, METH_NOARGS, CP_DOC("save($self, /)", carom_snapshot_save) },
	{ "difference", difference, METH_O,
		CP_DOC("difference($self, other, /)", carom_snapshots_differ) " None where nothing differs." },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "hash", get_hash, NULL, DOC_carom_snapshot_hash, NULL },
	{ "memory", get_memory, NULL, DOC_carom_snapshot_memory, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_dealloc, (void *)snapshot_dealloc }, { Py_tp_methods, methods },
	{ Py_tp_getset, attributes },
	{ Py_tp_doc,
		"A state of a world: world.snapshot() makes one, world.save() saves into it, world.restore() goes back to it." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom.Snapshot", sizeof(cp_snapshot), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots };

int cp_add_snapshot(PyObject *module, cp_state *state)
{
	state->snapshot_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
	return state->snapshot_type ? PyModule_AddObjectRef(module, "Snapshot", (PyObject *)state->snapshot_type) : -1;
}
