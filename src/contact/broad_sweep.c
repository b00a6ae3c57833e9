/// Broad phase by sweep and prune (Baraff 1992; Cohen, Lin, Manocha, Ponamgi, I-COLLIDE, 1995),
/// from scratch each step.
///
/// Input: the tight boxes of all bodies. Output: overlapping pairs. The boxes are sorted by lower
/// bound along the axis on which their centres vary most; each is then compared with those that
/// follow until one begins behind its upper bound. Cost: O(n + k) for k pairs that overlap along
/// the axis; in a cube full of bodies k grows as n^(5/3). Parallel over ranges of the sorted boxes.
/// The compared boxes are floats relative to a place among most bodies, rounded outward, structure
/// of arrays, so that a world far from its origin loses nothing and the comparison of a block runs
/// in SIMD registers; pairs that pass are decided by the double boxes. Where many bodies are so far
/// from there that float would blur their boxes (a world of two heaps far apart), the ranks of the
/// bounds take their place, which overlap as the bounds do. Boxes without end (planes) are kept out
/// and compared with all others.
#include "base/parallel.h"
#include "base/radix.h"
#include "contact/broad_pairs.h"
#include "geom/spread.h"
#include <string.h>

enum {
	BLOCK = 16, // boxes compared at a time
	// Sorted boxes in a piece: below that, claiming a piece costs more than its work (20,000 boxes
	// in a cube, 2 workers).
	MIN_RANGE = 128,
	// Ranks are used when more than 1 in BLURRED_SHARE of the boxes are blurred, and BLURRED_FEW.
	BLURRED_SHARE = 64,
	BLURRED_FEW = 16,
};

// Boxes that reach further than this from the origin count as endless: products of floats stay
// finite below.
static const double END_OF_WORLD = 1e30;
// Of its distance from the origin: a box that is smaller is blurred. Each side is rounded outward
// by up to a fifth of that.
static const double BLURRED = 0x1p-20;

/// The rows of the sorted boxes: bounds along the sweep axis and the two others.
enum { LOWER_0, UPPER_0, LOWER_1, UPPER_1, LOWER_2, UPPER_2, ROWS };

typedef struct sweep {
	cr_broad base;
	cr_pair_sink sink;
	CR_ARRAY(cr_key) keys;
	CR_ARRAY(cr_key) scratch;
	CR_ARRAY(int32_t) endless; // bodies kept out of the sweep
	CR_ARRAY(float) rows;      // ROWS rows of stride floats
	CR_ARRAY(int32_t) owner;   // [bounded] body of a sorted box
	CR_ARRAY(int32_t) fixed;   // [stride] stillness_of each
	CR_ARRAY(float) ranks;     // of the bounds of bodies: a row of count for each
	int64_t count;             // bodies
	int64_t stride;
	int64_t bounded;
	bool ranked; // rows are ranks, not bounds
	int axis;
	double origin[3];
	const cr_body *bodies; // of the call being served
} sweep;

static bool is_finite_box(const cr_body *body)
{
	bool finite = true;
	for (int k = 0; k < 3; k++)
		finite = finite && isfinite(body->lower[k]) && isfinite(body->upper[k]);
	return finite;
}

static bool is_endless(const sweep *s, const cr_body *body)
{
	// Written so that a NaN, which huge coordinates can make of the origin, counts as endless; the
	// empty box (inf to -inf) too.
	bool near = true;
	for (int k = 0; k < 3; k++) {
		const double lower = body->lower[k] - s->origin[k], upper = body->upper[k] - s->origin[k];
		near = near && fabs(lower) < END_OF_WORLD && fabs(upper) < END_OF_WORLD;
	}
	return !near;
}

/// A place among most of the boxes, and the axis along which these are strewn widest.
static void choose_axis(sweep *s)
{
	v3d places[CR_SPREAD_SAMPLES];
	int sampled = 0;
	const int64_t stride = cr_spread_stride(s->count);
	for (int64_t i = 0; i < s->count; i += stride) {
		const cr_body *body = &s->bodies[i];
		if (body->alive && is_finite_box(body))
			places[sampled++] = (v3d){ 0.5 * body->lower[0] + 0.5 * body->upper[0], 0.5 * body->lower[1] + 0.5 * body->upper[1],
				0.5 * body->lower[2] + 0.5 * body->upper[2] };
	}
	const cr_spread spread = cr_find_spread(places, sampled);
	for (int k = 0; k < 3; k++)
		s->origin[k] = spread.middle[k];
	s->axis = spread.width[1] > spread.width[0] ? 1 : 0;
	s->axis = spread.width[2] > spread.width[s->axis] ? 2 : s->axis;
}

