/// Wide kernels of the stages. Compiled once for each instruction set (CR_ISA); see math/simd.h for
/// why the bits agree.

#include "contact/contact_isa.h"
#include "bvh/cell_side.h"
#include "bvh/grid8.h"
#include "math/box8.h"
#include "math/vec8.h"

static inline f8 rotate_row(const cr_transform *m, int row, const f8 v[3])
{
	return f8_add(
		f8_add(f8_mul(f8_set1(m->r[row][0]), v[0]), f8_mul(f8_set1(m->r[row][1]), v[1])), f8_mul(f8_set1(m->r[row][2]), v[2]));
}

/// Cells that the surface touches and points lie in, by lane. Their records are asked for long
/// before they are read, for they lie strewn over a table larger than the near caches.
typedef struct cell_questions {
	uint32_t lanes;
	float anchor[3][CR_WIDTH];
	const cr_touched_cell *cell[CR_WIDTH];
} cell_questions;

/// Lanes that are known to be inside, and outside.
typedef struct cell_sides {
	uint32_t inside;
	uint32_t outside;
} cell_sides;

static inline void find_cells(const cr_grid *grid, f8 index, const f8 cell[3], uint32_t lanes, cell_questions *q)
{
	float indices[CR_WIDTH];
	q->lanes = lanes;
	if (!lanes)
		return;
	f8_store(indices, index);
	for (int k = 0; k < 3; k++) {
		// As in cr_anchor_of_cell.
		const f8 along = f8_mul(f8_add(cell[k], f8_set1(CR_CELL_ANCHOR[k])), f8_set1(grid->cell));
		f8_store(q->anchor[k], f8_add(f8_set1(grid->origin[k]), along));
	}
	do {
		const int i = cr_take_lowest_bit(&lanes);
		q->cell[i] = cr_touched_cell_at(grid, (int64_t)indices[i]);
		__builtin_prefetch(q->cell[i]);
	} while (lanes);
}

/// The triangles in the cells tell.
static inline cell_sides ask_cells(const cr_collider *target, const cell_questions *q, const float point[3][CR_WIDTH])
{
	cell_sides sides = { 0, 0 };
	for (uint32_t lanes = q->lanes; lanes;) {
		const int i = cr_take_lowest_bit(&lanes);
		const float own[3] = { point[0][i], point[1][i], point[2][i] };
		const float anchor[3] = { q->anchor[0][i], q->anchor[1][i], q->anchor[2][i] };
		const int side = side_in_cell(target, q->cell[i], anchor, own);
		sides.inside |= (uint32_t)(side > 0) << i;
		sides.outside |= (uint32_t)(side < 0) << i;
	}
	return sides;
}

/// Samples of a block that cast a ray unless the triangles near them say otherwise.
typedef struct waiting_block {
	int32_t number;
	uint32_t lanes;
	uint32_t inside; // as far as is known
	uint32_t outside;
	float origin[3][CR_WIDTH];
	cell_questions questions;
} waiting_block;

typedef struct collector {
	cr_winding_fn *winding; // NULL: sides are not asked for
	const cr_collider *source;
	const cr_collider *target;
	const cr_transform *to_target;
	float lower[3]; // of the target's box, grown
	float upper[3];
	float margin;
	float far_distance; // cells at least this far from the surface, outside, need no ray
	bool all_inside;    // samples outside need none, however near
	bool exit_limit;
	const cr_sample_rays *rays;
	int32_t count;
	waiting_block waiting;
} collector;

/// How far points are from the border of their cell, in cells, less the rounding; 0 beyond the
/// grid. All cells that the surface touches lie beyond a cube of whole cells, so they are farther
/// by this than the distance of the cell tells.
static inline f8 cell_border(const cr_grid *grid, const f8 point[3], const f8 cell[3])
{
	f8 border = f8_set1(0.5f);
	for (int k = 0; k < 3; k++) {
		const f8 position = f8_mul(f8_sub(point[k], f8_set1(grid->origin[k])), f8_set1(grid->inverse_cell));
		const f8 along = f8_sub(position, cell[k]);
		border = f8_min(f8_min(along, f8_sub(f8_set1(1), along)), border);
	}
	return f8_max(f8_sub(border, f8_set1(0.001f)), f8_set1(0));
}

