/// Contacts of spheres with bodies of other kinds.
///
/// Serial: the parts that any sphere may touch are listed, with the form that contacts are made
/// with, and put into a tree over their boxes; filters are asked once for each two bodies.
/// Parallel, some hundred spheres at a time: each sphere walks the tree, and has the contacts of a
/// dynamic body of its shape with each part that it meets. Each worker appends to a list of its
/// own; the lists are joined in the order of the spheres, so the result does not depend on threads.
/// A sensor has no contacts: it is noted that spheres of a body touch it.
/// Cost: O(parts log parts + spheres log parts), and the contacts. Planes and other parts without
/// end are asked by every sphere.
#include "base/hash.h"
#include "base/parallel.h"
#include "base/stable_sort.h"
#include "contact/contact.h"
#include "contact/material.h"
#include "geom/triangle.h"
#include "world/world.h"
#include <stdlib.h>
#include <string.h>

enum { SPHERES_PER_CHUNK = 256, FEW_PARTS = 32 };

static const char *const what = "the contacts of spheres";

// ---- Who takes part ----

static bool has_contacts(const cr_body *body) { return body->contacts; }

/// The box in which a sphere may touch a part: that of the part, as far as its surface stands out.
static box3d box_of(const cr_body *body, double skin)
{
	box3d box;
	for (int k = 0; k < 3; k++) {
		box.lower[k] = body->lower[k] - skin;
		box.upper[k] = body->upper[k] + skin;
	}
	return box;
}

/// May spheres of a granular body touch a part in this step? Boxes, then filters, then the user's.
static bool may_touch(carom_world *world, int32_t grains, int32_t part, const box3d *box)
{
	const cr_body *bodies = world->bodies.data;
	const cr_granular *g = cr_granular_of(&bodies[grains]);
	const double ahead = world->def.speculative_distance;
	for (int k = 0; k < 3; k++) {
		if (!(g->bounds.lower[k] - ahead <= box->upper[k] && g->bounds.upper[k] + ahead >= box->lower[k]))
			return false;
	}
	return cr_filters_pass(&bodies[grains], &bodies[part]) && cr_pair_filter_passes(world, grains, part);
}

static bool is_target(const cr_body *body) { return body->alive && !cr_granular_of(body) && body->contacts; }

static bool reserve_near(carom_world *world, int64_t count)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	carom_context *memory = &world->memory;
	return cr_array_reserve(memory, &m->near, count) && cr_array_reserve(memory, &m->passes, count * m->bodies.count) &&
		cr_part_tree_reserve(memory, &m->tree, count);
}

/// List a part, if spheres may touch it.
static carom_result list_part(carom_world *world, int32_t part)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const cr_body *body = &world->bodies.data[part];
	const double skin = body->kind == CAROM_CLOTH ? 0.5 * body->thickness : 0;
	const box3d box = box_of(body, skin);
	carom_result result = CAROM_SUCCESS;
	bool touches = false;
	if (!reserve_near(world, m->near.count + 1))
		return cr_fail_memory(world->context, what);
	uint8_t *passes = m->passes.data + m->near.count * m->bodies.count;
	for (int64_t i = 0; i < m->bodies.count; i++) {
		passes[i] = may_touch(world, m->bodies.data[i], part, &box);
		touches = touches || passes[i];
	}
	if (!cr_watch_part(world, part, touches ? m->near.count : -1, &box))
		return cr_fail_memory(world->context, what);
	if (!touches)
		return CAROM_SUCCESS;
	const cr_body *seen = cr_see_body(body, &result);
	if (!seen)
		return result;
	cr_part_tree_add(&m->tree, (int32_t)m->near.count, &box);
	m->near_of.data[part] = (int32_t)m->near.count;
	m->near.data[m->near.count++] = (cr_near_part){ part, skin, seen };
	return CAROM_SUCCESS;
}

