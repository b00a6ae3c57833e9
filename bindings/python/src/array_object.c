// carom.Array: records or numbers in memory of its own, or a view of memory of a world, a mesh or
// another owner. It exports the buffer protocol, with a structured format for records, and numbers
// by DLPack as well. A view holds its owner; while it is exported, calls that would replace the
// memory raise BufferError (cp_is_free), and after such a call the view itself raises.
#include "binding.h"

#include <stdint.h>
#include <stdlib.h>

// ---- Formats of the buffer protocol ----

/// Format of one value in standard sizes; NULL: none.
static const char *format_of(cp_kind kind)
{
	static const char *const formats[] = { [CP_BOOL] = "?",
		[CP_I8] = "b",
		[CP_U8] = "B",
		[CP_I32] = "i",
		[CP_U32] = "I",
		[CP_I64] = "q",
		[CP_U64] = "Q",
		[CP_SIZE] = "Q",
		[CP_F32] = "f",
		[CP_F64] = "d",
		[CP_ID] = "Q",
		[CP_ENUM] = "i" };
	return kind <= CP_ENUM ? formats[kind] : NULL;
}

static size_t size_of_kind(cp_kind kind)
{
	static const size_t sizes[] = { sizeof(bool), 1, 1, 4, 4, 8, 8, sizeof(size_t), 4, 8, 8, sizeof(int) };
	return sizes[kind];
}

static size_t size_of_member(const cp_member *member)
{
	const size_t one = member->kind == CP_STRUCT ? cp_layouts[member->link].size
		: member->kind == CP_TEXT                ? 1
		: member->kind <= CP_ENUM                ? size_of_kind(member->kind)
												 : sizeof(void *);
	return one * (size_t)member->count;
}

/// Append text to *all, whose reference it replaces. NULL goes through.
static void append(PyObject **all, PyObject *text)
{
	PyObject *joined = *all && text ? PyUnicode_Concat(*all, text) : NULL;
	Py_XDECREF(text);
	Py_XDECREF(*all);
	*all = joined;
}

static PyObject *struct_format(int layout);

static PyObject *member_format(const cp_member *member)
{
	if (member->kind == CP_TEXT)
		return PyUnicode_FromFormat("%ds:%s:", member->count, member->name);
	PyObject *inner = member->kind == CP_STRUCT ? struct_format(member->link)
		: format_of(member->kind)               ? PyUnicode_FromString(format_of(member->kind))
												: PyUnicode_FromFormat("%dx", (int)size_of_member(member));
	if (!inner || (member->kind != CP_STRUCT && !format_of(member->kind)))
		return inner;
	PyObject *made = member->count > 1 ? PyUnicode_FromFormat("(%d)%U:%s:", member->count, inner, member->name)
									   : PyUnicode_FromFormat("%U:%s:", inner, member->name);
	Py_DECREF(inner);
	return made;
}

/// "T{d:depth:4x...}" with every gap spelled out, since sizes are standard and nothing is aligned.
static PyObject *struct_format(int layout)
{
	const cp_layout *table = &cp_layouts[layout];
	PyObject *all = PyUnicode_FromString("T{");
	size_t at = 0;
	for (int i = 0; i < table->count; i++) {
		if (table->members[i].offset > at)
			append(&all, PyUnicode_FromFormat("%dx", (int)(table->members[i].offset - at)));
		append(&all, member_format(&table->members[i]));
		at = table->members[i].offset + size_of_member(&table->members[i]);
	}
	if (table->size > at)
		append(&all, PyUnicode_FromFormat("%dx", (int)(table->size - at)));
	append(&all, PyUnicode_FromString("}"));
	return all;
}

/// The format of an array as UTF-8; lives as long as the module. NULL with an exception.
static const char *array_format(cp_state *state, const cp_array *array)
{
	if (array->layout < 0)
		return format_of(array->kind);
	PyObject **cached = &state->formats[array->layout];
	if (!*cached) {
		*cached = PyUnicode_FromString("=");
		append(cached, struct_format(array->layout));
	}
	return *cached ? PyUnicode_AsUTF8AndSize(*cached, NULL) : NULL;
}

