// The granular simulation: making it, and the order of a step. See granular.h; the parts are listed
// in granular_state.h.
#include "sim/grains/granular.h"

#include "sim/base/sim_clock.h"
#include "sim/grains/granular_share.h"
#include "sim/grains/granular_state.h"
#include "sim/base/rotations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static sim_granular_law default_law(void)
{
	return (sim_granular_law){ .normal = SIM_GRANULAR_LINEAR,
		.stiffness = 1000,
		.young = 1e7,
		.poisson = 0.25,
		.restitution = 0.5,
		.tangential_ratio = 2.0 / 7.0 };
}

sim_granular_def sim_default_granular_def(void)
{
	return (sim_granular_def){ .centres = { .type = CAROM_FLOAT64 },
		.radii = { .type = CAROM_FLOAT64 },
		.velocities = { .type = CAROM_FLOAT64 },
		.angular_velocities = { .type = CAROM_FLOAT64 },
		.density = 2500,
		.time_step = 1e-5,
		.gravity = { 0, -9.81, 0 },
		.gravity_axis = { 0, 1, 0 },
		.spheres = default_law(),
		.walls = default_law(),
		.upper = { 1, 1, 1 },
		.stability_contacts = 6,
		.stability_overlap = 0.05,
		.skin = -1 };
}

// ---- Making ----

static bool has_turning(const sim_granular_law *law)
{
	return law->tangential != SIM_GRANULAR_SMOOTH || law->rolling_friction > 0;
}

static size_t blocks_of(const sim_granular *g) { return ((size_t)g->room + GRANULAR_BLOCK - 1) / GRANULAR_BLOCK; }

static bool take_wall_arrays(sim_granular *g)
{
	const size_t count = (size_t)g->room;
	// The values are only read where a bit is set: memory that no wall needs is never touched.
	g->wall_touched = granular_alloc(g, count * sizeof *g->wall_touched);
	g->wall_history = granular_alloc(g, count * (size_t)g->wall_slots * 3 * sizeof *g->wall_history);
	if (!g->wall_touched || !g->wall_history)
		return false;
	memset(g->wall_touched, 0, count * sizeof *g->wall_touched);
	return true;
}

bool granular_take_arrays(sim_granular *g)
{
	const size_t count = (size_t)g->room;
	if (count == 0)
		return true;
	g->places = granular_alloc(g, count * sizeof *g->places);
	g->motions = granular_alloc(g, count * sizeof *g->motions);
	g->ids = granular_alloc(g, count * sizeof *g->ids);
	// Where few spheres are wary, little of this is ever touched.
	g->lag.wary = granular_alloc(g, count * sizeof *g->lag.wary);
	g->lag.wary_counts = granular_alloc(g, blocks_of(g) * sizeof *g->lag.wary_counts);
	if (!g->places || !g->motions || !g->ids || !g->lag.wary || !g->lag.wary_counts)
		return false;
	if (g->def.skin != 0) {
		g->held = granular_alloc(g, 3 * count * sizeof *g->held);
		if (!g->held)
			return false;
	}
	if (g->turns) {
		g->spins = granular_alloc(g, count * sizeof *g->spins);
		if (!g->spins)
			return false;
	}
	if (g->share) {
		g->rows = granular_alloc(g, count * sizeof *g->rows);
		g->border = granular_alloc(g, count * sizeof *g->border);
		if (!g->rows || !g->border)
			return false;
	}
	return g->wall_slots == 0 || take_wall_arrays(g);
}

void granular_drop_arrays(sim_granular *g)
{
	const size_t count = (size_t)g->room;
	granular_free(g, g->held, 3 * count * sizeof *g->held);
	granular_free(g, g->wall_touched, count * sizeof *g->wall_touched);
	granular_free(g, g->wall_history, count * (size_t)g->wall_slots * 3 * sizeof *g->wall_history);
	granular_free(g, g->spins, count * sizeof *g->spins);
	granular_free(g, g->lag.wary_counts, blocks_of(g) * sizeof *g->lag.wary_counts);
	granular_free(g, g->lag.wary, count * sizeof *g->lag.wary);
	granular_free(g, g->rows, count * sizeof *g->rows);
	granular_free(g, g->border, count * sizeof *g->border);
	granular_free(g, g->ids, count * sizeof *g->ids);
	granular_free(g, g->motions, count * sizeof *g->motions);
	granular_free(g, g->places, count * sizeof *g->places);
}

static bool make_arrays(sim_granular *g)
{
	g->tallies = granular_alloc(g, (size_t)g->workers * sizeof *g->tallies);
	if (!g->tallies || !granular_take_arrays(g))
		return false;
	if (!g->def.touches || g->total == 0)
		return true;
	g->touch_rows = granular_alloc(g, (size_t)g->total * sizeof *g->touch_rows);
	if (g->touch_rows)
		memset(g->touch_rows, 0, (size_t)g->total * sizeof *g->touch_rows);
	return g->touch_rows;
}

