/// The context: allocation with accounting, error text, log, and the choice of the instruction set.
/// See base/context.h.
#include "base/context.h"
#include "base/cpu.h"
#include "base/dispatch.h"
#include "base/pool.h"
#include "base/spin_lock.h"
#include "base/thread.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Marks a definition as made by carom_default_context_def: any value that stack garbage is unlikely
// to hold.
enum { CONTEXT_COOKIE = 0x43617431 };

carom_version carom_get_version(void)
{
	return (carom_version){ CAROM_VERSION_MAJOR, CAROM_VERSION_MINOR, CAROM_VERSION_PATCH };
}

const char *carom_result_name(carom_result result)
{
	switch (result) {
	case CAROM_SUCCESS: return "success";
	case CAROM_INVALID_ARGUMENT: return "invalid argument";
	case CAROM_INVALID_MESH: return "invalid mesh";
	case CAROM_INVALID_BODY: return "invalid body";
	case CAROM_OUT_OF_MEMORY: return "out of memory";
	case CAROM_OVER_BUDGET: return "over budget";
	case CAROM_UNSUPPORTED: return "unsupported";
	case CAROM_INVALID_RECORDING: return "invalid recording";
	case CAROM_DEVICE_FAILED: return "device failed";
	}
	return "unknown result";
}

const char *carom_simd_name(carom_simd simd)
{
	switch (simd) {
	case CAROM_SIMD_AUTO: return "auto";
	case CAROM_SIMD_SCALAR: return "scalar";
	case CAROM_SIMD_SSE2: return "sse2";
	case CAROM_SIMD_AVX2: return "avx2";
	case CAROM_SIMD_AVX512: return "avx512";
	case CAROM_SIMD_NEON: return "neon";
	}
	return "unknown";
}

// ---- Instruction sets ----

/// Was the set built into the library, and does this machine have it?
static bool has_simd(carom_simd simd)
{
	switch (simd) {
	case CAROM_SIMD_SCALAR:
		return true;
		CR_WITH_SSE2(case CAROM_SIMD_SSE2 : return cr_cpu_has(simd);)
		CR_WITH_AVX2(case CAROM_SIMD_AVX2 : return cr_cpu_has(simd);)
		CR_WITH_AVX512(case CAROM_SIMD_AVX512 : return cr_cpu_has(simd);)
		CR_WITH_NEON(case CAROM_SIMD_NEON : return cr_cpu_has(simd);)
	default: return false;
	}
}

static carom_simd widest_simd(void)
{
	static const carom_simd order[] = { CAROM_SIMD_AVX512, CAROM_SIMD_AVX2, CAROM_SIMD_SSE2, CAROM_SIMD_NEON };
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
		if (has_simd(order[i]))
			return order[i];
	}
	return CAROM_SIMD_SCALAR;
}

// ---- Memory ----

/// Count size more bytes as held; false where that would break the limit of a child. *held: bytes
/// with them.
static bool claim_memory(carom_context *context, size_t size, size_t *held)
{
	const size_t limit = context->memory_limit != 0 ? context->memory_limit : SIZE_MAX;
	size_t before = atomic_load_explicit(&context->memory_in_use, memory_order_relaxed);
	do {
		if (size > limit || before > limit - size) {
			atomic_fetch_add_explicit(&context->refusals, 1, memory_order_relaxed);
			return false;
		}
	} while (!atomic_compare_exchange_weak_explicit(
		&context->memory_in_use, &before, before + size, memory_order_relaxed, memory_order_relaxed));
	*held = before + size;
	return true;
}

static void raise_peak(carom_context *context, size_t held)
{
	size_t peak = atomic_load_explicit(&context->memory_peak, memory_order_relaxed);
	while (held > peak &&
		!atomic_compare_exchange_weak_explicit(&context->memory_peak, &peak, held, memory_order_relaxed, memory_order_relaxed)) {
	}
}

bool cr_has_room(const carom_context *context, size_t size)
{
	const size_t held = atomic_load_explicit(&context->memory_in_use, memory_order_relaxed);
	return context->memory_limit == 0 || (size <= context->memory_limit && held <= context->memory_limit - size);
}

void *cr_alloc(carom_context *context, size_t size)
{
	size_t held;
	if (size == 0 || !claim_memory(context, size, &held))
		return NULL;
	void *pointer = context->parent ? cr_alloc(context->parent, size)
									: context->allocator.allocate(size, CR_CACHE_LINE, context->allocator.user);
	if (pointer)
		raise_peak(context, held);
	else
		atomic_fetch_sub_explicit(&context->memory_in_use, size, memory_order_relaxed);
	return pointer;
}

void *cr_alloc_zero(carom_context *context, size_t size)
{
	void *pointer = cr_alloc(context, size);
	if (pointer)
		memset(pointer, 0, size);
	return pointer;
}

void *cr_alloc_array(carom_context *context, size_t count, size_t size)
{
	if (size != 0 && count > SIZE_MAX / size)
		return NULL;
	return cr_alloc(context, count * size);
}

