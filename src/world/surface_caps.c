/// Parts of a closed mesh that have come through faces of cloth, while the corners of these are
/// outside: a spike pokes a sheet. No step tells of it where a body was made there, was put
/// elsewhere, or has grown.
///
/// Cloth that is crossed parts the surface of the mesh. An edge of the mesh that pierces a face has
/// one end on each side of the cloth. From both ends a flood goes over the edges of the mesh that
/// pierce no cloth. Each vertex that it reaches has its nearest point of the cloth about there, by
/// a walk from that of the vertex before. Of the two parts the one goes back that is less deep: the
/// tip of a spike, not the body that has it. Its vertices belong to the other side of the cloth
/// from then on (cr_belonging), like vertices that came through within a step, and later steps
/// remember that. A part of which most vertices belong there already goes back in any case.
///
/// No part goes back
/// - whose flood comes round to the other side of the same edge: the cloth ends within the mesh;
/// - that is in front of one face and behind another one: it lies between two layers;
/// - that has a face with a corner inside the mesh: that corner is led out (surface_inside.c);
/// - that is less deep than another one, if that other one may not go back: it is in the way.
///
/// Both floods go on in turns, and the deeper one ends as soon as it is the deeper one. Cost: O(the
/// vertices of the parts that go back, and as many again), with a walk for each.
#include "base/stable_sort.h"
#include "world/surface_cuts.h"
#include "world/world.h"
#include <stdlib.h>

enum { NONE = -1 };

/// One pair of surfaces.
typedef struct work {
	const cr_cut_pair *pair;
	cr_cut_lists *lists;
	const cr_fans *fans; // of the closed mesh
	cr_closed_mesh closed;
	bool failed; // out of memory
} work;

// ---- Faces of the cloth ----

static int compare_faces(const void *a, const void *b)
{
	return cr_compare_numbers(((const cr_cut_face *)a)->triangle, ((const cr_cut_face *)b)->triangle);
}

/// List the faces that are pierced, and whether a corner of theirs is inside.
static bool list_faces(work *w)
{
	cr_cut_lists *lists = w->lists;
	const cr_piercings *edges = w->pair->solid_edges;
	int64_t count = 0;
	if (!cr_array_reserve(&w->pair->world->memory, &lists->faces, edges->count))
		return false;
	for (int64_t i = 0; i < edges->count; i++)
		lists->faces.data[i] = (cr_cut_face){ edges->data[i].triangle, false };
	if (edges->count > 1)
		cr_sort_stably(lists->faces.data, edges->count, sizeof *lists->faces.data, compare_faces);
	for (int64_t i = 0; i < edges->count; i++) {
		if (count == 0 || lists->faces.data[count - 1].triangle != lists->faces.data[i].triangle)
			lists->faces.data[count++] = lists->faces.data[i];
	}
	lists->faces.count = count;
	for (int64_t i = 0; i < count; i++) {
		cr_cut_face *face = &lists->faces.data[i];
		face->holds = cr_find_led_face(w->pair->world, w->pair->cloth, w->pair->solid, face->triangle) != NULL;
		for (int k = 0; k < 3 && !face->holds; k++) {
			const int32_t corner = w->pair->of_cloth.faces->triangles[3 * (int64_t)face->triangle + k];
			face->holds = cr_is_in_closed_mesh(&w->closed, cr_placed_vertex(&w->pair->of_cloth, corner));
		}
	}
	return true;
}

static bool is_held(const work *w, int32_t triangle)
{
	const cr_cut_face wanted = { triangle, false };
	const cr_cut_face *found =
		bsearch(&wanted, w->lists->faces.data, (size_t)w->lists->faces.count, sizeof *w->lists->faces.data, compare_faces);
	return found->holds;
}

// ---- Floods ----

/// The flood that one has become part of.
static int32_t root_of(const work *w, int32_t flood)
{
	while (w->lists->floods.data[flood].joined != NONE)
		flood = w->lists->floods.data[flood].joined;
	return flood;
}

