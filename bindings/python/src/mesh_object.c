// carom.Mesh: made from arrays, heights, points, another mesh or saved bytes; immutable.
#include "binding.h"

#include <stdlib.h>

/// An object of a context that is being made; the context counts it.
PyObject *cp_new_mesh(cp_state *state, cp_context *context, carom_mesh *mesh)
{
	allocfunc function = (allocfunc)PyType_GetSlot(state->mesh_type, Py_tp_alloc);
	cp_mesh *made = (cp_mesh *)function(state->mesh_type, 0);
	if (!made) {
		carom_release_mesh(mesh);
		return NULL;
	}
	made->mesh = mesh;
	made->context = (cp_context *)Py_NewRef((PyObject *)context);
	context->children++;
	return (PyObject *)made;
}

PyObject *cp_share_mesh(cp_state *state, cp_context *context, const carom_mesh *mesh)
{
	return cp_new_mesh(state, context, carom_retain_mesh(mesh));
}

carom_mesh *cp_get_mesh(cp_state *state, PyObject *value, const char *name)
{
	if (value && Py_TYPE(value) == state->mesh_type)
		return ((cp_mesh *)value)->mesh;
	PyErr_Format(PyExc_TypeError, "%s is %R; it must be a Mesh", name, value ? value : Py_None);
	return NULL;
}

static void mesh_dealloc(PyObject *self)
{
	cp_mesh *mesh = (cp_mesh *)self;
	PyTypeObject *type = Py_TYPE(self);
	carom_release_mesh(mesh->mesh);
	if (mesh->context)
		mesh->context->children--;
	Py_XDECREF((PyObject *)mesh->context);
	freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
	function(self);
	Py_DECREF(type);
}

/// The outcome of a call that makes a mesh. Takes the reference to context.
static PyObject *finish(cp_state *state, cp_context *context, carom_result result, carom_mesh *mesh)
{
	PyObject *made = result == CAROM_SUCCESS ? cp_new_mesh(state, context, mesh) : cp_raise(state, context->context, result);
	Py_DECREF((PyObject *)context);
	return made;
}

// ---- From vertices and triangles ----

/// Arrays of a definition, open as long as the call.
typedef struct mesh_arrays {
	cp_input vertices, triangles, materials;
} mesh_arrays;

static const char *const mesh_arguments[] = { "vertices", "triangles", "materials", "sides", "build", "grid_resolution",
	"weld_distance", "centre", "context", NULL };

static void close_arrays(mesh_arrays *arrays)
{
	cp_close_input(&arrays->vertices);
	cp_close_input(&arrays->triangles);
	cp_close_input(&arrays->materials);
}

static bool take_arrays(PyObject **values, carom_mesh_def *def, mesh_arrays *arrays)
{
	*arrays = (mesh_arrays){ .vertices = { .name = NULL } };
	if (!cp_open_input(&arrays->vertices, values[0], "vertices", 3) || !cp_as_strided(&arrays->vertices, &def->vertices) ||
		!cp_open_input(&arrays->triangles, values[1], "triangles", 3) || !(def->triangles = cp_as_int32(&arrays->triangles)))
		return false;
	if (arrays->vertices.rows > INT32_MAX || arrays->triangles.rows > INT32_MAX) {
		PyErr_SetString(PyExc_OverflowError, "a mesh has at most 2**31 - 1 vertices and triangles");
		return false;
	}
	def->vertex_count = (int32_t)arrays->vertices.rows;
	def->triangle_count = (int32_t)arrays->triangles.rows;
	if (!cp_is_given(values[2]))
		return true;
	return cp_open_input(&arrays->materials, values[2], "materials", 0) &&
		cp_has_rows(&arrays->materials, arrays->triangles.rows) && (def->materials = cp_as_uint32(&arrays->materials));
}

static bool take_choices(cp_state *state, PyObject **values, carom_mesh_def *def)
{
	int sides = def->sides, build = def->build;
	int64_t resolution = def->grid_resolution;
	if ((cp_is_given(values[3]) && !cp_get_enum(state, CP_mesh_sides, values[3], "sides", &sides)) ||
		(cp_is_given(values[4]) && !cp_get_enum(state, CP_mesh_build, values[4], "build", &build)) ||
		(cp_is_given(values[5]) && !cp_get_int(values[5], "grid_resolution", INT32_MIN, INT32_MAX, &resolution)) ||
		(cp_is_given(values[6]) && !cp_get_double(values[6], "weld_distance", &def->weld_distance)))
		return false;
	def->sides = (carom_mesh_sides)sides;
	def->build = (carom_mesh_build)build;
	def->grid_resolution = (int32_t)resolution;
	return true;
}

