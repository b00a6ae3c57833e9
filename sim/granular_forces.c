// Forces between spheres. Each crowded sphere adds up over its row of the list, in the order of the ids, from what its
// neighbours were before the step: nothing depends on who computes what when. Memory is cut into blocks of spheres near each
// other; a contact within a block is computed once and given to both rows through a buffer that stays in the cache, one to
// another block is computed in both. The other side's part is the exact opposite of what it would be if it were computed there
// (granular_law.h), so it does not matter where the blocks are cut.
#include "sim/granular_law.h"

#include <string.h>

// Blocks in a piece of work, at least.
enum { MIN_RANGE = 2 };

// Three numbers and one of no use, in one vector register or two: left to themselves, compilers take some of them apart.
typedef double fours __attribute__((vector_size(32)));

GRANULAR_INLINE void load_fours(fours *to, const double *from) { memcpy(to, from, sizeof *to); }
GRANULAR_INLINE void store_fours(double *to, const fours *from) { memcpy(to, from, sizeof *from); }

// A function that is called only where the context has AVX2.
#if defined(__GNUC__) && defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

/// What the inner loop is made for.
typedef struct variant {
	bool hertz, turns;
	bool periodic, scaled; // may be
} variant;

// The nearest image along periodic axes; centres lie within the box.
GRANULAR_INLINE void nearest_image(const sim_granular *g, double d[3])
{
	for (int k = 0; k < 3; k++) {
		if (!g->def.periodic[k])
			continue;
		const double period = g->def.upper[k] - g->def.lower[k];
		if (d[k] > period / 2)
			d[k] -= period;
		else if (d[k] < -period / 2)
			d[k] += period;
	}
}

// Vector from sphere j to sphere i and its squared length; false when they do not touch.
GRANULAR_INLINE bool touches(
	const sim_granular *g, const granular_place *a, const granular_place *b, bool periodic, double d[3], double *squared)
{
	d[0] = a->x - b->x;
	d[1] = a->y - b->y;
	d[2] = a->z - b->z;
	if (periodic)
		nearest_image(g, d);
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

// Velocity of sphere i less that of j where they touch; levers add up to the distance, so that angular momentum is kept.
// Returns the other's lever.
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

// History of an entry that touches now: what was there, or zero.
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

GRANULAR_INLINE void clear_replies(double *replies, const granular_job *job)
{
	for (int k = 0; k < 6; k++)
		replies[6 * job->entry + k] = replies[6 * job->twin + k] = 0;
}

GRANULAR_INLINE void store_replies(double *replies, const granular_job *job, const granular_reply *r, double la, double lb)
{
	double *a = &replies[6 * job->entry], *b = &replies[6 * job->twin];
	for (int k = 0; k < 3; k++) {
		a[k] = r->force[k];
		b[k] = -r->force[k];
		a[3 + k] = r->rolling[k] - la * r->twist[k];
		b[3 + k] = -r->rolling[k] - lb * r->twist[k];
	}
}

/// Jobs that are looked at together: those that touch are found first, without a branch that nobody could predict, and their
/// roots and divisions are done in a row.
enum { GROUP = 256 };
typedef struct smooth_group {
	double d[GROUP][4]; // vector from j to i, of those that touch
	double squared[GROUP], distance[GROUP], inverse[GROUP];
	const granular_job *touching[GROUP], *apart[GROUP];
	int touching_count, apart_count;
} smooth_group;

// Part the jobs of spheres that touch from those of spheres that do not.
GRANULAR_INLINE void part_group(
	const sim_granular *g, const granular_job *begin, const granular_job *end, bool periodic, smooth_group *group)
{
	int touching = 0, apart = 0;
	for (const granular_job *job = begin; job < end; job++) {
		GRANULAR_PREFETCH(&g->places[job[GRANULAR_AHEAD].j]);
		GRANULAR_PREFETCH(&g->motions[job[GRANULAR_AHEAD].j]);
		const double *a = &g->places[job->i].x, *b = &g->places[job->j].x;
		double *d = group->d[touching];
		fours place, other;
		load_fours(&place, a);
		load_fours(&other, b);
		const fours difference = place - other;
		store_fours(d, &difference);
		if (periodic)
			nearest_image(g, d);
		const fours v = periodic ? (fours){ d[0], d[1], d[2], 0 } : difference;
		const double squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2], sum = a[3] + b[3];
		const int touches = squared <= sum * sum;
		group->squared[touching] = squared;
		group->touching[touching] = group->apart[apart] = job;
		touching += touches;
		apart += !touches;
	}
	group->touching_count = touching;
	group->apart_count = apart;
}

