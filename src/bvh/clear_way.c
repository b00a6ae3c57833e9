/// The first clear move along a direction, by pairs of parts.
///
/// A part is a convex body, a mesh, a box of its tree, or a triangle. Each pair of parts forbids an
/// interval of moves (geom/slide.h); the interval of two boxes holds those of all that they hold. A
/// frontier begins at no move. A walk of both trees looks, among the pairs whose interval holds the
/// frontier, for those that reach beyond it, the farthest first, and moves it to their end; walks
/// go on until nothing holds the frontier. Then no two parts overlap at it. Still one body may lie
/// wholly inside the other, a closed mesh: a point of each piece tells, as no surface is crossed.
/// If so, the frontier goes on to where the next interval begins.
///
/// Each walk but the last moves the frontier past at least one interval, and turns from inside to
/// inside are counted, so the search ends.

#include "bvh/clear_way.h"
#include "bvh/tree_part.h"
#include "geom/convex_query.h"

enum {
	AXES = 8,
	MOST_TURNS = 256, // from inside to inside
};

// Of the size of the pair: far more than rounding does; and far beyond any clear move.
static const double SLACK = 1e-10, MOST_WAY = 4;

/// Two parts. Smaller keys go first.
typedef struct part_pair {
	float key;
	uint32_t part[2];
} part_pair;

/// The reach of a part along each axis, in A's frame.
typedef struct span {
	double low[AXES];
	double high[AXES];
} span;

typedef struct clearing {
	const cr_solid_pair *pair;
	const cr_solid *solid[2];
	v3d direction;
	double axis[2][3][AXES]; // unit, in either frame: x, y and z of each
	double shift[2][AXES];   // of the body's origin along the axes: 0 for A
	double slope[AXES];      // of the direction along the axes; 0: across
	double inverse[AXES];    // of the slope
	double frontier;
	double limit;
	bool seek_next; // the least beginning beyond the frontier, not the interval that holds it
	double next;
	cr_clear_way *way;
	cr_barriers *known;
	part_pair stack[CR_TWO_TREES_STACK];
	int top;
} clearing;

// ---- Parts ----

static bool is_single(const cr_solid *s, uint32_t part) { return s->convex || cr_is_triangle_part(part); }

void cr_solid_box(const cr_solid *s, v3d *centre, v3d *extent)
{
	const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	double lower[3], upper[3];
	for (int k = 0; k < 3 && s->collider; k++) {
		lower[k] = s->collider->lower[k];
		upper[k] = s->collider->upper[k];
	}
	if (s->convex)
		cr_convex_bounds(s->convex, &identity, lower, upper);
	const v3d l = { lower[0], lower[1], lower[2] }, u = { upper[0], upper[1], upper[2] };
	*centre = v3d_scale(v3d_add(l, u), 0.5);
	*extent = v3d_scale(v3d_sub(u, l), 0.5);
}

static void node_box(const cr_collider *c, uint32_t part, v3d *centre, v3d *extent)
{
	const cr_node8 *node = &c->tree.nodes[part / CR_WIDTH];
	const int slot = (int)(part % CR_WIDTH);
	const v3d l = { node->lower[0][slot], node->lower[1][slot], node->lower[2][slot] };
	const v3d u = { node->upper[0][slot], node->upper[1][slot], node->upper[2][slot] };
	*centre = v3d_scale(v3d_add(l, u), 0.5);
	*extent = v3d_scale(v3d_sub(u, l), 0.5);
}

static v3d axis_of(const clearing *c, int side, int i)
{
	return (v3d){ c->axis[side][0][i], c->axis[side][1][i], c->axis[side][2][i] };
}

static void span_of_corners(const clearing *c, int side, const v3d p[3], span *s)
{
	const double(*n)[AXES] = c->axis[side];
	for (int i = 0; i < AXES; i++) {
		const double x = n[0][i] * p[0].x + n[1][i] * p[0].y + n[2][i] * p[0].z;
		const double y = n[0][i] * p[1].x + n[1][i] * p[1].y + n[2][i] * p[1].z;
		const double z = n[0][i] * p[2].x + n[1][i] * p[2].y + n[2][i] * p[2].z;
		const double most = x > y ? x : y, least = x < y ? x : y;
		s->high[i] = (most > z ? most : z) + c->shift[side][i];
		s->low[i] = (least < z ? least : z) + c->shift[side][i];
	}
}