/// A float below / above x by one to three units in the last place: cheaper than the next one. |x|
/// is below END_OF_WORLD.
static float below(double x)
{
	const float f = (float)x;
	return f - (fabsf(f) * 0x1p-23f + 0x1p-120f);
}
static float above(double x)
{
	const float f = (float)x;
	return f + (fabsf(f) * 0x1p-23f + 0x1p-120f);
}

/// A key that sorts as the float does.
static uint64_t key_of(float f)
{
	uint32_t bits;
	memcpy(&bits, &f, sizeof bits);
	return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

static bool reserve(sweep *s, int64_t count)
{
	carom_context *context = s->base.context;
	const int64_t stride = count + BLOCK;
	return cr_array_reserve(context, &s->keys, count) && cr_array_reserve(context, &s->scratch, count) &&
		cr_array_reserve(context, &s->endless, count) && cr_array_reserve(context, &s->rows, ROWS * stride) &&
		cr_array_reserve(context, &s->owner, count) && cr_array_reserve(context, &s->fixed, stride);
}

/// alive: of the bodies that numbers below count name.
static bool reserve_ranks(sweep *s, int64_t alive, int64_t count)
{
	carom_context *context = s->base.context;
	return cr_array_reserve(context, &s->keys, 2 * alive) && cr_array_reserve(context, &s->scratch, 2 * alive) &&
		cr_array_reserve(context, &s->ranks, ROWS * count);
}

static bool reserve_sweep(cr_broad *broad, int64_t bodies, int64_t pairs)
{
	sweep *s = (sweep *)broad;
	return reserve(s, bodies) && reserve_ranks(s, bodies, bodies) && cr_pair_sink_reserve(&s->sink, bodies, pairs);
}

/// Would float, relative to the origin, blur a box that is not endless?
static bool is_blurred(const sweep *s, const cr_body *body)
{
	double longest = 0, farthest = 0;
	for (int k = 0; k < 3; k++) {
		longest = fmax(longest, body->upper[k] - body->lower[k]);
		farthest = fmax(farthest, fmax(s->origin[k] - body->lower[k], body->upper[k] - s->origin[k]));
	}
	return longest < BLURRED * farthest;
}

/// Part the boxes in bounded ones, whose bodies become the values of the keys, and endless ones.
/// Returns how many are blurred.
static int64_t part_boxes(sweep *s)
{
	int64_t blurred = 0;
	s->keys.count = s->endless.count = 0;
	for (int64_t i = 0; i < s->count; i++) {
		if (!s->bodies[i].alive)
			continue;
		if (is_endless(s, &s->bodies[i])) {
			s->endless.data[s->endless.count++] = (int32_t)i;
		} else {
			s->keys.data[s->keys.count++].value = (uint32_t)i;
			blurred += is_blurred(s, &s->bodies[i]);
		}
	}
	s->bounded = s->keys.count;
	s->stride = s->bounded + BLOCK;
	return blurred;
}

/// Rank the bounds of the bounded boxes along an axis among each other; equal ones have one rank.
/// Returns the sum of how far the ranks of each box are apart: twice the number of boxes that
/// overlap along the axis, about.
static double rank_bounds(sweep *s, int axis)
{
	float *lower = s->ranks.data + 2 * axis * s->count, *upper = lower + s->count;
	for (int64_t i = 0; i < s->bounded; i++) {
		const uint32_t owner = (uint32_t)s->owner.data[i];
		s->keys.data[2 * i] = (cr_key){ cr_key_of_double(s->bodies[owner].lower[axis]), 2 * owner };
		s->keys.data[2 * i + 1] = (cr_key){ cr_key_of_double(s->bodies[owner].upper[axis]), 2 * owner + 1 };
	}
	cr_radix_sort(s->keys.data, s->scratch.data, 2 * s->bounded, 64);
	int64_t rank = 0;
	double sum = 0;
	for (int64_t i = 0; i < 2 * s->bounded; i++) {
		rank += i > 0 && s->keys.data[i].key != s->keys.data[i - 1].key;
		const uint32_t value = s->keys.data[i].value;
		// Above 2^24 rounding makes ranks equal, never turns them around.
		(value % 2 ? upper : lower)[value / 2] = (float)rank;
		sum += value % 2 ? (double)rank : -(double)rank;
	}
	return sum;
}

/// Ranks in place of bounds, along the axis with the fewest overlaps. false: out of memory.
static bool rank_boxes(sweep *s)
{
	for (int64_t i = 0; i < s->bounded; i++)
		s->owner.data[i] = (int32_t)s->keys.data[i].value;
	if (!reserve_ranks(s, s->keys.count, s->count))
		return false;
	double least = INFINITY;
	for (int axis = 0; axis < 3; axis++) {
		const double overlaps = rank_bounds(s, axis);
		s->axis = overlaps < least ? axis : s->axis;
		least = fmin(least, overlaps);
	}
	for (int64_t i = 0; i < s->bounded; i++)
		s->keys.data[i].value = (uint32_t)s->owner.data[i];
	return true;
}

/// The bounds of a body along an axis as they are compared.
static float lower_of(const sweep *s, int64_t body, int axis)
{
	return s->ranked ? s->ranks.data[2 * axis * s->count + body] : below(s->bodies[body].lower[axis] - s->origin[axis]);
}
static float upper_of(const sweep *s, int64_t body, int axis)
{
	return s->ranked ? s->ranks.data[(2 * axis + 1) * s->count + body] : above(s->bodies[body].upper[axis] - s->origin[axis]);
}

/// Sort the bounded boxes along the axis. false: out of memory.
static bool sort_boxes(sweep *s)
{
	const int64_t blurred = part_boxes(s);
	s->ranked = blurred > BLURRED_FEW && blurred * BLURRED_SHARE > s->bounded;
	if (s->ranked && !rank_boxes(s))
		return false;
	for (int64_t i = 0; i < s->bounded; i++)
		s->keys.data[i].key = key_of(lower_of(s, s->keys.data[i].value, s->axis));
	cr_radix_sort(s->keys.data, s->scratch.data, s->bounded, 32);
	return true;
}

/// Two bodies of which one word says so are never tested: neither is free, or both are quiet.
static int32_t stillness_of(const cr_body *body) { return (cr_is_free(body) ? 0 : 1) | (cr_is_quiet(body) ? 2 : 0); }

static void copy_boxes(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	sweep *s = task;
	for (int64_t i = begin; i < end; i++) {
		const int32_t owner = (int32_t)s->keys.data[i].value;
		for (int k = 0; k < 3; k++) {
			const int axis = (s->axis + k) % 3;
			s->rows.data[(2 * k) * s->stride + i] = lower_of(s, owner, axis);
			s->rows.data[(2 * k + 1) * s->stride + i] = upper_of(s, owner, axis);
		}
		s->owner.data[i] = owner;
		s->fixed.data[i] = stillness_of(&s->bodies[owner]);
	}
}

/// Boxes behind the last one, which a block reads: they overlap nothing.
static void pad_rows(sweep *s)
{
	for (int64_t i = s->bounded; i < s->stride; i++) {
		for (int row = 0; row < ROWS; row++)
			s->rows.data[row * s->stride + i] = row % 2 == 0 ? INFINITY : -INFINITY;
		s->fixed.data[i] = -1;
	}
}

static void add_if_overlapping(sweep *s, int worker, int32_t a, int32_t b)
{
	if (!cr_bodies_may_collide(&s->bodies[a], &s->bodies[b]) || !cr_broad_meet(&s->base, &s->bodies[a], &s->bodies[b]))
		return;
	s->sink.workers[worker].met++;
	if (cr_broad_ask(&s->base, a, b))
		cr_pair_sink_add(&s->sink, worker, a, b);
}

/// Compare box i with BLOCK boxes from j on: hit[k] is -1 where they overlap. Returns whether any
/// does. Plain loops that compilers turn into SIMD; they compare only, so the bits do not depend on
/// it.
static int32_t compare_block(const sweep *s, int64_t i, int64_t j, int32_t hit[BLOCK])
{
	const float *r = s->rows.data;
	const int64_t n = s->stride;
	const float upper0 = r[UPPER_0 * n + i], lower1 = r[LOWER_1 * n + i], upper1 = r[UPPER_1 * n + i];
	const float lower2 = r[LOWER_2 * n + i], upper2 = r[UPPER_2 * n + i];
	const float *lowers0 = r + LOWER_0 * n + j, *lowers1 = r + LOWER_1 * n + j, *uppers1 = r + UPPER_1 * n + j;
	const float *lowers2 = r + LOWER_2 * n + j, *uppers2 = r + UPPER_2 * n + j;
	const int32_t *fixed = s->fixed.data + j;
	const int32_t own = s->fixed.data[i];
	int32_t any = 0;
	for (int k = 0; k < BLOCK; k++) {
		const int32_t overlap = -((lowers0[k] <= upper0) & (lowers1[k] <= upper1) & (uppers1[k] >= lower1) &
			(lowers2[k] <= upper2) & (uppers2[k] >= lower2));
		hit[k] = overlap & -((own & fixed[k]) == 0);
		any |= hit[k];
	}
	return any;
}

static void sweep_range(int64_t begin, int64_t end, int worker, void *task)
{
	sweep *s = task;
	const float *lowers = s->rows.data + LOWER_0 * s->stride, *uppers = s->rows.data + UPPER_0 * s->stride;
	int64_t blocks = 0;
	for (int64_t i = begin; i < end && !s->sink.workers[worker].failed; i++) {
		for (int64_t j = i + 1; j < s->bounded && lowers[j] <= uppers[i]; j += BLOCK) {
			int32_t hit[BLOCK];
			blocks++;
			if (!compare_block(s, i, j, hit))
				continue;
			for (int k = 0; k < BLOCK; k++) {
				if (hit[k])
					add_if_overlapping(s, worker, s->owner.data[i], s->owner.data[j + k]);
			}
		}
	}
	s->sink.workers[worker].compared += BLOCK * blocks;
}

static void pair_endless(int64_t begin, int64_t end, int worker, void *task)
{
	sweep *s = task;
	for (int64_t e = 0; e < s->endless.count; e++) {
		for (int64_t i = begin; i < end; i++)
			add_if_overlapping(s, worker, s->endless.data[e], s->owner.data[i]);
	}
}

static carom_result find_sweep(cr_broad *broad, const cr_body *bodies, int32_t count, cr_pair_list *pairs)
{
	sweep *s = (sweep *)broad;
	pairs->count = 0;
	s->bodies = bodies;
	s->count = count;
	// Numbers without a body take no room.
	int64_t alive = 0;
	for (int32_t i = 0; i < count; i++)
		alive += bodies[i].alive;
	if (!reserve(s, alive))
		return cr_fail_memory(broad->context, "the sweep over bodies");
	choose_axis(s);
	if (!sort_boxes(s))
		return cr_fail_memory(broad->context, "the sweep over bodies");
	cr_parallel_for(broad->context, copy_boxes, s->bounded, MIN_RANGE, s);
	pad_rows(s);
	cr_parallel_for(broad->context, sweep_range, s->bounded, MIN_RANGE, s);
	if (s->endless.count > 0)
		cr_parallel_for(broad->context, pair_endless, s->bounded, MIN_RANGE, s);
	for (int64_t e = 0; e < s->endless.count; e++) {
		for (int64_t f = e + 1; f < s->endless.count; f++)
			add_if_overlapping(s, 0, s->endless.data[e], s->endless.data[f]);
	}
	cr_pair_sink_count(&s->sink, broad);
	if (!cr_pair_sink_drain(&s->sink, count, pairs))
		return cr_fail_memory(broad->context, "pairs of bodies");
	return CAROM_SUCCESS;
}

static void trim_sweep(cr_broad *broad)
{
	sweep *s = (sweep *)broad;
	carom_context *context = broad->context;
	cr_pair_sink_release(&s->sink);
	cr_array_free(context, &s->keys);
	cr_array_free(context, &s->scratch);
	cr_array_free(context, &s->endless);
	cr_array_free(context, &s->rows);
	cr_array_free(context, &s->owner);
	cr_array_free(context, &s->fixed);
	cr_array_free(context, &s->ranks);
}

static void destroy_sweep(cr_broad *broad)
{
	sweep *s = (sweep *)broad;
	trim_sweep(broad);
	cr_pair_sink_free(&s->sink);
	cr_free(broad->context, s, sizeof *s);
}

carom_result cr_broad_create_sweep(carom_context *context, cr_broad **broad)
{
	*broad = NULL;
	sweep *s = cr_alloc_zero(context, sizeof *s);
	if (!s || !cr_pair_sink_init(&s->sink, context)) {
		cr_free(context, s, sizeof *s);
		return cr_fail_memory(context, "a broad phase");
	}
	s->base = (cr_broad){
		.find = find_sweep, .destroy = destroy_sweep, .reserve = reserve_sweep, .trim = trim_sweep, .context = context
	};
	*broad = &s->base;
	return CAROM_SUCCESS;
}
