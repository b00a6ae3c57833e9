/// Bump allocation out of a chain of blocks. See base/arena.h.
#include "base/arena.h"
#include <string.h>

// First block of an arena: small, as there is one arena for each worker; blocks double from there.
enum { FIRST_BLOCK_SIZE = 16 * 1024 };

struct cr_arena_block {
	cr_arena_block *older;
	size_t capacity; // bytes after the header
	size_t used;
};

// The header takes a whole cache line, so that the bytes after it are aligned.
_Static_assert(sizeof(cr_arena_block) <= CR_CACHE_LINE, "the header must fit its cache line");

void cr_arena_init(cr_arena *arena, carom_context *context) { *arena = (cr_arena){ .context = context }; }

static cr_arena_block *add_block(cr_arena *arena, size_t capacity)
{
	if (capacity > SIZE_MAX - CR_CACHE_LINE)
		return NULL;
	cr_arena_block *block = cr_alloc(arena->context, CR_CACHE_LINE + capacity);
	if (!block)
		return NULL;
	*block = (cr_arena_block){ .older = arena->block, .capacity = capacity };
	arena->block = block;
	return block;
}

void *cr_arena_alloc(cr_arena *arena, size_t size)
{
	if (size > SIZE_MAX - CR_CACHE_LINE)
		return NULL;
	// Never zero bytes, so that each pointer handed out is another.
	size_t rounded = size == 0 ? CR_CACHE_LINE : (size + CR_CACHE_LINE - 1) & ~(size_t)(CR_CACHE_LINE - 1);
	cr_arena_block *block = arena->block;
	if (!block || block->capacity - block->used < rounded) {
		size_t wanted = block ? cr_arena_bytes(arena) : FIRST_BLOCK_SIZE;
		const bool ahead = wanted > rounded && cr_has_room(arena->context, CR_CACHE_LINE + wanted);
		block = add_block(arena, ahead ? wanted : rounded);
		if (!block)
			return NULL;
	}
	char *pointer = (char *)block + CR_CACHE_LINE + block->used;
	block->used += rounded;
	arena->used += rounded;
	if (arena->used > arena->peak)
		arena->peak = arena->used;
	return pointer;
}

void *cr_arena_grow(cr_arena *arena, const void *data, int64_t count, int64_t *capacity, size_t element_size)
{
	const int64_t wanted = *capacity > 0 ? 2 * *capacity : 8;
	void *grown = cr_arena_alloc(arena, (size_t)wanted * element_size);
	if (!grown)
		return NULL;
	if (count > 0)
		memcpy(grown, data, (size_t)count * element_size);
	*capacity = wanted;
	return grown;
}

cr_arena_mark cr_arena_get_mark(const cr_arena *arena)
{
	return (cr_arena_mark){ arena->block, arena->block ? arena->block->used : 0, arena->used };
}

void cr_arena_rewind(cr_arena *arena, const cr_arena_mark *mark)
{
	if (arena->block)
		arena->block->used = arena->block == mark->block ? mark->block_used : 0;
	arena->used = mark->used;
}

static void free_blocks(cr_arena *arena)
{
	while (arena->block) {
		cr_arena_block *older = arena->block->older;
		cr_free(arena->context, arena->block, CR_CACHE_LINE + arena->block->capacity);
		arena->block = older;
	}
}

bool cr_arena_reserve(cr_arena *arena, size_t size)
{
	if (arena->block && !arena->block->older && arena->block->capacity >= size)
		return true;
	free_blocks(arena);
	return add_block(arena, size) != NULL;
}

void cr_arena_reset(cr_arena *arena)
{
	arena->used = 0;
	if (!arena->block)
		return;
	if (arena->block->older) {
		free_blocks(arena);
		// When this fails the next step starts from nothing: no harm done.
		add_block(arena, arena->peak);
		return;
	}
	arena->block->used = 0;
}

void cr_arena_free(cr_arena *arena)
{
	free_blocks(arena);
	arena->used = 0;
}

size_t cr_arena_bytes(const cr_arena *arena)
{
	size_t bytes = 0;
	for (const cr_arena_block *block = arena->block; block; block = block->older)
		bytes += CR_CACHE_LINE + block->capacity;
	return bytes;
}
