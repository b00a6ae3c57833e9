/// Forces on the spheres of one process. See grains.h.
///
/// A step reads the entries of the list in order. What touches goes into a block of contacts; when
/// the block is full, a kernel computes its contacts side by side. Each is computed once, at its
/// near end, and its force is kept until both ends have added it: each sphere adds what acts on it
/// along its row, in the order of ids. A row is added as soon as its last contact is computed, so
/// that what is kept stays in the cache: the places of forces are used again.
#include "grains.h"
#include "grain_list.h"
#include "grain_law.h"
#include <carom/carom.h>
#include <carom/spheres.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK = 128,         // contacts: what a block holds stays in the first cache
	FORCE = 8,           // numbers of a contact: force and turn on the near end, and two of no use
	FEWEST_BLOCKS = 32,  // in the ring of forces
	SPRINGS_AHEAD = 128, // numbers: springs are read in order, and fetched so far ahead
};

/// Four numbers, added and multiplied at once.
typedef double lanes __attribute__((vector_size(32)));
typedef int64_t lane_bits __attribute__((vector_size(32)));

/// How a sphere moves, in a line of the cache.
typedef struct motion {
	lanes velocity; // and 0
	lanes spin;     // times the radius; and the mass
} motion;

/// Numbers of the contacts of a block, as seen from their near ends.
typedef struct block {
	uint32_t entry[BLOCK + 4];
	lanes way[BLOCK];      // from the far centre to the near one; the sum of radii
	lanes velocity[BLOCK]; // of the near one less that of the far one
	lanes spin[BLOCK];     // the sum of r omega of both; the sum of masses
	lanes radii[BLOCK];    // the last one is the product of radii
	lanes masses[BLOCK];   // the last one is the product of masses
	double spring[BLOCK][4] __attribute__((aligned(32)));
	int count;
	bool coincide; // centres of some contact do
} block;

