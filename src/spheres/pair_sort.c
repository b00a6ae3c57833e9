/// Sorting of pairs. See spheres/pair_sort.h.
#include "spheres/pair_sort.h"
#include "base/parallel.h"
#include <stdatomic.h>
#include <string.h>

enum {
	// A bucket's rows: so few that three spheres' pairs for each of 1,024 are sorted within the
	// first-level cache (sorting 3 million pairs takes 27 ms, with 4,096 rows 34; dealing them
	// takes no longer).
	MIN_ROW_BITS = 10,
	// Beyond this many places to write to, address translation costs more than larger buckets.
	MAX_BUCKETS = 2048,
	CHUNK_PAIRS = 511, // with the link 4 KB
	MAX_SLAB_CHUNKS = 64,
	MAX_DIGIT_BITS = 11,
	MAX_PASSES = 6, // 64 bits
	FEW_ENTRIES = 64,
};

typedef struct pair_chunk {
	struct pair_chunk *before; // of the same bucket and worker, full
	carom_sphere_pair pairs[CHUNK_PAIRS];
} pair_chunk;

/// Where a worker's next pair of a bucket goes.
typedef struct bucket_end {
	carom_sphere_pair *at, *end; // within chunk
	pair_chunk *chunk;           // NULL: none yet
} bucket_end;

/// Memory of many chunks.
typedef struct chunk_slab {
	pair_chunk *chunks;
	int32_t count;
} chunk_slab;

typedef struct store_worker {
	bucket_end *ends; // [bucket_count]
	int64_t bucket_capacity;
	pair_chunk *free; // of the slab in use
	int32_t free_count;
	CR_ARRAY(chunk_slab) own; // made by this worker since the store was opened
	CR_ARRAY(uint64_t) keys;  // of the bucket that is being sorted, and as many to sort them
	// of the digits of all passes of its sort: more than a stack should hold
	CR_ARRAY(uint32_t) count;
	int64_t pairs; // taken since the store was opened
	bool failed;
	char pad[CR_CACHE_LINE];
} store_worker;

struct cr_pair_store {
	carom_context *context;
	uint32_t count, rows;
	int row_bits, bucket_count, slab_chunks;
	bool symmetric;
	CR_ARRAY(chunk_slab) slabs; // left by the last use; those below next are in use
	atomic_llong next;
	CR_ARRAY(int64_t) first; // [bucket_count+1] of the sorted pairs
	store_worker workers[];  // [threads of the context]
};

// ---- Memory ----

static size_t store_size(const carom_context *context)
{
	return sizeof(cr_pair_store) + (size_t)context->thread_count * sizeof(store_worker);
}

cr_pair_store *cr_make_pair_store(carom_context *context)
{
	cr_pair_store *store = cr_alloc_zero(context, store_size(context));
	if (store)
		store->context = context;
	return store;
}

static void free_slab(carom_context *context, chunk_slab slab)
{
	cr_free(context, slab.chunks, (size_t)slab.count * sizeof(pair_chunk));
}

static void free_worker(carom_context *context, store_worker *worker)
{
	for (int64_t i = 0; i < worker->own.count; i++)
		free_slab(context, worker->own.data[i]);
	cr_array_free(context, &worker->own);
	cr_array_free(context, &worker->keys);
	cr_array_free(context, &worker->count);
	cr_free(context, worker->ends, (size_t)worker->bucket_capacity * sizeof *worker->ends);
	*worker = (store_worker){ 0 };
}

void cr_empty_pair_store(cr_pair_store *store)
{
	carom_context *context = store->context;
	for (int w = 0; w < context->thread_count; w++)
		free_worker(context, &store->workers[w]);
	for (int64_t i = 0; i < store->slabs.count; i++)
		free_slab(context, store->slabs.data[i]);
	cr_array_free(context, &store->slabs);
	cr_array_free(context, &store->first);
	atomic_store(&store->next, 0);
}

void cr_free_pair_store(cr_pair_store *store)
{
	if (!store)
		return;
	cr_empty_pair_store(store);
	cr_free(store->context, store, store_size(store->context));
}

