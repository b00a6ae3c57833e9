// Arguments of calls: names, numbers, shapes, settings. Poses are in pose_input.c.
#include "binding.h"

bool cp_arguments(const char *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, const char *const *names,
	int required, PyObject **values)
{
	Py_ssize_t all = 0;
	for (; names[all]; all++)
		values[all] = all < count ? args[all] : NULL;
	if (count > all) {
		PyErr_Format(PyExc_TypeError, "%s takes at most %zd arguments (%zd given)", function, all, count);
		return false;
	}
	for (Py_ssize_t k = 0; keywords && k < PyTuple_Size(keywords); k++) {
		PyObject *keyword = PyTuple_GetItem(keywords, k);
		Py_ssize_t i = 0;
		while (names[i] && PyUnicode_CompareWithASCIIString(keyword, names[i]) != 0)
			i++;
		if (!names[i] || values[i]) {
			PyErr_Format(PyExc_TypeError, names[i] ? "%s got %U twice" : "%s has no argument %U", function, keyword);
			return false;
		}
		values[i] = args[count + k];
	}
	for (int i = 0; i < required; i++) {
		if (!values[i]) {
			PyErr_Format(PyExc_TypeError, "%s needs the argument %s", function, names[i]);
			return false;
		}
	}
	return true;
}

// ---- Numbers ----

bool cp_get_double(PyObject *value, const char *name, double *result)
{
	*result = PyFloat_AsDouble(value);
	if (*result != -1 || !PyErr_Occurred())
		return true;
	if (PyErr_ExceptionMatches(PyExc_TypeError))
		PyErr_Format(PyExc_TypeError, "%s is %R; it must be a number", name, value);
	return false;
}

bool cp_get_bool(PyObject *value, const char *name, bool *result)
{
	(void)name;
	const int truth = PyObject_IsTrue(value);
	*result = truth > 0;
	return truth >= 0;
}

/// The int that value is or stands for (numpy's too), with an error that names the argument.
static PyObject *as_int(PyObject *value, const char *name)
{
	PyObject *number = PyNumber_Index(value);
	if (!number && PyErr_ExceptionMatches(PyExc_TypeError))
		PyErr_Format(PyExc_TypeError, "%s is %R; it must be an int", name, value);
	return number;
}

bool cp_get_int(PyObject *value, const char *name, int64_t least, int64_t most, int64_t *result)
{
	PyObject *number = as_int(value, name);
	if (!number)
		return false;
	*result = PyLong_AsLongLong(number);
	Py_DECREF(number);
	const bool too_long = *result == -1 && PyErr_Occurred();
	if (!too_long && *result >= least && *result <= most)
		return true;
	PyErr_Format(PyExc_OverflowError, "%s is %R; it must be from %lld to %lld", name, value, (long long)least, (long long)most);
	return false;
}

bool cp_get_u64(PyObject *value, const char *name, uint64_t *result)
{
	PyObject *number = as_int(value, name);
	if (!number)
		return false;
	*result = PyLong_AsUnsignedLongLong(number);
	Py_DECREF(number);
	if (*result != UINT64_MAX || !PyErr_Occurred())
		return true;
	PyErr_Format(PyExc_OverflowError, "%s is %R; it must be from 0 to 2**64 - 1", name, value);
	return false;
}

bool cp_get_id(PyObject *value, carom_body_id *id)
{
	uint64_t number = 0;
	if (PyLong_Check(value)) { // as it nearly always is
		number = PyLong_AsUnsignedLongLong(value);
		if (number == UINT64_MAX && PyErr_Occurred()) {
			PyErr_Format(PyExc_OverflowError, "the body id is %R; it must be from 0 to 2**64 - 1", value);
			return false;
		}
	} else if (value != Py_None && !cp_get_u64(value, "the body id", &number)) {
		return false;
	}
	*id = (carom_body_id){ .index1 = (uint32_t)number, .generation = (uint32_t)(number >> 32) };
	return true;
}

PyObject *cp_new_id(carom_body_id id) { return PyLong_FromUnsignedLongLong((uint64_t)id.generation << 32 | id.index1); }

