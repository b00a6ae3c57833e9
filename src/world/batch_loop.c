/// See batch_loop.h. The loop asks with the name of the function alone. The first wrong query is
/// asked again with its own name, so that the text does not depend on which worker was last; and no
/// name is made for all the others.

#include "world/batch_loop.h"
#include "base/parallel.h"
#include <stdio.h>
#include <string.h>

enum {
	NAME_SIZE = 128,
	ZEROED = 16, // answers at a time
};

typedef struct batch_loop {
	const cr_batch *batch;
	atomic_llong first_wrong; // count: none
	atomic_int failure;       // carom_result of the whole call
} batch_loop;

carom_result cr_check_batch(
	carom_context *context, const char *function, const carom_batch *batch, const cr_batch_array *arrays, int array_count)
{
	if (!batch)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: batch is NULL", function);
	if (batch->count < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: batch->count is %lld", function, (long long)batch->count);
	for (int i = 0; i < array_count && batch->count > 0; i++) {
		if (!arrays[i].data)
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, arrays[i].name);
	}
	return CAROM_SUCCESS;
}

carom_result cr_check_shape_batch(carom_context *context, const char *function, const carom_batch *batch,
	const cr_batch_array *arrays, int array_count, void *answers, size_t answer_size)
{
	const carom_result result = cr_check_batch(context, function, batch, arrays, array_count);
	if (result != CAROM_SUCCESS || !(batch->filter || batch->ignore))
		return result;
	return cr_fail_batch(batch, answers, answer_size,
		cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: batch->%s is given, which is for worlds alone", function,
			batch->filter ? "filter" : "ignore"));
}

static bool is_wrong_query(carom_result result) { return result == CAROM_INVALID_ARGUMENT || result == CAROM_UNSUPPORTED; }

/// Is query i of no use any more?
static bool is_over(batch_loop *loop, int64_t i)
{
	return atomic_load_explicit(&loop->failure, memory_order_relaxed) != CAROM_SUCCESS ||
		(!loop->batch->given->results && i > atomic_load_explicit(&loop->first_wrong, memory_order_relaxed));
}

/// Some answers from the first one on are zero, while they are in the cache. Those of a batch that
/// ends before its last query are zeroed when it fails.
static void clear_answers(const cr_batch *b, int64_t first, int64_t end)
{
	const int64_t count = end - first < ZEROED ? end - first : ZEROED;
	memset((char *)b->answers + (size_t)first * b->answer_size, 0, (size_t)count * b->answer_size);
}

static void ask_piece(int64_t begin, int64_t end, int worker, void *task)
{
	batch_loop *loop = task;
	const cr_batch *b = loop->batch;
	for (int64_t i = begin; i < end && !is_over(loop, i); i++) {
		if ((i - begin) % ZEROED == 0)
			clear_answers(b, i, end);
		const carom_result result = b->ask(b->user, i, worker, b->function);
		if (b->given->results)
			b->given->results[i] = result;
		if (is_wrong_query(result))
			cr_atomic_lower(&loop->first_wrong, i);
		else if (result != CAROM_SUCCESS)
			atomic_store(&loop->failure, (int)result);
	}
	if (!b->end_piece || atomic_load_explicit(&loop->failure, memory_order_relaxed) != CAROM_SUCCESS)
		return;
	const carom_result result = b->end_piece(b->user, worker);
	if (result != CAROM_SUCCESS)
		atomic_store(&loop->failure, (int)result);
}

/// Leave the text of the first wrong query. Returns its result.
static carom_result tell_wrong(const cr_batch *b, int64_t i)
{
	char name[NAME_SIZE];
	snprintf(name, sizeof name, "%s: %s[%lld]", b->function, b->records, (long long)i);
	return b->ask(b->user, i, 0, name);
}

carom_result cr_fail_batch(const carom_batch *given, void *answers, size_t answer_size, carom_result result)
{
	if (given->count > 0)
		memset(answers, 0, (size_t)given->count * answer_size);
	for (int64_t i = 0; i < given->count && given->results; i++)
		given->results[i] = result;
	return result;
}

