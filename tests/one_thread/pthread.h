/// Threads for tests on machines without any (WASI): each runs to its end when it is made. A test that needs two at once must not run there.
#ifndef TESTS_ONE_THREAD_PTHREAD_H
#define TESTS_ONE_THREAD_PTHREAD_H

#include <stddef.h>

typedef int pthread_t;
typedef char pthread_attr_t, pthread_barrier_t, pthread_barrierattr_t, pthread_mutex_t, pthread_cond_t;

static inline int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *user), void *user)
{
	(void)attributes;
	*thread = 1;
	fn(user);
	return 0;
}

static inline int pthread_join(pthread_t thread, void **result)
{
	(void)thread, (void)result;
	return 0;
}

static inline pthread_t pthread_self(void) { return 0; }
static inline int pthread_equal(pthread_t a, pthread_t b) { return a == b; }

static inline int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count)
{
	(void)barrier, (void)attributes, (void)count;
	return 0;
}

static inline int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	(void)barrier;
	return 0;
}

static inline int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	(void)barrier;
	return 0;
}

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
{
	(void)mutex, (void)attributes;
	return 0;
}

static inline int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	(void)mutex;
	return 0;
}

static inline int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	(void)mutex;
	return 0;
}

static inline int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	(void)mutex;
	return 0;
}

static inline int pthread_cond_init(pthread_cond_t *condition, const void *attributes)
{
	(void)condition, (void)attributes;
	return 0;
}

static inline int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	(void)condition, (void)mutex;
	return 0;
}

static inline int pthread_cond_broadcast(pthread_cond_t *condition)
{
	(void)condition;
	return 0;
}

static inline int pthread_cond_destroy(pthread_cond_t *condition)
{
	(void)condition;
	return 0;
}

#endif
