/// @file test.h
/// The test harness. A case is `TEST(topic, name) { ... }` at the start of a line; it registers itself, and CMake finds the same lines
/// by a regular expression, so each case is in a test of CTest. Checks print file, line and both values, and the case goes on.
#ifndef CAROM_TEST_H
#define CAROM_TEST_H

#include "base/printf_like.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_case test_case;
struct test_case {
	const char *topic;
	const char *name;
	const char *file;
	void (*run)(void);
	test_case *next;
};

void test_register(test_case *test);

#define TEST(topic_name, case_name)                                                                           \
	static void test_##topic_name##_##case_name(void);                                                        \
	__attribute__((constructor)) static void register_##topic_name##_##case_name(void)                        \
	{                                                                                                         \
		static test_case test = { #topic_name, #case_name, __FILE__, test_##topic_name##_##case_name, NULL }; \
		test_register(&test);                                                                                 \
	}                                                                                                         \
	static void test_##topic_name##_##case_name(void)

/// A failed check is printed and counted; the case goes on.
#define CHECK(condition) test_check((condition) ? true : false, #condition, __FILE__, __LINE__)
#define CHECK_INT(actual, expected) test_check_int((int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
/// Passes when |actual - expected| <= tolerance; NaN never passes.
#define CHECK_NEAR(actual, expected, tolerance) \
	test_check_near((double)(actual), (double)(expected), (double)(tolerance), #actual, __FILE__, __LINE__)
#define CHECK_STR(actual, expected) test_check_str((actual), (expected), #actual, __FILE__, __LINE__)
/// A check without which the rest of the case makes no sense: a failure ends the case.
#define REQUIRE(condition)     \
	do {                       \
		if (!CHECK(condition)) \
			test_stop();       \
	} while (0)

/// The functions behind the macros; each returns whether the check passed.
bool test_check(bool passed, const char *text, const char *file, int line);
bool test_check_int(int64_t actual, int64_t expected, const char *text, const char *file, int line);
bool test_check_near(double actual, double expected, double tolerance, const char *text, const char *file, int line);
bool test_check_str(const char *actual, const char *expected, const char *text, const char *file, int line);

/// End the case as failed.
_Noreturn void test_stop(void);
/// End the case as skipped (exit code 77), with the reason (printf).
_Noreturn void test_skip(const char *format, ...) CR_PRINTF_LIKE(1, 2);

/// Number of checks that have failed in the running case: to print the seed or the scene of a random case once it went wrong.
int test_failures(void);

/// Path of a file or folder below the folder that CAROM_DATA names; skips the case when the variable is unset or the file absent.
/// The text stays valid for four further calls.
const char *test_data_path(const char *relative);

/// Steps, bodies or rounds of a case are divided by this in the presets whose builds are slow, or look for something that the first
/// of them show as well: use of memory, data races, a library without threads. The answers are judged in full by release.
enum { TEST_FEWER = CAROM_TEST_FEWER };

/// Thousands of rounds of one kind are divided by this there.
enum { TEST_FAR_FEWER = TEST_FEWER > 1 ? 4 * TEST_FEWER : 1 };

/// What is failed or forged one after the other, calls of the allocator or bytes of a recording, goes by this step: release takes each.
enum { TEST_STRIDE = TEST_FEWER > 1 ? 3 : 1 };

/// Numbers of threads that are worth a run of a case that compares several. A library without threads
/// does the same work whatever number it is told. ThreadSanitizer sees nothing in a run on one thread.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_SEEKS_RACES 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define TEST_SEEKS_RACES 1
#endif
#ifndef TEST_SEEKS_RACES
#define TEST_SEEKS_RACES 0
#endif
#ifdef CAROM_NO_THREADS
enum { TEST_LEAST_THREADS = 1, TEST_MOST_THREADS = 1 };
#else
enum { TEST_LEAST_THREADS = TEST_SEEKS_RACES ? 2 : 1, TEST_MOST_THREADS = 16 };
#endif
static inline bool test_wants_threads(int threads) { return threads >= TEST_LEAST_THREADS && threads <= TEST_MOST_THREADS; }

/// Allocate as an allocator of a context must, and give back: the C libraries of some systems have no aligned_alloc.
void *test_allocate(size_t size, size_t alignment);
void test_release(void *pointer);

/// Deterministic pseudo-random numbers (splitmix64, Steele, Lea and Flood 2014). *state may start at any value.
uint64_t test_random(uint64_t *state);
/// Uniform in [low, high).
double test_random_double(uint64_t *state, double low, double high);

#endif
