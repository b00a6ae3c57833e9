/// Wide kernels over colliders. Compiled once for each instruction set (CR_ISA); see math/simd.h
/// for why the bits agree.

#include "bvh/bvh_isa.h"
#include "geom/triangle.h"
#include "bvh/grid8.h"
#include "bvh/ray_scalar.h"
#include "math/box8.h"
#include "math/simd.h"
#include "math/vec8.h"
#include <string.h>

// ---- Rays ----

/// A ray in the form that the node tests want.
typedef struct wide_ray {
	f8 origin[3];
	f8 inverse[3];     // may be infinite
	f8 inverse_far[3]; // widened by the slack
	int near_row[3];   // rows of cr_node8 that hold the near planes: 0..2 lower, 3..5 upper
	int far_row[3];
} wide_ray;

/// A ray in the form that the block tests want: made when the first block is met, which many rays
/// never do.
typedef struct block_ray {
	cr_ray_shear shear;
	f8 origin[3]; // in the order of the shear's axes
	f8 sx, sy, sz;
} block_ray;

/// inverse: 1 / direction, by component.
static inline void wide_ray_init(wide_ray *ray, const float origin[3], const float inverse[3])
{
	for (int k = 0; k < 3; k++) {
		const int backward = inverse[k] < 0;
		ray->origin[k] = f8_set1(origin[k]);
		ray->inverse[k] = f8_set1(inverse[k]);
		ray->inverse_far[k] = f8_mul(ray->inverse[k], f8_set1(CR_SLAB_SLACK));
		ray->near_row[k] = k + 3 * backward;
		ray->far_row[k] = k + 3 - 3 * backward;
	}
}

static void block_ray_init(block_ray *ray, const float origin[3], const float direction[3])
{
	cr_ray_shear_init(&ray->shear, origin, direction);
	ray->origin[0] = f8_set1(origin[ray->shear.kx]);
	ray->origin[1] = f8_set1(origin[ray->shear.ky]);
	ray->origin[2] = f8_set1(origin[ray->shear.kz]);
	ray->sx = f8_set1(ray->shear.sx);
	ray->sy = f8_set1(ray->shear.sy);
	ray->sz = f8_set1(ray->shear.sz);
}

/// The part of the ray from begin to limit (already widened by the slack) in the boxes of the
/// children: empty where the first is beyond the last. A ray along a plane of a box gives 0 *
/// infinity, a NaN, which f8_max and f8_min drop when it comes first: that plane then does not
/// limit the ray.
static inline void meet_interval(const wide_ray *ray, const cr_node8 *node, f8 begin, f8 limit, f8 *first_met, f8 *last_met)
{
	const float *rows = &node->lower[0][0];
	f8 first = begin, last = limit;
	for (int k = 0; k < 3; k++) {
		const f8 near = f8_sub(f8_load(rows + CR_WIDTH * ray->near_row[k]), ray->origin[k]);
		const f8 far = f8_sub(f8_load(rows + CR_WIDTH * ray->far_row[k]), ray->origin[k]);
		first = f8_max(f8_mul(near, ray->inverse[k]), first);
		last = f8_min(f8_mul(far, ray->inverse_far[k]), last);
	}
	*first_met = first;
	*last_met = last;
}

/// Children whose box the ray meets before limit, and where it enters them. Unused children have
/// boxes that nothing finite meets; the mask keeps rays that are not finite away from them too.
static inline uint32_t meet_children(const wide_ray *ray, const cr_node8 *node, f8 limit, f8 *enter)
{
	f8 last;
	meet_interval(ray, node, f8_set1(0), limit, enter, &last);
	return m8_bits(f8_le(*enter, last)) & ((1u << node->child_count) - 1);
}

/// The corners of a block sheared into the ray's space, and the three edge functions.
typedef struct sheared {
	f8 x[3], y[3], z[3]; // z not yet scaled by sz
	f8 u, v, w;
} sheared;

