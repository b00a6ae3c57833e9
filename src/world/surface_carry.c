/// The memory of surface contacts where a body gets another mesh (carom_world_set_mesh).
///
/// In: the contacts that the next step would remember, and the map from new vertices to old ones.
/// Out: the same contacts in the numbers of the new mesh, one for each copy that a vertex or an
/// edge has there. A triangle becomes the one with most of its corners, so a vertex finds its way
/// from there though the triangle was cut or made finer. Where no corner is left, as in a coarser
/// mesh, the nearest vertex along edges that is left stands in. Contacts of which nothing is left
/// are dropped. Only the search for sides and ages reads them; the views of the last step go on
/// naming the old mesh. Cost: O(triangles + contacts).
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
	const cr_topology *old, *made;
	const int32_t *from; // NULL: each vertex was the one of its number
	cr_fans fans;        // of the new mesh
	int32_t *first;      // [vertices of the old mesh + 1] where the copies of a vertex begin
	int32_t *copies;     // [vertices of the new mesh]
	// [vertices of the old mesh] one near it that has a triangle in the new one; -1: none
	int32_t *stand_in;
	CR_ARRAY(edge) edges[2]; // of the contact in hand: its first and its second edge
	cr_surface_contact_list carried;
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

static bool list_copies(carrying *k)
{
	const int32_t count = k->made->vertex_count, old_count = k->old->vertex_count;
	k->first = cr_alloc_zero(k->memory, ((size_t)old_count + 2) * sizeof *k->first);
	k->copies = cr_alloc_array(k->memory, (size_t)count, sizeof *k->copies);
	if (!k->first || (!k->copies && count > 0) || !cr_fans_build(k->memory, k->made, &k->fans))
		return false;
	// Counted two places on, so that filling moves each to where its list begins.
	for (int32_t i = 0; i < count; i++)
		k->first[source_of(k, i) + 2] += source_of(k, i) >= 0;
	for (int32_t v = 0; v < old_count; v++)
		k->first[v + 2] += k->first[v + 1];
	for (int32_t i = 0; i < count; i++) {
		if (source_of(k, i) >= 0)
			k->copies[k->first[source_of(k, i) + 1]++] = i;
	}
	return true;
}

/// The lowest triangle of a copy of an old vertex; -1: none.
static int32_t first_triangle(const carrying *k, int32_t vertex)
{
	int32_t best = -1;
	for (int32_t i = k->first[vertex]; i < k->first[vertex + 1]; i++) {
		const int32_t v = k->made->weld[k->copies[i]];
		for (int32_t f = k->fans.first[v]; f < k->fans.first[v + 1]; f++) {
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
				if (t[c] == vertex && source_of(k, beside) == ends[1])
					note_edge(k, which, vertex, beside);
				if (t[c] == vertex && source_of(k, before) == ends[1])
					note_edge(k, which, vertex, before);
			}
		}
	}
}

// ---- Contacts ----

static void emit(carrying *k, const carom_surface_contact *c)
{
	if (!cr_array_reserve_one(k->memory, &k->carried)) {
		k->failed = true;
		return;
	}
	k->carried.data[k->carried.count++] = *c;
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
		now.vertices[0] = k->copies[i];
		emit(k, &now);
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
	turned.normal = (carom_vec3){ -c->normal.x, -c->normal.y, -c->normal.z };
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
	if (cr_part_a_of(c) != k->part && cr_part_b_of(c) != k->part)
		emit(k, c);
	else if (c->kind == CAROM_SWEEP_VERTEX_FACE)
		carry_face(k, c);
	else
		carry_edges(k, c);
}

/// Those of the last step that are of the part and that the next step would remember, and those
/// that were carried over already.
static void carry_all(carrying *k, const carom_world *world)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	for (int64_t i = 0; i < m->known; i++) {
		const carom_surface_contact *c = &m->found.data[i];
		if ((cr_part_a_of(c) == k->part || cr_part_b_of(c) == k->part) && cr_is_remembered(world, c))
			carry_contact(k, c);
	}
	for (int64_t i = 0; i < m->carried.count; i++)
		carry_contact(k, &m->carried.data[i]);
}

static void close_carrying(carrying *k)
{
	cr_fans_free(k->memory, &k->fans);
	cr_free(k->memory, k->first, ((size_t)k->old->vertex_count + 2) * sizeof *k->first);
	cr_free(k->memory, k->stand_in, (size_t)k->old->vertex_count * sizeof *k->stand_in);
	cr_free(k->memory, k->copies, (size_t)k->made->vertex_count * sizeof *k->copies);
	cr_array_free(k->memory, &k->edges[0]);
	cr_array_free(k->memory, &k->edges[1]);
}

bool cr_carry_surface_contacts(carom_world *world, int32_t part, const cr_topology *old, const cr_topology *made,
	const int32_t *from, cr_surface_contact_list *carried)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	*carried = (cr_surface_contact_list){ 0 };
	if (m->known + m->carried.count == 0)
		return true;
	carrying k = { .memory = &world->memory, .part = part, .old = old, .made = made, .from = from };
	if (list_copies(&k))
		carry_all(&k, world);
	else
		k.failed = true;
	close_carrying(&k);
	if (!k.failed && cr_put_in_order(world, &k.carried)) {
		*carried = k.carried;
		return true;
	}
	cr_array_free(&world->memory, &k.carried);
	return false;
}

void cr_take_carried(carom_context *memory, cr_surface_contacts *m, cr_surface_contact_list *carried)
{
	cr_array_free(memory, &m->carried);
	m->carried = *carried;
}

void cr_drop_carried(cr_surface_contacts *m, int32_t part)
{
	int64_t left = 0;
	for (int64_t i = 0; i < m->carried.count; i++) {
		const carom_surface_contact *c = &m->carried.data[i];
		if (cr_part_a_of(c) != part && cr_part_b_of(c) != part)
			m->carried.data[left++] = *c;
	}
	m->carried.count = left;
}
