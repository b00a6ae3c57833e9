/// The two steps of a search, which the wide kernels of both grids share. Included once for each
/// instruction set.
///
/// A search has two steps that keep mispredicted branches away. Eight spheres at a time look up
/// which runs of sorted spheres they may touch; each run that is not empty becomes a task. Then
/// each task compares its sphere with a run, eight at a time, and the hits are packed into the
/// batch, however many there are.
///
/// The margins. With u = 2^-24, a computed squared distance is off by less than 5u of itself (two
/// roundings of each difference once squared, one of each square, two of the sum), all terms being
/// positive. The computed reach, r_a + r_b + skin and slack, is off by less than 4u of the sum of
/// its terms' sizes, `high`; its square by less than 9u of high^2. Together less than 2^-19 = 32u
/// of high^2, whichever of both sides is the larger: where d^2 > high^2 (1 + 2^-19) spheres are
/// certainly apart, where d^2 <= low^2 - 2^-19 high^2 they certainly touch, low and high being the
/// reach less and plus the set's slack. Squares that underflow lose up to 2^-149; 2^-120, added to
/// high^2 (1 + 2^-19), makes room for them on both sides.

#ifndef CR_SPHERES_SPHERE_TASKS_H
#define CR_SPHERES_SPHERE_TASKS_H

#include "math/simd.h"
#include "spheres/sphere_kernels.h"

