/// Least distance of two colliders: both wide trees at once, branch and bound. Compiled once for
/// each instruction set (CR_ISA).
///
/// A first pair comes from nearest points taken in turns on either mesh. Then a stack holds pairs
/// of boxes, the nearest of those pushed together on top; the larger box of a pair is opened, and
/// its eight children are compared with the other box in one go. The contents of two boxes are at
/// least as far apart as they are along the axes of the opened one's frame, along the line of their
/// middles, and along the direction of the best points so far: for bodies that are apart that drops
/// nearly all. Two leaves are compared by their corners along the same two directions, then each
/// triangle of B with eight of A, by boxes, by the two directions and by the planes of both; the
/// remaining pairs are measured.
///
/// All is double, so that bodies far from each other lose nothing, and the walk takes no memory.
/// Bounds give way to rounding, so the answer is the least of all pairs of triangles, to the bit:
/// it does not depend on the walk. Cost: O(log n) pairs of boxes for bodies that are apart; more
/// where surfaces are parallel over a large part, for there many pairs are nearly equal.
#include "bvh/bvh_isa.h"
#include "math/simd.h"

enum {
	GAP_A = 0,
	GAP_B = 1,
	GUESS_ROUNDS = 4,
};

#define GAP_ROOT UINT32_MAX // of a near_pair: the whole collider

/// Two boxes, each named by the slot of the node that holds it: 8 * node + slot.
typedef struct near_pair {
	double bound2; // squared: nothing in them is nearer
	uint32_t box[2];
} near_pair;

/// One of the two colliders.
typedef struct gap_side {
	const cr_collider *collider;
	// rotation of points of this one to the frame of the other; then the shift is added
	m3d to_other;
	v3d shift;
	// unit, own frame: from this one to the other at the best points so far; zero: none yet
	v3d toward;
} gap_side;

typedef struct gap_walk {
	gap_side side[2];
	double margin; // the most that rounding changes a bound on a distance
	// and to the height of a corner over a plane, in lengths of the product of the plane's two
	// edges
	double needle;
	double limit2; // pairs beyond it are of no use
	double limit;
	cr_collider_gap *best;
	near_pair stack[CR_TWO_TREES_STACK];
	int top;
} gap_walk;

/// A box in its own frame.
typedef struct gap_box {
	v3d centre;
	v3d extent;
} gap_box;

static double largest_of(v3d v) { return v.x > v.y ? (v.x > v.z ? v.x : v.z) : (v.y > v.z ? v.y : v.z); }

static gap_box box_of(const cr_collider *c, uint32_t box)
{
	double centre[3], extent[3];
	for (int k = 0; k < 3; k++) {
		const cr_node8 *node = box == GAP_ROOT ? NULL : &c->tree.nodes[box / CR_WIDTH];
		const double lower = node ? node->lower[k][box % CR_WIDTH] : c->lower[k];
		const double upper = node ? node->upper[k][box % CR_WIDTH] : c->upper[k];
		centre[k] = 0.5 * (lower + upper);
		extent[k] = 0.5 * (upper - lower);
	}
	return (gap_box){ { centre[0], centre[1], centre[2] }, { extent[0], extent[1], extent[2] } };
}

static uint32_t child_of(const cr_collider *c, uint32_t box)
{
	return box == GAP_ROOT ? 0 : c->tree.nodes[box / CR_WIDTH].child[box % CR_WIDTH];
}

static v3d to_other(const gap_side *s, v3d p) { return v3d_add(m3d_mul(&s->to_other, p), s->shift); }

static v3d absolute(v3d v) { return (v3d){ fabs(v.x), fabs(v.y), fabs(v.z) }; }

static inline d8 dot_d8(const d8 a[3], v3d b)
{
	return d8_add(d8_add(d8_mul(a[0], d8_set1(b.x)), d8_mul(a[1], d8_set1(b.y))), d8_mul(a[2], d8_set1(b.z)));
}

