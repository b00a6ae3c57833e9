/// The threads of a context: when they start and end, who takes part in which loop, and what happens where the system gives none.
#include "fixture.h"
#include "test.h"
#include "base/context.h"
#include "base/float_mode.h"
#include "base/parallel.h"
#include "base/pool.h"
#include "base/thread.h"
#include "base/time.h"
#include "pool_fixture.h"
#include <fenv.h>
#include <pthread.h>
#ifndef __wasi__
#include <signal.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

/// Threads of this process now; 0: the system does not tell. (Under Wine the file exists, but is about another process.)
static int threads_of_process(void)
{
#ifdef _WIN32
	return 0;
#endif
	FILE *file = fopen("/proc/self/status", "r");
	int threads = 0;
	char line[256];
	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "Threads: %d", &threads) == 1)
			break;
	}
	if (file)
		fclose(file);
	return threads;
}

/// Loop over so many items until the pool has as many threads as expected: on a busy machine an earlier loop may have lost time by help, and
/// those that follow it are the caller's alone for a while. Returns the threads that there are then.
static int threads_after_loops(carom_context *context, int64_t count, int expected)
{
	const double end = cr_time_ms() + POOL_LONGEST_MS;
	do {
		CHECK(pool_loop_is_whole(context, count));
	} while (cr_pool_threads(context->pool) < expected && cr_time_ms() < end);
	return cr_pool_threads(context->pool);
}

// ---- Start and end ----

TEST(pool, threads_start_with_the_first_loop_that_needs_them)
{
	pool_require_threads();
	carom_context *context = fixture_context(4);
	CHECK_INT(cr_pool_threads(context->pool), 0);
	CHECK(pool_loop_is_whole(context, 1));
	CHECK_INT(cr_pool_threads(context->pool), 0); // one item is the caller's
	CHECK(pool_loop_is_whole(context, 2));
	CHECK_INT(cr_pool_threads(context->pool), 1);
	CHECK_INT(threads_after_loops(context, 1000, 3), 3);
	carom_destroy_context(context);
}

TEST(pool, contexts_that_need_no_threads_have_no_pool)
{
	carom_context *context = fixture_context(1);
	CHECK(!context->pool);
	CHECK(pool_loop_is_whole(context, 1000));
	carom_destroy_context(context);
}

static void sleep_ms(int ms) { nanosleep(&(struct timespec){ .tv_nsec = 1000000 * ms }, NULL); }

/// Wait until this process has as many threads as expected, since the system counts a joined thread a little longer. Returns the last count.
static int settled_threads(int expected)
{
	int threads = threads_of_process();
	for (int i = 0; i < 2000 && threads != expected; i++) {
		sleep_ms(1);
		threads = threads_of_process();
	}
	return threads;
}

TEST(pool, thousands_of_contexts_leave_no_threads)
{
	pool_require_threads();
	carom_context *first = fixture_context(2); // after which a sanitizer has started the thread of its own
	REQUIRE(pool_loop_is_whole(first, 2));
	const int with_one = threads_of_process();
	carom_destroy_context(first);
	for (int i = 0; i < 2000; i++) {
		carom_context *context = fixture_context(2 + i % 3);
		for (int loops = i % 4; loops > 0; loops--)
			REQUIRE(pool_loop_is_whole(context, 1 + i % 100));
		carom_destroy_context(context);
	}
	if (with_one)
		CHECK_INT(settled_threads(with_one - 1), with_one - 1);
}

TEST(pool, many_more_threads_than_cores)
{
	carom_context *context = fixture_context(CR_MAX_WORKERS);
	for (int i = 0; i < 100; i++)
		REQUIRE(pool_loop_is_whole(context, 1 + 100 * i));
	if (CR_THREADS)
		CHECK_INT(threads_after_loops(context, 10000, CR_MAX_WORKERS - 1), CR_MAX_WORKERS - 1);
	carom_destroy_context(context);
}

TEST(pool, loops_on_threads_allocate_nothing)
{
	carom_context *context = fixture_context(4);
	const size_t before = carom_memory_in_use(context);
	for (int i = 0; i < 100; i++)
		REQUIRE(pool_loop_is_whole(context, 1000));
	CHECK_INT(carom_memory_in_use(context), before);
	CHECK_INT(carom_memory_peak(context), before);
	carom_destroy_context(context);
}

// ---- Who takes part ----

TEST(pool, all_threads_take_part_in_long_loops)
{
	pool_require_threads();
	for (int i = 0; i < 40; i++) {
		const int workers = i % 2 ? 9 : 2;
		carom_context *context = fixture_context(workers); // whose threads have not yet been found to be of no use
		pool_meeting m = { .expected = workers };
		carom_parallel_for(context, pool_meet, workers, 1, &m);
		CHECK_INT(m.late, 0);
		for (int w = 0; w < workers; w++)
			CHECK_INT(m.met[w], 1);
		carom_destroy_context(context);
	}
}

// ---- Help that does not pay ----

static void wait_ms(double ms)
{
	for (const double end = cr_time_ms() + ms; cr_time_ms() < end;)
		cr_thread_yield();
}