static void span_of_convex(const clearing *c, int side, span *s)
{
	const cr_convex *convex = c->solid[side]->convex;
	for (int i = 0; i < AXES; i++) {
		const v3d n = axis_of(c, side, i);
		const double shift = c->shift[side][i], beyond = convex->rounding;
		s->high[i] = v3d_dot(n, cr_convex_support(convex, n)) + beyond + shift;
		s->low[i] = v3d_dot(n, cr_convex_support(convex, v3d_neg(n))) - beyond + shift;
	}
}

static void span_of(const clearing *c, int side, uint32_t part, span *s)
{
	const cr_solid *solid = c->solid[side];
	v3d centre, extent, corners[3];
	if (solid->convex) {
		span_of_convex(c, side, s);
		return;
	}
	if (cr_is_triangle_part(part)) {
		cr_collider_triangle(solid->collider, cr_triangle_of_part(part), corners);
		span_of_corners(c, side, corners, s);
		return;
	}
	if (part == CR_PART_WHOLE)
		cr_solid_box(solid, &centre, &extent);
	else
		node_box(solid->collider, part, &centre, &extent);
	const double(*n)[AXES] = c->axis[side];
	for (int i = 0; i < AXES; i++) {
		const double middle = n[0][i] * centre.x + n[1][i] * centre.y + n[2][i] * centre.z + c->shift[side][i];
		const double reach = fabs(n[0][i]) * extent.x + fabs(n[1][i]) * extent.y + fabs(n[2][i]) * extent.z;
		s->low[i] = middle - reach;
		s->high[i] = middle + reach;
	}
}

/// Bounds of the moves at which two parts overlap.
static cr_slide bound_slide(const clearing *c, const span *a, const span *b)
{
	cr_slide s = { -INFINITY, INFINITY, c->direction, INFINITY };
	const double slack = c->pair->slack;
	int axis = -1;
	for (int i = 0; i < AXES && s.enter <= s.leave; i++) {
		const double back = b->low[i] - a->high[i] - slack, forth = b->high[i] - a->low[i] + slack;
		if (c->slope[i] == 0) {
			if (back > 0 || forth < 0)
				return (cr_slide){ INFINITY, -INFINITY, c->direction, 0 };
			continue;
		}
		const double p = back * c->inverse[i], q = forth * c->inverse[i], enter = p < q ? p : q, leave = p < q ? q : p;
		s.enter = enter > s.enter ? enter : s.enter;
		if (leave < s.leave) {
			s.leave = leave;
			axis = i;
		}
	}
	if (axis >= 0) {
		s.normal = v3d_scale(axis_of(c, 0, axis), c->slope[axis] > 0 ? 1 : -1);
		s.reach = s.leave * fabs(c->slope[axis]);
	}
	return s;
}

// ---- The walk ----

/// Is an interval of any use to the walk?
static bool is_wanted(const clearing *c, const cr_slide *s)
{
	if (s->enter > s->leave || s->leave <= c->frontier)
		return false;
	return c->seek_next ? s->enter < c->next : s->enter <= c->frontier;
}

static void push(clearing *c, int base, const part_pair *pair)
{
	int at = c->top++;
	for (; at > base && c->stack[at - 1].key < pair->key; at--)
		c->stack[at] = c->stack[at - 1];
	c->stack[at] = *pair;
}

static double size_of_part(const clearing *c, int side, uint32_t part)
{
	const cr_solid *s = c->solid[side];
	v3d centre, extent = { 0, 0, 0 };
	if (part == CR_PART_WHOLE)
		cr_solid_box(s, &centre, &extent);
	else
		node_box(s->collider, part, &centre, &extent);
	return v3d_dot(extent, extent);
}

/// Open the larger one of two parts.
static void open_pair(clearing *c, const part_pair *pair)
{
	int opened = is_single(c->solid[0], pair->part[0]) ? 1 : 0;
	if (!opened && !is_single(c->solid[1], pair->part[1]))
		opened = size_of_part(c, 1, pair->part[1]) > size_of_part(c, 0, pair->part[0]);
	uint32_t children[CR_WIDTH];
	const int count = cr_open_part(c->solid[opened]->collider, pair->part[opened], children), base = c->top;
	span other, own;
	span_of(c, 1 - opened, pair->part[1 - opened], &other);
	for (int i = 0; i < count; i++) {
		part_pair child = *pair;
		child.part[opened] = children[i];
		span_of(c, opened, children[i], &own);
		const cr_slide s = bound_slide(c, opened ? &other : &own, opened ? &own : &other);
		child.key = cr_round_down(c->seek_next ? s.enter : -s.leave);
		if (is_wanted(c, &s))
			push(c, base, &child);
	}
}

