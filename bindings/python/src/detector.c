// What detectors share (carom.Spheres, Sweep, Proximity, Grains): how they are made with settings,
// a context and a device, how they end, and the meshes of swept and proximity scenes. A Device is
// made alike.
#include "binding.h"

/// Keywords without context, which goes to *context. NULL with an exception.
static PyObject *split_keywords(PyObject *keywords, PyObject **context)
{
	PyObject *rest = keywords ? PyDict_Copy(keywords) : PyDict_New();
	*context = rest ? PyDict_GetItemString(rest, "context") : NULL;
	if (*context) {
		*context = PyDict_GetItemString(keywords, "context"); // keywords holds it
		if (PyDict_DelItemString(rest, "context") < 0)
			Py_CLEAR(rest);
	}
	return rest;
}

/// The context of a detector: a new reference, or NULL with an exception.
static cp_context *choose_context(cp_state *state, PyObject *given, PyObject *keep)
{
	PyObject *value = keep ? PyDict_GetItemString(keep, "device") : NULL;
	if (!value)
		return cp_use_context(state, given);
	cp_device *device = cp_get_device(state, value, "device"); // it may have been closed since
	if (!device)
		return NULL;
	if (!cp_is_given(given) || given == (PyObject *)device->context)
		return (cp_context *)Py_NewRef((PyObject *)device->context);
	PyErr_SetString(PyExc_ValueError, "the device is of another context");
	return NULL;
}

PyObject *cp_new_detector(
	PyTypeObject *type, PyObject *args, PyObject *keywords, int layout, void *def, size_t context_offset, PyObject **keep)
{
	cp_state *state = PyType_GetModuleState(type);
	PyObject *given, *name, *value, *made = NULL;
	*keep = NULL;
	if (PyTuple_Size(args) > 1)
		return PyErr_Format(PyExc_TypeError, "it takes a %s, and settings by their names", cp_layouts[layout].name);
	PyObject *rest = split_keywords(keywords, &given);
	if (!rest)
		return NULL;
	bool good = cp_get_settings(
		state, layout, cp_layouts[layout].name, PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL, NULL, NULL, def, keep);
	Py_ssize_t at = 0;
	while (good && PyDict_Next(rest, &at, &name, &value))
		good = cp_set_named(state, layout, def, keep, name, value);
	cp_context *context = good ? choose_context(state, given, *keep) : NULL;
	if (context) {
		allocfunc function = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
		made = function(type, 0);
		if (made) {
			*(cp_context **)(void *)((char *)made + context_offset) = context;
			context->children++;
		} else {
			Py_DECREF((PyObject *)context);
		}
	}
	if (!made)
		Py_CLEAR(*keep);
	Py_DECREF(rest);
	return made;
}

void cp_free_detector(PyObject *self, cp_context *context)
{
	PyTypeObject *type = Py_TYPE(self);
	if (context)
		context->children--;
	Py_XDECREF((PyObject *)context);
	freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
	function(self);
	Py_DECREF(type);
}

static const char *const mesh_names[] = { "vertices", "triangles", "self_collision", "is_rigid", "category", "mask", "group",
	"thickness", NULL };

static bool take_choices(PyObject *const *values, carom_sweep_mesh_def *def)
{
	int64_t group = def->group;
	if ((values[2] && !cp_get_bool(values[2], "self_collision", &def->self)) ||
		(values[3] && !cp_get_bool(values[3], "is_rigid", &def->is_rigid)) ||
		(cp_is_given(values[4]) && !cp_get_u64(values[4], "category", &def->category)) ||
		(cp_is_given(values[5]) && !cp_get_u64(values[5], "mask", &def->mask)) ||
		(values[6] && !cp_get_int(values[6], "group", INT32_MIN, INT32_MAX, &group)) ||
		(values[7] && !cp_get_double(values[7], "thickness", &def->thickness)))
		return false;
	def->group = (int32_t)group;
	return true;
}

bool cp_open_scene_mesh(PyObject *const *args, Py_ssize_t count, PyObject *keywords, carom_sweep_mesh_def *def,
	cp_input *vertices, cp_input *triangles)
{
	PyObject *values[8];
	*def = carom_default_sweep_mesh_def();
	*vertices = *triangles = (cp_input){ .name = NULL };
	if (!cp_arguments("add_mesh", args, count, keywords, mesh_names, 2, values) || !take_choices(values, def) ||
		!cp_open_input(vertices, values[0], "vertices", 3) || !cp_as_strided(vertices, &def->vertices) ||
		!cp_open_input(triangles, values[1], "triangles", 3) || !(def->triangles = cp_as_int32(triangles)))
		return false;
	if (vertices->rows > INT32_MAX || triangles->rows > INT32_MAX) {
		PyErr_SetString(PyExc_OverflowError, "a mesh has at most 2**31 - 1 vertices and triangles");
		return false;
	}
	def->vertex_count = (int32_t)vertices->rows;
	def->triangle_count = (int32_t)triangles->rows;
	return true;
}

bool cp_get_scene_filter(PyObject *const *args, Py_ssize_t count, PyObject *keywords, int32_t *mesh, carom_sweep_mesh_def *def)
{
	static const char *const names[] = { "mesh", "category", "mask", "group", NULL };
	PyObject *values[4], *all[8] = { NULL };
	int64_t number;
	*def = carom_default_sweep_mesh_def();
	if (!cp_arguments("set_filter", args, count, keywords, names, 1, values) ||
		!cp_get_int(values[0], "mesh", INT32_MIN, INT32_MAX, &number))
		return false;
	for (int i = 1; i < 4; i++)
		all[3 + i] = values[i];
	*mesh = (int32_t)number;
	return take_choices(all, def);
}
