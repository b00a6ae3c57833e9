// The spheres of a scene as a part of a checkpoint: see granular_tape.h. Laws, walls and radii are
// those of the scene; places, motions and springs are in the state, by the numbers of the spheres.
#include "scene/granular_tape.h"

#include "sim/base/state_hash.h"
#include "sim/grains/granular_memento.h"
#include "sim/grains/granular_output.h"
#include "sim/grains/granular_ranks.h"

#include <stdlib.h>
#include <string.h>

/// Sizes of what follows.
typedef struct outline {
	int64_t count, contacts, wall_contacts; // below 0: there are no such springs
	uint64_t radii;
	int32_t turns;
} outline;

static void move_outline(sim_tape *tape, outline *o)
{
	sim_tape_move(tape, &o->count, sizeof o->count);
	sim_tape_move(tape, &o->contacts, sizeof o->contacts);
	sim_tape_move(tape, &o->wall_contacts, sizeof o->wall_contacts);
	sim_tape_move(tape, &o->radii, sizeof o->radii);
	sim_tape_move(tape, &o->turns, sizeof o->turns);
}

static void move_springs(sim_tape *tape, const outline *o, sim_granular_memento *m)
{
	const size_t count = (size_t)o->count;
	sim_tape_move(tape, &m->steps, sizeof m->steps);
	sim_tape_move(tape, &m->max_overlap, sizeof m->max_overlap);
	if (o->contacts >= 0) {
		const size_t contacts = (size_t)o->contacts;
		sim_tape_move(tape, m->contact_first, (count + 1) * sizeof *m->contact_first);
		sim_tape_move(tape, m->contact_other, contacts * sizeof *m->contact_other);
		sim_tape_move(tape, m->contact_springs, 3 * contacts * sizeof *m->contact_springs);
	}
	if (o->wall_contacts >= 0) {
		sim_tape_move(tape, m->wall_touched, count * sizeof *m->wall_touched);
		sim_tape_move(tape, m->wall_springs, 3 * (size_t)o->wall_contacts * sizeof *m->wall_springs);
	}
}

static void write_state(sim_tape *tape, const sim_granular_frame *f, sim_granular_memento *m)
{
	const size_t bytes = 3 * (size_t)f->count * sizeof(double);
	outline o = { .count = f->count,
		.contacts = m->contact_first ? m->contact_first[f->count] : -1,
		.wall_contacts = m->wall_touched ? m->wall_contacts : -1,
		.radii = sim_hash_doubles(SIM_HASH_START, f->radii, f->count),
		.turns = m->turns };
	move_outline(tape, &o);
	sim_tape_move(tape, f->centres, bytes);
	sim_tape_move(tape, f->velocities, bytes);
	if (m->turns)
		sim_tape_move(tape, f->angular_velocities, bytes);
	move_springs(tape, &o, m);
}

static bool save_alone(sim_granular *g, sim_tape *tape, sim_error *error)
{
	sim_granular_memento m;
	sim_granular_frame f;
	if (!sim_granular_take_memento(g, &m, error))
		return false;
	const bool taken = sim_take_granular_frame(g, &f);
	if (taken) {
		write_state(tape, &f, &m);
		sim_free_granular_frame(&f);
	}
	sim_granular_drop_memento(g, &m);
	return taken || sim_fail(error, "out of memory");
}

static bool save_shared(sim_granular *g, sim_tape *tape, sim_error *error)
{
	sim_granular_memento m;
	sim_granular_frame f;
	if (!sim_granular_gather_state(g, &f, &m, error))
		return false;
	write_state(tape, &f, &m);
	sim_free_granular_frame(&f);
	sim_free_granular_springs(&m);
	return true;
}

bool scene_save_granular(sim_granular *g, sim_tape *tape, sim_error *error)
{
	const bool saved = sim_granular_get_ranks(g) ? save_shared(g, tape, error) : save_alone(g, tape, error);
	if (!saved || !sim_granular_move_touches(g, tape, error))
		return false;
	return !tape->failed || sim_fail(error, "out of memory");
}

// ---- Loading ----

