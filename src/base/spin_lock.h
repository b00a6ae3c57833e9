/// A lock for data that two threads rarely want at once.
#ifndef CR_BASE_SPIN_LOCK_H
#define CR_BASE_SPIN_LOCK_H

#include "base/thread.h"
#include <stdatomic.h>

static inline void cr_lock(atomic_flag *lock)
{
	while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
		cr_thread_yield();
}

static inline void cr_unlock(atomic_flag *lock) { atomic_flag_clear_explicit(lock, memory_order_release); }

#endif
