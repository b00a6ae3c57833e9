/// @file case_runner.h
/// Runs several cases, so that one that dies takes no other with it.
#ifndef CAROM_CASE_RUNNER_H
#define CAROM_CASE_RUNNER_H

#include "test.h"

typedef enum test_outcome { TEST_PASSED, TEST_FAILED, TEST_SKIPPED, TEST_OUTCOMES } test_outcome;

/// Runs one case in this process, prints its failures and its processor time, and returns its outcome.
typedef test_outcome case_function(const test_case *test);

/// Calls run(cases[i]) for all i below count and adds the outcomes to counts. Where there is fork, the cases run in child processes:
/// all in one, or, if apart is set, each in a child of its own, so that no case finds what another one left.
/// A case that ends the child has failed: its name and the way it ended are printed, and another child goes on behind it.
/// What a sanitizer reports when the child ends (leaks) is one further failure. Returns whether the cases ran in children.
bool run_cases(const test_case *const *cases, int count, bool apart, case_function *run, int counts[TEST_OUTCOMES]);

#endif