static inline void shear_block(const block_ray *ray, const cr_tri8 *block, sheared *s)
{
	const int kx = ray->shear.kx, ky = ray->shear.ky, kz = ray->shear.kz;
	for (int c = 0; c < 3; c++) {
		const f8 x = f8_sub(f8_load(block->corner[c][kx]), ray->origin[0]);
		const f8 y = f8_sub(f8_load(block->corner[c][ky]), ray->origin[1]);
		s->z[c] = f8_sub(f8_load(block->corner[c][kz]), ray->origin[2]);
		s->x[c] = f8_sub(x, f8_mul(ray->sx, s->z[c]));
		s->y[c] = f8_sub(y, f8_mul(ray->sy, s->z[c]));
	}
	s->u = f8_sub(f8_mul(s->x[2], s->y[1]), f8_mul(s->y[2], s->x[1]));
	s->v = f8_sub(f8_mul(s->x[0], s->y[2]), f8_mul(s->y[0], s->x[2]));
	s->w = f8_sub(f8_mul(s->x[1], s->y[0]), f8_mul(s->y[1], s->x[0]));
}

static inline void block_triangle(const cr_tri8 *block, int lane, float corners[3][3])
{
	for (int c = 0; c < 3; c++) {
		for (int k = 0; k < 3; k++)
			corners[c][k] = block->corner[c][k][lane];
	}
}

typedef struct nearest {
	float t;
	int32_t triangle;
	bool back;
} nearest;

/// cr_hit_precedes decides between hits of equal t. leaving: does the ray leave the solid there?
/// For hits behind the origin it is the turned ray.
static inline void keep_nearest(const cr_collider *c, nearest *best, float t, int32_t triangle, bool back, bool leaving)
{
	if (t > best->t)
		return;
	if (t == best->t && !cr_hit_precedes(c, triangle, leaving, best->triangle, leaving == back ? best->back : !best->back))
		return;
	*best = (nearest){ t, triangle, back };
}

/// Lanes with an edge function of zero: the sign must come from double.
static void intersect_edge_lanes(const cr_collider *c, const block_ray *ray, const cr_tri8 *block, uint32_t lanes, nearest *best)
{
	while (lanes) {
		const int lane = cr_take_lowest_bit(&lanes);
		float corners[3][3];
		cr_triangle_hit hit;
		block_triangle(block, lane, corners);
		if (cr_ray_triangle_watertight(&ray->shear, corners[0], corners[1], corners[2], best->t, &hit))
			keep_nearest(c, best, hit.t, block->number[lane], hit.back, hit.back);
	}
}

/// The line turned round: t changes its sign and nothing else, back faces become front faces.
static cr_ray_shear reverse_shear(const cr_ray_shear *s)
{
	return (cr_ray_shear){ s->ky, s->kx, s->kz, s->sy, s->sx, -s->sz, { s->origin[0], s->origin[1], s->origin[2] } };
}

/// intersect_edge_lanes behind the origin.
static void intersect_edge_lanes_behind(
	const cr_collider *c, const block_ray *ray, const cr_tri8 *block, uint32_t lanes, nearest *behind)
{
	const cr_ray_shear reverse = reverse_shear(&ray->shear);
	while (lanes) {
		const int lane = cr_take_lowest_bit(&lanes);
		float corners[3][3];
		cr_triangle_hit hit;
		block_triangle(block, lane, corners);
		if (cr_ray_triangle_watertight(&reverse, corners[0], corners[1], corners[2], behind->t, &hit) && hit.t > 0)
			keep_nearest(c, behind, hit.t, block->number[lane], !hit.back, hit.back);
	}
}

/// behind: are they behind the origin of a line?
static inline void keep_lanes(
	const cr_collider *c, const cr_tri8 *block, uint32_t lanes, f8 t, f8 det, bool behind, nearest *best)
{
	float ts[CR_WIDTH], dets[CR_WIDTH];
	f8_store(ts, t);
	f8_store(dets, det);
	while (lanes) {
		const int lane = cr_take_lowest_bit(&lanes);
		const bool back = dets[lane] < 0;
		keep_nearest(c, best, ts[lane], block->number[lane], back, back != behind);
	}
}

