/// The parallel loop: everything once, pieces as promised, workers in range and never shared, user schedulers, nested calls.
#include "test.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "base/time.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct loop_record {
	int64_t count;
	int64_t min_range;
	int worker_count;
	atomic_int *visits; // [count]
	atomic_int busy[CR_MAX_WORKERS];
	atomic_int short_pieces;
	atomic_int wrong_workers;
	atomic_int pieces;
} loop_record;

static void record_piece(int64_t begin, int64_t end, int worker, void *task)
{
	loop_record *record = task;
	if (worker < 0 || worker >= record->worker_count || atomic_fetch_add(&record->busy[worker], 1) != 0)
		atomic_fetch_add(&record->wrong_workers, 1);
	if (end - begin < record->min_range && end != record->count)
		atomic_fetch_add(&record->short_pieces, 1);
	for (int64_t i = begin; i < end; i++)
		atomic_fetch_add(&record->visits[i], 1);
	atomic_fetch_add(&record->pieces, 1);
	atomic_fetch_sub(&record->busy[worker], 1);
}

static void check_loop(carom_context *context, int64_t count, int64_t min_range)
{
	loop_record *record = calloc(1, sizeof *record);
	REQUIRE(record);
	record->count = count;
	record->min_range = min_range;
	record->worker_count = carom_context_threads(context);
	record->visits = calloc((size_t)count + 1, sizeof *record->visits);
	REQUIRE(record->visits);
	cr_parallel_for(context, record_piece, count, min_range, record);
	for (int64_t i = 0; i < count; i++) {
		if (!CHECK_INT(record->visits[i], 1))
			break;
	}
	CHECK_INT(record->short_pieces, 0);
	CHECK_INT(record->wrong_workers, 0);
	if (count <= min_range)
		CHECK_INT(record->pieces, count > 0);
	if (record->worker_count == 1)
		CHECK(record->pieces <= 1);
	free(record->visits);
	free(record);
}

static carom_context *make_context(int thread_count, carom_parallel_for_fn *scheduler, void *user)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = thread_count;
	def.parallel_for = scheduler;
	def.parallel_for_user = user;
	carom_context *context = NULL;
	carom_create_context(&def, &context);
	return context;
}

static void check_sizes(carom_context *context)
{
	REQUIRE(context);
	static const int64_t counts[] = { 0, 1, 2, 3, 7, 63, 64, 65, 1000, 100001 };
	static const int64_t ranges[] = { 1, 2, 64, 1000, 1000000, INT64_MAX / 2, INT64_MAX / 2 + 1, INT64_MAX };
	for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
		for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++)
			check_loop(context, counts[c], ranges[r]);
	}
	check_loop(context, -5 + 5, 1);
	carom_destroy_context(context);
}

TEST(parallel, built_in_loop)
{
	for (int threads = 1; threads <= 5; threads++)
		check_sizes(make_context(threads, NULL, NULL));
}

// The public loop: the same, and it takes any piece size.
static void check_public_loop(carom_context *context, int64_t count, int64_t min_range)
{
	loop_record record = { .count = count > 0 ? count : 0,
		.min_range = min_range,
		.worker_count = carom_context_threads(context),
		.visits = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof *record.visits) };
	REQUIRE(record.visits);
	carom_parallel_for(context, record_piece, count, min_range, &record);
	for (int64_t i = 0; i < count; i++) {
		if (!CHECK_INT(record.visits[i], 1))
			break;
	}
	CHECK_INT(record.visits[record.count], 0);
	CHECK_INT(record.short_pieces, 0);
	CHECK_INT(record.wrong_workers, 0);
	if (count <= min_range || count <= 1)
		CHECK_INT(record.pieces, count > 0);
	free(record.visits);
}

TEST(parallel, public_loop)
{
	for (int threads = 1; threads <= 3; threads++) {
		carom_context *context = make_context(threads, NULL, NULL);
		REQUIRE(context);
		for (int64_t min_range = -1; min_range <= 100; min_range += 101) {
			check_public_loop(context, -5, min_range);
			check_public_loop(context, 0, min_range);
			check_public_loop(context, 1, min_range);
			check_public_loop(context, 199, min_range);
			check_public_loop(context, 10007, min_range);
		}
		carom_destroy_context(context);
	}
}

TEST(parallel, thread_count)
{
	carom_context *context = make_context(3, NULL, NULL);
	REQUIRE(context);
	CHECK_INT(carom_context_threads(context), CR_THREADS ? 3 : 1);
	carom_destroy_context(context);
	context = make_context(0, NULL, NULL);
	REQUIRE(context);
	const int cores = cr_processor_count();
	CHECK(cores >= 1);
	CHECK_INT(carom_context_threads(context), cores < CR_MAX_WORKERS ? cores : CR_MAX_WORKERS);
	carom_destroy_context(context);
}

// ---- User schedulers ----

/// Runs the pieces backwards, on the calling thread, as different workers.
static void backward_scheduler(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	int *calls = user;
	(*calls)++;
	for (int64_t begin = (count - 1) / min_range * min_range; begin >= 0; begin -= min_range)
		task_fn(begin, begin + min_range < count ? begin + min_range : count, (int)(begin / min_range % 4), task);
}

TEST(parallel, user_scheduler_in_any_order)
{
	int calls = 0;
	carom_context *context = make_context(4, backward_scheduler, &calls);
	REQUIRE(context);
	CHECK_INT(carom_context_threads(context), 4);
	check_sizes(context);
	CHECK(calls > 0);
}

