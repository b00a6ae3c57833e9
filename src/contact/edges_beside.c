/// Edges that cross where no vertex contact tells of it.
///
/// The contacts of two fine closed meshes are those of their vertices. But bodies may meet in
/// several places, and in one of them edges may cross with no vertex inside: a ridge lies across a
/// ridge while a pin elsewhere reaches into a plate. Such a place needs contacts of its own.
///
/// Surfaces cross along curves. A curve is told of where
/// - it passes a small triangle, of either body, with a vertex that has a contact
///   (contact_vertices.h); or
/// - it is the first that an edge meets on its way from such a vertex.
/// All others get contacts: one for each piece of an edge inside the other body that begins or ends
/// at the curve; or, where no piece has any, those of its triangles (face_contacts.c).
///
/// Triangles of the first kind are not looked at (near.c): the near stage lists the others that may
/// meet, which are few or none. They are tested exactly. Two crossing triangles belong to one curve
/// with those that cross beyond the edge that pierces there. Where that one's vertex speaks for it,
/// the curve is told of.
///
/// Cost: of n triangles that may meet and that no vertex speaks for, O(n log n).

#include "base/radix.h"
#include "base/union_find.h"
#include "contact/contact_normal.h"
#include "contact/crossing.h"
#include "frame/temporal.h"

bool cr_looks_beside_vertices(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	const double share = p->settings.world.long_edge_share;
	// Contacts of a box name its samples, which are no vertices.
	if (a->shape.family != CR_FAMILY_MESH || b->shape.family != CR_FAMILY_MESH)
		return false;
	if (!p->settings.lab.complete || !a->shape.collider->closed || !b->shape.collider->closed)
		return false;
	const double least = share * fmin(a->shape.collider->diagonal, b->shape.collider->diagonal);
	return share == 0 || (cr_longest_edge(a->shape.mesh) >= least && cr_longest_edge(b->shape.mesh) >= least);
}

// ---- Curves ----

typedef struct curves {
	const cr_completion *completion;
	cr_key *keys;    // [count] of crossings, by both triangles; value: the number of the crossing
	uint32_t *curve; // [count] parents, by the order of keys: the first crossing names a curve
	bool *served;    // [count] of the first of a curve
	int32_t count;
} curves;

static uint64_t key_of(int32_t a, int32_t b) { return (uint64_t)(uint32_t)a << 32 | (uint32_t)b; }

/// The place in the order of keys of the crossing of a triangle with one of the other body; -1:
/// there is none.
static int64_t find_crossing(const curves *s, int side, int32_t own, int32_t other)
{
	return cr_find_key(s->keys, s->count, side == 0 ? key_of(own, other) : key_of(other, own));
}

/// Make each crossing a curve of its own. false: out of memory.
static bool begin_curves(curves *s, const cr_candidates *crossing)
{
	cr_arena *arena = &s->completion->worker->arena;
	const size_t n = (size_t)crossing->count;
	s->count = crossing->count;
	s->keys = cr_arena_alloc(arena, 2 * n * sizeof *s->keys);
	s->curve = cr_arena_alloc(arena, n * sizeof *s->curve);
	s->served = cr_arena_alloc(arena, n * sizeof *s->served);
	if (!s->keys || !s->curve || !s->served)
		return false;
	for (int32_t i = 0; i < s->count; i++) {
		s->keys[i] = (cr_key){ key_of(crossing->data[i].a, crossing->data[i].b), (uint32_t)i };
		s->curve[i] = (uint32_t)i;
		s->served[i] = false;
	}
	cr_order_keys(s->keys, s->count);
	return true;
}

/// Does an edge meet no curve between this pierce and an end of it that has a contact? The first
/// and the last pierce of the edge are told.
static bool is_next_to_contact(const cr_completion *c, int side, const cr_pierce *pierce, bool first, bool last)
{
	const cr_topology *t = c->collider[side]->topology;
	const int32_t triangle = pierce->edge / 3, corner = pierce->edge % 3;
	const int32_t from = t->triangles[3 * (int64_t)triangle + corner];
	const int32_t to = t->triangles[3 * (int64_t)triangle + (corner + 1) % 3];
	return (first && !pierce->entering && cr_vertex_has_contact(c->spoken, side, t->weld[from])) ||
		(last && pierce->entering && cr_vertex_has_contact(c->spoken, side, t->weld[to]));
}

