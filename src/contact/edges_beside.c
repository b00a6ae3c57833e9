/// Edges that cross where no vertex contact tells of it.
///
/// The contacts of two fine closed meshes are those of their vertices. But bodies may meet in
/// several places, and in one of them edges may cross with no vertex inside: a ridge lies across a
/// ridge while a pin elsewhere reaches into a plate. Such a place needs contacts of its own.
///
/// A place is a set of meetings (triangles that may meet): two belong together that share the
/// triangle of one body, while those of the other are neighbours. So a curve along which the
/// surfaces cross stays in one place, and a large triangle that is met twice is in two. A place is
/// served where a triangle in it has a vertex with a contact. Mostly all are, which ends it; else
/// the meetings are tested exactly, and edges that cross in other places have contacts.
///
/// With no vertex inside, a place is no deeper than half of the shorter one of two edges that cross
/// in it, and less where the bodies are blunt there. So bodies are looked at that have long edges
/// (carom_world_def.long_edge_share). If all were, a step would take about twice as long
/// (avalanche).
///
/// Cost: of n meetings O(n log n), of which most end after six look-ups among the vertices that
/// have a contact.

#include "base/radix.h"
#include "base/union_find.h"
#include "contact/contact_normal.h"
#include "contact/crossing.h"
#include "frame/temporal.h"

#include <float.h>
#include <stdatomic.h>
#include <string.h>

// ---- Long edges ----

// 5 degrees, as a cosine: flatter edges are none.
static const double FLAT = 0.9961946980917455;

/// The longest edge of a mesh that is real to contacts.
static float measure_edges(const carom_mesh *mesh)
{
	const cr_collider *c = &mesh->collider;
	const cr_topology *t = c->topology;
	double longest = 0;
	for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
		const int32_t across = t->neighbours[i];
		if (!t->used[i / 3] || across < i / 3)
			continue;
		const float *from = &t->vertices[3 * (int64_t)t->triangles[i]];
		const float *to = &t->vertices[3 * (int64_t)t->triangles[i / 3 * 3 + (i + 1) % 3]];
		const v3d edge = v3d_sub(v3d_from_floats(to), v3d_from_floats(from));
		const double square = v3d_dot(edge, edge);
		if (square > longest * longest &&
			!cr_edge_is_internal(c, i, cr_collider_normal(c, i / 3), cr_collider_normal(c, across), FLAT))
			longest = sqrt(square);
	}
	return (float)longest;
}

/// That of a mesh, which is measured once, when it is first asked for.
static float longest_edge(const carom_mesh *mesh)
{
	_Atomic float *known = (_Atomic float *)&mesh->longest_edge;
	float longest = atomic_load_explicit(known, memory_order_relaxed);
	if (longest == 0) {
		longest = measure_edges(mesh);
		longest = longest > 0 ? longest : FLT_MIN;
		atomic_store_explicit(known, longest, memory_order_relaxed);
	}
	return longest;
}

bool cr_looks_beside_vertices(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	const double share = p->settings.world.long_edge_share;
	// Contacts of a box name its samples, which are no vertices.
	if (a->shape.family != CR_FAMILY_MESH || b->shape.family != CR_FAMILY_MESH)
		return false;
	if (!p->settings.lab.complete || cr_pair_deforms(a, b) || !a->shape.collider->closed || !b->shape.collider->closed)
		return false;
	const double least = share * fmin(a->shape.collider->diagonal, b->shape.collider->diagonal);
	return share == 0 || ((double)longest_edge(a->shape.mesh) >= least && (double)longest_edge(b->shape.mesh) >= least);
}

// ---- Places ----

typedef struct places {
	const cr_completion *completion;
	cr_key *vertices[2]; // [vertex_count] with contacts, in order; room for as many behind them
	int32_t vertex_count[2];
	cr_key *keys;    // [count] of meetings, by both triangles; value: the number of the meeting
	uint32_t *place; // [count] parents, by the order of keys: the first meeting names a place
	bool *served;    // [count] of the first of a place
	int32_t count;
} places;

/// List the vertices of both bodies that have a contact. false: out of memory.
static bool list_vertices(places *s)
{
	const cr_completion *c = s->completion;
	const cr_raw_contacts *contacts = &c->worker->contacts;
	for (int side = 0; side < 2; side++) {
		s->vertices[side] = cr_arena_alloc(&c->worker->arena, (2 * (size_t)contacts->count + 1) * sizeof *s->vertices[side]);
		if (!s->vertices[side])
			return false;
	}
	for (int64_t i = 0; i < contacts->count; i++) {
		const cr_raw_contact *contact = &contacts->data[i];
		if (contact->depth < 0 || (contact->kind != CAROM_VERTEX_A && contact->kind != CAROM_VERTEX_B))
			continue;
		const int side = contact->kind == CAROM_VERTEX_B;
		const int32_t vertex = side == 0 ? contact->feature_a : contact->feature_b;
		const uint64_t number = (uint64_t)c->collider[side]->topology->weld[vertex];
		s->vertices[side][s->vertex_count[side]++] = (cr_key){ number, 0 };
	}
	for (int side = 0; side < 2; side++)
		cr_order_keys(s->vertices[side], s->vertex_count[side]);
	return true;
}