/// The centre of a mesh: three numbers, or "auto".
static bool take_centre(cp_state *state, PyObject *value, cp_context *context, carom_mesh_def *def)
{
	double place[3];
	if (!cp_is_given(value))
		return true;
	if (PyUnicode_Check(value)) {
		if (PyUnicode_CompareWithASCIIString(value, "auto") != 0) {
			PyErr_Format(PyExc_ValueError, "centre is %R; it must be three numbers or 'auto'", value);
			return false;
		}
		const carom_result result = carom_find_mesh_centre(context->context, &def->vertices, def->vertex_count, &def->centre);
		if (result != CAROM_SUCCESS)
			cp_raise(state, context->context, result);
		return result == CAROM_SUCCESS;
	}
	if (!cp_get_numbers(value, "centre", 3, place))
		return false;
	def->centre = (carom_vec3){ place[0], place[1], place[2] };
	return true;
}

/// The context of a mesh, which finds its centre. A new reference, or NULL.
static cp_context *use_context(cp_state *state, PyObject **values, carom_mesh_def *def)
{
	cp_context *context = cp_use_context(state, values[8]);
	if (!context || take_centre(state, values[7], context, def))
		return context;
	Py_DECREF((PyObject *)context);
	return NULL;
}

/// Positional and named arguments of a call with a tuple and a dict, in the order of names.
static bool unpack(
	const char *function, PyObject *args, PyObject *keywords, const char *const *names, int required, PyObject **values)
{
	enum { MOST = 9 };
	PyObject *flat[2 * MOST], *key, *value;
	const Py_ssize_t count = PyTuple_Size(args), named = keywords ? PyDict_Size(keywords) : 0;
	if (count + named > 2 * MOST) {
		PyErr_Format(PyExc_TypeError, "%s got too many arguments", function);
		return false;
	}
	for (Py_ssize_t i = 0; i < count; i++)
		flat[i] = PyTuple_GetItem(args, i);
	PyObject *keys = named ? PyTuple_New(named) : NULL;
	Py_ssize_t at = 0;
	for (Py_ssize_t i = 0; keys && PyDict_Next(keywords, &at, &key, &value); i++) {
		PyTuple_SetItem(keys, i, Py_NewRef(key));
		flat[count + i] = value;
	}
	const bool good = (keys || !named) && cp_arguments(function, flat, count, keys, names, required, values);
	Py_XDECREF(keys);
	return good;
}

static PyObject *mesh_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	cp_state *state = PyType_GetModuleState(type);
	PyObject *values[9];
	carom_mesh_def def = carom_default_mesh_def();
	mesh_arrays arrays = { .vertices = { .name = NULL } };
	cp_context *context = NULL;
	PyObject *made = NULL;
	if (unpack("Mesh", args, keywords, mesh_arguments, 2, values) && take_arrays(values, &def, &arrays) &&
		take_choices(state, values, &def) && (context = use_context(state, values, &def))) {
		carom_mesh *mesh;
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result = carom_create_mesh(context->context, &def, NULL, &mesh);
		Py_END_ALLOW_THREADS made = finish(state, context, result, mesh);
	}
	close_arrays(&arrays);
	return made;
}

/// check_mesh of the module: the report alone.
PyObject *cp_check_mesh(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	cp_state *state = PyModule_GetState(module);
	PyObject *values[9];
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh_report report;
	mesh_arrays arrays = { .vertices = { .name = NULL } };
	cp_context *context = NULL;
	PyObject *made = NULL;
	if (cp_arguments("check_mesh", args, count, keywords, mesh_arguments, 2, values) && take_arrays(values, &def, &arrays) &&
		take_choices(state, values, &def) && (context = use_context(state, values, &def))) {
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result = carom_check_mesh(context->context, &def, &report);
		Py_END_ALLOW_THREADS made =
			result ? cp_raise(state, context->context, result) : cp_new_record(state, CP_mesh_report, &report, NULL);
		Py_DECREF((PyObject *)context);
	}
	close_arrays(&arrays);
	return made;
}

// ---- From others ----

