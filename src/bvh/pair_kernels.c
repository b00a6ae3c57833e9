/// Pairs of triangles of two colliders that may meet, or come within a reach of each other: both
/// wide trees. Compiled once for each instruction set (CR_ISA).
///
/// The collider with fewer triangles is the source: its tree is walked first, and the target's box
/// and grid drop triangles that cannot meet the target's surface. Each block of eight source
/// triangles that is left is turned into the target's frame once, and walks the target's tree with
/// its box. The boxes that it meets are listed: leaves first, then lanes of the source in them,
/// then pairs. Each list is a flat loop, in which the overlap of boxes decides where the next entry
/// goes and nothing else: taken depth first, with a branch for each child and lane, a pair of
/// bodies had 146 branches foreseen wrongly (callgrind's model), so it has 45, and a step at rest
/// takes 3 % less for more instructions.

#include "bvh/bvh_isa.h"
#include "bvh/grid8.h"
#include "math/box8.h"
#include "math/vec8.h"

/// Eight triangles with their data for the filters.
typedef struct tri8 {
	f8 corner[3][3];
	f8 normal[3]; // not unit
	f8 offset;    // normal . corner 0
	// bound on the rounding of normal . p - offset for p that are looked at: the size times a
	// margin
	f8 tolerance;
	f8 size; // of the normal, and of its rounding
	box8 box;
} tri8;

static inline void plane_of(const f8 corner[3][3], f8 normal[3], f8 *size)
{
	f8 e[3], g[3];
	sub8(corner[1], corner[0], e);
	sub8(corner[2], corner[0], g);
	cross8(e, g, normal);
	const f8 e_size = f8_add(f8_add(f8_abs(e[0]), f8_abs(e[1])), f8_abs(e[2]));
	const f8 g_size = f8_add(f8_add(f8_abs(g[0]), f8_abs(g[1])), f8_abs(g[2]));
	*size = f8_mul(e_size, g_size);
}

static inline void bound_corners(tri8 *t, f8 margin)
{
	for (int k = 0; k < 3; k++) {
		t->box.lower[k] = f8_sub(f8_min(f8_min(t->corner[0][k], t->corner[1][k]), t->corner[2][k]), margin);
		t->box.upper[k] = f8_add(f8_max(f8_max(t->corner[0][k], t->corner[1][k]), t->corner[2][k]), margin);
	}
}

/// At least the length of a normal as it would be without rounding. size: see plane_of. Scaled, so
/// that no square overflows or vanishes.
static f8 normal_length(const f8 normal[3], f8 size)
{
	const f8 largest = f8_max(f8_max(f8_max(f8_abs(normal[0]), f8_abs(normal[1])), f8_abs(normal[2])), f8_set1(0x1p-126f));
	f8 unit[3];
	for (int k = 0; k < 3; k++)
		unit[k] = f8_div(normal[k], largest);
	return f8_add(f8_mul(largest, f8_mul(f8_sqrt(dot8(unit, unit)), f8_set1(1 + 0x1p-20f))), f8_mul(size, f8_set1(0x1p-20f)));
}

static inline void load_triangles(const cr_tri8 *block, tri8 *t)
{
	for (int c = 0; c < 3; c++) {
		for (int k = 0; k < 3; k++)
			t->corner[c][k] = f8_load(block->corner[c][k]);
	}
	plane_of(t->corner, t->normal, &t->size);
	t->offset = dot8(t->normal, t->corner[0]);
	bound_corners(t, f8_set1(0));
}

/// Corners and boxes in another frame, the boxes grown by growth.
static inline void place_triangles(const cr_tri8 *block, const cr_transform *m, float growth, tri8 *t)
{
	f8 own[3][3];
	for (int c = 0; c < 3; c++) {
		for (int k = 0; k < 3; k++)
			own[c][k] = f8_load(block->corner[c][k]);
	}
	for (int i = 0; i < 3; i++) {
		const f8 row[3] = { f8_set1(m->r[i][0]), f8_set1(m->r[i][1]), f8_set1(m->r[i][2]) };
		for (int c = 0; c < 3; c++)
			t->corner[c][i] = f8_add(dot8(row, own[c]), f8_set1(m->t[i]));
	}
	bound_corners(t, f8_set1(growth));
}

