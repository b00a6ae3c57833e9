/// The corners of the common part of two solids, from the pierces of their edges.
///
/// Input: the pierces of both bodies, sorted by edge and along it. Output: corners and the facets
/// that take part.
/// - An edge that pierces the other's surface has an end inside, or a piece between two pierces.
/// - From such ends on, vertices are inside as far as edges lead that pierce nothing (a flood along
///   edges). So no vertex is asked for its side: the inside agrees with the crossings, which are
///   exact.
/// An open mesh has no inside; the flood then finds the vertices behind it, and with a body that
/// hangs over its border others too, which lie behind no facet. Cost: edges around the vertices
/// inside.

#include "contact/common_part.h"
#include <string.h>

// ---- Sets of numbers ----

// Numbers below this have a bit each.
enum { MOST_BITS = 1024 };

/// Begin a set of numbers below range.
static void begin_set(cr_overlap *o, cr_number_set *s, int32_t range)
{
	*s = (cr_number_set){ .count = 0 };
	if (range > MOST_BITS)
		return;
	const size_t words = ((size_t)range + 31) / 32;
	s->bits = cr_arena_alloc(&o->completion->worker->arena, (words + (size_t)range + 1) * sizeof *s->bits);
	if (!s->bits) {
		o->failed = true;
		return;
	}
	memset(s->bits, 0, words * sizeof *s->bits);
	s->list = (int32_t *)(s->bits + words);
}

static bool set_has_room(cr_arena *arena, cr_number_set *s)
{
	if (2 * (s->count + 1) <= s->room)
		return true;
	const int32_t room = s->room ? 2 * s->room : 64;
	int32_t *table = cr_arena_alloc(arena, (size_t)room * sizeof *table);
	int32_t *list = cr_arena_alloc(arena, (size_t)room / 2 * sizeof *list);
	if (!table || !list)
		return false;
	memset(table, 0, (size_t)room * sizeof *table);
	for (int32_t i = 0; i < s->count; i++) {
		list[i] = s->list[i];
		uint32_t at = (uint32_t)list[i] * 0x9e3779b1u & (uint32_t)(room - 1);
		while (table[at] != 0)
			at = (at + 1) & (uint32_t)(room - 1);
		table[at] = list[i] + 1;
	}
	*s = (cr_number_set){ .list = list, .table = table, .count = s->count, .room = room };
	return true;
}

/// As add_number, of a set with a table.
static bool add_to_table(cr_overlap *o, cr_number_set *s, int32_t number)
{
	if (!set_has_room(&o->completion->worker->arena, s)) {
		o->failed = true;
		return false;
	}
	uint32_t at = (uint32_t)number * 0x9e3779b1u & (uint32_t)(s->room - 1);
	for (; s->table[at] != 0; at = (at + 1) & (uint32_t)(s->room - 1)) {
		if (s->table[at] == number + 1)
			return false;
	}
	s->table[at] = number + 1;
	s->list[s->count++] = number;
	return true;
}

/// Add a number; false when it was there, or memory ran out.
static inline bool add_number(cr_overlap *o, cr_number_set *s, int32_t number)
{
	if (!s->bits)
		return add_to_table(o, s, number);
	// Whether it was there cannot be foretold.
	uint32_t *word = &s->bits[(uint32_t)number / 32];
	const uint32_t bit = 1u << (uint32_t)number % 32;
	const bool is_new = !(*word & bit);
	*word |= bit;
	s->list[s->count] = number;
	s->count += is_new;
	return is_new;
}

// ---- Corners ----

static void add_corner(cr_overlap *o, cr_overlap_corner corner)
{
	if (o->count == o->capacity) {
		cr_overlap_corner *grown =
			cr_arena_grow(&o->completion->worker->arena, o->corners, o->count, &o->capacity, sizeof *grown);
		if (!grown) {
			o->failed = true;
			return;
		}
		o->corners = grown;
	}
	o->corners[o->count++] = corner;
}

static v3d vertex_in_a(const cr_overlap *o, int side, int32_t vertex)
{
	const cr_topology *t = o->completion->collider[side]->topology;
	return cr_to_a(o->completion, side, v3d_from_floats(&t->vertices[3 * (int64_t)vertex]));
}

