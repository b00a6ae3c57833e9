// Limits of stretch. After the solver, edges that are longer than they may be are pulled short, the
// features of contacts put apart, and so on in turn until all hold: the sets of places that satisfy
// one of them are convex (contacts with their normals), so each pull brings places nearer to those
// that satisfy all (projections onto convex sets; Bregman 1965).
//
// Among led solids a correction of places over a step says nothing about velocities. Edges are
// pulled shorter than they need to be, and depths of earlier steps are taken back. As velocities,
// these corrections gave energy to cloth that is taut, and to bodies on it, the more the shorter
// the steps were. So velocities have a turn of their own: an edge that was held gets no longer, and
// features that were put apart do not approach. Each of these is an inelastic impact between two
// sides: momentum is kept, and kinetic energy never grows, however few the sweeps are.
#include "sim/cloth/soft_colors.h"
#include "sim/cloth/soft_levels.h"

#include <string.h>

// An edge that is too long is pulled to this part of the stretch that it may have. So a chain of
// such edges has room to share: cloth_ball at 0.4 of its fineness takes 8.7 turns instead of 14.5
// with 0.92, at most 59 instead of 119.
static const double AIM = 0.5;
// Tethers that corrections have left too long get taut in about so many seconds.
static const double TAUT_TIME = 0.2;

enum {
	MOST_SWEEPS = 400,
	CROSSED_SWEEPS = 30, // where bodies cross, edges may be held too long
	SWEEPS_A_LEVEL = 4,  // sweeps over the edges for one over the coarse levels
	SLOWING_SWEEPS = 16, // there and back, over velocities
	MIN_VERTICES = 2048,
};

/// Pull two vertices together that are farther apart than most, to aim. Returns whether they were.
static bool pull(double *place, const double *inverse_mass, const int32_t v[2], double most, double aim)
{
	double *a = place + 3 * (int64_t)v[0], *b = place + 3 * (int64_t)v[1];
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
	const double square = soft_dot(d, d), wa = inverse_mass[v[0]], wb = inverse_mass[v[1]];
	if (!(square > most * most) || wa + wb == 0)
		return false;
	const double length = sqrt(square), push = (length - aim) / ((wa + wb) * length);
	for (int k = 0; k < 3 && wa > 0; k++)
		a[k] -= wa * push * d[k];
	for (int k = 0; k < 3 && wb > 0; k++)
		b[k] += wb * push * d[k];
	return true;
}

// ---- Coarse levels ----

typedef struct level_task {
	sim_soft *soft;
	const soft_level *level, *above;
	double duration; // above: NULL over the coarsest; level: NULL for the mesh
} level_task;

static void add_shift(const soft_level *above, const soft_parents *of, double shift[3])
{
	for (int i = 0; i < SOFT_MOST_PARENTS; i++) {
		for (int k = 0; k < 3; k++)
			shift[k] += of->weight[i] * above->shift[3 * (int64_t)of->parent[i] + k];
	}
}

/// Where the vertices of a level are, as far as the levels above it have moved them.
static void place_level(int64_t begin, int64_t end, int worker, void *task)
{
	const level_task *t = task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		double shift[3] = { 0, 0, 0 };
		if (t->above && t->level->inverse_mass[i] > 0)
			add_shift(t->above, &t->above->parents[i], shift);
		for (int k = 0; k < 3; k++)
			t->level->place[3 * i + k] = t->soft->place[3 * (int64_t)t->level->vertices[i] + k] + shift[k];
	}
}

static void take_shifts(int64_t begin, int64_t end, int worker, void *task)
{
	const level_task *t = task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		for (int k = 0; k < 3; k++)
			t->level->shift[3 * i + k] = t->level->place[3 * i + k] - t->soft->place[3 * (int64_t)t->level->vertices[i] + k];
	}
}

static void move_vertices(int64_t begin, int64_t end, int worker, void *task)
{
	const level_task *t = task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		double shift[3] = { 0, 0, 0 };
		if (t->soft->inverse_mass[i] == 0)
			continue;
		add_shift(t->above, &t->above->parents[i], shift);
		for (int k = 0; k < 3; k++)
			t->soft->place[3 * i + k] += shift[k];
	}
}