// Replies of a contact to both sides.
GRANULAR_INLINE void press_job(const sim_granular *g, const granular_coefficients *law, const smooth_group *group, int at,
	uint32_t elsewhere, variant v, double *replies, granular_tally *tally)
{
	const granular_job *job = group->touching[at];
	const double ra = g->places[job->i].r, rb = g->places[job->j].r, sum = ra + rb, distance = group->distance[at];
	fours n, va, vb;
	load_fours(&n, group->d[at]);
	n *= group->inverse[at];
	if (!(distance > 0)) {
		double along_x[4] = { 0 };
		make_normal(g, job->i, job->j, group->d[at], group->squared[at], along_x);
		load_fours(&n, along_x);
	}
	const double overlap = sum - distance > 0 ? sum - distance : 0;
	tally->contacts += 1 + (job->twin != elsewhere);
	note_overlap(tally, overlap, ra, rb);
	load_fours(&va, &g->motions[job->i].x);
	load_fours(&vb, &g->motions[job->j].x);
	const fours w = va - vb;
	const double radius = v.hertz || v.scaled ? ra * rb / sum : 0;
	const double parting = w[0] * n[0] + w[1] * n[1] + w[2] * n[2];
	const double force = granular_press(law, v.hertz, overlap, parting, job->mass_root, radius).force;
	const fours here = force * n, there = -here;
	store_fours(&replies[4 * job->entry], &here);
	store_fours(&replies[4 * job->twin], &there);
}

GRANULAR_INLINE void run_smooth_jobs(
	const sim_granular *g, const granular_block *block, variant v, double *replies, granular_tally *tally)
{
	const uint32_t elsewhere = (uint32_t)(block[1].entry - block[0].entry);
	granular_coefficients law = g->between;
	law.scaled &= v.scaled;
	smooth_group group;
	for (int64_t q = block[0].job; q < block[1].job; q += GROUP) {
		const int64_t end = q + GROUP < block[1].job ? q + GROUP : block[1].job;
		part_group(g, &g->jobs[q], &g->jobs[end], v.periodic, &group);
		for (int k = 0; k < group.apart_count; k++) {
			const granular_job *job = group.apart[k];
			const fours none = { 0 };
			store_fours(&replies[4 * job->entry], &none);
			store_fours(&replies[4 * job->twin], &none);
		}
		for (int k = 0; k < group.touching_count; k++) {
			group.distance[k] = sqrt(group.squared[k]);
			group.inverse[k] = 1 / group.distance[k];
		}
		for (int k = 0; k < group.touching_count; k++)
			press_job(g, &law, &group, k, elsewhere, v, replies, tally);
	}
}

// One contact, or none, of spheres that turn.
GRANULAR_INLINE void run_turning_job(
	sim_granular *g, const granular_job *job, const granular_block *block, variant v, double *replies, granular_tally *tally)
{
	const granular_place *a = &g->places[job->i], *b = &g->places[job->j];
	const int64_t entry = block->entry + job->entry;
	double d[3], squared;
	if (!touches(g, a, b, v.periodic, d, &squared)) {
		clear_replies(replies, job);
		if (g->with_history)
			g->touched[entry] = 0;
		return;
	}
	granular_contact c;
	const double distance = make_normal(g, job->i, job->j, d, squared, c.normal);
	const double sum = a->r + b->r;
	c.overlap = sum - distance > 0 ? sum - distance : 0;
	tally->contacts += block[0].entry + job->twin < block[1].entry ? 2 : 1;
	note_overlap(tally, c.overlap, a->r, b->r);
	const granular_motion *va = &g->motions[job->i], *vb = &g->motions[job->j];
	c.velocity[0] = va->x - vb->x;
	c.velocity[1] = va->y - vb->y;
	c.velocity[2] = va->z - vb->z;
	c.mass_root = job->mass_root;
	c.radius = a->r * b->r / sum;
	const double other_lever = turn_contact(g, job->i, job->j, distance, &c);
	double *spring = g->with_history ? open_history(g, entry) : NULL;
	const granular_reply reply = granular_touch(&g->between, v.hertz, true, &c, g->def.time_step, spring);
	store_replies(replies, job, &reply, c.lever, other_lever);
}

