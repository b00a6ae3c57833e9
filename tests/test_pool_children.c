/// Pools in child processes: where the system gives no threads, and after a fork. Left out where there is no fork.
#include "fixture.h"
#include "test.h"
#include "base/context.h"
#include "base/parallel.h"
#include "base/pool.h"
#include "base/thread.h"
#include "pool_fixture.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

// ---- Where the system gives no threads ----

/// A deadlock of this process ends: one that spins by its own processor time, which no other process uses up; one that sleeps by the clock,
/// after so long that a busy machine has had its turn.
static void end_deadlocks(void)
{
	const rlim_t longest = POOL_LONGEST_MS / 1000;
	setrlimit(RLIMIT_CPU, &(struct rlimit){ longest, longest });
	alarm(10 * POOL_LONGEST_MS / 1000);
}

/// Runs test(user) in a child and returns its exit status; -1 if it ended otherwise.
static int run_in_child(int (*test)(void *user), void *user)
{
	fflush(NULL);
	const pid_t child = fork();
	if (child < 0)
		return -1;
	if (child == 0) {
		end_deadlocks();
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
		if (!pool_loop_is_whole(context, 1000))
			return FAILED;
	}
	const bool told = strcmp(text, "the system gave 0 of 3 threads: loops run on 1 workers from now on") == 0;
	const bool four = carom_context_threads(context) == 4 && cr_pool_threads(context->pool) == 0;
	carom_destroy_context(context);
	return told && four ? PASSED : FAILED;
}

TEST(pool, loops_run_where_no_thread_can_be_started)
{
	pool_require_threads();
	const int result = run_in_child(loop_without_threads, NULL);
	if (result == CANNOT)
		test_skip("this system starts threads beyond RLIMIT_NPROC");
	CHECK_INT(result, PASSED);
}

// ---- Forked children ----

/// Starts the threads of a context, and lets all be in a loop once. AddressSanitizer's allocator (gcc 12) does not outlive a fork while
/// another thread is in it. A thread that starts allocates, one that loops or waits for loops does not.
static void start_threads_of(carom_context *context, int threads)
{
	if (CR_THREADS)
		CHECK(pool_gather(context, threads));
}

static int loop_in_child(void *user)
{
	carom_context *context = user;
	for (int i = 0; i < 100; i++) {
		pool_count t = { 0 };
		carom_parallel_for(context, pool_count_piece, 1000, 1, &t);
		if (t.items != 1000 || t.elsewhere != 0)
			return FAILED;
	}
	carom_destroy_context(context);
	return PASSED;
}

TEST(pool, forked_children_loop_without_the_threads_of_their_parent)
{
	carom_context *context = fixture_context(3);
	start_threads_of(context, 3);
	for (int i = 0; i < 20; i++)
		CHECK_INT(run_in_child(loop_in_child, context), PASSED);
	CHECK(pool_loop_is_whole(context, 1000)); // the parent's threads are still there
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
		e->wrong += !pool_loop_is_whole(e->context, 100);
		atomic_fetch_add(&e->loops, 1);
	}
	return NULL;
}

TEST(pool, forks_in_the_middle_of_a_parallel_loop)
{
	endless e = { .context = fixture_context(3) };
	start_threads_of(e.context, 3);
	pthread_t thread;
	REQUIRE(pthread_create(&thread, NULL, loop_until_stopped, &e) == 0);
	for (int i = 0; i < 50; i++) {
		CHECK(pool_wait_for(&e.loops, i + 1));
		CHECK_INT(run_in_child(loop_in_child, e.context), PASSED);
	}
	atomic_store(&e.stop, 1);
	pthread_join(thread, NULL);
	CHECK_INT(e.wrong, 0);
	carom_destroy_context(e.context);
}

static int loop_on_own_threads(void *user)
{
	pool_meeting m = { .expected = 3 };
	carom_parallel_for(user, pool_meet, 3, 1, &m);
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
	pool_require_threads();
#ifdef UNDER_TSAN
	test_skip("ThreadSanitizer allows no threads in a child of a process with threads");
#endif
	carom_context *unused = fixture_context(3), *used = fixture_context(3);
	start_threads_of(used, 3);
	CHECK_INT(run_in_child(loop_on_own_threads, unused), PASSED);
	CHECK_INT(run_in_child(loop_on_new_context, NULL), PASSED);
	carom_destroy_context(unused);
	carom_destroy_context(used);
}