static bool has_walls(const sim_granular_def *def)
{
	bool walls = def->moving_count > 0;
	for (int f = 0; f < GRANULAR_FACES; f++)
		walls |= def->faces[f];
	return walls;
}

/// Without its spheres, of which it has those of the ids from first to last - 1.
static sim_granular *make(carom_context *context, const sim_granular_def *def, int64_t first, int64_t last, sim_error *error)
{
	// The handle itself needs no user's memory: it must exist to count it.
	sim_granular *g = calloc(1, sizeof *g);
	if (!g) {
		granular_no_memory("the simulation", error);
		return NULL;
	}
	g->context = context;
	g->allocator = def->allocator.allocate ? def->allocator : carom_default_allocator();
	g->def = *def;
	g->total = def->count;
	g->count = g->room = last - first;
	if (g->count < g->total)
		g->room += g->count / 8 + 1; // for those that come from other ranks
	g->workers = carom_context_threads(context);
	const bool against = has_walls(def) || def->touches;
	g->turns = def->force || has_turning(&def->spheres) || (against && has_turning(&def->walls)) || def->angular_velocities.data;
	g->with_history = def->force || def->spheres.tangential != SIM_GRANULAR_SMOOTH;
	g->load_width = g->turns ? 6 : 4;
	g->wall_slots = has_walls(def) && def->walls.tangential != SIM_GRANULAR_SMOOTH ? 3 + def->moving_count : 0;
	g->between = granular_make_coefficients(&def->spheres);
	g->against = granular_make_coefficients(&def->walls);
	if (make_arrays(g))
		return g;
	granular_no_memory("the spheres", error);
	sim_destroy_granular(g);
	return NULL;
}

void sim_destroy_granular(sim_granular *g)
{
	if (!g)
		return;
	carom_destroy_grains(g->grains);
	carom_destroy_spheres(g->detector);
	granular_free_packed(g);
	granular_free(g, g->touched, (size_t)g->history_room);
	granular_free(g, g->history, (size_t)g->history_room * 3 * sizeof *g->history);
	granular_free_blocks(g);
	granular_free_touches(g);
	granular_free_wall_sums(g);
	granular_drop_arrays(g);
	granular_free_share(g);
	granular_free(g, g->tallies, (size_t)g->workers * sizeof *g->tallies);
	free(g);
}

static double wrapped(double x, double low, double high)
{
	if (x >= low && x < high)
		return x;
	const double period = high - low;
	x -= floor((x - low) / period) * period;
	// The rounding of the line above.
	return x >= low && x < high ? x : low;
}

/// Sphere i of the simulation is sphere `id` of the definition.
static void fill_sphere(sim_granular *g, const sim_granular_def *def, int64_t i, int64_t id)
{
	double x[3], v[3] = { 0, 0, 0 }, w[3] = { 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		x[k] = granular_read_scalar(&def->centres, id, 3, k);
		if (def->periodic[k])
			x[k] = wrapped(x[k], def->lower[k], def->upper[k]);
		if (def->velocities.data)
			v[k] = granular_read_scalar(&def->velocities, id, 3, k);
		if (def->angular_velocities.data)
			w[k] = granular_read_scalar(&def->angular_velocities, id, 3, k);
	}
	const double r = granular_read_scalar(&def->radii, id, 1, 0);
	g->places[i] = (granular_place){ x[0], x[1], x[2], r };
	g->motions[i] = (granular_motion){ v[0], v[1], v[2], 0 };
	if (g->spins)
		g->spins[i] = (granular_spin){ w[0], w[1], w[2], 0 };
	g->ids[i] = (uint32_t)id;
}

/// Masses from radii, and what is known of all spheres, summed in the order of the ids.
static void weigh(sim_granular *g, const sim_granular_def *def)
{
	const double unit = g->def.density * (4.0 / 3.0 * SIM_PI);
	double sum = 0;
	g->least_radius = INFINITY;
	for (int64_t i = 0; i < g->total; i++) {
		const double r = granular_read_scalar(&def->radii, i, 1, 0);
		g->least_radius = r < g->least_radius ? r : g->least_radius;
		g->largest_radius = r > g->largest_radius ? r : g->largest_radius;
		sum += r;
		g->mass += unit * r * r * r;
	}
	g->mean_radius = g->total ? sum / (double)g->total : 0;
	for (int64_t i = 0; i < g->count; i++) {
		const double r = g->places[i].r, mass = unit * r * r * r;
		g->motions[i].inverse_mass = 1 / mass;
		if (g->spins)
			g->spins[i].inverse_inertia = 1 / (0.4 * mass * r * r);
	}
}

