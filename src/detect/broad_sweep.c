/// Broad phase by sweep and prune (Baraff 1992; Cohen, Lin, Manocha, Ponamgi, I-COLLIDE, 1995), from scratch each step.
///
/// Input: the tight boxes of all bodies. Output: overlapping pairs. The boxes are sorted by lower bound along the axis on which
/// their centres vary most; each is then compared with those that follow until one begins behind its upper bound.
/// Cost: O(n + k) for k pairs that overlap along the axis; in a cube full of bodies k grows as n^(5/3). Parallel over ranges of
/// the sorted boxes. The compared boxes are floats relative to the mean centre, rounded outward, structure of arrays, so that a
/// world far from its origin loses nothing and the comparison of a block runs in SIMD registers; what passes is decided by the
/// double boxes. Boxes without end (planes) are kept out and compared with all others.
#include "base/parallel.h"
#include "detect/broad_pairs.h"
#include <string.h>

enum {
	BLOCK = 16, // boxes compared at a time
	// Sorted boxes in a piece: below that, claiming a piece costs more than its work (20,000 boxes in a cube, 2 workers).
	MIN_RANGE = 128,
};

// Boxes that reach further than this from the mean centre count as endless: products of floats stay finite below.
static const double END_OF_WORLD = 1e30;

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
	CR_ARRAY(int32_t) fixed;   // [stride] -1: static or kinematic, else 0
	int64_t stride;
	int64_t bounded;
	int axis;
	double origin[3];
	const cr_body *bodies; // of the call being served
} sweep;

static double centre_of(const cr_body *body, int axis) { return 0.5 * body->lower[axis] + 0.5 * body->upper[axis]; }

static bool is_finite_box(const cr_body *body)
{
	bool finite = true;
	for (int k = 0; k < 3; k++)
		finite = finite && isfinite(body->lower[k]) && isfinite(body->upper[k]);
	return finite;
}

static bool is_endless(const sweep *s, const cr_body *body)
{
	// Written so that a NaN, which huge coordinates can make of the origin, counts as endless; the empty box (inf to -inf) too.
	bool near = true;
	for (int k = 0; k < 3; k++) {
		const double lower = body->lower[k] - s->origin[k], upper = body->upper[k] - s->origin[k];
		near = near && fabs(lower) < END_OF_WORLD && fabs(upper) < END_OF_WORLD;
	}
	return !near;
}

/// Mean centre and axis of largest variance of the finite boxes.
static void choose_axis(sweep *s, const cr_body *bodies, int32_t count)
{
	double sum[3] = { 0 }, squares[3] = { 0 };
	int64_t finite = 0;
	for (int32_t i = 0; i < count; i++) {
		if (!bodies[i].alive || !is_finite_box(&bodies[i]))
			continue;
		finite++;
		for (int k = 0; k < 3; k++)
			sum[k] += centre_of(&bodies[i], k);
	}
	for (int k = 0; k < 3; k++)
		s->origin[k] = finite > 0 ? sum[k] / (double)finite : 0;
	for (int32_t i = 0; i < count; i++) {
		if (!bodies[i].alive || !is_finite_box(&bodies[i]))
			continue;
		for (int k = 0; k < 3; k++) {
			const double d = centre_of(&bodies[i], k) - s->origin[k];
			squares[k] += d * d;
		}
	}
	s->axis = squares[1] > squares[0] ? 1 : 0;
	s->axis = squares[2] > squares[s->axis] ? 2 : s->axis;
}

/// A float below / above x by one to three units in the last place: cheaper than the next one. |x| is below END_OF_WORLD.
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

static bool reserve(sweep *s, int32_t count)
{
	carom_context *context = s->base.context;
	const int64_t stride = (int64_t)count + BLOCK;
	return cr_array_reserve(context, &s->keys, count) && cr_array_reserve(context, &s->scratch, count) &&
		cr_array_reserve(context, &s->endless, count) && cr_array_reserve(context, &s->rows, ROWS * stride) &&
		cr_array_reserve(context, &s->owner, count) && cr_array_reserve(context, &s->fixed, stride);
}

static void sort_boxes(sweep *s, int32_t count)
{
	s->keys.count = s->endless.count = 0;
	for (int32_t i = 0; i < count; i++) {
		if (!s->bodies[i].alive)
			continue;
		if (is_endless(s, &s->bodies[i]))
			s->endless.data[s->endless.count++] = i;
		else
			s->keys.data[s->keys.count++] =
				(cr_key){ key_of(below(s->bodies[i].lower[s->axis] - s->origin[s->axis])), (uint32_t)i };
	}
	cr_radix_sort(s->keys.data, s->scratch.data, s->keys.count, 32);
	s->bounded = s->keys.count;
	s->stride = s->bounded + BLOCK;
}

