/// Contexts: definitions, memory accounting and failure, error text, log, instruction sets.
#include "test.h"
#include "fixture.h"
#include "base/context.h"
#include "base/float_mode.h"
#include <fenv.h>
#include "base/cpu.h"
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

/// An allocator that counts, checks sizes on release, and fails at a chosen allocation.
typedef struct counting_memory {
	int64_t live;    // bytes
	int allocations; // so far
	int fail_at;     // number of the allocation that fails, from 0; -1: none
	int wrong_frees; // releases with another size or alignment than allocated
} counting_memory;

typedef struct block_header {
	size_t size;
	size_t alignment;
} block_header;

static void *counting_allocate(size_t size, size_t alignment, void *user)
{
	counting_memory *memory = user;
	if (memory->allocations++ == memory->fail_at)
		return NULL;
	char *block = test_allocate(size + 64, 64);
	*(block_header *)block = (block_header){ size, alignment };
	memory->live += (int64_t)size;
	return block + 64;
}

static void counting_release(void *pointer, size_t size, size_t alignment, void *user)
{
	counting_memory *memory = user;
	char *block = (char *)pointer - 64;
	const block_header *header = (const block_header *)block;
	if (header->size != size || header->alignment != alignment)
		memory->wrong_frees++;
	memory->live -= (int64_t)size;
	test_release(block);
}

static carom_context_def counting_def(counting_memory *memory)
{
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ counting_allocate, counting_release, memory };
	return def;
}

TEST(context, version_matches_header)
{
	const carom_version version = carom_get_version();
	CHECK_INT(version.major, CAROM_VERSION_MAJOR);
	CHECK_INT(version.minor, CAROM_VERSION_MINOR);
	CHECK_INT(version.patch, CAROM_VERSION_PATCH);
}

TEST(context, default_allocator)
{
	const carom_allocator a = carom_default_allocator();
	const size_t sizes[] = { 1, 63, 64, 4097, (2u << 20) - 1, 2u << 20, (2u << 20) + 1, 3u << 20, 5u * 1048576 + 7 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (size_t alignment = 8; alignment <= 64; alignment *= 2) {
			char *block = a.allocate(sizes[i], alignment, a.user);
			REQUIRE(block != NULL);
			CHECK_INT((uintptr_t)block % alignment, 0);
			memset(block, 1, sizes[i]); // all of it is there
			a.release(block, sizes[i], alignment, a.user);
		}
	}
	CHECK(a.allocate(SIZE_MAX, 64, a.user) == NULL);
	CHECK(a.allocate(SIZE_MAX - 40, 64, a.user) == NULL);
}

TEST(context, default_context)
{
	carom_context *context = NULL;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK(carom_context_threads(context) >= 1);
	CHECK(carom_context_simd(context) != CAROM_SIMD_AUTO);
	CHECK_STR(carom_error_text(context), "");
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
	carom_destroy_context(NULL);
}

static void no_scheduler(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	(void)task_fn, (void)count, (void)min_range, (void)task, (void)user;
}

#ifdef FE_UPWARD
/// No context in this mode of the thread, which is the default one again afterwards.
static void check_mode_refused(const char *expected)
{
	carom_context *context = (carom_context *)&context;
	const carom_result result = carom_create_context(NULL, &context);
	cr_float_mode_reset();
	CHECK_INT(result, CAROM_UNSUPPORTED);
	CHECK(context == NULL);
	CHECK_STR(carom_error_text(NULL), expected);
}
#endif

TEST(context, only_the_default_floating_point_mode_is_taken)
{
#ifndef FE_UPWARD
	test_skip("this machine rounds in one way only");
#else
	static const int modes[] = { FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO };
	for (int i = 0; i < 3; i++) {
		REQUIRE(fesetround(modes[i]) == 0);
		check_mode_refused(
			"the floating-point arithmetic of this thread does not round to nearest; Carom needs the default mode: "
			"fesetenv(FE_DFL_ENV) sets it");
	}
#ifdef __SSE__
	_mm_setcsr(_mm_getcsr() | 0x8000);
	check_mode_refused(
		"the floating-point arithmetic of this thread flushes small results to zero (FTZ); Carom needs the default "
		"mode: fesetenv(FE_DFL_ENV) sets it");
	_mm_setcsr(_mm_getcsr() | 0x40);
	check_mode_refused(
		"the floating-point arithmetic of this thread takes small arguments for zero (DAZ); Carom needs the default "
		"mode: fesetenv(FE_DFL_ENV) sets it");
#endif
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	carom_destroy_context(context);
#endif
}