static bool check_outline(const sim_tape *tape, const outline *o, const scene_granular_filling *f, sim_error *error)
{
	const int64_t most = (int64_t)(tape->size / sizeof(double));
	if (tape->failed || o->contacts > most || o->wall_contacts > most)
		return sim_fail(error, "field \"spheres\": the state does not fit together");
	if (o->count != f->count)
		return sim_fail(error, "field \"spheres\": there are %lld of them, not %lld", (long long)f->count, (long long)o->count);
	return o->radii == sim_hash_doubles(SIM_HASH_START, f->radii, f->count) ||
		sim_fail(error, "field \"spheres\": their radii are others");
}

static bool reserve(const outline *o, scene_granular_filling *f, sim_granular_memento *m)
{
	const size_t count = (size_t)o->count, contacts = o->contacts > 0 ? (size_t)o->contacts : 0;
	const size_t walls = o->wall_contacts > 0 ? (size_t)o->wall_contacts : 0;
	if (o->turns && !f->angular_velocities)
		f->angular_velocities = malloc(3 * (count + 1) * sizeof *f->angular_velocities);
	m->contact_first = calloc(count + 1, sizeof *m->contact_first);
	m->contact_other = malloc((contacts + 1) * sizeof *m->contact_other);
	m->contact_springs = malloc(3 * (contacts + 1) * sizeof *m->contact_springs);
	m->wall_touched = calloc(count + 1, sizeof *m->wall_touched);
	m->wall_springs = malloc(3 * (walls + 1) * sizeof *m->wall_springs);
	return m->contact_first && m->contact_other && m->contact_springs && m->wall_touched && m->wall_springs &&
		(!o->turns || f->angular_velocities);
}

static bool rows_fit(const outline *o, const sim_granular_memento *m)
{
	bool fit = o->contacts < 0 || (m->contact_first[0] == 0 && m->contact_first[o->count] == o->contacts);
	int64_t bits = 0;
	for (int64_t i = 0; i < o->count; i++) {
		fit = fit && m->contact_first[i] <= m->contact_first[i + 1];
		for (uint32_t b = m->wall_touched[i]; b; b &= b - 1)
			bits++;
	}
	for (int64_t i = 0; i < o->contacts && fit; i++)
		fit = m->contact_other[i] < (uint64_t)o->count;
	return fit && (o->wall_contacts < 0 || bits == o->wall_contacts);
}

static sim_granular *make(carom_context *context, const scene_description *scene, const scene_granular_filling *f,
	const sim_granular_memento *m, sim_tape *tape, sim_error *error)
{
	const sim_granular_def def = scene_filled_def(scene, f);
	sim_granular *g = sim_create_granular(context, &def, error);
	if (g && sim_granular_restore_memento(g, m, error) && sim_granular_move_touches(g, tape, error))
		return g;
	sim_destroy_granular(g);
	return NULL;
}

sim_granular *scene_load_granular(
	carom_context *context, const scene_description *scene, scene_granular_filling *f, sim_tape *tape, sim_error *error)
{
	outline o = { 0 };
	sim_granular_memento m = { 0 };
	sim_granular *g = NULL;
	move_outline(tape, &o);
	if (!check_outline(tape, &o, f, error))
		return NULL;
	m.turns = o.turns;
	m.wall_contacts = o.wall_contacts > 0 ? o.wall_contacts : 0;
	if (!reserve(&o, f, &m)) {
		sim_fail(error, "out of memory");
	} else {
		const size_t bytes = 3 * (size_t)o.count * sizeof(double);
		sim_tape_move(tape, f->centres, bytes);
		sim_tape_move(tape, f->velocities, bytes);
		if (o.turns)
			sim_tape_move(tape, f->angular_velocities, bytes);
		move_springs(tape, &o, &m);
		if (tape->failed || !rows_fit(&o, &m))
			sim_fail(error, "field \"spheres\": the state does not fit together");
		else
			g = make(context, scene, f, &m, tape, error);
	}
	free(m.contact_first);
	free(m.contact_other);
	free(m.contact_springs);
	free(m.wall_touched);
	free(m.wall_springs);
	return g;
}
