// Steps on a graphics device (carom/grains.h). There spheres are in the order of their ids, and all
// that a step changes stays there; what is asked for comes back, and energies, checkpoints and
// counts are made of it here.
#include "sim/grains/granular_state.h"
#include "sim/base/sim_clock.h"

#include <string.h>

/// A call on the grains has failed: no step can follow.
static bool fail(sim_granular *g, sim_error *error)
{
	g->failed = true;
	return sim_fail(error, "%s", carom_error_text(g->context));
}

bool granular_open_device(sim_granular *g, sim_error *error)
{
	if (g->def.force)
		return sim_fail(error, "device: a user's force (sim_granular_def.force) cannot run there");
	if (g->def.touches)
		return sim_fail(error, "device: it does not know bodies of other kinds (sim_granular_def.touches)");
	carom_grains_def def = carom_default_grains_def();
	def.device = g->def.device;
	def.count = g->count;
	def.time_step = g->def.time_step;
	def.skin = g->skin;
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = g->def.periodic[k];
		def.lower[k] = g->def.lower[k];
		def.upper[k] = g->def.upper[k];
	}
	def.spheres = g->between;
	def.walls = g->against;
	// Without walls their law turns nothing.
	if (g->plane_count == 0)
		def.walls.tangential = def.walls.rolling = false;
	def.turns = g->turns;
	def.wall_springs = g->wall_slots;
	g->host_fresh = g->springs_fresh = true;
	if (carom_create_grains(g->context, &def, &g->grains) == CAROM_SUCCESS)
		return true;
	return sim_fail(error, "%s", carom_error_text(g->context));
}

// ---- There ----

/// Arrays in the order of ids; those of the simulation may be in another.
typedef struct host_state {
	carom_grains_state state;
	size_t bytes;
	double *memory;
} host_state;

static bool lay_out(sim_granular *g, host_state *h, sim_error *error)
{
	const size_t n = (size_t)g->count, walls = (size_t)g->wall_slots;
	h->bytes = n * ((g->turns ? 12 : 8) + 3 * walls) * sizeof(double) + n * sizeof(uint32_t);
	h->memory = granular_alloc(g, h->bytes);
	if (!h->memory)
		return granular_no_memory("the spheres of a device", error);
	carom_grains_state *s = &h->state;
	double *at = h->memory;
	s->places = at;
	s->motions = at += 4 * n;
	at += 4 * n;
	if (g->turns) {
		s->spins = at;
		at += 4 * n;
	}
	if (walls > 0) {
		s->wall_springs = at;
		s->wall_marks = (uint32_t *)(at + 3 * walls * n);
	}
	return true;
}

static void copy_by_ids(const sim_granular *g, carom_grains_state *s)
{
	const size_t width = 3 * (size_t)g->wall_slots;
	for (int64_t i = 0; i < g->count; i++) {
		const size_t id = g->ids[i];
		memcpy(&s->places[4 * id], &g->places[i], sizeof *g->places);
		memcpy(&s->motions[4 * id], &g->motions[i], sizeof *g->motions);
		if (g->turns)
			memcpy(&s->spins[4 * id], &g->spins[i], sizeof *g->spins);
		if (!g->wall_touched)
			continue;
		s->wall_marks[id] = g->wall_touched[i];
		memset(&s->wall_springs[width * id], 0, width * sizeof(double));
		for (int w = 0; w < g->plane_count; w++) {
			const size_t slot = 3 * (size_t)g->planes[w].slot;
			if (g->wall_touched[i] & g->planes[w].bit)
				memcpy(&s->wall_springs[width * id + slot], &g->wall_history[width * (size_t)i + slot], 3 * sizeof(double));
		}
	}
}

/// Bring the state to the device: of a new simulation, or one that goes on from a checkpoint.
static bool send(sim_granular *g, sim_error *error)
{
	if (g->device_fresh)
		return true;
	if (g->with_history && g->listed && !granular_pack_histories(g, error))
		return false;
	host_state h = { 0 };
	if (!lay_out(g, &h, error))
		return false;
	copy_by_ids(g, &h.state);
	if (g->with_history) {
		h.state.first = g->packed.first;
		h.state.other = g->packed.other;
		h.state.springs = g->packed.values;
	}
	const bool sent = carom_grains_set_state(g->grains, &h.state) == CAROM_SUCCESS;
	granular_free(g, h.memory, h.bytes);
	g->device_fresh = sent;
	return sent || fail(g, error);
}

static int32_t make_walls(const sim_granular *g, carom_grain_wall walls[GRANULAR_MAX_PLANES])
{
	for (int w = 0; w < g->plane_count; w++) {
		const granular_plane *plane = &g->planes[w];
		uint32_t number = 0;
		while (plane->bit >> number != 1)
			number++;
		walls[w] = (carom_grain_wall){ .offset = plane->offset, .number = number, .spring = (uint32_t)plane->slot };
		memcpy(walls[w].normal, plane->normal, sizeof plane->normal);
		memcpy(walls[w].velocity, plane->velocity, sizeof plane->velocity);
	}
	return g->plane_count;
}