/// Takes long for other workers than 0, which do not work meanwhile: so it is where other processes have the core of a thread.
static void lose_core(int64_t begin, int64_t end, int worker, void *task)
{
	pool_count_piece(begin, end, worker, task);
	if (worker != 0)
		sleep_ms(30);
	else
		wait_ms(1); // leaves pieces to the other one
}

static void work_a_millisecond(int64_t begin, int64_t end, int worker, void *task)
{
	pool_count_piece(begin, end, worker, task);
	wait_ms((double)(end - begin));
}

/// Makes a context of two workers whose last loop has lost time by help, at *when.
static carom_context *disappointed_context(double *when)
{
	carom_context *context = fixture_context(2);
	pool_count t = { 0 };
	for (const double end = cr_time_ms() + POOL_LONGEST_MS; t.elsewhere == 0 && cr_time_ms() < end;)
		carom_parallel_for(context, lose_core, 4, 1, &t);
	CHECK(t.elsewhere > 0);
	*when = cr_time_ms();
	return context;
}

TEST(pool, threads_that_lose_their_cores_are_not_asked_for_a_while)
{
	pool_require_threads();
#ifdef _WIN32
	test_skip("Windows does not tell how long a thread has had a core");
#endif
	for (int attempt = 0; attempt < 20; attempt++) {
		double start;
		carom_context *context = disappointed_context(&start);
		pool_count t = { 0 };
		for (int i = 0; i < 100; i++)
			carom_parallel_for(context, pool_count_piece, 1000, 1, &t);
		const double taken = cr_time_ms() - start;
		carom_destroy_context(context);
		CHECK_INT(t.items, 100000);
		if (taken > 100)
			continue; // this thread lost its core itself
		CHECK_INT(t.elsewhere, 0);
		return;
	}
	test_skip("this machine is too busy");
}

TEST(pool, threads_are_asked_again_in_the_middle_of_a_long_loop)
{
	pool_require_threads();
	double start;
	carom_context *context = disappointed_context(&start);
	pool_count t = { 0 };
	carom_parallel_for(context, work_a_millisecond, 3000, 1, &t);
	CHECK_INT(t.items, 3000);
	CHECK(t.elsewhere > 0);
	carom_destroy_context(context);
}

// ---- Several callers ----

/// A loop whose pieces wait for a signal, while another application thread loops.
typedef struct blocked_loop {
	carom_context *context;
	atomic_int inside;
	atomic_int released;
	atomic_int late;
} blocked_loop;

static void wait_for_release(int64_t begin, int64_t end, int worker, void *task)
{
	(void)begin, (void)end, (void)worker;
	blocked_loop *b = task;
	atomic_fetch_add(&b->inside, 1);
	if (!pool_wait_for(&b->released, 1))
		atomic_fetch_add(&b->late, 1);
}

static void *run_blocked_loop(void *user)
{
	blocked_loop *b = user;
	carom_parallel_for(b->context, wait_for_release, 3, 1, b);
	return NULL;
}

TEST(pool, loops_do_not_wait_for_threads_that_are_busy)
{
	pool_require_threads();
	blocked_loop b = { .context = fixture_context(3) };
	pthread_t thread;
	REQUIRE(pthread_create(&thread, NULL, run_blocked_loop, &b) == 0);
	CHECK(pool_wait_for(&b.inside, 3)); // both threads of the pool are in the other loop
	for (int i = 0; i < 1000; i++) {
		pool_count t = { 0 };
		carom_parallel_for(b.context, pool_count_piece, 1000, 1, &t);
		CHECK_INT(t.items, 1000);
		CHECK_INT(t.elsewhere, 0);
	}
	atomic_store(&b.released, 1);
	pthread_join(thread, NULL);
	CHECK_INT(b.late, 0);
	carom_destroy_context(b.context);
}

enum { CALLERS = 12 };

typedef struct caller {
	carom_context *context;
	int loops;
	int wrong;
	pthread_t thread;
} caller;

static void *loop_often(void *user)
{
	caller *c = user;
	for (int i = 0; i < c->loops; i++)
		c->wrong += !pool_loop_is_whole(c->context, 1 + i % 300);
	return NULL;
}

TEST(pool, loops_of_many_threads_at_once)
{
	carom_context *contexts[] = { fixture_context(2), fixture_context(5) };
	caller callers[CALLERS];
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (caller){ .context = contexts[i % 2], .loops = 3000 };
		REQUIRE(pthread_create(&callers[i].thread, NULL, loop_often, &callers[i]) == 0);
	}
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(callers[i].thread, NULL);
		CHECK_INT(callers[i].wrong, 0);
	}
	carom_destroy_context(contexts[0]);
	carom_destroy_context(contexts[1]);
}

/// Loops of two contexts inside one another: pieces of one run loops of the other.
typedef struct nest {
	carom_context *contexts[2];
	int depth;
	atomic_llong items;
} nest;

typedef struct nest_level {
	nest *nest;
	int depth;
} nest_level;

