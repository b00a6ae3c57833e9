/// Lists that many threads append to: columns of plain data, named by 32-bit numbers, never by
/// pointers.
///
/// Each worker fills blocks of its own, so the numbers of entries depend on the threads; who keeps
/// the number of an entry finds it by that. Entries that are opened together lie side by side. A
/// list grows by segments, so that no entry moves while others append; the reset joins them, and a
/// steady state allocates nothing.
#ifndef CR_BASE_LIST_H
#define CR_BASE_LIST_H

#include "base/context.h"
#include <stdatomic.h>

enum { CR_LIST_COLUMNS = 16, CR_LIST_SEGMENTS = 24 };

/// Entries first..end-1, a multiple of CR_CACHE_LINE of them: one column after the other, each
/// beginning at a cache line.
typedef struct cr_list_segment {
	uint32_t first;
	uint32_t end;
	char *memory;
} cr_list_segment;

typedef struct cr_list {
	carom_context *context;
	int column_count;
	uint32_t block;                       // entries that a worker takes at once
	uint32_t size[CR_LIST_COLUMNS];       // of an element
	uint32_t before[CR_LIST_COLUMNS + 1]; // sizes of the columns before it; the last: of an entry
	cr_list_segment segments[CR_LIST_SEGMENTS];
	atomic_int segment_count;
	uint32_t taken; // by workers; those of the last segment follow
	atomic_flag lock;
} cr_list;

/// The entries that a worker has taken of a list and not used yet. Zero: none.
typedef struct cr_list_tail {
	uint32_t next;
	uint32_t end;
} cr_list_tail;

/// An empty list; sizes: of an element of each column.
void cr_list_init(cr_list *list, carom_context *context, uint32_t block, int column_count, const size_t *sizes);
/// Give a tail other room, for count entries side by side. false: out of memory. Any thread, with a
/// tail of its own.
bool cr_list_refill(cr_list *list, cr_list_tail *tail, uint32_t count);

/// Make room for count entries side by side: tail->next is the first of them. false: out of memory.
/// Any thread, with a tail of its own. Those that are used are kept by adding their number to
/// tail->next.
static inline bool cr_list_open(cr_list *list, cr_list_tail *tail, uint32_t count)
{
	return tail->end - tail->next >= count || cr_list_refill(list, tail, count);
}

/// Let an empty list have one segment with room for count entries. Where there is no memory for
/// that it has none, and grows as others do.
void cr_list_reserve(cr_list *list, uint32_t count);
/// Forget all entries. All tails must be set to zero.
void cr_list_reset(cr_list *list);
void cr_list_free(cr_list *list);
/// Move all entries to other memory, and overwrite the old. false: out of memory, nothing has
/// moved. For tests: who kept a pointer from one stage to the next reads nonsense then.
bool cr_list_move(cr_list *list);
/// Bytes of the entries that workers have taken since the reset.
size_t cr_list_used(const cr_list *list);

/// The segment that holds an entry. NULL: no such entry.
static inline const cr_list_segment *cr_list_segment_of(const cr_list *list, uint32_t number)
{
	const int count = atomic_load_explicit(&list->segment_count, memory_order_acquire);
	// The last segments hold most.
	for (const cr_list_segment *s = list->segments + count; s-- > list->segments;) {
		if (number >= s->first)
			return number < s->end ? s : NULL;
	}
	return NULL;
}

/// The element of a column; those of entries that were opened together follow. NULL: no such entry.
static inline void *cr_list_at(const cr_list *list, int column, uint32_t number)
{
	const cr_list_segment *s = cr_list_segment_of(list, number);
	return s ? s->memory + (size_t)(s->end - s->first) * list->before[column] + (size_t)(number - s->first) * list->size[column]
			 : NULL;
}

#endif
