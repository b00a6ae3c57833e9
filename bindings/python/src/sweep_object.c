// carom.Sweep: impacts of deforming meshes without a world (carom/sweep.h).
#include "binding.h"

#include <stdlib.h>

typedef struct cp_sweep {
	PyObject_HEAD carom_sweep *sweep;
	cp_context *context;
	cp_device *device; ///< that it runs on, or NULL
	cp_use use;
	cp_guard hits;
	int32_t *vertex_counts; ///< of each mesh
	int32_t mesh_count;
} cp_sweep;

static PyObject *sweep_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	carom_sweep_def def;
	PyObject *keep;
	cp_sweep *sweep = (cp_sweep *)cp_new_detector(type, args, keywords, CP_sweep_def, &def, offsetof(cp_sweep, context), &keep);
	if (!sweep)
		return NULL;
	sweep->device = cp_hold_device(keep);
	Py_XDECREF(keep);
	const carom_result result = carom_create_sweep(sweep->context->context, &def, &sweep->sweep);
	if (result == CAROM_SUCCESS)
		return (PyObject *)sweep;
	cp_raise(PyType_GetModuleState(type), sweep->context->context, result);
	Py_DECREF((PyObject *)sweep);
	return NULL;
}

static void sweep_dealloc(PyObject *self)
{
	cp_sweep *sweep = (cp_sweep *)self;
	carom_destroy_sweep(sweep->sweep);
	cp_let_device_go(sweep->device);
	free(sweep->vertex_counts);
	cp_free_detector(self, sweep->context);
}

static bool begin(cp_sweep *sweep)
{
	return cp_is_free(&sweep->hits, "hits of the sweep") && cp_begin_write(&sweep->use, "sweep");
}

static PyObject *end(cp_sweep *sweep, carom_result result, PyObject *value)
{
	sweep->hits.generation++;
	cp_end_write(&sweep->use);
	if (!result)
		return value;
	Py_XDECREF(value);
	return cp_raise(cp_state_of((PyObject *)sweep), sweep->context->context, result);
}

static PyObject *add_mesh(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_sweep *sweep = (cp_sweep *)self;
	carom_sweep_mesh_def def;
	cp_input vertices, triangles;
	PyObject *made = NULL;
	int32_t mesh;
	if (cp_open_scene_mesh(args, count, keywords, &def, &vertices, &triangles) && begin(sweep)) {
		int32_t *counts = realloc(sweep->vertex_counts, sizeof(*counts) * ((size_t)sweep->mesh_count + 1));
		if (counts)
			sweep->vertex_counts = counts;
		const carom_result result = counts ? carom_sweep_add_mesh(sweep->sweep, &def, &mesh) : CAROM_OUT_OF_MEMORY;
		if (!result)
			sweep->vertex_counts[sweep->mesh_count++] = def.vertex_count;
		made = end(sweep, result, result ? NULL : PyLong_FromLong(mesh));
	}
	cp_close_input(&vertices);
	cp_close_input(&triangles);
	return made;
}

/// The mesh and places of move_mesh and place_mesh.
static PyObject *put_mesh(PyObject *self, PyObject *const *args, Py_ssize_t count, const char *function,
	carom_result (*put)(carom_sweep *sweep, int32_t mesh, const carom_strided *vertices))
{
	cp_sweep *sweep = (cp_sweep *)self;
	int64_t mesh;
	cp_input input = { .name = NULL };
	carom_strided places;
	PyObject *made = NULL;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "%s takes the number of a mesh and places (%zd given)", function, count);
	if (!cp_get_int(args[0], "mesh", INT32_MIN, INT32_MAX, &mesh))
		return NULL;
	const bool known = mesh >= 0 && mesh < sweep->mesh_count; // else the library says so
	if (cp_open_input(&input, args[1], "vertices", 3) && (!known || cp_has_rows(&input, sweep->vertex_counts[mesh])) &&
		cp_as_strided(&input, &places) && begin(sweep))
		made = end(sweep, put(sweep->sweep, (int32_t)mesh, &places), Py_NewRef(Py_None));
	cp_close_input(&input);
	return made;
}

