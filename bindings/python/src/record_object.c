// Records: structs of the library as immutable objects. Everything here works by the tables that
// tables.py makes from the headers; no struct is named but a body's shape and parts.
#define CP_DEFINE_TABLES
#include "binding.h"

// ---- Enumerations ----

/// Give the values their comments, and the class its own with theirs below.
static bool describe_values(PyObject *made, const cp_enum *table)
{
	PyObject *all = PyUnicode_FromString(table->comment);
	for (int i = 0; all && i < table->count; i++) {
		const char *comment = table->values[i].comment;
		if (!*comment)
			continue;
		PyObject *more = PyUnicode_FromFormat("%U%s%s: %s", all, "\n\n", table->values[i].name, comment);
		PyObject *value = more ? PyObject_GetAttrString(made, table->values[i].name) : NULL;
		PyObject *own = value ? PyUnicode_FromString(comment) : NULL;
		const bool good = own && PyObject_SetAttrString(value, "__doc__", own) == 0;
		Py_XDECREF(own);
		Py_XDECREF(value);
		Py_DECREF(all);
		all = good ? Py_NewRef(more) : NULL;
		Py_XDECREF(more);
	}
	const bool good = all && PyObject_SetAttrString(made, "__doc__", all) == 0;
	Py_XDECREF(all);
	return good;
}

/// An IntEnum with the values of an enumeration, in order from 0.
static PyObject *new_enum_class(PyObject *int_enum, const cp_enum *table)
{
	PyObject *pairs = PyList_New(0);
	for (int i = 0; pairs && i < table->count; i++) {
		PyObject *pair = Py_BuildValue("(si)", table->values[i].name, table->values[i].value);
		if (!pair || PyList_Append(pairs, pair) < 0)
			Py_CLEAR(pairs);
		Py_XDECREF(pair);
	}
	PyObject *args = pairs ? Py_BuildValue("(sO)", table->name, pairs) : NULL;
	PyObject *names = args ? Py_BuildValue("{ssss}", "module", "carom", "qualname", table->name) : NULL;
	PyObject *made = names ? PyObject_Call(int_enum, args, names) : NULL;
	if (made && !describe_values(made, table))
		Py_CLEAR(made);
	Py_XDECREF(names);
	Py_XDECREF(args);
	Py_XDECREF(pairs);
	return made;
}

static int add_enums(PyObject *module, cp_state *state)
{
	PyObject *library = PyImport_ImportModule("enum");
	PyObject *int_enum = library ? PyObject_GetAttrString(library, "IntEnum") : NULL;
	int failed = int_enum ? 0 : -1;
	for (int i = 0; !failed && i < CP_ENUM_COUNT; i++) {
		state->enums[i] = new_enum_class(int_enum, &cp_enums[i]);
		state->enum_values[i] = state->enums[i] ? PySequence_Tuple(state->enums[i]) : NULL;
		failed = state->enum_values[i] ? PyModule_AddObjectRef(module, cp_enums[i].name, state->enums[i]) : -1;
	}
	Py_XDECREF(int_enum);
	Py_XDECREF(library);
	return failed;
}

PyObject *cp_new_enum(cp_state *state, int number, int value)
{
	if (value < 0 || value >= cp_enums[number].count)
		return PyLong_FromLong(value); // of records that nothing has filled
	return Py_XNewRef(PyTuple_GetItem(state->enum_values[number], value));
}

static bool is_named(const char *name, const char *text)
{
	for (; *name && *text; name++, text++)
		if (*name != (*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text))
			return false;
	return *name == *text;
}

