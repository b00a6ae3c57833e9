/// Impacts of a step. In: the places of deforming bodies at both ends of the step, the poses of
/// rigid ones at both. Out: all impacts, by body. One carom_sweep does the work (docs/sweep.md);
/// its meshes are in the order of the bodies' numbers, so that its order of impacts is the world's.
/// It is rebuilt when another set of bodies takes part, else its tree and its front live on.
///
/// Cost beyond the sweep: the places of rigid bodies that moved, in parallel over bodies, and a
/// copy of the impacts.
#include "world/impacts.h"
#include "base/hash.h"
#include "sweep/sweep_motion.h"
#include "world/world.h"
#include <string.h>

// ---- The scene ----

static bool asks(const cr_body *body) { return cr_deforming_of(body) != NULL; }

void cr_forget_impact_scene(cr_impacts *impacts)
{
	carom_destroy_sweep(impacts->sweep);
	impacts->sweep = NULL;
	impacts->members.list.count = 0;
}

static carom_result make_scene(carom_world *world)
{
	cr_impacts *impacts = &world->impacts;
	cr_forget_impact_scene(impacts);
	carom_sweep *sweep = NULL;
	carom_result result = carom_create_sweep(&world->memory, &world->def.sweep, &sweep);
	if (result == CAROM_SUCCESS)
		result = cr_add_members(world, &impacts->members, sweep);
	if (result != CAROM_SUCCESS) {
		carom_destroy_sweep(sweep);
		return result;
	}
	impacts->sweep = sweep;
	return CAROM_SUCCESS;
}

/// *made: all places are to be written, not only those that moved.
static carom_result update_scene(carom_world *world, bool *made)
{
	cr_impacts *impacts = &world->impacts;
	*made = false;
	if (impacts->sweep && !impacts->members.stale)
		return CAROM_SUCCESS;
	impacts->members.asks = asks;
	if (!cr_list_members(world, &impacts->members))
		return cr_fail_memory(world->context, "the impacts of a world");
	if (!impacts->sweep || !cr_are_members_kept(&impacts->members)) {
		const carom_result result = make_scene(world);
		if (result != CAROM_SUCCESS)
			return result;
		*made = true;
	}
	cr_filter_members(world, &impacts->members, impacts->sweep);
	return CAROM_SUCCESS;
}

// ---- Results ----

static carom_body_id id_of(const carom_world *world, int32_t mesh)
{
	return cr_id_of(world->bodies.data, world->impacts.members.list.data[mesh].body);
}

static int32_t part_of(const carom_world *world, int32_t mesh)
{
	return world->bodies.data[world->impacts.members.list.data[mesh].body].part;
}

void cr_take_impacts(carom_world *world)
{
	cr_impacts *impacts = &world->impacts;
	const carom_sweep_hits *hits = &impacts->hits;
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
	impacts->stats = impacts->sweep ? carom_sweep_get_stats(impacts->sweep) : (carom_sweep_stats){ 0 };
}

static bool ask_filter(void *user, int32_t a, int32_t b)
{
	carom_world *world = user;
	return cr_ask_pair_filter(world, world->impacts.members.list.data[a].body, world->impacts.members.list.data[b].body);
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
	cr_place_members(world, &impacts->members, impacts->sweep, made, false);
	cr_set_sweep_verdict(impacts->sweep, world->def.pair_filter ? ask_filter : NULL, world);
	result = carom_sweep_find(impacts->sweep, &impacts->hits);
	if (result == CAROM_SUCCESS && !cr_array_reserve(&world->memory, &impacts->found, impacts->hits.count))
		result = cr_fail_memory(world->context, "the impacts of a world");
	return result;
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

void cr_trim_impacts(carom_context *memory, cr_impacts *impacts)
{
	carom_destroy_sweep(impacts->sweep);
	impacts->sweep = NULL;
	cr_free_members(memory, &impacts->members);
	impacts->members.stale = true;
}

void cr_impacts_free(carom_context *memory, cr_impacts *impacts)
{
	cr_trim_impacts(memory, impacts);
	cr_array_free(memory, &impacts->found);
}
