// Bodies of a world: adding, removing, places, shapes, filters, vertices, spheres.
#include "binding.h"

#include <stdlib.h>

/// A call that changes the world begins. False with an exception.
static bool begin(cp_world *world) { return cp_is_open(world) && cp_begin_write(&world->use, "world"); }

/// It ends: None, or an exception.
static PyObject *end(cp_world *world, carom_result result)
{
	cp_end_write(&world->use);
	return cp_end_call(world, result, Py_NewRef(Py_None));
}

/// A call that reads the world and does not let go of the GIL. False with an exception.
static bool may_read(cp_world *world)
{
	if (!cp_is_open(world) || !cp_begin_read(&world->use, "world"))
		return false;
	cp_end_read(&world->use);
	return true;
}

/// A call begins that puts other places, vertices or spheres where arrays may look. Converting an
/// argument may run code of the user's that closes the world or takes such an array: ask when all
/// are converted. False with an exception.
static bool may_replace_places(cp_world *world)
{
	return cp_is_open(world) && cp_is_free(&world->places, "places of the world") && begin(world);
}

// ---- Definitions ----

/// A definition with the arrays that it points to, as long as the call.
typedef struct body_arrays {
	carom_part *parts;
	cp_input centres, radii;
} body_arrays;

static void close_arrays(body_arrays *arrays)
{
	free(arrays->parts);
	cp_close_input(&arrays->centres);
	cp_close_input(&arrays->radii);
}

carom_part *cp_copy_parts(cp_state *state, PyObject *tuple, int32_t *count)
{
	*count = (int32_t)PyTuple_Size(tuple);
	carom_part *parts = malloc(sizeof(*parts) * (size_t)(*count + 1));
	if (!parts)
		return (void *)PyErr_NoMemory();
	for (int32_t i = 0; i < *count; i++)
		parts[i] = *(const carom_part *)cp_as_record(state, CP_part, PyTuple_GetItem(tuple, i));
	return parts;
}

/// Open the centres of the spheres of a body where they lie. Too many are refused before they are
/// converted. False with an exception.
static bool open_centres(cp_input *input, PyObject *value, carom_strided *centres)
{
	if (!cp_open_input(input, value, "centres", 3))
		return false;
	if (input->rows <= CAROM_MAX_SPHERES)
		return cp_as_strided(input, centres);
	PyErr_Format(PyExc_ValueError, "centres has %lld rows; the spheres of a body are %d at most", (long long)input->rows,
		CAROM_MAX_SPHERES);
	return false;
}

/// The arrays that a definition keeps as objects become its pointers. False with an exception.
static bool bind(cp_state *state, carom_body_def *def, PyObject *keep, body_arrays *arrays)
{
	PyObject *parts = keep ? PyDict_GetItemString(keep, "parts") : NULL;
	PyObject *centres = keep ? PyDict_GetItemString(keep, "centres") : NULL;
	PyObject *radii = keep ? PyDict_GetItemString(keep, "radii") : NULL;
	// An empty tuple is that of a body without parts, as get_body tells it.
	if (parts && PyTuple_Size(parts) > 0) {
		if (!(arrays->parts = cp_copy_parts(state, parts, &def->part_count)))
			return false;
		def->parts = arrays->parts;
	}
	if (centres) {
		if (!open_centres(&arrays->centres, centres, &def->centres))
			return false;
		def->sphere_count = (int32_t)arrays->centres.rows;
	}
	return !radii ||
		(cp_open_input(&arrays->radii, radii, "radii", 0) && cp_has_rows(&arrays->radii, arrays->centres.rows) &&
			cp_as_strided(&arrays->radii, &def->radii));
}

/// Add a body, under an id of the caller's unless that is NULL.
static PyObject *add(PyObject *self, const char *name, const carom_body_id *chosen, PyObject *const *args, Py_ssize_t count,
	PyObject *keywords)
{
	cp_world *world = (cp_world *)self;
	cp_state *state = cp_state_of(self);
	carom_body_def def;
	carom_body_id id = chosen ? *chosen : (carom_body_id){ 0, 0 };
	body_arrays arrays = { .parts = NULL };
	PyObject *keep = NULL, *made = NULL;
	if (cp_get_settings(state, CP_body_def, name, count ? args[0] : NULL, args + count, keywords, &def, &keep) &&
		bind(state, &def, keep, &arrays) && begin(world)) {
		const carom_result result = chosen ? carom_world_add_body_with_id(world->world, &def, id)
										   : carom_world_add_body(world->world, &def, &id);
		cp_end_write(&world->use);
		made = cp_end_call(world, result, result ? NULL : cp_new_id(id));
	}
	close_arrays(&arrays);
	Py_XDECREF(keep);
	return made;
}