static v3d along_edge(const cr_overlap *o, int side, int32_t half_edge, double s)
{
	const int32_t *v = &o->completion->collider[side]->topology->triangles[3 * (int64_t)(half_edge / 3)];
	const v3d from = vertex_in_a(o, side, v[half_edge % 3]), to = vertex_in_a(o, side, v[(half_edge % 3 + 1) % 3]);
	return v3d_mad(from, s, v3d_sub(to, from));
}

static void add_pierce(cr_overlap *o, int side, const cr_pierce *p)
{
	const int32_t facet = o->facets[1 - side]->of_triangle[p->other];
	add_corner(o, (cr_overlap_corner){ along_edge(o, side, p->edge, p->s), CR_CORNER_PIERCE, side, p->edge, p->other, facet });
	add_number(o, &o->touched[1 - side], facet);
}

/// The middle of a piece of a crease.
static void add_middle(cr_overlap *o, int side, int32_t edge, double s)
{
	add_corner(o, (cr_overlap_corner){ along_edge(o, side, edge, s), CR_CORNER_MIDDLE, side, edge, -1, -1 });
}

/// The piece of a crease between two pierces.
static void add_piece(cr_overlap *o, int side, const cr_pierce *enter, const cr_pierce *leave)
{
	add_pierce(o, side, enter);
	add_pierce(o, side, leave);
	add_middle(o, side, enter->edge, 0.5 * (enter->s + leave->s));
}

// ---- The flood ----

enum { PIERCED_WORDS = 16 };

/// Vertices that are reached, and for each a triangle and the corner of it that it is.
typedef struct flood {
	cr_overlap *overlap;
	int side;
	const cr_topology *topology;
	// bits of the pierced edges, from either side, by their numbers modulo 512: most edges that
	// are asked for are not pierced, and nearly all of these are told by their bit
	uint32_t pierced[PIERCED_WORDS];
	cr_number_set reached; // of vertices as welded
	int32_t *corner;       // 3 * triangle + corner of those in reached.list
	int64_t capacity;
} flood;

static void reach(flood *f, int32_t triangle, int corner)
{
	const int32_t vertex = f->topology->triangles[3 * (int64_t)triangle + corner];
	const int32_t at = f->reached.count;
	if (!add_number(f->overlap, &f->reached, f->topology->weld[vertex]))
		return;
	if (at == f->capacity) {
		int32_t *grown = cr_arena_grow(&f->overlap->completion->worker->arena, f->corner, at, &f->capacity, sizeof *grown);
		if (!grown) {
			f->overlap->failed = true;
			f->reached.count = at; // there is a corner for each of the list
			return;
		}
		f->corner = grown;
	}
	f->corner[at] = 3 * triangle + corner;
}

/// The half-edge on the other side of an edge of a triangle; the edge itself where there is none.
static int32_t half_edge_across(const cr_topology *t, int32_t triangle, int k)
{
	const int32_t across = t->neighbours[3 * (int64_t)triangle + k];
	if (across < 0)
		return 3 * triangle + k;
	const int32_t end = t->weld[t->triangles[3 * (int64_t)triangle + (k + 1) % 3]];
	uint32_t same = 0;
	for (int j = 0; j < 3; j++) {
		const int64_t edge = 3 * (int64_t)across + j;
		same |= (uint32_t)((t->neighbours[edge] == triangle) & (t->weld[t->triangles[edge]] == end)) << j;
	}
	return same ? 3 * across + __builtin_ctz(same) : 3 * triangle + k;
}

int32_t cr_owner_of_edge(const cr_topology *t, int32_t triangle, int k)
{
	return t->neighbours[3 * (int64_t)triangle + k] < triangle ? half_edge_across(t, triangle, k) : 3 * triangle + k;
}

static void mark_pierced(flood *f, int32_t edge)
{
	const int32_t across = half_edge_across(f->topology, edge / 3, edge % 3);
	f->pierced[edge / 32 % PIERCED_WORDS] |= 1u << edge % 32;
	f->pierced[across / 32 % PIERCED_WORDS] |= 1u << across % 32;
}

