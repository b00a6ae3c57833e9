// carom.Context: memory, threads and error texts. The memory goes through a counter, so that a
// program can set a limit for all that a context holds.
#include "binding.h"

static void *allocate(size_t size, size_t alignment, void *user)
{
	cp_context *context = user;
	const uint64_t limit = atomic_load_explicit(&context->limit, memory_order_relaxed);
	const uint64_t used = atomic_fetch_add_explicit(&context->used, size, memory_order_relaxed) + size;
	void *memory = limit && used > limit ? NULL : context->next.allocate(size, alignment, context->next.user);
	if (!memory)
		atomic_fetch_sub_explicit(&context->used, size, memory_order_relaxed);
	return memory;
}

static void release(void *pointer, size_t size, size_t alignment, void *user)
{
	cp_context *context = user;
	context->next.release(pointer, size, alignment, context->next.user);
	atomic_fetch_sub_explicit(&context->used, size, memory_order_relaxed);
}

/// Messages go to the callable that the program gave. What that raises has nowhere to go but to
/// sys.unraisablehook.
static void log_message(carom_log_level level, const char *text, void *user)
{
	cp_context *context = user;
	const PyGILState_STATE gil = PyGILState_Ensure();
	if (context->log == Py_None) {
		PyGILState_Release(gil);
		return;
	}
	PyObject *type, *value, *trace;
	PyErr_Fetch(&type, &value, &trace); // of the call that is being served
	PyObject *result = PyObject_CallFunction(context->log, "is", (int)level, text);
	if (!result)
		PyErr_WriteUnraisable(context->log);
	Py_XDECREF(result);
	PyErr_Restore(type, value, trace);
	PyGILState_Release(gil);
}

/// Arguments of a context, all by name.
static bool take_settings(cp_state *state, PyObject *keywords, carom_context_def *def, cp_context *context)
{
	PyObject *name, *value;
	Py_ssize_t at = 0;
	int64_t number = 0;
	while (keywords && PyDict_Next(keywords, &at, &name, &value)) {
		int simd = 0;
		if (PyUnicode_CompareWithASCIIString(name, "thread_count") == 0) {
			if (!cp_get_int(value, "thread_count", INT32_MIN, INT32_MAX, &number))
				return false;
			def->thread_count = (int)number;
		} else if (PyUnicode_CompareWithASCIIString(name, "simd") == 0) {
			if (!cp_get_enum(state, CP_simd, value, "simd", &simd))
				return false;
			def->simd = (carom_simd)simd;
		} else if (PyUnicode_CompareWithASCIIString(name, "memory_limit") == 0) {
			if (!cp_get_int(value, "memory_limit", 0, INT64_MAX, &number))
				return false;
			context->limit = (uint64_t)number;
		} else if (PyUnicode_CompareWithASCIIString(name, "log") == 0) {
			context->log = value == Py_None ? NULL : Py_NewRef(value);
		} else {
			PyErr_Format(PyExc_TypeError, "Context has no %U", name);
			return false;
		}
	}
	return true;
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	cp_state *state = PyType_GetModuleState(type);
	if (PyTuple_Size(args) != 0)
		return PyErr_Format(PyExc_TypeError, "Context takes its settings by their names alone");
	allocfunc function = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	cp_context *context = (cp_context *)function(type, 0);
	carom_context_def def = carom_default_context_def();
	if (!context || !take_settings(state, keywords, &def, context)) {
		Py_XDECREF((PyObject *)context);
		return NULL;
	}
	context->next = carom_default_allocator();
	def.allocator = (carom_allocator){ allocate, release, context };
	if (context->log) {
		def.log = log_message;
		def.log_user = context;
	}
	const carom_result result = carom_create_context(&def, &context->context);
	if (result == CAROM_SUCCESS)
		return (PyObject *)context;
	cp_raise(state, NULL, result);
	Py_DECREF((PyObject *)context);
	return NULL;
}

cp_context *cp_use_context(cp_state *state, PyObject *value)
{
	if (!cp_is_given(value)) {
		if (!state->default_context)
			state->default_context = (cp_context *)PyObject_CallNoArgs((PyObject *)state->context_type);
		return (cp_context *)Py_XNewRef((PyObject *)state->default_context);
	}
	if (Py_TYPE(value) != state->context_type) {
		PyErr_Format(PyExc_TypeError, "context is %R; it must be a Context", value);
		return NULL;
	}
	if (!((cp_context *)value)->context) {
		PyErr_SetString(PyExc_ValueError, "the context is closed");
		return NULL;
	}
	return (cp_context *)Py_NewRef(value);
}

/// The log may refer to the context: the collector sees it.
static int context_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((cp_context *)self)->log);
	return 0;
}

/// The library's log falls silent.
static int context_clear(PyObject *self)
{
	cp_context *context = (cp_context *)self;
	PyObject *log = context->log;
	context->log = Py_NewRef(Py_None);
	Py_XDECREF(log);
	return 0;
}

