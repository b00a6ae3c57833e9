/// The memory of surface contacts where a body gets another mesh (carom_world_set_mesh), and the
/// lists of memory that is carried over.
///
/// In: the contacts that the next step would remember, and the map from new vertices to old ones.
/// Out: the same contacts in the numbers of the new mesh, one for each copy that a vertex or an
/// edge has there. A triangle becomes the one with most of its corners, so a vertex finds its way
/// from there though the triangle was cut or made finer. Where no corner is left, as in a coarser
/// mesh, the nearest vertex along edges that is left stands in. Contacts of which nothing is left
/// are dropped.
///
/// A new vertex belongs where the nearest old one along the edges of the new mesh does: nothing
/// passed between them. Its contacts begin anew, with age and impulse 0.
///
/// Only the search for sides and ages reads all that; the views of the last step go on naming the
/// old mesh. Cost: O(triangles + contacts).
#include "mesh/fans.h"
#include "world/surface_contacts.h"
#include "world/world.h"
#include <string.h>

/// An edge of the new mesh, lower vertex first.
typedef struct edge {
	int32_t low, high;
} edge;

typedef struct carrying {
	carom_context *memory;
	int32_t part;
	const cr_surface *old_places, *made_places;
	const cr_topology *old, *made;
	const int32_t *from; // NULL: each vertex was the one of its number
	// [vertices of the new mesh] the old vertex that it was, or that is nearest to it; -1: none
	int32_t *origin;
	cr_fans fans;    // of the new mesh
	int32_t *first;  // [vertices of the old mesh + 1] where the copies of a vertex begin
	int32_t *copies; // [vertices of the new mesh]
	// [vertices of the old mesh] one near it that has a triangle in the new one; -1: none
	int32_t *stand_in;
	CR_ARRAY(edge) edges[2]; // of the contact in hand: its first and its second edge
	cr_carried *carried;
	bool failed; // out of memory
} carrying;

// ---- From the old mesh to the new one ----

/// The old vertex that a new one was; -1: none.
static int32_t source_of(const carrying *k, int32_t vertex)
{
	if (k->from)
		return k->from[vertex];
	return vertex < k->old->vertex_count ? vertex : -1;
}

/// Let new vertices take the origins of those that were there, along edges: of the nearest, and of
/// several the one that comes first. queue: [vertices of the new mesh]
static void spread_origins(carrying *k, int32_t *queue)
{
	const cr_topology *t = k->made;
	int32_t count = 0;
	for (int32_t v = 0; v < t->vertex_count; v++) {
		if (k->origin[v] >= 0)
			queue[count++] = v;
	}
	for (int32_t at = 0; at < count && count < t->vertex_count; at++) {
		const int32_t v = queue[at], place = t->weld[v];
		for (int32_t f = 3 * k->fans.first[place]; f < 3 * k->fans.first[place + 1]; f++) {
			const int32_t beside = t->triangles[k->fans.corners[f / 3] / 3 * 3 + f % 3];
			if (k->origin[beside] >= 0)
				continue;
			k->origin[beside] = k->origin[v];
			queue[count++] = beside;
		}
	}
}

static bool list_copies(carrying *k)
{
	const int32_t count = k->made->vertex_count, old_count = k->old->vertex_count;
	k->first = cr_alloc_zero(k->memory, ((size_t)old_count + 2) * sizeof *k->first);
	k->copies = cr_alloc_array(k->memory, (size_t)count, sizeof *k->copies);
	k->origin = cr_alloc_array(k->memory, (size_t)count, sizeof *k->origin);
	if (!k->first || (!(k->copies && k->origin) && count > 0) || !cr_fans_build(k->memory, k->made, &k->fans))
		return false;
	for (int32_t i = 0; i < count; i++)
		k->origin[i] = source_of(k, i);
	spread_origins(k, k->copies);
	// Counted two places on, so that filling moves each to where its list begins.
	for (int32_t i = 0; i < count; i++)
		k->first[k->origin[i] + 2] += k->origin[i] >= 0;
	for (int32_t v = 0; v < old_count; v++)
		k->first[v + 2] += k->first[v + 1];
	for (int32_t i = 0; i < count; i++) {
		if (k->origin[i] >= 0)
			k->copies[k->first[k->origin[i] + 1]++] = i;
	}
	return true;
}

/// Was a vertex there before?
static bool is_copy(const carrying *k, int32_t vertex) { return source_of(k, vertex) >= 0; }