bool cp_get_enum(cp_state *state, int number, PyObject *value, const char *path, int *result)
{
	const cp_enum *table = &cp_enums[number];
	if (PyUnicode_Check(value)) {
		const char *text = PyUnicode_AsUTF8AndSize(value, NULL);
		if (!text)
			return false;
		for (int i = 0; i < table->count; i++) {
			*result = table->values[i].value;
			if (is_named(table->values[i].name, text))
				return true;
		}
	} else if (PyLong_Check(value)) {
		*result = (int)PyLong_AsLong(value);
		if (*result >= 0 && *result < table->count)
			return true;
		PyErr_Clear();
	}
	(void)state;
	PyErr_Format(PyExc_ValueError, "%s is %R, which names no %s", path, value, table->name);
	return false;
}

// ---- Members ----

static PyObject *get_one(cp_state *state, const cp_member *member, const char *at)
{
	switch (member->kind) {
	case CP_BOOL: return PyBool_FromLong(*(const bool *)at);
	case CP_I8: return PyLong_FromLong(*(const int8_t *)at);
	case CP_U8: return PyLong_FromLong(*(const uint8_t *)at);
	case CP_I32: return PyLong_FromLong(*(const int32_t *)at);
	case CP_U32: return PyLong_FromUnsignedLong(*(const uint32_t *)at);
	case CP_I64: return PyLong_FromLongLong(*(const int64_t *)at);
	case CP_U64: return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
	case CP_SIZE: return PyLong_FromSize_t(*(const size_t *)at);
	case CP_F32: return PyFloat_FromDouble(*(const float *)at);
	case CP_F64: return PyFloat_FromDouble(*(const double *)at);
	case CP_ID: return cp_new_id(*(const carom_body_id *)at);
	case CP_ENUM: return cp_new_enum(state, member->link, *(const int *)at);
	case CP_STRUCT: return cp_new_record(state, member->link, at, NULL);
	case CP_TEXT: return PyUnicode_DecodeUTF8(at, (Py_ssize_t)strnlen(at, (size_t)member->count), "replace");
	case CP_STATIC_TEXT: {
		const char *text = *(const char *const *)at;
		return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
	}
	default: return Py_NewRef(Py_None);
	}
}

/// Bytes of one value of a member.
static size_t size_of(const cp_member *member)
{
	static const size_t sizes[] = { [CP_BOOL] = sizeof(bool),
		[CP_I8] = 1,
		[CP_U8] = 1,
		[CP_I32] = 4,
		[CP_U32] = 4,
		[CP_I64] = 8,
		[CP_U64] = 8,
		[CP_SIZE] = sizeof(size_t),
		[CP_F32] = 4,
		[CP_F64] = 8,
		[CP_ID] = sizeof(carom_body_id),
		[CP_ENUM] = sizeof(int),
		[CP_TEXT] = 1 };
	return member->kind == CP_STRUCT ? cp_layouts[member->link].size : sizes[member->kind];
}

/// How many values a member has in a record: all, or as many as another member tells.
static int count_of(const cp_member *member, const char *data)
{
	const int32_t told = member->limit ? *(const int32_t *)(const void *)(data + member->limit) : member->count;
	return told < 0 ? 0 : told < member->count ? told : member->count;
}

PyObject *cp_get_member(cp_state *state, const cp_member *member, const char *data, PyObject *keep)
{
	PyObject *kept = keep ? PyDict_GetItemString(keep, member->name) : NULL;
	if (kept)
		return Py_NewRef(kept);
	if (member->kind == CP_PARTS)
		return PyTuple_New(0);
	const char *at = data + member->offset;
	if (member->count == 1 || member->kind == CP_TEXT)
		return get_one(state, member, at);
	const int count = count_of(member, data);
	PyObject *all = PyTuple_New(count);
	for (int i = 0; all && i < count; i++) {
		PyObject *value = get_one(state, member, at + (size_t)i * size_of(member));
		if (!value || PyTuple_SetItem(all, i, value) < 0)
			Py_CLEAR(all);
	}
	return all;
}

PyObject *cp_get_attribute(PyObject *self, void *member)
{
	cp_record *record = (cp_record *)self;
	return cp_get_member(cp_state_of(self), member, cp_record_data(record), record->keep);
}

