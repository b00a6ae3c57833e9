// The module carom._carom: its parts, and how they start and end.
#include "binding.h"

#include <stdarg.h>

PyMethodDef *cp_join_methods(PyMethodDef *first, ...)
{
	PyMethodDef *all = NULL;
	size_t count = 0;
	va_list tables;
	va_start(tables, first);
	for (PyMethodDef *table = first; table; table = va_arg(tables, PyMethodDef *)) {
		size_t more = 0;
		while (table[more].ml_name)
			more++;
		PyMethodDef *larger = PyMem_Realloc(all, (count + more + 1) * sizeof(*all));
		if (!larger) {
			PyMem_Free(all);
			va_end(tables);
			return (void *)PyErr_NoMemory();
		}
		all = larger;
		memcpy(all + count, table, (more + 1) * sizeof(*all));
		count += more;
	}
	va_end(tables);
	return all;
}

PyGetSetDef *cp_join_attributes(PyGetSetDef *first, ...)
{
	PyGetSetDef *all = NULL;
	size_t count = 0;
	va_list tables;
	va_start(tables, first);
	for (PyGetSetDef *table = first; table; table = va_arg(tables, PyGetSetDef *)) {
		size_t more = 0;
		while (table[more].name)
			more++;
		PyGetSetDef *larger = PyMem_Realloc(all, (count + more + 1) * sizeof(*all));
		if (!larger) {
			PyMem_Free(all);
			va_end(tables);
			return (void *)PyErr_NoMemory();
		}
		all = larger;
		memcpy(all + count, table, (more + 1) * sizeof(*all));
		count += more;
	}
	va_end(tables);
	return all;
}

// ---- Functions ----

/// type(**members), for pickle.
static PyObject *make_record(PyObject *module, PyObject *args)
{
	(void)module;
	PyObject *type, *members;
	if (!PyArg_ParseTuple(args, "OO!", &type, &PyDict_Type, &members))
		return NULL;
	PyObject *none = PyTuple_New(0);
	PyObject *made = none ? PyObject_Call(type, none, members) : NULL;
	Py_XDECREF(none);
	return made;
}

/// (name, C name, size, [(member, offset, kind, count)]) of each struct, for the test that compares
/// them with the headers.
static PyObject *tables(PyObject *module, PyObject *none)
{
	(void)module;
	(void)none;
	PyObject *all = PyList_New(0);
	for (int i = 0; all && i < CP_LAYOUT_COUNT; i++) {
		const cp_layout *layout = &cp_layouts[i];
		PyObject *members = PyList_New(0);
		for (int k = 0; members && k < layout->count; k++) {
			const cp_member *member = &layout->members[k];
			PyObject *one = Py_BuildValue("(snii)", member->name, (Py_ssize_t)member->offset, (int)member->kind, member->count);
			if (!one || PyList_Append(members, one) < 0)
				Py_CLEAR(members);
			Py_XDECREF(one);
		}
		PyObject *row =
			members ? Py_BuildValue("(ssnN)", layout->name, layout->c_name, (Py_ssize_t)layout->size, members) : NULL;
		if (!row || PyList_Append(all, row) < 0)
			Py_CLEAR(all);
		Py_XDECREF(row);
	}
	return all;
}

static PyObject *default_context(PyObject *module, PyObject *none)
{
	(void)none;
	return (PyObject *)cp_use_context(PyModule_GetState(module), NULL);
}

static PyMethodDef functions[] = {
	{ "_make_record", make_record, METH_VARARGS, "_make_record($module, type, members, /)\n--\n\nFor pickle." },
	{ "_tables", tables, METH_NOARGS, "_tables($module, /)\n--\n\nThe structs of the headers, for a test." },
	{ "default_context", default_context, METH_NOARGS,
		"default_context($module, /)\n--\n\nThe context of all that is made without one. It has a thread for each core." },
	{ "check_mesh", CP_NAMED(cp_check_mesh),
		CP_DOC("check_mesh($module, /, vertices, triangles, materials=None, sides='auto', build='sah', grid_resolution=-1, "
			   "weld_distance=0, centre=None, context=None)",
			carom_check_mesh) },
	{ NULL, NULL, 0, NULL },
};

// ---- Start and end ----

