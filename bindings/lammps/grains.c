/// Forces on the spheres of one process. See grains.h.
///
/// A step reads the rows of neighbours in order. What touches goes into a block of contacts, a
/// column for each number; when the block is full, kernels compute all its contacts side by side,
/// and they are added to their spheres, in the order of ids. Each contact of two own spheres is
/// computed for both: the kernels take less time than it would to store a force for the other side
/// and to find it.
///
/// While a list holds, each of its entries knows where its spring is: nothing is looked up by ids.
#include "grains.h"
#include "grain_law.h"
#include <carom/carom.h>
#include <carom/spheres.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK = 128, // contacts: what a block holds stays in the first cache
	// Columns begin apart by no power of two: else they displace each other there.
	COLUMN = BLOCK + 8,
};

/// One number of each contact of a block.
typedef double column[COLUMN];

typedef struct block {
	uint32_t own[COLUMN], other[COLUMN], spring[COLUMN];
	column dx, dy, dz, square; // from the other centre to the own one; its length, squared
	column vx, vy, vz, wx, wy, wz, masses, masses_sum, reach, product;
	column sx, sy, sz; // springs
	column fx, fy, fz, tx, ty, tz;
	int count;
} block;

struct grains {
	carom_lammps_law law;
	double skin;
	carom_context *context;
	carom_spheres *spheres;
	carom_sphere_neighbours rows;
	carom_lammps_stats stats;
	char error[256];
	block block;
};

// ---- Kernels ----

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__)
#define FOR_EACH_MACHINE __attribute__((target_clones("default", "avx2")))
#else
#define FOR_EACH_MACHINE
#endif
#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void run_block(carom_lammps_style style, const carom_lammps_law *law, double time_step, block *b)
{
	const carom_lammps_law here = *law;
	const int count = b->count;
#ifndef __clang__ // which does not know it
#pragma GCC ivdep
#endif
	for (int i = 0; i < count; i++) {
		const double distance = sqrt(b->square[i]), inverse = 1 / distance;
		const grain_contact c = {
			.normal = { b->dx[i] * inverse, b->dy[i] * inverse, b->dz[i] * inverse },
			.overlap = b->reach[i] - distance,
			.velocity = { b->vx[i], b->vy[i], b->vz[i] },
			.spin = { b->wx[i], b->wy[i], b->wz[i] },
			.mass = b->masses[i] / b->masses_sum[i],
			.radius = b->product[i] / b->reach[i],
		};
		vec3 spring = { b->sx[i], b->sy[i], b->sz[i] };
		const grain_force f = grain_push(style, &here, &c, time_step, &spring);
		const vec3 turn = vec3_cross(c.normal, f.friction);
		b->sx[i] = spring.x;
		b->sy[i] = spring.y;
		b->sz[i] = spring.z;
		b->fx[i] = f.force.x;
		b->fy[i] = f.force.y;
		b->fz[i] = f.force.z;
		b->tx[i] = turn.x;
		b->ty[i] = turn.y;
		b->tz[i] = turn.z;
	}
}

FOR_EACH_MACHINE static void run_hooke(const carom_lammps_law *law, double time_step, block *b)
{
	run_block(CAROM_LAMMPS_HOOKE, law, time_step, b);
}

FOR_EACH_MACHINE static void run_hooke_history(const carom_lammps_law *law, double time_step, block *b)
{
	run_block(CAROM_LAMMPS_HOOKE_HISTORY, law, time_step, b);
}

FOR_EACH_MACHINE static void run_hertz_history(const carom_lammps_law *law, double time_step, block *b)
{
	run_block(CAROM_LAMMPS_HERTZ_HISTORY, law, time_step, b);
}

// ---- A step ----

/// Where a step is.
typedef struct step {
	const grain_atoms *atoms;
	const grain_sums *sums;
	double time_step;
	spring_store *springs; // NULL: none
} step;

static uint64_t id_of(const grain_atoms *atoms, int64_t i)
{
	return atoms->wide ? ((const uint64_t *)atoms->ids)[i] : ((const uint32_t *)atoms->ids)[i];
}

/// What the kernels need of each contact.
static void fill_block(const grain_atoms *a, block *b)
{
	for (int c = 0; c < b->count; c++) {
		const int64_t i = b->own[c], j = b->other[c];
		const double *xi = a->centres + 3 * i, *xj = a->centres + 3 * j;
		const double dx = xi[0] - xj[0], dy = xi[1] - xj[1], dz = xi[2] - xj[2];
		b->dx[c] = dx;
		b->dy[c] = dy;
		b->dz[c] = dz;
		b->square[c] = dx * dx + dy * dy + dz * dz;
		const double *vi = a->velocities + 3 * i, *vj = a->velocities + 3 * j;
		const double *wi = a->spins + 3 * i, *wj = a->spins + 3 * j;
		const double ri = a->radii[i], rj = a->radii[j], mi = a->masses[i], mj = a->masses[j];
		b->vx[c] = vi[0] - vj[0];
		b->vy[c] = vi[1] - vj[1];
		b->vz[c] = vi[2] - vj[2];
		b->wx[c] = ri * wi[0] + rj * wj[0];
		b->wy[c] = ri * wi[1] + rj * wj[1];
		b->wz[c] = ri * wi[2] + rj * wj[2];
		b->masses[c] = mi * mj;
		b->masses_sum[c] = mi + mj;
		b->reach[c] = ri + rj;
		b->product[c] = ri * rj;
		if (b->square[c] == 0) { // any direction will do, if the other side takes its opposite
			b->dx[c] = id_of(a, i) < id_of(a, j) ? 0x1p-500 : -0x1p-500;
			b->square[c] = 0x1p-1000;
		}
	}
}