/// Join the crossings on both sides of an edge that pierces. Where there is none on the other side,
/// for a vertex speaks for it, the curve is served. Notes the crossing with the pierce.
static void follow_pierce(curves *s, int side, cr_pierce *pierce, bool first, bool last)
{
	const cr_completion *c = s->completion;
	const int32_t own = pierce->edge / 3, across = c->collider[side]->topology->neighbours[pierce->edge];
	const int64_t at = find_crossing(s, side, own, pierce->other);
	const int64_t beyond = across < 0 ? -1 : find_crossing(s, side, across, pierce->other);
	pierce->curve = (int32_t)at;
	if (beyond >= 0)
		cr_unite(s->curve, (uint32_t)at, (uint32_t)beyond);
	// For curves that are united later the root tells.
	const bool told = (across >= 0 && beyond < 0 && cr_is_spoken_for(c->spoken, side, across)) ||
		is_next_to_contact(c, side, pierce, first, last);
	s->served[at] = s->served[at] || told;
}

/// Join crossings to curves. Returns whether one is not served.
static bool follow_curves(curves *s, cr_completion *c)
{
	for (int side = 0; side < 2; side++) {
		cr_pierce *data = c->pierces[side].data;
		const int32_t count = c->pierces[side].count;
		for (int32_t i = 0; i < count; i++) {
			const bool first = i == 0 || data[i - 1].edge != data[i].edge;
			const bool last = i + 1 == count || data[i + 1].edge != data[i].edge;
			follow_pierce(s, side, &data[i], first, last);
		}
	}
	bool bare = false;
	for (int32_t i = 0; i < s->count; i++) {
		const uint32_t root = cr_find_root(s->curve, (uint32_t)i);
		s->served[root] = s->served[root] || s->served[i];
	}
	for (int32_t i = 0; i < s->count; i++)
		bare = bare || !s->served[cr_find_root(s->curve, (uint32_t)i)];
	return bare;
}

/// Tell each pierce its curve, and whether that is served.
static void mark_pierces(curves *s, cr_completion *c)
{
	for (int side = 0; side < 2; side++) {
		for (int32_t i = 0; i < c->pierces[side].count; i++) {
			cr_pierce *pierce = &c->pierces[side].data[i];
			pierce->curve = (int32_t)cr_find_root(s->curve, (uint32_t)pierce->curve);
			pierce->served = s->served[pierce->curve];
		}
	}
}

/// Add the contacts of the triangles of curves that no piece of an edge tells of.
static void add_faces(curves *s, cr_completion *c, const cr_candidates *crossing)
{
	for (int32_t i = 0; i < s->count; i++) {
		const uint32_t root = cr_find_root(s->curve, (uint32_t)i);
		if (!s->served[root] && !c->told[root])
			cr_add_face_contacts(c, &(cr_candidates){ .data = &crossing->data[s->keys[i].value], .count = 1 });
	}
}

/// Add the contacts of curves that are not served. false: out of memory.
static bool add_contacts(cr_completion *c, cr_candidates *crossing)
{
	curves s = { .completion = c };
	if (!cr_find_crossings(c, crossing))
		return false;
	if (crossing->count == 0)
		return true;
	if (!begin_curves(&s, crossing))
		return false;
	if (!follow_curves(&s, c))
		return true;
	c->told = cr_arena_alloc(&c->worker->arena, (size_t)s.count * sizeof *c->told);
	if (!c->told)
		return false;
	for (int32_t i = 0; i < s.count; i++)
		c->told[i] = false;
	mark_pierces(&s, c);
	cr_add_edges_of_pieces(c);
	add_faces(&s, c, crossing);
	return true;
}

/// Drop meetings of triangles that a vertex speaks for: the near stage lists them of pairs that it
/// looks at before their rays.
static void drop_spoken(const cr_contact_vertices *v, cr_candidates *meetings)
{
	int32_t kept = 0;
	for (int32_t i = 0; i < meetings->count; i++) {
		const cr_candidate m = meetings->data[i];
		if (!cr_is_spoken_for(v, 0, m.a) && !cr_is_spoken_for(v, 1, m.b))
			meetings->data[kept++] = m;
	}
	meetings->count = kept;
}

void cr_add_edges_beside_vertices(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	cr_candidates meetings = { .data = cr_meetings_at(&p->frame, w->meetings.first), .count = w->meetings.count };
	if (meetings.count == 0)
		return;
	cr_completion c = cr_begin_completion(p, worker, w);
	cr_contact_vertices vertices;
	c.spoken = &vertices;
	w->meetings.count = 0; // they move up
	if (!cr_list_contact_vertices(p, worker, w, worker->contacts.data, worker->contacts.count, &vertices)) {
		worker->failed = true;
		return;
	}
	drop_spoken(&vertices, &meetings);
	worker->failed |= meetings.count > 0 && !add_contacts(&c, &meetings);
}