void cr_free(carom_context *context, void *pointer, size_t size)
{
	if (!pointer)
		return;
	if (context->parent)
		cr_free(context->parent, pointer, size);
	else
		context->allocator.release(pointer, size, CR_CACHE_LINE, context->allocator.user);
	atomic_fetch_sub_explicit(&context->memory_in_use, size, memory_order_relaxed);
}

size_t carom_memory_in_use(const carom_context *context)
{
	return atomic_load_explicit(&context->memory_in_use, memory_order_relaxed);
}

size_t carom_memory_peak(const carom_context *context)
{
	return atomic_load_explicit(&context->memory_peak, memory_order_relaxed);
}

// ---- Messages ----

/// The last failure of this thread. Its own copy, so that failures of other threads neither change
/// nor replace it.
static _Thread_local cr_failure s_failure;
static _Thread_local uint64_t s_failures;

uint64_t cr_failure_count(void) { return s_failures; }

cr_failure cr_get_failure(void) { return s_failure; }

void cr_take_failure(const cr_failure *failure)
{
	s_failure = *failure;
	s_failures++;
}

static void note_failure(uint64_t serial, const char *format, va_list arguments)
{
	// Formatted aside first: the arguments may contain the present error text.
	cr_failure failure = { .serial = serial };
	vsnprintf(failure.text, sizeof failure.text, format, arguments);
	cr_take_failure(&failure);
}

carom_result cr_fail(carom_context *context, carom_result result, const char *format, ...)
{
	context = (carom_context *)cr_context_root(context);
	va_list arguments;
	va_start(arguments, format);
	note_failure(context->serial, format, arguments);
	va_end(arguments);
	cr_lock(&context->error_lock);
	memcpy(context->error_text, s_failure.text, sizeof s_failure.text);
	cr_unlock(&context->error_lock);
	return result;
}

carom_result cr_fail_memory(carom_context *context, const char *what)
{
	return cr_fail(context, CAROM_OUT_OF_MEMORY, "out of memory for %s", what);
}

carom_result cr_explain_refusal(carom_context *child, const char *function, unsigned refusals, carom_result result)
{
	if (result != CAROM_OUT_OF_MEMORY || atomic_load(&child->refusals) == refusals)
		return result;
	return cr_fail(
		child, CAROM_OVER_BUDGET, "%s: needs more than the memory_budget of %zu bytes", function, child->memory_limit);
}

const char *carom_error_text(const carom_context *context)
{
	// Failures of other threads are shown from a copy too: the text of the context may change at
	// any time.
	static _Thread_local char s_shown[CR_ERROR_TEXT_SIZE];
	carom_context *root = context ? (carom_context *)cr_context_root(context) : NULL;
	if (s_failure.serial == (root ? root->serial : 0))
		return s_failure.text;
	if (!root)
		return "";
	cr_lock(&root->error_lock);
	memcpy(s_shown, root->error_text, sizeof s_shown);
	cr_unlock(&root->error_lock);
	return s_shown;
}

void cr_log(const carom_context *context, carom_log_level level, const char *format, ...)
{
	if (!context->log)
		return;
	char text[CR_ERROR_TEXT_SIZE];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	context->log(level, text, context->log_user);
}

// ---- Creation ----

void cr_context_init_child(carom_context *child, carom_context *parent, size_t memory_limit)
{
	*child = (carom_context){
		.log = parent->log,
		.log_user = parent->log_user,
		.parallel_for = parent->parallel_for,
		.parallel_for_user = parent->parallel_for_user,
		.thread_count = parent->thread_count,
		.simd = parent->simd,
		.parent = parent,
		.memory_limit = memory_limit,
		.error_lock = ATOMIC_FLAG_INIT,
	};
}

cr_spare *cr_take_spare(carom_context *context)
{
	for (int i = 0; i < CR_SPARES; i++) {
		if (!atomic_load_explicit(&context->spares[i], memory_order_relaxed))
			continue;
		cr_spare *spare = atomic_exchange_explicit(&context->spares[i], NULL, memory_order_acquire);
		if (spare)
			return spare;
	}
	return NULL;
}

void cr_leave_spare(carom_context *context, cr_spare *spare)
{
	for (int i = 0; i < CR_SPARES; i++) {
		cr_spare *none = NULL;
		if (!atomic_load_explicit(&context->spares[i], memory_order_relaxed) &&
			atomic_compare_exchange_strong_explicit(
				&context->spares[i], &none, spare, memory_order_release, memory_order_relaxed))
			return;
	}
	spare->destroy(spare);
}

carom_context_def carom_default_context_def(void)
{
	return (carom_context_def){ .cookie = CONTEXT_COOKIE, .simd = CAROM_SIMD_AUTO };
}

/// Fail without a context: the thread alone remembers the text.
static carom_result refuse(carom_result result, const char *format, ...) CR_PRINTF_LIKE(2, 3);

static carom_result refuse(carom_result result, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	note_failure(0, format, arguments);
	va_end(arguments);
	return result;
}