/// How often the surface of a collider winds around a point. Any direction tells; this one leaves
/// the box by the nearest side, so that few triangles lie on the way (57 % of the instructions of
/// one direction for all points, in a lumpy body of 1,804 triangles).
static int wind_around(const cr_collider *c, cr_winding_fn *winding, const float point[3])
{
	float direction[3] = { 0.11f, 0.07f, 0.13f }, nearest = INFINITY, sign = 1;
	int axis = 0;
	for (int k = 0; k < 3; k++) {
		const float below = point[k] - c->lower[k], above = c->upper[k] - point[k], least = fminf(below, above);
		if (least < nearest) {
			nearest = least;
			axis = k;
			sign = below < above ? -1 : 1;
		}
	}
	direction[axis] = sign;
	return winding(c, point, direction);
}

/// Ask for the sides of samples that are not known to be inside, and leave out those outside.
static void ask_sides(const collector *c, waiting_block *w)
{
	for (uint32_t open = w->lanes & ~w->inside; open;) {
		const int i = cr_take_lowest_bit(&open);
		const float origin[3] = { w->origin[0][i], w->origin[1][i], w->origin[2][i] };
		if (wind_around(c->target, c->winding, origin) != 0)
			w->inside |= 1u << i;
		else
			w->lanes &= ~(1u << i);
	}
}

/// Make the rays of the block that waits.
static void finish_block(collector *c)
{
	waiting_block *w = &c->waiting;
	const cr_sample8 *block = &c->source->samples[w->number];
	const cell_sides sides = ask_cells(c->target, &w->questions, w->origin);
	const cr_sample_rays *r = c->rays;
	w->inside |= sides.inside;
	w->lanes &= ~sides.outside;
	// Where samples outside cast rays too, the ray itself tells.
	if (c->winding && c->all_inside)
		ask_sides(c, w);
	while (w->lanes) {
		const int i = cr_take_lowest_bit(&w->lanes);
		const int32_t at = c->count++;
		for (int k = 0; k < 3; k++) {
			const float *m = c->to_target->r[k];
			r->origin[k][at] = w->origin[k][i];
			r->direction[k][at] = (m[0] * block->inward[0][i] + m[1] * block->inward[1][i]) + m[2] * block->inward[2][i];
		}
		r->t_max[at] = c->exit_limit ? block->exit[i] : INFINITY;
		r->sample[at] = CR_WIDTH * w->number + i;
		r->side[at] = (int8_t)((int)(w->inside >> i & 1) - (int)(w->outside >> i & 1));
	}
}

/// Find the samples of a block that cast a ray, as far as the grid tells without its triangles; the
/// rest waits for the next block. known_inside: all of them lie inside.
static void collect_block(collector *c, int32_t number, bool known_inside)
{
	const cr_sample8 *block = &c->source->samples[number];
	const f8 own[3] = { f8_load(block->point[0]), f8_load(block->point[1]), f8_load(block->point[2]) };
	f8 p[3];
	m8 inside = f8_eq(own[0], own[0]);
	for (int k = 0; k < 3; k++) {
		p[k] = f8_add(rotate_row(c->to_target, k, own), f8_set1(c->to_target->t[k]));
		inside = m8_and(inside, m8_and(f8_le(f8_set1(c->lower[k]), p[k]), f8_le(p[k], f8_set1(c->upper[k]))));
	}
	uint32_t lanes = m8_bits(inside) & ((1u << block->count) - 1), inner = 0, outer = 0, open = 0;
	if (!lanes)
		return;
	const cr_grid *grid = &c->target->grid;
	f8 cell[3], index = f8_set1(0);
	inner = known_inside ? lanes : 0;
	if (grid->cells) {
		index = grid_cells(grid, p, cell);
		const f8 known = f8_gather_bytes(grid->cells, index);
		inner = m8_bits(f8_le(f8_set1(CR_CELL_INSIDE), known));
		outer = ~inner & m8_bits(f8_lt(f8_set1(0), known));
		const f8 border = c->all_inside ? f8_set1(0) : cell_border(grid, p, cell);
		lanes &= inner | m8_bits(f8_lt(f8_add(known, border), f8_set1(c->far_distance)));
		if (!lanes)
			return;
		open = c->all_inside ? lanes & m8_bits(f8_eq(known, f8_set1(0))) : 0;
	}
	finish_block(c);
	waiting_block *w = &c->waiting;
	w->number = number;
	w->lanes = lanes;
	w->inside = inner;
	w->outside = outer;
	for (int k = 0; k < 3; k++)
		f8_store(w->origin[k], p[k]);
	find_cells(grid, index, cell, open, &w->questions);
}

