/// Surface contacts with shapes that are no meshes. The search measures features against shapes;
/// here they are filtered, and one that stays in a shape keeps the way out that it has.
///
/// The nearest way out of a thin plate turns round where a feature passes the middle. So where a
/// feature overlapped the shape, or was near it, in the last step, and the nearest way out has
/// turned by more than 60 degrees since, the way out along the last normal counts: the shape's
/// support along it. An edge or a triangle that was not near it goes by its vertices.
#include "frame/shape_table.h"
#include "proximity/proximity_state.h"
#include "world/surface_contacts.h"
#include "world/world.h"
#include <string.h>

// Cosine of the angle by which a normal turns within a step at most.
#define MOST_TURN 0.5

// ---- The contacts of the last step ----

static uint64_t parts_of(const carom_surface_shape_contact *c)
{
	return (uint64_t)(uint32_t)cr_shape_part_of(c) << 32 | (c->body_a.index1 - 1);
}

int cr_compare_surface_shape_contacts(const carom_surface_shape_contact *a, const carom_surface_shape_contact *b)
{
	const uint64_t x[2] = { parts_of(a), cr_feature_key(a->vertices, a->triangle) },
				   y[2] = { parts_of(b), cr_feature_key(b->vertices, b->triangle) };
	for (int k = 0; k < 2; k++) {
		if (x[k] != y[k])
			return x[k] < y[k] ? -1 : 1;
	}
	return 0;
}

bool cr_put_shapes_in_order(carom_world *world, cr_surface_shape_contact_list *contacts)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const int64_t count = contacts->count;
	cr_surface_shape_contact_list sorted = { 0 };
	if (!cr_array_reserve_fresh(&world->memory, &m->deep_order, 2 * count) || !cr_array_reserve(&world->memory, &sorted, count))
		return false;
	cr_key *order = m->deep_order.data;
	for (int64_t i = 0; i < count; i++)
		order[i] = (cr_key){ cr_feature_key(contacts->data[i].vertices, contacts->data[i].triangle), (uint32_t)i };
	cr_radix_sort(order, order + count, count, 64);
	for (int64_t i = 0; i < count; i++)
		order[i].key = parts_of(&contacts->data[order[i].value]);
	cr_radix_sort(order, order + count, count, 64);
	for (int64_t i = 0; i < count; i++) {
		const carom_surface_shape_contact *c = &contacts->data[order[i].value];
		if (i == 0 || cr_compare_surface_shape_contacts(&sorted.data[sorted.count - 1], c) != 0)
			sorted.data[sorted.count++] = *c;
	}
	cr_array_free(&world->memory, contacts);
	*contacts = sorted;
	return true;
}

/// The contact of the feature and the shape of this one among the first count of a list in order;
/// NULL: there is none.
static const carom_surface_shape_contact *find_in(
	const cr_surface_shape_contact_list *list, int64_t count, const carom_surface_shape_contact *c)
{
	int64_t low = 0, high = count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (cr_compare_surface_shape_contacts(&list->data[middle], c) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && cr_compare_surface_shape_contacts(&list->data[low], c) == 0 ? &list->data[low] : NULL;
}

/// The contact of the last step of the same feature and shape; NULL: there was none.
static const carom_surface_shape_contact *find_last(const carom_world *world, const carom_surface_shape_contact *c)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const carom_surface_shape_contact *last = find_in(&m->found_shapes, m->known_shapes, c);
	int64_t part;
	if (last && cr_is_still(world, last->body_a, 0, &part) && cr_is_still(world, last->body_b, last->shape_b, &part))
		return last;
	last = find_in(&m->carried_shapes, m->carried_shapes.count, c);
	return last && cr_compare_ids(last->body_a, c->body_a) == 0 && cr_compare_ids(last->body_b, c->body_b) == 0 ? last : NULL;
}

// ---- Ways out ----

/// The way out along a normal: the contact's distance, point and normal.
static void leave_along(const carom_world *world, int32_t part, v3d normal, carom_surface_shape_contact *c)
{
	const cr_body *body = &world->bodies.data[part];
	const cr_convex convex = cr_convex_of(&body->shape.def);
	const v3d local = cr_vector_to_body(body, normal);
	const double top = v3d_dot(local, cr_convex_support(&convex, local)) + convex.rounding;
	const double *places = cr_deforming_of(&world->bodies.data[c->body_a.index1 - 1])->surface.end;
	double lowest = INFINITY;
	v3d foot = { 0, 0, 0 };
	for (int k = 0; k < 3 && c->vertices[k] >= 0; k++) {
		const double *p = &places[3 * (int64_t)c->vertices[k]];
		const v3d from = v3d_sub(v3d_from_doubles(p), body->pose.position);
		c->weight[k] = 0;
		if (v3d_dot(normal, from) < lowest) {
			lowest = v3d_dot(normal, from);
			foot = v3d_from_doubles(p);
		}
	}
	for (int k = 0; k < 3 && c->vertices[k] >= 0; k++) {
		const double *p = &places[3 * (int64_t)c->vertices[k]];
		if (foot.x == p[0] && foot.y == p[1] && foot.z == p[2]) {
			c->weight[k] = 1;
			break;
		}
	}
	c->distance = lowest - top;
	c->normal = normal;
	c->point = v3d_mad(foot, -c->distance, normal);
}

