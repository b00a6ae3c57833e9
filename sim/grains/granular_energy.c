// Energies and momentum on demand. Each sphere's share is added in the order of the ids with the
// lost low parts kept (Neumaier 1974), so that the sums depend neither on the order in memory nor
// much on the number of spheres.
#include "sim/grains/granular_state.h"

#include <math.h>
#include <string.h>

enum { MIN_RANGE = 1024 };

/// Results by id.
typedef struct survey {
	sim_granular *g;
	uint32_t *index;   // of each id
	double *elastic;   // NULL: not wanted
	int32_t *contacts; // NULL: not wanted
} survey;

static void survey_range(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const survey *s = task;
	for (int64_t i = begin; i < end; i++) {
		const uint32_t id = s->g->ids[i];
		int32_t contacts;
		const double energy = granular_pair_energy(s->g, i, &contacts);
		if (s->contacts)
			s->contacts[id] = contacts;
		if (!s->elastic)
			continue;
		s->index[id] = (uint32_t)i;
		s->elastic[id] = energy + granular_wall_energy(s->g, i);
	}
}

static void run_survey(survey *s)
{
	granular_place_walls(s->g);
	granular_mirror_histories(s->g);
	carom_parallel_for(s->g->context, survey_range, s->g->count, MIN_RANGE, s);
}

/// A sum and the loss of its roundings.
typedef struct sum {
	double value, lost;
} sum;

static void add(sum *s, double x)
{
	const double value = s->value + x;
	s->lost += fabs(s->value) >= fabs(x) ? (s->value - value) + x : (x - value) + s->value;
	s->value = value;
}

enum { KINETIC, ROTATIONAL, POTENTIAL, ELASTIC, MOMENTUM, ANGULAR = MOMENTUM + 3, SUMS = ANGULAR + 3 };

static void add_spin(const granular_spin *w, sum sums[SUMS])
{
	const double inertia = 1 / w->inverse_inertia;
	add(&sums[ROTATIONAL], 0.5 * inertia * (w->x * w->x + w->y * w->y + w->z * w->z));
	add(&sums[ANGULAR], inertia * w->x);
	add(&sums[ANGULAR + 1], inertia * w->y);
	add(&sums[ANGULAR + 2], inertia * w->z);
}

static void add_sphere(const sim_granular *g, uint32_t i, const double gravity[3], sum sums[SUMS])
{
	const granular_place *p = &g->places[i];
	const granular_motion *v = &g->motions[i];
	const double mass = 1 / v->inverse_mass;
	add(&sums[KINETIC], 0.5 * mass * (v->x * v->x + v->y * v->y + v->z * v->z));
	add(&sums[POTENTIAL], -mass * (gravity[0] * p->x + gravity[1] * p->y + gravity[2] * p->z));
	add(&sums[MOMENTUM], mass * v->x);
	add(&sums[MOMENTUM + 1], mass * v->y);
	add(&sums[MOMENTUM + 2], mass * v->z);
	add(&sums[ANGULAR], mass * (p->y * v->z - p->z * v->y));
	add(&sums[ANGULAR + 1], mass * (p->z * v->x - p->x * v->z));
	add(&sums[ANGULAR + 2], mass * (p->x * v->y - p->y * v->x));
	if (g->spins)
		add_spin(&g->spins[i], sums);
}

static void sum_up(const survey *s, sim_granular_energy *energy)
{
	const sim_granular *g = s->g;
	double gravity[3];
	sim_granular_get_gravity(g, gravity);
	sum sums[SUMS];
	memset(sums, 0, sizeof sums);
	for (int64_t id = 0; id < g->count; id++) {
		add_sphere(g, s->index[id], gravity, sums);
		add(&sums[ELASTIC], s->elastic[id]);
	}
	double total[SUMS];
	for (int k = 0; k < SUMS; k++)
		total[k] = sums[k].value + sums[k].lost;
	*energy = (sim_granular_energy){ total[KINETIC], total[ROTATIONAL], total[POTENTIAL], total[ELASTIC],
		{ total[MOMENTUM], total[MOMENTUM + 1], total[MOMENTUM + 2] },
		{ total[ANGULAR], total[ANGULAR + 1], total[ANGULAR + 2] } };
}

bool sim_granular_get_energy(sim_granular *g, sim_granular_energy *energy, sim_error *error)
{
	*energy = (sim_granular_energy){ 0 };
	if (g->count == 0)
		return true;
	if (g->share)
		return sim_fail(error, "energies of a simulation that ranks share are not known: gather it first");
	if (!granular_keep_list(g, error))
		return false;
	granular_catch_up(g);
	const size_t count = (size_t)g->count;
	survey s = {
		.g = g, .index = granular_alloc(g, count * sizeof *s.index), .elastic = granular_alloc(g, count * sizeof *s.elastic)
	};
	const bool room = s.index && s.elastic;
	if (room) {
		run_survey(&s);
		sum_up(&s, energy);
	}
	granular_free(g, s.index, count * sizeof *s.index);
	granular_free(g, s.elastic, count * sizeof *s.elastic);
	return room || granular_no_memory("energies", error);
}

bool sim_granular_count_contacts(sim_granular *g, int32_t *counts, sim_error *error)
{
	if (g->share)
		return sim_fail(error, "contacts by sphere of a simulation that ranks share are not known: gather it first");
	if (!granular_keep_list(g, error))
		return false;
	survey s = { .g = g, .contacts = counts };
	run_survey(&s);
	return true;
}
