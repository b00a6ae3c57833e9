/// The context: memory, messages, error text and threads of everything made from it.
/// Every allocation of the library goes through cr_alloc, so that a user allocator sees all of it
/// and the peak is known.
#ifndef CR_BASE_CONTEXT_H
#define CR_BASE_CONTEXT_H

#include "base/float_mode.h"
#include "base/printf_like.h"
#include "carom/base.h"
#include <stdatomic.h>

enum { CR_MAX_WORKERS = 256, CR_ERROR_TEXT_SIZE = 512, CR_CACHE_LINE = 64, CR_SPARES = 16 };

typedef struct cr_pool cr_pool;

/// Something that a call on a context makes and leaves there for the next call. The head of it.
typedef struct cr_spare {
	void (*destroy)(struct cr_spare *spare);
} cr_spare;

struct carom_context {
	carom_allocator allocator;
	carom_log_fn *log;
	void *log_user;
	carom_parallel_for_fn *parallel_for;
	void *parallel_for_user;
	cr_pool *pool; // of a context without a parent that has threads; NULL: none
	int thread_count;
	carom_simd simd;
	size_t size; // bytes of this context with its pool
	atomic_size_t memory_in_use;
	atomic_size_t memory_peak;
	// meshes, worlds, detectors of spheres and sweeps, to name leaks on destruction
	atomic_int live_objects;
	carom_context *parent; // of a child: takes its memory and its error text; NULL: none
	size_t memory_limit;   // bytes that a child may hold; 0: no limit
	// allocations that failed for the limit, counted: queries on many threads look for more of them
	atomic_uint refusals;
	// of a context without a parent: no two of a process have the same, and none has 0
	uint64_t serial;
	_Atomic(cr_spare *) spares[CR_SPARES]; // those that no call has; NULL: none
	atomic_flag error_lock;
	char error_text[CR_ERROR_TEXT_SIZE]; // of the last failure, from any thread
};

/// A failure as the thread remembers it in which it happened.
typedef struct cr_failure {
	// of the context without a parent; 0: there was none, carom_create_context failed
	uint64_t serial;
	char text[CR_ERROR_TEXT_SIZE];
} cr_failure;

/// A number that this process has not had before, and not 0. Addresses are used again, these are
/// not: a thread may remember a failure longer than its context lives, and a device a mesh.
uint64_t cr_next_serial(void);

/// How many failures this thread has had: tells whether there was one in between.
uint64_t cr_failure_count(void);
/// The last failure of this thread, and: let another thread's be its last one. For loops, whose
/// pieces fail in other threads.
cr_failure cr_get_failure(void);
void cr_take_failure(const cr_failure *failure);

/// Do size more bytes fit in the limit of a child? Memory that grows ahead of its need does so only
/// then.
bool cr_has_room(const carom_context *context, size_t size);

/// Make a child that counts, and may limit, the memory of one owner (a world). Everything else is
/// the parent's, which must outlive it. It has nothing to destroy.
void cr_context_init_child(carom_context *child, carom_context *parent, size_t memory_limit);

/// Take a spare thing of a context, which is then the caller's alone; NULL: there is none. Any
/// thread.
cr_spare *cr_take_spare(carom_context *context);
/// Leave a thing with a context for later calls; where CR_SPARES are there already, destroy it. The
/// context destroys those that are left at its end. Any thread.
void cr_leave_spare(carom_context *context, cr_spare *spare);

/// The context that a child, or a child's child, was made from; of others themselves.
static inline const carom_context *cr_context_root(const carom_context *context)
{
	while (context->parent)
		context = context->parent;
	return context;
}

/// Allocate size bytes aligned to CR_CACHE_LINE; NULL on failure and for size 0. Thread-safe.
void *cr_alloc(carom_context *context, size_t size);
/// Zeroed memory.
void *cr_alloc_zero(carom_context *context, size_t size);
/// count * size with overflow check.
void *cr_alloc_array(carom_context *context, size_t count, size_t size);
/// Give back memory that cr_alloc returned for size. NULL does nothing.
void cr_free(carom_context *context, void *pointer, size_t size);

/// Set the error text (printf), of the context and of this thread, and return result, so that a
/// failure is one line: return cr_fail(...). Thread-safe.
carom_result cr_fail(carom_context *context, carom_result result, const char *format, ...) CR_PRINTF_LIKE(3, 4);
/// cr_fail with CAROM_OUT_OF_MEMORY, naming the object that was being made.
carom_result cr_fail_memory(carom_context *context, const char *what);
/// Of a call that may have asked a child for more memory than its limit allows: CAROM_OVER_BUDGET,
/// with its text, where result is CAROM_OUT_OF_MEMORY and the child has refused more than
/// `refusals`, its count of them before the call; else result.
carom_result cr_explain_refusal(carom_context *child, const char *function, unsigned refusals, carom_result result);
/// Send a message to the log callback (printf).
void cr_log(const carom_context *context, carom_log_level level, const char *format, ...) CR_PRINTF_LIKE(3, 4);

#endif
