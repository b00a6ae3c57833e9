/// The threads of a context. A pool runs the pieces of a loop on the thread that called it and on
/// threads of its own, which it starts when a loop first needs them, and ends with the context.
///
/// Rules that keep a busy machine from stalling a loop:
/// - The caller takes part in its loop, and pieces are claimed one by one. A thread that gets no
///   core claims none, and nobody waits for it.
/// - A thread without work spins for a moment only, then it sleeps. So does a caller whose last
///   pieces are with other threads. The moment is a tenth as long after a sign that other processes
///   want the cores.
/// - A pool keeps account of the time that its threads work for loops, and of the time that callers
///   lose by asking and waiting for them. After a loss the next loops are done without help, for
///   twenty times as long. So threads cost a twentieth at most, however busy the machine is: two
///   are not slower than one.
#ifndef CR_BASE_POOL_H
#define CR_BASE_POOL_H

#include "base/context.h"

/// Do piece 0..count-1 of the loop that task stands for, as worker 0 (the caller of the loop) or 1
/// and above (threads of the pool).
typedef void cr_piece_fn(int64_t piece, int worker, void *task);

/// Return the bytes that a pool of so many workers takes. The caller of a loop is one of them, and
/// the other ones are threads.
size_t cr_pool_size(int worker_count);
/// Make a pool in cr_pool_size bytes, aligned to a cache line. It starts no thread yet and cannot
/// fail. The log of the context is told if the system gives fewer threads than wanted.
void cr_pool_init(cr_pool *pool, int worker_count, const carom_context *context);
/// End the threads. No loop may be under way.
void cr_pool_end(cr_pool *pool);

/// Run fn for pieces 0..count-1 and return when all are done. No two pieces of one loop run with
/// the same worker at once. Any number of threads may run loops at once: each is worker 0 of its
/// own loop. Where the system gives fewer threads than wanted, the others do the work. In a forked
/// child, which has none of its parent's threads, the caller does it alone.
void cr_pool_run(cr_pool *pool, cr_piece_fn *fn, int64_t count, void *task);

/// Return the number of threads that were started so far.
int cr_pool_threads(const cr_pool *pool);

#endif
