/// Loops that tests of pools share: one that counts its items, and one whose pieces wait for each other.
#ifndef TESTS_POOL_FIXTURE_H
#define TESTS_POOL_FIXTURE_H

#include "base/context.h"

enum { POOL_LONGEST_MS = 60000 }; // that a test waits for another thread before it gives up

/// Skip the case where the library has no threads.
void pool_require_threads(void);

typedef struct pool_count {
	atomic_llong items;
	atomic_int elsewhere; // pieces of workers other than 0
} pool_count;
/// A piece of a loop over a pool_count.
void pool_count_piece(int64_t begin, int64_t end, int worker, void *task);
/// Returns whether a loop did each of its items, by their number.
bool pool_loop_is_whole(carom_context *context, int64_t count);

/// Wait until *value is at least wanted. Returns false if that takes too long.
bool pool_wait_for(atomic_int *value, int wanted);

typedef struct pool_meeting {
	int expected;
	int longest_ms; // 0: POOL_LONGEST_MS
	atomic_int present;
	atomic_int late;
	atomic_int met[CR_MAX_WORKERS];
} pool_meeting;
/// A piece of a loop over a pool_meeting: it waits until as many are under way as there are workers.
void pool_meet(int64_t begin, int64_t end, int worker, void *task);
/// Run loops until all workers meet in one. A pool whose help has not paid asks for none for a while, and then the first piece of a loop
/// waits for others in vain. Returns false if that takes too long.
bool pool_gather(carom_context *context, int workers);

#endif