static PyObject *add_body(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	if (count > 1)
		return PyErr_Format(PyExc_TypeError, "add_body takes a BodyDef, and members of it by their names");
	return add(self, "add_body", NULL, args, count, keywords);
}

static PyObject *add_body_with_id(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	carom_body_id id;
	if (count < 1 || count > 2)
		return PyErr_Format(PyExc_TypeError, "add_body_with_id takes an id, a BodyDef, and members of it by their names");
	return cp_get_id(args[0], &id) ? add(self, "add_body_with_id", &id, args + 1, count - 1, keywords) : NULL;
}

static PyObject *add_bodies(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	cp_state *state = cp_state_of(self);
	PyObject *all = PySequence_Tuple(value), *made = NULL;
	const Py_ssize_t count = all ? PyTuple_Size(all) : 0;
	carom_body_def *defs = calloc((size_t)count + 1, sizeof(*defs));
	body_arrays *arrays = calloc((size_t)count + 1, sizeof(*arrays));
	cp_array *ids = all ? cp_new_numbers(state, CP_U64, count, 0) : NULL;
	bool good = ids && defs && arrays;
	if (ids && !good)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; good && i < count; i++) {
		PyObject *record = PyTuple_GetItem(all, i);
		const carom_body_def *def = cp_as_record(state, CP_body_def, record);
		if (!def)
			PyErr_Format(PyExc_TypeError, "bodies[%zd] is %R; it must be a BodyDef", i, record);
		else
			defs[i] = *def;
		good = def && bind(state, &defs[i], ((cp_record *)record)->keep, &arrays[i]);
	}
	if (good && begin(world)) {
		const carom_result result = carom_world_add_bodies(world->world, (int)count, defs, (carom_body_id *)(void *)ids->data);
		cp_end_write(&world->use);
		made = cp_end_call(world, result, result ? NULL : Py_NewRef((PyObject *)ids));
	}
	for (Py_ssize_t i = 0; arrays && i < count; i++)
		close_arrays(&arrays[i]);
	free(arrays);
	free(defs);
	Py_XDECREF((PyObject *)ids);
	Py_XDECREF(all);
	return made;
}

static PyObject *remove_body(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	if (!cp_get_id(value, &id) || !cp_is_open(world) || !cp_is_free(&world->places, "places of the world") || !begin(world))
		return NULL;
	const carom_result result = carom_world_remove_body(world->world, id);
	if (result == CAROM_SUCCESS)
		world->places.generation++;
	return end(world, result);
}

static PyObject *remove_bodies(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	cp_input ids;
	PyObject *made = NULL;
	if (cp_open_input(&ids, value, "ids", 0) && cp_as_uint64(&ids) && cp_is_open(world) &&
		cp_is_free(&world->places, "places of the world") && begin(world)) {
		const carom_result result =
			carom_world_remove_bodies(world->world, (int)ids.rows, (const carom_body_id *)(const void *)ids.data);
		if (result == CAROM_SUCCESS)
			world->places.generation++;
		made = end(world, result);
	}
	cp_close_input(&ids);
	return made;
}

static PyObject *is_body(PyObject *self, PyObject *value)
{
	carom_body_id id;
	if (!cp_get_id(value, &id) || !may_read((cp_world *)self))
		return NULL;
	return PyBool_FromLong(carom_world_is_body(((cp_world *)self)->world, id));
}

static PyObject *body_ids(PyObject *self, PyObject *none)
{
	(void)none;
	cp_world *world = (cp_world *)self;
	if (!may_read(world))
		return NULL;
	const int count = carom_world_body_count(world->world);
	cp_array *ids = cp_new_numbers(cp_state_of(self), CP_U64, count, 0);
	if (ids)
		carom_world_body_ids(world->world, count, (carom_body_id *)(void *)ids->data);
	return (PyObject *)ids;
}

// ---- A body's definition ----

/// A Shape; its mesh becomes an object.
static PyObject *new_shape(cp_world *world, const carom_shape *shape)
{
	cp_state *state = cp_state_of((PyObject *)world);
	if (!shape->mesh)
		return cp_new_record(state, CP_shape, shape, NULL);
	PyObject *mesh = cp_share_mesh(state, world->context, shape->mesh);
	PyObject *keep = mesh ? Py_BuildValue("{sN}", "mesh", mesh) : NULL;
	PyObject *made = keep ? cp_new_record(state, CP_shape, shape, keep) : NULL;
	Py_XDECREF(keep);
	return made;
}

static PyObject *new_parts(cp_world *world, const carom_body_def *def)
{
	PyObject *parts = PyTuple_New(def->part_count);
	for (int32_t i = 0; parts && i < def->part_count; i++) {
		PyObject *shape = new_shape(world, &def->parts[i].shape);
		PyObject *keep = shape ? Py_BuildValue("{sN}", "shape", shape) : NULL;
		PyObject *part = keep ? cp_new_record(cp_state_of((PyObject *)world), CP_part, &def->parts[i], keep) : NULL;
		Py_XDECREF(keep);
		if (!part || PyTuple_SetItem(parts, i, part) < 0)
			Py_CLEAR(parts);
	}
	return parts;
}