/// How far apart the solver lets the ends of a tether go in a substep: taut, or, where corrections
/// have left them farther apart, a little nearer than they were. Pulled taut in one substep, they
/// would fly together, the faster the shorter it is.
static double taut_length(const level_task *task, const soft_tether *t)
{
	const sim_soft *s = task->soft;
	const soft_level *level = task->level;
	if (!s->coupled)
		return t->taut;

	const double *a = s->before + 3 * (int64_t)level->vertices[t->vertices[0]];
	const double *b = s->before + 3 * (int64_t)level->vertices[t->vertices[1]];
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] }, square = soft_dot(d, d);
	const double excess = square > t->taut * t->taut ? sqrt(square) - t->taut : 0;
	return t->taut + excess * fmax(1 - task->duration / TAUT_TIME, 0);
}

static void limit_tethers(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	const level_task *task = visit->task;
	const soft_level *level = task->level;
	int64_t long_ones = 0;
	for (int64_t i = begin; i < end; i++) {
		const soft_tether *t = &level->tethers[soft_position(visit, begin, end, i)];
		const double most = task->duration == 0 ? t->most : taut_length(task, t);
		long_ones += pull(level->place, level->inverse_mass, t->vertices, most, most);
	}
	visit->soft->tallies[worker].count += long_ones;
}

int64_t soft_limit_levels(sim_soft *s, double duration)
{
	soft_clear_tallies(s);
	level_task task = { .soft = s, .duration = duration };
	for (int32_t i = s->levels->count; i-- > 0; task.above = task.level) {
		task.level = &s->levels->level[i];
		soft_visit visit = { .soft = s, .colors = &task.level->colors, .run = limit_tethers, .task = &task };
		carom_parallel_for(s->context, place_level, task.level->count, MIN_VERTICES, &task);
		soft_run_visit(&visit);
		visit.back = true;
		soft_run_visit(&visit);
		carom_parallel_for(s->context, take_shifts, task.level->count, MIN_VERTICES, &task);
	}
	const int64_t long_ones = soft_sum_tallies(s);
	if (long_ones > 0)
		carom_parallel_for(s->context, move_vertices, s->vertex_count, MIN_VERTICES, &task);
	return long_ones;
}

// ---- Edges ----

static void limit_edges(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	sim_soft *s = visit->soft;
	int64_t long_ones = 0;
	for (int64_t i = begin; i < end; i++) {
		const int64_t at = soft_position(visit, begin, end, i);
		const soft_edge *edge = &s->edges[at];
		const double aim = edge->length + AIM * (edge->most - edge->length);
		if (pull(s->place, s->inverse_mass, edge->vertices, edge->most, aim)) {
			s->edge_held[at] = true;
			long_ones++;
		}
	}
	s->tallies[worker].count += long_ones;
}

/// Pull all edges to their limits, there and back. Returns how often one was too long.
static int64_t limit_all(sim_soft *s)
{
	soft_visit visit = { .soft = s, .colors = &s->edge_colors, .run = limit_edges };
	soft_clear_tallies(s);
	soft_run_visit(&visit);
	visit.back = true;
	soft_run_visit(&visit);
	return soft_sum_tallies(s);
}

// ---- Islands ----

/// Parts that contacts connect are one island, named by the lowest of them.
static void connect_islands(const sim_soft *s, int32_t *islands)
{
	for (int32_t i = 0; i < s->part_count; i++)
		islands[i] = i;
	for (int64_t i = 0; i < s->contacts.count; i++) {
		const int32_t *v = s->contacts.data[i].vertices;
		const int32_t p = s->part_of[v[0]], q = s->part_of[v[3]];
		if (s->parts[p].kind == SIM_SOFT_RIGID || s->parts[q].kind == SIM_SOFT_RIGID)
			continue;
		const int32_t a = soft_find_root(islands, p), b = soft_find_root(islands, q);
		islands[a > b ? a : b] = a < b ? a : b;
	}
}

/// Which parts hang together with something that holds them? Nothing is said of momentum there.
static void mark_anchored(sim_soft *s)
{
	int32_t *islands = s->zone; // scratch: at least three vertices a part
	connect_islands(s, islands);
	for (int32_t i = 0; i < s->part_count; i++)
		s->parts[i].anchored = false;
	for (int32_t i = 0; i < s->vertex_count; i++) {
		const soft_part *part = &s->parts[s->part_of[i]];
		if (s->inverse_mass[i] == 0 && part->kind != SIM_SOFT_RIGID && i < part->first_vertex + part->vertex_count)
			s->parts[soft_find_root(islands, s->part_of[i])].anchored = true;
	}
	for (int32_t i = 0; i < s->part_count; i++)
		s->parts[i].anchored = s->parts[soft_find_root(islands, i)].anchored;
}

