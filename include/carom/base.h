/// @file base.h
/// Results, version, memory, logging and threads: every other header builds on them.
///
/// NULL handles (carom_context, carom_world, carom_mesh, carom_spheres, carom_sweep and the like),
/// in all headers: a handle must not be NULL unless a comment says otherwise.
/// - Calls that return carom_result refuse a NULL handle with CAROM_INVALID_ARGUMENT. There is no
///   text then, since no context could keep it.
/// - Calls of worlds (carom_world_...), and calls that return anything else, do not check: they
///   crash.
/// - Destroying or releasing NULL does nothing. The statistics of NULL spheres and sweeps are zero.
#ifndef CAROM_BASE_H
#define CAROM_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(CAROM_SHARED) && defined(_WIN32)
#ifdef CAROM_BUILDING
#define CAROM_API __declspec(dllexport)
#else
#define CAROM_API __declspec(dllimport)
#endif
#elif defined(CAROM_SHARED) && defined(__GNUC__)
#define CAROM_API __attribute__((visibility("default")))
#else
#define CAROM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Version of the headers. CMakeLists.txt reads it from here: this is the only place where it is
/// written.
#define CAROM_VERSION_MAJOR 0
#define CAROM_VERSION_MINOR 1
#define CAROM_VERSION_PATCH 0

/// Version of the library that is linked.
typedef struct carom_version {
	int major;
	int minor;
	int patch;
} carom_version;

/// The linked library's version. Thread-safe.
CAROM_API carom_version carom_get_version(void);

/// Most bytes of stack that any call of the library needs, in an optimized build. Functions of the
/// caller (allocator, log, scheduler, filters, forces, visitors, ray plug-ins) need theirs in
/// addition. Fibers with stacks of 64 KiB are enough. The test "stack" measures it.
#define CAROM_STACK_BYTES 32768

/// The result of a call that can fail. carom_error_text tells why this thread's last call failed.
typedef enum carom_result {
	CAROM_SUCCESS = 0,
	/// An argument or a field of a definition is wrong; the text names the function and the field.
	CAROM_INVALID_ARGUMENT,
	/// The mesh cannot be used; the text names the element and its fault.
	CAROM_INVALID_MESH,
	/// A body id is null, or its body was removed. Each world counts its ids for itself: the id of
	/// another world is refused only where no body of this world has an equal one.
	CAROM_INVALID_BODY,
	/// An allocation failed. The call has undone its work; everything else stays usable.
	CAROM_OUT_OF_MEMORY,
	/// A bound that the caller set forbids the request: carom_world_def.memory_budget (making the
	/// world, adding or moving bodies, a step, a query), carom_spheres_def.memory_budget,
	/// carom_device_def.memory_budget or carom_proximity_def.max_pairs. Everything else stays
	/// usable.
	CAROM_OVER_BUDGET,
	/// The library or the machine lacks something that was asked for, for example an instruction
	/// set, or the call does not take this kind of shape.
	CAROM_UNSUPPORTED,
	/// A recording is damaged, of another version, or replays to other results; the text says
	/// where.
	CAROM_INVALID_RECORDING,
	/// The driver of a graphics device failed, or lost the device (carom/vulkan.h); the text names
	/// the device, the call and its result.
	CAROM_DEVICE_FAILED,
} carom_result;

/// The name of a result, for example "out of memory". Static text, never NULL. Thread-safe.
CAROM_API const char *carom_result_name(carom_result result);

/// Memory from the caller. All memory of a context comes from here, except the stacks of its
/// threads. Both functions are called from any thread at any time, so they must be thread-safe.
typedef struct carom_allocator {
	/// Return size bytes aligned to alignment (a power of two, at most 64), or NULL. size is never
	/// 0.
	void *(*allocate)(size_t size, size_t alignment, void *user);
	/// Give back memory that allocate returned for the same size and alignment. pointer is never
	/// NULL.
	void (*release)(void *pointer, size_t size, size_t alignment, void *user);
	void *user;
} carom_allocator;

/// The allocator that a context has when it is given none, for callers that wrap it: the C
/// library's aligned_alloc and free (Windows: _aligned_malloc and _aligned_free). On Linux, arrays
/// of 2 MiB and more begin at a large page, and large pages are asked for (madvise). Thread-safe.
CAROM_API carom_allocator carom_default_allocator(void);

/// How severe a message is.
typedef enum carom_log_level { CAROM_LOG_ERROR, CAROM_LOG_WARNING, CAROM_LOG_INFO } carom_log_level;

/// Receives messages. The library itself never prints. Called on the thread whose call the message
/// is about.
typedef void carom_log_fn(carom_log_level level, const char *text, void *user);

/// Receives count bytes, which follow those of the call before. Returns false to give up. Called on
/// the thread of the call that writes.
typedef bool carom_write_fn(const void *bytes, size_t count, void *user);

/// A piece of parallel work: process items begin to end - 1. worker is from 0 to
/// carom_context_threads - 1. While a loop runs, with all loops inside its pieces, no two pieces
/// run at once with equal workers.
typedef void carom_task_fn(int64_t begin, int64_t end, int worker, void *task);

/// A scheduler of the caller: call task_fn over all of 0 to count - 1, in pieces of at least
/// min_range items (the last may be shorter), from any threads, with task as its last argument.
/// Return when all pieces are done. The results of the library depend neither on how the range is
/// cut nor on the order of the pieces.
/// - worker must be from 0 to carom_context_def.thread_count - 1, and no two pieces of one call may
///   run at once with equal workers, since each worker has memory of its own. A worker out of range
///   would corrupt memory: it is named in the log (CAROM_LOG_ERROR), and abort() ends the program.
/// - The scheduler is never called from inside a piece of the same context.
/// - It is called from several threads at once when the application uses worlds, detectors of
///   spheres or sweeps of one context in several threads. Each such call has workers of its own:
///   pieces of two calls may have equal ones.
typedef void carom_parallel_for_fn(
	carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user);

