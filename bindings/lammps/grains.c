/// Forces on the spheres of one process. See grains.h.
///
/// A step goes through the places of the list (grain_list.h). The spheres of those around the
/// present one are in a ring, with sums of what acts on them. Four entries are read at once; if any
/// of them touches, all four go into a block, and what does not touch is masked there. When the
/// block is full, a kernel computes its contacts side by side, and each force is added at both
/// ends. When no entry of a sphere is left, its sums go to the caller, and its slot of the ring to
/// another.
///
/// Sums do not depend on their order, and so not on how spheres are shared out, on the list, or on
/// the skin. For that each number is parted in two before it is added: a multiple of a coarse unit,
/// and what is left rounded to a multiple of a fine one (Demmel and Nguyen 2013). A sum of
/// multiples of a unit has no rounding while it is below 2^53 of them. Let P be the force of two of
/// the largest spheres whose overlap is the largest radius, rounded to a power of two. The coarse
/// unit is P / 2^39, the fine one P / 2^78. Coarse sums are then exact up to 2^14 P; fine sums,
/// whose numbers are at most half a coarse unit, for 2^14 contacts at least. A force of P / 2^25 is
/// rounded as it is by adding it to others; beyond 2^12 P numbers are as right as ever, but their
/// sum may depend on the order.
#include "grains.h"
#include "grain_law.h"
#include "grain_list.h"
#include <carom/carom.h>
#include <carom/spheres.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK = 128,        // contacts: what a block holds stays in the first cache
	SPHERES_AHEAD = 48, // places: what will be read of the caller's is fetched so far ahead
	SPRINGS_AHEAD = 12, // fours of entries
	CHUNK = 64,         // places: so many are packed at once
	HOLD = 512,         // places: contacts of a block are no further apart
};

/// Four numbers, added and multiplied at once; and in memory that may not be aligned.
typedef double lanes __attribute__((vector_size(32)));
typedef double loose_lanes __attribute__((vector_size(32), aligned(8)));
typedef int64_t lane_bits __attribute__((vector_size(32)));
typedef double loose_pair __attribute__((vector_size(16), aligned(8)));

/// A sphere near the present place, and what has acted on it: multiples of coarse units, and of
/// fine ones. Three lines of the cache.
typedef struct grain_slot {
	lanes centre;   // and radius
	lanes velocity; // and a number of no use
	lanes spin;     // times the radius; and 1/m, below 0 for a frozen one
	lanes coarse;   // force x, y, z; fine force x
	lanes both;     // fine force y, z; turn x, y
	lanes fine;     // turn z; fine turn x, y, z
} grain_slot;

/// Adding one of these to a number, and subtracting it, rounds to multiples of a unit: 3/2 2^52 of
/// it.
typedef struct grain_units {
	double coarse, fine;
} grain_units;

/// Contacts of a block, number by number, as seen from their near ends. Those of four entries of
/// the list stand together.
typedef struct __attribute__((aligned(64))) block {
	double dx[BLOCK], dy[BLOCK], dz[BLOCK], reach[BLOCK]; // from the far centre; sum of radii
	double vx[BLOCK], vy[BLOCK], vz[BLOCK];               // velocity less that of the far one
	double wx[BLOCK], wy[BLOCK], wz[BLOCK];               // r omega of both, added
	double inverse[BLOCK];                                // 1/m of both, added
	double radii[BLOCK];                                  // their product
	double sx[BLOCK], sy[BLOCK], sz[BLOCK];               // spring
	double fx[BLOCK], fy[BLOCK], fz[BLOCK];               // force
	double tx[BLOCK], ty[BLOCK], tz[BLOCK];               // turn
	double fine[6][BLOCK];                                // what fx to tz lack, in fine units
	double qx[BLOCK], qy[BLOCK], qz[BLOCK];               // omega less that of the far one
	double near[BLOCK], far[BLOCK];                       // radii
	double rx[BLOCK], ry[BLOCK], rz[BLOCK];               // spring of rolling
	double ux[BLOCK], uy[BLOCK], uz[BLOCK];               // turn of the far end, where it differs
	double far_fine[3][BLOCK];                            // what they lack
	int64_t entry[BLOCK / ENTRIES_AT_ONCE];               // the first of each four
	int64_t place;                                        // of the first near end, or before
	int count;
	bool coincide; // centres of some contact do
} block;

