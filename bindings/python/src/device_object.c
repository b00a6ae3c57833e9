// carom.Device and list_devices: graphics devices that detectors run on (carom/vulkan.h).
#include "binding.h"

#include <stdlib.h>

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	carom_device_def def;
	PyObject *keep;
	cp_device *device =
		(cp_device *)cp_new_detector(type, args, keywords, CP_device_def, &def, offsetof(cp_device, context), &keep);
	if (!device)
		return NULL;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_create_device(device->context->context, &def, &device->device);
	Py_END_ALLOW_THREADS Py_XDECREF(keep); // held the texts
	if (result == CAROM_SUCCESS)
		return (PyObject *)device;
	cp_raise(PyType_GetModuleState(type), device->context->context, result);
	Py_DECREF((PyObject *)device);
	return NULL;
}

/// Its file of kernels is written.
static void destroy(cp_device *device)
{
	carom_device *end = device->device;
	device->device = NULL;
	Py_BEGIN_ALLOW_THREADS carom_destroy_device(end);
	Py_END_ALLOW_THREADS
}

static void device_dealloc(PyObject *self)
{
	cp_device *device = (cp_device *)self;
	destroy(device);
	cp_free_detector(self, device->context);
}

// ---- Those who use it ----

cp_device *cp_get_device(cp_state *state, PyObject *value, const char *name)
{
	if (Py_TYPE(value) != state->device_type)
		PyErr_Format(PyExc_TypeError, "%s is %R; it must be a Device", name, value);
	else if (!((cp_device *)value)->device)
		PyErr_Format(PyExc_ValueError, "%s: the device is closed", name);
	else
		return (cp_device *)value;
	return NULL;
}

int32_t cp_get_devices(cp_state *state, PyObject *value, cp_device *devices[CAROM_MAX_DEVICES])
{
	const Py_ssize_t count = PySequence_Check(value) ? PySequence_Size(value) : -1;
	if (count < 0 || count > CAROM_MAX_DEVICES) {
		if (!PyErr_Occurred())
			PyErr_Format(count < 0 ? PyExc_TypeError : PyExc_ValueError,
				"devices is %R; it must be a sequence of at most %d devices", value, CAROM_MAX_DEVICES);
		return -1;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = PySequence_GetItem(value, i);
		devices[i] = item ? cp_get_device(state, item, "devices") : NULL;
		Py_XDECREF(item); // the sequence, which the caller holds, keeps it
		if (!devices[i])
			return -1;
	}
	return (int32_t)count;
}

cp_device *cp_hold_device(PyObject *keep)
{
	cp_device *device = keep ? (cp_device *)PyDict_GetItemString(keep, "device") : NULL;
	if (device)
		device->users++;
	return (cp_device *)Py_XNewRef((PyObject *)device);
}

void cp_let_device_go(cp_device *device)
{
	if (device)
		device->users--;
	Py_XDECREF((PyObject *)device);
}

// ---- Methods ----

static bool is_open(const cp_device *device)
{
	if (device->device)
		return true;
	PyErr_SetString(PyExc_ValueError, "the device is closed");
	return false;
}

static PyObject *device_close(PyObject *self, PyObject *none)
{
	(void)none;
	cp_device *device = (cp_device *)self;
	if (device->users)
		return PyErr_Format(PyExc_ValueError, "%zd objects that use the device are still there", device->users);
	destroy(device);
	Py_RETURN_NONE;
}

static PyObject *device_enter(PyObject *self, PyObject *none)
{
	(void)none;
	return Py_NewRef(self);
}

static PyObject *device_exit(PyObject *self, PyObject *args)
{
	(void)args;
	return device_close(self, NULL);
}

static PyObject *device_kernels(PyObject *self, PyObject *none)
{
	(void)none;
	cp_device *device = (cp_device *)self;
	if (!is_open(device))
		return NULL;
	const int32_t count = carom_device_get_kernels(device->device, NULL, 0);
	carom_kernel_time *times = malloc(sizeof(*times) * ((size_t)count + 1));
	PyObject *all = times ? PyList_New(0) : PyErr_NoMemory();
	const int32_t known = all ? carom_device_get_kernels(device->device, times, count) : 0;
	for (int32_t i = 0; all && i < count && i < known; i++) {
		PyObject *one = cp_new_record(cp_state_of(self), CP_kernel_time, &times[i], NULL);
		if (!one || PyList_Append(all, one) < 0)
			Py_CLEAR(all);
		Py_XDECREF(one);
	}
	free(times);
	return all;
}