/// Nothing touches a sensor yet.
static bool begin_sensors(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	bool has_sensor = false;
	for (int64_t i = 0; i < m->near.count && !has_sensor; i++)
		has_sensor = world->bodies.data[m->near.data[i].part].sensor;
	const int64_t count = has_sensor ? m->near.count * m->bodies.count : 0;
	if (!cr_array_reserve_fresh(&world->memory, &m->touched, count))
		return false;
	m->touched.count = count;
	for (int64_t i = 0; i < count; i++)
		atomic_init(&m->touched.data[i], 0);
	return true;
}

static carom_result list_near(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	m->near.count = 0;
	cr_part_tree_clear(&m->tree);
	cr_begin_watch(world);
	if (!cr_array_reserve_fresh(&world->memory, &m->near_of, world->bodies.count))
		return cr_fail_memory(world->context, what);
	for (int64_t i = 0; m->bodies.count > 0 && i < world->bodies.count; i++) {
		if (!is_target(&world->bodies.data[i]))
			continue;
		const carom_result result = list_part(world, (int32_t)i);
		if (result != CAROM_SUCCESS)
			return result;
	}
	if (!cr_part_tree_build(&world->memory, &m->tree) || !cr_end_watch(world))
		return cr_fail_memory(world->context, what);
	return CAROM_SUCCESS;
}

// ---- One sphere ----

/// The work of one worker on one chunk.
typedef struct search {
	carom_world *world;
	cr_worker *worker; // of the pipeline: scratch of the narrow phase
	cr_sphere_worker *out;
	cr_body ball;     // the sphere in hand, as a dynamic body
	int64_t grains;   // its body, among the listed ones
	bool meets;       // it has met a part
	const double *at; // its x, y, z, radius
} search;

static bool add_part(search *s, int32_t near)
{
	if (!cr_array_reserve_one(&s->world->memory, &s->out->parts)) {
		s->out->failed = true;
		return false;
	}
	s->out->parts.data[s->out->parts.count++] = near;
	return true;
}