/// The planes of placed triangles. The normal is made before the transform, where the corners are
/// exact, and turned.
static inline void place_planes(const cr_tri8 *block, const cr_transform *m, tri8 *t)
{
	f8 own[3][3], normal[3];
	for (int c = 0; c < 3; c++) {
		for (int k = 0; k < 3; k++)
			own[c][k] = f8_load(block->corner[c][k]);
	}
	plane_of(own, normal, &t->size);
	for (int i = 0; i < 3; i++) {
		const f8 row[3] = { f8_set1(m->r[i][0]), f8_set1(m->r[i][1]), f8_set1(m->r[i][2]) };
		t->normal[i] = dot8(row, normal);
	}
	t->offset = dot8(t->normal, t->corner[0]);
}

/// Lanes in which three distances are not all beyond the tolerance on one side.
static inline m8 straddles(const f8 d[3], f8 tolerance)
{
	const f8 low = f8_min(f8_min(d[0], d[1]), d[2]), high = f8_max(f8_max(d[0], d[1]), d[2]);
	return m8_and(f8_le(low, tolerance), f8_le(f8_neg(tolerance), high));
}

/// A block of the source in the target's frame, as arrays for taking one triangle at a time.
typedef struct source_block {
	// of the triangles; empty in lanes that cannot come near the target
	box8 boxes;
	float corner[3][3][CR_WIDTH]; // corner, axis, lane
	float normal[3][CR_WIDTH];
	float offset[CR_WIDTH];
	float tolerance[CR_WIDTH];
	float size[CR_WIDTH];    // set in walks with local margins
	float inverse[CR_WIDTH]; // of the length of the normal, rounded up; set where reach > 0
	float lower[3][CR_WIDTH];
	float upper[3][CR_WIDTH];
	float union_lower[3];
	float union_upper[3];
	float margin; // of its coordinates
	const int32_t *number;
} source_block;

/// A block of the target.
typedef struct target_block {
	tri8 triangles;
	f8 inverse; // as of a source
	const cr_tri8 *block;
} target_block;

// Blocks of the source in hand, and leaves of the target that they meet: enough for most pairs of
// bodies at once.
enum { PAIR_SOURCES = 16, PAIR_LEAVES = 32 };

/// The triangles in hand are first walked down the target's tree, then all leaves met are tested,
/// then all triangles in them: each a flat loop, whose branches do not depend on the overlap of
/// boxes.
typedef struct pair_walk {
	const cr_collider *source, *target;
	const cr_transform *to_target;
	float margin; // the loss of float in a transform, in the lengths of the two bodies
	bool local;   // a body is uneven: each place has a margin of its own
	float reach;
	bool source_is_b;
	cr_candidates *out;
	int32_t most; // of them
	int32_t source_count, leaf_count;
	source_block sources[PAIR_SOURCES];
	int32_t leaf_source[PAIR_LEAVES + CR_WIDTH];
	int32_t leaf_slot[PAIR_LEAVES + CR_WIDTH]; // 8 * node + child of the target's tree
} pair_walk;

static inline bool has_ended(const pair_walk *w) { return w->out->failed || w->out->count > w->most; }

/// The mask of these bits.
static inline m8 mask_of(uint32_t bits)
{
	static const int32_t bit[CR_WIDTH] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	return i8_lt(i8_set1(0), i8_and(i8_set1((int32_t)bits), i8_load(bit)));
}

/// The local margins of eight boxes of the source. Apart from the loops that need it seldom.
static __attribute__((noinline)) void set_margins(const pair_walk *w, const box8 *boxes, float margins[CR_WIDTH])
{
	const float *t = w->to_target->t;
	f8 largest = f8_set1(0);
	for (int k = 0; k < 3; k++)
		largest = f8_max(f8_max(f8_abs(boxes->lower[k]), f8_abs(boxes->upper[k])), largest);
	const float moved = fmaxf(fmaxf(fabsf(t[0]), fabsf(t[1])), fabsf(t[2]));
	f8_store(margins, f8_mul(f8_add(largest, f8_set1(moved + w->reach)), f8_set1(CR_PAIR_ROUNDING)));
}

/// The lanes of a block of the source that a walk shall not find.
static __attribute__((noinline)) uint32_t skipped_lanes(const pair_walk *w, const cr_tri8 *block, uint32_t lanes)
{
	uint32_t skipped = 0;
	for (; lanes; lanes &= lanes - 1) {
		const int lane = __builtin_ctz(lanes);
		skipped |= (uint32_t)w->out->skip(w->out->skip_user, w->source_is_b, block->number[lane]) << lane;
	}
	return skipped;
}