/// Squared distances from the eight children of a node to a box of the other side, from below.
/// toward: see gap_side, of this side.
static d8 child_distances(const cr_node8 *node, const gap_box *box, const gap_side *other, v3d toward)
{
	const v3d centre = to_other(other, box->centre), e = box->extent;
	const d8 zero = d8_set1(0), half = d8_set1(0.5);
	d8 sum = zero, near = zero, apart[3], length2 = zero, reached = zero;
	for (int k = 0; k < 3; k++) {
		const v3d row = absolute(other->to_other.row[k]);
		const double reach = row.x * e.x + row.y * e.y + row.z * e.z, middle = v3d_get(centre, k), u = v3d_get(toward, k);
		const d8 lower = d8_load_floats(node->lower[k]), upper = d8_load_floats(node->upper[k]);
		const d8 gap = d8_max(d8_max(d8_sub(lower, d8_set1(middle + reach)), d8_sub(d8_set1(middle - reach), upper)), zero);
		sum = d8_add(sum, d8_mul(gap, gap));
		near = d8_add(near, d8_mul(d8_set1(u), u > 0 ? upper : lower));
		apart[k] = d8_sub(d8_mul(half, d8_add(lower, upper)), d8_set1(middle));
		length2 = d8_add(length2, d8_mul(apart[k], apart[k]));
		reached = d8_add(reached, d8_mul(d8_mul(half, d8_sub(upper, lower)), d8_abs(apart[k])));
	}
	for (int k = 0; k < 3; k++) {
		const m3d *m = &other->to_other; // transposed: the direction in the other's frame
		const v3d column = { v3d_get(m->row[0], k), v3d_get(m->row[1], k), v3d_get(m->row[2], k) };
		reached = d8_add(reached, d8_mul(d8_set1(v3d_get(e, k)), d8_abs(dot_d8(apart, column))));
	}
	const d8 between = d8_max(d8_sub(length2, reached), zero);
	const d8 between2 = d8_div(d8_mul(between, between), d8_max(length2, d8_set1(0x1p-1000)));
	// The other side's toward points back at this one.
	const double far = v3d_dot(centre, toward) - v3d_dot(absolute(other->toward), e);
	const d8 along = d8_max(d8_sub(d8_set1(far), near), zero);
	return d8_max(d8_max(sum, between2), d8_mul(along, along));
}

/// Push the children that may hold something nearer so that the nearest is on top.
static void open_box(gap_walk *w, const near_pair *pair, int opened)
{
	const gap_side *s = &w->side[opened], *other = &w->side[1 - opened];
	const uint32_t node_number = child_of(s->collider, pair->box[opened]);
	const cr_node8 *node = &s->collider->tree.nodes[node_number];
	const gap_box box = box_of(other->collider, pair->box[1 - opened]);
	const d8 distances = child_distances(node, &box, other, s->toward);
	uint32_t met = ~d8_lt(d8_set1(w->limit2), distances) & ((1u << node->child_count) - 1);
	if (!met)
		return;
	double d[CR_WIDTH];
	d8_store(d, distances);
	const int base = w->top;
	do {
		const int i = cr_take_lowest_bit(&met);
		near_pair child = *pair;
		child.bound2 = d[i] > pair->bound2 ? d[i] : pair->bound2;
		child.box[opened] = CR_WIDTH * node_number + (uint32_t)i;
		int at = w->top++;
		for (; at > base && w->stack[at - 1].bound2 < child.bound2; at--)
			w->stack[at] = w->stack[at - 1];
		w->stack[at] = child;
	} while (met);
}

// ---- Leaves ----

/// Eight triangles of A, with their data for the bounds.
typedef struct gap_block {
	d8 corner[3][3]; // corner, axis
	d8 lower[3], upper[3];
	d8 centre[3];
	d8 normal[3];
	d8 length2;   // of the normal
	d8 tolerance; // of heights over the plane
	uint32_t used;
} gap_block;

/// A triangle of B in A's frame.
typedef struct gap_triangle {
	v3d corner[3];
	v3d normal;
	double tolerance;
} gap_triangle;

