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

const carom_surface_shape_contact *cr_last_shape_contacts(
	const carom_world *world, const carom_surface_shape_contact *c, int64_t *count)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const uint64_t parts = parts_of(c);
	int64_t low = 0, high = m->known_shapes, part;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (parts_of(&m->found_shapes.data[middle]) < parts)
			low = middle + 1;
		else
			high = middle;
	}
	const carom_surface_shape_contact *first = &m->found_shapes.data[low];
	const bool is_there = low < m->known_shapes && parts_of(first) == parts && cr_is_still(world, first->body_a, 0, &part) &&
		cr_is_still(world, first->body_b, first->shape_b, &part);
	*count = is_there ? cr_end_of_surface_shape_pair(m->found_shapes.data, low, m->known_shapes) - low : 0;
	return is_there ? first : NULL;
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

v3d cr_shape_normal_now(const carom_world *world, int32_t part, const carom_surface_shape_contact *last)
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
		const double along = last ? v3d_dot(c->normal, cr_shape_normal_now(world, part, last)) : -INFINITY;
		if (along > most) {
			most = along;
			best = last;
		}
	}
	return best;
}

const carom_surface_shape_contact *cr_last_of_shape_vertex(
	const carom_world *world, int32_t part_a, int32_t part_b, int32_t vertex)
{
	const cr_body *bodies = world->bodies.data;
	const carom_surface_shape_contact of_vertex = { .body_a = cr_id_of(bodies, part_a),
		.body_b = cr_id_of(bodies, part_b),
		.shape_b = bodies[part_b].part,
		.vertices = { vertex, -1, -1 },
		.triangle = -1 };
	return find_last(world, &of_vertex);
}

/// Let a feature leave by the way of one that has passed the shape, which is its own or beside it.
static cr_shape_way leave_by_pass(
	const carom_world *world, int32_t part, const cr_shape_pass *pass, carom_surface_shape_contact *c)
{
	if (!(c->distance < 0) || v3d_dot(c->normal, pass->way) < CR_MOST_TURN) {
		const cr_shape_leaving out = cr_leaving_of(world, pass->part_a, part);
		cr_lead_out_of_shape(&out, pass->way, c);
	}
	return CR_SHAPE_WAY_KNOWN;
}

/// Keep the way out that the feature had, where it is in the shape and had one. An edge or a
/// triangle that had none has that of its vertices. One whose region was led waits for its region.
/// Where a vertex came in within the step or is beyond, that counts. One that is deeper than the
/// distance to be kept goes back there, also where the nearest way has turned by less: cloth that
/// falls fast onto a ball would be led down on all sides of it.
static cr_shape_way keep_way(const carom_world *world, int32_t part, carom_surface_shape_contact *c)
{
	const carom_surface_shape_contact *last = find_last(world, c);
	cr_go_on(last ? &last->age : NULL, last ? last->impulse : NULL, &c->age, c->impulse);
	const cr_shape_entry *entry = cr_entry_of_feature(world, part, c);
	if (entry && (c->distance < 0 || c->vertices[1] < 0)) {
		if (entry->beyond || c->distance < -c->thickness || v3d_dot(c->normal, entry->way) < CR_MOST_TURN)
			leave_along(world, part, entry->way, c);
		return CR_SHAPE_WAY_KNOWN;
	}
	const cr_shape_pass *pass = entry ? NULL : cr_pass_of(world, part, c, false);
	if (pass)
		return leave_by_pass(world, part, pass, c);
	if (!(c->distance < 0) || world->bodies.data[part].shape.def.type == CAROM_PLANE)
		return CR_SHAPE_WAY_OUTSIDE;
	if (!last && c->vertices[1] >= 0)
		last = find_last_of_vertex(world, part, c);
	pass = last ? NULL : cr_pass_of(world, part, c, true);
	if (pass)
		return leave_by_pass(world, part, pass, c);
	if (!last)
		return CR_SHAPE_WAY_BEGAN;
	if (last->led)
		return CR_SHAPE_WAY_LED;
	const v3d normal = cr_shape_normal_now(world, part, last);
	if (v3d_dot(c->normal, normal) < CR_MOST_TURN)
		leave_along(world, part, normal, c);
	return CR_SHAPE_WAY_KNOWN;
}

v3d cr_last_way_out(const carom_world *world, int32_t part, const carom_surface_shape_contact *c)
{
	const carom_surface_shape_contact *last = find_last(world, c);
	return cr_shape_normal_now(world, part, last ? last : find_last_of_vertex(world, part, c));
}

// ---- All pairs ----

