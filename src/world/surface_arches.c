/// Edges of cloth that go through a closed mesh while both of their ends are outside: a rod lies
/// across a large triangle. No step tells of it where a body was made there, was put elsewhere, or
/// has grown.
///
/// A plane through such an edge cuts the mesh along an arch: it begins where the edge enters, goes
/// over the mesh to one side of the edge, and ends where the edge leaves. An edge that moves to
/// this side, in the plane, is out when it has reached the highest point of the arch, which lies on
/// an edge of the mesh. These two edges are the contact, and its distance is that of their lines.
///
/// Edges of one cloth that share a triangle move to one side, or the triangle would turn about the
/// mesh. The side is that of a contact of the last step, or of an impact, of an edge of these
/// triangles; else that of 26 directions around them for which the arches are lowest in all. An
/// edge that has no arch there takes the lowest that it has.
///
/// Where such an edge moves along the mesh, the place at which it pierces passes from face to face,
/// and an impact tells that: it is no way back (surface_ridges.c).
///
/// Cost: O(edges that are cut, each with the triangles under 26 arches of its own).
#include "base/radix.h"
#include "base/stable_sort.h"
#include "world/surface_cuts.h"
#include "world/world.h"
#include <string.h>

enum { MOST_SAMPLES = 32, MOST_STEPS = 4096 };

// Of the length of a direction: as much at least must be across an edge.
#define LEAST_ACROSS 0.5
// Cosine from the direction of an arch to the normal of two edges: below it the direction counts.
#define LEAST_ALONG 0.25

/// The highest point of an arch.
typedef struct arch {
	double height;
	v3d point;
	int32_t ends[2]; // of the edge that it lies on, as the triangle has them
	double at;       // from the first of them
} arch;

typedef struct work {
	const cr_cut_pair *pair;
	cr_cut_lists *lists;
	v3d around[CR_DIRECTIONS];
} work;

// ---- Arches ----

/// A plane through an edge, and heights in it.
typedef struct cut {
	const cr_placed *solid;
	v3d from, up, normal;
} cut;

/// Where the plane cuts an edge of a triangle of the mesh: its height. False: it does not.
static bool meets_edge(const cut *c, int32_t triangle, int k, arch *at)
{
	const int32_t *t = &c->solid->faces->triangles[3 * (int64_t)triangle];
	const v3d p = v3d_sub(cr_placed_vertex(c->solid, t[k]), c->from),
			  q = v3d_sub(cr_placed_vertex(c->solid, t[(k + 1) % 3]), c->from);
	const double side_p = v3d_dot(c->normal, p), side_q = v3d_dot(c->normal, q);
	if ((side_p >= 0) == (side_q >= 0))
		return false;
	at->at = side_p / (side_p - side_q);
	at->point = v3d_mad(p, at->at, v3d_sub(q, p));
	at->height = v3d_dot(c->up, at->point);
	at->ends[0] = t[k];
	at->ends[1] = t[(k + 1) % 3];
	return true;
}

/// The edge, other than one with these welded ends (none: -1), where the plane leaves a triangle;
/// the higher one of two. -1: there is none.
static int leave(const cut *c, int32_t triangle, const int32_t entered[2], arch *at)
{
	const int32_t *t = &c->solid->faces->triangles[3 * (int64_t)triangle], *weld = c->solid->faces->weld;
	int found = -1;
	for (int k = 0; k < 3; k++) {
		const int32_t p = weld[t[k]], q = weld[t[(k + 1) % 3]];
		arch now;
		if ((p == entered[0] && q == entered[1]) || (p == entered[1] && q == entered[0]) || !meets_edge(c, triangle, k, &now) ||
			(found >= 0 && now.height <= at->height))
			continue;
		*at = now;
		found = k;
	}
	return found;
}