static inline d8 dot8_d8(const d8 a[3], const d8 b[3])
{
	return d8_add(d8_add(d8_mul(a[0], b[0]), d8_mul(a[1], b[1])), d8_mul(a[2], b[2]));
}

static inline d8 min3_d8(d8 a, d8 b, d8 c) { return d8_min(d8_min(a, b), c); }
static inline d8 max3_d8(d8 a, d8 b, d8 c) { return d8_max(d8_max(a, b), c); }

static void load_block(const gap_walk *w, const cr_tri8 *block, gap_block *b)
{
	d8 e[3], f[3], e_size = d8_set1(0), f_size = d8_set1(0);
	for (int k = 0; k < 3; k++) {
		for (int c = 0; c < 3; c++)
			b->corner[c][k] = d8_load_floats(block->corner[c][k]);
		b->lower[k] = min3_d8(b->corner[0][k], b->corner[1][k], b->corner[2][k]);
		b->upper[k] = max3_d8(b->corner[0][k], b->corner[1][k], b->corner[2][k]);
		e[k] = d8_sub(b->corner[1][k], b->corner[0][k]);
		f[k] = d8_sub(b->corner[2][k], b->corner[0][k]);
		e_size = d8_add(e_size, d8_abs(e[k]));
		f_size = d8_add(f_size, d8_abs(f[k]));
	}
	b->length2 = d8_set1(0);
	for (int k = 0; k < 3; k++) {
		b->centre[k] = d8_mul(d8_add(d8_add(b->corner[0][k], b->corner[1][k]), b->corner[2][k]), d8_set1(1.0 / 3));
		const int l = (k + 1) % 3, m = (k + 2) % 3;
		b->normal[k] = d8_sub(d8_mul(e[l], f[m]), d8_mul(e[m], f[l]));
		b->length2 = d8_add(b->length2, d8_mul(b->normal[k], b->normal[k]));
	}
	b->tolerance = d8_mul(d8_mul(e_size, f_size), d8_set1(w->needle));
	b->used = (1u << block->count) - 1;
}

static double size_of(v3d v) { return fabs(v.x) + fabs(v.y) + fabs(v.z); }

static gap_triangle load_triangle(const gap_walk *w, int32_t number)
{
	const gap_side *s = &w->side[GAP_B];
	gap_triangle t;
	v3d p[3];
	cr_collider_triangle(s->collider, number, p);
	const v3d e = v3d_sub(p[1], p[0]), f = v3d_sub(p[2], p[0]);
	for (int c = 0; c < 3; c++)
		t.corner[c] = to_other(s, p[c]);
	t.normal = m3d_mul(&s->to_other, v3d_cross(e, f));
	t.tolerance = size_of(e) * size_of(f) * w->needle;
	return t;
}

/// Of three heights over a plane: how far all are on one side of it, at least; 0 or below when they
/// may not be.
static inline d8 plane_gap(const d8 h[3], d8 tolerance)
{
	const d8 low = min3_d8(h[0], h[1], h[2]), high = max3_d8(h[0], h[1], h[2]);
	return d8_sub(d8_max(low, d8_sub(d8_set1(0), high)), tolerance);
}