/// A frozen sphere counts as one of infinite mass.
static void weigh_frozen(const grain_atoms *a, block *b)
{
	for (int c = 0; c < b->count; c++) {
		const uint32_t i = b->own[c], j = b->other[c];
		if ((a->groups[i] | a->groups[j]) & a->frozen) {
			b->masses[c] = a->masses[a->groups[j] & a->frozen ? i : j];
			b->masses_sum[c] = 1;
		}
	}
}

static void load_springs(const spring_store *springs, block *b)
{
	for (int c = 0; c < b->count; c++) {
		const double *value = springs->values[b->spring[c]];
		b->sx[c] = value[0];
		b->sy[c] = value[1];
		b->sz[c] = value[2];
	}
}

static void keep_springs(spring_store *springs, const block *b)
{
	for (int c = 0; c < b->count; c++) {
		double *value = springs->values[b->spring[c]];
		value[0] = b->sx[c];
		value[1] = b->sy[c];
		value[2] = b->sz[c];
	}
}

static void sum_block(const step *s, const block *b)
{
	for (int c = 0; c < b->count; c++) {
		const size_t i = b->own[c];
		double *force = s->sums->forces + 3 * i, *torque = s->sums->torques + 3 * i;
		const double radius = s->atoms->radii[i];
		force[0] += b->fx[c];
		force[1] += b->fy[c];
		force[2] += b->fz[c];
		torque[0] -= radius * b->tx[c];
		torque[1] -= radius * b->ty[c];
		torque[2] -= radius * b->tz[c];
	}
}

/// Half of each contact's virial is its own sphere's.
static void sum_virials(const grain_sums *sums, const block *b)
{
	for (int c = 0; c < b->count; c++) {
		const double half[6] = { 0.5 * b->dx[c] * b->fx[c], 0.5 * b->dy[c] * b->fy[c], 0.5 * b->dz[c] * b->fz[c],
			0.5 * b->dx[c] * b->fy[c], 0.5 * b->dx[c] * b->fz[c], 0.5 * b->dy[c] * b->fz[c] };
		for (int k = 0; k < 6; k++) {
			if (sums->virial)
				sums->virial[k] += half[k];
			if (sums->virials)
				sums->virials[6 * (size_t)b->own[c] + (size_t)k] += half[k];
		}
	}
}

/// What a block reads lies all over the arrays: it is asked for at once.
static void fetch_block(const step *s, const block *b)
{
	for (int c = 0; c < b->count; c++) {
		__builtin_prefetch(s->atoms->velocities + 3 * (size_t)b->other[c]);
		__builtin_prefetch(s->atoms->spins + 3 * (size_t)b->other[c]);
		__builtin_prefetch(s->atoms->masses + b->other[c]);
		if (s->springs)
			__builtin_prefetch(s->springs->values[b->spring[c]], 1);
	}
}

/// Compute the contacts of the block, and empty it.
static void flush(grains *g, const step *s)
{
	block *b = &g->block;
	fetch_block(s, b);
	fill_block(s->atoms, b);
	if (s->atoms->frozen)
		weigh_frozen(s->atoms, b);
	if (s->springs)
		load_springs(s->springs, b);
	switch (g->law.style) {
	case CAROM_LAMMPS_HOOKE: run_hooke(&g->law, s->time_step, b); break;
	case CAROM_LAMMPS_HOOKE_HISTORY: run_hooke_history(&g->law, s->time_step, b); break;
	case CAROM_LAMMPS_HERTZ_HISTORY: run_hertz_history(&g->law, s->time_step, b); break;
	}
	sum_block(s, b);
	if (s->sums->virial || s->sums->virials)
		sum_virials(s->sums, b);
	if (s->springs)
		keep_springs(s->springs, b);
	b->count = 0;
}

/// An entry whose contact begins or ends now. False: out of memory.
static bool change_spring(const step *s, uint32_t *entry, size_t other)
{
	if (*entry) {
		spring_store_end(s->springs, *entry);
		*entry = 0;
		return true;
	}
	*entry = spring_store_new(s->springs, id_of(s->atoms, (int64_t)other));
	return *entry != 0;
}

