/// The parallel loop: cuts it into pieces, and remembers which pieces this thread is in. See
/// base/parallel.h.
#include "base/parallel.h"
#include "base/pool.h"
#include "base/spin_lock.h"
#include <assert.h>
#include <stdlib.h>

// Pieces for each worker: enough to even out pieces of unequal cost, few enough that claiming them
// costs nothing.
enum { PIECES_PER_WORKER = 32 };

/// The work of one call, as the workers see it.
typedef struct parallel_loop {
	carom_context *context;
	carom_task_fn *task_fn;
	void *task;
	atomic_flag failure_lock;
	bool failed;
	cr_failure *failure; // the last of any piece, if failed
} parallel_loop;

/// The pieces that this thread is in, innermost first. A loop inside a piece runs on the piece's
/// worker, since another thread could be using any other worker's memory. Worlds and sweeps loop on
/// children of the context: it is the root that has the workers. Loops of different roots may be
/// inside one another.
typedef struct running_piece {
	const carom_context *root;
	int worker;
	const struct running_piece *outer;
} running_piece;

static _Thread_local const running_piece *s_running;

/// The piece of the context, or of one with the same root, that this thread is in; NULL: none.
static const running_piece *find_running(const carom_context *context)
{
	const running_piece *piece = s_running;
	const carom_context *root = cr_context_root(context);
	while (piece && piece->root != root)
		piece = piece->outer;
	return piece;
}

/// Keep this thread's last failure for the thread that called the loop, which would not see it
/// otherwise.
static void pass_failure_on(parallel_loop *loop)
{
	cr_lock(&loop->failure_lock);
	*loop->failure = cr_get_failure();
	loop->failed = true;
	cr_unlock(&loop->failure_lock);
}

/// Workers have memory of their own, found by their numbers: going on with a number that has none
/// would write elsewhere.
static void check_worker(const carom_context *context, int worker)
{
	if (worker >= 0 && worker < context->thread_count)
		return;
	cr_log(context, CAROM_LOG_ERROR,
		"carom_context_def.parallel_for ran a piece with worker %d, but thread_count is %d: workers are 0 to %d; the program ends",
		worker, context->thread_count, context->thread_count - 1);
	abort();
}

static void run_piece(int64_t begin, int64_t end, int worker, void *loop_pointer)
{
	parallel_loop *loop = loop_pointer;
	check_worker(loop->context, worker);
	const running_piece piece = { cr_context_root(loop->context), worker, s_running };
	s_running = &piece;
	const uint64_t failures = cr_failure_count();
	loop->task_fn(begin, end, worker, loop->task);
	if (cr_failure_count() != failures)
		pass_failure_on(loop);
	s_running = piece.outer;
}

/// A loop as the pool sees it: pieces with numbers.
typedef struct pool_loop {
	parallel_loop *loop;
	int64_t count;
	int64_t range; // items of a piece
	int64_t pieces;
} pool_loop;

/// The last piece may be longer by less than a range, so that none is shorter than min_range.
static void run_pool_piece(int64_t piece, int worker, void *loop_pointer)
{
	const pool_loop *p = loop_pointer;
	run_piece(piece * p->range, piece + 1 < p->pieces ? (piece + 1) * p->range : p->count, worker, p->loop);
}

static void run_threads(parallel_loop *loop, int64_t count, int64_t min_range)
{
	int64_t range = count / ((int64_t)loop->context->thread_count * PIECES_PER_WORKER);
	if (range < min_range)
		range = min_range;
	pool_loop p = { loop, count, range, count / range };
	cr_pool_run(cr_context_root(loop->context)->pool, run_pool_piece, p.pieces, &p);
}

void cr_parallel_for(carom_context *context, carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task)
{
	assert(min_range >= 1);
	if (count <= 0)
		return;
	// One worker, which has its memory for its own call: nothing is to be shared out, or passed on.
	if (context->thread_count == 1) {
		task_fn(0, count, 0, task);
		return;
	}
	const running_piece *running = find_running(context);
	if (running) {
		task_fn(0, count, running->worker, task);
		return;
	}
	cr_failure failure;
	parallel_loop loop = { context, task_fn, task, ATOMIC_FLAG_INIT, false, &failure };
	// no room for two pieces; twice a min_range may overflow
	if (count / 2 < min_range)
		run_piece(0, count, 0, &loop);
	else if (context->parallel_for)
		context->parallel_for(run_piece, count, min_range, &loop, context->parallel_for_user);
	else
		run_threads(&loop, count, min_range);
	if (loop.failed)
		cr_take_failure(&failure);
}

void carom_parallel_for(carom_context *context, carom_task_fn *fn, int64_t count, int64_t min_range, void *task)
{
	cr_parallel_for(context, fn, count, min_range < 1 ? 1 : min_range, task);
}