static PyObject *device_read(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "buffer", "at", "size", NULL };
	cp_device *device = (cp_device *)self;
	cp_state *state = cp_state_of(self);
	PyObject *values[3];
	int64_t at = 0, size = -1;
	if (!is_open(device) || !cp_arguments("read", args, count, keywords, names, 1, values) ||
		(values[1] && !cp_get_int(values[1], "at", 0, INT64_MAX, &at)) ||
		(cp_is_given(values[2]) && !cp_get_int(values[2], "size", 0, INT64_MAX, &size)))
		return NULL;
	const carom_device_buffer *given = cp_as_record(state, CP_device_buffer, values[0]);
	if (!given)
		return PyErr_Format(PyExc_TypeError, "buffer is %R; it must be a DeviceBuffer", values[0]);
	const carom_device_buffer buffer = *given;
	if ((uint64_t)at > buffer.size || (size >= 0 && (uint64_t)size > buffer.size - (uint64_t)at))
		return PyErr_Format(
			PyExc_ValueError, "at and size must lie within the %llu bytes of the buffer", (unsigned long long)buffer.size);
	const uint64_t bytes = size < 0 ? buffer.size - (uint64_t)at : (uint64_t)size;
	PyObject *copy = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);
	if (!copy)
		return NULL;
	char *to = PyByteArray_AsString(copy);
	carom_result result;
	device->users++; // nobody closes it meanwhile
	Py_BEGIN_ALLOW_THREADS result = carom_device_read(device->device, &buffer, (uint64_t)at, bytes, to);
	Py_END_ALLOW_THREADS device->users--;
	if (!result)
		return copy;
	Py_DECREF(copy);
	return cp_raise(state, device->context->context, result);
}

static PyObject *get_info(PyObject *self, void *none)
{
	(void)none;
	cp_device *device = (cp_device *)self;
	if (!is_open(device))
		return NULL;
	const carom_device_info info = carom_device_get_info(device->device);
	return cp_new_record(cp_state_of(self), CP_device_info, &info, NULL);
}

static PyObject *get_stats(PyObject *self, void *none)
{
	(void)none;
	cp_device *device = (cp_device *)self;
	if (!is_open(device))
		return NULL;
	const carom_device_stats stats = carom_device_get_stats(device->device);
	return cp_new_record(cp_state_of(self), CP_device_stats, &stats, NULL);
}

static PyObject *device_repr(PyObject *self)
{
	carom_device *device = ((cp_device *)self)->device;
	if (!device)
		return PyUnicode_FromString("<carom.Device: closed>");
	const carom_device_info info = carom_device_get_info(device);
	return PyUnicode_FromFormat("<carom.Device: %s, %s>", info.name, carom_device_kind_name(info.kind));
}

// ---- The list ----

static PyObject *list_devices(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = { "context", NULL };
	cp_state *state = PyModule_GetState(module);
	PyObject *values[1], *all = NULL;
	carom_device_info infos[64];
	int32_t there = 0;
	if (!cp_arguments("list_devices", args, count, keywords, names, 0, values))
		return NULL;
	cp_context *context = cp_use_context(state, values[0]);
	if (!context)
		return NULL;
	carom_result result;
	Py_BEGIN_ALLOW_THREADS result = carom_list_devices(context->context, infos, 64, &there);
	Py_END_ALLOW_THREADS if (result) cp_raise(state, context->context, result);
	else all = PyList_New(0);
	for (int32_t i = 0; all && i < there && i < 64; i++) {
		PyObject *one = cp_new_record(state, CP_device_info, &infos[i], NULL);
		if (!one || PyList_Append(all, one) < 0)
			Py_CLEAR(all);
		Py_XDECREF(one);
	}
	Py_DECREF((PyObject *)context);
	return all;
}

PyMethodDef cp_device_functions[] = {
	{ "list_devices", CP_NAMED(list_devices),
		"list_devices($module, /, context=None)\n--\n\nThe graphics devices of this machine, in the order of their indices. None is no "
		"error." },
	{ NULL, NULL, 0, NULL },
};

// ---- The type ----

static PyMethodDef methods[] = {
	{ "close", device_close, METH_NOARGS,
		"close($self, /)\n--\n\nGive it back, and write its file of kernels. ValueError while something that uses it is there." },
	{ "__enter__", device_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nThe device itself." },
	{ "__exit__", device_exit, METH_VARARGS, "__exit__($self, /, *args)\n--\n\nclose()." },
	{ "kernels", device_kernels, METH_NOARGS,
		"kernels($self, /)\n--\n\nThe kernels that have run, a KernelTime each. Not while another thread uses the device." },
	{ "read", CP_NAMED(device_read),
		CP_DOC("read($self, /, buffer, at=0, size=None)",
			carom_device_read) " A bytearray, for numpy.frombuffer; size None: all that follows." },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef attributes[] = {
	{ "info", get_info, NULL, DOC_carom_device_get_info, NULL },
	{ "stats", get_stats, NULL, DOC_carom_device_get_stats, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot slots[] = { { Py_tp_new, (void *)device_new }, { Py_tp_dealloc, (void *)device_dealloc },
	{ Py_tp_repr, (void *)device_repr }, { Py_tp_methods, methods }, { Py_tp_getset, attributes },
	{ Py_tp_doc,
		"Device(settings=None, /, *, context=None, **keywords)\n--\n\nA graphics device, for detectors to run on: Spheres(method='device', "
		"device=...) and Grains. Settings are those of DeviceDef, by name. It must outlive what uses it, which holds it." },
	{ 0, NULL } };
static PyType_Spec spec = { "carom.Device", sizeof(cp_device), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots };

int cp_add_device(PyObject *module, cp_state *state)
{
	state->device_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
	return state->device_type ? PyModule_AddObjectRef(module, "Device", (PyObject *)state->device_type) : -1;
}