static void loop_in_piece(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const nest_level *level = task;
	if (level->depth == level->nest->depth) {
		atomic_fetch_add(&level->nest->items, end - begin);
		return;
	}
	for (int64_t i = begin; i < end; i++) {
		nest_level next = { level->nest, level->depth + 1 };
		carom_parallel_for(level->nest->contexts[next.depth % 2], loop_in_piece, 10, 1, &next);
	}
}

TEST(pool, loops_of_two_contexts_inside_one_another_on_threads)
{
	for (int i = 0; i < 20; i++) {
		nest n = { .contexts = { fixture_context(3), fixture_context(3) }, .depth = 3 };
		nest_level level = { &n, 0 };
		carom_parallel_for(n.contexts[0], loop_in_piece, 10, 1, &level);
		CHECK_INT(n.items, 10000);
		carom_destroy_context(n.contexts[0]);
		carom_destroy_context(n.contexts[1]);
	}
}

static void fail_elsewhere(int64_t begin, int64_t end, int worker, void *task)
{
	(void)begin, (void)end;
	if (worker != 0)
		cr_fail(task, CAROM_OUT_OF_MEMORY, "a piece of another worker failed");
	else
		wait_ms(1); // leaves pieces to the other one
}

TEST(pool, failures_of_threads_are_the_callers)
{
	pool_require_threads();
	carom_context *context = fixture_context(2);
	cr_fail(context, CAROM_INVALID_ARGUMENT, "an older failure");
	const double end = cr_time_ms() + POOL_LONGEST_MS;
	while (strcmp(carom_error_text(context), "an older failure") == 0 && cr_time_ms() < end)
		carom_parallel_for(context, fail_elsewhere, 64, 1, context);
	CHECK_STR(carom_error_text(context), "a piece of another worker failed");
	carom_destroy_context(context);
}

// ---- What a thread is like ----

enum { DEEP = 512 * 1024 };

typedef struct inspection {
	pool_meeting meeting;
	atomic_int hears_signals; // threads that a signal from outside may interrupt
	atomic_int deaf_to_crashes;
	atomic_int bad_stacks;
} inspection;

static int use_stack(int seed)
{
	volatile char bytes[DEEP];
	for (int i = 0; i < DEEP; i += 1024)
		bytes[i] = (char)(seed + i / 1024);
	int wrong = 0;
	for (int i = 0; i < DEEP; i += 1024)
		wrong += bytes[i] != (char)(seed + i / 1024);
	return wrong;
}

static void inspect_thread(int64_t begin, int64_t end, int worker, void *task)
{
	inspection *p = task;
	pool_meet(begin, end, worker, &p->meeting);
	if (worker == 0)
		return;
	atomic_fetch_add(&p->bad_stacks, use_stack(worker));
#ifdef SIGALRM
	sigset_t deaf_to;
	pthread_sigmask(SIG_SETMASK, NULL, &deaf_to);
	atomic_fetch_add(&p->hears_signals, !sigismember(&deaf_to, SIGINT) || !sigismember(&deaf_to, SIGALRM));
	atomic_fetch_add(&p->deaf_to_crashes, sigismember(&deaf_to, SIGSEGV) || sigismember(&deaf_to, SIGABRT));
#endif
}

TEST(pool, threads_have_a_stack_and_leave_signals_to_the_application)
{
	pool_require_threads();
#ifdef SIGALRM
	sigset_t before, after;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
#endif
	carom_context *context = fixture_context(3);
	inspection p = { .meeting = { .expected = 3 } };
	carom_parallel_for(context, inspect_thread, 3, 1, &p);
	CHECK_INT(p.meeting.late, 0);
	CHECK_INT(p.hears_signals, 0);
	CHECK_INT(p.deaf_to_crashes, 0);
	CHECK_INT(p.bad_stacks, 0);
#ifdef SIGALRM
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	CHECK_INT(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
#endif
	carom_destroy_context(context);
}

typedef struct mode_check {
	pool_meeting meeting;
	atomic_int faults; // of workers other than 0
} mode_check;

#ifdef FE_UPWARD
static void look_at_mode(int64_t begin, int64_t end, int worker, void *task)
{
	mode_check *m = task;
	pool_meet(begin, end, worker, &m->meeting);
	if (worker != 0 && cr_float_mode_fault())
		atomic_fetch_add(&m->faults, 1);
}
#endif

TEST(pool, threads_have_the_default_floating_point_mode)
{
	pool_require_threads();
#ifndef FE_UPWARD
	test_skip("this machine rounds in one way only");
#else
	carom_context *context = fixture_context(4);
	// The threads start now, in the mode of their maker.
	CHECK(fesetround(FE_UPWARD) == 0);
#ifdef __SSE__
	_mm_setcsr(_mm_getcsr() | 0x8040);
#endif
	mode_check m = { .meeting = { .expected = 4 } };
	carom_parallel_for(context, look_at_mode, 4, 1, &m);
	const bool own_is_other = cr_float_mode_fault() != NULL;
	cr_float_mode_reset();
	CHECK(own_is_other);
	CHECK(!cr_float_mode_fault());
	CHECK_INT(m.meeting.late, 0);
	CHECK_INT(m.faults, 0);
	carom_destroy_context(context);
#endif
}
