// The state of a simulation that ranks share, in the order of the ids: each rank gets those of a
// range of ids, whoever owns them.
#include "sim/grains/granular_share.h"

#include "sim/base/state_hash.h"

#include <stdlib.h>
#include <string.h>

/// First id of a rank's range.
static int64_t range_of(const sim_granular *g, int rank) { return g->total * rank / g->share->ranks.count; }

/// The rank in whose range an id is.
static int rank_of_id(const sim_granular *g, int64_t id)
{
	int rank = (int)(id * g->share->ranks.count / g->total);
	while (range_of(g, rank) > id)
		rank--;
	while (range_of(g, rank + 1) <= id)
		rank++;
	return rank;
}

/// A sphere as it goes to the rank of its id.
typedef struct named {
	int64_t id;
	double centre[3], radius, velocity[3], spin[3];
} named;

static named name_sphere(const sim_granular *g, int64_t i)
{
	const granular_place *p = &g->places[i];
	const granular_motion *v = &g->motions[i];
	named n = { g->ids[i], { p->x, p->y, p->z }, p->r, { v->x, v->y, v->z }, { 0, 0, 0 } };
	if (g->spins)
		memcpy(n.spin, &g->spins[i], sizeof n.spin);
	return n;
}

static bool send_named(sim_granular *g)
{
	granular_share *s = g->share;
	memset(s->out.first, 0, ((size_t)s->ranks.count + 1) * sizeof *s->out.first);
	for (int64_t i = 0; i < g->count; i++)
		s->out.first[rank_of_id(g, g->ids[i]) + 1] += (int64_t)sizeof(named);
	if (!granular_lay_parcels(g, &s->out))
		return false;
	for (int64_t i = 0; i < g->count; i++) {
		const named n = name_sphere(g, i);
		const int rank = rank_of_id(g, n.id);
		memcpy(s->out.bytes.data + s->out.first[rank], &n, sizeof n);
		s->out.first[rank] += (int64_t)sizeof n;
	}
	memmove(s->out.first + 1, s->out.first, (size_t)s->ranks.count * sizeof *s->out.first);
	s->out.first[0] = 0;
	return true;
}

static bool open_frame(sim_granular_frame *f, int64_t count)
{
	const size_t n = (size_t)count;
	*f = (sim_granular_frame){ .count = count,
		.centres = malloc(3 * n * sizeof(double) + 1),
		.radii = malloc(n * sizeof(double) + 1),
		.velocities = malloc(3 * n * sizeof(double) + 1),
		.angular_velocities = malloc(3 * n * sizeof(double) + 1) };
	return f->centres && f->radii && f->velocities && f->angular_velocities;
}

static void fill_frame(const sim_granular *g, sim_granular_frame *f, int64_t first)
{
	const granular_share *s = g->share;
	for (int64_t at = 0; at < s->in.first[s->ranks.count]; at += (int64_t)sizeof(named)) {
		named n;
		memcpy(&n, s->in.bytes.data + at, sizeof n);
		const int64_t k = n.id - first;
		memcpy(&f->centres[3 * k], n.centre, sizeof n.centre);
		memcpy(&f->velocities[3 * k], n.velocity, sizeof n.velocity);
		memcpy(&f->angular_velocities[3 * k], n.spin, sizeof n.spin);
		f->radii[k] = n.radius;
	}
}

bool sim_granular_spread_frame(sim_granular *g, sim_granular_frame *part, int64_t *first, sim_error *error)
{
	granular_share *s = g->share;
	*part = (sim_granular_frame){ 0 };
	if (g->failed)
		return sim_fail(error, "the simulation failed before");
	granular_catch_up(g);
	if (!send_named(g))
		return granular_no_memory("the state", error);
	if (!granular_swap_parcels(g, error))
		return false;
	*first = range_of(g, s->ranks.rank);
	if (!open_frame(part, range_of(g, s->ranks.rank + 1) - *first)) {
		sim_free_granular_frame(part);
		return granular_no_memory("the state", error);
	}
	fill_frame(g, part, *first);
	return granular_restore_parcels(g) || granular_no_memory("the state", error);
}

/// Let the ranks hash their numbers one after the other.
static bool chain(const sim_ranks *ranks, const double *numbers, int64_t count, uint64_t *hash)
{
	for (int r = 0; r < ranks->count; r++) {
		int64_t word = 0;
		if (r == ranks->rank) {
			const uint64_t mine = sim_hash_doubles(*hash, numbers, count);
			memcpy(&word, &mine, sizeof word);
		}
		if (!ranks->sum(ranks->user, 1, &word))
			return false;
		memcpy(hash, &word, sizeof word);
	}
	return true;
}

bool sim_granular_hash_ranks(sim_granular *g, uint64_t *hash, sim_error *error)
{
	sim_granular_frame f;
	int64_t first;
	*hash = SIM_HASH_START;
	if (!sim_granular_spread_frame(g, &f, &first, error))
		return false;
	const sim_ranks *ranks = &g->share->ranks;
	const bool done = chain(ranks, f.centres, 3 * f.count, hash) && chain(ranks, f.radii, f.count, hash) &&
		chain(ranks, f.velocities, 3 * f.count, hash) && chain(ranks, f.angular_velocities, 3 * f.count, hash);
	sim_free_granular_frame(&f);
	g->share->broken |= !done;
	return !granular_lost_ranks(g, error);
}