/// The lowest triangle of a copy of an old vertex; -1: none.
static int32_t first_triangle(const carrying *k, int32_t vertex)
{
	int32_t best = -1;
	for (int32_t i = k->first[vertex]; i < k->first[vertex + 1]; i++) {
		const int32_t v = k->made->weld[k->copies[i]];
		for (int32_t f = k->fans.first[v]; f < k->fans.first[v + 1] && is_copy(k, k->copies[i]); f++) {
			const int32_t triangle = k->fans.corners[f] / 3;
			best = best < 0 || triangle < best ? triangle : best;
		}
	}
	return best;
}

/// Let vertices that are left stand in for those that are not, from triangle to triangle.
static bool list_stand_ins(carrying *k)
{
	const cr_topology *t = k->old;
	k->stand_in = cr_alloc_array(k->memory, (size_t)t->vertex_count, sizeof *k->stand_in);
	if (!k->stand_in && t->vertex_count > 0)
		return false;
	for (int32_t v = 0; v < t->vertex_count; v++)
		k->stand_in[v] = first_triangle(k, v) >= 0 ? v : -1;
	for (bool changed = true; changed;) {
		changed = false;
		for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count; i++) {
			const int32_t v = t->triangles[i], w = t->triangles[i - i % 3 + (i + 1) % 3];
			const int32_t known = k->stand_in[v] >= 0 ? k->stand_in[v] : k->stand_in[w];
			changed = changed || (known >= 0 && (k->stand_in[v] < 0 || k->stand_in[w] < 0));
			k->stand_in[v] = k->stand_in[v] >= 0 ? k->stand_in[v] : known;
			k->stand_in[w] = k->stand_in[w] >= 0 ? k->stand_in[w] : known;
		}
	}
	return true;
}

/// How many corners of a new triangle were among those of an old one.
static int count_shared(const carrying *k, int32_t triangle, const int32_t corners[3])
{
	int count = 0;
	for (int i = 0; i < 9; i++)
		count += source_of(k, k->made->triangles[3 * (int64_t)triangle + i / 3]) == corners[i % 3];
	return count;
}

/// The triangle that has most corners of an old one, the lowest of several, or one of a stand-in;
/// -1: there is none.
static int32_t find_triangle(carrying *k, const int32_t corners[3])
{
	int32_t best = -1;
	int most = 0;
	for (int c = 0; c < 3; c++) {
		for (int32_t i = k->first[corners[c]]; i < k->first[corners[c] + 1]; i++) {
			const int32_t v = k->made->weld[k->copies[i]];
			for (int32_t f = k->fans.first[v]; f < k->fans.first[v + 1]; f++) {
				const int32_t triangle = k->fans.corners[f] / 3;
				const int shared = count_shared(k, triangle, corners);
				if (shared > most || (shared == most && triangle < best)) {
					most = shared;
					best = triangle;
				}
			}
		}
	}
	if (best >= 0)
		return best;
	if (!k->stand_in && !list_stand_ins(k)) {
		k->failed = true;
		return -1;
	}
	return k->stand_in[corners[0]] < 0 ? -1 : first_triangle(k, k->stand_in[corners[0]]);
}

/// Is a triangle an old one turned round?
static bool is_turned(const carrying *k, int32_t triangle, const int32_t corners[3])
{
	const int32_t *t = &k->made->triangles[3 * (int64_t)triangle];
	int at[3] = { 0, 0, 0 };
	for (int i = 0; i < 9; i++)
		at[i / 3] = source_of(k, t[i / 3]) == corners[i % 3] ? i % 3 : at[i / 3];
	return count_shared(k, triangle, corners) == 3 && at[1] != (at[0] + 1) % 3;
}

static void note_edge(carrying *k, int which, int32_t v, int32_t w)
{
	if (!cr_array_reserve_one(k->memory, &k->edges[which])) {
		k->failed = true;
		return;
	}
	k->edges[which].data[k->edges[which].count++] = (edge){ v < w ? v : w, v < w ? w : v };
}

