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
/// Blocks of triangles, triangles and convex bodies are looked at along the mean normals of the
/// triangles before they are opened: that interval too holds those of all that they hold.
///
/// The search ends. A walk looks at no pair of parts twice. The end of the interval that is told of
/// two triangles, or of a triangle and a convex body, depends on the two and the direction alone:
/// it is the end that was found, or that of the bounds (head of geom/slide.c). So each pair of
/// triangles moves the frontier, which only grows, at most twice. A walk or a pass over known parts
/// that does not move it is the last one of its turn, so walks are finite in number; in practice
/// there are two or three. Turns from inside to inside are counted. Where there are too many, or
/// rounding tells inside of a body beyond all intervals, the frontier goes to the end of the
/// interval of the two boxes as wholes, beyond which the bodies are parted, whatever their form.

#include "bvh/clear_way.h"
#include "bvh/part_points.h"
#include "geom/convex_query.h"

enum { MOST_TURNS = 256 }; // from inside to inside

// Of the size of the pair: far more than rounding does; and far beyond any clear move.
static const double SLACK = 1e-10, MOST_WAY = 4;
// Slacks of an interval along a normal, so that it holds those of triangles with their own; and a
// cosine that is none.
static const double WIDER = 4, FLAT = 1e-11;

/// Two parts. Smaller keys go first.
typedef struct part_pair {
	float key;
	uint32_t part[2];
} part_pair;

typedef struct clearing {
	const cr_solid_pair *pair;
	const cr_solid *solid[2];
	v3d direction;
	cr_slide_axes axes;
	cr_slide_span convex[2]; // of a convex body
	double frontier;
	double limit;
	bool seek_next; // the least beginning beyond the frontier, not the interval that holds it
	double next;
	double later; // where the next one begins of the intervals that were left as yet to come
	cr_clear_way *way;
	cr_barriers *known;
	part_pair *stack;
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
	*extent = v3d_add(v3d_scale(v3d_sub(u, l), 0.5), (v3d){ s->padding, s->padding, s->padding });
}

/// Of the mesh itself.
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
	return (v3d){ c->axes.axis[side][0][i], c->axes.axis[side][1][i], c->axes.axis[side][2][i] };
}

static void span_of_corners(const clearing *c, int side, const v3d p[3], cr_slide_span *s)
{
	const double(*n)[CR_SLIDE_AXES] = c->axes.axis[side];
	for (int i = 0; i < CR_SLIDE_AXES; i++) {
		const double x = n[0][i] * p[0].x + n[1][i] * p[0].y + n[2][i] * p[0].z;
		const double y = n[0][i] * p[1].x + n[1][i] * p[1].y + n[2][i] * p[1].z;
		const double z = n[0][i] * p[2].x + n[1][i] * p[2].y + n[2][i] * p[2].z;
		const double most = x > y ? x : y, least = x < y ? x : y;
		s->high[i] = (most > z ? most : z) + c->axes.shift[side][i];
		s->low[i] = (least < z ? least : z) + c->axes.shift[side][i];
	}
}

static void span_of_convex(const clearing *c, int side, cr_slide_span *s)
{
	const cr_convex *convex = c->solid[side]->convex;
	for (int i = 0; i < CR_SLIDE_AXES; i++) {
		const v3d n = axis_of(c, side, i);
		const double shift = c->axes.shift[side][i], beyond = convex->rounding;
		s->high[i] = v3d_dot(n, cr_convex_support(convex, n)) + beyond + shift;
		s->low[i] = v3d_dot(n, cr_convex_support(convex, v3d_neg(n))) - beyond + shift;
	}
}

/// Add a ball to a part: the axes are unit.
static void widen(cr_slide_span *s, double radius)
{
	for (int i = 0; i < CR_SLIDE_AXES && radius > 0; i++) {
		s->low[i] -= radius;
		s->high[i] += radius;
	}
}

