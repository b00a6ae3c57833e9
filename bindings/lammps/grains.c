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
	FEWEST_BLOCKS = 8,   // in the ring of forces, beside those that rows wait for
	SPRINGS_AHEAD = 128, // numbers: springs are read in order, and fetched so far ahead
	SPHERES_AHEAD = 48,  // the same of spheres
	CHUNK = 64,          // places: so many are packed at once
	HOLD = 512,          // places: contacts of a block are no further apart
};

/// Four numbers, added and multiplied at once; and in memory that may not be aligned.
typedef double lanes __attribute__((vector_size(32)));
typedef double loose_lanes __attribute__((vector_size(32), aligned(8)));
typedef int64_t lane_bits __attribute__((vector_size(32)));
typedef double loose_pair __attribute__((vector_size(16), aligned(8)));

/// How a sphere moves, in a line of the cache.
typedef struct motion {
	lanes velocity; // and a number of no use
	lanes spin;     // times the radius; and the mass
} motion;

/// Contacts of a block, as seen from their near ends: as they are found, then number by number.
typedef struct block {
	uint32_t entry[BLOCK + 4];
	lanes way[BLOCK + 4]; // from the far centre to the near one; the sum of radii
	// way by numbers; velocity of the near one less that of the far one; r omega of both, added.
	double dx[BLOCK], dy[BLOCK], dz[BLOCK], reach[BLOCK];
	double vx[BLOCK], vy[BLOCK], vz[BLOCK];
	double wx[BLOCK], wy[BLOCK], wz[BLOCK];
	double masses[BLOCK], mass_product[BLOCK], radii[BLOCK]; // sum, product; product of radii
	double sx[BLOCK], sy[BLOCK], sz[BLOCK];                  // spring
	double fx[BLOCK], fy[BLOCK], fz[BLOCK];                  // force
	double tx[BLOCK], ty[BLOCK], tz[BLOCK];                  // turn
	int count;
	bool coincide; // centres of some contact do
} block;

struct grains {
	carom_lammps_law law;
	double skin;
	carom_context *context;
	carom_spheres *spheres;
	grain_list list;
	// Of the places around the present one, in a ring: place k is at k & ring.
	lanes *centres; // [ring+1] and radii
	motion *motions;
	uint32_t ring;
	double (*forces)[FORCE]; // a ring of blocks, then those of long rows; first a block of zeros
	int64_t force_room;      // of the ring, a multiple of BLOCK
	int64_t kept_room;       // behind it
	carom_lammps_stats stats;
	char error[256];
	block block;
};

// ---- Kernels ----

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__)
#if __GNUC__ >= 12 // before, it knows no levels here
#define FOR_EACH_MACHINE __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define FOR_EACH_MACHINE __attribute__((target_clones("default", "avx2")))
#endif
#else
#define FOR_EACH_MACHINE
#endif
#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void run_block(carom_lammps_style style, const carom_lammps_law *law, double time_step, block *b)
{
	const carom_lammps_law here = *law;
	const int count = (b->count + 3) & ~3; // what is behind the last one is of no use, and harmless
#ifndef __clang__                          // which does not know it
#pragma GCC ivdep
#endif
	for (int i = 0; i < count; i++) {
		const double dx = b->dx[i], dy = b->dy[i], dz = b->dz[i], reach = b->reach[i];
		const double distance = sqrt(dx * dx + dy * dy + dz * dz), inverse = 1 / distance;
		const grain_contact c = {
			.normal = { dx * inverse, dy * inverse, dz * inverse },
			.overlap = reach - distance,
			.velocity = { b->vx[i], b->vy[i], b->vz[i] },
			.spin = { b->wx[i], b->wy[i], b->wz[i] },
			.mass = b->mass_product[i] / b->masses[i],
			.radius = style == CAROM_LAMMPS_HERTZ_HISTORY ? b->radii[i] / reach : 0,
		};
		vec3 spring = { 0, 0, 0 };
		if (style != CAROM_LAMMPS_HOOKE)
			spring = (vec3){ b->sx[i], b->sy[i], b->sz[i] };
		const grain_force f = grain_push(style, &here, &c, time_step, &spring);
		const vec3 turn = vec3_cross(c.normal, f.friction);
		if (style != CAROM_LAMMPS_HOOKE) {
			b->sx[i] = spring.x;
			b->sy[i] = spring.y;
			b->sz[i] = spring.z;
		}
		b->fx[i] = f.force.x;
		b->fy[i] = f.force.y;
		b->fz[i] = f.force.z;
		b->tx[i] = turn.x;
		b->ty[i] = turn.y;
		b->tz[i] = turn.z;
	}
}