/// Keep an object under a member's name, or drop the one that was kept for NULL.
static bool keep_object(PyObject **keep, const cp_member *member, PyObject *object)
{
	if (!*keep && object)
		*keep = PyDict_New();
	if (!object)
		return !*keep || !PyDict_GetItemString(*keep, member->name) || PyDict_DelItemString(*keep, member->name) == 0;
	return *keep && PyDict_SetItemString(*keep, member->name, object) == 0;
}

static bool set_integer(const cp_member *member, char *at, PyObject *value)
{
	static const struct {
		int64_t least, most;
	} ranges[] = { [CP_I8] = { INT8_MIN, INT8_MAX },
		[CP_U8] = { 0, UINT8_MAX },
		[CP_I32] = { INT32_MIN, INT32_MAX },
		[CP_U32] = { 0, UINT32_MAX },
		[CP_I64] = { INT64_MIN, INT64_MAX },
		[CP_SIZE] = { 0, INT64_MAX } };
	int64_t number;
	if (member->kind == CP_U64)
		return cp_get_u64(value, member->path, (uint64_t *)at);
	if (!cp_get_int(value, member->path, ranges[member->kind].least, ranges[member->kind].most, &number))
		return false;
	switch (member->kind) {
	case CP_I8: *(int8_t *)at = (int8_t)number; break;
	case CP_U8: *(uint8_t *)at = (uint8_t)number; break;
	case CP_I32: *(int32_t *)at = (int32_t)number; break;
	case CP_U32: *(uint32_t *)at = (uint32_t)number; break;
	case CP_SIZE: *(size_t *)at = (size_t)number; break;
	default: *(int64_t *)at = number;
	}
	return true;
}

/// A shape: a Shape is kept as it is, a Mesh becomes one.
static bool set_shape(cp_state *state, const cp_member *member, char *at, PyObject **keep, PyObject *value)
{
	carom_shape *shape = (carom_shape *)(void *)at;
	if (!cp_get_shape(state, value, member->path, shape))
		return false;
	if (cp_as_record(state, CP_shape, value))
		return keep_object(keep, member, value);
	PyObject *mesh = Py_BuildValue("{sO}", "mesh", value);
	PyObject *record = mesh ? cp_new_record(state, CP_shape, shape, mesh) : NULL;
	const bool good = record && keep_object(keep, member, record);
	Py_XDECREF(record);
	Py_XDECREF(mesh);
	return good;
}

static bool set_struct(cp_state *state, const cp_member *member, char *at, PyObject **keep, PyObject *value)
{
	if (member->link == CP_pose)
		return cp_get_pose(state, value, member->path, (carom_pose *)at);
	if (member->link == CP_shape)
		return set_shape(state, member, at, keep, value);
	const void *source = cp_as_record(state, member->link, value);
	if (!source) {
		PyErr_Format(PyExc_TypeError, "%s must be a %s", member->path, cp_layouts[member->link].name);
		return false;
	}
	memcpy(at, source, cp_layouts[member->link].size);
	return keep_object(keep, member, value);
}

PyObject *cp_parts_tuple(cp_state *state, const char *path, PyObject *value)
{
	PyObject *given = PySequence_Tuple(value);
	const Py_ssize_t count = given ? PyTuple_Size(given) : 0;
	PyObject *parts = given ? PyTuple_New(count) : NULL;
	for (Py_ssize_t i = 0; parts && i < count; i++) {
		PyObject *part = PyTuple_GetItem(given, i);
		if (cp_as_record(state, CP_part, part))
			Py_INCREF(part);
		else
			part = PyTuple_Check(part) ? PyObject_CallObject((PyObject *)state->records[CP_part], part)
									   : PyErr_Format(PyExc_TypeError, "%s[%zd] must be a Part or (shape, pose)", path, i);
		if (!part || PyTuple_SetItem(parts, i, part) < 0)
			Py_CLEAR(parts);
	}
	Py_XDECREF(given);
	return parts;
}

