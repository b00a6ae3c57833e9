// Histories of contacts across a change of the list of neighbours or of the order in memory: packed
// by ids, only of spheres that touch, then handed to the new rows, whose entries are in the order
// of the ids too.
#include "sim/grains/granular_share.h"
#include "sim/grains/granular_state.h"

#include <string.h>

enum { MIN_RANGE = 4096 };

/// Row of a sphere in packed.
static inline uint32_t row_of(const sim_granular *g, int64_t i) { return g->rows ? g->rows[i] : g->ids[i]; }

static void count_rows(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (int64_t i = begin; i < end; i++) {
		int64_t count = 0;
		if (g->rows)
			g->rows[i] = (uint32_t)i;
		for (int64_t e = g->list.first[i]; e < g->list.first[i + 1]; e++)
			count += g->touched[e];
		g->packed.first[row_of(g, i) + 1] = count;
	}
}

static void pack_rows(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (int64_t i = begin; i < end; i++) {
		int64_t at = g->packed.first[row_of(g, i)];
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
	granular_free(g, g->packed.first, (size_t)(g->packed.rows_room + 1) * sizeof(int64_t));
	g->packed.first = NULL;
}

bool granular_pack_room(sim_granular *g, int64_t contacts, sim_error *error)
{
	granular_packed *p = &g->packed;
	if (!p->first || g->count > p->rows_room) {
		granular_free(g, p->first, (size_t)(p->rows_room + 1) * sizeof(int64_t));
		p->rows_room = g->count;
		p->first = granular_alloc(g, (size_t)(p->rows_room + 1) * sizeof(int64_t));
	}
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

/// Copy what is held of an array into a larger one.
static void *enlarge(sim_granular *g, void *old, size_t old_size, size_t size, size_t held)
{
	void *data = granular_alloc(g, size);
	if (data && held > 0)
		memcpy(data, old, held);
	if (data)
		granular_free(g, old, old_size);
	return data;
}

static bool more_contacts(sim_granular *g, int64_t held, int64_t room)
{
	granular_packed larger = { .room = room };
	larger.other = granular_alloc(g, (size_t)room * sizeof *larger.other);
	larger.values = granular_alloc(g, 3 * (size_t)room * sizeof *larger.values);
	if (!larger.other || !larger.values) {
		granular_free(g, larger.other, (size_t)room * sizeof *larger.other);
		granular_free(g, larger.values, 3 * (size_t)room * sizeof *larger.values);
		return false;
	}
	if (held > 0) {
		memcpy(larger.other, g->packed.other, (size_t)held * sizeof *larger.other);
		memcpy(larger.values, g->packed.values, 3 * (size_t)held * sizeof *larger.values);
	}
	free_values(g);
	g->packed.other = larger.other;
	g->packed.values = larger.values;
	g->packed.room = room;
	return true;
}

bool granular_pack_more(sim_granular *g, int64_t held_rows, int64_t rows, int64_t contacts)
{
	granular_packed *p = &g->packed;
	if (held_rows + rows > p->rows_room) {
		const int64_t room = held_rows + rows + rows / 2;
		const size_t width = sizeof *p->first;
		int64_t *first = enlarge(
			g, p->first, (size_t)(p->rows_room + 1) * width, (size_t)(room + 1) * width, (size_t)(held_rows + 1) * width);
		if (!first)
			return false;
		p->first = first;
		p->rows_room = room;
	}
	const int64_t held = p->first[held_rows];
	return held + contacts <= p->room || more_contacts(g, held, held + contacts + contacts / 2);
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
		int64_t at = g->packed.first[row_of(g, i)];
		const int64_t end_at = g->packed.first[row_of(g, i) + 1];
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
	const int64_t entries = g->listed ? g->list.first[g->list.count] : 0;
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
