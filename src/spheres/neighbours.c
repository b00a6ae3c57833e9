/// Rows of neighbours, and the answers read off them: the pairs that touch now. See
/// spheres/sphere_state.h.
#include "base/parallel.h"
#include "base/time.h"
#include "spheres/sphere_state.h"
#include <string.h>

enum {
	// Rows of a block of the sorted output.
	BLOCK_ROWS = 2048,
	// Least rows of a piece: some ten microseconds of work.
	MIN_ROWS = 512,
};

// ---- Rows ----

/// Does the sphere at place i come before that at place j, by their centres?
static bool lies_before(const carom_spheres *spheres, uint32_t i, uint32_t j)
{
	const cr_exact_sphere a = cr_read_sphere(&spheres->set, i), b = cr_read_sphere(&spheres->set, j);
	return a.x != b.x ? a.x < b.x : a.y != b.y ? a.y < b.y : a.z < b.z;
}

/// Images of one sphere that another process has made bear one id. In the rows begin..end-1 they
/// stand in the order of their centres, which does not depend on how the spheres are shared out.
static void order_namesakes_of(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	carom_spheres *spheres = user;
	const uint32_t *ids = spheres->ids.data;
	for (int64_t row = begin; row < end; row++) {
		uint32_t *other = spheres->rows.other.data + spheres->rows.first.data[row];
		const int64_t count = spheres->rows.first.data[row + 1] - spheres->rows.first.data[row];
		for (int64_t i = 1; i < count; i++) {
			const uint32_t moving = other[i];
			int64_t k = i;
			for (; k > 0 && ids[other[k - 1]] == ids[moving] && lies_before(spheres, moving, other[k - 1]); k--)
				other[k] = other[k - 1];
			other[k] = moving;
		}
	}
}

static void order_namesakes(carom_spheres *spheres)
{
	if (spheres->set.ghosts > 0 && spheres->has_ids)
		cr_parallel_for(spheres->context, order_namesakes_of, cr_owned_spheres(&spheres->set), MIN_ROWS, spheres);
}

carom_result cr_make_rows(carom_spheres *spheres)
{
	if (spheres->has_rows)
		return CAROM_SUCCESS;
	carom_context *context = spheres->context;
	if (!cr_open_pair_store(spheres->store, spheres->set.real, cr_owned_spheres(&spheres->set), true))
		return cr_fail_memory(context, "neighbours of spheres");
	const double start = cr_time_ms();
	const cr_pair_sink sink = cr_store_sink(spheres->store);
	const carom_result result = cr_search(spheres, &sink, NULL);
	if (result != CAROM_SUCCESS)
		return result;
	const double found = cr_time_ms();
	if (cr_pair_store_failed(spheres->store) ||
		!cr_sort_rows(spheres->store, spheres->has_ids ? spheres->ids.data : NULL, &spheres->rows))
		return cr_fail_memory(context, "neighbours of spheres");
	spheres->stats.ms_sort += cr_time_ms() - found;
	order_namesakes(spheres);
	spheres->stats.pairs = spheres->list_pairs = cr_pair_store_count(spheres->store);
	spheres->stats.list_builds++;
	spheres->has_rows = true;
	spheres->upper.count = 0;
	spheres->list.ms_found = cr_time_ms() - start;
	cr_begin_list(&spheres->list, &spheres->set, spheres->rows.other.count);
	return CAROM_SUCCESS;
}

// ---- Touching pairs, in any order ----

typedef struct filter_task {
	carom_spheres *spheres;
	const cr_pair_sink *sink;
	atomic_bool stopped;
	atomic_llong pairs;
} filter_task;

static void filter_piece(int64_t begin, int64_t end, int worker, void *user)
{
	filter_task *task = user;
	const carom_spheres *spheres = task->spheres;
	const int64_t *first = spheres->rows.first.data;
	const uint32_t *other = spheres->rows.other.data;
	cr_pair_batch batch = { .count = 0 };
	int64_t pairs = 0;
	for (int64_t row = begin; row < end && !batch.stopped; row++) {
		double a[4], b[4], d[3], d2;
		if (atomic_load_explicit(&task->stopped, memory_order_relaxed))
			break;
		cr_read_now(spheres, (uint32_t)row, a);
		for (int64_t k = first[row]; k < first[row + 1]; k++) {
			if (other[k] <= row)
				continue;
			cr_read_now(spheres, other[k], b);
			if (!cr_touch_now(&spheres->space, a, b, d, &d2))
				continue;
			batch.pairs[batch.count++] = (carom_sphere_pair){ (uint32_t)row, other[k] };
			pairs++;
			if (batch.count == CR_PAIR_BATCH)
				cr_flush_pairs(&batch, task->sink, worker);
		}
	}
	cr_flush_pairs(&batch, task->sink, worker);
	if (batch.stopped)
		atomic_store_explicit(&task->stopped, true, memory_order_relaxed);
	atomic_fetch_add(&task->pairs, pairs);
}

void cr_filter_rows(carom_spheres *spheres, const cr_pair_sink *sink)
{
	filter_task task = { .spheres = spheres, .sink = sink };
	const double start = cr_time_ms();
	cr_parallel_for(spheres->context, filter_piece, cr_owned_spheres(&spheres->set), MIN_ROWS, &task);
	spheres->stats.ms_find += cr_time_ms() - start;
	spheres->stats.pairs = atomic_load(&task.pairs);
	spheres->stats.tests += spheres->list_pairs;
}