cr_convex cr_part_of_solid(const cr_solid *s, int32_t triangle)
{
	if (s->convex)
		return *s->convex;
	cr_convex part = { .core = CR_CORE_TRIANGLE };
	cr_collider_triangle(s->collider, triangle, part.corner);
	return part;
}

static cr_convex convex_of(const cr_solid *s, uint32_t part)
{
	return cr_part_of_solid(s, s->convex ? -1 : cr_triangle_of_part(part));
}

/// The interval of two parts that are not to be opened.
static cr_slide slide_parts(const clearing *c, const part_pair *pair)
{
	const cr_solid_pair *p = c->pair;
	span spans[2];
	span_of(c, 0, pair->part[0], &spans[0]);
	span_of(c, 1, pair->part[1], &spans[1]);
	const cr_slide first = bound_slide(c, &spans[0], &spans[1]);
	if (!is_wanted(c, &first))
		return first;
	cr_slide s;
	const cr_convex a = convex_of(c->solid[0], pair->part[0]), b = convex_of(c->solid[1], pair->part[1]);
	if (a.core == CR_CORE_TRIANGLE && b.core == CR_CORE_TRIANGLE) {
		v3d corners[3];
		for (int k = 0; k < 3; k++)
			corners[k] = v3d_add(m3d_mul(&p->b_in_a.rotation, b.corner[k]), p->b_in_a.position);
		cr_slide_triangles(a.corner, corners, c->direction, p->slack, &s);
	} else {
		cr_slide_convex(&a, &b, &p->b_in_a, c->direction, p->slack, &first, &s);
	}
	return s;
}

/// Keep two parts that stood in the way: they may do so again, and to ask them first spares walks.
static void remember(clearing *c, const part_pair *pair)
{
	cr_barriers *k = c->known;
	for (int i = 0; i < k->count; i++) {
		if (k->part[i][0] == pair->part[0] && k->part[i][1] == pair->part[1])
			return;
	}
	const int at = k->next++ % CR_MOST_BARRIERS;
	k->part[at][0] = pair->part[0];
	k->part[at][1] = pair->part[1];
	k->count += k->count < CR_MOST_BARRIERS;
}

static void meet(clearing *c, const part_pair *pair)
{
	const cr_slide s = slide_parts(c, pair);
	if (!is_wanted(c, &s))
		return;
	if (c->seek_next) {
		c->next = s.enter > c->frontier ? s.enter : c->frontier;
		return;
	}
	c->frontier = s.leave;
	c->way->normal = s.normal;
	c->way->reach = s.reach;
	c->way->blocked = true;
	for (int i = 0; i < 2; i++)
		c->way->triangle[i] = c->solid[i]->convex ? -1 : cr_triangle_of_part(pair->part[i]);
	remember(c, pair);
}

/// Move the frontier as far as the parts lead that stood in the way before.
static void pass_known(clearing *c)
{
	double before;
	do {
		before = c->frontier;
		for (int i = 0; i < c->known->count && c->frontier <= c->limit; i++)
			meet(c, &(part_pair){ 0, { c->known->part[i][0], c->known->part[i][1] } });
	} while (c->frontier > before && c->frontier <= c->limit);
}

/// Look at all pairs of parts that are wanted, those with the least keys first.
static void walk(clearing *c)
{
	c->top = 0;
	c->stack[c->top++] = (part_pair){ -INFINITY, { CR_PART_WHOLE, CR_PART_WHOLE } };
	while (c->top > 0 && c->frontier <= c->limit) {
		const part_pair pair = c->stack[--c->top];
		if (c->seek_next ? (double)pair.key > c->next : -(double)pair.key <= c->frontier)
			continue;
		if (is_single(c->solid[0], pair.part[0]) && is_single(c->solid[1], pair.part[1]))
			meet(c, &pair);
		else
			open_pair(c, &pair);
	}
}

// ---- Inside ----

