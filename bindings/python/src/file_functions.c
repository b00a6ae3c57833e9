// Functions of carom.io: triangle meshes from and to files, by the readers and writers of io/.
#include "binding.h"

#include "bindings/foreign_absent.h"
#include "io/mesh_file.h"

#include <stdlib.h>

/// Numbers of C memory as an array of its own.
static PyObject *copy_numbers(cp_state *state, cp_kind kind, const void *data, size_t size, int64_t count, int columns)
{
	cp_array *array = cp_new_numbers(state, kind, count, columns);
	if (array && count > 0)
		memcpy(array->data, data, size * (size_t)count * (size_t)(columns ? columns : 1));
	return (PyObject *)array;
}

/// The names of materials 1, 2, ...
static PyObject *list_materials(const sim_mesh *mesh)
{
	PyObject *names = PyList_New(mesh->material_count);
	const char *name = mesh->material_names;
	for (int32_t i = 0; names && i < mesh->material_count; i++, name += strlen(name) + 1) {
		PyObject *text = PyUnicode_DecodeFSDefault(name);
		if (!text)
			Py_CLEAR(names);
		else
			PyList_SetItem(names, i, text);
	}
	return names;
}

static PyObject *describe(cp_state *state, const sim_mesh *mesh)
{
	const int32_t n = mesh->vertex_count;
	PyObject *vertices = mesh->doubles ? copy_numbers(state, CP_F64, mesh->doubles, sizeof(double), n, 3)
									   : copy_numbers(state, CP_F32, mesh->vertices, sizeof(float), n, 3);
	PyObject *triangles = copy_numbers(state, CP_I32, mesh->triangles, sizeof(int32_t), mesh->triangle_count, 3);
	PyObject *materials = mesh->materials
		? copy_numbers(state, CP_U32, mesh->materials, sizeof(uint32_t), mesh->triangle_count, 0)
		: Py_NewRef(Py_None);
	PyObject *names = list_materials(mesh);
	PyObject *baked = mesh->baked ? PyBytes_FromStringAndSize(mesh->baked, (Py_ssize_t)mesh->baked_size) : Py_NewRef(Py_None);
	PyObject *sides = cp_new_enum(state, CP_mesh_sides, mesh->sides);
	PyObject *all = NULL;
	if (vertices && triangles && materials && names && baked && sides)
		all = PyTuple_Pack(6, vertices, triangles, materials, names, sides, baked);
	Py_XDECREF(vertices);
	Py_XDECREF(triangles);
	Py_XDECREF(materials);
	Py_XDECREF(names);
	Py_XDECREF(baked);
	Py_XDECREF(sides);
	return all;
}

/// A failure of io/ with the path before it: OSError where the system said no, else InvalidMesh.
static PyObject *raise_file(cp_state *state, const char *path, const sim_error *error)
{
	static const char short_of_memory[] = "out of memory"; // behind a line, perhaps
	char text[SIM_ERROR_SIZE + 8];
	const size_t length = strlen(error->text), end = sizeof short_of_memory - 1;
	snprintf(text, sizeof text, "%s: %s", path, error->text);
	if (length >= end && strcmp(error->text + length - end, short_of_memory) == 0)
		return PyErr_NoMemory();
	if (strncmp(error->text, "cannot be ", 10) == 0 || strncmp(error->text, "cannot write", 12) == 0) {
		PyErr_SetString(PyExc_OSError, text);
		return NULL;
	}
	return cp_raise_text(state, CAROM_INVALID_MESH, text);
}