/// Is it known where a vertex of the mesh belongs? through: on the other side of the cloth than it
/// is now. One that was there in the last step and is back does not count.
static bool is_known(const work *w, int32_t vertex, bool *through)
{
	const cr_cut_pair *pair = w->pair;
	const cr_surface_contacts *m = &pair->world->surface_contacts;
	const cr_belongings *lists[2] = { &m->remembered, &m->crossing };
	bool known = false;
	*through = false;
	for (int k = 0; k < 2; k++) {
		for (int64_t i = cr_first_belonging(lists[k], pair->solid, pair->cloth, vertex);
			 i < lists[k]->count && cr_compare_belonging(&lists[k]->data[i], pair->solid, pair->cloth, vertex) == 0; i++) {
			known = true;
			const cr_belonging *b = &lists[k]->data[i];
			*through = *through || cr_side_of_foot(&pair->of_cloth, &b->foot) == -b->side;
		}
	}
	return known;
}

static void append_node(work *w, int32_t node, int32_t *head, int32_t *tail)
{
	cr_cut_node *nodes = w->lists->nodes.data;
	nodes[node].next = NONE;
	if (*tail != NONE)
		nodes[*tail].next = node;
	else
		*head = node;
	*tail = node;
}

/// A flood reaches a vertex that none has reached. triangle: where the walk over the cloth begins.
static void reach(work *w, int32_t flood, int32_t vertex, int32_t triangle)
{
	cr_cut_lists *lists = w->lists;
	cr_cut_flood *f = &lists->floods.data[flood];
	if (!cr_array_reserve_one(&w->pair->world->memory, &lists->nodes)) {
		w->failed = true;
		return;
	}
	bool through;
	const int32_t node = (int32_t)lists->nodes.count++;
	const cr_foot foot = cr_follow_surface(&w->pair->of_cloth, triangle, cr_placed_vertex(&w->pair->of_solid, vertex));
	lists->nodes.data[node] = (cr_cut_node){ vertex, NONE, foot };
	is_known(w, vertex, &through);
	lists->labels.data[vertex] = flood;
	f->known += through;
	f->deep2 = fmax(f->deep2, foot.distance2);
	f->count++;
	append_node(w, node, &f->waiting, &f->last_waiting);
}

/// The flood at an end of an edge that pierces, made where there is none.
static int32_t flood_at(work *w, const cr_piercing *pierce, int end)
{
	cr_cut_lists *lists = w->lists;
	const int32_t vertex = pierce->ends[end], number = (int32_t)lists->floods.count;
	if (lists->labels.data[vertex] != NONE)
		return root_of(w, lists->labels.data[vertex]);
	if (!cr_array_reserve_one(&w->pair->world->memory, &lists->floods)) {
		w->failed = true;
		return NONE;
	}
	lists->floods.data[lists->floods.count++] = (cr_cut_flood){
		.side = pierce->side[end], .joined = NONE, .waiting = NONE, .last_waiting = NONE, .done = NONE, .last_done = NONE
	};
	reach(w, number, vertex, pierce->triangle);
	return number;
}

/// Two floods have met: one part has both. It may go back only where both may.
static void join(work *w, int32_t flood, int32_t into)
{
	cr_cut_flood *f = &w->lists->floods.data[flood], *g = &w->lists->floods.data[into];
	cr_cut_node *nodes = w->lists->nodes.data;
	g->barred = g->barred || f->barred || f->side != g->side;
	g->known += f->known;
	g->led = g->led || f->led;
	g->lost = g->lost || f->lost;
	g->deep2 = fmax(g->deep2, f->deep2);
	g->count += f->count;
	if (f->waiting != NONE) {
		nodes[f->last_waiting].next = g->waiting;
		g->last_waiting = g->waiting == NONE ? f->last_waiting : g->last_waiting;
		g->waiting = f->waiting;
	}
	if (f->done != NONE) {
		nodes[f->last_done].next = g->done;
		g->last_done = g->done == NONE ? f->last_done : g->last_done;
		g->done = f->done;
	}
	f->joined = into;
}

/// The first place of an edge of the mesh, as welded, among those that pierce; the count: it
/// pierces nothing.
static int64_t find_pierce(const cr_piercings *list, int32_t low, int32_t high)
{
	const int64_t i = cr_first_piercing(list, low, high);
	return i < list->count && list->data[i].ends[0] == low && list->data[i].ends[1] == high ? i : list->count;
}