enum { BATCH = 16 }; // steps that carom_grains_advance puts into one submission

/// Gravity and walls of the next steps, which depend on nothing but the time.
static void make_moments(
	sim_granular *g, int32_t count, carom_grains_moment *moments, carom_grain_wall (*walls)[GRANULAR_MAX_PLANES])
{
	const int64_t now = g->steps;
	for (int32_t i = 0; i < count; i++, g->steps++) {
		granular_place_walls(g);
		sim_granular_get_gravity(g, g->gravity);
		moments[i] = (carom_grains_moment){ .wall_count = make_walls(g, walls[i]), .walls = walls[i] };
		memcpy(moments[i].gravity, g->gravity, sizeof moments[i].gravity);
	}
	g->steps = now;
}

static void note_step(sim_granular *g, const carom_grains_step *done, double ms, sim_granular_step *step)
{
	g->steps++;
	g->max_overlap = done->max_overlap > g->max_overlap ? done->max_overlap : g->max_overlap;
	if (step)
		*step = (sim_granular_step){ .step = g->steps,
			.time = (double)g->steps * g->def.time_step,
			.contacts = done->contacts,
			.wall_contacts = done->wall_contacts,
			.max_overlap = done->max_overlap,
			.list_built = done->list_built,
			.ms_detection = ms };
}

/// Up to BATCH steps. Adds those that were done to *all.
static bool run_batch(sim_granular *g, int32_t count, sim_granular_step *steps, int64_t *all, sim_error *error)
{
	const double begin = sim_now_ms();
	carom_grains_moment moments[BATCH];
	carom_grain_wall walls[BATCH][GRANULAR_MAX_PLANES];
	carom_grains_step results[BATCH];
	int32_t done;
	make_moments(g, count, moments, walls);
	const carom_result result = carom_grains_advance(g->grains, count, moments, results, &done);
	const double ms = done > 0 ? (sim_now_ms() - begin) / done : 0;
	for (int32_t i = 0; i < done; i++)
		note_step(g, &results[i], ms, steps ? &steps[i] : NULL);
	if (done > 0)
		g->host_fresh = g->springs_fresh = false;
	*all += done;
	return result == CAROM_SUCCESS || fail(g, error);
}

bool granular_steps_on_device(sim_granular *g, int64_t count, sim_granular_step *steps, int64_t *done, sim_error *error)
{
	if (g->failed)
		return sim_fail(error, "the simulation failed before");
	if (!send(g, error))
		return false;
	while (*done < count) {
		const int32_t batch = (int32_t)(count - *done < BATCH ? count - *done : BATCH);
		if (!run_batch(g, batch, steps ? &steps[*done] : NULL, done, error))
			return false;
	}
	return true;
}

// ---- Here ----

/// Springs of the contacts, packed by ids.
static bool fetch_springs(sim_granular *g, carom_grains_state *s, sim_error *error)
{
	int64_t contacts;
	if (carom_grains_count_springs(g->grains, &contacts) != CAROM_SUCCESS)
		return fail(g, error);
	if (!granular_pack_room(g, contacts > 0 ? contacts : 1, error)) {
		g->failed = true;
		return false;
	}
	s->first = g->packed.first;
	s->other = g->packed.other;
	s->springs = g->packed.values;
	return true;
}

static bool fetch_into(sim_granular *g, bool springs, uint32_t *marks, sim_error *error)
{
	carom_grains_state s = { .places = &g->places->x,
		.motions = &g->motions->x,
		.spins = g->spins ? &g->spins->x : NULL,
		.wall_marks = marks,
		.wall_springs = marks ? g->wall_history : NULL };
	if (springs && g->with_history && !fetch_springs(g, &s, error))
		return false;
	if (carom_grains_get_state(g->grains, &s) != CAROM_SUCCESS)
		return fail(g, error);
	for (int64_t i = 0; i < g->count; i++) {
		g->ids[i] = (uint32_t)i;
		if (marks)
			g->wall_touched[i] = (uint16_t)marks[i];
	}
	g->list.count = 0; // of another time
	g->listed = false;
	g->lag.open = false;
	g->lag.steps = 0;
	g->host_fresh = true;
	g->springs_fresh = springs;
	return true;
}

bool granular_fetch(sim_granular *g, bool springs, sim_error *error)
{
	sim_error unwanted;
	error = error ? error : &unwanted;
	if (!g->grains || (g->host_fresh && (g->springs_fresh || !springs)))
		return true;
	if (g->failed)
		return sim_fail(error, "the simulation failed before");
	const size_t bytes = springs && g->wall_touched ? (size_t)g->count * sizeof(uint32_t) : 0;
	uint32_t *marks = bytes ? granular_alloc(g, bytes) : NULL;
	if (bytes && !marks) {
		g->failed = true;
		return granular_no_memory("the spheres of a device", error);
	}
	const bool fetched = fetch_into(g, springs, marks, error);
	granular_free(g, marks, bytes);
	return fetched;
}

bool sim_granular_fetch(sim_granular *g, sim_error *error) { return granular_fetch(g, true, error); }