// ---- Making ----

static cp_array *allocate(cp_state *state)
{
	allocfunc function = (allocfunc)PyType_GetSlot(state->array_type, Py_tp_alloc);
	return (cp_array *)function(state->array_type, 0); // zeroed
}

static void set_shape(cp_array *array, int64_t count, int columns)
{
	array->dimensions = columns ? 2 : 1;
	array->shape[0] = (Py_ssize_t)count;
	array->shape[1] = columns;
	array->strides[1] = array->item_size;
	array->strides[0] = array->item_size * (columns ? columns : 1);
}

/// An array of zeros, whose shape is set.
static cp_array *with_memory(cp_array *array)
{
	const size_t rows = (size_t)array->shape[0];
	if (rows > PTRDIFF_MAX / (size_t)array->strides[0] || !(array->data = calloc(rows ? rows : 1, (size_t)array->strides[0]))) {
		Py_DECREF(array);
		PyErr_NoMemory();
		return NULL;
	}
	return array;
}

cp_array *cp_new_records(cp_state *state, int layout, int64_t count)
{
	cp_array *array = allocate(state);
	if (!array)
		return NULL;
	array->layout = layout;
	array->item_size = (Py_ssize_t)cp_layouts[layout].size;
	set_shape(array, count, 0);
	return with_memory(array);
}

cp_array *cp_new_numbers(cp_state *state, cp_kind kind, int64_t count, int columns)
{
	cp_array *array = allocate(state);
	if (!array)
		return NULL;
	array->layout = -1;
	array->kind = kind;
	array->item_size = (Py_ssize_t)size_of_kind(kind);
	set_shape(array, count, columns);
	return with_memory(array);
}

void cp_shape_as(cp_array *array, const cp_input *input)
{
	if (!array || !input->breadth)
		return;
	array->dimensions = 2;
	array->shape[0] = (Py_ssize_t)(input->rows / input->breadth);
	array->shape[1] = (Py_ssize_t)input->breadth;
	array->strides[1] = array->item_size;
	array->strides[0] = array->item_size * array->shape[1];
}

void cp_shorten(cp_array *array, int64_t count)
{
	array->shape[0] = (Py_ssize_t)count;
	char *less = realloc(array->data, (size_t)(array->strides[0] * (count ? count : 1)));
	if (less)
		array->data = less;
}

/// A read-only array of memory of base, whose shape is to be set.
static cp_array *new_view(cp_state *state, PyObject *base, cp_guard *guard, const void *data)
{
	cp_array *array = allocate(state);
	if (!array)
		return NULL;
	array->base = Py_NewRef(base);
	array->guard = guard;
	array->generation = guard ? guard->generation : 0;
	array->data = (char *)(uintptr_t)data; // never written: is_readonly
	array->is_readonly = true;
	return array;
}

PyObject *cp_view_records(PyObject *base, cp_guard *guard, cp_state *state, int layout, const void *data, int64_t count)
{
	cp_array *array = new_view(state, base, guard, data);
	if (!array)
		return NULL;
	array->layout = layout;
	array->item_size = (Py_ssize_t)cp_layouts[layout].size;
	set_shape(array, count, 0);
	return (PyObject *)array;
}

PyObject *cp_view_numbers(
	PyObject *base, cp_guard *guard, cp_state *state, cp_kind kind, const void *data, int64_t count, int columns)
{
	cp_array *array = new_view(state, base, guard, data);
	if (!array)
		return NULL;
	array->layout = -1;
	array->kind = kind;
	array->item_size = (Py_ssize_t)size_of_kind(kind);
	set_shape(array, count, columns);
	return (PyObject *)array;
}

static void array_dealloc(PyObject *self)
{
	cp_array *array = (cp_array *)self;
	PyTypeObject *type = Py_TYPE(self);
	if (!array->base)
		free(array->data);
	Py_XDECREF(array->base);
	freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
	function(self);
	Py_DECREF(type);
}

