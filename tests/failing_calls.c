/// Which call fails next: see failing_calls.h.
#include "failing_calls.h"

#include "test.h"

#include <stdatomic.h>
#include <stdlib.h>

#ifdef CAROM_HAVE_BACKTRACE
#include <execinfo.h>

/// Hash of the return addresses below this call (FNV-1a, by words).
static uint64_t stack_hash(void)
{
	void *frames[FAILING_DEPTH];
	const int count = backtrace(frames, FAILING_DEPTH);
	uint64_t hash = 0xcbf29ce484222325u;
	for (int i = 0; i < count; i++)
		hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 0x100000001b3u;
	return hash;
}

enum { SEES_STACKS = 1 };
#else
static uint64_t stack_hash(void) { return 0; }

enum { SEES_STACKS = 0 };
#endif

// Several threads may allocate. They do not wait long for each other: one lock does for all.
static atomic_flag s_lock = ATOMIC_FLAG_INIT;

static void lock(void)
{
	while (atomic_flag_test_and_set(&s_lock)) {
	}
}

static void unlock(void) { atomic_flag_clear(&s_lock); }

failing_calls failing_calls_all(void) { return (failing_calls){ .stride = 1, .failed = -1 }; }

failing_calls failing_calls_of_stacks(void)
{
	if (!SEES_STACKS)
		test_skip("a process does not see its stack here");
	failing_calls calls = { .by_stack = true, .stride = 1, .failed = -1 };
	calls.stacks = malloc(FAILING_MOST_STACKS * sizeof *calls.stacks);
	REQUIRE(calls.stacks);
	return calls;
}

failing_calls failing_calls_of_preset(void)
{
	if (TEST_FEWER > 1 && SEES_STACKS)
		return failing_calls_of_stacks();
	return (failing_calls){ .stride = TEST_STRIDE, .failed = -1 };
}

void failing_calls_free(failing_calls *calls)
{
	free(calls->stacks);
	*calls = (failing_calls){ .stride = 1, .failed = -1 };
}

void failing_calls_begin(failing_calls *calls)
{
	calls->next = calls->failed >= 0 ? calls->failed + calls->stride : 0;
	calls->calls = 0;
	calls->failed = -1;
}

/// Adds the stack of this call, unless it is there or there is no room: then all that follow are told apart no more, and do not fail.
static bool is_new_stack(failing_calls *calls)
{
	const uint64_t hash = stack_hash();
	for (int i = 0; i < calls->stack_count; i++) {
		if (calls->stacks[i] == hash)
			return false;
	}
	if (calls->stack_count == FAILING_MOST_STACKS)
		return false;
	calls->stacks[calls->stack_count++] = hash;
	return true;
}

bool failing_calls_fail(failing_calls *calls)
{
	if (!calls)
		return false;
	lock();
	const long long call = calls->calls++;
	const bool fails = calls->failed < 0 && (calls->by_stack ? is_new_stack(calls) : call >= calls->next);
	if (fails)
		calls->failed = call;
	unlock();
	return fails;
}

bool failing_calls_end(failing_calls *calls)
{
	CHECK(calls->stack_count < FAILING_MOST_STACKS);
	return calls->failed >= 0;
}