// ---- Touching pairs, sorted ----

/// The blocks of rows, each filled from where the entries of earlier blocks would end if all
/// touched.
typedef struct block_task {
	carom_spheres *spheres;
	int64_t *counts; // [blocks]
} block_task;

static uint32_t block_end(const carom_spheres *spheres, int64_t block)
{
	const int64_t end = (block + 1) * BLOCK_ROWS, rows = cr_owned_spheres(&spheres->set);
	return (uint32_t)(end < rows ? end : rows);
}

/// Of a row sorted by index, the first entry above the diagonal.
static int64_t first_above(const carom_spheres *spheres, uint32_t row)
{
	int64_t low = spheres->rows.first.data[row], high = spheres->rows.first.data[row + 1];
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (spheres->rows.other.data[middle] > row)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void count_blocks(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const block_task *task = user;
	const carom_spheres *spheres = task->spheres;
	for (int64_t block = begin; block < end; block++) {
		int64_t sum = 0;
		for (uint32_t row = (uint32_t)(block * BLOCK_ROWS); row < block_end(spheres, block); row++)
			sum += spheres->rows.first.data[row + 1] - first_above(spheres, row);
		task->counts[block] = sum;
	}
}

/// Fill upper, once for each list.
static bool make_upper(carom_spheres *spheres, int64_t blocks)
{
	if (spheres->upper.count == blocks + 1)
		return true;
	if (!cr_array_reserve(spheres->context, &spheres->upper, blocks + 1))
		return false;
	int64_t *upper = spheres->upper.data, sum = 0;
	block_task task = { spheres, upper };
	cr_parallel_for(spheres->context, count_blocks, blocks, 1, &task);
	for (int64_t block = 0; block < blocks; block++) {
		const int64_t here = upper[block];
		upper[block] = sum;
		sum += here;
	}
	upper[blocks] = sum;
	spheres->upper.count = blocks + 1;
	return true;
}

static void fill_blocks(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	const block_task *task = user;
	const carom_spheres *spheres = task->spheres;
	for (int64_t block = begin; block < end; block++) {
		// Where no list has an entry there is no array.
		carom_sphere_pair *start = spheres->pairs.data ? spheres->pairs.data + spheres->upper.data[block] : NULL, *out = start;
		for (uint32_t row = (uint32_t)(block * BLOCK_ROWS); row < block_end(spheres, block); row++) {
			double a[4], b[4], d[3], d2;
			cr_read_now(spheres, row, a);
			for (int64_t k = first_above(spheres, row); k < spheres->rows.first.data[row + 1]; k++) {
				const uint32_t other = spheres->rows.other.data[k];
				cr_read_now(spheres, other, b);
				*out = (carom_sphere_pair){ row, other };
				out += cr_touch_now(&spheres->space, a, b, d, &d2);
			}
		}
		task->counts[block] = out - start;
	}
}

/// Rows sorted by index: their touching entries are the sorted pairs, with gaps between blocks.
static bool collect_sorted(carom_spheres *spheres)
{
	carom_context *context = spheres->context;
	const int64_t blocks = ((int64_t)cr_owned_spheres(&spheres->set) + BLOCK_ROWS - 1) / BLOCK_ROWS;
	const double start = cr_time_ms();
	int64_t *counts = cr_alloc_array(context, (size_t)blocks, sizeof *counts);
	const bool ready =
		counts && make_upper(spheres, blocks) && cr_array_reserve(context, &spheres->pairs, spheres->upper.data[blocks]);
	if (ready) {
		block_task task = { spheres, counts };
		cr_parallel_for(context, fill_blocks, blocks, 1, &task);
		int64_t sum = 0;
		for (int64_t block = 0; block < blocks; block++) {
			carom_sphere_pair *pairs = spheres->pairs.data;
			if (counts[block] > 0) // without pairs there may be no array
				memmove(pairs + sum, pairs + spheres->upper.data[block], (size_t)counts[block] * sizeof *pairs);
			sum += counts[block];
		}
		spheres->pairs.count = sum;
		spheres->stats.ms_find += cr_time_ms() - start;
		spheres->stats.pairs = sum;
		spheres->stats.tests += spheres->list_pairs;
	}
	cr_free(context, counts, (size_t)blocks * sizeof *counts);
	return ready;
}

bool cr_sort_touching(carom_spheres *spheres)
{
	if (cr_owned_spheres(&spheres->set) == 0) {
		spheres->pairs.count = 0;
		return true;
	}
	if (!spheres->has_ids)
		return collect_sorted(spheres);
	if (!cr_open_pair_store(spheres->store, spheres->set.real, cr_owned_spheres(&spheres->set), false))
		return false;
	const cr_pair_sink sink = cr_store_sink(spheres->store);
	cr_filter_rows(spheres, &sink);
	if (cr_pair_store_failed(spheres->store))
		return false;
	const double start = cr_time_ms();
	if (!cr_sort_pairs(spheres->store, &spheres->pairs))
		return false;
	spheres->stats.ms_sort += cr_time_ms() - start;
	return true;
}