// Sides by winding numbers, of a target that has no grid: where a surface changes in each step, as
// that of a solid that deforms does, a grid would not pay. A box that the surface does not meet
// lies on one side of it, with all samples in it, and one point of it tells on which. Few samples
// are left that must be asked for themselves.

/// The side of a part of the tree of samples.
typedef enum part_side { PART_OPEN, PART_INSIDE, PART_OUTSIDE } part_side;

/// Does the box of a triangle of a block overlap a box?
static inline bool block_overlaps(const cr_tri8 *block, const float lower[3], const float upper[3])
{
	m8 met = f8_eq(f8_set1(0), f8_set1(0));
	for (int k = 0; k < 3; k++) {
		const f8 a = f8_load(block->corner[0][k]), b = f8_load(block->corner[1][k]), c = f8_load(block->corner[2][k]);
		met = m8_and(
			met, m8_and(f8_le(f8_min(f8_min(a, b), c), f8_set1(upper[k])), f8_le(f8_set1(lower[k]), f8_max(f8_max(a, b), c))));
	}
	// Lanes that are not used repeat the first one.
	return m8_bits(met) != 0;
}

/// Does the box of a triangle of a collider overlap a box (own frame)?
static bool surface_overlaps(const cr_collider *c, const float lower[3], const float upper[3])
{
	uint32_t stack[CR_TREE_STACK];
	int top = 0;
	stack[top++] = 0;
	while (top > 0) {
		const cr_node8 *node = &c->tree.nodes[stack[--top]];
		const box8 boxes = load_boxes(node->lower, node->upper);
		for (uint32_t met = overlap_one(&boxes, lower, upper); met;) {
			const uint32_t child = node->child[cr_take_lowest_bit(&met)];
			if (!(child & CR_LEAF_BIT))
				stack[top++] = child;
			else if (block_overlaps(&c->blocks[child & ~CR_LEAF_BIT], lower, upper))
				return true;
		}
	}
	return false;
}

/// The side of a box (target's frame).
static part_side side_of_box(const cr_collider *target, cr_winding_fn *winding, const float lower[3], const float upper[3])
{
	if (surface_overlaps(target, lower, upper))
		return PART_OPEN;
	const float middle[3] = { 0.5f * (lower[0] + upper[0]), 0.5f * (lower[1] + upper[1]), 0.5f * (lower[2] + upper[2]) };
	return wind_around(target, winding, middle) != 0 ? PART_INSIDE : PART_OUTSIDE;
}

/// A walk over the tree of samples.
typedef struct sample_walk {
	collector *collector;
	const cr_transform *to_target;
	float lower[3]; // of the target's box, grown, in the source's frame
	float upper[3];
	float rounding;
	int top;
	uint32_t stack[CR_TREE_STACK];
	bool inside[CR_TREE_STACK]; // the whole part lies inside
	int64_t tested;
} sample_walk;

/// The side of child i of a node, of which the parent's is known as far as inside tells.
static part_side side_of_child(const sample_walk *w, const box8 *boxes_in_target, int i, bool inside)
{
	float all_lower[3][CR_WIDTH], all_upper[3][CR_WIDTH], lower[3], upper[3];
	if (inside)
		return PART_INSIDE;
	if (!w->collector->winding)
		return PART_OPEN;
	store_boxes(boxes_in_target, all_lower, all_upper);
	// Samples outside, but within the margin, need a ray too.
	for (int k = 0; k < 3; k++) {
		lower[k] = all_lower[k][i] - w->collector->margin;
		upper[k] = all_upper[k][i] + w->collector->margin;
	}
	return side_of_box(w->collector->target, w->collector->winding, lower, upper);
}

