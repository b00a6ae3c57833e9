/// Vertex stage: which samples of each body of a pair cast a ray into the other.
///
/// Input: kept pairs of the ray algorithm. Output: rays in the target's frame, in chunks of the worker that made them; each ordered
/// pair remembers its range. Samples are found by walking the source's tree in the target's box, not by scanning (Lehericey 2013, 1.2), and
/// those that the target's grid knows to be outside are dropped. Parallel over pairs; no order is needed, since ranges hang on
/// the pairs.

#include "base/parallel.h"
#include "detect/pipeline.h"
#include <string.h>

enum {
	// Rays of one chunk: enough that a chunk is rarely cut short, small enough for the second-level cache (avalanche, phase B).
	CHUNK_RAYS = 4096,
	PAIRS_PER_TASK = 64,
};

static cr_ray_chunk *new_chunk(cr_worker *worker, int32_t capacity)
{
	const size_t n = (size_t)capacity;
	cr_ray_chunk *chunk = cr_arena_alloc(&worker->arena, sizeof *chunk);
	float *rows = cr_arena_alloc(&worker->arena, 8 * n * sizeof(float));
	int32_t *ints = cr_arena_alloc(&worker->arena, 2 * n * sizeof(int32_t));
	uint8_t *bytes = cr_arena_alloc(&worker->arena, 2 * n);
	if (!chunk || !rows || !ints || !bytes) {
		worker->failed = true;
		return NULL;
	}
	*chunk = (cr_ray_chunk){ .capacity = capacity };
	for (int k = 0; k < 3; k++) {
		chunk->rays.origin[k] = rows + (size_t)k * n;
		chunk->rays.direction[k] = rows + (size_t)(3 + k) * n;
	}
	chunk->rays.t_max = rows + 6 * n;
	chunk->t = rows + 7 * n;
	chunk->rays.sample = ints;
	chunk->triangle = ints + n;
	chunk->rays.certain = bytes;
	chunk->back = bytes + n;
	return chunk;
}

/// A chunk with room for count more rays.
static cr_ray_chunk *chunk_for(cr_worker *worker, int32_t count)
{
	cr_ray_chunk *chunk = worker->chunk;
	if (!chunk || chunk->capacity - chunk->count < count)
		worker->chunk = chunk = new_chunk(worker, count > CHUNK_RAYS ? count : CHUNK_RAYS);
	return chunk;
}

/// An empty chunk with room for all samples of a large source, of which a few become rays: used again for the next pair, so that a
/// terrain of a million vertices does not cost a chunk of its size for each body on it.
static cr_ray_chunk *staging_for(cr_worker *worker, int32_t count)
{
	if (!worker->staging || worker->staging->capacity < count)
		worker->staging = new_chunk(worker, count);
	return worker->staging;
}

/// Copy rays from the staging chunk to a chunk that keeps them, behind its last ray.
static cr_ray_chunk *move_staged(cr_worker *worker, const cr_ray_chunk *staging, int32_t count)
{
	cr_ray_chunk *chunk = chunk_for(worker, count);
	if (!chunk)
		return NULL;
	const cr_sample_rays *from = &staging->rays, *to = &chunk->rays;
	const size_t n = (size_t)count, at = (size_t)chunk->count;
	for (int k = 0; k < 3; k++) {
		memcpy(to->origin[k] + at, from->origin[k], n * sizeof(float));
		memcpy(to->direction[k] + at, from->direction[k], n * sizeof(float));
	}
	memcpy(to->t_max + at, from->t_max, n * sizeof(float));
	memcpy(to->sample + at, from->sample, n * sizeof(int32_t));
	memcpy(to->certain + at, from->certain, n);
	return chunk;
}

static void collect_side(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, int side)
{
	const cr_collider *source = p->bodies[side == 0 ? w->a : w->b].shape.collider;
	const cr_collider *target = p->bodies[side == 0 ? w->b : w->a].shape.collider;
	// Only a closed target has an inside to be in.
	if (!target->closed)
		return;
	const bool staged = source->sample_count > CHUNK_RAYS;
	cr_ray_chunk *chunk = staged ? staging_for(worker, source->sample_count) : chunk_for(worker, source->sample_count);
	if (!chunk)
		return;
	const cr_transform *to_target = side == 0 ? &w->a_to_b : &w->b_to_a, *to_source = side == 0 ? &w->b_to_a : &w->a_to_b;
	int64_t tested = 0;
	const int32_t count = p->detect->collect(source, target, to_target, to_source, (float)p->settings.speculative_distance,
		p->settings.exit_distance_test, &chunk->rays, chunk->count, &tested);
	if (staged)
		chunk = move_staged(worker, chunk, count);
	if (!chunk)
		return;
	w->rays[side] = (cr_ray_range){ chunk, chunk->count, count };
	chunk->count += count;
	worker->vertices_tested += tested;
	worker->vertices_culled += tested - count;
}

static void vertex_task(int64_t begin, int64_t end, int worker, void *task)
{
	const cr_pipeline *p = task;
	for (int64_t i = begin; i < end && !p->workers[worker].failed; i++) {
		cr_pair_work *w = &p->work.data[p->kept.data[i]];
		if (w->algorithm != CR_ALGORITHM_RAYS)
			continue;
		collect_side(p, &p->workers[worker], w, 0);
		collect_side(p, &p->workers[worker], w, 1);
	}
}

carom_result cr_stage_vertices(cr_pipeline *p)
{
	cr_parallel_for(p->context, vertex_task, p->kept.count, PAIRS_PER_TASK, p);
	for (int i = 0; i < p->context->thread_count; i++) {
		if (p->workers[i].failed)
			return cr_fail_memory(p->context, "the rays of a step");
	}
	return CAROM_SUCCESS;
}
