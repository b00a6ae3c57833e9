/// The user's verdict on single surface contacts.
///
/// In: next and next_shapes, and the pairs with their ranges in them. Out: the contacts that are
/// kept, and the pairs that keep some. The filter is that of all contacts, so each surface contact
/// is shown to it as a plain contact: the first feature's point, the normal that takes A out, and
/// as depth the part of the thickness that lacks.
///
/// A contact that is left out is no memory of the next step: its vertex may be on either side, and
/// belongs from then on to the side where it is. Edges and vertices name a triangle, which is
/// looked up in a list of the corners around each vertex. It is made for a mesh whose edges are
/// asked about first, and kept with the scene. Cost: O(contacts) calls, in parallel.
#include "base/parallel.h"
#include "contact/material.h"
#include "world/surface_contacts.h"
#include "world/world.h"
#include <string.h>

enum { CONTACTS_PER_TASK = 256 };

// ---- Triangles of features ----

void cr_drop_surface_fans(carom_context *memory, cr_surface_contacts *m)
{
	for (int64_t i = 0; i < m->fans.count; i++)
		cr_fans_free(memory, &m->fans.data[i]);
	m->fans.count = 0;
}

bool cr_make_surface_fans(carom_world *world, int32_t part)
{
	cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_array_reserve(&world->memory, &m->fans, m->members.list.count))
		return false;
	while (m->fans.count < m->members.list.count)
		m->fans.data[m->fans.count++] = (cr_fans){ 0 };
	const int32_t member = cr_find_member(&m->members.list, part);
	if (member < 0 || m->fans.data[member].first)
		return true;
	return cr_fans_build(&world->memory, &world->bodies.data[part].shape.mesh->topology, &m->fans.data[member]);
}

/// 3 * triangle + the corner where a vertex, or an edge from or to it, starts in that triangle. to:
/// the other end; -1: a vertex.
static int32_t corner_of(const cr_topology *t, int32_t corner, int32_t vertex, int32_t to)
{
	const int32_t *triangle = &t->triangles[corner - corner % 3];
	for (int32_t k = 0; k < 3; k++) {
		const int32_t p = triangle[k], q = triangle[(k + 1) % 3];
		if ((to < 0 && p == vertex) || (p == vertex && q == to) || (p == to && q == vertex))
			return corner - corner % 3 + k;
	}
	return -1;
}

/// That of the lowest triangle in use that has the vertex or edge; of those left out where there is
/// none.
static int32_t find_corner(const carom_world *world, int32_t part, int32_t vertex, int32_t to)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_topology *t = &world->bodies.data[part].shape.mesh->topology;
	const cr_fans *fans = &m->fans.data[cr_find_member(&m->members.list, part)];
	int32_t found = -1;
	for (int32_t i = fans->first[t->weld[vertex]]; i < fans->first[t->weld[vertex] + 1] && found < 0; i++)
		found = corner_of(t, fans->corners[i], vertex, to);
	for (int32_t i = 0; i < t->triangle_count && found < 0; i++)
		found = corner_of(t, 3 * i, vertex, to);
	return found;
}

static uint32_t material_of_triangle(const cr_body *body, int32_t triangle)
{
	return body->shape.mesh->materials ? body->shape.mesh->materials[triangle] : 0;
}

static uint32_t material_of_vertex(const cr_body *body, int32_t vertex)
{
	return body->shape.mesh->materials ? body->shape.mesh->vertex_materials[vertex] : 0;
}

// ---- Plain contacts ----

/// One feature of a contact.
typedef struct feature {
	int32_t part, number;
	uint32_t material;
	carom_vec3 point;
} feature;

/// normal: from the second feature to the first. The lower part is A; within a body the first.
static carom_contact show(const carom_world *world, const feature *first, const feature *second, carom_vec3 normal)
{
	const cr_body *bodies = world->bodies.data;
	const bool turned = first->part > second->part;
	const feature *a = turned ? second : first, *b = turned ? first : second;
	const float sign = turned ? -1 : 1;
	return (carom_contact){ .body_a = cr_id_of(bodies, a->part),
		.body_b = cr_id_of(bodies, b->part),
		.point = { a->point.x, a->point.y, a->point.z },
		.normal = { sign * (float)normal.x, sign * (float)normal.y, sign * (float)normal.z },
		.feature_a = a->number,
		.feature_b = b->number,
		.material_a = a->material,
		.material_b = b->material,
		.shape_a = bodies[a->part].part,
		.shape_b = bodies[b->part].part };
}

static carom_contact show_contact(const carom_world *world, const carom_surface_contact *c)
{
	const cr_body *bodies = world->bodies.data;
	feature first = { .part = cr_part_a_of(c), .point = c->point_a }, second = { .part = cr_part_b_of(c), .point = c->point_b };
	const bool is_face = c->kind == CAROM_SWEEP_VERTEX_FACE;
	if (is_face) {
		first.number = c->vertices[0];
		first.material = material_of_vertex(&bodies[first.part], c->vertices[0]);
		second.number = c->triangle;
		second.material = material_of_triangle(&bodies[second.part], c->triangle);
		second.point = c->point_a; // of a vertex and a face it is always the vertex
	} else {
		first.number = find_corner(world, first.part, c->vertices[0], c->vertices[1]);
		first.material = material_of_triangle(&bodies[first.part], first.number / 3);
		second.number = find_corner(world, second.part, c->vertices[2], c->vertices[3]);
		second.material = material_of_triangle(&bodies[second.part], second.number / 3);
	}
	carom_contact shown = show(world, &first, &second, c->normal);
	shown.kind = !is_face ? CAROM_EDGES : first.part > second.part ? CAROM_VERTEX_B : CAROM_VERTEX_A;
	shown.depth = (float)(c->thickness - c->distance);
	return shown;
}

