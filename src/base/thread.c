/// Threads, locks and conditions of the system: three times the same calls, for systems without
/// threads, for Win32 and for POSIX. See base/thread.h.
#ifdef __linux__
#define _GNU_SOURCE // sched_getaffinity
#endif
#include "base/thread.h"
#include "base/float_mode.h"
#include "base/time.h"

void cr_thread_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("pause");
#elif defined(__aarch64__)
	__asm__ volatile("isb"); // yield does nothing on most cores
#endif
}

#if !CR_THREADS

bool cr_thread_start(cr_thread *thread, void (*fn)(void *user), void *user)
{
	(void)thread, (void)fn, (void)user;
	return false;
}

void cr_thread_join(cr_thread *thread) { (void)thread; }

void cr_thread_yield(void) {}

int64_t cr_thread_work_ns(void) { return (int64_t)(1e6 * cr_time_ms()); }

int cr_processor_count(void) { return 1; }

int64_t cr_process_id(void) { return 0; }

void cr_mutex_init(cr_mutex *mutex) { (void)mutex; }

void cr_condition_init(cr_condition *condition) { (void)condition; }

void cr_mutex_destroy(cr_mutex *mutex) { (void)mutex; }

void cr_condition_destroy(cr_condition *condition) { (void)condition; }

void cr_mutex_lock(cr_mutex *mutex) { (void)mutex; }

void cr_mutex_unlock(cr_mutex *mutex) { (void)mutex; }

void cr_condition_wait(cr_condition *condition, cr_mutex *mutex) { (void)condition, (void)mutex; }

void cr_condition_signal(cr_condition *condition) { (void)condition; }

void cr_condition_broadcast(cr_condition *condition) { (void)condition; }

#elif defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

_Static_assert(sizeof(SRWLOCK) == sizeof(cr_mutex), "base/thread.h names a pointer in its place");
_Static_assert(sizeof(CONDITION_VARIABLE) == sizeof(cr_condition), "base/thread.h names a pointer in its place");

static DWORD WINAPI run_thread(void *thread_pointer)
{
	const cr_thread *thread = thread_pointer;
	cr_float_mode_reset();
	thread->fn(thread->user);
	return 0;
}

bool cr_thread_start(cr_thread *thread, void (*fn)(void *user), void *user)
{
	thread->fn = fn;
	thread->user = user;
	thread->handle = CreateThread(NULL, CR_THREAD_STACK, run_thread, thread, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
	return thread->handle != NULL;
}

void cr_thread_join(cr_thread *thread)
{
	WaitForSingleObject(thread->handle, INFINITE);
	CloseHandle(thread->handle);
}

void cr_thread_yield(void) { SwitchToThread(); }

// GetThreadTimes counts in ticks of the scheduler, QueryThreadCycleTime in cycles of no known
// length.
int64_t cr_thread_work_ns(void) { return (int64_t)(1e6 * cr_time_ms()); }

int cr_processor_count(void)
{
	DWORD_PTR mine, all;
	if (!GetProcessAffinityMask(GetCurrentProcess(), &mine, &all))
		return 1;
	int count = 0;
	for (; mine; mine &= mine - 1)
		count++;
	return count > 0 ? count : 1; // 0: of a process in several groups of processors
}

int64_t cr_process_id(void) { return 0; }

void cr_mutex_init(cr_mutex *mutex) { InitializeSRWLock((SRWLOCK *)mutex); }

void cr_condition_init(cr_condition *condition) { InitializeConditionVariable((CONDITION_VARIABLE *)condition); }

void cr_mutex_destroy(cr_mutex *mutex) { (void)mutex; }

void cr_condition_destroy(cr_condition *condition) { (void)condition; }

void cr_mutex_lock(cr_mutex *mutex) { AcquireSRWLockExclusive((SRWLOCK *)mutex); }

void cr_mutex_unlock(cr_mutex *mutex) { ReleaseSRWLockExclusive((SRWLOCK *)mutex); }

void cr_condition_wait(cr_condition *condition, cr_mutex *mutex)
{
	SleepConditionVariableSRW((CONDITION_VARIABLE *)condition, (SRWLOCK *)mutex, INFINITE, 0);
}

void cr_condition_signal(cr_condition *condition) { WakeConditionVariable((CONDITION_VARIABLE *)condition); }

void cr_condition_broadcast(cr_condition *condition) { WakeAllConditionVariable((CONDITION_VARIABLE *)condition); }

#else

#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static void *run_thread(void *thread_pointer)
{
	const cr_thread *thread = thread_pointer;
	cr_float_mode_reset();
	thread->fn(thread->user);
	return NULL;
}

/// Start a thread with our size of stack. A program with much thread-local data may leave no room
/// in it (glibc puts that data there), and then the size is the system's.
static bool create_thread(cr_thread *thread)
{
	pthread_attr_t attributes;
	if (pthread_attr_init(&attributes) != 0)
		return false;
	bool started = pthread_attr_setstacksize(&attributes, CR_THREAD_STACK) == 0 &&
		pthread_create(&thread->handle, &attributes, run_thread, thread) == 0;
	pthread_attr_destroy(&attributes);
	return started || pthread_create(&thread->handle, NULL, run_thread, thread) == 0;
}

/// All signals, except those that a thread brings upon itself (their handlers report crashes) and
/// the clock of profilers.
static void choose_signals(sigset_t *deaf_to)
{
	static const int heard[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF };
	sigfillset(deaf_to);
	for (unsigned i = 0; i < sizeof heard / sizeof heard[0]; i++)
		sigdelset(deaf_to, heard[i]);
}

bool cr_thread_start(cr_thread *thread, void (*fn)(void *user), void *user)
{
	thread->fn = fn;
	thread->user = user;
	// The new thread inherits the mask of its maker.
	sigset_t deaf_to, before;
	choose_signals(&deaf_to);
	const bool masked = pthread_sigmask(SIG_BLOCK, &deaf_to, &before) == 0;
	const bool started = create_thread(thread);
	if (masked)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

void cr_thread_join(cr_thread *thread) { pthread_join(thread->handle, NULL); }

void cr_thread_yield(void) { sched_yield(); }

int64_t cr_thread_work_ns(void)
{
	struct timespec work;
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &work) != 0)
		return (int64_t)(1e6 * cr_time_ms());
	return (int64_t)work.tv_sec * 1000000000 + work.tv_nsec;
}

int cr_processor_count(void)
{
#ifdef __linux__
	cpu_set_t mine;
	if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) > 0)
		return CPU_COUNT(&mine);
#endif
	const long count = sysconf(_SC_NPROCESSORS_ONLN); // where the set is larger than cpu_set_t, too
	return count < 1 ? 1 : (int)count;
}

int64_t cr_process_id(void) { return getpid(); }

void cr_mutex_init(cr_mutex *mutex) { *mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }

void cr_condition_init(cr_condition *condition) { *condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER; }

void cr_mutex_destroy(cr_mutex *mutex) { pthread_mutex_destroy(mutex); }

void cr_condition_destroy(cr_condition *condition) { pthread_cond_destroy(condition); }

void cr_mutex_lock(cr_mutex *mutex) { pthread_mutex_lock(mutex); }

void cr_mutex_unlock(cr_mutex *mutex) { pthread_mutex_unlock(mutex); }

void cr_condition_wait(cr_condition *condition, cr_mutex *mutex) { pthread_cond_wait(condition, mutex); }

void cr_condition_signal(cr_condition *condition) { pthread_cond_signal(condition); }

void cr_condition_broadcast(cr_condition *condition) { pthread_cond_broadcast(condition); }

#endif
