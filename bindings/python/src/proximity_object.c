// carom.Proximity: features of meshes that are near each other at one instant (carom/proximity.h).
#include "binding.h"

#include <stdlib.h>

typedef struct cp_proximity {
	PyObject_HEAD carom_proximity *proximity;
	cp_context *context;
	cp_device *device; ///< that it runs on, or NULL
	cp_use use;
	cp_guard found;
	int32_t *vertex_counts; ///< of each mesh
	int32_t mesh_count;
} cp_proximity;

static PyObject *proximity_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	carom_proximity_def def;
	PyObject *keep;
	cp_proximity *proximity =
		(cp_proximity *)cp_new_detector(type, args, keywords, CP_proximity_def, &def, offsetof(cp_proximity, context), &keep);
	if (!proximity)
		return NULL;
	proximity->device = cp_hold_device(keep);
	Py_XDECREF(keep);
	const carom_result result = carom_create_proximity(proximity->context->context, &def, &proximity->proximity);
	if (result == CAROM_SUCCESS)
		return (PyObject *)proximity;
	cp_raise(PyType_GetModuleState(type), proximity->context->context, result);
	Py_DECREF((PyObject *)proximity);
	return NULL;
}

static void proximity_dealloc(PyObject *self)
{
	cp_proximity *proximity = (cp_proximity *)self;
	carom_destroy_proximity(proximity->proximity);
	cp_let_device_go(proximity->device);
	free(proximity->vertex_counts);
	cp_free_detector(self, proximity->context);
}

static bool begin(cp_proximity *proximity)
{
	return cp_is_free(&proximity->found, "pairs of the scene") && cp_begin_write(&proximity->use, "scene");
}

static PyObject *end(cp_proximity *proximity, carom_result result, PyObject *value)
{
	proximity->found.generation++;
	cp_end_write(&proximity->use);
	if (!result)
		return value;
	Py_XDECREF(value);
	return cp_raise(cp_state_of((PyObject *)proximity), proximity->context->context, result);
}

// ---- Meshes and shapes ----

static PyObject *add_mesh(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_proximity *proximity = (cp_proximity *)self;
	carom_sweep_mesh_def def;
	cp_input vertices, triangles;
	PyObject *made = NULL;
	int32_t mesh;
	if (cp_open_scene_mesh(args, count, keywords, &def, &vertices, &triangles) && begin(proximity)) {
		int32_t *counts = realloc(proximity->vertex_counts, sizeof(*counts) * ((size_t)proximity->mesh_count + 1));
		if (counts)
			proximity->vertex_counts = counts;
		const carom_result result = counts ? carom_proximity_add_mesh(proximity->proximity, &def, &mesh) : CAROM_OUT_OF_MEMORY;
		if (!result)
			proximity->vertex_counts[proximity->mesh_count++] = def.vertex_count;
		made = end(proximity, result, result ? NULL : PyLong_FromLong(mesh));
	}
	cp_close_input(&vertices);
	cp_close_input(&triangles);
	return made;
}

static PyObject *place_mesh(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_proximity *proximity = (cp_proximity *)self;
	int64_t mesh;
	cp_input input = { .name = NULL };
	carom_strided places;
	PyObject *made = NULL;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "place_mesh takes the number of a mesh and places (%zd given)", count);
	if (!cp_get_int(args[0], "mesh", INT32_MIN, INT32_MAX, &mesh))
		return NULL;
	const bool known = mesh >= 0 && mesh < proximity->mesh_count; // else the library says so
	if (cp_open_input(&input, args[1], "vertices", 3) && (!known || cp_has_rows(&input, proximity->vertex_counts[mesh])) &&
		cp_as_strided(&input, &places) && begin(proximity))
		made = end(proximity, carom_proximity_place_mesh(proximity->proximity, (int32_t)mesh, &places), Py_NewRef(Py_None));
	cp_close_input(&input);
	return made;
}

static PyObject *set_filter(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_proximity *proximity = (cp_proximity *)self;
	int32_t mesh;
	carom_sweep_mesh_def def;
	if (!cp_get_scene_filter(args, count, keywords, &mesh, &def) || !begin(proximity))
		return NULL;
	return end(proximity, carom_proximity_set_filter(proximity->proximity, mesh, def.category, def.mask, def.group),
		Py_NewRef(Py_None));
}

static PyObject *add_shape(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_proximity *proximity = (cp_proximity *)self;
	carom_proximity_shape_def def;
	PyObject *keep = NULL, *made = NULL;
	int32_t shape;
	if (count > 1)
		return PyErr_Format(PyExc_TypeError, "add_shape takes a ProximityShapeDef, and members of it by their names");
	if (cp_get_settings(cp_state_of(self), CP_proximity_shape_def, "add_shape", count ? args[0] : NULL, args + count, keywords,
			&def, &keep) &&
		begin(proximity)) {
		const carom_result result = carom_proximity_add_shape(proximity->proximity, &def, &shape);
		made = end(proximity, result, result ? NULL : PyLong_FromLong(shape));
	}
	Py_XDECREF(keep);
	return made;
}