/// One value each of the spheres of a definition, as an array of its own.
static PyObject *copy_strided(cp_state *state, const carom_strided *strided, int32_t count, int columns)
{
	cp_array *array = cp_new_numbers(state, CP_F64, count, columns == 1 ? 0 : columns);
	const int64_t size = strided->type == CAROM_FLOAT64 ? 8 : 4, stride = strided->stride ? strided->stride : size * columns;
	for (int64_t i = 0; array && i < (int64_t)count * columns; i++) {
		const char *at = (const char *)strided->data + i / columns * stride + i % columns * size;
		((double *)(void *)array->data)[i] = size == 8 ? *(const double *)at : (double)*(const float *)at;
	}
	return (PyObject *)array;
}

/// What a definition points to, as a dict that a record keeps.
static PyObject *keep_of(cp_world *world, const carom_body_def *def)
{
	cp_state *state = cp_state_of((PyObject *)world);
	PyObject *shape = new_shape(world, &def->shape), *parts = shape ? new_parts(world, def) : NULL;
	PyObject *keep = parts ? Py_BuildValue("{sOsO}", "shape", shape, "parts", parts) : NULL;
	if (keep && def->sphere_count > 0) {
		PyObject *centres = copy_strided(state, &def->centres, def->sphere_count, 3);
		PyObject *radii = centres ? copy_strided(state, &def->radii, def->sphere_count, 1) : NULL;
		if (!radii || PyDict_SetItemString(keep, "centres", centres) < 0 || PyDict_SetItemString(keep, "radii", radii) < 0)
			Py_CLEAR(keep);
		Py_XDECREF(centres);
		Py_XDECREF(radii);
	}
	Py_XDECREF(shape);
	Py_XDECREF(parts);
	return keep;
}

static PyObject *get_body(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_body_def def;
	if (!cp_get_id(value, &id) || !may_read(world))
		return NULL;
	const carom_result result = carom_world_get_body_def(world->world, id, &def);
	if (result)
		return cp_end_call(world, result, NULL);
	PyObject *keep = keep_of(world, &def);
	def.parts = NULL;
	def.part_count = def.sphere_count = 0;
	def.centres = def.radii = (carom_strided){ 0 };
	PyObject *record = keep ? cp_new_record(cp_state_of(self), CP_body_def, &def, keep) : NULL;
	Py_XDECREF(keep);
	return record;
}

// ---- Places ----

static PyObject *set_pose(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_pose pose;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "set_pose takes an id and a pose (%zd given)", count);
	if (!cp_get_id(args[0], &id) || !cp_get_pose(cp_state_of(self), args[1], "pose", &pose) || !begin(world))
		return NULL;
	return end(world, carom_world_set_pose(world->world, id, &pose));
}

static PyObject *get_pose(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_pose pose;
	if (!cp_get_id(value, &id) || !may_read(world))
		return NULL;
	const carom_result result = carom_world_get_pose(world->world, id, &pose);
	return result ? cp_end_call(world, result, NULL) : cp_new_record(cp_state_of(self), CP_pose, &pose, NULL);
}

/// ids and rows of numbers for each, of set_poses and set_motions.
static bool open_rows(
	cp_state *state, PyObject *const *args, Py_ssize_t count, const char *function, int columns, cp_input *ids, cp_input *rows)
{
	*ids = *rows = (cp_input){ 0 };
	if (count != 2) {
		PyErr_Format(PyExc_TypeError, "%s takes ids and an array (%zd arguments given)", function, count);
		return false;
	}
	return cp_open_input(ids, args[0], "ids", 0) && cp_as_uint64(ids) &&
		cp_open_places(state, rows, args[1], columns == 7 ? "poses" : "motions", columns) && cp_has_rows(rows, ids->rows) &&
		cp_has_rows(ids, ids->rows > INT32_MAX ? INT32_MAX : ids->rows);
}

static PyObject *set_poses(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	cp_input ids, poses;
	PyObject *made = NULL;
	if (open_rows(cp_state_of(self), args, count, "set_poses", 7, &ids, &poses) && begin(world))
		made = end(world,
			carom_world_set_poses(world->world, (int)ids.rows, (const carom_body_id *)(const void *)ids.data,
				(const carom_pose *)(const void *)poses.data));
	cp_close_input(&ids);
	cp_close_input(&poses);
	return made;
}

