/// See pool_fixture.h.
#include "pool_fixture.h"
#include "base/thread.h"
#include "base/time.h"
#include "test.h"

void pool_require_threads(void)
{
	if (!CR_THREADS)
		test_skip("built without threads (CAROM_THREADS=OFF)");
}

void pool_count_piece(int64_t begin, int64_t end, int worker, void *task)
{
	pool_count *t = task;
	atomic_fetch_add(&t->items, end - begin);
	if (worker != 0)
		atomic_fetch_add(&t->elsewhere, 1);
}

bool pool_loop_is_whole(carom_context *context, int64_t count)
{
	pool_count t = { 0 };
	carom_parallel_for(context, pool_count_piece, count, 1, &t);
	return atomic_load(&t.items) == count;
}

static bool wait_for(atomic_int *value, int wanted, int longest_ms)
{
	const double end = cr_time_ms() + longest_ms;
	while (atomic_load(value) < wanted) {
		if (cr_time_ms() > end)
			return false;
		cr_thread_yield();
	}
	return true;
}

bool pool_wait_for(atomic_int *value, int wanted) { return wait_for(value, wanted, POOL_LONGEST_MS); }

void pool_meet(int64_t begin, int64_t end, int worker, void *task)
{
	(void)begin, (void)end;
	pool_meeting *m = task;
	atomic_fetch_add(&m->met[worker], 1);
	atomic_fetch_add(&m->present, 1);
	if (!wait_for(&m->present, m->expected, m->longest_ms ? m->longest_ms : POOL_LONGEST_MS))
		atomic_fetch_add(&m->late, 1);
}

bool pool_gather(carom_context *context, int workers)
{
	for (const double end = cr_time_ms() + POOL_LONGEST_MS; cr_time_ms() < end;) {
		pool_meeting m = { .expected = workers, .longest_ms = 10 };
		carom_parallel_for(context, pool_meet, workers, 1, &m);
		if (m.late == 0)
			return true;
	}
	return false;
}