/// List the copies of an edge of the contact, or the edge itself where it is none of the part.
static void find_edges(carrying *k, int which, bool moves, const int32_t ends[2])
{
	k->edges[which].count = 0;
	if (!moves) {
		note_edge(k, which, ends[0], ends[1]);
		return;
	}
	for (int32_t i = k->first[ends[0]]; i < k->first[ends[0] + 1]; i++) {
		const int32_t vertex = k->copies[i], v = k->made->weld[vertex];
		for (int32_t f = k->fans.first[v]; f < k->fans.first[v + 1]; f++) {
			const int32_t *t = &k->made->triangles[k->fans.corners[f] / 3 * 3];
			for (int c = 0; c < 3; c++) {
				const int32_t beside = t[(c + 1) % 3], before = t[(c + 2) % 3];
				if (t[c] == vertex && is_copy(k, vertex) && source_of(k, beside) == ends[1])
					note_edge(k, which, vertex, beside);
				if (t[c] == vertex && is_copy(k, vertex) && source_of(k, before) == ends[1])
					note_edge(k, which, vertex, before);
			}
		}
	}
}

// ---- Contacts ----

static void emit(carrying *k, const carom_surface_contact *c)
{
	k->failed = k->failed || !cr_emit_carried(k->memory, k->carried, c);
}

static void emit_shape(carrying *k, const carom_surface_shape_contact *c)
{
	k->failed = k->failed || !cr_emit_carried_shape(k->memory, k->carried, c);
}

/// How far a new vertex is from the old one whose memory it takes.
static double way_to(const carrying *k, int32_t vertex, int32_t old)
{
	const double *p = &k->made_places->begin[3 * (int64_t)vertex], *q = &k->old_places->begin[3 * (int64_t)old];
	return v3d_length((v3d){ p[0] - q[0], p[1] - q[1], p[2] - q[2] });
}

/// Let the contact that goes on have age and impulse 0.
static void begin_anew(int32_t *age, float impulse[3])
{
	*age = -1;
	for (int i = 0; i < 3; i++)
		impulse[i] = 0;
}

static void carry_face(carrying *k, const carom_surface_contact *c)
{
	carom_surface_contact now = *c;
	if (cr_part_b_of(c) == k->part) {
		now.triangle = find_triangle(k, &c->vertices[1]);
		if (now.triangle < 0)
			return;
		memcpy(&now.vertices[1], &k->made->triangles[3 * (int64_t)now.triangle], 3 * sizeof now.vertices[1]);
		now.side = is_turned(k, now.triangle, &c->vertices[1]) ? -c->side : c->side;
	}
	if (cr_part_a_of(c) != k->part) {
		emit(k, &now);
		return;
	}
	for (int32_t i = k->first[c->vertices[0]]; i < k->first[c->vertices[0] + 1]; i++) {
		carom_surface_contact of_copy = now;
		of_copy.vertices[0] = k->copies[i];
		if (!is_copy(k, k->copies[i])) {
			of_copy.distance = fabs(c->distance) + way_to(k, k->copies[i], c->vertices[0]);
			of_copy.through = false; // the walk tells
			begin_anew(&of_copy.age, of_copy.impulse);
		}
		emit(k, &of_copy);
	}
}

/// Two edges the other way round: within a body either may be the first.
static carom_surface_contact turn(const carom_surface_contact *c)
{
	carom_surface_contact turned = *c;
	for (int i = 0; i < 4; i++) {
		turned.vertices[i] = c->vertices[(i + 2) % 4];
		turned.weight[i] = c->weight[(i + 2) % 4];
	}
	turned.normal = v3d_neg(c->normal);
	turned.point_a = c->point_b;
	turned.point_b = c->point_a;
	return turned;
}

static void carry_edges(carrying *k, const carom_surface_contact *c)
{
	const bool moves[2] = { cr_part_a_of(c) == k->part, cr_part_b_of(c) == k->part };
	find_edges(k, 0, moves[0], &c->vertices[0]);
	find_edges(k, 1, moves[1], &c->vertices[2]);
	for (int64_t i = 0; i < k->edges[0].count * k->edges[1].count; i++) {
		const edge a = k->edges[0].data[i / k->edges[1].count], b = k->edges[1].data[i % k->edges[1].count];
		carom_surface_contact now = *c;
		const int32_t vertices[4] = { a.low, a.high, b.low, b.high };
		memcpy(now.vertices, vertices, sizeof vertices);
		emit(k, &now);
		if (moves[0] && moves[1]) {
			const carom_surface_contact turned = turn(&now);
			emit(k, &turned);
		}
	}
}

static void carry_contact(carrying *k, const carom_surface_contact *c)
{
	if (c->kind == CAROM_SWEEP_VERTEX_FACE)
		carry_face(k, c);
	else
		carry_edges(k, c);
}

