/// Application threads that share a context: whose error text is whose, and what may be made and run at once.
#include "test.h"
#include "base/context.h"
#include "carom/spheres.h"
#include "carom/sweep.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static carom_context *make_context(int thread_count)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = thread_count;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

/// Run fn on two threads at once, with users[0] and users[1].
static void run_two(void *(*fn)(void *), void *users[2])
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_create(&threads[i], NULL, fn, users[i]) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

// ---- Error texts ----

typedef struct turn_taker {
	carom_context *context;
	pthread_barrier_t *barrier;
	int number;
	bool own; // the text was of its own failure
} turn_taker;

/// Both fail before either asks why.
static void *fail_then_ask(void *user)
{
	turn_taker *t = user;
	char text[64];
	snprintf(text, sizeof text, "failure of thread %d", t->number);
	cr_fail(t->context, CAROM_INVALID_ARGUMENT, "%s", text);
	pthread_barrier_wait(t->barrier);
	t->own = strcmp(carom_error_text(t->context), text) == 0;
	return NULL;
}

TEST(threads, each_thread_sees_its_own_failure)
{
	carom_context *context = make_context(1);
	pthread_barrier_t barrier;
	REQUIRE(pthread_barrier_init(&barrier, NULL, 2) == 0);
	turn_taker t[2] = { { context, &barrier, 0, false }, { context, &barrier, 1, false } };
	run_two(fail_then_ask, (void *[]){ &t[0], &t[1] });
	CHECK(t[0].own && t[1].own);
	CHECK(strncmp(carom_error_text(context), "failure of thread ", 18) == 0); // this one had none of its own
	pthread_barrier_destroy(&barrier);
	carom_destroy_context(context);
}

enum { FAILURES = 20000 };

typedef struct failing {
	carom_context *context;
	int number;
	int wrong; // texts that were not of the thread's own last failure
} failing;

/// Texts as long as they get, so that a mixture of two is likely to show.
static void make_text(int number, int i, char text[CR_ERROR_TEXT_SIZE])
{
	snprintf(text, CR_ERROR_TEXT_SIZE, "thread %d failure %d", number, i);
	const size_t length = strlen(text);
	memset(text + length, 'a' + number, CR_ERROR_TEXT_SIZE - 1 - length);
	text[CR_ERROR_TEXT_SIZE - 1] = 0;
}

static void *fail_often(void *user)
{
	failing *f = user;
	for (int i = 0; i < FAILURES; i++) {
		char text[CR_ERROR_TEXT_SIZE];
		make_text(f->number, i, text);
		cr_fail(f->context, CAROM_INVALID_ARGUMENT, "%s", text);
		f->wrong += strcmp(carom_error_text(f->context), text) != 0;
	}
	return NULL;
}

TEST(threads, error_texts_of_two_threads_do_not_mix)
{
	carom_context *context = make_context(1);
	failing f[2] = { { context, 0, 0 }, { context, 1, 0 } };
	run_two(fail_often, (void *[]){ &f[0], &f[1] });
	CHECK_INT(f[0].wrong, 0);
	CHECK_INT(f[1].wrong, 0);
	// A thread without a failure of its own sees the last one of either.
	char last[2][CR_ERROR_TEXT_SIZE];
	for (int i = 0; i < 2; i++)
		make_text(i, FAILURES - 1, last[i]);
	const char *text = carom_error_text(context);
	CHECK(strcmp(text, last[0]) == 0 || strcmp(text, last[1]) == 0);
	carom_destroy_context(context);
}

/// Looks at the text of the context while another thread fails: one text or another, not a mixture.
static void *watch_texts(void *user)
{
	failing *f = user;
	for (int i = 0; i < FAILURES; i++) {
		const char *text = carom_error_text(f->context);
		const size_t length = strlen(text);
		f->wrong += length != 0 && (length != CR_ERROR_TEXT_SIZE - 1 || text[length - 1] != 'a' + 1);
	}
	return NULL;
}

static void *fail_or_watch(void *user) { return ((failing *)user)->number == 0 ? watch_texts(user) : fail_often(user); }

TEST(threads, error_text_of_another_thread_is_whole)
{
	carom_context *context = make_context(1);
	failing f[2] = { { context, 0, 0 }, { context, 1, 0 } };
	run_two(fail_or_watch, (void *[]){ &f[0], &f[1] });
	CHECK_INT(f[0].wrong, 0);
	CHECK_INT(f[1].wrong, 0);
	carom_destroy_context(context);
}

/// The pieces fail, all but the calling thread's.
typedef struct elsewhere {
	carom_context *context;
	pthread_t caller;
	atomic_int failures;
} elsewhere;

static void fail_elsewhere(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	elsewhere *e = task;
	if (pthread_equal(pthread_self(), e->caller))
		return;
	atomic_fetch_add(&e->failures, (int)(end - begin));
	cr_fail(e->context, CAROM_OUT_OF_MEMORY, "a piece failed");
}

typedef struct one_piece {
	carom_task_fn *task_fn;
	int64_t count;
	void *task;
} one_piece;

static void *run_one_piece(void *user)
{
	const one_piece *p = user;
	p->task_fn(0, p->count, 1, p->task);
	return NULL;
}

/// All on one other thread.
static void other_thread(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	(void)min_range, (void)user;
	one_piece piece = { task_fn, count, task };
	pthread_t thread;
	if (pthread_create(&thread, NULL, run_one_piece, &piece) == 0)
		pthread_join(thread, NULL);
}

TEST(threads, failures_in_a_parallel_loop_are_the_callers)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 2;
	def.parallel_for = other_thread;
	elsewhere e = { .caller = pthread_self() };
	REQUIRE(carom_create_context(&def, &e.context) == CAROM_SUCCESS);
	cr_fail(e.context, CAROM_INVALID_ARGUMENT, "an older failure of the caller");
	carom_parallel_for(e.context, fail_elsewhere, 100, 1, &e);
	CHECK_INT(e.failures, 100);
	CHECK_STR(carom_error_text(e.context), "a piece failed");
	carom_destroy_context(e.context);
}
