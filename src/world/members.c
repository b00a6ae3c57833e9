/// Who takes part in a swept scene of a world, and where it is. See members.h.
#include "world/members.h"
#include "base/parallel.h"
#include "sweep/sweep_motion.h"
#include "world/continuous.h"
#include "world/world.h"
#include <string.h>

// ---- Who takes part ----

static bool list_askers(carom_world *world, cr_membership *m)
{
	m->askers.count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		if (!world->bodies.data[i].alive || !m->asks(&world->bodies.data[i]))
			continue;
		if (!cr_array_reserve_one(&world->memory, &m->askers))
			return false;
		m->askers.data[m->askers.count++] = (int32_t)i;
	}
	return true;
}

static bool meets_asker(const carom_world *world, const cr_membership *m, const cr_body *body)
{
	for (int64_t i = 0; i < m->askers.count; i++) {
		if (cr_filters_pass(body, &world->bodies.data[m->askers.data[i]]))
			return true;
	}
	return false;
}

static bool takes_part(const carom_world *world, const cr_membership *m, const cr_body *body)
{
	if (!body->alive || (body->sensor && !m->with_sensors) || body->shape.def.type != CAROM_MESH)
		return false;
	return m->asks(body) || meets_asker(world, m, body);
}

bool cr_list_members(carom_world *world, cr_membership *m)
{
	if (!list_askers(world, m))
		return false;
	m->next.count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		if (!takes_part(world, m, body))
			continue;
		if (!cr_array_reserve_one(&world->memory, &m->next))
			return false;
		m->next.data[m->next.count++] = (cr_member){ (int32_t)i, body->generation };
	}
	return true;
}

bool cr_are_members_kept(const cr_membership *m)
{
	const cr_members *a = &m->list, *b = &m->next;
	bool same = a->count == b->count;
	for (int64_t i = 0; i < a->count && same; i++)
		same = a->data[i].body == b->data[i].body && a->data[i].generation == b->data[i].generation;
	return same;
}

int32_t cr_find_member(const cr_members *members, int64_t part)
{
	int64_t low = 0, high = members->count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (members->data[middle].body < part)
			low = middle + 1;
		else
			high = middle;
	}
	return low < members->count && members->data[low].body == part ? (int32_t)low : -1;
}

// ---- Their meshes ----

static carom_result add_mesh(carom_sweep *sweep, const cr_body *body, bool self)
{
	const cr_topology *t = &body->shape.mesh->topology;
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertex_count = t->vertex_count;
	def.triangles = t->triangles;
	def.triangle_count = t->triangle_count;
	// written over before the tree is made, if it is read
	def.vertices = (carom_strided){ t->vertices, 0, CAROM_FLOAT32 };
	def.self = self;
	def.is_rigid = !cr_deforming_of(body);
	int32_t mesh;
	return cr_deforming_of(body) ? cr_add_lent_mesh(sweep, &def, &mesh) : carom_sweep_add_mesh(sweep, &def, &mesh);
}

carom_result cr_add_members(carom_world *world, cr_membership *m, carom_sweep *sweep)
{
	m->list.count = 0;
	if (!cr_array_reserve(&world->memory, &m->list, m->next.count))
		return cr_fail_memory(world->context, "the scene of bodies that deform");
	carom_result result = CAROM_SUCCESS;
	for (int64_t i = 0; i < m->next.count && result == CAROM_SUCCESS; i++) {
		const cr_body *body = &world->bodies.data[m->next.data[i].body];
		result = add_mesh(sweep, body, body->self_collision && m->asks(body));
		m->list.data[i] = m->next.data[i];
	}
	m->list.count = result == CAROM_SUCCESS ? m->next.count : 0;
	return result;
}

void cr_filter_members(const carom_world *world, cr_membership *m, carom_sweep *sweep)
{
	for (int64_t i = 0; i < m->list.count; i++) {
		const cr_body *body = &world->bodies.data[m->list.data[i].body];
		carom_sweep_set_filter(sweep, (int32_t)i, body->category, body->mask, body->group);
	}
	m->stale = false;
}

// ---- Their places ----

typedef struct placing {
	carom_world *world;
	const cr_membership *members;
	carom_sweep *sweep;
	bool all, at_rest;
} placing;

static double largest_of(const double *places, int32_t count)
{
	double largest = 0;
	for (int64_t i = 0; i < 3 * (int64_t)count; i++)
		largest = fabs(places[i]) > largest ? fabs(places[i]) : largest;
	return largest;
}

static void place_rigid(const cr_collider *collider, const m3d *rotation, v3d position, double *places)
{
	const cr_topology *t = collider->topology;
	for (int64_t i = 0; i < t->vertex_count; i++) {
		const v3d p = v3d_add(m3d_mul(rotation, v3d_from_floats(&t->vertices[3 * i])), position);
		places[3 * i] = p.x;
		places[3 * i + 1] = p.y;
		places[3 * i + 2] = p.z;
	}
}

static void lend_places(const placing *p, const cr_surface *s, int32_t mesh)
{
	const double *begin = p->at_rest ? s->end : s->begin;
	cr_lend_sweep_places(p->sweep, mesh, begin, s->end, p->at_rest ? s->largest_end : s->largest_begin, s->largest_end);
}

static void copy_places(const placing *p, const cr_body *body, int32_t mesh)
{
	const cr_sweep_places to = cr_get_sweep_places(p->sweep, mesh);
	if (to.count == 0 || (!body->moved && !p->all))
		return;
	const carom_pose *from = p->at_rest ? &body->pose : cr_begin_of(body);
	const m3d rotation = m3d_from_quat(from->orientation), end = cr_rotation_of(body);
	place_rigid(body->shape.collider, &rotation, from->position, to.begin);
	place_rigid(body->shape.collider, &end, body->pose.position, to.end);
	*to.largest_begin = largest_of(to.begin, to.count);
	*to.largest_end = largest_of(to.end, to.count);
	if (p->at_rest || !cr_part_moves(body))
		return;
	const int32_t part = p->members->list.data[mesh].body;
	const cr_motion motion = cr_motion_of_body(p->world->bodies.data, part, (v3d){ 0, 0, 0 });
	cr_turn_sweep_mesh(p->sweep, mesh, &motion, body->shape.collider->topology->vertices, cr_part_reach(body));
}

static void place(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const placing *p = task;
	for (int64_t i = begin; i < end; i++) {
		const cr_body *body = &p->world->bodies.data[p->members->list.data[i].body];
		if (cr_deforming_of(body))
			lend_places(p, &cr_deforming_of(body)->surface, (int32_t)i);
		else
			copy_places(p, body, (int32_t)i);
	}
}

void cr_place_members(carom_world *world, const cr_membership *m, carom_sweep *sweep, bool all, bool at_rest)
{
	cr_begin_sweep_step(sweep);
	placing task = { world, m, sweep, all, at_rest };
	cr_parallel_for(&world->memory, place, m->list.count, 1, &task);
}

void cr_free_members(carom_context *memory, cr_membership *m)
{
	cr_array_free(memory, &m->list);
	cr_array_free(memory, &m->next);
	cr_array_free(memory, &m->askers);
}
