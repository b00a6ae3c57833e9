// Upkeep of the list of neighbours and of the order in memory. The list is asked for with a skin
// and kept while no two spheres can have come closer by it: the passes bound how far each sphere
// moved beside a motion common to all (Verlet 1967; the bound is of every step's largest relative
// speed, so it holds without looking at the places again).
#include "sim/grains/granular_share.h"
#include "sim/grains/granular_state.h"
#include "sim/base/sim_clock.h"

#include <math.h>
#include <string.h>

enum { MIN_RANGE = 4096 };

carom_spheres *granular_new_detector(const sim_granular *g, carom_sphere_method method, double skin, sim_error *error)
{
	carom_spheres *detector;
	carom_spheres_def def = carom_default_spheres_def();
	def.method = method;
	def.skin = skin;
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = g->def.periodic[k];
		def.period[k] = g->def.upper[k] - g->def.lower[k];
	}
	if (carom_create_spheres(g->context, &def, &detector) != CAROM_SUCCESS)
		sim_fail(error, "%s", carom_error_text(g->context));
	return detector;
}

static bool make_detector(sim_granular *g, double skin, sim_error *error)
{
	carom_destroy_spheres(g->detector);
	g->detector = granular_new_detector(g, g->def.method, skin, error);
	return g->detector;
}

// ---- Where the spheres are ----

static void find_extent(int64_t begin, int64_t end, int worker, void *granular)
{
	const sim_granular *g = granular;
	granular_tally *t = &g->tallies[worker];
	for (int64_t i = begin; i < end; i++) {
		const granular_place *p = &g->places[i];
		const double x = fabs(p->x), y = fabs(p->y), z = fabs(p->z);
		const double most = x > y ? (x > z ? x : z) : (y > z ? y : z);
		t->fastest = most > t->fastest ? most : t->fastest;
		if (!(most <= CAROM_MAX_COORDINATE) && g->ids[i] < t->lost)
			t->lost = g->ids[i];
	}
}

static bool measure_extent(sim_granular *g, sim_error *error)
{
	granular_clear_tallies(g);
	carom_parallel_for(g->context, find_extent, g->count, MIN_RANGE, g);
	const granular_tally tally = granular_join_tallies(g);
	if (granular_lost_ranks(g, error))
		return false;
	g->extent = tally.fastest;
	if (tally.lost == INT64_MAX)
		return true;
	return sim_fail(error, "sphere %lld is farther away than %g m", (long long)tally.lost, (double)CAROM_MAX_COORDINATE);
}

static bool tell_detector(sim_granular *g, sim_error *error)
{
	carom_sphere_input input = carom_default_sphere_input();
	input.count = g->count + granular_ghosts(g);
	input.owned = g->count;
	input.centres = (carom_strided){ g->places, sizeof *g->places, CAROM_FLOAT64 };
	input.radii = (carom_strided){ g->places ? &g->places->r : NULL, sizeof *g->places, CAROM_FLOAT64 };
	input.ids = g->ids;
	// A list of now: the detector might show that its last one still holds, by a measurement of its
	// own, but the bound here would then count from other places.
	input.moved = INFINITY;
	if (carom_spheres_update(g->detector, &input) == CAROM_SUCCESS)
		return true;
	return sim_fail(error, "%s", carom_error_text(g->context));
}

// ---- Order in memory ----

static bool sort_with(sim_granular *g, uint32_t *order, sim_error *error)
{
	// Without a skin the detector makes no list for an order that goes away.
	if (!make_detector(g, 0, error) || !tell_detector(g, error))
		return false;
	if (carom_spheres_get_order(g->detector, order) != CAROM_SUCCESS) {
		return sim_fail(error, "%s", carom_error_text(g->context));
	}
	return granular_permute(g, order) || granular_no_memory("sorting the spheres", error);
}

static bool sort_spheres(sim_granular *g, sim_error *error)
{
	const double begin = sim_now_ms();
	const size_t size = (size_t)g->count * sizeof(uint32_t);
	uint32_t *order = granular_alloc(g, size);
	if (!order)
		return granular_no_memory("sorting the spheres", error);
	const bool sorted = sort_with(g, order, error);
	granular_free(g, order, size);
	if (!sorted)
		return false;
	carom_destroy_spheres(g->detector);
	g->detector = NULL;
	g->sorting = (granular_sorting){ .ms = sim_now_ms() - begin };
	g->sorts++;
	g->sorted = true;
	return true;
}

