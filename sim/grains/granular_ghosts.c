// Ghosts: copies of spheres of other ranks that may touch an own one while a list holds. A rank
// tells the others the box of its centres and its largest radius; each sends those of its spheres
// that come near enough, once whole, then in each step where they are and how they move. Space that
// repeats needs no images: the nearest one is taken where two spheres meet, so that a sphere is a
// ghost of a rank once at most.
//
// A sphere that stands in a row of another rank is on the border and has that rank's sphere in its
// own row, since lists are symmetric.
#include "sim/grains/granular_share.h"

#include <math.h>
#include <string.h>

/// A sphere as another rank gets it.
typedef struct ghost {
	granular_place place;
	granular_motion motion;
	granular_spin spin;
	uint32_t id, unused;
} ghost;

/// Numbers of a ghost that change: place, velocity, and spin where spheres turn.
static int numbers_of(const sim_granular *g) { return g->turns ? 9 : 6; }

// Numbers of a rank's box: opposites of the least, the largest, the largest radius.
enum { BOX = 7 };

static void find_box(const sim_granular *g, double box[BOX])
{
	for (int64_t i = 0; i < g->count; i++) {
		const granular_place *p = &g->places[i];
		const double x[3] = { p->x, p->y, p->z };
		for (int k = 0; k < 3; k++) {
			box[k] = -x[k] > box[k] ? -x[k] : box[k];
			box[3 + k] = x[k] > box[3 + k] ? x[k] : box[3 + k];
		}
		box[6] = p->r > box[6] ? p->r : box[6];
	}
}

static bool tell_boxes(sim_granular *g, sim_error *error)
{
	granular_share *s = g->share;
	for (int i = 0; i < BOX * s->ranks.count; i++)
		s->boxes[i] = -INFINITY;
	find_box(g, &s->boxes[(size_t)BOX * (size_t)s->ranks.rank]);
	s->broken |= !s->ranks.most(s->ranks.user, (int64_t)BOX * s->ranks.count, s->boxes);
	return !granular_lost_ranks(g, error);
}

static double most(double a, double b) { return a > b ? a : b; }

/// Squared distance of a box to another, by the nearest image. Both as find_box has them.
static double squared_gap(const sim_granular *g, const double *a, const double *b)
{
	double squared = 0;
	for (int k = 0; k < 3; k++) {
		const double low_a = -a[k], high_a = a[3 + k], low_b = -b[k], high_b = b[3 + k];
		double gap = most(0, most(low_b - high_a, low_a - high_b));
		if (g->def.periodic[k]) {
			const double period = g->def.upper[k] - g->def.lower[k];
			const double up = most(0, most(low_b - (high_a + period), low_a + period - high_b));
			const double down = most(0, most(low_b - (high_a - period), low_a - period - high_b));
			gap = up < gap ? up : gap;
			gap = down < gap ? down : gap;
		}
		squared += gap * gap;
	}
	return squared;
}

/// Farther away than this nothing is in a list; a little more for the rounding of the distance.
static double reach_of(const sim_granular *g, double radii) { return (radii + g->skin) * (1 + 1e-9) + 1e-12 * g->extent; }

static bool add_sent(sim_granular *g, int64_t count, int64_t i)
{
	granular_buffer *sent = &g->share->sent;
	const size_t held = (size_t)count * sizeof(uint32_t);
	if (!granular_grow(g, sent, held + sizeof(uint32_t), held))
		return false;
	const uint32_t index = (uint32_t)i;
	memcpy(sent->data + held, &index, sizeof index);
	return true;
}

/// The own spheres that a rank needs go behind those that are chosen already. False when memory is
/// short.
static bool choose_for(sim_granular *g, int rank, int64_t *count)
{
	const granular_share *s = g->share;
	const double *mine = &s->boxes[BOX * s->ranks.rank], *box = &s->boxes[BOX * rank];
	if (rank == s->ranks.rank || !(box[6] > 0) || !(mine[6] > 0))
		return true;
	const double farthest = reach_of(g, mine[6] + box[6]);
	if (squared_gap(g, mine, box) > farthest * farthest)
		return true;
	for (int64_t i = 0; i < g->count; i++) {
		const granular_place *p = &g->places[i];
		const double at[BOX] = { -p->x, -p->y, -p->z, p->x, p->y, p->z }, reach = reach_of(g, p->r + box[6]);
		if (squared_gap(g, at, box) > reach * reach)
			continue;
		if (!add_sent(g, (*count)++, i))
			return false;
		g->border[i] = 1;
	}
	return true;
}