// ---- A step ----

/// Where a step is.
typedef struct step {
	const grain_atoms *atoms;
	const grain_sums *sums;
	double time_step;
	bool remembers; // the law has history
	int64_t place;  // behind the last force in the ring
	int64_t packed; // places
	int64_t summed; // rows that have been added
} step;

/// Three numbers, and one more.
#define LOAD(values, last) ((lanes){ (values)[0], (values)[1], (values)[2], last })
/// Four numbers that may not be aligned.
#define LOAD4(values) (*(const loose_lanes *)(values))
#ifdef __clang__
#define PICK __builtin_shufflevector
#else
#define PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (lane_bits){ i, j, k, l })
#endif

/// Rows to columns.
#define TRANSPOSE(a, b, c, d)                                                       \
	do {                                                                            \
		const lanes even_ = PICK(a, b, 0, 4, 2, 6), odd_ = PICK(a, b, 1, 5, 3, 7);  \
		const lanes more_ = PICK(c, d, 0, 4, 2, 6), last_ = PICK(c, d, 1, 5, 3, 7); \
		a = PICK(even_, more_, 0, 1, 4, 5);                                         \
		b = PICK(odd_, last_, 0, 1, 4, 5);                                          \
		c = PICK(even_, more_, 2, 3, 6, 7);                                         \
		d = PICK(odd_, last_, 2, 3, 6, 7);                                          \
	} while (0)
#define PUT(column, at, value) (*(lanes *)((column) + (at)) = (value))
#define GET(column, at) (*(const lanes *)((column) + (at)))

/// What entries and contacts read of the spheres of places, side by side, up to a place: it is read
/// once for each of them. The caller's arrays end with their last sphere, which is not read four
/// numbers at once.
static ALWAYS_INLINE void pack_places(grains *g, step *s, int64_t end)
{
	const grain_list *const list = &g->list;
	const grain_atoms *const a = s->atoms;
	const uint32_t last = (uint32_t)(a->count - 1);
	end = end < list->places ? end : list->places;
	for (int64_t k = s->packed; k < end; k++) {
		const size_t i = list->sources[k], later = list->sources[k + SPHERES_AHEAD < list->places ? k + SPHERES_AHEAD : k];
		__builtin_prefetch(a->centres + 3 * later);
		__builtin_prefetch(a->velocities + 3 * later);
		__builtin_prefetch(a->spins + 3 * later);
		__builtin_prefetch(a->radii + later);
		__builtin_prefetch(a->masses + later);
		const double r = a->radii[i], m = a->masses[i];
		const lanes radius = { r, r, r, r }, mass = { m, m, m, m };
		lanes *const centre = g->centres + (k & g->ring);
		motion *const moves = g->motions + (k & g->ring);
		if (i == last) {
			*centre = LOAD(a->centres + 3 * i, r);
			moves->velocity = LOAD(a->velocities + 3 * i, 0);
			moves->spin = (lanes){ r, r, r, 1 } * LOAD(a->spins + 3 * i, m);
			continue;
		}
		*centre = PICK(LOAD4(a->centres + 3 * i), radius, 0, 1, 2, 7);
		moves->velocity = LOAD4(a->velocities + 3 * i);
		moves->spin = PICK(radius * LOAD4(a->spins + 3 * i), mass, 0, 1, 2, 7);
	}
	s->packed = end;
	// The last entries are of a place behind all: a point.
	if (end == list->places) {
		g->centres[end & g->ring] = (lanes){ 0 };
		g->motions[end & g->ring] = (motion){ 0 };
	}
}