static const float CR_BAND = 0x1p-19f;
static const float CR_TINY = 0x1p-120f;
static const int32_t CR_LANES[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

enum {
	CR_TASKS = 512, // are run when there are so many
	// the most that eight spheres add: runs in two strips of each of nine rows
	CR_TASKS_AT_ONCE = 2 * 9 * 8,
};

/// Sphere `place` against places begin..end-1, of these only the ones with the tag (the grid of one
/// level has no tags).
typedef struct task_list {
	int32_t place[CR_TASKS + CR_TASKS_AT_ONCE + 8];
	int32_t begin[CR_TASKS + CR_TASKS_AT_ONCE + 8];
	int32_t end[CR_TASKS + CR_TASKS_AT_ONCE + 8];
	int32_t tag[CR_TASKS + CR_TASKS_AT_ONCE + 8];
	int32_t count;
} task_list;

/// The lanes of live whose run is not empty. Writes eight entries whatever their number: there is
/// room behind the last.
static inline void add_tasks(task_list *tasks, m8 live, i8 place, i8 begin, i8 end, i8 tag, bool tags)
{
	const m8 some = m8_and(live, i8_lt(begin, end));
	const int32_t at = tasks->count;
	i8_store(tasks->place + at, i8_compress(some, place));
	i8_store(tasks->begin + at, i8_compress(some, begin));
	i8_store(tasks->end + at, i8_compress(some, end));
	if (tags)
		i8_store(tasks->tag + at, i8_compress(some, tag));
	tasks->count = at + __builtin_popcount(m8_bits(some));
}

/// Constants that all comparisons of a search share.
typedef struct margins {
	float high, low; // skin plus and less slack
} margins;

static margins make_margins(const cr_sphere_set *set)
{
	return (margins){ (float)(set->skin + set->slack), (float)(set->skin - set->slack) };
}

/// Hits as they are found, not yet in the order of their numbers. To write them as pairs at once
/// would cost every step as much as eight pairs do together.
typedef struct hit_list {
	int32_t id[CR_PAIR_BATCH], other[CR_PAIR_BATCH];
	int32_t count;
} hit_list;

/// Make pairs of the hits and hand them on.
static void hand_on_hits(hit_list *hits, const cr_sphere_search *search)
{
	cr_pair_batch *batch = search->batch;
	for (int32_t i = 0; i < hits->count; i += 8) {
		const i8 id = i8_load(hits->id + i), other = i8_load(hits->other + i);
		i8_store_pairs((int32_t *)(batch->pairs + i), i8_min(id, other), i8_max(id, other));
	}
	batch->count = hits->count;
	hits->count = 0;
	cr_hand_on_pairs(search);
}

/// Lanes that single precision cannot decide. Returns the new count of hits.
static int32_t add_doubtful(
	const cr_cells *cells, const cr_sphere_set *set, hit_list *hits, int32_t count, uint32_t id, int32_t run, uint32_t lanes)
{
	while (lanes) {
		const uint32_t other = cells->id[run + cr_take_lowest_bit(&lanes)];
		hits->id[count] = (int32_t)id;
		hits->other[count] = (int32_t)other;
		count += cr_spheres_touch(set, id, other);
	}
	return count;
}

static int32_t empty_hits(hit_list *hits, const cr_sphere_search *search, int32_t count)
{
	hits->count = count;
	hand_on_hits(hits, search);
	return 0;
}

/// Compare a sphere with a run; tag: NULL where the task has none, a constant where this is
/// inlined. Takes and returns the count of hits, which is to stay in a register: each step waits
/// for it.
static inline int32_t run_task(const cr_cells *cells, const cr_sphere_search *search, margins m, hit_list *hits, int32_t count,
	int32_t place, int32_t begin, int32_t end, const int32_t *tag)
{
	const f8 x = f8_set1(cells->x[place]), y = f8_set1(cells->y[place]), z = f8_set1(cells->z[place]);
	const f8 high = f8_set1(cells->r[place] + m.high), low = f8_set1(cells->r[place] + m.low);
	const i8 id = i8_set1((int32_t)cells->id[place]);
	for (int32_t run = begin; run < end; run += 8) {
		const f8 dx = f8_sub(f8_load(cells->x + run), x), dy = f8_sub(f8_load(cells->y + run), y),
				 dz = f8_sub(f8_load(cells->z + run), z), r = f8_load(cells->r + run);
		const f8 square = f8_add(f8_add(f8_mul(dx, dx), f8_mul(dy, dy)), f8_mul(dz, dz));
		const f8 most = f8_add(high, r), least = f8_max(f8_add(low, r), f8_set1(0));
		const f8 most2 = f8_mul(most, most), margin = f8_add(f8_mul(most2, f8_set1(CR_BAND)), f8_set1(CR_TINY));
		m8 live = i8_lt(i8_load(CR_LANES), i8_set1(end - run));
		if (tag)
			live = m8_and(live, i8_eq(i8_load((const int32_t *)cells->tag + run), i8_set1(*tag)));
		const m8 touch = m8_and(live, f8_le(square, f8_sub(f8_mul(least, least), margin)));
		const uint32_t near = m8_bits(m8_and(live, f8_le(square, f8_add(most2, margin))));
		const uint32_t sure = m8_bits(touch);
		i8_store(hits->id + count, id);
		i8_store(hits->other + count, i8_compress(touch, i8_load((const int32_t *)cells->id + run)));
		count += __builtin_popcount(sure);
		if (near != sure)
			count = add_doubtful(cells, search->set, hits, count, cells->id[place], run, near & ~sure);
		if (count > CR_PAIR_BATCH - 8)
			count = empty_hits(hits, search, count);
	}
	return count;
}

static void run_tasks(
	const cr_cells *columns, const cr_sphere_search *search, margins m, task_list *tasks, hit_list *hits, bool tags)
{
	const cr_cells cells = *columns; // nothing written changes where the columns are
	int32_t count = hits->count;
	int64_t tests = 0;
	for (int32_t t = 0; t < tasks->count && !search->batch->stopped; t++) {
		const int32_t place = tasks->place[t], begin = tasks->begin[t], end = tasks->end[t];
		tests += end - begin;
		count = tags ? run_task(&cells, search, m, hits, count, place, begin, end, &tasks->tag[t])
					 : run_task(&cells, search, m, hits, count, place, begin, end, NULL);
	}
	hits->count = count;
	search->batch->tests += tests;
	tasks->count = 0;
}

/// The cell along an axis, cut to 0 .. dim-1, as a whole number in float. dim <= 2^23.
static inline f8 cell_along(f8 p, float lower, f8 inverse, f8 last)
{
	return f8_truncate(f8_min(f8_max(f8_mul(f8_sub(p, f8_set1(lower)), inverse), f8_set1(0)), last));
}

/// The square of how far a sphere reaches, with room for the roundings of whoever subtracts squared
/// gaps and takes the root.
static inline f8 reach_square(f8 reach) { return f8_add(f8_mul(f8_mul(reach, reach), f8_set1(1 + CR_BAND)), f8_set1(CR_TINY)); }

static inline f8 gap_square(f8 gap)
{
	const f8 g = f8_max(gap, f8_set1(0));
	return f8_mul(g, g);
}

#endif