// ---- How long it holds ----

static void measure_range(int64_t begin, int64_t end, int worker, void *granular)
{
	const sim_granular *g = granular;
	granular_tally *t = &g->tallies[worker];
	for (int64_t i = begin; i < end; i++) {
		const double *at = (const double *)(g->places + i), *held = &g->held[3 * i];
		double squared = 0;
		for (int k = 0; k < 3; k++) {
			double d = at[k] - held[k] - g->drift[k];
			if (g->def.periodic[k]) {
				const double period = g->def.upper[k] - g->def.lower[k];
				d -= period * floor(d / period + 0.5);
			}
			squared += d * d;
		}
		t->fastest = squared > t->fastest ? squared : t->fastest;
	}
}

/// The bound adds up the largest displacement of each step, whosever it was; now measure the true
/// one. Any drift gives a bound.
static void measure_moved(sim_granular *g)
{
	granular_catch_up(g);
	granular_clear_tallies(g);
	carom_parallel_for(g->context, measure_range, g->count, MIN_RANGE, g);
	const double measured = sqrt(granular_join_tallies(g).fastest) * (1 + 1e-12) + 1e-15 * g->extent;
	g->moved = measured < g->moved ? measured : g->moved;
}

static void hold_range(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (int64_t i = begin; i < end; i++)
		memcpy(&g->held[3 * i], &g->places[i], 3 * sizeof *g->held);
}

static void hold_places(sim_granular *g)
{
	g->moved = 0;
	memset(g->drift, 0, sizeof g->drift);
	if (g->held)
		carom_parallel_for(g->context, hold_range, g->count, MIN_RANGE, g);
}

// A list that holds only a little longer is not worth the next measurement.
#define WORTH_KEEPING 0.75

static bool list_holds(sim_granular *g)
{
	if (!g->listed)
		return false;
	if (2 * g->moved <= g->skin)
		return true;
	if (!g->held)
		return false;
	measure_moved(g);
	return 2 * g->moved <= WORTH_KEEPING * g->skin;
}

// ---- List ----

static bool make_list(sim_granular *g, sim_error *error)
{
	// Before the first list, packed holds the contacts of a checkpoint, or none.
	if (g->with_history && g->listed && !granular_pack_histories(g, error))
		return false;
	granular_catch_up(g);
	g->lag.open = false;
	if (!measure_extent(g, error) || (g->share && !granular_share_out(g, error)))
		return false;
	g->list.count = 0;
	g->listed = false;
	if (granular_sorting_pays(g) && !sort_spheres(g, error))
		return false;
	if (g->share && !granular_agree_on_times(g, error))
		return false;
	const double skin = granular_next_skin(g);
	if ((!g->detector || skin != g->skin) && !make_detector(g, skin, error))
		return false;
	g->skin = skin;
	if (g->share && !granular_call_ghosts(g, error))
		return false;
	if (!tell_detector(g, error))
		return false;
	if (carom_spheres_get_neighbours(g->detector, &g->list) != CAROM_SUCCESS) {
		return sim_fail(error, "%s", carom_error_text(g->context));
	}
	g->listed = true;
	hold_places(g);
	g->list_builds++;
	g->list_built = true;
	if (!granular_make_blocks(g, error))
		return false;
	return (!g->with_history || granular_unpack_histories(g, error)) && (!g->share || granular_weigh_ranks(g, error));
}

bool granular_keep_list(sim_granular *g, sim_error *error)
{
	g->list_built = g->sorted = false;
	if (g->failed) {
		return sim_fail(error, "the simulation failed before");
	}
	if (!granular_fetch(g, true, error))
		return false;
	if (g->total == 0)
		return true;
	const double begin = sim_now_ms();
	const bool held = list_holds(g);
	if (granular_lost_ranks(g, error))
		return false;
	g->failed = held ? g->share && !granular_renew_ghosts(g, error) : !make_list(g, error);
	g->choice.ms += sim_now_ms() - begin;
	return !g->failed;
}