/// false: no triangle of the block can come near the target's surface, by its box and grid.
static bool load_source(const pair_walk *w, const cr_tri8 *block, float margin, source_block *s)
{
	tri8 t;
	place_triangles(block, w->to_target, margin + w->reach, &t);
	uint32_t used = overlap_one(&t.box, w->target->lower, w->target->upper) & ((1u << block->count) - 1);
	if (used)
		used &= ~grid_clear(&w->target->grid, &t.box, 0);
	if (used && w->out->skip)
		used &= ~skipped_lanes(w, block, used);
	if (!used)
		return false;
	const m8 near = mask_of(used);
	place_planes(block, w->to_target, &t);
	if (w->reach > 0)
		f8_store(s->inverse, f8_div(f8_set1(1), normal_length(t.normal, t.size)));
	for (int k = 0; k < 3; k++) {
		for (int c = 0; c < 3; c++)
			f8_store(s->corner[c][k], t.corner[c][k]);
		f8_store(s->normal[k], t.normal[k]);
		s->boxes.lower[k] = f8_select(near, t.box.lower[k], f8_set1(INFINITY));
		s->boxes.upper[k] = f8_select(near, t.box.upper[k], f8_set1(-INFINITY));
		s->union_lower[k] = f8_lowest(s->boxes.lower[k]);
		s->union_upper[k] = f8_highest(s->boxes.upper[k]);
	}
	f8_store(s->offset, t.offset);
	f8_store(s->size, t.size);
	f8_store(s->tolerance, f8_mul(t.size, f8_set1(margin)));
	store_boxes(&s->boxes, s->lower, s->upper);
	s->margin = margin;
	s->number = block->number;
	return true;
}

static void load_target(const pair_walk *w, const cr_tri8 *block, target_block *t)
{
	t->block = block;
	load_triangles(block, &t->triangles);
	t->triangles.tolerance = f8_mul(t->triangles.size, f8_set1(w->margin));
	if (w->reach > 0)
		t->inverse = f8_div(f8_set1(1), normal_length(t->triangles.normal, t->triangles.size));
}

/// normal . p - offset for the corners of lane j of the source and the planes of the target.
static inline void source_heights(const tri8 *target, const source_block *s, int j, f8 d[3])
{
	for (int c = 0; c < 3; c++) {
		const f8 p[3] = { f8_set1(s->corner[c][0][j]), f8_set1(s->corner[c][1][j]), f8_set1(s->corner[c][2][j]) };
		d[c] = f8_sub(dot8(target->normal, p), target->offset);
	}
}

/// normal . p - offset for the corners of the target and the plane of lane j of the source.
static inline void target_heights(const tri8 *target, const source_block *s, int j, f8 d[3])
{
	const f8 n[3] = { f8_set1(s->normal[0][j]), f8_set1(s->normal[1][j]), f8_set1(s->normal[2][j]) };
	for (int c = 0; c < 3; c++)
		d[c] = f8_sub(dot8(n, target->corner[c]), f8_set1(s->offset[j]));
}

/// Lanes of the target whose box meets that of lane j of the source, and in which neither triangle
/// lies on one side of the other's plane.
static inline m8 straddling_lanes(const target_block *t, const source_block *s, int j)
{
	f8 above[3], below[3];
	source_heights(&t->triangles, s, j, above);
	target_heights(&t->triangles, s, j, below);
	const m8 met = overlap_lane_mask(&t->triangles.box, s->lower, s->upper, j);
	return m8_and(met, m8_and(straddles(above, t->triangles.tolerance), straddles(below, f8_set1(s->tolerance[j]))));
}

/// Lower bound on the distance from a plane to the triangle whose corners have these heights over
/// it, in lengths of its normal (inverse: of that length); negative when the triangle may meet it.
/// The last term is for heights that are lost in the smallest numbers. Infinitely below zero for a
/// plane that is none.
static inline f8 plane_gap(const f8 d[3], f8 tolerance, f8 inverse)
{
	const f8 low = f8_min(f8_min(d[0], d[1]), d[2]), high = f8_max(f8_max(d[0], d[1]), d[2]);
	return f8_mul(f8_sub(f8_max(low, f8_neg(high)), f8_add(tolerance, f8_set1(0x1p-140f))), inverse);
}