static bool begin(sim_granular *g, const sim_granular_def *def, sim_error *error)
{
	weigh(g, def);
	granular_place_walls(g);
	granular_start_skin(g);
	g->step_limit = g->step_limit_pair = INFINITY;
	if (g->total > 0) {
		g->step_limit = granular_step_limit(g, g->def.stability_contacts, g->def.stability_overlap);
		g->step_limit_pair = granular_step_limit(g, 1, g->def.stability_overlap);
	}
	if (g->def.stability == SIM_GRANULAR_REFUSE && g->def.time_step >= g->step_limit) {
		return sim_fail(error,
			"time_step: %g s is not below %g s, the bound of stability for the lightest sphere with %g contacts",
			g->def.time_step, g->step_limit, g->def.stability_contacts);
	}
	if (g->with_history && !g->packed.first) {
		if (!granular_pack_room(g, 0, error))
			return false;
		memset(g->packed.first, 0, (size_t)(g->count + 1) * sizeof *g->packed.first);
	}
	return !g->def.device || granular_open_device(g, error);
}

sim_granular *granular_create_range(
	carom_context *context, const sim_granular_def *def, int64_t first, int64_t last, sim_error *error)
{
	if (!granular_check(def, error) || !granular_check_spheres(def, error))
		return NULL;
	sim_granular *g = make(context, def, first, last, error);
	if (!g)
		return NULL;
	for (int64_t i = 0; i < g->count; i++)
		fill_sphere(g, def, i, first + i);
	if (begin(g, def, error))
		return g;
	sim_destroy_granular(g);
	return NULL;
}

sim_granular *sim_create_granular(carom_context *context, const sim_granular_def *def, sim_error *error)
{
	return granular_create_range(context, def, 0, def->count, error);
}

// ---- Steps ----

void sim_granular_get_gravity(const sim_granular *g, double gravity[3])
{
	const double *a = g->def.gravity_axis, *v = g->def.gravity;
	memcpy(gravity, v, 3 * sizeof *v);
	if (g->def.gravity_rate == 0)
		return;
	// Rodrigues: v cos t + (n x v) sin t + n (n . v) (1 - cos t).
	const double length = sim_length3(a);
	const double n[3] = { a[0] / length, a[1] / length, a[2] / length };
	const double angle = g->def.gravity_rate * ((double)g->steps * g->def.time_step);
	const double c = sim_cosine(angle), s = sim_sine(angle);
	const double along = n[0] * v[0] + n[1] * v[1] + n[2] * v[2];
	gravity[0] = v[0] * c + (n[1] * v[2] - n[2] * v[1]) * s + n[0] * along * (1 - c);
	gravity[1] = v[1] * c + (n[2] * v[0] - n[0] * v[2]) * s + n[1] * along * (1 - c);
	gravity[2] = v[2] * c + (n[0] * v[1] - n[1] * v[0]) * s + n[2] * along * (1 - c);
}

bool sim_granular_prepare(sim_granular *g, sim_error *error)
{
	if (g->prepared || g->total == 0 || g->grains)
		return true;
	const double begin = sim_now_ms();
	g->prepared = granular_keep_list(g, error);
	g->ms_prepared = sim_now_ms() - begin;
	return g->prepared;
}

static bool run_step(sim_granular *g, sim_granular_step *step, sim_error *error)
{
	if (!sim_granular_prepare(g, error))
		return false;
	g->prepared = false;
	const double t0 = sim_now_ms();
	granular_clear_tallies(g);
	granular_place_walls(g);
	sim_granular_get_gravity(g, g->gravity);
	const double t1 = sim_now_ms();
	granular_compute_forces(g);
	const double t2 = sim_now_ms();
	granular_update(g);
	granular_end_touches(g);
	granular_join_wall_sums(g);
	const double t3 = sim_now_ms();
	granular_note_times(g, t2 - t1, t3 - t2);
	if (granular_lost_ranks(g, error))
		return false;

	const granular_tally tally = g->last;
	g->max_overlap = tally.max_overlap > g->max_overlap ? tally.max_overlap : g->max_overlap;
	g->steps++;
	*step = (sim_granular_step){ .step = g->steps,
		.time = (double)g->steps * g->def.time_step,
		.contacts = tally.contacts / 2,
		.wall_contacts = tally.wall_contacts,
		.max_overlap = tally.max_overlap,
		.list_built = g->list_built,
		.sorted = g->sorted,
		.ms_build = t1 - t0 + g->ms_prepared,
		.ms_detection = t2 - t1,
		.ms_update = t3 - t2 };
	if (tally.lost == INT64_MAX)
		return true;
	sim_fail(error, "step %lld: the motion of sphere %lld is not finite", (long long)g->steps, (long long)tally.lost);
	g->failed = true;
	return false;
}