/// From the far centre to the near one, and the sum of radii.
static ALWAYS_INLINE void find_way(const grains *g, int64_t entry, lanes *way)
{
	static const lanes TURN = { -1, -1, -1, 1 };
	const uint32_t *const ends = g->list.ends[entry];
	*way = TURN * g->centres[ends[1] & g->ring] + g->centres[ends[0] & g->ring];
}

/// What the kernels need of each contact, four at once.
static ALWAYS_INLINE void fill_block(grains *g)
{
	block *const b = &g->block;
	for (int c = 0; c < b->count; c += 4) {
		lanes v[4], w[4], m[4];
		for (int k = 0; k < 4; k++) {
			const uint32_t *const ends = g->list.ends[b->entry[c + k]];
			const motion *const near = g->motions + (ends[0] & g->ring), *const far = g->motions + (ends[1] & g->ring);
			v[k] = near->velocity - far->velocity;
			w[k] = near->spin + far->spin;
			m[k] = near->spin * far->spin;
		}
		TRANSPOSE(v[0], v[1], v[2], v[3]);
		PUT(b->vx, c, v[0]);
		PUT(b->vy, c, v[1]);
		PUT(b->vz, c, v[2]);
		TRANSPOSE(w[0], w[1], w[2], w[3]);
		PUT(b->wx, c, w[0]);
		PUT(b->wy, c, w[1]);
		PUT(b->wz, c, w[2]);
		PUT(b->masses, c, w[3]);
		PUT(b->mass_product, c, PICK(PICK(m[0], m[1], 1, 5, 3, 7), PICK(m[2], m[3], 1, 5, 3, 7), 2, 3, 6, 7));
		lanes way[4] = { b->way[c], b->way[c + 1], b->way[c + 2], b->way[c + 3] };
		TRANSPOSE(way[0], way[1], way[2], way[3]);
		PUT(b->dx, c, way[0]);
		PUT(b->dy, c, way[1]);
		PUT(b->dz, c, way[2]);
		PUT(b->reach, c, way[3]);
	}
}

static void multiply_radii(grains *g)
{
	block *const b = &g->block;
	for (int c = 0; c < b->count; c++) {
		const uint32_t *const ends = g->list.ends[b->entry[c]];
		b->radii[c] = g->centres[ends[0] & g->ring][3] * g->centres[ends[1] & g->ring][3];
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
		const uint32_t *const ends = list->ends[b->entry[c]], i = list->sources[ends[0]], j = list->sources[ends[1]];
		if ((a->groups[i] | a->groups[j]) & a->frozen) {
			b->mass_product[c] = a->masses[a->groups[j] & a->frozen ? i : j];
			b->masses[c] = 1;
		}
	}
}

/// Springs of entries that touched in the last step; others begin with none.
static ALWAYS_INLINE void load_springs(const grain_list *list, block *b)
{
	static const double none[4] __attribute__((aligned(32))) = { 0 };
	for (int c = 0; c < b->count; c += 4) {
		lanes s[4];
		for (int k = 0; k < 4; k++) {
			const uint32_t e = b->entry[c + k];
			const double *const spring = list->slots[e] ? list->springs[e] : none;
			__builtin_prefetch(list->springs[e] + SPRINGS_AHEAD);
			s[k] = *(const lanes *)spring;
		}
		TRANSPOSE(s[0], s[1], s[2], s[3]);
		PUT(b->sx, c, s[0]);
		PUT(b->sy, c, s[1]);
		PUT(b->sz, c, s[2]);
	}
}

static ALWAYS_INLINE void store_springs(const block *b, double (*springs)[4])
{
	for (int c = 0; c < b->count; c += 4) {
		lanes x = GET(b->sx, c), y = GET(b->sy, c), z = GET(b->sz, c), none = { 0 };
		TRANSPOSE(x, y, z, none);
		*(lanes *)springs[b->entry[c]] = x;
		*(lanes *)springs[b->entry[c + 1]] = y;
		*(lanes *)springs[b->entry[c + 2]] = z;
		*(lanes *)springs[b->entry[c + 3]] = none;
	}
}