/// The parts of a body, as cp_parts_tuple takes them.
static bool set_parts(cp_state *state, const cp_member *member, PyObject **keep, PyObject *value)
{
	PyObject *parts = cp_parts_tuple(state, member->path, value);
	const bool done = parts && keep_object(keep, member, PyTuple_Size(parts) > 0 ? parts : NULL);
	Py_XDECREF(parts);
	return done;
}

static bool set_mesh(cp_state *state, const cp_member *member, char *at, PyObject **keep, PyObject *value)
{
	const carom_mesh *mesh = NULL;
	if (value != Py_None && !(mesh = cp_get_mesh(state, value, member->path)))
		return false;
	*(const carom_mesh **)at = mesh;
	return keep_object(keep, member, mesh ? value : NULL);
}

static bool set_device(cp_state *state, const cp_member *member, char *at, PyObject **keep, PyObject *value)
{
	const cp_device *device = NULL;
	if (value != Py_None && !(device = cp_get_device(state, value, member->path)))
		return false;
	*(carom_device **)at = device ? device->device : NULL;
	return keep_object(keep, member, device ? value : NULL);
}

static bool set_function(const cp_member *member, PyObject **keep, PyObject *value)
{
	if (value == Py_None)
		return keep_object(keep, member, NULL);
	if (PyCallable_Check(value))
		return keep_object(keep, member, value);
	PyErr_Format(PyExc_TypeError, "%s is %R; it must be callable or None", member->path, value);
	return false;
}

/// A str or a path; None: no text.
static bool set_text(const cp_member *member, char *at, PyObject **keep, PyObject *value)
{
	Py_ssize_t size = 0;
	*(const char **)at = NULL;
	if (value == Py_None)
		return keep_object(keep, member, NULL);
	PyObject *text = PyOS_FSPath(value); // a str is one
	if (text && PyBytes_Check(text)) {
		PyObject *bytes = text;
		text = PyUnicode_DecodeFSDefault(PyBytes_AsString(bytes));
		Py_DECREF(bytes);
	}
	const char *words = text ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
	if (words && strlen(words) != (size_t)size)
		PyErr_Format(PyExc_ValueError, "%s has a null character", member->path);
	const bool done = words && strlen(words) == (size_t)size && keep_object(keep, member, text);
	*(const char **)at = done ? words : NULL;
	Py_XDECREF(text);
	return done;
}

static bool set_one(cp_state *state, const cp_member *member, char *at, PyObject **keep, PyObject *value)
{
	double number;
	switch (member->kind) {
	case CP_BOOL: return cp_get_bool(value, member->path, (bool *)at);
	case CP_F64: return cp_get_double(value, member->path, (double *)at);
	case CP_F32:
		if (!cp_get_double(value, member->path, &number))
			return false;
		*(float *)at = (float)number;
		return true;
	case CP_ID: return cp_get_id(value, (carom_body_id *)at);
	case CP_ENUM: return cp_get_enum(state, member->link, value, member->path, (int *)at);
	case CP_STRUCT: return set_struct(state, member, at, keep, value);
	case CP_MESH: return set_mesh(state, member, at, keep, value);
	case CP_PARTS: return set_parts(state, member, keep, value);
	case CP_KEPT: return keep_object(keep, member, value == Py_None ? NULL : value);
	case CP_GIVEN_TEXT: return set_text(member, at, keep, value);
	case CP_DEVICE: return set_device(state, member, at, keep, value);
	case CP_FUNCTION: return set_function(member, keep, value);
	case CP_TEXT:
	case CP_STATIC_TEXT:
	case CP_OPAQUE: PyErr_Format(PyExc_TypeError, "%s cannot be set", member->path); return false;
	default: return set_integer(member, at, value);
	}
}

