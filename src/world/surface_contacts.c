/// Surface contacts of a step. In: places at its end, the impacts of the step, and the surface
/// contacts of the last one, which are the memory of sides. Out: the features that are nearer than
/// a thickness, or on the wrong side.
///
/// 1. A proximity scene at the end of the step gives all pairs of features nearer than the largest
///    thickness (src/proximity): its tree, front and filters are those of a sweep.
/// 2. The side of each vertex and edge is settled (surface_sides.c).
/// 3. Shapes that are no meshes (surface_shapes.c).
/// 4. Contacts are put in the order of their pairs, and pairs are listed (surface_list.c), to be
///    merged with those of the stages.
///
/// The scene's meshes are thick bodies and the meshes that they may meet, sensors among them. It is
/// made again when others take part. Shapes are put in at each step. A sensor has no contacts: all
/// that the search finds near it makes the pair, or else a vertex inside it.
///
/// Cost: that of the search, and O(1) for each pair that it finds and each contact of the last
/// step.
#include "world/surface_contacts.h"
#include "base/hash.h"
#include "contact/contact.h"
#include "proximity/proximity_state.h"
#include "sweep/sweep_motion.h"
#include "world/world.h"

static const char *const WHAT = "surface contacts";

// ---- Bodies ----

static double thickness_of(const cr_body *body) { return cr_is_thick(body) ? body->thickness : 0; }

double cr_kept_distance(const cr_body *a, const cr_body *b)
{
	const bool meets = a == b || a->kind == CAROM_CLOTH || b->kind == CAROM_CLOTH;
	return meets && a->contacts && b->contacts ? 0.5 * (thickness_of(a) + thickness_of(b)) : 0;
}

bool cr_is_still(const carom_world *world, carom_body_id id, int32_t shape, int64_t *part)
{
	*part = (int64_t)id.index1 - 1 + shape;
	if (*part >= world->bodies.count)
		return false;
	const cr_body *body = &world->bodies.data[*part];
	return body->alive && body->part == shape && body->generation == id.generation && body->reshaped < CR_SHAPE_CHANGED;
}

bool cr_is_remembered(const carom_world *world, const carom_surface_contact *c)
{
	int64_t a, b;
	return cr_is_still(world, c->body_a, c->shape_a, &a) && cr_is_still(world, c->body_b, c->shape_b, &b) &&
		(a == b || cr_filters_pass(&world->bodies.data[a], &world->bodies.data[b]));
}

v3d cr_vertex_at(const carom_world *world, int32_t part, int32_t vertex, double time)
{
	const cr_body *body = &world->bodies.data[part];
	v3d begin, end;
	if (cr_deforming_of(body)) {
		const cr_surface *s = &cr_deforming_of(body)->surface;
		const cr_placed first = { s->faces, s->begin }, last = { s->faces, s->end };
		begin = cr_placed_vertex(&first, vertex);
		end = cr_placed_vertex(&last, vertex);
	} else {
		const v3d local = v3d_from_floats(body->shape.mesh->topology.vertices + 3 * (int64_t)vertex);
		const carom_pose *from = cr_begin_of(body);
		const m3d rotation = m3d_from_quat(from->orientation);
		begin = v3d_add(m3d_mul(&rotation, local), from->position);
		end = cr_point_to_world(body, local);
	}
	return v3d_mad(begin, time, v3d_sub(end, begin));
}

// ---- The scene ----

void cr_forget_surface_scene(cr_surface_contacts *m)
{
	if (m->near)
		cr_drop_surface_fans(m->near->context, m);
	carom_destroy_proximity(m->near);
	m->near = NULL;
	m->members.list.count = 0;
}

static carom_result make_scene(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	cr_forget_surface_scene(m);
	carom_proximity_def def = carom_default_proximity_def();
	if (world->def.sweep.method == CAROM_SWEEP_BVH)
		def.method = CAROM_SWEEP_BVH;
	def.front_budget = world->def.sweep.front_budget;
	carom_result result = carom_create_proximity(&world->memory, &def, &m->near);
	if (result == CAROM_SUCCESS)
		result = cr_add_members(world, &m->members, m->near->sweep);
	if (result != CAROM_SUCCESS)
		cr_forget_surface_scene(m);
	return result;
}

