/// Arenas: alignment, growth, reset to one block, failure at every allocation.
#include "test.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

typedef struct failing_memory {
	int allocations;
	int fail_at;
	int live;
} failing_memory;

static void *failing_allocate(size_t size, size_t alignment, void *user)
{
	failing_memory *memory = user;
	if (memory->allocations++ == memory->fail_at)
		return NULL;
	memory->live++;
	return test_allocate(size, alignment);
}

static void failing_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment;
	((failing_memory *)user)->live--;
	test_release(pointer);
}

static carom_context *make_context(failing_memory *memory)
{
	carom_context_def def = carom_default_context_def();
	def.allocator = (carom_allocator){ failing_allocate, failing_release, memory };
	carom_context *context = NULL;
	carom_create_context(&def, &context);
	return context;
}

TEST(arena, pieces_are_aligned_and_apart)
{
	failing_memory memory = { .fail_at = -1 };
	carom_context *context = make_context(&memory);
	REQUIRE(context);
	cr_arena arena;
	cr_arena_init(&arena, context);
	CHECK_INT(cr_arena_bytes(&arena), 0);
	enum { PIECES = 500 };
	unsigned char *pieces[PIECES];
	size_t sizes[PIECES];
	uint64_t seed = 1;
	for (int i = 0; i < PIECES; i++) {
		sizes[i] = i % 50 == 0 ? 0 : (size_t)(test_random(&seed) % 3000);
		pieces[i] = cr_arena_alloc(&arena, sizes[i]);
		REQUIRE(pieces[i]);
		CHECK_INT((uintptr_t)pieces[i] % CR_CACHE_LINE, 0);
		memset(pieces[i], i & 255, sizes[i]);
	}
	for (int i = 0; i < PIECES; i++) {
		for (size_t k = 0; k < sizes[i]; k++) {
			if (!CHECK_INT(pieces[i][k], i & 255))
				break;
		}
	}
	CHECK(arena.used <= cr_arena_bytes(&arena));
	CHECK_INT(arena.peak, arena.used);
	cr_arena_free(&arena);
	CHECK_INT(cr_arena_bytes(&arena), 0);
	carom_destroy_context(context);
	CHECK_INT(memory.live, 0);
}

TEST(arena, empty_pieces_are_valid_and_different)
{
	failing_memory memory = { .fail_at = -1 };
	carom_context *context = make_context(&memory);
	REQUIRE(context);
	cr_arena arena;
	cr_arena_init(&arena, context);
	void *a = cr_arena_alloc(&arena, 0);
	void *b = cr_arena_alloc(&arena, 0);
	CHECK(a && b && a != b);
	cr_arena_free(&arena);
	carom_destroy_context(context);
}

TEST(arena, steady_state_allocates_nothing)
{
	failing_memory memory = { .fail_at = -1 };
	carom_context *context = make_context(&memory);
	REQUIRE(context);
	cr_arena arena;
	cr_arena_init(&arena, context);
	cr_arena_reset(&arena); // of an arena that has nothing
	for (int i = 0; i < 100; i++)
		REQUIRE(cr_arena_alloc(&arena, 5000));
	const size_t peak = arena.used;
	cr_arena_reset(&arena);
	CHECK_INT(arena.used, 0);
	CHECK_INT(arena.peak, peak);
	CHECK_INT(cr_arena_bytes(&arena), peak + CR_CACHE_LINE);
	const int allocations = memory.allocations;
	for (int step = 0; step < 3; step++) {
		for (int i = 0; i < 100; i++)
			REQUIRE(cr_arena_alloc(&arena, 5000));
		cr_arena_reset(&arena);
	}
	CHECK_INT(memory.allocations, allocations);
	CHECK_INT(arena.peak, peak);
	cr_arena_free(&arena);
	carom_destroy_context(context);
	CHECK_INT(memory.live, 0);
}

/// Three steps of growing need; returns false when an allocation failed.
static bool run_steps(carom_context *context)
{
	cr_arena arena;
	cr_arena_init(&arena, context);
	bool complete = true;
	for (int step = 1; step <= 3; step++) {
		for (int i = 0; i < 20; i++) {
			char *piece = cr_arena_alloc(&arena, (size_t)(step * 3000));
			if (piece)
				memset(piece, step, (size_t)(step * 3000));
			complete = complete && piece;
		}
		cr_arena_reset(&arena);
	}
	cr_arena_free(&arena);
	return complete;
}

TEST(arena, a_rewound_arena_hands_out_the_same_memory)
{
	failing_memory memory = { .fail_at = -1 };
	carom_context *context = make_context(&memory);
	REQUIRE(context);
	cr_arena arena;
	cr_arena_init(&arena, context);
	const cr_arena_mark empty = cr_arena_get_mark(&arena);
	char *kept = cr_arena_alloc(&arena, 100);
	REQUIRE(kept);
	memset(kept, 7, 100);
	const cr_arena_mark mark = cr_arena_get_mark(&arena);
	char *first = cr_arena_alloc(&arena, 1000);
	cr_arena_rewind(&arena, &mark);
	CHECK_INT((long long)arena.used, (long long)mark.used);
	CHECK(cr_arena_alloc(&arena, 1000) == first);
	// Beyond the block: the new one stays, and is used from its beginning each time.
	cr_arena_rewind(&arena, &mark);
	REQUIRE(cr_arena_alloc(&arena, 15000) && cr_arena_alloc(&arena, 15000));
	const int allocations = memory.allocations;
	char *again = NULL;
	for (int i = 0; i < 50; i++) {
		cr_arena_rewind(&arena, &mark);
		char *piece = cr_arena_alloc(&arena, 15000);
		REQUIRE(piece);
		memset(piece, i, 15000);
		CHECK(i == 0 || piece == again);
		again = piece;
	}
	CHECK_INT(memory.allocations, allocations);
	CHECK(arena.peak < 40000);
	for (int i = 0; i < 100; i++)
		CHECK_INT(kept[i], 7);
	cr_arena_rewind(&arena, &empty);
	CHECK_INT((long long)arena.used, 0);
	cr_arena_free(&arena);
	carom_destroy_context(context);
	CHECK_INT(memory.live, 0);
}

TEST(arena, every_allocation_may_fail)
{
	int failures = 0;
	for (int fail_at = 1;; fail_at++) {
		failing_memory memory = { .fail_at = fail_at };
		carom_context *context = make_context(&memory);
		REQUIRE(context);
		const size_t empty = carom_memory_in_use(context);
		const bool complete = run_steps(context);
		CHECK_INT(carom_memory_in_use(context), empty);
		carom_destroy_context(context);
		CHECK_INT(memory.live, 0);
		failures += !complete;
		if (memory.allocations <= fail_at) {
			CHECK(complete);
			break;
		}
	}
	CHECK(failures > 0);
}

TEST(arena, absurd_sizes_are_refused)
{
	failing_memory memory = { .fail_at = -1 };
	carom_context *context = make_context(&memory);
	REQUIRE(context);
	cr_arena arena;
	cr_arena_init(&arena, context);
	CHECK(cr_arena_alloc(&arena, SIZE_MAX) == NULL);
	CHECK(cr_arena_alloc(&arena, SIZE_MAX - CR_CACHE_LINE) == NULL);
	CHECK_INT(memory.allocations, 1); // the context itself
	CHECK_INT(arena.used, 0);
	carom_destroy_context(context);
}