size_t cr_pair_store_bytes(const cr_pair_store *store)
{
	size_t bytes = store_size(store->context) + (size_t)store->first.capacity * sizeof(int64_t) +
		(size_t)store->slabs.capacity * sizeof(chunk_slab);
	for (int64_t i = 0; i < store->slabs.count; i++)
		bytes += (size_t)store->slabs.data[i].count * sizeof(pair_chunk);
	for (int w = 0; w < store->context->thread_count; w++) {
		const store_worker *worker = &store->workers[w];
		for (int64_t i = 0; i < worker->own.count; i++)
			bytes += (size_t)worker->own.data[i].count * sizeof(pair_chunk);
		bytes += (size_t)worker->own.capacity * sizeof(chunk_slab) + (size_t)worker->keys.capacity * sizeof(uint64_t) +
			(size_t)worker->count.capacity * sizeof(uint32_t) + (size_t)worker->bucket_capacity * sizeof(bucket_end);
	}
	return bytes;
}

// ---- Taking ----

/// Slabs that the last use needed stay for the next one; the others go.
static bool gather_slabs(cr_pair_store *store)
{
	const int64_t used = (int64_t)atomic_load(&store->next);
	while (store->slabs.count > used)
		free_slab(store->context, store->slabs.data[--store->slabs.count]);
	for (int w = 0; w < store->context->thread_count; w++) {
		store_worker *worker = &store->workers[w];
		if (!cr_array_reserve(store->context, &store->slabs, store->slabs.count + worker->own.count))
			return false;
		for (int64_t i = 0; i < worker->own.count; i++)
			store->slabs.data[store->slabs.count++] = worker->own.data[i];
		worker->own.count = 0;
	}
	atomic_store(&store->next, 0);
	return true;
}

static bool open_worker(cr_pair_store *store, store_worker *worker)
{
	if (worker->bucket_capacity < store->bucket_count) {
		bucket_end *ends = cr_alloc_array(store->context, (size_t)store->bucket_count, sizeof *ends);
		if (!ends)
			return false;
		cr_free(store->context, worker->ends, (size_t)worker->bucket_capacity * sizeof *ends);
		worker->ends = ends;
		worker->bucket_capacity = store->bucket_count;
	}
	memset(worker->ends, 0, (size_t)store->bucket_count * sizeof *worker->ends);
	worker->free = NULL;
	worker->free_count = 0;
	worker->failed = false;
	worker->pairs = 0;
	return true;
}

static int choose_row_bits(uint32_t count)
{
	int bits = MIN_ROW_BITS;
	while ((count >> bits) + 1 > MAX_BUCKETS)
		bits++;
	return bits;
}

bool cr_open_pair_store(cr_pair_store *store, uint32_t count, uint32_t rows, bool symmetric)
{
	store->count = count;
	store->rows = rows;
	store->symmetric = symmetric;
	store->row_bits = choose_row_bits(rows);
	store->bucket_count = (int)(rows >> store->row_bits) + 1;
	store->slab_chunks = store->bucket_count < MAX_SLAB_CHUNKS ? store->bucket_count : MAX_SLAB_CHUNKS;
	if (!gather_slabs(store))
		return false;
	for (int w = 0; w < store->context->thread_count; w++) {
		if (!open_worker(store, &store->workers[w]))
			return false;
	}
	return true;
}

/// A slab of the last use, or a new one.
static bool take_slab(cr_pair_store *store, store_worker *worker)
{
	const long long index = atomic_fetch_add(&store->next, 1);
	if (index < store->slabs.count) {
		worker->free = store->slabs.data[index].chunks;
		worker->free_count = store->slabs.data[index].count;
		return true;
	}
	if (!cr_array_reserve(store->context, &worker->own, worker->own.count + 1))
		return false;
	pair_chunk *chunks = cr_alloc_array(store->context, (size_t)store->slab_chunks, sizeof *chunks);
	if (!chunks)
		return false;
	worker->own.data[worker->own.count++] = (chunk_slab){ chunks, store->slab_chunks };
	worker->free = chunks;
	worker->free_count = store->slab_chunks;
	return true;
}

static bool add_chunk(cr_pair_store *store, store_worker *worker, bucket_end *end)
{
	if (worker->free_count == 0 && !take_slab(store, worker)) {
		worker->failed = true;
		return false;
	}
	pair_chunk *chunk = worker->free++;
	worker->free_count--;
	chunk->before = end->chunk;
	*end = (bucket_end){ chunk->pairs, chunk->pairs + CHUNK_PAIRS, chunk };
	return true;
}

static inline bool put_pair(cr_pair_store *store, store_worker *worker, uint32_t row, uint32_t other)
{
	bucket_end *end = &worker->ends[row >> store->row_bits];
	if (end->at == end->end && !add_chunk(store, worker, end))
		return false;
	*end->at++ = (carom_sphere_pair){ row, other };
	return true;
}

