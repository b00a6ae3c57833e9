/// The parallel loop: the only door to threads. The context's pool, a user scheduler, or a plain
/// loop is behind it.
#ifndef CR_BASE_PARALLEL_H
#define CR_BASE_PARALLEL_H

#include "base/context.h"

/// Call task_fn over 0..count-1 in pieces of at least min_range items (>= 1). Pieces are handed out
/// dynamically; nothing that is computed may depend on the cut or on the worker. A call from inside
/// a piece, on a context of the same root, runs as a plain loop on the piece's worker.
void cr_parallel_for(carom_context *context, carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task);

/// Lower a number to a value, from any thread: of the first item that is wrong, for one.
static inline void cr_atomic_lower(atomic_llong *least, long long value)
{
	long long now = atomic_load_explicit(least, memory_order_relaxed);
	while (value < now && !atomic_compare_exchange_weak(least, &now, value)) {
	}
}

#endif