/// behind: NULL for rays. The compiler makes two functions of it.
static inline void intersect_block(
	const cr_collider *c, const block_ray *ray, const cr_tri8 *block, nearest *best, nearest *behind)
{
	sheared s;
	shear_block(ray, block, &s);
	const f8 zero = f8_set1(0);
	const f8 low = f8_min(f8_min(s.u, s.v), s.w), high = f8_max(f8_max(s.u, s.v), s.w);
	const uint32_t used = (1u << block->count) - 1;
	uint32_t candidates = m8_bits(m8_or(f8_le(zero, low), f8_le(high, zero))) & used;
	if (!candidates)
		return;
	const m8 on_edge = m8_or(m8_or(f8_eq(s.u, zero), f8_eq(s.v, zero)), f8_eq(s.w, zero));
	const uint32_t edge_lanes = m8_bits(on_edge) & candidates;
	candidates &= ~edge_lanes;
	if (candidates) {
		const f8 det = f8_add(f8_add(s.u, s.v), s.w);
		const f8 az = f8_mul(ray->sz, s.z[0]), bz = f8_mul(ray->sz, s.z[1]), cz = f8_mul(ray->sz, s.z[2]);
		const f8 scaled = f8_add(f8_add(f8_mul(s.u, az), f8_mul(s.v, bz)), f8_mul(s.w, cz));
		const f8 t = f8_div(scaled, det);
		const uint32_t ahead = candidates & m8_bits(m8_and(f8_le(zero, t), f8_le(t, f8_set1(best->t))));
		if (ahead)
			keep_lanes(c, block, ahead, t, det, false, best);
		if (behind) {
			const f8 back = f8_neg(t);
			candidates &= m8_bits(m8_and(f8_lt(zero, back), f8_le(back, f8_set1(behind->t))));
			if (candidates)
				keep_lanes(c, block, candidates, back, det, true, behind);
		}
	}
	if (edge_lanes) {
		intersect_edge_lanes(c, ray, block, edge_lanes, best);
		if (behind)
			intersect_edge_lanes_behind(c, ray, block, edge_lanes, behind);
	}
}

/// Used lanes of a block without a corner at a point.
static inline uint32_t lanes_apart(const cr_tri8 *block, const float point[3])
{
	uint32_t at = 0;
	for (int c = 0; c < 3; c++) {
		const m8 x = f8_eq(f8_load(block->corner[c][0]), f8_set1(point[0]));
		const m8 y = f8_eq(f8_load(block->corner[c][1]), f8_set1(point[1]));
		const m8 z = f8_eq(f8_load(block->corner[c][2]), f8_set1(point[2]));
		at |= m8_bits(m8_and(m8_and(x, y), z));
	}
	return ((1u << block->count) - 1) & ~at;
}

/// Where a ray leaves the solid: back faces alone, and none with a corner at the origin, whose t is
/// zero up to rounding, either sign.
static inline void leave_block(const block_ray *ray, const cr_tri8 *block, const float origin[3], nearest *best)
{
	sheared s;
	shear_block(ray, block, &s);
	const f8 zero = f8_set1(0);
	uint32_t candidates = m8_bits(f8_le(f8_max(f8_max(s.u, s.v), s.w), zero));
	if (candidates)
		candidates &= lanes_apart(block, origin);
	while (candidates) {
		const int lane = cr_take_lowest_bit(&candidates);
		float corners[3][3];
		cr_triangle_hit hit;
		block_triangle(block, lane, corners);
		if (cr_ray_triangle_watertight(&ray->shear, corners[0], corners[1], corners[2], best->t, &hit) && hit.back)
			best->t = hit.t;
	}
}

typedef struct ray_entry {
	uint32_t child;
	float enter;
} ray_entry;

/// Push the children that were met so that the nearest is on top.
static inline int push_sorted(ray_entry *stack, int top, const cr_node8 *node, uint32_t met, f8 enter)
{
	float enters[CR_WIDTH];
	f8_store(enters, enter);
	const int base = top;
	do {
		const int i = cr_take_lowest_bit(&met);
		const ray_entry entry = { node->child[i], enters[i] };
		int at = top++;
		while (at > base && stack[at - 1].enter < entry.enter) {
			stack[at] = stack[at - 1];
			at--;
		}
		stack[at] = entry;
	} while (met);
	return top;
}