static cr_shape_way fill_contact(const carom_world *world, int32_t part_a, int32_t part_b,
	const carom_proximity_shape_pair *pair, carom_surface_shape_contact *c)
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
	return keep_way(world, part_b, c);
}

/// The pairs of one mesh and one shape that the search found.
typedef struct near_run {
	const carom_proximity_shape_pair *pairs;
	int64_t count;
	int32_t part_a, part_b;
} near_run;

/// A pair with a sensor is noted once.
static bool note_near(carom_world *world, const near_run *run)
{
	const double kept = cr_kept_distance(&world->bodies.data[run->part_a], &world->bodies.data[run->part_b]);
	bool touches = false;
	for (int64_t i = 0; i < run->count && !touches; i++)
		touches = run->pairs[i].gap < kept;
	return !touches || cr_note_sensed(world, run->part_a, run->part_b);
}

/// Contacts of one mesh and one shape.
static bool judge_run(carom_world *world, const near_run *run)
{
	cr_surface_contacts *m = &world->surface_contacts;
	cr_shape_region_lists *regions = &m->shape_regions;
	const int64_t first = m->next_shapes.count;
	bool began = false, goes_on = false;
	if (!cr_array_reserve(&world->memory, &m->next_shapes, first + run->count) ||
		!cr_array_reserve_fresh(&world->memory, &regions->ways, run->count))
		return false;
	for (int64_t i = 0; i < run->count; i++) {
		carom_surface_shape_contact *c = &m->next_shapes.data[m->next_shapes.count];
		const cr_shape_way way = fill_contact(world, run->part_a, run->part_b, &run->pairs[i], c);
		regions->ways.data[m->next_shapes.count - first] = (uint8_t)way;
		began = began || way == CR_SHAPE_WAY_BEGAN;
		goes_on = goes_on || way == CR_SHAPE_WAY_LED;
		const bool keeps = way == CR_SHAPE_WAY_OUTSIDE && cr_keeps_beyond(world, run->part_b, c);
		m->next_shapes.count += c->distance < c->thickness && !keeps;
	}
	return ((!began && !goes_on) || cr_lead_shape_regions(world, run->pairs->mesh, run->part_b, first, goes_on)) &&
		cr_match_shape_contacts(world, run->part_b, first);
}

/// Append the contacts of vertices, edges and triangles that are beyond a shape, and put all in
/// order where there are some. Those that the search saw are there already.
static bool append_beyond(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const int64_t count = m->next_shapes.count;
	for (int64_t i = 0; i < m->shape_entries.count; i++) {
		const cr_shape_entry *e = &m->shape_entries.data[i];
		const carom_proximity_shape_pair pair = {
			.vertices = { e->vertex, -1, -1 }, .weight = { 1 }, .triangle = -1, .normal = e->way
		};
		if (!e->beyond)
			continue;
		if (!cr_array_reserve_one(&world->memory, &m->next_shapes))
			return false;
		fill_contact(world, e->part_a, e->part_b, &pair, &m->next_shapes.data[m->next_shapes.count++]);
	}
	for (int64_t i = 0; i < m->shape_passes.count; i++) {
		const cr_shape_pass *pass = &m->shape_passes.data[i];
		carom_proximity_shape_pair pair = { .triangle = pass->triangle, .normal = pass->way };
		memcpy(pair.vertices, pass->vertices, sizeof pair.vertices);
		if (!cr_array_reserve_one(&world->memory, &m->next_shapes))
			return false;
		fill_contact(world, pass->part_a, pass->part_b, &pair, &m->next_shapes.data[m->next_shapes.count++]);
	}
	return m->next_shapes.count == count || cr_put_shapes_in_order(world, &m->next_shapes);
}

bool cr_judge_surface_shapes(carom_world *world, const carom_proximity_view *view)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	bool enough = cr_find_shape_entries(world) && cr_settle_shape_entries(world, view) && cr_find_shape_passes(world);
	for (int64_t i = 0, end; i < view->shape_pair_count && enough; i = end) {
		const carom_proximity_shape_pair *pair = &view->shape_pairs[i];
		for (end = i; end < view->shape_pair_count && view->shape_pairs[end].mesh == pair->mesh &&
			 view->shape_pairs[end].shape == pair->shape;)
			end++;
		const near_run run = { pair, end - i, m->members.list.data[pair->mesh].body, m->shapes.data[pair->shape] };
		if (cr_may_surfaces_touch(world, run.part_a, run.part_b))
			enough = world->bodies.data[run.part_b].sensor ? note_near(world, &run) : judge_run(world, &run);
	}
	return enough && append_beyond(world);
}
