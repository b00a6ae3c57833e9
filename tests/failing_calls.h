/// @file failing_calls.h
/// Work that is done over and over, where one call after the other fails: an allocation, or a call of a driver. Each run has one call
/// that fails, the last run has none. Release fails each call. The other presets (TEST_FEWER) fail one call for each call stack: what
/// is made of a failure is decided by the lines that lead to it. The same lines in another state, such as a list that grows for the
/// third time, are left to release.
#ifndef TESTS_FAILING_CALLS_H
#define TESTS_FAILING_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	FAILING_MOST_STACKS = 4096,
	FAILING_DEPTH = 24 ///< so many frames tell one stack from another
};

typedef struct failing_calls {
	bool by_stack;    ///< one call of each stack fails, not each call
	int stride;       ///< else every so many-th call fails, from the first on
	long long calls;  ///< of this run so far
	long long next;   ///< the number of the call that fails in this run, unless by_stack
	long long failed; ///< the number of the call that failed in this run; -1: none
	int stack_count;  ///< stacks that have had a call that failed
	uint64_t *stacks; ///< [stack_count]: their hashes; memory for FAILING_MOST_STACKS
} failing_calls;

/// All calls, or those that this preset fails, before the first run. Give it back by failing_calls_free.
failing_calls failing_calls_all(void);
failing_calls failing_calls_of_preset(void);
/// One call for each stack, in any preset. Skips the case where a process cannot see its stack.
failing_calls failing_calls_of_stacks(void);
void failing_calls_free(failing_calls *calls);

/// A run begins. Behind one without a failure the numbers begin again, those of other work; stacks that have failed stay.
void failing_calls_begin(failing_calls *calls);
/// A call is made, from any thread. Returns whether it fails. calls may be NULL: then it does not.
bool failing_calls_fail(failing_calls *calls);
/// A run is over. Returns whether a call has failed in it; if none has, all runs are done.
bool failing_calls_end(failing_calls *calls);

#endif