/// leaving: look for the place where the ray leaves the solid; only its t is found. The compiler
/// makes two functions of it.
static inline nearest follow_ray(
	const cr_collider *c, const float origin[3], const float direction[3], const float inverse[3], float t_max, bool leaving)
{
	wide_ray ray;
	block_ray blocks;
	bool blocks_ready = false;
	wide_ray_init(&ray, origin, inverse);
	nearest best = { t_max, -1, false };
	ray_entry stack[CR_TREE_STACK];
	int top = 0;
	uint32_t child = 0;
	for (;;) {
		if (child & CR_LEAF_BIT) {
			if (!blocks_ready) {
				block_ray_init(&blocks, origin, direction);
				blocks_ready = true;
			}
			const cr_tri8 *block = &c->blocks[child & ~CR_LEAF_BIT];
			if (leaving)
				leave_block(&blocks, block, origin, &best);
			else
				intersect_block(c, &blocks, block, &best, NULL);
		} else {
			const cr_node8 *node = &c->tree.nodes[child];
			f8 enter;
			uint32_t met = meet_children(&ray, node, f8_set1(best.t * CR_SLAB_SLACK), &enter);
			// One child needs no order and no stack: the usual case on the way down.
			if (met && (met & (met - 1)) == 0) {
				child = node->child[cr_take_lowest_bit(&met)];
				continue;
			}
			if (met)
				top = push_sorted(stack, top, node, met, enter);
		}
		const float limit = best.t * CR_SLAB_SLACK;
		while (top > 0 && stack[top - 1].enter > limit)
			top--;
		if (top == 0)
			return best;
		child = stack[--top].child;
	}
}

static nearest cast_one(
	const cr_collider *c, const float origin[3], const float direction[3], const float inverse[3], float t_max)
{
	return follow_ray(c, origin, direction, inverse, t_max, false);
}

static bool usable_direction(const float d[3]) { return d[0] != 0 || d[1] != 0 || d[2] != 0; }

static float find_exit(const cr_collider *c, const float origin[3], const float direction[3])
{
	if (c->tree.node_count == 0 || !usable_direction(direction))
		return INFINITY;
	const float inverse[3] = { 1.0f / direction[0], 1.0f / direction[1], 1.0f / direction[2] };
	return follow_ray(c, origin, direction, inverse, INFINITY, true).t;
}

enum { RAY_BATCH = 64 };

/// 1 / direction for a batch, eight rays at a time: one by one the divisions are a tenth of the
/// time of a ray that misses.
static void invert_directions(const carom_ray_batch *rays, int32_t begin, int32_t count, float inverse[3][RAY_BATCH])
{
	for (int k = 0; k < 3; k++) {
		const float *d = rays->direction[k] + begin;
		int32_t i = 0;
		for (; i + CR_WIDTH <= count; i += CR_WIDTH)
			f8_store(&inverse[k][i], f8_div(f8_set1(1), f8_load(&d[i])));
		for (; i < count; i++)
			inverse[k][i] = 1.0f / d[i];
	}
}

static void cast_batch(
	const cr_collider *c, const carom_ray_batch *rays, int32_t begin, int32_t count, const carom_hit_batch *hits)
{
	float inverses[3][RAY_BATCH];
	invert_directions(rays, begin, count, inverses);
	for (int32_t k = 0; k < count; k++) {
		const int32_t i = begin + k;
		const float origin[3] = { rays->origin[0][i], rays->origin[1][i], rays->origin[2][i] };
		const float direction[3] = { rays->direction[0][i], rays->direction[1][i], rays->direction[2][i] };
		const float inverse[3] = { inverses[0][k], inverses[1][k], inverses[2][k] };
		nearest best = { 0, -1, false };
		if (usable_direction(direction))
			best = cast_one(c, origin, direction, inverse, rays->t_max[i]);
		hits->triangle[i] = best.triangle;
		hits->t[i] = best.triangle < 0 ? 0 : best.t;
		hits->back_face[i] = best.back;
	}
}

static void cast_rays(const cr_collider *c, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits)
{
	if (c->tree.node_count == 0) {
		for (int32_t i = begin; i < end; i++) {
			hits->triangle[i] = -1;
			hits->t[i] = 0;
			hits->back_face[i] = 0;
		}
		return;
	}
	for (int32_t i = begin; i < end; i += RAY_BATCH)
		cast_batch(c, rays, i, end - i < RAY_BATCH ? end - i : RAY_BATCH, hits);
}

// ---- Few triangles ----

/// A block as a ray sees it.
typedef struct seen_block {
	float t[CR_WIDTH]; // INFINITY: no hit, or one on an edge
	uint32_t back;     // lanes that face away
	uint32_t on_edge;  // lanes with an edge function of zero
} seen_block;

