/// Threads, locks and conditions of the system: pthreads, Win32, or none. thread.c is the only file
/// of the repository that calls them. Without threads (CR_THREADS is 0) none can be started, and
/// locks do nothing.
#ifndef CR_BASE_THREAD_H
#define CR_BASE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

// CMake sets CAROM_NO_THREADS for CAROM_THREADS=OFF. WebAssembly has threads only where they are
// asked for.
#if defined(CAROM_NO_THREADS) || (defined(__wasm__) && !defined(__EMSCRIPTEN_PTHREADS__))
#define CR_THREADS 0
typedef char cr_mutex, cr_condition, cr_thread_handle;
#elif defined(_WIN32)
#define CR_THREADS 1
// <windows.h> defines words that the library uses otherwise, so its types are not named here.
typedef void *cr_mutex;         // SRWLOCK
typedef void *cr_condition;     // CONDITION_VARIABLE
typedef void *cr_thread_handle; // HANDLE
#else
#define CR_THREADS 1
#include <pthread.h>
typedef pthread_mutex_t cr_mutex;
typedef pthread_cond_t cr_condition;
typedef pthread_t cr_thread_handle;
#endif

/// Bytes of stack that each thread gets, on every system alike. carom/base.h promises them to the
/// pieces of a loop.
enum { CR_THREAD_STACK = 1 << 20 };

/// A thread that was started.
typedef struct cr_thread {
	void (*fn)(void *user);
	void *user;
	cr_thread_handle handle;
} cr_thread;

/// Start a thread that calls fn(user) in the default floating-point mode, whatever the mode of its
/// maker is. It is deaf to signals that come from outside, so that these reach the threads of the
/// application. *thread stays in place until it was joined. Returns false if the system gives no
/// thread; *thread is then not one.
bool cr_thread_start(cr_thread *thread, void (*fn)(void *user), void *user);
/// Wait until the thread's fn has returned.
void cr_thread_join(cr_thread *thread);

/// Let another thread run on this core, if one waits for it.
void cr_thread_yield(void);
/// Tell the processor that this thread waits in a loop.
void cr_thread_pause(void);

/// Return the nanoseconds that this thread has spent on a core, since some fixed point. Where the
/// system does not tell precisely, it is the time on the clock: all of it, then.
int64_t cr_thread_work_ns(void);

/// Return the number of cores that this process may use, at least 1.
int cr_processor_count(void);
/// Return a number that a forked child does not share with its parent. It is 0 on systems without
/// fork.
int64_t cr_process_id(void);

/// Make a lock that nobody holds, or a condition that nobody waits for. Neither can fail.
void cr_mutex_init(cr_mutex *mutex);
void cr_condition_init(cr_condition *condition);
void cr_mutex_destroy(cr_mutex *mutex);
void cr_condition_destroy(cr_condition *condition);

void cr_mutex_lock(cr_mutex *mutex);
void cr_mutex_unlock(cr_mutex *mutex);
/// Unlock the mutex, wait for a signal, and lock the mutex again. It may also return without a
/// signal.
void cr_condition_wait(cr_condition *condition, cr_mutex *mutex);
/// Wake one thread that waits, or all of them.
void cr_condition_signal(cr_condition *condition);
void cr_condition_broadcast(cr_condition *condition);

#endif
