// Memory that fails when told: see failing_memory.h.
#include "failing_memory.h"

#include "failing_calls.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local failing_calls *s_calls; // those of this thread alone; NULL: none fails

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

static bool fails(void) { return failing_calls_fail(s_calls); }

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return fails() ? NULL : __real_realloc(memory, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __real_aligned_alloc(alignment, size); }
char *__wrap_strdup(const char *text) { return fails() ? NULL : __real_strdup(text); }
char *__wrap_strndup(const char *text, size_t size) { return fails() ? NULL : __real_strndup(text, size); }

int failing_memory_each(int stride, bool (*work)(void *user), void (*check)(bool done, void *user), void *user)
{
	failing_calls calls = failing_calls_of_preset();
	calls.stride *= stride;
	int failures = 0;
	for (bool failed = true; failed;) {
		failing_calls_begin(&calls);
		s_calls = &calls;
		const bool done = work(user);
		s_calls = NULL;
		failed = failing_calls_end(&calls);
		failures += !done;
		if (check)
			check(done, user);
		CHECK(done || failed);
	}
	failing_calls_free(&calls);
	return failures;
}
