/// Impacts of a step. In: the places of deforming bodies at both ends of the step, the poses of
/// rigid ones at both. Out: all impacts, by body. One carom_sweep does the work (docs/sweep.md);
/// its meshes are in the order of the bodies' numbers, so that its order of impacts is the world's.
/// It is rebuilt when another set of bodies takes part, else its tree and its front live on.
///
/// Cost beyond the sweep: the places of rigid bodies that moved, in parallel over bodies, and a
/// copy of the impacts. Who takes part is asked after bodies came or went or filters changed: each
/// rigid mesh of each deforming body until one lets it pass.
#include "world/impacts.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "sweep/sweep_motion.h"
#include "world/world.h"
#include <string.h>

// ---- Who takes part ----

static bool list_deforming(carom_world *world)
{
	cr_impacts *impacts = &world->impacts;
	if (!cr_array_reserve(&world->memory, &impacts->deforming, impacts->deforming_count))
		return false;
	impacts->deforming.count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		if (world->bodies.data[i].alive && world->bodies.data[i].deforming)
			impacts->deforming.data[impacts->deforming.count++] = (int32_t)i;
	}
	return true;
}

static bool meets_deforming_body(const carom_world *world, const cr_body *rigid)
{
	const cr_impacts *impacts = &world->impacts;
	for (int64_t i = 0; i < impacts->deforming.count; i++) {
		if (cr_filters_pass(rigid, &world->bodies.data[impacts->deforming.data[i]]))
			return true;
	}
	return false;
}

static bool takes_part(const carom_world *world, const cr_body *body)
{
	if (!body->alive || body->sensor || body->shape.def.type != CAROM_MESH)
		return false;
	return body->deforming || meets_deforming_body(world, body);
}

static bool list_members(carom_world *world)
{
	if (!list_deforming(world))
		return false;
	cr_members *next = &world->impacts.next;
	next->count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		if (!takes_part(world, body))
			continue;
		if (!cr_array_reserve(&world->memory, next, next->count + 1))
			return false;
		next->data[next->count++] = (cr_member){ (int32_t)i, body->generation };
	}
	return true;
}

static bool are_same_members(const cr_members *a, const cr_members *b)
{
	bool same = a->count == b->count;
	for (int64_t i = 0; i < a->count && same; i++)
		same = a->data[i].body == b->data[i].body && a->data[i].generation == b->data[i].generation;
	return same;
}

// ---- The scene ----

static carom_result add_mesh(carom_sweep *sweep, const cr_body *body)
{
	const cr_topology *t = &body->shape.mesh->topology;
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertex_count = t->vertex_count;
	def.triangles = t->triangles;
	def.triangle_count = t->triangle_count;
	// written over before the tree is made, if it is read
	def.vertices = (carom_strided){ t->vertices, 0, CAROM_FLOAT32 };
	def.self = body->self_collision;
	def.is_rigid = !body->deforming;
	int32_t mesh;
	return body->deforming ? cr_add_lent_mesh(sweep, &def, &mesh) : carom_sweep_add_mesh(sweep, &def, &mesh);
}

void cr_forget_impact_scene(cr_impacts *impacts)
{
	carom_destroy_sweep(impacts->sweep);
	impacts->sweep = NULL;
	impacts->members.count = 0;
}

static carom_result make_scene(carom_world *world)
{
	cr_impacts *impacts = &world->impacts;
	cr_forget_impact_scene(impacts);
	if (!cr_array_reserve(&world->memory, &impacts->members, impacts->next.count))
		return cr_fail_memory(world->context, "the impacts of a world");
	carom_sweep *sweep;
	carom_result result = carom_create_sweep(&world->memory, &world->def.sweep, &sweep);
	if (result != CAROM_SUCCESS)
		return result;
	for (int64_t i = 0; i < impacts->next.count && result == CAROM_SUCCESS; i++)
		result = add_mesh(sweep, &world->bodies.data[impacts->next.data[i].body]);
	if (result != CAROM_SUCCESS) {
		carom_destroy_sweep(sweep);
		return result;
	}
	memcpy(impacts->members.data, impacts->next.data, (size_t)impacts->next.count * sizeof *impacts->next.data);
	impacts->members.count = impacts->next.count;
	impacts->sweep = sweep;
	return CAROM_SUCCESS;
}

/// *made: all places are to be written, not only those that moved.
static carom_result update_scene(carom_world *world, bool *made)
{
	cr_impacts *impacts = &world->impacts;
	*made = false;
	if (impacts->sweep && !impacts->stale)
		return CAROM_SUCCESS;
	if (!list_members(world))
		return cr_fail_memory(world->context, "the impacts of a world");
	if (!impacts->sweep || !are_same_members(&impacts->members, &impacts->next)) {
		const carom_result result = make_scene(world);
		if (result != CAROM_SUCCESS)
			return result;
		*made = true;
	}
	for (int64_t i = 0; i < impacts->members.count; i++) {
		const cr_body *body = &world->bodies.data[impacts->members.data[i].body];
		carom_sweep_set_filter(impacts->sweep, (int32_t)i, body->category, body->mask, body->group);
	}
	impacts->stale = false;
	return CAROM_SUCCESS;
}

// ---- Motion ----