TEST(context, wrong_definitions_are_refused)
{
	carom_context *context = (carom_context *)&context;
	carom_context_def def;
	memset(&def, 0, sizeof def);
	CHECK_INT(carom_create_context(&def, &context), CAROM_INVALID_ARGUMENT);
	CHECK(context == NULL);
	CHECK_STR(carom_error_text(NULL), "carom_context_def.cookie: start from carom_default_context_def");
	CHECK_INT(carom_create_context(NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(NULL), "carom_create_context: context is NULL");

	counting_memory memory = { .fail_at = -1 };
#define REFUSED(change, text)                                                \
	def = counting_def(&memory);                                             \
	change;                                                                  \
	CHECK_INT(carom_create_context(&def, &context), CAROM_INVALID_ARGUMENT); \
	CHECK(context == NULL);                                                  \
	CHECK_STR(carom_error_text(NULL), text)
	REFUSED(def.allocator.release = NULL, "carom_context_def.allocator.release is NULL, but allocate is not");
	REFUSED(def.allocator.allocate = NULL, "carom_context_def.allocator.allocate is NULL, but release is not");
	REFUSED(def.thread_count = -1, "carom_context_def.thread_count is -1, not in 0 to 256");
	REFUSED(def.thread_count = CR_MAX_WORKERS + 1, "carom_context_def.thread_count is 257, not in 0 to 256");
	REFUSED(def.parallel_for = no_scheduler,
		"carom_context_def.thread_count is 0, but parallel_for is set: say how many workers it uses, 1 to 256");
	REFUSED(def.simd = (carom_simd)99, "carom_context_def.simd is 99, none of carom_simd");
#undef REFUSED
	CHECK_INT(memory.allocations, 0);
}

TEST(context, creation_out_of_memory)
{
	counting_memory memory = { .fail_at = 0 };
	const carom_context_def def = counting_def(&memory);
	carom_context *context = (carom_context *)&memory;
	CHECK_INT(carom_create_context(&def, &context), CAROM_OUT_OF_MEMORY);
	CHECK(context == NULL);
	CHECK_STR(carom_error_text(NULL), "out of memory for a context");
	CHECK_INT(memory.live, 0);
}

TEST(context, memory_is_counted_and_comes_from_the_user)
{
	counting_memory memory = { .fail_at = -1 };
	const carom_context_def def = counting_def(&memory);
	carom_context *context;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	const int64_t empty = memory.live;
	CHECK_INT(carom_memory_in_use(context), empty);

	char *a = cr_alloc(context, 100);
	char *b = cr_alloc_zero(context, 1000);
	REQUIRE(a && b);
	CHECK_INT((uintptr_t)a % CR_CACHE_LINE, 0);
	CHECK_INT((uintptr_t)b % CR_CACHE_LINE, 0);
	for (int i = 0; i < 1000; i++)
		CHECK(b[i] == 0);
	CHECK_INT(carom_memory_in_use(context), empty + 1100);
	cr_free(context, b, 1000);
	cr_free(context, NULL, 5);
	CHECK_INT(carom_memory_in_use(context), empty + 100);
	CHECK_INT(carom_memory_peak(context), empty + 1100);
	cr_free(context, a, 100);
	carom_destroy_context(context);
	CHECK_INT(memory.live, 0);
	CHECK_INT(memory.wrong_frees, 0);
}

TEST(context, failed_and_empty_allocations)
{
	counting_memory memory = { .fail_at = 1 };
	const carom_context_def def = counting_def(&memory);
	carom_context *context;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	const size_t empty = carom_memory_in_use(context);
	CHECK(cr_alloc_zero(context, 10) == NULL); // the one that fails
	CHECK(cr_alloc(context, 0) == NULL);
	CHECK(cr_alloc_array(context, SIZE_MAX / 2, 3) == NULL);
	CHECK(cr_alloc_array(context, 0, 8) == NULL);
	CHECK(cr_alloc_array(context, 8, 0) == NULL);
	CHECK_INT(memory.allocations, 2);
	CHECK_INT(carom_memory_in_use(context), empty);
	CHECK_INT(carom_memory_peak(context), empty);
	carom_destroy_context(context);
	CHECK_INT(memory.live, 0);
}

TEST(context, default_allocator_refuses_absurd_sizes)
{
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK(cr_alloc(context, SIZE_MAX - 10) == NULL);
	carom_destroy_context(context);
}

TEST(context, error_text)
{
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK_INT(cr_fail(context, CAROM_INVALID_BODY, "body %d is gone", 7), CAROM_INVALID_BODY);
	CHECK_STR(carom_error_text(context), "body 7 is gone");
	// The present text may go into the next one.
	cr_fail(context, CAROM_INVALID_ARGUMENT, "step: %s", carom_error_text(context));
	CHECK_STR(carom_error_text(context), "step: body 7 is gone");
	CHECK_INT(cr_fail_memory(context, "the tree"), CAROM_OUT_OF_MEMORY);
	CHECK_STR(carom_error_text(context), "out of memory for the tree");
	cr_fail(context, CAROM_INVALID_MESH, "%2000d", 1);
	CHECK_INT(strlen(carom_error_text(context)), CR_ERROR_TEXT_SIZE - 1);
	carom_destroy_context(context);
}

// ---- Whose failure ----

TEST(context, error_text_is_of_the_context_asked)
{
	carom_context *a, *b;
	CHECK_STR(carom_error_text(NULL), "");
	REQUIRE(carom_create_context(NULL, &a) == CAROM_SUCCESS && carom_create_context(NULL, &b) == CAROM_SUCCESS);
	cr_fail(a, CAROM_INVALID_BODY, "a failed");
	CHECK_STR(carom_error_text(a), "a failed");
	CHECK_STR(carom_error_text(b), "");
	CHECK_STR(carom_error_text(NULL), "");
	cr_fail(b, CAROM_INVALID_BODY, "b failed");
	CHECK_STR(carom_error_text(a), "a failed"); // still the last on a
	CHECK_STR(carom_error_text(b), "b failed");
	carom_context child;
	cr_context_init_child(&child, a, 0);
	cr_fail(&child, CAROM_INVALID_BODY, "a child failed");
	CHECK_STR(carom_error_text(a), "a child failed");
	CHECK_STR(carom_error_text(&child), "a child failed");
	carom_destroy_context(a);
	carom_destroy_context(b);
}

// ---- Spares ----

/// A thing that counts how often it was destroyed.
typedef struct counted_spare {
	cr_spare spare;
	int destroyed;
} counted_spare;

static void count_destruction(cr_spare *spare) { ((counted_spare *)spare)->destroyed++; }

TEST(context, spare_things_are_taken_by_one_and_destroyed_once)
{
	carom_context *context = fixture_context(1);
	counted_spare things[CR_SPARES + 1] = { { { NULL }, 0 } };
	CHECK(cr_take_spare(context) == NULL);
	for (int i = 0; i <= CR_SPARES; i++) {
		things[i].spare.destroy = count_destruction;
		cr_leave_spare(context, &things[i].spare);
	}
	// There is room for all but the last.
	CHECK_INT(things[CR_SPARES].destroyed, 1);
	CHECK(cr_take_spare(context) == &things[0].spare);
	CHECK(cr_take_spare(context) == &things[1].spare);
	cr_leave_spare(context, &things[1].spare);
	CHECK(cr_take_spare(context) == &things[1].spare);
	carom_destroy_context(context);
	for (int i = 0; i < CR_SPARES; i++)
		CHECK_INT(things[i].destroyed, i < 2 ? 0 : 1);
}

/// One block of memory, so that each context has the address of the last one.
static void *take_block(size_t size, size_t alignment, void *user)
{
	(void)alignment;
	return size <= 4096 ? user : NULL;
}

static void leave_block(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)pointer, (void)size, (void)alignment, (void)user;
}