/// Is an edge of a triangle pierced?
static bool is_pierced(const flood *f, int32_t triangle, int k)
{
	const int32_t half_edge = 3 * triangle + k;
	const bool marked = f->pierced[half_edge / 32 % PIERCED_WORDS] >> half_edge % 32 & 1;
	if (!marked || 3 * (int64_t)f->topology->triangle_count <= 32 * PIERCED_WORDS)
		return marked;
	const cr_completion *c = f->overlap->completion;
	const int32_t edge = cr_owner_of_edge(f->topology, triangle, k);
	const cr_pierce *first = cr_first_pierce(c, f->side, edge);
	return first < c->pierces[f->side].data + c->pierces[f->side].count && first->edge == edge;
}

static void touch_facet(flood *f, int32_t triangle)
{
	const int32_t facet = f->overlap->facets[f->side]->of_triangle[triangle];
	if (facet >= 0)
		add_number(f->overlap, &f->overlap->touched[f->side], facet);
}

/// Along an edge of a triangle at a corner: the one that begins there, or the one that ends there.
static void spread_along(flood *f, int32_t triangle, int corner, bool begins)
{
	const int before = (corner + 2) % 3;
	if (!is_pierced(f, triangle, begins ? corner : before))
		reach(f, triangle, begins ? (corner + 1) % 3 : before);
}

static void spread(flood *f, int32_t first, int first_corner)
{
	// No fan has more triangles; one that does not close ends at a border, and is gone round the
	// other way too.
	const int32_t most = f->topology->triangle_count;
	touch_facet(f, first);
	spread_along(f, first, first_corner, true);
	spread_along(f, first, first_corner, false);
	for (int forward = 1; forward >= 0; forward--) {
		int32_t triangle = first, count = 0;
		int corner = first_corner;
		while (count++ < most && cr_next_in_fan(f->topology, forward, &triangle, &corner)) {
			if (triangle == first)
				return;
			touch_facet(f, triangle);
			spread_along(f, triangle, corner, !forward);
		}
	}
}

/// Does a point (own frame) of which the grid knows nothing lie outside a closed body, farther from
/// its surface than tolerance?
static bool winds_outside(const cr_completion *c, int side, v3d point, double tolerance)
{
	const cr_collider *body = c->collider[side];
	for (int k = 0; k < 3; k++) {
		if (v3d_get(point, k) < body->lower[k] - tolerance || v3d_get(point, k) > body->upper[k] + tolerance)
			return true;
	}
	const float from[3] = { (float)point.x, (float)point.y, (float)point.z }, direction[3] = { 0.11f, 0.07f, 0.99f };
	cr_near_point near;
	return c->pipeline->bvh->winding(body, from, direction) == 0 &&
		!c->pipeline->bvh->closest(body, point, tolerance, true, &near);
}

/// Is a vertex surely outside the other body, by more than rounding? Where bodies touch exactly,
/// edges may end where it cannot be said on which side they go on.
static bool is_outside(const flood *f, v3d at)
{
	const cr_completion *c = f->overlap->completion;
	const int other = 1 - f->side;
	const cr_facets *facets = f->overlap->facets[other];
	const v3d p = cr_from_a(c, other, at);
	const double tolerance = 1e-6 * ((double)c->collider[0]->scale + c->collider[1]->scale);
	if (facets->convex) {
		for (int32_t i = 0; i < facets->count; i++) {
			if (v3d_dot(facets->data[i].normal, p) - facets->data[i].offset > tolerance)
				return true;
		}
		return false;
	}
	const float point[3] = { (float)p.x, (float)p.y, (float)p.z };
	if (!c->collider[other]->closed)
		return false;
	const int known = cr_side_of(c->collider[other], point);
	return known < 0 || (known == 0 && winds_outside(c, other, p, tolerance));
}

static void run_flood(flood *f)
{
	for (int32_t i = 0; i < f->reached.count && !f->overlap->failed; i++) {
		const int32_t corner = f->corner[i], vertex = f->topology->triangles[corner];
		const v3d at = vertex_in_a(f->overlap, f->side, vertex);
		if (is_outside(f, at))
			continue;
		spread(f, corner / 3, corner % 3);
		if (cr_holds_point(f->overlap->completion->body[f->side], f->reached.list[i]))
			add_corner(f->overlap, (cr_overlap_corner){ at, CR_CORNER_VERTEX, f->side, vertex, corner / 3, -1 });
	}
}

// ---- Edges ----

/// Does an edge go in where it pierces?
static bool enters(const cr_overlap *o, int side, const cr_pierce *p)
{
	return p->entering != (o->two_sided[1 - side] && cr_is_turned(o, 1 - side, o->facets[1 - side]->of_triangle[p->other]));
}