static PyObject *mesh_height_field(PyObject *type, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "heights", "spacing", "thickness", "context", NULL };
	cp_state *state = PyType_GetModuleState((PyTypeObject *)type);
	PyObject *values[4], *made = NULL;
	cp_input heights = { 0 };
	double spacing[2], thickness;
	const float *floats = NULL;
	cp_context *context = NULL;
	if (cp_arguments("height_field", args, count, keywords, names, 3, values) &&
		cp_open_rows(&heights, values[0], "heights", 1, INT32_MAX) && (floats = cp_as_floats(&heights)) &&
		cp_get_numbers(values[1], "spacing", 2, spacing) && cp_get_double(values[2], "thickness", &thickness) &&
		(context = cp_use_context(state, values[3]))) {
		carom_mesh *mesh;
		carom_result result;
		const int32_t columns = (int32_t)heights.columns, rows = heights.rows > INT32_MAX ? -1 : (int32_t)heights.rows;
		Py_BEGIN_ALLOW_THREADS result =
			carom_create_height_field(context->context, columns, rows, floats, spacing, thickness, &mesh);
		Py_END_ALLOW_THREADS made = finish(state, context, result, mesh);
	}
	cp_close_input(&heights);
	return made;
}

static PyObject *mesh_hull(PyObject *type, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "points", "context", NULL };
	cp_state *state = PyType_GetModuleState((PyTypeObject *)type);
	PyObject *values[2], *made = NULL;
	cp_input points = { 0 };
	carom_strided strided;
	cp_context *context = NULL;
	if (cp_arguments("hull", args, count, keywords, names, 1, values) && cp_open_input(&points, values[0], "points", 3) &&
		cp_as_strided(&points, &strided) && (context = cp_use_context(state, values[1]))) {
		carom_mesh *mesh;
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result =
			carom_create_hull(context->context, &strided, points.rows > INT32_MAX ? -1 : (int32_t)points.rows, &mesh);
		Py_END_ALLOW_THREADS made = finish(state, context, result, mesh);
	}
	cp_close_input(&points);
	return made;
}

static PyObject *mesh_scaled(PyObject *self, PyObject *value)
{
	cp_mesh *mesh = (cp_mesh *)self;
	double scale[3];
	if (!cp_get_numbers(value, "scale", 3, scale))
		return NULL;
	carom_mesh *made;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_create_scaled_mesh(mesh->context->context, mesh->mesh, scale, &made);
	Py_END_ALLOW_THREADS return finish(cp_state_of(self), (cp_context *)Py_NewRef((PyObject *)mesh->context), result, made);
}

static PyObject *mesh_edited(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "heights", "first_column", "first_row", NULL };
	cp_mesh *mesh = (cp_mesh *)self;
	PyObject *values[3], *made = NULL;
	cp_input heights = { 0 };
	carom_field_region region;
	const float *floats = NULL;
	if (cp_arguments("edited", args, count, keywords, names, 3, values) && (floats = cp_open_region(&heights, values, &region))) {
		carom_mesh *edited;
		carom_result result;
		Py_BEGIN_ALLOW_THREADS result = carom_create_edited_field(mesh->context->context, mesh->mesh, &region, floats, &edited);
		Py_END_ALLOW_THREADS made =
			finish(cp_state_of(self), (cp_context *)Py_NewRef((PyObject *)mesh->context), result, edited);
	}
	cp_close_input(&heights);
	return made;
}

/// Materials of a mesh: None, a number for all, or an array.
static PyObject *mesh_painted(PyObject *self, PyObject *value)
{
	cp_mesh *mesh = (cp_mesh *)self;
	PyObject *made = NULL, *given = PyLong_Check(value) ? PyTuple_Pack(1, value) : Py_NewRef(value);
	cp_input materials = { 0 };
	const uint32_t *numbers = NULL;
	if (given &&
		(!cp_is_given(given) || (cp_open_input(&materials, given, "materials", 0) && (numbers = cp_as_uint32(&materials))))) {
		carom_mesh *painted;
		carom_result result;
		const int32_t count = materials.rows > INT32_MAX ? -1 : (int32_t)materials.rows;
		Py_BEGIN_ALLOW_THREADS result =
			carom_create_painted_mesh(mesh->context->context, mesh->mesh, numbers, numbers ? count : 0, &painted);
		Py_END_ALLOW_THREADS made =
			finish(cp_state_of(self), (cp_context *)Py_NewRef((PyObject *)mesh->context), result, painted);
	}
	cp_close_input(&materials);
	Py_XDECREF(given);
	return made;
}

// ---- Saved bytes ----

bool cp_write_bytes(const void *bytes, size_t count, void *user)
{
	const PyGILState_STATE gil = PyGILState_Ensure();
	*(PyObject **)user = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)count);
	const bool done = *(PyObject **)user != NULL;
	PyErr_Clear(); // the caller raises
	PyGILState_Release(gil);
	return done;
}

