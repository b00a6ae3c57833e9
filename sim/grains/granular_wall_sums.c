// The forces of spheres on walls, summed over steps for a caller who has asked for them, exactly:
// the sums depend on no order (sim/base/exact_sum.h). Workers have sums of their own, which are
// joined after each step.
#include "sim/grains/granular_share.h"
#include "sim/grains/granular_state.h"

#include <string.h>

void granular_join_wall_sums(sim_granular *g)
{
	sim_exact_sum *all = g->wall_sums;
	for (int w = 1; w <= g->workers && all; w++) {
		for (int i = 0; i < GRANULAR_MAX_PLANES; i++)
			sim_join_exact_sum(&all[i], &all[w * GRANULAR_MAX_PLANES + i]);
		memset(&all[w * GRANULAR_MAX_PLANES], 0, GRANULAR_MAX_PLANES * sizeof *all);
	}
}

static size_t sums_of(const sim_granular *g) { return (size_t)(g->workers + 1) * GRANULAR_MAX_PLANES; }

bool sim_granular_watch_walls(sim_granular *g, sim_error *error)
{
	if (g->def.device)
		return sim_fail(error, "the forces on walls are not known of spheres on a device");
	if (g->wall_sums)
		return true;
	g->wall_sums = granular_alloc(g, sums_of(g) * sizeof *g->wall_sums);
	if (!g->wall_sums)
		return granular_no_memory("the forces on walls", error);
	memset(g->wall_sums, 0, sums_of(g) * sizeof *g->wall_sums);
	return true;
}

void granular_free_wall_sums(sim_granular *g) { granular_free(g, g->wall_sums, sums_of(g) * sizeof *g->wall_sums); }

sim_granular_wall_sum sim_granular_read_sum(const sim_exact_sum *sum, double seconds)
{
	sim_granular_wall_sum read = { .touches = sum->touches };
	sim_read_exact_sum(sum, read.impulse, read.angular_impulse);
	for (int k = 0; k < 3; k++) {
		read.impulse[k] *= seconds;
		read.angular_impulse[k] *= seconds;
	}
	return read;
}

bool sim_granular_take_wall_sums(sim_granular *g, sim_granular_wall_sum sums[SIM_GRANULAR_WALL_SUMS], sim_error *error)
{
	sim_exact_sum taken[GRANULAR_MAX_PLANES];
	if (!g->wall_sums)
		return sim_fail(error, "nobody watches the walls (sim_granular_watch_walls)");
	memcpy(taken, g->wall_sums, sizeof taken);
	memset(g->wall_sums, 0, sizeof taken);
	if (g->share) {
		g->share->broken |= !sim_sum_exact_over_ranks(sim_granular_get_ranks(g), GRANULAR_MAX_PLANES, taken);
		if (granular_lost_ranks(g, error))
			return false;
	}
	for (int i = 0; i < GRANULAR_MAX_PLANES; i++)
		sums[i] = sim_granular_read_sum(&taken[i], g->def.time_step);
	return true;
}
