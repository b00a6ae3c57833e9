/// Joining the pairs of all workers: two stable counting sorts, by b and then by a. Linear in the
/// numbers of pairs and bodies.
#include "contact/broad_pairs.h"
#include <string.h>

// Below this the counts of all bodies cost more than insertion.
enum { INSERTION_COUNT = 32 };
// From so many on, the lists of workers and the room for sorting are given back: finding the pairs
// took far longer than that.
enum { MANY = 1 << 18 };

bool cr_pair_sink_init(cr_pair_sink *sink, carom_context *context)
{
	*sink = (cr_pair_sink){ .context = context };
	sink->workers = cr_alloc_zero(context, (size_t)context->thread_count * sizeof *sink->workers);
	return sink->workers != NULL;
}

void cr_pair_sink_release(cr_pair_sink *sink)
{
	for (int w = 0; w < sink->context->thread_count; w++)
		cr_array_free(sink->context, &sink->workers[w].list);
	cr_array_free(sink->context, &sink->scratch);
	cr_array_free(sink->context, &sink->first);
}

void cr_pair_sink_free(cr_pair_sink *sink)
{
	if (!sink->workers)
		return;
	cr_pair_sink_release(sink);
	cr_free(sink->context, sink->workers, (size_t)sink->context->thread_count * sizeof *sink->workers);
}

bool cr_pair_sink_reserve(cr_pair_sink *sink, int64_t bodies, int64_t pairs)
{
	bool made = cr_array_reserve(sink->context, &sink->scratch, pairs) && cr_array_reserve(sink->context, &sink->first, bodies);
	for (int w = 0; made && w < sink->context->thread_count; w++)
		made = cr_array_reserve(sink->context, &sink->workers[w].list, pairs);
	return made;
}

void cr_pair_sink_add(cr_pair_sink *sink, int worker, int32_t a, int32_t b)
{
	cr_worker_pairs *mine = &sink->workers[worker];
	if (!cr_array_reserve_one(sink->context, &mine->list)) {
		mine->failed = true;
		return;
	}
	mine->list.data[mine->list.count++] = a < b ? (cr_body_pair){ a, b } : (cr_body_pair){ b, a };
}

void cr_pair_sink_count(const cr_pair_sink *sink, cr_broad *broad)
{
	broad->met = broad->compared = 0;
	for (int w = 0; w < sink->context->thread_count; w++) {
		broad->met += sink->workers[w].met;
		broad->compared += sink->workers[w].compared;
	}
}

void cr_pair_sink_clear(cr_pair_sink *sink)
{
	for (int w = 0; w < sink->context->thread_count; w++) {
		sink->workers[w].list.count = 0;
		sink->workers[w].compared = sink->workers[w].met = 0;
		sink->workers[w].failed = false;
	}
}

/// From how many there are of each number to where the first of each goes.
static void sum_up(int64_t *first, int32_t numbers)
{
	int64_t sum = 0;
	for (int32_t i = 0; i < numbers; i++) {
		const int64_t here = first[i];
		first[i] = sum;
		sum += here;
	}
}

/// The pairs of all workers into scratch, sorted by b.
static void sort_by_second(cr_pair_sink *sink, int32_t body_count)
{
	int64_t *first = sink->first.data;
	memset(first, 0, (size_t)body_count * sizeof *first);
	for (int w = 0; w < sink->context->thread_count; w++) {
		const cr_pair_list *list = &sink->workers[w].list;
		for (int64_t i = 0; i < list->count; i++)
			first[list->data[i].b]++;
	}
	sum_up(first, body_count);
	for (int w = 0; w < sink->context->thread_count; w++) {
		const cr_pair_list *list = &sink->workers[w].list;
		for (int64_t i = 0; i < list->count; i++)
			sink->scratch.data[first[list->data[i].b]++] = list->data[i];
	}
}

/// From scratch into out, sorted by a; pairs of one a stay in their order.
static void sort_by_first(cr_pair_sink *sink, int32_t body_count, int64_t total, cr_body_pair *out)
{
	int64_t *first = sink->first.data;
	memset(first, 0, (size_t)body_count * sizeof *first);
	for (int64_t i = 0; i < total; i++)
		first[sink->scratch.data[i].a]++;
	sum_up(first, body_count);
	for (int64_t i = 0; i < total; i++)
		out[first[sink->scratch.data[i].a]++] = sink->scratch.data[i];
}

/// The pairs of all workers, which are few, by insertion.
static void insert_all(const cr_pair_sink *sink, cr_body_pair *out)
{
	int64_t count = 0;
	for (int w = 0; w < sink->context->thread_count; w++) {
		const cr_pair_list *list = &sink->workers[w].list;
		for (int64_t i = 0; i < list->count; i++) {
			const cr_body_pair p = list->data[i];
			int64_t at = count++;
			for (; at > 0 && (out[at - 1].a > p.a || (out[at - 1].a == p.a && out[at - 1].b > p.b)); at--)
				out[at] = out[at - 1];
			out[at] = p;
		}
	}
}

bool cr_pair_sink_drain(cr_pair_sink *sink, int32_t body_count, cr_pair_list *out)
{
	int64_t total = 0;
	bool ok = true;
	for (int w = 0; w < sink->context->thread_count; w++) {
		total += sink->workers[w].list.count;
		ok = ok && !sink->workers[w].failed;
	}
	const bool few = total <= INSERTION_COUNT || total * total <= body_count;
	out->count = 0;
	ok = ok && cr_array_reserve(sink->context, out, total) &&
		(few ||
			(cr_array_reserve(sink->context, &sink->scratch, total) &&
				cr_array_reserve(sink->context, &sink->first, body_count)));
	if (ok && few) {
		insert_all(sink, out->data);
	} else if (ok) {
		sort_by_second(sink, body_count);
		sort_by_first(sink, body_count, total, out->data);
	}
	out->count = ok ? total : 0;
	cr_pair_sink_clear(sink);
	if (total >= MANY)
		cr_pair_sink_release(sink);
	return ok;
}
