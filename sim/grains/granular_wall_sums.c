// The forces of spheres on walls, summed over steps for a caller who has asked for them.
//
// Threads and ranks meet walls in any order, and the sums must not depend on it. So numbers are cut
// into whole units of 2^-24 and of 2^-60, and integers are summed, exactly. A step has fewer than
// 2^27 touches, so the low sums, whose terms are below 2^36, do not overflow; after each step they
// are carried into the high ones. A force beyond 2^38 N has no unit: the sum is then NaN.
#include "sim/grains/granular_share.h"
#include "sim/grains/granular_state.h"

#include <math.h>
#include <string.h>

enum { LOW_BITS = 36 };

// 2^24, 2^36, 2^38
static const double HIGH = 16777216.0, LOW = 68719476736.0, MOST = 274877906944.0;

static void add_exactly(granular_wall_sum *s, int k, double value)
{
	if (!(fabs(value) < MOST)) {
		s->beyond = 1;
		return;
	}
	const double high = trunc(value * HIGH);
	s->high[k] += (int64_t)high;
	s->low[k] += (int64_t)((value * HIGH - high) * LOW);
}

void granular_note_wall(granular_wall_sum *s, const double point[3], const double force[3], const double torque[3])
{
	for (int k = 0; k < 3; k++) {
		const int i = (k + 1) % 3, j = (k + 2) % 3;
		add_exactly(s, k, force[k]);
		add_exactly(s, 3 + k, point[i] * force[j] - point[j] * force[i] + torque[k]);
	}
	s->touches++;
}

/// Add one sum to another, in the form in which low parts are within 0 and 2^36.
static void join(granular_wall_sum *to, const granular_wall_sum *from)
{
	for (int k = 0; k < 6; k++) {
		const int64_t low = to->low[k] + from->low[k], rest = low & (((int64_t)1 << LOW_BITS) - 1);
		to->high[k] += from->high[k] + (low - rest) / ((int64_t)1 << LOW_BITS);
		to->low[k] = rest;
	}
	to->touches += from->touches;
	to->beyond |= from->beyond;
}

void granular_join_wall_sums(sim_granular *g)
{
	granular_wall_sum *all = g->wall_sums;
	for (int w = 1; w <= g->workers && all; w++) {
		for (int i = 0; i < GRANULAR_MAX_PLANES; i++)
			join(&all[i], &all[w * GRANULAR_MAX_PLANES + i]);
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

bool sim_granular_take_wall_sums(sim_granular *g, sim_granular_wall_sum sums[SIM_GRANULAR_WALL_SUMS], sim_error *error)
{
	enum { EACH = 14 };
	int64_t numbers[EACH * GRANULAR_MAX_PLANES];
	if (!g->wall_sums)
		return sim_fail(error, "nobody watches the walls (sim_granular_watch_walls)");
	for (int i = 0; i < GRANULAR_MAX_PLANES; i++) {
		const granular_wall_sum *s = &g->wall_sums[i];
		memcpy(&numbers[EACH * i], s->high, sizeof s->high);
		memcpy(&numbers[EACH * i + 6], s->low, sizeof s->low);
		numbers[EACH * i + 12] = s->touches;
		numbers[EACH * i + 13] = s->beyond;
	}
	memset(g->wall_sums, 0, GRANULAR_MAX_PLANES * sizeof *g->wall_sums);
	if (g->share) {
		const sim_ranks *ranks = sim_granular_get_ranks(g);
		g->share->broken |= !ranks->sum(ranks->user, EACH * GRANULAR_MAX_PLANES, numbers);
		if (granular_lost_ranks(g, error))
			return false;
	}
	for (int i = 0; i < GRANULAR_MAX_PLANES; i++) {
		const int64_t *n = &numbers[EACH * i];
		for (int k = 0; k < 6; k++) {
			const double sum = ((double)n[k] + (double)n[6 + k] / LOW) / HIGH * g->def.time_step;
			(k < 3 ? sums[i].impulse : sums[i].angular_impulse)[k % 3] = n[13] ? NAN : sum;
		}
		sums[i].touches = n[12];
	}
	return true;
}