static PyObject *move_mesh(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	return put_mesh(self, args, count, "move_mesh", carom_sweep_move_mesh);
}

static PyObject *place_mesh(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	return put_mesh(self, args, count, "place_mesh", carom_sweep_place_mesh);
}

static PyObject *set_filter(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_sweep *sweep = (cp_sweep *)self;
	int32_t mesh;
	carom_sweep_mesh_def def;
	if (!cp_get_scene_filter(args, count, keywords, &mesh, &def) || !begin(sweep))
		return NULL;
	return end(sweep, carom_sweep_set_filter(sweep->sweep, mesh, def.category, def.mask, def.group), Py_NewRef(Py_None));
}

static PyObject *find(PyObject *self, PyObject *none)
{
	(void)none;
	cp_sweep *sweep = (cp_sweep *)self;
	if (!begin(sweep))
		return NULL;
	carom_sweep_hits hits;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_sweep_find(sweep->sweep, &hits);
	Py_END_ALLOW_THREADS PyObject *ended = end(sweep, result, Py_NewRef(Py_None));
	Py_XDECREF(ended);
	return ended ? cp_view_records(self, &sweep->hits, cp_state_of(self), CP_sweep_hit, hits.data, hits.count) : NULL;
}

static PyObject *find_earliest(PyObject *self, PyObject *none)
{
	(void)none;
	cp_sweep *sweep = (cp_sweep *)self;
	if (!begin(sweep))
		return NULL;
	carom_sweep_hit hit;
	bool found = false;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_sweep_find_earliest(sweep->sweep, &hit, &found);
	Py_END_ALLOW_THREADS PyObject *answer =
		!result && found ? cp_new_record(cp_state_of(self), CP_sweep_hit, &hit, NULL) : Py_NewRef(Py_None);
	return end(sweep, result, answer);
}

static PyObject *find_crossings(PyObject *self, PyObject *none)
{
	(void)none;
	cp_sweep *sweep = (cp_sweep *)self;
	if (!begin(sweep))
		return NULL;
	carom_sweep_crossings crossings;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_sweep_find_crossings(sweep->sweep, &crossings);
	Py_END_ALLOW_THREADS PyObject *ended = end(sweep, result, Py_NewRef(Py_None));
	Py_XDECREF(ended);
	return ended ? cp_view_records(self, &sweep->hits, cp_state_of(self), CP_sweep_crossing, crossings.data, crossings.count)
				 : NULL;
}

static PyObject *find_ways_apart(PyObject *self, PyObject *none)
{
	(void)none;
	cp_sweep *sweep = (cp_sweep *)self;
	if (!begin(sweep))
		return NULL;
	carom_sweep_ways_apart ways;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_sweep_find_ways_apart(sweep->sweep, &ways);
	Py_END_ALLOW_THREADS PyObject *ended = end(sweep, result, Py_NewRef(Py_None));
	Py_XDECREF(ended);
	return ended ? cp_view_records(self, &sweep->hits, cp_state_of(self), CP_sweep_way_apart, ways.data, ways.count) : NULL;
}

static PyObject *find_candidates(PyObject *self, PyObject *value)
{
	cp_sweep *sweep = (cp_sweep *)self;
	double distance;
	if (!cp_get_double(value, "distance", &distance) || !begin(sweep))
		return NULL;
	carom_sweep_candidates candidates;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_sweep_find_candidates(sweep->sweep, distance, &candidates);
	Py_END_ALLOW_THREADS PyObject *ended = end(sweep, result, Py_NewRef(Py_None));
	Py_XDECREF(ended);
	return ended ? cp_view_records(self, &sweep->hits, cp_state_of(self), CP_sweep_candidate, candidates.data, candidates.count)
				 : NULL;
}

static PyObject *advance(PyObject *self, PyObject *value)
{
	cp_sweep *sweep = (cp_sweep *)self;
	double time, used = 0;
	if (!cp_get_double(value, "time", &time) || !begin(sweep))
		return NULL;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_sweep_advance(sweep->sweep, time, &used);
	Py_END_ALLOW_THREADS return end(sweep, result, result ? NULL : PyFloat_FromDouble(used));
}

