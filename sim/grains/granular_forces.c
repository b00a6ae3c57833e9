// Forces between spheres. Each crowded sphere adds up over its neighbours, in the order of their
// ids, from their state before the step: nothing depends on the order of the work. Memory is cut
// into blocks of spheres near each other; a contact within a block is computed once and given to
// both sides, one to another block is computed in both. The other side's part is the exact opposite
// of the one computed there (granular_law.h), so it does not matter where the blocks are cut. The
// order of a block's jobs (granular_blocks.c) brings each sphere's contacts in the order of the
// ids. Here are the spheres that turn; granular_smooth.c has the others.
#include "sim/grains/granular_law.h"
#include "sim/grains/granular_smooth.h"

#include <string.h>

// Blocks in a piece of work, at least.
enum { MIN_RANGE = 2 };

// Vector from sphere j to sphere i and its squared length; false when they do not touch.
GRANULAR_INLINE bool touches(
	const sim_granular *g, const granular_place *a, const granular_place *b, double d[3], double *squared)
{
	d[0] = a->x - b->x;
	d[1] = a->y - b->y;
	d[2] = a->z - b->z;
	granular_nearest_image(g, d);
	const double sum = a->r + b->r;
	*squared = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
	return *squared <= sum * sum;
}

// Normal and distance; centres that coincide part along x, the lower id forward.
GRANULAR_INLINE double make_normal(const sim_granular *g, uint32_t i, uint32_t j, const double d[3], double squared, double n[3])
{
	const double distance = sqrt(squared);
	if (distance > 0) {
		const double inverse = 1 / distance;
		for (int k = 0; k < 3; k++)
			n[k] = d[k] * inverse;
		return distance;
	}
	n[0] = g->ids[i] < g->ids[j] ? 1 : -1;
	n[1] = n[2] = 0;
	return 0;
}

GRANULAR_INLINE void note_overlap(granular_tally *tally, double overlap, double ra, double rb)
{
	const double least = ra < rb ? ra : rb;
	if (overlap > tally->max_overlap * least)
		tally->max_overlap = overlap / least;
}

// Velocity of sphere i less that of j where they touch; levers add up to the distance, so that
// angular momentum is kept. Returns the other's lever.
GRANULAR_INLINE double turn_contact(const sim_granular *g, uint32_t i, uint32_t j, double distance, granular_contact *c)
{
	const granular_spin *wa = &g->spins[i], *wb = &g->spins[j];
	const double ra = g->places[i].r, rb = g->places[j].r;
	const double part = distance / (ra + rb);
	const double la = ra * part, lb = rb * part;
	const double s[3] = { la * wa->x + lb * wb->x, la * wa->y + lb * wb->y, la * wa->z + lb * wb->z };
	const double *n = c->normal;
	c->velocity[0] -= s[1] * n[2] - s[2] * n[1];
	c->velocity[1] -= s[2] * n[0] - s[0] * n[2];
	c->velocity[2] -= s[0] * n[1] - s[1] * n[0];
	c->lever = la;
	c->rolling[0] = wa->x - wb->x;
	c->rolling[1] = wa->y - wb->y;
	c->rolling[2] = wa->z - wb->z;
	c->inverse_inertia = wa->inverse_inertia + wb->inverse_inertia;
	return lb;
}

// History of an entry that touches now: the earlier value, or zero.
GRANULAR_INLINE double *open_history(sim_granular *g, int64_t entry)
{
	double *history = &g->history[3 * entry];
	if (!g->touched[entry]) {
		g->touched[entry] = 1;
		history[0] = history[1] = history[2] = 0;
	}
	return history;
}

// ---- The laws: by blocks ----

GRANULAR_INLINE void add_replies(double *loads, const granular_job *job, const granular_reply *r, double la, double lb)
{
	double *a = &loads[6 * (size_t)job->a], *b = &loads[6 * (size_t)job->b];
	for (int k = 0; k < 3; k++) {
		a[k] += r->force[k];
		b[k] += -r->force[k];
		a[3 + k] += r->rolling[k] - la * r->twist[k];
		b[3 + k] += -r->rolling[k] - lb * r->twist[k];
	}
}