/// What touches sphere i goes into the block: the indices only, since most entries do not touch.
/// remembers: is constant where it is called.
static ALWAYS_INLINE bool scan_row(grains *g, const step *s, int64_t i, bool remembers)
{
	const double *x = s->atoms->centres, *radii = s->atoms->radii;
	const double xi = x[3 * i], yi = x[3 * i + 1], zi = x[3 * i + 2], ri = radii[i];
	block *b = &g->block;
	int count = b->count;
	const uint32_t *const end = g->rows.other + g->rows.first[i + 1];
	uint32_t *entry = remembers ? s->springs->entries + g->rows.first[i] : NULL;
	for (const uint32_t *other = g->rows.other + g->rows.first[i]; other < end; other++) {
		const size_t j = *other;
		const double *const xj = x + 3 * j;
		const double dx = xi - xj[0], dy = yi - xj[1], dz = zi - xj[2], reach = ri + radii[j];
		// LAMMPS has no contact at the very distance.
		const bool touches = dx * dx + dy * dy + dz * dz < reach * reach;
		b->own[count] = (uint32_t)i;
		b->other[count] = (uint32_t)j;
		if (remembers) {
			if (touches != (*entry != 0) && !change_spring(s, entry, j))
				return false;
			b->spring[count] = *entry++;
		}
		count += touches;
		if (count == BLOCK) {
			b->count = count;
			flush(g, s);
			count = 0;
		}
	}
	b->count = count;
	return true;
}

static bool scan_rows(grains *g, const step *s)
{
	for (int64_t i = 0; i < s->atoms->own; i++) {
		if (!(s->springs ? scan_row(g, s, i, true) : scan_row(g, s, i, false)))
			return false;
	}
	flush(g, s);
	return true;
}

static bool fail(grains *g, const char *why)
{
	snprintf(g->error, sizeof g->error, "%s", why);
	return false;
}

bool grains_compute(grains *g, const grain_atoms *atoms, double time_step, spring_store *springs, const grain_sums *sums)
{
	const step s = { .atoms = atoms, .sums = sums, .time_step = time_step, .springs = springs };
	g->block.count = 0;
	if (!scan_rows(g, &s))
		return fail(g, "out of memory: springs of contacts");
	g->stats.calls++;
	g->stats.owned = atoms->own;
	g->stats.ghosts = atoms->count - atoms->own;
	g->stats.tests += atoms->own > 0 ? g->rows.first[atoms->own] : 0;
	return true;
}

// ---- Lists ----

/// Of sphere i: rows and springs are sorted by ids alike.
static void find_springs(const grains *g, const grain_atoms *atoms, spring_store *springs, int64_t i)
{
	int64_t old = springs->first[i];
	const int64_t end = old + springs->number[i];
	for (int64_t k = g->rows.first[i]; k < g->rows.first[i + 1]; k++) {
		const uint64_t partner = id_of(atoms, g->rows.other[k]);
		while (old < end && springs->partners[old] < partner)
			old++;
		const bool kept = old < end && springs->partners[old] == partner;
		springs->entries[k] = kept ? (uint32_t)old : 0;
		old += kept;
	}
}

bool grains_list(grains *g, const grain_atoms *atoms, spring_store *springs)
{
	carom_sphere_input input = carom_default_sphere_input();
	input.count = atoms->count;
	input.owned = atoms->own;
	input.ids = atoms->wide ? NULL : atoms->ids; // positive, so that signs do not matter
	input.ids64 = atoms->wide ? atoms->ids : NULL;
	input.centres = (carom_strided){ atoms->centres, 3 * sizeof(double), CAROM_FLOAT64 };
	input.radii = (carom_strided){ atoms->radii, sizeof(double), CAROM_FLOAT64 };
	input.moved = INFINITY;
	if (springs && !spring_store_settle(springs)) // by the old list
		return fail(g, "out of memory: springs of contacts");
	if (carom_spheres_update(g->spheres, &input) || carom_spheres_get_neighbours(g->spheres, &g->rows))
		return fail(g, carom_error_text(g->context));
	g->stats.list_builds++;
	if (!springs)
		return true;
	if (!spring_store_open(springs, g->rows.first, atoms->own))
		return fail(g, "out of memory: springs of neighbours");
	for (int64_t i = 0; i < atoms->own; i++)
		find_springs(g, atoms, springs, i);
	return true;
}

grains *grains_create(const carom_lammps_law *law, double skin, char *error, int error_size)
{
	grains *g = calloc(1, sizeof *g);
	if (!g) {
		snprintf(error, (size_t)error_size, "out of memory");
		return NULL;
	}
	g->law = *law;
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = 1;
	carom_spheres_def def = carom_default_spheres_def();
	def.skin = skin * (1 + 1e-9); // room for the rounding of what measures motions
	if (carom_create_context(&context_def, &g->context) || carom_create_spheres(g->context, &def, &g->spheres)) {
		snprintf(error, (size_t)error_size, "%s", g->context ? carom_error_text(g->context) : "out of memory");
		grains_destroy(g);
		return NULL;
	}
	return g;
}

void grains_destroy(grains *g)
{
	if (!g)
		return;
	carom_destroy_spheres(g->spheres);
	carom_destroy_context(g->context);
	free(g);
}

const char *grains_error(const grains *g) { return g->error; }
carom_lammps_stats grains_get_stats(const grains *g) { return g->stats; }
size_t grains_bytes(const grains *g) { return g ? carom_spheres_get_stats(g->spheres).bytes + sizeof *g : 0; }