static PyObject *set_motions(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	cp_input ids, motions;
	PyObject *made = NULL;
	if (open_rows(cp_state_of(self), args, count, "set_motions", 14, &ids, &motions) && begin(world))
		made = end(world,
			carom_world_set_motions(world->world, (int)ids.rows, (const carom_body_id *)(const void *)ids.data,
				(const carom_motion *)(const void *)motions.data));
	cp_close_input(&ids);
	cp_close_input(&motions);
	return made;
}

static PyObject *get_poses(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	cp_input ids;
	PyObject *made = NULL;
	if (cp_open_input(&ids, value, "ids", 0) && cp_as_uint64(&ids) && may_read(world)) {
		cp_array *poses = cp_new_numbers(cp_state_of(self), CP_F64, ids.rows, 7);
		const carom_result result = poses
			? carom_world_get_poses(
				  world->world, (int)ids.rows, (const carom_body_id *)(const void *)ids.data, (carom_pose *)(void *)poses->data)
			: CAROM_SUCCESS;
		made = cp_end_call(world, result, (PyObject *)poses);
	}
	cp_close_input(&ids);
	return made;
}

static PyObject *set_asleep(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	cp_input ids = { 0 };
	PyObject *made = NULL;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "set_asleep takes ids and whether they sleep (%zd arguments given)", count);
	const int asleep = PyObject_IsTrue(args[1]);
	if (asleep >= 0 && cp_open_input(&ids, args[0], "ids", 0) && cp_as_uint64(&ids) &&
		cp_has_rows(&ids, ids.rows > INT32_MAX ? INT32_MAX : ids.rows) && begin(world))
		made = end(world,
			carom_world_set_asleep(world->world, (int)ids.rows, (const carom_body_id *)(const void *)ids.data, asleep > 0));
	cp_close_input(&ids);
	return made;
}

static PyObject *get_asleep(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	cp_input ids;
	PyObject *made = NULL;
	if (cp_open_input(&ids, value, "ids", 0) && cp_as_uint64(&ids) && may_read(world)) {
		cp_array *asleep = cp_new_numbers(cp_state_of(self), CP_BOOL, ids.rows, 0);
		const carom_result result = asleep ? carom_world_get_asleep(world->world, (int)ids.rows,
												 (const carom_body_id *)(const void *)ids.data, (bool *)(void *)asleep->data)
										   : CAROM_SUCCESS;
		made = cp_end_call(world, result, (PyObject *)asleep);
	}
	cp_close_input(&ids);
	return made;
}

static PyObject *shift_origin(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_vec3 offset;
	if (!cp_get_vec3(value, "offset", &offset) || !begin(world))
		return NULL;
	return end(world, carom_world_shift_origin(world->world, (const double[3]){ offset.x, offset.y, offset.z }));
}

static PyObject *get_aabb(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_aabb box;
	if (!cp_get_id(value, &id) || !may_read(world))
		return NULL;
	const carom_result result = carom_world_get_aabb(world->world, id, &box);
	return result ? cp_end_call(world, result, NULL) : cp_new_record(cp_state_of(self), CP_aabb, &box, NULL);
}

// ---- Numbers, filters, shapes ----

static PyObject *get_user_data(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	uint64_t number;
	if (!cp_get_id(value, &id) || !may_read(world))
		return NULL;
	const carom_result result = carom_world_get_user_data(world->world, id, &number);
	return result ? cp_end_call(world, result, NULL) : PyLong_FromUnsignedLongLong(number);
}

static PyObject *set_user_data(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	uint64_t number;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "set_user_data takes an id and a number (%zd given)", count);
	if (!cp_get_id(args[0], &id) || !cp_get_u64(args[1], "user_data", &number) || !begin(world))
		return NULL;
	return end(world, carom_world_set_user_data(world->world, id, number));
}

static bool take_part(PyObject *const *args, carom_body_id *id, int64_t *part)
{
	return cp_get_id(args[0], id) && cp_get_int(args[1], "part", INT32_MIN, INT32_MAX, part);
}

static PyObject *get_part_data(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	int64_t part;
	uint64_t number;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "get_part_data takes an id and a part (%zd given)", count);
	// A step waits for a contact filter, which may ask.
	if (!take_part(args, &id, &part) || !cp_is_open(world) || !(world->asking > 0 || may_read(world)))
		return NULL;
	const carom_result result = carom_world_get_part_data(world->world, id, (int32_t)part, &number);
	return result ? cp_raise(cp_state_of(self), world->context->context, result) : PyLong_FromUnsignedLongLong(number);
}

static PyObject *set_part_data(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	int64_t part;
	uint64_t number;
	if (count != 3)
		return PyErr_Format(PyExc_TypeError, "set_part_data takes an id, a part and a number (%zd given)", count);
	if (!take_part(args, &id, &part) || !cp_get_u64(args[2], "user_data", &number) || !begin(world))
		return NULL;
	return end(world, carom_world_set_part_data(world->world, id, (int32_t)part, number));
}