// One contact, or none, of spheres that turn.
GRANULAR_INLINE void run_turning_job(
	sim_granular *g, const granular_block *block, int64_t number, bool hertz, double *loads, granular_tally *tally)
{
	const granular_job *job = &g->jobs[number];
	const uint32_t i = granular_member(g, block, job->a), j = granular_member(g, block, job->b);
	const granular_place *a = &g->places[i], *b = &g->places[j];
	const int64_t entry = g->with_history ? block->entry + g->sides[number].entry : 0;
	double d[3], squared;
	if (!touches(g, a, b, d, &squared)) {
		if (g->with_history)
			g->touched[entry] = 0;
		return;
	}
	const double sum = a->r + b->r;
	granular_contact c = { .mass_root = job->mass_root, .radius = a->r * b->r / sum };
	const double distance = make_normal(g, i, j, d, squared, c.normal);
	c.overlap = sum - distance > 0 ? sum - distance : 0;
	tally->contacts += block->crowd + job->b < block[1].crowd ? 2 : 1;
	note_overlap(tally, c.overlap, a->r, b->r);
	const granular_motion *va = &g->motions[i], *vb = &g->motions[j];
	c.velocity[0] = va->x - vb->x;
	c.velocity[1] = va->y - vb->y;
	c.velocity[2] = va->z - vb->z;
	const double other_lever = turn_contact(g, i, j, distance, &c);
	double *spring = g->with_history ? open_history(g, entry) : NULL;
	const granular_reply reply = granular_touch(&g->between, hertz, true, &c, g->def.time_step, spring);
	add_replies(loads, job, &reply, c.lever, other_lever);
}

GRANULAR_INLINE void add_walls(sim_granular *g, int64_t k, granular_tally *tally)
{
	if (granular_near_wall(g, g->crowd[k]))
		granular_add_walls(g, g->crowd[k], &g->loads[6 * k], tally);
}

// Sums begin with +0 and so never are -0: pairs without contact, of which another list has others,
// change nothing.
GRANULAR_INLINE void run_turning_blocks(int64_t begin, int64_t end, int worker, sim_granular *g, bool hertz)
{
	granular_tally tally = g->tallies[worker];
	double *loads = &g->desks[worker * g->desk_room];
	for (const granular_block *block = &g->blocks[begin]; block < &g->blocks[end]; block++) {
		const int64_t crowd = block[1].crowd - block->crowd;
		if (crowd == 0) // without any crowd there may be no loads
			continue;
		memset(loads, 0, 6 * (size_t)(crowd + block->halo_count) * sizeof *loads);
		for (int64_t q = block[0].job; q < block[1].job; q++)
			run_turning_job(g, block, q, hertz, loads, &tally);
		memcpy(&g->loads[6 * block->crowd], loads, 6 * (size_t)crowd * sizeof *loads);
		for (int64_t k = block[0].crowd; k < block[1].crowd; k++)
			add_walls(g, k, &tally);
	}
	g->tallies[worker] = tally;
}

static void run_turning(int64_t b, int64_t e, int w, void *g) { run_turning_blocks(b, e, w, g, false); }
static void run_mindlin(int64_t b, int64_t e, int w, void *g) { run_turning_blocks(b, e, w, g, true); }

// ---- A user's force: by rows ----