// ---- Heavy bodies ----
// A heavy body on cloth that is taut hardly moves when the two are put apart: the cloth gives way,
// edges pull it back, and so on for thousands of turns. Where the cloth is held, momentum is not
// kept anyway. So there a body counts as light as the vertices that it lies on while places are
// corrected: places are what is asked for, not how they are reached. What it had of velocity
// towards the cloth is taken away after that with its true mass.

/// The mean mass of the free vertices that a solid touches, and how many contacts tell. sums: [2 *
/// part_count].
static void weigh_neighbours(const sim_soft *s, double *sums)
{
	memset(sums, 0, 2 * (size_t)s->part_count * sizeof *sums);
	for (int64_t i = 0; i < s->contacts.count; i++) {
		const soft_contact *c = &s->contacts.data[i];
		for (int k = 0; k < 4; k += 3) {
			const int32_t p = s->part_of[c->vertices[k]], q = s->part_of[c->vertices[3 - k]];
			const double inverse = s->inverse_mass[c->vertices[3 - k]];
			if (s->parts[p].kind != SIM_SOFT_SOLID || soft_keeps_form(&s->parts[q]) || inverse == 0)
				continue;
			sums[2 * (int64_t)p] += 1 / inverse;
			sums[2 * (int64_t)p + 1] += 1;
		}
	}
}

/// The power of two nearest below a number from 0 to 1.
static double power_below(double number)
{
	int exponent;
	frexp(number, &exponent);
	return ldexp(1, exponent - 1);
}

/// Let anchored solids be light, or as heavy as they are.
static void ease_solids(sim_soft *s, bool light)
{
	double *sums = s->zone_sum; // scratch
	bool changed = false;
	if (light)
		weigh_neighbours(s, sums);
	for (int32_t i = 0; i < s->part_count; i++) {
		soft_part *part = &s->parts[i];
		const bool eased = light && part->anchored && sums[2 * (int64_t)i + 1] > 0;
		if (part->kind != SIM_SOFT_SOLID || (!eased && part->solid.ease == 1))
			continue;
		const double mass = eased ? sums[2 * (int64_t)i] / sums[2 * (int64_t)i + 1] * part->vertex_count : part->solid.mass;
		soft_ease_solid(s, part, mass < part->solid.mass ? power_below(mass / part->solid.mass) : 1);
		changed = true;
	}
	for (int64_t i = 0; i < s->contacts.count && changed; i++)
		s->contacts.data[i].inverse = soft_weigh_contact(s, &s->contacts.data[i]);
}

// ---- All places ----

void soft_settle(sim_soft *s, double duration)
{
	bool settled = false, eased = !s->coupled || soft_has_spheres(s);
	const int most = s->step.crossings > 0 ? CROSSED_SWEEPS : MOST_SWEEPS;
	if (s->coupled)
		mark_anchored(s);
	for (int sweep = 0; sweep < most && !settled; sweep++) {
		if (sweep % SWEEPS_A_LEVEL == 1)
			soft_limit_levels(s, 0);
		const bool taut = limit_all(s) > 0;
		settled = !taut;
		if (taut && !eased)
			ease_solids(s, true);
		eased = eased || taut;
		settled = soft_part_contacts(s) == 0 && settled;
		settled = soft_part_spheres(s, duration) == 0 && settled;
		if (s->coupled)
			soft_damp_solids(s);
		// Spheres push by less than what counts, too.
		soft_correct_solids(s, taut && s->coupled);
	}
	if (s->coupled)
		ease_solids(s, false);
}

// ---- Velocities ----

/// Take away the velocities at which edges that were held get longer.
static void slow_edges(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	sim_soft *s = visit->soft;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		const int64_t at = soft_position(visit, begin, end, i);
		const soft_edge *edge = &s->edges[at];
		const int32_t a = edge->vertices[0], b = edge->vertices[1];
		const double wa = s->inverse_mass[a], wb = s->inverse_mass[b];
		if (!s->edge_held[at] || wa + wb == 0)
			continue;
		double d[3], rate = 0, square = 0;
		for (int k = 0; k < 3; k++) {
			d[k] = s->place[3 * (int64_t)a + k] - s->place[3 * (int64_t)b + k];
			rate += d[k] * (s->velocity[3 * (int64_t)a + k] - s->velocity[3 * (int64_t)b + k]);
			square += d[k] * d[k];
		}
		const double push = rate > 0 ? rate / ((wa + wb) * square) : 0;
		for (int k = 0; k < 3 && wa > 0 && push > 0; k++)
			s->velocity[3 * (int64_t)a + k] -= wa * push * d[k];
		for (int k = 0; k < 3 && wb > 0 && push > 0; k++)
			s->velocity[3 * (int64_t)b + k] += wb * push * d[k];
	}
}