/// Look at the children of the node on top. sides: they may be asked for.
static inline void visit_samples(sample_walk *w, bool sides)
{
	collector *c = w->collector;
	--w->top;
	const bool inside = sides && w->inside[w->top];
	const cr_node8 *node = &c->source->sample_tree.nodes[w->stack[w->top]];
	const box8 boxes = load_boxes(node->lower, node->upper);
	uint32_t met = overlap_one(&boxes, w->lower, w->upper);
	if (!met)
		return;
	const box8 boxes_in_target = transform_boxes(&boxes, w->to_target, f8_set1(w->rounding));
	met &= overlap_one(&boxes_in_target, c->lower, c->upper);
	if (met)
		met &= ~grid_outside(&c->target->grid, &boxes_in_target, c->margin);
	while (met) {
		const int i = cr_take_lowest_bit(&met);
		const uint32_t child = node->child[i];
		const part_side side = sides ? side_of_child(w, &boxes_in_target, i, inside) : PART_OPEN;
		if (side == PART_OUTSIDE)
			continue;
		if (child & CR_LEAF_BIT) {
			const int32_t block = (int32_t)(child & ~CR_LEAF_BIT);
			w->tested += c->source->samples[block].count;
			collect_block(c, block, side == PART_INSIDE);
		} else {
			if (sides)
				w->inside[w->top] = side == PART_INSIDE;
			w->stack[w->top++] = child;
		}
	}
}

static int32_t collect(const cr_collider *source, const cr_collider *target, const cr_transform *to_target,
	const cr_transform *to_source, float margin, bool exit_limit, cr_winding_fn *winding, const cr_sample_rays *rays,
	int32_t first, int64_t *tested)
{
	if (source->sample_tree.node_count == 0 || target->tree.node_count == 0)
		return 0;
	collector c = { .winding = target->closed && !target->grid.cells ? winding : NULL,
		.source = source,
		.target = target,
		.to_target = to_target,
		.margin = margin,
		.far_distance = 1,
		.all_inside = margin == 0,
		.exit_limit = exit_limit,
		.rays = rays,
		.count = first };
	for (int k = 0; k < 3; k++) {
		c.lower[k] = target->lower[k] - margin;
		c.upper[k] = target->upper[k] + margin;
	}
	if (margin > 0) {
		// A point at distance d in cells is at least d - 1 cells away.
		const float cells = target->grid.cells ? margin * target->grid.inverse_cell * 1.001f : 0;
		c.far_distance = cells + 1;
	}
	// As in the walk for pairs of triangles: 20 roundings of 2^-24 at worst.
	const float rounding = (source->scale + target->scale) * 0x1p-19f;
	sample_walk w;
	w.collector = &c;
	w.to_target = to_target;
	w.rounding = rounding;
	w.top = 1;
	w.stack[0] = 0;
	w.inside[0] = false;
	w.tested = 0;
	float lower[3][CR_WIDTH], upper[3][CR_WIDTH];
	const box8 grown = spread_box(c.lower, c.upper);
	const box8 in_source = transform_boxes(&grown, to_source, f8_set1(rounding));
	store_boxes(&in_source, lower, upper);
	for (int k = 0; k < 3; k++) {
		w.lower[k] = lower[k][0];
		w.upper[k] = upper[k][0];
	}
	while (w.top > 0 && !c.winding)
		visit_samples(&w, false);
	while (w.top > 0)
		visit_samples(&w, true);
	finish_block(&c);
	*tested += w.tested;
	return c.count - first;
}

// ---- Iterative rays ----

enum { SAMPLE_FLOATS = sizeof(cr_sample8) / sizeof(float), SAMPLE_SHIFT = 3 };

_Static_assert(1 << SAMPLE_SHIFT == CR_WIDTH, "a watched sample is 8 * block + lane");
_Static_assert(sizeof(cr_watch) == 3 * sizeof(int32_t), "find_free counts on it");

static inline i8 times3(i8 a) { return i8_add(i8_shift_left(a, 1), a); }

/// The lanes, among the given ones, that the target's grid knows to be outside.
static inline uint32_t find_outside(
	const cr_collider *target, const f8 point[3], const float stored[3][CR_WIDTH], uint32_t lanes)
{
	if (!lanes || !target->grid.cells)
		return 0;
	f8 cell[3];
	const f8 index = grid_cells(&target->grid, point, cell), known = f8_gather_bytes(target->grid.cells, index);
	const f8 zero = f8_set1(0);
	const uint32_t away = m8_bits(m8_and(f8_lt(zero, known), f8_lt(known, f8_set1(CR_CELL_INSIDE))));
	cell_questions questions;
	find_cells(&target->grid, index, cell, lanes & m8_bits(f8_eq(known, zero)), &questions);
	return (lanes & away) | ask_cells(target, &questions, stored).outside;
}

