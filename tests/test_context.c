/// Contexts: definitions, memory accounting and failure, error text, log, instruction sets.
#include "test.h"
#include "base/context.h"
#include <stdlib.h>
#include <string.h>

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
	char *block = aligned_alloc(64, (size + 64 + 63) / 64 * 64);
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
	free(block);
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

TEST(context, default_context)
{
	carom_context *context = NULL;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	CHECK(carom_context_threads(context) >= 1);
	CHECK(carom_context_simd(context) != CAROM_SIMD_AUTO);
	CHECK_STR(carom_error_text(context), "");
	CHECK_INT(carom_memory_in_use(context), sizeof *context);
	carom_destroy_context(context);
	carom_destroy_context(NULL);
}

TEST(context, wrong_definitions_are_refused)
{
	carom_context *context = (carom_context *)&context;
	carom_context_def def;
	memset(&def, 0, sizeof def);
	CHECK_INT(carom_create_context(&def, &context), CAROM_INVALID_ARGUMENT);
	CHECK(context == NULL);
	CHECK_INT(carom_create_context(NULL, NULL), CAROM_INVALID_ARGUMENT);

	counting_memory memory = { .fail_at = -1 };
	def = counting_def(&memory);
	def.allocator.release = NULL;
	CHECK_INT(carom_create_context(&def, &context), CAROM_INVALID_ARGUMENT);
	def = counting_def(&memory);
	def.allocator.allocate = NULL;
	CHECK_INT(carom_create_context(&def, &context), CAROM_INVALID_ARGUMENT);
	def = counting_def(&memory);
	def.thread_count = -1;
	CHECK_INT(carom_create_context(&def, &context), CAROM_INVALID_ARGUMENT);
	def.thread_count = CR_MAX_WORKERS + 1;
	CHECK_INT(carom_create_context(&def, &context), CAROM_INVALID_ARGUMENT);
	def = counting_def(&memory);
	def.simd = (carom_simd)99;
	CHECK_INT(carom_create_context(&def, &context), CAROM_INVALID_ARGUMENT);
	CHECK_INT(memory.allocations, 0);
}

TEST(context, creation_out_of_memory)
{
	counting_memory memory = { .fail_at = 0 };
	const carom_context_def def = counting_def(&memory);
	carom_context *context = (carom_context *)&memory;
	CHECK_INT(carom_create_context(&def, &context), CAROM_OUT_OF_MEMORY);
	CHECK(context == NULL);
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

typedef struct log_record {
	int count;
	carom_log_level level;
	char text[256];
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
	CHECK_STR(record.text, "carom_destroy_context: 2 meshes or worlds were not destroyed; 0 bytes leak");

	// Without a callback the log is silent, not a crash.
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	cr_log(context, CAROM_LOG_ERROR, "nobody listens");
	carom_destroy_context(context);
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