static PyObject *get_filter(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	uint64_t category, mask;
	int32_t group;
	if (!cp_get_id(value, &id) || !may_read(world))
		return NULL;
	const carom_result result = carom_world_get_filter(world->world, id, &category, &mask, &group);
	return result ? cp_end_call(world, result, NULL)
				  : Py_BuildValue("(KKi)", (unsigned long long)category, (unsigned long long)mask, (int)group);
}

static PyObject *set_filter(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "category", "mask", "group", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[4];
	carom_body_id id;
	uint64_t category, mask;
	int32_t old_group;
	int64_t group;
	if (!cp_arguments("set_filter", args, count, keywords, names, 1, values) || !cp_get_id(values[0], &id) || !begin(world))
		return NULL;
	const carom_result result = carom_world_get_filter(world->world, id, &category, &mask, &old_group);
	group = old_group; // arguments that are not given stay as they were
	if (result == CAROM_SUCCESS &&
		((cp_is_given(values[1]) && !cp_get_u64(values[1], "category", &category)) ||
			(cp_is_given(values[2]) && !cp_get_u64(values[2], "mask", &mask)) ||
			(cp_is_given(values[3]) && !cp_get_int(values[3], "group", INT32_MIN, INT32_MAX, &group)))) {
		cp_end_write(&world->use);
		return NULL;
	}
	return end(world, result ? result : carom_world_set_filter(world->world, id, category, mask, (int32_t)group));
}

/// Members of the definition that are given. False with an exception.
static bool take_traits(cp_state *state, carom_body_def *def, const char *const *names, PyObject **values)
{
	PyObject *keep = NULL;
	bool good = true;
	for (int i = 0; good && names[i]; i++) {
		PyObject *name = cp_is_given(values[i]) ? PyUnicode_FromString(names[i]) : NULL;
		good = !cp_is_given(values[i]) || (name && cp_set_named(state, CP_body_def, (char *)def, &keep, name, values[i]));
		Py_XDECREF(name);
	}
	Py_XDECREF(keep);
	return good;
}

static PyObject *set_traits(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "kind", "sensor", "self_collision", "continuous", "contacts", "shape_impacts",
		"thickness", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[8];
	carom_body_id id;
	carom_body_def def;
	if (!cp_arguments("set_traits", args, count, keywords, names, 1, values) || !cp_get_id(values[0], &id) || !begin(world))
		return NULL;
	const carom_result result = carom_world_get_body_def(world->world, id, &def);
	if (result == CAROM_SUCCESS && !take_traits(cp_state_of(self), &def, names + 1, values + 1)) {
		cp_end_write(&world->use);
		return NULL;
	}
	return end(world, result ? result : carom_world_set_traits(world->world, id, &def));
}

static PyObject *set_shape(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_shape shape;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "set_shape takes an id and a shape (%zd given)", count);
	if (!cp_get_id(args[0], &id) || !cp_get_shape(cp_state_of(self), args[1], "shape", &shape) || !begin(world))
		return NULL;
	return end(world, carom_world_set_shape(world->world, id, &shape));
}

static PyObject *edit_field(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "heights", "first_column", "first_row", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[4], *done = NULL;
	carom_body_id id;
	cp_input heights = { 0 };
	carom_field_region region;
	const float *floats = NULL;
	if (cp_arguments("edit_field", args, count, keywords, names, 4, values) && cp_get_id(values[0], &id) &&
		(floats = cp_open_region(&heights, values + 1, &region)) && begin(world))
		done = end(world, carom_world_edit_field(world->world, id, &region, floats));
	cp_close_input(&heights);
	return done;
}

/// The region of cells that has two materials for each.
static const uint32_t *open_cells(cp_input *materials, PyObject *const values[3], carom_field_region *region)
{
	int64_t column, row;
	const uint32_t *numbers = NULL;
	if (!cp_open_rows(materials, values[0], "materials", 1, INT32_MAX) || !(numbers = cp_as_uint32(materials)) ||
		!cp_get_int(values[1], "first_column", INT32_MIN, INT32_MAX, &column) ||
		!cp_get_int(values[2], "first_row", INT32_MIN, INT32_MAX, &row))
		return NULL;
	if (materials->columns % 2 != 0) {
		PyErr_Format(
			PyExc_ValueError, "materials has %lld columns; it must have two for each cell", (long long)materials->columns);
		return NULL;
	}
	*region = (carom_field_region){ (int32_t)column, (int32_t)row, (int32_t)(materials->columns / 2),
		materials->rows > INT32_MAX ? -1 : (int32_t)materials->rows };
	return numbers;
}