static bool take_pairs(const carom_sphere_pair *pairs, int64_t count, int worker_index, void *user)
{
	cr_pair_store *store = user;
	store_worker *worker = &store->workers[worker_index];
	// first sphere that has no row for its side
	const uint32_t both = store->symmetric ? store->rows : 0;
	worker->pairs += count;
	for (int64_t i = 0; i < count; i++) {
		if (!put_pair(store, worker, pairs[i].a, pairs[i].b) ||
			(pairs[i].b < both && !put_pair(store, worker, pairs[i].b, pairs[i].a)))
			return false;
	}
	return true;
}

cr_pair_sink cr_store_sink(cr_pair_store *store) { return (cr_pair_sink){ take_pairs, store }; }

bool cr_pair_store_failed(const cr_pair_store *store)
{
	for (int w = 0; w < store->context->thread_count; w++) {
		if (store->workers[w].failed)
			return true;
	}
	return false;
}

int64_t cr_pair_store_count(const cr_pair_store *store)
{
	int64_t count = 0;
	for (int w = 0; w < store->context->thread_count; w++)
		count += store->workers[w].pairs;
	return count;
}

// ---- Rows ----

static void sift_down(uint32_t *heap, int64_t hole, int64_t count, const uint32_t *ids)
{
	const uint32_t moving = heap[hole], key = ids[moving];
	for (int64_t child; (child = 2 * hole + 1) < count; hole = child) {
		if (child + 1 < count && ids[heap[child + 1]] > ids[heap[child]])
			child++;
		if (ids[heap[child]] <= key)
			break;
		heap[hole] = heap[child];
	}
	heap[hole] = moving;
}

void cr_sort_row(uint32_t *others, int64_t count, const uint32_t *ids)
{
	for (int64_t i = count / 2 - 1; i >= 0; i--)
		sift_down(others, i, count, ids);
	for (int64_t end = count - 1; end > 0; end--) {
		const uint32_t largest = others[0];
		others[0] = others[end];
		others[end] = largest;
		sift_down(others, 0, end, ids);
	}
}

// ---- Buckets ----

/// Do something for each run of pairs (run, run_count) that the store holds of a bucket.
#define FOR_EACH_RUN(store, bucket, ...)                                                              \
	for (int w_ = 0; w_ < (store)->context->thread_count; w_++) {                                     \
		const bucket_end *end_ = &(store)->workers[w_].ends[bucket];                                  \
		for (const pair_chunk *chunk_ = end_->chunk; chunk_; chunk_ = chunk_->before) {               \
			const carom_sphere_pair *run = chunk_->pairs;                                             \
			const int64_t run_count = chunk_ == end_->chunk ? end_->at - chunk_->pairs : CHUNK_PAIRS; \
			__VA_ARGS__                                                                               \
		}                                                                                             \
	}

/// Fill first. The number of pairs, or -1 when out of memory.
static int64_t sum_buckets(cr_pair_store *store)
{
	if (!cr_array_reserve(store->context, &store->first, store->bucket_count + 1))
		return -1;
	int64_t sum = 0;
	for (int bucket = 0; bucket < store->bucket_count; bucket++) {
		store->first.data[bucket] = sum;
		FOR_EACH_RUN(store, bucket, {
			(void)run;
			sum += run_count;
		})
	}
	store->first.data[store->bucket_count] = sum;
	return sum;
}

/// How entries of a bucket are packed into sort keys: row, name of the other (its id, or itself),
/// and the other if it has an id.
typedef struct key_form {
	int other_bits, id_bits; // id_bits 0: no ids
	int low_bits;            // that need no sorting
	int bits;                // in all
	bool ids_later;          // the ids do not fit: rows are sorted by them one by one
} key_form;

static int bits_of(uint32_t most)
{
	int bits = 1;
	while (bits < 32 && most >> bits != 0)
		bits++;
	return bits;
}

static key_form make_key_form(const cr_pair_store *store, const uint32_t *ids)
{
	key_form form = { .other_bits = bits_of(store->count) };
	uint32_t most = 0;
	for (uint32_t i = 0; ids && i < store->count; i++)
		most = ids[i] > most ? ids[i] : most;
	form.id_bits = ids ? bits_of(most) : 0;
	form.ids_later = store->row_bits + form.id_bits + form.other_bits > 64;
	if (form.ids_later)
		form.id_bits = 0;
	form.low_bits = form.id_bits > 0 ? form.other_bits : 0;
	form.bits = store->row_bits + form.id_bits + form.other_bits;
	return form;
}

static inline uint32_t row_of(const key_form *form, uint64_t key)
{
	return (uint32_t)(key >> (form->other_bits + form->id_bits));
}