/// Lanes of the block that may be within the limit of the triangle.
static uint32_t near_lanes(const gap_walk *w, const gap_block *a, const gap_triangle *b)
{
	const d8 zero = d8_set1(0), limit2 = d8_set1(w->limit2);
	d8 sum = zero;
	for (int k = 0; k < 3; k++) {
		const double p = v3d_get(b->corner[0], k), q = v3d_get(b->corner[1], k), r = v3d_get(b->corner[2], k);
		const double low = p < q ? (p < r ? p : r) : (q < r ? q : r), high = p > q ? (p > r ? p : r) : (q > r ? q : r);
		const d8 gap = d8_max(d8_max(d8_sub(a->lower[k], d8_set1(high)), d8_sub(d8_set1(low), a->upper[k])), zero);
		sum = d8_add(sum, d8_mul(gap, gap));
	}
	uint32_t near = a->used & ~d8_lt(limit2, sum);
	if (!near)
		return 0;
	const v3d u = w->side[GAP_A].toward;
	d8 along[3], above[3], below[3];
	double first = INFINITY;
	for (int c = 0; c < 3; c++) {
		const double reach = v3d_dot(b->corner[c], u);
		first = reach < first ? reach : first;
		along[c] = dot_d8(a->corner[c], u);
	}
	near &= ~d8_lt(d8_set1(w->limit), d8_sub(d8_set1(first), max3_d8(along[0], along[1], along[2])));
	if (!near)
		return 0;
	d8 apart[3], length2 = zero;
	const v3d middle = v3d_scale(v3d_add(v3d_add(b->corner[0], b->corner[1]), b->corner[2]), 1.0 / 3);
	for (int k = 0; k < 3; k++) {
		apart[k] = d8_sub(d8_set1(v3d_get(middle, k)), a->centre[k]);
		length2 = d8_add(length2, d8_mul(apart[k], apart[k]));
	}
	d8 ha[3], hb[3];
	for (int c = 0; c < 3; c++) {
		hb[c] = dot_d8(apart, b->corner[c]);
		ha[c] = dot8_d8(apart, a->corner[c]);
	}
	const d8 over = d8_max(d8_sub(min3_d8(hb[0], hb[1], hb[2]), max3_d8(ha[0], ha[1], ha[2])), zero);
	near &= ~d8_lt(d8_mul(limit2, length2), d8_mul(over, over));
	if (!near)
		return 0;
	for (int c = 0; c < 3; c++) {
		const d8 to_a[3] = { d8_sub(a->corner[c][0], d8_set1(b->corner[0].x)), d8_sub(a->corner[c][1], d8_set1(b->corner[0].y)),
			d8_sub(a->corner[c][2], d8_set1(b->corner[0].z)) };
		below[c] = dot_d8(to_a, b->normal);
		const d8 to_b[3] = { d8_sub(d8_set1(b->corner[c].x), a->corner[0][0]), d8_sub(d8_set1(b->corner[c].y), a->corner[0][1]),
			d8_sub(d8_set1(b->corner[c].z), a->corner[0][2]) };
		above[c] = d8_add(d8_add(d8_mul(to_b[0], a->normal[0]), d8_mul(to_b[1], a->normal[1])), d8_mul(to_b[2], a->normal[2]));
	}
	// g / |n| > limit without a root; a plane that is none has g <= 0.
	const d8 g = d8_max(plane_gap(above, a->tolerance), zero), h = d8_max(plane_gap(below, d8_set1(b->tolerance)), zero);
	near &= ~d8_lt(d8_mul(limit2, a->length2), d8_mul(g, g));
	return near & ~d8_lt(d8_set1(w->limit2 * v3d_dot(b->normal, b->normal)), d8_mul(h, h));
}

static void set_limit(gap_walk *w, double distance)
{
	w->limit = distance + w->margin;
	w->limit2 = w->limit * w->limit;
}

static bool is_better(const cr_collider_gap *best, double distance2, int32_t a, int32_t b)
{
	if (distance2 != best->distance2)
		return distance2 < best->distance2;
	return (uint32_t)a < (uint32_t)best->a || (a == best->a && b < best->b);
}

/// Is this pair of triangles the best so far?
static bool try_pair(gap_walk *w, int32_t a, int32_t b, const gap_triangle *t)
{
	v3d corners[3];
	cr_triangle_point on_a, on_b;
	cr_collider_triangle(w->side[GAP_A].collider, a, corners);
	const double distance2 = cr_closest_triangles(corners, t->corner, &on_a, &on_b);
	if (!is_better(w->best, distance2, a, b))
		return false;
	*w->best = (cr_collider_gap){ distance2, a, b, on_a, on_b };
	const double distance = sqrt(distance2);
	set_limit(w, distance);
	// Squares of anything shorter have lost their digits, and with them the direction.
	const v3d apart = v3d_sub(on_b.point, on_a.point);
	const v3d u = distance > 0x1p-400 ? v3d_scale(apart, 1 / distance) : (v3d){ 0, 0, 0 };
	w->side[GAP_A].toward = u;
	w->side[GAP_B].toward = v3d_neg(m3d_tmul(&w->side[GAP_B].to_other, u));
	return true;
}