/// *made: all places are to be written, not only those that moved.
static carom_result update_scene(carom_world *world, bool *made)
{
	cr_surface_contacts *m = &world->surface_contacts;
	*made = false;
	if (m->near && !m->members.stale)
		return CAROM_SUCCESS;
	m->members.asks = cr_is_thick;
	m->members.with_sensors = true;
	if (!cr_list_members(world, &m->members))
		return cr_fail_memory(world->context, WHAT);
	if (!m->near || !cr_are_members_kept(&m->members)) {
		const carom_result result = make_scene(world);
		if (result != CAROM_SUCCESS)
			return result;
		*made = true;
	}
	cr_filter_members(world, &m->members, m->near->sweep);
	return CAROM_SUCCESS;
}

/// The largest thickness, and the box around all surfaces that may touch something, grown by it.
static void measure_members(carom_world *world, double lower[3], double upper[3])
{
	cr_surface_contacts *m = &world->surface_contacts;
	m->reach = 0;
	for (int k = 0; k < 3; k++) {
		lower[k] = INFINITY;
		upper[k] = -INFINITY;
	}
	for (int64_t i = 0; i < m->members.list.count; i++) {
		const cr_body *body = &world->bodies.data[m->members.list.data[i].body];
		if (!cr_is_thick(body))
			continue;
		const cr_surface *s = &cr_deforming_of(body)->surface;
		m->reach = fmax(m->reach, body->thickness);
		for (int k = 0; k < 3; k++) {
			lower[k] = fmin(lower[k], s->lower[k]);
			upper[k] = fmax(upper[k], s->upper[k]);
		}
	}
	for (int k = 0; k < 3; k++) {
		lower[k] -= m->reach;
		upper[k] += m->reach;
	}
}

static bool is_near_box(const cr_body *body, const double lower[3], const double upper[3])
{
	if (body->shape.def.type == CAROM_PLANE)
		return true;
	bool apart = false;
	for (int k = 0; k < 3; k++)
		apart = apart || body->lower[k] > upper[k] || body->upper[k] < lower[k];
	return !apart;
}

/// Put the shapes that surfaces may touch into the scene. Boxes of bodies are those of the step.
static bool place_shapes(carom_world *world, const double lower[3], const double upper[3])
{
	cr_surface_contacts *m = &world->surface_contacts;
	cr_clear_near_shapes(m->near);
	m->shapes.count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		if (!body->alive || cr_deforming_of(body) || cr_granular_of(body) || !body->contacts ||
			body->shape.def.type == CAROM_MESH || !is_near_box(body, lower, upper))
			continue;
		const cr_sweep_filter filter = { body->category, body->mask, body->group };
		if (!cr_array_reserve_one(&world->memory, &m->shapes) ||
			!cr_append_near_shape(m->near, &body->shape.def, &body->pose, filter))
			return false;
		m->shapes.data[m->shapes.count++] = (int32_t)i;
	}
	return true;
}

// ---- The search ----

bool cr_may_surfaces_touch(carom_world *world, int32_t part_a, int32_t part_b)
{
	const cr_body *bodies = world->bodies.data;
	return cr_kept_distance(&bodies[part_a], &bodies[part_b]) > 0 && cr_pair_filter_passes(world, part_a, part_b);
}

/// Do two members have surface contacts? The sweep has asked their filters.
static bool may_touch(void *user, int32_t a, int32_t b)
{
	carom_world *world = user;
	const cr_member *members = world->surface_contacts.members.list.data;
	return cr_may_surfaces_touch(world, members[a].body, members[b].body);
}

static carom_result search(carom_world *world, bool made, carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	double lower[3], upper[3];
	*view = (carom_proximity_view){ 0 };
	cr_place_members(world, &m->members, m->near->sweep, made, true);
	measure_members(world, lower, upper);
	if (!place_shapes(world, lower, upper))
		return cr_fail_memory(world->context, WHAT);
	cr_set_sweep_verdict(m->near->sweep, may_touch, world);
	m->near->keep = cr_may_be_surface_contact;
	m->near->cuts = cr_may_be_cut;
	m->near->keep_user = world;
	return carom_proximity_find(m->near, m->reach, view);
}

// ---- Sensors ----

/// Note the sensors that the search found near surfaces. A run of it is of two members.
static bool note_near_sensors(carom_world *world)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_body *bodies = world->bodies.data;
	for (int64_t i = 0; i < m->runs.count; i++) {
		const cr_surface_run *run = &m->runs.data[i];
		if ((bodies[run->part_a].sensor || bodies[run->part_b].sensor) && !cr_note_sensed(world, run->part_a, run->part_b))
			return false;
	}
	return true;
}