/// An end of an edge that lies inside. Of a crease with a middle: that of the piece from there to
/// the next pierce.
static void take_end(flood *f, int32_t edge, int corner, bool has_middle, double middle)
{
	reach(f, edge / 3, corner);
	if (has_middle)
		add_middle(f->overlap, f->side, edge, middle);
}

/// The pierces of one edge, in order. Those of an edge shared by two triangles come twice: the
/// first entry and the first exit count.
static void take_edge(flood *f, const cr_pierce *first, const cr_pierce *end)
{
	cr_overlap *o = f->overlap;
	const int32_t edge = first->edge;
	const bool crease = cr_is_crease(o->facets[f->side], edge);
	const bool has_middle = crease && !cr_are_both_convex(o); // else their corners tell all
	mark_pierced(f, edge);
	if (!enters(o, f->side, first))
		take_end(f, edge, edge % 3, has_middle, 0.5 * first->s);
	if (enters(o, f->side, &end[-1]))
		take_end(f, edge, (edge % 3 + 1) % 3, has_middle, 0.5 * (end[-1].s + 1));
	const cr_pierce *open = NULL;
	for (const cr_pierce *p = first; p < end && crease; p++) {
		if (enters(o, f->side, p)) {
			open = open ? open : p;
			continue;
		}
		if (open)
			add_piece(o, f->side, open, p);
		else if (p == first)
			add_pierce(o, f->side, p);
		open = NULL;
	}
	if (open)
		add_pierce(o, f->side, open);
}

static void take_side(cr_overlap *o, int side)
{
	flood f = { .overlap = o, .side = side, .topology = o->completion->collider[side]->topology };
	begin_set(o, &f.reached, f.topology->vertex_count);
	const cr_pierce *data = o->completion->pierces[side].data, *end = data + o->completion->pierces[side].count;
	while (data < end) {
		const cr_pierce *next = data;
		while (next < end && next->edge == data->edge)
			next++;
		take_edge(&f, data, next);
		data = next;
	}
	run_flood(&f);
}

static void begin_side(cr_overlap *o, int side)
{
	const cr_body *body = o->completion->body[side];
	const v3d middle = cr_local_box_of(body).centre;
	o->facets[side] = &body->shape.mesh->facets;
	o->two_sided[side] = !o->completion->collider[side]->closed && !cr_has_front(body);
	o->middle[side] = cr_from_a(o->completion, 1 - side, cr_to_a(o->completion, side, middle));
	begin_set(o, &o->touched[side], o->facets[side]->thin ? INT32_MAX : o->facets[side]->count);
}

/// Put the corners that are no pierces first. Both kinds keep their order. false: out of memory.
static bool put_elements_first(cr_overlap *o)
{
	cr_overlap_corner *pierces = cr_arena_alloc(&o->completion->worker->arena, (size_t)o->count * sizeof *pierces);
	if (!pierces)
		return false;
	int32_t count = 0;
	for (int32_t i = 0; i < o->count; i++) {
		const cr_overlap_corner corner = o->corners[i];
		pierces[count] = corner;
		o->corners[o->elements] = corner;
		count += corner.kind == CR_CORNER_PIERCE;
		o->elements += corner.kind != CR_CORNER_PIERCE;
	}
	if (count > 0)
		memcpy(o->corners + o->elements, pierces, (size_t)count * sizeof *pierces);
	return true;
}

bool cr_find_overlap(cr_completion *c, const cr_candidates *crossing, cr_overlap *o)
{
	*o = (cr_overlap){ .completion = c };
	for (int side = 0; side < 2; side++)
		begin_side(o, side);
	o->capacity = 2 * (c->pierces[0].count + (int64_t)c->pierces[1].count) + 16;
	o->corners = cr_arena_alloc(&c->worker->arena, (size_t)o->capacity * sizeof *o->corners);
	if (o->failed || !o->corners)
		return false;
	for (int32_t i = 0; i < crossing->count; i++) {
		add_number(o, &o->touched[0], o->facets[0]->of_triangle[crossing->data[i].a]);
		add_number(o, &o->touched[1], o->facets[1]->of_triangle[crossing->data[i].b]);
	}
	take_side(o, 0);
	take_side(o, 1);
	return !o->failed && put_elements_first(o);
}
