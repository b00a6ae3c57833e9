/// Morton codes and the sort by them (Morton 1966).
///
/// The sort goes from the upper bits down (MSD): large segments are dealt out to 1024 heaps by all
/// workers together, each heap is then sorted by one worker, which goes on by 8 bits while more
/// than a few keys are left, and by insertion below. Codes of scattered spheres differ in their
/// upper third, so that most of the 63 bits are never looked at. Stable, so the result is one.
#include "tree/morton.h"
#include "base/array.h"
#include "base/parallel.h"
#include <string.h>

enum {
	DEAL_BITS = 10, // heaps of a parallel deal: of 8 to 11 bits the fastest (1 M in free fall)
	DEAL_VALUES = 1 << DEAL_BITS,
	DEAL_CHUNKS = 128,
	CHUNK_SIZE = 8192,
	SHARED_SIZE = 65536, // from here on a segment is dealt out by all workers
	HEAP_BITS = 8,
	HEAP_VALUES = 1 << HEAP_BITS,
	INSERTION_COUNT = 24,
};

// ---- Codes ----

cr_morton_frame cr_make_morton_frame(const float lower[3], const float upper[3])
{
	cr_morton_frame frame = { .scale = 0 };
	double side = 0;
	for (int k = 0; k < 3; k++) {
		frame.lower[k] = lower[k];
		const double extent = (double)upper[k] - lower[k];
		side = extent > side ? extent : side;
	}
	// Below that the scale would not be finite, nor would the order matter.
	if (side > 1e-300)
		frame.scale = (double)(1 << CR_MORTON_AXIS_BITS) / side;
	return frame;
}

// ---- Sort of a heap by one worker ----

/// Sort data[count], which agree in all but the lowest bits, into other (in_other) or in place.
static void sort_heap(cr_key *data, cr_key *other, int64_t count, int bits, bool in_other)
{
	if (count <= INSERTION_COUNT || bits == 0) {
		if (bits > 0)
			cr_insertion_sort(data, count);
		if (in_other)
			memcpy(other, data, (size_t)count * sizeof *data);
		return;
	}
	const int shift = bits > HEAP_BITS ? bits - HEAP_BITS : 0;
	const uint64_t mask = ((uint64_t)1 << (bits - shift)) - 1;
	uint32_t ends[HEAP_VALUES] = { 0 };
	for (int64_t i = 0; i < count; i++)
		ends[data[i].key >> shift & mask]++;
	if (ends[data[0].key >> shift & mask] == count) {
		sort_heap(data, other, count, shift, in_other);
		return;
	}
	uint32_t sum = 0;
	for (uint64_t value = 0; value <= mask; value++) {
		const uint32_t here = ends[value];
		ends[value] = sum;
		sum += here;
	}
	for (int64_t i = 0; i < count; i++)
		other[ends[data[i].key >> shift & mask]++] = data[i];
	uint32_t begin = 0;
	for (uint64_t value = 0; value <= mask; begin = ends[value++]) {
		if (ends[value] > begin)
			sort_heap(other + begin, data + begin, ends[value] - begin, shift, !in_other);
	}
}

// ---- Deal of a large segment by all workers ----

typedef struct segment {
	int64_t begin, count;
	int bits;
	bool in_scratch; // where its keys are
} segment;

typedef struct sorter {
	carom_context *context;
	cr_key *keys, *scratch;
	uint32_t (*counts)[DEAL_VALUES]; // [DEAL_CHUNKS]
	CR_ARRAY(segment) shared;        // to be dealt out by all workers
	CR_ARRAY(segment) heaps;         // to be sorted by one worker each
} sorter;

typedef struct deal {
	sorter *sorter;
	const cr_key *from;
	cr_key *to;
	int64_t count, chunk_size;
	int shift;
} deal;

static inline unsigned deal_digit(const deal *d, int64_t i)
{
	return (unsigned)(d->from[i].key >> d->shift) & (DEAL_VALUES - 1);
}

static int64_t chunk_end(const deal *d, int64_t chunk)
{
	const int64_t end = (chunk + 1) * d->chunk_size;
	return end < d->count ? end : d->count;
}

static void count_chunks(int64_t begin, int64_t end, int worker, void *deal_pointer)
{
	(void)worker;
	const deal *d = deal_pointer;
	for (int64_t chunk = begin; chunk < end; chunk++) {
		uint32_t *counts = d->sorter->counts[chunk];
		memset(counts, 0, sizeof d->sorter->counts[chunk]);
		for (int64_t i = chunk * d->chunk_size; i < chunk_end(d, chunk); i++)
			counts[deal_digit(d, i)]++;
	}
}

