// carom.replay: a recording of calls on a world, run again (carom/record.h).
#include "binding.h"

/// Where a recording comes from: bytes, or a callable that reads.
typedef struct source {
	const char *at;
	size_t left;
	PyObject *read; ///< NULL: bytes
	PyObject *failure;
} source;

static bool read_bytes(void *bytes, size_t count, void *user)
{
	source *from = user;
	if (count > from->left)
		return false;
	memcpy(bytes, from->at, count);
	from->at += count;
	from->left -= count;
	return true;
}

/// Call read(count) until all bytes are there; less than nothing is the end.
static bool read_callable(void *bytes, size_t count, void *user)
{
	source *from = user;
	const PyGILState_STATE gil = PyGILState_Ensure();
	bool good = !from->failure;
	while (good && count > 0) {
		PyObject *piece = PyObject_CallFunction(from->read, "n", (Py_ssize_t)count);
		char *data;
		Py_ssize_t length = 0;
		good = piece && PyBytes_AsStringAndSize(piece, &data, &length) == 0 && length > 0 && (size_t)length <= count;
		if (good) {
			memcpy(bytes, data, (size_t)length);
			bytes = (char *)bytes + length;
			count -= (size_t)length;
		}
		Py_XDECREF(piece);
	}
	if (PyErr_Occurred()) {
		PyObject *type, *trace;
		PyErr_Fetch(&type, &from->failure, &trace);
		PyErr_NormalizeException(&type, &from->failure, &trace);
		Py_XDECREF(type);
		Py_XDECREF(trace);
	}
	PyGILState_Release(gil);
	return good;
}

static PyObject *run(cp_state *state, cp_context *context, source *from)
{
	carom_replay_result outcome;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result =
		carom_replay_recording(context->context, from->read ? read_callable : read_bytes, from, &outcome);
	Py_END_ALLOW_THREADS if (from->failure)
	{
		PyErr_SetObject((PyObject *)Py_TYPE(from->failure), from->failure);
		Py_CLEAR(from->failure);
		return NULL;
	}
	return result ? cp_raise(state, context->context, result) : cp_new_record(state, CP_replay_result, &outcome, NULL);
}

static PyObject *replay(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "recording", "context", NULL };
	cp_state *state = PyModule_GetState(module);
	PyObject *values[2];
	cp_context *context =
		cp_arguments("replay", args, count, keywords, names, 1, values) ? cp_use_context(state, values[1]) : NULL;
	if (!context)
		return NULL;
	PyObject *made = NULL;
	Py_buffer bytes;
	if (PyCallable_Check(values[0])) {
		source from = { .read = values[0] };
		made = run(state, context, &from);
	} else if (PyObject_GetBuffer(values[0], &bytes, PyBUF_SIMPLE) == 0) {
		source from = { .at = bytes.buf, .left = (size_t)bytes.len };
		made = run(state, context, &from);
		PyBuffer_Release(&bytes);
	}
	Py_DECREF((PyObject *)context);
	return made;
}

PyMethodDef cp_replay_functions[] = {
	{ "replay", CP_NAMED(replay),
		CP_DOC("replay($module, /, recording, context=None)",
			carom_replay_recording) " recording: bytes, or a callable read(count) that returns bytes, b'' at the end." },
	{ NULL, NULL, 0, NULL },
};
