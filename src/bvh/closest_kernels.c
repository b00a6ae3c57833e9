/// Nearest point of a collider's surface: the wide tree, nearest child first, eight boxes or eight
/// triangles at a time; and the triangles around a point, by the same bounds. Compiled once for
/// each instruction set (CR_ISA).
///
/// All is double. A float walk (cr_bvh_kernels.nearest) makes the first guess, after which few
/// leaves are left; in them each triangle is bounded from below by its box, by its plane and by its
/// corners along the direction to its middle, and only a triangle that passes is worked out. Bounds
/// give way to rounding, so the answer is the least over all triangles, to the bit; for a point
/// that is more than 1e9 sizes of the mesh away, where all distances round to a few numbers, the
/// least but for rounding. O(log n).
#include "bvh/bvh_isa.h"
#include "math/simd.h"

typedef struct near_entry {
	double distance2;
	uint32_t child;
} near_entry;

typedef struct closest_walk {
	const cr_collider *collider;
	v3d point;
	double margin; // the most that rounding changes a bound on a distance
	double needle; // and to the height over a plane, in lengths of the product of its two edges
	double limit2; // points beyond are of no use
	cr_near_point *best;
	near_entry stack[CR_TREE_STACK];
	int top;
} closest_walk;

static void set_limit(closest_walk *w, double distance)
{
	const double limit = distance + w->margin;
	w->limit2 = limit * limit;
}

static void try_triangle(closest_walk *w, int32_t number)
{
	v3d t[3];
	cr_collider_triangle(w->collider, number, t);
	const cr_triangle_point on = cr_closest_on_triangle(w->point, t);
	const v3d d = v3d_sub(w->point, on.point);
	const double distance2 = v3d_dot(d, d);
	const cr_near_point *best = w->best;
	if (distance2 > best->distance2 || (distance2 == best->distance2 && (uint32_t)number >= (uint32_t)best->triangle))
		return;
	*w->best = (cr_near_point){ distance2, number, on };
	set_limit(w, sqrt(distance2));
}

static inline d8 dot_d8(const d8 a[3], const d8 b[3])
{
	return d8_add(d8_add(d8_mul(a[0], b[0]), d8_mul(a[1], b[1])), d8_mul(a[2], b[2]));
}

static inline d8 min3_d8(d8 a, d8 b, d8 c) { return d8_min(d8_min(a, b), c); }
static inline d8 max3_d8(d8 a, d8 b, d8 c) { return d8_max(d8_max(a, b), c); }

/// Squared distances from the point to eight boxes whose planes are given relative to it.
static inline d8 box_distances(const d8 lower[3], const d8 upper[3])
{
	const d8 zero = d8_set1(0);
	d8 sum = zero;
	for (int k = 0; k < 3; k++) {
		const d8 gap = d8_max(d8_max(lower[k], d8_sub(zero, upper[k])), zero);
		sum = d8_add(sum, d8_mul(gap, gap));
	}
	return sum;
}

/// Lanes of a block that may be within the limit.
static uint32_t near_lanes(const closest_walk *w, const cr_tri8 *block)
{
	const d8 zero = d8_set1(0), limit2 = d8_set1(w->limit2);
	d8 q[3][3], lower[3], upper[3], middle[3], e[3], f[3], n[3], e_size = zero, f_size = zero;
	for (int k = 0; k < 3; k++) {
		const d8 p = d8_set1(v3d_get(w->point, k));
		for (int c = 0; c < 3; c++)
			q[c][k] = d8_sub(d8_load_floats(block->corner[c][k]), p);
		lower[k] = min3_d8(q[0][k], q[1][k], q[2][k]);
		upper[k] = max3_d8(q[0][k], q[1][k], q[2][k]);
		middle[k] = d8_add(d8_add(q[0][k], q[1][k]), q[2][k]);
	}
	uint32_t near = ((1u << block->count) - 1) & ~d8_lt(limit2, box_distances(lower, upper));
	const d8 along = d8_max(min3_d8(dot_d8(q[0], middle), dot_d8(q[1], middle), dot_d8(q[2], middle)), zero);
	near &= ~d8_lt(d8_mul(limit2, dot_d8(middle, middle)), d8_mul(along, along));
	if (!near)
		return 0;
	for (int k = 0; k < 3; k++) {
		e[k] = d8_sub(q[1][k], q[0][k]);
		f[k] = d8_sub(q[2][k], q[0][k]);
		e_size = d8_add(e_size, d8_abs(e[k]));
		f_size = d8_add(f_size, d8_abs(f[k]));
	}
	for (int k = 0; k < 3; k++) {
		const int l = (k + 1) % 3, m = (k + 2) % 3;
		n[k] = d8_sub(d8_mul(e[l], f[m]), d8_mul(e[m], f[l]));
	}
	const d8 tolerance = d8_mul(d8_mul(e_size, f_size), d8_set1(w->needle));
	const d8 height = d8_max(d8_sub(d8_abs(dot_d8(n, q[0])), tolerance), zero);
	return near & ~d8_lt(d8_mul(limit2, dot_d8(n, n)), d8_mul(height, height));
}