/// Climb over the mesh from where an edge enters to where it leaves. along: unit, of the edge; up:
/// unit, across it. False: the way does not lead there.
static bool climb(const cr_cut_pair *pair, const cr_cut_span *span, v3d along, v3d up, arch *top)
{
	const cut c = { &pair->of_solid, cr_placed_vertex(&pair->of_cloth, span->ends[0]), up, v3d_cross(along, up) };
	const int32_t *weld = c.solid->faces->weld;
	int32_t triangle = span->enter, entered[2] = { -1, -1 };
	top->height = 0;
	for (int step = 0; step < MOST_STEPS && triangle >= 0; step++) {
		arch now;
		if (step > 0 && triangle == span->leave)
			return top->height > 0;
		const int k = leave(&c, triangle, entered, &now);
		if (k < 0 || !(now.height > 0))
			return false;
		if (now.height > top->height)
			*top = now;
		entered[0] = weld[now.ends[0]];
		entered[1] = weld[now.ends[1]];
		triangle = c.solid->faces->neighbours[3 * (int64_t)triangle + k];
	}
	return false;
}

static v3d along_of(const cr_cut_pair *pair, const cr_cut_span *span)
{
	return v3d_normalize(
		v3d_sub(cr_placed_vertex(&pair->of_cloth, span->ends[1]), cr_placed_vertex(&pair->of_cloth, span->ends[0])));
}

/// The arch to the side of a direction. False: there is none.
static bool arch_towards(const cr_cut_pair *pair, const cr_cut_span *span, v3d direction, v3d *up, arch *top)
{
	const v3d along = along_of(pair, span);
	const v3d across = v3d_mad(direction, -v3d_dot(direction, along), along);
	*up = v3d_normalize(across);
	return v3d_length(across) >= LEAST_ACROSS && climb(pair, span, along, *up, top);
}

// ---- Spans ----

static bool is_entering(const cr_piercing *p) { return p->side[0] > 0 || p->side[1] < 0; }

/// Is a face of the edge led out with a region?
static bool is_led(const cr_cut_pair *pair, const cr_piercing *p)
{
	const int32_t across = pair->of_cloth.faces->neighbours[3 * (int64_t)p->own + p->corner];
	return cr_find_led_face(pair->world, pair->cloth, pair->solid, p->own) ||
		(across >= 0 && cr_find_led_face(pair->world, pair->cloth, pair->solid, across));
}

/// List the parts inside of one edge, whose piercings these are. An edge that begins or ends inside
/// has none.
static bool list_spans_of(work *w, const cr_piercing *p, int64_t count)
{
	cr_cut_lists *lists = w->lists;
	const cr_piercing *enter = NULL;
	if (!is_entering(&p[0]) || is_entering(&p[count - 1]) || is_led(w->pair, p))
		return true;
	for (int64_t i = 0; i < count; i++) {
		if (is_entering(&p[i])) {
			enter = enter ? enter : &p[i]; // an edge of the mesh has two faces
			continue;
		}
		if (enter && enter->triangle != p[i].triangle) {
			if (!cr_array_reserve_one(&w->pair->world->memory, &lists->spans))
				return false;
			lists->spans.data[lists->spans.count++] = (cr_cut_span){ .ends = { p->ends[0], p->ends[1] },
				.own = p->own,
				.corner = p->corner,
				.enter = enter->triangle,
				.leave = p[i].triangle };
		}
		enter = NULL;
	}
	return true;
}

static bool list_spans(work *w)
{
	const cr_piercings *edges = w->pair->cloth_edges;
	bool enough = true;
	w->lists->spans.count = 0;
	for (int64_t i = 0, end; i < edges->count && enough; i = end) {
		const cr_piercing *p = &edges->data[i];
		for (end = i; end < edges->count && edges->data[end].ends[0] == p->ends[0] && edges->data[end].ends[1] == p->ends[1];)
			end++;
		enough = list_spans_of(w, p, end - i);
	}
	return enough;
}

// ---- Groups ----

static int32_t group_of(const cr_cut_lists *lists, int32_t span)
{
	while (lists->spans.data[span].group != span)
		span = lists->spans.data[span].group;
	return span;
}