/// Sees a block without a branch. Returns the t of its lanes.
static inline f8 see_block(const block_ray *ray, const cr_tri8 *block, seen_block *seen)
{
	sheared s;
	shear_block(ray, block, &s);
	const f8 zero = f8_set1(0), none = f8_set1(INFINITY);
	const f8 low = f8_min(f8_min(s.u, s.v), s.w), high = f8_max(f8_max(s.u, s.v), s.w);
	const m8 met = m8_or(f8_le(zero, low), f8_le(high, zero));
	const m8 on_edge = m8_or(m8_or(f8_eq(s.u, zero), f8_eq(s.v, zero)), f8_eq(s.w, zero));
	const f8 det = f8_add(f8_add(s.u, s.v), s.w);
	const f8 az = f8_mul(ray->sz, s.z[0]), bz = f8_mul(ray->sz, s.z[1]), cz = f8_mul(ray->sz, s.z[2]);
	const f8 t = f8_div(f8_add(f8_add(f8_mul(s.u, az), f8_mul(s.v, bz)), f8_mul(s.w, cz)), det);
	const m8 used = i8_lt(i8_count_from(0), i8_set1(block->count)), ahead = m8_and(used, m8_and(met, f8_le(zero, t)));
	seen->back = m8_bits(f8_lt(det, zero));
	seen->on_edge = m8_bits(m8_and(m8_and(on_edge, met), used));
	const f8 hit = f8_select(on_edge, none, f8_select(ahead, t, none));
	f8_store(seen->t, hit);
	return hit;
}

static void cast_packed(const cr_collider *c, const cr_tri8 *blocks, int32_t count, const float origin[3],
	const float direction[3], cr_packed_hit *hit)
{
	*hit = (cr_packed_hit){ -1, 0, false };
	if (!usable_direction(direction) || count == 0)
		return;
	block_ray ray;
	seen_block seen[CR_PACKED_BLOCKS];
	nearest best = { INFINITY, -1, false };
	block_ray_init(&ray, origin, direction);
	f8 least = f8_set1(INFINITY);
	uint32_t on_edge = 0;
	for (int32_t i = 0; i < count; i++) {
		least = f8_min(see_block(&ray, &blocks[i], &seen[i]), least);
		on_edge |= seen[i].on_edge;
	}
	const float t = f8_lowest(least);
	uint64_t hits = 0;
	_Static_assert(CR_PACKED_BLOCKS * CR_WIDTH <= 64, "a bit for each triangle");
	for (int32_t i = 0; i < count; i++)
		hits |= (uint64_t)m8_bits(f8_eq(f8_load(seen[i].t), f8_set1(t))) << CR_WIDTH * i;
	// Mostly one.
	for (hits = isfinite(t) ? hits : 0; hits; hits &= hits - 1) {
		const int number = __builtin_ctzll(hits), lane = number % CR_WIDTH;
		const bool back = seen[number / CR_WIDTH].back >> lane & 1;
		keep_nearest(c, &best, t, blocks[number / CR_WIDTH].number[lane], back, back);
	}
	for (int32_t i = 0; i < count && on_edge; i++)
		intersect_edge_lanes(c, &ray, &blocks[i], seen[i].on_edge, &best);
	if (best.triangle >= 0)
		*hit = (cr_packed_hit){ best.triangle, best.t, best.back };
}

// ---- Lines ----

/// By how much slabs behind the origin are widened: there the slack of wide_ray moves the far
/// planes the wrong way.
#define BEHIND_SLACK (4 * (CR_SLAB_SLACK - 1))

/// cast_one for a line from -behind->t to best->t, both lowered to the nearest hits.
static void cast_line(const cr_collider *c, const float origin[3], const float direction[3], const float inverse[3],
	nearest *best, nearest *behind)
{
	wide_ray ray;
	block_ray blocks;
	bool blocks_ready = false;
	wide_ray_init(&ray, origin, inverse);
	const f8 slack = f8_set1(behind->t * BEHIND_SLACK);
	ray_entry stack[CR_TREE_STACK];
	int top = 0;
	uint32_t child = 0;
	for (;;) {
		if (child & CR_LEAF_BIT) {
			if (!blocks_ready) {
				block_ray_init(&blocks, origin, direction);
				blocks_ready = true;
			}
			intersect_block(c, &blocks, &c->blocks[child & ~CR_LEAF_BIT], best, behind);
		} else {
			const cr_node8 *node = &c->tree.nodes[child];
			f8 enter, leave;
			meet_interval(&ray, node, f8_set1(-behind->t * CR_SLAB_SLACK), f8_set1(best->t * CR_SLAB_SLACK), &enter, &leave);
			uint32_t met = m8_bits(f8_le(enter, f8_add(leave, slack))) & ((1u << node->child_count) - 1);
			if (met && (met & (met - 1)) == 0) {
				child = node->child[cr_take_lowest_bit(&met)];
				continue;
			}
			if (met)
				top = push_sorted(stack, top, node, met, enter);
		}
		const float limit = best->t * CR_SLAB_SLACK;
		while (top > 0 && stack[top - 1].enter > limit)
			top--;
		if (top == 0)
			return;
		child = stack[--top].child;
	}
}