/// Has a triangle a vertex with a contact?
static bool has_contact(const places *s, int side, int32_t triangle)
{
	const cr_topology *t = s->completion->collider[side]->topology;
	bool found = false;
	for (int k = 0; k < 3 && !found; k++) {
		const uint64_t vertex = (uint64_t)t->weld[t->triangles[3 * (int64_t)triangle + k]];
		found = cr_find_key(s->vertices[side], s->vertex_count[side], vertex) >= 0;
	}
	return found;
}

static bool is_served(const places *s, cr_candidate meeting)
{
	return has_contact(s, 0, meeting.a) || has_contact(s, 1, meeting.b);
}

static uint64_t key_of(int32_t a, int32_t b) { return (uint64_t)(uint32_t)a << 32 | (uint32_t)b; }

/// Join the place of a meeting with that of another one, if there is one.
static void join(places *s, int32_t at, int32_t a, int32_t b)
{
	const int64_t other = a < 0 || b < 0 ? -1 : cr_find_key(s->keys, s->count, key_of(a, b));
	if (other >= 0)
		cr_unite(s->place, (uint32_t)at, (uint32_t)other);
}

/// Part meetings into places. false: out of memory.
static bool find_places(places *s, const cr_candidates *meetings)
{
	cr_arena *arena = &s->completion->worker->arena;
	const size_t n = (size_t)meetings->count;
	s->count = meetings->count;
	s->keys = cr_arena_alloc(arena, 2 * n * sizeof *s->keys);
	s->place = cr_arena_alloc(arena, n * sizeof *s->place);
	s->served = cr_arena_alloc(arena, n * sizeof *s->served);
	if (!s->keys || !s->place || !s->served)
		return false;
	for (int32_t i = 0; i < s->count; i++) {
		s->keys[i] = (cr_key){ key_of(meetings->data[i].a, meetings->data[i].b), (uint32_t)i };
		s->place[i] = (uint32_t)i;
		s->served[i] = false;
	}
	cr_order_keys(s->keys, s->count);
	for (int32_t i = 0; i < s->count; i++) {
		const cr_candidate m = meetings->data[s->keys[i].value];
		for (int k = 0; k < 3; k++) {
			join(s, i, s->completion->collider[0]->topology->neighbours[3 * (int64_t)m.a + k], m.b);
			join(s, i, m.a, s->completion->collider[1]->topology->neighbours[3 * (int64_t)m.b + k]);
		}
	}
	for (int32_t i = 0; i < s->count; i++) {
		const uint32_t first = cr_find_root(s->place, (uint32_t)i);
		s->served[first] = s->served[first] || is_served(s, meetings->data[s->keys[i].value]);
	}
	return true;
}

static bool all_served(places *s)
{
	bool all = true;
	for (int32_t i = 0; i < s->count && all; i++)
		all = s->served[cr_find_root(s->place, (uint32_t)i)];
	return all;
}

static bool all_served_at_once(const places *s, const cr_candidates *meetings)
{
	bool all = true;
	for (int32_t i = 0; i < meetings->count && all; i++)
		all = is_served(s, meetings->data[i]);
	return all;
}

/// Mark the pierces that lie in a place that is served.
static void mark_pierces(places *s, cr_completion *c)
{
	for (int side = 0; side < 2; side++) {
		for (int32_t i = 0; i < c->pierces[side].count; i++) {
			cr_pierce *pierce = &c->pierces[side].data[i];
			const int32_t own = pierce->edge / 3;
			const uint64_t key = side == 0 ? key_of(own, pierce->other) : key_of(pierce->other, own);
			pierce->served = s->served[cr_find_root(s->place, (uint32_t)cr_find_key(s->keys, s->count, key))];
		}
	}
}

/// Add the contacts of places that are not served. false: out of memory.
static bool add_contacts(places *s, cr_completion *c, const cr_candidates *meetings)
{
	if (!list_vertices(s))
		return false;
	if (all_served_at_once(s, meetings))
		return true;
	if (!find_places(s, meetings))
		return false;
	if (all_served(s))
		return true;
	// Crossings are tested in a copy: a triangle whose pierces are all told by its neighbours is
	// left out there, though it joins two others.
	cr_candidate *copy = cr_arena_alloc(&c->worker->arena, (size_t)meetings->count * sizeof *copy);
	if (!copy)
		return false;
	memcpy(copy, meetings->data, (size_t)meetings->count * sizeof *copy);
	cr_candidates crossing = { .data = copy, .count = meetings->count };
	if (!cr_find_crossings(c, &crossing))
		return false;
	mark_pierces(s, c);
	cr_add_edges_of_pieces(c);
	return true;
}

void cr_add_edges_beside_vertices(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	cr_completion c = cr_begin_completion(p, worker, w);
	const cr_candidates meetings = { .data = cr_meetings_at(&p->frame, w->meetings.first), .count = w->meetings.count };
	places s = { .completion = &c };
	if (meetings.count > 0 && !add_contacts(&s, &c, &meetings))
		worker->failed = true;
}
