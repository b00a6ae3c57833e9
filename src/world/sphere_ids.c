/// Ids of spheres: see sphere_ids.h.
///
/// A body whose spheres have no ids given has their numbers as ids. Both lists of ids, the present
/// one and the next one, are sorted by id and merged: O(spheres). Ids that stay where they are, as
/// they do while spheres only move, cost one comparison of the two lists.
#include "world/sphere_ids.h"
#include "base/radix.h"
#include "world/world.h"
#include <string.h>

typedef CR_ARRAY(cr_key) key_list;

/// The ids of count spheres with their numbers, sorted. False: out of memory.
static bool sort_ids(carom_context *memory, const uint64_t *ids, int64_t count, key_list *keys)
{
	if (!cr_array_reserve(memory, keys, 2 * count + 1))
		return false;
	uint64_t differ = 0;
	for (int64_t i = 0; i < count; i++) {
		keys->data[i] = (cr_key){ ids[i], (uint32_t)i };
		differ |= ids[i] ^ ids[0];
	}
	cr_radix_sort(keys->data, keys->data + count, count, cr_bits_of(differ));
	keys->count = count;
	return true;
}

static carom_result check_unique(carom_context *context, const key_list *keys, const char *function)
{
	for (int64_t i = 1; i < keys->count; i++) {
		if (keys->data[i].key == keys->data[i - 1].key)
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: ids: those of spheres %u and %u are both %llu", function,
				(unsigned)keys->data[i - 1].value, (unsigned)keys->data[i].value, (unsigned long long)keys->data[i].key);
	}
	return CAROM_SUCCESS;
}

/// Both bodies have ids: those of both lists, which are sorted.
static void merge_ids(const key_list *now, const key_list *next, int32_t *from)
{
	for (int64_t i = 0, j = 0; i < next->count; i++) {
		while (j < now->count && now->data[j].key < next->data[i].key)
			j++;
		const bool found = j < now->count && now->data[j].key == next->data[i].key;
		from[next->data[i].value] = found ? (int32_t)now->data[j].value : -1;
	}
}

/// The body has no ids, or the next spheres have none: these are numbers, and need no sorting.
static void look_up_numbers(const cr_granular *g, cr_renaming *r)
{
	int32_t *from = r->from.data;
	for (int64_t i = 0; i < r->count; i++) {
		const uint64_t id = r->ids ? r->ids[i] : (uint64_t)i;
		from[i] = g->ids.count == 0 && id < (uint64_t)g->count ? (int32_t)id : -1;
	}
	for (int64_t j = 0; j < g->ids.count; j++) {
		if (g->ids.data[j] < (uint64_t)r->count)
			from[g->ids.data[j]] = (int32_t)j;
	}
}

/// Do all spheres keep their ids and their numbers, or at least need no list?
static bool stays(const cr_granular *g, const cr_renaming *r)
{
	if (g->ids.count == 0)
		return !r->ids && (r->count == g->count || g->was.count == 0);
	return r->ids && r->count == g->count &&
		(r->ids == g->ids.data || memcmp(r->ids, g->ids.data, (size_t)r->count * sizeof *r->ids) == 0);
}

carom_result cr_find_renaming(
	carom_world *world, const cr_granular *g, int32_t count, const uint64_t *ids, const char *function, cr_renaming *r)
{
	carom_context *memory = &world->memory;
	*r = (cr_renaming){ .count = count, .ids = ids };
	if (!ids && count == g->count && g->ids.count > 0)
		r->ids = g->ids.data;
	r->same = stays(g, r);
	if (r->same)
		return CAROM_SUCCESS;
	key_list now = { 0 }, next = { 0 };
	bool room = cr_array_reserve(memory, &r->from, (int64_t)count + 1) && (!r->ids || sort_ids(memory, r->ids, count, &next));
	const carom_result result = room && r->ids ? check_unique(world->context, &next, function) : CAROM_SUCCESS;
	const bool both = r->ids && g->ids.count > 0;
	if (result == CAROM_SUCCESS && room && both)
		room = sort_ids(memory, g->ids.data, g->ids.count, &now);
	if (result == CAROM_SUCCESS && room && both)
		merge_ids(&now, &next, r->from.data);
	else if (result == CAROM_SUCCESS && room)
		look_up_numbers(g, r);
	r->from.count = count;
	cr_array_free(memory, &now);
	cr_array_free(memory, &next);
	return room ? result : cr_fail_memory(world->context, "a granular body");
}

bool cr_prepare_renaming(carom_world *world, cr_granular *g, const cr_renaming *r)
{
	return r->same || !r->ids || cr_array_reserve(&world->memory, &g->ids, r->count);
}

void cr_take_renaming(carom_context *memory, cr_granular *g, cr_renaming *r)
{
	if (r->same)
		return;
	for (int64_t i = 0; i < r->count; i++)
		r->from.data[i] = r->from.data[i] >= 0 ? cr_sphere_then(g, r->from.data[i]) : -1;
	cr_array_free(memory, &g->was);
	g->was = r->from;
	r->from = (cr_sphere_numbers){ 0 };
	g->ids.count = r->ids ? r->count : 0;
	if (g->ids.count > 0)
		memmove(g->ids.data, r->ids, (size_t)r->count * sizeof *r->ids);
}

void cr_free_renaming(carom_context *memory, cr_renaming *r) { cr_array_free(memory, &r->from); }