/// Instruction set of the kernels that work on several values at once. All give the same bits; the
/// choice changes times only.
typedef enum carom_simd {
	CAROM_SIMD_AUTO, ///< the widest that this machine has
	CAROM_SIMD_SCALAR,
	CAROM_SIMD_SSE2,
	CAROM_SIMD_AVX2,
	CAROM_SIMD_AVX512,
	CAROM_SIMD_NEON,
} carom_simd;

/// How to make a context. Start from carom_default_context_def: any other definition is refused.
typedef struct carom_context_def {
	int cookie;                ///< set by carom_default_context_def; do not touch
	carom_allocator allocator; ///< both functions NULL: carom_default_allocator
	carom_log_fn *log;         ///< NULL: silent
	void *log_user;
	/// Number of workers, 1 to 256; 0: one for each core that the process may use. With
	/// parallel_for it is the number of workers that it uses, and 0 is refused: the library cannot
	/// know it.
	///
	/// Without parallel_for the thread that calls is one worker, and the context has a thread for
	/// each of the others:
	/// - They start when a loop first needs them and end with the context. Where the system refuses
	///   one, the log is warned, and fewer workers do the work. A library built without threads
	///   (CAROM_THREADS=OFF) has one worker.
	/// - A thread without work spins for some microseconds and then sleeps. A loop never waits for
	///   a thread that has none of its pieces.
	/// - Each has a stack of 1 MiB, the default floating-point mode, and all signals blocked but
	///   those of crashes and profilers.
	/// - After fork, a child has none of the threads that its parent had started: there, loops on
	///   the context run on the calling thread alone. Contexts whose threads had not started, or
	///   that the child makes, have threads in the child too.
	int thread_count;
	carom_parallel_for_fn *parallel_for; ///< NULL: threads of the context
	void *parallel_for_user;
	carom_simd simd;
} carom_context_def;

/// The defaults: the C library's memory, no log, a worker for each core, the widest instruction
/// set. Thread-safe.
CAROM_API carom_context_def carom_default_context_def(void);

/// Memory, messages, threads and error texts for everything that is made from it. Contexts share
/// nothing with each other.
typedef struct carom_context carom_context;

/// Make a context. def may be NULL for the defaults. On failure *context is NULL, and
/// carom_error_text(NULL) names the field. Thread-safe.
///
/// CAROM_UNSUPPORTED: the machine lacks the instruction set, or the floating-point unit of this
/// thread is not in its default mode. It must round to nearest and keep denormals (no FTZ or DAZ,
/// which a program linked with -ffast-math may set); fesetenv(FE_DFL_ENV) sets it. The mode is
/// checked here alone: the caller keeps it so on all threads that use the context.
CAROM_API carom_result carom_create_context(const carom_context_def *def, carom_context **context);

/// Destroy a context. Destroy everything made from it first (meshes, worlds, detectors of spheres,
/// sweeps). An object that is left leaks, and must neither be used nor destroyed afterwards: it has
/// lost its context. The log is told how many objects and bytes leaked (CAROM_LOG_ERROR). No other
/// call on the context may be under way. NULL does nothing.
CAROM_API void carom_destroy_context(carom_context *context);

/// Why a call failed, in one sentence that names the field or element. Of which call: the last one
/// that failed in this thread, if that was on this context or something made from it; else the last
/// one that failed on this context in any thread. So threads that ask right after their own call do
/// not see each other's texts.
/// - A failure in a piece of a parallel loop also counts for the thread that called the loop.
/// - A call that succeeds changes nothing.
/// - context NULL: why carom_create_context failed in this thread, if that was its last failure.
///
/// Never NULL; empty when nothing failed. Valid in this thread until it asks again or another call
/// of its fails, even when the context is gone. Thread-safe.
CAROM_API const char *carom_error_text(const carom_context *context);

/// Bytes that the context and everything made from it hold now, and the most that they ever held.
/// Thread-safe.
CAROM_API size_t carom_memory_in_use(const carom_context *context);
CAROM_API size_t carom_memory_peak(const carom_context *context);

/// The instruction set in use (never CAROM_SIMD_AUTO), and its name ("avx2").
CAROM_API carom_simd carom_context_simd(const carom_context *context);
CAROM_API const char *carom_simd_name(carom_simd simd);

/// Number of workers in use.
CAROM_API int carom_context_threads(const carom_context *context);

/// Run fn over 0 to count - 1 on the workers of the context, in pieces of at least min_range items
/// (1 or more; INT64_MAX: one piece), and return when all are done. This is the loop that the
/// library itself runs on. Pieces are handed out as workers become free. A count of 0 or less does
/// nothing.
/// - Nested loops: inside a piece of a loop, and inside callbacks of worlds, sweeps and detectors
///   of spheres of the context, it is a plain loop on the same worker. The library's own loops are
///   plain ones there, too.
/// - Several threads: two threads that loop at once on one context both have a worker 0, so memory
///   that fn tells apart by worker is for one of them at a time. Worlds, sweeps and detectors of
///   spheres each have memory of their own for each worker, so different ones may run at once.
CAROM_API void carom_parallel_for(
	carom_context *context, carom_task_fn *fn, int64_t count, int64_t min_range, void *task);

#ifdef __cplusplus
}
#endif
#endif