TEST(parallel, one_piece_is_asked_for_by_the_largest_range)
{
	int calls = 0;
	carom_context *contexts[] = { make_context(2, NULL, NULL), make_context(2, backward_scheduler, &calls) };
	for (int i = 0; i < 2; i++) {
		REQUIRE(contexts[i]);
		check_public_loop(contexts[i], 100, INT64_MAX);
		check_public_loop(contexts[i], 100, INT64_MAX / 2 + 1);
		carom_destroy_context(contexts[i]);
	}
	CHECK_INT(calls, 0); // one piece needs no scheduler
}

typedef struct pthread_loop {
	carom_task_fn *task_fn;
	void *task;
	int64_t count;
	int64_t range;
	atomic_llong next;
} pthread_loop;

typedef struct pthread_worker {
	pthread_loop *loop;
	int worker;
} pthread_worker;

static void *run_pthread_worker(void *worker_pointer)
{
	const pthread_worker *worker = worker_pointer;
	pthread_loop *loop = worker->loop;
	for (;;) {
		const int64_t begin = atomic_fetch_add(&loop->next, loop->range);
		if (begin >= loop->count)
			return NULL;
		const int64_t end = begin + loop->range < loop->count ? begin + loop->range : loop->count;
		loop->task_fn(begin, end, worker->worker, loop->task);
	}
}

static void pthread_scheduler(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	(void)user;
	pthread_loop loop = { .task_fn = task_fn, .task = task, .count = count, .range = min_range };
	pthread_t threads[3];
	pthread_worker workers[3];
	for (int i = 0; i < 3; i++) {
		workers[i] = (pthread_worker){ &loop, i };
		pthread_create(&threads[i], NULL, run_pthread_worker, &workers[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

TEST(parallel, user_scheduler_with_threads) { check_sizes(make_context(3, pthread_scheduler, NULL)); }

// ---- Nested calls ----

typedef struct nested_record {
	carom_context *context;
	atomic_int inner_items;
	atomic_int other_worker;
	atomic_int pieces;
} nested_record;

typedef struct inner_task {
	nested_record *record;
	int worker;
} inner_task;

static void inner_piece(int64_t begin, int64_t end, int worker, void *task)
{
	inner_task *inner = task;
	if (worker != inner->worker)
		atomic_fetch_add(&inner->record->other_worker, 1);
	atomic_fetch_add(&inner->record->pieces, 1);
	atomic_fetch_add(&inner->record->inner_items, (int)(end - begin));
}

static void outer_piece(int64_t begin, int64_t end, int worker, void *task)
{
	nested_record *record = task;
	for (int64_t i = begin; i < end; i++) {
		inner_task inner = { record, worker };
		cr_parallel_for(record->context, inner_piece, 1000, 1, &inner);
	}
}

static void outer_public_piece(int64_t begin, int64_t end, int worker, void *task)
{
	nested_record *record = task;
	for (int64_t i = begin; i < end; i++) {
		inner_task inner = { record, worker };
		carom_parallel_for(record->context, inner_piece, 1000, 1, &inner);
	}
}

static void check_public_nested(carom_context *context)
{
	REQUIRE(context);
	nested_record record = { .context = context };
	carom_parallel_for(context, outer_public_piece, 100, 1, &record);
	CHECK_INT(record.inner_items, 100 * 1000);
	CHECK_INT(record.other_worker, 0);
	CHECK_INT(record.pieces, 100);
	carom_destroy_context(context);
}

static void check_nested(carom_context *context)
{
	REQUIRE(context);
	nested_record record = { .context = context };
	cr_parallel_for(context, outer_piece, 100, 1, &record);
	CHECK_INT(record.inner_items, 100 * 1000);
	CHECK_INT(record.other_worker, 0);
	CHECK_INT(record.pieces, 100);
	// Afterwards the loop is parallel again: the mark of the outer piece is gone.
	check_loop(context, 5000, 10);
	carom_destroy_context(context);
}

TEST(parallel, nested_calls_stay_on_their_worker)
{
	check_nested(make_context(1, NULL, NULL));
	check_nested(make_context(4, NULL, NULL));
	check_nested(make_context(3, pthread_scheduler, NULL));
	check_public_nested(make_context(1, NULL, NULL));
	check_public_nested(make_context(4, NULL, NULL));
	check_public_nested(make_context(3, pthread_scheduler, NULL));
}

// ---- Shared state of a context ----

static void allocate_and_fail(int64_t begin, int64_t end, int worker, void *task)
{
	carom_context *context = task;
	for (int64_t i = begin; i < end; i++) {
		void *memory = cr_alloc(context, (size_t)(i % 1000 + 1));
		cr_fail(context, CAROM_INVALID_MESH, "worker %d item %d", worker, (int)i);
		cr_free(context, memory, (size_t)(i % 1000 + 1));
	}
}

TEST(parallel, memory_and_error_text_from_many_threads)
{
	carom_context *context = make_context(4, NULL, NULL);
	REQUIRE(context);
	const size_t empty = carom_memory_in_use(context);
	cr_parallel_for(context, allocate_and_fail, 20000, 10, context);
	CHECK_INT(carom_memory_in_use(context), empty);
	CHECK(carom_memory_peak(context) >= empty + 1000);
	CHECK_INT(strncmp(carom_error_text(context), "worker ", 7), 0);
	carom_destroy_context(context);
}

TEST(parallel, clock_goes_forward)
{
	const double start = cr_time_ms();
	double now = start;
	for (int i = 0; i < 1000000000 && now - start < 2; i++) {
		const double next = cr_time_ms();
		REQUIRE(next >= now);
		now = next;
	}
	CHECK(now - start >= 2);
}