// ---- Contacts with shapes ----

static void carry_shape_vertex(carrying *k, const carom_surface_shape_contact *c)
{
	for (int32_t i = k->first[c->vertices[0]]; i < k->first[c->vertices[0] + 1]; i++) {
		carom_surface_shape_contact now = *c;
		now.vertices[0] = k->copies[i];
		if (!is_copy(k, k->copies[i]))
			begin_anew(&now.age, now.impulse);
		emit_shape(k, &now);
	}
}

static void carry_shape_edge(carrying *k, const carom_surface_shape_contact *c)
{
	find_edges(k, 0, true, c->vertices);
	for (int64_t i = 0; i < k->edges[0].count; i++) {
		carom_surface_shape_contact now = *c;
		now.vertices[0] = k->edges[0].data[i].low;
		now.vertices[1] = k->edges[0].data[i].high;
		emit_shape(k, &now);
	}
}

static void carry_shape_triangle(carrying *k, const carom_surface_shape_contact *c)
{
	carom_surface_shape_contact now = *c;
	now.triangle = find_triangle(k, c->vertices);
	if (now.triangle < 0)
		return;
	memcpy(now.vertices, &k->made->triangles[3 * (int64_t)now.triangle], sizeof now.vertices);
	if (count_shared(k, now.triangle, c->vertices) < 3)
		begin_anew(&now.age, now.impulse);
	emit_shape(k, &now);
}

static void carry_shape_contact(carrying *k, const carom_surface_shape_contact *c)
{
	if (c->triangle >= 0)
		carry_shape_triangle(k, c);
	else if (c->vertices[1] >= 0)
		carry_shape_edge(k, c);
	else
		carry_shape_vertex(k, c);
}

// ---- All of them ----

/// Those of the last step that are of the part and that the next step would remember, and those
/// that were carried over already.
static void carry_all(carrying *k, const carom_world *world)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	cr_carried_walk walk = { .part = k->part };
	for (const carom_surface_contact *c; (c = cr_next_remembered(world, &walk)) != NULL;)
		carry_contact(k, c);
	for (int64_t i = 0; i < m->carried.count; i++) {
		const carom_surface_contact *c = &m->carried.data[i];
		if (cr_part_a_of(c) == k->part || cr_part_b_of(c) == k->part)
			carry_contact(k, c);
	}
	walk = (cr_carried_walk){ .part = k->part };
	for (const carom_surface_shape_contact *c; (c = cr_next_remembered_shape(world, &walk)) != NULL;)
		carry_shape_contact(k, c);
	for (int64_t i = 0; i < m->carried_shapes.count; i++) {
		if ((int32_t)m->carried_shapes.data[i].body_a.index1 - 1 == k->part)
			carry_shape_contact(k, &m->carried_shapes.data[i]);
	}
}

static void close_carrying(carrying *k)
{
	cr_fans_free(k->memory, &k->fans);
	cr_free(k->memory, k->first, ((size_t)k->old->vertex_count + 2) * sizeof *k->first);
	cr_free(k->memory, k->stand_in, (size_t)k->old->vertex_count * sizeof *k->stand_in);
	cr_free(k->memory, k->copies, (size_t)k->made->vertex_count * sizeof *k->copies);
	cr_free(k->memory, k->origin, (size_t)k->made->vertex_count * sizeof *k->origin);
	cr_array_free(k->memory, &k->edges[0]);
	cr_array_free(k->memory, &k->edges[1]);
}

bool cr_carry_surface_contacts(
	carom_world *world, int32_t part, const cr_surface *old, const cr_surface *made, const int32_t *from, cr_carried *carried)
{
	if (!cr_has_surface_memory(&world->surface_contacts))
		return true;
	carrying k = { .memory = &world->memory,
		.part = part,
		.old_places = old,
		.made_places = made,
		.old = old->faces,
		.made = made->faces,
		.from = from,
		.carried = carried };
	if (list_copies(&k))
		carry_all(&k, world);
	else
		k.failed = true;
	close_carrying(&k);
	return !k.failed;
}

// ---- Lists ----

const carom_surface_contact *cr_next_remembered(const carom_world *world, cr_carried_walk *walk)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	while (walk->at < m->known) {
		const carom_surface_contact *c = &m->found.data[walk->at];
		const bool is_of_part = cr_part_a_of(c) == walk->part || cr_part_b_of(c) == walk->part;
		if (walk->at >= walk->end)
			walk->end = cr_end_of_surface_pair(m->found.data, walk->at, m->known);
		walk->at = is_of_part ? walk->at + 1 : walk->end;
		if (is_of_part && cr_is_remembered(world, c))
			return c;
	}
	return NULL;
}