static void try_block(closest_walk *w, const cr_tri8 *block)
{
	uint32_t near = near_lanes(w, block);
	while (near)
		try_triangle(w, block->number[cr_take_lowest_bit(&near)]);
}

/// Squared distances of the children of a node. Returns those within the limit.
static inline uint32_t measure_children(const closest_walk *w, const cr_node8 *node, double d[CR_WIDTH])
{
	d8 lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		const d8 p = d8_set1(v3d_get(w->point, k));
		lower[k] = d8_sub(d8_load_floats(node->lower[k]), p);
		upper[k] = d8_sub(d8_load_floats(node->upper[k]), p);
	}
	const d8 distances = box_distances(lower, upper);
	d8_store(d, distances);
	return ~d8_lt(d8_set1(w->limit2), distances) & ((1u << node->child_count) - 1);
}

/// Push the children that may hold something nearer so that the nearest is on top.
static void open_node(closest_walk *w, const cr_node8 *node)
{
	double d[CR_WIDTH];
	uint32_t met = measure_children(w, node, d);
	if (!met)
		return;
	const int base = w->top;
	do {
		const int i = cr_take_lowest_bit(&met);
		int at = w->top++;
		for (; at > base && w->stack[at - 1].distance2 < d[i]; at--)
			w->stack[at] = w->stack[at - 1];
		w->stack[at] = (near_entry){ d[i], node->child[i] };
	} while (met);
}

static void guess_triangle(closest_walk *w)
{
	const float point[3] = { (float)w->point.x, (float)w->point.y, (float)w->point.z };
	int32_t number;
	CR_ISA_NAME(cr_bvh_kernels).nearest(w->collider, point, INFINITY, &number);
	if (number >= 0)
		try_triangle(w, number);
}

static void start_walk(closest_walk *w, const cr_collider *c, v3d point, cr_near_point *best)
{
	const double scale = c->scale, reach = scale + fabs(point.x) + fabs(point.y) + fabs(point.z);
	w->collider = c;
	w->point = point;
	w->best = best;
	// As in gap_kernels.c.
	w->margin = reach * 0x1p-46;
	w->margin = w->margin < 1e-6 * scale ? w->margin : 1e-6 * scale;
	w->needle = reach * 0x1p-47;
	w->stack[0] = (near_entry){ 0, 0 };
	w->top = 1;
}

bool CR_ISA_NAME(cr_closest)(const cr_collider *c, v3d point, double max_distance, bool expected, cr_near_point *nearest)
{
	if (c->tree.node_count == 0)
		return false;
	// A hair more, so that a surface at just max_distance is not lost to the rounding of the
	// square.
	*nearest = (cr_near_point){ .distance2 = max_distance * max_distance * (1 + 0x1p-50), .triangle = -1 };
	closest_walk w;
	start_walk(&w, c, point, nearest);
	set_limit(&w, max_distance);
	if (expected)
		guess_triangle(&w);
	while (w.top > 0) {
		const near_entry entry = w.stack[--w.top];
		if (entry.distance2 > w.limit2)
			continue;
		if (entry.child & CR_LEAF_BIT)
			try_block(&w, &c->blocks[entry.child & ~CR_LEAF_BIT]);
		else
			open_node(&w, &c->tree.nodes[entry.child]);
	}
	return nearest->triangle >= 0;
}

/// A list of triangles that is filled up to its capacity, and counted on.
typedef struct around_list {
	int32_t *triangles;
	int32_t count, capacity;
} around_list;

static void list_block(const closest_walk *w, const cr_tri8 *block, around_list *list)
{
	for (uint32_t near = near_lanes(w, block); near; list->count++) {
		const int lane = cr_take_lowest_bit(&near);
		if (list->count < list->capacity)
			list->triangles[list->count] = block->number[lane];
	}
}

int32_t CR_ISA_NAME(cr_triangles_around)(const cr_collider *c, v3d point, double reach, int32_t capacity, int32_t *triangles)
{
	if (c->tree.node_count == 0)
		return 0;
	closest_walk w;
	around_list list = { triangles, 0, capacity };
	start_walk(&w, c, point, NULL);
	set_limit(&w, reach);
	while (w.top > 0) {
		const cr_node8 *node = &c->tree.nodes[w.stack[--w.top].child];
		double d[CR_WIDTH];
		for (uint32_t met = measure_children(&w, node, d); met;) {
			const uint32_t child = node->child[cr_take_lowest_bit(&met)];
			if (child & CR_LEAF_BIT)
				list_block(&w, &c->blocks[child & ~CR_LEAF_BIT], &list);
			else
				w.stack[w.top++].child = child;
		}
	}
	return list.count;
}