static bool is_noted(const cr_surface_contacts *m, int32_t part_a, int32_t part_b)
{
	const cr_body_pair wanted = { part_a < part_b ? part_a : part_b, part_a < part_b ? part_b : part_a };
	bool found = false;
	for (int64_t i = 0; i < m->sensed.count && !found; i++)
		found = m->sensed.data[i].a == wanted.a && m->sensed.data[i].b == wanted.b;
	return found;
}

/// Is a vertex of a surface inside a closed mesh?
static bool has_vertex_inside(const carom_world *world, const cr_body *sensor, const cr_body *surface)
{
	const cr_surface *s = &cr_deforming_of(surface)->surface;
	const float up[3] = { 0, 0, 1 };
	bool inside = false;
	for (int32_t v = 0; v < s->vertex_count && !inside; v++) {
		const double *p = &s->end[3 * (int64_t)v];
		bool near = true;
		for (int k = 0; k < 3; k++)
			near = near && p[k] >= sensor->lower[k] && p[k] <= sensor->upper[k];
		if (!near)
			continue;
		const v3d local = cr_point_to_body(sensor, v3d_from_doubles(p));
		const float at[3] = { (float)local.x, (float)local.y, (float)local.z };
		inside = cr_is_inside(&world->pipeline, sensor->shape.collider, at, up);
	}
	return inside;
}

/// Note a sensor, whose mesh is closed, and the surfaces wholly inside it.
static bool note_inside(carom_world *world, int32_t sensor)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const cr_body *bodies = world->bodies.data;
	for (int64_t i = 0; i < m->members.list.count; i++) {
		const int32_t part = m->members.list.data[i].body;
		const cr_surface *s = cr_is_thick(&bodies[part]) ? &cr_deforming_of(&bodies[part])->surface : NULL;
		if (!s || !is_near_box(&bodies[sensor], s->lower, s->upper) || !cr_filters_pass(&bodies[sensor], &bodies[part]) ||
			is_noted(m, sensor, part) || !cr_may_surfaces_touch(world, sensor, part))
			continue;
		if (has_vertex_inside(world, &bodies[sensor], &bodies[part]) && !cr_note_sensed(world, sensor, part))
			return false;
	}
	return true;
}

static bool note_sensors(carom_world *world)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	bool enough = true;
	for (int64_t i = 0; i < m->members.list.count && enough; i++) {
		const int32_t part = m->members.list.data[i].body;
		const cr_body *body = &world->bodies.data[part];
		if (body->sensor && body->shape.mesh->report.closed)
			enough = note_inside(world, part);
	}
	return enough;
}

// ---- All of it ----

/// Contacts from the pairs of the search, and their own pairs. False when out of memory.
static bool judge(carom_world *world, const carom_proximity_view *view)
{
	return cr_judge_surface_pairs(world, view) && cr_order_surface_contacts(world, view) && note_near_sensors(world) &&
		note_sensors(world) && cr_judge_surface_shapes(world, view) && cr_list_surface_pairs(world);
}

carom_result cr_find_surface_contacts(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	m->next.count = m->next_shapes.count = m->sensed.count = m->pairs.count = 0;
	if (m->body_count == 0) {
		cr_forget_surface_scene(m);
		return CAROM_SUCCESS;
	}
	bool made;
	carom_proximity_view view;
	carom_result result = update_scene(world, &made);
	if (result == CAROM_SUCCESS)
		result = search(world, made, &view);
	if (result != CAROM_SUCCESS)
		return result;
	if (!cr_sort_carried(world) || !judge(world, &view))
		return cr_fail_memory(world->context, WHAT);
	cr_follow_impulses(world);
	return CAROM_SUCCESS;
}

// ---- Results ----

void cr_take_surface_contacts(cr_surface_contacts *m)
{
	const cr_surface_contact_list found = m->found;
	m->found = m->next;
	m->next = found;
	const cr_surface_shape_contact_list found_shapes = m->found_shapes;
	m->found_shapes = m->next_shapes;
	m->next_shapes = found_shapes;
	m->known = m->found.count;
	m->known_shapes = m->found_shapes.count;
	m->carried.count = m->carried_shapes.count = 0;
}

void cr_forget_sides(cr_surface_contacts *m) { m->known = m->known_shapes = m->carried.count = m->carried_shapes.count = 0; }

static uint64_t hash_vector(uint64_t hash, carom_vec3 v)
{
	return cr_hash_double(cr_hash_double(cr_hash_double(hash, v.x), v.y), v.z);
}

