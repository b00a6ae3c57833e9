/// Per-step memory of one worker: bump allocation, freed all at once. A chain of blocks grows
/// during the step; the reset afterwards joins them into one block of the high-water size, so that
/// a steady state allocates nothing.
#ifndef CR_BASE_ARENA_H
#define CR_BASE_ARENA_H

#include "base/context.h"

typedef struct cr_arena_block cr_arena_block;

typedef struct cr_arena {
	carom_context *context;
	cr_arena_block *block; // newest first
	size_t used;           // bytes handed out since the last reset, padding included
	size_t peak;           // most ever used in one step
} cr_arena;

void cr_arena_init(cr_arena *arena, carom_context *context);
/// Memory aligned to CR_CACHE_LINE, valid until the reset; NULL when out of memory. size 0 gives a
/// valid pointer.
void *cr_arena_alloc(cr_arena *arena, size_t size);
/// Twice the room for a list in the arena: returns its new data, with the count elements copied,
/// and sets *capacity. NULL when out of memory; *capacity and the list are then as before.
void *cr_arena_grow(cr_arena *arena, const void *data, int64_t count, int64_t *capacity, size_t element_size);
/// How far an arena has been used.
typedef struct cr_arena_mark {
	cr_arena_block *block;
	size_t block_used;
	size_t used;
} cr_arena_mark;

cr_arena_mark cr_arena_get_mark(const cr_arena *arena);
/// Forget what was handed out since a mark, so that the next takes the same memory, which is in the
/// caches. Blocks that were added stay.
void cr_arena_rewind(cr_arena *arena, const cr_arena_mark *mark);
/// Make room for so many bytes in one block, while nothing is handed out. false: out of memory.
bool cr_arena_reserve(cr_arena *arena, size_t size);
/// Forget everything handed out.
void cr_arena_reset(cr_arena *arena);
void cr_arena_free(cr_arena *arena);
/// Bytes held.
size_t cr_arena_bytes(const cr_arena *arena);

#endif
