// Poses and motions that calls are given, one by one and by the array. Each form that a single call
// takes is taken by the batches too: cp_open_places is the one way in.
#include "binding.h"

#include <stdlib.h>

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

/// The pose of a matrix. False with ValueError where it does more than turn and move.
static bool take_matrix(const double m[16], const char *name, carom_pose *pose)
{
	if (!is_rigid(m)) {
		PyErr_Format(PyExc_ValueError, "%s is no matrix that turns and moves alone", name);
		return false;
	}
	*pose = (carom_pose){ { m[3], m[7], m[11] }, matrix_rotation(m) };
	return true;
}

/// A sequence of 3 or 4 rows of 4 numbers.
static bool get_matrix(PyObject *value, const char *name, int rows, carom_pose *pose)
{
	double m[16] = { [15] = 1 };
	for (int i = 0; i < rows; i++) {
		PyObject *row = PySequence_GetItem(value, i);
		const bool good = row && cp_get_numbers(row, name, 4, &m[4 * i]);
		Py_XDECREF(row);
		if (!good)
			return false;
	}
	return take_matrix(m, name, pose);
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

/// How many items a value has as a sequence; -1: it is none.
static Py_ssize_t length_of(PyObject *value)
{
	return PyUnicode_Check(value) || !PySequence_Check(value) ? -1 : PySequence_Size(value);
}

static carom_pose pose_of_numbers(const double n[7])
{
	return (carom_pose){ { n[0], n[1], n[2] }, { n[3], n[4], n[5], n[6] } };
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
	const Py_ssize_t length = length_of(value);
	if (length == 2)
		return get_pair(value, name, pose);
	if (length == 3 || length == 4)
		return get_matrix(value, name, (int)length, pose);
	double numbers[16];
	if (length == 16)
		return cp_get_numbers(value, name, 16, numbers) && take_matrix(numbers, name, pose);
	if (length == 7) {
		const bool good = cp_get_numbers(value, name, 7, numbers);
		*pose = good ? pose_of_numbers(numbers) : *pose;
		return good;
	}
	PyErr_Clear();
	PyErr_Format(PyExc_TypeError,
		"%s must be a Pose, (position, orientation), seven numbers, or a matrix of 4 x 4 or 3 x 4, not %R", name, value);
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
	const Py_ssize_t length = length_of(value);
	double n[14];
	if (length == 14) {
		if (!cp_get_numbers(value, name, 14, n))
			return false;
		*motion = (carom_motion){ pose_of_numbers(n), pose_of_numbers(n + 7) };
		return true;
	}
	if (length != 2) {
		PyErr_Clear();
		PyErr_Format(PyExc_TypeError, "%s must be a Motion, a pair of poses, or 14 numbers", name);
		return false;
	}
	PyObject *begin = PySequence_GetItem(value, 0);
	PyObject *end = begin ? PySequence_GetItem(value, 1) : NULL;
	const bool good = end && cp_get_pose(state, begin, name, &motion->begin) && cp_get_pose(state, end, name, &motion->end);
	Py_XDECREF(end);
	Py_XDECREF(begin);
	return good;
}

// ---- By the array ----

/// Matrices become poses: rows of 12 or 16 numbers for each of them, several in a row for motions.
static bool take_matrices(cp_input *input, int columns, int size)
{
	const double *given = cp_as_doubles(input);
	const int64_t count = given ? input->rows * (columns / 7) : 0;
	carom_pose *poses = given ? malloc(sizeof(*poses) * (size_t)(count + 1)) : NULL;
	if (given && !poses)
		PyErr_NoMemory();
	char name[64];
	for (int64_t i = 0; poses && i < count; i++) {
		double m[16] = { [15] = 1 };
		memcpy(m, given + i * size, sizeof(double) * (size_t)size);
		PyOS_snprintf(name, sizeof name, "%s[%lld]", input->name, (long long)(i / (columns / 7)));
		if (!take_matrix(m, name, &poses[i])) {
			free(poses);
			return false;
		}
	}
	if (poses)
		cp_take_doubles(input, (double *)(void *)poses, input->rows, columns);
	return poses != NULL;
}

/// A sequence with a pose or a motion in any form for each query.
static bool take_places(cp_state *state, cp_input *input, PyObject *value, int columns)
{
	PyObject *all = PyUnicode_Check(value) ? NULL : PySequence_Tuple(value);
	if (!all) {
		PyErr_Clear();
		PyErr_Format(PyExc_TypeError, "%s is %R; it must be an array or a sequence of %s", input->name, value,
			columns == 7 ? "poses" : "motions");
		return false;
	}
	const Py_ssize_t rows = PyTuple_Size(all);
	double *places = malloc(sizeof(double) * (size_t)(columns * rows + 1));
	bool good = places || PyErr_NoMemory();
	char name[64];
	for (Py_ssize_t i = 0; good && i < rows; i++) {
		PyObject *item = PyTuple_GetItem(all, i);
		PyOS_snprintf(name, sizeof name, "%s[%lld]", input->name, (long long)i);
		good = columns == 7 ? cp_get_pose(state, item, name, (carom_pose *)(void *)(places + i * columns))
							: cp_get_motion(state, item, name, (carom_motion *)(void *)(places + i * columns));
	}
	Py_DECREF(all);
	if (good)
		cp_take_doubles(input, places, rows, columns);
	else
		free(places);
	return good;
}

bool cp_open_places(cp_state *state, cp_input *input, PyObject *value, const char *name, int columns)
{
	static const cp_form poses[] = { { 1, 7, 7 }, { 2, 16, 4 }, { 2, 12, 4 }, { 1, 16, 16 }, { 0, 0, 0 } };
	static const cp_form motions[] = { { 1, 14, 14 }, { 2, 14, 7 }, { 3, 32, 4 }, { 3, 24, 4 }, { 0, 0, 0 } };
	*input = (cp_input){ .name = name };
	if (!value) {
		PyErr_Format(PyExc_TypeError, "%s is missing", name);
		return false;
	}
	if (!cp_is_array(value))
		return take_places(state, input, value, columns);
	if (!cp_open_forms(input, value, name, columns == 7 ? poses : motions, 1,
			columns == 7 ? "(n, 7), (n, 4, 4), (n, 3, 4) or (n, 16)" : "(n, 14), (n, 2, 7), (n, 2, 4, 4) or (n, 2, 3, 4)"))
		return false;
	if (input->columns == columns)
		return cp_as_doubles(input) != NULL;
	return take_matrices(input, columns, (int)(input->columns / (columns / 7)));
}