bool cp_set_member(cp_state *state, const cp_member *member, char *data, PyObject **keep, PyObject *value)
{
	char *at = data + member->offset;
	if (member->count == 1 || member->kind == CP_TEXT)
		return set_one(state, member, at, keep, value);
	if (member->kind == CP_F64)
		return cp_get_numbers(value, member->path, member->count, (double *)at);
	const Py_ssize_t count = PySequence_Check(value) ? PySequence_Size(value) : -1;
	if (member->limit ? count < 0 || count > member->count : count != member->count) {
		PyErr_Format(
			PyExc_TypeError, "%s must be a sequence of %s%d", member->path, member->limit ? "at most " : "", member->count);
		return false;
	}
	bool done = true;
	for (int i = 0; done && i < (int)count; i++) {
		PyObject *item = PySequence_GetItem(value, i);
		done = item && set_one(state, member, at + (size_t)i * size_of(member), keep, item);
		Py_XDECREF(item);
	}
	return done;
}

bool cp_set_named(cp_state *state, int layout, char *data, PyObject **keep, PyObject *name, PyObject *value)
{
	const cp_layout *table = &cp_layouts[layout];
	for (int i = 0; i < table->count; i++)
		if (table->members[i].kind != CP_OPAQUE && PyUnicode_CompareWithASCIIString(name, table->members[i].name) == 0)
			return cp_set_member(state, &table->members[i], data, keep, value);
	PyErr_Format(PyExc_TypeError, "%s has no %U", table->name, name);
	return false;
}

// ---- The types ----

static int layout_of(cp_state *state, PyTypeObject *type)
{
	int layout = 0;
	while (state->records[layout] != type)
		layout++;
	return layout;
}

static cp_record *allocate(PyTypeObject *type, const cp_layout *layout)
{
	allocfunc function = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	cp_record *record = (cp_record *)function(type, 0); // zeroed
	if (record)
		record->layout = layout;
	return record;
}

PyObject *cp_new_record(cp_state *state, int layout, const void *data, PyObject *keep)
{
	cp_record *record = allocate(state->records[layout], &cp_layouts[layout]);
	if (!record)
		return NULL;
	memcpy(cp_record_data(record), data, cp_layouts[layout].size);
	record->keep = Py_XNewRef(keep);
	return (PyObject *)record;
}

void *cp_as_record(cp_state *state, int layout, PyObject *object)
{
	return Py_TYPE(object) == state->records[layout] ? cp_record_data((cp_record *)object) : NULL;
}

/// Members by position, leaving out those that Python does not see.
static bool set_positional(cp_state *state, const cp_layout *layout, cp_record *record, PyObject *values)
{
	const Py_ssize_t count = PyTuple_Size(values);
	Py_ssize_t done = 0;
	for (int i = 0; i < layout->count && done < count; i++) {
		if (layout->members[i].kind == CP_OPAQUE)
			continue;
		if (!cp_set_member(state, &layout->members[i], cp_record_data(record), &record->keep, PyTuple_GetItem(values, done++)))
			return false;
	}
	if (done == count)
		return true;
	PyErr_Format(PyExc_TypeError, "%s has %zd members (%zd given)", layout->name, done, count);
	return false;
}

static bool set_keywords(cp_state *state, int layout, cp_record *record, PyObject *keywords)
{
	PyObject *name, *value;
	Py_ssize_t at = 0;
	while (keywords && PyDict_Next(keywords, &at, &name, &value))
		if (!cp_set_named(state, layout, cp_record_data(record), &record->keep, name, value))
			return false;
	return true;
}

/// Pose(value) with one value that is no position: a matrix, a pair, seven numbers or a Pose.
static bool is_whole_pose(cp_state *state, PyObject *value)
{
	if (cp_as_record(state, CP_pose, value))
		return true;
	const Py_ssize_t length = PySequence_Check(value) && !PyUnicode_Check(value) ? PySequence_Size(value) : -1;
	PyObject *first = length == 3 ? PySequence_GetItem(value, 0) : NULL;
	const bool is_matrix = first && PySequence_Check(first) && PySequence_Size(first) == 4;
	Py_XDECREF(first);
	PyErr_Clear();
	return length == 2 || length == 4 || length == 7 || length == 16 || is_matrix;
}