static ALWAYS_INLINE void store_forces(const block *b, double (*restrict forces)[FORCE])
{
	for (int c = 0; c < b->count; c += 4) {
		lanes f[4] = { GET(b->fx, c), GET(b->fy, c), GET(b->fz, c), { 0 } };
		lanes t[4] = { GET(b->tx, c), GET(b->ty, c), GET(b->tz, c), { 0 } };
		TRANSPOSE(f[0], f[1], f[2], f[3]);
		TRANSPOSE(t[0], t[1], t[2], t[3]);
		for (int k = 0; k < 4; k++) {
			PUT(forces[c + k], 0, f[k]);
			PUT(forces[c + k], 4, t[k]);
		}
	}
}

/// Half of each contact's virial is its own sphere's. Rare.
static void sum_virial(const grains *g, const step *s, int64_t i)
{
	const grain_list *const list = &g->list;
	const size_t source = list->sources[i];
	for (int64_t k = list->row[i]; k < list->row[i + 1]; k++) {
		const uint32_t slot = list->slots[list->sides[k] >> 1];
		if (slot == 0)
			continue;
		const double *const f = g->forces[0] + slot, half = list->sides[k] & 1 ? -0.5 : 0.5;
		const double *const xi = s->atoms->centres + 3 * source;
		const double *const xj = s->atoms->centres + 3 * (size_t)list->sources[grain_list_other(list, list->sides[k])];
		const double dx = half * (xi[0] - xj[0]), dy = half * (xi[1] - xj[1]), dz = half * (xi[2] - xj[2]);
		const double values[6] = { dx * f[0], dy * f[1], dz * f[2], dx * f[1], dx * f[2], dy * f[2] };
		for (int n = 0; n < 6; n++) {
			if (s->sums->virial)
				s->sums->virial[n] += values[n];
			if (s->sums->virials)
				s->sums->virials[6 * source + n] += values[n];
		}
	}
}

/// Forces of long rows stay until the end of the step: the ring would have to be as long.
static ALWAYS_INLINE void keep_forces(grains *g)
{
	const block *const b = &g->block;
	grain_list *const list = &g->list;
	for (int c = 0; c < b->count; c++) {
		const uint32_t e = b->entry[c], kept = list->kept[e];
		if (kept == 0)
			continue;
		const size_t place = (size_t)g->force_room + kept - 1;
		memcpy(g->forces[place], g->forces[0] + list->slots[e], sizeof *g->forces);
		list->slots[e] = (uint32_t)place * FORCE;
	}
}

/// Three numbers, of which the last one may be the caller's last.
static ALWAYS_INLINE void get_three(const double *from, lanes *values)
{
	const loose_pair two = *(const loose_pair *)from;
	*values = (lanes){ two[0], two[1], from[2], 0 };
}

static ALWAYS_INLINE void put_three(double *to, const lanes *values)
{
	*(loose_pair *)to = (loose_pair){ (*values)[0], (*values)[1] };
	to[2] = (*values)[2];
}

/// Fetch what will be added to of a place that comes later.
static ALWAYS_INLINE void fetch_sums(const grain_list *list, const grain_sums *sums, int64_t place)
{
	const size_t later = 3 * (size_t)list->sources[place + SPHERES_AHEAD < list->places ? place + SPHERES_AHEAD : place];
	__builtin_prefetch(sums->forces + later, 1);
	__builtin_prefetch(sums->torques + later, 1);
}