/// The reach of the corners of eight triangles along a direction: the furthest of each back against
/// it, or forth along it.
static inline d8 reach_of_lanes(const cr_tri8 *block, v3d direction, bool forth)
{
	d8 along[3];
	for (int c = 0; c < 3; c++) {
		const d8 p[3] = { d8_load_floats(block->corner[c][0]), d8_load_floats(block->corner[c][1]),
			d8_load_floats(block->corner[c][2]) };
		along[c] = dot_d8(p, direction);
	}
	return forth ? max3_d8(along[0], along[1], along[2]) : min3_d8(along[0], along[1], along[2]);
}

/// Triangles of B that may be within the limit of any of A by the reach of both along a direction
/// of length at most 1, in A's frame. Corners lie closer than their boxes.
static uint32_t reaching_lanes(const gap_walk *w, const cr_tri8 *tri_a, const cr_tri8 *tri_b, v3d direction)
{
	const gap_side *b = &w->side[GAP_B];
	double forth[CR_WIDTH], last = -INFINITY;
	d8_store(forth, reach_of_lanes(tri_a, direction, true));
	for (int i = 0; i < CR_WIDTH; i++) // unused lanes repeat the first
		last = forth[i] > last ? forth[i] : last;
	const d8 back = reach_of_lanes(tri_b, m3d_tmul(&b->to_other, direction), false);
	const double within = last + w->limit - v3d_dot(b->shift, direction);
	return ~d8_lt(d8_set1(within), back) & ((1u << tri_b->count) - 1);
}

static void try_leaves(gap_walk *w, const near_pair *pair, int32_t leaf_a, int32_t leaf_b)
{
	const cr_collider *a = w->side[GAP_A].collider, *b = w->side[GAP_B].collider;
	const cr_tri8 *const tri_a = &a->blocks[leaf_a], *const tri_b = &b->blocks[leaf_b];
	uint32_t lanes = reaching_lanes(w, tri_a, tri_b, w->side[GAP_A].toward);
	if (!lanes)
		return;
	const v3d apart = v3d_sub(to_other(&w->side[GAP_B], box_of(b, pair->box[GAP_B]).centre), box_of(a, pair->box[GAP_A]).centre);
	lanes &= reaching_lanes(w, tri_a, tri_b, v3d_normalize(apart));
	if (!lanes)
		return;
	gap_block block;
	load_block(w, tri_a, &block);
	do {
		const int j = cr_take_lowest_bit(&lanes);
		const gap_triangle t = load_triangle(w, tri_b->number[j]);
		uint32_t near = near_lanes(w, &block, &t);
		while (near) {
			const int i = cr_take_lowest_bit(&near);
			// Triangles that were near before the limit fell need not be now.
			if (try_pair(w, tri_a->number[i], tri_b->number[j], &t) && near)
				near &= near_lanes(w, &block, &t);
		}
	} while (lanes);
}

/// The larger one of two boxes that can be opened.
static int choose_opened(const gap_walk *w, const near_pair *pair, const uint32_t child[2])
{
	if (child[GAP_A] & CR_LEAF_BIT)
		return GAP_B;
	if (child[GAP_B] & CR_LEAF_BIT)
		return GAP_A;
	const gap_box a = box_of(w->side[GAP_A].collider, pair->box[GAP_A]), b = box_of(w->side[GAP_B].collider, pair->box[GAP_B]);
	return largest_of(a.extent) >= largest_of(b.extent) ? GAP_A : GAP_B;
}