/// read_mesh_file(path, weld): see its text below.
static PyObject *read_mesh_file(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "path", "weld", NULL };
	cp_state *state = PyModule_GetState(module);
	PyObject *values[2], *path, *made = NULL;
	bool weld = false, good;
	sim_mesh mesh;
	sim_error error;
	if (!cp_arguments("read_mesh_file", args, count, keywords, names, 1, values) ||
		(cp_is_given(values[1]) && !cp_get_bool(values[1], "weld", &weld)) || !PyUnicode_FSConverter(values[0], &path))
		return NULL;
	const char *name = PyBytes_AsString(path);
	Py_BEGIN_ALLOW_THREADS good = io_load_mesh(name, &mesh, &error);
	if (good && weld && !io_weld_mesh(&mesh)) {
		sim_mesh_free(&mesh);
		good = sim_fail(&error, "out of memory");
	}
	Py_END_ALLOW_THREADS if (good)
	{
		made = describe(state, &mesh);
		sim_mesh_free(&mesh);
	}
	else if (strcmp(error.text, io_no_foreign_reader) == 0) made = Py_NewRef(Py_None);
	else raise_file(state, name, &error);
	Py_DECREF(path);
	return made;
}

/// The arrays as a mesh of io/: floats always, doubles where they were given. False with an
/// exception; the caller frees the mesh in both cases.
static bool take_mesh(cp_input *vertices, cp_input *triangles, sim_mesh *mesh)
{
	if (vertices->rows > INT32_MAX || triangles->rows > INT32_MAX) {
		PyErr_SetString(PyExc_OverflowError, "a mesh has at most 2**31 - 1 vertices and triangles");
		return false;
	}
	const double *doubles = cp_as_doubles(vertices);
	const int32_t *corners = doubles ? cp_as_int32(triangles) : NULL;
	if (!corners)
		return false;
	const size_t n = 3 * (size_t)vertices->rows, m = 3 * (size_t)triangles->rows;
	bool rounded = false;
	mesh->vertices = malloc((n ? n : 1) * sizeof(float));
	mesh->triangles = malloc((m ? m : 1) * sizeof(int32_t));
	if (!mesh->vertices || !mesh->triangles)
		return PyErr_NoMemory() != NULL;
	for (size_t i = 0; i < n; i++) {
		mesh->vertices[i] = (float)doubles[i];
		rounded |= (double)mesh->vertices[i] != doubles[i];
	}
	if (m)
		memcpy(mesh->triangles, corners, m * sizeof(int32_t));
	mesh->vertex_count = (int32_t)vertices->rows;
	mesh->triangle_count = (int32_t)triangles->rows;
	if (!rounded)
		return true;
	mesh->doubles = malloc(n * sizeof(double));
	if (!mesh->doubles)
		return PyErr_NoMemory() != NULL;
	memcpy(mesh->doubles, doubles, n * sizeof(double));
	return true;
}

static PyObject *write_mesh_file(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "path", "vertices", "triangles", NULL };
	cp_state *state = PyModule_GetState(module);
	PyObject *values[3], *path = NULL, *made = NULL;
	cp_input vertices = { .name = NULL }, triangles = { .name = NULL };
	sim_mesh mesh = { 0 };
	if (cp_arguments("write_mesh_file", args, count, keywords, names, 3, values) && PyUnicode_FSConverter(values[0], &path) &&
		cp_open_input(&vertices, values[1], "vertices", 3) && cp_open_input(&triangles, values[2], "triangles", 3) &&
		take_mesh(&vertices, &triangles, &mesh)) {
		const char *name = PyBytes_AsString(path);
		sim_error error;
		bool good;
		Py_BEGIN_ALLOW_THREADS good = io_save_mesh(name, &mesh, &error);
		Py_END_ALLOW_THREADS made = good ? Py_NewRef(Py_None) : raise_file(state, name, &error);
	}
	sim_mesh_free(&mesh);
	cp_close_input(&vertices);
	cp_close_input(&triangles);
	Py_XDECREF(path);
	return made;
}

PyMethodDef cp_file_functions[] = {
	{ "read_mesh_file", CP_NAMED(read_mesh_file),
		"read_mesh_file($module, /, path, weld=False)\n--\n\nFor carom.io: (vertices, triangles, materials, material names, "
		"sides, baked bytes) of an OBJ, PLY, STL, OFF or baked file; None for one of another format." },
	{ "write_mesh_file", CP_NAMED(write_mesh_file),
		"write_mesh_file($module, /, path, vertices, triangles)\n--\n\nFor carom.io: write .obj, .ply or .stl." },
	{ NULL, NULL, 0, NULL },
};