static v3d normal_now(const carom_world *world, int32_t part, const carom_surface_shape_contact *last)
{
	// The normal stands on the shape, which may have turned.
	const cr_body *body = &world->bodies.data[part];
	const m3d then = m3d_from_quat(cr_begin_of(body)->orientation);
	return cr_vector_to_world(body, m3d_tmul(&then, last->normal));
}

/// The last contact of that vertex of the feature whose way out is nearest to the contact's; NULL:
/// there was none.
static const carom_surface_shape_contact *find_last_of_vertex(
	const carom_world *world, int32_t part, const carom_surface_shape_contact *c)
{
	const carom_surface_shape_contact *best = NULL;
	double most = -INFINITY;
	for (int k = 0; k < 3 && c->vertices[k] >= 0; k++) {
		const carom_surface_shape_contact of_vertex = { .body_a = c->body_a,
			.body_b = c->body_b,
			.shape_b = c->shape_b,
			.vertices = { c->vertices[k], -1, -1 },
			.triangle = -1 };
		const carom_surface_shape_contact *last = find_last(world, &of_vertex);
		const double along = last ? v3d_dot(c->normal, normal_now(world, part, last)) : -INFINITY;
		if (along > most) {
			most = along;
			best = last;
		}
	}
	return best;
}

/// Keep the way out that the feature had, where it is in the shape and had one. An edge or a
/// triangle that had none has that of its vertices.
static void keep_way(const carom_world *world, int32_t part, carom_surface_shape_contact *c)
{
	const carom_surface_shape_contact *last = find_last(world, c);
	cr_go_on(last ? &last->age : NULL, last ? last->impulse : NULL, &c->age, c->impulse);
	if (!(c->distance < 0) || world->bodies.data[part].shape.def.type == CAROM_PLANE)
		return;
	if (!last && c->vertices[1] >= 0)
		last = find_last_of_vertex(world, part, c);
	const v3d normal = last ? normal_now(world, part, last) : c->normal;
	if (v3d_dot(c->normal, normal) < MOST_TURN)
		leave_along(world, part, normal, c);
}

// ---- All pairs ----

static void fill_contact(const carom_world *world, int32_t part_a, int32_t part_b, const carom_proximity_shape_pair *pair,
	carom_surface_shape_contact *c)
{
	const cr_body *bodies = world->bodies.data;
	*c = (carom_surface_shape_contact){ .body_a = cr_id_of(bodies, part_a),
		.body_b = cr_id_of(bodies, part_b),
		.user_data_a = bodies[part_a].user_data,
		.user_data_b = bodies[part_b].user_data,
		.shape_b = bodies[part_b].part,
		.triangle = pair->triangle,
		.point = pair->point,
		.normal = pair->normal,
		.distance = pair->gap,
		.thickness = cr_kept_distance(&bodies[part_a], &bodies[part_b]) };
	memcpy(c->vertices, pair->vertices, sizeof c->vertices);
	memcpy(c->weight, pair->weight, sizeof c->weight);
	keep_way(world, part_b, c);
}

bool cr_judge_surface_shapes(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	bool touches = false;
	for (int64_t i = 0; i < view->shape_pair_count; i++) {
		const carom_proximity_shape_pair *pair = &view->shape_pairs[i];
		const int32_t part_a = m->members.list.data[pair->mesh].body, part_b = m->shapes.data[pair->shape];
		if (i == 0 || pair->mesh != pair[-1].mesh || pair->shape != pair[-1].shape)
			touches = cr_may_surfaces_touch(world, part_a, part_b);
		if (!touches)
			continue;
		if (world->bodies.data[part_b].sensor) {
			// A pair is noted once.
			touches = !(pair->gap < cr_kept_distance(&world->bodies.data[part_a], &world->bodies.data[part_b]));
			if (!touches && !cr_note_sensed(world, part_a, part_b))
				return false;
			continue;
		}
		if (!cr_array_reserve_one(&world->memory, &m->next_shapes))
			return false;
		carom_surface_shape_contact *c = &m->next_shapes.data[m->next_shapes.count];
		fill_contact(world, part_a, part_b, pair, c);
		m->next_shapes.count += c->distance < c->thickness;
	}
	return true;
}