/// How far samples have moved, squared: from own places in the source's frame to here in the
/// target's.
static inline f8 squares_of_motion(const cr_motion_since *since, const f8 own[3], const f8 here[3])
{
	const cr_transform *then = since->then;
	if (!then)
		return f8_set1(since->any * since->any);
	f8 squares = f8_set1(0);
	for (int k = 0; k < 3; k++) {
		const f8 moved = f8_sub(here[k], f8_add(rotate_row(then, k, own), f8_set1(then->t[k])));
		squares = f8_add(squares, f8_mul(moved, moved));
	}
	return squares;
}

/// Select, of up to eight watched samples, those that need a ray. A sample needs none while it has
/// moved less than its gap, or while the grid knows it outside and it has no triangle to begin a
/// walk from. now: the samples in the target's frame.
static inline uint32_t find_free(const cr_collider *source, const cr_collider *target, const cr_transform *to_target,
	const cr_motion_since *since, const cr_watch *watched, int32_t used, float margin, float now[3][CR_WIDTH])
{
	const i8 entry = times3(i8_min(i8_count_from(0), i8_set1(used - 1)));
	const i8 sample = i8_gather(&watched[0].sample, entry), block = i8_shift_right(sample, SAMPLE_SHIFT);
	const i8 index = i8_add(sample, i8_mul(block, i8_set1(SAMPLE_FLOATS - CR_WIDTH)));
	f8 own[3], here[3], size = f8_set1(source->scale);
	for (int k = 0; k < 3; k++)
		own[k] = f8_gather(&source->samples[0].point[k][0], index);
	for (int k = 0; k < 3; k++) {
		here[k] = f8_add(rotate_row(to_target, k, own), f8_set1(to_target->t[k]));
		size = f8_add(size, f8_abs(here[k]));
		f8_store(now[k], here[k]);
	}
	const f8 squares = squares_of_motion(since, own, here);
	// Less the roundings of the two points and of the gap.
	const f8 gap = f8_gather(&watched[0].gap, entry);
	const f8 allowed = f8_sub(f8_sub(gap, f8_set1(margin)), f8_mul(size, f8_set1(0x1p-20f)));
	const m8 held = m8_and(f8_lt(f8_set1(0), allowed), f8_lt(squares, f8_mul(allowed, allowed)));
	const uint32_t lanes = ~m8_bits(held) & ((1u << used) - 1);
	if (margin > 0)
		return lanes; // hits ahead are told
	const m8 nowhere = i8_lt(i8_gather(&watched[0].place, entry), i8_set1(0)), was_outside = f8_le(f8_set1(0), gap);
	return lanes & ~find_outside(target, here, now, lanes & m8_bits(m8_and(nowhere, was_outside)));
}

static int32_t follow(const cr_collider *source, const cr_collider *target, const cr_transform *to_target,
	const cr_motion_since *since, const cr_watch *watched, int32_t count, float margin, bool exit_limit,
	const cr_sample_rays *rays, int32_t *place, int32_t *entry, int32_t first)
{
	int32_t at = first;
	for (int32_t begin = 0; begin < count; begin += CR_WIDTH) {
		float now[3][CR_WIDTH];
		const int32_t used = count - begin < CR_WIDTH ? count - begin : CR_WIDTH;
		uint32_t lanes = find_free(source, target, to_target, since, watched + begin, used, margin, now);
		while (lanes) {
			const int i = cr_take_lowest_bit(&lanes);
			const cr_watch *w = &watched[begin + i];
			const cr_sample8 *block = &source->samples[w->sample / CR_WIDTH];
			const int lane = w->sample % CR_WIDTH;
			for (int k = 0; k < 3; k++) {
				const float *m = to_target->r[k];
				rays->origin[k][at] = now[k][i];
				rays->direction[k][at] =
					(m[0] * block->inward[0][lane] + m[1] * block->inward[1][lane]) + m[2] * block->inward[2][lane];
			}
			rays->t_max[at] = exit_limit ? block->exit[lane] : INFINITY;
			rays->sample[at] = w->sample;
			rays->side[at] = 0;
			place[at] = w->place;
			entry[at] = begin + i;
			at++;
		}
	}
	return at - first;
}

// ---- Separation of triangles ----