/// Is the memory still there? Else false with BufferError.
static bool is_alive(const cp_array *array)
{
	if (!array->guard || array->guard->generation == array->generation)
		return true;
	PyErr_SetString(PyExc_BufferError, "this view has ended: its owner was stepped, changed or closed since it was taken");
	return false;
}

// ---- Elements ----

/// An array of the same memory, to be cut down.
static cp_array *new_part(PyObject *self)
{
	cp_array *array = (cp_array *)self;
	cp_array *part = is_alive(array) ? new_view(cp_state_of(self), self, array->guard, array->data) : NULL;
	if (!part)
		return NULL;
	part->generation = array->generation;
	part->is_readonly = array->is_readonly;
	part->layout = array->layout;
	part->kind = array->kind;
	part->item_size = array->item_size;
	part->dimensions = array->dimensions;
	memcpy(part->shape, array->shape, sizeof(part->shape));
	memcpy(part->strides, array->strides, sizeof(part->strides));
	return part;
}

static PyObject *array_item(PyObject *self, Py_ssize_t i)
{
	cp_array *array = (cp_array *)self;
	if (!is_alive(array))
		return NULL;
	if (i < 0 || i >= array->shape[0]) {
		PyErr_Format(PyExc_IndexError, "%zd is not below the array's length of %zd", i, array->shape[0]);
		return NULL;
	}
	cp_state *state = cp_state_of(self);
	const char *at = array->data + i * array->strides[0];
	if (array->dimensions == 1 && array->layout >= 0)
		return cp_new_record(state, array->layout, at, NULL);
	if (array->dimensions == 1) {
		const cp_member one = { .kind = array->kind, .count = 1 };
		return array->kind == CP_ENUM ? PyLong_FromLong(*(const int *)at) : cp_get_member(state, &one, at, NULL);
	}
	cp_array *row = new_part(self);
	if (!row)
		return NULL;
	row->data = array->data + i * array->strides[0];
	row->dimensions--;
	memmove(row->shape, row->shape + 1, 2 * sizeof(*row->shape));
	memmove(row->strides, row->strides + 1, 2 * sizeof(*row->strides));
	return (PyObject *)row;
}

/// One member of all records, in place.
static PyObject *array_column(PyObject *self, PyObject *name)
{
	cp_array *array = (cp_array *)self;
	const cp_layout *table = array->layout >= 0 ? &cp_layouts[array->layout] : NULL;
	for (int i = 0; table && i < table->count; i++) {
		const cp_member *member = &table->members[i];
		if (PyUnicode_CompareWithASCIIString(name, member->name) != 0)
			continue;
		if (member->kind != CP_STRUCT && !format_of(member->kind))
			break;
		cp_array *part = new_part(self);
		if (!part)
			return NULL;
		part->data = array->data + member->offset;
		part->layout = member->kind == CP_STRUCT ? member->link : -1;
		part->kind = member->kind;
		part->item_size = (Py_ssize_t)(size_of_member(member) / (size_t)member->count);
		if (member->count > 1) {
			part->shape[part->dimensions] = member->count;
			part->strides[part->dimensions++] = part->item_size;
		}
		return (PyObject *)part;
	}
	PyErr_Format(PyExc_KeyError, "%s has no column %R", table ? table->name : "an array of numbers", name);
	return NULL;
}

static PyObject *array_slice(PyObject *self, PyObject *slice)
{
	Py_ssize_t start, stop, step;
	if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
		return NULL;
	cp_array *part = new_part(self);
	if (!part)
		return NULL;
	part->shape[0] = PySlice_AdjustIndices(part->shape[0], &start, &stop, step);
	part->data += start * part->strides[0];
	part->strides[0] *= step;
	return (PyObject *)part;
}