static PyObject *paint_field(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "materials", "first_column", "first_row", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[4], *done = NULL;
	carom_body_id id;
	cp_input materials = { 0 };
	carom_field_region region;
	const uint32_t *numbers = NULL;
	if (cp_arguments("paint_field", args, count, keywords, names, 4, values) && cp_get_id(values[0], &id) &&
		(numbers = open_cells(&materials, values + 1, &region)) && begin(world))
		done = end(world, carom_world_paint_field(world->world, id, &region, numbers));
	cp_close_input(&materials);
	return done;
}

static PyObject *set_parts(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	cp_state *state = cp_state_of(self);
	carom_body_id id;
	carom_body_def def;
	body_arrays arrays = { .parts = NULL };
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "set_parts takes an id and parts (%zd given)", count);
	PyObject *name = PyUnicode_FromString("parts"), *keep = NULL, *made = NULL;
	cp_layouts[CP_body_def].start(&def);
	if (name && cp_get_id(args[0], &id) && cp_set_named(state, CP_body_def, (char *)&def, &keep, name, args[1]) &&
		bind(state, &def, keep, &arrays) && begin(world))
		made = end(world, carom_world_set_parts(world->world, id, def.parts, def.part_count));
	close_arrays(&arrays);
	Py_XDECREF(keep);
	Py_XDECREF(name);
	return made;
}

// ---- Deforming and granular bodies ----

/// One place for each vertex of the body. False with an exception.
static bool open_places(
	cp_world *world, carom_body_id id, PyObject *value, const char *name, cp_input *input, carom_strided *strided)
{
	carom_vertex_view view;
	const carom_result result = carom_world_get_vertices(world->world, id, &view);
	if (result) {
		cp_end_call(world, result, NULL);
		return false;
	}
	return cp_open_input(input, value, name, 3) && cp_has_rows(input, view.count) && cp_as_strided(input, strided);
}

static PyObject *set_vertices(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "end", "begin", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[3], *made = NULL;
	carom_body_id id;
	cp_input inputs[2] = { { .name = NULL }, { .name = NULL } };
	carom_strided places[2];
	if (!cp_arguments("set_vertices", args, count, keywords, names, 1, values) || !cp_get_id(values[0], &id) || !begin(world))
		return NULL;
	const bool ends = cp_is_given(values[1]), begins = cp_is_given(values[2]);
	if ((!ends || open_places(world, id, values[1], "end", &inputs[0], &places[0])) &&
		(!begins || open_places(world, id, values[2], "begin", &inputs[1], &places[1])))
		made =
			cp_end_call(world, carom_world_set_vertices(world->world, id, begins ? &places[1] : NULL, ends ? &places[0] : NULL),
				Py_NewRef(Py_None));
	cp_end_write(&world->use);
	cp_close_input(&inputs[0]);
	cp_close_input(&inputs[1]);
	return made;
}

static PyObject *get_vertices(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_vertex_view view;
	if (!cp_get_id(value, &id) || !may_read(world))
		return NULL;
	const carom_result result = carom_world_get_vertices(world->world, id, &view);
	return result ? cp_end_call(world, result, NULL)
				  : cp_view_numbers(self, &world->places, cp_state_of(self), CP_F64, view.data, view.count, 3);
}

static PyObject *get_enclosed(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_enclosed enclosed;
	if (!cp_get_id(value, &id) || !may_read(world))
		return NULL;
	const carom_result result = carom_world_get_enclosed(world->world, id, &enclosed);
	return result ? cp_end_call(world, result, NULL) : cp_new_record(cp_state_of(self), CP_enclosed, &enclosed, NULL);
}

static PyObject *set_mesh(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "mesh", "origin", "places", NULL };
	cp_world *world = (cp_world *)self;
	PyObject *values[4], *made = NULL;
	carom_body_id id;
	carom_mesh *mesh;
	cp_input from = { 0 }, places = { 0 };
	carom_strided strided;
	if (!cp_arguments("set_mesh", args, count, keywords, names, 2, values) || !cp_get_id(values[0], &id) ||
		!(mesh = cp_get_mesh(cp_state_of(self), values[1], "mesh")))
		return NULL;
	const int32_t vertices = carom_mesh_get_report(mesh)->vertex_count;
	if ((!cp_is_given(values[2]) ||
			(cp_open_input(&from, values[2], "origin", 0) && cp_has_rows(&from, vertices) && cp_as_int32(&from))) &&
		(!cp_is_given(values[3]) ||
			(cp_open_input(&places, values[3], "places", 3) && cp_has_rows(&places, vertices) &&
				cp_as_strided(&places, &strided))) &&
		may_replace_places(world)) {
		world->places.generation++;
		made = end(world,
			carom_world_set_mesh(world->world, id, mesh, from.name ? (const int32_t *)(const void *)from.data : NULL,
				places.name ? &strided : NULL));
	}
	cp_close_input(&from);
	cp_close_input(&places);
	return made;
}

