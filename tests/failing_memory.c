// Memory that fails when told: see failing_memory.h.
#include "failing_memory.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local bool s_counts;
static _Thread_local long long s_calls, s_fail_at;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

static bool fails(void) { return s_counts && s_calls++ == s_fail_at; }

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return fails() ? NULL : __real_realloc(memory, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __real_aligned_alloc(alignment, size); }
char *__wrap_strdup(const char *text) { return fails() ? NULL : __real_strdup(text); }
char *__wrap_strndup(const char *text, size_t size) { return fails() ? NULL : __real_strndup(text, size); }

void failing_memory_begin(long long fail_at)
{
	s_calls = 0;
	s_fail_at = fail_at;
	s_counts = true;
}

long long failing_memory_end(void)
{
	s_counts = false;
	return s_calls;
}

int failing_memory_each(int stride, bool (*work)(void *user), void (*check)(bool done, void *user), void *user)
{
	int failures = 0;
	for (long long at = 0;; at += stride) {
		failing_memory_begin(at);
		const bool done = work(user);
		const bool failed = failing_memory_end() > at;
		failures += !done;
		if (check)
			check(done, user);
		if (failed)
			continue;
		CHECK(done);
		return failures;
	}
}