static PyObject *array_subscript(PyObject *self, PyObject *key)
{
	if (PyUnicode_Check(key))
		return array_column(self, key);
	if (Py_TYPE(key) == &PySlice_Type)
		return array_slice(self, key);
	Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
	if (i == -1 && PyErr_Occurred())
		return NULL;
	return array_item(self, i < 0 ? i + ((cp_array *)self)->shape[0] : i);
}

static Py_ssize_t array_length(PyObject *self) { return ((cp_array *)self)->shape[0]; }

/// Rows one after the other in memory?
static bool is_packed(const cp_array *array)
{
	Py_ssize_t expected = array->item_size;
	for (int i = array->dimensions; i-- > 0; expected *= array->shape[i])
		if (array->shape[i] > 1 && array->strides[i] != expected)
			return false;
	return true;
}

static void copy_rows(const cp_array *from, int dimension, const char *source, char **target)
{
	if (dimension >= from->dimensions || dimension == 3) {
		memcpy(*target, source, (size_t)from->item_size);
		*target += from->item_size;
		return;
	}
	for (Py_ssize_t i = 0; i < from->shape[dimension]; i++)
		copy_rows(from, dimension + 1, source + i * from->strides[dimension], target);
}

static PyObject *array_copy(PyObject *self, PyObject *none)
{
	(void)none;
	cp_array *array = (cp_array *)self;
	cp_array *made = is_alive(array) ? allocate(cp_state_of(self)) : NULL;
	if (!made)
		return NULL;
	made->layout = array->layout;
	made->kind = array->kind;
	made->item_size = array->item_size;
	made->dimensions = array->dimensions;
	Py_ssize_t stride = array->item_size;
	for (int i = array->dimensions; i-- > 0; stride *= array->shape[i]) {
		made->shape[i] = array->shape[i];
		made->strides[i] = stride;
	}
	if (made->strides[0] == 0)
		made->strides[0] = made->item_size; // a dimension of none
	if (!(made = with_memory(made)))
		return NULL;
	char *target = made->data;
	copy_rows(array, 0, array->data, &target);
	return (PyObject *)made;
}

// ---- The buffer protocol ----

static int array_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	cp_array *array = (cp_array *)self;
	view->obj = NULL;
	if (!is_alive(array))
		return -1;
	if ((flags & PyBUF_WRITABLE) && array->is_readonly) {
		PyErr_SetString(PyExc_BufferError, "the array is read-only: copy() gives one that can be written");
		return -1;
	}
	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !is_packed(array)) {
		PyErr_SetString(PyExc_BufferError, "the array has strides: copy() gives one without");
		return -1;
	}
	const char *format = (flags & PyBUF_FORMAT) ? array_format(cp_state_of(self), array) : NULL;
	if ((flags & PyBUF_FORMAT) && !format)
		return -1;
	*view = (Py_buffer){ .buf = array->data,
		.itemsize = array->item_size,
		.readonly = array->is_readonly,
		.ndim = array->dimensions,
		.format = (char *)(uintptr_t)format };
	view->len = array->item_size;
	for (int i = 0; i < array->dimensions; i++)
		view->len *= array->shape[i];
	view->shape = (flags & PyBUF_ND) ? array->shape : NULL;
	view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? array->strides : NULL;
	view->obj = Py_NewRef(self);
	if (array->guard)
		array->guard->exports++;
	return 0;
}

static void array_releasebuffer(PyObject *self, Py_buffer *view)
{
	(void)view;
	cp_array *array = (cp_array *)self;
	if (array->guard)
		array->guard->exports--;
}

// ---- DLPack: the structs of its specification, version 0.8 ----

typedef struct dl_tensor {
	void *data;
	struct {
		int32_t type, number;
	} device;
	int32_t dimensions;
	struct {
		uint8_t code, bits;
		uint16_t lanes;
	} type;
	int64_t *shape, *strides;
	uint64_t offset;
} dl_tensor;

typedef struct dl_managed {
	dl_tensor tensor;
	void *owner;
	void (*deleter)(struct dl_managed *self);
	int64_t sizes[6];
} dl_managed;