/// Give each span the lowest one that is joined to it by triangles of the cloth. False when out of
/// memory.
static bool group_spans(work *w)
{
	cr_cut_lists *lists = w->lists;
	const int64_t count = lists->spans.count;
	if (!cr_array_reserve_fresh(&w->pair->world->memory, &lists->sharing, 4 * count))
		return false;
	lists->sharing.count = 2 * count;
	for (int64_t i = 0; i < count; i++) {
		cr_cut_span *span = &lists->spans.data[i];
		const int32_t across = w->pair->of_cloth.faces->neighbours[3 * (int64_t)span->own + span->corner];
		span->group = (int32_t)i;
		lists->sharing.data[2 * i] = (cr_key){ (uint64_t)span->own, (uint32_t)i };
		lists->sharing.data[2 * i + 1] = (cr_key){ (uint64_t)(across < 0 ? span->own : across), (uint32_t)i };
	}
	cr_radix_sort(lists->sharing.data, lists->sharing.data + 2 * count, 2 * count, 64);
	for (int64_t i = 1; i < 2 * count; i++) {
		const cr_key *key = &lists->sharing.data[i];
		if (key->key != key[-1].key)
			continue;
		const int32_t a = group_of(lists, (int32_t)key->value), b = group_of(lists, (int32_t)key[-1].value);
		lists->spans.data[a > b ? a : b].group = a > b ? b : a;
	}
	for (int64_t i = 0; i < count; i++)
		lists->spans.data[i].group = group_of(lists, (int32_t)i);
	return true;
}

// ---- Sides ----

static int compare_ways(const void *a, const void *b)
{
	const cr_cut_way *x = a, *y = b;
	const int32_t of_x[4] = { x->cloth, x->solid, x->ends[0], x->ends[1] };
	const int32_t of_y[4] = { y->cloth, y->solid, y->ends[0], y->ends[1] };
	int order = 0;
	for (int k = 0; k < 4 && order == 0; k++)
		order = cr_compare_numbers(of_x[k], of_y[k]);
	for (int k = 0; k < 3 && order == 0; k++)
		order = x->out[k] < y->out[k] ? -1 : x->out[k] > y->out[k];
	return order;
}

/// Note the side of an edge of cloth that is through a closed mesh. False when out of memory.
static bool note_way(carom_world *world, const carom_surface_contact *c)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	if (c->kind != CAROM_SWEEP_EDGE_EDGE || !c->through)
		return true;
	const int32_t a = cr_find_member(&m->members.list, cr_part_a_of(c)), b = cr_find_member(&m->members.list, cr_part_b_of(c));
	if (a < 0 || b < 0 || !cr_may_be_cut(world, a, b))
		return true;
	cr_cut_lists *lists = &world->surface_contacts.cuts;
	const bool turned = cr_body_of_member(world, a)->kind != CAROM_CLOTH;
	const double sign = turned ? -1 : 1;
	if (!cr_array_reserve_one(&world->memory, &lists->ways))
		return false;
	lists->ways.data[lists->ways.count++] = (cr_cut_way){ .cloth = turned ? b : a,
		.solid = turned ? a : b,
		.ends = { c->vertices[turned ? 2 : 0], c->vertices[turned ? 3 : 1] },
		.out = { sign * c->normal.x, sign * c->normal.y, sign * c->normal.z } };
	return true;
}

/// Note those of the last step, and of this one as far as they are known.
static bool note_ways(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	bool enough = true;
	m->cuts.ways.count = 0;
	for (int64_t i = 0; i < m->known && enough; i++)
		enough = !cr_is_remembered(world, &m->found.data[i]) || note_way(world, &m->found.data[i]);
	for (int64_t i = 0; i < view->pair_count && enough; i++)
		enough = !m->listed.data[i] || note_way(world, &m->judged.data[i]);
	for (int64_t i = 0; i < m->deep.count && enough; i++)
		enough = note_way(world, &m->deep.data[i]);
	if (m->cuts.ways.count > 1)
		cr_sort_stably(m->cuts.ways.data, m->cuts.ways.count, sizeof *m->cuts.ways.data, compare_ways);
	return enough;
}