/// Lower bounds on the distances of the target's triangles from lane j of the source: of their
/// boxes, or of one triangle and the other's plane. The boxes of the source have grown by reach and
/// a margin that covers the roundings here too.
static inline f8 gaps_to(const target_block *t, const source_block *s, int j, float reach)
{
	const f8 shorten = f8_set1(1 - 0x1p-20f), limit = f8_set1(reach);
	f8 box[3], above[3], below[3];
	for (int k = 0; k < 3; k++) {
		const f8 over = f8_sub(t->triangles.box.lower[k], f8_set1(s->upper[k][j]));
		const f8 under = f8_sub(f8_set1(s->lower[k][j]), t->triangles.box.upper[k]);
		box[k] = f8_max(f8_add(f8_max(over, under), limit), f8_set1(0));
	}
	source_heights(&t->triangles, s, j, above);
	target_heights(&t->triangles, s, j, below);
	const f8 by_box = f8_mul(f8_sqrt(dot8(box, box)), shorten);
	const f8 by_target = f8_mul(plane_gap(above, t->triangles.tolerance, t->inverse), shorten);
	const f8 by_source = f8_mul(plane_gap(below, f8_set1(s->tolerance[j]), f8_set1(s->inverse[j])), shorten);
	// A plane that is none gives no number, and max takes its second operand then.
	return f8_max(by_source, f8_max(by_target, by_box));
}

/// Lanes of the source, with the target block that they meet, in the order of the leaves.
typedef struct lane_list {
	int32_t count;
	int32_t block_count;
	int32_t lane[PAIR_LEAVES * CR_WIDTH + CR_WIDTH]; // 8 * source + lane
	int32_t target[PAIR_LEAVES * CR_WIDTH + CR_WIDTH];
	target_block blocks[PAIR_LEAVES];
} lane_list;

/// Tolerances of the blocks in hand in a walk with local margins: for the largest coordinates among
/// them.
static __attribute__((noinline)) void set_local_tolerances(pair_walk *w, lane_list *l)
{
	float of_sources = 0;
	f8 of_targets = f8_set1(0);
	for (int32_t i = 0; i < w->source_count; i++)
		of_sources = fmaxf(of_sources, w->sources[i].margin);
	for (int32_t i = 0; i < l->block_count; i++) {
		tri8 *t = &l->blocks[i].triangles;
		f8 largest = f8_set1(0);
		for (int c = 0; c < 3; c++) {
			for (int k = 0; k < 3; k++)
				largest = f8_max(f8_abs(t->corner[c][k]), largest);
		}
		const f8 margin = f8_mul(largest, f8_set1(CR_PAIR_ROUNDING));
		of_targets = f8_max(margin, of_targets);
		t->tolerance = f8_mul(t->size, f8_add(margin, f8_set1(of_sources)));
	}
	const f8 margin = f8_set1(f8_highest(of_targets) + of_sources);
	for (int32_t i = 0; i < w->source_count; i++)
		f8_store(w->sources[i].tolerance, f8_mul(f8_load(w->sources[i].size), margin));
}

/// The room of a walk: in the arena of its list, since it is more than a stack should hold.
typedef struct pair_room {
	pair_walk walk;
	lane_list lanes;
	float gaps[PAIR_LEAVES * CR_WIDTH][CR_WIDTH];
	int32_t found[PAIR_LEAVES * CR_WIDTH * CR_WIDTH + CR_WIDTH];
} pair_room;

static void list_lanes(pair_walk *w, lane_list *l)
{
	uint32_t block[PAIR_LEAVES + 1];
	l->count = l->block_count = 0;
	for (int32_t i = 0; i < w->leaf_count; i++) {
		const int32_t source = w->leaf_source[i], slot = w->leaf_slot[i], child = slot % CR_WIDTH;
		const cr_node8 *node = &w->target->tree.nodes[slot / CR_WIDTH];
		const m8 near = overlap_lane_mask(&w->sources[source].boxes, node->lower, node->upper, child);
		i8_store(l->target + l->count, i8_set1(l->block_count));
		const int32_t met = i8_append(l->lane + l->count, near, i8_count_from(CR_WIDTH * source));
		block[l->block_count] = node->child[child] & ~CR_LEAF_BIT;
		l->block_count += met > 0;
		l->count += met;
	}
	for (int32_t i = 0; i < l->block_count; i++)
		load_target(w, &w->target->blocks[block[i]], &l->blocks[i]);
	if (w->local)
		set_local_tolerances(w, l);
}