static void span_of(const clearing *c, int side, uint32_t part, cr_slide_span *s)
{
	const cr_solid *solid = c->solid[side];
	v3d centre, extent, corners[3];
	if (solid->convex) {
		*s = c->convex[side];
		return;
	}
	if (cr_is_triangle_part(part)) {
		cr_collider_triangle(solid->collider, cr_triangle_of_part(part), corners);
		span_of_corners(c, side, corners, s);
		widen(s, solid->padding);
		return;
	}
	if (part == CR_PART_WHOLE)
		cr_solid_box(solid, &centre, &extent);
	else
		node_box(solid->collider, part, &centre, &extent);
	const double(*n)[CR_SLIDE_AXES] = c->axes.axis[side];
	for (int i = 0; i < CR_SLIDE_AXES; i++) {
		const double middle = n[0][i] * centre.x + n[1][i] * centre.y + n[2][i] * centre.z + c->axes.shift[side][i];
		const double reach = fabs(n[0][i]) * extent.x + fabs(n[1][i]) * extent.y + fabs(n[2][i]) * extent.z;
		s->low[i] = middle - reach;
		s->high[i] = middle + reach;
	}
	if (part != CR_PART_WHOLE)
		widen(s, solid->padding);
}

/// Bounds of the moves at which two parts overlap.
static cr_slide bound_slide(const clearing *c, const cr_slide_span *a, const cr_slide_span *b)
{
	cr_slide s = { -INFINITY, INFINITY, c->direction, INFINITY };
	const double slack = c->pair->slack;
	int axis = -1;
	for (int i = 0; i < CR_SLIDE_AXES && s.enter <= s.leave; i++) {
		const double back = b->low[i] - a->high[i] - slack, forth = b->high[i] - a->low[i] + slack;
		if (c->axes.slope[i] == 0) {
			if (back > 0 || forth < 0)
				return (cr_slide){ INFINITY, -INFINITY, c->direction, 0 };
			continue;
		}
		const double p = back * c->axes.inverse[i], q = forth * c->axes.inverse[i], enter = p < q ? p : q, leave = p < q ? q : p;
		s.enter = enter > s.enter ? enter : s.enter;
		if (leave < s.leave) {
			s.leave = leave;
			axis = i;
		}
	}
	if (axis >= 0) {
		s.normal = v3d_scale(axis_of(c, 0, axis), c->axes.slope[axis] > 0 ? 1 : -1);
		s.reach = s.leave * fabs(c->axes.slope[axis]);
	}
	return s;
}

// ---- The walk ----

/// Is an interval of any use to the walk?
static bool is_wanted(clearing *c, double enter, double leave)
{
	if (enter > leave || leave <= c->frontier)
		return false;
	if (c->seek_next)
		return enter < c->next;
	if (enter <= c->frontier)
		return true;
	c->later = enter < c->later ? enter : c->later;
	return false;
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
	const cr_collider *collider = c->solid[opened]->collider;
	const uint32_t child = cr_child_of_part(collider, pair->part[opened]);
	double enter[CR_WIDTH], leave[CR_WIDTH];
	cr_slide_span other;
	span_of(c, 1 - opened, pair->part[1 - opened], &other);
	widen(&other, c->solid[opened]->padding); // the kernel sees the mesh itself
	const int base = c->top;
	uint32_t lanes = c->pair->kernels->slide(&c->axes, collider, opened, child, &other, enter, leave);
	for (; lanes; lanes &= lanes - 1) {
		const int i = __builtin_ctz(lanes);
		if (!is_wanted(c, enter[i], leave[i]))
			continue;
		part_pair inner = *pair;
		inner.part[opened] = cr_part_of_child(collider, child, i);
		inner.key = cr_round_down(c->seek_next ? enter[i] : -leave[i]);
		push(c, base, &inner);
	}
}

// ---- Along normals ----

/// The greatest and the least n . p of a part. n: frame of A.
static void extent_along(const clearing *c, const cr_part_points points[2], int side, v3d n, double *low, double *high)
{
	const cr_convex *convex = c->solid[side]->convex;
	const v3d own = side ? m3d_tmul(&c->pair->b_in_a.rotation, n) : n;
	const double shift = side ? v3d_dot(n, c->pair->b_in_a.position) : 0;
	if (convex) {
		*high = v3d_dot(own, cr_convex_support(convex, own)) + convex->rounding + shift;
		*low = v3d_dot(own, cr_convex_support(convex, v3d_neg(own))) - convex->rounding + shift;
		return;
	}
	*low = cr_least_of_points(&points[side], own) - c->solid[side]->padding + shift;
	*high = -cr_least_of_points(&points[side], v3d_neg(own)) + c->solid[side]->padding + shift;
}