TEST(context, error_text_does_not_outlive_its_context)
{
	static _Alignas(CR_CACHE_LINE) char block[4096];
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ take_block, leave_block, block };
	carom_context *first, *second;
	REQUIRE(carom_create_context(&def, &first) == CAROM_SUCCESS);
	cr_fail(first, CAROM_INVALID_BODY, "the first failed");
	carom_destroy_context(first);
	REQUIRE(carom_create_context(&def, &second) == CAROM_SUCCESS);
	CHECK(second == first);
	CHECK_STR(carom_error_text(second), "");
	carom_destroy_context(second);
}

typedef struct log_record {
	int count;
	carom_log_level level;
	char text[CR_ERROR_TEXT_SIZE];
} log_record;

static void record_log(carom_log_level level, const char *text, void *user)
{
	log_record *record = user;
	record->count++;
	record->level = level;
	strncpy(record->text, text, sizeof record->text - 1);
}

TEST(context, log_reaches_the_callback)
{
	log_record record = { 0 };
	carom_context_def def = carom_default_context_def();
	def.log = record_log;
	def.log_user = &record;
	carom_context *context;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	cr_log(context, CAROM_LOG_WARNING, "%d borders", 3);
	CHECK_INT(record.count, 1);
	CHECK_INT(record.level, CAROM_LOG_WARNING);
	CHECK_STR(record.text, "3 borders");
	carom_destroy_context(context);
	CHECK_INT(record.count, 1);
}

