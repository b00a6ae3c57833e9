/// One process for many cases: to start one costs up to 0.4 s under AddressSanitizer and 0.09 s without, more than most cases take.
#include "case_runner.h"

#ifdef CAROM_HAVE_FORK
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE_HOLDS = 4096 }; // bytes that a pipe takes before a writer waits (POSIX: at least 512; Linux: 65536; macOS: 16384)

/// Runs the cases and writes a byte into the pipe after each: its outcome.
static _Noreturn void be_child(const test_case *const *cases, int count, case_function *run, int pipe_end)
{
	for (int i = 0; i < count; i++) {
		const unsigned char outcome = (unsigned char)run(cases[i]);
		if (write(pipe_end, &outcome, 1) != 1)
			exit(EXIT_FAILURE);
	}
	exit(EXIT_SUCCESS); // by the functions of atexit: there LeakSanitizer looks
}

static void print_death(const test_case *test, int status)
{
	if (WIFSIGNALED(status))
		printf("FAILED: %s %s (%s) died of signal %d, %s\n", test->topic, test->name, test->file, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		printf("FAILED: %s %s (%s) ended the process with exit code %d\n", test->topic, test->name, test->file,
			WEXITSTATUS(status));
}

/// Runs cases in one child until the last or until it dies, and returns how many of them are done; -1 if there is no child.
static int run_in_child(const test_case *const *cases, int count, case_function *run, int counts[TEST_OUTCOMES])
{
	int ends[2];
	fflush(NULL);
	if (pipe(ends) != 0)
		return -1;
	// A child of a case may outlive it and hold the end that is written to: reading must not wait for that.
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	const pid_t child = fork();
	if (child == 0)
		be_child(cases, count, run, ends[1]);
	int status = 0;
	const bool ran = child > 0 && waitpid(child, &status, 0) == child;
	int done = 0;
	for (unsigned char outcome; ran && read(ends[0], &outcome, 1) == 1; done++)
		counts[outcome]++;
	close(ends[0]);
	close(ends[1]);
	if (!ran)
		return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS && done == count)
		return done;
	counts[TEST_FAILED]++;
	print_death(cases[done < count ? done : count - 1], status);
	if (done == count)
		printf("(when all cases were done)\n");
	return done < count ? done + 1 : done;
}

bool run_cases(const test_case *const *cases, int count, bool apart, case_function *run, int counts[TEST_OUTCOMES])
{
	const int limit = apart ? 1 : PIPE_HOLDS;
	for (int first = 0; first < count;) {
		const int most = count - first < limit ? count - first : limit;
		const int done = run_in_child(cases + first, most, run, counts);
		if (done < 0) {
			printf("FAILED: no child process could be started\n");
			counts[TEST_FAILED]++;
			return true;
		}
		first += done;
	}
	return true;
}
#else
bool run_cases(const test_case *const *cases, int count, bool apart, case_function *run, int counts[TEST_OUTCOMES])
{
	(void)apart;
	for (int i = 0; i < count; i++)
		counts[run(cases[i])]++;
	return false;
}
#endif
