// Parts of space for ranks, by recursive bisection: space is cut across the longest side of the
// spheres' box so that both sides have work for their numbers of ranks, then each side again
// (Berger and Bokhari, A partitioning strategy for nonuniform problems on multiprocessors, 1987).
// No rank knows all spheres: each counts the work of its own in bins along the side, the sums tell
// in which bin the cut lies, and this one is divided again. All ranks find the same cuts from the
// same sums.
//
// The work of a sphere is one and twice its entries in the list that ends. Space is cut where a
// rank has a twentieth more than the mean, and a fiftieth more than the last cuts left: parts of
// few spheres cannot be even.
#include "sim/grains/granular_share.h"

#include <math.h>
#include <string.h>

enum { BINS = 256, ROUNDS = 3 };
#define UNEVEN 1.05
#define UNEVEN_AGAIN 1.02

int granular_rank_of(const granular_share *s, const granular_place *place)
{
	const double x[3] = { place->x, place->y, place->z };
	int cut = 0, first = 0, last = s->ranks.count;
	while (last - first > 1) {
		const int middle = first + (last - first) / 2;
		if (x[s->cuts[cut].axis] < s->cuts[cut].at) {
			cut++;
			last = middle;
		} else {
			cut += middle - first;
			first = middle;
		}
	}
	return first;
}

/// Ranks first to last - 1, whose part of space is not cut yet.
typedef struct part {
	int first, last, cut;
	int axis;
	double low, high; // where the cut is sought
	int64_t all;      // work
	int64_t below;    // work below low
} part;

/// The parts of one depth of the tree.
typedef struct level {
	sim_granular *g;
	part *parts; // [count]
	double *box; // [6*count] opposites of the least numbers, largest numbers
	int64_t *bins;
	uint32_t *seats; // number of the part of each own sphere
	int count;
} level;

static int64_t weight_of(const sim_granular *g, int64_t i)
{
	return g->listed && g->list.count == g->count ? 1 + 2 * (g->list.first[i + 1] - g->list.first[i]) : 1;
}

static double along(const sim_granular *g, int64_t i, int axis)
{
	const granular_place *p = &g->places[i];
	return axis == 0 ? p->x : axis == 1 ? p->y : p->z;
}

/// Seek along the longest side of what each part holds.
static bool choose_axes(level *l)
{
	const granular_share *s = l->g->share;
	for (int i = 0; i < 6 * l->count; i++)
		l->box[i] = -INFINITY;
	for (int64_t i = 0; i < l->g->count; i++) {
		double *box = &l->box[6 * l->seats[i]];
		for (int k = 0; k < 3; k++) {
			const double x = along(l->g, i, k);
			box[k] = -x > box[k] ? -x : box[k];
			box[3 + k] = x > box[3 + k] ? x : box[3 + k];
		}
	}
	if (!s->ranks.most(s->ranks.user, 6 * l->count, l->box))
		return false;
	for (int p = 0; p < l->count; p++) {
		const double *box = &l->box[6 * p];
		part *at = &l->parts[p];
		at->axis = 0;
		for (int k = 1; k < 3; k++) {
			if (box[3 + k] + box[k] > box[3 + at->axis] + box[at->axis])
				at->axis = k;
		}
		const bool empty = !(box[3 + at->axis] + box[at->axis] >= 0);
		at->low = empty ? 0 : -box[at->axis];
		at->high = empty ? 0 : box[3 + at->axis];
		at->below = 0;
	}
	return true;
}

static double edge_of(const part *p, int bin) { return p->low + bin * ((p->high - p->low) / BINS); }

static bool fill_bins(level *l, bool whole)
{
	const granular_share *s = l->g->share;
	memset(l->bins, 0, (size_t)l->count * BINS * sizeof *l->bins);
	for (int64_t i = 0; i < l->g->count; i++) {
		const part *p = &l->parts[l->seats[i]];
		const double x = along(l->g, i, p->axis);
		if (!whole && !(x >= p->low && x < p->high))
			continue;
		const double t = p->high > p->low ? (x - p->low) / (p->high - p->low) * BINS : 0;
		const int bin = t < 0 ? 0 : t < BINS ? (int)t : BINS - 1;
		l->bins[l->seats[i] * BINS + bin] += weight_of(l->g, i);
	}
	return s->ranks.sum(s->ranks.user, (int64_t)l->count * BINS, l->bins);
}

/// Seek in the bin in which the lower ranks have their work.
static void choose_bin(part *p, const int64_t *bins, bool whole)
{
	if (whole) {
		p->all = 0;
		for (int b = 0; b < BINS; b++)
			p->all += bins[b];
	}
	const int ranks = p->last - p->first;
	const double target = (double)p->all * (ranks / 2) / ranks;
	int bin = 0;
	while (bin < BINS - 1 && (double)(p->below + bins[bin]) < target)
		p->below += bins[bin++];
	const double low = edge_of(p, bin), high = edge_of(p, bin + 1);
	p->low = low;
	p->high = high;
}

