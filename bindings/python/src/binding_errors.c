// Exceptions of the module: carom.Error and a subclass for each result. Each carries the result,
// and the call and the field that the library's text names.
#include "binding.h"

#include <stdlib.h>

/// Name, base beside carom.Error, and comment of each result's class.
static const struct {
	const char *name;
	const char *base;
	const char *comment;
} classes[CAROM_INVALID_RECORDING + 1] = {
	[CAROM_INVALID_ARGUMENT] = { "InvalidArgument", "ValueError", "An argument or a setting is wrong; field names it." },
	[CAROM_INVALID_MESH] = { "InvalidMesh", "ValueError", "The mesh cannot be used; the text names the element." },
	[CAROM_INVALID_BODY] = { "InvalidBody", "LookupError", "A body id is null, or its body was removed." },
	[CAROM_OUT_OF_MEMORY] = { "OutOfMemory", "MemoryError", "An allocation failed. The call has undone its work." },
	[CAROM_OVER_BUDGET] = { "OverBudget", "MemoryError", "A memory_budget, or max_pairs, does not allow the call." },
	[CAROM_UNSUPPORTED] = { "Unsupported", "NotImplementedError", "The library or the machine lacks what was asked for." },
	[CAROM_INVALID_RECORDING] = { "InvalidRecording", "ValueError", "A recording is damaged, or replays to other results." },
};

static PyObject *new_class(const char *name, const char *comment, PyObject *base, const char *other)
{
	char path[64];
	PyOS_snprintf(path, sizeof(path), "carom.%s", name);
	if (!other)
		return PyErr_NewExceptionWithDoc(path, comment, base, NULL);
	PyObject *builtins = PyImport_ImportModule("builtins");
	PyObject *second = builtins ? PyObject_GetAttrString(builtins, other) : NULL;
	PyObject *bases = second ? PyTuple_Pack(2, base, second) : NULL;
	PyObject *made = bases ? PyErr_NewExceptionWithDoc(path, comment, bases, NULL) : NULL;
	Py_XDECREF(bases);
	Py_XDECREF(second);
	Py_XDECREF(builtins);
	return made;
}

int cp_add_errors(PyObject *module, cp_state *state)
{
	state->error = new_class("Error",
		"A call of the library failed. result is its Result, call the name of the C function, and field the argument or "
		"setting that the text names; both are None where it names none.",
		PyExc_Exception, NULL);
	if (!state->error || PyModule_AddObjectRef(module, "Error", state->error) < 0)
		return -1;
	for (int i = CAROM_INVALID_ARGUMENT; i <= CAROM_INVALID_RECORDING; i++) {
		state->errors[i] = new_class(classes[i].name, classes[i].comment, state->error, classes[i].base);
		if (!state->errors[i] || PyModule_AddObjectRef(module, classes[i].name, state->errors[i]) < 0)
			return -1;
	}
	return 0;
}

/// Set an attribute to the piece of text, or to None for a length of 0.
static int set_piece(PyObject *error, const char *name, const char *text, size_t length)
{
	PyObject *piece = length ? PyUnicode_FromStringAndSize(text, (Py_ssize_t)length) : Py_NewRef(Py_None);
	const int failed = piece ? PyObject_SetAttrString(error, name, piece) : -1;
	Py_XDECREF(piece);
	return failed;
}

/// Take "carom_call: field is wrong" apart. The field is the first word after the call that names
/// one: a word with a dot, a bracket or an underscore, or one that "is", "has" or "was" follows.
static int set_pieces(PyObject *error, const char *text)
{
	const char *colon = strncmp(text, "carom_", 6) == 0 ? strstr(text, ": ") : NULL;
	const size_t call = colon ? (size_t)(colon - text) : 0;
	const char *rest = colon ? colon + 2 : text;
	const size_t word = strcspn(rest, " ,;:");
	const char *after = rest + word;
	const bool names = word > 0 &&
		(strcspn(rest, ".[_") < word || !strncmp(after, " is ", 4) || !strncmp(after, " has ", 5) ||
			!strncmp(after, " was ", 5) || *after == ':');
	return set_piece(error, "call", text, call) || set_piece(error, "field", rest, names ? word : 0) ? -1 : 0;
}

/// A word of a text, which is not ended by a zero.
typedef struct word {
	const char *start;
	size_t length;
} word;

static int compare_word(const void *key, const void *entry)
{
	const word *wanted = key;
	const char *name = ((const cp_word *)entry)->c_name;
	const int order = strncmp(wanted->start, name, wanted->length);
	return order ? order : -(name[wanted->length] != '\0');
}

/// The text with names of C that Python calls by other names replaced: "kind is BodyKind.DYNAMIC".
/// A text that would become longer than room is cut.
static void say_in_python(const char *text, char *said, size_t room)
{
	size_t used = 0;
	while (*text && used + 1 < room) {
		const word next = { text, strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") };
		const cp_word *found =
			next.length ? bsearch(&next, cp_words, (size_t)cp_word_count, sizeof(*cp_words), compare_word) : NULL;
		const char *from = found ? found->name : text;
		size_t length = found ? strlen(found->name) : next.length ? next.length : 1;
		if (length > room - 1 - used)
			length = room - 1 - used;
		memcpy(said + used, from, length);
		used += length;
		text += next.length ? next.length : 1;
	}
	said[used] = '\0';
}

PyObject *cp_raise_text(cp_state *state, carom_result result, const char *text)
{
	char said[2048];
	say_in_python(text, said, sizeof said);
	text = said;
	PyObject *error = PyObject_CallFunction(state->errors[result], "s", text);
	PyObject *value = error ? cp_new_enum(state, CP_result, result) : NULL;
	if (value && PyObject_SetAttrString(error, "result", value) == 0 && set_pieces(error, text) == 0)
		PyErr_SetObject(state->errors[result], error);
	Py_XDECREF(value);
	Py_XDECREF(error);
	return NULL;
}

PyObject *cp_raise(cp_state *state, const carom_context *context, carom_result result)
{
	const char *text = carom_error_text(context);
	return cp_raise_text(state, result, *text ? text : carom_result_name(result));
}

bool cp_begin_read(cp_use *use, const char *what)
{
	if (use->writing) {
		PyErr_Format(PyExc_RuntimeError, "another call is changing this %s: use one lock for all of its threads", what);
		return false;
	}
	use->readers++;
	return true;
}

bool cp_begin_write(cp_use *use, const char *what)
{
	if (use->writing || use->readers) {
		PyErr_Format(PyExc_RuntimeError, "another call is using this %s: use one lock for all of its threads", what);
		return false;
	}
	use->writing = true;
	return true;
}

bool cp_is_free(const cp_guard *guard, const char *what)
{
	if (guard->exports == 0)
		return true;
	PyErr_Format(PyExc_BufferError,
		"%zd arrays look at the %s, which this call would replace: copy what you keep (numpy.array(view)) and drop the rest",
		guard->exports, what);
	return false;
}