static void store_line(const cr_line_hits *hits, int32_t i, const nearest *best, const nearest *behind)
{
	hits->triangle[i] = best->triangle;
	hits->t[i] = best->triangle < 0 ? 0 : best->t;
	hits->back[i] = best->back;
	hits->behind_triangle[i] = behind->triangle;
	hits->behind_t[i] = behind->triangle < 0 ? 0 : behind->t;
	hits->behind_back[i] = behind->back;
}

static void cast_line_batch(
	const cr_collider *c, const carom_ray_batch *rays, int32_t begin, int32_t count, float reach, const cr_line_hits *hits)
{
	float inverses[3][RAY_BATCH];
	invert_directions(rays, begin, count, inverses);
	for (int32_t k = 0; k < count; k++) {
		const int32_t i = begin + k;
		const float origin[3] = { rays->origin[0][i], rays->origin[1][i], rays->origin[2][i] };
		const float direction[3] = { rays->direction[0][i], rays->direction[1][i], rays->direction[2][i] };
		const float inverse[3] = { inverses[0][k], inverses[1][k], inverses[2][k] };
		nearest best = { rays->t_max[i], -1, false }, behind = { reach, -1, false };
		if (usable_direction(direction))
			cast_line(c, origin, direction, inverse, &best, &behind);
		store_line(hits, i, &best, &behind);
	}
}

static void cast_lines(
	const cr_collider *c, const carom_ray_batch *rays, int32_t begin, int32_t end, float reach, const cr_line_hits *hits)
{
	const carom_hit_batch forward = { hits->triangle, hits->t, hits->back };
	const nearest none = { 0, -1, false };
	if (c->tree.node_count > 0 && reach > 0) {
		for (int32_t i = begin; i < end; i += RAY_BATCH)
			cast_line_batch(c, rays, i, end - i < RAY_BATCH ? end - i : RAY_BATCH, reach, hits);
		return;
	}
	cast_rays(c, rays, begin, end, &forward);
	for (int32_t i = begin; i < end; i++) {
		hits->behind_triangle[i] = none.triangle;
		hits->behind_t[i] = none.t;
		hits->behind_back[i] = none.back;
	}
}

// ---- Winding number ----

static inline int sign_of(double x) { return (x > 0) - (x < 0); }

/// Sign of the edge function of p, q (exact: the products of floats fit in double), and when it is
/// zero that of the ray moved by an infinitely small step in x and a smaller one in y. The
/// neighbour across the edge sees the opposite sign.
static int perturbed_edge_sign(float px, float py, float qx, float qy)
{
	const int sign = sign_of((double)px * (double)qy - (double)py * (double)qx);
	if (sign != 0)
		return sign;
	const int along_x = (qy > py) - (qy < py);
	return along_x != 0 ? along_x : (px > qx) - (px < qx);
}

/// +1 when the ray leaves through the lane's triangle, -1 when it enters, 0 when it misses.
static int crossing_of_lane(const sheared *s, float sz, int lane)
{
	float x[3][CR_WIDTH], y[3][CR_WIDTH], z[3][CR_WIDTH];
	for (int c = 0; c < 3; c++) {
		f8_store(x[c], s->x[c]);
		f8_store(y[c], s->y[c]);
		f8_store(z[c], s->z[c]);
	}
	const int u = perturbed_edge_sign(x[2][lane], y[2][lane], x[1][lane], y[1][lane]);
	const int v = perturbed_edge_sign(x[0][lane], y[0][lane], x[2][lane], y[2][lane]);
	const int w = perturbed_edge_sign(x[1][lane], y[1][lane], x[0][lane], y[0][lane]);
	if (u == 0 || u != v || v != w)
		return 0;
	const double du = (double)x[2][lane] * y[1][lane] - (double)y[2][lane] * x[1][lane];
	const double dv = (double)x[0][lane] * y[2][lane] - (double)y[0][lane] * x[2][lane];
	const double dw = (double)x[1][lane] * y[0][lane] - (double)y[1][lane] * x[0][lane];
	const double along = (du * z[0][lane] + dv * z[1][lane] + dw * z[2][lane]) * sz;
	// The sign of along / det is that of t; det has the sign of u, v and w or is zero (then the
	// triangle is edge on).
	if (along * u < 0 || du + dv + dw == 0)
		return 0;
	return -u;
}