struct grains {
	carom_lammps_law law;
	grain_units units;
	double skin;
	carom_context *context;
	carom_spheres *spheres;
	grain_list list;
	grain_slot *slots;
	uint32_t *sources; // of slots, as in the list
	int64_t slot_count;
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

/// Part a number: the multiple of the coarse unit next to it, and *fine, the rest in fine units.
static ALWAYS_INLINE double part(double value, grain_units u, double *fine)
{
	const double coarse = value + u.coarse - u.coarse;
	*fine = value - coarse + u.fine - u.fine;
	return coarse;
}

/// Contact i of a block, with a radius for the law. Do the two touch? LAMMPS has no contact at the
/// very distance.
static ALWAYS_INLINE grain_contact contact_of(const block *b, int i, double radius, bool *touches)
{
	const double dx = b->dx[i], dy = b->dy[i], dz = b->dz[i], reach = b->reach[i];
	const double square = dx * dx + dy * dy + dz * dz, distance = sqrt(square), inverse = 1 / distance;
	*touches = square < reach * reach;
	return (grain_contact){
		.normal = { dx * inverse, dy * inverse, dz * inverse },
		.overlap = reach - distance,
		.velocity = { b->vx[i], b->vy[i], b->vz[i] },
		.spin = { b->wx[i], b->wy[i], b->wz[i] },
		.mass = 1 / b->inverse[i],
		.radius = radius,
	};
}

static ALWAYS_INLINE void run_block(
	carom_lammps_style style, const carom_lammps_law *law, grain_units units, double time_step, block *b)
{
	const carom_lammps_law here = *law;
	const int count = b->count;
#ifndef __clang__ // which does not know it
#pragma GCC ivdep
#endif
	for (int i = 0; i < count; i++) {
		bool touches;
		const double radius = style == CAROM_LAMMPS_HERTZ_HISTORY ? b->radii[i] / b->reach[i] : 0;
		const grain_contact c = contact_of(b, i, radius, &touches);
		vec3 spring = { 0, 0, 0 };
		if (style != CAROM_LAMMPS_HOOKE)
			spring = (vec3){ b->sx[i], b->sy[i], b->sz[i] };
		const grain_force f = grain_push(style, &here, &c, time_step, &spring);
		const vec3 turn = vec3_cross(c.normal, f.friction);
		if (style != CAROM_LAMMPS_HOOKE) {
			b->sx[i] = touches ? spring.x : 0;
			b->sy[i] = touches ? spring.y : 0;
			b->sz[i] = touches ? spring.z : 0;
		}
		b->fx[i] = part(touches ? f.force.x : 0, units, &b->fine[0][i]);
		b->fy[i] = part(touches ? f.force.y : 0, units, &b->fine[1][i]);
		b->fz[i] = part(touches ? f.force.z : 0, units, &b->fine[2][i]);
		b->tx[i] = part(touches ? turn.x : 0, units, &b->fine[3][i]);
		b->ty[i] = part(touches ? turn.y : 0, units, &b->fine[4][i]);
		b->tz[i] = part(touches ? turn.z : 0, units, &b->fine[5][i]);
	}
}

/// As run_block does, of contacts with rolling friction: their two ends are turned differently.
static ALWAYS_INLINE void run_rolling_block(const carom_lammps_law *law, grain_units units, double time_step, block *b)
{
	const carom_lammps_law here = *law;
	const int count = b->count;
#ifndef __clang__
#pragma GCC ivdep
#endif
	for (int i = 0; i < count; i++) {
		bool touches;
		const grain_contact c = contact_of(b, i, b->near[i] * b->far[i] / b->reach[i], &touches);
		grain_rolling roll = { .spin = { b->qx[i], b->qy[i], b->qz[i] }, .near = b->near[i], .far = b->far[i] };
		vec3 spring = { b->sx[i], b->sy[i], b->sz[i] }, rolled = { b->rx[i], b->ry[i], b->rz[i] };
		const grain_force f = grain_roll(&here, &c, time_step, &spring, &rolled, &roll);
		b->sx[i] = touches ? spring.x : 0;
		b->sy[i] = touches ? spring.y : 0;
		b->sz[i] = touches ? spring.z : 0;
		b->rx[i] = touches ? rolled.x : 0;
		b->ry[i] = touches ? rolled.y : 0;
		b->rz[i] = touches ? rolled.z : 0;
		b->fx[i] = part(touches ? f.force.x : 0, units, &b->fine[0][i]);
		b->fy[i] = part(touches ? f.force.y : 0, units, &b->fine[1][i]);
		b->fz[i] = part(touches ? f.force.z : 0, units, &b->fine[2][i]);
		b->tx[i] = part(touches ? roll.turn_a.x : 0, units, &b->fine[3][i]);
		b->ty[i] = part(touches ? roll.turn_a.y : 0, units, &b->fine[4][i]);
		b->tz[i] = part(touches ? roll.turn_a.z : 0, units, &b->fine[5][i]);
		b->ux[i] = part(touches ? roll.turn_b.x : 0, units, &b->far_fine[0][i]);
		b->uy[i] = part(touches ? roll.turn_b.y : 0, units, &b->far_fine[1][i]);
		b->uz[i] = part(touches ? roll.turn_b.z : 0, units, &b->far_fine[2][i]);
	}
}

// ---- A step ----

/// Where a step is.
typedef struct step {
	const grain_atoms *atoms;
	const grain_sums *sums;
	double time_step;
	bool remembers; // the law has history
	bool rolls;     // and rolling friction
	int64_t packed; // places
	int64_t summed; // places that need nothing more
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

/// Of an end of an entry.
static ALWAYS_INLINE grain_slot *get_slot(grain_slot *slots, uint32_t end) { return (grain_slot *)((char *)slots + end); }

/// What entries read of the sphere of a place goes into a slot, on which nothing acts yet. last:
/// the caller's arrays end with this sphere, which is not read four numbers at once.
static ALWAYS_INLINE void pack_place(grain_slot *slot, const grain_atoms *a, size_t i, bool last)
{
	const double r = a->radii[i], inverse = 1 / a->masses[i];
	const double m = a->frozen && (a->groups[i] & a->frozen) ? -inverse : inverse;
	const lanes radius = { r, r, r, r }, mass = { m, m, m, m }, none = { 0 };
	slot->coarse = slot->both = slot->fine = none;
	if (last) {
		slot->centre = LOAD(a->centres + 3 * i, r);
		slot->velocity = LOAD(a->velocities + 3 * i, 0);
		slot->spin = (lanes){ r, r, r, 1 } * LOAD(a->spins + 3 * i, m);
		return;
	}
	slot->centre = PICK(LOAD4(a->centres + 3 * i), radius, 0, 1, 2, 7);
	slot->velocity = LOAD4(a->velocities + 3 * i);
	slot->spin = PICK(radius * LOAD4(a->spins + 3 * i), mass, 0, 1, 2, 7);
}

/// The places up to one go into the ring.
static ALWAYS_INLINE void pack_places(grains *g, step *s, int64_t end)
{
	const grain_atoms a = *s->atoms;
	const uint32_t *const sources = g->list.sources, ring = g->list.ring;
	const size_t last = (size_t)a.count - 1;
	const int64_t fetched = g->list.places - SPHERES_AHEAD;
	grain_slot *const slots = g->slots;
	uint32_t *const names = g->sources;
	for (int64_t k = s->packed; k < end; k++) {
		const size_t later = 3 * (size_t)(sources[k < fetched ? k + SPHERES_AHEAD : k] & GRAIN_SPHERE);
		__builtin_prefetch(a.centres + later);
		__builtin_prefetch(a.velocities + later);
		__builtin_prefetch(a.spins + later);
		const uint32_t source = sources[k], slot = (uint32_t)k & ring;
		names[slot] = source;
		pack_place(slots + slot, &a, source & GRAIN_SPHERE, (source & GRAIN_SPHERE) == last);
	}
	s->packed = end;
}

/// Velocities, spins and masses of the block, four contacts at once, and springs.
static ALWAYS_INLINE void fill_block(grains *g, bool remembers, bool rolls)
{
	block *const b = &g->block;
	grain_slot *const slots = g->slots;
	for (int c = 0; c < b->count; c += 4) {
		const int64_t e = b->entry[c / 4];
		const uint32_t *const near = g->list.near + e, *const far = g->list.far + e;
		lanes v[4], w[4];
		for (int k = 0; k < 4; k++) {
			const grain_slot *const here = get_slot(slots, near[k]), *const there = get_slot(slots, far[k]);
			v[k] = here->velocity - there->velocity;
			w[k] = here->spin + there->spin;
		}
		TRANSPOSE(v[0], v[1], v[2], v[3]);
		PUT(b->vx, c, v[0]);
		PUT(b->vy, c, v[1]);
		PUT(b->vz, c, v[2]);
		TRANSPOSE(w[0], w[1], w[2], w[3]);
		PUT(b->wx, c, w[0]);
		PUT(b->wy, c, w[1]);
		PUT(b->wz, c, w[2]);
		PUT(b->inverse, c, w[3]);
		if (!remembers)
			continue;
		const double *const spring = g->list.springs + (rolls ? GRAIN_ROLLS : GRAIN_SLIDES) * e;
		__builtin_prefetch(spring + 3 * ENTRIES_AT_ONCE * SPRINGS_AHEAD, 1);
		PUT(b->sx, c, GET(spring, 0));
		PUT(b->sy, c, GET(spring, 4));
		PUT(b->sz, c, GET(spring, 8));
		if (rolls) {
			PUT(b->rx, c, GET(spring, 12));
			PUT(b->ry, c, GET(spring, 16));
			PUT(b->rz, c, GET(spring, 20));
		}
	}
}

/// Radii, and angular velocities of the near ends less those of the far ones.
static ALWAYS_INLINE void fill_rolling(grains *g)
{
	block *const b = &g->block;
	for (int c = 0; c < b->count; c++) {
		const int64_t e = b->entry[c / 4] + c % 4;
		const grain_slot *const here = get_slot(g->slots, g->list.near[e]), *const there = get_slot(g->slots, g->list.far[e]);
		const double near = here->centre[3], far = there->centre[3];
		b->near[c] = near;
		b->far[c] = far;
		b->qx[c] = here->spin[0] / near - there->spin[0] / far;
		b->qy[c] = here->spin[1] / near - there->spin[1] / far;
		b->qz[c] = here->spin[2] / near - there->spin[2] / far;
	}
}

/// The ends of a contact of the block.
static uint32_t get_near(const grains *g, int c) { return g->list.near[g->block.entry[c / 4] + c % 4]; }
static uint32_t get_far(const grains *g, int c) { return g->list.far[g->block.entry[c / 4] + c % 4]; }

static void multiply_radii(grains *g)
{
	block *const b = &g->block;
	for (int c = 0; c < b->count; c++)
		b->radii[c] = get_slot(g->slots, get_near(g, c))->centre[3] * get_slot(g->slots, get_far(g, c))->centre[3];
}

/// Which sphere of the caller's stands in the slot of an end, as in grain_list.sources.
static uint32_t get_source(const grains *g, uint32_t end) { return g->sources[end / sizeof(grain_slot)]; }

static uint64_t get_id(const grains *g, const grain_atoms *a, uint32_t end)
{
	const size_t i = get_source(g, end) & GRAIN_SPHERE;
	return a->wide ? ((const uint64_t *)a->ids)[i] : ((const uint32_t *)a->ids)[i];
}

/// Any direction will do, if it is another one seen from the other side. Rare.
static void part_centres(grains *g, const grain_atoms *a)
{
	block *const b = &g->block;
	for (int c = 0; c < b->count; c++) {
		if (b->dx[c] * b->dx[c] + b->dy[c] * b->dy[c] + b->dz[c] * b->dz[c] == 0 && b->reach[c] > 0) {
			b->dx[c] = get_id(g, a, get_near(g, c)) < get_id(g, a, get_far(g, c)) ? 0x1p-500 : -0x1p-500;
			b->dy[c] = b->dz[c] = 0;
		}
	}
}

/// A frozen sphere counts as one of infinite mass, unless both are.
static void weigh_frozen(grains *g)
{
	block *const b = &g->block;
	for (int c = 0; c < b->count; c++) {
		const double near = get_slot(g->slots, get_near(g, c))->spin[3], far = get_slot(g->slots, get_far(g, c))->spin[3];
		if (near < 0 || far < 0)
			b->inverse[c] = far > 0 ? far : fabs(near);
	}
}

/// Add the forces of the block at both ends of its contacts, and keep the springs. Force on a far
/// end is the opposite of that on the near one; the turn is the same, but where contacts roll.
static ALWAYS_INLINE void add_forces(grains *g, bool remembers, bool rolls)
{
	static const lanes SIGNS = { -1, -1, 1, 1 };
	const block *const b = &g->block;
	grain_slot *const slots = g->slots;
	for (int c = 0; c < b->count; c += 4) {
		const int64_t e = b->entry[c / 4];
		const uint32_t *const near = g->list.near + e, *const far = g->list.far + e;
		lanes coarse[4] = { GET(b->fx, c), GET(b->fy, c), GET(b->fz, c), GET(b->fine[0], c) };
		lanes both[4] = { GET(b->fine[1], c), GET(b->fine[2], c), GET(b->tx, c), GET(b->ty, c) };
		lanes fine[4] = { GET(b->tz, c), GET(b->fine[3], c), GET(b->fine[4], c), GET(b->fine[5], c) };
		TRANSPOSE(coarse[0], coarse[1], coarse[2], coarse[3]);
		TRANSPOSE(both[0], both[1], both[2], both[3]);
		TRANSPOSE(fine[0], fine[1], fine[2], fine[3]);
		lanes far_both[4], far_fine[4];
		if (rolls) {
			far_both[0] = GET(b->fine[1], c), far_both[1] = GET(b->fine[2], c);
			far_both[2] = GET(b->ux, c), far_both[3] = GET(b->uy, c);
			far_fine[0] = GET(b->uz, c), far_fine[1] = GET(b->far_fine[0], c);
			far_fine[2] = GET(b->far_fine[1], c), far_fine[3] = GET(b->far_fine[2], c);
			TRANSPOSE(far_both[0], far_both[1], far_both[2], far_both[3]);
			TRANSPOSE(far_fine[0], far_fine[1], far_fine[2], far_fine[3]);
		}
		for (int k = 0; k < 4; k++) {
			grain_slot *const here = get_slot(slots, near[k]), *const there = get_slot(slots, far[k]);
			here->coarse += coarse[k];
			here->both += both[k];
			here->fine += fine[k];
			there->coarse -= coarse[k];
			there->both += SIGNS * (rolls ? far_both[k] : both[k]);
			there->fine += rolls ? far_fine[k] : fine[k];
		}
		if (!remembers)
			continue;
		double *const spring = g->list.springs + (rolls ? GRAIN_ROLLS : GRAIN_SLIDES) * e;
		PUT(spring, 0, GET(b->sx, c));
		PUT(spring, 4, GET(b->sy, c));
		PUT(spring, 8, GET(b->sz, c));
		if (rolls) {
			PUT(spring, 12, GET(b->rx, c));
			PUT(spring, 16, GET(b->ry, c));
			PUT(spring, 20, GET(b->rz, c));
		}
	}
}

/// Half of each contact's virial is its own sphere's. Rare.
static void add_virials(const grains *g, const grain_sums *sums)
{
	const block *const b = &g->block;
	for (int c = 0; c < b->count; c++) {
		const double x = 0.5 * b->dx[c], y = 0.5 * b->dy[c], z = 0.5 * b->dz[c];
		const double values[6] = { x * b->fx[c], y * b->fy[c], z * b->fz[c], x * b->fy[c], x * b->fz[c], y * b->fz[c] };
		const uint32_t ends[2] = { get_near(g, c), get_far(g, c) };
		for (int k = 0; k < 2; k++) {
			const uint32_t source = get_source(g, ends[k]);
			if (source & GRAIN_GUEST)
				continue;
			double *const virials = sums->virials ? sums->virials + 6 * (size_t)(source & GRAIN_SPHERE) : NULL;
			for (int n = 0; n < 6; n++) {
				if (sums->virial)
					sums->virial[n] += values[n];
				if (virials)
					virials[n] += values[n];
			}
		}
	}
}

/// The contacts of the block where the law has rolling friction.
static ALWAYS_INLINE void flush_rolling(grains *g, const step *s)
{
	block *const b = &g->block;
	fill_block(g, true, true);
	fill_rolling(g);
	if (s->atoms->frozen)
		weigh_frozen(g);
	run_rolling_block(&g->law, g->units, s->time_step, b);
	add_forces(g, true, true);
	if (s->sums->virial || s->sums->virials)
		add_virials(g, s->sums);
	b->count = 0;
	b->coincide = false;
}

/// Compute the contacts of the block.
static ALWAYS_INLINE void flush(grains *g, step *s)
{
	block *const b = &g->block;
	if (b->coincide)
		part_centres(g, s->atoms);
	if (s->rolls) {
		flush_rolling(g, s);
		return;
	}
	fill_block(g, s->remembers, false);
	if (s->atoms->frozen)
		weigh_frozen(g);
	switch (g->law.style) {
	case CAROM_LAMMPS_HOOKE: run_block(CAROM_LAMMPS_HOOKE, &g->law, g->units, s->time_step, b); break;
	case CAROM_LAMMPS_HOOKE_HISTORY: run_block(CAROM_LAMMPS_HOOKE_HISTORY, &g->law, g->units, s->time_step, b); break;
	case CAROM_LAMMPS_HERTZ_HISTORY:
		multiply_radii(g);
		run_block(CAROM_LAMMPS_HERTZ_HISTORY, &g->law, g->units, s->time_step, b);
		break;
	case CAROM_LAMMPS_GRANULAR: break; // above
	}
	add_forces(g, s->remembers, false);
	if (s->sums->virial || s->sums->virials)
		add_virials(g, s->sums);
	b->count = 0;
	b->coincide = false;
}

/// Put what touches into the block, from an entry up to another one, or until the block is full.
/// Returns the entry after. Four entries at once. Those that have just ceased to touch go with it:
/// their springs are cut.
static ALWAYS_INLINE int64_t scan_entries(grains *g, const step *s, int64_t e, int64_t end)
{
	static const lanes TURN = { -1, -1, -1, 1 };
	const uint32_t *const near = g->list.near, *const far = g->list.far;
	uint8_t *const live = g->list.live;
	grain_slot *const slots = g->slots;
	const unsigned remembers = s->remembers;
	block *const b = &g->block;
	int count = b->count;
	lane_bits coincide = { 0 };
	for (; e < end && count < BLOCK; e += ENTRIES_AT_ONCE) {
		lanes way[ENTRIES_AT_ONCE];
		for (int k = 0; k < ENTRIES_AT_ONCE; k++)
			way[k] = TURN * get_slot(slots, far[e + k])->centre + get_slot(slots, near[e + k])->centre;
		TRANSPOSE(way[0], way[1], way[2], way[3]);
		PUT(b->dx, count, way[0]);
		PUT(b->dy, count, way[1]);
		PUT(b->dz, count, way[2]);
		PUT(b->reach, count, way[3]);
		b->entry[count / ENTRIES_AT_ONCE] = e;
		const lanes square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
		const lane_bits touches = square < way[3] * way[3];
		coincide |= (square == 0) & touches;
		const unsigned any = (unsigned)(touches[0] | touches[1] | touches[2] | touches[3]) & 1;
		count += (int)(any | (live[e / ENTRIES_AT_ONCE] & remembers)) * ENTRIES_AT_ONCE;
		live[e / ENTRIES_AT_ONCE] = (uint8_t)any;
	}
	b->count = count;
	b->coincide |= coincide[0] | coincide[1] | coincide[2] | coincide[3];
	return e;
}

/// Three numbers, of which the last one may be the caller's last.
static ALWAYS_INLINE void add_three(double *to, const lanes *values)
{
	const loose_pair two = { (*values)[0], (*values)[1] };
	*(loose_pair *)to += two;
	to[2] += (*values)[2];
}

/// What has acted on an own sphere goes to the caller.
static ALWAYS_INLINE void hand_over(const grain_slot *slot, double *force, double *torque)
{
	const double r = -slot->centre[3];
	const lanes push = PICK(slot->coarse, slot->both, 0, 1, 2, 2) + PICK(slot->coarse, slot->both, 3, 4, 5, 5);
	const lanes turn = PICK(slot->both, slot->fine, 2, 3, 4, 4) + PICK(slot->fine, slot->fine, 1, 2, 3, 3);
	const lanes turned = turn * (lanes){ r, r, r, r };
	add_three(force, &push);
	add_three(torque, &turned);
}

/// Places up to one need nothing more.
static ALWAYS_INLINE void leave_places(const grains *g, step *s, int64_t end)
{
	const uint32_t *const sources = g->list.sources, ring = g->list.ring;
	const int64_t fetched = g->list.places - SPHERES_AHEAD;
	double *const forces = s->sums->forces, *const torques = s->sums->torques;
	const grain_slot *const slots = g->slots;
	for (int64_t k = s->summed; k < end; k++) {
		const size_t later = 3 * (size_t)(sources[k < fetched ? k + SPHERES_AHEAD : k] & GRAIN_SPHERE);
		__builtin_prefetch(forces + later, 1);
		__builtin_prefetch(torques + later, 1);
		const size_t source = sources[k];
		if (source < GRAIN_LARGE)
			hand_over(slots + ((uint32_t)k & ring), forces + 3 * source, torques + 3 * source);
	}
	s->summed = end > s->summed ? end : s->summed;
}

/// The entries of places from `place` to `end`, those up to a multiple of four.
static ALWAYS_INLINE int64_t run_chunk(grains *g, step *s, int64_t place, int64_t end, int64_t e, int64_t last)
{
	pack_places(g, s, end);
	while (e < last) {
		if (g->block.count == 0)
			g->block.place = place - CHUNK; // three entries of the chunk before may be left
		e = scan_entries(g, s, e, last);
		if (g->block.count == BLOCK)
			flush(g, s);
	}
	if (g->block.count > 0 && end - g->block.place > HOLD)
		flush(g, s);
	const int64_t done = (g->block.count > 0 ? g->block.place : place) - g->list.span;
	leave_places(g, s, done);
	return e;
}

/// The large spheres of a column come into their slots, or leave them. Both functions are inlined:
/// behind a call gcc 12 does not clear the upper halves of registers (vzeroupper), and LAMMPS'
/// integration, which follows, took three times as long.
static ALWAYS_INLINE void pack_large(grains *g, const step *s, int64_t first, int64_t end)
{
	const size_t slot = (size_t)g->list.ring + 2;
	for (int64_t k = 0; k < end - first; k++) {
		const uint32_t source = g->list.sources[g->list.large[first + k]], i = source & GRAIN_SPHERE;
		pack_place(g->slots + slot + k, s->atoms, i, i == s->atoms->count - 1);
		g->sources[slot + k] = source;
	}
}

static ALWAYS_INLINE void leave_large(const grains *g, const step *s, int64_t first, int64_t end)
{
	const size_t slot = (size_t)g->list.ring + 2;
	for (int64_t k = 0; k < end - first; k++) {
		const uint32_t source = g->list.sources[g->list.large[first + k]];
		const size_t at = 3 * (size_t)(source & GRAIN_SPHERE);
		if (!(source & GRAIN_GUEST))
			hand_over(g->slots + slot + k, s->sums->forces + at, s->sums->torques + at);
	}
}

/// A column, from a place and a large sphere on.
static ALWAYS_INLINE void run_column(grains *g, step *s, const grain_column *column, int64_t begin, int64_t large)
{
	const grain_list *const list = &g->list;
	pack_large(g, s, large, column->large_end);
	int64_t e = list->first[begin];
	for (int64_t k = begin; k < column->end; k += CHUNK) {
		const int64_t end = k + CHUNK < column->end ? k + CHUNK : column->end;
		e = run_chunk(g, s, k, end, e, list->first[end] & ~(int64_t)(ENTRIES_AT_ONCE - 1));
	}
	if (g->block.count > 0)
		flush(g, s);
	leave_places(g, s, column->end);
	leave_large(g, s, large, column->large_end);
}

FOR_EACH_MACHINE static void run_step(grains *g, step *s)
{
	const grain_list *const list = &g->list;
	int64_t begin = 0, large = 0;
	for (int64_t c = 0; c < list->column_count; c++) {
		run_column(g, s, list->columns + c, begin, large);
		begin = list->columns[c].end;
		large = list->columns[c].large_end;
	}
}

static bool fail(grains *g, const char *why)
{
	snprintf(g->error, sizeof g->error, "%s", why);
	return false;
}

/// See the head of this file.
static grain_units find_units(const carom_lammps_law *law, double largest)
{
	const double stiffness = law->kn > 0 ? law->kn : 1;
	int exponent;
	frexp(law->style == CAROM_LAMMPS_HERTZ_HISTORY ? stiffness * largest * largest : stiffness * largest, &exponent);
	return (grain_units){ ldexp(1.5, 52 - 39 + exponent), ldexp(1.5, 52 - 78 + exponent) };
}

void grains_compute(grains *g, const grain_atoms *atoms, double time_step, const grain_sums *sums)
{
	g->units = find_units(&g->law, atoms->largest);
	step s = { .atoms = atoms,
		.sums = sums,
		.time_step = time_step,
		.remembers = g->law.style != CAROM_LAMMPS_HOOKE,
		.rolls = g->law.style == CAROM_LAMMPS_GRANULAR };
	run_step(g, &s);
	g->list.steps++;
	g->stats.calls++;
	g->stats.owned = atoms->own;
	g->stats.ghosts = atoms->count - atoms->own;
	g->stats.tests += g->list.count;
}

// ---- Lists ----

/// Room for the ring, a slot of no sphere, and those of large ones.
static bool reserve_slots(grains *g)
{
	const int64_t wanted = (int64_t)g->list.ring + 2 + g->list.most_large;
	if (wanted > g->slot_count) {
		free(g->slots);
		free(g->sources);
		g->slot_count = wanted + g->list.most_large / 8;
		g->slots = aligned_alloc(64, (size_t)g->slot_count * sizeof *g->slots);
		g->sources = malloc((size_t)g->slot_count * sizeof *g->sources);
		if (!g->slots || !g->sources) {
			g->slot_count = 0;
			return false;
		}
	}
	g->slots[g->list.ring + 1] = (grain_slot){ 0 };
	g->sources[g->list.ring + 1] = GRAIN_GUEST;
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
	const grain_spheres spheres = {
		.own = atoms->own,
		.count = atoms->count,
		.centres = atoms->centres,
		.radii = atoms->radii,
		.ids = atoms->ids,
		.wide = atoms->wide,
	};
	if (!grain_list_make(&g->list, &rows, &spheres, sizeof(grain_slot), HOLD + 4 * CHUNK, springs ? springs->numbers : 0) ||
		!reserve_slots(g))
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
	free(g->slots);
	free(g->sources);
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
		(size_t)g->slot_count * (sizeof *g->slots + sizeof *g->sources) + sizeof *g;
}
