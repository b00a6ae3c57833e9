// Contacts between spheres that do not turn. A block's spheres and their halo are put on the
// worker's desk, place and motion side by side, and stay in the cache. Then its jobs are done a
// group at a time, each number in a column of its own, so that a vector register holds several
// contacts and nothing branches; those that do not touch get a force of 0. The roundings are those
// of one contact at a time, hence the same bits for any width. Forces are added up one after the
// other, in the order of the jobs.
//
// Most of a list's pairs do not touch. So the jobs that can touch soon are chosen now and then,
// those closer than a thin skin within the list's, and only these are looked at while no two
// spheres can have come closer by it (the pair list with dynamic pruning of Pall et al.,
// Heterogeneous parallelization and acceleration of molecular dynamics simulations in GROMACS,
// 2020).
#include "sim/grains/granular_smooth.h"

#include <string.h>

// Three numbers and one more, in one vector register or two: left to themselves, compilers take
// some of them apart.
typedef double fours __attribute__((vector_size(32)));

GRANULAR_INLINE void load_fours(fours *to, const void *from) { memcpy(to, from, sizeof *to); }
GRANULAR_INLINE void store_fours(double *to, const fours *from) { memcpy(to, from, sizeof *from); }

// Functions that are called only where the context has AVX2, or AVX-512.
#if defined(__GNUC__) && defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#define WIDEST __attribute__((target("avx512f,avx512vl,avx512dq")))
#else
#define WIDE
#define WIDEST
#endif

/// A block's spheres.
typedef struct spread {
	uint32_t crowd, locals;
	double *spheres; // [8*locals] place and motion
	double *forces;  // [4*locals], of use for the crowd
} spread;

/// Jobs that are looked at together; their columns stay in the first-level cache.
enum { GROUP = 64 };

typedef struct columns {
	double dx[GROUP], dy[GROUP], dz[GROUP], ra[GROUP]; // from j to i; radius of i
	double ux[GROUP], uy[GROUP], uz[GROUP];            // velocity of i less that of j
	double rb[GROUP], mass_root[GROUP];
	int64_t sides[GROUP]; // that the job serves: 1 or 2
	int64_t near[GROUP];  // can the two touch soon?
	double fx[GROUP], fy[GROUP], fz[GROUP];
	// sides that touch; does any overlap more than before; do any centres coincide?
	int64_t touching, deeper, coinciding;
} columns;

