// Arrays that calls are given: any buffer, a DLPack tensor of the CPU, or a sequence of numbers.
// They are read where they lie; a copy is made where the type or the order of the values is not the
// one that a call takes.
#include "binding.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct dl_given {
	void *data;
	int32_t device, device_number, dimensions;
	uint8_t code, bits;
	uint16_t lanes;
	const int64_t *shape, *strides;
	uint64_t offset;
} dl_given;

static bool refuse(const cp_input *input, PyObject *kind, const char *text)
{
	PyErr_Format(kind, "%s %s", input->name, text);
	return false;
}

enum { MOST_DIMENSIONS = 8 };

/// The lengths and strides (bytes) of an array that is given.
typedef struct given_shape {
	int dimensions;
	int64_t lengths[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
} given_shape;

/// The shape of rows that a call takes: of one length, of two lengths, or of any.
static void say_rows(char *text, size_t size, int least, int most)
{
	if (least == most)
		PyOS_snprintf(text, size, "(n, %d)", most);
	else if (most == INT32_MAX)
		PyOS_snprintf(text, size, "(n, m)");
	else
		PyOS_snprintf(text, size, "(n, %d) or (n, %d)", least, most);
}

/// Two dimensions, or one, with the lengths and strides of a buffer or tensor.
static bool take_shape(cp_input *input, const given_shape *given, int least, int most)
{
	const int dimensions = given->dimensions;
	const int64_t *shape = given->lengths, *strides = given->strides;
	char text[160], rows[48];
	const bool fits = least == 0 ? dimensions == 1 : dimensions == 2 && shape[1] >= least && shape[1] <= most;
	if (!fits) {
		say_rows(rows, sizeof(rows), least, most);
		if (least == 0)
			PyOS_snprintf(text, sizeof(text), "has %d dimensions; it must have one", dimensions);
		else if (dimensions == 2)
			PyOS_snprintf(text, sizeof(text), "has the shape (%lld, %lld); it must be %s", (long long)shape[0],
				(long long)shape[1], rows);
		else
			PyOS_snprintf(text, sizeof(text), "has %d dimensions; it must be %s", dimensions, rows);
		return refuse(input, PyExc_ValueError, text);
	}
	input->rows = shape[0];
	input->columns = least == 0 ? 1 : shape[1];
	input->row_stride = (Py_ssize_t)strides[0];
	input->column_stride = least == 0 ? input->size : (Py_ssize_t)strides[1];
	return true;
}

/// The type of a buffer's values: a letter of struct, in the order of this machine.
static bool take_format(cp_input *input)
{
	const char *format = input->buffer.format ? input->buffer.format : "B";
	const uint16_t order = 1;
	const bool is_little = *(const uint8_t *)&order == 1;
	if (*format == '@' || *format == '=' || *format == '|' || *format == (is_little ? '<' : '>'))
		format++;
	const char letter = format[0] && !format[1] ? format[0] : 0;
	input->size = (int)input->buffer.itemsize;
	if (letter && strchr("fd", letter))
		input->type = 'f';
	else if (letter && strchr("bhilqn", letter))
		input->type = 'i';
	else if (letter && strchr("BHILQN", letter))
		input->type = 'u';
	else if (letter == '?')
		input->type = '?';
	else
		return refuse(input, PyExc_TypeError, "must hold floats, doubles or integers of this machine's byte order");
	return true;
}

static bool open_buffer(cp_input *input, PyObject *value, given_shape *given)
{
	if (PyObject_GetBuffer(value, &input->buffer, PyBUF_FORMAT | PyBUF_STRIDES) < 0)
		return false;
	input->has_buffer = true;
	input->data = input->buffer.buf;
	*given = (given_shape){ .dimensions = input->buffer.ndim };
	for (int i = 0; i < given->dimensions && i < MOST_DIMENSIONS; i++) {
		given->lengths[i] = input->buffer.shape[i];
		given->strides[i] = input->buffer.strides[i];
	}
	return take_format(input);
}

static bool open_tensor(cp_input *input, PyObject *value, given_shape *given)
{
	static const char types[] = { 'i', 'u', 'f', 0, 0, 0, '?' };
	PyObject *method = PyObject_GetAttrString(value, "__dlpack__");
	input->capsule = method ? PyObject_CallNoArgs(method) : NULL;
	Py_XDECREF(method);
	const dl_given *tensor = input->capsule ? PyCapsule_GetPointer(input->capsule, "dltensor") : NULL;
	if (!tensor)
		return false;
	if (tensor->device != 1)
		return refuse(input, PyExc_ValueError, "is a tensor of another device than the CPU");
	input->type = tensor->code < sizeof(types) && tensor->lanes == 1 ? types[tensor->code] : 0;
	input->size = tensor->bits / 8;
	if (!input->type || (input->type == 'f' && input->size < 4))
		return refuse(input, PyExc_TypeError, "must hold floats, doubles or integers");
	input->data = (const char *)tensor->data + tensor->offset;
	*given = (given_shape){ .dimensions = tensor->dimensions };
	int64_t packed = input->size;
	for (int i = tensor->dimensions < MOST_DIMENSIONS ? tensor->dimensions : MOST_DIMENSIONS; i-- > 0;) {
		given->lengths[i] = tensor->shape[i];
		given->strides[i] = tensor->strides ? tensor->strides[i] * input->size : packed;
		packed *= tensor->shape[i];
	}
	return true;
}

bool cp_is_array(PyObject *value) { return PyObject_CheckBuffer(value) || PyObject_HasAttrString(value, "__dlpack__"); }

static bool open_array(cp_input *input, PyObject *value, given_shape *given)
{
	return PyObject_CheckBuffer(value) ? open_buffer(input, value, given) : open_tensor(input, value, given);
}

// ---- Rows of several dimensions ----

static int64_t product(const int64_t *lengths, int count)
{
	int64_t all = 1;
	for (int i = 0; i < count; i++)
		all *= lengths[i];
	return all;
}

/// Can dimensions from first to first + count - 1 be read as one, with the stride of the last?
static bool can_merge(const given_shape *given, int first, int count)
{
	for (int i = first + 1; i < first + count; i++)
		if (given->strides[i - 1] != given->strides[i] * given->lengths[i])
			return false;
	return true;
}

static double read_double(const char *at, char type, int size);

/// All values as doubles in order, in a copy.
static bool gather(cp_input *input, const given_shape *given)
{
	const int64_t count = input->rows * input->columns;
	double *copy = malloc(sizeof(double) * (size_t)(count + 1));
	if (!copy)
		return PyErr_NoMemory() != NULL;
	for (int64_t k = 0; k < count; k++) {
		int64_t left = k, offset = 0;
		for (int i = given->dimensions; i-- > 0; left /= given->lengths[i])
			offset += left % given->lengths[i] * given->strides[i];
		copy[k] = read_double(input->data + offset, input->type, input->size);
	}
	cp_take_doubles(input, copy, input->rows, input->columns);
	return true;
}

static bool refuse_shape(cp_input *input, const given_shape *given, const char *wanted)
{
	char shape[128] = "";
	size_t at = 0;
	for (int i = 0; i < given->dimensions && i < MOST_DIMENSIONS && at < 100; i++)
		at += (size_t)PyOS_snprintf(shape + at, sizeof shape - at, i ? ", %lld" : "%lld", (long long)given->lengths[i]);
	PyErr_Format(PyExc_ValueError, "%s has the shape (%s%s); it must be %s", input->name, shape,
		given->dimensions == 1 ? "," : "", wanted);
	return false;
}

bool cp_open_forms(cp_input *input, PyObject *value, const char *name, const cp_form *forms, int leading, const char *wanted)
{
	*input = (cp_input){ .name = name };
	given_shape given;
	if (!open_array(input, value, &given))
		return false;
	const cp_form *form = forms;
	for (; form->dimensions; form++) {
		const int outer = given.dimensions - form->dimensions;
		if (outer >= 1 && outer <= leading && given.dimensions <= MOST_DIMENSIONS &&
			product(given.lengths + outer, form->dimensions) == form->count && given.lengths[given.dimensions - 1] == form->last)
			break;
	}
	if (!form->dimensions)
		return refuse_shape(input, &given, wanted);
	const int outer = given.dimensions - form->dimensions;
	input->rows = product(given.lengths, outer);
	input->columns = form->count;
	input->breadth = outer == 2 ? given.lengths[1] : 0;
	input->row_stride = (Py_ssize_t)given.strides[outer - 1];
	input->column_stride = (Py_ssize_t)given.strides[given.dimensions - 1];
	if (input->type == '?')
		return refuse(input, PyExc_TypeError, "must hold numbers");
	return (can_merge(&given, 0, outer) && can_merge(&given, outer, form->dimensions)) || gather(input, &given);
}

/// One row of a sequence into numbers [columns].
static bool take_row(cp_input *input, PyObject *row, int least, double *numbers)
{
	if (least == 0)
		return cp_get_double(row, input->name, numbers);
	return cp_get_numbers(row, input->name, (int)input->columns, numbers);
}

/// Integers of Python in one dimension keep all their bits: ids of bodies have 64. False without an
/// exception where there are others among them.
static bool take_integers(cp_input *input, PyObject *all)
{
	uint64_t *numbers = input->copy;
	bool is_signed = false;
	for (Py_ssize_t i = 0; i < input->rows; i++) {
		PyObject *item = PyTuple_GetItem(all, i);
		if (!PyLong_Check(item))
			return false;
		numbers[i] = PyLong_AsUnsignedLongLong(item);
		if (numbers[i] == UINT64_MAX && PyErr_Occurred()) {
			PyErr_Clear();
			is_signed = true;
			numbers[i] = (uint64_t)PyLong_AsLongLong(item);
		}
		if (PyErr_Occurred()) {
			PyErr_Clear();
			return false;
		}
	}
	input->type = is_signed ? 'i' : 'u';
	return true;
}

/// A sequence of numbers, or of rows of numbers; all become doubles, or integers of 64 bits.
static bool open_sequence(cp_input *input, PyObject *value, int least, int most)
{
	PyObject *all = PyUnicode_Check(value) ? NULL : PySequence_Tuple(value);
	if (!all) {
		PyErr_Clear();
		PyErr_Format(PyExc_TypeError, "%s is %R; it must be an array", input->name, value);
		return false;
	}
	const Py_ssize_t rows = PyTuple_Size(all);
	PyObject *first = least && rows ? PyTuple_GetItem(all, 0) : NULL;
	Py_ssize_t columns = first && PySequence_Check(first) ? PySequence_Size(first) : most;
	if (least < most && first && (columns < least || columns > most)) {
		char text[48];
		say_rows(text, sizeof(text), least, most);
		PyErr_Format(PyExc_ValueError, "%s[0] has %zd numbers; %s must be %s", input->name, columns, input->name, text);
		Py_DECREF(all);
		return false;
	}
	if (columns < least || columns > most)
		columns = most; // a row of another length is named below
	input->columns = least ? columns : 1;
	input->rows = rows;
	input->type = 'f';
	input->size = sizeof(double);
	input->column_stride = sizeof(double);
	input->row_stride = (Py_ssize_t)((size_t)input->columns * sizeof(double));
	double *numbers = input->copy = malloc((size_t)(rows ? rows : 1) * (size_t)input->row_stride);
	input->data = input->copy;
	bool good = numbers != NULL;
	if (!good)
		PyErr_NoMemory();
	const bool is_done = good && least == 0 && rows && take_integers(input, all);
	for (Py_ssize_t i = 0; good && !is_done && i < rows; i++)
		good = take_row(input, PyTuple_GetItem(all, i), least, numbers + i * input->columns);
	Py_DECREF(all);
	return good;
}

bool cp_open_rows(cp_input *input, PyObject *value, const char *name, int least, int most)
{
	*input = (cp_input){ .name = name };
	if (!value) {
		PyErr_Format(PyExc_TypeError, "%s is missing", name);
		return false;
	}
	given_shape given;
	if (cp_is_array(value))
		return open_array(input, value, &given) && take_shape(input, &given, least, most);
	return open_sequence(input, value, least, most);
}

bool cp_open_input(cp_input *input, PyObject *value, const char *name, int columns)
{
	return cp_open_rows(input, value, name, columns, columns);
}

void cp_close_input(cp_input *input)
{
	if (input->has_buffer)
		PyBuffer_Release(&input->buffer);
	Py_XDECREF(input->capsule);
	free(input->copy);
	*input = (cp_input){ .name = input->name };
}

bool cp_has_rows(const cp_input *input, int64_t rows)
{
	if (input->rows == rows)
		return true;
	PyErr_Format(PyExc_ValueError, "%s has %lld rows; it must have %lld", input->name, (long long)input->rows, (long long)rows);
	return false;
}

// ---- Values of a wanted type ----

static double read_double(const char *at, char type, int size)
{
	if (type == 'f')
		return size == 8 ? *(const double *)at : (double)*(const float *)at;
	switch (type == 'u' || type == '?' ? size : -size) {
	case 1: return *(const uint8_t *)at;
	case 2: return *(const uint16_t *)at;
	case 4: return *(const uint32_t *)at;
	case 8: return (double)*(const uint64_t *)at;
	case -1: return *(const int8_t *)at;
	case -2: return *(const int16_t *)at;
	case -4: return *(const int32_t *)at;
	default: return (double)*(const int64_t *)at;
	}
}

/// An integer, or the whole number that a float of a sequence is. False where it is none, or not
/// within least and most. Numbers of 64 bits without a sign keep their bits.
static bool read_integer(const cp_input *input, const char *at, int64_t least, uint64_t most, int64_t *result)
{
	if (input->type == 'f') {
		const double number = read_double(at, 'f', input->size);
		*result = number >= -9.2e18 && number <= 9.2e18 ? (int64_t)number : 0;
		return (double)*result == number && *result >= least && (*result < 0 || (uint64_t)*result <= most);
	}
	if (input->type == 'u' && input->size == 8) {
		const uint64_t number = *(const uint64_t *)at;
		*result = (int64_t)number;
		return number <= most;
	}
	*result = input->size == 8 ? *(const int64_t *)at : (int64_t)read_double(at, input->type, input->size);
	return *result >= least && (*result < 0 || (uint64_t)*result <= most);
}

static bool is_packed(const cp_input *input, char type, int size)
{
	return input->type == type && input->size == size &&
		(input->rows == 0 ||
			(input->column_stride == size && (input->rows == 1 || input->row_stride == size * input->columns))) &&
		(uintptr_t)input->data % (size_t)size == 0;
}

/// Memory for all values in place of those that were given. NULL with MemoryError.
static void *new_copy(cp_input *input, size_t size)
{
	const size_t count = (size_t)(input->rows * input->columns);
	void *copy = count <= SIZE_MAX / 2 / size ? malloc(count ? count * size : size) : NULL;
	return copy ? copy : PyErr_NoMemory();
}

static void take_copy(cp_input *input, void *copy, char type, int size)
{
	free(input->copy);
	input->copy = copy;
	input->data = copy;
	input->type = type;
	input->size = size;
	input->column_stride = size;
	input->row_stride = (Py_ssize_t)(size * input->columns);
}

void cp_take_doubles(cp_input *input, double *owned, int64_t rows, int64_t columns)
{
	input->rows = rows;
	input->columns = columns;
	take_copy(input, owned, 'f', sizeof(double));
}

static bool is_real(const cp_input *input) { return input->type != '?' || refuse(input, PyExc_TypeError, "must hold numbers"); }

const double *cp_as_doubles(cp_input *input)
{
	if (is_packed(input, 'f', 8))
		return (const double *)input->data;
	double *copy = is_real(input) ? new_copy(input, sizeof(double)) : NULL;
	if (!copy)
		return NULL;
	for (int64_t i = 0; i < input->rows; i++)
		for (int64_t j = 0; j < input->columns; j++)
			copy[i * input->columns + j] =
				read_double(input->data + i * input->row_stride + j * input->column_stride, input->type, input->size);
	take_copy(input, copy, 'f', 8);
	return copy;
}

const float *cp_as_floats(cp_input *input)
{
	if (is_packed(input, 'f', 4))
		return (const float *)input->data;
	float *copy = is_real(input) ? new_copy(input, sizeof(float)) : NULL;
	if (!copy)
		return NULL;
	for (int64_t i = 0; i < input->rows; i++)
		for (int64_t j = 0; j < input->columns; j++)
			copy[i * input->columns + j] =
				(float)read_double(input->data + i * input->row_stride + j * input->column_stride, input->type, input->size);
	take_copy(input, copy, 'f', 4);
	return copy;
}

const float *cp_open_region(cp_input *heights, PyObject *const values[3], carom_field_region *region)
{
	int64_t column, row;
	const float *floats = NULL;
	if (!cp_open_rows(heights, values[0], "heights", 1, INT32_MAX) || !(floats = cp_as_floats(heights)) ||
		!cp_get_int(values[1], "first_column", INT32_MIN, INT32_MAX, &column) ||
		!cp_get_int(values[2], "first_row", INT32_MIN, INT32_MAX, &row))
		return NULL;
	*region = (carom_field_region){ (int32_t)column, (int32_t)row, (int32_t)heights->columns,
		heights->rows > INT32_MAX ? -1 : (int32_t)heights->rows };
	return floats;
}

/// A number that is no integer of size bytes: it has a part behind the point, or is too large.
static void refuse_number(const cp_input *input, int64_t i, int64_t j, int size)
{
	const char *at = input->data + i * input->row_stride + j * input->column_stride;
	const double number = read_double(at, input->type, input->size);
	if (input->type == 'f' && number != floor(number))
		PyErr_Format(PyExc_TypeError, "%s[%lld] holds a number that is no integer", input->name, (long long)i);
	else
		PyErr_Format(PyExc_OverflowError, "%s[%lld] is no integer of %d bits", input->name, (long long)i, 8 * size);
}

/// Integers of size bytes. Floats are refused in a buffer, since they are a slip there, and taken
/// in a sequence of Python, where all numbers are doubles here.
static const void *as_integers(cp_input *input, char type, int size, int64_t least, uint64_t most)
{
	if (is_packed(input, type, size))
		return input->data;
	if ((input->type == 'f' && !input->copy) || input->type == '?') {
		refuse(input, PyExc_TypeError, "must hold integers");
		return NULL;
	}
	char *copy = new_copy(input, (size_t)size);
	for (int64_t k = 0; copy && k < input->rows * input->columns; k++) {
		const int64_t i = k / input->columns, j = k % input->columns;
		int64_t number;
		if (!read_integer(input, input->data + i * input->row_stride + j * input->column_stride, least, most, &number)) {
			refuse_number(input, i, j, size);
			free(copy);
			return NULL;
		}
		if (size == 8)
			((int64_t *)(void *)copy)[k] = number;
		else
			((int32_t *)(void *)copy)[k] = (int32_t)number;
	}
	if (copy)
		take_copy(input, copy, type, size);
	return copy;
}

const int32_t *cp_as_int32(cp_input *input) { return as_integers(input, 'i', 4, INT32_MIN, INT32_MAX); }
const uint32_t *cp_as_uint32(cp_input *input) { return as_integers(input, 'u', 4, 0, UINT32_MAX); }
const uint64_t *cp_as_uint64(cp_input *input) { return as_integers(input, 'u', 8, 0, UINT64_MAX); }

bool cp_as_strided(cp_input *input, carom_strided *strided)
{
	const bool in_place = input->type == 'f' && input->column_stride == input->size && input->row_stride != 0;
	if (!in_place && !cp_as_doubles(input))
		return false;
	*strided = (carom_strided){ input->data, input->row_stride, input->size == 8 ? CAROM_FLOAT64 : CAROM_FLOAT32 };
	return true;
}

bool cp_open_output(Py_buffer *buffer, PyObject *value, const char *name, int64_t count, carom_result **results)
{
	*results = NULL;
	if (!cp_is_given(value))
		return true;
	if (PyObject_GetBuffer(value, buffer, PyBUF_FORMAT | PyBUF_CONTIG) < 0) {
		PyErr_Clear();
		PyErr_Format(PyExc_ValueError, "%s must be a packed array of %lld int32 that can be written", name, (long long)count);
		return false;
	}
	const char *format = buffer->format ? buffer->format : "B";
	if (buffer->ndim == 1 && buffer->shape[0] == count && buffer->itemsize == 4 && strchr("il", format[strlen(format) - 1])) {
		*results = buffer->buf;
		return true;
	}
	PyBuffer_Release(buffer);
	PyErr_Format(PyExc_ValueError, "%s must be a packed array of %lld int32 that can be written", name, (long long)count);
	return false;
}
