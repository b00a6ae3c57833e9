// What checkpoints hold of a simulation: see granular_memento.h.
#include "sim/grains/granular_memento.h"

#include "sim/grains/granular_state.h"

#include <string.h>

const sim_granular_def *sim_granular_get_def(const sim_granular *granular) { return &granular->def; }

/// Springs of the walls by ids, then by walls. values: NULL to count only.
static int64_t gather_wall_springs(const sim_granular *g, const uint32_t *index, double *values)
{
	int64_t count = 0;
	for (int64_t id = 0; id < g->count; id++) {
		for (int w = 0; w < g->plane_count; w++) {
			if (!(g->wall_touched[index[id]] & g->planes[w].bit))
				continue;
			if (values)
				memcpy(&values[3 * count], &g->wall_history[3 * ((int64_t)index[id] * g->wall_slots + g->planes[w].slot)],
					3 * sizeof *values);
			count++;
		}
	}
	return count;
}

/// One more than there are, so that none has no bytes.
static size_t rows_of(const sim_granular *g) { return (size_t)g->count + 1; }

static bool take_walls(sim_granular *g, sim_granular_memento *m, const uint32_t *index)
{
	m->wall_touched = granular_alloc(g, rows_of(g) * sizeof *m->wall_touched);
	m->wall_contacts = gather_wall_springs(g, index, NULL);
	m->wall_springs_size = (3 * (size_t)m->wall_contacts + 1) * sizeof *m->wall_springs;
	m->wall_springs = granular_alloc(g, m->wall_springs_size);
	if (!m->wall_touched || !m->wall_springs)
		return false;
	for (int64_t id = 0; id < g->count; id++)
		m->wall_touched[id] = g->wall_touched[index[id]];
	gather_wall_springs(g, index, m->wall_springs);
	return true;
}

bool sim_granular_take_memento(sim_granular *g, sim_granular_memento *m, sim_error *error)
{
	*m = (sim_granular_memento){ .steps = g->steps, .max_overlap = g->max_overlap, .turns = g->turns };
	if (g->failed)
		return sim_fail(error, "the simulation failed before");
	if (g->share)
		return sim_fail(error, "the simulation is shared by ranks: gather it first");
	if (!granular_fetch(g, true, error))
		return false;
	if (g->with_history && g->listed && !granular_pack_histories(g, error))
		return false;
	if (g->with_history) {
		m->contact_first = g->packed.first;
		m->contact_other = g->packed.other;
		m->contact_springs = g->packed.values;
	}
	if (!g->wall_touched)
		return true;
	uint32_t *index = granular_alloc(g, rows_of(g) * sizeof *index);
	for (int64_t i = 0; index && i < g->count; i++)
		index[g->ids[i]] = (uint32_t)i;
	const bool taken = index && take_walls(g, m, index);
	granular_free(g, index, rows_of(g) * sizeof *index);
	if (taken)
		return true;
	sim_granular_drop_memento(g, m);
	return sim_fail(error, "out of memory");
}

void sim_granular_drop_memento(sim_granular *g, sim_granular_memento *m)
{
	granular_free(g, m->wall_touched, rows_of(g) * sizeof *m->wall_touched);
	granular_free(g, m->wall_springs, m->wall_springs_size);
	*m = (sim_granular_memento){ 0 };
}

bool sim_granular_restore_memento(sim_granular *g, const sim_granular_memento *m, sim_error *error)
{
	g->steps = m->steps;
	g->max_overlap = m->max_overlap;
	if (g->with_history) {
		const int64_t contacts = m->contact_first[g->count];
		if (!granular_pack_room(g, contacts, error))
			return false;
		memcpy(g->packed.first, m->contact_first, rows_of(g) * sizeof *m->contact_first);
		if (contacts > 0) {
			memcpy(g->packed.other, m->contact_other, (size_t)contacts * sizeof *m->contact_other);
			memcpy(g->packed.values, m->contact_springs, (size_t)contacts * 3 * sizeof *m->contact_springs);
		}
	}
	int64_t at = 0;
	for (int64_t i = 0; g->wall_touched && i < g->count; i++) {
		g->wall_touched[i] = m->wall_touched[i];
		for (int w = 0; w < g->plane_count; w++) {
			if (g->wall_touched[i] & g->planes[w].bit)
				memcpy(&g->wall_history[3 * (i * g->wall_slots + g->planes[w].slot)], &m->wall_springs[3 * at++],
					3 * sizeof *m->wall_springs);
		}
	}
	return true;
}