static inline uint32_t other_of(const key_form *form, uint64_t key)
{
	return (uint32_t)(key & ((1ull << form->other_bits) - 1));
}

/// Pack a bucket's entries into keys[].
static void pack_bucket(const cr_pair_store *store, int bucket, const key_form *form, const uint32_t *ids, uint64_t *keys)
{
	const uint32_t first_row = (uint32_t)bucket << store->row_bits;
	const int other_bits = form->other_bits, row_shift = form->other_bits + form->id_bits;
	FOR_EACH_RUN(store, bucket, {
		for (int64_t i = 0; i < run_count; i++) {
			const uint64_t other = run[i].b, id = ids ? (uint64_t)ids[run[i].b] << other_bits : 0;
			*keys++ = (uint64_t)(run[i].a - first_row) << row_shift | id | other;
		}
	})
}

/// Count the digits of all passes. passes is constant where this is used, so that the inner loop
/// goes.
static inline void count_digits(
	const uint64_t *keys, int64_t count, int shift, int digit_bits, int passes, uint32_t at[][1 << MAX_DIGIT_BITS])
{
	const uint64_t mask = (1ull << digit_bits) - 1;
	for (int64_t i = 0; i < count; i++) {
		for (int pass = 0; pass < passes; pass++)
			at[pass][keys[i] >> (shift + pass * digit_bits) & mask]++;
	}
}

/// Sort keys by the bits from low_bits up, stable, by digits of equal width. at: counters of
/// MAX_PASSES digits. Returns where the result is: keys or scratch.
static uint64_t *sort_keys(
	uint64_t *keys, uint64_t *scratch, int64_t count, const key_form *form, uint32_t at[][1 << MAX_DIGIT_BITS])
{
	const int passes = (form->bits - form->low_bits + MAX_DIGIT_BITS - 1) / MAX_DIGIT_BITS;
	const int digit_bits = (form->bits - form->low_bits + passes - 1) / passes;
	const uint64_t mask = (1ull << digit_bits) - 1;
	for (int pass = 0; pass < passes; pass++)
		memset(at[pass], 0, sizeof(uint32_t) << digit_bits);
	switch (passes) {
	case 1: count_digits(keys, count, form->low_bits, digit_bits, 1, at); break;
	case 2: count_digits(keys, count, form->low_bits, digit_bits, 2, at); break;
	case 3: count_digits(keys, count, form->low_bits, digit_bits, 3, at); break;
	case 4: count_digits(keys, count, form->low_bits, digit_bits, 4, at); break;
	default: count_digits(keys, count, form->low_bits, digit_bits, passes, at); break;
	}
	for (int pass = 0; pass < passes; pass++) {
		uint32_t sum = 0;
		for (uint64_t digit = 0; digit <= mask; digit++) {
			const uint32_t here = at[pass][digit];
			at[pass][digit] = sum;
			sum += here;
		}
		const int shift = form->low_bits + pass * digit_bits;
		for (int64_t i = 0; i < count; i++)
			scratch[at[pass][keys[i] >> shift & mask]++] = keys[i];
		uint64_t *swap = keys;
		keys = scratch;
		scratch = swap;
	}
	return keys;
}

/// For buckets of fewer entries than there are counters to look at.
static void sort_few(uint64_t *keys, int64_t count)
{
	for (int64_t i = 1; i < count; i++) {
		const uint64_t moving = keys[i];
		int64_t k = i;
		for (; k > 0 && keys[k - 1] > moving; k--)
			keys[k] = keys[k - 1];
		keys[k] = moving;
	}
}

/// The bucket's entries in order, as keys: in memory of the worker. NULL when out of memory.
static const uint64_t *sort_bucket(
	const cr_pair_store *store, store_worker *worker, int bucket, const key_form *form, const uint32_t *ids)
{
	const int64_t count = store->first.data[bucket + 1] - store->first.data[bucket];
	// Counters have 32 bits. So many entries of some thousand rows would take 100 GB to sort.
	if (count > UINT32_MAX || !cr_array_reserve(store->context, &worker->keys, 2 * count))
		return NULL;
	pack_bucket(store, bucket, form, ids, worker->keys.data);
	if (count <= FEW_ENTRIES) {
		sort_few(worker->keys.data, count);
		return worker->keys.data;
	}
	if (!cr_array_reserve(store->context, &worker->count, MAX_PASSES << MAX_DIGIT_BITS))
		return NULL;
	uint32_t(*at)[1 << MAX_DIGIT_BITS] = (uint32_t(*)[1 << MAX_DIGIT_BITS]) worker->count.data;
	return sort_keys(worker->keys.data, worker->keys.data + count, count, form, at);
}