static const uint32_t *sent_of(const granular_share *s) { return (const uint32_t *)(const void *)s->sent.data; }

static bool choose_all(sim_granular *g)
{
	granular_share *s = g->share;
	int64_t count = 0;
	memset(g->border, 0, (size_t)g->count);
	for (int r = 0; r < s->ranks.count; r++) {
		if (!choose_for(g, r, &count))
			return false;
		s->sent_first[r + 1] = count;
		s->out.first[r + 1] = (s->sent_first[r + 1] - s->sent_first[r]) * (int64_t)sizeof(ghost);
	}
	if (!granular_lay_parcels(g, &s->out))
		return false;
	for (int64_t k = 0; k < count; k++) {
		const uint32_t i = sent_of(s)[k];
		ghost one = { .place = g->places[i], .motion = g->motions[i], .id = g->ids[i] };
		if (g->spins)
			one.spin = g->spins[i];
		memcpy(s->out.bytes.data + (size_t)k * sizeof one, &one, sizeof one);
	}
	return true;
}

static bool take_ghosts(sim_granular *g)
{
	granular_share *s = g->share;
	for (int r = 0; r <= s->ranks.count; r++)
		s->ghost_first[r] = s->in.first[r] / (int64_t)sizeof(ghost);
	s->ghosts = s->ghost_first[s->ranks.count];
	if (!granular_grow_arrays(g, g->count + s->ghosts))
		return false;
	for (int64_t k = 0; k < s->ghosts; k++) {
		ghost one;
		memcpy(&one, s->in.bytes.data + (size_t)k * sizeof one, sizeof one);
		g->places[g->count + k] = one.place;
		g->motions[g->count + k] = one.motion;
		g->ids[g->count + k] = one.id;
		if (g->spins)
			g->spins[g->count + k] = one.spin;
	}
	return true;
}

bool granular_restore_parcels(sim_granular *g)
{
	granular_share *s = g->share;
	const int64_t size = numbers_of(g) * (int64_t)sizeof(double);
	for (int r = 0; r < s->ranks.count; r++) {
		s->out.first[r + 1] = (s->sent_first[r + 1] - s->sent_first[r]) * size;
		s->in.first[r + 1] = (s->ghost_first[r + 1] - s->ghost_first[r]) * size;
	}
	return granular_lay_parcels(g, &s->out) && granular_lay_parcels(g, &s->in);
}

bool granular_call_ghosts(sim_granular *g, sim_error *error)
{
	if (!tell_boxes(g, error))
		return false;
	if (!choose_all(g))
		return granular_no_memory("ghosts", error);
	if (!granular_swap_parcels(g, error))
		return false;
	return (take_ghosts(g) && granular_restore_parcels(g)) || granular_no_memory("ghosts", error);
}

bool granular_renew_ghosts(sim_granular *g, sim_error *error)
{
	granular_share *s = g->share;
	const int numbers = numbers_of(g);
	const size_t third = 3 * sizeof(double);
	for (int64_t k = 0; k < s->sent_first[s->ranks.count]; k++) {
		const uint32_t i = sent_of(s)[k];
		char *to = s->out.bytes.data + (size_t)k * (size_t)numbers * sizeof(double);
		memcpy(to, &g->places[i], third);
		memcpy(to + third, &g->motions[i], third);
		if (g->spins)
			memcpy(to + 2 * third, &g->spins[i], third);
	}
	s->broken |= !s->ranks.swap(s->ranks.user, s->out.bytes.data, s->out.first, s->in.bytes.data, s->in.first);
	if (granular_lost_ranks(g, error))
		return false;
	for (int64_t k = 0; k < s->ghosts; k++) {
		const char *from = s->in.bytes.data + (size_t)k * (size_t)numbers * sizeof(double);
		memcpy(&g->places[g->count + k], from, third);
		memcpy(&g->motions[g->count + k], from + third, third);
		if (g->spins)
			memcpy(&g->spins[g->count + k], from + 2 * third, third);
	}
	return true;
}