static bool fill_record(cp_state *state, int layout, cp_record *record, PyObject *values, PyObject *keywords)
{
	PyObject *only = PyTuple_Size(values) == 1 ? PyTuple_GetItem(values, 0) : NULL;
	if (layout == CP_pose && only && is_whole_pose(state, only))
		return cp_get_pose(state, only, "Pose", cp_record_data(record)) && set_keywords(state, layout, record, keywords);
	return set_positional(state, &cp_layouts[layout], record, values) && set_keywords(state, layout, record, keywords);
}

static PyObject *record_new(PyTypeObject *type, PyObject *values, PyObject *keywords)
{
	cp_state *state = PyType_GetModuleState(type);
	const int layout = layout_of(state, type);
	cp_record *record = allocate(type, &cp_layouts[layout]);
	if (!record)
		return NULL;
	cp_layouts[layout].start(cp_record_data(record));
	if (fill_record(state, layout, record, values, keywords))
		return (PyObject *)record;
	Py_DECREF(record);
	return NULL;
}

static void record_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Py_XDECREF(((cp_record *)self)->keep);
	freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
	function(self);
	Py_DECREF(type);
}

/// A dict of the members that Python sees; with changed, of those alone that have no default.
static PyObject *members_of(PyObject *self, bool changed)
{
	cp_state *state = cp_state_of(self);
	cp_record *record = (cp_record *)self;
	PyObject *plain = changed ? PyObject_CallNoArgs((PyObject *)Py_TYPE(self)) : NULL;
	PyObject *all = changed && !plain ? NULL : PyDict_New();
	for (int i = 0; all && i < record->layout->count; i++) {
		const cp_member *member = &record->layout->members[i];
		if (member->kind == CP_OPAQUE)
			continue;
		PyObject *value = cp_get_member(state, member, cp_record_data(record), record->keep);
		PyObject *start = plain ? cp_get_member(state, member, cp_record_data((cp_record *)plain), NULL) : NULL;
		// A sphere says that it is one, though spheres are the default.
		const bool is_type = record->layout == &cp_layouts[CP_shape] && member->kind == CP_ENUM;
		const int equal = value && start && !is_type ? PyObject_RichCompareBool(value, start, Py_EQ) : 0;
		if (!value || equal < 0 || (!equal && PyDict_SetItemString(all, member->name, value) < 0))
			Py_CLEAR(all);
		Py_XDECREF(start);
		Py_XDECREF(value);
	}
	Py_XDECREF(plain);
	return all;
}

static PyObject *record_repr(PyObject *self)
{
	const cp_layout *layout = ((cp_record *)self)->layout;
	PyObject *all = members_of(self, layout->has_defaults || layout == &cp_layouts[CP_shape]);
	PyObject *pieces = all ? PyList_New(0) : NULL;
	PyObject *name, *value;
	Py_ssize_t at = 0;
	while (pieces && PyDict_Next(all, &at, &name, &value)) {
		PyObject *piece = PyUnicode_FromFormat("%U=%R", name, value);
		if (!piece || PyList_Append(pieces, piece) < 0)
			Py_CLEAR(pieces);
		Py_XDECREF(piece);
	}
	PyObject *comma = pieces ? PyUnicode_FromString(", ") : NULL;
	PyObject *inside = comma ? PyUnicode_Join(comma, pieces) : NULL;
	PyObject *text = inside ? PyUnicode_FromFormat("%s(%U)", layout->name, inside) : NULL;
	Py_XDECREF(inside);
	Py_XDECREF(comma);
	Py_XDECREF(pieces);
	Py_XDECREF(all);
	return text;
}

