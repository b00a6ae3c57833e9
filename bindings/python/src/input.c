// Arguments of calls: names, numbers, places, shapes, settings.
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

// ---- Places ----

/// The rotation of a matrix (rows of columns 0 to 2) as a quaternion, by its largest part.
static carom_quat matrix_rotation(const double m[16])
{
	const double trace = m[0] + m[5] + m[10];
	const double parts[4] = { m[0] - m[5] - m[10], m[5] - m[0] - m[10], m[10] - m[0] - m[5], trace };
	int most = 3;
	for (int i = 0; i < 3; i++)
		if (parts[i] > parts[most])
			most = i;
	const double root = sqrt(1 + parts[most]) * 2;
	const double yz = m[9] - m[6], zx = m[2] - m[8], xy = m[4] - m[1];
	const double sum_xy = m[4] + m[1], sum_zx = m[2] + m[8], sum_yz = m[9] + m[6];
	switch (most) {
	case 0: return (carom_quat){ root / 4, sum_xy / root, sum_zx / root, yz / root };
	case 1: return (carom_quat){ sum_xy / root, root / 4, sum_yz / root, zx / root };
	case 2: return (carom_quat){ sum_zx / root, sum_yz / root, root / 4, xy / root };
	default: return (carom_quat){ yz / root, zx / root, xy / root, root / 4 };
	}
}

/// A matrix that turns and moves, and does nothing else.
static bool is_rigid(const double m[16])
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j <= i; j++) {
			const double product = m[4 * i] * m[4 * j] + m[4 * i + 1] * m[4 * j + 1] + m[4 * i + 2] * m[4 * j + 2];
			if (!(fabs(product - (i == j)) < 1e-3))
				return false;
		}
	const double volume =
		m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) + m[2] * (m[4] * m[9] - m[5] * m[8]);
	return volume > 0 && m[12] == 0 && m[13] == 0 && m[14] == 0 && m[15] == 1;
}

static bool get_matrix(PyObject *value, const char *name, carom_pose *pose)
{
	double m[16];
	for (int i = 0; i < 4; i++) {
		PyObject *row = PySequence_GetItem(value, i);
		const bool good = row && cp_get_numbers(row, name, 4, &m[4 * i]);
		Py_XDECREF(row);
		if (!good)
			return false;
	}
	if (!is_rigid(m)) {
		PyErr_Format(PyExc_ValueError, "%s is no matrix that turns and moves alone", name);
		return false;
	}
	*pose = (carom_pose){ { m[3], m[7], m[11] }, matrix_rotation(m) };
	return true;
}

/// (position, orientation); an orientation of None: no turn.
static bool get_pair(PyObject *value, const char *name, carom_pose *pose)
{
	PyObject *position = PySequence_GetItem(value, 0);
	PyObject *turn = position ? PySequence_GetItem(value, 1) : NULL;
	double quat[4] = { 0, 0, 0, 1 };
	char of_position[64], of_turn[64];
	PyOS_snprintf(of_position, sizeof of_position, "%s.position", name);
	PyOS_snprintf(of_turn, sizeof of_turn, "%s.orientation", name);
	const bool good = turn && cp_get_vec3(position, of_position, &pose->position) &&
		(turn == Py_None || cp_get_numbers(turn, of_turn, 4, quat));
	pose->orientation = (carom_quat){ quat[0], quat[1], quat[2], quat[3] };
	Py_XDECREF(turn);
	Py_XDECREF(position);
	return good;
}

bool cp_get_pose(cp_state *state, PyObject *value, const char *name, carom_pose *pose)
{
	*pose = carom_pose_identity();
	if (!cp_is_given(value))
		return true;
	const carom_pose *record = cp_as_record(state, CP_pose, value);
	if (record) {
		*pose = *record;
		return true;
	}
	const Py_ssize_t length = PyUnicode_Check(value) || !PySequence_Check(value) ? -1 : PySequence_Size(value);
	if (length == 2)
		return get_pair(value, name, pose);
	if (length == 4)
		return get_matrix(value, name, pose);
	double numbers[7];
	if (length == 7) {
		const bool good = cp_get_numbers(value, name, 7, numbers);
		*pose = (carom_pose){ { numbers[0], numbers[1], numbers[2] }, { numbers[3], numbers[4], numbers[5], numbers[6] } };
		return good;
	}
	PyErr_Clear();
	PyErr_Format(PyExc_TypeError, "%s must be a Pose, (position, orientation), seven numbers, or a matrix of 4 x 4, not %R",
		name, value);
	return false;
}

bool cp_get_motion(cp_state *state, PyObject *value, const char *name, carom_motion *motion)
{
	*motion = (carom_motion){ carom_pose_identity(), carom_pose_identity() };
	if (!cp_is_given(value))
		return true;
	const carom_motion *record = cp_as_record(state, CP_motion, value);
	if (record) {
		*motion = *record;
		return true;
	}
	if (!PySequence_Check(value) || PySequence_Size(value) != 2) {
		PyErr_Clear();
		PyErr_Format(PyExc_TypeError, "%s must be a Motion or a pair of poses", name);
		return false;
	}
	PyObject *begin = PySequence_GetItem(value, 0);
	PyObject *end = begin ? PySequence_GetItem(value, 1) : NULL;
	const bool good = end && cp_get_pose(state, begin, name, &motion->begin) && cp_get_pose(state, end, name, &motion->end);
	Py_XDECREF(end);
	Py_XDECREF(begin);
	return good;
}

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

bool cp_get_filter(cp_state *state, PyObject *value, const carom_query_filter **filter)
{
	*filter = cp_is_given(value) ? cp_as_record(state, CP_query_filter, value) : NULL;
	if (*filter || !cp_is_given(value))
		return true;
	PyErr_Format(PyExc_TypeError, "filter is %R; it must be a QueryFilter", value);
	return false;
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