static void copy_boxes(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	sweep *s = task;
	for (int64_t i = begin; i < end; i++) {
		const int32_t owner = (int32_t)s->keys.data[i].value;
		const cr_body *body = &s->bodies[owner];
		for (int k = 0; k < 3; k++) {
			const int axis = (s->axis + k) % 3;
			s->rows.data[(2 * k) * s->stride + i] = below(body->lower[axis] - s->origin[axis]);
			s->rows.data[(2 * k + 1) * s->stride + i] = above(body->upper[axis] - s->origin[axis]);
		}
		s->owner.data[i] = owner;
		s->fixed.data[i] = body->kind == CAROM_DYNAMIC ? 0 : -1;
	}
}

/// What a block reads behind the last box: nothing that overlaps.
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
	if (cr_boxes_overlap(&s->bodies[a], &s->bodies[b]) && cr_bodies_may_collide(&s->bodies[a], &s->bodies[b]))
		cr_pair_sink_add(&s->sink, worker, a, b);
}

/// Compare box i with BLOCK boxes from j on: hit[k] is -1 where they overlap. Returns whether any does. Plain loops that
/// compilers turn into SIMD; they compare only, so the bits do not depend on it.
static int32_t compare_block(const sweep *s, int64_t i, int64_t j, int32_t hit[BLOCK])
{
	const float *r = s->rows.data;
	const int64_t n = s->stride;
	const float upper0 = r[UPPER_0 * n + i], lower1 = r[LOWER_1 * n + i], upper1 = r[UPPER_1 * n + i];
	const float lower2 = r[LOWER_2 * n + i], upper2 = r[UPPER_2 * n + i];
	const float *lowers0 = r + LOWER_0 * n + j, *lowers1 = r + LOWER_1 * n + j, *uppers1 = r + UPPER_1 * n + j;
	const float *lowers2 = r + LOWER_2 * n + j, *uppers2 = r + UPPER_2 * n + j;
	const int32_t *fixed = s->fixed.data + j;
	const int32_t loose = ~s->fixed.data[i];
	int32_t any = 0;
	for (int k = 0; k < BLOCK; k++) {
		const int32_t overlap = -((lowers0[k] <= upper0) & (lowers1[k] <= upper1) & (uppers1[k] >= lower1) &
			(lowers2[k] <= upper2) & (uppers2[k] >= lower2));
		hit[k] = overlap & (loose | ~fixed[k]);
		any |= hit[k];
	}
	return any;
}

static void sweep_range(int64_t begin, int64_t end, int worker, void *task)
{
	sweep *s = task;
	const float *lowers = s->rows.data + LOWER_0 * s->stride, *uppers = s->rows.data + UPPER_0 * s->stride;
	for (int64_t i = begin; i < end; i++) {
		for (int64_t j = i + 1; j < s->bounded && lowers[j] <= uppers[i]; j += BLOCK) {
			int32_t hit[BLOCK];
			if (!compare_block(s, i, j, hit))
				continue;
			for (int k = 0; k < BLOCK; k++) {
				if (hit[k])
					add_if_overlapping(s, worker, s->owner.data[i], s->owner.data[j + k]);
			}
		}
	}
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
	if (!reserve(s, count))
		return cr_fail_memory(broad->context, "the sweep over bodies");
	s->bodies = bodies;
	choose_axis(s, bodies, count);
	sort_boxes(s, count);
	cr_parallel_for(broad->context, copy_boxes, s->bounded, MIN_RANGE, s);
	pad_rows(s);
	cr_parallel_for(broad->context, sweep_range, s->bounded, MIN_RANGE, s);
	if (s->endless.count > 0)
		cr_parallel_for(broad->context, pair_endless, s->bounded, MIN_RANGE, s);
	for (int64_t e = 0; e < s->endless.count; e++) {
		for (int64_t f = e + 1; f < s->endless.count; f++)
			add_if_overlapping(s, 0, s->endless.data[e], s->endless.data[f]);
	}
	if (!cr_pair_sink_drain(&s->sink, count, pairs))
		return cr_fail_memory(broad->context, "pairs of bodies");
	return CAROM_SUCCESS;
}

static void destroy_sweep(cr_broad *broad)
{
	sweep *s = (sweep *)broad;
	carom_context *context = broad->context;
	cr_pair_sink_free(&s->sink);
	cr_array_free(context, &s->keys);
	cr_array_free(context, &s->scratch);
	cr_array_free(context, &s->endless);
	cr_array_free(context, &s->rows);
	cr_array_free(context, &s->owner);
	cr_array_free(context, &s->fixed);
	cr_free(context, s, sizeof *s);
}

carom_result cr_broad_create_sweep(carom_context *context, cr_broad **broad)
{
	*broad = NULL;
	sweep *s = cr_alloc_zero(context, sizeof *s);
	if (!s || !cr_pair_sink_init(&s->sink, context)) {
		cr_free(context, s, sizeof *s);
		return cr_fail_memory(context, "a broad phase");
	}
	s->base = (cr_broad){ find_sweep, destroy_sweep, context };
	*broad = &s->base;
	return CAROM_SUCCESS;
}
