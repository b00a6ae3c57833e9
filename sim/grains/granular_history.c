// Histories of contacts across a change of the list of neighbours or of the order in memory: packed
// by ids, only of spheres that touch, then handed to the new rows, whose entries are in the order
// of the ids too.
#include "sim/grains/granular_state.h"

#include <string.h>

enum { MIN_RANGE = 4096 };

static void count_rows(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (int64_t i = begin; i < end; i++) {
		int64_t count = 0;
		for (int64_t e = g->list.first[i]; e < g->list.first[i + 1]; e++)
			count += g->touched[e];
		g->packed.first[g->ids[i] + 1] = count;
	}
}

static void pack_rows(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (int64_t i = begin; i < end; i++) {
		int64_t at = g->packed.first[g->ids[i]];
		for (int64_t e = g->list.first[i]; e < g->list.first[i + 1]; e++) {
			if (!g->touched[e])
				continue;
			g->packed.other[at] = g->ids[g->list.other[e]];
			memcpy(&g->packed.values[3 * at], &g->history[3 * e], 3 * sizeof(double));
			at++;
		}
	}
}

static void free_values(sim_granular *g)
{
	granular_free(g, g->packed.other, (size_t)g->packed.room * sizeof(uint32_t));
	granular_free(g, g->packed.values, (size_t)g->packed.room * 3 * sizeof(double));
	g->packed.other = NULL;
	g->packed.values = NULL;
	g->packed.room = 0;
}

void granular_free_packed(sim_granular *g)
{
	free_values(g);
	granular_free(g, g->packed.first, (size_t)(g->count + 1) * sizeof(int64_t));
	g->packed.first = NULL;
}

bool granular_pack_room(sim_granular *g, int64_t contacts, sim_error *error)
{
	granular_packed *p = &g->packed;
	if (!p->first)
		p->first = granular_alloc(g, (size_t)(g->count + 1) * sizeof(int64_t));
	if (!p->first)
		return granular_no_memory("histories of contacts", error);
	if (contacts <= p->room)
		return true;
	free_values(g);
	const int64_t room = contacts + contacts / 4;
	p->room = room;
	p->other = granular_alloc(g, (size_t)room * sizeof(uint32_t));
	p->values = granular_alloc(g, (size_t)room * 3 * sizeof(double));
	if (p->other && p->values)
		return true;
	free_values(g);
	return granular_no_memory("histories of contacts", error);
}

bool granular_pack_histories(sim_granular *g, sim_error *error)
{
	if (!granular_pack_room(g, 0, error))
		return false;
	granular_mirror_histories(g);
	int64_t *first = g->packed.first;
	memset(first, 0, (size_t)(g->count + 1) * sizeof *first);
	carom_parallel_for(g->context, count_rows, g->list.count, MIN_RANGE, g);
	for (int64_t i = 0; i < g->count; i++)
		first[i + 1] += first[i];
	if (!granular_pack_room(g, first[g->count], error))
		return false;
	carom_parallel_for(g->context, pack_rows, g->list.count, MIN_RANGE, g);
	return true;
}

static void unpack_rows(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (int64_t i = begin; i < end; i++) {
		int64_t at = g->packed.first[g->ids[i]];
		const int64_t end_at = g->packed.first[g->ids[i] + 1];
		for (int64_t e = g->list.first[i]; e < g->list.first[i + 1]; e++) {
			const uint32_t other = g->ids[g->list.other[e]];
			while (at < end_at && g->packed.other[at] < other)
				at++;
			g->touched[e] = at < end_at && g->packed.other[at] == other;
			if (g->touched[e])
				memcpy(&g->history[3 * e], &g->packed.values[3 * at], 3 * sizeof(double));
		}
	}
}

bool granular_unpack_histories(sim_granular *g, sim_error *error)
{
	const int64_t entries = g->list.count ? g->list.first[g->list.count] : 0;
	if (entries > g->history_room) {
		granular_free(g, g->touched, (size_t)g->history_room);
		granular_free(g, g->history, (size_t)g->history_room * 3 * sizeof(double));
		g->history_room = entries + entries / 4;
		g->touched = granular_alloc(g, (size_t)g->history_room);
		g->history = granular_alloc(g, (size_t)g->history_room * 3 * sizeof(double));
		if (!g->touched || !g->history)
			return granular_no_memory("histories of contacts", error);
	}
	carom_parallel_for(g->context, unpack_rows, g->list.count, MIN_RANGE, g);
	return true;
}