static int compare_parts(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

static void sort_parts(int32_t *parts, int64_t count)
{
	if (count > FEW_PARTS) {
		cr_sort_stably(parts, count, sizeof *parts, compare_parts);
		return;
	}
	for (int64_t i = 1; i < count; i++) {
		const int32_t moving = parts[i];
		int64_t j = i;
		for (; j > 0 && parts[j - 1] > moving; j--)
			parts[j] = parts[j - 1];
		parts[j] = moving;
	}
}

/// List the near parts of a tree whose boxes the sphere meets, in order.
static bool find_parts(search *s, const cr_part_tree *tree)
{
	box3d box;
	for (int k = 0; k < 3; k++) {
		// Boxes of parts have room for half of the distance ahead. Adding rounds once.
		const double reach = s->at[3] + s->world->def.speculative_distance;
		const double slack = (fabs(s->at[k]) + reach) * 0x1p-52;
		box.lower[k] = s->at[k] - reach - slack;
		box.upper[k] = s->at[k] + reach + slack;
	}
	s->out->parts.count = 0;
	cr_part_walk walk = cr_walk_parts(tree, &box);
	for (int32_t near; (near = cr_next_part(&walk)) != CR_NO_NODE;) {
		if (!add_part(s, near))
			return false;
	}
	sort_parts(s->out->parts.data, s->out->parts.count);
	return true;
}

static void place_ball(cr_body *ball, const double at[4], double skin)
{
	ball->pose.position = (v3d){ at[0], at[1], at[2] };
	ball->shape.def.radius = at[3] + skin;
}

/// The triangle of a contact, its material, and the weights of its corners at the nearest point.
static void set_triangle(const cr_body *body, const cr_body *seen, const cr_raw_contact *raw, carom_sphere_contact *c)
{
	const v3d normal = { c->normal.x, c->normal.y, c->normal.z };
	const v3d surface = v3d_mad((v3d){ c->point.x, c->point.y, c->point.z }, c->depth, normal);
	c->triangle = seen->shape.def.type == CAROM_MESH ? raw->feature_b : -1;
	c->material_b = cr_material_at(body, c->triangle, surface, normal);
	if (c->triangle < 0)
		return;
	v3d corners[3];
	cr_collider_triangle(seen->shape.collider, c->triangle, corners);
	const cr_triangle_point nearest = cr_closest_on_triangle(cr_point_to_body(seen, surface), corners);
	for (int k = 0; k < 3; k++)
		c->weight[k] = nearest.weight[k];
}

/// The contact that a raw one is, of the sphere in hand.
static carom_sphere_contact contact_of(const search *s, const cr_near_part *near, const cr_raw_contact *raw)
{
	const cr_body *bodies = s->world->bodies.data;
	const int32_t grains = s->world->sphere_contacts.bodies.data[s->grains];
	carom_sphere_contact c = { .body_a = cr_id_of(bodies, grains),
		.body_b = cr_id_of(bodies, near->part),
		.user_data_a = bodies[grains].user_data,
		.user_data_b = bodies[near->part].user_data,
		.sphere = (int32_t)((s->at - cr_granular_of(&bodies[grains])->spheres.data) / 4),
		.shape_b = bodies[near->part].part,
		.normal = { (double)raw->normal[0], (double)raw->normal[1], (double)raw->normal[2] },
		.depth = (double)raw->depth };
	// The ball stood out by the skin.
	const v3d normal = { c.normal.x, c.normal.y, c.normal.z };
	const v3d point = v3d_mad((v3d){ raw->point[0], raw->point[1], raw->point[2] }, near->skin, normal);
	c.point = (carom_vec3){ point.x, point.y, point.z };
	set_triangle(&bodies[near->part], near->body, raw, &c);
	return c;
}

static bool add_contacts(search *s, const cr_near_part *near)
{
	const cr_raw_contacts *found = &s->worker->contacts;
	if (!cr_array_reserve(&s->world->memory, &s->out->contacts, s->out->contacts.count + found->count))
		return false;
	for (int64_t i = 0; i < found->count; i++)
		s->out->contacts.data[s->out->contacts.count++] = contact_of(s, near, &found->data[i]);
	return true;
}

// ---- The user's verdict ----

/// A contact of a sphere as a plain one. The lower part is A.
static carom_contact show(const carom_sphere_contact *c, bool turned)
{
	const double sign = turned ? -1 : 1, lift = turned ? c->depth : 0; // the point is of A
	const int32_t triangle = c->triangle < 0 ? 0 : c->triangle;
	return (carom_contact){ .body_a = turned ? c->body_b : c->body_a,
		.body_b = turned ? c->body_a : c->body_b,
		.point = { c->point.x + lift * c->normal.x, c->point.y + lift * c->normal.y, c->point.z + lift * c->normal.z },
		.normal = { (float)(sign * c->normal.x), (float)(sign * c->normal.y), (float)(sign * c->normal.z) },
		.depth = (float)c->depth,
		.feature_a = turned ? triangle : c->sphere,
		.feature_b = turned ? c->sphere : triangle,
		.kind = CAROM_VOLUMES,
		.material_a = turned ? c->material_b : 0,
		.material_b = turned ? 0 : c->material_b,
		.shape_a = turned ? c->shape_b : 0,
		.shape_b = turned ? 0 : c->shape_b };
}

/// Leave out the contacts in hand that the user's filter, which there is, refuses.
static void filter_contacts(search *s, const cr_near_part *near)
{
	const int32_t grains = s->world->sphere_contacts.bodies.data[s->grains];
	cr_raw_contacts *found = &s->worker->contacts;
	cr_sort_contacts(found);
	int64_t kept = 0;
	for (int64_t i = 0; i < found->count; i++) {
		const carom_sphere_contact c = contact_of(s, near, &found->data[i]);
		carom_contact shown = show(&c, near->part < grains);
		shown.pair = (int32_t)i;
		if (cr_ask_sphere_filter(s->world, grains, near->part, c.sphere, &shown))
			found->data[kept++] = found->data[i];
	}
	found->count = kept;
}

// ---- One part ----

/// Does a sensor, whose contacts these are, touch the sphere?
static void note_sensor(const search *s, int64_t near)
{
	const cr_sphere_contacts *m = &s->world->sphere_contacts;
	bool touches = false;
	for (int64_t i = 0; i < s->worker->contacts.count; i++)
		touches = touches || s->worker->contacts.data[i].depth >= 0;
	if (touches)
		atomic_store_explicit(&m->touched.data[near * m->bodies.count + s->grains], 1, memory_order_relaxed);
}

static bool keep_contacts(search *s, const cr_near_part *near)
{
	if (s->worker->contacts.count > 0 && s->world->def.contact_filter)
		filter_contacts(s, near);
	if (s->worker->contacts.count > 1)
		cr_reduce_contacts(&s->world->pipeline, s->worker, &s->ball, near->body, &s->worker->contacts);
	return !s->worker->failed && add_contacts(s, near);
}

/// The contacts of the sphere in hand with one part, or of a sensor whether it touches.
static bool collide(search *s, int64_t number)
{
	const cr_near_part *near = &s->world->sphere_contacts.near.data[number];
	const cr_arena_mark mark = cr_arena_get_mark(&s->worker->arena);
	s->worker->contacts = (cr_raw_contacts){ 0 };
	place_ball(&s->ball, s->at, near->skin);
	cr_find_simple_contacts(&s->world->pipeline, s->worker, &s->ball, near->body);
	bool enough = !s->worker->failed;
	s->meets = s->meets || s->worker->contacts.count > 0;
	if (near->body->sensor)
		note_sensor(s, number);
	else
		enough = keep_contacts(s, near);
	s->worker->contacts = (cr_raw_contacts){ 0 };
	cr_arena_rewind(&s->worker->arena, &mark);
	return enough;
}

/// Is it to be found out whether the sphere in hand touches a near part? Of a sensor one sphere is
/// enough.
static bool is_asked(const search *s, int64_t near)
{
	const cr_sphere_contacts *m = &s->world->sphere_contacts;
	const int64_t place = near * m->bodies.count + s->grains;
	return m->passes.data[place] &&
		!(m->touched.count > 0 && atomic_load_explicit(&m->touched.data[place], memory_order_relaxed));
}

static bool collide_parts(search *s, const cr_part_tree *tree)
{
	s->meets = false;
	if (!find_parts(s, tree))
		return false;
	for (int64_t i = 0; i < s->out->parts.count; i++) {
		const int32_t near = s->out->parts.data[i];
		if (is_asked(s, near) && !collide(s, near))
			return false;
	}
	return true;
}

/// The contacts of the sphere in hand, which has a row. One that is clear is asked about parts that
/// deform alone.
static bool collide_sphere(search *s, int64_t row)
{
	const cr_sphere_contacts *m = &s->world->sphere_contacts;
	cr_clear_ball *ball = m->clearances.balls.count > 0 ? &m->clearances.balls.data[row] : NULL;
	if (ball && cr_is_clear(&m->clearances, ball, s->at))
		return !m->clearances.soft || collide_parts(s, &m->clearances.soft_parts);
	if (!collide_parts(s, &m->tree))
		return false;
	if (ball && s->meets)
		ball->until = -INFINITY;
	else if (ball)
		cr_find_clearance(s->world, s->grains, s->at, ball);
	return true;
}

// ---- All spheres ----

static void collide_task(int64_t begin, int64_t end, int worker, void *task)
{
	carom_world *world = task;
	cr_sphere_contacts *m = &world->sphere_contacts;
	search s = { .world = world, .worker = &world->pipeline.workers[worker], .out = &m->workers[worker] };
	s.ball = (cr_body){ .alive = true, .contacts = true, .kind = CAROM_DYNAMIC, .pose = carom_pose_identity() };
	cr_shape_init(&(carom_shape){ .type = CAROM_SPHERE, .radius = 1 }, &s.ball.shape);
	const int64_t total = m->first.data[m->bodies.count];
	for (int64_t chunk = begin; chunk < end && !s.out->failed; chunk++) {
		const int64_t first = chunk * SPHERES_PER_CHUNK, behind = first + SPHERES_PER_CHUNK;
		cr_sphere_chunk *made = &m->chunks.data[chunk];
		*made = (cr_sphere_chunk){ worker, s.out->contacts.count, 0 };
		s.grains = 0;
		for (int64_t i = first; i < total && i < behind && !s.out->failed; i++) {
			while (m->first.data[s.grains + 1] <= i)
				s.grains++;
			s.at =
				cr_granular_of(&world->bodies.data[m->bodies.data[s.grains]])->spheres.data + 4 * (i - m->first.data[s.grains]);
			s.out->failed = !collide_sphere(&s, i);
		}
		made->count = s.out->contacts.count - made->first;
	}
}

/// Room for the lists of the workers, which begin empty.
static bool begin_workers(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	m->workers = cr_keep_workers(world, m->workers, sizeof *m->workers, &m->worker_count);
	for (int32_t i = 0; i < m->worker_count; i++) {
		m->workers[i].contacts.count = 0;
		m->workers[i].failed = false;
	}
	return m->workers != NULL;
}

/// Join the lists of the workers in the order of the spheres.
static bool join(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	int64_t count = 0;
	for (int32_t i = 0; i < m->worker_count; i++) {
		if (m->workers[i].failed)
			return false;
		count += m->workers[i].contacts.count;
	}
	if (!cr_array_reserve_fresh(&world->memory, &m->next.contacts, count))
		return false;
	m->next.contacts.count = 0;
	for (int64_t i = 0; i < m->chunks.count; i++) {
		const cr_sphere_chunk *c = &m->chunks.data[i];
		if (c->count == 0)
			continue;
		memcpy(&m->next.contacts.data[m->next.contacts.count], &m->workers[c->worker].contacts.data[c->first],
			(size_t)c->count * sizeof *m->next.contacts.data);
		m->next.contacts.count += c->count;
	}
	return true;
}

/// Nothing has changed: the contacts are those of the last step, and so are those of sensors.
static bool take_over(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const int64_t count = m->found.contacts.count;
	if (!cr_array_reserve_fresh(&world->memory, &m->next.contacts, count))
		return false;
	for (int64_t i = 0; i < count; i++) {
		carom_sphere_contact *c = &m->next.contacts.data[i];
		*c = m->found.contacts.data[i];
		c->user_data_a = world->bodies.data[c->body_a.index1 - 1].user_data;
		c->user_data_b = world->bodies.data[(int32_t)c->body_b.index1 - 1 + c->shape_b].user_data;
		c->age = c->pair = 0;
		memset(c->impulse, 0, sizeof c->impulse);
	}
	m->next.contacts.count = count;
	return true;
}

static carom_result find_contacts(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const int64_t total = m->first.data[m->bodies.count];
	carom_result result = list_near(world);
	if (result != CAROM_SUCCESS)
		return result;
	if (m->clearances.still)
		return take_over(world) ? CAROM_SUCCESS : cr_fail_memory(world->context, what);
	if (!begin_sensors(world))
		return cr_fail_memory(world->context, what);
	if (m->near.count == 0)
		return CAROM_SUCCESS;
	m->chunks.count = (total + SPHERES_PER_CHUNK - 1) / SPHERES_PER_CHUNK;
	if (!cr_array_reserve(&world->memory, &m->chunks, m->chunks.count) || !begin_workers(world))
		return cr_fail_memory(world->context, what);
	memset(m->chunks.data, 0, (size_t)m->chunks.count * sizeof *m->chunks.data);
	cr_parallel_for(&world->memory, collide_task, m->chunks.count, 1, world);
	return join(world) ? CAROM_SUCCESS : cr_fail_memory(world->context, what);
}

carom_result cr_find_sphere_contacts(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	m->next.contacts.count = m->next.by_pair.count = m->pairs.count = 0;
	m->searched = false;
	if (m->body_count == 0)
		cr_forget_clearances(world);
	if (m->body_count == 0 && m->found.groups.count == 0)
		return CAROM_SUCCESS;
	if (!cr_list_granular(world, has_contacts, &m->bodies, &m->first))
		return cr_fail_memory(world->context, what);
	carom_result result = find_contacts(world);
	if (result == CAROM_SUCCESS)
		result = cr_find_sphere_pairs(world);
	if (result == CAROM_SUCCESS && !cr_list_sphere_pairs(world))
		result = cr_fail_memory(world->context, what);
	return result;
}

// ---- Results ----

void cr_take_sphere_contacts(cr_sphere_contacts *m)
{
	const cr_sphere_results found = m->found;
	m->found.contacts = m->next.contacts;
	m->found.by_pair = m->next.by_pair;
	m->next.contacts = found.contacts;
	m->next.by_pair = found.by_pair;
	if (!m->searched)
		return;
	m->found.groups = m->next.groups;
	m->found.pairs = m->next.pairs;
	m->next.groups = found.groups;
	m->next.pairs = found.pairs;
	m->stale = false;
}

static uint64_t hash_ids(uint64_t hash, carom_body_id a, carom_body_id b)
{
	hash = cr_hash_u64(hash, (uint64_t)a.index1 << 32 | b.index1);
	return cr_hash_u64(hash, (uint64_t)a.generation << 32 | b.generation);
}

static uint64_t hash_vector(uint64_t hash, carom_vec3 v)
{
	return cr_hash_double(cr_hash_double(cr_hash_double(hash, v.x), v.y), v.z);
}

static uint64_t hash_contact(uint64_t hash, const carom_sphere_contact *c)
{
	hash = hash_ids(hash, c->body_a, c->body_b);
	hash = cr_hash_u64(hash, (uint64_t)(uint32_t)c->sphere << 32 | (uint32_t)c->shape_b);
	hash = cr_hash_u64(hash, (uint64_t)(uint32_t)c->triangle << 32 | c->material_b);
	for (int k = 0; k < 3; k++)
		hash = cr_hash_double(hash, c->weight[k]);
	return cr_hash_double(hash_vector(hash_vector(hash, c->point), c->normal), c->depth);
}

uint64_t cr_hash_sphere_contacts(const cr_sphere_contacts *m, uint64_t hash)
{
	const cr_sphere_results *found = &m->found;
	for (int64_t i = 0; i < found->contacts.count; i++)
		hash = hash_contact(hash, &found->contacts.data[i]);
	for (int64_t i = 0; i < found->groups.count; i++)
		hash = cr_hash_u64(hash_ids(hash, found->groups.data[i].body_a, found->groups.data[i].body_b),
			(uint64_t)found->groups.data[i].pair_count);
	for (int64_t i = 0; i < found->pairs.count; i++)
		hash = cr_hash_u64(hash, (uint64_t)found->pairs.data[i].a << 32 | found->pairs.data[i].b);
	return hash;
}

void cr_free_sphere_results(carom_context *memory, cr_sphere_results *results)
{
	cr_array_free(memory, &results->contacts);
	cr_array_free(memory, &results->by_pair);
	cr_array_free(memory, &results->groups);
	cr_array_free(memory, &results->pairs);
}

void cr_trim_sphere_contacts(carom_context *memory, cr_sphere_contacts *m)
{
	carom_destroy_spheres(m->detector);
	m->detector = NULL;
	m->stale = true;
	cr_array_free(memory, &m->bodies);
	cr_array_free(memory, &m->first);
	cr_array_free(memory, &m->grown);
	cr_array_free(memory, &m->keys);
	cr_array_free(memory, &m->spare_keys);
	cr_array_free(memory, &m->near);
	cr_array_free(memory, &m->passes);
	cr_array_free(memory, &m->touched);
	cr_array_free(memory, &m->near_of);
	cr_array_free(memory, &m->tables);
	cr_array_free(memory, &m->then);
	cr_part_tree_free(memory, &m->tree);
	cr_free_clearances(memory, &m->clearances);
	cr_array_free(memory, &m->chunks);
	for (int32_t i = 0; i < m->worker_count; i++) {
		cr_array_free(memory, &m->workers[i].contacts);
		cr_array_free(memory, &m->workers[i].parts);
	}
	cr_free(memory, m->workers, (size_t)m->worker_count * sizeof *m->workers);
	m->workers = NULL;
	m->worker_count = 0;
	cr_array_free(memory, &m->pairs);
	cr_free_sphere_results(memory, &m->next);
}

void cr_free_sphere_contacts(carom_context *memory, cr_sphere_contacts *m)
{
	cr_trim_sphere_contacts(memory, m);
	cr_free_sphere_results(memory, &m->found);
	*m = (cr_sphere_contacts){ 0 };
}
