/// Contacts with shapes that are no meshes go on from step to step: each place once, and one that
/// has changed its name.
///
/// A nearest point wanders over a cloth: from an edge to a face, over a vertex to the next edge.
/// There the contact gets another name, and the last step has none of that feature. So a new
/// contact takes over from an old one whose feature has none any more, if the two features share a
/// vertex, their places on the surface as it is now are within match_distance, and the old normal
/// has turned by less than 60 degrees. The nearest two go first, and each old contact goes on once.
///
/// Cost: a pass over the contacts of both steps, and O(k log k) for k that have no namesake.
#include "base/stable_sort.h"
#include "world/surface_contacts.h"
#include "world/world.h"

/// The contacts of one mesh with one shape, of this step and of the last.
typedef struct match {
	carom_world *world;
	int32_t part; // of the shape
	carom_surface_shape_contact *now;
	const carom_surface_shape_contact *then;
	int64_t now_count, then_count;
} match;

/// List the old contacts that no contact of this step has its name from, once for each of their
/// vertices, by vertex. Both lists are in order.
static bool list_left(const match *m, cr_shape_match_lists *lists)
{
	lists->left.count = 0;
	for (int64_t i = 0, k = 0; i < m->then_count; i++) {
		const carom_surface_shape_contact *old = &m->then[i];
		while (k < m->now_count && cr_compare_surface_shape_contacts(&m->now[k], old) < 0)
			k++;
		if (k < m->now_count && cr_compare_surface_shape_contacts(&m->now[k], old) == 0)
			continue;
		const int count = cr_corners_of(old);
		if (!cr_array_reserve(&m->world->memory, &lists->left, lists->left.count + count))
			return false;
		for (int c = 0; c < count; c++)
			lists->left.data[lists->left.count++] = (cr_key){ (uint64_t)old->vertices[c], (uint32_t)i };
	}
	const int64_t count = lists->left.count;
	if (!cr_array_reserve(&m->world->memory, &lists->left, 2 * count))
		return false;
	if (count > 0)
		cr_radix_sort(lists->left.data, lists->left.data + count, count, 32);
	return true;
}

/// Where a contact's place on the surface is now.
static v3d place_of(const match *m, const carom_surface_shape_contact *c)
{
	const double *places = cr_deforming_of(&m->world->bodies.data[c->body_a.index1 - 1])->surface.end;
	v3d sum = { 0, 0, 0 };
	for (int k = 0; k < cr_corners_of(c); k++)
		sum = v3d_mad(sum, c->weight[k], v3d_from_doubles(&places[3 * (int64_t)c->vertices[k]]));
	return sum;
}

/// List the old contacts from which a new one may take over.
static bool list_partners(const match *m, int64_t number, cr_shape_match_lists *lists)
{
	const carom_surface_shape_contact *now = &m->now[number];
	const v3d place = place_of(m, now);
	for (int c = 0; c < cr_corners_of(now); c++) {
		const uint64_t vertex = (uint64_t)now->vertices[c];
		for (int64_t i = cr_first_key(lists->left.data, lists->left.count, vertex);
			 i < lists->left.count && lists->left.data[i].key == vertex; i++) {
			const carom_surface_shape_contact *old = &m->then[lists->left.data[i].value];
			const double distance = v3d_length(v3d_sub(place_of(m, old), place));
			if (!(distance <= m->world->def.match_distance) ||
				v3d_dot(now->normal, cr_shape_normal_now(m->world, m->part, old)) < CR_MOST_TURN)
				continue;
			if (!cr_array_reserve_one(&m->world->memory, &lists->partners))
				return false;
			lists->partners.data[lists->partners.count++] =
				(cr_shape_partners){ distance, (int32_t)number, (int32_t)lists->left.data[i].value };
		}
	}
	return true;
}

static int compare_partners(const void *a, const void *b)
{
	const cr_shape_partners *x = a, *y = b;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	const int order = cr_compare_numbers(x->now, y->now);
	return order != 0 ? order : cr_compare_numbers(x->then, y->then);
}

/// Let new contacts take over, the nearest first.
static bool take_over(const match *m, cr_shape_match_lists *lists)
{
	if (!cr_array_reserve_fresh(&m->world->memory, &lists->taken, m->then_count))
		return false;
	for (int64_t i = 0; i < m->then_count; i++)
		lists->taken.data[i] = false;
	if (lists->partners.count > 1)
		cr_sort_stably(lists->partners.data, lists->partners.count, sizeof *lists->partners.data, compare_partners);
	for (int64_t i = 0; i < lists->partners.count; i++) {
		const cr_shape_partners *p = &lists->partners.data[i];
		carom_surface_shape_contact *now = &m->now[p->now];
		const carom_surface_shape_contact *old = &m->then[p->then];
		if (now->age > 0 || lists->taken.data[p->then])
			continue;
		lists->taken.data[p->then] = true;
		cr_go_on(&old->age, old->impulse, &now->age, now->impulse);
	}
	return true;
}

bool cr_match_shape_contacts(carom_world *world, int32_t part, int64_t first)
{
	cr_surface_contacts *s = &world->surface_contacts;
	cr_shape_match_lists *lists = &s->shape_match;
	match m = { .world = world, .part = part, .now = s->next_shapes.data + first, .now_count = s->next_shapes.count - first };
	bool is_new = false;
	for (int64_t i = 0; i < m.now_count && !is_new; i++)
		is_new = m.now[i].age == 0;
	if (!is_new)
		return true;
	m.then = cr_last_shape_contacts(world, m.now, &m.then_count);
	if (m.then_count == 0)
		return true;
	bool enough = list_left(&m, lists);
	lists->partners.count = 0;
	for (int64_t i = 0; i < m.now_count && enough && lists->left.count > 0; i++)
		enough = m.now[i].age > 0 || list_partners(&m, i, lists);
	return enough && take_over(&m, lists);
}

void cr_free_shape_match(carom_context *memory, cr_shape_match_lists *lists)
{
	cr_array_free(memory, &lists->left);
	cr_array_free(memory, &lists->partners);
	cr_array_free(memory, &lists->taken);
}
