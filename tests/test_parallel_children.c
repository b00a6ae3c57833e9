/// Schedulers that break their promise: the program ends, here a child process. Left out where there is no fork.
#include "test.h"
#include "base/parallel.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/// One piece, with the worker that user names.
static void wrong_worker_scheduler(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	(void)min_range;
	task_fn(0, count, *(const int *)user, task);
}

static void write_log(carom_log_level level, const char *text, void *user)
{
	if (level == CAROM_LOG_ERROR)
		(void)!write(*(const int *)user, text, strlen(text));
}

static void no_work(int64_t begin, int64_t end, int worker, void *task) { (void)begin, (void)end, (void)worker, (void)task; }

/// In a process of its own, whose log comes through a pipe.
static void check_wrong_worker(int worker, const char *expected)
{
	int ends[2];
	REQUIRE(pipe(ends) == 0);
	const pid_t child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		carom_context_def def = carom_default_context_def();
		def.thread_count = 2;
		def.parallel_for = wrong_worker_scheduler;
		def.parallel_for_user = &worker;
		def.log = write_log;
		def.log_user = &ends[1];
		carom_context *context;
		if (carom_create_context(&def, &context) == CAROM_SUCCESS)
			carom_parallel_for(context, no_work, 100, 1, NULL);
		_exit(0);
	}
	close(ends[1]);
	char text[256] = { 0 };
	CHECK(read(ends[0], text, sizeof text - 1) >= 0);
	close(ends[0]);
	int status = 0;
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK_STR(text, expected);
}

TEST(parallel, workers_out_of_range_end_the_program)
{
	check_wrong_worker(2,
		"carom_context_def.parallel_for ran a piece with worker 2, but thread_count is 2: workers are 0 to 1; the program ends");
	check_wrong_worker(-1,
		"carom_context_def.parallel_for ran a piece with worker -1, but thread_count is 2: workers are 0 to 1; the program ends");
}
