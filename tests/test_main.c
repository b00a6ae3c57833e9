/// @file test_main.c
/// Runs test cases: `carom_tests` runs all, `carom_tests TOPIC` a topic, `carom_tests TOPIC CASE...`
/// some cases, `carom_tests --topics TOPIC...` some topics, `carom_tests --list` names all cases,
/// `carom_tests --dying` runs three of which one dies. `--apart` before a topic gives each case a child process of its own.
/// Exit code 0: all passed; 1: some failed; 2: nothing of that name; 77: all that ran were skipped.
/// One case alone runs in this process, for debuggers; several run in a child (case_runner.h).
#include "test.h"
#include "carom/base.h"
#include "case_runner.h"
#include <inttypes.h>
#include <math.h>
#ifndef __wasi__
#include <setjmp.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_USAGE = 2, EXIT_SKIPPED = 77 };

static test_case *s_first;
static test_case **s_last = &s_first;
static int s_failures;
static bool s_skipped;

// How a case ends before its last line. WASI has no setjmp: the program ends with the case, so each runs in a process of its own (ctest).
#ifdef __wasi__
static _Noreturn void end_case(void) { exit(s_failures > 0 ? EXIT_FAILURE : EXIT_SKIPPED); }

static double processor_time(void) { return 0; } // nor a clock of the process

static void call_case(const test_case *test) { test->run(); }
#else
static jmp_buf s_end_of_case;

static _Noreturn void end_case(void) { longjmp(s_end_of_case, 1); }

static double processor_time(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void call_case(const test_case *test)
{
	if (setjmp(s_end_of_case) == 0)
		test->run();
}
#endif

void test_register(test_case *test)
{
	*s_last = test;
	s_last = &test->next;
}

int test_failures(void) { return s_failures; }

bool test_check(bool passed, const char *text, const char *file, int line)
{
	if (!passed) {
		s_failures++;
		printf("%s:%d: failed: %s\n", file, line, text);
	}
	return passed;
}

bool test_check_int(int64_t actual, int64_t expected, const char *text, const char *file, int line)
{
	if (actual == expected)
		return true;
	s_failures++;
	printf("%s:%d: %s is %" PRId64 ", expected %" PRId64 "\n", file, line, text, actual, expected);
	return false;
}

bool test_check_near(double actual, double expected, double tolerance, const char *text, const char *file, int line)
{
	// Equal infinities are near each other, though their difference is NaN.
	if (actual == expected || fabs(actual - expected) <= tolerance)
		return true;
	s_failures++;
	printf("%s:%d: %s is %.17g, expected %.17g within %g (off by %g)\n", file, line, text, actual, expected, tolerance,
		fabs(actual - expected));
	return false;
}

bool test_check_str(const char *actual, const char *expected, const char *text, const char *file, int line)
{
	if (actual && expected ? strcmp(actual, expected) == 0 : actual == expected)
		return true;
	s_failures++;
	printf(
		"%s:%d: %s is \"%s\", expected \"%s\"\n", file, line, text, actual ? actual : "(null)", expected ? expected : "(null)");
	return false;
}

_Noreturn void test_stop(void) { end_case(); }

_Noreturn void test_skip(const char *format, ...)
{
	va_list arguments;
	printf("skipped: ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	s_skipped = true;
	end_case();
}

const char *test_data_path(const char *relative)
{
	static char paths[4][1024];
	static int next;
	const char *folder = getenv("CAROM_DATA");
	if (!folder || !*folder)
		test_skip("CAROM_DATA names no folder; %s is needed", relative);
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", folder, relative);
	FILE *file = fopen(path, "rb");
	if (!file)
		test_skip("%s is not there", path);
	fclose(file);
	return path;
}

void *test_allocate(size_t size, size_t alignment) { return carom_default_allocator().allocate(size, alignment, NULL); }

void test_release(void *pointer) { carom_default_allocator().release(pointer, 0, 0, NULL); }

uint64_t test_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

double test_random_double(uint64_t *state, double low, double high)
{
	return low + (high - low) * ((double)(test_random(state) >> 11) * 0x1p-53);
}

static test_outcome run_case(const test_case *test)
{
	s_failures = 0;
	s_skipped = false;
	printf("%s %s\n", test->topic, test->name);
	fflush(stdout);
	const double begin = processor_time();
	call_case(test);
	printf("took %.2f s: %s.%s\n", processor_time() - begin, test->topic, test->name);
	if (s_failures > 0)
		printf("FAILED: %s %s (%s)\n", test->topic, test->name, test->file);
	fflush(stdout);
	if (s_failures > 0)
		return TEST_FAILED;
	return s_skipped ? TEST_SKIPPED : TEST_PASSED;
}

static int list_cases(void)
{
	int count = 0;
	for (const test_case *test = s_first; test; test = test->next, count++)
		printf("%s %s\n", test->topic, test->name);
	printf("%d cases\n", count);
	return EXIT_SUCCESS;
}

static bool names_topics(int argc, char **argv) { return argc > 1 && strcmp(argv[1], "--topics") == 0; }

static bool is_chosen(const test_case *test, int argc, char **argv)
{
	const bool by_topic = names_topics(argc, argv);
	if (argc > 1 && !by_topic && strcmp(argv[1], test->topic) != 0)
		return false;
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], by_topic ? test->topic : test->name) == 0)
			return true;
	}
	return argc <= 2 && !by_topic;
}