TEST(context, destruction_names_leaks)
{
	log_record record = { 0 };
	carom_context_def def = carom_default_context_def();
	def.log = record_log;
	def.log_user = &record;
	carom_context *context;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	atomic_fetch_add(&context->live_objects, 2);
	carom_destroy_context(context);
	CHECK_INT(record.count, 1);
	CHECK_INT(record.level, CAROM_LOG_ERROR);
	CHECK_STR(record.text,
		"carom_destroy_context: 2 meshes, worlds, detectors of spheres or sweeps were not destroyed; 0 bytes leak, and what is left "
		"must not be used or destroyed any more");

	// Without a callback the log is silent, not a crash.
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	cr_log(context, CAROM_LOG_ERROR, "nobody listens");
	carom_destroy_context(context);
}

/// What the processor says of itself, and what the compiler's library makes of it.
TEST(context, processor_has_what_the_compiler_finds)
{
	CHECK(cr_cpu_has(CAROM_SIMD_SCALAR));
	CHECK(!cr_cpu_has(CAROM_SIMD_AUTO));
	CHECK(!cr_cpu_has((carom_simd)99));
#if defined(__x86_64__) && defined(__GNUC__)
	CHECK_INT(cr_cpu_has(CAROM_SIMD_SSE2), !!__builtin_cpu_supports("sse2"));
	CHECK_INT(cr_cpu_has(CAROM_SIMD_AVX2), !!__builtin_cpu_supports("avx2"));
	CHECK_INT(cr_cpu_has(CAROM_SIMD_AVX512),
		__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
			__builtin_cpu_supports("avx512dq"));
	CHECK(!cr_cpu_has(CAROM_SIMD_NEON));
#elif defined(__aarch64__)
	CHECK(cr_cpu_has(CAROM_SIMD_NEON));
	CHECK(!cr_cpu_has(CAROM_SIMD_SSE2));
#endif
}

TEST(context, instruction_sets)
{
	carom_simd widest = CAROM_SIMD_SCALAR;
	for (int simd = CAROM_SIMD_SCALAR; simd <= CAROM_SIMD_NEON; simd++) {
		carom_context_def def = carom_default_context_def();
		def.simd = (carom_simd)simd;
		carom_context *context = NULL;
		const carom_result result = carom_create_context(&def, &context);
		if (result == CAROM_SUCCESS) {
			CHECK_INT(carom_context_simd(context), simd);
			widest = (carom_simd)simd;
		} else {
			CHECK_INT(result, CAROM_UNSUPPORTED);
			CHECK(context == NULL);
		}
		CHECK(simd != CAROM_SIMD_SCALAR || result == CAROM_SUCCESS);
		carom_destroy_context(context);
	}
#if !defined(CR_HAVE_NEON)
	carom_context_def def = carom_default_context_def();
	def.simd = CAROM_SIMD_NEON;
	carom_context *missing;
	CHECK_INT(carom_create_context(&def, &missing), CAROM_UNSUPPORTED);
#endif
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK_INT(carom_context_simd(context), widest);
	carom_destroy_context(context);
}

TEST(context, names)
{
	CHECK_STR(carom_simd_name(CAROM_SIMD_AUTO), "auto");
	CHECK_STR(carom_simd_name(CAROM_SIMD_SCALAR), "scalar");
	CHECK_STR(carom_simd_name(CAROM_SIMD_SSE2), "sse2");
	CHECK_STR(carom_simd_name(CAROM_SIMD_AVX2), "avx2");
	CHECK_STR(carom_simd_name(CAROM_SIMD_AVX512), "avx512");
	CHECK_STR(carom_simd_name(CAROM_SIMD_NEON), "neon");
	CHECK_STR(carom_simd_name((carom_simd)77), "unknown");
	CHECK_STR(carom_result_name(CAROM_SUCCESS), "success");
	CHECK_STR(carom_result_name(CAROM_OUT_OF_MEMORY), "out of memory");
	CHECK_STR(carom_result_name(CAROM_INVALID_RECORDING), "invalid recording");
	CHECK_STR(carom_result_name((carom_result)77), "unknown result");
}