static carom_result check_def(const carom_context_def *def)
{
	const carom_result bad = CAROM_INVALID_ARGUMENT;
	if (def->cookie != CONTEXT_COOKIE)
		return refuse(bad, "carom_context_def.cookie: start from carom_default_context_def");
	if (!def->allocator.allocate != !def->allocator.release)
		return refuse(bad, "carom_context_def.allocator.%s is NULL, but %s is not",
			def->allocator.allocate ? "release" : "allocate", def->allocator.allocate ? "allocate" : "release");
	if (def->thread_count < 0 || def->thread_count > CR_MAX_WORKERS)
		return refuse(bad, "carom_context_def.thread_count is %d, not in 0 to %d", def->thread_count, CR_MAX_WORKERS);
	// The number of cores says nothing about the workers of somebody else's pool.
	if (def->parallel_for && def->thread_count == 0)
		return refuse(bad, "carom_context_def.thread_count is 0, but parallel_for is set: say how many workers it uses, 1 to %d",
			CR_MAX_WORKERS);
	const char *fault = cr_float_mode_fault();
	if (fault)
		return refuse(CAROM_UNSUPPORTED,
			"the floating-point arithmetic of this thread %s; Carom needs the default mode: fesetenv(FE_DFL_ENV) sets it",
			fault);
	if ((int)def->simd < CAROM_SIMD_AUTO || def->simd > CAROM_SIMD_NEON)
		return refuse(bad, "carom_context_def.simd is %d, none of carom_simd", (int)def->simd);
	if (def->simd != CAROM_SIMD_AUTO && !has_simd(def->simd))
		return refuse(CAROM_UNSUPPORTED, "carom_context_def.simd is %s, which this machine or this build lacks",
			carom_simd_name(def->simd));
	return CAROM_SUCCESS;
}

static int choose_thread_count(const carom_context_def *def)
{
	if (!def->parallel_for && !CR_THREADS)
		return 1;
	if (def->thread_count > 0)
		return def->thread_count;
	const int cores = cr_processor_count();
	return cores < CR_MAX_WORKERS ? cores : CR_MAX_WORKERS;
}

/// Where the pool lies behind the context. Both are one allocation, so a context that was made can
/// always loop.
enum { POOL_OFFSET = (sizeof(carom_context) + CR_CACHE_LINE - 1) / CR_CACHE_LINE * CR_CACHE_LINE };

/// Give a context of POOL_OFFSET + cr_pool_size bytes its pool.
static void init_pool(carom_context *context)
{
	context->pool = (cr_pool *)((char *)context + POOL_OFFSET);
	cr_pool_init(context->pool, context->thread_count, context);
}

uint64_t cr_next_serial(void)
{
	static atomic_uint_least64_t s_last;
	return atomic_fetch_add_explicit(&s_last, 1, memory_order_relaxed) + 1;
}

carom_result carom_create_context(const carom_context_def *def, carom_context **context)
{
	if (!context)
		return refuse(CAROM_INVALID_ARGUMENT, "carom_create_context: context is NULL");
	*context = NULL;
	const carom_context_def default_def = carom_default_context_def();
	if (!def)
		def = &default_def;
	carom_result result = check_def(def);
	if (result != CAROM_SUCCESS)
		return result;

	carom_allocator allocator = def->allocator;
	if (!allocator.allocate)
		allocator = carom_default_allocator();
	const int threads = choose_thread_count(def);
	const bool has_pool = !def->parallel_for && threads > 1;
	const size_t size = has_pool ? POOL_OFFSET + cr_pool_size(threads) : sizeof(carom_context);
	carom_context *made = allocator.allocate(size, CR_CACHE_LINE, allocator.user);
	if (!made)
		return refuse(CAROM_OUT_OF_MEMORY, "out of memory for a context");
	*made = (carom_context){
		.allocator = allocator,
		.log = def->log,
		.log_user = def->log_user,
		.parallel_for = def->parallel_for,
		.parallel_for_user = def->parallel_for_user,
		.thread_count = threads,
		.simd = def->simd == CAROM_SIMD_AUTO ? widest_simd() : def->simd,
		.size = size,
		.serial = cr_next_serial(),
		.error_lock = ATOMIC_FLAG_INIT,
	};
	if (has_pool)
		init_pool(made);
	atomic_store(&made->memory_in_use, size);
	atomic_store(&made->memory_peak, size);
	*context = made;
	return CAROM_SUCCESS;
}

void carom_destroy_context(carom_context *context)
{
	if (!context)
		return;
	for (cr_spare *spare = cr_take_spare(context); spare; spare = cr_take_spare(context))
		spare->destroy(spare);
	int live_objects = atomic_load(&context->live_objects);
	if (live_objects > 0) {
		cr_log(context, CAROM_LOG_ERROR,
			"carom_destroy_context: %d meshes, worlds, detectors of spheres or sweeps were not destroyed; %zu bytes leak, and what is "
			"left must not be used or destroyed any more",
			live_objects, carom_memory_in_use(context) - context->size);
	}
	if (context->pool)
		cr_pool_end(context->pool);
	const carom_allocator allocator = context->allocator;
	allocator.release(context, context->size, CR_CACHE_LINE, allocator.user);
}

carom_simd carom_context_simd(const carom_context *context) { return context->simd; }

int carom_context_threads(const carom_context *context) { return context->thread_count; }
