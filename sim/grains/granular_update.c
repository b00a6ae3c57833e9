// Velocities and places: semi-implicit Euler. Lone spheres get the forces of the walls here, in the
// same pass; and the pass finds how far spheres can have moved against each other, for the list of
// neighbours.
//
// Lone spheres far from all walls are free: until the list is rebuilt nothing but gravity moves
// them, and nobody reads them. While a good part is free, a step moves the others only and notes
// the change by gravity; every so many steps, or when somebody asks, the free ones catch up, each
// through all its steps while it is in registers, with the same roundings. The bound of their
// speeds is known meanwhile: gravity is common to all.
#include "sim/grains/granular_share.h"
#include "sim/grains/granular_state.h"

#include <math.h>
#include <string.h>

// Blocks in a piece of work, at least.
enum { MIN_RANGE = 2 };

/// Numbers that all spheres of a step share.
typedef struct advance {
	sim_granular *g;
	double dt;
	double gain[3];      // of velocity by gravity
	double reference[3]; // velocity that the spheres' are compared with afterwards
	double low[3], high[3], period[3];
	bool periodic;
	// to the walls, of the spheres that are to be free from now on; infinite: none are
	double margin;
} advance;

/// Into low <= x < high: rounding may put the sum or the difference on the wrong border.
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

/// One step of a sphere that may touch walls.
static inline void advance_wary(const advance *a, int64_t i, granular_tally *tally)
{
	if (!granular_near_wall(a->g, i)) {
		advance_sphere(a, i, NULL, tally);
		return;
	}
	double load[6] = { 0, 0, 0, 0, 0, 0 };
	granular_add_walls(a->g, i, load, tally);
	advance_sphere(a, i, load, tally);
}

/// The steps that a free sphere is behind.
static inline void catch_up(const advance *a, int64_t i)
{
	const granular_lag *lag = &a->g->lag;
	granular_motion *v = &a->g->motions[i];
	granular_place *p = &a->g->places[i];
	double x[3] = { p->x, p->y, p->z }, u[3] = { v->x, v->y, v->z };
	for (int s = 0; s < lag->steps; s++) {
		for (int k = 0; k < 3; k++) {
			u[k] += lag->gains[s][k];
			x[k] += a->dt * u[k];
		}
		if (a->periodic) {
			granular_place wrapped = { x[0], x[1], x[2], p->r };
			wrap_place(a, &wrapped);
			memcpy(x, &wrapped, sizeof x);
		}
	}
	memcpy(p, x, sizeof x);
	memcpy(v, u, sizeof u);
}

static inline bool is_free(const advance *a, int64_t i)
{
	const sim_granular *g = a->g;
	const granular_place *p = &g->places[i];
	const double m = a->margin;
	return p->x >= g->inner_low[0] + m && p->x <= g->inner_high[0] - m && p->y >= g->inner_low[1] + m &&
		p->y <= g->inner_high[1] - m && p->z >= g->inner_low[2] + m && p->z <= g->inner_high[2] - m &&
		!(g->wall_touched && g->wall_touched[i]) && !(g->border && g->border[i]);
}

typedef enum sphere_kind { FREE, WARY, CROWDED } sphere_kind;

/// The kinds of the spheres of a block, wary where it is not known who is free. Returns their
/// number.
static int64_t find_kinds(const sim_granular *g, int64_t block, uint8_t kinds[GRANULAR_BLOCK])
{
	const int64_t first = block * GRANULAR_BLOCK;
	memset(kinds, g->lag.open ? FREE : WARY, GRANULAR_BLOCK);
	for (uint32_t w = 0; g->lag.open && w < g->lag.wary_counts[block]; w++)
		kinds[g->lag.wary[first + w] - first] = WARY;
	for (int64_t k = g->blocks[block].crowd; k < g->blocks[block + 1].crowd; k++)
		kinds[g->crowd[k] - first] = CROWDED;
	return first + GRANULAR_BLOCK < g->count ? GRANULAR_BLOCK : g->count - first;
}

/// All spheres, and who is wary from now on.
static void advance_all(int64_t begin, int64_t end, int worker, void *task)
{
	const advance *a = task;
	const sim_granular *g = a->g;
	granular_tally tally = g->tallies[worker];
	uint8_t kinds[GRANULAR_BLOCK];
	for (int64_t b = begin; b < end; b++) {
		const int64_t first = b * GRANULAR_BLOCK, count = find_kinds(g, b, kinds);
		const double *load = g->loads ? &g->loads[g->load_width * g->blocks[b].crowd] : NULL;
		uint32_t *wary = g->lag.wary + first, wary_count = 0;
		for (int64_t i = first; i < first + count; i++) {
			const sphere_kind kind = (sphere_kind)kinds[i - first];
			if (kind == CROWDED) {
				advance_sphere(a, i, load, &tally);
				load += g->load_width;
				continue;
			}
			if (kind == FREE)
				catch_up(a, i);
			advance_wary(a, i, &tally); // spheres that were free may have come to a wall
			wary[wary_count] = (uint32_t)i;
			wary_count += !is_free(a, i);
		}
		g->lag.wary_counts[b] = wary_count;
	}
	g->tallies[worker] = tally;
}

/// All but the free.
static void advance_some(int64_t begin, int64_t end, int worker, void *task)
{
	const advance *a = task;
	const sim_granular *g = a->g;
	granular_tally tally = g->tallies[worker];
	for (int64_t b = begin; b < end; b++) {
		for (int64_t k = g->blocks[b].crowd; k < g->blocks[b + 1].crowd; k++)
			advance_sphere(a, g->crowd[k], &g->loads[g->load_width * k], &tally);
		for (uint32_t w = 0; w < g->lag.wary_counts[b]; w++)
			advance_wary(a, g->lag.wary[b * GRANULAR_BLOCK + w], &tally);
	}
	g->tallies[worker] = tally;
}