static int add_constants(PyObject *module)
{
	const carom_version version = carom_get_version();
	char text[48];
	PyOS_snprintf(text, sizeof(text), "%d.%d.%d", version.major, version.minor, version.patch);
	PyObject *infinity = PyFloat_FromDouble(INFINITY);
	const int failed = !infinity || PyModule_AddStringConstant(module, "__version__", text) < 0 ||
		PyModule_AddObjectRef(module, "inf", infinity) < 0 ||
		PyModule_AddIntConstant(module, "MAX_SPHERES", CAROM_MAX_SPHERES) < 0 ||
		PyModule_AddIntConstant(module, "GRID_BY_SIZE", CAROM_GRID_BY_SIZE) < 0;
	Py_XDECREF(infinity);
	return failed ? -1 : 0;
}

static void free_api(PyObject *capsule) { PyMem_Free(PyCapsule_GetPointer(capsule, CP_API_NAME)); }

/// The state is there as long as the module, which whoever took the capsule holds.
static int add_api(PyObject *module)
{
	cp_api *api = PyMem_Malloc(sizeof(*api));
	if (!api) {
		PyErr_NoMemory();
		return -1;
	}
	*api = (cp_api){ sizeof(*api), CP_LAYOUT_COUNT, carom_get_version(), PyModule_GetState(module), cp_raise_text, cp_new_record,
		cp_new_enum, cp_new_numbers, cp_view_records, cp_view_numbers, cp_begin_read, cp_begin_write, cp_is_free };
	PyObject *capsule = PyCapsule_New(api, CP_API_NAME, free_api);
	if (!capsule)
		PyMem_Free(api);
	const int failed = capsule ? PyModule_AddObjectRef(module, "_api", capsule) : -1;
	Py_XDECREF(capsule);
	return failed;
}

static int start(PyObject *module)
{
	cp_state *state = PyModule_GetState(module);
	static PyMethodDef *all_functions;
	if (!all_functions &&
		!(all_functions = cp_join_methods(functions, cp_shape_functions, cp_shape_rays, cp_element_functions,
			  cp_replay_functions, cp_file_functions, cp_device_functions, NULL)))
		return -1;
	if (PyModule_AddFunctions(module, all_functions) < 0 || add_constants(module) < 0 || cp_add_errors(module, state) < 0 ||
		cp_add_records(module, state) < 0 || cp_add_array(module, state) < 0 || cp_add_context(module, state) < 0 ||
		cp_add_mesh(module, state) < 0 || cp_add_world(module, state) < 0 || cp_add_snapshot(module, state) < 0 ||
		cp_add_spheres(module, state) < 0 || cp_add_device(module, state) < 0 || cp_add_grains(module, state) < 0 ||
		cp_add_sweep(module, state) < 0 || cp_add_proximity(module, state) < 0 || add_api(module) < 0)
		return -1;
	return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
	cp_state *state = PyModule_GetState(module);
	PyTypeObject *const types[] = { state->array_type, state->context_type, state->mesh_type, state->world_type,
		state->snapshot_type, state->sweep_type, state->proximity_type, state->spheres_type, state->device_type,
		state->grains_type };
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		Py_VISIT(types[i]);
	for (int i = 0; i < CP_LAYOUT_COUNT; i++)
		Py_VISIT(state->records[i]);
	for (int i = 0; i < CP_ENUM_COUNT; i++)
		Py_VISIT(state->enums[i]);
	Py_VISIT(state->error);
	Py_VISIT(state->default_context);
	return 0;
}

static int clear(PyObject *module)
{
	cp_state *state = PyModule_GetState(module);
	Py_CLEAR(state->default_context);
	PyTypeObject **const types[] = { &state->array_type, &state->context_type, &state->mesh_type, &state->world_type,
		&state->snapshot_type, &state->sweep_type, &state->proximity_type, &state->spheres_type, &state->device_type,
		&state->grains_type };
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		Py_CLEAR(*types[i]);
	for (int i = 0; i < CP_LAYOUT_COUNT; i++) {
		Py_CLEAR(state->records[i]);
		Py_CLEAR(state->formats[i]);
		Py_CLEAR(state->dtypes[i]);
	}
	for (int i = 0; i < CP_ENUM_COUNT; i++) {
		Py_CLEAR(state->enums[i]);
		Py_CLEAR(state->enum_values[i]);
	}
	for (int i = 0; i <= CAROM_INVALID_RECORDING; i++)
		Py_CLEAR(state->errors[i]);
	Py_CLEAR(state->error);
	return 0;
}

static void end(void *module) { clear(module); }

static PyModuleDef_Slot slots[] = { { Py_mod_exec, (void *)start }, { 0, NULL } };
static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, "carom._carom", "Carom's C part.", sizeof(cp_state), NULL,
	slots, traverse, clear, end };

PyMODINIT_FUNC PyInit__carom(void) { return PyModuleDef_Init(&definition); }