GRANULAR_INLINE void run_turning_jobs(
	sim_granular *g, const granular_block *block, variant v, double *replies, granular_tally *tally)
{
	for (const granular_job *job = &g->jobs[block[0].job]; job < &g->jobs[block[1].job]; job++) {
		GRANULAR_PREFETCH(&g->places[job[GRANULAR_AHEAD].j]);
		GRANULAR_PREFETCH(&g->motions[job[GRANULAR_AHEAD].j]);
		run_turning_job(g, job, block, v, replies, tally);
	}
}

// Add up a row in the order of the ids. The sum begins with +0 and so never is -0: entries without contact, of which another
// list has others, change nothing.
GRANULAR_INLINE void sum_row(const double *replies, int64_t count, int width, double *load)
{
	double sum[6] = { 0, 0, 0, 0, 0, 0 };
	for (int64_t e = 0; e < count; e++) {
		for (int k = 0; k < width; k++)
			sum[k] += replies[width * e + k];
	}
	for (int k = 0; k < width; k++)
		load[k] = sum[k];
}

GRANULAR_INLINE void add_walls(sim_granular *g, int64_t k, granular_tally *tally)
{
	if (granular_near_wall(g, g->crowd[k]))
		granular_add_walls(g, g->crowd[k], &g->loads[g->load_width * k], tally);
}

GRANULAR_INLINE void run_blocks(int64_t begin, int64_t end, int worker, sim_granular *g, variant v)
{
	granular_tally tally = g->tallies[worker];
	double *replies = &g->replies[worker * g->reply_room];
	const int width = v.turns ? 6 : 4;
	for (const granular_block *block = &g->blocks[begin]; block < &g->blocks[end]; block++) {
		if (v.turns)
			run_turning_jobs(g, block, v, replies, &tally);
		else
			run_smooth_jobs(g, block, v, replies, &tally);
		for (int64_t k = block[0].crowd; k < block[1].crowd; k++) {
			const int64_t *row = &g->list.first[g->crowd[k]];
			sum_row(&replies[width * (row[0] - block->entry)], row[1] - row[0], width, &g->loads[width * k]);
			add_walls(g, k, &tally);
		}
	}
	g->tallies[worker] = tally;
}

// A pass for each law, twice: fours are one instruction where the processor has such, and no bit depends on it, since every
// number is still rounded by itself.
#define PASS(name, ...)                                                                                                \
	static void run_##name(int64_t b, int64_t e, int w, void *g) { run_blocks(b, e, w, g, (variant){ __VA_ARGS__ }); } \
	WIDE static void run_##name##_wide(int64_t b, int64_t e, int w, void *g)                                           \
	{                                                                                                                  \
		run_blocks(b, e, w, g, (variant){ __VA_ARGS__ });                                                              \
	}

PASS(linear, .turns = false)
PASS(linear_periodic, .periodic = true, .scaled = true)
PASS(scaled, .scaled = true)
PASS(hertz, .hertz = true, .periodic = true)
PASS(turning, .turns = true, .periodic = true)
PASS(mindlin, .hertz = true, .turns = true, .periodic = true)
#undef PASS

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
		if (!touches(g, a, b, true, d, &squared)) {
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

static bool is_wide(const sim_granular *g)
{
	const carom_simd simd = carom_context_simd(g->context);
	return simd == CAROM_SIMD_AVX2 || simd == CAROM_SIMD_AVX512;
}

static carom_task_fn *choose_pass(const sim_granular *g)
{
	const bool wide = is_wide(g);
	if (g->def.force)
		return run_custom;
	if (g->turns && g->between.hertz)
		return wide ? run_mindlin_wide : run_mindlin;
	if (g->turns)
		return wide ? run_turning_wide : run_turning;
	if (g->between.hertz)
		return wide ? run_hertz_wide : run_hertz;
	if (g->def.periodic[0] || g->def.periodic[1] || g->def.periodic[2])
		return wide ? run_linear_periodic_wide : run_linear_periodic;
	if (g->between.scaled)
		return wide ? run_scaled_wide : run_scaled;
	return wide ? run_linear_wide : run_linear;
}

void granular_compute_forces(sim_granular *g) { carom_parallel_for(g->context, choose_pass(g), g->block_count, MIN_RANGE, g); }

static void mirror_blocks(int64_t begin, int64_t end, int worker, void *granular)
{
	(void)worker;
	const sim_granular *g = granular;
	for (const granular_block *block = &g->blocks[begin]; block < &g->blocks[end]; block++) {
		for (int64_t q = block[0].job; q < block[1].job; q++) {
			const int64_t entry = block->entry + g->jobs[q].entry, twin = block->entry + g->jobs[q].twin;
			if (twin == block[1].entry)
				continue;
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
		if (!touches(g, a, b, true, d, &squared))
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