enum {
	CANDIDATE_INTS = sizeof(cr_candidate) / sizeof(int32_t),
	PAIR_CORNERS = 5,
	// Candidates measured together: enough that the reads of one eight do not wait for the
	// arithmetic of another.
	SEPARATE_CHUNK = 64,
};

_Static_assert(CANDIDATE_INTS == 3, "find_corners and enclose count on it");

/// Two times eight triangles in a's frame, in units of the bodies' size, moved so that the first
/// corner of a's is the origin: the second and third of a's, then those of b's.
typedef struct triangle_pairs {
	f8 corner[PAIR_CORNERS][3];
} triangle_pairs;

/// Candidates while they are measured.
typedef struct separate_chunk {
	// of a's triangle, then b's: where it stands in the mesh
	int32_t vertex[6][SEPARATE_CHUNK];
	float corner[PAIR_CORNERS][3][SEPARATE_CHUNK]; // triangle_pairs
	float gap[SEPARATE_CHUNK];
	int32_t waiting[SEPARATE_CHUNK]; // candidates that need a closer look
	int32_t waiting_count;
	float scale; // of both bodies, or of these triangles
} separate_chunk;

/// Look up the vertices of eight candidates, the last one repeated. From the mesh: the blocks of
/// its tree take several times as many lines of the cache.
static inline void find_corners(const cr_collider *a, const cr_collider *b, const cr_candidate *candidates, int32_t count,
	int32_t at, separate_chunk *chunk)
{
	const i8 candidate = times3(i8_min(i8_count_from(at), i8_set1(count - 1)));
	const i8 of_a = times3(i8_gather(&candidates[0].a, candidate)), of_b = times3(i8_gather(&candidates[0].b, candidate));
	for (int k = 0; k < 3; k++) {
		i8_store(&chunk->vertex[k][at], times3(i8_gather(a->topology->triangles + k, of_a)));
		i8_store(&chunk->vertex[3 + k][at], times3(i8_gather(b->topology->triangles + k, of_b)));
	}
}

static inline void gather_vertices(const cr_collider *c, const int32_t vertex[CR_WIDTH], f8 point[3])
{
	const i8 index = i8_load(vertex);
	for (int x = 0; x < 3; x++)
		point[x] = f8_gather(c->topology->vertices + x, index);
}

static inline void place_corners(
	const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a, int32_t at, separate_chunk *chunk)
{
	const f8 unit = f8_set1(1 / chunk->scale);
	f8 origin[3], point[3];
	gather_vertices(a, &chunk->vertex[0][at], origin);
	for (int k = 0; k < PAIR_CORNERS; k++) {
		gather_vertices(k < 2 ? a : b, &chunk->vertex[1 + k][at], point);
		for (int x = 0; x < 3; x++) {
			const f8 in_a = k < 2 ? point[x] : f8_add(rotate_row(b_to_a, x, point), f8_set1(b_to_a->t[x]));
			f8_store(&chunk->corner[k][x][at], f8_mul(f8_sub(in_a, origin[x]), unit));
		}
	}
}

/// Square of the distance of two triangles along an axis of any length; 0 where they overlap along
/// it, or where the axis has no direction.
static inline f8 gap_along(const f8 axis[3], const triangle_pairs *t)
{
	const f8 zero = f8_set1(0);
	const f8 a1 = dot8(axis, t->corner[0]), a2 = dot8(axis, t->corner[1]);
	const f8 b0 = dot8(axis, t->corner[2]), b1 = dot8(axis, t->corner[3]), b2 = dot8(axis, t->corner[4]);
	const f8 above = f8_sub(f8_min(f8_min(b0, b1), b2), f8_max(f8_max(a1, a2), zero));
	const f8 below = f8_sub(f8_min(f8_min(a1, a2), zero), f8_max(f8_max(b0, b1), b2));
	// The loss of squares of the smallest numbers is taken off, and none grows beyond the largest.
	const f8 gap = f8_max(f8_min(f8_set1(0x1p63f), f8_sub(f8_max(above, below), f8_set1(0x1p-60f))), zero);
	// Edges that are all but parallel give an axis whose squares are lost likewise: taken as longer
	// it gives no gap too large.
	return f8_div(f8_mul(gap, gap), f8_max(dot8(axis, axis), f8_set1(0x1p-120f)));
}