static int wind_block(const block_ray *ray, const cr_tri8 *block)
{
	sheared s;
	shear_block(ray, block, &s);
	const f8 zero = f8_set1(0);
	const f8 low = f8_min(f8_min(s.u, s.v), s.w), high = f8_max(f8_max(s.u, s.v), s.w);
	uint32_t lanes = m8_bits(m8_or(f8_le(zero, low), f8_le(high, zero))) & ((1u << block->count) - 1);
	int winding = 0;
	while (lanes)
		winding += crossing_of_lane(&s, ray->shear.sz, cr_take_lowest_bit(&lanes));
	return winding;
}

static int winding_number(const cr_collider *c, const float origin[3], const float direction[3])
{
	if (c->tree.node_count == 0 || !usable_direction(direction))
		return 0;
	wide_ray ray;
	block_ray blocks;
	const float inverse[3] = { 1.0f / direction[0], 1.0f / direction[1], 1.0f / direction[2] };
	wide_ray_init(&ray, origin, inverse);
	block_ray_init(&blocks, origin, direction);
	uint32_t stack[CR_TREE_STACK];
	int top = 0, winding = 0;
	stack[top++] = 0;
	while (top > 0) {
		const uint32_t child = stack[--top];
		if (child & CR_LEAF_BIT) {
			winding += wind_block(&blocks, &c->blocks[child & ~CR_LEAF_BIT]);
			continue;
		}
		const cr_node8 *node = &c->tree.nodes[child];
		f8 enter;
		uint32_t met = meet_children(&ray, node, f8_set1(INFINITY), &enter);
		while (met)
			stack[top++] = node->child[cr_take_lowest_bit(&met)];
	}
	return winding;
}

// ---- Blocks in a box ----

static int32_t blocks_in_box(const cr_collider *c, const float lower[3], const float upper[3], int32_t capacity, int32_t *blocks)
{
	if (c->tree.node_count == 0)
		return 0;
	uint32_t stack[CR_TREE_STACK];
	int top = 0;
	int32_t count = 0;
	stack[top++] = 0;
	while (top > 0) {
		const cr_node8 *node = &c->tree.nodes[stack[--top]];
		const box8 boxes = load_boxes(node->lower, node->upper);
		uint32_t met = overlap_one(&boxes, lower, upper);
		while (met) {
			const uint32_t child = node->child[cr_take_lowest_bit(&met)];
			if (!(child & CR_LEAF_BIT)) {
				stack[top++] = child;
				continue;
			}
			if (count < capacity)
				blocks[count] = (int32_t)(child & ~CR_LEAF_BIT);
			count++;
		}
	}
	return count;
}

// ---- Nearest triangle ----

/// Squared distance from points, given relative to the start of a segment, to the segment.
static inline f8 segment_distance(const f8 p[3], const f8 e[3])
{
	const f8 s = f8_min(f8_max(f8_div(dot8(p, e), dot8(e, e)), f8_set1(0)), f8_set1(1));
	f8 d[3];
	for (int k = 0; k < 3; k++)
		d[k] = f8_sub(p[k], f8_mul(s, e[k]));
	return dot8(d, d);
}

/// A power of two near 1 / scale^2. Normals multiplied by it lose nothing, and their squares
/// neither overflow nor vanish, however large or small the mesh.
static float normal_unit(float scale)
{
	uint32_t bits;
	memcpy(&bits, &scale, sizeof bits);
	const int exponent = (int)(bits >> 23 & 0xff) - 127;
	const int clamped = exponent < -60 ? -60 : exponent > 60 ? 60 : exponent;
	bits = (uint32_t)(127 - 2 * clamped) << 23;
	float unit;
	memcpy(&unit, &bits, sizeof unit);
	return unit;
}