static carom_contact show_shape_contact(const carom_world *world, const carom_surface_shape_contact *c)
{
	const v3d normal = { c->normal.x, c->normal.y, c->normal.z }, on = { c->point.x, c->point.y, c->point.z };
	const v3d at = v3d_mad(on, c->distance, normal);
	feature first = { .part = (int32_t)c->body_a.index1 - 1, .point = { at.x, at.y, at.z } };
	feature second = { .part = (int32_t)c->body_b.index1 - 1 + c->shape_b, .point = c->point };
	const cr_body *body = &world->bodies.data[first.part];
	second.material = cr_material_at(&world->bodies.data[second.part], -1, on, normal);
	first.number = c->triangle >= 0 ? c->triangle : find_corner(world, first.part, c->vertices[0], c->vertices[1]) / 3;
	first.material = c->vertices[1] < 0 ? material_of_vertex(body, c->vertices[0]) : material_of_triangle(body, first.number);
	carom_contact shown = show(world, &first, &second, c->normal);
	shown.kind = CAROM_VOLUMES;
	shown.depth = (float)(c->thickness - c->distance);
	return shown;
}

// ---- Asking ----

/// Contacts of one kind, and the pairs that have them, in their order.
typedef struct asking {
	carom_world *world;
	cr_further_pair *pairs;
	int64_t count; // of pairs
	bool shapes;   // contacts with shapes
} asking;

static cr_span *range_of(const asking *ask, int64_t pair)
{
	return ask->shapes ? &ask->pairs[pair].shape_contacts : &ask->pairs[pair].contacts;
}

static bool is_in_front(const cr_span *range, int64_t contact) { return (int64_t)range->first + range->count <= contact; }

static int64_t find_pair(const asking *ask, int64_t contact)
{
	int64_t low = 0, high = ask->count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (is_in_front(range_of(ask, middle), contact))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void ask_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const asking *ask = task;
	cr_surface_contacts *m = &ask->world->surface_contacts;
	int64_t pair = find_pair(ask, begin);
	for (int64_t i = begin; i < end; i++) {
		pair += is_in_front(range_of(ask, pair), i);
		carom_contact shown =
			ask->shapes ? show_shape_contact(ask->world, &m->next_shapes.data[i]) : show_contact(ask->world, &m->next.data[i]);
		shown.pair = (int32_t)(i - (int64_t)range_of(ask, pair)->first);
		m->kept.data[i] = cr_ask_contact_filter(ask->world, ask->pairs[pair].a, ask->pairs[pair].b, &shown);
	}
}

/// Close the gaps in an array of contacts, and give pairs their ranges in it. Returns how many are
/// left.
static int64_t close_gaps(const asking *ask, const uint8_t *kept, void *contacts, size_t size)
{
	uint8_t *bytes = contacts;
	int64_t count = 0;
	for (int64_t pair = 0; pair < ask->count; pair++) {
		cr_span *range = range_of(ask, pair);
		const int64_t begin = range->first, end = begin + range->count;
		range->first = (uint32_t)count;
		for (int64_t i = begin; i < end; i++) {
			if (!kept[i])
				continue;
			if (count < i)
				memcpy(bytes + (size_t)count * size, bytes + (size_t)i * size, size);
			count++;
		}
		range->count = (int32_t)(count - (int64_t)range->first);
	}
	return count;
}

static bool ask_about(asking *ask, int64_t contacts)
{
	carom_world *world = ask->world;
	cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_array_reserve_fresh(&world->memory, &m->kept, contacts))
		return false;
	cr_parallel_for(&world->memory, ask_task, contacts, CONTACTS_PER_TASK, ask);
	if (ask->shapes)
		m->next_shapes.count = close_gaps(ask, m->kept.data, m->next_shapes.data, sizeof *m->next_shapes.data);
	else
		m->next.count = close_gaps(ask, m->kept.data, m->next.data, sizeof *m->next.data);
	return true;
}

bool cr_filter_surface_contacts(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	int64_t of_meshes = 0, left = 0;
	for (int64_t i = 0; i < m->pairs.count; i++) {
		const cr_further_pair *pair = &m->pairs.data[i];
		of_meshes += pair->contacts.count > 0;
		if (!cr_make_surface_fans(world, pair->a) || !cr_make_surface_fans(world, pair->b))
			return false;
	}
	asking meshes = { world, m->pairs.data, of_meshes, false };
	asking shapes = { world, m->pairs.data + of_meshes, m->pairs.count - of_meshes, true };
	if (!ask_about(&meshes, m->next.count) || !ask_about(&shapes, m->next_shapes.count))
		return false;
	for (int64_t i = 0; i < m->pairs.count; i++) {
		if (m->pairs.data[i].contacts.count + m->pairs.data[i].shape_contacts.count > 0)
			m->pairs.data[left++] = m->pairs.data[i];
	}
	m->pairs.count = left;
	return true;
}
