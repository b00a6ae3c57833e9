/// Lists in segments. See base/list.h.
#include "base/list.h"
#include "base/spin_lock.h"
#include <string.h>

// A multiple of CR_CACHE_LINE, with room above it for the gaps between segments.
static const uint32_t MOST_ENTRIES = 0xf0000000;

void cr_list_init(cr_list *list, carom_context *context, uint32_t block, int column_count, const size_t *sizes)
{
	*list = (cr_list){ .context = context, .block = block, .column_count = column_count, .lock = ATOMIC_FLAG_INIT };
	for (int i = 0; i < column_count; i++) {
		list->size[i] = (uint32_t)sizes[i];
		list->before[i + 1] = list->before[i] + list->size[i];
	}
}

static size_t segment_bytes(const cr_list *list, uint32_t count) { return (size_t)count * list->before[list->column_count]; }

/// Append a segment of a multiple of CR_CACHE_LINE entries.
static bool add_segment(cr_list *list, uint32_t count)
{
	char *memory = cr_alloc(list->context, segment_bytes(list, count));
	if (!memory)
		return false;
	const int number = atomic_load_explicit(&list->segment_count, memory_order_relaxed);
	// With a gap between them, so that numbers in a row lie side by side.
	const uint32_t first = number > 0 ? list->segments[number - 1].end + CR_CACHE_LINE : 0;
	list->segments[number] = (cr_list_segment){ first, first + count, memory };
	atomic_store_explicit(&list->segment_count, number + 1, memory_order_release);
	list->taken = first;
	return true;
}

static uint32_t round_up(uint32_t count) { return (count + CR_CACHE_LINE - 1) / CR_CACHE_LINE * CR_CACHE_LINE; }

/// A segment for count more entries: with room for wanted, or as many as there are, if the memory
/// allows it; else half of that, and so on.
static bool grow(cr_list *list, uint32_t count, uint32_t wanted)
{
	const uint32_t end = list->segment_count > 0 ? list->segments[list->segment_count - 1].end : 0;
	if (list->segment_count == CR_LIST_SEGMENTS || end > MOST_ENTRIES || wanted > MOST_ENTRIES - end)
		return false;
	const uint32_t doubled = end > MOST_ENTRIES - end ? MOST_ENTRIES - end : end;
	uint32_t size = round_up(doubled > wanted ? doubled : wanted);
	while (size > round_up(count) && !cr_has_room(list->context, segment_bytes(list, size)))
		size = round_up(size / 2 > count ? size / 2 : count);
	return add_segment(list, size);
}

/// Take entries for a tail out of the last segment, or a new one.
static bool take(cr_list *list, cr_list_tail *tail, uint32_t count)
{
	const uint32_t end = list->segment_count > 0 ? list->segments[list->segment_count - 1].end : 0;
	const uint32_t fair = end < list->block ? end : list->block; // short lists stay short
	const uint32_t wanted = count > fair ? count : fair;
	if (end - list->taken < count && !grow(list, count, wanted))
		return false;
	const uint32_t left = list->segments[list->segment_count - 1].end - list->taken;
	tail->next = list->taken;
	tail->end = tail->next + (wanted < left ? wanted : left);
	list->taken = tail->end;
	return true;
}

bool cr_list_refill(cr_list *list, cr_list_tail *tail, uint32_t count)
{
	cr_lock(&list->lock);
	const bool taken = take(list, tail, count);
	cr_unlock(&list->lock);
	return taken;
}

void cr_list_free(cr_list *list)
{
	for (int i = 0; i < list->segment_count; i++) {
		const cr_list_segment *s = &list->segments[i];
		cr_free(list->context, s->memory, segment_bytes(list, s->end - s->first));
	}
	list->segment_count = 0;
	list->taken = 0;
}

void cr_list_reset(cr_list *list)
{
	const uint32_t peak = list->taken;
	list->taken = 0;
	if (list->segment_count < 2)
		return;
	cr_list_free(list);
	// When this fails the next step starts from nothing: no harm done.
	add_segment(list, round_up(peak));
}

void cr_list_reserve(cr_list *list, uint32_t count)
{
	if (list->segment_count == 1 && list->segments[0].end >= count)
		return;
	cr_list_free(list);
	if (count > 0 && count < MOST_ENTRIES)
		add_segment(list, round_up(count));
}

bool cr_list_move(cr_list *list)
{
	char *moved[CR_LIST_SEGMENTS];
	for (int i = 0; i < list->segment_count; i++) {
		const cr_list_segment *s = &list->segments[i];
		moved[i] = cr_alloc(list->context, segment_bytes(list, s->end - s->first));
		for (int k = 0; !moved[i] && k < i; k++)
			cr_free(list->context, moved[k], segment_bytes(list, list->segments[k].end - list->segments[k].first));
		if (!moved[i])
			return false;
	}
	for (int i = 0; i < list->segment_count; i++) {
		cr_list_segment *s = &list->segments[i];
		const size_t bytes = segment_bytes(list, s->end - s->first);
		memcpy(moved[i], s->memory, bytes);
		memset(s->memory, 0xdd, bytes);
		cr_free(list->context, s->memory, bytes);
		s->memory = moved[i];
	}
	return true;
}

size_t cr_list_used(const cr_list *list) { return segment_bytes(list, list->taken); }
