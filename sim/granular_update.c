// Velocities and places: semi-implicit Euler. Lone spheres get the forces of the walls here, in the same pass; and the pass
// finds how far spheres can have moved against each other, for the list of neighbours.
#include "sim/granular_state.h"

#include <math.h>

enum { MIN_RANGE = 1024 };

/// What is the same for all spheres of a step.
typedef struct advance {
	sim_granular *g;
	double dt;
	double gain[3];      // of velocity by gravity
	double reference[3]; // velocity that the spheres' are compared with afterwards
	double low[3], high[3], period[3];
	bool periodic;
} advance;

// Into low <= x < high: rounding may put the sum or the difference on the wrong border.
static inline double wrap(double x, double low, double high, double period)
{
	if (x >= low && x < high)
		return x;
	const double y = x < low ? x + period : x - period;
	return y >= low && y < high ? y : low;
}

static void wrap_place(const advance *a, granular_place *p)
{
	if (a->g->def.periodic[0])
		p->x = wrap(p->x, a->low[0], a->high[0], a->period[0]);
	if (a->g->def.periodic[1])
		p->y = wrap(p->y, a->low[1], a->high[1], a->period[1]);
	if (a->g->def.periodic[2])
		p->z = wrap(p->z, a->low[2], a->high[2], a->period[2]);
}

static void advance_spin(const advance *a, int64_t i, const double torque[3])
{
	granular_spin *w = &a->g->spins[i];
	const double s = a->dt * w->inverse_inertia;
	w->x += s * torque[0];
	w->y += s * torque[1];
	w->z += s * torque[2];
}

static inline double least(double a, double b) { return b < a ? b : a; }
static inline double most(double a, double b) { return b > a ? b : a; }

static inline void advance_sphere(const advance *a, int64_t i, const double *load, granular_tally *t)
{
	granular_motion *v = &a->g->motions[i];
	granular_place *p = &a->g->places[i];
	double x = v->x + a->gain[0], y = v->y + a->gain[1], z = v->z + a->gain[2];
	if (load) {
		const double s = a->dt * v->inverse_mass;
		x += s * load[0];
		y += s * load[1];
		z += s * load[2];
	}
	v->x = x;
	v->y = y;
	v->z = z;
	p->x += a->dt * x;
	p->y += a->dt * y;
	p->z += a->dt * z;
	if (a->periodic)
		wrap_place(a, p);
	if (load && a->g->turns)
		advance_spin(a, i, &load[3]);

	const double u = x - a->reference[0], w = y - a->reference[1], q = z - a->reference[2];
	const double relative = u * u + w * w + q * q;
	t->fastest = most(t->fastest, relative);
	t->low[0] = least(t->low[0], x);
	t->low[1] = least(t->low[1], y);
	t->low[2] = least(t->low[2], z);
	t->high[0] = most(t->high[0], x);
	t->high[1] = most(t->high[1], y);
	t->high[2] = most(t->high[2], z);
	// No speed can be as large as this and no comparison with a NaN holds.
	if (!(relative < 1e300) && a->g->ids[i] < t->lost)
		t->lost = a->g->ids[i];
}

static void advance_lone(const advance *a, int64_t begin, int64_t end, granular_tally *tally)
{
	for (int64_t i = begin; i < end; i++) {
		if (!granular_near_wall(a->g, i)) {
			advance_sphere(a, i, NULL, tally);
			continue;
		}
		double load[6] = { 0, 0, 0, 0, 0, 0 };
		granular_add_walls(a->g, i, load, tally);
		advance_sphere(a, i, load, tally);
	}
}

// First crowded sphere at or behind an index.
static int64_t first_crowded(const sim_granular *g, int64_t index)
{
	int64_t low = 0, high = g->crowd_count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (g->crowd[middle] < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void advance_range(int64_t begin, int64_t end, int worker, void *task)
{
	const advance *a = task;
	const sim_granular *g = a->g;
	granular_tally tally = g->tallies[worker];
	int64_t i = begin;
	for (int64_t k = first_crowded(g, begin); k < g->crowd_count && g->crowd[k] < end; k++) {
		advance_lone(a, i, g->crowd[k], &tally);
		i = g->crowd[k];
		advance_sphere(a, i++, &g->loads[g->load_width * k], &tally);
	}
	advance_lone(a, i, end, &tally);
	g->tallies[worker] = tally;
}

void granular_update(sim_granular *g)
{
	advance a = { .g = g, .dt = g->def.time_step };
	for (int k = 0; k < 3; k++) {
		a.gain[k] = a.dt * g->gravity[k];
		a.reference[k] = g->reference[k] + a.gain[k];
		a.low[k] = g->def.lower[k];
		a.high[k] = g->def.upper[k];
		a.period[k] = a.high[k] - a.low[k];
		a.periodic |= g->def.periodic[k];
	}
	carom_parallel_for(g->context, advance_range, g->count, MIN_RANGE, &a);

	const granular_tally tally = granular_join_tallies(g);
	const double step = a.dt * sqrt(tally.fastest);
	// Beside the exact displacement: the rounding of the places, and of this sum.
	for (int k = 0; k < 3; k++) {
		g->drift[k] += a.dt * a.reference[k];
		g->extent += a.dt * most(fabs(tally.low[k]), fabs(tally.high[k]));
		g->reference[k] = 0.5 * (tally.low[k] + tally.high[k]);
	}
	const double moved = step * (1 + 1e-12) + 1e-15 * g->extent;
	g->moved += moved;
	g->near_moved += moved;
}

void granular_clear_tallies(sim_granular *g)
{
	for (int w = 0; w < g->workers; w++)
		g->tallies[w] = (granular_tally){
			.low = { INFINITY, INFINITY, INFINITY }, .high = { -INFINITY, -INFINITY, -INFINITY }, .lost = INT64_MAX
		};
}

granular_tally granular_join_tallies(const sim_granular *g)
{
	granular_tally all = g->tallies[0];
	for (int w = 1; w < g->workers; w++) {
		const granular_tally *t = &g->tallies[w];
		all.contacts += t->contacts;
		all.wall_contacts += t->wall_contacts;
		all.max_overlap = most(all.max_overlap, t->max_overlap);
		all.fastest = most(all.fastest, t->fastest);
		for (int k = 0; k < 3; k++) {
			all.low[k] = least(all.low[k], t->low[k]);
			all.high[k] = most(all.high[k], t->high[k]);
		}
		all.lost = t->lost < all.lost ? t->lost : all.lost;
	}
	return all;
}