/// Along the two normals.
static inline f8 gap_by_normals(const triangle_pairs *t)
{
	f8 e[3], f[3], axis[3];
	cross8(t->corner[0], t->corner[1], axis);
	const f8 gap = gap_along(axis, t);
	sub8(t->corner[3], t->corner[2], e);
	sub8(t->corner[4], t->corner[2], f);
	cross8(e, f, axis);
	return f8_max(gap_along(axis, t), gap);
}

/// Along the nine products of edges. The third edge of a triangle is the difference of two others,
/// and so are its products.
static inline f8 gap_by_edges(const triangle_pairs *t)
{
	f8 edge[2][3], axis[3][3][3], gap = f8_set1(0);
	sub8(t->corner[3], t->corner[2], edge[0]);
	sub8(t->corner[4], t->corner[2], edge[1]);
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 2; j++)
			cross8(t->corner[i], edge[j], axis[i][j]);
		sub8(axis[i][1], axis[i][0], axis[i][2]);
	}
	for (int j = 0; j < 3; j++)
		sub8(axis[1][j], axis[0][j], axis[2][j]);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			gap = f8_max(gap_along(axis[i][j], t), gap);
	}
	return gap;
}

/// From squares to certain distances. The margin is twice that of the walk for candidates: the
/// axes' products round as well.
static inline f8 certain_gap(f8 squares, float scale)
{
	return f8_mul(f8_max(f8_sub(f8_sqrt(squares), f8_set1(0x1p-18f)), f8_set1(0)), f8_set1(scale));
}

/// Eight candidates from at on; those that the normals do not part by more than enough have to
/// wait.
static inline void separate_by_normals(int32_t at, f8 enough, separate_chunk *chunk)
{
	triangle_pairs t;
	for (int k = 0; k < PAIR_CORNERS; k++) {
		for (int x = 0; x < 3; x++)
			t.corner[k][x] = f8_load(&chunk->corner[k][x][at]);
	}
	const f8 gap = certain_gap(gap_by_normals(&t), chunk->scale);
	const m8 near = f8_le(gap, enough);
	f8_store(&chunk->gap[at], gap);
	chunk->waiting_count += i8_append(&chunk->waiting[chunk->waiting_count], near, i8_count_from(at));
}

/// Up to eight waiting triangles, from first on.
static inline void separate_by_edges(int32_t first, separate_chunk *chunk)
{
	const int32_t *waiting = &chunk->waiting[first], left = chunk->waiting_count - first;
	int32_t number[CR_WIDTH];
	for (int i = 0; i < CR_WIDTH; i++)
		number[i] = waiting[i < left ? i : 0];
	const i8 index = i8_load(number);
	triangle_pairs t;
	for (int k = 0; k < PAIR_CORNERS; k++) {
		for (int x = 0; x < 3; x++)
			t.corner[k][x] = f8_gather(chunk->corner[k][x], index);
	}
	float gap[CR_WIDTH];
	f8_store(gap, f8_max(certain_gap(gap_by_edges(&t), chunk->scale), f8_gather(chunk->gap, index)));
	for (int i = 0; i < CR_WIDTH; i++)
		chunk->gap[number[i]] = gap[i];
}

/// The largest coordinates of the triangles of a chunk, of both bodies and of the way between them:
/// the scale where a body is uneven.
static float scale_here(
	const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a, int32_t used, const separate_chunk *chunk)
{
	f8 largest[2] = { f8_set1(0), f8_set1(0) };
	for (int32_t i = 0; i < used; i += CR_WIDTH) {
		for (int k = 0; k < 6; k++) {
			f8 point[3];
			gather_vertices(k < 3 ? a : b, &chunk->vertex[k][i], point);
			for (int x = 0; x < 3; x++)
				largest[k / 3] = f8_max(f8_abs(point[x]), largest[k / 3]);
		}
	}
	const float *t = b_to_a->t;
	return f8_highest(largest[0]) + f8_highest(largest[1]) + fmaxf(fmaxf(fabsf(t[0]), fabsf(t[1])), fabsf(t[2]));
}