typedef struct sort_task {
	cr_pair_store *store;
	key_form form;
	const uint32_t *ids;
	carom_sphere_pair *pairs; // one of
	cr_neighbour_rows *rows;  // both
	atomic_bool failed;
} sort_task;

static uint32_t rows_of_bucket(const cr_pair_store *store, int bucket)
{
	const uint64_t first = (uint64_t)bucket << store->row_bits, full = 1ull << store->row_bits;
	return (uint32_t)(store->rows - first < full ? store->rows - first : full);
}

static void sort_into_pairs(int64_t begin, int64_t end, int worker, void *user)
{
	sort_task *task = user;
	cr_pair_store *store = task->store;
	const key_form form = task->form;
	for (int bucket = (int)begin; bucket < (int)end; bucket++) {
		const int64_t first = store->first.data[bucket], count = store->first.data[bucket + 1] - first;
		const uint32_t first_row = (uint32_t)bucket << store->row_bits;
		if (count == 0)
			continue;
		const uint64_t *keys = sort_bucket(store, &store->workers[worker], bucket, &form, NULL);
		if (!keys) {
			atomic_store(&task->failed, true);
			return;
		}
		carom_sphere_pair *out = task->pairs + first;
		for (int64_t i = 0; i < count; i++)
			out[i] = (carom_sphere_pair){ first_row + row_of(&form, keys[i]), other_of(&form, keys[i]) };
	}
}

bool cr_sort_pairs(cr_pair_store *store, cr_pair_array *pairs)
{
	const int64_t count = sum_buckets(store);
	if (count < 0 || !cr_array_reserve(store->context, pairs, count))
		return false;
	sort_task task = { .store = store, .form = make_key_form(store, NULL), .pairs = pairs->data };
	cr_parallel_for(store->context, sort_into_pairs, store->bucket_count, 1, &task);
	pairs->count = count;
	return !atomic_load(&task.failed);
}

/// Where each row of a bucket ends, from its sorted entries.
static void find_ends(
	const uint64_t *keys, int64_t count, const key_form *form, int64_t first, uint32_t row_count, int64_t *ends)
{
	memset(ends, 0, row_count * sizeof *ends);
	for (int64_t i = 0; i < count; i++)
		ends[row_of(form, keys[i])]++;
	for (uint32_t row = 0; row < row_count; row++)
		ends[row] = first += ends[row];
}

static void sort_into_rows(int64_t begin, int64_t end, int worker, void *user)
{
	sort_task *task = user;
	cr_pair_store *store = task->store;
	const key_form form = task->form;
	for (int bucket = (int)begin; bucket < (int)end; bucket++) {
		const int64_t first = store->first.data[bucket], count = store->first.data[bucket + 1] - first;
		int64_t *ends = task->rows->first.data + ((uint64_t)bucket << store->row_bits) + 1;
		const uint64_t *keys = NULL;
		if (count > 0 &&
			!(keys = sort_bucket(store, &store->workers[worker], bucket, &form, form.ids_later ? NULL : task->ids))) {
			atomic_store(&task->failed, true);
			return;
		}
		find_ends(keys, count, &form, first, rows_of_bucket(store, bucket), ends);
		uint32_t *out = task->rows->other.data + first;
		for (int64_t i = 0; i < count; i++)
			out[i] = other_of(&form, keys[i]);
		int64_t row_begin = first;
		for (uint32_t row = 0; form.ids_later && row < rows_of_bucket(store, bucket); row_begin = ends[row++])
			cr_sort_row(task->rows->other.data + row_begin, ends[row] - row_begin, task->ids);
	}
}

bool cr_sort_rows(cr_pair_store *store, const uint32_t *ids, cr_neighbour_rows *rows)
{
	const int64_t count = sum_buckets(store);
	// One entry more than there are: an empty list has an address, too.
	if (count < 0 || !cr_array_reserve(store->context, &rows->other, count + 1) ||
		!cr_array_reserve(store->context, &rows->first, (int64_t)store->rows + 1))
		return false;
	rows->first.data[0] = 0;
	sort_task task = { .store = store, .form = make_key_form(store, ids), .ids = ids, .rows = rows };
	cr_parallel_for(store->context, sort_into_rows, store->bucket_count, 1, &task);
	rows->first.count = (int64_t)store->rows + 1;
	rows->other.count = count;
	return !atomic_load(&task.failed);
}

void cr_free_rows(carom_context *context, cr_neighbour_rows *rows)
{
	cr_array_free(context, &rows->first);
	cr_array_free(context, &rows->other);
}
