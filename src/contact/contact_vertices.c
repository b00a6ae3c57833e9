/// See contact_vertices.h.

#include "contact/contact_vertices.h"

#include <float.h>
#include <stdatomic.h>

// ---- Long edges ----

static double edge_square(const cr_topology *t, int32_t half_edge)
{
	const int32_t triangle = half_edge / 3, corner = half_edge % 3;
	const v3d from = v3d_from_floats(&t->vertices[3 * (int64_t)t->triangles[half_edge]]);
	const v3d to = v3d_from_floats(&t->vertices[3 * (int64_t)t->triangles[3 * triangle + (corner + 1) % 3]]);
	const v3d edge = v3d_sub(to, from);
	return v3d_dot(edge, edge);
}

static float measure_edges(const carom_mesh *mesh)
{
	const cr_topology *t = mesh->collider.topology;
	double longest = 0;
	for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
		const double square = t->used[i / 3] ? edge_square(t, i) : 0;
		longest = square > longest ? square : longest;
	}
	return (float)sqrt(longest);
}

double cr_longest_edge(const carom_mesh *mesh)
{
	_Atomic float *known = (_Atomic float *)&mesh->longest_edge;
	float longest = atomic_load_explicit(known, memory_order_relaxed);
	if (longest == 0) {
		longest = measure_edges(mesh);
		longest = longest > 0 ? longest : FLT_MIN;
		atomic_store_explicit(known, longest, memory_order_relaxed);
	}
	return (double)longest;
}

void cr_note_edges_of(carom_mesh *displaced, const carom_mesh *mesh)
{
	displaced->longest_edge = (float)cr_longest_edge(mesh);
	displaced->is_displaced = true;
}

// ---- The vertices ----

/// The name of the vertex that a contact is at, not 0; 0: it is at none, or it is ahead.
static uint64_t name_of(const cr_topology *const topology[2], const cr_raw_contact *contact)
{
	if (contact->depth < 0 || (contact->kind != CAROM_VERTEX_A && contact->kind != CAROM_VERTEX_B))
		return 0;
	const int side = contact->kind == CAROM_VERTEX_B;
	const int32_t vertex = side == 0 ? contact->feature_a : contact->feature_b;
	return 2 * (uint64_t)(uint32_t)topology[side]->weld[vertex] + (uint64_t)side + 1;
}

/// Mixes all bits (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

uint64_t cr_number_of_vertices(const cr_pipeline *p, const cr_pair_work *w, const cr_raw_contact *contacts, int64_t count)
{
	const cr_topology *const topology[2] = { p->bodies[w->a].shape.collider->topology,
		p->bodies[w->b].shape.collider->topology };
	uint64_t sum = 0;
	for (int64_t i = 0; i < count; i++)
		sum += mix(name_of(topology, &contacts[i]));
	return sum;
}

bool cr_list_contact_vertices(const cr_pipeline *p, cr_worker *worker, const cr_pair_work *w, const cr_raw_contact *contacts,
	int64_t count, cr_contact_vertices *v)
{
	const cr_body *body[2] = { &p->bodies[w->a], &p->bodies[w->b] };
	const double limit = CR_SMALL_SHARE * fmin(body[0]->shape.collider->diagonal, body[1]->shape.collider->diagonal);
	*v = (cr_contact_vertices){ .longest = limit * limit, .mask = 15 };
	for (int side = 0; side < 2; side++) {
		v->topology[side] = body[side]->shape.collider->topology;
		v->small[side] = !body[side]->shape.mesh->is_displaced && cr_longest_edge(body[side]->shape.mesh) <= limit;
	}
	while (v->mask < 4 * count)
		v->mask = 2 * v->mask + 1;
	const size_t bytes = ((size_t)v->mask + 1) * sizeof *v->table;
	v->table = cr_arena_alloc(&worker->arena, bytes);
	if (!v->table)
		return false;
	memset(v->table, 0, bytes);
	for (int64_t i = 0; i < count; i++) {
		const uint64_t name = name_of(v->topology, &contacts[i]);
		uint32_t at = (uint32_t)(name * 0x9e3779b97f4a7c15 >> 40) & v->mask;
		while (v->table[at] != 0 && v->table[at] != name)
			at = (at + 1) & v->mask;
		v->table[at] = name;
		v->bits[name % CR_NAME_BITS / 64] |= (uint64_t)(name != 0) << name % 64;
	}
	return true;
}

bool cr_is_spoken_for(const cr_contact_vertices *v, int side, int32_t triangle)
{
	const cr_topology *t = v->topology[side];
	const int32_t *corner = &t->triangles[3 * (int64_t)triangle];
	bool found = false;
	for (int k = 0; k < 3 && !found; k++)
		found = cr_vertex_has_contact(v, side, t->weld[corner[k]]);
	for (int k = 0; k < 3 && found && !v->small[side]; k++)
		found = edge_square(t, 3 * triangle + k) <= v->longest;
	return found;
}
