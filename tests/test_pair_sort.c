/// Sorting of pairs and rows against qsort: sizes around every limit, threads, long rows, equal ids, failing memory, memory in use.
#include "base/parallel.h"
#include "fixture.h"
#include "spheres/pair_sort.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/// Distinct pairs a < b in random order.
typedef struct pair_input {
	carom_sphere_pair *pairs;
	int64_t count;
	uint32_t spheres;
} pair_input;

static int compare_pairs(const void *p, const void *q)
{
	const carom_sphere_pair *x = p, *y = q;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

static void shuffle(pair_input *input, uint64_t *seed)
{
	for (int64_t i = input->count - 1; i > 0; i--) {
		const int64_t k = (int64_t)(test_random(seed) % (uint64_t)(i + 1));
		const carom_sphere_pair moving = input->pairs[i];
		input->pairs[i] = input->pairs[k];
		input->pairs[k] = moving;
	}
}

/// hub: every sphere is paired with sphere `hub`, too (below 0: none).
static pair_input make_input(uint32_t spheres, int64_t count, int64_t hub, uint64_t seed)
{
	pair_input input = { .spheres = spheres };
	input.pairs = malloc((size_t)(count + spheres + 1) * sizeof *input.pairs);
	REQUIRE(input.pairs);
	for (int64_t i = 0; i < count && spheres > 1; i++) {
		const uint32_t a = (uint32_t)(test_random(&seed) % spheres), b = (uint32_t)(test_random(&seed) % spheres);
		if (a != b)
			input.pairs[input.count++] = a < b ? (carom_sphere_pair){ a, b } : (carom_sphere_pair){ b, a };
	}
	for (uint32_t i = 0; hub >= 0 && i < spheres; i++) {
		const uint32_t h = (uint32_t)hub;
		if (i != h)
			input.pairs[input.count++] = i < h ? (carom_sphere_pair){ i, h } : (carom_sphere_pair){ h, i };
	}
	qsort(input.pairs, (size_t)input.count, sizeof *input.pairs, compare_pairs);
	int64_t kept = 0;
	for (int64_t i = 0; i < input.count; i++) {
		if (kept == 0 || compare_pairs(&input.pairs[kept - 1], &input.pairs[i]) != 0)
			input.pairs[kept++] = input.pairs[i];
	}
	input.count = kept;
	shuffle(&input, &seed);
	return input;
}

typedef struct feed_task {
	const pair_input *input;
	cr_pair_sink sink;
} feed_task;

static void feed_piece(int64_t begin, int64_t end, int worker, void *user)
{
	const feed_task *task = user;
	for (int64_t i = begin; i < end; i += CR_PAIR_BATCH) {
		const int64_t count = end - i < CR_PAIR_BATCH ? end - i : CR_PAIR_BATCH;
		if (!task->sink.take(task->input->pairs + i, count, worker, task->sink.user))
			return;
	}
}

static bool feed(carom_context *context, cr_pair_store *store, const pair_input *input, bool symmetric)
{
	if (!cr_open_pair_store(store, input->spheres, input->spheres, symmetric))
		return false;
	feed_task task = { input, cr_store_sink(store) };
	cr_parallel_for(context, feed_piece, input->count, 700, &task);
	return !cr_pair_store_failed(store);
}

static void check_pairs(carom_context *context, cr_pair_store *store, const pair_input *input)
{
	cr_pair_array sorted = { 0 };
	REQUIRE(feed(context, store, input, false));
	REQUIRE(cr_sort_pairs(store, &sorted));
	pair_input expected = *input;
	expected.pairs = malloc((size_t)(input->count + 1) * sizeof *expected.pairs);
	REQUIRE(expected.pairs);
	memcpy(expected.pairs, input->pairs, (size_t)input->count * sizeof *expected.pairs);
	qsort(expected.pairs, (size_t)expected.count, sizeof *expected.pairs, compare_pairs);
	CHECK_INT(sorted.count, expected.count);
	CHECK(sorted.count == 0 || memcmp(sorted.data, expected.pairs, (size_t)sorted.count * sizeof *sorted.data) == 0);
	free(expected.pairs);
	cr_array_free(context, &sorted);
}

/// Of each row the order, and that it holds what the pairs say: by a sum that knows the pair.
static void check_rows(carom_context *context, cr_pair_store *store, const pair_input *input, const uint32_t *ids)
{
	cr_neighbour_rows rows = { 0 };
	REQUIRE(feed(context, store, input, true));
	REQUIRE(cr_sort_rows(store, ids, &rows));
	CHECK_INT(rows.first.data[0], 0);
	CHECK_INT(rows.first.data[input->spheres], 2 * input->count);
	uint64_t expected = 0, actual = 0;
	for (int64_t i = 0; i < input->count; i++) {
		uint64_t there = (uint64_t)input->pairs[i].a << 32 | input->pairs[i].b;
		uint64_t back = (uint64_t)input->pairs[i].b << 32 | input->pairs[i].a;
		expected += test_random(&there) + test_random(&back);
	}
	bool in_order = true;
	for (uint32_t row = 0; row < input->spheres; row++) {
		in_order = in_order && rows.first.data[row] <= rows.first.data[row + 1];
		for (int64_t k = rows.first.data[row]; k < rows.first.data[row + 1]; k++) {
			const uint32_t other = rows.other.data[k];
			uint64_t pair = (uint64_t)row << 32 | other;
			actual += test_random(&pair);
			if (k > rows.first.data[row]) {
				const uint32_t before = rows.other.data[k - 1];
				in_order = in_order && (ids ? ids[before] < ids[other] : before < other);
			}
		}
	}
	CHECK(in_order);
	CHECK(actual == expected);
	cr_free_rows(context, &rows);
}

static uint32_t *random_ids(uint32_t count, uint64_t seed)
{
	uint32_t *ids = malloc(((size_t)count + 1) * sizeof *ids);
	REQUIRE(ids != NULL);
	for (uint32_t i = 0; i < count; i++) {
		// All different, and over the whole range.
		const uint32_t k = (uint32_t)(test_random(&seed) % (i + 1));
		ids[i] = ids[k];
		ids[k] = i * 0x9e3779b1u;
	}
	return ids;
}

static void check_size(carom_context *context, cr_pair_store *store, uint32_t spheres, int64_t count, int64_t hub)
{
	pair_input input = make_input(spheres, count, hub, spheres + 31 * (uint64_t)count);
	uint32_t *ids = random_ids(spheres, 5);
	check_pairs(context, store, &input);
	check_rows(context, store, &input, NULL);
	check_rows(context, store, &input, ids);
	free(ids);
	free(input.pairs);
}

TEST(pair_sort, all_sizes_and_threads)
{
	static const int threads[] = { 1, 2, 3, 8 };
	for (int t = 0; t < 4; t++) {
		if (!test_wants_threads(threads[t]) || (TEST_SEEKS_RACES && threads[t] == 2))
			continue;
		carom_context *context = fixture_context(threads[t]);
		cr_pair_store *store = cr_make_pair_store(context);
		REQUIRE(store);
		check_size(context, store, 0, 0, -1);
		check_size(context, store, 1, 0, -1);
		check_size(context, store, 2, 1, -1);
		check_size(context, store, 3, 20, -1);
		check_size(context, store, 1023, 5000, -1);
		check_size(context, store, 1024, 5000, 1023);
		check_size(context, store, 1025, 5000, 1024);
		check_size(context, store, 2000, 0, 0);
		check_size(context, store, 20000, 200000, 17);
		enum { MOST = 300000 / TEST_FEWER };
		check_size(context, store, MOST, MOST / 3 * 4, MOST - 1);
		cr_free_pair_store(store);
		CHECK_INT(carom_memory_in_use(context), context->size);
		carom_destroy_context(context);
	}
}

TEST(pair_sort, more_buckets_than_there_may_be)
{
	carom_context *context = fixture_context(2);
	cr_pair_store *store = cr_make_pair_store(context);
	REQUIRE(store);
	check_size(context, store, 20000000, 30000, -1);
	cr_free_pair_store(store);
	carom_destroy_context(context);
}

static const uint32_t *s_ids; // of the comparison below

static int compare_by_id(const void *p, const void *q)
{
	const uint32_t x = s_ids[*(const uint32_t *)p], y = s_ids[*(const uint32_t *)q];
	return (x > y) - (x < y);
}

TEST(pair_sort, rows_of_every_length)
{
	enum { MOST = 400 };
	uint64_t seed = 3;
	for (int64_t count = 0; count < MOST; count++) {
		uint32_t ids[MOST], row[MOST], expected[MOST] = { 0 };
		const uint64_t range = count % 3 == 0 ? 5 : UINT32_MAX; // with equal ids, and without
		for (uint32_t i = 0; i < count; i++) {
			ids[i] = (uint32_t)(test_random(&seed) % range);
			row[i] = expected[i] = i;
		}
		s_ids = ids;
		qsort(expected, (size_t)count, sizeof expected[0], compare_by_id);
		cr_sort_row(row, count, ids);
		bool same = true, seen[MOST] = { false };
		for (int64_t i = 0; i < count; i++) {
			same = same && ids[row[i]] == ids[expected[i]] && !seen[row[i]];
			seen[row[i]] = true;
		}
		CHECK(same);
	}
}

TEST(pair_sort, every_allocation_may_fail)
{
	pair_input input = make_input(3000, 20000, 7, 11);
	for (int symmetric = 0; symmetric < 2; symmetric++) {
		bool succeeded = false;
		for (int64_t fail_at = 1; !succeeded && fail_at < 2000; fail_at++) { // 0 is the context
			fixture_heap heap;
			carom_context *context = fixture_heap_context(&heap, 1);
			atomic_store(&heap.fail_at, fail_at);
			cr_pair_store *store = cr_make_pair_store(context);
			cr_pair_array sorted = { 0 };
			cr_neighbour_rows rows = { 0 };
			succeeded = store && feed(context, store, &input, symmetric == 1) &&
				(symmetric ? cr_sort_rows(store, NULL, &rows) : cr_sort_pairs(store, &sorted));
			// What failed once works when there is memory again.
			atomic_store(&heap.fail_at, -1);
			if (store) {
				check_pairs(context, store, &input);
				check_rows(context, store, &input, NULL);
			}
			cr_free_pair_store(store);
			cr_array_free(context, &sorted);
			cr_free_rows(context, &rows);
			carom_destroy_context(context);
			CHECK_INT(atomic_load(&heap.blocks), 0);
		}
		CHECK(succeeded);
	}
	free(input.pairs);
}

TEST(pair_sort, memory_of_many_pairs_is_given_back)
{
	carom_context *context = fixture_context(2);
	cr_pair_store *store = cr_make_pair_store(context);
	REQUIRE(store);
	pair_input many = make_input(5000, 400000, -1, 1), few = make_input(5000, 100, -1, 2);
	REQUIRE(feed(context, store, &many, false));
	const size_t peak = cr_pair_store_bytes(store);
	CHECK(peak >= (size_t)many.count * sizeof *many.pairs);
	CHECK(peak < 2 * (size_t)many.count * sizeof *many.pairs);
	CHECK_INT(carom_memory_in_use(context), (int64_t)(context->size + cr_pair_store_bytes(store)));
	// What was in use is kept for the next time, and given back when it was not needed then.
	REQUIRE(feed(context, store, &few, false));
	CHECK(cr_pair_store_bytes(store) >= peak);
	REQUIRE(feed(context, store, &few, false));
	CHECK(cr_pair_store_bytes(store) < peak / 4);
	check_pairs(context, store, &few);
	free(many.pairs);
	free(few.pairs);
	cr_free_pair_store(store);
	carom_destroy_context(context);
}