/// Is the interval along a normal, which holds that of the parts, of use to the walk?
static bool is_wanted_along(clearing *c, const cr_part_points points[2], v3d n)
{
	double low[2], high[2];
	const double slope = v3d_dot(n, c->direction), slack = WIDER * c->pair->slack;
	for (int i = 0; i < 2; i++)
		extent_along(c, points, i, n, &low[i], &high[i]);
	const double back = low[1] - high[0] - slack, forth = high[1] - low[0] + slack;
	if (fabs(slope) < FLAT)
		return !(back > 0 || forth < 0);
	const double p = back / slope, q = forth / slope;
	return is_wanted(c, p < q ? p : q, p < q ? q : p);
}

/// Look at two parts that are triangles, blocks of them or convex bodies along their mean normals:
/// surfaces that lie close to each other are apart along these, and not along the axes of boxes.
static __attribute__((noinline)) bool is_wanted_by_normals(clearing *c, const part_pair *pair)
{
	cr_part_points points[2]; // here, since the stack of the search is deep enough
	for (int i = 0; i < 2; i++) {
		const cr_solid *s = c->solid[i];
		if (s->collider && !cr_has_part_points(s->collider, pair->part[i]))
			return true;
	}
	for (int i = 0; i < 2; i++) {
		if (c->solid[i]->collider)
			cr_gather_part_points(c->solid[i]->collider, pair->part[i], &points[i]);
	}
	for (int i = 0; i < 2; i++) {
		const v3d n = c->solid[i]->collider ? points[i].normal : (v3d){ 0, 0, 0 };
		if (v3d_dot(n, n) > 0 && !is_wanted_along(c, points, i ? m3d_mul(&c->pair->b_in_a.rotation, n) : n))
			return false;
	}
	return true;
}

cr_convex cr_part_of_solid(const cr_solid *s, int32_t triangle)
{
	if (s->convex)
		return *s->convex;
	cr_convex part = { .core = CR_CORE_TRIANGLE, .rounding = s->padding };
	cr_collider_triangle(s->collider, triangle, part.corner);
	return part;
}

static cr_convex convex_of(const cr_solid *s, uint32_t part)
{
	return cr_part_of_solid(s, s->convex ? -1 : cr_triangle_of_part(part));
}

/// The interval of two convex bodies. Most do not hold the frontier: that is asked first.
static cr_slide slide_convex(clearing *c, const cr_convex *a, const cr_convex *b, const cr_slide *first)
{
	const cr_solid_pair *p = c->pair;
	cr_slide s = *first;
	if (c->seek_next) {
		cr_slide_convex(a, b, &p->b_in_a, c->direction, p->slack, first, &s);
		return s;
	}
	if (!cr_slide_holds(a, b, &p->b_in_a, c->direction, p->slack, c->frontier, &s.enter))
		return s;
	if (!cr_slide_end(a, b, &p->b_in_a, c->direction, p->slack, first->leave, c->frontier, &s.leave, &s.normal))
		s.leave = -INFINITY;
	else if (s.leave < first->leave)
		s.reach = s.leave * v3d_dot(s.normal, c->direction);
	return s;
}

