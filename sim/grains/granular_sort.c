// Order in memory: all arrays of the spheres brought into another order, and when that pays.
#include "sim/grains/granular_state.h"

#include <string.h>

// Below this many spheres everything is in the cache in any order.
enum { LEAST_TO_SORT = 4096, BASELINE_STEPS = 8, MIN_RANGE = 4096 };

/// Arrays in the new order.
typedef struct permutation {
	sim_granular *g;
	const uint32_t *order;
	void *to;
	uint16_t *touched;
	double *history;
} permutation;

static void permute_places(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const permutation *p = task;
	granular_place *to = p->to;
	for (int64_t i = begin; i < end; i++)
		to[i] = p->g->places[p->order[i]];
}

static void permute_motions(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const permutation *p = task;
	granular_motion *to = p->to;
	for (int64_t i = begin; i < end; i++)
		to[i] = p->g->motions[p->order[i]];
}

static void permute_spins(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const permutation *p = task;
	granular_spin *to = p->to;
	for (int64_t i = begin; i < end; i++)
		to[i] = p->g->spins[p->order[i]];
}

static void permute_walls(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const permutation *p = task;
	const size_t width = 3 * (size_t)p->g->wall_slots;
	for (int64_t i = begin; i < end; i++) {
		p->touched[i] = p->g->wall_touched[p->order[i]];
		if (p->touched[i])
			memcpy(&p->history[(size_t)i * width], &p->g->wall_history[p->order[i] * width], width * sizeof(double));
	}
}

static bool permute_wall_histories(permutation *p)
{
	sim_granular *g = p->g;
	const size_t flags = (size_t)g->room * sizeof(uint16_t);
	const size_t values = (size_t)g->room * (size_t)g->wall_slots * 3 * sizeof(double);
	p->touched = granular_alloc(g, flags);
	p->history = granular_alloc(g, values);
	if (!p->touched || !p->history) {
		granular_free(g, p->touched, flags);
		granular_free(g, p->history, values);
		return false;
	}
	carom_parallel_for(g->context, permute_walls, g->count, MIN_RANGE, p);
	granular_free(g, g->wall_touched, flags);
	granular_free(g, g->wall_history, values);
	g->wall_touched = p->touched;
	g->wall_history = p->history;
	return true;
}

static void permute_numbers(const sim_granular *g, const uint32_t *order, uint32_t *numbers, uint32_t *to)
{
	for (int64_t i = 0; i < g->count; i++)
		to[i] = numbers[order[i]];
	memcpy(numbers, to, (size_t)g->count * sizeof *to);
}

/// One array after the other through the same spare one, which takes its place.
bool granular_permute(sim_granular *g, const uint32_t *order)
{
	permutation p = { .g = g, .order = order };
	if (g->wall_touched && !permute_wall_histories(&p))
		return false;
	const size_t size = (size_t)g->room * sizeof(granular_place);
	p.to = granular_alloc(g, size);
	if (!p.to)
		return false;
	permute_numbers(g, order, g->ids, p.to);
	if (g->rows)
		permute_numbers(g, order, g->rows, p.to);
	carom_parallel_for(g->context, permute_places, g->count, MIN_RANGE, &p);
	void *spare = g->places;
	g->places = p.to;
	p.to = spare;
	carom_parallel_for(g->context, permute_motions, g->count, MIN_RANGE, &p);
	spare = g->motions;
	g->motions = p.to;
	p.to = spare;
	if (g->spins) {
		carom_parallel_for(g->context, permute_spins, g->count, MIN_RANGE, &p);
		spare = g->spins;
		g->spins = p.to;
	}
	granular_free(g, spare, size);
	return true;
}

_Static_assert(sizeof(granular_place) == sizeof(granular_motion) && sizeof(granular_place) == sizeof(granular_spin),
	"one spare array serves all");

bool granular_sorting_pays(const sim_granular *g)
{
	if (g->def.keep_order || g->count < LEAST_TO_SORT)
		return false;
	return g->sorts == 0 || g->sorting.excess > g->sorting.ms;
}

void granular_note_times(sim_granular *g, double ms_detection, double ms_update)
{
	granular_skin *skin = &g->choice;
	skin->ms += ms_detection + ms_update;
	skin->steps++;
	granular_sorting *s = &g->sorting;
	const double work = (double)(g->crowd_count + (g->listed ? g->list.first[g->list.count] : 0));
	if (work < LEAST_TO_SORT)
		return;
	if (s->steps < BASELINE_STEPS) {
		// The mean of the first steps after sorting is the cost of a step in good order.
		s->rate += (ms_detection / work - s->rate) / (double)++s->steps;
		return;
	}
	s->excess += ms_detection - s->rate * work;
	s->excess = s->excess > 0 ? s->excess : 0;
}