// Corrections as velocities, c, may be taken in part: all of them by one share, so that momentum is
// kept, and by the share at which the kinetic energy is least, -(v, c) / (c, c) from 0 to 1. That
// stops a body at once that is heavy beside the cloth that holds it. Bodies that act on each other
// share alike.

/// (v, c) and (c, c) of each island.
static void weigh_islands(const sim_soft *s, int32_t *islands, double duration, double *sums)
{
	memset(sums, 0, 2 * (size_t)s->part_count * sizeof *sums);
	for (int32_t i = 0; i < s->part_count; i++) {
		const soft_part *part = &s->parts[i];
		double along = 0, whole = 0;
		if (part->kind == SIM_SOFT_SOLID)
			soft_weigh_correction(part, duration, &along, &whole);
		const int64_t first = 3 * (int64_t)part->first_vertex, end = first + 3 * (int64_t)part->vertex_count;
		for (int64_t k = first; k < end && !soft_keeps_form(part); k++) {
			const double c = (s->place[k] - s->solved[k]) / duration;
			if (s->inverse_mass[k / 3] == 0)
				continue;
			along += s->velocity[k] * c / s->inverse_mass[k / 3];
			whole += c * c / s->inverse_mass[k / 3];
		}
		const int32_t island = soft_find_root(islands, i);
		sums[2 * island] += along;
		sums[2 * island + 1] += whole;
	}
}

static double share_of_island(const double *sums, int32_t island)
{
	const double along = sums[2 * island], whole = sums[2 * island + 1];
	return along < 0 && whole > 0 ? fmin(-along / whole, 1) : 0;
}

/// The vertices, solids and contacts take their shares.
static void take_shares(sim_soft *s, int32_t *islands, double duration, const double *sums)
{
	for (int32_t i = 0; i < s->part_count; i++) {
		soft_part *part = &s->parts[i];
		const double share = share_of_island(sums, soft_find_root(islands, i));
		if (part->kind == SIM_SOFT_SOLID && share > 0)
			soft_take_correction(s, part, share, duration);
		const int64_t first = 3 * (int64_t)part->first_vertex, end = first + 3 * (int64_t)part->vertex_count;
		for (int64_t k = first; k < end && share > 0 && !soft_keeps_form(part); k++)
			s->velocity[k] += s->inverse_mass[k / 3] > 0 ? share * (s->place[k] - s->solved[k]) / duration : 0;
	}
	for (int64_t i = 0; i < s->contacts.count; i++) {
		soft_contact *c = &s->contacts.data[i];
		const int32_t p = s->part_of[c->vertices[0]], q = s->part_of[c->vertices[3]];
		const double share = share_of_island(sums, soft_find_root(islands, s->parts[p].kind == SIM_SOFT_RIGID ? q : p));
		for (int k = 0; k < 3; k++)
			c->impulse[k] += share * c->corrected[k] / duration;
	}
}

/// Without led solids all corrections are velocities.
static void take_all_corrections(sim_soft *s, double duration)
{
	for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count; i++)
		s->velocity[i] += (s->place[i] - s->solved[i]) / duration;
	for (int32_t i = 0; i < s->part_count; i++) {
		soft_part *part = &s->parts[i];
		if (part->kind == SIM_SOFT_SOLID && !(s->zoned && s->zone[part->first_vertex] >= 0))
			soft_take_correction(s, part, 1, duration);
	}
	for (int64_t i = 0; i < s->contacts.count; i++) {
		for (int k = 0; k < 3; k++)
			s->contacts.data[i].impulse[k] += s->contacts.data[i].corrected[k] / duration;
	}
}

/// Spheres take their corrections in full already, and zones move as one.
static void take_corrections(sim_soft *s, double duration)
{
	int32_t *islands = s->zone; // scratch: at least three vertices a part
	double *sums = s->zone_sum;
	if (s->zoned || soft_has_spheres(s))
		return;
	connect_islands(s, islands);
	weigh_islands(s, islands, duration, sums);
	take_shares(s, islands, duration, sums);
}

void soft_settle_velocities(sim_soft *s, double duration)
{
	soft_visit visit = { .soft = s, .colors = &s->edge_colors, .run = slow_edges };
	if (!s->coupled) {
		take_all_corrections(s, duration);
		return;
	}
	take_corrections(s, duration);
	for (int sweep = 0; sweep < 2 * SLOWING_SWEEPS; sweep++) {
		visit.back = sweep % 2 == 1;
		soft_run_visit(&visit);
		soft_slow_contacts(s);
		soft_damp_solids(s);
	}
}