static PyObject *record_compare(PyObject *a, PyObject *b, int operation)
{
	if (Py_TYPE(a) != Py_TYPE(b) || (operation != Py_EQ && operation != Py_NE))
		Py_RETURN_NOTIMPLEMENTED;
	PyObject *of_a = members_of(a, false);
	PyObject *of_b = of_a ? members_of(b, false) : NULL;
	PyObject *result = of_b ? PyObject_RichCompare(of_a, of_b, operation) : NULL;
	Py_XDECREF(of_a);
	Py_XDECREF(of_b);
	return result;
}

/// Members by name, those without a value aside, for pickle: a later version may have more of them.
static PyObject *record_reduce(PyObject *self, PyObject *none)
{
	(void)none;
	const cp_layout *layout = ((cp_record *)self)->layout;
	for (int i = 0; i < layout->count; i++)
		if (layout->members[i].kind == CP_TEXT || layout->members[i].kind == CP_STATIC_TEXT)
			return PyErr_Format(PyExc_TypeError, "cannot pickle a %s: its texts cannot be set", layout->name);
	PyObject *module = PyImport_ImportModule("carom._carom");
	PyObject *make = module ? PyObject_GetAttrString(module, "_make_record") : NULL;
	PyObject *all = make ? members_of(self, layout->has_defaults) : NULL;
	PyObject *result = all ? Py_BuildValue("O(OO)", make, Py_TYPE(self), all) : NULL;
	Py_XDECREF(all);
	Py_XDECREF(make);
	Py_XDECREF(module);
	return result;
}

static PyObject *record_replace(PyObject *self, PyObject *args, PyObject *keywords)
{
	cp_record *record = (cp_record *)self;
	cp_state *state = cp_state_of(self);
	if (PyTuple_Size(args) != 0)
		return PyErr_Format(PyExc_TypeError, "replace takes members by their names alone");
	cp_record *made = (cp_record *)cp_new_record(state, layout_of(state, Py_TYPE(self)), cp_record_data(record), NULL);
	if (made && record->keep && !(made->keep = PyDict_Copy(record->keep)))
		Py_CLEAR(made);
	if (made && !set_keywords(state, layout_of(state, Py_TYPE(self)), made, keywords))
		Py_CLEAR(made);
	return (PyObject *)made;
}

static PyMethodDef record_methods[] = {
	{ "replace", (PyCFunction)(void (*)(void))record_replace, METH_VARARGS | METH_KEYWORDS,
		"replace($self, /, **settings)\n--\n\nA copy with other values of the members that are named." },
	{ "__reduce__", record_reduce, METH_NOARGS, "__reduce__($self, /)\n--\n\nFor pickle." },
	{ NULL, NULL, 0, NULL },
};

static PyTypeObject *new_type(PyObject *module, const cp_layout *layout)
{
	char name[64];
	PyOS_snprintf(name, sizeof(name), "carom.%s", layout->name);
	PyType_Slot slots[] = { { Py_tp_new, (void *)record_new }, { Py_tp_dealloc, (void *)record_dealloc },
		{ Py_tp_repr, (void *)record_repr }, { Py_tp_richcompare, (void *)record_compare },
		{ Py_tp_hash, (void *)PyObject_HashNotImplemented }, { Py_tp_getset, layout->attributes },
		{ Py_tp_methods, record_methods }, { Py_tp_doc, (void *)layout->comment }, { 0, NULL } };
	PyType_Spec spec = { name, (int)(sizeof(cp_record) + layout->size), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
		slots };
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

int cp_add_records(PyObject *module, cp_state *state)
{
	if (add_enums(module, state) < 0)
		return -1;
	for (int i = 0; i < CP_LAYOUT_COUNT; i++) {
		if (!cp_layouts[i].exposed)
			continue;
		state->records[i] = new_type(module, &cp_layouts[i]);
		if (!state->records[i] || PyModule_AddObjectRef(module, cp_layouts[i].name, (PyObject *)state->records[i]) < 0)
			return -1;
	}
	return 0;
}