enum { DL_CPU = 1, DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BOOL = 6 };

/// Called by the consumer, from any thread.
static void delete_managed(dl_managed *managed)
{
	const PyGILState_STATE gil = PyGILState_Ensure();
	Py_DECREF((PyObject *)managed->owner);
	PyGILState_Release(gil);
	free(managed);
}

static void delete_capsule(PyObject *capsule)
{
	dl_managed *managed = PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
	if (managed)
		managed->deleter(managed);
}

static PyObject *new_capsule(cp_array *array)
{
	static const uint8_t codes[] = { DL_BOOL, DL_INT, DL_UINT, DL_INT, DL_UINT, DL_INT, DL_UINT, DL_UINT, DL_FLOAT, DL_FLOAT,
		DL_UINT, DL_INT };
	dl_managed *managed = calloc(1, sizeof(*managed));
	if (!managed)
		return PyErr_NoMemory();
	dl_tensor *tensor = &managed->tensor;
	*tensor = (dl_tensor){ .data = array->data,
		.device = { DL_CPU, 0 },
		.dimensions = array->dimensions,
		.type = { codes[array->kind], (uint8_t)(8 * array->item_size), 1 },
		.shape = managed->sizes,
		.strides = managed->sizes + 3 };
	for (int i = 0; i < array->dimensions; i++) {
		tensor->shape[i] = array->shape[i];
		tensor->strides[i] = array->strides[i] / array->item_size;
	}
	managed->owner = array;
	managed->deleter = delete_managed;
	PyObject *capsule = PyCapsule_New(managed, "dltensor", delete_capsule);
	if (!capsule)
		free(managed);
	else
		Py_INCREF((PyObject *)array);
	return capsule;
}

/// A tensor may be written by its consumer, so memory of the library goes out as a copy.
static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
	(void)args;
	(void)keywords;
	cp_array *array = (cp_array *)self;
	if (array->layout >= 0)
		return PyErr_Format(PyExc_BufferError, "DLPack has no records: take a column, array['name']");
	PyObject *source = array->is_readonly || array->guard ? array_copy(self, NULL) : Py_NewRef(self);
	PyObject *capsule = source ? new_capsule((cp_array *)source) : NULL;
	Py_XDECREF(source);
	return capsule;
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *none)
{
	(void)self;
	(void)none;
	return Py_BuildValue("(ii)", DL_CPU, 0);
}

// ---- NumPy, where it is there ----

/// numpy.asarray takes the format of records apart each time, which costs more than a step of a
/// small world: the dtype of each record is kept.
static PyObject *array_numpy(PyObject *self, PyObject *none)
{
	(void)none;
	cp_array *array = (cp_array *)self;
	cp_state *state = cp_state_of(self);
	PyObject *numpy = PyImport_ImportModule("numpy");
	if (!numpy)
		return NULL;
	PyObject *made = NULL;
	PyObject **dtype = array->layout >= 0 ? &state->dtypes[array->layout] : NULL;
	if (dtype && *dtype && array->dimensions == 1 && array->shape[0] > 0 && is_packed(array)) {
		made = PyObject_CallMethod(numpy, "frombuffer", "OO", self, *dtype);
	} else {
		made = PyObject_CallMethod(numpy, "asarray", "O", self);
		if (made && dtype && !*dtype)
			*dtype = PyObject_GetAttrString(made, "dtype");
	}
	Py_DECREF(numpy);
	return made;
}

// ---- The type ----

static PyObject *array_get_shape(PyObject *self, void *none)
{
	(void)none;
	cp_array *array = (cp_array *)self;
	PyObject *shape = PyTuple_New(array->dimensions);
	for (int i = 0; shape && i < array->dimensions; i++)
		PyTuple_SetItem(shape, i, PyLong_FromSsize_t(array->shape[i]));
	return shape;
}