static PyObject *mesh_save(PyObject *self, PyObject *none)
{
	(void)none;
	cp_mesh *mesh = (cp_mesh *)self;
	PyObject *bytes = NULL;
	const carom_result result = carom_mesh_save(mesh->mesh, cp_write_bytes, &bytes);
	return result ? cp_raise(cp_state_of(self), mesh->context->context, result) : bytes;
}

static PyObject *mesh_load(PyObject *type, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "data", "context", NULL };
	cp_state *state = PyType_GetModuleState((PyTypeObject *)type);
	PyObject *values[2];
	Py_buffer bytes;
	cp_context *context =
		cp_arguments("load", args, count, keywords, names, 1, values) ? cp_use_context(state, values[1]) : NULL;
	if (!context)
		return NULL;
	if (PyObject_GetBuffer(values[0], &bytes, PyBUF_SIMPLE) < 0) {
		Py_DECREF((PyObject *)context);
		return NULL;
	}
	carom_mesh *mesh;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_mesh_load(context->context, bytes.buf, (size_t)bytes.len, true, &mesh);
	Py_END_ALLOW_THREADS PyBuffer_Release(&bytes);
	return finish(state, context, result, mesh);
}

static PyObject *mesh_reduce(PyObject *self, PyObject *none)
{
	PyObject *load = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "load");
	PyObject *bytes = load ? mesh_save(self, none) : NULL;
	PyObject *result = bytes ? Py_BuildValue("O(O)", load, bytes) : NULL;
	Py_XDECREF(bytes);
	Py_XDECREF(load);
	return result;
}

// ---- What it holds ----

static PyObject *get_report(PyObject *self, void *none)
{
	(void)none;
	return cp_new_record(cp_state_of(self), CP_mesh_report, carom_mesh_get_report(((cp_mesh *)self)->mesh), NULL);
}

static PyObject *get_vertices(PyObject *self, void *none)
{
	(void)none;
	carom_mesh *mesh = ((cp_mesh *)self)->mesh;
	return cp_view_numbers(
		self, NULL, cp_state_of(self), CP_F32, carom_mesh_get_vertices(mesh), carom_mesh_get_report(mesh)->vertex_count, 3);
}

static PyObject *get_triangles(PyObject *self, void *none)
{
	(void)none;
	carom_mesh *mesh = ((cp_mesh *)self)->mesh;
	return cp_view_numbers(
		self, NULL, cp_state_of(self), CP_I32, carom_mesh_get_triangles(mesh), carom_mesh_get_report(mesh)->triangle_count, 3);
}

static PyObject *get_doubles(PyObject *self, void *none)
{
	(void)none;
	carom_mesh *mesh = ((cp_mesh *)self)->mesh;
	const double *doubles = carom_mesh_get_doubles(mesh);
	if (!doubles)
		Py_RETURN_NONE;
	return cp_view_numbers(self, NULL, cp_state_of(self), CP_F64, doubles, carom_mesh_get_report(mesh)->vertex_count, 3);
}

static PyObject *get_centre(PyObject *self, void *none)
{
	(void)none;
	return cp_new_vec3(carom_mesh_get_centre(((cp_mesh *)self)->mesh));
}

static PyObject *get_sides(PyObject *self, void *none)
{
	(void)none;
	return cp_new_enum(cp_state_of(self), CP_mesh_sides, (int)carom_mesh_get_sides(((cp_mesh *)self)->mesh));
}

static PyObject *get_mass(PyObject *self, void *none)
{
	(void)none;
	cp_mesh *mesh = (cp_mesh *)self;
	carom_mass mass;
	const carom_result result = carom_mesh_get_mass(mesh->mesh, &mass);
	return result ? cp_raise(cp_state_of(self), mesh->context->context, result)
				  : cp_new_record(cp_state_of(self), CP_mass, &mass, NULL);
}

static PyObject *mesh_tree_info(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "with_epo", NULL };
	cp_mesh *mesh = (cp_mesh *)self;
	PyObject *value;
	bool with_epo = false;
	carom_tree_info info;
	if (!cp_arguments("tree_info", args, count, keywords, names, 0, &value) ||
		(value && !cp_get_bool(value, "with_epo", &with_epo)))
		return NULL;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_mesh_get_tree_info(mesh->mesh, with_epo, &info);
	Py_END_ALLOW_THREADS return result ? cp_raise(cp_state_of(self), mesh->context->context, result)
									   : cp_new_record(cp_state_of(self), CP_tree_info, &info, NULL);
}