/// Open the centres, radii (or none) and ids (by_id) of spheres, and set them.
static PyObject *change_spheres(cp_world *world, PyObject *const values[4], bool by_id)
{
	PyObject *made = NULL;
	carom_body_id id;
	cp_input inputs[3] = { 0 }; // centres, radii, ids
	carom_strided strided[2];
	const uint64_t *ids = NULL;
	if (!cp_get_id(values[0], &id))
		return NULL;
	const bool sized = cp_is_given(values[2]);
	if (open_centres(&inputs[0], values[1], &strided[0]) &&
		(!sized ||
			(cp_open_input(&inputs[1], values[2], "radii", 0) && cp_has_rows(&inputs[1], inputs[0].rows) &&
				cp_as_strided(&inputs[1], &strided[1]))) &&
		(!by_id ||
			(cp_open_input(&inputs[2], values[3], "ids", 0) && cp_has_rows(&inputs[2], inputs[0].rows) &&
				(ids = cp_as_uint64(&inputs[2])) != NULL)) &&
		may_replace_places(world)) {
		const int32_t count = (int32_t)inputs[0].rows;
		const carom_strided *radii = sized ? &strided[1] : NULL;
		world->places.generation++;
		made = end(world,
			by_id ? carom_world_set_spheres_by_id(world->world, id, count, &strided[0], radii, ids)
				  : carom_world_set_spheres(world->world, id, count, &strided[0], radii));
	}
	for (int i = 0; i < 3; i++)
		cp_close_input(&inputs[i]);
	return made;
}

static PyObject *set_spheres(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "centres", "radii", NULL };
	PyObject *values[4];
	return cp_arguments("set_spheres", args, count, keywords, names, 2, values)
		? change_spheres((cp_world *)self, values, false)
		: NULL;
}

static PyObject *set_spheres_by_id(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "id", "centres", "radii", "ids", NULL };
	PyObject *values[4];
	return cp_arguments("set_spheres_by_id", args, count, keywords, names, 4, values)
		? change_spheres((cp_world *)self, values, true)
		: NULL;
}

/// Ask for the spheres of a body. False with an exception.
static bool ask_spheres(cp_world *world, PyObject *value, carom_body_id *id, carom_sphere_view *view)
{
	if (!cp_get_id(value, id) || !may_read(world))
		return false;
	const carom_result result = carom_world_get_spheres(world->world, *id, view);
	if (result)
		cp_end_call(world, result, NULL);
	return !result;
}

static PyObject *set_sphere_begins(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	cp_world *world = (cp_world *)self;
	PyObject *made = NULL;
	carom_body_id id;
	carom_sphere_view spheres;
	cp_input begins = { 0 };
	carom_strided strided;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "set_sphere_begins takes an id and places (%zd given)", count);
	if (!ask_spheres(world, args[0], &id, &spheres))
		return NULL;
	if (cp_open_input(&begins, args[1], "begins", 3) && cp_has_rows(&begins, spheres.count) &&
		cp_as_strided(&begins, &strided) && begin(world))
		made = end(world, carom_world_set_sphere_begins(world->world, id, &strided));
	cp_close_input(&begins);
	return made;
}

static PyObject *get_spheres(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_sphere_view view;
	return ask_spheres(world, value, &id, &view)
		? cp_view_numbers(self, &world->places, cp_state_of(self), CP_F64, view.data, view.count, 4)
		: NULL;
}