static void advance_free(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const advance *a = task;
	uint8_t kinds[GRANULAR_BLOCK];
	for (int64_t b = begin; b < end; b++) {
		const int64_t first = b * GRANULAR_BLOCK, count = find_kinds(a->g, b, kinds);
		for (int64_t i = first; i < first + count; i++) {
			if (kinds[i - first] == FREE)
				catch_up(a, i);
		}
	}
}

static advance make_advance(sim_granular *g)
{
	advance a = { .g = g, .dt = g->def.time_step };
	for (int k = 0; k < 3; k++) {
		a.low[k] = g->def.lower[k];
		a.high[k] = g->def.upper[k];
		a.period[k] = a.high[k] - a.low[k];
		a.periodic |= g->def.periodic[k];
	}
	return a;
}

void granular_catch_up(sim_granular *g)
{
	if (g->lag.steps == 0)
		return;
	advance a = make_advance(g);
	carom_parallel_for(g->context, advance_free, g->block_count, MIN_RANGE, &a);
	g->lag.steps = 0;
}

static double length_of(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/// Where nothing but walls that stand still is in the way of a good part of the spheres. (Bodies
/// that touch spheres are not known beforehand.)
static bool may_lag(const sim_granular *g) { return g->def.moving_count == 0 && !g->def.touches && g->few_crowded; }

/// How far a free sphere can come before the lag is full, more or less: as fast as now, and as
/// gravity makes it.
static double margin_for(const advance *a)
{
	const double steps = GRANULAR_MOST_LAG + 1;
	double speed = 0;
	for (int k = 0; k < 3; k++)
		speed = most(speed, most(fabs(a->g->lag.low[k]), fabs(a->g->lag.high[k])));
	return 1.5 * steps * a->dt * (speed + steps * length_of(a->gain));
}

/// The velocities are known to be within a box and not faster than fastest against a reference:
/// bounds against its middle.
static void begin_lag(const advance *a, const granular_tally *tally)
{
	granular_lag *lag = &a->g->lag;
	double shift[3], half[3];
	memcpy(lag->low, tally->low, sizeof lag->low);
	memcpy(lag->high, tally->high, sizeof lag->high);
	for (int k = 0; k < 3; k++) {
		shift[k] = a->g->reference[k] - a->reference[k];
		half[k] = most(tally->high[k] - a->g->reference[k], a->g->reference[k] - tally->low[k]);
	}
	lag->speed = least(sqrt(tally->fastest) + length_of(shift), length_of(half)) * (1 + 1e-12);
	lag->margin = a->margin;
	lag->way = 0;
	lag->steps = 0;
	// Nothing that is slower can be lost on the way.
	lag->open = a->margin < 1e100 && lag->speed < 1e100;
}

/// Free spheres get the change by gravity, but not yet.
static void extend_lag(const advance *a, granular_tally *tally)
{
	granular_lag *lag = &a->g->lag;
	memcpy(lag->gains[lag->steps++], a->gain, sizeof a->gain);
	tally->fastest = most(tally->fastest, lag->speed * lag->speed);
	for (int k = 0; k < 3; k++) {
		lag->low[k] += a->gain[k];
		lag->high[k] += a->gain[k];
		tally->low[k] = least(tally->low[k], lag->low[k]);
		tally->high[k] = most(tally->high[k], lag->high[k]);
	}
}

void granular_update(sim_granular *g)
{
	advance a = make_advance(g);
	for (int k = 0; k < 3; k++) {
		a.gain[k] = a.dt * g->gravity[k];
		a.reference[k] = g->reference[k] + a.gain[k];
	}
	const bool some = g->lag.open && g->lag.steps < GRANULAR_MOST_LAG && g->lag.way * (1 + 1e-9) <= g->lag.margin;
	a.margin = may_lag(g) ? margin_for(&a) : INFINITY;
	carom_parallel_for(g->context, some ? advance_some : advance_all, g->block_count, MIN_RANGE, &a);

	granular_tally tally = g->last = granular_join_tallies(g);
	if (some)
		extend_lag(&a, &tally);
	const double step = a.dt * sqrt(tally.fastest);
	// Beside the exact displacement: the rounding of the places, and of this sum.
	for (int k = 0; k < 3; k++) {
		g->drift[k] += a.dt * a.reference[k];
		g->extent += a.dt * most(fabs(tally.low[k]), fabs(tally.high[k]));
		g->reference[k] = some ? a.reference[k] : 0.5 * (tally.low[k] + tally.high[k]);
	}
	if (!some)
		begin_lag(&a, &tally);
	const double moved = step * (1 + 1e-12) + 1e-15 * g->extent;
	g->moved += moved;
	g->near_moved += moved;
	if (some)
		g->lag.way += a.dt * length_of(a.reference) + moved;
}

void granular_clear_tallies(sim_granular *g)
{
	for (int w = 0; w < g->workers; w++)
		g->tallies[w] = (granular_tally){ .low = { INFINITY, INFINITY, INFINITY },
			.high = { -INFINITY, -INFINITY, -INFINITY },
			.lost = INT64_MAX,
			.walls = g->wall_sums ? &g->wall_sums[(w + 1) * GRANULAR_MAX_PLANES] : NULL };
}

granular_tally granular_join_tallies(sim_granular *g)
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
	if (g->share)
		granular_join_ranks(g, &all);
	return all;
}