static PyObject *get_places(PyObject *self, PyObject *value)
{
	cp_sweep *sweep = (cp_sweep *)self;
	int64_t mesh;
	if (!cp_get_int(value, "mesh", INT32_MIN, INT32_MAX, &mesh) || !cp_begin_read(&sweep->use, "sweep"))
		return NULL;
	const bool known = mesh >= 0 && mesh < sweep->mesh_count;
	cp_array *places = cp_new_numbers(cp_state_of(self), CP_F64, known ? sweep->vertex_counts[mesh] : 1, 3);
	carom_result result = CAROM_SUCCESS;
	if (places)
		result = carom_sweep_get_places(sweep->sweep, (int32_t)mesh, (double *)(void *)places->data);
	cp_end_read(&sweep->use);
	if (!result)
		return (PyObject *)places;
	Py_DECREF((PyObject *)places);
	return cp_raise(cp_state_of(self), sweep->context->context, result);
}

static PyObject *get_stats(PyObject *self, void *none)
{
	(void)none;
	cp_sweep *sweep = (cp_sweep *)self;
	if (!cp_begin_read(&sweep->use, "sweep"))
		return NULL;
	const carom_sweep_stats stats = carom_sweep_get_stats(sweep->sweep);
	cp_end_read(&sweep->use);
	return cp_new_record(cp_state_of(self), CP_sweep_stats, &stats, NULL);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL
static PyMethodDef methods[] = {
	{ "add_mesh", CP_NAMED(add_mesh),
		CP_DOC(
			"add_mesh($self, /, vertices, triangles, self_collision=True, is_rigid=False, category=None, mask=None, group=0, thickness=0.0)",
			carom_sweep_add_mesh) },
	{ "move_mesh", FAST(move_mesh), CP_DOC("move_mesh($self, mesh, end, /)", carom_sweep_move_mesh) },
	{ "place_mesh", FAST(place_mesh), CP_DOC("place_mesh($self, mesh, vertices, /)", carom_sweep_place_mesh) },
	{ "set_filter", CP_NAMED(set_filter),
		CP_DOC("set_filter($self, /, mesh, category=None, mask=None, group=0)", carom_sweep_set_filter) },
	{ "find", find, METH_NOARGS, CP_DOC("find($self, /)", carom_sweep_find) },
	{ "find_earliest", find_earliest, METH_NOARGS, CP_DOC("find_earliest($self, /)", carom_sweep_find_earliest) },
	{ "find_crossings", find_crossings, METH_NOARGS, CP_DOC("find_crossings($self, /)", carom_sweep_find_crossings) },
	{ "find_ways_apart", find_ways_apart, METH_NOARGS, CP_DOC("find_ways_apart($self, /)", carom_sweep_find_ways_apart) },
	{ "find_candidates", find_candidates, METH_O, CP_DOC("find_candidates($self, distance, /)", carom_sweep_find_candidates) },
	{ "advance", advance, METH_O, CP_DOC("advance($self, time, /)", carom_sweep_advance) },
	{ "places", get_places, METH_O, CP_DOC("places($self, mesh, /)", carom_sweep_get_places) },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "stats", get_stats, NULL, DOC_carom_sweep_get_stats, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_new, (void *)sweep_new }, { Py_tp_dealloc, (void *)sweep_dealloc },
	{ Py_tp_methods, methods }, { Py_tp_getset, attributes },
	{ Py_tp_doc,
		"Sweep(settings=None, /, *, context=None, **keywords)\n--\n\nA swept scene: every impact of meshes that move, on the way between two "
		"instants. Settings are those of SweepDef, by name. find() gives a view; while it is exported, other calls raise BufferError." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom.Sweep", sizeof(cp_sweep), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots };

int cp_add_sweep(PyObject *module, cp_state *state)
{
	state->sweep_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
	return state->sweep_type ? PyModule_AddObjectRef(module, "Sweep", (PyObject *)state->sweep_type) : -1;
}