static uint64_t hash_ids(uint64_t hash, carom_body_id a, carom_body_id b)
{
	hash = cr_hash_u64(hash, (uint64_t)a.index1 << 32 | b.index1);
	return cr_hash_u64(hash, (uint64_t)a.generation << 32 | b.generation);
}

static uint64_t hash_contact(uint64_t hash, const carom_surface_contact *c)
{
	hash = hash_ids(hash, c->body_a, c->body_b);
	hash = cr_hash_u64(hash, (uint64_t)(uint32_t)c->shape_a << 32 | (uint32_t)c->shape_b);
	for (int k = 0; k < 4; k++)
		hash = cr_hash_double(cr_hash_u64(hash, (uint32_t)c->vertices[k]), c->weight[k]);
	hash = cr_hash_u64(hash, (uint64_t)(uint32_t)c->triangle << 32 | (uint32_t)c->age);
	hash = cr_hash_u64(hash, (uint64_t)c->led << 8 | (uint64_t)c->kind << 3 | (uint64_t)(c->side + 1) << 1 | c->through);
	hash = hash_vector(hash_vector(hash_vector(hash, c->point_a), c->point_b), c->normal);
	return cr_hash_double(cr_hash_double(hash, c->distance), c->thickness);
}

static uint64_t hash_shape_contact(uint64_t hash, const carom_surface_shape_contact *c)
{
	hash = hash_ids(hash, c->body_a, c->body_b);
	hash = cr_hash_u64(hash, (uint64_t)(uint32_t)c->shape_b << 32 | (uint32_t)c->triangle);
	for (int k = 0; k < 3; k++)
		hash = cr_hash_double(cr_hash_u64(hash, (uint32_t)c->vertices[k]), c->weight[k]);
	hash = cr_hash_u64(hash, (uint64_t)c->led << 32 | (uint32_t)c->age);
	hash = hash_vector(hash_vector(hash, c->point), c->normal);
	return cr_hash_double(cr_hash_double(hash, c->distance), c->thickness);
}

uint64_t cr_hash_surface_contacts(const cr_surface_contacts *m, uint64_t hash)
{
	for (int64_t i = 0; i < m->found.count; i++)
		hash = hash_contact(hash, &m->found.data[i]);
	for (int64_t i = 0; i < m->found_shapes.count; i++)
		hash = hash_shape_contact(hash, &m->found_shapes.data[i]);
	return hash;
}

void cr_trim_surface_contacts(carom_context *memory, cr_surface_contacts *m)
{
	cr_forget_surface_scene(m);
	cr_free_members(memory, &m->members);
	m->members.stale = true;
	cr_array_free(memory, &m->shapes);
	cr_array_free(memory, &m->remembered);
	cr_array_free(memory, &m->crossing);
	cr_array_free(memory, &m->began);
	cr_array_free(memory, &m->beyond);
	cr_array_free(memory, &m->grazing.roots);
	cr_array_free(memory, &m->grazing.marks);
	cr_array_free(memory, &m->leads);
	cr_array_free(memory, &m->inside);
	cr_array_free(memory, &m->regions.labels);
	cr_array_free(memory, &m->regions.vertices);
	cr_array_free(memory, &m->regions.rim);
	cr_free_cuts(memory, &m->cuts);
	cr_free_led(memory, &m->led);
	cr_free_shape_regions(memory, &m->shape_regions);
	cr_array_free(memory, &m->shape_entries);
	cr_array_free(memory, &m->way_blocks);
	cr_array_free(memory, &m->entry_queue);
	cr_array_free(memory, &m->shape_passes);
	cr_array_free(memory, &m->were_through);
	cr_array_free(memory, &m->listed);
	cr_array_free(memory, &m->judged);
	cr_array_free(memory, &m->deep);
	cr_array_free(memory, &m->runs);
	cr_array_free(memory, &m->order);
	cr_array_free(memory, &m->deep_order);
	cr_array_free(memory, &m->sensed);
	cr_array_free(memory, &m->fans);
	cr_array_free(memory, &m->kept);
	cr_array_free(memory, &m->pairs);
	cr_array_free(memory, &m->next);
	cr_free_shape_match(memory, &m->shape_match);
	cr_array_free(memory, &m->next_shapes);
}

void cr_surface_contacts_free(carom_context *memory, cr_surface_contacts *m)
{
	cr_trim_surface_contacts(memory, m);
	cr_array_free(memory, &m->found);
	cr_array_free(memory, &m->found_shapes);
	cr_array_free(memory, &m->carried);
	cr_array_free(memory, &m->carried_shapes);
	*m = (cr_surface_contacts){ 0 };
}