/// Test the triangles of the leaves in hand, and let go of all that is in hand.
static void test_leaves(pair_room *room)
{
	pair_walk *w = &room->walk;
	lane_list *l = &room->lanes;
	int32_t *found = room->found, count = 0;
	list_lanes(w, l);
	for (int32_t i = 0; i < l->count; i++) {
		const source_block *s = &w->sources[l->lane[i] / CR_WIDTH];
		const target_block *t = &l->blocks[l->target[i]];
		const int j = l->lane[i] % CR_WIDTH;
		m8 met = i8_lt(i8_count_from(0), i8_set1(t->block->count));
		f8 gap = f8_set1(0);
		if (w->reach > 0) {
			gap = gaps_to(t, s, j, w->reach);
			met = m8_and(met, f8_le(gap, f8_set1(w->reach)));
		} else {
			met = m8_and(met, straddling_lanes(t, s, j));
		}
		f8_store(room->gaps[i], gap);
		count += i8_append(found + count, met, i8_count_from(CR_WIDTH * i));
	}
	w->leaf_count = 0;
	if (w->out->count + count > w->out->capacity && !cr_candidates_grow(w->out, count))
		return;
	for (int32_t i = 0; i < count; i++) {
		const int32_t at = found[i] / CR_WIDTH, lane = found[i] % CR_WIDTH;
		const int32_t own = w->sources[l->lane[at] / CR_WIDTH].number[l->lane[at] % CR_WIDTH];
		const int32_t other = l->blocks[l->target[at]].block->number[lane];
		const float gap = room->gaps[at][lane];
		if (w->out->skip && w->out->skip(w->out->skip_user, !w->source_is_b, other))
			continue;
		w->out->data[w->out->count++] = w->source_is_b ? (cr_candidate){ other, own, gap } : (cr_candidate){ own, other, gap };
	}
}

/// Walk the target's tree with a block of the source.
static void list_leaves(pair_room *room, int32_t source)
{
	pair_walk *w = &room->walk;
	const source_block *s = &w->sources[source];
	int32_t stack[CR_TREE_STACK + CR_WIDTH];
	int top = 0;
	stack[top++] = 0;
	while (top > 0 && !has_ended(w)) {
		const int32_t number = stack[--top];
		const cr_node8 *node = &w->target->tree.nodes[number];
		const box8 boxes = load_boxes(node->lower, node->upper);
		const m8 met = overlap_mask(&boxes, s->union_lower, s->union_upper);
		const i8 child = i8_load((const int32_t *)node->child); // leaves are below zero
		const m8 is_leaf = i8_lt(child, i8_set1(0));
		top += i8_append(stack + top, m8_and(met, i8_lt(i8_set1(-1), child)), child);
		i8_store(w->leaf_source + w->leaf_count, i8_set1(source));
		w->leaf_count += i8_append(w->leaf_slot + w->leaf_count, m8_and(met, is_leaf), i8_count_from(CR_WIDTH * number));
		if (w->leaf_count > PAIR_LEAVES - CR_WIDTH)
			test_leaves(room);
	}
}

void CR_ISA_NAME(cr_find_pairs)(const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a,
	const cr_transform *a_to_b, float reach, cr_candidates *out)
{
	if (a->tree.node_count == 0 || b->tree.node_count == 0)
		return;
	if (!out->room)
		out->room = cr_arena_alloc(out->arena, sizeof(pair_room));
	if (!out->room) {
		out->failed = true;
		return;
	}
	pair_room *room = out->room;
	pair_walk *w = &room->walk;
	w->source_is_b = cr_is_b_source(a, b);
	w->source = w->source_is_b ? b : a;
	w->target = w->source_is_b ? a : b;
	w->to_target = w->source_is_b ? b_to_a : a_to_b;
	w->reach = reach;
	w->out = out;
	w->most = out->most > 0 ? out->most : INT32_MAX;
	w->source_count = w->leaf_count = 0;
	w->margin = cr_pair_margin(a, b, reach);
	w->local = cr_is_uneven(a) || cr_is_uneven(b);
	float margins[CR_WIDTH];
	f8_store(margins, f8_set1(w->margin));
	uint32_t stack[CR_TREE_STACK];
	int top = 0;
	stack[top++] = 0;
	while (top > 0 && !has_ended(w)) {
		const cr_node8 *node = &w->source->tree.nodes[stack[--top]];
		const box8 boxes = load_boxes(node->lower, node->upper);
		if (w->local)
			set_margins(w, &boxes, margins);
		const box8 there = transform_boxes(&boxes, w->to_target, f8_add(f8_load(margins), f8_set1(reach)));
		uint32_t met = overlap_one(&there, w->target->lower, w->target->upper);
		if (met)
			met &= ~grid_clear(&w->target->grid, &there, 0);
		while (met) {
			const int lane = cr_take_lowest_bit(&met);
			const uint32_t child = node->child[lane];
			if (!(child & CR_LEAF_BIT)) {
				stack[top++] = child;
				continue;
			}
			if (!load_source(w, &w->source->blocks[child & ~CR_LEAF_BIT], margins[lane], &w->sources[w->source_count]))
				continue;
			list_leaves(room, w->source_count++);
			if (w->source_count == PAIR_SOURCES) {
				test_leaves(room);
				w->source_count = 0;
			}
		}
	}
	test_leaves(room);
}