/// Does the edge between two vertices of the mesh pierce the cloth? If so, the flood that has the
/// first one learns from the face that is nearest to it.
static bool is_cut(work *w, cr_cut_flood *f, int32_t from, int32_t to)
{
	const cr_piercings *list = w->pair->solid_edges;
	const int32_t low = from < to ? from : to, high = from < to ? to : from;
	int64_t i = find_pierce(list, low, high);
	if (i == list->count)
		return false;
	while (from == high && i + 1 < list->count && list->data[i + 1].ends[0] == low && list->data[i + 1].ends[1] == high)
		i++;
	const cr_piercing *p = &list->data[i];
	f->barred = f->barred || p->side[from == high] != f->side || is_held(w, p->triangle);
	return true;
}

/// Go on from the next vertex of a flood that waits. Returns the flood that it has become.
static int32_t flow(work *w, int32_t flood)
{
	cr_cut_lists *lists = w->lists;
	cr_cut_flood *f = &lists->floods.data[flood];
	const cr_topology *t = w->pair->of_solid.faces;
	const int32_t node = f->waiting, vertex = lists->nodes.data[node].vertex;
	const int32_t triangle = lists->nodes.data[node].foot.triangle;
	f->waiting = lists->nodes.data[node].next;
	f->last_waiting = f->waiting == NONE ? NONE : f->last_waiting;
	append_node(w, node, &f->done, &f->last_done);
	for (int32_t i = w->fans->first[vertex]; i < w->fans->first[vertex + 1] && !w->failed; i++) {
		const int32_t corner = w->fans->corners[i], first = corner - corner % 3;
		for (int k = 1; k < 3 && !w->failed; k++) {
			const int32_t to = t->weld[t->triangles[first + (corner + k) % 3]];
			f = &lists->floods.data[flood];
			if (to == vertex || is_cut(w, f, vertex, to))
				continue;
			const int32_t other = lists->labels.data[to] == NONE ? flood : root_of(w, lists->labels.data[to]);
			if (lists->labels.data[to] == NONE)
				reach(w, flood, to, triangle);
			else if (other != flood) {
				join(w, flood, other);
				flood = other;
			}
		}
	}
	return flood;
}

static bool is_done(const cr_cut_flood *f) { return f->waiting == NONE; }

/// Do most of its vertices, as far as it has come, belong to the other side already? A few do not
/// count: one vertex that was pushed through does not lead the whole body back.
static bool is_known_part(const cr_cut_flood *f) { return f->known > 0 && 2 * f->known >= f->count; }

/// Which of two floods goes back, as far as they have come; NONE: they have to go on.
static int32_t decide(const work *w, int32_t a, int32_t b)
{
	const cr_cut_flood *f = &w->lists->floods.data[a], *g = &w->lists->floods.data[b];
	if (is_known_part(f) != is_known_part(g))
		return is_known_part(f) ? (is_done(f) ? a : NONE) : is_done(g) ? b : NONE;
	if (is_done(f) && (g->deep2 > f->deep2 || is_done(g)))
		return g->deep2 < f->deep2 ? b : a;
	return is_done(g) && f->deep2 > g->deep2 ? b : NONE;
}

/// Let the parts at both ends of an edge decide which of them goes back.
static void part_at(work *w, const cr_piercing *pierce)
{
	int32_t a = flood_at(w, pierce, 0), b = w->failed ? NONE : flood_at(w, pierce, 1), back = NONE;
	while (!w->failed && (a = root_of(w, a)) != (b = root_of(w, b)) && (back = decide(w, a, b)) == NONE) {
		const cr_cut_flood *f = &w->lists->floods.data[a], *g = &w->lists->floods.data[b];
		const bool first =
			is_done(g) || (!is_done(f) && (is_known_part(f) != is_known_part(g) ? is_known_part(f) : f->count <= g->count));
		flow(w, first ? a : b);
	}
	if (w->failed)
		return;
	if (a == b) {
		w->lists->floods.data[a].barred = true;
		return;
	}
	w->lists->floods.data[back].led = true;
	w->lists->floods.data[back == a ? b : a].lost = true;
}

// ---- Results ----