static bool cut_level(level *l)
{
	granular_share *s = l->g->share;
	if (!choose_axes(l))
		return false;
	for (int round = 0; round < ROUNDS; round++) {
		if (!fill_bins(l, round == 0))
			return false;
		for (int p = 0; p < l->count; p++)
			choose_bin(&l->parts[p], &l->bins[(size_t)p * BINS], round == 0);
	}
	for (int p = 0; p < l->count; p++) {
		const part *at = &l->parts[p];
		if (at->last - at->first > 1)
			s->cuts[at->cut] = (granular_cut){ at->axis, at->high };
	}
	return true;
}

/// The parts on both sides of the cuts; a part of one rank stays. old: room for as many parts.
static void next_level(level *l, part *old)
{
	const granular_share *s = l->g->share;
	const int count = l->count;
	memcpy(old, l->parts, (size_t)count * sizeof *old);
	l->count = 0;
	for (int p = 0; p < count; p++) {
		const part *from = &old[p];
		const int middle = from->first + (from->last - from->first) / 2;
		old[p].all = l->count; // the number of its lower side
		if (from->last - from->first > 1)
			l->parts[l->count++] = (part){ .first = from->first, .last = middle, .cut = from->cut + 1 };
		l->parts[l->count++] = (part){ .first = from->last - from->first > 1 ? middle : from->first,
			.last = from->last,
			.cut = from->cut + middle - from->first };
	}
	for (int64_t i = 0; i < l->g->count; i++) {
		const part *from = &old[l->seats[i]];
		const granular_cut *cut = &s->cuts[from->cut];
		const bool above = from->last - from->first > 1 && !(along(l->g, i, cut->axis) < cut->at);
		l->seats[i] = (uint32_t)from->all + above;
	}
}

static bool cut_space(level *l, part *old)
{
	const int n = l->g->share->ranks.count;
	l->parts[0] = (part){ .last = n };
	l->count = 1;
	if (l->g->count > 0)
		memset(l->seats, 0, (size_t)l->g->count * sizeof *l->seats);
	while (l->count < n) {
		if (!cut_level(l))
			return false;
		next_level(l, old);
	}
	return true;
}

/// The largest work of a rank over the mean, when spheres are on their seats; below 0: a rank is
/// lost.
static double weigh_seats(const level *l)
{
	const granular_share *s = l->g->share;
	const int n = s->ranks.count;
	memset(l->bins, 0, (size_t)n * sizeof *l->bins);
	for (int64_t i = 0; i < l->g->count; i++)
		l->bins[l->seats[i]] += weight_of(l->g, i);
	if (!s->ranks.sum(s->ranks.user, n, l->bins))
		return -1;
	int64_t most = 0, all = 0;
	for (int r = 0; r < n; r++) {
		most = l->bins[r] > most ? l->bins[r] : most;
		all += l->bins[r];
	}
	return all > 0 ? (double)most * n / (double)all : 1;
}

bool granular_balance_cuts(sim_granular *g, sim_error *error)
{
	granular_share *s = g->share;
	const size_t n = (size_t)s->ranks.count;
	const size_t bins = n * BINS * sizeof(int64_t), parts = n * sizeof(part), boxes = 6 * n * sizeof(double);
	if (!granular_grow(g, &s->seats, (size_t)g->count * sizeof(uint32_t), 0) ||
		!granular_grow(g, &s->bins, bins + 2 * parts + boxes, 0))
		return granular_no_memory("the parts of space", error);
	char *at = s->bins.data;
	level l = { .g = g,
		.bins = (int64_t *)(void *)at,
		.parts = (part *)(void *)(at + bins),
		.box = (double *)(void *)(at + bins + 2 * parts),
		.seats = (uint32_t *)(void *)s->seats.data };
	double uneven = INFINITY;
	if (s->is_cut) {
		for (int64_t i = 0; i < g->count; i++)
			l.seats[i] = (uint32_t)granular_rank_of(s, &g->places[i]);
		uneven = weigh_seats(&l);
	}
	if (uneven >= 0 && uneven <= (s->after_cut * UNEVEN_AGAIN > UNEVEN ? s->after_cut * UNEVEN_AGAIN : UNEVEN))
		return true;
	const bool cut = uneven >= 0 && cut_space(&l, l.parts + n);
	s->after_cut = cut ? weigh_seats(&l) : -1;
	s->broken |= s->after_cut < 0;
	s->is_cut = true;
	s->balance.cuts++;
	return !granular_lost_ranks(g, error);
}