const carom_surface_shape_contact *cr_next_remembered_shape(const carom_world *world, cr_carried_walk *walk)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	int64_t part;
	while (walk->at < m->known_shapes) {
		const carom_surface_shape_contact *c = &m->found_shapes.data[walk->at];
		const bool is_of_part = (int32_t)c->body_a.index1 - 1 == walk->part || cr_shape_part_of(c) == walk->part;
		if (walk->at >= walk->end)
			walk->end = cr_end_of_surface_shape_pair(m->found_shapes.data, walk->at, m->known_shapes);
		walk->at = is_of_part ? walk->at + 1 : walk->end;
		if (is_of_part && cr_is_still(world, c->body_a, 0, &part) && cr_is_still(world, c->body_b, c->shape_b, &part))
			return c;
	}
	return NULL;
}

bool cr_emit_carried(carom_context *memory, cr_carried *carried, const carom_surface_contact *c)
{
	if (!cr_array_reserve_one(memory, &carried->contacts))
		return false;
	carried->contacts.data[carried->contacts.count++] = *c;
	return true;
}

bool cr_emit_carried_shape(carom_context *memory, cr_carried *carried, const carom_surface_shape_contact *c)
{
	if (!cr_array_reserve_one(memory, &carried->shapes))
		return false;
	carried->shapes.data[carried->shapes.count++] = *c;
	return true;
}

void cr_free_carried(carom_context *memory, cr_carried *carried)
{
	cr_array_free(memory, &carried->contacts);
	cr_array_free(memory, &carried->shapes);
}

bool cr_reserve_carried(carom_context *memory, cr_surface_contacts *m, const cr_carried *carried)
{
	return cr_array_reserve(memory, &m->carried, m->carried.count + carried->contacts.count) &&
		cr_array_reserve(memory, &m->carried_shapes, m->carried_shapes.count + carried->shapes.count);
}

void cr_take_carried(carom_context *memory, cr_surface_contacts *m, cr_carried *carried)
{
	for (int64_t i = 0; i < carried->contacts.count; i++)
		m->carried.data[m->carried.count++] = carried->contacts.data[i];
	for (int64_t i = 0; i < carried->shapes.count; i++)
		m->carried_shapes.data[m->carried_shapes.count++] = carried->shapes.data[i];
	cr_free_carried(memory, carried);
}

void cr_drop_carried(cr_surface_contacts *m, int32_t part)
{
	int64_t left = 0, left_shapes = 0;
	for (int64_t i = 0; i < m->carried.count; i++) {
		const carom_surface_contact *c = &m->carried.data[i];
		if (cr_part_a_of(c) != part && cr_part_b_of(c) != part)
			m->carried.data[left++] = *c;
	}
	m->carried.count = left;
	for (int64_t i = 0; i < m->carried_shapes.count; i++) {
		const carom_surface_shape_contact *c = &m->carried_shapes.data[i];
		if ((int32_t)c->body_a.index1 - 1 != part && cr_shape_part_of(c) != part)
			m->carried_shapes.data[left_shapes++] = *c;
	}
	m->carried_shapes.count = left_shapes;
}

void cr_drop_carried_of_dead(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const cr_body *bodies = world->bodies.data;
	int64_t left = 0, left_shapes = 0;
	for (int64_t i = 0; i < m->carried.count; i++) {
		const carom_surface_contact *c = &m->carried.data[i];
		if (bodies[cr_part_a_of(c)].alive && bodies[cr_part_b_of(c)].alive)
			m->carried.data[left++] = *c;
	}
	m->carried.count = left;
	for (int64_t i = 0; i < m->carried_shapes.count; i++) {
		const carom_surface_shape_contact *c = &m->carried_shapes.data[i];
		if (bodies[c->body_a.index1 - 1].alive && bodies[cr_shape_part_of(c)].alive)
			m->carried_shapes.data[left_shapes++] = *c;
	}
	m->carried_shapes.count = left_shapes;
}

bool cr_sort_carried(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	return (m->carried.count == 0 || cr_put_in_order(world, &m->carried)) &&
		(m->carried_shapes.count == 0 || cr_put_shapes_in_order(world, &m->carried_shapes));
}
