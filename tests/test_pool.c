/// The threads of a context: when they start and end, who takes part in which loop, and what happens where the system gives none.
#include "fixture.h"
#include "test.h"
#include "base/context.h"
#include "base/parallel.h"
#include "base/pool.h"
#include "base/thread.h"
#include "base/time.h"
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

static void require_threads(void)
{
	if (!CR_THREADS)
		test_skip("built without threads (CAROM_THREADS=OFF)");
}

enum { LONGEST_MS = 60000 }; // that a test waits for another thread before it gives up

// ---- Loops that count ----

typedef struct count_task {
	atomic_llong items;
	atomic_int elsewhere; // pieces of workers other than 0
} count_task;

static void count_piece(int64_t begin, int64_t end, int worker, void *task)
{
	count_task *t = task;
	atomic_fetch_add(&t->items, end - begin);
	if (worker != 0)
		atomic_fetch_add(&t->elsewhere, 1);
}

/// Returns whether a loop did each of its items, by their number.
static bool loop_is_whole(carom_context *context, int64_t count)
{
	count_task t = { 0 };
	carom_parallel_for(context, count_piece, count, 1, &t);
	return atomic_load(&t.items) == count;
}

/// Threads of this process now; 0: the system does not tell.
static int threads_of_process(void)
{
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

// ---- Start and end ----

TEST(pool, threads_start_with_the_first_loop_that_needs_them)
{
	require_threads();
	carom_context *context = fixture_context(4);
	CHECK_INT(cr_pool_threads(context->pool), 0);
	CHECK(loop_is_whole(context, 1));
	CHECK_INT(cr_pool_threads(context->pool), 0); // one item is the caller's
	CHECK(loop_is_whole(context, 2));
	CHECK_INT(cr_pool_threads(context->pool), 1);
	CHECK(loop_is_whole(context, 1000));
	CHECK_INT(cr_pool_threads(context->pool), 3);
	carom_destroy_context(context);
}

TEST(pool, contexts_that_need_no_threads_have_no_pool)
{
	carom_context *context = fixture_context(1);
	CHECK(!context->pool);
	CHECK(loop_is_whole(context, 1000));
	carom_destroy_context(context);
}

TEST(pool, thousands_of_contexts_leave_no_threads)
{
	require_threads();
	const int before = threads_of_process();
	for (int i = 0; i < 2000; i++) {
		carom_context *context = fixture_context(2 + i % 3);
		for (int loops = i % 4; loops > 0; loops--)
			REQUIRE(loop_is_whole(context, 1 + i % 100));
		carom_destroy_context(context);
	}
	CHECK_INT(threads_of_process(), before);
}

TEST(pool, many_more_threads_than_cores)
{
	carom_context *context = fixture_context(CR_MAX_WORKERS);
	for (int i = 0; i < 100; i++)
		REQUIRE(loop_is_whole(context, 1 + 100 * i));
	if (CR_THREADS)
		CHECK_INT(cr_pool_threads(context->pool), CR_MAX_WORKERS - 1);
	carom_destroy_context(context);
}

TEST(pool, loops_on_threads_allocate_nothing)
{
	carom_context *context = fixture_context(4);
	const size_t before = carom_memory_in_use(context);
	for (int i = 0; i < 100; i++)
		REQUIRE(loop_is_whole(context, 1000));
	CHECK_INT(carom_memory_in_use(context), before);
	CHECK_INT(carom_memory_peak(context), before);
	carom_destroy_context(context);
}

// ---- Who takes part ----

/// Waits until *value is at least wanted. Returns false if that takes too long.
static bool wait_for(atomic_int *value, int wanted)
{
	const double end = cr_time_ms() + LONGEST_MS;
	while (atomic_load(value) < wanted) {
		if (cr_time_ms() > end)
			return false;
		cr_thread_yield();
	}
	return true;
}

typedef struct meeting {
	int expected;
	atomic_int present;
	atomic_int late;
	atomic_int met[CR_MAX_WORKERS];
} meeting;

/// Each piece waits until as many are under way as there are workers.
static void meet(int64_t begin, int64_t end, int worker, void *task)
{
	(void)begin, (void)end;
	meeting *m = task;
	atomic_fetch_add(&m->met[worker], 1);
	atomic_fetch_add(&m->present, 1);
	if (!wait_for(&m->present, m->expected))
		atomic_fetch_add(&m->late, 1);
}

TEST(pool, all_threads_take_part_in_long_loops)
{
	require_threads();
	for (int i = 0; i < 40; i++) {
		const int workers = i % 2 ? 9 : 2;
		carom_context *context = fixture_context(workers); // whose threads have not yet been found to be of no use
		meeting m = { .expected = workers };
		carom_parallel_for(context, meet, workers, 1, &m);
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

static void sleep_ms(int ms) { nanosleep(&(struct timespec){ .tv_nsec = 1000000 * ms }, NULL); }

/// Takes long for other workers than 0, which do not work meanwhile: so it is where other processes have the core of a thread.
static void lose_core(int64_t begin, int64_t end, int worker, void *task)
{
	count_piece(begin, end, worker, task);
	if (worker != 0)
		sleep_ms(30);
	else
		wait_ms(1); // leaves pieces to the other one
}

static void work_a_millisecond(int64_t begin, int64_t end, int worker, void *task)
{
	count_piece(begin, end, worker, task);
	wait_ms((double)(end - begin));
}

/// Makes a context of two workers whose last loop has lost time by help, at *when.
static carom_context *disappointed_context(double *when)
{
	carom_context *context = fixture_context(2);
	count_task t = { 0 };
	for (int i = 0; i < 100 && t.elsewhere == 0; i++)
		carom_parallel_for(context, lose_core, 4, 1, &t);
	CHECK(t.elsewhere > 0);
	*when = cr_time_ms();
	return context;
}

TEST(pool, threads_that_lose_their_cores_are_not_asked_for_a_while)
{
	require_threads();
	for (int attempt = 0; attempt < 20; attempt++) {
		double start;
		carom_context *context = disappointed_context(&start);
		count_task t = { 0 };
		for (int i = 0; i < 100; i++)
			carom_parallel_for(context, count_piece, 1000, 1, &t);
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
	require_threads();
	double start;
	carom_context *context = disappointed_context(&start);
	count_task t = { 0 };
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
	if (!wait_for(&b->released, 1))
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
	require_threads();
	blocked_loop b = { .context = fixture_context(3) };
	pthread_t thread;
	REQUIRE(pthread_create(&thread, NULL, run_blocked_loop, &b) == 0);
	CHECK(wait_for(&b.inside, 3)); // both threads of the pool are in the other loop
	for (int i = 0; i < 1000; i++) {
		count_task t = { 0 };
		carom_parallel_for(b.context, count_piece, 1000, 1, &t);
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
		c->wrong += !loop_is_whole(c->context, 1 + i % 300);
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
	require_threads();
	carom_context *context = fixture_context(2);
	cr_fail(context, CAROM_INVALID_ARGUMENT, "an older failure");
	for (int i = 0; i < 1000 && strcmp(carom_error_text(context), "an older failure") == 0; i++)
		carom_parallel_for(context, fail_elsewhere, 64, 1, context);
	CHECK_STR(carom_error_text(context), "a piece of another worker failed");
	carom_destroy_context(context);
}

// ---- What a thread is like ----

enum { DEEP = 512 * 1024 };

typedef struct inspection {
	meeting meeting;
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
	meet(begin, end, worker, &p->meeting);
	if (worker == 0)
		return;
	sigset_t deaf_to;
	pthread_sigmask(SIG_SETMASK, NULL, &deaf_to);
	atomic_fetch_add(&p->hears_signals, !sigismember(&deaf_to, SIGINT) || !sigismember(&deaf_to, SIGALRM));
	atomic_fetch_add(&p->deaf_to_crashes, sigismember(&deaf_to, SIGSEGV) || sigismember(&deaf_to, SIGABRT));
	atomic_fetch_add(&p->bad_stacks, use_stack(worker));
}

TEST(pool, threads_have_a_stack_and_leave_signals_to_the_application)
{
	require_threads();
	sigset_t before, after;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	carom_context *context = fixture_context(3);
	inspection p = { .meeting = { .expected = 3 } };
	carom_parallel_for(context, inspect_thread, 3, 1, &p);
	CHECK_INT(p.meeting.late, 0);
	CHECK_INT(p.hears_signals, 0);
	CHECK_INT(p.deaf_to_crashes, 0);
	CHECK_INT(p.bad_stacks, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	CHECK_INT(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
	carom_destroy_context(context);
}

typedef struct mode_check {
	meeting meeting;
	atomic_int faults; // of workers other than 0
} mode_check;

static void look_at_mode(int64_t begin, int64_t end, int worker, void *task)
{
	mode_check *m = task;
	meet(begin, end, worker, &m->meeting);
	if (worker != 0 && cr_float_mode_fault())
		atomic_fetch_add(&m->faults, 1);
}

TEST(pool, threads_have_the_default_floating_point_mode)
{
	require_threads();
	carom_context *context = fixture_context(4);
	// The threads start now, in the mode of their maker.
	CHECK(fesetround(FE_UPWARD) == 0);
#ifdef __SSE__
	_mm_setcsr(_mm_getcsr() | 0x8040);
#endif
	mode_check m = { .meeting = { .expected = 4 } };
	carom_parallel_for(context, look_at_mode, 4, 1, &m);
	const bool own_is_other = cr_float_mode_fault() != NULL;
	fesetenv(FE_DFL_ENV);
	CHECK(own_is_other);
	CHECK(!cr_float_mode_fault());
	CHECK_INT(m.meeting.late, 0);
	CHECK_INT(m.faults, 0);
	carom_destroy_context(context);
}

// ---- Where the system gives no threads ----

/// Runs test(user) in a child and returns its exit status; -1 if it ended otherwise.
static int run_in_child(int (*test)(void *user), void *user)
{
	fflush(NULL);
	const pid_t child = fork();
	if (child < 0)
		return -1;
	if (child == 0) {
		alarm(LONGEST_MS / 1000); // a deadlock ends
		_exit(test(user));
	}
	int status = 0;
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void keep_text(carom_log_level level, const char *text, void *user)
{
	if (level == CAROM_LOG_WARNING)
		strncat(user, text, 255 - strlen(user));
}

static void *do_nothing(void *user) { return user; }

/// Makes the system refuse threads to this process, from root too.
static bool refuse_threads(void)
{
	const struct rlimit none = { 0, 0 };
	if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(65534) != 0))
		return false;
	pthread_t thread;
	if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
		return true;
	pthread_join(thread, NULL);
	return false;
}

enum { PASSED = 0, FAILED = 1, CANNOT = 2 };

static int loop_without_threads(void *user)
{
	(void)user;
	char text[256] = { 0 };
	carom_context_def def = carom_default_context_def();
	def.thread_count = 4;
	def.log = keep_text;
	def.log_user = text;
	carom_context *context;
	if (!refuse_threads() || carom_create_context(&def, &context) != CAROM_SUCCESS)
		return CANNOT;
	for (int i = 0; i < 100; i++) {
		if (!loop_is_whole(context, 1000))
			return FAILED;
	}
	const bool told = strcmp(text, "the system gave 0 of 3 threads: loops run on 1 workers from now on") == 0;
	const bool four = carom_context_threads(context) == 4 && cr_pool_threads(context->pool) == 0;
	carom_destroy_context(context);
	return told && four ? PASSED : FAILED;
}

TEST(pool, loops_run_where_no_thread_can_be_started)
{
	require_threads();
	const int result = run_in_child(loop_without_threads, NULL);
	if (result == CANNOT)
		test_skip("this system starts threads beyond RLIMIT_NPROC");
	CHECK_INT(result, PASSED);
}

// ---- Forked children ----

static int loop_in_child(void *user)
{
	carom_context *context = user;
	for (int i = 0; i < 100; i++) {
		count_task t = { 0 };
		carom_parallel_for(context, count_piece, 1000, 1, &t);
		if (t.items != 1000 || t.elsewhere != 0)
			return FAILED;
	}
	carom_destroy_context(context);
	return PASSED;
}

TEST(pool, forked_children_loop_without_the_threads_of_their_parent)
{
	carom_context *context = fixture_context(3);
	CHECK(loop_is_whole(context, 1000));
	for (int i = 0; i < 20; i++)
		CHECK_INT(run_in_child(loop_in_child, context), PASSED);
	CHECK(loop_is_whole(context, 1000)); // the parent's threads are still there
	carom_destroy_context(context);
}

/// Loops until it is told to stop, so that its context is in use at the time of a fork.
typedef struct endless {
	carom_context *context;
	atomic_int loops;
	atomic_int stop;
	int wrong;
} endless;

static void *loop_until_stopped(void *user)
{
	endless *e = user;
	while (!atomic_load(&e->stop)) {
		e->wrong += !loop_is_whole(e->context, 100);
		atomic_fetch_add(&e->loops, 1);
	}
	return NULL;
}

TEST(pool, forks_in_the_middle_of_a_parallel_loop)
{
	endless e = { .context = fixture_context(3) };
	pthread_t thread;
	REQUIRE(pthread_create(&thread, NULL, loop_until_stopped, &e) == 0);
	for (int i = 0; i < 50; i++) {
		CHECK(wait_for(&e.loops, i + 1));
		CHECK_INT(run_in_child(loop_in_child, e.context), PASSED);
	}
	atomic_store(&e.stop, 1);
	pthread_join(thread, NULL);
	CHECK_INT(e.wrong, 0);
	carom_destroy_context(e.context);
}

static int loop_on_own_threads(void *user)
{
	meeting m = { .expected = 3 };
	carom_parallel_for(user, meet, 3, 1, &m);
	const bool met = m.late == 0 && cr_pool_threads(((carom_context *)user)->pool) == 2;
	carom_destroy_context(user);
	return met ? PASSED : FAILED;
}

static int loop_on_new_context(void *user)
{
	(void)user;
	return loop_on_own_threads(fixture_context(3));
}

TEST(pool, forked_children_start_threads_of_their_own)
{
	require_threads();
#ifdef UNDER_TSAN
	test_skip("ThreadSanitizer allows no threads in a child of a process with threads");
#endif
	carom_context *unused = fixture_context(3), *used = fixture_context(3);
	CHECK(loop_is_whole(used, 1000));
	CHECK_INT(run_in_child(loop_on_own_threads, unused), PASSED);
	CHECK_INT(run_in_child(loop_on_new_context, NULL), PASSED);
	carom_destroy_context(unused);
	carom_destroy_context(used);
}