/// Add what acts on the spheres whose rows end before an entry. Force on a far end is the opposite
/// of that on the near one; the turn is the same.
static ALWAYS_INLINE void sum_rows(grains *g, step *s, int64_t entry)
{
	static const lanes SIGNS[2] = { { 1, 1, 1, 1 }, { -1, -1, -1, 1 } };
	const grain_list *const list = &g->list;
	const grain_sums *const sums = s->sums;
	const double *const forces = g->forces[0];
	const uint32_t *const slots = list->slots;
	int64_t i = s->summed, stop = i;
	while (stop < list->places && list->first[stop + 1] <= entry)
		stop++;
	const uint32_t *side = list->sides + list->row[i];
	for (; i < stop; i++) {
		const uint32_t *const end = list->sides + list->row[i + 1];
		fetch_sums(list, sums, i);
		if (side == end)
			continue;
		const size_t source = list->sources[i];
		double *const force = sums->forces + 3 * source, *const torque = sums->torques + 3 * source;
		lanes sum, turn = { 0 }, before;
		get_three(force, &sum);
		get_three(torque, &before);
		for (; side < end; side++) {
			const double *const f = forces + slots[*side >> 1];
			sum += SIGNS[*side & 1] * *(const lanes *)f;
			turn += *(const lanes *)(f + 4);
		}
		const double r = g->centres[i & g->ring][3];
		turn = before - turn * (lanes){ r, r, r, r };
		put_three(force, &sum);
		put_three(torque, &turn);
		if (sums->virial || sums->virials)
			sum_virial(g, s, i);
	}
	s->summed = stop;
}

/// Compute the contacts of the block, which are all up to an entry, and add the rows that end.
static ALWAYS_INLINE void flush(grains *g, step *s, int64_t entry)
{
	block *const b = &g->block;
	grain_list *const list = &g->list;
	// The first block of the ring is for contacts that are none.
	const int64_t place = s->place + BLOCK > g->force_room ? BLOCK : s->place;
	s->place = place + ((b->count + 3) & ~3);
	for (int k = 0; k < 4; k++)
		b->entry[b->count + k] = (uint32_t)list->count; // which has no spheres
	if (b->coincide)
		part_centres(list, b);
	fill_block(g);
	if (s->atoms->frozen)
		weigh_frozen(list, s->atoms, b);
	if (s->remembers)
		load_springs(list, b);
	switch (g->law.style) {
	case CAROM_LAMMPS_HOOKE: run_block(CAROM_LAMMPS_HOOKE, &g->law, s->time_step, b); break;
	case CAROM_LAMMPS_HOOKE_HISTORY: run_block(CAROM_LAMMPS_HOOKE_HISTORY, &g->law, s->time_step, b); break;
	case CAROM_LAMMPS_HERTZ_HISTORY:
		multiply_radii(g);
		run_block(CAROM_LAMMPS_HERTZ_HISTORY, &g->law, s->time_step, b);
		break;
	}
	if (s->remembers)
		store_springs(b, list->springs);
	store_forces(b, g->forces + place);
	for (int c = 0; c < b->count; c++)
		list->slots[b->entry[c]] = (uint32_t)(place + c) * FORCE;
	if (list->kept_count > 0)
		keep_forces(g);
	b->count = 0;
	b->coincide = false;
	sum_rows(g, s, entry);
}

/// Put what touches into the block, from an entry up to another one, or until the block is full.
/// Returns the entry after. Four entries at once; many do not touch, and only their numbers are
/// kept. Up to three entries are left.
static ALWAYS_INLINE int64_t scan_entries(grains *g, int64_t e, int64_t end)
{
	const grain_list *const list = &g->list;
	block *const b = &g->block;
	int count = b->count;
	lane_bits coincide = { 0 };
	for (; e + ENTRIES_AT_ONCE <= end && count <= BLOCK - ENTRIES_AT_ONCE; e += ENTRIES_AT_ONCE) {
		lanes way[ENTRIES_AT_ONCE], square[ENTRIES_AT_ONCE];
		for (int k = 0; k < ENTRIES_AT_ONCE; k++) {
			find_way(g, e + k, way + k);
			square[k] = way[k] * way[k];
		}
		TRANSPOSE(square[0], square[1], square[2], square[3]);
		const lanes distance = square[0] + square[1] + square[2];
		// LAMMPS has no contact at the very distance.
		const lane_bits touches = distance < square[3];
		coincide |= distance == 0;
		for (int k = 0; k < ENTRIES_AT_ONCE; k++) {
			b->entry[count] = (uint32_t)(e + k);
			b->way[count] = way[k];
			count -= (int)touches[k];
			list->slots[e + k] &= (uint32_t)touches[k];
		}
	}
	b->count = count;
	b->coincide |= coincide[0] | coincide[1] | coincide[2] | coincide[3];
	return e;
}