carom_result cr_run_batch(const cr_batch *b)
{
	const int64_t count = b->given->count;
	batch_loop loop = { .batch = b };
	if (count == 0)
		return CAROM_SUCCESS;
	atomic_init(&loop.first_wrong, count);
	atomic_init(&loop.failure, CAROM_SUCCESS);
	cr_parallel_for(b->context, ask_piece, count, b->min_range, &loop);
	carom_result failure = (carom_result)atomic_load(&loop.failure);
	const int64_t wrong = atomic_load(&loop.first_wrong);
	if (failure == CAROM_SUCCESS && wrong < count) {
		const carom_result result = tell_wrong(b, wrong);
		failure = b->given->results ? CAROM_SUCCESS : result;
	}
	return failure == CAROM_SUCCESS ? CAROM_SUCCESS : cr_fail_batch(b->given, b->answers, b->answer_size, failure);
}

// ---- Lists ----

carom_result cr_check_list_batch(carom_context *context, const char *function, const carom_batch *batch,
	const cr_batch_array *records, const cr_list_output *out)
{
	const carom_result result = cr_check_batch(context, function, batch, records, 1);
	if (result != CAROM_SUCCESS)
		return result;
	if (!out->first)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: first is NULL", function);
	out->first[batch->count] = 0;
	if (out->capacity < 0)
		cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: capacity is %lld", function, (long long)out->capacity);
	else if (out->capacity > 0 && !out->items)
		cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, out->name);
	else
		return CAROM_SUCCESS;
	return cr_fail_batch(batch, out->first, sizeof *out->first, CAROM_INVALID_ARGUMENT);
}

carom_result cr_open_lists(cr_batch_lists *lists, carom_context *context, int64_t query_count, size_t item_size)
{
	const int workers = context->thread_count;
	*lists = (cr_batch_lists){ context, item_size, NULL, query_count, NULL, workers };
	lists->places = cr_alloc_array(context, (size_t)query_count, sizeof *lists->places);
	lists->lists = cr_alloc_zero(context, (size_t)workers * sizeof *lists->lists);
	if ((query_count > 0 && !lists->places) || !lists->lists) {
		cr_close_lists(lists);
		return cr_fail_memory(context, "the answers of a batch");
	}
	for (int64_t i = 0; i < query_count; i++)
		lists->places[i] = (cr_batch_place){ 0, 0, 0 };
	return CAROM_SUCCESS;
}

void *cr_append_items(cr_batch_lists *lists, int64_t query, int worker, int64_t count)
{
	const int64_t size = (int64_t)lists->item_size, end = lists->lists[worker].count + count * size;
	if (!cr_array_reserve(lists->context, &lists->lists[worker], end)) {
		cr_fail_memory(lists->context, "the answers of a batch");
		return NULL;
	}
	lists->places[query] = (cr_batch_place){ lists->lists[worker].count / size, count, worker };
	void *items = lists->lists[worker].data + lists->lists[worker].count;
	lists->lists[worker].count = end;
	return items;
}

void cr_write_items(const cr_batch_lists *lists, int64_t capacity, void *items, int64_t *first)
{
	first[0] = 0;
	for (int64_t i = 0; i < lists->query_count; i++) {
		const cr_batch_place *p = &lists->places[i];
		const int64_t room = capacity - first[i], written = p->count < room ? p->count : room;
		if (written > 0)
			memcpy((uint8_t *)items + (size_t)first[i] * lists->item_size,
				lists->lists[p->worker].data + (size_t)p->first * lists->item_size, (size_t)written * lists->item_size);
		first[i + 1] = first[i] + p->count;
	}
}

void cr_close_lists(cr_batch_lists *lists)
{
	for (int i = 0; lists->lists && i < lists->worker_count; i++)
		cr_array_free(lists->context, &lists->lists[i]);
	cr_free(lists->context, lists->lists, (size_t)lists->worker_count * sizeof *lists->lists);
	cr_free(lists->context, lists->places, (size_t)lists->query_count * sizeof *lists->places);
}
