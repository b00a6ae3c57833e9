// Batches of queries, asked piece after piece without the GIL. Between two pieces the handlers of
// signals run, so that Ctrl-C ends a batch that takes long. Answers do not depend on the pieces:
// each query of a batch has the bits of the single call (carom/batch.h).
#include "binding.h"

#include <stdlib.h>
#include <time.h>

/// Pieces aim at this time, seconds: long enough that their number costs nothing, short enough that
/// a hand on Ctrl-C feels no delay.
static const double wanted = 0.05;
/// So many times as long as the piece before is the next one at most.
static const int64_t most_growth = 64;

static double now(void)
{
	struct timespec time = { 0 };
	timespec_get(&time, TIME_UTC);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ask_unlocked(cp_ask_fn ask, void *call, int64_t first, int64_t count)
{
	int result;
	Py_BEGIN_ALLOW_THREADS result = ask(call, first, count);
	Py_END_ALLOW_THREADS return result;
}

/// Raise the failure of a piece whose first query has this number in the batch. The text counts
/// queries from the start of the piece: "carom_world_cast_rays: rays[7]: ...".
static void raise_failure(cp_state *state, const carom_context *context, carom_result result, int64_t first)
{
	const char *text = carom_error_text(context), *open = first > 0 ? strchr(text, '[') : NULL;
	char *end = NULL, shifted[1024];
	const long long number = open ? strtoll(open + 1, &end, 10) : 0;
	if (!end || end == open + 1 || *end != ']') {
		cp_raise(state, context, result);
		return;
	}
	PyOS_snprintf(shifted, sizeof shifted, "%.*s[%lld%s", (int)(open - text), text, number + (long long)first, end);
	cp_raise_text(state, result, shifted);
}

bool cp_ask_in_pieces(cp_state *state, const cp_context *context, int64_t count, int64_t first_piece, cp_ask_fn ask, void *call)
{
	int64_t size = first_piece, done = 0;
	for (;;) {
		const int64_t piece = count - done < size + size / 2 ? count - done : size; // no small rest
		const double start = now();
		const int result = ask_unlocked(ask, call, done, piece);
		if (result == CP_NO_MEMORY)
			PyErr_NoMemory();
		else if (result)
			raise_failure(state, context->context, (carom_result)(result & ~CP_TOLD_WHOLE), result & CP_TOLD_WHOLE ? 0 : done);
		if (result)
			return false;
		done += piece;
		if (done == count)
			return true;
		if (PyErr_CheckSignals() != 0)
			return false;
		const double took = now() - start;
		const double factor = took > 0 ? wanted / took : (double)most_growth;
		size = factor >= (double)most_growth ? most_growth * piece : (int64_t)(factor * (double)piece);
		size = size > 0 ? size : 1;
	}
}

// ---- Lists of answers ----

typedef struct list_call {
	cp_list_fn ask;
	const void *call;
	int64_t *first; ///< [count + 1]
	cp_array *answers;
	int64_t capacity; ///< of answers
	int64_t found;    ///< answers of the pieces so far
} list_call;

static bool make_room(list_call *list, int64_t least)
{
	const int64_t capacity = least > 2 * list->capacity ? least : 2 * list->capacity;
	char *larger = realloc(list->answers->data, (size_t)capacity * (size_t)list->answers->item_size);
	if (!larger)
		return false;
	list->answers->data = larger;
	list->capacity = capacity;
	return true;
}

/// The answers of a piece go behind those that there are.
static int ask_piece_of_lists(void *user, int64_t from, int64_t count)
{
	list_call *list = user;
	int64_t *first = list->first + from;
	for (;;) {
		const int64_t room = list->capacity - list->found;
		const carom_result result =
			list->ask(list->call, from, count, room, list->answers->data + list->found * list->answers->item_size, first);
		if (result)
			return result;
		if (first[count] <= room)
			break;
		if (!make_room(list, list->found + first[count]))
			return CP_NO_MEMORY;
	}
	const int64_t before = list->found;
	list->found += first[count];
	for (int64_t i = 0; i <= count; i++)
		first[i] += before;
	return CAROM_SUCCESS;
}

PyObject *cp_ask_lists(cp_state *state, const cp_context *context, int64_t count, int64_t first_piece, int layout,
	cp_list_fn ask, const void *call)
{
	list_call list = { .ask = ask, .call = call, .capacity = 2 * count + 64 };
	PyObject *both = NULL;
	cp_array *first = cp_new_numbers(state, CP_I64, count + 1, 0);
	if (first)
		list.answers =
			layout < 0 ? cp_new_numbers(state, CP_U64, list.capacity, 0) : cp_new_records(state, layout, list.capacity);
	if (list.answers) {
		list.first = (int64_t *)(void *)first->data;
		if (cp_ask_in_pieces(state, context, count, first_piece, ask_piece_of_lists, &list)) {
			cp_shorten(list.answers, list.found);
			both = PyTuple_Pack(2, first, list.answers);
		}
	}
	Py_XDECREF((PyObject *)list.answers);
	Py_XDECREF((PyObject *)first);
	return both;
}

carom_batch cp_piece_of(const carom_batch *batch, int64_t first, int64_t count)
{
	return (carom_batch){ .count = count,
		.filter = batch->filter,
		.ignore = batch->ignore ? batch->ignore + first : NULL,
		.results = batch->results ? batch->results + first : NULL };
}