bool sim_granular_advance(sim_granular *g, sim_granular_step *step, sim_error *error)
{
	sim_granular_step unwanted;
	int64_t done = 0;
	if (g->total > 0 && g->grains)
		return granular_steps_on_device(g, 1, step, &done, error);
	if (g->total > 0)
		return run_step(g, step ? step : &unwanted, error);
	g->steps++;
	if (step)
		*step = (sim_granular_step){ .step = g->steps, .time = (double)g->steps * g->def.time_step };
	return true;
}

bool sim_granular_advance_many(sim_granular *g, int64_t count, sim_granular_step *steps, int64_t *done, sim_error *error)
{
	int64_t unwanted;
	done = done ? done : &unwanted;
	*done = 0;
	if (count < 0)
		return sim_fail(error, "sim_granular_advance_many: count is %lld, below 0", (long long)count);
	if (count > 1 && g->def.touches)
		return sim_fail(error, "sim_granular_advance_many: touches (sim_granular_def.touches) are those of one step");
	if (g->total > 0 && g->grains)
		return granular_steps_on_device(g, count, steps, done, error);
	for (; *done < count; ++*done) {
		if (!sim_granular_advance(g, steps ? &steps[*done] : NULL, error))
			return false;
	}
	return true;
}

// ---- Asking ----

void sim_granular_set_mark(sim_granular *g, const sim_granular_mark *mark) { g->mark = *mark; }

sim_granular_mark sim_granular_get_mark(const sim_granular *g) { return g->mark; }

sim_granular_info sim_granular_get_info(const sim_granular *g)
{
	sim_granular_info info = { .count = g->total,
		.steps = g->steps,
		.time = (double)g->steps * g->def.time_step,
		.time_step = g->def.time_step,
		.step_limit = g->step_limit,
		.step_limit_pair = g->step_limit_pair,
		.step_limit_met = g->step_limit,
		.max_overlap = g->max_overlap,
		.list_builds = g->list_builds,
		.sorts = g->sorts,
		.list_entries = g->listed ? g->list.first[g->list.count] : 0,
		.skin = g->skin,
		.mean_radius = g->mean_radius,
		.least_radius = g->total ? g->least_radius : 0,
		.largest_radius = g->largest_radius,
		.mass = g->mass,
		.bytes = g->bytes };
	if (g->total > 0 && g->max_overlap > 0)
		info.step_limit_met = granular_step_limit(g, g->def.stability_contacts, g->max_overlap);
	if (g->grains) {
		info.on_device = true;
		info.device = carom_grains_get_stats(g->grains);
		info.list_builds = info.device.lists;
		info.list_entries = info.device.entries;
	}
	if (g->detector) {
		info.detector = carom_spheres_get_stats(g->detector);
		info.bytes_detector = info.detector.bytes;
	}
	return info;
}

void sim_granular_get_state(sim_granular *g, double *centres, double *radii, double *velocities, double *angular_velocities)
{
	granular_fetch(g, false, NULL);
	granular_catch_up(g);
	for (int64_t i = 0; i < g->count; i++) {
		const size_t at = g->ids[i];
		if (centres)
			memcpy(&centres[3 * at], &g->places[i], 3 * sizeof *centres);
		if (radii)
			radii[at] = g->places[i].r;
		if (velocities)
			memcpy(&velocities[3 * at], &g->motions[i], 3 * sizeof *velocities);
		if (angular_velocities && g->spins)
			memcpy(&angular_velocities[3 * at], &g->spins[i], 3 * sizeof *angular_velocities);
		else if (angular_velocities)
			memset(&angular_velocities[3 * at], 0, 3 * sizeof *angular_velocities);
	}
}

sim_granular_view sim_granular_get_view(sim_granular *g)
{
	granular_fetch(g, false, NULL);
	granular_catch_up(g);
	return (sim_granular_view){ .count = g->count,
		.spheres = g->count ? &g->places->x : NULL,
		.motions = g->count ? &g->motions->x : NULL,
		.angular_velocities = g->spins ? &g->spins->x : NULL,
		.ids = g->ids };
}

void sim_granular_get_wall(const sim_granular *g, int32_t i, double point[3])
{
	const sim_granular_wall *wall = &g->def.moving[i];
	const double time = (double)g->steps * g->def.time_step;
	const double shift = sim_sine(wall->frequency * time + wall->phase);
	for (int k = 0; k < 3; k++)
		point[k] = wall->point[k] + wall->velocity[k] * time + wall->amplitude[k] * shift;
}