/// The sum of the ways of an edge of cloth; zero: it has none.
static v3d way_of_edge(const work *w, int32_t p, int32_t q)
{
	const cr_cut_lists *lists = w->lists;
	const cr_cut_way wanted = { w->pair->cloth, w->pair->solid, { p < q ? p : q, p < q ? q : p },
		{ -INFINITY, -INFINITY, -INFINITY } };
	int64_t low = 0, high = lists->ways.count;
	v3d sum = { 0, 0, 0 };
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (compare_ways(&lists->ways.data[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < lists->ways.count; low++) {
		const cr_cut_way *way = &lists->ways.data[low];
		if (way->cloth != wanted.cloth || way->solid != wanted.solid || memcmp(way->ends, wanted.ends, sizeof way->ends) != 0)
			break;
		sum = v3d_add(sum, v3d_from_doubles(way->out));
	}
	return sum;
}

/// The sum of the ways of the edges of a span's two triangles, and of regions that have their
/// corners; zero: they have none.
static v3d way_of(const work *w, const cr_cut_span *span)
{
	const cr_topology *t = w->pair->of_cloth.faces;
	const int32_t triangles[2] = { span->own, t->neighbours[3 * (int64_t)span->own + span->corner] };
	v3d sum = { 0, 0, 0 };
	for (int i = 0; i < 2 && triangles[i] >= 0; i++) {
		const int32_t *c = &t->triangles[3 * (int64_t)triangles[i]];
		for (int k = 0; k < 3; k++)
			sum = v3d_add(sum, way_of_edge(w, c[k], c[(k + 1) % 3]));
		for (int k = 0; k < 3; k++)
			sum = v3d_add(sum, cr_lead_now(w->pair->world, w->pair->cloth, w->pair->solid, c[k]));
	}
	return sum;
}

/// Directions about a group: its triangles' normal, an edge, the one across both, and between them.
static void look_around(work *w, const int32_t *spans, int64_t count)
{
	v3d normal = { 0, 0, 0 };
	const cr_cut_span *first = &w->lists->spans.data[spans[0]];
	for (int64_t i = 0; i < count; i++)
		normal = v3d_add(normal, cr_placed_normal(&w->pair->of_cloth, w->lists->spans.data[spans[i]].own));
	const v3d along = along_of(w->pair, first);
	normal = v3d_mad(normal, -v3d_dot(normal, along), along);
	cr_look_around(v3d_length(normal) > 0 ? v3d_normalize(normal) : cr_across(along), along, w->around);
}

/// How a direction does for spans: those without an arch, and the sum of the heights of the others.
typedef struct score {
	int missed;
	double heights;
} score;

static score try_direction(const work *w, const int32_t *spans, int64_t count, v3d direction)
{
	score s = { 0, 0 };
	const int64_t stride = (count + MOST_SAMPLES - 1) / MOST_SAMPLES;
	for (int64_t i = 0; i < count; i += stride) {
		v3d up;
		arch top;
		if (arch_towards(w->pair, &w->lists->spans.data[spans[i]], direction, &up, &top))
			s.heights += top.height;
		else
			s.missed++;
	}
	return s;
}

static bool is_better(score a, score b) { return a.missed != b.missed ? a.missed < b.missed : a.heights < b.heights; }

static v3d find_direction(const work *w, const int32_t *spans, int64_t count)
{
	int best = 0;
	score least = { INT32_MAX, 0 };
	for (int i = 0; i < CR_DIRECTIONS; i++) {
		const score now = try_direction(w, spans, count, w->around[i]);
		if (is_better(now, least)) {
			best = i;
			least = now;
		}
	}
	return w->around[best];
}

// ---- Contacts ----

/// Append the contact of an edge of cloth that leaves over the top of an arch.
static bool append_contact(const work *w, const cr_cut_span *span, v3d up, const arch *top)
{
	const cr_cut_pair *pair = w->pair;
	cr_surface_contacts *m = &pair->world->surface_contacts;
	const v3d p = cr_placed_vertex(&pair->of_cloth, span->ends[0]), q = cr_placed_vertex(&pair->of_cloth, span->ends[1]);
	const v3d edge = v3d_sub(q, p), summit = v3d_add(p, top->point);
	const int32_t low = top->ends[0] < top->ends[1] ? 0 : 1;
	const v3d of_mesh =
		v3d_sub(cr_placed_vertex(&pair->of_solid, top->ends[1]), cr_placed_vertex(&pair->of_solid, top->ends[0]));
	v3d normal = v3d_normalize(v3d_cross(edge, of_mesh));
	normal = v3d_dot(normal, up) < 0 ? v3d_neg(normal) : normal;
	if (!(v3d_dot(normal, up) > LEAST_ALONG))
		normal = up;
	const double at = fmin(fmax(v3d_dot(top->point, edge) / v3d_dot(edge, edge), 0), 1);
	const v3d on_cloth = v3d_mad(p, at, edge);
	const bool turned = pair->solid < pair->cloth;
	const int c0 = turned ? 2 : 0, s0 = turned ? 0 : 2;
	carom_surface_contact c;
	cr_begin_surface_contact(pair->world, turned ? pair->solid : pair->cloth, turned ? pair->cloth : pair->solid, &c);
	c.kind = CAROM_SWEEP_EDGE_EDGE;
	c.through = true;
	c.vertices[c0] = span->ends[0];
	c.vertices[c0 + 1] = span->ends[1];
	c.weight[c0] = 1 - at;
	c.weight[c0 + 1] = at;
	c.vertices[s0] = top->ends[low];
	c.vertices[s0 + 1] = top->ends[1 - low];
	c.weight[s0 + low] = 1 - top->at;
	c.weight[s0 + 1 - low] = top->at;
	c.distance = v3d_dot(normal, v3d_sub(on_cloth, summit));
	c.normal = turned ? v3d_neg(normal) : normal;
	c.point_a = turned ? summit : on_cloth;
	c.point_b = turned ? on_cloth : summit;
	cr_continue_surface_contact(pair->world, &c);
	if (!(c.distance < 0))
		return true;
	if (!cr_array_reserve_one(&pair->world->memory, &m->deep))
		return false;
	m->deep.data[m->deep.count++] = c;
	return true;
}

/// Lead an edge out to a side; where there is no way to that side, to the lowest one.
static bool lead_out(const work *w, const cr_cut_span *span, v3d direction)
{
	v3d up, other;
	arch top, now;
	const bool there = arch_towards(w->pair, span, direction, &up, &top);
	bool found = there;
	for (int i = 0; i < CR_DIRECTIONS && !there; i++) {
		if (!arch_towards(w->pair, span, w->around[i], &other, &now) || (found && now.height >= top.height))
			continue;
		found = true;
		up = other;
		top = now;
	}
	return !found || append_contact(w, span, up, &top);
}

static bool lead_group(work *w, const int32_t *spans, int64_t count)
{
	v3d direction = { 0, 0, 0 };
	bool enough = true;
	for (int64_t i = 0; i < count; i++)
		direction = v3d_add(direction, way_of(w, &w->lists->spans.data[spans[i]]));
	look_around(w, spans, count);
	direction = v3d_length(direction) > 0 ? v3d_normalize(direction) : find_direction(w, spans, count);
	for (int64_t i = 0; i < count && enough; i++)
		enough = lead_out(w, &w->lists->spans.data[spans[i]], direction);
	return enough;
}

/// Spans of a group stand side by side: sharing names them.
static bool visit(const cr_cut_pair *pair, void *user)
{
	(void)user;
	work w = { .pair = pair, .lists = &pair->world->surface_contacts.cuts };
	cr_cut_lists *lists = w.lists;
	if (!list_spans(&w))
		return false;
	const int64_t count = lists->spans.count;
	if (count == 0)
		return true;
	if (!group_spans(&w) || !cr_array_reserve_fresh(&pair->world->memory, &lists->members, count))
		return false;
	for (int64_t i = 0; i < count; i++)
		lists->sharing.data[i] = (cr_key){ (uint64_t)lists->spans.data[i].group, (uint32_t)i };
	cr_radix_sort(lists->sharing.data, lists->sharing.data + count, count, 64);
	for (int64_t i = 0; i < count; i++)
		lists->members.data[i] = (int32_t)lists->sharing.data[i].value;
	bool enough = true;
	for (int64_t i = 0, end; i < count && enough; i = end) {
		for (end = i; end < count && lists->sharing.data[end].key == lists->sharing.data[i].key;)
			end++;
		enough = lead_group(&w, lists->members.data + i, end - i);
	}
	return enough;
}

bool cr_append_cut_edges(carom_world *world, const carom_proximity_view *view)
{
	if (world->surface_contacts.near->crossing.count == 0)
		return true;
	return note_ways(world, view) && cr_visit_cut_pairs(world, visit, NULL);
}