/// Squared distances from a point to eight triangles: to the plane where the foot lies inside the
/// three edges, else to the nearest edge. unit: see normal_unit.
static f8 triangle_distances(const cr_tri8 *block, const float point[3], f8 unit)
{
	f8 p[3][3], e[3][3];
	for (int c = 0; c < 3; c++) {
		const int next = (c + 1) % 3;
		for (int k = 0; k < 3; k++) {
			const f8 corner = f8_load(block->corner[c][k]);
			p[c][k] = f8_sub(f8_set1(point[k]), corner);
			e[c][k] = f8_sub(f8_load(block->corner[next][k]), corner);
		}
	}
	f8 n[3], side[3];
	cross8(e[0], e[1], n);
	for (int k = 0; k < 3; k++)
		n[k] = f8_mul(n[k], unit);
	m8 inside = f8_eq(n[0], n[0]);
	f8 nearest_edge = f8_set1(INFINITY);
	for (int c = 0; c < 3; c++) {
		cross8(n, e[c], side);
		inside = m8_and(inside, f8_le(f8_set1(0), dot8(side, p[c])));
		nearest_edge = f8_min(segment_distance(p[c], e[c]), nearest_edge);
	}
	const f8 height = dot8(n, p[0]);
	return f8_select(inside, f8_div(f8_mul(height, height), dot8(n, n)), nearest_edge);
}

/// Squared distances from a point to eight boxes; 0 inside.
static inline f8 box_distances(const cr_node8 *node, const float point[3])
{
	f8 sum = f8_set1(0);
	for (int k = 0; k < 3; k++) {
		const f8 p = f8_set1(point[k]);
		const f8 below = f8_sub(f8_load(node->lower[k]), p), above = f8_sub(p, f8_load(node->upper[k]));
		const f8 d = f8_max(f8_max(below, above), f8_set1(0));
		sum = f8_add(sum, f8_mul(d, d));
	}
	return sum;
}

static float nearest_triangle(const cr_collider *c, const float point[3], float max_distance, int32_t *triangle)
{
	*triangle = -1;
	float best = max_distance * max_distance;
	if (c->tree.node_count == 0)
		return INFINITY;
	const f8 unit = f8_set1(normal_unit(c->scale));
	ray_entry stack[CR_TREE_STACK];
	int top = 0;
	stack[top++] = (ray_entry){ 0, 0 };
	while (top > 0) {
		const ray_entry entry = stack[--top];
		if (entry.enter > best)
			continue;
		if (!(entry.child & CR_LEAF_BIT)) {
			const cr_node8 *node = &c->tree.nodes[entry.child];
			const f8 distances = box_distances(node, point);
			const uint32_t met = m8_bits(f8_le(distances, f8_set1(best)));
			if (met)
				top = push_sorted(stack, top, node, met, distances);
			continue;
		}
		const cr_tri8 *block = &c->blocks[entry.child & ~CR_LEAF_BIT];
		const f8 distances = triangle_distances(block, point, unit);
		uint32_t lanes = m8_bits(f8_le(distances, f8_set1(best))) & ((1u << block->count) - 1);
		float d[CR_WIDTH];
		f8_store(d, distances);
		while (lanes) {
			const int i = cr_take_lowest_bit(&lanes);
			if (d[i] < best || (d[i] == best && (*triangle < 0 || cr_triangle_precedes(c, block->number[i], *triangle)))) {
				best = d[i];
				*triangle = block->number[i];
			}
		}
	}
	return *triangle < 0 ? INFINITY : sqrtf(best);
}

const cr_bvh_kernels CR_ISA_NAME(cr_bvh_kernels) = { cast_rays, cast_packed, find_exit, winding_number, cast_lines,
	CR_ISA_NAME(cr_walk), CR_ISA_NAME(cr_find_pairs), blocks_in_box, nearest_triangle, CR_ISA_NAME(cr_closest),
	CR_ISA_NAME(cr_triangles_around), CR_ISA_NAME(cr_gap), CR_ISA_NAME(cr_refit), CR_ISA_NAME(cr_refit_samples),
	CR_ISA_NAME(cr_slide_parts), CR_ISA_NAME(cr_ray_boxes) };