/// Whether the first contact of the block is so far back that its places must be given up.
static bool is_held(const grains *g, int64_t place)
{
	return g->block.count > 0 && place - g->list.ends[g->block.entry[0]][0] > HOLD;
}

FOR_EACH_MACHINE static void run_step(grains *g, step *s)
{
	const grain_list *const list = &g->list;
	int64_t e = 0;
	for (int64_t k = 0; k < list->places; k += CHUNK) {
		const bool last = k + CHUNK >= list->places;
		pack_places(g, s, k + CHUNK + list->ahead);
		const int64_t end = last ? list->count + ENTRIES_AT_ONCE - 1 : list->first[k + CHUNK];
		while (e + ENTRIES_AT_ONCE <= end) {
			e = scan_entries(g, e, end);
			if (g->block.count > BLOCK - ENTRIES_AT_ONCE)
				flush(g, s, e);
		}
		if (last || is_held(g, k + CHUNK))
			flush(g, s, last ? list->count : e);
	}
}

static bool fail(grains *g, const char *why)
{
	snprintf(g->error, sizeof g->error, "%s", why);
	return false;
}

void grains_compute(grains *g, const grain_atoms *atoms, double time_step, const grain_sums *sums)
{
	step s = {
		.atoms = atoms, .sums = sums, .place = BLOCK, .time_step = time_step, .remembers = g->law.style != CAROM_LAMMPS_HOOKE
	};
	run_step(g, &s);
	g->list.steps++;
	g->stats.calls++;
	g->stats.owned = atoms->own;
	g->stats.ghosts = atoms->count - atoms->own;
	g->stats.tests += g->list.count;
}

// ---- Lists ----

/// Room for the forces of contacts that a row has still to add: it may have to wait for the block.
static bool reserve_forces(grains *g)
{
	// Up to three places of a block stay empty.
	const int64_t wanted = g->list.window + g->list.window / 16 + g->list.ahead / 64 + FEWEST_BLOCKS * BLOCK;
	if (wanted <= g->force_room && g->list.kept_count <= g->kept_room)
		return true;
	const int64_t room = (wanted / BLOCK + 1) * BLOCK, kept = g->list.kept_count + g->list.kept_count / 8;
	if (room + kept > UINT32_MAX / FORCE)
		return false;
	free(g->forces);
	g->force_room = g->kept_room = 0;
	g->forces = aligned_alloc(64, (size_t)(room + kept) * sizeof *g->forces);
	if (!g->forces)
		return false;
	memset(g->forces, 0, BLOCK * sizeof *g->forces);
	g->force_room = room;
	g->kept_room = kept;
	return true;
}

/// Room for the places that entries join, those of a block that is not yet full, and a chunk.
static bool reserve_ring(grains *g)
{
	const int64_t wanted = g->list.ahead + g->list.behind + HOLD + 4 * CHUNK;
	int64_t room = 1;
	while (room < wanted)
		room *= 2;
	if (room <= (int64_t)g->ring + 1)
		return true;
	free(g->centres);
	free(g->motions);
	g->ring = 0;
	g->centres = aligned_alloc(64, (size_t)room * sizeof *g->centres);
	g->motions = aligned_alloc(64, (size_t)room * sizeof *g->motions);
	if (!g->centres || !g->motions)
		return false;
	g->ring = (uint32_t)(room - 1);
	return true;
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
	if (!grain_list_make(&g->list, &rows, atoms->centres, atoms->ids, atoms->wide, atoms->count, springs != NULL) ||
		!reserve_forces(g) || !reserve_ring(g))
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
	return carom_spheres_get_stats(g->spheres).bytes + grain_list_bytes(&g->list) +
		(size_t)(g->force_room + g->kept_room) * sizeof *g->forces +
		((size_t)g->ring + 1) * (sizeof *g->centres + sizeof *g->motions) + sizeof *g;
}