typedef struct placing {
	carom_world *world;
	bool all;
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

static void place_members(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const placing *p = task;
	const cr_impacts *impacts = &p->world->impacts;
	for (int64_t i = begin; i < end; i++) {
		const cr_body *body = &p->world->bodies.data[impacts->members.data[i].body];
		if (body->deforming) {
			const cr_surface *s = &body->deforming->surface;
			cr_lend_sweep_places(impacts->sweep, (int32_t)i, s->begin, s->end, s->largest_begin, s->largest_end);
			continue;
		}
		const cr_sweep_places to = cr_get_sweep_places(impacts->sweep, (int32_t)i);
		if (to.count == 0 || (!body->moved && !p->all))
			continue;
		const carom_pose *from = cr_begin_of(body);
		const m3d rotation = body->has_begin ? m3d_from_quat(from->orientation) : body->last_rotation;
		place_rigid(body->shape.collider, &rotation, from->position, to.begin);
		place_rigid(body->shape.collider, &body->rotation, body->pose.position, to.end);
		*to.largest_begin = largest_of(to.begin, to.count);
		*to.largest_end = largest_of(to.end, to.count);
	}
}

// ---- Results ----

static carom_body_id id_of(const carom_world *world, int32_t mesh)
{
	return cr_id_of(world->bodies.data, world->impacts.members.data[mesh].body);
}

static int32_t part_of(const carom_world *world, int32_t mesh)
{
	return world->bodies.data[world->impacts.members.data[mesh].body].part;
}

static void take_hits(carom_world *world, const carom_sweep_hits *hits)
{
	cr_impacts *impacts = &world->impacts;
	impacts->earliest = -1;
	for (int64_t i = 0; i < hits->count; i++) {
		const carom_sweep_hit *hit = &hits->data[i];
		carom_impact impact = {
			.body_a = id_of(world, hit->mesh_a),
			.body_b = id_of(world, hit->mesh_b),
			.shape_a = part_of(world, hit->mesh_a),
			.shape_b = part_of(world, hit->mesh_b),
			.kind = hit->kind,
			.status = hit->status,
			.triangle = hit->triangle,
			.time = hit->time,
		};
		memcpy(impact.vertices, hit->vertices, sizeof impact.vertices);
		memcpy(impact.weight, hit->weight, sizeof impact.weight);
		memcpy(impact.normal, hit->normal, sizeof impact.normal);
		if (impacts->earliest < 0 || impact.time < impacts->found.data[impacts->earliest].time)
			impacts->earliest = i;
		impacts->found.data[i] = impact;
	}
	impacts->found.count = hits->count;
}

static bool ask_filter(void *user, int32_t a, int32_t b)
{
	carom_world *world = user;
	return cr_ask_pair_filter(world, world->impacts.members.data[a].body, world->impacts.members.data[b].body);
}

/// Without deforming bodies nothing is held.
static void drop_all(carom_world *world)
{
	cr_impacts *impacts = &world->impacts;
	const int32_t count = impacts->deforming_count;
	cr_impacts_free(&world->memory, impacts);
	*impacts = (cr_impacts){ .deforming_count = count, .earliest = -1 };
}

carom_result cr_find_impacts(carom_world *world)
{
	cr_impacts *impacts = &world->impacts;
	if (impacts->deforming_count == 0) {
		drop_all(world);
		return CAROM_SUCCESS;
	}
	bool made;
	carom_result result = update_scene(world, &made);
	if (result != CAROM_SUCCESS)
		return result;
	cr_begin_sweep_step(impacts->sweep);
	placing task = { world, made };
	cr_parallel_for(&world->memory, place_members, impacts->members.count, 1, &task);
	cr_set_sweep_verdict(impacts->sweep, world->def.pair_filter ? ask_filter : NULL, world);
	carom_sweep_hits hits;
	result = carom_sweep_find(impacts->sweep, &hits);
	if (result == CAROM_SUCCESS && !cr_array_reserve(&world->memory, &impacts->found, hits.count))
		result = cr_fail_memory(world->context, "the impacts of a world");
	if (result != CAROM_SUCCESS)
		return result;
	take_hits(world, &hits);
	impacts->stats = carom_sweep_get_stats(impacts->sweep);
	return CAROM_SUCCESS;
}

uint64_t cr_hash_impacts(const cr_impacts *impacts, uint64_t hash)
{
	for (int64_t i = 0; i < impacts->found.count; i++) {
		const carom_impact *p = &impacts->found.data[i];
		hash = cr_hash_u64(hash, (uint64_t)p->body_a.index1 << 32 | p->body_b.index1);
		hash = cr_hash_u64(hash, (uint64_t)p->body_a.generation << 32 | p->body_b.generation);
		hash = cr_hash_u64(hash, (uint64_t)p->kind << 32 | (uint32_t)p->status);
		hash = cr_hash_u64(hash, (uint64_t)(uint32_t)p->vertices[0] << 32 | (uint32_t)p->vertices[1]);
		hash = cr_hash_u64(hash, (uint64_t)(uint32_t)p->vertices[2] << 32 | (uint32_t)p->vertices[3]);
		hash = cr_hash_u64(hash, (uint32_t)p->triangle);
		hash = cr_hash_double(hash, p->time);
		for (int k = 0; k < 4; k++)
			hash = cr_hash_double(hash, p->weight[k]);
		for (int k = 0; k < 3; k++)
			hash = cr_hash_double(hash, p->normal[k]);
		// so that hashes of worlds without parts are those of earlier recordings
		if (p->shape_a != 0 || p->shape_b != 0)
			hash = cr_hash_u64(hash, ~((uint64_t)p->shape_a << 32 | (uint32_t)p->shape_b));
	}
	return hash;
}

void cr_impacts_free(carom_context *memory, cr_impacts *impacts)
{
	carom_destroy_sweep(impacts->sweep);
	impacts->sweep = NULL;
	cr_array_free(memory, &impacts->members);
	cr_array_free(memory, &impacts->next);
	cr_array_free(memory, &impacts->deforming);
	cr_array_free(memory, &impacts->found);
}