static void move_chunks(int64_t begin, int64_t end, int worker, void *deal_pointer)
{
	(void)worker;
	const deal *d = deal_pointer;
	for (int64_t chunk = begin; chunk < end; chunk++) {
		uint32_t *offsets = d->sorter->counts[chunk];
		for (int64_t i = chunk * d->chunk_size; i < chunk_end(d, chunk); i++)
			d->to[offsets[deal_digit(d, i)]++] = d->from[i];
	}
}

/// Counts become offsets; heap_counts: of all chunks together.
static void sum_counts(uint32_t (*counts)[DEAL_VALUES], int64_t chunks, uint32_t heap_counts[DEAL_VALUES])
{
	memset(heap_counts, 0, DEAL_VALUES * sizeof *heap_counts);
	for (int64_t chunk = 0; chunk < chunks; chunk++) {
		for (int value = 0; value < DEAL_VALUES; value++) {
			const uint32_t here = counts[chunk][value];
			counts[chunk][value] = heap_counts[value];
			heap_counts[value] += here;
		}
	}
	uint32_t firsts[DEAL_VALUES], sum = 0;
	for (int value = 0; value < DEAL_VALUES; value++) {
		firsts[value] = sum;
		sum += heap_counts[value];
	}
	for (int64_t chunk = 0; chunk < chunks; chunk++) {
		for (int value = 0; value < DEAL_VALUES; value++)
			counts[chunk][value] += firsts[value];
	}
}

static bool add_heaps(sorter *s, const segment *from, int bits, const uint32_t heap_counts[DEAL_VALUES])
{
	segment heap = { from->begin, 0, bits, !from->in_scratch };
	if (!cr_array_reserve(s->context, &s->heaps, s->heaps.count + DEAL_VALUES) ||
		!cr_array_reserve(s->context, &s->shared, s->shared.count + from->count / SHARED_SIZE))
		return false;
	for (int value = 0; value < DEAL_VALUES; value++) {
		heap.count = heap_counts[value];
		if (heap.count >= SHARED_SIZE && bits > 0)
			s->shared.data[s->shared.count++] = heap;
		else if (heap.count > 0)
			s->heaps.data[s->heaps.count++] = heap;
		heap.begin += heap.count;
	}
	return true;
}

static bool deal_segment(sorter *s, const segment *from)
{
	const int rest = from->bits > DEAL_BITS ? from->bits - DEAL_BITS : 0;
	cr_key *data = s->keys + from->begin, *other = s->scratch + from->begin;
	deal d = { s, from->in_scratch ? other : data, from->in_scratch ? data : other, from->count, CHUNK_SIZE, rest };
	if (from->count > (int64_t)CHUNK_SIZE * DEAL_CHUNKS)
		d.chunk_size = (from->count + DEAL_CHUNKS - 1) / DEAL_CHUNKS;
	const int64_t chunks = (from->count + d.chunk_size - 1) / d.chunk_size;
	cr_parallel_for(s->context, count_chunks, chunks, 1, &d);
	uint32_t heap_counts[DEAL_VALUES];
	sum_counts(s->counts, chunks, heap_counts);
	cr_parallel_for(s->context, move_chunks, chunks, 1, &d);
	return add_heaps(s, from, rest, heap_counts);
}

static void sort_heaps(int64_t begin, int64_t end, int worker, void *sorter_pointer)
{
	(void)worker;
	const sorter *s = sorter_pointer;
	for (int64_t i = begin; i < end; i++) {
		const segment *heap = &s->heaps.data[i];
		cr_key *data = s->keys + heap->begin, *other = s->scratch + heap->begin;
		if (heap->in_scratch)
			sort_heap(other, data, heap->count, heap->bits, true);
		else
			sort_heap(data, other, heap->count, heap->bits, false);
	}
}

static bool sort_shared(sorter *s, int64_t count, int bits)
{
	s->counts = cr_alloc_array(s->context, DEAL_CHUNKS, sizeof *s->counts);
	if (!s->counts || !cr_array_reserve(s->context, &s->shared, 1))
		return false;
	s->shared.data[s->shared.count++] = (segment){ 0, count, bits, false };
	while (s->shared.count > 0) {
		const segment next = s->shared.data[--s->shared.count];
		if (!deal_segment(s, &next))
			return false;
	}
	cr_parallel_for(s->context, sort_heaps, s->heaps.count, 1, s);
	return true;
}

carom_result cr_sort_keys(carom_context *context, cr_key *keys, cr_key *scratch, int64_t count, int bits)
{
	if (count < SHARED_SIZE) {
		sort_heap(keys, scratch, count, bits, false);
		return CAROM_SUCCESS;
	}
	sorter s = { .context = context, .keys = keys, .scratch = scratch };
	const bool done = sort_shared(&s, count, bits);
	cr_array_free(context, &s.shared);
	cr_array_free(context, &s.heaps);
	cr_free(context, s.counts, DEAL_CHUNKS * sizeof *s.counts);
	return done ? CAROM_SUCCESS : cr_fail_memory(context, "the order along a curve");
}