static void start_walk(gap_walk *w, const cr_collider *a, const cr_collider *b, const m3d *b_to_a, v3d b_in_a)
{
	const v3d zero = { 0, 0, 0 };
	const double size = (double)a->scale + (double)b->scale, reach = size + size_of(b_in_a);
	w->side[GAP_A] = (gap_side){ a, m3d_transposed(b_to_a), v3d_neg(m3d_tmul(b_to_a, b_in_a)), zero };
	w->side[GAP_B] = (gap_side){ b, *b_to_a, b_in_a, zero };
	// Some thirty roundings of 2^-53 at worst. Where the bodies are so far apart that the distances
	// of all pairs round to the same few numbers, no more than a millionth of their size is given,
	// or no pair could be dropped.
	w->margin = reach * 0x1p-46;
	w->margin = w->margin < 1e-6 * size ? w->margin : 1e-6 * size;
	w->needle = reach * 0x1p-47;
	w->stack[0] = (near_pair){ 0, { GAP_ROOT, GAP_ROOT } };
	w->top = 1;
}

/// The triangle of a side nearest to a point in its frame, by float, and the point of it. -1 where
/// float says nothing.
static int32_t nearest_of_side(const gap_side *s, v3d p, v3d *on)
{
	const float point[3] = { (float)p.x, (float)p.y, (float)p.z };
	int32_t number;
	CR_ISA_NAME(cr_bvh_kernels).nearest(s->collider, point, INFINITY, &number);
	if (number < 0)
		return -1;
	v3d t[3];
	cr_collider_triangle(s->collider, number, t);
	*on = cr_closest_on_triangle(p, t).point;
	return number;
}

/// A good pair to begin with: from the middle of B to the nearest triangle of A, from there to the
/// nearest one of B, and back, until nothing changes. The pair found this way is often the best,
/// and nearly all of both trees is never looked at.
static void guess_pair(gap_walk *w)
{
	const gap_side *a = &w->side[GAP_A], *b = &w->side[GAP_B];
	v3d p = to_other(b, box_of(b->collider, GAP_ROOT).centre);
	int32_t best_a = -1, best_b = -1;
	for (int round = 0; round < GUESS_ROUNDS; round++) {
		v3d on_a, on_b;
		const int32_t near_a = nearest_of_side(a, p, &on_a),
					  near_b = near_a < 0 ? -1 : nearest_of_side(b, to_other(a, on_a), &on_b);
		if (near_b < 0)
			return;
		if (near_a == best_a && near_b == best_b)
			break;
		best_a = near_a;
		best_b = near_b;
		p = to_other(b, on_b);
	}
	const gap_triangle t = load_triangle(w, best_b);
	try_pair(w, best_a, best_b, &t);
}

bool CR_ISA_NAME(cr_gap)(
	const cr_collider *a, const cr_collider *b, const m3d *b_to_a, v3d b_in_a, double max_distance, cr_collider_gap *gap)
{
	if (a->tree.node_count == 0 || b->tree.node_count == 0)
		return false;
	gap_walk w;
	w.best = gap;
	// A hair more, so that a distance of just max_distance is not lost to the rounding of the
	// square.
	*gap = (cr_collider_gap){ .distance2 = max_distance * max_distance * (1 + 0x1p-50), .a = -1, .b = -1 };
	start_walk(&w, a, b, b_to_a, b_in_a);
	set_limit(&w, max_distance);
	guess_pair(&w);
	// At distance 0 nothing can be nearer. Before any pair was found 0 may also be the limit.
	while (w.top > 0 && !(gap->a >= 0 && gap->distance2 == 0)) {
		const near_pair pair = w.stack[--w.top];
		if (pair.bound2 > w.limit2)
			continue;
		const uint32_t child[2] = { child_of(a, pair.box[GAP_A]), child_of(b, pair.box[GAP_B]) };
		if (child[GAP_A] & child[GAP_B] & CR_LEAF_BIT)
			try_leaves(&w, &pair, (int32_t)(child[GAP_A] & ~CR_LEAF_BIT), (int32_t)(child[GAP_B] & ~CR_LEAF_BIT));
		else
			open_box(&w, &pair, choose_opened(&w, &pair, child));
	}
	return gap->a >= 0;
}
