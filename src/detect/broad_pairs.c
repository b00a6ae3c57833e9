/// Joining the pairs of all workers. Linear in the number of pairs: a radix sort over the bits that body numbers have.
#include "detect/broad_pairs.h"

bool cr_pair_sink_init(cr_pair_sink *sink, carom_context *context)
{
	*sink = (cr_pair_sink){ .context = context };
	sink->workers = cr_alloc_zero(context, (size_t)context->thread_count * sizeof *sink->workers);
	return sink->workers != NULL;
}

void cr_pair_sink_free(cr_pair_sink *sink)
{
	if (!sink->workers)
		return;
	for (int w = 0; w < sink->context->thread_count; w++)
		cr_array_free(sink->context, &sink->workers[w].list);
	cr_free(sink->context, sink->workers, (size_t)sink->context->thread_count * sizeof *sink->workers);
	cr_array_free(sink->context, &sink->keys);
	cr_array_free(sink->context, &sink->scratch);
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

static int bits_below(int32_t count)
{
	int bits = 0;
	while (bits < 31 && (int64_t)1 << bits < count)
		bits++;
	return bits;
}

static void gather_keys(cr_pair_sink *sink, int bits)
{
	sink->keys.count = 0;
	for (int w = 0; w < sink->context->thread_count; w++) {
		const cr_pair_list *list = &sink->workers[w].list;
		for (int64_t i = 0; i < list->count; i++)
			sink->keys.data[sink->keys.count++].key = (uint64_t)list->data[i].a << bits | (uint64_t)list->data[i].b;
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
	out->count = 0;
	ok = ok && cr_array_reserve(sink->context, &sink->keys, total) && cr_array_reserve(sink->context, &sink->scratch, total) &&
		cr_array_reserve(sink->context, out, total);
	if (ok && total > 0) {
		const int bits = bits_below(body_count);
		gather_keys(sink, bits);
		cr_radix_sort(sink->keys.data, sink->scratch.data, total, 2 * bits);
		const uint64_t mask = ((uint64_t)1 << bits) - 1;
		for (int64_t i = 0; i < total; i++) {
			const uint64_t key = sink->keys.data[i].key;
			out->data[i] = (cr_body_pair){ (int32_t)(key >> bits), (int32_t)(key & mask) };
		}
		out->count = total;
	}
	for (int w = 0; w < sink->context->thread_count; w++) {
		sink->workers[w].list.count = 0;
		sink->workers[w].failed = false;
	}
	return ok;
}