struct grains {
	carom_lammps_law law;
	double skin;
	carom_context *context;
	carom_spheres *spheres;
	grain_list list;
	lanes *centres;  // [sphere_room] of spheres, and their radii; the one behind all is a point
	motion *motions; // [sphere_room]
	int64_t sphere_room;
	double (*forces)[FORCE]; // a ring of places; its first block is for contacts that are none
	int64_t force_room;      // a power of 2, and a multiple of BLOCK
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

static ALWAYS_INLINE void run_block(carom_lammps_style style, const carom_lammps_law *law, double time_step, block *b,
	double (*restrict forces)[FORCE], double (*restrict springs)[4])
{
	const carom_lammps_law here = *law;
	const int count = b->count;
#ifndef __clang__ // which does not know it
#pragma GCC ivdep
#endif
	for (int i = 0; i < count; i++) {
		const lanes *const way = b->way + i, *const velocity = b->velocity + i, *const spin = b->spin + i;
		const double dx = (*way)[0], dy = (*way)[1], dz = (*way)[2], reach = (*way)[3];
		const double distance = sqrt(dx * dx + dy * dy + dz * dz), inverse = 1 / distance;
		const grain_contact c = {
			.normal = { dx * inverse, dy * inverse, dz * inverse },
			.overlap = reach - distance,
			.velocity = { (*velocity)[0], (*velocity)[1], (*velocity)[2] },
			.spin = { (*spin)[0], (*spin)[1], (*spin)[2] },
			.mass = b->masses[i][3] / (*spin)[3],
			.radius = b->radii[i][3] / reach,
		};
		vec3 spring = { b->spring[i][0], b->spring[i][1], b->spring[i][2] };
		const grain_force f = grain_push(style, &here, &c, time_step, &spring);
		const vec3 turn = vec3_cross(c.normal, f.friction);
		springs[i][0] = spring.x;
		springs[i][1] = spring.y;
		springs[i][2] = spring.z;
		springs[i][3] = 0;
		forces[i][0] = f.force.x;
		forces[i][1] = f.force.y;
		forces[i][2] = f.force.z;
		forces[i][3] = turn.x;
		forces[i][4] = turn.y;
		forces[i][5] = turn.z;
		forces[i][6] = 0;
		forces[i][7] = 0;
	}
}

// ---- A step ----

/// Where a step is.
typedef struct step {
	const grain_atoms *atoms;
	const grain_sums *sums;
	double time_step;
	bool remembers; // the law has history
	uint32_t place; // of the last block: its contacts have this one and those behind it
	int64_t summed; // rows that have been added
} step;

/// Three numbers, and one more.
#define LOAD(values, last) ((lanes){ (values)[0], (values)[1], (values)[2], last })
#ifdef __clang__
#define PICK __builtin_shufflevector
#else
#define PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (lane_bits){ i, j, k, l })
#endif

/// What entries and contacts read of a sphere, side by side: it is read once for each of them.
static ALWAYS_INLINE void pack_spheres(grains *g, const grain_atoms *a)
{
	const grain_list *const list = &g->list;
	for (int64_t k = 0; k < list->spheres; k++) {
		const size_t i = list->sources[k];
		const double r = a->radii[i];
		const lanes radius = { r, r, r, 1 };
		g->centres[k] = LOAD(a->centres + 3 * i, r);
		g->motions[k].velocity = LOAD(a->velocities + 3 * i, 0);
		g->motions[k].spin = radius * LOAD(a->spins + 3 * i, a->masses[i]);
	}
	g->centres[list->spheres] = (lanes){ 0 };
}

/// From the far centre to the near one, and the sum of radii.
static ALWAYS_INLINE void find_way(const grains *g, int64_t entry, lanes *way)
{
	static const lanes FLIP = { 1, 1, 1, -1 };
	const uint32_t *const ends = g->list.ends[entry];
	*way = g->centres[ends[0]] - FLIP * g->centres[ends[1]];
}

/// What the kernels need of each contact.
static ALWAYS_INLINE void fill_block(grains *g)
{
	block *const b = &g->block;
	for (int c = 0; c < b->count; c++) {
		const uint32_t *const ends = g->list.ends[b->entry[c]];
		const motion *const near = g->motions + ends[0], *const far = g->motions + ends[1];
		find_way(g, b->entry[c], b->way + c);
		b->velocity[c] = near->velocity - far->velocity;
		b->spin[c] = near->spin + far->spin;
		b->masses[c] = near->spin * far->spin;
		if (g->law.style == CAROM_LAMMPS_HERTZ_HISTORY)
			b->radii[c] = g->centres[ends[0]] * g->centres[ends[1]];
	}
}

/// Any direction will do, if it is another one seen from the other side.
static void part_centres(const grain_list *list, block *b)
{
	for (int c = 0; c < b->count; c++) {
		const uint32_t i = list->ends[b->entry[c]][0], j = list->ends[b->entry[c]][1];
		const lanes way = b->way[c];
		if (way[0] * way[0] + way[1] * way[1] + way[2] * way[2] == 0)
			b->way[c] = (lanes){ list->ids[i] < list->ids[j] ? 0x1p-500 : -0x1p-500, 0, 0, way[3] };
	}
}

/// A frozen sphere counts as one of infinite mass.
static void weigh_frozen(const grain_list *list, const grain_atoms *a, block *b)
{
	for (int c = 0; c < b->count; c++) {
		const uint32_t i = list->ends[b->entry[c]][0], j = list->sources[list->ends[b->entry[c]][1]];
		if ((a->groups[i] | a->groups[j]) & a->frozen) {
			b->masses[c][3] = a->masses[a->groups[j] & a->frozen ? i : j];
			b->spin[c][3] = 1;
		}
	}
}

static ALWAYS_INLINE void load_springs(const grain_list *list, block *b)
{
	for (int c = 0; c < b->count; c++) {
		const double *const spring = list->springs[list->places[b->entry[c]]];
		__builtin_prefetch(spring + SPRINGS_AHEAD);
		*(lanes *)b->spring[c] = *(const lanes *)spring;
	}
}

/// Where the force of a contact is kept; of place 0, which is none, where nothing is.
static ALWAYS_INLINE const double *force_of(const grains *g, uint32_t place)
{
	return g->forces[place & (uint32_t)(g->force_room - 1)];
}

/// Half of each contact's virial is its own sphere's. Rare.
static void sum_virial(const grains *g, const step *s, int64_t i)
{
	const grain_list *const list = &g->list;
	for (int64_t k = list->row[i]; k < list->row[i + 1]; k++) {
		const uint32_t place = list->places[list->sides[k] >> 1];
		if (place == 0)
			continue;
		const double *const f = force_of(g, place), half = list->sides[k] & 1 ? -0.5 : 0.5;
		const double *const xi = s->atoms->centres + 3 * i;
		const double *const xj = s->atoms->centres + 3 * (size_t)list->sources[grain_list_other(list, list->sides[k])];
		const double dx = half * (xi[0] - xj[0]), dy = half * (xi[1] - xj[1]), dz = half * (xi[2] - xj[2]);
		const double values[6] = { dx * f[0], dy * f[1], dz * f[2], dx * f[1], dx * f[2], dy * f[2] };
		for (int n = 0; n < 6; n++) {
			if (s->sums->virial)
				s->sums->virial[n] += values[n];
			if (s->sums->virials)
				s->sums->virials[6 * i + n] += values[n];
		}
	}
}

/// Add what acts on the spheres whose rows end before an entry. Force on a far end is the opposite
/// of that on the near one; the turn is the same.
static ALWAYS_INLINE void sum_rows(grains *g, step *s, int64_t entry)
{
	static const lanes SIGNS[2] = { { 1, 1, 1, 1 }, { -1, -1, -1, 1 } };
	const grain_list *const list = &g->list;
	int64_t i = s->summed;
	for (; i < list->rows && list->first[i + 1] <= entry; i++) {
		const uint32_t *const end = list->sides + list->row[i + 1];
		double *const force = s->sums->forces + 3 * i, *const torque = s->sums->torques + 3 * i;
		lanes sum = LOAD(force, 0), turn = { 0 };
		for (const uint32_t *side = list->sides + list->row[i]; side < end; side++) {
			const double *const f = force_of(g, list->places[*side >> 1]);
			sum += SIGNS[*side & 1] * *(const lanes *)f;
			turn += *(const lanes *)(f + 4);
		}
		const double radius = s->atoms->radii[i];
		force[0] = sum[0];
		force[1] = sum[1];
		force[2] = sum[2];
		torque[0] -= radius * sum[3];
		torque[1] -= radius * turn[0];
		torque[2] -= radius * turn[1];
		if (s->sums->virial || s->sums->virials)
			sum_virial(g, s, i);
	}
	s->summed = i;
}

/// Compute the contacts of the block, which are all up to an entry, and add the rows that end.
static ALWAYS_INLINE void flush(grains *g, step *s, int64_t entry)
{
	block *const b = &g->block;
	grain_list *const list = &g->list;
	s->place += BLOCK;
	if ((s->place & (uint32_t)(g->force_room - 1)) == 0)
		s->place += BLOCK;
	double(*const forces)[FORCE] = g->forces + (s->place & (uint32_t)(g->force_room - 1));
	double(*const springs)[4] = s->remembers ? list->fresh + s->place : b->spring;
	fill_block(g);
	if (s->atoms->frozen)
		weigh_frozen(list, s->atoms, b);
	if (b->coincide)
		part_centres(list, b);
	if (s->remembers)
		load_springs(list, b);
	switch (g->law.style) {
	case CAROM_LAMMPS_HOOKE: run_block(CAROM_LAMMPS_HOOKE, &g->law, s->time_step, b, forces, springs); break;
	case CAROM_LAMMPS_HOOKE_HISTORY: run_block(CAROM_LAMMPS_HOOKE_HISTORY, &g->law, s->time_step, b, forces, springs); break;
	case CAROM_LAMMPS_HERTZ_HISTORY: run_block(CAROM_LAMMPS_HERTZ_HISTORY, &g->law, s->time_step, b, forces, springs); break;
	}
	for (int c = 0; c < b->count; c++)
		list->places[b->entry[c]] = s->place + (uint32_t)c;
	sum_rows(g, s, entry);
}

/// Put what touches into the block, from an entry on until it is full. Returns the entry after.
/// Four entries at once; many do not touch, and only their numbers are kept.
static ALWAYS_INLINE int64_t scan_entries(grains *g, int64_t e)
{
	const grain_list *const list = &g->list;
	block *const b = &g->block;
	int count = 0;
	lane_bits coincide = { 0 };
	for (; e < list->count && count <= BLOCK - ENTRIES_AT_ONCE; e += ENTRIES_AT_ONCE) {
		lanes way[ENTRIES_AT_ONCE];
		for (int k = 0; k < ENTRIES_AT_ONCE; k++) {
			find_way(g, e + k, way + k);
			way[k] *= way[k];
			__builtin_prefetch(g->motions + list->ends[e + k][1]);
		}
		const lanes xz01 = PICK(way[0], way[1], 0, 4, 2, 6), yr01 = PICK(way[0], way[1], 1, 5, 3, 7);
		const lanes xz23 = PICK(way[2], way[3], 0, 4, 2, 6), yr23 = PICK(way[2], way[3], 1, 5, 3, 7);
		const lanes x = PICK(xz01, xz23, 0, 1, 4, 5), z = PICK(xz01, xz23, 2, 3, 6, 7);
		const lanes y = PICK(yr01, yr23, 0, 1, 4, 5), reach = PICK(yr01, yr23, 2, 3, 6, 7);
		const lanes square = x + y + z;
		const lane_bits touches = square < reach; // LAMMPS has no contact at the very distance
		coincide |= square == 0;
		for (int k = 0; k < ENTRIES_AT_ONCE; k++) {
			b->entry[count] = (uint32_t)(e + k);
			count -= (int)touches[k];
			list->places[e + k] &= (uint32_t)touches[k];
		}
	}
	b->count = count;
	b->coincide = coincide[0] | coincide[1] | coincide[2] | coincide[3];
	return e;
}

FOR_EACH_MACHINE static void run_step(grains *g, step *s)
{
	pack_spheres(g, s->atoms);
	for (int64_t e = 0; s->summed < g->list.rows;) {
		e = scan_entries(g, e);
		flush(g, s, e);
	}
}

static bool fail(grains *g, const char *why)
{
	snprintf(g->error, sizeof g->error, "%s", why);
	return false;
}

void grains_compute(grains *g, const grain_atoms *atoms, double time_step, const grain_sums *sums)
{
	step s = { .atoms = atoms, .sums = sums, .time_step = time_step, .remembers = g->law.style != CAROM_LAMMPS_HOOKE };
	run_step(g, &s);
	g->list.steps++;
	if (s.remembers) {
		double(*const old)[4] = g->list.springs;
		g->list.springs = g->list.fresh;
		g->list.fresh = old;
	}
	g->stats.calls++;
	g->stats.owned = atoms->own;
	g->stats.ghosts = atoms->count - atoms->own;
	g->stats.tests += g->list.count;
}

// ---- Lists ----

/// Room for the forces of contacts that a row has still to add: it may have to wait for the block.
static bool reserve_forces(grains *g)
{
	const int64_t wanted = g->list.window + g->list.window / 16 + 4 * BLOCK; // some stay empty
	int64_t room = FEWEST_BLOCKS * BLOCK;
	while (room < wanted)
		room *= 2;
	if (room <= g->force_room)
		return true;
	free(g->forces);
	g->force_room = 0;
	g->forces = aligned_alloc(64, (size_t)room * sizeof *g->forces);
	if (!g->forces)
		return false;
	memset(g->forces, 0, BLOCK * sizeof *g->forces);
	g->force_room = room;
	return true;
}

static bool reserve_spheres(grains *g, int64_t count)
{
	if (count < g->sphere_room)
		return true;
	free(g->centres);
	free(g->motions);
	g->sphere_room = count + count / 8 + 64;
	g->centres = aligned_alloc(64, ((size_t)g->sphere_room * sizeof *g->centres + 63) / 64 * 64);
	g->motions = aligned_alloc(64, (size_t)g->sphere_room * sizeof *g->motions);
	if (g->centres && g->motions)
		return true;
	g->sphere_room = 0;
	return false;
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
	carom_sphere_neighbours rows;
	if (springs && !spring_store_take_back(springs)) // from the old list
		return fail(g, "out of memory: springs of contacts");
	if (carom_spheres_update(g->spheres, &input) || carom_spheres_get_neighbours(g->spheres, &rows))
		return fail(g, carom_error_text(g->context));
	if (!grain_list_make(&g->list, &rows, atoms->ids, atoms->wide, atoms->count, springs != NULL) || !reserve_forces(g) ||
		!reserve_spheres(g, g->list.spheres))
		return fail(g, "out of memory: contacts");
	g->stats.list_builds++;
	if (springs)
		spring_store_hand_over(springs, &g->list);
	return true;
}

grains *grains_create(const carom_lammps_law *law, double skin, char *error, int error_size)
{
	grains *g = aligned_alloc(64, (sizeof *g + 63) / 64 * 64);
	if (!g) {
		snprintf(error, (size_t)error_size, "out of memory");
		return NULL;
	}
	memset(g, 0, sizeof *g);
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
	grain_list_free(&g->list);
	free(g->forces);
	free(g->centres);
	free(g->motions);
	carom_destroy_spheres(g->spheres);
	carom_destroy_context(g->context);
	free(g);
}

const char *grains_error(const grains *g) { return g->error; }
carom_lammps_stats grains_get_stats(const grains *g) { return g->stats; }

size_t grains_bytes(const grains *g)
{
	if (!g)
		return 0;
	return carom_spheres_get_stats(g->spheres).bytes + grain_list_bytes(&g->list) + (size_t)g->force_room * sizeof *g->forces +
		(size_t)g->sphere_room * (sizeof *g->centres + sizeof *g->motions) + sizeof *g;
}