/// The interval of two parts that are not to be opened.
static cr_slide slide_parts(clearing *c, const part_pair *pair)
{
	const cr_solid_pair *p = c->pair;
	const cr_convex a = convex_of(c->solid[0], pair->part[0]), b = convex_of(c->solid[1], pair->part[1]);
	if (a.core != CR_CORE_TRIANGLE || b.core != CR_CORE_TRIANGLE || a.rounding + b.rounding > 0) {
		cr_slide_span spans[2];
		span_of(c, 0, pair->part[0], &spans[0]);
		span_of(c, 1, pair->part[1], &spans[1]);
		const cr_slide first = bound_slide(c, &spans[0], &spans[1]);
		return is_wanted(c, first.enter, first.leave) ? slide_convex(c, &a, &b, &first) : first;
	}
	cr_slide s;
	v3d corners[3];
	for (int k = 0; k < 3; k++)
		corners[k] = v3d_add(m3d_mul(&p->b_in_a.rotation, b.corner[k]), p->b_in_a.position);
	cr_slide_triangles(a.corner, corners, c->direction, p->slack, c->frontier, c->seek_next ? c->next : c->frontier, &s);
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
	if (!is_wanted(c, s.enter, s.leave))
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
static __attribute__((noinline)) void walk(clearing *c)
{
	part_pair stack[CR_TWO_TREES_STACK]; // not of the search: that asks for much else between walks
	c->stack = stack;
	c->top = 0;
	c->later = INFINITY;
	c->stack[c->top++] = (part_pair){ -INFINITY, { CR_PART_WHOLE, CR_PART_WHOLE } };
	while (c->top > 0 && c->frontier <= c->limit) {
		const part_pair pair = c->stack[--c->top];
		if (c->seek_next ? (double)pair.key > c->next : -(double)pair.key <= c->frontier)
			continue;
		if (!is_wanted_by_normals(c, &pair))
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
		c->axes.axis[0][k][i] = v3d_get(n, k);
		c->axes.axis[1][k][i] = v3d_get(own, k);
	}
	c->axes.shift[0][i] = 0;
	c->axes.shift[1][i] = v3d_dot(n, c->pair->b_in_a.position);
	c->axes.slope[i] = fabs(slope) < FLAT ? 0 : slope;
	c->axes.inverse[i] = c->axes.slope[i] == 0 ? 0 : 1 / c->axes.slope[i];
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
	c->axes.slack = c->pair->slack;
	set_axis(c, 0, across);
	set_axis(c, 1, v3d_cross(d, across));
	for (int k = 0; k < 3; k++) {
		set_axis(c, 2 + k, (v3d){ k == 0, k == 1, k == 2 });
		set_axis(c, 5 + k, (v3d){ v3d_get(r->row[0], k), v3d_get(r->row[1], k), v3d_get(r->row[2], k) });
	}
	for (int i = 0; i < 2; i++) {
		if (c->solid[i]->convex)
			span_of_convex(c, i, &c->convex[i]);
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

/// Move the frontier to where the boxes of the two solids are apart. false: it passes the limit.
static bool leave_whole(clearing *c)
{
	cr_slide_span spans[2];
	span_of(c, 0, CR_PART_WHOLE, &spans[0]);
	span_of(c, 1, CR_PART_WHOLE, &spans[1]);
	const cr_slide whole = bound_slide(c, &spans[0], &spans[1]);
	if (whole.leave > c->frontier) {
		c->frontier = whole.leave;
		c->way->normal = whole.normal;
		c->way->reach = whole.reach;
		c->way->blocked = true;
	}
	return c->frontier <= c->limit;
}

/// Move the frontier to the first clear move. false: it passes the limit.
static bool reach_clear_move(clearing *c)
{
	for (int turn = 0; turn < MOST_TURNS; turn++) {
		c->seek_next = false;
		do {
			pass_known(c);
			walk(c);
			// Intervals that were left aside begin later still: none holds the frontier.
		} while (c->frontier >= c->later && c->frontier <= c->limit);
		if (!(c->frontier <= c->limit))
			return false;
		if (!lies_inside(c, 0) && !lies_inside(c, 1))
			return true;
		c->seek_next = true;
		c->next = INFINITY;
		walk(c);
		if (c->next == INFINITY)
			break;
		// A hair beyond, so that no rounding takes it for one that has not begun.
		c->frontier = c->next + c->pair->slack;
		if (!(c->frontier <= c->limit))
			return false;
	}
	return leave_whole(c);
}

void cr_find_clear_way(
	const cr_solid_pair *pair, v3d direction, double from, double limit, cr_barriers *known, cr_clear_way *way)
{
	clearing c;
	const double farthest = MOST_WAY * pair->size;
	c.pair = pair;
	c.solid[0] = pair->a;
	c.solid[1] = pair->b;
	c.direction = direction;
	c.frontier = from;
	c.limit = limit < farthest ? limit : farthest;
	c.way = way;
	c.known = known;
	*way = (cr_clear_way){ .direction = direction, .length = INFINITY, .triangle = { -1, -1 } };
	set_axes(&c);
	if (reach_clear_move(&c))
		way->length = c.frontier;
	way->passed = c.frontier <= farthest ? c.frontier : INFINITY;
}