static void custom_row(sim_granular *g, uint32_t i, double *load, granular_tally *tally)
{
	const granular_place *a = &g->places[i];
	const sim_granular_side side_a = { g->ids[i], a->r, 1 / g->motions[i].inverse_mass, &a->x, &g->motions[i].x,
		&g->spins[i].x };
	for (int64_t e = g->list.first[i]; e < g->list.first[i + 1]; e++) {
		const uint32_t j = g->list.other[e];
		const granular_place *b = &g->places[j];
		double d[3], squared;
		if (!touches(g, a, b, d, &squared)) {
			g->touched[e] = 0;
			continue;
		}
		double normal[3];
		const double gap = a->r + b->r - make_normal(g, i, j, d, squared, normal);
		const double overlap = gap > 0 ? gap : 0;
		tally->contacts++;
		note_overlap(tally, overlap, a->r, b->r);
		const sim_granular_side side_b = { g->ids[j], b->r, 1 / g->motions[j].inverse_mass, &b->x, &g->motions[j].x,
			&g->spins[j].x };
		double force[3] = { 0 }, torque[3] = { 0 };
		g->def.force(&side_a, &side_b, normal, overlap, g->def.time_step, open_history(g, e), force, torque, g->def.force_user);
		for (int k = 0; k < 3; k++) {
			load[k] += force[k];
			load[3 + k] += torque[k];
		}
	}
}

static void run_custom(int64_t begin, int64_t end, int worker, void *granular)
{
	sim_granular *g = granular;
	granular_tally tally = g->tallies[worker];
	for (int64_t k = g->blocks[begin].crowd; k < g->blocks[end].crowd; k++) {
		double load[6] = { 0 };
		custom_row(g, g->crowd[k], load, &tally);
		memcpy(&g->loads[6 * k], load, sizeof load);
		add_walls(g, k, &tally);
	}
	g->tallies[worker] = tally;
}

// ---- All ----

static carom_task_fn *choose_pass(const sim_granular *g)
{
	if (g->def.force)
		return run_custom;
	if (!g->turns)
		return granular_smooth_pass(g);
	return g->between.hertz ? run_mindlin : run_turning;
}

// Part of the list's skin within which pairs are chosen to be looked at. A million settled spheres
// with lists of 0.3 to 0.8 mean radii: every fourth step chooses, and 4.5 of 6.5 million jobs
// remain, of which 3.9 million touch.
#define NEAR_SHARE 0.15

void granular_compute_forces(sim_granular *g)
{
	g->near_holds = g->near_chosen && 2 * g->near_moved <= (1 - 1e-9) * g->near_skin;
	if (!g->near_holds) {
		g->near_skin = NEAR_SHARE * g->skin;
		g->near_moved = 0;
	}
	carom_parallel_for(g->context, choose_pass(g), g->block_count, MIN_RANGE, g);
	g->near_chosen = g->near != NULL;
}

static void mirror_blocks(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (const granular_block *block = &g->blocks[begin]; block < &g->blocks[end]; block++) {
		for (int64_t q = block[0].job; q < block[1].job; q++) {
			if (g->sides[q].twin == GRANULAR_NO_TWIN)
				continue;
			const int64_t entry = block->entry + g->sides[q].entry, twin = block->entry + g->sides[q].twin;
			g->touched[twin] = g->touched[entry];
			for (int k = 0; k < 3; k++)
				g->history[3 * twin + k] = -g->history[3 * entry + k];
		}
	}
}

void granular_mirror_histories(sim_granular *g)
{
	// A user's force keeps both sides itself.
	if (g->with_history && !g->def.force)
		carom_parallel_for(g->context, mirror_blocks, g->block_count, MIN_RANGE, g);
}

double granular_pair_energy(const sim_granular *g, int64_t i, int32_t *contacts)
{
	double energy = 0;
	*contacts = 0;
	for (int64_t e = g->list.first[i]; e < g->list.first[i + 1]; e++) {
		const uint32_t j = g->list.other[e];
		const granular_place *a = &g->places[i], *b = &g->places[j];
		double d[3], squared;
		if (!touches(g, a, b, d, &squared))
			continue;
		++*contacts;
		if (g->def.force)
			continue;
		const double gap = a->r + b->r - sqrt(squared);
		const double *spring = g->with_history && g->touched[e] ? &g->history[3 * e] : NULL;
		energy += 0.5 * granular_spring_energy(&g->between, gap > 0 ? gap : 0, a->r * b->r / (a->r + b->r), spring);
	}
	return energy;
}