// Columns k..k+3 of four vectors, one each: a 4x4 transposition.
GRANULAR_INLINE void turn_fours(fours v[4])
{
	const fours a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6), b = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
	const fours c = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6), d = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
	v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
	v[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
	v[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
	v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

// Columns of count jobs, filled up to a multiple of four.
GRANULAR_INLINE void read_jobs(const spread *desk, const granular_job *jobs, int count, columns *c)
{
	for (int at = 0; at < count; at += 4) {
		fours d[4], u[4];
		for (int k = 0; k < 4; k++) {
			const granular_job *job = &jobs[at + k < count ? at + k : count - 1];
			const double *a = &desk->spheres[8 * (size_t)job->a], *b = &desk->spheres[8 * (size_t)job->b];
			fours other;
			load_fours(&d[k], a);
			load_fours(&other, b);
			c->rb[at + k] = b[3];
			d[k] -= other;
			load_fours(&u[k], a + 4);
			load_fours(&other, b + 4);
			u[k] -= other;
			c->ra[at + k] = a[3];
			c->mass_root[at + k] = job->mass_root;
			c->sides[at + k] = 1 + (job->b < desk->crowd);
		}
		turn_fours(d);
		turn_fours(u);
		store_fours(&c->dx[at], &d[0]);
		store_fours(&c->dy[at], &d[1]);
		store_fours(&c->dz[at], &d[2]);
		store_fours(&c->ux[at], &u[0]);
		store_fours(&c->uy[at], &u[1]);
		store_fours(&c->uz[at], &u[2]);
	}
}

// Jobs of the group that are none: they do not touch.
GRANULAR_INLINE void void_rest(columns *c, int count)
{
	for (int k = count; k < GROUP; k++) {
		c->dx[k] = 1;
		c->ra[k] = c->rb[k] = 0.25;
		c->dy[k] = c->dz[k] = c->ux[k] = c->uy[k] = c->uz[k] = c->mass_root[k] = 0;
		c->sides[k] = 0;
	}
}

// The nearest image along a periodic axis; centres lie within the box.
GRANULAR_INLINE void take_nearest(double *d, int count, double period)
{
	const double half = period / 2;
	for (int k = 0; k < count; k++) {
		const double shifted = d[k] > half ? d[k] - period : d[k] + period;
		d[k] = ((d[k] > half) | (d[k] < -half)) ? shifted : d[k];
	}
}

GRANULAR_INLINE void press_columns(
	columns *c, const granular_coefficients *coefficients, bool hertz, bool scaled, double near_skin, double max_overlap)
{
	granular_coefficients law = *coefficients;
	law.scaled = scaled; // a constant here
	int64_t touching = 0, deeper = 0, coinciding = 0;
	// A little less, so that no contact hides behind the rounding of the product.
	const double bar = max_overlap * (1 - 0x1p-50);
	for (int k = 0; k < GROUP; k++) {
		const double sum = c->ra[k] + c->rb[k];
		const double squared = c->dx[k] * c->dx[k] + c->dy[k] * c->dy[k] + c->dz[k] * c->dz[k];
		const int64_t touches = squared <= sum * sum;
		const double distance = sqrt(squared);
		const double inverse = 1 / distance;
		const double nx = c->dx[k] * inverse, ny = c->dy[k] * inverse, nz = c->dz[k] * inverse;
		const double overlap = sum - distance > 0 ? sum - distance : 0;
		const double least = c->ra[k] < c->rb[k] ? c->ra[k] : c->rb[k];
		const double radius = hertz || scaled ? c->ra[k] * c->rb[k] / sum : 0;
		const double parting = c->ux[k] * nx + c->uy[k] * ny + c->uz[k] * nz;
		const double force = granular_press(&law, hertz, overlap, parting, c->mass_root[k], radius).force;
		c->near[k] = squared <= (sum + near_skin) * (sum + near_skin);
		touching += touches ? c->sides[k] : 0;
		deeper |= touches & (overlap > bar * least);
		coinciding |= !(squared > 0);
		c->fx[k] = touches ? force * nx : 0;
		c->fy[k] = touches ? force * ny : 0;
		c->fz[k] = touches ? force * nz : 0;
	}
	c->touching = touching;
	c->deeper = deeper;
	c->coinciding = coinciding;
}

GRANULAR_INLINE void add_forces(const columns *c, const granular_job *jobs, int count, double *forces)
{
	for (int at = 0; at < count; at += 4) {
		fours f[4] = { { 0 } };
		load_fours(&f[0], &c->fx[at]);
		load_fours(&f[1], &c->fy[at]);
		load_fours(&f[2], &c->fz[at]);
		turn_fours(f);
		for (int k = 0; k < 4 && at + k < count; k++) {
			double *a = &forces[4 * (size_t)jobs[at + k].a], *b = &forces[4 * (size_t)jobs[at + k].b];
			fours here, there;
			load_fours(&here, a);
			load_fours(&there, b);
			here += f[k];
			there -= f[k];
			store_fours(a, &here);
			store_fours(b, &there);
		}
	}
}

// ---- Rare cases ----

static void note_deepest(const columns *c, int count, granular_tally *tally)
{
	for (int k = 0; k < count; k++) {
		const double sum = c->ra[k] + c->rb[k];
		const double distance = sqrt(c->dx[k] * c->dx[k] + c->dy[k] * c->dy[k] + c->dz[k] * c->dz[k]);
		const double least = c->ra[k] < c->rb[k] ? c->ra[k] : c->rb[k];
		if (distance < sum && (sum - distance) / least > tally->max_overlap)
			tally->max_overlap = (sum - distance) / least;
	}
}

/// Centres that coincide part along x, the lower id forward: that of a, unless b is of another
/// block.
static void part_coinciding(const sim_granular *g, const granular_block *block, const granular_job *jobs, int count, columns *c)
{
	const granular_coefficients *law = &g->between;
	for (int k = 0; k < count; k++) {
		if (c->dx[k] * c->dx[k] + c->dy[k] * c->dy[k] + c->dz[k] * c->dz[k] > 0)
			continue;
		const uint32_t i = granular_member(g, block, jobs[k].a), j = granular_member(g, block, jobs[k].b);
		const double along = g->ids[i] < g->ids[j] ? 1 : -1;
		const double sum = c->ra[k] + c->rb[k], radius = c->ra[k] * c->rb[k] / sum;
		c->fx[k] = along * granular_press(law, law->hertz, sum, along * c->ux[k], c->mass_root[k], radius).force;
		c->fy[k] = c->fz[k] = 0;
	}
}

// ---- Blocks ----

/// The kinds of contacts that a pass is made for.
typedef enum normal_kind {
	LINEAR, // one stiffness for all
	SCALED,
	HERTZ,
} normal_kind;

/// Jobs of the group that can touch soon, behind those that are there.
static uint32_t choose_near(const columns *c, const granular_job *jobs, int count, granular_job *near, uint32_t near_count)
{
	for (int k = 0; k < count; k++) {
		near[near_count] = jobs[k];
		near_count += c->near[k] != 0;
	}
	return near_count;
}

GRANULAR_INLINE void run_jobs(sim_granular *g, granular_block *block, spread *desk, normal_kind kind, granular_tally *tally)
{
	const bool choosing = !g->near_holds;
	const granular_job *all = choosing ? &g->jobs[block->job] : &g->near[block->job];
	const int64_t all_count = choosing ? block[1].job - block->job : block->near_count;
	uint32_t near_count = 0;
	columns c;
	for (int64_t q = 0; q < all_count; q += GROUP) {
		const granular_job *jobs = &all[q];
		const int count = all_count - q < GROUP ? (int)(all_count - q) : GROUP;
		read_jobs(desk, jobs, count, &c);
		double *axes[3] = { c.dx, c.dy, c.dz };
		for (int k = 0; k < 3; k++) {
			if (g->def.periodic[k])
				take_nearest(axes[k], count, g->def.upper[k] - g->def.lower[k]);
		}
		if (count < GROUP)
			void_rest(&c, count);
		press_columns(&c, &g->between, kind == HERTZ, kind == SCALED, g->near_skin, tally->max_overlap);
		tally->contacts += c.touching;
		if (c.deeper)
			note_deepest(&c, count, tally);
		if (c.coinciding)
			part_coinciding(g, block, jobs, count, &c);
		if (choosing)
			near_count = choose_near(&c, jobs, count, &g->near[block->job], near_count);
		add_forces(&c, jobs, count, desk->forces);
	}
	if (choosing)
		block->near_count = near_count;
}

// Spheres whose lines are fetched ahead.
enum { AHEAD = 8 };

static void lay_out(const sim_granular *g, const uint32_t *members, uint32_t count, double *to)
{
	for (uint32_t k = 0; k < count; k++) {
		const uint32_t ahead = members[k + AHEAD < count ? k + AHEAD : count - 1];
		GRANULAR_PREFETCH(&g->places[ahead]);
		GRANULAR_PREFETCH(&g->motions[ahead]);
		memcpy(&to[8 * (size_t)k], &g->places[members[k]], sizeof *g->places);
		memcpy(&to[8 * (size_t)k + 4], &g->motions[members[k]], sizeof *g->motions);
	}
}

static spread lay_out_block(const sim_granular *g, const granular_block *block, int worker)
{
	spread d = { .crowd = (uint32_t)(block[1].crowd - block->crowd), .spheres = &g->desks[worker * g->desk_room] };
	d.locals = d.crowd + block->halo_count;
	d.forces = d.spheres + 8 * (size_t)d.locals;
	lay_out(g, &g->crowd[block->crowd], d.crowd, d.spheres);
	if (block->halo_count > 0) // without any halo there may be no array
		lay_out(g, &g->halo[block->halo], block->halo_count, d.spheres + 8 * (size_t)d.crowd);
	// Sums begin with +0 and so never are -0: pairs without contact, of which another list has
	// others, change nothing.
	memset(d.forces, 0, 4 * (size_t)d.locals * sizeof *d.forces);
	return d;
}

GRANULAR_INLINE void run_blocks(int64_t begin, int64_t end, int worker, sim_granular *g, normal_kind kind)
{
	granular_tally tally = g->tallies[worker];
	for (granular_block *block = &g->blocks[begin]; block < &g->blocks[end]; block++) {
		if (block[1].crowd == block->crowd) // without any crowd there may be no loads
			continue;
		spread desk = lay_out_block(g, block, worker);
		run_jobs(g, block, &desk, kind, &tally);
		for (uint32_t k = 0; k < desk.crowd; k++) {
			const uint32_t i = g->crowd[block->crowd + k];
			double *load = &g->loads[4 * (block->crowd + k)];
			memcpy(load, &desk.forces[4 * (size_t)k], 4 * sizeof *load);
			if (granular_near_wall_at(g, desk.spheres + 8 * (size_t)k, i))
				granular_add_walls(g, i, load, &tally);
		}
	}
	g->tallies[worker] = tally;
}

// A pass for each law, three times: a vector of two, four or eight numbers.
#define PASS(name, kind)                                                                                       \
	static void run_##name(int64_t b, int64_t e, int w, void *g) { run_blocks(b, e, w, g, kind); }             \
	WIDE static void run_##name##_wide(int64_t b, int64_t e, int w, void *g) { run_blocks(b, e, w, g, kind); } \
	WIDEST static void run_##name##_widest(int64_t b, int64_t e, int w, void *g) { run_blocks(b, e, w, g, kind); }

PASS(linear, LINEAR)
PASS(scaled, SCALED)
PASS(hertz, HERTZ)
#undef PASS

carom_task_fn *granular_smooth_pass(const sim_granular *g)
{
	static carom_task_fn *const passes[3][3] = { { run_linear, run_linear_wide, run_linear_widest },
		{ run_scaled, run_scaled_wide, run_scaled_widest }, { run_hertz, run_hertz_wide, run_hertz_widest } };
	const carom_simd simd = carom_context_simd(g->context);
	const normal_kind kind = g->between.hertz ? HERTZ : g->between.scaled ? SCALED : LINEAR;
	return passes[kind][simd == CAROM_SIMD_AVX512 ? 2 : simd == CAROM_SIMD_AVX2 ? 1 : 0];
}