/// The normals part most triangles; the others are gathered for the costlier products of edges.
static void separate(const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a, cr_candidate *candidates,
	int32_t count, float enough)
{
	separate_chunk chunk;
	const bool local = cr_is_uneven(a) || cr_is_uneven(b);
	const float scale = a->scale + b->scale;
	for (int32_t first = 0; first < count; first += SEPARATE_CHUNK) {
		const int32_t used = count - first < SEPARATE_CHUNK ? count - first : SEPARATE_CHUNK;
		chunk.waiting_count = 0;
		for (int32_t i = 0; i < used; i += CR_WIDTH)
			find_corners(a, b, candidates + first, used, i, &chunk);
		chunk.scale = fmaxf(local ? scale_here(a, b, b_to_a, used, &chunk) : scale, 1e-30f);
		for (int32_t i = 0; i < used; i += CR_WIDTH)
			place_corners(a, b, b_to_a, i, &chunk);
		for (int32_t i = 0; i < used; i += CR_WIDTH)
			separate_by_normals(i, f8_set1(enough), &chunk);
		for (int32_t i = 0; i < chunk.waiting_count; i += CR_WIDTH)
			separate_by_edges(i, &chunk);
		for (int32_t i = 0; i < used; i++)
			candidates[first + i].gap = chunk.gap[i];
	}
}

static int32_t sift(const float *gaps, int32_t count, float moved, int32_t *number, float *beyond)
{
	const f8 infinite = f8_set1(INFINITY), limit = f8_set1(moved);
	f8 smallest = infinite;
	int32_t kept = 0;
	for (int32_t first = 0; first < count; first += CR_WIDTH) {
		const f8 gap = f8_load(gaps + first);
		const m8 near = f8_le(gap, limit);
		smallest = f8_min(f8_select(near, infinite, gap), smallest);
		kept += i8_append(number + kept, near, i8_count_from(first));
	}
	// Entries that fill up the last eight are within an infinite motion.
	while (kept > 0 && number[kept - 1] >= count)
		kept--;
	*beyond = f8_lowest(smallest);
	return kept;
}

/// The box around eight boxes.
static void join_lanes(const box8 *boxes, float lower[3], float upper[3])
{
	for (int k = 0; k < 3; k++) {
		lower[k] = f8_lowest(boxes->lower[k]);
		upper[k] = f8_highest(boxes->upper[k]);
	}
}

static void enclose(const cr_collider *b, const cr_candidate *listed, int32_t count, float lower[3], float upper[3])
{
	box8 all = spread_box((const float[3]){ INFINITY, INFINITY, INFINITY }, (const float[3]){ -INFINITY, -INFINITY, -INFINITY });
	for (int32_t first = 0; first < count; first += CR_WIDTH) {
		const i8 candidate = times3(i8_min(i8_count_from(first), i8_set1(count - 1)));
		const i8 triangle = times3(i8_gather(&listed[0].b, candidate));
		for (int corner = 0; corner < 3; corner++) {
			const i8 vertex = times3(i8_gather(b->topology->triangles + corner, triangle));
			for (int k = 0; k < 3; k++) {
				const f8 x = f8_gather(b->topology->vertices + k, vertex);
				all.lower[k] = f8_min(x, all.lower[k]);
				all.upper[k] = f8_max(x, all.upper[k]);
			}
		}
	}
	join_lanes(&all, lower, upper);
}

/// Smallest box around the turned boxes of the outline.
static void bounds(const cr_collider *collider, const cr_transform *rotation, float lower[3], float upper[3])
{
	const f8 margin = f8_set1(collider->scale * 0x1p-20f);
	box8 all = spread_box((const float[3]){ 0, 0, 0 }, (const float[3]){ 0, 0, 0 });
	for (int i = 0; i < collider->outline_count; i++) {
		const box8 own = load_boxes(collider->outline[i].lower, collider->outline[i].upper);
		const box8 turned = transform_boxes(&own, rotation, margin);
		for (int k = 0; k < 3; k++) {
			all.lower[k] = i == 0 ? turned.lower[k] : f8_min(turned.lower[k], all.lower[k]);
			all.upper[k] = i == 0 ? turned.upper[k] : f8_max(turned.upper[k], all.upper[k]);
		}
	}
	join_lanes(&all, lower, upper);
}

const cr_contact_kernels CR_ISA_NAME(cr_contact_kernels) = { collect, follow, sift, enclose, separate,
	CR_ISA_NAME(cr_find_pierces), CR_ISA_NAME(cr_measure_row), CR_ISA_NAME(cr_find_deepest), CR_ISA_NAME(cr_settle_corners),
	CR_ISA_NAME(cr_measure_hull_heights), CR_ISA_NAME(cr_find_highest), bounds };