bool cp_get_numbers(PyObject *value, const char *name, int count, double *result)
{
	const Py_ssize_t length = PyUnicode_Check(value) || !PySequence_Check(value) ? -1 : PySequence_Size(value);
	if (length != count) {
		PyErr_Clear();
		PyErr_Format(PyExc_TypeError, "%s is %R; it must be a sequence of %d numbers", name, value, count);
		return false;
	}
	for (int i = 0; i < count; i++) {
		PyObject *item = PyTuple_Check(value) ? Py_XNewRef(PyTuple_GetItem(value, i)) : PySequence_GetItem(value, i);
		const bool good = item && cp_get_double(item, name, &result[i]);
		Py_XDECREF(item);
		if (!good)
			return false;
	}
	return true;
}

bool cp_get_vec3(PyObject *value, const char *name, carom_vec3 *result)
{
	double numbers[3];
	if (!cp_get_numbers(value, name, 3, numbers))
		return false;
	*result = (carom_vec3){ numbers[0], numbers[1], numbers[2] };
	return true;
}

PyObject *cp_new_vec3(carom_vec3 v) { return Py_BuildValue("(ddd)", v.x, v.y, v.z); }

// ---- Shapes, filters, settings ----

bool cp_get_shape(cp_state *state, PyObject *value, const char *name, carom_shape *shape)
{
	const carom_shape *record = cp_as_record(state, CP_shape, value);
	if (record) {
		*shape = *record;
		return true;
	}
	if (Py_TYPE(value) == state->mesh_type) {
		*shape = (carom_shape){ .type = CAROM_MESH, .mesh = ((cp_mesh *)value)->mesh };
		return true;
	}
	PyErr_Format(PyExc_TypeError, "%s is %R; it must be a Shape or a Mesh", name, value);
	return false;
}

/// Asked by threads of the library, or by the one that asks the query.
static bool ask_filter(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	cp_filter *filter = user;
	const PyGILState_STATE gil = PyGILState_Ensure();
	PyObject *answer = filter->failure
		? NULL
		: PyObject_CallFunction(filter->function, "KiK", (unsigned long long)((uint64_t)body.generation << 32 | body.index1),
			  (int)shape, (unsigned long long)user_data);
	const int truth = answer ? PyObject_IsTrue(answer) : -1;
	Py_XDECREF(answer);
	if (truth < 0 && !filter->failure)
		cp_keep_failure(&filter->failure);
	PyGILState_Release(gil);
	return truth > 0;
}

bool cp_get_filter(cp_state *state, PyObject *value, cp_filter *filter)
{
	*filter = (cp_filter){ .given = NULL };
	if (!cp_is_given(value))
		return true;
	const carom_query_filter *record = cp_as_record(state, CP_query_filter, value);
	if (!record) {
		PyErr_Format(PyExc_TypeError, "filter is %R; it must be a QueryFilter", value);
		return false;
	}
	PyObject *keep = ((cp_record *)value)->keep;
	filter->data = *record;
	filter->given = &filter->data;
	filter->function = keep ? PyDict_GetItemString(keep, "body_filter") : NULL;
	if (filter->function) {
		filter->data.body_filter = ask_filter;
		filter->data.filter_user = filter;
	}
	return true;
}

PyObject *cp_end_filter(cp_filter *filter, PyObject *answer)
{
	if (!filter->failure)
		return answer;
	Py_XDECREF(answer);
	PyErr_SetObject((PyObject *)Py_TYPE(filter->failure), filter->failure);
	Py_CLEAR(filter->failure);
	return NULL;
}

bool cp_get_settings(cp_state *state, int layout, const char *function, PyObject *record, PyObject *const *values,
	PyObject *keywords, void *data, PyObject **keep)
{
	const void *given = cp_is_given(record) ? cp_as_record(state, layout, record) : NULL;
	*keep = NULL;
	if (cp_is_given(record) && !given) {
		PyErr_Format(PyExc_TypeError, "%s: the settings must be a %s or keywords", function, cp_layouts[layout].name);
		return false;
	}
	if (given) {
		memcpy(data, given, cp_layouts[layout].size);
		PyObject *kept = ((cp_record *)record)->keep;
		if (kept && !(*keep = PyDict_Copy(kept)))
			return false;
	} else {
		cp_layouts[layout].start(data);
	}
	for (Py_ssize_t i = 0; keywords && i < PyTuple_Size(keywords); i++)
		if (!cp_set_named(state, layout, data, keep, PyTuple_GetItem(keywords, i), values[i]))
			return false;
	return true;
}