/// Does any piece of a body, when A is moved by the frontier, lie inside the other body, a closed
/// mesh?
static bool lies_inside(const clearing *c, int side)
{
	const cr_solid *inner = c->solid[side], *outer = c->solid[1 - side];
	const cr_relative *r = &c->pair->b_in_a;
	const v3d move = v3d_scale(c->direction, c->frontier);
	if (!outer->collider || !outer->collider->closed)
		return false;
	for (int32_t i = 0; i < inner->place_count; i++) {
		const v3d p = inner->places ? inner->places[i] : inner->place;
		const v3d there = side ? v3d_sub(v3d_add(m3d_mul(&r->rotation, p), r->position), move)
							   : m3d_tmul(&r->rotation, v3d_sub(v3d_add(p, move), r->position));
		if (cr_collider_contains(outer->collider, c->pair->kernels, there))
			return true;
	}
	return false;
}

// ---- Both ----

static void set_axis(clearing *c, int i, v3d n)
{
	const double slope = v3d_dot(n, c->direction);
	const v3d own = m3d_tmul(&c->pair->b_in_a.rotation, n);
	for (int k = 0; k < 3; k++) {
		c->axis[0][k][i] = v3d_get(n, k);
		c->axis[1][k][i] = v3d_get(own, k);
	}
	c->shift[0][i] = 0;
	c->shift[1][i] = v3d_dot(n, c->pair->b_in_a.position);
	c->slope[i] = fabs(slope) < 1e-11 ? 0 : slope;
	c->inverse[i] = c->slope[i] == 0 ? 0 : 1 / c->slope[i];
}

/// Two across the direction, and those of both frames.
static void set_axes(clearing *c)
{
	const v3d d = c->direction;
	const v3d least = fabs(d.x) <= fabs(d.y) && fabs(d.x) <= fabs(d.z) ? (v3d){ 1, 0, 0 }
		: fabs(d.y) <= fabs(d.z)                                       ? (v3d){ 0, 1, 0 }
																	   : (v3d){ 0, 0, 1 };
	const v3d across = v3d_normalize(v3d_cross(d, least));
	const m3d *r = &c->pair->b_in_a.rotation;
	set_axis(c, 0, across);
	set_axis(c, 1, v3d_cross(d, across));
	for (int k = 0; k < 3; k++) {
		set_axis(c, 2 + k, (v3d){ k == 0, k == 1, k == 2 });
		set_axis(c, 5 + k, (v3d){ v3d_get(r->row[0], k), v3d_get(r->row[1], k), v3d_get(r->row[2], k) });
	}
}

void cr_prepare_pair(cr_solid_pair *pair, const cr_solid *a, const cr_solid *b, const cr_relative *b_in_a, double rounding,
	const cr_bvh_kernels *kernels)
{
	*pair = (cr_solid_pair){ .a = a, .b = b, .b_in_a = *b_in_a, .kernels = kernels };
	const cr_solid *const solids[2] = { a, b };
	pair->size = v3d_length(b_in_a->position);
	for (int i = 0; i < 2; i++) {
		v3d centre, extent;
		cr_solid_box(solids[i], &centre, &extent);
		pair->size += v3d_length(centre) + v3d_length(extent);
	}
	pair->slack = SLACK * pair->size + 2 * rounding;
}

void cr_find_clear_way(const cr_solid_pair *pair, v3d direction, double limit, cr_barriers *known, cr_clear_way *way)
{
	clearing c;
	c.pair = pair;
	c.solid[0] = pair->a;
	c.solid[1] = pair->b;
	c.direction = direction;
	c.frontier = 0;
	c.limit = limit < MOST_WAY * pair->size ? limit : MOST_WAY * pair->size;
	c.way = way;
	c.known = known;
	*way = (cr_clear_way){ .direction = direction, .length = INFINITY, .triangle = { -1, -1 } };
	set_axes(&c);
	for (int turn = 0; turn < MOST_TURNS; turn++) {
		double before;
		c.seek_next = false;
		do {
			pass_known(&c);
			before = c.frontier;
			walk(&c);
		} while (c.frontier > before && c.frontier <= c.limit);
		if (!(c.frontier <= c.limit))
			return;
		if (!lies_inside(&c, 0) && !lies_inside(&c, 1)) {
			way->length = c.frontier;
			return;
		}
		c.seek_next = true;
		c.next = INFINITY;
		walk(&c);
		if (!(c.next <= c.limit))
			return;
		// A hair beyond, so that no rounding takes it for one that has not begun.
		c.frontier = c.next + pair->slack;
	}
}