static PyObject *mesh_material(PyObject *self, PyObject *value)
{
	cp_mesh *mesh = (cp_mesh *)self;
	int64_t triangle;
	uint32_t material;
	if (!cp_get_int(value, "triangle", INT32_MIN, INT32_MAX, &triangle))
		return NULL;
	const carom_result result = carom_mesh_get_material(mesh->mesh, (int32_t)triangle, &material);
	return result ? cp_raise(cp_state_of(self), mesh->context->context, result) : PyLong_FromUnsignedLong(material);
}

static PyObject *mesh_repr(PyObject *self)
{
	const carom_mesh_report *report = carom_mesh_get_report(((cp_mesh *)self)->mesh);
	return PyUnicode_FromFormat("<carom.Mesh: %d vertices, %d triangles, %s>", report->vertex_count, report->triangle_count,
		report->closed ? "closed" : "open");
}

static PyMethodDef methods[] = {
	{ "height_field", CP_NAMED(mesh_height_field) | METH_CLASS,
		CP_DOC("height_field($type, /, heights, spacing, thickness, context=None)", carom_create_height_field) },
	{ "hull", CP_NAMED(mesh_hull) | METH_CLASS, CP_DOC("hull($type, /, points, context=None)", carom_create_hull) },
	{ "load", CP_NAMED(mesh_load) | METH_CLASS, CP_DOC("load($type, /, data, context=None)", carom_mesh_load) },
	{ "save", mesh_save, METH_NOARGS, CP_DOC("save($self, /)", carom_mesh_save) },
	{ "scaled", mesh_scaled, METH_O, CP_DOC("scaled($self, scale, /)", carom_create_scaled_mesh) },
	{ "edited", CP_NAMED(mesh_edited), CP_DOC("edited($self, /, heights, first_column, first_row)", carom_create_edited_field) },
	{ "painted", mesh_painted, METH_O,
		CP_DOC("painted($self, materials, /)",
			carom_create_painted_mesh) " materials is a number for all, an array of one for each triangle (of a field two for each cell), or None." },
	{ "tree_info", CP_NAMED(mesh_tree_info), CP_DOC("tree_info($self, /, with_epo=False)", carom_mesh_get_tree_info) },
	{ "material", mesh_material, METH_O, CP_DOC("material($self, triangle, /)", carom_mesh_get_material) },
	{ "__reduce__", mesh_reduce, METH_NOARGS, "__reduce__($self, /)\n--\n\nFor pickle: the bytes of save()." },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "report", get_report, NULL, DOC_carom_mesh_get_report, NULL },
	{ "vertices", get_vertices, NULL, DOC_carom_mesh_get_vertices, NULL },
	{ "triangles", get_triangles, NULL, DOC_carom_mesh_get_triangles, NULL },
	{ "doubles", get_doubles, NULL, DOC_carom_mesh_get_doubles, NULL },
	{ "centre", get_centre, NULL, DOC_carom_mesh_get_centre, NULL },
	{ "sides", get_sides, NULL, DOC_carom_mesh_get_sides, NULL },
	{ "mass", get_mass, NULL, "Mass, centre and inertia at density 1. InvalidMesh where the mesh is open.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static const char mesh_doc[] =
	"Mesh(vertices, triangles, materials=None, sides='auto', build='sah', grid_resolution=-1, weld_distance=0, centre=None, context=None)\n--\n\nAn "
	"immutable triangle mesh with its trees. vertices (n, 3) of floats or doubles, triangles (m, 3) of integers, counter-clockwise seen from "
	"outside; materials (m). Vertices nearer to each other than weld_distance come to one place. The mesh lies about "
	"centre, three numbers or 'auto' (of vertices that lie far from their origin): make it a part at mesh.centre. Raises InvalidMesh where it cannot be used; check_mesh tells more.";

int cp_add_mesh(PyObject *module, cp_state *state)
{
	PyMethodDef *all = cp_join_methods(methods, cp_mesh_queries, NULL);
	PyType_Slot slots[] = { { Py_tp_new, (void *)mesh_new }, { Py_tp_dealloc, (void *)mesh_dealloc },
		{ Py_tp_repr, (void *)mesh_repr }, { Py_tp_methods, all }, { Py_tp_getset, attributes },
		{ Py_tp_doc, (void *)mesh_doc }, { 0, NULL } };
	PyType_Spec spec = { "carom.Mesh", sizeof(cp_mesh), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots };
	state->mesh_type = all ? (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL) : NULL;
	return state->mesh_type ? PyModule_AddObjectRef(module, "Mesh", (PyObject *)state->mesh_type) : -1;
}