static PyObject *place_shape(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_proximity *proximity = (cp_proximity *)self;
	int64_t shape;
	carom_pose pose;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "place_shape takes the number of a shape and a pose (%zd given)", count);
	if (!cp_get_int(args[0], "shape", INT32_MIN, INT32_MAX, &shape) ||
		!cp_get_pose(cp_state_of(self), args[1], "pose", &pose) || !begin(proximity))
		return NULL;
	return end(proximity, carom_proximity_place_shape(proximity->proximity, (int32_t)shape, &pose), Py_NewRef(Py_None));
}

// ---- Searches ----

static PyObject *find(PyObject *self, PyObject *value)
{
	cp_proximity *proximity = (cp_proximity *)self;
	cp_state *state = cp_state_of(self);
	double distance;
	if (!cp_get_double(value, "distance", &distance) || !begin(proximity))
		return NULL;
	carom_proximity_view view;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_proximity_find(proximity->proximity, distance, &view);
	Py_END_ALLOW_THREADS PyObject *ended = end(proximity, result, Py_NewRef(Py_None));
	Py_XDECREF(ended);
	if (!ended)
		return NULL;
	PyObject *pairs = cp_view_records(self, &proximity->found, state, CP_proximity_pair, view.pairs, view.pair_count);
	PyObject *shapes = pairs
		? cp_view_records(self, &proximity->found, state, CP_proximity_shape_pair, view.shape_pairs, view.shape_pair_count)
		: NULL;
	PyObject *both = shapes ? PyTuple_Pack(2, pairs, shapes) : NULL;
	Py_XDECREF(pairs);
	Py_XDECREF(shapes);
	return both;
}

static PyObject *safe_displacements(PyObject *self, PyObject *value)
{
	cp_proximity *proximity = (cp_proximity *)self;
	int64_t mesh;
	if (!cp_get_int(value, "mesh", INT32_MIN, INT32_MAX, &mesh) || !cp_begin_write(&proximity->use, "scene"))
		return NULL;
	const bool known = mesh >= 0 && mesh < proximity->mesh_count;
	cp_array *lengths = cp_new_numbers(cp_state_of(self), CP_F64, known ? proximity->vertex_counts[mesh] : 1, 0);
	carom_result result = CAROM_SUCCESS;
	if (lengths) {
		Py_BEGIN_ALLOW_THREADS result =
			carom_proximity_get_safe_displacements(proximity->proximity, (int32_t)mesh, (double *)(void *)lengths->data);
		Py_END_ALLOW_THREADS
	}
	cp_end_write(&proximity->use);
	if (!result)
		return (PyObject *)lengths;
	Py_DECREF((PyObject *)lengths);
	return cp_raise(cp_state_of(self), proximity->context->context, result);
}

static PyObject *get_stats(PyObject *self, void *none)
{
	(void)none;
	cp_proximity *proximity = (cp_proximity *)self;
	if (!cp_begin_read(&proximity->use, "scene"))
		return NULL;
	const carom_sweep_stats stats = carom_proximity_get_stats(proximity->proximity);
	cp_end_read(&proximity->use);
	return cp_new_record(cp_state_of(self), CP_sweep_stats, &stats, NULL);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL
static PyMethodDef methods[] = {
	{ "add_mesh", CP_NAMED(add_mesh),
		CP_DOC("add_mesh($self, /, vertices, triangles, self_collision=True, is_rigid=False, category=None, mask=None, group=0, thickness=0.0)",
			carom_proximity_add_mesh) },
	{ "place_mesh", FAST(place_mesh), CP_DOC("place_mesh($self, mesh, vertices, /)", carom_proximity_place_mesh) },
	{ "set_filter", CP_NAMED(set_filter),
		CP_DOC("set_filter($self, /, mesh, category=None, mask=None, group=0)", carom_proximity_set_filter) },
	{ "add_shape", CP_NAMED(add_shape), CP_DOC("add_shape($self, definition=None, /, **members)", carom_proximity_add_shape) },
	{ "place_shape", FAST(place_shape), CP_DOC("place_shape($self, shape, pose, /)", carom_proximity_place_shape) },
	{ "find", find, METH_O, CP_DOC("find($self, distance, /)", carom_proximity_find) " (pairs, shape_pairs)." },
	{ "safe_displacements", safe_displacements, METH_O,
		CP_DOC("safe_displacements($self, mesh, /)", carom_proximity_get_safe_displacements) },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "stats", get_stats, NULL, DOC_carom_proximity_get_stats, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_new, (void *)proximity_new }, { Py_tp_dealloc, (void *)proximity_dealloc },
	{ Py_tp_methods, methods }, { Py_tp_getset, attributes },
	{ Py_tp_doc,
		"Proximity(settings=None, /, *, context=None, **keywords)\n--\n\nA scene of meshes and shapes in which all features nearer than a "
		"distance are found. Settings are those of ProximityDef, by name. find() gives views; while one is exported, calls that would "
		"replace them raise BufferError." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom.Proximity", sizeof(cp_proximity), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots };

int cp_add_proximity(PyObject *module, cp_state *state)
{
	state->proximity_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
	return state->proximity_type ? PyModule_AddObjectRef(module, "Proximity", (PyObject *)state->proximity_type) : -1;
}