static PyObject *get_sphere_ids(PyObject *self, PyObject *value)
{
	cp_world *world = (cp_world *)self;
	carom_body_id id;
	carom_sphere_view view;
	if (!ask_spheres(world, value, &id, &view))
		return NULL;
	return view.ids ? cp_view_numbers(self, &world->places, cp_state_of(self), CP_U64, view.ids, view.count, 0)
					: Py_NewRef(Py_None);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL
PyMethodDef cp_world_bodies[] = {
	{ "add_body", CP_NAMED(add_body), CP_DOC("add_body($self, definition=None, /, **members)", carom_world_add_body) },
	{ "add_body_with_id", CP_NAMED(add_body_with_id),
		CP_DOC("add_body_with_id($self, id, definition=None, /, **members)", carom_world_add_body_with_id) },
	{ "add_bodies", add_bodies, METH_O, CP_DOC("add_bodies($self, definitions, /)", carom_world_add_bodies) },
	{ "remove_body", remove_body, METH_O, CP_DOC("remove_body($self, id, /)", carom_world_remove_body) },
	{ "remove_bodies", remove_bodies, METH_O, CP_DOC("remove_bodies($self, ids, /)", carom_world_remove_bodies) },
	{ "is_body", is_body, METH_O, CP_DOC("is_body($self, id, /)", carom_world_is_body) },
	{ "body_ids", body_ids, METH_NOARGS, CP_DOC("body_ids($self, /)", carom_world_body_ids) },
	{ "get_body", get_body, METH_O, CP_DOC("get_body($self, id, /)", carom_world_get_body_def) },
	{ "set_pose", FAST(set_pose), CP_DOC("set_pose($self, id, pose, /)", carom_world_set_pose) },
	{ "get_pose", get_pose, METH_O, CP_DOC("get_pose($self, id, /)", carom_world_get_pose) },
	{ "set_poses", FAST(set_poses),
		CP_DOC("set_poses($self, ids, poses, /)",
			carom_world_set_poses) " poses: (n, 7), x, y, z, and the quaternion x, y, z, w." },
	{ "get_poses", get_poses, METH_O, CP_DOC("get_poses($self, ids, /)", carom_world_get_poses) },
	{ "set_motions", FAST(set_motions),
		CP_DOC("set_motions($self, ids, motions, /)", carom_world_set_motions) " motions: (n, 14), two poses each." },
	{ "set_asleep", FAST(set_asleep), CP_DOC("set_asleep($self, ids, asleep, /)", carom_world_set_asleep) },
	{ "get_asleep", get_asleep, METH_O, CP_DOC("get_asleep($self, ids, /)", carom_world_get_asleep) },
	{ "shift_origin", shift_origin, METH_O, CP_DOC("shift_origin($self, offset, /)", carom_world_shift_origin) },
	{ "get_aabb", get_aabb, METH_O, CP_DOC("get_aabb($self, id, /)", carom_world_get_aabb) },
	{ "get_user_data", get_user_data, METH_O, CP_DOC("get_user_data($self, id, /)", carom_world_get_user_data) },
	{ "set_user_data", FAST(set_user_data), CP_DOC("set_user_data($self, id, user_data, /)", carom_world_set_user_data) },
	{ "get_part_data", FAST(get_part_data), CP_DOC("get_part_data($self, id, part, /)", carom_world_get_part_data) },
	{ "set_part_data", FAST(set_part_data), CP_DOC("set_part_data($self, id, part, user_data, /)", carom_world_set_part_data) },
	{ "get_filter", get_filter, METH_O, CP_DOC("get_filter($self, id, /)", carom_world_get_filter) " (category, mask, group)." },
	{ "set_filter", CP_NAMED(set_filter),
		CP_DOC("set_filter($self, /, id, category=None, mask=None, group=None)", carom_world_set_filter) },
	{ "set_traits", CP_NAMED(set_traits),
		CP_DOC("set_traits($self, /, id, kind=None, sensor=None, self_collision=None, continuous=None, contacts=None, "
			   "shape_impacts=None, thickness=None)",
			carom_world_set_traits) },
	{ "edit_field", CP_NAMED(edit_field),
		CP_DOC("edit_field($self, /, id, heights, first_column, first_row)", carom_world_edit_field) },
	{ "paint_field", CP_NAMED(paint_field),
		CP_DOC("paint_field($self, /, id, materials, first_column, first_row)",
			carom_world_paint_field) " A row of materials has two numbers for each cell." },
	{ "set_shape", FAST(set_shape), CP_DOC("set_shape($self, id, shape, /)", carom_world_set_shape) },
	{ "set_parts", FAST(set_parts), CP_DOC("set_parts($self, id, parts, /)", carom_world_set_parts) },
	{ "set_vertices", CP_NAMED(set_vertices),
		CP_DOC("set_vertices($self, /, id, end=None, begin=None)", carom_world_set_vertices) },
	{ "get_enclosed", get_enclosed, METH_O, CP_DOC("get_enclosed($self, id, /)", carom_world_get_enclosed) },
	{ "get_vertices", get_vertices, METH_O, CP_DOC("get_vertices($self, id, /)", carom_world_get_vertices) },
	{ "set_mesh", CP_NAMED(set_mesh), CP_DOC("set_mesh($self, /, id, mesh, origin=None, places=None)", carom_world_set_mesh) },
	{ "set_spheres", CP_NAMED(set_spheres), CP_DOC("set_spheres($self, /, id, centres, radii=None)", carom_world_set_spheres) },
	{ "set_spheres_by_id", CP_NAMED(set_spheres_by_id),
		CP_DOC("set_spheres_by_id($self, /, id, centres, radii, ids)", carom_world_set_spheres_by_id) },
	{ "get_sphere_ids", get_sphere_ids, METH_O,
		"get_sphere_ids($self, id, /)\n--\n\nThe ids of the spheres of a granular body, as set_spheres_by_id has set them; None: none were "
		"set." },
	{ "set_sphere_begins", FAST(set_sphere_begins),
		CP_DOC("set_sphere_begins($self, id, begins, /)", carom_world_set_sphere_begins) },
	{ "get_spheres", get_spheres, METH_O, CP_DOC("get_spheres($self, id, /)", carom_world_get_spheres) },
	{ NULL, NULL, 0, NULL },
};