static PyObject *array_get_names(PyObject *self, void *none)
{
	(void)none;
	cp_array *array = (cp_array *)self;
	PyObject *names = PyList_New(0);
	const cp_layout *table = array->layout >= 0 ? &cp_layouts[array->layout] : NULL;
	for (int i = 0; names && table && i < table->count; i++) {
		if (table->members[i].kind != CP_STRUCT && !format_of(table->members[i].kind))
			continue;
		PyObject *name = PyUnicode_FromString(table->members[i].name);
		if (!name || PyList_Append(names, name) < 0)
			Py_CLEAR(names);
		Py_XDECREF(name);
	}
	PyObject *tuple = names ? PyList_AsTuple(names) : NULL;
	Py_XDECREF(names);
	return tuple;
}

static PyObject *array_get_format(PyObject *self, void *none)
{
	(void)none;
	const char *format = array_format(cp_state_of(self), (cp_array *)self);
	return format ? PyUnicode_FromString(format) : NULL;
}

static PyObject *array_get_readonly(PyObject *self, void *none)
{
	(void)none;
	return PyBool_FromLong(((cp_array *)self)->is_readonly);
}

static PyObject *array_repr(PyObject *self)
{
	cp_array *array = (cp_array *)self;
	if (array->layout >= 0 && array->dimensions == 1)
		return PyUnicode_FromFormat("<carom.Array of %zd %s>", array->shape[0], cp_layouts[array->layout].name);
	PyObject *shape = array_get_shape(self, NULL);
	PyObject *text =
		shape ? PyUnicode_FromFormat("<carom.Array %S of '%s'>", shape, array_format(cp_state_of(self), array)) : NULL;
	Py_XDECREF(shape);
	return text;
}

static PyMethodDef methods[] = {
	{ "copy", array_copy, METH_NOARGS, "copy($self, /)\n--\n\nThe array in memory of its own, packed, that can be written." },
	{ "numpy", array_numpy, METH_NOARGS,
		"numpy($self, /)\n--\n\nThe array as one of NumPy, without a copy: as numpy.asarray(array), and faster for records." },
	{ "__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
		"__dlpack__($self, /, *args, **keywords)\n--\n\nNumbers as a DLPack capsule; a read-only array gives a copy." },
	{ "__dlpack_device__", array_dlpack_device, METH_NOARGS, "__dlpack_device__($self, /)\n--\n\nThe CPU: (1, 0)." },
	{ "__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "Array[Contact] in annotations." },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "shape", array_get_shape, NULL, "Lengths of the dimensions.", NULL },
	{ "names", array_get_names, NULL, "Names of the columns of records; () for numbers.", NULL },
	{ "format", array_get_format, NULL, "Format of an element, in the words of the buffer protocol.", NULL },
	{ "readonly", array_get_readonly, NULL, "Is it memory of the library?", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_dealloc, (void *)array_dealloc }, { Py_tp_repr, (void *)array_repr },
	{ Py_tp_methods, methods }, { Py_tp_getset, attributes }, { Py_sq_length, (void *)array_length },
	{ Py_sq_item, (void *)array_item }, { Py_tp_iter, (void *)PySeqIter_New }, { Py_mp_length, (void *)array_length },
	{ Py_mp_subscript, (void *)array_subscript }, { Py_bf_getbuffer, (void *)array_getbuffer },
	{ Py_bf_releasebuffer, (void *)array_releasebuffer },
	{ Py_tp_doc,
		"Records or numbers. array[i] is a record (a copy), a number or a row; array['depth'] is a column, array[2:5] a part. "
		"numpy.asarray(array) makes no copy: records become a structured array.\n\nArrays of results are views of memory of the "
		"library: while one is exported (a NumPy array of it lives), calls that would replace the memory raise BufferError, and "
		"after such a call the view raises it." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom.Array", sizeof(cp_array), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots };

int cp_add_array(PyObject *module, cp_state *state)
{
	state->array_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
	return state->array_type ? PyModule_AddObjectRef(module, "Array", (PyObject *)state->array_type) : -1;
}