/// Let all vertices at a place of the mesh belong to the other side of the cloth.
static bool lead_back(work *w, const cr_cut_node *node, int32_t side)
{
	const cr_cut_pair *pair = w->pair;
	const cr_topology *t = pair->of_solid.faces;
	bool enough = true;
	for (int32_t i = w->fans->first[node->vertex]; i < w->fans->first[node->vertex + 1] && enough; i++) {
		cr_belonging now = { .mesh_a = pair->solid,
			.mesh_b = pair->cloth,
			.vertex = t->triangles[w->fans->corners[i]],
			.triangle = node->foot.triangle,
			.side = (cr_side)-side,
			.foot = node->foot };
		bool through;
		if (is_known(w, now.vertex, &through))
			continue;
		now.through = cr_side_of_foot(&pair->of_cloth, &node->foot) == (cr_side)side;
		enough = !now.through || cr_append_belonging(pair->world, &pair->world->surface_contacts.began, &now);
	}
	return enough;
}

static bool lead_all(work *w)
{
	bool enough = true;
	for (int64_t i = 0; i < w->lists->floods.count && enough; i++) {
		const cr_cut_flood *f = &w->lists->floods.data[i];
		if (f->joined != NONE || !f->led || f->lost || f->barred || !is_done(f))
			continue;
		for (int32_t node = f->done; node != NONE && enough; node = w->lists->nodes.data[node].next)
			enough = lead_back(w, &w->lists->nodes.data[node], f->side);
	}
	return enough;
}

static bool begin(work *w)
{
	cr_cut_lists *lists = w->lists;
	carom_world *world = w->pair->world;
	const int32_t count = w->pair->of_solid.faces->vertex_count;
	if (!cr_see_closed_mesh(world, w->pair->solid, &w->closed) || !cr_array_reserve_fresh(&world->memory, &lists->labels, count))
		return false;
	w->fans = &world->surface_contacts.fans.data[w->pair->solid];
	lists->nodes.count = lists->floods.count = 0;
	for (int32_t v = 0; v < count; v++)
		lists->labels.data[v] = NONE;
	return list_faces(w);
}

static bool visit(const cr_cut_pair *pair, void *user)
{
	(void)user;
	work w = { .pair = pair, .lists = &pair->world->surface_contacts.cuts };
	if (pair->solid_edges->count == 0)
		return true;
	if (!begin(&w))
		return false;
	if (!w.closed.seen->shape.mesh->report.closed)
		return true; // it is torn where vertices of one place have come apart
	for (int64_t i = 0; i < pair->solid_edges->count && !w.failed; i++) {
		const cr_piercing *p = &pair->solid_edges->data[i];
		const bool is_open = p->side[0] != 0 && p->side[1] != 0 && !is_held(&w, p->triangle);
		// An edge that pierces several faces has a part between them.
		const bool is_alone = (i == 0 || p[-1].ends[0] != p->ends[0] || p[-1].ends[1] != p->ends[1]) &&
			(i + 1 == pair->solid_edges->count || p[1].ends[0] != p->ends[0] || p[1].ends[1] != p->ends[1]);
		if (is_open && is_alone)
			part_at(&w, p);
	}
	return !w.failed && lead_all(&w);
}

/// Note which closed meshes are crossed.
static bool note_crossed(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const cr_near_cuts *cuts = &m->near->crossing;
	m->cuts.crossed.count = 0;
	if (cuts->count == 0)
		return true;
	if (!cr_array_reserve(&world->memory, &m->cuts.crossed, m->members.list.count))
		return false;
	while (m->cuts.crossed.count < m->members.list.count)
		m->cuts.crossed.data[m->cuts.crossed.count++] = 0;
	for (int64_t i = 0; i < cuts->count; i++) {
		const cr_near_cut *cut = &cuts->data[i];
		const int32_t solid = cr_body_of_member(world, cut->mesh_a)->kind == CAROM_CLOTH ? cut->mesh_b : cut->mesh_a;
		if (!m->cuts.crossed.data[solid] && !cr_make_surface_fans(world, m->members.list.data[solid].body))
			return false;
		m->cuts.crossed.data[solid] = 1;
	}
	return true;
}

bool cr_find_caps(carom_world *world)
{
	if (!note_crossed(world))
		return false;
	if (world->surface_contacts.near->crossing.count == 0)
		return true;
	if (!cr_visit_cut_pairs(world, visit, NULL))
		return false;
	cr_sort_belongings(&world->surface_contacts.began);
	return true;
}