static void context_dealloc(PyObject *self)
{
	cp_context *context = (cp_context *)self;
	PyTypeObject *type = Py_TYPE(self);
	PyObject_GC_UnTrack(self);
	carom_context *end = context->context;
	Py_BEGIN_ALLOW_THREADS // its threads end
		carom_destroy_context(end);
	Py_END_ALLOW_THREADS Py_XDECREF(context->log);
	freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
	function(self);
	Py_DECREF(type);
}

static PyObject *context_close(PyObject *self, PyObject *none)
{
	(void)none;
	cp_context *context = (cp_context *)self;
	if (context->children)
		return PyErr_Format(PyExc_ValueError, "%zd objects made from the context are still there", context->children);
	carom_destroy_context(context->context);
	context->context = NULL;
	Py_RETURN_NONE;
}

static PyObject *context_enter(PyObject *self, PyObject *none)
{
	(void)none;
	return Py_NewRef(self);
}

static PyObject *context_exit(PyObject *self, PyObject *args)
{
	(void)args;
	return context_close(self, NULL);
}

/// Is it open? Else false with an exception.
static bool is_open(PyObject *self)
{
	if (((cp_context *)self)->context)
		return true;
	PyErr_SetString(PyExc_ValueError, "the context is closed");
	return false;
}

static PyObject *get_in_use(PyObject *self, void *none)
{
	(void)none;
	return is_open(self) ? PyLong_FromSize_t(carom_memory_in_use(((cp_context *)self)->context)) : NULL;
}

static PyObject *get_peak(PyObject *self, void *none)
{
	(void)none;
	return is_open(self) ? PyLong_FromSize_t(carom_memory_peak(((cp_context *)self)->context)) : NULL;
}

static PyObject *get_simd(PyObject *self, void *none)
{
	(void)none;
	return is_open(self) ? cp_new_enum(cp_state_of(self), CP_simd, (int)carom_context_simd(((cp_context *)self)->context))
						 : NULL;
}

static PyObject *get_threads(PyObject *self, void *none)
{
	(void)none;
	return is_open(self) ? PyLong_FromLong(carom_context_threads(((cp_context *)self)->context)) : NULL;
}

static PyObject *get_limit(PyObject *self, void *none)
{
	(void)none;
	return PyLong_FromUnsignedLongLong(atomic_load(&((cp_context *)self)->limit));
}

static int set_limit(PyObject *self, PyObject *value, void *none)
{
	(void)none;
	int64_t limit;
	if (!value) {
		PyErr_SetString(PyExc_AttributeError, "memory_limit cannot be deleted");
		return -1;
	}
	if (!cp_get_int(value, "memory_limit", 0, INT64_MAX, &limit))
		return -1;
	atomic_store(&((cp_context *)self)->limit, (uint64_t)limit);
	return 0;
}

static PyObject *context_repr(PyObject *self)
{
	carom_context *context = ((cp_context *)self)->context;
	return context ? PyUnicode_FromFormat("<carom.Context: %d threads, %s, %zu bytes>", carom_context_threads(context),
						 carom_simd_name(carom_context_simd(context)), carom_memory_in_use(context))
				   : PyUnicode_FromString("<carom.Context: closed>");
}

static PyMethodDef methods[] = {
	{ "close", context_close, METH_NOARGS,
		"close($self, /)\n--\n\nGive its threads and memory back. ValueError while something made from it is there." },
	{ "__enter__", context_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nThe context itself." },
	{ "__exit__", context_exit, METH_VARARGS, "__exit__($self, /, *args)\n--\n\nclose()." },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "memory_in_use", get_in_use, NULL, DOC_carom_memory_in_use, NULL },
	{ "memory_peak", get_peak, NULL, "The most bytes that it ever held.", NULL },
	{ "memory_limit", get_limit, set_limit,
		"Most bytes that the context may hold; 0: no limit. A call that needs more raises OutOfMemory and changes nothing.",
		NULL },
	{ "simd", get_simd, NULL, "The instruction set in use, a Simd.", NULL },
	{ "thread_count", get_threads, NULL, DOC_carom_context_threads, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_new, (void *)context_new }, { Py_tp_dealloc, (void *)context_dealloc },
	{ Py_tp_traverse, (void *)context_traverse }, { Py_tp_clear, (void *)context_clear }, { Py_tp_repr, (void *)context_repr },
	{ Py_tp_methods, methods }, { Py_tp_getset, attributes },
	{ Py_tp_doc,
		"Context(*, thread_count=0, simd='auto', memory_limit=0, log=None)\n--\n\nMemory, threads and error texts of all that is made "
		"from it. Calls without a context use one that the module makes when it first needs it.\n\nthread_count: 0 is one for each "
		"core. simd: a Simd or its name; all give the same bits. memory_limit: most bytes, 0 is none. log: a callable that takes a "
		"LogLevel's number and a text." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom.Context", sizeof(cp_context), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, slots };

int cp_add_context(PyObject *module, cp_state *state)
{
	state->context_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
	return state->context_type ? PyModule_AddObjectRef(module, "Context", (PyObject *)state->context_type) : -1;
}