/// Each argument chooses something: a case, or all cases of a topic.
static bool all_are_there(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		char *alone[] = { argv[0], argv[1], argv[i] };
		const test_case *test = s_first;
		while (test && !is_chosen(test, 3, alone))
			test = test->next;
		if (!test)
			return false;
	}
	return true;
}

/// Writes the cases that the arguments choose to cases, unless that is NULL, and returns their number.
static int chosen_cases(int argc, char **argv, const test_case **cases)
{
	int count = 0;
	for (const test_case *test = s_first; test; test = test->next) {
		if (!is_chosen(test, argc, argv))
			continue;
		if (cases)
			cases[count] = test;
		count++;
	}
	return count;
}

static void pass(void) { CHECK(true); }

static void die(void) { abort(); }

/// Runs three cases of which the second dies: it has to be named, and the third to run.
static bool run_dying(int counts[TEST_OUTCOMES])
{
	static const test_case before = { "dying", "before", __FILE__, pass, NULL };
	static const test_case dies = { "dying", "dies", __FILE__, die, NULL };
	static const test_case behind = { "dying", "behind", __FILE__, pass, NULL };
	const test_case *cases[] = { &before, &dies, &behind };
	return run_cases(cases, 3, false, run_case, counts);
}

/// For LeakSanitizer, where it is built in: HDF5 loses what it had read of an object that turns out to be damaged, and Mesa's driver
/// for Intel's cards 128 bytes in a machine without one.
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5\nleak:libvulkan_intel"; }

/// Runs the cases that the arguments choose; false if they name one that is not there.
static bool run_chosen(int argc, char **argv, bool apart, int counts[TEST_OUTCOMES], bool *in_children)
{
	const int count = chosen_cases(argc, argv, NULL);
	const test_case **cases = calloc((size_t)count + 1, sizeof *cases);
	if (!cases || !all_are_there(argc, argv)) {
		printf("some of these cases are not there\n");
		free(cases);
		return false;
	}
	chosen_cases(argc, argv, cases);
	if (count == 1)
		counts[run_case(cases[0])]++;
	else
		*in_children = run_cases(cases, count, apart, run_case, counts);
	free(cases);
	return true;
}

static int exit_code(const int counts[TEST_OUTCOMES])
{
	if (counts[TEST_FAILED] > 0)
		return EXIT_FAILURE;
	if (counts[TEST_PASSED] > 0)
		return EXIT_SUCCESS;
	return counts[TEST_SKIPPED] > 0 ? EXIT_SKIPPED : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list_cases();
#ifdef __wasi__
	if (argc != 3) {
		printf("here a process runs one case: carom_tests TOPIC CASE\n");
		return EXIT_USAGE;
	}
#endif
	const bool apart = argc > 2 && strcmp(argv[1], "--apart") == 0;
	if (apart) {
		argv[1] = argv[0];
		argc--;
		argv++;
	}
	int counts[TEST_OUTCOMES] = { 0 };
	bool in_children = false;
	if (argc == 2 && strcmp(argv[1], "--dying") == 0)
		in_children = run_dying(counts);
	else if (!run_chosen(argc, argv, apart, counts, &in_children))
		return EXIT_USAGE;
	printf("%d passed, %d failed, %d skipped\n", counts[TEST_PASSED], counts[TEST_FAILED], counts[TEST_SKIPPED]);
	const int code = exit_code(counts);
	if (!in_children)
		return code;
	fflush(NULL);
	_Exit(
		code); // without the functions of atexit: LeakSanitizer has looked at the children, and takes as long again for this process
}
